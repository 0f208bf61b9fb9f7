//! Start-up transients: the first part of a repeat runs faster or slower than the rest of it.
//!
//! Existence is tested over repeats, not over intervals: intervals of a repeat depend on each other, so a change-point
//! test within one repeat mistakes any slow oscillation for a change. Here each repeat gives one number for each possible
//! end of the transient, the logarithm of the rate before ÷ the rate after, and Student's t test over the repeats checks
//! whether its mean is 0. That holds for any noise within a repeat. The ends tried are 1, 2, 4, … intervals, at most half
//! of the repeat; each counts as a test (Bonferroni).
//!
//! The length: of the ends with nearly the smallest p, the one after which the mean of all repeats, interval by interval
//! (Welch, "The Statistical Analysis of Simulation Results", 1983), has the smallest marginal standard error, as in White's
//! MSER ("An Effective Truncation Heuristic for Bias Reduction in Simulation Output", Simulation 69, 1997). MSER alone
//! always finds an end, even where there is no transient.

use crate::stats::{mean_and_deviation, median, t_above};
use model::PortableMath;

/// Fewer repeats than this are not tested.
const FEWEST_REPEATS: usize = 3;
/// The accepted chance that a run without a transient is reported to have one.
pub const TRANSIENT_CHANCE: f64 = 0.05;
/// Repeats with fewer intervals are left out.
const FEWEST_INTERVALS: usize = 4;
/// A first part that differs by less does not matter, unless it changes the figure by [`MATTERS_TO_ALL`].
const MATTERS: f64 = 0.05;
/// A change of the repeat's own figure that matters.
const MATTERS_TO_ALL: f64 = 0.01;

/// The work done in one interval of a repeat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Seconds covered.
    pub seconds: f64,
    /// Bytes or operations done in them.
    pub amount: f64,
}

/// A transient that the repeats have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transient {
    /// Number of intervals in the transient.
    pub intervals: usize,
    /// Their duration in seconds, the median over the repeats.
    pub seconds: f64,
    /// Rate in them ÷ rate after them, less 1; the geometric mean over the repeats.
    pub difference: f64,
    /// Figure of the whole repeat ÷ figure of what is after the transient, less 1.
    pub effect: f64,
    /// Number of repeats that show it: at least half of the difference, in the same direction.
    pub shows_in: usize,
    /// Number of repeats tested.
    pub repeats: usize,
    /// Probability that repeats without a transient look like this.
    pub p: f64,
}

/// The most probable transient of some repeats of one step on one target, however likely by chance; each repeat is the
/// series of its measured intervals. `None` if there are fewer than three repeats with four intervals and work in each
/// part, or where the transient does not matter: less than 5 % apart and less than 1 % of the figure, or not in most of
/// the repeats.
pub fn transient(repeats: &[Vec<Work>]) -> Option<Transient> {
    let repeats: Vec<&[Work]> =
        repeats.iter().map(|r| without_tail(r)).filter(|r| r.len() >= FEWEST_INTERVALS).collect();
    let shortest = repeats.iter().map(|r| r.len()).min()?;
    if repeats.len() < FEWEST_REPEATS {
        return None;
    }
    let ends: Vec<usize> =
        std::iter::successors(Some(1), |k| Some(k * 2)).take_while(|k| *k <= shortest / 2).collect();
    let tried: Vec<Transient> =
        ends.iter().filter_map(|end| at_end(&repeats, *end, ends.len())).filter(matters).collect();
    let least = tried.iter().map(|t| t.p).fold(1.0, f64::min);
    // Ends with nearly the smallest p: the choice among them is one of length, not of evidence.
    let error = |t: &&Transient| marginal_error(&repeats, shortest, t.intervals);
    let likely = tried.iter().filter(|t| t.p <= (least * 10.0).min(0.01) || t.p == least);
    let best = likely.min_by(|a, b| error(a).total_cmp(&error(b)))?;
    Some(Transient { p: least, ..*best })
}

/// The repeat without its last interval, if that is partial: shorter than half of the first.
fn without_tail(repeat: &[Work]) -> &[Work] {
    match repeat {
        [rest @ .., last] if rest.first().is_some_and(|first| last.seconds < first.seconds / 2.0) => rest,
        all => all,
    }
}

