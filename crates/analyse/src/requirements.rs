//! Verdicts on requirements: does the storage reach its limits?
//!
//! A requirement is a comparison of a figure with a target that has the limit in every round ([`RatioTest`]): rates are those of the
//! long run, stalls included, percentiles those of all rounds together. Rounds are the unit, never operations, which depend on
//! each other. A limit may be a share of the figure on another target or in an earlier run; the verdict is then on the ratio, paired
//! by round or unpaired. The requirements of a profile on a target are one family (Holm), so that at most one profile in twenty is called
//! met or missed wrongly in any of its figures, also where the rounds end as soon as all is decided.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Bound, EarlierFigure, Estimate, Exposure, Ladder, Measurement, Metric, Operation, Plan, PortableMath,
    Reference, Requirement, Run,
};

use crate::compare::{Series, centre, headline};
use crate::limits::{LimitTest, LostTest, spread_test};
use crate::measure::Counts;
use crate::percentile::freedom;
use crate::ratio::{ALPHA, Pairing, RatioTest, Side, holm};
use crate::sequential::is_analysed;
use crate::stalls::needed_seconds;
use crate::stats::{mean_and_deviation, normal_quantile, serial_inflation};

/// Whether a requirement is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The figure is on the right side of the limit.
    Met,
    /// It is on the wrong side.
    Missed,
    /// It cannot be told yet.
    Undecided,
}

impl Standing {
    /// The word that tables and exports have.
    pub fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::Undecided => "undecided",
        }
    }

    /// What a profile is whose requirements stand like this: missed if one is, met if all are.
    pub fn of_all(standings: impl IntoIterator<Item = Self>) -> Self {
        standings.into_iter().fold(Self::Met, |all, one| match (all, one) {
            (Self::Missed, _) | (_, Self::Missed) => Self::Missed,
            (Self::Undecided, _) | (_, Self::Undecided) => Self::Undecided,
            (Self::Met, Self::Met) => Self::Met,
        })
    }
}

/// A requirement with what was found of it on one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The requirement.
    pub requirement: Requirement,
    /// Target's name.
    pub target: String,
    /// The figure, in the unit of its metric or as a share of what the limit is relative to, with its 95 % interval; `None` where it was
    /// not measured.
    pub figure: Option<Estimate>,
    /// Whether it is reached.
    pub standing: Standing,
    /// How many times as good as the limit the figure is: above 1 on the right side of it.
    pub headroom: Option<f64>,
    /// Rounds that it rests on.
    pub rounds: u32,
    /// Operations that it rests on.
    pub operations: u64,
    /// Of an undecided one the further rounds that would decide in nine of ten cases, if the figure is as observed.
    pub more_rounds: Option<u32>,
    /// The fewest operations that can tell of such a percentile at all, where there were fewer.
    pub fewest_operations: Option<u64>,
}

/// A figure that something is required of, on one target.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Its values by round. Those of a percentile are by [`crate::percentile_by_round`].
    pub series: Series,
    /// What it was in each single round.
    pub each: Vec<f64>,
    /// Operations that the values are of.
    pub operations: u64,
}

/// The fewest operations that tell of a percentile with 95 % confidence: if fewer lie below a limit, all of them do so by luck in more
/// than one case of twenty (the sign test, without dependence of operations). `None` for other metrics.
fn fewest_operations(metric: Metric) -> Option<u64> {
    let share = metric.percent()? / 100.0;
    Some((ALPHA.portable_ln() / share.portable_ln()).ceil() as u64)
}

/// True if a requirement is judged by the rounds of this figure: that of the time lost in stalls and that of the spread by those of the rate
/// that is the headline.
fn is_about(
    requirement: &Requirement,
    step: &str,
    operation: Operation,
    metric: Metric,
    is_headline: bool,
) -> bool {
    let is_it = match requirement.metric {
        Metric::StalledShare | Metric::Spread => {
            is_headline && matches!(metric, Metric::Bandwidth | Metric::Iops)
        }
        own => own == metric,
    };
    requirement.step == step && requirement.operation == operation && is_it
}

/// The share of rounds in which something happens that a verdict need not have seen.
const SELDOM: f64 = 0.1;

