//! What stamping whole batches does to the figures: the same operations stamped both ways.

use model::{Histogram, LatencyRecorder};

/// Latencies of the same operations by two ways of stamping.
#[derive(Clone, Debug, PartialEq)]
pub struct StampComparison {
    /// One stamp for all that is submitted together, one for all that is reaped together.
    pub batch: Histogram,
    /// The clock read for each operation, when it is about to be handed over and when its completion is handled.
    pub each: Histogram,
}

impl StampComparison {
    /// Adds another worker's.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.batch.merge(&other.batch);
        self.each.merge(&other.each);
    }
}

/// A worker's side of it.
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
