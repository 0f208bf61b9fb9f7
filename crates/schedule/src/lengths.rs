//! How long the repeats of each step are, where the run may choose.
//!
//! The first round has long repeats, as long as the suite says. They show how fast the storage is, and a few more of them,
//! interleaved later, whether short repeats measure the same. All other repeats are as short as the storage allows, and
//! after a few rounds as long as decides soonest ([`analyse::best_length`]). Where short repeats give other figures than
//! long ones, they are set aside and the length grows. One long round with a stall, or in a bad second of the machine, is
//! not enough for that: it only makes the next round long, and short repeats have to differ whichever long round is left
//! out.

use std::collections::{BTreeMap, BTreeSet};

use analyse::{
    LengthChoice, ROUNDS_TO_CHOOSE, RepeatNoise, ShortAndLong, best_length, length_effect, round_length,
    shortest_for, turns_effect, variance_within,
};
use model::{Pattern, Plan, PortableMath, SetAsideReason, Step, Workload};

use crate::order::Order;
use crate::{Measured, Timing};

/// Share of the time for long repeats of the first round, and for those of all rounds.
const FIRST_LONG_SHARE: u64 = 10;
const LONG_SHARE: u64 = 5;
/// Short rounds before the second long one; each further one comes after three times as many.
const BEFORE_LONG: u32 = 5;
/// Long repeats are at least so many times as long as short ones: less does not show an effect of the length.
const LONGER: u64 = 2;
/// Share of a long repeat, or of the shortest, that the ramp takes in addition, at most.
const RAMP_SHARE: f64 = 0.3;
/// Intervals of a repeat from which the noise within it is estimated.
const INTERVALS: u64 = 8;
/// An effect of the length below this share is not looked for.
const RELEVANT: f64 = 0.03;
/// The chance of finding an effect that is not there, each time it is looked for.
const LEVEL: f64 = 0.001;
/// By how much repeats become longer where short ones differ.
const GROWTH: u64 = 4;
/// The least time of a target's turn, in nanoseconds, and how many times its queue fills in one.
pub const TURN_NS: u64 = 2_500_000;
const FILLS: f64 = 10.0;
/// Turns of a target in a repeat, at least.
const TURNS: u64 = 4;
/// Rounds in turns that are worth more than the same and a first one without.
const ENOUGH_IN_TURNS: usize = 3;
/// Rounds without turns in which the ratio has to differ from that in turns.
const CHECKS_OF_TURNS: usize = 2;
/// Long repeats, at most, that cover all of the data in sequence, so that it is worth it to cover as much with each.
const MOST_OF_A_PASS: f64 = 2.0;
/// Long rounds out of turn, at most, to find out one thing.
const MOST_CHECKS: usize = 3;

/// The lengths of all steps, by the index of the step; only of those whose length the run chooses.
#[derive(Debug, Default)]
pub(crate) struct Lengths(BTreeMap<usize, StepLength>);

/// The length of the repeats of one step.
#[derive(Debug)]
struct StepLength {
    /// The shortest that the plan allows.
    shortest_ns: u64,
    long_ns: u64,
    /// `None` until the first round has shown the rates.
    short_ns: Option<u64>,
    /// No shorter repeats count.
    least_ns: u64,
    choice: Option<LengthChoice>,
    /// This round has long repeats.
    is_long: bool,
    short_rounds: u32,
    long_rounds: u32,
    next_long: u32,
    /// What the next round finds out.
    suspicion: Option<Check>,
    /// What this round finds out.
    check: Option<Check>,
    /// The checks so far.
    checks: Vec<Check>,
    /// Operations per second of the first long repeat of each lane.
    rates: BTreeMap<usize, f64>,
    noise: Vec<RepeatNoise>,
    figures: Vec<Figure>,
    /// Time beyond ramp and measurement that the repeats took, and how many did.
    around: (u64, u64),
    /// Its targets take turns, but for the first round.
    takes_turns: bool,
    /// Bytes of the test data.
    size_bytes: u64,
}

/// What a long round out of turn finds out, because what rounds have shown so far rests on one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    /// Whether short repeats measure something else than long ones.
    Lengths,
    /// Whether targets compare otherwise where they take turns: they do not in this round.
    Turns,
}

/// The figure of one repeat.
#[derive(Clone, Copy, Debug)]
struct Figure {
    repeat: u32,
    round: u32,
    lane: usize,
    length_ns: u64,
    ln: f64,
    /// It took turns with others.
    in_turns: bool,
    /// It only serves to check others.
    is_aside: bool,
}

impl StepLength {
    fn new(shortest_ns: u64, long_ns: u64) -> Self {
        Self {
            shortest_ns,
            long_ns,
            short_ns: None,
            least_ns: shortest_ns,
            choice: None,
            is_long: true,
            short_rounds: 0,
            long_rounds: 0,
            next_long: BEFORE_LONG,
            suspicion: None,
            check: None,
            checks: Vec::new(),
            rates: BTreeMap::new(),
            noise: Vec::new(),
            figures: Vec::new(),
            around: (0, 0),
            takes_turns: false,
            size_bytes: 0,
        }
    }

