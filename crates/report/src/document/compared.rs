//! Several runs compared.

use model::{Run, Target};

use crate::answer::compared as compared_sentences;
use crate::answer::costs::Costs;
use crate::answer::table::answer_sections;
use crate::document::circumstances::circumstances_sections;
use crate::document::tables::step_table;
use crate::document::{Document, Section};
use crate::frame::Frame;
use crate::view::{ComparedRuns, RunView, when};

/// Runs that the title names.
const MOST_NAMED: usize = 4;

/// A target's name, with its stack if that is known.
fn target_words(target: &Target) -> String {
    match target.stack_line() {
        stack if stack.is_empty() => target.name.clone(),
        stack => format!("{} ({stack})", target.name),
    }
}

/// The document of several runs compared: the answer with its table, what differs between the runs, and with
/// `view.details` the tables of every step.
pub fn comparison_document(runs: &[&Run], compared: &ComparedRuns, view: &RunView) -> Document {
    let ComparedRuns { comparisons, summaries, margin, .. } = compared;
    let frame = Frame::of_runs(runs, compared, view);
    let mut sections = answer_sections(&frame, summaries, *margin);
    let costs = Costs::of_compared(compared, &frame.steps);
    sections.extend(costs.tables().into_iter().map(Section::Table));
    let about = |run: &&Run| {
        let s = &run.started;
        let what = format!(
            "{} on {}, suite {}, {}",
            when(s.started_unix_ns, &view.time_zone),
            Some(s.machine_names()).filter(|names| !names.is_empty()).unwrap_or("an unnamed machine".into()),
            s.plan.suite,
            s.targets.iter().map(target_words).collect::<Vec<_>>().join(", ")
        );
        (s.id.clone(), what)
    };
    sections.push(Section::Heading("Runs".into()));
    sections.push(Section::Facts(runs.iter().map(about).collect()));
    if view.details {
        let tables = frame.steps.iter().filter_map(|step| step_table(&frame, step));
        sections.push(Section::Folded {
            summary: "All figures of every step",
            sections: tables.map(Section::Table).collect(),
        });
    }
    sections.extend(circumstances_sections(runs, view.units));
    sections.push(Section::Heading("Caveats".into()));
    sections.push(Section::Text(
        "These figures come from different runs. Everything that changed between them (temperature, other load, \
    software) is part of the ratios: only targets measured within one run are compared under the same \
    circumstances."
            .into(),
    ));
    let mut answer = compared_sentences(&frame.steps, comparisons, *margin, |_| None);
    answer.extend(costs.sentences());
    let ids: Vec<&str> = runs.iter().take(MOST_NAMED).map(|run| run.started.id.as_str()).collect();
    let more = if runs.len() > ids.len() { ", …" } else { "" };
    let title = format!("{} runs compared: {}{more}", runs.len(), ids.join(", "));
    Document { title, answer, sections }
}
