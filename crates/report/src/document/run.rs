//! The result of a run as a document: circumstances, a table per step, the answer, the remarks.

use std::collections::BTreeMap;

use analyse::{Analysis, Modes, first_round_that_counts, headline, headline_operations};
use model::units::ShortDuration;
use model::{
    Comparison, Measurement, MeasurementKey, Metric, Operation, Pattern, RepeatOutcome, Rounds, Run,
    RunOutcome, Step, Target, Verdict,
};

use crate::answer::answers;
use crate::answer::costs::Costs;
use crate::answer::table::{FigureRow, answer_sections};
use crate::document::imported;
use crate::document::remarks::remarks;
use crate::document::{Align, Cell, Column, Document, Provenance, Section, Table, Tone};
use crate::figures::{
    display_bytes, display_iops, display_ns, display_percent, display_rate, display_ratio, display_ratios,
    display_score, with_one_unit,
};
use crate::pivot::{Pivot, Row};
use crate::targets::bearings;
use crate::view::{AnalysedRun, RunView, when};
use crate::words::figure_name;

/// The document of one run: the answer with its table, and what was found; with `view.details` also the circumstances and
/// the tables of every step.
pub fn run_document(run: &Run, analysis: &Analysis, view: &RunView) -> Document {
    let analysed = AnalysedRun::new(run, analysis, view);
    let mut sections = figure_sections(&analysed);
    if view.details {
        let facts = if run.is_imported() {
            imported::facts(run, analysis)
        } else {
            circumstances(run, analysis, view)
        };
        sections.push(Section::Heading("Circumstances".into()));
        sections.push(Section::Facts(facts));
        let steps = run.started.plan.steps.iter();
        sections.extend(steps.filter_map(|step| step_table(run, analysis, step, view)).map(Section::Table));
    }
    let remarks = remarks(run, &analysis.findings, view.details);
    if !remarks.is_empty() {
        sections.push(Section::Heading("Findings".into()));
        sections.extend(remarks);
    }
    let started = &run.started;
    let at = when(started.started_unix_ns, &view.time_zone);
    let mut title = format!("Run {} · suite {} · {at}", started.id, started.plan.suite);
    if !run.is_imported() {
        let (rounds, ended) = course(run);
        title.push_str(&format!(" · {rounds}, {ended}"));
    }
    Document { title, answer: answers(&analysed), sections }
}

/// The table that belongs to the answer, with its legend: figures by label, by target, or of the only target.
pub(crate) fn figure_sections(analysed: &AnalysedRun<'_>) -> Vec<Section> {
    let AnalysedRun { run, analysis, view, .. } = *analysed;
    if let Some(pivot) = analysed.labels() {
        let table = [Section::Table(pivot_table(analysed, pivot)), Section::Text(pivot.words())];
        return table
            .into_iter()
            .chain(Costs::of(analysed).tables().into_iter().map(Section::Table))
            .collect();
    }
    if run.started.targets.len() == 1 {
        return overview_table(run, analysis, view).map(Section::Table).into_iter().collect();
    }
    let targets: Vec<&str> = run.started.targets.iter().map(|t| t.name.as_str()).collect();
    let mut rows = Vec::new();
    for step in &run.started.plan.steps {
        let maker = StepTable { run, analysis, step, view };
        // The longest of all latencies is chance: where that is all that there is, nothing is compared.
        let compared = |operation: &Operation| headline(step, *operation) != Some(Metric::LatMax);
        for operation in headline_operations(step).into_iter().filter(compared) {
            let cell = |target: &&str| (maker.headline(target, operation), maker.compared(target, operation));
            let cells: Vec<_> = targets.iter().map(cell).collect();
            if cells.iter().any(|(cell, _)| !cell.text.is_empty()) {
                rows.push(FigureRow { name: figure_name(step, operation), cells });
            }
        }
    }
    answer_sections(&targets, &view.baseline, &rows, &analysis.summaries, run.started.plan.margin())
}

