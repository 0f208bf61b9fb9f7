//! Crosschecks of classic tools with Lodestone: a table for each tool, the known differences, and the number of figures
//! that agree.

use std::collections::BTreeSet;

use analyse::{Agreement, Analysis, CheckedPair, pi_scores};
use model::{Metric, Note, Operation, Run, TOOLS_TARGET};
use serde::Serialize;

use crate::document::run::circumstances;
use crate::document::{Align, Cell, Column, Document, Provenance, Section, Table, Tone};
use crate::figures::{
    Units, display_iops, display_ns, display_percent, display_rate, display_ratio, display_ratios,
};
use crate::view::{RunView, when};
use crate::words::command;

/// Name and version of the format of `crosscheck --format json`.
pub const CROSSCHECK_SCHEMA: &str = "lodestone.crosscheck.v1";

/// Figures of tools and of Lodestone, side by side.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "A crosscheck of Lodestone with other programs"))]
pub struct CrosscheckExport {
    /// Name and version of this format: `lodestone.crosscheck.v1`.
    pub schema: &'static str,
    /// Id of the run that all of it is from.
    pub run: String,
    /// Share of the other figure by which two may differ and still agree.
    pub margin: f64,
    /// The figures.
    pub figures: Vec<PairFacts>,
    /// The score of PiBenchmarks by the tools' figures; `null` unless all of its inputs were measured.
    pub pi_score_of_tools: Option<u64>,
    /// The same by Lodestone's.
    pub pi_score_of_lodestone: Option<u64>,
}

/// One figure.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairFacts {
    /// The tool.
    pub tool: String,
    /// The step of the run.
    pub step: String,
    /// What was done.
    pub title: String,
    /// The tool's command line.
    pub command: String,
    /// Whether every operation had to reach the device.
    pub defined_cost: bool,
    /// The operation.
    pub operation: Operation,
    /// The metric.
    pub metric: Metric,
    /// Its unit.
    pub unit: String,
    /// The tool's; `null` if it gave none.
    pub tool_value: Option<f64>,
    /// Lodestone's.
    pub lodestone_value: Option<f64>,
    /// Lodestone's ÷ the tool's.
    pub ratio: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// `agrees`, `differs` or `undecided`; `null` where there is nothing to compare.
    pub verdict: Option<String>,
    /// What in the tool's method is known to make a difference, where one may be.
    pub known: Option<String>,
}

/// The figures for programs.
pub fn crosscheck_export(run: &Run, pairs: &[CheckedPair<'_>]) -> CrosscheckExport {
    let facts = |pair: &CheckedPair<'_>| PairFacts {
        tool: pair.work.tool.clone(),
        step: pair.work.step.clone(),
        title: pair.work.title.clone(),
        command: pair.work.command.clone(),
        defined_cost: pair.work.defined_cost,
        operation: pair.figure.operation,
        metric: pair.figure.metric,
        unit: pair.figure.metric.unit().to_owned(),
        tool_value: pair.tool.map(|e| e.value),
        lodestone_value: pair.lodestone.map(|e| e.value),
        ratio: pair.ratio.map(|e| e.value),
        low: pair.ratio.and_then(|e| e.interval).map(|i| i.0),
        high: pair.ratio.and_then(|e| e.interval).map(|i| i.1),
        verdict: pair.agreement.map(|a| a.name().to_owned()),
        known: known(pair).map(str::to_owned),
    };
    let scores = pi_scores(pairs);
    CrosscheckExport {
        schema: CROSSCHECK_SCHEMA,
        run: run.started.id.clone(),
        margin: run.started.plan.margin(),
        figures: pairs.iter().map(facts).collect(),
        pi_score_of_tools: scores.map(|[tools, _]| tools),
        pi_score_of_lodestone: scores.map(|[_, own]| own),
    }
}

