//! Every target compared with every other: which pairs are decided, how often who wins, and by how much in each figure.

use analyse::{Pairing, Series, compare_all, headline_operations};
use model::{Comparison, Estimate, Run, Step, Verdict};

use crate::answer::table::{mark, mark_with_interval};
use crate::answer::{LONGEST_NAME, in_time, time_of_rounds};
use crate::document::{Align, Cell, Column, Document, Section, Table, Tone};
use crate::figures::display_margin;
use crate::words::{figure_name, figure_words, listed, short};

/// Undecided pairs that the first sentence names.
const NAMED: usize = 3;

/// The comparisons of every two targets.
#[derive(Clone, Debug)]
pub struct AllPairs<'a> {
    /// The runs that measured them.
    pub runs: Vec<&'a Run>,
    /// The names of the targets, in the order in which they are shown.
    pub targets: Vec<&'a str>,
    /// The headline figures of each pair, once for each pair.
    pub comparisons: Vec<Comparison>,
    /// Ratios this close to 1 are the same, as a share.
    pub margin: f64,
}

/// More targets than this make a table that no page can show.
const MOST_ON_PAGE: usize = 12;

impl<'a> AllPairs<'a> {
    /// Compares every two targets of these series.
    ///
    /// # Errors
    /// There are not two targets with figures, or more than `most`: how many there are.
    pub fn new(
        runs: Vec<&'a Run>,
        series: &'a [Series],
        pairing: Pairing,
        margin: f64,
        most: usize,
    ) -> Result<Self, usize> {
        let mut targets: Vec<&str> = Vec::new();
        for one in series.iter().filter(|s| s.is_headline) {
            if !targets.contains(&one.target.as_str()) {
                targets.push(&one.target);
            }
        }
        if !(2..=most).contains(&targets.len()) {
            return Err(targets.len());
        }
        Ok(Self { comparisons: compare_all(series, &targets, pairing, margin), runs, targets, margin })
    }

    /// What a page shows of the pairs: nothing where there is only the one with the baseline, or too many.
    pub fn on_page(
        runs: Vec<&'a Run>,
        series: &'a [Series],
        pairing: Pairing,
        margin: f64,
    ) -> Option<Vec<Section>> {
        let pairs = Self::new(runs, series, pairing, margin, MOST_ON_PAGE).ok()?;
        let sections = || [vec![Section::Text(pairs.sentence())], pairs.sections()].concat();
        (pairs.targets.len() > 2).then(sections)
    }
}

/// The comparisons of every two targets as a document: what is undecided, the pairs, and the figures of each pair.
pub fn pairs_document(pairs: &AllPairs<'_>) -> Document {
    let ids: Vec<&str> = pairs.runs.iter().map(|run| run.started.id.as_str()).collect();
    let plural = if ids.len() == 1 { "" } else { "s" };
    let title = format!("All pairs of {} targets · run{plural} {}", pairs.targets.len(), ids.join(", "));
    Document { title, answer: vec![pairs.sentence()], sections: pairs.sections() }
}

