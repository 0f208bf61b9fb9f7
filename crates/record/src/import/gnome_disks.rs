//! `.gnome-disks-benchmark`: a saved benchmark of GNOME Disks, a serialised GVariant of type `a{sv}`.
//!
//! The layout is that of the GVariant specification: values are aligned to their type's size from the start of their
//! container, and a container of parts of variable length stores their end offsets after them, in as few bytes as can
//! express the container's length.

use std::collections::BTreeMap;

use model::{LoggedOffset, Metric, Modifiers, OffsetLog, Operation, Pattern, ReadFirst};

use super::report::{Parsed, ProblemKind, Report, random, transfers};
use super::text::{Num, Text};

const TOOL: &str = "GNOME Disks";
/// One value of a series: an offset and a rate or a time.
const PAIR_BYTES: usize = 16;
/// Bytes of one access.
const PAGE: u32 = 4096;

/// A value of one of the types in such a file.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(f64),
    Text(String),
    /// Byte offset and bytes per second or seconds.
    Series(Vec<(u64, f64)>),
}

pub(super) fn recognises(text: &Text<'_>) -> bool {
    let has = |part: &[u8]| text.raw.windows(part.len()).any(|window| window == part);
    has(b"device-size\0") && has(b"sample-size\0") || has(b"read-samples\0")
}

/// One report for each series.
pub(super) fn parse(text: &Text<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    let Some(values) = dictionary(text.raw) else {
        parsed.problem(1, ProblemKind::CutOff, "the benchmark of GNOME Disks is damaged or cut off");
        return parsed;
    };
    let number = |name: &str| match values.get(name) {
        Some(Value::Number(value)) => Some(*value),
        _ => None,
    };
    let size = number("device-size").unwrap_or(0.0);
    let block = number("sample-size").unwrap_or((10u64 << 20) as f64);
    let series = [
        ("read-samples", Operation::Read, "reads over the whole device"),
        ("write-samples", Operation::Write, "writes over the whole device"),
        ("access-time-samples", Operation::Read, "access times over the whole device"),
    ];
    for (name, operation, words) in series {
        let Some(Value::Series(points)) = values.get(name) else { continue };
        if points.is_empty() {
            continue;
        }
        let mut report = described(operation, words, name.starts_with("access"), block, points.len());
        report.size_bytes = size as u64;
        report.version = number("version").map(|v| format!("{v}"));
        if let Some(at) = number("timestamp-usec") {
            report.fact("timestamp", format!("{at} µs since 1970"));
        }
        if let Some(Value::Text(model)) = values.get("device-model") {
            report.fact("device", model.clone());
        }
        fill(operation, name, points, block, &mut report);
        let log = offset_log(points, name.starts_with("access"), block);
        report.offset_log.extend((!log.kept.is_empty()).then_some((operation, log)));
        parsed.reports.push(report);
    }
    if parsed.reports.is_empty() && parsed.problems.is_empty() {
        parsed.problem(1, ProblemKind::NoFigures, "the benchmark of GNOME Disks has no series with values");
    }
    parsed
}

fn described(operation: Operation, words: &str, is_access: bool, block: f64, count: usize) -> Report {
    let reads = operation == Operation::Read;
    let pattern = if is_access { random(true) } else { Pattern::Spaced { count: count as u32 } };
    let bytes = if is_access { PAGE } else { super::text::block(block).unwrap_or(10 << 20) };
    let mut workload = transfers(if reads { 100 } else { 0 }, pattern, bytes);
    workload.direct = true;
    let first = if reads { ReadFirst::Page } else { ReadFirst::Block };
    workload.modifiers =
        Modifiers { read_first: (!is_access).then_some(first), log_offset: true, ..Modifiers::default() };
    let mut report = Report::new(TOOL, 1, format!("GNOME Disks: {words}"), workload);
    report.unsaid(&["window", "machine", "memory"]);
    report
}

/// The values with their offsets. An access time has no rate, and a rate of 0 has no time.
fn offset_log(points: &[(u64, f64)], is_access: bool, block: f64) -> OffsetLog {
    let mut log = OffsetLog::default();
    for (offset, value) in points.iter().filter(|(_, value)| is_access || *value > 0.0) {
        let (bytes, seconds) = if is_access { (f64::from(PAGE), *value) } else { (block, block / value) };
        let logged =
            LoggedOffset { offset: *offset, bytes: bytes as u64, ns: (seconds * 1e9).round() as u64 };
        log.record(logged, OffsetLog::MOST);
    }
    log
}

