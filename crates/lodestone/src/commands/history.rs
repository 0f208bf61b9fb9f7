//! `history`: what became of the same figures from run to run.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use analyse::{
    Difference, Estimator, FigureKey, History, Moment, OddMachine, PastFigure, differences, headline,
    histories, histories_by_hour, measurements, moments, odd_machines,
};
use model::units::counted;
use model::{Estimate, Metric, Operation, Run, Step};
use record::{LeftOut, Listing, Log, RunState, RunSummary, Store};
use report::{Cycle, Followed, PastRun, RunView, json};
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use super::results::since_unix_ns;
use super::{store, view};
use crate::cli::{Cli, HistoryArgs, HistoryForm};
use crate::failure::Failure;
use crate::output;

/// Version of [`Kept`], and of how its figures are made.
const VERSION: u32 = 4;
/// The metrics that can be followed beside the headline.
pub(super) const METRICS: [Metric; 5] =
    [Metric::Bandwidth, Metric::Iops, Metric::LatMean, Metric::LatP50, Metric::LatP99];

/// What the store keeps of a run for its history.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The labels of its targets.
    labels: BTreeMap<String, BTreeMap<String, String>>,
    /// The targets by host and name, with the bytes that were written to each.
    written: Vec<(String, String, u64)>,
    figures: Vec<KeptFigures>,
    /// True if the figures are those of another program.
    #[serde(default)]
    pub is_imported: bool,
}

impl Kept {
    /// The targets, each with its machine and its labels as `key=value`.
    pub fn places(&self) -> Vec<(String, String, Vec<String>)> {
        let place = |(host, target, _): &(String, String, u64)| {
            let labels = self.labels.get(target).into_iter().flatten();
            let labels = labels.map(|(key, value)| format!("{key}={value}"));
            (host.clone(), target.clone(), labels.collect())
        };
        self.written.iter().map(place).collect()
    }
}

/// The figures of an operation of a step on a target.
#[derive(Debug, Serialize, Deserialize)]
struct KeptFigures {
    host: String,
    target: String,
    step: String,
    title: String,
    workload: u64,
    operation: Operation,
    headline: Option<Metric>,
    values: Vec<KeptValue>,
}

/// A figure with its interval.
type KeptValue = (Metric, f64, Option<(f64, f64)>);

/// A stored run with what is kept of it.
pub(super) type PastFigures = (RunSummary, Kept);

/// A digest of what a step does, however long and under whatever title.
fn workload_digest(step: &Step) -> u64 {
    fn of(step: &Step) -> serde_json::Value {
        let Step { prepare, workload, engine, concurrent, foreign, .. } = step;
        let beside: Vec<serde_json::Value> = concurrent.iter().map(of).collect();
        serde_json::json!([prepare, workload, engine, beside, foreign])
    }
    XxHash3_64::oneshot(of(step).to_string().as_bytes())
}

pub(super) fn kept(log: Log) -> Kept {
    let run = &log.run;
    let labels = run.started.targets.iter().map(|target| (target.name.clone(), target.labels.clone()));
    let mut figures: Vec<KeptFigures> = Vec::new();
    for m in measurements(run, Estimator::Mean) {
        let Some(step) = run.started.plan.step(&m.step) else { continue };
        let headline = headline(step, m.operation);
        if headline.is_none() || headline != Some(m.metric) && !METRICS.contains(&m.metric) {
            continue;
        }
        let value = (m.metric, m.estimate.value, m.estimate.interval);
        let is_it = |known: &&mut KeptFigures| {
            (known.operation, &known.step, &known.target) == (m.operation, &m.step, &m.target)
        };
        match figures.iter_mut().rev().find(is_it) {
            Some(known) => known.values.push(value),
            None => figures.push(KeptFigures {
                host: run.started.machine_of(&m.target).to_owned(),
                title: report::figure_title(step, m.operation),
                workload: workload_digest(step),
                operation: m.operation,
                headline,
                target: m.target,
                step: m.step,
                values: vec![value],
            }),
        }
    }
    Kept { labels: labels.collect(), written: written(run), figures, is_imported: run.is_imported() }
}

/// What a run wrote to each of its targets, test data included.
fn written(run: &Run) -> Vec<(String, String, u64)> {
    let of = |target: &model::Target| {
        let name = &target.name;
        let laid_out =
            run.layouts.iter().filter(|laid_out| laid_out.target == *name).map(|laid_out| laid_out.bytes);
        let repeats = run.repeats.iter().filter(|repeat| repeat.started.target == *name);
        let moved =
            repeats.map(|repeat| repeat.whole().get(&Operation::Write).map_or(0, |stats| stats.bytes));
        let bytes = laid_out.chain(moved).fold(0, u64::saturating_add);
        (run.started.machine_of(name).to_owned(), name.clone(), bytes)
    };
    run.started.targets.iter().map(of).collect()
}

