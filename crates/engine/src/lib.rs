//! Lodestone's I/O engine: it drives storage and counts what happens, and does nothing else.
//!
//! # Invariants
//! * It knows no suite, command line or store, opens no path and chooses no default: it receives open files, a
//!   fully resolved workload, and a callback for intervals.
//! * Engines ([`ENGINES`]) submit I/O to the kernel and have no clock; the driver takes all time stamps.
//! * Memory is allocated and touched before the measured window, never inside it.
//! * A storage failure is data (an [`Outcome`]); only a failure of the test rig is an error.
//!
//! Only this crate may contain `unsafe`.
#![allow(unsafe_code)]

mod buffers;
pub mod cache;
mod calls;
mod clock;
mod collector;
mod content;
mod engines;
mod interval_pool;
mod locked_memory;
mod metadata;
mod offsets;
mod pace;
mod permutation;
mod plain_loop;
mod recorder;
pub mod release;
mod run;
pub mod selftest;
mod slots;
mod stamps;
mod steady;
mod task;
mod turns;
mod verify;
mod worker;

/// Parts of the loop for the micro-benchmarks, in addition to [`run`]; nothing else may rely on them.
#[doc(hidden)]
pub mod parts {
    pub use crate::offsets::OffsetGenerator;

    /// Writes the header of a block to be verified later.
    pub fn seal(generations: &crate::Generations, block: &mut [u8], offset: u64, generation: u32) {
        generations.seal(block, offset, generation);
    }

    /// Checks a sealed block.
    ///
    /// # Errors
    /// A description of the mismatch.
    pub fn check(
        generations: &crate::Generations,
        block: &[u8],
        offset: u64,
        expected: u32,
    ) -> Result<(), String> {
        generations.check(block, offset, expected)
    }
}

pub use clock::{monotonic_ns, read_the_counter};
pub use engines::sim::{SimEnd, SimFault, SimLatency, SimModel, SimStall};
pub use engines::{ENGINES, EngineEntry, NOOP};
pub use locked_memory::{locked_memory_limit, registers_buffers};
pub use run::{own_descriptors, run, run_at, run_in_turns, takes_turns};
pub use stamps::StampComparison;
pub use task::{Barrier, EngineError, IoTarget, OpenFiles, Outcome, Task};
pub use turns::TurnObserver;
pub use verify::{Generations, HEADER_BYTES};
pub use worker::open_flags;

use engines::sim;
