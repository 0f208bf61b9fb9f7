//! PiBenchmarks (`Storage.sh`): the outputs of hdparm, dd, fio and iozone with a summary and a score.
//!
//! The importers of these tools read the raw outputs above the summary; where one is missing, as for fio, the
//! summary's rows replace it. The score is recomputed from the rows with the script's formula.

use model::{Metric, Operation, Pattern, Workload};

use super::remarks;
use super::report::{Parsed, ProblemKind, Report, random, transfers};
use super::text::{Line, Num, Text, after, count, number};
use super::{dd, hdparm, iozone};

const TOOL: &str = "PiBenchmarks";
const MIB: f64 = 1_048_576.0;
const KIB: f64 = 1024.0;
/// The summary has nine rows.
const MOST_ROWS: usize = 16;

/// Only this script has both the rows of the summary and the score.
pub(super) fn recognises(text: &Text<'_>) -> bool {
    let has = |part: &str| text.lines.iter().any(|line| line.text.contains(part));
    has("4k random read") && (has("Score:") || has("Category")) && has("IOZone")
}

/// All outputs of the script; each ends with its score.
pub(super) fn parse(text: &Text<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    for lines in text.lines.split_inclusive(|line| line.text.contains("Score:")) {
        let part = Text { lines: lines.to_vec(), raw: text.raw };
        // Text after the last score is not an output.
        if recognises(&part) {
            parsed.merge(one(&part));
        }
    }
    parsed
}

/// The raw outputs, the rows that only the summary has, and the score.
fn one(text: &Text<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    for part in [hdparm::parse(text), dd::parse(text), iozone::parse(text)] {
        parsed.merge(part);
    }
    for report in &mut parsed.reports {
        // The script writes zeros and syncs at the end; its output does not repeat the command.
        if report.tool == "dd" {
            as_write(report);
        }
        add_script(report);
    }
    let rows: Vec<Row> = text.lines.iter().filter_map(row).take(MOST_ROWS).collect();
    for row in &rows {
        summary_row(row, &mut parsed);
    }
    score(text, &rows, &mut parsed);
    parsed
}

fn add_script(report: &mut Report) {
    report.fact("script", TOOL);
}

/// Sets the workload for which the script runs dd.
fn as_write(report: &mut Report) {
    report.workload.sync.at_end = true;
    report.workload.data = super::report::ZEROS;
    report.title = report.title.replace("dd: copy", "dd: write") + ", synced at the end";
    report.unsaid.retain(|name| !matches!(name.as_str(), "direction" | "sync" | "data" | "direct"));
    report.figures.iter_mut().for_each(|f| f.operation = Operation::Write);
    report.headlines.iter_mut().for_each(|h| h.0 = Operation::Write);
}

/// A row of the summary: `IOZone                    4k read                   8810 KB/s`.
struct Row {
    line: u32,
    tool: &'static str,
    test: String,
    result: String,
}

fn row(line: &Line) -> Option<Row> {
    let text = line.text.trim();
    let tool = ["HDParm", "DD", "FIO", "IOZone"]
        .into_iter()
        .find(|tool| text.strip_prefix(tool).is_some_and(|rest| rest.starts_with([' ', '\t'])))?;
    let rest = text[tool.len()..].trim();
    let tests = [
        "4k random read",
        "4k random write",
        "4k read",
        "4k write",
        "Cached Disk Read",
        "Disk Read",
        "Disk Write",
    ];
    let test = tests.into_iter().find(|test| rest.starts_with(test))?;
    let result = rest[test.len()..].trim().to_owned();
    (!result.is_empty()).then(|| Row { line: line.number, tool, test: test.to_owned(), result })
}

/// Adds a row that no raw output has, and compares any other with its raw output.
fn summary_row(row: &Row, parsed: &mut Parsed) {
    let Some((num, _)) = number(&row.result) else {
        let message = format!("{} {}: `{}` is not a figure", row.tool, row.test, row.result);
        parsed.problem(row.line, ProblemKind::Failed, message);
        return;
    };
    if row.tool == "FIO" {
        parsed.reports.push(fio_row(row, num));
        return;
    }
    let (title, operation, unit) = match (row.tool, row.test.as_str()) {
        ("HDParm", "Disk Read") => ("sequential reads", Operation::Read, MIB),
        ("HDParm", _) => ("reads of the same 2 MiB", Operation::Read, MIB),
        ("DD", _) => ("dd: write", Operation::Write, 1e6),
        (_, "4k read") => ("iozone: read,", Operation::Read, KIB),
        (_, "4k write") => ("iozone: write, new file", Operation::Write, KIB),
        (_, "4k random read") => ("iozone: random read", Operation::Read, KIB),
        _ => ("iozone: random write", Operation::Write, KIB),
    };
    let printed = num.times(unit);
    if let Some(raw) = parsed.reports.iter_mut().find(|r| r.title.contains(title)) {
        let value = raw.figures[0].value;
        // dd's rate comes without its unit: 1.4 GB/s is written as 1.4 MB/s.
        if (printed.value - value).abs() > printed.error + value * 0.03 {
            let message =
                format!("the summary shows {}, but the output above it {:.2} MB/s", row.result, value / 1e6);
            raw.remark(&remarks::PRINTED_CONTRADICTS_RAW, row.line, message);
        }
        return;
    }
    let block = if row.tool == "HDParm" { 2 << 20 } else { 4096 };
    let pattern = if title.contains("random") { random(false) } else { Pattern::Sequential };
    let percent = if operation == Operation::Read { 100 } else { 0 };
    let words = format!("PiBenchmarks: {} {}", row.tool, row.test.to_lowercase());
    let mut report = described(row.line, &words, transfers(percent, pattern, block));
    report.figure((operation, Metric::Bandwidth), Some((row.result.clone(), printed, row.line)), None);
    report.headlines = vec![(operation, Metric::Bandwidth)];
    parsed.reports.push(report);
}

