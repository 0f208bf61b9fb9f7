//! One repeat: opens the files, brings the cache into its state, works, and reads the counters before and after.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use engine::{IoTarget, Outcome, Task, cache};
use host::hanging::with_timeout;
use host::testfiles::{PrivateDirectory, TestFileError};
use host::{Counters, snapshot};
use model::{
    BlockSizes, CacheState, CacheUse, ClientPart, EngineChoice, EngineKind, Event, FailureKind,
    IntegrityCheck, Interval, Mix, Operation, Pace, Pattern, Phase, RepeatFailure, RepeatFinished,
    RepeatOutcome, RepeatStarted, Severity, Step, Stop, SyncRule, Target, TargetKind, Workload,
};
use schedule::{MOST_SEED, Order};

use super::data_sets::{DataSet, SetRef, make_durable};
use super::foreign::ForeignWork;
use super::release::RELEASE_LIMIT;
use super::{Driver, Local, RigError, TargetState, depth_for, foreign, storage_errno};

/// How a repeat has ended.
pub(super) struct Ended {
    pub outcome: RepeatOutcome,
    /// The kernel still works on the data and may never finish: they must not be touched again.
    pub hung: bool,
}

/// Carries an order out and records the repeat.
pub(super) fn run(local: &mut Local<'_>, order: &Order) -> Result<Ended, RigError> {
    let mut step = local.plan.steps[order.step].clone();
    order.timing.apply(&mut step);
    // The target is taken out of its vector while its data are borrowed; the others keep their indices.
    let index = local.index(order);
    let in_its_place = TargetState::new(local.targets[index].target.clone(), None);
    let state = std::mem::replace(&mut local.targets[index], in_its_place);
    let result = on_target(local, order, &step, &state);
    local.targets[index] = state;
    result
}

fn on_target(
    local: &mut Local<'_>,
    order: &Order,
    step: &Step,
    state: &TargetState,
) -> Result<Ended, RigError> {
    let Order { repeat, round, timing, start, seed, .. } = *order;
    let target = &state.target;
    let direct = step.workload.direct && target.direct;
    let workload = effective(&step.workload, direct);
    let opened = open(local, step, state, &workload, direct).and_then(|opened| {
        let others = step.concurrent.iter().map(|other| {
            let direct = other.workload.direct && target.direct;
            let workload = effective(&other.workload, direct);
            open(local, other, state, &workload, direct).map(|opened| (other, workload, opened))
        });
        Ok((opened, others.collect::<std::io::Result<Vec<_>>>()?))
    });
    let size_bytes = opened.as_ref().ok().and_then(|(o, _)| o.set.get()).map_or(0, |s| s.bytes);
    let engine = engine_of(step, local.best_engine);
    local.emit(Event::RepeatStarted(RepeatStarted {
        repeat,
        at_ns: local.recorder.at_ns(),
        round,
        step: step.id.clone(),
        target: target.name.clone(),
        engine,
        direct: direct || workload.is_metadata(),
        size_bytes,
        seed,
        time_ns: timing.time_ns.filter(|_| timing.is_chosen),
        passes: timing.passes.filter(|_| timing.is_chosen),
        turns: 0,
    }));
    let (finished, hung) = match opened {
        Ok((opened, others)) => {
            let (mut concurrent, mut kept) = (Vec::new(), Vec::new());
            for (number, (other, workload, opened)) in others.into_iter().enumerate() {
                let Opened { set, io_target, private, scratch, unsettled } = opened;
                let bytes = set.get().map_or(0, |s| s.bytes);
                let _ = cache_state(&io_target, &workload, workload.direct, set.get());
                let seed = (seed + 1 + number as u64) & MOST_SEED;
                let engine = engine_of(other, local.best_engine);
                let task = task(other, &workload, engine, repeat, seed, io_target);
                concurrent.push(Task { stop: stop(other, bytes), ..task });
                kept.push((set, private, scratch, unsettled));
            }
            let task = |io_target| Task {
                stop: stop(step, size_bytes),
                start,
                concurrent,
                ..task(step, &workload, engine, repeat, seed, io_target)
            };
            let measured = measured(local, step, state, opened, task)?;
            if measured.1 {
                std::mem::forget(kept);
            } else {
                kept.iter().for_each(|(set, ..)| release_fresh(local, target, set));
            }
            measured
        }
        Err(source) => {
            let errno = storage_errno(&target.name, source)?;
            (unopened(local, repeat, &workload, errno), false)
        }
    };
    let outcome = finished.outcome.clone();
    local.emit(Event::RepeatFinished(Box::new(finished)));
    Ok(Ended { outcome, hung })
}

