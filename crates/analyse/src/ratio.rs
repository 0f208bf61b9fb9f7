//! The test of one ratio: of the long-run rates of two targets, or of another metric's values.

use model::{Estimate, Exposure, Plan, PortableMath, Rounds};

use crate::sequential::{Evidence, INTERIM_SHARE};
use crate::stalls::{LongRun, Loss, MOST_WEIGHT, Undisturbed, needed_seconds, pseudo_logs};
use crate::stats::{
    Centre, RobustMean, by_making, normal_above, normal_quantile, t_above, t_at, t_quantile, without_rounds,
};

/// Accepted chance of a wrong claim.
pub(crate) const ALPHA: f64 = 0.05;
/// More rounds than this are not worth forecasting.
const MOST_ROUNDS: f64 = 999.0;
/// No claim needs more standard deviations than this.
pub(crate) const MOST_DEVIATIONS: f64 = 38.0;

/// Blocks of rounds that the error of a ratio is estimated from, at least.
const FEWEST_BLOCKS: usize = 20;
/// Seconds that a block takes in interim analyses, at least: a round of two repeats of a second is one, whatever is lost to
/// rounding.
const BLOCK_SECONDS: f64 = 1.999;

/// Which of a family's hypotheses these p values reject, by Holm's procedure.
pub(crate) fn holm(ps: &[f64]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..ps.len()).collect();
    order.sort_by(|a, b| ps[*a].total_cmp(&ps[*b]));
    let mut rejected = vec![false; ps.len()];
    for (i, index) in order.into_iter().enumerate() {
        if ps[index] > ALPHA / (ps.len() - i) as f64 {
            break;
        }
        rejected[index] = true;
    }
    rejected
}

/// How the values of two targets are paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Values of the same round were measured under the same circumstances.
    ByRound,
    /// By round, with an interim analysis after every round on whether another is needed.
    ByRoundInterim,
    /// The values come from different runs; drift between them is not cancelled.
    None,
    /// Values of one run are paired by round, with or without interim analyses; those of different runs are not paired.
    AcrossRuns {
        /// The runs decided after every round on whether another was needed.
        interim: bool,
    },
}

impl Pairing {
    /// How the values within one run are paired.
    pub fn within(plan: &Plan) -> Self {
        match plan.rounds {
            // Several makings are judged at the end only.
            Rounds::Auto { precision_ppm, .. } if precision_ppm > 0 && plan.makings <= 1 => {
                Self::ByRoundInterim
            }
            _ => Self::ByRound,
        }
    }

    /// How the values of several runs of this plan are paired.
    pub fn across(plan: &Plan) -> Self {
        Self::AcrossRuns { interim: Self::within(plan) == Self::ByRoundInterim }
    }

    /// How values of one run, or of two, are paired.
    pub(crate) fn of(self, is_one_run: bool) -> Self {
        match self {
            Self::AcrossRuns { .. } if !is_one_run => Self::None,
            Self::AcrossRuns { interim: true } => Self::ByRoundInterim,
            Self::AcrossRuns { interim: false } => Self::ByRound,
            other => other,
        }
    }

    /// The method in words, for long-run rates or for other figures.
    pub(crate) fn method(self, is_rate: bool) -> &'static str {
        match (self, is_rate) {
            (Self::ByRound, true) => {
                "ratio of long-run rates (time lost in stalls included), paired by round, 95 % interval; verdict by Holm and TOST"
            }
            (Self::ByRoundInterim, true) => {
                "ratio of long-run rates (time lost in stalls included), paired by round, 95 % interval allowing for the interim analyses; verdict by Holm and TOST over Bayes factors after each round and a test at the end"
            }
            (Self::ByRound, false) => {
                "trimmed mean of paired log ratios by round, 95 % interval; verdict by Holm and TOST"
            }
            (Self::ByRoundInterim, false) => {
                "trimmed mean of paired log ratios by round, 95 % interval allowing for the interim analyses; verdict by Holm and TOST over Bayes factors after each round and a t test at the end"
            }
            (Self::None | Self::AcrossRuns { .. }, true) => {
                "ratio of long-run rates (time lost in stalls included), unpaired (Welch), 95 % interval; drift between runs is not cancelled"
            }
            (Self::None | Self::AcrossRuns { .. }, false) => {
                "trimmed means of unpaired log ratios (Yuen and Welch), 95 % interval; drift between runs is not cancelled"
            }
        }
    }
}

