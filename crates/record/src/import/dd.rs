//! dd of coreutils in any language, of busybox, toybox and BSD. The printed rate has two or three digits; bytes divided
//! by seconds have six.

use std::collections::BTreeMap;

use model::{Metric, Mix, OpenSync, Operation, Pattern, fact};

use super::report::{NAME_LABEL, Parsed, ProblemKind, Report, ZEROS, transfers};
use super::text::{Line, Num, Text, binary, block, block_words, count, decimal, number};

const TOOL: &str = "dd";
/// The label with what dd did, `read` or `write`, where its output does not say it.
const DIRECTION_LABEL: &str = "direction";
const SEPARATORS: [char; 3] = ['-', '_', ' '];

pub(super) fn recognises(text: &Text<'_>) -> bool {
    text.lines.iter().any(|line| statistics(line).is_some() || is_error(&line.text))
        || text
            .lines
            .windows(2)
            .any(|pair| records(&pair[0].text).is_some() && records(&pair[1].text).is_some())
}

/// Full and partial blocks of `20480+0 records in`, in any language.
fn records(text: &str) -> Option<(u64, u64)> {
    let (full, rest) = count(text.trim())?;
    let (partial, rest) = count(rest.strip_prefix('+')?)?;
    let words = rest.trim();
    (!words.is_empty() && !words.contains(|c: char| c.is_ascii_digit())).then_some((full, partial))
}

fn is_error(text: &str) -> bool {
    text.trim_start().starts_with("dd: ")
}

/// Bytes, seconds and rate of the last line.
struct Statistics {
    bytes: u64,
    seconds: Num,
    rate: Num,
    rate_text: String,
}

/// `67108864 bytes (67 MB, 64 MiB) copied, 0.0356106 s, 1.9 GB/s` in any language: a count of bytes first, a rate last,
/// and the seconds before it. The rate must roughly match them, which distinguishes the line from others.
fn statistics(line: &Line) -> Option<Statistics> {
    let text = line.text.trim().trim_end_matches(')');
    let (bytes, rest) = count(text)?;
    // sysbench's prepare prints `… bytes written in … seconds (… MiB/sec)`.
    if rest.contains(" written in ") {
        return None;
    }
    if rest.starts_with(['+', '.', ',', ':', '-'])
        || !rest.starts_with(|c: char| c == ' ' || c.is_alphabetic())
    {
        return None;
    }
    let numbers = numbers(rest);
    let [.., (seconds, between), (rate, unit)] = numbers.as_slice() else { return None };
    let is_apart = unit.starts_with(char::is_whitespace);
    let unit = unit.trim();
    let (amount, per) = unit.split_once('/')?;
    let is_time = |word: &str| word.chars().count() <= 8 && !word.contains(|c: char| c.is_ascii_digit());
    if !is_time(per) || !is_time(between.trim().trim_end_matches([',', '，', '、', '('])) {
        return None;
    }
    let (scale, other) = scales(amount.trim(), is_apart)?;
    let raw = Num::exact(bytes as f64).over(*seconds)?;
    let near = |scale: f64| {
        let printed = rate.times(scale);
        (printed.value - raw.value).abs() <= raw.value * 0.3 + printed.error + raw.error
    };
    // A falsified rate is still dd's if the line has dd's words; a finding then reports it.
    let has_words = ["copied", "copié", "kopiert", "transferred"].iter().any(|word| rest.contains(word));
    if !near(scale) && !near(other) && !has_words {
        return None;
    }
    let start = text.len() - text.rsplit([',', '，', '、', '(']).next()?.len();
    // A decimal comma splits the rate itself.
    let rate_text = if text[start..].trim().starts_with(|c: char| c.is_ascii_digit())
        && text[..start].ends_with(',')
        && text[..start - 1].ends_with(|c: char| c.is_ascii_digit())
    {
        let whole = text[..start - 1].rfind([' ', '\t']).map_or(start, |at| at + 1);
        &text[whole..]
    } else {
        text[start..].trim()
    };
    let chosen = if near(scale) || !near(other) { scale } else { other };
    Some(Statistics { bytes, seconds: *seconds, rate: rate.times(chosen), rate_text: rate_text.to_owned() })
}

/// All numbers of a text, each with the text up to the next.
fn numbers(text: &str) -> Vec<(Num, &str)> {
    let mut found: Vec<(Num, &str)> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let Some((num, behind)) = number(&rest[at..]) else { break };
        let next = behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len());
        found.push((num, &behind[..next]));
        rest = behind;
    }
    found
}

