//! What can be done to storage, and what is counted of it.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::Histogram;

/// One kind of operation; each has its own counts and latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Data read.
    Read,
    /// Data written. The latency never includes a later sync.
    Write,
    /// `fsync`, `fdatasync` or `msync`.
    Sync,
    /// Blocks given back to the device (discard) or punched out of a file.
    Trim,
    /// Space of a file reserved (`fallocate`); its bytes are what was reserved.
    Allocate,
    /// A file's length set (`ftruncate`); its bytes are a block for each.
    Truncate,
    /// A write until the sync that covers it has ended, in a workload that syncs every few writes. Its bytes are those
    /// of the write, so it is a view on the same data, not additional traffic.
    DurableWrite,
    /// A file created in a directory, with its initial content and the close.
    Create,
    /// A file looked up, opened, read whole if it has content, and closed.
    Open,
    /// A file's attributes looked up by name.
    Stat,
    /// A file removed.
    Unlink,
    /// Several operations that another program counted as one; only in what was imported.
    Mixed,
}

impl Operation {
    /// All operations, in the order in which they are shown.
    pub const ALL: [Self; 12] = [
        Self::Read,
        Self::Write,
        Self::DurableWrite,
        Self::Sync,
        Self::Trim,
        Self::Allocate,
        Self::Truncate,
        Self::Create,
        Self::Open,
        Self::Stat,
        Self::Unlink,
        Self::Mixed,
    ];

    /// The operation's name in logs, exports and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync => "sync",
            Self::Trim => "trim",
            Self::Allocate => "allocate",
            Self::Truncate => "truncate",
            Self::DurableWrite => "durable_write",
            Self::Create => "create",
            Self::Open => "open",
            Self::Stat => "stat",
            Self::Unlink => "unlink",
            Self::Mixed => "mixed",
        }
    }

    /// True for metadata operations, which use names rather than a file's data.
    pub fn is_metadata(self) -> bool {
        matches!(self, Self::Create | Self::Open | Self::Stat | Self::Unlink)
    }

    /// True for operations whose bytes are the size of what was moved.
    pub fn moves_data(self) -> bool {
        matches!(
            self,
            Self::Read | Self::Write | Self::Trim | Self::DurableWrite | Self::Allocate | Self::Truncate
        )
    }
}

/// Reads counts by errno. The keys of a JSON object are strings, and serde does not parse numbers from them within an
/// internally tagged enum such as an event.
fn by_errno<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<i32, u64>, D::Error> {
    let texts = BTreeMap::<String, u64>::deserialize(deserializer)?;
    let number = |(text, count): (String, u64)| Ok((text.parse().map_err(D::Error::custom)?, count));
    texts.into_iter().map(number).collect()
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Counts and latencies of one operation within some span of time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationStats {
    /// Completions without error, short ones included.
    pub count: u64,
    /// Bytes that these completions moved.
    pub bytes: u64,
    /// Completions that moved fewer bytes than asked, but some.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub short: u64,
    /// Failed completions by errno. They are in no other figure.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "by_errno")]
    pub errors: BTreeMap<i32, u64>,
    /// Wall time in nanoseconds, summed over the workers, that was set aside for this operation.
    /// Only operations that take turns with something else have it, those on names and those before which something is
    /// read; it is the divisor of their rate.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub active_ns: u64,
    /// Time inside the submitting call. Absent where the engine cannot tell it from the operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slat: Option<LatencyTotal>,
    /// From the end of the submitting call to the completion; for a synchronous engine from the
    /// call to its return. Absent where it equals `lat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clat: Option<LatencyTotal>,
    /// From the intended start to the completion, in nanoseconds: the latency that counts.
    pub lat: Histogram,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl OperationStats {
    /// Adds everything that `other` holds.
    pub fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.short = self.short.saturating_add(other.short);
        self.active_ns = self.active_ns.saturating_add(other.active_ns);
        for (&errno, &n) in &other.errors {
            let count = self.errors.entry(errno).or_default();
            *count = count.saturating_add(n);
        }
        for (mine, theirs) in [(&mut self.slat, other.slat), (&mut self.clat, other.clat)] {
            if let Some(theirs) = theirs {
                mine.get_or_insert_default().merge(theirs);
            }
        }
        self.lat.merge(&other.lat);
    }

    /// A share of it, from 0 to 1: as much as fell into that share of its time, if it was even.
    pub fn share(&self, share: f64) -> Self {
        let part = |n: u64| (n as f64 * share).round() as u64;
        let total =
            |total: LatencyTotal| LatencyTotal { count: part(total.count), sum_ns: part(total.sum_ns) };
        Self {
            count: part(self.count),
            bytes: part(self.bytes),
            short: part(self.short),
            // A failure is not divided: none is lost.
            errors: self.errors.clone(),
            active_ns: part(self.active_ns),
            slat: self.slat.map(total),
            clat: self.clat.map(total),
            lat: self.lat.share(share),
        }
    }

    /// Failed completions of all errnos together.
    pub fn error_count(&self) -> u64 {
        self.errors.values().fold(0, |sum, n| sum.saturating_add(*n))
    }
}

/// Latencies of which only the mean is of interest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredTotal")]
pub struct LatencyTotal {
    /// How many.
    pub count: u64,
    /// Their sum in nanoseconds (modulo 2^64).
    #[serde(rename = "sum")]
    pub sum_ns: u64,
}

/// As it is stored: format 2 had the whole distribution.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredTotal {
    Total { count: u64, sum: u64 },
    Histogram(Histogram),
}

