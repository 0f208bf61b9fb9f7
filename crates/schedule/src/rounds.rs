//! Which repeats a round makes, and whether there is another one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use analyse::{
    Aims, Decided, Forecast, Series, decide, rungs_in_turn, settled_requirements, steady_state, unexposed,
};
use model::units::ShortDuration;
use model::{Reference, Requirement, Rounds, Severity};
use rand::seq::SliceRandom;

use crate::Said;
use crate::reach::Need;
use crate::scheduler::{Round, Scheduler, Sequence};

/// Fewest rounds with rounds `auto`: fewer than two give no confidence interval.
const FEWEST_ROUNDS: u32 = 2;
/// Most rounds with rounds `auto`, however large the budget.
const MOST_ROUNDS: u32 = 1000;
/// Rounds before the first forecast: the last of them is the first with repeats of the length that the run has chosen.
const FIRST_FORECAST: u32 = 6;
/// Assumed overhead of a repeat before its first measurement, for opening files and settling, in nanoseconds.
const AROUND_NS: u64 = 100_000_000;

/// Without the settled steps of groups in which another step is not settled on that target: a program that runs several steps
/// runs all of them. Steps that have no figure after several repeats will never have one, so nothing waits for them.
fn in_whole_groups(
    groups: &[Vec<&str>],
    settled: BTreeSet<(String, String)>,
    without_figures: &BTreeSet<(String, String)>,
) -> BTreeSet<(String, String)> {
    let over = &settled | without_figures;
    let is_kept = |(step, target): &&(String, String)| {
        let group = groups.iter().find(|group| group.contains(&step.as_str()));
        group.is_none_or(|group| {
            group.iter().all(|other| over.contains(&((*other).to_owned(), target.clone())))
        })
    };
    over.iter().filter(is_kept).cloned().collect()
}

impl Scheduler {
    /// Begins a round; `None` if there is none.
    pub(crate) fn begin_round(&mut self, number: u32) -> Option<Round> {
        self.decided = self.decide();
        let all = self.pairs(number);
        if number >= FIRST_FORECAST && !self.decided.forecasts.is_empty() {
            self.reconsider_reach(&all);
        }
        if number == 0 {
            self.begin_lengths(&all);
            self.tell_least(&all);
        }
        let pairs = self.reach.within(number, all.clone());
        if pairs.is_empty() || self.is_enough(number, &pairs) {
            return None;
        }
        if let Rounds::Auto { budget_ns, .. } = self.plan.rounds {
            self.lengths.begin_round(budget_ns, &pairs);
        }
        self.expect(number, &all);
        let ordered = self.ordered(pairs.clone());
        Some(Round::new(number, pairs, &ordered))
    }

    /// Finds the steps whose length the run chooses: where every lane allows it.
    fn begin_lengths(&mut self, pairs: &[(usize, usize)]) {
        let Rounds::Auto { budget_ns, precision_ppm } = self.plan.rounds else { return };
        if precision_ppm > 0 && self.lanes.iter().all(|lane| lane.may_shorten) {
            let takes_turns =
                |step: &usize| self.lanes.len() > 1 && self.lanes.iter().all(|lane| lane.takes_turns[*step]);
            let in_turns = (0..self.plan.steps.len()).filter(takes_turns).collect();
            self.lengths.begin(&self.plan, budget_ns, pairs.len(), &in_turns);
        }
    }

    /// Says so before the first round if the fewest rounds take longer than the budget. Lengths that the run chooses fit into it.
    fn tell_least(&mut self, pairs: &[(usize, usize)]) {
        let Rounds::Auto { budget_ns, .. } = self.plan.rounds else { return };
        let least_ns = self.round_ns(pairs).saturating_mul(u64::from(FEWEST_ROUNDS));
        let end_ns = self.now_ns.saturating_add(least_ns);
        if end_ns > budget_ns.saturating_add(budget_ns / 20)
            && !pairs.iter().any(|pair| self.lengths.has(pair.0))
        {
            let second = 1_000_000_000;
            let [least, budget] = [end_ns.div_ceil(second) * second, budget_ns].map(ShortDuration);
            let message = format!(
                "the run will take about {least}, longer than its budget of {budget}: an interval needs two rounds (shorten them \
                 with --only, --skip or --runtime)"
            );
            self.say(Said::Forecast(message.clone()));
            self.note(Severity::Info, "forecast", None, message);
        }
    }

