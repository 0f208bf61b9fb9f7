//! `lodestone rm`: removes stored runs.

use std::process::ExitCode;

use record::RunSummary;

use super::store;
use crate::cli::{Cli, RmArgs};
use crate::failure::Failure;
use crate::output;

/// Removes the logs and pages of the named runs, or lists them.
///
/// # Errors
/// One of the names is no run, or its run is in progress: then nothing is removed. Or a file cannot be removed.
pub fn remove(cli: &Cli, args: &RmArgs) -> Result<ExitCode, Failure> {
    let store = store(cli)?;
    let all = store.runs().map_err(Failure::failed)?;
    let mut runs: Vec<&RunSummary> = Vec::new();
    for name in &args.runs {
        let run = store.identify(&all, name).map_err(Failure::usage)?;
        if !runs.iter().any(|known| known.file == run.file) {
            runs.push(run);
        }
    }
    if let Some(run) = runs.iter().find(|run| run.state == record::RunState::Running) {
        return Err(Failure::usage(format!(
            "run {} is in progress, so nothing was removed; stop it with Ctrl-C first",
            run.id
        )));
    }
    for run in runs {
        let removed = match args.dry_run {
            true => store.files_of(run),
            false => store.remove(run),
        };
        let removed = removed.map_err(Failure::failed)?;
        let verb = if args.dry_run { "would remove" } else { "removed" };
        let what =
            if run.targets.is_empty() { String::new() } else { format!(" of {}", run.targets.join(", ")) };
        output::print(format!("{verb} run {}: {}{what}\n", run.id, run.suite))?;
        for path in removed {
            output::print(format!("  {}\n", path.display()))?;
        }
    }
    // The index follows the logs by itself; updating it now only makes the next listing faster.
    if !args.dry_run {
        let _ = store.runs();
    }
    Ok(ExitCode::SUCCESS)
}