/// The fewest rounds that a verdict rests on: so many that what would turn it has been seen, with a chance of error of `alpha`, if it happens in
/// so large a share of rounds (a round that has nothing of it has a chance of 1 − share). A rate is turned if a share of rounds of
/// more than its distance to the limit does no work; a percentile by a smaller one ([`model::ROUNDS_OF_A_PERCENTILE`] at 5 %).
fn fewest_rounds(requirement: &Requirement, headroom: f64, alpha: f64) -> u32 {
    let share = match requirement.metric {
        // Tested by the time that it was measured, and by each block that was read back.
        Metric::StalledShare | Metric::Mismatches => return 0,
        Metric::Spread if headroom >= 1.0 => SELDOM,
        metric if metric.percent().is_some() && headroom >= 1.0 => SELDOM,
        _ => (1.0 - headroom.min(1.0 / headroom)).clamp(SELDOM, 0.99),
    };
    (alpha.portable_ln() / (1.0 - share).portable_ln()).ceil() as u32
}

/// True if a plan requires anything of this figure.
pub fn is_required(plan: &Plan, step: &str, operation: Operation, metric: Metric, is_headline: bool) -> bool {
    plan.requirements.iter().any(|r| is_about(r, step, operation, metric, is_headline))
}

impl Sample {
    /// The test of a figure that has a limit of its own.
    fn test(&self, requirement: &Requirement, pairing: Pairing, meanwhile: bool) -> Option<LimitTest> {
        let limit = requirement.limit;
        let ended = |test: RatioTest| LimitTest::Ratio(if meanwhile { test.meanwhile() } else { test });
        match requirement.metric {
            Metric::Mismatches => {
                Some(LimitTest::Count(self.series.values.iter().map(|(_, count)| count).sum()))
            }
            Metric::StalledShare => {
                LostTest::new(self.series.side(), limit, pairing, meanwhile).map(LimitTest::Lost)
            }
            Metric::Spread => spread_test(self.series.side(), limit, pairing).map(ended),
            _ => self.ratio_test(limit, pairing).map(ended),
        }
    }

    /// The test of the ratio to a constant.
    fn ratio_test(&self, limit: f64, pairing: Pairing) -> Option<RatioTest> {
        let Series { values, exposures, makings, metric, .. } = &self.series;
        let limits: Vec<(u32, f64)> = values.iter().map(|(round, _)| (*round, limit)).collect();
        let at_limit = |e: &Exposure| Exposure { work: limit * e.seconds, lost: 0.0, stalls: 0, ..*e };
        let exposed: Vec<Exposure> = exposures.iter().map(at_limit).collect();
        let base = Side { values: &limits, exposures: &exposed, makings: *makings };
        let test = RatioTest::new(self.series.side(), base, pairing, 0.0, centre(*metric))?;
        Some(match metric.percent() {
            Some(_) => test.against_a_constant(self.inflation(), self.freedom()),
            None => test.against_a_constant(1.0, f64::INFINITY),
        })
    }

    /// The test of the ratio to `share` times another figure.
    fn test_relative(&self, share: f64, base: &Series, pairing: Pairing) -> Option<RatioTest> {
        let values: Vec<(u32, f64)> =
            base.values.iter().map(|(round, value)| (*round, value * share)).collect();
        let of_share = |e: &Exposure| Exposure { work: share * e.work, ..*e };
        let exposures: Vec<Exposure> = base.exposures.iter().map(of_share).collect();
        let base = Side { values: &values, exposures: &exposures, makings: base.makings };
        RatioTest::new(self.series.side(), base, pairing, 0.0, centre(self.series.metric))
    }

    /// How much single rounds resemble each other: a percentile of all of them hides it, because it sees only what lies beyond.
    fn inflation(&self) -> f64 {
        serial_inflation(&self.each.iter().map(|value| value.max(1.0).portable_ln()).collect::<Vec<f64>>())
    }

    /// By how much, as a logarithm, a percentile may lie higher than its rounds show. It hangs on the slowest twentieth of them; until
    /// two of those are to be expected, the part that is missing is made up for by as much of the distance from a middle round to
    /// them, in the spread of single rounds.
    fn unseen(&self) -> f64 {
        const SLOWEST: f64 = 0.05;
        let logs: Vec<f64> = self.each.iter().map(|value| value.max(1.0).portable_ln()).collect();
        let Some((mean, deviation)) = mean_and_deviation(&logs) else { return 0.0 };
        let free = freedom(&logs.iter().map(|log| log - mean).collect::<Vec<f64>>()) + 1.0;
        let expected = SLOWEST * free.min(logs.len() as f64 / serial_inflation(&logs));
        normal_quantile(1.0 - SLOWEST) * deviation * (1.0 - expected / 2.0).max(0.0)
    }

