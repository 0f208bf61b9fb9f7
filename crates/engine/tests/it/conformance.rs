//! Requirements for every engine, on real files: a loop over the list of all engines, so that a new engine is
//! tested once it is in the list.

#![allow(unsafe_code)]

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::*;
use engine::{ENGINES, Generations, IoTarget, Task, run};
use model::*;
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

/// The engines that work here. Any other is reported, not skipped silently.
fn engines() -> Vec<Capabilities> {
    let mut working = Vec::new();
    for entry in ENGINES {
        match entry.probe() {
            Ok(()) => working.push(entry.capabilities),
            Err(error) => {
                let name = entry.capabilities.kind;
                testing::skipped(&format!("engine {name} does not work here: {error}"));
            }
        }
    }
    assert!(!working.is_empty());
    working
}

/// A directory on the disk that holds the build, not on tmpfs.
fn scratch() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("data");
    (directory, path)
}

/// Direct I/O if the engine supports it, so that asynchronous engines are asynchronous.
fn flags(engine: &Capabilities) -> i32 {
    if engine.buffered_only { 0 } else { libc::O_DIRECT }
}

fn depth(engine: &Capabilities) -> u32 {
    if engine.synchronous { 1 } else { 8 }
}

#[test]
fn counts_bytes_and_latencies_add_up() {
    let (_directory, path) = scratch();
    filled(&path, 4 * MIB as usize);
    for engine in engines() {
        let mixed = Workload {
            mix: Mix::Transfer { read_percent: 50 },
            iodepth: depth(&engine),
            jobs: 2,
            ..workload()
        };
        let target = IoTarget::Files(open(&path, 2, 4 * MIB, true, flags(&engine)));
        let done = run_task(task(mixed, engine.kind, operations(1001), target));
        let (reads, writes) = (done.of(Operation::Read), done.of(Operation::Write));
        assert_eq!(done.outcome.outcome, RepeatOutcome::Completed, "{}", engine.kind);
        assert_eq!(reads.count + writes.count, 1001, "{}", engine.kind);
        assert!(reads.count.abs_diff(writes.count) < 200, "{}: half of each", engine.kind);
        for stats in [reads, writes] {
            assert_eq!(stats.bytes, stats.count * 4096);
            assert_eq!(stats.lat.count(), stats.count);
            assert_eq!((stats.short, stats.error_count()), (0, 0));
            assert_eq!(stats.slat.is_some(), !engine.synchronous, "{}: slat", engine.kind);
            let (slat, clat) = (stats.slat.unwrap_or_default(), stats.clat.unwrap_or_default());
            if !engine.synchronous {
                assert_eq!(slat.sum_ns + clat.sum_ns, stats.lat.sum_ns(), "lat = slat + clat");
            }
        }
    }
}

#[test]
fn written_data_can_be_read_by_other_means() {
    for engine in engines() {
        let (_directory, path) = scratch();
        filled(&path, MIB as usize);
        let before = std::fs::read(&path).unwrap();
        let sequential = Workload { pattern: Pattern::Sequential, iodepth: depth(&engine), ..writes() };
        let target = IoTarget::Files(open(&path, 1, MIB, true, flags(&engine)));
        let stop = Stop { bytes: Some(MIB / 2), ..Stop::default() };
        let done = run_task(task(sequential, engine.kind, stop, target));
        assert_eq!(done.of(Operation::Write).bytes, MIB / 2);
        let after = std::fs::read(&path).unwrap();
        let half = (MIB / 2) as usize;
        assert_ne!(before[..half], after[..half], "{}: the first half is new", engine.kind);
        assert_eq!(before[half..], after[half..], "{}: the second half is untouched", engine.kind);
        let unchanged = before[..half].chunks(512).zip(after[..half].chunks(512)).filter(|(a, b)| a == b);
        assert_eq!(unchanged.count(), 0, "{}: every sector was written", engine.kind);
    }
}

