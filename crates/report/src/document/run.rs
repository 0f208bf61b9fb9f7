//! The result of a run as a document: circumstances, a table per step, the answer, the remarks.

use std::collections::BTreeMap;

use analyse::{Analysis, first_round_that_counts};
use model::units::ShortDuration;
use model::{Host, Rounds, Run, RunOutcome, Target};

use crate::answer::answers;
use crate::answer::clients::client_sections;
use crate::answer::costs::Costs;
use crate::answer::groups::groups_table;
use crate::answer::headroom::headroom_section;
use crate::answer::requirements::requirement_sections;
use crate::answer::table::answer_sections;
use crate::document::imported;
use crate::document::remarks::remarks;
use crate::document::tables::{makings_table, overview_table, pivot_table, step_table};
use crate::document::{Document, Section};
use crate::figures::{display_bytes, display_ns};
use crate::frame::Frame;
use crate::targets::bearings;
use crate::view::{AnalysedRun, RunView, when};

/// The document of one run: the answer with its table, and what was found; with `view.details` also the circumstances and
/// the tables of every step.
pub fn run_document(run: &Run, analysis: &Analysis, view: &RunView) -> Document {
    let analysed = AnalysedRun::new(run, analysis, view);
    let mut sections = requirement_sections(&analysed);
    sections.extend(headroom_section(&analysed));
    sections.extend(figure_sections(&analysed));
    if view.details {
        let facts = if run.is_imported() {
            imported::facts(run, analysis)
        } else {
            circumstances(run, analysis, view)
        };
        sections.push(Section::Heading("Circumstances".into()));
        sections.push(Section::Facts(facts));
        let frame = Frame::of_run(run, analysis, view);
        let tables = frame.steps.iter().filter_map(|step| step_table(&frame, step));
        sections.extend(tables.map(Section::Table));
        if run.started.targets.len() > 1 {
            sections.extend(makings_table(&frame, run.started.plan.makings).map(Section::Table));
        }
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
    let frame = Frame::of_run(run, analysis, view);
    if analysis.clients.is_some() {
        let figures = match run.started.targets.len() {
            1 => overview_table(&frame).map(Section::Table).into_iter().collect(),
            _ => answer_sections(&frame, &[], run.started.plan.margin()),
        };
        return figures.into_iter().chain(client_sections(analysed, view.details)).collect();
    }
    if let Some(table) = groups_table(analysed) {
        let each = answer_sections(&frame, &analysis.summaries, run.started.plan.margin());
        return [Section::Table(table)].into_iter().chain(each).collect();
    }
    if let Some(pivot) = analysed.labels() {
        let table = [Section::Table(pivot_table(&frame, pivot)), Section::Text(pivot.words())];
        return table
            .into_iter()
            .chain(Costs::of(analysed).tables().into_iter().map(Section::Table))
            .collect();
    }
    if run.started.targets.len() == 1 {
        let by_making = makings_table(&frame, run.started.plan.makings);
        return [overview_table(&frame), by_making].into_iter().flatten().map(Section::Table).collect();
    }
    answer_sections(&frame, &analysis.summaries, run.started.plan.margin())
}

pub(crate) fn circumstances(run: &Run, analysis: &Analysis, view: &RunView) -> Vec<(String, String)> {
    let started = &run.started;
    let (machines, measuring) = (started.watched_machines(), started.machines());
    let name = |number: u32| match machines.as_slice() {
        [_] => "machine".to_owned(),
        _ if measuring.contains(&number) => format!("machine {}", started.machine_name(number)),
        _ => format!("server {}", started.machine_name(number)),
    };
    let words = |number: &u32| (name(*number), machine_words(started.machine(*number), view));
    let mut facts: Vec<(String, String)> = machines.iter().map(words).collect();
    for target in &started.targets {
        facts.push((target.name.clone(), target_line(run, target, view)));
    }
    facts.push(("method".to_owned(), method_line(run, analysis)));
    facts
}

fn machine_words(host: &Host, view: &RunView) -> String {
    let mut machine = format!("{}, {} × {}", host.name, host.cpus, host.cpu);
    machine.push_str(&format!(", {}", display_bytes(host.memory_bytes, view.units)));
    for part in [&host.board, &host.os].into_iter().flatten() {
        machine.push_str(&format!(", {part}"));
    }
    machine.push_str(&format!(", Linux {}", host.kernel));
    bearings(host, view.units).iter().for_each(|part| machine.push_str(&format!(", {part}")));
    machine
}

fn target_line(run: &Run, target: &Target, view: &RunView) -> String {
    let mut line = format!("{} ({})", target.path.display(), target.stack_line());
    let clients: Vec<&str> = target.clients.iter().map(|client| run.started.machine_name(*client)).collect();
    if !clients.is_empty() {
        line.push_str(&format!(" of {}", clients.join(", ")));
    }
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
    let makings = match run.started.plan.makings {
        1 => String::new(),
        n => format!(", each target made {n} times and measured in turn, the makings being the sample"),
    };
    format!(
        "{rounds} in {order}{lengths}{makings}, {ended}; {method}{counted}{verdicts}; seed {}; Lodestone {}",
        run.started.seed, run.started.version
    )
}
