//! ioping: text of 0.x to 1.3, batch lines and JSON. A latency of a write includes the sync that follows it; `iops` is
//! the inverse of the mean latency; the achieved rate is in the line `generated`.

use model::{Metric, Operation};
use serde_json::{Map, Value};

use super::remarks;
use super::report::{Parsed, ProblemKind, Report, random, transfers};
use super::text::{Line, Num, Text, after, binary, count, decimal, number};

const TOOL: &str = "ioping";
/// Default bytes of one request.
const USUAL_BLOCK: u32 = 4096;
/// Not every request counts.
const NOTHING_COUNTED: &str = "ioping counted none of its requests (it ignores the first, and those too slow or too fast for its options)";

pub(super) fn recognises(text: &Text<'_>) -> bool {
    text.lines.iter().any(|l| {
        l.text.contains(" ioping statistics ---")
            || batch(&l.text).is_some()
            || is_failure(&l.text)
            || request(l).is_some()
    }) || is_json(text)
}

fn is_failure(text: &str) -> bool {
    text.trim_start().starts_with("ioping: ")
}

fn is_json(text: &Text<'_>) -> bool {
    let has = |part: &str| text.lines.iter().any(|line| line.text.contains(part));
    has("\"stat\"") && has("\"load\"") && has("\"mdev\"")
}

/// Parses every form in the text.
pub(super) fn parse(text: &Text<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    if is_json(text) {
        json(text, &mut parsed);
        return parsed;
    }
    let (mut requests, mut start) = (Vec::new(), 0);
    for (i, line) in text.lines.iter().enumerate() {
        if let Some(values) = batch(&line.text) {
            batch_report(&values, line.number, &mut parsed);
        } else if let Some(request) = request(line) {
            requests.push(request);
        } else if is_failure(&line.text) {
            parsed.problem(line.number, ProblemKind::Failed, line.text.trim());
        } else if line.text.contains(" ioping statistics ---") {
            let end = text.lines[i + 1..]
                .iter()
                .position(|l| l.text.contains(" ioping statistics ---") || request(l).is_some());
            let block = &text.lines[i..end.map_or(text.lines.len(), |n| i + 1 + n)];
            summary(block, &std::mem::take(&mut requests), &mut parsed);
            start = i;
        }
    }
    if !requests.is_empty() && parsed.problems.is_empty() {
        let message = format!("{} requests of ioping lack the statistics at the end", requests.len());
        parsed.problem(text.lines[start.max(text.lines.len() - 1)].number, ProblemKind::CutOff, message);
    }
    parsed
}

/// One request: what it did, its latency, whether it counts.
struct Request {
    line: u32,
    operation: Option<Operation>,
    latency: Num,
    counts: bool,
}

/// `4 KiB <<< . (ext4 /dev/sda 252.0 GiB): request=2 time=200.4 us (slow)`.
fn request(line: &Line) -> Option<Request> {
    let text = &line.text;
    let rest = after(text, "time=").filter(|_| text.contains("request="))?;
    let (num, unit) = number(rest)?;
    let unit = unit.trim();
    let latency = num.times(time_unit(unit)?);
    let operation = if text.contains("<<<") {
        Some(Operation::Read)
    } else if text.contains(">>>") {
        Some(Operation::Write)
    } else {
        None
    };
    let excluded = ["warmup", "too slow", "too fast", "EAGAIN"];
    let counts = !excluded.iter().any(|word| unit.contains(word));
    Some(Request { line: line.number, operation, latency, counts })
}

/// Nanoseconds of a unit at the start of a text.
fn time_unit(text: &str) -> Option<f64> {
    let word: String = text.trim_start().chars().take_while(|c| c.is_alphabetic()).collect();
    match word.as_str() {
        "ns" => Some(1.0),
        "us" | "µs" => Some(1e3),
        "ms" => Some(1e6),
        "s" | "sec" => Some(1e9),
        "min" => Some(60e9),
        "h" | "hour" => Some(3600e9),
        _ => None,
    }
}

