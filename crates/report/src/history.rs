//! What became of figures from run to run: sentences and a table.

use std::collections::BTreeMap;

use analyse::{ChangePoint, Difference, FigureKey, History, Moment, OddMachine, RUNS_OF_A_CHANGE};
use model::units::counted;
use model::{Better, Estimate, Metric, Operation, PortableMath};
use serde::Serialize;

use crate::document::circumstances::difference_words;
use crate::document::{Align, Cell, Column, Document, Section, Table, Tone};
use crate::figures::{display_metric, display_percent};
use crate::view::{RunView, when};
use crate::words::listed;

/// Runs after which a change is confirmed, and of which the answer says what would have been found.
const LASTING: usize = RUNS_OF_A_CHANGE;
/// Runs from which changes are sought: as many on both sides of one.
const FEWEST: usize = 2 * RUNS_OF_A_CHANGE;
/// Moments that the answer tells.
const TOLD: usize = 3;

/// A run of a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PastRun {
    /// Its id.
    pub id: String,
    /// When it began, in nanoseconds since 1970.
    pub started_unix_ns: i64,
}

/// Histories with what is told of them.
#[derive(Clone, Copy, Debug)]
pub struct Followed<'a> {
    /// The runs, oldest first.
    pub runs: &'a [PastRun],
    /// The figures.
    pub histories: &'a [History],
    /// What the figures are called within a sentence.
    pub titles: &'a BTreeMap<FigureKey, String>,
    /// When anything changed, the latest first, with the differences between the circumstances before and after; `None` where they cannot
    /// be read any more.
    pub moments: &'a [(Moment, Option<Vec<Difference>>)],
    /// The machines that do not fit to the others.
    pub odd: &'a [OddMachine],
    /// Runs since the first one that were due and not made.
    pub left_out: usize,
    /// The reader's choices.
    pub view: &'a RunView,
}