    fn length_ns(&self) -> u64 {
        if self.is_long { self.long_ns } else { self.short_ns.unwrap_or(self.long_ns) }
    }

    /// Whether the next round has long repeats, given how many of them there is time for.
    fn begin_round(&mut self, there_is_time: bool) {
        let due = self.short_rounds >= self.next_long;
        let is_first = self.short_ns.is_none();
        self.check = self.suspicion.take().filter(|check| *check == Check::Turns || self.has_lengths());
        self.checks.extend(self.check);
        self.is_long = is_first || self.check.is_some() || (due && there_is_time && self.has_lengths());
        if self.is_long && !is_first {
            self.next_long = self.short_rounds + BEFORE_LONG * 3u32.pow(self.long_rounds.min(6));
        }
    }

    /// Makes the next round a check, unless there were enough of these.
    fn suspect(&mut self, check: Check) {
        if self.checks.iter().filter(|made| **made == check).count() < MOST_CHECKS {
            self.suspicion = Some(check);
        }
    }

    /// True if the repeats of this round take turns.
    fn is_in_turns(&self) -> bool {
        self.takes_turns && self.short_ns.is_some() && self.check != Some(Check::Turns)
    }

    fn has_lengths(&self) -> bool {
        self.short_ns.is_some_and(|short| self.long_ns >= LONGER * short)
    }

    fn timing(&self, step: &Step, lane: usize) -> Timing {
        let time_ns = self.length_ns();
        let (passes, ramp_ns) = (self.passes(step, lane), self.ramp_ns(step));
        let estimates = !self.is_long && self.choice.is_none();
        let interval_ns =
            if estimates { time_ns / INTERVALS } else { step.interval_ns.min(time_ns) }.max(1_000_000);
        Timing { time_ns: Some(time_ns), passes, ramp_ns, interval_ns, is_chosen: true }
    }

    /// Nanoseconds of the ramp of the next repeats.
    fn ramp_ns(&self, step: &Step) -> u64 {
        if self.is_in_turns() && self.covers_data(step) {
            // A pass would lack what the ramp covers.
            return 0;
        }
        let length_ns = self.length_ns();
        // What is enough for the shortest repeats is enough for longer ones.
        let shortest_ns = if self.is_long { length_ns } else { self.shortest_ns(step).min(length_ns) };
        step.ramp_ns.min((shortest_ns as f64 * RAMP_SHARE) as u64)
    }

    /// Operations per second of the slowest lane.
    fn per_second(&self) -> f64 {
        self.rates.values().copied().fold(f64::INFINITY, f64::min)
    }

    /// Takes a completed repeat into account; `value` is its headline figure.
    fn record(&mut self, order: &Order, measured: &Measured, value: f64) {
        let length_ns = self.length_ns();
        let ln = value.max(f64::MIN_POSITIVE).portable_ln();
        let Order { repeat, round, lane, turns, .. } = *order;
        self.size_bytes = measured.size_bytes.max(self.size_bytes);
        self.figures.push(Figure {
            repeat,
            round,
            lane,
            length_ns,
            ln,
            in_turns: turns > 0,
            is_aside: false,
        });
        if self.is_long {
            if self.long_rounds == 0 {
                self.rates.insert(lane, measured.per_second);
            }
        } else if self.choice.is_none()
            && let Some(within) = variance_within(&measured.rates)
        {
            self.noise.push(RepeatNoise { round, target: lane, ln, within });
        }
    }

    /// After a round, whose repeats are surrounded by so much on average: those that no longer count, with the reason.
    fn end_round(&mut self, step: &Step, around_ns: u64) -> Option<(Vec<Figure>, SetAsideReason)> {
        let Some(short_ns) = self.short_ns else {
            self.short_ns = Some(self.at_least(0, step));
            self.long_rounds = 1;
            return None;
        };
        if self.is_long {
            self.long_rounds += 1;
            let differ = if self.check == Some(Check::Lengths) { self.compare_lengths(step) } else { None };
            return differ.or_else(|| self.compare_turns(step)).or_else(|| self.without_turns(step));
        }
        self.short_rounds += 1;
        let around_ns = around_ns + self.ramp_ns(step);
        if self.choice.is_none()
            && self.short_rounds >= ROUNDS_TO_CHOOSE as u32
            && let Some(choice) = best_length(&self.noise, short_ns, around_ns)
        {
            let length_ns = self.at_least(choice.length_ns, step);
            self.choice = Some(LengthChoice { length_ns, ..choice });
            self.short_ns = Some(length_ns);
            self.noise.clear();
        }
        let is_due = self.short_rounds >= ROUNDS_TO_CHOOSE as u32 && self.short_rounds.is_power_of_two();
        let differ = if is_due && self.has_lengths() { self.compare_lengths(step) } else { None };
        differ
            .or_else(|| if is_due { self.compare_turns(step) } else { None })
            .or_else(|| self.without_turns(step))
    }