/// Bytes of a rate's unit, the likelier first: coreutils prints a space before decimal units, busybox none before binary
/// ones.
fn scales(amount: &str, is_apart: bool) -> Option<(f64, f64)> {
    let first = amount.chars().next()?;
    if matches!(first, 'B' | 'b') {
        return Some((1.0, 1.0));
    }
    // Some languages use letters of their own script.
    let letter = match first {
        'К' | 'к' => 'k',
        'М' => 'M',
        'Г' => 'G',
        'Т' => 'T',
        c => c,
    };
    let (ten, two) = (decimal(letter)?, binary(letter)?);
    // toybox omits the B.
    let is_binary = !is_apart || amount.contains('i') || amount.chars().count() == 1;
    Some(if is_binary { (two, ten) } else { (ten, two) })
}

/// The command line, if the text has it.
#[derive(Clone, Debug, Default)]
struct Command {
    line: u32,
    operands: Vec<(String, String)>,
}

impl Command {
    fn of(line: &Line) -> Option<Self> {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "dd" || word.ends_with("/dd"))?;
        let operand = |word: &&str| {
            word.split_once('=').map(|(k, v)| (k.to_owned(), v.trim_matches(['"', '\'']).to_owned()))
        };
        let operands: Vec<_> = words[at + 1..].iter().filter_map(operand).collect();
        let is_it = operands.iter().any(|(key, _)| key == "if" || key == "of");
        is_it.then_some(Self { line: line.number, operands })
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.operands.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    fn has(&self, key: &str, flag: &str) -> bool {
        self.get(key).is_some_and(|flags| flags.split(',').any(|f| f == flag))
    }

    fn operation(&self) -> Option<Operation> {
        let generated =
            self.get("if").is_some_and(|f| matches!(f, "/dev/zero" | "/dev/urandom" | "/dev/random"));
        match (generated, self.get("of") == Some("/dev/null")) {
            (true, false) => Some(Operation::Write),
            (false, true) => Some(Operation::Read),
            _ => None,
        }
    }
}

/// One report for each last line below its records.
pub(super) fn parse(text: &Text<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    let has_records = text.lines.iter().any(|line| records(&line.text).is_some());
    let mut command = None;
    let mut record_lines: Vec<((u64, u64), u32)> = Vec::new();
    let mut failure = None;
    for line in &text.lines {
        if let Some(blocks) = records(&line.text) {
            if record_lines.len() == 2 {
                bare(&mut record_lines, &mut failure, &mut parsed);
            }
            record_lines.push((blocks, line.number));
        } else if let Some(statistics) = statistics(line) {
            // With status=progress, lines like the last one come before the records.
            if record_lines.len() == 2 || !has_records {
                take(line, &statistics, &record_lines, command.take(), failure.take(), &mut parsed);
                record_lines.clear();
            }
        } else if is_error(&line.text) {
            failure = Some((line.number, line.text.trim().to_owned()));
        } else if let Some(found) = Command::of(line) {
            bare(&mut record_lines, &mut failure, &mut parsed);
            command = Some(found);
        }
    }
    bare(&mut record_lines, &mut failure, &mut parsed);
    if let Some((line, message)) = failure {
        parsed.problem(line, ProblemKind::Failed, message);
    }
    parsed
}

/// Reports records without the line that has the time.
fn bare(record_lines: &mut Vec<((u64, u64), u32)>, failure: &mut Option<(u32, String)>, parsed: &mut Parsed) {
    let Some((_, line)) = record_lines.last() else { return };
    let message = "dd printed its records but neither time nor rate (status=noxfer, or a busybox built so)";
    match failure.take() {
        Some((line, message)) => parsed.problem(line, ProblemKind::Failed, message),
        None => parsed.problem(*line, ProblemKind::NoFigures, message),
    }
    record_lines.clear();
}

