//! Rules about the repeats of a step and the intervals within them: whether a mean describes them.
//!
//! Only headline metrics are tested, because every further metric enlarges the family over which the chance of error is
//! shared, and a mode or a trend that matters shows in the headline.

use std::collections::BTreeMap;

use model::{
    Comparison, Disturbance, Evidence, Finding, Measurement, Operation, Phase, PortableMath, Repeat,
    SetAsideReason, Severity, Step, Subject, Verdict,
};

use super::context::{Ended, Pair};
use super::words::{by, figure, rounds as rounds_in_words, time, what};
use super::{Rule, RuleContext, evidence, total};
use crate::compare::headline;
use crate::repeats::{RepeatDiagnostics, threshold};
use crate::stats::{RobustMean, median, t_above};
use crate::steady::{STEADY_RANGE, STEADY_SLOPE, STEADY_WINDOW, steady_state};
use crate::transient::{TRANSIENT_CHANCE, Transient, Work, transient};

/// The result of one diagnostic: severity, message, the share by which it changes the answer, and its figures.
type Report = (Severity, String, f64, Vec<Evidence>);

/// One finding for each headline measurement that the diagnostic reports on.
fn reported(
    context: &RuleContext<'_>,
    report: impl Fn(&Measurement, &RepeatDiagnostics) -> Option<Report>,
    rule: &Rule,
) -> Vec<Finding> {
    let finding = |(pair, m, diagnostics): (&Pair<'_>, &Measurement, &RepeatDiagnostics)| {
        let (severity, message, effect, mut evidence) = report(m, diagnostics)?;
        evidence.extend(rounds_of(m));
        Some(rule.finding(severity, pair.subject(), message, evidence).changing(effect))
    };
    context.headlines().filter_map(finding).collect()
}

/// Each repeat's value with its round.
fn rounds_of(m: &Measurement) -> impl Iterator<Item = Evidence> {
    let named = |(round, v): &(u32, f64)| {
        evidence(format!("round {}", round + 1), *v, m.metric.unit()).in_rounds([*round])
    };
    m.values.iter().map(named)
}

/// The rounds of the repeats with these indices, in words.
fn rounds(m: &Measurement, indices: &[usize]) -> String {
    rounds_in_words(&indices.iter().map(|i| m.values[*i].0).collect::<Vec<_>>())
}

pub(super) fn two_modes(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let report = |m: &Measurement, diagnostics: &RepeatDiagnostics| {
        let modes = diagnostics.modes.as_ref()?;
        let changed = modes.changed_at().map_or_else(String::new, |at| {
            format!("; it changed once, before {}, and stayed", rounds(m, &[at]))
        });
        let message = format!(
            "{} has two modes: {} at about {}, {} at about {}; a mean of all describes neither{changed}",
            what(m),
            rounds(m, &modes.low),
            figure(context.units, m.metric, modes.low_mean),
            rounds(m, &modes.high),
            figure(context.units, m.metric, modes.high_mean),
        );
        let means = vec![
            evidence("mean of the lower mode", modes.low_mean, m.metric.unit()),
            evidence("mean of the higher mode", modes.high_mean, m.metric.unit()),
            evidence("probability with one mode", modes.p, "1"),
        ];
        let effect = modes.high_mean / modes.low_mean - 1.0;
        Some((Severity::Warning, message, effect, means))
    };
    reported(context, report, rule)
}

pub(super) fn outliers(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let report = |m: &Measurement, diagnostics: &RepeatDiagnostics| {
        let (first, rest) = diagnostics.outliers.split_first()?;
        let values: Vec<f64> = m.values.iter().map(|(_, v)| *v).collect();
        let odd: Vec<String> =
            std::iter::once(first).chain(rest).map(|i| figure(context.units, m.metric, values[*i])).collect();
        let median = median(&values)?;
        let message = format!(
            "{}: {} ({}) far from the median of all repeats, {}; the mean includes every repeat",
            what(m),
            rounds(m, &diagnostics.outliers),
            odd.join(", "),
            figure(context.units, m.metric, median),
        );
        let figures = vec![evidence("median of all repeats", median, m.metric.unit())];
        let effect = (values.iter().sum::<f64>() / values.len() as f64 / median - 1.0).abs();
        Some((Severity::Info, message, effect, figures))
    };
    reported(context, report, rule)
}

pub(super) fn trend(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let report = |m: &Measurement, diagnostics: &RepeatDiagnostics| {
        let trend = diagnostics.trend?;
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
        Some((Severity::Warning, message, trend.change, change))
    };
    reported(context, report, rule)
}

