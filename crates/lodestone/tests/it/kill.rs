//! `kill -9` at a hundred random moments: each time the log is readable, the index is rebuilt, and no test file remains
//! visible.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::*;

/// Fewest batches, each with a complete run before it, and the kills of each batch.
const BATCHES: u32 = 10;
const KILLS: u32 = 10;
const SEED: u64 = 20261121;

/// The test's own random generator, so that a failing moment can be reproduced.
struct Moments(u64);

impl Moments {
    fn next(&mut self, below: Duration) -> Duration {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        below.mul_f64((self.0 >> 33) as f64 / f64::from(1_u32 << 31))
    }
}

/// The logs of the store.
fn logs(bench: &Bench) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(bench.store().join("runs")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Duration of a complete run: the moments must cover all of it, however slow the disk is.
fn whole_run(bench: &Bench, args: &[&str]) -> Duration {
    let began = Instant::now();
    bench.ok(args);
    let took = began.elapsed();
    std::fs::remove_dir_all(bench.store()).unwrap();
    took
}

/// Repeats in the log of a killed run, which must be complete except for its end; `None` if it has no line yet.
#[track_caller]
fn repeats_in(log: &Path, when: &str) -> Option<usize> {
    match record::read_log(log) {
        Ok(log) => {
            assert!(log.damage.is_empty(), "{when}: {:?}", log.damage);
            Some(log.run.repeats.len())
        }
        Err(error) => {
            assert!(!std::fs::read(log).unwrap().contains(&b'\n'), "{when}: {error}");
            None
        }
    }
}

#[test]
fn a_killed_run_leaves_a_readable_log_and_no_files() {
    let bench = Bench::new();
    let disk = bench.disk();
    let small = ["run", disk.to_str().unwrap(), "--quiet", "--size", "8M", "--rounds", "1"];
    let args =
        [&small[..], &["--runtime", "none", "--ops", "2", "--ramp", "0s", "--interval", "10ms"]].concat();
    let mut moments = Moments(SEED);
    let (mut killed, mut repeats, mut logs_read) = (0, 0, 0);
    // The moments miss a run that takes longer or less time than the one before its batch.
    for batch in 0..10 * BATCHES {
        if batch >= BATCHES && killed > 50 && repeats > 50 && logs_read > 50 {
            break;
        }
        let whole = whole_run(&bench, &args);
        for kill in 0..KILLS {
            let moment = moments.next(whole + whole / 5);
            let mut child = bench.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(moment);
            child.kill().unwrap();
            killed += u32::from(!child.wait().unwrap().success());
            let when = format!("seed {SEED}, kill {kill} of batch {batch}, after {moment:?} of {whole:?}");
            assert_eq!(bench.visible(), Vec::<String>::new(), "{when}");
            for log in logs(&bench) {
                repeats_in(&log, &when);
            }
        }
        let readable: Vec<usize> = logs(&bench).iter().filter_map(|log| repeats_in(log, "again")).collect();
        let _ = std::fs::remove_file(bench.store().join("index.db"));
        assert!(bench.ok(&["reindex"]).starts_with(&format!("{} run(s)", readable.len())));
        if !readable.is_empty() {
            bench.ok(&["show", "last"]);
        }
        repeats += readable.iter().sum::<usize>();
        logs_read += readable.len();
        std::fs::remove_dir_all(bench.store()).unwrap();
    }
    assert!(killed > 50, "only {killed} were killed before they ended: the moments come too late");
    assert!(
        repeats > 50 && logs_read > 50,
        "the moments come too early: {repeats} repeats, {logs_read} logs"
    );
}
