//! Known latencies in, correct figures out: the driver on the simulator's virtual clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::*;
use engine::{Generations, SimEnd, SimFault, SimLatency, SimModel, SimStall, run};
use model::*;

/// A percentile may be off by the width of a histogram bucket.
#[track_caller]
fn near(value: Option<u64>, truth: u64) {
    let value = value.unwrap();
    assert!(value.abs_diff(truth) <= truth / 128, "value {value}, truth {truth}");
}

fn fixed(ns: u64) -> SimModel {
    SimModel { latency: SimLatency::Fixed(ns), ..SimModel::default() }
}

#[test]
fn percentiles_of_a_known_cycle_are_exact() {
    // 98 of 100 take 1 ms, one 5 ms, one 100 ms. Values of this size are stored to 1/256.
    let mut cycle = vec![MS; 98];
    cycle.extend([5 * MS, 100 * MS]);
    let model = SimModel { latency: SimLatency::Cycle(cycle), ..SimModel::default() };
    let lat = simulate(workload(), operations(10_000), model).of(Operation::Read).lat;
    near(lat.percentile_ns(50.0), MS);
    near(lat.percentile_ns(98.0), MS);
    near(lat.percentile_ns(98.5), 5 * MS);
    near(lat.percentile_ns(99.0), 5 * MS);
    near(lat.percentile_ns(99.5), 100 * MS);
    assert_eq!((lat.min_ns(), lat.max_ns()), (Some(MS), Some(100 * MS)));
    assert_eq!(lat.sum_ns(), 100 * (98 + 5 + 100) * MS);
}

#[test]
fn a_distribution_given_by_quantiles_is_reproduced() {
    let points = vec![(0.0, MS), (0.5, 2 * MS), (0.9, 4 * MS), (1.0, 8 * MS)];
    let model = SimModel { latency: SimLatency::Quantiles(points), seed: 3, ..SimModel::default() };
    let lat = simulate(workload(), operations(200_000), model).of(Operation::Read).lat;
    for (percent, truth) in [(25.0, 1.5), (50.0, 2.0), (90.0, 4.0), (95.0, 6.0), (99.0, 7.6)] {
        let measured_ms = lat.percentile_ns(percent).unwrap() as f64 / MS as f64;
        assert!(
            (measured_ms / truth - 1.0).abs() < 0.02,
            "p{percent}: measured {measured_ms} ms, truth {truth} ms"
        );
    }
}

#[test]
fn a_closed_loop_at_depth_n_completes_n_operations_per_latency() {
    for iodepth in [1, 7, 64] {
        let done = simulate(Workload { iodepth, ..workload() }, time(SECOND), fixed(MS));
        assert_eq!(done.of(Operation::Read).count, u64::from(iodepth) * 1000);
        assert_eq!(done.outcome.window_ns, SECOND);
        assert!((done.queue_depth() - f64::from(iodepth)).abs() < 1e-9, "{}", done.queue_depth());
    }
}

#[test]
fn a_device_that_serves_one_at_a_time_queues_the_rest() {
    let model = SimModel { servers: 1, ..fixed(MS) };
    let done = simulate(Workload { iodepth: 8, ..workload() }, time(SECOND), model);
    let reads = done.of(Operation::Read);
    // Little's law: 8 in flight at 1000 per second is 8 ms each.
    assert_eq!(reads.count, 1000 + 7);
    near(reads.lat.percentile_ns(50.0), 8 * MS);
}

/// Storage that had to wait until the last request of a batch was ready had less to do at a time: a tenth fewer
/// operations per second on a real disk.
#[test]
fn a_device_bound_worker_submits_one_by_one_and_stamps_each() {
    let model = SimModel { submit_ns: 1000, ..fixed(MS) };
    let slat = simulate(Workload { iodepth: 8, ..workload() }, time(SECOND), model)
        .of(Operation::Read)
        .slat
        .unwrap();
    // Only the first eight were submitted at once: before them there was nothing to wait for.
    assert_eq!(slat.sum_ns, 8 * 8000 + (slat.count - 8) * 1000);
}

/// Drawn operations that were not yet submitted when the limit was reached used to be dropped.
#[test]
fn limits_are_met_exactly_with_single_submissions() {
    for operations_wanted in [9, 100, 1001] {
        let model = SimModel { submit_ns: 1000, servers: 3, ..fixed(MS) };
        let done = simulate(Workload { iodepth: 8, ..workload() }, operations(operations_wanted), model);
        assert_eq!(done.of(Operation::Read).count, operations_wanted);
    }
}