#[test]
fn the_end_of_the_file_is_a_short_transfer_and_then_a_failure() {
    for engine in engines() {
        let (_directory, path) = scratch();
        // Ten whole blocks, and then 100 bytes of an assumed 16 blocks.
        filled(&path, 10 * 4096 + 100);
        let sequential = Workload { pattern: Pattern::Sequential, ..workload() };
        let target = IoTarget::Files(open(&path, 1, 16 * 4096, false, 0));
        let done = run_task(task(sequential, engine.kind, operations(16), target));
        let reads = done.of(Operation::Read);
        assert_eq!((reads.count, reads.short), (11, 1), "{}", engine.kind);
        assert_eq!(reads.bytes, 10 * 4096 + 100, "{}", engine.kind);
        let failure = done.failure();
        assert_eq!(failure.kind, FailureKind::NoData, "{}", engine.kind);
        assert_eq!(failure.offset, Some(11 * 4096), "{}", engine.kind);
        assert_eq!((failure.good_operations, failure.good_bytes), (11, reads.bytes));
        assert!(failure.is_final());
    }
}

#[test]
fn an_error_keeps_its_errno_and_ends_the_repeat() {
    for engine in engines() {
        let (_directory, path) = scratch();
        filled(&path, MIB as usize);
        let target = IoTarget::Files(open(&path, 1, MIB, false, 0));
        let done = run_task(task(writes(), engine.kind, operations(10), target));
        let stats = done.of(Operation::Write);
        assert_eq!(stats.count, 0, "{}: no write on a read-only file succeeds", engine.kind);
        assert_eq!(stats.errors.get(&libc::EBADF), Some(&1), "{}", engine.kind);
        assert_eq!(done.failure().kind, FailureKind::Errno(libc::EBADF), "{}", engine.kind);
    }
}

#[test]
fn errors_up_to_the_limit_do_not_end_the_repeat() {
    for engine in engines() {
        let (_directory, path) = scratch();
        filled(&path, MIB as usize);
        let mixed = Workload { mix: Mix::Transfer { read_percent: 90 }, ..workload() };
        let target = IoTarget::Files(open(&path, 1, MIB, false, 0));
        let mut task = task(mixed, engine.kind, operations(200), target);
        task.max_errors = 1000;
        let done = run_task(task);
        let (reads, writes) = (done.of(Operation::Read), done.of(Operation::Write));
        assert_eq!(done.outcome.outcome, RepeatOutcome::Completed, "{}", engine.kind);
        assert_eq!(reads.count + writes.error_count(), 200, "{}", engine.kind);
        assert!(writes.error_count() > 5);
    }
}

#[test]
fn the_depth_is_never_exceeded_and_is_one_if_synchronous() {
    let (_directory, path) = scratch();
    filled(&path, 4 * MIB as usize);
    for engine in engines() {
        for iodepth in [1, 4, 32] {
            let deep = Workload { iodepth, ..workload() };
            let target = IoTarget::Files(open(&path, 1, 4 * MIB, false, flags(&engine)));
            let done = run_task(task(deep, engine.kind, operations(2000), target));
            let limit = if engine.synchronous { 1.0 } else { f64::from(iodepth) };
            let depth = done.queue_depth();
            assert!(depth > 0.0 && depth <= limit * 1.001, "{} at depth {iodepth}: {depth}", engine.kind);
            if engine.synchronous {
                let in_flight_ns: u64 = done.intervals.iter().map(|i| i.in_flight_ns).sum();
                assert_eq!(in_flight_ns, done.of(Operation::Read).lat.sum_ns(), "{}", engine.kind);
            }
        }
    }
}

#[test]
fn an_asynchronous_engine_reaches_the_configured_depth() {
    let (_directory, path) = scratch();
    filled(&path, 16 * MIB as usize);
    for engine in engines().into_iter().filter(|e| !e.synchronous) {
        for iodepth in [2, 8] {
            let block = BlockSizes::uniform(256 << 10);
            let deep = Workload { iodepth, block, ..workload() };
            in_some_attempt(|| {
                let target = IoTarget::Files(open(&path, 1, 16 * MIB, false, flags(&engine)));
                let deep = task(deep.clone(), engine.kind, operations(100), target);
                let depth = run_task(Task { interval_ns: 5 * MS, ..deep }).deepest();
                let reached = depth > 0.6 * f64::from(iodepth);
                reached.then_some(()).ok_or_else(|| format!("{} at {iodepth}: {depth}", engine.kind))
            });
        }
    }
}

