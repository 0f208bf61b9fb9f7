//! `write_bw_log`, `write_iops_log`, `write_lat_log`: lines of milliseconds, value, direction, block size, offset. What the value
//! is stands only in the file's name. With `log_avg_msec` a line is the mean of an interval, and its block size is 0; without it
//! a line is one operation.

use std::collections::BTreeMap;

use model::{LatencyRecorder, Metric, Operation, OperationStats};

use super::{Job, KIB, TOOL};
use crate::import::report::{Parsed, ProblemKind, Report, ReportInterval};
use crate::import::text::{Num, Text};

/// Milliseconds of an interval into which single operations are counted.
const BIN_MS: u64 = 1000;
/// Most intervals of a log of single operations; a longer one has wider intervals.
const MOST_BINS: u64 = 10_000;

/// What the values of a log are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogKind {
    metric: Metric,
    words: &'static str,
}

/// The kinds by the ends of their names.
const KINDS: [(&str, LogKind); 5] = [
    ("_bw", LogKind { metric: Metric::Bandwidth, words: "bandwidth" }),
    ("_iops", LogKind { metric: Metric::Iops, words: "IOPS" }),
    ("_clat", LogKind { metric: Metric::ClatMean, words: "completion latency" }),
    ("_slat", LogKind { metric: Metric::SlatMean, words: "submission latency" }),
    ("_lat", LogKind { metric: Metric::LatMean, words: "latency" }),
];

/// The name of a log, such as `ext4_bw.2.log`: what precedes its end, its kind, and the number of its job.
pub fn log_name(name: &str) -> Option<(&str, LogKind, u32)> {
    let stem = name.strip_suffix(".log")?;
    let (stem, job) = match stem.rsplit_once('.') {
        Some((before, number)) => (before, number.parse().ok()?),
        None => (stem, 1),
    };
    KINDS.iter().find_map(|(end, kind)| Some((stem.strip_suffix(end)?, *kind, job)))
}

struct Entry {
    ms: u64,
    value: f64,
    operation: Operation,
    bytes: u64,
    columns: usize,
}

fn entry(text: &str) -> Option<Entry> {
    let fields: Vec<u64> = text.split(',').map(|field| field.trim().parse().ok()).collect::<Option<_>>()?;
    let [ms, value, direction, bytes, ..] = fields[..] else { return None };
    let operation =
        [Operation::Read, Operation::Write, Operation::Trim].get(usize::try_from(direction).ok()?)?;
    Some(Entry { ms, value: value as f64, operation: *operation, bytes, columns: fields.len() })
}

/// True if every line is one of a log; the last one may be cut off.
pub(super) fn recognises(text: &Text<'_>) -> bool {
    let lines: Vec<&str> =
        text.lines.iter().map(|line| line.text.trim()).filter(|text| !text.is_empty()).collect();
    let whole = lines.len() - usize::from(lines.len() > 1);
    !lines.is_empty() && lines[..whole].iter().all(|text| entry(text).is_some())
}

/// The log of a file of this name.
pub(super) fn parse(text: &Text<'_>, name: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let Some((_, kind, job)) = log_name(name) else {
        let message = "a log of fio, whose values only its name explains: it must end in _bw.1.log, _iops.1.log, _lat.1.log, \
                       _clat.1.log or _slat.1.log, as fio names it";
        parsed.problem(1, ProblemKind::Unrecognised, message);
        return parsed;
    };
    let entries: Vec<Entry> = text.lines.iter().filter_map(|line| entry(line.text.trim())).collect();
    let written = text.lines.iter().filter(|line| !line.text.trim().is_empty()).count();
    if entries.len() < written {
        parsed.problem(text.last_number(), ProblemKind::CutOff, "the last line of the log is cut off");
    }
    let end_ms = entries.iter().map(|entry| entry.ms).max().unwrap_or(0);
    if end_ms == 0 {
        parsed.problem(1, ProblemKind::NoFigures, "the log covers less than a millisecond");
        return parsed;
    }
    let mut report = described(kind, job, &entries);
    report.last_line = text.last_number();
    report.lasted(end_ms as f64 / 1e3);
    if entries.iter().any(|entry| entry.bytes > 0) {
        operations(kind, &entries, end_ms, &mut report);
    } else {
        intervals(kind, &entries, &mut report);
    }
    parsed.reports.push(report);
    parsed
}

