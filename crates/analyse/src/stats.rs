//! The few formulas that everything rests on.

use model::Estimate;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The rule behind most estimates.
pub const METHOD_MEAN_T: &str = "mean over repeats, 95 % t interval";
/// The rule behind a maximum.
pub const METHOD_LARGEST: &str = "largest over repeats, no interval";

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

/// The quantile `p` of Student's t distribution with `freedom` degrees of freedom.
pub(crate) fn t_quantile(p: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |t| t.inverse_cdf(p))
}

/// The probability that Student's t with `freedom` degrees of freedom is above `x`.
pub(crate) fn t_above(x: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |t| t.sf(x))
}

/// The mean of `values` with Student's 95 % interval, `mean ± t(0.975, n−1) · s/√n`. No interval for
/// fewer than two values; no estimate for none.
pub fn mean_with_t_interval(values: &[f64]) -> Option<Estimate> {
    let n = values.len() as f64;
    let Some((mean, deviation)) = mean_and_deviation(values) else {
        return values.first().map(|value| Estimate { value: *value, interval: None });
    };
    let half = t_quantile(0.975, n - 1.0) * deviation / n.sqrt();
    Some(Estimate { value: mean, interval: Some((mean - half, mean + half)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students() {
        // Values and interval of a textbook example: 10, 12, 14: s = 2, t(0.975, 2) = 4.303.
        let estimate = mean_with_t_interval(&[10.0, 12.0, 14.0]).unwrap();
        assert_eq!(estimate.value, 12.0);
        let (low, high) = estimate.interval.unwrap();
        assert!((low - (12.0 - 4.302_65 * 2.0 / 3f64.sqrt())).abs() < 1e-4, "{low}");
        assert!((high + low - 24.0).abs() < 1e-9);
    }

    #[test]
    fn one_value_has_no_interval_and_none_has_no_estimate() {
        assert_eq!(mean_with_t_interval(&[5.0]).unwrap().interval, None);
        assert!(mean_with_t_interval(&[]).is_none());
        assert_eq!(mean_with_t_interval(&[5.0, 5.0]).unwrap().interval, Some((5.0, 5.0)));
    }
}
