//! A crosscheck from made measurements, in all its forms.

use analyse::{Agreement, CheckedPair, Estimator, analyse};
use jiff::tz::TimeZone;
use model::{CheckedFigure, CheckedWork, Estimate, Metric, Note, Operation, Run, Severity};
use report::{RunView, TextStyle, Units, crosscheck_document, crosscheck_export, json, markdown, text};

fn fixture() -> Run {
    let mut run = crate::fixture();
    let mut note = |topic: &str, message: &str| {
        let (topic, message) = (topic.to_owned(), message.to_owned());
        run.notes.push(Note { at_ns: 0, severity: Severity::Warning, topic, target: None, message });
    };
    note("tool-missing", "hdparm: hdparm is not installed; install the Debian package hdparm");
    for _ in 0..2 {
        note(Note::NO_FIGURES, "a repeat of `ioping-write` has no figures: it counted none of its requests");
    }
    run
}

fn work(tool: &str, step: &str, defined_cost: bool, figures: &[(Metric, Option<&str>)]) -> CheckedWork {
    let figure = |(metric, known): &(Metric, Option<&str>)| CheckedFigure {
        operation: Operation::Read,
        metric: *metric,
        known: known.map(str::to_owned),
    };
    CheckedWork {
        tool: tool.into(),
        step: step.into(),
        title: format!("what {step} does"),
        command: format!("{tool} --on {{file}} <{step}>"),
        defined_cost,
        figures: figures.iter().map(figure).collect(),
    }
}

fn works() -> Vec<CheckedWork> {
    use Metric::{Bandwidth, Iops, LatMean, LatP99};
    vec![
        work("fio", "fio-a", true, &[(Iops, None), (LatMean, Some("it sleeps in between")), (LatP99, None)]),
        work("fio", "fio-b", true, &[(Iops, Some("it sleeps in between"))]),
        work("dd", "dd-a", false, &[(Bandwidth, None)]),
        work("dd", "dd-b", true, &[(Bandwidth, Some("it is slow"))]),
    ]
}

/// Every verdict, with and without a known reason, and a figure that only one of them has.
fn pairs(works: &[CheckedWork]) -> Vec<CheckedPair<'_>> {
    let estimate = |value: f64| Estimate { value, interval: Some((value * 0.97, value * 1.03)) };
    let pair = |work: usize, figure: usize, tool: f64, ratio: f64, agreement: Agreement| CheckedPair {
        work: &works[work],
        figure: &works[work].figures[figure],
        tool: Some(estimate(tool)),
        lodestone: Some(estimate(tool * ratio)),
        ratio: Some(estimate(ratio)),
        agreement: Some(agreement),
    };
    vec![
        pair(0, 0, 12_345.0, 1.003, Agreement::Agrees),
        pair(0, 1, 81_000.0, 0.8, Agreement::Differs),
        pair(0, 2, 190_000.0, 1.04, Agreement::Undecided),
        pair(1, 0, 40_000.0, 1.2, Agreement::Differs),
        pair(2, 0, 2.5e9, 1.5, Agreement::Differs),
        CheckedPair { tool: None, ratio: None, agreement: None, ..pair(3, 0, 1e9, 1.0, Agreement::Agrees) },
    ]
}

fn view() -> RunView {
    RunView { units: Units::Decimal, baseline: "one".into(), time_zone: TimeZone::UTC, details: false }
}

#[test]
fn text_and_markdown_say_what_agrees_what_does_not_and_why() {
    let (run, works) = (fixture(), works());
    let analysis = analyse(&run, "one", Estimator::Median, Units::Decimal);
    let document = crosscheck_document(&run, &analysis, &pairs(&works), &view());
    insta::assert_snapshot!("text", text(&document, TextStyle { width: 110, color: false }));
    insta::assert_snapshot!("markdown", markdown(&document));
}

#[test]
fn the_export_has_all_figures_and_reasons_only_for_differences() {
    let works = works();
    let mut pairs = pairs(&works);
    pairs[1].agreement = Some(Agreement::Agrees);
    let export = crosscheck_export(&fixture(), &pairs);
    assert_eq!(export.figures.len(), 6);
    let known: Vec<Option<&str>> = export.figures.iter().map(|f| f.known.as_deref()).collect();
    let expected = [None, None, None, Some("it sleeps in between"), None, None];
    assert_eq!(known, expected, "what agrees, or is not compared, needs none");
    let value: serde_json::Value = serde_json::from_str(&json::pretty(&export)).unwrap();
    assert_eq!(value["schema"], report::CROSSCHECK_SCHEMA);
    assert_eq!(value["figures"][5]["tool_value"], serde_json::Value::Null);
}

#[test]
fn without_figures_nothing_is_claimed() {
    let run = fixture();
    let analysis = analyse(&run, "one", Estimator::Median, Units::Decimal);
    let told =
        text(&crosscheck_document(&run, &analysis, &[], &view()), TextStyle { width: 110, color: false });
    assert!(told.contains("There are too few rounds"), "{told}");
}