    /// Degrees of freedom of what the rounds add to the percentile: few, where few rounds have all that lies beyond.
    fn freedom(&self) -> f64 {
        let logs: Vec<f64> = self.series.values.iter().map(|(_, value)| value.portable_ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        freedom(&logs.iter().map(|log| log - mean).collect::<Vec<f64>>())
    }
}

/// What a limit is a share of: the figure of another target among the samples, or of an earlier run.
fn reference(requirement: &Requirement, samples: &[Sample]) -> Option<Series> {
    match requirement.relative_to.as_ref()? {
        Reference::Target(name) => {
            let is_it = |s: &&Sample| is_of(requirement, &s.series) && s.series.target == *name;
            samples.iter().find(is_it).map(|sample| sample.series.clone())
        }
        Reference::Run(earlier) => {
            let EarlierFigure { of, values, exposures, makings, .. } = &**earlier;
            Some(Series {
                run: 1,
                target: of.clone(),
                step: requirement.step.clone(),
                operation: requirement.operation,
                metric: requirement.metric,
                is_headline: true,
                values: values.clone(),
                exposures: exposures.clone(),
                makings: *makings,
            })
        }
    }
}

fn is_of(requirement: &Requirement, series: &Series) -> bool {
    is_about(requirement, &series.step, series.operation, series.metric, series.is_headline)
}

/// A requirement with its figure on one target, what that is measured by, and the test of it.
struct Case<'a> {
    requirement: &'a Requirement,
    sample: &'a Sample,
    reference: Option<Series>,
    test: Option<LimitTest>,
}

impl<'a> Case<'a> {
    fn new(
        requirement: &'a Requirement,
        sample: &'a Sample,
        samples: &[Sample],
        pairing: Pairing,
        meanwhile: bool,
    ) -> Self {
        let reference = reference(requirement, samples);
        let relative = |base: &Series, pairing| {
            let test = sample.test_relative(requirement.limit, base, pairing)?;
            Some(LimitTest::Ratio(if meanwhile { test.meanwhile() } else { test }))
        };
        let test = match (&requirement.relative_to, &reference) {
            (None, _) => sample.test(requirement, pairing, meanwhile),
            (Some(_), None) => None,
            (Some(Reference::Target(_)), Some(base)) => relative(base, pairing),
            (Some(Reference::Run(_)), Some(base)) => relative(base, Pairing::None),
        };
        Self { requirement, sample, reference, test }
    }

    fn rounds(&self) -> u32 {
        self.sample.series.values.len() as u32
    }

    /// The figure with its interval: a share, if the limit is one.
    fn figure(&self) -> Option<Estimate> {
        let Requirement { limit, metric, relative_to, .. } = self.requirement;
        // A single round tells of what each round has.
        let is_of_each = relative_to.is_none() && *metric == self.sample.series.metric;
        let single = || self.sample.series.values.first().filter(|_| is_of_each);
        let tested = self.test.as_ref().map(|test| test.figure(*limit));
        tested.or_else(|| single().map(|(_, value)| Estimate { value: *value, interval: None }))
    }

    /// The further rounds until what would turn the verdict would have been seen, 0 if it would have been; `None` if no number of them is
    /// enough, because the earlier run has too few itself.
    fn rounds_to_see(&self, headroom: f64, alpha: f64) -> Option<u32> {
        let Some(base) = &self.reference else {
            return Some(fewest_rounds(self.requirement, headroom, alpha).saturating_sub(self.rounds()));
        };
        if let Some(LimitTest::Ratio(test)) = &self.test
            && test.is_rate()
        {
            // Stalls of the other one would only make it slower; to call it slower needs no more than a comparison does.
            if headroom < 1.0 {
                return Some(0);
            }
            let share = (1.0 - 1.0 / headroom).clamp(f64::EPSILON, 0.99);
            let longest = self.sample.series.longest_stall().max(base.longest_stall());
            let needed = needed_seconds(longest, share / (1.0 - share), alpha);
            let seconds = test.loss()[0].seconds;
            return Some(((needed / seconds - 1.0) * f64::from(self.rounds())).ceil().max(0.0) as u32);
        }
        // The higher of two percentiles has been seen; the lower one may not have been yet.
        let lacking = |headroom: f64, rounds: u32| {
            fewest_rounds(self.requirement, headroom, alpha).saturating_sub(rounds)
        };
        let of_own = lacking(headroom, self.rounds());
        let of_base = lacking(1.0 / headroom, base.values.len() as u32);
        match base.run {
            0 => Some(of_own.max(of_base)),
            _ => Some(of_own).filter(|_| of_base == 0),
        }
    }