fn described(kind: LogKind, job: u32, entries: &[Entry]) -> Report {
    let has = |operation| entries.iter().any(|entry| entry.operation == operation);
    let (rw, words) = match [Operation::Read, Operation::Write, Operation::Trim].map(has) {
        [true, true, _] => ("rw", "reads and writes"),
        [true, ..] => ("read", "reads"),
        [_, true, _] => ("write", "writes"),
        _ => ("trim", "trims"),
    };
    let block =
        entries.first().map(|entry| entry.bytes).filter(|bytes| entries.iter().all(|e| e.bytes == *bytes));
    let block = block.filter(|bytes| *bytes > 0).and_then(|bytes| u32::try_from(bytes).ok());
    let job = Job { name: format!("{job}"), rw: Some(rw.to_owned()), block, ..Job::default() };
    let mut report = job.report(1);
    report.title = format!("{TOOL} log: {} of {words}", kind.words);
    if let Some(block) = block {
        report.title.push_str(&format!(", {}", crate::import::text::block_words(block)));
    }
    if job.name != "1" {
        report.title.push_str(&format!(", job {}", job.name));
    }
    report.unsaid(&["rw", "sync latency"]);
    report
}

/// Nanoseconds of a latency: fio 3 writes nanoseconds and always the offset, fio 2 microseconds.
fn ns(entry: &Entry) -> f64 {
    if entry.columns > 4 { entry.value } else { entry.value * 1e3 }
}

/// A line is an operation: work over time is the rate, and a log of latencies has their distribution.
fn operations(kind: LogKind, entries: &[Entry], end_ms: u64, report: &mut Report) {
    let bin_ms = BIN_MS.max(end_ms.div_ceil(MOST_BINS));
    let mut done: BTreeMap<u64, BTreeMap<Operation, (u64, u64)>> = BTreeMap::new();
    let mut all: BTreeMap<Operation, (u64, u64, LatencyRecorder)> = BTreeMap::new();
    for entry in entries {
        // An operation of the last millisecond belongs to the last interval.
        let bin = entry.ms.min(end_ms - 1) / bin_ms;
        let counted = done.entry(bin).or_default().entry(entry.operation).or_default();
        let (count, bytes, latencies) = all.entry(entry.operation).or_default();
        for (count, bytes) in [(&mut counted.0, &mut counted.1), (count, bytes)] {
            *count += 1;
            *bytes = bytes.saturating_add(entry.bytes);
        }
        latencies.record(ns(entry) as u64);
    }
    let time = Num { value: end_ms as f64 / 1e3, error: 1e-3 };
    for (operation, (count, bytes, latencies)) in all {
        let rate = |amount: u64| Num::exact(amount as f64).over(time);
        report.figure(
            (operation, Metric::Bandwidth),
            None,
            rate(bytes).map(|n| (n, "bytes of the log / its time")),
        );
        report.figure(
            (operation, Metric::Iops),
            None,
            rate(count).map(|n| (n, "lines of the log / its time")),
        );
        let headline = match kind.metric {
            Metric::LatMean => {
                let stats =
                    OperationStats { count, bytes, lat: latencies.finish(), ..OperationStats::default() };
                report.stats.insert(operation, stats);
                let mean = mean_ns(entries, operation);
                report.figure((operation, Metric::LatMean), None, Some((mean, "mean of the lines")));
                Metric::LatMean
            }
            Metric::SlatMean | Metric::ClatMean => {
                let mean = mean_ns(entries, operation);
                report.figure((operation, kind.metric), None, Some((mean, "mean of the lines")));
                kind.metric
            }
            other => other,
        };
        report.headlines.push((operation, headline));
    }
    let interval = |(bin, done)| {
        let start_ms = bin * bin_ms;
        let len_ms = bin_ms.min(end_ms - start_ms);
        ReportInterval { start_ns: start_ms * 1_000_000, len_ns: len_ms * 1_000_000, done }
    };
    report.intervals = done.into_iter().map(interval).collect();
}

fn mean_ns(entries: &[Entry], operation: Operation) -> Num {
    let of = || entries.iter().filter(|entry| entry.operation == operation).map(ns);
    Num { value: of().sum::<f64>() / of().count() as f64, error: 0.5 }
}

