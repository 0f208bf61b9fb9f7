//! The table of cases: for each rule, runs that it must report and near misses that it must not.

mod cache;
mod failures;
mod imported;
mod machine;
mod meanwhile;
mod processor;
mod repeats;
mod series;
mod size;
mod stalled;
mod tools;

use model::*;

use super::{RULES, RuleContext, findings};
use crate::measure::tests::{run, workload};
use crate::measure::{Counts, measurements_of};
use crate::{Estimator, Pairing, Series, compare};

/// A case: the rule, whether it must report, the workload, and the change to an ordinary run.
type Case = (&'static str, bool, Workload, fn(&mut Run));

const NOTHING: fn(&mut Run) = |_| {};

fn cases() -> Vec<Case> {
    [
        cache::cases(),
        failures::cases(),
        imported::cases(),
        machine::cases(),
        meanwhile::cases(),
        processor::cases(),
        repeats::cases(),
        series::cases(),
        size::cases(),
        tools::cases(),
    ]
    .concat()
}

/// All findings of a run.
fn found_in(run: &Run) -> Vec<Finding> {
    found_with(run, Units::Decimal)
}

fn found_with(run: &Run, units: Units) -> Vec<Finding> {
    let counts = Counts::of(run);
    let measurements = measurements_of(run, Estimator::Mean, &counts);
    let series = Series::of_run(run, &measurements);
    let plan = &run.started.plan;
    let comparisons = compare(&series, &run.started.baseline, Pairing::within(plan), plan.margin());
    findings(&RuleContext::new(run, &measurements, &comparisons, &counts, units))
}

pub(super) fn writes() -> Workload {
    Workload { mix: Mix::Transfer { read_percent: 0 }, ..workload() }
}

pub(super) fn each_finished(run: &mut Run, change: impl Fn(&mut RepeatFinished)) {
    run.repeats.iter_mut().for_each(|r| change(r.finished.as_mut().unwrap()));
}

pub(super) fn each_started(run: &mut Run, change: impl Fn(&mut RepeatStarted)) {
    run.repeats.iter_mut().for_each(|r| change(&mut r.started));
}

/// One repeat for each of these bandwidths, in consecutive rounds.
pub(super) fn each_round(run: &mut Run, bandwidths: &[f64]) {
    let first = run.repeats[0].clone();
    let repeat = |(round, bandwidth): (usize, &f64)| {
        let mut repeat = first.clone();
        repeat.started.round = round as u32;
        repeat.finished.as_mut().unwrap().window_ns = (1e12 / bandwidth) as u64;
        repeat
    };
    run.repeats = bandwidths.iter().enumerate().map(repeat).collect();
}

/// Gives each repeat intervals that moved these bytes (times 10 000), odd ones slightly more in later rounds.
pub(super) fn each_interval(run: &mut Run, bytes: &[u64]) {
    for repeat in &mut run.repeats {
        let (first, round) = (repeat.intervals[0].clone(), u64::from(repeat.started.round));
        let interval = |(i, bytes): (usize, &u64)| {
            let mut interval = first.clone();
            interval.start_ns = i as u64 * interval.len_ns;
            let stats = interval.operations.values_mut().next().unwrap();
            stats.bytes = bytes * 10_000 + i as u64 % 2 * round * 100;
            interval
        };
        repeat.intervals = bytes.iter().enumerate().map(interval).collect();
    }
}

fn each_stats(run: &mut Run, change: impl Fn(&mut OperationStats)) {
    let intervals = run.repeats.iter_mut().flat_map(|r| &mut r.intervals);
    intervals.flat_map(|i| i.operations.values_mut()).for_each(change);
}

/// Adds a disk with these facts below the target.
fn disk(run: &mut Run, name: &str, facts: &[(&str, &str)]) {
    let facts = facts.iter().filter(|(_, value)| !value.is_empty());
    run.started.targets[0].stack.push(Layer {
        kind: LayerKind::Disk,
        name: name.into(),
        level: 1,
        device: Some((8, 0)),
        facts: facts.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
    });
}

/// Sets the repeats a second apart and gives one telemetry series a value for each second of the run.
fn readings(run: &mut Run, probe: &str, key: &str, values: &[f64]) {
    const SECOND: u64 = 1_000_000_000;
    for (i, repeat) in run.repeats.iter_mut().enumerate() {
        repeat.started.at_ns = (2 * i as u64) * SECOND;
        repeat.finished.as_mut().unwrap().at_ns = (2 * i as u64 + 1) * SECOND;
    }
    for (i, value) in std::iter::once(&values[0]).chain(values).enumerate() {
        let (probe, key) = (probe.to_owned(), key.to_owned());
        run.readings.push(Reading {
            at_ns: i as u64 * SECOND,
            probe,
            key,
            value: *value,
            unit: "1".into(),
            host: 0,
        });
    }
}

#[test]
fn every_case_is_reported_exactly_when_expected() {
    for (rule, must_speak, workload, change) in cases() {
        let mut run = run(workload);
        change(&mut run);
        let found: Vec<Finding> = found_in(&run).into_iter().filter(|f| f.rule == rule).collect();
        assert_eq!(!found.is_empty(), must_speak, "{rule}: {found:#?}");
        assert!(found.iter().all(|f| !f.message.is_empty() && !f.evidence.is_empty()), "{rule}");
    }
}

#[test]
fn binary_units_reach_every_message() {
    // The tool that this rule quotes prints MB/s; so does the kernel its link speeds, in bits.
    const QUOTED: [&str; 1] = ["crystal-best"];
    let mut binary = 0;
    for (rule, must_speak, workload, change) in cases() {
        let mut run = run(workload);
        change(&mut run);
        for found in found_with(&run, Units::Binary).iter().filter(|f| must_speak && f.rule == rule) {
            let of = |units: [&str; 3]| units.iter().any(|unit| found.message.contains(unit));
            binary += usize::from(of([" KiB", " MiB", " GiB"]));
            assert!(!of([" kB", " MB", " GB"]) || QUOTED.contains(&rule), "{rule}: {}", found.message);
        }
    }
    assert!(binary > 5, "{binary}");
}

#[test]
fn every_rule_has_a_positive_and_a_negative_case() {
    for rule in RULES {
        for must_speak in [true, false] {
            let covered =
                cases().iter().any(|(name, speaks, ..)| *name == rule.name && *speaks == must_speak);
            assert!(covered, "{} must be tested with {must_speak}", rule.name);
        }
    }
}

#[test]
fn an_ordinary_run_of_three_thousand_operations_has_only_a_thin_tail() {
    for workload in [workload(), writes()] {
        let found = found_in(&run(workload));
        assert_eq!(found.iter().map(|f| f.rule.as_str()).collect::<Vec<_>>(), ["thin-tail"]);
    }
}

#[test]
fn differing_repeats_are_listed_by_round() {
    let of = |rule: &str, workload: Workload, change: &dyn Fn(&mut Run)| {
        let mut run = run(workload);
        change(&mut run);
        found_in(&run).into_iter().find(|f| f.rule == rule).unwrap()
    };
    let found = of("two-modes", workload(), &|r| each_round(r, &[16.0, 25.1, 16.1, 25.0, 24.9]));
    assert_eq!(
        found.message,
        "bandwidth of reads has two modes: rounds 1 and 3 at about 65.7 kB/s, rounds 2, 4 and 5 at about \
         102 kB/s; a mean of all describes neither"
    );
    let rounds = found.evidence.iter().filter(|e| e.what.starts_with("round ")).count();
    assert_eq!((rounds, found.severity), (5, Severity::Warning));
    let found = of("two-modes", workload(), &|r| each_round(r, &[25.1, 25.0, 16.0, 16.1]));
    assert!(found.message.ends_with("; it changed once, before round 3, and stayed"), "{}", found.message);
    let found = of("trend", workload(), &|r| each_round(r, &[30.0, 29.0, 28.0, 27.0, 26.0, 25.0, 24.0]));
    assert!(found.message.contains("fell by 20 % over the run"), "{}", found.message);
    let found = of("start-up-transient", workload(), &|r| each_interval(r, &[70, 70, 100, 100, 100, 100]));
    assert_eq!(
        found.message,
        "the first 2.0 s of a repeat ran 30 % slower than the rest, in 3 of 3 repeats, which makes its figure \
         10 % lower"
    );
    assert_eq!(found.advice.unwrap(), "use --ramp 2.0s or more to exclude it");
}

#[test]
fn a_cache_is_located_between_its_layers() {
    let mut run = run(workload());
    each_finished(&mut run, |f| {
        let below = DeviceActivity { name: "vda".into(), level: 3, read_bytes: 0, ..f.devices[0].clone() };
        f.devices.push(below);
    });
    let found = found_in(&run);
    assert!(found[0].message.contains("only 0 % of the bytes read came from vda"), "{}", found[0].message);
    assert!(found[0].message.contains("between sda and vda"), "{}", found[0].message);
}

#[test]
fn findings_are_sorted_by_severity_then_effect() {
    let mut run = run(Workload { iodepth: 32, ..workload() });
    each_finished(&mut run, |f| f.devices[0].read_bytes /= 5);
    each_started(&mut run, |s| s.size_bytes = 1 << 28);
    run.repeats[2].finished.as_mut().unwrap().integrity = Some(IntegrityCheck {
        checked: 1000,
        mismatched: 1,
        first: vec![Mismatch { offset: 0, what: "x".into() }],
    });
    let found = found_in(&run);
    let rules: Vec<&str> = found.iter().map(|f| f.rule.as_str()).collect();
    // An error with a small effect, then warnings by their effect, then notes.
    assert_eq!(rules[..3], ["data-corrupted", "cache-served-reads", "queue-not-filled"]);
    assert!(found.is_sorted_by(|a, b| (b.severity, b.effect) <= (a.severity, a.effect)), "{rules:?}");
    assert_eq!(found.last().unwrap().severity, Severity::Info);
}

#[test]
fn every_rule_but_layer_cost_has_advice() {
    for rule in RULES {
        let has_no_advice = rule.name == "layer-cost";
        assert_eq!(rule.advice.is_empty(), has_no_advice, "{}", rule.name);
    }
}

#[test]
fn impossible_values_in_a_log_cause_no_panic() {
    const MOST: u64 = u64::MAX;
    for workload in [workload(), writes(), Workload { iodepth: u32::MAX, jobs: u32::MAX, ..workload() }] {
        let mut run = run(workload);
        disk(
            &mut run,
            "sda",
            &[(fact::LINK, "usb"), (fact::LINK_SPEED, "1e308"), (fact::ROTATION_RATE, "-1")],
        );
        for (probe, key) in
            [("cpu", "0.user"), ("temperature", "x"), ("frequency", "max"), ("throttling", "core")]
        {
            readings(&mut run, probe, key, &[1e308, -1e308, 0.0, 1e308]);
        }
        run.started.plan.steps[0].ramp_ns = MOST;
        each_started(&mut run, |s| (s.at_ns, s.size_bytes) = (MOST, MOST));
        each_finished(&mut run, |f| {
            (f.at_ns, f.window_ns, f.counted_ns, f.unserved) = (MOST, MOST, 0, MOST);
            f.machine =
                Some(MachineCpu { user_ns: MOST, system_ns: MOST, irq_ns: MOST, ..MachineCpu::default() });
            f.devices.iter_mut().for_each(|d| (d.read_bytes, d.written_bytes) = (MOST, MOST));
            f.integrity = Some(IntegrityCheck { checked: MOST, mismatched: MOST, first: Vec::new() });
        });
        each_stats(&mut run, |s| (s.count, s.bytes, s.errors) = (MOST, MOST, [(5, MOST)].into()));
        run.repeats
            .iter_mut()
            .flat_map(|r| &mut r.intervals)
            .for_each(|i| (i.start_ns, i.len_ns) = (MOST, MOST));
        let found = found_in(&run);
        assert!(found.iter().all(|f| f.effect.is_finite()), "{found:#?}");
    }
}