/// Variance of a ratio over that of independent rounds from which its rounds resemble each other.
const RESEMBLING: f64 = 3.0;

/// Differences whose rounds resemble each other: what lasted for this run may not last.
pub(super) fn slow_changes(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let is_headline = |c: &&Comparison| {
        context.run.started.plan.step(&c.step).is_some_and(|s| headline(s, c.operation) == Some(c.metric))
    };
    let is_claimed = |c: &&Comparison| matches!(c.verdict, Verdict::Faster | Verdict::Slower);
    let found = context.comparisons.iter().filter(|c| c.inflation >= RESEMBLING).filter(is_headline);
    let finding = |c: &Comparison| {
        let message = format!(
            "the ratio to {} drifted during the run: successive rounds resemble each other, so that the variance of their mean is \
             {:.1} times that of independent rounds; the interval accounts for part of it",
            c.baseline, c.inflation
        );
        let figures = vec![
            evidence("ratio", c.ratio.value, "1"),
            evidence("variance inflation by autocorrelation", c.inflation, "1"),
        ];
        let subject = Subject { target: Some(c.target.clone()), step: Some(c.step.clone()) };
        rule.finding(Severity::Warning, subject, message, figures).changing(c.ratio.value - 1.0)
    };
    found.filter(is_claimed).map(finding).collect()
}

pub(super) fn length_matters(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let mut last = BTreeMap::new();
    for (_, reason) in &context.run.set_aside {
        if let SetAsideReason::TooShort { step, length_ns, long_ns, ratio } = reason {
            last.insert(step.as_str(), (*length_ns, *long_ns, *ratio));
        }
    }
    let finding = |(step, (length_ns, long_ns, ratio)): (&str, (u64, u64, f64))| {
        let share = (ratio - 1.0).abs();
        let message = format!(
            "repeats of {} gave figures {} than repeats of {}; they do not count",
            time(length_ns as f64),
            if ratio > 1.0 {
                format!("{:.0} % higher", share * 100.0)
            } else {
                format!("{:.0} % lower", share * 100.0)
            },
            time(long_ns as f64)
        );
        let figures = vec![
            evidence("figure of short repeats ÷ figure of long ones", ratio, "1"),
            evidence("short repeats", length_ns as f64, "ns"),
            evidence("long repeats", long_ns as f64, "ns"),
        ];
        let about = Subject { target: None, step: Some(step.to_owned()) };
        rule.finding(Severity::Warning, about, message, figures).changing(share)
    };
    last.into_iter().map(finding).collect()
}

pub(super) fn turns_matter(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let mut found = BTreeMap::new();
    for (_, reason) in &context.run.set_aside {
        if let SetAsideReason::InTurns { step, ratio } = reason {
            found.insert(step.as_str(), *ratio);
        }
    }
    let finding = |(step, ratio): (&str, f64)| {
        let message = format!(
            "while the targets took turns of some milliseconds, their ratio was {:.0} % {} than in repeats that followed each \
             other: what one target left to be done fell into the turns of another; the repeats in turns do not count",
            (ratio - 1.0).abs() * 100.0,
            if ratio > 1.0 { "higher" } else { "lower" },
        );
        let figures = vec![evidence("ratio in turns ÷ ratio without turns", ratio, "1")];
        let about = Subject { target: None, step: Some(step.to_owned()) };
        rule.finding(Severity::Warning, about, message, figures).changing((ratio - 1.0).abs())
    };
    found.into_iter().map(finding).collect()
}

/// Share of a repeat's time from which the sync after it is reported.
const DEFERRED: f64 = 0.1;

pub(super) fn deferred_work(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let share = |r: &Ended<'_>| Some(r.finished.settled_ns? as f64 / r.finished.window_ns.max(1) as f64);
        let share = pair.median(share).filter(|share| *share >= DEFERRED)?;
        let took = pair.median(|r| Some(r.finished.settled_ns? as f64))?;
        let message = format!(
            "syncing what a repeat had written took {} after its end, {:.0} % of its time, which no figure includes",
            time(took),
            share * 100.0
        );
        let figures = vec![
            evidence("time of the sync after a repeat", took, "ns"),
            evidence("share of the time of the repeat", share, "1"),
        ];
        Some(rule.finding(Severity::Info, pair.subject(), message, figures).changing(share))
    };
    context.completed().filter(|pair| pair.step.workload.writes_data()).filter_map(finding).collect()
}

