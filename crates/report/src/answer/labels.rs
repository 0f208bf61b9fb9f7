//! The answer of a run whose targets are told apart by labels, or that has many of them: which one wins where.

use model::{Better, PortableMath};

use crate::answer::{LONGEST_NAME, TOLD};
use crate::figures::display_ratio;
use crate::pivot::{Pivot, Row};
use crate::view::AnalysedRun;
use crate::words::{listed, short};

/// Which of the columns wins where, and by how much overall.
pub(crate) fn by_labels(pivot: &Pivot<'_>, analysed: &AnalysedRun<'_>) -> Vec<String> {
    let contested: Vec<(&Row<'_>, Vec<usize>)> = pivot
        .rows
        .iter()
        .map(|row| (row, row.leaders(pivot.margin)))
        .filter(|(_, l)| !l.is_empty())
        .collect();
    let columns = 0..pivot.columns.len();
    let mut won_by = vec![0; pivot.columns.len()];
    contested.iter().flat_map(|(_, leaders)| leaders).for_each(|column| won_by[*column] += 1);
    let wins = |column: usize| won_by[column];
    let shares: Vec<Vec<Option<f64>>> = contested.iter().map(|(row, _)| row.shares()).collect();
    let against = |column: usize, other: usize| over_all(&shares, column, other);
    let strength = |column| columns.clone().filter_map(|other| against(column, other)).sum::<f64>();
    let strengths: Vec<f64> = columns.clone().map(strength).collect();
    let Some(best) =
        columns.clone().max_by(|a, b| wins(*a).cmp(&wins(*b)).then(strengths[*a].total_cmp(&strengths[*b])))
    else {
        return Vec::new();
    };
    if contested.is_empty() {
        return Vec::new();
    }
    let name = |column: usize| short(&pivot.columns[column], LONGEST_NAME / 2);
    let (won, all) = (wins(best), contested.len());
    let share = if won == all { format!("all {all}") } else { format!("{won} of {all}") };
    let figures = match pivot.has_labels() {
        _ if all == 1 => "the only figure".to_owned(),
        true => format!("{share} combinations of {}", listed(&pivot.down)),
        false => format!("{share} figures"),
    };
    // Columns that win as often are named beside it.
    let ties: Vec<usize> = columns.clone().filter(|column| wins(*column) == won).collect();
    let ties: Vec<usize> = if ties.len() < pivot.columns.len() && won == all { ties } else { vec![best] };
    let mut names: Vec<String> = ties.iter().take(TOLD + 1).map(|column| name(*column)).collect();
    if ties.len() > names.len() {
        names.push(format!("{} more", ties.len() - names.len()));
    }
    let mut sentences = vec![format!(
        "Of {} {}s, {} {} the fastest, or within {} of the fastest, in {figures}.",
        pivot.columns.len(),
        pivot.across,
        listed(&names),
        if ties.len() == 1 { "is" } else { "are" },
        pivot.margin_words(),
    )];
    let lost: Vec<&(&Row<'_>, Vec<usize>)> = contested.iter().filter(|(_, l)| !l.contains(&best)).collect();
    if lost.len() <= TOLD {
        sentences.extend(lost.iter().map(|(row, leaders)| exception(pivot, analysed, row, leaders, best)));
    } else {
        let others = columns
            .clone()
            .filter(|c| *c != best)
            .map(|c| (c, lost.iter().filter(|(_, l)| l.contains(&c)).count()));
        let others: Vec<String> = others
            .filter(|(_, n)| *n > 0)
            .map(|(c, n)| format!("{} is the fastest in {n}", name(c)))
            .collect();
        sentences.push(format!("In the others, {}.", listed(&others)));
    }
    let mut behind: Vec<(usize, f64)> =
        columns.filter(|c| !ties.contains(c)).filter_map(|c| Some((c, against(best, c)?))).collect();
    behind.sort_by(|a, b| a.1.total_cmp(&b.1));
    let ratio = |(column, ratio): &(usize, f64)| {
        format!("{} times as fast as {}", display_ratio(*ratio), name(*column))
    };
    let words: Vec<String> = behind.iter().take(TOLD).map(ratio).collect();
    // A latency weighs otherwise than a rate.
    let are_rates = contested.iter().all(|(row, _)| row.metric.better() == Better::Higher);
    if !words.is_empty() && are_rates {
        let whom = if ties.len() == 1 { "it".to_owned() } else { name(best) };
        sentences.push(format!("Overall, {whom} is {} (geometric means).", listed(&words)));
    }
    sentences.extend(few_repeats(pivot));
    sentences
}

/// The speed of one column relative to another: the geometric mean over the rows that have both.
fn over_all(shares: &[Vec<Option<f64>>], column: usize, other: usize) -> Option<f64> {
    let both = shares
        .iter()
        .filter_map(|row| Some((row[column]?, row[other]?)).filter(|(a, b)| *a > 0.0 && *b > 0.0));
    let logs: Vec<f64> = both.map(|(a, b)| (a / b).portable_ln()).collect();
    (column != other && !logs.is_empty())
        .then(|| (logs.iter().sum::<f64>() / logs.len() as f64).portable_exp())
}

/// A row in which another column wins.
fn exception(
    pivot: &Pivot<'_>,
    analysed: &AnalysedRun<'_>,
    row: &Row<'_>,
    leaders: &[usize],
    best: usize,
) -> String {
    let value =
        |column: usize| row.cells[column].map(|(_, m)| analysed.view.display(row.metric, m.estimate.value));
    let winners: Vec<String> = leaders.iter().map(|c| short(&pivot.columns[*c], LONGEST_NAME / 2)).collect();
    let against = value(best).map_or_else(String::new, |v| format!(" against {v}"));
    let first = leaders.first().and_then(|c| value(*c)).unwrap_or_default();
    format!("For {} it is {}: {first}{against}.", row_words(pivot, row), listed(&winners))
}

/// A row as part of a sentence, such as `reads of 4 MiB on SSD_USB`.
fn row_words(pivot: &Pivot<'_>, row: &Row<'_>) -> String {
    let is_plain = pivot.down.last().is_some_and(|d| d == "operation");
    let (labels, what) = match row.names.as_slice() {
        [labels @ .., size, operation] if is_plain => (labels, format!("{operation}s of {size}")),
        [labels @ .., title] => (labels, title.clone()),
        [] => return String::new(),
    };
    let labels: Vec<String> = labels.iter().map(|l| short(l, LONGEST_NAME / 2)).collect();
    if labels.is_empty() { what } else { format!("{what} on {}", labels.join(", ")) }
}

/// The caveat that most figures have only one repeat.
fn few_repeats(pivot: &Pivot<'_>) -> Option<String> {
    let figures = pivot.rows.iter().flat_map(|row| row.cells.iter().flatten());
    let all = figures.clone().count();
    let single = figures.filter(|(_, m)| m.estimate.interval.is_none()).count();
    (2 * single > all).then(|| {
        format!("{single} of the {all} figures were measured only once, so small differences may be chance.")
    })
}
