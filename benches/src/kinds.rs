//! What `behaves-like` says of storage whose kind is known: a matrix of confusion and the calibration of its probabilities.
//!
//! The storage is made: each kind is a law from the data sheets and standards of its technology, independent of the ranges
//! by which Lodestone classifies (`KINDS`), and of kinds that Lodestone has no name for (`OTHERS`). Every trait has the
//! error of a measurement. The seed is fixed.

use analyse::{StorageKind, StorageTraits, classify_storage};
use clap::Args;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::table::markdown;

const DEVICES: usize = 2_000;

/// Arguments of `kinds`.
#[derive(Args)]
pub struct KindsArgs {
    /// Made devices of each kind
    #[arg(long, default_value_t = DEVICES)]
    devices: usize,
}

/// One made device in the units of data sheets.
#[derive(Clone, Copy, Debug)]
struct Device {
    /// Random reads of 4 KiB per second, one at a time.
    reads: f64,
    /// The p99 of their latency ÷ its median.
    spread: f64,
    /// MB/s of sequential reads.
    sequential: f64,
    /// Random reads per second at depth 32 ÷ at depth 1.
    gain: f64,
    /// Milliseconds of a durable write.
    durable_ms: f64,
    /// Random writes per second ÷ random reads per second.
    writes: f64,
}

type Law = fn(&mut Chance) -> Device;

/// Kinds that Lodestone names.
const KINDS: [(StorageKind, Law); 7] = [
    (StorageKind::SpinningDisk, spinning_disk),
    (StorageKind::SdCard, sd_card),
    (StorageKind::SataFlash, sata_flash),
    (StorageKind::NvmeFlash, nvme_flash),
    (StorageKind::UsbStick, usb_stick),
    (StorageKind::Network, network),
    (StorageKind::Memory, memory),
];

/// Storage that is none of these, or a mixture of two.
const OTHERS: [(&str, Law); 4] = [
    ("eMMC", emmc),
    ("SATA flash behind a USB bridge without command queuing", bridged),
    ("four spinning disks, striped", striped),
    ("NVMe flash with a sixth of its link", narrow_nvme),
];

/// Devices by their published figures: reads per second at depth 1, p99 ÷ median, MB/s in sequence, gain at depth 32, ms of a
/// durable write, writes per second at depth 1; 0 for what is not known.
#[rustfmt::skip]
const PUBLISHED: [(&str, [f64; 6], StorageKind); 16] = [
            ("7200 rpm desktop disk", [78.0, 2.0, 180.0, 2.2, 16.0, 150.0], StorageKind::SpinningDisk),
            ("5400 rpm notebook disk", [60.0, 2.2, 110.0, 1.8, 25.0, 90.0], StorageKind::SpinningDisk),
            ("15k SAS disk", [180.0, 2.0, 200.0, 2.5, 5.0, 250.0], StorageKind::SpinningDisk),
            ("a throttled volume on disks, no syncs", [100.0, 1.6, 90.0, 0.0, 0.0, 0.0], StorageKind::SpinningDisk),
            ("A1 card by its class", [1500.0, 2.0, 90.0, 1.0, 10.0, 500.0], StorageKind::SdCard),
            ("A2 card without command queue", [2500.0, 2.0, 90.0, 1.1, 6.0, 800.0], StorageKind::SdCard),
            ("SATA SSD, TLC", [10_000.0, 1.6, 540.0, 9.0, 1.5, 24_000.0], StorageKind::SataFlash),
            ("SATA SSD, older", [7000.0, 2.0, 480.0, 10.0, 3.0, 15_000.0], StorageKind::SataFlash),
            ("NVMe gen 3, TLC", [14_000.0, 1.5, 3400.0, 20.0, 1.2, 45_000.0], StorageKind::NvmeFlash),
            ("NVMe gen 4, TLC", [20_000.0, 1.5, 7000.0, 24.0, 0.9, 60_000.0], StorageKind::NvmeFlash),
            ("USB 3 stick", [1800.0, 3.0, 150.0, 1.0, 40.0, 20.0], StorageKind::UsbStick),
            ("USB 2 stick", [900.0, 3.0, 30.0, 1.0, 80.0, 4.0], StorageKind::UsbStick),
            ("iSCSI on gigabit Ethernet, cached", [2500.0, 2.0, 112.0, 8.0, 1.2, 2200.0], StorageKind::Network),
            ("cloud volume, general purpose SSD", [1600.0, 2.5, 125.0, 16.0, 1.5, 1200.0], StorageKind::Network),
            ("tmpfs", [600_000.0, 2.0, 6000.0, 1.2, 0.003, 450_000.0], StorageKind::Memory),
            ("loop device in the page cache", [60_000.0, 2.0, 2500.0, 3.0, 0.03, 50_000.0], StorageKind::Memory),
];

