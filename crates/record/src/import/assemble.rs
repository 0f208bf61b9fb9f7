//! Assembles the reports of many files into one run: which are repeats of each other, which are other targets or steps.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use model::{
    EngineChoice, Event, Imported, Interval, OperationStats, Phase, Preparation, RepeatFinished,
    RepeatOutcome, RepeatStarted, Step, Stop, Target, TargetKind,
};

use super::dd;
use super::remarks;
use super::report::{NAME_LABEL, REPEAT_LABEL, Report};

/// The reports of one file.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// The file.
    pub file: String,
    /// Labels from its path and from the user.
    pub labels: BTreeMap<String, String>,
    /// Its reports.
    pub reports: Vec<Report>,
}

/// The parts of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Assembled {
    /// One for each combination of labels that differ.
    pub targets: Vec<Target>,
    /// One for each kind of workload.
    pub steps: Vec<Step>,
    /// Everything but the start and the end of the run.
    pub events: Vec<Event>,
    /// The largest number of repeats of one step on one target.
    pub rounds: u32,
}

/// One report with its labels and its step.
struct Placed {
    file: String,
    labels: BTreeMap<String, String>,
    step: usize,
    report: Report,
}

/// Assembles reports. Those with equal labels and equal workloads are repeats of each other, in the order given.
pub fn assemble(gathered: Vec<Gathered>) -> Assembled {
    let mut placed = Vec::new();
    for file in gathered {
        for mut report in file.reports {
            let mut labels = report.labels.clone();
            labels.extend(file.labels.clone());
            if dd::is_undirected(&report) {
                dd::direct(&mut report, &mut labels);
            }
            placed.push(Placed { file: file.file.clone(), labels, step: 0, report });
        }
    }
    let names = placed.iter().filter(|p| dd::is_undirected(&p.report)).map(|p| p.labels.get(NAME_LABEL));
    let sets_apart = names.collect::<BTreeSet<_>>().len() > 1;
    let mut steps = Steps::default();
    for p in &mut placed {
        if sets_apart && dd::is_undirected(&p.report) {
            dd::set_apart(&mut p.report, &p.labels);
        }
        p.step = steps.index_of(&p.report);
    }
    merge_spellings(&mut placed);
    if !needs_names(&placed) {
        // Next to labelled results, or where all have one, a name is better than none.
        let is_bare = |p: &Placed| p.labels.keys().all(|key| key == NAME_LABEL || key == REPEAT_LABEL);
        let names: BTreeSet<_> = placed.iter().map(|p| p.labels.get(NAME_LABEL)).collect();
        let keeps_bare = names.len() == 1 || !placed.iter().all(is_bare);
        for p in placed.iter_mut().filter(|p| !(keeps_bare && is_bare(p))) {
            p.labels.remove(NAME_LABEL);
        }
    }
    let keys = differing(&placed);
    let place = |p: &Placed| (p.step, target_name(p, &keys));
    // What a signal stopped counts only where nothing else was measured.
    let whole: BTreeSet<_> = placed.iter().filter(|p| !is_stopped(&p.report)).map(place).collect();
    let (mut targets, mut known): (Vec<Target>, BTreeSet<String>) = Default::default();
    let mut rounds: BTreeMap<(usize, String), u32> = BTreeMap::new();
    let mut events = Vec::new();
    for (repeat, placed) in (0..).zip(placed) {
        let name = target_name(&placed, &keys);
        if known.insert(name.clone()) {
            targets.push(target(&name));
        }
        let round = rounds.entry((placed.step, name.clone())).or_default();
        let is_left_out = is_stopped(&placed.report) && whole.contains(&(placed.step, name.clone()));
        let outcome = if is_left_out { RepeatOutcome::Interrupted } else { RepeatOutcome::Completed };
        events.extend(events_of((repeat, *round, outcome), &steps.all[placed.step].id, name, placed));
        *round += 1;
    }
    Assembled { targets, steps: steps.all, events, rounds: rounds.into_values().max().unwrap_or(0) }
}

/// The steps so far, found by their titles and ids.
#[derive(Default)]
struct Steps {
    all: Vec<Step>,
    by_title: BTreeMap<String, Vec<usize>>,
    /// How often each id was requested.
    ids: BTreeMap<String, u32>,
}

impl Steps {
    /// The index of a report's step, which is added if it is new.
    fn index_of(&mut self, report: &Report) -> usize {
        let same_title = self.by_title.entry(report.title.clone()).or_default();
        if let Some(at) = same_title.iter().copied().find(|at| self.all[*at].workload == report.workload) {
            for headline in &report.headlines {
                if !self.all[at].foreign.iter().any(|(operation, _)| *operation == headline.0) {
                    self.all[at].foreign.push(*headline);
                }
            }
            return at;
        }
        same_title.push(self.all.len());
        let id = self.id(&report.title);
        self.all.push(step(report, id));
        self.all.len() - 1
    }

