//! `[[require]]` of a suite: what storage must reach.

use model::units::parse_duration_ns;
use model::{
    Bound, Metric, Operation, Pace, Plan, ROUNDS_OF_A_PERCENTILE, Reference, Requirement, Rounds, Step,
};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::problem::{Problem, SourceLocation, listed, nearest};
use crate::toml_table::{in_order, scalar, unknown};
use crate::values::{bytes_per_second, names_step, real};

const KEYS: [&str; 7] = ["step", "operation", "metric", "at_most", "at_least", "relative_to", "source"];

/// The metrics that can be required: extremes and spreads of single operations are chance.
const METRICS: [Metric; 10] = [
    Metric::Bandwidth,
    Metric::Iops,
    Metric::LatMean,
    Metric::LatP50,
    Metric::LatP95,
    Metric::LatP99,
    Metric::LatP999,
    Metric::StalledShare,
    Metric::Spread,
    Metric::Mismatches,
];

/// One `[[require]]` of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequirementSpec {
    /// The suite that it is written in.
    pub profile: String,
    /// Id of the step.
    pub step: String,
    /// The operation, as written.
    pub operation: String,
    /// The metric, as written.
    pub metric: String,
    /// On which side of the limit the figure must be.
    pub bound: Bound,
    /// The limit, as written.
    pub limit: String,
    /// The name of the target whose figure the limit is a share of, if it is one.
    pub relative_to: Option<String>,
    /// Where the limit is published.
    pub source: String,
    /// Where it is written.
    pub location: SourceLocation,
}

impl RequirementSpec {
    /// True if it is about the same figure on the same side.
    fn is_about_the_same(&self, other: &Self) -> bool {
        let figure = |r: &Self| {
            (r.step.clone(), r.operation.clone(), r.metric.clone(), r.bound, r.relative_to.clone())
        };
        figure(self) == figure(other)
    }

    /// The requirements of a suite that extends another: its own in the place of those about the same figure.
    pub(crate) fn extending(base: Vec<Self>, own: Vec<Self>) -> Vec<Self> {
        let is_kept = |r: &Self| !own.iter().any(|other| other.is_about_the_same(r));
        let kept: Vec<Self> = base.into_iter().filter(is_kept).collect();
        kept.into_iter().chain(own).collect()
    }

    /// The requirement in a plan with these steps.
    fn resolve(&self, step: &Step) -> Result<Requirement, Problem> {
        let wrong = |what: String| Problem::error(self.location.clone(), what);
        let counted = step.operations();
        let operation = operation(&self.operation).filter(|operation| counted.contains(operation));
        let operation = operation.ok_or_else(|| {
            wrong(format!("step `{}` has no operation `{}`", step.id, self.operation))
                .help(format!("it has {}", listed(counted.iter().map(|o| o.name()))))
        })?;
        let metric = METRICS.into_iter().find(|metric| metric.name() == self.metric);
        let metric = metric.ok_or_else(|| {
            wrong(format!("`{}` is no metric that can be required", self.metric))
                .help(format!("allowed: {}", listed(METRICS.iter().map(|m| m.name()))))
        })?;
        if let Some(why) = self.unanswerable(metric, operation, step) {
            return Err(wrong(format!("`{}` of {operation} in step `{}`: {why}", self.metric, step.id)));
        }
        let limit = match &self.relative_to {
            None => limit(metric, &self.limit),
            Some(_) => share(&self.limit),
        };
        let limit = limit.map_err(&wrong)?;
        Ok(Requirement {
            profile: self.profile.clone(),
            step: step.id.clone(),
            operation,
            metric,
            bound: self.bound,
            limit,
            relative_to: self.relative_to.clone().map(Reference::Target),
            source: self.source.clone(),
        })
    }

    /// Why no figure of a step can answer this.
    fn unanswerable(&self, metric: Metric, operation: Operation, step: &Step) -> Option<&'static str> {
        let is_of_rounds = matches!(metric, Metric::StalledShare | Metric::Spread);
        let is_whole = is_of_rounds || metric == Metric::Mismatches;
        if is_whole && self.bound == Bound::AtLeast {
            Some("the less the better; write at_most")
        } else if is_whole && self.relative_to.is_some() {
            Some("it cannot be a share of another figure")
        } else if is_of_rounds && (step.workload.pace != Pace::Closed || operation == Operation::Sync) {
            Some("it is told of a rate, and the pace or the other operations of the step decide this one")
        } else if metric == Metric::Mismatches && step.operations().first() != Some(&operation) {
            Some("mismatches are counted with the first operation of a step")
        } else if metric == Metric::Mismatches && !step.workload.verify {
            Some("the step does not check what it reads; give it verify = true")
        } else {
            None
        }
    }
}

/// An operation by its name; syncs also by those of the system calls.
fn operation(name: &str) -> Option<Operation> {
    match name {
        "fsync" | "fdatasync" => Some(Operation::Sync),
        own => Operation::ALL.into_iter().find(|operation| operation.name() == own),
    }
}

/// A limit in the unit of its metric.
fn limit(metric: Metric, text: &str) -> Result<f64, String> {
    let value = match metric.unit() {
        "ns" => parse_duration_ns(text).map(|ns| ns as f64).map_err(|error| error.to_string())?,
        "B/s" => bytes_per_second(text)?,
        "1/s" => real(text, 0.0, 1e12)?,
        _ if metric == Metric::Mismatches && text.trim() == "0" => return Ok(0.0),
        _ if metric == Metric::Mismatches => {
            return Err("a mismatch is one too many; write at_most = 0".into());
        }
        _ => real(text.trim_end_matches('%').trim_end(), 0.0, 100.0)? / 100.0,
    };
    if value > 0.0 { Ok(value) } else { Err(format!("a limit of {text} can never be told from the figure")) }
}

