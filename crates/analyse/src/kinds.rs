//! Classifies the kind of storage by a likelihood over a few measured traits.
//!
//! Each kind has a range for each trait, from published figures and data sheets ([`KINDS`]). The density of a trait is
//! uniform within its range on a logarithmic scale, with Gaussian tails outside ([`TAIL`]). So a narrow range that fits
//! weighs more than a wide one, and one odd figure excludes nothing ([`WORST`]). StorageTraits of one device depend on each other,
//! so the sum of their log likelihoods is tempered ([`TEMPER`]) before it becomes a probability, with equal priors for all
//! kinds.

use model::PortableMath;

/// A kind of storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageKind {
    /// Magnetic disks that turn.
    SpinningDisk,
    /// Cards with a controller of little memory.
    SdCard,
    /// Flash behind SATA or SAS.
    SataFlash,
    /// Flash behind PCI Express.
    NvmeFlash,
    /// Flash in a stick, without a queue.
    UsbStick,
    /// A server, a volume of a cloud.
    Network,
    /// Memory of this machine or of its host.
    Memory,
}

/// The measured traits that identify a kind of storage. `None` for a trait that was not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StorageTraits {
    /// Median latency in nanoseconds of random reads of 4 to 16 KiB, one at a time.
    pub random_read_ns: Option<f64>,
    /// Their p99 ÷ their median.
    pub read_spread: Option<f64>,
    /// Bandwidth of large sequential reads ÷ that of those random reads.
    pub sequential_gain: Option<f64>,
    /// Random reads per second with 16 or more at a time ÷ with one.
    pub depth_gain: Option<f64>,
    /// Median latency in nanoseconds of a durable write.
    pub durable_ns: Option<f64>,
    /// Random writes per second ÷ random reads per second, one at a time.
    pub write_gain: Option<f64>,
    /// Bandwidth of large sequential reads, in bytes per second.
    pub sequential_rate: Option<f64>,
}

/// How many traits there are.
pub(crate) const TRAITS: usize = 7;

impl StorageTraits {
    /// All of them, in the order of `Range`s.
    pub fn values(&self) -> [Option<f64>; TRAITS] {
        [
            self.random_read_ns,
            self.read_spread,
            self.sequential_gain,
            self.depth_gain,
            self.durable_ns,
            self.write_gain,
            self.sequential_rate,
        ]
    }
}

type Range = (f64, f64);

const US: f64 = 1e3;
const MS: f64 = 1e6;
const MB: f64 = 1e6;

