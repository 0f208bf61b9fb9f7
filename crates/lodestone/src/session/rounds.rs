//! Which repeats a round makes, and whether there is another one.

use std::collections::{BTreeMap, BTreeSet};

use analyse::{Aims, Series, exposure, headline, repeat_values, settled, steady_state};
use model::{Operation, Repeat, Rounds, Step};
use rand::Rng;
use rand::seq::SliceRandom;

use super::{Order, Session};

/// Fewest rounds with rounds `auto`: fewer than two give no confidence interval.
const FEWEST_ROUNDS: u32 = 2;
/// Most rounds with rounds `auto`, however large the budget.
const MOST_ROUNDS: u32 = 1000;
/// Assumed overhead of a repeat before its first measurement, for opening files and settling, in nanoseconds.
const AROUND_NS: u64 = 100_000_000;

/// What has been measured so far, as far as further rounds depend on it.
#[derive(Default)]
pub(crate) struct RoundHistory {
    /// The headline figures, one value per good repeat.
    pub(super) series: Vec<Series>,
    /// Nanoseconds that the last repeat of a step on a target took, including its overhead.
    took_ns: BTreeMap<(usize, usize), u64>,
}

impl RoundHistory {
    /// Forgets what the step measured in these rounds.
    pub fn forget(&mut self, step: &str, rounds: &BTreeSet<u32>) {
        for series in self.series.iter_mut().filter(|series| series.step == step) {
            series.values.retain(|(round, _)| !rounds.contains(round));
            series.exposures.retain(|exposure| !rounds.contains(&exposure.round));
        }
    }

    /// Records a completed repeat.
    pub fn record(&mut self, step: &Step, repeat: &Repeat) {
        let (target, round) = (&repeat.started.target, repeat.started.round);
        for (operation, metric, value) in repeat_values(step, repeat) {
            if headline(step, operation) != Some(metric) {
                continue;
            }
            let same = |s: &&mut Series| {
                s.step == step.id && s.target == *target && s.operation == operation && s.metric == metric
            };
            let exposure = exposure(step, repeat, operation, metric);
            match self.series.iter_mut().find(same) {
                Some(series) => {
                    series.values.push((round, value));
                    series.exposures.extend(exposure);
                }
                None => self.series.push(Series {
                    run: 0,
                    target: target.clone(),
                    step: step.id.clone(),
                    operation,
                    metric,
                    is_headline: true,
                    values: vec![(round, value)],
                    exposures: Vec::from_iter(exposure),
                }),
            }
        }
    }

    pub fn took(&mut self, pair: (usize, usize), ns: u64) {
        self.took_ns.insert(pair, ns);
    }
}

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

/// The first headline figure of a repeat.
pub(super) fn headline_value(step: &Step, repeat: &Repeat) -> Option<f64> {
    let values = repeat_values(step, repeat).into_iter();
    let mut headlines = values.filter(|(operation, metric, _)| headline(step, *operation) == Some(*metric));
    headlines.next().map(|(.., value)| value)
}