impl Followed<'_> {
    fn title<'a>(&'a self, key: &'a FigureKey) -> &'a str {
        self.titles.get(key).map_or(key.step.as_str(), String::as_str)
    }

    /// When a run began: of a history of more than three days without the time of the day.
    fn date(&self, run: usize) -> String {
        const DAYS_NS: i64 = 3 * 86_400_000_000_000;
        let whole = when(self.runs[run].started_unix_ns, &self.view.time_zone);
        let ends = self.runs.first().zip(self.runs.last());
        let is_long =
            ends.is_some_and(|(first, last)| last.started_unix_ns - first.started_unix_ns > DAYS_NS);
        match whole.split_once(' ') {
            Some((day, _)) if is_long => day.to_owned(),
            _ => whole,
        }
    }

    /// Where a figure is from, as far as that differs among all.
    fn place(&self, key: &FigureKey) -> Vec<String> {
        let differs = |of: fn(&FigureKey) -> &String| self.histories.iter().any(|h| of(&h.key) != of(key));
        let target = differs(|key| &key.target).then(|| key.target.clone());
        let host = differs(|key| &key.host).then(|| key.host.clone());
        target.into_iter().chain(host).collect()
    }

    fn named(&self, key: &FigureKey) -> String {
        let metric =
            if is_rate(key.metric) { String::new() } else { format!("the {} of ", metric_name(key.metric)) };
        let place = self.place(key);
        let place = if place.is_empty() { String::new() } else { format!(" on {}", place.join(" of ")) };
        format!("{metric}{}{place}", self.title(key))
    }

    fn moment_sentence(&self, moment: &Moment, differences: Option<&[Difference]>) -> String {
        let of = |(history, change): &(usize, usize)| {
            let history = &self.histories[*history];
            (history, &history.course.changes[*change])
        };
        let mut changes: Vec<(&History, &ChangePoint)> = moment.changes.iter().map(of).collect();
        let distance = |change: &ChangePoint| change.ratio.value.portable_ln().abs();
        changes.sort_by(|a, b| distance(b.1).total_cmp(&distance(a.1)));
        let (largest, change) = changes[0];
        let runs = &self.runs[moment.run].id;
        let what = format!("{} is {}", self.named(&largest.key), by(largest.key.metric, change.ratio));
        let others = match &changes[1..] {
            [] => String::new(),
            [(one, change)] => format!(", and {} {}", self.named(&one.key), by(one.key.metric, change.ratio)),
            several => {
                let worse = several.iter().filter(|(h, c)| is_worse(h.key.metric, c.ratio.value)).count();
                let ways = match (worse, several.len() - worse) {
                    (_, 0) => "worse".to_owned(),
                    (0, _) => "better".to_owned(),
                    (worse, better) => format!("worse ({worse}) or better ({better})"),
                };
                format!(", and {} more of {} figures are {ways}", several.len(), self.histories.len())
            }
        };
        let because = match differences {
            None => "the logs that would say what else changed can no longer be read".to_owned(),
            Some([]) => "nothing that is recorded of the machine changed then".to_owned(),
            Some(several) => {
                let words: Vec<String> =
                    several.iter().take(4).map(|d| difference_words(d, self.view.units)).collect();
                let more = several.len().saturating_sub(4);
                let more = if more > 0 { format!(" ({more} more differ)") } else { String::new() };
                format!("at the same time {}{more}", listed(&words))
            }
        };
        format!("Since {} (run {runs}) {what}{others}; {because}.", self.date(moment.run))
    }

    /// A sentence for each moment.
    pub fn moment_sentences(&self) -> Vec<String> {
        let of = |(moment, differences): &(Moment, Option<Vec<Difference>>)| {
            self.moment_sentence(moment, differences.as_deref())
        };
        self.moments.iter().map(of).collect()
    }

    /// What is suspected, the most recent first.
    fn suspicions(&self) -> Vec<String> {
        let of = |history: &History| {
            let change = history.course.changes.iter().rev().find(|change| !change.is_confirmed)?;
            let runs = history.figures.len() - change.at;
            Some((
                change.at,
                format!(
                    "Suspected: {} is {} in {}; more runs will tell.",
                    self.named(&history.key),
                    by(history.key.metric, change.ratio),
                    if runs < LASTING {
                        format!("the last {}", counted(runs, "run"))
                    } else {
                        counted(runs, "run")
                    },
                ),
            ))
        };
        let mut all: Vec<(usize, String)> = self.histories.iter().filter_map(of).collect();
        all.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        let more = all.len().saturating_sub(TOLD);
        let mut told: Vec<String> = all.into_iter().take(TOLD).map(|(_, sentence)| sentence).collect();
        told.extend((more > 0).then(|| format!("{} more figures are suspected.", more)));
        told
    }

    /// What stands still, and what would have been found.
    fn still(&self) -> String {
        let is_still = |h: &&History| h.course.changes.is_empty() && h.course.drift.is_none();
        let still: Vec<&History> = self.histories.iter().filter(is_still).collect();
        let most = self.histories.iter().map(|h| h.figures.len()).max().unwrap_or(0);
        if most < FEWEST {
            return format!(
                "There are at most {} of the same step on the same target; changes are sought from {FEWEST} on.",
                counted(most, "run")
            );
        }
        let mut smallest: Vec<f64> = still
            .iter()
            .filter(|h| h.figures.len() >= FEWEST)
            .map(|h| h.course.smallest_change(h.figures.len(), LASTING))
            .collect();
        smallest.sort_by(f64::total_cmp);
        // More than twice or half says nothing.
        let middle = smallest.get(smallest.len() / 2).filter(|share| **share < 1.0);
        let found = middle.map_or_else(String::new, |share| {
            let share = display_percent(*share);
            match smallest.len() {
                1 => format!("; a change of {share} would have been found within {LASTING} runs"),
                _ => format!(
                    "; in half of them a change of {share} would have been found within {LASTING} runs"
                ),
            }
        });
        let figures = match (still.len(), self.histories.len()) {
            (0, _) => return String::new(),
            (1, 1) => "The figure".to_owned(),
            (n, all) if n == all => format!("None of {} ", counted(all, "figure")),
            (1, _) => "The other figure".to_owned(),
            (n, _) => format!("The other {}", counted(n, "figure")),
        };
        match figures.strip_prefix("None") {
            Some(rest) => format!("None{}changed in {}{found}.", rest, counted(self.runs.len(), "run")),
            None => format!("{figures} did not change{found}."),
        }
    }

    /// A sentence for each of the oddest machines.
    fn odd_sentences(&self) -> Vec<String> {
        let mut machines: Vec<(&str, Vec<&OddMachine>)> = Vec::new();
        for one in self.odd {
            let host = self.histories[one.history].key.host.as_str();
            match machines.iter_mut().find(|(known, _)| *known == host) {
                Some((_, all)) => all.push(one),
                None => machines.push((host, vec![one])),
            }
        }
        let sentence = |(host, all): &(&str, Vec<&OddMachine>)| {
            let key = &self.histories[all[0].history].key;
            let of_metric = if is_rate(key.metric) {
                String::new()
            } else {
                format!("the {} of ", metric_name(key.metric))
            };
            let more = match all.len() - 1 {
                0 => String::new(),
                1 => ", and 1 more of its figures is odd".to_owned(),
                more => format!(", and {more} more of its figures are odd"),
            };
            format!(
                "{host} is odd among {} machines: {of_metric}{} on {} is {} than on the others{more}.",
                all[0].odd.among,
                self.title(key),
                key.target,
                by(key.metric, all[0].odd.ratio),
            )
        };
        let mut told: Vec<String> = machines.iter().take(TOLD).map(sentence).collect();
        let more = machines.len().saturating_sub(TOLD);
        told.extend((more > 0).then(|| format!("{} are odd, too.", counted(more, "more machine"))));
        told
    }

    fn drifts(&self) -> impl Iterator<Item = String> + '_ {
        self.histories.iter().filter_map(|history| {
            let over = history.course.drift?;
            let last = history.figures.last()?;
            Some(format!(
                "{} drifts: from {} to {} it became {}, little by little.",
                capital(&self.named(&history.key)),
                self.date(history.figures[0].run),
                self.date(last.run),
                by(history.key.metric, over),
            ))
        })
    }

    fn table(&self) -> Table {
        let place = |of: fn(&FigureKey) -> &String| {
            let mut all: Vec<&String> = self.histories.iter().map(|h| of(&h.key)).collect();
            all.sort();
            all.dedup();
            all.len() > 1
        };
        let (has_hosts, has_targets) = (place(|key| &key.host), place(|key| &key.target));
        let mut columns = vec![Column::new("figure", Align::Left)];
        columns.extend(has_targets.then(|| Column::new("target", Align::Left)));
        columns.extend(has_hosts.then(|| Column::new("machine", Align::Left)));
        let stub = columns.len();
        columns.extend([
            Column::new("runs", Align::Right),
            Column::new("now", Align::Right),
            Column::new("change (95 %)", Align::Left),
            Column::new("since", Align::Left),
        ]);
        let row = |history: &History| {
            let key = &history.key;
            let mut cells = vec![Cell::text(capital(&match is_rate(key.metric) {
                true => self.title(key).to_owned(),
                false => format!("{} of {}", metric_name(key.metric), self.title(key)),
            }))];
            cells.extend(has_targets.then(|| Cell::text(key.target.clone())));
            cells.extend(has_hosts.then(|| Cell::text(key.host.clone())));
            cells.push(Cell::text(history.figures.len().to_string()));
            let now = history.now();
            let shown = display_metric(key.metric, now, self.view.units);
            cells.push(Cell { value: Some(now), ..Cell::text(shown) });
            let (change, since) = self.change_cells(history);
            cells.extend([change, since]);
            cells
        };
        Table {
            title: "Figures from run to run".to_owned(),
            columns,
            stub,
            rows: self.histories.iter().map(row).collect(),
        }
    }

    fn change_cells(&self, history: &History) -> (Cell, Cell) {
        let metric = history.key.metric;
        let tone = |ratio: f64| if is_worse(metric, ratio) { Tone::Bad } else { Tone::Good };
        if history.figures.len() < FEWEST {
            return (Cell::text("too few runs").tone(Tone::Open), Cell::default());
        }
        if let Some(over) = history.course.drift {
            return (
                Cell::text(format!("drifts: {}", by(metric, over))).tone(tone(over.value)),
                Cell::default(),
            );
        }
        let Some(last) = history.course.changes.iter().max_by_key(|change| (change.is_confirmed, change.at))
        else {
            return (Cell::text("none").tone(Tone::Dim), Cell::default());
        };
        let more = history.course.changes.iter().filter(|c| c.is_confirmed).count().saturating_sub(1);
        let more = if more > 0 { format!(" ({more} earlier)") } else { String::new() };
        let words = by(metric, last.ratio);
        let date = Cell::text(self.date(history.figures[last.at].run));
        match last.is_confirmed {
            true => (Cell::text(format!("{words}{more}")).tone(tone(last.ratio.value)), date),
            false => (Cell::text(format!("{words}, suspected")).tone(Tone::Open), date),
        }
    }
}

