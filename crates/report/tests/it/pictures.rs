//! Pictures and pages of a real run that is kept as a fixture.

use analyse::{Analysis, Estimator, analyse};
use jiff::tz::TimeZone;
use model::{LoggedOffset, OffsetLog, Operation, Pattern, Run};
use report::chart::{CHARTS, Chart, charts};
use report::{AnalysedRun, ComparedRuns, RunView, Units, run_page, runs_page};

fn view() -> RunView {
    RunView { units: Units::Decimal, baseline: "one".into(), time_zone: TimeZone::UTC, details: true }
}

fn pictures(run: &Run) -> Vec<Chart> {
    let analysis = analyse(run, "one", Estimator::Mean, Units::Decimal);
    charts(&AnalysedRun::new(run, &analysis, &view()))
}

#[test]
fn chart_names_are_unique_and_begin_with_their_kind() {
    let mut names: Vec<String> = pictures(&crate::fixture()).into_iter().map(|c| c.name).collect();
    assert!(names.iter().all(|name| CHARTS.iter().any(|kind| name.starts_with(kind.name))), "{names:?}");
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn the_bars_as_svg() {
    let all = pictures(&crate::fixture());
    let bars = all.iter().find(|c| c.kind == "bars").unwrap();
    insta::assert_snapshot!(bars.wide);
}

/// One figure with an interval would describe neither of the two.
#[test]
fn two_modes_are_drawn_instead_of_an_interval() {
    let run = crate::fixture();
    let mut analysis = analyse(&run, "one", Estimator::Mean, Units::Decimal);
    let count = |analysis: &Analysis, kind: &str, class: &str| {
        let all = charts(&AnalysedRun::new(&run, analysis, &view()));
        let mark = format!("class=\"{class}");
        all.iter().filter(|c| c.kind == kind).map(|c| c.wide.matches(&mark).count()).sum::<usize>()
    };
    let before = [count(&analysis, "bars", "whisker"), count(&analysis, "repeats", "band")];
    let found = analysis.diagnostics.iter_mut().flatten().next().unwrap();
    let values = &analysis.measurements[0].values;
    let (low_mean, high_mean) = (values[0].1 * 0.5, values[0].1 * 1.5);
    found.modes = Some(analyse::Modes { low: vec![0, 1], high: vec![2, 3], low_mean, high_mean, p: 0.0 });
    assert_eq!([count(&analysis, "bars", "mode"), count(&analysis, "repeats", "level")], [2, 2]);
    assert_eq!(count(&analysis, "bars", "whisker"), before[0] - 3, "a line with its two ends");
    assert_eq!(count(&analysis, "repeats", "band"), before[1] - 1);
}

#[test]
fn the_latencies_as_svg_for_a_telephone() {
    let all = pictures(&crate::fixture());
    let latency = all.iter().find(|c| c.kind == "latency").unwrap();
    insta::assert_snapshot!(latency.narrow);
}

/// The fixture with places: a rate that falls towards the end, and accesses.
fn with_places() -> Run {
    let mut run = crate::fixture();
    let step = run.started.plan.steps[0].id.clone();
    for repeat in run.repeats.iter_mut().filter(|r| r.started.step == step) {
        let round = u64::from(repeat.started.round);
        let mut places = OffsetLog { left_out: 5, ..OffsetLog::default() };
        for i in 0..6 {
            let place = LoggedOffset {
                offset: i * 10_000_000,
                bytes: 1_000_000,
                ns: 10_000_000 + i * 1_000_000 + round,
            };
            places.record(place, OffsetLog::MOST);
        }
        repeat.finished.as_mut().unwrap().offset_log.insert(Operation::Read, places);
    }
    run
}

#[test]
fn the_positions_as_svg_for_a_telephone() {
    let mut run = with_places();
    for pattern in [Pattern::Spaced { count: 6 }, model::Workload::random_reads().pattern] {
        let kind = if pattern == (Pattern::Spaced { count: 6 }) { "lines" } else { "dots" };
        run.started.plan.steps[0].workload.pattern = pattern;
        let all = pictures(&run);
        let position = all.iter().find(|c| c.kind == "position").unwrap();
        assert!(position.caption.contains("later ones are missing"), "{}", position.caption);
        insta::assert_snapshot!(format!("positions_{kind}"), position.narrow);
    }
}

/// As GNOME Disks tells them: the rate with its ends, the access time in milliseconds.
#[test]
fn rates_and_access_times_by_place_come_first() {
    let mut run = with_places();
    for (pattern, sentence) in [
        (
            Pattern::Spaced { count: 6 },
            "one reads 81.5 MB/s on average (66.7 to 100 MB/s, depending on position).",
        ),
        (model::Workload::random_reads().pattern, "one: average access time 12.5 ms."),
    ] {
        run.started.plan.steps[0].workload.pattern = pattern;
        let analysis = analyse(&run, "one", Estimator::Mean, Units::Decimal);
        let page = run_page(&AnalysedRun::new(&run, &analysis, &view()));
        assert!(page.contains(&format!("<div class=\"answer\"><p>{sentence}</p>")), "{sentence}");
    }
}

/// The same figures stood in bars, in a matrix and in a profile.
#[test]
fn a_page_has_one_picture_of_all_figures() {
    let shown = |run: &Run| {
        let analysis = analyse(run, "one", Estimator::Mean, Units::Decimal);
        let page = run_page(&AnalysedRun::new(run, &analysis, &view()));
        let has = |kind: &&str| page.contains(&format!("data-kind=\"{kind}\""));
        ["labels", "matrix", "profile", "bars", "repeats"].into_iter().filter(has).collect::<Vec<_>>()
    };
    let two = crate::fixture();
    assert_eq!(shown(&two), ["bars", "repeats"]);
    let mut six = two.clone();
    for i in 0..4 {
        let name = format!("more {i}");
        let copies: Vec<_> = two.repeats.iter().filter(|r| r.started.target == "two").cloned().collect();
        six.started.targets.push(model::Target { name: name.clone(), ..two.started.targets[1].clone() });
        six.repeats.extend(copies.into_iter().map(|mut repeat| {
            repeat.started.target.clone_from(&name);
            repeat
        }));
    }
    assert_eq!(shown(&six), ["matrix", "repeats"]);
}

#[test]
fn extreme_offsets_are_drawn() {
    let mut run = with_places();
    let wild = [(u64::MAX, u64::MAX, 1), (0, 0, 0), (0, u64::MAX, u64::MAX), (u64::MAX, 1, u64::MAX)];
    for places in
        run.repeats.iter_mut().filter_map(|r| r.finished.as_mut()).flat_map(|f| f.offset_log.values_mut())
    {
        (places.kept, places.left_out) = (wild.map(LoggedOffset::from).to_vec(), u64::MAX);
    }
    for chart in pictures(&run) {
        assert!(!chart.wide.contains("NaN") && !chart.narrow.contains("inf"), "{}", chart.wide);
    }
    let repeats =
        run.repeats.iter().filter(|r| r.finished.as_ref().is_some_and(|f| !f.offset_log.is_empty()));
    assert_eq!(report::offsets_csv(&run).lines().count(), 1 + wild.len() * repeats.count());
}

#[test]
fn a_picture_alone_has_its_colours_inside() {
    for chart in pictures(&crate::fixture()) {
        let svg = chart.standalone();
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{}", chart.name);
        assert!(svg.contains("<style>") && svg.contains("--c0:#0072b2"), "{}", chart.name);
        for open in ["<text", "<svg", "<style"] {
            let close = open.replace('<', "</");
            assert_eq!(svg.matches(open).count(), svg.matches(&close).count(), "{open} in {}", chart.name);
        }
        assert!(!svg.contains("data-pts"), "{}", chart.name);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", chart.name);
    }
}

#[test]
fn a_run_without_figures_has_a_page_that_says_so() {
    let mut run = crate::fixture();
    run.repeats.clear();
    let analysis = analyse(&run, "one", Estimator::Mean, Units::Decimal);
    assert_eq!(pictures(&run), []);
    let page = run_page(&AnalysedRun::new(&run, &analysis, &view()));
    assert!(page.contains("No step has a figure"), "{}", page.len());
    assert!(!page.contains("<figure"));
}

#[test]
fn a_run_that_was_killed_shows_what_there_is() {
    let mut run = crate::fixture();
    run.finished = None;
    run.repeats.last_mut().unwrap().finished = None;
    assert!(pictures(&run).iter().any(|c| c.kind == "timeline"));
}

/// The parts of a page in the order in which they stand.
fn headings(page: &str) -> Vec<String> {
    let parts = page.split("<h2>").skip(1).filter_map(|rest| rest.split_once("</h2>"));
    parts.map(|(heading, _)| heading.to_owned()).collect()
}

#[test]
fn a_page_answers_first_and_ends_with_how_to_repeat_it() {
    let run = crate::fixture();
    let analysis = analyse(&run, "one", Estimator::Mean, Units::Decimal);
    let page = run_page(&AnalysedRun::new(&run, &analysis, &view()));
    assert_eq!(headings(&page), ["Comparison", "Findings", "Charts", "Circumstances", "How to repeat it"]);
    let answer = page.find("class=\"answer\"").unwrap();
    assert!(answer < page.find("<h2>").unwrap());
    assert!(page.contains("lodestone run /mnt/one /mnt/two --suite fixture.toml --rounds 4 --seed 7</pre>"));
    assert!(page.contains("ext4") && page.contains("AMD EPYC") && page.contains("seed 7"));
    let comparison = &page[page.find("<h2>Comparison").unwrap()..page.find("<h2>Findings").unwrap()];
    let (first, folded) = comparison.split_once("<details").unwrap();
    assert!(first.contains("with their difference from one"), "{first}");
    for heading in ["figure", "±", "p50", "p99", "max", "verdict"] {
        assert!(folded.contains(&format!(">{heading}</th>")), "{heading} is missing");
    }
    // Every figure of the tables says where it comes from.
    assert!(page.matches("data-from=\"").count() > 50);
}

#[test]
fn several_runs_are_compared_first_and_then_shown() {
    let first = crate::fixture();
    let mut second = crate::fixture();
    second.started.id = "fixture2".into();
    let runs = [&first, &second];
    let analyses: Vec<Analysis> =
        runs.iter().map(|run| analyse(run, "one", Estimator::Mean, Units::Decimal)).collect();
    let view = view();
    let analysed: Vec<AnalysedRun<'_>> =
        runs.iter().zip(&analyses).map(|(run, analysis)| AnalysedRun::new(run, analysis, &view)).collect();
    let document = report::comparison_document(&runs, &ComparedRuns::default(), &view);
    let page = runs_page(&analysed, &document);
    let headings = headings(&page);
    assert_eq!(headings[0], "Comparison");
    assert!(headings[1].contains("fixture1") && headings[2].contains("fixture2"), "{headings:?}");
    assert_eq!(page.matches("<h1>").count(), 1);
}