pub(crate) fn circumstances(run: &Run, analysis: &Analysis, view: &RunView) -> Vec<(String, String)> {
    let started = &run.started;
    let host = &started.host;
    let mut machine = format!("{}, {} × {}", host.name, host.cpus, host.cpu);
    machine.push_str(&format!(", {}", display_bytes(host.memory_bytes, view.units)));
    for part in [&host.board, &host.os].into_iter().flatten() {
        machine.push_str(&format!(", {part}"));
    }
    machine.push_str(&format!(", Linux {}", host.kernel));
    bearings(host, view.units).iter().for_each(|part| machine.push_str(&format!(", {part}")));
    let mut facts = vec![("machine".to_owned(), machine)];
    for target in &started.targets {
        facts.push((target.name.clone(), target_line(run, target, view)));
    }
    facts.push(("method".to_owned(), method_line(run, analysis)));
    facts
}

fn target_line(run: &Run, target: &Target, view: &RunView) -> String {
    let mut line = format!("{} ({})", target.path.display(), target.stack_line());
    target.labels.iter().for_each(|(key, value)| line.push_str(&format!(", {key} {value}")));
    let layouts: Vec<_> = run.layouts.iter().filter(|l| l.target == target.name).collect();
    let bytes: u64 = layouts.iter().map(|l| l.bytes).sum();
    let ns = layouts.iter().map(|l| l.elapsed_ns).sum::<u64>() as f64;
    if bytes > 0 {
        let (size, time) = (display_bytes(bytes, view.units), display_ns(ns));
        line.push_str(&format!("; {size} of test data written and synced in {time}"));
    } else if run.notes.iter().any(|n| n.topic == "shared-data" && n.target.as_ref() == Some(&target.name)) {
        line.push_str("; shares its test data with another directory of its filesystem");
    }
    let mut how: Vec<String> = Vec::new();
    let moves_data = |step: &str| run.started.plan.step(step).is_some_and(|s| !s.workload.is_metadata());
    for repeat in
        run.repeats.iter().filter(|r| r.started.target == target.name && moves_data(&r.started.step))
    {
        let access = if repeat.started.direct { "direct" } else { "buffered" };
        let one = match &repeat.imported {
            Some(by) => format!("by {}", imported::program(by)),
            None => format!("{} {access}", repeat.started.engine),
        };
        if !how.contains(&one) {
            how.push(one);
        }
    }
    if !how.is_empty() {
        line.push_str(&format!("; {}", how.join(", ")));
    }
    line
}

/// The fewest rounds of any pair of step and target, if rounds ended once everything was decided.
fn fewest_rounds(run: &Run) -> Option<u32> {
    if !matches!(run.started.plan.rounds, Rounds::Auto { precision_ppm, .. } if precision_ppm > 0) {
        return None;
    }
    let mut rounds: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for repeat in run.repeats.iter().filter(|r| r.is_complete()) {
        *rounds.entry((&repeat.started.step, &repeat.started.target)).or_default() += 1;
    }
    rounds.into_values().min()
}

/// How long the repeats were whose length the run chose.
fn lengths(run: &Run) -> String {
    let all = || run.repeats.iter().filter_map(|repeat| repeat.started.time_ns);
    match (all().min(), all().max()) {
        (Some(least), Some(most)) if least < most => {
            format!(", repeats of {} to {}", ShortDuration(least), ShortDuration(most))
        }
        (Some(length), _) => format!(", repeats of {}", ShortDuration(length)),
        _ => String::new(),
    }
}

