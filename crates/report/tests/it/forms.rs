//! Every form of a report, made from a real run that is kept as a fixture.

use analyse::analyse;
use jiff::tz::TimeZone;
use model::Run;
use report::{ComparedRuns, Document, RunView, Section, TextStyle, Units, csv, markdown, run_document, text};

fn view() -> RunView {
    RunView { units: Units::Decimal, baseline: "one".into(), time_zone: TimeZone::UTC, details: true }
}

fn document(run: &Run) -> Document {
    run_document(run, &analyse(run, "one", analyse::Estimator::Mean, Units::Decimal), &view())
}

#[test]
fn text_for_a_wide_terminal() {
    insta::assert_snapshot!(text(&document(&crate::fixture()), TextStyle { width: 120, color: false }));
}

#[test]
fn text_for_a_narrow_terminal_loses_nothing() {
    let (wide, narrow) =
        [200, 60].map(|width| text(&document(&crate::fixture()), TextStyle { width, color: false })).into();
    let figures = |text: &str| -> Vec<String> {
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        words.sort();
        words.dedup();
        words
    };
    assert_eq!(figures(&wide), figures(&narrow));
    insta::assert_snapshot!(narrow);
}

#[test]
fn rounds_after_the_steady_state_are_named() {
    let mut run = crate::fixture();
    let step = run.started.plan.steps[0].id.clone();
    let watched = run.repeats.iter().find(|r| r.started.step == step && r.is_complete()).unwrap().clone();
    run.repeats = (0..7).map(|_| watched.clone()).collect();
    for (round, repeat) in (0..).zip(&mut run.repeats) {
        repeat.started.round = round;
    }
    let told = |run: &Run| markdown(&document(run));
    assert!(!told(&run).contains("the figures are of rounds"));
    run.started.plan.until_steady = Some(step);
    assert!(told(&run).contains("; the figures are of rounds 3 to 7"), "{}", told(&run));
}

#[test]
fn colours_only_repeat_what_the_words_say() {
    let document = document(&crate::fixture());
    let plain = text(&document, TextStyle { width: 120, color: false });
    let coloured = text(&document, TextStyle { width: 120, color: true });
    assert_ne!(plain, coloured);
    let mut stripped = String::new();
    let mut rest: &str = &coloured;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        stripped.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    stripped.push_str(rest);
    assert_eq!(*plain, *stripped);
}

#[test]
fn markdown_with_its_tables() {
    insta::assert_snapshot!(markdown(&document(&crate::fixture())));
}

#[test]
fn csv_has_a_row_for_every_repeat_and_metric() {
    let run = crate::fixture();
    let analysis = analyse(&run, "one", analyse::Estimator::Mean, Units::Decimal);
    let text = csv(&run, &analysis.measurements);
    let values: usize = analysis.measurements.iter().map(|m| m.values.len()).sum();
    assert_eq!(text.lines().count(), values + 1);
    insta::assert_snapshot!(text.lines().take(12).collect::<Vec<_>>().join("\n"));
}

#[test]
fn influxdb_has_a_line_per_value_with_its_repeats_time() {
    let run = crate::fixture();
    let analysis = analyse(&run, "one", analyse::Estimator::Mean, Units::Decimal);
    let text = report::influx(&run, &analysis);
    let values: usize = analysis.measurements.iter().map(|m| m.values.len()).sum();
    assert_eq!(text.lines().count(), values);
    let end = run.started.started_unix_ns + run.finished.as_ref().unwrap().at_ns as i64;
    for line in text.lines() {
        let at: i64 = line.rsplit(' ').next().unwrap().parse().unwrap();
        assert!((run.started.started_unix_ns + 1..=end).contains(&at), "{line}");
    }
    insta::assert_snapshot!(text.lines().take(5).collect::<Vec<_>>().join("\n"));
}

