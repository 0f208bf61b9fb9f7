//! A suite's text as settings with their locations; no default and no meaning yet.

use model::units::parse_duration_ns;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::options::{OPTIONS, option};
use crate::problem::{Problem, SourceLocation};
use crate::requirements::{RequirementSpec, requirements};
use crate::suites::builtin;
use crate::toml_table::{in_order, scalar, unknown};

/// One option with its value as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Key of the option.
    pub key: &'static str,
    /// The value as written.
    pub text: String,
    /// Where it is written.
    pub location: SourceLocation,
}

/// One `[[step]]` of a suite.
#[derive(Clone, Debug)]
pub struct StepSpec {
    /// Its id; it may name options in braces.
    pub id: String,
    /// Its own title, if it has one.
    pub title: Option<String>,
    /// A prefix for the generated title, if it has none of its own.
    pub label: Option<String>,
    /// What it sets.
    pub settings: Vec<Setting>,
    /// What it sweeps: for each option its values in order.
    pub sweep: Vec<Vec<Setting>>,
    /// What its loads are counted in, if the run seeks the highest one, and how much of the swept rate is one.
    pub seek: Option<(String, String)>,
    /// Concurrent workloads; these have neither a sweep nor concurrent workloads of their own.
    pub concurrent: Vec<StepSpec>,
    /// Where it is written.
    pub location: SourceLocation,
}

/// A suite as written.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// Nanoseconds per target that a run with rounds `auto` may take.
    pub budget_ns: Option<u64>,
    /// Number of rounds, if the suite fixes it.
    pub rounds: Option<u32>,
    /// The steps of a round keep their order.
    pub in_order: bool,
    /// The step whose steady state ends the rounds.
    pub until_steady: Option<String>,
    /// How often the data set must be written before the rounds end.
    pub until_written: Option<u32>,
    /// Settings of all steps unless they override them.
    pub defaults: Vec<Setting>,
    /// The steps.
    pub steps: Vec<StepSpec>,
    /// What the storage must reach.
    pub requirements: Vec<RequirementSpec>,
}

const SUITE_KEYS: [&str; 10] = [
    "description",
    "extends",
    "budget",
    "rounds",
    "in_order",
    "until_steady",
    "until_written",
    "defaults",
    "step",
    "require",
];