#[test]
fn an_open_loop_counts_each_arrival_from_its_intended_start() {
    let (_directory, path) = scratch();
    filled(&path, 4 * MIB as usize);
    for engine in engines() {
        let pace = Pace::Fixed { per_second: 2000.0 };
        let paced = Workload { pace, iodepth: depth(&engine), ..workload() };
        let target = IoTarget::Files(open(&path, 1, 4 * MIB, false, 0));
        let done = run_task(task(paced, engine.kind, time(500 * MS), target));
        let reads = done.of(Operation::Read);
        let arrivals = reads.count + done.outcome.unserved;
        assert!(arrivals.abs_diff(1000) <= 1, "{}: {arrivals}", engine.kind);
        assert!(reads.count > 0, "{}", engine.kind);
        // From the intended start, the latency is never shorter than from the actual one.
        let clat = reads.clat.unwrap();
        assert_eq!(clat.count, reads.count);
        assert!(reads.lat.sum_ns() >= clat.sum_ns, "{}", engine.kind);
        assert!(done.outcome.window_ns >= 500 * MS);
    }
}

#[test]
fn the_user_can_stop_a_repeat_at_any_time() {
    let (_directory, path) = scratch();
    filled(&path, 4 * MIB as usize);
    for engine in engines() {
        for pace in [Pace::Closed, Pace::Fixed { per_second: 2.0 }] {
            let paced = Workload { pace, iodepth: depth(&engine), jobs: 2, ..workload() };
            let target = IoTarget::Files(open(&path, 2, 4 * MIB, false, flags(&engine)));
            let interrupt = Arc::new(AtomicBool::new(false));
            let mut stopped_ns = None;
            let long = task(paced, engine.kind, time(120 * SECOND), target);
            let outcome = run(long, &interrupt, &mut |i| {
                if stopped_ns.is_none() && !i.operations.is_empty() {
                    stopped_ns = Some(i.start_ns + i.len_ns);
                    interrupt.store(true, Ordering::Relaxed);
                }
            })
            .unwrap();
            assert_eq!(outcome.outcome, RepeatOutcome::Interrupted, "{}", engine.kind);
            let more_ns = outcome.whole_ns.saturating_sub(stopped_ns.unwrap());
            assert!(more_ns < 100 * SECOND, "{} continued for {more_ns} ns", engine.kind);
        }
    }
}

#[test]
fn verification_finds_a_flipped_byte_with_its_offset() {
    for engine in engines() {
        let (_directory, path) = scratch();
        filled(&path, MIB as usize);
        let generations = Arc::new(Generations::new(99, MIB, 4096));
        let verified = |mix: Mix, pattern: Pattern, stop: Stop| {
            let workload = Workload { mix, pattern, verify: true, iodepth: depth(&engine), ..workload() };
            let mut files = open(&path, 1, MIB, true, flags(&engine));
            files.generations = Some(Arc::clone(&generations));
            run_task(task(workload, engine.kind, stop, IoTarget::Files(files)))
        };
        let all = Stop { bytes: Some(MIB), ..Stop::default() };
        let random = Pattern::Random { distribution: Distribution::Uniform, repeats: true };
        let write = Mix::Transfer { read_percent: 0 };
        let read = Mix::Transfer { read_percent: 100 };
        verified(write.clone(), Pattern::Sequential, all);
        let mixed = verified(Mix::Transfer { read_percent: 50 }, random.clone(), operations(3000));
        let check = mixed.outcome.integrity.unwrap();
        let reads = mixed_reads(&mixed.intervals);
        assert_eq!(check.mismatched, 0, "{}: {check:?}", engine.kind);
        // All except those to whose block a write was started meanwhile.
        let least = if engine.synchronous { reads } else { reads * 9 / 10 };
        assert!((least..=reads).contains(&check.checked), "{}: {} of {reads}", engine.kind, check.checked);
        verified(write, random, operations(500));
        let check = verified(read.clone(), Pattern::Sequential, all).outcome.integrity.unwrap();
        assert_eq!((check.checked, check.mismatched), (MIB / 4096, 0), "{}: {check:?}", engine.kind);

        flip(&path, 37 * 4096 + 1234);
        let check = verified(read, Pattern::Sequential, all).outcome.integrity.unwrap();
        assert_eq!(check.mismatched, 1, "{}", engine.kind);
        assert_eq!(check.first[0].offset, 37 * 4096, "{}", engine.kind);
        assert_eq!(check.first[0].what, "wrong checksum");
    }
}

