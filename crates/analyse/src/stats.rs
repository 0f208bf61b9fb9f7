//! The basic estimators and their intervals.

use std::collections::BTreeMap;

use model::{Estimate, PortableMath};
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal, StudentsT};

/// The method of a maximum.
pub(crate) const METHOD_LARGEST: &str = "largest over repeats, no interval";
pub(crate) const METHOD_SMALLEST: &str = "smallest over repeats, no interval";

/// How the repeats of a measurement become one figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Estimator {
    /// The mean, with Student's interval.
    #[default]
    Mean,
    /// The median, with a bootstrap interval.
    Median,
    /// The mean without the best and the worst repeat, with the interval of Tukey and McLaughlin.
    Trimmed,
}

impl Estimator {
    /// The method in words.
    pub fn method(self) -> &'static str {
        match self {
            Self::Mean => "mean over repeats, 95 % t interval",
            Self::Median => "median over repeats, 95 % bootstrap interval",
            Self::Trimmed => {
                "mean over repeats without the best and the worst, 95 % interval of the trimmed mean"
            }
        }
    }

    /// The estimate, with its 95 % interval where there are enough repeats for one; `None` without values.
    pub fn estimate(self, values: &[f64]) -> Option<Estimate> {
        match self {
            Self::Mean => mean_with_t_interval(values),
            Self::Median => median_with_bootstrap_interval(values),
            Self::Trimmed => trimmed_mean_with_interval(values),
        }
    }
}

/// Mean and unbiased standard deviation; `None` for fewer than two values.
pub(crate) fn mean_and_deviation(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    Some((mean, (squares / (n - 1.0)).sqrt()))
}

/// Values from which an autocorrelation is estimated.
const FEWEST_FOR_RESEMBLANCE: usize = 5;

/// The factor by which the variance of the mean exceeds that of independent rounds.
///
/// Where each round resembles the previous one, n rounds are worth fewer than n. With the lag-1 autocorrelation ρ,
/// corrected for its bias of −(1 + 3ρ)/n, the variance is (1 + ρ)/(1 − ρ) times as large (Bayley and Hammersley 1946).
/// The factor is 1 unless ρ is above its own standard error, 1/√n, and for fewer than five values.
pub(crate) fn serial_inflation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let deviations: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let largest = values.iter().map(|v| v.abs()).fold(0.0, f64::max);
    // The rounding error of equal values is no spread.
    if values.len() < FEWEST_FOR_RESEMBLANCE || deviations <= 1e-24 * n * largest * largest {
        return 1.0;
    }
    let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let raw = products / deviations;
    if raw + 1.0 / n <= 1.0 / n.sqrt() {
        return 1.0;
    }
    let rho = (raw + (1.0 + 3.0 * raw.max(0.0)) / n).clamp(0.0, 0.95);
    (1.0 + rho) / (1.0 - rho)
}

/// Values from which the trimmed mean is trimmed; of fewer, each is needed.
const FEWEST_TO_TRIM: usize = 10;
/// Share of the values that is trimmed at each end, as Wilcox, "Introduction to Robust Estimation and Hypothesis Testing",
/// recommends.
const TRIMMED_SHARE: f64 = 0.2;

/// A mean that single repeats cannot move far, with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RobustMean {
    /// Mean of the values that are not trimmed.
    pub mean: f64,
    /// Its standard error, widened where the values are autocorrelated.
    pub error: f64,
    /// Number of values that are not trimmed.
    pub kept: f64,
    /// By this factor the variance is larger than that of independent values.
    pub inflation: f64,
}

/// How values become a mean.
pub(crate) type Centre = fn(&[f64]) -> Option<RobustMean>;

impl RobustMean {
    /// Of values in the order in which they were measured; `None` for fewer than two. Without the lowest and the highest
    /// fifth from ten values on, with the error of Tukey and McLaughlin (Sankhyā A 25, 1963) and Yuen (Biometrika 61, 1974):
    /// from the winsorized deviation `s_w`, `s_w·√(n−1) / √(h·(h−1))` with h values kept. Of fewer than ten values it is the
    /// plain mean.
    pub fn of(values: &[f64]) -> Option<Self> {
        Self::without(Self::cut(values.len()), values)
    }