fn is_rate(metric: Metric) -> bool {
    matches!(metric, Metric::Bandwidth | Metric::Iops)
}

fn metric_name(metric: Metric) -> &'static str {
    metric.name().trim_start_matches("lat_")
}

pub(crate) fn is_worse(metric: Metric, ratio: f64) -> bool {
    match metric.better() {
        Better::Higher => ratio < 1.0,
        Better::Lower => ratio > 1.0,
        Better::Neither => false,
    }
}

fn capital(text: &str) -> String {
    let mut text = text.to_owned();
    text.get_mut(..1).into_iter().for_each(str::make_ascii_uppercase);
    text
}

/// By how much a figure became another one, such as `8.0 % slower (6.1–10)`.
pub(crate) fn by(metric: Metric, ratio: Estimate) -> String {
    let word = match (is_rate(metric), ratio.value < 1.0) {
        (true, true) => "slower",
        (true, false) => "faster",
        (false, true) => "lower",
        (false, false) => "higher",
    };
    if ratio.value >= 2.0 {
        let word = if is_rate(metric) { "fast" } else { "high" };
        let interval = ratio.interval.map(|(low, high)| format!(" ({low:.1} – {high:.1})"));
        return format!("{:.1} times as {word}{}", ratio.value, interval.unwrap_or_default());
    }
    let share = |ratio: f64| (ratio - 1.0).abs();
    let interval = ratio.interval.map_or_else(String::new, |(low, high)| {
        // The end on the other side of no change at all is none.
        let (near, far) = if ratio.value < 1.0 { (high.min(1.0), low) } else { (low.max(1.0), high) };
        let near = display_percent(share(near));
        format!(" ({} – {})", near.trim_end_matches(" %"), display_percent(share(far)))
    });
    format!("{} {word}{interval}", display_percent(share(ratio.value)))
}

