//! The machine that the tests of plans assume.

use model::*;
use plan::*;

/// The capabilities of an engine of this kind on any machine.
fn capabilities(kind: EngineKind) -> Capabilities {
    let synchronous = matches!(kind, EngineKind::Psync | EngineKind::Mmap);
    Capabilities {
        kind,
        synchronous,
        buffered_only: kind == EngineKind::Mmap,
        trim: kind != EngineKind::Mmap,
        max_iodepth: if synchronous { 1 } else { 32_768 },
        summary: "",
    }
}

/// A machine with these engines, for one target.
pub fn machine(memory_bytes: u64, engines: &[EngineKind]) -> Environment {
    Environment { memory_bytes, engines: engines.iter().copied().map(capabilities).collect(), targets: 1 }
}