#[test]
fn a_changed_byte_in_several_files_is_found_at_its_set_offset() {
    for engine in engines() {
        let (directory, _) = scratch();
        let paths: Vec<PathBuf> = (0..4).map(|i| directory.path().join(format!("data{i}"))).collect();
        paths.iter().for_each(|p| filled(p, MIB as usize));
        let generations = Arc::new(Generations::new(5, 4 * MIB, 4096));
        let pass = |read_percent| {
            let mix = Mix::Transfer { read_percent };
            let checked = Workload { mix, verify: true, iodepth: depth(&engine), jobs: 2, ..workload() };
            let mut files = several(&paths, MIB);
            files.per_job.push(several(&paths, MIB).per_job.remove(0));
            files.generations = Some(Arc::clone(&generations));
            let all = operations(4 * MIB / 4096);
            run_task(task(checked, engine.kind, all, IoTarget::Files(files))).outcome.integrity.unwrap()
        };
        assert_eq!(pass(0), IntegrityCheck::default(), "{}", engine.kind);
        let check = pass(100);
        assert_eq!((check.checked, check.mismatched), (4 * MIB / 4096, 0), "{}", engine.kind);
        flip(&paths[2], 11 * 4096 + 99);
        let check = pass(100);
        let places: Vec<u64> = check.first.iter().map(|m| m.offset).collect();
        assert_eq!((check.checked, check.mismatched), (4 * MIB / 4096, 1), "{}", engine.kind);
        assert_eq!(places, [2 * MIB + 11 * 4096], "{}", engine.kind);
    }
}

fn mixed_reads(intervals: &[Interval]) -> u64 {
    intervals.iter().filter_map(|i| i.operations.get(&Operation::Read)).map(|s| s.count).sum()
}

fn flip(path: &std::path::Path, at: u64) {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
    file.sync_all().unwrap();
    engine::cache::evict(&file).unwrap();
}

#[test]
fn syncs_are_counted_separately_and_are_in_durable_writes() {
    for engine in engines() {
        let (_directory, path) = scratch();
        filled(&path, MIB as usize);
        let rule = SyncRule { every: 4, data_only: true, at_end: true };
        let synced = Workload { sync: rule, iodepth: depth(&engine), ..writes() };
        let target = IoTarget::Files(open(&path, 1, MIB, true, flags(&engine)));
        let done = run_task(task(synced, engine.kind, operations(42), target));
        let (writes, syncs) = (done.of(Operation::Write), done.of(Operation::Sync));
        let durable = done.of(Operation::DurableWrite);
        assert_eq!((writes.count, durable.count), (42, 42), "{}", engine.kind);
        // After every fourth, and once more for the two that no periodic sync covered.
        assert_eq!(syncs.count, 11, "{}", engine.kind);
        assert_eq!(durable.bytes, 42 * 4096);
        // Every durable write takes at least as long as the sync that covers it.
        assert!(durable.lat.min_ns() >= syncs.lat.min_ns(), "{}", engine.kind);
    }
}

