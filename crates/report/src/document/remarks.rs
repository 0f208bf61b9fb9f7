//! Findings and notes: equal ones are merged, the most important come first, and only as many
//! as a person reads.

use analyse::RULES;
use model::units::counted;
use model::{Finding, Note, Run, Severity};

use crate::document::Section;

/// Largest number of remarks. Errors are always shown.
const MOST: usize = 5;

/// Findings, merged by rule as far as they are equal, and notes. Unless `all` is true, only the first of each rule, except
/// errors; the least important, and notes that nothing is to be done about, are only counted.
pub(crate) fn remarks(run: &Run, findings: &[Finding], all: bool) -> Vec<Section> {
    let mut groups = groups(findings);
    if !all {
        condense(&mut groups);
    }
    let mut remarks: Vec<(Severity, Section)> =
        groups.into_iter().map(|g| (g.first.severity, g.section(run))).collect();
    let mut asides = 0;
    for note in run.notes.iter().filter(|note| !is_taken_over(note, findings)) {
        let about = match &note.target {
            Some(target) => format!("{target} · {}", note.topic),
            None => note.topic.clone(),
        };
        let remark =
            Section::Remark { severity: note.severity, about, message: note.message.clone(), advice: None };
        if !remarks.iter().any(|(_, known)| *known == remark) {
            asides += usize::from(note.severity == Severity::Info);
            remarks.push((note.severity, remark));
        }
    }
    remarks.sort_by_key(|(severity, _)| std::cmp::Reverse(*severity));
    let errors = remarks.iter().filter(|(severity, _)| *severity == Severity::Error).count();
    let shown = if all { remarks.len() } else { MOST.min(remarks.len() - asides).max(errors) };
    let more = remarks.len().saturating_sub(shown);
    let mut sections: Vec<Section> = remarks.into_iter().take(shown).map(|(_, section)| section).collect();
    if more > 0 {
        let id = &run.started.id;
        let sentence =
            format!("… and {}: lodestone show {id} --details", counted(more, "less important finding"));
        sections.push(Section::Text(sentence));
    }
    sections
}

/// A note that a finding repeats word for word, or that a target was given up whose failure is a finding.
fn is_taken_over(note: &Note, findings: &[Finding]) -> bool {
    let says_it = |f: &Finding| {
        f.message == note.message || (note.topic == Note::TARGET_GIVEN_UP && f.rule == "storage-failed")
    };
    findings.iter().any(|f| f.subject.target == note.target && says_it(f))
}

/// Leaves the first group of each rule, which tells of the others how many and on which targets.
fn condense(groups: &mut Vec<Group<'_>>) {
    let mut kept: Vec<Group<'_>> = Vec::new();
    for group in groups.drain(..) {
        let is_error = group.first.severity == Severity::Error;
        match kept.iter_mut().find(|g| g.first.rule == group.first.rule && !is_error) {
            Some(first) => {
                first.more += group.findings;
                for target in group.targets {
                    if !first.more_on.contains(&target) {
                        first.more_on.push(target);
                    }
                }
            }
            None => kept.push(group),
        }
    }
    *groups = kept;
}

fn groups(findings: &[Finding]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for finding in findings {
        let (target, step) = (finding.subject.target.as_deref(), finding.subject.step.as_deref());
        let at = groups.iter().position(|g| g.takes(finding)).unwrap_or_else(|| {
            groups.push(Group {
                first: finding,
                targets: Vec::new(),
                steps: Vec::new(),
                same_words: true,
                findings: 0,
                more: 0,
                more_on: Vec::new(),
            });
            groups.len() - 1
        });
        let group = &mut groups[at];
        group.findings += 1;
        group.same_words &= finding.message == group.first.message;
        group.targets.extend(target.filter(|t| !group.targets.contains(t)));
        group.steps.extend(step.filter(|s| !group.steps.contains(s)));
    }
    groups
}

/// Findings of one rule that are shown as one: about one target in several steps, with the same text about several
/// targets, or of severity `info` about several targets.
struct Group<'a> {
    first: &'a Finding,
    targets: Vec<&'a str>,
    steps: Vec<&'a str>,
    same_words: bool,
    findings: usize,
    /// Other findings of the rule, and their targets.
    more: usize,
    more_on: Vec<&'a str>,
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
        let is_about_all = self.targets.len() > 2 && self.targets.len() == run.started.targets.len();
        let whom = match self.targets.as_slice() {
            [_, ..] if self.same_words && is_about_all => "all targets".to_owned(),
            targets @ [_, ..] if self.same_words => named(targets),
            _ => target.to_owned(),
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
        let count = if self.more == 1 { "one".to_owned() } else { self.more.to_string() };
        let message = match (self.more, self.more_on.as_slice()) {
            (0, _) => message,
            (_, []) => format!("{message} (and {count} more of this kind)"),
            (_, targets) => format!("{message} (and {count} more of this kind, on {})", named(targets)),
        };
        Section::Remark { severity: first.severity, about, message, advice: first.advice.clone() }
    }
}

/// The name of a step: its id in the suite, or for an imported step its title, because its id is generated and says
/// less than its title.
fn step_name<'a>(run: &'a Run, id: &'a str) -> &'a str {
    run.started.plan.step(id).filter(|_| run.is_imported()).map_or(id, |step| step.title.as_str())
}

/// An enumeration of names; of many, only the first few.
fn named(names: &[&str]) -> String {
    const MOST: usize = 5;
    match names.len().checked_sub(MOST) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..MOST].join(", ")),
    }
}
