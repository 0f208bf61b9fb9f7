//! Short runs on a real disk of the suites that reproduce the classic tools, and of fio job files.

use crate::common::Bench;
use serde_json::Value;

const SUITES: [&str; 10] =
    ["sysbench", "dd", "hdparm", "iozone", "bonnie", "ioping", "crystal", "yabs", "pi", "pi-2022"];

/// A short run of a suite, as JSON.
fn short(bench: &Bench, suite: &str) -> Value {
    // The suite of ioping pauses for a second between operations, and bonnie repeats each pass for half a second.
    let own: &[&str] = match suite {
        "ioping" => &["--ops", "3", "--thinktime", "20ms"],
        "bonnie" => &["--ops", "64", "--min-runtime", "0s"],
        _ => &["--ops", "64"],
    };
    let short = [&["--runtime", "none", "--ramp", "0s"], own].concat();
    let small = ["--size", "8MiB", "--metadata-files", "64", "--rounds", "1"];
    bench.json(&[&["--suite", suite], &short[..], &small].concat())
}

fn findings<'a>(run: &'a Value, rule: &str) -> Vec<&'a Value> {
    run["findings"].as_array().unwrap().iter().filter(|finding| finding["rule"] == rule).collect()
}

#[test]
fn every_step_of_every_classic_suite_has_figures() {
    for suite in SUITES {
        let bench = Bench::new();
        let run = short(&bench, suite);
        assert_eq!(run["run"]["outcome"], "completed", "{suite}");
        for step in run["steps"].as_array().unwrap() {
            let has_figures = |m: &Value| m["step"] == step["id"] && m["estimate"].as_f64() > Some(0.0);
            let measured = run["measurements"].as_array().unwrap().iter().any(has_figures);
            assert!(measured, "{suite}: {}", step["id"]);
        }
        assert_eq!(bench.visible(), Vec::<String>::new(), "{suite}");
    }
}

#[test]
fn the_score_and_both_latency_views_are_reported() {
    let bench = Bench::new();
    let run = short(&bench, "pi");
    assert_eq!(findings(&run, "pi-score").len(), 1);
    assert_eq!(findings(&run, "honest-figure").len(), 1);
    let run = short(&bench, "sysbench");
    assert!(!findings(&run, "sysbench-views").is_empty());
    let concurrent: Vec<&Value> = findings(&run, "honest-figure");
    assert_eq!(concurrent.len(), 3, "seqrd, rndrd and rndwr: {concurrent:?}");
}

/// One pass of each step of bonnie, on 4 MiB and ten files: it counts the operations that the tool would do.
#[test]
fn bonnie_phases_match_the_tool_and_report_cpu_time_once() {
    let bench = Bench::new();
    let small = ["--size", "4MiB", "--metadata-files", "10", "--min-runtime", "0s"];
    let run = bench.json(&[&["--suite", "bonnie", "--rounds", "1"], &small[..]].concat());
    assert_eq!(run["run"]["outcome"], "completed");
    let value = |step: &str, operation: &str, metric: &str| {
        let is_it = |m: &&Value| m["step"] == step && m["operation"] == operation && m["metric"] == metric;
        run["measurements"].as_array().unwrap().iter().find(is_it).and_then(|m| m["estimate"].as_f64())
    };
    let (read, written) = (value("rewrite", "read", "bandwidth"), value("rewrite", "write", "bandwidth"));
    assert!(read > Some(0.0) && read == written, "each block read is written back: {read:?} {written:?}");
    let (read, written) = (value("seeks", "read", "iops"), value("seeks", "write", "iops"));
    let share = written.unwrap() / read.unwrap();
    assert!((0.07..0.13).contains(&share), "a tenth is written back: {share}");
    for step in ["putc", "write", "rewrite", "create-seq", "delete-random"] {
        assert!(value(step, "sync", "sync_share") > Some(0.0), "{step} ends with a sync");
    }
    for step in ["read", "getc", "seeks", "stat-seq", "stat-random"] {
        assert_eq!(value(step, "sync", "iops"), None, "{step} syncs nothing");
    }
    let cpu = findings(&run, "bonnie-cpu");
    assert_eq!(cpu.len(), 1);
    let message = cpu[0]["message"].as_str().unwrap();
    assert!(message.contains("would print") && message.contains("stat-random"), "{message}");
    let honest: Vec<&str> =
        findings(&run, "honest-figure").iter().map(|f| f["subject"]["step"].as_str().unwrap()).collect();
    for step in ["write", "rewrite", "read", "seeks", "create-seq"] {
        assert!(honest.contains(&step), "{step}: {honest:?}");
    }
    assert_eq!(bench.visible(), Vec::<String>::new());
}

