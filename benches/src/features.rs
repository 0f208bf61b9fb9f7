//! The rate with each feature, as a share of the operations per second without it, on a file in the page cache.

use std::io;
use std::path::Path;

use serde_json::Value;

use crate::measured;
use crate::scaling::scaling;
use crate::setting::{Setting, turns};
use crate::table::{Values, markdown, rate, ratio};

/// A feature, the flags that switch it on, and the case without it.
struct Case {
    name: &'static str,
    flags: &'static str,
    without: usize,
}

/// The first is its own baseline, as is the one of plain writes.
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

/// Measures every feature on every engine, then the gain from a second job.
///
/// # Errors
/// A run fails.
pub fn features(setting: &Setting) -> io::Result<String> {
    let scratch = tempfile::tempdir_in(&setting.turns.place)?;
    let mut rates = vec![vec![Values::default(); CASES.len()]; ENGINES.len()];
    for turn in turns(setting.turns.rounds, ENGINES.len() * CASES.len()) {
        let (engine, case) = (turn / CASES.len(), turn % CASES.len());
        let program = setting.programs.lodestone();
        rates[engine][case].push(run(&program, scratch.path(), &ENGINES[engine], CASES[case].flags)?);
    }
    let mut rows = Vec::new();
    for ((engine, iodepth), rates) in ENGINES.iter().zip(&rates) {
        for (case, values) in CASES.iter().zip(rates) {
            let share = values.median() / rates[case.without].median();
            let name = format!("{engine}, depth {iodepth}");
            rows.push(vec![name, case.name.to_owned(), values.shown(rate), ratio(share)]);
        }
    }
    let features = markdown(&["", "with", "IOPS", "of the IOPS without"], &rows);
    Ok(format!("{features}\n{}", scaling(setting)?))
}

fn run(program: &str, scratch: &Path, (engine, iodepth): &(&str, u32), flags: &str) -> io::Result<f64> {
    let line = format!(
        "run {} --store {} --bs 4k --size 1M --direct false --cache warm --engine {engine} --iodepth {iodepth} \
         --runtime 1s --rounds 1 --json --quiet {flags}",
        scratch.display(),
        scratch.join("store").display()
    );
    let line: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let cost = measured::run(program, &line)?;
    let run: Value = serde_json::from_str(&cost.stdout)?;
    let measurements = run["measurements"].as_array().cloned().unwrap_or_default();
    let iops = measurements.iter().find(|m| m["metric"] == "iops").and_then(|m| m["estimate"].as_f64());
    iops.ok_or_else(|| io::Error::other(format!("{flags}: the run has no IOPS")))
}
