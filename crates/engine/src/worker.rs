//! The loop that drives an engine: draws operations, stamps them, submits, reaps, records.
//!
//! All timing is done here. Memory is set up before the first operation; the loop itself neither allocates nor
//! locks. Time stamps are taken per batch: one before a submission, one after it (for engines that separate
//! submission from service), one after a reap.
//!
//! A worker that waits for the storage submits its requests one by one and polls for completions in between: on a real
//! disk at depth 32 that gives a tenth more operations per second than whole batches, because the storage gets each
//! request at once. A worker whose completions arrive without waiting submits batches: then the processor is the limit.
//! Each worker thread has a separate table of file descriptors, which saves the kernel the counting of their uses.
//!
//! A worker is set up (engine open, memory touched, content made) before it reports ready; all start at one time stamp.
//! One that hangs in the kernel is abandoned after a timeout, and its memory is leaked on purpose: the kernel may still
//! write to it.

mod complete;
mod completion_batch;
pub(crate) mod draws;
mod failures;
mod issue;
mod offset_log;
mod one_by_one;
mod pauses;
mod slices;
mod spec;
mod syncs;

use std::collections::BTreeMap;
use std::io;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::{CacheState, IntegrityCheck, Mix, OpenSync, Operation, Pace, Pattern, Workload};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::buffers::Buffers;
use crate::clock::{Clock, thread_cpu_ns};
use crate::content::Content;
use crate::engines::{Completion, Engine, Request, Setup};
use crate::locked_memory::registers_buffers;
use crate::pace::Arrivals;
use crate::recorder::{IntervalSink, Latencies, Timeline, WorkerInterval};
use crate::slots::Slots;
use crate::stamps::StampRecorder;
use draws::Draws;
use offset_log::{OffsetLogger, can_read_first};
pub(crate) use pauses::Flow;
use pauses::{DepthControl, Pauses};
use slices::Slices;
pub(crate) use spec::{Limits, Region, Signals, Stock, WorkerFailure, WorkerReport, WorkerSpec};

/// How often a waiting worker checks the stop flag.
const STOP_POLL_NS: u64 = 100_000_000;
/// Shorter waits for a due operation are polled: the kernel's timers are less accurate.
const POLL_NS: u64 = 60_000;
/// For this number of loop iterations after it had to wait, a worker counts as limited by the device.
const DEVICE_BOUND: u32 = 64;
/// Attempts to draw a block that is not being written, before an operation on a verified set waits.
const DRAWS: usize = 8;

/// The state of a worker's syncs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SyncState {
    /// No sync is pending.
    Idle,
    /// No new operation starts until those in flight have completed.
    Draining,
    /// The number of syncs in flight.
    Syncing(u32),
}

/// A worker that is ready to start: engine open, memory touched, offsets and content prepared.
///
/// However it ends, including by a panic or an early return: while the kernel holds operations, the engine, the
/// buffers that they use and the files that they belong to are leaked on purpose. The kernel may still write into
/// the buffers, and tearing down the engine or closing a file could wait for ever.
pub(crate) struct Worker<'a, E: Engine> {
    spec: ManuallyDrop<WorkerSpec>,
    signals: &'a Signals,
    engine: ManuallyDrop<E>,
    clock: E::Clock,
    buffers: ManuallyDrop<Buffers>,
    slots: Slots,
    draws: Draws,
    content: Content,
    rng: Xoshiro256PlusPlus,
    arrivals: Arrivals,
    batch: Vec<Request>,
    completed: Vec<Completion>,
    in_flight: u64,
    /// When the last completions arrived, or the first operations after an idle time were submitted.
    alive_ns: u64,
    /// When the request to stop was noticed while operations were in flight.
    interrupted_ns: Option<u64>,
    operations_left: u64,
    bytes_left: u64,
    deadline_ns: u64,
    sync: SyncState,
    /// Counted only if the workload syncs after a number of writes.
    writes_since_sync: u32,
    dirty: Vec<bool>,
    /// Intended starts and bytes of writes that no sync covers yet.
    unsynced: Vec<(u64, u64)>,
    /// Arrivals that were drawn and never submitted to the engine.
    dropped_arrivals: u64,
    /// Not 0 while the worker has recently had to wait for completions, so that the storage is the limit.
    device_bound: u32,
    pauses: Pauses,
    /// Only if the task takes turns with others.
    slices: Option<Slices>,
    /// Only with a latency target.
    depth: Option<DepthControl>,
    /// Only transfers: no sync between two operations.
    only_transfers: bool,
    /// Only free slots and limits keep an operation from starting: there are no pauses, shares or latency
    /// targets, and nothing is to be evicted before it.
    is_unhindered: bool,
    /// A successful transfer is only counted: nothing is verified, logged or read before it either.
    is_plain: bool,
    /// Only if offsets are logged.
    offset_log: Option<Box<OffsetLogger>>,
    /// Something is read before each operation: its rate refers to its own time.
    reads_first: bool,
    integrity: IntegrityCheck,
    /// Only if stamps are compared.
    stamps: Option<Box<StampRecorder>>,
    failure: Option<WorkerFailure>,
}

