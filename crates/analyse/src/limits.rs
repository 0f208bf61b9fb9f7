//! Tests of a figure against a limit.

use model::{Estimate, PortableMath};

use crate::percentile::freedom;
use crate::ratio::{MOST_DEVIATIONS, Pairing, RatioTest, Side, combined};
use crate::sequential::Evidence;
use crate::stalls::{FLOOR_SECONDS, Loss, needed_seconds};
use crate::stats::{RobustMean, normal_above, normal_quantile, serial_inflation};

/// How sure it is on which side of its limit a figure is.
pub(crate) enum LimitTest {
    /// The ratio of the figure to its limit.
    Ratio(RatioTest),
    /// The share of the time lost in stalls.
    Lost(LostTest),
    /// So many of what must not be at all.
    Count(f64),
}

impl LimitTest {
    /// Probability of a figure as far from its limit as this, either way, if it were the limit.
    pub fn p_different(&self) -> f64 {
        match self {
            Self::Ratio(test) => test.p_different(),
            Self::Lost(test) => test.p_different(),
            Self::Count(_) => 0.0,
        }
    }

    /// Further rounds for a verdict in nine of ten cases, if the figure is as estimated.
    pub fn more_rounds(&self, alpha: f64) -> Option<u32> {
        match self {
            Self::Ratio(test) => test.more_rounds(alpha),
            Self::Lost(test) => test.more_rounds(alpha),
            Self::Count(_) => None,
        }
    }

    /// The figure, given its limit.
    pub fn figure(&self, limit: f64) -> Estimate {
        match self {
            Self::Ratio(test) => {
                let ratio = test.ratio();
                let interval = ratio.interval.map(|(low, high)| (low * limit, high * limit));
                Estimate { value: ratio.value * limit, interval }
            }
            Self::Lost(test) => test.share(),
            Self::Count(count) => Estimate { value: *count, interval: None },
        }
    }
}

/// Test of the share of the time that stalls take. What was not seen may yet be: without a stall the share is below a limit as soon as one of
/// [`FLOOR_SECONDS`] would have been seen.
pub(crate) struct LostTest {
    loss: Loss,
    rounds: f64,
    limit: f64,
    interim: bool,
    has_ended: bool,
}

impl LostTest {
    /// Of the rate of each round and what its repeat was exposed to; `None` without either. Several makings are judged at the end only.
    pub fn new(side: Side<'_>, limit: f64, pairing: Pairing, meanwhile: bool) -> Option<Self> {
        let loss = Loss::of(side.values, side.exposures, side.makings);
        let interim = pairing == Pairing::ByRoundInterim && side.makings <= 1;
        let rounds = side.values.len() as f64;
        (loss.seconds > 0.0).then_some(Self { loss, rounds, limit, interim, has_ended: !meanwhile })
    }

    fn share(&self) -> Estimate {
        let interval = self.loss.limits(normal_quantile(0.975), FLOOR_SECONDS);
        Estimate { value: self.loss.share(), interval: Some(interval) }
    }

    /// How many standard normal deviations the share is from the limit.
    fn deviations(&self) -> f64 {
        let is_below = self.loss.share() < self.limit;
        let excludes = |z: f64| {
            let (low, high) = self.loss.limits(z, FLOOR_SECONDS);
            if is_below { high < self.limit } else { low > self.limit }
        };
        let (mut low, mut high) = (0.0, MOST_DEVIATIONS);
        for _ in 0..30 {
            let middle = f64::midpoint(low, high);
            if excludes(middle) { low = middle } else { high = middle }
        }
        low
    }

    fn p_different(&self) -> f64 {
        let z = self.deviations();
        let anytime = Evidence::of_deviations(z, self.rounds).p();
        combined(self.interim, self.has_ended, anytime, 2.0 * normal_above(z))
    }

