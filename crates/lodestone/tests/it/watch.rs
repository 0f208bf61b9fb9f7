//! `watch`: the same run again and again.

use crate::common::*;

const SUITE: &str = "[[step]]\nid = \"reads\"\nrw = \"randread\"\nbs = \"4KiB\"\nsize = \"4MiB\"\nruntime = \"=20ms\"\n\
                     ramp = \"0s\"\n";

fn watch(bench: &Bench, arguments: &[&str]) -> (Option<i32>, String, String) {
    let suite = bench.path("own.toml");
    std::fs::write(&suite, SUITE).unwrap();
    let (disk, suite) = (bench.disk().display().to_string(), suite.display().to_string());
    let fixed = ["watch", disk.as_str(), "--suite", suite.as_str(), "--rounds=2", "--even-if-busy"];
    let output = bench.run(&[&fixed[..], arguments].concat());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn runs_come_again_and_again_and_are_stored() {
    let bench = Bench::new();
    let (code, told, error) = watch(&bench, &["--every", "1s", "--spread=0s", "--runs", "2"]);
    assert_eq!(code, Some(0), "{told}{error}");
    assert_eq!(told.matches("run ").count(), 2, "{told}");
    assert_eq!(error.matches("the next run is at").count(), 2, "{error}");
    assert_eq!(bench.ok(&["list", "--json"]).matches("\"completed\"").count(), 2);
    // The test data of 4 MiB of the two runs before are more than is allowed.
    let (code, told, _) = watch(&bench, &["--every=1s", "--runs=1", "--write-limit=8MiB", "--quiet"]);
    assert!(told.contains("left out: ") && told.contains("--write-limit 8MiB allows"), "{told}");
    assert_eq!(code, Some(0));
    assert!(bench.ok(&["history"]).contains("1 run that was due was left out"));
    assert_eq!(bench.ok(&["list", "--json"]).matches("\"completed\"").count(), 2);
}

#[test]
fn a_watch_sees_its_own_runs_in_a_store_that_was_not_there_when_it_began() {
    let bench = Bench::new();
    assert!(!bench.store().exists());
    // The third would be more than is allowed.
    let limited = ["--every=1s", "--spread=0s", "--runs=3", "--write-limit=8MiB", "--quiet"];
    let (code, told, error) = watch(&bench, &limited);
    assert_eq!((code, told.matches("--write-limit 8MiB allows").count()), (Some(0), 1), "{told}{error}");
}

#[test]
fn what_is_wrong_is_told_at_once() {
    let bench = Bench::new();
    let refused = |arguments: &[&str], part: &str| {
        let (code, _, error) = watch(&bench, arguments);
        assert_eq!((code, error.contains(part)), (Some(2), true), "{arguments:?}: {error}");
    };
    refused(&[], "--every <TIME>");
    refused(&["--every", "soon"], "--every soon");
    refused(&["--every", "1ms"], "at least 1s");
    refused(&["--at", "8 o'clock"], "write times of the day");
    refused(&["--at", "08:00", "--every", "1h"], "cannot be used with");
    refused(&["--every", "1h", "--write-limit", "much"], "--write-limit much");
    refused(&["--every", "1h", "--only", "nothing"], "nothing");
    refused(&["--every", "1h", "--dry-run"], "belongs to run");
}
