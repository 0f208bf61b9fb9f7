//! Every target compared with every other.

use analyse::{Estimator, Pairing, Series, analyse};
use jiff::tz::TimeZone;
use model::{Metric, Operation, Run};
use report::{AllPairs, AnalysedRun, Document, RunView, Section, Table, Units, pairs_document, run_page};

/// The headline rates of random reads and the p99 of a given load, on targets of these speeds; each round differs by 1 %.
fn series(run: &Run, targets: &[(&str, f64)], rounds: u32) -> Vec<Series> {
    let ids: Vec<String> = run.started.plan.steps.iter().map(|step| step.id.clone()).collect();
    let figures = [(&ids[0], Metric::Bandwidth), (&ids[1], Metric::LatP99)];
    let of = |(step, metric): (&String, Metric), (target, speed): (&str, f64)| Series {
        run: 0,
        target: target.to_owned(),
        step: step.clone(),
        operation: Operation::Read,
        metric,
        is_headline: true,
        values: (0..rounds)
            .map(|round| {
                let speed = speed * (1.0 + 0.01 * f64::from(round % 2));
                (round, if metric == Metric::LatP99 { 1e6 / speed } else { 1e8 * speed })
            })
            .collect(),
        exposures: Vec::new(),
        makings: 1,
    };
    figures.into_iter().flat_map(|figure| targets.iter().map(move |target| of(figure, *target))).collect()
}

fn document(targets: &[(&str, f64)], rounds: u32) -> Document {
    let run = crate::fixture();
    let series = series(&run, targets, rounds);
    pairs_document(&AllPairs::new(vec![&run], &series, Pairing::ByRound, 0.03, 9).unwrap())
}

fn tables(document: &Document) -> Vec<&Table> {
    document
        .sections
        .iter()
        .filter_map(|s| if let Section::Table(table) = s { Some(table) } else { None })
        .collect()
}

fn texts(table: &Table) -> Vec<Vec<&str>> {
    table.rows.iter().map(|row| row.iter().map(|cell| cell.text.as_str()).collect()).collect()
}

#[test]
fn each_pair_is_judged_once_and_read_from_both_sides() {
    let document = document(&[("a", 1.0), ("b", 1.25), ("c", 1.0)], 8);
    assert_eq!(document.answer, ["Of 6 comparisons, 4 differ and 2 are the same (within 3 %)."]);
    let [counts, figures] = tables(&document)[..] else { panic!("two tables") };
    assert_eq!(texts(counts), [["a", "", "−2", "=2"], ["b", "+2", "", "+2"], ["c", "=2", "−2", ""]]);
    assert_eq!(
        texts(figures),
        [
            ["Random read, 4 KiB, depth 4", "a", "", "−20 %", "="],
            ["", "b", "+25 %", "", "+25 %"],
            ["", "c", "=", "−20 %", ""],
            ["Random mix 75/25, 4 KiB, depth 8, 2000/s offered: read, p99", "a", "", "+25 %", "="],
            ["", "b", "−20 %", "", "−20 %"],
            ["", "c", "=", "+25 %", ""],
        ],
        "a lower latency is faster"
    );
}

#[test]
fn what_cannot_be_told_apart_comes_first() {
    let told = document(&[("a", 1.0), ("b", 1.05)], 1).answer;
    assert_eq!(told, ["Each figure was measured only once, so any difference may be due to chance."]);
    let run = crate::fixture();
    let mut series = series(&run, &[("a", 1.0), ("b", 1.02), ("c", 2.0)], 6);
    let noisy = |s: &&mut Series| s.target == "b" && s.metric == Metric::Bandwidth;
    let b = series.iter_mut().find(noisy).unwrap();
    b.values.iter_mut().for_each(|(round, value)| *value *= if *round % 3 == 0 { 1.3 } else { 0.9 });
    let pairs = AllPairs::new(vec![&run], &series, Pairing::ByRound, 0.03, 3).unwrap();
    let told = pairs_document(&pairs).answer;
    assert_eq!(told.len(), 1);
    assert!(
        told[0].starts_with("b and a cannot be told apart yet at random read (4 KiB, depth 4)"),
        "{told:?}"
    );
    assert!(
        told[0].ends_with(". Of 6 comparisons, 4 differ, 1 is the same (within 3 %) and 1 is undecided."),
        "{told:?}"
    );
}

#[test]
fn too_few_and_too_many_targets_are_counted() {
    let run = crate::fixture();
    let of = |targets: &[(&str, f64)]| {
        let series = series(&run, targets, 4);
        AllPairs::new(vec![&run], &series, Pairing::ByRound, 0.03, 2).map(|pairs| pairs.targets.len())
    };
    assert_eq!(of(&[("a", 1.0)]), Err(1));
    assert_eq!(of(&[("a", 1.0), ("b", 1.0)]), Ok(2));
    assert_eq!(of(&[("a", 1.0), ("b", 1.0), ("c", 1.0)]), Err(3));
}

#[test]
fn a_page_has_the_pairs_of_three_targets_and_not_those_of_two() {
    let mut run = crate::fixture();
    let page = |run: &Run| {
        let analysis = analyse(run, "one", Estimator::Mean, Units::Decimal);
        let view = RunView {
            units: Units::Decimal,
            baseline: "one".into(),
            time_zone: TimeZone::UTC,
            details: true,
        };
        run_page(&AnalysedRun::new(run, &analysis, &view))
    };
    assert!(!page(&run).contains("Every pair"));
    let third = model::Target { name: "three".into(), ..run.started.targets[1].clone() };
    run.started.targets.push(third);
    let copies: Vec<_> = run.repeats.iter().filter(|r| r.started.target == "two").cloned().collect();
    run.repeats.extend(copies.into_iter().map(|mut repeat| {
        repeat.started.target = "three".into();
        repeat
    }));
    let three = page(&run);
    assert!(three.contains("<summary>Every pair of targets</summary>"));
    // On a telephone each row of a wide table is a card, which names each figure's column.
    assert!(three.contains("<table class=\"cards\">") && three.contains("data-h=\"three\""));
}