impl Suite {
    /// Parses a suite. The suite holds what could be parsed, the list every mistake.
    pub fn parse(name: &str, text: &str) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let span = error.span().unwrap_or(0..text.len().min(1));
            problems
                .push(Problem::error(SourceLocation::Suite(span), format!("not TOML: {}", error.message())));
        }
        let mut suite = Self {
            name: name.to_owned(),
            description: String::new(),
            budget_ns: None,
            rounds: None,
            in_order: false,
            until_steady: None,
            until_written: None,
            defaults: Vec::new(),
            steps: Vec::new(),
            requirements: Vec::new(),
        };
        for (key, value) in in_order(table.get_ref()) {
            suite.take(&key, value, &mut problems);
        }
        if let Some(value) = table.get_ref().get("extends") {
            let base = value.get_ref().as_str().and_then(builtin).filter(|base| base.name != name);
            match base {
                Some(base) => suite = suite.extending(Self::parse(base.name, base.toml).0),
                None => {
                    let location = SourceLocation::Suite(value.span());
                    let message = "extends must be the name of another built-in suite, in quotes";
                    problems.push(Problem::error(location, message));
                }
            }
        }
        if suite.steps.is_empty() && problems.is_empty() {
            let problem = Problem::error(SourceLocation::Suite(0..0), "the suite has no step");
            problems.push(problem.help("write [[step]] with an id and at least rw"));
        }
        (suite, problems)
    }

    /// True if it says whether storage is good enough for something, and not how much it carries.
    pub fn is_profile(&self) -> bool {
        !self.requirements.is_empty() && self.steps.iter().all(|step| step.seek.is_none())
    }

    /// The suite with what it does not say taken from `base`: steps by their ids, requirements by their figures, the rest by key.
    fn extending(self, base: Self) -> Self {
        let steps = base.steps.into_iter().map(|step| step.inheriting(&base.defaults, None));
        let is_kept = |step: &StepSpec| !self.steps.iter().any(|own| own.id == step.id);
        let kept: Vec<StepSpec> = steps.filter(is_kept).collect();
        let own_profile = |r: RequirementSpec| RequirementSpec {
            profile: self.name.clone(),
            location: SourceLocation::Nowhere,
            ..r
        };
        let required = base.requirements.into_iter().map(own_profile).collect();
        Self {
            budget_ns: self.budget_ns.or(base.budget_ns),
            rounds: self.rounds.or(base.rounds),
            in_order: self.in_order || base.in_order,
            until_steady: self.until_steady.or(base.until_steady),
            until_written: self.until_written.or(base.until_written),
            steps: kept.into_iter().chain(self.steps).collect(),
            requirements: RequirementSpec::extending(required, self.requirements),
            ..self
        }
    }

    fn take(&mut self, key: &Spanned<&str>, value: &Spanned<DeValue<'_>>, problems: &mut Vec<Problem>) {
        let location = SourceLocation::Suite(value.span());
        match *key.get_ref() {
            "description" => match value.get_ref().as_str() {
                Some(text) => self.description = text.to_owned(),
                None => problems.push(Problem::error(location, "the description must be a string in quotes")),
            },
            "budget" => match scalar(value.get_ref()).map(|text| parse_duration_ns(&text)) {
                Some(Ok(ns)) if ns > 0 => self.budget_ns = Some(ns),
                Some(Err(error)) => problems.push(Problem::error(location, error.to_string())),
                _ => problems.push(Problem::error(location, "the budget must be a duration such as \"90s\"")),
            },
            "rounds" => match scalar(value.get_ref()).and_then(|text| text.parse().ok()).filter(|n| *n > 0) {
                Some(rounds) => self.rounds = Some(rounds),
                None => problems.push(Problem::error(location, "rounds must be a whole number from 1")),
            },
            "in_order" => match value.get_ref().as_bool() {
                Some(in_order) => self.in_order = in_order,
                None => problems.push(Problem::error(location, "in_order must be true or false")),
            },
            "until_steady" => match value.get_ref().as_str() {
                Some(step) => self.until_steady = Some(step.to_owned()),
                None => problems
                    .push(Problem::error(location, "until_steady must be the id of a step, in quotes")),
            },
            "until_written" => {
                match scalar(value.get_ref()).and_then(|text| text.parse().ok()).filter(|n| *n > 0) {
                    Some(times) => self.until_written = Some(times),
                    None => {
                        let what =
                            "until_written must be a whole number from 1: how often the data are written";
                        problems.push(Problem::error(location, what));
                    }
                }
            }
            "defaults" => match value.get_ref().as_table() {
                Some(table) => self.defaults = settings(table, &[], problems),
                None => problems.push(Problem::error(location, "defaults must be a table: [defaults]")),
            },
            "step" => match value.get_ref().as_array() {
                Some(steps) => {
                    self.steps = steps.iter().filter_map(|step| self::step(step, problems)).collect();
                }
                None => problems
                    .push(Problem::error(location, "steps are written as [[step]], with two brackets")),
            },
            "require" => self.requirements = requirements(&self.name, value, problems),
            "extends" => {}
            other => problems.push(unknown(other, key.span(), SUITE_KEYS)),
        }
    }
}

fn setting(key: &'static str, value: &Spanned<DeValue<'_>>, problems: &mut Vec<Problem>) -> Option<Setting> {
    let location = SourceLocation::Suite(value.span());
    let Some(text) = scalar(value.get_ref()) else {
        let message = format!("`{key}` takes one value, not this {}", value.get_ref().type_str());
        let allowed = option(key).map_or("", |o| o.allowed);
        problems.push(
            Problem::error(location, message).help(format!("allowed: {allowed}; to sweep, use sweep.{key}")),
        );
        return None;
    };
    Some(Setting { key, text, location })
}

