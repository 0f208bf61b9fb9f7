//! Target directories of another user, who replaces the files of a run by a symbolic link to files of root.

use std::os::fd::AsRawFd;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};

use crate::common::*;
use serde_json::Value;

/// A user id that does not exist on any system.
const ANOTHER: u32 = 54_321;
const ALLOWED: &str = "--allow-unsafe-directory";

/// A disk owned by another user, and files of root next to it that must survive; `None`, with a message, without root.
fn disk_of_another(bench: Bench) -> Option<(Bench, PathBuf)> {
    if !is_root() {
        return None;
    }
    chown(bench.disk(), Some(ANOTHER), Some(ANOTHER)).unwrap();
    let victim = bench.path("victim");
    std::fs::create_dir_all(victim.join("below")).unwrap();
    for name in ["manifest.json", "job.fio", "below/deep"] {
        std::fs::write(victim.join(name), name).unwrap();
    }
    Some((bench, victim))
}

#[track_caller]
fn assert_intact(victim: &Path) {
    for name in ["manifest.json", "job.fio", "below/deep"] {
        assert_eq!(std::fs::read_to_string(victim.join(name)).unwrap(), name);
    }
    assert_eq!(visible(victim).len(), 3);
}

/// Replaces the private directory of the run by a symbolic link to the victim, with the rights of the owner of the
/// disk.
#[track_caller]
fn plant_link(bench: &Bench, victim: &Path) {
    let name = bench.visible().into_iter().find(|name| name.starts_with(".lodestone-")).unwrap();
    let script = format!("mv -T '{name}' moved && ln -s '{}' '{name}'", victim.display());
    let user = ANOTHER.to_string();
    // The user cannot enter the parent directory of the disk, so the shell starts in the disk itself.
    let said = std::process::Command::new("setpriv")
        .args(["--reuid", &user, "--regid", &user, "--clear-groups", "sh", "-c", &script])
        .current_dir(bench.disk())
        .output();
    if said.is_ok_and(|output| output.status.success()) {
        return;
    }
    skipped("setpriv cannot be used; root replaces the directory instead of the other user");
    let private = bench.disk().join(name);
    let _ = std::fs::rename(&private, bench.disk().join("moved"));
    symlink(victim, private).unwrap();
}

/// As root in a directory of another user, who replaced the private directory by a symbolic link to VICTIM, `run --rw
/// metadata` emptied VICTIM when it ended or was interrupted.
#[test]
fn a_run_never_empties_the_target_of_a_planted_link() {
    for press in [false, true] {
        let Some((bench, victim)) = disk_of_another(Bench::in_memory()) else { return };
        let disk = bench.disk();
        // Seconds of work, so that the program is stopped in time for the replacement during the run.
        let (runtime, ops) = if press { ("3600s", "none") } else { ("none", "600000") };
        let args = ["run", disk.to_str().unwrap(), "--rw", "metadata", "--metadata-files", "50", ALLOWED];
        let more = ["--rounds", "1", "--runtime", runtime, "--ops", ops, "--quiet", "--no-report"];
        let mut child = Running::start(&mut bench.command(&[&args[..], &more].concat()));
        child.until("the private directory", || {
            bench.visible().iter().any(|name| disk.join(name).join("job0/job0").exists())
        });
        child.signal("STOP");
        plant_link(&bench, &victim);
        child.signal("CONT");
        if press {
            child.press();
        }
        let output = child.output();
        assert_eq!(output.status.code(), Some(if press { 130 } else { 0 }), "{}", stderr(&output));
        assert_intact(&victim);
        assert!(bench.visible().iter().all(|name| disk.join(name).is_symlink()), "{:?}", bench.visible());
    }
}

/// The same for an immediate stop, which removes the files of the run from another thread.
#[test]
fn an_immediate_stop_never_empties_the_target_of_a_planted_link() {
    let Some((bench, victim)) = disk_of_another(Bench::in_memory()) else { return };
    let disk = bench.disk().display().to_string();
    let pid = bench.path("pid");
    let script = format!(
        "trap '' TERM INT; echo x > rubbish; echo $$ > {0}.new; mv {0}.new {0}; while :; do sleep 1; done",
        pid.display()
    );
    let path = bench.instead("ioping", &script);
    let args =
        ["crosscheck", &disk, "--with", "ioping", "--only", "ioping-write", "--size", "16MiB", ALLOWED];
    let mut child = Running::start(bench.command(&args).env("PATH", path));
    child.until("the call of the tool", || pid.exists());
    plant_link(&bench, &victim);
    child.press();
    child.until_printed("stopping; press Ctrl-C again to stop at once");
    child.press();
    assert_eq!(child.output().status.code(), Some(130));
    assert_intact(&victim);
    assert!(bench.visible().iter().all(|name| bench.disk().join(name).is_symlink()), "{:?}", bench.visible());
    until_dead(std::fs::read_to_string(pid).unwrap().trim().parse().unwrap());
}

