//! Requirements: the answer, the tables, JUnit XML and JSON.

use analyse::{Estimator, Standing, analyse};
use model::{Bound, Metric, Operation, Requirement, Run, Units};
use report::{AnalysedRun, TextStyle, json, junit, run_document, text};

use crate::answers::view;

fn requirement(step: &str, operation: Operation, metric: Metric, bound: Bound, limit: f64) -> Requirement {
    let source = "Somebody: a title that can be looked up & <found>, 2026".to_owned();
    Requirement { profile: "store".into(), step: step.into(), operation, metric, bound, limit, source }
}

/// The fixture on these targets, with a limit that is met, one that four rounds cannot tell, and for `is_missed` one that is missed.
fn run(targets: &[&str], is_missed: bool) -> Run {
    let mut run = crate::fixture();
    run.started.targets.retain(|t| targets.contains(&t.name.as_str()));
    run.repeats.retain(|r| targets.contains(&r.started.target.as_str()));
    let repeats = run.repeats.clone();
    // Twenty-eight rounds that differ in their numbers only.
    for again in 1..7 {
        let later = repeats.iter().cloned().map(|mut repeat| {
            repeat.started.round += 4 * again;
            repeat
        });
        run.repeats.extend(later);
    }
    let durable = |bound, limit| requirement("durable", Operation::DurableWrite, Metric::Iops, bound, limit);
    run.started.plan.requirements = vec![
        durable(Bound::AtLeast, 100.0),
        requirement("read", Operation::Read, Metric::LatP99, Bound::AtMost, 1e9),
    ];
    if is_missed {
        run.started.plan.requirements.push(durable(Bound::AtLeast, 1e6));
    }
    run
}

/// The answer, all of the text, JUnit XML, and the JSON.
fn told(run: &Run) -> (Vec<String>, String, String, serde_json::Value) {
    let analysis = analyse(run, "one", Estimator::Mean, Units::Decimal);
    let view = view(false);
    let document = run_document(run, &analysis, &view);
    let analysed = AnalysedRun::new(run, &analysis, &view);
    let export = serde_json::to_value(json::run_export(&analysed)).unwrap();
    let shown = text(&document, TextStyle { width: 110, color: false });
    (document.answer, shown.to_string(), junit(&analysed).unwrap(), export)
}

#[test]
fn the_answer_is_the_verdict_with_the_figure_that_decides_it() {
    let (answer, shown, _, export) = told(&run(&["one"], false));
    assert_eq!(answer.len(), 1, "{answer:?}");
    assert!(answer[0].starts_with("store is undecided: random read: p99 of reads "), "{answer:?}");
    assert!(answer[0].contains(", at most 1 s required; about "), "{answer:?}");
    assert!(shown.contains("durable: rate of durable writes   ≥ 100/s"), "{shown}");
    let verdicts = |export: &serde_json::Value| -> Vec<String> {
        let all = export["requirements"].as_array().unwrap();
        all.iter().map(|r| r["verdict"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(verdicts(&export), ["met", "undecided"], "{export}");
    assert_eq!(export["requirements"][1]["more_rounds"], 1);
    let (answer, _, _, export) = told(&run(&["one"], true));
    assert!(answer[0].starts_with("store is missed: random write: rate of durable writes "), "{answer:?}");
    assert!(answer[0].ends_with("at least 1M/s required."), "{answer:?}");
    assert_eq!(verdicts(&export), ["met", "undecided", "missed"]);
}

#[test]
fn several_targets_are_told_in_one_sentence_and_one_table() {
    let (answer, shown, ..) = told(&run(&["one", "two"], true));
    assert!(answer[0].starts_with("store is missed on one ("), "{answer:?}");
    let row = shown.lines().find(|line| line.trim_start().starts_with("store  ")).unwrap();
    assert_eq!(row.matches("missed 0.0").count(), 2, "{row}");
}

#[test]
fn build_servers_see_what_is_missed_and_what_is_undecided() {
    let (.., junit, _) = told(&run(&["one"], true));
    assert!(junit.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites "), "{junit}");
    assert!(junit.contains("tests=\"3\" failures=\"1\" skipped=\"1\""), "{junit}");
    assert!(junit.contains("<failure message=\"missed: "), "{junit}");
    assert!(junit.contains("looked up &amp; &lt;found&gt;, 2026"), "{junit}");
    let without = crate::fixture();
    let analysis = analyse(&without, "one", Estimator::Mean, Units::Decimal);
    assert_eq!(junit_of(&without, &analysis), None);
}

fn junit_of(run: &Run, analysis: &analyse::Analysis) -> Option<String> {
    junit(&AnalysedRun::new(run, analysis, &view(false)))
}

#[test]
fn a_target_where_nothing_was_measured_is_undecided() {
    let mut run = run(&["one", "two"], false);
    run.repeats.retain(|r| r.started.target == "one");
    let analysis = analyse(&run, "one", Estimator::Mean, Units::Decimal);
    let two: Vec<Standing> =
        analysis.judgements.iter().filter(|j| j.target == "two").map(|j| j.standing).collect();
    assert_eq!(two, [Standing::Undecided; 2]);
    let (answer, ..) = told(&run);
    assert!(answer[0].contains("two (random write: rate of durable writes: not measured; "), "{answer:?}");
}
