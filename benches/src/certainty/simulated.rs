//! Runs of the program's own scheduler on simulated storage and a virtual clock.

use std::convert::Infallible;

use analyse::{Aims, Pairing, Series, compare};
use model::{Comparison, Event, Exposure, Metric, Operation, Plan, Rounds, Step, Workload};
use schedule::{Executor, Lane, Measured, Order, Outcome, Said, Scheduler, WatchedFigure, drive};

use crate::claims::step;

/// The default margin and precision of a run.
pub const AIMS: Aims = Aims { precision: 0.02, margin: 0.03 };

/// What a simulated repeat has shown.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// All of it; its work ÷ its time is the figure. When it began is filled in.
    pub exposure: Exposure,
    /// The rates of its intervals, in operations per second.
    pub rates: Vec<f64>,
    /// Nanoseconds that it took, what surrounds it included.
    pub took_ns: u64,
}

/// A simulated run that has ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Every target against the first, as the result would have them.
    pub comparisons: Vec<Comparison>,
    /// What counts, by step and target.
    pub series: Vec<Series>,
    /// Seconds of the run.
    pub seconds: f64,
}

/// The plan of a run of one step with repeats of this length in nanoseconds, which may be shortened to `shortest_ns`; until it is
/// decided, for `budget_ns` at most.
pub fn plan(time_ns: u64, shortest_ns: Option<u64>, budget_ns: u64) -> Plan {
    let mut step = Step { shortest_ns, ..step("step", Workload::random_reads()) };
    step.stop.time_ns = Some(time_ns);
    let rounds = Rounds::Auto { budget_ns, precision_ppm: (AIMS.precision * 1e6) as u32 };
    let plan = Plan::of_steps("simulated", vec![step], rounds);
    Plan { margin_ppm: (AIMS.margin * 1e6) as u32, ..plan }
}

pub(super) fn empty(target: usize) -> Series {
    Series {
        run: 0,
        target: target.to_string(),
        step: "step".into(),
        operation: Operation::Read,
        metric: Metric::Iops,
        is_headline: true,
        values: Vec::new(),
        exposures: Vec::new(),
        makings: 1,
    }
}

/// Carries orders out on simulated storage and a virtual clock.
struct Simulation<F> {
    /// Carries out one order, or several in turns.
    repeat: F,
    now_ns: u64,
    targets: usize,
    /// By number: the series of a repeat, its exposure, and whether it counts.
    repeats: Vec<(usize, Exposure, bool)>,
}

impl<F: FnMut(&[Order]) -> Vec<Simulated>> Executor for Simulation<F> {
    type Error = Infallible;

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn measure(&mut self, orders: &[Order]) -> Result<Vec<Outcome>, Infallible> {
        let at = self.now_ns as f64 / 1e9;
        let mut record = |(order, mut done): (&Order, Simulated)| {
            done.exposure.at = at;
            self.repeats.push((order.step * self.targets + order.lane, done.exposure, true));
            self.now_ns += done.took_ns;
            outcome(done)
        };
        Ok(orders.iter().zip((self.repeat)(orders)).map(&mut record).collect())
    }

    fn hear(&mut self, said: Said) {
        if let Said::Event(Event::SetAside(aside)) = said {
            aside.repeats.iter().for_each(|number| self.repeats[*number as usize].2 = false);
        }
    }
}

/// A run of a plan on so many targets; `repeat` carries its orders out.
pub fn run(plan: &Plan, targets: usize, seed: u64, mut repeat: impl FnMut(&Order) -> Simulated) -> Ended {
    run_on(plan, (targets, false), seed, |orders| orders.iter().map(&mut repeat).collect())
}

/// The same with targets that can take turns: `repeat` carries out one order, or several in turns.
pub fn run_in_turns(
    plan: &Plan,
    targets: usize,
    seed: u64,
    repeat: impl FnMut(&[Order]) -> Vec<Simulated>,
) -> Ended {
    run_on(plan, (targets, true), seed, repeat)
}

fn run_on(
    plan: &Plan,
    (targets, takes_turns): (usize, bool),
    seed: u64,
    repeat: impl FnMut(&[Order]) -> Vec<Simulated>,
) -> Ended {
    // The same seed would draw the turns from the numbers that the noise is made of.
    let mut scheduler = Scheduler::new(plan.clone(), "0".into(), !seed);
    let lane = |target: usize| Lane {
        target: target.to_string(),
        runs: vec![true; plan.steps.len()],
        shares: None,
        may_shorten: true,
        takes_turns: vec![takes_turns; plan.steps.len()],
    };
    scheduler.at((0..targets).map(lane).collect());
    let mut simulation = Simulation { repeat, now_ns: 0, targets, repeats: Vec::new() };
    let Ok(()) = drive(&mut scheduler, &mut simulation);
    let Simulation { now_ns, repeats, .. } = simulation;
    let of_step = |step: &Step| {
        let (step, makings) = (step.id.clone(), plan.makings);
        (0..targets).map(move |target| Series { step: step.clone(), makings, ..empty(target) })
    };
    let mut series: Vec<Series> = plan.steps.iter().flat_map(of_step).collect();
    for (of, exposure, _) in repeats.iter().filter(|(.., counts)| *counts) {
        series[*of].values.push((exposure.round, exposure.work / exposure.seconds));
        series[*of].exposures.push(*exposure);
    }
    let comparisons = compare(&series, "0", Pairing::within(plan), plan.margin());
    Ended { comparisons, series, seconds: now_ns as f64 / 1e9 }
}

fn outcome(done: Simulated) -> Outcome {
    let Simulated { exposure, rates, .. } = done;
    let per_second = exposure.work / exposure.seconds;
    let figures = vec![WatchedFigure {
        operation: Operation::Read,
        metric: Metric::Iops,
        value: per_second,
        exposure: Some(exposure),
        latencies: None,
        is_headline: true,
    }];
    let measured = Measured { is_complete: true, figures, per_second, rates, ..Measured::default() };
    Outcome { measured: Some(measured), ..Outcome::default() }
}
