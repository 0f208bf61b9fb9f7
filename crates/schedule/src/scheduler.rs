//! The state of a run under way, and what follows from what.

use std::collections::{BTreeSet, VecDeque};

use analyse::{Decided, Sample, Series};
use model::units::ShortDuration;
use model::{Event, FailureKind, Note, Plan, Rounds, RunOutcome, SetAside, SetAsideReason, Severity};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use twox_hash::XxHash3_64;

use crate::disturbed::{Disturbed, worst};
use crate::evidence::Evidence;
use crate::lengths::Lengths;
use crate::reach::Reach;
use crate::turns::Turns;
use crate::{Lane, Lost, Measured, Next, Order, Outcome, Said};

/// Failed repeats after which a lane is given up.
const MAX_FAILURES: u32 = 3;
/// Seeds of repeats stay below 2^53, so that they survive languages in which every number is a float.
pub const MOST_SEED: u64 = (1 << 53) - 1;

/// The order of the repeats in a round.
#[derive(Clone, Debug)]
pub(crate) enum Sequence {
    /// As the plan has them.
    Plan,
    /// The steps in random order in each round; within a step one target directly after the other, in an order by which
    /// each target follows each other one equally often.
    Balanced,
    /// Groups of steps in random order; within a group, one target after the other in random order, so that compared
    /// repeats are close together in time. The steps of a group, by their index, keep their order.
    SideBySide(Vec<Vec<usize>>),
}

/// Decides what is measured next.
#[derive(Debug)]
pub struct Scheduler {
    pub(crate) plan: Plan,
    pub(crate) baseline: String,
    pub(crate) sequence: Sequence,
    seed: u64,
    pub(crate) lanes: Vec<Lane>,
    /// By lane: repeats that failed.
    failures: Vec<u32>,
    /// By lane: it was given up.
    pub(crate) given_up: Vec<bool>,
    /// Steps that are no longer repeated, because their program failed.
    pub(crate) given_up_steps: BTreeSet<usize>,
    pub(crate) evidence: Evidence,
    /// What the evidence decides, after the last whole round.
    pub(crate) decided: Decided,
    pub(crate) lengths: Lengths,
    pub(crate) turns: Turns,
    pub(crate) reach: Reach,
    pub(crate) draws: Xoshiro256PlusPlus,
    disturbed: Disturbed,
    /// Repeats that have begun.
    begun: u32,
    /// The time of the last question or answer, in nanoseconds of the run.
    pub(crate) now_ns: u64,
    /// Number of the next round.
    next_round: u32,
    round: Option<Round>,
    is_stopped: bool,
    is_done: bool,
    said: Vec<Said>,
}

/// A round under way.
#[derive(Debug)]
pub(crate) struct Round {
    number: u32,
    /// All of its repeats, by step and lane.
    pairs: Vec<(usize, usize)>,
    /// Repeats of one step that follow each other, in their order; first the one under way.
    groups: VecDeque<Group>,
}

#[derive(Debug)]
struct Group {
    pairs: Vec<(usize, usize)>,
    /// Index of the next one.
    next: usize,
    /// Its repeats so far, with their numbers.
    repeats: Vec<(u32, Measured)>,
    /// It is measured again because it was disturbed the first time.
    is_again: bool,
}

impl Group {
    fn new(pairs: Vec<(usize, usize)>, is_again: bool) -> Self {
        Self { pairs, next: 0, repeats: Vec::new(), is_again }
    }
}

impl Round {
    pub fn new(number: u32, pairs: Vec<(usize, usize)>, ordered: &[(usize, usize)]) -> Self {
        let groups = ordered.chunk_by(|a, b| a.0 == b.0).map(|group| Group::new(group.to_vec(), false));
        Self { number, pairs, groups: groups.collect() }
    }
}

