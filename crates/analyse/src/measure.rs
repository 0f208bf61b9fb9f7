//! From repeats to measurements.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Estimate, Exposure, Histogram, Imported, LatencyTotal, Measurement, Metric, Operation, OperationStats,
    Phase, Repeat, RepeatFinished, Run, Step,
};

use crate::compare::headline;
use crate::percentile::{METHOD_PERCENTILE, merged_percentile};
use crate::stalls::{LongRun, METHOD_LONG_RUN, METHOD_LOST, exposure_of};
use crate::stats::{Estimator, METHOD_LARGEST, METHOD_SMALLEST, by_making, without_rounds};
use crate::steady::STEADY_WINDOW;

/// Every metric that one repeat gives, by operation, in the metric's unit.
///
/// A rate is the total of operations or bytes over all the measured wall time, a final sync included; for metadata
/// operations, which take turns, over the time spent in their own passes.
pub fn repeat_values(step: &Step, repeat: &Repeat) -> Vec<(Operation, Metric, f64)> {
    values_of(step, repeat, &RepeatCounts::of(repeat))
}

/// Statistics by operation.
pub(crate) type Totals = BTreeMap<Operation, OperationStats>;

/// The statistics of a repeat over all its intervals. Merging their histograms is the most expensive step here, so it is
/// done once.
#[derive(Debug)]
pub(crate) struct RepeatCounts {
    /// In the measured window.
    pub measured: Totals,
    /// With the ramp; `None` if there is none.
    with_ramp: Option<Totals>,
}

impl RepeatCounts {
    fn of(repeat: &Repeat) -> Self {
        let measured = repeat.measured();
        let has_ramp = repeat.intervals.iter().any(|i| i.phase == Phase::Ramp);
        let with_ramp = has_ramp.then(|| {
            let mut whole = measured.clone();
            for (operation, stats) in repeat.ramp() {
                whole.entry(operation).or_default().merge(&stats);
            }
            whole
        });
        Self { measured, with_ramp }
    }

    /// In the whole repeat, with the ramp.
    pub fn whole(&self) -> &Totals {
        self.with_ramp.as_ref().unwrap_or(&self.measured)
    }
}

/// The statistics of each repeat of a run, in the order of the run.
#[derive(Debug)]
pub(crate) struct Counts(Vec<RepeatCounts>);

impl Counts {
    /// Adds up the intervals of all repeats.
    pub fn of(run: &Run) -> Self {
        Self(run.repeats.iter().map(RepeatCounts::of).collect())
    }

    /// The repeats of one step on one target that ended as planned, with their counts.
    pub fn completed<'a>(
        &'a self,
        run: &'a Run,
        step: &Step,
        target: &str,
    ) -> impl Iterator<Item = (&'a Repeat, &'a RepeatCounts)> {
        self.finished(run, step, target).filter(|(repeat, _)| repeat.is_complete())
    }

    /// The repeats of one step on one target that ended, as planned or otherwise, with their counts.
    pub fn finished<'a>(
        &'a self,
        run: &'a Run,
        step: &Step,
        target: &str,
    ) -> impl Iterator<Item = (&'a Repeat, &'a RepeatCounts)> {
        run.repeats.iter().zip(&self.0).filter(move |(repeat, _)| {
            let started = &repeat.started;
            repeat.finished.is_some() && started.step == step.id && started.target == target
        })
    }
}

/// The machines that worked together in a repeat.
fn clients(finished: &RepeatFinished) -> f64 {
    finished.clients.len().max(1) as f64
}

fn values_of(step: &Step, repeat: &Repeat, counts: &RepeatCounts) -> Vec<(Operation, Metric, f64)> {
    let Some(finished) = &repeat.finished else { return Vec::new() };
    if let Some(imported) = &repeat.imported {
        return imported_values(imported, &counts.measured);
    }
    let window_s = finished.window_ns as f64 / 1e9;
    if window_s <= 0.0 {
        return Vec::new();
    }
    let jobs = f64::from(step.workload.jobs) * clients(finished);
    let measured = &counts.measured;
    let mut values = Vec::new();
    for (operation, stats) in measured.iter().filter(|(_, stats)| stats.count > 0) {
        let seconds = if stats.active_ns > 0 { stats.active_ns as f64 / 1e9 / jobs } else { window_s };
        values.push((*operation, Metric::Iops, stats.count as f64 / seconds));
        if operation.moves_data() || stats.bytes > 0 {
            values.push((*operation, Metric::Bandwidth, stats.bytes as f64 / seconds));
        }
        latencies(*operation, stats, &mut values);
    }
    if let Some(sync) = measured.get(&Operation::Sync).filter(|s| s.count > 0) {
        let share = sync.lat.sum_ns() as f64 / 1e9 / (window_s * jobs);
        values.push((Operation::Sync, Metric::SyncShare, share));
    }
    if let Some((first, check)) = primary(step).zip(finished.integrity.as_ref()) {
        values.push((first, Metric::Mismatches, check.mismatched as f64));
    }
    if let Some(first) = primary(step).filter(|o| measured.contains_key(o)) {
        circumstances((step, first), repeat, finished, counts.whole(), &mut values);
    }
    values
}

