//! Storage that stalls: one finding for each target and step, or one for all targets where they stall together.

use std::collections::BTreeSet;

use model::{Finding, Measurement, Severity, Subject};

use super::context::Pair;
use super::words::{list, operations, rounds as rounds_in_words, time};
use super::{Rule, RuleContext, evidence, total};
use crate::stalls::{LongRun, Loss};
use crate::stats::normal_quantile;

/// The name of the rule that tells the story of a target that stalls.
pub(super) const STORY: &str = "stalled-repeats";
/// Rules that may show the same by other figures.
const SAME: [&str; 4] = ["stall", "slow-operation", "outliers", "two-modes"];
/// Lost time below this share is not reported.
const LOST: f64 = 0.01;
/// A lower limit of the share below this is none.
const NONE: f64 = 0.001;
/// Repeats from which it is.
const FEWEST_FOR_STALLS: usize = 10;
/// Chance of stalls in the same rounds by luck, over all pairs of targets, from which they are called together.
const TOGETHER_LEVEL: f64 = 0.01;

/// Gaps between stalls from which their regularity is told…
const FEWEST_GAPS: usize = 8;
/// … if they scatter by less than this share of their mean. Of eight gaps of stalls that come at random as many scatter so
/// little in 0.24 % of cases (40,000 simulated).
const MOST_SCATTER: f64 = 0.35;

/// What one target lost in one step, for an operation that is judged by its rate.
struct Lost<'a> {
    m: &'a Measurement,
    loss: Loss,
    /// Operations of that kind.
    operations: f64,
}

impl Lost<'_> {
    fn rounds(&self) -> Vec<u32> {
        self.loss.stalls.iter().map(|stalls| stalls.round).collect()
    }

    /// Seconds of work from one stall to the next, where these are about equal: a cache that is written back, or a limit that
    /// is enforced, from time to time. The clock is that of the target's own work.
    fn period(&self) -> Option<f64> {
        let (mut clock, mut at) = (0.0, Vec::new());
        for e in &self.m.exposures {
            let stalled = self.loss.stalls.iter().find(|stalls| stalls.round == e.round);
            let worked = e.seconds - stalled.map_or(0.0, |stalls| stalls.lost);
            match stalled.map(|stalls| stalls.count) {
                None => {}
                Some(1) => at.push(clock + worked / 2.0),
                // Where in the round each of several was is not known.
                Some(_) => return None,
            }
            clock += worked;
        }
        let gaps: Vec<f64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let squares: f64 = gaps.iter().map(|gap| (gap - mean).powi(2)).sum();
        let scatter = (squares / (gaps.len().max(2) - 1) as f64).sqrt();
        (gaps.len() >= FEWEST_GAPS && scatter < MOST_SCATTER * mean).then_some(mean)
    }

    /// True if more than half of the time was lost in these rounds.
    fn is_of(&self, rounds: &BTreeSet<u32>) -> bool {
        let there = self.loss.stalls.iter().filter(|stalls| rounds.contains(&stalls.round));
        there.map(|stalls| stalls.lost).sum::<f64>() > 0.5 * self.loss.share() * self.loss.seconds
    }
}

fn lost<'a>(makings: u32, pair: &Pair<'_>, m: &'a Measurement) -> Option<Lost<'a>> {
    let operations = total(pair.repeats.iter().filter_map(|r| Some(r.measured(m.operation)?.count)));
    let loss = LongRun::of(&m.values, &m.exposures, makings).loss;
    (m.exposures.len() >= FEWEST_FOR_STALLS).then_some(Lost { m, loss, operations: operations as f64 })
}

