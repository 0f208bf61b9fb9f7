//! One table of one run or several: labels as rows and columns, or a storage in each row.

use std::process::ExitCode;

use analyse::{Analysis, Estimator, analyse};
use model::{Run, Step};
use report::{Layout, RunWithAnalysis, ScoreLayout, Table};

use super::units;
use crate::cli::{Cli, LayoutArgs, LayoutWord};
use crate::failure::Failure;
use crate::output;

/// Several runs in the one table of a layout.
///
/// # Errors
/// The layout has no such label or figure.
pub(super) fn in_one_table(
    cli: &Cli,
    runs: &[Run],
    layout: &LayoutArgs,
    rule: Estimator,
) -> Result<ExitCode, Failure> {
    let of = |run: &Run| analyse(run, &run.started.baseline, rule, units(cli, Some(run)));
    let analyses: Vec<Analysis> = runs.iter().map(of).collect();
    let differ = alike_only_in_name(runs);
    if !differ.is_empty() {
        output::say(&format!(
            "lodestone: these steps have one name in several runs, but not the same work: {}",
            differ.join("; ")
        ));
    }
    let all: Vec<RunWithAnalysis<'_>> = runs.iter().zip(&analyses).collect();
    let table = laid_out(cli, &all, layout)?.expect("a layout was requested");
    output::print(report::table_text(&table, output::style(cli.color)))?;
    Ok(ExitCode::SUCCESS)
}

/// Titles of steps that several runs have, with different work.
fn alike_only_in_name(runs: &[Run]) -> Vec<&str> {
    let mut known: Vec<&Step> = Vec::new();
    let mut differ: Vec<&str> = Vec::new();
    for step in runs.iter().flat_map(|run| &run.started.plan.steps) {
        match known.iter().find(|other| other.title == step.title) {
            None => known.push(step),
            Some(other) if other.workload != step.workload && !differ.contains(&step.title.as_str()) => {
                differ.push(&step.title);
            }
            Some(_) => {}
        }
    }
    differ
}

/// True if no layout other than `steps` was requested; that has no labels.
///
/// # Errors
/// There are labels for it.
pub(super) fn by_steps(args: &LayoutArgs) -> Result<bool, Failure> {
    let is_by_steps = args.layout == LayoutWord::Steps;
    if is_by_steps && !(args.rows.is_empty() && args.columns.is_empty()) {
        return Err(Failure::usage("--rows and --columns are for --layout matrix and scores"));
    }
    Ok(is_by_steps)
}

/// The one table of a layout other than `steps`, if one was requested.
///
/// # Errors
/// There is no such label, or no such figure.
pub(super) fn laid_out(
    cli: &Cli,
    runs: &[RunWithAnalysis<'_>],
    args: &LayoutArgs,
) -> Result<Option<Table>, Failure> {
    let units = units(cli, runs.first().map(|(run, _)| *run));
    let table = match args.layout {
        LayoutWord::Steps => return by_steps(args).map(|_| None),
        LayoutWord::Matrix => report::matrix_table(runs, &matrix_layout(runs, args), units),
        LayoutWord::Scores => report::score_table(runs, &score_layout(runs, args)?, units),
    };
    table.map(Some).map_err(Failure::usage)
}

pub(super) fn matrix_layout(runs: &[RunWithAnalysis<'_>], args: &LayoutArgs) -> Layout {
    let rows = if args.rows.is_empty() { vec!["step".to_owned()] } else { args.rows.clone() };
    let columns = if args.columns.is_empty() { usual_labels(runs) } else { args.columns.clone() };
    Layout { rows, columns, cell: args.cell.clone() }
}

/// The labels that tell the targets of these runs apart: of several runs the host comes first, or the run where hosts have
/// several.
fn usual_labels(runs: &[RunWithAnalysis<'_>]) -> Vec<String> {
    let hosts: std::collections::BTreeSet<&str> = runs
        .iter()
        .map(|(run, _)| if run.is_imported() { "" } else { run.started.host.name.as_str() })
        .filter(|name| !name.is_empty())
        .collect();
    let labels: &[&str] = match runs.len() {
        1 => &["target"],
        n if n == hosts.len() => &["host", "target"],
        _ => &["run", "target"],
    };
    labels.iter().map(|label| (*label).to_owned()).collect()
}

pub(super) fn score_layout(runs: &[RunWithAnalysis<'_>], args: &LayoutArgs) -> Result<ScoreLayout, Failure> {
    if !args.columns.is_empty() {
        return Err(Failure::usage("the columns of --layout scores are the figures; omit --columns"));
    }
    let rows = if args.rows.is_empty() { usual_labels(runs) } else { args.rows.clone() };
    Ok(ScoreLayout { rows, cell: args.cell.clone() })
}
