//! `site`: pages of all runs of some stores, of their machines and of what changed, for any web server.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use analyse::{Difference, Estimator, History, Moment, analyse, histories, moments, odd_machines};
use model::Metric;
use model::units::counted;
use record::{PageDirectory, RunSummary, Store, try_in_parallel};
use report::{AnalysedRun, Followed, PastRun, RunView, SITE_PARTS, Site, SitePage, SiteRun};
use twox_hash::XxHash3_64;

use super::copies::copies;
use super::history::{METRICS, PastFigures, Titles, Wanted, changed_between, followed, past_runs};
use super::{store, units, view, with_damage};
use crate::cli::{Cli, HistoryArgs, SiteArgs};
use crate::failure::{Failure, LEFT_OUT};
use crate::fleet::address::RemotePath;
use crate::output;

/// A run with the number of the store that has it.
type Stored = (usize, PastFigures);

/// Writes the site, or brings it up to date.
///
/// # Errors
/// A store cannot be read, there are no runs, or a page cannot be written.
pub fn site(cli: &Cli, args: &SiteArgs) -> Result<ExitCode, Failure> {
    let (stores, is_old) = stores(cli, args)?;
    let all = all_runs(&stores)?;
    if all.is_empty() {
        return Err(Failure::usage(
            "there are no runs to make a site of: name a store that has some with --from",
        ));
    }
    let directory = PageDirectory::open(&args.directory, &SITE_PARTS).map_err(Failure::failed)?;
    let view = RunView { details: true, ..view(cli, None, "") };
    let made = Made::of(&stores, all);
    let found = Followed {
        runs: &made.runs,
        histories: &made.histories,
        titles: &made.titles,
        moments: &made.moments,
        odd: &made.odd,
        left_out: stores.iter().map(|store| store.left_out().len()).sum(),
        view: &view,
    };
    let site = Site::new(&args.title, &found, &made.others, &made.facts);
    let pages = site.pages();
    let runs: Vec<usize> = (0..made.facts.len()).collect();
    let names =
        pages.iter().map(|page| site.path(page)).chain(runs.iter().map(|number| site.run_path(*number)));
    directory.announce(names).map_err(Failure::failed)?;
    let writer =
        Writer { cli, args, stores: &stores, made: &made, site: &site, view: &view, directory: &directory };
    try_in_parallel(&pages, |page| writer.page(page))?;
    try_in_parallel(&runs, |number| writer.run(*number))?;
    let written = directory.written();
    let gone = directory.finish().map_err(Failure::failed)?;
    let gone = if gone > 0 { format!(", {} removed", counted(gone, "page")) } else { String::new() };
    output::print(format!(
        "{}: {} of {} on {}; {} made{gone}\n",
        args.directory.display(),
        counted(pages.len() + runs.len(), "page"),
        counted(runs.len(), "run"),
        counted(made.machines(), "machine"),
        written,
    ))?;
    Ok(if is_old { ExitCode::from(LEFT_OUT) } else { ExitCode::SUCCESS })
}

/// The stores of the arguments, or the store; and whether the copy of one could not be brought up to date.
fn stores(cli: &Cli, args: &SiteArgs) -> Result<(Vec<Store>, bool), Failure> {
    let (mut stores, mut elsewhere) = (Vec::new(), Vec::new());
    for from in &args.from {
        let wrong = |why: String| Failure::usage(format!("--from {}: {why}", from.display()));
        match RemotePath::parse(from).map_err(wrong)? {
            Some(there) => elsewhere.push(there),
            None if Path::new(from).is_dir() => {
                stores.push(Store::open(Path::new(from)).map_err(Failure::failed)?);
            }
            None => return Err(wrong("there is no such directory".to_owned())),
        }
    }
    if args.from.is_empty() {
        stores.push(store(cli)?);
    }
    let copies = copies(&elsewhere, &args.reach)?;
    let is_old = copies.iter().any(|copy| copy.is_old);
    stores.extend(copies.into_iter().map(|copy| copy.store));
    Ok((stores.into_iter().map(|store| with_damage(cli, store)).collect(), is_old))
}

/// The runs of all stores, oldest first; each once, however many stores have it.
fn all_runs(stores: &[Store]) -> Result<Vec<Stored>, Failure> {
    let mut all: Vec<Stored> = Vec::new();
    for (number, store) in stores.iter().enumerate() {
        let (past, warnings) = past_runs(store)?;
        for warning in warnings {
            output::say(&format!("lodestone: {warning}"));
        }
        all.extend(past.into_iter().map(|run| (number, run)));
    }
    all.sort_by(|(_, (a, _)), (_, (b, _))| (a.started_unix_ns, &a.id).cmp(&(b.started_unix_ns, &b.id)));
    let mut known = BTreeSet::new();
    all.retain(|(_, (run, _))| known.insert((run.id.clone(), run.started_unix_ns)));
    Ok(all)
}

