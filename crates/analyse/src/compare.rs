//! Comparison of targets: the ratio, its interval, and the verdict.
//!
//! Ratios of rates are those of the long run, stalls included ([`RatioTest`]); those of other figures are means of log
//! ratios, from ten rounds on without the highest and the lowest fifth ([`RobustMean`]). Both are paired within a run, where
//! every round measured every target under the same circumstances, and unpaired across runs. A difference is claimed only if it survives Holm's correction (Holm, "A Simple
//! Sequentially Rejective Multiple Test Procedure", Scand. J. Statist. 6, 1979). The verdicts that tables show are one
//! family, whatever their metric, so that at most one run in twenty has any wrong claim in a table; of the others each
//! metric is a family. "Same" is claimed if the ratio is within the margin by two one-sided tests (Schuirmann,
//! J. Pharmacokinet. Biopharm. 15, 1987). A run that ends when all is decided has an interim analysis after every round:
//! see [`crate::sequential`].

use std::collections::BTreeMap;

use model::{
    Better, Comparison, Estimate, Exposure, Measurement, Metric, Mix, Operation, Pace, Plan, PortableMath,
    Run, StallEffect, Step, Unseen, Verdict,
};

use crate::ratio::{ALPHA, Pairing, RatioTest, Side, holm};
use crate::stalls::{FLOOR_SECONDS, Loss};
use crate::stats::{Centre, RobustMean};

/// The values of one metric of one operation of one step on one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Number of the run that it is of, from 0.
    pub run: u32,
    /// Target's name, unique among the series that are compared.
    pub target: String,
    /// Step's id.
    pub step: String,
    /// Operation.
    pub operation: Operation,
    /// Metric.
    pub metric: Metric,
    /// The tables show the verdict on this series.
    pub is_headline: bool,
    /// Round and value.
    pub values: Vec<(u32, f64)>,
    /// For a rate what each repeat was exposed to, in the order of the rounds; else empty.
    pub exposures: Vec<Exposure>,
    /// How often its target was made ([`model::Plan::makings`]).
    pub makings: u32,
}

impl Series {
    pub(crate) fn side(&self) -> Side<'_> {
        Side { values: &self.values, exposures: &self.exposures, makings: self.makings }
    }

    /// Seconds of the longest stall.
    pub(crate) fn longest_stall(&self) -> f64 {
        Loss::of(&self.values, &self.exposures, self.makings).longest()
    }

    /// The comparable series among a run's measurements.
    pub fn of_run(run: &Run, measurements: &[Measurement]) -> Vec<Self> {
        let series = |m: &Measurement| {
            let step = run.started.plan.step(&m.step)?;
            (m.metric.better() != Better::Neither).then(|| Self::of(run, step, m))
        };
        measurements.iter().filter_map(series).collect()
    }

    /// A measurement of a step as a series.
    pub fn of(run: &Run, step: &Step, m: &Measurement) -> Self {
        Self {
            run: 0,
            target: m.target.clone(),
            step: m.step.clone(),
            operation: m.operation,
            metric: m.metric,
            is_headline: headline(step, m.operation) == Some(m.metric),
            values: if m.paired.is_empty() { m.values.clone() } else { m.paired.clone() },
            exposures: m.exposures.clone(),
            makings: run.started.plan.makings,
        }
    }
}

/// The metric by which an operation of a step is judged: bandwidth for data moved as fast as possible, operations per
/// second for metadata operations, the 99th percentile of the latency under a given load. `None` for operations that are
/// part of another (syncs, and writes that are judged as durable writes).
pub fn headline(step: &Step, operation: Operation) -> Option<Metric> {
    if !step.foreign.is_empty() {
        return step.foreign.iter().find(|(o, _)| *o == operation).map(|(_, metric)| *metric);
    }
    let w = &step.workload;
    let part = match operation {
        Operation::Sync => true,
        Operation::Write => w.sync.every > 0 && w.writes_data(),
        _ => false,
    };
    if part {
        None
    } else if w.pace != Pace::Closed {
        Some(Metric::LatP99)
    } else if matches!(w.mix, Mix::Metadata(_)) {
        Some(Metric::Iops)
    } else {
        Some(Metric::Bandwidth)
    }
}