/// The files of a repeat, or the directories of one with metadata operations.
pub(super) struct Opened<'a> {
    pub set: SetRef<'a>,
    pub io_target: IoTarget,
    /// Removed with everything in it when the repeat is over.
    private: Option<PrivateDirectory>,
    /// For the files given to another program.
    scratch: Option<PrivateDirectory>,
    /// What is synced before and after the repeat.
    pub unsettled: Vec<File>,
}

pub(super) fn open<'s>(
    local: &Local<'_>,
    step: &Step,
    state: &'s TargetState,
    workload: &Workload,
    direct: bool,
) -> std::io::Result<Opened<'s>> {
    let set = match state.driver.makes_its_files(&step.id) {
        true => SetRef::None,
        false => local.set_for(state, step)?,
    };
    let scratch = match state.driver {
        Driver::Own => None,
        Driver::Fio(_) | Driver::Tools(_) => Some(scratch(local)?),
    };
    if let Some(data) = set.get() {
        let io_target = IoTarget::Files(data.open(state, workload, direct)?);
        let unsettled = data.descriptors(state)?;
        // Another program with concurrent metadata operations performs them on the target.
        let has_metadata_work = scratch.is_some() && step.concurrent.iter().any(|b| b.workload.is_metadata());
        let private = has_metadata_work.then(|| private_directory(local, state)).transpose()?;
        return Ok(Opened { set, io_target, private, scratch, unsettled });
    }
    let private = private_directory(local, state)?;
    let directories = (0..workload.jobs).map(|job| private.subdirectory(&format!("job{job}")));
    let io_target = IoTarget::Directories(directories.collect::<std::io::Result<_>>()?);
    let unsettled = vec![private.descriptor()?.into()];
    Ok(Opened { set, io_target, private: Some(private), scratch, unsettled })
}

/// A private directory of the run on the target; for a file or device, which cannot contain one, in a directory that
/// only this user can write to.
fn private_directory(local: &Local<'_>, state: &TargetState) -> std::io::Result<PrivateDirectory> {
    if state.target.kind != TargetKind::Directory {
        return scratch(local);
    }
    let run = &local.recorder.run().started.id;
    PrivateDirectory::create(&state.target.path, run).map_err(TestFileError::into_source)
}

/// A private directory of the run in a directory that only this user can write to.
fn scratch(local: &Local<'_>) -> std::io::Result<PrivateDirectory> {
    let run = &local.recorder.run().started.id;
    host::scratch::create(&local.scratch, run).map_err(TestFileError::into_source)
}

/// Waits until only this process has the files of a repeat open, so that closing them frees them.
fn release_fresh(local: &mut Local<'_>, target: &Target, set: &SetRef<'_>) {
    if let SetRef::Fresh(fresh) = set
        && !fresh.await_release(target, RELEASE_LIMIT)
    {
        local.warn_still_open(&target.name);
    }
}