#[test]
fn batch_stamps_equal_single_stamps_for_an_instant_worker() {
    let done = simulate_task(Workload { iodepth: 8, ..workload() }, operations(1000), fixed(MS), |task| {
        task.compare_stamps = true;
    });
    let stamps = done.outcome.stamps.unwrap();
    assert_eq!(stamps.batch.count(), 1000);
    assert_eq!(stamps.batch, stamps.each);
}

#[test]
fn operations_done_inside_the_submission_count_as_one_in_flight() {
    // Like buffered libaio: the call takes as long as the operations, which have completed when it returns.
    let model = SimModel { submit_ns: MS, ..fixed(0) };
    let done = simulate(Workload { iodepth: 32, ..workload() }, time(SECOND), model);
    assert!((done.queue_depth() - 1.0).abs() < 0.05, "depth {}", done.queue_depth());
    let reads = done.of(Operation::Read);
    assert!(reads.slat.unwrap().mean_ns().unwrap() > 30.0 * MS as f64);
    assert_eq!(reads.clat.unwrap().sum_ns, 0);
}

/// One 1 s stall in 10 s, base latency 1 ms, 500 operations per second offered: counted from the intended start,
/// the 500 that fall into the stall wait from 1 s down to nothing, so the mean of all 5000 is about 51 ms and p99
/// about 0.9 s. A closed loop has one slow operation.
#[test]
fn a_stall_appears_in_an_open_loop_as_calculated() {
    let stall = SimStall { at_ns: 5 * SECOND, len_ns: SECOND };
    let model = SimModel { stalls: vec![stall], ..fixed(MS) };
    let offered = Workload { pace: Pace::Fixed { per_second: 500.0 }, iodepth: 1024, ..workload() };
    let lat = simulate(offered, time(10 * SECOND), model.clone()).of(Operation::Read).lat;
    assert_eq!(lat.count(), 5000);
    let mean_ms = lat.mean_ns().unwrap() / MS as f64;
    assert!((mean_ms - 51.0).abs() < 0.5, "mean {mean_ms} ms");
    let p99_ms = lat.percentile_ns(99.0).unwrap() as f64 / MS as f64;
    assert!((p99_ms - 901.0).abs() < 8.0, "p99 {p99_ms} ms");
    assert_eq!(lat.max_ns(), Some(SECOND + MS));

    let closed = simulate(workload(), time(10 * SECOND), model).of(Operation::Read).lat;
    assert!(closed.percentile_ns(99.0).unwrap() < 2 * MS, "a closed loop hides the stall");
    assert_eq!(closed.max_ns(), Some(SECOND + MS));
}

#[test]
fn the_backlog_of_a_stall_counts_at_depth_one() {
    // One at a time must clear the backlog: 1 s of arrivals at 2 ms each, served in 1 ms each.
    let stall = SimStall { at_ns: 5 * SECOND, len_ns: SECOND };
    let model = SimModel { stalls: vec![stall], ..fixed(MS) };
    let offered = Workload { pace: Pace::Fixed { per_second: 500.0 }, ..workload() };
    let reads = simulate(offered, time(10 * SECOND), model).of(Operation::Read);
    // The k-th of the 500 waits 1 s − 2k ms + k ms, as do the 500 after them: a mean of about 101 ms.
    let mean_ms = reads.lat.mean_ns().unwrap() / MS as f64;
    assert!((mean_ms - 101.0).abs() < 1.0, "mean {mean_ms} ms");
    assert!(reads.clat.unwrap().mean_ns().unwrap() < 2.0 * MS as f64, "service itself was fast");
}