impl AllPairs<'_> {
    /// What is decided, and what cannot be told apart.
    pub(crate) fn sentence(&self) -> String {
        let all = self.comparisons.len();
        if all == 0 {
            return "No two targets have a figure in common.".to_owned();
        }
        let of = |is: &dyn Fn(&Comparison) -> bool| self.comparisons.iter().filter(|c| is(c)).count();
        let same = of(&|c| c.verdict == Verdict::Same);
        let once = of(&|c| c.ratio.interval.is_none());
        let open: Vec<&Comparison> = self
            .comparisons
            .iter()
            .filter(|c| c.verdict == Verdict::Undecided && c.ratio.interval.is_some())
            .collect();
        let margin = display_margin(self.margin);
        if once == all {
            return "Each figure was measured only once, so any difference may be due to chance.".to_owned();
        }
        let are = |n: usize| if n == 1 { "is" } else { "are" };
        let differ = all - same - open.len() - once;
        let mut counts = vec![match differ {
            0 => "none differs".to_owned(),
            1 => "1 differs".to_owned(),
            n => format!("{n} differ"),
        }];
        counts.extend((same > 0).then(|| format!("{same} {} the same (within {margin})", are(same))));
        counts.extend((!open.is_empty()).then(|| format!("{} {} undecided", open.len(), are(open.len()))));
        counts.extend(
            (once > 0).then(|| {
                format!("{once} were measured only once, so those differences may be due to chance")
            }),
        );
        let counts = format!("Of {all} comparisons, {}.", listed(&counts));
        if open.is_empty() {
            return counts;
        }
        let more = self.more(&open).map_or_else(String::new, |more| format!(" ({more})"));
        if open.len() == all {
            return format!(
                "No two targets can be told apart yet{more}: all {all} comparisons are undecided."
            );
        }
        format!("{}{more}. {counts}", self.undecided(&open))
    }

    /// Which pairs cannot be told apart: those with the most figures first.
    fn undecided(&self, open: &[&Comparison]) -> String {
        let mut pairs: Vec<(String, Vec<String>)> = Vec::new();
        for c in open {
            let pair = listed(&[&c.target, &c.baseline].map(|name| short(name, LONGEST_NAME)));
            let figure =
                self.step(&c.step).map_or_else(|| c.step.clone(), |step| figure_words(step, c.operation));
            match pairs.iter_mut().find(|(known, _)| *known == pair) {
                Some((_, figures)) => figures.push(figure),
                None => pairs.push((pair, vec![figure])),
            }
        }
        pairs.sort_by_key(|(_, figures)| std::cmp::Reverse(figures.len()));
        let told = pairs.iter().take(NAMED).enumerate().map(|(i, (pair, figures))| {
            let verb = if i == 0 { " cannot be told apart yet" } else { "" };
            match figures.as_slice() {
                [only] => format!("{pair}{verb} at {only}"),
                many => format!("{pair}{verb} in {} figures", many.len()),
            }
        });
        let mut told: Vec<String> = told.collect();
        match pairs.len().saturating_sub(NAMED) {
            0 => {}
            1 => told.push("one more pair in some".to_owned()),
            more => told.push(format!("{more} more pairs in some")),
        }
        told.join("; ")
    }

    /// How long it would take to decide these, where a round measures every target.
    fn more(&self, open: &[&Comparison]) -> Option<String> {
        let [run] = self.runs.as_slice() else { return None };
        let steps = run.started.plan.steps.iter();
        let of_step = |step: &Step| {
            let rounds = open.iter().filter(|c| c.step == step.id).map(|c| c.more_rounds);
            let most = rounds.collect::<Option<Vec<u32>>>()?.into_iter().max().unwrap_or(0);
            Some(time_of_rounds(run, &step.id, most, &self.targets))
        };
        in_time(steps.map(of_step).sum::<Option<f64>>())
    }

    fn step(&self, id: &str) -> Option<&Step> {
        self.runs.iter().find_map(|run| run.started.plan.step(id))
    }

    /// The table of the pairs, and that of their figures.
    pub(crate) fn sections(&self) -> Vec<Section> {
        if self.comparisons.is_empty() {
            return Vec::new();
        }
        let words = "In how many figures the row's target is faster (+), slower (−), the same (=) or undecided (?), compared with \
                     the column's. At most one such table in twenty has a wrong verdict.";
        vec![Section::Table(self.counts()), Section::Text(words.to_owned()), Section::Table(self.figures())]
    }

    /// The comparison of a target with another, whichever of the two it was made with.
    fn between(&self, of: &dyn Fn(&Comparison) -> bool, row: &str, column: &str) -> Vec<Comparison> {
        let own = |c: &&Comparison| c.target == row && c.baseline == column;
        let turned = |c: &&Comparison| c.target == column && c.baseline == row;
        let all = || self.comparisons.iter().filter(|c| of(c));
        all().filter(own).cloned().chain(all().filter(turned).map(inverse)).collect()
    }

    fn columns(&self, stub: &[&'static str]) -> Vec<Column> {
        let names = self.targets.iter().map(|t| Column::new(short(t, LONGEST_NAME), Align::Right));
        stub.iter().map(|name| Column::new(*name, Align::Left)).chain(names).collect()
    }

    /// In how many figures each target is faster and slower than each other.
    fn counts(&self) -> Table {
        let cell = |row: &str, column: &str| {
            let all = self.between(&|_| true, row, column);
            let once = all.iter().filter(|c| c.ratio.interval.is_none()).count();
            let count = |verdict| all.iter().filter(|c| c.verdict == verdict).count();
            let [faster, slower, same, open] =
                [Verdict::Faster, Verdict::Slower, Verdict::Same, Verdict::Undecided].map(count);
            let marks = [('+', faster), ('−', slower), ('=', same), ('?', open - once)];
            let marks = marks.into_iter().filter(|(_, n)| *n > 0).map(|(mark, n)| format!("{mark}{n}"));
            let tone = match (faster, slower) {
                (0, 0) => Tone::Dim,
                (_, 0) => Tone::Good,
                (0, _) => Tone::Bad,
                _ => Tone::Plain,
            };
            Cell::text(marks.collect::<Vec<_>>().join(" ")).tone(tone)
        };
        let row = |row: &&str| {
            let cells = self.targets.iter().map(|column| cell(row, column));
            [Cell::text(short(row, LONGEST_NAME))].into_iter().chain(cells).collect()
        };
        let title = "Every pair".to_owned();
        Table { title, columns: self.columns(&[""]), stub: 1, rows: self.targets.iter().map(row).collect() }
    }

    /// By how much each target differs from each other, figure by figure.
    fn figures(&self) -> Table {
        let mut rows = Vec::new();
        let mut steps: Vec<&Step> = Vec::new();
        for step in self.runs.iter().flat_map(|run| &run.started.plan.steps) {
            if !steps.iter().any(|known| known.id == step.id) {
                steps.push(step);
            }
        }
        for step in steps {
            for operation in headline_operations(step) {
                let is_it = |c: &Comparison| c.step == step.id && c.operation == operation;
                let mut name = figure_name(step, operation);
                for row in &self.targets {
                    let cell = |column: &&str| {
                        self.between(&is_it, row, column).first().map_or_else(Cell::default, shown)
                    };
                    let cells: Vec<Cell> = self.targets.iter().map(cell).collect();
                    if cells.iter().any(|cell| !cell.text.is_empty()) {
                        let names =
                            [Cell::text(std::mem::take(&mut name)), Cell::text(short(row, LONGEST_NAME))];
                        rows.push(names.into_iter().chain(cells).collect());
                    }
                }
            }
        }
        let title = "Every figure of every pair: the row's target compared with the column's".to_owned();
        Table { title, columns: self.columns(&["figure", "target"]), stub: 2, rows }
    }
}

/// By how much the figure differs, also where that may be chance.
fn shown(c: &Comparison) -> Cell {
    if c.ratio.interval.is_some() { mark(c) } else { mark_with_interval(c) }
}

/// The same comparison seen from the other target.
fn inverse(c: &Comparison) -> Comparison {
    let Estimate { value, interval } = c.ratio;
    Comparison {
        target: c.baseline.clone(),
        baseline: c.target.clone(),
        ratio: Estimate { value: 1.0 / value, interval: interval.map(|(low, high)| (1.0 / high, 1.0 / low)) },
        verdict: match c.verdict {
            Verdict::Faster => Verdict::Slower,
            Verdict::Slower => Verdict::Faster,
            same => same,
        },
        stalls: None,
        ..c.clone()
    }
}
