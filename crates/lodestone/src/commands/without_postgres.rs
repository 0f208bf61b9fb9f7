//! `push`, `pull` and `run --push` of a program without the client of PostgreSQL.

use std::process::ExitCode;

use record::Store;

use crate::cli::{Cli, PullArgs, PushArgs, RunPushArgs};
use crate::failure::Failure;

fn absent() -> Failure {
    Failure::usage(
        "this lodestone was built without PostgreSQL; use the full program, or build it with the feature `postgres`",
    )
}

/// # Errors
/// Always: it cannot be done.
pub fn push(_: &Cli, _: &PushArgs) -> Result<ExitCode, Failure> {
    Err(absent())
}

/// # Errors
/// Always: it cannot be done.
pub fn pull(_: &Cli, _: &PullArgs) -> Result<ExitCode, Failure> {
    Err(absent())
}

/// # Errors
/// The run is to be pushed.
pub(super) fn check(args: &RunPushArgs) -> Result<(), Failure> {
    if args.push.is_some() { Err(absent()) } else { Ok(()) }
}

/// Nothing: [`check`] has refused.
pub(super) fn after_run(_: &Cli, _: &RunPushArgs, _: &Store, _: &str) -> Option<String> {
    None
}