#[test]
fn several_files_are_all_used_and_all_synced() {
    for engine in engines() {
        let (directory, _) = scratch();
        let paths: Vec<PathBuf> = (0..4).map(|i| directory.path().join(format!("data{i}"))).collect();
        paths.iter().for_each(|p| filled(p, MIB as usize));
        let before: Vec<Vec<u8>> = paths.iter().map(|p| std::fs::read(p).unwrap()).collect();
        let rule = SyncRule { every: 64, data_only: false, at_end: false };
        let many = Workload { sync: rule, iodepth: depth(&engine), ..writes() };
        let files = several(&paths, MIB);
        let done = run_task(task(many, engine.kind, operations(64), IoTarget::Files(files)));
        assert_eq!(done.of(Operation::Sync).count, 4, "{}: one sync per file", engine.kind);
        for (path, before) in paths.iter().zip(before) {
            assert_ne!(std::fs::read(path).unwrap(), before, "{}: {}", engine.kind, path.display());
        }
    }
}

/// Syncs and trims are executed one after the other in the calling thread. All operations of one submitting call
/// used to get the duration of the whole call as their latency.
#[test]
fn queued_syncs_and_trims_have_separate_latencies() {
    for engine in engines() {
        let (directory, _) = scratch();
        let paths: Vec<PathBuf> = (0..8).map(|i| directory.path().join(format!("data{i}"))).collect();
        paths.iter().for_each(|p| filled(p, MIB as usize));
        let rule = SyncRule { every: 64, data_only: false, at_end: false };
        let synced = Workload { sync: rule, iodepth: 2 * depth(&engine), ..writes() };
        let trims = Workload { mix: Mix::Trim, iodepth: 16, ..workload() };
        for (workload, operation) in [(synced, Operation::Sync), (trims, Operation::Trim)] {
            if operation == Operation::Trim && !engine.trim {
                continue;
            }
            let files = several(&paths, MIB);
            let done = run_task(task(workload, engine.kind, operations(256), IoTarget::Files(files)));
            let stats = done.of(operation);
            assert!(stats.count >= 32, "{}: {} of {operation}", engine.kind, stats.count);
            let (sum, window) = (stats.lat.sum_ns(), done.outcome.window_ns);
            assert!(sum <= window, "{}: {operation} took {sum} ns in {window} ns", engine.kind);
        }
    }
}

/// The files of one job.
fn several(paths: &[PathBuf], file_bytes: u64) -> engine::OpenFiles {
    let open = |path| OpenOptions::new().read(true).write(true).open(path).unwrap();
    let per_job = vec![paths.iter().map(open).collect()];
    engine::OpenFiles { per_job, file_bytes, writable: true, generations: None }
}

#[test]
fn jobs_with_separate_regions_write_every_block_once() {
    for engine in engines() {
        let (_directory, path) = scratch();
        std::fs::write(&path, vec![0; 3 * MIB as usize]).unwrap();
        let shared = Workload { jobs: 3, iodepth: depth(&engine), ..writes() };
        let target = IoTarget::Files(open(&path, 3, 3 * MIB, true, flags(&engine)));
        let done = run_task(task(shared, engine.kind, operations(3 * MIB / 4096), target));
        assert_eq!(done.of(Operation::Write).count, 3 * MIB / 4096);
        let untouched =
            std::fs::read(&path).unwrap().chunks(4096).filter(|b| b.iter().all(|x| *x == 0)).count();
        assert_eq!(untouched, 0, "{}: an unwritten block means another was written twice", engine.kind);
    }
}

#[test]
fn trim_punches_holes_and_is_counted() {
    for engine in engines() {
        let (_directory, path) = scratch();
        filled(&path, MIB as usize);
        let trims = Workload { mix: Mix::Trim, pattern: Pattern::Sequential, ..workload() };
        let target = IoTarget::Files(open(&path, 1, MIB, true, 0));
        let done = run_task(task(trims, engine.kind, operations(128), target));
        if !engine.trim {
            assert_eq!(done.failure().kind, FailureKind::Errno(libc::EOPNOTSUPP), "{}", engine.kind);
            continue;
        }
        assert_eq!(done.of(Operation::Trim).bytes, MIB / 2, "{}", engine.kind);
        let content = std::fs::read(&path).unwrap();
        assert!(content[..(MIB / 2) as usize].iter().all(|b| *b == 0), "{}", engine.kind);
        assert!(content[(MIB / 2) as usize..].iter().any(|b| *b != 0), "{}", engine.kind);
    }
}

