//! Imported results.

use super::*;

/// An imported result with one figure and these remarks.
fn imported(remarks: &[&str], unsaid: &[&str]) -> Imported {
    let remark = |topic: &&str| Remark {
        topic: (*topic).into(),
        severity: Severity::Warning,
        effect: 0.3,
        message: "odd".into(),
        advice: "look".into(),
        line: 3,
    };
    Imported {
        repeat: 0,
        tool: "dd".into(),
        version: None,
        file: "dd.txt".into(),
        line: 1,
        labels: Default::default(),
        facts: Default::default(),
        unsaid: unsaid.iter().map(|name| (*name).to_owned()).collect(),
        figures: vec![Figure {
            operation: Operation::Read,
            metric: Metric::Bandwidth,
            value: 1e6,
            printed: None,
            recomputed: None,
        }],
        remarks: remarks.iter().map(remark).collect(),
    }
}

/// Makes all repeats imported.
fn import(run: &mut Run, of: &Imported) {
    for repeat in &mut run.repeats {
        repeat.imported = Some(Box::new(of.clone()));
    }
    each_finished(run, |f| f.window_ns = 20_000_000_000);
}

fn buffered() -> Workload {
    Workload { direct: false, ..workload() }
}

fn buffered_writes() -> Workload {
    Workload { direct: false, ..writes() }
}

/// A printed and a recomputed bandwidth, both within 1 %.
fn print_bandwidth(run: &mut Run, printed: f64, recomputed: f64) {
    let mut of = imported(&[], &[]);
    let figure = &mut of.figures[0];
    figure.printed = Some(Printed { text: "?".into(), value: printed, error: printed / 100.0, line: 7 });
    figure.recomputed = Some(Recomputed { value: recomputed, error: 0.0, from: "bytes / seconds".into() });
    import(run, &of);
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        ("printed-contradicts-raw", true, workload(), |r| print_bandwidth(r, 1e6, 1.2e6)),
        ("printed-contradicts-raw", false, workload(), |r| print_bandwidth(r, 1e6, 1.005e6)),
        ("hidden-syncs", true, writes(), |r| import(r, &syncing("2176"))),
        ("hidden-syncs", false, writes(), |r| {
            let mut of = syncing("2176");
            of.facts.clear();
            import(r, &of);
        }),
        ("imported-short", true, workload(), |r| {
            import(r, &imported(&[], &[]));
            each_finished(r, |f| f.window_ns = 3_000_000_000);
        }),
        ("imported-short", false, workload(), |r| import(r, &imported(&[], &[]))),
        ("imported-short", false, workload(), |r| {
            // Without a time the output does not show that it was short.
            import(r, &imported(&[], &[]));
            each_finished(r, |f| f.window_ns = 0);
        }),
        ("cache-likely", true, buffered(), |r| {
            import(r, &imported(&[], &[]));
            each_started(r, |s| s.size_bytes = 2 << 30);
        }),
        ("cache-likely", false, buffered(), |r| {
            import(r, &imported(&[], &["direct"]));
            each_started(r, |s| s.size_bytes = 2 << 30);
        }),
        ("cache-likely", false, buffered(), |r| {
            import(r, &imported(&[], &[]));
            each_started(r, |s| s.size_bytes = 64 << 30);
        }),
        ("never-synced", true, buffered_writes(), |r| import(r, &imported(&[], &[]))),
        ("never-synced", false, buffered_writes(), |r| import(r, &imported(&[], &["sync"]))),
        ("never-synced", false, writes(), |r| import(r, &imported(&[], &[]))),
        ("never-synced", false, buffered_writes(), |_| {}),
        ("stopped-early", true, workload(), |r| lose_one(r, &["stopped-early"])),
        ("stopped-early", false, workload(), |r| lose_one(r, &[])),
    ]
}

/// Makes all repeats imported, and the first one incomplete, with these remarks.
fn lose_one(run: &mut Run, remarks: &[&str]) {
    import(run, &imported(&[], &[]));
    let first = &mut run.repeats[0];
    first.imported = Some(Box::new(imported(remarks, &[])));
    first.finished = None;
}

#[test]
fn what_an_importer_remarks_is_told_as_it_says_once_for_each_kind() {
    let mut run = run(workload());
    import(&mut run, &imported(&["a", "b", "a"], &[]));
    run.repeats[1].imported.as_mut().unwrap().remarks[0].message = "very odd".into();
    let mut found = found_in(&run);
    found.retain(|f| ["a", "b"].contains(&f.rule.as_str()));
    let told = |f: &Finding| (f.rule.clone(), f.message.clone(), f.evidence.len());
    let repeats = run.repeats.len();
    assert_eq!(
        found.iter().map(told).collect::<Vec<_>>(),
        [
            ("a".into(), "odd (and 1 more of that kind in other repeats)".into(), 2 * repeats),
            ("b".into(), "odd".into(), repeats)
        ]
    );
    let first = &found[0];
    assert_eq!(
        (first.severity, first.effect, first.advice.as_deref()),
        (Severity::Warning, 0.3, Some("look"))
    );
    assert_eq!((first.evidence[0].value, first.evidence[0].what.as_str()), (3.0, "line of dd.txt"));
}

/// A result whose syncs took 97 % of the time.
fn syncing(count: &str) -> Imported {
    let mut of = imported(&[], &[]);
    let figure =
        |metric, value| Figure { operation: Operation::Sync, metric, value, printed: None, recomputed: None };
    of.figures = vec![figure(Metric::SyncShare, 0.9722), figure(Metric::LatMean, 134e6)];
    of.facts.insert(fact::SYNCS_OUTSIDE_LATENCY.into(), count.into());
    of
}

#[test]
fn hidden_syncs_of_an_old_sysbench_are_reported_once() {
    let mut run = run(writes());
    import(&mut run, &syncing("2176"));
    let found = found_in(&run);
    let hidden = found.iter().find(|f| f.rule == "hidden-syncs").unwrap();
    assert!(
        hidden.message.starts_with("97 % of the time was spent in 2176 syncs of 134 ms each on average"),
        "{}",
        hidden.message
    );
    assert!(!found.iter().any(|f| f.rule == "sync-cost"), "the syncs are reported once");
}
