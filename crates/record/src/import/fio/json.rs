//! `--output-format=json` and `json+`, of 2.x and 3.x.

use model::{LatencyRecorder, LatencyTotal, Metric, Operation, OperationStats, fact};
use serde_json::{Map, Value};

use super::{Job, KIB, cpu, distinguish, headlines, percentile_metric};
use crate::import::remarks;
use crate::import::report::{Parsed, ProblemKind, Report};
use crate::import::text::{Line, Num, Text, binary_size, block, decimal, number};

pub(super) fn recognises(text: &Text<'_>) -> bool {
    text.lines.iter().any(|line| line.text.contains("\"fio version\""))
}

/// All jobs of all documents; other text may surround them.
pub(super) fn parse(text: &Text<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    if !recognises(text) {
        return parsed;
    }
    // One text with the position of each line, because other text may surround the documents.
    let mut joined = String::new();
    let mut starts = Vec::with_capacity(text.lines.len());
    for line in &text.lines {
        starts.push(joined.len());
        joined.push_str(&line.text);
        joined.push('\n');
    }
    let mut state: Option<State> = None;
    let mut at = 0;
    while at < text.lines.len() {
        if !begins(&text.lines[at..]) {
            at += 1;
            continue;
        }
        let (line, rest) = (text.lines[at].number, &joined[starts[at]..]);
        let mut documents = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        at += match documents.next() {
            Some(Ok(document)) => {
                let used = &rest[..documents.byte_offset().min(rest.len())];
                state = take(&document, used, line, state, &mut parsed);
                used.bytes().filter(|b| *b == b'\n').count().max(1)
            }
            Some(Err(error)) => {
                let error_line = line + u32::try_from(error.line()).unwrap_or(0).saturating_sub(1);
                let kind = if error.is_eof() { ProblemKind::CutOff } else { ProblemKind::Contradictory };
                let message = format!("cannot parse the JSON that begins at line {line}: {error}");
                parsed.problem(error_line, kind, message);
                error.line().max(1)
            }
            None => break,
        };
    }
    parsed
}

/// True if a document of fio begins here: a brace alone, and its version within a few lines.
fn begins(lines: &[Line]) -> bool {
    lines[0].text.trim_start().starts_with('{')
        && lines.iter().take(4).any(|l| l.text.contains("\"fio version\""))
}

/// A document, and what came of it.
struct State {
    jobs: Vec<String>,
    /// When it was printed, in milliseconds since 1970.
    printed_ms: f64,
    /// How many reports and problems there were before it.
    reports: usize,
    problems: usize,
}

/// Takes one document. With `--status-interval` fio prints one after the other from one run, each counted from its start:
/// the later one replaces the earlier one. It began before the earlier one was printed, which no other run did.
fn take(
    document: &Value,
    text: &str,
    line: u32,
    earlier: Option<State>,
    parsed: &mut Parsed,
) -> Option<State> {
    let jobs = document.get("jobs").and_then(Value::as_array);
    let name = |job: &Value| format!("{} {}", job["groupid"], job["jobname"]);
    let names: Vec<String> = jobs.into_iter().flatten().map(name).collect();
    let ran_ms = |job: &Value| job["job_runtime"].as_f64();
    let ran_ms = jobs.into_iter().flatten().filter_map(ran_ms).fold(f64::NAN, f64::max);
    let printed_ms = document.get("timestamp_ms").and_then(Value::as_f64).unwrap_or(f64::NAN);
    let continues = earlier.filter(|e| e.jobs == names && printed_ms - ran_ms < e.printed_ms);
    let mut before = Vec::new();
    if let Some(earlier) = &continues {
        before = parsed.reports.split_off(earlier.reports);
        parsed.problems.truncate(earlier.problems);
    }
    let state =
        State { jobs: names, printed_ms, reports: parsed.reports.len(), problems: parsed.problems.len() };
    whole(document, text, line, parsed);
    if before.len() == parsed.reports.len() - state.reports {
        let later = parsed.reports.split_off(state.reports);
        parsed
            .reports
            .extend(later.into_iter().zip(before).map(|(report, earlier)| report.continuing(earlier)));
    }
    Some(state)
}

