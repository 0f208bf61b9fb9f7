//! A bounded number of attempts on all readers of external files; `cargo run --release -p lodestone-attempts` makes
//! more.

use attempts::outcome::Outcome;

#[track_caller]
fn none_failed(outcome: &Outcome, count: u64) {
    assert_eq!((outcome.attempts, outcome.failed), (count, 0), "{outcome}");
}

#[test]
fn mutated_outputs_give_plausible_figures_or_a_message() {
    let outcome = attempts::imports::imports(500, 1);
    none_failed(&outcome, 500);
    assert!(outcome.counts.contains_key("imported") && outcome.counts.contains_key("refused"), "{outcome}");
}

#[test]
fn mutated_suites_are_resolved_or_refused() {
    let outcome = attempts::suites::suites(300, 1);
    none_failed(&outcome, 300);
    assert!(outcome.counts.contains_key("resolved") && outcome.counts.contains_key("refused"), "{outcome}");
}

#[test]
fn mutated_job_files_are_resolved_or_refused() {
    let outcome = attempts::jobs::jobs(500, 1);
    none_failed(&outcome, 500);
    assert!(outcome.counts.contains_key("resolved") && outcome.counts.contains_key("refused"), "{outcome}");
}
