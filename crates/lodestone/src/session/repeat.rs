//! One repeat: the files opened and the cache brought into its state, the counters read before and
//! after, the work done in between.

use std::sync::Arc;

use engine::{cache, Outcome, Place, Task};
use host::testfiles::{settle, PrivateDirectory};
use host::{difference, snapshot, Counters};
use model::{
    CacheState, CacheUse, EngineChoice, EngineKind, Event, IntegrityCheck, Mix, Pattern, RepeatFinished, RepeatOutcome,
    RepeatStarted, Severity, Step, Stop, Workload,
};
use xxhash_rust::xxh3::xxh3_64;

use super::data_sets::DataSet;
use super::{Session, SessionError};

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
    state: &super::PlaceState,
) -> Result<RepeatOutcome, SessionError> {
    let target = &state.target;
    let set = session.set_for(state, step)?;
    if set.get().is_none() && !step.workload.is_metadata() {
        return Ok(RepeatOutcome::Interrupted);
    }
    let direct = step.workload.direct && target.direct;
    let workload = effective(&step.workload, direct);
    let fail = |source| SessionError::Files { target: target.name.clone(), source };
    let (private, work_place) = match set.get() {
        Some(set) => (None, Place::Files(set.open(state, &workload, direct).map_err(fail)?)),
        None => {
            let private = PrivateDirectory::create(&target.path, &session.recorder.run().started.id)
                .map_err(|source| SessionError::Make { target: target.name.clone(), source })?;
            let directories = (0..workload.jobs).map(|job| private.subdirectory(&format!("job{job}")));
            let directories = directories.collect::<std::io::Result<Vec<_>>>().map_err(fail)?;
            (Some(private), Place::Directories(directories))
        }
    };
    let repeat = session.recorder.run().repeats.len() as u32;
    let seed = xxh3_64(&[session.seed.to_le_bytes(), u64::from(repeat).to_le_bytes()].concat()) & SEED_MASK;
    let engine = engine_for(session, step);
    let quiet = set.get().and_then(DataSet::own_file);
    settle_quietly(quiet);
    let cache = cache_state(&work_place, &workload, direct, set.get());
    let size_bytes = set.get().map_or(0, |s| s.bytes);
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
    let before = (snapshot(&session.roots, &target.stack), session.recorder.at_ns());
    let task = task(step, &workload, engine, repeat, seed, work_place);
    let outcome = work(session, step, &target.name, task)?;
    if !matches!(outcome.outcome, RepeatOutcome::Failed(_)) {
        settle_quietly(quiet);
    }
    let after = (snapshot(&session.roots, &target.stack), session.recorder.at_ns());
    drop(private);
    let integrity = check_written(session, step, state, set.get(), &outcome)?;
    let mut finished = finished(repeat, &outcome, &before, &after);
    finished.cache = cache;
    finished.integrity = integrity.or(outcome.integrity);
    finished.at_ns = session.recorder.at_ns();
    session.emit(Event::RepeatFinished(Box::new(finished)));
    Ok(outcome.outcome)
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
    let cached = own.iter().map(|file| cache::cached_bytes(file, each).unwrap_or(0)).sum();
    Some(CacheUse { cached_before_bytes: cached, evicted: evict })
}

/// Reads back all blocks of a verified set after a repeat that wrote.
fn check_written(
    session: &mut Session<'_>,
    step: &Step,
    state: &super::PlaceState,
    set: Option<&DataSet>,
    outcome: &Outcome,
) -> Result<Option<IntegrityCheck>, SessionError> {
    let w = &step.workload;
    let Some(set) = set.filter(|_| w.verify && w.writes_data() && outcome.outcome == RepeatOutcome::Completed) else {
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
    let fail = |source| SessionError::Files { target: target.name.clone(), source };
    let files = set.open(state, &reading, direct).map_err(fail)?;
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
        let message = format!("reading back what `{}` wrote failed: {failure}", step.id);
        session.note(Severity::Error, "read-back-failed", Some(target.name.clone()), message);
    }
    Ok(checked.integrity)
}

fn finished(
    repeat: u32,
    outcome: &Outcome,
    before: &(Counters, u64),
    after: &(Counters, u64),
) -> RepeatFinished {
    let (devices, machine, process_io) = difference(&before.0, &after.0);
    RepeatFinished {
        repeat,
        at_ns: after.1,
        outcome: outcome.outcome.clone(),
        window_ns: outcome.window_ns,
        counted_ns: after.1 - before.1,
        unserved: outcome.unserved,
        workers: outcome.workers,
        busiest_worker: outcome.busiest_worker,
        process: outcome.process,
        machine,
        process_io,
        devices,
        cache: None,
        integrity: None,
    }
}
