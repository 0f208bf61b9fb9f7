//! sysbench fileio, 0.4.12 to 1.1. Its `Mb` and `Gb` are bytes in powers of 1024.
//!
//! Up to 0.5 an event is a read or a write and syncs are not timed; from 1.0 each periodic sync is an event too, so
//! latencies of the two are not comparable.

use model::{FileSet, Metric, Operation, Pattern, PortableMath, SyncRule, fact};

use super::remarks;
use super::report::{EACH_WRITE, Parsed, ProblemKind, Report, ReportInterval, ZEROS, random, transfers};
use super::text::{Line, Num, Text, after, binary, binary_size, block, block_words, bytes, count, number};

const TOOL: &str = "sysbench";
const MIB: f64 = 1_048_576.0;
const MOST_FAILURES: usize = 3;
/// Milliseconds that 0.4.12 prints if its search for a percentile runs past the end of its table.
const NO_PERCENTILE_MS: f64 = 1e7;

pub(super) fn recognises(text: &Text<'_>) -> bool {
    text.lines.iter().any(|line| banner(&line.text).is_some() || begins_report(&line.text))
}

/// The version in a banner such as `sysbench 0.4.12:  multi-threaded system evaluation benchmark`.
fn banner(text: &str) -> Option<&str> {
    let rest = text.trim().strip_prefix("sysbench ")?;
    let version = rest.split_whitespace().next()?.trim_end_matches(':');
    let whole = version.starts_with(|c: char| c.is_ascii_digit()) && version.contains('.');
    whole.then_some(version)
}

fn begins_report(text: &str) -> bool {
    let text = text.trim();
    text.starts_with("Operations performed:") || text == "File operations:" || is_rates_of_1_1(text)
}

fn is_rates_of_1_1(text: &str) -> bool {
    text.starts_with("read:") && text.contains("IOPS=") && text.contains(" MiB/s (") && !text.contains("BW=")
}

