//! Consent to overwriting, on the command line: the program refuses, changes nothing, and states what to do. The tests
//! of `host` cover every path to the same bytes, the laboratory every kind of storage.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;

use crate::common::*;

/// On a block device: exclusive open, see open(2). The value is the same on every Linux architecture of Rust except
/// MIPS.
const O_EXCL: i32 = 0o200;

/// One repeat that ends with its operations, however slow these are.
const WRITES: [&str; 10] =
    ["--rw", "randwrite", "--runtime", "none", "--ops", "16", "--rounds", "1", "--quiet", "--json"];

/// Checks that the run is refused, prints each of `expected`, and leaves the file unchanged.
#[track_caller]
fn refused(bench: &Bench, target: &str, named: &[&str], kept: &Path, expected: &[&str]) {
    let before = std::fs::read(kept).unwrap();
    let consent = named.iter().flat_map(|value| ["--overwrite", value]);
    let args: Vec<&str> = ["run", target].into_iter().chain(consent).chain(WRITES).collect();
    let said = bench.fails(2, &args);
    for words in expected {
        assert!(said.contains(words), "expected {words}: {said}");
    }
    assert!(std::fs::read(kept).unwrap() == before, "the file is unchanged");
}

/// `run IMG --overwrite IMG,/dev/loopN` wrote to the log of a mounted filesystem.
#[test]
fn an_image_in_use_as_log_or_journal_is_refused() {
    let bench = Bench::new();
    let [data, log] = ["data", "log"].map(|name| bench.path(name));
    let (Some(data_loop), Some(log_loop)) =
        (LoopDevice::new(&data, 320 << 20), LoopDevice::new(&log, 320 << 20))
    else {
        return;
    };
    let (device, target) = (log_loop.path.as_str(), log.to_str().unwrap());
    let named = [format!("{target},{device}")];
    let option = format!("logdev={device}");
    if tool("mkfs.xfs", &["-q", "-f", "-l", &format!("{option},size=64m"), &data_loop.path]).is_some()
        && let Some(mount) = Mounted::on(&bench.path("xfs"), &["-o", &option, &data_loop.path])
    {
        refused(&bench, target, &[&named[0]], &log, &[mount.point.to_str().unwrap()]);
    }
    let make = |args: &[&str]| tool("mke2fs", &[&["-q", "-F", "-b", "4096"], args].concat()).is_some();
    if make(&["-O", "journal_dev", device])
        && make(&["-t", "ext4", "-J", &format!("device={device}"), &data_loop.path])
        && let Some(_mount) = Mounted::on(&bench.path("ext4"), &[&data_loop.path])
    {
        refused(&bench, target, &[&named[0]], &log, &["the external journal of a mounted filesystem"]);
    }
    // Once the device is unused, the same consent is enough.
    bench.ok(&[&["run", target, "--overwrite", &named[0]], &WRITES[..]].concat());
}

/// The message claimed that another process had taken the device after it was named, although it had it before.
#[test]
fn an_already_claimed_device_is_reported_as_in_use() {
    let bench = Bench::new();
    let image = bench.path("image");
    let Some(device) = LoopDevice::new(&image, 64 << 20) else { return };
    let _claim = OpenOptions::new().read(true).custom_flags(O_EXCL).open(&device.path).unwrap();
    refused(&bench, &device.path, &[&device.path], &image, &["cannot claim", "stop that use first"]);
}

/// `--overwrite` was split at every comma.
#[test]
fn overwrite_accepts_a_comma_in_a_file_name() {
    let bench = Bench::new();
    let path = bench.path("one,two");
    let file = path.to_str().unwrap();
    for named in [file.to_owned(), file.replace(',', r"\,")] {
        let before = vec![1; 16 << 20];
        std::fs::write(&path, &before).unwrap();
        bench.ok(&[&["run", file, "--overwrite", &named], &WRITES[..]].concat());
        assert!(std::fs::read(&path).unwrap() != before, "{named}");
    }
    std::fs::write(bench.path("one"), [1; 1 << 16]).unwrap();
    let other = bench.path("one");
    refused(&bench, other.to_str().unwrap(), &[file], &other, &["does not name a file or block device"]);
}

/// `raid0=/dev/md0 --overwrite raid0` was refused with the message that it names none of the targets.
#[test]
fn overwrite_with_a_target_name_is_refused_with_advice() {
    let bench = Bench::new();
    let path = bench.path("data");
    std::fs::write(&path, [1; 1 << 16]).unwrap();
    let file = path.to_str().unwrap();
    let advice = format!("`raid0` is the name of a target; give its path instead: --overwrite {file}");
    refused(&bench, &format!("raid0={file}"), &["raid0"], &path, &[&advice]);
}

/// The message for a regular file advised to join the group disk.
#[test]
fn the_group_disk_is_not_advised_for_regular_files() {
    if !is_root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let program = program_for_everyone(directory.path());
    let said = |mode: &str, consent: bool| {
        let file = directory.path().join("data");
        std::fs::write(&file, [1; 1 << 16]).unwrap();
        tool("chmod", &[mode, file.to_str().unwrap()]).unwrap();
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .arg(&program)
            .arg("run")
            .arg(&file);
        command.args(WRITES.iter().filter(|word| **word != "--json"));
        command.arg("--store").arg(directory.path().join("store")).arg("--dry-run");
        if consent {
            command.arg("--overwrite").arg(&file);
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        stderr(&output)
    };
    let unreadable = said("0600", false);
    assert!(!unreadable.contains("group disk") && unreadable.contains("chmod"), "{unreadable}");
    let unwritable = said("0644", true);
    assert!(
        unwritable.contains("cannot write to") && unwritable.contains("as a user with write permission"),
        "{unwritable}"
    );
}