/// The crosscheck as a document: a section for each tool.
pub fn crosscheck_document(
    run: &Run,
    analysis: &Analysis,
    pairs: &[CheckedPair<'_>],
    view: &RunView,
) -> Document {
    let mut sections = vec![Section::Facts(facts(run, analysis, view)), Section::Text(answer(pairs))];
    sections.extend(pi_scores(pairs).map(|[tools, own]| {
        let ratio = display_ratio(own as f64 / tools.max(1) as f64);
        Section::Text(format!(
            "PiBenchmarks' score of these figures: {tools} by the tools, {own} by Lodestone ({ratio})."
        ))
    }));
    let mut tools: Vec<&str> = Vec::new();
    for pair in pairs {
        if !tools.contains(&pair.work.tool.as_str()) {
            tools.push(&pair.work.tool);
        }
    }
    for tool in tools {
        let of: Vec<&CheckedPair<'_>> = pairs.iter().filter(|pair| pair.work.tool == tool).collect();
        sections.push(Section::Heading(heading(run, tool)));
        sections.push(Section::Facts(commands(&of)));
        sections.push(Section::Table(table(run, &of, view.units)));
        sections.extend(reasons(&of));
    }
    for (i, note) in run.notes.iter().enumerate() {
        let is_same = |other: &&Note| other.topic == note.topic && other.message == note.message;
        if run.notes[..i].iter().any(|other| is_same(&other)) {
            continue;
        }
        let about = match note.topic.as_str() {
            "program-failed" | "tool-missing" => "left out",
            Note::NO_FIGURES => "no figures",
            _ => continue,
        };
        let times = match run.notes.iter().filter(is_same).count() {
            1 => String::new(),
            times => format!(" ({times} times)"),
        };
        sections.push(Section::Remark {
            severity: note.severity,
            about: about.to_owned(),
            message: format!("{}{times}", note.message),
            advice: None,
        });
    }
    let at = when(run.started.started_unix_ns, &view.time_zone);
    Document::new(format!("Crosscheck {} · {at}", run.started.id), sections)
}

fn facts(run: &Run, analysis: &Analysis, view: &RunView) -> Vec<(String, String)> {
    const METHOD: &str = "geometric means over the rounds that both have (from ten rounds on, without the highest and the lowest fifth of the ratios)";
    let mut analysis = analysis.clone();
    analysis.measurements.iter_mut().for_each(|m| m.method = METHOD);
    let mut facts = circumstances(run, &analysis, view);
    facts.extend(load(run).map(|load| ("load".to_owned(), load)));
    facts.push(("command".to_owned(), command(run)));
    facts
}

/// The load average during the run, which includes the run itself.
fn load(run: &Run) -> Option<String> {
    let minutes = run.readings.iter().filter(|r| r.probe == "load" && r.key == "1min").map(|r| r.value);
    let all: Vec<f64> = minutes.collect();
    let (low, high) = (all.iter().copied().reduce(f64::min)?, all.iter().copied().reduce(f64::max)?);
    Some(format!(
        "load average (1 min) from {low:.1} to {high:.1} on {} processors, these programs included",
        run.started.host.cpus
    ))
}

/// The tool with the versions that measured.
fn heading(run: &Run, tool: &str) -> String {
    let of_tool = |step: &str| step.starts_with(tool);
    let imported =
        run.repeats.iter().filter(|r| of_tool(&r.started.step)).filter_map(|r| r.imported.as_deref());
    let versions: BTreeSet<&str> = imported.filter_map(|i| i.version.as_deref()).collect();
    let versions: Vec<&str> = versions.into_iter().collect();
    if versions.is_empty() { tool.to_owned() } else { format!("{tool} {}", versions.join(", ")) }
}

/// The number of figures that agree, of work that must reach the device.
fn answer(pairs: &[CheckedPair<'_>]) -> String {
    let defined: Vec<&CheckedPair<'_>> =
        pairs.iter().filter(|pair| pair.work.defined_cost && pair.agreement.is_some()).collect();
    if defined.is_empty() {
        return "There are too few rounds, or no figures, so no agreement can be decided.".to_owned();
    }
    let count = |wanted: Agreement| defined.iter().filter(|pair| pair.agreement == Some(wanted)).count();
    let explained = defined
        .iter()
        .filter(|pair| pair.agreement == Some(Agreement::Differs) && known(pair).is_some())
        .count();
    let differ = count(Agreement::Differs);
    let why = match (differ, explained) {
        (0, _) => String::new(),
        (all, known) if all == known => " (for known reasons, below)".to_owned(),
        (_, known) => format!(" ({known} of them for a known reason, below)"),
    };
    let near = defined
        .iter()
        .filter(|pair| pair.agreement == Some(Agreement::Undecided))
        .filter(|pair| apart(pair).is_some_and(|share| share <= 0.05))
        .count();
    let open = match count(Agreement::Undecided) {
        0 => String::new(),
        open => format!(" Undecided: {open}; {near} of these are within 5 %."),
    };
    format!(
        "Figures of work that must reach the device: {}. Agree within 5 %: {}; differ: {differ}{why}.{open}",
        defined.len(),
        count(Agreement::Agrees),
    )
}

/// The known difference of the tool, unless the figures agree.
fn known<'a>(pair: &CheckedPair<'a>) -> Option<&'a str> {
    let may_matter = matches!(pair.agreement, Some(Agreement::Differs | Agreement::Undecided));
    pair.figure.known.as_deref().filter(|_| may_matter)
}