fn whole(document: &Value, text: &str, line: u32, parsed: &mut Parsed) {
    let version =
        document.get("fio version").and_then(Value::as_str).map(|v| v.trim_start_matches("fio-").to_owned());
    let global = document.get("global options").and_then(Value::as_object);
    let Some(jobs) = document.get("jobs").and_then(Value::as_array) else {
        parsed.problem(line, ProblemKind::CutOff, "fio's JSON has no jobs");
        return;
    };
    let mut lines = job_lines(text, line).into_iter();
    let mut reports = Vec::new();
    for job in jobs {
        let line = lines.next().unwrap_or(line);
        if let Some(error) = job.get("error").and_then(Value::as_i64).filter(|e| *e != 0) {
            let name = job.get("jobname").and_then(Value::as_str).unwrap_or("");
            parsed.problem(line, ProblemKind::Failed, format!("job {name} ended with error {error}"));
            continue;
        }
        let mut report = one(job, global, line);
        report.version.clone_from(&version);
        match report.figures.is_empty() {
            true => parsed.problem(line, ProblemKind::NoFigures, "a job without reads, writes or trims"),
            false => reports.push(report),
        }
    }
    distinguish(&mut reports);
    parsed.reports.extend(reports);
}

/// Lines at which jobs begin.
fn job_lines(text: &str, first: u32) -> Vec<u32> {
    (first..)
        .zip(text.lines())
        .filter(|(_, text)| text.contains("\"jobname\""))
        .map(|(line, _)| line)
        .collect()
}

/// An option of the job, otherwise of all jobs.
fn option<'a>(job: &'a Value, global: Option<&'a Map<String, Value>>, name: &str) -> Option<&'a str> {
    let own = job.get("job options").and_then(|options| options.get(name));
    own.or_else(|| global?.get(name)).and_then(Value::as_str)
}

fn one(value: &Value, global: Option<&Map<String, Value>>, line: u32) -> Report {
    let option = |names: &[&str]| names.iter().find_map(|name| option(value, global, name));
    let text_of = |names: &[&str]| option(names).map(str::to_owned);
    // With kb_base=1000, 4k is 4000 bytes and 4ki is 4096.
    let is_decimal = option(&["kb_base"]) == Some("1000");
    let size = |text: &str| match number(text) {
        Some((n, unit)) if is_decimal && !unit.to_ascii_lowercase().contains('i') => {
            Some(n.value * unit.chars().next().and_then(decimal).unwrap_or(1.0))
        }
        _ => binary_size(text).map(|(n, _)| n.value),
    };
    let truth = |text: &str| matches!(text, "1" | "true" | "");
    let has_options = value.get("job options").is_some() || global.is_some();
    let job = Job {
        name: value.get("jobname").and_then(Value::as_str).unwrap_or("").to_owned(),
        // An option that is not listed has fio's default.
        rw: text_of(&["rw", "readwrite"]).or_else(|| has_options.then(|| "read".to_owned())),
        block: option(&["bs", "blocksize"]).map_or(has_options.then_some(4096), |text| {
            size(text.split([',', '-']).next().unwrap_or(text)).and_then(block)
        }),
        engine: text_of(&["ioengine"]).or_else(|| has_options.then(|| "psync".to_owned())),
        iodepth: option(&["iodepth"]).map_or(has_options.then_some(1), |text| text.parse().ok()),
        jobs: option(&["numjobs"]).and_then(|text| text.parse().ok()),
        direct: option(&["direct"]).map_or(has_options.then_some(false), |text| Some(truth(text))),
        read_percent: option(&["rwmixread"]).and_then(|text| text.parse().ok()).or_else(|| {
            let writes: u8 = option(&["rwmixwrite"])?.parse().ok()?;
            100u8.checked_sub(writes)
        }),
    };
    let mut report = job.report(line);
    report.last_line = line;
    for name in [
        "fsync",
        "fdatasync",
        "end_fsync",
        "fsync_on_close",
        "gtod_reduce",
        "runtime",
        "size",
        "filename",
        "directory",
    ] {
        if let Some(value) = option(&[name]) {
            report.fact(name, value);
        }
    }
    if let Some(bytes) = option(&["size", "filesize"]).and_then(size) {
        report.size_bytes = bytes as u64;
        report.unsaid.retain(|name| name != "size_bytes");
    }
    report.fact("group", value.get("groupid").map_or_else(String::new, Value::to_string));
    let every = |name: &str| option(&[name]).and_then(|text| text.parse::<u32>().ok()).filter(|n| *n > 0);
    report.workload.sync.every = every("fsync").or_else(|| every("fdatasync")).unwrap_or(0);
    report.workload.sync.data_only = every("fsync").is_none() && every("fdatasync").is_some();
    report.workload.sync.at_end =
        option(&["end_fsync"]).is_some_and(truth) || option(&["fsync_on_close"]).is_some_and(truth);
    for (name, operation) in
        [("read", Operation::Read), ("write", Operation::Write), ("trim", Operation::Trim)]
    {
        if let Some(direction) = value.get(name).and_then(Value::as_object) {
            self::direction(operation, direction, line, &mut report);
        }
    }
    if let Some(sync) = value.get("sync").and_then(Value::as_object) {
        syncs(sync, line, &mut report);
    }
    headlines(&mut report);
    let share = |name: &str| value[name].as_f64().filter(|share| share.is_finite());
    if let Some((user, system)) = share("usr_cpu").zip(share("sys_cpu")) {
        cpu(Num { value: user, error: 5e-7 }, Num { value: system, error: 5e-7 }, line, &mut report);
    }
    report
}

