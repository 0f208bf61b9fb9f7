//! One repeat: its workers start together, each in its own thread.

use std::fs::File;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::{io, mem, thread};

use model::{
    CacheState, EngineKind, Interval, Mix, Modifiers, Operation, Pace, Regions, RepeatOutcome, Stop, Workload,
};

use crate::calls::CallWorker;
use crate::clock::{Clock, MonotonicClock, meet_due_times, monotonic_ns, process_cpu_ns, settle};
use crate::collector::{Collector, all_end};
use crate::engines::{self, Engine};
use crate::interval_pool::{IntervalPool, Message, ReportGuard, SPARE_INTERVALS};
use crate::metadata::{MetadataSpec, MetadataWorker};
use crate::recorder::{Latencies, WorkerInterval};
use crate::task::{Barrier, EngineError, IoTarget, Outcome, Task};
use crate::turns::{TaskTurns, TurnObserver, Turns};
use crate::worker::{Flow, Limits, Signals, Worker, WorkerSpec};

/// Runs one repeat. Intervals go to `on_interval` as they complete; `interrupt` ends it early.
///
/// # Errors
/// [`EngineError`] if the repeat could not be run because of the test rig; a storage failure is an [`Outcome`].
pub fn run(
    task: Task,
    interrupt: &Arc<AtomicBool>,
    on_interval: &mut dyn FnMut(Interval),
) -> Result<Outcome, EngineError> {
    run_from(task, interrupt, Start::AtOnce, on_interval)
}

/// [`run`], where a barrier says when the workers begin.
///
/// # Errors
/// As [`run`].
pub fn run_at(
    task: Task,
    interrupt: &Arc<AtomicBool>,
    barrier: Option<&Barrier<'_>>,
    on_interval: &mut dyn FnMut(Interval),
) -> Result<Outcome, EngineError> {
    run_from(task, interrupt, barrier.map_or(Start::AtOnce, Start::At), on_interval)
}

/// True if [`run_in_turns`] can run a task: an asynchronous engine moves data in a closed loop for a limited time, and
/// nothing but the queue keeps an operation from starting.
pub fn takes_turns(workload: &Workload, stop: &Stop, engine: EngineKind) -> bool {
    let Modifiers { buffers, even_mix, .. } = workload.modifiers;
    let harmless = Modifiers { buffers, even_mix, ..Modifiers::default() };
    matches!(engine, EngineKind::IoUring | EngineKind::Libaio | EngineKind::Sim)
        && matches!(workload.mix, Mix::Transfer { .. })
        && workload.pace == Pace::Closed
        && workload.direct
        && workload.cache != CacheState::ColdEach
        && !workload.verify
        && workload.sync.every <= 1
        && !workload.sync.at_end
        && workload.modifiers == harmless
        && stop.time_ns.is_some()
        && Stop { time_ns: None, ..*stop } == Stop::default()
}

