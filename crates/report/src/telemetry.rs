//! Telemetry of a run: a table for each step, target and machine, and the same as JSON and CSV.

use analyse::{StepTelemetry, TelemetryFigure};
use model::{ProbeLabels, Run, series_words};
use serde::Serialize;

use crate::document::{Align, Cell, Column, Document, Section, Table};
use crate::export::csv::row;
use crate::export::json::{RunFacts, run_facts};
use crate::figures::{
    digits, display_bytes, display_hz, display_iops, display_ns, display_percent, display_rate,
};
use crate::view::{RunView, when};

/// Name and version of the format.
pub const TELEMETRY_SCHEMA: &str = "lodestone.telemetry.v1";

/// Telemetry of a run.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "Telemetry of a run of Lodestone"))]
pub struct TelemetryExport {
    /// Name and version of this format: `lodestone.telemetry.v1`.
    pub schema: &'static str,
    /// The run.
    pub run: RunFacts,
    /// Every series over the repeats of every step on every target.
    pub figures: Vec<TelemetryFacts>,
}

/// One series over the repeats of a step.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TelemetryFacts {
    /// The step's id.
    pub step: String,
    /// The target's name.
    pub target: String,
    /// The machine: the target's, one of its clients, or the one that serves it.
    pub host: String,
    /// Number of repeats.
    pub repeats: usize,
    /// The probe, such as `cpu`, `devices` or `temperature`.
    pub probe: String,
    /// The series within the probe, such as `busiest`, `sda.queue` or `cpu-thermal`.
    pub key: String,
    /// The unit: `1`, `B/s`, `1/s`, `ns`, `B`, `Hz` or `°C`.
    pub unit: String,
    /// Mean over the time of the repeats.
    pub mean: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Seconds of the repeats covered by readings.
    pub seconds: f64,
}

/// Telemetry for other programs.
pub fn telemetry_export(run: &Run, telemetry: &[StepTelemetry]) -> TelemetryExport {
    let facts = |step: &StepTelemetry, figure: &TelemetryFigure| TelemetryFacts {
        step: step.step.clone(),
        target: step.target.clone(),
        host: run.started.machine_name(step.machine).to_owned(),
        repeats: step.repeats,
        probe: figure.probe.clone(),
        key: figure.key.clone(),
        unit: figure.unit.clone(),
        mean: figure.mean,
        min: figure.min,
        max: figure.max,
        seconds: figure.covered_ns as f64 / 1e9,
    };
    TelemetryExport {
        schema: TELEMETRY_SCHEMA,
        run: run_facts(run),
        figures: telemetry.iter().flat_map(|step| step.figures.iter().map(|f| facts(step, f))).collect(),
    }
}

/// One row per step, target and series, with a heading line.
pub fn telemetry_csv(run: &Run, telemetry: &[StepTelemetry]) -> String {
    let mut out = String::from("run,host,target,step,probe,key,unit,mean,min,max,seconds\r\n");
    for step in telemetry {
        for figure in &step.figures {
            let numbers = [figure.mean, figure.min, figure.max, figure.covered_ns as f64 / 1e9];
            let numbers = numbers.map(|number| number.to_string());
            let names = [&run.started.id, run.started.machine_name(step.machine), &step.target, &step.step];
            let series = [&figure.probe, &figure.key, &figure.unit];
            let more = series.into_iter().chain(&numbers).map(String::as_str);
            let fields: Vec<&str> = names.into_iter().chain(more).collect();
            out.push_str(&row(&fields));
        }
    }
    out
}

