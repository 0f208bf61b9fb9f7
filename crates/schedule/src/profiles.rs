//! Every profile that comes with the program, through the scheduler on simulated storage: what is better than its limits meets it, what is
//! worse misses it, and what is at them stays undecided.

use analyse::{Standing, headline, judge};
use model::{Bound, Exposure, Histogram, LatencyRecorder, Plan, PortableMath, Requirement, Step};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::cases::{Run, SECOND};
use crate::scheduler::Sequence;
use crate::{Measured, Order, Outcome, WatchedFigure};

/// Operations of a repeat whose latencies are required.
const OPERATIONS: u32 = 500;

fn profiles() -> impl Iterator<Item = Plan> {
    let environment = plan::Environment { memory_bytes: 1 << 40, engines: Vec::new(), targets: 1 };
    plan::BUILTIN_SUITES.iter().filter_map(move |suite| {
        let (suite, _) = plan::Suite::parse(suite.name, suite.toml);
        let has_some = !suite.requirements.is_empty();
        has_some.then(|| plan::resolve(&suite, &plan::RunOverrides::default(), &environment).unwrap().plan)
    })
}

/// Latencies of which `percent` % are at most `ns`, with a long tail.
fn latencies(percent: f64, ns: f64) -> Histogram {
    let beyond = 1.0 - percent / 100.0;
    let mut recorder = LatencyRecorder::new();
    for i in 0..OPERATIONS {
        let above = 1.0 - (f64::from(i) + 0.5) / f64::from(OPERATIONS);
        recorder.record((ns * (beyond / above).portable_powf(0.2)) as u64);
    }
    recorder.finish()
}

fn figure(step: &Step, r: &Requirement, order: &Order, better: f64, seconds: f64) -> WatchedFigure {
    let value = match r.bound {
        Bound::AtLeast => r.limit * better,
        Bound::AtMost => r.limit / better,
    };
    let exposure = Exposure {
        round: order.round,
        at: f64::from(order.repeat) * seconds,
        seconds,
        work: value * seconds,
        lost: 0.0,
        stalls: 0,
    };
    let percent = r.metric.percent();
    WatchedFigure {
        operation: r.operation,
        metric: r.metric,
        value,
        exposure: percent.is_none().then_some(exposure),
        latencies: percent.map(|percent| latencies(percent, value)),
        is_headline: headline(step, r.operation) == Some(r.metric),
    }
}

/// How a profile stands on storage that is so many times as good as required, give or take 5 % in each repeat.
fn standing(plan: &Plan, factor: f64) -> Standing {
    let run = Run::new(plan.clone(), Sequence::Balanced, 1, 7).go(|order, _| {
        let step = &plan.steps[order.step];
        let noise = Xoshiro256PlusPlus::seed_from_u64(order.seed).random_range(-0.05..0.05);
        let seconds = order.timing.time_ns.unwrap_or(SECOND) as f64 / 1e9;
        let own = plan.requirements.iter().filter(|r| r.step == step.id);
        let figures = own.map(|r| figure(step, r, order, factor * (1.0 + noise), seconds)).collect();
        let measured = Measured { is_complete: true, figures, ..Measured::default() };
        let took_ns = (seconds * 1e9) as u64 + order.timing.ramp_ns;
        Outcome { took_ns, measured: Some(measured), ..Outcome::default() }
    });
    let judgements = judge(plan, &run.scheduler.evidence.samples(plan), false);
    assert_eq!(judgements.len(), plan.requirements.len(), "{}", plan.suite);
    Standing::of_all(judgements.into_iter().map(|judgement| judgement.standing))
}

#[test]
fn each_is_met_missed_and_undecided() {
    let mut count = 0;
    for plan in profiles() {
        count += 1;
        assert_eq!(standing(&plan, 3.0), Standing::Met, "{}", plan.suite);
        assert_eq!(standing(&plan, 0.5), Standing::Missed, "{}", plan.suite);
        assert_eq!(standing(&plan, 1.0), Standing::Undecided, "{}", plan.suite);
    }
    assert!(count > 20, "{count}");
}
