//! Several suites as one.

use crate::parse::{Setting, StepSpec, Suite};
use crate::problem::{Problem, SourceLocation};
use crate::requirements::RequirementSpec;
use crate::run_options::DEFAULT_BUDGET_NS;
use crate::values::names_step;

impl Suite {
    /// Several suites, each with its name and text, as one: all their steps, in the order of the suites; what two of them say alike is
    /// one step. It ends after the
    /// largest of their numbers of rounds if each fixes one, else by the sum of their budgets. Locations are those in all
    /// texts one after the other.
    pub fn joined(suites: &[(String, String)]) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut parts: Vec<(usize, Self)> = Vec::new();
        let mut before = 0;
        for (name, text) in suites {
            let (suite, found) = Self::parse(name, text);
            problems.extend(
                found.into_iter().map(|p| Problem { location: p.location.clone().moved_by(before), ..p }),
            );
            if suite.until_steady.is_some() || suite.until_written.is_some() {
                let message = format!("suite {name} ends by a rule of its own, so no other can join it");
                problems.push(Problem::error(SourceLocation::Nowhere, message).help("run it alone"));
            }
            parts.push((before, suite));
            before += text.len();
        }
        let suites = || parts.iter().map(|(_, suite)| suite);
        let names: Vec<&str> = suites().map(|suite| suite.name.as_str()).collect();
        let rounds: Option<Vec<u32>> = suites().map(|suite| suite.rounds).collect();
        let budgets = suites().map(|suite| suite.budget_ns.unwrap_or(DEFAULT_BUDGET_NS));
        let mut joined = Self {
            name: names.join("+"),
            description: format!("The suites {}", names.join(", ")),
            budget_ns: Some(budgets.fold(0, u64::saturating_add)),
            rounds: rounds.and_then(|rounds| rounds.into_iter().max()),
            in_order: suites().any(|suite| suite.in_order),
            until_steady: None,
            until_written: None,
            defaults: Vec::new(),
            steps: Vec::new(),
            requirements: Vec::new(),
        };
        for (before, part) in parts {
            let mut required = part.requirements;
            for step in part.steps {
                let mut step = step.inheriting(&part.defaults, Some(before));
                let known = joined.steps.iter().find(|known| known.id == step.id);
                if known.is_some_and(|known| known.is_like(&step)) {
                    continue;
                }
                if known.is_some() {
                    let own = format!("{}-{}", part.name, step.id);
                    let of_step = required.iter_mut().filter(|r| names_step(&r.step, &step.id));
                    of_step.for_each(|r| r.step = format!("{}-{}", part.name, r.step));
                    step.id = own;
                }
                joined.steps.push(step);
            }
            let moved =
                |r: RequirementSpec| RequirementSpec { location: r.location.clone().moved_by(before), ..r };
            joined.requirements.extend(required.into_iter().map(moved));
        }
        (joined, problems)
    }
}

impl StepSpec {
    /// True if it says the same, wherever it is written.
    fn is_like(&self, other: &Self) -> bool {
        let said = |settings: &[Setting]| -> Vec<(&str, String)> {
            settings.iter().map(|setting| (setting.key, setting.text.clone())).collect()
        };
        let swept = |step: &Self| step.sweep.iter().map(|values| said(values)).collect::<Vec<_>>();
        self.id == other.id
            && (&self.title, &self.label, &self.seek) == (&other.title, &other.label, &other.seek)
            && said(&self.settings) == said(&other.settings)
            && swept(self) == swept(other)
            && self.concurrent.len() == other.concurrent.len()
            && self.concurrent.iter().zip(&other.concurrent).all(|(own, other)| own.is_like(other))
    }

    /// The step with these settings below its own, and all locations moved by a number of bytes, or `None` in a text that is not
    /// the user's.
    pub(crate) fn inheriting(self, defaults: &[Setting], bytes: Option<usize>) -> Self {
        let to = |location: SourceLocation| match bytes {
            Some(bytes) => location.moved_by(bytes),
            None => SourceLocation::Nowhere,
        };
        let moved = |s: Setting| Setting { location: to(s.location), ..s };
        Self {
            settings: defaults.iter().cloned().chain(self.settings).map(moved).collect(),
            sweep: self.sweep.into_iter().map(|values| values.into_iter().map(moved).collect()).collect(),
            concurrent: self.concurrent.into_iter().map(|step| step.inheriting(defaults, bytes)).collect(),
            location: to(self.location),
            ..self
        }
    }
}