fn table(run: &Run, pairs: &[&CheckedPair<'_>], units: Units) -> Table {
    let columns = vec![
        Column::new("check", Align::Left),
        Column::new("figure", Align::Left),
        Column::new("tool", Align::Right),
        Column::new("Lodestone", Align::Right),
        Column::new("ratio", Align::Right),
        Column::joined("95 %", Align::Left),
        Column::joined("verdict", Align::Left),
    ];
    let mut rows = Vec::new();
    let mut before = "";
    for pair in pairs {
        let title = if before == pair.work.step { String::new() } else { pair.work.step.clone() };
        before = &pair.work.step;
        rows.push(row(run, pair, title, units));
    }
    Table {
        title: "Geometric means over the rounds, and the ratio Lodestone ÷ tool".to_owned(),
        columns,
        stub: 2,
        rows,
    }
}

fn row(run: &Run, pair: &CheckedPair<'_>, title: String, units: Units) -> Vec<Cell> {
    let (operation, metric) = (pair.figure.operation, pair.figure.metric);
    let value = |estimate: Option<model::Estimate>, target: &str| {
        estimate.map_or_else(
            || Cell::text("none").tone(Tone::Dim),
            |estimate| Cell {
                value: Some(estimate.value),
                provenance: Some(Provenance {
                    run: run.started.id.clone(),
                    target: target.to_owned(),
                    step: pair.work.step.clone(),
                    operation,
                    metric,
                }),
                ..Cell::text(shown(metric, estimate.value, units))
            },
        )
    };
    let interval = pair.ratio.and_then(|ratio| ratio.interval).map_or_else(String::new, display_ratios);
    vec![
        Cell::text(title),
        Cell::text(words(operation, metric)),
        value(pair.tool, TOOLS_TARGET),
        value(pair.lodestone, model::OWN_TARGET),
        Cell::text(pair.ratio.map_or_else(String::new, |ratio| display_ratio(ratio.value))),
        Cell::text(interval).tone(Tone::Dim),
        verdict(pair),
    ]
}

fn verdict(pair: &CheckedPair<'_>) -> Cell {
    let word = pair.agreement.map_or("", Agreement::name);
    match pair.agreement {
        None => Cell::default(),
        Some(Agreement::Agrees) => Cell::text("agrees within 5 %").tone(Tone::Good),
        Some(Agreement::Differs) => {
            let why = if known(pair).is_some() || !pair.work.defined_cost { "" } else { ", unexplained" };
            Cell::text(format!("{word}{why}")).tone(Tone::Bad)
        }
        Some(Agreement::Undecided) => {
            let apart =
                apart(pair).map_or_else(String::new, |share| format!("; {} apart", display_percent(share)));
            Cell::text(format!("{word}{apart}")).tone(Tone::Open)
        }
    }
}

/// How far the figures are apart, as a share of the tool's.
fn apart(pair: &CheckedPair<'_>) -> Option<f64> {
    let (tool, lodestone) = (pair.tool?.value, pair.lodestone?.value);
    (tool > 0.0).then(|| (lodestone / tool - 1.0).abs())
}

fn words(operation: Operation, metric: Metric) -> String {
    let what = match metric {
        Metric::Iops => "per second",
        Metric::Bandwidth => "bandwidth",
        Metric::LatMean => "mean",
        Metric::LatP50 => "p50",
        Metric::LatP95 => "p95",
        Metric::LatP99 => "p99",
        other => other.name(),
    };
    format!("{} {what}", operation.name().replace('_', " "))
}

fn shown(metric: Metric, value: f64, units: Units) -> String {
    match metric.unit() {
        "B/s" => display_rate(value, units),
        "1/s" => display_iops(value),
        "ns" => display_ns(value),
        _ => format!("{value:.3}"),
    }
}

/// The known differences of figures that do not agree, each once.
fn reasons(pairs: &[&CheckedPair<'_>]) -> Vec<Section> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for pair in pairs {
        let Some(why) = known(pair) else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, steps)) if steps.contains(&pair.work.step.as_str()) => {}
            Some((_, steps)) => steps.push(&pair.work.step),
            None => reasons.push((why, vec![&pair.work.step])),
        }
    }
    reasons.into_iter().map(|(why, steps)| Section::Text(format!("{}: {why}.", steps.join(", ")))).collect()
}

/// Each step's work and command line, once.
fn commands(pairs: &[&CheckedPair<'_>]) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    let mut before = "";
    for pair in pairs.iter().filter(|pair| pair.figure == &pair.work.figures[0]) {
        let command =
            if before == pair.work.command { String::new() } else { format!(": {}", pair.work.command) };
        before = &pair.work.command;
        let memory = if pair.work.defined_cost { "" } else { " (the page cache is involved)" };
        commands.push((pair.work.step.clone(), format!("{}{memory}{command}", pair.work.title)));
    }
    commands
}
