//! Latency histograms: log-linear, mergeable, never clamped.
//!
//! Values below 128 ns have a bucket each; every power of two above is cut into 128 equal buckets,
//! so a bucket is at most 1/128 of its value wide and its middle is at most 1/256 away from any
//! value in it. All of `u64` is covered: 7424 buckets. Minimum, maximum, count and sum are exact.
//!
//! Two types share this layout. [`LatencyRecorder`] is dense and is what a worker writes to;
//! [`Histogram`] keeps only the occupied buckets and is what is stored, merged and asked.

use integer_encoding::VarInt;
use serde::{Deserialize, Serialize};

/// Linear sub-buckets per power of two.
const PER_OCTAVE: u64 = 128;
const PER_OCTAVE_LOG2: u32 = PER_OCTAVE.trailing_zeros();

/// Below this latency, 16 ms, [`Histogram::coarse`] has fewer buckets.
pub const COARSE_BELOW_NS: u64 = 1 << 24;

/// Number of buckets that cover every `u64` nanosecond value.
pub const BUCKETS: usize = ((64 - PER_OCTAVE_LOG2 as usize) + 1) * PER_OCTAVE as usize;

/// Index of the bucket that holds `ns`; always below [`BUCKETS`].
#[inline]
pub fn bucket_of(ns: u64) -> usize {
    if ns < PER_OCTAVE {
        return ns as usize;
    }
    let exponent = 63 - ns.leading_zeros();
    let shift = exponent - PER_OCTAVE_LOG2;
    ((u64::from(shift) << PER_OCTAVE_LOG2) + (ns >> shift)) as usize
}

/// Smallest and largest value, in nanoseconds, that fall into bucket `index`.
///
/// # Panics
/// If `index` is not below [`BUCKETS`].
pub fn bucket_bounds(index: usize) -> (u64, u64) {
    assert!(index < BUCKETS, "bucket {index} of {BUCKETS}");
    let index = index as u64;
    if index < 2 * PER_OCTAVE {
        return (index, index);
    }
    let shift = (index >> PER_OCTAVE_LOG2) - 1;
    let mantissa = PER_OCTAVE + (index & (PER_OCTAVE - 1));
    let low = mantissa << shift;
    (low, low + ((1 << shift) - 1))
}

/// Middle of bucket `index` in nanoseconds, rounded down.
fn bucket_middle(index: usize) -> u64 {
    let (low, high) = bucket_bounds(index);
    low + (high - low) / 2
}

