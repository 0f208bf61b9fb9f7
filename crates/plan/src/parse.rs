//! A suite's text as settings with their locations; no default and no meaning yet.

use std::ops::Range;

use model::units::parse_duration_ns;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::options::{OPTIONS, option};
use crate::problem::{Problem, SourceLocation, listed, nearest};

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
}

const SUITE_KEYS: [&str; 8] =
    ["description", "budget", "rounds", "in_order", "until_steady", "until_written", "defaults", "step"];

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
        };
        for (key, value) in in_order(table.get_ref()) {
            suite.take(&key, value, &mut problems);
        }
        if suite.steps.is_empty() && problems.is_empty() {
            let problem = Problem::error(SourceLocation::Suite(0..0), "the suite has no step");
            problems.push(problem.help("write [[step]] with an id and at least rw"));
        }
        (suite, problems)
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
            other => problems.push(unknown(other, key.span(), SUITE_KEYS)),
        }
    }
}

/// A table's entries in the order of the text.
fn in_order<'a, 'i>(table: &'a DeTable<'i>) -> Vec<(Spanned<&'a str>, &'a Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> =
        table.iter().map(|(key, value)| (Spanned::new(key.span(), key.get_ref().as_ref()), value)).collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

fn unknown<'a>(key: &str, span: Range<usize>, known: impl IntoIterator<Item = &'a str> + Clone) -> Problem {
    let problem = Problem::error(SourceLocation::Suite(span), format!("unknown key `{key}`"));
    let guess = nearest(key, known.clone()).map(|word| format!("did you mean `{word}`? "));
    problem.help(format!("{}allowed here: {}", guess.unwrap_or_default(), listed(known)))
}

/// A value that is neither a list nor a table, as a user would write it on the command line.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(value) => Some(value.to_string()),
        _ => None,
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
    let settings = settings(table, &["id", "title", "sweep", "concurrent"], problems);
    Some(StepSpec { id, title, label: None, settings, sweep, concurrent, location })
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