fn described(line: u32, title: &str, workload: Workload) -> Report {
    let mut report = Report::new(TOOL, line, title, workload);
    report.unsaid(&["version", "window", "memory"]);
    report
}

/// `2742 IOPS (10969 KB/s)`: the fields of terse output, which are KiB/s.
fn fio_row(row: &Row, iops: Num) -> Report {
    let reads = row.test.contains("read");
    let (operation, percent) = if reads { (Operation::Read, 100) } else { (Operation::Write, 0) };
    let mut workload = transfers(percent, random(false), 4096);
    (workload.iodepth, workload.direct) = (64, true);
    let words = if reads { "read" } else { "write" };
    let title = format!("fio: random {words}, 4 KiB, depth 64, direct");
    let mut report = described(row.line, &title, workload);
    report.tool = "fio";
    report.engine = model::EngineKind::Libaio;
    report.size_bytes = 80 << 20;
    add_script(&mut report);
    let iops = iops.truncated();
    report.figure((operation, Metric::Iops), Some((format!("{} IOPS", iops.value), iops, row.line)), None);
    let flow = after(&row.result, "(").and_then(number).map(|(n, _)| n.truncated().times(KIB));
    let printed =
        flow.map(|n| (after(&row.result, "(").unwrap_or("").trim_end_matches(')').to_owned(), n, row.line));
    report.figure((operation, Metric::Bandwidth), printed, Some((iops.times(4096.0), "IOPS × 4 KiB")));
    report.headlines = vec![(operation, Metric::Bandwidth)];
    report
}

/// The number in a row, as the script uses it: without its unit.
fn component(rows: &[Row], tool: &str, test: &str) -> Option<f64> {
    let row = rows.iter().find(|row| row.tool == tool && row.test == test)?;
    number(&row.result).map(|(n, _)| n.value)
}

/// trunc((dd × 1024 + 4 fio random read + 10 fio random write + iozone read + write + 4 random read + 10 random write)
/// / 100), of the values in the summary.
fn score(text: &Text<'_>, rows: &[Row], parsed: &mut Parsed) {
    let printed = text.lines.iter().rev().find_map(|line| {
        let rest = after(&line.text, "Score:")?;
        count(rest).map(|(n, _)| (n, line.number))
    });
    let weighted = [
        (1024.0, "DD", "Disk Write"),
        (4.0, "FIO", "4k random read"),
        (10.0, "FIO", "4k random write"),
        (1.0, "IOZone", "4k read"),
        (1.0, "IOZone", "4k write"),
        (4.0, "IOZone", "4k random read"),
        (10.0, "IOZone", "4k random write"),
    ];
    let parts: Option<Vec<f64>> =
        weighted.iter().map(|(w, tool, test)| Some(w * component(rows, tool, test)?)).collect();
    let raw = parts.map(|parts| (parts.iter().sum::<f64>() / 100.0).trunc());
    let Some((score, line)) = printed else {
        let message = "the output of PiBenchmarks ends without `Score:`";
        parsed.problem(text.last_number(), ProblemKind::CutOff, message);
        return;
    };
    let workload = Workload::random_reads();
    let mut report = described(line, "PiBenchmarks: score", workload);
    report.unsaid(&["workload"]);
    let printed = Some((score.to_string(), Num { value: score as f64, error: 0.0 }, line));
    let formula = "(dd × 1024 + 4 × fio random read + 10 × fio random write + iozone read + write + 4 × random read + 10 × random write) / 100";
    report.figure((Operation::Mixed, Metric::Score), printed, raw.map(|v| (Num::exact(v), formula)));
    report.headlines = vec![(Operation::Mixed, Metric::Score)];
    parsed.reports.push(report);
}
