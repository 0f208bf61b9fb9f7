//! Single operations with logged offsets, and reads before operations: on real files.

use std::path::Path;

use crate::common::*;
use engine::IoTarget;
use model::*;

const MIB: u64 = 1 << 20;

/// Spaced transfers of 64 KiB with logged offsets.
fn spaced(read_percent: u8, count: u32, read_first: Option<ReadFirst>) -> Workload {
    Workload {
        mix: Mix::Transfer { read_percent },
        pattern: Pattern::Spaced { count },
        block: BlockSizes::uniform(65536),
        modifiers: Modifiers { log_offset: true, read_first, ..Modifiers::default() },
        ..workload()
    }
}

fn on_file(path: &Path, workload: Workload, engine: EngineKind, stop: Stop) -> Done {
    let files = open(path, workload.jobs, 4 * MIB, workload.writes_data(), 0);
    run_task(task(workload, engine, stop, IoTarget::Files(files)))
}

#[test]
fn each_offset_is_logged_with_the_latency_of_its_operation() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data");
    filled(&path, 4 << 20);
    for engine in [EngineKind::Psync, EngineKind::Libaio] {
        let done = on_file(&path, spaced(100, 16, None), engine, operations(16));
        let offset_log = &done.outcome.offset_log[&Operation::Read];
        let offsets: Vec<u64> = offset_log.kept.iter().map(|p| p.offset).collect();
        // From the start to the last offset at which a block fits, in steps of pages.
        let starts = (4 * MIB - 65536) / 4096 + 1;
        let expected: Vec<u64> = (0..16).map(|i| i * starts / 16 * 4096).collect();
        assert_eq!(offsets, expected, "{engine}");
        assert_eq!(offset_log.left_out, 0);
        assert!(offset_log.kept.iter().all(|p| p.bytes == 65536));
        let lat = done.of(Operation::Read).lat;
        assert_eq!(offset_log.kept.iter().map(|p| p.ns).max(), lat.max_ns());
        assert_eq!(offset_log.kept.iter().map(|p| p.ns).min(), lat.min_ns());
    }
}

#[test]
fn offsets_beyond_the_limit_are_counted_and_the_ramp_is_omitted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data");
    filled(&path, 4 << 20);
    let many = OffsetLog::MOST as u64 + 1000;
    let random = Workload { jobs: 2, ..spaced(100, 16, None) };
    let done = on_file(&path, random, EngineKind::Psync, operations(many));
    let offset_log = &done.outcome.offset_log[&Operation::Read];
    assert_eq!((offset_log.kept.len(), offset_log.left_out), (OffsetLog::MOST, 1000));
    in_some_attempt(|| {
        let files = IoTarget::Files(open(&path, 1, 4 * MIB, false, 0));
        let mut ramped = task(spaced(100, 16, None), EngineKind::Psync, time(50 * MS), files);
        ramped.ramp_ns = 50 * MS;
        let done = run_task(ramped);
        let measured = done.totals(|i| i.phase == Phase::Measure);
        let Some(reads) = measured.get(&Operation::Read) else {
            return Err("it woke too late to read anything".to_owned());
        };
        let offset_log = &done.outcome.offset_log[&Operation::Read];
        assert_eq!(offset_log.kept.len() as u64 + offset_log.left_out, reads.count);
        Ok(())
    });
}

#[test]
fn offsets_are_not_logged_without_a_request() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data");
    filled(&path, 4 << 20);
    let plain = Workload { modifiers: Modifiers::default(), ..spaced(100, 16, None) };
    assert!(on_file(&path, plain, EngineKind::Psync, operations(16)).outcome.offset_log.is_empty());
}

#[test]
fn a_write_back_keeps_the_content() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data");
    filled(&path, 4 << 20);
    let before = std::fs::read(&path).unwrap();
    let back = spaced(0, 70, Some(ReadFirst::Block));
    let done = on_file(&path, back.clone(), EngineKind::Psync, operations(140));
    assert_eq!(done.of(Operation::Write).bytes, 140 * 65536);
    assert_eq!(done.outcome.offset_log[&Operation::Write].kept.len(), 140);
    assert!(std::fs::read(&path).unwrap() == before);
    // Without the preceding read, the data differ: the test can fail.
    let plain = Workload { modifiers: Modifiers::default(), ..back };
    on_file(&path, plain, EngineKind::Psync, operations(1));
    assert!(std::fs::read(&path).unwrap() != before);
}

#[test]
fn the_write_back_rate_includes_the_last_sync_but_not_reads() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data");
    filled(&path, 4 << 20);
    let sync = SyncRule { every: 0, data_only: false, at_end: true };
    let back = Workload { sync, ..spaced(0, 16, Some(ReadFirst::Block)) };
    let done = on_file(&path, back, EngineKind::Psync, operations(16));
    let (writes, syncs) = (done.of(Operation::Write), done.of(Operation::Sync));
    assert_eq!(syncs.count, 1);
    let own = writes.lat.sum_ns() + syncs.lat.sum_ns();
    assert!(writes.active_ns >= own && writes.active_ns < done.outcome.window_ns, "{writes:?} {syncs:?}");
}

/// A block that cannot be read must not be overwritten with different content.
#[test]
fn an_unreadable_block_is_not_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data");
    // Shorter than the set: the middle block exists only in part, those after it do not exist.
    filled(&path, 2 << 20 | 1000);
    let before = std::fs::read(&path).unwrap();
    let done = on_file(&path, spaced(0, 64, Some(ReadFirst::Block)), EngineKind::Psync, operations(64));
    assert_eq!(done.failure().operation, Operation::Read);
    assert_eq!(done.failure().kind, FailureKind::NoData);
    let failed_at = done.failure().offset.unwrap();
    assert!(failed_at + 65536 > before.len() as u64 && failed_at < before.len() as u64, "{failed_at}");
    assert!(std::fs::read(&path).unwrap() == before);
}

#[test]
fn a_preceding_page_read_counts_only_in_the_window() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data");
    filled(&path, 4 << 20);
    let done = on_file(&path, spaced(100, 16, Some(ReadFirst::Page)), EngineKind::Psync, operations(16));
    let reads = done.of(Operation::Read);
    assert_eq!((reads.count, reads.bytes), (16, 16 * 65536));
    assert_eq!(reads.active_ns, reads.lat.sum_ns(), "the rate refers to the reads' own time");
    assert!(done.queue_depth() < 1.0, "{}", done.queue_depth());
}

/// An engine that skips the preceding read would overwrite what is to be preserved.
#[test]
fn an_engine_that_cannot_read_first_does_not_start() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data");
    filled(&path, 4 << 20);
    let before = std::fs::read(&path).unwrap();
    let paced = Workload { pace: Pace::Fixed { per_second: 1e4 }, ..spaced(0, 16, Some(ReadFirst::Block)) };
    for (workload, engine) in
        [(spaced(0, 16, Some(ReadFirst::Block)), EngineKind::Libaio), (paced, EngineKind::Psync)]
    {
        let files = open(&path, 1, 4 * MIB, true, 0);
        let task = task(workload, engine, operations(16), IoTarget::Files(files));
        let result = engine::run(task, &std::sync::Arc::default(), &mut |_| {});
        assert!(result.is_err_and(|e| e.to_string().contains("read something first")), "{engine}");
    }
    assert!(std::fs::read(&path).unwrap() == before);
}