/// The lines before the figures.
#[derive(Clone, Debug, Default)]
struct Header {
    line: u32,
    version: Option<String>,
    mode: Option<Mode>,
    threads: Option<u32>,
    block: Option<u32>,
    files: Option<u64>,
    total: Option<Num>,
    direct: Option<bool>,
    open_flags: Option<String>,
    io_mode: Option<String>,
    every: Option<u64>,
    each_write: bool,
    at_end: bool,
    validates: bool,
    replayed: bool,
    checkpoints: bool,
    /// What the output is, if it is not of a run.
    other: Option<&'static str>,
    failures: Vec<(u32, String)>,
    /// The lines of `--report-interval`.
    intervals: Vec<ReportInterval>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Mode {
    read_percent: u8,
    random: bool,
    words: &'static str,
}

/// The modes by the words that all versions print.
fn mode(text: &str) -> Option<Mode> {
    let text = text.trim().strip_prefix("Doing ")?.strip_suffix(" test")?;
    let mode = |read_percent, random, words| Some(Mode { read_percent, random, words });
    match text {
        "random read" => mode(100, true, "random read"),
        "random write" => mode(0, true, "random write"),
        "random r/w" => mode(60, true, "random read and write"),
        "sequential read" => mode(100, false, "sequential read"),
        "sequential write (creation)" => mode(0, false, "sequential write, new files"),
        "sequential rewrite" => mode(0, false, "sequential rewrite"),
        _ => None,
    }
}

/// All reports, with the headers before them.
pub(super) fn parse(text: &Text<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    let mut header = Header { line: 1, ..Header::default() };
    let (mut reports, mut at) = (0, 0);
    let lines = &text.lines;
    while at < lines.len() {
        let line = &lines[at];
        if let Some(version) = banner(&line.text) {
            close(&header, reports, line.number, &mut parsed);
            header = Header {
                line: line.number,
                version: Some(version.chars().take(40).collect()),
                ..Header::default()
            };
            reports = 0;
        } else if begins_report(&line.text) {
            let end = report_end(lines, at);
            reports += 1;
            report(&header, &lines[at..end], lines.get(end).is_none(), &mut parsed);
            at = end;
            continue;
        } else if let Some(prepared) = prepared(&header, line) {
            parsed.reports.push(prepared);
            reports += 1;
        } else {
            header.take(line);
        }
        at += 1;
    }
    close(&header, reports, text.last_number(), &mut parsed);
    parsed
}

/// Where the report that begins at `start` ends: before the next one, a new banner or a checkpoint.
fn report_end(lines: &[Line], start: usize) -> usize {
    let ends = |line: &Line| {
        begins_report(&line.text) || banner(&line.text).is_some() || line.text.contains("Checkpoint report:")
    };
    lines[start + 1..].iter().position(ends).map_or(lines.len(), |n| start + 1 + n)
}

/// Reports why there is no report under a header.
fn close(header: &Header, reports: usize, last: u32, parsed: &mut Parsed) {
    if reports > 0 || header.version.is_none() {
        return;
    }
    if let Some((line, message)) = header.failures.first() {
        parsed.problem(*line, ProblemKind::Failed, format!("sysbench failed with: {message}"));
    } else if let Some(other) = header.other {
        parsed.problem(header.line, ProblemKind::NoFigures, format!("the output of sysbench {other}"));
    } else if header.mode.is_some() {
        let message =
            "the output of sysbench ends before its figures: the run was stopped or the file is cut off";
        parsed.problem(last, ProblemKind::CutOff, message);
    } else {
        let message = "this output of sysbench is not of a fileio test: it has no figures of storage";
        parsed.problem(header.line, ProblemKind::NoFigures, message);
    }
}

impl Header {
    /// `[ 3s ] reads: 12.01 MiB/s writes: 8.00 MiB/s fsyncs: 2281.80/s latency (ms,95%): 0.006`; 0.5 writes MB for MiB.
    fn take_interval(&mut self, text: &str) -> Option<()> {
        let (seconds, rest) = number(text.trim_start_matches('[').trim_start())?;
        rest.trim_start().strip_prefix('s')?.trim_start().strip_prefix(']')?;
        let start_ns = self.intervals.last().map_or(0, |last| last.start_ns + last.len_ns);
        let len_ns = ((seconds.value * 1e9) as u64).checked_sub(start_ns).filter(|len| *len > 0)?;
        let amount = |label: &str| {
            let (rate, _) = number(after(rest, label)?.trim_start())?;
            (rate.value > 0.0).then(|| rate.value * len_ns as f64 / 1e9)
        };
        let moved = |label: &str| {
            let bytes = amount(label)? * MIB;
            Some(((bytes / f64::from(self.block.unwrap_or(16384))).round() as u64, bytes.round() as u64))
        };
        let done = [
            (Operation::Read, moved("reads:")),
            (Operation::Write, moved("writes:")),
            (Operation::Sync, amount("fsyncs:").map(|n| (n.round() as u64, 0))),
        ];
        let done = done.into_iter().filter_map(|(operation, done)| Some((operation, done?))).collect();
        self.intervals.push(ReportInterval { start_ns, len_ns, done });
        Some(())
    }

    fn take(&mut self, line: &Line) {
        let text = line.text.trim();
        if text.starts_with('[') {
            self.take_interval(text);
        } else if let Some(mode) = mode(text) {
            self.mode = Some(mode);
        } else if let Some(rest) = after(text, "Number of threads:") {
            self.threads = count(rest).and_then(|(n, _)| u32::try_from(n).ok());
        } else if let Some(rest) = text.strip_prefix("Block size ") {
            self.block = binary_size(rest).and_then(|(size, _)| block(size.value));
        } else if let Some(flags) = after(text, "Extra file open flags:") {
            self.direct = Some(is_direct(flags));
            self.open_flags = Some(flags.to_owned());
        } else if text.ends_with("total file size") {
            self.total = binary_size(text).map(|(size, _)| size);
        } else if let Some((n, rest)) = count(text).filter(|(_, rest)| rest.starts_with(" files, ")) {
            self.files = Some(n);
            if let Some((_, total)) = rest.rsplit_once("each, ") {
                self.total = binary_size(total).map(|(size, _)| size);
            }
        } else if let Some(rest) = after(text, "calling fsync() each ") {
            self.every = count(rest).map(|(n, _)| n);
        } else if text.starts_with("Calling fsync() after each write") {
            self.each_write = true;
        } else if text.starts_with("Calling fsync() at the end of test") {
            self.at_end = text.contains("Enabled");
        } else if let Some(mode) = text.strip_prefix("Using ").and_then(|t| t.strip_suffix(" I/O mode")) {
            self.io_mode = Some(mode.to_owned());
        } else {
            self.take_rare(line.number, text);
        }
    }

