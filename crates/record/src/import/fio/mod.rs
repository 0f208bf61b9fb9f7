//! fio: normal text of 2.x and 3.x, terse 2 to 5, JSON and JSON+; several of them and several jobs in one text.
//!
//! Up to 2.x its `KB/s` is 1024 bytes per second; from 3.x the units are exact (`kB` is 1000 bytes, `KiB` 1024).

mod json;
mod logs;
mod normal;
mod terse;

use std::collections::BTreeMap;

use model::{EngineKind, Metric, Mix, Operation, Pattern, Workload, fact};

use super::report::{Parsed, Report, random, transfers};
use super::text::{Num, Text, block_words};

const TOOL: &str = "fio";
const KIB: f64 = 1024.0;
/// Largest number of pairs of results in different formats that are compared.
const MOST_PAIRS: usize = 100_000;

pub use logs::log_name;

pub(super) fn recognises(text: &Text<'_>) -> bool {
    normal::recognises(text) || json::recognises(text) || terse::recognises(text)
}

/// What a file of this name has, if it is a log that fio writes beside its output.
pub(super) fn log(text: &Text<'_>, name: &str) -> Option<Parsed> {
    logs::recognises(text).then(|| logs::parse(text, name))
}

/// All jobs. A job in several formats is reported once, from the most exact one.
pub(super) fn parse(text: &Text<'_>) -> Parsed {
    let mut parsed = json::parse(text);
    for other in [normal::parse(text), terse::parse(text)] {
        let mut known = parsed.reports.len();
        if known.saturating_mul(other.reports.len()) > MOST_PAIRS {
            // No real file has this many jobs.
            known = 0;
        }
        let mut matched = vec![false; known];
        for report in other.reports {
            let same = (0..known).find(|i| !matched[*i] && is_same(&parsed.reports[*i], &report));
            match same {
                Some(i) => matched[i] = true,
                None => parsed.reports.push(report),
            }
        }
        parsed.problems.extend(other.problems);
    }
    parsed
}

/// True if both describe one job: its name and all rates agree.
fn is_same(exact: &Report, other: &Report) -> bool {
    let rate = |report: &Report, operation| {
        let is_it = |f: &&model::Figure| (f.operation, f.metric) == (operation, Metric::Iops);
        report.figures.iter().find(is_it).map(|f| f.value)
    };
    let agree = |operation| match (rate(exact, operation), rate(other, operation)) {
        (Some(a), Some(b)) => (a - b).abs() <= (a.abs() * 0.002).max(1.0),
        (None, None) => true,
        _ => false,
    };
    exact.facts.get("job") == other.facts.get("job")
        && [Operation::Read, Operation::Write, Operation::Trim].into_iter().all(agree)
}

/// What a job did, as far as an output states it.
#[derive(Clone, Debug, Default)]
struct Job {
    name: String,
    rw: Option<String>,
    block: Option<u32>,
    engine: Option<String>,
    iodepth: Option<u32>,
    jobs: Option<u32>,
    direct: Option<bool>,
    read_percent: Option<u8>,
}

impl Job {
    /// A report without figures.
    fn report(&self, line: u32) -> Report {
        let rw = self.rw.as_deref().unwrap_or("");
        let pattern = if rw.starts_with("rand") { random(false) } else { Pattern::Sequential };
        let mixed = self.read_percent.unwrap_or(50).clamp(1, 99);
        let (read_percent, words) = match rw.trim_start_matches("rand") {
            "read" => (100, "read"),
            "write" => (0, "write"),
            "rw" | "readwrite" => (mixed, "read and write"),
            "trim" => (0, "trim"),
            "trimwrite" => (0, "trim and write"),
            _ => (mixed, ""),
        };
        let mut workload = transfers(read_percent, pattern.clone(), self.block.unwrap_or(4096));
        if words == "trim" {
            workload.mix = Mix::Trim;
        }
        workload.iodepth = self.iodepth.unwrap_or(1).max(1);
        workload.jobs = self.jobs.unwrap_or(1).max(1);
        workload.direct = self.direct.unwrap_or(false);
        let title = self.title(words, &pattern, &workload);
        let mut report = Report::new(TOOL, line, title, workload);
        report.engine = match self.engine.as_deref() {
            Some("libaio") => EngineKind::Libaio,
            Some("io_uring" | "io_uring_cmd") => EngineKind::IoUring,
            Some("mmap") => EngineKind::Mmap,
            _ => EngineKind::Psync,
        };
        if let Some(engine) = &self.engine {
            report.fact(fact::IOENGINE, engine.clone());
        }
        report.fact("job", self.name.clone());
        let missing = [
            ("rw", self.rw.is_none()),
            ("block", self.block.is_none()),
            ("engine", self.engine.is_none()),
            ("iodepth", self.iodepth.is_none()),
            ("direct", self.direct.is_none()),
            ("read_percent", words == "read and write" && self.read_percent.is_none()),
        ];
        let names: Vec<&str> =
            missing.iter().filter(|(_, missing)| *missing).map(|(name, _)| *name).collect();
        report.unsaid(&names);
        report.unsaid(&["size_bytes", "machine", "memory"]);
        report
    }

