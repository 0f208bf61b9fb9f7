//! Measurements of one run or several as a matrix: labels of runs, targets and steps name rows and columns, figures are in
//! the cells.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use analyse::{Analysis, headline, labels_of};
use model::units::RateUnit;
use model::{Imported, Measurement, Metric, Mix, Operation, Pattern, Run, Step};

use crate::document::{Align, Cell, Column, Provenance, Table};
use crate::export::csv::row;
use crate::figures::{Units, digits, display_block, display_metric, display_score};
use crate::frame::is_counted;

/// The layout of the matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Labels that make the rows.
    pub rows: Vec<String>,
    /// Labels that make the columns.
    pub columns: Vec<String>,
    /// The content of a cell: `headline`, or operations separated by slashes, each followed by a colon and a metric
    /// unless that is bandwidth, such as `write/read`, `read:lat_p99` or `mixed:score`.
    pub cell: String,
}

/// Why there is no such matrix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatrixError {
    /// A part of the cell is not an operation with a metric.
    #[error(
        "`{what}` is not a valid cell; write headline, or operations separated by slashes, such as write/read or \
    read:lat_p99. Operations are {}; metrics are {}", Operation::ALL.map(Operation::name).join(", "), Metric::ALL.map(Metric::name).join(", ")
    )]
    Cell {
        /// The part.
        what: String,
    },
    /// An unknown label.
    #[error("no figure has the label `{label}`; the labels are {}", .known.join(", "))]
    Label {
        /// The label.
        label: String,
        /// The known labels.
        known: Vec<String>,
    },
    /// Several figures for one cell.
    #[error("several figures fall into one cell, such as {first} and {second}; add a label in which they differ (such as \
    {}) to the rows or columns", .labels.join(", "))]
    Ambiguous {
        /// One of them.
        first: String,
        /// Another.
        second: String,
        /// Labels in which they differ.
        labels: Vec<String>,
    },
    /// Nothing to show.
    #[error("no figure matches the cell `{0}`")]
    Empty(String),
    /// Nothing was measured.
    #[error("there are no figures: no repeat was completed")]
    NoFigures,
}

/// One part of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    /// Every operation's own headline.
    Headline,
    Of(Operation, Metric),
}

/// A value of a label, with its sort key.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
struct Value {
    order: f64,
    text: String,
}

type Labels = BTreeMap<String, Value>;

/// A run with its analysis.
pub type RunWithAnalysis<'a> = (&'a Run, &'a Analysis);

/// A figure with the run that it is from.
pub(crate) type FigureOfRun<'a> = (&'a Run, &'a Measurement);

/// Figures by row and column.
pub(crate) struct Matrix<'a> {
    rows: Vec<Vec<Value>>,
    columns: Vec<Vec<Value>>,
    pub cells: BTreeMap<(usize, usize), Vec<FigureOfRun<'a>>>,
    parts: Vec<Part>,
}

