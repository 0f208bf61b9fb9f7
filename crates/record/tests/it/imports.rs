//! Outputs of other programs: every importer reads some, and no other input breaks one.

use std::fs;
use std::path::{Path, PathBuf};

use model::{Figure, Metric, Operation};
use record::import::{IMPORTERS, Parsed, ProblemKind, Text, import, import_named};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/imports")
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        if entry.path().is_dir() { found.extend(files(&entry.path())) } else { found.push(entry.path()) }
    }
    found.sort();
    found
}

fn file(path: &Path) -> Parsed {
    import_named(path.file_name().unwrap().to_str().unwrap(), &fs::read(path).unwrap())
}

fn fixture(name: &str) -> Parsed {
    file(&fixtures().join(name))
}

fn figure(parsed: &Parsed, operation: Operation, metric: Metric) -> &Figure {
    let all = parsed.reports.iter().flat_map(|r| &r.figures);
    all.into_iter().find(|f| (f.operation, f.metric) == (operation, metric)).unwrap()
}

#[test]
fn every_importer_reads_a_fixture() {
    for importer in IMPORTERS {
        let read = files(&fixtures()).iter().any(|path| {
            let content = fs::read(path).unwrap();
            let text = Text::new(&content);
            (importer.recognises)(&text) && !(importer.parse)(&text).reports.is_empty()
        });
        assert!(read, "no fixture has a report of {}", importer.tool);
    }
}

/// Only falsified fixtures contradict themselves.
#[test]
fn printed_figures_agree_with_raw_numbers_unless_falsified() {
    for path in files(&fixtures()) {
        let parsed = file(&path);
        let wrong: Vec<&Figure> =
            parsed.reports.iter().flat_map(|r| &r.figures).filter(|f| f.contradiction().is_some()).collect();
        let falsified = path.to_str().unwrap().contains("falsified");
        assert_eq!(!wrong.is_empty(), falsified, "{}: {wrong:#?}", path.display());
    }
}

#[test]
fn fixture_names_state_the_expected_problem() {
    for path in files(&fixtures()) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let parsed = file(&path);
        let kinds: Vec<ProblemKind> = parsed.problems.iter().map(|p| p.kind).collect();
        let expected = match name.as_str() {
            n if n.contains("failed") || n == "full.txt" => Some(ProblemKind::Failed),
            n if n.contains("cut-off") => Some(ProblemKind::CutOff),
            n if n.contains("cleanup") || n == "noxfer.txt" || n == "busybox.txt" => {
                Some(ProblemKind::NoFigures)
            }
            "shopping-list.txt" | "empty.txt" | "README.md" => Some(ProblemKind::Unrecognised),
            "3.489-usec.txt" => continue,
            _ => None,
        };
        match expected {
            Some(kind) => assert!(kinds.contains(&kind), "{name}: {:?}", parsed.problems),
            None => assert!(kinds.is_empty() && !parsed.reports.is_empty(), "{name}: {:?}", parsed.problems),
        }
    }
}

/// The stall that the old sysbench hides: 300 s of which its events took 8.
#[test]
fn a_run_with_8_s_of_events_in_300_s_spent_97_percent_in_syncs() {
    let parsed = fixture("sysbench/0.4.12-hidden-stall.txt");
    let share = figure(&parsed, Operation::Sync, Metric::SyncShare).value;
    assert_eq!((share * 100.0).round(), 97.0);
}

#[test]
fn a_job_in_three_formats_is_one_result_two_jobs_are_two_steps() {
    let parsed = fixture("fio/3.33-three-formats.txt");
    assert_eq!(parsed.reports.len(), 1);
    let parsed = fixture("fio/3.33-two-jobs.txt");
    let titles: Vec<&str> = parsed.reports.iter().map(|r| r.title.as_str()).collect();
    assert_eq!(titles.len(), 2);
    assert_ne!(titles[0], titles[1]);
}

