//! Plausibility limits. A figure beyond what any storage can do, or far from other figures of the same output, is an
//! error in the file and is left out. A figure that deviates a little is kept and becomes a finding.

use std::collections::{BTreeMap, BTreeSet};

use model::{Figure, Metric, Operation};

use super::report::{Problem, ProblemKind, Report};

/// A printed figure that differs from its own raw numbers by more than this factor is left out. A smaller deviation is
/// kept and becomes a finding: decimal and binary units differ by up to 1.13, bits and bytes by 8, and the figure of
/// one job from that of several jobs by a small factor.
pub const GROSS: f64 = 10.0;
/// The longest measured time in nanoseconds: a year.
pub const LONGEST_NS: u64 = 366 * 86_400 * 1_000_000_000;
/// The largest size of a file or device in bytes: offsets are signed (`off_t`).
pub const LARGEST_SIZE: u64 = i64::MAX as u64;
/// A limit for the bytes of one read or write; the kernel moves at most 2 GiB in one call.
const MOST_BYTES_AT_ONCE: f64 = 64.0 * 1_073_741_824.0;

/// The largest value of a metric, in its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceiling {
    /// The value.
    pub most: f64,
    /// The value as text for a message.
    pub words: &'static str,
    /// Why no figure exceeds it.
    pub reason: &'static str,
}

/// The ceiling of a metric.
pub fn ceiling(metric: Metric) -> Ceiling {
    let ceiling = |most, words, reason| Ceiling { most, words, reason };
    match metric {
        Metric::Bandwidth => {
            ceiling(1e14, "100 TB/s", "the largest parallel filesystems reach 10 TB/s in total")
        }
        Metric::Iops => ceiling(1e10, "10 billion per second", "one processor completes about ten million"),
        Metric::LatMean
        | Metric::LatP50
        | Metric::LatP95
        | Metric::LatP99
        | Metric::LatP999
        | Metric::LatMax
        | Metric::LatMin
        | Metric::LatStddev
        | Metric::SlatMean
        | Metric::ClatMean
        | Metric::CpuUserPerIo => {
            ceiling(1e15, "11.6 days", "the kernel and network filesystems give up after minutes or hours")
        }
        Metric::SyncShare => ceiling(1e5, "100000", "it is above 1 only where syncs are in flight at once"),
        Metric::Cpu => ceiling(1.01, "101 %", "it is a share of all processors"),
        Metric::CpuJob => ceiling(1e5, "100000", "no process has as many threads"),
        Metric::StalledShare => ceiling(1.0, "1", "it is a share of the time"),
        Metric::Spread => ceiling(1e3, "1000", "so few rates have so large a deviation"),
        Metric::Mismatches => ceiling(1e18, "10¹⁸", "no storage has that many blocks"),
        Metric::QueueDepth => ceiling(1e7, "10 million", "an NVMe queue has at most 65536 entries"),
        Metric::DeviceRatio => ceiling(1e6, "1 million", "one byte moves at most a few blocks"),
        Metric::Score => ceiling(1e9, "1 billion", "scores are computed from the other figures"),
    }
}

/// Removes impossible figures from a report and returns a problem for each.
pub(super) fn refuse(report: &mut Report) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut refused: BTreeSet<usize> = BTreeSet::new();
    for (at, figure) in report.figures.iter().enumerate() {
        if let Some((kind, message)) = wrong(figure) {
            refused.insert(at);
            problems.push(Problem::new(line(report, figure), kind, message));
        }
    }
    for (a, b, why) in contradictory(&report.figures) {
        // A figure that is already left out is no evidence against the other.
        if refused.contains(&a) || refused.contains(&b) {
            continue;
        }
        let (first, second) = (&report.figures[a], &report.figures[b]);
        let message =
            format!("{} and {} contradict each other: {why}; both are left out", named(first), named(second));
        problems.push(Problem::new(line(report, first), ProblemKind::Contradictory, message));
        refused.extend([a, b]);
    }
    let mut at = 0..;
    report.figures.retain(|_| at.next().is_some_and(|at| !refused.contains(&at)));
    refuse_extent(report, &mut problems);
    problems
}

