//! An SD card against the classes that are printed on it, and against the bus of its slot (SD Specifications, Part 1, Physical
//! Layer: 4.13 speed classes, 4.16 application performance classes).

use model::{Finding, Layer, LayerKind, Metric, Operation, Pattern, Severity, Target, fact};

use super::context::Pair;
use super::link::{Payload, linked};
use super::words::rate;
use super::{Rule, RuleContext, evidence, subject};

/// Sequential writes are what a speed class promises, in recording units of at least this many bytes.
const RECORDING_UNIT: u32 = 512 << 10;
/// Random operations of this many bytes are what an application performance class promises.
const RANDOM_BLOCK: u32 = 4 << 10;

/// A class with the bytes per second of sequential writes that it promises: the highest that the card claims.
fn speed_class(classes: &str) -> Option<(&str, f64)> {
    let promise = |class: &str| {
        let number: f64 = class.get(1..)?.parse().ok()?;
        match class.get(..1)? {
            "C" | "V" => Some(number * 1e6),
            "U" => Some(number * 10e6),
            "A" => Some(10e6),
            _ => None,
        }
    };
    let promises = classes.split(' ').filter_map(|class| Some((class, promise(class)?)));
    promises.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The application performance class with the random reads and writes per second that it promises.
fn application_class(classes: &str) -> Option<(&str, f64, f64)> {
    classes.split(' ').find_map(|class| match class {
        "A1" => Some((class, 1500.0, 500.0)),
        "A2" => Some((class, 4000.0, 2000.0)),
        _ => None,
    })
}

/// The card of a target, if nothing but a filesystem and partitions lie above it.
fn card(target: &Target) -> Option<(&Layer, &str, Option<Payload>)> {
    let is_plain =
        |l: &Layer| matches!(l.kind, LayerKind::Filesystem | LayerKind::Partition | LayerKind::Disk);
    let mut disks = target.stack.iter().filter(|l| l.kind == LayerKind::Disk);
    let disk = disks.next().filter(|_| disks.next().is_none() && target.stack.iter().all(is_plain))?;
    let classes = disk.facts.get(fact::SPEED_CLASSES)?;
    Some((disk, classes, linked(target).map(|(_, payload)| payload)))
}

pub(super) fn card_above_slot(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let of = |target: &Target| {
        let (disk, classes, bus) = card(target)?;
        let (class, promised) = speed_class(classes)?;
        let bus = bus.filter(|bus| bus.most < promised)?;
        let mode = disk.facts.get(fact::BUS_MODE).map(|mode| format!(" ({mode})")).unwrap_or_default();
        let message = format!(
            "the card {} is of class {class}, which promises sequential writes of {}, but {}{mode} carries at most {}: the \
             slot is the limit",
            disk.name,
            rate(context.units, promised),
            bus.name,
            rate(context.units, bus.most),
        );
        let figures = vec![
            evidence(format!("what {class} promises"), promised, "B/s"),
            evidence(format!("what {} carries at most", bus.name), bus.most, "B/s"),
        ];
        Some(rule.finding(Severity::Warning, subject(target, None), message, figures).changing(0.2))
    };
    context.targets().filter_map(of).collect()
}

pub(super) fn card_below_class(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for target in context.targets() {
        let Some((disk, classes, bus)) = card(target) else { continue };
        let is_kind = |pair: &&Pair<'_>, random: bool| {
            let workload = &pair.step.workload;
            let is_pattern = match workload.pattern {
                Pattern::Sequential => !random && workload.block.write >= RECORDING_UNIT,
                Pattern::Random { .. } => {
                    random && workload.used_blocks().iter().all(|block| *block == RANDOM_BLOCK)
                }
                _ => false,
            };
            // Neither a cache in memory nor syncs that wait are what the classes are about.
            is_pattern && pair.is_closed_transfer() && workload.direct && workload.sync.every == 0
        };
        let mut judge = |what: &str, class: &str, promised: f64, random, operation, metric: Metric| {
            let one_way = |pair: &&Pair<'_>| pair.step.workload.operations() == [operation];
            let values = context.transfers_on(target).filter(|pair| is_kind(pair, random)).filter(one_way);
            let best = values
                .filter_map(|pair| Some((pair, context.highest(pair, operation, metric)?)))
                .max_by(|a, b| a.1.total_cmp(&b.1));
            let Some((pair, most)) = best.filter(|(_, most)| *most < promised) else { return };
            let words = |value: f64| match metric {
                Metric::Bandwidth => rate(context.units, value),
                _ => format!("{value:.0} IOPS"),
            };
            let message = format!(
                "the card {} reaches at most {} at {what}; its class {class} promises {}",
                disk.name,
                words(most),
                words(promised)
            );
            let figures = vec![
                evidence(format!("what {class} promises"), promised, metric.unit()),
                evidence(format!("{what}, upper end"), most, metric.unit()).in_step(&pair.step.id),
            ];
            let about = subject(target, None);
            found.push(
                rule.finding(Severity::Warning, about, message, figures).changing(1.0 - most / promised),
            );
        };
        if let Some((class, promised)) = speed_class(classes)
            && bus.is_none_or(|bus| bus.rate >= promised)
        {
            judge("sequential writes", class, promised, false, Operation::Write, Metric::Bandwidth);
        }
        if let Some((class, reads, writes)) = application_class(classes) {
            judge("random reads of 4 KiB", class, reads, true, Operation::Read, Metric::Iops);
            judge("random writes of 4 KiB", class, writes, true, Operation::Write, Metric::Iops);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_promise_counts() {
        assert_eq!(speed_class("C10 U3 V30 A2"), Some(("V30", 30e6)));
        assert_eq!(speed_class("C10 U1 A1").map(|(_, promised)| promised), Some(10e6));
        assert_eq!(speed_class("C4"), Some(("C4", 4e6)));
        assert_eq!(speed_class(""), None);
        assert_eq!(application_class("C10 U3 V30 A2"), Some(("A2", 4000.0, 2000.0)));
        assert_eq!(application_class("C10 U3 V30"), None);
    }
}
