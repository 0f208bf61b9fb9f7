//! How long the repeats of each step are, where the run may choose.
//!
//! The first round has long repeats, as long as the suite says. They show how fast the storage is, and a few more of them,
//! interleaved later, whether short repeats measure the same. All other repeats are as short as the storage allows, and
//! after a few rounds as long as decides soonest ([`analyse::best_length`]). Where short repeats give other figures than
//! long ones, they are set aside and the length grows.

use std::collections::{BTreeMap, BTreeSet};

use analyse::{
    LengthChoice, ROUNDS_TO_CHOOSE, RepeatNoise, ShortAndLong, best_length, length_effect, round_length,
    shortest_for, variance_within,
};
use model::{Plan, PortableMath, SetAsideReason, Step};

use crate::order::Order;
use crate::{Measured, Timing};

/// Share of the time for long repeats of the first round, and for those of all rounds.
const FIRST_LONG_SHARE: u64 = 10;
const LONG_SHARE: u64 = 5;
/// Short rounds before the second long one; each further one comes after three times as many.
const BEFORE_LONG: u32 = 5;
/// Long repeats are at least so many times as long as short ones: less does not show an effect of the length.
const LONGER: u64 = 2;
/// Share of a short repeat that its ramp takes in addition, at most.
const RAMP_SHARE: f64 = 0.3;
/// Intervals of a repeat from which the noise within it is estimated.
const INTERVALS: u64 = 8;
/// An effect of the length below this share is not looked for.
const RELEVANT: f64 = 0.03;
/// The chance of finding an effect that is not there, each time it is looked for.
const LEVEL: f64 = 0.001;
/// By how much repeats become longer where short ones differ.
const GROWTH: u64 = 4;

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
    /// Operations per second of the slowest long repeat.
    per_second: f64,
    noise: Vec<RepeatNoise>,
    figures: Vec<Figure>,
    /// Time beyond ramp and measurement that the repeats took, and how many did.
    around: (u64, u64),
}

