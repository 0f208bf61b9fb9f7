//! One repeat: workers started together, their intervals merged, their reports summed.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use std::{io, mem};

use model::{
    CpuTime, EngineKind, FailureKind, IntegrityCheck, Interval, OffsetLog, Operation, Regions,
    RepeatFailure, RepeatOutcome, Stop, Workload,
};

use crate::calls::CallWorker;
use crate::clock::{meet_due_times, monotonic_ns, process_cpu_ns, settle};
use crate::engines::{self, Engine};
use crate::metadata::{MetadataSpec, MetadataWorker};
use crate::recorder::{IntervalSink, Kind, Latencies, WorkerInterval};
use crate::sim::SimModel;
use crate::stamps::StampComparison;
use crate::steady::Steadiness;
use crate::verify::Generations;
use crate::worker::{Flow, Limits, Signals, Worker, WorkerReport, WorkerSpec};

/// Intervals per worker that circulate between it and the collector.
const SPARE_INTERVALS: usize = 3;
/// A worker that says nothing for so long beyond its deadline is given up: it hangs in the kernel. A sync
/// of a gigabyte to a slow card takes minutes and says nothing either.
const SILENCE_NS: u64 = 1_200_000_000_000;
/// The same after the user has asked to stop.
const SILENCE_WHEN_INTERRUPTED_NS: u64 = 6_000_000_000;
/// How long workers that are still being set up may take to end after the user has asked to stop.
const SETUP_TIMEOUT: Duration = Duration::from_secs(3);
/// How often the collector looks up from its channel.
const LOOK_UP: Duration = Duration::from_millis(100);
/// An interval that one worker owes is not waited for longer than so many intervals of another.
const MAX_LAG_INTERVALS: u64 = 4;

/// One repeat, ready to be done.
pub struct Task {
    /// Number of the repeat, for its intervals.
    pub repeat: u32,
    /// What to do.
    pub workload: Workload,
    /// With which engine.
    pub engine: EngineKind,
    /// When to stop.
    pub stop: Stop,
    /// Nanoseconds that do not count.
    pub ramp_ns: u64,
    /// Nanoseconds per interval.
    pub interval_ns: u64,
    /// Errors after which the repeat is given up.
    pub max_errors: u64,
    /// Seed of offsets and content.
    pub seed: u64,
    /// On what.
    pub target: IoTarget,
    /// Stamp each operation besides, which costs time, and tell how that differs.
    pub compare_stamps: bool,
    /// The simulated device, for [`EngineKind::Sim`].
    pub sim: Option<SimModel>,
    /// What runs at the same time; of each only workload, engine, stop, errors, seed and place count.
    pub concurrent: Vec<Task>,
}

/// What a repeat works on.
pub enum IoTarget {
    /// Open files or a device.
    Files(OpenFiles),
    /// For each job an empty directory of the run's own.
    Directories(Vec<OwnedFd>),
}

/// The open files of a data set.
pub struct OpenFiles {
    /// For each job the files of the set, opened for that job alone.
    pub per_job: Vec<Vec<File>>,
    /// Bytes of each file.
    pub file_bytes: u64,
    /// Whether the files are open for writing.
    pub writable: bool,
    /// What a verified set holds.
    pub generations: Option<Arc<Generations>>,
}

/// What a repeat came to; its intervals have been delivered meanwhile.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub outcome: RepeatOutcome,
    /// Nanoseconds from the end of the ramp to the end of the last operation.
    pub window_ns: u64,
    /// Nanoseconds from the start to the end, ramp included.
    pub whole_ns: u64,
    /// Operations of an open loop that were due and never started.
    pub unserved: u64,
    /// CPU time of the workers.
    pub workers: CpuTime,
    /// Largest share of the repeat, 0 to 1, that one worker spent on a CPU.
    pub busiest_worker: f64,
    /// CPU time of the process.
    pub process: CpuTime,
    /// Operations or whole workers were left behind in the kernel and may still change the files: the
    /// caller must not wait for these, check them or make them again.
    pub hung: bool,
    /// What checking found, for a verified set.
    pub integrity: Option<IntegrityCheck>,
    /// The same operations stamped both ways, if that was asked for.
    pub stamps: Option<StampComparison>,
    /// Where the operations were, for workloads that keep that.
    pub offset_log: BTreeMap<Operation, OffsetLog>,
}

