//! The classic tools alongside Lodestone: the real ones if they are installed, and scripts in their place that fail or
//! hang. A check lasts at least a second, and hdparm three, for the tool and for Lodestone alike: so do the tests.

use std::process::Output;

use crate::common::*;
use plan::checks::{CHECKS, TOOLS};
use serde_json::Value;

const SHORT: [&str; 9] =
    ["--rounds", "2", "--runtime", "1s", "--size", "16MiB", "--format", "json", "--quiet"];

/// fixtures/crosscheck contains the real output of each check's tool, by the command line of the table.
#[test]
fn every_figure_of_every_check_is_in_the_tool_output() {
    for check in CHECKS {
        let path = format!("{}/../../fixtures/crosscheck/{}.txt", env!("CARGO_MANIFEST_DIR"), check.id);
        let text = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let parsed = record::import::import(&text);
        for part in check.parts {
            let report = parsed.reports.iter().find(|report| {
                let words = report.title.split_once(": ").map_or("", |(_, words)| words);
                report.tool == check.tool().program && words.starts_with(part.report)
            });
            let report = report.unwrap_or_else(|| panic!("{}: no report of it in {path}", part.id));
            // bonnie++ prints +++++ for what takes less than half a second.
            let has_no_rate = report.remarks.iter().any(|remark| remark.topic == "no-rate");
            for pair in part.figures.iter().filter(|_| !has_no_rate) {
                let has = report.figures.iter().any(|f| (f.operation, f.metric) == pair.of_tool);
                assert!(has, "{}: no {:?} in {:?}", part.id, pair.of_tool, report.figures);
            }
        }
    }
}

fn crosscheck(bench: &Bench, more: &[&str]) -> Output {
    let disk = bench.disk().display().to_string();
    bench.run(&[&["crosscheck", &disk], more, &SHORT[..]].concat())
}

#[track_caller]
fn figures(bench: &Bench, more: &[&str]) -> Vec<Value> {
    let output = crosscheck(bench, more);
    assert!(output.status.success(), "{:?}\n{}", output.status, stderr(&output));
    assert_eq!(bench.visible(), Vec::<String>::new(), "nothing is left");
    let json: Value = serde_json::from_slice(&output.stdout).expect("the output is JSON and nothing else");
    json["figures"].as_array().unwrap().clone()
}

/// Every Debian has `dd`.
#[test]
fn a_dd_crosscheck_is_stored_like_any_other_run() {
    let bench = Bench::new();
    let found = figures(&bench, &["--with", "dd"]);
    let steps: Vec<&str> = found.iter().map(|figure| figure["step"].as_str().unwrap()).collect();
    let expected = "dd-write-direct dd-write-fsync dd-write-dsync dd-write-dsync dd-write-dsync-1m dd-write-dsync-1m \
                    dd-read-direct dd-pi";
    assert_eq!(steps.join(" "), expected);
    for figure in &found {
        for key in ["tool_value", "lodestone_value", "ratio", "low", "high"] {
            assert!(figure[key].as_f64() > Some(0.0), "{key}: {figure}");
        }
        assert!(["agrees", "differs", "undecided"].contains(&figure["verdict"].as_str().unwrap()));
    }
    let shown = bench.ok(&["show", "last", "--details"]);
    assert!(shown.contains("tools") && shown.contains("baseline") && shown.contains("dd"), "{shown}");
    let again = bench.ok(&["crosscheck", "--show", "last"]);
    assert!(again.contains("dd-write-fsync") && again.contains("conv=notrunc,fsync"), "{again}");
    let md = bench.ok(&["crosscheck", "--show", "last", "--format", "md"]);
    assert!(md.contains("| dd-write-direct | write bandwidth |"), "{md}");
    let run: Value = serde_json::from_str(&bench.ok(&["export", "last", "--format", "json"])).unwrap();
    let repeats = run["repeats"].as_array().unwrap();
    let of = |target: &str| repeats.iter().filter(|r| r["target"] == target).collect::<Vec<_>>();
    assert_eq!((of("tools").len(), of("lodestone").len()), (12, 12), "both in each of two rounds");
    assert!(of("tools").iter().all(|r| r["imported"]["tool"] == "dd"));
    let report = bench.path("page.html");
    bench.ok(&["report", "last", "-o", report.to_str().unwrap()]);
    let not_one = bench.fails(2, &["crosscheck", "--show", "no-such-run"]);
    assert!(!not_one.is_empty());
}

