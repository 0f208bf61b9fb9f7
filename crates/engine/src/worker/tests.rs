//! Tests of the worker: what it releases, when, and what counts as the storage's time.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicUsize;
use std::thread;
use std::time::{Duration, Instant};

use model::{BlockSizes, Distribution, Modifiers, Operation, OperationStats, ReadFirst, SyncRule};

use super::*;
use crate::clock::{VirtualClock, monotonic_ns};
use crate::engines::psync::Psync;
use crate::engines::sim::{self, SimEnd, SimFault};
use crate::sim::SimModel;
use crate::verify::Generations;

/// Random 4 KiB reads at depth 4, without a limit.
fn workload() -> Workload {
    Workload {
        pattern: Pattern::Random { distribution: Distribution::Uniform, repeats: true },
        iodepth: 4,
        ..Workload::random_reads()
    }
}

fn spec(workload: Workload, file: File) -> WorkerSpec {
    WorkerSpec {
        index: 0,
        workers: 1,
        workload: Arc::new(workload),
        limits: Limits { time_ns: None, operations: None, bytes: None },
        ramp_ns: 0,
        interval_ns: 100_000_000,
        max_errors: 1,
        seed: 1,
        start: 0.0,
        compare_stamps: false,
        files: Arc::new(vec![file]),
        file_bytes: 1 << 20,
        writable: true,
        generations: None,
        sim: None,
        flow: None,
        turns: None,
    }
}

/// Collects the intervals delivered to it.
struct Collected(Vec<WorkerInterval>);

impl IntervalSink for Collected {
    fn exchange(&mut self, _: &mut Box<WorkerInterval>) -> bool {
        false
    }

    fn deliver(&mut self, full: Box<WorkerInterval>) {
        self.0.push(*full);
    }
}

fn first<E: Engine>(workload: &Workload) -> Box<WorkerInterval> {
    Box::new(WorkerInterval::new(&Worker::<E>::recorders(workload)))
}

/// Accepts operations, and responds to a reap as the constant states: 0 never completes any, 1 fails, 2 panics, 3
/// completes them all. `TORN_DOWN` counts the dropped engines of each kind.
struct Trap<const HOW: usize>(VirtualClock, Vec<Completion>);

static TORN_DOWN: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

impl<const HOW: usize> Drop for Trap<HOW> {
    fn drop(&mut self) {
        TORN_DOWN[HOW].fetch_add(1, Ordering::Relaxed);
    }
}

impl<const HOW: usize> Engine for Trap<HOW> {
    type Clock = VirtualClock;

    const SYNCHRONOUS: bool = false;

    fn open(_: &Setup<'_>) -> io::Result<(Self, VirtualClock)> {
        let clock = VirtualClock::default();
        Ok((Self(clock.clone(), Vec::new()), clock))
    }

    fn submit(&mut self, batch: &[Request], _: &mut Vec<Completion>) -> io::Result<usize> {
        self.1.extend(batch.iter().map(|r| Completion { slot: r.slot, result: i64::from(r.len) }));
        Ok(batch.len())
    }

    fn reap(&mut self, _: usize, timeout_ns: u64, out: &mut Vec<Completion>) -> io::Result<()> {
        self.0.advance_to(self.0.now() + timeout_ns.max(1));
        match HOW {
            0 => {}
            1 => return Err(io::Error::other("broken")),
            2 => panic!("a panic with operations in flight"),
            _ => out.append(&mut self.1),
        }
        Ok(())
    }
}

