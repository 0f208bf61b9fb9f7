//! The intervals of a repeat as slices of time; intervals with the same start are summed.

use std::collections::BTreeMap;

use model::{Metric, Operation, OperationStats, Phase, Repeat};

/// The completed operations of one kind in a span of a repeat.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    /// Nanoseconds from the start of the repeat.
    pub start_ns: u64,
    /// Nanoseconds covered.
    pub len_ns: u64,
    pub phase: Phase,
    pub stats: OperationStats,
}

impl Slice {
    /// The slice's value of a metric; `None` where it has none.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        // Operations that alternate have their own time.
        let ns = if self.stats.active_ns > 0 { self.stats.active_ns } else { self.len_ns };
        let per_second = |n: u64| (ns > 0).then(|| n as f64 * 1e9 / ns as f64);
        match metric {
            Metric::Bandwidth => per_second(self.stats.bytes),
            Metric::Iops => per_second(self.stats.count),
            Metric::LatP50 => self.stats.lat.percentile_ns(50.0).map(|ns| ns as f64),
            Metric::LatP99 => self.stats.lat.percentile_ns(99.0).map(|ns| ns as f64),
            _ => None,
        }
    }
}

/// The slices of a repeat in the order of time.
pub(crate) fn slices(repeat: &Repeat, operation: Operation) -> Vec<Slice> {
    let mut found: BTreeMap<u64, Slice> = BTreeMap::new();
    for interval in &repeat.intervals {
        let Some(stats) = interval.operations.get(&operation) else { continue };
        let empty = || Slice {
            start_ns: interval.start_ns,
            len_ns: interval.len_ns,
            phase: interval.phase,
            stats: OperationStats::default(),
        };
        found.entry(interval.start_ns).or_insert_with(empty).stats.merge(stats);
    }
    joined(found.into_values().collect())
}

/// The rest at the end of a repeat, where the last operations complete, is a few operations in almost no time:
/// it belongs to the slice before it.
fn joined(slices: Vec<Slice>) -> Vec<Slice> {
    let mut kept: Vec<Slice> = Vec::new();
    for slice in slices {
        match kept.last_mut() {
            Some(last) if last.phase == slice.phase && slice.len_ns < last.len_ns / 4 => {
                last.len_ns = slice.start_ns.saturating_add(slice.len_ns).saturating_sub(last.start_ns);
                last.stats.merge(&slice.stats);
            }
            _ => kept.push(slice),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_last_interval_is_dropped() {
        let slice = |start_ns, len_ns, phase| Slice {
            start_ns,
            len_ns,
            phase,
            stats: OperationStats { count: 10, ..OperationStats::default() },
        };
        let (ramp, measure) = (Phase::Ramp, Phase::Measure);
        let all = vec![
            slice(0, 100, ramp),
            slice(100, 10, measure),
            slice(110, 100, measure),
            slice(210, 5, measure),
        ];
        let kept: Vec<(u64, u64, u64)> =
            joined(all).iter().map(|s| (s.start_ns, s.len_ns, s.stats.count)).collect();
        assert_eq!(kept, [(0, 100, 10), (100, 10, 10), (110, 105, 20)]);
        assert_eq!(slice(0, 1_000_000_000, measure).value(Metric::Iops), Some(10.0));
    }
}
