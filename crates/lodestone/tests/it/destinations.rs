//! What `report -o` and `export -o` may overwrite: only what the user permits, and nothing through a symbolic link.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Bench, LoopDevice, stderr, stdout};

/// A store with one run, and the path of its log.
fn bench() -> (Bench, PathBuf) {
    let bench = Bench::new();
    let output = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/imports/hdparm/tT.txt");
    bench.ok(&["import", output.to_str().unwrap()]);
    let log = fs::read_dir(bench.store().join("runs")).unwrap().flatten().map(|e| e.path());
    let log = log.into_iter().find(|path| path.extension().is_some_and(|e| e == "gz")).unwrap();
    (bench, log)
}

const COMMANDS: [&[&str]; 2] = [&["report", "last", "-o"], &["export", "last", "-o"]];

fn with<'a>(command: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [command, more].concat()
}

/// Both commands overwrote any file silently.
#[test]
fn an_existing_file_is_overwritten_only_with_force() {
    let (bench, _) = bench();
    let file = bench.path("mine.txt").display().to_string();
    for command in COMMANDS {
        fs::write(&file, "mine").unwrap();
        let said = bench.fails(2, &with(command, &[&file]));
        assert!(said.contains("the file exists; pass --force to overwrite it"), "{said}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
        bench.ok(&with(command, &[&file, "--force"]));
        assert_ne!(fs::read_to_string(&file).unwrap(), "mine");
    }
    assert!(!crate::common::visible(&bench.path("")).iter().any(|name| name.contains(".lodestone-")));
}

#[test]
fn report_overwrites_its_own_pages_and_export_does_not() {
    let (bench, _) = bench();
    let page = bench.path("page.html").display().to_string();
    bench.ok(&["report", "-o", &page]);
    let first = fs::metadata(&page).unwrap().ino();
    bench.ok(&["report", "-o", &page]);
    assert_ne!(fs::metadata(&page).unwrap().ino(), first, "a new file replaces the old one");
    bench.fails(2, &["export", "-o", &page]);
}

/// The target of a symbolic link was overwritten.
#[test]
fn symbolic_links_are_not_followed() {
    let (bench, _) = bench();
    let (victim, link) = (bench.path("victim"), bench.path("link"));
    for command in COMMANDS {
        for target in ["victim", "nowhere"] {
            fs::write(&victim, "victim's").unwrap();
            let _ = fs::remove_file(&link);
            symlink(target, &link).unwrap();
            let said = bench.fails(2, &with(command, &[link.to_str().unwrap()]));
            assert!(said.contains("it is a symbolic link"), "{said}");
            bench.ok(&with(command, &[link.to_str().unwrap(), "--force"]));
            assert!(fs::symlink_metadata(&link).unwrap().is_file(), "the link itself is replaced");
            assert_eq!(fs::read_to_string(&victim).unwrap(), "victim's");
            assert!(!bench.path("nowhere").exists());
        }
    }
}

/// A report overwrote the start of a block device, even of a mounted one.
#[test]
fn devices_pipes_and_directories_are_refused_even_with_force() {
    let (bench, _) = bench();
    let pipe = bench.path("pipe").display().to_string();
    crate::common::tool("mkfifo", &[&pipe]).expect("mkfifo is installed");
    let directory = bench.disk().display().to_string();
    let slash = format!("{}/new/", bench.path("").display());
    let device = LoopDevice::new(&bench.path("image"), 1 << 20);
    let mut paths = vec![(pipe.as_str(), "pipe"), (&directory, "directory"), (&slash, "directory")];
    paths.push(("/dev/null", "not a regular file"));
    paths.extend(device.as_ref().map(|device| (device.path.as_str(), "block device")));
    for command in COMMANDS {
        for (path, words) in &paths {
            for force in [&[][..], &["--force"]] {
                let said = bench.fails(2, &with(command, &with(&[path], force)));
                assert!(said.contains(words), "{path}: {said}");
            }
        }
    }
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    if device.is_some() {
        assert!(fs::read(bench.path("image")).unwrap().iter().all(|byte| *byte == 0));
    }
}

/// `export RUN.jsonl -o RUN.jsonl` destroyed the run.
#[test]
fn a_run_log_is_never_overwritten() {
    let (bench, log) = bench();
    let before = fs::read(&log).unwrap();
    let (path, hard) = (log.display().to_string(), bench.path("hard").display().to_string());
    fs::hard_link(&log, &hard).unwrap();
    for command in ["export", "report"] {
        for name in [&path, &hard] {
            for force in [&[][..], &["--force"]] {
                let said = bench.fails(2, &with(&[command, &path, "-o", name], force));
                assert!(said.contains("it is a run log"), "{said}");
                assert_eq!(fs::read(&log).unwrap(), before);
            }
        }
    }
}

/// `report -o -` wrote a file of that name.
#[test]
fn a_hyphen_means_standard_output() {
    let (bench, _) = bench();
    assert!(bench.ok(&["report", "-o", "-"]).starts_with("<!DOCTYPE html>"));
    assert!(bench.ok(&["export", "-o", "-"]).starts_with('{'));
    assert!(!bench.path("-").exists());
    bench.ok(&["report", "-o", "./-"]);
    assert!(bench.path("-").exists());
}

/// On a full disk, simulated by a file size limit, the existing file is unchanged and no temporary file remains.
#[test]
fn a_full_disk_leaves_the_existing_file_unchanged() {
    let (bench, log) = bench();
    fs::create_dir(bench.path("full")).unwrap();
    let file = bench.path("full/old.json");
    for old in [Some("old"), None] {
        let _ = fs::remove_file(&file);
        if let Some(old) = old {
            fs::write(&file, old).unwrap();
        }
        let program =
            bench.command(&["export", log.to_str().unwrap(), "--force", "-o", file.to_str().unwrap()]);
        let mut shell = Command::new("sh");
        // SIGXFSZ is ignored, so that the write returns an error.
        shell.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "sh"]);
        let output = shell.arg(program.get_program()).args(program.get_args()).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}{}", stdout(&output), stderr(&output));
        assert!(stderr(&output).contains("cannot write"), "{}", stderr(&output));
        assert_eq!(fs::read_to_string(&file).ok().as_deref(), old);
        let there: &[&str] = if old.is_some() { &["old.json"] } else { &[] };
        assert_eq!(crate::common::visible(&bench.path("full")), there);
    }
}
