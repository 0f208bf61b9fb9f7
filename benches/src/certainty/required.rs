//! Requirements: how often a verdict is wrong near its limit, how often one comes further away, and whether intervals contain the truth.

use std::convert::Infallible;

use analyse::{Judgement, Standing, judge};
use model::{
    Bound, EarlierFigure, Exposure, Histogram, LatencyRecorder, Metric, Operation, Plan, PortableMath,
    Reference, Requirement, Rounds,
};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use schedule::{Executor, Lane, Measured, Order, Outcome, Said, Scheduler, WatchedFigure, drive};

use super::noise::{Noise, Storage, World};
use super::simulated::plan;
use super::trials::{share, trials};
use crate::table::markdown;

/// Nanoseconds of a repeat, and the most of them.
pub(super) const REPEAT_NS: u64 = 10_000_000_000;
const MOST_ROUNDS: u64 = 40;
/// Operations in a repeat, and the middle of their latencies in nanoseconds.
const OPERATIONS: usize = 1000;
const MIDDLE_NS: f64 = 1e6;
/// The standard deviation of their logarithms, and how much of it one passes on to the next.
const SIGMA: f64 = 0.5;
const RHO: f64 = 0.9;
/// Rounds that the true percentile is taken from.
const FOR_TRUTH: usize = 3000;
/// The share of an earlier rate that is required, and the parts per million of a figure that rounds then make its interval narrow to.
const OF_EARLIER: f64 = 0.95;
const PRECISION_PPM: u32 = 15_000;
/// The true figure as a share of the limit.
const AT: [f64; 4] = [0.9, 0.97, 1.03, 1.1];

/// Storage whose repeats differ by a factor, and whose operations depend on each other.
pub(super) struct Latencies {
    storage: Storage,
    rng: Xoshiro256PlusPlus,
}

impl Latencies {
    pub fn new(world: World, seed: u64) -> Self {
        Self { storage: Storage::new(world, &[1.0], seed), rng: Xoshiro256PlusPlus::seed_from_u64(!seed) }
    }

    /// The latencies of one repeat, under a load that makes them so many times as long.
    pub fn repeat(&mut self, times: f64) -> Histogram {
        let slower = times / self.storage.measure(0);
        let mut draw = || -> f64 { StandardNormal.sample(&mut self.rng) };
        let mut recorder = LatencyRecorder::new();
        let mut deviation = draw();
        for _ in 0..OPERATIONS {
            recorder.record((MIDDLE_NS * slower * (SIGMA * deviation).portable_exp()) as u64);
            deviation = RHO * deviation + (1.0 - RHO * RHO).sqrt() * draw();
        }
        recorder.finish()
    }
}

/// What is required: a percentile, a rate, or a rate in comparison with that of an earlier run.
#[derive(Clone, Copy)]
enum Figure {
    P99,
    Rate,
    Earlier,
}

/// Repeats on one target, whose figures depend on the order and on the time in nanoseconds.
struct Repeats<F> {
    figure: F,
    now_ns: u64,
}

impl<F: FnMut(&Order, u64) -> WatchedFigure> Executor for Repeats<F> {
    type Error = Infallible;

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn measure(&mut self, orders: &[Order]) -> Result<Vec<Outcome>, Infallible> {
        let repeat = |order: &Order| {
            let figures = vec![(self.figure)(order, self.now_ns)];
            self.now_ns += REPEAT_NS;
            let measured = Measured { is_complete: true, figures, ..Measured::default() };
            Outcome { measured: Some(measured), ..Outcome::default() }
        };
        Ok(orders.iter().map(repeat).collect())
    }

    fn hear(&mut self, _: Said) {}
}

/// A run of a plan on one target, to its end; `figure` is what a repeat shows.
pub(super) fn run_to_the_end(
    plan: &Plan,
    seed: u64,
    figure: impl FnMut(&Order, u64) -> WatchedFigure,
) -> Scheduler {
    let mut scheduler = Scheduler::new(plan.clone(), "0".into(), !seed);
    scheduler.at(vec![Lane {
        target: "0".into(),
        runs: vec![true; plan.steps.len()],
        shares: None,
        may_shorten: true,
        takes_turns: Vec::new(),
    }]);
    let Ok(()) = drive(&mut scheduler, &mut Repeats { figure, now_ns: 0 });
    scheduler
}

/// The p99 of these latencies, as a figure.
pub(super) fn p99(latencies: Histogram) -> WatchedFigure {
    WatchedFigure {
        operation: Operation::Read,
        metric: Metric::LatP99,
        value: latencies.percentile_ns(99.0).unwrap_or(0) as f64,
        exposure: None,
        latencies: Some(latencies),
        is_headline: true,
    }
}

fn required(figure: Figure, limit: f64) -> Plan {
    let (metric, bound) = match figure {
        Figure::P99 => (Metric::LatP99, Bound::AtMost),
        Figure::Rate | Figure::Earlier => (Metric::Iops, Bound::AtLeast),
    };
    let (profile, step, source) = ("profile".to_owned(), "step".to_owned(), String::new());
    let requirement = Requirement {
        profile,
        step,
        operation: Operation::Read,
        metric,
        bound,
        limit,
        relative_to: None,
        source,
    };
    // A run may exceed its budget by a twentieth.
    let auto = plan(REPEAT_NS, None, REPEAT_NS * MOST_ROUNDS * 20 / 21);
    Plan { requirements: vec![requirement], ..auto }
}

fn judged(world: World, figure: Figure, limit: f64, seed: u64) -> Judgement {
    let plan = match figure {
        Figure::P99 | Figure::Rate => required(figure, limit),
        Figure::Earlier => as_fast_as_earlier(world, limit, seed),
    };
    let samples = measured(world, figure, &plan, seed).samples();
    judge(&plan, &samples, false).remove(0)
}