/// The histories of figures: what changed and when, then the table.
pub fn history_document(followed: &Followed<'_>) -> Document {
    let mut answer = followed.moment_sentences();
    answer.truncate(TOLD);
    let more = followed.moments.len().saturating_sub(TOLD);
    answer.extend((more > 0).then(|| format!("Before that there were {}.", counted(more, "more moment"))));
    answer.extend(followed.odd_sentences());
    answer.extend(followed.drifts());
    answer.extend(followed.suspicions());
    answer.extend(Some(followed.still()).filter(|sentence| !sentence.is_empty()));
    answer.extend((followed.left_out > 0).then(|| {
        let (runs, were) =
            (counted(followed.left_out, "run"), if followed.left_out == 1 { "was" } else { "were" });
        format!("{runs} that {were} due {were} left out (the file left-out in the store says when and why).")
    }));
    let runs = followed.runs;
    let title = match runs {
        [] => "No runs".to_owned(),
        [only] => format!("1 run, {}", when(only.started_unix_ns, &followed.view.time_zone)),
        [.., _] => format!("{} runs, {} to {}", runs.len(), followed.date(0), followed.date(runs.len() - 1)),
    };
    Document { title, answer, sections: vec![Section::Table(followed.table())] }
}

/// Version of the format of [`HistoryExport`].
pub const HISTORY_SCHEMA: &str = "lodestone.history.v1";

/// Histories of figures.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryExport {
    /// Name and version of this format: `lodestone.history.v1`.
    pub schema: &'static str,
    /// The sentences of the answer.
    pub answer: Vec<String>,
    /// The runs, oldest first.
    pub runs: Vec<PastRun>,
    /// When something changed, the latest first.
    pub moments: Vec<MomentFacts>,
    /// Each figure.
    pub histories: Vec<HistoryFacts>,
    /// The machines that do not fit to the others, the most extreme first.
    pub odd: Vec<OddFacts>,
}

/// A figure in which a machine does not fit to the others that have it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OddFacts {
    /// Name of the machine.
    pub host: String,
    /// The target.
    pub target: String,
    /// Id of the step.
    pub step: String,
    /// Operation.
    pub operation: Operation,
    /// Metric.
    pub metric: Metric,
    /// Its figure ÷ the geometric mean of the machines that are not odd.
    pub ratio: f64,
    /// Lower end of the 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// How many machines were compared.
    pub machines: usize,
}

/// A moment at which figures changed.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MomentFacts {
    /// Name of the machine.
    pub host: String,
    /// Id of the first run after it.
    pub run: String,
    /// Id of the last run before it.
    pub before: String,
    /// What else was different; `null` where a log cannot be read any more.
    pub changed: Option<Vec<ChangedFacts>>,
}

/// Something of the machine or the storage that changed.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangedFacts {
    /// The target; `null` if it is about the machine.
    pub target: Option<String>,
    /// The layer of its stack, or the sensor.
    pub layer: Option<String>,
    /// The name of the fact.
    pub what: String,
    /// Its value before, in the fact's own unit.
    pub before: String,
    /// Its value after.
    pub after: String,
}