/// Rounds from which the effect of the place in a round is estimated.
const FEWEST_FOR_CARRY_OVER: usize = 10;
/// Smaller effects are not reported.
const CARRIED: f64 = 0.01;
/// Chance of an effect by luck from which it is reported.
const CARRY_OVER_LEVEL: f64 = 0.01;

pub(super) fn carry_over(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |step: &Step| {
        // Number and logarithm of each repeat, by round.
        let mut rounds: BTreeMap<u32, Vec<(u32, f64)>> = BTreeMap::new();
        let of_step = |(pair, ..): &(&Pair<'_>, &Measurement, &RepeatDiagnostics)| pair.step.id == step.id;
        let first = context.headlines().find(of_step).map(|(_, m, _)| m.operation)?;
        for (pair, m, _) in context.headlines().filter(of_step).filter(|(_, m, _)| m.operation == first) {
            for (round, value) in m.values.iter().filter(|(_, value)| *value > 0.0) {
                let started = &pair.repeats.iter().find(|r| r.round() == *round)?.repeat.started;
                // Of those that take turns, none is later.
                if started.turns == 0 {
                    rounds.entry(*round).or_default().push((started.repeat, value.portable_ln()));
                }
            }
        }
        let later = |all: &mut Vec<(u32, f64)>| {
            all.sort_by_key(|(number, _)| *number);
            let ((_, first), others) = all.split_first()?;
            let mean = others.iter().map(|(_, ln)| ln).sum::<f64>() / others.len() as f64;
            (!others.is_empty()).then_some(mean - first)
        };
        let effects: Vec<f64> = rounds.values_mut().filter_map(later).collect();
        let RobustMean { mean, error, kept, .. } =
            RobustMean::of(&effects).filter(|_| effects.len() >= FEWEST_FOR_CARRY_OVER)?;
        let p = if error > 0.0 { 2.0 * t_above((mean / error).abs(), kept - 1.0) } else { 0.0 };
        let ratio = mean.portable_exp();
        if mean.abs() < (1.0 + CARRIED).portable_ln() || p > CARRY_OVER_LEVEL {
            return None;
        }
        let message = format!(
            "repeats later in a round have {ratio:.2} times the figure of the first: something of a repeat carries over to the next"
        );
        let figures = vec![
            evidence("figure of later repeats ÷ figure of the first in a round", ratio, "1"),
            evidence("rounds", effects.len() as f64, "1"),
        ];
        let about = Subject { target: None, step: Some(step.id.clone()) };
        Some(rule.finding(Severity::Info, about, message, figures).changing(0.0))
    };
    context.run.started.plan.steps.iter().filter_map(finding).collect()
}

pub(super) fn disturbed_rounds(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let mut found: BTreeMap<&str, BTreeMap<(&str, u32), f64>> = BTreeMap::new();
    for (_, reason) in &context.run.set_aside {
        if let SetAsideReason::Disturbed { step, round, cause, share } = reason {
            let what = match cause {
                Disturbance::StolenTime => "the hypervisor took processor time",
                Disturbance::ForeignReads => "other programs read from the device",
                Disturbance::ForeignWrites => "other programs wrote to the device",
            };
            found.entry(what).or_default().insert((step.as_str(), *round), *share);
        }
    }
    let finding = |(what, rounds): (&str, BTreeMap<(&str, u32), f64>)| {
        let most = rounds.values().copied().fold(0.0, f64::max);
        let message = match rounds.len() {
            1 => format!("{what} during a round of a step, which was measured again"),
            n => format!("{what} during {n} rounds of steps, which were measured again"),
        };
        let figures = vec![
            evidence("rounds of a step measured again", rounds.len() as f64, "1"),
            evidence("largest share of time or bytes", most, "1"),
        ];
        rule.finding(Severity::Info, Subject::default(), message, figures).changing(0.05)
    };
    found.into_iter().map(finding).collect()
}

/// Repeats shorter than this are no rounds in the sense of SNIA's specification.
const SNIA_LEAST_SECONDS: f64 = 10.0;

pub(super) fn not_steady(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |(pair, m, _): (&Pair<'_>, &Measurement, &RepeatDiagnostics)| {
        // SNIA's rule is about rounds of a minute; short repeats range wider, and their trend is diagnosed.
        let is_short = pair.repeats.iter().any(|r| r.seconds() < SNIA_LEAST_SECONDS);
        if pair.has_chosen_length() || is_short {
            return None;
        }
        let from = m.values.len().checked_sub(STEADY_WINDOW)?;
        let last: Vec<f64> = m.values[from..].iter().map(|(_, v)| *v).collect();
        let state = steady_state(&last);
        if state.steady_at_end {
            return None;
        }
        let mut why = Vec::new();
        if state.range_share > STEADY_RANGE {
            why.push(format!(
                "they range over {:.0} % of their mean (limit {:.0} %)",
                state.range_share * 100.0,
                STEADY_RANGE * 100.0
            ));
        }
        if state.slope_share.abs() > STEADY_SLOPE {
            why.push(format!(
                "the line through them {} by {:.0} % of it (limit {:.0} %)",
                if state.slope_share > 0.0 { "rises" } else { "falls" },
                state.slope_share.abs() * 100.0,
                STEADY_SLOPE * 100.0
            ));
        }
        let message = format!(
            "{}: the last five rounds are not a steady state by SNIA's rule: {}",
            what(m),
            why.join(", and ")
        );
        let mut figures = vec![
            evidence("range ÷ mean of the last five rounds", state.range_share, "1"),
            evidence("rise of the fitted line ÷ mean", state.slope_share, "1"),
        ];
        figures.extend(rounds_of(m).skip(from));
        let found = rule.finding(Severity::Info, pair.subject(), message, figures);
        Some(found.changing(state.slope_share.abs().max(state.range_share / 4.0)))
    };
    context.headlines().filter_map(finding).collect()
}

/// The bytes moved in each measured interval of a repeat. Intervals with the same start add up.
pub(super) fn series(repeat: &Repeat) -> Vec<Work> {
    let mut by_start: BTreeMap<u64, Work> = BTreeMap::new();
    for interval in repeat.intervals.iter().filter(|i| i.phase == Phase::Measure) {
        let moved =
            |(o, _): &(&Operation, _)| matches!(o, Operation::Read | Operation::Write | Operation::Trim);
        let bytes = total(interval.operations.iter().filter(moved).map(|(_, s)| s.bytes));
        let work = by_start.entry(interval.start_ns).or_insert(Work { seconds: 0.0, amount: 0.0 });
        work.seconds = work.seconds.max(interval.len_ns as f64 / 1e9);
        work.amount += bytes as f64;
    }
    by_start.into_values().collect()
}

/// A start that changes a figure by a smaller share is good to know, but nothing has to be done about it.
const SMALL_EFFECT: f64 = 0.03;

pub(super) fn start_up_transient(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    // A given load fixes the rate, and metadata operations take turns.
    let judged = context.completed().filter(|p| p.is_closed_transfer());
    let found: Vec<(&Pair<'_>, Option<Transient>)> = judged
        .map(|pair| {
            let series: Vec<Vec<Work>> = pair.repeats.iter().map(|r| series(r.repeat)).collect();
            (pair, transient(&series))
        })
        .collect();
    let ps: Vec<f64> = found.iter().map(|(_, t)| t.map_or(1.0, |t| t.p)).collect();
    let threshold = threshold(&ps, TRANSIENT_CHANCE);
    let finding = |(pair, found): (&Pair<'_>, Option<Transient>)| {
        let t = found.filter(|t| t.p <= threshold)?;
        let message = format!(
            "the first {} of a repeat ran {} than the rest, in {} of {} repeats, which makes its figure {}",
            time(t.seconds * 1e9),
            by(t.difference, "faster", "slower"),
            t.shows_in,
            t.repeats,
            by(t.effect, "higher", "lower"),
        );
        let figures = vec![
            evidence("length", t.seconds, "s"),
            evidence("rate in it ÷ rate after it − 1", t.difference, "1"),
            evidence("figure with it ÷ figure without − 1", t.effect, "1"),
            evidence("repeats that show it", t.shows_in as f64, "1"),
            evidence("repeats", t.repeats as f64, "1"),
            evidence("probability without a transient", t.p, "1"),
        ];
        let severity = if t.effect.abs() < SMALL_EFFECT { Severity::Info } else { Severity::Warning };
        let found = rule.finding(severity, pair.subject(), message, figures);
        Some(found.changing(t.effect).advising(advice(pair.step, t.seconds)))
    };
    found.into_iter().filter_map(finding).collect()
}

fn advice(step: &Step, seconds: f64) -> String {
    if step.uses_data_up() {
        return "work that can be done only once has no ramp: use more data to see the sustained rate"
            .to_owned();
    }
    // Rounded up to the next tenth of a second.
    let ramp = ((step.ramp_ns as f64 / 1e9 + seconds) * 10.0 - 1e-6).ceil() / 10.0;
    format!("use --ramp {ramp:.1}s or more to exclude it")
}