impl Scheduler {
    /// A scheduler for a plan whose targets are compared with `baseline`. Equal seeds draw equal orders.
    pub fn new(plan: Plan, baseline: String, seed: u64) -> Self {
        let sequence = if plan.in_order { Sequence::Plan } else { Sequence::Balanced };
        let evidence = Evidence::of_makings(plan.makings);
        Self {
            plan,
            baseline,
            sequence,
            seed,
            lanes: Vec::new(),
            failures: Vec::new(),
            given_up: Vec::new(),
            given_up_steps: BTreeSet::new(),
            evidence,
            decided: Decided::default(),
            lengths: Lengths::default(),
            turns: Turns::default(),
            reach: Reach::default(),
            draws: Xoshiro256PlusPlus::seed_from_u64(seed),
            disturbed: Disturbed::default(),
            begun: 0,
            now_ns: 0,
            next_round: 0,
            round: None,
            is_stopped: false,
            is_done: false,
            said: Vec::new(),
        }
    }

    /// Measures groups of steps, by their index, side by side instead of in the order of the plan.
    pub fn side_by_side(&mut self, groups: Vec<Vec<usize>>) {
        self.sequence = Sequence::SideBySide(groups);
    }

    /// Where it measures. To be called once, before the first question.
    pub fn at(&mut self, lanes: Vec<Lane>) {
        (self.failures, self.given_up) = (vec![0; lanes.len()], vec![false; lanes.len()]);
        self.lanes = lanes;
    }

    /// What to do next, at this time in nanoseconds of the run.
    pub(crate) fn next(&mut self, now_ns: u64) -> Next {
        self.now_ns = now_ns;
        loop {
            if self.is_done {
                return Next::Done;
            }
            if self.round.is_some() {
                match self.next_in_round() {
                    Some(orders) => return Next::Repeat(orders),
                    None => return Next::RoundEnded,
                }
            }
            if !self.is_stopped {
                self.round = self.begin_round(self.next_round);
                self.next_round += 1;
            }
            if self.round.is_none() {
                self.is_done = true;
                if let Some(message) = self.disturbed.left() {
                    self.note(Severity::Warning, "disturbed", None, message);
                }
            }
        }
    }

    /// The next repeat of the round under way, or those that take turns; `None` when it has ended.
    fn next_in_round(&mut self) -> Option<Vec<Order>> {
        loop {
            let round = self.round.as_mut()?;
            let number = round.number;
            let Some(group) = round.groups.front_mut() else {
                let pairs = std::mem::take(&mut round.pairs);
                self.round = None;
                self.end_round(&pairs);
                return None;
            };
            let Some((step, lane)) = group.pairs.get(group.next).copied() else {
                self.end_group();
                continue;
            };
            if group.next == 0 && !self.is_stopped && self.lengths.take_turns(step, group.pairs.len()) {
                let pairs = group.pairs.clone();
                if !pairs
                    .iter()
                    .any(|(step, lane)| self.given_up[*lane] || self.given_up_steps.contains(step))
                {
                    group.next = pairs.len();
                    let turns = pairs.len() as u32 - 1;
                    let order = |(before, (step, lane)): (u32, (usize, usize))| Order {
                        turns,
                        ..self.order(self.begun + before, number, step, lane)
                    };
                    return Some((0..).zip(pairs).map(order).collect());
                }
            }
            group.next += 1;
            if !self.is_stopped && !self.given_up[lane] && !self.given_up_steps.contains(&step) {
                return Some(vec![self.order(self.begun, number, step, lane)]);
            }
        }
    }

    fn order(&self, repeat: u32, round: u32, step: usize, lane: usize) -> Order {
        let numbers = [self.seed.to_le_bytes(), u64::from(repeat).to_le_bytes()].concat();
        Order {
            repeat,
            round,
            step,
            lane,
            timing: self.lengths.timing((step, lane), &self.plan.steps[step]),
            start: self.start(round, step, lane),
            seed: XxHash3_64::oneshot(&numbers) & MOST_SEED,
            turns: 0,
        }
    }

    /// Where sequential work of a step begins, as a share of its data. Short repeats would else only ever reach the first
    /// part of them: each round begins elsewhere, evenly spread (multiples of the golden ratio), and lanes that share
    /// their data begin at different ones, so that none reads what the one before it left in a cache.
    fn start(&self, round: u32, step: usize, lane: usize) -> f64 {
        const GOLDEN: f64 = 0.618_033_988_749_895;
        if !self.lengths.has(step) {
            return 0.0;
        }
        let root = |i: usize| self.lanes[i].shares.unwrap_or(i);
        let family: Vec<usize> = (0..self.lanes.len()).filter(|other| root(*other) == root(lane)).collect();
        let position = family.iter().position(|other| *other == lane).unwrap_or(0);
        (f64::from(round) * GOLDEN + position as f64 / family.len() as f64).fract()
    }