/// A figure from run to run.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryFacts {
    /// Name of the machine.
    pub host: String,
    /// The target.
    pub target: String,
    /// Id of the step.
    pub step: String,
    /// What the figure is called.
    pub title: String,
    /// Operation.
    pub operation: Operation,
    /// Metric.
    pub metric: Metric,
    /// Unit of the values.
    pub unit: &'static str,
    /// The value in each run that has it.
    pub points: Vec<PointFacts>,
    /// The figure as it is now: the mean, as a logarithm, of the runs since the last confirmed change, or of the last four where it drifts.
    pub now: f64,
    /// The changes, in order.
    pub changes: Vec<ChangeFacts>,
    /// Last ÷ first, where a line describes the figure better than changes do, with its 95 % interval.
    pub drift: Option<[f64; 3]>,
    /// How much each run resembles the one before it, 0 to 0.9.
    pub resemblance: f64,
    /// Relative standard deviation between changes.
    pub scatter: f64,
}

/// The figure of a run.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PointFacts {
    /// Id of the run.
    pub run: String,
    /// When it began, in nanoseconds since 1970.
    pub started_unix_ns: i64,
    /// The figure.
    pub value: f64,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// A change of a figure.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeFacts {
    /// Id of the first run after it.
    pub run: String,
    /// Ids of the first and the last run that may be the first one after it.
    pub range: [String; 2],
    /// `confirmed` or `suspected`.
    pub state: &'static str,
    /// Figure after ÷ figure before.
    pub ratio: f64,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// The histories for programs.
pub fn history_export(followed: &Followed<'_>) -> HistoryExport {
    let Followed { runs, histories, titles, moments, odd, .. } = followed;
    let id = |run: usize| runs[run].id.clone();
    let moment = |(moment, changed): &(Moment, Option<Vec<Difference>>)| MomentFacts {
        host: moment.host.clone(),
        run: id(moment.run),
        before: id(moment.before),
        changed: changed.as_ref().map(|all| all.iter().cloned().map(changed_facts).collect()),
    };
    let history = |history: &History| {
        let FigureKey { host, target, step, operation, metric, .. } = &history.key;
        let point = |f: &analyse::PastFigure| PointFacts {
            run: id(f.run),
            started_unix_ns: runs[f.run].started_unix_ns,
            value: f.figure.value,
            low: f.figure.interval.map(|i| i.0),
            high: f.figure.interval.map(|i| i.1),
        };
        let run = |at: usize| id(history.figures[at].run);
        let change = |c: &ChangePoint| ChangeFacts {
            run: run(c.at),
            range: [run(c.range.0), run(c.range.1)],
            state: if c.is_confirmed { "confirmed" } else { "suspected" },
            ratio: c.ratio.value,
            low: c.ratio.interval.map(|i| i.0),
            high: c.ratio.interval.map(|i| i.1),
        };
        let over =
            |e: Estimate| [e.value, e.interval.map_or(e.value, |i| i.0), e.interval.map_or(e.value, |i| i.1)];
        HistoryFacts {
            host: host.clone(),
            target: target.clone(),
            step: step.clone(),
            title: titles.get(&history.key).cloned().unwrap_or_default(),
            operation: *operation,
            metric: *metric,
            unit: metric.unit(),
            points: history.figures.iter().map(point).collect(),
            now: history.now(),
            changes: history.course.changes.iter().map(change).collect(),
            drift: history.course.drift.map(over),
            resemblance: history.course.resemblance,
            scatter: history.course.scatter,
        }
    };
    let odd_facts = |one: &OddMachine| {
        let FigureKey { host, target, step, operation, metric, .. } = &histories[one.history].key;
        OddFacts {
            host: host.clone(),
            target: target.clone(),
            step: step.clone(),
            operation: *operation,
            metric: *metric,
            ratio: one.odd.ratio.value,
            low: one.odd.ratio.interval.map(|i| i.0),
            high: one.odd.ratio.interval.map(|i| i.1),
            machines: one.odd.among,
        }
    };
    HistoryExport {
        schema: HISTORY_SCHEMA,
        answer: history_document(followed).answer,
        runs: runs.to_vec(),
        moments: moments.iter().map(moment).collect(),
        histories: histories.iter().map(history).collect(),
        odd: odd.iter().map(odd_facts).collect(),
    }
}

fn changed_facts(difference: Difference) -> ChangedFacts {
    let Difference { target, layer, what, before, after } = difference;
    ChangedFacts { target, layer, what, before, after }
}
