//! Steps that differ only in block size, in queue depth or in the pages of their buffers.

use model::{
    BlockSizes, BufferPages, Comparison, Finding, Metric, Modifiers, Operation, Severity, Verdict, Workload,
    units::ExactSize,
};

use super::context::{Against, Pair};
use super::words::{by, figure, in_order, percent, rate, time};
use super::{Rule, RuleContext, evidence, subject};
use crate::compare::headline;

/// One step of a sweep: the varied value and the figures.
struct Point<'a> {
    pair: &'a Pair<'a>,
    x: u64,
    bandwidth: f64,
    p50: f64,
}

/// Groups the steps of each target that are equal except for what `without` removes; each group is sorted by `x`.
fn groups<'a>(
    context: &'a RuleContext<'_>,
    x: fn(&Workload) -> u64,
    without: fn(&Workload) -> Workload,
) -> Vec<(&'a Pair<'a>, Operation, Vec<Point<'a>>)> {
    let mut groups: Vec<(&Pair<'_>, Operation, Vec<Point<'_>>)> = Vec::new();
    for pair in context.completed().filter(|p| p.is_closed_transfer()) {
        let Some(operation) = pair
            .step
            .workload
            .operations()
            .into_iter()
            .find(|o| headline(pair.step, *o) == Some(Metric::Bandwidth))
        else {
            continue;
        };
        let (Some(bandwidth), Some(p50)) = (
            context.value(pair, operation, Metric::Bandwidth),
            context.value(pair, operation, Metric::LatP50),
        ) else {
            continue;
        };
        let point = Point { pair, x: x(&pair.step.workload), bandwidth, p50 };
        let is_alike = |(first, ..): &&mut (&Pair<'_>, Operation, Vec<Point<'_>>)| {
            first.target.name == pair.target.name
                && first.step.prepare == pair.step.prepare
                && without(&first.step.workload) == without(&pair.step.workload)
        };
        match groups.iter_mut().find(is_alike) {
            Some((.., points)) => points.push(point),
            None => groups.push((pair, operation, vec![point])),
        }
    }
    for (.., points) in &mut groups {
        points.sort_by_key(|point| point.x);
        points.dedup_by_key(|point| point.x);
    }
    groups
}

/// A rate of at least this share of the best counts as the best.
const NEARLY: f64 = 0.9;

/// How many times the bandwidth of `other` a point has at least, and at most, by the 95 % interval.
fn times(
    context: &RuleContext<'_>,
    point: &Point<'_>,
    other: &Point<'_>,
    operation: Operation,
) -> Option<(f64, f64)> {
    if point.x == other.x {
        return Some((1.0, 1.0));
    }
    let against = Against { of: point.pair, to: other.pair, operation, metric: Metric::Bandwidth };
    context.ratios(&[against]).pop()??.ratio.interval
}

/// True if a point's bandwidth is decided to be higher than another's, where any of the points could have been compared.
fn is_faster(
    context: &RuleContext<'_>,
    point: &Point<'_>,
    other: &Point<'_>,
    points: &[Point<'_>],
    operation: Operation,
) -> bool {
    let others: Vec<&Point<'_>> = points.iter().filter(|p| p.x != other.x).collect();
    let mut all = Vec::new();
    for p in &others {
        all.push(Against { of: p.pair, to: other.pair, operation, metric: Metric::Bandwidth });
    }
    let at = others.iter().position(|p| p.x == point.x);
    at.and_then(|at| context.ratios(&all)[at].as_ref().map(|c| c.verdict == Verdict::Faster)).unwrap_or(false)
}

/// The first point that surely has nearly the best bandwidth.
fn first_near_best<'p, 'a>(
    context: &RuleContext<'_>,
    points: &'p [Point<'a>],
    operation: Operation,
) -> Option<&'p Point<'a>> {
    let best = points.iter().max_by(|a, b| a.bandwidth.total_cmp(&b.bandwidth))?;
    let is_near =
        |p: &&Point<'_>| times(context, p, best, operation).is_some_and(|(least, _)| least >= NEARLY);
    points.iter().find(is_near)
}

pub(super) fn block_size(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    /// Sizes whose largest is less than this many times the smallest are not a sweep.
    const SPAN: u64 = 64;
    /// A smaller factor is not reported.
    const FACTOR: f64 = 2.0;
    let groups = groups(
        context,
        |w| u64::from(w.largest_block()),
        |w| Workload { block: BlockSizes::uniform(0), ..w.clone() },
    );
    let finding = |(pair, operation, points): (&Pair<'_>, Operation, Vec<Point<'_>>)| {
        let (small, large) = (points.iter().find(|p| p.x >= 4096)?, points.last()?);
        let enough = first_near_best(context, &points, operation)?;
        if large.x < small.x * SPAN || times(context, large, small, operation)?.0 < FACTOR {
            return None;
        }
        let of = |p: &Point<'_>| ExactSize(p.x).to_string();
        let message = format!(
            "{} of {} reach {} ({} of the {} with {}); {}",
            in_order(&pair.step.workload, operation),
            of(small),
            rate(context.units, small.bandwidth),
            percent(small.bandwidth / large.bandwidth),
            rate(context.units, large.bandwidth),
            of(large),
            match enough.x == large.x {
                true => "larger blocks were not measured".to_owned(),
                false => format!("blocks larger than {} are less than 10 % faster", of(enough)),
            }
        );
        let mut figures =
            vec![evidence("smallest block size within 10 % of the best bandwidth", enough.x as f64, "B")];
        figures.extend(points.iter().map(|p| {
            evidence(format!("bandwidth with {}", of(p)), p.bandwidth, "B/s").in_step(&p.pair.step.id)
        }));
        let found = rule.finding(Severity::Info, subject(pair.target, Some(pair.step)), message, figures);
        Some(found.changing(1.0 - small.bandwidth / large.bandwidth))
    };
    groups.into_iter().filter_map(finding).collect()
}