/// The operations of a step that have a headline.
pub fn headline_operations(step: &Step) -> Vec<Operation> {
    step.operations().into_iter().filter(|operation| headline(step, *operation).is_some()).collect()
}

/// Compares every target's series with the baseline's. Series without a counterpart are left out. Ratios from
/// 1/(1 + `margin`) to 1 + `margin` are "same".
pub fn compare<'a>(
    series: &'a [Series],
    baseline: &'a str,
    pairing: Pairing,
    margin: f64,
) -> Vec<Comparison> {
    compare_pairs(series, |own| against(own, baseline), pairing, margin)
}

/// Compares the series of every target with those of its `partners`. All comparisons are one family.
pub fn compare_pairs<'a>(
    series: &'a [Series],
    partners: impl Fn(&str) -> Vec<&'a str>,
    pairing: Pairing,
    margin: f64,
) -> Vec<Comparison> {
    let pairs = pairs(series, partners);
    let judged = judged(series, &pairs, pairing, margin, false).into_iter().map(|judged| judged.comparison);
    judged.chain(pairs.iter().filter_map(|(own, base)| measured_once(own, base))).collect()
}

/// Compares every two targets by their headline figures, each with those before it in `targets`.
pub fn compare_all(series: &[Series], targets: &[&str], pairing: Pairing, margin: f64) -> Vec<Comparison> {
    let headlines: Vec<Series> = series.iter().filter(|s| s.is_headline).cloned().collect();
    let before = |own: &str| targets.iter().copied().take_while(|target| *target != own).collect();
    compare_pairs(&headlines, before, pairing, margin)
}

/// The ratio alone, where one of the two was measured only once.
fn measured_once(own: &Series, base: &Series) -> Option<Comparison> {
    let mean = |s: &Series| s.values.iter().map(|(_, value)| value).sum::<f64>() / s.values.len() as f64;
    let is_positive = own.values.iter().chain(&base.values).all(|(_, value)| *value > 0.0);
    let once = own.values.len() == 1 || base.values.len() == 1;
    let is_it = once && is_positive && !own.values.is_empty() && !base.values.is_empty();
    is_it.then(|| Comparison {
        step: own.step.clone(),
        operation: own.operation,
        metric: own.metric,
        target: own.target.clone(),
        baseline: base.target.clone(),
        ratio: Estimate { value: mean(own) / mean(base), interval: None },
        verdict: Verdict::Undecided,
        method: "ratio of means; measured only once, so there is no interval",
        more_rounds: None,
        stalls: None,
        unseen: None,
        inflation: 1.0,
    })
}

/// Compares while rounds continue: only tests that hold for any number of interim analyses decide.
pub(crate) fn compare_meanwhile<'a>(series: &'a [Series], baseline: &'a str, margin: f64) -> Vec<Comparison> {
    let pairs = pairs(series, |own| against(own, baseline));
    let judged = judged(series, &pairs, Pairing::ByRoundInterim, margin, true);
    judged.into_iter().map(|judged| judged.comparison).collect()
}

/// The partner of every target except the baseline.
fn against<'a>(own: &str, baseline: &'a str) -> Vec<&'a str> {
    if own == baseline { Vec::new() } else { vec![baseline] }
}

/// Every series with those of the same figure of its target's partners.
fn pairs<'a>(series: &'a [Series], partners: impl Fn(&str) -> Vec<&'a str>) -> Vec<(&'a Series, &'a Series)> {
    let figure = |s: &'a Series, target: &'a str| (s.step.as_str(), s.operation, s.metric, target);
    let all: BTreeMap<_, &Series> = series.iter().map(|s| (figure(s, &s.target), s)).collect();
    let of = |own: &'a Series| {
        let others = partners(&own.target).into_iter();
        others.filter_map(|target| Some((own, *all.get(&figure(own, target))?))).collect::<Vec<_>>()
    };
    series.iter().flat_map(of).collect()
}