/// The ranges of each kind, in the order of [`StorageTraits`]. Their sources:
///
/// * Spinning disks: 75 to 180 random reads per second, 15k drives 210 (half a turn and a seek: 4.2 + 8.5 ms at 7200
///   rpm by the data sheets); 80 to 290 MB/s; NCQ gains two to three times at depth 32.
/// * SD cards: the SD Association's application classes ask for 1500 reads and 500 writes per second (A1), 4000 and 2000
///   (A2, with queue and cache); UHS-I carries 104 MB/s at most, UHS-II 312.
/// * SATA flash: 8000 to 14000 reads per second at depth 1 and 90000 to 100000 at 32 by the data sheets; the link ends at 560 MB/s. A
///   durable write costs 0.5 to 5 ms, with capacitors 30 to 100 µs.
/// * NVMe flash: 10000 to 22000 reads per second at depth 1 (TLC; 100000 with 3D XPoint: 10 µs), 1 to 14.5 GB/s.
/// * USB sticks: 15 to 420 MB/s, 1000 to 4000 random reads per second, and writes of 4 KiB as slow as 2 to 100 per second,
///   one at a time, because most have no mapping below an erase block. They have no queue.
/// * Network: a round trip of 0.1 to 0.5 ms and the server; cloud volumes promise below 1 ms (general purpose SSD) to
///   some ms, and scale with depth as far as they are paid for; 1 to 25 Gb/s.
/// * Memory: a copy of 4 KiB and a system call, 0.5 to 10 µs; behind a loop device or a hypervisor with the host's
///   page cache 10 to 60 µs; bandwidths that few single disks have.
#[rustfmt::skip]
const KINDS: [(StorageKind, [Range; TRAITS]); 7] = [
    (StorageKind::SpinningDisk, [(4.5 * MS, 20.0 * MS), (1.4, 5.0), (80.0, 700.0), (1.2, 4.0), (4.0 * MS, 60.0 * MS), (0.6, 4.0), (70.0 * MB, 290.0 * MB)]),
    (StorageKind::SdCard, [(250.0 * US, 2.5 * MS), (1.1, 10.0), (4.0, 50.0), (0.95, 2.0), (2.0 * MS, 80.0 * MS), (0.05, 0.7), (10.0 * MB, 100.0 * MB)]),
    (StorageKind::SataFlash, [(60.0 * US, 180.0 * US), (1.05, 5.0), (7.0, 25.0), (4.0, 13.0), (40.0 * US, 6.0 * MS), (0.8, 5.0), (230.0 * MB, 570.0 * MB)]),
    (StorageKind::NvmeFlash, [(9.0 * US, 130.0 * US), (1.05, 5.0), (8.0, 200.0), (6.0, 32.0), (12.0 * US, 4.0 * MS), (1.0, 8.0), (800.0 * MB, 14.5e9)]),
    (StorageKind::UsbStick, [(250.0 * US, 2.0 * MS), (1.1, 20.0), (5.0, 150.0), (0.95, 1.4), (3.0 * MS, 500.0 * MS), (0.001, 0.25), (15.0 * MB, 420.0 * MB)]),
    (StorageKind::Network, [(150.0 * US, 3.0 * MS), (1.3, 20.0), (8.0, 200.0), (4.0, 32.0), (300.0 * US, 15.0 * MS), (0.3, 2.0), (20.0 * MB, 1.25e9)]),
    (StorageKind::Memory, [(0.3 * US, 60.0 * US), (1.0, 10.0), (2.0, 40.0), (0.9, 8.0), (0.5 * US, 120.0 * US), (0.5, 1.5), (1000.0 * MB, 30e9)]),
];

/// Standard deviation of a trait's logarithm outside its range.
const TAIL: f64 = 0.3;
/// Logarithm of the lowest likelihood that one trait can give.
const WORST: f64 = -9.0;
/// Share of each trait's evidence that counts.
const TEMPER: f64 = 0.8;
/// Fewer traits than this give no verdict.
const FEWEST: usize = 3;
/// What is less probable is not told.
const LEAST_TOLD: f64 = 0.8;
/// A kind that fits worse than this, on average over the traits, does not fit.
const POOR: f64 = -5.0;

/// The result of a classification.
#[derive(Clone, Debug, PartialEq)]
pub struct KindVerdict {
    /// All kinds with their probabilities, the likeliest first.
    pub kinds: Vec<(StorageKind, f64)>,
    /// How many traits it rests on.
    pub traits: usize,
    /// For each trait its support for the first kind over the others, as a log likelihood ratio.
    pub weights: [f64; TRAITS],
}

impl KindVerdict {
    /// The certainty in a word; nothing where it is no more than a guess.
    pub fn sureness(&self) -> Option<&'static str> {
        match (self.kinds[0].1, self.traits) {
            (p, 4..) if p >= 0.95 => Some("surely"),
            (p, _) if p >= LEAST_TOLD => Some("probably"),
            _ => None,
        }
    }
}

impl StorageKind {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::SpinningDisk => "a spinning disk",
            Self::SdCard => "an SD card",
            Self::SataFlash => "SATA flash",
            Self::NvmeFlash => "NVMe flash",
            Self::UsbStick => "a USB flash stick",
            Self::Network => "storage over a network",
            Self::Memory => "memory, or a disk in the cache of its host",
        }
    }

    /// The range of each trait.
    pub fn ranges(self) -> &'static [Range; TRAITS] {
        let row = KINDS.iter().find(|(kind, _)| *kind == self);
        &row.unwrap_or(&KINDS[0]).1
    }
}

