//! Imported results: figures that their own raw numbers contradict, and the traps of each tool.
//!
//! The importer sees what is odd about an output and records it as a remark, with its severity and advice, which
//! becomes a finding as it is. The rules here judge what follows from the figures.

use std::collections::{BTreeMap, BTreeSet};

use model::{Figure, Finding, Imported, Metric, Operation, Remark, Repeat, Severity, Units, fact};

use super::context::{Ended, Pair};
use super::words::{amount, percent};
use super::{Rule, RuleContext, evidence};

/// A result of fewer seconds shows little about the sustained rate.
const SHORT_S: f64 = 10.0;
/// A data set of fewer bytes fits into the memory of nearly any machine.
const SMALL: u64 = 4 << 30;

fn imported<'a>(ended: &Ended<'a>) -> Option<&'a Imported> {
    ended.repeat.imported.as_deref()
}

/// What importers remarked, one finding for each kind of remark about a step on a target.
pub(super) fn remarks(context: &RuleContext<'_>) -> Vec<Finding> {
    context.completed().flat_map(remarks_about).collect()
}

fn remarks_about(pair: &Pair<'_>) -> Vec<Finding> {
    let mut kinds: BTreeMap<&str, Vec<(&Imported, &Remark, u32)>> = BTreeMap::new();
    for ended in &pair.repeats {
        let Some(imported) = imported(ended) else { continue };
        for remark in &imported.remarks {
            kinds.entry(&remark.topic).or_default().push((imported, remark, ended.round()));
        }
    }
    let finding = |(topic, seen): (&str, Vec<(&Imported, &Remark, u32)>)| {
        let messages: BTreeSet<&str> = seen.iter().map(|(_, remark, _)| remark.message.as_str()).collect();
        let message = messages.first().copied().unwrap_or_default();
        let and = match messages.len() {
            0 | 1 => String::new(),
            n => format!(" (and {} more of that kind in other repeats)", n - 1),
        };
        let figures = seen.iter().map(|(imported, remark, round)| {
            evidence(format!("line of {}", imported.file), f64::from(remark.line), "1").in_rounds([*round])
        });
        let (_, first, _) = seen[0];
        Finding {
            rule: topic.to_owned(),
            severity: first.severity,
            subject: pair.subject(),
            message: format!("{message}{and}"),
            advice: Some(first.advice.clone()).filter(|advice| !advice.is_empty()),
            effect: 0.0,
            evidence: figures.collect(),
        }
        .changing(first.effect)
    };
    kinds.into_iter().map(finding).collect()
}

/// Repeats that a signal stopped, which do not count beside whole ones.
pub(super) fn stopped_early(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let is_stopped = |repeat: &&Repeat| {
        let remarks = repeat.imported.iter().flat_map(|imported| &imported.remarks);
        !repeat.is_complete() && remarks.into_iter().any(|remark| remark.topic == rule.name)
    };
    for pair in context.completed() {
        let is_own = |repeat: &&Repeat| {
            let started = &repeat.started;
            (&started.step, &started.target) == (&pair.step.id, &pair.target.name)
        };
        let stopped = context.run.repeats.iter().filter(is_own).filter(is_stopped);
        let rounds: Vec<u32> = stopped.map(|repeat| repeat.started.round).collect();
        if rounds.is_empty() {
            continue;
        }
        let message = match rounds.len() {
            1 => "a signal stopped fio before its end in one repeat, which does not count".to_owned(),
            n => format!("a signal stopped fio before its end in {n} repeats, which do not count"),
        };
        let evidence = evidence("stopped repeats", rounds.len() as f64, "1").in_rounds(rounds);
        found.push(rule.finding(Severity::Info, pair.subject(), message, vec![evidence]).changing(0.02));
    }
    found
}

/// A figure that the raw numbers of the same output contradict.
pub(super) fn printed_contradicts_raw(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for pair in context.completed() {
        let mut worst: Option<(&Imported, &Figure, f64, u32)> = None;
        let mut count = 0;
        for ended in &pair.repeats {
            let Some(imported) = imported(ended) else { continue };
            for figure in &imported.figures {
                let Some(share) = figure.contradiction() else { continue };
                count += 1;
                if worst.is_none_or(|(.., most, _)| share > most) {
                    worst = Some((imported, figure, share, ended.round()));
                }
            }
        }
        let Some((imported, figure, share, round)) = worst else { continue };
        let (Some(printed), Some(raw)) = (&figure.printed, &figure.recomputed) else { continue };
        let more = if count > 1 { format!("; so are {} more figures", count - 1) } else { String::new() };
        let message = format!(
            "{} prints {} as its {} ({}), but its own raw numbers ({}) give {}: they are {} apart, more than rounding explains{more}",
            imported.tool,
            printed.text,
            words(figure),
            figure.operation.name().replace('_', " "),
            raw.from,
            shown(figure, raw.value, context.units),
            percent(share),
        );
        let unit = figure.metric.unit();
        let figures = vec![
            evidence(format!("printed, line {} of {}", printed.line, imported.file), printed.value, unit)
                .in_rounds([round]),
            evidence("recomputed", raw.value, unit).in_rounds([round]),
        ];
        found.push(rule.finding(Severity::Warning, pair.subject(), message, figures).changing(share));
    }
    found
}

