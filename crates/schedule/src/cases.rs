//! Whole runs on a virtual clock: hundreds a second.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::ops::Deref;

use model::{
    Disturbance, Event, Exposure, FailureKind, Metric, Operation, Plan, RepeatFailure, Rounds, RunOutcome,
    SetAsideReason,
};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::scheduler::Sequence;
use crate::{Executor, Lane, Lost, Measured, Order, Outcome, Said, Scheduler, WatchedFigure, drive};

pub(crate) const SECOND: u64 = 1_000_000_000;

/// A plan of these steps, in the words of a suite.
fn plan(steps: &str, rounds: Rounds) -> Plan {
    let (suite, problems) = plan::Suite::parse("test", steps);
    assert!(problems.is_empty(), "{problems:?}");
    let environment = plan::Environment { memory_bytes: 1 << 40, engines: vec![], targets: 2 };
    let resolved = plan::resolve(&suite, &plan::RunOverrides::default(), &environment).unwrap();
    Plan { rounds, ..resolved.plan }
}

const TWO: &str = "[[step]]\nid = \"a\"\nrw = \"randread\"\nruntime = \"=1s\"\nramp = \"0s\"\n\
                   [[step]]\nid = \"b\"\nrw = \"randwrite\"\nruntime = \"=1s\"\nramp = \"0s\"\n";
const ONE: &str = "[[step]]\nid = \"a\"\nrw = \"randread\"\nruntime = \"2s\"\nramp = \"200ms\"\n";

fn auto(seconds: u64) -> Rounds {
    Rounds::Auto { budget_ns: seconds * SECOND, precision_ppm: 20_000 }
}

/// The run of a scheduler.
pub(crate) struct Run {
    pub scheduler: Scheduler,
    trace: Trace,
}

/// What an executor has seen of it.
#[derive(Default)]
pub(crate) struct Trace {
    now_ns: u64,
    orders: Vec<Order>,
    events: Vec<Event>,
    expected: Vec<(u64, u32)>,
    rounds_ended: u32,
    is_stopped: bool,
}

/// An executor: `answer` says what becomes of an order, and whether the run is to end.
struct Answering<'a, F>(&'a mut Trace, F);

impl<F: FnMut(&Order, &mut bool) -> Outcome> Executor for Answering<'_, F> {
    type Error = Infallible;

    fn now_ns(&self) -> u64 {
        self.0.now_ns
    }

    fn is_stopped(&self) -> bool {
        self.0.is_stopped
    }

    fn measure(&mut self, orders: &[Order]) -> Result<Vec<Outcome>, Infallible> {
        let Self(trace, answer) = self;
        let mut repeat = |order: &Order| {
            trace.orders.push(order.clone());
            let outcome = answer(order, &mut trace.is_stopped);
            trace.now_ns += outcome.took_ns;
            outcome
        };
        Ok(orders.iter().map(&mut repeat).collect())
    }

    fn round_ended(&mut self) {
        self.0.rounds_ended += 1;
    }

    fn hear(&mut self, said: Said) {
        match said {
            Said::Event(event) => self.0.events.push(event),
            Said::Expected { end_ns, rounds } => self.0.expected.push((end_ns, rounds)),
            Said::Forecast(_) => {}
        }
    }
}

impl Deref for Run {
    type Target = Trace;

    fn deref(&self) -> &Trace {
        &self.trace
    }
}

impl Run {
    pub fn new(plan: Plan, sequence: Sequence, lanes: usize, seed: u64) -> Self {
        let lane = |i: usize| Lane {
            target: format!("t{i}"),
            runs: vec![true; plan.steps.len()],
            shares: None,
            may_shorten: true,
            takes_turns: vec![false; plan.steps.len()],
        };
        let lanes = (0..lanes).map(lane).collect();
        let mut scheduler = Scheduler::new(plan, "t0".into(), seed);
        scheduler.sequence = sequence;
        scheduler.at(lanes);
        Self { scheduler, trace: Trace::default() }
    }

    pub fn go(mut self, answer: impl FnMut(&Order, &mut bool) -> Outcome) -> Self {
        let Ok(()) = drive(&mut self.scheduler, &mut Answering(&mut self.trace, answer));
        self
    }

    /// Number of repeats of a step on a lane.
    fn count(&self, step: usize, lane: usize) -> usize {
        self.orders.iter().filter(|order| (order.step, order.lane) == (step, lane)).count()
    }

