//! Figures for InfluxDB (line protocol) and Prometheus (text format).

use std::collections::BTreeMap;

use model::{Measurement, Metric, Run};

use crate::terminal::escape_line;

/// Every value of every repeat as a line of InfluxDB's line protocol (version 2 of its documentation), at the moment at
/// which the repeat began.
pub fn influx(run: &Run, measurements: &[Measurement]) -> String {
    let started = &run.started;
    let mut began: BTreeMap<(&str, &str, u32), u64> = BTreeMap::new();
    for repeat in run.repeats.iter().map(|r| &r.started) {
        began.insert((&repeat.step, &repeat.target, repeat.round), repeat.at_ns);
    }
    let mut out = String::new();
    for m in measurements {
        let kind = [("metric", m.metric.name()), ("unit", m.metric.unit())];
        let tags: String = origin(run, m)
            .iter()
            .chain(&kind)
            .map(|(name, value)| format!(",{name}={}", tag(value)))
            .collect();
        for (round, value) in m.values.iter().filter(|(_, value)| value.is_finite()) {
            let at_ns = began.get(&(m.step.as_str(), m.target.as_str(), *round)).copied().unwrap_or(0);
            let at_ns = i128::from(started.started_unix_ns) + i128::from(at_ns);
            out.push_str(&format!("lodestone{tags} value={value},round={round}i {at_ns}\n"));
        }
    }
    out
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

/// What a figure is of, as names and values.
fn origin<'a>(run: &'a Run, of: &'a Measurement) -> [(&'static str, &'a str); 6] {
    let started = &run.started;
    [
        ("run", started.id.as_str()),
        ("host", started.machine_of(&of.target)),
        ("suite", &started.plan.suite),
        ("target", &of.target),
        ("step", &of.step),
        ("operation", of.operation.name()),
    ]
}

/// Every estimate as a gauge in Prometheus' text format (0.0.4), in base units, with the ends of its interval as gauges
/// of their own.
pub fn prometheus(run: &Run, measurements: &[Measurement]) -> String {
    let mut out = String::new();
    for metric in Metric::ALL {
        let of: Vec<&Measurement> = measurements.iter().filter(|m| m.metric == metric).collect();
        let (name, scale, help) = family(metric);
        type End = (&'static str, fn(&Measurement) -> Option<f64>);
        let ends: [End; 3] = [
            ("", |m| Some(m.estimate.value)),
            ("_low", |m| m.estimate.interval.map(|i| i.0)),
            ("_high", |m| m.estimate.interval.map(|i| i.1)),
        ];
        for (end, value) in ends {
            let lines: Vec<String> = of
                .iter()
                .filter_map(|m| {
                    let value = value(m).filter(|v| v.is_finite())? * scale;
                    let labels = origin(run, m).map(|(name, value)| format!("{name}=\"{}\"", label(value)));
                    Some(format!("{name}{end}{{{}}} {value}\n", labels.join(",")))
                })
                .collect();
            if !lines.is_empty() {
                let which = match end {
                    "_low" => ", lower end of the 95 % interval",
                    "_high" => ", upper end of the 95 % interval",
                    _ => "",
                };
                out.push_str(&format!("# HELP {name}{end} {help}{which}\n# TYPE {name}{end} gauge\n"));
                out.push_str(&lines.concat());
            }
        }
    }
    out
}

/// Name, factor to the base unit, and help of a metric.
fn family(metric: Metric) -> (String, f64, String) {
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