    /// The repeats of a round, as indices of step and lane: every step on every lane where it can run and, with
    /// rounds `auto`, is not settled yet.
    fn pairs(&self, round: u32) -> Vec<(usize, usize)> {
        let samples = match self.plan.ladders.is_empty() {
            true => Vec::new(),
            false => self.evidence.samples(&self.plan),
        };
        let going_on = self.lanes.iter().enumerate().filter(|(j, _)| !self.given_up[*j]);
        let targets: Vec<&str> = going_on.map(|(_, lane)| lane.target.as_str()).collect();
        let in_turn = rungs_in_turn(&self.plan, &samples, &targets);
        let mut pairs = Vec::new();
        for (j, lane) in self.lanes.iter().enumerate().filter(|(j, _)| !self.given_up[*j]) {
            let steps = self.plan.steps.iter().zip(&lane.runs).enumerate();
            let wanted = steps.filter(|(i, (step, runs))| {
                let is_done = round > 0 && step.workload.modifiers.once;
                **runs && !is_done && !self.given_up_steps.contains(i) && {
                    let pair = (step.id.clone(), lane.target.clone());
                    match self.plan.ladder_of(&step.id) {
                        Some(_) => in_turn.contains(&pair),
                        None => !self.decided.settled.contains(&pair),
                    }
                }
            });
            pairs.extend(wanted.map(|(i, _)| (i, j)));
        }
        pairs
    }

    /// Puts the repeats of a round into their order.
    fn ordered(&mut self, mut pairs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
        let lanes = self.lanes.len();
        match &self.sequence {
            Sequence::Plan => pairs.sort_unstable(),
            Sequence::Balanced => {
                let mut steps: Vec<usize> = pairs.iter().map(|(step, _)| *step).collect();
                steps.sort_unstable();
                steps.dedup();
                steps.shuffle(&mut self.draws);
                // Steps that prepare the storage come first and keep their order.
                let once = |step: usize| self.plan.steps[step].workload.modifiers.once;
                steps.sort_by_key(|step| if once(*step) { *step } else { usize::MAX });
                let mut ordered = Vec::with_capacity(pairs.len());
                for step in steps {
                    let turns = self.turns.order(step, lanes, &mut self.draws);
                    ordered.extend(turns.into_iter().map(|lane| (step, lane)).filter(|p| pairs.contains(p)));
                }
                pairs = ordered;
            }
            Sequence::SideBySide(groups) => {
                let mut groups: Vec<&Vec<usize>> = groups.iter().collect();
                groups.shuffle(&mut self.draws);
                let mut ordered = Vec::with_capacity(pairs.len());
                for group in groups {
                    let mut turns: Vec<usize> = (0..lanes).collect();
                    turns.shuffle(&mut self.draws);
                    let of = |lane: usize| group.iter().map(move |step| (*step, lane));
                    ordered.extend(turns.into_iter().flat_map(of).filter(|pair| pairs.contains(pair)));
                }
                pairs = ordered;
            }
        }
        pairs
    }

    /// What the comparisons are to be decided by; `None` if the number of rounds does not depend on them.
    fn aims(&self) -> Option<Aims> {
        match self.plan.rounds {
            Rounds::Auto { precision_ppm, .. } if precision_ppm > 0 => {
                Some(Aims { precision: f64::from(precision_ppm) / 1e6, margin: self.plan.margin() })
            }
            _ => None,
        }
    }

    fn decide(&self) -> Decided {
        let Some(aims) = self.aims() else { return Decided::default() };
        let decided = match self.plan.requirements.is_empty() {
            true => decide(&self.evidence.series(), &self.baseline, aims),
            false => self.decide_where_required(aims),
        };
        let Sequence::SideBySide(groups) = &self.sequence else { return decided };
        let going_on = |step: &&usize| !self.given_up_steps.contains(*step);
        let id = |step: &usize| self.plan.steps[*step].id.as_str();
        let groups: Vec<Vec<&str>> =
            groups.iter().map(|group| group.iter().filter(going_on).map(id).collect()).collect();
        let settled =
            in_whole_groups(&groups, decided.settled, &self.evidence.without_figures(FEWEST_ROUNDS));
        Decided { settled, ..decided }
    }