/// How many rounds there were, how long they took and how they ended, such as `3 of 4 rounds, 12 s, stopped by the user`.
fn course(run: &Run) -> (String, String) {
    let rounds = run.repeats.iter().map(|r| r.started.round + 1).max().unwrap_or(0);
    let fewest = fewest_rounds(run).filter(|fewest| *fewest < rounds);
    let from = fewest.map_or_else(String::new, |fewest| format!("{fewest} to "));
    let planned = match run.started.plan.rounds {
        Rounds::Fixed(n) if n > rounds => format!(" of {n}"),
        _ => String::new(),
    };
    let plural = if rounds == 1 && planned.is_empty() { "" } else { "s" };
    let ended = match run.finished.as_ref() {
        Some(f) => {
            let how = match f.outcome {
                RunOutcome::Completed => "",
                RunOutcome::Interrupted => ", stopped by the user",
                RunOutcome::Failed => ", with failures",
            };
            format!("{:.0} s{how}", f.at_ns as f64 / 1e9)
        }
        None => "no end: the run was killed or is still running".to_owned(),
    };
    (format!("{from}{rounds}{planned} round{plural}"), ended)
}

fn method_line(run: &Run, analysis: &Analysis) -> String {
    let (rounds, ended) = course(run);
    let last = run.repeats.iter().map(|r| r.started.round + 1).max().unwrap_or(0);
    let order = if run.started.plan.in_order { "the order of the suite" } else { "random order" };
    let method = analysis.measurements.first().map_or("no figures", |m| m.method);
    let counted = match first_round_that_counts(run) {
        0 => String::new(),
        first => format!("; the figures are of rounds {} to {last}", first + 1),
    };
    let verdicts =
        if run.started.targets.len() > 1 { "; undecided, +n: about n more rounds would decide" } else { "" };
    let lengths = lengths(run);
    format!(
        "{rounds} in {order}{lengths}, {ended}; {method}{counted}{verdicts}; seed {}; Lodestone {}",
        run.started.seed, run.started.version
    )
}

/// The input of one table.
struct StepTable<'a> {
    run: &'a Run,
    analysis: &'a Analysis,
    step: &'a Step,
    view: &'a RunView,
}

const FIGURES: [&str; 13] =
    ["score", "bandwidth", "IOPS", "±", "mean", "p50", "p95", "p99", "p99.9", "max", "sync", "CPU", "device"];

/// The headings of [`comparison_cells`] for this metric.
pub(crate) fn comparison_columns(metric: Option<Metric>) -> [Column; 3] {
    let ratio = if metric == Some(Metric::LatP99) { "p99 ratio" } else { "ratio" };
    [
        Column::new(ratio, Align::Right),
        Column::joined("95 %", Align::Left),
        Column::joined("verdict", Align::Left),
    ]
}

pub(crate) fn step_table(run: &Run, analysis: &Analysis, step: &Step, view: &RunView) -> Option<Table> {
    let begun = |target: &&Target| {
        run.repeats.iter().any(|r| r.started.step == step.id && r.started.target == target.name)
    };
    let targets: Vec<&Target> = run.started.targets.iter().filter(begun).collect();
    if targets.is_empty() {
        return None;
    }
    let maker = StepTable { run, analysis, step, view };
    let operations = headline_operations(step);
    let several = operations.len() > 1 || operations.first() == Some(&Operation::DurableWrite);
    let compared = run.started.targets.len() > 1;
    let mut columns = vec![Column::new("target", Align::Left)];
    if several {
        columns.push(Column::new("operation", Align::Left));
    }
    columns.extend(FIGURES.map(|name| Column::new(name, Align::Right)));
    if compared {
        columns.extend(comparison_columns(operations.first().and_then(|o| headline(step, *o))));
    }
    let mut rows = Vec::new();
    for target in targets {
        for (i, operation) in operations.iter().enumerate() {
            let name = if i == 0 { target.name.as_str() } else { "" };
            let mut row = vec![Cell::text(name)];
            if several {
                row.push(Cell::text(operation.name().replace('_', " ")));
            }
            row.extend(maker.figures(&target.name, *operation, i == 0));
            if compared {
                row.extend(maker.comparison(&target.name, *operation));
            }
            rows.push(row);
        }
    }
    let mut table = Table { title: step.title.clone(), columns, stub: if several { 2 } else { 1 }, rows };
    drop_empty_columns(&mut table);
    Some(table)
}

