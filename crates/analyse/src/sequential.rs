//! Tests of log ratios with an interim analysis after every round.
//!
//! Testing after every round and stopping at the first difference finds a difference in the end, whether it is real or
//! not. Two measures keep the error rate. While rounds continue, only an *anytime-valid* test decides:
//! the Bayes factor of a t test with a normal prior on the effect size, which for equal targets is a martingale, so that it
//! ever exceeds 1/α with a chance of at most α (Ville), however often and for whatever reason it is tested
//! (Rouder et al., Psychon. Bull. Rev. 16, 2009, for the formula; Grünwald, de Heide and Koolen, "Safe Testing",
//! J. R. Stat. Soc. B 86, 2024, and Wang and Ramdas, "Anytime-valid t-tests and confidence sequences for Gaussian means
//! with unknown variance", Sequential Analysis, 2025, for what it guarantees). It gets a quarter of the accepted
//! chance of error. One plain t test after the last round gets the rest, as in Haybittle (1971) and Peto et al. (1976),
//! so that a run that the budget ends is judged nearly as sharply as without interim analyses.

use crate::stats::RobustMean;
use model::PortableMath;

/// Share of the accepted error that the interim analyses may use.
pub(crate) const INTERIM_SHARE: f64 = 0.25;
/// Rounds before the first interim analysis: with fewer, a few repeats in one of two modes look like certainty.
pub(crate) const FIRST_INTERIM: usize = 5;
/// The logarithm of the Bayes factor for a mean of other than `mu` over a mean of `mu`, from `n` values with mean
/// `mean` and sum of squared deviations `squares`.
///
/// With ν = n − 1, a variance c² of the prior on the effect size (`prior`), k = 1 + n·c² and t² = n (mean − μ)² ν ÷ squares it is
/// −½ ln k + n/2 · (ln(1 + t²/ν) − ln(1 + t²/(νk))).
fn ln_bayes_factor(n: f64, mean: f64, squares: f64, mu: f64, prior: f64) -> f64 {
    let k = 1.0 + n * prior;
    let distance = n * (mean - mu).powi(2);
    if distance == 0.0 {
        return -0.5 * k.portable_ln();
    }
    // (1 + t²/ν) ÷ (1 + t²/(νk)), which stays finite for values without spread.
    let quotient = (squares + distance) / (squares + distance / k);
    -0.5 * k.portable_ln() + n / 2.0 * quotient.portable_ln()
}

/// True if there is an interim analysis after so many rounds: after each of the first twenty, and then whenever there are
/// a tenth more at most. More would cost time and find hardly anything sooner.
pub(crate) fn is_analysed(rounds: usize) -> bool {
    const EACH: usize = 20;
    rounds >= FIRST_INTERIM && rounds.is_multiple_of(rounds.div_ceil(EACH).next_power_of_two())
}

/// The logarithm of the Bayes factor against a value, so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Evidence(f64);

impl Evidence {
    /// None at all.
    pub const NONE: Self = Self(f64::NEG_INFINITY);

    /// Against a mean of `mu`, for a mean with this error; differences of about one spread of a round are expected, of which
    /// each value has `rounds`.
    pub fn of_mean(RobustMean { mean, error, kept, .. }: RobustMean, mu: f64, rounds: f64) -> Self {
        // The sum of squares of a plain mean with this error.
        let squares = error.powi(2) * kept * (kept - 1.0);
        Self(if (kept as usize) < FIRST_INTERIM {
            f64::NEG_INFINITY
        } else {
            ln_bayes_factor(kept, mean, squares, mu, rounds)
        })
    }

    /// Of an estimate that is `deviations` standard normal deviations away after this number of rounds: the limit of the
    /// Bayes factor for a known variance.
    pub fn of_deviations(deviations: f64, rounds: f64) -> Self {
        let k = 1.0 + rounds;
        let enough = rounds as usize >= FIRST_INTERIM;
        Self(if enough {
            -0.5 * k.portable_ln() + deviations.powi(2) / 2.0 * (1.0 - 1.0 / k)
        } else {
            f64::NEG_INFINITY
        })
    }

    /// The p value that holds for any number of interim analyses.
    pub fn p(self) -> f64 {
        (-self.0).portable_exp().min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, StandardNormal};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn the_bayes_factor_matches_the_published_formula() {
        // n = 9, mean = 1, s = 1: t = 3, ν = 8, k = 10. By hand: 10^-½ · ((1 + 9/8) / (1 + 9/80))^4.5.
        let expected = 10f64.portable_powf(-0.5) * (2.125f64 / 1.1125).portable_powf(4.5);
        assert!((ln_bayes_factor(9.0, 1.0, 8.0, 0.0, 1.0) - expected.portable_ln()).abs() < 1e-12);
        assert!(ln_bayes_factor(9.0, 0.0, 8.0, 0.0, 1.0) < 0.0, "a mean of 0 speaks for 0");
        assert!(ln_bayes_factor(5.0, 1.0, 0.0, 0.0, 1.0).is_finite(), "no spread is no certainty");
    }

    /// docs/method/certainty.md has the error rate of a plain t test after every round.
    #[test]
    fn interim_analyses_keep_the_error_rate() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut wrong = 0;
        for _ in 0..2000 {
            let logs: Vec<f64> = (0..60).map(|_| StandardNormal.sample(&mut rng)).collect();
            let p = |n: usize| Evidence::of_mean(RobustMean::of(&logs[..n]).unwrap(), 0.0, 1.0).p();
            wrong += u32::from((FIRST_INTERIM..=60).any(|n| p(n) <= 0.05));
        }
        assert!(wrong <= 110, "{wrong} of 2000 at a level of 5 %");
        assert!(wrong >= 20, "{wrong} of 2000: it never speaks");
    }
}