    /// Where something is required of a step, its requirements decide how long it goes on, and no comparison. What is relative to an
    /// earlier run needs a precise figure, and is not looked at before the end: whether that changes it is not known from one run.
    fn decide_where_required(&self, aims: Aims) -> Decided {
        let samples = self.evidence.samples(&self.plan);
        let required = settled_requirements(&self.plan, &samples);
        let mut series = self.evidence.series();
        series.retain(|series| !self.is_required(&series.step) || self.is_measured_by_a_run(&series.step));
        let Decided { settled: precise, mut forecasts } = decide(&series, &self.baseline, aims);
        forecasts.retain(|forecast| !self.is_required(&forecast.step));
        let needs_both = |step: &str| self.is_required(step) && self.is_measured_by_a_run(step);
        let is_settled = |pair: &&(String, String)| {
            !needs_both(&pair.0) || (required.contains(*pair) && precise.contains(*pair))
        };
        let settled: BTreeSet<_> = (&precise | &required).iter().filter(is_settled).cloned().collect();
        Decided { settled: &settled - &unexposed(&self.plan, &samples), forecasts }
    }

    /// True if something is required of a step that can be decided in this run.
    fn is_required(&self, step: &str) -> bool {
        self.requirements(step).any(|r| !matches!(r.relative_to, Some(Reference::Run(_))))
    }

    fn is_measured_by_a_run(&self, step: &str) -> bool {
        self.requirements(step).any(|r| matches!(r.relative_to, Some(Reference::Run(_))))
    }

    fn requirements(&self, step: &str) -> impl Iterator<Item = &Requirement> {
        self.plan.requirements.iter().filter(move |requirement| requirement.step == step)
    }

    /// Finds the steps of these repeats that the budget is not enough for. Not where a program runs several steps at once: it
    /// runs all of them or none.
    fn reconsider_reach(&mut self, pairs: &[(usize, usize)]) {
        let Rounds::Auto { budget_ns, .. } = self.plan.rounds else { return };
        let left_ns = budget_ns.saturating_sub(self.now_ns);
        if left_ns == 0 || matches!(self.sequence, Sequence::SideBySide(_)) {
            return;
        }
        let mut by_step: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        pairs.iter().for_each(|pair| by_step.entry(pair.0).or_default().push(*pair));
        let mut needs: Vec<Need> = Vec::new();
        for (step, own) in by_step {
            let id = &self.plan.steps[step].id;
            let of_step: Vec<&Forecast> = self.decided.forecasts.iter().filter(|f| f.step == *id).collect();
            if of_step.is_empty() {
                continue;
            }
            let rounds: Option<Vec<u32>> = of_step.iter().map(|f| f.rounds).collect();
            let most = rounds.and_then(|rounds| rounds.into_iter().max());
            let ns = most.map(|rounds| u64::from(rounds).saturating_mul(self.round_ns(&own)));
            needs.push(Need { step, ns, is_precise: of_step.iter().all(|f| f.is_precise) });
        }
        let ids: Vec<&str> = self.plan.steps.iter().map(|step| step.id.as_str()).collect();
        let margin = f64::from(self.plan.margin_ppm) / 1e4;
        if let Some(message) = self.reach.reconsider(&needs, left_ns, &ids, margin) {
            self.say(Said::Forecast(message.clone()));
            self.note(Severity::Info, "forecast", None, message);
        }
    }

    /// True if no further round of these repeats is to be made after `done` rounds.
    fn is_enough(&self, done: u32, pairs: &[(usize, usize)]) -> bool {
        match self.plan.rounds {
            Rounds::Fixed(rounds) => {
                let is_over = |budget_ns| done > 0 && self.exceeds(budget_ns, pairs);
                done >= rounds
                    || self.is_steady()
                    || self.is_written()
                    || self.plan.budget_ns.is_some_and(is_over)
            }
            Rounds::Auto { .. } if done < FEWEST_ROUNDS => false,
            Rounds::Auto { budget_ns, .. } => done >= MOST_ROUNDS || self.exceeds(budget_ns, pairs),
        }
    }

    /// True if a round of these repeats would exceed the budget by more than 5 %.
    pub(crate) fn exceeds(&self, budget_ns: u64, pairs: &[(usize, usize)]) -> bool {
        self.now_ns.saturating_add(self.round_ns(pairs)) > budget_ns.saturating_add(budget_ns / 20)
    }