/// One table over all steps: each target's figure, its comparison, and its latencies. `None` if nothing was
/// measured.
pub(crate) fn overview_table(run: &Run, analysis: &Analysis, view: &RunView) -> Option<Table> {
    let is_alone = run.started.targets.len() == 1;
    let mut rows = Vec::new();
    for step in &run.started.plan.steps {
        let maker = StepTable { run, analysis, step, view };
        let operations = headline_operations(step);
        for operation in &operations {
            let title = figure_name(step, *operation);
            let begun = |t: &&Target| {
                run.repeats.iter().any(|r| r.started.step == step.id && r.started.target == t.name)
            };
            for (i, target) in run.started.targets.iter().filter(begun).enumerate() {
                let [_, _, _, spread, _, p50, _, p99, _, slowest, _, _, _] =
                    maker.figures(&target.name, *operation, false);
                let figure = maker.headline(&target.name, *operation);
                let step = Cell::text(if i == 0 { title.as_str() } else { "" });
                // A single target needs no name and has no comparison.
                let name = if is_alone { "" } else { target.name.as_str() };
                let mut row = vec![step, Cell::text(name), figure, spread];
                row.extend(match is_alone {
                    true => <[Cell; 3]>::default(),
                    false => maker.comparison(&target.name, *operation),
                });
                row.extend([p50, p99, slowest]);
                rows.push(row);
            }
        }
    }
    let mut columns = vec![
        Column::new("step", Align::Left),
        Column::new("target", Align::Left),
        Column::new("figure", Align::Right),
        Column::joined("±", Align::Right),
    ];
    columns.extend(comparison_columns(None));
    columns.extend(["p50", "p99"].map(|name| Column::new(name, Align::Right)));
    columns.push(Column::new("max", Align::Right).spare());
    let title = if is_alone { "Figures" } else { "Every step" }.to_owned();
    let mut table = Table { title, columns, stub: 1, rows };
    drop_empty_columns(&mut table);
    table.stub = if is_alone { 1 } else { 2 };
    (!table.rows.is_empty()).then_some(table)
}

/// The figures by label, the leaders of each row marked and named.
fn pivot_table(analysed: &AnalysedRun<'_>, pivot: &Pivot<'_>) -> Table {
    let AnalysedRun { run, analysis, view, .. } = *analysed;
    // Block size and operation are one name.
    let is_plain = pivot.down.last().is_some_and(|down| down == "operation");
    let stub = pivot.down.len() - usize::from(is_plain);
    let mut columns: Vec<Column> =
        pivot.down[..stub].iter().map(|d| Column::new(d.clone(), Align::Left)).collect();
    if is_plain {
        columns[stub - 1].heading = "figure".into();
    }
    columns.extend(pivot.columns.iter().map(|c| Column::joined(c.clone(), Align::Right)));
    columns.push(Column::joined("best", Align::Left).spare());
    let row = |row: &Row<'_>| {
        let maker = StepTable { run, analysis, step: row.step, view };
        let leaders = row.leaders(pivot.margin);
        let mut cells: Vec<Cell> = row.names[..stub - 1].iter().map(Cell::text).collect();
        cells.push(Cell::text(row.names[stub - 1..].join(" ")));
        for (i, cell) in row.cells.iter().enumerate() {
            let tone = if leaders.contains(&i) { Tone::Good } else { Tone::Plain };
            let figure = |target: &Target| maker.headline(&target.name, row.operation).tone(tone);
            cells.push(cell.map_or_else(Cell::default, |(target, _)| figure(target)));
        }
        let names: Vec<&str> = leaders.iter().map(|i| pivot.columns[*i].as_str()).collect();
        cells.push(Cell::text(names.join(", ")));
        cells
    };
    let rows = pivot.rows.iter().map(row).collect();
    let mut table = Table { title: pivot.title(), columns, stub, rows };
    drop_empty_columns(&mut table);
    table
}

/// Removes columns that are empty in all rows, such as the share of syncs.
fn drop_empty_columns(table: &mut Table) {
    for column in (table.stub..table.columns.len()).rev() {
        if table.rows.iter().all(|row| row[column].text.is_empty()) {
            table.columns.remove(column);
            table.rows.iter_mut().for_each(|row| drop(row.remove(column)));
        }
    }
}

