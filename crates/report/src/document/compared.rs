//! Several runs compared.

use analyse::{headline, headline_operations};
use model::{Comparison, Measurement, MeasurementKey, Metric, Operation, Run, Step, Target};

use crate::answer::compared as compared_sentences;
use crate::answer::costs::Costs;
use crate::answer::table::{FigureRow, answer_sections};
use crate::document::circumstances::circumstances_sections;
use crate::document::run::{comparison_cells, comparison_columns, is_counted};
use crate::document::{Align, Cell, Column, Document, Section, Table, Tone};
use crate::figures::{display_iops, display_percent};
use crate::view::{ComparedRuns, RunView, when};
use crate::words::figure_name;

/// Runs that the title names.
const MOST_NAMED: usize = 4;

/// A target's name, with its stack if that is known.
fn target_words(target: &Target) -> String {
    match target.stack_line() {
        stack if stack.is_empty() => target.name.clone(),
        stack => format!("{} ({stack})", target.name),
    }
}

/// The document of several runs compared: the answer with its table, what differs between the runs, and with
/// `view.details` the tables of every step.
pub fn comparison_document(runs: &[&Run], compared: &ComparedRuns, view: &RunView) -> Document {
    let ComparedRuns { measurements, comparisons, summaries, margin, .. } = compared;
    let mut steps: Vec<&Step> = Vec::new();
    for step in runs.iter().flat_map(|run| &run.started.plan.steps) {
        if !steps.iter().any(|s| s.id == step.id) {
            steps.push(step);
        }
    }
    let mut targets: Vec<&str> = Vec::new();
    for one in measurements {
        if !targets.contains(&one.target.as_str()) {
            targets.push(&one.target);
        }
    }
    let mut rows = Vec::new();
    for (step, operation) in
        steps.iter().flat_map(|s| headline_operations(s).into_iter().map(move |o| (*s, o)))
    {
        let of = |target: &str| {
            let comparison = comparisons.iter().find(|c| {
                c.target == target
                    && c.step == step.id
                    && c.operation == operation
                    && Some(c.metric) == headline(step, operation)
            });
            (figure(step, operation, target, measurements, view), comparison)
        };
        let cells: Vec<_> = targets.iter().map(|target| of(target)).collect();
        if cells.iter().filter(|(cell, _)| !cell.text.is_empty()).count() > 1 {
            rows.push(FigureRow { name: figure_name(step, operation), cells });
        }
    }
    let mut sections = answer_sections(&targets, &view.baseline, &rows, summaries, *margin);
    let costs = Costs::of_compared(compared, &steps);
    sections.extend(costs.tables().into_iter().map(Section::Table));
    let about = |run: &&Run| {
        let s = &run.started;
        let what = format!(
            "{} on {}, suite {}, {}",
            when(s.started_unix_ns, &view.time_zone),
            if s.host.name.is_empty() { "an unnamed machine" } else { &s.host.name },
            s.plan.suite,
            s.targets.iter().map(target_words).collect::<Vec<_>>().join(", ")
        );
        (s.id.clone(), what)
    };
    sections.push(Section::Heading("Runs".into()));
    sections.push(Section::Facts(runs.iter().map(about).collect()));
    if view.details {
        for step in &steps {
            for operation in headline_operations(step) {
                sections.extend(compared_table(step, operation, compared, view).map(Section::Table));
            }
        }
    }
    sections.extend(circumstances_sections(runs, view.units));
    sections.push(Section::Heading("Caveats".into()));
    sections.push(Section::Text(
        "These figures come from different runs. Everything that changed between them (temperature, other load, \
    software) is part of the ratios: only targets measured within one run are compared under the same \
    circumstances."
            .into(),
    ));
    let mut answer = compared_sentences(&steps, comparisons, *margin, |_| None);
    answer.extend(costs.sentences());
    let ids: Vec<&str> = runs.iter().take(MOST_NAMED).map(|run| run.started.id.as_str()).collect();
    let more = if runs.len() > ids.len() { ", …" } else { "" };
    let title = format!("{} runs compared: {}{more}", runs.len(), ids.join(", "));
    Document { title, answer, sections }
}

/// The headline figure of a target.
fn figure(
    step: &Step,
    operation: Operation,
    target: &str,
    measurements: &[Measurement],
    view: &RunView,
) -> Cell {
    let Some(metric) = headline(step, operation) else { return Cell::default() };
    let of = |metric| MeasurementKey { target, step: &step.id, operation, metric }.find_in(measurements);
    let counted = of(Metric::Iops).filter(|_| metric == Metric::Bandwidth && is_counted(step));
    let shown = match counted {
        Some(m) => Some((m, format!("{} IOPS", display_iops(m.estimate.value)))),
        None => of(metric).map(|m| (m, view.display(metric, m.estimate.value))),
    };
    shown.map_or_else(Cell::default, |(m, text)| Cell { value: Some(m.estimate.value), ..Cell::text(text) })
}

fn compared_table(
    step: &Step,
    operation: Operation,
    compared: &ComparedRuns,
    view: &RunView,
) -> Option<Table> {
    let metric = headline(step, operation)?;
    let is_it = |m: &&Measurement| m.step == step.id && m.operation == operation && m.metric == metric;
    let rows: Vec<Vec<Cell>> = compared
        .measurements
        .iter()
        .filter(is_it)
        .map(|m| {
            let spread = m.estimate.relative_half_width().map_or_else(String::new, display_percent);
            let mut row = vec![
                Cell::text(m.target.clone()),
                Cell { value: Some(m.estimate.value), ..Cell::text(view.display(metric, m.estimate.value)) },
                Cell::text(spread).tone(Tone::Dim),
                Cell::text(m.values.len().to_string()),
            ];
            let of_target = |c: &&Comparison| {
                c.target == m.target && c.step == m.step && c.operation == operation && c.metric == metric
            };
            row.extend(match compared.comparisons.iter().find(of_target) {
                Some(c) => comparison_cells(c),
                None if m.target == view.baseline => {
                    [Cell::default(), Cell::default(), Cell::text("baseline").tone(Tone::Dim)]
                }
                None => [Cell::default(), Cell::default(), Cell::default()],
            });
            row
        })
        .collect();
    let value = match metric {
        Metric::Bandwidth => "bandwidth",
        Metric::Iops => "rate",
        Metric::Score => "score",
        _ => "p99",
    };
    (rows.len() > 1).then(|| Table {
        title: figure_name(step, operation),
        columns: [
            Column::new("run:target", Align::Left),
            Column::new(value, Align::Right),
            Column::new("±", Align::Right),
            Column::new("repeats", Align::Right),
        ]
        .into_iter()
        .chain(comparison_columns(Some(metric)))
        .collect(),
        stub: 1,
        rows,
    })
}
