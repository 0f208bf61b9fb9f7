//! Holds back readings that do not differ from the previous ones, so that they do not fill the log.

use model::{PortableMath, Reading};

/// A constant series is reported at least this often: a killed run loses no more than that.
const LONGEST_SILENCE_NS: u64 = 60_000_000_000;
/// Values are reported again when they change by this relative step …
const RELATIVE_STEP: f64 = 0.03;

/// … but at least by this much: smaller changes are the noise of any idle machine.
fn smallest_step(unit: &str) -> f64 {
    match unit {
        "B/s" => 10_000.0,
        "B" => 1e6,
        "ns" => 10_000.0,
        "1/s" => 0.1,
        // Temperatures have no zero point for a relative step.
        "°C" => 0.5,
        // A share, or a number of threads or of operations in flight.
        _ => 0.01,
    }
}

/// The series of one probe.
///
/// A reading covers the time since the previous reading of the same series; the first reading of a series covers
/// nothing and only marks its beginning. A value that differs from the last reported one by less than a step is
/// held back; when the value changes, the last one held back is reported first. So nothing is lost: between two
/// readings the value was within a step of the second.
#[derive(Debug, Default)]
pub(super) struct ChangeFilter {
    series: Vec<Series>,
}

/// Identifies a series within its filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeriesId(usize);

#[derive(Debug)]
struct Series {
    key: String,
    unit: &'static str,
    last_reported: Option<(u64, f64)>,
    held: Option<(u64, f64)>,
}

impl ChangeFilter {
    /// A new series.
    pub fn series(&mut self, key: impl Into<String>, unit: &'static str) -> SeriesId {
        self.series.push(Series { key: key.into(), unit, last_reported: None, held: None });
        SeriesId(self.series.len() - 1)
    }

    /// Reports what is still held back.
    pub fn finish(&mut self, probe: &str, out: &mut Vec<Reading>) {
        for series in &mut self.series {
            if let Some((at_ns, value)) = series.held.take() {
                out.push(series.reading(probe, at_ns, value));
            }
        }
    }
}

impl Series {
    fn reading(&self, probe: &str, at_ns: u64, value: f64) -> Reading {
        let (key, unit) = (self.key.clone(), self.unit.to_owned());
        Reading { at_ns, probe: probe.to_owned(), key, value, unit, host: 0 }
    }

    fn is_within_a_step(&self, at_ns: u64, value: f64) -> bool {
        let Some((reported_ns, last_reported)) = self.last_reported else { return false };
        let relative = if self.unit == "°C" { 0.0 } else { RELATIVE_STEP * last_reported.abs() };
        let is_near = (value - last_reported).abs() < smallest_step(self.unit).max(relative);
        is_near && at_ns.saturating_sub(reported_ns) < LONGEST_SILENCE_NS
    }
}

/// One poll of a probe.
pub(super) struct Sample<'a> {
    pub probe: &'static str,
    /// Time of this probe's previous poll.
    pub since_ns: Option<u64>,
    pub at_ns: u64,
    pub filter: &'a mut ChangeFilter,
    pub out: &'a mut Vec<Reading>,
}

impl Sample<'_> {
    /// Seconds since this probe's previous poll; `None` at the first.
    pub fn seconds(&self) -> Option<f64> {
        let ns = self.at_ns.saturating_sub(self.since_ns?);
        (ns > 0).then(|| ns as f64 / 1e9)
    }

    /// A current value.
    pub fn put(&mut self, series: SeriesId, value: f64) {
        self.put_since(series, None, value);
    }

    /// A value that has applied since a point in time; a new series begins there.
    pub fn put_since(&mut self, series: SeriesId, since_ns: Option<u64>, value: f64) {
        let (value, at_ns) = (rounded(value), self.at_ns);
        let series = &mut self.filter.series[series.0];
        if series.is_within_a_step(at_ns, value) {
            series.held = Some((at_ns, value));
            return;
        }
        let begin = since_ns.filter(|_| series.last_reported.is_none()).map(|ns| (ns, value));
        if let Some((at_ns, value)) = begin.or_else(|| series.held.take()) {
            self.out.push(series.reading(self.probe, at_ns, value));
        }
        self.out.push(series.reading(self.probe, at_ns, value));
        series.last_reported = Some((at_ns, value));
        series.held = None;
    }
}

/// A kernel counter as a rate.
#[derive(Debug)]
pub(super) struct Counter {
    series: SeriesId,
    before: Option<(u64, u64)>,
}

impl Counter {
    pub fn new(series: SeriesId) -> Self {
        Self { series, before: None }
    }

