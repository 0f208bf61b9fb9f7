//! Figures of operations stamped in batches and one by one.

use engine::StampComparison;
use model::Histogram;

/// By how many per cent mean, median and 99th percentile of the stamps of each operation are above those of
/// the batches; NaN where there was nothing.
pub fn more_percent(stamps: &StampComparison) -> [f64; 3] {
    let (batch, each) = (figures_ns(&stamps.batch), figures_ns(&stamps.each));
    [0, 1, 2].map(|i| (each[i] / batch[i] - 1.0) * 100.0)
}

/// Mean, median and 99th percentile in nanoseconds.
pub fn figures_ns(histogram: &Histogram) -> [f64; 3] {
    let percentile = |percent| histogram.percentile_ns(percent).map(|ns| ns as f64);
    [histogram.mean_ns(), percentile(50.0), percentile(99.0)].map(|ns| ns.unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::LatencyRecorder;

    #[test]
    fn the_difference_is_in_per_cent_of_the_batches() {
        let of = |ns: [u64; 3]| {
            let mut recorder = LatencyRecorder::new();
            ns.into_iter().for_each(|ns| recorder.record(ns));
            recorder.finish()
        };
        let stamps = StampComparison { batch: of([40, 50, 60]), each: of([40, 55, 90]) };
        let more = more_percent(&stamps);
        let rounded = more.map(|percent| (percent * 10.0).round() / 10.0);
        assert_eq!(rounded, [23.3, 10.0, 50.0]);
    }
}