impl Session<'_> {
    /// The repeats of a round, as indices of step and target: every step on every target where it can run and, with
    /// rounds `auto`, is not settled yet.
    pub(super) fn pairs(&self, round: u32) -> Vec<(usize, usize)> {
        let settled = self.settled();
        let mut pairs = Vec::new();
        for (j, target) in self.targets.iter().enumerate().filter(|(_, target)| !target.given_up) {
            let steps = self.plan.steps.iter().zip(target.obstacles(self.plan)).enumerate();
            let wanted = steps.filter(|(_, (step, why))| {
                let is_done = round > 0 && step.workload.modifiers.once;
                why.is_none()
                    && !is_done
                    && !self.given_up.contains(&step.id)
                    && !settled.contains(&(step.id.clone(), target.target.name.clone()))
            });
            pairs.extend(wanted.map(|(i, _)| (i, j)));
        }
        pairs
    }

    /// Puts the repeats of a round into their order.
    pub(super) fn ordered(
        &mut self,
        mut pairs: Vec<(usize, usize)>,
        order: &mut impl Rng,
    ) -> Vec<(usize, usize)> {
        match &self.order {
            Order::Plan => pairs.sort_unstable(),
            Order::Balanced => {
                let mut steps: Vec<usize> = pairs.iter().map(|(step, _)| *step).collect();
                steps.sort_unstable();
                steps.dedup();
                steps.shuffle(order);
                // Steps that prepare the storage come first and keep their order.
                let once = |step: usize| self.plan.steps[step].workload.modifiers.once;
                steps.sort_by_key(|step| if once(*step) { *step } else { usize::MAX });
                let mut ordered = Vec::with_capacity(pairs.len());
                for step in steps {
                    let targets = self.turns.order(step, self.targets.len(), order);
                    ordered.extend(
                        targets.into_iter().map(|target| (step, target)).filter(|p| pairs.contains(p)),
                    );
                }
                pairs = ordered;
            }
            Order::SideBySide(groups) => {
                let mut groups: Vec<&Vec<usize>> = groups.iter().collect();
                groups.shuffle(order);
                let mut ordered = Vec::with_capacity(pairs.len());
                for group in groups {
                    let mut targets: Vec<usize> = (0..self.targets.len()).collect();
                    targets.shuffle(order);
                    let of = |target: usize| group.iter().map(move |step| (*step, target));
                    ordered.extend(targets.into_iter().flat_map(of).filter(|pair| pairs.contains(pair)));
                }
                pairs = ordered;
            }
        }
        pairs
    }

    fn settled(&self) -> BTreeSet<(String, String)> {
        match self.plan.rounds {
            Rounds::Auto { precision_ppm, .. } if precision_ppm > 0 => {
                let aims = Aims { precision: f64::from(precision_ppm) / 1e6, margin: self.plan.margin() };
                let settled = settled(&self.history.series, &self.recorder.run().started.baseline, aims);
                let Order::SideBySide(groups) = &self.order else { return settled };
                let id = |step: &usize| self.plan.steps[*step].id.as_str();
                let going_on = |step: &&str| !self.given_up.contains(*step);
                let groups: Vec<Vec<&str>> =
                    groups.iter().map(|group| group.iter().map(id).filter(going_on).collect()).collect();
                in_whole_groups(&groups, settled, &self.without_figures())
            }
            _ => BTreeSet::new(),
        }
    }

    /// Steps and targets whose first repeats ended and gave no figure, such as phases that bonnie++ calls too short.
    fn without_figures(&self) -> BTreeSet<(String, String)> {
        let mut repeats: BTreeMap<(&str, &str), u32> = BTreeMap::new();
        for repeat in self.recorder.run().repeats.iter().filter(|repeat| repeat.is_complete()) {
            *repeats.entry((&repeat.started.step, &repeat.started.target)).or_default() += 1;
        }
        let has_figure = |step: &str, target: &str| {
            self.history.series.iter().any(|series| series.step == step && series.target == target)
        };
        let silent = repeats
            .into_iter()
            .filter(|((step, target), n)| *n >= FEWEST_ROUNDS && !has_figure(step, target));
        silent.map(|((step, target), _)| (step.to_owned(), target.to_owned())).collect()
    }

    /// True if no further round of these repeats is to be made after `done` rounds.
    pub(super) fn is_enough(&self, done: u32, pairs: &[(usize, usize)]) -> bool {
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
    pub(super) fn exceeds(&self, budget_ns: u64, pairs: &[(usize, usize)]) -> bool {
        self.recorder.at_ns().saturating_add(self.round_ns(pairs)) > budget_ns.saturating_add(budget_ns / 20)
    }

    /// True if the step that the plan watches is steady wherever it was measured.
    fn is_steady(&self) -> bool {
        let Some(step) = &self.plan.until_steady else { return false };
        let mut watched = self.history.series.iter().filter(|series| series.step == *step).peekable();
        let steady = |series: &Series| {
            let values: Vec<f64> = series.values.iter().map(|(_, value)| *value).collect();
            steady_state(&values).steady_at_end
        };
        watched.peek().is_some() && watched.all(steady)
    }

    /// True if the data were written as often as the plan wants, wherever they are measured.
    fn is_written(&self) -> bool {
        let Some(times) = self.plan.until_written else { return false };
        let repeats = &self.recorder.run().repeats;
        let is_written = |target: &str| {
            let own = || repeats.iter().filter(|repeat| repeat.started.target == target);
            let size = own().map(|repeat| repeat.started.size_bytes).max().unwrap_or(0);
            let counts = own()
                .flat_map(|repeat| &repeat.intervals)
                .filter_map(|i| i.operations.get(&Operation::Write));
            let written = counts.fold(0_u64, |sum, stats| sum.saturating_add(stats.bytes));
            size > 0 && written >= size.saturating_mul(u64::from(times))
        };
        self.targets.iter().filter(|target| !target.given_up).all(|target| is_written(&target.target.name))
    }

    /// Nanoseconds that these repeats will take: as long as the last time, or as planned.
    pub(super) fn round_ns(&self, pairs: &[(usize, usize)]) -> u64 {
        let planned = |step: usize| (plan::step_seconds(&self.plan.steps[step]) * 1e9) as u64 + AROUND_NS;
        let next = |pair: &(usize, usize)| match self.planned_ns(pair.0) {
            Some(ns) => ns + self.around_ns(pair.0).unwrap_or(AROUND_NS),
            None => self.history.took_ns.get(pair).copied().unwrap_or_else(|| planned(pair.0)),
        };
        pairs.iter().map(next).sum()
    }

    /// Updates the expected end in the progress display.
    pub(super) fn expect(&mut self, done: u32, pairs: &[(usize, usize)]) {
        let round_ns = self.round_ns(pairs).max(1);
        let now = self.recorder.at_ns();
        let fit = |budget_ns: u64| {
            let left = budget_ns.saturating_add(budget_ns / 20).saturating_sub(now);
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
        let end_ns = now.saturating_add(round_ns.saturating_mul(u64::from(rounds.saturating_sub(done))));
        self.progress.expect(end_ns, Some(rounds));
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
