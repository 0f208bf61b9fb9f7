//! What the log says was read and written against what the kernel counted: for the process, and for the
//! block device.

mod common;

use std::path::Path;

use common::*;
use model::{DeviceActivity, Operation, Repeat};

/// Bytes that the whole repeat moved in one direction, the ramp included.
fn moved(repeat: &Repeat, operation: Operation) -> u64 {
    repeat.whole().get(&operation).map_or(0, |s| s.bytes)
}

/// Within 1 % and 64 KiB: the filesystem's own metadata, and pages of the program itself.
#[track_caller]
fn agree(said: u64, counted: u64, what: &str) {
    let tolerance = said / 100 + (64 << 10);
    assert!(said.abs_diff(counted) <= tolerance, "{what}: the log says {said}, the kernel counted {counted}");
    assert!(said > 1 << 20, "{what}: {said} bytes are too few to say anything");
}

/// The repeats of a short run on `disk`, with the log kept away from disks: writing it counts too.
fn repeats(bench: &Bench, disk: &Path, options: &[&str]) -> Vec<Repeat> {
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let store = memory.path().to_str().unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lodestone"));
    command.args(["run", disk.to_str().unwrap(), "--store", store, "--quiet", "--size", "64M"]);
    command.args(["--rounds", "2"]).args(options);
    let output = command.current_dir(bench.path("")).output().unwrap();
    assert!(output.status.success(), "{options:?}\n{}", stderr(&output));
    let log = std::fs::read_dir(memory.path().join("runs")).unwrap().next().unwrap().unwrap().path();
    record::read_log(&log).unwrap().run.repeats
}

/// A repeat ends after so many bytes, however slow the machine: enough of each operation to compare.
const ENOUGH: &[&str] = &["--runtime", "60s", "--ramp", "50ms", "--io-size", "8M"];

/// Options, and what they must move.
const WORKLOADS: [(&[&str], &[Operation]); 4] = [
    (&["--rw", "randread", "--iodepth", "8"], &[Operation::Read]),
    (&["--rw", "randwrite", "--iodepth", "8"], &[Operation::Write]),
    (&["--rw", "read", "--bs", "1M", "--iodepth", "4"], &[Operation::Read]),
    (
        &["--rw", "randrw", "--bs", "16k", "--iodepth", "8", "--jobs", "2"],
        &[Operation::Read, Operation::Write],
    ),
];

/// The log and the kernel, which counted so many bytes read and written, agree on what was to be moved, and the log knows of
/// nothing else.
#[track_caller]
fn agree_on(wanted: &[Operation], repeat: &Repeat, read: u64, written: u64, what: &str) {
    for (operation, counted) in [(Operation::Read, read), (Operation::Write, written)] {
        let said = moved(repeat, operation);
        if wanted.contains(&operation) {
            agree(said, counted, &format!("{what} {operation:?}"));
        } else {
            assert_eq!(said, 0, "{what} {operation:?}");
        }
    }
}

#[test]
fn every_engines_bytes_are_those_that_the_kernel_counted_for_the_process() {
    let bench = Bench::new();
    for engine in ["io_uring", "libaio", "psync"] {
        for (workload, wanted) in WORKLOADS {
            let options = [workload, ENOUGH, &["--engine", engine]].concat();
            let repeats = repeats(&bench, &bench.disk(), &options);
            assert_eq!(repeats.len(), 2, "{options:?}");
            for repeat in repeats {
                let finished = repeat.finished.as_ref().unwrap();
                let counted = finished.process_io.expect("the kernel accounts I/O by process");
                let (read, written) = (counted.read_bytes, counted.write_bytes);
                agree_on(wanted, &repeat, read, written, &format!("{options:?}"));
            }
        }
    }
}

#[test]
fn buffered_bytes_reach_the_process_account_too() {
    let bench = Bench::new();
    // Every block once: so nothing is read that the kernel has in the cache already, and nothing is read ahead for nothing.
    const ONCE: &[&str] = &["--runtime", "60s", "--ramp", "0s", "--io-size", "64M"];
    for options in
        [&["--rw", "read", "--bs", "64k", "--direct", "false"][..], &["--rw", "randread", "--engine", "mmap"]]
    {
        for repeat in repeats(&bench, &bench.disk(), &[options, ONCE].concat()) {
            let finished = repeat.finished.as_ref().unwrap();
            let said = moved(&repeat, Operation::Read);
            agree(said, finished.process_io.unwrap().read_bytes, &format!("{options:?}"));
            let cache = finished.cache.expect("a buffered repeat says what was cached");
            assert!(cache.evicted && cache.cached_before_bytes.unwrap() < said / 100, "{cache:?}");
        }
    }
}

/// Two passes over the same data: only if each block is evicted before it is read do both come from the device.
#[test]
fn what_is_evicted_before_each_operation_is_read_from_the_device_each_time() {
    let bench = Bench::new();
    const TWICE: &[&str] = &["--rw", "randread", "--direct", "false", "--ops", "2048", "--runtime", "none"];
    const REGION: &[&str] = &["--regions", "0:0:4MiB", "--ramp", "0s", "--engine", "psync"];
    for (cache, passes) in [("cold", 1), ("cold-each", 2)] {
        for repeat in repeats(&bench, &bench.disk(), &[TWICE, REGION, &["--cache", cache]].concat()) {
            assert_eq!(moved(&repeat, Operation::Read), 8 << 20);
            let read = repeat.finished.as_ref().unwrap().process_io.unwrap().read_bytes;
            agree(read, passes << 22, cache);
        }
    }
}

/// A filesystem of our own on a loop device, where nobody else writes.
#[test]
fn direct_bytes_are_those_that_the_block_device_counted() {
    let bench = Bench::new();
    let Some(device) = LoopDevice::new(&bench.path("disk.img"), 512 << 20) else { return };
    if tool("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", &device.path]).is_none() {
        return;
    }
    let Some(mount) = Mount::new(&[&device.path], &bench.path("mnt")) else { return };
    for engine in ["io_uring", "libaio", "psync"] {
        for (workload, wanted) in WORKLOADS {
            let options = [workload, ENOUGH, &["--engine", engine]].concat();
            let repeats = repeats(&bench, &mount.point, &options);
            assert_eq!(repeats.len(), 2, "{options:?}");
            for repeat in repeats {
                let devices = &repeat.finished.as_ref().unwrap().devices;
                let top: &DeviceActivity = devices.first().expect("the loop device");
                assert!(device.path.ends_with(&top.name), "{top:?}");
                agree_on(wanted, &repeat, top.read_bytes, top.written_bytes, &format!("{options:?}"));
            }
        }
    }
}