/// The figure of one repeat.
#[derive(Clone, Copy, Debug)]
struct Figure {
    repeat: u32,
    round: u32,
    lane: usize,
    length_ns: u64,
    ln: f64,
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
            per_second: f64::INFINITY,
            noise: Vec::new(),
            figures: Vec::new(),
            around: (0, 0),
        }
    }

    fn length_ns(&self) -> u64 {
        if self.is_long { self.long_ns } else { self.short_ns.unwrap_or(self.long_ns) }
    }

    /// Whether the next round has long repeats, given how many of them there is time for.
    fn begin_round(&mut self, there_is_time: bool) {
        let due = self.short_rounds >= self.next_long;
        let is_first = self.short_ns.is_none();
        self.is_long = is_first || (due && there_is_time && self.has_lengths());
        if self.is_long && !is_first {
            self.next_long = self.short_rounds + BEFORE_LONG * 3u32.pow(self.long_rounds.min(6));
        }
    }

    fn has_lengths(&self) -> bool {
        self.short_ns.is_some_and(|short| self.long_ns >= LONGER * short)
    }

    fn timing(&self, step: &Step) -> Timing {
        let time_ns = self.length_ns();
        let ramp_ns = step.ramp_ns.min((time_ns as f64 * RAMP_SHARE) as u64);
        let estimates = !self.is_long && self.choice.is_none();
        let interval_ns =
            if estimates { time_ns / INTERVALS } else { step.interval_ns.min(time_ns) }.max(1_000_000);
        Timing { time_ns: Some(time_ns), ramp_ns, interval_ns, is_chosen: true }
    }

    /// Takes a completed repeat into account; `value` is its headline figure.
    fn record(&mut self, order: &Order, measured: &Measured, value: f64) {
        let length_ns = self.length_ns();
        let ln = value.max(f64::MIN_POSITIVE).portable_ln();
        let Order { repeat, round, lane, .. } = *order;
        self.figures.push(Figure { repeat, round, lane, length_ns, ln });
        if self.is_long {
            if self.long_rounds == 0 {
                self.per_second = measured.per_second.min(self.per_second);
            }
        } else if self.choice.is_none()
            && let Some(within) = variance_within(&measured.rates)
        {
            self.noise.push(RepeatNoise { round, target: lane, ln, within });
        }
    }

    /// After a round: the repeats that no longer count, with the reason, if short repeats differ from long ones.
    fn end_round(&mut self, step: &Step) -> Option<(Vec<Figure>, SetAsideReason)> {
        let sync_every = step.workload.sync.every;
        let Some(short_ns) = self.short_ns else {
            let shortest = shortest_for(self.per_second, sync_every, self.shortest_ns);
            self.short_ns = Some(round_length(shortest, self.long_ns));
            self.long_rounds = 1;
            return None;
        };
        if self.is_long {
            self.long_rounds += 1;
            return None;
        }
        self.short_rounds += 1;
        let around_ns = self.around.0.checked_div(self.around.1).unwrap_or(0) + self.timing(step).ramp_ns;
        if self.choice.is_none()
            && self.short_rounds >= ROUNDS_TO_CHOOSE as u32
            && let Some(choice) = best_length(&self.noise, short_ns, around_ns)
        {
            let shortest = shortest_for(self.per_second, sync_every, self.shortest_ns).max(self.least_ns);
            let length_ns = round_length(choice.length_ns.max(shortest), self.long_ns);
            self.choice = Some(LengthChoice { length_ns, ..choice });
            self.short_ns = Some(length_ns);
            self.noise.clear();
        }
        let is_due = self.short_rounds >= ROUNDS_TO_CHOOSE as u32 && self.short_rounds.is_power_of_two();
        let ratio = if is_due && self.has_lengths() { self.effect()? } else { return None };
        let length_ns = self.short_ns?;
        let longer = round_length(length_ns * GROWTH, self.long_ns);
        let shorter = self.figures.extract_if(.., |f| f.length_ns < longer).collect();
        self.least_ns = longer;
        self.short_ns = Some(longer);
        let (step, long_ns) = (step.id.clone(), self.long_ns);
        Some((shorter, SetAsideReason::TooShort { step, length_ns, long_ns, ratio }))
    }

    fn effect(&self) -> Option<f64> {
        let lanes: BTreeSet<usize> = self.figures.iter().map(|f| f.lane).collect();
        let of = |lane: usize, long: bool| {
            let own = self.figures.iter().filter(move |f| f.lane == lane);
            own.filter(|f| (f.length_ns >= self.long_ns) == long).map(|f| f.ln).collect()
        };
        let both = |lane: &usize| ShortAndLong { short: of(*lane, false), long: of(*lane, true) };
        length_effect(&lanes.iter().map(both).collect::<Vec<_>>(), RELEVANT, LEVEL)
    }
}

/// What the end of a round has changed for a step.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    /// The length that was chosen now.
    pub choice: Option<LengthChoice>,
    /// Repeats that were too short.
    pub too_short: Option<TooShort>,
}

/// Repeats that were too short and no longer count.
#[derive(Debug)]
pub(crate) struct TooShort {
    pub repeats: Vec<u32>,
    pub rounds: BTreeSet<u32>,
    pub reason: SetAsideReason,
    /// Of the next ones.
    pub length_ns: u64,
}

impl Lengths {
    /// Finds the steps whose length the run chooses, with this time for all of it and so many repeats in the first round.
    pub fn begin(&mut self, plan: &Plan, budget_ns: u64, repeats: usize) {
        for (index, step) in plan.steps.iter().enumerate() {
            let (Some(shortest_ns), Some(most_ns)) = (step.shortest_ns, step.stop.time_ns) else { continue };
            let affordable = budget_ns / FIRST_LONG_SHARE / repeats.max(1) as u64;
            let long_ns = affordable.clamp(shortest_ns, most_ns);
            self.0.insert(index, StepLength::new(shortest_ns, long_ns));
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
            let cost = length.long_ns * lanes(*step);
            length.begin_round(cost <= left);
            if length.is_long {
                left = left.saturating_sub(cost);
            }
        }
    }

    /// True if the run chooses the length of the repeats of a step.
    pub fn has(&self, step: usize) -> bool {
        self.0.contains_key(&step)
    }