    /// After some rounds in turns: the repeats without, which are so much noisier that they would blur all others.
    fn without_turns(&mut self, step: &Step) -> Option<(Vec<Figure>, SetAsideReason)> {
        let in_turns: BTreeSet<u32> = self.figures.iter().filter(|f| f.in_turns).map(|f| f.round).collect();
        if !self.takes_turns || in_turns.len() < ENOUGH_IN_TURNS {
            return None;
        }
        let without = self.figures.iter_mut().filter(|f| !f.in_turns && !f.is_aside);
        let without: Vec<Figure> = without
            .map(|f| {
                f.is_aside = true;
                *f
            })
            .collect();
        (!without.is_empty()).then(|| (without, SetAsideReason::WithoutTurns { step: step.id.clone() }))
    }

    /// Nanoseconds of a pass over the data at this rate.
    fn pass_ns(&self, step: &Step, per_second: f64) -> f64 {
        let Workload { block, .. } = &step.workload;
        let bytes = if step.workload.reads_data() { block.read } else { block.write };
        step.workload.pass_bytes(self.size_bytes) as f64 / (per_second * f64::from(bytes)) * 1e9
    }

    /// True if repeats in turns consist of whole passes: sequential ones that cover a part of the data have the speed of that part.
    /// Not where a long repeat is far from covering all.
    fn covers_data(&self, step: &Step) -> bool {
        self.takes_turns
            && !self.rates.is_empty()
            && matches!(step.workload.pattern, Pattern::Sequential)
            && self.pass_ns(step, self.per_second()) <= MOST_OF_A_PASS * self.long_ns as f64
    }

    /// The passes of a repeat on a lane, if it consists of such: as many as come closest to the length.
    fn passes(&self, step: &Step, lane: usize) -> Option<u32> {
        let per_second = self.rates.get(&lane).copied().unwrap_or_else(|| self.per_second());
        let passes = self.length_ns() as f64 / self.pass_ns(step, per_second);
        (self.is_in_turns() && self.covers_data(step)).then_some((passes.round() as u32).max(1))
    }

    /// A length of repeats, at least `ns`.
    fn at_least(&self, ns: u64, step: &Step) -> u64 {
        let covers = self.covers_data(step).then(|| self.pass_ns(step, self.per_second()) as u64);
        let least_ns = self.shortest_ns(step).max(self.least_ns).max(covers.unwrap_or(0));
        round_length(ns.max(least_ns), self.long_ns)
    }

    /// The shortest repeats for the rate of the storage.
    fn shortest_ns(&self, step: &Step) -> u64 {
        let Workload { iodepth, jobs, sync, .. } = &step.workload;
        let per_second = self.per_second();
        let shortest = shortest_for(per_second, sync.every, self.shortest_ns);
        let queues = FILLS * f64::from(*iodepth) * f64::from(*jobs) / per_second.max(f64::MIN_POSITIVE);
        let turn_ns = TURN_NS.max((queues * 1e9) as u64);
        if self.takes_turns { shortest.max(turn_ns.saturating_mul(TURNS)) } else { shortest }
    }

    /// Sets short repeats aside if they differ from long ones; if that rests on one round, the next one is a check.
    fn compare_lengths(&mut self, step: &Step) -> Option<(Vec<Figure>, SetAsideReason)> {
        let ratio = self.effect_without(None)?;
        let long = self.figures.iter().filter(|f| f.length_ns >= self.long_ns);
        let rounds: BTreeSet<u32> = long.map(|f| f.round).collect();
        let holds = |round| self.effect_without(Some(round)).is_some_and(|r| (r > 1.0) == (ratio > 1.0));
        if !rounds.into_iter().all(holds) {
            self.suspect(Check::Lengths);
            return None;
        }
        let length_ns = self.short_ns?;
        let longer = round_length(length_ns * GROWTH, self.long_ns);
        let shorter = self.figures.extract_if(.., |f| f.length_ns < longer).collect();
        self.least_ns = longer;
        self.short_ns = Some(longer);
        self.checks.retain(|check| *check != Check::Lengths);
        let (step, long_ns) = (step.id.clone(), self.long_ns);
        Some((shorter, SetAsideReason::TooShort { step, length_ns, long_ns, ratio }))
    }