/// A plan that requires [`OF_EARLIER`] of what an earlier run of the same storage measured, which was slower by a factor.
fn as_fast_as_earlier(world: World, slower: f64, seed: u64) -> Plan {
    const BEFORE: u64 = 1 << 41;
    let plain = Plan { requirements: Vec::new(), ..required(Figure::Earlier, 1.0) };
    let earlier = measured(world, Figure::Earlier, &plain, seed ^ BEFORE).headlines().remove(0);
    let exposures = earlier.exposures.iter().map(|e| Exposure { work: e.work * slower, ..*e }).collect();
    let earlier = EarlierFigure {
        run: "earlier".into(),
        started_unix_ns: 0,
        of: "0".into(),
        target: "0".into(),
        values: earlier.values.iter().map(|(round, value)| (*round, value * slower)).collect(),
        exposures,
        makings: 1,
    };
    let mut plan = required(Figure::Earlier, OF_EARLIER);
    plan.requirements[0].relative_to = Some(Reference::Run(Box::new(earlier)));
    if let Rounds::Auto { budget_ns, .. } = plain.rounds {
        plan.rounds = Rounds::Auto { budget_ns, precision_ppm: PRECISION_PPM };
    }
    plan
}

/// A run of one step until its requirement is decided.
fn measured(world: World, figure: Figure, plan: &Plan, seed: u64) -> Scheduler {
    let mut latencies = Latencies::new(world, seed);
    run_to_the_end(plan, seed, |order, now_ns| match figure {
        Figure::P99 => p99(latencies.repeat(1.0)),
        Figure::Rate | Figure::Earlier => {
            let (value, at, seconds) =
                (latencies.storage.measure(0), now_ns as f64 / 1e9, REPEAT_NS as f64 / 1e9);
            let work = value * seconds;
            let exposure = Exposure { round: order.round, at, seconds, work, lost: 0.0, stalls: 0 };
            let (operation, metric, exposure) = (Operation::Read, Metric::Iops, Some(exposure));
            WatchedFigure { operation, metric, value, exposure, latencies: None, is_headline: true }
        }
    })
}

/// A seed that no run has.
const FAR_SEED: u64 = 1 << 40;

/// The p99 of the long run.
pub(super) fn truth_of_p99(world: World) -> f64 {
    truth(world, Figure::P99, FAR_SEED)
}

/// The figure of the long run.
fn truth(world: World, figure: Figure, seed: u64) -> f64 {
    let mut latencies = Latencies::new(world, seed);
    match figure {
        Figure::P99 => {
            let mut all = Histogram::default();
            (0..FOR_TRUTH).for_each(|_| all.merge(&latencies.repeat(1.0)));
            all.percentile_ns(99.0).unwrap_or(0) as f64
        }
        Figure::Earlier => 1.0,
        Figure::Rate => {
            // Repeats of one length: the mean of their rates.
            let many = 100 * FOR_TRUTH;
            (0..many).map(|_| latencies.storage.measure(0)).sum::<f64>() / many as f64
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

/// Shares of wrong verdicts at each place, of verdicts at the outer two, and of intervals with the truth.
fn cells(world: World, figure: Figure, n: u64) -> [String; 3] {
    let truth = truth(world, figure, FAR_SEED);
    let at = |ratio: f64| {
        let limit = match figure {
            Figure::P99 | Figure::Rate => truth / ratio,
            Figure::Earlier => 1.0 / (ratio * OF_EARLIER),
        };
        trials(n, |seed| judged(world, figure, limit, seed))
    };
    let all = AT.map(at);
    let is_met = |ratio: f64| match figure {
        Figure::P99 => ratio < 1.0,
        Figure::Rate | Figure::Earlier => ratio > 1.0,
    };
    let wrong = |ratio: f64| if is_met(ratio) { Standing::Missed } else { Standing::Met };
    let wrong =
        AT.iter().zip(&all).map(|(ratio, runs)| percent(share(runs, |j| j.standing == wrong(*ratio))));
    let decided = |i: usize| percent(share(&all[i], |j| j.standing != Standing::Undecided));
    let covered = AT.iter().zip(&all).map(|(ratio, runs)| {
        let truth = if matches!(figure, Figure::Earlier) { ratio * OF_EARLIER } else { truth };
        let has_truth = |j: &Judgement| {
            j.figure.and_then(|f| f.interval).is_some_and(|(low, high)| low <= truth && truth <= high)
        };
        share(runs, has_truth)
    });
    let covered = percent(covered.sum::<f64>() / AT.len() as f64);
    [wrong.collect::<Vec<_>>().join(" / "), format!("{} / {}", decided(0), decided(3)), covered]
}

/// One row for each noise and spread.
pub fn required_table(n: u64, noises: &[Noise], spreads: &[f64]) -> String {
    let row = |(noise, spread): (Noise, f64)| {
        let world = World { noise, spread, drift: 0.0, horizon: 1.0 };
        let head = [noise.name(), format!("{:.0} %", spread * 100.0)];
        let cells = [Figure::P99, Figure::Rate, Figure::Earlier].map(|figure| cells(world, figure, n));
        head.into_iter().chain(cells.into_iter().flatten()).collect()
    };
    let all = noises.iter().flat_map(|noise| spreads.iter().map(|spread| (*noise, *spread)));
    let rows: Vec<Vec<String>> = all.map(row).collect();
    let of = |what: &str| ["wrong", "decided", "covered"].map(|column| format!("{what}: {column}"));
    let head: Vec<String> = [of("p99"), of("rate"), of("earlier")].concat();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    markdown(&[&["noise", "spread"], &head[..]].concat(), &rows)
}