#[test]
fn a_rate_is_kept_and_excess_arrivals_are_reported() {
    for pace in [Pace::Fixed { per_second: 800.0 }, Pace::Poisson { per_second: 800.0 }] {
        let paced = Workload { pace, iodepth: 32, jobs: 4, ..workload() };
        let done = simulate(paced, time(10 * SECOND), fixed(MS));
        let count = done.of(Operation::Read).count as f64;
        assert!((count - 8000.0).abs() < 300.0, "{pace:?}: {count}");
        assert_eq!(done.outcome.unserved, 0);
        assert_eq!(done.outcome.window_ns / SECOND, 10);
    }
    // A device that serves 1000 per second is offered 1500.
    let overload = Workload { pace: Pace::Fixed { per_second: 1500.0 }, ..workload() };
    let done = simulate(overload, time(10 * SECOND), fixed(MS));
    let served = done.of(Operation::Read).count;
    assert_eq!(served, 10_000);
    assert_eq!(done.outcome.unserved, 5_000);
    // The last one served was due after two thirds of the time.
    let last = done.of(Operation::Read).lat.max_ns().unwrap();
    assert!(last.abs_diff(10 * SECOND / 3) < 20 * MS, "{last}");
}

#[test]
fn a_fixed_rate_starts_exactly_on_time() {
    let paced = Workload { pace: Pace::Fixed { per_second: 100.0 }, ..workload() };
    let done = simulate(paced, time(SECOND), fixed(MS));
    let reads = done.of(Operation::Read);
    assert_eq!((reads.count, reads.lat.min_ns(), reads.lat.max_ns()), (100, Some(MS), Some(MS)));
}

#[test]
fn the_ramp_is_separate() {
    // The first 100 operations, all within the ramp, are slow.
    let mut cycle = vec![10 * MS; 100];
    cycle.extend(vec![MS; 100_000]);
    let model = SimModel { latency: SimLatency::Cycle(cycle), ..SimModel::default() };
    let done = simulate_task(workload(), time(2 * SECOND), model, |task| task.ramp_ns = SECOND);
    let ramp = done.totals(|i| i.phase == Phase::Ramp).remove(&Operation::Read).unwrap();
    let measured = done.totals(|i| i.phase == Phase::Measure).remove(&Operation::Read).unwrap();
    // The hundredth ends exactly where the measured time begins.
    assert_eq!((ramp.count, ramp.lat.max_ns()), (99, Some(10 * MS)));
    assert_eq!(measured.count, 2001);
    near(measured.lat.percentile_ns(99.0), MS);
    assert_eq!((done.outcome.window_ns, done.outcome.whole_ns), (2 * SECOND, 3 * SECOND));
}

#[test]
fn intervals_cover_the_repeat_and_are_empty_in_a_stall() {
    let stall = SimStall { at_ns: 300 * MS, len_ns: 450 * MS };
    let model = SimModel { stalls: vec![stall], ..fixed(MS) };
    let done = simulate_task(workload(), time(SECOND), model, |task| task.ramp_ns = 150 * MS);
    let mut expected_start = 0;
    for interval in &done.intervals {
        assert_eq!(interval.start_ns, expected_start);
        expected_start += interval.len_ns;
    }
    assert_eq!(expected_start, 1150 * MS);
    let empty = done.intervals.iter().filter(|i| i.operations.is_empty()).count();
    assert_eq!(empty, 4, "from 350 to 750 ms nothing completed");
    let ramp_ends = done.intervals.iter().filter(|i| i.start_ns + i.len_ns == 150 * MS).count();
    assert_eq!(ramp_ends, 1, "an interval ends where the ramp does");
}

/// A second interval for the operations in flight at the end of a repeat of 100 ms was a sixth of all logs.
#[test]
fn the_measured_time_of_a_short_repeat_is_one_interval_but_a_stall_after_it() {
    let intervals = |sim: SimModel, jobs: u32| {
        let short = Workload { iodepth: 4, jobs, ..workload() };
        let done = simulate_task(short, time(100 * MS), sim, |task| task.ramp_ns = 30 * MS);
        let count = done.of(Operation::Read).count;
        let times = done.intervals.iter().map(|i| (i.phase, i.start_ns / MS, i.len_ns / MS));
        (count, done.outcome.window_ns / MS, times.collect::<Vec<_>>())
    };
    let ramp = (Phase::Ramp, 0, 30);
    for jobs in [1, 3] {
        let counted = u64::from(jobs) * 4 * 19;
        assert_eq!(
            intervals(fixed(7 * MS), jobs),
            (counted, 103, vec![ramp, (Phase::Measure, 30, 103)]),
            "of {jobs} jobs"
        );
    }
    let stalled = SimModel { stalls: vec![SimStall { at_ns: 128 * MS, len_ns: 300 * MS }], ..fixed(7 * MS) };
    let (_, window, times) = intervals(stalled, 1);
    assert!(window > 250, "{window}");
    let measured: Vec<_> = times[1..].iter().map(|(_, start, len)| (*start, *len)).collect();
    assert_eq!(measured[..2], [(30, 200), (230, 100)], "{times:?}");
    assert_eq!(measured.iter().map(|(_, len)| len).sum::<u64>(), window);
}

