//! Many stored runs, of which a few were really made: for what is done with years of them.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use model::Event;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use record::{Decoder, Store, try_in_parallel};

use crate::measured;
use crate::table::markdown;

/// How many runs.
#[derive(Clone, Debug, clap::Args)]
pub struct MadeRunsArgs {
    /// Runs
    #[arg(long, default_value_t = 10_000)]
    pub runs: usize,
    /// Machines that they are of
    #[arg(long, default_value_t = 40)]
    machines: usize,
    /// Runs that are really made; each of the others is one of them at another time on another machine
    #[arg(long, default_value_t = 12)]
    real: usize,
}

/// The steps of the runs that are really made: short, of the kinds that people repeat.
const STEPS: &str = "seq-read,seq-write,rand-read-d32,durable-write";
/// An hour between the runs of a machine.
const APART_NS: i64 = 3_600_000_000_000;
/// When the first one began: 2026-01-01.
const FIRST_NS: i64 = 1_767_225_600_000_000_000;

/// A store with runs.
pub struct MadeRuns {
    path: PathBuf,
    store: Store,
    machines: usize,
    real: Vec<Vec<Event>>,
    rng: Xoshiro256PlusPlus,
    count: usize,
}

impl MadeRuns {
    /// Makes the real runs, and an empty store, in this directory.
    ///
    /// # Errors
    /// A run fails.
    pub fn new(args: &MadeRunsArgs, program: &str, scratch: &Path) -> io::Result<Self> {
        let path = scratch.join("store");
        Ok(Self {
            store: Store::open(&path).map_err(io::Error::other)?,
            path,
            machines: args.machines,
            real: real_runs(args.real, program, scratch)?,
            rng: Xoshiro256PlusPlus::seed_from_u64(1),
            count: 0,
        })
    }

    /// The store.
    pub fn store(&self) -> &Path {
        &self.path
    }

    /// Adds so many runs.
    ///
    /// # Errors
    /// One cannot be stored.
    pub fn add(&mut self, count: usize) -> io::Result<()> {
        let real = self.real.len();
        let new: Vec<(usize, usize)> =
            (self.count..self.count + count).map(|number| (number, self.rng.random_range(0..real))).collect();
        try_in_parallel(&new, |(number, of)| add_run(&self.store, self.machines, &self.real[*of], *number))?;
        self.count += count;
        Ok(())
    }

    /// What they are, as a sentence.
    pub fn words(&self) -> String {
        format!("{} runs of {} machines, {} really made.", self.count, self.machines, self.real.len())
    }
}

/// A table of what commands cost.
#[derive(Default)]
pub struct Costs(Vec<Vec<String>>);

impl Costs {
    /// Adds what a command cost.
    pub fn add(&mut self, what: &str, cost: &measured::Cost) {
        let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
        let processor = Duration::from_nanos(cost.user_ns + cost.system_ns);
        let memory = format!("{} MiB", cost.peak_bytes >> 20);
        self.0.push(vec![what.to_owned(), seconds(cost.wall), seconds(processor), memory]);
    }
}

impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&markdown(&["what", "time", "processor time", "memory"], &self.0))
    }
}

/// Makes some runs, and returns their events.
fn real_runs(count: usize, program: &str, scratch: &Path) -> io::Result<Vec<Vec<Event>>> {
    let (place, store) = (scratch.join("disk"), scratch.join("real"));
    fs::create_dir(&place)?;
    for _ in 0..count {
        let output = Command::new(program)
            .args(["run", &format!("disk={}", place.display()), "--only", STEPS, "--size", "64MiB"])
            .args([
                "--runtime",
                "200ms",
                "--ramp",
                "0s",
                "--rounds",
                "3",
                "--quiet",
                "--no-report",
                "--store",
            ])
            .arg(&store)
            .output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
    }
    let logs = fs::read_dir(store.join("runs"))?.collect::<io::Result<Vec<_>>>()?;
    logs.iter().map(|log| events(&log.path())).collect()
}

fn events(log: &Path) -> io::Result<Vec<Event>> {
    let mut decoder = Decoder::default();
    let mut all = Vec::new();
    for line in record::decompressed(File::open(log)?)?.lines() {
        all.extend(decoder.decode(line?.as_bytes())?);
    }
    Ok(all)
}

/// Stores one of the runs as that of another machine at another time.
fn add_run(store: &Store, machines: usize, events: &[Event], number: usize) -> io::Result<()> {
    let (first, rest) = events.split_first().ok_or(io::ErrorKind::UnexpectedEof)?;
    let Event::RunStarted(started) = first else { return Err(io::ErrorKind::InvalidData.into()) };
    let mut started = started.as_ref().clone();
    let (machine, turn) = (number % machines, number / machines);
    started.id = format!("made{number:06}");
    started.host.name = format!("node{machine:02}");
    started.host.id = format!("{machine:012x}");
    started.started_unix_ns = FIRST_NS + turn as i64 * APART_NS + machine as i64;
    let mut log = store.begin(started).map_err(io::Error::other)?;
    log.append_all(rest)?;
    store.compress(&mut log)
}
