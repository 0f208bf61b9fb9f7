//! The text that fio prints by default.

use model::{Metric, Operation, fact};

use super::{Job, TOOL, cpu, distinguish, headlines, percentile_metric, version};
use crate::import::remarks;
use crate::import::report::{Parsed, ProblemKind, Report};
use crate::import::text::{Line, Num, Text, after, binary, block, count, decimal, number};

/// True if there is a header of a job, its result, or a message of fio.
pub(super) fn recognises(text: &Text<'_>) -> bool {
    text.lines.iter().any(|l| is_job_header(&l.text) || job_result(&l.text).is_some() || is_message(&l.text))
}

/// `name: (g=0): rw=read, bs=…`.
fn is_job_header(text: &str) -> bool {
    text.contains(": (g=") && text.contains("rw=")
}

fn is_message(text: &str) -> bool {
    text.trim_start().starts_with("fio: ")
}

/// Name, group, jobs and error of `name: (groupid=0, jobs=1): err= 0: pid=…`.
fn job_result(text: &str) -> Option<(String, u64, u32, i64)> {
    let (name, rest) = text.split_once(": (groupid=")?;
    let (group, rest) = count(rest)?;
    let jobs = after(rest, "jobs=").and_then(count).and_then(|(n, _)| u32::try_from(n).ok()).unwrap_or(1);
    let error = after(rest, "err=").and_then(number).map_or(0, |(n, _)| n.value as i64);
    // An overwritten progress line with its ETA precedes the name.
    let name = name.rsplit(']').next().unwrap_or(name);
    Some((name.trim().to_owned(), group, jobs, error))
}

/// The process of a result, `err= 0: pid=31337: Sun …`; the text before it has a `groupid=`, too.
fn process(text: &str) -> Option<u64> {
    after(text, ": pid=").and_then(count).map(|(pid, _)| pid)
}

/// One session: from the first header of a job to the next one after a result.
#[derive(Default)]
struct Session {
    jobs: Vec<Job>,
    version: Option<String>,
    reports: Vec<Report>,
    /// The process of each report, if its result says it.
    processes: Vec<Option<u64>>,
    /// The line of a signal that ended it early.
    stopped: Option<u32>,
    first_line: u32,
    has_result: bool,
    has_failed: bool,
}

/// All jobs of all sessions.
pub(super) fn parse(text: &Text<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    let mut session = Session::default();
    let lines = &text.lines;
    let mut at = 0;
    while at < lines.len() {
        let line = &lines[at];
        if let Some((name, group, jobs, error)) = job_result(&line.text) {
            let end = result_end(lines, at);
            session.result((name, group, jobs), error, &lines[at..end], end == lines.len(), &mut parsed);
            at = end;
            continue;
        }
        if is_job_header(&line.text) {
            if session.has_result {
                std::mem::take(&mut session).close(line.number, &mut parsed);
            }
            session.header(line);
        } else if let Some(version) = version(&line.text) {
            session.version = Some(version);
        } else if is_message(&line.text) {
            session.message(line, &mut parsed);
        }
        at += 1;
    }
    session.close(text.last_number(), &mut parsed);
    parsed
}

/// Where the result that begins at `start` ends.
fn result_end(lines: &[Line], start: usize) -> usize {
    let ends = |line: &Line| {
        let text = line.text.trim_start();
        job_result(text).is_some()
            || is_job_header(text)
            || text.starts_with("Run status group")
            || text.starts_with("Disk stats")
    };
    lines[start + 1..].iter().position(ends).map_or(lines.len(), |n| start + 1 + n)
}

