//! The tables of a site.

use std::collections::{BTreeMap, BTreeSet};

use analyse::{ChangePoint, FigureKey, History};

use super::{SHOWN_CHANGES, Site, SiteRun, figure_path, machine_path, period_path, suite_path, target_path};
use crate::document::{Align, Cell, Column, Section, Table, Tone};
use crate::figures::display_metric;
use crate::history::{by, is_worse};
use crate::view::when;

/// Values that the page of a figure shows.
const SHOWN_VALUES: usize = 200;

fn left(heading: &'static str) -> Column {
    Column::new(heading, Align::Left)
}

fn right(heading: &'static str) -> Column {
    Column::new(heading, Align::Right)
}

impl Site<'_> {
    fn moment_words(&self, run: usize) -> String {
        when(self.followed.runs[run].started_unix_ns, &self.followed.view.time_zone)
    }

    /// What changed, the latest first, with links.
    pub(super) fn changed_sections(&self) -> Vec<Section> {
        let histories = self.followed.histories;
        let row = |history: &History, change: &ChangePoint, run: usize| {
            let key = &history.key;
            let (words, tone) = match (change.is_confirmed, is_worse(key.metric, change.ratio.value)) {
                (false, _) => (format!("{}, suspected", by(key.metric, change.ratio)), Tone::Open),
                (true, true) => (by(key.metric, change.ratio), Tone::Bad),
                (true, false) => (by(key.metric, change.ratio), Tone::Good),
            };
            let cells = vec![
                Cell::linked(self.figure_title(key), figure_path(key)),
                Cell::linked(key.target.clone(), target_path(&key.host, &key.target)),
                Cell::linked(key.host.clone(), machine_path(&key.host)),
                Cell::text(words).tone(tone),
                Cell::linked(self.moment_words(run), self.run_path(run)),
            ];
            (run, cells)
        };
        let of_moments = self.followed.moments.iter().flat_map(|(moment, _)| {
            let of = |(history, change): &(usize, usize)| {
                let history = &histories[*history];
                row(history, &history.course.changes[*change], moment.run)
            };
            moment.changes.iter().map(of)
        });
        let suspected = histories.iter().flat_map(|history| {
            let changes = history.course.changes.iter().filter(|change| !change.is_confirmed);
            changes.map(|change| row(history, change, history.figures[change.at].run))
        });
        let mut rows: Vec<(usize, Vec<Cell>)> = of_moments.chain(suspected).collect();
        rows.sort_by_key(|(run, _)| std::cmp::Reverse(*run));
        if rows.is_empty() {
            return Vec::new();
        }
        let title = match rows.len() {
            n if n > SHOWN_CHANGES => format!("The latest {SHOWN_CHANGES} of {n} changes"),
            _ => "Changes, the latest first".to_owned(),
        };
        let rows = rows.into_iter().take(SHOWN_CHANGES).map(|(_, row)| row).collect();
        let columns =
            vec![left("figure"), left("target"), left("machine"), left("change (95 %)"), left("since")];
        let table = Table { title, columns, stub: 1, rows };
        vec![Section::Heading("What changed".to_owned()), Section::Table(table)]
    }

    /// The odd machines, with links.
    pub(super) fn odd_sections(&self) -> Vec<Section> {
        if self.followed.odd.is_empty() {
            return Vec::new();
        }
        let row = |one: &analyse::OddMachine| {
            let key = &self.followed.histories[one.history].key;
            let tone = if is_worse(key.metric, one.odd.ratio.value) { Tone::Bad } else { Tone::Good };
            vec![
                Cell::linked(key.host.clone(), machine_path(&key.host)),
                Cell::linked(self.figure_title(key), figure_path(key)),
                Cell::linked(key.target.clone(), target_path(&key.host, &key.target)),
                Cell::text(by(key.metric, one.odd.ratio)).tone(tone),
                Cell::text(one.odd.among.to_string()),
            ]
        };
        let table = Table {
            title: "Machines that do not fit to the others".to_owned(),
            columns: vec![
                left("machine"),
                left("figure"),
                left("target"),
                left("against the others (95 %)"),
                right("machines"),
            ],
            stub: 1,
            rows: self.followed.odd.iter().take(SHOWN_CHANGES).map(row).collect(),
        };
        vec![Section::Heading("What is odd".to_owned()), Section::Table(table)]
    }

    /// The latest runs that are meant, with links from a directory that is `up` below the root.
    pub(super) fn runs_table(
        &self,
        title: &str,
        up: &str,
        is_meant: &dyn Fn(&SiteRun) -> bool,
        most: usize,
    ) -> Table {
        let meant = (0..self.runs.len()).rev().filter(|number| is_meant(&self.runs[*number]));
        self.numbered_runs_table(title, up, meant.take(most))
    }

    pub(super) fn numbered_runs_table(
        &self,
        title: &str,
        up: &str,
        numbers: impl Iterator<Item = usize>,
    ) -> Table {
        let row = |number: usize| {
            let run = &self.runs[number];
            let state = match (run.is_imported, run.state) {
                (true, _) => Cell::text("imported"),
                (false, "completed") => Cell::text("completed").tone(Tone::Dim),
                (false, other) => Cell::text(other).tone(Tone::Open),
            };
            let hosts: Vec<&str> = run.hosts().into_iter().map(String::as_str).collect();
            let host = match hosts.as_slice() {
                [only] => Cell::linked(*only, format!("{up}{}", machine_path(only))),
                several => Cell::text(several.join(", ")),
            };
            vec![
                Cell::linked(self.followed.runs[number].id.clone(), format!("{up}{}", self.run_path(number))),
                Cell::text(self.moment_words(number)),
                host,
                Cell::linked(run.suite.clone(), format!("{up}{}", suite_path(&run.suite))),
                Cell::text(run.targets().join(", ")),
                state,
            ]
        };
        let columns = vec![
            left("run"),
            left("started"),
            left("machine"),
            left("suite"),
            left("targets"),
            left("state"),
        ];
        Table { title: title.to_owned(), columns, stub: 1, rows: numbers.map(row).collect() }
    }

    /// Confirmed changes of figures that are meant.
    fn changes_of(&self, is_meant: impl Fn(&FigureKey) -> bool) -> Cell {
        let own = self.followed.histories.iter().filter(|history| is_meant(&history.key));
        let of = |history: &History| history.course.changes.iter().filter(|c| c.is_confirmed).count();
        let changes: usize = own.map(of).sum();
        Cell::text(changes.to_string()).tone(if changes > 0 { Tone::Open } else { Tone::Dim })
    }

    pub(super) fn machines_table(&self) -> Table {
        let mut machines: BTreeMap<&String, (BTreeSet<&String>, usize, usize)> = BTreeMap::new();
        for (number, run) in self.runs.iter().enumerate() {
            for host in run.hosts() {
                let (targets, runs, last) = machines.entry(host).or_default();
                targets
                    .extend(run.places.iter().filter(|(own, ..)| own == host).map(|(_, target, _)| target));
                (*runs, *last) = (*runs + 1, number);
            }
        }
        let row = |(host, (targets, runs, last)): (&String, (BTreeSet<&String>, usize, usize))| {
            vec![
                Cell::linked(host.clone(), machine_path(host)),
                Cell::text(targets.len().to_string()),
                Cell::text(runs.to_string()),
                self.changes_of(|key| key.host == *host),
                Cell::linked(self.moment_words(last), self.run_path(last)),
            ]
        };
        let columns =
            vec![left("machine"), right("targets"), right("runs"), right("changes"), left("last run")];
        Table {
            title: "All machines".to_owned(),
            columns,
            stub: 1,
            rows: machines.into_iter().map(row).collect(),
        }
    }

    pub(super) fn targets_table(&self, host: &str) -> Table {
        let mut targets: BTreeMap<&String, (BTreeSet<&String>, usize, usize)> = BTreeMap::new();
        for (number, run) in self.runs.iter().enumerate() {
            for (_, target, own) in run.places.iter().filter(|(of, ..)| of == host) {
                let (labels, runs, last) = targets.entry(target).or_default();
                labels.extend(own);
                (*runs, *last) = (*runs + 1, number);
            }
        }
        let has_page: BTreeSet<&String> = self
            .followed
            .histories
            .iter()
            .filter(|history| history.key.host == host)
            .map(|history| &history.key.target)
            .collect();
        let row = |(target, (labels, runs, last)): (&String, (BTreeSet<&String>, usize, usize))| {
            let link = has_page.contains(target).then(|| format!("../{}", target_path(host, target)));
            let labels: Vec<&str> = labels.iter().map(|label| label.as_str()).collect();
            vec![
                Cell { link, ..Cell::text(target.clone()) },
                Cell::text(labels.join(", ")),
                Cell::text(runs.to_string()),
                self.changes_of(|key| key.host == host && key.target == *target),
                Cell::linked(self.moment_words(last), format!("../{}", self.run_path(last))),
            ]
        };
        let columns = vec![left("target"), left("labels"), right("runs"), right("changes"), left("last run")];
        Table { title: "Targets".to_owned(), columns, stub: 1, rows: targets.into_iter().map(row).collect() }
    }

    pub(super) fn suites_table(&self) -> Table {
        let mut suites: BTreeMap<&String, (usize, usize)> = BTreeMap::new();
        for (number, run) in self.runs.iter().enumerate() {
            let (runs, last) = suites.entry(&run.suite).or_default();
            (*runs, *last) = (*runs + 1, number);
        }
        let row = |(suite, (runs, last)): (&String, (usize, usize))| {
            vec![
                Cell::linked(suite.clone(), suite_path(suite)),
                Cell::text(runs.to_string()),
                Cell::linked(self.moment_words(last), self.run_path(last)),
            ]
        };
        let columns = vec![left("suite"), right("runs"), left("last run")];
        Table { title: "Suites".to_owned(), columns, stub: 1, rows: suites.into_iter().map(row).collect() }
    }

    pub(super) fn periods_table(&self) -> Table {
        let mut periods: BTreeMap<&String, usize> = BTreeMap::new();
        self.periods.iter().for_each(|period| *periods.entry(period).or_default() += 1);
        let row = |(period, runs): (&&String, &usize)| {
            vec![Cell::linked(period.as_str(), period_path(period)), Cell::text(runs.to_string())]
        };
        let columns = vec![left("time"), right("runs")];
        Table {
            title: "All runs by time".to_owned(),
            columns,
            stub: 1,
            rows: periods.iter().rev().map(row).collect(),
        }
    }

    /// The machines of a suite, each with its runs.
    pub(super) fn hosts_of_suite_table(&self, suite: &str) -> Table {
        let mut hosts: BTreeMap<&String, (usize, usize)> = BTreeMap::new();
        for (number, run) in self.runs.iter().enumerate().filter(|(_, run)| run.suite == suite) {
            for host in run.hosts() {
                let (runs, last) = hosts.entry(host).or_default();
                (*runs, *last) = (*runs + 1, number);
            }
        }
        let row = |(host, (runs, last)): (&String, (usize, usize))| {
            vec![
                Cell::linked(host.clone(), format!("../{}", machine_path(host))),
                Cell::text(runs.to_string()),
                Cell::linked(self.moment_words(last), format!("../{}", self.run_path(last))),
            ]
        };
        let columns = vec![left("machine"), right("runs"), left("last run")];
        Table { title: "Machines".to_owned(), columns, stub: 1, rows: hosts.into_iter().map(row).collect() }
    }

    /// The values of a figure, the latest first.
    pub(super) fn values_table(&self, history: &History) -> Table {
        let show = |value: f64| display_metric(history.key.metric, value, self.followed.view.units);
        let row = |past: &analyse::PastFigure| {
            let interval = past.figure.interval;
            let interval =
                interval.map_or_else(String::new, |(low, high)| format!("{} – {}", show(low), show(high)));
            vec![
                Cell::linked(
                    self.followed.runs[past.run].id.clone(),
                    format!("../{}", self.run_path(past.run)),
                ),
                Cell::text(self.moment_words(past.run)),
                Cell { value: Some(past.figure.value), ..Cell::text(show(past.figure.value)) },
                Cell::text(interval),
            ]
        };
        let n = history.figures.len();
        let title = match n {
            n if n > SHOWN_VALUES => format!("The latest {SHOWN_VALUES} of {n} values"),
            _ => "Values, the latest first".to_owned(),
        };
        let columns = vec![left("run"), left("started"), right("value"), right("95 % interval")];
        let rows = history.figures.iter().rev().take(SHOWN_VALUES).map(row).collect();
        Table { title, columns, stub: 1, rows }
    }
}
