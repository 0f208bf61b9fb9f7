//! The loop that drives an engine: draws operations, stamps them, submits, reaps, records.
//!
//! All timing is done here. Memory is set up before the first operation; the loop itself neither
//! allocates nor locks. Time stamps are taken per batch: one before a submission, one after it (for
//! engines that can tell submission from service), one after a reap.

mod completion_batch;
pub(crate) mod draws;
mod failures;
mod one_by_one;
mod pauses;
mod offset_log;
mod syncs;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use model::{
    CacheState, FailureKind, IntegrityCheck, OffsetLog, Mix, OpenSync, Operation, Pace, Pattern, Regions,
    Workload,
};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::buffers::{BufferPlan, Buffers};
use crate::cache::evict_range;
use crate::clock::{Clock, thread_cpu_ns};
use crate::content::Content;
use crate::engines::{Completion, Engine, Request, Setup, Verb};
use crate::pace::Arrivals;
use crate::recorder::{IntervalSink, Kind, Latencies, Timeline, WorkerInterval};
use crate::sim::SimModel;
use crate::slots::{Slot, Slots};
use crate::stamps::{StampComparison, StampRecorder};
use crate::verify::Generations;
use completion_batch::CompletionBatch;
use draws::Draws;
pub(crate) use pauses::Flow;
use pauses::{DepthControl, Pauses};
use offset_log::{OffsetLogger, can_read_first};

/// How often a waiting worker looks at the stop flag.
const LOOK_UP_NS: u64 = 100_000_000;
/// Shorter waits for a due operation are polled: the kernel's timers are not that exact.
const POLL_NS: u64 = 60_000;
/// For so many turns of the loop after it had to wait a worker is taken to have time still.
const DEVICE_BOUND: u32 = 64;
/// Tries to draw a block that is not being written, before an operation on a verified set waits.
const DRAWS: usize = 8;

/// What all workers of a repeat watch and set.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// The user wants to stop.
    pub interrupt: Arc<AtomicBool>,
    /// A worker has met a failure that ends the repeat.
    pub abort: AtomicBool,
    /// The repeat is over before its time, and well.
    pub over: AtomicBool,
    /// Failed operations so far.
    pub errors: AtomicU64,
}

impl Signals {
    #[inline]
    pub fn ended(&self) -> bool {
        self.abort.load(Ordering::Relaxed) || self.interrupted()
    }

    /// True if no further operation is to be started.
    #[inline]
    pub fn stops(&self) -> bool {
        self.ended() || self.over.load(Ordering::Relaxed)
    }

    pub fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }
}

/// When one worker stops; all in its own share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// From the start of the repeat, the ramp included.
    pub time_ns: Option<u64>,
    pub operations: Option<u64>,
    pub bytes: Option<u64>,
}

/// Everything that one worker needs to know.
pub(crate) struct WorkerSpec {
    pub index: u32,
    pub workers: u32,
    pub workload: Arc<Workload>,
    pub limits: Limits,
    pub ramp_ns: u64,
    pub interval_ns: u64,
    pub max_errors: u64,
    pub seed: u64,
    pub compare_stamps: bool,
    pub files: Arc<Vec<File>>,
    /// Bytes of each file that are used: a multiple of the largest block.
    pub file_bytes: u64,
    pub writable: bool,
    pub generations: Option<Arc<Generations>>,
    pub sim: Option<SimModel>,
    /// How the workloads of a step share its operations, where they do.
    pub flow: Option<Arc<Flow>>,
}

/// The first failure that a worker met.
#[derive(Clone, Debug)]
pub(crate) struct WorkerFailure {
    pub kind: FailureKind,
    pub operation: Operation,
    pub offset: Option<u64>,
    /// From the start of the repeat.
    pub at_ns: u64,
}

/// What a worker has to say at its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkerReport {
    /// From the start of the repeat to the end of the last operation, a final sync included.
    pub end_ns: u64,
    pub user_ns: u64,
    pub system_ns: u64,
    pub unserved: u64,
    /// Operations were left behind in the kernel.
    pub hung: bool,
    pub failure: Option<WorkerFailure>,
    pub integrity: Option<IntegrityCheck>,
    pub stamps: Option<Box<StampComparison>>,
    /// Where its operations were, if that is kept.
    pub offset_log: BTreeMap<Operation, OffsetLog>,
}

/// The bytes of the data set that a worker works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub start: u64,
    pub len: u64,
}

