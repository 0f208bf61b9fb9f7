//! The kind of storage that a target behaves like, compared with what the kernel reports.

use model::{
    BufferPages, Finding, Layer, LayerKind, MeasurementKey, Metric, Mix, Operation, Pattern, Severity,
    Target, Units, fact,
};

use super::context::Pair;
use super::words::{list, percent, rate, time};
use super::{Rule, RuleContext, evidence, memory_filesystem, subject};
use crate::kinds::{KindVerdict, StorageKind, StorageTraits, TRAITS, classify_storage};

/// A pair of this operation whose workload is `wanted`; of several, the one with the most operations in flight.
fn deepest<'a>(
    context: &'a RuleContext<'_>,
    target: &'a Target,
    operation: Operation,
    wanted: impl Fn(&model::Workload) -> bool,
) -> Option<&'a Pair<'a>> {
    let in_flight = |p: &&Pair<'_>| u64::from(p.step.workload.iodepth) * u64::from(p.step.workload.jobs);
    let fits = |p: &&Pair<'_>| {
        let w = &p.step.workload;
        let percent = if operation == Operation::Read { 100 } else { 0 };
        p.is_closed_transfer()
            && w.mix == Mix::Transfer { read_percent: percent }
            // Through the page cache the device does not answer; allowed only where direct I/O is not available.
            && (p.repeats.iter().all(|r| r.repeat.started.direct) || w.direct)
            && super::cache::reached_the_devices(p)
            && p.step.prepare == model::Preparation::Written
            && wanted(w)
    };
    context.transfers_on(target).filter(fits).max_by_key(in_flight)
}

/// A figure wider than this is no trait: ± as a share.
const WIDEST: f64 = 0.25;

/// A figure that is known well enough to be a trait. A percentile has no width of its own, so the rate must be narrow.
fn narrow(context: &RuleContext<'_>, pair: &Pair<'_>, operation: Operation, metric: Metric) -> Option<f64> {
    let rated = if metric.percent().is_some() { Metric::Iops } else { metric };
    let key = MeasurementKey { target: &pair.target.name, step: &pair.step.id, operation, metric: rated };
    let width = key.find_in(context.measurements)?.estimate.relative_half_width()?;
    context.value(pair, operation, metric).filter(|_| width <= WIDEST)
}

fn traits(context: &RuleContext<'_>, target: &Target) -> StorageTraits {
    let is_random = |w: &model::Workload| matches!(w.pattern, Pattern::Random { .. });
    let is_small = |w: &model::Workload| (4096..=16384).contains(&w.largest_block());
    let is_single = |w: &model::Workload| w.iodepth == 1 && w.jobs == 1;
    let random = deepest(context, target, Operation::Read, |w| is_random(w) && is_small(w) && is_single(w));
    let Some(random) = random else { return StorageTraits::default() };
    let read = |pair, metric| narrow(context, pair, Operation::Read, metric);
    let block = random.step.workload.largest_block();
    let same = |w: &model::Workload| is_random(w) && w.largest_block() == block;
    let deep = deepest(context, target, Operation::Read, |w| same(w) && w.iodepth >= 16 && w.jobs == 1);
    let large = deepest(context, target, Operation::Read, |w| {
        !is_random(w) && w.largest_block() >= 128 << 10 && w.modifiers.buffers == BufferPages::Huge
    });
    let plain = deepest(context, target, Operation::Write, |w| {
        same(w) && is_single(w) && w.sync.every == 0 && w.open_sync == model::OpenSync::None
    });
    let durable =
        deepest(context, target, Operation::Write, |w| is_small(w) && is_single(w) && w.sync.every == 1);
    let (p50, p99) = (read(random, Metric::LatP50), read(random, Metric::LatP99));
    let (rate, iops) = (read(random, Metric::Bandwidth), read(random, Metric::Iops));
    let ratio = |a: Option<f64>, b: Option<f64>| Some(a? / b.filter(|b| *b > 0.0)?);
    let sequential_rate = large.and_then(|p| read(p, Metric::Bandwidth));
    StorageTraits {
        random_read_ns: p50,
        read_spread: ratio(p99, p50),
        sequential_gain: ratio(sequential_rate, rate),
        depth_gain: ratio(deep.and_then(|p| read(p, Metric::Iops)), iops),
        durable_ns: durable.and_then(|p| narrow(context, p, Operation::DurableWrite, Metric::LatP50)),
        write_gain: ratio(plain.and_then(|p| narrow(context, p, Operation::Write, Metric::Iops)), iops),
        sequential_rate,
    }
}

/// Each trait as a clause.
fn reasons(values: [Option<f64>; TRAITS], units: Units) -> [Option<String>; TRAITS] {
    let [random, spread, sequential, depth, durable, write, speed] = values;
    [
        random.map(|ns| format!("a random read takes {}", time(ns))),
        spread.map(|x| format!("one in a hundred takes {x:.1} times as long")),
        sequential.map(|x| format!("sequential reads have {x:.0} times the bandwidth of random ones")),
        depth.map(|x| format!("a deep queue gives {x:.1} times the rate")),
        durable.map(|ns| format!("a durable write takes {}", time(ns))),
        write.map(|x| format!("random writes are {x:.2} times as fast as random reads")),
        speed.map(|x| format!("sequential reads run at {}", rate(units, x))),
    ]
}

const NAMES: [(&str, &str); TRAITS] = [
    ("median of a random read, one at a time", "ns"),
    ("p99 ÷ median of random reads", "1"),
    ("sequential ÷ random bandwidth of reads", "1"),
    ("random reads per second at depth 16 or more ÷ at depth 1", "1"),
    ("median of a durable write", "ns"),
    ("random writes ÷ random reads per second, one at a time", "1"),
    ("bandwidth of sequential reads", "B/s"),
];

