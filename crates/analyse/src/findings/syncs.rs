//! Syncs: their cost, and whether they have any effect.

use model::{Finding, LayerKind, Metric, Operation, Severity, fact};

use super::context::Pair;
use super::imported::hides_syncs;
use super::words::{percent, time};
use super::{Rule, RuleContext, evidence, total};

pub(super) fn sync_cost(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    /// A smaller share of the time is not reported.
    const SHARE: f64 = 0.1;
    let finding = |pair: &Pair<'_>| {
        let share =
            context.value(pair, Operation::Sync, Metric::SyncShare).filter(|share| *share >= SHARE)?;
        // Another rule reports syncs that a program's latencies hide.
        if pair.repeats.iter().any(|r| hides_syncs(r)) {
            return None;
        }
        let durable = |metric| context.value(pair, Operation::DurableWrite, metric);
        let mut message = format!("syncs took {} of the time", percent(share.min(1.0)));
        let mut figures = vec![evidence("share of the time in syncs", share, "1")];
        if let (Some(p50), Some(p99)) = (durable(Metric::LatP50), durable(Metric::LatP99)) {
            let plain = context.value(pair, Operation::Write, Metric::LatP50);
            message.push_str(&format!(
                "; a durable write took {} (median) and {} (p99)",
                time(p50),
                time(p99)
            ));
            if let Some(plain) = plain {
                message.push_str(&format!(", a write without its sync {}", time(plain)));
                figures.push(evidence("median of a write without its sync", plain, "ns"));
            }
            figures.push(evidence("median of a durable write", p50, "ns"));
            figures.push(evidence("p99 of a durable write", p99, "ns"));
        }
        Some(rule.finding(Severity::Info, pair.subject(), message, figures).changing(share.min(1.0) / 2.0))
    };
    context.completed().filter_map(finding).collect()
}

/// A sync that takes less than this, in nanoseconds, waited neither for flash to be programmed (some 200 µs to 1 ms) nor
/// for a network: either the device's cache survives a power failure, or the device received no flush.
const TOO_FAST_NS: f64 = 25_000.0;

pub(super) fn sync_too_cheap(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let sync = context.value(pair, Operation::Sync, Metric::LatP50).filter(|ns| *ns < TOO_FAST_NS)?;
        // A sync with nothing to write is rightly cheap, and so is one in memory.
        let w = &pair.step.workload;
        let bottom = pair.target.stack.iter().rfind(|layer| layer.device.is_some())?;
        let link = bottom.facts.get(fact::LINK).map_or("", String::as_str);
        if w.sync.every != 1 || bottom.kind != LayerKind::Disk || link == "zram" {
            return None;
        }
        let cache = bottom.facts.get(fact::WRITE_CACHE).map(String::as_str);
        let is_virtual = matches!(link, "virtio" | "xen" | "hyperv");
        if cache != Some("write back") && !is_virtual {
            return None;
        }
        let lowest = pair.repeats.iter().flat_map(|r| &r.finished.devices).filter(|d| d.name == bottom.name);
        let flushes = total(lowest.map(|d| d.flushes));
        let syncs = total(
            pair.repeats.iter().filter_map(|r| r.counts.whole().get(&Operation::Sync)).map(|s| s.count),
        );
        let why = match (flushes < syncs / 2, is_virtual) {
            (true, _) => format!(
                "the kernel sent {} only {flushes} flushes for {syncs} syncs, so a power failure may lose what was reported as durable",
                bottom.name
            ),
            (false, true) => {
                format!(
                    "{} is virtual: its host may hold in memory what was reported as durable",
                    bottom.name
                )
            }
            (false, false) => format!(
                "{} reports a volatile write cache, and flushes it faster than flash can be programmed: it may ignore flushes, or survive a power failure",
                bottom.name
            ),
        };
        let message = format!("a sync after each write took only {}, which is suspicious: {why}", time(sync));
        let figures = vec![
            evidence("median of a sync", sync, "ns"),
            evidence("syncs", syncs as f64, "1"),
            evidence(format!("flushes at {}", bottom.name), flushes as f64, "1"),
        ];
        Some(rule.finding(Severity::Warning, pair.subject(), message, figures).changing(0.3))
    };
    context.completed().filter_map(finding).collect()
}
