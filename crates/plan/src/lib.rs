//! From a suite and the user's overrides to a complete plan.
//!
//! # Invariants
//! * Pure: it opens no file, starts no process and reads no clock.
//! * Every default of a measurement stands in a table: [`OPTIONS`] for the workloads, [`RUN_OPTIONS`] for the run as a
//!   whole, [`checks`] for a crosscheck. The same tables give the suite keys, the command-line flags, the reference
//!   documentation and the output of `--dry-run`.
//! * Mistakes are collected, not thrown: the user sees all of them at once, each with its location,
//!   the allowed values and the nearest valid word.

mod again;
mod check;
pub mod checks;
mod data_key;
mod data_need;
mod draft;
pub mod fio;
mod joined;
mod ladders;
mod options;
mod overrides;
mod parse;
mod problem;
mod requirements;
mod resolve;
mod run_options;
mod suites;
mod title;
mod toml_table;
mod values;

pub use again::again;
pub use data_key::{DataKey, needs_own_data, obstacles};
pub use data_need::{DataNeed, data_needs, sizes_within};
pub use options::{AUTO_SIZE_BYTES, OPTIONS, OptionSpec, option};
pub use overrides::{RunOverrides, Telemetry};
pub use parse::{Setting, StepSpec, Suite};
pub use problem::{Level, Problem, SourceLocation};
pub use requirements::RequirementSpec;
pub use resolve::{Environment, Resolved, resolve};
pub use run_options::{
    DEFAULT_BUDGET_NS, DEFAULT_MARGIN_PPM, DEFAULT_PRECISION_PPM, DEFAULT_SETTLE, DEFAULT_SUITE,
    DEFAULT_SUMMARY, DEFAULT_TARGET, DEFAULT_TELEMETRY, RUN_OPTIONS, RunOptionSpec, run_option,
};
pub use suites::{BUILTIN_SUITES, BuiltinSuite, CUSTOM_SUITE, builtin};
pub use values::parts_per_million;