    fn take_rare(&mut self, number: u32, text: &str) {
        if text.starts_with("FATAL:") || text.starts_with("ALERT:") {
            // Each report repeats them: a few are enough.
            if self.failures.len() < MOST_FAILURES {
                self.failures.push((number, text.chars().take(200).collect()));
            }
        } else if text.starts_with("Validation checks: on") || text.starts_with("Using checksums validation")
        {
            self.validates = true;
        } else if text.contains("seed is 0 and will be ignored") {
            self.replayed = true;
        } else if text.starts_with("Initializing random number generator from timer") {
            self.replayed = false;
        } else if text.starts_with("Report checkpoint(s)") {
            self.checkpoints = true;
        } else if text.starts_with("Removing test files") {
            self.other = Some("cleanup has no figures");
        } else if text.starts_with("Creating files for the test") {
            self.other = Some("prepare has no figures in this version");
        } else if text.starts_with("fileio options:") {
            self.other = Some("help has no figures");
        }
    }

    fn block_words(&self) -> String {
        self.block.map_or_else(String::new, |b| format!(", {}", block_words(b)))
    }

    /// Up to 0.5, syncs are not timed.
    fn times_syncs(&self) -> bool {
        !self.version.as_deref().is_some_and(|v| v.starts_with("0."))
    }

    fn family(&self) -> String {
        let version = self.version.as_deref().unwrap_or("");
        let family: Vec<&str> = version.split(['.', '-']).take(2).collect();
        if family.len() == 2 { format!("sysbench {}", family.join(".")) } else { TOOL.to_owned() }
    }

    fn report(&self, line: u32) -> Report {
        let mode = self.mode.unwrap_or(Mode { read_percent: 60, random: true, words: "unknown mode" });
        let pattern = if mode.random { random(true) } else { Pattern::Sequential };
        let mut workload = transfers(mode.read_percent, pattern, self.block.unwrap_or(16384));
        workload.jobs = self.threads.unwrap_or(1).max(1);
        workload.direct = self.direct.unwrap_or(false);
        let files = self.files.and_then(|n| u32::try_from(n).ok()).unwrap_or(1).max(1);
        let each = self.total.map(|t| bytes(t) / u64::from(files));
        workload.files = FileSet { count: files, size_bytes: each, number: 0 };
        workload.sync = if self.each_write {
            EACH_WRITE
        } else {
            SyncRule { every: 0, data_only: false, at_end: self.at_end && mode.read_percent < 100 }
        };
        if !self.validates {
            workload.data = ZEROS;
        }
        let mut title = format!("{}: {}{}", self.family(), mode.words, self.block_words());
        if workload.jobs > 1 {
            title.push_str(&format!(", {} threads", workload.jobs));
        }
        if workload.direct {
            title.push_str(", direct");
        }
        let mut report = Report::new(TOOL, line, title, workload);
        report.version.clone_from(&self.version);
        report.size_bytes = self.total.map_or(0, bytes);
        self.describe(&mut report);
        report
    }

