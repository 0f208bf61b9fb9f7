//! Classifies the kind of storage by a likelihood over a few measured traits.
//!
//! Each kind has a range for each trait, from published figures and data sheets ([`KINDS`]). The density of a trait is
//! uniform within its range on a logarithmic scale, with Gaussian tails outside ([`TAIL`]). So a narrow range that fits
//! weighs more than a wide one, and one odd figure excludes nothing ([`WORST`]). Traits of one device depend on each other,
//! so the sum of their log likelihoods is tempered ([`TEMPER`]) before it becomes a probability, with equal priors for all
//! kinds.

/// A kind of storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    SpinningDisk,
    SdCard,
    SataFlash,
    NvmeFlash,
    UsbStick,
    Network,
    Memory,
}

/// The measured traits that identify a kind of storage. `None` for a trait that was not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Traits {
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

impl Traits {
    /// All of them, in the order of [`Range`]s.
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

/// The ranges of each kind, in the order of [`Traits`]. Their sources:
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
const KINDS: [(Kind, [Range; TRAITS]); 7] = [
    (Kind::SpinningDisk, [(4.5 * MS, 20.0 * MS), (1.4, 5.0), (80.0, 700.0), (1.2, 4.0), (4.0 * MS, 60.0 * MS), (0.6, 4.0), (70.0 * MB, 290.0 * MB)]),
    (Kind::SdCard, [(250.0 * US, 2.5 * MS), (1.1, 10.0), (4.0, 50.0), (0.95, 2.0), (2.0 * MS, 80.0 * MS), (0.05, 0.7), (10.0 * MB, 100.0 * MB)]),
    (Kind::SataFlash, [(60.0 * US, 180.0 * US), (1.05, 5.0), (7.0, 25.0), (4.0, 13.0), (40.0 * US, 6.0 * MS), (0.8, 5.0), (230.0 * MB, 570.0 * MB)]),
    (Kind::NvmeFlash, [(9.0 * US, 130.0 * US), (1.05, 5.0), (8.0, 200.0), (6.0, 32.0), (12.0 * US, 4.0 * MS), (1.0, 8.0), (800.0 * MB, 14.5e9)]),
    (Kind::UsbStick, [(250.0 * US, 2.0 * MS), (1.1, 20.0), (5.0, 150.0), (0.95, 1.4), (3.0 * MS, 500.0 * MS), (0.001, 0.25), (15.0 * MB, 420.0 * MB)]),
    (Kind::Network, [(150.0 * US, 3.0 * MS), (1.3, 20.0), (8.0, 200.0), (4.0, 32.0), (300.0 * US, 15.0 * MS), (0.3, 2.0), (20.0 * MB, 1.25e9)]),
    (Kind::Memory, [(0.3 * US, 60.0 * US), (1.0, 10.0), (2.0, 40.0), (0.9, 8.0), (0.5 * US, 120.0 * US), (0.5, 1.5), (1000.0 * MB, 30e9)]),
];

/// Standard deviation of a trait's logarithm outside its range.
const TAIL: f64 = 0.3;
/// Logarithm of the lowest likelihood that one trait can give.
const WORST: f64 = -9.0;
/// Share of each trait's evidence that counts.
const TEMPER: f64 = 0.7;
/// Fewer traits than this give no verdict.
const FEWEST: usize = 3;
/// A kind that fits worse than this, on average over the traits, does not fit.
const POOR: f64 = -5.0;

/// The result of a classification.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verdict {
    /// All kinds with their probabilities, the likeliest first.
    pub kinds: Vec<(Kind, f64)>,
    /// How many traits it rests on.
    pub traits: usize,
    /// For each trait its support for the first kind over the others, as a log likelihood ratio.
    pub weights: [f64; TRAITS],
}

