//! The tables of a frame: one for each step, one over all steps, and the figures by label.

use analyse::{headline, headline_operations};
use model::{Metric, Operation, Step, Target};

use crate::document::{Align, Cell, Column, Table, Tone};
use crate::figures::display_percent;
use crate::frame::{FIGURES, Frame, JUDGED};
use crate::pivot::{Pivot, Row};
use crate::words::figure_name;

/// The headings of [`FrameStep::comparison`](crate::frame::FrameStep::comparison) for this metric.
fn comparison_columns(metric: Option<Metric>) -> [Column; 3] {
    let ratio = if metric == Some(Metric::LatP99) { "p99 ratio" } else { "ratio" };
    [
        Column::new(ratio, Align::Right),
        Column::joined("95 %", Align::Left),
        Column::joined("verdict", Align::Left),
    ]
}

/// All figures of one step. `None` if no repeat of it began.
pub(crate) fn step_table(frame: &Frame<'_>, step: &Step) -> Option<Table> {
    let of = frame.step(step);
    let targets = of.targets();
    if targets.is_empty() {
        return None;
    }
    let operations = headline_operations(step);
    let several = operations.len() > 1 || operations.first() == Some(&Operation::DurableWrite);
    let compared = frame.targets.len() > 1;
    let mut columns = vec![Column::new("target", Align::Left)];
    if several {
        columns.push(Column::new("operation", Align::Left));
    }
    let column = |name| Column { spare: name == "repeats", ..Column::new(name, Align::Right) };
    columns.extend(FIGURES.map(column));
    // The comparison stands beside the figure that it is about, before the latencies.
    let beside = columns.len() - FIGURES.len() + JUDGED;
    if compared {
        let metric = operations.first().and_then(|o| headline(step, *o));
        columns.splice(beside..beside, comparison_columns(metric));
    }
    let mut rows = Vec::new();
    for target in targets {
        for (i, operation) in operations.iter().enumerate() {
            let mut row = vec![Cell::text(if i == 0 { target } else { "" })];
            if several {
                row.push(Cell::text(operation.name().replace('_', " ")));
            }
            row.extend(of.figures(target, *operation, i == 0));
            if compared {
                row.splice(beside..beside, of.comparison(target, *operation));
            }
            rows.push(row);
        }
    }
    let mut table = Table { title: step.title.clone(), columns, stub: if several { 2 } else { 1 }, rows };
    drop_empty_columns(&mut table);
    Some(table)
}

/// One table over all steps: each target's figure, its comparison, and its latencies. `None` if nothing was
/// measured.
pub(crate) fn overview_table(frame: &Frame<'_>) -> Option<Table> {
    let is_alone = frame.targets.len() == 1;
    let mut rows = Vec::new();
    for of in frame.steps.iter().map(|step| frame.step(step)) {
        for operation in headline_operations(of.step) {
            let title = figure_name(of.step, operation);
            for (i, target) in of.targets().into_iter().enumerate() {
                let [_, _, _, spread, _, _, p50, _, p99, _, slowest, ..] =
                    of.figures(target, operation, false);
                let step = Cell::text(if i == 0 { title.as_str() } else { "" });
                // A single target needs no name and has no comparison.
                let name = if is_alone { "" } else { target };
                let mut row = vec![step, Cell::text(name), of.headline(target, operation), spread];
                row.extend(match is_alone {
                    true => <[Cell; 3]>::default(),
                    false => of.comparison(target, operation),
                });
                row.extend([p50, p99, slowest]);
                rows.push(row);
            }
        }
    }
    let mut columns = vec![
        Column::new("step", Align::Left),
        Column::new("target", Align::Left),
        Column::new("figure", Align::Right),
        Column::joined("±", Align::Right),
    ];
    columns.extend(comparison_columns(None));
    columns.extend(["p50", "p99"].map(|name| Column::new(name, Align::Right)));
    columns.push(Column::new("max", Align::Right).spare());
    let title = if is_alone { "Figures" } else { "Every step" }.to_owned();
    let mut table = Table { title, columns, stub: 1, rows };
    drop_empty_columns(&mut table);
    table.stub = if is_alone { 1 } else { 2 };
    (!table.rows.is_empty()).then_some(table)
}

