//! iozone: the table of automatic mode in KiB/s, operations per second or microseconds, the Excel tables, and
//! throughput mode. Its `kB` and `KB` are 1024 bytes.

use std::collections::BTreeMap;

use model::{FileSet, Metric, Operation, Pattern, fact};

use super::columns;
use super::remarks;
use super::report::{Parsed, ProblemKind, Report, ZEROS, random, transfers};
use super::text::{Line, Num, Text, after, binary_size, block_words, count, number};

const TOOL: &str = "iozone";
const KIB: f64 = 1024.0;

/// A pass: its name, whether it reads, whether at random offsets, the test number that selects it, and its title in the
/// Excel tables.
type Pass = (&'static str, bool, bool, u32, &'static str);

/// In the order of the table.
const PASSES: [Pass; 13] = [
    ("write, new file", false, false, 0, "Writer report"),
    ("rewrite", false, false, 0, "Re-writer report"),
    ("read", true, false, 1, "Reader report"),
    ("reread", true, false, 1, "Re-Reader report"),
    ("random read", true, true, 2, "Random read report"),
    ("random write", false, true, 2, "Random write report"),
    ("backward read", true, false, 3, "Backward read report"),
    ("record rewrite", false, false, 4, "Record rewrite report"),
    ("stride read", true, false, 5, "Stride read report"),
    ("fwrite", false, false, 6, "Fwrite report"),
    ("frewrite", false, false, 6, "Re-Fwrite report"),
    ("fread", true, false, 7, "Fread report"),
    ("freread", true, false, 7, "Re-Fread report"),
];

pub(super) fn recognises(text: &Text<'_>) -> bool {
    text.lines.iter().any(|line| {
        let line = line.text.trim();
        line.starts_with("Iozone: Performance Test of File I/O")
            || is_heading(line)
            || excel_pass(line).is_some()
            || is_children(line)
    })
}

/// The heading with `reclen` above the rows.
fn is_heading(text: &str) -> bool {
    text.contains("reclen") && text.contains("rewrite") && text.contains("reread")
}

fn excel_pass(text: &str) -> Option<usize> {
    let title = text.trim().strip_prefix('"')?.strip_suffix('"')?;
    PASSES.iter().position(|pass| pass.4.eq_ignore_ascii_case(title))
}