#[test]
fn metadata_operations_are_counted_and_leave_nothing_behind() {
    let (directory, _) = scratch();
    let work = MetadataWork {
        operations: MetadataOperation::ALL.to_vec(),
        files: 50,
        directories: 3,
        file_bytes: 1000,
        names: Names::Files,
        naming: Default::default(),
        order: Default::default(),
    };
    let sync = SyncRule { every: 10, data_only: false, at_end: false };
    let many = Workload { mix: Mix::Metadata(work), jobs: 2, sync, ..workload() };
    let target = directories(directory.path(), 2);
    let done = run_task(task(many, EngineKind::Psync, operations(2 * 4 * 50), target));
    for operation in [Operation::Create, Operation::Stat, Operation::Open, Operation::Unlink] {
        let stats = done.of(operation);
        assert_eq!((stats.count, stats.lat.count()), (100, 100), "{operation}");
        assert!(stats.active_ns >= stats.lat.sum_ns(), "{operation}");
    }
    assert_eq!(done.of(Operation::Create).bytes, 100_000);
    assert_eq!(done.of(Operation::Open).bytes, 100_000);
    assert_eq!(done.of(Operation::Sync).count, 10);
    for i in 0..2 {
        let left = std::fs::read_dir(directory.path().join(format!("private{i}"))).unwrap().count();
        assert_eq!(left, 0);
    }
}

#[test]
fn metadata_passes_reach_each_file_once_and_end_with_one_sync() {
    for (naming, order) in [
        (Naming::Sequential, NameOrder::Listed),
        (Naming::Random, NameOrder::Shuffled),
        (Naming::Random, NameOrder::Listed),
        (Naming::Numbered, NameOrder::Listed),
    ] {
        let (directory, _) = scratch();
        let mut work =
            metadata(&[MetadataOperation::Create, MetadataOperation::Stat, MetadataOperation::Unlink], 300);
        let Mix::Metadata(names) = &mut work.mix else { unreachable!() };
        (names.naming, names.order) = (naming, order);
        work.sync.at_end = true;
        work.modifiers.again = Some(Again { least_ns: 1, empties: false });
        let target = directories(directory.path(), 1);
        let done = run_task(task(work, EngineKind::Psync, Stop::default(), target));
        assert_eq!(done.outcome.outcome, RepeatOutcome::Completed);
        for operation in [Operation::Create, Operation::Stat, Operation::Unlink] {
            assert_eq!(done.of(operation).count, 300, "{operation}, {naming:?}, {order:?}");
        }
        let syncs = done.of(Operation::Sync);
        assert_eq!(syncs.count, 2, "one for each pass that changes something");
        let (created, removed) = (done.of(Operation::Create), done.of(Operation::Unlink));
        let own_ns = created.lat.sum_ns() + removed.lat.sum_ns();
        assert!(created.active_ns + removed.active_ns >= own_ns + syncs.lat.sum_ns());
        let left = std::fs::read_dir(directory.path().join("private0")).unwrap().count();
        assert_eq!(left, 0);
    }
}

#[test]
fn preparation_between_metadata_passes_is_not_measured() {
    let mut work = metadata(&[MetadataOperation::Unlink], 200);
    work.modifiers.again = Some(Again { least_ns: 200 * MS, empties: false });
    in_some_attempt(|| {
        let (directory, _) = scratch();
        let target = directories(directory.path(), 1);
        let done = run_task(task(work.clone(), EngineKind::Psync, Stop::default(), target));
        let unlinks = done.of(Operation::Unlink);
        assert!(unlinks.count.is_multiple_of(200), "whole passes: {}", unlinks.count);
        assert!(done.outcome.whole_ns >= 200 * MS);
        // A thread may wake late for the start; apart from that, the time consists of passes.
        let rest = done.outcome.whole_ns - unlinks.active_ns;
        let only_passes = rest < done.outcome.whole_ns / 2;
        only_passes.then_some(()).ok_or_else(|| format!("{rest} of {}", done.outcome.whole_ns))
    });
}