    fn describe(&self, report: &mut Report) {
        let stated = [
            ("open flags", self.open_flags.clone()),
            ("I/O mode", self.io_mode.clone()),
            ("files", self.files.map(|n| n.to_string())),
            ("fsync of all files every", self.every.map(|n| format!("{n} requests"))),
        ];
        for (name, value) in stated {
            if let Some(value) = value {
                report.fact(name, value);
            }
        }
        let unsaid = [
            ("version", self.version.is_none()),
            ("mode", self.mode.is_none()),
            ("block", self.block.is_none()),
            ("jobs", self.threads.is_none()),
            ("direct", self.direct.is_none()),
            ("size_bytes", self.total.is_none()),
            ("engine", self.io_mode.is_none()),
        ];
        let names: Vec<&str> = unsaid.iter().filter(|(_, missing)| *missing).map(|(name, _)| *name).collect();
        report.unsaid(&names);
        report.unsaid(&["machine", "target", "memory"]);
        if self.replayed && report.workload.pattern != Pattern::Sequential {
            let message = "this version repeats the same offsets in every run unless --init-rng=on is given, so a cache \
                           may serve a second run";
            report.remark(&remarks::REPLAYED_OFFSETS, 0, message);
        }
        for (line, message) in &self.failures {
            report.remark(
                &remarks::WORKER_DIED,
                *line,
                format!("sysbench continued after `{message}`: a thread may have ended early"),
            );
        }
    }
}

/// `O_DIRECT` as a decimal number (0.4), a hexadecimal one (0.5) or a word (1.0).
fn is_direct(flags: &str) -> bool {
    flags.contains("direct") || matches!(flags, "16384" | "4000" | "65536" | "10000")
}

/// `67108864 bytes written in 0.10 seconds (665.86 MiB/sec).` of prepare.
fn prepared(header: &Header, line: &Line) -> Option<Report> {
    let (written, rest) = count(line.text.trim())?;
    let rest = rest.strip_prefix(" bytes written in ")?;
    let (seconds, rest) = number(rest)?;
    let text = rest.split_once('(')?.1.split(')').next()?;
    let (rate, _) = number(text)?;
    let mut report = header.report(line.number);
    report.title = format!("{}: prepare{}", header.family(), header.block_words());
    report.workload = transfers(0, Pattern::Sequential, header.block.unwrap_or(16384));
    report.workload.sync.at_end = true;
    report.workload.data = ZEROS;
    report.unsaid.retain(|name| name != "mode");
    report.remarks.clear();
    report.lasted(seconds.value);
    let raw = Num::exact(written as f64).over(seconds).map(|n| (n, "bytes / seconds"));
    let what = (Operation::Write, Metric::Bandwidth);
    report.figure(what, Some((text.to_owned(), rate.times(MIB), line.number)), raw);
    report.headlines = vec![what];
    Some(report)
}

/// The labelled numbers of one report.
#[derive(Default)]
struct Numbers {
    total_s: Option<(Num, u32, String)>,
    events: Option<u64>,
    event_s: Option<Num>,
    mean: Option<(Num, u32, String)>,
    max: Option<(Num, u32, String)>,
    min: Option<(Num, u32, String)>,
    p95: Option<(Num, u32, String)>,
    percentile: u64,
    fairness: Option<(Num, Num, u32)>,
    /// Rates of reads, writes and syncs with their texts, from 1.0 on.
    rates: [Option<(Num, u32, String)>; 3],
    /// Bandwidths of reads and writes in bytes per second, with their texts.
    flows: [Option<(Num, u32, String)>; 2],
}

/// A number in milliseconds, `0.08ms` or `0.08`, as nanoseconds.
fn milliseconds(text: &str, line: u32) -> Option<(Num, u32, String)> {
    let (num, _) = number(text)?;
    Some((num.times(1e6), line, if text.ends_with("ms") { text.to_owned() } else { format!("{text} ms") }))
}

impl Numbers {
    fn of(lines: &[Line]) -> Self {
        let mut numbers = Self::default();
        for Line { number: line, text } in lines {
            if is_rates_of_1_1(text.trim()) || text.contains("IOPS=") {
                numbers.take_1_1(text, *line);
            } else if let Some((label, value)) = text.trim().split_once(':') {
                numbers.take(label.trim(), value.trim(), *line);
            }
        }
        numbers
    }

    fn take(&mut self, label: &str, value: &str, line: u32) {
        let plain = |unit: &str| number(value).map(|(n, _)| (n, line, format!("{value}{unit}")));
        let mib = |unit: &str| number(value).map(|(n, _)| (n.times(MIB), line, format!("{value}{unit}")));
        match label {
            "total time" => self.total_s = plain(""),
            "total number of events" => self.events = count(value).map(|(n, _)| n),
            "total time taken by event execution" => self.event_s = number(value).map(|(n, _)| n),
            "sum" => self.event_s = number(value).map(|(n, _)| n.times(1e-3)),
            "avg" => self.mean = milliseconds(value, line),
            "min" => self.min = milliseconds(value, line),
            "max" => self.max = milliseconds(value, line),
            "reads/s" => self.rates[0] = plain("/s"),
            "writes/s" => self.rates[1] = plain("/s"),
            "fsyncs/s" => self.rates[2] = plain("/s"),
            "read, MiB/s" => self.flows[0] = mib(" MiB/s"),
            "written, MiB/s" => self.flows[1] = mib(" MiB/s"),
            "events (avg/stddev)" => self.fairness = fairness(value, line),
            _ => self.take_percentile(label, value, line),
        }
    }

