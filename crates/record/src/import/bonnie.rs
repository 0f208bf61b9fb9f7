//! bonnie++: the CSV line of 1.03, 1.96, 1.97 and 1.98 to 2.00, and the text table where there is no such line. Rates
//! are in KiB/s; a latency is the largest of one operation.

use std::collections::BTreeMap;

use model::{FileSet, MetadataOperation, MetadataWork, Metric, Mix, Names, Operation, Pattern, fact};

use super::columns;
use super::remarks;
use super::report::{Parsed, ProblemKind, Report, ZEROS, random, transfers};
use super::text::{Line, Num, Text, binary, binary_size, number};

const TOOL: &str = "bonnie++";
const KIB: f64 = 1024.0;
/// Largest number of pairs of text tables and CSV lines that are compared.
const MOST_PAIRS: usize = 100_000;
/// Printed instead of a rate if a phase took less than half a second.
const TOO_SHORT: &str = "+++++";

/// A phase: its name, its operation, and what its rate counts.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Phase {
    name: &'static str,
    operation: Operation,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Counts {
    Kib,
    Seeks,
    Files,
}

const fn phase(name: &'static str, operation: Operation, counts: Counts) -> Phase {
    Phase { name, operation, counts }
}

/// All phases, in the order of all formats.
const PHASES: [Phase; 12] = [
    phase("write by character", Operation::Write, Counts::Kib),
    phase("write by block", Operation::Write, Counts::Kib),
    phase("rewrite", Operation::Mixed, Counts::Kib),
    phase("read by character", Operation::Read, Counts::Kib),
    phase("read by block", Operation::Read, Counts::Kib),
    phase("random seeks", Operation::Mixed, Counts::Seeks),
    phase("create in order", Operation::Create, Counts::Files),
    phase("stat in order", Operation::Stat, Counts::Files),
    phase("delete in order", Operation::Unlink, Counts::Files),
    phase("create at random", Operation::Create, Counts::Files),
    phase("stat at random", Operation::Stat, Counts::Files),
    phase("delete at random", Operation::Unlink, Counts::Files),
];

/// The figures of one run, from either form.
#[derive(Clone, Debug, Default)]
struct Outcome {
    line: u32,
    version: String,
    machine: String,
    size: String,
    chunk: String,
    files: String,
    largest: String,
    /// Rate and CPU share of each phase, as printed.
    rates: Vec<(String, String)>,
    latencies: Vec<String>,
    /// Line numbers of the rates of both halves.
    lines: [u32; 2],
    is_text: bool,
}

pub(super) fn recognises(text: &Text<'_>) -> bool {
    text.lines
        .iter()
        .any(|line| csv(line).is_some() || version_line(&line.text).is_some() || is_refusal(&line.text))
}

/// A message that bonnie++ prints instead of figures.
fn is_refusal(text: &str) -> bool {
    [
        "You must use the \"-u\" switch",
        "File size should be double RAM",
        "Can't write block",
        "Can't write() - disk full",
        "Drastic I/O error",
    ]
    .iter()
    .any(|start| text.trim().starts_with(start))
}

/// All runs. A text table next to a CSV line repeats it, less exactly.
pub(super) fn parse(text: &Text<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    let exact: Vec<Outcome> = text.lines.iter().filter_map(csv).collect();
    let mut tables = tables(&text.lines);
    // Each is compared with each; no real file has this many runs.
    if tables.len().saturating_mul(exact.len()) > MOST_PAIRS {
        tables.clear();
    }
    if !exact.is_empty() {
        let extra = tables.len().saturating_sub(exact.len());
        for outcome in &exact {
            let table = tables.iter().find(|t| same_run(t, outcome));
            reports(outcome, table, &mut parsed);
        }
        tables.retain(|t| !exact.iter().any(|outcome| same_run(t, outcome)));
        tables.truncate(extra);
    }
    for outcome in &tables {
        reports(outcome, None, &mut parsed);
    }
    let refusal = text.lines.iter().find(|line| is_refusal(&line.text));
    if let Some(line) = refusal {
        parsed.problem(
            line.number,
            ProblemKind::Failed,
            format!("bonnie++ failed with: {}", line.text.trim()),
        );
    } else if exact.is_empty() && tables.is_empty() {
        parsed.problem(
            text.last_number(),
            ProblemKind::CutOff,
            "bonnie++'s output ends without a row of figures",
        );
    }
    parsed
}