pub(super) fn stalled_repeats(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let makings = context.run.started.plan.makings;
    let all: Vec<Lost<'_>> = context.headlines().filter_map(|(pair, m, _)| lost(makings, pair, m)).collect();
    let told: Vec<&Lost<'_>> = all.iter().filter(|lost| lost.loss.share() >= LOST).collect();
    let rounds = together(&all);
    let (shared, own): (Vec<&Lost<'_>>, Vec<&Lost<'_>>) =
        told.iter().copied().partition(|lost| lost.is_of(&rounds));
    let mut found: Vec<Finding> = shared_finding(rule, context, &shared, &rounds).into_iter().collect();
    let own = if found.is_empty() { told } else { own };
    found.extend(own.into_iter().filter_map(|lost| own_finding(rule, lost, &all)));
    found
}

/// Rounds in which several targets stalled, in whichever step, where two of them did so in the same rounds more often than by
/// chance: by the hypergeometric distribution, corrected for the number of pairs (Bonferroni).
fn together(all: &[Lost<'_>]) -> BTreeSet<u32> {
    let names: BTreeSet<&str> = all.iter().map(|lost| lost.m.target.as_str()).collect();
    let rounds = |name: &&str| -> (BTreeSet<u32>, BTreeSet<u32>) {
        let of = || all.iter().filter(|lost| lost.m.target == **name);
        let measured = of().flat_map(|lost| lost.m.values.iter().map(|(round, _)| *round));
        (measured.collect(), of().flat_map(Lost::rounds).collect())
    };
    let sets: Vec<(BTreeSet<u32>, BTreeSet<u32>)> = names.iter().map(rounds).collect();
    let pairs = sets.len() * sets.len().saturating_sub(1) / 2;
    let mut found = BTreeSet::new();
    for (i, (measured, stalled)) in sets.iter().enumerate() {
        for (other_measured, other_stalled) in &sets[i + 1..] {
            let common: BTreeSet<u32> = measured & other_measured;
            let (one, other) = (stalled & &common, other_stalled & &common);
            let both: BTreeSet<u32> = &one & &other;
            let p = at_least_in_common(common.len(), one.len(), other.len(), both.len());
            if p * pairs as f64 <= TOGETHER_LEVEL {
                found.extend(both);
            }
        }
    }
    found
}

/// Probability that two random sets of `a` and `b` of `n` have `both` or more in common (hypergeometric).
fn at_least_in_common(n: usize, a: usize, b: usize, both: usize) -> f64 {
    // The probability of none in common, and from there each of one more.
    let [n, a, b] = [n, a, b].map(|count| count as f64);
    let least = (a + b - n).max(0.0);
    let ratio = |k: f64| (a - k) * (b - k) / ((k + 1.0) * (n - a - b + k + 1.0));
    let mut weights = vec![1.0];
    let mut k = least;
    while k < a.min(b) {
        weights.push(weights[weights.len() - 1] * ratio(k));
        k += 1.0;
    }
    let from = (both as f64 - least).max(0.0) as usize;
    weights.iter().skip(from).sum::<f64>() / weights.iter().sum::<f64>()
}

/// The finding about all targets that stalled together; `None` where only one did.
fn shared_finding(
    rule: &Rule,
    context: &RuleContext<'_>,
    shared: &[&Lost<'_>],
    rounds: &BTreeSet<u32>,
) -> Option<Finding> {
    let targets: BTreeSet<&str> = shared.iter().map(|lost| lost.m.target.as_str()).collect();
    let steps: BTreeSet<&str> = shared.iter().map(|lost| lost.m.step.as_str()).collect();
    if targets.len() < 2 {
        return None;
    }
    let names: Vec<String> = context
        .run
        .started
        .targets
        .iter()
        .map(|t| t.name.clone())
        .filter(|t| targets.contains(t.as_str()))
        .collect();
    let most = shared.iter().map(|lost| lost.loss.share()).fold(0.0, f64::max);
    let rounds: Vec<u32> = rounds.iter().copied().collect();
    let steps = match steps.len() {
        1 => "one step".to_owned(),
        n => format!("{n} steps"),
    };
    let message = format!(
        "{} stalled in the same rounds ({}), in {steps}, which cost up to {:.0} % of a step's time: what they have in \
         common stopped (the machine, its host, another program, a disk below them), not one of them",
        list(&names),
        rounds_in_words(&rounds),
        most * 100.0
    );
    let figure = |lost: &&Lost<'_>| {
        let what = format!("share of the time lost in stalls, {}", lost.m.target);
        evidence(what, lost.loss.share(), "1").in_step(&lost.m.step).in_rounds(lost.rounds())
    };
    let about = Subject { target: None, step: None };
    let mut finding = rule.finding(Severity::Warning, about, message, shared.iter().map(figure).collect());
    finding.advice = Some(
        "check what happened in those rounds (show --telemetry), then measure again without it".to_owned(),
    );
    Some(finding.changing(most))
}

/// The finding about one target in one step: a warning unless there was one stall only, which may remain the only one, and no
/// other target lost less.
fn own_finding(rule: &Rule, lost: &Lost<'_>, all: &[Lost<'_>]) -> Option<Finding> {
    let Lost { m, loss, operations: count } = lost;
    let (low, high) = loss.estimate().interval?;
    let same = |other: &&Lost<'_>| {
        (&other.m.step, other.m.operation) == (&m.step, m.operation) && other.m.target != m.target
    };
    let more_than: Vec<String> = all
        .iter()
        .filter(same)
        .filter(|other| lost_more(loss, &other.loss))
        .map(|other| match other.loss.count() {
            0 => format!("{} (none)", other.m.target),
            _ => format!("{} ({:.1} %)", other.m.target, other.loss.share() * 100.0),
        })
        .collect();
    let is_certain = (loss.count() > 1 && low >= NONE) || !more_than.is_empty();
    let than = match more_than.as_slice() {
        [] => String::new(),
        names => format!(", more than on {}", names.join(" and ")),
    };
    let stalls = f64::from(loss.count());
    let each_ns = loss.share() * loss.seconds / stalls * 1e9;
    let work_ns = (1.0 - loss.share()) * loss.seconds / stalls * 1e9;
    let rounds = lost.rounds();
    let period = lost.period();
    let how_often = match loss.count() {
        n if let Some(period) = period => format!(
            "stopped for {} after every {} of work ({n} times in {}), which leaves {:.0} % of the time for work",
            time(each_ns),
            time(period * 1e9),
            time(loss.seconds * 1e9),
            100.0 * (1.0 - loss.share())
        ),
        1 => format!("stopped once in {}, for {}", time(loss.seconds * 1e9), time(each_ns)),
        n => format!(
            "stopped {} in {}, for {} on average, about every {} or {:.0} operations",
            if n == 2 { "twice".to_owned() } else { format!("{n} times") },
            time(loss.seconds * 1e9),
            time(each_ns),
            time(work_ns),
            *count / stalls
        ),
    };
    let message = format!(
        "{} {how_often} ({}), which is {:.1} % of the time (95 %: {:.1} to {:.1} %){than}",
        operations(m.operation),
        rounds_in_words(&rounds),
        loss.share() * 100.0,
        low * 100.0,
        high * 100.0,
    );
    let mut figures = vec![
        evidence("share of the time lost in stalls", loss.share(), "1").in_rounds(rounds),
        evidence("stalls", stalls, "1"),
        evidence("mean length of a stall", each_ns, "ns"),
        evidence("mean time between stalls", work_ns, "ns"),
    ];
    let pause_ns = period.map(|period| period * 1e9 + each_ns);
    figures.extend(pause_ns.map(|ns| evidence("period of the stalls", ns, "ns")));
    let severity = if is_certain { Severity::Warning } else { Severity::Info };
    let about = Subject { target: Some(m.target.clone()), step: Some(m.step.clone()) };
    Some(rule.finding(severity, about, message, figures).changing(loss.share()))
}

