//! Requirements: the answer, the tables, JUnit XML and JSON.

use analyse::{Estimator, Standing, analyse};
use model::{Bound, EarlierFigure, Ladder, Metric, Operation, Reference, Requirement, Run, Rung, Units};
use report::{AnalysedRun, TextStyle, json, junit, run_document, text};

use crate::answers::view;

fn requirement(step: &str, operation: Operation, metric: Metric, bound: Bound, limit: f64) -> Requirement {
    let source = "Somebody: a title that can be looked up & <found>, 2026".to_owned();
    let (profile, step, relative_to) = ("store".into(), step.into(), None);
    Requirement { profile, step, operation, metric, bound, limit, relative_to, source }
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
    assert!(answer[0].starts_with("store: undecided; random read: the p99 of reads is "), "{answer:?}");
    assert!(answer[0].contains(", at most 1 s is required; about "), "{answer:?}");
    assert!(shown.contains("durable: rate of durable writes   ≥ 100/s"), "{shown}");
    let verdicts = |export: &serde_json::Value| -> Vec<String> {
        let all = export["requirements"].as_array().unwrap();
        all.iter().map(|r| r["verdict"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(verdicts(&export), ["met", "undecided"], "{export}");
    assert_eq!(export["requirements"][1]["more_rounds"], 1);
    let (answer, _, _, export) = told(&run(&["one"], true));
    assert!(
        answer[0].starts_with("store: missed; random write: the rate of durable writes is "),
        "{answer:?}"
    );
    assert!(answer[0].ends_with("at least 1M/s is required."), "{answer:?}");
    assert_eq!(verdicts(&export), ["met", "undecided", "missed"]);
}

#[test]
fn several_targets_are_told_in_one_sentence_and_one_table() {
    let (answer, shown, ..) = told(&run(&["one", "two"], true));
    assert!(answer[0].starts_with("store: missed on one ("), "{answer:?}");
    let row = shown.lines().find(|line| line.trim_start().starts_with("store  ")).unwrap();
    assert_eq!(row.matches("missed 0.0").count(), 2, "{row}");
}

#[test]
fn graphs_have_a_state_for_each_verdict() {
    let mut run = run(&["one"], true);
    // The same limit from another source is the same series.
    let again = run.started.plan.requirements[0].clone();
    run.started.plan.requirements.push(again);
    let analysis = analyse(&run, "one", Estimator::Mean, Units::Decimal);
    let of = |text: String| -> String {
        let own = text.lines().filter(|line| line.contains("lodestone_requirement"));
        own.map(|line| format!("{line}\n")).collect()
    };
    let gauges = of(report::prometheus(&run, &analysis));
    assert_eq!(gauges.matches("verdict=\"met\"} 1").count(), 1, "{gauges}");
    insta::assert_snapshot!(gauges);
    insta::assert_snapshot!(of(report::influx(&run, &analysis)));
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
    assert!(
        answer[0].contains("two (random write: the rate of durable writes was not measured; "),
        "{answer:?}"
    );
}

/// The figures of one target are three quarters of the other's, in every round.
#[test]
fn a_limit_may_be_a_share_of_another_target_or_of_an_earlier_run() {
    let mut run = run(&["one", "two"], false);
    let before = analyse(&run, "one", Estimator::Mean, Units::Decimal);
    let of = |m: &&model::Measurement| {
        (m.target.as_str(), m.step.as_str(), m.operation, m.metric)
            == ("one", "durable", Operation::DurableWrite, Metric::Iops)
    };
    let one = before.measurements.iter().find(of).unwrap();
    let earlier = |factor: f64| {
        let scaled = |e: &model::Exposure| model::Exposure { work: e.work * factor, ..*e };
        Reference::Run(Box::new(EarlierFigure {
            run: "wtbr65ja".into(),
            started_unix_ns: 0,
            of: "old".into(),
            target: "one".into(),
            values: one.values.iter().map(|(round, value)| (*round, value * factor)).collect(),
            exposures: one.exposures.iter().map(scaled).collect(),
            makings: 1,
        }))
    };
    let required = |relative_to| Requirement {
        profile: "as fast as it".into(),
        relative_to: Some(relative_to),
        ..requirement("durable", Operation::DurableWrite, Metric::Iops, Bound::AtLeast, 0.95)
    };
    for (factor, verdict, share) in [(0.4, "met", 2.5), (2.5, "missed", 0.4), (1.0 / 0.95, "undecided", 0.95)]
    {
        run.started.plan.requirements = vec![required(earlier(factor))];
        let (answer, shown, _, export) = told(&run);
        let facts = &export["requirements"];
        assert_eq!(facts.as_array().unwrap().len(), 1, "of one target only: {facts}");
        assert_eq!(
            (&facts[0]["verdict"], &facts[0]["relative_to"]),
            (&verdict.into(), &"wtbr65ja:old".into())
        );
        assert!((facts[0]["estimate"].as_f64().unwrap() / share - 1.0).abs() < 0.01, "{facts}");
        assert!(answer[0].starts_with(&format!("as fast as it: {verdict} on one")), "{answer:?}");
        let table = shown.lines().find(|line| line.contains("as fast as it  ")).unwrap();
        assert!(
            table.contains(verdict) && table.ends_with(" –"),
            "nothing is required of the other: {table}"
        );
    }
    run.started.targets.retain(|target| target.name == "one");
    let (answer, shown, ..) = told(&run);
    assert!(answer[0].contains("; the rate of durable writes is "), "{answer:?}");
    assert!(answer[0].contains(" of that in wtbr65ja, at least 95 % is required"), "{answer:?}");
    assert!(shown.contains("≥ 95 % of wtbr65ja"), "{shown}");
    let mut run = self::run(&["one", "two"], false);
    run.started.plan.requirements = vec![required(Reference::Target("one".into()))];
    let (answer, _, _, export) = told(&run);
    assert_eq!(export["requirements"][0]["target"], "two", "{export}");
    assert!(answer[0].contains(" of that on one, at least 95 % is required"), "{answer:?}");
}

#[test]
fn what_storage_carries_is_told_with_what_is_too_much() {
    let mut run = run(&["one"], false);
    let last = run.repeats.iter().filter(|repeat| repeat.started.round < 10).cloned().collect::<Vec<_>>();
    run.repeats.extend(last.into_iter().map(|mut repeat| {
        repeat.started.round += 28;
        repeat
    }));
    let rung = |step: &str, load: f64| Rung { step: step.into(), load };
    let rungs = vec![rung("durable", 1.0), rung("read", 2.5), rung("untried", 4.0)];
    run.started.plan.ladders = vec![Ladder { unit: "readers".into(), rungs }];
    let (answer, shown, _, export) = {
        let analysis = analyse(&run, "one", Estimator::Mean, Units::Decimal);
        assert_eq!(analysis.judgements, [], "none but those of the ladder");
        let view = view(false);
        let document = run_document(&run, &analysis, &view);
        let export =
            serde_json::to_value(json::run_export(&AnalysedRun::new(&run, &analysis, &view))).unwrap();
        (
            document.answer.clone(),
            text(&document, TextStyle { width: 110, color: false }).to_string(),
            (),
            export,
        )
    };
    assert_eq!(answer, ["one carries at least 2.5 readers."]);
    let facts = &export["headrooms"][0];
    assert_eq!((&facts["carried"], &facts["too_much"]), (&2.5.into(), &serde_json::Value::Null), "{facts}");
    assert_eq!(facts["tried"].as_array().unwrap().len(), 2, "{facts}");
    assert!(shown.contains("How much it carries") && shown.contains("  readers  "), "{shown}");

    let told = |run: &Run| {
        let analysis = analyse(run, "one", Estimator::Mean, Units::Decimal);
        run_document(run, &analysis, &view(false)).answer
    };
    run.started.plan.requirements[1].limit = 1.0;
    assert_eq!(told(&run), ["one carries 1 reader (2.5 are too many)."]);
    run.started.plan.requirements[0].limit = 1e9;
    assert_eq!(told(&run), ["one carries no readers."]);
    run.repeats.retain(|repeat| repeat.started.round < 1);
    assert_eq!(told(&run), ["How many readers one carries could not be decided in the time available."]);
}