    /// The verdict, as one of a family with this chance of error.
    fn judged(&self, is_rejected: bool, family: usize, alpha: f64) -> Judgement {
        let Self { requirement, sample, test, .. } = self;
        let (series, operations, rounds) = (&sample.series, sample.operations, self.rounds());
        let figure = self.figure();
        let headroom = figure.filter(|f| f.value > 0.0).map(|f| match requirement.bound {
            Bound::AtMost => requirement.limit / f.value,
            Bound::AtLeast => f.value / requirement.limit,
        });
        let lacking = fewest_operations(requirement.metric).filter(|fewest| operations < *fewest);
        let is_tail = requirement.metric.percent().is_some();
        let to_see = headroom.map_or(Some(0), |headroom| self.rounds_to_see(headroom, alpha));
        // Nothing at all of what must not be.
        let is_clean = matches!(test, Some(LimitTest::Lost(_) | LimitTest::Count(_)));
        let standing = match headroom {
            _ if !is_rejected || lacking.is_some() || to_see != Some(0) => Standing::Undecided,
            Some(headroom) if headroom >= 1.0 && is_tail && headroom.portable_ln() < sample.unseen() => {
                Standing::Undecided
            }
            Some(headroom) if headroom >= 1.0 => Standing::Met,
            Some(_) => Standing::Missed,
            None if is_clean => Standing::Met,
            None => Standing::Undecided,
        };
        let for_operations =
            lacking.map(|fewest| (fewest - operations) as f64 / operations as f64 * f64::from(rounds));
        let for_operations = for_operations.filter(|more| more.is_finite()).map(|more| more.ceil() as u32);
        let for_verdict = test.as_ref().and_then(|test| test.more_rounds(alpha / family as f64));
        let mut more = vec![to_see];
        more.extend(lacking.map(|_| for_operations));
        more.extend((!is_rejected).then_some(for_verdict));
        let more: Option<Vec<u32>> = more.into_iter().collect();
        let more_rounds =
            more.filter(|_| standing == Standing::Undecided).and_then(|more| more.into_iter().max());
        Judgement {
            requirement: (*requirement).clone(),
            target: series.target.clone(),
            figure,
            standing,
            headroom,
            rounds,
            operations,
            more_rounds,
            fewest_operations: lacking,
        }
    }
}

/// Judges a plan's requirements by the figures that there are, in the order of the plan; `meanwhile` while rounds continue. What is
/// relative to an earlier run is judged at the end only.
pub fn judge(plan: &Plan, samples: &[Sample], meanwhile: bool) -> Vec<Judgement> {
    let cases = cases(plan, samples, meanwhile);
    // Each requirement of a profile on a target is of their family; a rung of a ladder is one of as many as a search looks at.
    let mut families: BTreeMap<(&str, &str, Option<&str>), Vec<usize>> = BTreeMap::new();
    for (at, case) in cases.iter().enumerate() {
        let Requirement { profile, step, .. } = case.requirement;
        let rung = plan.ladder_of(step).map(|_| step.as_str());
        families.entry((profile, &case.sample.series.target, rung)).or_default().push(at);
    }
    let mut judged: Vec<Option<Judgement>> = vec![None; cases.len()];
    for ((.., rung), family) in families {
        let times = rung.and_then(|step| plan.ladder_of(step)).map_or(1, Ladder::most_probes);
        let p = |at: &usize| cases[*at].test.as_ref().map_or(1.0, LimitTest::p_different) * f64::from(times);
        for (at, is_rejected) in family.iter().zip(holm(&family.iter().map(p).collect::<Vec<_>>())) {
            judged[*at] = Some(cases[*at].judged(is_rejected, family.len(), ALPHA / f64::from(times)));
        }
    }
    judged.into_iter().flatten().collect()
}