impl<'a> StepTable<'a> {
    fn key<'k>(&'k self, target: &'k str, operation: Operation, metric: Metric) -> MeasurementKey<'k> {
        MeasurementKey { target, step: &self.step.id, operation, metric }
    }

    fn measurement(&self, target: &str, operation: Operation, metric: Metric) -> Option<&Measurement> {
        self.analysis.measurement(self.key(target, operation, metric))
    }

    /// The two modes of an operation's headline, if its repeats have two: then the mean describes neither.
    fn modes(&self, target: &str, operation: Operation) -> Option<&Modes> {
        let key = self.key(target, operation, headline(self.step, operation)?);
        self.analysis.diagnostics_of(key)?.modes.as_ref()
    }

    fn cell(&self, target: &str, operation: Operation, metric: Metric, show: impl Fn(f64) -> String) -> Cell {
        let Some(m) = self.measurement(target, operation, metric) else { return Cell::default() };
        let modes =
            self.modes(target, operation).filter(|_| matches!(metric, Metric::Bandwidth | Metric::Iops));
        let text = modes.map_or_else(
            || show(m.estimate.value),
            |modes| {
                let mean = |of: &[usize]| of.iter().map(|i| m.values[*i].1).sum::<f64>() / of.len() as f64;
                with_one_unit(&show(mean(&modes.low)), "or", &show(mean(&modes.high)))
            },
        );
        Cell {
            text,
            tone: Tone::Plain,
            value: Some(m.estimate.value),
            provenance: Some(Provenance {
                run: self.run.started.id.clone(),
                target: target.to_owned(),
                step: self.step.id.clone(),
                operation,
                metric,
            }),
        }
    }

    /// The cells of [`FIGURES`]; those about the whole repeat only if `first`.
    fn figures(&self, target: &str, operation: Operation, first: bool) -> [Cell; FIGURES.len()] {
        let units = self.view.units;
        let cell = |metric, show: &dyn Fn(f64) -> String| self.cell(target, operation, metric, show);
        let step_wide = |operation: Operation, metric, show: &dyn Fn(f64) -> String| {
            if first { self.cell(target, operation, metric, show) } else { Cell::default() }
        };
        let mut bandwidth = cell(Metric::Bandwidth, &|v| display_rate(v, units));
        let iops = cell(Metric::Iops, &display_iops);
        // Other programs may report only the latency of an operation.
        let is_foreign = !self.step.foreign.is_empty();
        let foreign = |metric, show: &dyn Fn(f64) -> String| {
            if is_foreign { self.cell(target, operation, metric, show) } else { Cell::default() }
        };
        if iops.text.is_empty() && !is_foreign {
            bandwidth = self.no_result(target);
        }
        let two_modes = self.modes(target, operation).map(|_| Cell::text("2 modes").tone(Tone::Open));
        let spread = headline(self.step, operation)
            .and_then(|metric| self.measurement(target, operation, metric))
            .and_then(|m| m.estimate.relative_half_width())
            .map_or_else(Cell::default, |share| Cell::text(display_percent(share)).tone(Tone::Dim));
        let spread = two_modes.unwrap_or(spread);
        let primary = self.step.operations().first().copied().unwrap_or(operation);
        let moved = if operation == Operation::DurableWrite { Operation::Write } else { operation };
        [
            self.score(target, operation),
            bandwidth,
            iops,
            spread,
            foreign(Metric::LatMean, &display_ns),
            cell(Metric::LatP50, &display_ns),
            foreign(Metric::LatP95, &display_ns),
            cell(Metric::LatP99, &display_ns),
            cell(Metric::LatP999, &display_ns),
            cell(Metric::LatMax, &display_ns),
            step_wide(Operation::Sync, Metric::SyncShare, &display_percent),
            step_wide(primary, Metric::Cpu, &display_percent),
            self.cell(target, moved, Metric::DeviceRatio, |v| format!("{}×", display_ratio(v))),
        ]
    }

