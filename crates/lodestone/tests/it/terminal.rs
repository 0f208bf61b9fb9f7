//! Names chosen by others, with control, bidirectional and invisible characters, wherever the program shows a name:
//! none of these characters reaches the terminal.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::*;

/// A window title sequence, colours, their C1 form, a carriage return, right-to-left text, an invisible tag.
const HOSTILE: &str =
    "n\u{1b}]0;owned\u{7}\u{1b}[8m\u{9b}31m\r\u{7f}\u{202e}gpj\u{2066}\u{200b}\u{feff}\u{2028}\u{e0041}e";
/// The escaped form of `HOSTILE`.
const SHOWN: &str =
    r"n\x1b]0;owned\x07\x1b[8m\u{9b}31m\x0d\x7f\u{202e}gpj\u{2066}\u{200b}\u{feff}\u{2028}\u{e0041}e";

/// A part of `SHOWN` that is never split between lines.
const OWNED: &str = r"\x1b]0;owned";

/// The first line with a character that must not reach a terminal; newlines and tabs are layout.
fn misleading(text: &str) -> Option<String> {
    let hostile = |c: char| (c.is_control() && !"\n\t".contains(c)) || HOSTILE.contains(c) && !c.is_ascii();
    text.lines().find(|line| line.contains(hostile)).map(|line| line.escape_unicode().to_string())
}

#[track_caller]
fn harmless(output: &Output, what: &str) -> String {
    let both = stdout(output) + &stderr(output);
    assert_eq!(misleading(&both), None, "{what}: {both}");
    both
}

/// A log whose run, host, target, step and title have hostile names.
fn hostile_log(bench: &Bench) -> PathBuf {
    let json = serde_json::to_string(HOSTILE).unwrap();
    let name = json.trim_matches('"');
    let mut log = include_str!("../../../../fixtures/runs/events.jsonl").to_owned();
    for (field, value) in
        [("id", "fixture1"), ("name", "bench"), ("name", "one"), ("target", "one"), ("baseline", "one")]
    {
        log = log.replace(&format!("\"{field}\":\"{value}\""), &format!("\"{field}\":\"{value}{name}\""));
    }
    for field in ["title", "suite", "command"] {
        log = log.replace(&format!("\"{field}\":\""), &format!("\"{field}\":\"{name}"));
    }
    let path = bench.path("hostile.jsonl");
    let events = log.lines().map(|event| serde_json::from_str(event).unwrap());
    record::LogWriter::create(&path).unwrap().append_all(&events.collect::<Vec<_>>()).unwrap();
    path
}

/// Runs the program on a pseudo-terminal made by `script` of util-linux. `None`, with a message, without it.
fn on_a_terminal(bench: &Bench, args: &[&str]) -> Option<String> {
    let quoted: Vec<String> = args.iter().map(|arg| format!("'{}'", arg.replace('\'', r"'\''"))).collect();
    let program = env!("CARGO_BIN_EXE_lodestone");
    let line = format!("'{program}' {} --store '{}'", quoted.join(" "), bench.store().display());
    let mut command = Command::new("script");
    command.args(["-q", "-c", &line, "/dev/null"]).env("SHELL", "/bin/sh").env("TERM", "xterm");
    match command.current_dir(bench.path("")).stdin(std::process::Stdio::null()).output() {
        // The terminal turns every newline into CR LF.
        Ok(output) => Some(String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n")),
        Err(error) => {
            skipped(&format!("script cannot be started: {error}"));
            None
        }
    }
}

/// Text without the sequences that set colours.
fn without_colours(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let colour = part.strip_prefix('[').and_then(|rest| rest.split_once('m'));
        match colour.filter(|(numbers, _)| numbers.chars().all(|c| c.is_ascii_digit() || c == ';')) {
            Some((_, rest)) => plain.push_str(rest),
            None => plain.push_str(&format!("\u{1b}{part}")),
        }
    }
    plain
}

/// `clean` printed host and run names unescaped from a manifest, which any user can write.
#[test]
fn escape_sequences_in_a_manifest_are_escaped() {
    let bench = Bench::new();
    let left = bench.disk().join(".lodestone-1");
    std::fs::create_dir(&left).unwrap();
    let manifest = serde_json::json!({
        "run": HOSTILE, "host": "another", "host_name": HOSTILE, "boot": "", "pid_namespace": "", "pid": 1,
        "process_start": 1,
    });
    std::fs::write(left.join("manifest.json"), manifest.to_string()).unwrap();
    let shown = harmless(&bench.run(&["clean", bench.disk().to_str().unwrap()]), "clean");
    assert!(shown.contains("not removed"), "{shown}");
    assert_eq!(shown.matches(SHOWN).count(), 2, "{shown}");
}

