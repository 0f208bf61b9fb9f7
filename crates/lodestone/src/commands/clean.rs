//! `lodestone clean`: leftovers of killed runs.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use host::leftovers;

use super::store;
use crate::cli::{CleanArgs, Cli};
use crate::failure::{FAILED, Failure};
use crate::output;

/// Looks for leftovers where kept runs have measured, in the current directory and in the given ones,
/// and removes them.
///
/// # Errors
/// The store cannot be read.
pub fn clean(cli: &Cli, args: &CleanArgs) -> Result<ExitCode, Failure> {
    let mut directories: BTreeSet<PathBuf> = measured_directories(cli)?;
    directories.extend(args.directories.iter().cloned());
    directories.extend(std::env::current_dir());
    let mut text = String::new();
    let mut failed = false;
    let mut found = 0;
    for leftover in directories.iter().flat_map(|d| leftovers::find(d)) {
        found += 1;
        let what = format!(
            "{} ({:.1} MB, run {})",
            leftover.path.display(),
            leftover.bytes as f64 / 1e6,
            leftover.run
        );
        if args.dry_run {
            text.push_str(&format!("would remove {what}\n"));
            continue;
        }
        match leftovers::remove(&leftover) {
            Ok(()) => text.push_str(&format!("removed {what}\n")),
            Err(error) => {
                failed = true;
                output::say(&format!("lodestone: cannot remove {what}: {error}"));
            }
        }
    }
    if found == 0 {
        text = format!("nothing to clean in {} directories\n", directories.len());
    }
    output::print(&text)?;
    Ok(if failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// Directories that were targets of kept runs.
fn measured_directories(cli: &Cli) -> Result<BTreeSet<PathBuf>, Failure> {
    let store = store(cli)?;
    let runs = store.runs().map_err(Failure::failed)?;
    let targets =
        runs.iter().filter_map(|run| store.find(&run.id).ok()).flat_map(|log| log.run.started.targets);
    Ok(targets.filter(|t| t.kind == model::TargetKind::Directory).map(|t| t.path).collect())
}
