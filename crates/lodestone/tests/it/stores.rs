//! Stores that are full, read-only, foreign or damaged: nothing is lost, and the message states what to do.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::*;

/// A short run.
const SHORT: [&str; 11] =
    ["run", "disk", "--rw", "randread", "--size", "1M", "--runtime", "50ms", "--ramp", "0s", "--quiet"];

/// The only entry of a directory.
fn only_log(directory: &Path) -> PathBuf {
    let mut logs: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(logs.len(), 1, "{logs:?}");
    logs.remove(0)
}

/// The exit code and output of a run with this store and the fallback directory `second`.
fn run_into(bench: &Bench, store: &Path, second: &Path, args: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
    command.args(args).arg("--store").arg(store).current_dir(bench.path(""));
    let output = command.env("XDG_RUNTIME_DIR", second).env("TMPDIR", second).output().unwrap();
    (output.status.code(), stdout(&output) + &stderr(&output))
}

/// A store of 64 KiB took 12 of 24 repeats, one of 16 KiB none, but the exit code was 0 and the run was "saved as
/// run X".
#[test]
fn a_full_store_has_the_log_written_elsewhere() {
    let bench = Bench::new();
    if !is_root() {
        return;
    }
    for kib in [16, 64] {
        let options = format!("size={kib}k,mode=0700");
        let Some(full) = Mounted::on(&bench.path("full"), &["-t", "tmpfs", "-o", &options, "tmpfs"]) else {
            return;
        };
        let second = bench.path(&format!("second{kib}"));
        std::fs::create_dir(&second).unwrap();
        let args = [&SHORT[..], &["--interval", "10ms", "--rounds", "12", "--no-report"]].concat();
        let (code, said) = run_into(&bench, &full.point.join("store"), &second, &args);
        assert_eq!(code, Some(3), "{said}");
        assert!(!said.contains("saved as run"), "{said}");
        assert!(said.contains("the store has no room for the log of this run"), "before the run: {said}");
        let log = only_log(&only_log(&second));
        assert!(said.contains(log.to_str().unwrap()) && said.contains("free some space"), "{said}");
        let run = record::read_log(&log).unwrap().run;
        assert_eq!((run.repeats.len(), run.finished.is_some()), (12, true));
        bench.ok(&["show", log.to_str().unwrap()]);
    }
}