/// Logarithm of the density of one trait of one kind.
fn likelihood(value: f64, (low, high): Range) -> f64 {
    let (x, low, high) = (value.portable_ln(), low.portable_ln(), high.portable_ln());
    let outside = (low - x).max(x - high).max(0.0);
    let width = high - low + TAIL * std::f64::consts::TAU.sqrt();
    (-width.portable_ln() - outside.powi(2) / (2.0 * TAIL * TAIL)).max(WORST)
}

/// The kind of storage with these traits. `None` without the latency of random reads and two more traits, or if no kind
/// fits.
pub fn classify_storage(traits: &StorageTraits) -> Option<KindVerdict> {
    traits.random_read_ns?;
    let values = traits.values().map(|v| v.filter(|v| v.is_finite() && *v > 0.0));
    let count = values.iter().flatten().count();
    if count < FEWEST {
        return None;
    }
    let of = |ranges: &[Range; TRAITS]| -> [f64; TRAITS] {
        std::array::from_fn(|i| values[i].map_or(0.0, |v| likelihood(v, ranges[i])))
    };
    let mut scored: Vec<(StorageKind, [f64; TRAITS], f64)> = KINDS
        .iter()
        .map(|(kind, ranges)| (*kind, of(ranges), TEMPER * of(ranges).iter().sum::<f64>()))
        .collect();
    scored.sort_by(|a, b| b.2.total_cmp(&a.2));
    let best = scored[0].2;
    if best / TEMPER / (count as f64) < POOR {
        return None;
    }
    let total: f64 = scored.iter().map(|(.., score)| (score - best).portable_exp()).sum();
    let kinds: Vec<(StorageKind, f64)> =
        scored.iter().map(|(kind, _, s)| (*kind, (s - best).portable_exp() / total)).collect();
    // The mean over the other kinds, weighted by their probability plus a small constant.
    let weights = std::array::from_fn(|i| {
        let others = scored.iter().zip(&kinds).skip(1);
        let (sum, weight) = others.fold((0.0, 0.0), |(sum, weight), ((_, other, _), (_, p))| {
            (sum + (p + 0.01) * (scored[0].1[i] - other[i]), weight + p + 0.01)
        });
        sum / weight
    });
    Some(KindVerdict { kinds, traits: count, weights })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traits_between_two_kinds_say_nothing() {
        // Without writes and queue a card and a stick are alike.
        let alike = StorageTraits {
            random_read_ns: Some(600e3),
            read_spread: Some(2.0),
            sequential_gain: Some(12.0),
            ..StorageTraits::default()
        };
        let verdict = classify_storage(&alike).unwrap();
        let xpoint = StorageTraits {
            random_read_ns: Some(11_800.0),
            read_spread: Some(1.2),
            sequential_gain: Some(7.2),
            depth_gain: Some(6.0),
            durable_ns: Some(25e3),
            write_gain: Some(1.0),
            sequential_rate: Some(2.5e9),
        };
        let xpoint = classify_storage(&xpoint).unwrap();
        for between in [&verdict, &xpoint] {
            assert_eq!(between.sureness(), None, "{between:?}");
        }
        assert!((verdict.kinds.iter().map(|(_, p)| p).sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn too_few_or_impossible_traits_give_no_verdict() {
        assert_eq!(
            classify_storage(&StorageTraits { random_read_ns: Some(1e6), ..StorageTraits::default() }),
            None
        );
        let no_reads = StorageTraits {
            read_spread: Some(2.0),
            depth_gain: Some(2.0),
            durable_ns: Some(1e7),
            sequential_rate: Some(1e8),
            ..StorageTraits::default()
        };
        assert_eq!(classify_storage(&no_reads), None);
        let impossible = StorageTraits {
            random_read_ns: Some(60e9),
            sequential_rate: Some(1e3),
            sequential_gain: Some(0.001),
            depth_gain: Some(0.01),
            ..StorageTraits::default()
        };
        assert_eq!(classify_storage(&impossible), None);
    }
}
