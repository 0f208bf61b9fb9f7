//! When rounds end, and how repeats are put into one figure.

mod common;

use common::{Bench, skipped};
use serde_json::Value;

/// Rounds of a target in a run.
fn rounds(run: &Value, target: &str) -> usize {
    run["repeats"].as_array().unwrap().iter().filter(|r| r["target"] == target).count()
}

/// Durable writes to a disk and to memory: after a few rounds there is no doubt, and the rest of the minute is not spent.
#[test]
fn a_decided_comparison_ends_the_run_long_before_its_budget() {
    let bench = Bench::new();
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else { return skipped("needs /dev/shm") };
    let disk = format!("disk={}", bench.disk().display());
    let memory = format!("memory={}", memory.path().display());
    let options =
        ["--rw", "randwrite", "--fsync", "1", "--size", "16M", "--runtime", "100ms", "--ramp", "0s"];
    let mut args = vec!["run", &disk, &memory, "--json", "--quiet", "--rounds", "auto", "--budget", "60s"];
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
    assert!((5..=40).contains(&of_disk), "{of_disk} rounds, where the budget allows some hundred");
}

#[test]
fn the_rule_for_repeats_can_be_chosen_and_stands_beside_the_figures() {
    let bench = Bench::new();
    let options = ["--rw", "randread", "--size", "16M", "--runtime", "50ms", "--ramp", "0s", "--rounds", "7"];
    let plain = bench.json(&options);
    let id = plain["run"]["id"].as_str().unwrap();
    for (rule, words) in
        [("mean", "mean over repeats"), ("median", "median"), ("trimmed", "without the best and the worst")]
    {
        let run: Value = serde_json::from_str(&bench.ok(&["export", id, "--summary", rule])).unwrap();
        let all = run["measurements"].as_array().unwrap();
        let iops = all.iter().find(|m| m["metric"] == "iops").unwrap();
        assert!(iops["method"].as_str().unwrap().contains(words), "{iops}");
        let mut values: Vec<f64> =
            iops["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        values.sort_by(f64::total_cmp);
        let expected = match rule {
            "mean" => values.iter().sum::<f64>() / 7.0,
            "median" => values[3],
            _ => values[1..6].iter().sum::<f64>() / 5.0,
        };
        let estimate = iops["estimate"].as_f64().unwrap();
        assert!((estimate / expected - 1.0).abs() < 1e-9, "{rule}: {estimate} for {expected}");
        assert!(bench.ok(&["show", id, "--summary", rule]).contains(words));
    }
}

#[test]
fn shares_that_are_none_are_refused() {
    let bench = Bench::new();
    let disk = bench.disk();
    for (flag, value) in [("--precision", "0"), ("--precision", "much"), ("--margin", "101%")] {
        let said = bench.fails(2, &["run", disk.to_str().unwrap(), flag, value]);
        assert!(said.contains(flag) && said.contains(value) && said.contains("such as 2%"), "{said}");
    }
}