/// `job.fio` was in the target directory; its owner could replace it by one with `exec_prerun=`, which ran as root.
#[test]
fn files_for_fio_are_outside_the_target() {
    let bench = Bench::new();
    let (disk, said, runtime) =
        (bench.disk().display().to_string(), bench.path("said"), bench.path("runtime"));
    std::fs::create_dir(&runtime).unwrap();
    let script = format!(
        "eval job=\\${{$#}}; {{ pwd -P; realpath \"$job\"; ls -A '{disk}'; cat \"$job\"; ls; }} > '{}'; exit 7",
        said.display()
    );
    let path = bench.instead("fio", &script);
    let args = ["run", &disk, "--via", "fio", "--rw", "randread", "--size", "8M", "--rounds", "1", "--quiet"];
    let output = bench.command(&args).env("PATH", path).env("XDG_RUNTIME_DIR", &runtime).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let said = std::fs::read_to_string(said).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    let runtime = runtime.canonicalize().unwrap();
    assert!(lines[0].starts_with(runtime.to_str().unwrap()), "{said}");
    assert_eq!(lines[1], format!("{}/job.fio", lines[0]), "{said}");
    assert_eq!(lines[2], "[global]", "the target must look empty: {said}");
    assert!(lines.contains(&"set0.0") || lines.iter().any(|line| line.starts_with("part0.")), "{said}");
    assert_eq!((visible(&runtime), bench.visible()), (vec![], vec![]));
}

/// `clean` finds the files for fio that a killed run has left.
#[test]
fn files_for_other_programs_are_cleaned_after_a_kill() {
    let bench = Bench::new();
    let (disk, pid, runtime) = (bench.disk().display().to_string(), bench.path("pid"), bench.path("runtime"));
    std::fs::create_dir(&runtime).unwrap();
    let script = format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000", pid.display());
    let path = bench.instead("fio", &script);
    let args = ["run", &disk, "--via", "fio", "--rw", "randread", "--size", "8M", "--rounds", "1", "--quiet"];
    let mut command = bench.command(&args);
    let mut child = Running::start(command.env("PATH", path).env("XDG_RUNTIME_DIR", &runtime));
    child.until("the call of fio", || pid.exists());
    drop(child);
    let tool_pid = std::fs::read_to_string(pid).unwrap();
    let tool_pid: u32 = tool_pid.trim().parse().unwrap();
    signal(tool_pid, "TERM").unwrap();
    until_dead(tool_pid);
    assert_eq!(visible(&runtime).len(), 1);
    let cleaned = bench.command(&["clean"]).env("XDG_RUNTIME_DIR", &runtime).output().unwrap();
    assert!(stdout(&cleaned).contains("removed"), "{}{}", stdout(&cleaned), stderr(&cleaned));
    assert_eq!(visible(&runtime), Vec::<String>::new());
}

/// Directories nested 30,000 deep were not removed: "too many open files".
#[test]
fn deep_leftovers_are_removed_with_few_file_descriptors() {
    let bench = Bench::in_memory();
    let disk = bench.disk().display().to_string();
    let args = ["run", &disk, "--rw", "metadata", "--rounds", "1", "--runtime", "1000s", "--quiet"];
    let mut child = Running::start(&mut bench.command(&args));
    let manifest = || {
        let name = bench.visible().into_iter().find(|name| name.starts_with(".lodestone-"))?;
        let path = bench.disk().join(name);
        let is_whole =
            std::fs::read_to_string(path.join("manifest.json")).is_ok_and(|text| text.ends_with('}'));
        is_whole.then_some(path)
    };
    child.until("the private directory", || manifest().is_some());
    drop(child);
    let mut here = std::fs::File::open(manifest().unwrap()).unwrap();
    for _ in 0..30_000 {
        let below = format!("/proc/self/fd/{}/d", here.as_raw_fd());
        std::fs::create_dir(&below).unwrap();
        here = std::fs::File::open(&below).unwrap();
    }
    drop(here);
    let cleaned = bench.limited("-n 64", &["clean", &disk]);
    assert!(cleaned.status.success(), "{}{}", stdout(&cleaned), stderr(&cleaned));
    assert_eq!(bench.visible(), Vec::<String>::new());
}

#[test]
fn root_must_consent_where_another_user_can_write() {
    let Some((bench, _)) = disk_of_another(Bench::new()) else { return };
    let disk = bench.disk().display().to_string();
    for command in [&["run", &disk][..], &["run", &disk, "--dry-run"], &["crosscheck", &disk]] {
        let said = bench.fails(2, command);
        assert!(said.contains("user ID 54321") && said.contains(ALLOWED), "{said}");
        assert!(bench.visible().is_empty());
    }
    let run = bench.json(&[
        ALLOWED,
        "--rw",
        "randread",
        "--size",
        "8M",
        "--runtime",
        "none",
        "--ops",
        "16",
        "--rounds",
        "1",
    ]);
    let notes = run["notes"].as_array().unwrap();
    let note = notes.iter().find(|note: &&Value| note["topic"] == "unsafe-directory").unwrap();
    assert!(note["message"].as_str().unwrap().contains("user ID 54321"), "{note}");
}