    /// Sets the repeats that took turns aside if the targets compare otherwise in them than where one follows the other: then what
    /// one leaves behind for the next turn is the other's as well. No further ones take turns.
    fn compare_turns(&mut self, step: &Step) -> Option<(Vec<Figure>, SetAsideReason)> {
        let lanes: BTreeSet<usize> = self.figures.iter().filter(|f| f.in_turns).map(|f| f.lane).collect();
        let (first, others) = (*lanes.first()?, lanes.len() - 1);
        let of = |lane: usize, in_turns: bool| -> BTreeMap<u32, f64> {
            let own = self.figures.iter().filter(|f| f.lane == lane && f.in_turns == in_turns);
            own.filter(|f| in_turns || f.length_ns >= self.long_ns).map(|f| (f.round, f.ln)).collect()
        };
        let differences = |lane: usize, in_turns: bool| -> Vec<f64> {
            let base = of(first, in_turns);
            of(lane, in_turns).iter().filter_map(|(round, ln)| Some(ln - base.get(round)?)).collect()
        };
        let rounds: Vec<f64> = of(first, true).into_values().collect();
        let effect = |lane: usize, long: Vec<f64>| {
            let compared = ShortAndLong { short: differences(lane, true), long };
            turns_effect(&compared, &rounds, RELEVANT, LEVEL / others as f64)
        };
        // What a lane compares otherwise by, if each of so many rounds says so.
        let found = |lane: &usize| {
            let without = differences(*lane, false);
            let ratio = effect(*lane, without.clone())?;
            let says_so = |one: &f64| effect(*lane, vec![*one]).is_some_and(|r| (r > 1.0) == (ratio > 1.0));
            without.iter().all(says_so).then_some((ratio, without.len()))
        };
        let found: Vec<(f64, usize)> = lanes.iter().skip(1).filter_map(found).collect();
        let Some((ratio, _)) = found.iter().find(|(_, rounds)| *rounds >= CHECKS_OF_TURNS).copied() else {
            if !found.is_empty() {
                self.suspect(Check::Turns);
            }
            return None;
        };
        self.takes_turns = false;
        self.choice = None;
        self.noise.clear();
        self.short_ns = Some(self.at_least(0, step));
        let aside = self.figures.extract_if(.., |f| f.in_turns).collect();
        Some((aside, SetAsideReason::InTurns { step: step.id.clone(), ratio }))
    }

    /// Short ÷ long, if that differs; without the repeats of one round if that is given.
    fn effect_without(&self, round: Option<u32>) -> Option<f64> {
        let is_short = |f: &&Figure| f.length_ns < self.long_ns;
        let counted = || self.figures.iter().filter(|f| Some(f.round) != round);
        let mean = |values: &Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        // What a target does in short repeats is its own; rounds differ in what they add to it.
        let mut own: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        counted().filter(is_short).for_each(|f| own.entry(f.lane).or_default().push(f.ln));
        let own: BTreeMap<usize, f64> = own.iter().map(|(lane, figures)| (*lane, mean(figures))).collect();
        let mut rounds: BTreeMap<(bool, u32), Vec<f64>> = BTreeMap::new();
        for figure in counted() {
            if let Some(own) = own.get(&figure.lane) {
                rounds.entry((is_short(&figure), figure.round)).or_default().push(figure.ln - own);
            }
        }
        let of = |short| {
            let rounds = rounds.iter().filter(move |((is_short, _), _)| *is_short == short);
            rounds.map(|(_, added)| mean(added)).collect()
        };
        length_effect(&ShortAndLong { short: of(true), long: of(false) }, RELEVANT, LEVEL)
    }
}

/// What the end of a round has changed for a step.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    /// The length that was chosen now.
    pub choice: Option<LengthChoice>,
    /// Repeats that no longer count.
    pub aside: Option<Aside>,
}

/// Repeats that no longer count.
#[derive(Debug)]
pub(crate) struct Aside {
    pub repeats: Vec<u32>,
    pub rounds: BTreeSet<u32>,
    pub reason: SetAsideReason,
    /// Of the next ones.
    pub length_ns: u64,
}

impl Lengths {
    /// Finds the steps whose length the run chooses, with this time for all of it and so many repeats in the first round.
    /// Those of some steps take turns.
    pub fn begin(&mut self, plan: &Plan, budget_ns: u64, repeats: usize, in_turns: &BTreeSet<usize>) {
        for (index, step) in plan.steps.iter().enumerate() {
            let (Some(shortest_ns), Some(most_ns)) = (step.shortest_ns, step.stop.time_ns) else { continue };
            let affordable = budget_ns / FIRST_LONG_SHARE / repeats.max(1) as u64;
            let long_ns = affordable.clamp(shortest_ns, most_ns);
            let takes_turns = in_turns.contains(&index);
            self.0.insert(index, StepLength { takes_turns, ..StepLength::new(shortest_ns, long_ns) });
        }
    }