/// In terse output nothing says that a line is a state: these were four repeats of two steps.
#[test]
fn terse_lines_at_equal_intervals_from_the_start_are_states_and_others_are_not() {
    let name = "fio/3.33-status-interval-terse.txt";
    let parsed = fixture(name);
    let [report] = &parsed.reports[..] else { panic!("{} reports", parsed.reports.len()) };
    assert_eq!((report.facts["states printed"].as_str(), report.intervals.len()), ("4", 4));
    assert_eq!(report.window_ns, 3_001_000_000);
    let text = fs::read_to_string(fixtures().join(name)).unwrap();
    let reports = |text: String| import(text.as_bytes()).reports.len();
    // Repeats of three seconds, one after the other.
    assert_eq!(
        reports(text.replace(";798;", ";2998;").replace(";1798;", ";2999;").replace(";2799;", ";3000;")),
        4
    );
    // Two lines say too little.
    assert_eq!(reports(text.lines().skip(2).map(|line| format!("{line}\n")).collect()), 2);
    // Other jobs.
    assert_eq!(reports(text.replacen(";a;", ";b;", 2)), 4);
}

/// `--status-interval` prints the state of a run again and again, counted from its start. In JSON these were four repeats
/// with an interval of ± 8 %, in text four jobs at once.
#[test]
fn states_of_one_run_are_no_repeats_and_make_its_intervals() {
    for name in ["fio/3.33-status-interval.json", "fio/3.33-status-interval.txt"] {
        let parsed = fixture(name);
        assert_eq!((parsed.reports.len(), parsed.problems.len()), (2, 0), "{name}: two jobs, one run each");
        for report in &parsed.reports {
            assert_eq!(report.facts["states printed"], "4", "{name}");
            assert!(report.window_ns > 2_900_000_000, "{name}: the last state counts");
            let ends: Vec<u64> = report.intervals.iter().map(|i| i.start_ns + i.len_ns).collect();
            assert_eq!((ends.len(), ends[3]), (4, report.window_ns), "{name}: {ends:?}");
            assert!(
                report.intervals[1..].iter().zip(&ends).all(|(next, end)| next.start_ns == *end),
                "{name}"
            );
            let operation = report.headlines[0].0;
            let bytes: u64 = report.intervals.iter().map(|i| i.done[&operation].1).sum();
            let rate = report.figures.iter().find(|f| f.metric == Metric::Bandwidth).unwrap().value;
            let whole = rate * report.window_ns as f64 / 1e9;
            assert!((bytes as f64 / whole - 1.0).abs() < 1e-3, "{name}: {bytes} of {whole}");
        }
    }
    // Two runs in one file are two, although their jobs have the same name.
    let once = fs::read_to_string(fixtures().join("fio/3.33-fsync1.json")).unwrap();
    let later = once.replace("\"timestamp_ms\" : 17", "\"timestamp_ms\" : 18");
    assert_ne!(once, later);
    assert_eq!(import((once + &later).as_bytes()).reports.len(), 2);
}

#[test]
fn sysbench_says_what_it_did_each_second() {
    let parsed = fixture("sysbench/1.0-report-interval.txt");
    let intervals = &parsed.reports[0].intervals;
    assert_eq!(intervals.len(), 3);
    assert_eq!(intervals[1].start_ns, 1_000_000_000);
    let figure = figure(&parsed, Operation::Sync, Metric::Iops);
    assert!(parsed.reports[0].headlines.contains(&(Operation::Sync, Metric::Iops)));
    let syncs: u64 = intervals.iter().map(|i| i.done[&Operation::Sync].0).sum();
    assert!((syncs as f64 / 3.0 / figure.value - 1.0).abs() < 0.02, "{syncs} syncs, {}/s", figure.value);
}

/// The importer took a direction of terse version 5 to be one field longer than it is: writes got their IOPS as
/// bandwidth, their run time as IOPS and a mean as the maximum latency.
#[test]
fn writes_of_terse_version_5_begin_after_47_fields() {
    let parsed = fixture("fio/3.33-terse5.txt");
    let value = |metric| figure(&parsed, Operation::Write, metric).printed.clone().unwrap().text;
    assert_eq!(value(Metric::Bandwidth), "8307 KiB/s");
    assert_eq!(value(Metric::Iops), "2076 IOPS");
    assert!(parsed.problems.is_empty(), "{:?}", parsed.problems);
}