    /// Messages of the notes on a topic.
    fn notes(&self, topic: &str) -> Vec<&str> {
        self.events
            .iter()
            .filter_map(|event| match event {
                Event::Note(note) if note.topic == topic => Some(note.message.as_str()),
                _ => None,
            })
            .collect()
    }

    /// Repeats that were set aside together, with the reason.
    fn set_aside(&self) -> Vec<(&[u32], &SetAsideReason)> {
        self.events
            .iter()
            .filter_map(|event| match event {
                Event::SetAside(aside) => Some((&aside.repeats[..], &aside.reason)),
                _ => None,
            })
            .collect()
    }
}

/// A completed repeat with this rate in operations per second.
fn rate(order: &Order, per_second: f64) -> Outcome {
    let length_ns = order.timing.time_ns.unwrap_or(SECOND);
    let seconds = length_ns as f64 / 1e9;
    let exposure = Exposure {
        round: order.round,
        at: f64::from(order.repeat) * seconds,
        seconds,
        work: per_second * seconds,
        lost: 0.0,
        stalls: 0,
    };
    let operation = if order.step == 0 { Operation::Read } else { Operation::Write };
    let measured = Measured {
        is_complete: true,
        figures: vec![WatchedFigure {
            operation,
            metric: Metric::Iops,
            value: per_second,
            exposure: Some(exposure),
            latencies: None,
            is_headline: true,
        }],
        per_second,
        rates: vec![per_second, per_second * 1.01, per_second * 0.99, per_second],
        ..Measured::default()
    };
    let took_ns = length_ns + order.timing.ramp_ns + SECOND / 100 - 1;
    Outcome { took_ns, measured: Some(measured), ..Outcome::default() }
}

/// A rate with noise of at most this share, which depends only on the repeat.
fn noisier(order: &Order, per_second: f64, most: f64) -> Outcome {
    let noise = (order.seed % 1001) as f64 / 500.0 - 1.0;
    rate(order, per_second * (1.0 + most * noise))
}

fn noisy(order: &Order, per_second: f64) -> Outcome {
    noisier(order, per_second, 0.01)
}

fn failing(kind: FailureKind) -> Outcome {
    let operation = Operation::Read;
    let failure =
        RepeatFailure { kind, operation, offset: None, after_ns: 0, good_operations: 0, good_bytes: 0 };
    let measured = Some(Measured::default());
    Outcome { took_ns: SECOND, measured, failure: Some(failure), lost: None }
}

#[test]
fn fixed_rounds_measure_everything_so_often() {
    for sequence in [Sequence::Plan, Sequence::Balanced, Sequence::SideBySide(vec![vec![0, 1]])] {
        let run = Run::new(plan(TWO, Rounds::Fixed(6)), sequence, 3, 1).go(|order, _| rate(order, 100.0));
        for (step, lane) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)] {
            assert_eq!(run.count(step, lane), 6);
        }
        let numbers: Vec<u32> = run.orders.iter().map(|order| order.repeat).collect();
        assert_eq!(numbers, (0..36).collect::<Vec<_>>());
        assert!(run.orders.is_sorted_by_key(|order| order.round));
        assert_eq!((run.rounds_ended, run.scheduler.outcome()), (6, RunOutcome::Completed));
        let seeds: BTreeSet<u64> = run.orders.iter().map(|order| order.seed).collect();
        assert_eq!(seeds.len(), 36);
    }
}

/// Lanes of a plan whose repeats may take turns.
fn in_turns(steps: &str, lanes: usize) -> Run {
    let mut run = Run::new(plan(steps, auto(60)), Sequence::Balanced, lanes, 1);
    let with = |lane: Lane| Lane { takes_turns: vec![true; lane.takes_turns.len()], ..lane };
    run.scheduler.lanes = std::mem::take(&mut run.scheduler.lanes).into_iter().map(with).collect();
    run
}

#[test]
fn after_the_first_round_the_repeats_of_a_step_take_turns() {
    let run = in_turns(ONE, 3).go(|order, _| noisy(order, 10_000.0));
    assert!(run.orders.iter().all(|order| order.turns == if order.round == 0 { 0 } else { 2 }));
    assert!(run.orders.len() > 30);
    let numbers: Vec<u32> = run.orders.iter().map(|order| order.repeat).collect();
    assert_eq!(numbers, (0..run.orders.len() as u32).collect::<Vec<_>>());
    let without = SetAsideReason::WithoutTurns { step: "a".into() };
    assert_eq!(run.set_aside()[0], (&[0, 1, 2][..], &without));
    assert_eq!(run.set_aside().len(), 1);
}