    /// Decides which steps have long repeats in the next round, which consists of these steps and lanes.
    pub fn begin_round(&mut self, budget_ns: u64, pairs: &[(usize, usize)]) {
        let lanes = |step: usize| pairs.iter().filter(|(s, _)| *s == step).count() as u64;
        let long_figures = |l: &StepLength| {
            l.figures.iter().filter(|f| f.length_ns >= l.long_ns).map(|f| f.length_ns).sum::<u64>()
        };
        let long: u64 = self.0.values().map(long_figures).sum();
        let mut left = (budget_ns / LONG_SHARE).saturating_sub(long);
        for (step, length) in &mut self.0 {
            if lanes(*step) == 0 {
                // Its turn to have long repeats, or to be checked, comes when it takes part again.
                length.is_long &= length.short_ns.is_none();
                length.check = None;
                continue;
            }
            let cost = length.long_ns * lanes(*step);
            length.begin_round(cost <= left);
            if length.is_long {
                left = left.saturating_sub(cost);
            }
        }
    }

    /// True if the repeats of a step on so many lanes take turns in this round.
    pub fn take_turns(&self, step: usize, lanes: usize) -> bool {
        lanes > 1 && self.0.get(&step).is_some_and(StepLength::is_in_turns)
    }

    /// True if the repeats of a step in this round only serve to check later ones.
    pub fn only_check(&self, step: usize) -> bool {
        self.0.get(&step).is_some_and(|l| l.takes_turns && !l.is_in_turns())
    }

    /// True if the run chooses the length of the repeats of a step.
    pub fn has(&self, step: usize) -> bool {
        self.0.contains_key(&step)
    }

    /// When the parts of the next repeat of a step on a lane end; the plan has the step so.
    pub fn timing(&self, (step, lane): (usize, usize), planned: &Step) -> Timing {
        self.0.get(&step).map_or_else(|| Timing::planned(planned), |length| length.timing(planned, lane))
    }

    /// Nanoseconds that surround a repeat of a step whose length the run chooses, on average.
    pub fn around_ns(&self, step: usize) -> Option<u64> {
        let (sum, count) = self.0.get(&step)?.around;
        sum.checked_div(count)
    }

    /// Takes a completed repeat into account, which took so long.
    pub fn learn(&mut self, order: &Order, measured: &Measured, took_ns: u64) {
        let (Some(length), Some(value)) = (self.0.get_mut(&order.step), measured.value()) else { return };
        length.around.0 += took_ns.saturating_sub(order.timing.total_ns());
        length.around.1 += 1;
        length.record(order, measured, value);
    }

    /// Forgets what a round of a step has shown.
    pub fn forget(&mut self, step: usize, round: u32) {
        if let Some(length) = self.0.get_mut(&step) {
            length.figures.retain(|figure| figure.round != round);
            length.noise.retain(|noise| noise.round != round);
        }
    }