/// Runs a worker on that engine over the write end of a pipe: whether engine and file were released.
fn is_released<const HOW: usize>() -> (bool, bool) {
    let (mut reader, writer) = io::pipe().unwrap();
    let mut spec = spec(workload(), File::from(OwnedFd::from(writer)));
    spec.limits.operations = Some(100);
    let signals = Signals::default();
    let before = TORN_DOWN[HOW].load(Ordering::Relaxed);
    let worker = Worker::<Trap<HOW>>::new(spec, &signals).unwrap();
    let recorders = first::<Trap<HOW>>(&workload());
    let run = std::panic::AssertUnwindSafe(|| worker.run(0, recorders, &mut Collected(vec![])));
    let ended = std::panic::catch_unwind(run);
    if HOW == 3 {
        assert!(!ended.unwrap().unwrap().hung);
    }
    let engine = TORN_DOWN[HOW].load(Ordering::Relaxed) > before;
    // A pipe without a writer ends; one that still has a writer would block. A worker of another test holds a
    // copy of whatever was open when it started, until it ends: the release is waited for.
    rustix::io::ioctl_fionbio(&reader, true).unwrap();
    let until = Instant::now() + TIMEOUT;
    let mut file = reader.read(&mut [0]).is_ok();
    while HOW == 3 && !file && Instant::now() < until {
        thread::sleep(Duration::from_millis(1));
        file = reader.read(&mut [0]).is_ok();
    }
    (engine, file)
}

/// How long the workers of other tests may take to end.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Takes a nanosecond per byte and `SYNC_NS` per sync.
struct ByLength(VirtualClock);

const SYNC_NS: u64 = 777;

impl Engine for ByLength {
    type Clock = VirtualClock;

    const SYNCHRONOUS: bool = true;

    fn open(_: &Setup<'_>) -> io::Result<(Self, VirtualClock)> {
        let clock = VirtualClock::default();
        Ok((Self(clock.clone()), clock))
    }

    fn submit(&mut self, batch: &[Request], out: &mut Vec<Completion>) -> io::Result<usize> {
        self.0.advance_to(self.0.now() + SYNC_NS);
        out.extend(batch.iter().map(|sync| Completion { slot: sync.slot, result: 0 }));
        Ok(batch.len())
    }

    fn transfer(&mut self, request: &Request) -> i64 {
        self.0.advance_to(self.0.now() + u64::from(request.len));
        i64::from(request.len)
    }

    fn reap(&mut self, _: usize, _: u64, _: &mut Vec<Completion>) -> io::Result<()> {
        Ok(())
    }
}

/// Transfers with a read before each: the operations, and the total in nanoseconds.
fn with_read_first(mix: Mix, what: ReadFirst, len: u32) -> (BTreeMap<Operation, OperationStats>, u64) {
    let modifiers = Modifiers { read_first: Some(what), log_offset: true, ..Modifiers::default() };
    let sync = SyncRule { every: 0, data_only: false, at_end: true };
    let work = Workload { mix, block: BlockSizes::uniform(len), modifiers, sync, ..workload() };
    let mut spec = spec(work.clone(), File::open("/dev/null").unwrap());
    spec.limits.operations = Some(TRANSFERS);
    let signals = Signals::default();
    let worker = Worker::<ByLength>::new(spec, &signals).unwrap();
    let mut collected = Collected(Vec::new());
    let report = worker.run(0, first::<ByLength>(&work), &mut collected).unwrap();
    let kept = &report.offset_log.values().next().unwrap().kept;
    assert!(kept.len() as u64 == TRANSFERS && kept.iter().all(|target| target.ns == u64::from(len)));
    (collected.0.last().unwrap().finish(), report.end_ns)
}

const TRANSFERS: u64 = 16;

/// Blocks that take less, and more, than the time from which one stamp serves two operations.
#[test]
fn a_preceding_read_counts_neither_in_time_nor_in_rate() {
    for len in [8192, 65536] {
        let ns = u64::from(len);
        let (done, whole_ns) = with_read_first(Mix::Transfer { read_percent: 100 }, ReadFirst::Page, len);
        let reads = &done[&Operation::Read];
        assert_eq!((reads.count, reads.bytes), (TRANSFERS, TRANSFERS * ns));
        assert_eq!((reads.lat.min_ns(), reads.lat.max_ns()), (Some(ns), Some(ns)));
        assert_eq!((reads.lat.sum_ns(), reads.active_ns), (TRANSFERS * ns, TRANSFERS * ns));
        assert_eq!(whole_ns, TRANSFERS * (4096 + ns), "the total time includes the pages");

        let (done, whole_ns) = with_read_first(Mix::Transfer { read_percent: 0 }, ReadFirst::Block, len);
        let (writes, syncs) = (&done[&Operation::Write], &done[&Operation::Sync]);
        assert_eq!((writes.lat.min_ns(), writes.lat.max_ns()), (Some(ns), Some(ns)));
        assert_eq!((syncs.count, syncs.lat.max_ns()), (1, Some(SYNC_NS)));
        assert_eq!(writes.active_ns, TRANSFERS * ns + SYNC_NS, "including the sync that makes them durable");
        assert_eq!(whole_ns, TRANSFERS * 2 * ns + SYNC_NS);
    }
}

