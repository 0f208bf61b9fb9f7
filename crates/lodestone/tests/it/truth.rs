//! Bytes read and written in the log against the kernel's counters, for the process and for the block device.

use std::path::Path;

use crate::common::*;
use model::{DeviceActivity, Operation, Phase, Repeat};

/// Bytes that the whole repeat moved in one direction, the ramp included.
fn moved(repeat: &Repeat, operation: Operation) -> u64 {
    repeat.whole().get(&operation).map_or(0, |s| s.bytes)
}

/// Compares the bytes in the log and in the kernel's counters, in each of several rounds. The kernel never counts less,
/// and in the best round hardly more: within 1 % and 64 KiB, for metadata of the filesystem and pages of the program.
#[track_caller]
fn agree(rounds: &[(u64, u64)], what: &str) {
    for (logged, counted) in rounds {
        assert!(
            *counted >= logged - logged / 100,
            "{what}: {logged} bytes in the log, {counted} in the kernel"
        );
        assert!(*logged > 1 << 20, "{what}: {logged} bytes are too few to compare");
    }
    let is_close = |(logged, counted): &(u64, u64)| logged.abs_diff(*counted) <= logged / 100 + (64 << 10);
    assert!(rounds.iter().any(is_close), "{what}: bytes in the log and in the kernel: {rounds:?}");
}

/// The repeats of a short run on `disk`, with the log in memory, because writing it counts too.
fn repeats(bench: &Bench, disk: &Path, options: &[&str]) -> Vec<Repeat> {
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let store = memory.path().to_str().unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lodestone"));
    command.args(["run", disk.to_str().unwrap(), "--store", store, "--quiet", "--size", "64M"]);
    command.args(["--rounds", "3", "--settle", "0s"]).args(options);
    let output = command.current_dir(bench.path("")).output().unwrap();
    assert!(output.status.success(), "{options:?}\n{}", stderr(&output));
    let log = std::fs::read_dir(memory.path().join("runs")).unwrap().next().unwrap().unwrap().path();
    record::read_log(&log).unwrap().run.repeats
}

/// A repeat ends after this number of bytes, however slow the machine: enough of each operation to compare.
const ENOUGH: &[&str] = &["--runtime", "3600s", "--ramp", "1ms", "--io-size", "8M"];

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

/// The log agrees with the kernel's bytes read and written in each repeat for the wanted operations, and contains no
/// other operations.
#[track_caller]
fn agree_on(wanted: &[Operation], repeats: &[Repeat], counted: &[(u64, u64)], what: &str) {
    for operation in [Operation::Read, Operation::Write] {
        let of_operation =
            |(read, written): (u64, u64)| if operation == Operation::Read { read } else { written };
        let both = repeats.iter().zip(counted);
        let rounds: Vec<(u64, u64)> =
            both.map(|(repeat, counted)| (moved(repeat, operation), of_operation(*counted))).collect();
        if wanted.contains(&operation) {
            agree(&rounds, &format!("{what} {operation:?}"));
        } else {
            assert!(rounds.iter().all(|(logged, _)| *logged == 0), "{what} {operation:?}: {rounds:?}");
        }
    }
}

#[test]
fn logged_bytes_match_the_process_counters() {
    let bench = Bench::new();
    for engine in ["io_uring", "libaio", "psync"] {
        for (workload, wanted) in WORKLOADS {
            let options = [workload, ENOUGH, &["--engine", engine]].concat();
            let repeats = repeats(&bench, &bench.disk(), &options);
            assert_eq!(repeats.len(), 3, "{options:?}");
            let counted = |repeat: &Repeat| {
                let finished = repeat.finished.as_ref().unwrap();
                let counted = finished.process_io.expect("the kernel accounts I/O by process");
                (counted.read_bytes, counted.write_bytes)
            };
            let counted: Vec<(u64, u64)> = repeats.iter().map(counted).collect();
            agree_on(wanted, &repeats, &counted, &format!("{options:?}"));
        }
    }
}