/// True if one target lost more time than another, rarely by chance (5 %, one-sided): the distances of the two shares to their
/// limits add up by their squares (Zou and Donner, Statist. Med. 27, 2008).
fn lost_more(one: &Loss, other: &Loss) -> bool {
    let (z, longest) = (normal_quantile(0.95), one.longest().max(other.longest()));
    let down = one.share() - one.limits(z, longest).0;
    let up = other.limits(z, longest).1 - other.share();
    one.share() - other.share() > down.hypot(up)
}

/// Where targets stall, one finding tells it: those that show the same by other figures, in the same rounds, give it their
/// evidence.
pub(super) fn one_story(found: &mut Vec<Finding>, context: &RuleContext<'_>) {
    let stories: Vec<usize> = (0..found.len()).filter(|i| found[*i].rule == STORY).collect();
    let mut taken: Vec<(usize, usize)> = Vec::new();
    for (i, finding) in found.iter().enumerate().filter(|(_, f)| SAME.contains(&f.rule.as_str())) {
        let tells = |story: &&usize| {
            let about = &found[**story].subject;
            let (is_own, is_of_all) = (*about == finding.subject, about.target.is_none());
            (is_own || is_of_all) && is_in(finding, &rounds_of(&found[**story]), context)
        };
        taken.extend(stories.iter().find(tells).map(|story| (i, *story)));
    }
    for (i, story) in &taken {
        if found[*i].rule != "outliers" {
            let evidence = found[*i].evidence.clone();
            found[*story].evidence.extend(evidence);
        }
    }
    let mut at = 0;
    found.retain(|_| {
        at += 1;
        !taken.iter().any(|(i, _)| *i == at - 1)
    });
}

