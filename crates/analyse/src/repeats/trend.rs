//! A trend over the run: the repeats rise or fall in the order in which they were measured.
//!
//! Existence: the Mann-Kendall test (Mann, "Nonparametric Tests Against Trend", Econometrica 13, 1945), which uses only the
//! order of the values and whose distribution is exact at every n. Size: the Theil-Sen slope, the median of the slopes of
//! all pairs (Sen, J. Am. Statist. Assoc. 63, 1968), so that one odd repeat makes no trend. Autocorrelated repeats, as
//! under slow oscillations, show trends more often than the probability says: they do drift, and the diagnostic reports
//! that.

use model::PortableMath;
use statrs::distribution::{ContinuousCDF, Normal};

use super::{RELEVANT, RESOLUTION};
use crate::stats::median;

/// A steady change from the first repeat to the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Last repeat ÷ first on the fitted line, less 1: 0.2 is a rise by 20 % over the run.
    pub change: f64,
    /// Probability that repeats without a trend look like this.
    pub p: f64,
}

/// The trend, however likely by chance. `None` for fewer than five values: with four, no order is rare enough. A trend
/// that is too small to matter has the probability 1.
pub(super) fn candidate(logs: &[f64]) -> Option<Trend> {
    let n = logs.len();
    if n < 5 {
        return None;
    }
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    let mut score = 0i64;
    for (i, earlier) in logs.iter().enumerate() {
        for (j, later) in logs.iter().enumerate().skip(i + 1) {
            let rise = later - earlier;
            slopes.push(rise / (j - i) as f64);
            // Values that are equal within the resolution count for neither side, which is conservative.
            score += if rise.abs() < RESOLUTION { 0 } else { rise.signum() as i64 };
        }
    }
    let rise = median(&slopes).unwrap_or_default() * (n - 1) as f64;
    let p =
        if rise.abs() < RELEVANT.portable_ln_1p() { 1.0 } else { chance(score.unsigned_abs() as usize, n) };
    Some(Trend { change: rise.portable_exp_m1(), p })
}

/// Probability over all n! orders that |S| is at least `score`, where S is the number of rising pairs less the number of
/// falling pairs.
fn chance(score: usize, n: usize) -> f64 {
    let pairs = n * (n - 1) / 2;
    if n > 60 {
        let n = n as f64;
        let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
        let z = (score as f64 - 1.0).max(0.0) / deviation;
        return Normal::standard().sf(z) * 2.0;
    }
    // The share of orders by their number of falling pairs: each value is inserted at any position among those before it.
    let mut shares = vec![1.0];
    for placed in 2..=n {
        let mut next = vec![0.0; shares.len() + placed - 1];
        for (falling, share) in shares.iter().enumerate() {
            for more in 0..placed {
                next[falling + more] += share / placed as f64;
            }
        }
        shares = next;
    }
    let tail: f64 = shares[..=(pairs - score) / 2].iter().sum();
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::super::{logarithms, surviving};
    use super::*;

    /// The trend of one measurement on its own, even where it has two modes.
    fn trend(values: &[f64]) -> Option<Trend> {
        surviving(vec![candidate(&logarithms(values))], |t| t.p).pop()?
    }

    #[test]
    fn the_chance_of_a_score_is_exact() {
        // Of 120 orders of five values one rises throughout and one falls throughout; four more are one swap away
        // from either (Kendall, "Rank Correlation Methods", table 1: 0.0083 and 0.042 on one side).
        assert!((chance(10, 5) - 2.0 / 120.0).abs() < 1e-12);
        assert!((chance(8, 5) - 10.0 / 120.0).abs() < 1e-12);
        assert_eq!(chance(0, 5), 1.0);
        // The normal approximation continues the exact sum.
        let close = |score| (chance(score, 60) / chance(score + 12, 61)).portable_ln().abs() < 0.15;
        assert!(close(300) && close(500));
    }

    #[test]
    fn a_trend_is_found_with_its_size() {
        let falling: Vec<f64> = (0..10).map(|i| 100.0 * 0.98f64.powi(i)).collect();
        let found = trend(&falling).unwrap();
        assert!((found.change - (0.98f64.powi(9) - 1.0)).abs() < 1e-9, "{found:?}");
        let five = trend(&[100.0, 104.0, 107.0, 112.0, 115.0]).unwrap();
        assert!((five.change - 0.15).abs() < 0.01 && five.p < 0.0167, "{five:?}");
    }

    #[test]
    fn outliers_and_small_changes_are_no_trend() {
        assert_eq!(trend(&[100.0, 100.1, 99.9, 100.05, 150.0, 100.0, 99.95, 200.0]), None);
        assert_eq!(trend(&[100.0, 100.5, 101.0, 101.5, 102.0, 102.5]), None);
        assert_eq!(trend(&[100.0, 110.0, 120.0, 130.0]), None, "four orders in 24 are no evidence");
        assert_eq!(trend(&[5.0; 20]), None);
    }
}
