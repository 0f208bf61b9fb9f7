//! The input of the rules: a run with everything that several of them need, computed once.

use model::{
    Comparison, Evidence, Measurement, MeasurementKey, Metric, Operation, OperationStats, Pace, Repeat,
    RepeatFinished, Run, Step, Subject, Target, Units,
};

use crate::compare::{Series, compare, headline};
use crate::costs::{Cost, TargetParts, costs};
use crate::measure::{Counts, RepeatCounts};
use crate::ratio::Pairing;
use crate::repeats::{RepeatDiagnostics, diagnose_all};
use crate::stats::median;
use crate::telemetry::{Readings, StepTelemetry, telemetry_of};

/// A run with what the rules need of it.
pub(crate) struct RuleContext<'a> {
    pub run: &'a Run,
    pub measurements: &'a [Measurement],
    /// The powers for bytes in messages.
    pub units: Units,
    /// The diagnostics of the repeats behind each headline measurement; `None` for the others.
    pub diagnostics: Vec<Option<RepeatDiagnostics>>,
    /// What the machine did during each step on each target.
    pub telemetry: Vec<StepTelemetry>,
    /// The machine's readings over the whole run.
    pub readings: Readings<'a>,
    /// Every target against the baseline.
    pub comparisons: &'a [Comparison],
    /// What parts of the storage cost.
    pub costs: Vec<Cost>,
    finished: Vec<Pair<'a>>,
    completed: Vec<Pair<'a>>,
}

/// One step on one target, with its repeats in the order of the run.
#[derive(Clone)]
pub(super) struct Pair<'a> {
    pub step: &'a Step,
    pub target: &'a Target,
    pub repeats: Vec<Ended<'a>>,
}

/// A figure of one step against that of another.
#[derive(Clone, Copy)]
pub(super) struct Against<'p, 'a> {
    pub of: &'p Pair<'a>,
    pub to: &'p Pair<'a>,
    pub operation: Operation,
    pub metric: Metric,
}

/// A repeat that has ended.
#[derive(Clone, Copy)]
pub(super) struct Ended<'a> {
    pub repeat: &'a Repeat,
    pub finished: &'a RepeatFinished,
    pub counts: &'a RepeatCounts,
}

