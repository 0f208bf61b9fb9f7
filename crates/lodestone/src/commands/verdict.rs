//! With which exit code a finished run ends, and why.

use analyse::Analysis;
use model::{Repeat, Run, RunOutcome, Severity};

use crate::failure::{FAILED, INTERRUPTED};
use crate::output;

/// The exit code of a run, and for a failed one a sentence that says why.
pub(super) fn verdict(run: &Run, analysis: &Analysis) -> (u8, Option<String>) {
    match run.finished.as_ref().map(|f| f.outcome) {
        Some(RunOutcome::Completed) => {}
        Some(RunOutcome::Interrupted) => return (INTERRUPTED, None),
        _ => return (FAILED, Some("something failed; the findings say what".to_owned())),
    }
    let errors = analysis.findings.iter().filter(|finding| finding.severity == Severity::Error);
    let rules: Vec<&str> = errors.map(|finding| finding.rule.as_str()).collect();
    if !rules.is_empty() {
        let what = rules.join(", ");
        return (FAILED, Some(format!("there is an error among the findings: {what}")));
    }
    let is_measured = |target: &str| run.repeats.iter().any(|r| r.started.target == target && counted(r));
    let targets = run.started.targets.iter().map(|target| target.name.as_str());
    let empty: Vec<&str> = targets.filter(|target| !is_measured(target)).collect();
    if empty.is_empty() {
        return (0, None);
    }
    (FAILED, Some(format!("nothing was measured on {}; the findings say why", empty.join(", "))))
}

/// True if a repeat ended as planned and anything was done in it, be it in its ramp only.
fn counted(repeat: &Repeat) -> bool {
    let mut operations = repeat.intervals.iter().flat_map(|interval| interval.operations.values());
    let has_figures = repeat.imported.as_ref().is_some_and(|imported| !imported.figures.is_empty());
    repeat.is_complete() && (has_figures || operations.any(|stats| stats.count > 0))
}

/// Gives the exit code of a run, and says on the standard error output why it is not 0.
pub(super) fn concluded(run: &Run, analysis: &Analysis) -> u8 {
    let (code, why) = verdict(run, analysis);
    if let Some(why) = why {
        output::say(&format!("lodestone: run {}: {why}", run.started.id));
    }
    code
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use analyse::{Estimator, analyse};

    use super::*;

    /// A run all of whose repeats ended as planned without a single operation was `kept as run …`, with exit code 0.
    #[test]
    fn a_target_without_one_operation_was_not_measured() {
        let log = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/runs/format-2.jsonl");
        let mut run = record::read_log(Path::new(log)).unwrap().run;
        let of = |run: &Run| verdict(run, &analyse(run, "one", Estimator::Mean));
        assert_eq!(of(&run), (0, None));
        let of_two = run.repeats.iter_mut().filter(|repeat| repeat.started.target == "two");
        for interval in of_two.flat_map(|repeat| &mut repeat.intervals) {
            interval.operations.clear();
        }
        let (code, why) = of(&run);
        assert_eq!(code, FAILED);
        assert!(why.unwrap().starts_with("nothing was measured on two;"));
    }
}
