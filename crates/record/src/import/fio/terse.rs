//! `--minimal`: one line of fields separated by semicolons, versions 2 to 5.

use model::{Metric, Operation, PortableMath, fact};

use super::{Job, KIB, cpu, headlines, percentile_metric};
use crate::import::remarks;
use crate::import::report::{Parsed, ProblemKind, Report};
use crate::import::text::{Line, Num, Text, number};

/// Fields of one direction up to version 4; version 5 has six more.
const FIELDS: usize = 41;
const FIELDS_V5: usize = 47;

/// The version and the fields of a line of this format.
fn fields(line: &Line) -> Option<(u32, Vec<&str>)> {
    let text = line.text.trim();
    let version = text.split(';').next()?.parse().ok().filter(|v| (2..=5).contains(v))?;
    let fields: Vec<&str> = text.split(';').collect();
    // Version 2 names no version of fio; the others do, which distinguishes the line from any other list.
    let is_it = if version == 2 { fields.len() > 8 } else { fields.get(1)?.starts_with("fio-") };
    is_it.then_some((version, fields))
}

pub(super) fn recognises(text: &Text<'_>) -> bool {
    text.lines.iter().any(|line| fields(line).is_some())
}

/// One report for each line, or for each run whose states the lines are.
pub(super) fn parse(text: &Text<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    for line in &text.lines {
        if let Some((version, fields)) = fields(line) {
            one(line.number, version, &fields, &mut parsed);
        }
    }
    parsed.reports = states_joined(std::mem::take(&mut parsed.reports));
    parsed
}

/// Joins the lines that are states of one run (`--status-interval`). No line says that it is one: they are taken for it
/// where at least three of one job have counts and times that only grow, at equal intervals from 0.
fn states_joined(reports: Vec<Report>) -> Vec<Report> {
    let mut chains: Vec<Vec<Report>> = Vec::new();
    for report in reports {
        match chains.iter_mut().find(|chain| chain.last().is_some_and(|last| may_continue(last, &report))) {
            Some(chain) => chain.push(report),
            None => chains.push(vec![report]),
        }
    }
    let mut joined: Vec<Report> = Vec::new();
    for chain in chains {
        match are_states(&chain) {
            true => joined.extend(chain.into_iter().reduce(|earlier, later| later.continuing(earlier))),
            false => joined.extend(chain),
        }
    }
    joined.sort_by_key(|report| report.line);
    joined
}

/// True if a line may be a later state of the job of an earlier one: what is counted from the start has not shrunk.
fn may_continue(earlier: &Report, later: &Report) -> bool {
    let same = |name: &str| earlier.facts.get(name) == later.facts.get(name);
    let grows = |metric: Metric, has_grown: fn(f64, f64) -> bool| {
        let of = |report: &Report, operation| {
            let is_it = |f: &&model::Figure| (f.operation, f.metric) == (operation, metric);
            report.figures.iter().find(is_it).map(|f| f.value)
        };
        let figures = earlier.figures.iter().filter(|f| f.metric == metric);
        figures.into_iter().all(|f| of(later, f.operation).is_some_and(|value| has_grown(f.value, value)))
    };
    let seconds = [earlier, later].map(|report| report.window_ns as f64);
    same("job")
        && same("group")
        && same("format")
        && seconds[1] > seconds[0]
        && grows(Metric::LatMax, |before, after| after >= before)
        && grows(Metric::LatMin, |before, after| after <= before)
}

/// True if the lines of a chain were printed at equal intervals from the start of the job; the last at its end.
fn are_states(chain: &[Report]) -> bool {
    let ends: Vec<f64> = chain.iter().map(|report| report.window_ns as f64).collect();
    let steps: Vec<f64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let [interval, .., last] = steps.as_slice() else { return false };
    // fio prints at whole intervals from its own start, which is a little before that of the job.
    let is_regular = |step: &f64| (step / interval - 1.0).abs() < 0.1;
    steps[..steps.len() - 1].iter().all(is_regular) && *last < 1.1 * interval && ends[0] < 1.1 * interval
}

fn one(line: u32, version: u32, fields: &[&str], parsed: &mut Parsed) {
    let start = if version == 2 { 1 } else { 2 };
    let width = if version == 5 { FIELDS_V5 } else { FIELDS };
    let directions: &[Operation] = if version == 3 {
        &[Operation::Read, Operation::Write]
    } else {
        &[Operation::Read, Operation::Write, Operation::Trim]
    };
    let first = start + 3;
    let needed = first + width * directions.len() + 5;
    if fields.len() < needed {
        let message =
            format!("a terse line of version {version} has {} fields, not at least {needed}", fields.len());
        parsed.problem(line, ProblemKind::CutOff, message);
        return;
    }
    let job = Job { name: fields[start].to_owned(), ..Job::default() };
    if fields[start + 2] != "0" {
        parsed.problem(
            line,
            ProblemKind::Failed,
            format!("job {} ended with error {}", job.name, fields[start + 2]),
        );
        return;
    }
    let mut report = job.report(line);
    report.version = (version > 2).then(|| fields[1].trim_start_matches("fio-").to_owned());
    report.fact("group", fields[start + 1]);
    report.fact(fact::FORMAT, format!("terse version {version}"));
    let mut blocks = Vec::new();
    for (i, operation) in directions.iter().enumerate() {
        let of = &fields[first + i * width..first + (i + 1) * width];
        blocks.extend(direction(*operation, of, line, &mut report));
    }
    // Lines of equal name may be repeats, or jobs of one run; nothing in them shows which.
    report.unsaid(&["sync latency", "concurrent jobs"]);
    if report.figures.is_empty() {
        parsed.problem(
            line,
            ProblemKind::NoFigures,
            format!("job {} did no reads, writes or trims", job.name),
        );
        return;
    }
    set_workload(&job, &blocks, &mut report);
    headlines(&mut report);
    let share = |i: usize| number(fields[first + width * directions.len() + i].trim()).map(|(n, _)| n);
    if let Some((user, system)) = share(0).zip(share(1)) {
        cpu(user, system, line, &mut report);
    }
    parsed.reports.push(report);
}