    /// True if the step that the plan watches is steady wherever it was measured.
    fn is_steady(&self) -> bool {
        let Some(step) = &self.plan.until_steady else { return false };
        let mut watched = self.evidence.of_step(step).peekable();
        let steady = |series: &Series| {
            let values: Vec<f64> = series.values.iter().map(|(_, value)| *value).collect();
            steady_state(&values).steady_at_end
        };
        watched.peek().is_some() && watched.all(steady)
    }

    /// True if the data were written as often as the plan wants, wherever they are measured.
    fn is_written(&self) -> bool {
        let Some(times) = self.plan.until_written else { return false };
        let is_written = |target: &str| {
            let (written, size) = self.evidence.written.get(target).copied().unwrap_or_default();
            size > 0 && written >= size.saturating_mul(u64::from(times))
        };
        let mut active = self.lanes.iter().zip(&self.given_up).filter(|(_, given_up)| !**given_up);
        active.all(|(lane, _)| is_written(&lane.target))
    }

    /// Nanoseconds that these repeats will take: as long as the last time, or as planned.
    fn round_ns(&self, pairs: &[(usize, usize)]) -> u64 {
        let next = |pair: &(usize, usize)| {
            let step = &self.plan.steps[pair.0];
            if self.lengths.has(pair.0) {
                let around_ns = self.lengths.around_ns(pair.0).unwrap_or(AROUND_NS);
                return self.lengths.timing(*pair, step).total_ns() + around_ns;
            }
            let took_ns = self.evidence.took_ns.get(pair).copied();
            took_ns.unwrap_or_else(|| (step.seconds() * 1e9) as u64 + AROUND_NS)
        };
        pairs.iter().map(next).sum()
    }

    /// The planned duration of the rounds.
    pub fn planned(&self) -> Duration {
        match self.plan.rounds {
            Rounds::Fixed(rounds) => {
                let later = self.round_ns(&self.pairs(1)).saturating_mul(u64::from(rounds.saturating_sub(1)));
                let planned = self.round_ns(&self.pairs(0)).saturating_add(later);
                Duration::from_nanos(self.plan.budget_ns.map_or(planned, |budget_ns| planned.min(budget_ns)))
            }
            Rounds::Auto { budget_ns, .. } => Duration::from_nanos(budget_ns),
        }
    }

    /// Says when the run will probably end, at this time and before the first round.
    pub fn expect_start(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        self.expect(0, &self.pairs(0));
    }

    /// Says when the run will probably end, after `done` rounds with these repeats in each further one.
    fn expect(&mut self, done: u32, pairs: &[(usize, usize)]) {
        let round_ns = self.round_ns(pairs).max(1);
        let fit = |budget_ns: u64| {
            let left = budget_ns.saturating_add(budget_ns / 20).saturating_sub(self.now_ns);
            u32::try_from(left / round_ns).unwrap_or(u32::MAX)
        };
        let rounds = match self.plan.rounds {
            Rounds::Fixed(rounds) => match self.plan.budget_ns {
                Some(budget_ns) => rounds.min(done.saturating_add(fit(budget_ns)).max(1)),
                None => rounds,
            },
            Rounds::Auto { budget_ns, .. } => {
                let fit = fit(budget_ns).min(MOST_ROUNDS);
                (done + fit).clamp(FEWEST_ROUNDS.max(done + 1), MOST_ROUNDS.max(done + 1))
            }
        };
        let end_ns =
            self.now_ns.saturating_add(round_ns.saturating_mul(u64::from(rounds.saturating_sub(done))));
        self.say(Said::Expected { end_ns, rounds });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_one_program_are_settled_together() {
        let pair = |step: &str, target: &str| (step.to_owned(), target.to_owned());
        let groups = [vec!["seeks", "read"], vec!["copy"]];
        let settled: BTreeSet<_> = [
            pair("seeks", "tools"),
            pair("read", "lodestone"),
            pair("seeks", "lodestone"),
            pair("copy", "tools"),
        ]
        .into();
        let kept = in_whole_groups(&groups, settled.clone(), &BTreeSet::new());
        assert_eq!(
            kept,
            [pair("read", "lodestone"), pair("seeks", "lodestone"), pair("copy", "tools")].into()
        );
        // The reads of a file in memory are so short that the program gives no figure.
        let kept = in_whole_groups(&groups, settled, &[pair("read", "tools")].into());
        assert_eq!(kept.len(), 5);
        assert!(kept.contains(&pair("seeks", "tools")) && kept.contains(&pair("read", "tools")));
    }
}