    fn take_percentile(&mut self, label: &str, value: &str, line: u32) {
        let Some(before) = label.strip_suffix("percentile") else { return };
        let digits: String = before.chars().filter(char::is_ascii_digit).collect();
        if let Ok(percentile) = digits.parse() {
            self.percentile = percentile;
            self.p95 = milliseconds(value, line);
        }
    }

    /// `read:  IOPS=149653.57 2338.34 MiB/s (2451.92 MB/s)`.
    fn take_1_1(&mut self, text: &str, line: u32) {
        let Some((label, rest)) = text.trim().split_once(':') else { return };
        let Some(at) = ["read", "write", "fsync"].iter().position(|name| *name == label.trim()) else {
            return;
        };
        let Some(rest) = after(rest, "IOPS=") else { return };
        let Some((rate, flow)) = number(rest) else { return };
        let printed = rest.split_whitespace().next().unwrap_or("");
        self.rates[at] = Some((rate, line, format!("{printed}/s")));
        if let (Some((flow_rate, unit)), true) = (number(flow.trim()), at < 2) {
            let words = format!("{} MiB/s", flow.split_whitespace().next().unwrap_or(""));
            if unit.trim_start().starts_with("MiB/s") {
                self.flows[at] = Some((flow_rate.times(MIB), line, words));
            }
        }
    }
}

/// Mean and standard deviation of the events of the threads.
fn fairness(value: &str, line: u32) -> Option<(Num, Num, u32)> {
    let (mean, deviation) = value.split_once('/')?;
    Some((number(mean)?.0, number(deviation)?.0, line))
}

fn report(header: &Header, lines: &[Line], at_end: bool, parsed: &mut Parsed) {
    let first = &lines[0];
    let last = lines.last().map_or(first.number, |line| line.number);
    let mut header = header.clone();
    for line in lines {
        header.take_rare(line.number, line.text.trim());
    }
    let numbers = Numbers::of(lines);
    let mut report = header.report(first.number);
    report.last_line = last;
    report.intervals.clone_from(&header.intervals);
    if header.checkpoints {
        let message =
            "the reports at checkpoints are windows of one run, each from the one before, not repeats";
        report.remark(&remarks::CHECKPOINT_WINDOWS, first.number, message);
    }
    let is_old = first.text.trim().starts_with("Operations performed:");
    let whole = if is_old {
        old_figures(&header, lines, &numbers, &mut report)
    } else {
        new_figures(&header, &numbers, &mut report)
    };
    if let Some(missing) = whole {
        let end = if at_end { "the file ends" } else { "the report ends" };
        parsed.problem(last, ProblemKind::CutOff, format!("{end} without `{missing}` of sysbench's report"));
        return;
    }
    if let Some((mean, deviation, line)) = numbers.fairness
        && mean.value > 0.0
        && deviation.value / mean.value > 0.2
    {
        let message = format!(
            "the threads did very different amounts of work (mean {:.0} events, standard deviation {:.0}): one may have died",
            mean.value, deviation.value
        );
        report.remark(&remarks::WORKER_DIED, line, message);
    }
    parsed.reports.push(report);
}

/// Counts of `Operations performed:  1260 Read, 840 Write, 2688 Other = 4788 Total`.
fn counts(text: &str) -> Option<[u64; 4]> {
    let rest = after(text, "Operations performed:")?;
    let numbers: Vec<u64> = rest
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .filter_map(|n| n.parse().ok())
        .collect();
    numbers.try_into().ok()
}

/// A printed size or rate of 0.4, such as `1.3697Gb`: five significant digits without trailing zeros, so 16 may be
/// 16.0004. Builds differ in the number of decimals; if there are any, the printed ones give the error.
fn old_size(text: &str) -> Option<Num> {
    let (num, rest) = number(text)?;
    let scale = rest.chars().next().and_then(binary).unwrap_or(1.0);
    let digits = if num.value > 0.0 { num.value.portable_log10().floor() } else { 0.0 };
    let few = 0.5 * 10f64.portable_powf(digits - 4.0);
    let error = if num.error < 0.5 { num.error.max(few) } else { few };
    Some(Num { value: num.value, error }.times(scale))
}

/// Imports the figures of 0.4 and 0.5; returns the label of the missing one if the report is cut off.
fn old_figures(
    header: &Header,
    lines: &[Line],
    numbers: &Numbers,
    report: &mut Report,
) -> Option<&'static str> {
    let Some([reads, writes, others, total]) = counts(&lines[0].text) else {
        return Some("Operations performed");
    };
    let Some((seconds, ..)) = numbers.total_s else { return Some("total time") };
    let (Some(events), Some(event_s)) = (numbers.events, numbers.event_s) else {
        return Some("total time taken by event execution");
    };
    if numbers.mean.is_none() || numbers.max.is_none() {
        return Some("avg");
    }
    report.lasted(seconds.value);
    identities(header, [reads, writes, others, total], events, report);
    let per_second = |n: u64| Num::exact(n as f64).over(seconds);
    let all = if reads > 0 && writes > 0 {
        Operation::Mixed
    } else if writes > 0 {
        Operation::Write
    } else {
        Operation::Read
    };
    let (mut rate, mut flow) = (None, None);
    for line in lines {
        let text = line.text.trim();
        if let Some(words) = text.strip_suffix("Requests/sec executed") {
            rate = number(words).map(|(n, _)| (format!("{} Requests/sec", words.trim()), n, line.number));
        } else if let Some((_, inside)) = text.split_once('(').filter(|_| text.contains("Total transferred"))
        {
            let inside = inside.trim_end_matches(')');
            flow = old_size(inside).map(|n| (inside.to_owned(), n, line.number));
        }
    }
    report.figure(
        (all, Metric::Iops),
        rate,
        per_second(reads + writes).map(|n| (n, "(reads + writes) / total time")),
    );
    let moved = |n: u64| Some(per_second(n)?.times(f64::from(header.block?)));
    report.figure(
        (all, Metric::Bandwidth),
        flow,
        moved(reads + writes).map(|n| (n, "requests × block size / total time")),
    );
    if all == Operation::Mixed {
        for (operation, n) in [(Operation::Read, reads), (Operation::Write, writes)] {
            report.figure(
                (operation, Metric::Iops),
                None,
                per_second(n).map(|n| (n, "requests / total time")),
            );
            report.figure(
                (operation, Metric::Bandwidth),
                None,
                moved(n).map(|n| (n, "requests × block size / total time")),
            );
        }
    }
    let timed = if header.each_write && all == Operation::Write { Operation::DurableWrite } else { all };
    latencies(timed, numbers, Some(events), report);
    if others > 0 && !header.each_write {
        syncs(header, others, seconds, event_s, report);
    } else if others > 0 {
        report.figure(
            (Operation::Sync, Metric::Iops),
            None,
            per_second(others).map(|n| (n, "others / total time")),
        );
    }
    headlines(report);
    None
}

