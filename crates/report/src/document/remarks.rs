//! Findings and notes as people read them: those that say the same put together, the weightiest first, and no more
//! than a person reads.

use analyse::RULES;
use model::{Finding, Note, Run, Severity};

use crate::document::Section;

/// More remarks than this are not read. Errors are told in any case.
const MOST: usize = 8;

/// Findings, those of one rule put together as far as they say the same, and what the program noticed. Unless `all` are
/// wanted, the least of them are only counted.
pub(crate) fn remarks(run: &Run, findings: &[Finding], all: bool) -> Vec<Section> {
    let mut remarks: Vec<(Severity, Section)> =
        groups(findings).into_iter().map(|g| (g.first.severity, g.section(run))).collect();
    for note in run.notes.iter().filter(|note| !is_taken_over(note, findings)) {
        let about = match &note.target {
            Some(target) => format!("{target} · {}", note.topic),
            None => note.topic.clone(),
        };
        let remark =
            Section::Remark { severity: note.severity, about, message: note.message.clone(), advice: None };
        if !remarks.iter().any(|(_, known)| *known == remark) {
            remarks.push((note.severity, remark));
        }
    }
    remarks.sort_by_key(|(severity, _)| std::cmp::Reverse(*severity));
    let errors = remarks.iter().filter(|(severity, _)| *severity == Severity::Error).count();
    let shown = if all { remarks.len() } else { MOST.max(errors) };
    let more = remarks.len().saturating_sub(shown);
    let mut sections: Vec<Section> = remarks.into_iter().take(shown).map(|(_, section)| section).collect();
    if more > 0 {
        let id = &run.started.id;
        let sentence = format!("… and {more} less important ones: lodestone show {id} --all-findings");
        sections.push(Section::Text(sentence));
    }
    sections
}

/// A note that a finding repeats word for word.
fn is_taken_over(note: &Note, findings: &[Finding]) -> bool {
    findings.iter().any(|f| f.message == note.message && f.subject.target == note.target)
}

fn groups(findings: &[Finding]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for finding in findings {
        let (target, step) = (finding.subject.target.as_deref(), finding.subject.step.as_deref());
        let at = groups.iter().position(|g| g.takes(finding)).unwrap_or_else(|| {
            groups.push(Group { first: finding, targets: Vec::new(), steps: Vec::new(), same_words: true });
            groups.len() - 1
        });
        let group = &mut groups[at];
        group.same_words &= finding.message == group.first.message;
        group.targets.extend(target.filter(|t| !group.targets.contains(t)));
        group.steps.extend(step.filter(|s| !group.steps.contains(s)));
    }
    groups
}

/// Findings of one rule that are shown as one: about one target in several steps, word for word the same about several
/// targets, or, where they matter little, of several targets.
struct Group<'a> {
    first: &'a Finding,
    targets: Vec<&'a str>,
    steps: Vec<&'a str>,
    same_words: bool,
}

impl Group<'_> {
    fn takes(&self, finding: &Finding) -> bool {
        let (mine, theirs) = (&self.first.subject, &finding.subject);
        let same_words = finding.message == self.first.message && theirs.step == mine.step;
        let is_told_apart = RULES.iter().any(|rule| rule.name == finding.rule && rule.is_told_apart);
        let has_steps = theirs.step.is_some() && mine.step.is_some();
        let same_target = theirs.target == mine.target && has_steps;
        let matters_little = finding.severity == Severity::Info && theirs.target.is_some();
        let alike = !is_told_apart && (same_target || matters_little);
        finding.rule == self.first.rule && finding.severity == self.first.severity && (alike || same_words)
    }

    fn section(self, run: &Run) -> Section {
        let first = self.first;
        let target = first.subject.target.as_deref().unwrap_or("all");
        let whom = if self.same_words && !self.targets.is_empty() {
            self.targets.join(", ")
        } else {
            target.to_owned()
        };
        let mut about = format!("{whom} · {}", first.rule);
        if let Some(step) = self.steps.first() {
            about.push_str(&format!(" · {}", step_name(run, step)));
        }
        let steps = self.steps.get(1..).unwrap_or_default();
        let mut others: Vec<&str> = steps.iter().map(|step| step_name(run, step)).collect();
        if !self.same_words {
            others.extend(self.targets.iter().filter(|t| **t != target));
        }
        let message = match others.as_slice() {
            [] => first.message.clone(),
            others => format!("{} (and likewise in {})", first.message, named(others)),
        };
        Section::Remark { severity: first.severity, about, message, advice: first.advice.clone() }
    }
}

/// What a step is called here: its id, as the suite has it; that of an imported step is made up, and says
/// less than its title.
fn step_name<'a>(run: &'a Run, id: &'a str) -> &'a str {
    run.started.plan.step(id).filter(|_| run.is_imported()).map_or(id, |step| step.title.as_str())
}

/// Names in a row, of many only the first few.
fn named(names: &[&str]) -> String {
    const MOST: usize = 8;
    match names.len().checked_sub(MOST) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..MOST].join(", ")),
    }
}