/// What one target contributes to a ratio.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side<'a> {
    /// Round and value.
    pub values: &'a [(u32, f64)],
    /// For long-run rates what each repeat was exposed to; empty for other metrics.
    pub exposures: &'a [Exposure],
    /// How often the target was made.
    pub makings: u32,
}

/// The logarithm of a ratio, as far as it is known.
#[derive(Clone, Debug)]
pub(crate) struct RatioTest {
    /// Between stalls: mean, standard error, and degrees of freedom.
    body: RobustMean,
    freedom: f64,
    /// The same as interim analyses have it, with the rounds that are in a block.
    meanwhile: Option<(RobustMean, f64)>,
    /// The time lost in stalls on the target and on the baseline.
    loss: [Loss; 2],
    /// Rounds so far.
    rounds: f64,
    /// How often the targets were made.
    makings: u32,
    /// Margin of "same", as a logarithm.
    margin: f64,
    /// There were interim analyses.
    interim: bool,
    /// No more rounds will be made.
    has_ended: bool,
}

/// Share of the accepted error that remains for the test at the end.
fn share_at_end(interim: bool) -> f64 {
    if interim { 1.0 - INTERIM_SHARE } else { 1.0 }
}

/// A p value that allows for the interim analyses: a weighted Bonferroni combination of the anytime-valid p and the p of
/// the test at the end.
pub(crate) fn combined(interim: bool, has_ended: bool, anytime: f64, at_end: f64) -> f64 {
    let anytime = if interim { anytime / INTERIM_SHARE } else { 1.0 };
    let at_end = if has_ended { at_end / share_at_end(interim) } else { 1.0 };
    anytime.min(at_end).min(1.0)
}

impl RatioTest {
    /// `None` if either side has fewer than two values, or a value is not positive. `margin` is that of "same", as a share.
    pub fn new(own: Side<'_>, base: Side<'_>, pairing: Pairing, margin: f64, centre: Centre) -> Option<Self> {
        if own.values.iter().chain(base.values).any(|(_, value)| *value <= 0.0) {
            return None;
        }
        let mut test = if own.exposures.is_empty() || base.exposures.is_empty() {
            let (body, freedom) = match pairing {
                Pairing::None => {
                    let of = |side: Side<'_>| sample(&logs(side.values), side.makings, centre);
                    unpaired(of(own)?, of(base)?)
                }
                _ if own.makings > 1 => {
                    with_freedom(centre(&by_making(&paired_logs(own.values, base.values), own.makings))?)
                }
                _ => {
                    with_freedom(centre(&in_blocks(&without_rounds(&paired_logs(own.values, base.values))))?)
                }
            };
            let rounds = own.values.len().min(base.values.len()) as f64;
            let (loss, has_ended) = ([Loss::default(), Loss::default()], true);
            let meanwhile = Some((body, 1.0)).filter(|_| own.makings <= 1);
            Self {
                body,
                freedom,
                meanwhile,
                loss,
                rounds,
                margin: 0.0,
                makings: own.makings,
                interim: false,
                has_ended,
            }
        } else {
            Self::of_rates(own, base, pairing)?
        };
        test.margin = (1.0 + margin).portable_ln();
        test.interim = pairing == Pairing::ByRoundInterim && own.makings <= 1;
        Some(test)
    }