fn time(text: &str) -> Option<Num> {
    let (num, rest) = number(text.trim())?;
    Some(num.times(time_unit(rest)?))
}

/// `90.1 k`, `6.21 k iops` or `23`.
fn amount(text: &str) -> Option<Num> {
    let (num, rest) = number(text.trim())?;
    let letter = rest.trim_start().chars().next().filter(|c| matches!(c, 'k' | 'M' | 'G' | 'T'));
    Some(num.times(letter.and_then(decimal).unwrap_or(1.0)))
}

/// `189.7 MiB/s`, `1.4 mb/s` (of the same size) or `20 KiB`.
fn data(text: &str) -> Option<Num> {
    let (num, rest) = number(text.trim())?;
    let unit = rest.trim_start();
    let letter = unit.chars().next().filter(|c| !matches!(c, 'B' | 'b'));
    Some(num.times(letter.and_then(binary).unwrap_or(1.0)))
}

/// The lines below `--- . (ext4 /dev/sda 252.0 GiB) ioping statistics ---`.
fn summary(lines: &[Line], requests: &[Request], parsed: &mut Parsed) {
    let head = &lines[0];
    let find = |part: &str| lines.iter().find(|line| line.text.contains(part));
    let (Some(done), Some(extremes)) = (find("requests completed in"), find("min/avg/max/mdev")) else {
        let message = "the statistics of ioping end before `min/avg/max/mdev`";
        parsed.problem(lines.last().map_or(head.number, |l| l.number), ProblemKind::CutOff, message);
        return;
    };
    let text = done.text.trim();
    let parts: Vec<&str> = text.split(", ").collect();
    let n = amount(text).unwrap_or(Num::exact(0.0));
    if n.value < 1.0 {
        parsed.problem(done.number, ProblemKind::NoFigures, NOTHING_COUNTED);
        return;
    }
    let operation =
        if text.contains("written") || requests.iter().any(|r| r.operation == Some(Operation::Write)) {
            Operation::Write
        } else {
            Operation::Read
        };
    let both = requests.iter().any(|r| r.operation == Some(Operation::Read)) && operation == Operation::Write;
    let operation = if both { Operation::Mixed } else { operation };
    let block =
        parts.get(1).and_then(|p| data(p)).map(|bytes| (bytes.value / n.value / 512.0).round() * 512.0);
    let block = block.and_then(super::text::block).filter(|b| *b >= 512).unwrap_or(USUAL_BLOCK);
    let mut report = described(operation, block, head.number);
    report.last_line = extremes.number;
    report.line = requests.first().map_or(head.number, |r| r.line);
    if let Some(target) = head.text.split("--- ").nth(1).and_then(|t| t.split(" ioping").next()) {
        report.fact("target", target.trim());
    }
    let generated = find("generated ")
        .map(|line| (after(&line.text, "generated ").unwrap_or("").to_owned(), line.number));
    rates(operation, &parts, n, generated, done.number, &mut report);
    latencies(operation, extremes, requests, &mut report);
    report.headlines = vec![(operation, Metric::LatMean)];
    parsed.reports.push(report);
}

fn described(operation: Operation, block: u32, line: u32) -> Report {
    let (percent, words) = match operation {
        Operation::Read => (100, "random reads one at a time"),
        Operation::Write => (0, "random writes one at a time, each with its sync"),
        _ => (50, "random reads and writes in turn, one at a time"),
    };
    let mut workload = transfers(percent, random(true), block);
    if percent < 100 {
        workload.sync = super::report::EACH_WRITE;
        workload.sync.data_only = true;
    }
    let title = format!("ioping: {words}, {}", super::text::block_words(block));
    let mut report = Report::new(TOOL, line, title, workload);
    report.unsaid(&["version", "direct", "cache", "sync", "interval", "size_bytes", "machine", "memory"]);
    report
}

