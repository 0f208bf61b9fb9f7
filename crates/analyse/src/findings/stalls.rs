//! Stalls: intervals without a completion, and single operations with extreme latency.

use model::{Finding, Interval, Operation, Phase, Severity};

use super::context::{Ended, Pair};
use super::words::time;
use super::{Rule, RuleContext, evidence, total};
use crate::stats::median;

/// An interval without a completion is a stall only where the usual interval has at least this many.
const USUAL_COUNT: f64 = 10.0;
/// A longer operation is reported even if it is less than [`TIMES_MEDIAN`] times the median.
const LONG_NS: u64 = 1_000_000_000;
/// An operation is long too if it takes this many times the median and longer than an interval.
const TIMES_MEDIAN: f64 = 100.0;

/// A period without completions within a repeat, in nanoseconds of the run.
#[derive(Clone, Copy)]
struct Gap {
    from_ns: u64,
    to_ns: u64,
    round: u32,
}

impl Gap {
    fn len_ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }
}

/// Operations that completed in an interval; a durable write counts as its write.
fn completions(interval: &Interval) -> u64 {
    total(interval.operations.iter().filter(|(o, _)| **o != Operation::DurableWrite).map(|(_, s)| s.count))
}

/// The gaps of one repeat. Where a final sync is due, the time after the last completed data operation is no gap.
fn gaps(pair: &Pair<'_>, r: &Ended<'_>) -> Vec<Gap> {
    let intervals = counted(r);
    let per_ns = |(_, len, count): &(u64, u64, u64)| *count as f64 / (*len).max(1) as f64;
    let usual = median(&intervals.iter().map(per_ns).collect::<Vec<_>>()).unwrap_or_default();
    if usual * (pair.step.interval_ns as f64) < USUAL_COUNT {
        return Vec::new();
    }
    let sync = &pair.step.workload.sync;
    let is_synced = pair.step.workload.writes_data() && (sync.at_end || sync.every > 0);
    let last = match is_synced {
        true => intervals.iter().rposition(|(.., count)| *count > 1).unwrap_or(0),
        false => intervals.len(),
    };
    // A stalled worker lengthens its interval, which then includes the completion that ended the stall.
    let is_dead = |interval: &&(u64, u64, u64)| interval.2 == 0 || per_ns(interval) * 1000.0 < usual;
    let mut gaps: Vec<Gap> = Vec::new();
    for (start, len, _) in intervals[..last].iter().filter(is_dead) {
        let (from_ns, to_ns) = {
            let from_ns = r.began_ns().saturating_add(*start);
            (from_ns, from_ns.saturating_add(*len))
        };
        match gaps.last_mut().filter(|gap| gap.to_ns == from_ns) {
            Some(gap) => gap.to_ns = to_ns,
            None => gaps.push(Gap { from_ns, to_ns, round: r.round() }),
        }
    }
    // The last, partial interval may be too short for a completion.
    gaps.retain(|gap| gap.len_ns().saturating_mul(2) > pair.step.interval_ns);
    gaps
}

/// Start, length and completions of each measured interval; intervals with the same start add up.
fn counted(r: &Ended<'_>) -> Vec<(u64, u64, u64)> {
    let mut intervals: Vec<(u64, u64, u64)> = Vec::new();
    for interval in r.repeat.intervals.iter().filter(|i| i.phase == Phase::Measure) {
        match intervals.iter_mut().find(|(start, ..)| *start == interval.start_ns) {
            Some((_, len, count)) => {
                *len = (*len).max(interval.len_ns);
                *count = count.saturating_add(completions(interval));
            }
            None => intervals.push((interval.start_ns, interval.len_ns, completions(interval))),
        }
    }
    intervals.sort_unstable();
    intervals
}