/// The options set in a table; keys other than options and `also` are mistakes.
fn settings(table: &DeTable<'_>, also: &[&str], problems: &mut Vec<Problem>) -> Vec<Setting> {
    let mut found = Vec::new();
    for (key, value) in in_order(table) {
        let name = *key.get_ref();
        if also.contains(&name) {
            continue;
        }
        match option(name) {
            Some(option) => found.extend(setting(option.key, value, problems)),
            None => {
                let known = also.iter().copied().chain(OPTIONS.iter().map(|o| o.key));
                problems.push(unknown(name, key.span(), known));
            }
        }
    }
    found
}

fn step(value: &Spanned<DeValue<'_>>, problems: &mut Vec<Problem>) -> Option<StepSpec> {
    let location = SourceLocation::Suite(value.span());
    let Some(table) = value.get_ref().as_table() else {
        problems.push(Problem::error(location, "a step must be a table: [[step]]"));
        return None;
    };
    let text = |name: &str, problems: &mut Vec<Problem>| {
        let value = table.get(name)?;
        let text = value.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            let location = SourceLocation::Suite(value.span());
            problems.push(Problem::error(location, format!("`{name}` must be a string in quotes")));
        }
        text
    };
    let title = text("title", problems);
    let Some(id) = text("id", problems) else {
        if !table.contains_key("id") {
            let problem = Problem::error(location, "the step has no id");
            problems.push(problem.help("write id = \"…\", short and unique within the suite"));
        }
        return None;
    };
    let sweep = table.get("sweep").map(|value| sweep(value, problems)).unwrap_or_default();
    let concurrent = table.get("concurrent").map(|value| concurrent(value, problems)).unwrap_or_default();
    let seek = text("seek", problems);
    let each = text("seek_each", problems).unwrap_or_else(|| "1".to_owned());
    let settings = settings(table, &["id", "title", "sweep", "seek", "seek_each", "concurrent"], problems);
    let seek = seek.map(|unit| (unit, each));
    Some(StepSpec { id, title, label: None, settings, sweep, seek, concurrent, location })
}

/// The concurrent workloads of a step.
fn concurrent(value: &Spanned<DeValue<'_>>, problems: &mut Vec<Problem>) -> Vec<StepSpec> {
    let location = || SourceLocation::Suite(value.span());
    let Some(others) = value.get_ref().as_array() else {
        let problem = Problem::error(location(), "concurrent workloads are written as [[step.concurrent]]");
        problems.push(problem);
        return Vec::new();
    };
    let others: Vec<StepSpec> = others.iter().filter_map(|other| step(other, problems)).collect();
    for other in &others {
        if !other.sweep.is_empty() || !other.concurrent.is_empty() {
            let message = "a concurrent workload can have neither a sweep nor concurrent workloads";
            problems.push(Problem::error(other.location.clone(), message));
        }
    }
    others
}

fn sweep(value: &Spanned<DeValue<'_>>, problems: &mut Vec<Problem>) -> Vec<Vec<Setting>> {
    let Some(table) = value.get_ref().as_table() else {
        let problem = Problem::error(SourceLocation::Suite(value.span()), "a sweep must name options");
        problems.push(problem.help("write sweep.iodepth = [1, 2, 4]"));
        return Vec::new();
    };
    let mut dimensions = Vec::new();
    for (key, value) in in_order(table) {
        let name = *key.get_ref();
        let Some(option) = option(name) else {
            problems.push(unknown(name, key.span(), OPTIONS.iter().map(|o| o.key)));
            continue;
        };
        match value.get_ref().as_array() {
            Some(values) if !values.is_empty() => {
                dimensions.push(values.iter().filter_map(|v| setting(option.key, v, problems)).collect());
            }
            _ => {
                let problem = Problem::error(
                    SourceLocation::Suite(value.span()),
                    format!("sweep.{name} must be a list of at least one value"),
                );
                problems.push(problem.help(format!("write sweep.{name} = [a, b, c]")));
            }
        }
    }
    dimensions
}
