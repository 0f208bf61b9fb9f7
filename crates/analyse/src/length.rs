//! The length of repeats that decides a comparison soonest.
//!
//! A repeat of length L costs L and what surrounds it, o. The variance of its figure is that of the noise which is the
//! same for a whole repeat, b, and that of the noise within, w/L: many short repeats average b sooner, few long ones waste
//! less of the time on o. For a fixed time, the variance of the mean, (b + w/L)·(L + o), is smallest at L = √(o·w/b): the
//! optimum of two-stage sampling (Cochran, "Sampling Techniques", 1977, section 10.6), with repeats as clusters.

use crate::stats::{mean_and_deviation, t_above};
use model::PortableMath;

/// Rounds of short repeats before a length is chosen.
pub const ROUNDS_TO_CHOOSE: usize = 4;
/// Share of the variance that is always held to be the same for a whole repeat: an estimate from few rounds may be 0.
const LEAST_BETWEEN: f64 = 0.25;
/// A repeat is at least as long as this number of operations: a fraction of an operation more or less is then below 2 %.
const FEWEST_OPERATIONS: f64 = 50.0;
/// The lengths to choose from, as multiples of powers of ten.
const STEPS: [f64; 4] = [1.0, 1.5, 2.0, 5.0];

/// One repeat, as far as the choice of the length depends on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RepeatNoise {
    /// Round.
    pub round: u32,
    /// Number of the target.
    pub target: usize,
    /// Logarithm of the headline figure.
    pub ln: f64,
    /// Variance of the logarithm that comes from the noise within the repeat: that of the mean of its intervals.
    pub within: f64,
}

/// What a length was chosen by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthChoice {
    /// The length in nanoseconds.
    pub length_ns: u64,
    /// Share of the variance of a repeat that would be smaller in a longer one, 0 to 1.
    pub within: f64,
    /// What surrounds a repeat, in nanoseconds.
    pub around_ns: u64,
}

/// The variance of the mean of the rates of intervals of equal length, relative to the mean's square: how far the rate of
/// a repeat is off because of what happened within it. `None` for fewer than four intervals or without a rate.
pub fn variance_within(rates: &[f64]) -> Option<f64> {
    if rates.len() < 4 {
        return None;
    }
    let (mean, deviation) = mean_and_deviation(rates)?;
    (mean > 0.0).then(|| (deviation / mean).powi(2) / rates.len() as f64)
}

/// The length that decides soonest, from repeats of `length_ns` that each cost `around_ns` more. `None` before
/// [`ROUNDS_TO_CHOOSE`] rounds. With several targets the noise between repeats is that of their ratios to the first.
pub fn best_length(repeats: &[RepeatNoise], length_ns: u64, around_ns: u64) -> Option<LengthChoice> {
    let within = repeats.iter().map(|r| r.within).sum::<f64>() / repeats.len().max(1) as f64;
    let total = variance_of_a_repeat(repeats)?;
    let share = if total > 0.0 { (within / total).min(1.0 - LEAST_BETWEEN) } else { 0.0 };
    let factor = (around_ns as f64 / length_ns as f64 * share / (1.0 - share)).sqrt();
    Some(LengthChoice { length_ns: (length_ns as f64 * factor) as u64, within: share, around_ns })
}

/// The variance of the logarithm of one repeat's figure, without what is common to all targets in a round.
fn variance_of_a_repeat(repeats: &[RepeatNoise]) -> Option<f64> {
    let of = |target: usize| repeats.iter().filter(move |r| r.target == target);
    let first = repeats.iter().map(|r| r.target).min()?;
    let others = repeats.iter().map(|r| r.target).filter(|t| *t != first).max();
    let variance = |logs: &[f64]| {
        (logs.len() >= ROUNDS_TO_CHOOSE).then(|| mean_and_deviation(logs).map(|(_, s)| s * s)).flatten()
    };
    let Some(last) = others else {
        return variance(&of(first).map(|r| r.ln).collect::<Vec<_>>());
    };
    let ratios = |target: usize| -> Vec<f64> {
        let base = |round: u32| of(first).find(|r| r.round == round).map(|r| r.ln);
        of(target).filter_map(|r| Some(r.ln - base(r.round)?)).collect()
    };
    // A ratio has the noise of two repeats.
    let all: Vec<f64> = (first + 1..=last).filter_map(|target| variance(&ratios(target))).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64 / 2.0)
}

