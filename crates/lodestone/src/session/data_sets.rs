//! The data that steps work on: which sets a plan needs on a target, how large they become, and laying
//! them out.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use engine::{Generations, OpenFiles, Place, Task, open_flags};
use host::testfiles::{TestFileError, TestFiles, free_bytes, settle};
use model::{
    BlockSizes, CacheState, Data, Event, FileSet, LaidOut, Mix, OpenSync, Operation, Pace, Pattern, Plan,
    Preparation, Regions, RepeatOutcome, Step, Stop, SyncRule, Target, TargetKind, Workload,
};

use super::{PlaceState, Session, SessionError, storage_errno};

/// Size of a data set where the plan leaves it open.
const AUTO_BYTES: u64 = 1 << 30;
/// Smallest such set, whatever the time.
const LEAST_BYTES: u64 = 64 << 20;
/// Sizes of files are multiples of this, so that every usual block size divides them.
const GRAIN: u64 = 1 << 20;
/// Block size of laying out.
const LAYOUT_BLOCK: u32 = 1 << 20;

/// What distinguishes one data set from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SetKey {
    files: FileSet,
    data: Data,
    /// Block size of a verified set.
    verify_block: Option<u32>,
}

impl SetKey {
    /// The set that a step works on; `None` for work on names.
    pub fn of(step: &Step) -> Option<Self> {
        let w = &step.workload;
        (!w.is_metadata()).then(|| Self {
            files: w.files,
            data: w.data,
            verify_block: w.verify.then_some(if w.writes_data() { w.block.write } else { w.block.read }),
        })
    }
}

/// A data set on a target.
pub(super) struct DataSet {
    key: SetKey,
    files: Backing,
    pub bytes: u64,
    pub generations: Option<Arc<Generations>>,
}

enum Backing {
    /// Files of our own.
    Made(TestFiles),
    /// The target itself is the data.
    Target,
}

impl DataSet {
    /// Opens the set for every job of a workload, with direct I/O or without.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open(&self, place: &PlaceState, workload: &Workload, direct: bool) -> io::Result<OpenFiles> {
        let flags = open_flags(workload, direct);
        let writable = place.target.writable && workload.modifies();
        let job = |_| match &self.files {
            Backing::Made(files) => files.open(writable, flags),
            Backing::Target => place.open(flags).map(|file| vec![file]),
        };
        let per_job = (0..workload.jobs).map(job).collect::<io::Result<Vec<Vec<File>>>>()?;
        let count = per_job.first().map_or(1, Vec::len) as u64;
        Ok(OpenFiles {
            per_job,
            file_bytes: self.bytes / count,
            writable,
            generations: if workload.verify { self.generations.clone() } else { None },
        })
    }
}

/// Why laying out did not come to its end.
enum Stopped {
    ByUser,
    ByFailure(String),
}

/// A set that a plan needs on a target.
struct Wanted {
    key: SetKey,
    /// Bytes that its steps need at least.
    least: u64,
    /// Its steps write or trim.
    modified: bool,
    /// It is laid out; else it is only made anew for each repeat.
    laid_out: bool,
}

fn wanted(plan: &Plan, target: &Target) -> Vec<Wanted> {
    let mut sets: Vec<Wanted> = Vec::new();
    for step in plan.steps.iter().filter(|s| plan::obstacle(s, target).is_none()) {
        let Some(key) = SetKey::of(step) else { continue };
        let w = &step.workload;
        let least = u64::from(w.largest_block()) * u64::from(w.jobs) * u64::from(w.files.count);
        let laid_out = step.prepare == Preparation::Written;
        match sets.iter_mut().find(|s| s.key == key && s.laid_out == laid_out) {
            Some(set) => {
                set.least = set.least.max(least);
                set.modified |= w.modifies();
            }
            None => sets.push(Wanted { key, least, modified: w.modifies(), laid_out }),
        }
    }
    sets
}

