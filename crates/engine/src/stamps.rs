//! The effect of stamping whole batches: the same operations stamped both ways.

use model::{Histogram, LatencyRecorder};

/// Latencies of the same operations by two methods of stamping.
#[derive(Clone, Debug, PartialEq)]
pub struct StampComparison {
    /// One stamp for all operations submitted together, one for all that are reaped together.
    pub batch: Histogram,
    /// The clock is read for each operation, just before its submission and when its completion is handled.
    pub each: Histogram,
}

impl StampComparison {
    /// Adds another worker's comparison.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.batch.merge(&other.batch);
        self.each.merge(&other.each);
    }
}

/// A worker's recorder of the comparison.
#[derive(Default)]
pub(crate) struct StampRecorder {
    batch: LatencyRecorder,
    each: LatencyRecorder,
}

impl StampRecorder {
    pub fn record(&mut self, batch_ns: u64, each_ns: u64) {
        self.batch.record(batch_ns);
        self.each.record(each_ns);
    }

    pub fn finish(&self) -> StampComparison {
        StampComparison { batch: self.batch.finish(), each: self.each.finish() }
    }
}