/// The dense histogram that a worker records into: no allocation after [`LatencyRecorder::new`].
#[derive(Clone)]
pub struct LatencyRecorder {
    counts: Box<[u64]>,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

impl Default for LatencyRecorder {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyRecorder {
    /// An empty recorder. Its 58 KiB are untouched zero pages until values arrive.
    pub fn new() -> Self {
        Self { counts: vec![0; BUCKETS].into_boxed_slice(), sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }

    /// Counts one latency of `ns` nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.counts[bucket_of(ns)] += 1;
        self.sum_ns = self.sum_ns.wrapping_add(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Counts `times` latencies of `ns` nanoseconds each.
    #[inline]
    pub fn record_many(&mut self, ns: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.counts[bucket_of(ns)] += times;
        self.sum_ns = self.sum_ns.wrapping_add(ns.wrapping_mul(times));
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// True if nothing was recorded since creation or the last [`LatencyRecorder::clear`].
    pub fn is_empty(&self) -> bool {
        self.min_ns == u64::MAX && self.max_ns == 0
    }

    fn occupied(&self) -> std::ops::Range<usize> {
        if self.is_empty() { 0..0 } else { bucket_of(self.min_ns)..bucket_of(self.max_ns) + 1 }
    }

    /// Adds everything that `other` holds to this recorder.
    pub fn merge(&mut self, other: &Self) {
        let range = other.occupied();
        for (mine, theirs) in self.counts[range.clone()].iter_mut().zip(&other.counts[range]) {
            *mine += theirs;
        }
        self.sum_ns = self.sum_ns.wrapping_add(other.sum_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Forgets everything; touches only the buckets that were used.
    pub fn clear(&mut self) {
        let range = self.occupied();
        self.counts[range].fill(0);
        self.sum_ns = 0;
        self.min_ns = u64::MAX;
        self.max_ns = 0;
    }

    /// The recorded values as a [`Histogram`].
    pub fn finish(&self) -> Histogram {
        let range = self.occupied();
        let start = range.start;
        let counts = &self.counts[range];
        let occupied = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let buckets = Buckets::collect(occupied.map(|(i, &count)| (start + i, count)));
        let count: u64 = counts.iter().sum();
        if count == 0 {
            return Histogram::default();
        }
        Histogram { count, sum_ns: self.sum_ns, min_ns: self.min_ns, max_ns: self.max_ns, buckets }
    }
}

/// Occupied buckets and how many values each holds, in rising order of their index: for each the gap from the one
/// before and the count, as variable-length integers. A run of hours has millions of them in memory, and most take
/// two bytes so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Buckets(Box<[u8]>);

impl Buckets {
    /// From `(index, count)` in rising order of index.
    fn collect(buckets: impl Iterator<Item = (usize, u64)>) -> Self {
        let (mut bytes, mut room, mut next) = (Vec::new(), [0; 2 * LONGEST], 0);
        for (index, count) in buckets {
            let gap = index - next;
            if let (gap @ ..128, count @ ..128) = (gap, count) {
                bytes.extend([gap as u8, count as u8]);
            } else {
                let length = gap.encode_var(&mut room);
                let both = length + count.encode_var(&mut room[length..]);
                bytes.extend_from_slice(&room[..both]);
            }
            next = index + 1;
        }
        Self(bytes.into_boxed_slice())
    }

    /// `(index, count)` in rising order of index.
    fn iter(&self) -> impl Iterator<Item = (usize, u64)> {
        let (mut rest, mut next) = (&*self.0, 0);
        std::iter::from_fn(move || {
            // Most are so small that each is a byte.
            let (gap, count, length) = match rest {
                [gap @ ..128, count @ ..128, ..] => (usize::from(*gap), u64::from(*count), 2),
                _ => {
                    let (gap, length) = usize::decode_var(rest)?;
                    let (count, more) = u64::decode_var(&rest[length..])?;
                    (gap, count, length + more)
                }
            };
            let index = next + gap;
            (rest, next) = (&rest[length..], index + 1);
            Some((index, count))
        })
    }

    /// Those of both, with the counts of the same bucket added.
    fn merged(&self, other: &Self) -> Self {
        let (mut mine, mut theirs) = (self.iter().peekable(), other.iter().peekable());
        Self::collect(std::iter::from_fn(|| match (mine.peek().copied(), theirs.peek().copied()) {
            (Some((a, n)), Some((b, m))) if a == b => {
                mine.next();
                theirs.next();
                Some((a, n.saturating_add(m)))
            }
            (Some((a, _)), Some((b, _))) if a > b => theirs.next(),
            (None, _) => theirs.next(),
            _ => mine.next(),
        }))
    }
}

/// Bytes of the longest variable-length integer of 64 bits.
const LONGEST: usize = 10;

/// A finished distribution of latencies in nanoseconds, by the buckets of [`bucket_bounds`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Packed", into = "Packed")]
pub struct Histogram {
    count: u64,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
    buckets: Buckets,
}

/// Why stored buckets are not a histogram.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum HistogramError {
    /// The list must alternate between the gap to the next bucket and that bucket's count.
    #[error("the histogram has an odd number of entries; they alternate between gap and count")]
    OddLength,
    /// A gap leads past the last bucket.
    #[error("the histogram names bucket {0}; there are {BUCKETS}")]
    OutOfRange(u64),
    /// A count of zero, or counts whose sum does not fit 64 bits.
    #[error("the histogram's counts are not positive or do not fit 64 bits")]
    BadCount,
    /// Minimum or maximum do not lie in the first and the last occupied bucket.
    #[error("the histogram's minimum {min_ns} or maximum {max_ns} is not in its outer buckets")]
    BadBounds {
        /// The stated minimum in nanoseconds.
        min_ns: u64,
        /// The stated maximum in nanoseconds.
        max_ns: u64,
    },
}

impl Histogram {
    /// Number of recorded values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of all values in nanoseconds (modulo 2^64, which is 584 years).
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// Smallest value in nanoseconds, exact; `None` when empty.
    pub fn min_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min_ns)
    }

    /// Largest value in nanoseconds, exact; `None` when empty.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_ns)
    }

    /// Arithmetic mean in nanoseconds, exact up to floating point; `None` when empty.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// Standard deviation in nanoseconds, of values in the middle of their buckets (each at most 1/256 off); `None` when empty.
    pub fn stddev_ns(&self) -> Option<f64> {
        let mean = self.mean_ns()?;
        let squares = self.buckets.iter().map(|(index, count)| {
            let middle = bucket_middle(index).clamp(self.min_ns, self.max_ns) as f64;
            count as f64 * (middle - mean).powi(2)
        });
        Some((squares.sum::<f64>() / self.count as f64).sqrt())
    }

    /// True if no value was recorded.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Occupied buckets as `(smallest value, largest value, count)`, ascending, in nanoseconds.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.buckets.iter().map(|(index, count)| {
            let (low, high) = bucket_bounds(index);
            (low, high, count)
        })
    }