/// hdparm without a device that can be read, bonnie++ without its suite. The others need a directory and nothing else.
const MAY_BE_IMPOSSIBLE: [&str; 2] = ["hdparm", "bonnie"];

/// ioping does not count its first request, which takes all of its second if the disk stalls for as long.
const NOTHING_COUNTED: &str = "ioping counted none of its requests";
const NOTHING_AT_ALL: &str = "nothing was measured on tools; see the findings";

/// Every installed tool, with its shortest run time; in the gate the fastest of them.
#[test]
fn every_installed_tool_is_compared_with_lodestone() {
    for tool in TOOLS.iter().filter(|tool| tool.word == "ioping" || (is_full_check() && tool.word != "dd")) {
        let bench = Bench::new();
        if host::programs::find_by_path(&host::Roots::default(), tool.program).is_none() {
            skipped(&format!("{} is not installed", tool.program));
            let printed = stderr(&crosscheck(&bench, &["--with", tool.word]));
            assert!(printed.contains(tool.install), "{printed}");
            continue;
        }
        let output = crosscheck(&bench, &["--with", tool.word]);
        let may_be_impossible = MAY_BE_IMPOSSIBLE.contains(&tool.word);
        if may_be_impossible && !output.status.success() && stderr(&output).contains("nothing to compare") {
            skipped(&format!("{}: {}", tool.word, stderr(&output).trim()));
            continue;
        }
        let shown = bench.ok(&["crosscheck", "--show", "last"]);
        let is_silent = shown.contains(NOTHING_COUNTED);
        // It may be so in both rounds.
        let is_ok = output.status.success() || (is_silent && stderr(&output).contains(NOTHING_AT_ALL));
        assert!(is_ok, "{}: {:?}\n{shown}", tool.word, output.status);
        assert_eq!(bench.visible(), Vec::<String>::new(), "{} left files", tool.word);
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        for figure in json["figures"].as_array().unwrap().iter().filter(|_| tool.word != "bonnie") {
            assert!(figure["lodestone_value"].as_f64() > Some(0.0), "{figure}");
            assert!(figure["tool_value"].as_f64() > Some(0.0) || is_silent, "{figure}");
        }
    }
}

/// Without `--rounds` it goes on within the budget, which it says before it begins.
#[test]
fn a_crosscheck_ends_with_its_budget() {
    let bench = Bench::new();
    let disk = bench.disk();
    let args = [
        "crosscheck",
        disk.to_str().unwrap(),
        "--only",
        "dd-read-direct",
        "--size",
        "16MiB",
        "--budget",
        "1s",
    ];
    let output = bench.run(&args);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("1 check in rounds of about"), "{}", stderr(&output));
    assert!(stderr(&output).contains("at most 1 s (--budget)"), "{}", stderr(&output));
    let run: Value = serde_json::from_str(&bench.ok(&["export", "last", "--format", "json"])).unwrap();
    let rounds = run["repeats"].as_array().unwrap().iter().filter_map(|r| r["round"].as_u64()).max();
    assert!(rounds >= Some(1), "{rounds:?}");
    let wrong = bench.fails(2, &["crosscheck", "--budget", "soon"]);
    assert!(wrong.contains("--budget soon: use a time, such as 10m or 1h"), "{wrong}");
}