    /// How many of `n` values are left out at each end.
    pub fn cut(n: usize) -> usize {
        if n >= FEWEST_TO_TRIM { (n as f64 * TRIMMED_SHARE) as usize } else { 0 }
    }

    /// The plain mean of all values, for figures whose far-off values are the point.
    pub fn plain(values: &[f64]) -> Option<Self> {
        Self::without(0, values)
    }

    /// Without the `cut` lowest and highest values.
    fn without(cut: usize, values: &[f64]) -> Option<Self> {
        let n = values.len();
        let sorted = sorted(values);
        let (low, high) = (*sorted.get(cut)?, *sorted.get(n - 1 - cut)?);
        let winsorized: Vec<f64> = values.iter().map(|v| v.clamp(low, high)).collect();
        let (_, deviation) = mean_and_deviation(&winsorized)?;
        let kept = (n - 2 * cut) as f64;
        let mean = sorted[cut..n - cut].iter().sum::<f64>() / kept;
        let inflation = serial_inflation(&winsorized);
        let error = deviation * ((n - 1) as f64 * inflation / (kept * (kept - 1.0))).sqrt();
        Some(Self { mean, error, kept, inflation })
    }
}

/// Values without their rounds.
pub(crate) fn without_rounds(values: &[(u32, f64)]) -> Vec<f64> {
    values.iter().map(|(_, value)| *value).collect()
}

/// The means of the rounds of each making of a target that was made so often; the values of all rounds if it was made once.
///
/// The rounds of one making resemble each other in how it came to be: the makings are the sample, and an interval from their
/// means is that of a random effect of the making (in a balanced design that of restricted maximum likelihood: Searle, Casella
/// and McCulloch, "Variance Components", 1992).
pub(crate) fn by_making(values: &[(u32, f64)], makings: u32) -> Vec<f64> {
    if makings <= 1 {
        return without_rounds(values);
    }
    means_of_makings(values, makings).into_values().collect()
}

/// The mean of the rounds' values of each making of a target, by its number from 0; `values` has the number of each round.
pub fn means_of_makings(values: &[(u32, f64)], makings: u32) -> BTreeMap<u32, f64> {
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    values_by_making(values, makings).into_iter().map(|(making, values)| (making, mean(values))).collect()
}

/// What is summed over the rounds of each making; the values of all rounds if a target was made once.
pub(crate) fn sums_by_making(values: &[(u32, f64)], makings: u32) -> Vec<f64> {
    if makings <= 1 {
        return without_rounds(values);
    }
    values_by_making(values, makings).into_values().map(|values| values.iter().sum()).collect()
}

/// The rounds' values of each making of a target, by its number from 0.
fn values_by_making(values: &[(u32, f64)], makings: u32) -> BTreeMap<u32, Vec<f64>> {
    let mut all: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    // A log can say any number.
    values.iter().for_each(|(round, value)| all.entry(round % makings.max(1)).or_default().push(*value));
    all
}

/// The quantile `p` of Student's t distribution with `freedom` degrees of freedom.
pub(crate) fn t_quantile(p: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |t| t.inverse_cdf(p))
}

/// The probability that Student's t with `freedom` degrees of freedom is above `x`.
pub(crate) fn t_above(x: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |t| t.sf(x))
}

/// The quantile `p` of the standard normal distribution.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}

/// The probability that a standard normal value is above `x`.
pub(crate) fn normal_above(x: f64) -> f64 {
    Normal::standard().sf(x)
}

/// Student's t with `freedom` degrees of freedom that is as rare as `z` standard normal deviations, by the inverse of Wallace's
/// approximation (Ann. Math. Statist. 30, 1959): z = (8ν + 1)/(8ν + 3) · √(ν · ln(1 + t²/ν)).
pub(crate) fn t_at(z: f64, freedom: f64) -> f64 {
    let scaled = z * (8.0 * freedom + 3.0) / (8.0 * freedom + 1.0);
    (freedom * (scaled * scaled / freedom).portable_exp_m1()).sqrt()
}

