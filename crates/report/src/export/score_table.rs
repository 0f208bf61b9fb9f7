//! Tables as publications lay them out: a target in each row, a metric in each column, the score last.

use model::{Measurement, Metric};

use crate::document::{Align, Cell, Column, Provenance, Table};
use crate::export::csv::row;
use crate::export::matrix::{
    FigureOfRun, Layout, Matrix, MatrixError, RunWithAnalysis, mega, rate_unit, shown,
};
use crate::figures::{Units, display_count};
use crate::scores::scores;

/// The layout of such a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoreLayout {
    /// Labels that make the rows, such as `target`.
    pub rows: Vec<String>,
    /// The figures, as in [`Layout::cell`].
    pub cell: String,
}

/// A computed score of a target in a run: the run's id, the target's name, the score.
type ScoreOfRun<'a> = (&'a str, String, f64);

/// One row's figures; `None` where the row has none in that column.
struct Line<'a> {
    names: Vec<String>,
    figures: Vec<Option<FigureOfRun<'a>>>,
    /// Scores that are computed from measurements of the run.
    scores: Vec<Option<f64>>,
}

/// Figures by row, the scores in the last columns.
struct Published<'a> {
    /// A measurement of each column, which names it.
    columns: Vec<FigureOfRun<'a>>,
    /// Titles of computed scores.
    scores: Vec<String>,
    lines: Vec<Line<'a>>,
}

