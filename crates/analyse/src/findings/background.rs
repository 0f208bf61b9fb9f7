//! I/O of other processes on the same device.
//!
//! The filesystem may cause the bytes at the device beyond those of the workload. So background work is claimed only
//! from what the workload cannot have caused: writes while it only read, reads while it only wrote, traffic between
//! repeats, and processes by name.

use model::{Finding, LayerKind, Severity, Subject, Target};

use super::context::{Ended, Pair};
use super::words::{list, rate};
use super::{Rule, RuleContext, evidence, subject, total};

/// A lower rate, in bytes per second, is an occasional log line.
const QUIET: f64 = 1e6;
/// A smaller share of the workload's own rate does not matter.
const MATTERS: f64 = 0.05;

/// Filesystems and arrays that read in order to write.
fn reads_to_write(target: &Target) -> bool {
    target.stack.iter().any(|layer| {
        layer.kind == LayerKind::Raid
            || matches!(
                layer.name.as_str(),
                "btrfs" | "zfs" | "bcachefs" | "f2fs" | "ntfs" | "ntfs3" | "fuseblk"
            )
    })
}

/// Bytes per second of the deepest devices in one direction, over a repeat.
fn at_bottom(r: &Ended<'_>, bytes: impl Fn(&model::DeviceActivity) -> u64) -> Option<(String, f64)> {
    let lowest = r.finished.devices.iter().map(|d| d.level).max()?;
    let devices: Vec<_> = r.finished.devices.iter().filter(|d| d.level == lowest).collect();
    let sum = total(devices.iter().map(|d| bytes(d)));
    let names: Vec<&str> = devices.iter().map(|d| d.name.as_str()).collect();
    let seconds = r.finished.counted_ns.max(1) as f64 / 1e9;
    Some((names.join("+"), sum as f64 / seconds))
}

/// Traffic in the direction that the workload does not have: the devices, the median rate, the rounds that had it, and
/// its share of the workload's own rate.
struct Foreign {
    devices: String,
    rate: f64,
    rounds: Vec<u32>,
    share: f64,
}

fn foreign(pair: &Pair<'_>) -> Option<Foreign> {
    let w = &pair.step.workload;
    let only_reads = w.reads_data() && !w.modifies();
    let only_writes =
        w.writes_data() && !w.reads_data() && !w.verify && !w.writes_back() && !reads_to_write(pair.target);
    // A write smaller than a block of the device or the filesystem makes it read the rest (read-modify-write).
    let is_whole = w.used_blocks().iter().all(|block| *block >= 4096);
    if !(only_reads || only_writes && is_whole && pair.repeats.iter().all(|r| r.repeat.started.direct)) {
        return None;
    }
    let rate_of = |r: &Ended<'_>| {
        at_bottom(r, |d| if only_reads { d.written_bytes } else { d.read_bytes }).map(|(_, rate)| rate)
    };
    let (rate, own) = (pair.median(rate_of)?, pair.median(own_rate)?);
    let share = rate / own.max(1.0);
    let loud = pair.repeats.iter().filter(|r| rate_of(r).is_some_and(|rate| rate >= QUIET));
    let rounds: Vec<u32> = loud.map(Ended::round).collect();
    let devices = at_bottom(&pair.repeats[0], |_| 0)?.0;
    // In most repeats: the filesystem's own delayed work in a single one is no background work.
    let is_common = rounds.len() >= 2 && rounds.len() * 2 > pair.repeats.len();
    (rate >= QUIET && share >= MATTERS && is_common).then_some(Foreign { devices, rate, rounds, share })
}

/// Other processes that did I/O during a step, the busiest first: name, bytes per second.
fn others(pair: &Pair<'_>, context: &RuleContext<'_>) -> Vec<(String, f64)> {
    let Some(telemetry) = pair.telemetry(context) else { return Vec::new() };
    let mut rates: Vec<(String, f64)> = Vec::new();
    for figure in telemetry.of("other_processes") {
        let name = figure.key.rsplit_once('.').map_or(figure.key.as_str(), |(name, _)| name);
        match rates.iter_mut().find(|(known, _)| known == name) {
            Some((_, rate)) => *rate += figure.mean,
            None => rates.push((name.to_owned(), figure.mean)),
        }
    }
    rates.retain(|(_, rate)| *rate >= QUIET);
    rates.sort_by(|a, b| b.1.total_cmp(&a.1));
    rates
}