impl Region {
    /// The region of worker `index`, cut at multiples of the largest block so that no two meet.
    pub fn of(spec: &WorkerSpec) -> Self {
        let unit = u64::from(spec.workload.largest_block());
        let blocks = spec.file_bytes / unit * spec.files.len() as u64;
        let cut = |i: u32| blocks * u64::from(i) / u64::from(spec.workers) * unit;
        match spec.workload.regions {
            Regions::Shared => Self { start: 0, len: blocks * unit },
            Regions::Disjoint => {
                let start = cut(spec.index);
                Self { start, len: cut(spec.index + 1) - start }
            }
            Regions::Spaced { offset_bytes, increment_bytes, len_bytes } => {
                let all = spec.file_bytes * spec.files.len() as u64;
                let start = offset_bytes + u64::from(spec.index) * increment_bytes;
                let rest = all.saturating_sub(start);
                Self { start, len: if len_bytes == 0 { rest } else { rest.min(len_bytes) } }
            }
        }
    }
}

/// What a worker is given before it starts.
pub(crate) struct Stock {
    /// Filled and touched.
    pub buffers: Buffers,
    pub content: Content,
    pub rng: Xoshiro256PlusPlus,
}

impl Stock {
    /// Buffers for so many operations in flight, with content to be written if `writes`.
    ///
    /// # Errors
    /// The kernel's refusal of memory.
    pub fn of(spec: &WorkerSpec, slots: usize, writes: bool) -> io::Result<Self> {
        let workload = &spec.workload;
        let bytes = |wanted: bool, size: u32| if wanted { size as usize } else { 0 };
        let write_bytes = bytes(writes, workload.block.write);
        let mut buffers = Buffers::new(BufferPlan {
            slots,
            read_bytes: bytes(workload.reads_data(), workload.block.read),
            write_bytes,
            duplicate: workload.data.dedupe_percent > 0,
        })?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(spec.seed ^ (u64::from(spec.index) << 32));
        let mut content = Content::new(workload.data, write_bytes, rng.random());
        content.fill(&mut buffers, write_bytes);
        buffers.touch();
        Ok(Self { buffers, content, rng })
    }
}

/// Where a worker is with its syncs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SyncState {
    /// Writing.
    Idle,
    /// No new operation until those in flight have ended.
    Draining,
    /// So many syncs in flight.
    Syncing(u32),
}