fn take(
    line: &Line,
    statistics: &Statistics,
    record_lines: &[((u64, u64), u32)],
    command: Option<Command>,
    failure: Option<(u32, String)>,
    parsed: &mut Parsed,
) {
    if let Some((number, message)) = failure {
        let message = format!("{message}; dd had copied {} bytes by then", statistics.bytes);
        parsed.problem(number, ProblemKind::Failed, message);
        return;
    }
    let first = record_lines.first().map_or(line.number, |(_, number)| *number);
    let command = command.unwrap_or_default();
    let full = record_lines.get(1).map(|((full, partial), _)| (*full, *partial));
    let size =
        full.filter(|(full, partial)| *full > 0 && *partial == 0 && statistics.bytes.is_multiple_of(*full));
    let size = size.and_then(|(full, _)| block((statistics.bytes / full) as f64));
    let mut report = described(first, size, &command);
    report.last_line = line.number;
    report.size_bytes = statistics.bytes;
    report.lasted(statistics.seconds.value);
    let operation = command.operation().unwrap_or(Operation::Mixed);
    let raw = Num::exact(statistics.bytes as f64).over(statistics.seconds);
    let what = (operation, Metric::Bandwidth);
    let printed = Some((statistics.rate_text.clone(), statistics.rate, line.number));
    report.figure(what, printed, raw.map(|n| (n, "bytes / seconds")));
    report.headlines = vec![what];
    if let Some((full, partial)) = full {
        report.fact(fact::RECORDS_OUT, format!("{full}+{partial}"));
    }
    let each = command.has("oflag", "dsync") || command.has("oflag", "sync");
    if let (Some((full, 0)), true) = (full.filter(|(full, _)| *full > 0), each) {
        let mean = statistics.seconds.times(1e9).over(Num::exact(full as f64));
        report.figure((Operation::Write, Metric::LatMean), None, mean.map(|n| (n, "seconds / records")));
    }
    parsed.reports.push(report);
}

/// True if a report does not say whether it is of a read or of a write.
pub(super) fn is_undirected(report: &Report) -> bool {
    report.tool == TOOL && report.unsaid.iter().any(|name| name == "direction")
}