/// Another process fills a filesystem that cannot reserve space (ext2) during a run.
#[test]
fn a_store_that_fills_up_has_the_log_written_elsewhere() {
    let bench = Bench::in_memory();
    let (disk, image) = (bench.disk(), bench.path("image"));
    let Some(device) = LoopDevice::new(&image, 32 << 20) else { return };
    if tool("mkfs.ext2", &["-q", "-b", "1024", &device.path]).is_none() {
        return;
    }
    let Some(full) = Mounted::on(&bench.path("full"), &[&device.path]) else { return };
    let (store, second) = (full.point.join("store"), bench.path("second"));
    std::fs::create_dir(&store).unwrap();
    std::fs::create_dir(&second).unwrap();
    // Far more rounds than can complete before the test sees the first one.
    let args = ["run", disk.to_str().unwrap(), "--rw", "randread", "--size", "1M", "--quiet", "--no-report"];
    let repeats = ["--runtime", "20ms", "--ramp", "0s", "--interval", "10ms", "--rounds", "150"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
    command.args(args).args(repeats).args(["--settle", "0s"]).arg("--store").arg(&store);
    command.current_dir(bench.path("")).env("XDG_RUNTIME_DIR", &second);
    let mut running = Running::start(&mut command);
    let has_begun = || {
        let logs = std::fs::read_dir(store.join("runs")).into_iter().flatten().flatten();
        let mut texts = logs.filter_map(|log| std::fs::read_to_string(log.path()).ok());
        texts.any(|text| text.contains("repeat_started"))
    };
    running.until("the first repeat", has_begun);
    // The program is suspended until the filesystem is full, so that the rest of the log does not fit.
    running.signal("STOP");
    let mut filler = std::fs::File::create(full.point.join("filler")).unwrap();
    while std::io::Write::write_all(&mut filler, &[1; 1024]).is_ok() {}
    running.signal("CONT");
    let output = running.output();
    let said = stdout(&output) + &stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(!said.contains("saved as run"), "{said}");
    let log = only_log(&only_log(&second));
    assert!(said.contains(log.to_str().unwrap()), "{said}");
    let whole = record::read_log(&log).unwrap();
    assert!(whole.damage.is_empty() && whole.run.finished.is_some());
    assert_eq!(whole.run.repeats.len(), 150);
    // The part in the store reads as a killed run, not as damage.
    let part = record::read_log(&only_log(&store.join("runs"))).unwrap();
    assert!(part.damage.is_empty() && part.run.finished.is_none());
    // The full store can still be read.
    for args in [&["list"][..], &["show", "last"], &["export", "last"]] {
        let (code, said) = run_into(&bench, &store, &second, args);
        assert_eq!(code, Some(0), "{args:?}: {said}");
        let words = if args == ["list"] { "1 run" } else { part.run.started.id.as_str() };
        assert!(said.contains(words), "{args:?}: {said}");
    }
}

/// The message advised to delete a file, which is impossible on a read-only filesystem and would not help.
#[test]
fn a_read_only_store_can_be_read_and_a_run_gives_advice() {
    let bench = Bench::new();
    let one = ["--size", "1M", "--runtime", "none", "--ops", "16", "--rounds", "1", "--quiet", "--no-report"];
    bench.ok(&[&["run", "disk", "--rw", "randread"], &one[..]].concat());
    std::fs::remove_file(bench.store().join("index")).unwrap();
    if !is_root() {
        return;
    }
    let (store, point) = (bench.store(), bench.store());
    let Some(_mount) = Mounted::on(&point, &["--bind", store.to_str().unwrap()]) else { return };
    if tool("mount", &["-o", "remount,ro,bind", store.to_str().unwrap()]).is_none() {
        return;
    }
    let listed = bench.run(&["list"]);
    assert!(stdout(&listed).contains("1 run"));
    let said = stderr(&listed);
    assert!(said.contains("works without the index") && !said.contains("delete"), "{said}");
    bench.ok(&["show", "last"]);
    bench.ok(&["export", "last"]);
    bench.ok(&["report", "last", "-o", bench.path("page.html").to_str().unwrap()]);
    let said = bench.fails(3, &SHORT);
    assert!(said.contains("--store DIR") && said.contains("Read-only") && !said.contains("delete"), "{said}");
}

#[test]
fn a_non_empty_directory_does_not_become_a_store() {
    let bench = Bench::new();
    std::fs::create_dir(bench.store()).unwrap();
    std::fs::write(bench.store().join("index"), "foreign").unwrap();
    for args in [&SHORT[..], &["list"], &["show", "last"]] {
        let output = bench.run(args);
        let said = stderr(&output);
        assert!(!output.status.success() && said.contains("not a store"), "{args:?}: {said}");
    }
    assert_eq!(std::fs::read(bench.store().join("index")).unwrap(), b"foreign");
    assert_eq!(visible(&bench.store()), ["index"]);
}

#[test]
fn listing_a_missing_store_does_not_create_it() {
    let bench = Bench::new();
    assert!(bench.ok(&["list"]).contains("no runs are stored yet"));
    assert!(!bench.store().exists());
}

/// One changed word in a log silently changed the figures.
#[test]
fn log_damage_is_reported_on_screen_and_in_every_output() {
    let bench = Bench::new();
    let fixture = include_str!("../../../../fixtures/runs/format-3.jsonl");
    let log = bench.path("log.jsonl");
    std::fs::write(&log, fixture.replacen("\"phase\":\"measure\"", "\"phase\":\"ramp\"", 1)).unwrap();
    let log = log.to_str().unwrap();
    let words = "the log is damaged: line ";
    let shown = bench.run(&["show", log]);
    assert!(stderr(&shown).contains(words) && stdout(&shown).contains(words), "{}", stdout(&shown));
    assert!(bench.ok(&["export", log]).contains(words));
    let page = bench.path("page.html");
    bench.ok(&["report", log, "-o", page.to_str().unwrap()]);
    assert!(std::fs::read_to_string(page).unwrap().contains(words));
    let accepted = bench.run(&["show", log, "--accept-damage"]);
    assert!(stderr(&accepted).contains("all readable lines are used"), "{}", stderr(&accepted));
}