/// True if a text table and a CSV line are of one run: the machine and every comparable rate agree.
fn same_run(table: &Outcome, exact: &Outcome) -> bool {
    let near = |(a, b): (&(String, String), &(String, String))| match (text_rate(&a.0, table), number(&b.0)) {
        (Some(a), Some((b, _))) => (a.value - b.value).abs() <= a.error + b.value * 0.01 + 1.0,
        (None, None) => true,
        _ => a.0.is_empty() || b.0.is_empty(),
    };
    let io = table.rates.iter().zip(&exact.rates).take(5);
    (table.machine.is_empty() || exact.machine.starts_with(&table.machine)) && io.into_iter().all(near)
}

/// A CSV line, recognised by the number of its fields and its first ones.
fn csv(line: &Line) -> Option<Outcome> {
    let fields: Vec<&str> = line.text.trim().split(',').collect();
    let is_format = |text: &str| {
        text.len() >= 4
            && text.starts_with(['1', '2'])
            && text[1..].starts_with('.')
            && number(text).is_some()
    };
    if is_format(fields[0])
        && fields.len() >= 47
        && is_format(fields[1].trim_end_matches(|c: char| c.is_ascii_alphabetic()))
    {
        return new_csv(line.number, &fields);
    }
    let is_rate = |text: &&str| {
        text.is_empty() || text.starts_with('+') || text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    };
    let is_old =
        (14..=27).contains(&fields.len()) && !fields[0].contains(' ') && fields[2..14].iter().all(is_rate);
    let has_size = fields.get(1).is_some_and(|size| {
        size.is_empty() || size.ends_with(['M', 'G', 'T']) || size.contains("M:") || size.contains("G:")
    });
    let is_whole = fields.len() == 27 || fields.len() == 14 || fields.len() == 26;
    if !is_old || !has_size || !is_whole {
        return None;
    }
    let pairs = |from: usize, n: usize| {
        (0..n).map(|i| (field(&fields, from + 2 * i), field(&fields, from + 2 * i + 1))).collect::<Vec<_>>()
    };
    let mut rates = pairs(2, 6);
    rates.extend(pairs(15, 6));
    let (size, chunk) = fields[1].split_once(':').unwrap_or((fields[1], ""));
    let files = field(&fields, 14);
    let mut parts = files.split([':', '/']);
    Some(Outcome {
        line: line.number,
        version: "1.03".into(),
        machine: fields[0].into(),
        size: size.into(),
        chunk: chunk.into(),
        files: parts.next().unwrap_or("").into(),
        largest: parts.next().unwrap_or("").into(),
        rates,
        lines: [line.number; 2],
        ..Outcome::default()
    })
}

fn field(fields: &[&str], at: usize) -> String {
    fields.get(at).map_or_else(String::new, |f| f.trim().to_owned())
}

/// Formats 1.96 and 1.97 have 48 fields (the first of them 47 where no files were written), 1.98 has 50.
fn new_csv(line: u32, fields: &[&str]) -> Option<Outcome> {
    let mut fields = fields.to_vec();
    if fields.len() == 47 {
        // Format 1.96 omits one comma of an I/O part that was not run.
        fields.insert(7, "");
    }
    let shift = if fields.len() >= 50 { 2 } else { 0 };
    let at = |i: usize| field(&fields, i + shift);
    let pair = |i: usize| (at(i), at(i + 1));
    let mut rates: Vec<_> = (0..6).map(|i| pair(7 + 2 * i)).collect();
    rates.extend((0..6).map(|i| pair(24 + 2 * i)));
    Some(Outcome {
        line,
        version: field(&fields, 1),
        machine: field(&fields, 2),
        size: field(&fields, 5),
        chunk: field(&fields, 6),
        files: at(19),
        largest: at(20),
        rates,
        latencies: (0..12).map(|i| at(36 + i)).collect(),
        lines: [line; 2],
        is_text: false,
    })
}

/// The version of `Version 2.00a       ------Sequential Output------ …`.
fn version_line(text: &str) -> Option<(&str, bool)> {
    let version = text.trim().strip_prefix("Version ")?.split_whitespace().next()?;
    let is_io = text.contains("Sequential Output");
    (is_io || text.contains("Sequential Create")).then_some((version, is_io))
}