/// The matrix as a table. If all figures are bandwidths, they are plain numbers in the title's unit, MB/s or MiB/s.
///
/// # Errors
/// [`MatrixError`].
pub fn matrix_table(
    runs: &[RunWithAnalysis<'_>],
    layout: &Layout,
    units: Units,
) -> Result<Table, MatrixError> {
    let matrix = Matrix::of(runs, layout)?;
    let bare = matrix.parts.iter().all(|p| matches!(p, Part::Of(_, Metric::Bandwidth)));
    let show = |m: &Measurement| if bare { mega(m.estimate.value, units) } else { shown(m, units) };
    let mut columns: Vec<Column> = layout.rows.iter().map(|r| Column::new(r.clone(), Align::Left)).collect();
    columns.extend(matrix.columns.iter().map(|c| Column::new(joined(c), Align::Right)));
    let rows = matrix.rows.iter().enumerate().map(|(r, keys)| {
        let mut cells: Vec<Cell> = keys.iter().map(|key| Cell::text(key.text.clone())).collect();
        cells.extend((0..matrix.columns.len()).map(|c| matrix.cell(r, c, &show)));
        cells
    });
    let unit = if bare { format!(" in {}", rate_unit(units).name()) } else { String::new() };
    let method = matrix.cells.values().flatten().next().map_or("", |(_, m)| m.method);
    let title = format!("{}{unit}: {method}", layout.cell);
    Ok(Table { title, columns, stub: layout.rows.len(), rows: rows.collect() })
}

/// The matrix as CSV: a column for each column and part, in the metrics' own units.
///
/// # Errors
/// [`MatrixError`].
pub fn matrix_csv(runs: &[RunWithAnalysis<'_>], layout: &Layout) -> Result<String, MatrixError> {
    let matrix = Matrix::of(runs, layout)?;
    let mut kinds: Vec<(usize, Operation, Metric)> = Vec::new();
    for ((_, column), of) in &matrix.cells {
        for (_, m) in of {
            let kind = (*column, m.operation, m.metric);
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    kinds.sort_by_key(|kind| kind.0);
    let mut heading = layout.rows.clone();
    heading.extend(kinds.iter().map(|(column, operation, metric)| {
        format!("{} {operation} {metric} {}", joined(&matrix.columns[*column]), metric.unit())
    }));
    let mut out = row(&heading.iter().map(String::as_str).collect::<Vec<_>>());
    for (r, keys) in matrix.rows.iter().enumerate() {
        let mut fields: Vec<String> = keys.iter().map(|key| key.text.clone()).collect();
        for (column, operation, metric) in &kinds {
            let of = matrix.cells.get(&(r, *column)).into_iter().flatten();
            let found = of.into_iter().find(|(_, m)| (m.operation, m.metric) == (*operation, *metric));
            fields.push(found.map_or_else(String::new, |(_, m)| m.estimate.value.to_string()));
        }
        out.push_str(&row(&fields.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    Ok(out)
}

impl<'a> Matrix<'a> {
    /// The figures that the layout asks for.
    ///
    /// # Errors
    /// [`MatrixError`].
    pub fn of(runs: &[RunWithAnalysis<'a>], layout: &Layout) -> Result<Self, MatrixError> {
        let parts = parts(&layout.cell)?;
        if runs.iter().all(|(_, analysis)| analysis.measurements.is_empty()) {
            return Err(MatrixError::NoFigures);
        }
        let order = LabelOrder::of(runs);
        let mut wanted: Vec<Labelled<'_>> = Vec::new();
        for (run, analysis) in runs {
            for m in &analysis.measurements {
                let Some(step) = run.started.plan.step(&m.step) else { continue };
                if parts.iter().any(|part| part.asks_for(m, step)) {
                    wanted.push(((*run, m), labels(run, m, step, &order)));
                }
            }
        }
        if wanted.is_empty() {
            return Err(MatrixError::Empty(layout.cell.clone()));
        }
        check_labels(&wanted, layout)?;
        let key = |labels: &Labels, names: &[String]| -> Vec<Value> {
            names
                .iter()
                .map(|n| labels.get(n).cloned().unwrap_or(Value { order: 0.0, text: String::new() }))
                .collect()
        };
        let sorted = |names: &[String]| {
            let mut keys: Vec<Vec<Value>> = Vec::new();
            for (_, labels) in &wanted {
                let key = key(labels, names);
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
            keys.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
            keys
        };
        let (rows, columns) = (sorted(&layout.rows), sorted(&layout.columns));
        let mut cells: BTreeMap<(usize, usize), Vec<FigureOfRun<'_>>> = BTreeMap::new();
        for ((run, m), labels) in &wanted {
            let at =
                |keys: &[Vec<Value>], names: &[String]| keys.iter().position(|k| *k == key(labels, names));
            let (Some(r), Some(c)) = (at(&rows, &layout.rows), at(&columns, &layout.columns)) else {
                continue;
            };
            let cell = cells.entry((r, c)).or_default();
            let is_it = |(_, o): &&FigureOfRun<'_>| (o.operation, o.metric) == (m.operation, m.metric);
            if let Some((_, other)) = cell.iter().find(is_it) {
                return Err(ambiguous(&wanted, other, m));
            }
            cell.push((*run, *m));
        }
        Ok(Self { rows, columns, cells, parts })
    }

    /// The names of the rows.
    pub fn row_names(&self) -> Vec<Vec<String>> {
        let texts = |keys: &Vec<Value>| keys.iter().map(|key| key.text.clone()).collect();
        self.rows.iter().map(texts).collect()
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// The figures of one cell in the order of the parts.
    fn cell(&self, r: usize, c: usize, show: &dyn Fn(&Measurement) -> String) -> Cell {
        let none = Vec::new();
        let of = self.cells.get(&(r, c)).unwrap_or(&none);
        if of.is_empty() {
            return Cell::default();
        }
        let texts: Vec<String> = self
            .parts
            .iter()
            .flat_map(|part| match part {
                Part::Headline => of.iter().map(|(_, m)| show(m)).collect::<Vec<_>>(),
                Part::Of(operation, metric) => {
                    let found = of.iter().find(|(_, m)| (m.operation, m.metric) == (*operation, *metric));
                    vec![found.map_or_else(|| "–".to_owned(), |(_, m)| show(m))]
                }
            })
            .collect();
        let only = match of.as_slice() {
            [only] => Some(*only),
            _ => None,
        };
        Cell {
            value: only.map(|(_, m)| m.estimate.value),
            provenance: only.map(|(run, m)| Provenance {
                run: run.started.id.clone(),
                target: m.target.clone(),
                step: m.step.clone(),
                operation: m.operation,
                metric: m.metric,
            }),
            ..Cell::text(together(&texts))
        }
    }
}

impl Part {
    fn asks_for(self, m: &Measurement, step: &Step) -> bool {
        match self {
            Self::Headline => shown_metric(step, m.operation) == Some(m.metric),
            Self::Of(operation, metric) => (operation, metric) == (m.operation, m.metric),
        }
    }
}

/// The headline of an operation as people compare it: small random transfers in operations per second.
fn shown_metric(step: &Step, operation: Operation) -> Option<Metric> {
    match headline(step, operation)? {
        Metric::Bandwidth if is_counted(step) => Some(Metric::Iops),
        other => Some(other),
    }
}

/// The parts of `write/read`, `read:lat_p99` or `headline`.
fn parts(text: &str) -> Result<Vec<Part>, MatrixError> {
    if text == "headline" {
        return Ok(vec![Part::Headline]);
    }
    let part = |text: &str| {
        let (operation, metric) = text.split_once(':').unwrap_or((text, "bandwidth"));
        let operation = Operation::ALL.into_iter().find(|o| o.name() == operation)?;
        let metric = Metric::ALL.into_iter().find(|m| m.name() == metric)?;
        Some(Part::Of(operation, metric))
    };
    text.split('/')
        .map(|text| part(text.trim()).ok_or_else(|| MatrixError::Cell { what: text.to_owned() }))
        .collect()
}

/// A figure with its labels.
type Labelled<'a> = (FigureOfRun<'a>, Labels);

/// The order of runs and of steps: as they were named and planned. Steps are known by their
/// titles.
struct LabelOrder<'a> {
    runs: Vec<&'a str>,
    steps: Vec<&'a str>,
}

impl<'a> LabelOrder<'a> {
    fn of(runs: &[RunWithAnalysis<'a>]) -> Self {
        let mut order =
            Self { runs: runs.iter().map(|(run, _)| run.started.id.as_str()).collect(), steps: Vec::new() };
        for step in runs.iter().flat_map(|(run, _)| &run.started.plan.steps) {
            if !order.steps.contains(&step.title.as_str()) {
                order.steps.push(&step.title);
            }
        }
        order
    }
}

/// All labels of a measurement.
fn labels(run: &Run, m: &Measurement, step: &Step, order: &LabelOrder<'_>) -> Labels {
    let plain = |text: String| Value { order: 0.0, text };
    let imported: Option<&Imported> = run.completed(&m.step, &m.target).find_map(|r| r.imported.as_deref());
    let mut labels: Labels = BTreeMap::new();
    // The machine that imported files knows nothing about the one that measured.
    let host = Some(run.started.machine_of(&m.target)).filter(|name| imported.is_none() && !name.is_empty());
    labels.extend(host.map(|name| ("host".to_owned(), plain(name.to_owned()))));
    let target = run.started.targets.iter().find(|t| t.name == m.target);
    for (key, value) in target.map(|t| labels_of(run, t)).into_iter().flatten() {
        labels.insert(key, plain(value));
    }
    if let Some(imported) = imported {
        labels.insert("tool".into(), plain(imported.tool.clone()));
    }
    let w = &step.workload;
    let placed = |all: &[&str], text: &str| {
        let at = all.iter().position(|known| *known == text).unwrap_or(0);
        Value { order: at as f64, text: text.to_owned() }
    };
    labels.insert("run".into(), placed(&order.runs, &run.started.id));
    labels.insert("step".into(), placed(&order.steps, &step.title));
    labels.insert("target".into(), plain(m.target.clone()));
    labels.insert("operation".into(), plain(m.operation.name().replace('_', " ")));
    labels.insert("metric".into(), plain(m.metric.name().replace('_', " ")));
    if let Some(bytes) = w.used_blocks().first() {
        labels.insert("bs".into(), Value { order: f64::from(*bytes), text: display_block(*bytes) });
    }
    let number = |n: u32| Value { order: f64::from(n), text: n.to_string() };
    labels.insert("iodepth".into(), number(w.iodepth));
    labels.insert("jobs".into(), number(w.jobs));
    labels.insert("direct".into(), plain(if w.direct { "direct" } else { "buffered" }.into()));
    labels.insert("rw".into(), plain(direction(step)));
    labels
}

fn direction(step: &Step) -> String {
    let random = if matches!(step.workload.pattern, Pattern::Random { .. }) { "rand" } else { "" };
    match step.workload.mix {
        Mix::Transfer { read_percent: 100 } => format!("{random}read"),
        Mix::Transfer { read_percent: 0 } => format!("{random}write"),
        Mix::Transfer { .. } => format!("{random}rw"),
        Mix::Update { .. } => format!("{random}update"),
        Mix::Trim => format!("{random}trim"),
        Mix::Allocate => "allocate".to_owned(),
        Mix::Truncate => "truncate".to_owned(),
        Mix::Metadata(_) => "metadata".to_owned(),
    }
}

fn check_labels(wanted: &[Labelled<'_>], layout: &Layout) -> Result<(), MatrixError> {
    let known: BTreeSet<&String> = wanted.iter().flat_map(|(_, labels)| labels.keys()).collect();
    for label in layout.rows.iter().chain(&layout.columns) {
        if !known.contains(label) {
            let known = known.into_iter().cloned().collect();
            return Err(MatrixError::Label { label: label.clone(), known });
        }
    }
    Ok(())
}

fn ambiguous(wanted: &[Labelled<'_>], first: &Measurement, second: &Measurement) -> MatrixError {
    let of = |m: &Measurement| wanted.iter().find(|((_, other), _)| std::ptr::eq(*other, m));
    let mut differing = Vec::new();
    if let (Some((_, a)), Some((_, b))) = (of(first), of(second)) {
        let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        differing = keys.into_iter().filter(|key| a.get(*key) != b.get(*key)).cloned().collect();
    }
    let is_several = differing.iter().any(|label| label == "run");
    let name = |m: &Measurement| {
        let run = of(m).filter(|_| is_several).map(|((run, _), _)| format!(" in run {}", run.started.id));
        format!("{} of {} on {}{}", m.operation, m.step, m.target, run.unwrap_or_default())
    };
    MatrixError::Ambiguous { first: name(first), second: name(second), labels: differing }
}

fn joined(key: &[Value]) -> Cow<'static, str> {
    let words: Vec<&str> = key.iter().map(|value| value.text.as_str()).filter(|t| !t.is_empty()).collect();
    Cow::Owned(words.join(" "))
}

/// The unit of rates whose unit is in a heading.
pub(crate) fn rate_unit(units: Units) -> RateUnit {
    match units {
        Units::Decimal => RateUnit::Mega,
        Units::Binary => RateUnit::Mebi,
        Units::Fixed(unit) => unit,
    }
}

/// Figures of one cell: `234 µs/218 µs`, several numbers of operations per second without the unit: `40.5k/13.5k`.
fn together(texts: &[String]) -> String {
    let short =
        |text: &String| text.strip_suffix("/s").filter(|t| !t.contains(' ')).unwrap_or(text).to_owned();
    match texts {
        [only] => only.clone(),
        several => several.iter().map(short).collect::<Vec<_>>().join("/"),
    }
}

/// A rate as a plain number in the unit of its heading.
pub(crate) fn mega(value: f64, units: Units) -> String {
    digits(value / rate_unit(units).bytes())
}

pub(crate) fn shown(m: &Measurement, units: Units) -> String {
    if m.metric == Metric::Score {
        display_score(m)
    } else {
        display_metric(m.metric, m.estimate.value, units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_operations_with_metrics() {
        let write = Part::Of(Operation::Write, Metric::Bandwidth);
        let read = Part::Of(Operation::Read, Metric::LatP99);
        assert_eq!(parts("write/read:lat_p99"), Ok(vec![write, read]));
        assert_eq!(parts("headline"), Ok(vec![Part::Headline]));
        assert_eq!(together(&["234 µs".into(), "9.3k/s".into(), "863 MB/s".into()]), "234 µs/9.3k/863 MB/s");
        assert_eq!(together(&["9.3k/s".into()]), "9.3k/s");
        assert_eq!(parts("write/speed"), Err(MatrixError::Cell { what: "speed".into() }));
    }
}
