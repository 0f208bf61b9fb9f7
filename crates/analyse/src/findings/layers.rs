//! The cost of a layer, where two targets of a run differ by one layer.

use std::collections::BTreeMap;

use model::{Comparison, Finding, Layer, LayerKind, Severity, Subject, Target, Verdict, fact};

use super::context::Ended;
use super::words::list;
use super::{Rule, RuleContext, evidence, total};
use crate::compare::{Series, compare, headline};
use crate::ratio::Pairing;
use crate::stats::{mean_and_deviation, t_quantile};

/// The stack as words from the top down, without the layers that cost nothing. A loop device and the filesystem of its
/// backing file are one layer.
fn words(target: &Target) -> Vec<String> {
    let mut by_level: BTreeMap<u32, Vec<&Layer>> = BTreeMap::new();
    for layer in target.stack.iter().filter(|layer| layer.kind != LayerKind::Partition) {
        by_level.entry(layer.level).or_default().push(layer);
    }
    let mut words: Vec<String> = Vec::new();
    for layers in by_level.into_values() {
        let mut alike: Vec<String> = layers.into_iter().map(word).collect();
        alike.dedup();
        let below_loop = words.last().is_some_and(|word| word == "a loop device");
        if !(below_loop && alike.iter().all(|word| FILESYSTEMS.contains(&word.as_str()))) {
            words.push(alike.join("+"));
        }
    }
    words
}

/// Filesystems that can replace each other, the plainest first.
const FILESYSTEMS: [&str; 9] = ["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "bcachefs", "vfat", "exfat"];

fn word(layer: &Layer) -> String {
    let value = |name: &str| layer.facts.get(name).cloned();
    match layer.kind {
        LayerKind::Filesystem => layer.name.clone(),
        LayerKind::Crypt => "encryption (dm-crypt)".to_owned(),
        LayerKind::Raid => value(fact::LEVEL).unwrap_or_else(|| "an array".to_owned()),
        LayerKind::Lvm => "a logical volume".to_owned(),
        LayerKind::Loop => "a loop device".to_owned(),
        LayerKind::Network => format!("the network ({})", layer.name),
        // Disks of one model are equal; a disk without a model is equal only to itself.
        LayerKind::Disk | LayerKind::Partition => value("model").unwrap_or_else(|| layer.name.clone()),
    }
}

/// The layer that `with` has and `without` lacks, if it is exactly one, or a different filesystem at the same level.
fn one_more(with: &[String], without: &[String]) -> Option<String> {
    if with.len() == without.len() + 1 {
        let at = (0..with.len()).find(|i| with.get(*i) != without.get(*i))?;
        return (with[at + 1..] == without[at..]).then(|| with[at].clone());
    }
    let differ: Vec<usize> =
        (0..with.len()).filter(|i| with.len() == without.len() && with[*i] != without[*i]).collect();
    let [at] = differ.as_slice() else { return None };
    let (this, that) = (with[*at].as_str(), without[*at].as_str());
    // The plainer of two filesystems is the baseline.
    let plainness = |name: &str| FILESYSTEMS.iter().position(|known| *known == name);
    let is_fancier = plainness(this)? > plainness(that)?;
    is_fancier.then(|| format!("{this} instead of {that}"))
}

/// The target of the run, if any, that lacks exactly one layer of this one.
fn plainer<'a>(context: &'a RuleContext<'_>, target: &Target) -> Option<(&'a Target, String)> {
    let with = words(target);
    context.run.started.targets.iter().find_map(|other| {
        let layer = one_more(&with, &words(other))?;
        (other.name != target.name).then_some((other, layer))
    })
}

/// Processor time of the whole machine for each byte moved, in nanoseconds.
fn work_per_byte(r: &Ended<'_>) -> Option<f64> {
    let machine = r.finished.machine?;
    let (read, written) = r.moved();
    let busy = total([machine.user_ns, machine.system_ns, machine.irq_ns].into_iter());
    let moved = read.saturating_add(written);
    (moved > 0 && busy > 0).then(|| busy as f64 / moved as f64)
}