fn cases<'a>(plan: &'a Plan, samples: &'a [Sample], meanwhile: bool) -> Vec<Case<'a>> {
    let pairing = if meanwhile { Pairing::ByRoundInterim } else { Pairing::within(plan) };
    let of = |requirement: &'a Requirement| {
        let own = move |s: &&Sample| is_of(requirement, &s.series) && requirement.is_of(&s.series.target);
        let case = move |sample| Case::new(requirement, sample, samples, pairing, meanwhile);
        samples.iter().filter(own).map(case)
    };
    plan.requirements.iter().flat_map(of).collect()
}

fn is_to_a_run(requirement: &Requirement) -> bool {
    matches!(requirement.relative_to, Some(Reference::Run(_)))
}

/// A step on a target.
type Pair = (String, String);

/// The pairs of step and target whose requirements are all decided while rounds continue, so that they need no further one. Those that
/// are relative to an earlier run do not count.
pub fn settled_requirements(plan: &Plan, samples: &[Sample]) -> BTreeSet<Pair> {
    let judgements: Vec<Judgement> =
        judge(plan, samples, true).into_iter().filter(|j| !is_to_a_run(&j.requirement)).collect();
    let pairs = |j: &Judgement| {
        let base = match &j.requirement.relative_to {
            Some(Reference::Target(name)) => Some(name.clone()),
            _ => None,
        };
        let step = j.requirement.step.clone();
        std::iter::once(j.target.clone())
            .chain(base)
            .map(move |target| (step.clone(), target))
            .collect::<Vec<_>>()
    };
    let is_open = |j: &Judgement| j.standing == Standing::Undecided || !is_analysed(j.rounds as usize);
    let open: BTreeSet<Pair> = judgements.iter().filter(|j| is_open(j)).flat_map(pairs).collect();
    judgements.iter().flat_map(pairs).filter(|pair| !open.contains(pair)).collect()
}

/// The pairs of step and target whose figures are relative to an earlier run, and where stalls that would turn the verdict would not have been
/// seen yet, but will be.
pub fn unexposed(plan: &Plan, samples: &[Sample]) -> BTreeSet<Pair> {
    let earlier = cases(plan, samples, false).into_iter().filter(|case| is_to_a_run(case.requirement));
    let lacks = |case: &Case<'_>| {
        // As far from the limit as if nothing had changed: what is nearer takes longer, and stays undecided.
        let unchanged = match case.requirement.bound {
            Bound::AtMost => case.requirement.limit,
            Bound::AtLeast => 1.0 / case.requirement.limit,
        };
        case.rounds_to_see(unchanged, ALPHA).is_some_and(|rounds| rounds > 0)
    };
    earlier
        .filter(lacks)
        .map(|case| (case.requirement.step.clone(), case.sample.series.target.clone()))
        .collect()
}