/// The achieved rate, and the meaning of the printed one.
fn rates(
    operation: Operation,
    parts: &[&str],
    n: Num,
    generated: Option<(String, u32)>,
    line: u32,
    report: &mut Report,
) {
    let inverse = parts.iter().find(|p| p.contains("iops")).and_then(|p| amount(p));
    let Some((text, line_of)) = generated else {
        // Old versions print only totals over the wall time.
        let wall = after(parts[0], "completed in").and_then(time).map(|t| t.times(1e-9));
        let is_rate = |p: &&&str| p.contains("/s");
        let flow = parts.iter().find(is_rate).and_then(|p| Some(((*p).to_owned(), data(p)?, line)));
        report.figure((operation, Metric::Bandwidth), flow, None);
        let iops =
            parts.iter().find(|p| p.contains("iops")).and_then(|p| Some(((*p).to_owned(), amount(p)?, line)));
        report.figure((operation, Metric::Iops), iops, None);
        report.lasted(wall.map_or(0.0, |t| t.value));
        return;
    };
    let pieces: Vec<&str> = text.split(", ").collect();
    let wall = after(pieces[0], "requests in").and_then(time).map(|t| t.times(1e-9));
    let all = amount(pieces[0]).unwrap_or(n);
    let moved = pieces.get(1).and_then(|p| data(p));
    let find = |part: &str| pieces.iter().find(|p| p.contains(part));
    let iops = find("iops").and_then(|p| Some(((*p).to_owned(), amount(p)?.truncated(), line_of)));
    let raw = wall.and_then(|wall| all.over(wall));
    report.figure((operation, Metric::Iops), iops, raw.map(|r| (r, "requests generated / time")));
    let flow = find("/s").and_then(|p| Some(((*p).to_owned(), data(p)?, line_of)));
    let raw = moved.zip(wall).and_then(|(moved, wall)| moved.over(wall));
    report.figure((operation, Metric::Bandwidth), flow, raw.map(|r| (r, "bytes generated / time")));
    report.lasted(wall.map_or(0.0, |t| t.value));
    let reached = all.value / wall.map_or(1.0, |t| t.value.max(1e-9));
    if let Some(inverse) = inverse.filter(|inverse| inverse.value > 1.2 * reached) {
        let message = format!(
            "the printed {:.0} iops are the inverse of the mean latency; the achieved rate is {reached:.0} per second",
            inverse.value
        );
        report.remark(&remarks::INVERSE_LATENCY, line, message);
    }
}

/// `min/avg/max/mdev = 156.1 us / 166.8 us / 175.2 us / 5.66 us`, or with one unit at the end.
fn latencies(operation: Operation, line: &Line, requests: &[Request], report: &mut Report) {
    let Some((_, values)) = line.text.split_once('=') else { return };
    let parts: Vec<&str> = values.split('/').map(str::trim).collect();
    let common = parts.last().and_then(|p| number(p)).and_then(|(_, rest)| time_unit(rest)).unwrap_or(1.0);
    let value = |i: usize| {
        let part = parts.get(i)?;
        let (num, rest) = number(part)?;
        Some(((*part).to_owned(), num.times(time_unit(rest).unwrap_or(common)), line.number))
    };
    let counted: Vec<Num> = requests.iter().filter(|r| r.counts).map(|r| r.latency).collect();
    let sum = counted
        .iter()
        .fold(Num::exact(0.0), |a, b| Num { value: a.value + b.value, error: a.error + b.error });
    let mean = sum.over(Num::exact(counted.len() as f64)).map(|n| (n, "times of the requests that count"));
    report.figure((operation, Metric::LatMean), value(1), mean);
    let longest = counted.iter().copied().max_by(|a, b| a.value.total_cmp(&b.value));
    report.figure(
        (operation, Metric::LatMax),
        value(2),
        longest.map(|n| (n, "times of the requests that count")),
    );
    report.figure((operation, Metric::LatMin), value(0), None);
    report.figure((operation, Metric::LatStddev), value(3), None);
}