impl Session<'_> {
    /// Lays out everything that the steps will read or overwrite, on every target.
    pub(super) fn lay_out_all(&mut self) -> Result<(), SessionError> {
        for place in 0..self.places.len() {
            let target = self.places[place].target.clone();
            let sets = wanted(self.plan, &target);
            let sizes = sizes(&sets, &target)?;
            for (set, bytes) in sets.iter().zip(sizes) {
                if !set.laid_out {
                    self.places[place].fresh.push((set.key, bytes));
                    continue;
                }
                if self.interrupted() || self.places[place].gone {
                    return Ok(());
                }
                self.prepare(place, set, bytes)?;
            }
        }
        self.equalise();
        Ok(())
    }

    /// Makes one data set and fills it, unless it is data of the user's that are only read.
    fn prepare(&mut self, place: usize, set: &Wanted, bytes: u64) -> Result<(), SessionError> {
        let target = self.places[place].target.clone();
        let generations = set
            .key
            .verify_block
            .map(|block| Arc::new(Generations::new(self.seed ^ place as u64, bytes, block)));
        let files = match target.kind {
            TargetKind::Directory => match self.make_files(&target, set.key.files.count, bytes) {
                Ok(made) => Backing::Made(made),
                Err(source) => {
                    let errno = storage_errno(&target.name, source)?;
                    let why = io::Error::from_raw_os_error(errno);
                    self.give_up(place, &format!("the test files could not be made: {why}"));
                    return Ok(());
                }
            },
            _ => Backing::Target,
        };
        let read_only = matches!(files, Backing::Target) && !set.modified;
        self.places[place].sets.push(DataSet { key: set.key, files, bytes, generations });
        if read_only {
            return Ok(());
        }
        let began = Instant::now();
        match self.fill(place, set)? {
            Ok(()) => {
                let bytes = self.places[place].sets.last().map_or(0, |s| s.bytes);
                let (at_ns, elapsed_ns) = (self.recorder.at_ns(), began.elapsed().as_nanos() as u64);
                self.emit(Event::LaidOut(LaidOut { at_ns, target: target.name, bytes, elapsed_ns }));
            }
            Err(Stopped::ByUser) => {}
            Err(Stopped::ByFailure(why)) => {
                self.give_up(place, &format!("writing the test data failed: {why}"));
            }
        }
        Ok(())
    }

    fn make_files(&self, target: &Target, count: u32, bytes: u64) -> io::Result<TestFiles> {
        let run = &self.recorder.run().started.id;
        let made = TestFiles::create(&target.path, run, count).map_err(TestFileError::into_source)?;
        reserve(&made, bytes)?;
        Ok(made)
    }

    /// Writes the newest data set of a place from start to end and syncs it. Where its size is left
    /// open, the set becomes what could be written within the plan's limit.
    fn fill(&mut self, place: usize, set: &Wanted) -> Result<Result<(), Stopped>, SessionError> {
        let wanted_bytes = self.places[place].sets.last().map_or(0, |s| s.bytes);
        let open_ended = set.key.files.size_bytes.is_none() && set.key.files.count == 1;
        let least = set.least.max(LEAST_BYTES).min(wanted_bytes);
        let limit_ns = open_ended.then_some(self.plan.layout_limit_ns);
        let mut done = match self.write_layout(place, wanted_bytes, limit_ns)? {
            Ok(done) => done,
            Err(stopped) => return Ok(Err(stopped)),
        };
        if done < least {
            // Too little to work on, however slow the storage is.
            done = match self.write_layout(place, least, None)? {
                Ok(done) => done,
                Err(stopped) => return Ok(Err(stopped)),
            };
        }
        let name = self.places[place].target.name.clone();
        let Some(data_set) = self.places[place].sets.last_mut() else { return Ok(Ok(())) };
        Ok(match data_set.shrink_and_sync(done) {
            Ok(()) => Ok(()),
            Err(source) => {
                let errno = storage_errno(&name, source)?;
                Err(Stopped::ByFailure(io::Error::from_raw_os_error(errno).to_string()))
            }
        })
    }

    /// One pass of writing the newest data set of a place, from its start. Returns the bytes written.
    fn write_layout(
        &mut self,
        place: usize,
        bytes: u64,
        limit_ns: Option<u64>,
    ) -> Result<Result<u64, Stopped>, SessionError> {
        let state = &self.places[place];
        let target = state.target.clone();
        let Some(data_set) = state.sets.last() else { return Ok(Ok(0)) };
        let direct = target.direct && LAYOUT_BLOCK.is_multiple_of(target.block_bytes);
        let workload = layout_workload(&data_set.key, direct);
        let files = match data_set.open(state, &workload, direct) {
            Ok(files) => files,
            Err(source) => {
                let errno = storage_errno(&target.name, source)?;
                return Ok(Err(Stopped::ByFailure(io::Error::from_raw_os_error(errno).to_string())));
            }
        };
        let block = u64::from(workload.block.write);
        let usable = files.file_bytes / block * block * files.per_job[0].len() as u64;
        let task = Task {
            repeat: 0,
            stop: Stop { time_ns: limit_ns, bytes: Some(bytes.min(usable)), operations: None },
            workload,
            engine: self.best_engine,
            ramp_ns: 0,
            interval_ns: 200_000_000,
            max_errors: 1,
            seed: self.seed,
            place: Place::Files(files),
            sim: None,
        };
        let (progress, mut done) = (&mut self.progress, 0);
        let outcome = engine::run(task, &self.interrupt, &mut |interval| {
            done += interval.operations.get(&Operation::Write).map_or(0, |s| s.bytes);
            progress.laying_out(&target.name, done, bytes);
        });
        let broke =
            |source| SessionError::Engine { step: "layout".into(), target: target.name.clone(), source };
        Ok(match outcome.map_err(broke)?.outcome {
            RepeatOutcome::Completed => Ok(done),
            RepeatOutcome::Interrupted => Err(Stopped::ByUser),
            RepeatOutcome::Failed(failure) => Err(Stopped::ByFailure(failure.to_string())),
        })
    }

    /// Gives sets whose size was left open the same size on every target: the smallest.
    fn equalise(&mut self) {
        let keys: Vec<SetKey> = self.places.iter().flat_map(|p| &p.fresh).map(|(key, _)| *key).collect();
        for key in keys {
            let mut sizes: Vec<&mut u64> = self
                .places
                .iter_mut()
                .flat_map(|p| p.fresh.iter_mut().filter(|(k, _)| *k == key).map(|(_, bytes)| bytes))
                .collect();
            let smallest = sizes.iter().map(|bytes| **bytes).min().unwrap_or(0);
            sizes.iter_mut().for_each(|bytes| **bytes = smallest);
        }
        let keys: Vec<SetKey> = self.places.iter().flat_map(|p| &p.sets).map(|s| s.key).collect();
        for key in keys.into_iter().filter(|k| k.files.size_bytes.is_none()) {
            let made = |s: &&DataSet| s.key == key && matches!(s.files, Backing::Made(_));
            let sizes = self
                .places
                .iter()
                .filter(|p| !p.gone)
                .flat_map(|p| p.sets.iter().filter(made))
                .map(|s| s.bytes);
            let Some(smallest) = sizes.min() else { continue };
            for set in self.places.iter_mut().flat_map(|p| &mut p.sets).filter(|s| s.key == key) {
                if let Backing::Made(files) = &set.files
                    && set.bytes > smallest
                {
                    set.bytes = smallest;
                    let each = smallest / files.files().len() as u64;
                    // A file that stays larger than its used part does no harm.
                    files.files().iter().for_each(|f| drop(f.set_len(each)));
                }
            }
        }
    }

    /// The laid-out set for a step on a place, or a new, empty one.
    pub(super) fn set_for<'s>(&self, place: &'s PlaceState, step: &Step) -> io::Result<SetRef<'s>> {
        let Some(key) = SetKey::of(step) else { return Ok(SetRef::None) };
        if step.prepare == Preparation::Written {
            return Ok(place.sets.iter().find(|s| s.key == key).map_or(SetRef::None, SetRef::Kept));
        }
        let run = &self.recorder.run().started.id;
        let made = TestFiles::create(&place.target.path, run, key.files.count)
            .map_err(TestFileError::into_source)?;
        let bytes = place.fresh.iter().find(|(k, _)| *k == key).map_or(0, |(_, bytes)| *bytes);
        Ok(SetRef::Fresh(Box::new(DataSet { key, files: Backing::Made(made), bytes, generations: None })))
    }
}

