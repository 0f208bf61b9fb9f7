//! When rounds end, and how repeats are summarised in one figure.

use crate::common::{Bench, skipped, stderr, stdout};
use analyse::{Aims, Estimator, Series, decide, measurements};
use model::{Operation, Repeat, Rounds, Run};
use serde_json::Value;

/// Rounds of a target in a run.
fn rounds(run: &Value, target: &str) -> usize {
    run["repeats"].as_array().unwrap().iter().filter(|r| r["target"] == target).count()
}

/// True if every target is decided after `rounds` rounds of a run with `--rounds auto`.
fn is_settled(run: &Run, series: &[Series], rounds: u32) -> bool {
    let plan = &run.started.plan;
    let Rounds::Auto { precision_ppm, .. } = plan.rounds else { panic!("{:?}", plan.rounds) };
    let aims = Aims { precision: f64::from(precision_ppm) / 1e6, margin: plan.margin() };
    let mut so_far = series.to_vec();
    for series in &mut so_far {
        series.values.retain(|(round, _)| *round < rounds);
        series.exposures.retain(|exposure| exposure.round < rounds);
    }
    decide(&so_far, &run.started.baseline, aims).settled.len() == run.started.targets.len()
}

/// Durable writes to a disk and to memory: the run ends with the first round that decides the comparison, and the
/// rest of the budget is not spent. The number of rounds depends on the load of the machine; the log shows which
/// round decided it.
#[test]
fn the_run_ends_with_the_round_that_decides_it() {
    let bench = Bench::new();
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else { return skipped("needs /dev/shm") };
    let disk = format!("disk={}", bench.disk().display());
    let memory = format!("memory={}", memory.path().display());
    let options =
        ["--rw", "randwrite", "--fsync", "1", "--size", "16M", "--runtime", "100ms", "--ramp", "0s"];
    let mut args = vec!["run", &disk, &memory, "--json", "--quiet", "--rounds", "auto", "--budget", "600s"];
    args.extend(options);
    let run: Value = serde_json::from_str(&bench.ok(&args)).unwrap();
    let comparison = run["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["metric"] == "bandwidth" && c["operation"] == "durable_write")
        .unwrap();
    assert_eq!(comparison["verdict"], "faster", "{comparison}");
    let (of_disk, of_memory) = (rounds(&run, "disk"), rounds(&run, "memory"));
    assert_eq!(of_disk, of_memory);
    let log = std::fs::read_dir(bench.store().join("runs")).unwrap().next().unwrap().unwrap().path();
    let log = record::read_log(&log).unwrap().run;
    let series = Series::of_run(&log, &measurements(&log, Estimator::Mean));
    let decided = (1..=of_disk as u32).find(|rounds| is_settled(&log, &series, *rounds));
    assert_eq!(decided, Some(of_disk as u32), "the deciding round must be the last one");
    assert!(of_disk >= 5, "{of_disk} rounds are too few for a decision");
}

/// The run of a log.
fn logged(bench: &Bench) -> Run {
    let log = std::fs::read_dir(bench.store().join("runs")).unwrap().next().unwrap().unwrap().path();
    record::read_log(&log).unwrap().run
}

/// Measured time of all repeats together.
fn measured_ns(repeats: &[&Repeat]) -> u64 {
    repeats.iter().map(|repeat| repeat.finished.as_ref().unwrap().window_ns).sum()
}

/// A precision that no run reaches, so that the budget ends it.
const ENDLESS: [&str; 6] = ["--rounds", "auto", "--precision", "0.01%", "--budget", "3s"];
const READS: [&str; 6] = ["--rw", "randread", "--size", "16M", "--ramp", "0s"];
const MS: u64 = 1_000_000;

#[test]
fn the_run_chooses_short_repeats_after_a_long_one() {
    let bench = Bench::new();
    bench.json(&[&READS[..], &ENDLESS[..], &["--runtime", "2s"]].concat());
    let run = logged(&bench);
    let all = run.all_repeats();
    if !all[0].started.direct {
        return skipped("needs direct I/O");
    }
    let lengths: Vec<u64> = all.iter().map(|r| r.started.time_ns.expect("each has a length")).collect();
    assert_eq!(lengths[0], 300 * MS, "the first takes a tenth of the budget");
    assert!(lengths.iter().all(|ns| (100 * MS..=300 * MS).contains(ns)), "{lengths:?}");
    // Only storage with less than a hundred operations per second needs longer ones.
    let operations: u64 = all[0].measured().values().map(|stats| stats.count).sum();
    let second = all.iter().find(|r| r.started.round == 1).and_then(|r| r.started.time_ns);
    assert!(operations < 150 || second.is_some_and(|ns| ns < 300 * MS), "{operations}: {lengths:?}");
    // On a busy machine a repeat may end with a wait for the processor.
    assert!(measured_ns(&all) * 10 >= lengths.iter().sum::<u64>() * 8);
}

fn two_directories(bench: &Bench) -> [String; 2] {
    ["one", "other"].map(|name| {
        let directory = bench.disk().join(name);
        std::fs::create_dir(&directory).unwrap();
        directory.into_os_string().into_string().unwrap()
    })
}

#[test]
fn after_the_first_round_the_targets_take_turns() {
    let bench = Bench::new();
    let [one, other] = two_directories(&bench);
    let targets = ["run", &one, &other, "--quiet", "--json"];
    bench.ok(&[&targets[..], &READS[..], &ENDLESS[..], &["--runtime", "2s"]].concat());
    let run = logged(&bench);
    if !run.all_repeats()[0].started.direct {
        return skipped("needs direct I/O");
    }
    let (mut first, mut second) = (run.all_repeats(), run.all_repeats());
    first.retain(|repeat| repeat.started.round == 0);
    // On a disturbed machine the round is measured twice.
    second.retain(|repeat| repeat.started.round == 1);
    second.sort_by_key(|repeat| repeat.started.repeat);
    second.truncate(2);
    assert!(first.iter().all(|repeat| repeat.started.turns == 0) && first.len() == 2);
    let in_turns = run.repeats.iter().filter(|repeat| repeat.started.turns > 0);
    let in_turns: std::collections::BTreeSet<u32> = in_turns.map(|repeat| repeat.started.round).collect();
    let counts = run.repeats.iter().any(|repeat| repeat.started.round == 0);
    assert_eq!(
        counts,
        in_turns.len() < 3,
        "once three rounds have taken turns, the first one is only a check: {in_turns:?}"
    );
    assert_eq!(second.iter().map(|repeat| repeat.started.turns).collect::<Vec<_>>(), [1, 1]);
    let whole = |repeat: &&Repeat| {
        let (started, finished) = (&repeat.started, repeat.finished.as_ref().unwrap());
        (started.at_ns, finished.at_ns, finished.window_ns, started.time_ns.unwrap())
    };
    let [(a_began, a_ended, a_window, planned), (b_began, b_ended, b_window, _)] =
        [0, 1].map(|i| whole(&second[i]));
    assert!(a_began < b_ended && b_began < a_ended, "both are under way at once");
    assert!(a_ended.min(b_ended) - a_began.max(b_began) >= planned, "and each waits for the other");
    // Neither has what the other needs in its own time.
    assert!(a_window.max(b_window) < a_ended.max(b_ended) - a_began.min(b_began));
    assert!(second.iter().all(|repeat| !repeat.measured().is_empty()));
}

#[test]
fn sequential_repeats_in_turns_are_whole_passes() {
    let bench = Bench::new();
    let [one, other] = two_directories(&bench);
    let targets = ["run", &one, &other, "--quiet", "--json"];
    let reads = ["--rw", "read", "--bs", "64k", "--iodepth", "4", "--size", "16M", "--runtime", "2s"];
    bench.ok(&[&targets[..], &reads[..], &ENDLESS[..]].concat());
    let run = logged(&bench);
    let all = run.all_repeats();
    if !all[0].started.direct {
        return skipped("needs direct I/O");
    }
    let passing: Vec<&&Repeat> = all.iter().filter(|repeat| repeat.started.passes.is_some()).collect();
    if passing.is_empty() {
        return skipped("needs storage that reads 16 MiB in the time of two long repeats");
    }
    assert!(passing.iter().all(|repeat| repeat.started.turns > 0));
    for repeat in passing {
        let (started, window_ns) = (&repeat.started, repeat.finished.as_ref().unwrap().window_ns);
        let (passes, time_ns) = (u64::from(started.passes.unwrap()), started.time_ns.unwrap());
        let bytes = repeat.measured()[&Operation::Read].bytes;
        assert!(bytes <= passes * started.size_bytes, "{bytes} in {passes}");
        // What fills and empties queues is moved, and not measured.
        let ran_out = window_ns >= 3 * time_ns;
        assert!(ran_out || bytes * 2 > passes * started.size_bytes, "{bytes} in {passes}");
    }
}

/// There are descriptors for the files of one target, but not for those of both.
#[test]
fn targets_that_cannot_be_open_at_once_follow_each_other() {
    let bench = Bench::new();
    let [one, other] = two_directories(&bench);
    let targets = ["run", &one, &other, "--quiet", "--json"];
    let jobs = ["--jobs", "100", "--engine", "libaio", "--runtime", "500ms"];
    let output = bench.limited("-n 175", &[&targets[..], &READS[..], &ENDLESS[..], &jobs].concat());
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    let run = logged(&bench);
    if !run.all_repeats()[0].started.direct {
        return skipped("needs direct I/O");
    }
    let later: Vec<&Repeat> = run.all_repeats().into_iter().filter(|r| r.started.round > 0).collect();
    assert!(later.len() >= 2 && later.iter().all(|r| r.started.turns == 0 && r.is_complete()));
}

#[test]
fn an_exact_runtime_is_the_length_of_every_repeat() {
    let bench = Bench::new();
    bench.json(&[&READS[..], &ENDLESS[..], &["--runtime", "=300ms"]].concat());
    let run = logged(&bench);
    assert!(run.repeats.len() >= 2);
    let all = run.all_repeats();
    assert!(all.iter().all(|repeat| repeat.started.time_ns.is_none()));
    assert!(measured_ns(&all) * 10 >= all.len() as u64 * 300 * MS * 8);
}

#[test]
fn the_summary_rule_can_be_chosen_and_is_shown() {
    let bench = Bench::new();
    let options = ["--rw", "randread", "--size", "16M", "--runtime", "none", "--ops", "64", "--ramp", "0s"];
    let plain = bench.json(&[&options[..], &["--rounds", "7"]].concat());
    let id = plain["run"]["id"].as_str().unwrap();
    for (rule, words) in
        [("mean", "all work ÷ all time"), ("median", "median"), ("trimmed", "without the best and the worst")]
    {
        let run: Value = serde_json::from_str(&bench.ok(&["export", id, "--summary", rule])).unwrap();
        let all = run["measurements"].as_array().unwrap();
        let iops = all.iter().find(|m| m["metric"] == "iops").unwrap();
        assert!(iops["method"].as_str().unwrap().contains(words), "{iops}");
        let mut values: Vec<f64> =
            iops["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        assert_eq!(values.len(), 7);
        values.sort_by(f64::total_cmp);
        let expected = match rule {
            // Each repeat did as much work.
            "mean" => 7.0 / values.iter().map(|rate| 1.0 / rate).sum::<f64>(),
            "median" => values[3],
            _ => values[1..6].iter().sum::<f64>() / 5.0,
        };
        let estimate = iops["estimate"].as_f64().unwrap();
        assert!((estimate / expected - 1.0).abs() < 1e-9, "{rule}: {estimate} for {expected}");
        assert!(bench.ok(&["show", id, "--summary", rule, "--details"]).contains(words));
    }
}

#[test]
fn invalid_shares_are_refused() {
    let bench = Bench::new();
    let disk = bench.disk();
    for (flag, value) in [("--precision", "0"), ("--precision", "much"), ("--margin", "101%")] {
        let said = bench.fails(2, &["run", disk.to_str().unwrap(), flag, value]);
        assert!(said.contains(flag) && said.contains(value) && said.contains("such as 2%"), "{said}");
    }
}

/// Eight operations in each repeat of four steps, of which the first runs only once.
const FOUR_STEPS: &str = r#"
[defaults]
size = "1M"
runtime = "none"
ops = 8
ramp = "0s"

[[step]]
id = "fill"
rw = "write"
once = true

[[step]]
id = "read"
rw = "read"

[[step]]
id = "any"
rw = "randread"

[[step]]
id = "write"
rw = "randwrite"
"#;

/// The repeats of five rounds on three directories, a line for each round, and the seed of the last; `head` is the first
/// line of the suite.
fn order(head: &str) -> (Vec<String>, u64) {
    let bench = Bench::new();
    let suite = bench.path("suite.toml");
    std::fs::write(&suite, format!("{head}{FOUR_STEPS}")).unwrap();
    let targets = ["a", "b", "c"].map(|name| {
        std::fs::create_dir(bench.path(name)).unwrap();
        bench.path(name).display().to_string()
    });
    let options =
        ["--suite", suite.to_str().unwrap(), "--seed", "7", "--rounds", "5", "--quiet", "--no-report"];
    bench.ok(&[&["run"], &targets.each_ref().map(String::as_str)[..], &options].concat());
    let run = logged(&bench);
    let mut lines = vec![String::new(); 5];
    for repeat in &run.repeats {
        let started = &repeat.started;
        lines[started.round as usize] += &format!("{}:{} ", started.step, started.target);
    }
    (lines, run.repeats.last().unwrap().started.seed)
}

#[test]
fn a_seed_gives_the_same_repeats_in_every_version() {
    let (lines, seed) = order("");
    let expected = [
        "fill:c fill:b fill:a read:c read:b read:a write:b write:c write:a any:c any:b any:a ",
        "write:c write:a write:b any:b any:a any:c read:c read:a read:b ",
        "any:a any:c any:b read:b read:c read:a write:c write:b write:a ",
        "write:b write:a write:c any:a any:b any:c read:b read:a read:c ",
        "write:a write:c write:b read:a read:b read:c any:c any:a any:b ",
    ];
    assert_eq!(lines, expected);
    assert_eq!(seed, 8_010_332_385_900_197);
    let (lines, _) = order("in_order = true");
    assert_eq!(
        lines[0],
        "fill:a fill:b fill:c read:a read:b read:c any:a any:b any:c write:a write:b write:c "
    );
    assert!(lines[1..].iter().all(|line| *line == lines[0].replace("fill:a fill:b fill:c ", "")));
}