impl From<StoredTotal> for LatencyTotal {
    fn from(stored: StoredTotal) -> Self {
        match stored {
            StoredTotal::Total { count, sum } => Self { count, sum_ns: sum },
            StoredTotal::Histogram(histogram) => Self::of(&histogram),
        }
    }
}

impl LatencyTotal {
    /// The total of a distribution.
    pub fn of(histogram: &Histogram) -> Self {
        Self { count: histogram.count(), sum_ns: histogram.sum_ns() }
    }

    /// Counts `times` latencies of `ns` nanoseconds each.
    #[inline]
    pub fn record_many(&mut self, ns: u64, times: u64) {
        self.count += times;
        self.sum_ns = self.sum_ns.wrapping_add(ns.wrapping_mul(times));
    }

    /// Their mean in nanoseconds; `None` if there are none.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    fn merge(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.sum_ns = self.sum_ns.wrapping_add(other.sum_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LatencyRecorder;

    #[test]
    fn operation_names_are_unique_and_as_stored() {
        for operation in Operation::ALL {
            assert_eq!(Operation::ALL.iter().filter(|o| **o == operation).count(), 1);
            let stored = serde_json::to_string(&operation).unwrap();
            assert_eq!(stored, format!("\"{}\"", operation.name()));
        }
    }

    #[test]
    fn merged_stats_are_the_stats_of_both() {
        let stats = |count: u64, errno: i32| {
            let mut recorder = LatencyRecorder::new();
            (0..count).for_each(|i| recorder.record(i));
            OperationStats {
                count,
                bytes: count * 4096,
                short: 1,
                errors: BTreeMap::from([(errno, 2)]),
                active_ns: 7,
                slat: None,
                clat: (errno == 5).then(|| LatencyTotal::of(&recorder.finish())),
                lat: recorder.finish(),
            }
        };
        let mut merged = stats(10, 5);
        merged.merge(&stats(20, 28));
        assert_eq!((merged.count, merged.bytes, merged.short, merged.active_ns), (30, 30 * 4096, 2, 14));
        assert_eq!(merged.errors, BTreeMap::from([(5, 2), (28, 2)]));
        assert_eq!(merged.error_count(), 4);
        assert_eq!(merged.lat.count(), 30);
        assert_eq!(merged.clat.unwrap(), LatencyTotal { count: 10, sum_ns: 45 });
        assert!(merged.slat.is_none());
    }

    #[test]
    fn the_distribution_of_an_older_log_becomes_its_total() {
        let total = LatencyTotal { count: 3, sum_ns: 12 };
        for text in [r#"{"count":3,"sum":12}"#, r#"{"min":3,"max":6,"sum":12,"b":[3,2,2,1]}"#] {
            assert_eq!(serde_json::from_str::<LatencyTotal>(text).unwrap(), total, "{text}");
        }
        assert!(serde_json::from_str::<LatencyTotal>(r#"{"sum":12}"#).is_err());
    }
}