impl<'a> RuleContext<'a> {
    /// The context of a run with these measurements, comparisons and counts.
    pub fn new(
        run: &'a Run,
        measurements: &'a [Measurement],
        comparisons: &'a [Comparison],
        counts: &'a Counts,
        units: Units,
    ) -> Self {
        let mut finished = Vec::new();
        for step in &run.started.plan.steps {
            for target in &run.started.targets {
                let ended = |(repeat, counts): (&'a Repeat, &'a RepeatCounts)| {
                    Some(Ended { repeat, finished: repeat.finished.as_deref()?, counts })
                };
                let repeats: Vec<Ended<'a>> =
                    counts.finished(run, step, &target.name).filter_map(ended).collect();
                finished.push(Pair { step, target, repeats });
            }
        }
        let good = |pair: &Pair<'a>| {
            let is_good = |r: &Ended<'a>| r.repeat.is_complete() && r.repeat.started.engine.reaches_storage();
            let repeats = pair.repeats.iter().copied().filter(is_good).collect();
            Pair { repeats, ..pair.clone() }
        };
        let completed: Vec<Pair<'a>> = finished.iter().map(good).collect();
        let readings = Readings::new(run);
        let plan = &run.started.plan;
        let series = Series::of_run(run, measurements);
        Self {
            run,
            measurements,
            units,
            comparisons,
            diagnostics: headline_diagnostics(run, measurements),
            telemetry: telemetry_of(run, &readings),
            readings,
            costs: costs(&TargetParts::of_run(run), &series, Pairing::within(plan), plan.margin()),
            finished: finished.into_iter().filter(|pair| !pair.repeats.is_empty()).collect(),
            completed: completed.into_iter().filter(|pair| !pair.repeats.is_empty()).collect(),
        }
    }

    /// Every step on every target with the repeats that ended, failed ones included.
    pub(super) fn finished(&self) -> impl Iterator<Item = &Pair<'a>> {
        self.finished.iter()
    }

    /// Every step on every target with only the repeats that ended as planned and reached the storage.
    pub(super) fn completed(&self) -> impl Iterator<Item = &Pair<'a>> {
        self.completed.iter()
    }

    /// The completed pairs of one target that move data.
    pub(super) fn transfers_on<'b>(&'b self, target: &'b Target) -> impl Iterator<Item = &'b Pair<'a>> {
        self.completed().filter(move |p| p.target.name == target.name && !p.step.workload.is_metadata())
    }

    /// The numbers of the machines that are watched.
    pub(super) fn machines(&self) -> impl Iterator<Item = u32> {
        self.run.started.watched_machines().into_iter()
    }

    /// ` on HOST` where there are several machines, else nothing.
    pub(super) fn on_machine(&self, number: u32) -> String {
        let is_one_of_many = self.machines().count() > 1;
        let name = is_one_of_many.then(|| self.run.started.machine_name(number));
        name.map_or_else(String::new, |name| format!(" on {name}"))
    }

    pub(super) fn targets(&self) -> impl Iterator<Item = &'a Target> {
        self.run.started.targets.iter()
    }

    /// The headline measurements with their pairs and the diagnostics of their repeats.
    pub(super) fn headlines(&self) -> impl Iterator<Item = (&Pair<'a>, &'a Measurement, &RepeatDiagnostics)> {
        self.measurements.iter().zip(&self.diagnostics).filter_map(|(m, diagnostics)| {
            let pair = self.completed().find(|p| p.step.id == m.step && p.target.name == m.target)?;
            Some((pair, m, diagnostics.as_ref()?))
        })
    }

    /// Figures against others, each by the rounds that both have; all are one family. In the order of `figures`, `None` where
    /// one of the two is missing.
    pub(super) fn ratios(&self, figures: &[Against<'_, '_>]) -> Vec<Option<Comparison>> {
        let series = |i: usize, pair: &Pair<'_>, target: &str| {
            let Against { operation, metric, .. } = figures[i];
            let key = MeasurementKey { target: &pair.target.name, step: &pair.step.id, operation, metric };
            let m = key.find_in(self.measurements)?;
            let values = if m.paired.is_empty() { m.values.clone() } else { m.paired.clone() };
            let exposures = m.exposures.clone();
            let (target, step) = (target.to_owned(), i.to_string());
            let (is_headline, makings) = (true, self.run.started.plan.makings);
            Some(Series { run: 0, target, step, operation, metric, is_headline, values, exposures, makings })
        };
        let of_both = |i: usize| [series(i, figures[i].of, "of"), series(i, figures[i].to, "to")];
        let all: Vec<Series> = (0..figures.len()).flat_map(of_both).flatten().collect();
        let plan = &self.run.started.plan;
        let found = compare(&all, "to", Pairing::within(plan), plan.margin());
        let of = |i: usize| found.iter().find(|c| c.step == i.to_string()).cloned();
        (0..figures.len()).map(of).collect()
    }

    /// The estimate of one metric of one pair.
    pub(super) fn value(&self, pair: &Pair<'_>, operation: Operation, metric: Metric) -> Option<f64> {
        let key = MeasurementKey { target: &pair.target.name, step: &pair.step.id, operation, metric };
        key.find_in(self.measurements).map(|m| m.estimate.value).filter(|v| v.is_finite())
    }

    /// The upper end of the interval of one metric of one pair; without an interval, the estimate.
    pub(super) fn highest(&self, pair: &Pair<'_>, operation: Operation, metric: Metric) -> Option<f64> {
        let key = MeasurementKey { target: &pair.target.name, step: &pair.step.id, operation, metric };
        let estimate = key.find_in(self.measurements)?.estimate;
        Some(estimate.interval.map_or(estimate.value, |(_, high)| high)).filter(|v| v.is_finite())
    }
}