impl Outcome {
    /// The user has stopped the repeat before it began.
    fn interrupted() -> Self {
        Self {
            outcome: RepeatOutcome::Interrupted,
            window_ns: 0,
            whole_ns: 0,
            unserved: 0,
            workers: CpuTime::default(),
            busiest_worker: 0.0,
            process: CpuTime::default(),
            hung: false,
            integrity: None,
            stamps: None,
            offset_log: BTreeMap::new(),
        }
    }
}

/// What kept a repeat from being done at all.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The engine or its memory could not be had.
    #[error("cannot start {engine} with {jobs} jobs at depth {iodepth}: {source}")]
    Start {
        /// The engine.
        engine: EngineKind,
        /// Its jobs.
        jobs: u32,
        /// Its depth.
        iodepth: u32,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The engine broke while it ran.
    #[error("{engine} broke while running: {source}")]
    Broke {
        /// The engine.
        engine: EngineKind,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The data set has no room for one block per job.
    #[error("the data set of {bytes} bytes has no room for one block of {block} bytes per job ({jobs} jobs)")]
    TooSmall {
        /// Its size.
        bytes: u64,
        /// The block size.
        block: u32,
        /// The jobs.
        jobs: u32,
    },
}

/// What a worker tells the collector.
enum Message {
    /// Set up and waiting for the start, or not.
    Ready(io::Result<()>),
    /// A finished interval.
    Interval(Box<WorkerInterval>),
    /// The end.
    Done(io::Result<WorkerReport>),
}

/// A worker's end of the pool of intervals.
struct IntervalPool {
    worker: usize,
    to_collector: SyncSender<(usize, Message)>,
    free: Receiver<Box<WorkerInterval>>,
    /// An empty interval that could not be exchanged.
    spare: Option<Box<WorkerInterval>>,
    /// Waits for a free interval instead of doing without: virtual time does not run away meanwhile.
    blocking: bool,
}

impl IntervalSink for IntervalPool {
    fn exchange(&mut self, current: &mut Box<WorkerInterval>) -> bool {
        let receive = || if self.blocking { self.free.recv().ok() } else { self.free.try_recv().ok() };
        let Some(empty) = self.spare.take().or_else(receive) else { return false };
        let full = mem::replace(current, empty);
        match self.to_collector.try_send((self.worker, Message::Interval(full))) {
            // The channel has room for everything that should circulate, but counts are never dropped.
            Err(TrySendError::Full((_, Message::Interval(full)))) => {
                self.spare = Some(mem::replace(current, full));
                false
            }
            // Disconnected: nobody listens any more.
            _ => true,
        }
    }

    fn deliver(&mut self, full: Box<WorkerInterval>) {
        let _ = self.to_collector.send((self.worker, Message::Interval(full)));
    }
}

/// Does one repeat. Intervals go to `on_interval` as they are complete; `interrupt` ends it early.
///
/// # Errors
/// [`EngineError`] if the repeat could not be done for reasons of the rig; failing storage is an
/// [`Outcome`].
pub fn run(
    task: Task,
    interrupt: &Arc<AtomicBool>,
    on_interval: &mut dyn FnMut(Interval),
) -> Result<Outcome, EngineError> {
    let jobs = task.jobs();
    let passes = task.engine != EngineKind::Sim;
    let signals = Arc::new(Signals { interrupt: Arc::clone(interrupt), ..Signals::default() });
    let mut collector = Collector::new(&task, Arc::clone(&signals), passes);
    let (sender, messages) = sync_channel(jobs as usize * (SPARE_INTERVALS + 3));
    let specs = specs(task)?;
    // Workers have descriptor tables of their own: what only a worker closed would stay open here.
    let _held: Vec<Arc<Vec<File>>> = specs.iter().filter_map(|(_, spec)| spec.files()).collect();
    let mut starts = Vec::with_capacity(specs.len());
    for (worker, (engine, spec)) in specs.into_iter().enumerate() {
        let (start_sender, start) = sync_channel(1);
        let (free_sender, free) = sync_channel(SPARE_INTERVALS + 1);
        let to_collector = sender.clone();
        let pool = IntervalPool { worker, to_collector, free, spare: None, blocking: !passes };
        let signals = Arc::clone(&signals);
        let body = move || work_with(engine, spec, &signals, pool, &start);
        let spawned = thread::Builder::new().name(format!("lodestone-job{worker}")).spawn(body);
        spawned.map_err(|source| collector.start_error(source))?;
        starts.push(start_sender);
        collector.free.push(free_sender);
    }
    drop(sender);
    let ready = collector.await_ready(&messages);
    if !matches!(ready, Ok(true)) {
        // Without these, workers that become ready after all end at once.
        drop(starts);
        let hung = !all_end(&messages);
        return ready.map(|_| Outcome { hung, ..Outcome::interrupted() });
    }
    settle();
    let process = process_cpu_ns();
    // A little ahead, so that every worker is waiting when the time comes.
    let start_ns = monotonic_ns() + 200_000 + 50_000 * u64::from(jobs);
    for start in &starts {
        let _ = start.send(start_ns);
    }
    collector.collect(&messages, start_ns, on_interval)?;
    Ok(collector.finish(process))
}

/// The body of a worker thread, compiled for each engine.
fn work_with(engine: EngineKind, spec: Spec, signals: &Signals, sink: IntervalPool, start: &Receiver<u64>) {
    match engine {
        #[cfg(target_pointer_width = "64")]
        EngineKind::IoUring => work::<engines::uring::Uring>(spec, signals, sink, start),
        #[cfg(not(target_pointer_width = "64"))]
        EngineKind::IoUring => work::<engines::libaio::Libaio>(spec, signals, sink, start),
        #[cfg(target_pointer_width = "64")]
        EngineKind::Noop => work::<engines::uring::Noop>(spec, signals, sink, start),
        #[cfg(not(target_pointer_width = "64"))]
        EngineKind::Noop => refuse(&sink, io::ErrorKind::Unsupported.into()),
        EngineKind::Libaio => work::<engines::libaio::Libaio>(spec, signals, sink, start),
        EngineKind::Psync => work::<engines::psync::Psync>(spec, signals, sink, start),
        EngineKind::Mmap => work::<engines::mmap::Mmap>(spec, signals, sink, start),
        EngineKind::Sim => work::<engines::sim::Sim>(spec, signals, sink, start),
    }
}

impl Task {
    /// Workers, those beside included.
    fn jobs(&self) -> u32 {
        self.concurrent.iter().fold(self.workload.jobs, |sum, task| sum + task.workload.jobs)
    }

    /// Nanoseconds from the common start to the end of the last worker, if all end by the time.
    fn deadline_ns(&self) -> Option<u64> {
        let own = self.stop.time_ns.map(|ns| ns + self.ramp_ns + self.workload.modifiers.start_delay_ns);
        let all = std::iter::once(own).chain(self.concurrent.iter().map(Task::deadline_ns));
        all.collect::<Option<Vec<u64>>>()?.into_iter().max()
    }
}

/// What one worker thread is made of.
enum Spec {
    Data(WorkerSpec),
    /// Data moved by plain calls.
    Calls(WorkerSpec),
    Metadata(MetadataSpec),
}

impl Spec {
    fn files(&self) -> Option<Arc<Vec<File>>> {
        match self {
            Self::Data(spec) | Self::Calls(spec) => Some(Arc::clone(&spec.files)),
            Self::Metadata(_) => None,
        }
    }
}

/// Waits for all workers to end, but not long. False if some did not.
fn all_end(messages: &Receiver<(usize, Message)>) -> bool {
    let until = Instant::now() + SETUP_TIMEOUT;
    loop {
        match messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(_) => {}
            Err(error) => return error == RecvTimeoutError::Disconnected,
        }
    }
}