/// The repeat itself, between readings of all counters; and whether it hangs.
fn measured(
    local: &mut Local<'_>,
    step: &Step,
    state: &TargetState,
    opened: Opened<'_>,
    task: impl FnOnce(IoTarget) -> Task,
) -> Result<(RepeatFinished, bool), RigError> {
    let target = &state.target;
    let Opened { set, io_target, private, scratch, unsettled } = opened;
    settle(&local.interrupt, &unsettled);
    let task = task(io_target);
    let (repeat, direct) = (task.repeat, task.workload.direct);
    let cache = cache_state(&task.target, &task.workload, direct, set.get());
    local.sample_telemetry();
    let begun = (snapshot(&local.roots, &target.stack), local.recorder.at_ns());
    let (outcome, (before, began_ns)) = match &scratch {
        None => work(local, step, target, task, begun)?,
        Some(scratch) => {
            let work = ForeignWork { step, state, set: set.get(), on_target: private.as_ref(), scratch };
            let outcome = foreign::work(local, &work, &task);
            // The task holds the files open.
            drop(task);
            (outcome, begun)
        }
    };
    // The counters of processors and process are read at once; cached data have yet to reach the devices.
    let after = snapshot(&local.roots, &target.stack);
    local.sample_telemetry();
    let (mut hung, settled_ns) = settle_after(&outcome, &local.interrupt, &unsettled);
    let settled = snapshot(&local.roots, &target.stack);
    let counted_ns = local.recorder.at_ns() - began_ns;
    let mut integrity = outcome.integrity.clone();
    if hung {
        // Touching these now would hang as well.
        std::mem::forget((set, private, scratch, unsettled));
    } else {
        drop((private, scratch));
        let (read_back, hung_reading) = check_written(local, step, state, set.get(), &outcome)?;
        hung = hung_reading;
        if !hung {
            release_fresh(local, target, &set);
        }
        if let Some(read_back) = read_back {
            integrity.get_or_insert_default().merge(read_back);
        }
    }
    let Counters { cpu: machine, process: process_io, .. } = after.since(&before);
    let Counters { mut devices, .. } = settled.since(&before);
    if !state.driver.counts_belong_to(&step.id) {
        devices.clear();
    }
    let finished = RepeatFinished {
        clients: outcome.span_ns.map(|span| client(local, span)).into_iter().collect(),
        repeat,
        at_ns: local.recorder.at_ns(),
        outcome: outcome.outcome,
        window_ns: outcome.window_ns,
        counted_ns,
        settled_ns,
        unserved: outcome.unserved,
        workers: outcome.workers,
        busiest_worker: outcome.busiest_worker,
        process: outcome.process,
        machine,
        process_io,
        devices,
        cache,
        integrity,
        offset_log: outcome.offset_log,
    };
    Ok((finished, hung))
}

/// This machine's part in a repeat of several together.
fn client(local: &Local<'_>, (began_ns, ended_ns): (u64, u64)) -> ClientPart {
    let (now_ns, at_ns) = (engine::monotonic_ns(), local.recorder.at_ns());
    let at = |ns: u64| at_ns.saturating_sub(now_ns.saturating_sub(ns));
    let (began_ns, ended_ns) = (at(began_ns), at(ended_ns));
    ClientPart { host: 0, began_ns, ended_ns, within_ns: 0, operations: BTreeMap::new() }
}

/// When a repeat ends: if it uses its data up, at the latest when they are.
pub(super) fn stop(step: &Step, size_bytes: u64) -> Stop {
    let all = step.uses_data_up().then_some(size_bytes);
    let pass = step.workload.pass_bytes(size_bytes);
    let passes = step.stop.passes.map(|passes| pass.saturating_mul(u64::from(passes)));
    Stop { bytes: step.stop.bytes.into_iter().chain(all).chain(passes).min(), ..step.stop }
}

/// Syncs, so that writes of one repeat do not fall into the next; false if the sync hangs. An error is ignored: it
/// shows in the measurement itself.
pub(super) fn settle(interrupt: &AtomicBool, unsettled: &[File]) -> bool {
    let copies: std::io::Result<Vec<File>> = unsettled.iter().map(File::try_clone).collect();
    // Without a spare descriptor, the measurement goes on without a sync.
    let Ok(copies) = copies else { return true };
    with_timeout(interrupt, move || make_durable(&copies)).is_some()
}

/// Syncs after a repeat that has not failed. Returns whether the repeat or the sync hangs, and the nanoseconds of the sync.
pub(super) fn settle_after(
    outcome: &Outcome,
    interrupt: &AtomicBool,
    unsettled: &[File],
) -> (bool, Option<u64>) {
    if outcome.hung || matches!(outcome.outcome, RepeatOutcome::Failed(_)) {
        return (outcome.hung, None);
    }
    let began = Instant::now();
    let hung = !settle(interrupt, unsettled);
    (hung, Some(began.elapsed().as_nanos() as u64))
}

/// The end of a repeat whose files could not be opened: the storage failed before the first operation.
fn unopened(local: &Local<'_>, repeat: u32, workload: &Workload, errno: i32) -> RepeatFinished {
    let operation = workload.operations().first().copied().unwrap_or(Operation::Read);
    let failure = RepeatFailure::at_start(FailureKind::Unopened(errno), operation);
    RepeatFinished::uncounted(repeat, local.recorder.at_ns(), RepeatOutcome::Failed(failure))
}

