//! `hdparm -t` and `-T`. Its `MB` is 2^20 bytes and its `kB` 2^10.

use std::collections::BTreeMap;

use model::{Metric, Operation, Pattern};

use super::remarks;
use super::report::{Parsed, ProblemKind, Report, transfers};
use super::text::{Line, Num, Text, after, count, number};

const TOOL: &str = "hdparm";
const MIB: f64 = 1_048_576.0;
/// Bytes of one read.
const READ_BYTES: u32 = 2 << 20;

pub(super) fn recognises(text: &Text<'_>) -> bool {
    text.lines.iter().any(|line| timing(&line.text).is_some())
        || text.lines.iter().filter(|l| !l.text.trim().is_empty()).all(|l| is_refused(&l.text))
            && text.lines.iter().any(|l| is_refused(&l.text))
}

/// Label and result of ` Timing buffered disk reads: 128 MB in  0.10 seconds = 1343.99 MB/sec`.
fn timing(text: &str) -> Option<(&str, &str)> {
    let (label, rest) = text.trim().strip_prefix("Timing ")?.split_once(':')?;
    label.contains("reads").then_some((label, rest.trim()))
}

/// `/dev/sda: Operation not permitted`.
fn is_refused(text: &str) -> bool {
    let Some((device, why)) = text.trim().split_once(": ") else { return false };
    device.starts_with("/dev/")
        && ["Permission", "permitted", "No such", "No medium", "busy"].iter().any(|w| why.contains(w))
}

/// One report for each timing line.
pub(super) fn parse(text: &Text<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    let mut device = None;
    for (i, line) in text.lines.iter().enumerate() {
        let trimmed = line.text.trim();
        if let Some((label, rest)) = timing(trimmed) {
            match one(line, label, rest) {
                Some(mut report) => {
                    report.fact("device", device.clone().unwrap_or_default());
                    parsed.reports.push(report);
                }
                None => failed(line, label, rest, &text.lines[i + 1..], &mut parsed),
            }
        } else if trimmed.starts_with("/dev/") && trimmed.ends_with(':') {
            device = Some(trimmed.trim_end_matches(':').to_owned());
        } else if is_refused(trimmed) {
            parsed.problem(line.number, ProblemKind::Failed, format!("hdparm failed with: {trimmed}"));
        }
    }
    compare_cached(&mut parsed.reports);
    parsed
}

/// Reports the text in place of a result.
fn failed(line: &Line, label: &str, rest: &str, below: &[Line], parsed: &mut Parsed) {
    let next = below.iter().take(5).map(|l| l.text.trim()).find(|t| !t.is_empty() && timing(t).is_none());
    let why = if rest.is_empty() { next.unwrap_or("") } else { rest };
    if why.is_empty() {
        parsed.problem(line.number, ProblemKind::CutOff, format!("`Timing {label}` has no result"));
    } else {
        parsed.problem(line.number, ProblemKind::Failed, format!("`Timing {label}` gave no result: {why}"));
    }
}

fn one(line: &Line, label: &str, rest: &str) -> Option<Report> {
    let (amount, after_amount) = count(rest)?;
    let amount_unit = unit(after_amount.trim_start())?;
    let (seconds, _) = number(after(after_amount, "in ")?)?;
    let rate_text = after(rest, "=")?;
    let (rate, rate_rest) = number(rate_text)?;
    let rate_unit = unit(rate_rest.trim_start())?;
    let direct = label.contains("O_DIRECT");
    let cached = label.contains("cached") || label.contains("buffer-cache");
    let mut workload = transfers(100, Pattern::Sequential, READ_BYTES);
    workload.direct = direct;
    let offset = after(label, "(offset ").map(|o| o.trim_end_matches(')').replace("GB", "GiB"));
    let what = match (cached, direct) {
        (true, false) => "reads of the same 2 MiB from memory (-T)",
        (true, true) => "direct reads of the same 2 MiB (-T --direct)",
        (false, false) => "sequential reads (-t)",
        (false, true) => "sequential reads, direct (-t --direct)",
    };
    let at = offset.as_ref().map_or_else(String::new, |p| format!(", from {}", p.trim()));
    let mut report = Report::new(TOOL, line.number, format!("hdparm: {what}{at}"), workload);
    report.lasted(seconds.value);
    let bytes = amount as f64 * amount_unit;
    // The loop over the same 2 MiB has a data set of 2 MiB.
    report.size_bytes = if cached { u64::from(READ_BYTES) } else { bytes as u64 };
    let raw = Num::exact(bytes).over(seconds).map(|n| (n, "MiB / seconds"));
    let key = (Operation::Read, Metric::Bandwidth);
    report.figure(key, Some((rate_text.to_owned(), rate.times(rate_unit), line.number)), raw);
    report.headlines = vec![key];
    report.unsaid(&["version", "machine", "memory"]);
    remarks(line.number, cached, direct, seconds, amount, &mut report);
    Some(report)
}