/// The mean of `values`, in the order in which they were measured, with Student's 95 % interval, `mean ± t(0.975, n−1) ·
/// s/√n`, widened where values are autocorrelated. No interval for fewer than two values; no estimate for none.
pub fn mean_with_t_interval(values: &[f64]) -> Option<Estimate> {
    let n = values.len() as f64;
    let Some((mean, deviation)) = mean_and_deviation(values) else {
        return values.first().map(|value| Estimate { value: *value, interval: None });
    };
    let half = t_quantile(0.975, n - 1.0) * deviation * (serial_inflation(values) / n).sqrt();
    Some(Estimate { value: mean, interval: Some((mean - half, mean + half)) })
}

/// The middle value, or the mean of the two middle values; `None` without values.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    middle(&sorted(values))
}

/// The median of sorted values.
fn middle(sorted: &[f64]) -> Option<f64> {
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[n / 2]),
        n => Some(f64::midpoint(sorted[n / 2 - 1], sorted[n / 2])),
    }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The median with its 95 % bootstrap percentile interval, computed exactly instead of by resampling: the k-th smallest of
/// n values is at or above the median of a resample with the chance that at least half of n draws are among the k smallest
/// (Efron, Ann. Statist. 7, 1979, section 3). For even n the lower end uses the resample's lower median and the upper end
/// its upper median. No interval for fewer than six values: even the full range of five covers the median only 94 times
/// of 100.
fn median_with_bootstrap_interval(values: &[f64]) -> Option<Estimate> {
    const FEWEST: usize = 6;
    let sorted = sorted(values);
    let n = sorted.len();
    let value = middle(&sorted)?;
    if n < FEWEST {
        return Some(Estimate { value, interval: None });
    }
    let draws = n.div_ceil(2) as u64;
    // The chance that the resample's lower median is among the k smallest.
    let within =
        |k: usize| Binomial::new(k as f64 / n as f64, n as u64).map_or(f64::NAN, |b| 1.0 - b.cdf(draws - 1));
    let low = (1..=n).find(|k| within(*k) > 0.025).unwrap_or(1);
    Some(Estimate { value, interval: Some((sorted[low - 1], sorted[n - low])) })
}