fn judged(
    series: &[Series],
    pairs: &[(&Series, &Series)],
    pairing: Pairing,
    margin: f64,
    meanwhile: bool,
) -> Vec<Judged> {
    let longest = series.iter().map(Series::longest_stall).fold(0.0, f64::max);
    let mut found: Vec<Judged> = Vec::new();
    for (own, base) in pairs {
        let (centre, pairing) = (centre(own.metric), pairing.of(own.run == base.run));
        let Some(mut test) = RatioTest::new(own.side(), base.side(), pairing, margin, centre) else {
            continue;
        };
        if meanwhile {
            test = test.meanwhile();
        }
        let comparison = Comparison {
            step: own.step.clone(),
            operation: own.operation,
            metric: own.metric,
            target: own.target.clone(),
            baseline: base.target.clone(),
            ratio: test.ratio(),
            verdict: Verdict::Undecided,
            method: pairing.method(test.is_rate()),
            more_rounds: None,
            stalls: None,
            unseen: None,
            inflation: test.inflation(),
        };
        found.push(Judged { comparison, test, is_headline: own.is_headline });
    }
    judge(&mut found.iter_mut().filter(|j| j.is_headline).collect::<Vec<_>>());
    for metric in Metric::ALL {
        let others = found.iter_mut().filter(|j| !j.is_headline && j.comparison.metric == metric);
        judge(&mut others.collect::<Vec<_>>());
    }
    found.iter_mut().for_each(|j| j.expose(longest));
    judge_between_stalls(&mut found);
    found
}

/// A comparison with the test behind it.
struct Judged {
    comparison: Comparison,
    test: RatioTest,
    is_headline: bool,
}

impl Judged {
    fn verdict(&self, is_different: bool) -> Verdict {
        let better = match self.comparison.metric.better() {
            Better::Lower => self.test.mean() < 0.0,
            _ => self.test.mean() > 0.0,
        };
        if self.test.looks_same() {
            Verdict::Same
        } else if is_different && better {
            Verdict::Faster
        } else if is_different {
            Verdict::Slower
        } else {
            Verdict::Undecided
        }
    }

    /// Takes "same" back where stalls of `longest` seconds would not have been seen.
    fn expose(&mut self, longest: f64) {
        let Self { comparison, test, .. } = self;
        let Some(needed) = test.needed_seconds(longest).filter(|_| comparison.verdict == Verdict::Same)
        else {
            return;
        };
        let seconds = test.seconds();
        if seconds < needed {
            comparison.verdict = Verdict::Undecided;
            let stall_seconds = longest.max(FLOOR_SECONDS);
            comparison.unseen = Some(Unseen { seconds, stall_seconds, more_seconds: needed - seconds });
            comparison.more_rounds = test.rounds_for(needed);
        }
    }
}

/// Gives the ratios between stalls their verdicts. They are a family of their own.
fn judge_between_stalls(found: &mut [Judged]) {
    let with_stalls = || found.iter().filter(|j| j.is_headline && j.test.has_stalls());
    let mut between: Vec<Judged> = with_stalls()
        .map(|j| Judged {
            comparison: j.comparison.clone(),
            test: j.test.between_stalls(),
            is_headline: true,
        })
        .collect();
    judge(&mut between.iter_mut().collect::<Vec<_>>());
    let of = |j: &Judged, between: Judged| {
        let [lost, baseline_lost] = j.test.loss().each_ref().map(Loss::estimate);
        StallEffect {
            between: between.test.ratio(),
            verdict: between.comparison.verdict,
            lost,
            baseline_lost,
        }
    };
    let stalled = found.iter_mut().filter(|j| j.is_headline && j.test.has_stalls());
    for (j, between) in stalled.zip(between) {
        j.comparison.stalls = Some(of(j, between));
    }
}

/// Gives the comparisons of one family their verdicts, by Holm's procedure.
fn judge(family: &mut [&mut Judged]) {
    let ps: Vec<f64> = family.iter().map(|judged| judged.test.p_different()).collect();
    let m = family.len();
    for (judged, is_rejected) in family.iter_mut().zip(holm(&ps)) {
        judged.comparison.verdict = judged.verdict(is_rejected);
        if judged.comparison.verdict == Verdict::Undecided {
            judged.comparison.more_rounds = judged.test.more_rounds(ALPHA / m as f64);
        }
    }
}