impl<'a> Published<'a> {
    fn of(runs: &[RunWithAnalysis<'a>], layout: &ScoreLayout) -> Result<Self, MatrixError> {
        let columns = ["step", "operation", "metric"].map(str::to_owned).to_vec();
        let across = Layout { rows: layout.rows.clone(), columns, cell: layout.cell.clone() };
        let matrix = Matrix::of(runs, &across)?;
        let figure = |r: usize, c: usize| matrix.cells.get(&(r, c)).and_then(|of| of.first().copied());
        let names = matrix.row_names();
        let first = |c: usize| (0..names.len()).find_map(|r| figure(r, c)).map(|m| (c, m));
        let mut order: Vec<(usize, FigureOfRun<'_>)> = (0..matrix.width()).filter_map(first).collect();
        order.sort_by_key(|(_, (_, m))| m.metric == Metric::Score);
        // The computed scores by their titles, each with its run and target.
        let mut computed: Vec<(String, Vec<ScoreOfRun<'_>>)> = Vec::new();
        for (run, analysis) in runs {
            for (title, of) in scores(run, analysis) {
                if order.iter().any(|(_, m)| m.1.metric == Metric::Score && title == title_of(*m)) {
                    continue;
                }
                let of = of.into_iter().map(|(target, score)| (run.started.id.as_str(), target, score));
                match computed.iter_mut().find(|(known, _)| *known == title) {
                    Some((_, all)) => all.extend(of),
                    None => computed.push((title, of.collect())),
                }
            }
        }
        let lines = names.into_iter().enumerate().map(|(r, names)| {
            let figures: Vec<Option<FigureOfRun<'_>>> = order.iter().map(|(c, _)| figure(r, *c)).collect();
            // A computed score belongs to one target of one run, so a row with several has none.
            let whose = |(run, m): &FigureOfRun<'a>| (run.started.id.as_str(), m.target.as_str());
            let own = figures.iter().flatten().map(whose).next();
            let own = own.filter(|own| figures.iter().flatten().all(|figure| whose(figure) == *own));
            let score = |of: &[ScoreOfRun<'_>]| {
                of.iter()
                    .find(|(run, target, _)| own == Some((*run, target.as_str())))
                    .map(|(.., score)| *score)
            };
            Line { names, scores: computed.iter().map(|(_, of)| score(of)).collect(), figures }
        });
        let lines = lines.collect();
        let columns = order.into_iter().map(|(_, m)| m).collect();
        Ok(Self { columns, scores: computed.into_iter().map(|(title, _)| title).collect(), lines })
    }
}

/// The step's title, and the operation where the step has several.
fn title_of((run, m): FigureOfRun<'_>) -> String {
    let Some(step) = run.started.plan.step(&m.step) else { return m.step.clone() };
    match analyse::headline_operations(step).len() {
        0 | 1 => step.title.clone(),
        _ => format!("{}: {}", step.title, m.operation.name().replace('_', " ")),
    }
}

/// Titles without the details after their commas that are not needed to distinguish them.
fn shortened(titles: &[String]) -> Vec<String> {
    let head = |title: &str, parts: usize| title.split(", ").take(parts).collect::<Vec<_>>().join(", ");
    let one = |title: &String| {
        let others = || titles.iter().filter(|other| *other != title);
        let is_clear = |parts: &usize| others().all(|other| head(other, *parts) != head(title, *parts));
        let all = title.split(", ").count();
        head(title, (1..all).find(is_clear).unwrap_or(all))
    };
    titles.iter().map(one).collect()
}

/// A table with a row for each target and a column for each metric, its unit in the heading; the score is last.
///
/// # Errors
/// [`MatrixError`].
pub fn score_table(
    runs: &[RunWithAnalysis<'_>],
    layout: &ScoreLayout,
    units: Units,
) -> Result<Table, MatrixError> {
    let published = Published::of(runs, layout)?;
    let rate = format!(", {}", rate_unit(units).name());
    let titles: Vec<String> = published.columns.iter().copied().map(title_of).collect();
    let heading = |((_, m), title): (&FigureOfRun<'_>, String)| {
        let unit = match m.metric {
            Metric::Bandwidth => &*rate,
            Metric::Iops => ", per second",
            _ => "",
        };
        Column::new(format!("{title}{unit}"), Align::Right)
    };
    let mut columns: Vec<Column> = layout.rows.iter().map(|r| Column::new(r.clone(), Align::Left)).collect();
    columns.extend(published.columns.iter().zip(shortened(&titles)).map(heading));
    columns.extend(published.scores.iter().map(|title| Column::new(title.clone(), Align::Right)));
    let show = |m: &Measurement| match m.metric {
        Metric::Bandwidth => mega(m.estimate.value, units),
        Metric::Iops => display_count(m.estimate.value, units),
        Metric::Score => format!("{:.0}", m.estimate.value),
        _ => shown(m, units),
    };
    let figure = |(run, m): &FigureOfRun<'_>| Cell {
        value: Some(m.estimate.value),
        provenance: Some(Provenance {
            run: run.started.id.clone(),
            target: m.target.clone(),
            step: m.step.clone(),
            operation: m.operation,
            metric: m.metric,
        }),
        ..Cell::text(show(m))
    };
    let line = |line: &Line<'_>| {
        let mut cells: Vec<Cell> = line.names.iter().map(Cell::text).collect();
        cells.extend(line.figures.iter().map(|m| m.as_ref().map_or_else(Cell::default, figure)));
        let score = |score: &Option<f64>| score.map_or_else(Cell::default, |s| Cell::text(format!("{s:.0}")));
        cells.extend(line.scores.iter().map(score));
        cells
    };
    let rows = published.lines.iter().map(line).collect();
    let method = published.columns.first().map_or("", |(_, m)| m.method);
    Ok(Table { title: format!("All figures: {method}"), columns, stub: layout.rows.len(), rows })
}

/// The same as CSV, in the metrics' own units.
///
/// # Errors
/// [`MatrixError`].
pub fn score_csv(runs: &[RunWithAnalysis<'_>], layout: &ScoreLayout) -> Result<String, MatrixError> {
    let published = Published::of(runs, layout)?;
    let mut heading = layout.rows.clone();
    let words = |figure: &FigureOfRun<'_>| {
        let m = figure.1;
        format!("{} {} {} {}", title_of(*figure), m.operation, m.metric, m.metric.unit())
    };
    heading.extend(published.columns.iter().map(words));
    heading.extend(published.scores.iter().map(|title| format!("{title} score 1")));
    let mut out = row(&heading.iter().map(String::as_str).collect::<Vec<_>>());
    for line in &published.lines {
        let mut fields = line.names.clone();
        let text = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
        fields.extend(line.figures.iter().map(|m| text(m.map(|(_, m)| m.estimate.value))));
        fields.extend(line.scores.iter().map(|score| text(*score)));
        out.push_str(&row(&fields.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_keep_only_what_differs() {
        let titles = [
            "iozone: read, 4 KiB records, direct",
            "fio: read, 4 KiB, depth 1",
            "fio: read, 4 KiB, depth 64",
            "score",
        ];
        let short = shortened(&titles.map(str::to_owned));
        assert_eq!(
            short,
            ["iozone: read", "fio: read, 4 KiB, depth 1", "fio: read, 4 KiB, depth 64", "score"]
        );
    }
}