    /// An id that no other step has.
    fn id(&mut self, title: &str) -> String {
        let plain = slug(title);
        loop {
            let wanted = self.ids.entry(plain.clone()).or_default();
            *wanted += 1;
            let id = if *wanted == 1 { plain.clone() } else { format!("{plain}-{wanted}") };
            if *wanted == 1 || self.ids.insert(id.clone(), 1).is_none() {
                return id;
            }
        }
    }
}

fn step(report: &Report, id: String) -> Step {
    Step {
        id,
        title: report.title.clone(),
        prepare: Preparation::Written,
        workload: report.workload.clone(),
        engine: EngineChoice::Only(report.engine),
        stop: Stop::default(),
        shortest_ns: None,
        ramp_ns: 0,
        interval_ns: 0,
        max_errors: 1,
        concurrent: Vec::new(),
        foreign: report.headlines.clone(),
    }
}

/// A title as an id: lower-case letters, digits and hyphens.
fn slug(title: &str) -> String {
    let mut id = String::new();
    for c in title.chars() {
        if c.is_ascii_alphanumeric() || c == '.' {
            id.push(c.to_ascii_lowercase());
        } else if !id.ends_with('-') && !id.is_empty() {
            id.push('-');
        }
    }
    id.trim_end_matches(['-', '.']).replace("-kib", "k").replace("-mib", "m")
}

/// Gives values of one label that differ only by case the spelling of most results, and of those the first.
fn merge_spellings(placed: &mut [Placed]) {
    /// The count of a spelling, and its first position.
    type Rank = (usize, Reverse<usize>);
    let mut spellings: BTreeMap<(String, String), BTreeMap<String, Rank>> = BTreeMap::new();
    for (at, labels) in placed.iter().map(|p| &p.labels).enumerate() {
        for (key, value) in labels {
            let same = spellings.entry((key.clone(), value.to_lowercase())).or_default();
            same.entry(value.clone()).or_insert((0, Reverse(at))).0 += 1;
        }
    }
    for (key, value) in placed.iter_mut().flat_map(|p| &mut p.labels) {
        let same = &spellings[&(key.clone(), value.to_lowercase())];
        if let Some((best, _)) = same.iter().max_by_key(|(_, rank)| **rank) {
            value.clone_from(best);
        }
    }
}

/// True if, without file names, results of different files would pass for repeats.
fn needs_names(placed: &[Placed]) -> bool {
    let mut names: BTreeMap<(usize, BTreeMap<&str, &str>), Option<&String>> = BTreeMap::new();
    placed.iter().any(|p| {
        let others = p.labels.iter().filter(|(key, _)| *key != NAME_LABEL && *key != REPEAT_LABEL);
        let key = (p.step, others.map(|(k, v)| (k.as_str(), v.as_str())).collect());
        let name = p.labels.get(NAME_LABEL);
        *names.entry(key).or_insert(name) != name
    })
}

/// The labels whose values differ.
fn differing(placed: &[Placed]) -> Vec<String> {
    let keys = placed.iter().flat_map(|p| p.labels.keys()).filter(|key| *key != REPEAT_LABEL);
    let keys: BTreeSet<&String> = keys.collect();
    let differs = |key: &&&String| {
        let values: BTreeSet<Option<&String>> = placed.iter().map(|p| p.labels.get(**key)).collect();
        values.len() > 1
    };
    keys.iter().filter(differs).map(|key| (*key).clone()).collect()
}