    /// The value in nanoseconds below or at which `percent` % of the values lie.
    ///
    /// Nearest rank: the value of rank `ceil(percent/100 · count)`, represented by the middle of
    /// its bucket (at most 1/256 off) and never outside `[min, max]`; the first and the last rank
    /// are exact. `None` when empty.
    ///
    /// # Panics
    /// If `percent` is not within 0 to 100.
    pub fn percentile_ns(&self, percent: f64) -> Option<u64> {
        assert!((0.0..=100.0).contains(&percent), "percentile {percent}");
        if self.count == 0 {
            return None;
        }
        // The product is nudged down so that 99 % of 100 values is rank 99 and not, by a rounding
        // error of binary fractions, rank 100.
        let exact = percent / 100.0 * self.count as f64;
        let rank = ((exact - exact * 4.0 * f64::EPSILON).ceil() as u64).clamp(1, self.count);
        if rank == 1 {
            return Some(self.min_ns);
        }
        if rank == self.count {
            return Some(self.max_ns);
        }
        let mut seen = 0;
        for (index, count) in self.buckets.iter() {
            seen += count;
            if seen >= rank {
                return Some(bucket_middle(index).clamp(self.min_ns, self.max_ns));
            }
        }
        Some(self.max_ns)
    }

    /// A share of it, from 0 to 1, with the same distribution as far as whole counts allow.
    pub fn share(&self, share: f64) -> Self {
        let (mut seen, mut kept) = (0u64, 0u64);
        let mut of_bucket = |(index, count): (usize, u64)| {
            seen = seen.saturating_add(count);
            let now = ((seen as f64 * share).round() as u64).min(seen);
            let part = now.saturating_sub(kept);
            kept = kept.max(now);
            (part > 0).then_some((index, part))
        };
        let buckets: Vec<(usize, u64)> = self.buckets.iter().filter_map(&mut of_bucket).collect();
        let (Some((first, _)), Some((last, _))) = (buckets.first().copied(), buckets.last().copied()) else {
            return Self::default();
        };
        // The extremes are kept as far as their buckets are.
        let within = |index: usize, ns: u64| {
            let (low, high) = bucket_bounds(index);
            ns.clamp(low, high)
        };
        Self {
            count: kept,
            sum_ns: (self.sum_ns as f64 * (kept as f64 / self.count as f64)).round() as u64,
            min_ns: within(first, self.min_ns),
            max_ns: within(last, self.max_ns),
            buckets: Buckets::collect(buckets.into_iter()),
        }
    }

    /// The same values in fewer buckets, up to [`COARSE_BELOW_NS`]: eight for each power of two, so that a value is at most
    /// 1/8 off. Count, sum, minimum and maximum stay exact, and so do the buckets above, where stalls are.
    pub fn coarse(&self) -> Self {
        let mut groups: Vec<(usize, u64)> = Vec::new();
        let (mut group, mut lowest) = (None, 0);
        let outer = [self.min_ns, self.max_ns].map(bucket_of);
        for (index, count) in self.buckets.iter() {
            let is_kept = outer.contains(&index) || bucket_bounds(index).1 >= COARSE_BELOW_NS;
            let own = (!is_kept).then_some(index as u64 * 8 / PER_OCTAVE);
            match groups.last_mut() {
                Some(last) if own.is_some() && own == group => {
                    *last = (usize::midpoint(lowest, index), last.1 + count);
                }
                _ => {
                    groups.push((index, count));
                    lowest = index;
                }
            }
            group = own;
        }
        Self { buckets: Buckets::collect(groups.into_iter()), ..*self }
    }

