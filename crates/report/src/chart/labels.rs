//! Figures by label, such as filesystems on each device at each block size: an annotated heat map for each
//! operation.

use super::frame::panels;
use super::matrix::{COLUMNS, Cell, Grid, ROWS, draw_grid, height};
use super::{ChartKind, Sketch, paged, part};
use crate::figures::{display_percent, display_ratio};
use crate::pivot::{Pivot, Row};
use crate::view::AnalysedRun;
use crate::words::{listed, short};
use model::PortableMath;

pub(super) const KIND: ChartKind = ChartKind {
    name: "labels",
    shows: "labels such as device, filesystem and block size against each other, coloured by the share of the best",
    draw,
};

const CAPTION: &str = "The columns compete in each row. The best of a row is bold; the strongest colours are within 5 % of it, the \
    faintest have less than a fifth of it. The last row is the geometric mean of each column's shares of the \
    best: it ranks the columns over all rows.";

fn draw(p: &AnalysedRun<'_>) -> Vec<Sketch> {
    let Some(pivot) = p.labels() else { return Vec::new() };
    let mut across = pivot.across.clone();
    across.get_mut(..1).into_iter().for_each(str::make_ascii_uppercase);
    let title = format!("{across}s by {}", listed(&pivot.down));
    let grids: Vec<Grid> = by_operation(pivot)
        .iter()
        .flat_map(|(operation, rows)| {
            rows.chunks(ROWS).flat_map(|rows| grids(p, pivot, operation, rows)).collect::<Vec<_>>()
        })
        .collect();
    let pages = paged(&grids);
    let of = pages.len();
    let sketch = |(i, page): (usize, Vec<Grid>)| {
        Sketch::new(part(&title, i, of), CAPTION, move |svg| {
            let heights: Vec<f64> = page.iter().map(|grid| height(grid, svg.is_wide())).collect();
            panels(svg, &[], &heights, |svg, i, area| draw_grid(svg, &page[i], area));
        })
    };
    pages.into_iter().enumerate().map(sketch).collect()
}

/// The rows grouped by operation, if the operation is part of their names; else one group.
fn by_operation<'a>(pivot: &'a Pivot<'a>) -> Vec<(String, Vec<&'a Row<'a>>)> {
    let mut found: Vec<(String, Vec<&Row<'_>>)> = Vec::new();
    let is_plain = pivot.down.last().is_some_and(|d| d == "operation");
    for row in &pivot.rows {
        let operation = row.names.last().filter(|_| is_plain).cloned().unwrap_or_default();
        match found.iter_mut().find(|(known, _)| *known == operation) {
            Some((_, rows)) => rows.push(row),
            None => found.push((operation, vec![row])),
        }
    }
    found
}

/// The grid of some rows, in parts of at most as many columns as fit side by side.
fn grids(p: &AnalysedRun<'_>, pivot: &Pivot<'_>, operation: &str, rows: &[&Row<'_>]) -> Vec<Grid> {
    let named = |row: &Row<'_>| {
        let own = if operation.is_empty() { row.names.len() } else { row.names.len() - 1 };
        row.names[..own].join(" · ")
    };
    let each = pivot.columns.len().div_ceil(pivot.columns.len().div_ceil(COLUMNS));
    let mut grids = Vec::new();
    for (from, columns) in pivot.columns.chunks(each).enumerate().map(|(i, c)| (i * each, c)) {
        let places = from..from + columns.len();
        let cells = |row: &&Row<'_>| {
            let (shares, name) = (row.shares(), named(row));
            let cell = |i: usize| {
                let ((_, m), share) = (row.cells[i]?, shares[i]?);
                let text = p.view.display(row.metric, m.estimate.value);
                let column = short(&pivot.columns[i], 60);
                let tip =
                    format!("{column}, {name} {operation}: {text}, {} × the best", display_ratio(share));
                Some(Cell { text, share, tip })
            };
            (name.clone(), places.clone().map(cell).collect::<Vec<_>>())
        };
        let mut lines: Vec<_> = rows.iter().map(cells).collect();
        lines.extend(overall(rows, &places));
        let title = if operation.is_empty() { String::new() } else { operation.to_owned() };
        grids.push(Grid { title, words: "", columns: columns.to_vec(), rows: lines });
    }
    grids
}

/// The geometric mean of each column's shares of the best, if every column has a figure in every row.
fn overall(rows: &[&Row<'_>], places: &std::ops::Range<usize>) -> Option<(String, Vec<Option<Cell>>)> {
    let shares: Vec<Vec<Option<f64>>> = rows.iter().map(|row| row.shares()).collect();
    let is_whole = shares.iter().flatten().all(|share| share.is_some_and(|s| s > 0.0));
    if rows.len() < 2 || !is_whole {
        return None;
    }
    let cell = |i: usize| {
        let logs: f64 = shares.iter().filter_map(|row| row[i]).map(f64::portable_ln).sum();
        let share = (logs / rows.len() as f64).portable_exp();
        let text = display_percent(share);
        let tip = format!("{text} of the best over all rows (geometric mean)");
        Some(Cell { text, share, tip })
    };
    Some(("all rows, of the best".to_owned(), places.clone().map(cell).collect()))
}
