//! How the program ends: exit codes, resource limits, and the release of files.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::common::{Bench, LoopDevice, Mounted, Running, is_root, signal, skipped, stderr, stdout, tool};
use lodestone::failure::EXIT_CODES;

const SHORT: [&str; 10] =
    ["--quiet", "--no-report", "--telemetry", "off", "--rw", "randread", "--size", "4M", "--ramp", "0s"];

/// `run DIRECTORY` with few reads and the given options.
fn reads<'a>(directory: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    [&["run", directory, "--runtime", "none", "--ops", "64"], &SHORT[..], options].concat()
}

/// The text of all logs in the store.
fn logs(bench: &Bench) -> String {
    let Ok(entries) = std::fs::read_dir(bench.store().join("runs")) else { return String::new() };
    entries.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap_or_default()).collect()
}

fn has_begun(bench: &Bench) -> bool {
    logs(bench).contains("\"repeat_started\"")
}

/// The codes were in three help texts, and no test produced all of them.
#[test]
fn every_documented_exit_code_occurs() {
    let bench = Bench::new();
    let disk = bench.disk();
    let disk = disk.to_str().unwrap();
    let help = bench.ok(&["--help"]);
    assert!(EXIT_CODES.iter().all(|(code, _)| help.contains(&format!("\n  {code:<4} "))), "{help}");

    bench.ok(&reads(disk, &["--rounds", "1"]));
    bench.fails(2, &reads(disk, &["--rounds", "none"]));

    let results = bench.path("results");
    std::fs::create_dir(&results).unwrap();
    let dd = "1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s\n";
    std::fs::write(results.join("dd.txt"), format!("1+0 records in\n1+0 records out\n{dd}")).unwrap();
    bench.ok(&["import", results.to_str().unwrap()]);
    std::fs::write(results.join("dd.txt"), format!("2+0 records in\n2+0 records out\n{dd}")).unwrap();
    std::fs::write(results.join("other.txt"), "hello\n").unwrap();
    bench.fails(1, &["import", results.to_str().unwrap()]);
    bench.fails(3, &["import", results.join("other.txt").to_str().unwrap()]);

    let mut running = Running::start(&mut bench.command(&reads(disk, &["--rounds", "100000"])));
    running.until("a repeat", || logs(&bench).matches("\"repeat_started\"").count() > 3);
    running.press();
    let output = running.output();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));

    let made: BTreeSet<u8> = EXIT_CODES.iter().map(|(code, _)| *code).collect();
    assert_eq!(made, BTreeSet::from([0, 1, 2, 3, 130]), "every code needs a command in this test");
}

/// The unlinked file that a running program has open in a directory, opened for reading and writing.
fn nameless_file(pid: u32, directory: &Path) -> Option<File> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let is_below = |link: &PathBuf| std::fs::read_link(link).is_ok_and(|path| path.starts_with(directory));
    let mut links = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_below);
    links.find_map(|link| OpenOptions::new().read(true).write(true).open(link).ok())
}

/// `--verify` reported corrupted data as an error, but the exit code was 0. The test suspends the program while it
/// alters the data; many rounds follow.
#[test]
fn corrupted_data_give_exit_code_3() {
    let bench = Bench::new();
    let disk = bench.disk().canonicalize().unwrap();
    let options = ["--verify", "true", "--rounds", "60", "--details"];
    let mut running = Running::start(&mut bench.command(&reads(disk.to_str().unwrap(), &options)));
    running.until("a repeat", || has_begun(&bench));
    let pid = running.id();
    signal(pid, "STOP").unwrap();
    let file = nameless_file(pid, &disk).expect("an unlinked test file");
    file.write_all_at(&vec![0xa5; 4 << 20], 0).unwrap();
    file.sync_all().unwrap();
    drop(file);
    signal(pid, "CONT").unwrap();
    let output = running.output();
    assert!(stdout(&output).contains("data-corrupted"), "{}", stdout(&output));
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("the findings contain an error: data-corrupted"), "{}", stderr(&output));
}

