//! Paths that are not UTF-8.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common::{Bench, stderr, stdout, text_of};

/// A directory whose name is the bytes FF FE.
fn odd(bench: &Bench) -> PathBuf {
    let odd = bench.disk().join(OsStr::from_bytes(b"\xff\xfe"));
    std::fs::create_dir(&odd).unwrap();
    odd
}

/// Runs the program with arguments that need not be UTF-8, with its store and all other files in `odd`.
fn run(bench: &Bench, odd: &Path, args: &[&OsStr]) -> Output {
    let mut command = std::process::Command::new(bench.command(&[]).get_program());
    command.args(args).arg("--store").arg(odd.join("store")).current_dir(odd).env("TMPDIR", odd);
    command.output().unwrap()
}

#[track_caller]
fn ok(bench: &Bench, odd: &Path, args: &[&OsStr]) -> String {
    let output = run(bench, odd, args);
    assert_eq!(output.status.code(), Some(0), "{args:?}\n{}{}", stdout(&output), stderr(&output));
    stdout(&output)
}

fn words(text: &str) -> impl Iterator<Item = &OsStr> {
    text.split_whitespace().map(OsStr::new)
}

const SHORT: &str = "--quiet --no-report --telemetry off --rw randread --size 4M --runtime none --ops 64 --ramp 0s --rounds 1 --json";

/// Any non-UTF-8 argument caused a panic, and such a target or current directory caused a wrong message.
#[test]
fn a_non_utf8_directory_can_be_target_store_and_output() {
    let bench = Bench::new();
    let odd = odd(&bench);
    let named = OsString::from_vec([b"x=", odd.as_os_str().as_bytes()].concat());
    let run_args: Vec<&OsStr> =
        [OsStr::new("run"), odd.as_os_str(), &named].into_iter().chain(words(SHORT)).collect();
    let json: serde_json::Value = serde_json::from_str(&ok(&bench, &odd, &run_args)).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let targets = json["targets"].as_array().unwrap();
    assert_eq!([&targets[0]["name"], &targets[1]["name"]].map(text), ["%FF%FE", "x"]);
    let path = model::path_from_text(&text(&targets[0]["path"]));
    assert_eq!(PathBuf::from(path), odd.canonicalize().unwrap(), "JSON preserves every byte");

    let log = std::fs::read_dir(odd.join("store/runs")).unwrap().next().unwrap().unwrap().path();
    let line = text_of(&log);
    let started: serde_json::Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    let command: Vec<OsString> =
        started["command"].as_array().unwrap().iter().map(|arg| model::path_from_text(&text(arg))).collect();
    assert!(command.contains(&odd.clone().into_os_string()) && command.contains(&named), "{command:?}");

    for command in ["show", "export"] {
        ok(&bench, &odd, &[OsStr::new(command), log.as_os_str()]);
    }
    let page = odd.join("page.html");
    ok(&bench, &odd, &[OsStr::new("report"), OsStr::new("last"), OsStr::new("-o"), page.as_os_str()]);
    assert!(page.is_file());
    assert!(ok(&bench, &odd, &[OsStr::new("list")]).contains("%FF%FE"));
    ok(&bench, &odd, &[OsStr::new("clean"), odd.as_os_str()]);
    ok(&bench, &odd, &[OsStr::new("targets"), odd.as_os_str()]);
}

#[test]
fn current_directory_suite_and_imports_may_be_non_utf8() {
    let bench = Bench::new();
    let odd = odd(&bench);
    let suite = odd.join(OsStr::from_bytes(b"\xff.toml"));
    std::fs::write(
        &suite,
        "[[step]]\nid = \"reads\"\nrw = \"randread\"\nsize = \"4M\"\nruntime = \"none\"\nramp = \"0s\"\nops = 64\n",
    )
    .unwrap();
    let options = "--quiet --no-report --telemetry off --rounds 1";
    let args: Vec<&OsStr> =
        [OsStr::new("run"), OsStr::new("-s"), suite.as_os_str()].into_iter().chain(words(options)).collect();
    assert!(ok(&bench, &odd, &args).contains("%FF%FE"), "without TARGET, the current directory is measured");

    let dd = odd.join(OsStr::from_bytes(b"dd\xfe.txt"));
    let printed =
        "1+0 records in\n1+0 records out\n1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s\n";
    std::fs::write(&dd, printed).unwrap();
    assert!(ok(&bench, &odd, &[OsStr::new("import"), dd.as_os_str()]).contains("dd%FE.txt"));
}

#[test]
fn unusable_or_missing_non_utf8_paths_are_refused() {
    let bench = Bench::new();
    let odd = odd(&bench);
    let refused = |args: &[&OsStr]| {
        let output = run(&bench, &odd, args);
        assert_eq!(output.status.code(), Some(2), "{args:?}\n{}", stderr(&output));
        stderr(&output)
    };
    let via = ["run", "--via", "fio", "--rw", "randread"].map(OsStr::new);
    assert!(refused(&via).contains("its path is not UTF-8"));
    let missing = odd.join("missing");
    assert!(refused(&[OsStr::new("run"), missing.as_os_str()]).contains("cannot find"));
    refused(&[OsStr::new("show"), OsStr::from_bytes(b"\xff")]);
    refused(&[OsStr::from_bytes(b"\xff")]);
}