/// The workload as it can run here: where direct I/O is refused, writes are synced at the end.
pub(super) fn effective(workload: &Workload, direct: bool) -> Workload {
    let mut effective = workload.clone();
    if workload.direct && !direct {
        effective.direct = false;
        effective.sync.at_end = true;
    }
    effective
}

/// The engine of a step where `best` is the one that `auto` selects.
pub(crate) fn engine_of(step: &Step, best: EngineKind) -> EngineKind {
    match (step.engine, &step.workload.mix) {
        // Metadata operations are plain system calls, whichever engine moves data.
        (_, Mix::Metadata(_)) => EngineKind::Psync,
        (EngineChoice::Only(kind), _) => kind,
        (EngineChoice::Auto, _) if step.workload.is_by_calls() => EngineKind::Psync,
        (EngineChoice::Auto, _) => best,
    }
}

pub(super) fn task(
    step: &Step,
    workload: &Workload,
    engine: EngineKind,
    repeat: u32,
    seed: u64,
    io_target: IoTarget,
) -> Task {
    Task {
        repeat,
        workload: workload.clone(),
        engine,
        stop: step.stop,
        ramp_ns: step.ramp_ns,
        interval_ns: step.interval_ns,
        max_errors: step.max_errors,
        seed,
        target: io_target,
        start: 0.0,
        compare_stamps: false,
        sim: None,
        concurrent: Vec::new(),
    }
}

/// The counters at a moment of the run.
type Begun = (Counters, u64);