/// The one direction that a text names.
fn direction_in(text: &str) -> Option<Operation> {
    let small = text.to_ascii_lowercase();
    let mut found = small.split(|c: char| !c.is_alphanumeric()).filter_map(|word| match word {
        "read" | "reads" | "reading" => Some(Operation::Read),
        "write" | "writes" | "writing" => Some(Operation::Write),
        _ => None,
    });
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// Takes the direction of a report without one from the label `direction`, else from a word in another label, which then
/// is no part of the target's name: `ssd-read` and `ssd-write` are one target.
pub(super) fn direct(report: &mut Report, labels: &mut BTreeMap<String, String>) {
    let given = labels.remove(DIRECTION_LABEL).and_then(|value| direction_in(&value));
    let Some(operation) = given.or_else(|| labels.values().find_map(|value| direction_in(value))) else {
        return;
    };
    let (word, read_percent) = if operation == Operation::Read { ("read", 100) } else { ("write", 0) };
    report.title = report.title.replacen("dd: copy", &format!("dd: {word}"), 1);
    report.workload.mix = Mix::Transfer { read_percent };
    report.figures.iter_mut().for_each(|figure| figure.operation = operation);
    report.headlines.iter_mut().for_each(|headline| headline.0 = operation);
    report.unsaid.retain(|name| name != "direction");
    report.fact("direction", format!("{word}, from the path or a label"));
    for value in labels.values_mut().filter(|value| direction_in(value).is_some()) {
        let rest: Vec<&str> = value.split(SEPARATORS).filter(|part| direction_in(part).is_none()).collect();
        *value = rest.join("-");
    }
    labels.retain(|_, value| !value.is_empty());
}

/// Sets the result of a file apart from those of files with other names: one may be of a read, the other of a write.
pub(super) fn set_apart(report: &mut Report, labels: &BTreeMap<String, String>) {
    let of = labels.get(NAME_LABEL).map_or_else(String::new, |name| format!(" of {name}"));
    report.title.push_str(&format!(", direction{of} unknown"));
}

fn described(line: u32, size: Option<u32>, command: &Command) -> Report {
    let operation = command.operation();
    let read_percent = if operation == Some(Operation::Read) { 100 } else { 0 };
    let mut workload = transfers(read_percent, Pattern::Sequential, size.unwrap_or(512));
    workload.direct = command.has("oflag", "direct") || command.has("iflag", "direct");
    workload.sync.at_end = command.has("conv", "fsync") || command.has("conv", "fdatasync");
    workload.open_sync = match (command.has("oflag", "sync"), command.has("oflag", "dsync")) {
        (true, _) => OpenSync::Sync,
        (_, true) => OpenSync::Dsync,
        _ => OpenSync::None,
    };
    if command.get("if") == Some("/dev/zero") {
        workload.data = ZEROS;
    }
    let words = match operation {
        Some(Operation::Read) => "read",
        Some(_) => "write",
        None => "copy",
    };
    let mut title = format!("dd: {words}");
    if let Some(size) = size {
        title.push_str(&format!(", {}", block_words(size)));
    }
    for (is_so, words) in [
        (workload.direct, ", direct"),
        (workload.open_sync != OpenSync::None, ", each write synced"),
        (workload.sync.at_end, ", synced at the end"),
    ] {
        if is_so {
            title.push_str(words);
        }
    }
    let mut report = Report::new(TOOL, line, title, workload);
    if command.line > 0 {
        let words: Vec<String> = command.operands.iter().map(|(k, v)| format!("{k}={v}")).collect();
        report.fact("command", format!("dd {}", words.join(" ")));
    } else {
        report.unsaid(&["direction", "direct", "sync", "data"]);
    }
    report.unsaid(&["version", "machine", "memory"]);
    if size.is_none() {
        report.unsaid(&["block"]);
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Report {
        let parsed = parse(&Text::new(text.as_bytes()));
        assert_eq!(parsed.problems, [], "{text}");
        assert_eq!(parsed.reports.len(), 1, "{text}");
        parsed.reports.into_iter().next().unwrap()
    }

    #[test]
    fn every_language_and_program_gives_bytes_per_second() {
        for text in [
            "64+0 records in\n64+0 records out\n67108864 bytes (67 MB, 64 MiB) copied, 0.0356106 s, 1.9 GB/s",
            "64+0 Datensätze ein\n64+0 Datensätze aus\n67108864 Bytes (67 MB, 64 MiB) kopiert, 0,0356106 s, 1,9 GB/s",
            "64+0 enregistrements lus\n64+0 enregistrements écrits\n67108864 octets (67 MB, 64 MiB) copiés, 0,0356106 s, 1,9 GB/s",
            "输入了 64+0 块记录\n67108864字节（67 MB，64 MiB）已复制，0.0356106 s，1.9 GB/s",
            "64+0 レコード入力\n64+0 レコード出力\n67108864 バイト (67 MB, 64 MiB) コピーされました、 0.0356106 秒、 1.9 GB/秒",
            "64+0 записей получено\n64+0 записей отправлено\n67108864 байт (67 MB, 64 MiB) скопирован, 0,0356106 s, 1,9 GB/s",
            "64+0 records in\n64+0 records out\n67108864 bytes (64.0MB) copied, 0.0356106 seconds, 1.8GB/s",
            "64+0 records in\n64+0 records out\n67108864 bytes transferred in 0.0356106 secs (1884519300 bytes/sec)",
            "64+0 records in\n64+0 records out\n67108864 bytes (64 M) copied, 0.0356106 s, 1.8 G/s",
        ] {
            let report = one(text);
            let figure = &report.figures[0];
            assert!((figure.value - 67_108_864.0 / 0.035_610_6).abs() < 100.0, "{text}: {figure:?}");
            assert_eq!(figure.contradiction(), None, "{text}: {figure:?}");
        }
    }

    #[test]
    fn a_rate_that_differs_from_bytes_per_second_contradicts() {
        let report =
            one("1+0 records in\n1+0 records out\n67108864 bytes (67 MB) copied, 0,0356106 s, 3,9 GB/s");
        assert!(report.figures[0].contradiction().is_some());
        assert_eq!(report.figures[0].printed.as_ref().unwrap().text, "3,9 GB/s");
    }

    #[test]
    fn a_preceding_command_line_gives_the_workload() {
        let report = one(
            "$ dd if=/dev/zero of=f bs=4k count=100 oflag=dsync\n100+0 records in\n100+0 records out\n409600 bytes (410 kB, 400 KiB) copied, 0.0161283 s, 25.4 MB/s",
        );
        assert_eq!(report.title, "dd: write, 4 KiB, each write synced");
        assert_eq!(report.figures[1].value.round(), 161_283.0);
    }

    #[test]
    fn a_full_disk_is_a_failed_run_and_progress_is_not_a_result() {
        let parsed = parse(&Text::new(
            b"dd: error writing 'f': No space left on device\n3+0 records in\n2+0 records out\n2097152 bytes (2.1 MB) copied, 0.1 s, 21.0 MB/s",
        ));
        assert_eq!((parsed.reports.len(), parsed.problems[0].kind), (0, ProblemKind::Failed));
        let report = one(
            "\r1048576 bytes (1 MB) copied, 1 s, 1.0 MB/s\r2+0 records in\n2+0 records out\n2097152 bytes (2.1 MB) copied, 2 s, 1.0 MB/s",
        );
        assert_eq!(report.size_bytes, 2_097_152);
    }
}