/// The ten whole numbers of a line of `-B`; eight in older versions.
fn batch(text: &str) -> Option<Vec<f64>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if !(words.len() == 8 || words.len() == 10) {
        return None;
    }
    let values: Vec<f64> = words
        .iter()
        .map(|w| count(w).filter(|(_, rest)| rest.is_empty()).map(|(n, _)| n as f64))
        .collect::<Option<_>>()?;
    let (n, sum, min, mean, max) = (values[0], values[1], values[4], values[5], values[6]);
    // What distinguishes the line from other numbers: the mean is the sum over the count, and lies between the extremes.
    let fits = n >= 1.0 && (sum / n - mean).abs() <= mean * 0.01 + 1.0 && min <= mean && mean <= max;
    fits.then_some(values)
}

fn batch_report(values: &[f64], line: u32, parsed: &mut Parsed) {
    let block = (values[3] / values[2].max(1.0)).round();
    let block =
        super::text::block((block / 512.0).round() * 512.0).filter(|b| *b >= 512).unwrap_or(USUAL_BLOCK);
    let mut report = described(Operation::Read, block, line);
    report.unsaid(&["operation"]);
    report.title = report.title.replace("random reads", "random requests");
    let exact = |v: f64| Num { value: v, error: 1.0 };
    let printed = |i: usize, unit: &str| Some((format!("{} {unit}", values[i]), exact(values[i]), line));
    let key = |metric| (Operation::Read, metric);
    let mean = exact(values[1]).over(Num::exact(values[0])).map(|n| (n, "sum of latencies / requests"));
    report.figure(key(Metric::LatMean), printed(5, "ns"), mean);
    report.figure(key(Metric::LatMax), printed(6, "ns"), None);
    report.figure(key(Metric::LatMin), printed(4, "ns"), None);
    report.figure(key(Metric::LatStddev), printed(7, "ns"), None);
    if let [_, _, _, _, _, _, _, _, all, wall] = values {
        let seconds = Num { value: *wall, error: 1.0 }.times(1e-9);
        let rate = Num::exact(*all).over(seconds);
        report.figure(key(Metric::Iops), None, rate.map(|n| (n, "all requests / time")));
        let flow = Num::exact(*all * f64::from(block)).over(seconds);
        report.figure(key(Metric::Bandwidth), None, flow.map(|n| (n, "all requests × size / time")));
        report.lasted(seconds.value);
    }
    report.headlines = vec![key(Metric::LatMean)];
    parsed.reports.push(report);
}

fn json(text: &Text<'_>, parsed: &mut Parsed) {
    let Some(start) = text.lines.iter().position(|l| l.text.trim_start().starts_with('[')) else { return };
    let first = text.lines[start].number;
    let whole: String = text.lines[start..].iter().map(|l| format!("{}\n", l.text)).collect();
    let mut documents = serde_json::Deserializer::from_str(&whole).into_iter::<Vec<Value>>();
    let objects = match documents.next() {
        Some(Ok(objects)) => objects,
        Some(Err(error)) => {
            let line = first + u32::try_from(error.line()).unwrap_or(0).saturating_sub(1);
            let kind = if error.is_eof() { ProblemKind::CutOff } else { ProblemKind::Contradictory };
            parsed.problem(line, kind, format!("cannot parse ioping's JSON: {error}"));
            return;
        }
        None => return,
    };
    let mut stat_lines = text.lines.iter().filter(|l| l.text.contains("\"stat\"")).map(|l| l.number);
    let mut requests: Vec<(Operation, f64)> = Vec::new();
    for object in &objects {
        if let Some(io) = object.get("io").and_then(Value::as_object) {
            let is_write = io.get("operation").and_then(Value::as_str) == Some("write");
            let operation = if is_write { Operation::Write } else { Operation::Read };
            if io.get("ignored").and_then(Value::as_bool) != Some(true) {
                requests.extend(io.get("time").and_then(Value::as_f64).map(|time| (operation, time)));
            }
        }
        if let Some(stat) = object.get("stat").and_then(Value::as_object) {
            let line = stat_lines.next().unwrap_or(first);
            json_report(stat, object, &std::mem::take(&mut requests), line, parsed);
        }
    }
}

