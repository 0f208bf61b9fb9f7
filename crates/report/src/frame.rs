//! The figures behind every table: what each target did in each operation of each step, how it differs from the baseline, and
//! where each figure is from.

use std::collections::BTreeMap;

use analyse::{Analysis, Modes, RepeatDiagnostics, headline, headline_operations, means_of_makings};
use model::{
    Comparison, Measurement, MeasurementKey, Metric, Operation, Pattern, RepeatOutcome, Run, Step, Units,
    Verdict,
};

use crate::document::{Cell, Provenance, Tone};
use crate::figures::{
    display_iops, display_metric, display_ns, display_percent, display_rate, display_ratio, display_ratios,
    display_score, with_one_unit,
};
use crate::view::{ComparedRuns, RunView};
use crate::words::figure_name;

/// Figures by step, operation and target.
pub(crate) struct Frame<'a> {
    pub steps: Vec<&'a Step>,
    /// Of several runs they are named `run:target`.
    pub targets: Vec<&'a str>,
    pub baseline: &'a str,
    runs: Vec<&'a Run>,
    measurements: &'a [Measurement],
    diagnostics: &'a [Option<RepeatDiagnostics>],
    comparisons: &'a [Comparison],
    units: Units,
}

/// One row of an answer: an operation of a step on every target.
pub(crate) struct FigureRow<'a> {
    /// Its name.
    pub name: String,
    /// For each target its figure and its comparison with the baseline.
    pub cells: Vec<(Cell, Option<&'a Comparison>)>,
}

impl<'a> FigureRow<'a> {
    /// The row of these targets only, by their indices; `None` if none of them has its figure.
    pub fn of(&self, targets: &[usize]) -> Option<FigureRow<'a>> {
        let cells: Vec<_> = targets.iter().map(|target| self.cells[*target].clone()).collect();
        let has_figure = cells.iter().any(|(cell, _)| !cell.text.is_empty());
        has_figure.then(|| FigureRow { name: self.name.clone(), cells })
    }
}

/// The headings of [`FrameStep::figures`].
pub(crate) const FIGURES: [&str; 17] = [
    "score",
    "bandwidth",
    "IOPS",
    "±",
    "repeats",
    "mean",
    "p50",
    "p95",
    "p99",
    "p99.9",
    "max",
    "min",
    "stdev",
    "sync",
    "CPU",
    "job CPU",
    "device",
];

/// How many of them precede the comparison: the figure and its spread.
pub(crate) const JUDGED: usize = 4;

impl<'a> Frame<'a> {
    /// The figures of one run.
    pub fn of_run(run: &'a Run, analysis: &'a Analysis, view: &'a RunView) -> Self {
        Self {
            steps: run.started.plan.steps.iter().collect(),
            targets: run.started.targets.iter().map(|t| t.name.as_str()).collect(),
            baseline: &view.baseline,
            runs: vec![run],
            measurements: &analysis.measurements,
            diagnostics: &analysis.diagnostics,
            comparisons: &analysis.comparisons,
            units: view.units,
        }
    }

    /// The figures of several runs in the steps that have some.
    pub fn of_runs(runs: &[&'a Run], compared: &'a ComparedRuns, view: &'a RunView) -> Self {
        let measurements = &compared.measurements;
        let mut steps: Vec<&Step> = Vec::new();
        for step in runs.iter().flat_map(|run| &run.started.plan.steps) {
            let has_figures = measurements.iter().any(|m| m.step == step.id);
            if has_figures && !steps.iter().any(|s| s.id == step.id) {
                steps.push(step);
            }
        }
        let mut targets: Vec<&str> = Vec::new();
        for one in measurements {
            if !targets.contains(&one.target.as_str()) {
                targets.push(&one.target);
            }
        }
        Self {
            steps,
            targets,
            baseline: &view.baseline,
            runs: runs.to_vec(),
            measurements,
            diagnostics: &[],
            comparisons: &compared.comparisons,
            units: view.units,
        }
    }

    /// The run that measured a target, with the target's name in that run.
    fn origin<'n>(&self, target: &'n str) -> Option<(&'a Run, &'n str)> {
        if let [only] = self.runs[..] {
            return Some((only, target));
        }
        let name_in = |run: &Run| target.strip_prefix(run.started.id.as_str())?.strip_prefix(':');
        self.runs.iter().find_map(|run| Some((*run, name_in(run)?)))
    }