#[test]
fn nothing_takes_turns_where_there_is_one_target_or_the_length_is_fixed() {
    for run in [in_turns(ONE, 1), in_turns(TWO, 2)] {
        let run = run.go(|order, _| noisy(order, 10_000.0));
        assert!(run.orders.iter().all(|order| order.turns == 0));
        assert_eq!(run.set_aside(), []);
    }
}

#[test]
fn a_target_that_is_given_up_leaves_the_others_their_turns() {
    let run = in_turns(ONE, 3).go(|order, _| match (order.lane, order.round) {
        (1, 4..) => failing(FailureKind::Errno(5)),
        _ => noisy(order, 10_000.0),
    });
    let last = run.orders.last().unwrap();
    assert_eq!((last.turns, run.count(0, 1)), (1, 7), "four rounds, and three that failed");
}

#[test]
fn a_step_that_prepares_runs_once_and_first() {
    let steps = TWO.replace("id = \"b\"", "id = \"b\"\nonce = true");
    let run = Run::new(plan(&steps, Rounds::Fixed(4)), Sequence::Balanced, 2, 5).go(|o, _| rate(o, 100.0));
    assert_eq!((run.count(0, 0), run.count(1, 0), run.count(1, 1)), (4, 1, 1));
    assert!(run.orders[..2].iter().all(|order| order.step == 1));
}

#[test]
fn side_by_side_the_steps_of_a_group_keep_their_order() {
    let groups = Sequence::SideBySide(vec![vec![1, 0]]);
    let run = Run::new(plan(TWO, Rounds::Fixed(8)), groups, 2, 2).go(|order, _| rate(order, 100.0));
    let lanes: BTreeSet<usize> = run.orders.chunks(4).map(|round| round[0].lane).collect();
    assert_eq!(lanes.len(), 2, "the targets take turns");
    for of_lane in run.orders.chunks(2) {
        assert_eq!((of_lane[0].step, of_lane[1].step), (1, 0));
        assert_eq!(of_lane[0].lane, of_lane[1].lane);
    }
}

#[test]
fn a_run_ends_when_it_is_decided_and_else_with_its_budget() {
    let go = |second: f64, noise: f64| {
        Run::new(plan(TWO, auto(300)), Sequence::Balanced, 2, 3)
            .go(|order, _| noisier(order, if order.lane == 0 { 100.0 } else { second }, noise))
    };
    let clear = go(150.0, 0.01);
    assert!(clear.now_ns < 60 * SECOND, "{} s", clear.now_ns / SECOND);
    assert!(clear.rounds_ended >= 2);
    // In the middle between the same and different.
    let close = go(103.0, 0.3);
    assert!((250..=315).contains(&(close.now_ns / SECOND)), "{} s", close.now_ns / SECOND);
    assert_eq!(close.notes("forecast").len(), 1);
}

#[test]
fn the_time_goes_to_what_can_be_decided_and_else_to_what_is_least_precise() {
    // Step a is quiet and step b noisy; on the second target each has this rate, and on the first 100.
    let go = |a: f64, b: f64| {
        let run = Run::new(plan(TWO, auto(60)), Sequence::Balanced, 2, 3).go(|order, _| {
            let (other, noise) = if order.step == 0 { (a, 0.01) } else { (b, 0.3) };
            noisier(order, if order.lane == 0 { 100.0 } else { other }, noise)
        });
        let rounds = |step| {
            let own = run.orders.iter().filter(move |order| (order.step, order.lane) == (step, 0));
            own.map(|order| order.round).collect::<Vec<u32>>()
        };
        (rounds(0), rounds(1), run.notes("forecast").concat())
    };
    // That both are the same takes a minute of each, and there is one for all.
    let (a, b, note) = go(100.0, 100.0);
    assert!(note.contains(": no undecided step can be decided in the "), "{note}");
    assert!(
        note.ends_with("get twice as much time as the others; time needed: a (93 s), b (hours)"),
        "{note}"
    );
    let without_a: Vec<&u32> = b.iter().filter(|round| !a.contains(round)).collect();
    assert!(without_a.len() >= 3 && without_a.iter().all(|round| **round >= 6), "{a:?}, {b:?}");
    // What differs by much is soon decided.
    let (a, b, note) = go(100.0, 140.0);
    assert!(note.ends_with("; out of reach, with half of their share of the time: a (93 s)"), "{note}");
    let decided = b[b.len() - 1];
    let without_a: Vec<u32> = (0..a[a.len() - 1]).filter(|round| !a.contains(round)).collect();
    assert!(without_a.len() >= 2 && without_a.iter().all(|round| *round < decided), "{a:?}, {b:?}");
}