    fn more_rounds(&self, alpha: f64) -> Option<u32> {
        let times = if self.loss.stalls.is_empty() {
            let seconds = needed_seconds(0.0, self.limit / (1.0 - self.limit), alpha / 2.0);
            seconds / self.loss.seconds
        } else if !self.loss.by_making.is_empty() {
            // More makings would.
            return None;
        } else {
            // The deviations grow as the square root of the time.
            let needed = normal_quantile(1.0 - alpha / 2.0) + normal_quantile(0.9);
            (needed / self.deviations()).powi(2)
        };
        Some(((times - 1.0) * self.rounds).ceil().max(1.0) as u32).filter(|more| *more < 1_000_000)
    }
}

/// For each round a value whose mean is the logarithm of the spread of the rates: their standard deviation ÷ their mean. The values are those of the
/// jackknife (Tukey 1958; Miller, Biometrika 61, 1974, for the logarithm of a variance). Rounds that resemble each other scatter less
/// around their own mean than around that of a longer run; the variance has as many degrees of freedom fewer. `None` for fewer than
/// five rounds, or so many that are alike.
pub(crate) fn spread_logs(rates: &[(u32, f64)]) -> Option<(Vec<(u32, f64)>, f64)> {
    const FEWEST: usize = 5;
    /// Less is not told from no spread at all.
    const LEAST: f64 = 1e-9;
    let values: Vec<f64> = rates.iter().map(|(_, rate)| *rate).collect();
    let n = values.len() as f64;
    let alike = serial_inflation(&values);
    if values.len() < FEWEST || n < alike + 2.0 {
        return None;
    }
    let (sum, squares) =
        values.iter().fold((0.0, 0.0), |(sum, squares), value| (sum + value, squares + value * value));
    let log = |n: f64, sum: f64, squares: f64| {
        let mean = sum / n;
        let variance = (squares - n * mean * mean).max(0.0) / (n - alike);
        (variance.sqrt() / mean).max(LEAST).portable_ln()
    };
    let whole = log(n, sum, squares);
    let without = |value: f64| log(n - 1.0, sum - value, squares - value * value);
    let each = rates.iter().map(|(round, rate)| (*round, n * whole - (n - 1.0) * without(*rate)));
    Some((each.collect(), alike))
}

