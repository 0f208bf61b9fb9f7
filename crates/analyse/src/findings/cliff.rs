//! A cliff: the rate falls within a repeat, or after some rounds, and stays low. See [`crate::change`] for the test.

use model::{Finding, Operation, Severity};

use super::context::Pair;
use super::repeats::series;
use super::words::{amount, percent, rate, rounds};
use super::{Rule, RuleContext, evidence, total};
use crate::change::{Cliff, common_cliff};
use crate::repeats::threshold;
use crate::transient::Work;

/// The accepted chance that a run without any cliff is reported to have one.
const CHANCE: f64 = 0.05;
/// A mode is a cliff only if it is lower by at least this share.
const FALL: f64 = 0.3;

pub(super) fn write_cliff(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let mut found = within_repeats(rule, context, &|pair| pair.step.workload.writes_data());
    found.extend(between_rounds(rule, context, Operation::Write));
    found
}

pub(super) fn read_cliff(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let mut found = within_repeats(rule, context, &|pair| !pair.step.workload.modifies());
    found.extend(between_rounds(rule, context, Operation::Read));
    found
}

/// What may have been used up, in words.
fn reason(pair: &Pair<'_>) -> &'static str {
    match (pair.step.workload.writes_data(), pair.repeats.iter().all(|r| r.repeat.started.direct)) {
        (true, true) => "as when a fast cache of the device (SLC) or a volume's burst credit is used up",
        (true, false) => {
            "as when memory for unwritten data, a fast cache of the device (SLC) or a volume's burst credit is used up"
        }
        (false, _) => "as when a volume's burst credit, or what a cache held, is used up",
    }
}

/// Changes within repeats. All searches are one family for Benjamini and Hochberg's procedure.
fn within_repeats(
    rule: &Rule,
    context: &RuleContext<'_>,
    wanted: &dyn Fn(&Pair<'_>) -> bool,
) -> Vec<Finding> {
    let judged: Vec<(&Pair<'_>, Option<(Cliff, usize)>)> = context
        .completed()
        .filter(|pair| pair.is_closed_transfer())
        .map(|pair| {
            let series: Vec<Vec<Work>> = pair.repeats.iter().map(|r| series(r.repeat)).collect();
            (pair, common_cliff(&series))
        })
        .collect();
    let ps: Vec<f64> = judged.iter().map(|(_, found)| found.map_or(1.0, |(c, _)| c.p)).collect();
    let threshold = threshold(&ps, CHANCE);
    let finding = |(pair, found): (&Pair<'_>, Option<(Cliff, usize)>)| {
        let (c, shown_in) = found.filter(|(c, _)| c.p <= threshold && wanted(pair))?;
        let fall = 1.0 - c.after / c.before;
        let message = format!(
            "after {:.1} s and {} of a repeat the rate fell from {} to {} ({} less) and stayed there, in {shown_in} of {} repeats, {}",
            c.seconds,
            amount(context.units, c.amount as u64),
            rate(context.units, c.before),
            rate(context.units, c.after),
            percent(fall),
            pair.repeats.len(),
            reason(pair)
        );
        let figures = vec![
            evidence("rate before", c.before, "B/s"),
            evidence("rate after", c.after, "B/s"),
            evidence("bytes until then", c.amount, "B"),
            evidence("seconds into the repeat until then", c.seconds, "s"),
            evidence("repeats that show it", shown_in as f64, "1"),
            evidence("probability without a change", c.p, "1"),
        ];
        Some(rule.finding(Severity::Warning, pair.subject(), message, figures).changing(fall))
    };
    judged.into_iter().filter_map(finding).collect()
}

/// Repeats in two modes that changed once, from fast to slow: what was used up lasted longer than a repeat.
fn between_rounds(rule: &Rule, context: &RuleContext<'_>, operation: Operation) -> Vec<Finding> {
    let finding = |(pair, m, diagnostics): (&Pair<'_>, &model::Measurement, &crate::RepeatDiagnostics)| {
        let modes = diagnostics.modes.as_ref()?;
        let at = modes.changed_at()?;
        let fall = 1.0 - modes.low_mean / modes.high_mean;
        let is_fall = modes.high.first() < modes.low.first() && fall >= FALL;
        if m.operation != operation || m.metric != model::Metric::Bandwidth || !is_fall {
            return None;
        }
        let round = m.values[at].0;
        let first = pair.repeats.iter().find(|r| r.round() == round)?.began_ns();
        // The bytes that all steps moved before on this target in that direction.
        let earlier =
            context.completed().filter(|p| p.target.name == pair.target.name).flat_map(|p| &p.repeats);
        let earlier = earlier
            .filter(|r| r.began_ns() < first)
            .map(|r| if operation == Operation::Write { r.moved().1 } else { r.moved().0 });
        let bytes = total(earlier);
        let message = format!(
            "from {} on the rate was {} instead of {} ({} less) and stayed there; until then {} had moved in this direction on this target, {}",
            rounds(&[round]),
            rate(context.units, modes.low_mean),
            rate(context.units, modes.high_mean),
            percent(fall),
            amount(context.units, bytes),
            reason(pair)
        );
        let figures = vec![
            evidence("rate before", modes.high_mean, "B/s")
                .in_rounds(modes.high.iter().map(|i| m.values[*i].0)),
            evidence("rate after", modes.low_mean, "B/s").in_rounds(modes.low.iter().map(|i| m.values[*i].0)),
            evidence("bytes until then", bytes as f64, "B").between(0, first),
            evidence("probability with one mode", modes.p, "1"),
        ];
        Some(rule.finding(Severity::Warning, pair.subject(), message, figures).changing(fall))
    };
    context.headlines().filter_map(finding).collect()
}
