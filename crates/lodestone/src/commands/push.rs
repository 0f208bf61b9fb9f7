//! `push`: runs into a PostgreSQL database, and the queue of those that wait for one.

use std::collections::BTreeSet;
use std::process::ExitCode;

use ::report::{Anonymiser, PseudonymKey};
use database::{Checksum, Database, Destination, checksum};
use model::Run;
use model::units::counted;
use record::{Listing, Queued, RunState, RunSummary, Store, decompressed, log_of, parse_log};

use super::changes::changes;
use super::databases::{destination, failure};
use super::pushed_rows::{Origin, change_row, run_row};
use super::store;
use crate::cli::{Cli, PushArgs, RunPushArgs};
use crate::failure::{Failure, LEFT_OUT};
use crate::output;

/// The longest log that a database takes: a value in PostgreSQL has at most 1 GB.
const MOST_BYTES: u64 = 512 << 20;

/// A run that is to be in the database.
struct Wanted<'a> {
    run: &'a RunSummary,
    is_anonymous: bool,
}

/// An anonymous copy of a run, and what was replaced in it.
type Anonymous = (Run, String);

/// What became of the runs.
#[derive(Default)]
struct Pushed {
    new: usize,
    known: usize,
    running: usize,
    left_out: usize,
    /// What can leave the queue.
    acknowledged: Vec<Queued>,
}

impl Pushed {
    fn sentence(&self, destination: &Destination) -> String {
        let mut text = format!("pushed {} to {}", counted(self.new, "run"), destination.shown());
        let others =
            [(self.known, "there already"), (self.running, "still in progress"), (self.left_out, "left out")];
        for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
            let verb = if what == "left out" || what == "there already" { "was" } else { "is" };
            let verb = match (verb, count) {
                (verb, 1) => verb,
                ("was", _) => "were",
                _ => "are",
            };
            text.push_str(&format!(", {count} {verb} {what}"));
        }
        text
    }
}

/// Writes runs to a database.
///
/// # Errors
/// Wrong usage, or the database or the store cannot be used.
pub fn push(cli: &Cli, args: &PushArgs) -> Result<ExitCode, Failure> {
    let to = destination("--to", &args.to)?;
    let store = store(cli)?;
    let Listing { runs, warnings } = store.list().map_err(Failure::failed)?;
    for warning in &warnings {
        output::say(&format!("lodestone: {warning}"));
    }
    let mut wanted: Vec<Wanted<'_>> = Vec::new();
    let is_anonymous = args.anonymous;
    if args.runs.is_empty() {
        wanted.extend(runs.iter().map(|run| Wanted { run, is_anonymous }));
    }
    for name in &args.runs {
        let run = store.identify(&runs, name).map_err(Failure::usage)?;
        wanted.push(Wanted { run, is_anonymous });
    }
    let mut pushed = send(cli, &store, &runs, wanted, &to)?;
    if args.runs.is_empty() {
        pushed.left_out += warnings.iter().filter(|warning| warning.starts_with("a log is skipped")).count();
    }
    output::print(format!("{}\n", pushed.sentence(&to)))?;
    Ok(if pushed.left_out > 0 { ExitCode::from(LEFT_OUT) } else { ExitCode::SUCCESS })
}

/// Checks the address of `run --push` before anything is measured.
///
/// # Errors
/// It is not an address that can be used.
pub(super) fn check(args: &RunPushArgs) -> Result<(), Failure> {
    args.push.as_deref().map_or(Ok(()), |address| destination("--push", address).map(drop))
}

/// Queues a run that has ended, and pushes the queue; without the database, it waits. Returns a sentence, if anything was asked for.
pub(super) fn after_run(cli: &Cli, args: &RunPushArgs, store: &Store, id: &str) -> Option<String> {
    let to = match destination("--push", args.push.as_deref()?) {
        Ok(to) => to,
        Err(error) => return Some(format!("run {id} was not pushed: {}", error.message)),
    };
    let queued =
        Queued { run: id.to_owned(), destination: to.shown().to_owned(), is_anonymous: args.push_anonymous };
    // In the queue first: whatever ends the program from here on, the run is not forgotten.
    if let Err(error) = store.queue(&queued) {
        output::say(&format!("lodestone: the queue cannot be written: {error}"));
    }
    let sent = store
        .list()
        .map_err(Failure::failed)
        .and_then(|listing| send(cli, store, &listing.runs, Vec::new(), &to));
    Some(match sent {
        Ok(pushed) => pushed.sentence(&to),
        Err(error) => format!(
            "run {id} is not in the database yet: {}; it is queued, and the next `lodestone push --to` or `run --push` \
             with this address sends it",
            error.message
        ),
    })
}