    fn of_rates(own: Side<'_>, base: Side<'_>, pairing: Pairing) -> Option<Self> {
        let (makings, of_base) = (own.makings, base.makings);
        let own = LongRun::of(own.values, own.exposures, makings);
        let base = LongRun::of(base.values, base.exposures, of_base);
        let (body, freedom, meanwhile) = match pairing {
            Pairing::None => {
                let of = |body: &[Undisturbed], makings: u32| {
                    let logs = pseudo_logs(&weighed(body));
                    let rounds = body.iter().map(|round| round.round);
                    sample(&rounds.zip(logs).collect::<Vec<_>>(), makings, RobustMean::plain)
                };
                let (body, freedom) = unpaired(of(&own.body, makings)?, of(&base.body, of_base)?);
                (body, freedom, None)
            }
            _ => {
                let partner = |round: u32| base.body.binary_search_by_key(&round, |r| r.round);
                let both = own.body.iter().filter_map(|r| Some((*r, base.body[partner(r.round).ok()?])));
                let (a, b): (Vec<Undisturbed>, Vec<Undisturbed>) = both.unzip();
                let logs = pseudo_logs(&weighed(&a)).into_iter().zip(pseudo_logs(&weighed(&b)));
                let values: Vec<f64> = logs.map(|(a, b)| a - b).collect();
                let mean = RobustMean::plain(&values)?.mean;
                let of_blocks = |blocks: &[f64]| Some(RobustMean { mean, ..RobustMean::plain(blocks)? });
                if makings > 1 {
                    let rounds = a.iter().map(|round| round.round);
                    let blocks = by_making(&rounds.zip(values).collect::<Vec<_>>(), makings);
                    let (body, freedom) = with_freedom(of_blocks(&blocks)?);
                    // A making is there once, however many rounds it has: more of them are no more evidence of others.
                    (body, freedom, None)
                } else {
                    let (body, freedom) = with_freedom(of_blocks(&in_blocks(&values))?);
                    let mut times: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a.at.min(b.at)).collect();
                    times.extend(a.iter().chain(&b).map(|round| round.end).reduce(f64::max));
                    let blocks = in_long_blocks(&values, &times);
                    let each = values.len() as f64 / blocks.len().max(1) as f64;
                    (body, freedom, of_blocks(&blocks).map(|blocks| (blocks, each)))
                }
            }
        };
        let rounds = (own.body.len() + own.loss.stalls.len()) as f64;
        let loss = [own.loss, base.loss];
        Some(Self {
            body,
            freedom,
            meanwhile,
            loss,
            rounds,
            margin: 0.0,
            makings,
            interim: false,
            has_ended: true,
        })
    }

    /// The same while rounds continue: only tests that hold for any number of interim analyses decide.
    pub fn meanwhile(self) -> Self {
        Self { has_ended: false, ..self }
    }

    /// The same for a ratio to a constant, which cancels nothing of the machine's moods: rounds that resemble each other are as few as
    /// they are worth, also where a quantile depends on their number. The variance of their mean is at least `inflation` times as
    /// large as that of independent rounds, and of at most `freedom` degrees of freedom.
    pub fn against_a_constant(self, inflation: f64, freedom: f64) -> Self {
        let few = |body: RobustMean| {
            let most = inflation.max(body.inflation);
            let error = body.error * (most / body.inflation).sqrt();
            let kept = (body.kept / most).min(freedom + 1.0).max(2.0);
            RobustMean { error, kept, inflation: most, ..body }
        };
        let body = few(self.body);
        let meanwhile = self.meanwhile.map(|(body, each)| (few(body), each));
        // Of several makings each counts.
        if self.makings > 1 { self } else { Self { body, freedom: body.kept - 1.0, meanwhile, ..self } }
    }

    /// The test of the ratio between stalls.
    pub fn between_stalls(&self) -> Self {
        Self { loss: [Loss::default(), Loss::default()], ..self.clone() }
    }

    /// The factor by which the variance of the ratio between stalls is larger than that of independent rounds, or blocks of them.
    pub fn inflation(&self) -> f64 {
        self.body.inflation
    }

    /// True if it is a ratio of long-run rates.
    pub fn is_rate(&self) -> bool {
        self.loss.iter().all(|loss| loss.seconds > 0.0)
    }

    /// True if a stall was seen on either target.
    pub fn has_stalls(&self) -> bool {
        self.loss.iter().any(|loss| !loss.stalls.is_empty())
    }

    /// The time lost on the target and on the baseline.
    pub fn loss(&self) -> &[Loss; 2] {
        &self.loss
    }

    /// The logarithm of the ratio.
    pub fn mean(&self) -> f64 {
        let kept = |loss: &Loss| (1.0 - loss.share()).max(f64::EPSILON).portable_ln();
        self.body.mean + kept(&self.loss[0]) - kept(&self.loss[1])
    }

    /// The limits of the logarithm of the ratio at `z` standard normal deviations. The distances of the three parts to their
    /// limits add up by their squares (Zou and Donner, Statist. Med. 27, 2008).
    fn limits(&self, z: f64) -> (f64, f64) {
        let half = t_at(z, self.freedom) * self.body.error;
        if !self.has_stalls() {
            return (self.body.mean - half, self.body.mean + half);
        }
        let longest = self.loss[0].longest().max(self.loss[1].longest());
        let kept = |share: f64| (1.0 - share).max(f64::EPSILON).portable_ln();
        // The logarithm of what is left, with the distances down and up.
        let [own, base] = self.loss.each_ref().map(|loss| {
            let (low, high) = loss.limits(z, longest);
            let at = kept(loss.share());
            (at - kept(high), kept(low) - at)
        });
        let mean = self.mean();
        let down = (half * half + own.0 * own.0 + base.1 * base.1).sqrt();
        let up = (half * half + own.1 * own.1 + base.0 * base.0).sqrt();
        (mean - down, mean + up)
    }

    /// How many standard normal deviations the ratio is from `mu`.
    fn deviations(&self, mu: f64) -> f64 {
        let mean = self.mean();
        let excludes = |z: f64| if mean > mu { self.limits(z).0 > mu } else { self.limits(z).1 < mu };
        let (mut low, mut high) = (0.0, MOST_DEVIATIONS);
        if mean == mu || excludes(high) {
            return if mean == mu { 0.0 } else { high };
        }
        for _ in 0..30 {
            let middle = f64::midpoint(low, high);
            if excludes(middle) { low = middle } else { high = middle }
        }
        low
    }

    /// The chance of a ratio as far from `mu` as this, on this side, if that were the truth.
    fn chance(&self, mu: f64) -> f64 {
        if self.has_stalls() {
            return normal_above(self.deviations(mu));
        }
        match self.body.error {
            0.0 if self.body.mean == mu => 0.5,
            0.0 => 0.0,
            error => t_above((self.body.mean - mu).abs() / error, self.freedom),
        }
    }

    /// The evidence so far against a ratio of `mu`.
    fn evidence(&self, mu: f64) -> Evidence {
        match self.meanwhile {
            None => Evidence::NONE,
            Some((body, _)) if self.has_stalls() => {
                let meanwhile = Self { body, freedom: body.kept - 1.0, ..self.clone() };
                Evidence::of_deviations(meanwhile.deviations(mu), body.kept.min(self.rounds))
            }
            Some((body, each)) => Evidence::of_mean(body, mu, each),
        }
    }

    /// Share of the accepted error that remains for the test at the end.
    fn share_at_end(&self) -> f64 {
        share_at_end(self.interim)
    }

    fn combined(&self, anytime: f64, at_end: f64) -> f64 {
        combined(self.interim, self.has_ended, anytime, at_end)
    }

    /// The ratio with its 95 % interval: all ratios that the test at the end does not reject.
    pub fn ratio(&self) -> Estimate {
        let p = 1.0 - ALPHA * self.share_at_end() / 2.0;
        let (low, high) = if self.has_stalls() {
            self.limits(normal_quantile(p))
        } else {
            let half = t_quantile(p, self.freedom) * self.body.error;
            (self.body.mean - half, self.body.mean + half)
        };
        Estimate {
            value: self.mean().portable_exp(),
            interval: Some((low.portable_exp(), high.portable_exp())),
        }
    }

    /// Probability of a difference as large as this, either way, if there were none.
    pub fn p_different(&self) -> f64 {
        self.combined(self.evidence(0.0).p(), 2.0 * self.chance(0.0))
    }

    /// True if both one-sided tests show that what was seen is within the margin.
    pub fn looks_same(&self) -> bool {
        let within = self.mean().abs() < self.margin;
        let both = |p: &dyn Fn(f64) -> f64| p(self.margin).max(p(-self.margin));
        // Only one side of each margin counts for "same".
        within && self.combined(0.5 * both(&|mu| self.evidence(mu).p()), both(&|mu| self.chance(mu))) <= ALPHA
    }

    /// Seconds of each target before stalls of `longest` seconds that were not seen cannot matter; `None` for what is no rate.
    pub fn needed_seconds(&self, longest: f64) -> Option<f64> {
        self.is_rate().then(|| needed_seconds(longest, self.margin.portable_exp_m1(), ALPHA))
    }

    /// Seconds that were measured on the target of which less was.
    pub fn seconds(&self) -> f64 {
        self.loss[0].seconds.min(self.loss[1].seconds)
    }

    /// Further rounds until each target was measured for this long.
    pub fn rounds_for(&self, seconds: f64) -> Option<u32> {
        let more = (seconds / self.seconds() - 1.0) * self.rounds;
        (more.is_finite() && more <= MOST_ROUNDS).then(|| more.ceil() as u32)
    }

    /// Further rounds for a verdict in nine of ten cases, if the ratio is as estimated and the spread stays the same.
    /// `None` also where only more makings would.
    pub fn more_rounds(&self, alpha: f64) -> Option<u32> {
        const Z_POWER: f64 = 1.2816;
        let (margin, share, mean) = (self.margin, self.share_at_end(), self.mean());
        let (distance, p) = if mean.abs() > margin {
            (mean.abs(), 1.0 - alpha * share / 2.0)
        } else {
            (margin - mean.abs(), 1.0 - ALPHA * share)
        };
        let error = match self.limits(1.0) {
            _ if !self.has_stalls() => self.body.error,
            (low, _) if mean > 0.0 => mean - low,
            (_, high) => high - mean,
        };
        let per_round = error * self.rounds.sqrt();
        let enough = |rounds: f64| {
            let needed = (t_quantile(p, rounds - 1.0) + Z_POWER) * per_round / rounds.sqrt();
            distance >= needed
        };
        // The required distance shrinks with every round, so bisection finds the first number that is enough.
        let (mut low, mut high) = (self.rounds, MOST_ROUNDS);
        if self.makings > 1 || !enough(high) {
            return None;
        }
        while high - low > 1.0 {
            let middle = ((low + high) / 2.0).floor();
            if enough(middle) { high = middle } else { low = middle }
        }
        Some((high - self.rounds) as u32)
    }
}