/// Test of the spread of rates against a limit.
pub(crate) fn spread_test(rates: Side<'_>, limit: f64, pairing: Pairing) -> Option<RatioTest> {
    const MOST: f64 = 300.0;
    let (logs, alike) = spread_logs(rates.values)?;
    let values: Vec<(u32, f64)> =
        logs.iter().map(|(round, log)| (*round, log.clamp(-MOST, MOST).portable_exp())).collect();
    let limits: Vec<(u32, f64)> = values.iter().map(|(round, _)| (*round, limit)).collect();
    let side = |values| Side { values, exposures: &[], makings: rates.makings };
    let mean = logs.iter().map(|(_, log)| log).sum::<f64>() / logs.len() as f64;
    let free = freedom(&logs.iter().map(|(_, log)| log - mean).collect::<Vec<_>>());
    let test = RatioTest::new(side(&values), side(&limits), pairing, 0.0, RobustMean::plain)?;
    Some(test.against_a_constant(alike, free))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Exposure;
    use rand_distr::{Distribution, StandardNormal};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    /// Rates of which each resembles the previous one by `rho`, with a spread of 5 %.
    fn rates(rng: &mut Xoshiro256PlusPlus, rounds: u32, rho: f64) -> Vec<(u32, f64)> {
        let mut last: f64 = StandardNormal.sample(rng);
        let mut value = |round| {
            let fresh: f64 = StandardNormal.sample(rng);
            last = rho * last + (1.0 - rho * rho).sqrt() * fresh;
            (round, 100.0 * (1.0 + 0.05 * last))
        };
        (0..rounds).map(&mut value).collect()
    }

    #[test]
    fn the_spread_is_that_of_the_rates_and_its_verdicts_keep_their_error_rate() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let test = |values: &[(u32, f64)], limit| {
            let side = Side { values, exposures: &[], makings: 1 };
            spread_test(side, limit, Pairing::ByRoundInterim)
        };
        for rho in [0.0, 0.5] {
            let [mut wrong, mut right] = [0; 2];
            for _ in 0..400 {
                let all = rates(&mut rng, 60, rho);
                let is_told = |n: usize, limit, is_above: bool| {
                    let Some(test) = test(&all[..n], limit) else { return false };
                    let test = if n < 60 { test.meanwhile() } else { test };
                    (test.ratio().value > 1.0) == is_above && test.p_different() <= 0.05
                };
                // A little above the limit and "met", from the rounds on that this needs; a little below it and "missed".
                wrong += u32::from((29..=60).any(|n| is_told(n, 0.0485, false)));
                wrong += u32::from((5..=60).any(|n| is_told(n, 0.0515, true)));
                right += u32::from(is_told(60, 0.1, false)) + u32::from(is_told(60, 0.025, true));
            }
            assert!(wrong <= 40, "{wrong} of 800 wrong at a resemblance of {rho}");
            assert!(right >= 700, "{right} of 800 right at twice and half the limit, at {rho}");
        }
        let same: Vec<(u32, f64)> = (0..10).map(|round| (round, 100.0)).collect();
        assert!(test(&same, 0.01).unwrap().ratio().value < 1e-3);
        assert!(test(&same[..4], 0.01).is_none());
    }

    /// Rounds of 0.5 s, of which each has a stall of 0.6 s with this chance.
    fn stalling(rng: &mut Xoshiro256PlusPlus, rounds: u32, chance: f64) -> (Vec<(u32, f64)>, Vec<Exposure>) {
        let mut round = |round: u32| {
            let is_stalled = (rng.next_u64() as f64) < chance * u64::MAX as f64;
            let (lost, stalls) = if is_stalled { (0.6, 1) } else { (0.0, 0) };
            let seconds = 0.5 + lost;
            let exposure = Exposure { round, at: f64::from(round), seconds, work: 50.0, lost, stalls };
            ((round, 50.0 / seconds), exposure)
        };
        (0..rounds).map(&mut round).unzip()
    }

    #[test]
    fn time_lost_in_stalls_is_judged_also_where_none_was_seen() {
        let test = |(rates, exposures): &(Vec<(u32, f64)>, Vec<Exposure>), limit, meanwhile| {
            let side = Side { values: rates, exposures, makings: 1 };
            LostTest::new(side, limit, Pairing::ByRoundInterim, meanwhile).unwrap()
        };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(8);
        let none = stalling(&mut rng, 60, 0.0);
        assert!(test(&none, 0.10, false).p_different() <= 0.05, "30 s without a stall");
        let short = test(&none, 0.01, false);
        assert!(short.p_different() > 0.05, "30 s cannot tell of 1 %");
        let more = short.more_rounds(0.05).unwrap();
        assert!((200..1500).contains(&more), "{more}");
        assert_eq!(short.share().value, 0.0);
        assert!(short.share().interval.is_some_and(|(low, high)| low == 0.0 && high > 0.01));
        // One stall in ten rounds: 0.06 s of each 0.56 s are lost, 10.7 %.
        let [mut wrong, mut right] = [0; 2];
        for _ in 0..400 {
            let all = stalling(&mut rng, 120, 0.1);
            let of = |n: usize| (all.0[..n].to_vec(), all.1[..n].to_vec());
            let is_told = |n: usize, limit, is_above: bool| {
                let test = test(&of(n), limit, n < 120);
                (test.share().value > limit) == is_above && test.p_different() <= 0.05
            };
            wrong += u32::from((5..=120).step_by(5).any(|n| is_told(n, 0.104, false)));
            wrong += u32::from((5..=120).step_by(5).any(|n| is_told(n, 0.11, true)));
            right += u32::from(is_told(120, 0.3, false)) + u32::from(is_told(120, 0.03, true));
        }
        assert!(wrong <= 40, "{wrong} of 800 wrong");
        assert!(right >= 700, "{right} of 800 right");
    }

    /// Four makings, of which each has its own chance of stalls and its own spread: the verdicts allow for that luck, and those that count
    /// rounds do not.
    #[test]
    fn of_several_makings_the_time_lost_and_the_spread_allow_for_their_luck() {
        const MAKINGS: u32 = 4;
        /// On average: 0.6 s in each tenth round.
        const CHANCE: f64 = 0.1;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
        let luck = |rng: &mut Xoshiro256PlusPlus| -> f64 {
            let normal: f64 = StandardNormal.sample(rng);
            (0.5 * normal - 0.125).portable_exp()
        };
        let share = CHANCE * 0.6 / (0.5 + CHANCE * 0.6);
        let [mut wrong, mut right] = [[0; 2]; 2];
        for _ in 0..400 {
            let lucks: Vec<f64> = (0..MAKINGS).map(|_| luck(&mut rng)).collect();
            let of = |rng: &mut Xoshiro256PlusPlus, making: u32| {
                stalling(rng, 60, CHANCE * lucks[making as usize])
            };
            let each: Vec<_> = (0..MAKINGS).map(|making| of(&mut rng, making)).collect();
            let all = (0..60 * MAKINGS).map(|round| {
                let (rates, exposures) = &each[(round % MAKINGS) as usize];
                let place = (round / MAKINGS) as usize;
                ((round, rates[place].1), Exposure { round, ..exposures[place] })
            });
            let (rates, exposures): (Vec<_>, Vec<_>) = all.unzip();
            for (i, makings) in [1, MAKINGS].into_iter().enumerate() {
                let is_told = |limit, is_above: bool, meanwhile| {
                    let side = Side { values: &rates, exposures: &exposures, makings };
                    let test = LostTest::new(side, limit, Pairing::ByRoundInterim, meanwhile).unwrap();
                    (test.share().value > limit) == is_above && test.p_different() <= 0.05
                };
                wrong[i] += u32::from(is_told(share, true, false) || is_told(share, false, false));
                right[i] += u32::from(is_told(4.0 * share, false, false));
                assert!(makings == 1 || !is_told(4.0 * share, false, true), "makings are judged at the end");
            }
        }
        assert!(wrong[1] <= 32 && wrong[0] > 2 * wrong[1], "{wrong:?} of 400 wrong");
        assert!(right[1] >= 300, "{right:?} of 400 right");

        let [mut wrong, mut right] = [[0; 2]; 2];
        for _ in 0..400 {
            let spreads: Vec<f64> = (0..MAKINGS).map(|_| 0.05 * luck(&mut rng)).collect();
            let rate = |round: u32| {
                let normal: f64 = StandardNormal.sample(&mut rng);
                (round, 100.0 * (1.0 + spreads[(round % MAKINGS) as usize] * normal))
            };
            let rates: Vec<(u32, f64)> = (0..60 * MAKINGS).map(rate).collect();
            // The mean of the squares of all makings: exp(0.5²) of the square of their mean.
            let truth = 0.05 * 0.125f64.portable_exp();
            for (i, makings) in [1, MAKINGS].into_iter().enumerate() {
                let side = Side { values: &rates, exposures: &[], makings };
                let is_told =
                    |limit| spread_test(side, limit, Pairing::ByRound).unwrap().p_different() <= 0.05;
                wrong[i] += u32::from(is_told(truth));
                right[i] += u32::from(is_told(4.0 * truth));
            }
        }
        // Four values of such a skew are few for an interval: more than one in twenty, but not two in three.
        assert!(wrong[1] <= 60 && wrong[0] > 2 * wrong[1], "{wrong:?} of 400 wrong");
        assert!(right[1] >= 300, "{right:?} of 400 right");
    }
}