/// The time outside events: syncs, and nothing else of size.
fn syncs(header: &Header, others_count: u64, seconds: Num, event_s: Num, report: &mut Report) {
    let threads = f64::from(header.threads.unwrap_or(1).max(1));
    let all = seconds.times(threads);
    let gap = all.minus(event_s);
    let others = Num::exact(others_count as f64);
    let rate = others.over(seconds);
    report.figure((Operation::Sync, Metric::Iops), None, rate.map(|n| (n, "others / total time")));
    if gap.value > 0.0 {
        report.fact(fact::SYNCS_OUTSIDE_LATENCY, others_count.to_string());
        let share = gap.over(all);
        report.figure(
            (Operation::Sync, Metric::SyncShare),
            None,
            share.map(|n| (n, "1 − event time / (threads × total time)")),
        );
        let mean = gap.over(others).map(|n| n.times(1e9));
        report.figure(
            (Operation::Sync, Metric::LatMean),
            None,
            mean.map(|n| (n, "(threads × total time − event time) / others")),
        );
    }
}

/// Checks the identities of the counts of 0.4 and 0.5.
fn identities(header: &Header, [reads, writes, others, total]: [u64; 4], events: u64, report: &mut Report) {
    let line = report.line;
    let sum = reads.saturating_add(writes).saturating_add(others);
    if sum != total {
        let message = format!(
            "{reads} reads, {writes} writes and {others} others add up to {sum}, not to the printed {total}"
        );
        report.remark(&remarks::PRINTED_CONTRADICTS_RAW, line, message);
    }
    // With several threads, requests may be in flight when the counts are read.
    let slack = u64::from(header.threads.unwrap_or(1));
    if events.abs_diff(reads.saturating_add(writes)) > slack {
        let message = format!("{events} events do not match {reads} reads and {writes} writes");
        report.remark(&remarks::PRINTED_CONTRADICTS_RAW, line, message);
    }
    let (Some(every), Some(files)) = (header.every, header.files) else { return };
    let random = header.mode.is_some_and(|m| m.random && m.read_percent < 100);
    if every == 0 || files == 0 || header.each_write || !random {
        return;
    }
    let series = events / every * files;
    let most = series.saturating_add(files.saturating_mul(2));
    if others > most || others.saturating_add(files) < series {
        let message = format!(
            "{events} requests with a sync of {files} files after every {every} make about {series} syncs, but {others} are printed"
        );
        report.remark(&remarks::SYNCS_DO_NOT_ADD_UP, line, message);
    }
}