impl<E: Engine> Drop for Worker<'_, E> {
    fn drop(&mut self) {
        if self.in_flight > 0 {
            return;
        }
        // SAFETY: nothing is used after this. The engine is dropped first: through it the kernel knows the
        // buffers and the files.
        unsafe {
            ManuallyDrop::drop(&mut self.engine);
            ManuallyDrop::drop(&mut self.buffers);
            ManuallyDrop::drop(&mut self.spec);
        }
    }
}

impl<'a, E: Engine> Worker<'a, E> {
    /// Prepares a worker: everything that takes time or memory happens here.
    ///
    /// # Errors
    /// The kernel's error for memory or the engine.
    pub fn new(mut spec: WorkerSpec, signals: &'a Signals) -> io::Result<Self> {
        let workload = Arc::clone(&spec.workload);
        let depth = if E::SYNCHRONOUS { 1 } else { workload.iodepth as usize };
        let Stock { buffers, content, mut rng } = Stock::of(&spec, depth, workload.writes_data())?;
        let region = Region::of(&spec);
        let only_transfers = workload.sync.every == 0 && matches!(workload.mix, Mix::Transfer { .. });
        let mut pauses = Pauses::new(workload.modifiers.think, spec.flow.clone());
        pauses.weigh(workload.modifiers.flow);
        let control = workload.modifiers.latency_target.map(|target| DepthControl::new(target, depth));
        let is_unhindered = pauses.are_none() && control.is_none() && workload.cache != CacheState::ColdEach;
        can_read_first::<E>(&workload, only_transfers && is_unhindered)?;
        let (engine, clock) = E::open(&Setup {
            files: &spec.files,
            file_bytes: spec.file_bytes,
            iodepth: depth as u32,
            buffers: &buffers,
            register_buffers: registers_buffers(&workload),
            writable: spec.writable,
            random: !matches!(workload.pattern, Pattern::Sequential),
            sim: spec.sim.as_ref(),
        })?;
        let mut draws = Draws::new(&workload, region, &mut rng);
        draws.start_at(spec.start);
        let aside = || Box::new(WorkerInterval::new(&Self::recorders(&workload)));
        let slices = spec.turns.take().map(|turns| Slices::new(turns, aside()));
        Ok(Self {
            draws,
            slots: Slots::new(depth),
            batch: Vec::with_capacity(depth),
            completed: Vec::with_capacity(depth),
            in_flight: 0,
            alive_ns: 0,
            interrupted_ns: None,
            device_bound: 0,
            only_transfers,
            is_unhindered,
            pauses,
            slices,
            depth: control,
            operations_left: spec.limits.operations.unwrap_or(u64::MAX),
            bytes_left: spec.limits.bytes.unwrap_or(u64::MAX),
            deadline_ns: u64::MAX,
            sync: SyncState::Idle,
            writes_since_sync: 0,
            dirty: vec![false; spec.files.len()],
            unsynced: Vec::with_capacity(workload.sync.every as usize),
            dropped_arrivals: 0,
            is_plain: only_transfers
                && spec.generations.is_none()
                && !workload.modifiers.log_offset
                && workload.modifiers.read_first.is_none(),
            offset_log: OffsetLogger::new(&workload, spec.workers),
            reads_first: workload.modifiers.read_first.is_some(),
            integrity: IntegrityCheck::default(),
            stamps: spec.compare_stamps.then(Box::default),
            failure: None,
            arrivals: Arrivals::Closed,
            spec: ManuallyDrop::new(spec),
            signals,
            engine: ManuallyDrop::new(engine),
            clock,
            buffers: ManuallyDrop::new(buffers),
            content,
            rng,
        })
    }