/// Runs several tasks in turns of `slice_ns` nanoseconds: while one works, the others have nothing in flight, and their time
/// stands still. [`takes_turns`] is true of each, which may also end after a number of bytes.
pub fn run_in_turns(
    tasks: Vec<Task>,
    slice_ns: u64,
    observer: TurnObserver,
    interrupt: &Arc<AtomicBool>,
    on_interval: &mut dyn FnMut(Interval),
) -> Vec<Result<Outcome, EngineError>> {
    let turns = Arc::new(Turns::new(tasks.iter().map(Task::jobs), slice_ns, observer));
    let (sender, intervals) = channel();
    thread::scope(|scope| {
        let run = |(party, task): (usize, Task)| {
            let (turns, sender) = (turns.of(party), sender.clone());
            scope.spawn(move || {
                let mut send = |interval| drop(sender.send(interval));
                run_from(task, interrupt, Start::InTurn(turns), &mut send)
            })
        };
        let runs: Vec<_> = tasks.into_iter().enumerate().map(run).collect();
        drop(sender);
        intervals.into_iter().for_each(on_interval);
        runs.into_iter().map(|run| run.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// When the workers of a task begin, once all are ready.
enum Start<'a> {
    AtOnce,
    /// When this says so.
    At(&'a Barrier<'a>),
    /// When it is their turn, and the other tasks are ready.
    InTurn(TaskTurns),
}

fn run_from(
    task: Task,
    interrupt: &Arc<AtomicBool>,
    start: Start<'_>,
    on_interval: &mut dyn FnMut(Interval),
) -> Result<Outcome, EngineError> {
    let jobs = task.jobs();
    let passes = task.engine != EngineKind::Sim;
    let is_awaited = matches!(start, Start::At(_));
    let signals = Arc::new(Signals { interrupt: Arc::clone(interrupt), is_awaited, ..Signals::default() });
    let mut collector = Collector::new(&task, Arc::clone(&signals), passes);
    let (sender, messages) = sync_channel(jobs as usize * (SPARE_INTERVALS + 3));
    let turns = if let Start::InTurn(turns) = &start { Some(turns) } else { None };
    let specs = specs(task, turns)?;
    // Workers have their own descriptor tables: a file closed only by a worker would stay open here.
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
        // Dropping the senders ends workers that become ready later.
        drop(starts);
        let hung = !all_end(&messages);
        return ready.map(|_| Outcome { hung, ..Outcome::without_work(RepeatOutcome::Interrupted, 0) });
    }
    settle();
    let begin = match &start {
        Start::AtOnce => Some(0),
        Start::At(barrier) => barrier(),
        Start::InTurn(turns) => turns.await_all(|| signals.interrupted()).then_some(0),
    };
    let Some(begin) = begin else {
        drop(starts);
        let hung = !all_end(&messages);
        return Ok(Outcome { hung, ..Outcome::without_work(RepeatOutcome::Interrupted, 0) });
    };
    let process = process_cpu_ns();
    // Slightly in the future, so that every worker is waiting when the time comes.
    let start_ns = begin.max(monotonic_ns() + 200_000 + 50_000 * u64::from(jobs));
    for start in &starts {
        let _ = start.send(start_ns);
    }
    collector.collect(&messages, start_ns, turns, on_interval)?;
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

/// The kinds of worker threads.
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

/// The body of a worker thread.
fn work<E: Engine>(spec: Spec, signals: &Signals, mut sink: IntervalPool, start: &Receiver<u64>) {
    let recorders = match &spec {
        Spec::Data(spec) => Worker::<E>::recorders(&spec.workload),
        Spec::Calls(spec) => CallWorker::recorders(&spec.workload),
        Spec::Metadata(spec) => MetadataWorker::recorders(&spec.workload),
    };
    let recorders = &recorders;
    meet_due_times();
    let guard = ReportGuard::new(&sink);
    let first = Box::new(WorkerInterval::new(recorders));
    if let Spec::Data(_) | Spec::Calls(_) = spec {
        own_descriptors();
    }
    let report = match spec {
        Spec::Data(spec) => match Worker::<E>::new(spec, signals) {
            Ok(ready) => begin(&sink, start, recorders, signals).map(|at| ready.run(at, first, &mut sink)),
            Err(error) => return refuse(&sink, error),
        },
        Spec::Calls(spec) => match CallWorker::new(spec, signals) {
            Ok(ready) => {
                begin(&sink, start, recorders, signals).map(|at| Ok(ready.run(at, first, &mut sink)))
            }
            Err(error) => return refuse(&sink, error),
        },
        Spec::Metadata(spec) => match MetadataWorker::new(&spec, signals) {
            Ok(ready) => {
                begin(&sink, start, recorders, signals).map(|at| Ok(ready.run(at, first, &mut sink)))
            }
            Err(error) => return refuse(&sink, error),
        },
    };
    if let Some(report) = report {
        guard.report(report);
    }
}

/// Gives the calling thread its own table of file descriptors. In a shared table, the kernel counts every use of
/// a file with atomic operations in each system call. What was open before stays open here too until the thread
/// ends.
pub fn own_descriptors() {
    // SAFETY: changes only what this thread shares. A kernel that refuses only costs speed.
    unsafe { libc::unshare(libc::CLONE_FILES) };
}

fn refuse(sink: &IntervalPool, error: io::Error) {
    let _ = sink.to_collector.send((sink.worker, Message::Ready(Err(error))));
}

/// Reports ready and waits for the common start; `None` if there is none, because another worker could not be set
/// up or the user has stopped the repeat.
fn begin(
    sink: &IntervalPool,
    start: &Receiver<u64>,
    recorders: &[(Operation, Latencies)],
    signals: &Signals,
) -> Option<u64> {
    for _ in 0..SPARE_INTERVALS {
        // These return through the collector, which owns the other end of the pool.
        let spare = Box::new(WorkerInterval::new(recorders));
        let _ = sink.to_collector.send((sink.worker, Message::Interval(spare)));
    }
    let _ = sink.to_collector.send((sink.worker, Message::Ready(Ok(()))));
    let at = start.recv().ok()?;
    if signals.is_awaited {
        let began = MonotonicClock::default().start(at).max(monotonic_ns());
        signals.began_ns.fetch_max(began, Ordering::Relaxed);
    }
    Some(at)
}

/// Splits a task and its concurrent tasks into their workers, each with its engine.
fn specs(mut task: Task, turns: Option<&TaskTurns>) -> Result<Vec<(EngineKind, Spec)>, EngineError> {
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
        let own = own_specs(Task { ramp_ns, interval_ns, ..task }, shares, turns)?;
        specs.extend(own.into_iter().map(|spec| (engine, spec)));
    }
    Ok(specs)
}

fn own_specs(
    task: Task,
    flow: Option<&Arc<Flow>>,
    turns: Option<&TaskTurns>,
) -> Result<Vec<Spec>, EngineError> {
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
                    start: task.start,
                    compare_stamps: task.compare_stamps,
                    files: Arc::new(own),
                    file_bytes: usable,
                    writable: files.writable,
                    generations: files.generations.clone(),
                    sim: task.sim.clone(),
                    flow: flow.cloned(),
                    turns: turns.map(TaskTurns::of_worker),
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

/// Number of blocks that a data set must hold, so that each job has one.
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
