//! Where the time goes: to comparisons that can still be decided.

use std::collections::BTreeSet;

use analyse::{Aims, forecasts, out_of_reach};
use model::units::ShortDuration;
use model::{Rounds, Severity};

use super::{Order, Session};

/// Rounds before the first forecast; then after twice as many, and so on.
const FIRST_FORECAST: u32 = 8;
/// Steps that are out of reach take part in every so many rounds: a forecast may be wrong.
const EVERY: u32 = 2;

/// Steps for whose comparisons the time is not enough.
#[derive(Default)]
pub(crate) struct Reach {
    beyond: BTreeSet<usize>,
    has_spoken: bool,
}

/// A duration in whole seconds: a forecast is no finer.
fn seconds(ns: u64) -> ShortDuration {
    const SECOND: u64 = 1_000_000_000;
    ShortDuration(ns.div_ceil(SECOND).saturating_mul(SECOND))
}

impl Session<'_> {
    /// After `done` rounds: finds the steps that the budget is not enough for. They keep half of their share of the time,
    /// and the others get the rest. Not where a program runs several steps at once: it runs all of them or none.
    pub(super) fn reconsider_reach(&mut self, done: u32) {
        let Rounds::Auto { budget_ns, precision_ppm } = self.plan.rounds else { return };
        let is_due = done >= FIRST_FORECAST && done.is_multiple_of(FIRST_FORECAST) && {
            (done / FIRST_FORECAST).is_power_of_two()
        };
        let left_ns = budget_ns.saturating_sub(self.recorder.at_ns());
        let is_alone = self.targets.len() < 2 || matches!(self.order, Order::SideBySide(_));
        if !is_due || precision_ppm == 0 || left_ns == 0 || is_alone {
            return;
        }
        let aims = Aims { precision: f64::from(precision_ppm) / 1e6, margin: self.plan.margin() };
        let baseline = self.recorder.run().started.baseline.clone();
        let forecasts = forecasts(&self.history.series, &baseline, aims);
        let pairs = self.pairs(done);
        let mut needs: Vec<(usize, Option<u64>)> = Vec::new();
        for (index, step) in self.plan.steps.iter().enumerate() {
            let own: Vec<(usize, usize)> = pairs.iter().copied().filter(|(s, _)| *s == index).collect();
            let mut of_step = forecasts.iter().filter(|f| f.step == step.id).peekable();
            if own.is_empty() || of_step.peek().is_none() {
                continue;
            }
            let rounds: Option<Vec<u32>> = of_step.map(|f| f.rounds).collect();
            let most = rounds.map(|rounds| rounds.into_iter().max().unwrap_or(0));
            needs.push((index, most.map(|rounds| u64::from(rounds).saturating_mul(self.round_ns(&own)))));
        }
        self.reach.beyond = out_of_reach(&needs, left_ns).into_iter().collect();
        if !self.reach.has_spoken {
            self.reach.has_spoken = true;
            self.note_forecast(&needs, left_ns);
        }
    }

    fn note_forecast(&mut self, needs: &[(usize, Option<u64>)], left_ns: u64) {
        if needs.is_empty() {
            return;
        }
        let name = |step: &usize| self.plan.steps[*step].id.clone();
        let within: Vec<_> = needs.iter().filter(|(step, _)| !self.reach.beyond.contains(step)).collect();
        let beyond = needs.iter().filter(|(step, _)| self.reach.beyond.contains(step));
        let time: u64 = within.iter().filter_map(|(_, need)| *need).sum();
        let margin = f64::from(self.plan.margin_ppm) / 1e4;
        let left = seconds(left_ns);
        let mut message = format!(
            "verdicts at a margin of {margin} %: {} of {} undecided steps need about {} of the {left} that are left",
            within.len(),
            needs.len(),
            seconds(time)
        );
        let others: Vec<String> = beyond
            .map(|(step, need)| match need {
                Some(ns) => format!("{} ({})", name(step), seconds(*ns)),
                None => format!("{} (hours)", name(step)),
            })
            .collect();
        if !others.is_empty() {
            message.push_str(&format!(
                "; out of reach, with half of their share of the time: {}",
                others.join(", ")
            ));
        }
        self.progress.say(&message);
        self.note(Severity::Info, "forecast", None, message);
    }

    /// Leaves out steps that are out of reach, in every other round, unless no other is left.
    pub(super) fn within_reach(&self, round: u32, pairs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
        let is_within = |pair: &&(usize, usize)| !self.reach.beyond.contains(&pair.0);
        if round.is_multiple_of(EVERY) || pairs.iter().filter(is_within).count() == 0 {
            return pairs;
        }
        pairs.iter().filter(is_within).copied().collect()
    }
}
