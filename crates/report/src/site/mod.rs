//! A site of static pages: what changed, what is odd, machines, targets, suites, the history of every figure, every run.
//!
//! # Invariants
//! * Every page is a file that any web server can serve, or nobody: links are relative, and nothing is fetched from elsewhere.
//! * Without scripts everything works but the search.
//! * The same runs give the same bytes.

mod names;
mod parts;

use std::collections::{BTreeMap, BTreeSet};

use analyse::{Difference, FigureKey, History, Moment, OddMachine};
use maud::{DOCTYPE, Markup, html};

use crate::answer::answers;
use crate::chart::{course, style};
use crate::document::{Document, Section};
use crate::history::{Followed, history_document};
use crate::page::{
    PAGE_STYLE, SCRIPT, figure, harmless_json, head, header, run_section, run_title, sections,
};
use crate::terminal::escape_text;
use crate::view::{AnalysedRun, when};
use crate::words::short;
use names::name;

const SITE_STYLE: &str = include_str!("site.css");
const SITE_SCRIPT: &str = include_str!("site.js");
/// Nothing may be fetched but what is beside the page, whatever a name contains.
const POLICY: &str = "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; img-src data:";
/// The directories of a site.
pub const SITE_PARTS: [&str; 6] = ["figures", "machines", "runs", "suites", "targets", "times"];
/// Runs that a page shows of many.
const SHOWN_RUNS: usize = 30;
/// Runs of a month that one page has; of more, each day has one.
const MOST_RUNS: usize = 1_000;
/// Changes that the first page shows.
const SHOWN_CHANGES: usize = 30;

/// A run of a site; that with the same number in the history has its id and its time.
#[derive(Clone, Debug)]
pub struct SiteRun {
    /// Its targets, each with the machine that it is of and its labels as `key=value`.
    pub places: Vec<(String, String, Vec<String>)>,
    /// The suite.
    pub suite: String,
    /// Its state, such as `completed`.
    pub state: &'static str,
    /// True if the figures are those of another program.
    pub is_imported: bool,
}

impl SiteRun {
    /// The machines.
    fn hosts(&self) -> BTreeSet<&String> {
        self.places.iter().map(|(host, ..)| host).collect()
    }

    /// Names of the targets.
    fn targets(&self) -> Vec<&str> {
        self.places.iter().map(|(_, target, _)| target.as_str()).collect()
    }

    fn is_of(&self, host: &str) -> bool {
        self.places.iter().any(|(own, ..)| own == host)
    }
}

/// What a site is made of.
#[derive(Clone, Debug)]
pub struct Site<'a> {
    title: &'a str,
    followed: &'a Followed<'a>,
    others: &'a [History],
    runs: &'a [SiteRun],
    /// The month of each run, or its day where the month has too many runs for a page.
    periods: Vec<String>,
}

/// A page of a site.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SitePage {
    /// What is new, what changed, what is odd.
    Start,
    /// A machine.
    Machine(String),
    /// A target of a machine.
    Target(String, String),
    /// A suite.
    Suite(String),
    /// The history of the headline figure with this number.
    Figure(usize),
    /// The runs of a month, or of a day.
    Period(String),
    /// The style of all pages.
    Style,
    /// The script of all pages.
    Script,
    /// What can be searched for.
    Entries,
}

/// The way from the start to a page: paths from the root, and words.
type Trail = Vec<(String, String)>;

impl<'a> Site<'a> {
    /// A site of that title: the headline figures with all that is told of them, the histories of the other metrics, and the runs, as many as
    /// those of the histories.
    pub fn new(
        title: &'a str,
        followed: &'a Followed<'a>,
        others: &'a [History],
        runs: &'a [SiteRun],
    ) -> Self {
        const MONTH: usize = "2026-11".len();
        const DAY: usize = "2026-11-28".len();
        let days: Vec<String> = followed
            .runs
            .iter()
            .map(|run| when(run.started_unix_ns, &followed.view.time_zone).chars().take(DAY).collect())
            .collect();
        let mut months: BTreeMap<&str, usize> = BTreeMap::new();
        days.iter().for_each(|day| *months.entry(&day[..MONTH]).or_default() += 1);
        let period = |day: &String| {
            let month = &day[..MONTH];
            if months[month] > MOST_RUNS { day.clone() } else { month.to_owned() }
        };
        let periods = days.iter().map(period).collect();
        Self { title, followed, others, runs, periods }
    }
}