/// GNOME Disks shows the mean of the rates; the figure here is bytes over time, their harmonic mean.
fn fill(operation: Operation, name: &str, points: &[(u64, f64)], block: f64, report: &mut Report) {
    let n = points.len() as f64;
    let sum: f64 = points.iter().map(|(_, v)| v).sum();
    if name.starts_with("access") {
        let mean = Num { value: sum / n * 1e9, error: 0.0 };
        report.figure((operation, Metric::LatMean), None, Some((mean, "mean of the access times")));
        let longest = points.iter().map(|(_, v)| *v).fold(0.0, f64::max) * 1e9;
        report.figure(
            (operation, Metric::LatMax),
            None,
            Some((Num::exact(longest), "longest of the access times")),
        );
        let deviation = points.iter().map(|(_, v)| (v - sum / n).powi(2)).sum::<f64>() / n;
        report.figure(
            (operation, Metric::LatStddev),
            None,
            Some((Num::exact(deviation.sqrt() * 1e9), "deviation of the access times")),
        );
        let mut sorted: Vec<f64> = points.iter().map(|(_, v)| v * 1e9).collect();
        sorted.sort_by(f64::total_cmp);
        let shortest = sorted.first().copied().unwrap_or(0.0);
        report.figure(
            (operation, Metric::LatMin),
            None,
            Some((Num::exact(shortest), "shortest of the access times")),
        );
        for (percent, metric) in [(0.5, Metric::LatP50), (0.95, Metric::LatP95), (0.99, Metric::LatP99)] {
            let at = ((n * percent).ceil() as usize).clamp(1, sorted.len());
            report.figure(
                (operation, metric),
                None,
                Some((Num::exact(sorted[at - 1]), "the access times by rank")),
            );
        }
        report.headlines = vec![(operation, Metric::LatMean)];
        report.lasted(sum);
        return;
    }
    let seconds: f64 = points.iter().filter(|(_, rate)| *rate > 0.0).map(|(_, rate)| block / rate).sum();
    let counted = points.iter().filter(|(_, rate)| *rate > 0.0).count() as f64;
    let raw = Num::exact(counted * block).over(Num::exact(seconds));
    report.figure((operation, Metric::Bandwidth), None, raw.map(|n| (n, "bytes of all values / their time")));
    report.fact("mean of the rates, as GNOME Disks shows it", format!("{:.1} MB/s", sum / n / 1e6));
    report.headlines = vec![(operation, Metric::Bandwidth)];
    report.lasted(seconds);
}

/// Reads `a{sv}`; `None` if it is damaged.
fn dictionary(raw: &[u8]) -> Option<BTreeMap<String, Value>> {
    let mut values = BTreeMap::new();
    let mut start = 0;
    for end in ends(raw)? {
        // An entry of a dictionary that has a variant is aligned to eight bytes.
        let entry = raw.get(align(start, 8)..end)?;
        let (key, value) = entry_of(entry)?;
        values.extend(value.map(|value| (key, value)));
        start = end;
    }
    Some(values)
}

fn align(at: usize, to: usize) -> usize {
    at.div_ceil(to) * to
}

/// Bytes of an offset in a container of this length.
fn offset_bytes(length: usize) -> usize {
    match length {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => 8,
    }
}

/// An offset of the container, in little-endian byte order.
fn offset(raw: &[u8], at: usize) -> Option<usize> {
    let bytes = raw.get(at..at + offset_bytes(raw.len()))?;
    Some(bytes.iter().rev().fold(0usize, |sum, byte| (sum << 8) | usize::from(*byte)))
}

/// Where the parts of an array end.
fn ends(raw: &[u8]) -> Option<Vec<usize>> {
    if raw.is_empty() {
        return Some(Vec::new());
    }
    let width = offset_bytes(raw.len());
    let last = offset(raw, raw.len().checked_sub(width)?)?;
    let table = raw.len().checked_sub(last)?;
    if table == 0 || !table.is_multiple_of(width) {
        return None;
    }
    let found: Option<Vec<usize>> = (0..table / width).map(|i| offset(raw, last + i * width)).collect();
    found.filter(|ends| ends.is_sorted() && ends.iter().all(|end| *end <= last))
}

/// Key and value of an entry; the value is `None` if it has another type.
fn entry_of(entry: &[u8]) -> Option<(String, Option<Value>)> {
    let width = offset_bytes(entry.len());
    let table = entry.len().checked_sub(width)?;
    let key_end = offset(entry, table)?;
    let key = entry.get(..key_end.checked_sub(1)?)?;
    let variant = entry.get(align(key_end, 8)..table)?;
    Some((String::from_utf8_lossy(key).into_owned(), variant_of(variant)))
}

/// A value, a zero byte and its type.
fn variant_of(raw: &[u8]) -> Option<Value> {
    let zero = raw.iter().rposition(|byte| *byte == 0)?;
    let (data, kind) = (&raw[..zero], &raw[zero + 1..]);
    let eight = || Some(u64::from_le_bytes(data.get(..8)?.try_into().ok()?));
    let four = || Some(u32::from_le_bytes(data.get(..4)?.try_into().ok()?));
    match kind {
        b"i" => Some(Value::Number(f64::from(four()? as i32))),
        b"u" => Some(Value::Number(f64::from(four()?))),
        b"x" => Some(Value::Number(eight()? as i64 as f64)),
        b"t" => Some(Value::Number(eight()? as f64)),
        b"d" => Some(Value::Number(f64::from_bits(eight()?))),
        b"s" => {
            Some(Value::Text(String::from_utf8_lossy(data.strip_suffix(b"\0").unwrap_or(data)).into_owned()))
        }
        b"a(td)" => series(data),
        _ => None,
    }
}

fn series(data: &[u8]) -> Option<Value> {
    let pair = |bytes: &[u8]| {
        let offset = u64::from_le_bytes(bytes[..8].try_into().ok()?);
        let value = f64::from_bits(u64::from_le_bytes(bytes[8..].try_into().ok()?));
        (value.is_finite() && value >= 0.0).then_some((offset, value))
    };
    let whole = data.len().is_multiple_of(PAIR_BYTES);
    let points: Option<Vec<(u64, f64)>> = data.chunks_exact(PAIR_BYTES).map(pair).collect();
    points.filter(|_| whole).map(Value::Series)
}
