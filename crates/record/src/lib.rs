//! Run logs: written as they happen, read whatever happened, indexed so that they are found.
//!
//! # Invariants
//! * The log is the truth. One event is one line of JSON, handed to the kernel whole as soon as it
//!   happens; after `kill -9` everything up to the last whole line is there.
//! * The index only repeats what the logs say. It may be deleted at any time; [`Store::runs`] brings it
//!   up to date by itself.
//! * Every log format ever released stays readable: [`read_log`] upgrades old ones line by line.

pub mod import;
mod index;
mod log;
mod store;

pub use log::{Log, LogError, LogWriter, parse_log, read_log};
pub use store::{FindError, RunState, RunSummary, Store, StoreError};