/// A suite's step ids and titles, and its lines in error messages, were printed unescaped.
#[test]
fn escape_sequences_in_a_suite_are_escaped() {
    let bench = Bench::new();
    let (disk, suite) = (bench.disk(), bench.path("suite.toml"));
    let run = ["run", disk.to_str().unwrap(), "--suite", suite.to_str().unwrap(), "--dry-run"];
    let name: String = HOSTILE.chars().map(|c| format!("\\U{:08x}", u32::from(c))).collect();
    let texts = [
        format!("description = \"{name}\"\n[[step]]\nid = \"a\"\ntitle = \"{name}\"\nrw = \"randread\"\n"),
        format!("[[step]]\nid = \"{name}\"\nrw = \"{name}\"\n\"{name}\" = 1\n"),
        format!("# {HOSTILE}\n[[step]]\nid = \"{HOSTILE}\"\nno_such = '\u{202e}'\n"),
        "[[step]]\r\nid = \"a\"\r\nno_such = 1\r\n".to_owned(),
    ];
    for text in texts {
        std::fs::write(&suite, &text).unwrap();
        let shown = harmless(&bench.run(&run), &text);
        assert!(!shown.contains("x0d\n"), "CR LF is a line ending: {shown}");
        assert_eq!(shown.contains(OWNED), !text.contains("\r\n"), "the names are shown: {shown}");
    }
}

/// Names of runs, hosts, targets and steps in a foreign log, in all commands that show it.
#[test]
fn escape_sequences_in_a_log_are_escaped() {
    let bench = Bench::new();
    let log = hostile_log(&bench);
    let log = log.to_str().unwrap();
    let mut shown = 0;
    for args in [
        &["show", log][..],
        &["show", log, "--color", "never", "--telemetry"],
        &["show", log, "--layout", "matrix"],
        &["show", log, "--layout", "scores"],
        &["show", log, "--baseline", HOSTILE],
        &["show", HOSTILE],
        &["compare", log, log],
        &["export", log],
        &["export", log, "--format", "md"],
        &["export", log, "--format", "influx"],
        &["export", log, "--format", "prometheus"],
        &["export", log, "--format", "svg"],
        &["export", log, "--telemetry"],
        &["export", log, "--format", "svg", "--chart", HOSTILE],
        &["import", log],
    ] {
        shown += harmless(&bench.run(args), &args.join(" ")).matches(OWNED).count();
    }
    assert!(shown > 20, "the names were not shown: {shown}");
    let page = bench.path("page.html");
    bench.run(&["report", log, "-o", page.to_str().unwrap()]);
    assert_eq!(misleading(&std::fs::read_to_string(page).unwrap()), None);
}

/// CSV contains unescaped names, and was printed like that to a terminal.
#[test]
fn csv_is_raw_in_a_pipe_and_escaped_on_a_terminal() {
    let bench = Bench::new();
    let log = hostile_log(&bench);
    let log = log.to_str().unwrap();
    let piped = bench.ok(&["export", log, "--format", "csv"]);
    assert!(piped.contains(HOSTILE), "a file contains the raw names");
    let Some(shown) = on_a_terminal(&bench, &["export", log, "--format", "csv"]) else { return };
    assert_eq!(misleading(&shown), None, "{shown}");
    assert!(shown.contains(SHOWN), "{shown}");
}

/// A terminal receives colours and no other control sequences; argument errors repeat the arguments.
#[test]
fn a_terminal_receives_only_colour_sequences() {
    let bench = Bench::new();
    let log = hostile_log(&bench);
    let log = log.to_str().unwrap();
    let commands =
        [&["show", log][..], &["show", log, "--telemetry"], &[HOSTILE], &["show", "--layout", HOSTILE]];
    for args in commands {
        let Some(shown) = on_a_terminal(&bench, args) else { return };
        assert_eq!(misleading(&without_colours(&shown)), None, "{args:?}: {shown}");
    }
}

/// A target directory can have any name.
#[test]
fn escape_sequences_in_a_target_path_are_escaped() {
    let bench = Bench::new();
    let disk = bench.path(HOSTILE);
    std::fs::create_dir(&disk).unwrap();
    let disk: &Path = &disk;
    let small = ["--rounds", "1", "--size", "1M", "--runtime", "10ms", "--ramp", "0s", "--suite", "quick"];
    for args in [&["--dry-run"][..], &[]] {
        let args = [&["run", disk.to_str().unwrap()], &small[..], args].concat();
        assert!(harmless(&bench.run(&args), "run").contains(OWNED));
    }
    assert!(harmless(&bench.run(&["list"]), "list").contains(OWNED));
    assert!(harmless(&bench.run(&["targets", disk.to_str().unwrap()]), "targets").contains(OWNED));
}