/// A job file next to the measured disk.
fn job_file(bench: &Bench, name: &str, text: &str) -> String {
    let path = bench.path(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn a_job_file_runs_groups_in_order_and_jobs_concurrently() {
    let bench = Bench::new();
    job_file(&bench, "global.inc", "size=8m\ndirect=1\n");
    let text = "[global]\ninclude global.inc\nioengine=libaio\nwrite_bw_log=x\n[a]\nrw=write\nbs=64k\n[b]\n\
                rw=randread\niodepth=8\n[c]\nstonewall\nrw=randwrite\nbssplit=4k/50:8k/50\nnumjobs=2\n";
    let run = bench.json(&["--fio", &job_file(&bench, "job.fio", text)]);
    assert_eq!(run["run"]["outcome"], "completed");
    let steps = run["steps"].as_array().unwrap();
    let ids: Vec<&str> = steps.iter().map(|step| step["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["a", "c"]);
    let has = |step: &str, operation: &str| {
        let is_it = |m: &&Value| {
            m["step"] == step && m["operation"] == operation && m["estimate"].as_f64() > Some(0.0)
        };
        run["measurements"].as_array().unwrap().iter().any(|m| is_it(&m))
    };
    assert!(has("a", "write") && has("a", "read"), "concurrent jobs count together");
    assert!(has("c", "write") && !has("c", "read"));
    assert_eq!(bench.visible(), Vec::<String>::new());
}

#[test]
fn unsupported_job_options_are_refused_with_line_and_reason() {
    let bench = Bench::new();
    let disk = bench.disk().display().to_string();
    let file = job_file(&bench, "job.fio", "[a]\nsize=8m\nioengine=rbd\niodpeth=4\n");
    let printed = bench.fails(2, &["run", &disk, "--fio", &file]);
    for part in ["job.fio:3:1", "library", "job.fio:4:1", "did you mean `iodepth`?"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let file = job_file(&bench, "two.fio", "[a]\nsize=8m\ndirectory=/x\n[b]\nsize=8m\ndirectory=/y\n");
    let printed = bench.fails(2, &["run", "--fio", &file]);
    assert!(printed.contains("several targets (/x, /y)"), "{printed}");
    let file = job_file(&bench, "self.fio", "[a]\ninclude self.fio\n");
    let printed = bench.fails(2, &["run", &disk, "--fio", &file]);
    assert!(printed.contains("include each other"), "{printed}");
}

#[test]
fn a_dry_run_names_the_options_without_effect() {
    let bench = Bench::new();
    let disk = bench.disk().display().to_string();
    let file = job_file(&bench, "job.fio", "[a]\nsize=8m\ngroup_reporting\n[b]\nsize=4m\nrw=randread\n");
    let printed = bench.ok(&["run", &disk, "--fio", &file, "--dry-run"]);
    assert!(printed.contains("job file options without effect: group_reporting"), "{printed}");
    assert!(printed.contains("concurrent: b"), "{printed}");
}

/// Which rounds a step was measured in, of those that count.
fn rounds(run: &Value, step: &str, metric: &str) -> Vec<u64> {
    let wanted = |m: &&Value| m["step"] == step && m["metric"] == metric;
    let found = run["measurements"].as_array().unwrap().iter().find(wanted).unwrap();
    found["rounds"].as_array().unwrap().iter().map(|round| round.as_u64().unwrap()).collect()
}

/// On a shared machine a figure may not become steady in 25 rounds, so only that the last five count holds here; such a
/// run lasts ten seconds.
#[test]
fn the_last_five_snia_rounds_count() {
    let bench = Bench::new();
    let options = ["--suite", "snia-latency", "--scale", "0.001", "--size", "8MiB", "--bs", "4k"];
    let run = bench.json(&options);
    let watched = rounds(&run, "r0-4k", "iops");
    assert!(watched.len() == 5 && watched[4] == watched[0] + 4 && watched[4] < 25, "{watched:?}");
    // What prepares the storage is done once, before all rounds.
    let once = ["purge", "precondition"].map(|step| rounds(&run, step, "iops"));
    assert_eq!(once, [[0], [0]]);
}

/// Its think time is far longer than a read on any disk, so the figure is steady after five rounds. With a rate, the
/// watched figure would be the latency. Five rounds of a second are the fewest.
#[test]
fn rounds_end_when_the_watched_step_is_steady() {
    let bench = Bench::in_memory();
    let suite = bench.path("own.toml");
    let watched = "[[step]]\nid = \"watched\"\nrw = \"randread\"\nthinktime = \"50ms\"\n";
    let other = "[[step]]\nid = \"other\"\nrw = \"randread\"\nruntime = \"100ms\"\n";
    let defaults = "[defaults]\nruntime = \"1s\"\nramp = \"0s\"\nsize = \"4MiB\"\n";
    let text = format!("rounds = 25\nuntil_steady = \"watched\"\n{defaults}{watched}{other}");
    std::fs::write(&suite, text).unwrap();
    let attempt = || {
        let run = bench.json(&["--suite", suite.to_str().unwrap()]);
        let made = run["repeats"].as_array().unwrap().iter().filter(|r| r["step"] == "watched").count();
        (made, run)
    };
    // If the machine stops a run for longer than the think time, no five rounds may be steady.
    let (made, run) = (0..5).map(|_| attempt()).find(|(made, _)| *made < 25).expect("it is never steady");
    assert_eq!(run["run"]["outcome"], "completed");
    let counting = rounds(&run, "watched", "iops");
    let repeats = run["repeats"].as_array().unwrap();
    let made = made as u64;
    assert!(made >= 5, "{made} rounds");
    assert_eq!(counting, (made - 5..made).collect::<Vec<_>>(), "the last five count");
    assert_eq!(repeats.len() as u64, 2 * made, "a round is made whole");
}

#[test]
fn rounds_end_when_the_data_were_written_often_enough() {
    let bench = Bench::new();
    let suite = bench.path("own.toml");
    let step =
        "[[step]]\nid = \"w\"\nrw = \"write\"\nruntime = \"none\"\nloops = 1\nramp = \"0s\"\nbs = \"64k\"\n";
    std::fs::write(&suite, format!("rounds = 50\nuntil_written = 3\n{step}")).unwrap();
    let run = bench.json(&["--suite", suite.to_str().unwrap(), "--size", "2MiB"]);
    let values = run["measurements"][0]["values"].as_array().unwrap();
    assert_eq!(values.len(), 3, "{values:?}");
}

/// Its blocks of 10 MiB do not fit into the small test data of the other suites.
#[test]
fn the_disks_suites_run_in_a_directory() {
    for (suite, steps) in [("disks", 2), ("disks-write", 3)] {
        let bench = Bench::new();
        let run = bench.json(&["--suite", suite, "--rounds", "1", "--size", "64MiB", "--no-report"]);
        assert_eq!(run["run"]["outcome"], "completed", "{suite}");
        let repeats = run["repeats"].as_array().unwrap();
        assert_eq!(repeats.len(), steps);
        assert!(
            repeats.iter().all(|r| !r["offset_log"][0]["kept"].as_array().unwrap().is_empty()),
            "{suite}"
        );
    }
}
