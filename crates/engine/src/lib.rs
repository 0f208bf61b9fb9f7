//! Lodestone's I/O engine: it drives storage and counts what happens, and nothing else.
//!
//! # Invariants
//! * It knows no suite, no command line and no store, opens no path and picks no default: it is given
//!   open files, a workload resolved to the last detail, and a place to deliver intervals to.
//! * Engines ([`ENGINES`]) hand I/O to the kernel and have no clock; the driver takes all time stamps.
//! * Memory is allocated and touched before the measured window, never inside it.
//! * Storage that fails is data (an [`Outcome`]); only a broken rig is an error.
//!
//! This is the only crate in which `unsafe` may stand.
#![allow(unsafe_code)]

mod buffers;
pub mod cache;
mod calls;
mod clock;
mod collector;
mod content;
mod engines;
mod interval_pool;
mod metadata;
mod offsets;
mod pace;
mod permutation;
mod recorder;
pub mod release;
mod run;
pub mod selftest;
mod slots;
mod stamps;
mod steady;
mod task;
mod verify;
mod worker;

/// What the micro-benchmarks measure besides [`run`]: parts of the loop that nobody else may rely on.
#[doc(hidden)]
pub mod parts {
    pub use crate::offsets::OffsetGenerator;

    /// Writes the header of a block to be verified later.
    pub fn seal(generations: &crate::Generations, block: &mut [u8], offset: u64, generation: u32) {
        generations.seal(block, offset, generation);
    }

    /// Checks a block that was sealed.
    ///
    /// # Errors
    /// What is wrong with it.
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
pub use run::{own_descriptors, run};
pub use stamps::StampComparison;
pub use task::{EngineError, IoTarget, OpenFiles, Outcome, Task};
pub use verify::{Generations, HEADER_BYTES};
pub use worker::open_flags;

use engines::sim;
