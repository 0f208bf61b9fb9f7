//! One repeat: the files opened and the cache brought into its state, the counters read before and
//! after, the work done in between.

use std::sync::Arc;

use engine::{Outcome, Place, Task, cache};
use host::testfiles::{PrivateDirectory, TestFileError, settle};
use host::{difference, snapshot};
use model::{
    CacheState, CacheUse, CpuTime, EngineChoice, EngineKind, Event, FailureKind, IntegrityCheck, Mismatch,
    Mix, Operation, Pattern, RepeatFailure, RepeatFinished, RepeatOutcome, RepeatStarted, Severity, Step,
    Stop, Target, Workload,
};
use xxhash_rust::xxh3::xxh3_64;

use super::data_sets::{DataSet, SetRef};
use super::{PlaceState, Session, SessionError, storage_errno};

/// Seeds stay below 2^53, so that they survive languages in which every number is a float.
const SEED_MASK: u64 = (1 << 53) - 1;

/// Does one repeat of a step on a place and records it.
pub(super) fn run(
    session: &mut Session<'_>,
    round: u32,
    step: usize,
    place: usize,
) -> Result<RepeatOutcome, SessionError> {
    let step = session.plan.steps[step].clone();
    // The place is taken out of the session while its data are borrowed.
    let state = session.places.remove(place);
    let result = on_place(session, round, &step, &state);
    session.places.insert(place, state);
    result
}

fn on_place(
    session: &mut Session<'_>,
    round: u32,
    step: &Step,
    state: &PlaceState,
) -> Result<RepeatOutcome, SessionError> {
    let target = &state.target;
    let direct = step.workload.direct && target.direct;
    let workload = effective(&step.workload, direct);
    let opened = open(session, step, state, &workload, direct);
    let size_bytes = opened.as_ref().ok().and_then(|o| o.set.get()).map_or(0, |s| s.bytes);
    let repeat = session.recorder.run().repeats.len() as u32;
    let numbers = [session.seed.to_le_bytes(), u64::from(repeat).to_le_bytes()].concat();
    let seed = xxh3_64(&numbers) & SEED_MASK;
    let engine = engine_for(session, step);
    session.emit(Event::RepeatStarted(RepeatStarted {
        repeat,
        at_ns: session.recorder.at_ns(),
        round,
        step: step.id.clone(),
        target: target.name.clone(),
        engine,
        direct: direct || workload.is_metadata(),
        size_bytes,
        seed,
    }));
    let finished = match opened {
        Ok(opened) => {
            let task = |place| task(step, &workload, engine, repeat, seed, place);
            measured(session, step, state, opened, task)?
        }
        Err(source) => {
            let errno = storage_errno(&target.name, source)?;
            unopened(session, repeat, &workload, errno)
        }
    };
    let outcome = finished.outcome.clone();
    session.emit(Event::RepeatFinished(Box::new(finished)));
    Ok(outcome)
}

/// The files of a repeat, or the directories of one that works on names.
struct Opened<'a> {
    set: SetRef<'a>,
    place: Place,
    /// Removed with everything in it when the repeat is over.
    private: Option<PrivateDirectory>,
}

fn open<'s>(
    session: &Session<'_>,
    step: &Step,
    state: &'s PlaceState,
    workload: &Workload,
    direct: bool,
) -> std::io::Result<Opened<'s>> {
    let set = session.set_for(state, step)?;
    if let Some(data) = set.get() {
        let place = Place::Files(data.open(state, workload, direct)?);
        return Ok(Opened { set, place, private: None });
    }
    let run = &session.recorder.run().started.id;
    let private = PrivateDirectory::create(&state.target.path, run).map_err(TestFileError::into_source)?;
    let directories = (0..workload.jobs).map(|job| private.subdirectory(&format!("job{job}")));
    let place = Place::Directories(directories.collect::<std::io::Result<_>>()?);
    Ok(Opened { set, place, private: Some(private) })
}

/// The repeat itself, between two readings of all counters.
fn measured(
    session: &mut Session<'_>,
    step: &Step,
    state: &PlaceState,
    opened: Opened<'_>,
    task: impl FnOnce(Place) -> Task,
) -> Result<RepeatFinished, SessionError> {
    let target = &state.target;
    let set = opened.set.get();
    let quiet = set.and_then(DataSet::own_file);
    settle_quietly(quiet);
    let task = task(opened.place);
    let (repeat, direct) = (task.repeat, task.workload.direct);
    let cache = cache_state(&task.place, &task.workload, direct, set);
    let before = (snapshot(&session.roots, &target.stack), session.recorder.at_ns());
    let outcome = work(session, step, &target.name, task)?;
    if !matches!(outcome.outcome, RepeatOutcome::Failed(_)) {
        settle_quietly(quiet);
    }
    let after = (snapshot(&session.roots, &target.stack), session.recorder.at_ns());
    drop(opened.private);
    let read_back = check_written(session, step, state, set, &outcome)?;
    let (devices, machine, process_io) = difference(&before.0, &after.0);
    Ok(RepeatFinished {
        repeat,
        at_ns: session.recorder.at_ns(),
        outcome: outcome.outcome,
        window_ns: outcome.window_ns,
        counted_ns: after.1 - before.1,
        unserved: outcome.unserved,
        workers: outcome.workers,
        busiest_worker: outcome.busiest_worker,
        process: outcome.process,
        machine,
        process_io,
        devices,
        cache,
        integrity: read_back.or(outcome.integrity),
    })
}

