//! Plain calls and repeated passes on real files: the counts, and the content on disk.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::common::*;
use engine::{IoTarget, OpenFiles};
use model::*;

const KIB: u64 = 1024;
const BLOCK: u64 = 8 * KIB;
const SIZE: u64 = 64 * KIB;

fn scratch() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("data");
    (directory, path)
}

/// Sequential work in blocks of 8 KiB.
fn in_blocks(mix: Mix) -> Workload {
    Workload { mix, pattern: Pattern::Sequential, block: BlockSizes::uniform(BLOCK as u32), ..workload() }
}

const READS: Mix = Mix::Transfer { read_percent: 100 };
const WRITES: Mix = Mix::Transfer { read_percent: 0 };

fn in_calls(mix: Mix, bytes: u32, buffer_bytes: u32) -> Workload {
    let modifiers = Modifiers { calls: Some(Calls { bytes, buffer_bytes }), ..Modifiers::default() };
    Workload { modifiers, ..in_blocks(mix) }
}

fn bytes(n: u64) -> Stop {
    Stop { bytes: Some(n), ..Stop::default() }
}

fn on(path: &Path, workload: Workload, stop: Stop) -> Done {
    let target = IoTarget::Files(open(path, workload.jobs, SIZE, workload.modifies(), 0));
    run_task(task(workload, EngineKind::Psync, stop, target))
}

/// True if the file has its size and was written everywhere: in random data, no eight bytes in a row are zeros.
fn has_no_gap(path: &Path) -> bool {
    let content = std::fs::read(path).unwrap();
    content.len() as u64 == SIZE && content.chunks(8).all(|eight| eight.iter().any(|byte| *byte != 0))
}

#[test]
fn a_rewrite_changes_one_byte_per_block_and_counts_both_ways() {
    let (_directory, path) = scratch();
    filled(&path, SIZE as usize);
    let before = std::fs::read(&path).unwrap();
    let sync = SyncRule { every: 0, data_only: false, at_end: true };
    let rewrite = Workload { sync, ..in_blocks(Mix::Update { write_percent: 100 }) };
    let done = on(&path, rewrite, bytes(SIZE));
    assert_eq!(done.outcome.outcome, RepeatOutcome::Completed);
    for operation in [Operation::Read, Operation::Write] {
        let stats = done.of(operation);
        assert_eq!((stats.count, stats.bytes, stats.lat.count()), (SIZE / BLOCK, SIZE, SIZE / BLOCK));
    }
    assert_eq!(done.of(Operation::Sync).count, 1);
    let after = std::fs::read(&path).unwrap();
    for (number, (old, new)) in before.chunks(BLOCK as usize).zip(after.chunks(BLOCK as usize)).enumerate() {
        let changed: Vec<usize> = (0..old.len()).filter(|at| old[*at] != new[*at]).collect();
        assert_eq!(changed, [number], "block {number}");
        assert_eq!(new[number], old[number].wrapping_add(1));
    }
}

#[test]
fn a_tenth_of_random_reads_is_written_back_durably_on_request() {
    let (_directory, path) = scratch();
    filled(&path, SIZE as usize);
    let pattern = Pattern::Random { distribution: Distribution::Uniform, repeats: true };
    let sync = SyncRule { every: 1, data_only: false, at_end: false };
    let mix = Mix::Update { write_percent: 10 };
    let seeks = Workload { pattern, jobs: 5, regions: Regions::Shared, ..in_blocks(mix) };
    let done = on(&path, seeks.clone(), operations(8192));
    assert_eq!(done.of(Operation::Read).count, 8192);
    let written = done.of(Operation::Write).count;
    // Six standard deviations of a binomial distribution on each side.
    assert!((657..=982).contains(&written), "{written}");
    let done = on(&path, Workload { sync, ..seeks }, operations(100));
    let (writes, durable) = (done.of(Operation::Write), done.of(Operation::DurableWrite));
    assert_eq!((durable.count, durable.bytes), (writes.count, writes.bytes));
    assert_eq!(done.of(Operation::Sync).count, writes.count);
    let none = on(&path, in_blocks(Mix::Update { write_percent: 0 }), operations(10));
    assert_eq!((none.of(Operation::Read).count, none.of(Operation::Write).count), (10, 0));
}

#[test]
fn a_block_is_one_operation_however_many_calls_move_it() {
    for (call, buffer) in [(1, 0), (512, 0), (1, 4096), (1, 1000), (1024, 4096), (8192, 4096)] {
        let (_directory, path) = scratch();
        std::fs::write(&path, "").unwrap();
        let done = on(&path, in_calls(WRITES, call, buffer), bytes(SIZE));
        let stats = done.of(Operation::Write);
        assert_eq!((stats.count, stats.bytes, stats.short), (SIZE / BLOCK, SIZE, 0), "{call} {buffer}");
        assert!(has_no_gap(&path), "{call} {buffer}");
        let done = on(&path, in_calls(READS, call, buffer), bytes(SIZE));
        let stats = done.of(Operation::Read);
        assert_eq!((stats.count, stats.bytes, stats.short), (SIZE / BLOCK, SIZE, 0), "{call} {buffer}");
    }
}

/// Number of system calls that the kernel counts for this process while `work` runs.
fn system_calls(work: impl FnOnce()) -> (u64, u64) {
    let counted = || {
        let text = std::fs::read_to_string("/proc/self/io").unwrap();
        let of = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap();
            line.trim().parse::<u64>().unwrap()
        };
        (of("syscr:"), of("syscw:"))
    };
    let before = counted();
    work();
    let after = counted();
    (after.0 - before.0, after.1 - before.1)
}

