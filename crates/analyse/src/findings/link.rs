//! The link to the disk: as the limit, or slower than both ends support.

use model::{Finding, Layer, LayerKind, Metric, Operation, Severity, Target, fact};

use super::context::Pair;
use super::words::{percent, rate, short_list};
use super::{Rule, RuleContext, evidence, subject};

/// The highest speed that both ends of a layer's link are known to support.
fn capability(layer: &Layer) -> Option<f64> {
    let highest = bits(layer, fact::HIGHEST_LINK_SPEED)?;
    match layer.facts.get(fact::LINK).map(String::as_str) {
        Some("ata") => Some(bits(layer, fact::DISK_HIGHEST_LINK_SPEED)?.min(highest)),
        _ => Some(highest),
    }
}

/// The user data that a link can carry in practice.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Payload {
    /// Common name of the link.
    pub name: String,
    /// Bytes per second.
    pub rate: f64,
    /// Bytes per second that no transfer can exceed: a higher rate came from a cache.
    pub most: f64,
}

/// The payload of a link of this kind that runs at `bits` bits per second on the wire, all lanes together. `None` for an
/// unknown kind.
///
/// * USB 2 (480 Mb/s): 13 packets of 512 B in each of 8000 microframes are 53.2 MB/s at most (USB 2.0, table 5-10);
///   bulk-only mass storage waits for a command and a status around each transfer, and gets 35 to 43 MB/s.
/// * USB 5 Gb/s: 8b/10b leaves 500 MB/s, link packets and framing about 450 (USB 3.2, 7.2). 10 Gb/s and more: 128b/132b
///   leaves 1212 MB/s per 10 Gb/s, framing about 1060.
/// * SATA: 8b/10b leaves 150, 300, 600 MB/s; frames of 8 KiB with header, checksum and primitives, and the exchange around
///   each, 93 % of that: 560 of 600 is the best that any drive is specified with.
/// * PCIe: 8b/10b at 2.5 and 5 GT/s, 128b/130b from 8 on (PCIe 3.0, 4.2.2); 24 B around packets of 128 to 256 B and flow
///   control leave about 90 %: 3.5 GB/s of 3.94 for four lanes at 8 GT/s. Lanes times 2.5 or 5 never are lanes times 8, 16
///   or 32, so the sum determines the encoding.
/// * SD and eMMC: checksums, gaps and commands leave about 90 %: 94 MB/s of 104 at SDR104.
/// * SAS: 8b/10b up to 12 Gb/s, 92 % of that.
/// * Ethernet: of 1538 B on the wire 1448 are data of TCP with time stamps (IPv4, MTU 1500): 94.1 %; with jumbo frames
///   99.1 % at most.
pub(super) fn payload(link: &str, bits: f64) -> Option<Payload> {
    let gigabits = format!("{} Gb/s", bits / 1e9);
    let bytes = bits / 8.0;
    let made = |name: String, rate: f64, most: f64| Some(Payload { name, rate, most });
    match link {
        "usb" if bits <= 12e6 => made("USB 1 at full speed".into(), 1.0e6, 1.22e6),
        "usb" if bits <= 480e6 => made("USB 2".into(), 41e6, 53.3e6),
        "usb" if bits <= 5e9 => made(format!("USB at {gigabits}"), 0.72 * bytes, 0.8 * bytes),
        "usb" => made(format!("USB at {gigabits}"), 0.848 * bytes, 0.97 * bytes),
        "ata" | "sata" => made(format!("SATA at {gigabits}"), 0.745 * bytes, 0.8 * bytes),
        "nvme" | "pcie" => {
            let is_old = [2.5e9, 5e9, 10e9, 20e9, 40e9, 80e9].contains(&bits);
            let encoding = if is_old { 0.8 } else { 128.0 / 130.0 };
            made(format!("PCIe at {gigabits} over all lanes"), 0.9 * encoding * bytes, encoding * bytes)
        }
        "mmc" | "sd" => made(format!("the card's bus at {} Mb/s", bits / 1e6), 0.9 * bytes, bytes),
        "sas" => made(format!("SAS at {gigabits}"), 0.736 * bytes, 0.8 * bytes),
        "iscsi" | "nfs" | "smb" | "cifs" | "nbd" => {
            made(format!("Ethernet at {gigabits}"), 1448.0 / 1538.0 * bytes, 0.992 * bytes)
        }
        _ => None,
    }
}

fn bits(layer: &Layer, name: &str) -> Option<f64> {
    layer.facts.get(name)?.parse::<f64>().ok().filter(|bits| *bits > 0.0)
}

/// The one layer of a target that is at the end of a link of known speed. `None` for several disks, because only the
/// array knows how they share the load.
pub(super) fn linked(target: &Target) -> Option<(&Layer, Payload)> {
    let mut ends = target.stack.iter().filter(|l| matches!(l.kind, LayerKind::Disk | LayerKind::Network));
    let layer = ends.next()?;
    if ends.next().is_some() {
        return None;
    }
    let payload = payload(layer.facts.get(fact::LINK)?, bits(layer, fact::LINK_SPEED)?)?;
    Some((layer, payload))
}

/// The common name of the link that a target's only disk or server is reached over, such as `USB 2`; `None` where its speed is
/// not known.
pub fn link_name(target: &Target) -> Option<String> {
    linked(target).map(|(_, payload)| payload.name)
}

