//! A site of many runs: how long its pages take, and how large they are.

use std::fs::{self, File};
use std::io::{self, BufRead};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use model::Event;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use record::{Decoder, Store};

use crate::measured;
use crate::setting::Setting;
use crate::table::markdown;

/// What is made.
#[derive(Clone, Debug, clap::Args)]
pub struct SiteArgs {
    /// The program, and a directory on the disk for the runs and the pages
    #[command(flatten)]
    setting: Setting,
    /// Runs
    #[arg(long, default_value_t = 10_000)]
    runs: usize,
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

/// Makes a site of many runs, brings it up to date without and with another run, and follows the histories.
///
/// # Errors
/// A run fails, or the program.
pub fn site(args: &SiteArgs) -> io::Result<String> {
    let scratch = tempfile::Builder::new().prefix("site-").tempdir_in(&args.setting.turns.place)?;
    let real = real_runs(args, scratch.path())?;
    let store = scratch.path().join("store");
    let pages = scratch.path().join("pages");
    let made = Store::open(&store).map_err(io::Error::other)?;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut add = |number: usize| add_run(&made, args, &real[rng.random_range(0..real.len())], number);
    (0..args.runs - 1).try_for_each(&mut add)?;
    let program = args.setting.programs.lodestone();
    let [store_words, pages_words] = [&store, &pages].map(|path| path.display().to_string());
    let lodestone = |what: &[&str]| -> io::Result<measured::Cost> {
        let words: Vec<String> =
            [what, &["--store", &store_words]].concat().into_iter().map(str::to_owned).collect();
        measured::run(&program, &words)
    };
    let mut rows = Vec::new();
    let mut row = |what: &str, cost: &measured::Cost| {
        let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
        let processor = Duration::from_nanos(cost.user_ns + cost.system_ns);
        let memory = format!("{} MiB", cost.peak_bytes >> 20);
        rows.push(vec![what.to_owned(), seconds(cost.wall), seconds(processor), memory]);
    };
    row("history, the first time", &lodestone(&["history"])?);
    row("history, again", &lodestone(&["history"])?);
    row("site, the first time", &lodestone(&["site", &pages_words])?);
    row("site, nothing new", &lodestone(&["site", &pages_words])?);
    add(args.runs - 1)?;
    row("site, one run more", &lodestone(&["site", &pages_words])?);
    let table = markdown(&["what", "time", "processor time", "memory"], &rows);
    let (count, bytes, largest) = sizes(&pages)?;
    Ok(format!(
        "{} runs of {} machines, {} really made.\n\n{table}\n{count} files, {} MiB; the largest {} KiB.\n",
        args.runs,
        args.machines,
        real.len(),
        bytes >> 20,
        largest >> 10,
    ))
}

/// Makes some runs, and returns their events.
fn real_runs(args: &SiteArgs, scratch: &Path) -> io::Result<Vec<Vec<Event>>> {
    let (place, store) = (scratch.join("disk"), scratch.join("real"));
    fs::create_dir(&place)?;
    for _ in 0..args.real {
        let output = Command::new(args.setting.programs.lodestone())
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
fn add_run(store: &Store, args: &SiteArgs, events: &[Event], number: usize) -> io::Result<()> {
    let (first, rest) = events.split_first().ok_or(io::ErrorKind::UnexpectedEof)?;
    let Event::RunStarted(started) = first else { return Err(io::ErrorKind::InvalidData.into()) };
    let mut started = started.as_ref().clone();
    let (machine, turn) = (number % args.machines, number / args.machines);
    started.id = format!("made{number:05}");
    started.host.name = format!("node{machine:02}");
    started.host.id = format!("{machine:012x}");
    started.started_unix_ns = FIRST_NS + turn as i64 * APART_NS + machine as i64;
    let mut log = store.begin(started).map_err(io::Error::other)?;
    log.append_all(rest)?;
    store.compress(&mut log)
}

/// Files below a directory, their bytes together, and those of the largest.
fn sizes(root: &Path) -> io::Result<(usize, u64, u64)> {
    let (mut count, mut bytes, mut largest) = (0, 0, 0);
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let length = entry.metadata()?.len();
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            } else {
                (count, bytes, largest) = (count + 1, bytes + length, largest.max(length));
            }
        }
    }
    Ok((count, bytes, largest))
}
