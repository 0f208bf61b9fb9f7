//! A permanent change within one repeat: the rate of its intervals falls at one point and stays low.
//!
//! Location: the change point at which two constant rates fit the intervals best (least squares, weighted by time).
//! Existence: the maximum of the cumulative deviations from the mean (CUSUM; Page 1954, Ploberger and Krämer, Econometrica
//! 60, 1992), whose distribution without a change is that of the largest deviation of a Brownian bridge (Kolmogorov).
//! Intervals depend on each other, so the deviations are scaled by their long-run standard deviation around the two rates:
//! around one mean, a real change would be mistaken for dependence. A slow decline also gives a large CUSUM, so two rates
//! must fit better than a line. The tests count the remaining errors.
//!
//! Repeats of one step are judged together: twice the median of their probabilities is a probability, however they
//! depend on each other (Rüger 1978; Vovk and Wang, Biometrika 107, 2020).

use crate::stats::median;
use crate::transient::Work;
use model::PortableMath;

/// Fewer intervals than this are not tested.
const FEWEST: usize = 12;
/// Each part is at least this share of the repeat …
const SHARE: f64 = 0.2;
/// … and lasts at least this many seconds.
const SECONDS: f64 = 2.0;
/// A smaller fall is not reported.
const FALL: f64 = 0.3;
/// A permanent fall of the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cliff {
    /// Mean rate until then, per second.
    pub before: f64,
    /// Mean rate from then on.
    pub after: f64,
    /// Seconds from the first interval until then.
    pub seconds: f64,
    /// Amount done until then.
    pub amount: f64,
    /// Probability that intervals without a change look like this.
    pub p: f64,
}

/// The likeliest cliff of a series of intervals, however likely by chance. `None` if no change point leaves enough on both
/// sides, if the rate does not fall by at least 30 % there or recovers, or if a line fits better.
pub(crate) fn cliff(intervals: &[Work]) -> Option<Cliff> {
    // The last, partial interval is left out.
    let usual = median(&intervals.iter().map(|w| w.seconds).collect::<Vec<_>>())?;
    let whole: Vec<Work> = intervals.iter().copied().filter(|w| w.seconds > usual / 2.0).collect();
    let n = whole.len();
    if n < FEWEST {
        return None;
    }
    let rates: Vec<f64> = whole.iter().map(|w| w.amount / w.seconds).collect();
    let at = best_change_point(&whole, &rates)?;
    let (before, after) = (mean(&rates[..at]), mean(&rates[at..]));
    if after > before * (1.0 - FALL) || !stays(&rates, at) {
        return None;
    }
    let fitted = |i: usize| if i < at { before } else { after };
    let residuals: Vec<f64> = rates.iter().enumerate().map(|(i, r)| r - fitted(i)).collect();
    if squares(&residuals) >= squares_around_line(&rates) {
        return None;
    }
    let all = mean(&rates);
    let (mut sum, mut largest) = (0.0f64, 0.0f64);
    for rate in &rates {
        sum += rate - all;
        largest = largest.max(sum.abs());
    }
    // Rates have a resolution of a thousandth.
    let deviation = long_run_deviation(&residuals).max(all * 0.001);
    let p = kolmogorov(largest / deviation / (n as f64).sqrt());
    Some(Cliff {
        before,
        after,
        seconds: whole[..at].iter().map(|w| w.seconds).sum(),
        amount: whole[..at].iter().map(|w| w.amount).sum(),
        p,
    })
}

/// The cliff that the repeats of a step have in common: the medians over their cliffs, and the number of repeats that have
/// one. `None` unless most repeats have one.
pub fn common_cliff(repeats: &[Vec<Work>]) -> Option<(Cliff, usize)> {
    let found: Vec<Option<Cliff>> = repeats.iter().map(|r| cliff(r)).collect();
    let cliffs: Vec<Cliff> = found.iter().flatten().copied().collect();
    if cliffs.is_empty() || cliffs.len() * 2 <= repeats.len() {
        return None;
    }
    let middle = |pick: fn(&Cliff) -> f64| median(&cliffs.iter().map(pick).collect::<Vec<_>>());
    let ps: Vec<f64> = found.iter().map(|c| c.map_or(1.0, |c| c.p)).collect();
    let several = if repeats.len() > 1 { 2.0 } else { 1.0 };
    let cliff = Cliff {
        before: middle(|c| c.before)?,
        after: middle(|c| c.after)?,
        seconds: middle(|c| c.seconds)?,
        amount: middle(|c| c.amount)?,
        p: (several * median(&ps)?).min(1.0),
    };
    Some((cliff, cliffs.len()))
}

