//! The command `lodestone`: arguments, wiring, progress. It is a library only so that its tests and the generator of
//! its documentation can use it.
//!
//! # Invariants
//! * This is the only crate that prints.
//! * Parse, then resolve, then act: [`cli`] touches nothing but arguments, [`commands`] resolve and act, and their
//!   session measures: a scheduler decides, the executor does.

pub mod cli;
pub mod commands;
mod destination;
mod executor;
pub mod failure;
mod fleet;
pub mod interrupt;
pub mod output;
mod progress;
mod recorder;
mod session;