    /// After a round: chooses the length of a step, and finds repeats that no longer count.
    pub fn end_round(&mut self, step: usize, planned: &Step) -> Changed {
        // A round has repeats of all steps, so that its time is best spent where each measures as long as is worth it for what
        // surrounds any.
        let all = self.0.values().filter(|length| length.around.1 > 0);
        let around: Vec<u64> = all.map(|length| length.around.0 / length.around.1).collect();
        let around_ns = around.iter().sum::<u64>().checked_div(around.len() as u64).unwrap_or(0);
        let Some(length) = self.0.get_mut(&step) else { return Changed::default() };
        let had_none = length.choice.is_none();
        let aside = length.end_round(planned, around_ns);
        let next_ns = length.length_ns();
        let aside = aside.map(|(figures, reason)| Aside {
            repeats: figures.iter().map(|f| f.repeat).collect(),
            rounds: figures.iter().map(|f| f.round).collect(),
            reason,
            length_ns: length.short_ns.unwrap_or(next_ns),
        });
        Changed { choice: length.choice.filter(|_| had_none), aside }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(shortest_ns: u64, long_ns: u64) -> StepLength {
        let rates = BTreeMap::from([(0, 10_000.0)]);
        StepLength { rates, around: (0, 1), ..StepLength::new(shortest_ns, long_ns) }
    }

    fn step() -> Step {
        let (suite, _) =
            plan::Suite::parse("test", "[[step]]\nid = \"x\"\nruntime = \"1s\"\nramp = \"200ms\"\n");
        let environment = plan::Environment { memory_bytes: 1 << 40, engines: vec![], targets: 1 };
        plan::resolve(&suite, &plan::RunOverrides::default(), &environment).unwrap().plan.steps.remove(0)
    }

    const MS: u64 = 1_000_000;

    impl StepLength {
        /// The figure of a repeat of this round.
        fn add(&mut self, round: u32, lane: usize, value: f64) {
            self.figures.push(Figure {
                repeat: 10 * round + lane as u32,
                round,
                lane,
                length_ns: self.length_ns(),
                ln: value.portable_ln(),
                in_turns: self.is_in_turns(),
                is_aside: false,
            });
        }
    }

    /// Rounds in which the figures of long and short repeats are these.
    fn measure(length: &mut StepLength, rounds: u32, short: f64, long: f64) -> Vec<(u32, Option<usize>)> {
        measure_with(length, rounds, short, |_| long)
    }

    /// The same, with a figure of long repeats that may be another in each round.
    fn measure_with(
        length: &mut StepLength,
        rounds: u32,
        short: f64,
        long: impl Fn(u32) -> f64,
    ) -> Vec<(u32, Option<usize>)> {
        let (step, mut aside) = (step(), Vec::new());
        for round in 0..rounds {
            length.begin_round(true);
            for lane in 0..2 {
                // A little noise, so that there is a spread.
                let noise = 1.0 + 0.01 * f64::from((round * 7 + lane * 3) % 5);
                let value = noise * if length.is_long { long(round) } else { short };
                let lane = lane as usize;
                length.add(round, lane, value);
                if !length.is_long && length.choice.is_none() {
                    let ln = value.portable_ln();
                    length.noise.push(RepeatNoise { round, target: lane, ln, within: 1e-6 });
                }
            }
            let set_aside = length.end_round(&step, 0).map(|(figures, _)| figures.len());
            aside.extend(set_aside.map(|n| (round, Some(n))));
        }
        aside
    }

    #[test]
    fn repeats_become_short_after_the_first_round_and_stay_so() {
        let mut length = length(100 * MS, 1000 * MS);
        assert_eq!(length.timing(&step(), 0).time_ns, Some(1000 * MS));
        assert_eq!(measure(&mut length, 40, 1.0, 1.0), []);
        assert_eq!(length.short_ns, Some(100 * MS));
        assert_eq!((length.long_rounds, length.short_rounds), (3, 37), "long ones in rounds 1, 7 and 22");
        length.is_long = false;
        let timing = length.timing(&step(), 0);
        assert_eq!((timing.time_ns, timing.ramp_ns), (Some(100 * MS), 30 * MS));
    }

    #[test]
    fn short_repeats_that_measure_something_else_are_set_aside_and_become_longer() {
        let mut length = length(100 * MS, 1000 * MS);
        let aside = measure(&mut length, 7, 2.0, 1.0);
        assert_eq!(aside, [(5, Some(8))], "four rounds of two targets, after a second long one");
        assert_eq!(length.short_ns, Some(500 * MS));
        assert!(length.figures.iter().all(|f| f.length_ns >= 500 * MS));
    }

    #[test]
    fn a_length_depends_on_what_surrounds_a_repeat_of_any_step() {
        let mut lengths = Lengths::default();
        for (index, around) in [(0, (4 * 30 * MS, 4)), (1, (2 * 90 * MS, 2)), (2, (0, 0))] {
            let mut one = StepLength { around, ..length(100 * MS, 1000 * MS) };
            measure(&mut one, 4, 1.0, 1.0);
            one.begin_round(true);
            one.noise.extend((0..2).map(|target| RepeatNoise { round: 4, target, ln: 0.0, within: 1e-6 }));
            lengths.0.insert(index, one);
        }
        let changed = lengths.end_round(0, &step());
        let ramp_ns = lengths.0[&0].timing(&step(), 0).ramp_ns;
        assert_eq!(
            changed.choice.unwrap().around_ns,
            60 * MS + ramp_ns,
            "the mean over the steps that have been measured"
        );
    }

    #[test]
    fn a_step_that_takes_no_part_in_a_round_keeps_its_turn() {
        let mut lengths = Lengths::default();
        let mut one = length(100 * MS, 1000 * MS);
        measure(&mut one, 2, 1.0, 1.0);
        (one.short_rounds, one.next_long) = (BEFORE_LONG, BEFORE_LONG);
        lengths.0.insert(0, one);
        let is_long = |lengths: &Lengths| lengths.0[&0].is_long;
        lengths.begin_round(u64::MAX, &[(1, 0)]);
        assert!(!is_long(&lengths));
        lengths.begin_round(u64::MAX, &[(0, 0), (0, 1)]);
        assert!(is_long(&lengths), "it is due, and there is time");
        lengths.begin_round(u64::MAX, &[(0, 0), (0, 1)]);
        assert!(!is_long(&lengths), "and only once");
    }

    /// Twenty rounds of two targets, in turns after a first one without. `ratio` is theirs in a round with turns or without;
    /// what is common to both in a round differs between rounds by a share `mood`.
    fn measure_in_turns(
        mood: f64,
        ratio: impl Fn(u32, bool) -> f64,
    ) -> (StepLength, Vec<(u32, usize, SetAsideReason)>) {
        measure_lanes_in_turns(mood, |round, turns| vec![1.0, ratio(round, turns)])
    }

    /// The same, with the figures of all lanes that take part in a round.
    fn measure_lanes_in_turns(
        mood: f64,
        lanes: impl Fn(u32, bool) -> Vec<f64>,
    ) -> (StepLength, Vec<(u32, usize, SetAsideReason)>) {
        let mut length = StepLength { takes_turns: true, ..length(100 * MS, 1000 * MS) };
        let (step, mut aside) = (step(), Vec::new());
        for round in 0..20 {
            length.begin_round(true);
            let common = 1.0 + mood * (f64::from(round * 7 % 5) - 2.0);
            for (lane, value) in lanes(round, length.is_in_turns()).into_iter().enumerate() {
                let own = 1.0 + 0.002 * f64::from((round * 3 + lane as u32 * 5) % 4);
                length.add(round, lane, common * own * value);
            }
            let set_aside = length.end_round(&step, 0);
            aside.extend(set_aside.map(|(figures, reason)| (round, figures.len(), reason)));
        }
        (length, aside)
    }

    #[test]
    fn the_first_round_without_turns_no_longer_counts_once_there_are_three_in_turns() {
        let (length, aside) = measure_in_turns(0.2, |_, _| 1.5);
        let without = SetAsideReason::WithoutTurns { step: "x".into() };
        assert_eq!(aside, [(3, 2, without)]);
        assert!(length.takes_turns);
    }

    #[test]
    fn turns_in_which_targets_compare_otherwise_are_set_aside_and_end() {
        let differs = |_, turns| if turns { 1.25 } else { 1.5 };
        let (length, aside) = measure_in_turns(0.01, differs);
        let [(3, 2, SetAsideReason::WithoutTurns { .. }), (_, _, SetAsideReason::InTurns { ratio, .. })] =
            &aside[..]
        else {
            panic!("{aside:?}")
        };
        assert!((ratio / (1.25 / 1.5) - 1.0).abs() < 0.01, "{ratio}");
        assert!(!length.takes_turns && length.figures.iter().all(|f| !f.in_turns));
        // The same where one round says nothing about the ratio, because the machine's moods are as large.
        assert_eq!(measure_in_turns(0.2, differs).1.len(), 1);
    }

    /// One round without turns in which the ratio was another by bad luck.
    #[test]
    fn one_round_without_turns_is_checked_and_sets_nothing_aside() {
        let (length, aside) =
            measure_in_turns(0.01, |round, turns| if turns || round > 0 { 1.5 } else { 1.9 });
        let without = || SetAsideReason::WithoutTurns { step: "x".into() };
        let [(3, 2, first), (check, 2, second)] = &aside[..] else { panic!("{aside:?}") };
        assert_eq!((first, second), (&without(), &without()));
        assert!(length.takes_turns);
        let rounds: BTreeSet<u32> = length.figures.iter().filter(|f| !f.in_turns).map(|f| f.round).collect();
        assert_eq!(rounds, BTreeSet::from([0, *check]));
    }

    /// What a target's turns leave behind cannot be checked once it no longer takes part.
    #[test]
    fn turns_of_a_target_that_no_longer_takes_part_are_checked_three_times_at_most() {
        let lanes = |round, turns| match round {
            0..5 => vec![1.0, 1.0, if turns { 1.5 } else { 1.9 }],
            _ => vec![1.0, 1.0],
        };
        let (length, _) = measure_lanes_in_turns(0.001, lanes);
        assert_eq!(length.checks, [Check::Turns; MOST_CHECKS]);
        let in_turns: BTreeSet<u32> = length.figures.iter().filter(|f| f.in_turns).map(|f| f.round).collect();
        assert_eq!(in_turns.len(), 20 - 1 - MOST_CHECKS, "{in_turns:?}");
    }

    /// Of two targets that seem to compare otherwise, the one that surely does is enough.
    #[test]
    fn a_target_of_bad_luck_hides_no_other() {
        let lanes = |round, turns| {
            let unlucky = if turns || round > 0 { 1.5 } else { 1.9 };
            vec![1.0, unlucky, if turns { 1.25 } else { 1.5 }]
        };
        let (length, aside) = measure_lanes_in_turns(0.01, lanes);
        assert!(
            aside.iter().any(|(.., reason)| matches!(reason, SetAsideReason::InTurns { .. })),
            "{aside:?}"
        );
        assert!(!length.takes_turns);
    }

    #[test]
    fn a_repeat_has_four_turns_of_ten_queues() {
        let step = Step { workload: Workload { iodepth: 32, ..step().workload }, ..step() };
        let mut length = StepLength { takes_turns: true, ..length(100 * MS, 5000 * MS) };
        assert_eq!(length.shortest_ns(&step), 128 * MS, "1,280 operations at 10,000 per second");
        length.takes_turns = false;
        assert_eq!(length.shortest_ns(&step), 100 * MS);
    }

    #[test]
    fn sequential_repeats_in_turns_cover_all_data_where_long_ones_do() {
        let workload = Workload { pattern: Pattern::Sequential, ..step().workload };
        let step = Step { workload, ..step() };
        let block = u64::from(step.workload.block.read);
        let mut length = StepLength { takes_turns: true, ..length(100 * MS, 1000 * MS) };
        length.size_bytes = 2000 * block;
        assert_eq!(length.at_least(0, &step), 200 * MS, "2,000 operations at 10,000 per second");
        length.size_bytes = 15_000 * block;
        assert_eq!(length.at_least(0, &step), 1000 * MS, "most of them");
        length.size_bytes = 30_000 * block;
        assert_eq!(length.at_least(0, &step), 100 * MS, "a third of them at most");
        (length.size_bytes, length.takes_turns) = (2000 * block, false);
        assert_eq!(length.at_least(0, &step), 100 * MS);
    }

    #[test]
    fn sequential_repeats_in_turns_consist_of_whole_passes_of_each_lane() {
        let workload = Workload { pattern: Pattern::Sequential, ..step().workload };
        let step = Step { workload, ..step() };
        let block = u64::from(step.workload.block.read);
        let mut length = StepLength { takes_turns: true, ..length(100 * MS, 1000 * MS) };
        (length.size_bytes, length.short_ns) = (4000 * block, Some(500 * MS));
        length.rates.insert(1, 24_000.0);
        let passes = |length: &StepLength| {
            [0, 1].map(|lane| length.timing(&step, lane)).map(|timing| (timing.passes, timing.ramp_ns))
        };
        length.is_long = false;
        assert_eq!(passes(&length), [(Some(1), 0), (Some(3), 0)], "of 400 and 167 ms");
        let mut timed = step.clone();
        length.timing(&step, 1).apply(&mut timed);
        assert_eq!(
            (timed.stop.time_ns, timed.stop.passes),
            (Some(1500 * MS), Some(3)),
            "there is time for slow ones"
        );
        length.rates.insert(0, 1_000.0);
        assert_eq!(passes(&length), [(None, 30 * MS); 2], "a pass takes as long as four long repeats");
        length.rates.insert(0, 10_000.0);
        length.check = Some(Check::Turns);
        assert_eq!(passes(&length), [(None, 30 * MS); 2], "in a round without turns");
        length.check = None;
        length.rates.remove(&0);
        assert_eq!(
            passes(&length),
            [(Some(3), 0); 2],
            "a lane without a rate of its own takes that of the slowest"
        );
        length.rates.clear();
        assert_eq!(passes(&length), [(None, 30 * MS); 2], "no rate is known");
    }

    #[test]
    fn the_ramp_that_is_enough_for_the_shortest_repeats_is_enough_for_longer_ones() {
        let mut length = StepLength { short_ns: Some(500 * MS), ..length(100 * MS, 1000 * MS) };
        let ramp_ns = |length: &StepLength| length.timing(&step(), 0).ramp_ns;
        assert_eq!(ramp_ns(&length), 200 * MS, "a long repeat has the suite's ramp");
        length.is_long = false;
        assert_eq!(ramp_ns(&length), 30 * MS);
    }

    /// Both targets of a round are measured within a second, in the same mood of the machine: six rounds of a disk in
    /// memory on a processor with two speeds, in thousands of operations per second.
    #[test]
    fn targets_of_one_round_are_one_observation() {
        let mut measured = StepLength { short_ns: Some(100 * MS), ..length(100 * MS, 500 * MS) };
        let rounds = [(25.7, 24.3), (19.5, 17.9), (16.5, 16.8), (16.4, 16.6), (16.7, 18.3), (25.1, 24.8)];
        for (round, (a, b)) in (0..).zip(rounds) {
            measured.is_long = [0, 5].contains(&round);
            measured.add(round, 0, a);
            measured.add(round, 1, b);
        }
        assert_eq!(measured.effect_without(None), None);
        // The same as rounds of twelve targets of their own, which nothing ties together.
        measured.figures.iter_mut().for_each(|f| (f.round, f.lane) = (f.round * 2 + f.lane as u32, 0));
        assert!(measured.effect_without(None).is_some());
    }

    /// A run of 100 s lost 32 of 40 repeats of a step: in the second long round the machine was slow for a moment.
    #[test]
    fn one_slow_long_round_is_checked_and_sets_nothing_aside() {
        for slow in [0, 6] {
            let mut length = length(100 * MS, 1000 * MS);
            let long = |round| if round == slow { 0.6 } else { 1.0 };
            assert_eq!(measure_with(&mut length, 40, 1.0, long), [], "round {slow}");
            assert_eq!(length.short_ns, Some(100 * MS));
            assert!(length.long_rounds > 3, "a check out of turn: {}", length.long_rounds);
            assert!(length.checks.len() <= MOST_CHECKS);
        }
    }

    #[test]
    fn slow_storage_never_has_repeats_shorter_than_fifty_operations() {
        let mut length = length(100 * MS, 5000 * MS);
        length.rates.insert(0, 100.0);
        measure(&mut length, 10, 1.0, 1.0);
        assert_eq!(length.short_ns, Some(500 * MS));
    }
}