    /// Takes what became of an order, at this time in nanoseconds of the run.
    pub(crate) fn record(&mut self, order: &Order, outcome: Outcome, now_ns: u64) {
        self.now_ns = now_ns;
        let Outcome { took_ns, measured, failure, lost } = outcome;
        let Order { repeat, round, step, lane, .. } = *order;
        self.evidence.took_ns.insert((step, lane), took_ns);
        if let Some(measured) = measured {
            self.begun = self.begun.max(repeat + 1);
            let of = (self.plan.steps[step].id.as_str(), self.lanes[lane].target.as_str());
            self.evidence.record(of, round, &measured);
            if measured.is_complete {
                self.lengths.learn(order, &measured, took_ns);
            }
            if let Some(group) = self.round.as_mut().and_then(|round| round.groups.front_mut()) {
                group.repeats.push((repeat, measured));
            }
        }
        let Some(failure) = failure else {
            if let Some(lost) = lost {
                self.lose(lane, &lost);
            }
            return;
        };
        self.failures[lane] += 1;
        if let FailureKind::Program(what) = &failure.kind {
            // It would fail again, and not because of the storage.
            self.give_up_steps(step, what);
        } else if let FailureKind::Machine(what) = &failure.kind {
            self.give_up(lane, what);
        } else if failure.is_final() || self.failures[lane] >= MAX_FAILURES {
            let why = if failure.is_final() { "the target cannot continue" } else { "it failed too often" };
            self.give_up(lane, &format!("{failure}; {why}"));
        }
    }

    /// No further repeat begins; the round under way ends.
    pub(crate) fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// What it has said since the last call.
    pub(crate) fn said(&mut self) -> Vec<Said> {
        std::mem::take(&mut self.said)
    }

    /// The headline figures that count, as a result compares them.
    pub fn headlines(&self) -> Vec<Series> {
        self.evidence.series().into_iter().filter(|series| series.is_headline).collect()
    }

    /// The figures that the plan requires something of.
    pub fn samples(&self) -> Vec<Sample> {
        self.evidence.samples(&self.plan)
    }

    /// How the run has ended.
    pub fn outcome(&self) -> RunOutcome {
        match self.failures.iter().any(|failures| *failures > 0) {
            _ if self.is_stopped => RunOutcome::Interrupted,
            true => RunOutcome::Failed,
            false => RunOutcome::Completed,
        }
    }

    /// Gives up a lane on which nothing can be measured any more, unless it is already given up.
    pub fn lose(&mut self, lane: usize, lost: &Lost) {
        match lost {
            _ if self.given_up[lane] => {}
            Lost::Silent => self.give_up(lane, "the storage no longer responds"),
            Lost::Data(why) | Lost::Machine(why) => self.give_up(lane, why),
            Lost::Lender => self.given_up[lane] = true,
        }
    }

    fn give_up(&mut self, lane: usize, why: &str) {
        self.given_up[lane] = true;
        self.failures[lane] = self.failures[lane].max(1);
        let message = format!("{why}; the run goes on without it");
        self.note(Severity::Error, Note::TARGET_GIVEN_UP, Some(lane), message);
    }

    /// Gives up a step, and the steps that the same program runs with it.
    fn give_up_steps(&mut self, step: usize, why: &str) {
        let together = match &self.sequence {
            Sequence::SideBySide(groups) => groups.iter().find(|group| group.contains(&step)).cloned(),
            Sequence::Plan | Sequence::Balanced => None,
        };
        let together = together.unwrap_or_else(|| vec![step]);
        let ids: Vec<&str> = together.iter().map(|step| self.plan.steps[*step].id.as_str()).collect();
        let message = format!("{why}; the run goes on without {}", ids.join(", "));
        self.given_up_steps.extend(together);
        self.note(Severity::Error, "program-failed", None, message);
    }