/// Bytes per second that the deepest devices moved beyond the workload's: the median over the repeats, and its share of
/// the workload's own rate. Other processes cannot have moved more than this there.
fn excess(pair: &Pair<'_>) -> Option<(f64, f64)> {
    let own = pair.median(own_rate)?;
    // A block that is written back was read before, and no figure counts that read.
    let times = if pair.step.workload.writes_back() { 2.0 } else { 1.0 };
    let beyond = pair.median(|r| {
        let all = at_bottom(r, |d| d.read_bytes.saturating_add(d.written_bytes))?.1;
        Some((all - own_rate(r)? * times).max(0.0))
    })?;
    Some((beyond, beyond / own.max(1.0)))
}

fn own_rate(r: &Ended<'_>) -> Option<f64> {
    let (read, written) = r.moved();
    Some(read.saturating_add(written) as f64 / (r.finished.counted_ns.max(1) as f64 / 1e9))
}

/// True if other processes moved at least a fifth of a pair's own rate on its device and so affected its figures.
pub(super) fn is_disturbed(pair: &Pair<'_>, context: &RuleContext<'_>) -> bool {
    const MUCH: f64 = 0.2;
    let is_foreign = foreign(pair).is_some_and(|f| f.share >= MUCH);
    // Reads do not make a filesystem read or write more, so other processes caused what is beyond them.
    let is_beyond = !pair.step.workload.modifies()
        && pair.repeats.iter().all(|r| r.repeat.started.direct)
        && !reads_to_write(pair.target)
        && excess(pair).is_some_and(|(beyond, share)| beyond >= QUIET && share >= MUCH);
    let is_named = !others(pair, context).is_empty();
    is_foreign || is_beyond && is_named
}

pub(super) fn background_traffic(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let foreign = foreign(pair);
        let others = others(pair, context);
        // I/O of other processes that does not show on this device was on another one.
        let by_others: f64 = others.iter().map(|(_, rate)| rate).sum();
        let (beyond, share) = excess(pair)?;
        let named = by_others.min(beyond);
        let is_named = named >= QUIET && share >= MATTERS && named >= MATTERS * pair.median(own_rate)?;
        if foreign.is_none() && !is_named {
            return None;
        }
        // Writes make filesystems write more, so the excess may be the filesystem's.
        let is_unclear = foreign.is_none() && pair.step.workload.modifies();
        let (mut parts, mut figures) = (Vec::new(), Vec::new());
        if let Some(f) = &foreign {
            let only = if pair.step.workload.modifies() { ("read", "wrote") } else { ("written", "read") };
            parts.push(format!(
                "{} per second were {} on {} while the workload only {}, in {} of {} repeats",
                rate(context.units, f.rate).trim_end_matches("/s"),
                only.0,
                f.devices,
                only.1,
                f.rounds.len(),
                pair.repeats.len()
            ));
            figures.push(
                evidence(
                    format!("rate on {} that the workload cannot have caused", f.devices),
                    f.rate,
                    "B/s",
                )
                .in_rounds(f.rounds.iter().copied()),
            );
        } else {
            let devices = at_bottom(&pair.repeats[0], |_| 0)?.0;
            parts.push(format!(
                "{devices} moved {} more than the workload did, while other processes did I/O{}",
                rate(context.units, beyond),
                if is_unclear { "; their share of it and the filesystem's are not known" } else { "" }
            ));
        }
        if is_named {
            let names: Vec<String> = others.iter().take(3).map(|(name, _)| name.clone()).collect();
            parts.push(format!("processes that did I/O meanwhile: {}", list(&names)));
        }
        figures.push(evidence("rate of the devices beyond the workload's", beyond, "B/s"));
        figures.push(evidence("the workload's own rate", pair.median(own_rate)?, "B/s"));
        figures.extend(
            others.iter().map(|(name, r)| evidence(format!("I/O of {name}, on whichever device"), *r, "B/s")),
        );
        let share = foreign.as_ref().map_or(share, |f| f.share.max(share));
        let severity = if is_unclear { Severity::Info } else { Severity::Warning };
        let found = rule.finding(severity, pair.subject(), parts.join("; "), figures);
        Some(found.changing(share / (1.0 + share)))
    };
    context.completed().filter(|p| !p.step.workload.is_metadata()).filter_map(finding).collect()
}

