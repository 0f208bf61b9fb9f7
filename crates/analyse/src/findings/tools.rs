//! What is wrong with the way in which a classic tool measures, and the honest figure beside it; figures that a tool
//! would print and a table does not.

use model::{Finding, Metric, Operation, Severity, Target};

use super::seen::Pair;
use super::words::{by, figure, percent, time};
use super::{Rule, Seen, evidence};
use crate::compare::headline;
use crate::score::{PiFigures, pi_score};

/// A step that does honestly what another does as a tool does it has that step's id with this behind it.
const HONEST: &str = "-honest";

/// What is wrong with a step of a suite, and what its honest companion does instead.
const FLAWS: &[(&str, &str, &str)] = &[
    (
        "dd",
        "write-fsync",
        "dd writes zeros, which whatever compresses, deduplicates or leaves out zeros never stores",
    ),
    ("dd", "write-dsync-4k", "dd writes zeros, which whatever compresses or leaves out zeros never stores"),
    (
        "hdparm",
        "direct",
        "hdparm waits for each read before it asks for the next, which leaves most storage idle",
    ),
    ("bonnie", "write", "bonnie++ writes blocks that are zeros but for a few bytes, all nearly alike"),
    (
        "bonnie",
        "rewrite",
        "bonnie++ reads and rewrites in the page cache as much as memory holds, and its blocks are nearly all zeros",
    ),
    ("bonnie", "read", "bonnie++ reads through the page cache, which holds whatever is smaller than memory"),
    (
        "bonnie",
        "seeks",
        "bonnie++ seeks in the page cache as much as memory holds, and never syncs what it alters",
    ),
    ("bonnie", "create-seq", "bonnie++ creates thousands of files and syncs them once, all together"),
    ("iozone", "rewrite", "iozone writes records that are zeros but for a few bytes, all alike"),
    (
        "ioping",
        "latency",
        "a working set of 1 MiB stays in the device's own memory, in one erase block or on one track",
    ),
    ("pi", "dd", "dd writes zeros, which whatever compresses, deduplicates or leaves out zeros never stores"),
    (
        "pi-2022",
        "dd",
        "dd writes zeros, which whatever compresses, deduplicates or leaves out zeros never stores",
    ),
    (
        "sysbench",
        "seqrd",
        "sysbench reads through the page cache, which holds all of its files on most machines",
    ),
    (
        "sysbench",
        "rndrd",
        "sysbench reads through the page cache, which holds all of its files on most machines",
    ),
    (
        "sysbench",
        "rndwr",
        "sysbench writes zeros, and most of its 128 syncs after 100 writes find nothing to do",
    ),
];

/// The operation and metric by which two steps that do the same are compared: the first that both have.
fn compared(seen: &Seen<'_>, as_tool: &Pair<'_>, honest: &Pair<'_>) -> Option<(Operation, Metric, f64, f64)> {
    as_tool.step.operations().into_iter().find_map(|operation| {
        let metric = headline(as_tool.step, operation)?;
        let theirs = seen.value(as_tool, operation, metric)?;
        Some((operation, metric, theirs, seen.value(honest, operation, metric)?))
    })
}

pub(super) fn honest_figure(rule: &Rule, seen: &Seen<'_>) -> Vec<Finding> {
    let suite = seen.run.started.plan.suite.as_str();
    let finding = |pair: &Pair<'_>| {
        let id = format!("{}{HONEST}", pair.step.id);
        let honest = seen.completed().find(|p| p.step.id == id && p.target.name == pair.target.name)?;
        let (operation, metric, theirs, ours) = compared(seen, pair, honest)?;
        if theirs <= 0.0 || ours <= 0.0 {
            return None;
        }
        let flaw = FLAWS.iter().find(|(of, step, _)| *of == suite && *step == pair.step.id);
        let flaw = flaw.map_or("the tool's way of measuring flatters or hides", |(.., flaw)| *flaw);
        let share = ours / theirs - 1.0;
        let differs = share.abs() > seen.run.started.plan.margin();
        let told = if differs { by(share, "more", "less") } else { "the same within the margin here".into() };
        let message = format!(
            "{flaw}: {operation} {} as the tool does it, {} without that ({told})",
            figure(metric, theirs),
            figure(metric, ours)
        );
        let severity = if differs { Severity::Warning } else { Severity::Info };
        let figures =
            vec![evidence("as the tool", theirs, metric.unit()), evidence("honest", ours, metric.unit())];
        Some(rule.finding(severity, pair.subject(), message, figures).changing(if differs {
            share.abs()
        } else {
            0.0
        }))
    };
    seen.completed().filter_map(finding).collect()
}

/// Mean of a latency over repeats, in nanoseconds, and the operations behind it.
fn mean(pair: &Pair<'_>, operations: &[Operation]) -> (f64, u64) {
    let (mut sum, mut count) = (0.0, 0);
    for repeat in &pair.repeats {
        for stats in operations.iter().filter_map(|o| repeat.measured(*o)) {
            sum += stats.lat.mean_ns().unwrap_or(0.0) * stats.lat.count() as f64;
            count += stats.lat.count();
        }
    }
    (sum / count.max(1) as f64, count)
}