/// A share of another figure, such as `0.9` or `90%`.
fn share(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%') {
        Some(percent) => Ok(real(percent.trim_end(), 0.0, 1e6)? / 100.0),
        None => real(text, 0.0, 1e4),
    }
}

/// Parses the requirements of the suite `profile`.
pub(crate) fn requirements(
    profile: &str,
    value: &Spanned<DeValue<'_>>,
    problems: &mut Vec<Problem>,
) -> Vec<RequirementSpec> {
    let Some(tables) = value.get_ref().as_array() else {
        let message = "requirements are written as [[require]], with two brackets";
        problems.push(Problem::error(SourceLocation::Suite(value.span()), message));
        return Vec::new();
    };
    tables.iter().filter_map(|table| requirement(profile, table, problems)).collect()
}

fn requirement(
    profile: &str,
    value: &Spanned<DeValue<'_>>,
    problems: &mut Vec<Problem>,
) -> Option<RequirementSpec> {
    let location = SourceLocation::Suite(value.span());
    let Some(table) = value.get_ref().as_table() else {
        problems.push(Problem::error(location, "a requirement must be a table: [[require]]"));
        return None;
    };
    for (key, _) in in_order(table) {
        if !KEYS.contains(key.get_ref()) {
            problems.push(unknown(key.get_ref(), key.span(), KEYS));
        }
    }
    let mut text = |key: &str| {
        let found = text(table, key);
        if found.is_none() {
            let message = format!("the requirement has no {key}");
            let example = "write step, operation, metric, at_most or at_least, and source";
            problems.push(Problem::error(location.clone(), message).help(example));
        }
        found
    };
    let figure = (text("step"), text("operation"), text("metric"), text("source"));
    let limits = (self::text(table, "at_most"), self::text(table, "at_least"));
    let (bound, limit) = match limits {
        (Some(limit), None) => (Bound::AtMost, limit),
        (None, Some(limit)) => (Bound::AtLeast, limit),
        _ => {
            let message = "a requirement has either at_most or at_least";
            problems.push(Problem::error(location, message).help("write at_most = \"10ms\""));
            return None;
        }
    };
    let (Some(step), Some(operation), Some(metric), Some(source)) = figure else { return None };
    Some(RequirementSpec {
        profile: profile.to_owned(),
        step,
        operation,
        metric,
        bound,
        limit,
        relative_to: self::text(table, "relative_to"),
        source,
        location,
    })
}

fn text(table: &DeTable<'_>, key: &str) -> Option<String> {
    table.get(key).and_then(|value| scalar(value.get_ref())).filter(|text| !text.trim().is_empty())
}

/// The requirements of the steps that a plan has, of all those with an id in `ids`; what cannot be required is a problem.
pub(crate) fn resolve(
    specs: &[RequirementSpec],
    steps: &[Step],
    ids: &[String],
) -> Result<Vec<Requirement>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut found = Vec::new();
    for spec in specs {
        // A name stands for the step with this id, or for all that a sweep made of it.
        let is_exact = ids.contains(&spec.step);
        let is_meant = |id: &str| if is_exact { id == spec.step } else { names_step(&spec.step, id) };
        for step in steps.iter().filter(|step| is_meant(&step.id)) {
            match spec.resolve(step) {
                Ok(requirement) => found.push(requirement),
                Err(problem) => problems.push(problem),
            }
        }
        if !ids.iter().any(|id| is_meant(id)) {
            let known = || ids.iter().map(String::as_str);
            let guess = nearest(&spec.step, known()).map(|id| format!("did you mean `{id}`? "));
            let message =
                format!("a requirement is about the step `{}`, which the suite does not have", spec.step);
            let help = format!("{}the steps are {}", guess.unwrap_or_default(), listed(known().take(20)));
            problems.push(Problem::error(spec.location.clone(), message).help(help));
        }
    }
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

/// A warning if the time is not enough for the rounds that the required percentiles rest on.
pub(crate) fn too_long(plan: &Plan, targets: u32) -> Option<Problem> {
    let Rounds::Auto { budget_ns, .. } = plan.rounds else { return None };
    let is_tail = |step: &&Step| {
        plan.requirements
            .iter()
            .any(|r| r.step == step.id && (r.metric.percent().is_some() || r.metric == Metric::Spread))
    };
    let seconds = |step: &Step| step.shortest_ns.map_or_else(|| step.seconds(), |ns| ns as f64 / 1e9);
    // Of a ladder a part is measured.
    let share = |step: &Step| {
        plan.ladder_of(&step.id).map_or(1.0, |l| f64::from(l.most_probes()) / l.rungs.len() as f64)
    };
    let round: f64 = plan.steps.iter().filter(is_tail).map(|step| seconds(step) * share(step)).sum();
    let needed = round * f64::from(ROUNDS_OF_A_PERCENTILE) * f64::from(targets.max(1));
    let budget = budget_ns as f64 / 1e9;
    (needed > budget).then(|| {
        let message = format!(
            "the required percentiles need {ROUNDS_OF_A_PERCENTILE} rounds, which take {needed:.0} s at least; the run may take {budget:.0} s"
        );
        let help = format!("without more time they will be undecided: --budget {:.0}s", needed * 1.3);
        Problem::warning(SourceLocation::Nowhere, message).help(help)
    })
}
