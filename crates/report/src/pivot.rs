//! Figures by label: which of one label's values, such as filesystems, is fastest at each combination of the
//! others, such as device and block size.

use std::collections::BTreeMap;

use analyse::{ARRAY, Analysis, headline, headline_operations, labels_of};
use model::{Better, Measurement, MeasurementKey, Metric, Mix, Operation, Pattern, Run, Step, Target};

use crate::figures::{display_block, display_margin};
use crate::words::figure_name;

/// Labels preferred for the columns; of others, the first in alphabetical order.
const ACROSS: [&str; 2] = ["filesystem", "device"];

/// Figures by label: the competing values in columns, all other labels in rows.
#[derive(Clone, Debug)]
pub(crate) struct Pivot<'a> {
    /// The label of the columns, such as `filesystem`; `target` if no label suffices.
    pub across: String,
    /// Its values.
    pub columns: Vec<String>,
    /// The names of the row labels: labels, then block size and operation, or the step's title.
    pub down: Vec<String>,
    /// The rows, sorted by their names.
    pub rows: Vec<Row<'a>>,
    /// Figures that differ by less than this share are equal.
    pub margin: f64,
}

/// One row.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    /// Its names, in the order of [`Pivot::down`].
    pub names: Vec<String>,
    pub step: &'a Step,
    pub operation: Operation,
    pub metric: Metric,
    /// For each column its target with the measurement, if there is one.
    pub cells: Vec<Option<(&'a Target, &'a Measurement)>>,
}

/// The figures of a run by the labels of its targets, or by target where labels do not tell all of them apart. `None` for
/// single targets.
pub(crate) fn pivot<'a>(run: &'a Run, analysis: &'a Analysis) -> Option<Pivot<'a>> {
    let measurements = &analysis.measurements;
    let targets: Vec<&Target> =
        run.started.targets.iter().filter(|t| measurements.iter().any(|m| m.target == t.name)).collect();
    if targets.len() < 2 {
        return None;
    }
    let mut labels: Vec<BTreeMap<String, String>> = targets.iter().map(|t| labels_of(run, t)).collect();
    if labels.iter().any(|labels| labels.contains_key(ARRAY)) {
        labels.iter_mut().for_each(|labels| _ = labels.entry(ARRAY.to_owned()).or_insert("none".to_owned()));
    }
    let keys = independent(&labels);
    let place = |i: usize| -> Vec<String> { keys.iter().map(|key| labels[i][key].clone()).collect() };
    let mut places: Vec<Vec<String>> = (0..targets.len()).map(place).collect();
    let is_told_apart = distinct(&places).len() == targets.len();
    let (mut across, mut down) = ("target".to_owned(), Vec::new());
    // What competes with nothing is no comparison.
    let compete = |place: &Vec<String>| places.iter().filter(|other| other[1..] == place[1..]).count() > 1;
    let all_compete = run.is_imported() || keys.len() < 2 || places.iter().all(compete);
    if keys.len() > 1 && is_told_apart && all_compete {
        across.clone_from(&keys[0]);
        down = keys[1..].to_vec();
    } else {
        places = targets.iter().map(|t| vec![t.name.clone()]).collect();
    }
    let columns = distinct(&places.iter().map(|p| p[0].clone()).collect::<Vec<_>>());
    let mut others = distinct(&places.iter().map(|p| p[1..].to_vec()).collect::<Vec<_>>());
    others.sort();
    let steps = judged(run);
    let is_plain = plainly_named(&steps);
    down.extend(
        if is_plain { vec!["block size", "operation"] } else { vec!["step"] }.into_iter().map(str::to_owned),
    );
    let cell = |column: &String, other: &[String], (step, operation, metric): Judged<'_>| {
        let at = places.iter().position(|p| p[0] == *column && p[1..] == *other)?;
        let key = MeasurementKey { target: &targets[at].name, step: &step.id, operation, metric };
        let found = analysis.measurement(key).filter(|m| m.estimate.value.is_finite())?;
        Some((targets[at], found))
    };
    let mut rows = Vec::new();
    for other in &others {
        for judged in in_order(&steps, is_plain) {
            let (step, operation, metric) = judged;
            let cells: Vec<_> = columns.iter().map(|column| cell(column, other, judged)).collect();
            if cells.iter().any(Option::is_some) {
                let names = other.iter().cloned().chain(names_of(step, operation, is_plain)).collect();
                rows.push(Row { names, step, operation, metric, cells });
            }
        }
    }
    Some(Pivot { across, columns, down, rows, margin: run.started.plan.margin() })
}

/// A step's operation with its headline metric.
type Judged<'a> = (&'a Step, Operation, Metric);

fn judged(run: &Run) -> Vec<Judged<'_>> {
    let of_step = |step| {
        let judged = move |operation| Some((step, operation, headline(step, operation)?));
        headline_operations(step).into_iter().filter_map(judged)
    };
    run.started.plan.steps.iter().flat_map(of_step).collect()
}

/// Values in the order of their first appearance.
fn distinct<T: Clone + PartialEq>(values: &[T]) -> Vec<T> {
    let mut found: Vec<T> = Vec::new();
    for value in values {
        if !found.contains(value) {
            found.push(value.clone());
        }
    }
    found
}

