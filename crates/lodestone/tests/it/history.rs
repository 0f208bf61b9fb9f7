//! `history`: figures from run to run.

use crate::common::*;
use serde_json::Value;

const SUITE: &str = "[[step]]\nid = \"reads\"\nrw = \"randread\"\nbs = \"4KiB\"\nsize = \"4MiB\"\nruntime = \"=20ms\"\n\
                     ramp = \"0s\"\n";

fn measure(bench: &Bench, label: &str) {
    let suite = bench.path("own.toml");
    std::fs::write(&suite, SUITE).unwrap();
    let (disk, suite) = (bench.disk().display().to_string(), suite.display().to_string());
    bench.ok(&["run", &disk, "--suite", &suite, "--rounds", "2", "--quiet", "--no-report", "--label", label]);
}

#[test]
fn a_history_follows_what_the_runs_have_in_common_and_needs_no_file_of_its_own() {
    let bench = Bench::new();
    let refused = |arguments: &[&str], part: &str| {
        let output = bench.run(&[&["history"], arguments].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error.contains(part)), (Some(2), true), "{arguments:?}: {error}");
    };
    refused(&[], "no run is stored");
    measure(&bench, "disk=old");
    refused(&[], "only one run is stored");
    for _ in 0..8 {
        measure(&bench, "disk=old");
    }
    measure(&bench, "disk=new");
    let told = bench.ok(&["history"]);
    assert!(told.contains("10 runs, "), "{told}");
    let json = || -> Value { serde_json::from_str(&bench.ok(&["history", "--json"])).unwrap() };
    let first = json();
    assert_eq!(first["schema"], "lodestone.history.v1");
    assert_eq!(first["histories"].as_array().unwrap().len(), 1);
    assert_eq!(first["histories"][0]["points"].as_array().unwrap().len(), 10);
    for (format, beginning) in
        [("json", "{\n"), ("influx", "lodestone_now,host="), ("prometheus", "# HELP lodestone_now_")]
    {
        let text = bench.ok(&["history", "--format", format]);
        assert!(text.starts_with(beginning), "{text}");
    }
    let figures = bench.store().join("figures");
    std::fs::remove_file(&figures).unwrap();
    assert_eq!(json(), first);
    std::fs::write(&figures, "lodestone figures 1\nnothing").unwrap();
    assert_eq!(json(), first);
    let old = bench.ok(&["history", "--label", "disk=old", "--metric", "lat_p99", "--step", "reads"]);
    assert!(old.contains("9 runs, ") && old.contains("P99 of random read"), "{old}");
    refused(&["--label", "disk=new"], "only one of the 10 stored runs matches");
    refused(&["--label", "disk"], "write KEY=VALUE");
    refused(&["--metric", "speed"], "what can be followed is bandwidth");
    refused(&["--since", "soon"], "neither a date");
}
