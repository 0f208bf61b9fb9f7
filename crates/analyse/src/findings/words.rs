//! Formats figures and lists for sentences.

use model::{Measurement, Metric, Operation, Pattern, Units, Workload};

/// An amount of bytes.
pub(super) fn amount(units: Units, bytes: u64) -> String {
    let base = units.base();
    let [small, medium, large] = if base == 1024.0 { ["KiB", "MiB", "GiB"] } else { ["kB", "MB", "GB"] };
    let kilo = bytes as f64 / base;
    match kilo / base {
        mega if mega < 0.95 => format!("{kilo:.0} {small}"),
        mega if mega < 0.95 * base => format!("{mega:.0} {medium}"),
        mega => format!("{:.1} {large}", mega / base),
    }
}

/// A rate of bytes.
pub(super) fn rate(units: Units, bytes_per_second: f64) -> String {
    figure(units, Metric::Bandwidth, bytes_per_second)
}

/// A time given in nanoseconds.
pub(super) fn time(ns: f64) -> String {
    scaled(ns, 1000.0, ["ns", "µs", "ms", "s"])
}

/// A value of a metric with its unit.
pub(super) fn figure(units: Units, metric: Metric, value: f64) -> String {
    match (metric.unit(), units) {
        ("B/s", Units::Decimal) => scaled(value, 1000.0, ["B/s", "kB/s", "MB/s", "GB/s"]),
        ("B/s", Units::Binary) => scaled(value, 1024.0, ["B/s", "KiB/s", "MiB/s", "GiB/s"]),
        ("B/s", Units::Fixed(unit)) => scaled(value / unit.bytes(), f64::INFINITY, [unit.name(); 4]),
        ("ns", _) => time(value),
        _ => scaled(value, 1000.0, ["/s", "k/s", "M/s", "G/s"]),
    }
}

fn scaled(value: f64, base: f64, units: [&str; 4]) -> String {
    let power = (1..units.len()).rev().find(|power| value >= base.powi(*power as i32)).unwrap_or(0);
    let value = value / base.powi(power as i32);
    let digits = if value >= 100.0 { 0 } else { 1 };
    format!("{value:.digits$} {}", units[power])
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

/// Rounds counted from 0, shown from 1: `round 1`, `rounds 1 and 3`, `rounds 2, 4 to 7 and 9`.
pub(super) fn rounds(rounds: &[u32]) -> String {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for round in rounds.iter().map(|round| round + 1) {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == round => *last = round,
            _ => spans.push((round, round)),
        }
    }
    let name = |(first, last): &(u32, u32)| match last - first {
        0 => vec![first.to_string()],
        1 => vec![first.to_string(), last.to_string()],
        _ => vec![format!("{first} to {last}")],
    };
    let names: Vec<String> = spans.iter().flat_map(name).collect();
    format!("{} {}", if rounds.len() == 1 { "round" } else { "rounds" }, list(&names))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_take_the_powers_asked_for() {
        let amounts = |units| [900_000, 3 << 20, 5 << 30].map(|bytes| amount(units, bytes));
        assert_eq!(amounts(Units::Decimal), ["900 kB", "3 MB", "5.4 GB"]);
        assert_eq!(amounts(Units::Binary), ["879 KiB", "3 MiB", "5.0 GiB"]);
        let rates = |units| [12.0, 2048.0, 150e6, 2e9].map(|value| rate(units, value));
        assert_eq!(rates(Units::Decimal), ["12.0 B/s", "2.0 kB/s", "150 MB/s", "2.0 GB/s"]);
        assert_eq!(rates(Units::Binary), ["12.0 B/s", "2.0 KiB/s", "143 MiB/s", "1.9 GiB/s"]);
    }
}