/// Sends a worker's last words; if it panics before it has any, says that.
struct ReportGuard {
    worker: usize,
    sender: SyncSender<(usize, Message)>,
    said: bool,
}

impl ReportGuard {
    fn say(mut self, report: io::Result<WorkerReport>) {
        self.said = true;
        let _ = self.sender.send((self.worker, Message::Done(report)));
    }
}

impl Drop for ReportGuard {
    fn drop(&mut self) {
        if !self.said && thread::panicking() {
            let error = io::Error::other(format!("job {} panicked", self.worker));
            let _ = self.sender.send((self.worker, Message::Done(Err(error))));
        }
    }
}

/// The body of a worker thread.
fn work<E: Engine>(spec: Spec, signals: &Signals, mut sink: IntervalPool, start: &Receiver<u64>) {
    let recorders = match &spec {
        Spec::Data(spec) => Worker::<E>::recorders(&spec.workload),
        Spec::Calls(spec) => CallWorker::recorders(&spec.workload),
        Spec::Metadata(spec) => MetadataWorker::recorders(&spec.workload),
    };
    let recorders = &recorders;
    meet_due_times();
    let guard = ReportGuard { worker: sink.worker, sender: sink.to_collector.clone(), said: false };
    let first = Box::new(WorkerInterval::new(recorders));
    if let Spec::Data(_) | Spec::Calls(_) = spec {
        own_descriptors();
    }
    let report = match spec {
        Spec::Data(spec) => match Worker::<E>::new(spec, signals) {
            Ok(ready) => begin(&sink, start, recorders).map(|at| ready.run(at, first, &mut sink)),
            Err(error) => return refuse(&sink, error),
        },
        Spec::Calls(spec) => match CallWorker::new(spec, signals) {
            Ok(ready) => begin(&sink, start, recorders).map(|at| Ok(ready.run(at, first, &mut sink))),
            Err(error) => return refuse(&sink, error),
        },
        Spec::Metadata(spec) => match MetadataWorker::new(&spec, signals) {
            Ok(ready) => begin(&sink, start, recorders).map(|at| Ok(ready.run(at, first, &mut sink))),
            Err(error) => return refuse(&sink, error),
        },
    };
    if let Some(report) = report {
        guard.say(report);
    }
}