/// A worker that is ready to start: engine open, memory touched, offsets and content prepared.
///
/// However it ends, by a panic or an early return too: while the kernel holds operations, the engine,
/// the buffers that they use and the files that they belong to are leaked on purpose. The kernel may
/// still write into the buffers, and tearing down the engine or closing a file could wait for ever.
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
    /// When the last completions came, or the first operations after a time with none in flight began.
    alive_ns: u64,
    /// When the user's wish to stop was noticed while operations were in flight.
    interrupted_ns: Option<u64>,
    operations_left: u64,
    bytes_left: u64,
    deadline_ns: u64,
    sync: SyncState,
    /// Counted only if there is a sync every so many writes.
    writes_since_sync: u32,
    dirty: Vec<bool>,
    /// Intended starts and bytes of writes that no sync covers yet.
    uncovered: Vec<(u64, u64)>,
    /// Arrivals that were drawn and never handed to the engine.
    withdrawn: u64,
    /// Not 0 while the worker has lately had to wait for completions, so that the storage is what limits it.
    device_bound: u32,
    pauses: Pauses,
    /// Only if a latency is to be kept.
    depth: Option<DepthControl>,
    /// Only transfers: no sync between one and the next.
    only_transfers: bool,
    /// Nothing but room and limits keeps an operation from starting: there are no pauses, shares or latencies to
    /// keep, and nothing is to be evicted before it.
    is_unhindered: bool,
    /// A transfer that went well is only counted: nothing is verified, kept or read before it either.
    is_plain: bool,
    /// Only if places are kept.
    offset_log: Option<Box<OffsetLogger>>,
    /// Something is read before each operation: its rate is over its own time.
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
        // SAFETY: nothing is used after this. The engine goes first: through it the kernel knows the
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
    /// The kernel's refusal of memory or of the engine.
    pub fn new(spec: WorkerSpec, signals: &'a Signals) -> io::Result<Self> {
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
            writable: spec.writable,
            random: !matches!(workload.pattern, Pattern::Sequential),
            sim: spec.sim.as_ref(),
        })?;
        Ok(Self {
            draws: Draws::new(&workload, region, &mut rng),
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
            depth: control,
            operations_left: spec.limits.operations.unwrap_or(u64::MAX),
            bytes_left: spec.limits.bytes.unwrap_or(u64::MAX),
            deadline_ns: u64::MAX,
            sync: SyncState::Idle,
            writes_since_sync: 0,
            dirty: vec![false; spec.files.len()],
            uncovered: Vec::with_capacity(workload.sync.every as usize),
            withdrawn: 0,
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
    pub fn recorders(workload: &Workload) -> Vec<(Kind, Latencies)> {
        let open_loop = workload.pace != Pace::Closed;
        let latencies = |operation: Operation| match operation {
            Operation::Read | Operation::Write => {
                Latencies { slat: !E::SYNCHRONOUS, clat: !E::SYNCHRONOUS || open_loop }
            }
            _ => Latencies { slat: false, clat: false },
        };
        workload.operations().into_iter().map(|o| (Kind::of(o), latencies(o))).collect()
    }

    /// Works until a limit, a failure or the user ends it. `shared_start_ns` is when all workers start,
    /// by the machine's clock.
    ///
    /// # Errors
    /// Only if the engine itself breaks; failing storage is in the report.
    pub fn run(
        mut self,
        shared_start_ns: u64,
        first: Box<WorkerInterval>,
        sink: &mut impl IntervalSink,
    ) -> io::Result<WorkerReport> {
        let origin = self.clock.start(shared_start_ns);
        let mut timeline = Timeline::new(first, origin, self.spec.ramp_ns, self.spec.interval_ns);
        let begin = origin + self.spec.workload.modifiers.start_delay_ns;
        self.deadline_ns = self.spec.limits.time_ns.map_or(u64::MAX, |ns| begin + ns);
        self.arrivals =
            Arrivals::new(self.spec.workload.pace, self.spec.index, self.spec.workers, begin, &mut self.rng);
        let cpu = thread_cpu_ns();
        self.await_begin(begin, &mut timeline, sink);
        let mut now = self.issue(begin, &mut timeline, sink)?;
        if self.spec.workload.modifiers.ends_all && self.failure.is_none() && !self.signals.ended() {
            self.signals.over.store(true, Ordering::Relaxed);
        }
        // After that: those that it held back must not go on without it.
        self.pauses.end();
        let stopped = now;
        now = self.drain(stopped, &mut timeline, sink)?;
        let ended_well = self.failure.is_none() && !self.signals.ended();
        if ended_well && self.spec.workload.sync.at_end && self.spec.workload.writes_data() {
            let written = now;
            now = self.sync_at_end(now, &mut timeline, sink)?;
            if self.reads_first {
                timeline.current.of(Kind::Write).active_ns += now - written;
            }
        }
        let ran_out = self.signals.stops();
        if ended_well && self.deadline_ns != u64::MAX && self.limits_left() && !ran_out {
            now = now.max(self.deadline_ns);
        }
        timeline.integrate(now, self.in_flight);
        timeline.finish(now, sink);
        Ok(self.report(origin, now, cpu))
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
            unserved: unserved + self.withdrawn,
            hung: self.in_flight > 0,
            failure: self.failure.take(),
            stamps: self.stamps.as_ref().map(|stamps| Box::new(stamps.finish())),
            integrity: self.spec.generations.is_some().then(|| std::mem::take(&mut self.integrity)),
            offset_log: self.offset_log.take().map(|offset_log| offset_log.finish()).unwrap_or_default(),
        }
    }

    /// Starts and completes operations until something says stop. Returns the time.
    fn issue(
        &mut self,
        start: u64,
        timeline: &mut Timeline,
        sink: &mut impl IntervalSink,
    ) -> io::Result<u64> {
        // A thread may wake late for the common start. What it starts then starts then; only arrivals
        // of an open loop have been waiting since.
        let mut now = start.max(self.clock.now());
        let in_order = self.only_transfers && self.is_unhindered;
        if E::SYNCHRONOUS && in_order && matches!(self.arrivals, Arrivals::Closed) {
            return Ok(if self.is_plain {
                self.one_by_one::<true>(now, timeline, sink)
            } else {
                self.one_by_one_noted(now, timeline, sink)
            });
        }
        // What was drawn counts against the limits already and is done. So is a sync that has become due, even
        // if the write before it was the last.
        while now < self.deadline_ns
            && (self.limits_left() || !self.batch.is_empty() || self.sync != SyncState::Idle)
            && !self.signals.stops()
        {
            self.fill(now);
            self.submit(timeline)?;
            now = self.wait(now, timeline)?;
            timeline.roll(now, self.in_flight, sink);
            if self.completed.is_empty() && self.gives_up(now, timeline) {
                break;
            }
            self.complete(now, timeline);
        }
        Ok(now)
    }

    /// Lets what is in flight end, but does not wait for ever.
    fn drain(
        &mut self,
        stopped: u64,
        timeline: &mut Timeline,
        sink: &mut impl IntervalSink,
    ) -> io::Result<u64> {
        self.withdraw();
        let mut now = stopped;
        while self.in_flight > 0 && !self.gives_up(now, timeline) {
            self.engine.reap(1, LOOK_UP_NS, &mut self.completed)?;
            now = self.clock.now();
            timeline.roll(now, self.in_flight, sink);
            self.complete(now, timeline);
        }
        self.slots
            .busy()
            .into_iter()
            .filter(|slot| self.slots.get(*slot).verb == Verb::Write)
            .for_each(|slot| self.unknown(slot));
        Ok(now)
    }

    /// Takes back the operations that were drawn and that the engine did not take.
    fn withdraw(&mut self) {
        let open_loop = matches!(self.arrivals, Arrivals::Open(_));
        for request in self.batch.drain(..) {
            let is_sync = matches!(request.verb, Verb::Fsync | Verb::Fdatasync);
            self.withdrawn += u64::from(open_loop && !is_sync);
            self.slots.release(request.slot);
            if let (Verb::Write, Some(generations)) = (request.verb, &self.spec.generations) {
                let slot = self.slots.get(request.slot);
                generations.cancel_write(slot.offset, slot.generation);
            }
        }
    }

    #[inline]
    fn limits_left(&self) -> bool {
        self.operations_left > 0 && self.bytes_left > 0
    }

    /// Puts as many operations into the batch as there are free slots, arrivals and limits.
    #[inline]
    fn fill(&mut self, now: u64) {
        if self.sync != SyncState::Idle {
            if self.in_flight == 0 && self.batch.is_empty() {
                self.push_syncs();
            }
            return;
        }
        if self.is_plain && self.is_unhindered && matches!(self.arrivals, Arrivals::Closed) {
            while self.slots.any_free() && self.limits_left() {
                self.draw::<true>(0);
            }
            return;
        }
        while self.slots.any_free() && self.limits_left() {
            if !self.is_unhindered && !self.may_start(now) {
                return;
            }
            let intended = match &mut self.arrivals {
                Arrivals::Closed => 0,
                Arrivals::Open(open) => {
                    let due = open.due_ns();
                    if due > now || due >= self.deadline_ns {
                        return;
                    }
                    due
                }
            };
            if !self.draw::<false>(intended) {
                return;
            }
            if let Arrivals::Open(open) = &mut self.arrivals {
                open.advance(&mut self.rng);
            }
            if self.sync == SyncState::Draining {
                return;
            }
        }
    }

    /// Draws the next operation into the batch. False if, on a verified set, it finds only blocks that
    /// are still being written. What a plain and unhindered worker has no need of is left out for it.
    #[inline]
    fn draw<const PLAIN: bool>(&mut self, intended: u64) -> bool {
        let direction = self.draws.next(&mut self.rng);
        let (verb, len) = (direction.verb, direction.len);
        let mut offset = direction.next_offset(&mut self.rng);
        if !PLAIN && let Some(generations) = &self.spec.generations {
            let mut tries = 1;
            while generations.is_in_flight(offset) {
                if tries == DRAWS {
                    return false;
                }
                tries += 1;
                offset = direction.next_offset(&mut self.rng);
            }
        }
        let slot = self.slots.take(verb, offset, len, intended);
        let (file, file_offset) = self.target(offset);
        let buffer = self.buffer(verb, slot, offset, len);
        self.batch.push(Request { slot, verb, file, offset: file_offset, len, buffer });
        self.operations_left -= 1;
        self.bytes_left = self.bytes_left.saturating_sub(u64::from(len));
        if !PLAIN && !self.is_unhindered {
            self.pauses.started();
            if verb == Verb::Read && self.spec.workload.cache == CacheState::ColdEach {
                // Advice that fails has no consequence but a cached read, which the device's account shows.
                drop(evict_range(&self.spec.files[file as usize], file_offset, u64::from(len)));
            }
        }
        if verb == Verb::Write {
            self.dirty[file as usize] = true;
        }
        let every = self.spec.workload.sync.every;
        if !PLAIN && every > 0 {
            self.note_due_sync(verb, every);
        }
        true
    }

    /// File and offset in it of a byte of the data set.
    #[inline]
    fn target(&self, offset: u64) -> (u32, u64) {
        if self.spec.files.len() == 1 {
            return (0, offset);
        }
        ((offset / self.spec.file_bytes) as u32, offset % self.spec.file_bytes)
    }

    #[inline(always)]
    fn buffer(&mut self, verb: Verb, slot: u32, offset: u64, len: u32) -> *mut u8 {
        let index = slot as usize;
        match verb {
            Verb::Read => {
                if let Some(generations) = &self.spec.generations {
                    self.slots.get_mut(slot).generation = generations.expected(offset);
                }
                self.buffers.read(index)
            }
            Verb::Write => {
                let turn = &mut self.slots.get_mut(slot).turn;
                *turn = turn.wrapping_add(1);
                let buffer = self.content.next(&self.buffers, index, *turn as usize, len as usize);
                if let Some(generations) = &self.spec.generations {
                    let generation = generations.start_write(offset);
                    self.slots.get_mut(slot).generation = generation;
                    // SAFETY: the buffer holds a block and is not in flight; verified data are never
                    // the shared duplicate block (the planner refuses the combination).
                    let block = unsafe { std::slice::from_raw_parts_mut(buffer, len as usize) };
                    generations.seal(block, offset, generation);
                }
                buffer
            }
            _ => std::ptr::null_mut(),
        }
    }

    /// Hands the batch to the engine, as a whole or, if the worker has time, one by one: storage that
    /// gets each request at once has more to do at a time than if it gets all when the last is ready.
    #[inline]
    fn submit(&mut self, timeline: &mut Timeline) -> io::Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let mut before = self.clock.now();
        let mut done = 0;
        // What has ended meanwhile is to be stamped before anything else is done.
        while done < self.batch.len() && self.completed.is_empty() {
            let end = if self.device_bound > 0 { done + 1 } else { self.batch.len() };
            let (taken, after) = self.hand_over(done..end, before, timeline)?;
            done += taken;
            before = after;
            if done < end {
                break;
            }
            if !E::SYNCHRONOUS && self.device_bound > 0 {
                self.engine.reap(0, 0, &mut self.completed)?;
            }
        }
        if done == self.batch.len() {
            self.batch.clear();
        } else {
            self.batch.drain(..done);
        }
        Ok(())
    }

    /// Hands a part of the batch to the engine and stamps what it took. Returns how many that were, and the
    /// time.
    #[inline]
    fn hand_over(
        &mut self,
        part: Range<usize>,
        before: u64,
        timeline: &mut Timeline,
    ) -> io::Result<(usize, u64)> {
        if self.stamps.is_some() {
            self.batch[part.clone()]
                .iter()
                .for_each(|r| self.slots.get_mut(r.slot).handed = self.clock.now());
        }
        let (earlier, offered) = (self.in_flight, part.len() as u64);
        timeline.integrate(before, earlier);
        // Counted before the call: however it ends, the kernel may have them.
        self.in_flight += offered;
        let part = &self.batch[part];
        let taken = self.engine.submit(part, &mut self.completed)?;
        let after = if E::SYNCHRONOUS {
            before
        } else {
            let after = self.clock.now();
            // Inside the call the kernel works on one of the batch, besides what it already had.
            timeline.integrate(after, earlier + 1);
            after
        };
        if earlier == 0 {
            self.alive_ns = before;
        }
        let closed = matches!(self.arrivals, Arrivals::Closed);
        for request in &part[..taken] {
            let is_sync = matches!(request.verb, Verb::Fsync | Verb::Fdatasync);
            self.slots.submitted(request.slot, before, after, closed || is_sync);
        }
        self.in_flight = earlier + taken as u64;
        Ok((taken, after))
    }

    /// Waits for a completion, for the next arrival or for the end of the interval, whichever comes
    /// first, and returns the time.
    #[inline]
    fn wait(&mut self, now: u64, timeline: &Timeline) -> io::Result<u64> {
        if E::SYNCHRONOUS && self.in_flight > 0 {
            self.engine.reap(1, 0, &mut self.completed)?;
            return Ok(self.clock.now());
        }
        self.device_bound = self.device_bound.saturating_sub(1);
        if !self.completed.is_empty() {
            return Ok(self.clock.now());
        }
        let border = timeline.boundary_ns.min(self.deadline_ns).min(now + LOOK_UP_NS);
        let due = match &self.arrivals {
            Arrivals::Open(open) if self.slots.any_free() && self.sync == SyncState::Idle => open.due_ns(),
            _ => u64::MAX,
        };
        // What is due already waits for a completion: its block is being written.
        let due = if due > now { due } else { u64::MAX };
        if self.in_flight == 0 && self.pauses.until_ns > now {
            self.clock.sleep_until(border.min(self.pauses.until_ns));
        } else if self.in_flight == 0 {
            // In a closed loop, and with a batch that the engine did not take, there is nothing to wait
            // for.
            if due != u64::MAX && self.batch.is_empty() {
                self.clock.sleep_until(border.min(due));
            }
        } else if due.saturating_sub(now) <= POLL_NS {
            self.engine.reap(0, 0, &mut self.completed)?;
            if self.completed.is_empty() && !E::Clock::PASSES {
                self.engine.reap(1, due.saturating_sub(now), &mut self.completed)?;
            }
        } else {
            self.engine.reap(0, 0, &mut self.completed)?;
            if self.completed.is_empty() {
                self.device_bound = DEVICE_BOUND;
                let until = if due == u64::MAX { border } else { border.min(due - POLL_NS) };
                self.engine.reap(1, until.saturating_sub(now), &mut self.completed)?;
            }
        }
        Ok(self.clock.now())
    }

    #[inline]
    fn complete(&mut self, now: u64, timeline: &mut Timeline) {
        if self.completed.is_empty() {
            return;
        }
        timeline.integrate(now, self.in_flight);
        self.alive_ns = now;
        if self.depth.is_some() {
            self.adjust_depth(now);
        }
        if self.stamps.is_some() {
            self.compare_stamps(now);
        }
        let mut completed = std::mem::take(&mut self.completed);
        let mut group = CompletionBatch::default();
        for completion in &completed {
            let slot = self.slots.get(completion.slot);
            let is_whole = completion.result == i64::from(slot.len) && slot.len > 0;
            if !(self.is_plain && is_whole) {
                self.complete_one(completion, now, timeline);
                continue;
            }
            if !group.takes(slot) {
                self.in_flight -= group.count;
                group.count_in(now, timeline);
                group = CompletionBatch::of(slot);
            }
            group.count += 1;
            self.slots.release(completion.slot);
        }
        self.in_flight -= group.count;
        group.count_in(now, timeline);
        completed.clear();
        self.completed = completed;
    }

    /// Stamps each completion as if it were the only one.
    #[cold]
    fn compare_stamps(&mut self, now: u64) {
        let Some(stamps) = &mut self.stamps else { return };
        for completion in &self.completed {
            let slot = self.slots.get(completion.slot);
            stamps.record(now - slot.intended, self.clock.now() - slot.handed);
        }
    }

    #[inline]
    fn complete_one(&mut self, completion: &Completion, now: u64, timeline: &mut Timeline) {
        let slot = completion.slot;
        let Slot { verb, len, intended, submitted, slat, .. } = *self.slots.get(slot);
        self.in_flight -= 1;
        self.slots.release(slot);
        let result = completion.result;
        if verb == Verb::Write && result != i64::from(len) {
            self.unknown(slot);
        }
        if result < 0 {
            let errno = (-result) as i32;
            *timeline.current.of(verb.into()).errors.entry(errno).or_default() += 1;
            self.fail(FailureKind::Errno(errno), slot, now, timeline);
            return;
        }
        if result == 0 && len > 0 {
            let kind = if verb == Verb::Read { FailureKind::NoData } else { FailureKind::NothingWritten };
            self.fail(kind, slot, now, timeline);
            return;
        }
        let recorder = timeline.current.of(verb.into());
        recorder.count += 1;
        recorder.bytes += result as u64;
        recorder.short += u64::from((result as u64) < u64::from(len));
        recorder.lat.record(now - intended);
        if let Some(clat) = &mut recorder.clat {
            clat.record(now - submitted);
        }
        if let Some(recorder) = &mut recorder.slat {
            recorder.record(slat);
        }
        if self.offset_log.is_some() {
            self.keep_place(slot, result as u64, now, timeline);
        }
        match verb {
            Verb::Write => self.written(slot, result as u64, intended),
            Verb::Read if self.spec.generations.is_some() => self.check(slot, result as u64),
            Verb::Fsync | Verb::Fdatasync => self.synced(now, timeline),
            _ => {}
        }
    }

    #[inline]
    fn written(&mut self, slot: u32, bytes: u64, intended: u64) {
        if self.spec.workload.sync.every > 0 {
            self.uncovered.push((intended, bytes));
        }
        if let Some(generations) = &self.spec.generations
            && bytes == u64::from(self.slots.get(slot).len)
        {
            let Slot { offset, generation, .. } = *self.slots.get(slot);
            generations.complete_write(offset, generation);
        }
    }

    /// A verified block was not written as it should have been: nobody knows what it holds now.
    #[cold]
    fn unknown(&self, slot: u32) {
        if let Some(generations) = &self.spec.generations {
            let Slot { offset, generation, .. } = *self.slots.get(slot);
            generations.fail_write(offset, generation);
        }
    }

    fn check(&mut self, slot: u32, bytes: u64) {
        let Some(generations) = &self.spec.generations else { return };
        let Slot { offset, generation, len, .. } = *self.slots.get(slot);
        if !generations.can_judge(offset, generation) {
            return;
        }
        if bytes < u64::from(len) {
            self.integrity.record(offset, Err(format!("only {bytes} bytes of the block could be read")));
            return;
        }
        // SAFETY: the kernel has filled the slot's read buffer with `bytes` bytes.
        let block = unsafe { std::slice::from_raw_parts(self.buffers.read(slot as usize), bytes as usize) };
        self.integrity.record(offset, generations.check(block, offset, generation));
    }
}