fn float(object: &Map<String, Value>, name: &str) -> Option<f64> {
    object.get(name)?.as_f64().filter(|v| v.is_finite())
}

fn direction(operation: Operation, object: &Map<String, Value>, line: u32, report: &mut Report) {
    let get = |name: &str| float(object, name);
    let bytes = get("io_bytes").or_else(|| Some(get("io_kbytes")? * KIB)).unwrap_or(0.0);
    if bytes <= 0.0 {
        return;
    }
    // Truncated to milliseconds.
    let seconds = get("runtime").map(|ms| Num { value: ms, error: 1.0 }.times(1e-3));
    // Before 3.0, `io_bytes` held KiB.
    let is_old = get("bw_bytes").is_none();
    let bytes = match (is_old, get("io_kbytes")) {
        (true, None) => Num { value: bytes * KIB, error: KIB },
        _ => Num::exact(bytes),
    };
    let raw = |amount: Num| seconds.and_then(|s| amount.over(s));
    let rate = match get("bw_bytes") {
        Some(rate) => Some((format!("{rate} B/s"), Num { value: rate, error: 1.0 }, line)),
        None => {
            get("bw").map(|rate| (format!("{rate} KiB/s"), Num { value: rate, error: 1.0 }.times(KIB), line))
        }
    };
    report.figure((operation, Metric::Bandwidth), rate, raw(bytes).map(|n| (n, "io_bytes / runtime")));
    let n = get("total_ios");
    let iops = get("iops").map(|v| (format!("{v} IOPS"), Num { value: v, error: 0.01 }, line));
    let count = n.map(Num::exact);
    report.figure((operation, Metric::Iops), iops, count.and_then(raw).map(|n| (n, "total_ios / runtime")));
    if let Some(seconds) = seconds {
        let longest = (report.window_ns as f64 / 1e9).max(seconds.value);
        report.lasted(longest);
    }
    let had = report.figures.len();
    latency(operation, object, line, report);
    if report.figures.len() == had {
        report.remark(
            &remarks::NO_LATENCIES,
            line,
            "no latency was measured (gtod_reduce or disabled): the zeros mean no value",
        );
    }
    stats(operation, object, n.unwrap_or(0.0), bytes.value, report);
}

/// A latency object with its unit in nanoseconds: `clat_ns` of 3.x, `clat` in microseconds of 2.x.
fn latency_object<'a>(object: &'a Map<String, Value>, name: &str) -> Option<(&'a Map<String, Value>, f64)> {
    let new = object.get(&format!("{name}_ns")).and_then(Value::as_object).map(|o| (o, 1.0));
    new.or_else(|| object.get(name).and_then(Value::as_object).map(|o| (o, 1e3)))
}

fn latency(operation: Operation, object: &Map<String, Value>, line: u32, report: &mut Report) {
    let metrics = [
        ("slat", vec![("mean", Metric::SlatMean)]),
        ("clat", vec![("mean", Metric::ClatMean)]),
        (
            "lat",
            vec![
                ("mean", Metric::LatMean),
                ("max", Metric::LatMax),
                ("min", Metric::LatMin),
                ("stddev", Metric::LatStddev),
            ],
        ),
    ];
    for (name, fields) in metrics {
        let Some((of, unit)) = latency_object(object, name) else { continue };
        if float(of, "max").is_none_or(|max| max <= 0.0) {
            continue;
        }
        for (field, metric) in fields {
            let printed = float(of, field).map(|v| printed_latency(v, unit, line));
            report.figure((operation, metric), printed, None);
        }
    }
    // fio prints the percentiles that the job asked for; those of lat come first.
    for name in ["lat", "clat"] {
        let Some((of, unit)) = latency_object(object, name) else { continue };
        if of.get("percentile").is_some_and(Value::is_object) {
            report.fact(fact::PERCENTILES_OF, name);
            percentiles(operation, of, unit, line, report);
            break;
        }
    }
}

