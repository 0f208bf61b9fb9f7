//! The ways to hand an I/O to the kernel, as names and declared capabilities.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One I/O engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// Linux io_uring with registered files and buffers.
    IoUring,
    /// Linux native asynchronous I/O (`io_submit`).
    Libaio,
    /// `pread` and `pwrite`.
    Psync,
    /// Memory-mapped files.
    Mmap,
    /// io_uring requests that do nothing: what the generator itself costs. No storage is touched.
    Noop,
    /// The simulator: a virtual clock and latencies from a given distribution.
    Sim,
}

impl EngineKind {
    /// The engine's name on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::IoUring => "io_uring",
            Self::Libaio => "libaio",
            Self::Psync => "psync",
            Self::Mmap => "mmap",
            Self::Noop => "noop",
            Self::Sim => "sim",
        }
    }

    /// False for requests that do nothing: their figures are those of the generator.
    pub fn reaches_storage(self) -> bool {
        self != Self::Noop
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Which engine a step asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineChoice {
    /// The best that works on this machine.
    #[default]
    Auto,
    /// This one and no other.
    Only(EngineKind),
}

impl fmt::Display for EngineChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad("auto"),
            Self::Only(kind) => f.pad(kind.name()),
        }
    }
}

/// What an engine can and cannot do: declared data, against which a plan is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The engine described.
    pub kind: EngineKind,
    /// One operation at a time per job: a configured depth above 1 has no effect.
    pub synchronous: bool,
    /// Goes through the page cache by its nature; direct I/O cannot be had.
    pub buffered_only: bool,
    /// Can trim blocks.
    pub trim: bool,
    /// Most operations in flight per job.
    pub max_iodepth: u32,
    /// One line for people.
    pub summary: &'static str,
}
