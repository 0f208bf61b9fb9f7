//! `--anonymous` on a run of this machine: exports and pages contain no name of the machine, the user or the
//! directories.

use std::path::Path;

use crate::common::*;
use serde_json::Value;

/// Names that must not leave the machine: those of the host and all directories of the target, and the servers,
/// volumes, serial numbers and paths in the log.
fn secrets(bench: &Bench, log: &Value) -> Vec<String> {
    let target = &log["targets"][0];
    let mut secrets: Vec<String> =
        vec![target["path"].as_str().unwrap().to_owned(), bench.store().display().to_string()];
    // A directory such as /tmp identifies nobody, and a word such as `target` is in every page.
    secrets.extend(["disk-of-erika", "mustermann"].map(str::to_owned));
    secrets.extend(bench.path("").iter().next_back().map(|part| part.to_string_lossy().into_owned()));
    secrets.push(log["host"]["id"].as_str().unwrap().to_owned());
    let name = log["host"]["name"].as_str().unwrap();
    let id = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    secrets.extend([name, id.trim()].map(str::to_owned));
    let hidden = ["serial", "server", "backing file", "volume group", "logical volume", "mapping", "pool"];
    for layer in target["stack"].as_array().unwrap() {
        secrets.extend(hidden.iter().filter_map(|fact| layer["facts"][*fact].as_str()).map(str::to_owned));
    }
    // A word that every page contains, such as the host name `linux`, proves nothing.
    secrets.retain(|secret| secret.len() > 5);
    secrets
}

/// The exported bytes contained the name of the host, the user's directories and the command line.
#[test]
fn anonymous_exports_and_pages_contain_no_secret() {
    let bench = Bench::new();
    let disk = bench.path("mustermann/disk-of-erika");
    std::fs::create_dir_all(&disk).unwrap();
    let small =
        ["--quiet", "--rounds", "1", "--size", "1M", "--io-size", "256K", "--ramp", "0s", "--rw", "randread"];
    bench.ok(&[&["run", disk.to_str().unwrap()], &small[..]].concat());
    let log = std::fs::read_dir(bench.store().join("runs")).unwrap().next().unwrap().unwrap().path();
    let log = text_of(&log);
    let first: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    let secrets = secrets(&bench, &first);

    let search = |bytes: &[u8]| -> Vec<&String> {
        let text = String::from_utf8_lossy(bytes);
        secrets.iter().filter(|secret| text.contains(secret.as_str())).collect()
    };
    for format in ["json", "csv", "md", "svg", "png", "influx", "prometheus"] {
        let output = bench.run(&["export", "--format", format, "--anonymous"]);
        assert!(output.status.success() && !output.stdout.is_empty(), "{format}: {}", stderr(&output));
        assert_eq!(search(&output.stdout), Vec::<&String>::new(), "{format}");
        let said = stderr(&output);
        for kind in ["1 host", "1 target", "1 command line"] {
            assert!(said.contains(kind), "{said}");
        }
        assert_eq!(search(said.as_bytes()), Vec::<&String>::new(), "standard error");
    }
    for format in ["json", "csv", "md"] {
        let output = bench.run(&["export", "--telemetry", "--format", format, "--anonymous"]);
        assert!(output.status.success() && !output.stdout.is_empty(), "{format}: {}", stderr(&output));
        assert_eq!(search(&output.stdout), Vec::<&String>::new(), "{format}");
    }
    let page = bench.path("page.html");
    bench.ok(&["report", "--anonymous", "-o", page.to_str().unwrap()]);
    let page = std::fs::read(page).unwrap();
    assert_eq!(search(&page), Vec::<&String>::new(), "the page");
    // Without the flag the secrets are found: the search works.
    assert!(search(bench.ok(&["export"]).as_bytes()).len() > 2);

    let host = |text: &str| text.lines().nth(1).unwrap().split(',').nth(1).unwrap().to_owned();
    let csv = || bench.ok(&["export", "--format", "csv", "--anonymous"]);
    assert!(host(&csv()).starts_with("host-"), "{}", csv());
    assert_eq!(host(&csv()), host(&csv()), "the pseudonym is constant");
}

/// `--baseline` takes the real name of a target, and the export shows its pseudonym.
#[test]
fn a_named_baseline_stays_the_baseline() {
    let bench = Bench::new();
    let (one, two) = (bench.path("erika"), bench.path("mustermann"));
    for directory in [&one, &two] {
        std::fs::create_dir(directory).unwrap();
    }
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let small =
        ["--quiet", "--rounds", "3", "--size", "1M", "--io-size", "256K", "--ramp", "0s", "--rw", "randread"];
    bench.ok(&[&["run", &path(&one), &path(&two)], &small[..]].concat());
    let json = bench.ok(&["export", "--anonymous", "--baseline", "mustermann"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let text = json.to_string();
    assert!(!text.contains("erika") && !text.contains("mustermann"), "{text}");
    let second = json["targets"][1]["name"].as_str().unwrap().to_owned();
    let against: Vec<&str> =
        json["comparisons"].as_array().unwrap().iter().filter_map(|c| c["baseline"].as_str()).collect();
    assert!(!against.is_empty() && against.iter().all(|name| *name == second), "{against:?} {second}");
    bench.ok(&["report", "--anonymous", "--baseline", "mustermann"]);
}