#[test]
fn gauges_for_prometheus_are_in_base_units_with_their_intervals() {
    let run = crate::fixture();
    let analysis = analyse(&run, "one", analyse::Estimator::Mean, Units::Decimal);
    let text = report::prometheus(&run, &analysis);
    let figures = text.lines().filter(|l| !l.starts_with('#')).count();
    let intervals = analysis.measurements.iter().filter(|m| m.estimate.interval.is_some()).count();
    assert_eq!(figures, analysis.measurements.len() + 2 * intervals);
    let p50: f64 = text
        .lines()
        .find(|l| l.starts_with("lodestone_lat_p50_seconds{"))
        .unwrap()
        .rsplit(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(p50 < 0.1, "seconds, not nanoseconds: {p50}");
    insta::assert_snapshot!(text.lines().take(8).collect::<Vec<_>>().join("\n"));
}

#[test]
fn every_figure_in_a_table_says_where_it_comes_from() {
    let run = crate::fixture();
    let analysis = analyse(&run, "one", analyse::Estimator::Mean, Units::Decimal);
    let mut seen = 0;
    for section in run_document(&run, &analysis, &view()).sections {
        let Section::Table(table) = section else { continue };
        for cell in table.rows.iter().flatten() {
            let Some(provenance) = &cell.provenance else { continue };
            let source = analysis.measurements.iter().find(|m| {
                (&m.target, &m.step, m.operation, m.metric)
                    == (&provenance.target, &provenance.step, provenance.operation, provenance.metric)
            });
            assert_eq!(Some(source.unwrap().estimate.value), cell.value);
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen} cells with provenance");
}

/// The fixture with telemetry of a board that gets warm, a look each tenth of a second.
fn warm() -> Run {
    let mut run = crate::fixture();
    let end_ns = run.repeats.iter().map(|r| r.finished.as_ref().unwrap().at_ns).max().unwrap();
    let series = [
        ("other_processes", "backup.read", "B/s", 25e6, 0.0),
        ("other_processes", "init.read", "B/s", 4e3, 0.0),
        ("temperature", "cpu-thermal", "°C", 45.0, 0.1),
        ("frequency", "min", "Hz", 2.4e9, -1e6),
        ("throttling", "throttled", "1", 0.0, 0.0),
        ("devices", "vda.read", "B/s", 180e6, 1e5),
        ("devices", "vda.reads", "1/s", 44e3, 0.0),
        ("devices", "vda.queue", "1", 31.5, 0.0),
        ("devices", "vda.read_wait", "ns", 120e3, 100.0),
        ("devices", "sdz.read", "B/s", 1e9, 0.0),
        ("memory", "dirty", "B", 3e6, 0.0),
        ("pressure", "io.full", "1", 0.25, 0.0),
        ("kernel_threads", "dm-crypt", "1", 0.4, 0.001),
        ("cpu", "0.user", "1", 0.1, 0.0),
        ("cpu", "1.system", "1", 0.6, 0.001),
    ];
    for (i, at_ns) in (0..end_ns + 100_000_000).step_by(100_000_000).enumerate() {
        let readings = series.map(|(probe, key, unit, value, more)| model::Reading {
            host: 0,
            at_ns,
            probe: probe.into(),
            key: key.into(),
            value: value + more * i as f64,
            unit: unit.into(),
        });
        run.readings.extend(readings);
    }
    run
}

#[test]
fn telemetry_in_all_forms() {
    let run = warm();
    let telemetry = analyse::telemetry(&run);
    let document = report::telemetry_document(&run, &telemetry, &host::probes::labels(), &view());
    let shown = text(&document, TextStyle { width: 100, color: false });
    let tables = shown.matches(" · one · ").count() + shown.matches(" · two · ").count();
    assert_eq!(tables, 2 * run.started.plan.steps.len());
    for absent in ["sdz", "throttled", "init"] {
        assert!(!shown.contains(absent), "{absent} in\n{shown}");
    }
    let first: Vec<&str> = shown.split("\n\n").take(2).collect();
    insta::assert_snapshot!(first.join("\n\n"));
    let page = markdown(&document);
    assert!(page.contains("| busiest core: system |"), "{page}");
    let table = report::telemetry_csv(&run, &telemetry);
    let figures: usize = telemetry.iter().map(|step| step.figures.len()).sum();
    assert_eq!(table.lines().count(), figures + 1);
    let export = serde_json::to_value(report::telemetry_export(&run, &telemetry)).unwrap();
    assert_eq!(export["figures"].as_array().unwrap().len(), figures);
    assert_eq!(
        (&export["schema"], &export["figures"][0]["key"]),
        (&"lodestone.telemetry.v1".into(), &"busiest".into())
    );
}

/// What a machine did that only serves the storage has rows of its own, and it stands among the machines.
#[test]
fn a_server_is_shown_beside_the_machine() {
    let mut run = warm();
    run.started.hosts = vec![model::RemoteHost {
        name: "nas".into(),
        machine: model::Host::default(),
        ahead_ns: 0,
        within_ns: 0,
    }];
    run.started.targets.iter_mut().for_each(|target| target.server = Some(1));
    let there = run.readings.iter().filter(|reading| reading.probe == "cpu");
    let there: Vec<_> = there.map(|reading| model::Reading { host: 1, ..reading.clone() }).collect();
    run.readings.extend(there);
    let analysis = analyse(&run, "one", analyse::Estimator::Mean, Units::Decimal);
    let shown = text(&run_document(&run, &analysis, &view()), TextStyle { width: 100, color: false });
    assert!(shown.contains("server nas"), "{shown}");
    let telemetry = analyse::telemetry(&run);
    let tables = markdown(&report::telemetry_document(&run, &telemetry, &host::probes::labels(), &view()));
    let count = |words: &str| tables.matches(words).count();
    assert_eq!(
        (count(" · one · on nas · "), count(" · one · ")),
        (run.started.plan.steps.len(), 2 * run.started.plan.steps.len())
    );
    let rows = report::telemetry_csv(&run, &telemetry);
    assert!(rows.contains(",nas,one,"), "{rows}");
    let facts = serde_json::to_value(report::telemetry_export(&run, &telemetry)).unwrap();
    let hosts: std::collections::BTreeSet<_> =
        facts["figures"].as_array().unwrap().iter().map(|f| f["host"].as_str().unwrap()).collect();
    assert_eq!(hosts, [run.started.host.name.as_str(), "nas"].into());
    let page = report::run_page(&report::AnalysedRun::new(&run, &analysis, &view()));
    let rows = |title: &str| page.matches(title).count();
    // Drawn wide and narrow.
    assert_eq!((rows(">processors<"), rows(">server nas: processors<")), (2, 2));
    assert_eq!(rows("nas: temperature"), 0, "nothing was read of it there");
}

/// Of a few machines that measure each has rows of its own, and of many all share them.
#[test]
fn a_few_machines_are_drawn_apart() {
    let rows = |machines: u32, title: &str| {
        let mut run = warm();
        let hosts = (1..machines).map(|number| model::RemoteHost {
            name: format!("pi{number}"),
            machine: model::Host::default(),
            ahead_ns: 0,
            within_ns: 0,
        });
        run.started.hosts = hosts.collect();
        run.started.host.name = "pi0".into();
        let own = run.started.targets.clone();
        run.started.targets.extend((1..machines).flat_map(|host| {
            let name = move |target: &model::Target| format!("{}{host}", target.name);
            own.iter().map(move |target| model::Target { name: name(target), host, ..target.clone() })
        }));
        let here: Vec<_> = run.readings.iter().filter(|reading| reading.probe == "cpu").cloned().collect();
        for host in 1..machines {
            run.readings.extend(here.iter().map(|reading| model::Reading { host, ..reading.clone() }));
        }
        let analysis = analyse(&run, "one", analyse::Estimator::Mean, Units::Decimal);
        report::run_page(&report::AnalysedRun::new(&run, &analysis, &view())).matches(title).count()
    };
    // Drawn wide and narrow.
    assert_eq!(
        [">pi0: processors<", ">pi1: processors<", ">processors<"].map(|title| rows(2, title)),
        [2, 2, 0]
    );
    assert_eq!(
        [">pi0: processors<", ">pi1: processors<", ">processors<"].map(|title| rows(5, title)),
        [0, 0, 2]
    );
}

#[test]
fn a_run_without_telemetry_says_so() {
    let run = crate::fixture();
    let document = report::telemetry_document(&run, &analyse::telemetry(&run), &[], &view());
    assert!(text(&document, TextStyle { width: 100, color: false }).contains("This run has no telemetry"));
}

/// Names may be anything; nothing of them may reach a terminal as a command or a page as markup.
#[test]
fn hostile_names_are_only_text() {
    let mut run = crate::fixture();
    let evil = "\u{1b}[31m<script>|`*\"\n\u{7}".to_owned() + &"x".repeat(300);
    for target in run.started.targets.iter_mut().filter(|t| t.name == "two") {
        target.name = evil.clone();
    }
    for repeat in run.repeats.iter_mut().filter(|r| r.started.target == "two") {
        repeat.started.target = evil.clone();
    }
    run.layouts.iter_mut().filter(|l| l.target == "two").for_each(|l| l.target = evil.clone());
    let analysis = analyse(&run, "one", analyse::Estimator::Mean, Units::Decimal);
    let document = run_document(&run, &analysis, &view());
    let shown = text(&document, TextStyle { width: 100, color: false });
    assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "control characters in the text");
    let page = markdown(&document);
    assert!(!page.contains("<script>") && !page.contains('\u{1b}'), "markup in the page");
    let heading = page.lines().find(|l| l.starts_with("| target")).unwrap().matches(" | ").count();
    let row = page.lines().find(|l| l.starts_with("| one")).unwrap().matches(" | ").count();
    assert_eq!(heading, row);
    let table = csv(&run, &analysis.measurements);
    assert!(table.contains("\"\u{1b}[31m<script>|`*\"\"\n"), "a field with quotes and a line end is quoted");
}

#[test]
fn a_run_that_was_killed_is_shown_as_far_as_it_came() {
    let mut run = crate::fixture();
    run.finished = None;
    run.repeats.truncate(7);
    run.repeats.last_mut().unwrap().finished = None;
    let shown = text(&document(&run), TextStyle { width: 120, color: false });
    assert!(shown.contains("the run was killed or is still running"), "{shown}");
    assert!(shown.contains("1 of 4 rounds in random order"), "{shown}");
}

#[test]
fn modes_of_each_step_have_their_own_rounds() {
    let run = crate::fixture();
    let mut analysis = analyse(&run, "one", analyse::Estimator::Mean, Units::Decimal);
    let finding = |step: &str, message: &str| model::Finding {
        rule: "two-modes".into(),
        severity: model::Severity::Warning,
        subject: model::Subject { target: Some("one".into()), step: Some(step.into()) },
        message: message.into(),
        advice: None,
        effect: 0.5,
        evidence: Vec::new(),
    };
    analysis.findings = vec![finding("read", "rounds 1 and 3"), finding("mixed", "rounds 2 and 4")];
    let text = markdown(&run_document(&run, &analysis, &view()));
    assert!(text.contains("rounds 1 and 3") && text.contains("rounds 2 and 4"), "{text}");
}

#[test]
fn figures_with_two_modes_show_both_and_not_the_middle() {
    let run = crate::fixture();
    let mut analysis = analyse(&run, "one", analyse::Estimator::Mean, Units::Decimal);
    let is_it = |m: &model::Measurement| m.target == "one" && m.metric == model::Metric::Bandwidth;
    let at = analysis.measurements.iter().position(is_it).unwrap();
    let m = &mut analysis.measurements[at];
    m.values = [16e6, 16e6, 25e6, 25e6].into_iter().zip(0..).map(|(v, round)| (round, v)).collect();
    m.estimate.value = 20.5e6;
    let modes =
        analyse::Modes { low: vec![0, 1], high: vec![2, 3], low_mean: 16e6, high_mean: 25e6, p: 0.001 };
    analysis.diagnostics[at] =
        Some(analyse::RepeatDiagnostics { modes: Some(modes), outliers: Vec::new(), trend: None });
    let shown = markdown(&run_document(&run, &analysis, &view()));
    assert!(shown.contains("16.0 or 25.0 MB/s") && shown.contains("2 modes"), "{shown}");
    assert!(!shown.contains("20.5 MB/s"), "{shown}");
}

#[test]
fn findings_are_limited_but_errors_are_not() {
    let run = crate::fixture();
    let mut analysis = analyse(&run, "one", analyse::Estimator::Mean, Units::Decimal);
    let finding = |i: usize, severity| model::Finding {
        rule: format!("rule-{i}"),
        severity,
        subject: model::Subject { target: Some("one".into()), step: Some("read".into()) },
        message: format!("finding number {i}"),
        advice: Some(format!("do number {i}")),
        effect: 0.0,
        evidence: Vec::new(),
    };
    let shown = |severity, details| {
        analysis.findings = (0..20).map(|i| finding(i, severity)).collect();
        let view = RunView { details, ..view() };
        text(&run_document(&run, &analysis, &view), TextStyle { width: 100, color: false })
    };
    let mut shown = shown;
    let count = |text: &str| {
        (0..20).filter(|i| text.lines().any(|l| l.trim() == format!("finding number {i}"))).count()
    };
    let few = shown(model::Severity::Warning, false);
    assert_eq!(count(&few), 5);
    assert!(
        few.contains("less important findings: lodestone show") && few.contains("→ do number 4"),
        "{few}"
    );
    let all = shown(model::Severity::Warning, true);
    assert_eq!((count(&all), all.contains("less important")), (20, false));
    assert_eq!(count(&shown(model::Severity::Error, false)), 20);
}

#[test]
fn findings_about_many_steps_are_merged() {
    let run = crate::fixture();
    let mut analysis = analyse(&run, "one", analyse::Estimator::Mean, Units::Decimal);
    let finding = |step: &str| model::Finding {
        rule: "stall".into(),
        severity: model::Severity::Warning,
        subject: model::Subject { target: Some("one".into()), step: Some(step.into()) },
        message: format!("nothing moved in {step}"),
        advice: None,
        effect: 0.0,
        evidence: Vec::new(),
    };
    analysis.findings = ["a", "b", "c"].map(finding).into();
    let text = markdown(&run_document(&run, &analysis, &view()));
    assert!(
        text.contains("nothing moved in a (and likewise in b, c)") && !text.contains("nothing moved in b"),
        "{text}"
    );
}

#[test]
fn differing_circumstances_follow_the_tables() {
    let (first, mut other) = (crate::fixture(), crate::fixture());
    let shown = |other: &Run| {
        let document = report::comparison_document(&[&first, other], &ComparedRuns::default(), &view());
        (text(&document, TextStyle { width: 100, color: false }), markdown(&document))
    };
    assert!(shown(&other).0.contains("do not differ."));
    other.started.id = "fixture2".into();
    other.started.host.kernel = "6.99".into();
    let disk = &mut other.started.targets[0].stack[1].facts;
    disk.insert("scheduler".into(), "none".into());
    let (plain, marked) = shown(&other);
    insta::assert_snapshot!(plain);
    assert!(marked.contains("| one · vda | scheduler | mq-deadline | none |"), "{marked}");
}