/// Gives the calling thread a table of file descriptors of its own. In a table that threads share, the
/// kernel has to count every use of a file, with atomic operations in each system call. What was open before
/// stays open here too until the thread ends.
pub fn own_descriptors() {
    // SAFETY: changes what this thread shares, and nothing else. A kernel that refuses only costs speed.
    unsafe { libc::unshare(libc::CLONE_FILES) };
}

fn refuse(sink: &IntervalPool, error: io::Error) {
    let _ = sink.to_collector.send((sink.worker, Message::Ready(Err(error))));
}

/// Reports ready and waits for the common start; `None` if there is none, because another worker could
/// not be set up or the user has stopped the repeat.
fn begin(sink: &IntervalPool, start: &Receiver<u64>, recorders: &[(Kind, Latencies)]) -> Option<u64> {
    for _ in 0..SPARE_INTERVALS {
        // These come back through the collector, which owns the other end of the circulation.
        let spare = Box::new(WorkerInterval::new(recorders));
        let _ = sink.to_collector.send((sink.worker, Message::Interval(spare)));
    }
    let _ = sink.to_collector.send((sink.worker, Message::Ready(Ok(()))));
    start.recv().ok()
}

/// Splits a task and those beside it into their workers, each with its engine.
fn specs(mut task: Task) -> Result<Vec<(EngineKind, Spec)>, EngineError> {
    let concurrent = mem::take(&mut task.concurrent);
    let (ramp_ns, interval_ns) = (task.ramp_ns, task.interval_ns);
    let tasks: Vec<Task> = std::iter::once(task).chain(concurrent).collect();
    let weight = |task: &Task| u64::from(task.workload.modifiers.flow) * u64::from(task.workload.jobs);
    let flow = match tasks.iter().map(weight).sum() {
        0 => None,
        weights => Some(Arc::new(Flow::new(weights))),
    };
    let mut specs = Vec::new();
    for task in tasks {
        let engine = task.engine;
        let shares = flow.as_ref().filter(|_| weight(&task) > 0);
        let own = own_specs(Task { ramp_ns, interval_ns, ..task }, shares)?;
        specs.extend(own.into_iter().map(|spec| (engine, spec)));
    }
    Ok(specs)
}

