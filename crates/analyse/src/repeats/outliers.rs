//! Outliers: repeats far from all others.
//!
//! The distance is the modified z-score, 0.6745 · |x − median| ÷ MAD, with MAD the median absolute
//! deviation (Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993). Their limit of 3.5 for any number of values
//! finds an outlier in every fifth set of five normal values, because the median of five deviations is sometimes tiny. So
//! the limit here depends on the number of repeats: the farthest of n normal values exceeds it with a given probability.
//! The limits come from a simulation: `lodestone-benches repeats --limits` prints [`LIMITS`].

use super::{RELEVANT, RESOLUTION};
use crate::stats::median;
use model::PortableMath;

/// Fewer repeats than this have no outliers: their deviations do not show the usual spread.
const FEWEST: usize = 5;

/// Probabilities that the farthest of n normal values exceeds the limits.
const LEVELS: [f64; 4] = [0.05, 0.01, 0.001, 0.0001];

/// For n values, the limits of the modified z-score at [`LEVELS`].
#[rustfmt::skip]
const LIMITS: [(usize, [f64; 4]); 29] = [
    (5, [7.95, 18.73, 60.47, 182.00]),
    (6, [5.54, 10.10, 22.58, 52.26]),
    (7, [5.86, 10.70, 24.04, 53.90]),
    (8, [4.92, 7.98, 15.11, 27.98]),
    (9, [5.08, 8.22, 15.45, 28.00]),
    (10, [4.58, 6.93, 11.81, 18.88]),
    (11, [4.67, 7.05, 11.90, 20.19]),
    (12, [4.38, 6.31, 10.06, 15.82]),
    (13, [4.43, 6.39, 10.04, 15.23]),
    (14, [4.23, 5.88, 8.84, 12.96]),
    (15, [4.28, 5.97, 9.04, 13.27]),
    (16, [4.12, 5.58, 8.13, 11.33]),
    (17, [4.17, 5.65, 8.23, 11.83]),
    (18, [4.05, 5.38, 7.65, 10.32]),
    (19, [4.09, 5.44, 7.71, 10.61]),
    (20, [4.00, 5.23, 7.27, 9.69]),
    (21, [4.03, 5.28, 7.35, 10.03]),
    (22, [3.95, 5.11, 6.95, 9.10]),
    (23, [3.97, 5.14, 6.99, 9.25]),
    (24, [3.92, 5.01, 6.75, 8.77]),
    (25, [3.93, 5.01, 6.73, 8.62]),
    (26, [3.89, 4.91, 6.49, 8.21]),
    (27, [3.90, 4.93, 6.51, 8.32]),
    (28, [3.86, 4.85, 6.35, 7.91]),
    (29, [3.88, 4.86, 6.36, 8.00]),
    (30, [3.84, 4.78, 6.18, 7.80]),
    (40, [3.78, 4.58, 5.72, 6.99]),
    (60, [3.74, 4.41, 5.33, 6.26]),
    (100, [3.75, 4.31, 5.04, 5.75]),
];

/// The modified z-score of each logarithm; 0 for logarithms too close to the median to matter.
pub(super) fn distances(logs: &[f64]) -> Vec<f64> {
    if logs.len() < FEWEST {
        return Vec::new();
    }
    let middle = median(logs).unwrap_or_default();
    let deviations: Vec<f64> = logs.iter().map(|v| (v - middle).abs()).collect();
    let usual = median(&deviations).unwrap_or_default().max(RESOLUTION);
    deviations.iter().map(|d| if *d < RELEVANT.portable_ln_1p() { 0.0 } else { 0.6745 * d / usual }).collect()
}

/// Probability that the farthest of `n` normal values has at least this modified z-score. Between the limits of the table
/// it is interpolated on logarithms of both, beyond the last limit extrapolated: a power law, which is exact in form for
/// few values and conservative for many.
pub(super) fn outlier_p(score: f64, n: usize) -> f64 {
    if score <= 0.0 || n < FEWEST {
        return 1.0;
    }
    let limits = limits(n);
    let at = limits[1..3].iter().filter(|limit| score >= **limit).count();
    let (low, high) = (limits[at].portable_ln(), limits[at + 1].portable_ln());
    let (from, to) = (LEVELS[at].portable_ln(), LEVELS[at + 1].portable_ln());
    let p = (from + (to - from) * (score.portable_ln() - low) / (high - low)).portable_exp();
    // Beyond the table the chance grows with the number of values.
    let more = (n as f64 / LIMITS[LIMITS.len() - 1].0 as f64).max(1.0);
    (p * more).min(1.0)
}

/// The limits for n values, interpolated between two rows of the table.
fn limits(n: usize) -> [f64; 4] {
    let above = LIMITS.iter().position(|(of, _)| *of >= n).unwrap_or(LIMITS.len() - 1);
    let (high, limits) = LIMITS[above];
    if high <= n || above == 0 {
        return limits;
    }
    let (low, below) = LIMITS[above - 1];
    let share = (n - low) as f64 / (high - low) as f64;
    std::array::from_fn(|i| below[i] + share * (limits[i] - below[i]))
}

#[cfg(test)]
mod tests {
    use super::super::diagnose;
    use super::*;

    #[test]
    fn the_table_is_sorted_and_matches_the_probability() {
        for (n, limits) in LIMITS {
            assert!(limits.is_sorted(), "{n}");
            for (limit, level) in limits.iter().zip(LEVELS) {
                assert!((outlier_p(*limit, n) / level - 1.0).abs() < 1e-9, "{n} {limit}");
            }
        }
        assert!(outlier_p(100.0, 1000) <= outlier_p(100.0, 100) * 10.0 + 1e-12);
        assert_eq!(outlier_p(1e9, 4), 1.0);
    }

    #[test]
    fn a_repeat_far_from_the_others_is_an_outlier() {
        assert_eq!(diagnose(&[100.0, 101.0, 99.0, 100.5, 99.5, 50.0, 100.2]).outliers, [5]);
        assert_eq!(diagnose(&[100.0, 100.0, 100.0, 100.0, 100.0, 50.0]).outliers, [5], "no deviation at all");
    }

    #[test]
    fn few_close_or_widely_spread_repeats_have_no_outliers() {
        assert_eq!(diagnose(&[100.0, 101.0, 10.0]).outliers, [0usize; 0]);
        assert_eq!(diagnose(&[100.0, 100.0, 100.0, 100.0, 100.0, 102.0]).outliers, [0usize; 0]);
        assert_eq!(diagnose(&[80.0, 130.0, 100.0, 90.0, 115.0, 60.0]).outliers, [0usize; 0]);
    }
}
