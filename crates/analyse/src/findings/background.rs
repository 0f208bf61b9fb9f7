//! Work of others on the same device.
//!
//! More bytes at the device than the workload moved may be the filesystem's own doing. So background work is claimed
//! only from what the workload cannot have caused: writes while it only read, reads while it only wrote, traffic
//! between repeats, and processes by name.

use model::{Finding, LayerKind, Severity, Subject, Target};

use super::seen::{Ended, Pair};
use super::words::{list, percent, rate};
use super::{Rule, Seen, evidence, subject};

/// Less than this, in bytes per second, is a log line now and then.
const QUIET: f64 = 1e6;
/// Less than this share of the workload's own rate does not matter.
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
    let sum: u64 = devices.iter().map(|d| bytes(d)).sum();
    let names: Vec<&str> = devices.iter().map(|d| d.name.as_str()).collect();
    let seconds = r.finished.counted_ns.max(1) as f64 / 1e9;
    Some((names.join("+"), sum as f64 / seconds))
}

/// Traffic in the direction that the workload does not have: median rate, the devices, the rounds that had it, and
/// what it is of the workload's own rate.
struct Foreign {
    devices: String,
    rate: f64,
    rounds: Vec<u32>,
    share: f64,
}

fn foreign(pair: &Pair<'_>) -> Option<Foreign> {
    let w = &pair.step.workload;
    let only_reads = w.reads_data() && !w.modifies();
    let only_writes = w.writes_data() && !w.reads_data() && !w.verify && !reads_to_write(pair.target);
    // A write of less than a block of the device or of the filesystem makes it read the rest.
    let is_whole = w.used_blocks().iter().all(|block| *block >= 4096);
    if !(only_reads || only_writes && is_whole && pair.repeats.iter().all(|r| r.repeat.started.direct)) {
        return None;
    }
    let rate_of = |r: &Ended<'_>| {
        at_bottom(r, |d| if only_reads { d.written_bytes } else { d.read_bytes }).map(|(_, rate)| rate)
    };
    let own_of = |r: &Ended<'_>| {
        let (read, written) = r.moved();
        Some((read + written) as f64 / (r.finished.counted_ns.max(1) as f64 / 1e9))
    };
    let (rate, own) = (pair.median(rate_of)?, pair.median(own_of)?);
    let share = rate / own.max(1.0);
    let loud = pair.repeats.iter().filter(|r| rate_of(r).is_some_and(|rate| rate >= QUIET));
    let rounds: Vec<u32> = loud.map(Ended::round).collect();
    let devices = at_bottom(&pair.repeats[0], |_| 0)?.0;
    // Most repeats: one that the filesystem's own late work fell into is no background.
    let is_common = rounds.len() >= 2 && rounds.len() * 2 > pair.repeats.len();
    (rate >= QUIET && share >= MATTERS && is_common).then_some(Foreign { devices, rate, rounds, share })
}

