//! Compares the bytes that the workload moved with the bytes that the devices moved: caches, copies, compression.

use model::units::counted;
use model::{DataClass, Finding, LayerKind, Operation, Preparation, Severity, Step, TargetKind, fact};

use super::context::{Ended, Pair};
use super::words::percent;
use super::{Rule, RuleContext, evidence, memory_filesystem, subject};
use crate::measure::device_ratio;

/// A level of block devices below a target, and the median share of the bytes read that it delivered.
struct Delivered {
    devices: String,
    share: f64,
}

/// One entry for each level, from the uppermost down.
fn read_shares(pair: &Pair<'_>) -> Vec<Delivered> {
    let mut shares = Vec::new();
    for below in 0.. {
        let at = |r: &Ended<'_>| device_ratio(r.counts.whole(), r.finished, Operation::Read, below);
        let Some(share) = pair.median(at) else { break };
        let devices = &pair.repeats[0].finished.devices;
        let mut levels: Vec<u32> = devices.iter().map(|d| d.level).collect();
        levels.sort_unstable();
        levels.dedup();
        let names = devices.iter().filter(|d| levels.get(below) == Some(&d.level)).map(|d| d.name.as_str());
        shares.push(Delivered { devices: names.collect::<Vec<_>>().join("+"), share });
    }
    shares
}

/// If less than this share of the bytes reached a device, a cache served the rest.
const TRUSTED: f64 = 0.9;

/// True if no cache of this machine replaced a device: at least nine tenths of the bytes that the workload moved reached
/// each level, in each direction that it has.
pub(super) fn reached_the_devices(pair: &Pair<'_>) -> bool {
    let arrived = |operation| {
        (0..)
            .map_while(|below| {
                pair.median(|r: &Ended<'_>| device_ratio(r.counts.whole(), r.finished, operation, below))
            })
            .all(|ratio| ratio >= TRUSTED)
    };
    arrived(Operation::Read) && arrived(Operation::Write)
}

pub(super) fn cache_served_reads(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let shares = read_shares(pair);
        // The level above the first one that delivers too little served the rest from a cache.
        let at = shares.iter().position(|level| level.share < TRUSTED)?;
        let Delivered { devices, share } = &shares[at];
        let direct = pair.repeats.iter().all(|r| r.repeat.started.direct);
        let who = match at {
            0 if direct => "the filesystem or the page cache, although direct I/O was on".to_owned(),
            0 => "the page cache".to_owned(),
            _ => format!("a cache between {} and {devices}", shares[at - 1].devices),
        };
        let message = format!(
            "only {:.0} % of the bytes read came from {devices}; the rest was served by {who}",
            share * 100.0
        );
        let figures = vec![evidence(format!("bytes read from {devices} ÷ bytes read"), *share, "1")];
        let found = rule.finding(Severity::Warning, pair.subject(), message, figures);
        Some(found.changing(1.0 - share))
    };
    let judged = context.completed().filter(|p| p.step.workload.reads_data() && !may_be_unwritten(p));
    judged.filter_map(finding).collect()
}

/// Direct reads of a user's file that no device delivered: the kernel returns zeros for what was never written.
fn may_be_unwritten(pair: &Pair<'_>) -> bool {
    let is_direct = pair.repeats.iter().all(|r| r.repeat.started.direct);
    let is_unknown = pair.target.kind == TargetKind::File && !pair.step.workload.modifies();
    let is_new = pair.step.prepare == Preparation::Fresh;
    let share = read_shares(pair).first().map(|level| level.share);
    is_direct && (is_unknown || is_new) && share.is_some_and(|share| share < 0.1)
}

pub(super) fn unwritten_extents(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let Delivered { devices, share } = read_shares(pair).into_iter().next()?;
        let message = format!(
            "direct reads, but {devices} delivered only {} of their bytes: most of the file seems never to have been written (holes or unwritten extents), and reads of such parts do not reach the device",
            percent(share)
        );
        let figures = vec![evidence(format!("bytes read from {devices} ÷ bytes read"), share, "1")];
        let found = rule.finding(Severity::Warning, pair.subject(), message, figures);
        Some(found.changing(1.0 - share))
    };
    let judged = context.completed().filter(|p| p.step.workload.reads_data() && may_be_unwritten(p));
    judged.filter_map(finding).collect()
}

