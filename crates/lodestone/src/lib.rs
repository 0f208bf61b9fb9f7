//! The program behind the command `lodestone`: arguments, wiring, progress. A library only so that its
//! tests and the generator of its documentation can reach it.
//!
//! # Invariants
//! * This is the only crate that prints.
//! * Parse, then resolve, then act: [`cli`] touches nothing but arguments, [`commands`] resolve and
//!   act, the session within does the measuring.

pub mod cli;
pub mod commands;
mod destination;
pub mod failure;
pub mod interrupt;
pub mod output;
mod progress;
mod session;
