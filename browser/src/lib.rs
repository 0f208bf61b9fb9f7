//! The gallery: every picture that Lodestone draws, from synthetic runs whose storage follows simple laws, so that what a
//! picture must show is known. The tests beside it open pages in a real browser.

pub mod made;

use analyse::{Estimator, analyse};
use jiff::tz::TimeZone;
use model::Run;
use report::chart::{CHARTS, Chart, charts, history};
use report::{AnalysedRun, RunView, Units, gallery_page, page_charts, run_page};

/// The view of synthetic runs.
pub fn view(run: &Run) -> RunView {
    RunView {
        units: Units::Decimal,
        baseline: run.started.baseline.clone(),
        time_zone: TimeZone::UTC,
        details: true,
    }
}

/// All pictures of a run.
fn pictures(run: &Run) -> Vec<Chart> {
    let analysis = analyse(run, &run.started.baseline, Estimator::Mean, Units::Decimal);
    charts(&AnalysedRun::new(run, &analysis, &view(run)))
}

/// The page of a run.
pub fn page(run: &Run) -> String {
    page_with_pictures(run).0
}

/// The page of a run, and the pictures on it.
pub fn page_with_pictures(run: &Run) -> (String, Vec<Chart>) {
    let analysis = analyse(run, &run.started.baseline, Estimator::Mean, Units::Decimal);
    let view = view(run);
    let analysed = AnalysedRun::new(run, &analysis, &view);
    (run_page(&analysed), page_charts(&analysed))
}

/// The history of synthetic runs over some days.
pub fn days() -> Vec<Chart> {
    let runs = made::days();
    let analyses: Vec<_> =
        runs.iter().map(|run| analyse(run, &run.started.baseline, Estimator::Mean, Units::Decimal)).collect();
    let views: Vec<RunView> = runs.iter().map(view).collect();
    let analysed = runs.iter().zip(&analyses).zip(&views);
    let analysed: Vec<AnalysedRun<'_>> =
        analysed.map(|((run, analysis), view)| AnalysedRun::new(run, analysis, view)).collect();
    history(&analysed)
}

/// One picture of each kind, in the order of the page; of several of a kind the first.
pub fn gallery_pictures() -> Vec<Chart> {
    let all: Vec<Chart> = made::runs().iter().flat_map(pictures).collect();
    let of_runs = CHARTS.iter().filter_map(|kind| all.iter().find(|c| c.kind == kind.name).cloned());
    of_runs.chain(days().into_iter().take(1)).collect()
}

/// The page with one picture of each kind.
pub fn gallery() -> String {
    let parts: Vec<(String, Vec<Chart>)> = gallery_pictures()
        .into_iter()
        .filter_map(|chart| {
            let kind = CHARTS.iter().find(|kind| kind.name == chart.kind)?;
            Some((format!("{}: {}", kind.name, kind.shows), vec![chart]))
        })
        .collect();
    let history = days().into_iter().next().map(|chart| {
        ("history: runs of one plan over the days and the hours of the day".to_owned(), vec![chart])
    });
    let parts: Vec<(String, Vec<Chart>)> = parts.into_iter().chain(history).collect();
    let words = "Every kind of picture. The storage is made up: three kinds of disk that follow simple laws.";
    gallery_page("Lodestone: gallery of pictures", words, &parts)
}