pub(super) fn sysbench_views(rule: &Rule, seen: &Seen<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        if !pair.step.workload.special.sync_all_files {
            return None;
        }
        let (requests, request_count) = mean(pair, &[Operation::Read, Operation::Write]);
        let (sync, sync_count) = mean(pair, &[Operation::Sync]);
        if request_count == 0 || sync_count == 0 {
            return None;
        }
        let (old, new) = (requests, mean(pair, &[Operation::Read, Operation::Write, Operation::Sync]).0);
        let seconds: f64 = pair.repeats.iter().map(super::seen::Ended::seconds).sum();
        let jobs = f64::from(pair.step.workload.jobs);
        let share = (sync * sync_count as f64 / 1e9 / (seconds * jobs)).min(1.0);
        let message = format!(
            "{} of the time went into {sync_count} syncs of {} on average; sysbench 0.4 does not time them and would print an average of {}, 1.0 counts them as requests and would print {}",
            percent(share),
            time(sync),
            time(old),
            time(new)
        );
        let figures = vec![
            evidence("average as sysbench 0.4", old, "ns"),
            evidence("average as sysbench 1.0", new, "ns"),
            evidence("average of a sync", sync, "ns"),
            evidence("share of the time in syncs", share, "1"),
        ];
        Some(rule.finding(Severity::Info, pair.subject(), message, figures).changing(0.8))
    };
    seen.completed().filter_map(finding).collect()
}

pub(super) fn bonnie_cpu(rule: &Rule, seen: &Seen<'_>) -> Vec<Finding> {
    if seen.run.started.plan.suite != "bonnie" {
        return Vec::new();
    }
    let share = |pair: &Pair<'_>| {
        let busy = |r: &super::seen::Ended<'_>| {
            let workers = r.finished.workers;
            let seconds = (workers.user_ns + workers.system_ns) as f64 / 1e9;
            (r.seconds() > 0.0).then(|| seconds / r.seconds())
        };
        pair.median(busy)
    };
    let finding = |target: &Target| {
        let own = seen.completed().filter(|pair| pair.target.name == target.name);
        let shares: Vec<(&Pair<'_>, f64)> = own.filter_map(|pair| Some((pair, share(pair)?))).collect();
        let figures = shares.iter().map(|(pair, share)| evidence(&pair.step.id, *share, "1")).collect();
        let told: Vec<String> =
            shares.iter().map(|(pair, share)| format!("{} {}", pair.step.id, percent(*share))).collect();
        let mut message =
            format!("processor time of the workers in percent of the measured time: {}", told.join(", "));
        // Each of bonnie++'s threads counts the time of the whole process, and their counts are added up.
        for (pair, share) in shares.iter().filter(|(pair, _)| pair.step.workload.jobs > 1) {
            let printed = share * f64::from(pair.step.workload.jobs);
            message.push_str(&format!("; bonnie++ would print {} for {}", percent(printed), pair.step.id));
        }
        let subject = super::subject(target, None);
        (!shares.is_empty()).then(|| rule.finding(Severity::Info, subject, message, figures).changing(0.1))
    };
    seen.targets().filter_map(finding).collect()
}

pub(super) fn pi_benchmarks_score(rule: &Rule, seen: &Seen<'_>) -> Vec<Finding> {
    if !matches!(seen.run.started.plan.suite.as_str(), "pi" | "pi-2022") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for target in seen.targets() {
        let value = |step: &str, operation, metric| {
            let pair = seen.completed().find(|p| p.step.id == step && p.target.name == target.name)?;
            seen.value(pair, operation, metric)
        };
        let kib = |step: &str, operation| value(step, operation, Metric::Bandwidth).map(|rate| rate / 1024.0);
        let figures = || {
            Some(PiFigures {
                dd_mb_per_second: value("dd", Operation::Write, Metric::Bandwidth)? / 1e6,
                fio_random_reads: value("fio-randread", Operation::Read, Metric::Iops)?,
                fio_random_writes: value("fio-randwrite", Operation::Write, Metric::Iops)?,
                iozone_read: kib("iozone-read", Operation::Read)?,
                iozone_write: kib("iozone-write", Operation::Write)?,
                iozone_random_read: kib("iozone-random-read", Operation::Read)?,
                iozone_random_write: kib("iozone-random-write", Operation::Write)?,
            })
        };
        let Some(figures) = figures() else { continue };
        let score = pi_score(&figures);
        let message = format!("PiBenchmarks' score is {score}, by its formula of the figures of this run");
        let figures = vec![evidence("score", score as f64, "1")];
        found
            .push(rule.finding(Severity::Info, super::subject(target, None), message, figures).changing(0.9));
    }
    found
}