/// The means of blocks of consecutive rounds, at least [`FEWEST_BLOCKS`] of them, with the same number of rounds each to within
/// one; the rounds themselves if there are fewer than twice as many.
///
/// Where the difference of two targets changes slowly, in the course of many rounds, a round resembles not only the one
/// before it, and a correction by the lag-1 autocorrelation sees a small part of that. Blocks are long enough to be nearly
/// independent (the method of batch means: Conway, Manage. Sci. 10, 1963; Law and Kelton, "Simulation Modeling and Analysis").
fn in_blocks(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    let size = match n / FEWEST_BLOCKS {
        0 | 1 => return values.to_vec(),
        // Powers of two, so that the size of blocks stays the same while there are up to twice as many rounds.
        size => (size + 1).next_power_of_two() / 2,
    };
    let count = n / size;
    let block = |i: usize| &values[i * n / count..(i + 1) * n / count];
    (0..count).map(|i| block(i).iter().sum::<f64>() / block(i).len() as f64).collect()
}

/// Blocks of rounds as [`in_blocks`], which also last for [`BLOCK_SECONDS`] each; `times` has the second in which each round
/// began, and the one in which the last has ended.
///
/// A difference that has lasted for three seconds may be over after ten: however many rounds they had, seconds that resemble
/// each other are one piece of evidence.
fn in_long_blocks(values: &[f64], times: &[f64]) -> Vec<f64> {
    let fewest = values.len() / in_blocks(values).len().max(1);
    let mut blocks: Vec<&[f64]> = Vec::new();
    let mut begin = 0;
    for end in 1..=values.len() {
        if times[end] - times[begin] >= BLOCK_SECONDS && end - begin >= fewest {
            blocks.push(&values[begin..end]);
            begin = end;
        }
    }
    blocks.into_iter().map(|block| block.iter().sum::<f64>() / block.len() as f64).collect()
}