/// Other processes that did I/O during a step, the busiest first: name, bytes per second.
fn others(pair: &Pair<'_>, seen: &Seen<'_>) -> Vec<(String, f64)> {
    let Some(telemetry) = pair.telemetry(seen) else { return Vec::new() };
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

pub(super) fn background_traffic(rule: &Rule, seen: &Seen<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let own = pair.median(|r| {
            let (read, written) = r.moved();
            Some((read + written) as f64 / (r.finished.counted_ns.max(1) as f64 / 1e9))
        })?;
        let others = others(pair, seen);
        let theirs: f64 = others.iter().map(|(_, rate)| rate).sum();
        let foreign = foreign(pair);
        let share = (theirs / own.max(1.0)).max(foreign.as_ref().map_or(0.0, |f| f.share));
        if share < MATTERS {
            return None;
        }
        let (mut parts, mut figures) = (Vec::new(), Vec::new());
        if let Some(f) = &foreign {
            let only = if pair.step.workload.modifies() { ("read", "wrote") } else { ("written", "read") };
            parts.push(format!(
                "{} per second were {} on {} while the workload only {}, in {} of {} repeats",
                rate(f.rate).trim_end_matches("/s"),
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
        }
        if theirs / own.max(1.0) >= MATTERS {
            let names: Vec<String> =
                others.iter().take(3).map(|(name, r)| format!("{name} ({})", rate(*r))).collect();
            parts.push(format!("other processes did I/O, on whichever device: {}", list(&names)));
            figures.extend(others.iter().map(|(name, r)| evidence(format!("I/O of {name}"), *r, "B/s")));
        }
        figures.push(evidence("the workload's own rate", own, "B/s"));
        let message =
            format!("others worked at {} of this step's own rate: {}", percent(share), parts.join("; "));
        let found = rule.finding(Severity::Warning, pair.subject(), message, figures);
        Some(found.changing(share / (1.0 + share)))
    };
    seen.completed().filter(|p| !p.step.workload.is_metadata()).filter_map(finding).collect()
}

/// What was noticed before the first round, see `host::readiness`.
pub(super) const NOTED_BEFORE: [&str; 2] = ["device-not-quiet", "background-work"];

pub(super) fn background_before(rule: &Rule, seen: &Seen<'_>) -> Vec<Finding> {
    let noted = seen.run.notes.iter().filter(|note| NOTED_BEFORE.contains(&note.topic.as_str()));
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

/// When nothing was asked of a target's devices: from the end of each repeat to the start of the next. What precedes a
/// repeat that needs new or whole data is left out, and so is what follows one that is read back: that is our own work.
fn pauses(seen: &Seen<'_>) -> Vec<(u64, u64)> {
    let repeats = &seen.run.repeats;
    let is_busy = |step: &str| {
        seen.run.started.plan.step(step).is_none_or(|s| {
            s.uses_data_up()
                || s.workload.is_metadata()
                || s.workload.verify
                || s.workload.modifies() && !s.workload.direct
        })
    };
    let pause = |pair: &[model::Repeat]| {
        let [before, after] = pair else { return None };
        let (from, to) = (before.finished.as_ref()?.at_ns, after.started.at_ns);
        let is_ours = is_busy(&before.started.step) || is_busy(&after.started.step);
        (!is_ours && to > from + 10_000_000).then_some((from, to))
    };
    repeats.windows(2).filter_map(pause).collect()
}

pub(super) fn background_between(rule: &Rule, seen: &Seen<'_>) -> Vec<Finding> {
    /// Fewer seconds of pauses say nothing.
    const ENOUGH_NS: u64 = 200_000_000;
    let pauses = pauses(seen);
    let mut found = Vec::new();
    for target in seen.targets() {
        let Some(lowest) = target.stack.iter().filter(|l| l.device.is_some()).map(|l| l.level).max() else {
            continue;
        };
        for layer in target.stack.iter().filter(|l| l.level == lowest && l.device.is_some()) {
            let mean = |what: &str| {
                let series = seen.readings.get("devices", &format!("{}.{what}", layer.name))?;
                series.mean_inside(&pauses).filter(|(_, covered_ns)| *covered_ns >= ENOUGH_NS)
            };
            let (Some((read, covered_ns)), Some((write, _))) = (mean("read"), mean("write")) else {
                continue;
            };
            if read + write < 5.0 * QUIET {
                continue;
            }
            let message = format!(
                "between repeats, when nothing was asked of it, {} read {} and wrote {} for others",
                layer.name,
                rate(read),
                rate(write)
            );
            let figures = vec![
                evidence(format!("{} read between repeats", layer.name), read, "B/s"),
                evidence(format!("{} wrote between repeats", layer.name), write, "B/s"),
                evidence("pauses looked at", covered_ns as f64 / 1e9, "s"),
            ];
            found
                .push(rule.finding(Severity::Warning, subject(target, None), message, figures).changing(0.1));
        }
    }
    found
}