impl Verdict {
    /// The certainty in a word.
    pub fn sureness(&self) -> &'static str {
        match (self.kinds[0].1, self.traits) {
            (p, 4..) if p >= 0.95 => "surely",
            (p, _) if p >= 0.75 => "probably",
            _ => "perhaps",
        }
    }

    /// The likeliest kind and those that come close.
    pub fn candidates(&self) -> Vec<(Kind, f64)> {
        let best = self.kinds[0].1;
        self.kinds.iter().copied().filter(|(_, p)| *p == best || *p >= 0.15 && *p >= best / 4.0).collect()
    }
}

impl Kind {
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
    let (x, low, high) = (value.ln(), low.ln(), high.ln());
    let outside = (low - x).max(x - high).max(0.0);
    let width = high - low + TAIL * std::f64::consts::TAU.sqrt();
    (-width.ln() - outside.powi(2) / (2.0 * TAIL * TAIL)).max(WORST)
}

/// The kind of storage with these traits. `None` without the latency of random reads and two more traits, or if no kind
/// fits.
pub(crate) fn classify(traits: &Traits) -> Option<Verdict> {
    traits.random_read_ns?;
    let values = traits.values().map(|v| v.filter(|v| v.is_finite() && *v > 0.0));
    let count = values.iter().flatten().count();
    if count < FEWEST {
        return None;
    }
    let of = |ranges: &[Range; TRAITS]| -> [f64; TRAITS] {
        std::array::from_fn(|i| values[i].map_or(0.0, |v| likelihood(v, ranges[i])))
    };
    let mut scored: Vec<(Kind, [f64; TRAITS], f64)> = KINDS
        .iter()
        .map(|(kind, ranges)| (*kind, of(ranges), TEMPER * of(ranges).iter().sum::<f64>()))
        .collect();
    scored.sort_by(|a, b| b.2.total_cmp(&a.2));
    let best = scored[0].2;
    if best / TEMPER / (count as f64) < POOR {
        return None;
    }
    let total: f64 = scored.iter().map(|(.., score)| (score - best).exp()).sum();
    let kinds: Vec<(Kind, f64)> =
        scored.iter().map(|(kind, _, s)| (*kind, (s - best).exp() / total)).collect();
    // The mean over the other kinds, weighted by their probability plus a small constant.
    let weights = std::array::from_fn(|i| {
        let others = scored.iter().zip(&kinds).skip(1);
        let (sum, weight) = others.fold((0.0, 0.0), |(sum, weight), ((_, other, _), (_, p))| {
            (sum + (p + 0.01) * (scored[0].1[i] - other[i]), weight + p + 0.01)
        });
        sum / weight
    });
    Some(Verdict { kinds, traits: count, weights })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Traits in the units of data sheets: reads per second at depth 1, spread, MB/s sequential, gain at depth 32, ms of a
    /// durable write, writes per second at depth 1; 0 for what is not known.
    fn traits(reads: f64, spread: f64, sequential: f64, gain: f64, durable_ms: f64, writes: f64) -> Traits {
        let known = |v: f64| (v > 0.0).then_some(v);
        Traits {
            random_read_ns: Some(1e9 / reads),
            read_spread: known(spread),
            sequential_gain: known(sequential * 1e6 / (reads * 4096.0)),
            depth_gain: known(gain),
            durable_ns: known(durable_ms * 1e6),
            write_gain: known(writes / reads),
            sequential_rate: known(sequential * 1e6),
        }
    }

    #[test]
    fn published_figures_are_classified_correctly() {
        let cases = [
            ("7200 rpm desktop disk", traits(78.0, 2.0, 180.0, 2.2, 16.0, 150.0), Kind::SpinningDisk),
            ("5400 rpm notebook disk", traits(60.0, 2.2, 110.0, 1.8, 25.0, 90.0), Kind::SpinningDisk),
            ("15k SAS disk", traits(180.0, 2.0, 200.0, 2.5, 5.0, 250.0), Kind::SpinningDisk),
            (
                "a throttled volume on disks, no syncs",
                traits(100.0, 1.6, 90.0, 0.0, 0.0, 0.0),
                Kind::SpinningDisk,
            ),
            ("A1 card by its class", traits(1500.0, 2.0, 90.0, 1.0, 10.0, 500.0), Kind::SdCard),
            ("A2 card without command queue", traits(2500.0, 2.0, 90.0, 1.1, 6.0, 800.0), Kind::SdCard),
            ("SATA SSD, TLC", traits(10_000.0, 1.6, 540.0, 9.0, 1.5, 24_000.0), Kind::SataFlash),
            ("SATA SSD, older", traits(7000.0, 2.0, 480.0, 10.0, 3.0, 15_000.0), Kind::SataFlash),
            ("NVMe gen 3, TLC", traits(14_000.0, 1.5, 3400.0, 20.0, 1.2, 45_000.0), Kind::NvmeFlash),
            ("NVMe gen 4, TLC", traits(20_000.0, 1.5, 7000.0, 24.0, 0.9, 60_000.0), Kind::NvmeFlash),
            ("USB 3 stick", traits(1800.0, 3.0, 150.0, 1.0, 40.0, 20.0), Kind::UsbStick),
            ("USB 2 stick", traits(900.0, 3.0, 30.0, 1.0, 80.0, 4.0), Kind::UsbStick),
            (
                "iSCSI on gigabit Ethernet, cached",
                traits(2500.0, 2.0, 112.0, 8.0, 1.2, 2200.0),
                Kind::Network,
            ),
            (
                "cloud volume, general purpose SSD",
                traits(1600.0, 2.5, 125.0, 16.0, 1.5, 1200.0),
                Kind::Network,
            ),
            ("tmpfs", traits(600_000.0, 2.0, 6000.0, 1.2, 0.003, 450_000.0), Kind::Memory),
            (
                "loop device in the page cache",
                traits(60_000.0, 2.0, 2500.0, 3.0, 0.03, 50_000.0),
                Kind::Memory,
            ),
        ];
        for (name, traits, kind) in cases {
            let verdict = classify(&traits).unwrap_or_else(|| panic!("{name}: nothing fits"));
            assert_eq!(verdict.kinds[0].0, kind, "{name}: {verdict:?}");
            assert_ne!(verdict.sureness(), "perhaps", "{name}: {verdict:?}");
        }
    }

    #[test]
    fn traits_between_two_kinds_name_both() {
        // Without writes and queue a card and a stick are alike.
        let alike = Traits {
            random_read_ns: Some(600e3),
            read_spread: Some(2.0),
            sequential_gain: Some(12.0),
            ..Traits::default()
        };
        let verdict = classify(&alike).unwrap();
        let xpoint = classify(&traits(85_000.0, 1.2, 2500.0, 6.0, 0.025, 85_000.0)).unwrap();
        let of = |v: &Verdict| v.candidates().into_iter().map(|(kind, _)| kind).collect::<Vec<Kind>>();
        assert!(of(&xpoint).contains(&Kind::NvmeFlash) && of(&xpoint).contains(&Kind::Memory), "{xpoint:?}");
        let names = of(&verdict);
        assert!(names.contains(&Kind::SdCard) && names.len() >= 2, "{verdict:?}");
        assert_eq!(verdict.sureness(), "perhaps");
        assert!((verdict.kinds.iter().map(|(_, p)| p).sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn too_few_or_impossible_traits_give_no_verdict() {
        assert_eq!(classify(&Traits { random_read_ns: Some(1e6), ..Traits::default() }), None);
        let no_reads = Traits { random_read_ns: None, ..traits(100.0, 2.0, 100.0, 2.0, 10.0, 100.0) };
        assert_eq!(classify(&no_reads), None);
        let impossible = Traits {
            random_read_ns: Some(60e9),
            sequential_rate: Some(1e3),
            sequential_gain: Some(0.001),
            depth_gain: Some(0.01),
            ..Traits::default()
        };
        assert_eq!(classify(&impossible), None);
    }
}