fn with_freedom(mean: RobustMean) -> (RobustMean, f64) {
    (mean, mean.kept - 1.0)
}

fn logs(values: &[(u32, f64)]) -> Vec<(u32, f64)> {
    values.iter().map(|(round, value)| (*round, value.portable_ln())).collect()
}

/// Log ratios of the rounds that both have.
fn paired_logs(own: &[(u32, f64)], base: &[(u32, f64)]) -> Vec<(u32, f64)> {
    let other = |round: u32| base.iter().find(|(r, _)| *r == round).map(|(_, value)| *value);
    own.iter()
        .filter_map(|(round, value)| Some((*round, value.portable_ln() - other(*round)?.portable_ln())))
        .collect()
}

/// The mean of one side. Rounds that resemble each other are as few as they are worth; makings, and the machines of a group, have
/// no order in which one could resemble the one before it.
fn sample(values: &[(u32, f64)], makings: u32, centre: Centre) -> Option<RobustMean> {
    let mean = centre(&by_making(values, makings))?;
    Some(if makings > 1 {
        RobustMean { error: mean.error / mean.inflation.sqrt(), inflation: 1.0, ..mean }
    } else {
        RobustMean { kept: (mean.kept / mean.inflation).max(2.0), ..mean }
    })
}

/// The difference of two means, with Welch's and Satterthwaite's degrees of freedom.
fn unpaired(a: RobustMean, b: RobustMean) -> (RobustMean, f64) {
    let (va, vb) = (a.error.powi(2), b.error.powi(2));
    let shares = va.powi(2) / (a.kept - 1.0) + vb.powi(2) / (b.kept - 1.0);
    let freedom = if shares > 0.0 { (va + vb).powi(2) / shares } else { a.kept + b.kept - 2.0 };
    let kept = a.kept.min(b.kept);
    let (mean, error) = (a.mean - b.mean, (va + vb).sqrt());
    (RobustMean { mean, error, kept, inflation: 1.0 }, freedom)
}