/// The runs in text tables.
fn tables(lines: &[Line]) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut headings: Option<(Vec<usize>, bool)> = None;
    let mut is_io = true;
    let mut machine = String::new();
    for line in lines {
        let text = &line.text;
        if text.contains("Sequential Create") || text.contains("Sequential Output") {
            is_io = text.contains("Sequential Output");
            if let Some((version, _)) = version_line(text) {
                let follows = !is_io && outcomes.last().is_some_and(|o| o.lines[1] == 0);
                if !follows {
                    outcomes.push(Outcome {
                        line: line.number,
                        version: version.into(),
                        is_text: true,
                        ..Outcome::default()
                    });
                }
            }
            headings = None;
        } else if !is_io && text.contains("-Create--") {
            machine = text.split("-Create--").next().unwrap_or("").trim().to_owned();
        } else if text.contains("%CP") && text.contains("/sec") {
            let ends = columns::ends(text)
                .into_iter()
                .filter(|(_, w)| w.ends_with("/sec") || *w == "%CP")
                .map(|(e, _)| e);
            headings = Some((ends.collect(), is_io));
        } else if let (Some((ends, is_io)), Some(outcome)) = (&headings, outcomes.last_mut()) {
            outcome.take(line, ends, *is_io, &machine);
        }
    }
    outcomes.retain(|o| o.rates.iter().any(|(rate, _)| !rate.is_empty()));
    outcomes
}

impl Outcome {
    /// A row of rates or of latencies below the headings.
    fn take(&mut self, line: &Line, ends: &[usize], is_io: bool, machine: &str) {
        self.rates.resize(12, Default::default());
        self.latencies.resize(12, String::new());
        let (half, start) = if is_io { (0, 0) } else { (1, 6) };
        if line.text.trim_start().starts_with("Latency") {
            // Six columns of ten characters, the last of which ends below the last heading.
            for (end, word) in columns::ends(&line.text).into_iter().skip(1) {
                let column = (end as f64 - 27.0) / 10.0;
                let at = column.round() as usize;
                if column > -0.5 && at < 6 {
                    self.latencies[start + at] = word.to_owned();
                }
            }
            return;
        }
        if self.lines[half] != 0 || ends.len() != 12 || line.text.trim().is_empty() {
            return;
        }
        let cells = columns::under(ends, &line.text, 2);
        if cells.iter().all(Option::is_none) {
            return;
        }
        for i in 0..6 {
            let of = |i: usize| cells[i].unwrap_or("").to_owned();
            self.rates[start + i] = (of(2 * i), of(2 * i + 1));
        }
        self.lines[half] = line.number;
        let first = ends[0].saturating_sub(5);
        let key: String = line.text.chars().take(first).collect();
        let words: Vec<&str> = key.split_whitespace().collect();
        if is_io {
            self.machine = words.first().map_or_else(String::new, |w| (*w).to_owned());
            let mut parts = words.get(1).copied().unwrap_or("").split(':');
            self.size = parts.next().unwrap_or("").to_owned();
            self.chunk = parts.next().unwrap_or("").to_owned();
        } else {
            let mut parts = words.first().copied().unwrap_or("").split([':', '/']);
            self.files = parts.next().unwrap_or("").to_owned();
            self.largest = parts.next().unwrap_or("").to_owned();
            if self.machine.is_empty() {
                machine.clone_into(&mut self.machine);
            }
        }
    }

    fn is_old(&self) -> bool {
        self.version.starts_with("1.0")
    }

    /// Bytes of one read or write by block.
    fn chunk_bytes(&self) -> Option<u32> {
        binary_size(&self.chunk).and_then(|(n, _)| super::text::block(n.value))
    }

    fn size_bytes(&self) -> u64 {
        let (num, letter) = match number(&self.size) {
            Some((num, rest)) => (num, rest.chars().next()),
            None => return 0,
        };
        // A bare number is MiB.
        super::text::bytes(num.times(letter.and_then(binary).unwrap_or(KIB * KIB)))
    }

    fn file_count(&self) -> u64 {
        self.files.parse::<u64>().unwrap_or(0).saturating_mul(1024)
    }
}

/// A rate of the text in KiB/s or per second: 1.98 and later add `k`, `m` or `g`.
fn text_rate(word: &str, outcome: &Outcome) -> Option<Num> {
    let (num, rest) = number(word)?;
    let scale = match rest.chars().next() {
        Some('k' | 'K') | None => 1.0,
        Some(letter) => binary(letter)? / KIB,
    };
    Some(if outcome.is_text { num.truncated().times(scale) } else { num.truncated() })
}

