//! The workloads of the classic tools.

use super::*;

/// Adds an honest step that moves `percent` of the bytes of the tool's step.
fn with_honest(run: &mut Run, percent: u64) {
    run.started.plan.suite = "dd".into();
    run.started.plan.steps[0].id = "write-fsync".into();
    let mut honest = run.started.plan.steps[0].clone();
    honest.id = "write-fsync-honest".into();
    run.started.plan.steps.push(honest);
    let mut more = run.repeats.clone();
    run.repeats.iter_mut().for_each(|repeat| repeat.started.step = "write-fsync".into());
    for repeat in &mut more {
        repeat.started.step = "write-fsync-honest".into();
        for stats in repeat.intervals.iter_mut().flat_map(|i| i.operations.values_mut()) {
            stats.bytes = stats.bytes * percent / 100;
            stats.count = stats.count * percent / 100;
        }
    }
    run.repeats.extend(more);
}

/// Writes with a sync of all files after every hundred.
fn sysbench() -> Workload {
    Workload {
        sync: SyncRule { every: 100, data_only: false, at_end: true },
        modifiers: Modifiers { sync_all_files: true, ..Modifiers::default() },
        ..writes()
    }
}

/// Adds a hundred syncs of half a second to each repeat.
fn with_syncs(run: &mut Run) {
    let mut recorder = LatencyRecorder::new();
    recorder.record_many(500_000_000, 100);
    let syncs = OperationStats { count: 100, lat: recorder.finish(), ..OperationStats::default() };
    let intervals = run.repeats.iter_mut().flat_map(|repeat| &mut repeat.intervals);
    intervals.for_each(|interval| drop(interval.operations.insert(Operation::Sync, syncs.clone())));
}

/// Replaces the step by all those that PiBenchmarks' score needs, except `but`.
fn as_pi(run: &mut Run, but: &str) {
    const WRITES: [&str; 4] = ["dd", "fio-randwrite", "iozone-write", "iozone-random-write"];
    const READS: [&str; 3] = ["fio-randread", "iozone-read", "iozone-random-read"];
    run.started.plan.suite = "pi".into();
    let (step, repeats) = (run.started.plan.steps.remove(0), std::mem::take(&mut run.repeats));
    let all =
        WRITES.map(|id| (id, Operation::Write)).into_iter().chain(READS.map(|id| (id, Operation::Read)));
    for (id, operation) in all.filter(|(id, _)| *id != but) {
        let read_percent = if operation == Operation::Read { 100 } else { 0 };
        let workload = Workload { mix: Mix::Transfer { read_percent }, ..step.workload.clone() };
        run.started.plan.steps.push(Step { id: id.into(), workload, ..step.clone() });
        for repeat in &repeats {
            let mut repeat = repeat.clone();
            repeat.started.step = id.into();
            for interval in &mut repeat.intervals {
                let stats = interval.operations.pop_first().unwrap().1;
                interval.operations.insert(operation, stats);
            }
            run.repeats.push(repeat);
        }
    }
}

/// Makes the step one of the suite crystal's, in a suite of this name.
fn as_crystal(run: &mut Run, suite: &str) {
    run.started.plan.suite = suite.into();
    run.started.plan.steps[0].id = "rnd4k-q1t1-randread".into();
    run.repeats.iter_mut().for_each(|r| r.started.step = "rnd4k-q1t1-randread".into());
}

#[test]
fn crystal_best_is_the_best_round() {
    let mut run = run(workload());
    as_crystal(&mut run, "crystal");
    let read = run.repeats[1].intervals[0].operations.get_mut(&Operation::Read).unwrap();
    (read.count, read.bytes) = (2000, 2000 * 4096);
    let found = found_in(&run).into_iter().find(|f| f.rule == "crystal-best").unwrap();
    assert!(found.message.ends_with(": RND4K Q1T1 8.19"), "{}", found.message);
}

#[test]
fn sysbench_views_differ_in_their_percentiles() {
    let mut run = run(sysbench());
    with_syncs(&mut run);
    let found = found_in(&run).into_iter().find(|f| f.rule == "sysbench-views").unwrap();
    let value = |what: &str| found.evidence.iter().find(|e| e.what == what).unwrap().value;
    // A hundred syncs among a thousand quicker writes are more than a twentieth of all requests.
    let near = |name: &str, ns: f64| (value(name) / ns - 1.0).abs() < 0.02;
    assert!(near("95th percentile as sysbench 1.0", 5e8), "{found:?}");
    assert!(value("95th percentile as sysbench 0.4") < 1e8 && value("average as sysbench 0.4") < 1e8);
    assert!(value("average as sysbench 1.0") > 5e8 / 11.0);
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        ("honest-figure", true, writes(), |r| with_honest(r, 50)),
        ("honest-figure", true, writes(), |r| with_honest(r, 100)),
        ("honest-figure", false, writes(), |r| {
            with_honest(r, 50);
            r.repeats.retain(|repeat| !repeat.started.step.ends_with("-honest"));
        }),
        ("honest-figure", false, writes(), NOTHING),
        ("sysbench-views", true, sysbench(), with_syncs),
        ("sysbench-views", false, sysbench(), NOTHING),
        ("sysbench-views", false, writes(), with_syncs),
        ("crystal-best", true, workload(), |r| as_crystal(r, "crystal")),
        ("crystal-best", false, workload(), |r| as_crystal(r, "own")),
        ("bonnie-cpu", true, Workload { jobs: 5, ..workload() }, |r| r.started.plan.suite = "bonnie".into()),
        ("bonnie-cpu", false, workload(), NOTHING),
        ("pi-score", true, workload(), |r| as_pi(r, "")),
        ("pi-score", false, workload(), |r| as_pi(r, "iozone-read")),
        ("pi-score", false, workload(), |r| {
            as_pi(r, "");
            r.started.plan.suite = "own".into();
        }),
    ]
}

/// The workers of an ordinary run are busy for a tenth of a second in each second.
#[test]
fn bonnie_cpu_counts_processor_time_once_per_thread() {
    let mut run = run(Workload { jobs: 5, ..workload() });
    run.started.plan.suite = "bonnie".into();
    each_finished(&mut run, |finished| finished.window_ns = 1_000_000_000);
    let found = found_in(&run);
    let message = &found.iter().find(|finding| finding.rule == "bonnie-cpu").unwrap().message;
    assert!(message.contains(" 10 %") && message.contains("would print 50 %"), "{message}");
}