impl Session {
    fn header(&mut self, line: &Line) {
        if self.jobs.is_empty() {
            self.first_line = line.number;
        }
        let text = &line.text;
        let word = |label: &str| {
            let rest = after(text, label)?;
            let end = rest.find([',', ' ']).unwrap_or(rest.len());
            Some(rest[..end].to_owned())
        };
        let rw = word("rw=");
        self.jobs.push(Job {
            name: text.split(": (g=").next().unwrap_or("").trim().to_owned(),
            block: header_block(text, rw.as_deref().unwrap_or("")),
            rw,
            engine: word("ioengine="),
            iodepth: word("iodepth=").and_then(|n| n.parse().ok()),
            ..Job::default()
        });
    }

    fn message(&mut self, line: &Line, parsed: &mut Parsed) {
        let text = line.text.trim();
        if text.contains("terminating on signal") {
            self.stopped = Some(line.number);
        } else if !self.has_failed
            && (text.contains("error=") || text.contains("failed") || text.contains("not loadable"))
        {
            (self.has_result, self.has_failed) = (true, true);
            parsed.problem(line.number, ProblemKind::Failed, format!("fio failed with: {text}"));
        }
    }

    fn result(
        &mut self,
        (name, group, jobs): (String, u64, u32),
        error: i64,
        lines: &[Line],
        at_end: bool,
        parsed: &mut Parsed,
    ) {
        self.has_result = true;
        let line = lines[0].number;
        if error != 0 {
            let message = format!("job {name} ended with error {error}");
            parsed.problem(line, ProblemKind::Failed, message);
            return;
        }
        let known = self.jobs.iter().find(|job| job.name == name).cloned();
        let job = Job { jobs: Some(jobs), name: name.clone(), ..known.unwrap_or_default() };
        let mut report = job.report(line);
        report.version.clone_from(&self.version);
        report.last_line = lines.last().map_or(line, |l| l.number);
        report.fact("group", group.to_string());
        let is_old = self.version.as_ref().is_some_and(|v| v.starts_with("2.") || v.starts_with("1."));
        let whole = figures(&job, lines, is_old, &mut report);
        if let Some(stopped) = self.stopped {
            report.remark(
                &remarks::STOPPED_EARLY,
                stopped,
                "a signal stopped fio before its end: it did less than the job asked for",
            );
        }
        if !whole && at_end {
            let message = format!("the file ends within the result of job {name}");
            parsed.problem(report.last_line, ProblemKind::CutOff, message);
        } else if report.figures.is_empty() {
            parsed.problem(
                line,
                ProblemKind::CutOff,
                format!("the result of job {name} has no reads, writes or trims"),
            );
        } else {
            self.take(report, process(&lines[0].text));
        }
    }

    /// A result of the same process and job is a later state of it, as `--status-interval` prints them.
    fn take(&mut self, report: Report, process: Option<u64>) {
        let is_same = |at: &usize| {
            let earlier = &self.reports[*at];
            let same = |name: &str| earlier.facts.get(name) == report.facts.get(name);
            process.is_some() && self.processes[*at] == process && same("job") && same("group")
        };
        match (0..self.reports.len()).find(is_same) {
            Some(at) => {
                let earlier = self.reports.remove(at);
                self.reports.insert(at, report.continuing(earlier));
            }
            None => {
                self.reports.push(report);
                self.processes.push(process);
            }
        }
    }

    fn close(mut self, last: u32, parsed: &mut Parsed) {
        if !self.has_result && !self.jobs.is_empty() {
            let message =
                format!("fio starts at line {}, and the file ends without a result", self.first_line);
            parsed.problem(last, ProblemKind::CutOff, message);
        }
        distinguish(&mut self.reports);
        parsed.reports.extend(self.reports);
    }
}