/// What the pages are of.
struct Made {
    /// Each run with its store.
    stored: Vec<(usize, RunSummary)>,
    runs: Vec<PastRun>,
    facts: Vec<SiteRun>,
    titles: Titles,
    histories: Vec<History>,
    others: Vec<History>,
    moments: Vec<(Moment, Option<Vec<Difference>>)>,
    odd: Vec<analyse::OddMachine>,
}

impl Made {
    fn of(stores: &[Store], all: Vec<Stored>) -> Self {
        let (stored, past): (Vec<(usize, RunSummary)>, Vec<PastFigures>) =
            all.into_iter().map(|(store, (run, kept))| ((store, run.clone()), (run, kept))).unzip();
        let runs = stored
            .iter()
            .map(|(_, run)| PastRun { id: run.id.clone(), started_unix_ns: run.started_unix_ns });
        let facts = past.iter().map(|(run, kept)| SiteRun {
            places: kept.places(),
            suite: run.suite.clone(),
            state: run.state.name(),
            is_imported: kept.is_imported,
        });
        let (runs, facts) = (runs.collect(), facts.collect());
        let of_metric = |metric: Option<Metric>| {
            let args = HistoryArgs::default();
            followed(&past, &Wanted { args: &args, metric, labels: Vec::new() })
        };
        let (titles, figures) = of_metric(None);
        let headlines: BTreeSet<_> = figures.iter().map(|(key, _)| key.clone()).collect();
        let histories = histories(figures);
        let others = METRICS.into_iter().flat_map(|metric| {
            let (_, mut figures) = of_metric(Some(metric));
            figures.retain(|(key, _)| !headlines.contains(key));
            analyse::histories(figures)
        });
        let others = others.collect();
        let told = |moment: Moment| {
            let read = |run: usize| {
                let (store, run) = &stored[run];
                Some(stores[*store].read(run).ok()?.run)
            };
            let changed = read(moment.before).zip(read(moment.run));
            (moment, changed.map(|(before, after)| changed_between(&before, &after)))
        };
        let moments = moments(&histories).into_iter().map(told).collect();
        let odd = odd_machines(&histories);
        Self { stored, runs, facts, titles, histories, others, moments, odd }
    }

    fn machines(&self) -> usize {
        self.facts.iter().flat_map(|run| &run.places).map(|(host, ..)| host).collect::<BTreeSet<_>>().len()
    }
}

/// What writes pages.
struct Writer<'a> {
    cli: &'a Cli,
    args: &'a SiteArgs,
    stores: &'a [Store],
    made: &'a Made,
    site: &'a Site<'a>,
    view: &'a RunView,
    directory: &'a PageDirectory,
}

impl Writer<'_> {
    fn keeps(&self, name: &str, digest: &str) -> bool {
        !self.args.again && self.directory.keeps(name, digest)
    }

    fn page(&self, page: &SitePage) -> Result<(), Failure> {
        let (name, content) = (self.site.path(page), self.site.content(page));
        let digest = format!("{:016x}", XxHash3_64::oneshot(content.as_bytes()));
        if self.keeps(&name, &digest) {
            return Ok(());
        }
        self.directory.write(&name, &digest, content.as_bytes()).map_err(Failure::failed)
    }

    /// The page of a run, which is made again only if its log, the program or the reader's choices are others.
    fn run(&self, number: usize) -> Result<(), Failure> {
        let (store, summary) = &self.made.stored[number];
        let name = self.site.run_path(number);
        let of = (
            env!("CARGO_PKG_VERSION"),
            &summary.id,
            summary.file_bytes,
            summary.modified_ns,
            &self.args.title,
            format!("{:?} {:?}", self.view.units, self.view.time_zone.iana_name()),
        );
        let digest = format!("{:016x}", XxHash3_64::oneshot(format!("{of:?}").as_bytes()));
        if self.keeps(&name, &digest) {
            return Ok(());
        }
        let run = self.stores[*store].read(summary).map_err(Failure::failed)?.run;
        let baseline = run.started.baseline.clone();
        let analysis = analyse(&run, &baseline, Estimator::Mean, units(self.cli, Some(&run)));
        let view = RunView { units: units(self.cli, Some(&run)), baseline, ..self.view.clone() };
        let page = self.site.run(number, &AnalysedRun::new(&run, &analysis, &view));
        self.directory.write(&name, &digest, page.as_bytes()).map_err(Failure::failed)
    }
}
