//! What each feature costs, as a share of the operations per second without it, on a file in the page cache;
//! and what a second job adds where no storage can be the limit.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::contenders::Programs;
use crate::drive::{DriveArgs, drive};
use crate::measured;
use crate::table::{Sample, markdown, rate, ratio};

/// What is compared and how often.
#[derive(Clone, Debug, clap::Args)]
pub struct FeaturesArgs {
    #[command(flatten)]
    programs: Programs,
    /// Directory for the test file
    #[arg(long, value_name = "DIR", default_value = ".")]
    place: PathBuf,
    /// Rounds; all cases take their turn in each
    #[arg(long, default_value_t = 5)]
    rounds: u32,
}

/// A feature, the flags that switch it on, and the case without it.
struct Case {
    name: &'static str,
    flags: &'static str,
    without: usize,
}

/// The first is its own measure, as is the one of plain writes.
const CASES: [Case; 8] = [
    Case { name: "reads", flags: "--rw randread", without: 0 },
    Case { name: "zipf offsets", flags: "--rw randread --distribution zipf:1.1", without: 0 },
    Case { name: "records every 100 ms", flags: "--rw randread --interval 100ms", without: 0 },
    Case { name: "rate limiting", flags: "--rw randread --rate-iops 100000000", without: 0 },
    Case { name: "verified reads", flags: "--rw randread --verify true", without: 0 },
    Case { name: "writes of zeros", flags: "--rw randwrite --end-fsync false --data zero", without: 5 },
    Case { name: "random data", flags: "--rw randwrite --end-fsync false", without: 5 },
    Case { name: "verified writes", flags: "--rw randwrite --end-fsync false --verify true", without: 5 },
];

const ENGINES: [(&str, u32); 2] = [("psync", 1), ("io_uring", 32)];

/// Measures every feature on every engine, and the scaling of two jobs.
///
/// # Errors
/// A run fails.
pub fn features(args: &FeaturesArgs) -> io::Result<String> {
    let scratch = tempfile::tempdir_in(&args.place)?;
    let mut rates = vec![vec![Sample::default(); CASES.len()]; ENGINES.len()];
    let mut scaling = [Sample::default(), Sample::default()];
    for _ in 0..args.rounds {
        for (engine, rates) in ENGINES.iter().zip(&mut rates) {
            for (case, rates) in CASES.iter().zip(rates) {
                rates.push(run(args, scratch.path(), engine, case.flags)?);
            }
        }
        for (jobs, rates) in (1..).zip(&mut scaling) {
            rates.push(noop(scratch.path(), jobs)?);
        }
    }
    let mut rows = Vec::new();
    for ((engine, iodepth), rates) in ENGINES.iter().zip(&rates) {
        for (case, sample) in CASES.iter().zip(rates) {
            let share = sample.median() / rates[case.without].median();
            let name = format!("{engine}, depth {iodepth}");
            rows.push(vec![name, case.name.to_owned(), sample.shown(rate), ratio(share)]);
        }
    }
    let features = markdown(&["", "with", "IOPS", "of the IOPS without"], &rows);
    let [one, two] = &scaling;
    Ok(format!(
        "{features}\nTwo jobs on requests that do nothing: {} against {} of one, {} times as many\n",
        two.shown(rate),
        one.shown(rate),
        ratio(two.median() / one.median())
    ))
}

fn run(args: &FeaturesArgs, scratch: &Path, (engine, iodepth): &(&str, u32), flags: &str) -> io::Result<f64> {
    let line = format!(
        "run {} --store {} --bs 4k --size 1M --direct false --cache warm --engine {engine} --iodepth {iodepth} \
         --runtime 1s --rounds 1 --json --quiet {flags}",
        scratch.display(),
        scratch.join("store").display()
    );
    let line: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let cost = measured::run(&args.programs.lodestone(), &line)?;
    let run: Value = serde_json::from_str(&cost.stdout)?;
    let measurements = run["measurements"].as_array().cloned().unwrap_or_default();
    let iops = measurements.iter().find(|m| m["metric"] == "iops").and_then(|m| m["estimate"].as_f64());
    iops.ok_or_else(|| io::Error::other(format!("{flags}: the run has no IOPS")))
}

fn noop(scratch: &Path, jobs: u32) -> io::Result<f64> {
    let file = scratch.join("noop");
    std::fs::write(&file, vec![0; 1 << 20])?;
    let ops = 8_000_000 * u64::from(jobs);
    let engine = model::EngineKind::Noop;
    Ok(drive(&DriveArgs {
        file,
        engine,
        iodepth: 32,
        jobs,
        ops,
        direct: false,
        interval: 500,
        compare_stamps: false,
    })?
    .rate)
}