#[test]
fn units_of_fio_2_are_powers_of_1024() {
    let parsed = fixture("fio/2.1-by-hand.txt");
    let rate = figure(&parsed, Operation::Read, Metric::Bandwidth).value;
    assert!((rate / (1024.0 * 1_048_576.0 / 16.56) - 1.0).abs() < 1e-4, "{rate}");
}

#[test]
fn kilobytes_of_fio_are_those_that_its_kb_base_says() {
    for name in ["fio/3.33-kb-base.txt", "fio/3.33-kb-base.json"] {
        let parsed = fixture(name);
        assert_eq!(parsed.reports[0].workload.largest_block(), 64_000, "{name}");
    }
    let usual = fixture("fio/3.33-kb-base.txt");
    assert!(usual.problems.is_empty(), "{:?}", usual.problems);
    let binary =
        fs::read_to_string(fixtures().join("fio/3.33-kb-base.txt")).unwrap().replace("64.0kB", "64.0KiB");
    assert_eq!(import(binary.as_bytes()).reports[0].workload.largest_block(), 65_536);
}

#[test]
fn histograms_of_json_plus_give_the_printed_mean() {
    let parsed = fixture("fio/3.33-randrw.jsonplus.json");
    let stats = &parsed.reports[0].stats[&Operation::Read];
    let total = stats.clat.unwrap();
    assert_eq!(total.count, stats.count);
    let printed = figure(&parsed, Operation::Read, Metric::ClatMean).value;
    let own = total.mean_ns().unwrap();
    assert!((own / printed - 1.0).abs() < 0.01, "{own} {printed}");
}

#[test]
fn a_score_is_recomputed_and_a_changed_one_contradicts() {
    let content = fs::read_to_string(fixtures().join("pibenchmarks/run_1.txt")).unwrap();
    let parsed = import(content.as_bytes());
    let score = figure(&parsed, Operation::Mixed, Metric::Score);
    assert_eq!((score.value, score.contradiction()), (1151.0, None));
    let parsed = import(content.replace("Score: 1151", "Score: 1251").as_bytes());
    assert!(figure(&parsed, Operation::Mixed, Metric::Score).contradiction().is_some());
}

#[test]
fn a_saved_benchmark_of_gnome_disks_has_both_series() {
    let parsed = fixture("gnome-disks/device.gnome-disks-benchmark");
    let rate = figure(&parsed, Operation::Read, Metric::Bandwidth).value;
    let access = figure(&parsed, Operation::Read, Metric::LatMean).value;
    assert!((9e7..1.1e8).contains(&rate) && (8e4..2e5).contains(&access), "{rate} {access}");
    assert_eq!(parsed.reports[0].size_bytes, 8 << 30);
    let [rates, times] = [0, 1].map(|i| &parsed.reports[i].offset_log[&Operation::Read]);
    assert!(rates.kept.len() > 2 && times.kept.len() > 2 && rates.left_out == 0, "{rates:?}");
    assert!(rates.kept.iter().all(|p| p.bytes == 10 << 20 && p.offset < 8 << 30 && p.rate().unwrap() > 5e7));
    let mean = times.kept.iter().map(|p| p.ns).sum::<u64>() as f64 / times.kept.len() as f64;
    assert!((mean / access - 1.0).abs() < 1e-4, "{mean} {access}");
}

#[test]
fn several_tools_and_notes_in_one_file_are_all_found() {
    let parsed = fixture("foreign/notes-and-three-tools.txt");
    let mut tools: Vec<&str> = parsed.reports.iter().map(|r| r.tool).collect();
    tools.dedup();
    assert_eq!(tools, ["dd", "hdparm", "ioping"]);
}

/// The published outputs are not part of the repository. They are tested only if LODESTONE_SHARED names their directory,
/// and then they must exist. All of them import as their index states.
#[test]
fn published_outputs_are_imported_from_the_named_directory() {
    let Some(root) = std::env::var_os("LODESTONE_SHARED").map(PathBuf::from) else {
        return testing::skipped("LODESTONE_SHARED does not name the directory of the published outputs");
    };
    assert!(root.join("samples").is_dir(), "LODESTONE_SHARED: no samples in {}", root.display());
    let mut reports = 0;
    for path in [files(&root.join("samples")), files(&root.join("data"))].concat() {
        let name = path.display().to_string();
        if name.ends_with("INDEX.tsv") || name.ends_with("README.md") {
            continue;
        }
        let parsed = file(&path);
        let bad = parsed.problems.iter().find(|p| p.kind == ProblemKind::Unrecognised);
        let is_progress = name.contains("bonnie/") && name.ends_with(".stderr");
        let is_message = name.contains("hdparm/") && name.ends_with(".stderr");
        assert!(bad.is_none() || is_progress || is_message, "{name}: {bad:?}");
        let wrong = parsed.reports.iter().flat_map(|r| &r.figures).find(|f| f.contradiction().is_some());
        assert!(wrong.is_none(), "{name}: {wrong:#?}");
        reports += parsed.reports.len();
    }
    assert!(reports > 400, "{reports}");
}