/// The verdicts on the requirements of a run, by target within a requirement, also where nothing was measured.
pub(crate) fn judgements(run: &Run, measurements: &[Measurement], counts: &Counts) -> Vec<Judgement> {
    let plan = &run.started.plan;
    if plan.requirements.is_empty() {
        return Vec::new();
    }
    let sample = |m: &Measurement| {
        let step = plan.step(&m.step)?;
        let is_headline = headline(step, m.operation) == Some(m.metric);
        if !is_required(plan, &m.step, m.operation, m.metric, is_headline) {
            return None;
        }
        let of = counts
            .completed(run, step, &m.target)
            .filter_map(|(_, counts)| counts.measured.get(&m.operation));
        Some(Sample {
            series: Series::of(run, step, m),
            each: m.values.iter().map(|(_, value)| *value).collect(),
            operations: of.map(|stats| stats.count).sum(),
        })
    };
    let samples: Vec<Sample> = measurements.iter().filter_map(sample).collect();
    let mut judged = judge(plan, &samples, false);
    let mut all = Vec::new();
    for requirement in &plan.requirements {
        for target in run.started.targets.iter().filter(|target| requirement.is_of(&target.name)) {
            let is_it = |j: &Judgement| j.requirement == *requirement && j.target == target.name;
            all.push(match judged.iter().position(is_it) {
                Some(at) => judged.swap_remove(at),
                None => Judgement {
                    requirement: requirement.clone(),
                    target: target.name.clone(),
                    figure: None,
                    standing: Standing::Undecided,
                    headroom: None,
                    rounds: 0,
                    operations: 0,
                    more_rounds: None,
                    fewest_operations: None,
                },
            });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Rounds;

    fn required(profile: &str, step: &str, metric: Metric, bound: Bound, limit: f64) -> Requirement {
        let (profile, step, source) = (profile.to_owned(), step.to_owned(), "here".to_owned());
        let operation = Operation::Sync;
        Requirement { profile, step, operation, metric, bound, limit, relative_to: None, source }
    }

    fn plan(requirements: Vec<Requirement>) -> Plan {
        let rounds = Rounds::Auto { budget_ns: 1, precision_ppm: 20_000 };
        Plan { requirements, ..Plan::of_steps("test", Vec::new(), rounds) }
    }

    /// `n` values around `middle`, up to 5 % above and below it, without a trend.
    fn sample(plan: &Plan, requirement: usize, middle: f64, n: u32, operations: u64) -> Sample {
        const SIGNS: [f64; 7] = [1.0, -1.0, -0.4, 0.9, 0.2, -0.8, 0.1];
        let r = &plan.requirements[requirement];
        let series = Series {
            run: 0,
            target: "t".into(),
            step: r.step.clone(),
            operation: r.operation,
            metric: r.metric,
            is_headline: false,
            values: (0..n).map(|i| (i, middle * (1.0 + 0.05 * SIGNS[i as usize % 7]))).collect(),
            exposures: Vec::new(),
            makings: 1,
        };
        let each = series.values.iter().map(|(_, value)| *value).collect();
        Sample { series, each, operations }
    }

    fn standing(metric: Metric, bound: Bound, middle: f64, n: u32, operations: u64) -> (Standing, Judgement) {
        let plan = plan(vec![required("p", "s", metric, bound, 100.0)]);
        let judged = judge(&plan, &[sample(&plan, 0, middle, n, operations)], false).remove(0);
        (judged.standing, judged)
    }

    #[test]
    fn a_figure_is_met_on_its_side_of_the_limit_missed_on_the_other_and_undecided_at_it() {
        use Bound::{AtLeast, AtMost};
        for (bound, below, above) in
            [(AtMost, Standing::Met, Standing::Missed), (AtLeast, Standing::Missed, Standing::Met)]
        {
            let of = |middle| standing(Metric::Iops, bound, middle, 40, 0);
            assert_eq!(of(80.0).0, below, "{bound:?}");
            assert_eq!(of(125.0).0, above, "{bound:?}");
            let (open, judged) = of(100.1);
            assert_eq!(open, Standing::Undecided);
            assert!(judged.more_rounds.is_none_or(|rounds| rounds > 10), "{judged:?}");
        }
        let judged = standing(Metric::Iops, AtMost, 80.0, 40, 0).1;
        assert!((judged.headroom.unwrap() - 1.25).abs() < 0.01, "{judged:?}");
        assert!(
            judged
                .figure
                .unwrap()
                .interval
                .is_some_and(|(low, high)| low < 80.0 && 80.0 < high && high < 100.0)
        );
        assert_eq!(standing(Metric::Iops, AtMost, 80.0, 1, 0).0, Standing::Undecided, "one round");
    }

    #[test]
    fn a_figure_near_its_limit_needs_more_rounds_and_a_percentile_always() {
        let of = |metric, middle, n| {
            let (standing, judged) = standing(metric, Bound::AtMost, middle, n, 1000);
            (standing, judged.more_rounds)
        };
        assert_eq!(of(Metric::Iops, 20.0, 5).0, Standing::Met);
        assert_eq!(of(Metric::Iops, 90.0, 20), (Standing::Undecided, Some(9)));
        assert_eq!(of(Metric::LatP99, 20.0, 5), (Standing::Undecided, Some(24)));
        assert_eq!(of(Metric::LatP99, 20.0, 29), (Standing::Met, None));
        assert_eq!(of(Metric::LatP99, 500.0, 5).0, Standing::Missed, "far beyond the limit");
    }

    #[test]
    fn a_percentile_of_rounds_that_scatter_or_resemble_each_other_needs_more_distance() {
        let values = |scatter: f64| -> Vec<f64> {
            // The rounds of each ten resemble each other.
            (0..30)
                .map(|i| {
                    80.0 * (scatter * [1.0, -1.0, 0.5][i / 10] + 0.01 * ((i % 3) as f64 - 1.0)).portable_exp()
                })
                .collect()
        };
        let plan = plan(vec![required("p", "s", Metric::LatP99, Bound::AtMost, 100.0)]);
        let unseen =
            |scatter: f64| Sample { each: values(scatter), ..sample(&plan, 0, 80.0, 30, 1000) }.unseen();
        assert!(unseen(0.3) > 0.3, "{}", unseen(0.3));
        assert!(unseen(0.01) < 0.03, "{}", unseen(0.01));
    }

    #[test]
    fn a_percentile_needs_enough_operations() {
        assert_eq!(fewest_operations(Metric::LatP99), Some(299));
        let of = |operations| standing(Metric::LatP99, Bound::AtMost, 10.0, 40, operations);
        assert_eq!(of(299).0, Standing::Met);
        let (open, judged) = of(100);
        assert_eq!((open, judged.fewest_operations), (Standing::Undecided, Some(299)));
        assert_eq!(judged.more_rounds, Some(80), "2.5 operations a round");
    }

    #[test]
    fn only_what_is_decided_is_settled_and_only_its_own_step() {
        let of = |step: &str| required("p", step, Metric::Iops, Bound::AtLeast, 100.0);
        let plan = plan(vec![of("clear"), of("open"), of("early")]);
        let samples =
            [sample(&plan, 0, 200.0, 20, 0), sample(&plan, 1, 101.0, 20, 0), sample(&plan, 2, 200.0, 3, 0)];
        let settled = settled_requirements(&plan, &samples);
        assert_eq!(settled.into_iter().collect::<Vec<_>>(), [("clear".to_owned(), "t".to_owned())]);
    }

    #[test]
    fn one_mismatch_is_missed_and_none_is_met() {
        let plan = plan(vec![required("p", "s", Metric::Mismatches, Bound::AtMost, 0.0)]);
        let of = |mismatches: f64| {
            let mut sample = sample(&plan, 0, 0.0, 8, 100);
            sample.series.values[3].1 = mismatches;
            judge(&plan, &[sample], true).remove(0)
        };
        assert_eq!(of(0.0).standing, Standing::Met);
        let judged = of(1.0);
        assert_eq!(
            (judged.standing, judged.figure.map(|figure| figure.value)),
            (Standing::Missed, Some(1.0))
        );
    }

    #[test]
    fn spread_and_time_lost_are_judged_by_the_rates_that_are_the_headline() {
        let of = |metric, limit: f64, rounds: u32, lost: f64| {
            let plan = plan(vec![required("p", "s", metric, Bound::AtMost, limit)]);
            let rates = required("p", "s", Metric::Iops, Bound::AtLeast, 1.0);
            let mut sample =
                sample(&Plan { requirements: vec![rates], ..plan.clone() }, 0, 100.0, rounds, 100);
            let values = sample.series.values.clone();
            let exposure = |(round, rate): &(u32, f64)| {
                let (lost, stalls) = if round % 5 == 0 && lost > 0.0 { (lost, 1) } else { (0.0, 0) };
                Exposure {
                    round: *round,
                    at: f64::from(*round),
                    seconds: 1.0 + lost,
                    work: *rate,
                    lost,
                    stalls,
                }
            };
            sample.series.exposures = values.iter().map(exposure).collect();
            let other = judge(&plan, &[sample.clone()], false);
            assert_eq!(other, [], "it is no headline");
            sample.series.is_headline = true;
            judge(&plan, &[sample], false).remove(0).standing
        };
        use Standing::{Met, Missed, Undecided};
        assert_eq!(of(Metric::StalledShare, 0.1, 60, 0.0), Met, "a minute without a stall");
        assert_eq!(of(Metric::StalledShare, 0.001, 60, 0.0), Undecided);
        assert_eq!(of(Metric::StalledShare, 0.01, 60, 1.0), Missed, "a sixth of the time");
        assert_eq!(of(Metric::Spread, 0.2, 60, 0.0), Met, "the rates scatter by 4 %");
        assert_eq!(of(Metric::Spread, 0.2, 20, 0.0), Undecided, "seldom slow rounds were not seen yet");
        assert_eq!(of(Metric::Spread, 0.01, 60, 0.0), Missed);
    }

    #[test]
    fn a_profile_is_missed_if_one_figure_is_and_met_if_all_are() {
        use Standing::{Met, Missed, Undecided};
        assert_eq!(Standing::of_all([Met, Met]), Met);
        assert_eq!(Standing::of_all([Met, Undecided]), Undecided);
        assert_eq!(Standing::of_all([Undecided, Missed, Met]), Missed);
    }
}