fn latencies(operation: Operation, numbers: &Numbers, events: Option<u64>, report: &mut Report) {
    let printed = |figure: &Option<(Num, u32, String)>| {
        figure.as_ref().map(|(n, line, text)| (text.clone(), *n, *line))
    };
    let raw = numbers.event_s.zip(events).and_then(|(sum, n)| sum.over(Num::exact(n as f64)));
    let raw = raw.map(|n| (n.times(1e9), "event time / events"));
    report.figure((operation, Metric::LatMean), printed(&numbers.mean), raw);
    report.figure((operation, Metric::LatMax), printed(&numbers.max), None);
    report.figure((operation, Metric::LatMin), printed(&numbers.min), None);
    let Some((p, line, text)) = &numbers.p95 else {
        report.unsaid(&["lat_p95"]);
        return;
    };
    if p.value >= NO_PERCENTILE_MS * 1e6 {
        let message = format!(
            "the percentile {text} is not a value: the search of this version ran past the end of its table"
        );
        report.remark(&remarks::PERCENTILE_MISSING, *line, message);
    } else {
        let metric = match numbers.percentile {
            50 => Metric::LatP50,
            95 => Metric::LatP95,
            99 => Metric::LatP99,
            other => {
                report.fact(&format!("{other}th percentile"), text.clone());
                return;
            }
        };
        report.figure((operation, metric), printed(&numbers.p95), None);
    }
}

/// Imports the figures of 1.0 and 1.1; returns the label of the missing one if the report is cut off.
fn new_figures(header: &Header, numbers: &Numbers, report: &mut Report) -> Option<&'static str> {
    let [Some(read), Some(write), Some(sync)] = &numbers.rates else { return Some("fsyncs/s") };
    if numbers.flows.iter().any(Option::is_none) {
        return Some("written, MiB/s");
    }
    if numbers.mean.is_none() || numbers.max.is_none() || numbers.event_s.is_none() {
        return Some("sum");
    }
    match &numbers.total_s {
        Some((seconds, ..)) => report.lasted(seconds.value),
        None => report.unsaid(&["window"]),
    }
    for (i, (operation, rate)) in [(Operation::Read, read), (Operation::Write, write)].into_iter().enumerate()
    {
        if rate.0.value <= 0.0 {
            continue;
        }
        report.figure((operation, Metric::Iops), Some((rate.2.clone(), rate.0, rate.1)), None);
        let flow = numbers.flows[i].as_ref().map(|(n, line, text)| (text.clone(), *n, *line));
        let raw = header.block.map(|b| (rate.0.times(f64::from(b)), "operations per second × block size"));
        report.figure((operation, Metric::Bandwidth), flow, raw);
    }
    if sync.0.value > 0.0 {
        report.figure((Operation::Sync, Metric::Iops), Some((sync.2.clone(), sync.0, sync.1)), None);
    }
    let only = match (read.0.value > 0.0, write.0.value > 0.0, sync.0.value > 0.0) {
        (true, false, false) => Operation::Read,
        (false, true, false) => Operation::Write,
        (false, true, true) if header.each_write => Operation::DurableWrite,
        _ => Operation::Mixed,
    };
    latencies(only, numbers, numbers.events, report);
    if only == Operation::Mixed && header.times_syncs() && sync.0.value > 0.0 {
        report.fact(fact::LATENCIES_INCLUDE, "each periodic sync of one file as an event");
    }
    headlines(report);
    None
}

