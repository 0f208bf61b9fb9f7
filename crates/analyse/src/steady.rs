//! Steady state, as defined by SNIA's Solid State Storage Performance Test Specification (PTS 2.0.2): over a measurement
//! window of five consecutive rounds, the largest value less the smallest is at most 20 % of the mean of all five, and
//! the least-squares line through them rises or falls over the window by at most 10 % of that mean.
//!
//! This is a convention, not a statistical test: it checks how much the values differ, not whether they could differ as
//! much by chance.

/// Rounds in the measurement window.
pub(crate) const STEADY_WINDOW: usize = 5;
/// Largest range within the window, as a share of its mean.
pub(crate) const STEADY_RANGE: f64 = 0.20;
/// Largest rise or fall of the fitted line over the window, as a share of its mean.
pub(crate) const STEADY_SLOPE: f64 = 0.10;
/// Sums of floating point are not exact; a range of exactly 20 % is within the limit.
const ROUNDING: f64 = 1e-9;

/// Whether and when a series of values reached a steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyState {
    /// Index of the last value of the first steady window; `None` if no window is steady.
    pub reached_at: Option<usize>,
    /// The last window is steady.
    pub steady_at_end: bool,
    /// Indices of the window that the shares describe: the first steady one, else the last one. Shorter than five if
    /// there are fewer values.
    pub window: std::ops::Range<usize>,
    /// Its largest value less its smallest, as a share of its mean.
    pub range_share: f64,
    /// Rise of its fitted line over the window (fall if below 0), as a share of its mean.
    pub slope_share: f64,
}

/// Finds the steady state of a series of values: one per round, or the rates of the intervals of a repeat. Fewer than
/// five values are never steady, nor are values whose mean is not above 0.
pub fn steady_state(values: &[f64]) -> SteadyState {
    let last = values.len().saturating_sub(STEADY_WINDOW);
    let whole = values.len() >= STEADY_WINDOW;
    let is_steady = |start: usize| whole && within_limits(shares(&values[start..start + STEADY_WINDOW]));
    let first = (0..=last).find(|start| is_steady(*start));
    let start = first.unwrap_or(last);
    let window = start..(start + STEADY_WINDOW).min(values.len());
    let (range_share, slope_share) = shares(&values[window.clone()]);
    SteadyState {
        reached_at: first.map(|start| start + STEADY_WINDOW - 1),
        steady_at_end: is_steady(last),
        window,
        range_share,
        slope_share,
    }
}

fn within_limits((range, slope): (f64, f64)) -> bool {
    range <= STEADY_RANGE + ROUNDING && slope.abs() <= STEADY_SLOPE + ROUNDING
}

/// Range of some values and rise of their fitted line, as shares of their mean. NaN if the mean is not above 0.
fn shares(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.is_empty() || mean.is_nan() || mean <= 0.0 {
        return (f64::NAN, f64::NAN);
    }
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let middle = (n - 1.0) / 2.0;
    let positions = || (0..values.len()).map(|i| i as f64 - middle);
    let squares: f64 = positions().map(|x| x * x).sum();
    let products: f64 = positions().zip(values).map(|(x, v)| x * (v - mean)).sum();
    let slope = if squares > 0.0 { products / squares } else { 0.0 };
    ((largest - smallest) / mean, slope * (n - 1.0) / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_limit_is_inclusive() {
        let at = |range: f64| {
            let half = range / 2.0 * 100.0;
            steady_state(&[100.0, 100.0 + half, 100.0, 100.0 - half, 100.0])
        };
        // The fitted line through 0, h, 0, −h, 0 has the slope −0.2 h and falls 0.8 h: 8 % of the mean.
        let exact = at(0.20);
        assert_eq!((exact.reached_at, exact.steady_at_end), (Some(4), true));
        assert!((exact.range_share - 0.20).abs() < 1e-12 && (exact.slope_share + 0.08).abs() < 1e-12);
        assert_eq!(at(0.2001).reached_at, None);
    }

    #[test]
    fn the_slope_limit_is_inclusive() {
        let rising = |share: f64| -> Vec<f64> {
            (0..5).map(|i| 1000.0 * (1.0 + share * (f64::from(i) / 4.0 - 0.5))).collect()
        };
        assert!(steady_state(&rising(0.10)).steady_at_end);
        assert!(!steady_state(&rising(0.1001)).steady_at_end);
        let falling: Vec<f64> = rising(0.1001).into_iter().rev().collect();
        assert!(!steady_state(&falling).steady_at_end);
    }

    #[test]
    fn a_fresh_drive_becomes_steady() {
        let rounds = [200.0, 150.0, 120.0, 104.0, 101.0, 100.0, 99.0, 100.0, 101.0];
        let state = steady_state(&rounds);
        assert_eq!((state.reached_at, state.window.clone(), state.steady_at_end), (Some(7), 3..8, true));
        assert!(state.range_share < 0.06 && state.slope_share < 0.0, "{state:?}");
    }

    #[test]
    fn a_steady_state_that_ended_is_recognised() {
        let mut rounds = vec![100.0; 6];
        rounds.push(50.0);
        let state = steady_state(&rounds);
        assert_eq!((state.reached_at, state.steady_at_end), (Some(4), false));
    }

    #[test]
    fn too_few_or_nonpositive_values_are_not_steady() {
        for rounds in [&[][..], &[100.0; 4], &[0.0; 6], &[f64::NAN; 6]] {
            let state = steady_state(rounds);
            assert_eq!((state.reached_at, state.steady_at_end), (None, false), "{rounds:?}");
        }
        assert_eq!(steady_state(&[100.0; 4]).window, 0..4);
    }
}