/// The labels that all targets have, that differ, and that no other label determines: if each machine has one device,
/// the machine adds nothing.
pub(crate) fn independent(labels: &[BTreeMap<String, String>]) -> Vec<String> {
    let Some(first) = labels.first() else { return Vec::new() };
    let mut keys: Vec<&String> =
        first.keys().filter(|key| labels.iter().all(|l| l.contains_key(*key))).collect();
    keys.retain(|key| labels.iter().any(|l| l[*key] != first[*key]));
    keys.sort_by_key(|key| ACROSS.iter().position(|first| first == key).unwrap_or(ACROSS.len()));
    let gives_away = |known: &String, other: &String| {
        labels.iter().all(|a| labels.iter().all(|b| a[known] != b[known] || a[other] == b[other]))
    };
    let mut kept: Vec<String> = Vec::new();
    for key in keys {
        if !kept.iter().any(|known| gives_away(known, key)) {
            kept.push(key.clone());
        }
    }
    kept
}

/// Labels that always vary together, such as device and machine: their effects cannot be separated. Each group
/// is of labels that every target has.
pub(crate) fn confounded(labels: &[BTreeMap<String, String>]) -> Vec<Vec<String>> {
    let Some(first) = labels.first() else { return Vec::new() };
    let all_have = |key: &&String| labels.iter().all(|l| l.contains_key(*key));
    let differs = |key: &&String| labels.iter().any(|l| l[*key] != first[*key]);
    let is_name = |key: &&String| ["name", "repeat"].contains(&key.as_str());
    let together = |a: &String, b: &String| {
        labels.iter().all(|one| labels.iter().all(|other| (one[a] == other[a]) == (one[b] == other[b])))
    };
    let mut groups: Vec<Vec<String>> = Vec::new();
    for key in first.keys().filter(|key| !is_name(key)).filter(all_have).filter(differs) {
        match groups.iter_mut().find(|group| together(&group[0], key)) {
            Some(group) => group.push(key.clone()),
            None => groups.push(vec![key.clone()]),
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

/// True if block size and direction suffice to name every figure.
fn plainly_named(steps: &[Judged<'_>]) -> bool {
    let names: Vec<_> = steps.iter().map(|(step, operation, _)| names_of(step, *operation, true)).collect();
    let is_plain = |(step, _, metric): &Judged<'_>| {
        *metric == Metric::Bandwidth && matches!(step.workload.mix, Mix::Transfer { read_percent: 0 | 100 })
    };
    steps.iter().all(is_plain) && distinct(&names).len() == names.len()
}

fn names_of(step: &Step, operation: Operation, is_plain: bool) -> Vec<String> {
    if !is_plain {
        return vec![figure_name(step, operation)];
    }
    let random = if step.workload.pattern == Pattern::Sequential { "" } else { "random " };
    vec![
        display_block(step.workload.largest_block()),
        format!("{random}{}", operation.name().replace('_', " ")),
    ]
}

/// The name of a figure as in the table of a run's labels: by block size and direction where these suffice.
pub(crate) fn plain_name(run: &Run, step: &Step, operation: Operation) -> String {
    names_of(step, operation, plainly_named(&judged(run))).join(" ")
}

/// If named by block size and direction, the small blocks first; else in the order of the plan.
fn in_order<'a>(steps: &[Judged<'a>], is_plain: bool) -> Vec<Judged<'a>> {
    let mut steps = steps.to_vec();
    if is_plain {
        steps.sort_by_key(|(step, operation, _)| {
            (step.workload.largest_block(), std::cmp::Reverse(*operation))
        });
    }
    steps
}

impl Row<'_> {
    /// Each column's share of the row's best, 0 to 1; the best latency is the smallest.
    pub fn shares(&self) -> Vec<Option<f64>> {
        let lower = self.metric.better() == Better::Lower;
        let values = || self.cells.iter().flatten().map(|(_, m)| m.estimate.value).filter(|v| *v > 0.0);
        let best = if lower { values().fold(f64::INFINITY, f64::min) } else { values().fold(0.0, f64::max) };
        let share = |value: f64| if lower { best / value } else { value / best };
        let cell = |cell: &Option<(&Target, &Measurement)>| {
            cell.map(|(_, m)| share(m.estimate.value))
                .map(|s| if s.is_finite() { s.clamp(0.0, 1.0) } else { 0.0 })
        };
        self.cells.iter().map(cell).collect()
    }

    /// The columns that are the row's best or equal to it; none if fewer than two have figures.
    pub fn leaders(&self, margin: f64) -> Vec<usize> {
        let shares = self.shares();
        if shares.iter().flatten().count() < 2 {
            return Vec::new();
        }
        let is_level = |share: &Option<f64>| share.is_some_and(|s| s * (1.0 + margin) >= 1.0);
        (0..shares.len()).filter(|i| is_level(&shares[*i])).collect()
    }
}

impl Pivot<'_> {
    /// Labels of more than one kind compete.
    pub fn has_labels(&self) -> bool {
        self.across != "target"
    }

    /// The title of the table.
    pub fn title(&self) -> String {
        let mut across = self.across.clone();
        across.get_mut(..1).into_iter().for_each(str::make_ascii_uppercase);
        format!("{across}s compared")
    }

    /// The margin, such as `3 %`.
    pub fn margin_words(&self) -> String {
        display_margin(self.margin)
    }

    /// The meaning of the table's marks.
    pub fn words(&self) -> String {
        format!("The best of each row, and every figure within {} of it, is marked.", self.margin_words())
    }
}
