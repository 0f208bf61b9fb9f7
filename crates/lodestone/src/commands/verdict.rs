//! The exit code of a finished run, and its reason.

use analyse::{Analysis, Judgement, Standing};
use model::{Repeat, Run, RunOutcome, Severity};

use crate::failure::{FAILED, INTERRUPTED, MISSED};
use crate::output;

/// The exit code of a run, and the reason if it failed or missed what was required; what is undecided counts as missed if
/// `is_strict`.
pub(super) fn verdict(run: &Run, analysis: &Analysis, is_strict: bool) -> (u8, Option<String>) {
    match run.finished.as_ref().map(|f| f.outcome) {
        Some(RunOutcome::Completed) => {}
        Some(RunOutcome::Interrupted) => return (INTERRUPTED, None),
        _ => return (FAILED, Some("something failed; see the findings".to_owned())),
    }
    let errors = analysis.findings.iter().filter(|finding| finding.severity == Severity::Error);
    let rules: Vec<&str> = errors.map(|finding| finding.rule.as_str()).collect();
    if !rules.is_empty() {
        let what = rules.join(", ");
        return (FAILED, Some(format!("the findings contain an error: {what}")));
    }
    let is_measured = |target: &str| run.repeats.iter().any(|r| r.started.target == target && counted(r));
    let targets = run.started.targets.iter().map(|target| target.name.as_str());
    let empty: Vec<&str> = targets.filter(|target| !is_measured(target)).collect();
    if !empty.is_empty() {
        return (FAILED, Some(format!("nothing was measured on {}; see the findings", empty.join(", "))));
    }
    let missing = |standing| unreached(&analysis.judgements, standing).map(|what| (MISSED, Some(what)));
    let missed = missing(Standing::Missed);
    missed.or_else(|| missing(Standing::Undecided).filter(|_| is_strict)).unwrap_or((0, None))
}

/// The profiles that stand like this, and where; `None` if there is none.
fn unreached(judgements: &[Judgement], standing: Standing) -> Option<String> {
    let mut all: Vec<String> = Vec::new();
    for judgement in judgements.iter().filter(|judgement| judgement.standing == standing) {
        let one = format!("{} on {}", judgement.requirement.profile, judgement.target);
        if !all.contains(&one) {
            all.push(one);
        }
    }
    (!all.is_empty()).then(|| format!("{}: {}", standing.name(), all.join(", ")))
}

/// True if a repeat ended as planned and completed any operation, even if only during its ramp.
fn counted(repeat: &Repeat) -> bool {
    let mut operations = repeat.intervals.iter().flat_map(|interval| interval.operations.values());
    let has_figures = repeat.imported.as_ref().is_some_and(|imported| !imported.figures.is_empty());
    repeat.is_complete() && (has_figures || operations.any(|stats| stats.count > 0))
}

/// Returns the exit code of a run, and prints on standard error why it failed.
pub(super) fn concluded(run: &Run, analysis: &Analysis, is_strict: bool) -> u8 {
    let (code, why) = verdict(run, analysis, is_strict);
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

    /// A run whose repeats all ended as planned without an operation was `saved as run …`, with exit code 0.
    #[test]
    fn a_target_without_operations_is_not_measured() {
        let log = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/runs/format-3.jsonl");
        let mut run = record::read_log(Path::new(log)).unwrap().run;
        let of =
            |run: &Run| verdict(run, &analyse(run, "one", Estimator::Mean, model::Units::Decimal), false);
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
