//! Rules about the repeats of a step and what goes on within them: whether a mean says what they are like.
//!
//! Only headline metrics are looked at, because the family over which chance is shared grows with every
//! other one, and a mode or a trend shows in the headline if it matters.

use std::collections::BTreeMap;

use model::{
    Evidence, Finding, Measurement, Metric, Operation, Pace, Phase, Repeat, Run, Severity, Step, Target,
};

use super::{Rule, completed, evidence, subject};
use crate::compare::headline;
use crate::measure::measurements;
use crate::repeats::{Look, looks, threshold};
use crate::steady::{STEADY_RANGE, STEADY_SLOPE, STEADY_WINDOW, steady_state};
use crate::transient::{TRANSIENT_CHANCE, Transient, Work, transient};

/// Looks at the repeats behind each measurement that is a headline; `None` for the others. All headlines
/// are one family, see [`crate::looks`].
pub fn headline_looks(run: &Run, measurements: &[Measurement]) -> Vec<Option<Look>> {
    let is_headline: Vec<bool> = measurements.iter().map(|m| step_of(run, m).is_some()).collect();
    let values: Vec<Vec<f64>> = measurements
        .iter()
        .zip(&is_headline)
        .filter(|(_, headline)| **headline)
        .map(|(m, _)| m.values.iter().map(|(_, v)| *v).collect())
        .collect();
    let mut looks = looks(&values.iter().map(Vec::as_slice).collect::<Vec<_>>()).into_iter();
    is_headline.into_iter().map(|headline| if headline { looks.next() } else { None }).collect()
}

/// The step, if the measurement is its headline.
fn step_of<'a>(run: &'a Run, m: &Measurement) -> Option<&'a Step> {
    run.started.plan.step(&m.step).filter(|step| headline(step, m.operation) == Some(m.metric))
}

/// The headline measurements with their steps and targets.
fn headlines(run: &Run) -> Vec<(&Step, &Target, Measurement)> {
    let of = |m: Measurement| {
        let target = run.started.targets.iter().find(|t| t.name == m.target)?;
        Some((step_of(run, &m)?, target, m))
    };
    measurements(run, crate::Estimator::Mean).into_iter().filter_map(of).collect()
}

/// What each look finds in the headline measurements that it says something about.
fn said(
    run: &Run,
    say: impl Fn(&Measurement, &Look) -> Option<(Severity, String, Vec<Evidence>)>,
    rule: &Rule,
) -> Vec<Finding> {
    let headlines = headlines(run);
    let measured: Vec<Measurement> = headlines.iter().map(|(.., m)| m.clone()).collect();
    let looks = headline_looks(run, &measured);
    let finding = |((step, target, m), look): (&(&Step, &Target, Measurement), Option<Look>)| {
        let (severity, message, mut evidence) = say(m, &look?)?;
        evidence.extend(rounds_of(m));
        Some(rule.finding(severity, subject(target, Some(step)), message, evidence))
    };
    headlines.iter().zip(looks).filter_map(finding).collect()
}

/// Every repeat's value, named by its round as the progress display counts, from 1.
fn rounds_of(m: &Measurement) -> impl Iterator<Item = Evidence> {
    m.values.iter().map(|(round, v)| evidence(&format!("round {}", round + 1), *v, m.metric.unit()))
}

/// The rounds at these places, in words.
fn rounds(m: &Measurement, places: &[usize]) -> String {
    let names: Vec<String> = places.iter().map(|i| (m.values[*i].0 + 1).to_string()).collect();
    match names.as_slice() {
        [one] => format!("round {one}"),
        [others @ .., last] => format!("rounds {} and {last}", others.join(", ")),
        [] => String::new(),
    }
}

/// What was measured, in words.
fn what(m: &Measurement) -> String {
    let metric = match m.metric {
        Metric::Bandwidth => "bandwidth",
        Metric::Iops => "operations per second",
        _ => "p99",
    };
    format!("{metric} of {}s", m.operation.name().replace('_', " "))
}