/// The end of a repeat whose files could not be opened: the storage has failed before its first
/// operation.
fn unopened(session: &Session<'_>, repeat: u32, workload: &Workload, errno: i32) -> RepeatFinished {
    RepeatFinished {
        repeat,
        at_ns: session.recorder.at_ns(),
        outcome: RepeatOutcome::Failed(RepeatFailure {
            kind: FailureKind::Unopened(errno),
            operation: workload.operations().first().copied().unwrap_or(Operation::Read),
            offset: None,
            after_ns: 0,
            good_operations: 0,
            good_bytes: 0,
        }),
        window_ns: 0,
        counted_ns: 0,
        unserved: 0,
        workers: CpuTime::default(),
        busiest_worker: 0.0,
        process: CpuTime::default(),
        machine: None,
        process_io: None,
        devices: Vec::new(),
        cache: None,
        integrity: None,
    }
}

/// The workload as it can be done here: where direct I/O is refused, writes are synced in the end.
fn effective(workload: &Workload, direct: bool) -> Workload {
    let mut effective = workload.clone();
    if workload.direct && !direct {
        effective.direct = false;
        effective.sync.at_end = true;
    }
    effective
}

fn engine_for(session: &Session<'_>, step: &Step) -> EngineKind {
    match (step.engine, &step.workload.mix) {
        // Work on names is done by plain system calls, whichever engine moves data.
        (_, Mix::Metadata(_)) => EngineKind::Psync,
        (EngineChoice::Only(kind), _) => kind,
        (EngineChoice::Auto, _) => session.best_engine,
    }
}

fn task(step: &Step, workload: &Workload, engine: EngineKind, repeat: u32, seed: u64, place: Place) -> Task {
    Task {
        repeat,
        workload: workload.clone(),
        engine,
        stop: step.stop,
        ramp_ns: step.ramp_ns,
        interval_ns: step.interval_ns,
        max_errors: step.max_errors,
        seed,
        place,
        sim: None,
    }
}

/// Runs a task, with its intervals recorded.
fn work(session: &mut Session<'_>, step: &Step, target: &str, task: Task) -> Result<Outcome, SessionError> {
    let interrupt = Arc::clone(&session.interrupt);
    let outcome = engine::run(task, &interrupt, &mut |interval| session.emit(Event::Interval(interval)));
    outcome.map_err(|source| SessionError::Engine {
        step: step.id.clone(),
        target: target.to_owned(),
        source,
    })
}

/// Waits until the filesystem has nothing more to write, so that one repeat's leftovers do not fall into
/// the next. A filesystem that cannot is about to show it in the measurement itself.
fn settle_quietly(file: Option<&std::fs::File>) {
    if let Some(file) = file {
        let _ = settle(file);
    }
}

/// Brings the page cache into the state that the workload asks for and says what came of it; `None`
/// where it is bypassed or there is nothing to read.
fn cache_state(place: &Place, workload: &Workload, direct: bool, set: Option<&DataSet>) -> Option<CacheUse> {
    let Place::Files(files) = place else { return None };
    if direct {
        return None;
    }
    let set = set?;
    let random = !matches!(workload.pattern, Pattern::Sequential);
    files.per_job.iter().flatten().for_each(|file| cache::advise(file, random));
    let own = files.per_job.first()?;
    let evict = workload.cache == CacheState::Cold && workload.reads_data();
    if evict {
        own.iter().for_each(|file| drop(cache::evict(file)));
    }
    let each = set.bytes / own.len() as u64;
    let cached = own.iter().map(|file| cache::cached_bytes(file, each).ok()).sum();
    Some(CacheUse { cached_before_bytes: cached, evicted: evict })
}

/// Reads back all blocks of a verified set after a repeat that wrote.
fn check_written(
    session: &mut Session<'_>,
    step: &Step,
    state: &PlaceState,
    set: Option<&DataSet>,
    outcome: &Outcome,
) -> Result<Option<IntegrityCheck>, SessionError> {
    let w = &step.workload;
    let Some(set) =
        set.filter(|_| w.verify && w.writes_data() && outcome.outcome == RepeatOutcome::Completed)
    else {
        return Ok(None);
    };
    let target = &state.target;
    let direct = w.direct && target.direct;
    let reading = Workload {
        mix: Mix::Transfer { read_percent: 100 },
        pattern: Pattern::Sequential,
        iodepth: 32,
        jobs: 1,
        pace: model::Pace::Closed,
        direct,
        sync: model::SyncRule { every: 0, data_only: false, at_end: false },
        ..w.clone()
    };
    let files = match set.open(state, &reading, direct) {
        Ok(files) => files,
        Err(source) => {
            let errno = storage_errno(&target.name, source)?;
            let why = std::io::Error::from_raw_os_error(errno);
            return Ok(Some(unreadable(session, step, target, &why.to_string())));
        }
    };
    let place = Place::Files(files);
    cache_state(&place, &reading, direct, Some(set));
    let task = Task {
        stop: Stop { bytes: Some(set.bytes), ..Stop::default() },
        ramp_ns: 0,
        ..task(step, &reading, session.best_engine, 0, 0, place)
    };
    let checked = engine::run(task, &session.interrupt, &mut |_| {});
    let checked = checked.map_err(|source| SessionError::Engine {
        step: format!("{} (reading back)", step.id),
        target: target.name.clone(),
        source,
    })?;
    if let RepeatOutcome::Failed(failure) = &checked.outcome {
        return Ok(Some(unreadable(session, step, target, &failure.to_string())));
    }
    Ok(checked.integrity)
}

/// What was written cannot be read back: said, and counted as one mismatch.
fn unreadable(session: &mut Session<'_>, step: &Step, target: &Target, why: &str) -> IntegrityCheck {
    let message = format!("reading back what `{}` wrote failed: {why}", step.id);
    session.note(Severity::Error, "read-back-failed", Some(target.name.clone()), message);
    let first = vec![Mismatch { offset: 0, what: format!("cannot be read back: {why}") }];
    IntegrityCheck { checked: 1, mismatched: 1, first }
}
