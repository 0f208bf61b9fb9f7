//! Heat: temperatures that rose, clocks that dropped, processors that were throttled.

use model::{Evidence, Finding, Severity, Subject};

use super::context::Pair;
use super::words::{by, list, percent};
use super::{Rule, RuleContext, evidence};
use crate::stats::median;
use crate::telemetry::Series;

/// A rise, in kelvin, from which a sensor is reported.
const RISE: f64 = 10.0;
/// Disks throttle from about this temperature on (°C): consumer NVMe drives give their warning limit as 70 to
/// 85, SATA disks and flash are specified up to 60 or 70.
const HOT_DISK: f64 = 70.0;
/// Processors of single-board computers throttle from 80 or 85 °C on (Raspberry Pi: soft limit 80).
const HOT_PROCESSOR: f64 = 80.0;

/// The readings of one sensor.
struct Sensor {
    name: String,
    first: (u64, f64),
    highest: (u64, f64),
    limit: f64,
}

/// All sensors whose temperature rose by [`RISE`] or reached its limit.
fn warm(context: &RuleContext<'_>) -> Vec<Sensor> {
    let mut found = Vec::new();
    let probes = [("disk_temperature", HOT_DISK), ("temperature", HOT_PROCESSOR)];
    for (machine, (probe, limit)) in context.machines().flat_map(|m| probes.map(|probe| (m, probe))) {
        for series in context.readings.of(machine, probe) {
            let Some(first) = series.values.first().copied() else { continue };
            let highest =
                series.values.iter().copied().fold(first, |high, v| if v.1 > high.1 { v } else { high });
            let name = format!("{}{}", series.key, context.on_machine(machine));
            let sensor = Sensor { name, first, highest, limit };
            if sensor.rise() >= RISE || highest.1 >= limit {
                found.push(sensor);
            }
        }
    }
    found
}

impl Sensor {
    fn rise(&self) -> f64 {
        self.highest.1 - self.first.1
    }
}

/// Headline figures that got worse over the run: the share, and the change in words. The trend is tested elsewhere.
fn falling(context: &RuleContext<'_>) -> Vec<(f64, String)> {
    let fell = |(pair, m, diagnostics): (&Pair<'_>, &model::Measurement, &crate::RepeatDiagnostics)| {
        let change = diagnostics.trend?.change;
        let is_worse = match m.metric.better() {
            model::Better::Higher => change < 0.0,
            _ => change > 0.0,
        };
        let words = format!(
            "{} of {} on {} {}",
            super::words::what(m),
            pair.step.id,
            pair.target.name,
            by(change, "higher", "lower")
        );
        is_worse.then_some((change.abs(), words))
    };
    context.headlines().filter_map(fell).collect()
}

pub(super) fn temperature_rose(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let fallen = falling(context);
    let finding = |sensor: Sensor| {
        let seconds = sensor.highest.0.saturating_sub(sensor.first.0) as f64 / 1e9;
        let is_hot = sensor.highest.1 >= sensor.limit;
        let mut message = match sensor.rise() >= 1.0 {
            true => format!(
                "{} rose by {:.0} °C to {:.0} °C within {seconds:.0} s",
                sensor.name,
                sensor.rise(),
                sensor.highest.1
            ),
            false => format!("{} stayed at {:.0} °C", sensor.name, sensor.highest.1),
        };
        if is_hot {
            message.push_str(&format!(", and many such devices throttle from about {:.0} °C", sensor.limit));
        }
        let (severity, effect) = match fallen.iter().map(|(share, _)| *share).reduce(f64::max) {
            Some(share) => {
                let words: Vec<String> = fallen.iter().take(3).map(|(_, words)| words.clone()).collect();
                message.push_str(&format!("; meanwhile figures got worse: {}", list(&words)));
                (Severity::Warning, share)
            }
            None if is_hot => {
                message.push_str("; no headline figure shows a trend");
                (Severity::Warning, 0.05)
            }
            None => {
                message.push_str("; no headline figure shows a trend");
                (Severity::Info, 0.0)
            }
        };
        let figures = vec![
            evidence(format!("{} at the start", sensor.name), sensor.first.1, "°C")
                .between(sensor.first.0, sensor.first.0),
            evidence(format!("{} at its highest", sensor.name), sensor.highest.1, "°C")
                .between(sensor.highest.0, sensor.highest.0),
            evidence("limit that counts as hot", sensor.limit, "°C"),
        ];
        rule.finding(severity, Subject::default(), message, figures).changing(effect)
    };
    warm(context).into_iter().map(finding).collect()
}

/// The spans of the repeats that ended as planned, in nanoseconds of the run.
fn spans(pair: &Pair<'_>) -> Vec<(u64, u64)> {
    let span = |r: &super::context::Ended<'_>| (r.began_ns(), r.ended_ns(pair.step));
    pair.repeats.iter().map(span).collect()
}