/// A value in a sentence.
fn figure(metric: Metric, value: f64) -> String {
    let scaled = |value: f64, units: [&str; 4]| {
        let (value, unit) = match value {
            v if v >= 1e9 => (v / 1e9, units[3]),
            v if v >= 1e6 => (v / 1e6, units[2]),
            v if v >= 1e3 => (v / 1e3, units[1]),
            v => (v, units[0]),
        };
        let places = if value >= 100.0 { 0 } else { 1 };
        format!("{value:.places$} {unit}")
    };
    match metric.unit() {
        "B/s" => scaled(value, ["B/s", "kB/s", "MB/s", "GB/s"]),
        "ns" => scaled(value, ["ns", "µs", "ms", "s"]),
        _ => scaled(value, ["/s", "k/s", "M/s", "G/s"]),
    }
}

/// A rise or fall in words, such as `20 % faster`.
fn by(share: f64, more: &str, less: &str) -> String {
    let digits = if share.abs() < 0.0995 { 1 } else { 0 };
    format!("{:.digits$} % {}", share.abs() * 100.0, if share > 0.0 { more } else { less })
}

pub(super) fn two_modes(rule: &Rule, run: &Run) -> Vec<Finding> {
    let say = |m: &Measurement, look: &Look| {
        let modes = look.modes.as_ref()?;
        let changed = modes.changed_at().map_or_else(String::new, |at| {
            format!("; it changed once, before {}, and stayed", rounds(m, &[at]))
        });
        let message = format!(
            "{} has two modes: {} at about {}, {} at about {}; a mean of all describes neither{changed}",
            what(m),
            rounds(m, &modes.low),
            figure(m.metric, modes.low_mean),
            rounds(m, &modes.high),
            figure(m.metric, modes.high_mean),
        );
        let means = vec![
            evidence("mean of the lower mode", modes.low_mean, m.metric.unit()),
            evidence("mean of the higher mode", modes.high_mean, m.metric.unit()),
            evidence("probability with one mode", modes.p, "1"),
        ];
        Some((Severity::Warning, message, means))
    };
    said(run, say, rule)
}

pub(super) fn outliers(rule: &Rule, run: &Run) -> Vec<Finding> {
    let say = |m: &Measurement, look: &Look| {
        let (first, rest) = look.outliers.split_first()?;
        let mut values: Vec<f64> = m.values.iter().map(|(_, v)| *v).collect();
        let odd: Vec<String> =
            std::iter::once(first).chain(rest).map(|i| figure(m.metric, values[*i])).collect();
        values.sort_by(f64::total_cmp);
        let median = values[values.len() / 2];
        let message = format!(
            "{}: {} ({}) far from the others, whose median is {}; they are in the mean all the same",
            what(m),
            rounds(m, &look.outliers),
            odd.join(", "),
            figure(m.metric, median),
        );
        let middle = vec![evidence("median of all repeats", median, m.metric.unit())];
        Some((Severity::Info, message, middle))
    };
    said(run, say, rule)
}

pub(super) fn trend(rule: &Rule, run: &Run) -> Vec<Finding> {
    let say = |m: &Measurement, look: &Look| {
        let trend = look.trend?;
        let message = format!(
            "{} {} over the run, from its first round to its last: later rounds are not repeats of the first ones",
            what(m),
            match trend.change > 0.0 {
                true => format!("rose by {:.0} %", trend.change * 100.0),
                false => format!("fell by {:.0} %", -trend.change * 100.0),
            },
        );
        let change = vec![
            evidence("change over the run (Theil-Sen)", trend.change, "1"),
            evidence("probability without a trend", trend.p, "1"),
        ];
        Some((Severity::Warning, message, change))
    };
    said(run, say, rule)
}

