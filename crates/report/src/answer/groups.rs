//! Groups of machines, in sentences and as a table: the machines are the sample.

use analyse::{Groups, headline, headline_operations};
use model::{Metric, Step};

use crate::answer::TOLD;
use crate::answer::decided::pairs;
use crate::answer::table::group_table;
use crate::document::{Cell, Table};
use crate::figures::{display_iops, display_metric};
use crate::frame::{FigureRow, is_counted};
use crate::view::AnalysedRun;
use crate::words::{figure_name, listed};

/// What is said of the groups of a run's machines.
pub(crate) fn group_sentences(analysed: &AnalysedRun<'_>) -> Vec<String> {
    let Some(Groups { groups, comparisons, .. }) = &analysed.analysis.groups else { return Vec::new() };
    let plan = &analysed.run.started.plan;
    let steps: Vec<&Step> = plan.steps.iter().collect();
    // Only more machines would decide what is open, and how many nobody can tell.
    let sentence =
        |pair: &crate::answer::decided::Pair<'_>| pair.sentence(plan.margin(), groups.len() == 2, |_| None);
    let mut sentences: Vec<String> = pairs(&steps, comparisons).iter().take(TOLD).map(sentence).collect();
    if !sentences.is_empty() {
        let counts: Vec<String> =
            groups.iter().map(|(group, machines)| format!("{machines} of {group}")).collect();
        sentences.push(format!(
            "Each group is judged by its machines ({}); how much these differ from each other widens the intervals.",
            listed(&counts)
        ));
    }
    sentences
}

/// The figures of the groups.
pub(crate) fn groups_table(analysed: &AnalysedRun<'_>) -> Option<Table> {
    let Groups { groups, means, comparisons } = analysed.analysis.groups.as_ref()?;
    let names: Vec<&str> = groups.iter().map(|(group, _)| group.as_str()).collect();
    let mut rows = Vec::new();
    for step in &analysed.run.started.plan.steps {
        for operation in headline_operations(step) {
            let mean = |group: &str, metric: Metric| {
                let of_step = means.iter().filter(|m| m.step == step.id && m.operation == operation);
                of_step.into_iter().find(|m| m.group == group && m.metric == metric).map(|m| m.value)
            };
            let Some(metric) = headline(step, operation) else { continue };
            let cell = |group: &&str| {
                let count =
                    mean(group, Metric::Iops).filter(|_| is_counted(step) && metric == Metric::Bandwidth);
                let text = match (count, mean(group, metric)) {
                    (Some(count), _) => Some((count, format!("{} IOPS", display_iops(count)))),
                    (None, Some(value)) => Some((value, display_metric(metric, value, analysed.view.units))),
                    (None, None) => None,
                };
                let of_figure = comparisons.iter().filter(|c| c.step == step.id && c.operation == operation);
                let value = text.map_or_else(Cell::default, |(value, text)| Cell {
                    value: Some(value),
                    ..Cell::text(text)
                });
                (value, of_figure.into_iter().find(|c| c.target == **group))
            };
            let cells: Vec<_> = names.iter().map(cell).collect();
            if cells.iter().any(|(cell, _)| !cell.text.is_empty()) {
                rows.push(FigureRow { name: figure_name(step, operation), cells });
            }
        }
    }
    (!rows.is_empty()).then(|| group_table(&names, &rows))
}
