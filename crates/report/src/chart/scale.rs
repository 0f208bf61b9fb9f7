//! Scales from values to coordinates, and the ticks of an axis.

use model::PortableMath;

/// A scale from values to coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    log: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// A linear scale. An empty domain is widened, so that all coordinates are finite.
    pub fn linear((low, high): (f64, f64), (from, to): (f64, f64)) -> Self {
        let (low, high) = if low.is_finite() && high.is_finite() { (low, high) } else { (0.0, 1.0) };
        let high = if high > low { high } else { low + low.abs().max(1.0) * 1e-3 };
        Self { log: false, low, high, from, to }
    }

    /// A logarithmic scale; values at or below 0 are at the low end.
    pub fn log((low, high): (f64, f64), (from, to): (f64, f64)) -> Self {
        let low = if low.is_finite() && low > 0.0 { low } else { 1.0 };
        let high = if high.is_finite() && high > low { high } else { low * 2.0 };
        Self { log: true, low, high, from, to }
    }

    /// The coordinate of a value, clamped to the domain.
    pub fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.max(self.low) / self.low).portable_ln() / (self.high / self.low).portable_ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        self.from + share * (self.to - self.from)
    }

    /// About `wanted` ticks: 1, 2 or 5 times a power of ten, in ascending order.
    pub fn ticks(&self, wanted: usize) -> Vec<f64> {
        if self.log { self.log_ticks(wanted) } else { self.linear_ticks(wanted) }
    }

    fn linear_ticks(&self, wanted: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / wanted.max(1) as f64;
        let power = 10f64.portable_powf(rough.portable_log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough);
        let step = step.unwrap_or(power * 10.0);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last.min(first.saturating_add(50))).map(|i| whole(i as f64 * step)).collect()
    }

    fn log_ticks(&self, wanted: usize) -> Vec<f64> {
        let decades = |parts: &[f64], every: i32| -> Vec<f64> {
            let (first, last) =
                (self.low.portable_log10().floor() as i32, self.high.portable_log10().ceil() as i32);
            let powers = (first..=last).filter(|p| p.rem_euclid(every) == 0);
            let all = powers.flat_map(|p| parts.iter().map(move |m| m * 10f64.powi(p)));
            all.filter(|v| (self.low * 0.999..=self.high * 1.001).contains(v)).collect()
        };
        let fine = decades(&[1.0, 2.0, 5.0], 1);
        if fine.len() <= wanted + 1 {
            return if fine.len() < 2 { self.linear_ticks(wanted.min(3)) } else { fine };
        }
        let every = (((self.high / self.low).portable_log10() / wanted.max(1) as f64).ceil() as i32).max(1);
        let powers = decades(&[1.0], every);
        if powers.len() >= 2 { powers } else { decades(&[1.0, 3.0], 1) }
    }
}

/// A tick without the rounding error of binary fractions, which would be printed.
fn whole(value: f64) -> f64 {
    let rounded = (value * 1e9).round() / 1e9;
    if rounded.is_finite() { rounded } else { value }
}

/// The smallest and largest of the finite values; `None` if there are none.
pub(crate) fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let mut found: Option<(f64, f64)> = None;
    for value in values.into_iter().filter(|v| v.is_finite()) {
        let (low, high) = found.unwrap_or((value, value));
        found = Some((low.min(value), high.max(value)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn marks_are_round_values_within_the_domain() {
        assert_eq!(Scale::linear((0.0, 10.0), (0.0, 1.0)).ticks(5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(Scale::linear((0.0, 0.9), (0.0, 1.0)).ticks(5), [0.0, 0.2, 0.4, 0.6, 0.8]);
        assert_eq!(Scale::log((1.0, 1e4), (0.0, 1.0)).ticks(5), [1.0, 10.0, 100.0, 1e3, 1e4]);
        assert_eq!(Scale::log((10.0, 60.0), (0.0, 1.0)).ticks(4), [10.0, 20.0, 50.0]);
        let half = Scale::log((1.0, 100.0), (0.0, 50.0));
        assert_eq!((half.at(10.0), half.at(0.0), half.at(1e9)), (25.0, 0.0, 50.0));
    }

    proptest! {
        #[test]
        fn whatever_the_domain_places_are_finite_and_marks_are_few(low in -1e12f64..1e12, high in proptest::num::f64::ANY, v in proptest::num::f64::ANY) {
            for scale in [Scale::linear((low, high), (0.0, 100.0)), Scale::log((low, high), (0.0, 100.0))] {
                prop_assert!((0.0..=100.0).contains(&scale.at(v)), "{:?} at {v}", scale);
                prop_assert!(scale.ticks(5).len() <= 60);
            }
        }
    }
}