/// The figures of another program, and from its histograms those that it did not report itself.
fn imported_values(imported: &Imported, measured: &Totals) -> Vec<(Operation, Metric, f64)> {
    let mut values: Vec<_> = imported.figures.iter().map(|f| (f.operation, f.metric, f.value)).collect();
    let mut own = Vec::new();
    for (operation, stats) in measured.iter().filter(|(_, stats)| stats.lat.count() > 0) {
        latencies(*operation, stats, &mut own);
    }
    for value in own {
        if !values.iter().any(|(operation, metric, _)| (*operation, *metric) == (value.0, value.1)) {
            values.push(value);
        }
    }
    values
}

/// The operation that carries a step's circumstances: the first that it counts.
fn primary(step: &Step) -> Option<Operation> {
    step.operations().first().copied()
}

fn latencies(operation: Operation, stats: &OperationStats, values: &mut Vec<(Operation, Metric, f64)>) {
    let lat = &stats.lat;
    let percentile = |p: f64| lat.percentile_ns(p).map(|ns| ns as f64);
    let mean = |total: &Option<LatencyTotal>| total.and_then(|total| total.mean_ns());
    let all = [
        (Metric::LatMean, lat.mean_ns()),
        (Metric::LatP50, percentile(50.0)),
        (Metric::LatP95, percentile(95.0)),
        (Metric::LatP99, percentile(99.0)),
        (Metric::LatP999, percentile(99.9)),
        (Metric::LatMax, lat.max_ns().map(|ns| ns as f64)),
        (Metric::LatMin, lat.min_ns().map(|ns| ns as f64)),
        (Metric::LatStddev, lat.stddev_ns()),
        (Metric::SlatMean, mean(&stats.slat)),
        (Metric::ClatMean, mean(&stats.clat)),
    ];
    values.extend(all.into_iter().filter_map(|(metric, value)| Some((operation, metric, value?))));
}

/// All jobs of a step, those of its concurrent workloads included.
fn jobs(step: &Step) -> u32 {
    step.workload.jobs + step.concurrent.iter().map(|s| s.workload.jobs).sum::<u32>()
}

fn circumstances(
    (step, operation): (&Step, Operation),
    repeat: &Repeat,
    finished: &RepeatFinished,
    whole: &Totals,
    values: &mut Vec<(Operation, Metric, f64)>,
) {
    let all = whole.iter().filter(|(o, _)| **o != Operation::DurableWrite);
    let operations: u64 = all.map(|(_, s)| s.count).sum();
    if let Some(share) = finished.machine.and_then(|m| m.busy_share()) {
        values.push((operation, Metric::Cpu, share));
    }
    if finished.counted_ns > 0 {
        let jobs_ns = finished.counted_ns as f64 * f64::from(jobs(step)) * clients(finished);
        let worked = finished.workers.user_ns.saturating_add(finished.workers.system_ns) as f64;
        values.push((operation, Metric::CpuJob, worked / jobs_ns));
    }
    if operations > 0 {
        let user = finished.workers.user_ns as f64 / operations as f64;
        values.push((operation, Metric::CpuUserPerIo, user));
    }
    if let Some(depth) = repeat.queue_depth() {
        values.push((operation, Metric::QueueDepth, depth));
    }
    for direction in [Operation::Read, Operation::Write] {
        if let Some(ratio) = device_ratio(whole, finished, direction, 0) {
            values.push((direction, Metric::DeviceRatio, ratio));
        }
    }
}

