//! Repeats that differ.

use model::*;

use super::*;

/// A workload whose pauses determine the rate.
fn with_pauses() -> Workload {
    let think = Some(Think { ns: 1_000_000_000, every: 1 });
    Workload { modifiers: Modifiers { think, ..Modifiers::default() }, ..workload() }
}

fn set_aside(run: &mut Run, reason: SetAsideReason) {
    let repeats = vec![run.repeats[0].started.repeat];
    run.record(Event::SetAside(SetAside { at_ns: 2, repeats, reason }));
}

/// Rounds of two equal targets, each of which is first in every other round; the second has `later` times the rate.
pub(super) fn in_turns(run: &mut Run, rounds: u32, later: f64) {
    let other = Target { name: "other".into(), ..run.started.targets[0].clone() };
    run.started.targets.push(other);
    let first = run.repeats[0].clone();
    run.repeats = (0..2 * rounds)
        .map(|number| {
            let mut repeat = first.clone();
            let (round, place) = (number / 2, number % 2);
            repeat.started.repeat = number;
            repeat.started.round = round;
            repeat.started.target = if (round + place) % 2 == 0 { "disk".into() } else { "other".into() };
            let noise = 1.0 + 0.002 * f64::from(number * 7 % 5);
            let rate = if place == 1 { later } else { 1.0 } * noise;
            repeat.finished.as_mut().unwrap().window_ns = (1e9 / rate) as u64;
            repeat
        })
        .collect();
}

/// Thirty rounds of two targets; the second is faster by what `by` says of a round.
fn apart(run: &mut Run, by: impl Fn(u32) -> f64) {
    in_turns(run, 30, 1.0);
    for repeat in run.repeats.iter_mut().filter(|repeat| repeat.started.target == "other") {
        let finished = repeat.finished.as_mut().unwrap();
        finished.window_ns = (finished.window_ns as f64 / by(repeat.started.round)) as u64;
    }
}

/// As many rounds as values, on a target that was made so often.
fn made(run: &mut Run, makings: u32, values: &[f64]) {
    each_round(run, values);
    run.started.plan.makings = makings;
}

fn too_short() -> SetAsideReason {
    SetAsideReason::TooShort {
        step: "step".into(),
        length_ns: 100_000_000,
        long_ns: 1_000_000_000,
        ratio: 1.5,
    }
}

