//! `run --require`: the verdict, the exit code, the exports.

use crate::common::*;
use serde_json::Value;

const STEP: &str = "[[step]]\nid = \"reads\"\nrw = \"randread\"\nbs = \"4KiB\"\nsize = \"4MiB\"\nruntime = \"=50ms\"\n\
                    ramp = \"0s\"\n";

/// A limit that any storage reaches, or none does.
fn rate(limit: &str) -> String {
    requirement("iops", &format!("at_least = \"{limit}\""))
}

fn requirement(metric: &str, limit: &str) -> String {
    format!(
        "[[require]]\nstep = \"reads\"\noperation = \"read\"\nmetric = \"{metric}\"\n{limit}\nsource = \"The test, 2026\"\n"
    )
}

/// What a run with these requirements prints, and its exit code.
fn required(bench: &Bench, requirements: &str, more: &[&str]) -> (Option<i32>, String, String) {
    let suite = bench.path("own.toml");
    std::fs::write(&suite, format!("{STEP}{requirements}")).unwrap();
    let (disk, suite) = (bench.disk().display().to_string(), suite.display().to_string());
    let run = ["run", disk.as_str(), "--require", suite.as_str(), "--rounds", "6", "--quiet", "--no-report"];
    let output = bench.run(&[&run[..], more].concat());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_verdict_begins_the_answer_and_is_the_exit_code() {
    let bench = Bench::new();
    let (code, answer, _) = required(&bench, &rate("0.001"), &[]);
    assert!(answer.starts_with("own: met; the rate of reads is "), "{answer}");
    assert_eq!(code, Some(0));
    let (code, answer, error) = required(&bench, &rate("1000000000"), &[]);
    assert!(answer.starts_with("own: missed; the rate of reads is "), "{answer}");
    assert_eq!((code, error.contains("missed: own on ")), (Some(1), true), "{error}");
    let junit = bench.ok(&["export", "last", "--format", "junit"]);
    assert!(junit.contains("tests=\"1\" failures=\"1\" skipped=\"0\""), "{junit}");
}

#[test]
fn that_nothing_read_back_differs_is_a_requirement() {
    let bench = Bench::new();
    let clean = requirement("mismatches", "at_most = 0");
    let (code, answer, _) = required(&bench, &clean, &[]);
    assert_eq!(code, Some(2), "the step checks nothing: {answer}");
    let suite = bench.path("checked.toml");
    std::fs::write(&suite, format!("{STEP}verify = true\n{clean}")).unwrap();
    let (disk, suite) = (bench.disk().display().to_string(), suite.display().to_string());
    let answer = bench.ok(&["run", &disk, "--require", &suite, "--rounds", "3", "--quiet", "--no-report"]);
    assert!(
        answer.starts_with("checked: met; the number of mismatches in reads is 0, none is allowed."),
        "{answer}"
    );
}

#[test]
fn what_is_undecided_fails_only_if_that_is_asked_for() {
    let bench = Bench::new();
    // A percentile rests on 29 rounds.
    let tail = requirement("lat_p99", "at_most = \"1000s\"");
    let (code, json, _) = required(&bench, &tail, &["--json"]);
    let run: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(run["requirements"][0]["verdict"], "undecided", "{}", run["requirements"]);
    assert!(run["requirements"][0]["more_rounds"].as_u64().unwrap() >= 23, "{}", run["requirements"]);
    assert_eq!(code, Some(0));
    let (code, answer, error) = required(&bench, &tail, &["--strict"]);
    assert!(answer.starts_with("own: undecided; the p99 of reads is "), "{answer}");
    assert_eq!((code, error.contains("undecided: own on ")), (Some(1), true), "{error}");
}

#[test]
fn profiles_are_listed_and_what_requires_nothing_is_refused() {
    let bench = Bench::new();
    let listed = bench.ok(&["profiles"]);
    let suites = bench.ok(&["suites"]);
    for suite in plan::BUILTIN_SUITES {
        let is_listed = |text: &str| text.lines().any(|line| line.split(' ').next() == Some(suite.name));
        let is_profile = plan::Suite::parse(suite.name, suite.toml).0.is_profile();
        assert_eq!((is_listed(&listed), is_listed(&suites)), (is_profile, !is_profile), "{}", suite.name);
        if is_profile {
            assert_eq!(bench.ok(&["profiles", "show", suite.name]), suite.toml);
        }
    }
    let refused = |name: &str| {
        let output = bench.run(&["run", ".", "--require", name]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(
        refused("quick").contains("there is no profile `quick`; the profiles are etcd, "),
        "{}",
        refused("quick")
    );
    let suite = bench.path("plain.toml");
    std::fs::write(&suite, STEP).unwrap();
    let plain = refused(&suite.display().to_string());
    assert!(plain.contains("it requires nothing, because it has no [[require]]"), "{plain}");
    let error = bench.run(&["export", "last", "--format", "junit"]);
    assert_ne!(error.status.code(), Some(0));
}

#[test]
fn a_run_measures_again_what_an_earlier_one_measured_and_is_judged_by_it() {
    let bench = Bench::new();
    let suite = bench.path("own.toml");
    std::fs::write(&suite, STEP).unwrap();
    let (disk, suite) = (format!("disk={}", bench.disk().display()), suite.display().to_string());
    let of = ["run", disk.as_str(), "--suite", suite.as_str(), "--rounds", "3", "--quiet", "--no-report"];
    bench.ok(&of);
    std::fs::remove_file(&suite).unwrap();
    // Nothing but the run is needed: the steps and the target are its own.
    let again = ["run", "--against", "last", "--margin", "99%", "--quiet", "--no-report", "--json"];
    let run: Value = serde_json::from_str(&bench.ok(&again)).unwrap();
    let required = &run["requirements"];
    assert_eq!(required.as_array().unwrap().len(), 1, "{required}");
    let facts = ["target", "step", "bound", "limit"].map(|key| required[0][key].to_string());
    assert_eq!(facts, ["\"disk\"", "\"reads\"", "\"at_least\"", "0.01"]);
    let id = run["requirements"][0]["relative_to"].as_str().unwrap().to_owned();
    assert!(id.ends_with(":disk"), "{id}");
    let refused = |more: &[&str]| {
        let output = bench.run(&[&["run", "--against", "last"], more].concat());
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused(&["--bs", "8k"]).contains("bs would change the steps of the earlier run"));
    assert!(refused(&["--only", "writes"]).contains("there is no step `writes`"));
    assert!(refused(&["--suite", "ioping"]).contains("none of its steps is among those to be measured"));
    assert!(bench.run(&["run", "--against", "nothing"]).status.code() == Some(2));
}

#[test]
fn the_highest_load_is_sought_among_those_of_a_suite() {
    let bench = Bench::new();
    let suite = bench.path("own.toml");
    let step = STEP.replace("id = ", "seek = \"reads\"\nsweep.rate_iops = [200, 1000000000]\nid = ");
    std::fs::write(&suite, format!("{step}{}", requirement("lat_p99", "at_most = \"1000s\""))).unwrap();
    let (disk, suite) = (format!("disk={}", bench.disk().display()), suite.display().to_string());
    let run = ["run", disk.as_str(), "--suite", suite.as_str(), "--budget", "20s", "--quiet", "--no-report"];
    let json = bench.ok(&[&run[..], &["--json"]].concat());
    let run: Value = serde_json::from_str(&json).unwrap();
    let found = &run["headrooms"][0];
    assert_eq!((&found["unit"], &found["target"]), (&"reads".into(), &"disk".into()), "{found}");
    assert_eq!((&found["too_much"], &found["highest"]), (&1e9.into(), &1e9.into()), "{found}");
    assert_eq!(run["requirements"].as_array().unwrap().len(), 0, "no verdict of the storage: {run}");
    assert!(bench.ok(&["show", "last"]).starts_with("disk carries "));
}