/// Removes an impossible time, size, count or offset.
fn refuse_extent(report: &mut Report, problems: &mut Vec<Problem>) {
    let first = report.line;
    let mut problem = |what: &str| {
        let message = format!("{what}; it is left out");
        problems.push(Problem::new(first, ProblemKind::Impossible, message));
    };
    if report.window_ns > LONGEST_NS {
        report.window_ns = 0;
        report.unsaid(&["window_ns"]);
        problem("the measured time is longer than a year");
    }
    if report.size_bytes > LARGEST_SIZE {
        report.size_bytes = 0;
        report.unsaid(&["size_bytes"]);
        problem("the size exceeds 8 EiB");
    }
    let most_ios = ceiling(Metric::Iops).most * (LONGEST_NS / 1_000_000_000) as f64;
    let longest = ceiling(Metric::LatMax).most;
    let stats = report.stats.len();
    report.stats.retain(|_, stats| {
        let mut totals = [stats.clat, stats.slat].into_iter().flatten();
        let (counted, slowest) = (stats.count.max(stats.lat.count()), stats.lat.max_ns());
        stats.bytes <= LARGEST_SIZE
            && counted as f64 <= most_ios
            && slowest.is_none_or(|ns| ns as f64 <= longest)
            && totals.all(|t| t.count as f64 <= most_ios && t.mean_ns().is_none_or(|ns| ns <= longest))
    });
    if report.stats.len() < stats {
        problem("a histogram has counts or latencies that no storage reaches");
    }
    let logs = report.offset_log.len();
    report.offset_log.retain(|_, log| {
        let is_possible =
            |offset: u64, bytes: u64| offset.checked_add(bytes).is_some_and(|end| end <= LARGEST_SIZE);
        log.kept.iter().all(|p| is_possible(p.offset, p.bytes) && p.ns as f64 <= longest)
    });
    if report.offset_log.len() < logs {
        problem("the offset log has offsets or latencies that no storage reaches");
    }
}

/// Why a figure is impossible on its own.
fn wrong(figure: &Figure) -> Option<(ProblemKind, String)> {
    let printed = figure.printed.as_ref().map(|p| (p.value, p.error));
    let recomputed = figure.recomputed.as_ref().map(|r| (r.value, r.error));
    let values = [Some((figure.value, 0.0)), printed, recomputed];
    let mut values = values.into_iter().flatten();
    let Ceiling { most, words, .. } = ceiling(figure.metric);
    let named = named(figure);
    let impossible = |what: String| Some((ProblemKind::Impossible, what));
    if values.clone().any(|(value, error)| !value.is_finite() || !error.is_finite()) {
        impossible(format!("{named} is not a finite number; it is left out"))
    } else if values.clone().any(|(value, _)| value < 0.0) {
        impossible(format!("{named} is negative; it is left out"))
    } else if values.any(|(value, _)| value > most) {
        impossible(format!("{named} exceeds what any storage reaches ({words}); it is left out"))
    } else {
        let ((printed, _), raw) = (printed?, figure.recomputed.as_ref()?);
        let is_gross = printed.max(raw.value) > GROSS * printed.min(raw.value);
        (is_gross && figure.contradiction().is_some()).then(|| {
            let message = format!(
                "{named} differs by a factor of more than {GROSS} from the value recomputed from the same \
                 file ({}: {:.6e} {}); it is left out",
                raw.from,
                raw.value,
                figure.metric.unit()
            );
            (ProblemKind::Contradictory, message)
        })
    }
}