/// The rounds of a finding's evidence, counted from 0.
fn rounds_of(finding: &Finding) -> BTreeSet<u32> {
    let scopes = finding.evidence.iter().filter_map(|evidence| evidence.scope.as_ref());
    scopes.flat_map(|scope| &scope.rounds).map(|round| round - 1).collect()
}

/// True if what a finding reports was only in these rounds: the outliers, the smaller mode, or the time without a completion.
fn is_in(finding: &Finding, rounds: &BTreeSet<u32>, context: &RuleContext<'_>) -> bool {
    let diagnosed = || context.headlines().filter(|(pair, ..)| pair.subject() == finding.subject);
    let mut odd = diagnosed().flat_map(|(_, m, diagnostics)| {
        let modes = diagnostics.modes.as_ref();
        let smaller =
            modes.map(|modes| if modes.low.len() <= modes.high.len() { &modes.low } else { &modes.high });
        let indices: &[usize] = match finding.rule.as_str() {
            "outliers" => &diagnostics.outliers,
            _ => smaller.map_or(&[], Vec::as_slice),
        };
        indices.iter().map(|i| m.values[*i].0)
    });
    match finding.rule.as_str() {
        "outliers" | "two-modes" => odd.all(|round| rounds.contains(&round)),
        _ => rounds_of(finding).is_subset(rounds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_in_common_by_chance() {
        // Of 5 the pairs {1, 2} and any other pair: 1 of 10 is the same, 7 of 10 have one or two in common.
        assert!((at_least_in_common(5, 2, 2, 2) - 0.1).abs() < 1e-12);
        assert!((at_least_in_common(5, 2, 2, 1) - 0.7).abs() < 1e-12);
        assert!((at_least_in_common(5, 2, 2, 0) - 1.0).abs() < 1e-12);
        // Sets of 4 and 4 of 5 have three in common at least, four if they are the same.
        assert!((at_least_in_common(5, 4, 4, 4) - 0.2).abs() < 1e-12);
        assert!((at_least_in_common(5, 4, 4, 3) - 1.0).abs() < 1e-12);
        assert!((at_least_in_common(21, 0, 4, 0) - 1.0).abs() < 1e-12);
    }
}