pub(super) fn not_steady(rule: &Rule, run: &Run) -> Vec<Finding> {
    let finding = |(step, target, m): (&Step, &Target, Measurement)| {
        let from = m.values.len().checked_sub(STEADY_WINDOW)?;
        let last: Vec<f64> = m.values[from..].iter().map(|(_, v)| *v).collect();
        let state = steady_state(&last);
        if state.steady_at_end {
            return None;
        }
        let mut why = Vec::new();
        if state.range_share > STEADY_RANGE {
            why.push(format!(
                "they range over {:.0} % of their mean (at most {:.0} %)",
                state.range_share * 100.0,
                STEADY_RANGE * 100.0
            ));
        }
        if state.slope_share.abs() > STEADY_SLOPE {
            why.push(format!(
                "the line through them {} by {:.0} % of it (at most {:.0} %)",
                if state.slope_share > 0.0 { "rises" } else { "falls" },
                state.slope_share.abs() * 100.0,
                STEADY_SLOPE * 100.0
            ));
        }
        let message = format!(
            "{}: the last five rounds are no steady state by SNIA's rule: {}",
            what(&m),
            why.join(", and ")
        );
        let mut figures = vec![
            evidence("range ÷ mean of the last five rounds", state.range_share, "1"),
            evidence("rise of the fitted line ÷ mean", state.slope_share, "1"),
        ];
        figures.extend(rounds_of(&m).skip(from));
        Some(rule.finding(Severity::Info, subject(target, Some(step)), message, figures))
    };
    headlines(run).into_iter().filter_map(finding).collect()
}

/// The bytes moved in each measured interval of a repeat. Intervals of the same start add up.
fn series(repeat: &Repeat) -> Vec<Work> {
    let mut by_start: BTreeMap<u64, Work> = BTreeMap::new();
    for interval in repeat.intervals.iter().filter(|i| i.phase == Phase::Measure) {
        let moved =
            |(o, _): &(&Operation, _)| matches!(o, Operation::Read | Operation::Write | Operation::Trim);
        let bytes: u64 = interval.operations.iter().filter(moved).map(|(_, s)| s.bytes).sum();
        let work = by_start.entry(interval.start_ns).or_insert(Work { seconds: 0.0, amount: 0.0 });
        work.seconds = work.seconds.max(interval.len_ns as f64 / 1e9);
        work.amount += bytes as f64;
    }
    by_start.into_values().collect()
}

pub(super) fn start_up_transient(rule: &Rule, run: &Run) -> Vec<Finding> {
    // The rate of a given load is the load's; operations on names take turns.
    let judged = completed(run)
        .filter(|(step, ..)| !step.workload.is_metadata() && step.workload.pace == Pace::Closed);
    let found: Vec<(&Step, &Target, Option<Transient>)> = judged
        .map(|(step, target, repeats)| {
            let series: Vec<Vec<Work>> = repeats.iter().map(|(repeat, _)| series(repeat)).collect();
            (step, target, transient(&series))
        })
        .collect();
    let ps: Vec<f64> = found.iter().map(|(.., t)| t.map_or(1.0, |t| t.p)).collect();
    let threshold = threshold(&ps, TRANSIENT_CHANCE);
    let finding = |(step, target, found): (&Step, &Target, Option<Transient>)| {
        let t = found.filter(|t| t.p <= threshold)?;
        let message = format!(
            "the first {:.1} s of a repeat ran {} than the rest, in {} of {} repeats, which makes its figure {}; {}",
            t.seconds,
            by(t.difference, "faster", "slower"),
            t.shows_in,
            t.repeats,
            by(t.effect, "higher", "lower"),
            advice(step, t.seconds),
        );
        let figures = vec![
            evidence("length", t.seconds, "s"),
            evidence("rate in it ÷ rate after it − 1", t.difference, "1"),
            evidence("figure with it ÷ figure without − 1", t.effect, "1"),
            evidence("repeats that show it", t.shows_in as f64, "1"),
            evidence("repeats", t.repeats as f64, "1"),
            evidence("probability without a transient", t.p, "1"),
        ];
        Some(rule.finding(Severity::Warning, subject(target, Some(step)), message, figures))
    };
    found.into_iter().filter_map(finding).collect()
}

fn advice(step: &Step, seconds: f64) -> String {
    if step.uses_data_up() {
        return "what can be done only once has no ramp: more data tell what lasts".to_owned();
    }
    // To the next tenth of a second.
    let ramp = ((step.ramp_ns as f64 / 1e9 + seconds) * 10.0 - 1e-6).ceil() / 10.0;
    format!("--ramp {ramp:.1}s or more leaves it out")
}