/// Seeded chance.
struct Chance(Xoshiro256PlusPlus);

impl Chance {
    /// A value between these, even on a logarithmic scale.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + self.0.random::<f64>() * (high / low).ln()).exp()
    }

    fn one_of(&mut self, of: &[f64]) -> f64 {
        of[self.0.random_range(0..of.len())]
    }

    fn is(&mut self, probability: f64) -> bool {
        self.0.random::<f64>() < probability
    }

    /// A measured value: the true one with an error of this share.
    fn measured(&mut self, value: f64, error: f64) -> f64 {
        let z: f64 = StandardNormal.sample(&mut self.0);
        value * (error * z).exp()
    }
}

/// Half a turn and a seek; NCQ gains with the depth; the outer tracks of 1 to 20 TB.
fn spinning_disk(c: &mut Chance) -> Device {
    let rpm = c.one_of(&[5400.0, 7200.0, 7200.0, 10_000.0, 15_000.0]);
    let seek_ms = c.between(0.8, 1.25)
        * if rpm < 6000.0 {
            11.0
        } else if rpm < 8000.0 {
            8.5
        } else {
            4.0
        };
    let turn_ms = 60_000.0 / rpm;
    let is_cached = c.is(0.6);
    Device {
        reads: 1e3 / (turn_ms / 2.0 + seek_ms),
        spread: c.between(1.5, 2.6),
        sequential: c.between(90.0, 270.0),
        gain: c.between(1.5, 3.2),
        durable_ms: turn_ms * c.between(0.8, 3.0) + seek_ms * c.between(0.0001, 1.5),
        writes: if is_cached { c.between(1.2, 3.5) } else { c.between(0.8, 1.1) },
    }
}

/// The SD Association's classes: none, A1, A2; UHS-I, seldom UHS-II.
fn sd_card(c: &mut Chance) -> Device {
    let least = c.one_of(&[500.0, 1500.0, 1500.0, 2000.0]);
    let reads = least * c.between(1.0, 1.9);
    Device {
        reads,
        spread: c.between(1.2, 6.0),
        sequential: if c.is(0.1) { c.between(95.0, 250.0) } else { c.between(18.0, 95.0) },
        gain: if c.is(0.15) { c.between(1.4, 2.5) } else { c.between(1.0, 1.3) },
        durable_ms: c.between(2.0, 60.0),
        writes: c.between(0.1, 0.6),
    }
}

/// 6 Gb/s, consumer disks and those with capacitors.
fn sata_flash(c: &mut Chance) -> Device {
    Device {
        reads: c.between(6_500.0, 13_000.0),
        spread: c.between(1.1, 2.8),
        sequential: c.between(430.0, 560.0),
        gain: c.between(6.5, 12.0),
        durable_ms: if c.is(0.3) { c.between(0.04, 0.1) } else { c.between(0.6, 5.0) },
        writes: c.between(1.2, 3.5),
    }
}

/// Two to four lanes of generation 3 to 5, TLC and QLC.
fn nvme_flash(c: &mut Chance) -> Device {
    Device {
        reads: c.between(9_000.0, 22_000.0),
        spread: c.between(1.1, 3.0),
        sequential: c.one_of(&[1_700.0, 3_400.0, 3_400.0, 7_000.0, 12_000.0]) * c.between(0.6, 1.0),
        gain: c.between(9.0, 28.0),
        durable_ms: if c.is(0.3) { c.between(0.015, 0.06) } else { c.between(0.4, 3.0) },
        writes: c.between(1.5, 5.5),
    }
}

/// Controllers without a mapping below an erase block; a few are SSDs in the shape of a stick, which are no sticks here.
fn usb_stick(c: &mut Chance) -> Device {
    let reads = c.between(600.0, 3_500.0);
    Device {
        reads,
        spread: c.between(1.2, 8.0),
        sequential: if c.is(0.3) { c.between(15.0, 38.0) } else { c.between(60.0, 380.0) },
        gain: c.between(0.97, 1.2),
        durable_ms: c.between(8.0, 300.0),
        writes: c.between(2.0, 250.0) / reads,
    }
}