#[test]
fn requirements_end_a_run_when_they_are_decided_and_comparisons_do_not_prolong_it() {
    let required = |step: &str, operation: &str| {
        let figure = format!("step = \"{step}\"\noperation = \"{operation}\"\nmetric = \"iops\"");
        format!("[[require]]\n{figure}\nat_least = \"100\"\nsource = \"here\"\n")
    };
    let suite = format!("{TWO}{}{}", required("a", "read"), required("b", "write"));
    let go = |rates: [f64; 2]| {
        Run::new(plan(&suite, auto(300)), Sequence::Balanced, 2, 3)
            .go(|order, _| noisier(order, rates[order.lane], 0.3))
    };
    // The targets cannot be told apart.
    let clear = go([200.0, 206.0]);
    assert!(clear.now_ns < 120 * SECOND, "{} s", clear.now_ns / SECOND);
    // One of them is at the limit: the other needs no more rounds.
    let open = go([200.0, 101.0]);
    assert!(open.now_ns > 250 * SECOND, "{} s", open.now_ns / SECOND);
    assert!(2 * open.count(0, 0) < open.count(0, 1), "{} and {}", open.count(0, 0), open.count(0, 1));
}

#[test]
fn the_expected_end_is_kept() {
    let run = Run::new(plan(TWO, Rounds::Fixed(5)), Sequence::Balanced, 2, 3).go(|o, _| rate(o, 100.0));
    for (end_ns, rounds) in &run.expected[1..] {
        assert_eq!(*rounds, 5);
        assert!(end_ns.abs_diff(run.now_ns) < SECOND / 2, "{end_ns} instead of {}", run.now_ns);
    }
}

#[test]
fn a_budget_ends_fixed_rounds_too() {
    let mut plan = plan(TWO, Rounds::Fixed(100));
    plan.budget_ns = Some(20 * SECOND);
    let run = Run::new(plan, Sequence::Balanced, 2, 3).go(|order, _| rate(order, 100.0));
    assert!((15..=21).contains(&(run.now_ns / SECOND)), "{}", run.now_ns);
    assert_eq!(run.orders.len() % 4, 0, "whole rounds");
}

#[test]
fn a_target_that_fails_too_often_or_for_good_is_given_up_and_the_others_go_on() {
    for (kind, repeats) in [(FailureKind::Errno(5), 3), (FailureKind::Errno(19), 1), (FailureKind::NoData, 1)]
    {
        let run = Run::new(plan(TWO, Rounds::Fixed(5)), Sequence::Balanced, 2, 4)
            .go(|order, _| if order.lane == 1 { failing(kind.clone()) } else { rate(order, 100.0) });
        assert_eq!(run.count(0, 1) + run.count(1, 1), repeats, "{kind:?}");
        assert_eq!((run.count(0, 0), run.count(1, 0)), (5, 5));
        assert_eq!(run.notes("target-given-up").len(), 1);
        assert_eq!(run.scheduler.outcome(), RunOutcome::Failed);
    }
}

#[test]
fn a_silent_target_is_given_up_once_and_its_order_takes_no_number() {
    let run = Run::new(plan(TWO, Rounds::Fixed(3)), Sequence::Plan, 2, 4).go(|order, _| match order.lane {
        0 => Outcome { lost: Some(Lost::Silent), took_ns: SECOND, ..Outcome::default() },
        _ => rate(order, 100.0),
    });
    assert_eq!((run.count(0, 0), run.count(1, 0)), (1, 0));
    assert_eq!(run.notes("target-given-up"), ["the storage no longer responds; the run goes on without it"]);
    let numbers: Vec<u32> = run.orders.iter().filter(|o| o.lane == 1).map(|o| o.repeat).collect();
    assert_eq!(numbers, (0..6).collect::<Vec<_>>());
}

#[test]
fn a_program_that_fails_takes_its_steps_with_it_everywhere() {
    let failed = || failing(FailureKind::Program("fio failed".into()));
    let of = |sequence: Sequence| {
        Run::new(plan(TWO, Rounds::Fixed(4)), sequence, 2, 6)
            .go(|order, _| if order.step == 0 { failed() } else { rate(order, 100.0) })
    };
    let alone = of(Sequence::Balanced);
    assert_eq!((alone.count(0, 0) + alone.count(0, 1), alone.count(1, 0), alone.count(1, 1)), (1, 4, 4));
    assert_eq!(alone.notes("program-failed"), ["fio failed; the run goes on without a"]);
    let together = of(Sequence::SideBySide(vec![vec![0, 1]]));
    assert_eq!(together.orders.len(), 1);
    assert_eq!(together.notes("program-failed"), ["fio failed; the run goes on without a, b"]);
}