#[test]
fn workers_merge_into_one_series_and_equal_their_sum() {
    let done = simulate(Workload { jobs: 5, ..workload() }, time(SECOND), fixed(MS));
    let reads = done.of(Operation::Read);
    assert_eq!((reads.count, reads.bytes), (5000, 5000 * 4096));
    assert!((done.queue_depth() - 5.0).abs() < 1e-9);
    for interval in done.intervals.iter().filter(|i| i.start_ns > 0 && i.start_ns < 900 * MS) {
        assert_eq!(interval.operations[&Operation::Read].count, 500, "at {}", interval.start_ns);
    }
}

#[test]
fn limits_are_shared_among_the_jobs_without_loss() {
    let done = simulate(Workload { jobs: 3, iodepth: 8, ..workload() }, operations(1000), fixed(MS));
    assert_eq!(done.of(Operation::Read).count, 1000);
    let bytes = Stop { bytes: Some(1000 * 4096), ..Stop::default() };
    let done = simulate(Workload { jobs: 3, iodepth: 8, ..workload() }, bytes, fixed(MS));
    let read = done.of(Operation::Read).bytes;
    assert!((1000 * 4096..1003 * 4096).contains(&read), "{read}");
}

#[test]
fn a_mix_has_its_share_of_each_and_both_have_latencies() {
    let mixed = Workload { mix: Mix::Transfer { read_percent: 75 }, iodepth: 16, ..workload() };
    let done = simulate(mixed, operations(100_000), fixed(MS));
    let share = done.of(Operation::Read).count as f64 / 100_000.0;
    assert!((share - 0.75).abs() < 0.005, "{share}");
    assert_eq!(done.of(Operation::Write).lat.max_ns(), Some(MS));
}

#[test]
fn sizes_may_differ_by_direction() {
    let block = BlockSizes { read: 4096, write: 65536, trim: 4096 };
    let mixed = Workload { mix: Mix::Transfer { read_percent: 50 }, block, ..workload() };
    let done = simulate(mixed, operations(1000), fixed(MS));
    for (operation, size) in [(Operation::Read, 4096), (Operation::Write, 65536)] {
        let stats = done.of(operation);
        assert_eq!(stats.bytes, stats.count * size);
    }
}

#[test]
fn a_durable_write_lasts_until_the_end_of_its_sync() {
    let model = SimModel { sync_ns: 10 * MS, ..fixed(MS) };
    let rule = SyncRule { every: 3, data_only: true, at_end: false };
    let done = simulate(Workload { sync: rule, ..writes() }, operations(300), model);
    let (writes, syncs) = (done.of(Operation::Write), done.of(Operation::Sync));
    let durable = done.of(Operation::DurableWrite);
    assert_eq!((writes.count, syncs.count, durable.count), (300, 100, 300));
    assert_eq!(writes.lat.max_ns(), Some(MS), "a sync is not folded into the write");
    assert_eq!(syncs.lat.min_ns(), Some(10 * MS));
    // Three writes of 1 ms and a sync of 10 ms: 13, 12 and 11 ms.
    assert_eq!((durable.lat.min_ns(), durable.lat.max_ns()), (Some(11 * MS), Some(13 * MS)));
    assert_eq!(durable.lat.mean_ns(), Some(12.0 * MS as f64));
    assert_eq!(done.outcome.window_ns, 100 * 13 * MS);
}

#[test]
fn a_sync_waits_for_all_that_is_in_flight() {
    let model = SimModel { sync_ns: 10 * MS, ..fixed(MS) };
    let rule = SyncRule { every: 8, data_only: true, at_end: false };
    let done = simulate(Workload { sync: rule, iodepth: 8, ..writes() }, operations(80), model);
    let durable = done.of(Operation::DurableWrite);
    assert_eq!((durable.count, durable.lat.min_ns()), (80, Some(11 * MS)));
    assert_eq!(done.outcome.window_ns, 10 * 11 * MS);
}

