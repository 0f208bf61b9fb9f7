//! `lodestone clean`: leftovers of killed runs.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use host::leftovers::{self, Found, Leftover};
use host::stacks::State;
use report::escape_line;

use super::store;
use crate::cli::{CleanArgs, Cli};
use crate::failure::{FAILED, Failure};
use crate::output;

/// Removes leftovers from the targets of stored runs, the scratch directories of other programs, the current directory
/// and the given directories. Leftovers of runs on other hosts are listed but not removed.
///
/// # Errors
/// The store cannot be read, or a given directory cannot be found.
pub fn clean(cli: &Cli, args: &CleanArgs) -> Result<ExitCode, Failure> {
    let store = store(cli)?;
    let mut directories = measured_directories(&store)?;
    for named in &args.directories {
        let canonical = named.canonicalize().and_then(|path| path.read_dir().map(|_| path));
        directories.insert(canonical.map_err(|e| {
            Failure::usage(format!(
                "cannot open the directory `{}`: {e}; name a readable directory",
                named.display()
            ))
            .because(&e)
        })?);
    }
    directories.extend(std::env::current_dir());
    directories.extend(host::scratch::parents(store.directory()));
    let mut text = String::new();
    let mut failed = false;
    for directory in &directories {
        for found in leftovers::find(directory) {
            let leftover = match found {
                Found::LeftOver(leftover) => leftover,
                Found::Elsewhere(other) => {
                    text.push_str(&format!("not removed: {}\n", escape_line(&other.to_string())));
                    continue;
                }
            };
            match clean_one(leftover, args.dry_run) {
                Ok(done) => text.push_str(&done),
                Err(trouble) => {
                    failed = true;
                    output::say(&trouble);
                }
            }
        }
    }
    for found in host::stacks::found().into_iter().flatten().filter(|found| found.state == State::LeftOver) {
        text.push_str(&format!(
            "not removed: storage stacks of a killed run; use `lodestone stack destroy {}`\n",
            found.id
        ));
    }
    if text.is_empty() && !failed {
        text = format!("nothing to clean in {} directories\n", directories.len());
    }
    output::print(text)?;
    Ok(if failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// Removes a leftover. Returns what was done, or why it failed.
fn clean_one(leftover: Leftover, dry_run: bool) -> Result<String, String> {
    let (path, megabytes) = (leftover.path.display().to_string(), leftover.bytes() as f64 / 1e6);
    // A newline in a name could otherwise forge a line of this program's output.
    let (path, run) = (escape_line(&path), escape_line(&leftover.run));
    let what = format!("{path} ({megabytes:.1} MB, run {run})");
    if dry_run {
        return Ok(format!("would remove {what}\n"));
    }
    match leftovers::remove(leftover) {
        Ok(()) => Ok(format!("removed {what}\n")),
        Err(error) => Err(format!("lodestone: cannot remove {what}: {error}")),
    }
}

/// Directories that were targets of stored runs.
fn measured_directories(store: &record::Store) -> Result<BTreeSet<PathBuf>, Failure> {
    let runs = store.runs().map_err(Failure::failed)?;
    let targets = runs.iter().filter_map(|run| store.read(run).ok()).flat_map(|log| log.run.started.targets);
    Ok(targets.filter(|t| t.kind == model::TargetKind::Directory).map(|t| t.path).collect())
}