impl Site<'_> {
    /// All pages but those of the runs.
    pub fn pages(&self) -> Vec<SitePage> {
        let mut pages =
            BTreeSet::from([SitePage::Start, SitePage::Style, SitePage::Script, SitePage::Entries]);
        for (number, run) in self.runs.iter().enumerate() {
            pages.extend(run.hosts().into_iter().cloned().map(SitePage::Machine));
            pages.insert(SitePage::Suite(run.suite.clone()));
            pages.insert(SitePage::Period(self.periods[number].clone()));
        }
        for (number, history) in self.followed.histories.iter().enumerate() {
            pages.insert(SitePage::Figure(number));
            let FigureKey { host, target, .. } = &history.key;
            pages.insert(SitePage::Machine(host.clone()));
            pages.insert(SitePage::Target(host.clone(), target.clone()));
        }
        pages.into_iter().collect()
    }

    /// The file of a page, from the root of the site.
    pub fn path(&self, page: &SitePage) -> String {
        match page {
            SitePage::Start => "index.html".to_owned(),
            SitePage::Style => "site.css".to_owned(),
            SitePage::Script => "site.js".to_owned(),
            SitePage::Entries => "search.js".to_owned(),
            SitePage::Machine(host) => machine_path(host),
            SitePage::Target(host, target) => target_path(host, target),
            SitePage::Suite(suite) => suite_path(suite),
            SitePage::Period(period) => period_path(period),
            SitePage::Figure(number) => figure_path(&self.followed.histories[*number].key),
        }
    }

    /// The content of a page.
    pub fn content(&self, page: &SitePage) -> String {
        match page {
            SitePage::Start => self.start(),
            SitePage::Style => format!("{}{PAGE_STYLE}{SITE_STYLE}", style()),
            SitePage::Script => format!("{SCRIPT}{SITE_SCRIPT}"),
            SitePage::Entries => self.entries(),
            SitePage::Machine(host) => self.machine(host),
            SitePage::Target(host, target) => self.target(host, target),
            SitePage::Suite(suite) => self.suite(suite),
            SitePage::Period(period) => self.period(period),
            SitePage::Figure(number) => self.figure(*number),
        }
    }

    /// The file of the run with this number.
    pub fn run_path(&self, number: usize) -> String {
        format!("runs/{}.html", name(&[&self.followed.runs[number].id]))
    }

    /// The page of a run.
    pub fn run(&self, number: usize, analysed: &AnalysedRun<'_>) -> String {
        let title = run_title(analysed);
        let body = html! {
            (header(&title, &answers(analysed)))
            main { (run_section(analysed, 2)) }
        };
        let hosts = self.runs[number].hosts();
        let host = hosts.first().map(|host| (machine_path(host), (*host).clone()));
        let period = &self.periods[number];
        let trail: Trail = host.into_iter().chain([(period_path(period), period.clone())]).collect();
        let id = &self.followed.runs[number].id;
        self.whole(&title, 1, &trail, &format!("Run {id}"), &body)
    }

    /// Only the figures that are meant, with what is told of them.
    fn only(&self, is_meant: impl Fn(&FigureKey) -> bool) -> Part {
        let all = self.followed.histories;
        let numbers: Vec<usize> = (0..all.len()).filter(|number| is_meant(&all[*number].key)).collect();
        let new = |number: usize| numbers.binary_search(&number).ok();
        let moment = |(moment, differences): &(Moment, Option<Vec<Difference>>)| {
            let changes: Vec<(usize, usize)> = moment
                .changes
                .iter()
                .filter_map(|(history, change)| Some((new(*history)?, *change)))
                .collect();
            (!changes.is_empty()).then(|| (Moment { changes, ..moment.clone() }, differences.clone()))
        };
        let odd = |one: &OddMachine| Some(OddMachine { history: new(one.history)?, odd: one.odd });
        Part {
            moments: self.followed.moments.iter().filter_map(moment).collect(),
            odd: self.followed.odd.iter().filter_map(odd).collect(),
            histories: numbers.iter().map(|number| all[*number].clone()).collect(),
        }
    }

    /// The answer and the table of a part, whose figures are linked.
    fn part_document(&self, part: &Part, runs: usize) -> Document {
        let followed =
            Followed { histories: &part.histories, moments: &part.moments, odd: &part.odd, ..*self.followed };
        let mut document = history_document(&followed);
        if runs < 2 || part.histories.is_empty() {
            document.answer = vec!["There are too few runs of the same steps for a history.".to_owned()];
            document.sections.clear();
        }
        for section in &mut document.sections {
            let Section::Table(table) = section else { continue };
            for (row, history) in table.rows.iter_mut().zip(&part.histories) {
                row[0].link = Some(format!("../{}", figure_path(&history.key)));
            }
        }
        document
    }

    fn start(&self) -> String {
        let document = history_document(self.followed);
        let answer = match self.followed.histories {
            [] => vec!["There are too few runs of the same steps for a history.".to_owned()],
            _ => document.answer,
        };
        let search = html! {
            div.search role="search" data-entries="search.js" hidden {
                label for="search" { "Search machines, targets, suites, figures, labels and runs" }
                input #search type="search" autocomplete="off";
                p.small role="status" {}
                ul {}
            }
        };
        let mut body = self.changed_sections();
        body.extend(self.odd_sections());
        body.push(Section::Heading("New".to_owned()));
        body.push(Section::Table(self.runs_table("Latest runs", "", &|_| true, SHOWN_RUNS / 3)));
        body.push(Section::Heading("Machines".to_owned()));
        body.push(Section::Table(self.machines_table()));
        body.push(Section::Heading("Suites and times".to_owned()));
        body.push(Section::Table(self.suites_table()));
        body.push(Section::Table(self.periods_table()));
        let body = html! {
            (header(self.title, &answer))
            main { (search) (sections(&body, 2)) }
        };
        self.whole(self.title, 0, &Vec::new(), "", &body)
    }

    fn machine(&self, host: &str) -> String {
        let part = self.only(|key| key.host == host);
        let is_own = |run: &SiteRun| run.is_of(host);
        let runs = self.runs.iter().filter(|run| is_own(run)).count();
        let mut document = self.part_document(&part, runs);
        document.sections.insert(0, Section::Table(self.targets_table(host)));
        document.sections.push(Section::Heading("Runs".to_owned()));
        document.sections.push(Section::Table(self.runs_table("Latest runs", "../", &is_own, SHOWN_RUNS)));
        self.page_of(&format!("Machine {host}"), &Vec::new(), host, &document, &html! {})
    }

    fn target(&self, host: &str, target: &str) -> String {
        let part = self.only(|key| key.host == host && key.target == target);
        let is_own = |run: &SiteRun| {
            run.places.iter().any(|(of, own, _)| (of.as_str(), own.as_str()) == (host, target))
        };
        let runs = self.runs.iter().filter(|run| is_own(run)).count();
        let mut document = self.part_document(&part, runs);
        document.sections.push(Section::Heading("Runs".to_owned()));
        document.sections.push(Section::Table(self.runs_table("Latest runs", "../", &is_own, SHOWN_RUNS)));
        let charts = html! {
            h2 { "Histories" }
            @for history in &part.histories {
                @let title = self.figure_title(&history.key);
                @for chart in course(history, self.followed.runs, &title, self.followed.view) {
                    (figure(&chart, 3))
                }
            }
        };
        let trail = vec![(machine_path(host), host.to_owned())];
        self.page_of(&format!("{target} of {host}"), &trail, target, &document, &charts)
    }

    fn suite(&self, suite: &str) -> String {
        let is_own = |run: &SiteRun| run.suite == suite;
        let machines: BTreeSet<&String> =
            self.runs.iter().filter(|run| is_own(run)).flat_map(SiteRun::hosts).collect();
        let runs = self.runs.iter().filter(|run| is_own(run)).count();
        let answer = format!(
            "{} on {}.",
            model::units::counted(runs, "run"),
            model::units::counted(machines.len(), "machine")
        );
        let document = Document {
            title: String::new(),
            answer: vec![answer],
            sections: vec![
                Section::Table(self.hosts_of_suite_table(suite)),
                Section::Table(self.runs_table("Latest runs", "../", &is_own, SHOWN_RUNS)),
            ],
        };
        self.page_of(&format!("Suite {suite}"), &Vec::new(), &format!("suite {suite}"), &document, &html! {})
    }

    fn period(&self, period: &str) -> String {
        let numbers = (0..self.runs.len()).filter(|number| self.periods[*number] == period);
        let numbers: BTreeSet<usize> = numbers.collect();
        let document = Document {
            title: String::new(),
            answer: vec![format!("{}.", model::units::counted(numbers.len(), "run"))],
            sections: vec![Section::Table(self.numbered_runs_table(
                &format!("Runs of {period}"),
                "../",
                numbers.iter().rev().copied(),
            ))],
        };
        self.page_of(&format!("Runs of {period}"), &Vec::new(), period, &document, &html! {})
    }

    fn figure(&self, number: usize) -> String {
        let history = &self.followed.histories[number];
        let key = &history.key;
        let part = self.only(|own| own == key);
        let mut document = self.part_document(&part, history.figures.len());
        let values = document.sections.pop();
        let title = self.figure_title(key);
        let is_same = |other: &&History| FigureKey { metric: key.metric, ..other.key.clone() } == *key;
        let others: Vec<&History> = self.others.iter().filter(is_same).collect();
        let charts = html! {
            @for chart in course(history, self.followed.runs, &title, self.followed.view) { (figure(&chart, 2)) }
            @if !others.is_empty() {
                h2 { "Other metrics" }
                @for other in &others {
                    @let title = format!("{title}: {}", metric_heading(other.key.metric));
                    @for chart in course(other, self.followed.runs, &title, self.followed.view) {
                        (figure(&chart, 3))
                    }
                }
            }
        };
        document.sections = values.into_iter().chain([Section::Table(self.values_table(history))]).collect();
        let trail = vec![
            (machine_path(&key.host), key.host.clone()),
            (target_path(&key.host, &key.target), key.target.clone()),
        ];
        let heading = format!("{title} · {} of {}", key.target, key.host);
        self.page_with(&heading, &trail, &title, &document, &charts, true)
    }

    fn page_of(&self, title: &str, trail: &Trail, here: &str, document: &Document, more: &Markup) -> String {
        self.page_with(title, trail, here, document, more, false)
    }

    /// A page of a document, with something below or above its sections.
    fn page_with(
        &self,
        title: &str,
        trail: &Trail,
        here: &str,
        document: &Document,
        more: &Markup,
        is_above: bool,
    ) -> String {
        let body = html! {
            (header(title, &document.answer))
            main {
                @if is_above { (more) }
                (sections(&document.sections, 2))
                @if !is_above { (more) }
            }
        };
        self.whole(title, 1, trail, here, &body)
    }

    fn figure_title(&self, key: &FigureKey) -> String {
        let title = self.followed.titles.get(key).map_or(key.step.as_str(), String::as_str);
        let mut title = title.to_owned();
        title.get_mut(..1).into_iter().for_each(str::make_ascii_uppercase);
        title
    }

    /// The whole file. Control and invisible characters are escaped, such as `\u{202e}`.
    fn whole(&self, title: &str, depth: usize, trail: &Trail, here: &str, body: &Markup) -> String {
        let up = "../".repeat(depth);
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                (head(title, POLICY, &html! { link rel="stylesheet" href={ (up) "site.css" }; }))
                body {
                    @if depth > 0 {
                        nav aria-label="Where this page is" {
                            ol {
                                li { a href={ (up) "index.html" } { (short(self.title, 60)) } }
                                @for (path, words) in trail {
                                    li { a href={ (up) (path) } { (short(words, 60)) } }
                                }
                                li aria-current="page" { (short(here, 80)) }
                            }
                        }
                    }
                    (body)
                    div #tip role="status" {}
                    script src={ (up) "site.js" } {}
                }
            }
        };
        format!("{}\n", escape_text(&page.into_string()))
    }

    /// What can be searched for: kind, name, further words, page.
    fn entries(&self) -> String {
        let mut entries: Vec<[String; 4]> = Vec::new();
        let mut labels: BTreeMap<(&String, &String), BTreeSet<&String>> = BTreeMap::new();
        for run in self.runs {
            for (host, target, own) in &run.places {
                labels.entry((host, target)).or_default().extend(own);
            }
        }
        let words_of = |host: &String, target: &String| {
            let labels = labels.get(&(host, target)).into_iter().flatten().map(|label| label.as_str());
            labels.collect::<Vec<&str>>().join(" ")
        };
        for page in self.pages() {
            let path = self.path(&page);
            let [kind, name, words] = match &page {
                SitePage::Machine(host) => ["machine", host, ""].map(str::to_owned),
                SitePage::Suite(suite) => ["suite", suite, ""].map(str::to_owned),
                SitePage::Target(host, target) => {
                    ["target".to_owned(), target.clone(), format!("{host} {}", words_of(host, target))]
                }
                SitePage::Figure(number) => {
                    let key = &self.followed.histories[*number].key;
                    let labels = words_of(&key.host, &key.target);
                    let words = format!("{} {} {} {labels}", key.target, key.host, key.step);
                    ["figure".to_owned(), self.figure_title(key), words]
                }
                _ => continue,
            };
            entries.push([kind, name, words.trim().to_owned(), path]);
        }
        for (number, run) in self.runs.iter().enumerate().rev() {
            let past = &self.followed.runs[number];
            let hosts: Vec<&str> = run.hosts().into_iter().map(String::as_str).collect();
            let labels: BTreeSet<&str> =
                run.places.iter().flat_map(|(.., labels)| labels).map(String::as_str).collect();
            let words = [
                when(past.started_unix_ns, &self.followed.view.time_zone),
                hosts.join(" "),
                run.suite.clone(),
                run.targets().join(" "),
                labels.into_iter().collect::<Vec<&str>>().join(" "),
            ];
            entries.push(["run".to_owned(), past.id.clone(), words.join(" "), self.run_path(number)]);
        }
        let json = serde_json::to_string(&entries).unwrap_or_default();
        format!("window.lodestoneSearch={};\n", harmless_json(&json))
    }
}

/// Figures of a site.
struct Part {
    histories: Vec<History>,
    moments: Vec<(Moment, Option<Vec<Difference>>)>,
    odd: Vec<OddMachine>,
}

fn machine_path(host: &str) -> String {
    format!("machines/{}.html", name(&[host]))
}

fn target_path(host: &str, target: &str) -> String {
    format!("targets/{}.html", name(&[host, target]))
}

fn suite_path(suite: &str) -> String {
    format!("suites/{}.html", name(&[suite]))
}

fn period_path(period: &str) -> String {
    format!("times/{}.html", name(&[period]))
}

fn figure_path(key: &FigureKey) -> String {
    let FigureKey { host, target, step, workload, operation, .. } = key;
    format!("figures/{}.html", name(&[host, target, step, operation.name(), &format!("{workload:x}")]))
}

fn metric_heading(metric: model::Metric) -> &'static str {
    match metric {
        model::Metric::Bandwidth => "bandwidth",
        model::Metric::Iops => "operations per second",
        model::Metric::LatMean => "mean latency",
        model::Metric::LatP50 => "median latency",
        model::Metric::LatP99 => "p99 latency",
        other => other.name(),
    }
}
