//! Concurrent workloads, start delays, pauses, shares, latency targets, and syncs as in sysbench: on the
//! simulator's virtual clock where one worker suffices, else on the machine's clock.

use crate::common::*;
use engine::{SimLatency, SimModel, Task};
use model::*;

fn fixed(ns: u64) -> SimModel {
    SimModel { latency: SimLatency::Fixed(ns), ..SimModel::default() }
}

fn modifiers(modifiers: Modifiers) -> Workload {
    Workload { modifiers, ..workload() }
}

/// On the machine's clock: two workloads with a file each.
fn concurrent(first: Workload, second: Workload, stop: (Stop, Stop)) -> Done {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data");
    filled(&path, 4 << 20);
    let target = |workload: &Workload| {
        engine::IoTarget::Files(open(&path, workload.jobs, 4 << 20, workload.writes_data(), 0))
    };
    let other = Task { ..task(second.clone(), EngineKind::Psync, stop.1, target(&second)) };
    run_task(Task {
        concurrent: vec![other],
        ..task(first.clone(), EngineKind::Psync, stop.0, target(&first))
    })
}

#[test]
fn a_start_delay_precedes_the_full_measured_time() {
    let late = modifiers(Modifiers { start_delay_ns: 2 * SECOND, ..Modifiers::default() });
    let done = simulate(late, time(SECOND), fixed(MS));
    assert_eq!(done.of(Operation::Read).count, 1000);
    assert_eq!(done.outcome.whole_ns, 3 * SECOND);
    let early = done.totals(|i| i.start_ns < 2 * SECOND);
    assert_eq!(early.get(&Operation::Read).map_or(0, |s| s.count), 0);
}

#[test]
fn a_pause_follows_a_number_of_operations_with_none_in_flight() {
    let think = Some(Think { ns: 6 * MS, every: 4 });
    for (iodepth, count) in [(1, 400), (4, 572)] {
        let paused = Workload { iodepth, ..modifiers(Modifiers { think, ..Modifiers::default() }) };
        let done = simulate(paused, time(SECOND), fixed(MS));
        // Four operations of a millisecond each and a pause of six; at depth four the operations take one
        // millisecond in total.
        assert_eq!(done.of(Operation::Read).count, count, "depth {iodepth}");
        near_ms(done.of(Operation::Read).lat.max_ns(), 1);
    }
}

#[track_caller]
fn near_ms(measured_ns: Option<u64>, ms: u64) {
    assert!(measured_ns.unwrap().abs_diff(ms * MS) <= ms * MS / 64, "{measured_ns:?}");
}

#[test]
fn all_files_are_synced_after_a_number_of_requests_with_a_write() {
    let sync = SyncRule { every: 10, data_only: false, at_end: false };
    let rule = Modifiers { sync_all_files: true, even_mix: true, ..Modifiers::default() };
    let mixed =
        Workload { mix: Mix::Transfer { read_percent: 60 }, sync, modifiers: rule.clone(), ..workload() };
    let files = |task: &mut Task| {
        let file = || std::fs::File::open("/dev/null").unwrap();
        task.target = engine::IoTarget::Files(engine::OpenFiles {
            per_job: vec![(0..4).map(|_| file()).collect()],
            file_bytes: 1 << 20,
            writable: true,
            generations: None,
        });
    };
    let done = simulate_task(mixed, operations(100), fixed(MS), files);
    let counts = [Operation::Read, Operation::Write, Operation::Sync].map(|o| done.of(o).count);
    assert_eq!(counts, [60, 40, 40], "ten series of four files");
    let reads = Workload { sync, modifiers: rule, ..workload() };
    let done = simulate_task(reads, operations(100), fixed(MS), files);
    assert_eq!(done.of(Operation::Sync).count, 0, "nothing was written");
}

#[test]
fn a_repeat_ends_when_its_figure_is_steady() {
    let rule = SteadyRule {
        figure: SteadyFigure::Iops,
        slope: false,
        limit_percent: 5.0,
        window_ns: 3 * SECOND,
        ramp_ns: SECOND,
    };
    let steady = modifiers(Modifiers { steady: Some(rule), ..Modifiers::default() });
    let done = simulate(steady, time(600 * SECOND), fixed(MS));
    assert_eq!(done.outcome.outcome, RepeatOutcome::Completed);
    assert!(done.outcome.whole_ns < 600 * SECOND, "{}", done.outcome.whole_ns);
    assert!(done.outcome.whole_ns >= 4 * SECOND);
}