/// Sends these runs and those that are queued for the database.
fn send<'a>(
    cli: &Cli,
    store: &Store,
    runs: &'a [RunSummary],
    mut wanted: Vec<Wanted<'a>>,
    to: &Destination,
) -> Result<Pushed, Failure> {
    let mut pushed = Pushed::default();
    for queued in store.queued().into_iter().filter(|queued| queued.destination == to.shown()) {
        match runs.iter().find(|run| run.id == queued.run) {
            Some(run) => wanted.push(Wanted { run, is_anonymous: queued.is_anonymous }),
            None => {
                output::say(&format!(
                    "lodestone: run {} was queued and is not in the store any more; it leaves the queue",
                    queued.run
                ));
                pushed.acknowledged.push(queued);
            }
        }
    }
    let mut seen = BTreeSet::new();
    wanted.retain(|one| seen.insert((one.run.file.clone(), one.is_anonymous)));
    let mut pusher = Pusher {
        cli,
        store,
        to,
        key: None,
        database: Database::open(to).map_err(|error| failure("push to", to, &error))?,
    };
    let result = pusher.send_all(&wanted, &mut pushed);
    // What was acknowledged leaves the queue even if a later run failed.
    store.unqueue(&pushed.acknowledged).map_err(Failure::failed)?;
    result?;
    pusher.changes(&wanted)?;
    Ok(pushed)
}

struct Pusher<'a> {
    cli: &'a Cli,
    store: &'a Store,
    to: &'a Destination,
    key: Option<PseudonymKey>,
    database: Database,
}

impl Pusher<'_> {
    fn send_all(&mut self, wanted: &[Wanted<'_>], pushed: &mut Pushed) -> Result<(), Failure> {
        let mut sums: Vec<(&Wanted<'_>, Checksum)> = Vec::new();
        for one in wanted {
            match one.run.state {
                RunState::Running => pushed.running += 1,
                RunState::Damaged => {
                    output::say(&format!(
                        "lodestone: run {} is left out: its log is damaged; `lodestone show {}` says where",
                        one.run.id, one.run.id
                    ));
                    pushed.left_out += 1;
                }
                _ => match self.log(one) {
                    Ok((log, _)) => sums.push((one, self.sum(&log)?)),
                    Err(error) => {
                        output::say(&format!("lodestone: run {} is left out: {}", one.run.id, error.message));
                        pushed.left_out += 1;
                    }
                },
            }
        }
        let all: Vec<Checksum> = sums.iter().map(|(_, sum)| *sum).collect();
        let known = self.database.known_of(&all).map_err(|error| failure("push to", self.to, &error))?;
        let known: BTreeSet<Checksum> = known.into_iter().collect();
        for (one, sum) in sums {
            let is_new = !known.contains(&sum) && self.send(one)?;
            if is_new {
                pushed.new += 1
            } else {
                pushed.known += 1
            }
            pushed.acknowledged.push(Queued {
                run: one.run.id.clone(),
                destination: self.to.shown().to_owned(),
                is_anonymous: one.is_anonymous,
            });
        }
        Ok(())
    }

    /// Sends a run; false if the database has it.
    fn send(&mut self, one: &Wanted<'_>) -> Result<bool, Failure> {
        let (log, anonymous) = self.log(one)?;
        let run = match anonymous {
            Some((run, account)) => {
                output::say(&format!("lodestone: run {}: {account}", run.started.id));
                run
            }
            None => parse_log(log.as_slice(), self.store.directory()).map_err(Failure::failed)?.run,
        };
        let checksum = self.sum(&log)?;
        let origin = Origin { checksum, state: one.run.state, is_anonymous: one.is_anonymous, log };
        let row = run_row(self.cli, &run, origin);
        self.database.add(&row).map_err(|error| failure("push to", self.to, &error))
    }

    fn sum(&self, log: &[u8]) -> Result<Checksum, Failure> {
        decompressed(log)
            .and_then(checksum)
            .map_err(|error| Failure::failed(format!("cannot decompress a log: {error}")).because(&error))
    }

    /// The log of a run as it is to be pushed; with the run, if that is an anonymous copy.
    fn log(&mut self, one: &Wanted<'_>) -> Result<(Vec<u8>, Option<Anonymous>), Failure> {
        if !one.is_anonymous {
            return Ok((self.store.log_bytes(one.run, MOST_BYTES).map_err(Failure::failed)?, None));
        }
        let run = self.store.read(one.run).map_err(Failure::failed)?.run;
        let (run, account) = self.anonymous(&run)?;
        let log = log_of(&run).map_err(|error| {
            Failure::failed(format!("cannot write an anonymous log: {error}")).because(&error)
        })?;
        Ok((log, Some((run, account))))
    }

    /// An anonymous copy of a run, the same whatever else is pushed, and what was replaced.
    fn anonymous(&mut self, run: &Run) -> Result<Anonymous, Failure> {
        let key = match &self.key {
            Some(key) => key.clone(),
            None => PseudonymKey::new(self.store.pseudonym_key().map_err(Failure::failed)?),
        };
        let mut anonymiser = Anonymiser::new(key.clone());
        self.key = Some(key);
        let run = anonymiser.run(run);
        Ok((run, anonymiser.account()))
    }

    /// Replaces the changes of the machines of the store; those of an anonymous push have pseudonyms.
    fn changes(&mut self, wanted: &[Wanted<'_>]) -> Result<(), Failure> {
        for is_anonymous in [false, true] {
            if !wanted.iter().any(|one| one.is_anonymous == is_anonymous) {
                continue;
            }
            let store = self.store;
            let found = match is_anonymous {
                false => changes(store, None)?,
                true => changes(store, Some(&mut |run: &Run| Ok(self.anonymous(run)?.0)))?,
            };
            let rows: Vec<_> = found.changes.iter().map(change_row).collect();
            self.database
                .replace_changes(&found.hosts, &rows)
                .map_err(|error| failure("push to", self.to, &error))?;
        }
        Ok(())
    }
}