    /// The headline figure of an operation; for a score, without those of the repeats.
    fn headline(&self, target: &str, operation: Operation) -> Cell {
        let [_, bandwidth, iops, ..] = self.figures(target, operation, false);
        let per_second = || Cell { text: format!("{} IOPS", iops.text), ..iops.clone() };
        let score = || self.cell(target, operation, Metric::Score, |v| format!("{v:.0}"));
        match headline(self.step, operation) {
            Some(Metric::Iops) if !iops.text.is_empty() => Cell { text: format!("{}/s", iops.text), ..iops },
            Some(Metric::Bandwidth) if is_counted(self.step) && !iops.text.is_empty() => per_second(),
            Some(Metric::Score) => score(),
            Some(latency) if latency.unit() == "ns" => self.cell(target, operation, latency, display_ns),
            _ => bandwidth,
        }
    }

    /// The score, followed by those of the repeats.
    fn score(&self, target: &str, operation: Operation) -> Cell {
        let Some(m) = self.measurement(target, operation, Metric::Score) else { return Cell::default() };
        Cell { text: display_score(m), ..self.cell(target, operation, Metric::Score, |_| String::new()) }
    }

    /// Why there are no figures.
    fn no_result(&self, target: &str) -> Cell {
        let repeats =
            self.run.repeats.iter().filter(|r| r.started.step == self.step.id && r.started.target == target);
        let mut why = "no good repeat";
        for repeat in repeats {
            match repeat.finished.as_ref().map(|f| &f.outcome) {
                Some(RepeatOutcome::Failed(_)) => why = "failed",
                Some(RepeatOutcome::Interrupted) if why != "failed" => why = "interrupted",
                Some(RepeatOutcome::Completed) if why == "no good repeat" => why = "not reached",
                _ => {}
            }
        }
        Cell::text(why).tone(Tone::Bad)
    }

    /// Ratio, interval and verdict.
    fn comparison(&self, target: &str, operation: Operation) -> [Cell; 3] {
        if target == self.view.baseline {
            return [Cell::default(), Cell::default(), Cell::text("baseline").tone(Tone::Dim)];
        }
        let found = self.compared(target, operation);
        found.map_or_else(|| [const { String::new() }; 3].map(Cell::text), comparison_cells)
    }

    /// The comparison of a target's headline figure with the baseline's.
    fn compared(&self, target: &str, operation: Operation) -> Option<&'a Comparison> {
        self.analysis.comparisons.iter().find(|c| {
            c.target == target
                && c.step == self.step.id
                && c.operation == operation
                && Some(c.metric) == headline(self.step, operation)
        })
    }
}

pub(crate) fn comparison_cells(c: &Comparison) -> [Cell; 3] {
    let interval = c.ratio.interval.map_or_else(String::new, display_ratios);
    let word = match (c.verdict, c.more_rounds) {
        (Verdict::Undecided, _) if c.unseen.is_some() => "same so far".to_owned(),
        (Verdict::Undecided, Some(n)) => format!("undecided, +{n}"),
        (verdict, _) => verdict.name().to_owned(),
    };
    let tone = match c.verdict {
        Verdict::Faster => Tone::Good,
        Verdict::Slower => Tone::Bad,
        Verdict::Same => Tone::Plain,
        Verdict::Undecided => Tone::Open,
    };
    let ratio = Cell { value: Some(c.ratio.value), ..Cell::text(display_ratio(c.ratio.value)) };
    [ratio, Cell::text(interval).tone(Tone::Dim), Cell::text(word).tone(tone)]
}

/// Small random transfers are counted, others are measured in bytes; the ratios are the same.
pub(crate) fn is_counted(step: &Step) -> bool {
    let w = &step.workload;
    matches!(w.pattern, Pattern::Random { .. })
        && step.foreign.is_empty()
        && w.modifiers.split.is_none()
        && w.largest_block() <= 64 << 10
}
