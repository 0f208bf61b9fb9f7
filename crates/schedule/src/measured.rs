//! What decides about further repeats, of one repeat.

use std::collections::BTreeMap;

use analyse::{disturbance, exposure, headline, is_required, repeat_values};
use model::{Disturbance, Exposure, Histogram, Metric, Operation, Phase, Plan, Repeat, Step};

/// A figure that verdicts are about: comparisons are about headlines, requirements about any.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchedFigure {
    /// Its operation.
    pub operation: Operation,
    /// Its metric.
    pub metric: Metric,
    /// In the unit of the metric.
    pub value: f64,
    /// For a rate what it was exposed to.
    pub exposure: Option<Exposure>,
    /// For a latency of the operations that Lodestone itself counted, all of them.
    pub latencies: Option<Histogram>,
    /// Comparisons are about it.
    pub is_headline: bool,
}

/// What one repeat has shown, as far as further ones depend on it.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// It ended as planned.
    pub is_complete: bool,
    /// The figures that verdicts are about, headlines first; none if it is not complete.
    pub figures: Vec<WatchedFigure>,
    /// Operations per second; a durable write counts as its write.
    pub per_second: f64,
    /// The rates of the measured intervals, without the last, which may be shorter.
    pub rates: Vec<f64>,
    /// Bytes written, ramp included.
    pub written_bytes: u64,
    /// Bytes of the test data.
    pub size_bytes: u64,
    /// What disturbed it, with the share by which it did.
    pub disturbed: Option<(Disturbance, f64)>,
}

impl Measured {
    /// What a repeat of a step of the plan has shown.
    pub fn of(plan: &Plan, step: &Step, repeat: &Repeat) -> Self {
        let is_complete = repeat.is_complete();
        let values = if is_complete { repeat_values(step, repeat) } else { Vec::new() };
        let figures = values.into_iter().filter_map(|(operation, metric, value)| {
            let is_headline = headline(step, operation) == Some(metric);
            if !is_headline && !is_required(plan, &step.id, operation, metric, false) {
                return None;
            }
            let is_latency = metric.unit() == "ns" && repeat.imported.is_none();
            let latencies = is_latency.then(|| repeat.measured().remove(&operation)).flatten();
            Some(WatchedFigure {
                operation,
                metric,
                value,
                exposure: exposure(step, repeat, operation, metric),
                latencies: latencies.map(|stats| stats.lat),
                is_headline,
            })
        });
        let mut figures: Vec<WatchedFigure> = figures.collect();
        figures.sort_by_key(|figure| !figure.is_headline);
        let counts = repeat.intervals.iter().filter_map(|i| i.operations.get(&Operation::Write));
        Self {
            is_complete,
            figures,
            per_second: operations_per_second(repeat),
            rates: interval_rates(repeat),
            written_bytes: counts.fold(0, |sum, stats| sum.saturating_add(stats.bytes)),
            size_bytes: repeat.started.size_bytes,
            disturbed: disturbance(repeat),
        }
    }

    /// The first headline figure.
    pub(crate) fn value(&self) -> Option<f64> {
        self.figures.first().map(|figure| figure.value)
    }
}

fn operations_per_second(repeat: &Repeat) -> f64 {
    let measured = repeat.measured();
    let count: u64 =
        measured.iter().filter(|(o, _)| **o != Operation::DurableWrite).map(|(_, s)| s.count).sum();
    let window_ns = repeat.finished.as_ref().map_or(0, |f| f.window_ns);
    if window_ns > 0 { count as f64 / window_ns as f64 * 1e9 } else { 0.0 }
}

fn interval_rates(repeat: &Repeat) -> Vec<f64> {
    let mut counts: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for interval in repeat.intervals.iter().filter(|i| i.phase == Phase::Measure) {
        let operations = interval.operations.iter().filter(|(o, _)| **o != Operation::DurableWrite);
        let (len, count) = counts.entry(interval.start_ns).or_default();
        *len = interval.len_ns.max(*len);
        *count += operations.map(|(_, stats)| stats.count).sum::<u64>();
    }
    let longest = counts.values().map(|(len, _)| *len).max().unwrap_or(0);
    let whole = counts.values().filter(|(len, _)| *len * 10 >= longest * 9 && *len > 0);
    whole.map(|(len, count)| *count as f64 / *len as f64).collect()
}
