//! Comparison of targets: the ratio, its interval, and the verdict.
//!
//! Ratios are means of log ratios, from ten rounds on without the highest and the lowest fifth, so that a stall in one
//! round does not decide ([`RobustMean`]): paired within a run, where every round measured every target under the same
//! circumstances, and unpaired across runs. A difference is claimed only if it survives Holm's correction (Holm, "A Simple
//! Sequentially Rejective Multiple Test Procedure", Scand. J. Statist. 6, 1979). The verdicts that tables show are one
//! family, whatever their metric, so that at most one run in twenty has any wrong claim in a table; of the others each
//! metric is a family. "Same" is claimed if the ratio is within the margin by two one-sided tests (Schuirmann,
//! J. Pharmacokinet. Biopharm. 15, 1987). A run that ends when all is decided has an interim analysis after every round:
//! see [`crate::sequential`].

use std::collections::BTreeMap;

use model::{
    Better, Comparison, Estimate, Measurement, Metric, Mix, Operation, Pace, Plan, Rounds, Run, Step, Verdict,
};

use crate::percentile::percent_of;
use crate::sequential::{AnytimeP, INTERIM_SHARE};
use crate::stats::{Centre, RobustMean, t_above, t_quantile};

/// Accepted chance of a wrong claim.
const ALPHA: f64 = 0.05;
/// More rounds than this are not worth forecasting.
const MOST_ROUNDS: f64 = 999.0;

/// How the values of two targets are paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Values of the same round were measured under the same circumstances.
    ByRound,
    /// By round, with an interim analysis after every round on whether another is needed.
    ByRoundInterim,
    /// The values come from different runs; drift between them is not cancelled.
    None,
}

impl Pairing {
    /// How the values within one run are paired.
    pub fn within(plan: &Plan) -> Self {
        match plan.rounds {
            Rounds::Auto { precision_ppm, .. } if precision_ppm > 0 => Self::ByRoundInterim,
            _ => Self::ByRound,
        }
    }

    fn method(self) -> &'static str {
        match self {
            Self::ByRound => {
                "trimmed mean of paired log ratios by round, 95 % interval; verdict by Holm and TOST"
            }
            Self::ByRoundInterim => {
                "trimmed mean of paired log ratios by round, 95 % interval allowing for the interim analyses; verdict by Holm and TOST over Bayes factors after each round and a t test at the end"
            }
            Self::None => {
                "trimmed means of unpaired log ratios (Yuen and Welch), 95 % interval; drift between runs is not cancelled"
            }
        }
    }
}

/// The values of one metric of one operation of one step on one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
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
}

