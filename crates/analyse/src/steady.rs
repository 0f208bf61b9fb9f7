//! Steady state, as SNIA's Solid State Storage Performance Test Specification (PTS 2.0.2, definition of steady
//! state) has it: over a measurement window of five rounds in a row, the largest value less the smallest is at
//! most 20 % of the mean of all five, and the line of least squares through them rises or falls over the
//! window by at most 10 % of that mean.
//!
//! It is a convention about what may be called steady, not a test: it asks how much the values differ, and
//! not whether they could differ so much by chance.

/// Rounds in the measurement window.
pub(crate) const STEADY_WINDOW: usize = 5;
/// Largest range within the window, as a share of its mean.
pub(crate) const STEADY_RANGE: f64 = 0.20;
/// Largest rise or fall of the fitted line over the window, as a share of its mean.
pub(crate) const STEADY_SLOPE: f64 = 0.10;
/// Sums of floating point are not exact; a range of exactly 20 % is within the limit.
const ROUNDING: f64 = 1e-9;

/// Whether and when a row of values came to a steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyState {
    /// The last value, from 0, of the first window that is steady; `None` if none is.
    pub reached_at: Option<usize>,
    /// The last window is steady.
    pub steady_at_end: bool,
    /// The window that the shares are about: the first that is steady, else the last one. Places in the
    /// row; fewer than five if there are no more.
    pub window: std::ops::Range<usize>,
    /// Its largest value less its smallest, as a share of its mean.
    pub range_share: f64,
    /// How far its fitted line rises (or falls, if below 0) over the window, as a share of its mean.
    pub slope_share: f64,
}

/// Looks for a steady state in a row of values: one per round, or the rates of the intervals of a repeat.
/// Fewer than five values never are steady, and neither are values whose mean is not above 0.
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

/// Range and rise of the fitted line over some values, as shares of their mean. Not numbers if the mean is
/// not above 0.
fn shares(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.is_empty() || mean.is_nan() || mean <= 0.0 {
        return (f64::NAN, f64::NAN);
    }
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let middle = (n - 1.0) / 2.0;
    let places = || (0..values.len()).map(|i| i as f64 - middle);
    let squares: f64 = places().map(|x| x * x).sum();
    let products: f64 = places().zip(values).map(|(x, v)| x * (v - mean)).sum();
    let slope = if squares > 0.0 { products / squares } else { 0.0 };
    ((largest - smallest) / mean, slope * (n - 1.0) / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_exactly_a_fifth_is_steady_and_a_little_more_is_not() {
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
    fn a_line_that_rises_a_tenth_over_the_window_is_steady_and_a_little_more_is_not() {
        let rising = |share: f64| -> Vec<f64> {
            (0..5).map(|i| 1000.0 * (1.0 + share * (f64::from(i) / 4.0 - 0.5))).collect()
        };
        assert!(steady_state(&rising(0.10)).steady_at_end);
        assert!(!steady_state(&rising(0.1001)).steady_at_end);
        let falling: Vec<f64> = rising(0.1001).into_iter().rev().collect();
        assert!(!steady_state(&falling).steady_at_end);
    }

    #[test]
    fn a_fresh_drive_slows_down_until_it_is_steady() {
        let rounds = [200.0, 150.0, 120.0, 104.0, 101.0, 100.0, 99.0, 100.0, 101.0];
        let state = steady_state(&rounds);
        assert_eq!((state.reached_at, state.window.clone(), state.steady_at_end), (Some(7), 3..8, true));
        assert!(state.range_share < 0.06 && state.slope_share < 0.0, "{state:?}");
    }

    #[test]
    fn a_state_that_was_left_again_is_told_apart() {
        let mut rounds = vec![100.0; 6];
        rounds.push(50.0);
        let state = steady_state(&rounds);
        assert_eq!((state.reached_at, state.steady_at_end), (Some(4), false));
    }

    #[test]
    fn fewer_than_five_values_or_none_above_zero_are_not_steady() {
        for rounds in [&[][..], &[100.0; 4], &[0.0; 6], &[f64::NAN; 6]] {
            let state = steady_state(rounds);
            assert_eq!((state.reached_at, state.steady_at_end), (None, false), "{rounds:?}");
        }
        assert_eq!(steady_state(&[100.0; 4]).window, 0..4);
    }
}