/// The line shows only the directions and the mean bytes per operation.
fn set_workload(job: &Job, blocks: &[(Operation, u32)], report: &mut Report) {
    let has = |operation| report.figures.iter().any(|f| f.operation == operation);
    let (reads, writes) = (has(Operation::Read), has(Operation::Write));
    let (percent, words) = match (reads, writes) {
        (true, false) => (100, "reads"),
        (false, true) => (0, "writes"),
        (true, true) => (50, "reads and writes"),
        (false, false) => (50, "trims"),
    };
    report.workload.mix = match words {
        "trims" => model::Mix::Trim,
        _ => model::Mix::Transfer { read_percent: percent },
    };
    report.title = format!("fio: job {}, {words}", job.name);
    if let Some((_, block)) = blocks.first() {
        report.workload.block = model::BlockSizes::uniform(*block);
        report.title.push_str(&format!(", {}", crate::import::text::block_words(*block)));
        report.fact(fact::BLOCK_SIZE, "computed from bytes and operations");
    }
}

/// Imports the fields of one direction and returns its block size.
fn direction(
    operation: Operation,
    fields: &[&str],
    line: u32,
    report: &mut Report,
) -> Option<(Operation, u32)> {
    let num = |i: usize| number(fields[i].trim()).map(|(n, _)| n);
    let (io, rate, iops, time) = (num(0)?, num(1)?, num(2)?, num(3)?);
    if io.value <= 0.0 {
        return None;
    }
    let seconds = time.truncated().times(1e-3);
    let raw = io.truncated().times(KIB).over(seconds);
    let printed = (format!("{} KiB/s", fields[1]), rate.truncated().times(KIB), line);
    report.figure((operation, Metric::Bandwidth), Some(printed), raw.map(|n| (n, "KiB / run time")));
    report.figure(
        (operation, Metric::Iops),
        Some((format!("{} IOPS", fields[2]), iops.truncated(), line)),
        None,
    );
    let longest = (report.window_ns as f64 / 1e9).max(seconds.value);
    report.lasted(longest);
    if num(15).is_some_and(|max| max.value > 0.0) || num(34).is_some_and(|max| max.value > 0.0) {
        latencies(operation, fields, line, report);
    } else {
        report.remark(
            &remarks::NO_LATENCIES,
            line,
            "no latency was measured (gtod_reduce or disabled): the zeros mean no value",
        );
    }
    block_size(rate.times(KIB), iops).map(|block| (operation, block))
}

/// The size of one operation, if it is a whole number of sectors within what rounding allows.
fn block_size(rate: Num, iops: Num) -> Option<u32> {
    let mean = rate.value / iops.value;
    let near = (mean / 512.0).round() * 512.0;
    let allowed = mean * (1.0 / iops.value + rate.error * 2.0 / rate.value);
    let power = 2f64.portable_powf(mean.portable_log2().round());
    let best = if (power - mean).abs() <= allowed { power } else { near };
    (iops.value > 0.0 && (best - mean).abs() <= allowed && (512.0..4e9).contains(&best))
        .then_some(best as u32)
}

/// Microseconds at fixed fields of a direction: slat, clat, 20 percentiles, lat.
fn latencies(operation: Operation, fields: &[&str], line: u32, report: &mut Report) {
    let micros = |i: usize| {
        let (num, _) = number(fields[i].trim())?;
        (num.value > 0.0).then(|| (format!("{} us", fields[i]), num.truncated().times(1e3), line))
    };
    report.figure((operation, Metric::SlatMean), micros(6), None);
    report.figure((operation, Metric::ClatMean), micros(10), None);
    report.figure((operation, Metric::LatMean), micros(34), None);
    report.figure((operation, Metric::LatMax), micros(33), None);
    report.figure((operation, Metric::LatMin), micros(32), None);
    report.figure((operation, Metric::LatStddev), micros(35), None);
    for field in &fields[12..32] {
        let Some((percent, value)) = field.split_once("%=") else { continue };
        let (Some((percent, _)), Some((num, _))) = (number(percent), number(value)) else { continue };
        if let Some(metric) = percentile_metric(percent.value) {
            let printed = (format!("{value} us"), num.truncated().times(1e3), line);
            report.figure((operation, metric), Some(printed), None);
        }
    }
    report.fact(fact::PERCENTILES_OF, "clat, unless the job asked for lat");
}
