//! Targets that were made several times: whether their makings differ.

use model::{Finding, Measurement, PortableMath, Severity};
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::context::Pair;
use super::words::{figure, what};
use super::{Rule, RuleContext, evidence};

/// Accepted chance of a claim about any figure of the run, if no makings differ.
const ALPHA: f64 = 0.05;

/// The makings of a target that differ.
struct Differing {
    /// The mean of each making, in their order.
    means: Vec<f64>,
    /// The chance of means as different as these, if the makings were alike.
    p: f64,
}

/// An analysis of variance of the logarithms of the rounds' values, by making (Fisher, "Statistical Methods for Research
/// Workers", 1925). `None` if a making has no value, or none has two.
fn differing(values: &[(u32, f64)], makings: u32) -> Option<Differing> {
    if makings as usize > values.len() {
        return None;
    }
    let of = |making: u32| {
        let of = values.iter().filter(move |(round, value)| round % makings == making && *value > 0.0);
        of.map(|(_, value)| value.portable_ln()).collect::<Vec<_>>()
    };
    let groups: Vec<Vec<f64>> = (0..makings).map(of).collect();
    let n: usize = groups.iter().map(Vec::len).sum();
    let between = groups.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    let within = n.checked_sub(groups.len()).filter(|freedom| *freedom > 0)?;
    let mean = |group: &[f64]| group.iter().sum::<f64>() / group.len() as f64;
    let means: Vec<f64> =
        groups.iter().map(|group| (!group.is_empty()).then(|| mean(group))).collect::<Option<_>>()?;
    let all = groups.iter().flatten().sum::<f64>() / n as f64;
    let of_means = groups.iter().zip(&means).map(|(group, mean)| group.len() as f64 * (mean - all).powi(2));
    let of_rounds =
        groups.iter().zip(&means).flat_map(|(group, mean)| group.iter().map(move |v| (v - mean).powi(2)));
    let f = (of_means.sum::<f64>() / between as f64) / (of_rounds.sum::<f64>() / within as f64);
    let p = match f.is_finite() {
        true => FisherSnedecor::new(between as f64, within as f64).ok()?.sf(f),
        // Rounds without any scatter.
        false => 0.0,
    };
    Some(Differing { means: means.into_iter().map(f64::portable_exp).collect(), p })
}

pub(super) fn makings_differ(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let plan = &context.run.started.plan;
    if plan.makings < 2 {
        return Vec::new();
    }
    let all: Vec<(&Pair<'_>, &Measurement, Differing)> = context
        .headlines()
        .filter_map(|(pair, m, _)| Some((pair, m, differing(&m.values, plan.makings)?)))
        .collect();
    let limit = ALPHA / all.len().max(1) as f64;
    let finding = |(pair, m, Differing { means, p }): &(&Pair<'_>, &Measurement, Differing)| {
        let low = means.iter().copied().fold(f64::INFINITY, f64::min);
        let high = means.iter().copied().fold(0.0, f64::max);
        let apart = high / low - 1.0;
        let message = format!(
            "{} differs from making to making, by {:.0} %: from {} to {}, which is more than its rounds scatter",
            what(m),
            apart * 100.0,
            figure(context.units, m.metric, low),
            figure(context.units, m.metric, high),
        );
        let named = |(i, mean): (usize, &f64)| evidence(format!("making {}", i + 1), *mean, m.metric.unit());
        let mut figures = vec![evidence("probability of equal makings", *p, "1")];
        figures.extend(means.iter().enumerate().map(named));
        (*p <= limit && apart > plan.margin())
            .then(|| rule.finding(Severity::Info, pair.subject(), message, figures).changing(apart))
    };
    all.iter().filter_map(finding).collect()
}