#[test]
fn a_final_sync_is_inside_the_measured_time() {
    let model = SimModel { sync_ns: 500 * MS, ..fixed(MS) };
    let rule = SyncRule { every: 0, data_only: false, at_end: true };
    let done = simulate(Workload { sync: rule, ..writes() }, time(SECOND), model);
    assert_eq!(done.of(Operation::Write).count, 1000);
    assert_eq!(done.of(Operation::Sync).count, 1);
    assert_eq!(done.outcome.window_ns, SECOND + 500 * MS);
}

#[test]
fn an_injected_error_ends_the_repeat_with_all_details() {
    let fault = SimFault { operation: 500, forever: false, end: SimEnd::Returns(-i64::from(libc::EIO)) };
    let model = SimModel { faults: vec![fault], ..fixed(MS) };
    let done = simulate(workload(), time(10 * SECOND), model);
    let failure = done.failure();
    assert_eq!(failure.kind, FailureKind::Errno(libc::EIO));
    assert_eq!((failure.good_operations, failure.good_bytes), (500, 500 * 4096));
    assert_eq!(failure.after_ns, 501 * MS);
    assert!(!failure.is_final());
    let reads = done.of(Operation::Read);
    assert_eq!((reads.count, reads.errors.get(&libc::EIO)), (500, Some(&1)));
}

#[test]
fn zero_byte_reads_of_a_removed_device_are_a_failure() {
    // After removal, raw reads return 0 bytes and no error, a microsecond each.
    let mut cycle = vec![MS; 1000];
    cycle.extend(vec![1000; 1_000_000]);
    let fault = SimFault { operation: 1000, forever: true, end: SimEnd::Returns(0) };
    let model = SimModel { latency: SimLatency::Cycle(cycle), faults: vec![fault], ..SimModel::default() };
    let done = simulate(Workload { iodepth: 4, ..workload() }, time(60 * SECOND), model);
    assert_eq!(done.failure().kind, FailureKind::NoData);
    assert!(done.failure().is_final());
    assert_eq!(done.of(Operation::Read).count, 1000);
}

#[test]
fn short_transfers_are_counted_with_the_bytes_they_moved() {
    let fault = SimFault { operation: 10, forever: false, end: SimEnd::Returns(1024) };
    let model = SimModel { faults: vec![fault], ..fixed(MS) };
    let reads = simulate(workload(), operations(20), model).of(Operation::Read);
    assert_eq!((reads.count, reads.short, reads.bytes), (20, 1, 19 * 4096 + 1024));
}

#[test]
fn one_workers_failure_ends_all_workers() {
    const LEN_NS: u64 = 7200 * SECOND;
    let fault = SimFault { operation: 100, forever: false, end: SimEnd::Returns(-i64::from(libc::ENODEV)) };
    let model = SimModel { faults: vec![fault], ..fixed(MS) };
    let sound = simulated(Workload { jobs: 3, ..workload() }, time(LEN_NS), fixed(MS));
    let mut task = simulated(workload(), time(LEN_NS), model);
    task.concurrent = vec![sound];
    let done = run_task(task);
    assert_eq!(done.failure().kind, FailureKind::Errno(libc::ENODEV));
    // In virtual time the other workers run ahead until they notice it.
    assert!(done.outcome.whole_ns < LEN_NS / 2, "{}", done.outcome.whole_ns);
}

#[test]
fn an_operation_that_never_completes_is_abandoned() {
    let done = simulate(workload(), time(2 * SECOND), endless_from(1000));
    let failure = done.failure();
    assert_eq!(failure.kind, FailureKind::Hung(300 * SECOND));
    assert_eq!((failure.operation, failure.good_operations), (Operation::Read, 1000));
    assert!(failure.offset.is_some());
    // Counted from the last completion, not from the end of the time.
    assert!(failure.after_ns.abs_diff(301 * SECOND) < SECOND, "{}", failure.after_ns);
    assert!(done.outcome.hung, "an operation was abandoned");
}

/// A 1 ms device that completes no operation from the given one on.
fn endless_from(operation: u64) -> SimModel {
    let fault = SimFault { operation, forever: true, end: SimEnd::Never };
    SimModel { faults: vec![fault], ..fixed(MS) }
}

