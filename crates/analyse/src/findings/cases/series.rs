//! Time series within repeats: cliffs and stalls.

use model::*;

use super::*;

/// Eight fast seconds, sixteen slow ones.
const CLIFF: [u64; 24] =
    [100, 101, 99, 100, 102, 100, 99, 100, 40, 41, 39, 40, 40, 41, 40, 39, 40, 41, 40, 40, 39, 40, 41, 40];
/// Eight fast seconds, eight slow ones, and eight fast ones again.
const DIP: [u64; 24] = [
    100, 101, 99, 100, 102, 100, 99, 100, 40, 41, 39, 40, 40, 41, 40, 39, 100, 101, 100, 100, 99, 100, 101,
    100,
];

pub(super) fn cases() -> Vec<Case> {
    vec![
        ("write-cliff", true, writes(), |r| each_interval(r, &CLIFF)),
        ("write-cliff", false, writes(), |r| each_interval(r, &DIP)),
        ("write-cliff", false, workload(), |r| each_interval(r, &CLIFF)),
        ("write-cliff", false, writes(), |r| {
            each_interval(r, &CLIFF);
            let steady = r.repeats[0].intervals[0].clone();
            for repeat in &mut r.repeats[1..] {
                let starts: Vec<u64> = repeat.intervals.iter().map(|i| i.start_ns).collect();
                repeat.intervals =
                    starts.into_iter().map(|start_ns| Interval { start_ns, ..steady.clone() }).collect();
            }
        }),
        ("write-cliff", true, writes(), |r| each_round(r, &[25.0, 25.1, 24.9, 10.0, 10.1, 10.0])),
        ("write-cliff", false, writes(), |r| each_round(r, &[10.0, 10.1, 10.0, 25.0, 25.1, 24.9])),
        ("write-cliff", false, writes(), |r| each_round(r, &[25.0, 10.1, 24.9, 10.0, 25.1, 10.0])),
        ("read-cliff", true, workload(), |r| each_interval(r, &CLIFF)),
        ("read-cliff", false, workload(), |r| each_interval(r, &DIP)),
        ("read-cliff", false, Workload { pace: Pace::Fixed { per_second: 10.0 }, ..workload() }, |r| {
            each_interval(r, &CLIFF);
        }),
        ("stall", true, workload(), |r| each_count(r, &[500, 500, 0, 0, 500, 500])),
        ("stall", true, workload(), |r| each_count(r, &[500, 500, 500, 500, 0, 0])),
        ("stall", false, synced_at_end(), |r| each_count(r, &[500, 500, 500, 0, 0, 1])),
        ("stall", true, synced_at_end(), |r| each_count(r, &[500, 0, 500, 500, 0, 1])),
        ("stall", false, workload(), |r| each_count(r, &[5, 5, 0, 5, 5, 5])),
        ("stall", false, workload(), |r| each_count(r, &[500, 500, 1, 2, 500, 500])),
        ("slow-operation", true, workload(), |r| slowest(r, 1_000_000, 2_000_000_000)),
        ("slow-operation", true, workload(), |r| {
            r.started.plan.steps[0].interval_ns = 200_000_000;
            slowest(r, 1_000_000, 300_000_000);
        }),
        ("slow-operation", false, workload(), |r| slowest(r, 1_000_000, 300_000_000)),
        ("slow-operation", false, workload(), |r| slowest(r, 400_000_000, 1_500_000_000)),
    ]
}

fn synced_at_end() -> Workload {
    Workload { sync: SyncRule { every: 0, data_only: false, at_end: true }, ..writes() }
}

/// Gives each repeat intervals of a second with these counts of completions.
fn each_count(run: &mut Run, counts: &[u64]) {
    for repeat in &mut run.repeats {
        let first = repeat.intervals[0].clone();
        let interval = |(i, count): (usize, &u64)| {
            let mut interval = Interval { start_ns: i as u64 * first.len_ns, ..first.clone() };
            let stats = interval.operations.values_mut().next().unwrap();
            (stats.count, stats.bytes) = (*count, count * 4096);
            interval
        };
        repeat.intervals = counts.iter().enumerate().map(interval).collect();
    }
}

/// All operations take `usual` except one of the last repeat, which takes `longest`.
fn slowest(run: &mut Run, usual: u64, longest: u64) {
    let mut lat = LatencyRecorder::new();
    lat.record_many(usual, 999);
    each_stats(run, |s| s.lat = lat.finish());
    lat.record(longest);
    let last = run.repeats.last_mut().unwrap();
    last.intervals[0].operations.values_mut().for_each(|s| s.lat = lat.finish());
}

#[test]
fn cliffs_and_stalls_are_reported_with_time_and_size() {
    let of = |rule: &str, workload: Workload, change: fn(&mut Run)| {
        let mut run = run(workload);
        change(&mut run);
        found_in(&run).into_iter().find(|f| f.rule == rule).unwrap()
    };
    let cliff = of("write-cliff", writes(), |r| each_interval(r, &CLIFF));
    assert_eq!(
        cliff.message,
        "after 8.0 s and 8 MB of a repeat the rate fell from 1.0 MB/s to 401 kB/s (60 % less) and stayed there, in 3 of 3 \
         repeats, as when a fast cache of the device (SLC) or a volume's burst credit is used up"
    );
    let rounds = of("write-cliff", writes(), |r| each_round(r, &[25.0, 25.1, 24.9, 10.0, 10.1, 10.0]));
    assert!(
        rounds.message.starts_with("from round 4 on the rate was 41.1 kB/s instead of 102 kB/s (60 % less)"),
        "{}",
        rounds.message
    );
    let stall = of("stall", workload(), |r| each_count(r, &[500, 500, 0, 0, 500, 500]));
    assert_eq!(
        stall.message,
        "no operation completed for 2.0 s, 2.0 s into round 3 (3 times, 6.0 s in total)"
    );
    assert_eq!(stall.evidence[0].scope.as_ref().unwrap().seconds, Some((2.0, 4.0)));
}
