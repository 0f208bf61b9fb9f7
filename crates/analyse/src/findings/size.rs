//! Data sets that are too small, repeats that are too short, rounds that are too few.

use model::units::counted;
use model::{CacheState, Finding, Severity, Step, Target};

use super::context::Pair;
use super::words::{amount, short_list};
use super::{Rule, RuleContext, evidence, memory_filesystem, subject, total};

/// One finding says what three others would say less well: nothing can be evicted from there, nor read directly.
pub(super) fn in_memory(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for target in context.targets() {
        let Some(filesystem) = memory_filesystem(target) else { continue };
        let steps = context.transfers_on(target).count();
        if steps > 0 {
            let message = format!(
                "{filesystem} keeps its files in memory: these figures are of memory and the kernel, not of a disk"
            );
            let figures = vec![evidence("steps in memory", steps as f64, "1")];
            found
                .push(rule.finding(Severity::Warning, subject(target, None), message, figures).changing(1.0));
        }
    }
    found
}

pub(super) fn fits_into_memory(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for target in context.targets().filter(|target| memory_filesystem(target).is_none()) {
        let memory = context.run.started.machine(target.host).memory_bytes;
        // Each of several clients has its part of them.
        let own = |all: u64| all / target.clients.len().max(1) as u64;
        let sizes = context
            .transfers_on(target)
            .filter(|p| p.step.workload.cache != CacheState::ColdEach)
            .flat_map(|p| &p.repeats)
            .map(|r| &r.repeat.started)
            .filter(|started| !started.direct && own(started.size_bytes) < memory)
            .map(|started| own(started.size_bytes));
        let Some(size) = sizes.max() else { continue };
        let message = format!(
            "the test data ({}) went through the page cache and fit into this machine's memory ({}): the figures are partly those of memory",
            amount(context.units, size),
            amount(context.units, memory)
        );
        let figures = vec![evidence("test data", size as f64, "B"), evidence("memory", memory as f64, "B")];
        found.push(rule.finding(Severity::Warning, subject(target, None), message, figures).changing(0.3));
    }
    found
}

/// Requests that do nothing do not measure a target.
pub(super) fn no_storage(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for target in context.targets() {
        let idle = |pair: &Pair<'_>| {
            pair.repeats.iter().filter(|r| !r.repeat.started.engine.reaches_storage()).count()
        };
        let of_target = context.finished().filter(|p| p.target.name == target.name);
        let all: Vec<(String, usize)> = of_target.map(|p| (p.step.id.clone(), idle(p))).collect();
        let steps: Vec<String> = all.iter().filter(|(_, idle)| *idle > 0).map(|(id, _)| id.clone()).collect();
        if steps.is_empty() {
            continue;
        }
        let repeats: usize = all.iter().map(|(_, idle)| idle).sum();
        let figures = vec![evidence("repeats without storage", repeats as f64, "1")];
        let message = format!(
            "the requests of {} did nothing: their figures are those of the generator and the kernel's queues, not of {}",
            short_list(&steps),
            target.name
        );
        found.push(rule.finding(Severity::Warning, subject(target, None), message, figures).changing(1.0));
    }
    found
}

pub(super) fn fits_into_device_cache(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    const LIMIT: u64 = 1 << 30;
    let mut found = Vec::new();
    // Filesystems in memory have no device, and so no device cache.
    let in_memory = |target: &Target| target.stack.is_empty() || memory_filesystem(target).is_some();
    for target in context.targets().filter(|target| !in_memory(target)) {
        let sizes =
            context.transfers_on(target).flat_map(|p| &p.repeats).map(|r| r.repeat.started.size_bytes);
        // An imported output may not report the size of its data.
        let Some(size) = sizes.filter(|size| *size > 0).min().filter(|size| *size < LIMIT) else { continue };
        let message = format!(
            "the test data are only {}: a cache inside the device may hold them",
            amount(context.units, size)
        );
        let figures = vec![evidence("test data", size as f64, "B")];
        found.push(rule.finding(Severity::Info, subject(target, None), message, figures));
    }
    found
}

/// A shorter repeat shows little about the sustained rate: caches and clocks need longer to settle.
const SHORTEST_S: f64 = 0.9;
/// With fewer operations in all rounds together, less than a hundred are beyond the 99.9th percentile.
const FEWEST_FOR_P999: u64 = 100_000;
/// With fewer, less than a hundred are beyond the 99th.
const FEWEST_FOR_P99: u64 = 10_000;

