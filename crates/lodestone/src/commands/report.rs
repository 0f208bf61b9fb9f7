//! `report`: a run, or a comparison of several, as a self-contained HTML page; also the page that every run writes.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analyse::{Analysis, Pairing, analyse};
use model::Run;
use record::Store;
use report::{AllPairs, AnalysedRun, RunView, Section, run_page, runs_page};

use super::compare::{
    common_measurements, compared, comparison_baseline, in_common, same_steps, without_odd,
};
use super::results::{baseline, find_all};
use super::{anonymous, estimator, store, units, view};
use crate::cli::{Cli, ReportArgs};
use crate::destination::{self, Overwrite, STANDARD_OUTPUT};
use crate::failure::Failure;
use crate::output;

/// Writes the page of one run, or of several.
///
/// # Errors
/// There is no such run or target, the runs have nothing in common, or the file cannot be written.
pub fn report(cli: &Cli, args: &ReportArgs) -> Result<ExitCode, Failure> {
    let store = store(cli)?;
    let mut runs = without_odd(find_all(&store, &args.runs)?);
    let mut against = chosen_baseline(&runs, args.baseline.as_deref())?;
    if args.anonymous {
        (runs, against) = anonymous::runs(&store, &runs, &against)?;
    }
    if runs.len() == 1 && args.margin.is_some() {
        return Err(Failure::usage(
            "--margin is for several runs; one run keeps the margin that it was made with",
        ));
    }
    let page = if let [run] = runs.as_slice() {
        let analysis = analyse(run, &against, estimator(args.summary), units(cli, Some(run)));
        let view = page_view(cli, args, run, &against);
        run_page(&AnalysedRun::new(run, &analysis, &view))
    } else {
        several(cli, args, &runs, &against)?
    };
    let path = match &args.output {
        Some(path) if path == Path::new(STANDARD_OUTPUT) => {
            output::print_bytes(page.as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(path) => {
            let overwrite = if args.force { Overwrite::Any } else { Overwrite::OwnPages };
            destination::write(path, page.as_bytes(), overwrite)?;
            path.clone()
        }
        None => write_to_store(&store, &runs, if args.anonymous { "-anonymous" } else { "" }, &page)?,
    };
    output::print_bytes(format!("{}\n", path.display()).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The baseline of the comparison: a target's name, or `run:target` for several runs.
///
/// # Errors
/// There is no target of that name, or the runs have no step in common.
fn chosen_baseline(runs: &[Run], wanted: Option<&str>) -> Result<String, Failure> {
    match runs {
        [run] => baseline(run, wanted),
        runs => comparison_baseline(runs, &common_measurements(runs, &in_common(runs)), wanted),
    }
}

/// The view for a page. Times in an anonymous page are UTC, because local time would reveal the location.
fn page_view(cli: &Cli, args: &ReportArgs, run: &Run, baseline: &str) -> RunView {
    let view = RunView { details: true, ..view(cli, Some(run), baseline) };
    if args.anonymous { RunView { time_zone: jiff::tz::TimeZone::UTC, ..view } } else { view }
}

fn several(cli: &Cli, args: &ReportArgs, runs: &[Run], against: &str) -> Result<String, Failure> {
    let measurements = common_measurements(runs, &same_steps(runs).0);
    let compared = compared(runs, measurements, against, args.margin.as_deref())?;
    let all: Vec<&Run> = runs.iter().collect();
    let view = page_view(cli, args, &runs[0], against);
    let mut document = report::comparison_document(&all, &compared, &view);
    if let Some(pairs) =
        AllPairs::on_page(all, &compared.series, Pairing::across(&runs[0].started.plan), compared.margin)
    {
        document.sections.push(Section::Folded { summary: "Every pair of targets", sections: pairs });
    }
    let views: Vec<(&Run, Analysis, RunView)> = runs
        .iter()
        .map(|run| {
            let baseline = &run.started.baseline;
            let analysis = analyse(run, baseline, estimator(args.summary), units(cli, Some(run)));
            (run, analysis, page_view(cli, args, run, baseline))
        })
        .collect();
    let analysed: Vec<AnalysedRun<'_>> =
        views.iter().map(|(run, analysis, view)| AnalysedRun::new(run, analysis, view)).collect();
    Ok(runs_page(&analysed, &document))
}

/// Writes a page without a given file name to the store, named after its runs, and returns the path.
///
/// # Errors
/// It cannot be written.
fn write_to_store(store: &Store, runs: &[Run], end: &str, page: &str) -> Result<PathBuf, Failure> {
    const MOST: usize = 6;
    let ids =
        runs.iter().take(MOST).map(|r| r.started.id.chars().filter(char::is_ascii_alphanumeric).take(16));
    let ids: Vec<String> = ids.map(Iterator::collect).collect();
    store.write_report(&format!("{}{end}.html", ids.join("-")), page.as_bytes()).map_err(Failure::failed)
}

/// Writes the page of a run that has just ended into the store, and returns its path.
///
/// # Errors
/// The file cannot be written.
pub(super) fn after_run(store: &Store, analysed: &AnalysedRun<'_>) -> Result<PathBuf, Failure> {
    write_to_store(store, std::slice::from_ref(analysed.run), "", &run_page(analysed))
}
