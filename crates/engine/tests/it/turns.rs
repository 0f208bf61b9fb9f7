//! Tasks that take turns: each measures what it would have measured alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::*;
use engine::{EngineError, Outcome, SimEnd, SimFault, SimLatency, SimModel, Task, run_in_turns, takes_turns};
use model::*;

/// Runs tasks in turns of `slice_ns`.
fn in_turns(tasks: Vec<Task>, slice_ns: u64) -> Vec<Done> {
    let mut intervals: BTreeMap<u32, Vec<Interval>> = BTreeMap::new();
    let repeats: Vec<u32> = tasks.iter().map(|task| task.repeat).collect();
    let outcomes = run_in_turns(tasks, slice_ns, Box::new(|_| {}), &Arc::default(), &mut |interval| {
        intervals.entry(interval.repeat).or_default().push(interval);
    });
    let done = |(repeat, outcome): (&u32, Result<Outcome, EngineError>)| Done {
        outcome: outcome.unwrap(),
        intervals: intervals.remove(repeat).unwrap_or_default(),
    };
    repeats.iter().zip(outcomes).map(done).collect()
}

/// Repeats of a workload on simulated devices, for a second each.
fn tasks(workload: &Workload, models: &[SimModel]) -> Vec<Task> {
    let task = |(repeat, model): (usize, &SimModel)| Task {
        repeat: repeat as u32,
        ..simulated(workload.clone(), time(SECOND), model.clone())
    };
    models.iter().enumerate().map(task).collect()
}

fn queueing(median_ns: u64) -> SimModel {
    let points = vec![(0.0, median_ns / 2), (0.5, median_ns), (0.99, 3 * median_ns), (1.0, 20 * median_ns)];
    SimModel { latency: SimLatency::Quantiles(points), servers: 8, seed: median_ns, ..SimModel::default() }
}

#[track_caller]
fn near(value: f64, truth: f64, share: f64) {
    assert!((value / truth - 1.0).abs() < share, "{value}, and alone {truth}");
}

#[test]
fn each_measures_what_it_measures_alone() {
    let mixed = Workload { mix: Mix::Transfer { read_percent: 75 }, ..workload() };
    let durable = Workload { sync: SyncRule { every: 1, data_only: true, at_end: false }, ..writes() };
    for (workload, iodepth) in [(workload(), 1), (workload(), 32), (mixed, 16), (durable, 1)] {
        let workload = Workload { iodepth, ..workload };
        let models = [200_000, 300_000, 100_000].map(|ns| SimModel { sync_ns: 400_000, ..queueing(ns) });
        let together = in_turns(tasks(&workload, &models), 10 * MS);
        for (model, own) in models.into_iter().zip(together) {
            let alone = simulate(workload.clone(), time(SECOND), model);
            assert_eq!(own.outcome.outcome, RepeatOutcome::Completed);
            near(own.outcome.window_ns as f64, SECOND as f64, 0.01);
            near(own.queue_depth(), alone.queue_depth(), 0.02);
            for (operation, truth) in alone.totals(|_| true) {
                let own = own.of(operation);
                near(own.count as f64, truth.count as f64, 0.03);
                near(own.lat.mean_ns().unwrap(), truth.lat.mean_ns().unwrap(), 0.04);
            }
        }
    }
}

#[test]
fn stalls_count_with_all_of_their_time_for_the_one_that_stalls() {
    // A hundredth of the operations takes 40 ms, four times as long as a turn: anywhere, or many in a row.
    let anywhere = SimLatency::Quantiles(vec![(0.0, MS), (0.99, MS), (0.99, 40 * MS), (1.0, 40 * MS)]);
    let in_a_row = SimLatency::Cycle([vec![MS; 4950], vec![40 * MS; 50]].concat());
    for latency in [anywhere, in_a_row] {
        let stalling = SimModel { latency, ..SimModel::default() };
        let even = SimModel { latency: SimLatency::Fixed(MS), ..SimModel::default() };
        let tasks = tasks(&workload(), &[stalling, even]).into_iter();
        let tasks = tasks.map(|task| Task { stop: time(200 * SECOND), ..task });
        let [stalls, does_not] = <[Done; 2]>::try_from(in_turns(tasks.collect(), 10 * MS)).ok().unwrap();
        near(stalls.of(Operation::Read).count as f64, 200_000.0 / (0.99 + 0.01 * 40.0), 0.03);
        near(does_not.of(Operation::Read).count as f64, 200_000.0, 0.001);
    }
}