    /// When the parts of the next repeat of a step end, which the plan has so.
    pub fn timing(&self, step: usize, planned: &Step) -> Timing {
        self.0.get(&step).map_or_else(|| Timing::planned(planned), |length| length.timing(planned))
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

    /// After a round: chooses the length of a step, and finds repeats that were too short.
    pub fn end_round(&mut self, step: usize, planned: &Step) -> Changed {
        let Some(length) = self.0.get_mut(&step) else { return Changed::default() };
        let had_none = length.choice.is_none();
        let too_short = length.end_round(planned);
        let next_ns = length.length_ns();
        let too_short = too_short.map(|(figures, reason)| TooShort {
            repeats: figures.iter().map(|f| f.repeat).collect(),
            rounds: figures.iter().map(|f| f.round).collect(),
            reason,
            length_ns: length.short_ns.unwrap_or(next_ns),
        });
        Changed { choice: length.choice.filter(|_| had_none), too_short }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(shortest_ns: u64, long_ns: u64) -> StepLength {
        StepLength { per_second: 10_000.0, around: (0, 1), ..StepLength::new(shortest_ns, long_ns) }
    }

    fn step() -> Step {
        let (suite, _) =
            plan::Suite::parse("test", "[[step]]\nid = \"x\"\nruntime = \"1s\"\nramp = \"200ms\"\n");
        let environment = plan::Environment { memory_bytes: 1 << 40, engines: vec![], targets: 1 };
        plan::resolve(&suite, &plan::RunOverrides::default(), &environment).unwrap().plan.steps.remove(0)
    }

    const MS: u64 = 1_000_000;

    /// Rounds in which the figures of long and short repeats are these.
    fn measure(length: &mut StepLength, rounds: u32, short: f64, long: f64) -> Vec<(u32, Option<usize>)> {
        let (step, mut aside) = (step(), Vec::new());
        for round in 0..rounds {
            length.begin_round(true);
            for lane in 0..2 {
                // A little noise, so that there is a spread.
                let noise = 1.0 + 0.01 * f64::from((round * 7 + lane * 3) % 5);
                let ln = (noise * if length.is_long { long } else { short }).portable_ln();
                let (length_ns, repeat, lane) = (length.length_ns(), 2 * round + lane, lane as usize);
                length.figures.push(Figure { repeat, round, lane, length_ns, ln });
                if !length.is_long && length.choice.is_none() {
                    length.noise.push(RepeatNoise { round, target: lane, ln, within: 1e-6 });
                }
            }
            let set_aside = length.end_round(&step).map(|(figures, _)| figures.len());
            aside.extend(set_aside.map(|n| (round, Some(n))));
        }
        aside
    }

    #[test]
    fn repeats_become_short_after_the_first_round_and_stay_so() {
        let mut length = length(100 * MS, 1000 * MS);
        assert_eq!(length.timing(&step()).time_ns, Some(1000 * MS));
        assert_eq!(measure(&mut length, 40, 1.0, 1.0), []);
        assert_eq!(length.short_ns, Some(100 * MS));
        assert_eq!((length.long_rounds, length.short_rounds), (3, 37), "long ones in rounds 1, 7 and 22");
        length.is_long = false;
        let timing = length.timing(&step());
        assert_eq!((timing.time_ns, timing.ramp_ns), (Some(100 * MS), 30 * MS));
    }

    #[test]
    fn short_repeats_that_measure_something_else_are_set_aside_and_become_longer() {
        let mut length = length(100 * MS, 1000 * MS);
        let aside = measure(&mut length, 7, 2.0, 1.0);
        assert_eq!(aside, [(4, Some(8))], "four rounds of two targets");
        assert_eq!(length.short_ns, Some(500 * MS));
        assert!(length.figures.iter().all(|f| f.length_ns >= 500 * MS));
    }

    #[test]
    fn slow_storage_never_has_repeats_shorter_than_fifty_operations() {
        let mut length = length(100 * MS, 5000 * MS);
        length.per_second = 100.0;
        measure(&mut length, 10, 1.0, 1.0);
        assert_eq!(length.short_ns, Some(500 * MS));
    }
}
