//! Figures as people read them: three significant digits and the unit that fits.

pub use model::Units;
use model::units::RateUnit;
use model::{Measurement, Metric, Printed, Run};

/// Three significant digits, without a decimal point from 100 on.
pub(crate) fn digits(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn scaled(value: f64, base: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut unit = units[0];
    for next in &units[1..] {
        // A figure that would round up to four digits goes to the next unit.
        if value.abs() < 999.5 {
            break;
        }
        value /= base;
        unit = next;
    }
    format!("{} {unit}", digits(value))
}

/// A rate in bytes per second, such as `412 MB/s`.
pub fn display_rate(bytes_per_second: f64, units: Units) -> String {
    match units {
        Units::Decimal => scaled(bytes_per_second, 1000.0, &["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]),
        Units::Binary => scaled(bytes_per_second, 1024.0, &["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s"]),
        Units::Fixed(unit) => format!("{} {}", digits(bytes_per_second / unit.bytes()), unit.name()),
    }
}

/// An amount of bytes, such as `1.07 GB`.
pub fn display_bytes(bytes: u64, units: Units) -> String {
    match units.base() {
        1024.0 => scaled(bytes as f64, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"]),
        _ => scaled(bytes as f64, 1000.0, &["B", "kB", "MB", "GB", "TB"]),
    }
}

/// Operations per second, such as `101k`.
pub fn display_iops(per_second: f64) -> String {
    scaled(per_second, 1000.0, &["", "k", "M", "G"]).replace(' ', "")
}

/// Operations per second with the reader's units.
pub(crate) fn display_count(per_second: f64, units: Units) -> String {
    if matches!(units, Units::Fixed(_)) { digits(per_second) } else { display_iops(per_second) }
}

/// The unit in which most rates of an imported run were printed, as far as their texts have one of [`RateUnit`]. A run without
/// any has powers of ten.
pub fn units_as_published(run: &Run) -> Units {
    let imported = run.repeats.iter().filter_map(|repeat| repeat.imported.as_ref());
    let rates = imported.flat_map(|i| &i.figures).filter(|figure| figure.metric == Metric::Bandwidth);
    let unit = |printed: &Printed| {
        let number = printed.text.trim_start().split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
        let factor = printed.value / number.parse::<f64>().ok()?;
        RateUnit::ALL.into_iter().find(|unit| (factor / unit.bytes() - 1.0).abs() < 0.002)
    };
    let printed: Vec<RateUnit> = rates.filter_map(|f| f.printed.as_ref()).filter_map(unit).collect();
    let most = printed.iter().max_by_key(|unit| printed.iter().filter(|other| other == unit).count());
    most.map_or(Units::Decimal, |unit| Units::Fixed(*unit))
}

/// A time given in nanoseconds, such as `18.4 µs`.
pub fn display_ns(ns: f64) -> String {
    if ns < 999.5 { format!("{ns:.0} ns") } else { scaled(ns / 1e3, 1000.0, &["µs", "ms", "s"]) }
}

/// Two figures, with the unit only once if it is the same, such as `2.41 or 5.01 GB/s`.
pub(crate) fn with_one_unit(first: &str, between: &str, second: &str) -> String {
    match (first.split_once(' '), second.split_once(' ')) {
        (Some((value, unit)), Some((_, other))) if unit == other => format!("{value} {between} {second}"),
        _ => format!("{first} {between} {second}"),
    }
}

/// A frequency, such as `2.40 GHz`.
pub(crate) fn display_hz(hz: f64) -> String {
    scaled(hz, 1000.0, &["Hz", "kHz", "MHz", "GHz"])
}

/// A share from 0 to 1 in percent.
pub(crate) fn display_percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent != 0.0 && percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// A margin, such as `3 %`.
pub(crate) fn display_margin(share: f64) -> String {
    display_percent(share).replace(".0 ", " ")
}

/// A ratio, such as `1.04` or `7.9`.
pub(crate) fn display_ratio(ratio: f64) -> String {
    match ratio {
        r if r >= 99.95 => format!("{r:.0}"),
        r if r >= 9.995 => format!("{r:.1}"),
        r if r >= 0.0995 => format!("{r:.2}"),
        r => format!("{r:.3}"),
    }
}

/// The interval of a ratio; one that reaches over more than three powers of ten says nothing, and its ends even less.
pub(crate) fn display_ratios((low, high): (f64, f64)) -> String {
    if low > 0.0 && high / low <= 1000.0 {
        format!("{}–{}", display_ratio(low), display_ratio(high))
    } else {
        "too wide".into()
    }
}

/// A block size, such as `4 KiB`.
pub(crate) fn display_block(bytes: u32) -> String {
    match bytes {
        b if b >= 1 << 20 && b % (1 << 20) == 0 => format!("{} MiB", b >> 20),
        b if b >= 1 << 10 && b % (1 << 10) == 0 => format!("{} KiB", b >> 10),
        b => format!("{b} B"),
    }
}

/// A score, followed by those of the repeats.
pub(crate) fn display_score(m: &Measurement) -> String {
    let each: Vec<String> = m.values.iter().map(|(_, value)| format!("{value:.0}")).collect();
    let all = if each.len() > 1 { format!(" ({})", each.join(", ")) } else { String::new() };
    format!("{:.0}{all}", m.estimate.value)
}

/// A value of a metric, with its unit.
pub(crate) fn display_metric(metric: Metric, value: f64, units: Units) -> String {
    match (metric, metric.unit()) {
        (Metric::Score | Metric::Mismatches, _) => format!("{value:.0}"),
        (Metric::SyncShare | Metric::Cpu | Metric::CpuJob | Metric::StalledShare | Metric::Spread, _) => {
            display_percent(value)
        }
        (_, "B/s") => display_rate(value, units),
        (_, "1/s") => format!("{}/s", display_count(value, units)),
        (_, "ns") => display_ns(value),
        _ => digits(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_unit_that_fits() {
        assert_eq!(display_rate(412_345_678.0, Units::Decimal), "412 MB/s");
        assert_eq!(display_rate(412_345_678.0, Units::Binary), "393 MiB/s");
        assert_eq!(display_rate(999_600.0, Units::Decimal), "1.00 MB/s");
        assert_eq!(display_rate(0.0, Units::Decimal), "0.00 B/s");
        assert_eq!(display_rate(1e9, Units::Fixed(RateUnit::Kibi)), "976562 KiB/s");
        assert_eq!(display_count(12_345.0, Units::Fixed(RateUnit::Mebi)), "12345");
        assert_eq!(display_bytes(1 << 30, Units::Decimal), "1.07 GB");
        assert_eq!(display_bytes(1 << 30, Units::Binary), "1.00 GiB");
        assert_eq!(display_iops(100_640.0), "101k");
        assert_eq!(display_iops(45.23), "45.2");
        assert_eq!(display_ns(18_432.0), "18.4 µs");
        assert_eq!(display_ns(999.7), "1.00 µs");
        assert_eq!(display_ns(42.0), "42 ns");
        assert_eq!(display_ns(12.3e9), "12.3 s");
        assert_eq!(display_hz(2.4e9), "2.40 GHz");
        assert_eq!(display_percent(0.0123), "1.2 %");
        assert_eq!(display_percent(0.97), "97 %");
        assert_eq!((display_ratio(1.0449), display_ratio(23.456)), ("1.04".into(), "23.5".into()));
    }
}