/// A round trip and a server with flash or a cache: iSCSI, NFS and general purpose cloud volumes.
fn network(c: &mut Chance) -> Device {
    Device {
        reads: 1e6 / (c.between(120.0, 600.0) + c.between(80.0, 700.0)),
        spread: c.between(1.4, 6.0),
        sequential: c.one_of(&[112.0, 125.0, 250.0, 600.0, 1_000.0]) * c.between(0.7, 1.0),
        gain: c.between(6.0, 28.0),
        durable_ms: c.between(0.5, 6.0),
        writes: c.between(0.5, 1.3),
    }
}

/// tmpfs, and a disk in the page cache of this machine or of the hypervisor.
fn memory(c: &mut Chance) -> Device {
    let us = if c.is(0.4) { c.between(0.8, 6.0) } else { c.between(12.0, 50.0) };
    Device {
        reads: 1e6 / us,
        spread: c.between(1.1, 4.0),
        sequential: c.between(1_500.0, 14_000.0),
        gain: if us < 10.0 { c.between(0.95, 1.5) } else { c.between(2.0, 6.0) },
        durable_ms: us / 1e3 * c.between(1.0, 2.5),
        writes: c.between(0.6, 1.2),
    }
}

/// Soldered flash with a command queue: 5.1 by JEDEC.
fn emmc(c: &mut Chance) -> Device {
    Device {
        reads: c.between(3_000.0, 7_000.0),
        spread: c.between(1.2, 4.0),
        sequential: c.between(140.0, 320.0),
        gain: c.between(1.2, 4.0),
        durable_ms: c.between(0.7, 6.0),
        writes: c.between(0.4, 1.5),
    }
}

fn bridged(c: &mut Chance) -> Device {
    Device { gain: c.between(0.98, 1.1), sequential: c.between(330.0, 450.0), ..sata_flash(c) }
}

fn striped(c: &mut Chance) -> Device {
    let one = spinning_disk(c);
    Device { sequential: one.sequential * c.between(3.0, 4.0), gain: one.gain * c.between(2.2, 3.5), ..one }
}

fn narrow_nvme(c: &mut Chance) -> Device {
    Device { sequential: c.between(350.0, 900.0), ..nvme_flash(c) }
}

impl Device {
    /// What a run measures: all traits, only reads, or reads one at a time.
    fn traits(self, c: &mut Chance, set: usize) -> StorageTraits {
        let reads = c.measured(self.reads, 0.08);
        let sequential = c.measured(self.sequential, 0.05);
        let mut known = |value: f64, error: f64, is_known: bool| is_known.then(|| c.measured(value, error));
        StorageTraits {
            random_read_ns: Some(1e9 / reads),
            read_spread: known(self.spread, 0.15, true),
            sequential_gain: Some(sequential * 1e6 / (reads * 4096.0)),
            depth_gain: known(self.gain, 0.08, set != 2),
            durable_ns: known(self.durable_ms * 1e6, 0.15, set == 0),
            write_gain: known(self.writes, 0.1, set == 0),
            sequential_rate: Some(sequential * 1e6),
        }
    }
}

const SETS: [&str; 3] = ["All seven traits", "Reads only", "Reads one at a time only"];

/// The page of the book with the tables.
pub fn page() -> String {
    format!(
        "# What the storage behaves like\n\n\
         <!-- Generated by `cargo xtask docs`; the source is `benches/src/kinds.rs`. -->\n\n\
         What the finding `behaves-like` says of storage whose kind is known, printed by `lodestone-benches kinds`: made devices \
         that follow the data sheets and standards of their technology (independent of the ranges by which Lodestone \
         classifies), measured with an error of 5 to 15 %, and devices by their published figures. The last four rows of each \
         table are storage that Lodestone has no name for. Nothing is said below 80 %.\n{}",
        kinds(&KindsArgs { devices: DEVICES })
    )
}

/// The tables, in Markdown.
pub fn kinds(args: &KindsArgs) -> String {
    let mut text = String::new();
    let mut told: Vec<(f64, bool)> = Vec::new();
    let head: Vec<&str> =
        ["made"].into_iter().chain(KINDS.map(|(kind, _)| kind.name())).chain(["nothing is said"]).collect();
    for (set, name) in SETS.iter().enumerate() {
        let mut c = Chance(Xoshiro256PlusPlus::seed_from_u64(set as u64));
        let columns = KINDS.map(|(kind, _)| kind);
        let mut rows = Vec::new();
        let laws = KINDS.map(|(kind, law)| (kind.name(), law, Some(kind)));
        for (name, law, kind) in laws.into_iter().chain(OTHERS.map(|(name, law)| (name, law, None))) {
            let mut counts = [0usize; KINDS.len() + 1];
            for _ in 0..args.devices {
                let device = law(&mut c);
                let verdict = classify_storage(&device.traits(&mut c, set));
                let said = verdict.as_ref().and_then(|v| v.sureness().map(|_| v.kinds[0]));
                let at =
                    said.and_then(|(said, _)| columns.iter().position(|k| *k == said)).unwrap_or(KINDS.len());
                counts[at] += 1;
                if let (Some((said, p)), Some(kind)) = (said, kind) {
                    told.push((p, said == kind));
                }
            }
            let percent = |n: usize| format!("{:.1}", 100.0 * n as f64 / args.devices as f64);
            rows.push([name.to_owned()].into_iter().chain(counts.map(percent)).collect());
        }
        text.push_str(&format!(
            "\n{name}: % of {} made devices that are called this\n\n{}\n",
            args.devices,
            markdown(&head, &rows)
        ));
    }
    text.push_str(&calibration(&told));
    text.push_str(&published());
    text
}