/// How the highest clock changed between the first and the last third of one step's repeats: before, after.
fn clocks(pair: &Pair<'_>, clock: &Series<'_>) -> Option<(f64, f64)> {
    let spans = spans(pair);
    let third = spans.len() / 3;
    let (first, last) = (spans.get(..third)?, spans.get(spans.len() - third..)?);
    Some((clock.mean_over(first)?.0, clock.mean_over(last)?.0))
}

pub(super) fn clock_dropped(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let on = |machine| clock_dropped_on(rule, context, machine);
    context.machines().filter_map(on).collect()
}

fn clock_dropped_on(rule: &Rule, context: &RuleContext<'_>, machine: u32) -> Option<Finding> {
    /// From this drop on, the processor is throttled and not merely idle in between.
    const DROP: f64 = 0.1;
    let clock = context.readings.get(machine, "frequency", "max")?;
    let there = context.completed().filter(|pair| pair.target.depends_on(machine));
    let pairs: Vec<(f64, f64)> = there.filter_map(|pair| clocks(pair, clock)).collect();
    let ratios: Vec<f64> = pairs.iter().map(|(before, after)| after / before).collect();
    let ratio = median(&ratios).filter(|ratio| *ratio <= 1.0 - DROP)?;
    let of =
        |pick: fn(&(f64, f64)) -> f64| median(&pairs.iter().map(pick).collect::<Vec<_>>()).unwrap_or(0.0);
    let (before, after) = (of(|p| p.0), of(|p| p.1));
    let message = format!(
        "the fastest processor's clock{} was {} in the last third of the steps' repeats, from {:.2} GHz to {:.2} GHz: early and late figures that depend on the processor do not compare",
        context.on_machine(machine),
        by(ratio - 1.0, "higher", "lower"),
        before / 1e9,
        after / 1e9
    );
    let figures = vec![
        evidence("clock in the first third of the repeats of a step", before, "Hz"),
        evidence("clock in the last third", after, "Hz"),
    ];
    Some(rule.finding(Severity::Warning, Subject::default(), message, figures).changing(1.0 - ratio))
}

/// The meaning of a series of the probes `throttling` and `firmware`.
fn reason(key: &str) -> Option<String> {
    Some(match key {
        "core" | "package" => format!("the processor counted thermal throttling ({key})"),
        "undervoltage" => "the power supply's voltage was too low".to_owned(),
        "capped" => "the clock was capped".to_owned(),
        "throttled" => "the processor was throttled".to_owned(),
        "soft_limit" => "the processor was too warm for its full clock".to_owned(),
        _ => format!("cooling by {} was on", key.strip_prefix("cooling.")?),
    })
}

pub(super) fn throttled(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let on = |machine| throttled_on(rule, context, machine);
    context.machines().filter_map(on).collect()
}

fn throttled_on(rule: &Rule, context: &RuleContext<'_>, machine: u32) -> Option<Finding> {
    let there = context.completed().filter(|pair| pair.target.depends_on(machine));
    let spans: Vec<(u64, u64)> = there.flat_map(spans).collect();
    let mut reasons: Vec<String> = Vec::new();
    let mut figures: Vec<Evidence> = Vec::new();
    let mut largest = 0.0f64;
    let of = |probe| context.readings.of(machine, probe).map(move |series| (probe, series));
    for (probe, series) in of("throttling").chain(of("firmware")) {
        let Some(reason) =
            reason(series.key).filter(|reason| !reasons.iter().any(|known| known.starts_with(reason)))
        else {
            continue;
        };
        // Events have a rate, flags and cooling are shares of the time; powerclamp reads below 0 where it is off.
        let Some((mean, covered_ns)) = series.mean_over(&spans).filter(|(mean, _)| *mean > 0.0) else {
            continue;
        };
        let seconds = covered_ns as f64 / 1e9;
        let is_event = matches!(series.key, "core" | "package");
        let value = if is_event { mean * seconds } else { mean };
        reasons.push(match is_event {
            true => format!("{reason} {value:.0} times"),
            false => format!("{reason} ({} of the time, or of full strength)", percent(mean)),
        });
        figures.push(evidence(format!("{probe}.{}", series.key), value, "1"));
        largest = largest.max(if is_event { 0.1 } else { mean });
    }
    if reasons.is_empty() {
        return None;
    }
    let fallen = falling(context);
    let mut message = format!("during the measurement{} {}", context.on_machine(machine), list(&reasons));
    if let Some((_, words)) = fallen.first() {
        message.push_str(&format!("; {words} at the end of the run"));
    }
    let effect = fallen.iter().map(|(share, _)| *share).fold(largest.min(1.0) * 0.3, f64::max);
    Some(rule.finding(Severity::Warning, Subject::default(), message, figures).changing(effect))
}