/// What of the figures is followed.
pub(super) struct Wanted<'a> {
    pub args: &'a HistoryArgs,
    pub metric: Option<Metric>,
    pub labels: Vec<(&'a str, &'a str)>,
}

impl<'a> Wanted<'a> {
    pub fn of(args: &'a HistoryArgs) -> Result<Self, Failure> {
        let metric = args.metric.as_deref().map(|name| {
            let found = METRICS.into_iter().find(|metric| metric.name() == name);
            let known: Vec<&str> = METRICS.iter().map(|metric| metric.name()).collect();
            found.ok_or_else(|| {
                Failure::usage(format!("--metric {name}: what can be followed is {}", known.join(", ")))
            })
        });
        let label = |text: &'a String| {
            let wrong = || Failure::usage(format!("--label {text}: write KEY=VALUE, such as disk=WD"));
            text.split_once('=').ok_or_else(wrong)
        };
        Ok(Self {
            args,
            metric: metric.transpose()?,
            labels: args.label.iter().map(label).collect::<Result<_, _>>()?,
        })
    }

    /// Those of a run's figures that are wanted.
    fn of_run<'k>(&self, run: &'k Kept) -> impl Iterator<Item = (&'k KeptFigures, &'k KeptValue)> {
        let figures = run.figures.iter().filter(|figures| self.has(run, figures));
        figures.flat_map(|figures| {
            let metric = self.metric.or(figures.headline);
            figures
                .values
                .iter()
                .filter(move |value| Some(value.0) == metric)
                .map(move |value| (figures, value))
        })
    }

    fn has(&self, run: &Kept, figures: &KeptFigures) -> bool {
        let is_step = |step: &String| {
            figures.step == *step || figures.step.strip_prefix(step).is_some_and(|rest| rest.starts_with('-'))
        };
        let has_label = |(key, value): &(&str, &str)| {
            run.labels
                .get(&figures.target)
                .and_then(|labels| labels.get(*key))
                .is_some_and(|own| own == value)
        };
        let HistoryArgs { host, target, step, .. } = self.args;
        host.as_ref().is_none_or(|host| figures.host == *host)
            && (target.is_empty() || target.contains(&figures.target))
            && (step.is_empty() || step.iter().any(is_step))
            && self.labels.iter().all(has_label)
    }
}

/// What is followed through a store, and what was found.
pub(super) struct Found {
    /// The runs, oldest first.
    pub runs: Vec<PastRun>,
    histories: Vec<History>,
    titles: Titles,
    /// When anything changed, the latest first.
    pub moments: Vec<(Moment, Option<Vec<Difference>>)>,
    odd: Vec<OddMachine>,
    left_out: usize,
}

impl Found {
    pub(super) fn told<'a>(&'a self, view: &'a RunView) -> Followed<'a> {
        let Self { runs, histories, titles, moments, odd, left_out } = self;
        Followed { runs, histories, titles, moments, odd, left_out: *left_out, view }
    }
}

/// The stored runs with what is kept of each, oldest first, but those in progress; also problems of the store, as sentences.
pub(super) fn past_runs(store: &Store) -> Result<(Vec<PastFigures>, Vec<String>), Failure> {
    let Listing { runs, mut warnings } = store.list().map_err(Failure::failed)?;
    let mut past = Vec::new();
    for (run, kept) in runs.iter().zip(store.figures(VERSION, &runs, kept)) {
        match kept {
            Ok(kept) if run.state != RunState::Running => past.push((run.clone(), kept)),
            Ok(_) => {}
            Err(error) => warnings.push(format!("a run is left out: {error}")),
        }
    }
    Ok((past, warnings))
}

/// Bytes that the stored runs since then wrote, and the latest of them, to the target of theirs that had most.
pub(super) fn written_since(
    store: &Store,
    since_unix_ns: i64,
    targets: &[String],
) -> Result<(u64, u64), Failure> {
    let (past, _) = past_runs(store)?;
    let mut all: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    for (run, kept) in &past {
        for (host, target, bytes) in kept.written.iter().filter(|(_, target, _)| targets.contains(target)) {
            let (sum, last) = all.entry((host, target)).or_default();
            *last = *bytes;
            if run.started_unix_ns >= since_unix_ns {
                *sum = sum.saturating_add(*bytes);
            }
        }
    }
    Ok(all.into_values().max().unwrap_or_default())
}