    /// Adds everything that `other` holds. Merging halves gives the histogram of the whole.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            self.clone_from(other);
            return;
        }
        self.buckets = self.buckets.merged(&other.buckets);
        self.count = self.count.saturating_add(other.count);
        self.sum_ns = self.sum_ns.wrapping_add(other.sum_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// How a histogram is stored: `b` alternates between the gap from the previous occupied bucket's
/// index (from -1 for the first) and the count of values.
#[derive(Serialize, Deserialize)]
struct Packed {
    min: u64,
    max: u64,
    sum: u64,
    b: Vec<u64>,
}

impl From<Histogram> for Packed {
    fn from(histogram: Histogram) -> Self {
        let (mut b, mut next) = (Vec::new(), 0);
        for (index, count) in histogram.buckets.iter() {
            b.extend([(index - next) as u64, count]);
            next = index + 1;
        }
        Self { min: histogram.min_ns, max: histogram.max_ns, sum: histogram.sum_ns, b }
    }
}

impl TryFrom<Packed> for Histogram {
    type Error = HistogramError;

    fn try_from(packed: Packed) -> Result<Self, HistogramError> {
        if !packed.b.len().is_multiple_of(2) {
            return Err(HistogramError::OddLength);
        }
        let mut buckets = Vec::with_capacity(packed.b.len() / 2);
        let (mut next, mut total) = (0u64, 0u64);
        for pair in packed.b.chunks_exact(2) {
            let index = next.checked_add(pair[0]).filter(|i| *i < BUCKETS as u64);
            let index = index.ok_or(HistogramError::OutOfRange(pair[0]))?;
            if pair[1] == 0 {
                return Err(HistogramError::BadCount);
            }
            total = total.checked_add(pair[1]).ok_or(HistogramError::BadCount)?;
            buckets.push((index as usize, pair[1]));
            next = index + 1;
        }
        let (Some(first), Some(last)) = (buckets.first(), buckets.last()) else {
            return Ok(Self::default());
        };
        let in_outer = bucket_of(packed.min) == first.0 && bucket_of(packed.max) == last.0;
        if !in_outer || packed.min > packed.max {
            return Err(HistogramError::BadBounds { min_ns: packed.min, max_ns: packed.max });
        }
        let buckets = Buckets::collect(buckets.into_iter());
        Ok(Self { count: total, sum_ns: packed.sum, min_ns: packed.min, max_ns: packed.max, buckets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram_of(values: &[u64]) -> Histogram {
        let mut recorder = LatencyRecorder::new();
        values.iter().for_each(|v| recorder.record(*v));
        recorder.finish()
    }

    /// Values spread over all magnitudes, not only the huge ones a uniform `u64` would give.
    fn latencies() -> impl Strategy<Value = u64> {
        (0u32..64, any::<u64>()).prop_map(|(bits, v)| v >> bits)
    }

    #[test]
    fn buckets_tile_all_of_u64() {
        let mut expected_low = 0u64;
        for index in 0..BUCKETS {
            let (low, high) = bucket_bounds(index);
            assert_eq!(low, expected_low);
            assert_eq!((bucket_of(low), bucket_of(high)), (index, index));
            expected_low = high.wrapping_add(1);
        }
        assert_eq!(expected_low, 0, "the last bucket ends at u64::MAX");
    }

    #[test]
    fn percentiles_of_one_to_hundred_are_the_nearest_ranks() {
        let histogram = histogram_of(&(1..=100).collect::<Vec<_>>());
        for percent in 1..=100 {
            assert_eq!(histogram.percentile_ns(f64::from(percent)), Some(u64::from(percent as u32)));
        }
        assert_eq!(histogram.percentile_ns(0.0), Some(1));
        assert_eq!(histogram.mean_ns(), Some(50.5));
        // Of the numbers from 1 to n it is √((n² − 1) / 12).
        let deviation = histogram.stddev_ns().unwrap();
        assert!((deviation - (9_999.0_f64 / 12.0).sqrt()).abs() < 0.01, "{deviation}");
    }

    #[test]
    fn a_percentile_never_exceeds_the_maximum() {
        // fio prints p99.9 = 7504 µs beside max = 7499 µs: the bucket's middle lies above the value.
        let histogram = histogram_of(&[7_499_000; 3]);
        assert_eq!(histogram.percentile_ns(99.9), Some(7_499_000));
        assert_eq!(histogram.percentile_ns(50.0), Some(7_499_000));
    }

    #[test]
    fn an_empty_histogram_has_no_figures() {
        let empty = LatencyRecorder::new().finish();
        assert_eq!((empty.count(), empty.min_ns(), empty.max_ns()), (0, None, None));
        assert_eq!((empty.mean_ns(), empty.percentile_ns(50.0)), (None, None));
    }

    #[test]
    fn a_zero_latency_is_a_value_like_any_other() {
        let histogram = histogram_of(&[0]);
        assert_eq!((histogram.count(), histogram.min_ns(), histogram.max_ns()), (1, Some(0), Some(0)));
    }

    #[test]
    fn stored_nonsense_is_refused() {
        for (text, error) in [
            (r#"{"min":1,"max":1,"sum":1,"b":[1]}"#, HistogramError::OddLength),
            (r#"{"min":1,"max":1,"sum":1,"b":[9999,1]}"#, HistogramError::OutOfRange(9999)),
            (r#"{"min":1,"max":1,"sum":1,"b":[1,0]}"#, HistogramError::BadCount),
            (r#"{"min":5,"max":1,"sum":1,"b":[1,1]}"#, HistogramError::BadBounds { min_ns: 5, max_ns: 1 }),
        ] {
            let packed: Packed = serde_json::from_str(text).unwrap();
            assert_eq!(Histogram::try_from(packed).unwrap_err(), error, "{text}");
        }
    }

    proptest! {
        #[test]
        fn error_is_at_most_one_in_128(mut values in prop::collection::vec(latencies(), 1..300), percent in 0.0f64..=100.0) {
            let histogram = histogram_of(&values);
            values.sort_unstable();
            let rank = ((percent / 100.0 * values.len() as f64) * (1.0 - 4.0 * f64::EPSILON)).ceil() as usize;
            let truth = values[rank.clamp(1, values.len()) - 1];
            let told = histogram.percentile_ns(percent).unwrap();
            prop_assert!(told.abs_diff(truth) <= truth / 128, "told {told}, truth {truth}");
            prop_assert!(told <= *values.last().unwrap() && told >= values[0]);
        }

        #[test]
        fn coarse_buckets_keep_what_is_exact_and_what_is_long(values in prop::collection::vec(latencies(), 1..300), percent in 0.0f64..=100.0) {
            let histogram = histogram_of(&values);
            let coarse = histogram.coarse();
            let exact = |h: &Histogram| (h.count(), h.sum_ns(), h.min_ns(), h.max_ns());
            prop_assert_eq!(exact(&coarse), exact(&histogram));
            let long = |h: &Histogram| h.buckets().filter(|b| b.1 >= COARSE_BELOW_NS).collect::<Vec<_>>();
            prop_assert_eq!(long(&coarse), long(&histogram));
            let [told, truth] = [&coarse, &histogram].map(|h| h.percentile_ns(percent).unwrap());
            prop_assert!(told.abs_diff(truth) <= truth.max(128) / 8, "told {told}, was {truth}");
            let of_short = coarse.buckets().filter(|b| b.1 < COARSE_BELOW_NS).count();
            prop_assert!(of_short <= 2 + 8 * (24 - 6), "{of_short} buckets");
            let text = serde_json::to_string(&coarse).unwrap();
            prop_assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), coarse, "stored and read back");
        }

        #[test]
        fn two_merged_halves_equal_the_whole(values in prop::collection::vec(latencies(), 0..300), cut in 0usize..300) {
            let cut = cut.min(values.len());
            let whole = histogram_of(&values);
            let mut sparse = histogram_of(&values[..cut]);
            sparse.merge(&histogram_of(&values[cut..]));
            prop_assert_eq!(&sparse, &whole);

            let (mut left, mut right) = (LatencyRecorder::new(), LatencyRecorder::new());
            values[..cut].iter().for_each(|v| left.record(*v));
            values[cut..].iter().for_each(|v| right.record(*v));
            left.merge(&right);
            prop_assert_eq!(left.finish(), whole);
        }

        #[test]
        fn storing_and_reading_back_changes_nothing(values in prop::collection::vec(latencies(), 0..300)) {
            let histogram = histogram_of(&values);
            let text = serde_json::to_string(&histogram).unwrap();
            prop_assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), histogram);
        }

        #[test]
        fn a_cleared_recorder_is_a_new_one(values in prop::collection::vec(latencies(), 0..100)) {
            let mut recorder = LatencyRecorder::new();
            values.iter().for_each(|v| recorder.record(*v));
            recorder.clear();
            prop_assert!(recorder.is_empty());
            prop_assert!(recorder.counts.iter().all(|c| *c == 0));
            prop_assert_eq!(recorder.finish(), Histogram::default());
        }

        #[test]
        fn recording_many_equals_recording_often(ns in latencies(), times in 0u64..50) {
            let mut many = LatencyRecorder::new();
            many.record_many(ns, times);
            prop_assert_eq!(many.finish(), histogram_of(&vec![ns; times as usize]));
        }
    }
}
