//! Histories in sentences, as a table and as JSON.

use std::collections::BTreeMap;

use analyse::{Difference, FigureKey, History, Moment, PastFigure, histories, moments, odd_machines};
use jiff::tz::TimeZone;
use model::{Estimate, Metric, Operation};
use report::{Followed, PastRun, RunView, TextStyle, Units, history_document, history_export, json, text};

fn key(target: &str, step: &str, metric: Metric) -> FigureKey {
    key_of("pi", target, step, metric)
}

fn key_of(host: &str, target: &str, step: &str, metric: Metric) -> FigureKey {
    let (host, target, step) = (host.to_owned(), target.to_owned(), step.to_owned());
    FigureKey { host, target, step, workload: 1, operation: Operation::Read, metric }
}

/// A figure that scatters by 1 % around these levels, each for so many runs.
fn figure(key: FigureKey, levels: &[(usize, f64)]) -> (FigureKey, Vec<PastFigure>) {
    // A linear congruential generator (Numerical Recipes): any noise does.
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state) / f64::from(u32::MAX) - 0.5
    };
    let values = levels.iter().flat_map(|(n, level)| std::iter::repeat_n(*level, *n));
    let mut past = |(run, level): (usize, f64)| {
        let value = level * (1.0 + 0.03 * noise());
        PastFigure { run, figure: Estimate { value, interval: Some((value * 0.98, value * 1.02)) } }
    };
    (key, values.enumerate().map(&mut past).collect())
}

fn runs(n: usize) -> Vec<PastRun> {
    const DAY_NS: i64 = 86_400_000_000_000;
    let run = |i: usize| PastRun {
        id: format!("run{i}"),
        started_unix_ns: 1_767_600_000_000_000_000 + i as i64 * DAY_NS,
    };
    (0..n).map(run).collect()
}

fn told(found: &[History], changed: Option<Vec<Difference>>, n: usize) -> (String, String) {
    let both = |followed: &Followed<'_>| {
        let style = TextStyle { width: 100, color: false };
        (text(&history_document(followed), style).to_string(), json::pretty(&history_export(followed)))
    };
    followed(found, changed, n, &both)
}

/// What is made of these histories of so many runs.
fn followed<T>(
    found: &[History],
    changed: Option<Vec<Difference>>,
    n: usize,
    make: &dyn Fn(&Followed<'_>) -> T,
) -> T {
    let titles: BTreeMap<FigureKey, String> = found
        .iter()
        .map(|history| {
            (history.key.clone(), format!("{} (4 KiB, depth 1)", history.key.step.replace('-', " ")))
        })
        .collect();
    let moments: Vec<(Moment, Option<Vec<Difference>>)> =
        moments(found).into_iter().map(|moment| (moment, changed.clone())).collect();
    let view =
        RunView { units: Units::Decimal, baseline: String::new(), time_zone: TimeZone::UTC, details: false };
    let runs = runs(n);
    make(&Followed {
        runs: &runs,
        histories: found,
        titles: &titles,
        moments: &moments,
        odd: &odd_machines(found),
        left_out: 0,
        view: &view,
    })
}

fn kernel() -> Difference {
    Difference {
        target: None,
        layer: None,
        what: "kernel".into(),
        before: "6.6.8".into(),
        after: "6.12.1".into(),
    }
}

#[test]
fn what_changed_and_when_comes_first() {
    let bandwidth = Metric::Bandwidth;
    let found = histories(vec![
        figure(key("ssd", "random-read", bandwidth), &[(30, 200e6), (20, 184e6)]),
        figure(key("ssd", "random-write", bandwidth), &[(30, 100e6), (20, 80e6)]),
        figure(key("sd", "random-read", bandwidth), &[(50, 20e6)]),
        figure(key("sd", "random-write", bandwidth), &[(48, 2e6), (2, 1e6)]),
        figure(key("usb", "random-write", bandwidth), &[(4, 2e6)]),
    ]);
    let (text, json) = told(&found, Some(vec![kernel()]), 50);
    insta::assert_snapshot!(text);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["moments"][0]["run"], "run30");
    assert_eq!(value["moments"][0]["changed"][0]["after"], "6.12.1");
    assert_eq!(value["histories"][0]["changes"][0]["state"], "confirmed");
    assert_eq!(value["histories"][3]["changes"][0]["state"], "suspected");
}

#[test]
fn a_latency_is_higher_and_a_single_figure_needs_no_place() {
    let found = histories(vec![figure(key("ssd", "sync", Metric::LatP99), &[(20, 1e6), (10, 3e6)])]);
    insta::assert_snapshot!(told(&found, Some(Vec::new()), 30).0);
}

#[test]
fn where_nothing_changed_it_says_what_would_have_been_found() {
    let found = histories(vec![figure(key("ssd", "sync", Metric::Bandwidth), &[(40, 1e6)])]);
    insta::assert_snapshot!(told(&found, None, 40).0);
    let few = histories(vec![figure(key("ssd", "sync", Metric::Bandwidth), &[(5, 1e6)])]);
    insta::assert_snapshot!(told(&few, None, 5).0);
}

#[test]
fn a_drift_is_told_as_one() {
    let levels: Vec<(usize, f64)> = (0..60).map(|run| (1, 1e6 * (1.0 - 0.005 * run as f64))).collect();
    let found = histories(vec![figure(key("ssd", "sync", Metric::Bandwidth), &levels)]);
    insta::assert_snapshot!(told(&found, None, 60).0);
}

#[test]
fn an_odd_machine_among_equals_is_told() {
    let of = |(number, level): (usize, f64)| {
        let host = format!("pi{number}");
        let bandwidth = Metric::Bandwidth;
        let read = figure(key_of(&host, "sd", "random-read", bandwidth), &[(3 + number, level)]);
        let write = figure(key_of(&host, "sd", "random-write", bandwidth), &[(3 + number, 2e6)]);
        [read, write]
    };
    let levels = [20e6, 20.3e6, 19.8e6, 20.1e6, 14e6, 19.9e6];
    let found = histories(levels.into_iter().enumerate().flat_map(of).collect());
    let (text, json) = told(&found, None, 9);
    assert!(
        text.starts_with("pi4 is odd among 6 machines: random read (4 KiB, depth 1) on sd is 30 % slower"),
        "{text}"
    );
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["odd"].as_array().unwrap().len(), 1, "{}", value["odd"]);
    assert_eq!((&value["odd"][0]["host"], &value["odd"][0]["machines"]), (&"pi4".into(), &6.into()));
}

#[test]
fn graphs_have_each_figure_as_it_is_now_and_its_changes() {
    let found = histories(vec![
        figure(key("ssd", "random-read", Metric::Bandwidth), &[(30, 200e6), (20, 184e6)]),
        figure(key("s \"d\"", "random-read", Metric::LatP99), &[(48, 2e6), (2, 4e6)]),
    ]);
    let states = found.iter().flat_map(|history| &history.course.changes).map(|change| change.is_confirmed);
    assert_eq!(states.collect::<Vec<bool>>(), [true, false]);
    let form = |make: fn(&Followed<'_>) -> String| followed(&found, None, 50, &make);
    insta::assert_snapshot!(form(report::history_prometheus));
    insta::assert_snapshot!(form(report::history_influx));
}