/// Private directories for `jobs` jobs below `parent`.
fn directories(parent: &std::path::Path, jobs: u32) -> IoTarget {
    let private = |job| {
        let path = parent.join(format!("private{job}"));
        std::fs::create_dir(&path).unwrap();
        File::open(path).unwrap().into()
    };
    IoTarget::Directories((0..jobs).map(private).collect())
}

fn metadata(operations: &[MetadataOperation], files: u32) -> Workload {
    let operations = operations.to_vec();
    let work = MetadataWork {
        operations,
        files,
        directories: 2,
        file_bytes: 100,
        names: Names::Files,
        naming: Default::default(),
        order: Default::default(),
    };
    Workload { mix: Mix::Metadata(work), ..workload() }
}

#[test]
fn a_failed_directory_creation_is_a_storage_failure() {
    let (directory, _) = scratch();
    let target = directories(directory.path(), 2);
    std::fs::write(directory.path().join("private1/job1"), "in the way").unwrap();
    let work = Workload { jobs: 2, ..metadata(&[MetadataOperation::Create], 10) };
    let done = run_task(task(work, EngineKind::Psync, time(60 * SECOND), target));
    assert_eq!(done.failure().kind, FailureKind::Errno(libc::EEXIST));
    assert_eq!(done.failure().operation, Operation::Create);
    assert!(!done.outcome.hung);
}

/// A filesystem in memory with room for `inodes` files, not mounted anywhere: it is freed with its descriptor.
fn small_filesystem(inodes: u32) -> std::io::Result<OwnedFd> {
    const FSCONFIG_SET_STRING: libc::c_uint = 1;
    const FSCONFIG_CMD_CREATE: libc::c_uint = 6;
    let call = |result: libc::c_long| {
        if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(result as libc::c_int) }
    };
    let inodes = CString::new(inodes.to_string()).unwrap();
    let none = std::ptr::null::<libc::c_char>();
    // SAFETY: the strings end in zero and live until the calls return; the descriptors are new and owned.
    unsafe {
        let new = OwnedFd::from_raw_fd(call(libc::syscall(libc::SYS_fsopen, c"tmpfs".as_ptr(), 0))?);
        let (fd, key) = (new.as_raw_fd(), c"nr_inodes".as_ptr());
        call(libc::syscall(libc::SYS_fsconfig, fd, FSCONFIG_SET_STRING, key, inodes.as_ptr(), 0))?;
        call(libc::syscall(libc::SYS_fsconfig, fd, FSCONFIG_CMD_CREATE, none, none, 0))?;
        Ok(OwnedFd::from_raw_fd(call(libc::syscall(libc::SYS_fsmount, fd, 0, 0))?))
    }
}

#[test]
fn a_full_filesystem_is_a_failure_in_any_metadata_operation() {
    use MetadataOperation::{Create, Stat, Unlink};
    for (operations, max_errors) in [(vec![Create], 1), (vec![Stat], 1), (vec![Create, Unlink], u64::MAX)] {
        let full = match small_filesystem(20) {
            Ok(full) => full,
            Err(error) => {
                return testing::skipped(&format!("a filesystem in memory cannot be created: {error}"));
            }
        };
        let work = metadata(&operations, 100);
        let stop = Stop { operations: Some(400), ..Stop::default() };
        let mut task = task(work, EngineKind::Psync, stop, IoTarget::Directories(vec![full]));
        task.max_errors = max_errors;
        let done = run_task(task);
        if max_errors == 1 {
            assert_eq!(done.failure().kind, FailureKind::Errno(libc::ENOSPC), "{operations:?}");
            assert_eq!(done.failure().operation, operations[0].operation());
        } else {
            // Creations that left no name behind require no removal before the next pass.
            assert_eq!(done.outcome.outcome, RepeatOutcome::Completed);
            let creates = done.of(Operation::Create);
            assert!(creates.count > 16 && creates.errors[&libc::ENOSPC] > 80, "{creates:?}");
        }
    }
}