pub(super) fn queue_depth_knee(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let groups = groups(context, |w| u64::from(w.iodepth), |w| Workload { iodepth: 0, ..w.clone() });
    let finding = |(pair, operation, points): (&Pair<'_>, Operation, Vec<Point<'_>>)| {
        if points.len() < 3 {
            return None;
        }
        let (first, last) = (points.first()?, points.last()?);
        let best = points.iter().map(|p| p.bandwidth).fold(0.0, f64::max);
        let knee = first_near_best(context, &points, operation)?;
        // The gain that the sentence names must be decided.
        let lower = if knee.x == last.x { &points[points.len() - 2] } else { first };
        if knee.x != lower.x && !is_faster(context, knee, lower, &points, operation) {
            return None;
        }
        let what = in_order(&pair.step.workload, operation);
        let message = if knee.x == last.x {
            format!(
                "{what}: depth {} still gains {} over depth {}; the knee is there or beyond",
                last.x,
                percent(last.bandwidth / points[points.len() - 2].bandwidth - 1.0),
                points[points.len() - 2].x
            )
        } else if knee.x == first.x {
            format!(
                "{what}: depth {} reaches at least 90 % of the best rate; beyond it the median latency only rises, from {} to {} at depth {}",
                first.x,
                time(first.p50),
                time(last.p50),
                last.x
            )
        } else {
            format!(
                "{what}: depth {} reaches {} of the best rate and {:.1} times that of depth {}; beyond it the median latency only rises, from {} to {} at depth {}",
                knee.x,
                percent(knee.bandwidth / best),
                knee.bandwidth / first.bandwidth,
                first.x,
                time(knee.p50),
                time(last.p50),
                last.x
            )
        };
        let mut figures =
            vec![evidence("smallest depth within 10 % of the best bandwidth", knee.x as f64, "1")];
        for p in &points {
            figures.push(
                evidence(format!("bandwidth at depth {}", p.x), p.bandwidth, "B/s").in_step(&p.pair.step.id),
            );
            figures.push(
                evidence(format!("median latency at depth {}", p.x), p.p50, "ns").in_step(&p.pair.step.id),
            );
        }
        let found = rule.finding(Severity::Info, subject(pair.target, Some(pair.step)), message, figures);
        let found = if knee.x == last.x { found.advising("try deeper queues") } else { found };
        Some(found.changing(1.0 - first.bandwidth / best))
    };
    groups.into_iter().filter_map(finding).collect()
}

/// Steps with buffers in ordinary pages, against the same work with buffers in huge pages.
pub(super) fn ordinary_pages(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    /// A smaller change of the rate is not reported.
    const CHANGE: f64 = 0.1;
    let in_huge_pages = |w: &Workload| Workload {
        modifiers: Modifiers { buffers: BufferPages::Huge, ..w.modifiers.clone() },
        ..w.clone()
    };
    let of = |pair| {
        let Pair { step, target, .. }: &Pair<'_> = pair;
        let is_same = |other: &&Pair<'_>| {
            other.target.name == target.name
                && other.step.prepare == step.prepare
                && other.step.workload == in_huge_pages(&step.workload)
        };
        let to = context.completed().find(is_same).filter(|other| other.step.id != step.id)?;
        let operation = step.operations().into_iter().find(|o| headline(step, *o).is_some())?;
        Some(Against { of: pair, to, operation, metric: headline(step, operation)? })
    };
    let all: Vec<Against<'_, '_>> = context
        .completed()
        .filter(|p| p.step.workload.modifiers.buffers == BufferPages::Normal)
        .filter_map(of)
        .collect();
    let ratios = context.ratios(&all);
    let finding = |(against, compared): (&Against<'_, '_>, Option<Comparison>)| {
        let Against { of, to, operation, metric } = *against;
        let share =
            compared.filter(|c| matches!(c.verdict, Verdict::Faster | Verdict::Slower))?.ratio.value - 1.0;
        let [normal, huge] = [of, to].map(|p| context.value(p, operation, metric));
        let (normal, huge) = (normal?, huge?);
        let message = format!(
            "{operation} {} with buffers in the ordinary pages that most applications have, {} in huge pages ({})",
            figure(context.units, metric, normal),
            figure(context.units, metric, huge),
            by(share, "more", "less")
        );
        let evidence = vec![
            evidence("ordinary pages", normal, metric.unit()),
            evidence("huge pages", huge, metric.unit()),
        ];
        (share.abs() >= CHANGE)
            .then(|| rule.finding(Severity::Info, of.subject(), message, evidence).changing(share.abs()))
    };
    all.iter().zip(ratios).filter_map(finding).collect()
}