/// Topics of the notes made before the first round, see `host::readiness`.
pub(super) const NOTED_BEFORE: [&str; 2] = ["device-not-quiet", "background-work"];

pub(super) fn background_before(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let noted = context.run.notes.iter().filter(|note| NOTED_BEFORE.contains(&note.topic.as_str()));
    noted
        .map(|note| {
            let about = Subject { target: note.target.clone(), step: None };
            let figures = vec![
                evidence("when it was noticed", note.at_ns as f64 / 1e9, "s").between(note.at_ns, note.at_ns),
            ];
            rule.finding(note.severity, about, note.message.clone(), figures).changing(0.05)
        })
        .collect()
}

/// When Lodestone sent no I/O to a target's devices: from the end of each repeat to the start of the next, and while a
/// target with other devices was measured. Pauses before a repeat that lays out data and after one that is verified are
/// left out, because Lodestone works in them.
fn pauses(context: &RuleContext<'_>, target: &Target) -> Vec<(u64, u64)> {
    let repeats = context.run.all_repeats();
    let is_busy = |step: &str| {
        context.run.started.plan.step(step).is_none_or(|s| {
            s.uses_data_up()
                || s.workload.is_metadata()
                || s.workload.verify
                || s.workload.modifies() && !s.workload.direct
        })
    };
    let pause = |pair: &[&model::Repeat]| {
        let [before, after] = pair else { return None };
        let (from, to) = (before.finished.as_ref()?.at_ns, after.started.at_ns);
        let is_own_work = is_busy(&before.started.step) || is_busy(&after.started.step);
        (!is_own_work && to > from.saturating_add(10_000_000)).then_some((from, to))
    };
    let devices =
        |target: &Target| -> Vec<(u32, u32)> { target.stack.iter().filter_map(|l| l.device).collect() };
    let own = devices(target);
    let is_elsewhere = |other: &Target| {
        let foreign = devices(other);
        let [there, here] = [other, target].map(|target| &context.run.started.machine(target.host).id);
        there != here || !foreign.is_empty() && foreign.iter().all(|device| !own.contains(device))
    };
    let elsewhere = context
        .completed()
        .filter(|pair| is_elsewhere(pair.target))
        .flat_map(|pair| pair.repeats.iter().map(|r| (r.began_ns(), r.ended_ns(pair.step))));
    repeats.windows(2).filter_map(pause).chain(elsewhere).collect()
}

pub(super) fn background_between(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    /// Pauses that are shorter in total show nothing.
    const ENOUGH_NS: u64 = 200_000_000;
    let mut found = Vec::new();
    for target in context.targets() {
        let pauses = pauses(context, target);
        let Some(lowest) = target.stack.iter().filter(|l| l.device.is_some()).map(|l| l.level).max() else {
            continue;
        };
        for layer in target.stack.iter().filter(|l| l.level == lowest && l.device.is_some()) {
            let mean = |what: &str| {
                let series =
                    context.readings.get(target.host, "devices", &format!("{}.{what}", layer.name))?;
                series.mean_inside(&pauses).filter(|(_, covered_ns)| *covered_ns >= ENOUGH_NS)
            };
            let (Some((read, covered_ns)), Some((write, _))) = (mean("read"), mean("write")) else {
                continue;
            };
            if read + write < 5.0 * QUIET {
                continue;
            }
            let message = format!(
                "while Lodestone sent it no I/O, between repeats or during those of other targets, {} read {} and wrote {} for other processes",
                layer.name,
                rate(context.units, read),
                rate(context.units, write)
            );
            let figures = vec![
                evidence(format!("{} read between repeats", layer.name), read, "B/s"),
                evidence(format!("{} wrote between repeats", layer.name), write, "B/s"),
                evidence("length of these pauses", covered_ns as f64 / 1e9, "s"),
            ];
            found
                .push(rule.finding(Severity::Warning, subject(target, None), message, figures).changing(0.1));
        }
    }
    found
}