/// A repeat of ten hours on a device that failed in its first second used to last ten hours.
#[test]
fn a_hanging_device_ends_the_repeat_long_before_its_time() {
    for pace in [Pace::Closed, Pace::Fixed { per_second: 500.0 }] {
        let deep = Workload { iodepth: 4, pace, ..workload() };
        let change = |task: &mut engine::Task| task.interval_ns = 10 * SECOND;
        let done = simulate_task(deep, time(36_000 * SECOND), endless_from(1000), change);
        let failure = done.failure();
        assert_eq!(failure.kind, FailureKind::Hung(300 * SECOND));
        assert_eq!(failure.good_operations, 1000);
        assert!(failure.after_ns < 303 * SECOND, "{}", failure.after_ns);
        assert!(done.outcome.hung);
    }
}

#[test]
fn an_open_loop_with_long_gaps_between_arrivals_does_not_hang() {
    let rare = Workload { pace: Pace::Fixed { per_second: 0.002 }, ..workload() };
    let change = |task: &mut engine::Task| task.interval_ns = 10 * SECOND;
    // Each lasts long enough for the worker to check the stop flag meanwhile.
    let done = simulate_task(rare, time(2400 * SECOND), fixed(SECOND), change);
    assert_eq!(done.outcome.outcome, RepeatOutcome::Completed);
    assert_eq!((done.of(Operation::Read).count, done.outcome.hung), (5, false));
}

#[test]
fn a_stall_shorter_than_the_hang_timeout_is_waited_for() {
    let stall = SimStall { at_ns: SECOND, len_ns: 299 * SECOND };
    let model = SimModel { stalls: vec![stall], ..fixed(MS) };
    let done = simulate(workload(), time(2 * SECOND), model);
    assert_eq!(done.outcome.outcome, RepeatOutcome::Completed);
    assert!(!done.outcome.hung);
}

#[test]
fn a_final_sync_that_never_completes_is_abandoned() {
    let model = SimModel { sync_ns: 100_000 * SECOND, ..fixed(MS) };
    let rule = SyncRule { every: 0, data_only: false, at_end: true };
    let change = |task: &mut engine::Task| task.interval_ns = 10 * SECOND;
    let done = simulate_task(Workload { sync: rule, ..writes() }, operations(10), model, change);
    assert_eq!(done.failure().kind, FailureKind::Hung(300 * SECOND));
    assert_eq!((done.failure().operation, done.outcome.hung), (Operation::Sync, true));
}

/// A user who stops a repeat on a hanging device has interrupted it; that is not a failure of the repeat.
#[test]
fn a_stop_by_the_user_is_an_interruption_even_if_it_hangs() {
    let mut task = simulated(workload(), time(36_000 * SECOND), endless_from(100));
    task.interval_ns = 10 * SECOND;
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut calls = 0;
    let outcome = run(task, &interrupt, &mut |_| {
        calls += 1;
        interrupt.store(calls > 2, Ordering::Relaxed);
    })
    .unwrap();
    assert_eq!(outcome.outcome, RepeatOutcome::Interrupted);
    assert!(outcome.hung);
    assert!(outcome.whole_ns < 120 * SECOND, "{}", outcome.whole_ns);
}

/// A repeat of 50 % reads on a verified set of `blocks` blocks that starts unwritten, at depth 8, with
/// latencies that differ so that operations overtake each other.
fn verified(blocks: u64, faults: Vec<SimFault>, change: impl Fn(&mut engine::Task)) -> Done {
    let mixed = Workload {
        mix: Mix::Transfer { read_percent: 50 },
        pattern: Pattern::Random { distribution: Distribution::Uniform, repeats: true },
        iodepth: 8,
        verify: true,
        ..workload()
    };
    let points = vec![(0.0, MS), (1.0, 5 * MS)];
    let latency = SimLatency::Quantiles(points);
    let model = SimModel { latency, faults, remembers: true, seed: 5, ..SimModel::default() };
    let mut task = simulated(mixed, operations(20_000), model);
    if let engine::IoTarget::Files(files) = &mut task.target {
        files.file_bytes = blocks * 4096;
        files.generations = Some(Arc::new(Generations::new(3, blocks * 4096, 4096)));
    }
    change(&mut task);
    run_task(task)
}

/// A block read while it was being written may be torn; this used to be reported as corruption.
#[test]
fn reads_during_writes_to_the_same_blocks_are_not_corrupt() {
    for blocks in [1, 2, 12, 64] {
        for pace in [Pace::Closed, Pace::Fixed { per_second: 100_000.0 }] {
            let done = verified(blocks, vec![], |task| task.workload.pace = pace);
            assert_eq!(done.outcome.outcome, RepeatOutcome::Completed);
            let check = done.outcome.integrity.as_ref().unwrap();
            assert_eq!(check.mismatched, 0, "{blocks} blocks: {:?}", check.first);
            let reads = done.of(Operation::Read).count;
            assert!(check.checked <= reads && check.checked > 0, "{} of {reads}", check.checked);
        }
    }
}