/// The transient that ends after `end` intervals, as one of `tried` tests.
fn at_end(repeats: &[&[Work]], end: usize, tried: usize) -> Option<Transient> {
    let contrast = |repeat: &&[Work]| {
        let (before, after, all) = (rate(&repeat[..end]), rate(&repeat[end..]), rate(repeat));
        (before > 0.0 && after > 0.0).then(|| ((before / after).portable_ln(), (all / after).portable_ln()))
    };
    let pairs = repeats.iter().map(contrast).collect::<Option<Vec<_>>>()?;
    let contrasts: Vec<f64> = pairs.iter().map(|(difference, _)| *difference).collect();
    let (mean, deviation) = mean_and_deviation(&contrasts)?;
    let n = contrasts.len() as f64;
    // Repeats that agree to the last digit do not prove infinite precision.
    let error = deviation.max(0.001) / n.sqrt();
    let p = (2.0 * t_above(mean.abs() / error, n - 1.0) * tried as f64).min(1.0);
    let effect = pairs.iter().map(|(_, effect)| effect).sum::<f64>() / n;
    let seconds: Vec<f64> = repeats.iter().map(|r| r[..end].iter().map(|work| work.seconds).sum()).collect();
    Some(Transient {
        intervals: end,
        seconds: median(&seconds)?,
        difference: mean.portable_exp_m1(),
        effect: effect.portable_exp_m1(),
        shows_in: contrasts.iter().filter(|c| **c * mean.signum() >= mean.abs() / 2.0).count(),
        repeats: repeats.len(),
        p,
    })
}

fn matters(t: &Transient) -> bool {
    let large = t.difference.abs() >= MATTERS || t.effect.abs() >= MATTERS_TO_ALL;
    large && t.shows_in * 2 > t.repeats && t.shows_in >= FEWEST_REPEATS
}

fn rate(work: &[Work]) -> f64 {
    let (amount, seconds) =
        work.iter().fold((0.0, 0.0), |(amount, seconds), w| (amount + w.amount, seconds + w.seconds));
    if seconds > 0.0 { amount / seconds } else { 0.0 }
}

/// White's statistic on the mean over the repeats of the intervals after the first `end`: their variance divided by their
/// number.
fn marginal_error(repeats: &[&[Work]], intervals: usize, end: usize) -> f64 {
    let profile: Vec<f64> = (end..intervals)
        .map(|i| repeats.iter().map(|r| rate(&r[i..=i]) / rate(r)).sum::<f64>() / repeats.len() as f64)
        .collect();
    let n = profile.len() as f64;
    let mean = profile.iter().sum::<f64>() / n;
    profile.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n.powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, Normal};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    /// Repeats of `length` intervals of half a second at about 100 per second with 5 % noise; the first `start` intervals
    /// run at `factor` times that rate.
    fn repeats(n: usize, length: usize, start: usize, factor: f64) -> Vec<Vec<Work>> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let noise = Normal::new(0.0f64, 0.05).unwrap();
        let mut series = || -> Vec<Work> {
            let factors = (0..length).map(|i| if i < start { factor } else { 1.0 });
            factors
                .map(|f| Work { seconds: 0.5, amount: 50.0 * f * noise.sample(&mut rng).portable_exp() })
                .collect()
        };
        (0..n).map(|_| series()).collect()
    }

    #[test]
    fn a_transient_is_found_with_its_length() {
        let found = transient(&repeats(5, 20, 2, 1.5)).unwrap();
        assert_eq!((found.intervals, found.seconds, found.shows_in, found.repeats), (2, 1.0, 5, 5));
        assert!((found.difference - 0.5).abs() < 0.03, "{found:?}");
        assert!((found.effect - 0.05).abs() < 0.005, "{found:?}");
        assert!(found.p < 1e-4, "{found:?}");
        let slow = transient(&repeats(5, 20, 4, 0.7)).unwrap();
        assert_eq!(slow.intervals, 4);
        assert!((slow.difference + 0.3).abs() < 0.03, "{slow:?}");
    }

    #[test]
    fn five_intervals_are_enough() {
        let found = transient(&repeats(6, 5, 1, 0.8)).unwrap();
        assert_eq!(found.intervals, 1);
        assert!(found.p < 0.01, "{found:?}");
    }

    #[test]
    fn small_or_uncommon_transients_are_not_reported() {
        assert_eq!(transient(&repeats(5, 20, 2, 1.01)), None);
        assert_eq!(transient(&repeats(5, 20, 0, 1.0)), None);
        assert_eq!(transient(&repeats(2, 20, 2, 1.5)), None, "two repeats");
        assert_eq!(transient(&repeats(5, 3, 1, 1.5)), None, "three intervals");
        let mut mixed = repeats(3, 20, 2, 1.5);
        mixed.extend(repeats(4, 20, 0, 1.0));
        assert!(transient(&mixed).is_none_or(|t| t.p > 0.01), "in three of seven: {:?}", transient(&mixed));
    }

    #[test]
    fn a_partial_last_interval_is_left_out() {
        let mut cut = repeats(5, 20, 2, 1.5);
        cut.iter_mut().for_each(|r| r.push(Work { seconds: 0.001, amount: 40.0 }));
        assert_eq!(transient(&cut), transient(&repeats(5, 20, 2, 1.5)));
        assert_eq!(transient(&[]), None);
    }
}
