//! What a part of the storage costs, in sentences and as a table: encryption, another filesystem, a layer.

use std::collections::BTreeMap;

use analyse::Cost;
use model::{Comparison, Operation, Run, Step, Verdict};

use crate::answer::decided::speed;
use crate::answer::table::{change, mark_with_interval};
use crate::answer::{LONGEST_NAME, TOLD};
use crate::document::{Align, Cell, Column, Table};
use crate::pivot::{Pivot, Row, independent, plain_name};
use crate::view::{AnalysedRun, ComparedRuns};
use crate::words::{figure_name, listed, short};

/// Labels that only the table tells apart, unless there are no others.
const NARROW: [&str; 2] = ["filesystem", "encryption"];

/// The costs of one run or of several, and how their figures are named and ordered.
pub(crate) struct Costs<'a> {
    all: &'a [Cost],
    steps: Vec<&'a Step>,
    margin: f64,
    /// Of one run: it names the figures, and its labels order them.
    run: Option<&'a Run>,
    labels: Option<&'a Pivot<'a>>,
}

impl<'a> Costs<'a> {
    /// Those of a run.
    pub fn of(analysed: &'a AnalysedRun<'a>) -> Self {
        let plan = &analysed.run.started.plan;
        Self {
            all: &analysed.analysis.costs,
            steps: plan.steps.iter().collect(),
            margin: plan.margin(),
            run: Some(analysed.run),
            labels: analysed.labels(),
        }
    }

    /// Those of several runs compared, in these steps.
    pub fn of_compared(compared: &'a ComparedRuns, steps: &[&'a Step]) -> Self {
        let (all, margin) = (compared.costs.as_slice(), compared.margin);
        Self { all, steps: steps.to_vec(), margin, run: None, labels: None }
    }

    /// A sentence for each part: `LUKS costs 12 to 61 % of writes and up to 15 % of reads on hdd`.
    pub fn sentences(&self) -> Vec<String> {
        self.parts().iter().filter_map(|part| part.sentence(self.margin)).collect()
    }

    /// A table for each part: its cost in every figure, in a column for each place.
    pub fn tables(&self) -> Vec<Table> {
        self.parts().iter().map(|part| part.table(self)).collect()
    }

    /// The costs by part, where something is decided. A plainer filesystem or a faster machine in the place of another is one only where it is so in
    /// several places: else the comparison of the targets says the same.
    pub fn parts(&self) -> Vec<Part<'a>> {
        let mut parts: Vec<Part<'a>> = Vec::new();
        for cost in self.all {
            match parts.iter_mut().find(|part| part.of == cost.of) {
                Some(part) => part.costs.push(cost),
                None => parts.push(Part { of: &cost.of, costs: vec![cost], keys: Vec::new() }),
            }
        }
        let is_open = |c: &Comparison| c.verdict == Verdict::Undecided && c.ratio.interval.is_some();
        parts.retain(|part| {
            (self.labels.is_some() || part.costs.len() > 1 || !part.of.contains(" instead of "))
                && !part.costs.iter().flat_map(|cost| &cost.comparisons).all(is_open)
        });
        for part in &mut parts {
            part.keys = independent(&part.costs.iter().map(|cost| cost.on.clone()).collect::<Vec<_>>());
            part.keys.sort_by_key(|key| NARROW.contains(&key.as_str()));
        }
        parts
    }

    /// A comparison's place in the order of the table of labels, else of the plan; `None` for a step that is not in it.
    fn rank(&self, c: &Comparison) -> Option<(usize, usize, Operation)> {
        let at = self.steps.iter().position(|step| step.id == c.step)?;
        let is_it = |row: &Row<'_>| row.step.id == c.step && row.operation == c.operation;
        let rank = self.labels.and_then(|pivot| pivot.rows.iter().position(is_it)).unwrap_or(at);
        Some((rank, at, c.operation))
    }

    /// The figures of a cost in their order, each with its rank and its name.
    pub fn figures<'c>(&self, cost: &'c Cost) -> Vec<((usize, usize, Operation), String, &'c Comparison)> {
        let figure = |c: &'c Comparison| {
            let rank = self.rank(c)?;
            let step = self.steps[rank.1];
            let name = match self.run {
                Some(run) => plain_name(run, step, c.operation),
                None => figure_name(step, c.operation),
            };
            Some((rank, name, c))
        };
        let mut found: Vec<_> = cost.comparisons.iter().filter_map(figure).collect();
        found.sort_by_key(|(rank, ..)| *rank);
        found
    }
}

/// The costs of one part, with the labels that tell them apart.
pub(crate) struct Part<'a> {
    of: &'a str,
    pub costs: Vec<&'a Cost>,
    keys: Vec<String>,
}

/// Where a cost arises, by these labels.
fn place(cost: &Cost, keys: &[String]) -> String {
    let values: Vec<String> = keys.iter().map(|key| short(&cost.on[key], LONGEST_NAME / 2)).collect();
    values.join(" · ")
}