/// Processor time per byte with the layer ÷ without it, over the paired rounds of all steps, with its 95 % interval.
fn work_ratio(context: &RuleContext<'_>, target: &Target, plain: &Target) -> Option<(f64, f64, f64)> {
    let mut logs = Vec::new();
    for pair in context.transfers_on(target) {
        let Some(other) = context.transfers_on(plain).find(|p| p.step.id == pair.step.id) else { continue };
        let ratio = |r: &Ended<'_>| {
            let base = other.repeats.iter().find(|o| o.round() == r.round())?;
            Some((work_per_byte(r)? / work_per_byte(base)?).ln())
        };
        // One value for each step: its rounds are not independent of each other.
        logs.extend(pair.median(ratio));
    }
    let (mean, deviation) = mean_and_deviation(&logs)?;
    let n = logs.len() as f64;
    let half = t_quantile(0.975, n - 1.0) * deviation / n.sqrt();
    Some((mean.exp(), (mean - half).exp(), (mean + half).exp()))
}

pub(super) fn layer_cost(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let plan = &context.run.started.plan;
    let series = Series::of_run(context.run, context.measurements);
    let mut found = Vec::new();
    for target in context.targets() {
        let Some((plain, layer)) = plainer(context, target) else { continue };
        let all = compare(&series, &plain.name, Pairing::within(plan), plan.margin());
        let is_headline = |c: &&Comparison| {
            let step = plan.step(&c.step);
            c.target == target.name && step.is_some_and(|s| headline(s, c.operation) == Some(c.metric))
        };
        // The effect of a cache on either side is no cost of a layer.
        let is_the_layers = |c: &&Comparison| {
            let mut sides = context.completed().filter(|p| {
                p.step.id == c.step && (p.target.name == target.name || p.target.name == plain.name)
            });
            sides.all(super::cache::reached_the_devices)
        };
        let decided: Vec<&Comparison> = all
            .iter()
            .filter(|c| is_headline(c) && is_the_layers(c))
            .filter(|c| matches!(c.verdict, Verdict::Faster | Verdict::Slower))
            .collect();
        if decided.is_empty() {
            continue;
        }
        found.push(cost(rule, context, (target, plain, &layer), &decided));
    }
    found
}

fn cost(
    rule: &Rule,
    context: &RuleContext<'_>,
    (target, plain, layer): (&Target, &Target, &str),
    decided: &[&Comparison],
) -> Finding {
    let in_words = |c: &&Comparison| {
        let (low, high) = c.ratio.interval.unwrap_or((c.ratio.value, c.ratio.value));
        let change = |ratio: f64| (ratio - 1.0) * 100.0;
        format!(
            "{} in {} {:+.0} % ({:+.0} to {:+.0})",
            match c.metric {
                model::Metric::Bandwidth => format!("{} bandwidth", c.operation.name().replace('_', " ")),
                model::Metric::Iops => format!("{} operations", c.operation),
                _ => format!("{} p99", c.operation),
            },
            c.step,
            change(c.ratio.value),
            change(low),
            change(high)
        )
    };
    let mut largest: Vec<&Comparison> = decided.to_vec();
    largest.sort_by(|a, b| b.ratio.value.ln().abs().total_cmp(&a.ratio.value.ln().abs()));
    let largest_four: Vec<String> = largest.iter().take(4).map(in_words).collect();
    let more = match largest.len() {
        0..=4 => String::new(),
        n => format!(", and differences in {} more step(s)", n - 4),
    };
    let mut message =
        format!("effect of {layer} compared with {}: {}{more}", plain.name, list(&largest_four));
    let mut figures: Vec<model::Evidence> = Vec::new();
    for c in &largest {
        figures.push(
            evidence(format!("{} ÷ {}, {}", c.target, c.baseline, c.metric), c.ratio.value, "1")
                .in_step(&c.step),
        );
    }
    if let Some((ratio, low, high)) = work_ratio(context, target, plain) {
        figures.push(evidence("processor time per byte ÷ without the layer", ratio, "1"));
        if low > 1.0 || high < 1.0 {
            message.push_str(&format!(
                "; processor time per byte is {ratio:.2} times as much ({low:.2} to {high:.2})"
            ));
        }
    }
    let effect = largest.first().map_or(0.0, |c| 1.0 - c.ratio.value.min(c.ratio.value.recip()));
    let about = Subject { target: Some(target.name.clone()), step: None };
    rule.finding(Severity::Info, about, message, figures).changing(effect)
}