#[test]
fn a_stopped_run_begins_nothing_more() {
    let run = Run::new(plan(TWO, auto(100)), Sequence::Balanced, 2, 7).go(|order, stop| {
        if order.repeat == 6 {
            *stop = true;
        }
        rate(order, 100.0)
    });
    assert_eq!((run.orders.len(), run.rounds_ended), (7, 2));
    assert_eq!(run.scheduler.outcome(), RunOutcome::Interrupted);
}

#[test]
fn a_disturbed_round_of_a_step_is_measured_again_at_the_end_of_the_round() {
    let mut disturbed = BTreeSet::from([(2, 0, 1)]);
    let run = Run::new(plan(TWO, auto(60)), Sequence::Balanced, 2, 8).go(|order, _| {
        let mut outcome = noisy(order, if order.lane == 0 { 100.0 } else { 103.0 });
        if disturbed.remove(&(order.round, order.step, order.lane)) {
            outcome.measured.as_mut().unwrap().disturbed = Some((Disturbance::StolenTime, 0.4));
        }
        outcome
    });
    let round: Vec<&Order> = run.orders.iter().filter(|order| order.round == 2).collect();
    assert_eq!(round.len(), 6);
    assert!(round[4..].iter().all(|order| order.step == 0));
    let [(repeats, SetAsideReason::Disturbed { step, round: 2, share, .. })] = run.set_aside()[..] else {
        panic!("{:?}", run.set_aside())
    };
    assert_eq!((step.as_str(), *share), ("a", 0.4));
    let first: BTreeSet<u32> = round[..4].iter().filter(|o| o.step == 0).map(|o| o.repeat).collect();
    assert_eq!(repeats.iter().copied().collect::<BTreeSet<_>>(), first);
}

#[test]
fn a_machine_that_is_always_disturbed_is_measured_as_it_is() {
    let run = Run::new(plan(TWO, auto(120)), Sequence::Balanced, 2, 9).go(|order, _| {
        let mut outcome = noisy(order, if order.lane == 0 { 100.0 } else { 103.0 });
        outcome.measured.as_mut().unwrap().disturbed = Some((Disturbance::ForeignReads, 0.3));
        outcome
    });
    let groups = run.orders.len() / 2;
    let again = run.set_aside().len();
    assert!((2..=2 + groups / 4).contains(&again), "{again} of {groups}");
    assert_eq!(run.notes("disturbed").len(), 1);
}

#[test]
fn repeats_become_short_where_every_place_allows_it() {
    let of = |may_shorten: bool| {
        let mut run = Run::new(plan(ONE, auto(60)), Sequence::Balanced, 2, 10);
        let mut lanes = run.scheduler.lanes.clone();
        lanes[1].may_shorten = may_shorten;
        (lanes[0].shares, lanes[1].shares) = (None, Some(0));
        run.scheduler.at(lanes);
        run.go(|order, _| noisy(order, if order.lane == 0 { 1000.0 } else { 1030.0 }))
    };
    let short = of(true);
    let lengths: Vec<u64> = short.orders.iter().filter_map(|order| order.timing.time_ns).collect();
    assert_eq!(lengths[0], 2 * SECOND, "less than a tenth of the budget for both");
    assert!(lengths[2] < SECOND / 2 && short.orders[2].timing.is_chosen, "{lengths:?}");
    let note = short.notes("repeat-length").concat();
    assert!(note.ends_with("and a repeat has an overhead of 40 ms on average"), "{note}");
    // Each round begins elsewhere in the data, and the two lanes, which share them, half of them apart.
    let starts: BTreeSet<u64> = short.orders.iter().map(|order| (order.start * 1e9) as u64).collect();
    assert_eq!(starts.len(), short.orders.len());
    let (first, second) = (short.orders[0].start, short.orders[1].start);
    assert!(((first - second).abs() - 0.5).abs() < 1e-9, "{first} {second}");
    let long = of(false);
    assert!(long.orders.iter().all(|order| order.timing.time_ns == Some(2 * SECOND) && order.start == 0.0));
}

