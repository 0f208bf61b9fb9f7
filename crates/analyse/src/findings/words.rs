//! Formats figures and lists for sentences.

use model::{Measurement, Metric, Operation, Pattern, Workload};

/// An amount of bytes.
pub(super) fn amount(bytes: u64) -> String {
    match bytes as f64 {
        b if b < 0.95e6 => format!("{:.0} kB", b / 1e3),
        b if b < 0.95e9 => format!("{:.0} MB", b / 1e6),
        b => format!("{:.1} GB", b / 1e9),
    }
}

/// A rate of bytes.
pub(super) fn rate(bytes_per_second: f64) -> String {
    figure(Metric::Bandwidth, bytes_per_second)
}

/// A time given in nanoseconds.
pub(super) fn time(ns: f64) -> String {
    figure(Metric::LatP50, ns)
}

/// A value of a metric with its unit.
pub(super) fn figure(metric: Metric, value: f64) -> String {
    let scaled = |value: f64, units: [&str; 4]| {
        let (value, unit) = match value {
            v if v >= 1e9 => (v / 1e9, units[3]),
            v if v >= 1e6 => (v / 1e6, units[2]),
            v if v >= 1e3 => (v / 1e3, units[1]),
            v => (v, units[0]),
        };
        let digits = if value >= 100.0 { 0 } else { 1 };
        format!("{value:.digits$} {unit}")
    };
    match metric.unit() {
        "B/s" => scaled(value, ["B/s", "kB/s", "MB/s", "GB/s"]),
        "ns" => scaled(value, ["ns", "µs", "ms", "s"]),
        _ => scaled(value, ["/s", "k/s", "M/s", "G/s"]),
    }
}

/// A relative change, such as `20 % faster`.
pub(super) fn by(share: f64, more: &str, less: &str) -> String {
    let digits = if share.abs() < 0.0995 { 1 } else { 0 };
    format!("{:.digits$} % {}", share.abs() * 100.0, if share > 0.0 { more } else { less })
}

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    let digits = if share.abs() < 0.0995 { 1 } else { 0 };
    format!("{:.digits$} %", share * 100.0)
}

/// A list in words: `a`, `a and b`, `a, b and c`.
pub(super) fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// A list that names only its first few entries.
pub(super) fn short_list(names: &[String]) -> String {
    /// Nobody reads a longer list.
    const MOST: usize = 6;
    if names.len() <= MOST {
        return list(names);
    }
    format!("{} and {} more", names[..MOST - 1].join(", "), names.len() + 1 - MOST)
}

/// Data operations of a step with their access pattern, such as `random reads`.
pub(super) fn in_order(workload: &Workload, operation: Operation) -> String {
    let order = match workload.pattern {
        Pattern::Sequential => "sequential",
        Pattern::Spaced { .. } => "evenly spaced",
        _ => "random",
    };
    format!("{order} {}", operations(operation))
}

/// Rounds counted from 0, shown from 1: `round 1`, `rounds 1 and 3`.
pub(super) fn rounds(rounds: &[u32]) -> String {
    let names: Vec<String> = rounds.iter().map(|round| (round + 1).to_string()).collect();
    format!("{} {}", if names.len() == 1 { "round" } else { "rounds" }, list(&names))
}

/// The plural of an operation's name.
pub(super) fn operations(operation: Operation) -> String {
    format!("{}s", operation.name().replace('_', " "))
}

/// The metric and operation of a measurement, such as `bandwidth of reads`.
pub(super) fn what(m: &Measurement) -> String {
    let metric = match m.metric {
        Metric::Bandwidth => "bandwidth",
        Metric::Iops => "operations per second",
        _ => "p99",
    };
    format!("{metric} of {}", operations(m.operation))
}