/// The combination of the labels that differ; if none does, of all labels.
fn target_name(placed: &Placed, keys: &[String]) -> String {
    let of = |keys: &mut dyn Iterator<Item = &String>| {
        keys.filter_map(|key| placed.labels.get(key)).map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    let differing = of(&mut keys.iter());
    let all = of(&mut placed.labels.keys().filter(|key| *key != REPEAT_LABEL));
    match (keys.is_empty(), all.is_empty()) {
        (false, _) if !differing.is_empty() => differing,
        (false, _) => "unnamed".to_owned(),
        (true, false) => all,
        (true, true) => "imported".to_owned(),
    }
}

/// A target of which only the name is known.
fn target(name: &str) -> Target {
    Target {
        clients: Vec::new(),
        server: None,
        name: name.to_owned(),
        path: PathBuf::new(),
        kind: TargetKind::Directory,
        size_bytes: 0,
        free_bytes: 0,
        block_bytes: 512,
        direct: true,
        labels: Default::default(),
        host: 0,
        writable: false,
        stack: Vec::new(),
    }
}

/// True if a signal stopped the program before its end.
fn is_stopped(report: &Report) -> bool {
    report.remarks.iter().any(|remark| remark.topic == remarks::STOPPED_EARLY.topic)
}

fn events_of(
    (repeat, round, outcome): (u32, u32, RepeatOutcome),
    step: &str,
    target: String,
    placed: Placed,
) -> Vec<Event> {
    let Placed { file, labels, report, .. } = placed;
    let mut events = vec![Event::RepeatStarted(RepeatStarted {
        repeat,
        at_ns: 0,
        round,
        step: step.to_owned(),
        target,
        engine: report.engine,
        direct: report.workload.direct,
        size_bytes: report.size_bytes,
        seed: 0,
        time_ns: None,
        passes: None,
        turns: 0,
    })];
    let interval = |start_ns, len_ns, operations| {
        Event::Interval(Interval {
            repeat,
            phase: Phase::Measure,
            start_ns,
            len_ns,
            operations,
            in_flight_ns: 0,
        })
    };
    // Complete histograms cover all of the time; counts by the interval would be counted twice.
    if !report.stats.is_empty() {
        events.push(interval(0, report.window_ns, report.stats));
    } else {
        events.extend(report.intervals.into_iter().map(|part| {
            let stats = |(count, bytes)| OperationStats { count, bytes, ..OperationStats::default() };
            let done = part.done.into_iter().map(|(operation, done)| (operation, stats(done)));
            interval(part.start_ns, part.len_ns, done.collect())
        }));
    }
    events.push(Event::Imported(Box::new(Imported {
        repeat,
        tool: report.tool.to_owned(),
        version: report.version,
        file,
        line: report.line,
        labels,
        facts: report.facts,
        unsaid: report.unsaid,
        figures: report.figures,
        remarks: report.remarks,
    })));
    events.push(Event::RepeatFinished(Box::new(RepeatFinished {
        window_ns: report.window_ns,
        counted_ns: report.window_ns,
        offset_log: report.offset_log,
        ..RepeatFinished::uncounted(repeat, 0, outcome)
    })));
    events
}

#[cfg(test)]
mod tests {
    use model::{Metric, Operation, Workload};

    use super::super::text::Num;
    use super::*;

    fn gathered(file: &str, labels: &[(&str, &str)], titles: &[&str]) -> Gathered {
        let report = |title: &&str| {
            let mut report = Report::new("dd", 1, *title, Workload::random_reads());
            report.headlines = vec![(Operation::Read, Metric::Bandwidth)];
            report.figure(report.headlines[0], Some((String::new(), Num::exact(1.0), 1)), None);
            report
        };
        Gathered {
            file: file.into(),
            labels: labels.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect(),
            reports: titles.iter().map(report).collect(),
        }
    }

    fn rounds(assembled: &Assembled) -> Vec<(String, String, u32)> {
        let started = |event: &Event| match event {
            Event::RepeatStarted(s) => Some((s.target.clone(), s.step.clone(), s.round)),
            _ => None,
        };
        assembled.events.iter().filter_map(started).collect()
    }

    #[test]
    fn equal_labels_are_repeats_and_labels_that_differ_are_targets() {
        let files = vec![
            gathered("a/1", &[("device", "a"), ("host", "pi"), (NAME_LABEL, "run")], &["x"]),
            gathered("a/2", &[("device", "a"), ("host", "pi"), (NAME_LABEL, "run")], &["x", "y"]),
            gathered("b/1", &[("device", "b"), ("host", "pi"), (NAME_LABEL, "run")], &["x"]),
        ];
        let assembled = assemble(files);
        let expected = [("a", "x", 0), ("a", "x", 1), ("a", "y", 0), ("b", "x", 0)];
        let expected: Vec<_> =
            expected.into_iter().map(|(t, s, r)| (t.to_owned(), s.to_owned(), r)).collect();
        assert_eq!(rounds(&assembled), expected);
        assert_eq!(assembled.rounds, 2);
    }

    #[test]
    fn file_names_distinguish_targets_only_where_nothing_else_does() {
        let named = |name| gathered(name, &[(NAME_LABEL, name)], &["x"]);
        assert_eq!(assemble(vec![named("hdd"), named("ssd")]).targets.len(), 2);
        let other_work = Gathered { reports: gathered("", &[], &["y"]).reports, ..named("writes") };
        assert_eq!(assemble(vec![named("reads"), other_work]).targets.len(), 1);
    }
}