/// The operations of the least frequent kind in all repeats together.
fn fewest_operations(pair: &Pair<'_>) -> Option<u64> {
    let shown = pair.step.operations().into_iter().filter(|o| *o != model::Operation::Sync);
    let all = |o| total(pair.repeats.iter().filter_map(|r| r.measured(o)).map(|stats| stats.count));
    shown.map(all).filter(|count| *count > 0).min()
}

pub(super) fn too_short(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for target in context.targets() {
        let of_target = context.completed().filter(|p| p.target.name == target.name);
        // A length that the run chose was tested against longer ones.
        let seconds = |p: &Pair<'_>| p.median(|r| Some(r.seconds())).filter(|_| !p.has_chosen_length());
        let all: Vec<(&Step, f64)> = of_target.filter_map(|p| Some((p.step, seconds(p)?))).collect();
        let names = |short: &[&(&Step, f64)]| {
            short_list(&short.iter().map(|(step, _)| step.id.clone()).collect::<Vec<_>>())
        };
        // A short runtime that was requested is no surprise.
        let is_asked = |step: &Step| step.stop.time_ns.is_some_and(|ns| (ns as f64) < SHORTEST_S * 1e9);
        let brief: Vec<_> = all
            .iter()
            .filter(|(s, seconds)| *seconds > 0.0 && *seconds < SHORTEST_S && !is_asked(s))
            .collect();
        if let Some((step, seconds)) = brief.iter().min_by(|a, b| a.1.total_cmp(&b.1)) {
            let where_brief = match brief.len() {
                1 => format!("the repeats of {} were over in {seconds:.2} s", step.id),
                _ => format!(
                    "the repeats of {} were over in less than a second ({seconds:.2} s in {})",
                    names(&brief),
                    step.id
                ),
            };
            let message = format!("{where_brief}, too short for caches and clocks to settle");
            let figures = vec![evidence("shortest measured time", *seconds, "s").in_step(&step.id)];
            found
                .push(rule.finding(Severity::Warning, subject(target, None), message, figures).changing(0.1));
        }
    }
    found
}

pub(super) fn thin_tail(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    if context.run.is_imported() {
        // The percentiles are the other program's.
        return found;
    }
    for target in context.targets() {
        let of_target = context.completed().filter(|p| p.target.name == target.name);
        let counts = of_target.filter_map(|p| Some((p.step, fewest_operations(p)?)));
        let few: Vec<(&Step, u64)> = counts.filter(|(_, count)| *count < FEWEST_FOR_P999).collect();
        let Some((step, count)) = few.iter().min_by_key(|(_, count)| *count) else { continue };
        let percentile = if *count < FEWEST_FOR_P99 { "p99 and p99.9" } else { "p99.9" };
        let message = format!(
            "fewer than 100 operations are beyond the {percentile} of {}: {count} in all rounds together{}",
            short_list(&few.iter().map(|(step, _)| step.id.clone()).collect::<Vec<_>>()),
            if few.len() == 1 { String::new() } else { format!(" in {}", step.id) }
        );
        let figures = vec![evidence("fewest operations of a step", *count as f64, "1").in_step(&step.id)];
        found.push(rule.finding(Severity::Info, subject(target, None), message, figures));
    }
    found
}

pub(super) fn few_rounds(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let run = context.run;
    let mut found = Vec::new();
    for target in context.targets() {
        let begun = |step: &&Step| {
            !step.workload.modifiers.once
                && run.repeats.iter().any(|r| r.started.step == step.id && r.started.target == target.name)
        };
        let good = |step: &Step| run.completed(&step.id, &target.name).count();
        let counts = run.started.plan.steps.iter().filter(begun).map(good);
        let counts: Vec<usize> = counts.filter(|n| *n < 3).collect();
        let Some(fewest) = counts.iter().min() else { continue };
        let message = format!(
            "{} with fewer than three good repeats: intervals are wide or missing",
            counted(counts.len(), "step")
        );
        let figures = vec![evidence("fewest good repeats of a step", *fewest as f64, "1")];
        let finding = rule.finding(Severity::Info, subject(target, None), message, figures).changing(0.05);
        // Lodestone's options do not repeat the measurement of another program.
        found.push(if run.is_imported() {
            finding.advising("measure each at least three times")
        } else {
            finding
        });
    }
    found
}