    /// One step.
    pub fn step<'f>(&'f self, step: &'a Step) -> FrameStep<'f, 'a> {
        FrameStep { frame: self, step }
    }

    /// Every operation that targets have figures of, with the comparisons. The longest of all latencies is chance: where that
    /// is all that there is, nothing is compared.
    pub fn rows(&self) -> Vec<FigureRow<'a>> {
        let mut rows = Vec::new();
        for step in self.steps.iter().map(|step| self.step(step)) {
            let is_compared = |operation: &Operation| headline(step.step, *operation) != Some(Metric::LatMax);
            for operation in headline_operations(step.step).into_iter().filter(is_compared) {
                let cell =
                    |target: &&str| (step.headline(target, operation), step.compared(target, operation));
                let cells: Vec<_> = self.targets.iter().map(cell).collect();
                if cells.iter().any(|(cell, _)| !cell.text.is_empty()) {
                    rows.push(FigureRow { name: figure_name(step.step, operation), cells });
                }
            }
        }
        rows
    }
}

/// The figures of one step.
#[derive(Clone, Copy)]
pub(crate) struct FrameStep<'f, 'a> {
    frame: &'f Frame<'a>,
    pub step: &'a Step,
}

impl<'a> FrameStep<'_, 'a> {
    /// The targets on which a repeat began.
    pub fn targets(&self) -> Vec<&'a str> {
        let begun = |target: &&str| {
            self.frame.origin(target).is_some_and(|(run, name)| {
                run.repeats.iter().any(|r| r.started.step == self.step.id && r.started.target == name)
            })
        };
        self.frame.targets.iter().copied().filter(begun).collect()
    }

    fn key<'k>(&'k self, target: &'k str, operation: Operation, metric: Metric) -> MeasurementKey<'k> {
        MeasurementKey { target, step: &self.step.id, operation, metric }
    }

    fn measurement(&self, target: &str, operation: Operation, metric: Metric) -> Option<&'a Measurement> {
        self.key(target, operation, metric).find_in(self.frame.measurements)
    }

    /// The two modes of an operation's headline, if its repeats have two: then the mean describes neither.
    fn modes(&self, target: &str, operation: Operation) -> Option<&'a Modes> {
        let key = self.key(target, operation, headline(self.step, operation)?);
        let at = key.position_in(self.frame.measurements)?;
        self.frame.diagnostics.get(at)?.as_ref()?.modes.as_ref()
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
            provenance: self.frame.origin(target).map(|(run, name)| Provenance {
                run: run.started.id.clone(),
                target: name.to_owned(),
                step: self.step.id.clone(),
                operation,
                metric,
            }),
            link: None,
        }
    }

    /// The cells of [`FIGURES`]; those about the whole repeat only if `first`.
    pub fn figures(&self, target: &str, operation: Operation, first: bool) -> [Cell; FIGURES.len()] {
        let units = self.frame.units;
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
        let judged =
            headline(self.step, operation).and_then(|metric| self.measurement(target, operation, metric));
        let repeats =
            judged.map_or_else(Cell::default, |m| Cell::text(m.values.len().to_string()).tone(Tone::Dim));
        let spread = judged
            .and_then(|m| m.estimate.relative_half_width())
            .map_or_else(Cell::default, |share| Cell::text(half_width(share)).tone(Tone::Dim));
        let spread = two_modes.unwrap_or(spread);
        let primary = self.step.operations().first().copied().unwrap_or(operation);
        let moved = if operation == Operation::DurableWrite { Operation::Write } else { operation };
        [
            self.score(target, operation),
            bandwidth,
            iops,
            spread,
            repeats,
            foreign(Metric::LatMean, &display_ns),
            cell(Metric::LatP50, &display_ns),
            foreign(Metric::LatP95, &display_ns),
            cell(Metric::LatP99, &display_ns),
            cell(Metric::LatP999, &display_ns),
            cell(Metric::LatMax, &display_ns),
            foreign(Metric::LatMin, &display_ns),
            foreign(Metric::LatStddev, &display_ns),
            step_wide(Operation::Sync, Metric::SyncShare, &display_percent),
            step_wide(primary, Metric::Cpu, &display_percent),
            foreign(Metric::CpuJob, &display_percent),
            self.cell(target, moved, Metric::DeviceRatio, |v| format!("{}×", display_ratio(v))),
        ]
    }

    /// The headline figure of an operation; for a score, without those of the repeats.
    pub fn headline(&self, target: &str, operation: Operation) -> Cell {
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

    /// The headline figure of each making of a target, by its number from 0.
    pub fn by_making(&self, target: &str, operation: Operation, makings: u32) -> BTreeMap<u32, f64> {
        let metric = headline(self.step, operation).map(|metric| self.shown_metric(metric));
        let found = metric.and_then(|metric| self.measurement(target, operation, metric));
        found.map_or_else(BTreeMap::new, |m| means_of_makings(&m.values, makings))
    }

    /// The metric that [`Self::headline`] shows in place of this one.
    fn shown_metric(&self, metric: Metric) -> Metric {
        if metric == Metric::Bandwidth && is_counted(self.step) { Metric::Iops } else { metric }
    }

    /// A value of the headline figure, as [`Self::headline`] shows it.
    pub fn shown(&self, operation: Operation, value: f64) -> String {
        let is_transfers = headline(self.step, operation) == Some(Metric::Bandwidth);
        match headline(self.step, operation).map(|metric| self.shown_metric(metric)) {
            Some(Metric::Iops) if is_transfers => format!("{} IOPS", display_iops(value)),
            Some(metric) => display_metric(metric, value, self.frame.units),
            None => String::new(),
        }
    }

    /// The score, followed by those of the repeats.
    fn score(&self, target: &str, operation: Operation) -> Cell {
        let Some(m) = self.measurement(target, operation, Metric::Score) else { return Cell::default() };
        Cell { text: display_score(m), ..self.cell(target, operation, Metric::Score, |_| String::new()) }
    }

    /// Why there are no figures.
    fn no_result(&self, target: &str) -> Cell {
        let Some((run, name)) = self.frame.origin(target) else { return Cell::default() };
        let repeats =
            run.repeats.iter().filter(|r| r.started.step == self.step.id && r.started.target == name);
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
    pub fn comparison(&self, target: &str, operation: Operation) -> [Cell; 3] {
        if target == self.frame.baseline {
            return [Cell::default(), Cell::default(), Cell::text("baseline").tone(Tone::Dim)];
        }
        let found = self.compared(target, operation);
        found.map_or_else(|| [const { String::new() }; 3].map(Cell::text), comparison_cells)
    }

    /// The comparison of a target's headline figure with the baseline's.
    pub fn compared(&self, target: &str, operation: Operation) -> Option<&'a Comparison> {
        self.frame.comparisons.iter().find(|c| {
            c.target == target
                && c.step == self.step.id
                && c.operation == operation
                && Some(c.metric) == headline(self.step, operation)
        })
    }
}

/// Half the width of an interval as a share of its estimate. What is wider than the figure itself, as after two rounds, says no more
/// than that.
fn half_width(share: f64) -> String {
    if share > 1.0 { "> 100 %".to_owned() } else { display_percent(share) }
}

#[cfg(test)]
#[test]
fn an_interval_wider_than_its_figure_is_not_given_as_a_number() {
    assert_eq!(half_width(1.0), "100 %");
    assert_eq!(half_width(308.24), "> 100 %");
}

fn comparison_cells(c: &Comparison) -> [Cell; 3] {
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
