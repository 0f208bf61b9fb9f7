//! Every profile that comes with the program, through the scheduler on simulated storage: what is better than its limits meets it, what is
//! worse misses it, and what is at them stays undecided.

use analyse::{Standing, headline, judge};
use model::{
    Bound, Exposure, Histogram, LatencyRecorder, Metric, Pace, Plan, PortableMath, Requirement, Rounds, Rung,
    Step,
};
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
        suite
            .is_profile()
            .then(|| plan::resolve(&suite, &plan::RunOverrides::default(), &environment).unwrap().plan)
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

/// Storage that works off at most `most` operations a second, quickly if no more are offered.
fn offered(plan: &Plan, order: &Order, most: f64) -> Vec<WatchedFigure> {
    let step = &plan.steps[order.step];
    let noise = Xoshiro256PlusPlus::seed_from_u64(order.seed).random_range(-0.01..0.01);
    let Pace::Fixed { per_second } = step.workload.pace else { panic!("{}", step.id) };
    let better = if per_second <= most { 3.0 } else { 0.3 };
    let figures = plan.requirements.iter().filter(|r| r.step == step.id).map(|r| match r.metric {
        Metric::Iops => figure(step, r, order, per_second.min(most) * (1.0 + noise) / r.limit, 1.0),
        _ => figure(step, r, order, better * (1.0 + noise), 1.0),
    });
    figures.collect()
}

#[test]
fn the_highest_load_that_is_carried_is_found_by_halves() {
    let environment = plan::Environment { memory_bytes: 1 << 40, engines: Vec::new(), targets: 2 };
    let (suite, _) = plan::Suite::parse("headroom", plan::builtin("headroom").unwrap().toml);
    let plan = plan::resolve(&suite, &plan::RunOverrides::default(), &environment).unwrap().plan;
    let plan = Plan { rounds: Rounds::Auto { budget_ns: 3600 * SECOND, precision_ppm: 20_000 }, ..plan };
    // On the first target, little; on the second, more than is offered.
    let most = [1000.0, 1e9];
    let run = Run::new(plan.clone(), Sequence::Balanced, 2, 7).go(|order, _| {
        let figures = offered(&plan, order, most[order.lane]);
        let measured = Measured { is_complete: true, figures, ..Measured::default() };
        Outcome { took_ns: SECOND, measured: Some(measured), ..Outcome::default() }
    });
    let judgements = judge(&plan, &run.scheduler.evidence.samples(&plan), false);
    for (ladder, target) in plan.ladders.iter().flat_map(|ladder| [(ladder, "t0"), (ladder, "t1")]) {
        let standing = |rung: &Rung| {
            let own = judgements.iter().filter(|j| j.requirement.step == rung.step && j.target == target);
            own.clone().next().map(|_| Standing::of_all(own.map(|j| j.standing)))
        };
        let tried: Vec<(&Rung, Standing)> =
            ladder.rungs.iter().filter_map(|rung| Some((rung, standing(rung)?))).collect();
        assert!(tried.len() as u32 <= ladder.most_probes() + 1, "{} {target}: {tried:?}", ladder.unit);
        let of = |rung: &Rung| {
            let Pace::Fixed { per_second } = plan.step(&rung.step).unwrap().workload.pace else { panic!() };
            if per_second <= if target == "t0" { most[0] } else { most[1] } {
                Standing::Met
            } else {
                Standing::Missed
            }
        };
        let is_right =
            |(rung, standing): &(&Rung, Standing)| *standing == of(rung) || *standing == Standing::Undecided;
        assert!(tried.iter().all(is_right), "{} {target}: {tried:?}", ladder.unit);
        // The rungs on both sides of the edge are decided.
        let edge = ladder.rungs.iter().position(|rung| of(rung) == Standing::Missed);
        let beside = [edge.unwrap_or(ladder.rungs.len()).checked_sub(1), edge];
        for rung in beside.into_iter().flatten().map(|rung| &ladder.rungs[rung]) {
            assert!(
                tried.iter().any(|(other, standing)| *other == rung && *standing == of(rung)),
                "{} {target}: {rung:?}",
                ladder.unit
            );
        }
    }
}