/// What the kernel reports, in words, and the kinds that it allows.
struct Claim {
    words: String,
    allows: Vec<StorageKind>,
}

fn claim(target: &Target) -> Option<Claim> {
    let bottom = target.stack.iter().max_by_key(|layer| layer.level)?;
    let made = |words: String, allows: &[StorageKind]| Some(Claim { words, allows: allows.to_vec() });
    if let Some(filesystem) = memory_filesystem(target) {
        return made(filesystem.to_owned(), &[StorageKind::Memory]);
    }
    if bottom.kind == LayerKind::Network {
        // The server may have any storage; it claims only not to be memory in this machine.
        return made(format!("a network mount ({})", bottom.name), &EVERYTHING);
    }
    disk_claim(bottom)
}

const EVERYTHING: [StorageKind; 7] = [
    StorageKind::SpinningDisk,
    StorageKind::SdCard,
    StorageKind::SataFlash,
    StorageKind::NvmeFlash,
    StorageKind::UsbStick,
    StorageKind::Network,
    StorageKind::Memory,
];

fn disk_claim(bottom: &Layer) -> Option<Claim> {
    let value = |name: &str| bottom.facts.get(name).map_or("", String::as_str);
    let link = value(fact::LINK);
    let rotation = value(fact::ROTATION_RATE);
    let name = format!("{} ({link})", bottom.name);
    let made = |words: String, allows: &[StorageKind]| Some(Claim { words, allows: allows.to_vec() });
    if rotation.parse::<u32>().is_ok_and(|rpm| rpm > 0) {
        return made(format!("a {rotation} rpm disk, {name}"), &[StorageKind::SpinningDisk]);
    }
    match link {
        "nvme" => made(format!("an NVMe disk, {name}"), &[StorageKind::NvmeFlash]),
        "mmc" if value("type") == "MMC" => made(
            format!("an eMMC, {name}"),
            &[StorageKind::SdCard, StorageKind::UsbStick, StorageKind::SataFlash],
        ),
        "mmc" => made(format!("an SD card, {name}"), &[StorageKind::SdCard]),
        // A USB bridge hides the device behind it.
        "usb" => made(
            format!("a USB disk, {name}"),
            &[
                StorageKind::UsbStick,
                StorageKind::SdCard,
                StorageKind::SpinningDisk,
                StorageKind::SataFlash,
                StorageKind::NvmeFlash,
            ],
        ),
        "ata" if rotation == "none" => {
            made(format!("a SATA disk without rotation, {name}"), &[StorageKind::SataFlash])
        }
        "ata" => made(format!("a SATA disk, {name}"), &[StorageKind::SataFlash, StorageKind::SpinningDisk]),
        "iscsi" => made(format!("a disk over iSCSI, {name}"), &EVERYTHING),
        "zram" => made(format!("compressed memory, {name}"), &[StorageKind::Memory]),
        "virtio" | "xen" | "hyperv" | "scsi" | "" => made(
            format!("{name}, a disk whose hardware the kernel does not know"),
            &[StorageKind::SataFlash, StorageKind::NvmeFlash, StorageKind::Network],
        ),
        _ => None,
    }
}

/// The traits that support the verdict most, at most three, in words.
fn main_reasons(values: [Option<f64>; TRAITS], verdict: &KindVerdict, units: Units) -> String {
    let words = reasons(values, units);
    let mut order: Vec<usize> = (0..TRAITS).filter(|i| words[*i].is_some()).collect();
    order.sort_by(|a, b| verdict.weights[*b].total_cmp(&verdict.weights[*a]));
    list(&order.iter().take(3).filter_map(|i| words[*i].clone()).collect::<Vec<_>>())
}

pub(super) fn behaves_like(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for target in context.targets() {
        // Latencies beside other I/O are no trait of the storage.
        if context.transfers_on(target).any(|pair| super::background::is_disturbed(pair, context)) {
            continue;
        }
        let traits = traits(context, target);
        let Some(verdict) = classify_storage(&traits) else { continue };
        let Some(sureness) = verdict.sureness() else { continue };
        let values = traits.values();
        let (best, p) = verdict.kinds[0];
        let mut message = format!(
            "{sureness} behaves like {} ({}): {}",
            best.name(),
            percent(p.min(0.99)),
            main_reasons(values, &verdict, context.units)
        );
        let claim = claim(target);
        let contradicts = claim.as_ref().is_some_and(|claim| !claim.allows.contains(&best));
        if let Some(claim) = &claim {
            let but = if contradicts { "but" } else { "and" };
            message.push_str(&format!("; {but} the kernel reports: {}", claim.words));
        }
        let mut figures = vec![evidence(format!("probability of {}", best.name()), p, "1")];
        for ((value, (name, unit)), range) in values.into_iter().zip(NAMES).zip(best.ranges()) {
            let Some(value) = value else { continue };
            figures.push(evidence(name, value, unit));
            if value < range.0 || value > range.1 {
                let nearest = if value < range.0 { range.0 } else { range.1 };
                figures.push(evidence(format!("nearest usual value for {}", best.name()), nearest, unit));
            }
        }
        let severity = if contradicts { Severity::Warning } else { Severity::Info };
        let finding = rule.finding(severity, subject(target, None), message, figures);
        found.push(match contradicts {
            true => finding.changing(0.5),
            false => Finding { advice: None, ..finding }.changing(0.01),
        });
    }
    found
}
