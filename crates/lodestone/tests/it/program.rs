//! The program as users see it.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;

use crate::common::*;
use serde_json::Value;

/// Options of a run that takes a second or two.
const SHORT: [&str; 10] =
    ["--size", "32M", "--runtime", "none", "--ops", "512", "--ramp", "0s", "--rounds", "3"];

fn short(more: &[&'static str]) -> Vec<&'static str> {
    [&SHORT[..], more].concat()
}

/// The item of a list whose fields have these values.
fn find<'a>(list: &'a Value, fields: &[(&str, &str)]) -> &'a Value {
    list.as_array()
        .unwrap()
        .iter()
        .find(|item| fields.iter().all(|(name, value)| item[name] == *value))
        .unwrap_or_else(|| panic!("nothing with {fields:?} in {list:#}"))
}

#[test]
fn a_run_measures_reports_and_leaves_no_files() {
    let bench = Bench::new();
    let disk = bench.disk();
    let args =
        [&["run", disk.to_str().unwrap()], &short(&["--rw", "randread", "--iodepth", "4", "--details"])[..]]
            .concat();
    let text = bench.ok(&args);
    for expected in ["Random read, 4 KiB, depth 4", "bandwidth", "p99.9", "disk", "saved as run"] {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
    assert_eq!(bench.visible(), Vec::<String>::new());
    assert!(bench.ok(&["list"]).contains("completed"));
    assert_eq!(bench.ok(&["show"]).lines().next(), text.lines().next());
}

#[test]
fn the_default_suite_has_all_its_steps() {
    let bench = Bench::new();
    let options = ["--size", "32M", "--runtime", "none", "--ops", "64", "--ramp", "0s", "--rounds", "3"];
    let text = bench.ok(&[&["run", bench.disk().to_str().unwrap()], &options[..]].concat());
    for step in [
        "Sequential read, 1 MiB, depth 8",
        "Sequential write, 1 MiB, depth 8",
        "Random read, 4 KiB, depth 1",
        "Random read, 4 KiB, depth 32",
        "Random write, 4 KiB, depth 1",
        "Random write, 4 KiB, depth 32",
        "Random mix 75/25, 4 KiB, depth 16",
        "durable write",
    ] {
        assert!(text.contains(step), "{step} is missing in\n{text}");
    }
}

#[test]
fn json_output_is_pure_and_complete() {
    let bench = Bench::new();
    let disk = bench.disk();
    let [a, b] = ["a", "b"].map(|name| {
        let path = disk.join(name);
        std::fs::create_dir(&path).unwrap();
        path.display().to_string()
    });
    let args = [&["run", &a, &b, "--json"], &short(&["--rw", "randrw", "--iodepth", "8"])[..]].concat();
    let json: Value = serde_json::from_str(&bench.ok(&args)).unwrap();
    assert_eq!(json["schema"], "lodestone.run.v1");
    assert_eq!(json["run"]["suite"], "custom");
    assert!(json["run"]["seed"].as_u64().unwrap() < 1 << 53);
    assert_eq!(json["run"]["outcome"], "completed");
    assert_eq!(find(&json["targets"], &[("name", "b")])["path"], b.as_str());
    for metric in ["bandwidth", "iops", "lat_mean", "lat_p50", "lat_p99", "lat_p99.9", "lat_max"] {
        for operation in ["read", "write"] {
            let m =
                find(&json["measurements"], &[("target", "a"), ("operation", operation), ("metric", metric)]);
            assert_eq!(m["values"].as_array().unwrap().len(), 3, "{metric}");
            let (estimate, low, high) = (&m["estimate"], &m["low"], &m["high"]);
            assert!(estimate.as_f64().unwrap() > 0.0, "{metric}");
            // A percentile has an interval only where enough lies beyond it.
            let has_interval = !low.is_null() && !high.is_null();
            assert!(has_interval || metric.starts_with("lat_p") || metric == "lat_max", "{metric}");
            if has_interval {
                assert!(low.as_f64() <= estimate.as_f64() && estimate.as_f64() <= high.as_f64(), "{metric}");
            }
            let c =
                find(&json["comparisons"], &[("target", "b"), ("operation", operation), ("metric", metric)]);
            assert_eq!(c["baseline"], "a");
            assert!(c["ratio"].as_f64().unwrap() > 0.0);
            assert!(["faster", "slower", "same", "undecided"].contains(&c["verdict"].as_str().unwrap()));
        }
    }
    let bandwidth =
        find(&json["measurements"], &[("target", "a"), ("operation", "read"), ("metric", "bandwidth")]);
    let iops = find(&json["measurements"], &[("target", "a"), ("operation", "read"), ("metric", "iops")]);
    let block = bandwidth["estimate"].as_f64().unwrap() / iops["estimate"].as_f64().unwrap();
    assert!((block - 4096.0).abs() < 1e-6, "{block}");
    assert!(json["findings"].is_array() && json["repeats"].as_array().unwrap().len() == 6);
}

/// The published schema and the output come from the same types; this checks that the output has no unknown field and
/// lacks no required one.
#[test]
fn json_follows_the_published_schema() {
    let bench = Bench::new();
    let json = bench.json(&short(&["--rw", "write", "--fsync", "4"]));
    let schema: Value = serde_json::from_str(&bench.ok(&["schema"])).unwrap();
    conforms(&json, &schema, &schema, "run");
}

#[test]
fn telemetry_is_shown_and_exported_and_can_be_disabled() {
    let bench = Bench::new();
    let disk = bench.disk();
    // At this rate, each repeat takes 200 ms.
    let repeat = ["--runtime", "none", "--ops", "50", "--rate-iops", "250", "--rounds", "5"];
    let run = |more: &[&str]| {
        let workload = ["--rw", "randread", "--size", "32M", "--quiet"];
        bench.ok(&[&["run", disk.to_str().unwrap()], &workload[..], &repeat, more].concat())
    };
    run(&["--telemetry", "100ms"]);
    let log = std::fs::read_dir(bench.store().join("runs")).unwrap().next().unwrap().unwrap().path();
    let repeats = record::read_log(&log).unwrap().run.repeats;
    let measured_ns: u64 = repeats.iter().map(|repeat| repeat.finished.as_ref().unwrap().window_ns).sum();
    let shown = bench.ok(&["show", "--telemetry"]);
    for expected in
        ["Random read, 4 KiB", "5 repeats", "busiest core", "memory available", "load over a minute"]
    {
        assert!(shown.contains(expected), "{expected} is missing in\n{shown}");
    }
    let json: Value = serde_json::from_str(&bench.ok(&["export", "--telemetry"])).unwrap();
    let schema: Value = serde_json::from_str(&bench.ok(&["schema", "telemetry"])).unwrap();
    conforms(&json, &schema, &schema, "telemetry");
    let busiest = find(&json["figures"], &[("probe", "cpu"), ("key", "busiest")]);
    // The repeats are covered from the first poll to the last.
    let measured = measured_ns as f64 / 1e9;
    assert!(busiest["seconds"].as_f64().unwrap() > measured / 2.0, "{busiest} of {measured} s");
    let csv = bench.ok(&["export", "--telemetry", "--format", "csv"]);
    assert!(csv.contains(",cpu,busiest,1,"), "{csv}");

    run(&["--telemetry", "off"]);
    assert!(bench.ok(&["show", "--telemetry"]).contains("This run has no telemetry"));
    for wrong in ["never", "10ms", "2h"] {
        let said = bench.fails(2, &["run", disk.to_str().unwrap(), "--telemetry", wrong]);
        assert!(said.contains(wrong) && said.contains("100ms"), "{said}");
    }
}

#[test]
fn results_can_be_listed_shown_exported_and_compared() {
    let bench = Bench::new();
    let disk = bench.disk();
    for _ in 0..2 {
        bench.ok(&[&["run", disk.to_str().unwrap(), "--quiet"], &short(&["--rw", "randread"])[..]].concat());
    }
    let list: Value = serde_json::from_str(&bench.ok(&["list", "--json"])).unwrap();
    let ids: Vec<&str> = list.as_array().unwrap().iter().map(|r| r["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2);

    let csv = bench.ok(&["export", "--format", "csv"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "run,host,target,step,operation,metric,unit,round,value");
    assert_eq!(lines.iter().filter(|l| l.contains(",iops,1/s,")).count(), 3, "one row per repeat");
    assert!(lines[1].starts_with(ids[1]), "`last` is the default");

    let markdown = bench.ok(&["export", &ids[0][..6], "-f", "md"]);
    assert!(markdown.contains("| target | bandwidth |") && markdown.contains("| :-- | --: |"), "{markdown}");
    let file = bench.path("out.json");
    bench.ok(&["export", "last~1", "-o", file.to_str().unwrap()]);
    let json: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(json["run"]["id"], ids[0]);

    let compared = bench.ok(&["compare", ids[0], ids[1]]);
    assert!(
        compared.contains(&format!("{}:disk", ids[1])) && compared.contains("different runs"),
        "{compared}"
    );
    let pairs = bench.ok(&["compare", ids[0], ids[1], "--pairs"]);
    assert!(pairs.contains("All pairs of ") && pairs.contains(&format!("{}:disk", ids[1])), "{pairs}");
    let json: Value = serde_json::from_str(&bench.ok(&["compare", "last~1", "last", "--json"])).unwrap();
    assert_eq!(json["schema"], "lodestone.comparison.v1");
    assert!(json["comparisons"][0]["method"].as_str().unwrap().contains("drift"));

    std::fs::remove_file(bench.store().join("index")).unwrap();
    assert!(bench.ok(&["list"]).contains("2 runs"));
}

/// A copy of the fixture's log with this id, each of its events edited.
fn copied(bench: &Bench, id: &str, edit: impl Fn(&mut Value)) -> String {
    let events = include_str!("../../../../fixtures/runs/events.jsonl").lines().map(|line| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        if event["event"] == "run_started" {
            event["id"] = id.into();
        }
        edit(&mut event);
        serde_json::from_value(event).unwrap()
    });
    let file = bench.path(&format!("{id}.jsonl"));
    record::LogWriter::create(&file).unwrap().append_all(&events.collect::<Vec<_>>()).unwrap();
    file.to_str().unwrap().to_owned()
}

/// Copies of the fixture at 8 and 20 o'clock UTC on each of `days` days; in the evening everything takes a quarter
/// longer.
fn runs_by_day(bench: &Bench, days: i64) -> Vec<String> {
    let copy = |day: i64, hour: i64| {
        copied(bench, &format!("day{day}at{hour}"), |event| match event["event"].as_str().unwrap() {
            "run_started" => {
                event["started_unix_ns"] = ((day * 24 + hour) * 3_600 * 1_000_000_000).into();
            }
            "repeat_finished" if hour == 20 => {
                event["window_ns"] = (event["window_ns"].as_u64().unwrap() / 4 * 5).into();
            }
            _ => {}
        })
    };
    (20_000..20_000 + days).flat_map(|day| [copy(day, 8), copy(day, 20)]).collect()
}

#[test]
fn several_runs_and_hosts_stand_in_one_table_and_an_odd_run_is_left_out() {
    let bench = Bench::new();
    let on = |id: &str, host: &str, depth: u32| {
        let is_second = std::cell::Cell::new(false);
        copied(&bench, id, |event| {
            if event["event"] == "run_started" {
                event["host"]["name"] = host.into();
                // The second target is the first one with encryption.
                let stack = event["targets"][1]["stack"].as_array_mut().unwrap();
                let crypt = serde_json::json!({"kind": "crypt", "name": "secret", "level": 1, "facts": {}});
                stack[1]["level"] = 2.into();
                stack.insert(1, crypt);
                for step in event["plan"]["steps"].as_array_mut().unwrap() {
                    step["workload"]["iodepth"] = depth.into();
                }
            } else if event["event"] == "repeat_started" {
                is_second.set(event["target"] == "two");
            } else if event["event"] == "repeat_finished" && is_second.get() {
                event["window_ns"] = (event["window_ns"].as_u64().unwrap() * 4).into();
            }
        })
    };
    let (pi, rock, odd) = (on("aaaa", "pi", 4), on("bbbb", "rock", 4), on("cccc", "rock", 5));
    let shown = |args: &[&str]| {
        let output = bench.command(args).output().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.code(), out, err)
    };
    let header = |table: &str| {
        table
            .lines()
            .nth(1)
            .unwrap()
            .split("  ")
            .map(str::trim)
            .filter(|w| !w.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };

    let (_, table, said) = shown(&["show", &pi, &rock, "--layout", "matrix"]);
    assert_eq!(header(&table)[..4], ["step", "pi one", "pi two", "rock one"], "{table}");
    assert!(!said.contains("not the same work"), "{said}");
    let (_, table, _) =
        shown(&["compare", &pi, &rock, "--layout", "matrix", "--rows", "step,target", "--columns", "host"]);
    assert_eq!(header(&table), ["step", "target", "pi", "rock"], "{table}");
    let (_, table, said) = shown(&["show", &pi, &rock, &odd, "--layout", "scores"]);
    assert_eq!(header(&table)[..2], ["run", "target"], "one host has two runs: {table}");
    assert!(said.contains("one name in several runs, but not the same work"), "{said}");

    let (code, _, said) = shown(&["show", &pi, &rock]);
    assert!(code == Some(2) && said.contains("use `lodestone compare`"), "{said}");
    let (code, _, said) = shown(&["show", &pi, &rock, "--layout", "matrix", "--columns", "target"]);
    assert!(code == Some(2) && said.contains("host") && said.contains("in run bbbb"), "{said}");

    for runs in [[&odd, &pi, &rock], [&pi, &odd, &rock]] {
        let (_, compared, said) = shown(&[&["compare"][..], &runs.map(String::as_str)].concat());
        assert!(
            said.contains("run cccc is left out, because it has no step in common with the others"),
            "{said}"
        );
        assert!(
            compared.contains("bbbb:one and aaaa:one cannot be told apart") && !compared.contains("cccc"),
            "{compared}"
        );
        let costs = compared.lines().skip_while(|l| *l != "What encryption (dm-crypt) changes").nth(1);
        assert!(costs.is_some_and(|l| l.split_whitespace().eq(["pi", "rock"])), "{compared}");
        assert!(!compared.contains("What rock changes"), "{compared}");
    }
    let (_, json, _) = shown(&["compare", &pi, &rock, "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["costs"][0]["of"], "encryption (dm-crypt)");
    assert_eq!(json["costs"][0]["on"]["host"], "pi");
    let (code, _, said) = shown(&["compare", &pi, &odd]);
    assert!(code == Some(2) && said.contains("no step in common"), "{said}");
    let page = bench.path("page.html");
    let (_, _, said) = shown(&["report", &odd, &pi, &rock, "-o", page.to_str().unwrap()]);
    assert!(
        said.contains("run cccc is left out")
            && std::fs::read_to_string(page).unwrap().contains("2 runs compared")
    );
}

#[test]
fn runs_of_one_plan_are_compared_by_hour_of_the_day() {
    let bench = Bench::new();
    let files = runs_by_day(&bench, 8);
    let compare = |count: usize, flags: &[&str]| {
        let runs = files[..count].iter().map(String::as_str);
        let args: Vec<&str> = std::iter::once("compare").chain(runs).chain(flags.iter().copied()).collect();
        let output = bench.command(&args).env("TZ", "UTC").output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (_, text, _) = compare(16, &["--by-hour"]);
    assert!(text.contains("hours differ") && text.contains("20 h") && text.contains("8 h"), "{text}");
    assert!(text.contains("read is 20 % slower at 20 h than at the other hours"), "{text}");
    assert!(!text.contains("different runs"), "only the hours were asked for: {text}");

    let (_, text, _) = compare(6, &[]);
    assert!(text.contains("too few runs, +") && text.contains("different runs"), "{text}");
    let (_, json, _) = compare(16, &["--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let read = json["by_hour"].as_array().unwrap().iter().find(|f| f["step"] == "read").unwrap();
    assert_eq!((read["verdict"].as_str(), read["hours"][1]["hour"].as_u64()), (Some("differ"), Some(20)));

    let (code, _, error) = compare(2, &["--by-hour"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("no three of these runs"), "{error}");
}

#[test]
fn usage_errors_state_the_problem_and_the_remedy() {
    let bench = Bench::new();
    let disk = bench.disk();
    let disk = disk.to_str().unwrap();
    let suite = bench.path("mine.toml");
    std::fs::write(&suite, "[[step]]\nid = \"a\"\nrw = \"randraed\"\n[[step]]\nid = \"b\"\niodpeth = 4\n")
        .unwrap();
    let suite = suite.to_str().unwrap();
    let cases: [(&[&str], &[&str]); 12] = [
        (&["run", "/no/such/path"], &["/no/such/path", "name an existing directory"]),
        (&["run", disk, "--suite", "quik"], &["no suite `quik`", "quick, full"]),
        (&["run", disk, "--suite", "./none.toml"], &["cannot read the suite"]),
        (
            &["run", disk, "--suite", suite],
            &["mine.toml:3:6", "did you mean `randread`", "mine.toml:6:1", "did you mean `iodepth`"],
        ),
        (&["run", disk, "--iodepth", "many", "--bs", "4q"], &["--iodepth", "--bs", "4q"]),
        (&["run", disk, "--rounds", "0"], &["--rounds"]),
        (&["run", disk, "--budget", "soon"], &["--budget", "90s"]),
        (&["run", disk, "--baseline", "none"], &["no target `none`", "the targets are disk"]),
        (&["run", disk, disk], &["two targets have the name"]),
        (&["run", disk, "--overwrite", "/dev/null"], &["does not name a file or block device"]),
        (&["show", "nothing"], &["no run `nothing`", "lodestone list"]),
        (&["compare", "last", "last~1"], &["no run `last`"]),
    ];
    for (args, expected) in cases {
        let said = bench.fails(2, args);
        for part in expected {
            assert!(said.contains(part), "{args:?} should print {part}:\n{said}");
        }
    }
    assert_eq!(bench.visible(), Vec::<String>::new());
}

/// What an option needs is not asked for beside what that conflicts with: `run DIR --stack ext4` measured DIR.
#[test]
fn no_option_is_ignored_for_want_of_another() {
    let bench = Bench::new();
    let disk = bench.disk();
    let disk = disk.to_str().unwrap();
    let cases: [(&[&str], &str); 9] = [
        (&["run", disk, "--strict"], "--require"),
        (&["run", disk, "--stack", "ext4"], "--on"),
        (&["run", disk, disk, "--leave", "--together"], "--leave"),
        (&["run", disk, disk, "--makings", "3", "--together"], "--makings"),
        (&["run", disk, "--makings", "3"], "--stack"),
        (&["run", "--on", "image:1G", "--stack", "ext4", "--clients", "1"], "--clients"),
        (&["run", disk, "--via", "fio", "--clients", "1"], "--clients"),
        (&["targets", "--explain", "--all"], "--explain"),
        (&["show", "last", "--columns", "host", "--details"], "--layout"),
    ];
    for (args, expected) in cases {
        let said = bench.fails(2, args);
        assert!(said.contains(expected), "{args:?} should name {expected}:\n{said}");
    }
}

#[test]
fn a_dry_run_shows_the_plan_and_does_nothing() {
    let bench = Bench::new();
    let disk = bench.disk();
    let run = ["run", disk.to_str().unwrap(), "--dry-run", "--iodepth", "4"];
    let text = bench.ok(&[&run[..], &["--rounds", "3", "--precision", "1%"]].concat());
    assert!(text.contains("warning: --precision has no effect"), "{text}");
    let text = bench.ok(&run);
    for expected in ["nothing has been done", "rand-read-d4", "iodepth = 4", "90 s", "io_uring"] {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
    assert!(!bench.store().exists());
}

#[test]
fn every_suite_can_be_shown_and_every_option_is_explained() {
    let bench = Bench::new();
    let listed = bench.ok(&["suites"]);
    for suite in plan::BUILTIN_SUITES {
        let is_listed = listed.lines().any(|line| line.split(' ').next() == Some(suite.name));
        assert_eq!(is_listed, !plan::Suite::parse(suite.name, suite.toml).0.is_profile(), "{}", suite.name);
        assert_eq!(bench.ok(&["suites", "show", suite.name]), suite.toml);
    }
    let options = bench.ok(&["suites", "options"]);
    let help = bench.ok(&["run", "--help"]);
    for option in plan::OPTIONS {
        assert!(
            options.contains(&format!("\n{} = {}", option.key, option.default))
                || options.starts_with(option.key)
        );
        assert!(help.contains(&format!("--{} ", option.flag())), "{}", option.key);
    }
}

#[test]
fn a_custom_suite_runs_from_its_file() {
    let bench = Bench::new();
    let suite = bench.path("mine.toml");
    let toml = "[defaults]\nsize = \"16M\"\nruntime = \"none\"\nops = 64\ninterval = 0.1\n\
        [[step]]\nid = \"x\"\nsweep.bs = [\"4k\", \"16k\"]\n";
    std::fs::write(&suite, toml).unwrap();
    let json = bench.json(&["--suite", suite.to_str().unwrap(), "--rounds", "2"]);
    assert_eq!(json["run"]["suite"], "mine");
    find(&json["measurements"], &[("step", "x-16k"), ("metric", "iops")]);
}

#[test]
fn a_seed_reproduces_the_order_and_the_repeat_seeds() {
    let bench = Bench::new();
    let repeats = |seed: &str| {
        let args = ["--seed", seed, "--size", "16M", "--runtime", "none", "--ops", "16", "--ramp", "0"];
        let json = bench.json(&[&args[..], &["--rounds", "2"]].concat());
        let order = json["repeats"].as_array().unwrap().iter();
        order.map(|r| (r["step"].to_string(), r["seed"].as_u64())).collect::<Vec<_>>()
    };
    assert_eq!(repeats("7"), repeats("7"));
    assert_ne!(repeats("7"), repeats("8"));
}

#[test]
fn ctrl_c_once_ends_with_the_results_so_far() {
    let bench = Bench::in_memory();
    let disk = bench.disk();
    // Metadata operations need visible files, which could be left behind.
    let args = ["run", disk.to_str().unwrap(), "--rw", "metadata", "--metadata-files", "20000"];
    let mut child = Running::start(&mut bench.command(&[&args[..], &["--runtime", "3600s"]].concat()));
    child.until("a visible file", || !bench.visible().is_empty());
    child.press();
    let output = child.output();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert_eq!(bench.visible(), Vec::<String>::new());
    assert!(stdout(&output).contains("stopped by the user"), "{}", stdout(&output));
    assert!(!stderr(&output).contains("removing test files"), "that is for the second Ctrl-C");
    assert!(bench.ok(&["list"]).contains("interrupted"));
}

/// A full socket, and the other end, which must live as long.
fn full_socket() -> (OwnedFd, UnixStream) {
    let (mut full, reader) = UnixStream::pair().unwrap();
    full.set_nonblocking(true).unwrap();
    while full.write(&[0; 1 << 10]).is_ok() {}
    full.set_nonblocking(false).unwrap();
    (full.into(), reader)
}

/// A script that ignores signals replaces fio, and nothing reads the program's output, so a run that was stopped once
/// is not over at the second Ctrl-C, however slow the machine is.
#[test]
fn ctrl_c_twice_kills_programs_and_removes_test_files() {
    let bench = Bench::new();
    let (disk, pid) = (bench.disk().display().to_string(), bench.path("pid"));
    let writes_pid = format!("echo $$ > {0}.new; mv {0}.new {0}", pid.display());
    let script = format!("trap '' TERM INT; echo x > rubbish; {writes_pid}; while :; do sleep 1; done");
    let path = bench.instead("fio", &script);
    let args = ["run", &disk, "--via", "fio", "--rw", "randread", "--size", "8M", "--rounds", "1"];
    let (stdout, _reader) = full_socket();
    let runtime = bench.path("runtime");
    std::fs::create_dir(&runtime).unwrap();
    let mut command = bench.command(&args);
    let mut child = Running::writing_to(command.env("PATH", path).env("XDG_RUNTIME_DIR", &runtime), stdout);
    child.until("the call of fio", || pid.exists());
    assert!(!visible(&runtime).is_empty(), "there must be files to remove");
    child.press();
    child.until_printed("stopping; press Ctrl-C again to stop at once");
    child.press();
    child.until_printed("removing test files; press Ctrl-C again to leave them to `lodestone clean`");
    let output = child.output();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert_eq!(bench.visible(), Vec::<String>::new());
    assert_eq!(visible(&runtime), Vec::<String>::new());
    until_dead(std::fs::read_to_string(pid).unwrap().trim().parse().unwrap());
}

#[test]
fn concurrent_runs_have_separate_logs_and_note_each_other() {
    let bench = Bench::in_memory();
    let disk = bench.disk();
    // Neither ends by itself, and this rate makes each repeat slow.
    let args = ["run", disk.to_str().unwrap(), "--rw", "randread", "--size", "16M", "--json"];
    let repeat = ["--runtime", "none", "--ops", "16", "--rate-iops", "500", "--rounds", "100000"];
    let args = [&args[..], &repeat].concat();
    let logs_with = |words: &str| {
        let logs = std::fs::read_dir(bench.store().join("runs")).into_iter().flatten().flatten();
        let texts = logs.filter_map(|log| std::fs::read_to_string(log.path()).ok());
        texts.filter(|text| text.contains(words)).count()
    };
    let mut first = Running::start(&mut bench.command(&args));
    first.until("a repeat", || logs_with("repeat_started") == 1);
    let mut second = Running::start(&mut bench.command(&args));
    second.until("the note of both", || logs_with("\"not-alone\"") == 2 && logs_with("repeat_started") == 2);
    let mut repeats_by_id = Vec::new();
    for mut child in [first, second] {
        child.press();
        let output = child.output();
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let note = find(&json["notes"], &[("topic", "not-alone")]);
        assert!(note["message"].as_str().unwrap().contains("another run is in progress"));
        let repeats = json["repeats"].as_array().unwrap().len();
        repeats_by_id.push((json["run"]["id"].clone(), repeats));
    }
    let list: Value = serde_json::from_str(&bench.ok(&["list", "--json"])).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 2);
    for (id, repeats) in repeats_by_id {
        let listed = find(&list, &[("id", id.as_str().unwrap())]);
        assert_eq!(listed["state"], "interrupted");
        assert_eq!(listed["repeats"].as_u64(), Some(repeats as u64), "{id}");
    }
}

#[test]
fn leftovers_are_removed_by_clean_and_by_the_next_run() {
    let bench = Bench::new();
    let disk = bench.disk();
    let disk = disk.to_str().unwrap();
    let leave = || {
        let args =
            ["run", disk, "--rw", "metadata", "--metadata-files", "20000", "--runtime", "3600s", "--quiet"];
        let mut child = Running::start(&mut bench.command(&args));
        child.until("a directory with files", || {
            let is_whole = |path: &Path| {
                let manifest = std::fs::read_to_string(path.join("manifest.json"));
                manifest.is_ok_and(|text| text.ends_with('}')) && path.join("job0/job0").exists()
            };
            bench.visible().iter().any(|name| is_whole(&bench.disk().join(name)))
        });
        drop(child);
        assert_eq!(bench.visible().len(), 1, "named files are not removed by themselves");
    };
    leave();
    assert!(bench.ok(&["clean", "--dry-run"]).contains("would remove"));
    assert_eq!(bench.visible().len(), 1);
    assert!(bench.ok(&["clean"]).contains("removed"));
    assert!(bench.visible().is_empty());
    assert!(bench.ok(&["clean", disk]).contains("nothing to clean"));
    leave();
    let json = bench.json(&short(&["--rw", "randread"]));
    find(&json["notes"], &[("topic", "leftovers")]);
    assert!(bench.visible().is_empty());
}

#[test]
fn a_verified_run_checks_its_blocks() {
    let bench = Bench::new();
    for rw in ["randwrite", "randrw", "randread"] {
        let json = bench.json(&short(&["--verify", "true", "--iodepth", "8", "--rw", rw]));
        assert!(json["findings"].as_array().unwrap().iter().all(|f| f["rule"] != "data-corrupted"), "{rw}");
        assert_eq!(json["run"]["outcome"], "completed");
    }
    let log = std::fs::read_dir(bench.store().join("runs")).unwrap().next().unwrap().unwrap().path();
    assert!(text_of(&log).contains("\"checked\":"), "the log contains the number of checked blocks");
}

#[test]
fn oversized_test_data_are_refused_before_any_write() {
    let bench = Bench::new();
    let disk = bench.disk();
    let oversized = ["run", disk.to_str().unwrap(), "--rw", "read", "--size", "900T"];
    let said = bench.fails(3, &oversized);
    assert!(said.contains("need 900 TiB") && said.contains("are free") && said.contains("--size"), "{said}");
    let told = bench.ok(&[&oversized[..], &["--dry-run"]].concat());
    assert!(told.contains("the test data need 900 TiB"), "{told}");
    assert!(bench.visible().is_empty());
}

#[test]
fn an_unwritable_store_is_reported_before_measuring() {
    let bench = Bench::new();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_lodestone"))
        .args(["run", bench.disk().to_str().unwrap(), "--store", "/proc/here"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("choose another store with --store"), "{}", stderr(&output));
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
    let bench = Bench::new();
    bench.json(&short(&["--rw", "randread"]));
    let mut child = bench.command(&["export"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
}

#[test]
fn jobs_files_and_distributions_work_together() {
    let bench = Bench::new();
    for options in [
        &["--rw", "randrw", "--jobs", "3", "--files", "5", "--iodepth", "4"][..],
        &["--rw", "randread", "--distribution", "zipf:1.1", "--jobs", "2", "--regions", "shared"],
        &["--rw", "randwrite", "--distribution", "zoned:60/10:40/90", "--compress", "50", "--dedupe", "20"],
        &["--rw", "randread", "--distribution", "normal:5", "--bs", "16k"],
        &["--rw", "randread", "--distribution", "pareto:0.2", "--norandommap", "true"],
        &["--rw", "randread", "--rate-iops", "500", "--rate-process", "poisson", "--iodepth", "16"],
        &["--rw", "write", "--rate", "5MB", "--bs", "64k"],
        &["--rw", "write", "--direct", "false", "--fsync", "16"],
        &["--rw", "randread", "--engine", "mmap"],
        &["--rw", "randread", "--engine", "libaio", "--iodepth", "8"],
        &["--rw", "randread", "--engine", "psync"],
        &["--rw", "write", "--sync", "dsync"],
        &["--rw", "write", "--prepare", "fresh"],
        &["--rw", "randtrim"],
        &["--rw", "randrw", "--bs", "4k,16k"],
        &["--rw", "metadata", "--jobs", "2", "--metadata-files", "50", "--file-size", "4k", "--fsync", "5"],
    ] {
        let json = bench.json(
            &[&["--size", "16M", "--runtime", "none", "--ops", "32", "--rounds", "1"], options].concat(),
        );
        assert_eq!(json["run"]["outcome"], "completed", "{options:?}");
        assert!(
            json["measurements"].as_array().unwrap().iter().any(|m| m["metric"] == "iops"),
            "{options:?}"
        );
        assert_eq!(bench.visible(), Vec::<String>::new(), "{options:?}");
    }
}

#[test]
fn selftest_measures_the_generator() {
    let bench = Bench::new();
    let text = bench.ok(&["selftest"]);
    for expected in ["one reading takes", "late (p50)", "no-op requests, depth 32", "psync"] {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
}

#[test]
fn what_the_program_is_and_what_the_machine_lacks_is_told() {
    let bench = Bench::new();
    let version = bench.ok(&["--version", "--verbose"]);
    let program = concat!("lodestone ", env!("CARGO_PKG_VERSION"), "\n");
    assert!(version.starts_with(program) && version.contains("psync"), "{version}");
    assert_eq!(bench.ok(&["--version"]), program);
    let text = bench.ok(&["selftest", "--install"]);
    assert!(text.starts_with(&version), "{text}");
    for tool in plan::checks::TOOLS {
        let is_missing = host::programs::find_by_path(&host::Roots::default(), tool.program).is_none();
        let told = text.contains(&format!("{} is not installed: {}", tool.program, tool.install));
        assert_eq!(told, is_missing, "{}\n{text}", tool.program);
    }
}

/// A worker has its own descriptor table: what it closes there must be closed for the program too.
#[test]
fn many_repeats_do_not_exhaust_the_descriptors() {
    let bench = Bench::new();
    let (disk, store) = (bench.disk(), bench.store());
    let program = env!("CARGO_BIN_EXE_lodestone");
    let mut args =
        vec!["--nofile=64:64", program, "run", disk.to_str().unwrap(), "--store", store.to_str().unwrap()];
    args.extend([
        "--rw",
        "randread",
        "--size",
        "4M",
        "--runtime",
        "none",
        "--ops",
        "64",
        "--ramp",
        "0s",
        "--rounds",
        "40",
        "--jobs",
        "4",
        "--quiet",
    ]);
    let Ok(output) = std::process::Command::new("prlimit").args(&args).output() else {
        return skipped("prlimit cannot be started");
    };
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("40 rounds"), "{}", stdout(&output));
}

/// The kernel counts the rings of a repeat against `ulimit -l` until some time after it has ended, and buffers beside
/// them: the next repeat could not start.
#[test]
fn many_repeats_fit_a_small_limit_of_locked_memory() {
    if !is_root() {
        return skipped("only root can switch to a user with a limit on locked memory");
    }
    let directory = tempfile::tempdir().unwrap();
    let program = program_for_everyone(directory.path());
    let disk = directory.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    std::os::unix::fs::chown(&disk, Some(65533), Some(65533)).unwrap();
    let mut command = std::process::Command::new("prlimit");
    command.arg("--memlock=196608:196608").args([
        "setpriv",
        "--reuid=65533",
        "--regid=65533",
        "--clear-groups",
    ]);
    command.arg(&program).arg("run").arg(&disk).arg("--store").arg(disk.join("store"));
    command.args(
        "--rw randread --iodepth 32 --jobs 16 --size 16M --runtime none --ops 640 --ramp 0s".split(' '),
    );
    let Ok(output) = command.args(["--rounds", "10", "--quiet", "--json"]).output() else {
        return skipped("prlimit cannot be started");
    };
    assert!(output.status.success(), "{}", stderr(&output));
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(json["repeats"].as_array().unwrap().len(), 10);
    let noted = |words: &str| {
        json["notes"].as_array().unwrap().iter().any(|note| note["message"].as_str().unwrap().contains(words))
    };
    if !noted("auto selects io_uring") {
        return skipped("io_uring does not work here");
    }
    let expected =
        "does not register the buffers of custom: they would take more than a quarter of the 192 KiB";
    assert!(noted(expected), "{}", json["notes"]);
}

#[test]
fn run_writes_a_report_to_the_store_and_report_to_a_path() {
    let bench = Bench::new();
    let disk = bench.disk();
    let args = [&["run", disk.to_str().unwrap()], &short(&["--rw", "randread"])[..]].concat();
    let text = bench.ok(&args);
    let path = text.lines().find_map(|line| line.strip_prefix("HTML report: ")).unwrap();
    let page = std::fs::read_to_string(path).unwrap();
    assert!(path.starts_with(bench.store().to_str().unwrap()) && page.contains("<figure"), "{path}");
    let json = bench.run(&[&args[..], &["--json"]].concat());
    assert!(stderr(&json).contains("HTML report: "));
    let _: Value = serde_json::from_str(&stdout(&json)).unwrap();
    let without = bench.ok(&[&args[..], &["--no-report"]].concat());
    assert!(!without.contains("HTML report"));
    let (one, two) = (bench.path("one.html"), bench.path("two.html"));
    bench.ok(&["report", "-o", one.to_str().unwrap()]);
    assert!(std::fs::read_to_string(one).unwrap().contains("How to repeat it"));
    bench.ok(&["report", "last", "last~1", "-o", two.to_str().unwrap()]);
    assert!(std::fs::read_to_string(two).unwrap().contains("2 runs compared"));
    assert!(bench.fails(2, &["report", "last", "last"]).contains("named twice"));
    assert!(bench.fails(2, &["report", "--baseline", "nobody"]).contains("nobody"));
    let svg = bench.ok(&["export", "--format", "svg", "--chart", "timeline"]);
    assert!(svg.starts_with("<svg ") && svg.contains("seconds from the start"));
    let file = bench.path("picture.png").display().to_string();
    bench.ok(&[
        "export", "-f", "png", "--chart", "timeline", "--width", "500", "--scale", "1", "--dark", "-o", &file,
    ]);
    let png = std::fs::read(&file).unwrap();
    assert_eq!((&png[..8], &png[16..20]), (&b"\x89PNG\r\n\x1a\n"[..], &500u32.to_be_bytes()[..]));
    for idle in
        [&["-f", "svg", "--scale", "2"][..], &["-f", "svg", "--dark"], &["-f", "md", "--width", "500"]]
    {
        assert!(bench.fails(2, &[&["export"], idle].concat()).contains("is for --format"), "{idle:?}");
    }
    let unknown = bench.fails(2, &["export", "--format", "svg", "--chart", "nothing"]);
    assert!(unknown.contains("bars") && unknown.contains("timeline"), "{unknown}");
    assert!(bench.fails(2, &["export", "--format", "svg", "--telemetry"]).contains("--chart machine"));
}
