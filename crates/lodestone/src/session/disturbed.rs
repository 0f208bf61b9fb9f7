//! Rounds that are measured again because the machine was disturbed.

use analyse::disturbance;
use model::{Event, Repeat, Rounds, SetAside, SetAsideReason, Severity};

use super::{Order, Session};

/// Of so many rounds of a step one may be measured again: a machine that is always disturbed is what it is.
const ONE_IN: u32 = 4;
/// Rounds of steps that may be measured again however few there were.
const ALWAYS: u32 = 2;

impl Session<'_> {
    /// After a round of one step: sets its repeats, from number `first` on, aside if one was disturbed and it can be
    /// measured again.
    pub(super) fn repeats_disturbed(&mut self, round: u32, group: &[(usize, usize)], first: u32) -> bool {
        let Some((step, _)) = group.first() else { return false };
        let step = &self.plan.steps[*step];
        let may_be_repeated =
            matches!(self.plan.rounds, Rounds::Auto { .. }) && matches!(self.order, Order::Balanced);
        if !may_be_repeated || self.interrupted() || !step.foreign.is_empty() || step.workload.modifiers.once
        {
            return false;
        }
        let run = self.recorder.run();
        let own = || run.repeats.iter().rev().take_while(|r| r.started.repeat >= first);
        let worst = own().filter_map(disturbance).max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((cause, share)) = worst else { return false };
        if own().any(|repeat| !repeat.is_complete()) || own().count() < group.len() {
            return false;
        }
        self.disturbed_groups += 1;
        let Rounds::Auto { budget_ns, .. } = self.plan.rounds else { return false };
        if self.exceeds(budget_ns, group) {
            return false;
        }
        let groups = run.begun() / group.len().max(1) as u32;
        if self.repeated_groups >= ALWAYS + groups / ONE_IN {
            return false;
        }
        self.repeated_groups += 1;
        let repeats: Vec<u32> = own().map(|repeat: &Repeat| repeat.started.repeat).collect();
        let (id, at_ns) = (step.id.clone(), self.recorder.at_ns());
        self.history.forget(&id, &std::collections::BTreeSet::from([round]));
        self.forget_lengths(group[0].0, round);
        let reason = SetAsideReason::Disturbed { step: id, round, cause, share };
        self.emit(Event::SetAside(SetAside { at_ns, repeats, reason }));
        true
    }

    /// Notes disturbed rounds that were left as they are, because there were too many.
    pub(super) fn note_disturbed(&mut self) {
        let left = self.disturbed_groups - self.repeated_groups;
        if left > 0 {
            let message = format!(
                "{left} more rounds of steps were disturbed by stolen processor time or other programs and count as they are: \
                 too many to measure them all again"
            );
            self.note(Severity::Warning, "disturbed", None, message);
        }
    }
}