    /// The recorders that this worker needs.
    pub fn recorders(workload: &Workload) -> Vec<(Operation, Latencies)> {
        let open_loop = workload.pace != Pace::Closed;
        let latencies = |operation: Operation| match operation {
            Operation::Read | Operation::Write => {
                Latencies { slat: !E::SYNCHRONOUS, clat: !E::SYNCHRONOUS || open_loop }
            }
            _ => Latencies::ONLY_LAT,
        };
        workload.operations().into_iter().map(|o| (o, latencies(o))).collect()
    }

    /// Runs until a limit, a failure or the user ends it. `shared_start_ns` is the common start of all workers,
    /// in the machine's monotonic time.
    ///
    /// # Errors
    /// Only if the engine itself fails; a storage failure is in the report.
    pub fn run(
        mut self,
        shared_start_ns: u64,
        first: Box<WorkerInterval>,
        sink: &mut impl IntervalSink,
    ) -> io::Result<WorkerReport> {
        let origin = self.clock.start(shared_start_ns);
        let grid = self.spec.limits.grid(self.spec.ramp_ns, self.spec.interval_ns);
        let mut timeline = Timeline::new(first, origin, grid);
        let begin = origin + self.spec.workload.modifiers.start_delay_ns;
        self.deadline_ns = self.spec.limits.time_ns.map_or(u64::MAX, |ns| begin + ns);
        self.arrivals =
            Arrivals::new(self.spec.workload.pace, self.spec.index, self.spec.workers, begin, &mut self.rng);
        let cpu = thread_cpu_ns();
        self.await_begin(begin, &mut timeline, sink);
        // Dropped at the end: then the turn is another task's.
        let mut slices = self.slices.take();
        let mut now = match &mut slices {
            None => self.issue(begin, &mut timeline, sink)?,
            Some(slices) => self.issue_in_slices(slices, begin, &mut timeline, sink)?,
        };
        if self.spec.workload.modifiers.ends_all && self.failure.is_none() && !self.signals.ended() {
            self.signals.over.store(true, Ordering::Relaxed);
        }
        // After that: the workers that it held back must not continue without it.
        self.pauses.end();
        let stopped = now;
        now = self.drain(stopped, &mut timeline, sink)?;
        let ended_well = self.failure.is_none() && !self.signals.ended();
        if ended_well && self.spec.workload.sync.at_end && self.spec.workload.writes_data() {
            let written = now;
            now = self.sync_at_end(now, &mut timeline, sink)?;
            if self.reads_first {
                timeline.current.of(Operation::Write).active_ns += now - written;
            }
        }
        let ran_out = self.signals.stops();
        if ended_well && self.deadline_ns != u64::MAX && self.limits_left() && !ran_out {
            now = now.max(self.deadline_ns);
        }
        timeline.integrate(now, self.in_flight);
        timeline.finish(now, sink);
        let Some(slices) = slices else { return Ok(self.report(origin, now, cpu)) };
        let (user, system) = slices.paused_cpu;
        let report = self.report(origin + slices.paused_ns, now, (cpu.0 + user, cpu.1 + system));
        Ok(WorkerReport { uncounted_bytes: slices.uncounted_bytes(), ..report })
    }

    fn report(mut self, origin: u64, now: u64, cpu: (u64, u64)) -> WorkerReport {
        let (user, system) = thread_cpu_ns();
        let unserved = match &mut self.arrivals {
            Arrivals::Open(open) if self.deadline_ns != u64::MAX => {
                open.drain_until(self.deadline_ns.min(now), &mut self.rng)
            }
            _ => 0,
        };
        WorkerReport {
            end_ns: now - origin,
            user_ns: user - cpu.0,
            system_ns: system - cpu.1,
            unserved: unserved + self.dropped_arrivals,
            hung: self.in_flight > 0,
            failure: self.failure.take(),
            stamps: self.stamps.as_ref().map(|stamps| Box::new(stamps.finish())),
            integrity: self.spec.generations.is_some().then(|| std::mem::take(&mut self.integrity)),
            uncounted_bytes: BTreeMap::new(),
            offset_log: self.offset_log.take().map(|offset_log| offset_log.finish()).unwrap_or_default(),
        }
    }
}

/// The open flags that a workload's files need, in addition to the access mode.
pub fn open_flags(workload: &Workload, direct: bool) -> i32 {
    let direct = if direct { libc::O_DIRECT } else { 0 };
    let sync = match workload.open_sync {
        OpenSync::None => 0,
        OpenSync::Sync => libc::O_SYNC,
        OpenSync::Dsync => libc::O_DSYNC,
    };
    direct | sync
}

#[cfg(test)]
mod tests;
