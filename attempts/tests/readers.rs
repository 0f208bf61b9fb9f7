//! Bounded attempts on everything that reads files of others; `cargo run --release -p lodestone-attempts` makes more.

use attempts::outcome::Outcome;

#[track_caller]
fn none_failed(outcome: &Outcome, count: u64) {
    assert_eq!((outcome.attempts, outcome.failed), (count, 0), "{outcome}");
}

#[test]
fn changed_outputs_give_figures_that_can_be_or_a_message() {
    let outcome = attempts::imports::imports(500, 1);
    none_failed(&outcome, 500);
    assert!(outcome.counts.contains_key("imported") && outcome.counts.contains_key("refused"), "{outcome}");
}

#[test]
fn changed_suites_are_resolved_or_refused() {
    let outcome = attempts::suites::suites(300, 1);
    none_failed(&outcome, 300);
    assert!(outcome.counts.contains_key("resolved") && outcome.counts.contains_key("refused"), "{outcome}");
}

#[test]
fn changed_job_files_are_resolved_or_refused() {
    let outcome = attempts::jobs::jobs(500, 1);
    none_failed(&outcome, 500);
    assert!(outcome.counts.contains_key("resolved") && outcome.counts.contains_key("refused"), "{outcome}");
}