/// `415us`, `100ms` or `12s` in nanoseconds.
fn latency(word: &str) -> Option<Num> {
    let (num, unit) = number(word)?;
    let scale = match unit {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(num.truncated().times(scale))
}

/// One report for each phase with a figure; `table` is the text table of the same run.
fn reports(outcome: &Outcome, table: Option<&Outcome>, parsed: &mut Parsed) {
    let before = parsed.reports.len();
    for (i, phase) in PHASES.iter().enumerate() {
        let (rate, cpu) = outcome.rates.get(i).cloned().unwrap_or_default();
        if rate.is_empty() {
            continue;
        }
        let line = outcome.lines[i / 6];
        let mut report = described(outcome, i, phase, line);
        let wrong = wrong_print(outcome, table, i);
        if let Some(wrong) = &wrong {
            report.remark(&remarks::WRONG_PRINT, line, wrong.clone());
        }
        if rate.starts_with('+') {
            let message =
                format!("{TOO_SHORT} means a phase of less than half a second: {} has no rate", phase.name);
            report.remark(&remarks::NO_RATE, line, message);
        } else if wrong.is_none() || !outcome.is_text {
            rated(outcome, phase, &rate, line, &mut report);
        }
        if !cpu.is_empty() && !cpu.starts_with('+') {
            let share = number(&cpu).map(|(n, _)| (format!("{cpu} %"), n.times(0.01), line));
            report.figure((phase.operation, Metric::CpuJob), share, None);
            if phase.counts == Counts::Seeks && cpu.parse::<u32>().is_ok_and(|cpu| cpu > 100) {
                let message = format!(
                    "{cpu} % of a processor for random seeks: each seeker counts the whole process, so the figure is inflated by their number"
                );
                report.remark(&remarks::CPU_COUNTED_TWICE, line, message);
            }
        }
        let longest = outcome.latencies.get(i).and_then(|word| Some((word.clone(), latency(word)?, line)));
        report.figure((phase.operation, Metric::LatMax), longest, None);
        let metric = if phase.counts == Counts::Kib { Metric::Bandwidth } else { Metric::Iops };
        let has = |metric| report.figures.iter().any(|f| f.metric == metric);
        let headline = [metric, Metric::LatMax].into_iter().find(|m| has(*m));
        match headline {
            Some(metric) => report.headlines = vec![(phase.operation, metric)],
            None => continue,
        }
        parsed.reports.push(report);
    }
    if parsed.reports.len() == before {
        parsed.problem(
            outcome.line,
            ProblemKind::NoFigures,
            "every phase of bonnie++ took less than half a second (+++++), so there are no rates",
        );
    }
}

fn rated(outcome: &Outcome, phase: &Phase, rate: &str, line: u32, report: &mut Report) {
    let Some(num) = text_rate(rate, outcome) else { return };
    if phase.counts == Counts::Kib {
        let unit = if rate.ends_with(|c: char| c.is_ascii_alphabetic()) { "iB/s" } else { " K/sec" };
        report.figure(
            (phase.operation, Metric::Bandwidth),
            Some((format!("{rate}{unit}"), num.times(KIB), line)),
            None,
        );
        let seconds = outcome.size_bytes() as f64 / (num.value * KIB);
        if !phase.name.contains("character") {
            report.lasted(seconds);
        }
    } else {
        report.figure((phase.operation, Metric::Iops), Some((format!("{rate} /sec"), num, line)), None);
        let files = outcome.file_count() as f64;
        if phase.counts == Counts::Files && files > 0.0 {
            report.lasted(files / num.value);
        }
    }
    if report.window_ns > 0 {
        report.fact(fact::MEASURED_TIME, "computed from the amount and the rate");
    }
}

/// The text of 1.98 and 2.00 prints the number of files in place of the rate of a file phase.
fn wrong_print(outcome: &Outcome, table: Option<&Outcome>, i: usize) -> Option<String> {
    let text = if outcome.is_text { outcome } else { table? };
    let (rate, _) = text.rates.get(i)?;
    let files = text.file_count();
    let is_it = i >= 6 && files > 0 && rate.parse::<u64>().ok() == Some(files);
    is_it.then(|| {
        format!(
            "the text shows {rate} per second, which is the number of files: this version prints it by mistake"
        )
    })
}

fn described(outcome: &Outcome, i: usize, phase: &Phase, line: u32) -> Report {
    let family = if outcome.is_old() { "bonnie++ 1.03" } else { TOOL };
    let chunk = outcome.chunk_bytes();
    let by_character = phase.name.contains("character");
    let block = if by_character { 1 } else { chunk.unwrap_or(8192) };
    let (read_percent, pattern) = match i {
        0 | 1 => (0, Pattern::Sequential),
        2 => (50, Pattern::Sequential),
        5 => (90, random(true)),
        _ => (100, Pattern::Sequential),
    };
    let mut workload = transfers(read_percent, pattern, block);
    let mut title = format!("{family}: {}", phase.name);
    let mut report_size = outcome.size_bytes();
    if phase.counts == Counts::Files {
        let pass = match phase.operation {
            Operation::Create => MetadataOperation::Create,
            Operation::Stat => MetadataOperation::Stat,
            _ => MetadataOperation::Unlink,
        };
        let files = outcome.file_count();
        workload.mix = Mix::Metadata(MetadataWork {
            operations: vec![pass],
            files: u32::try_from(files).unwrap_or(u32::MAX),
            directories: 1,
            file_bytes: outcome.largest.parse().unwrap_or(0),
            names: Names::Files,
            naming: Default::default(),
            order: Default::default(),
        });
        title.push_str(&format!(", {files} files"));
        report_size = 0;
    } else {
        workload.files = FileSet { count: 1, size_bytes: Some(outcome.size_bytes()), number: 0 };
        if !outcome.size.is_empty() {
            title.push_str(&format!(", {}", outcome.size));
        }
    }
    workload.data = ZEROS;
    // Since 1.90 every close syncs.
    workload.sync.at_end = !outcome.is_old() && phase.operation == Operation::Write;
    let mut report = Report::new(TOOL, line, title, workload);
    report.version = (!outcome.version.is_empty()).then(|| outcome.version.clone());
    report.size_bytes = report_size;
    report.facts = BTreeMap::from([("machine".to_owned(), outcome.machine.clone())]);
    report.unsaid(&["direct", "memory"]);
    if chunk.is_none() && phase.counts != Counts::Files {
        report.unsaid(&["block"]);
    }
    if by_character {
        let what = if outcome.is_old() {
            "the C library's buffered putc and getc"
        } else {
            "a system call for each byte"
        };
        report.remark(
            &remarks::MEASURES_CALLS,
            line,
            format!("`{}` measures {what}, not the storage", phase.name),
        );
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(text: &str) -> Vec<(String, f64)> {
        let parsed = parse(&Text::new(text.as_bytes()));
        let first = |r: &Report| (r.title.clone(), r.figures[0].value);
        parsed.reports.iter().filter(|r| r.figures[0].metric != Metric::LatMax).map(first).collect()
    }

    #[test]
    fn fields_of_1_96_are_not_those_of_1_98() {
        let old = "1.96,1.96,host,1,1795284809,200M,,2909,92,349243,79,224100,83,4484,99,500000,10,900.5,20,64,,,,,39589,93,50000,9,60000,9,38612,99,70000,9,130005,88,40481us,2893us,1945us,256us,92us,10009us,6021us,194us,2856us,805us,77us,1928us";
        let found = rates(old);
        assert_eq!(found.len(), 12);
        assert_eq!(found[1], ("bonnie++: write by block, 200M".into(), 349_243.0 * KIB));
        assert_eq!(found[5].1, 900.5);
        assert_eq!(found[11], ("bonnie++: delete at random, 65536 files".into(), 130_005.0));
        let new = old.replace("200M,,2909", "200M,,8192,5,2909").replace("1.96,1.96", "1.98,2.00a");
        assert_eq!(rates(&new), found);
    }

    #[test]
    fn a_text_table_without_a_csv_line_is_read_by_its_columns() {
        let text = "\
Version  1.97       ------Sequential Output------ --Sequential Input- --Random-
Concurrency   1     -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
pi               8G           38123   5 20456   4           87654   6 312.5   9
Latency                         415us    2639us               455us   16956us
";
        let found = rates(text);
        let expected = [
            ("bonnie++: write by block, 8G", 38123.0 * KIB),
            ("bonnie++: rewrite, 8G", 20456.0 * KIB),
            ("bonnie++: read by block, 8G", 87654.0 * KIB),
            ("bonnie++: random seeks, 8G", 312.5),
        ];
        assert_eq!(found, expected.map(|(title, rate)| (title.to_owned(), rate)));
        let parsed = parse(&Text::new(text.as_bytes()));
        let longest = parsed.reports[3].figures.iter().find(|f| f.metric == Metric::LatMax).unwrap();
        assert_eq!(longest.value, 16_956_000.0);
    }
}