/// Pairs of figures of one operation that cannot both be right, with the reason.
fn contradictory(figures: &[Figure]) -> Vec<(usize, usize, &'static str)> {
    // A map, because a malformed report may have any number of figures.
    let first = |metric: Metric| {
        let mut indices: BTreeMap<Operation, usize> = BTreeMap::new();
        for (at, figure) in figures.iter().enumerate().filter(|(_, f)| f.metric == metric) {
            indices.entry(figure.operation).or_insert(at);
        }
        indices
    };
    let (largest, rates) = (first(Metric::LatMax), first(Metric::Iops));
    let mut found = Vec::new();
    for (at, figure) in figures.iter().enumerate() {
        match figure.metric {
            Metric::LatMean
            | Metric::LatP50
            | Metric::LatP95
            | Metric::LatP99
            | Metric::LatP999
            | Metric::LatMin
            | Metric::LatStddev
            | Metric::ClatMean
            | Metric::SlatMean => {
                let Some(&max) = largest.get(&figure.operation) else { continue };
                let error = figures[max].printed.as_ref().map_or(0.0, |p| p.error);
                // A percentile is the edge of a bin, which may lie above the maximum.
                if figure.value > GROSS * (figures[max].value + error) {
                    found.push((at, max, "no latency exceeds the maximum"));
                }
            }
            Metric::Bandwidth if matches!(figure.operation, Operation::Read | Operation::Write) => {
                let Some(&iops) = rates.get(&figure.operation) else { continue };
                let (rate, ios) = (figure.value, figures[iops].value);
                if ios > 1.0 && (rate > ios * MOST_BYTES_AT_ONCE || rate * GROSS < ios) {
                    found.push((at, iops, "their quotient is not a possible block size"));
                }
            }
            _ => {}
        }
    }
    found
}

fn line(report: &Report, figure: &Figure) -> u32 {
    figure.printed.as_ref().map_or(report.line, |printed| printed.line)
}

/// The figure as text: its metric, operation and printed value.
fn named(figure: &Figure) -> String {
    let metric = figure.metric.name().replace('_', " ");
    let operation = figure.operation.name().replace('_', " ");
    let value = match (&figure.printed, &figure.recomputed) {
        (Some(printed), _) => format!("`{}`", printed.text),
        (None, Some(raw)) => format!("{:e} {} from {}", raw.value, figure.metric.unit(), raw.from),
        (None, None) => format!("{:e} {}", figure.value, figure.metric.unit()),
    };
    format!("{metric} ({operation}), {value},")
}

#[cfg(test)]
mod tests {
    use model::Workload;

    use super::super::text::Num;
    use super::*;

    fn refused(figures: &[(Metric, f64, Option<f64>)]) -> (usize, Vec<Problem>) {
        let mut report = Report::new("fio", 1, "x", Workload::random_reads());
        for (metric, printed, raw) in figures {
            let printed = Some((format!("{printed}"), Num::exact(*printed), 7));
            let raw = raw.map(|raw| (Num::exact(raw), "bytes / seconds"));
            report.figure((Operation::Read, *metric), printed, raw);
        }
        let problems = refuse(&mut report);
        (report.figures.len(), problems)
    }

    /// Imports accepted 1e308 IOPS, a bandwidth of 1e15 and latencies of 1e26.
    #[test]
    fn a_figure_above_its_ceiling_is_left_out() {
        for metric in Metric::ALL {
            let most = ceiling(metric).most;
            assert_eq!(refused(&[(metric, most, None)]), (1, vec![]), "{metric}");
            for value in [most * 1.001, f64::NAN, f64::INFINITY, -1.0] {
                let (left, problems) = refused(&[(metric, value, None)]);
                assert_eq!((left, problems.len()), (0, 1), "{metric} {value}");
                assert_eq!((problems[0].line, problems[0].kind), (7, ProblemKind::Impossible));
            }
        }
    }

    #[test]
    fn only_gross_contradictions_are_left_out() {
        assert_eq!(refused(&[(Metric::Bandwidth, 8e6, Some(1e6))]).0, 1, "bits and bytes are a finding");
        let (left, problems) = refused(&[(Metric::Bandwidth, 2e7, Some(1e6)), (Metric::LatMean, 1.0, None)]);
        assert_eq!((left, problems[0].line, problems[0].kind), (1, 7, ProblemKind::Contradictory));
        assert_eq!(refused(&[(Metric::Bandwidth, 1e4, Some(1e6))]).0, 0);
    }

    #[test]
    fn a_mean_far_above_the_maximum_leaves_both_out() {
        let figures = [(Metric::LatMean, 1e9, None), (Metric::LatMax, 1e6, None), (Metric::Iops, 5.0, None)];
        let (left, problems) = refused(&figures);
        assert_eq!((left, problems.len()), (1, 1));
        assert_eq!(refused(&[(Metric::LatP99, 1.05e6, None), (Metric::LatMax, 1e6, None)]).0, 2);
    }
}