/// Bytes of `MB`, `kB` and their rates.
fn unit(text: &str) -> Option<f64> {
    match text.get(..2)? {
        "MB" => Some(MIB),
        "kB" | "KB" => Some(1024.0),
        "GB" => Some(MIB * 1024.0),
        _ => None,
    }
}

fn remarks(line: u32, cached: bool, direct: bool, seconds: Num, amount: u64, report: &mut Report) {
    if cached && !direct {
        report.remark(&remarks::MEASURES_MEMORY, line, "hdparm -T repeatedly reads the same 2 MiB from the page cache: the figure is of memory and processor, not of the disk");
    } else if cached {
        report.remark(&remarks::MEASURES_MEMORY, line, "hdparm -T --direct repeatedly reads the same 2 MiB of the device: the figure is of its own cache and the cost of a command, not of the disk");
    } else if seconds.value + seconds.error < 3.0 {
        let message = format!(
            "hdparm -t reads for 3 s but reached the end of the device after {} s: the device is small, or its content is in a cache",
            seconds.value
        );
        report.remark(&remarks::ENDED_EARLY, line, message);
    }
    if amount % 2 == 1 && !cached {
        report.remark(
            &remarks::PRINTED_CONTRADICTS_RAW,
            line,
            format!("{amount} MB is not a whole number of reads of 2 MiB"),
        );
    }
}

/// With --direct, the "cached" reads go to the device: they may be slower than the others, unlike reads from a cache.
fn compare_cached(reports: &mut [Report]) {
    let rates: BTreeMap<String, f64> =
        reports.iter().map(|r| (r.title.clone(), r.figures[0].value)).collect();
    let disk = rates.iter().find(|(title, _)| title.contains("(-t --direct)")).map(|(_, rate)| *rate);
    for report in reports.iter_mut().filter(|r| r.title.contains("(-T --direct)")) {
        let own = report.figures[0].value;
        if let Some(disk) = disk.filter(|disk| own < *disk) {
            let message = format!(
                "the \"cached\" reads ({:.1} MB/s) are slower than those of the disk ({:.1} MB/s), so no cache serves them",
                own / 1e6,
                disk / 1e6
            );
            let line = report.line;
            report.remark(&remarks::MEASURES_MEMORY, line, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_all_versions_are_read_in_true_units() {
        let text = "/dev/sda:\n Timing buffer-cache reads:   128 MB in  3.16 seconds =40.51 MB/sec\n Timing buffered disk reads (offset 10 GB):   2 MB in  3.95 seconds = 518.48 kB/sec\n";
        let parsed = parse(&Text::new(text.as_bytes()));
        assert_eq!(parsed.problems, []);
        let values: Vec<f64> = parsed.reports.iter().map(|r| r.figures[0].value).collect();
        assert_eq!(values, [40.51 * MIB, 518.48 * 1024.0]);
        assert!(parsed.reports.iter().all(|r| r.figures[0].contradiction().is_none()));
        assert_eq!(parsed.reports[1].title, "hdparm: sequential reads (-t), from 10 GiB");
    }

    #[test]
    fn a_label_without_a_result_is_a_failed_run() {
        let parsed = parse(&Text::new(
            b"\n/dev/x:\n Timing buffered disk reads: \nlseek() failed: Invalid argument\n",
        ));
        assert_eq!(
            (parsed.reports.len(), parsed.problems[0].kind, parsed.problems[0].line),
            (0, ProblemKind::Failed, 3)
        );
        assert!(parsed.problems[0].message.contains("lseek() failed"));
    }
}