/// Follows the figures of a store that these arguments name.
///
/// # Errors
/// The store cannot be read, or nothing in it matches.
pub(super) fn follow(store: &Store, args: &HistoryArgs) -> Result<Found, Failure> {
    let wanted = Wanted::of(args)?;
    let since = args.since.as_deref().map(since_unix_ns).transpose()?;
    let (mut past, warnings) = past_runs(store)?;
    for warning in &warnings {
        output::say(&format!("lodestone: {warning}"));
    }
    let stored = past.len();
    past.retain(|(run, kept)| {
        args.suite.as_ref().is_none_or(|suite| run.suite == *suite)
            && since.is_none_or(|since| run.started_unix_ns >= since)
            && wanted.of_run(kept).next().is_some()
    });
    let (titles, figures) = followed(&past, &wanted);
    let histories = histories(figures);
    if histories.is_empty() {
        let few = match (stored, past.len()) {
            (0, _) => "no run is stored".to_owned(),
            (1, 1) => "only one run is stored".to_owned(),
            (stored, 0) => format!("none of the {} matches", counted(stored, "stored run")),
            (stored, 1) => format!("only one of the {stored} stored runs matches"),
            (_, runs) => {
                format!("{runs} runs match, and no two of them measured the same step on the same target")
            }
        };
        return Err(Failure::usage(format!(
            "there is no history: {few}; repeat a run with the same steps, target names and --size"
        )));
    }
    let told = |moment: Moment| {
        let changed = changed_then(store, &past[moment.before].0, &past[moment.run].0);
        (moment, changed)
    };
    let moments = moments(&histories).into_iter().map(told).collect();
    let run = |(run, _): &PastFigures| PastRun { id: run.id.clone(), started_unix_ns: run.started_unix_ns };
    let first = past.first().map_or(i64::MAX, |(run, _)| run.started_unix_ns);
    let is_within = |one: &LeftOut| {
        one.at_unix_ns >= first
            && (args.target.is_empty() || one.targets.iter().any(|t| args.target.contains(t)))
    };
    let left_out = store.left_out().iter().filter(|one| is_within(one)).count();
    let odd = odd_machines(&histories);
    Ok(Found { runs: past.iter().map(run).collect(), histories, titles, moments, odd, left_out })
}

/// Tells what changed in the figures of the stored runs, when, and what changed of the machine at the same time.
///
/// # Errors
/// As [`follow`], or the output cannot be written.
pub fn history(cli: &Cli, args: &HistoryArgs) -> Result<ExitCode, Failure> {
    let found = follow(&store(cli)?, args)?;
    let view = view(cli, None, "");
    let cycle = args.by_hour.then_some(Cycle::Day).or(args.by_weekday.then_some(Cycle::Week));
    if let Some(cycle) = cycle {
        let at = |run: usize| cycle.place(found.runs[run].started_unix_ns, &view.time_zone);
        let hours = histories_by_hour(&found.histories, at);
        let document = report::cycle_document(cycle, found.runs.len(), &hours);
        output::print(report::text(&document, output::style(cli.color)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let followed = found.told(&view);
    match args.form() {
        HistoryForm::Text => {
            output::print(report::text(&report::history_document(&followed), output::style(cli.color)))?;
        }
        HistoryForm::Json => output::print(json::pretty(&report::history_export(&followed)))?,
        HistoryForm::Influx => output::print(report::history_influx(&followed))?,
        HistoryForm::Prometheus => output::print(report::history_prometheus(&followed))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What figures are called within a sentence.
pub(super) type Titles = BTreeMap<FigureKey, String>;

/// The figures of the runs, in the order in which the latest run with them has them, target by target.
pub(super) fn followed(
    past: &[PastFigures],
    wanted: &Wanted<'_>,
) -> (Titles, Vec<(FigureKey, Vec<PastFigure>)>) {
    let mut titles = BTreeMap::new();
    let mut figures: Vec<(FigureKey, Vec<PastFigure>)> = Vec::new();
    let mut places: BTreeMap<FigureKey, usize> = BTreeMap::new();
    for (number, (_, kept)) in past.iter().enumerate().rev() {
        for (of, (metric, value, interval)) in wanted.of_run(kept) {
            let key = FigureKey {
                host: of.host.clone(),
                target: of.target.clone(),
                step: of.step.clone(),
                workload: of.workload,
                operation: of.operation,
                metric: *metric,
            };
            let place = *places.entry(key.clone()).or_insert(figures.len());
            if place == figures.len() {
                titles.insert(key.clone(), of.title.clone());
                figures.push((key, Vec::new()));
            }
            let figure = Estimate { value: *value, interval: *interval };
            figures[place].1.push(PastFigure { run: number, figure });
        }
    }
    figures.sort_by(|(a, _), (b, _)| (&a.host, &a.target).cmp(&(&b.host, &b.target)));
    (titles, figures)
}

/// What of the machine and the storage differs between two runs; `None` if a log cannot be read.
fn changed_then(store: &Store, before: &RunSummary, after: &RunSummary) -> Option<Vec<Difference>> {
    let read = |run: &RunSummary| -> Option<Run> { Some(store.read(run).ok()?.run) };
    Some(changed_between(&read(before)?, &read(after)?))
}

/// What of the machine and the storage differs between two runs.
pub(super) fn changed_between(before: &Run, after: &Run) -> Vec<Difference> {
    let mut found = differences(before, after);
    let mut seen = BTreeSet::new();
    found.retain(|d| seen.insert((d.what.clone(), d.before.clone(), d.after.clone())));
    found
}
