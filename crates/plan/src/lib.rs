//! From a suite and the user's overrides to a complete plan.
//!
//! # Invariants
//! * Pure: it opens no file, starts no process and reads no clock.
//! * [`OPTIONS`] holds every default of Lodestone. The same table gives the suite keys, the
//!   command-line flags, the reference documentation and the output of `--dry-run`.
//! * Mistakes are collected, not thrown: the user sees all of them at once, each with its location,
//!   the allowed values and the nearest valid word.

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
mod values;

pub use check::step_seconds;
pub use data_key::{DataKey, needs_own_data, obstacles};
pub use options::{OPTIONS, OptionSpec, option};
pub use parse::{Setting, StepSpec, Suite};
pub use problem::{Level, Problem, SourceLocation};
pub use resolve::{Environment, Resolved, RunOverrides, resolve};
pub use suites::{BUILTIN_SUITES, BuiltinSuite, CUSTOM_SUITE, builtin};