/// The set of one repeat.
pub(super) enum SetRef<'a> {
    /// Laid out before.
    Kept(&'a DataSet),
    /// Made for this repeat.
    Fresh(Box<DataSet>),
    /// There is none: the work is on names, or the set could not be laid out.
    None,
}

impl SetRef<'_> {
    pub fn get(&self) -> Option<&DataSet> {
        match self {
            Self::Kept(set) => Some(set),
            Self::Fresh(set) => Some(set),
            Self::None => None,
        }
    }
}

impl DataSet {
    /// Cuts files of our own to what was written, and makes that durable.
    fn shrink_and_sync(&mut self, written: u64) -> io::Result<()> {
        let Backing::Made(files) = &self.files else { return Ok(()) };
        self.bytes = written / GRAIN * GRAIN;
        let each = self.bytes / files.files().len() as u64;
        for file in files.files() {
            file.set_len(each)?;
            file.sync_all()?;
        }
        settle(files.first())
    }

    /// A descriptor of the set's filesystem, for settling it; `None` if the target itself is the data.
    pub fn own_file(&self) -> Option<&File> {
        match &self.files {
            Backing::Made(files) => Some(files.first()),
            Backing::Target => None,
        }
    }
}

/// Asks the filesystem for the space beforehand, where it can promise it: so the files lie in one piece
/// and a full disk shows now.
fn reserve(files: &TestFiles, bytes: u64) -> io::Result<()> {
    let each = bytes / files.files().len().max(1) as u64;
    for file in files.files() {
        match host::testfiles::allocate(file, each) {
            Err(error) if error.kind() == io::ErrorKind::StorageFull => return Err(error),
            _ => file.set_len(each)?,
        }
    }
    Ok(())
}