/// The traits of published figures.
fn published_traits([reads, spread, sequential, gain, durable_ms, writes]: [f64; 6]) -> StorageTraits {
    let known = |v: f64| (v > 0.0).then_some(v);
    StorageTraits {
        random_read_ns: Some(1e9 / reads),
        read_spread: known(spread),
        sequential_gain: known(sequential * 1e6 / (reads * 4096.0)),
        depth_gain: known(gain),
        durable_ns: known(durable_ms * 1e6),
        write_gain: known(writes / reads),
        sequential_rate: known(sequential * 1e6),
    }
}

/// What is said of published figures.
fn published() -> String {
    let row = |(name, figures, _): (&str, [f64; 6], StorageKind)| {
        let verdict = classify_storage(&published_traits(figures));
        let (kind, p) =
            verdict.as_ref().map_or(("nothing fits", 0.0), |v| (v.kinds[0].0.name(), v.kinds[0].1));
        let told = verdict.as_ref().and_then(analyse::KindVerdict::sureness).unwrap_or("nothing is said");
        vec![name.to_owned(), kind.to_owned(), format!("{:.0}", 100.0 * p), told.to_owned()]
    };
    let rows: Vec<Vec<String>> = PUBLISHED.into_iter().map(row).collect();
    let head = ["published figures of", "likeliest", "probability, %", "said"];
    format!("\nDevices by their published figures\n\n{}", markdown(&head, &rows))
}

/// How often what is said with a probability is right.
fn calibration(told: &[(f64, bool)]) -> String {
    let bands = [(0.80, 0.90), (0.90, 0.95), (0.95, 0.99), (0.99, 1.01)];
    let head = ["probability that is told", "mean of it, %", "right, %", "cases"];
    let mut rows = Vec::new();
    for (low, high) in bands {
        let of: Vec<&(f64, bool)> = told.iter().filter(|(p, _)| (low..high).contains(p)).collect();
        let share = |sum: f64| format!("{:.1}", 100.0 * sum / of.len().max(1) as f64);
        let name = if high > 1.0 {
            format!("{:.0} % or more", 100.0 * low)
        } else {
            format!("{:.0} to {:.0} %", 100.0 * low, 100.0 * high)
        };
        let mean = share(of.iter().map(|(p, _)| p).sum());
        let right = share(of.iter().filter(|(_, right)| *right).count() as f64);
        rows.push(vec![name, mean, right, of.len().to_string()]);
    }
    format!("\nCalibration over the named kinds\n\n{}", markdown(&head, &rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_figures_are_classified_correctly() {
        for (name, figures, kind) in PUBLISHED {
            let verdict = classify_storage(&published_traits(figures))
                .unwrap_or_else(|| panic!("{name}: nothing fits"));
            assert_eq!(verdict.kinds[0].0, kind, "{name}: {verdict:?}");
            // Cards and sticks overlap, so of them nothing may be said.
            let are_alike = matches!(kind, StorageKind::SdCard | StorageKind::UsbStick);
            assert!(verdict.sureness().is_some() || are_alike, "{name}: {verdict:?}");
        }
    }

    #[test]
    fn what_is_told_of_made_devices_is_mostly_right() {
        let text = kinds(&KindsArgs { devices: 200 });
        let rows = text.lines().skip_while(|l| !l.starts_with("| probability that is told")).skip(2).take(4);
        let right: Vec<f64> =
            rows.map(|row| row.split('|').nth(3).unwrap().trim().parse().unwrap()).collect();
        assert_eq!(right.len(), 4, "{text}");
        assert!(
            right.iter().zip([80.0, 88.0, 93.0, 98.0]).all(|(right, least)| *right >= least),
            "{right:?}"
        );
    }
}