    fn title(&self, words: &str, pattern: &Pattern, workload: &Workload) -> String {
        if words.is_empty() {
            return format!("fio: job {}", self.name);
        }
        let order = if *pattern == Pattern::Sequential { "sequential" } else { "random" };
        let mut title = format!("fio: {order} {words}");
        if let Some(block) = self.block {
            title.push_str(&format!(", {}", block_words(block)));
        }
        if self.iodepth.is_some() {
            title.push_str(&format!(", depth {}", workload.iodepth));
        }
        if workload.jobs > 1 {
            title.push_str(&format!(", {} jobs", workload.jobs));
        }
        if self.direct == Some(true) {
            title.push_str(", direct");
        }
        title
    }
}

/// Concurrent jobs are separate steps, not repeats of each other.
fn distinguish(reports: &mut [Report]) {
    let group = |report: &Report| report.facts.get("group").cloned().unwrap_or_default();
    let mut group_sizes: BTreeMap<String, usize> = BTreeMap::new();
    for report in reports.iter() {
        *group_sizes.entry(group(report)).or_default() += 1;
    }
    let mut occurrences: BTreeMap<(String, String), usize> = BTreeMap::new();
    for report in reports {
        let (group, name) = (group(report), report.facts.get("job").cloned().unwrap_or_default());
        let all = group_sizes[&group];
        let before = occurrences.entry((group, name.clone())).or_default();
        *before += 1;
        if all > 1 {
            let number = if *before > 1 { format!(" {before}") } else { String::new() };
            report.title.push_str(&format!(", job {name}{number} of {all} at once"));
        }
    }
}

/// Rates come first; an operation without one is judged by its mean latency.
fn headlines(report: &mut Report) {
    let has =
        |operation, metric| report.figures.iter().any(|f| (f.operation, f.metric) == (operation, metric));
    let order = [Metric::Bandwidth, Metric::Iops, Metric::LatMean];
    let mut found = Vec::new();
    for operation in [Operation::Read, Operation::Write, Operation::Trim] {
        found.extend(order.into_iter().find(|m| has(operation, *m)).map(|metric| (operation, metric)));
    }
    if found.is_empty() && has(Operation::Sync, Metric::LatMean) {
        found.push((Operation::Sync, Metric::LatMean));
    }
    report.headlines = found;
}

/// The CPU time of the jobs in percent of their time.
fn cpu(user: Num, system: Num, line: u32, report: &mut Report) {
    let Some((operation, _)) = report.headlines.first().copied() else { return };
    let all = Num { value: user.value + system.value, error: user.error + system.error };
    let text = format!("usr {} % + sys {} %", user.value, system.value);
    report.figure((operation, Metric::CpuJob), Some((text, all.times(0.01), line)), None);
}

/// A version such as `fio-3.33`, without the name.
fn version(text: &str) -> Option<String> {
    let version = text.trim().strip_prefix("fio-")?;
    version
        .starts_with(|c: char| c.is_ascii_digit())
        .then(|| version.split_whitespace().next().unwrap_or("").to_owned())
}

/// The metric of a percentile that is imported.
fn percentile_metric(percent: f64) -> Option<Metric> {
    let kept =
        [(50.0, Metric::LatP50), (95.0, Metric::LatP95), (99.0, Metric::LatP99), (99.9, Metric::LatP999)];
    kept.into_iter().find(|(p, _)| (p - percent).abs() < 1e-6).map(|(_, metric)| metric)
}