/// Runs a task and records its intervals. Returns the counters with which it began: behind a barrier, where the wait for others is no
/// part of it, those of the moment at which it was passed.
fn work(
    local: &mut Local<'_>,
    step: &Step,
    target: &Target,
    task: Task,
    begun: Begun,
) -> Result<(Outcome, Begun), RigError> {
    let (interrupt, barrier) = (Arc::clone(&local.interrupt), local.barrier.take());
    let (roots, origin, passed) = (local.roots.clone(), local.recorder.origin(), Cell::new(begun));
    let counting = barrier.as_deref().map(|barrier| {
        || {
            let start = barrier()?;
            passed.set((snapshot(&roots, &target.stack), origin.elapsed().as_nanos() as u64));
            Some(start)
        }
    });
    let counting = counting.as_ref().map(|counting| counting as &engine::Barrier<'_>);
    let outcome = engine::run_at(task, &interrupt, counting, &mut |interval| record(local, interval));
    local.barrier = barrier;
    let broken = |source| RigError::Engine { step: step.id.clone(), target: target.name.clone(), source };
    Ok((outcome.map_err(broken)?, passed.into_inner()))
}

/// Records an interval of a repeat.
pub(super) fn record(local: &mut Local<'_>, mut interval: Interval) {
    if interval.phase == Phase::Ramp {
        // Of what does not count, stalls are enough: short repeats would spend a third of the log on it.
        interval.operations.values_mut().for_each(|stats| stats.lat = stats.lat.coarse());
    }
    local.emit(Event::Interval(interval));
}

/// Brings the page cache into the workload's state and returns the result; `None` if it is bypassed or there is nothing
/// to read.
fn cache_state(
    io_target: &IoTarget,
    workload: &Workload,
    direct: bool,
    set: Option<&DataSet>,
) -> Option<CacheUse> {
    let IoTarget::Files(files) = io_target else { return None };
    if direct {
        return None;
    }
    let set = set?;
    let own = files.per_job.first()?;
    if workload.cache == CacheState::Loaded && workload.reads_data() {
        // What cannot be read now fails in the measurement itself.
        let each = set.bytes / own.len() as u64;
        let written_in = workload.writes_data().then_some(workload.block.write);
        own.iter().for_each(|file| drop(cache::load(file, each, written_in)));
    }
    let random = !matches!(workload.pattern, Pattern::Sequential);
    files.per_job.iter().flatten().for_each(|file| cache::advise(file, random));
    let evict = matches!(workload.cache, CacheState::Cold | CacheState::ColdEach) && workload.reads_data();
    if evict {
        own.iter().for_each(|file| drop(cache::evict(file)));
    }
    let each = set.bytes / own.len() as u64;
    let cached = own.iter().map(|file| cache::cached_bytes(file, each).ok()).sum();
    Some(CacheUse { cached_before_bytes: cached, evicted: evict })
}

/// Reads back all blocks of a verified set after a repeat that wrote; also returns whether that hangs.
fn check_written(
    local: &mut Local<'_>,
    step: &Step,
    state: &TargetState,
    set: Option<&DataSet>,
    outcome: &Outcome,
) -> Result<(Option<IntegrityCheck>, bool), RigError> {
    let w = &step.workload;
    let Some(set) =
        set.filter(|_| w.verify && w.writes_data() && outcome.outcome == RepeatOutcome::Completed)
    else {
        return Ok((None, false));
    };
    let target = &state.target;
    let direct = w.direct && target.direct;
    let reading = Workload {
        mix: Mix::Transfer { read_percent: 100 },
        pattern: Pattern::Sequential,
        block: BlockSizes::uniform(w.block.write),
        iodepth: depth_for(w.block.write),
        jobs: 1,
        pace: Pace::Closed,
        direct,
        sync: SyncRule { every: 0, data_only: false, at_end: false },
        ..w.clone()
    };
    let files = match set.open(state, &reading, direct) {
        Ok(files) => files,
        Err(source) => {
            let errno = storage_errno(&target.name, source)?;
            let why = std::io::Error::from_raw_os_error(errno);
            return Ok((Some(unreadable(local, step, target, &why.to_string())), false));
        }
    };
    let io_target = IoTarget::Files(files);
    cache_state(&io_target, &reading, direct, Some(set));
    let task = Task {
        stop: Stop { bytes: Some(set.bytes), ..Stop::default() },
        ramp_ns: 0,
        ..task(step, &reading, local.best_engine, 0, 0, io_target)
    };
    let checked = engine::run(task, &local.interrupt, &mut |_| {});
    let checked = checked.map_err(|source| RigError::Engine {
        step: format!("{} (reading back)", step.id),
        target: target.name.clone(),
        source,
    })?;
    if let RepeatOutcome::Failed(failure) = &checked.outcome {
        return Ok((Some(unreadable(local, step, target, &failure.to_string())), checked.hung));
    }
    Ok((checked.integrity, checked.hung))
}

/// Written data cannot be read back: noted, and counted as one mismatch.
fn unreadable(local: &mut Local<'_>, step: &Step, target: &Target, why: &str) -> IntegrityCheck {
    let message = format!("cannot read back what `{}` wrote: {why}", step.id);
    local.note(Severity::Error, "read-back-failed", Some(target.name.clone()), message);
    let mut check = IntegrityCheck::default();
    check.record(0, Err(format!("cannot be read back: {why}")));
    check
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Environment, RunOverrides, Suite, resolve};

    fn step(settings: &str) -> Step {
        let (suite, _) = Suite::parse("test", &format!("[[step]]\nid = \"x\"\n{settings}\n"));
        let environment = Environment { memory_bytes: 1 << 40, engines: vec![], targets: 1 };
        resolve(&suite, &RunOverrides::default(), &environment).unwrap().plan.steps.remove(0)
    }

    #[test]
    fn a_repeat_ends_when_its_data_are_used_up() {
        let bytes = |settings: &str| stop(&step(settings), 1000).bytes;
        assert_eq!(bytes("rw = \"write\"\nprepare = \"fresh\""), Some(1000));
        assert_eq!(bytes("rw = \"trim\""), Some(1000));
        assert_eq!(bytes("rw = \"trim\"\nio_size = 500"), Some(500));
        assert_eq!(bytes("rw = \"trim\"\nio_size = 5000"), Some(1000));
        assert_eq!(bytes("rw = \"write\""), None);
        assert_eq!(bytes("rw = \"write\"\nio_size = 5000"), Some(5000));
        assert_eq!(bytes("loops = 2\njobs = 3"), Some(2000));
        assert_eq!(bytes("loops = 2\njobs = 3\nregions = \"shared\""), Some(6000));
        assert_eq!(bytes("loops = 1\njobs = 3\nregions = \"100:400\""), Some(900 + 500 + 100));
        assert_eq!(bytes("loops = 1\njobs = 2\nregions = \"0:400:300\""), Some(600));
    }
}