pub(super) fn link_bound(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    /// From this share of what the link can carry, the link is the limit.
    const NEAR: f64 = 0.9;
    let mut found = Vec::new();
    for target in context.targets() {
        let Some((layer, payload)) = linked(target) else { continue };
        let rate_of = |pair: &Pair<'_>| {
            let one_way = if pair.step.workload.modifies() { Operation::Write } else { Operation::Read };
            let is_one_way = !(pair.step.workload.modifies() && pair.step.workload.reads_data());
            let rate = context.value(pair, one_way, Metric::Bandwidth).filter(|_| is_one_way)?;
            // Data served by a cache did not cross the link.
            let at_device =
                context.value(pair, one_way, Metric::DeviceRatio).map_or(1.0, |ratio| ratio.min(1.0));
            Some(rate * at_device)
        };
        let near: Vec<(&Pair<'_>, f64)> = context
            .transfers_on(target)
            .filter_map(|pair| Some((pair, rate_of(pair)?)))
            .filter(|(_, rate)| *rate >= NEAR * payload.rate && *rate <= payload.most * 1.02)
            .collect();
        let Some((_, most)) = near.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        let steps: Vec<String> = near.iter().map(|(pair, _)| pair.step.id.clone()).collect();
        let message = format!(
            "the highest rate, {}, is {} of what {} can carry (about {}): in {} the link, not what is behind it, is the limit",
            rate(context.units, *most),
            percent(most / payload.rate),
            payload.name,
            rate(context.units, payload.rate),
            short_list(&steps)
        );
        let mut figures = vec![evidence(format!("what {} can carry", payload.name), payload.rate, "B/s")];
        figures.extend(near.iter().map(|(pair, rate)| {
            evidence(format!("rate in {}", pair.step.id), *rate, "B/s").in_step(&pair.step.id)
        }));
        let about = subject(target, None);
        let faster = capability(layer) > bits(layer, fact::LINK_SPEED);
        let finding = rule.finding(Severity::Warning, about, message, figures).changing(0.3);
        found.push(if faster {
            finding.advising(
                "find out why the link runs slower than both ends support: cable, port, hub or slot",
            )
        } else {
            finding
        });
    }
    found
}

pub(super) fn link_below_capability(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for target in context.targets() {
        for layer in &target.stack {
            let (Some(now), Some(could)) = (bits(layer, fact::LINK_SPEED), capability(layer)) else {
                continue;
            };
            if now >= could * 0.99 {
                continue;
            }
            let message = format!(
                "the link to {} runs at {} Gb/s, {} of the {} Gb/s that the disk supports; the slot, port or cable may not",
                layer.name,
                now / 1e9,
                percent(now / could),
                could / 1e9
            );
            let figures =
                vec![evidence("link speed", now, "bit/s"), evidence("largest link speed", could, "bit/s")];
            found
                .push(rule.finding(Severity::Warning, subject(target, None), message, figures).changing(0.2));
        }
    }
    found
}

pub(super) fn mass_storage(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for target in context.targets() {
        let depth = |pair: &Pair<'_>| pair.step.workload.iodepth.saturating_mul(pair.step.workload.jobs);
        let Some(deepest) = context.transfers_on(target).map(depth).max().filter(|depth| *depth > 1) else {
            continue;
        };
        let is_old = |l: &&Layer| l.facts.get(fact::DRIVER).is_some_and(|driver| driver == "usb-storage");
        for layer in target.stack.iter().filter(is_old) {
            // At USB 2 the link is the limit, and hardly any adapter has the other protocol.
            let Some(speed) = bits(layer, fact::LINK_SPEED).filter(|speed| *speed >= 5e9) else { continue };
            let message = format!(
                "{} is attached by USB mass storage (usb-storage), which passes one command at a time: depths up to {deepest} \
                 have no effect beyond the kernel's queue",
                layer.name
            );
            let figures = vec![evidence("link speed", speed, "bit/s")];
            found
                .push(rule.finding(Severity::Warning, subject(target, None), message, figures).changing(0.2));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each link with the best rate that its users measure, from reviews and data sheets.
    #[test]
    fn payload_matches_measured_rates() {
        for (link, bits, measured) in [
            ("usb", 480e6, 40e6),
            ("usb", 5e9, 450e6),
            ("usb", 10e9, 1.06e9),
            ("usb", 20e9, 2.1e9),
            ("ata", 1.5e9, 140e6),
            ("ata", 3e9, 280e6),
            ("ata", 6e9, 560e6),
            ("nvme", 20e9, 1.8e9),
            ("nvme", 8e9, 0.89e9),
            ("nvme", 32e9, 3.5e9),
            ("nvme", 64e9, 7.0e9),
            ("nvme", 128e9, 14.2e9),
            ("mmc", 832e6, 94e6),
            ("nfs", 1e9, 117.7e6),
            ("iscsi", 10e9, 1.177e9),
        ] {
            let payload = payload(link, bits).unwrap();
            assert!((payload.rate / measured - 1.0).abs() < 0.04, "{link} {bits}: {payload:?}");
            assert!(payload.most > payload.rate && payload.most <= bits / 8.0, "{payload:?}");
        }
        assert_eq!(payload("virtio", 1e9), None);
    }
}