/// Bytes that the block devices counted in one direction ÷ bytes that the workload moved, both over the whole repeat.
/// `below` is the level of block devices, from the uppermost, 0; devices of one level (an array's members) add up. `None`
/// without such a level or such operations.
pub(crate) fn device_ratio(
    whole: &Totals,
    finished: &RepeatFinished,
    direction: Operation,
    below: usize,
) -> Option<f64> {
    let moved = whole.get(&direction)?.bytes;
    let mut levels: Vec<u32> = finished.devices.iter().map(|d| d.level).collect();
    levels.sort_unstable();
    levels.dedup();
    let level = *levels.get(below)?;
    let at_level = finished.devices.iter().filter(|d| d.level == level);
    let counted: u64 = match direction {
        Operation::Read => at_level.map(|d| d.read_bytes).sum(),
        Operation::Write => at_level.map(|d| d.written_bytes).sum(),
        _ => return None,
    };
    (moved > 0).then(|| counted as f64 / moved as f64)
}

/// Every metric of every operation of every step on every target, over the repeats that ended as planned, aggregated by
/// `rule`; in the order of the plan.
pub fn measurements(run: &Run, rule: Estimator) -> Vec<Measurement> {
    measurements_of(run, rule, &Counts::of(run))
}

/// [`measurements`] from existing counts.
pub(crate) fn measurements_of(run: &Run, rule: Estimator, counts: &Counts) -> Vec<Measurement> {
    let mut measurements = Vec::new();
    let (first, makings) = (first_round_that_counts(run), run.started.plan.makings);
    for step in &run.started.plan.steps {
        for target in &run.started.targets {
            let mut values: BTreeMap<(Operation, Metric), Vec<(u32, f64)>> = BTreeMap::new();
            let mut latencies: BTreeMap<Operation, Vec<(u32, &Histogram)>> = BTreeMap::new();
            let mut exposures: BTreeMap<(Operation, Metric), Vec<Exposure>> = BTreeMap::new();
            for (repeat, counts) in counts.completed(run, step, &target.name) {
                if repeat.started.round < first && !step.workload.modifiers.once {
                    continue;
                }
                for (operation, metric, value) in values_of(step, repeat, counts) {
                    values.entry((operation, metric)).or_default().push((repeat.started.round, value));
                    let exposure = exposure_of(counts.whole(), step, repeat, operation, metric);
                    exposures.entry((operation, metric)).or_default().extend(exposure);
                }
                for (operation, stats) in counts.measured.iter().filter(|_| repeat.imported.is_none()) {
                    latencies.entry(*operation).or_default().push((repeat.started.round, &stats.lat));
                }
            }
            exposures.retain(|_, exposures| !exposures.is_empty());
            let mut long_runs: BTreeMap<(Operation, Metric), LongRun> = BTreeMap::new();
            for (key, exposures) in &exposures {
                let Some(rates) = values.get(key) else { continue };
                let long_run = LongRun::of(rates, exposures, makings);
                if headline(step, key.0) == Some(key.1) && exposures.len() >= FEWEST_FOR_STALLS {
                    values.insert((key.0, Metric::StalledShare), lost_shares(&long_run, exposures));
                    long_runs.insert((key.0, Metric::StalledShare), long_run.clone());
                }
                long_runs.insert(*key, long_run);
            }
            let mut operations = step.operations();
            // Operations that only a log of another version counts are shown too.
            operations.extend(Operation::ALL.into_iter().filter(|o| !step.operations().contains(o)));
            for operation in operations {
                for metric in Metric::ALL {
                    if let Some(values) = values.remove(&(operation, metric)) {
                        let merged = metric.percent().and_then(|percent| {
                            merged_percentile(latencies.get(&operation)?, percent, makings)
                        });
                        let (estimate, method, paired) = match merged {
                            Some(merged) => (merged.estimate, METHOD_PERCENTILE, merged.by_round),
                            None => {
                                let long_run = long_runs.get(&(operation, metric));
                                let (estimate, method) = long_run
                                    .and_then(|run| of_long_run(run, metric, rule, makings))
                                    .unwrap_or_else(|| estimated(metric, rule, &values, makings));
                                (estimate, method, Vec::new())
                            }
                        };
                        let (target, step) = (target.name.clone(), step.id.clone());
                        measurements.push(Measurement {
                            target,
                            step,
                            operation,
                            metric,
                            values,
                            paired,
                            exposures: exposures.remove(&(operation, metric)).unwrap_or_default(),
                            estimate,
                            method,
                        });
                    }
                }
            }
        }
    }
    measurements
}