/// A run of `quick` on memory with a budget of 25 s took 45 s, and nothing had said so.
#[test]
fn two_rounds_that_take_longer_than_the_budget_are_announced() {
    let of = |seconds: u64, may_shorten: bool| {
        let mut run = Run::new(plan(ONE, auto(seconds)), Sequence::Balanced, 2, 10);
        let mut lanes = run.scheduler.lanes.clone();
        lanes[1].may_shorten = may_shorten;
        run.scheduler.at(lanes);
        run.go(|order, _| noisy(order, 1000.0))
    };
    let late = of(6, false);
    let [told] = late.notes("forecast")[..] else { panic!("{:?}", late.notes("forecast")) };
    assert!(told.contains("will take about 10 s, longer than its budget of 6 s"), "{told}");
    assert_eq!(late.orders.len(), 4);
    assert!(
        of(6, true)
            .notes("forecast")
            .iter()
            .chain(&of(60, false).notes("forecast"))
            .all(|note| !note.contains("needs two rounds"))
    );
}

#[test]
fn rounds_end_when_the_watched_step_is_steady_or_all_is_written() {
    let mut until_steady = plan(TWO, Rounds::Fixed(60));
    until_steady.until_steady = Some("a".into());
    let run = Run::new(until_steady, Sequence::Plan, 1, 11).go(|order, _| {
        let falling = (1000.0 - 200.0 * f64::from(order.round)).max(100.0);
        noisy(order, if order.step == 0 { falling } else { 50.0 })
    });
    assert!((6..30).contains(&run.rounds_ended), "{}", run.rounds_ended);
    let mut until_written = plan(TWO, Rounds::Fixed(60));
    until_written.until_written = Some(2);
    let run = Run::new(until_written, Sequence::Plan, 1, 12).go(|order, _| {
        let mut outcome = rate(order, 100.0);
        let measured = outcome.measured.as_mut().unwrap();
        measured.size_bytes = 1000;
        measured.written_bytes = if order.step == 1 { 300 } else { 0 };
        outcome
    });
    assert_eq!(run.rounds_ended, 7, "2,100 of 2,000 bytes");
}

/// What a random run does must make sense, whatever it meets.
#[test]
fn random_runs_keep_their_promises() {
    for seed in 0..300 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let rounds =
            if random.random_bool(0.5) { auto(60) } else { Rounds::Fixed(random.random_range(1..12)) };
        let sequence = match random.random_range(0..3) {
            0 => Sequence::Plan,
            1 => Sequence::Balanced,
            _ => Sequence::SideBySide(vec![vec![0, 1]]),
        };
        let lanes = random.random_range(1..5);
        let mut given_up: BTreeSet<usize> = BTreeSet::new();
        let mut stopped = false;
        let run = Run::new(plan(TWO, rounds), sequence, lanes, seed).go(|order, stop| {
            assert!(!stopped, "seed {seed}: an order after the end");
            assert!(!given_up.contains(&order.lane), "seed {seed}: {order:?}");
            let mut outcome = noisy(order, 100.0 + 20.0 * order.lane as f64);
            match random.random_range(0..60) {
                0 => outcome = failing(FailureKind::Errno(5)),
                1 => {
                    outcome = failing(FailureKind::Errno(19));
                    given_up.insert(order.lane);
                }
                2 => {
                    outcome = Outcome { lost: Some(Lost::Silent), took_ns: SECOND, ..Outcome::default() };
                    given_up.insert(order.lane);
                }
                3 => outcome.measured.as_mut().unwrap().disturbed = Some((Disturbance::StolenTime, 0.5)),
                4 => outcome.took_ns *= 20,
                5 if order.repeat > 40 => {
                    *stop = true;
                    stopped = true;
                }
                _ => {}
            }
            outcome
        });
        let mut in_round: BTreeMap<(u32, usize, usize), u32> = BTreeMap::new();
        run.orders.iter().for_each(|o| *in_round.entry((o.round, o.step, o.lane)).or_default() += 1);
        assert!(in_round.values().all(|n| *n <= 2), "seed {seed}");
        assert!(run.orders.is_sorted_by_key(|order| (order.round, order.repeat)), "seed {seed}");
        let again = Run::new(run.scheduler.plan.clone(), run.scheduler.sequence.clone(), lanes, seed);
        let first = run.orders[0].clone();
        assert_eq!(
            again
                .go(|o, stop| {
                    *stop = true;
                    rate(o, 1.0)
                })
                .orders
                .clone(),
            [first],
            "seed {seed}"
        );
    }
}