/// Block size of the job's direction, from `bs=(R) 4096B-4096B, (W) …` or `bs=4K-4K/4K-4K/4K-4K`.
fn header_block(text: &str, rw: &str) -> Option<u32> {
    let rest = after(text, "bs=")?;
    let direction = if rw.ends_with("trim") {
        2
    } else if rw.ends_with("write") && !rw.contains("read") {
        1
    } else {
        0
    };
    let is_old = !rest.starts_with('(');
    let size = if !is_old {
        after(rest, ["(R)", "(W)", "(T)"][direction])?
    } else {
        let end = rest.find(',').unwrap_or(rest.len());
        rest[..end].split('/').nth(direction).or_else(|| rest[..end].split('/').next())?
    };
    let low = size.split(['-', ',']).next()?;
    // With kb_base=1000, fio 3 writes 64.0kB where it otherwise writes 64.0KiB.
    let (num, unit) = number(low.trim())?;
    block((num.value * scale(unit, is_old).unwrap_or(1.0)).round())
}

/// Bytes of `135MiB/s`, `141MB/s`, `63317KB/s` or `1014MiB`. Before 3.0 all of them are powers of 1024.
fn data(text: &str, is_old: bool) -> Option<Num> {
    let (num, unit) = number(text.trim())?;
    // In some figures fio truncates instead of rounding.
    Some(num.truncated().times(scale(unit, is_old)?))
}

/// Bytes of a unit at the start of a text.
fn scale(unit: &str, is_old: bool) -> Option<f64> {
    let letters: String = unit.chars().take_while(char::is_ascii_alphabetic).collect();
    let first = letters.chars().next()?;
    let scale = if first == 'B' || first == 'b' {
        1.0
    } else if letters.contains('i') || is_old {
        binary(first)?
    } else {
        decimal(first)?
    };
    Some(if letters.ends_with("bit") { scale / 8.0 } else { scale })
}

/// `34.5k`, `13600` or `1.2M`.
fn kilo(text: &str) -> Option<Num> {
    let (num, rest) = number(text.trim())?;
    let scale =
        rest.chars().next().filter(|c| matches!(c, 'k' | 'K' | 'M' | 'G')).and_then(decimal).unwrap_or(1.0);
    Some(num.truncated().times(scale))
}

/// The figures of one direction in one result.
struct Direction {
    operation: Operation,
    line: u32,
    rate: Option<(String, Num)>,
    iops: Option<(String, Num)>,
    bytes: Option<Num>,
    seconds: Option<Num>,
}

/// `read: IOPS=34.5k, BW=135MiB/s (141MB/s)(270MiB/2001msec)` or
/// `read : io=10240MB, bw=63317KB/s, iops=15829, runt=165607msec`.
fn direction(line: &Line, is_old: bool) -> Option<Direction> {
    let (label, rest) = line.text.trim().split_once(':')?;
    let operation = match label.trim().to_ascii_lowercase().as_str() {
        "read" => Operation::Read,
        "write" => Operation::Write,
        "trim" => Operation::Trim,
        _ => return None,
    };
    let lower = rest.to_ascii_lowercase();
    if !lower.contains("iops=") || !lower.contains("bw=") {
        return None;
    }
    // Positions are the same in both, because only ASCII letters change case.
    let field = |label: &str| {
        let at = lower.find(label)? + label.len();
        let end = rest[at..].find([',', '(', ';']).map_or(rest.len(), |n| at + n);
        Some(rest[at..end].trim().to_owned())
    };
    let is_old = is_old || lower.contains("runt=");
    let milliseconds = |text: &str| {
        let (num, unit) = number(text.trim())?;
        Some(num.times(if unit.starts_with("usec") { 1e-6 } else { 1e-3 }))
    };
    let (bytes, seconds) = match (field("io="), field("runt=")) {
        (Some(io), Some(time)) => (data(&io, is_old), milliseconds(&time)),
        _ => {
            let inside = rest.rsplit('(').next()?.split(')').next()?;
            let (io, time) = inside.split_once('/')?;
            (data(io, is_old), milliseconds(time))
        }
    };
    Some(Direction {
        operation,
        line: line.number,
        rate: field("bw=").and_then(|text| data(&text, is_old).map(|n| (text, n))),
        iops: field("iops=").and_then(|text| kilo(&text).map(|n| (text, n))),
        bytes,
        seconds,
    })
}