#[test]
fn a_latency_target_is_met_by_the_depth() {
    // In a window this short, operations in flight from a larger depth would be a large part of it.
    let target = LatencyTarget { ns: 23 * MS / 2, percent: 99.0, window_ns: 50 * MS };
    let kept = Workload {
        iodepth: 64,
        ..modifiers(Modifiers { latency_target: Some(target), ..Modifiers::default() })
    };
    // One operation at a time: each waits for those before it.
    let serial = SimModel { latency: SimLatency::Fixed(MS), servers: 1, ..SimModel::default() };
    let done = simulate(kept, time(4 * SECOND), serial);
    // By then it has tested these depths: 1, 2, 4, 8, 16, 12, 10, 11.
    let settled = |i: &Interval| i.start_ns >= 2 * SECOND;
    let late = done.totals(settled).remove(&Operation::Read).unwrap().lat;
    near_ms(late.percentile_ns(99.0), 11);
    let intervals: Vec<&Interval> = done.intervals.iter().filter(|i| settled(i)).collect();
    assert!(late.percentile_ns(99.0).unwrap() <= target.ns);
    let in_flight: u64 = intervals.iter().map(|i| i.in_flight_ns).sum();
    let depth = in_flight as f64 / intervals.iter().map(|i| i.len_ns).sum::<u64>() as f64;
    assert!((depth - 11.0).abs() < 0.1, "the largest depth that meets the target is 11, not {depth}");
}

#[test]
fn concurrent_workloads_count_together_and_end_separately() {
    let writing = Workload { jobs: 2, ..writes() };
    let done = concurrent(workload(), writing, (operations(100), operations(60)));
    assert_eq!(done.outcome.outcome, RepeatOutcome::Completed);
    assert_eq!((done.of(Operation::Read).count, done.of(Operation::Write).count), (100, 60));
}

#[test]
fn a_workload_that_ends_all_is_not_a_failure() {
    let short = modifiers(Modifiers { ends_all: true, ..Modifiers::default() });
    let done = concurrent(short, workload(), (operations(100), Stop::default()));
    assert_eq!(done.outcome.outcome, RepeatOutcome::Completed);
    assert!(done.of(Operation::Read).count >= 100);
}

#[test]
fn operations_are_shared_by_weight() {
    let weighed = |flow, workload: Workload| Workload {
        modifiers: Modifiers { flow, ends_all: true, ..Modifiers::default() },
        ..workload
    };
    let done = concurrent(weighed(1, writes()), weighed(4, workload()), (Stop::default(), operations(8_000)));
    let (reads, writes) = (done.of(Operation::Read).count, done.of(Operation::Write).count);
    assert_eq!(reads, 8_000);
    assert!(writes.abs_diff(2_000) < 200, "{writes} writes");
}

#[test]
fn a_barrier_says_when_all_begin() {
    const LATER: u64 = 20 * MS;
    let run = |barrier: &engine::Barrier<'_>| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        filled(&path, 4 << 20);
        let workload = Workload { jobs: 2, ..workload() };
        let files = engine::IoTarget::Files(open(&path, 2, 4 << 20, false, 0));
        let (interrupt, mut count) = (Default::default(), 0);
        let task = task(workload, EngineKind::Psync, operations(8), files);
        let outcome = engine::run_at(task, &interrupt, Some(barrier), &mut |i| {
            count += i.operations.values().map(|stats| stats.count).sum::<u64>();
        });
        (outcome.unwrap(), count)
    };
    let agreed = std::cell::Cell::new(0);
    let (outcome, count) = run(&|| {
        agreed.set(engine::monotonic_ns() + LATER);
        Some(agreed.get())
    });
    assert_eq!((outcome.outcome, count), (RepeatOutcome::Completed, 8));
    let (began_ns, ended_ns) = outcome.span_ns.unwrap();
    assert!(began_ns >= agreed.get(), "{began_ns} is before {}", agreed.get());
    assert_eq!(ended_ns, agreed.get() + outcome.whole_ns);
    let (outcome, count) = run(&|| None);
    assert_eq!((outcome.outcome, outcome.span_ns, count), (RepeatOutcome::Interrupted, None, 0));
}