#[test]
fn while_one_works_the_clocks_of_the_others_stand_still() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data");
    filled(&path, 4 << 20);
    let task = |repeat| {
        let workload = Workload { iodepth: 8, jobs: 2, ..workload() };
        let target = engine::IoTarget::Files(open(&path, 2, 4 << 20, false, 0));
        Task { repeat, ..task(workload, EngineKind::Libaio, time(20 * MS), target) }
    };
    let began = std::time::Instant::now();
    let all = in_turns(vec![task(0), task(1), task(2)], 2 * MS);
    let elapsed_ns = began.elapsed().as_nanos() as u64;
    for done in &all {
        assert_eq!(done.outcome.outcome, RepeatOutcome::Completed);
        assert!(done.outcome.window_ns >= 20 * MS && done.of(Operation::Read).count > 0);
    }
    let windows_ns: u64 = all.iter().map(|done| done.outcome.window_ns).sum();
    assert!(elapsed_ns > windows_ns, "{elapsed_ns} ns for {windows_ns} ns");
}

#[test]
fn one_that_has_moved_all_of_its_bytes_leaves_the_turns_to_the_others() {
    let mixed = Workload { mix: Mix::Transfer { read_percent: 75 }, ..workload() };
    let durable = Workload { sync: SyncRule { every: 1, data_only: true, at_end: false }, ..writes() };
    for (workload, iodepth, jobs) in
        [(workload(), 1, 1), (workload(), 32, 2), (mixed, 16, 1), (durable, 1, 1)]
    {
        let block = u64::from(workload.block.read);
        let workload = Workload { iodepth, jobs, ..workload };
        // The first has all bytes under way before its queue is full.
        let limits = [6 * block, 1000 * block, 3000 * block];
        let mut tasks = tasks(&workload, &limits.map(|_| SimModel { sync_ns: 400_000, ..queueing(200_000) }));
        tasks.iter_mut().zip(limits).for_each(|(task, bytes)| {
            task.stop = Stop { bytes: Some(bytes), ..time(100 * SECOND) };
        });
        let done = in_turns(tasks, 10 * MS);
        for (done, bytes) in done.iter().zip(limits) {
            assert_eq!(done.outcome.outcome, RepeatOutcome::Completed);
            let transfers = [Operation::Read, Operation::Write];
            let counted: u64 = transfers.map(|o| done.of(o).bytes).iter().sum();
            let beside: u64 = transfers.iter().filter_map(|o| done.outcome.uncounted_bytes.get(o)).sum();
            assert!(counted + beside <= bytes && counted > 0, "{counted} and {beside} of {bytes}");
            assert!(counted + beside >= bytes * 9 / 10, "{counted} and {beside} of {bytes}");
        }
        let [short, long] = [&done[1], &done[2]].map(|done| done.outcome.window_ns as f64);
        assert!((2.0..4.0).contains(&(long / short)), "{long} {short}");
    }
}

/// What slows all down after a while then falls on the same share of the work of each.
#[test]
fn the_slower_one_has_more_turns_so_that_both_are_as_far() {
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let ears = Arc::clone(&told);
    let workload = Workload { iodepth: 4, ..workload() };
    let mut tasks = tasks(&workload, &[queueing(100_000), queueing(400_000)]);
    let bytes = Some(20_000 * u64::from(workload.block.read));
    tasks.iter_mut().for_each(|task| task.stop = Stop { bytes, ..time(100 * SECOND) });
    let observer = Box::new(move |task| ears.lock().unwrap().push(task));
    let outcomes = run_in_turns(tasks, 10 * MS, observer, &Arc::default(), &mut |_| {});
    assert!(outcomes.into_iter().all(|outcome| outcome.unwrap().outcome == RepeatOutcome::Completed));
    let told = told.lock().unwrap();
    let turns = |task| told.iter().filter(|turn| **turn == Some(task)).count();
    assert!(turns(0) > 10 && turns(1) > 2 * turns(0), "{} and {}", turns(0), turns(1));
}

