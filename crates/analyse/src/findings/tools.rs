//! The flaws in how a classic tool measures, each with an honest figure for comparison; and figures that a tool would
//! print and a table does not have.

use std::collections::BTreeMap;

use model::{Comparison, Finding, Histogram, Measurement, Metric, Operation, Severity, Target, Verdict};

use super::context::{Against, Pair};
use super::words::{by, figure, percent, time};
use super::{Rule, RuleContext, evidence, subject};
use crate::compare::headline;
use crate::score::{PiFigures, pi_score};

/// Suffix of the id of a step that does the work of another step without the tool's flaw.
const HONEST: &str = "-honest";

/// The flaw of a step, by suite and step; its honest companion does not have it.
const FLAWS: &[(&str, &str, &str)] = &[
    (
        "dd",
        "write-fsync",
        "dd writes zeros, which storage that compresses, deduplicates or skips zeros never stores",
    ),
    ("dd", "write-dsync-4k", "dd writes zeros, which storage that compresses or skips zeros never stores"),
    (
        "hdparm",
        "direct",
        "hdparm waits for each read before it submits the next, which leaves most storage idle",
    ),
    ("bonnie", "write", "bonnie++ writes blocks of zeros except for a few bytes, all nearly alike"),
    (
        "bonnie",
        "rewrite",
        "bonnie++ reads and rewrites in the page cache as much as memory holds, and its blocks are nearly all zeros",
    ),
    ("bonnie", "read", "bonnie++ reads through the page cache, which holds any data set smaller than memory"),
    (
        "bonnie",
        "seeks",
        "bonnie++ seeks in the page cache as much as memory holds, and never syncs what it changes",
    ),
    ("bonnie", "create-seq", "bonnie++ creates thousands of files and syncs them once, all together"),
    ("iozone", "rewrite", "iozone writes records of zeros except for a few bytes, all alike"),
    (
        "ioping",
        "latency",
        "a working set of 1 MiB stays in the device's own memory, in one erase block or on one track",
    ),
    ("pi", "dd", "dd writes zeros, which storage that compresses, deduplicates or skips zeros never stores"),
    (
        "pi-2022",
        "dd",
        "dd writes zeros, which storage that compresses, deduplicates or skips zeros never stores",
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

/// The figures of steps that do what a tool does, each against its honest companion's.
fn beside_honest<'c, 'a>(context: &'c RuleContext<'a>) -> Vec<Against<'c, 'a>> {
    let of = |pair: &'c Pair<'a>| {
        let id = format!("{}{HONEST}", pair.step.id);
        let honest = context.completed().find(|p| p.step.id == id && p.target.name == pair.target.name)?;
        pair.step.operations().into_iter().find_map(|operation| {
            let metric = headline(pair.step, operation)?;
            let value = |of: &Pair<'_>| context.value(of, operation, metric).filter(|v| *v > 0.0);
            value(pair).and(value(honest)).map(|_| Against { of: honest, to: pair, operation, metric })
        })
    };
    context.completed().filter_map(of).collect()
}

pub(super) fn honest_figure(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let suite = context.run.started.plan.suite.as_str();
    let all = beside_honest(context);
    let finding = |(against, compared): (&Against<'_, '_>, Option<Comparison>)| {
        let Against { of, to: pair, operation, metric } = *against;
        let [tool_value, honest_value] =
            [pair, of].map(|p| context.value(p, operation, metric).unwrap_or(0.0));
        let flaw = FLAWS.iter().find(|(of, step, _)| *of == suite && *step == pair.step.id);
        let flaw = flaw.map_or("the tool's method flatters or hides", |(.., flaw)| *flaw);
        let share = honest_value / tool_value - 1.0;
        let verdict = compared.map_or(Verdict::Undecided, |c| c.verdict);
        let is_different = matches!(verdict, Verdict::Faster | Verdict::Slower);
        let change = match verdict {
            Verdict::Same => "the same within the margin".to_owned(),
            Verdict::Undecided => "the rounds do not decide whether these differ".to_owned(),
            Verdict::Faster | Verdict::Slower => by(share, "more", "less"),
        };
        let message = format!(
            "{flaw}: {operation} {} as the tool measures, {} without the flaw ({change})",
            figure(context.units, metric, tool_value),
            figure(context.units, metric, honest_value)
        );
        let severity = if is_different { Severity::Warning } else { Severity::Info };
        let figures = vec![
            evidence("as the tool", tool_value, metric.unit()),
            evidence("honest", honest_value, metric.unit()),
        ];
        let effect = if is_different { share.abs() } else { 0.0 };
        rule.finding(severity, pair.subject(), message, figures).changing(effect)
    };
    all.iter().zip(context.ratios(&all)).map(finding).collect()
}

/// The latencies of these operations over all repeats.
fn latencies(pair: &Pair<'_>, operations: &[Operation]) -> Histogram {
    let mut all = Histogram::default();
    for repeat in &pair.repeats {
        operations.iter().filter_map(|o| repeat.measured(*o)).for_each(|stats| all.merge(&stats.lat));
    }
    all
}

pub(super) fn sysbench_views(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        if !pair.step.workload.modifiers.sync_all_files {
            return None;
        }
        let requests = latencies(pair, &[Operation::Read, Operation::Write]);
        let syncs = latencies(pair, &[Operation::Sync]);
        let (sync, sync_count) = (syncs.mean_ns()?, syncs.count());
        let (old, old_95) = (requests.mean_ns()?, requests.percentile_ns(95.0)? as f64);
        let mut both = requests;
        both.merge(&syncs);
        let (new, new_95) = (both.mean_ns()?, both.percentile_ns(95.0)? as f64);
        let seconds: f64 = pair.repeats.iter().map(super::context::Ended::seconds).sum();
        let jobs = f64::from(pair.step.workload.jobs);
        let share = (sync * sync_count as f64 / 1e9 / (seconds * jobs)).min(1.0);
        let message = format!(
            "{} of the time was spent in {sync_count} syncs of {} on average; sysbench 0.4 does not time them and would print an average of {} (95th percentile {}), 1.0 counts them as requests and would print {} ({})",
            percent(share),
            time(sync),
            time(old),
            time(old_95),
            time(new),
            time(new_95)
        );
        let figures = vec![
            evidence("average as sysbench 0.4", old, "ns"),
            evidence("average as sysbench 1.0", new, "ns"),
            evidence("95th percentile as sysbench 0.4", old_95, "ns"),
            evidence("95th percentile as sysbench 1.0", new_95, "ns"),
            evidence("average of a sync", sync, "ns"),
            evidence("share of the time in syncs", share, "1"),
        ];
        Some(rule.finding(Severity::Info, pair.subject(), message, figures).changing(0.8))
    };
    context.completed().filter_map(finding).collect()
}

/// The largest bandwidth of a round of a step on a target, reads and writes of a mix together, in bytes per second.
fn best_round(context: &RuleContext<'_>, step: &str, target: &Target) -> Option<f64> {
    let mut rounds: BTreeMap<u32, f64> = BTreeMap::new();
    let of_step =
        |m: &&Measurement| m.step == step && m.target == target.name && m.metric == Metric::Bandwidth;
    for (round, value) in context.measurements.iter().filter(of_step).flat_map(|m| &m.values) {
        *rounds.entry(*round).or_default() += value;
    }
    rounds.into_values().reduce(f64::max)
}

pub(super) fn crystal_best(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let plan = &context.run.started.plan;
    if plan.suite != "crystal" {
        return Vec::new();
    }
    let mut found = Vec::new();
    for target in context.targets() {
        // A step's id is its test and its operation: seq1m-q8t1-read.
        let mut tests: Vec<(String, Vec<String>)> = Vec::new();
        let mut figures = Vec::new();
        for step in &plan.steps {
            let (Some(best), Some((test, _))) =
                (best_round(context, &step.id, target), step.id.rsplit_once('-'))
            else {
                continue;
            };
            figures.push(evidence(step.id.clone(), best, Metric::Bandwidth.unit()));
            let (test, shown) = (test.to_uppercase().replace('-', " "), format!("{:.2}", best / 1e6));
            match tests.last_mut().filter(|(name, _)| *name == test) {
                Some((_, all)) => all.push(shown),
                None => tests.push((test, vec![shown])),
            }
        }
        if tests.is_empty() {
            continue;
        }
        let tests: Vec<String> =
            tests.into_iter().map(|(name, all)| format!("{name} {}", all.join(" / "))).collect();
        let message = format!(
            "CrystalDiskMark would show the best round, in MB/s (read / write / mix): {}",
            tests.join("; ")
        );
        found.push(rule.finding(Severity::Info, subject(target, None), message, figures).changing(0.9));
    }
    found
}

pub(super) fn bonnie_cpu(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    if context.run.started.plan.suite != "bonnie" {
        return Vec::new();
    }
    let share = |pair: &Pair<'_>| {
        let busy = |r: &super::context::Ended<'_>| {
            let workers = r.finished.workers;
            let seconds = (workers.user_ns + workers.system_ns) as f64 / 1e9;
            (r.seconds() > 0.0).then(|| seconds / r.seconds())
        };
        pair.median(busy)
    };
    let finding = |target: &Target| {
        let own = context.completed().filter(|pair| pair.target.name == target.name);
        let shares: Vec<(&Pair<'_>, f64)> = own.filter_map(|pair| Some((pair, share(pair)?))).collect();
        let figures = shares.iter().map(|(pair, share)| evidence(&pair.step.id, *share, "1")).collect();
        let by_step: Vec<String> =
            shares.iter().map(|(pair, share)| format!("{} {}", pair.step.id, percent(*share))).collect();
        let mut message =
            format!("processor time of the workers in percent of the measured time: {}", by_step.join(", "));
        // Each of bonnie++'s threads counts the time of the whole process, and bonnie++ adds up their counts.
        for (pair, share) in shares.iter().filter(|(pair, _)| pair.step.workload.jobs > 1) {
            let printed = share * f64::from(pair.step.workload.jobs);
            message.push_str(&format!("; bonnie++ would print {} for {}", percent(printed), pair.step.id));
        }
        let subject = subject(target, None);
        (!shares.is_empty()).then(|| rule.finding(Severity::Info, subject, message, figures).changing(0.1))
    };
    context.targets().filter_map(finding).collect()
}

pub(super) fn pi_benchmarks_score(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    if !matches!(context.run.started.plan.suite.as_str(), "pi" | "pi-2022") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for target in context.targets() {
        let value = |step: &str, operation, metric| {
            let pair = context.completed().find(|p| p.step.id == step && p.target.name == target.name)?;
            context.value(pair, operation, metric)
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
        let message =
            format!("the PiBenchmarks score is {score}, by its formula from the figures of this run");
        let figures = vec![evidence("score", score as f64, "1")];
        found.push(rule.finding(Severity::Info, subject(target, None), message, figures).changing(0.9));
    }
    found
}