fn json_report(
    stat: &Map<String, Value>,
    object: &Value,
    requests: &[(Operation, f64)],
    line: u32,
    parsed: &mut Parsed,
) {
    let get =
        |of: &Map<String, Value>, name: &str| of.get(name).and_then(Value::as_f64).filter(|v| v.is_finite());
    let n = get(stat, "count").unwrap_or(0.0);
    if n < 1.0 {
        parsed.problem(line, ProblemKind::NoFigures, NOTHING_COUNTED);
        return;
    }
    let has = |operation| requests.iter().any(|(o, _)| *o == operation);
    let operation = match (has(Operation::Read), has(Operation::Write)) {
        (true, true) => Operation::Mixed,
        (false, true) => Operation::Write,
        _ => Operation::Read,
    };
    let block = get(stat, "size").map(|bytes| bytes / n).and_then(super::text::block).unwrap_or(USUAL_BLOCK);
    let mut report = described(operation, block, line);
    if let Some(target) = object.get("target") {
        let word = |name: &str| target.get(name).and_then(Value::as_str).unwrap_or("");
        report.fact("target", format!("{} ({} {})", word("path"), word("fstype"), word("device")));
    }
    let printed =
        |name: &str| get(stat, name).map(|v| (format!("{v} ns"), Num { value: v, error: 1.0 }, line));
    let sum: f64 = requests.iter().map(|(_, t)| t).sum();
    let own = (requests.len() as f64 == n)
        .then(|| (Num { value: sum / n, error: 0.5 }, "times of the requests that count"));
    let mean = own.or_else(|| {
        get(stat, "time").map(|t| (Num { value: t / n, error: 0.5 }, "sum of latencies / requests"))
    });
    report.figure((operation, Metric::LatMean), printed("avg"), mean);
    report.figure((operation, Metric::LatMax), printed("max"), None);
    report.figure((operation, Metric::LatMin), printed("min"), None);
    report.figure((operation, Metric::LatStddev), printed("mdev"), None);
    if let Some(load) = object.get("load").and_then(Value::as_object) {
        let seconds = get(load, "time").map(|ns| Num { value: ns, error: 1.0 }.times(1e-9));
        let printed = |name: &str, unit: &str, error: f64| {
            get(load, name).map(|v| (format!("{v} {unit}"), Num { value: v, error }, line))
        };
        let raw = |name: &str| Num::exact(get(load, name)?).over(seconds?);
        report.figure(
            (operation, Metric::Iops),
            printed("iops", "iops", 0.01),
            raw("count").map(|n| (n, "requests / time")),
        );
        report.figure(
            (operation, Metric::Bandwidth),
            printed("bps", "B/s", 1.0),
            raw("size").map(|n| (n, "bytes / time")),
        );
        report.lasted(seconds.map_or(0.0, |s| s.value));
    }
    report.headlines = vec![(operation, Metric::LatMean)];
    parsed.reports.push(report);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_texts_have_one_unit_at_the_end() {
        let text = "--- . (ext4 /dev/sda3) ioping statistics ---\n5 requests completed in 4794.0 ms, 364 iops, 1.4 mb/s\nmin/avg/max/mdev = 0.2/2.8/12.7/5.0 ms\n";
        let parsed = parse(&Text::new(text.as_bytes()));
        let value = |metric| parsed.reports[0].figures.iter().find(|f| f.metric == metric).unwrap().value;
        assert_eq!(parsed.problems, []);
        assert!((value(Metric::LatMean) - 2.8e6).abs() < 1.0);
        assert!((value(Metric::Bandwidth) - 1.4 * 1_048_576.0).abs() < 1.0);
    }

    #[test]
    fn a_batch_line_is_distinguished_from_other_numbers() {
        assert!(batch("19 2612090 7274 29793767 91350 137478 176652 26130 20 380233050").is_some());
        assert!(batch("1 2 3 4 5 6 7 8 9 10").is_none());
    }
}