fn is_children(text: &str) -> bool {
    text.contains("Children see throughput for")
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Unit {
    #[default]
    KibPerSecond,
    OpsPerSecond,
    MicrosecondsPerOp,
}

/// The lines before a table.
#[derive(Clone, Debug, Default)]
struct Header {
    line: u32,
    version: Option<String>,
    unit: Unit,
    direct: bool,
    synced: bool,
    open_sync: bool,
    unmounts: bool,
    command: Option<String>,
    file_kib: Option<u64>,
    record_kib: Option<u64>,
    is_complete: bool,
    clock_is_poor: bool,
}

/// All tables.
pub(super) fn parse(text: &Text<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    let lines = &text.lines;
    let starts: Vec<usize> =
        (0..lines.len()).filter(|i| lines[*i].text.trim().starts_with("Iozone: Performance Test")).collect();
    let mut edges = vec![0];
    edges.extend(starts.iter().skip(usize::from(starts.first() == Some(&0))));
    edges.push(lines.len());
    for edge in edges.windows(2) {
        session(&lines[edge[0]..edge[1]], !starts.is_empty(), &mut parsed);
    }
    parsed
}

fn session(lines: &[Line], has_banner: bool, parsed: &mut Parsed) {
    let mut header = Header { line: lines.first().map_or(1, |l| l.number), ..Header::default() };
    lines.iter().for_each(|line| header.take(line));
    let mut found = Vec::new();
    if let Some(at) = lines.iter().position(|line| is_heading(&line.text)) {
        table(&header, &lines[at], &lines[at + 1..], &mut found, parsed);
    }
    excel(&header, lines, &mut found, parsed);
    throughput(&header, lines, &mut found);
    let first = lines.iter().find(|line| is_heading(&line.text) || is_children(&line.text));
    let ends = |found: &[Report]| found.last().map_or(header.line, |r| r.last_line);
    if has_banner && !header.is_complete && (first.is_some() || !found.is_empty()) {
        let message = "iozone's output ends without `iozone test complete.`: the last row is left out";
        parsed.problem(lines.last().map_or(1, |l| l.number), ProblemKind::CutOff, message);
        let last = ends(&found);
        found.retain(|report| report.last_line != last);
    } else if has_banner
        && found.is_empty()
        && lines.iter().any(|l| l.text.contains("Iozone: Performance Test"))
    {
        let why = lines.iter().rev().map(|l| l.text.trim()).find(|t| !t.is_empty()).unwrap_or("");
        parsed.problem(
            header.line,
            ProblemKind::Failed,
            format!("iozone printed no figures; its last line is `{why}`"),
        );
    }
    parsed.reports.extend(found);
}

impl Header {
    fn take(&mut self, line: &Line) {
        let text = line.text.trim();
        let kib = |text: &str| count(text).map(|(n, _)| n);
        if let Some(rest) = after(text, "Version $Revision:") {
            self.version = Some(rest.trim_end_matches('$').trim().chars().take(40).collect());
        } else if text.starts_with("OPS Mode") {
            self.unit = Unit::OpsPerSecond;
        } else if text.starts_with("Microseconds/op Mode") {
            self.unit = Unit::MicrosecondsPerOp;
        } else if text.starts_with("O_DIRECT feature enabled") {
            self.direct = true;
        } else if text.starts_with("Include fsync") {
            self.synced = true;
        } else if text.starts_with("SYNC Mode") || text.contains("O_DSYNC") {
            self.open_sync = true;
        } else if let Some(command) = after(text, "Command line used:") {
            self.command = Some(command.chars().take(1000).collect());
            self.take_command(command);
        } else if let Some(rest) = after(text, "File size set to") {
            self.file_kib = kib(rest);
        } else if let Some(rest) = after(text, "Record Size") {
            self.record_kib = kib(rest);
        } else if let Some(rest) = after(text, "Each process writes a ") {
            // The mode with several processes prints both in one line.
            self.file_kib = kib(rest);
            self.record_kib = after(rest, "file in ").and_then(kib);
        } else if text.starts_with("iozone test complete") {
            self.is_complete = true;
        } else if text.contains("Timer resolution is poor") {
            self.clock_is_poor = true;
        }
    }

    /// The options repeat the lines above; some versions print only one of the two.
    fn take_command(&mut self, command: &str) {
        for word in command.split_whitespace().skip(1) {
            match word {
                "-O" => self.unit = Unit::OpsPerSecond,
                "-N" => self.unit = Unit::MicrosecondsPerOp,
                "-I" => self.direct = true,
                "-e" => self.synced = true,
                "-o" | "-+D" => self.open_sync = true,
                "-U" => self.unmounts = true,
                _ => {}
            }
        }
    }

    /// The requested passes, if the command line is known.
    fn passes(&self) -> Option<Vec<usize>> {
        let words: Vec<&str> = self.command.as_ref()?.split_whitespace().collect();
        let tests: Vec<u32> = words
            .windows(2)
            .filter(|pair| pair[0] == "-i")
            .filter_map(|pair| pair[1].parse().ok())
            .chain(words.iter().filter_map(|w| w.strip_prefix("-i")?.parse().ok()))
            .collect();
        let wanted = |i: &usize| tests.is_empty() || tests.contains(&PASSES[*i].3);
        Some((0..PASSES.len()).filter(wanted).collect())
    }

    fn report(&self, line: u32, pass: usize, file_kib: u64, record_kib: u64) -> Report {
        let (name, reads, is_random, ..) = PASSES[pass];
        let bytes = u32::try_from(record_kib.saturating_mul(1024)).unwrap_or(u32::MAX).max(1);
        let pattern = if is_random { random(false) } else { Pattern::Sequential };
        let mut workload = transfers(if reads { 100 } else { 0 }, pattern, bytes);
        workload.direct = self.direct;
        workload.data = ZEROS;
        workload.sync.at_end = self.synced && !reads;
        if self.open_sync {
            workload.open_sync = model::OpenSync::Sync;
        }
        let size = file_kib.saturating_mul(1024);
        workload.files = FileSet { count: 1, size_bytes: Some(size), number: 0 };
        let mut title = format!("iozone: {name}, {} records", block_words(bytes));
        title.push_str(&format!(", file of {}", size_words(file_kib)));
        for (is_so, words) in [
            (self.direct, ", direct"),
            (self.open_sync, ", each write synced"),
            (self.synced && !reads, ", synced at the end"),
        ] {
            if is_so {
                title.push_str(words);
            }
        }
        let mut report = Report::new(TOOL, line, title, workload);
        report.version.clone_from(&self.version);
        report.size_bytes = size;
        if let Some(command) = &self.command {
            report.fact("command", command.clone());
        }
        report.unsaid(&["window", "machine", "memory"]);
        if reads && !self.direct && !self.unmounts {
            report.remark(
                &remarks::FROM_PAGE_CACHE,
                line,
                "the file was read just after it was written, without -I and -U: the figure is of memory",
            );
        }
        if self.clock_is_poor {
            report.remark(
                &remarks::CLOCK_TOO_COARSE,
                line,
                "iozone reports that its clock is too coarse for passes as short as some of these",
            );
        }
        report
    }
}

fn size_words(kib: u64) -> String {
    match kib {
        n if n >= 1 << 20 && n % (1 << 20) == 0 => format!("{} GiB", n >> 20),
        n if n >= 1 << 10 && n % (1 << 10) == 0 => format!("{} MiB", n >> 10),
        n => format!("{n} KiB"),
    }
}

/// Adds the figure of a pass in the mode's unit, and the figures derived from it.
fn fill(
    header: &Header,
    report: &mut Report,
    pass: usize,
    record_kib: u64,
    word: &str,
    line: u32,
) -> Option<()> {
    let (num, rest) = number(word)?;
    if !rest.is_empty() {
        return None;
    }
    let operation = if PASSES[pass].1 { Operation::Read } else { Operation::Write };
    let record = record_kib as f64 * KIB;
    let (rate, iops) = ((operation, Metric::Bandwidth), (operation, Metric::Iops));
    match header.unit {
        Unit::KibPerSecond => {
            let printed = num.truncated().times(KIB);
            report.figure(rate, Some((format!("{word} kB/sec"), printed, line)), None);
            report.figure(iops, None, Some((printed.times(1.0 / record), "KiB/s / record size")));
            report.lasted(report.size_bytes as f64 / printed.value);
        }
        Unit::OpsPerSecond => {
            let printed = num.truncated();
            report.figure(rate, None, Some((printed.times(record), "operations per second × record size")));
            report.figure(iops, Some((format!("{word} ops/sec"), printed, line)), None);
            report.lasted(report.size_bytes as f64 / (printed.value * record));
        }
        Unit::MicrosecondsPerOp => {
            let printed = num.truncated().times(1e3);
            report.figure((operation, Metric::LatMean), Some((format!("{word} us/op"), printed, line)), None);
            let raw = Num::exact(record * 1e9).over(printed).map(|n| (n, "record size / time per operation"));
            report.figure(rate, None, raw);
            report.lasted(report.size_bytes as f64 / record * printed.value / 1e9);
        }
    }
    let is_latency = header.unit == Unit::MicrosecondsPerOp;
    report.headlines = vec![if is_latency { (operation, Metric::LatMean) } else { rate }];
    if report.window_ns > 0 {
        report.fact(fact::MEASURED_TIME, "computed from the size and the rate");
    }
    Some(())
}

/// The rows below the heading, up to the first line that is not a row.
fn table(header: &Header, heading: &Line, lines: &[Line], found: &mut Vec<Report>, parsed: &mut Parsed) {
    let ends: Vec<usize> = columns::ends(&heading.text).into_iter().map(|(end, _)| end).collect();
    if ends.len() < 2 {
        return;
    }
    for line in lines {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        if words.is_empty() {
            if found.is_empty() { continue } else { break }
        }
        if !words.iter().all(|word| word.bytes().all(|b| b.is_ascii_digit() || b == b'.')) {
            break;
        }
        let (Some(kib), Some(record)) = (words[0].parse().ok(), words.get(1).and_then(|w| w.parse().ok()))
        else {
            continue;
        };
        let values = &words[2..];
        let cells: Vec<(usize, &str)> = match header.passes() {
            // If all requested passes have values, they are in order, whatever the blanks.
            Some(passes) if passes.len() == values.len() => {
                passes.into_iter().zip(values.iter().copied()).collect()
            }
            _ => {
                let cells = columns::under(&ends, &line.text, 3);
                let cells =
                    cells.into_iter().enumerate().skip(2).filter_map(|(i, cell)| Some((i - 2, cell?)));
                cells.filter(|(i, _)| *i < PASSES.len()).collect()
            }
        };
        if cells.len() != values.len() {
            let message = format!(
                "a row of iozone has {} values, of which {} are under a heading",
                values.len(),
                cells.len()
            );
            parsed.problem(line.number, ProblemKind::Contradictory, message);
            continue;
        }
        for (pass, word) in cells {
            let mut report = header.report(line.number, pass, kib, record);
            if number(word).is_some_and(|(n, _)| n.value == 0.0) {
                zero(header, line.number, PASSES[pass].0, kib, parsed);
                continue;
            }
            if fill(header, &mut report, pass, record, word, line.number).is_some() {
                found.push(report);
            }
        }
    }
}

/// Reports what a zero in the table means.
fn zero(header: &Header, line: u32, pass: &str, kib: u64, parsed: &mut Parsed) {
    if header.unit == Unit::MicrosecondsPerOp {
        let message =
            format!("0 microseconds per operation for {pass} of {kib} kB: less than this mode can show");
        parsed.problem(line, ProblemKind::NoFigures, message);
    } else {
        let message = format!("a rate of 0 for {pass} of {kib} kB: no complete pass has it");
        parsed.problem(line, ProblemKind::Contradictory, message);
    }
}

/// The tables for a spreadsheet: they repeat the first one, or are the only ones.
fn excel(header: &Header, lines: &[Line], found: &mut Vec<Report>, parsed: &mut Parsed) {
    let known: BTreeMap<String, String> = found
        .iter()
        .filter_map(|r| {
            Some((r.title.clone(), r.figures.iter().find_map(|f| f.printed.as_ref())?.text.clone()))
        })
        .collect();
    let mut pass = None;
    let mut records: Vec<u64> = Vec::new();
    for line in lines {
        if let Some(found) = excel_pass(&line.text) {
            (pass, records) = (Some(found), Vec::new());
            continue;
        }
        let Some(pass) = pass else { continue };
        let words: Vec<&str> = line.text.split_whitespace().collect();
        let quoted = |word: &&str| word.strip_prefix('"')?.strip_suffix('"')?.parse::<u64>().ok();
        let quotes: Vec<u64> = words.iter().map_while(quoted).collect();
        if records.is_empty() && quotes.len() == words.len() && !quotes.is_empty() {
            records = quotes;
        } else if let [kib] = quotes[..] {
            for (record, word) in records.iter().zip(&words[1..]) {
                let mut report = header.report(line.number, pass, kib, *record);
                if fill(header, &mut report, pass, *record, word, line.number).is_none() {
                    continue;
                }
                let own = report.figures.iter().find_map(|f| f.printed.as_ref()).map(|p| p.text.clone());
                match known.get(&report.title) {
                    None => found.push(report),
                    Some(shown) if own.as_ref() == Some(shown) || word.parse() == Ok(0u64) => {}
                    Some(shown) => {
                        let message = format!(
                            "the Excel table shows {word} for {}, but the first table {shown}",
                            report.title
                        );
                        parsed.problem(line.number, ProblemKind::Contradictory, message);
                    }
                }
            }
        }
    }
}

/// `Children see throughput for  2 initial writers = 1739.33 kB/sec` and the lines after it.
fn throughput(header: &Header, lines: &[Line], found: &mut Vec<Report>) {
    for (i, line) in lines.iter().enumerate() {
        let Some(rest) = after(&line.text, "Children see throughput for") else { continue };
        let Some((processes, rest)) = count(rest) else { continue };
        let Some((who, rate)) = rest.split_once('=') else { continue };
        let Some((num, unit)) = number(rate.trim()) else { continue };
        let who = who.trim();
        let reads = who.contains("read");
        let is_random = who.contains("random");
        let record = header.record_kib.unwrap_or(4);
        let at = PASSES.iter().position(|p| p.1 == reads && p.2 == is_random).unwrap_or(0);
        let mut report = header.report(line.number, at, header.file_kib.unwrap_or(0), record);
        report.title = format!(
            "iozone: {who}, {processes} processes, {} records",
            block_words(report.workload.block.read)
        );
        if header.direct {
            report.title.push_str(", direct");
        }
        report.workload.jobs = u32::try_from(processes).unwrap_or(1).max(1);
        let operation = if reads { Operation::Read } else { Operation::Write };
        let is_ops = unit.trim_start().starts_with("ops");
        let key = (operation, if is_ops { Metric::Iops } else { Metric::Bandwidth });
        let printed = num.times(if is_ops { 1.0 } else { KIB });
        report.figure(key, Some((rate.trim().to_owned(), printed, line.number)), None);
        report.headlines = vec![key];
        report.unsaid.push("files".to_owned());
        let mut parent = report.clone();
        parent.figures.clear();
        for below in lines[i + 1..].iter().take_while(|l| !is_children(&l.text)).take(8) {
            report.last_line = below.number;
            match below.text.split_once('=').filter(|_| below.text.contains("Parent sees throughput for")) {
                Some((_, rate)) => as_parent(key, rate.trim(), below.number, &mut parent),
                None => below_children(header, below, &mut report),
            }
        }
        found.push(report);
        found.extend(Some(parent).filter(|parent| !parent.figures.is_empty()));
    }
}

/// What the parent sees: everything that was moved, over the time from the start of the first process to the end of the
/// last one. It is a step of its own, because the sum of the children's rates is another figure.
fn as_parent(key: (Operation, Metric), rate: &str, line: u32, report: &mut Report) {
    let Some((num, _)) = number(rate) else { return };
    let printed = num.times(if key.1 == Metric::Iops { 1.0 } else { KIB });
    report.figure(key, Some((rate.to_owned(), printed, line)), None);
    report.title.push_str(", as the parent sees it");
    (report.line, report.last_line) = (line, line);
}

fn below_children(header: &Header, line: &Line, report: &mut Report) {
    let Some((label, value)) = line.text.split_once('=') else { return };
    let (label, value) = (label.trim(), value.trim());
    report.fact(label, value);
    if label != "Min xfer" {
        return;
    }
    let (Some((least, _)), Some(file)) = (binary_size(value), header.file_kib) else { return };
    let whole = file as f64 * KIB;
    if least.value < whole * 0.9 {
        let message = format!(
            "the slowest process had moved {value} of {file} kB when the first ended: the sum adds rates from different times"
        );
        report.remark(&remarks::PROCESSES_NOT_TOGETHER, line.number, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "\tIozone: Performance Test of File I/O\n\t        Version $Revision: 3.489 $\n";
    const HEADINGS: &str = "                                                              random    random     bkwd    record    stride                                    \n              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    fread  freread\n";

    #[test]
    fn blank_columns_in_the_middle_stay_blank() {
        let row = format!(
            "{:16}{:8}{:10}{:9}{:18}{:9}{:9}\n\niozone test complete.\n",
            81920, 4, 2251, 2288, "", 7353, 3432
        );
        let parsed = parse(&Text::new(format!("{HEAD}{HEADINGS}{row}").as_bytes()));
        assert_eq!(parsed.problems, []);
        let titles: Vec<&str> = parsed.reports.iter().map(|r| r.title.split(", 4").next().unwrap()).collect();
        assert_eq!(
            titles,
            ["iozone: write, new file", "iozone: rewrite", "iozone: random read", "iozone: random write"]
        );
        assert_eq!(parsed.reports[3].figures[0].value, 3432.0 * 1024.0);
    }

    #[test]
    fn the_mode_is_in_the_banner_or_the_command_not_the_headings() {
        let row = "           81920       4     1000     2000\n\niozone test complete.\n";
        let command = "\tCommand line used: iozone -a -N -i 0 -s 80M -r 4k\n";
        let parsed = parse(&Text::new(format!("{HEAD}{command}{HEADINGS}{row}").as_bytes()));
        let figure = &parsed.reports[0].figures[0];
        assert_eq!((figure.metric, figure.value), (Metric::LatMean, 1_000_000.0));
    }

    /// The sum of the children's rates was the only figure: 34 times what two processes moved together.
    #[test]
    fn what_the_parent_sees_is_a_step_of_its_own() {
        let lines = "\tThroughput test with 3 processes\n\tEach process writes a 1024 kByte file in 8 kByte records\n\n\
                     \tChildren see throughput for  3 rewriters \t= 88000.00 kB/sec\n\
                     \tParent sees throughput for  3 rewriters \t= 2560.50 kB/sec\n\
                     \tMin xfer \t= 1000.00 kB\n\niozone test complete.\n";
        let parsed = parse(&Text::new(format!("{HEAD}{lines}").as_bytes()));
        let told: Vec<(&str, f64)> =
            parsed.reports.iter().map(|r| (r.title.as_str(), r.figures[0].value / 1024.0)).collect();
        let title = "iozone: rewriters, 3 processes, 8 KiB records";
        assert_eq!(told, [(title, 88000.0), (&*format!("{title}, as the parent sees it"), 2560.5)]);
    }

    #[test]
    fn a_cut_off_table_loses_only_its_last_row() {
        let rows = "           81920       4     1000     2000\n           81920       8     1000\n";
        let parsed = parse(&Text::new(format!("{HEAD}{HEADINGS}{rows}").as_bytes()));
        assert_eq!((parsed.reports.len(), parsed.problems[0].kind), (2, ProblemKind::CutOff));
    }
}