impl Part<'_> {
    fn sentence(&self, margin: f64) -> Option<String> {
        let wide: Vec<String> =
            self.keys.iter().filter(|key| !NARROW.contains(&key.as_str())).cloned().collect();
        let keys = if wide.is_empty() { &self.keys } else { &wide };
        let mut places: Vec<(String, Vec<&Comparison>)> = Vec::new();
        for cost in &self.costs {
            let at = place(cost, keys);
            match places.iter_mut().find(|(known, _)| *known == at) {
                Some((_, all)) => all.extend(&cost.comparisons),
                None => places.push((at, cost.comparisons.iter().collect())),
            }
        }
        let more = places.len().saturating_sub(TOLD);
        // Places where it costs as much are named together.
        let mut told: Vec<(String, Vec<String>)> = Vec::new();
        for (at, all) in places.iter().take(TOLD) {
            let Some(amounts) = amounts(all, margin) else { continue };
            match told.iter_mut().find(|(known, _)| *known == amounts) {
                Some((_, places)) => places.push(at.clone()),
                None => told.push((amounts, vec![at.clone()])),
            }
        }
        let in_words = |(i, (amounts, places)): (usize, (String, Vec<String>))| match (i, listed(&places)) {
            (_, at) if at.is_empty() => amounts,
            (0, at) => format!("{amounts} on {at}"),
            (_, at) => format!("on {at} it {amounts}"),
        };
        let words: Vec<String> = told.into_iter().enumerate().map(in_words).collect();
        if words.is_empty() {
            return None;
        }
        let more = if more > 0 { format!("; {more} more are in the table") } else { String::new() };
        let mut of = self.of.to_owned();
        // The names of filesystems are not capitalised.
        let first = of.get_mut(..1).filter(|_| !self.of.contains(" instead of "));
        first.into_iter().for_each(str::make_ascii_uppercase);
        Some(format!("{of} {}{more}.", words.join("; ")))
    }
}

/// What writes, reads and metadata operations lose, from the least to the most, or how they change where some gain; `None` if
/// nothing is decided.
fn amounts(all: &[&Comparison], margin: f64) -> Option<String> {
    let kinds: [(&str, &dyn Fn(Operation) -> bool); 3] = [
        ("write speed", &|o| matches!(o, Operation::Write | Operation::DurableWrite)),
        ("read speed", &|o| o == Operation::Read),
        ("metadata speed", &|o| !matches!(o, Operation::Write | Operation::DurableWrite | Operation::Read)),
    ];
    let (mut lost, mut changed) = (Vec::new(), Vec::new());
    for (words, is_it) in kinds {
        let counts = |c: &&&Comparison| {
            is_it(c.operation) && (c.verdict != Verdict::Undecided || c.ratio.interval.is_none())
        };
        let speeds = || all.iter().filter(counts).map(|c| speed(c));
        let (Some(slowest), Some(fastest)) = (speeds().reduce(f64::min), speeds().reduce(f64::max)) else {
            continue;
        };
        let percent = |speed: f64| format!("{:.0}", 100.0 * (1.0 - speed));
        let [slowest_words, fastest_words] = [slowest, fastest].map(percent);
        match (1.0 - slowest, 1.0 - fastest) {
            (most, least) if most < margin && least > -margin => lost.push(format!("no {words}")),
            (_, least) if least <= -margin => {
                changed.push(format!("{words} by {} to {}", change(slowest), change(fastest)));
            }
            (_, least) if least < margin => lost.push(format!("up to {slowest_words} % of {words}")),
            _ if slowest_words == fastest_words => lost.push(format!("{slowest_words} % of {words}")),
            _ => lost.push(format!("{fastest_words} to {slowest_words} % of {words}")),
        }
    }
    let parts = [("costs", lost), ("changes", changed)].map(|(verb, what)| (verb, listed(&what)));
    let parts: Vec<String> = parts
        .iter()
        .filter(|(_, what)| !what.is_empty())
        .map(|(verb, what)| format!("{verb} {what}"))
        .collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}

impl Part<'_> {
    /// Such as `What LUKS changes`.
    pub fn title(&self) -> String {
        match self.of.split_once(" instead of ") {
            Some((this, that)) => format!("What {this} changes, compared with {that}"),
            None => format!("What {} changes", self.of),
        }
    }

    /// Where one of its costs arises: its labels, else its target.
    pub fn place(&self, cost: &Cost) -> String {
        match place(cost, &self.keys) {
            at if at.is_empty() => cost.target.clone(),
            at => at,
        }
    }

    fn table(&self, of: &Costs<'_>) -> Table {
        let mut columns = vec![Column::new("", Align::Left)];
        columns.extend(self.costs.iter().map(|cost| Column::new(self.place(cost), Align::Right)));
        let mut rows: BTreeMap<(usize, usize, Operation), Vec<Cell>> = BTreeMap::new();
        for (i, cost) in self.costs.iter().enumerate() {
            for (rank, name, c) in of.figures(cost) {
                let row = rows.entry(rank).or_insert_with(|| {
                    [vec![Cell::text(name)], vec![Cell::default(); self.costs.len()]].concat()
                });
                row[i + 1] = mark_with_interval(c);
            }
        }
        Table { title: self.title(), columns, stub: 1, rows: rows.into_values().collect() }
    }
}