impl<'a> Pair<'a> {
    /// The median of `value` over the repeats; the rules judge by it so that one odd repeat makes no finding.
    pub fn median(&self, value: impl Fn(&Ended<'a>) -> Option<f64>) -> Option<f64> {
        median(&self.repeats.iter().filter_map(value).collect::<Vec<_>>())
    }

    /// This step on this target.
    pub fn subject(&self) -> Subject {
        subject(self.target, Some(self.step))
    }

    /// The telemetry of this step on this target.
    pub fn telemetry<'b>(&self, context: &'b RuleContext<'_>) -> Option<&'b StepTelemetry> {
        self.telemetry_on(context, self.target.host)
    }

    /// The telemetry of a machine during this step on this target.
    pub fn telemetry_on<'b>(&self, context: &'b RuleContext<'_>, machine: u32) -> Option<&'b StepTelemetry> {
        let is_meant = |t: &&StepTelemetry| {
            t.step == self.step.id && t.target == self.target.name && t.machine == machine
        };
        context.telemetry.iter().find(is_meant)
    }

    /// True if the run chose the length of the repeats, which it tests against longer ones.
    pub fn has_chosen_length(&self) -> bool {
        self.repeats.iter().any(|r| r.repeat.started.time_ns.is_some())
    }

    /// True if the storage determines the rate: no given load, no pauses, no metadata operations.
    pub fn is_closed_transfer(&self) -> bool {
        let workload = &self.step.workload;
        workload.pace == Pace::Closed && workload.modifiers.think.is_none() && !workload.is_metadata()
    }
}

impl<'a> Ended<'a> {
    /// The statistics of one operation in the measured window.
    pub fn measured(&self, operation: Operation) -> Option<&'a OperationStats> {
        self.counts.measured.get(&operation)
    }

    /// Seconds of the measured window.
    pub fn seconds(&self) -> f64 {
        self.finished.window_ns as f64 / 1e9
    }

    /// When the repeat began, in nanoseconds of the run.
    pub fn began_ns(&self) -> u64 {
        self.repeat.started.at_ns
    }

    /// Round, from 0.
    pub fn round(&self) -> u32 {
        self.repeat.started.round
    }

    /// When the measured window ended, in nanoseconds of the run.
    pub fn ended_ns(&self, step: &Step) -> u64 {
        self.began_ns().saturating_add(self.repeat.ramp_ns(step)).saturating_add(self.finished.window_ns)
    }

    /// Bytes that data operations moved in the whole repeat: read, written.
    pub fn moved(&self) -> (u64, u64) {
        let bytes = |operation| self.counts.whole().get(&operation).map_or(0, |s: &OperationStats| s.bytes);
        (bytes(Operation::Read), bytes(Operation::Write))
    }
}

/// The diagnostics of the repeats behind each headline measurement; `None` for the others. All headlines are one
/// family, see [`crate::repeats`].
fn headline_diagnostics(run: &Run, measurements: &[Measurement]) -> Vec<Option<RepeatDiagnostics>> {
    let is_headline: Vec<bool> = measurements.iter().map(|m| is_headline(run, m)).collect();
    let values: Vec<Vec<f64>> = measurements
        .iter()
        .zip(&is_headline)
        .filter(|(_, headline)| **headline)
        .map(|(m, _)| m.values.iter().map(|(_, v)| *v).collect())
        .collect();
    let mut diagnostics = diagnose_all(&values.iter().map(Vec::as_slice).collect::<Vec<_>>()).into_iter();
    is_headline.into_iter().map(|headline| if headline { diagnostics.next() } else { None }).collect()
}

fn is_headline(run: &Run, m: &Measurement) -> bool {
    run.started.plan.step(&m.step).is_some_and(|step| headline(step, m.operation) == Some(m.metric))
}

/// A saturating sum: a damaged log may claim any number.
pub(super) fn total(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::saturating_add)
}

pub(super) fn evidence(what: impl Into<String>, value: f64, unit: &str) -> Evidence {
    Evidence { what: what.into(), value, unit: unit.to_owned(), scope: None }
}

/// The filesystem that keeps a target's files in memory.
pub(super) fn memory_filesystem(target: &Target) -> Option<&str> {
    let bottom = target.stack.iter().max_by_key(|layer| layer.level)?;
    bottom.is_memory().then_some(bottom.name.as_str())
}

pub(super) fn subject(target: &Target, step: Option<&Step>) -> Subject {
    Subject { target: Some(target.name.clone()), step: step.map(|s| s.id.clone()) }
}