/// Operations with a rate are judged by it, those with only latencies by their mean.
fn headlines(report: &mut Report) {
    let has =
        |operation, metric| report.figures.iter().any(|f| (f.operation, f.metric) == (operation, metric));
    let mut headlines = Vec::new();
    for operation in [Operation::Read, Operation::Write, Operation::Mixed, Operation::DurableWrite] {
        let order = [Metric::Bandwidth, Metric::Iops, Metric::LatMean];
        headlines.extend(order.into_iter().find(|m| has(operation, *m)).map(|metric| (operation, metric)));
    }
    let syncs = (Operation::Sync, Metric::Iops);
    headlines.extend(has(syncs.0, syncs.1).then_some(syncs));
    report.headlines = headlines;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run on an SD card took 300 s, of which its events took 8.34 s.
    const HIDDEN_STALL: &str = "\
sysbench 0.4.12:  multi-threaded system evaluation benchmark

Number of threads: 1
Extra file open flags: 0
128 files, 16Mb each
2Gb total file size
Block size 16Kb
Periodic FSYNC enabled, calling fsync() each 100 requests.
Calling fsync() at the end of test, Enabled.
Using synchronous I/O mode
Doing random r/w test
Time limit exceeded, exiting...

Operations performed:  1020 Read, 680 Write, 2176 Other = 3876 Total
Read 15.938Mb  Written 10.625Mb  Total transferred 26.562Mb  (90.66Kb/sec)
    5.67 Requests/sec executed

Test execution summary:
    total time:                          300.0140s
    total number of events:              1700
    total time taken by event execution: 8.3400
    per-request statistics:
         min:                                  0.08ms
         avg:                                  4.91ms
         max:                                450.31ms
         approx.  95 percentile:              11.81ms
";

    fn value(report: &Report, operation: Operation, metric: Metric) -> f64 {
        report.figures.iter().find(|f| (f.operation, f.metric) == (operation, metric)).unwrap().value
    }

    #[test]
    fn time_outside_events_of_0_4_is_sync_time() {
        let parsed = parse(&Text::new(HIDDEN_STALL.as_bytes()));
        assert_eq!(parsed.problems, []);
        let report = &parsed.reports[0];
        assert!((value(report, Operation::Sync, Metric::SyncShare) - 0.9722).abs() < 1e-4);
        assert!((value(report, Operation::Sync, Metric::LatMean) / 1e6 - 134.0).abs() < 0.2);
        assert!((value(report, Operation::Read, Metric::Bandwidth) - 1020.0 * 16384.0 / 300.014).abs() < 1.0);
        assert!(report.figures.iter().all(|f| f.contradiction().is_none()), "{:#?}", report.figures);
    }

    #[test]
    fn a_changed_figure_contradicts_the_counts() {
        let parsed = parse(&Text::new(HIDDEN_STALL.replace("90.66Kb", "98.66Kb").as_bytes()));
        assert!(parsed.reports[0].figures.iter().any(|f| f.contradiction().is_some()));
        let parsed = parse(&Text::new(HIDDEN_STALL.replace("2176 Other", "176 Other").as_bytes()));
        assert_eq!(parsed.reports[0].remarks.len(), 2, "{:?}", parsed.reports[0].remarks);
    }

    #[test]
    fn a_cut_off_report_is_a_problem_with_its_line() {
        let cut: Vec<&str> = HIDDEN_STALL.lines().take(15).collect();
        let parsed = parse(&Text::new(cut.join("\n").as_bytes()));
        assert_eq!(
            (parsed.reports.len(), parsed.problems[0].kind, parsed.problems[0].line),
            (0, ProblemKind::CutOff, 15)
        );
    }

    #[test]
    fn the_percentile_bug_of_0_4_gives_no_figure() {
        let parsed = parse(&Text::new(HIDDEN_STALL.replace("11.81ms", "10000000.00ms").as_bytes()));
        let report = &parsed.reports[0];
        assert!(!report.figures.iter().any(|f| f.metric == Metric::LatP95));
        assert_eq!(report.remarks[0].topic, "percentile-missing");
    }
}