fn own_specs(task: Task, flow: Option<&Arc<Flow>>) -> Result<Vec<Spec>, EngineError> {
    let jobs = task.workload.jobs;
    let workload = Arc::new(task.workload);
    let limits = |index: u32| {
        let share =
            |total: u64| total / u64::from(jobs) + u64::from(u64::from(index) < total % u64::from(jobs));
        Limits {
            time_ns: task.stop.time_ns.map(|ns| ns + task.ramp_ns),
            operations: task.stop.operations.map(share),
            bytes: task.stop.bytes.map(share),
        }
    };
    match task.target {
        IoTarget::Files(files) => {
            let block = workload.largest_block();
            let usable = files.file_bytes / u64::from(block) * u64::from(block);
            let count = files.per_job.first().map_or(0, Vec::len) as u64;
            if usable / u64::from(block) * count < least_blocks(&workload, block) {
                return Err(EngineError::TooSmall { bytes: files.file_bytes * count, block, jobs });
            }
            let by_calls = workload.is_by_calls();
            let spec = |(index, own)| {
                let spec = WorkerSpec {
                    index,
                    workers: jobs,
                    workload: Arc::clone(&workload),
                    limits: limits(index),
                    ramp_ns: task.ramp_ns,
                    interval_ns: task.interval_ns,
                    max_errors: task.max_errors,
                    seed: task.seed,
                    compare_stamps: task.compare_stamps,
                    files: Arc::new(own),
                    file_bytes: usable,
                    writable: files.writable,
                    generations: files.generations.clone(),
                    sim: task.sim.clone(),
                    flow: flow.cloned(),
                };
                if by_calls { Spec::Calls(spec) } else { Spec::Data(spec) }
            };
            Ok((0..jobs).zip(files.per_job).map(spec).collect())
        }
        IoTarget::Directories(directories) => Ok((0..jobs)
            .zip(directories)
            .map(|(index, directory)| {
                Spec::Metadata(MetadataSpec {
                    index,
                    workload: Arc::clone(&workload),
                    limits: limits(index),
                    ramp_ns: task.ramp_ns,
                    interval_ns: task.interval_ns,
                    max_errors: task.max_errors,
                    seed: task.seed,
                    directory,
                })
            })
            .collect()),
    }
}

/// Blocks that a data set must have room for, so that each job has one.
fn least_blocks(workload: &Workload, block: u32) -> u64 {
    match workload.regions {
        Regions::Shared => 1,
        Regions::Disjoint => u64::from(workload.jobs),
        Regions::Spaced { offset_bytes, increment_bytes, .. } => {
            let last = offset_bytes + u64::from(workload.jobs - 1) * increment_bytes;
            last.div_ceil(u64::from(block)) + 1
        }
    }
}

/// Merges what the workers deliver.
struct Collector {
    repeat: u32,
    engine: EngineKind,
    jobs: u32,
    iodepth: u32,
    ramp_ns: u64,
    /// How far one worker may be behind another before its part is no longer waited for.
    max_lag_ns: u64,
    deadline_ns: Option<u64>,
    steady: Option<Steadiness>,
    first_operation: Operation,
    signals: Arc<Signals>,
    free: Vec<SyncSender<Box<WorkerInterval>>>,
    /// Intervals of which some worker's part may be missing, by start.
    open: BTreeMap<u64, Interval>,
    /// Up to where each worker has delivered; `u64::MAX` when it is done.
    delivered: Vec<u64>,
    reports: Vec<WorkerReport>,
    /// All good operations and bytes, the ramp included.
    good: (u64, u64),
    /// Why workers were given up, if any were.
    given_up: Option<RepeatFailure>,
}

