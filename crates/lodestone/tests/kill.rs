//! `kill -9` at a hundred random moments: each time the log reads, the index is made anew, and no test
//! file remains visible.

mod common;

use std::process::Stdio;
use std::time::Duration;

use common::*;

/// A generator of the test's own, so that a failing moment can be found again.
struct Moments(u64);

impl Moments {
    fn next(&mut self, below_ms: u64) -> Duration {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_micros((self.0 >> 33) % (below_ms * 1000))
    }
}

#[test]
fn a_run_killed_at_any_moment_leaves_a_readable_log_and_nothing_else() {
    const SEED: u64 = 20261121;
    let bench = Bench::new();
    let disk = bench.disk();
    let args = [
        "run",
        disk.to_str().unwrap(),
        "--quiet",
        "--size",
        "64M",
        "--runtime",
        "40ms",
        "--ramp",
        "10ms",
        "--interval",
        "10ms",
        "--rounds",
        "2",
    ];
    let mut moments = Moments(SEED);
    let (mut killed, mut repeats, mut logs_seen) = (0, 0, 0);
    for n in 0..100 {
        let mut child = bench.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let moment = moments.next(1200);
        std::thread::sleep(moment);
        child.kill().unwrap();
        killed += u32::from(!child.wait().unwrap().success());
        assert_eq!(bench.visible(), Vec::<String>::new(), "seed {SEED}, kill {n} after {moment:?}");

        let logs: Vec<_> =
            std::fs::read_dir(bench.store().join("runs")).into_iter().flatten().flatten().collect();
        for entry in &logs {
            let path = entry.path();
            let bytes = std::fs::metadata(&path).unwrap().len();
            match record::read_log(&path) {
                Ok(log) => {
                    assert_eq!(
                        log.damaged_lines,
                        Vec::<usize>::new(),
                        "seed {SEED}, kill {n} after {moment:?}"
                    );
                    repeats += log.run.repeats.len();
                }
                // Killed before the first line was handed over.
                Err(error) => assert_eq!(bytes, 0, "seed {SEED}, kill {n} after {moment:?}: {error}"),
            }
        }
        if n % 10 == 0 {
            let readable = logs.iter().filter(|l| l.metadata().unwrap().len() > 0).count();
            let _ = std::fs::remove_file(bench.store().join("index.db"));
            assert!(bench.ok(&["reindex"]).starts_with(&format!("{readable} run(s)")));
            if readable > 0 {
                bench.ok(&["show", "last"]);
            }
            logs_seen += readable;
            logs.iter().for_each(|l| std::fs::remove_file(l.path()).unwrap());
        }
    }
    assert!(killed > 50, "only {killed} of 100 were killed before they ended: the moments come too late");
    assert!(
        repeats > 50 && logs_seen > 50,
        "the moments come too early: {repeats} repeats, {logs_seen} logs"
    );
}