pub(super) fn buffered_fallback(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for target in context.targets().filter(|target| memory_filesystem(target).is_none()) {
        let is_fallback =
            |p: &&Pair<'_>| p.step.workload.direct && p.repeats.iter().any(|r| !r.repeat.started.direct);
        let steps: Vec<&Step> = context.transfers_on(target).filter(is_fallback).map(|p| p.step).collect();
        if !steps.is_empty() {
            let message = format!(
                "direct I/O is not available here, so {} went through the page cache: evicted before each repeat of reads, synced within the measured time of writes",
                counted(steps.len(), "step")
            );
            let figures = vec![evidence("steps without direct I/O", steps.len() as f64, "1")];
            found.push(rule.finding(Severity::Warning, subject(target, None), message, figures));
        }
    }
    found
}

pub(super) fn not_evicted(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let share = pair.median(|r| {
            let cache = r.finished.cache.filter(|c| c.evicted)?;
            Some(cache.cached_before_bytes? as f64 / r.repeat.started.size_bytes.max(1) as f64)
        });
        let share = share.filter(|share| *share > 0.01)?;
        let message = format!(
            "{:.0} % of the test data could not be evicted from the page cache before reading; those reads measured memory",
            share * 100.0
        );
        let figures = vec![evidence("share still cached", share, "1")];
        Some(rule.finding(Severity::Warning, pair.subject(), message, figures).changing(share))
    };
    let is_judged = |p: &&Pair<'_>| p.step.workload.reads_data() && memory_filesystem(p.target).is_none();
    context.completed().filter(is_judged).filter_map(finding).collect()
}

/// Median ratio of bytes written at the uppermost device to bytes written by the workload.
fn write_ratio(pair: &Pair<'_>) -> Option<f64> {
    pair.median(|r| device_ratio(r.counts.whole(), r.finished, Operation::Write, 0))
}

pub(super) fn write_amplification(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let ratio = write_ratio(pair).filter(|ratio| *ratio >= 1.3)?;
        let filesystem =
            pair.target.stack.iter().find(|l| l.kind == LayerKind::Filesystem).map(|l| l.name.as_str());
        let message = format!(
            "{ratio:.2} bytes were written to the device for every byte of data: metadata, copies or checksums of {}, or other writes to the same device",
            filesystem.unwrap_or("a layer in between")
        );
        let figures = vec![evidence("bytes written to the device ÷ bytes written", ratio, "1")];
        // The share of the device's writes that the workload did not issue.
        Some(rule.finding(Severity::Info, pair.subject(), message, figures).changing(1.0 - 1.0 / ratio))
    };
    context.completed().filter(|p| p.step.workload.writes_data()).filter_map(finding).collect()
}

pub(super) fn writes_not_on_device(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let ratio = write_ratio(pair).filter(|ratio| *ratio < TRUSTED)?;
        let message = format!(
            "only {:.0} % of the bytes written reached the device, even after everything had settled: blocks were overwritten before they left a cache, or a layer compresses or deduplicates",
            ratio * 100.0
        );
        let figures = vec![evidence("bytes written to the device ÷ bytes written", ratio, "1")];
        let found = rule.finding(Severity::Warning, pair.subject(), message, figures);
        Some(found.changing(1.0 - ratio))
    };
    context.completed().filter(|p| p.step.workload.writes_data()).filter_map(finding).collect()
}

/// The layer of a stack that compresses the data written to it, according to its kind or options.
fn compressing_layer(pair: &Pair<'_>) -> Option<String> {
    let found = pair.target.stack.iter().find(|layer| {
        let options = layer.facts.get(fact::OPTIONS).map_or("", String::as_str);
        let asked = options.split(',').any(|option| {
            let is_on =
                |name| option.strip_prefix(name).is_some_and(|value| !matches!(value, "no" | "none" | "off"));
            is_on("compress=")
                || is_on("compress-force=")
                || is_on("compress_algorithm=")
                || is_on("compression=")
        });
        let always = layer.facts.get(fact::LINK).is_some_and(|link| link == "zram");
        asked || always || matches!(layer.name.as_str(), "zfs" | "vdo")
    })?;
    Some(found.name.clone())
}

pub(super) fn compressible_data(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let data = pair.step.workload.data;
        let share = match data.class {
            DataClass::Zero => 1.0,
            DataClass::Random => f64::from(data.compress_percent.max(data.dedupe_percent)) / 100.0,
        };
        if share == 0.0 {
            return None;
        }
        let (severity, who) = match compressing_layer(pair) {
            Some(layer) => (Severity::Warning, format!("{layer} compresses, so it stores less")),
            None => (
                Severity::Info,
                "some drives and volumes store such data in less space, or not at all, and are faster for it"
                    .to_owned(),
            ),
        };
        let message = format!("the data written are {data}: {who}");
        let figures = vec![evidence("share of the data that need not be stored", share, "1")];
        Some(rule.finding(severity, pair.subject(), message, figures).changing(share))
    };
    context.completed().filter(|p| p.step.workload.writes_data()).filter_map(finding).collect()
}