/// A line is the mean of the time since the line before it of the same direction.
fn intervals(kind: LogKind, entries: &[Entry], report: &mut Report) {
    let mut before: BTreeMap<Operation, u64> = BTreeMap::new();
    let mut sums: BTreeMap<Operation, (f64, f64)> = BTreeMap::new();
    let mut done: BTreeMap<(u64, u64), BTreeMap<Operation, (u64, u64)>> = BTreeMap::new();
    for entry in entries {
        let start = before.insert(entry.operation, entry.ms).unwrap_or(0);
        // The rest at the end is a line without time.
        let Some(ms) = entry.ms.checked_sub(start).filter(|ms| *ms > 0) else { continue };
        let value = match kind.metric {
            Metric::Bandwidth => entry.value * KIB,
            Metric::Iops => entry.value,
            _ => ns(entry),
        };
        let sum = sums.entry(entry.operation).or_default();
        *sum = (sum.0 + value * ms as f64, sum.1 + ms as f64);
        let amount = (value * ms as f64 / 1e3).round() as u64;
        let counted = done.entry((start, ms)).or_default().entry(entry.operation).or_default();
        match kind.metric {
            Metric::Bandwidth => counted.1 = amount,
            Metric::Iops => counted.0 = amount,
            _ => {}
        }
    }
    for (operation, (sum, ms)) in sums {
        let mean = Num { value: sum / ms, error: sum / ms * 0.01 };
        report.figure((operation, kind.metric), None, Some((mean, "time-weighted mean of the lines")));
        report.headlines.push((operation, kind.metric));
    }
    if matches!(kind.metric, Metric::Bandwidth | Metric::Iops) {
        let interval = |((start, ms), done)| ReportInterval {
            start_ns: start * 1_000_000,
            len_ns: ms * 1_000_000,
            done,
        };
        report.intervals = done.into_iter().map(interval).collect();
    } else {
        report.fact("mean", "intervals are weighted by time, not by operations (log_avg_msec)");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(parsed: &Parsed, operation: Operation, metric: Metric) -> f64 {
        parsed.reports[0]
            .figures
            .iter()
            .find(|f| (f.operation, f.metric) == (operation, metric))
            .unwrap()
            .value
    }

    fn parsed(text: &str, name: &str) -> Parsed {
        let text = Text::new(text.as_bytes());
        assert!(recognises(&text));
        parse(&text, name)
    }

    #[test]
    fn names_say_what_the_values_are() {
        assert_eq!(
            log_name("ext4_bw.12.log").map(|(stem, kind, job)| (stem, kind.metric, job)),
            Some(("ext4", Metric::Bandwidth, 12))
        );
        assert_eq!(
            log_name("a_b_clat.log").map(|(stem, kind, job)| (stem, kind.metric, job)),
            Some(("a_b", Metric::ClatMean, 1))
        );
        assert_eq!(log_name("a_clat_hist.1.log"), None);
        assert_eq!(parsed("1, 2, 0, 0, 0\n", "renamed.log").problems[0].kind, ProblemKind::Unrecognised);
        assert!(!recognises(&Text::new(b"1, 2, 7, 0, 0\n1, 2, 0, 0, 0\n")), "there is no direction 7");
    }

    #[test]
    fn means_of_intervals_weigh_by_their_time() {
        let log = parsed(
            "500, 1000, 0, 0, 0\n1500, 4000, 0, 0, 0\n1500, 9, 0, 0, 0\n1500, 64, 1, 0, 0\n",
            "x_bw.3.log",
        );
        assert_eq!(log.problems, []);
        assert_eq!(value(&log, Operation::Read, Metric::Bandwidth), 3000.0 * 1024.0);
        assert_eq!(value(&log, Operation::Write, Metric::Bandwidth), 64.0 * 1024.0);
        let report = &log.reports[0];
        assert_eq!(report.title, "fio log: bandwidth of reads and writes, job 3");
        assert_eq!(report.window_ns, 1_500_000_000);
        let spans: Vec<(u64, u64)> =
            report.intervals.iter().map(|i| (i.start_ns / 1_000_000, i.len_ns / 1_000_000)).collect();
        assert_eq!(spans, [(0, 500), (0, 1500), (500, 1000)]);
        assert_eq!(report.intervals[2].done[&Operation::Read], (0, 4_096_000));
    }

    #[test]
    fn lines_of_operations_give_rates_and_their_latencies() {
        let lines: String =
            (1..=100).map(|i| format!("{}, {}, 1, 8192, 0\n", 20 * i, 1_000_000 * (1 + i / 100))).collect();
        let log = parsed(&lines, "x_lat.1.log");
        assert_eq!(log.reports[0].title, "fio log: latency of writes, 8 KiB");
        assert!((value(&log, Operation::Write, Metric::Iops) - 50.0).abs() < 1e-9);
        assert!((value(&log, Operation::Write, Metric::LatMean) - 1_010_000.0).abs() < 1e-6);
        assert_eq!(log.reports[0].stats[&Operation::Write].lat.max_ns(), Some(2_000_000));
        assert_eq!(log.reports[0].intervals.iter().map(|i| i.done[&Operation::Write].0).sum::<u64>(), 100);
        let old = parsed("10, 700, 0, 4096\n20, 900, 0, 4096\n", "x_lat.1.log");
        assert_eq!(value(&old, Operation::Read, Metric::LatMean), 800_000.0, "fio 2 counts microseconds");
    }
}