/// The number of intervals before the change for which two constants fit best, with enough on both sides.
fn best_change_point(whole: &[Work], rates: &[f64]) -> Option<usize> {
    let n = rates.len();
    let total: f64 = whole.iter().map(|w| w.seconds).sum();
    let least = SECONDS.max(SHARE * total);
    let all = mean(rates);
    let (mut sum, mut seconds, mut best) = (0.0, 0.0, None);
    for at in 1..n {
        sum += rates[at - 1] - all;
        seconds += whole[at - 1].seconds;
        if seconds < least - 1e-9 || total - seconds < least - 1e-9 {
            continue;
        }
        // Sum of squares between the two parts.
        let between = sum * sum * n as f64 / (at * (n - at)) as f64;
        if best.is_none_or(|(_, most)| between > most) {
            best = Some((at, between));
        }
    }
    best.map(|(at, _)| at)
}

/// True if the rate does not recover: the last quarter of what follows, and most of it, is below the midpoint of both
/// rates, and most of what precedes is above. A stall does not count; another rule reports it.
fn stays(rates: &[f64], at: usize) -> bool {
    let (before, after) = (&rates[..at], &rates[at..]);
    let middle = f64::midpoint(mean(before), mean(after));
    let share_below = |part: &[f64]| part.iter().filter(|r| **r < middle).count() as f64 / part.len() as f64;
    let tail = &after[after.len() - after.len().div_ceil(4)..];
    let is_stall = after.iter().filter(|r| **r <= 0.0).count() * 2 > after.len();
    share_below(after) >= 0.8 && share_below(before) <= 0.2 && share_below(tail) >= 0.5 && !is_stall
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn squares(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum()
}

/// Sum of squares around the line of least squares.
fn squares_around_line(rates: &[f64]) -> f64 {
    let n = rates.len() as f64;
    let (all, middle) = (mean(rates), (n - 1.0) / 2.0);
    let across: f64 = rates.iter().enumerate().map(|(i, r)| (i as f64 - middle) * (r - all)).sum();
    let positions: f64 = (0..rates.len()).map(|i| (i as f64 - middle).powi(2)).sum();
    let total: f64 = rates.iter().map(|r| (r - all).powi(2)).sum();
    total - across * across / positions
}

/// Square root of the long-run variance of an AR(1) series: the variance times (1 + ρ) ÷ (1 − ρ). The correlation ρ of
/// residuals around two fitted rates is biased by about −(2 + 4 ρ) ÷ n, which is corrected.
fn long_run_deviation(residuals: &[f64]) -> f64 {
    let n = residuals.len() as f64;
    let all = squares(residuals);
    let pairs: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let raw = if all > 0.0 { pairs / all } else { 0.0 };
    // A negative ρ would make the test more liberal than for independent intervals.
    let rho = (raw + (2.0 + 4.0 * raw) / n).clamp(0.0, 0.95);
    // Three parameters were fitted: two rates and a change point.
    (all / (n - 3.0) * (1.0 + rho) / (1.0 - rho)).sqrt()
}

/// Probability that the largest deviation of a Brownian bridge from 0 is above `x` (Kolmogorov 1933).
fn kolmogorov(x: f64) -> f64 {
    if x < 0.3 {
        return 1.0;
    }
    let term = |k: i32| {
        let sign = if k % 2 == 1 { 1.0 } else { -1.0 };
        sign * (-2.0 * f64::from(k * k) * x * x).portable_exp()
    };
    (2.0 * (1..=20).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, Normal, StudentT};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    /// Intervals of half a second at these rates, with noise of `spread` and lag-1 autocorrelation `rho`.
    fn noisy(rng: &mut Xoshiro256PlusPlus, rates: &[f64], spread: f64, rho: f64, heavy: bool) -> Vec<Work> {
        let (normal, t) = (Normal::new(0.0f64, 1.0).unwrap(), StudentT::new(3.0f64).unwrap());
        let mut last = normal.sample(rng);
        let mut intervals = Vec::new();
        for rate in rates {
            let fresh = if heavy { t.sample(rng) / 3f64.sqrt() } else { normal.sample(rng) };
            last = rho * last + (1.0 - rho * rho).sqrt() * fresh;
            intervals.push(Work { seconds: 0.5, amount: rate * 0.5 * (spread * last).portable_exp() });
        }
        intervals
    }

    fn step(before: usize, after: usize, fall: f64) -> Vec<f64> {
        [vec![1e9; before], vec![1e9 * (1.0 - fall); after]].concat()
    }

    #[test]
    fn a_cliff_is_found_with_its_size_and_both_rates() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let found = cliff(&noisy(&mut rng, &step(12, 28, 0.6), 0.05, 0.3, false)).unwrap();
        assert!((found.seconds - 6.0).abs() < 0.6, "{found:?}");
        assert!((found.amount / 6e9 - 1.0).abs() < 0.12 && (found.before / 1e9 - 1.0).abs() < 0.05);
        assert!((found.after / 4e8 - 1.0).abs() < 0.05 && found.p < 0.01, "{found:?}");
    }

    #[test]
    fn stalls_declines_and_small_or_brief_falls_are_no_cliff() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        let mut found = |rates: &[f64]| cliff(&noisy(&mut rng, rates, 0.03, 0.0, false));
        let stall = [step(12, 6, 1.0), vec![1e9; 22]].concat();
        assert_eq!(found(&stall), None, "it recovers");
        let decline: Vec<f64> = (0..40).map(|i| 1e9 * (1.0 - 0.02 * f64::from(i))).collect();
        assert_eq!(found(&decline), None, "a line fits better");
        assert_eq!(found(&step(20, 20, 0.2)), None);
        assert_eq!(found(&step(2, 38, 0.6)).filter(|c| c.seconds < 2.0), None, "a start-up transient");
        assert_eq!(found(&step(3, 3, 0.6)), None, "six intervals");
        let rise: Vec<f64> = step(20, 20, 0.6).into_iter().rev().collect();
        assert_eq!(found(&rise), None);
    }

    #[test]
    fn the_kolmogorov_distribution_has_its_known_quantiles() {
        for (x, p) in [(1.224, 0.10), (1.358, 0.05), (1.628, 0.01)] {
            assert!((kolmogorov(x) - p).abs() < 0.001, "{x}");
        }
    }

    /// Storage without a cliff: how often one is reported at 5 %, for a single repeat and for three. Where intervals are
    /// strongly autocorrelated (ρ = 0.8) and spread by half, twelve of them look like a cliff more often than the level
    /// promises; docs/method/certainty.md documents this.
    #[test]
    fn noise_without_a_change_rarely_has_a_cliff() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        for (spread, rho, heavy, most) in [
            (0.05, 0.0, false, 10),
            (0.3, 0.0, false, 20),
            (0.3, 0.0, true, 20),
            (0.3, 0.5, false, 60),
            (0.5, 0.8, false, 120),
        ] {
            for n in [12, 20, 60] {
                let mut reported = |repeats: usize| {
                    let has_one = |_: &i32| {
                        let repeats: Vec<Vec<Work>> = (0..repeats)
                            .map(|_| noisy(&mut rng, &vec![1e9; n], spread, rho, heavy))
                            .collect();
                        common_cliff(&repeats).is_some_and(|(c, _)| c.p <= 0.05)
                    };
                    (0..1000).filter(has_one).count()
                };
                let (one, three) = (reported(1), reported(3));
                assert!(one <= most && three <= 40, "{one} and {three} of 1000");
            }
        }
    }

    #[test]
    fn a_common_cliff_needs_most_repeats() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
        let found = (0..500)
            .filter(|_| {
                cliff(&noisy(&mut rng, &step(15, 25, 0.5), 0.1, 0.3, false)).is_some_and(|c| c.p <= 0.01)
            })
            .count();
        assert!(found >= 450, "{found} of 500");
        let with = noisy(&mut rng, &step(15, 25, 0.5), 0.05, 0.0, false);
        let without = noisy(&mut rng, &step(40, 0, 0.0), 0.05, 0.0, false);
        assert!(
            common_cliff(&[with.clone(), with.clone(), without.clone()])
                .is_some_and(|(c, n)| c.p < 0.01 && n == 2)
        );
        assert_eq!(common_cliff(&[with.clone(), without.clone(), without]), None);
        assert!(common_cliff(&[with]).is_some());
        assert_eq!(common_cliff(&[]), None);
    }
}
