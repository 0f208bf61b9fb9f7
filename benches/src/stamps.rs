//! The difference between the figures of batches stamped together and of operations stamped one by one.

use std::fs;
use std::io;
use std::path::Path;

use engine::StampComparison;
use model::EngineKind;

use crate::drive::{DriveArgs, drive};
use crate::setting::{CACHED_BYTES, DISK_BYTES, Turns, make, turns};
use crate::stamp_figures::more_percent;
use crate::table::{Values, markdown};

/// The file, the engine, the depth, and the number of operations, a few seconds' worth.
struct Case {
    disk: bool,
    engine: EngineKind,
    iodepth: u32,
    ops: u64,
}

const CASES: [Case; 6] = [
    Case { disk: true, engine: EngineKind::Psync, iodepth: 1, ops: 30_000 },
    Case { disk: true, engine: EngineKind::IoUring, iodepth: 1, ops: 30_000 },
    Case { disk: true, engine: EngineKind::IoUring, iodepth: 32, ops: 150_000 },
    Case { disk: true, engine: EngineKind::Libaio, iodepth: 32, ops: 150_000 },
    Case { disk: false, engine: EngineKind::IoUring, iodepth: 32, ops: 2_000_000 },
    Case { disk: false, engine: EngineKind::Psync, iodepth: 1, ops: 2_000_000 },
];

impl Case {
    fn name(&self) -> String {
        let place = if self.disk { "disk, direct" } else { "cached file" };
        match self.engine {
            EngineKind::Psync => format!("{place}, psync"),
            engine => format!("{place}, {}, depth {}", engine.name(), self.iodepth),
        }
    }

    fn run(&self, file: &Path) -> io::Result<StampComparison> {
        if !self.disk {
            // Something else may have evicted it.
            let _ = fs::read(file);
        }
        let reads = DriveArgs::reads(file.to_owned(), self.engine, self.iodepth);
        let args = DriveArgs { ops: self.ops, direct: self.disk, compare_stamps: true, ..reads };
        drive(&args)?.stamps.ok_or_else(|| io::Error::other("the engine has not compared its stamps"))
    }
}

/// The same operations stamped both ways: how far single stamps are above those of batches, in per cent.
///
/// # Errors
/// The test files cannot be created, or an engine fails.
pub fn stamps(args: &Turns) -> io::Result<String> {
    let scratch = tempfile::tempdir_in(&args.place)?;
    let [cached, disk] = ["cached", "disk"].map(|name| scratch.path().join(name));
    make(&cached, CACHED_BYTES)?;
    make(&disk, DISK_BYTES)?;
    let mut differences = vec![[Values::default(), Values::default(), Values::default()]; CASES.len()];
    for turn in turns(args.rounds, CASES.len()) {
        let case = &CASES[turn];
        let more = more_percent(&case.run(if case.disk { &disk } else { &cached })?);
        differences[turn].iter_mut().zip(more).for_each(|(values, percent)| values.push(percent));
    }
    let row = |(case, more): (&Case, &[Values; 3])| {
        let cells = more.iter().map(|values| values.shown(signed_percent));
        [case.name()].into_iter().chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = CASES.iter().zip(&differences).map(row).collect();
    Ok(markdown(&["", "mean", "p50", "p99"], &rows))
}

fn signed_percent(percent: f64) -> String {
    format!("{percent:+.2} %").replace('-', "−")
}