/// Each file with one printed number replaced, so that no value comes from elsewhere.
#[test]
fn minima_deviations_and_shares_of_the_processor_are_figures() {
    let cases = [
        ("fio/3.33-fdatasync.txt", "min=9324", "min=8123", Operation::Write, Metric::LatMin, 8_123.0),
        (
            "fio/3.33-fdatasync.txt",
            "stdev=9357.63",
            "stdev=7001.5",
            Operation::Write,
            Metric::LatStddev,
            7_001.5,
        ),
        (
            "fio/3.33-fdatasync.txt",
            "usr=10.00%, sys=0.00%",
            "usr=3.25%, sys=40.50%",
            Operation::Write,
            Metric::CpuJob,
            0.4375,
        ),
        (
            "fio/3.33-terse3.txt",
            ";31;1510;202.079087;145.487379;",
            ";29;1510;202.079087;99.25;",
            Operation::Read,
            Metric::LatStddev,
            99_250.0,
        ),
        (
            "fio/3.33-terse3.txt",
            ";31;1510;202.079087;145.487379;",
            ";29;1510;202.079087;99.25;",
            Operation::Read,
            Metric::LatMin,
            29_000.0,
        ),
        ("fio/3.33-terse3.txt", "17.647059%;245", "21.5%;245", Operation::Read, Metric::CpuJob, 0.215),
        (
            "fio/3.33-fsync1.json",
            "\"sys_cpu\" : 6.775068",
            "\"sys_cpu\" : 55.5",
            Operation::Write,
            Metric::CpuJob,
            0.555,
        ),
        (
            "fio/3.33-fsync1.json",
            "\"min\" : 101071",
            "\"min\" : 77000",
            Operation::Sync,
            Metric::LatMin,
            77_000.0,
        ),
        (
            "ioping/text.txt",
            "376.9 us / 849.9 us / 1.69 ms / 594.9 us",
            "301.5 us / 849.9 us / 1.69 ms / 12.5 us",
            Operation::Read,
            Metric::LatStddev,
            12_500.0,
        ),
        (
            "ioping/text.txt",
            "376.9 us / 849.9 us / 1.69 ms / 594.9 us",
            "301.5 us / 849.9 us / 1.69 ms / 12.5 us",
            Operation::Read,
            Metric::LatMin,
            301_500.0,
        ),
        (
            "ioping/batch.txt",
            "163624 178971 193499 12210",
            "150000 178971 193499 4321",
            Operation::Read,
            Metric::LatStddev,
            4_321.0,
        ),
        (
            "sysbench/1.0-rndrw.txt",
            "min:                                    0.00",
            "min:                                    0.07",
            Operation::Mixed,
            Metric::LatMin,
            70_000.0,
        ),
    ];
    for (file, printed, other, operation, metric, value) in cases {
        let text = fs::read_to_string(fixtures().join(file)).unwrap();
        assert!(text.contains(printed), "{file} has no {printed}");
        let parsed = import(text.replace(printed, other).as_bytes());
        let found = figure(&parsed, operation, metric).value;
        assert!((found - value).abs() < value * 1e-9, "{file}: {metric} is {found}, not {value}");
    }
    let seeks = fixture("bonnie/2.00a-both.txt");
    let share = |title: &str| {
        let report = seeks.reports.iter().find(|r| r.title.contains(title)).unwrap();
        report.figures.iter().find(|f| f.metric == Metric::CpuJob).unwrap().value
    };
    assert_eq!((share("rewrite"), share("delete in order")), (0.85, 0.32));
}