/// Imports all figures; false if the result is incomplete.
fn figures(job: &Job, lines: &[Line], is_old: bool, report: &mut Report) -> bool {
    let issued = lines.iter().find_map(|line| issued(&line.text));
    let mut current = None;
    let mut unit = 1.0;
    let mut shares = None;
    for line in &lines[1..] {
        let text = line.text.trim();
        if let Some(direction) = direction(line, is_old) {
            current = Some(direction.operation);
            rates(job, &direction, issued, report);
        } else if text.starts_with("fsync/fdatasync") {
            current = Some(Operation::Sync);
        } else if let Some(operation) = current {
            latency_line(operation, line, &mut unit, report);
        }
        if text.starts_with("cpu") && text.contains("usr=") {
            let share = |label: &str| Some(number(after(text, label)?.trim())?.0);
            shares = share("usr=").zip(share("sys=")).map(|shares| (shares, line.number));
            current = None;
        }
    }
    headlines(report);
    if let Some(((user, system), line)) = shares {
        cpu(user, system, line, report);
    }
    if let Some(counts) = issued {
        note_syncs(counts, report);
    }
    issued.is_some()
}

/// Reads, writes, trims and syncs of `issued rwts: total=0,512,0,0 …` or `issued : total=r=20480/w=0/d=0, …`, and the
/// short reads and writes after them.
fn issued(text: &str) -> Option<[u64; 6]> {
    let text = text.trim();
    if !text.starts_with("issued") {
        return None;
    }
    let list = |label: &str| {
        let rest = after(text, label)?;
        let end = rest.find(' ').unwrap_or(rest.len());
        let digits = |part: &str| part.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().ok();
        Some(rest[..end].split([',', '/']).filter_map(digits).collect::<Vec<u64>>())
    };
    let (total, short) = (list("total=")?, list("short=").unwrap_or_default());
    let of = |list: &[u64], i: usize| list.get(i).copied().unwrap_or(0);
    Some([of(&total, 0), of(&total, 1), of(&total, 2), of(&total, 3), of(&short, 0), of(&short, 1)])
}

fn rates(job: &Job, direction: &Direction, issued: Option<[u64; 6]>, report: &mut Report) {
    let Direction { operation, line, rate, iops, bytes, seconds } = direction;
    if rate.as_ref().is_some_and(|(_, n)| n.value == 0.0) && bytes.is_none_or(|b| b.value == 0.0) {
        return;
    }
    let at = match operation {
        Operation::Read => 0,
        Operation::Write => 1,
        _ => 2,
    };
    let n = issued.map(|counts| counts[at]).filter(|n| *n > 0);
    // The count times the block size is exact where it agrees with the rounded bytes.
    let exact = n.zip(job.block).map(|(n, block)| n as f64 * f64::from(block));
    let exact = exact.zip(*bytes).filter(|(exact, printed)| (exact - printed.value).abs() <= printed.error);
    let (moved, from) = match exact {
        Some((exact, _)) => (Some(Num::exact(exact)), "issued operations × block size / run time"),
        None => (*bytes, "bytes / run time"),
    };
    // The run time is truncated to milliseconds.
    let seconds = seconds.map(Num::truncated);
    let raw = moved.zip(seconds).and_then(|(moved, time)| moved.over(time));
    let printed = |figure: &Option<(String, Num)>| figure.clone().map(|(text, num)| (text, num, *line));
    report.figure((*operation, Metric::Bandwidth), printed(rate), raw.map(|n| (n, from)));
    let raw = n.zip(seconds).and_then(|(n, time)| Num::exact(n as f64).over(time));
    report.figure(
        (*operation, Metric::Iops),
        printed(iops),
        raw.map(|n| (n, "issued operations / run time")),
    );
    if let Some(seconds) = seconds {
        let longest = (report.window_ns as f64 / 1e9).max(seconds.value);
        report.lasted(longest);
    }
}