/// The histograms of ramps were a third of the log of a run with short repeats.
#[test]
fn only_the_ramp_has_coarse_histograms() {
    let bench = Bench::new();
    let options =
        ["--rw", "randread", "--iodepth", "8", "--io-size", "32M", "--runtime", "3600s", "--ramp", "50ms"];
    let repeats = repeats(&bench, &bench.disk(), &options);
    let intervals = || repeats.iter().flat_map(|repeat| &repeat.intervals);
    let of = |phase| {
        intervals().filter(move |i| i.phase == phase).filter_map(|i| i.operations.get(&Operation::Read))
    };
    let mut ramp = of(Phase::Ramp).peekable();
    assert!(ramp.peek().is_some(), "nothing was read in a ramp");
    assert!(ramp.all(|stats| stats.lat == stats.lat.coarse() && stats.lat.count() == stats.count));
    assert!(of(Phase::Measure).any(|stats| stats.lat != stats.lat.coarse()));
}

#[test]
fn buffered_bytes_match_the_process_counters() {
    let bench = Bench::new();
    // Every block once, so that no read hits the cache and no readahead is wasted.
    const ONCE: &[&str] = &["--runtime", "none", "--ramp", "0s", "--io-size", "64M"];
    for options in
        [&["--rw", "read", "--bs", "64k", "--direct", "false"][..], &["--rw", "randread", "--engine", "mmap"]]
    {
        let mut rounds = Vec::new();
        for repeat in repeats(&bench, &bench.disk(), &[options, ONCE].concat()) {
            let finished = repeat.finished.as_ref().unwrap();
            let logged = moved(&repeat, Operation::Read);
            rounds.push((logged, finished.process_io.unwrap().read_bytes));
            let cache = finished.cache.expect("a buffered repeat records what was cached");
            assert!(cache.evicted && cache.cached_before_bytes.unwrap() < logged / 100, "{cache:?}");
        }
        agree(&rounds, &format!("{options:?}"));
    }
}

/// Two passes over the same data: only if each block is evicted before it is read do both come from the device.
#[test]
fn evicted_blocks_are_read_from_the_device_again() {
    let bench = Bench::new();
    const TWICE: &[&str] = &["--rw", "randread", "--direct", "false", "--ops", "2048", "--runtime", "none"];
    const REGION: &[&str] = &["--regions", "0:0:4MiB", "--ramp", "0s", "--engine", "psync"];
    for (cache, passes) in [("cold", 1), ("cold-each", 2)] {
        let mut rounds = Vec::new();
        for repeat in repeats(&bench, &bench.disk(), &[TWICE, REGION, &["--cache", cache]].concat()) {
            assert_eq!(moved(&repeat, Operation::Read), 8 << 20);
            let read = repeat.finished.as_ref().unwrap().process_io.unwrap().read_bytes;
            rounds.push((passes << 22, read));
        }
        agree(&rounds, cache);
    }
}

/// A private filesystem on a loop device, without other writers.
#[test]
fn direct_bytes_match_the_block_device_counters() {
    let bench = Bench::new();
    let Some(device) = LoopDevice::new(&bench.path("disk.img"), 512 << 20) else { return };
    if tool("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", &device.path]).is_none() {
        return;
    }
    // With its usual interval of 5 s, the journal would be written during slow repeats.
    let Some(mount) = Mounted::on(&bench.path("mnt"), &["-o", "commit=600", &device.path]) else { return };
    for engine in ["io_uring", "libaio", "psync"] {
        for (workload, wanted) in WORKLOADS {
            let options = [workload, ENOUGH, &["--engine", engine]].concat();
            let repeats = repeats(&bench, &mount.point, &options);
            assert_eq!(repeats.len(), 3, "{options:?}");
            let counted = |repeat: &Repeat| {
                let devices = &repeat.finished.as_ref().unwrap().devices;
                let top: &DeviceActivity = devices.first().expect("the loop device");
                assert!(device.path.ends_with(&top.name), "{top:?}");
                (top.read_bytes, top.written_bytes)
            };
            let counted: Vec<(u64, u64)> = repeats.iter().map(counted).collect();
            agree_on(wanted, &repeats, &counted, &format!("{options:?}"));
        }
    }
}
