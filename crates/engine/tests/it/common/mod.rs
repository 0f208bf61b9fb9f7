//! Shared by the engine's tests: short workload definitions, and a repeat run to its end.

#![allow(dead_code)]

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::{IoTarget, OpenFiles, Outcome, SimModel, Task, run};
use model::*;

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;

/// Random 4 KiB reads at depth 1, one job, buffered, without a stop condition.
pub fn workload() -> Workload {
    Workload::random_reads()
}

pub fn writes() -> Workload {
    Workload { mix: Mix::Transfer { read_percent: 0 }, ..workload() }
}

pub fn task(workload: Workload, engine: EngineKind, stop: Stop, target: IoTarget) -> Task {
    Task {
        repeat: 0,
        workload,
        engine,
        stop,
        ramp_ns: 0,
        interval_ns: 100 * MS,
        max_errors: 1,
        seed: 1,
        target,
        start: 0.0,
        compare_stamps: false,
        sim: None,
        concurrent: Vec::new(),
    }
}

/// Retries until `shown` has no objection. In any one attempt, noise can only hide what such a test checks for;
/// what an engine cannot do appears in none of a hundred.
pub fn in_some_attempt(mut shown: impl FnMut() -> Result<(), String>) {
    let mut objection = String::new();
    for _ in 0..100 {
        match shown() {
            Ok(()) => return,
            Err(why) => objection = why,
        }
    }
    panic!("in none of 100 attempts; in the last one: {objection}");
}

pub fn operations(n: u64) -> Stop {
    Stop { operations: Some(n), ..Stop::default() }
}

pub fn time(ns: u64) -> Stop {
    Stop { time_ns: Some(ns), ..Stop::default() }
}

/// A file of `bytes` opened once per job.
pub fn open(path: &Path, jobs: u32, bytes: u64, writable: bool, flags: i32) -> OpenFiles {
    let file = || OpenOptions::new().read(true).write(writable).custom_flags(flags).open(path).unwrap();
    OpenFiles {
        per_job: (0..jobs).map(|_| vec![file()]).collect(),
        file_bytes: bytes,
        writable,
        generations: None,
    }
}

/// A file with `bytes` bytes of arbitrary content.
pub fn filled(path: &Path, bytes: usize) {
    let content: Vec<u8> = (0..bytes).map(|i| (i * 31 % 253) as u8).collect();
    std::fs::write(path, content).unwrap();
}

/// The result of a repeat.
pub struct Done {
    pub outcome: Outcome,
    pub intervals: Vec<Interval>,
}

impl Done {
    pub fn totals(&self, wanted: impl Fn(&Interval) -> bool) -> BTreeMap<Operation, OperationStats> {
        let mut totals: BTreeMap<Operation, OperationStats> = BTreeMap::new();
        for interval in self.intervals.iter().filter(|i| wanted(i)) {
            for (operation, stats) in &interval.operations {
                totals.entry(*operation).or_default().merge(stats);
            }
        }
        totals
    }

    pub fn of(&self, operation: Operation) -> OperationStats {
        self.totals(|_| true).remove(&operation).unwrap_or_default()
    }

    pub fn queue_depth(&self) -> f64 {
        let in_flight: u64 = self.intervals.iter().map(|i| i.in_flight_ns).sum();
        in_flight as f64 / self.outcome.whole_ns as f64
    }

    /// The largest mean queue depth of an interval.
    pub fn deepest(&self) -> f64 {
        self.intervals.iter().map(|i| i.in_flight_ns as f64 / i.len_ns as f64).fold(0.0, f64::max)
    }

    pub fn failure(&self) -> &RepeatFailure {
        match &self.outcome.outcome {
            RepeatOutcome::Failed(failure) => failure,
            other => panic!("the repeat should have failed: {other:?}"),
        }
    }
}

pub fn run_task(task: Task) -> Done {
    let mut intervals = Vec::new();
    let outcome = run(task, &Arc::new(AtomicBool::new(false)), &mut |i| intervals.push(i)).unwrap();
    Done { outcome, intervals }
}

/// A repeat on the simulator, over a data set of 1 GiB that is never touched.
pub fn simulate(workload: Workload, stop: Stop, sim: SimModel) -> Done {
    simulate_task(workload, stop, sim, |_| {})
}

pub fn simulate_task(workload: Workload, stop: Stop, sim: SimModel, change: impl Fn(&mut Task)) -> Done {
    let mut task = simulated(workload, stop, sim);
    change(&mut task);
    run_task(task)
}

pub fn simulated(workload: Workload, stop: Stop, sim: SimModel) -> Task {
    let file = || File::open("/dev/null").unwrap();
    let target = IoTarget::Files(OpenFiles {
        per_job: (0..workload.jobs).map(|_| vec![file()]).collect(),
        file_bytes: 1 << 30,
        writable: true,
        generations: None,
    });
    let mut task = task(workload, EngineKind::Sim, stop, target);
    task.sim = Some(sim);
    task
}