/// The number of files and directories.
fn names_below(directory: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(directory).unwrap().map(Result::unwrap);
    entries.map(|e| 1 + if e.path().is_dir() { names_below(&e.path()) } else { 0 }).sum()
}

/// The creation of ten million files used to ignore Ctrl-C.
#[test]
fn the_user_can_stop_a_repeat_during_the_creation_of_its_files() {
    let (directory, _) = scratch();
    let target = directories(directory.path(), 2);
    let work = Workload { jobs: 2, ..metadata(&[MetadataOperation::Stat], 1_000_000) };
    let interrupt = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupt);
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        flag.store(true, Ordering::Relaxed);
    });
    let outcome = run(task(work, EngineKind::Psync, time(SECOND), target), &interrupt, &mut |_| {}).unwrap();
    stopper.join().unwrap();
    assert_eq!(outcome.outcome, RepeatOutcome::Interrupted);
    // Nothing was started, and no abandoned worker still creates files.
    assert_eq!((outcome.whole_ns, outcome.window_ns, outcome.hung), (0, 0, false));
    assert!(names_below(directory.path()) < 2_000_000, "it continued until all files were created");
}

#[test]
fn a_truncated_mapped_file_is_an_errno_and_not_a_signal() {
    let (_directory, path) = scratch();
    filled(&path, MIB as usize);
    let target = IoTarget::Files(open(&path, 1, MIB, false, 0));
    let task = task(workload(), EngineKind::Mmap, time(60 * SECOND), target);
    let mut good = 0;
    let outcome = run(task, &Arc::default(), &mut |i| {
        if good == 0 && !i.operations.is_empty() {
            OpenOptions::new().write(true).open(&path).unwrap().set_len(4096).unwrap();
        }
        good += mixed_reads(&[i]);
    })
    .unwrap();
    let RepeatOutcome::Failed(failure) = outcome.outcome else { panic!("{:?}", outcome.outcome) };
    assert_eq!(failure.kind, FailureKind::Errno(libc::EIO));
    assert!(failure.good_operations > 0 && failure.good_operations == good, "{failure:?}, {good} reported");
}

#[test]
fn a_data_set_without_room_is_an_error() {
    let (_directory, path) = scratch();
    filled(&path, 8192);
    let target = IoTarget::Files(open(&path, 3, 8192, false, 0));
    let crowded = Workload { jobs: 3, ..workload() };
    let error = run(
        task(crowded, EngineKind::Psync, operations(1), target),
        &Arc::new(AtomicBool::new(false)),
        &mut |_| {},
    )
    .unwrap_err();
    assert!(error.to_string().contains("8192 bytes has no room for one block of 4096"), "{error}");
}

/// One stamp ended an operation and began the next, so the driver's work between two operations counted as the
/// storage's: a tenth of a read from the page cache.
#[test]
fn the_drivers_time_between_fast_operations_is_not_latency() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data");
    filled(&path, 1 << 20);
    in_some_attempt(|| {
        let target = IoTarget::Files(open(&path, 1, 1 << 20, false, 0));
        let mut task = task(workload(), EngineKind::Psync, operations(20_000), target);
        task.compare_stamps = true;
        let stamps = run_task(task).outcome.stamps.unwrap();
        // By the program's stamps, and by separate ones.
        let [batch, each] = [stamps.batch, stamps.each].map(|h| h.percentile_ns(50.0).unwrap());
        let same = batch.abs_diff(each) * 50 <= each;
        same.then_some(()).ok_or_else(|| format!("p50 of {batch} ns instead of {each} ns"))
    });
}