#[test]
fn blocks_that_were_never_written_are_not_counted_as_checked() {
    let only_reads = |task: &mut engine::Task| task.workload.mix = Mix::Transfer { read_percent: 100 };
    let done = verified(64, vec![], only_reads);
    assert_eq!(done.of(Operation::Read).count, 20_000);
    assert_eq!(done.outcome.integrity.unwrap().checked, 0);
}

#[test]
fn lost_writes_and_reads_with_a_flipped_bit_are_found() {
    let lies = (5_000..15_000).step_by(10);
    let lies: Vec<_> =
        lies.map(|operation| SimFault { operation, forever: false, end: SimEnd::Lies }).collect();
    let check = verified(64, lies, |_| {}).outcome.integrity.unwrap();
    assert!(check.mismatched > 500, "{} of 1000 faults found", check.mismatched);
    for message in ["wrong checksum", "generation "] {
        assert!(check.first.iter().any(|m| m.what.starts_with(message)), "{message}: {:?}", check.first);
    }
}

/// A failed write may have left the old block, the new one or half of each.
#[test]
fn content_after_a_failed_or_short_write_is_not_corrupt() {
    for end in [SimEnd::Returns(-i64::from(libc::EIO)), SimEnd::Returns(512)] {
        let faults = (0..20_000).step_by(9);
        let faults = faults.map(|operation| SimFault { operation, forever: false, end }).collect();
        let done = verified(12, faults, |task| task.max_errors = u64::MAX);
        let check = done.outcome.integrity.as_ref().unwrap();
        // For a known block, a short read remains a mismatch.
        let torn = check.first.iter().filter(|m| !m.what.starts_with("only 512 bytes")).count();
        assert_eq!(torn, 0, "{:?}", check.first);
        assert!(check.checked > 5_000, "{}", check.checked);
    }
}

/// A worker's panic used to look like a successful repeat with few operations.
#[test]
fn a_worker_that_panics_is_an_error_with_a_message() {
    // An empty cycle of latencies makes the simulator panic.
    let model = SimModel { latency: SimLatency::Cycle(vec![]), ..SimModel::default() };
    let task = simulated(Workload { jobs: 2, ..workload() }, time(SECOND), model);
    let error = run(task, &Arc::new(AtomicBool::new(false)), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("panicked"), "{error}");
}

/// Arrivals that one submitting call did not accept and no later one received are unserved. They used to be lost:
/// counted neither as done nor as unserved.
#[test]
fn every_arrival_is_served_or_reported_as_unserved() {
    // Like trims: one by one, inside the submitting call.
    let model = SimModel { takes: 1, submit_ns: MS, ..fixed(0) };
    let overload = Workload { pace: Pace::Fixed { per_second: 3000.0 }, iodepth: 8, ..workload() };
    let done = simulate(overload, time(SECOND), model);
    let served = done.of(Operation::Read).count;
    assert!(served < 1100, "{served}");
    assert_eq!(served + done.outcome.unserved, 3000);
}

#[test]
fn an_open_loop_has_one_rate_for_a_mix_of_sizes() {
    let block = BlockSizes { read: 4096, write: 65536, trim: 4096 };
    let mix = Mix::Transfer { read_percent: 70 };
    let pace = Pace::Fixed { per_second: 1000.0 };
    for jobs in [1, 3] {
        let mixed = Workload { mix: mix.clone(), block, pace, iodepth: 16, jobs, ..workload() };
        let done = simulate(mixed, time(10 * SECOND), fixed(MS));
        let (reads, writes) = (done.of(Operation::Read), done.of(Operation::Write));
        assert_eq!(reads.count + writes.count, 10_000);
        assert!(reads.count.abs_diff(7_000) < 200, "{} reads", reads.count);
        assert_eq!((reads.bytes, writes.bytes), (reads.count * 4096, writes.count * 65536));
        assert_eq!((reads.lat.max_ns(), writes.lat.max_ns()), (Some(MS), Some(MS)));
    }
}
