//! The table of an answer: every figure of every target, and how it differs from the baseline's.

use analyse::Summary;
use model::{Comparison, Metric, Verdict};

use crate::answer::LONGEST_NAME;
use crate::document::grid::width;
use crate::document::{Align, Cell, Column, Section, Table, Tone};
use crate::figures::{display_margin, display_ratio};
use crate::frame::{FigureRow, Frame};
use crate::words::short;

/// Targets stand side by side in one table until their columns have this many characters, as a page shows without
/// scrolling.
const WIDEST: usize = 84;
/// The characters of a column with a short name.
const NARROWEST: usize = 12;

/// The table and the meaning of its marks, or several tables where the targets are many. A target without figures has no
/// column, and a table has only rows of its own targets. Nothing without rows.
pub(crate) fn answer_sections(frame: &Frame<'_>, summaries: &[Summary], margin: f64) -> Vec<Section> {
    let rows = frame.rows();
    if rows.is_empty() {
        return Vec::new();
    }
    let has_figure = |i: &usize| rows.iter().any(|row| !row.cells[*i].0.text.is_empty());
    let shown: Vec<usize> = (0..frame.targets.len()).filter(has_figure).collect();
    let parts = side_by_side(&frame.targets, &shown);
    let count = parts.len();
    let table = |(i, part): (usize, &Vec<usize>)| {
        let targets: Vec<&str> = part.iter().map(|target| frame.targets[*target]).collect();
        let own = rows.iter().filter_map(|row| row.of(part)).collect::<Vec<_>>();
        let mut table = answer_table(&targets, frame.baseline, &own, summaries);
        if count > 1 {
            table.title.push_str(&format!(" ({} of {count})", i + 1));
        }
        Section::Table(table)
    };
    let tables = parts.iter().enumerate().map(table);
    tables.chain(legend(&rows, margin).map(Section::Text)).collect()
}

/// The targets with these indices in parts that fit side by side.
fn side_by_side(targets: &[&str], shown: &[usize]) -> Vec<Vec<usize>> {
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut used = WIDEST;
    for target in shown {
        // A gap is three characters wide.
        let needed = (width(&short(targets[*target], LONGEST_NAME)) + 3).max(NARROWEST);
        if used + needed > WIDEST {
            parts.push(Vec::new());
            used = 0;
        }
        used += needed;
        parts.last_mut().expect("a part was just made").push(*target);
    }
    parts
}