/// The mean without the smallest and the largest value, with the 95 % interval of Tukey and McLaughlin (Sankhyā A 25,
/// 1963): from the winsorized deviation `s_w`, `mean ± t(0.975, n−3) · s_w·√(n−1) / √((n−3)·(n−2))`. The plain mean for fewer than
/// three values, no interval for fewer than five.
fn trimmed_mean_with_interval(values: &[f64]) -> Option<Estimate> {
    const FEWEST: usize = 5;
    let sorted = sorted(values);
    let n = sorted.len();
    if n < 3 {
        let estimate = mean_with_t_interval(values)?;
        return Some(Estimate { interval: None, ..estimate });
    }
    let inner = &sorted[1..n - 1];
    let value = inner.iter().sum::<f64>() / inner.len() as f64;
    if n < FEWEST {
        return Some(Estimate { value, interval: None });
    }
    let mut winsorized = sorted.clone();
    (winsorized[0], winsorized[n - 1]) = (sorted[1], sorted[n - 2]);
    let (_, deviation) = mean_and_deviation(&winsorized)?;
    let (n, inner) = (n as f64, inner.len() as f64);
    let error = deviation * (n - 1.0).sqrt() / (inner * (inner - 1.0)).sqrt();
    let half = t_quantile(0.975, inner - 1.0) * error;
    Some(Estimate { value, interval: Some((value - half, value + half)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, StandardNormal};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn the_interval_is_students() {
        // A textbook example: 10, 12, 14 have s = 2, and t(0.975, 2) = 4.303.
        let estimate = mean_with_t_interval(&[10.0, 12.0, 14.0]).unwrap();
        assert_eq!(estimate.value, 12.0);
        let (low, high) = estimate.interval.unwrap();
        assert!((low - (12.0 - 4.302_65 * 2.0 / 3f64.sqrt())).abs() < 1e-4, "{low}");
        assert!((high + low - 24.0).abs() < 1e-9);
    }

    #[test]
    fn one_value_has_no_interval_and_no_value_no_estimate() {
        for rule in [Estimator::Mean, Estimator::Median, Estimator::Trimmed] {
            assert_eq!(rule.estimate(&[5.0]).unwrap(), Estimate { value: 5.0, interval: None });
            assert!(rule.estimate(&[]).is_none());
        }
        assert_eq!(mean_with_t_interval(&[5.0, 5.0]).unwrap().interval, Some((5.0, 5.0)));
    }

    #[test]
    fn an_even_median_is_the_mean_of_the_two_middle_values() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[9.0, 1.0, 4.0]), Some(4.0));
        assert_eq!(median(&[9.0, 1.0, 4.0, 5.0]), Some(4.5));
    }

    #[test]
    fn median_and_trimmed_mean_resist_an_outlier() {
        let values = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 900.0];
        assert_eq!(Estimator::Median.estimate(&values).unwrap().value, 13.0);
        assert_eq!(Estimator::Trimmed.estimate(&values).unwrap().value, 13.0);
        let (low, high) = Estimator::Trimmed.estimate(&values).unwrap().interval.unwrap();
        assert!(low > 9.0 && high < 17.0, "{low} {high}");
        assert_eq!(Estimator::Median.estimate(&[1.0, 2.0, 3.0, 4.0]).unwrap().value, 2.5);
    }

    #[test]
    fn autocorrelated_rounds_count_less() {
        let independent = [1.0, -1.0, 0.5, -0.7, 0.9, -1.2, 0.3, 0.1];
        assert_eq!(serial_inflation(&independent), 1.0);
        let creeping: Vec<f64> = (0..20).map(|i| f64::from(i / 5)).collect();
        assert!(serial_inflation(&creeping) > 4.0);
        assert_eq!(serial_inflation(&[2.0; 10]), 1.0);
        assert_eq!(serial_inflation(&[]), 1.0);
    }

    #[test]
    fn a_robust_mean_is_the_plain_one_of_few_values_and_ignores_stalls_among_many() {
        let few = [10.0, 12.0, 14.0];
        let robust = RobustMean::of(&few).unwrap();
        assert_eq!((robust.mean, robust.kept), (12.0, 3.0));
        assert!((robust.error - 2.0 / 3f64.sqrt()).abs() < 1e-12);
        assert_eq!(RobustMean::of(&[1.0]), None);
        let steady: Vec<f64> = (0..20).map(|i| f64::from((i * 7) % 10)).collect();
        let mut stalled = steady.clone();
        (stalled[3], stalled[11]) = (-1000.0, -2000.0);
        let (a, b) = (RobustMean::of(&steady).unwrap(), RobustMean::of(&stalled).unwrap());
        assert!((a.mean - b.mean).abs() < 1.0 && b.error < 2.0 * a.error, "{a:?} {b:?}");
        assert_eq!(a.kept, 12.0);
    }

    #[test]
    fn intervals_have_their_nominal_coverage() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
        for (rule, n) in [
            (Estimator::Mean, 5),
            (Estimator::Median, 9),
            (Estimator::Median, 20),
            (Estimator::Trimmed, 6),
            (Estimator::Trimmed, 15),
        ] {
            let covered = (0..4000)
                .filter(|_| {
                    let values: Vec<f64> = (0..n).map(|_| StandardNormal.sample(&mut rng)).collect();
                    let (low, high) = rule.estimate(&values).unwrap().interval.unwrap();
                    low <= 0.0 && 0.0 <= high
                })
                .count();
            assert!((3680..=3900).contains(&covered), "{rule:?} of {n}: {covered} of 4000");
        }
    }
}