impl Series {
    /// The comparable series among a run's measurements.
    pub fn of_run(run: &Run, measurements: &[Measurement]) -> Vec<Self> {
        let series = |m: &Measurement| {
            let step = run.started.plan.step(&m.step)?;
            (m.metric.better() != Better::Neither).then(|| Self {
                target: m.target.clone(),
                step: m.step.clone(),
                operation: m.operation,
                metric: m.metric,
                is_headline: headline(step, m.operation) == Some(m.metric),
                values: if m.paired.is_empty() { m.values.clone() } else { m.paired.clone() },
            })
        };
        measurements.iter().filter_map(series).collect()
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
pub fn compare(series: &[Series], baseline: &str, pairing: Pairing, margin: f64) -> Vec<Comparison> {
    let judged = judged(series, baseline, pairing, margin, false);
    judged.into_iter().map(|judged| judged.comparison).collect()
}

/// Compares while rounds continue: only tests that hold for any number of interim analyses decide.
pub(crate) fn compare_meanwhile(series: &[Series], baseline: &str, margin: f64) -> Vec<Comparison> {
    let judged = judged(series, baseline, Pairing::ByRoundInterim, margin, true);
    judged.into_iter().map(|judged| judged.comparison).collect()
}

fn judged(series: &[Series], baseline: &str, pairing: Pairing, margin: f64, meanwhile: bool) -> Vec<Judged> {
    let mut found: Vec<Judged> = Vec::new();
    for own in series.iter().filter(|s| s.target != baseline) {
        let same = |s: &&Series| {
            s.target == baseline
                && s.step == own.step
                && s.operation == own.operation
                && s.metric == own.metric
        };
        let Some(base) = series.iter().find(same) else { continue };
        let Some(mut test) = Test::new(&own.values, &base.values, pairing, margin, centre(own.metric)) else {
            continue;
        };
        test.has_ended = !meanwhile;
        let comparison = Comparison {
            step: own.step.clone(),
            operation: own.operation,
            metric: own.metric,
            target: own.target.clone(),
            baseline: baseline.to_owned(),
            ratio: test.ratio(),
            verdict: Verdict::Undecided,
            method: pairing.method(),
            more_rounds: None,
        };
        found.push(Judged { comparison, test, is_headline: own.is_headline });
    }
    judge(&mut found.iter_mut().filter(|j| j.is_headline).collect::<Vec<_>>());
    for metric in Metric::ALL {
        let others = found.iter_mut().filter(|j| !j.is_headline && j.comparison.metric == metric);
        judge(&mut others.collect::<Vec<_>>());
    }
    found
}

/// A comparison with the test behind it.
struct Judged {
    comparison: Comparison,
    test: Test,
    is_headline: bool,
}

/// Gives the comparisons of one family their verdicts, by Holm's procedure.
fn judge(family: &mut [&mut Judged]) {
    family.sort_by(|a, b| a.test.p_different().total_cmp(&b.test.p_different()));
    let m = family.len();
    let mut rejecting = true;
    for (i, Judged { comparison, test, .. }) in family.iter_mut().map(|judged| &mut **judged).enumerate() {
        let alpha = ALPHA / (m - i) as f64;
        rejecting = rejecting && test.p_different() <= alpha;
        let better = match comparison.metric.better() {
            Better::Lower => test.mean < 0.0,
            _ => test.mean > 0.0,
        };
        comparison.verdict = if test.is_same() {
            Verdict::Same
        } else if rejecting && better {
            Verdict::Faster
        } else if rejecting {
            Verdict::Slower
        } else {
            Verdict::Undecided
        };
        if comparison.verdict == Verdict::Undecided {
            comparison.more_rounds = test.more_rounds(ALPHA / m as f64);
        }
    }
}

/// How log ratios are averaged. The tail of a distribution is what its percentiles are about: of these no round is trimmed.
fn centre(metric: Metric) -> Centre {
    if percent_of(metric).is_some() { RobustMean::plain } else { RobustMean::of }
}

/// Mean of log ratios, its standard error, and the degrees of freedom of that.
#[derive(Clone, Copy, Debug)]
struct Test {
    mean: f64,
    error: f64,
    freedom: f64,
    /// Rounds so far.
    rounds: f64,
    /// Margin of "same", as a logarithm.
    margin: f64,
    /// The p values that allow for interim analyses, if there were any.
    interim: Option<AnytimeP>,
    /// No more rounds will be made.
    has_ended: bool,
}

impl Test {
    /// `None` if either side has fewer than two values, or a value is not positive.
    fn new(
        own: &[(u32, f64)],
        base: &[(u32, f64)],
        pairing: Pairing,
        margin: f64,
        centre: Centre,
    ) -> Option<Self> {
        let margin = (1.0 + margin).ln();
        let log = |v: f64| (v > 0.0).then(|| v.ln());
        match pairing {
            Pairing::ByRound | Pairing::ByRoundInterim => {
                let mut logs = Vec::new();
                for (round, value) in own {
                    if let Some((_, other)) = base.iter().find(|(r, _)| r == round) {
                        logs.push(log(*value)? - log(*other)?);
                    }
                }
                let interim =
                    (pairing == Pairing::ByRoundInterim).then(|| AnytimeP::of(&logs, margin, centre));
                Some(Self { margin, interim, ..Self::of_logs(&logs, centre)? })
            }
            Pairing::None => {
                let logs =
                    |values: &[(u32, f64)]| values.iter().map(|(_, v)| log(*v)).collect::<Option<Vec<_>>>();
                let (own, base) = (logs(own)?, logs(base)?);
                let (a, b) = (centre(&own)?, centre(&base)?);
                let (va, vb) = (a.error.powi(2), b.error.powi(2));
                // Welch and Satterthwaite.
                let shares = va.powi(2) / (a.kept - 1.0) + vb.powi(2) / (b.kept - 1.0);
                let freedom = if shares > 0.0 { (va + vb).powi(2) / shares } else { a.kept + b.kept - 2.0 };
                let rounds = own.len().min(base.len()) as f64;
                let mean = a.mean - b.mean;
                Some(Self { mean, error: (va + vb).sqrt(), freedom, rounds, margin, ..Self::NOTHING })
            }
        }
    }

    const NOTHING: Self = Self {
        mean: 0.0,
        error: 0.0,
        freedom: 0.0,
        rounds: 0.0,
        margin: 0.0,
        interim: None,
        has_ended: true,
    };

    fn of_logs(logs: &[f64], centre: Centre) -> Option<Self> {
        let RobustMean { mean, error, kept } = centre(logs)?;
        Some(Self { mean, error, freedom: kept - 1.0, rounds: logs.len() as f64, ..Self::NOTHING })
    }

    /// Share of the accepted error that remains for the test at the end.
    fn share_at_end(&self) -> f64 {
        if self.interim.is_some() { 1.0 - INTERIM_SHARE } else { 1.0 }
    }

    /// A p value that allows for the interim analyses: a weighted Bonferroni combination of the anytime-valid p and the p of
    /// the test at the end.
    fn combined(&self, anytime: impl Fn(&AnytimeP) -> f64, at_end: f64) -> f64 {
        let anytime = self.interim.as_ref().map_or(1.0, |interim| anytime(interim) / INTERIM_SHARE);
        let at_end = if self.has_ended { at_end / self.share_at_end() } else { 1.0 };
        anytime.min(at_end).min(1.0)
    }

    /// The ratio with its 95 % interval: all ratios that the test at the end does not reject.
    fn ratio(&self) -> Estimate {
        let half = t_quantile(1.0 - ALPHA * self.share_at_end() / 2.0, self.freedom) * self.error;
        let interval = Some(((self.mean - half).exp(), (self.mean + half).exp()));
        Estimate { value: self.mean.exp(), interval }
    }

    /// Probability of a difference as large as this, either way, if there were none.
    fn p_different(&self) -> f64 {
        let at_end = match self.error {
            0.0 if self.mean == 0.0 => 1.0,
            0.0 => 0.0,
            error => 2.0 * t_above((self.mean / error).abs(), self.freedom),
        };
        self.combined(|interim| interim.different, at_end)
    }

    /// True if both one-sided tests show that the ratio is within the margin.
    fn is_same(&self) -> bool {
        let room = self.margin - self.mean.abs();
        let at_end = match self.error {
            0.0 if room > 0.0 => 0.0,
            0.0 => 1.0,
            error => t_above(room / error, self.freedom),
        };
        room > 0.0 && self.combined(|interim| interim.same, at_end) <= ALPHA
    }

    /// Further rounds for a verdict in nine of ten cases, if the ratio is as estimated and the spread stays the same.
    fn more_rounds(&self, alpha: f64) -> Option<u32> {
        const Z_POWER: f64 = 1.2816;
        let (margin, share) = (self.margin, self.share_at_end());
        let (distance, p) = if self.mean.abs() > margin {
            (self.mean.abs(), 1.0 - alpha * share / 2.0)
        } else {
            (margin - self.mean.abs(), 1.0 - ALPHA * share)
        };
        let per_round = self.error * self.rounds.sqrt();
        let enough = |rounds: f64| {
            let needed = (t_quantile(p, rounds - 1.0) + Z_POWER) * per_round / rounds.sqrt();
            distance >= needed
        };
        // The required distance shrinks with every round, so bisection finds the first number that is enough.
        let (mut low, mut high) = (self.rounds, MOST_ROUNDS);
        if !enough(high) {
            return None;
        }
        while high - low > 1.0 {
            let middle = ((low + high) / 2.0).floor();
            if enough(middle) { high = middle } else { low = middle }
        }
        Some((high - self.rounds) as u32)
    }
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
/// count inversely, so above 1 is always faster.
pub fn summarise(plan: &Plan, series: &[Series], baseline: &str, pairing: Pairing) -> Vec<Summary> {
    let mut targets: Vec<&str> = Vec::new();
    for s in series.iter().filter(|s| s.target != baseline) {
        if !targets.contains(&s.target.as_str()) {
            targets.push(&s.target);
        }
    }
    let summary = |target: &str| {
        let logs: Vec<StepLogs> =
            plan.steps.iter().filter_map(|step| step_logs(series, &step.id, target, baseline)).collect();
        let test = match pairing {
            Pairing::ByRound | Pairing::ByRoundInterim => over_rounds(&logs)?,
            Pairing::None => over_steps(&logs)?,
        };
        let (target, baseline) = (target.to_owned(), baseline.to_owned());
        Some(Summary { target, baseline, speed: test, steps: logs.len() })
    };
    targets.into_iter().filter_map(summary).collect()
}

/// Logarithms of a step's headline speeds, the mean over its operations, by round: the target's and the baseline's.
struct StepLogs {
    own: Vec<(u32, f64)>,
    base: Vec<(u32, f64)>,
}

impl StepLogs {
    /// Round and log ratio, of the rounds that both have.
    fn paired(&self) -> Vec<(u32, f64)> {
        let base = |round: u32| self.base.iter().find(|(r, _)| *r == round).map(|(_, v)| *v);
        self.own.iter().filter_map(|(round, v)| Some((*round, v - base(*round)?))).collect()
    }
}

fn step_logs(series: &[Series], step: &str, target: &str, baseline: &str) -> Option<StepLogs> {
    let of = |target: &str| -> Option<Vec<(u32, f64)>> {
        let all: Vec<&Series> = series
            .iter()
            .filter(|s| s.is_headline && s.metric != Metric::Score && s.step == step && s.target == target)
            .collect();
        let first = all.first()?;
        let mut logs = Vec::new();
        for (round, _) in &first.values {
            let mut sum = 0.0;
            for s in &all {
                let value = s.values.iter().find(|(r, _)| r == round)?.1;
                let sign = if s.metric.better() == Better::Lower { -1.0 } else { 1.0 };
                sum += sign * if value > 0.0 { value.ln() } else { return None };
            }
            logs.push((*round, sum / all.len() as f64));
        }
        Some(logs)
    };
    Some(StepLogs { own: of(target)?, base: of(baseline)? })
}

/// Paired: the mean over the steps, each with the rounds that it has. Its error is that of sums over rounds, so it includes
/// what a round does to several steps alike (a cluster-robust variance with rounds as clusters; where all steps have the
/// same rounds, it is that of the rounds' means).
fn over_rounds(steps: &[StepLogs]) -> Option<Estimate> {
    let steps: Vec<Vec<(u32, f64)>> = steps.iter().map(StepLogs::paired).filter(|s| !s.is_empty()).collect();
    let fewest = steps.iter().map(Vec::len).min()?;
    let mean_of = |step: &[(u32, f64)]| step.iter().map(|(_, v)| v).sum::<f64>() / step.len() as f64;
    let mean = steps.iter().map(|s| mean_of(s)).sum::<f64>() / steps.len() as f64;
    let mut rounds: BTreeMap<u32, f64> = BTreeMap::new();
    for step in &steps {
        let (own, weight) = (mean_of(step), 1.0 / (steps.len() * step.len()) as f64);
        step.iter().for_each(|(round, v)| *rounds.entry(*round).or_default() += (v - own) * weight);
    }
    if fewest < 2 {
        return Some(Estimate { value: mean.exp(), interval: None });
    }
    let n = rounds.len() as f64;
    let error = (rounds.values().map(|sum| sum.powi(2)).sum::<f64>() * n / (n - 1.0)).sqrt();
    Some(Test { mean, error, freedom: (fewest - 1) as f64, ..Test::NOTHING }.ratio())
}

/// Unpaired: the steps' errors add up.
fn over_steps(steps: &[StepLogs]) -> Option<Estimate> {
    let tests: Vec<Test> = steps
        .iter()
        .filter_map(|s| {
            let exp = |logs: &[(u32, f64)]| logs.iter().map(|(r, v)| (*r, v.exp())).collect::<Vec<_>>();
            Test::new(&exp(&s.own), &exp(&s.base), Pairing::None, 0.0, RobustMean::of)
        })
        .collect();
    let n = tests.len() as f64;
    let freedom = tests.iter().map(|t| t.freedom).fold(f64::INFINITY, f64::min);
    let mean = tests.iter().map(|t| t.mean).sum::<f64>() / n;
    let error = tests.iter().map(|t| t.error.powi(2)).sum::<f64>().sqrt() / n;
    (!tests.is_empty()).then(|| Test { mean, error, freedom, ..Test::NOTHING }.ratio())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, Normal};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    fn series(target: &str, step: &str, metric: Metric, values: &[f64]) -> Series {
        Series {
            target: target.into(),
            step: step.into(),
            operation: Operation::Read,
            metric,
            is_headline: true,
            values: values.iter().enumerate().map(|(i, v)| (i as u32, *v)).collect(),
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
    fn too_few_or_nonpositive_values_give_no_comparison() {
        let of = |a: &[f64], b: &[f64]| {
            let both = [series("a", "s", Metric::Iops, a), series("b", "s", Metric::Iops, b)];
            compare(&both, "a", Pairing::ByRound, 0.03).len()
        };
        assert_eq!(of(&[1.0], &[2.0]), 0);
        assert_eq!(of(&[1.0, 0.0], &[2.0, 2.0]), 0);
        assert_eq!(of(&[1.0, 1.5], &[2.0, 2.0]), 1);
    }

    /// Twenty identical pairs at 5 % spread, judged in different metrics, a thousand times: without correction every run
    /// would have one wrong claim on average; with it at most one run in twenty may have any.
    #[test]
    fn wrong_claims_in_a_table_of_equal_pairs_are_rare() {
        const JUDGED_IN: [Metric; 4] = [Metric::Bandwidth, Metric::Iops, Metric::LatP99, Metric::LatP50];
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let noise = Normal::new(0.0f64, 0.05).unwrap();
        let mut draw = || -> Vec<f64> { (0..5).map(|_| 100.0 * noise.sample(&mut rng).exp()).collect() };
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
        // A true ratio of 1.10 at 5 % spread of the log ratio: forecast from 4 rounds, then check that
        // this number of rounds decides it in most cases.
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let noise = Normal::new(1.10f64.ln(), 0.05).unwrap();
        let needed = Test {
            mean: 1.10f64.ln(),
            error: 0.05 / 2.0,
            freedom: 3.0,
            rounds: 4.0,
            margin: 0.03,
            ..Test::NOTHING
        };
        let rounds = 4 + needed.more_rounds(ALPHA).unwrap() as usize;
        let decided = (0..1000)
            .filter(|_| {
                let logs: Vec<f64> = (0..rounds).map(|_| noise.sample(&mut rng)).collect();
                Test::of_logs(&logs, RobustMean::of).unwrap().p_different() <= ALPHA
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
        let plan = Plan::of_steps("", steps.to_vec(), Rounds::Fixed(3));
        // Twice as fast in one step, and an eighth of the latency (under a given load) in the other.
        let all = [
            series("a", "s1", Metric::Bandwidth, &[10.0, 11.0, 12.0]),
            series("b", "s1", Metric::Bandwidth, &[20.0, 22.0, 24.0]),
            series("a", "s2", Metric::LatP99, &[8.0, 9.0, 10.0]),
            series("b", "s2", Metric::LatP99, &[1.0, 1.125, 1.25]),
        ];
        let summary = summarise(&plan, &all, "a", Pairing::ByRound).remove(0);
        assert_eq!((summary.target.as_str(), summary.steps), ("b", 2));
        assert!((summary.speed.value - 4.0).abs() < 1e-9, "{:?}", summary.speed);
        let unpaired = summarise(&plan, &all, "a", Pairing::None).remove(0);
        assert!((unpaired.speed.value - 4.0).abs() < 1e-9);
        assert!(unpaired.speed.interval.unwrap().0 < 3.9);
    }
}