/// How log ratios are averaged. The tail of a distribution is what its percentiles are about: of these no round is trimmed.
pub(crate) fn centre(metric: Metric) -> Centre {
    if metric.percent().is_some() { RobustMean::plain } else { RobustMean::of }
}

/// One figure for a target over all steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The target.
    pub target: String,
    /// The target compared with.
    pub baseline: String,
    /// Geometric mean over the steps of how many times as fast the target is, with its 95 % interval.
    pub speed: Estimate,
    /// Number of steps in it.
    pub steps: usize,
}

/// For every target except the baseline the geometric mean of its headline ratios, each step counting once. Latencies
/// count inversely, so above 1 is always faster. The limits are the geometric means of the steps' limits: rounds share the
/// machine's moods between steps, and these limits hold however the steps' errors depend on each other.
pub fn summarise(plan: &Plan, comparisons: &[Comparison]) -> Vec<Summary> {
    let mut targets: Vec<(&str, &str)> = Vec::new();
    for c in comparisons {
        if !targets.contains(&(c.target.as_str(), c.baseline.as_str())) {
            targets.push((&c.target, &c.baseline));
        }
    }
    let summary = |(target, baseline): (&str, &str)| {
        let of = |step| step_speed(step, comparisons.iter().filter(|c| c.target == target));
        let steps: Vec<[f64; 3]> = plan.steps.iter().filter_map(of).collect();
        let [value, low, high] = mean_of_each(&steps)?.map(f64::portable_exp);
        let speed = Estimate { value, interval: Some((low, high)) };
        Some(Summary { target: target.to_owned(), baseline: baseline.to_owned(), speed, steps: steps.len() })
    };
    targets.into_iter().filter_map(summary).collect()
}

/// Logarithm of how many times as fast one target is in one step, with its limits: the mean over the step's operations.
fn step_speed<'a>(step: &Step, comparisons: impl Iterator<Item = &'a Comparison>) -> Option<[f64; 3]> {
    let mut all: Vec<[f64; 3]> = Vec::new();
    for c in comparisons.filter(|c| c.step == step.id && c.metric != Metric::Score) {
        if headline(step, c.operation) != Some(c.metric) {
            continue;
        }
        let (low, high) = c.ratio.interval?;
        let logs = [c.ratio.value, low, high].map(f64::portable_ln);
        all.push(if c.metric.better() == Better::Lower { [-logs[0], -logs[2], -logs[1]] } else { logs });
    }
    mean_of_each(&all)
}