fn disturbed() -> SetAsideReason {
    SetAsideReason::Disturbed { step: "step".into(), round: 0, cause: Disturbance::StolenTime, share: 0.3 }
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        ("two-modes", true, workload(), |r| each_round(r, &[16.0, 25.1, 16.1, 25.0, 24.9])),
        ("two-modes", true, writes(), |r| each_round(r, &[25.0, 24.9, 16.0, 16.1])),
        ("two-modes", false, workload(), |r| each_round(r, &[16.0, 25.0, 25.0])),
        ("two-modes", false, workload(), |r| each_round(r, &[100.0, 100.0, 102.0, 102.0, 102.0])),
        ("two-modes", false, workload(), |r| each_round(r, &[16.0, 22.0, 19.0, 25.0, 17.0])),
        ("two-modes", false, workload(), |r| each_round(r, &[25.0, 25.1, 24.9, 16.0, 25.0, 25.1])),
        ("outliers", true, workload(), |r| each_round(r, &[25.0, 25.1, 24.9, 16.0, 25.2, 25.1, 24.8])),
        ("outliers", false, workload(), |r| each_round(r, &[16.0, 25.1, 16.1, 25.0, 24.9])),
        ("outliers", false, workload(), |r| each_round(r, &[25.0, 25.0, 25.0, 25.0, 25.0, 25.5])),
        ("outliers", false, workload(), |r| each_round(r, &[25.0, 25.1, 16.0])),
        ("makings-differ", true, workload(), |r| {
            made(r, 3, &[20.0, 25.0, 20.1, 20.2, 25.2, 20.0, 20.1, 25.1, 20.2])
        }),
        ("makings-differ", false, workload(), |r| {
            made(r, 1, &[20.0, 25.0, 20.1, 20.2, 25.2, 20.0, 20.1, 25.1, 20.2])
        }),
        ("makings-differ", false, workload(), |r| {
            made(r, 3, &[20.0, 25.0, 22.1, 25.2, 20.2, 24.0, 21.1, 23.1, 20.2])
        }),
        ("makings-differ", false, workload(), |r| made(r, u32::MAX, &[20.0, 25.0, 20.1])),
        // Less than the margin.
        ("makings-differ", false, workload(), |r| {
            made(r, 3, &[20.0, 20.4, 20.0, 20.0, 20.4, 20.0, 20.0, 20.4, 20.0])
        }),
        ("slow-changes", true, workload(), |r| apart(r, |round| 1.2 + 0.05 * f64::from(round / 5 % 2))),
        ("slow-changes", false, workload(), |r| apart(r, |round| 1.2 + 0.05 * f64::from(round % 2))),
        ("slow-changes", false, workload(), |r| apart(r, |round| 1.0 + 0.2 * f64::from(round / 10) - 0.2)),
        ("trend", true, workload(), |r| each_round(r, &[30.0, 29.0, 28.2, 27.0, 26.5, 25.0, 24.3])),
        ("trend", false, workload(), |r| each_round(r, &[30.0, 29.0, 28.2, 27.0])),
        ("trend", false, workload(), |r| each_round(r, &[30.0, 29.9, 29.8, 29.7, 29.6, 29.5])),
        ("trend", false, workload(), |r| each_round(r, &[28.0, 30.0, 27.0, 26.0, 29.0, 25.0, 31.0])),
        ("not-steady", true, workload(), |r| each_round(r, &[20.0, 20.0, 25.0, 20.0, 20.0])),
        ("not-steady", true, workload(), |r| each_round(r, &[20.0, 19.4, 18.8, 18.2, 17.6])),
        ("not-steady", false, workload(), |r| each_round(r, &[99.0, 20.0, 21.0, 20.0, 21.0, 20.0])),
        ("not-steady", false, workload(), |r| each_round(r, &[20.0, 30.0, 40.0, 50.0])),
        // Of five seconds each.
        ("not-steady", false, workload(), |r| each_round(r, &[200.0, 200.0, 250.0, 200.0, 200.0])),
        ("not-steady", false, workload(), |r| {
            each_round(r, &[20.0, 20.0, 25.0, 20.0, 20.0]);
            r.repeats.iter_mut().for_each(|r| r.started.time_ns = Some(100_000_000));
        }),
        ("length-matters", true, workload(), |r| set_aside(r, too_short())),
        ("length-matters", false, workload(), |r| set_aside(r, disturbed())),
        ("turns-matter", true, workload(), |r| {
            set_aside(r, SetAsideReason::InTurns { step: "step".into(), ratio: 0.8 });
        }),
        ("turns-matter", false, workload(), |r| {
            set_aside(r, SetAsideReason::WithoutTurns { step: "step".into() });
        }),
        ("deferred-work", true, writes(), |r| each_finished(r, |f| f.settled_ns = Some(f.window_ns / 9))),
        ("deferred-work", false, writes(), |r| each_finished(r, |f| f.settled_ns = Some(f.window_ns / 11))),
        ("deferred-work", false, workload(), |r| each_finished(r, |f| f.settled_ns = Some(f.window_ns))),
        ("carry-over", true, workload(), |r| in_turns(r, 12, 1.05)),
        ("carry-over", false, workload(), |r| in_turns(r, 12, 1.001)),
        ("carry-over", false, workload(), |r| in_turns(r, 9, 1.05)),
        ("carry-over", false, workload(), |r| {
            in_turns(r, 12, 1.05);
            r.repeats.iter_mut().for_each(|repeat| repeat.started.turns = 1);
        }),
        ("stalled-repeats", true, workload(), |r| {
            each_round(r, &[30.0, 29.0, 31.0, 30.0, 10.0, 29.0, 30.0, 31.0, 12.0, 30.0, 29.0]);
        }),
        ("stalled-repeats", false, workload(), |r| {
            each_round(r, &[30.0, 29.0, 31.0, 30.0, 21.0, 29.0, 30.0, 31.0, 22.0, 30.0, 29.0]);
        }),
        ("stalled-repeats", false, workload(), |r| {
            each_round(r, &[30.0, 29.0, 31.0, 30.0, 10.0, 29.0, 30.0])
        }),
        ("disturbed-rounds", true, workload(), |r| set_aside(r, disturbed())),
        ("disturbed-rounds", false, workload(), |r| set_aside(r, too_short())),
        ("start-up-transient", true, workload(), |r| each_interval(r, &[70, 71, 100, 101, 99, 100])),
        ("start-up-transient", true, writes(), |r| each_interval(r, &[200, 100, 101, 99, 100])),
        ("start-up-transient", false, workload(), |r| each_interval(r, &[101, 100, 99, 100, 100])),
        ("start-up-transient", false, with_pauses(), |r| each_interval(r, &[70, 71, 100, 101, 99, 100])),
        ("start-up-transient", false, workload(), |r| each_interval(r, &[70, 100, 100])),
        ("start-up-transient", false, workload(), |r| {
            each_interval(r, &[70, 71, 100, 101, 99, 100]);
            r.repeats.truncate(2);
        }),
        ("start-up-transient", false, workload(), |r| {
            each_interval(r, &[70, 71, 100, 101, 99, 100]);
            r.repeats.iter_mut().flat_map(|r| &mut r.intervals).for_each(|i| i.phase = Phase::Ramp);
        }),
        (
            "start-up-transient",
            false,
            Workload { pace: Pace::Fixed { per_second: 10.0 }, ..workload() },
            |r| {
                each_interval(r, &[70, 71, 100, 101, 99, 100]);
            },
        ),
    ]
}
