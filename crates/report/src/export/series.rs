//! Figures and verdicts of a run for InfluxDB (line protocol) and Prometheus (text format).

use std::collections::{BTreeMap, BTreeSet};

use analyse::{Analysis, Judgement, Standing};
use model::{Measurement, Metric, Run};

use super::json::{RequirementFacts, requirement_facts, word};
use crate::terminal::escape_line;

/// Names and values that say what a figure is of.
pub(super) type Origin = Vec<(&'static str, String)>;

/// Every value of every repeat as a line of InfluxDB's line protocol (version 2 of its documentation), at the moment at
/// which the repeat began, and the verdict on every requirement, at the end of the run.
pub fn influx(run: &Run, analysis: &Analysis) -> String {
    let started = &run.started;
    let mut began: BTreeMap<(&str, &str, u32), u64> = BTreeMap::new();
    for repeat in run.repeats.iter().map(|r| &r.started) {
        began.insert((&repeat.step, &repeat.target, repeat.round), repeat.at_ns);
    }
    let at = |ns: u64| i128::from(started.started_unix_ns) + i128::from(ns);
    let mut out = String::new();
    for m in &analysis.measurements {
        let kind = [("metric", m.metric.name().to_owned()), ("unit", m.metric.unit().to_owned())];
        let tags = tags(&[origin(run, m), kind.to_vec()].concat());
        for (round, value) in m.values.iter().filter(|(_, value)| value.is_finite()) {
            let at_ns = at(began.get(&(m.step.as_str(), m.target.as_str(), *round)).copied().unwrap_or(0));
            out.push_str(&format!("lodestone{tags} value={value},round={round}i {at_ns}\n"));
        }
    }
    let end = run.finished.as_ref().map(|finished| finished.at_ns).or(began.values().max().copied());
    for judgement in &analysis.judgements {
        let facts = requirement_facts(judgement);
        let tags = tags(&requirement(run, &facts, facts.limit));
        let fields = fields(&[
            ("value", facts.estimate),
            ("low", facts.low),
            ("high", facts.high),
            ("headroom", facts.headroom),
        ]);
        let (verdict, at_ns) = (facts.verdict, at(end.unwrap_or(0)));
        out.push_str(&format!("lodestone_requirement{tags} verdict=\"{verdict}\"{fields} {at_ns}\n"));
    }
    out
}

/// Tags of a line, each after a comma.
pub(super) fn tags(origin: &[(&'static str, String)]) -> String {
    origin.iter().map(|(name, value)| format!(",{name}={}", tag(value))).collect()
}

/// Numeric fields of a line, each after a comma; those without a number are left out, because the protocol has no word for it.
pub(super) fn fields(all: &[(&str, Option<f64>)]) -> String {
    let field = |(name, value): &(&str, Option<f64>)| {
        value.filter(|v| v.is_finite()).map(|value| format!(",{name}={value}"))
    };
    all.iter().filter_map(field).collect()
}

/// A tag's value. A backslash at its end would escape what follows, so there are none; an empty one is not allowed.
fn tag(value: &str) -> String {
    let mut safe = String::new();
    for c in escape_line(value).chars() {
        match c {
            ',' | '=' | ' ' => safe.extend(['\\', c]),
            '\\' => safe.push('/'),
            _ => safe.push(c),
        }
    }
    if safe.is_empty() { "-".to_owned() } else { safe }
}

/// Text as the value of a field.
pub(super) fn quoted(value: &str) -> String {
    format!("\"{}\"", label(value))
}

/// What a figure is of.
fn origin(run: &Run, of: &Measurement) -> Origin {
    place(run, &of.target, &of.step, of.operation.name())
}

fn place(run: &Run, target: &str, step: &str, operation: &str) -> Origin {
    let started = &run.started;
    vec![
        ("run", started.id.clone()),
        ("host", started.machine_of(target).to_owned()),
        ("suite", started.plan.suite.clone()),
        ("target", target.to_owned()),
        ("step", step.to_owned()),
        ("operation", operation.to_owned()),
    ]
}

/// What a verdict is on. The limit is part of it: one figure may have several.
fn requirement(run: &Run, of: &RequirementFacts, limit: f64) -> Origin {
    let mut origin = place(run, &of.target, &of.step, of.operation.name());
    origin.extend([
        ("profile", of.profile.clone()),
        ("metric", of.metric.name().to_owned()),
        ("bound", word(&of.bound)),
        ("limit", limit.to_string()),
    ]);
    origin.extend(of.relative_to.clone().map(|reference| ("relative_to", reference)));
    origin
}

/// Every estimate as a gauge in Prometheus' text format (0.0.4), in base units, with the ends of its interval as gauges
/// of their own; and every verdict as a set of states, of which one is 1.
pub fn prometheus(run: &Run, analysis: &Analysis) -> String {
    let mut out = String::new();
    for metric in Metric::ALL {
        let of: Vec<&Measurement> = analysis.measurements.iter().filter(|m| m.metric == metric).collect();
        let (name, scale, help) = family(metric);
        let ends: [End<Measurement>; 3] = [
            ("", |m| Some(m.estimate.value)),
            ("_low", |m| m.estimate.interval.map(|i| i.0)),
            ("_high", |m| m.estimate.interval.map(|i| i.1)),
        ];
        for (end, value) in ends {
            let lines = of.iter().map(|m| (origin(run, m), value(m).map(|v| v * scale)));
            gauges(&mut out, &format!("{name}{end}"), &format!("{help}{}", which(end)), lines);
        }
    }
    out.push_str(&verdicts(run, &analysis.judgements));
    out
}

/// An end of an interval, or the figure itself: what is added to the name, and its value.
pub(super) type End<T> = (&'static str, fn(&T) -> Option<f64>);

/// What is added to the help of a figure for an end of its interval.
pub(super) fn which(end: &str) -> &'static str {
    match end {
        "_low" => ", lower end of the 95 % interval",
        "_high" => ", upper end of the 95 % interval",
        _ => "",
    }
}

/// Adds a family of gauges, unless none of them has a number. Of several with the same labels the first counts: more would make a
/// reader refuse all.
pub(super) fn gauges(
    out: &mut String,
    name: &str,
    help: &str,
    all: impl IntoIterator<Item = (Origin, Option<f64>)>,
) {
    let mut seen = BTreeSet::new();
    let mut lines = String::new();
    for (origin, value) in all {
        let Some(value) = value.filter(|v| v.is_finite()) else { continue };
        let labels: Vec<String> =
            origin.iter().map(|(name, value)| format!("{name}=\"{}\"", label(value))).collect();
        let labels = labels.join(",");
        if seen.insert(labels.clone()) {
            lines.push_str(&format!("{name}{{{labels}}} {value}\n"));
        }
    }
    if !lines.is_empty() {
        out.push_str(&format!("# HELP {name} {help}\n# TYPE {name} gauge\n{lines}"));
    }
}

fn verdicts(run: &Run, judgements: &[Judgement]) -> String {
    let origin = |judgement: &Judgement| {
        let facts = requirement_facts(judgement);
        // Divided by a whole number, so that 5 ms are 0.005 and not 0.005000000000000001. A share has no unit.
        let units = (1.0 / family(judgement.requirement.metric).1).round();
        let limit = if facts.relative_to.is_some() { facts.limit } else { facts.limit / units };
        requirement(run, &facts, limit)
    };
    let states = judgements.iter().flat_map(|judgement| {
        [Standing::Met, Standing::Missed, Standing::Undecided].map(|standing| {
            let mut origin = origin(judgement);
            origin.push(("verdict", standing.name().to_owned()));
            (origin, Some(f64::from(u8::from(judgement.standing == standing))))
        })
    });
    let mut out = String::new();
    gauges(&mut out, "lodestone_requirement", "1 for the verdict on a requirement, 0 for the others", states);
    let headrooms = judgements.iter().map(|judgement| (origin(judgement), judgement.headroom));
    let help = "How many times as good as the limit the figure is";
    gauges(&mut out, "lodestone_requirement_headroom_ratio", help, headrooms);
    out
}

/// Name, factor to the base unit, and help of a metric.
pub(super) fn family(metric: Metric) -> (String, f64, String) {
    let plain = metric.name().replace('.', "_");
    let (unit, scale) = match metric.unit() {
        "B/s" => ("bytes_per_second", 1.0),
        "1/s" => ("per_second", 1.0),
        "ns" => ("seconds", 1e-9),
        _ => ("ratio", 1.0),
    };
    (format!("lodestone_{plain}_{unit}"), scale, format!("Estimate of {}", metric.name()))
}

fn label(value: &str) -> String {
    escape_line(value).replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_one_value_in_both_forms() {
        assert_eq!(tag("a b,c=d\\"), "a\\ b\\,c\\=d/");
        assert_eq!((tag(""), tag("x\ny")), ("-".into(), "x/x0ay".into()));
        assert_eq!(label("a\"b\\c\n"), "a\\\"b\\\\c\\\\x0a");
    }

    #[test]
    fn names_of_metrics_are_those_that_prometheus_allows() {
        for metric in Metric::ALL {
            let (name, ..) = family(metric);
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{name}");
        }
        assert_eq!(family(Metric::LatP999).0, "lodestone_lat_p99_9_seconds");
    }
}