fn words(figure: &Figure) -> String {
    figure.metric.name().replace('_', " ")
}

/// A value in the unit of its metric, human-readable.
fn shown(figure: &Figure, value: f64, units: Units) -> String {
    match figure.metric.unit() {
        "B/s" => super::words::rate(units, value),
        "ns" => super::words::time(value),
        "1/s" => format!("{value:.1} per second"),
        _ => format!("{value:.3}"),
    }
}

/// True if the program's latencies exclude the time of its syncs.
pub(super) fn hides_syncs(ended: &Ended<'_>) -> bool {
    imported(ended).is_some_and(|imported| imported.facts.contains_key(fact::SYNCS_OUTSIDE_LATENCY))
}

/// Syncs that took much of the time and that no latency of the program includes.
pub(super) fn hidden_syncs(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    /// A smaller share of the time is not reported.
    const SHARE: f64 = 0.1;
    let finding = |pair: &Pair<'_>| {
        let hiding = pair.repeats.iter().find(|r| hides_syncs(r))?;
        let count = imported(hiding)?.facts.get(fact::SYNCS_OUTSIDE_LATENCY)?;
        let share =
            context.value(pair, Operation::Sync, Metric::SyncShare).filter(|share| *share >= SHARE)?;
        let mean = context.value(pair, Operation::Sync, Metric::LatMean)?;
        let message = format!(
            "{} of the time was spent in {count} syncs of {} each on average, which no latency includes: the latencies show only the speed of the page cache",
            percent(share.min(1.0)),
            super::words::time(mean)
        );
        let figures = vec![
            evidence("share of the time in syncs", share, "1"),
            evidence("mean of a sync, at most", mean, "ns"),
        ];
        Some(rule.finding(Severity::Warning, pair.subject(), message, figures).changing(share.min(1.0)))
    };
    context.completed().filter_map(finding).collect()
}

/// Imported repeats that were short.
pub(super) fn imported_short(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        imported(pair.repeats.first()?)?;
        let seconds = pair.median(|r| Some(r.seconds())).filter(|s| *s > 0.0 && *s < SHORT_S)?;
        let message = format!(
            "measured for {seconds:.1} s: caches of the device and of the machine may have absorbed it all"
        );
        let figures = vec![evidence("measured time", seconds, "s")];
        Some(rule.finding(Severity::Info, pair.subject(), message, figures).changing(0.05))
    };
    context.completed().filter_map(finding).collect()
}

/// Imported transfers through the page cache that are small enough to stay there, as far as the output reports it.
pub(super) fn cache_likely(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let first = imported(pair.repeats.first()?)?;
        let is_said = |name: &str| !first.unsaid.iter().any(|unsaid| unsaid == name);
        let size = pair.repeats.iter().map(|r| r.repeat.started.size_bytes).max().filter(|size| *size > 0)?;
        let w = &pair.step.workload;
        if w.direct || w.is_metadata() || !is_said("direct") || size >= SMALL {
            return None;
        }
        let from = if w.reads_data() { "reads may come from" } else { "writes may stay in" };
        let message = format!(
            "{} through the page cache fit into the memory of nearly any machine, and the output does not report its size: {from} memory",
            amount(context.units, size)
        );
        let figures = vec![evidence("data", size as f64, "B")];
        Some(rule.finding(Severity::Info, pair.subject(), message, figures).changing(0.3))
    };
    context.completed().filter_map(finding).collect()
}

/// Imported writes that nothing made durable, according to the output.
pub(super) fn never_synced(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let first = imported(pair.repeats.first()?)?;
        let w = &pair.step.workload;
        let unsaid =
            ["direct", "sync", "direction"].iter().any(|name| first.unsaid.iter().any(|u| u == name));
        let syncs = w.sync.every > 0
            || w.sync.at_end
            || w.open_sync != model::OpenSync::None
            || first.figures.iter().any(|f| f.operation == Operation::Sync)
            || first.facts.keys().any(|key| key.starts_with("fsync"));
        if unsaid || syncs || w.direct || !w.writes_data() || w.is_metadata() {
            return None;
        }
        let message = "written through the page cache and never synced: the figure is that of memory until the kernel throttles the writers";
        Some(
            rule.finding(
                Severity::Warning,
                pair.subject(),
                message.into(),
                vec![evidence("syncs", 0.0, "1")],
            )
            .changing(0.5),
        )
    };
    context.completed().filter_map(finding).collect()
}
