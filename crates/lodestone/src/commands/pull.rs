//! `pull`: the logs of runs out of a PostgreSQL database into the store.

use std::collections::BTreeMap;
use std::process::ExitCode;

use database::{Checksum, Database, Destination, Known, checksum};
use model::units::counted;
use record::{RunSummary, Store, decompressed};

use super::databases::{destination, failure};
use super::store;
use crate::cli::{Cli, PullArgs};
use crate::failure::{Failure, LEFT_OUT};
use crate::output;

/// Writes the logs that the database has and the store has not into the store.
///
/// # Errors
/// Wrong usage, or the database or the store cannot be used.
pub fn pull(cli: &Cli, args: &PullArgs) -> Result<ExitCode, Failure> {
    let from = destination("--from", &args.from)?;
    let store = store(cli)?;
    let refused = |error| failure("pull from", &from, &error);
    let mut database = Database::read(&from).map_err(refused)?;
    let mut known = database.runs().map_err(refused)?;
    named(&mut known, &args.runs, &from)?;
    let own = store.runs().map_err(Failure::failed)?;
    let mut own: BTreeMap<String, Checksum> =
        own.into_iter().filter_map(|run| Some((run.id.clone(), sum_of(&store, &run)?))).collect();
    let (mut new, mut there, mut left_out) = (0, 0, 0);
    for run in known {
        match own.get(&run.id) {
            Some(sum) if *sum == run.checksum => there += 1,
            Some(_) => {
                output::say(&format!(
                    "lodestone: run {} is left out: the store has another log of it",
                    run.id
                ));
                left_out += 1;
            }
            None => {
                // It may have been removed meanwhile.
                let Some(log) = database.log(&run.checksum).map_err(refused)? else { continue };
                match take(&store, &run, &log) {
                    Ok(()) => {
                        own.insert(run.id, run.checksum);
                        new += 1;
                    }
                    Err(Failure { message, .. }) => {
                        output::say(&format!("lodestone: run {} is left out: {message}", run.id));
                        left_out += 1;
                    }
                }
            }
        }
    }
    // Only makes the next listing faster.
    let _ = store.runs();
    let mut text = format!("pulled {} from {}", counted(new, "run"), from.shown());
    for (count, what) in [(there, "there already"), (left_out, "left out")] {
        if count > 0 {
            text.push_str(&format!(", {count} {} {what}", if count == 1 { "was" } else { "were" }));
        }
    }
    output::print(format!("{text}\n"))?;
    Ok(if left_out > 0 { ExitCode::from(LEFT_OUT) } else { ExitCode::SUCCESS })
}

/// Keeps the runs that the user named, or all.
fn named(known: &mut Vec<Known>, names: &[String], from: &Destination) -> Result<(), Failure> {
    let missing = names.iter().find(|name| !known.iter().any(|run| run.id.starts_with(*name)));
    if let Some(name) = missing {
        return Err(Failure::usage(format!("there is no run `{name}` in {}", from.shown())));
    }
    known.retain(|run| names.is_empty() || names.iter().any(|name| run.id.starts_with(name)));
    Ok(())
}

/// The checksum of a run in the store; `None` if its log cannot be read.
fn sum_of(store: &Store, run: &RunSummary) -> Option<Checksum> {
    let bytes = store.log_bytes(run, record::input::MOST_LOG_BYTES).ok()?;
    decompressed(bytes.as_slice()).and_then(checksum).ok()
}

/// Checks a log against its checksum, and stores it.
fn take(store: &Store, run: &Known, log: &[u8]) -> Result<(), Failure> {
    let sum = decompressed(log).and_then(checksum);
    if sum.is_ok_and(|sum| sum == run.checksum) {
        let taken = store.add_log(log, "the log in the database").map_err(Failure::failed)?;
        debug_assert_eq!(taken.started.id, run.id);
        Ok(())
    } else {
        Err(Failure::failed("its log does not match its checksum: it was changed in the database"))
    }
}