/// The table of groups of machines, of which the first is the baseline.
pub(crate) fn group_table(groups: &[&str], rows: &[FigureRow<'_>]) -> Table {
    let title = format!(
        "Means over the machines of each group, with their difference from {}",
        short(groups[0], LONGEST_NAME)
    );
    Table { title, ..answer_table(groups, groups[0], rows, &[]) }
}

/// A table of these rows. Behind each figure except the baseline's stands a mark: what it differs by, `=` or `?`.
fn answer_table(targets: &[&str], baseline: &str, rows: &[FigureRow<'_>], summaries: &[Summary]) -> Table {
    let mut columns = vec![Column::new("", Align::Left)];
    for target in targets {
        columns.push(Column::new(short(target, LONGEST_NAME), Align::Right));
        if *target != baseline {
            columns.push(Column::joined("", Align::Right));
        }
    }
    let row = |row: &FigureRow<'_>| {
        let mut cells = vec![Cell::text(row.name.as_str())];
        for (target, (cell, comparison)) in targets.iter().zip(&row.cells) {
            cells.push(cell.clone());
            if *target != baseline {
                cells.push(comparison.map_or_else(Cell::default, mark));
            }
        }
        cells
    };
    let mut rows_of_cells: Vec<Vec<Cell>> = rows.iter().map(row).collect();
    rows_of_cells.extend(geometric_means(targets, baseline, rows, summaries));
    let title = format!("Figures, with their difference from {}", short(baseline, LONGEST_NAME));
    Table { title, columns, stub: 1, rows: rows_of_cells }
}

/// The mean ratio of each target, where there are several ratios and all are of rates: a latency weighs otherwise.
fn geometric_means(
    targets: &[&str],
    baseline: &str,
    rows: &[FigureRow<'_>],
    summaries: &[Summary],
) -> Option<Vec<Cell>> {
    let comparisons = || rows.iter().flat_map(|row| row.cells.iter().filter_map(|(_, c)| *c));
    let are_rates = comparisons().all(|c| matches!(c.metric, Metric::Bandwidth | Metric::Iops));
    if !are_rates || !summaries.iter().any(|s| s.steps > 1) {
        return None;
    }
    let mut cells = vec![Cell::text("geometric mean of the ratios").tone(Tone::Dim)];
    for target in targets {
        let summary = summaries.iter().find(|s| s.target == *target);
        let ratio = summary.map_or_else(Cell::default, |s| Cell {
            value: Some(s.speed.value),
            ..Cell::text(format!("{}×", display_ratio(s.speed.value))).tone(Tone::Dim)
        });
        cells.push(Cell::default());
        if *target != baseline {
            cells.push(ratio);
        }
    }
    Some(cells)
}

/// The meaning of the marks that occur.
fn legend(rows: &[FigureRow<'_>], margin: f64) -> Option<String> {
    let comparisons = || rows.iter().flat_map(|row| row.cells.iter().filter_map(|(_, c)| *c));
    let occurs = |what: &dyn Fn(&Comparison) -> bool| comparisons().any(what);
    let marked = [
        (occurs(&|c| c.verdict == Verdict::Same), format!("= the same within {}", display_margin(margin))),
        (occurs(&|c| is_so_far(c)), "=? the same so far".to_owned()),
        (occurs(&|c| c.verdict == Verdict::Undecided && !is_so_far(c)), "? undecided".to_owned()),
    ];
    let mut words: Vec<String> =
        marked.into_iter().filter(|(occurs, _)| *occurs).map(|(_, words)| words).collect();
    // A single difference is told with its interval.
    if comparisons().count() > 1 && occurs(&|c| matches!(c.verdict, Verdict::Faster | Verdict::Slower)) {
        let whose = if words.is_empty() { "all" } else { "all others" };
        words.push(format!("{whose} differ, at 95 % over the whole table"));
    }
    (!words.is_empty()).then(|| words.join(" · "))
}

fn is_so_far(c: &Comparison) -> bool {
    c.verdict == Verdict::Undecided && c.unseen.is_some()
}

/// The mark with its interval, for a table without figures.
pub(crate) fn mark_with_interval(c: &Comparison) -> Cell {
    let mark = mark(c);
    let text = match (c.verdict, c.ratio.interval) {
        (_, None) => change(c.ratio.value),
        (Verdict::Faster | Verdict::Slower, Some((low, high))) => {
            format!("{} ({} to {})", mark.text, change(low).trim_end_matches(" %"), change(high))
        }
        _ => mark.text.clone(),
    };
    Cell { text, ..mark }
}

/// A change in percent, from twice on as a ratio.
pub(crate) fn change(ratio: f64) -> String {
    if ratio >= 1.995 {
        return format!("{}×", display_ratio(ratio));
    }
    let percent = 100.0 * (ratio - 1.0);
    let digits = usize::from(percent.abs() < 0.95 || (-100.0..-99.45).contains(&percent));
    let sign = if percent < 0.0 { '−' } else { '+' };
    format!("{sign}{:.digits$} %", percent.abs())
}

/// The mark of a comparison.
pub(crate) fn mark(c: &Comparison) -> Cell {
    let change = || change(c.ratio.value);
    let (text, tone) = match c.verdict {
        Verdict::Same => ("=".to_owned(), Tone::Dim),
        Verdict::Undecided if is_so_far(c) => ("=?".to_owned(), Tone::Open),
        Verdict::Undecided => ("?".to_owned(), Tone::Open),
        Verdict::Faster => (change(), Tone::Good),
        Verdict::Slower => (change(), Tone::Bad),
    };
    Cell { value: Some(c.ratio.value), ..Cell::text(text).tone(tone) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_targets_stand_in_several_tables_and_none_is_lost() {
        let short = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        assert_eq!(side_by_side(&short, &[0, 2, 4]), [[0, 2, 4]], "those without figures have no column");
        let parts = side_by_side(&short, &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(parts.concat(), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(parts.len(), 2, "{parts:?}");
        let long = ["machine-of-the-first-rack:/mnt"; 4];
        assert_eq!(side_by_side(&long, &[0, 1, 2, 3]).len(), 2, "long names need more room");
        let endless = "x".repeat(500);
        assert_eq!(side_by_side(&[&endless, &endless], &[0, 1]).concat(), [0, 1]);
    }
}