/// Each figure of each making of the targets. `None` if they were made once, or nothing was measured.
pub(crate) fn makings_table(frame: &Frame<'_>, makings: u32) -> Option<Table> {
    /// More do not fit into a line.
    const MOST: u32 = 16;
    if !(2..=MOST).contains(&makings) {
        return None;
    }
    let is_alone = frame.targets.len() == 1;
    let mut rows = Vec::new();
    for of in frame.steps.iter().map(|step| frame.step(step)) {
        for operation in headline_operations(of.step) {
            for (i, target) in of.targets().into_iter().enumerate() {
                let means = of.by_making(target, operation, makings);
                let title = if i == 0 { figure_name(of.step, operation) } else { String::new() };
                let mut row = vec![Cell::text(title), Cell::text(if is_alone { "" } else { target })];
                row.extend((0..makings).map(|making| {
                    let shown = |mean: &f64| of.shown(operation, *mean);
                    Cell::text(means.get(&making).map_or_else(String::new, shown))
                }));
                let (low, high) = means
                    .values()
                    .fold((f64::INFINITY, 0.0_f64), |(low, high), mean| (low.min(*mean), high.max(*mean)));
                let apart = || Cell::text(display_percent(high / low - 1.0));
                row.push(if low > 0.0 && means.len() > 1 { apart() } else { Cell::default() });
                rows.push(row);
            }
        }
    }
    let mut columns = vec![Column::new("figure", Align::Left), Column::new("target", Align::Left)];
    columns.extend((1..=makings).map(|making| Column::joined(making.to_string(), Align::Right)));
    columns.push(Column::joined("apart", Align::Right));
    let title = "Figures by making, in the order in which they were made".to_owned();
    let mut table = Table { title, columns, stub: 1, rows };
    drop_empty_columns(&mut table);
    table.stub = if is_alone { 1 } else { 2 };
    (!table.rows.is_empty()).then_some(table)
}

/// The figures by label, the leaders of each row marked and named.
pub(crate) fn pivot_table<'a>(frame: &Frame<'a>, pivot: &Pivot<'a>) -> Table {
    // Block size and operation are one name.
    let is_plain = pivot.down.last().is_some_and(|down| down == "operation");
    let stub = pivot.down.len() - usize::from(is_plain);
    let mut columns: Vec<Column> =
        pivot.down[..stub].iter().map(|d| Column::new(d.clone(), Align::Left)).collect();
    if is_plain {
        columns[stub - 1].heading = "figure".into();
    }
    columns.extend(pivot.columns.iter().map(|c| Column::joined(c.clone(), Align::Right)));
    columns.push(Column::joined("best", Align::Left).spare());
    let row = |row: &Row<'a>| {
        let of = frame.step(row.step);
        let leaders = row.leaders(pivot.margin);
        let mut cells: Vec<Cell> = row.names[..stub - 1].iter().map(Cell::text).collect();
        cells.push(Cell::text(row.names[stub - 1..].join(" ")));
        for (i, cell) in row.cells.iter().enumerate() {
            let tone = if leaders.contains(&i) { Tone::Good } else { Tone::Plain };
            let figure = |target: &Target| of.headline(&target.name, row.operation).tone(tone);
            cells.push(cell.map_or_else(Cell::default, |(target, _)| figure(target)));
        }
        let names: Vec<&str> = leaders.iter().map(|i| pivot.columns[*i].as_str()).collect();
        cells.push(Cell::text(names.join(", ")));
        cells
    };
    let rows = pivot.rows.iter().map(row).collect();
    let mut table = Table { title: pivot.title(), columns, stub, rows };
    drop_empty_columns(&mut table);
    table
}

/// Removes columns that are empty in all rows, such as the share of syncs.
fn drop_empty_columns(table: &mut Table) {
    for column in (table.stub..table.columns.len()).rev() {
        if table.rows.iter().all(|row| row[column].text.is_empty()) {
            table.columns.remove(column);
            table.rows.iter_mut().for_each(|row| drop(row.remove(column)));
        }
    }
}