/// The open flags that a workload's files need, besides reading or writing.
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
mod tests {
    use super::*;
    use crate::clock::{VirtualClock, monotonic_ns};
    use crate::engines::psync::Psync;
    use crate::engines::sim::{self, SimEnd, SimFault};
    use model::{BlockSizes, Distribution, OperationStats, ReadFirst, Modifiers, SyncRule};
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::sync::atomic::AtomicUsize;
    use std::thread;
    use std::time::{Duration, Instant};

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
            compare_stamps: false,
            files: Arc::new(vec![file]),
            file_bytes: 1 << 20,
            writable: true,
            generations: None,
            sim: None,
            flow: None,
        }
    }

    /// Keeps what it is given at the end.
    struct Keep(Vec<WorkerInterval>);

    impl IntervalSink for Keep {
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

    /// Takes operations, and ends as the constant says when it is asked for completions: 0 never gives
    /// any, 1 breaks, 2 panics, 3 ends them all. `TORN_DOWN` counts the engines of its kind dropped.
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
                2 => panic!("an accident in the middle of the work"),
                _ => out.append(&mut self.1),
            }
            Ok(())
        }
    }

    /// Runs a worker on that engine over the writing end of a pipe: whether engine and file were let go.
    fn let_go<const HOW: usize>() -> (bool, bool) {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut spec = spec(workload(), File::from(OwnedFd::from(writer)));
        spec.limits.operations = Some(100);
        let signals = Signals::default();
        let before = TORN_DOWN[HOW].load(Ordering::Relaxed);
        let worker = Worker::<Trap<HOW>>::new(spec, &signals).unwrap();
        let recorders = first::<Trap<HOW>>(&workload());
        let run = std::panic::AssertUnwindSafe(|| worker.run(0, recorders, &mut Keep(vec![])));
        let ended = std::panic::catch_unwind(run);
        if HOW == 3 {
            assert!(!ended.unwrap().unwrap().hung);
        }
        let engine = TORN_DOWN[HOW].load(Ordering::Relaxed) > before;
        // A pipe without a writer ends; one that still has a writer would block. A worker of another test has a copy of
        // whatever was open when it began, until it ends: what should be let go is waited for.
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

    /// Takes a nanosecond for each byte and `SYNC_NS` for a sync.
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

    /// So many transfers before each of which something is read: the operations, and the whole in nanoseconds.
    fn with_read_first(mix: Mix, what: ReadFirst, len: u32) -> (BTreeMap<Operation, OperationStats>, u64) {
        let modifiers = Modifiers { read_first: Some(what), log_offset: true, ..Modifiers::default() };
        let sync = SyncRule { every: 0, data_only: false, at_end: true };
        let work = Workload { mix, block: BlockSizes::uniform(len), modifiers, sync, ..workload() };
        let mut spec = spec(work.clone(), File::open("/dev/null").unwrap());
        spec.limits.operations = Some(TRANSFERS);
        let signals = Signals::default();
        let worker = Worker::<ByLength>::new(spec, &signals).unwrap();
        let mut keep = Keep(Vec::new());
        let report = worker.run(0, first::<ByLength>(&work), &mut keep).unwrap();
        let kept = &report.offset_log.values().next().unwrap().kept;
        assert!(kept.len() as u64 == TRANSFERS && kept.iter().all(|target| target.ns == u64::from(len)));
        (keep.0.last().unwrap().finish(), report.end_ns)
    }

    const TRANSFERS: u64 = 16;

    /// Blocks that take less and more time than that from which on one stamp is enough for two.
    #[test]
    fn what_is_read_before_an_operation_is_neither_in_its_time_nor_in_its_rate() {
        for len in [8192, 65536] {
            let ns = u64::from(len);
            let (done, whole_ns) = with_read_first(Mix::Transfer { read_percent: 100 }, ReadFirst::Page, len);
            let reads = &done[&Operation::Read];
            assert_eq!((reads.count, reads.bytes), (TRANSFERS, TRANSFERS * ns));
            assert_eq!((reads.lat.min_ns(), reads.lat.max_ns()), (Some(ns), Some(ns)));
            assert_eq!((reads.lat.sum_ns(), reads.active_ns), (TRANSFERS * ns, TRANSFERS * ns));
            assert_eq!(whole_ns, TRANSFERS * (4096 + ns), "the time itself has the pages in it");

            let (done, whole_ns) = with_read_first(Mix::Transfer { read_percent: 0 }, ReadFirst::Block, len);
            let (writes, syncs) = (&done[&Operation::Write], &done[&Operation::Sync]);
            assert_eq!((writes.lat.min_ns(), writes.lat.max_ns()), (Some(ns), Some(ns)));
            assert_eq!((syncs.count, syncs.lat.max_ns()), (1, Some(SYNC_NS)));
            assert_eq!(writes.active_ns, TRANSFERS * ns + SYNC_NS, "with the sync that makes them durable");
            assert_eq!(whole_ns, TRANSFERS * 2 * ns + SYNC_NS);
        }
    }

    #[test]
    fn the_writes_of_a_workload_without_syncs_are_not_counted_until_they_overflow() {
        let writes = Workload { mix: Mix::Transfer { read_percent: 0 }, ..workload() };
        let mut spec = spec(writes.clone(), File::open("/dev/null").unwrap());
        spec.limits.operations = Some(10);
        let signals = Signals::default();
        let mut worker = Worker::<sim::Sim>::new(spec, &signals).unwrap();
        worker.writes_since_sync = u32::MAX;
        worker.run(0, first::<sim::Sim>(&writes), &mut Keep(vec![])).unwrap();
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
        let mut keep = Keep(Vec::new());
        let shared_start_ns = monotonic_ns() - LATE_NS;
        worker.run(shared_start_ns, first::<Psync>(&workload), &mut keep).unwrap();
        let operations = keep.0.last().unwrap().finish();
        operations[&Operation::Read].lat.max_ns().unwrap()
    }

    const LATE_NS: u64 = 2_000_000_000;

    #[test]
    fn waking_late_is_part_of_the_latency_in_an_open_loop_and_in_no_closed_one() {
        let closed = (0..10).map(|_| first_latency_ns(Pace::Closed)).min().unwrap();
        assert!(closed < LATE_NS / 2, "{closed}");
        let open = first_latency_ns(Pace::Fixed { per_second: 1.0 });
        assert!(open >= LATE_NS, "{open}");
    }

    #[test]
    fn no_write_is_left_in_flight_by_operations_that_were_never_handed_over_or_given_up() {
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
            let report = worker.run(0, first::<sim::Sim>(&writes), &mut Keep(vec![])).unwrap();
            assert_eq!(report.hung, hangs);
            assert!((0..256).all(|block| !generations.is_in_flight(block * 4096)));
        }
    }

    /// An early return used to tear the engine down and to unmap the buffers while the kernel still
    /// wrote into them; a forgotten worker's files were closed all the same.
    #[test]
    fn what_the_kernel_may_still_use_is_leaked_however_the_worker_ends_and_nothing_else_is() {
        assert_eq!(let_go::<0>(), (false, false), "hung");
        assert_eq!(let_go::<1>(), (false, false), "broken");
        assert_eq!(let_go::<2>(), (false, false), "panicked");
        assert_eq!(let_go::<3>(), (true, true), "ended well");
    }
}
