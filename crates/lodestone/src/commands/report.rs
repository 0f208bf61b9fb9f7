//! `report`: a run, or several compared, as a page that opens anywhere; and the page that every run leaves behind.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analyse::{Analysis, Pairing, analyse, compare, summarise};
use model::Run;
use record::Store;
use report::{Looked, RunView, run_page, runs_page};

use super::results::{baseline, comparison_baseline, find_all, in_common, named_series};
use super::{estimator, store, view};
use crate::cli::{Cli, ReportArgs};
use crate::failure::Failure;
use crate::output;

/// Writes the page of one run, or of several.
///
/// # Errors
/// There is no such run or target, the runs have nothing in common, or the file cannot be written.
pub fn report(cli: &Cli, args: &ReportArgs) -> Result<ExitCode, Failure> {
    let store = store(cli)?;
    let runs = find_all(&store, &args.runs)?;
    let page = if let [run] = runs.as_slice() {
        let baseline = baseline(run, args.baseline.as_deref())?;
        let analysis = analyse(run, &baseline, estimator(args.summary));
        let view = RunView { all_findings: true, ..view(cli, &baseline) };
        run_page(Looked { run, analysis: &analysis, view: &view })
    } else {
        several(cli, args, &runs)?
    };
    let path = match &args.output {
        Some(path) => path.clone(),
        None => default_path(&store, &runs)?,
    };
    write(&path, &page)?;
    output::print(&format!("{}\n", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn several(cli: &Cli, args: &ReportArgs, runs: &[Run]) -> Result<String, Failure> {
    let common = in_common(runs);
    let series: Vec<_> =
        runs.iter().flat_map(named_series).filter(|s| common.contains(&s.step.as_str())).collect();
    let against = comparison_baseline(runs, &series, args.baseline.as_deref())?;
    let plan = &runs[0].started.plan;
    let comparisons = compare(&series, &against, Pairing::None, plan.margin());
    let summaries = summarise(plan, &series, &against, Pairing::None);
    let all: Vec<&Run> = runs.iter().collect();
    let document = report::comparison_document(&all, &series, &comparisons, &summaries, &view(cli, &against));
    let seen: Vec<(&Run, Analysis, RunView)> = runs
        .iter()
        .map(|run| {
            let baseline = &run.started.baseline;
            let analysis = analyse(run, baseline, estimator(args.summary));
            (run, analysis, RunView { all_findings: true, ..view(cli, baseline) })
        })
        .collect();
    let looked: Vec<Looked<'_>> =
        seen.iter().map(|(run, analysis, view)| Looked { run, analysis, view }).collect();
    Ok(runs_page(&looked, &document))
}

/// Where a page goes for which no file is named: into the store, under the names of its runs.
///
/// # Errors
/// Its directory cannot be made.
fn default_path(store: &Store, runs: &[Run]) -> Result<PathBuf, Failure> {
    const MOST: usize = 6;
    let ids =
        runs.iter().take(MOST).map(|r| r.started.id.chars().filter(char::is_ascii_alphanumeric).take(16));
    let ids: Vec<String> = ids.map(Iterator::collect).collect();
    let directory = store.reports();
    std::fs::create_dir_all(&directory)
        .map_err(|e| Failure::failed(format!("cannot make {}: {e}", directory.display())))?;
    Ok(directory.join(format!("{}.html", ids.join("-"))))
}

/// Writes the page of a run that has just ended into the store, and gives its place.
///
/// # Errors
/// The file cannot be written.
pub(super) fn after_run(store: &Store, looked: Looked<'_>) -> Result<PathBuf, Failure> {
    let path = default_path(store, std::slice::from_ref(looked.run))?;
    write(&path, &run_page(looked))?;
    Ok(path)
}

fn write(path: &Path, page: &str) -> Result<(), Failure> {
    let refused = |e| Failure::failed(format!("cannot write {}: {e}", path.display()));
    std::fs::write(path, page).map_err(refused)
}