/// The sizes of the wanted sets on a target.
fn sizes(sets: &[Wanted], target: &Target) -> Result<Vec<u64>, SessionError> {
    if target.kind != TargetKind::Directory {
        return sets.iter().map(|set| existing_size(set, target)).collect();
    }
    let free = free_bytes(&target.path)
        .map_err(|source| SessionError::Files { target: target.name.clone(), source })?;
    let reserve = (target.size_bytes / 20).clamp(16 << 20, 1 << 30);
    // A filesystem that says nothing of its size (ramfs) will say so when it is full.
    let usable = if target.size_bytes == 0 { u64::MAX } else { free.saturating_sub(reserve) };
    let fixed: u64 = sets.iter().filter_map(|s| s.key.files.size_bytes).sum();
    let open = sets.iter().filter(|s| s.key.files.size_bytes.is_none()).count() as u64;
    let share = usable.saturating_sub(fixed) / open.max(1);
    let mut sizes = Vec::with_capacity(sets.len());
    for set in sets {
        let grain = GRAIN.max(set.least).next_multiple_of(GRAIN);
        let bytes = match set.key.files.size_bytes {
            Some(bytes) => bytes,
            None => AUTO_BYTES.max(set.least).min(share) / GRAIN * GRAIN,
        };
        if bytes < set.least || bytes < grain.min(set.least.max(1)) || bytes == 0 {
            let needed = fixed + set.least.max(GRAIN) * open;
            return Err(SessionError::NoSpace {
                target: target.name.clone(),
                path: target.path.clone(),
                needed,
                free,
                reserve,
            });
        }
        sizes.push(bytes);
    }
    let needed: u64 = sizes.iter().sum();
    if needed > usable {
        return Err(SessionError::NoSpace {
            target: target.name.clone(),
            path: target.path.clone(),
            needed,
            free,
            reserve,
        });
    }
    Ok(sizes)
}

/// The part of an existing file or device that is used: all of it, or what the plan says. What is also
/// written is laid out before, which must not take for ever.
fn existing_size(set: &Wanted, target: &Target) -> Result<u64, SessionError> {
    let bytes = match set.key.files.size_bytes {
        Some(bytes) => bytes,
        None if set.modified => target.size_bytes.min(AUTO_BYTES.max(set.least)),
        None => target.size_bytes,
    };
    if bytes < set.least {
        return Err(SessionError::TooSmall { target: target.name.clone(), have: bytes, needed: set.least });
    }
    Ok(bytes)
}

/// Writing from start to end, with the content that the set is to have.
fn layout_workload(key: &SetKey, direct: bool) -> Workload {
    let block = key.verify_block.unwrap_or(LAYOUT_BLOCK);
    Workload {
        mix: Mix::Transfer { read_percent: 0 },
        pattern: Pattern::Sequential,
        block: BlockSizes::uniform(block),
        iodepth: if block < LAYOUT_BLOCK { 64 } else { 8 },
        jobs: 1,
        files: key.files,
        pace: Pace::Closed,
        direct,
        open_sync: OpenSync::None,
        sync: SyncRule { every: 0, data_only: false, at_end: true },
        data: key.data,
        verify: key.verify_block.is_some(),
        regions: Regions::Disjoint,
        cache: CacheState::Warm,
    }
}