/// Repeats from which the time lost in stalls is a figure.
const FEWEST_FOR_STALLS: usize = 10;

/// The share of the time of each repeat that was lost in a stall.
fn lost_shares(long_run: &LongRun, exposures: &[Exposure]) -> Vec<(u32, f64)> {
    let stalls = &long_run.loss.stalls;
    let lost =
        |round: u32| stalls.binary_search_by_key(&round, |s| s.round).map_or(0.0, |at| stalls[at].lost);
    exposures.iter().map(|e| (e.round, lost(e.round) / e.seconds)).collect()
}

/// The figures that are of a long run and not of single repeats: the rates, where no other rule was asked for, and the share of
/// the time lost.
fn of_long_run(
    run: &LongRun,
    metric: Metric,
    rule: Estimator,
    makings: u32,
) -> Option<(Estimate, &'static str)> {
    if metric == Metric::StalledShare {
        Some((run.loss.estimate(), METHOD_LOST))
    } else if rule == Estimator::Mean {
        Some((run.estimate(makings)?, METHOD_LONG_RUN))
    } else {
        None
    }
}

/// The first round that counts: in a run whose rounds continue until a step is steady, the first of the last five, which
/// were steady (the measurement window of the PTS); else 0.
pub fn first_round_that_counts(run: &Run) -> u32 {
    let Some(step) = &run.started.plan.until_steady else { return 0 };
    let watched = run.repeats.iter().filter(|r| r.started.step == *step && r.is_complete());
    let rounds: BTreeSet<u32> = watched.map(|r| r.started.round).collect();
    rounds.into_iter().rev().nth(STEADY_WINDOW - 1).unwrap_or(0)
}