    /// Ends the group under way: where it was disturbed and there is time, it is measured again at the end of the round, when
    /// the disturbance may be over.
    fn end_group(&mut self) {
        let Some((number, group)) =
            self.round.as_mut().and_then(|round| Some((round.number, round.groups.pop_front()?)))
        else {
            return;
        };
        let step = group.pairs[0].0;
        let planned = &self.plan.steps[step];
        let Rounds::Auto { budget_ns, .. } = self.plan.rounds else { return };
        let may_be_repeated = matches!(self.sequence, Sequence::Balanced)
            && !group.is_again
            && !self.is_stopped
            && !self.lengths.only_check(step)
            && planned.foreign.is_empty()
            && !planned.workload.modifiers.once;
        if !may_be_repeated || group.repeats.len() < group.pairs.len() {
            return;
        }
        let Some((cause, share)) = worst(&group.repeats) else { return };
        let there_is_time = !self.exceeds(budget_ns, &group.pairs);
        if !self.disturbed.repeats(group.pairs.len(), self.begun, there_is_time) {
            return;
        }
        let id = planned.id.clone();
        self.evidence.forget(&id, &BTreeSet::from([number]));
        self.lengths.forget(step, number);
        let repeats = group.repeats.iter().rev().map(|(repeat, _)| *repeat).collect();
        self.set_aside(repeats, SetAsideReason::Disturbed { step: id, round: number, cause, share });
        if let Some(round) = &mut self.round {
            round.groups.push_back(Group::new(group.pairs, true));
        }
    }

    /// After a round of these repeats: chooses lengths, and sets repeats aside that no longer count.
    fn end_round(&mut self, pairs: &[(usize, usize)]) {
        let steps: BTreeSet<usize> = pairs.iter().map(|(step, _)| *step).collect();
        for step in steps {
            let planned = &self.plan.steps[step];
            let id = planned.id.clone();
            let changed = self.lengths.end_round(step, planned);
            if let Some(choice) = changed.choice {
                let around_ns = choice.around_ns.next_multiple_of(1_000_000);
                let message = format!(
                    "repeats of {id} take {} after the ramp from now on: {:.0} % of the noise of shorter ones is within a \
                     repeat, and a repeat has an overhead of {} on average",
                    ShortDuration(choice.length_ns),
                    choice.within * 100.0,
                    ShortDuration(around_ns)
                );
                self.note(Severity::Info, "repeat-length", None, message);
            }
            let Some(aside) = changed.aside else { continue };
            self.evidence.forget(&id, &aside.rounds);
            let message = match &aside.reason {
                SetAsideReason::TooShort { ratio, long_ns, .. } => Some(format!(
                    "short repeats of {id} have {ratio:.2} times the figure of those of {}; they are set aside, and the next \
                     take {}",
                    ShortDuration(*long_ns),
                    ShortDuration(aside.length_ns)
                )),
                SetAsideReason::InTurns { ratio, .. } => Some(format!(
                    "where targets take turns in {id}, their ratio is {ratio:.2} times that where they follow each other; these \
                     repeats are set aside, and no further ones take turns"
                )),
                SetAsideReason::WithoutTurns { .. } | SetAsideReason::Disturbed { .. } => None,
            };
            if let Some(message) = message {
                self.note(Severity::Info, "repeat-length", None, message);
            }
            self.set_aside(aside.repeats, aside.reason);
        }
    }

    fn set_aside(&mut self, repeats: Vec<u32>, reason: SetAsideReason) {
        let at_ns = self.now_ns;
        self.said.push(Said::Event(Event::SetAside(SetAside { at_ns, repeats, reason })));
    }

    pub(crate) fn note(&mut self, severity: Severity, topic: &str, lane: Option<usize>, message: String) {
        let (at_ns, topic) = (self.now_ns, topic.to_owned());
        let target = lane.map(|lane| self.lanes[lane].target.clone());
        self.say(Said::Event(Event::Note(Note { at_ns, severity, topic, target, message })));
    }

    pub(crate) fn say(&mut self, said: Said) {
        self.said.push(said);
    }
}