/// A device is read by both, and never written.
#[test]
fn hdparm_and_lodestone_read_a_block_device() {
    let bench = Bench::new();
    let Some(device) = LoopDevice::new(&bench.path("image"), 64 << 20) else { return };
    let has = |word: &str| host::programs::find_by_path(&host::Roots::default(), word).is_some();
    if !has("hdparm") {
        return skipped("hdparm is not installed");
    }
    let before = std::fs::read(bench.path("image")).unwrap();
    let once = ["--rounds", "1", "--runtime", "1s", "--size", "16MiB", "--format", "json", "--quiet"];
    let output = bench.run(&[&["crosscheck", &device.path, "--with", "hdparm,dd"], &once[..]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let steps: Vec<&str> =
        json["figures"].as_array().unwrap().iter().map(|f| f["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["dd-read-direct", "hdparm-direct", "hdparm-cached"]);
    assert!(std::fs::read(bench.path("image")).unwrap() == before, "nothing was written");
}

#[test]
fn a_failing_tool_is_left_out_and_others_continue() {
    let bench = Bench::new();
    let disk = bench.disk().display().to_string();
    // Files that it leaves in its directory are removed.
    let path = bench.instead(
        "ioping",
        "eval last=\\${$#}; echo x > \"$last/rubbish\" 2>/dev/null; echo 'no way' >&2; exit 7",
    );
    let args =
        [&["crosscheck", &disk, "--with", "ioping,dd", "--only", "ioping-write,dd-read-direct"], &SHORT[..]];
    let output = bench.command(&args.concat()).env("PATH", path).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "something failed: {}", stderr(&output));
    assert_eq!(bench.visible(), Vec::<String>::new());
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of = |step: &str| json["figures"].as_array().unwrap().iter().find(|f| f["step"] == step).cloned();
    assert!(of("dd-read-direct").unwrap()["ratio"].as_f64() > Some(0.0));
    assert!(of("ioping-write").is_none_or(|figure| figure["tool_value"].is_null()));
    let shown = bench.ok(&["crosscheck", "--show", "last"]);
    assert!(shown.contains("exit code 7: no way"), "{shown}");
    let shown = bench.ok(&["show", "last", "--details"]);
    assert!(shown.contains("goes on without ioping-write"), "{shown}");
}

/// A round in which a tool counts nothing has no figure, and the others have theirs.
#[test]
fn a_tool_that_counts_nothing_in_one_round_is_asked_again() {
    let bench = Bench::in_memory();
    let disk = bench.disk().display().to_string();
    let summary = |requests: u32, completed: &str, times: &str| {
        format!(
            "--- . (tmpfs memory) ioping statistics ---\n{completed}\ngenerated {requests} requests in 1.00 s, 4 KiB, \
             1.69 k iops, 6.59 MiB/s\nmin/avg/max/mdev = {times}"
        )
    };
    let nothing =
        summary(1, "0 requests completed in 0 ns, 0 B written, 0 iops, 0 B/s", "0 ns / 0 ns / 0 ns / 0 ns");
    let something = summary(
        3,
        "2 requests completed in 20.0 us, 8 KiB written, 100 k iops, 390.6 MiB/s",
        "9.00 us / 10.0 us / 11.0 us / 1.00 us",
    );
    let was_called = bench.path("was-called");
    let script = format!(
        "if [ -e {0} ]; then echo '{something}'; else touch {0}; echo '{nothing}'; fi",
        was_called.display()
    );
    let go = |script: &str, rounds: &str| {
        let path = bench.instead("ioping", script);
        let args = ["crosscheck", &disk, "--with", "ioping", "--only", "ioping-write", "--rounds", rounds];
        bench.command(&[&args[..], &SHORT[2..]].concat()).env("PATH", path).output().unwrap()
    };
    let output = go(&script, "3");
    assert!(output.status.success(), "{}", stderr(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let latency = json["figures"].as_array().unwrap().iter().find(|f| f["metric"] == "lat_mean").unwrap();
    assert_eq!(latency["tool_value"].as_f64().map(f64::round), Some(10_000.0), "{latency}");
    assert!(latency["low"].as_f64() > Some(0.0), "two rounds give an interval: {latency}");
    let shown = bench.ok(&["crosscheck", "--show", "last"]);
    let told = format!("a repeat of `ioping-write` has no figures: {NOTHING_COUNTED}");
    assert_eq!(shown.matches(&told).count(), 1, "{shown}");
    let never = go(&format!("echo '{nothing}'"), "1");
    assert_eq!(never.status.code(), Some(3));
    assert!(stderr(&never).contains(NOTHING_AT_ALL), "{}", stderr(&never));
}

#[test]
fn ctrl_c_kills_a_tool_that_ignores_signals() {
    let bench = Bench::in_memory();
    let disk = bench.disk().display().to_string();
    let pid_file = bench.path("pid");
    let script = format!(
        "trap '' TERM INT; eval last=\\${{$#}}; echo x > \"$last/rubbish\"; echo $$ > {}; while :; do sleep 1; done",
        pid_file.display()
    );
    let path = bench.instead("ioping", &script);
    let args = [&["crosscheck", &disk, "--with", "ioping", "--only", "ioping-write"], &SHORT[..]].concat();
    let said = || std::fs::read_to_string(&pid_file).unwrap_or_default();
    let mut child = Running::start(bench.command(&args).env("PATH", path));
    child.until("the call of the tool", || said().ends_with('\n'));
    child.press();
    assert_eq!(child.output().status.code(), Some(130));
    assert_eq!(bench.visible(), Vec::<String>::new());
    until_dead(said().trim().parse().unwrap());
}

#[test]
fn invalid_arguments_are_refused_before_any_work() {
    let bench = Bench::new();
    let disk = bench.disk().display().to_string();
    for (args, part) in [
        (vec!["--with", "fioo"], "the tools are fio, sysbench"),
        (vec!["--only", "dd-x"], "dd-write-direct"),
        (vec!["--size", "1k"], "from 16MiB"),
        (vec!["--runtime", "1500ms"], "whole seconds"),
    ] {
        let printed = bench.fails(2, &[&["crosscheck", disk.as_str()], &args[..]].concat());
        assert!(printed.contains(part), "{printed}");
    }
}

/// A run of a plan with the real fio.
fn via_fio(bench: &Bench, options: &[&str]) -> Value {
    bench.json(&[&["--via", "fio", "--size", "16MiB", "--rounds", "2", "--no-report"], options].concat())
}

fn value(run: &Value, step: &str, operation: &str, metric: &str) -> f64 {
    let is_it = |m: &&Value| m["step"] == step && m["operation"] == operation && m["metric"] == metric;
    let found = run["measurements"].as_array().unwrap().iter().find(is_it);
    found.unwrap_or_else(|| panic!("no {metric} of {operation} in {step}"))["estimate"].as_f64().unwrap()
}

fn has_fio() -> bool {
    let has = host::programs::find_by_path(&host::Roots::default(), "fio").is_some();
    if !has {
        skipped("fio is not installed");
    }
    has
}

#[test]
fn fio_runs_a_plan_with_its_rounds_and_data() {
    if !has_fio() {
        return;
    }
    let bench = Bench::new();
    let operations = ["--runtime", "none", "--ops", "4000", "--ramp", "0s"];
    let workload = ["--rw", "randread", "--iodepth", "4", "--engine", "libaio"];
    let run = via_fio(&bench, &[&workload[..], &operations].concat());
    assert_eq!(run["run"]["outcome"], "completed");
    assert!(value(&run, "custom", "read", "iops") > 0.0);
    assert!(value(&run, "custom", "read", "lat_p99.9") > 0.0, "from the histogram");
    let repeats = run["repeats"].as_array().unwrap();
    assert_eq!(repeats.len(), 2);
    for repeat in repeats {
        assert_eq!(repeat["imported"]["tool"], "fio");
        assert!(repeat["imported"]["version"].as_str().unwrap().starts_with(|c: char| c.is_ascii_digit()));
        assert_eq!(repeat["size"], 16 << 20);
    }
    // It used the laid-out file and bypassed the cache: its reads came from the device.
    let log = std::fs::read_dir(bench.store().join("runs")).unwrap().next().unwrap().unwrap().path();
    for repeat in record::read_log(&log).unwrap().run.repeats {
        let read = repeat.measured()[&model::Operation::Read].bytes;
        let devices = repeat.finished.unwrap().devices;
        let came = devices.iter().map(|device| device.read_bytes).max();
        assert!(came.is_none_or(|came| came * 10 >= read * 9), "{came:?} of {read}");
    }
    assert_eq!(bench.visible(), Vec::<String>::new());
    let shown = bench.ok(&["show", "last", "--details"]);
    let words: Vec<&str> = shown.split_whitespace().collect();
    assert!(words.join(" ").contains("; by fio 3"), "{shown}");
}

#[test]
fn fio_runs_fresh_files_jobs_syncs_and_concurrent_steps() {
    if !has_fio() {
        return;
    }
    let bench = Bench::new();
    let suite = bench.path("mine.toml");
    let text = "[defaults]\nsize = \"16MiB\"\nengine = \"psync\"\nruntime = \"none\"\nops = 256\n\
        [[step]]\nid = \"new\"\nrw = \"write\"\nbs = \"64k\"\nprepare = \"fresh\"\n\
        [[step]]\nid = \"jobs\"\nrw = \"randread\"\njobs = 4\n\
        [[step]]\nid = \"files\"\nrw = \"read\"\nbs = \"64k\"\nfiles = 4\njobs = 2\n\
        [[step]]\nid = \"synced\"\nrw = \"randwrite\"\nfsync = 1\n\
        [[step]]\nid = \"mix\"\nrw = \"randread\"\n[[step.concurrent]]\nid = \"other\"\nrw = \"write\"\nbs = \"64k\"\n\
        [[step]]\nid = \"even\"\nrw = \"randrw\"\nmix_order = \"even\"\n";
    std::fs::write(&suite, text).unwrap();
    let disk = bench.disk().display().to_string();
    let args = [
        "run",
        &disk,
        "--suite",
        suite.to_str().unwrap(),
        "--via",
        "fio",
        "--rounds",
        "1",
        "--json",
        "--quiet",
    ];
    let run: Value = serde_json::from_str(&bench.ok(&args)).unwrap();
    assert_eq!(run["run"]["outcome"], "completed", "{}", run["notes"]);
    for (step, operation) in [
        ("new", "write"),
        ("jobs", "read"),
        ("files", "read"),
        ("synced", "write"),
        ("mix", "read"),
        ("mix", "write"),
    ] {
        assert!(value(&run, step, operation, "bandwidth") > 0.0, "{step}");
    }
    assert!(value(&run, "synced", "sync", "lat_mean") > 0.0);
    assert!(value(&run, "synced", "durable_write", "bandwidth") > 0.0);
    let notes = run["notes"].as_array().unwrap();
    // Lodestone itself had the new files open, and waited 10 s for them to be closed.
    assert!(!notes.iter().any(|n| n["topic"] == "still-open"), "{notes:?}");
    let left_out = notes.iter().find(|n| n["topic"] == "step-left-out").unwrap();
    assert!(
        left_out["message"]
            .as_str()
            .unwrap()
            .contains("even: fio cannot do that: reads and writes that alternate")
    );
    assert_eq!(bench.visible(), Vec::<String>::new());
}

#[test]
fn plans_that_fio_cannot_run_are_refused_before_any_work() {
    if !has_fio() {
        return;
    }
    let bench = Bench::new();
    let disk = bench.disk().display().to_string();
    let printed = bench.fails(2, &["run", &disk, "--via", "fio", "--rw", "randread", "--verify", "true"]);
    assert!(printed.contains("cannot verify blocks that Lodestone has stamped"), "{printed}");
    let printed = bench.fails(2, &["run", &disk, "--via", "fio", "--suite", "files"]);
    assert!(printed.contains("several kinds of metadata operations"), "{printed}");
}