/// The shortest length in nanoseconds for storage that completes `per_second` operations, of which every `sync_every`-th
/// (0 for none) is followed by a sync, if `least_ns` is the shortest of all.
pub fn shortest_for(per_second: f64, sync_every: u32, least_ns: u64) -> u64 {
    /// Syncs in a repeat, at least.
    const FEWEST_SYNCS: f64 = 10.0;
    let operations = FEWEST_OPERATIONS.max(FEWEST_SYNCS * f64::from(sync_every));
    if per_second > 0.0 { least_ns.max((operations / per_second * 1e9) as u64) } else { u64::MAX }
}

/// The next round length from `ns` on, up to `most_ns`.
pub fn round_length(ns: u64, most_ns: u64) -> u64 {
    let mut power = 1e6;
    while power < 1e19 {
        if let Some(step) = STEPS.iter().map(|step| (step * power) as u64).find(|length| *length >= ns) {
            return step.min(most_ns);
        }
        power *= 10.0;
    }
    most_ns
}

/// Figures of rounds of short and of long repeats: of each the logarithm, as a mean over the targets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShortAndLong {
    /// Of the rounds of short repeats.
    pub short: Vec<f64>,
    /// Of those of long ones.
    pub long: Vec<f64>,
}

/// Short ÷ long, if repeats of the two lengths differ by more than `relevant` (a share) and with less than a chance of
/// `level` by luck. All targets count together: what depends on the length (ramp, caches, read-ahead, clocks) does so for
/// the step. Rounds are the sample, because the repeats of one share a mood of the machine; the spread is that of the
/// short ones, since there are few long ones.
pub fn length_effect(rounds: &ShortAndLong, relevant: f64, level: f64) -> Option<f64> {
    let ShortAndLong { short, long } = rounds;
    let (mean, deviation) = mean_and_deviation(short)?;
    let freedom = short.len() as f64 - 1.0;
    if long.is_empty() || freedom < 3.0 {
        return None;
    }
    let effect = mean - long.iter().sum::<f64>() / long.len() as f64;
    let error = deviation * (1.0 / short.len() as f64 + 1.0 / long.len() as f64).sqrt();
    differs(effect, error, freedom, relevant, level)
}

/// Ratio of two targets that take turns ÷ their ratio where the repeat of one follows that of the other, if it differs as in
/// [`length_effect`]. `rounds` are logarithms of the ratio: short where they take turns, long where not. The latter are few, and
/// each has twice the variance, at most, by which the machine's mood changes a repeat: that of `moods`, the logarithms of the
/// figures of one target.
pub fn turns_effect(rounds: &ShortAndLong, moods: &[f64], relevant: f64, level: f64) -> Option<f64> {
    let ShortAndLong { short, long } = rounds;
    let ((mean, deviation), (_, mood)) = (mean_and_deviation(short)?, mean_and_deviation(moods)?);
    let freedom = short.len() as f64 - 1.0;
    if long.is_empty() || freedom < 3.0 {
        return None;
    }
    let effect = mean - long.iter().sum::<f64>() / long.len() as f64;
    let variance = deviation.powi(2) / short.len() as f64 + 2.0 * mood.powi(2) / long.len() as f64;
    differs(effect, variance.sqrt(), freedom, relevant, level)
}