/// The streams' own tests show that nothing else reaches the kernel.
#[test]
fn each_byte_is_a_system_call_without_a_stream() {
    // The kernel counts the calls of the whole process.
    if !testing::alone("calls::each_byte_is_a_system_call_without_a_stream") {
        return;
    }
    let (_directory, path) = scratch();
    std::fs::write(&path, "").unwrap();
    let (_, writes) = system_calls(|| drop(on(&path, in_calls(WRITES, 1, 0), bytes(SIZE))));
    assert!(writes >= SIZE, "{writes}");
    let (reads, _) = system_calls(|| drop(on(&path, in_calls(READS, 1, 0), bytes(SIZE))));
    assert!(reads >= SIZE, "{reads}");
}

#[test]
fn passes_are_whole_and_repeat_for_the_minimum_time() {
    const LEAST_NS: u64 = 500 * MS;
    let (_directory, path) = scratch();
    for empties in [false, true] {
        filled(&path, SIZE as usize);
        let again = Some(Again { least_ns: LEAST_NS, empties });
        let sync = SyncRule { every: 0, data_only: false, at_end: true };
        let modifiers = Modifiers { again, ..Modifiers::default() };
        let work = Workload { sync, modifiers, ..in_blocks(WRITES) };
        let done = on(&path, work, bytes(SIZE / 2));
        let (writes, syncs) = (done.of(Operation::Write), done.of(Operation::Sync));
        assert!(done.outcome.whole_ns >= LEAST_NS);
        // On a slow disk, one pass of 32 KiB with its sync may last long enough.
        let own_ns = writes.lat.sum_ns() + syncs.lat.sum_ns();
        assert!(syncs.count > 1 || own_ns >= LEAST_NS / 2, "{own_ns} ns in {} passes", syncs.count);
        assert_eq!(writes.bytes, syncs.count * SIZE / 2, "each pass is whole and has one sync");
        let left = std::fs::metadata(&path).unwrap().len();
        assert_eq!(
            left,
            if empties && syncs.count > 1 { SIZE / 2 } else { SIZE },
            "emptied before each further pass: {empties}"
        );
    }
    // One pass suffices if it lasts long enough.
    let again = Some(Again { least_ns: 0, empties: false });
    let once = Workload { modifiers: Modifiers { again, ..Modifiers::default() }, ..in_blocks(READS) };
    assert_eq!(on(&path, once, bytes(SIZE / 2)).of(Operation::Read).bytes, SIZE / 2);
}

#[test]
fn a_time_limit_ends_passes() {
    let (_directory, path) = scratch();
    filled(&path, SIZE as usize);
    let again = Some(Again { least_ns: 3600 * SECOND, empties: false });
    let work = Workload { modifiers: Modifiers { again, ..Modifiers::default() }, ..in_blocks(READS) };
    in_some_attempt(|| {
        let done = on(&path, work.clone(), Stop { time_ns: Some(100 * MS), ..bytes(SIZE) });
        assert_eq!(done.outcome.outcome, RepeatOutcome::Completed);
        let bytes = done.of(Operation::Read).bytes;
        (bytes > SIZE).then_some(()).ok_or_else(|| format!("{bytes} bytes of more than {SIZE}"))
    });
}

#[test]
fn short_files_and_full_storage_are_failures() {
    let (_directory, path) = scratch();
    filled(&path, (SIZE / 2) as usize);
    for (work, good) in [(in_calls(READS, 1, 0), SIZE / 2), (in_calls(READS, 1, 4096), SIZE / 2)] {
        let done = on(&path, work, bytes(SIZE));
        assert_eq!(done.failure().kind, FailureKind::NoData);
        assert_eq!((done.failure().good_bytes, done.failure().offset), (good, Some(SIZE / 2)));
    }
    let update = in_blocks(Mix::Update { write_percent: 100 });
    assert_eq!(on(&path, update, bytes(SIZE)).failure().operation, Operation::Read);
    for calls in [(1, 0), (1, 4096), (4096, 4096)] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let files =
            OpenFiles { per_job: vec![vec![full]], file_bytes: SIZE, writable: true, generations: None };
        let work = in_calls(WRITES, calls.0, calls.1);
        let done = run_task(task(work, EngineKind::Psync, bytes(SIZE), IoTarget::Files(files)));
        let failure = done.failure();
        assert_eq!((&failure.kind, failure.operation), (&FailureKind::Errno(libc::ENOSPC), Operation::Write));
        assert_eq!(failure.good_bytes, 0);
    }
}

#[test]
fn a_stream_over_several_files_separates_their_bytes() {
    let (directory, _) = scratch();
    let paths = [directory.path().join("a"), directory.path().join("b")];
    let mut files: Vec<std::fs::File> = paths
        .iter()
        .map(|path| {
            std::fs::File::options().create(true).truncate(true).read(true).write(true).open(path).unwrap()
        })
        .collect();
    let copies = files.iter().map(|file| file.try_clone().unwrap()).collect();
    let open = OpenFiles { per_job: vec![copies], file_bytes: SIZE, writable: true, generations: None };
    // The buffer does not divide a file: what it holds at the end of one must not enter the next.
    let work = in_calls(WRITES, 1, 5000);
    let done = run_task(task(work, EngineKind::Psync, bytes(2 * SIZE), IoTarget::Files(open)));
    assert_eq!(done.of(Operation::Write).bytes, 2 * SIZE);
    for (file, path) in files.iter_mut().zip(&paths) {
        assert!(has_no_gap(path), "{}", path.display());
        file.seek(SeekFrom::Start(SIZE)).unwrap();
        assert_eq!(file.read(&mut [0]).unwrap(), 0, "nothing is after its end");
    }
}