fn estimated(
    metric: Metric,
    rule: Estimator,
    values: &[(u32, f64)],
    makings: u32,
) -> (Estimate, &'static str) {
    let plain = without_rounds(values);
    let extreme = match metric {
        Metric::LatMax => Some((plain.iter().copied().fold(0.0, f64::max), METHOD_LARGEST)),
        Metric::LatMin => Some((plain.iter().copied().fold(f64::INFINITY, f64::min), METHOD_SMALLEST)),
        _ => None,
    };
    if let Some((value, method)) = extreme {
        return (Estimate { value, interval: None }, method);
    }
    let nothing = Estimate { value: f64::NAN, interval: None };
    (rule.estimate(&by_making(values, makings)).unwrap_or(nothing), rule.method())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use model::ClientPart;
    use model::*;

    /// Random 4 KiB reads at depth 1, direct.
    pub(crate) fn workload() -> Workload {
        Workload { direct: true, cache: CacheState::Cold, ..Workload::random_reads() }
    }

    /// A run of one step on one target with three repeats of one second, each of which read or wrote 1000 blocks, all from
    /// or to the device.
    pub(crate) fn run(workload: Workload) -> Run {
        let step = Step {
            id: "step".into(),
            title: "Step".into(),
            prepare: Preparation::Written,
            engine: EngineChoice::Auto,
            stop: Stop { time_ns: Some(1_000_000_000), ..Stop::default() },
            shortest_ns: None,
            ramp_ns: 0,
            interval_ns: 1_000_000_000,
            max_errors: 1,
            foreign: Vec::new(),
            concurrent: Vec::new(),
            workload,
        };
        let operation = step.workload.operations()[0];
        let target = Target {
            clients: Vec::new(),
            server: None,
            name: "disk".into(),
            path: "/mnt".into(),
            kind: TargetKind::Directory,
            size_bytes: 1 << 40,
            free_bytes: 1 << 40,
            block_bytes: 512,
            direct: true,
            labels: Default::default(),
            host: 0,
            writable: true,
            stack: vec![Layer {
                kind: LayerKind::Filesystem,
                name: "ext4".into(),
                level: 0,
                device: None,
                facts: BTreeMap::new(),
            }],
        };
        let plan = Plan::of_steps("", vec![step], Rounds::Fixed(3));
        let mut run = Run::new(RunStarted {
            id: "run".into(),
            host: Host { memory_bytes: 8 << 30, ..Host::default() },
            ..RunStarted::of_plan(plan, vec![target])
        });
        run.repeats = (0..3).map(|round| repeat(operation, round)).collect();
        run
    }

    fn repeat(operation: Operation, round: u32) -> Repeat {
        let mut lat = LatencyRecorder::new();
        lat.record_many(1_000_000, 1000);
        let stats =
            OperationStats { count: 1000, bytes: 4_096_000, lat: lat.finish(), ..OperationStats::default() };
        let device = DeviceActivity {
            name: "sda".into(),
            level: 1,
            read_bytes: if operation == Operation::Read { 4_096_000 } else { 0 },
            written_bytes: if operation == Operation::Write { 4_096_000 } else { 0 },
            discarded_bytes: 0,
            reads: 1000,
            writes: 0,
            flushes: 0,
            busy_ns: 1,
            queue_ns: 1,
        };
        Repeat {
            started: RepeatStarted {
                repeat: round,
                at_ns: 0,
                round,
                step: "step".into(),
                target: "disk".into(),
                engine: EngineKind::IoUring,
                direct: true,
                size_bytes: 4 << 30,
                seed: 0,
                time_ns: None,
                passes: None,
                turns: 0,
            },
            intervals: vec![Interval {
                repeat: round,
                phase: Phase::Measure,
                start_ns: 0,
                len_ns: 1_000_000_000,
                operations: BTreeMap::from([(operation, stats)]),
                in_flight_ns: 1_000_000_000,
            }],
            imported: None,
            finished: Some(Box::new(RepeatFinished {
                window_ns: 1_000_000_000,
                counted_ns: 1_000_000_000,
                workers: CpuTime { user_ns: 10_000_000, system_ns: 90_000_000 },
                busiest_worker: 0.1,
                machine: Some(MachineCpu { user_ns: 250, idle_ns: 750, ..MachineCpu::default() }),
                devices: vec![device],
                ..RepeatFinished::uncounted(round, 1, RepeatOutcome::Completed)
            })),
        }
    }

    fn value(run: &Run, operation: Operation, metric: Metric) -> f64 {
        let found = measurements(run, Estimator::Mean)
            .into_iter()
            .find(|m| m.operation == operation && m.metric == metric);
        found.unwrap_or_else(|| panic!("no {metric} of {operation}")).estimate.value
    }

    #[test]
    fn only_the_five_steady_rounds_and_once_steps_count() {
        let mut run = run(workload());
        let repeat = run.repeats[0].clone();
        run.repeats = (0..7).map(|_| repeat.clone()).collect();
        for (round, repeat) in (0..).zip(&mut run.repeats) {
            repeat.started.round = round;
        }
        let rounds = |run: &Run| {
            let all = measurements(run, Estimator::Mean);
            let rate = all.into_iter().find(|m| m.metric == Metric::Iops).unwrap();
            rate.values.into_iter().map(|(round, _)| round).collect::<Vec<_>>()
        };
        assert_eq!(rounds(&run), [0, 1, 2, 3, 4, 5, 6]);
        run.started.plan.until_steady = Some("step".into());
        assert_eq!(rounds(&run), [2, 3, 4, 5, 6]);
        run.repeats.truncate(4);
        assert_eq!(rounds(&run), [0, 1, 2, 3]);
        run.repeats.iter_mut().for_each(|r| r.started.step = "other".into());
        let mut prepares = run.started.plan.steps[0].clone();
        (prepares.id, prepares.workload.modifiers.once) = ("other".into(), true);
        run.started.plan.steps.push(prepares);
        assert_eq!(rounds(&run), [0, 1, 2, 3]);
    }

    #[test]
    fn extremes_are_those_of_all_repeats() {
        let mut run = run(workload());
        for (repeat, ns) in run.repeats.iter_mut().zip([700_000, 900_000, 2_000_000]) {
            let mut lat = LatencyRecorder::new();
            lat.record_many(ns, 1000);
            repeat.intervals[0].operations.get_mut(&Operation::Read).unwrap().lat = lat.finish();
        }
        assert_eq!(value(&run, Operation::Read, Metric::LatMin), 700_000.0);
        assert_eq!(value(&run, Operation::Read, Metric::LatMax), 2_000_000.0);
    }

    #[test]
    fn rates_are_total_operations_over_total_time() {
        let run = run(workload());
        assert_eq!(value(&run, Operation::Read, Metric::Iops), 1000.0);
        assert_eq!(value(&run, Operation::Read, Metric::Bandwidth), 4_096_000.0);
        assert_eq!(value(&run, Operation::Read, Metric::LatMax), 1e6);
        assert_eq!(value(&run, Operation::Read, Metric::LatStddev), 0.0);
        assert_eq!(value(&run, Operation::Read, Metric::Cpu), 0.25);
        assert!((value(&run, Operation::Read, Metric::CpuJob) - 0.1).abs() < 1e-12);
        assert_eq!(value(&run, Operation::Read, Metric::CpuUserPerIo), 10_000.0);
        assert_eq!(value(&run, Operation::Read, Metric::QueueDepth), 1.0);
        assert_eq!(value(&run, Operation::Read, Metric::DeviceRatio), 1.0);
    }

    #[test]
    fn the_final_sync_counts_in_time_and_sync_share() {
        let mut run = run(Workload {
            mix: Mix::Transfer { read_percent: 0 },
            sync: SyncRule { every: 0, data_only: false, at_end: true },
            ..workload()
        });
        for repeat in &mut run.repeats {
            let mut lat = LatencyRecorder::new();
            lat.record(1_000_000_000);
            let sync = OperationStats { count: 1, lat: lat.finish(), ..OperationStats::default() };
            repeat.intervals[0].operations.insert(Operation::Sync, sync);
            repeat.finished.as_mut().unwrap().window_ns = 2_000_000_000;
        }
        assert_eq!(value(&run, Operation::Write, Metric::Iops), 500.0);
        assert_eq!(value(&run, Operation::Sync, Metric::SyncShare), 0.5);
    }

    #[test]
    fn only_completed_repeats_after_the_ramp_count() {
        let mut run = run(workload());
        run.repeats[0].finished.as_mut().unwrap().outcome = RepeatOutcome::Interrupted;
        run.repeats[1].intervals[0].phase = Phase::Ramp;
        let iops =
            measurements(&run, Estimator::Mean).into_iter().find(|m| m.metric == Metric::Iops).unwrap();
        assert_eq!(iops.values, [(2, 1000.0)]);
    }

    #[test]
    fn counts_equal_the_sums_of_each_repeat() {
        let mut run = run(workload());
        let ramp = Interval { phase: Phase::Ramp, ..run.repeats[1].intervals[0].clone() };
        run.repeats[1].intervals.insert(0, ramp);
        let counts = Counts::of(&run);
        let step = run.started.plan.steps[0].clone();
        let all: Vec<(&Repeat, &RepeatCounts)> = counts.completed(&run, &step, "disk").collect();
        assert_eq!(all.len(), 3);
        for (repeat, counts) in all {
            assert_eq!(counts.measured, repeat.measured());
            assert_eq!(*counts.whole(), repeat.whole());
        }
        assert_eq!(run.repeats[1].whole()[&Operation::Read].count, 2000);
    }

    #[test]
    fn array_members_add_up_on_their_level() {
        let run = run(workload());
        let repeat = &run.repeats[0];
        let mut finished = repeat.finished.clone().unwrap();
        let member = |name: &str, level, read_bytes| DeviceActivity {
            name: name.into(),
            level,
            read_bytes,
            ..finished.devices[0].clone()
        };
        finished.devices =
            vec![member("md0", 1, 4_096_000), member("sda", 2, 1_024_000), member("sdb", 2, 2_048_000)];
        let ratio = |below| device_ratio(&repeat.whole(), &finished, Operation::Read, below);
        assert_eq!((ratio(0), ratio(1), ratio(2)), (Some(1.0), Some(0.75), None));
    }

    #[test]
    fn metadata_rates_are_over_their_own_passes() {
        let work = MetadataWork {
            operations: vec![MetadataOperation::Create],
            files: 1,
            directories: 1,
            file_bytes: 0,
            names: Names::Files,
            naming: Default::default(),
            order: Default::default(),
        };
        let mut run = run(Workload { mix: Mix::Metadata(work), jobs: 2, ..workload() });
        for repeat in &mut run.repeats {
            let stats = repeat.intervals[0].operations.get_mut(&Operation::Create).unwrap();
            // Two jobs, each half a second of the second in this pass.
            stats.active_ns = 1_000_000_000;
        }
        assert_eq!(value(&run, Operation::Create, Metric::Iops), 2000.0);
        // On two machines at once these are four jobs.
        for repeat in &mut run.repeats {
            let part = |host| ClientPart {
                host,
                began_ns: 0,
                ended_ns: 1,
                within_ns: 1,
                operations: Default::default(),
            };
            repeat.finished.as_mut().unwrap().clients = vec![part(1), part(2)];
        }
        assert_eq!(value(&run, Operation::Create, Metric::Iops), 4000.0);
    }
}