/// A factor whose logarithm is `effect`, with this standard error, if it is relevant and no luck.
fn differs(effect: f64, error: f64, freedom: f64, relevant: f64, level: f64) -> Option<f64> {
    let p = if error > 0.0 { 2.0 * t_above((effect / error).abs(), freedom) } else { 0.0 };
    (effect.abs() > (1.0 + relevant).portable_ln() && p < level).then(|| effect.portable_exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, Normal};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    /// Repeats of two targets with this noise per repeat and within.
    fn repeats(between: f64, within: f64, rounds: u32) -> Vec<RepeatNoise> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let noise = Normal::new(0.0, (between + within).sqrt()).unwrap();
        let one = |(round, target)| RepeatNoise { round, target, ln: 0.0, within };
        let all = (0..rounds).flat_map(|round| [(round, 0), (round, 1)]).map(one);
        all.map(|r| RepeatNoise { ln: noise.sample(&mut rng), ..r }).collect()
    }

    #[test]
    fn noise_within_makes_repeats_longer_and_noise_between_them_shorter() {
        let (length, around) = (100_000_000, 100_000_000);
        let chosen =
            |between, within| best_length(&repeats(between, within, 2000), length, around).unwrap().length_ns;
        // √(o·w/b), with w = within · L: at equal variances √(o·L).
        let equal = chosen(0.0004, 0.0004) as f64;
        assert!((equal / 1e8 - 1.0).abs() < 0.1, "{equal}");
        assert!(chosen(0.0004, 0.0001) < 60_000_000);
        assert!(chosen(0.0001, 0.0004) > 150_000_000);
        assert!(chosen(0.0, 0.0004) < 200_000_000, "never as if a repeat had no noise of its own");
    }

    #[test]
    fn no_length_is_chosen_from_too_few_rounds() {
        assert_eq!(best_length(&repeats(0.1, 0.1, 3), 100, 100), None);
        assert!(best_length(&repeats(0.1, 0.1, 4), 100, 100).is_some());
        assert_eq!(best_length(&[], 100, 100), None);
        assert_eq!(variance_within(&[1.0, 2.0, 3.0]), None);
        // The variance of 1, 3, 1, 3 is 4/3; relative to the mean 2, and of four values, a twelfth.
        assert!((variance_within(&[1.0, 3.0, 1.0, 3.0]).unwrap() - 1.0 / 12.0).abs() < 1e-12);
    }

    #[test]
    fn slow_storage_gets_long_repeats() {
        const LEAST: u64 = 100_000_000;
        assert_eq!(shortest_for(10_000.0, 0, LEAST), LEAST);
        assert_eq!(shortest_for(100.0, 0, LEAST), 500_000_000, "a disk that seeks");
        assert_eq!(shortest_for(10.0, 0, LEAST), 5_000_000_000, "a card that erases");
        assert_eq!(shortest_for(1000.0, 100, LEAST), 1_000_000_000, "a sync after every hundred writes");
        assert_eq!(shortest_for(0.0, 0, LEAST), u64::MAX);
    }

    #[test]
    fn lengths_are_round_and_bounded() {
        let ms = |ms: u64| ms * 1_000_000;
        assert_eq!(round_length(ms(101), ms(1000)), ms(150));
        assert_eq!(round_length(ms(100), ms(1000)), ms(100));
        assert_eq!(round_length(ms(501), ms(5000)), ms(1000));
        assert_eq!(round_length(ms(501), ms(700)), ms(700));
        assert_eq!(round_length(u64::MAX, ms(700)), ms(700));
    }

    #[test]
    fn an_effect_of_the_length_is_found_and_noise_is_not() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let noise = Normal::new(0.0, 0.05).unwrap();
        let mut draw =
            |middle: f64, n: usize| -> Vec<f64> { (0..n).map(|_| middle + noise.sample(&mut rng)).collect() };
        let mut both = |effect: f64| ShortAndLong { short: draw(effect, 20), long: draw(0.0, 2) };
        let found = length_effect(&both(0.4), 0.03, 0.001).unwrap();
        assert!((found / 0.4f64.portable_exp() - 1.0).abs() < 0.1, "{found}");
        let wrong = (0..1000).filter(|_| length_effect(&both(0.0), 0.03, 0.001).is_some()).count();
        assert!(wrong <= 5, "{wrong} of 1000");
        assert_eq!(length_effect(&ShortAndLong { short: vec![9.0; 20], long: vec![] }, 0.03, 0.001), None);
    }
}