fn printed_latency(value: f64, unit: f64, line: u32) -> (String, Num, u32) {
    let name = if unit == 1.0 { "ns" } else { "us" };
    (format!("{value} {name}"), Num { value, error: 0.5 }.times(unit), line)
}

fn percentiles(operation: Operation, of: &Map<String, Value>, unit: f64, line: u32, report: &mut Report) {
    let Some(list) = of.get("percentile").and_then(Value::as_object) else { return };
    let bins = bins(of, unit);
    for (percent, value) in list {
        let (Ok(percent), Some(value)) = (percent.parse::<f64>(), value.as_f64()) else { continue };
        let Some(metric) = percentile_metric(percent) else { continue };
        // 2.x prints zeros for percentiles that the job did not ask for.
        if value <= 0.0
            && float(of, "max").is_some_and(|max| max > 0.0)
            && float(of, "min").is_some_and(|min| min > 0.0)
        {
            continue;
        }
        let raw = rank(&bins, percent).map(|v| (Num { value: v, error: v / 128.0 }, "the bins"));
        report.figure((operation, metric), Some(printed_latency(value, unit, line)), raw);
    }
}

/// Nanoseconds and counts of the histogram of JSON+, in order.
fn bins(of: &Map<String, Value>, unit: f64) -> Vec<(f64, u64)> {
    let Some(bins) = of.get("bins").and_then(Value::as_object) else { return Vec::new() };
    let bin = |(ns, count): (&String, &Value)| Some((ns.parse::<f64>().ok()? * unit, count.as_u64()?));
    let mut found: Vec<(f64, u64)> =
        bins.iter().filter_map(bin).filter(|(ns, _)| ns.is_finite() && *ns >= 0.0).collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found
}

/// The first bin whose cumulative count reaches the percentile.
fn rank(bins: &[(f64, u64)], percent: f64) -> Option<f64> {
    let total = bins.iter().fold(0u64, |sum, (_, n)| sum.saturating_add(*n));
    let wanted = percent / 100.0 * total as f64;
    let mut sum = 0u64;
    bins.iter()
        .find(|(_, n)| {
            sum = sum.saturating_add(*n);
            total > 0 && sum as f64 >= wanted
        })
        .map(|(ns, _)| *ns)
}

/// Imports the histograms of JSON+; of submission and completion latencies their totals.
fn stats(operation: Operation, object: &Map<String, Value>, count: f64, bytes: f64, report: &mut Report) {
    let histogram = |name: &str| {
        let (of, unit) = latency_object(object, name)?;
        let mut recorder = LatencyRecorder::new();
        for (ns, n) in bins(of, unit) {
            recorder.record_many(ns as u64, n);
        }
        (!recorder.is_empty()).then(|| recorder.finish())
    };
    let (lat, clat, slat) = (histogram("lat"), histogram("clat"), histogram("slat"));
    if lat.is_none() && clat.is_none() {
        return;
    }
    let whole = |value: f64| if value.is_finite() && value > 0.0 { value as u64 } else { 0 };
    let stats = OperationStats {
        count: whole(count),
        bytes: whole(bytes),
        slat: slat.as_ref().map(LatencyTotal::of),
        clat: clat.as_ref().map(LatencyTotal::of),
        lat: lat.unwrap_or_default(),
        ..OperationStats::default()
    };
    report.stats.insert(operation, stats);
}

fn syncs(object: &Map<String, Value>, line: u32, report: &mut Report) {
    let Some((of, unit)) = latency_object(object, "lat") else { return };
    let counted = float(of, "N").or_else(|| float(object, "total_ios")).unwrap_or(0.0);
    if counted <= 0.0 {
        return;
    }
    report.fact("syncs", format!("{counted}"));
    let fields = [
        ("mean", Metric::LatMean),
        ("max", Metric::LatMax),
        ("min", Metric::LatMin),
        ("stddev", Metric::LatStddev),
    ];
    for (field, metric) in fields {
        report.figure(
            (Operation::Sync, metric),
            float(of, field).map(|v| printed_latency(v, unit, line)),
            None,
        );
    }
    percentiles(Operation::Sync, of, unit, line, report);
    let seconds = report.window_ns as f64 / 1e9 * f64::from(report.workload.jobs);
    if let Some(mean) = float(of, "mean").filter(|_| seconds > 0.0) {
        let share = Num { value: counted * mean * unit / 1e9 / seconds, error: 0.001 };
        report.figure((Operation::Sync, Metric::SyncShare), None, Some((share, "syncs × mean / run time")));
    }
}