pub(super) fn stall(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let gaps: Vec<Gap> = pair.repeats.iter().flat_map(|r| gaps(pair, r)).collect();
        let longest = gaps.iter().max_by_key(|gap| gap.len_ns())?;
        let all_ns = total(gaps.iter().map(Gap::len_ns));
        let measured: f64 = pair.repeats.iter().map(Ended::seconds).sum();
        let began = pair.repeats.iter().find(|r| r.round() == longest.round)?.began_ns();
        let how_many = match gaps.len() {
            1 => "once".to_owned(),
            n => format!("{n} times, {} in total", time(all_ns as f64)),
        };
        let message = format!(
            "no operation completed for {}, {:.1} s into round {} ({how_many})",
            time(longest.len_ns() as f64),
            longest.from_ns.saturating_sub(began) as f64 / 1e9,
            longest.round + 1
        );
        let figures = vec![
            evidence("longest time without a completion", longest.len_ns() as f64, "ns")
                .in_rounds([longest.round])
                .between(longest.from_ns, longest.to_ns),
            evidence("total time without a completion", all_ns as f64, "ns").in_rounds(rounds(&gaps)),
            evidence("stalls", gaps.len() as f64, "1"),
        ];
        let found = rule.finding(Severity::Warning, pair.subject(), message, figures);
        Some(found.changing(all_ns as f64 / 1e9 / measured.max(1e-9)))
    };
    context.completed().filter(|p| p.is_closed_transfer()).filter_map(finding).collect()
}

fn rounds(gaps: &[Gap]) -> Vec<u32> {
    let mut rounds: Vec<u32> = gaps.iter().map(|gap| gap.round).collect();
    rounds.dedup();
    rounds
}

/// The slowest operation of a pair, if it is long: its latency, its kind, the median of that kind, its round, and the
/// number of repeats with a long operation.
fn slowest(pair: &Pair<'_>) -> Option<(u64, Operation, f64, u32, usize)> {
    let mut worst: Option<(u64, Operation, f64, u32, usize)> = None;
    // A durable write waits for its sync, and a sync takes as long as there is data to write.
    for operation in [Operation::Read, Operation::Write, Operation::Trim] {
        let Some(usual) = pair.median(|r| Some(r.measured(operation)?.lat.percentile_ns(50.0)? as f64))
        else {
            continue;
        };
        let is_long = |ns: u64| {
            let over_interval = ns > pair.step.interval_ns.max(100_000_000);
            let many = ns as f64 >= TIMES_MEDIAN * usual;
            // In a deep queue of slow storage every operation waits long.
            (ns >= LONG_NS && ns as f64 >= 5.0 * usual) || (over_interval && many)
        };
        let of = |r: &Ended<'_>| Some((r.measured(operation)?.lat.max_ns()?, r.round()));
        let long: Vec<(u64, u32)> =
            pair.repeats.iter().filter_map(of).filter(|(ns, _)| is_long(*ns)).collect();
        let Some((ns, round)) = long.iter().max().copied() else { continue };
        if worst.is_none_or(|(most, ..)| ns > most) {
            worst = Some((ns, operation, usual, round, long.len()));
        }
    }
    worst
}

pub(super) fn slow_operation(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let (ns, operation, usual, round, repeats) = slowest(pair)?;
        let message = format!(
            "the slowest {} took {}, {:.0} times the median ({}), in round {}; {repeats} of {} repeats have an operation that slow",
            operation.name().replace('_', " "),
            time(ns as f64),
            ns as f64 / usual,
            time(usual),
            round + 1,
            pair.repeats.len()
        );
        let r = pair.repeats.iter().find(|r| r.round() == round)?;
        let end_ns = r.ended_ns(pair.step);
        let figures = vec![
            evidence(format!("longest latency of a {operation}"), ns as f64, "ns")
                .in_rounds([round])
                .between(r.began_ns(), end_ns),
            evidence("median latency", usual, "ns"),
            evidence("repeats with an operation that slow", repeats as f64, "1"),
        ];
        let found = rule.finding(Severity::Warning, pair.subject(), message, figures);
        Some(found.changing(ns as f64 / 1e9 / r.seconds().max(1e-9) / 2.0))
    };
    // With a given load a stall shows in the percentiles, because all operations that waited count.
    context.completed().filter(|p| p.is_closed_transfer()).filter_map(finding).collect()
}