impl Collector {
    fn new(task: &Task, signals: Arc<Signals>, time_passes: bool) -> Self {
        let workload = &task.workload;
        Self {
            repeat: task.repeat,
            engine: task.engine,
            jobs: task.jobs(),
            iodepth: workload.iodepth,
            steady: workload.modifiers.steady.map(|rule| Steadiness::new(rule, task.ramp_ns)),
            ramp_ns: task.ramp_ns,
            // In virtual time a worker that is behind is only slower to compute.
            max_lag_ns: if time_passes { MAX_LAG_INTERVALS * task.interval_ns } else { u64::MAX },
            deadline_ns: task.deadline_ns(),
            first_operation: workload.operations().first().copied().unwrap_or(Operation::Read),
            signals,
            free: Vec::new(),
            open: BTreeMap::new(),
            delivered: vec![0; task.jobs() as usize],
            reports: Vec::new(),
            good: (0, 0),
            given_up: None,
        }
    }

    fn start_error(&self, source: io::Error) -> EngineError {
        EngineError::Start { engine: self.engine, jobs: self.jobs, iodepth: self.iodepth, source }
    }

    /// Waits until all workers are set up; false if the user has stopped the repeat before.
    fn await_ready(&mut self, messages: &Receiver<(usize, Message)>) -> Result<bool, EngineError> {
        let mut ready = 0;
        while ready < self.jobs && !self.signals.interrupted() {
            match messages.recv_timeout(LOOK_UP) {
                Ok((_, Message::Ready(Ok(())))) => ready += 1,
                Ok((_, Message::Ready(Err(source)) | Message::Done(Err(source)))) => {
                    return Err(self.start_error(source));
                }
                Ok((worker, Message::Interval(spare))) => self.recycle(worker, spare),
                Err(RecvTimeoutError::Timeout) => {}
                Ok((_, Message::Done(Ok(_)))) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.start_error(io::Error::other("a worker ended before it began")));
                }
            }
        }
        Ok(!self.signals.interrupted())
    }

    fn recycle(&self, worker: usize, mut interval: Box<WorkerInterval>) {
        interval.clear();
        // A worker that is gone needs no more intervals.
        let _ = self.free[worker].try_send(interval);
    }

    /// Takes messages until every worker is done or given up.
    fn collect(
        &mut self,
        messages: &Receiver<(usize, Message)>,
        start_ns: u64,
        on_interval: &mut dyn FnMut(Interval),
    ) -> Result<(), EngineError> {
        let mut last_heard_ns = monotonic_ns();
        let mut broken = None;
        while self.reports.len() < self.jobs as usize {
            match messages.recv_timeout(LOOK_UP) {
                Ok((worker, message)) => {
                    last_heard_ns = monotonic_ns();
                    match message {
                        Message::Interval(interval) => self.add(worker, interval),
                        Message::Done(Ok(report)) => self.done(worker, report),
                        Message::Done(Err(source)) => {
                            self.signals.abort.store(true, Ordering::Relaxed);
                            broken.get_or_insert(EngineError::Broke { engine: self.engine, source });
                            self.done(worker, WorkerReport::default());
                        }
                        Message::Ready(_) => {}
                    }
                    self.emit(false, on_interval);
                }
                Err(RecvTimeoutError::Timeout) if self.give_up(start_ns, last_heard_ns) => break,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let source = io::Error::other("a worker ended without a report");
                    broken.get_or_insert(EngineError::Broke { engine: self.engine, source });
                    break;
                }
            }
        }
        self.emit(true, on_interval);
        broken.map_or(Ok(()), Err)
    }

    /// True if the workers still out have been silent for so long that they must hang in the kernel.
    /// They are left behind: a thread in an uninterruptible sleep cannot be ended.
    fn give_up(&mut self, start_ns: u64, last_heard_ns: u64) -> bool {
        let now = monotonic_ns();
        let interrupted = self.signals.interrupted();
        let timeout = if interrupted { SILENCE_WHEN_INTERRUPTED_NS } else { SILENCE_NS };
        let due = self.deadline_ns.map_or(0, |ns| if interrupted { 0 } else { start_ns + ns });
        if now.saturating_sub(last_heard_ns.max(due)) < timeout {
            return false;
        }
        self.signals.abort.store(true, Ordering::Relaxed);
        self.given_up = Some(RepeatFailure {
            kind: FailureKind::Hung(now - last_heard_ns),
            operation: self.first_operation,
            offset: None,
            after_ns: last_heard_ns.saturating_sub(start_ns),
            good_operations: self.good.0,
            good_bytes: self.good.1,
        });
        true
    }

    fn add(&mut self, worker: usize, part: Box<WorkerInterval>) {
        let operations = part.finish();
        for (operation, stats) in &operations {
            if *operation != Operation::DurableWrite {
                self.good.0 += stats.count;
                self.good.1 += stats.bytes;
            }
        }
        let whole = self.open.entry(part.start_ns).or_insert_with(|| Interval {
            repeat: self.repeat,
            phase: part.phase,
            start_ns: part.start_ns,
            len_ns: 0,
            operations: BTreeMap::new(),
            in_flight_ns: 0,
        });
        whole.len_ns = whole.len_ns.max(part.len_ns);
        whole.in_flight_ns += part.in_flight_ns;
        for (operation, stats) in operations {
            whole.operations.entry(operation).or_default().merge(&stats);
        }
        self.delivered[worker] = self.delivered[worker].max(part.start_ns + part.len_ns);
        self.recycle(worker, part);
    }

    fn done(&mut self, worker: usize, report: WorkerReport) {
        self.delivered[worker] = u64::MAX;
        self.reports.push(report);
    }

    /// Delivers the intervals that are complete, and those that some worker owes for too long: its
    /// part will come as a second record of the same start.
    fn emit(&mut self, all: bool, on_interval: &mut dyn FnMut(Interval)) {
        let slowest = self.delivered.iter().copied().min().unwrap_or(u64::MAX);
        let newest = self.open.last_key_value().map_or(0, |(start, _)| *start);
        let stale = newest.saturating_sub(self.max_lag_ns);
        while let Some(entry) = self.open.first_entry() {
            let end = entry.get().start_ns + entry.get().len_ns;
            if !(all || end <= slowest || end < stale) {
                break;
            }
            let interval = entry.remove();
            if let Some(steady) = &mut self.steady
                && steady.is_reached(&interval)
            {
                self.signals.over.store(true, Ordering::Relaxed);
            }
            on_interval(interval);
        }
    }

    fn finish(self, process_before: (u64, u64)) -> Outcome {
        let (user, system) = process_cpu_ns();
        let whole_ns = self.reports.iter().map(|r| r.end_ns).max().unwrap_or(0);
        let share = |r: &WorkerReport| (r.user_ns + r.system_ns) as f64 / r.end_ns as f64;
        let mut stamps: Option<StampComparison> = None;
        for theirs in self.reports.iter().filter_map(|r| r.stamps.as_deref()) {
            match &mut stamps {
                Some(stamps) => stamps.merge(theirs),
                None => stamps = Some(theirs.clone()),
            }
        }
        let mut integrity: Option<IntegrityCheck> = None;
        for report in &self.reports {
            if let Some(check) = &report.integrity {
                integrity.get_or_insert_default().merge(check.clone());
            }
        }
        let mut offset_log: BTreeMap<Operation, OffsetLog> = BTreeMap::new();
        for (operation, theirs) in self.reports.iter().flat_map(|r| &r.offset_log) {
            offset_log.entry(*operation).or_default().merge(theirs.clone());
        }
        Outcome {
            offset_log,
            window_ns: whole_ns.saturating_sub(self.ramp_ns),
            whole_ns,
            unserved: self.reports.iter().map(|r| r.unserved).sum(),
            workers: CpuTime {
                user_ns: self.reports.iter().map(|r| r.user_ns).sum(),
                system_ns: self.reports.iter().map(|r| r.system_ns).sum(),
            },
            busiest_worker: self
                .reports
                .iter()
                .filter(|r| r.end_ns > 0)
                .map(share)
                .fold(0.0, f64::max)
                .min(1.0),
            process: CpuTime { user_ns: user - process_before.0, system_ns: system - process_before.1 },
            hung: self.given_up.is_some() || self.reports.iter().any(|r| r.hung),
            integrity,
            stamps,
            outcome: self.outcome(),
        }
    }

    /// The earliest failure of any worker, the hang, the interruption, or all is well.
    fn outcome(&self) -> RepeatOutcome {
        let first = self.reports.iter().filter_map(|r| r.failure.as_ref()).min_by_key(|f| f.at_ns);
        if let Some(failure) = first {
            return RepeatOutcome::Failed(RepeatFailure {
                kind: failure.kind.clone(),
                operation: failure.operation,
                offset: failure.offset,
                after_ns: failure.at_ns,
                good_operations: self.good.0,
                good_bytes: self.good.1,
            });
        }
        if self.signals.interrupted() {
            return RepeatOutcome::Interrupted;
        }
        self.given_up.clone().map_or(RepeatOutcome::Completed, RepeatOutcome::Failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> Task {
        let workload = Workload::random_reads();
        Task {
            repeat: 0,
            workload,
            engine: EngineKind::Psync,
            stop: Stop::default(),
            ramp_ns: 0,
            interval_ns: 100_000_000,
            max_errors: 1,
            seed: 1,
            target: IoTarget::Directories(Vec::new()),
            compare_stamps: false,
            sim: None,
            concurrent: Vec::new(),
        }
    }

    fn interval(reads: u64) -> Box<WorkerInterval> {
        let plain = Latencies { slat: false, clat: false };
        let mut interval = WorkerInterval::new(&[(Kind::Read, plain)]);
        interval.of(Kind::Read).count = reads;
        Box::new(interval)
    }

    #[test]
    fn a_full_channel_makes_an_interval_longer_instead_of_losing_it() {
        let (to_collector, messages) = sync_channel(1);
        let (give, free) = sync_channel(1);
        give.send(interval(0)).unwrap();
        to_collector.send((0, Message::Ready(Ok(())))).unwrap();
        let mut sink = IntervalPool { worker: 0, to_collector, free, spare: None, blocking: false };
        let mut current = interval(42);
        assert!(!sink.exchange(&mut current), "there is no room");
        assert_eq!(current.of(Kind::Read).count, 42);
        messages.recv().unwrap();
        assert!(sink.exchange(&mut current), "the empty interval was kept for the next time");
        assert_eq!(current.of(Kind::Read).count, 0);
        let Ok((0, Message::Interval(mut full))) = messages.recv() else { panic!("an interval was sent") };
        assert_eq!(full.of(Kind::Read).count, 42);
    }

    #[test]
    fn workers_that_leave_without_a_report_are_an_error() {
        let mut collector = Collector::new(&task(), Arc::default(), true);
        let (sender, messages) = sync_channel::<(usize, Message)>(1);
        drop(sender);
        let error = collector.collect(&messages, monotonic_ns(), &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("ended without a report"), "{error}");
    }

    #[test]
    fn a_worker_that_hangs_while_it_is_set_up_does_not_keep_the_user_waiting() {
        let signals = Arc::new(Signals::default());
        let mut collector = Collector::new(&task(), Arc::clone(&signals), true);
        let (_hangs, messages) = sync_channel::<(usize, Message)>(1);
        let stop = Arc::clone(&signals.interrupt);
        let user = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            stop.store(true, Ordering::Relaxed);
        });
        // It would wait for ever.
        assert!(!collector.await_ready(&messages).unwrap());
        assert!(!all_end(&messages), "it is left behind");
        user.join().unwrap();
    }
}