/// Telemetry as a document. `probes` has the labels of the series, in the order of their rows.
pub fn telemetry_document(
    run: &Run,
    telemetry: &[StepTelemetry],
    probes: &[ProbeLabels],
    view: &RunView,
) -> Document {
    let started = &run.started;
    let mut sections = Vec::new();
    for step in telemetry {
        sections.push(Section::Table(table(run, step, probes, view)));
    }
    sections.push(Section::Text(String::new()));
    sections.push(Section::Text(match telemetry {
        [] if run.readings.is_empty() => {
            "This run has no telemetry: it was switched off, or an earlier version measured the run.".into()
        }
        [] => "No reading was taken during a completed repeat.".into(),
        _ => "Means over the time of the repeats, ramps included. Readings that were always zero are omitted, as are \
    processes that moved less than 10 kB/s. The busiest core is the one with the highest load at each reading. \
    Other processes may have used another device."
            .into(),
    }));
    let title =
        format!("Telemetry of run {} · {}", started.id, when(started.started_unix_ns, &view.time_zone));
    Document::new(title, sections)
}

/// Processes that never move this many bytes per second are omitted, because every machine has some.
const SMALLEST_COMPANY: f64 = 10_000.0;

fn is_worth_a_row(figure: &TelemetryFigure) -> bool {
    let is_zero = (figure.min, figure.max) == (0.0, 0.0);
    !is_zero && (figure.probe != "other_processes" || figure.max >= SMALLEST_COMPANY)
}

fn table(run: &Run, step: &StepTelemetry, probes: &[ProbeLabels], view: &RunView) -> Table {
    let title = run.started.plan.step(&step.step).map_or(step.step.as_str(), |s| s.title.as_str());
    let plural = if step.repeats == 1 { "" } else { "s" };
    let mut shown: Vec<&TelemetryFigure> =
        step.figures.iter().filter(|figure| is_worth_a_row(figure)).collect();
    let target = run.started.targets.iter().find(|t| t.name == step.target);
    let stack = target.map_or(&[][..], |target| &target.stack);
    let place = match target {
        Some(target) if target.host != step.machine => {
            format!(" · on {}", run.started.machine_name(step.machine))
        }
        _ => String::new(),
    };
    let depth = |key: &str| {
        let device = key.rsplit_once('.').map_or(key, |(device, _)| device);
        stack.iter().position(|layer| layer.name == device).unwrap_or(stack.len())
    };
    let row = |probe: &str| probes.iter().position(|labels| labels.probe == probe).unwrap_or(probes.len());
    // Probes of other versions come last; devices are in the order of the stack; else series keep their order.
    shown.sort_by_key(|f| (row(&f.probe), depth(&f.key)));
    let rows = shown.into_iter().filter_map(|figure| {
        let what = match probes.get(row(&figure.probe)) {
            Some(labels) => (labels.label)(&figure.key)?,
            None => series_words(&figure.key),
        };
        let value = |value: f64| Cell { value: Some(value), ..Cell::text(display(figure, value, view)) };
        Some(vec![Cell::text(what), value(figure.mean), value(figure.min), value(figure.max)])
    });
    Table {
        title: format!("{title} · {}{place} · {} repeat{plural}", step.target, step.repeats),
        columns: vec![
            Column::new("", Align::Left),
            Column::new("mean", Align::Right),
            Column::joined("min", Align::Right),
            Column::joined("max", Align::Right),
        ],
        stub: 1,
        rows: rows.collect(),
    }
}

/// Series of unit 1 that are numbers, not shares.
const NUMBERS: [&str; 3] = ["queue", "1min", "running"];

fn display(figure: &TelemetryFigure, value: f64, view: &RunView) -> String {
    let is_number = || NUMBERS.contains(&figure.key.rsplit('.').next().unwrap_or_default());
    match figure.unit.as_str() {
        "B/s" => display_rate(value, view.units),
        "1/s" => format!("{}/s", display_iops(value)),
        "B" => display_bytes(value.max(0.0) as u64, view.units),
        "ns" => display_ns(value),
        "Hz" => display_hz(value),
        "1" if is_number() => digits(value),
        "1" => display_percent(value),
        unit => format!("{} {unit}", digits(value)),
    }
}