/// The mean of the values, of the lower limits and of the upper limits; none of nothing.
fn mean_of_each(all: &[[f64; 3]]) -> Option<[f64; 3]> {
    let n = all.len() as f64;
    (n > 0.0).then(|| [0, 1, 2].map(|i| all.iter().map(|logs| logs[i]).sum::<f64>() / n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Rounds;
    use rand_distr::{Distribution, Normal};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    fn series(target: &str, step: &str, metric: Metric, values: &[f64]) -> Series {
        Series {
            run: 0,
            target: target.into(),
            step: step.into(),
            operation: Operation::Read,
            metric,
            is_headline: true,
            values: values.iter().enumerate().map(|(i, v)| (i as u32, *v)).collect(),
            exposures: Vec::new(),
            makings: 1,
        }
    }

    fn verdict(a: &[f64], b: &[f64], metric: Metric) -> Comparison {
        let both = [series("a", "s", metric, a), series("b", "s", metric, b)];
        compare(&both, "a", Pairing::ByRound, 0.03).remove(0)
    }

    #[test]
    fn pairing_cancels_common_drift() {
        let base = [100.0, 150.0, 80.0, 200.0, 120.0];
        let twice: Vec<f64> = base.iter().zip([1.99, 2.01, 2.0, 2.02, 1.98]).map(|(b, f)| b * f).collect();
        let comparison = verdict(&base, &twice, Metric::Bandwidth);
        assert_eq!(comparison.verdict, Verdict::Faster);
        let (low, high) = comparison.ratio.interval.unwrap();
        assert!((comparison.ratio.value - 2.0).abs() < 0.01 && low > 1.97 && high < 2.03);

        let both = [series("a", "s", Metric::Bandwidth, &base), series("b", "s", Metric::Bandwidth, &twice)];
        let unpaired = compare(&both, "a", Pairing::None, 0.03).remove(0);
        assert!(unpaired.ratio.interval.unwrap().0 < 1.5, "without pairs the drift is in the interval");
        assert!(unpaired.method.contains("drift"));

        // Of several runs, those of one are paired.
        let mut all = both.to_vec();
        all.push(Series { run: 1, ..series("c", "s", Metric::Bandwidth, &twice) });
        let across = compare(&all, "a", Pairing::AcrossRuns { interim: false }, 0.03);
        assert_eq!((across[0].ratio, across[0].method), (comparison.ratio, comparison.method));
        assert_eq!((across[1].ratio, across[1].method), (unpaired.ratio, unpaired.method));
    }

    #[test]
    fn a_higher_latency_is_slower() {
        let slow = verdict(&[10.0, 10.1, 9.9], &[20.0, 20.1, 19.9], Metric::LatP99);
        assert_eq!(slow.verdict, Verdict::Slower);
    }

    #[test]
    fn the_four_verdicts() {
        let base = [100.0, 101.0, 99.0, 100.5, 99.5, 100.0];
        let scaled = |f: f64| -> Vec<f64> {
            base.iter().zip([0.999, 1.001, 1.0, 0.9995, 1.0005, 1.0]).map(|(b, e)| b * f * e).collect()
        };
        assert_eq!(verdict(&base, &scaled(1.2), Metric::Iops).verdict, Verdict::Faster);
        assert_eq!(verdict(&base, &scaled(0.8), Metric::Iops).verdict, Verdict::Slower);
        assert_eq!(verdict(&base, &scaled(1.01), Metric::Iops).verdict, Verdict::Same);
        let noisy = verdict(&base, &[90.0, 150.0, 100.0, 130.0, 80.0, 150.0], Metric::Iops);
        assert_eq!(noisy.verdict, Verdict::Undecided);
        assert!(noisy.more_rounds.unwrap() > 10);
    }

    #[test]
    fn figures_without_spread_are_judged_exactly() {
        assert_eq!(verdict(&[5.0; 3], &[5.0; 3], Metric::Iops).verdict, Verdict::Same);
        assert_eq!(verdict(&[5.0; 3], &[6.0; 3], Metric::Iops).verdict, Verdict::Faster);
    }

    #[test]
    fn nonpositive_values_give_no_comparison_and_single_ones_no_interval() {
        let of = |a: &[f64], b: &[f64]| {
            let both = [series("a", "s", Metric::Iops, a), series("b", "s", Metric::Iops, b)];
            let found = compare(&both, "a", Pairing::ByRound, 0.03);
            found.iter().map(|c| (c.ratio.value, c.ratio.interval.is_some(), c.verdict)).collect::<Vec<_>>()
        };
        assert_eq!(of(&[1.0], &[2.0]), [(2.0, false, Verdict::Undecided)]);
        assert_eq!(of(&[1.0], &[2.0, 4.0]), [(3.0, false, Verdict::Undecided)]);
        assert_eq!(of(&[1.0, 0.0], &[2.0, 2.0]), []);
        assert_eq!(of(&[0.0], &[2.0]), []);
        assert_eq!(of(&[1.0, 1.5], &[2.0, 2.0]).len(), 1);
    }

    /// Twenty identical pairs at 5 % spread, judged in different metrics, a thousand times: without correction every run
    /// would have one wrong claim on average; with it at most one run in twenty may have any.
    #[test]
    fn wrong_claims_in_a_table_of_equal_pairs_are_rare() {
        const JUDGED_IN: [Metric; 4] = [Metric::Bandwidth, Metric::Iops, Metric::LatP99, Metric::LatP50];
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let noise = Normal::new(0.0f64, 0.05).unwrap();
        let mut draw =
            || -> Vec<f64> { (0..5).map(|_| 100.0 * noise.sample(&mut rng).portable_exp()).collect() };
        let mut wrong_tables = 0;
        for _ in 0..1000 {
            let mut table = Vec::new();
            for step in 0..20 {
                let metric = JUDGED_IN[step % JUDGED_IN.len()];
                table.push(series("a", &step.to_string(), metric, &draw()));
                table.push(series("b", &step.to_string(), metric, &draw()));
            }
            let claims = compare(&table, "a", Pairing::ByRound, 0.03);
            let wrong = claims.iter().any(|c| matches!(c.verdict, Verdict::Faster | Verdict::Slower));
            wrong_tables += u32::from(wrong);
        }
        assert!(wrong_tables <= 65, "{wrong_tables} of 1000 tables have a wrong claim");
        assert!(wrong_tables >= 20, "{wrong_tables}: the correction need not be this strict");
    }

    #[test]
    fn the_forecast_of_rounds_is_about_right() {
        // A true ratio of 1.10 at 5 % spread of the log ratio: forecast from four rounds with just that, then check that
        // this number of rounds decides it in most cases.
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let noise = Normal::new(1.10f64.portable_ln(), 0.05).unwrap();
        let test = |logs: &[f64]| {
            let of = |value: &dyn Fn(f64) -> f64| -> Vec<(u32, f64)> {
                logs.iter().enumerate().map(|(i, ln)| (i as u32, value(*ln))).collect()
            };
            let (own, base) = (of(&f64::portable_exp), of(&|_| 1.0));
            let side = |values| Side { values, exposures: &[], makings: 1 };
            RatioTest::new(side(&own), side(&base), Pairing::ByRound, 0.03, RobustMean::of).unwrap()
        };
        let deviation = 0.05 * 0.75f64.sqrt();
        let four = [1.0, -1.0, 1.0, -1.0].map(|sign| 1.10f64.portable_ln() + sign * deviation);
        let rounds = 4 + test(&four).more_rounds(ALPHA).unwrap() as usize;
        let decided = (0..1000)
            .filter(|_| {
                let logs: Vec<f64> = (0..rounds).map(|_| noise.sample(&mut rng)).collect();
                test(&logs).p_different() <= ALPHA
            })
            .count();
        assert!(decided > 750, "{decided} of 1000 decided after {rounds} rounds");
    }

    #[test]
    fn the_summary_is_the_geometric_mean_over_steps() {
        let steps = ["s1", "s2"].map(|id| Step {
            id: id.into(),
            title: String::new(),
            prepare: model::Preparation::Written,
            workload: crate::measure::tests::workload(),
            engine: model::EngineChoice::Auto,
            stop: model::Stop::default(),
            shortest_ns: None,
            ramp_ns: 0,
            interval_ns: 1,
            max_errors: 1,
            foreign: Vec::new(),
            concurrent: Vec::new(),
        });
        let mut steps = steps;
        steps[1].workload.pace = Pace::Fixed { per_second: 10.0 };
        let plan = Plan::of_steps("", steps.to_vec(), Rounds::Fixed(3));
        // Twice as fast in one step, and an eighth of the latency (under a given load) in the other.
        let all = [
            series("a", "s1", Metric::Bandwidth, &[10.0, 11.0, 12.0]),
            series("b", "s1", Metric::Bandwidth, &[20.0, 22.0, 24.0]),
            series("a", "s2", Metric::LatP99, &[8.0, 9.0, 10.0]),
            series("b", "s2", Metric::LatP99, &[1.0, 1.125, 1.25]),
        ];
        let summary = summarise(&plan, &compare(&all, "a", Pairing::ByRound, 0.03)).remove(0);
        assert_eq!((summary.target.as_str(), summary.steps), ("b", 2));
        assert!((summary.speed.value - 4.0).abs() < 1e-9, "{:?}", summary.speed);
        let unpaired = summarise(&plan, &compare(&all, "a", Pairing::None, 0.03)).remove(0);
        assert!((unpaired.speed.value - 4.0).abs() < 1e-9);
        assert!(unpaired.speed.interval.unwrap().0 < 3.9);
    }
}