/// Rates with their weights.
fn weighed(body: &[Undisturbed]) -> Vec<(f64, f64)> {
    body.iter().map(|round| (round.rate, round.weight.min(MOST_WEIGHT))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of 0.1 s with about 100 operations, of which every `each`-th (0 for none) has a stall of half a second.
    fn rates(rounds: u32, each: u32, shift: u32) -> (Vec<(u32, f64)>, Vec<Exposure>) {
        let of = |round: u32| {
            let work = 100.0 + f64::from((round + shift) * 7 % 5) - 2.0;
            let stalls = u32::from(each > 0 && round % each == each / 2);
            let seconds = 0.1 + 0.5 * f64::from(stalls);
            let lost = 0.5 * f64::from(stalls);
            let at = 0.3 * f64::from(round);
            ((round, work / seconds), Exposure { round, at, seconds, work, lost, stalls })
        };
        (0..rounds).map(of).unzip()
    }

    fn test(own: &(Vec<(u32, f64)>, Vec<Exposure>), base: &(Vec<(u32, f64)>, Vec<Exposure>)) -> RatioTest {
        let side = |rates| -> Side<'_> {
            let (values, exposures): &(Vec<(u32, f64)>, Vec<Exposure>) = rates;
            Side { values, exposures, makings: 1 }
        };
        RatioTest::new(side(own), side(base), Pairing::ByRound, 0.03, RobustMean::of).unwrap()
    }

    #[test]
    fn a_target_that_stalls_is_slower_in_the_long_run_and_the_same_between_stalls() {
        let (steady, stalling) = (rates(200, 0, 0), rates(200, 20, 2));
        let found = test(&stalling, &steady);
        // 20 s of work and 5 s of stalls against 20 s.
        assert!((found.mean() - 0.8f64.portable_ln()).abs() < 0.005, "{found:?}");
        assert!(found.p_different() < 0.01 && !found.looks_same());
        let (low, high) = found.ratio().interval.unwrap();
        assert!(low < 0.75 && high < 0.95 && high > 0.82, "{low} {high}");
        assert!(found.between_stalls().looks_same());
        assert!(test(&steady, &steady).looks_same());
    }

    #[test]
    fn few_stalls_leave_it_open_and_none_say_nothing_about_the_seconds_needed() {
        let (steady, once) = (rates(20, 0, 0), rates(20, 20, 2));
        let found = test(&once, &steady);
        assert!(!found.looks_same() && found.p_different() > 0.05, "{}", found.p_different());
        let equal = test(&steady, &rates(20, 0, 2));
        assert!(equal.looks_same() && equal.seconds() < equal.needed_seconds(0.0).unwrap());
        assert_eq!(equal.rounds_for(4.0), Some(20));
    }

    #[test]
    fn a_difference_that_changes_slowly_is_not_taken_for_one_that_lasts() {
        // Faster by 2 % for fifty rounds and slower for as many, below noise of as much: 200 rounds are worth few.
        let slow = |round: u32| if (round / 50).is_multiple_of(2) { 1.02 } else { 1.0 / 1.02 };
        let (mut own, base) = (rates(200, 0, 0), rates(200, 0, 2));
        own.1.iter_mut().for_each(|e| e.work *= slow(e.round));
        own.0 = own.1.iter().map(|e| (e.round, e.work / e.seconds)).collect();
        let (low, high) = test(&own, &base).ratio().interval.unwrap();
        assert!(low < 0.985 && high > 1.015, "{low} {high}");
        let (low, high) = test(&rates(200, 0, 0), &base).ratio().interval.unwrap();
        assert!(low > 0.995 && high < 1.005, "{low} {high}");
    }

    #[test]
    fn rounds_within_two_seconds_are_one_piece_of_evidence() {
        let values: Vec<f64> = (0..9).map(f64::from).collect();
        let times = |each: f64| (0..=9).map(|i| f64::from(i) * each).collect::<Vec<_>>();
        assert_eq!(in_long_blocks(&values, &times(2.0)), values);
        assert_eq!(in_long_blocks(&values, &times(1.1)), [0.5, 2.5, 4.5, 6.5]);
        assert_eq!(in_long_blocks(&values, &times(0.5)), [1.5, 5.5]);
        // After a long first round the others are short.
        let after: Vec<f64> =
            [0.0].into_iter().chain(times(0.5).into_iter().map(|t| t + 10.0)).take(10).collect();
        assert_eq!(in_long_blocks(&values, &after), [0.0, 2.5, 6.5]);
        assert_eq!(in_long_blocks(&values[..1], &[0.0, 1.0]), [0.0; 0]);
    }

    #[test]
    fn blocks_have_all_rounds_and_stay_the_same_while_there_are_few_more() {
        let values: Vec<f64> = (0..79).map(f64::from).collect();
        assert_eq!(in_blocks(&values[..39]), values[..39]);
        assert_eq!(in_blocks(&values[..40])[..3], [0.5, 2.5, 4.5]);
        assert_eq!(in_blocks(&values[..78]).len(), 39);
        for n in 2..500 {
            let values: Vec<f64> = (0..n).map(f64::from).collect();
            let blocks = in_blocks(&values);
            assert!(
                blocks.len() == values.len() || (FEWEST_BLOCKS..2 * FEWEST_BLOCKS).contains(&blocks.len())
            );
        }
    }

    #[test]
    fn the_chance_of_a_ratio_is_that_of_its_limits() {
        let found = test(&rates(200, 20, 2), &rates(200, 40, 0));
        for z in [1.0, 1.96, 3.0] {
            let (low, high) = found.limits(z);
            assert!((found.deviations(low) - z).abs() < 1e-3 && (found.deviations(high) - z).abs() < 1e-3);
        }
        assert_eq!(found.deviations(found.mean()), 0.0);
    }

    #[test]
    fn of_targets_that_were_made_several_times_the_makings_are_the_sample() {
        // Ten rounds on each of three makings, of which one is a tenth faster; rounds differ by a thousandth.
        let value =
            |round: u32| 100.0 * f64::from([10, 11, 10][round as usize % 3]) + f64::from(round / 3 % 2);
        let own: Vec<(u32, f64)> = (0..30).map(|round| (round, value(round))).collect();
        let base: Vec<(u32, f64)> = (0..30).map(|round| (round, 1000.0)).collect();
        let of = |makings: u32| {
            let side = |values| Side { values, exposures: &[], makings };
            RatioTest::new(side(&own), side(&base), Pairing::ByRound, 0.03, RobustMean::plain).unwrap()
        };
        let (once, several) = (of(1), of(3));
        assert!((once.mean() - several.mean()).abs() < 1e-12);
        assert!(once.p_different() < 0.01, "{}", once.p_different());
        // The logarithms of the makings' means are about 0, 0.095 and 0: t = 1 with two degrees of freedom.
        assert!((several.p_different() - 0.42).abs() < 0.01, "{}", several.p_different());
        assert_eq!(several.more_rounds(0.05), None);
        // What a damaged log says: each round is a making.
        assert!((of(u32::MAX).p_different() - of(30).p_different()).abs() < 1e-12);
    }
}
