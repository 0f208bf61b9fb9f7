//! What is said of targets that stall: each of its own, or all of them together.

use model::*;

use super::repeats::in_turns;
use super::{found_in, run, workload};

/// Twenty rounds of two targets, of which each stalls in these rounds, counted from 0: they take three times as long.
fn with_stalls(disk: &[u32], other: &[u32]) -> Run {
    let mut run = run(workload());
    in_turns(&mut run, 20, 1.0);
    for repeat in &mut run.repeats {
        let stalled = if repeat.started.target == "disk" { disk } else { other };
        if stalled.contains(&repeat.started.round) {
            repeat.finished.as_mut().unwrap().window_ns *= 3;
        }
    }
    run
}

fn found_with_stalls(disk: &[u32], other: &[u32]) -> Vec<Finding> {
    found_in(&with_stalls(disk, other))
}

/// Three of twenty repeats that take three times as long look like a second mode, but a stall explains them.
#[test]
fn repeats_that_stalled_are_no_second_mode() {
    let run = with_stalls(&[3, 9, 15], &[]);
    let of = |run: &Run| {
        let analysis = crate::analyse(run, "disk", crate::Estimator::Mean, Units::Decimal);
        let modes = analysis.diagnostics.iter().flatten().filter(|d| d.modes.is_some()).count();
        (modes, of(&analysis.findings, "stalled-repeats").len(), of(&analysis.findings, "two-modes").len())
    };
    assert_eq!(of(&run), (0, 1, 0));
    // Half of the repeats are no rare stall.
    let half: Vec<u32> = (0..20).step_by(2).collect();
    assert_eq!(of(&with_stalls(&half, &[])), (1, 0, 1));
}

fn of<'a>(found: &'a [Finding], rule: &str) -> Vec<&'a Finding> {
    found.iter().filter(|f| f.rule == rule).collect()
}

#[test]
fn targets_that_stall_in_the_same_rounds_are_one_finding() {
    let found = found_with_stalls(&[3, 9, 15], &[3, 9, 15]);
    let told = of(&found, "stalled-repeats");
    let [one] = told.as_slice() else { panic!("{told:#?}") };
    assert_eq!((&one.subject.target, one.severity), (&None, Severity::Warning));
    assert!(
        one.message
            .starts_with("disk and other stalled in the same rounds (rounds 4, 10 and 16), in one step"),
        "{}",
        one.message
    );
    assert_eq!(one.evidence.iter().filter(|e| e.what.starts_with("share of the time")).count(), 2);
    for rule in ["outliers", "two-modes"] {
        assert!(of(&found, rule).is_empty(), "{rule} tells the same again: {found:#?}");
    }
}

#[test]
fn targets_that_stall_in_other_rounds_have_a_finding_each() {
    let found = found_with_stalls(&[3, 9, 15], &[5, 11, 17]);
    let mut whose: Vec<_> =
        of(&found, "stalled-repeats").iter().map(|f| f.subject.target.clone().unwrap()).collect();
    whose.sort();
    assert_eq!(whose, ["disk", "other"]);
}

/// Storage that stops after every seventh round, and one that does so as often at random.
#[test]
fn stalls_that_come_regularly_have_a_period() {
    let told = |rounds: &[u32]| {
        let mut run = run(workload());
        in_turns(&mut run, 70, 1.0);
        for repeat in run.repeats.iter_mut().filter(|r| r.started.target == "disk") {
            if rounds.contains(&repeat.started.round) {
                repeat.finished.as_mut().unwrap().window_ns += 1_500_000_000;
            }
        }
        of(&found_in(&run), "stalled-repeats")[0].clone()
    };
    let regular = told(&[4, 11, 18, 25, 32, 39, 46, 53, 60, 67]);
    assert!(
        regular.message.contains(
            "stopped for 1.5 s after every 7.0 s of work (10 times in 84.7 s), which leaves 82 % of the time for work"
        ),
        "{}",
        regular.message
    );
    let period = regular.evidence.iter().find(|e| e.what == "period of the stalls").unwrap().value;
    assert!((period / 8.5e9 - 1.0).abs() < 0.01, "{period}");
    let random = told(&[2, 3, 9, 25, 28, 44, 46, 47, 60, 69]);
    assert!(
        random.message.contains("stopped 10 times in 84.7 s, for 1.5 s on average"),
        "{}",
        random.message
    );
}

#[test]
fn a_stall_that_may_be_the_only_one_is_a_note() {
    let severity = |rounds: &[u32]| of(&found_with_stalls(rounds, &[]), "stalled-repeats")[0].severity;
    assert_eq!(severity(&[9]), Severity::Info);
    assert_eq!(severity(&[3, 9, 15]), Severity::Warning);
}