#[test]
fn one_that_fails_does_not_keep_the_others() {
    let fault = SimFault { operation: 500, forever: true, end: SimEnd::Returns(-5) };
    let models = [SimModel { faults: vec![fault], ..queueing(MS) }, queueing(MS)];
    let done = in_turns(tasks(&workload(), &models), 10 * MS);
    assert_eq!(done[0].failure().kind, FailureKind::Errno(5));
    assert_eq!(done[1].outcome.outcome, RepeatOutcome::Completed);
    near(done[1].outcome.window_ns as f64, SECOND as f64, 0.03);
}

#[test]
fn one_that_cannot_begin_does_not_keep_the_others() {
    let mut tasks = tasks(&workload(), &[queueing(MS), queueing(MS)]);
    if let engine::IoTarget::Files(files) = &mut tasks[0].target {
        files.file_bytes = 100;
    }
    let mut outcomes =
        run_in_turns(tasks, 10 * MS, Box::new(|_| {}), &Arc::default(), &mut |_| {}).into_iter();
    assert!(matches!(outcomes.next().unwrap(), Err(EngineError::TooSmall { .. })));
    assert_eq!(outcomes.next().unwrap().unwrap().outcome, RepeatOutcome::Completed);
}

#[test]
fn an_interruption_ends_all() {
    // Each would take as long as it pleases.
    let models = [queueing(MS), queueing(MS)];
    let tasks = tasks(&workload(), &models).into_iter().map(|task| Task { stop: time(u64::MAX / 8), ..task });
    let interrupt = Arc::new(AtomicBool::new(false));
    let outcomes = run_in_turns(tasks.collect(), 10 * MS, Box::new(|_| {}), &interrupt, &mut |_| {
        interrupt.store(true, Ordering::Relaxed);
    });
    let all = outcomes.into_iter().map(|outcome| outcome.unwrap().outcome);
    assert_eq!(all.collect::<Vec<_>>(), vec![RepeatOutcome::Interrupted; 2]);
}

#[test]
fn only_what_a_queue_alone_holds_back_takes_turns() {
    let direct = || Workload { direct: true, ..workload() };
    let sync = |every, at_end| SyncRule { every, data_only: true, at_end };
    let modified = |modifiers| Workload { modifiers, ..direct() };
    let takes = |workload: &Workload| takes_turns(workload, &time(SECOND), EngineKind::IoUring);
    let can = [
        direct(),
        Workload { mix: Mix::Transfer { read_percent: 70 }, ..direct() },
        Workload { sync: sync(1, false), ..direct() },
        modified(Modifiers { even_mix: true, ..Modifiers::default() }),
    ];
    can.iter().for_each(|workload| assert!(takes(workload), "{workload:?}"));
    let cannot = [
        workload(),
        Workload { mix: Mix::Trim, ..direct() },
        Workload { mix: Mix::Update { write_percent: 50 }, ..direct() },
        Workload { pace: Pace::Fixed { per_second: 100.0 }, ..direct() },
        Workload { cache: CacheState::ColdEach, ..direct() },
        Workload { verify: true, ..direct() },
        Workload { sync: sync(8, false), ..direct() },
        Workload { sync: sync(0, true), ..direct() },
        modified(Modifiers { start_delay_ns: 1, ..Modifiers::default() }),
        modified(Modifiers { log_offset: true, ..Modifiers::default() }),
    ];
    cannot.iter().for_each(|workload| assert!(!takes(workload), "{workload:?}"));
    for engine in [EngineKind::Psync, EngineKind::Mmap, EngineKind::Noop] {
        assert!(!takes_turns(&direct(), &time(SECOND), engine), "{engine:?}");
    }
    let endless = Stop::default();
    let counted = Stop { operations: Some(100), ..time(SECOND) };
    for stop in [endless, operations(100), counted, Stop { bytes: Some(1), ..time(SECOND) }] {
        assert!(!takes_turns(&direct(), &stop, EngineKind::IoUring), "{stop:?}");
    }
}

#[test]
fn an_observer_is_told_of_each_turn_in_their_order() {
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let ears = Arc::clone(&told);
    let tasks = tasks(&workload(), &[queueing(MS), queueing(MS)]);
    let observer = Box::new(move |task| ears.lock().unwrap().push(task));
    let outcomes = run_in_turns(tasks, 10 * MS, observer, &Arc::default(), &mut |_| {});
    assert!(outcomes.iter().flatten().all(|outcome| outcome.uncounted_bytes[&Operation::Read] > 0));
    let told = told.lock().unwrap();
    assert_eq!(told[..3], [None, Some(0), Some(1)]);
    assert!(told.len() > 20);
}