/// Nanoseconds of the unit in `clat (usec): …` or `clat percentiles (usec):`.
fn unit_of(text: &str) -> Option<f64> {
    match text.split_once('(')?.1.split(')').next()?.trim() {
        "nsec" => Some(1.0),
        "usec" => Some(1e3),
        "msec" => Some(1e6),
        "sec" => Some(1e9),
        _ => None,
    }
}

/// One line below a direction: the extremes and mean of a latency, or percentiles.
fn latency_line(operation: Operation, line: &Line, unit: &mut f64, report: &mut Report) {
    let text = line.text.trim();
    if text.contains("percentiles (") {
        *unit = unit_of(text).unwrap_or(*unit);
        if !text.starts_with("sync") {
            let what = if text.starts_with("lat") { "lat" } else { "clat" };
            report.fact(fact::PERCENTILES_OF, what);
        }
    } else if text.starts_with('|') {
        for part in text.trim_start_matches('|').split("],") {
            percentile(operation, part, *unit, line.number, report);
        }
    } else if text.contains("min=") && text.contains("avg=") {
        extremes(operation, text, line.number, report);
    }
}

/// `1.00th=[   16` of a line of percentiles.
fn percentile(operation: Operation, part: &str, unit: f64, line: u32, report: &mut Report) {
    let Some((percent, value)) = part.split_once("th=[") else { return };
    let Some((percent, _)) = number(percent.trim()) else { return };
    let Some((num, _)) = number(value.trim()) else { return };
    if let Some(metric) = percentile_metric(percent.value) {
        let text = format!("{} {}", value.trim().trim_end_matches(']').trim(), unit_name(unit));
        report.figure((operation, metric), Some((text, num.times(unit), line)), None);
    }
}

fn unit_name(unit: f64) -> &'static str {
    match unit {
        1.0 => "nsec",
        1e3 => "usec",
        1e6 => "msec",
        _ => "sec",
    }
}

/// `clat (usec): min=16, max=8319, avg=30.29, stdev=154.65`.
fn extremes(operation: Operation, text: &str, line: u32, report: &mut Report) {
    let Some(unit) = unit_of(text) else { return };
    let label = text.split(['(', ' ']).next().unwrap_or("");
    let field = |name: &str| {
        let rest = after(text, name)?;
        let end = rest.find(',').unwrap_or(rest.len());
        let word = rest[..end].trim();
        kilo(word).map(|n| (format!("{word} {}", unit_name(unit)), n.times(unit), line))
    };
    let kept: &[(&str, Metric)] = match (label, operation) {
        ("slat", _) => &[("avg=", Metric::SlatMean)],
        ("clat", _) => &[("avg=", Metric::ClatMean)],
        ("lat" | "sync", _) => &[
            ("avg=", Metric::LatMean),
            ("max=", Metric::LatMax),
            ("min=", Metric::LatMin),
            ("stdev=", Metric::LatStddev),
        ],
        _ => return,
    };
    for (name, metric) in kept {
        report.figure((operation, *metric), field(name), None);
    }
}

/// Derives the number of syncs from the counts.
fn note_syncs([_, writes, _, syncs, short_reads, _]: [u64; 6], report: &mut Report) {
    let has_syncs = report.figures.iter().any(|f| f.operation == Operation::Sync);
    if syncs > 0 {
        report.fact(fact::SYNCS, syncs.to_string());
    } else if has_syncs && short_reads > 0 {
        report.fact(fact::SYNCS, short_reads.to_string());
        let message = format!(
            "{short_reads} fdatasyncs are counted as short reads: {TOOL} prints their count in the wrong field"
        );
        report.remark(&remarks::FDATASYNC_AS_SHORT, 0, message);
    } else if writes > 0 && !has_syncs {
        report.fact(fact::SYNCS, "0");
    }
}