    /// Puts the counter's growth per second, each count standing for `each`. A counter that has shrunk was reset.
    pub fn put(&mut self, sample: &mut Sample<'_>, count: u64, each: f64) {
        let Some((since_ns, before)) = self.before.replace((sample.at_ns, count)) else { return };
        let seconds = sample.at_ns.saturating_sub(since_ns) as f64 / 1e9;
        if count >= before && seconds > 0.0 {
            sample.put_since(self.series, Some(since_ns), (count - before) as f64 * each / seconds);
        }
    }
}

/// Three decimals, or four digits if that is fewer: more would only be noise in the log.
fn rounded(value: f64) -> f64 {
    let thousandths = (value * 1000.0).round() / 1000.0;
    if value.abs() < 10.0 {
        return thousandths;
    }
    let scale = 10f64.powi(3 - value.abs().portable_log10().floor() as i32);
    // A negative power of ten is not exact in binary, its inverse is.
    if scale >= 1.0 {
        (value * scale).round() / scale
    } else {
        (value * scale).round() * scale.recip().round()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Puts values one second apart and returns what is reported, as `second=value`.
    fn reported_values(unit: &'static str, values: &[f64]) -> Vec<String> {
        let (mut filter, mut out) = (ChangeFilter::default(), Vec::new());
        let series = filter.series("k", unit);
        for (second, value) in values.iter().enumerate() {
            let at_ns = second as u64 * 1_000_000_000;
            let mut sample = Sample { probe: "p", since_ns: None, at_ns, filter: &mut filter, out: &mut out };
            sample.put(series, *value);
        }
        filter.finish("p", &mut out);
        out.iter().map(|r| format!("{}={}", r.at_ns / 1_000_000_000, r.value)).collect()
    }

    #[test]
    fn a_constant_value_is_reported_at_both_ends() {
        assert_eq!(reported_values("1", &[0.5, 0.5, 0.5, 0.5]), ["0=0.5", "3=0.5"]);
        assert_eq!(reported_values("1", &[0.5, 0.5, 0.5, 0.9, 0.9]), ["0=0.5", "2=0.5", "3=0.9", "4=0.9"]);
        assert_eq!(reported_values("1", &[0.5, 0.9, 0.5]), ["0=0.5", "1=0.9", "2=0.5"]);
    }

    #[test]
    fn small_changes_do_not_accumulate_unreported() {
        let drift: Vec<f64> = (0..9).map(|i| 1e6 + 1e4 * f64::from(i)).collect();
        assert_eq!(
            reported_values("B/s", &drift),
            ["0=1000000", "2=1020000", "3=1030000", "6=1060000", "7=1070000", "8=1080000"]
        );
    }

    #[test]
    fn small_values_change_by_steps_that_fit_their_unit() {
        assert_eq!(reported_values("°C", &[80.0, 80.4, 80.6]), ["0=80", "1=80.4", "2=80.6"]);
        assert_eq!(reported_values("1", &[0.1, 0.105, 0.12]), ["0=0.1", "1=0.105", "2=0.12"]);
        assert_eq!(reported_values("B/s", &[0.0, 4096.0, 0.0, 40960.0]), ["0=0", "2=0", "3=40960"]);
        assert_eq!(reported_values("1/s", &[0.0, 0.2]), ["0=0", "1=0.2"]);
    }

    #[test]
    fn a_constant_value_is_reported_every_minute() {
        let reported_values = reported_values("1", &[0.25; 200]);
        assert_eq!(
            reported_values,
            ["0=0.25", "59=0.25", "60=0.25", "119=0.25", "120=0.25", "179=0.25", "180=0.25", "199=0.25"]
        );
    }

    #[test]
    fn counters_become_rates_and_survive_a_reset() {
        let (mut filter, mut out) = (ChangeFilter::default(), Vec::new());
        let mut counter = Counter::new(filter.series("k", "B/s"));
        for (second, count) in [(1, 1000), (3, 2000), (4, 100), (5, 1100)] {
            let at_ns = second * 1_000_000_000;
            let mut sample = Sample { probe: "p", since_ns: None, at_ns, filter: &mut filter, out: &mut out };
            counter.put(&mut sample, count, 512.0);
        }
        let reported_values: Vec<(u64, f64)> =
            out.iter().map(|r| (r.at_ns / 1_000_000_000, r.value)).collect();
        assert_eq!(reported_values, [(1, 256_000.0), (3, 256_000.0), (5, 512_000.0)]);
    }

    #[test]
    fn values_have_four_digits() {
        assert_eq!(rounded(0.123_456), 0.123);
        assert_eq!(rounded(12.3456), 12.35);
        assert_eq!(rounded(1234.56), 1235.0);
        assert_eq!(rounded(123_456_789.0), 123_500_000.0);
        assert_eq!((rounded(0.0), rounded(-12.3456)), (0.0, -12.35));
    }
}