#[test]
fn writes_without_syncs_do_not_overflow_their_counter() {
    let writes = Workload { mix: Mix::Transfer { read_percent: 0 }, ..workload() };
    let mut spec = spec(writes.clone(), File::open("/dev/null").unwrap());
    spec.limits.operations = Some(10);
    let signals = Signals::default();
    let mut worker = Worker::<sim::Sim>::new(spec, &signals).unwrap();
    worker.writes_since_sync = u32::MAX;
    worker.run(0, first::<sim::Sim>(&writes), &mut Collected(vec![])).unwrap();
}

/// One read in a worker that wakes `LATE_NS` after the common start: its latency.
fn first_latency_ns(pace: Pace) -> u64 {
    let file = tempfile::tempfile().unwrap();
    file.set_len(1 << 20).unwrap();
    let workload = Workload { pace, iodepth: 1, ..workload() };
    let mut spec = spec(workload.clone(), file);
    spec.limits.operations = Some(1);
    let signals = Signals::default();
    let worker = Worker::<Psync>::new(spec, &signals).unwrap();
    let mut collected = Collected(Vec::new());
    let shared_start_ns = monotonic_ns() - LATE_NS;
    worker.run(shared_start_ns, first::<Psync>(&workload), &mut collected).unwrap();
    let operations = collected.0.last().unwrap().finish();
    operations[&Operation::Read].lat.max_ns().unwrap()
}

const LATE_NS: u64 = 2_000_000_000;

#[test]
fn a_late_wake_up_counts_only_in_an_open_loop() {
    let closed = (0..10).map(|_| first_latency_ns(Pace::Closed)).min().unwrap();
    assert!(closed < LATE_NS / 2, "{closed}");
    let open = first_latency_ns(Pace::Fixed { per_second: 1.0 });
    assert!(open >= LATE_NS, "{open}");
}

#[test]
fn dropped_and_abandoned_writes_do_not_stay_in_flight() {
    let fault = SimFault { operation: 40, forever: true, end: SimEnd::Never };
    for faults in [vec![], vec![fault]] {
        let generations = Arc::new(Generations::new(1, 1 << 20, 4096));
        let writes = Workload { mix: Mix::Transfer { read_percent: 0 }, iodepth: 16, ..workload() };
        let mut spec = spec(writes.clone(), File::open("/dev/null").unwrap());
        spec.generations = Some(Arc::clone(&generations));
        spec.limits.time_ns = Some(5_000_000);
        let hangs = !faults.is_empty();
        spec.sim = Some(SimModel { takes: 1, faults, ..SimModel::default() });
        let signals = Signals::default();
        let worker = Worker::<sim::Sim>::new(spec, &signals).unwrap();
        let report = worker.run(0, first::<sim::Sim>(&writes), &mut Collected(vec![])).unwrap();
        assert_eq!(report.hung, hangs);
        assert!((0..256).all(|block| !generations.is_in_flight(block * 4096)));
    }
}

/// An early return used to tear down the engine and unmap the buffers while the kernel still wrote into them; the
/// files of an abandoned worker were closed as well.
#[test]
fn only_what_the_kernel_may_still_use_is_leaked() {
    assert_eq!(is_released::<0>(), (false, false), "hung");
    assert_eq!(is_released::<1>(), (false, false), "broken");
    assert_eq!(is_released::<2>(), (false, false), "panicked");
    assert_eq!(is_released::<3>(), (true, true), "ended well");
}