/// A run with "0 of 1 rounds" and no figure was "saved as run" with exit code 0; `--io-size 0` ended each repeat at
/// once.
#[test]
fn a_run_that_measures_nothing_gives_exit_code_3() {
    let bench = Bench::new();
    let file = bench.path("file");
    std::fs::write(&file, vec![1; 4 << 20]).unwrap();
    let (file, disk) = (file.to_str().unwrap(), bench.disk());
    let options = ["--quiet", "--no-report", "--telemetry", "off", "--runtime", "0.2s", "--rounds", "1"];
    let writes = [&["run", file, "--rw", "randwrite"], &options[..]].concat();
    let said = bench.fails(3, &writes);
    assert!(said.contains("nothing was measured on file"), "{said}");
    let said = bench.fails(2, &reads(disk.to_str().unwrap(), &["--io-size", "0", "--rounds", "1"]));
    assert!(said.contains("io_size: 0 is outside"), "{said}");
}

/// `--rounds 100000 --budget 3s` was still running after 90 s: a fixed number of rounds disabled the budget.
#[test]
fn a_budget_ends_a_fixed_number_of_rounds() {
    let bench = Bench::new();
    let disk = bench.disk();
    let args = reads(disk.to_str().unwrap(), &["--rounds", "100000", "--budget", "1s"]);
    let output = Running::start(&mut bench.command(&args)).output();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("of 100000 rounds"), "{}", stdout(&output));
}

/// The kernel killed the program silently with SIGXFSZ.
#[test]
fn a_file_size_limit_gives_an_error_message() {
    let bench = Bench::new();
    let disk = bench.disk();
    // In blocks of 512 bytes: less than the test data.
    let output = bench.limited("-f 1024", &reads(disk.to_str().unwrap(), &["--rounds", "1"]));
    let said = format!("{}{}", stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(3), "{:?} {said}", output.status);
    assert!(said.contains("File too large"), "{said}");
}

/// `ulimit -s` limits the main thread's stack, which overflowed.
#[test]
fn a_small_stack_limit_is_harmless() {
    let bench = Bench::new();
    let disk = bench.disk();
    let output = bench.limited("-s 64", &reads(disk.to_str().unwrap(), &["--rounds", "1"]));
    assert_eq!(output.status.code(), Some(0), "{:?} {}", output.status, stderr(&output));
}

/// A filesystem on a loop device; `None`, with a message, if its tools are missing.
fn filesystem(bench: &Bench, kind: &str) -> Option<LoopDevice> {
    let device = LoopDevice::new(&bench.path(kind), 400 << 20)?;
    let (program, force) = (format!("mkfs.{kind}"), if kind == "ext4" { "-F" } else { "-f" });
    tool(&program, &["-q", force, &device.path])?;
    Some(device)
}

/// Mounts, runs the program, and unmounts as soon as it has ended; that must succeed.
fn unmounted_at_once(bench: &Bench, device: &LoopDevice, engine: &str, is_interrupted: bool) {
    let Some(mounted) = Mounted::on(&bench.path("mounted"), &[&device.path]) else { return };
    let _ = std::fs::remove_dir_all(bench.store());
    let options =
        ["--engine", engine, "--jobs", "2", "--rounds", if is_interrupted { "100000" } else { "1" }];
    let args = reads(mounted.point.to_str().unwrap(), &options);
    let mut running = Running::start(&mut bench.command(&args));
    if is_interrupted {
        running.until("a repeat", || has_begun(bench));
        running.press();
    }
    let output = running.output();
    let unmounted = mounted.unmount();
    assert_eq!(unmounted, Ok(()), "{engine} {is_interrupted}");
    assert_eq!(output.status.code(), Some(if is_interrupted { 130 } else { 0 }), "{}", stderr(&output));
}

/// `lodestone run /mnt/x && umount /mnt/x` failed with "target is busy" in 9 of 36 attempts. The engine has its own
/// test for this; here the whole program is tested. `lodestone-attempts umounts` repeats it more often.
#[test]
fn a_target_can_be_unmounted_when_the_program_has_ended() {
    if !is_root() {
        return;
    }
    for kind in ["ext4", "xfs", "btrfs"] {
        let bench = Bench::new();
        let Some(device) = filesystem(&bench, kind) else {
            skipped(&format!("no {kind} on a loop device"));
            continue;
        };
        for engine in ["io_uring", "libaio", "psync", "mmap"] {
            unmounted_at_once(&bench, &device, engine, false);
        }
        unmounted_at_once(&bench, &device, "io_uring", true);
    }
}
