//! From a suite and the user's overrides to a plan in which nothing is left open.
//!
//! # Invariants
//! * Pure: it opens no file, starts no process and reads no clock.
//! * Every default of Lodestone stands in [`OPTIONS`] and nowhere else. The same table gives the suite
//!   keys, the command-line flags, the reference documentation and what `--dry-run` shows.
//! * Mistakes are collected, not thrown: the user sees all of them at once, each with its place, what
//!   is allowed and the nearest right word.

mod check;
pub mod checks;
mod data_key;
mod draft;
pub mod fio;
mod options;
mod parse;
mod problem;
mod resolve;
mod suites;
mod title;

pub use check::step_seconds;
pub use data_key::{DataKey, needs_own_data, obstacles};
pub use options::{OPTIONS, OptionSpec, option};
pub use parse::{Setting, StepSpec, Suite};
pub use problem::{Level, Problem, SourceLocation};
pub use resolve::{Environment, Resolved, RunOverrides, resolve};
pub use suites::{BUILTIN_SUITES, BuiltinSuite, CUSTOM_SUITE, builtin};
