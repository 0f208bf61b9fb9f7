//! Laying out test data: complete and synced before anything is measured.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use engine::{Generations, IoTarget, Task};
use host::hanging::with_timeout;
use host::testfiles::{TestFileError, TestFiles, free_bytes};
use model::units::counted;
use model::{
    BlockSizes, Event, LaidOut, Mix, Operation, Pattern, Plan, RepeatOutcome, Severity, Step, Stop, SyncRule,
    Target, TargetKind, Workload,
};
use plan::{DataKey, DataNeed, data_needs, sizes_within};
use schedule::Lost;
use serde::{Deserialize, Serialize};

use super::data_sets::{Backing, DataSet, make_durable, reserve};
use super::{Local, RigError, TargetState, depth_for, storage_errno};

/// Why a data set was not laid out.
enum Stopped {
    ByUser,
    ByFailure(String),
    /// The storage no longer responds.
    Hung(String),
}

/// The result of a part of the layout. The outer error is the rig's, the inner the storage's or the user's.
type Laid<T> = Result<Result<T, Stopped>, RigError>;

/// The sizes of data sets on a target, in bytes.
fn sizes(sets: &[DataNeed], target: &Target) -> Result<Vec<u64>, RigError> {
    let name = || target.name.clone();
    if target.kind != TargetKind::Directory {
        let have = target.size_bytes;
        let too_small = |set: &DataNeed| RigError::TooSmall { target: name(), have, needed: set.least };
        return sets.iter().map(|set| set.part_of(have).ok_or_else(|| too_small(set))).collect();
    }
    let free = free_bytes(&target.path).map_err(|source| RigError::Files { target: name(), source })?;
    let reserve = (target.size_bytes / 20).clamp(16 << 20, 1 << 30);
    // A filesystem that does not report its size (ramfs) reports an error when it is full.
    let usable = if target.size_bytes == 0 { u64::MAX } else { free.saturating_sub(reserve) };
    let no_space = || {
        let needed = sets.iter().map(DataNeed::usual).sum();
        RigError::NoSpace { target: name(), path: target.path.clone(), needed, free, reserve }
    };
    sizes_within(sets, usable).ok_or_else(no_space)
}

/// Why the test data of the plan do not fit on a target, as far as it can be told without laying them out.
pub(crate) fn shortage(plan: &Plan, target: &Target) -> Option<String> {
    let runs: Vec<bool> = plan::obstacles(plan, target).iter().map(Option::is_none).collect();
    match sizes(&data_needs(plan, target, &runs), target) {
        Err(error @ (RigError::NoSpace { .. } | RigError::TooSmall { .. })) => Some(error.to_string()),
        _ => None,
    }
}

impl Local<'_> {
    /// Lays out everything that the steps will read or overwrite, on every target. A target where that fails is
    /// lost; it is an error only if no target is left.
    pub(crate) fn lay_out_all(&mut self) -> Result<(), RigError> {
        for index in 0..self.targets.len() {
            if self.targets[index].borrows.is_some() {
                continue;
            }
            let target = self.targets[index].target.clone();
            let obstacles = self.targets[index].obstacles(self.plan);
            let runs: Vec<bool> = obstacles.iter().map(Option::is_none).collect();
            let sets = data_needs(self.plan, &target, &runs);
            let sizes = match sizes(&sets, &target) {
                Ok(sizes) => sizes,
                Err(error) if self.active().count() == 1 => return Err(error),
                Err(error) => {
                    self.targets[index].lost = Some(Lost::Data(error.to_string()));
                    continue;
                }
            };
            for (set, bytes) in sets.into_iter().zip(sizes) {
                if self.interrupted() {
                    return Ok(());
                }
                self.note_size(&target, &set, bytes);
                if !set.laid_out {
                    self.targets[index].fresh.push((set, bytes));
                    continue;
                }
                self.prepare(index, set, bytes)?;
                if self.targets[index].lost.is_some() {
                    break;
                }
            }
        }
        self.fit(&self.open_sizes());
        self.lend();
        Ok(())
    }

    /// Gives targets that borrow test data the data sets of their lender.
    fn lend(&mut self) {
        for index in 0..self.targets.len() {
            let Some(lender) = self.targets[index].borrows else { continue };
            let state = &self.targets[lender];
            let (sets, fresh) = (state.sets.clone(), state.fresh.clone());
            let lost = state.lost.as_ref().map(|_| Lost::Lender);
            let state = &mut self.targets[index];
            (state.sets, state.fresh, state.lost) = (sets, fresh, lost);
        }
    }

    /// Refills a set after a trim, for a step that needs it whole.
    pub(super) fn restore(&mut self, index: usize, key: DataKey) -> Result<(), RigError> {
        let sets = &self.targets[index].sets;
        let trimmed = sets.iter().find(|s| s.wanted.key == key && s.has_holes.swap(false, Ordering::Relaxed));
        let Some(set) = trimmed else { return Ok(()) };
        let bytes = set.bytes;
        let laid = match self.write_layout(index, key, bytes, None)? {
            Ok(_) => self.sync_layout(index, key)?,
            Err(stopped) => Err(stopped),
        };
        self.take_note(index, laid);
        Ok(())
    }

    fn take_note(&mut self, index: usize, laid: Result<(), Stopped>) {
        let state = &mut self.targets[index];
        state.lost = match laid {
            Ok(()) | Err(Stopped::ByUser) => return,
            Err(Stopped::ByFailure(why)) => Some(Lost::Data(format!("writing the test data failed: {why}"))),
            Err(Stopped::Hung(why)) => {
                state.abandon();
                Some(Lost::Data(format!("writing the test data: {why}")))
            }
        };
    }

    /// Notes data whose size differs from the requested one.
    fn note_size(&mut self, target: &Target, set: &DataNeed, bytes: u64) {
        let Some(asked) = set.key.files.size_bytes.filter(|asked| *asked != bytes) else { return };
        let message = format!(
            "the test data are {bytes} bytes, not {asked}: {} of whole blocks of {} bytes",
            counted(set.count as usize, "file"),
            set.unit
        );
        self.note(Severity::Info, "data-size", Some(target.name.clone()), message);
    }

    /// Creates one data set and fills it, unless it is the user's data, which are only read.
    fn prepare(&mut self, index: usize, wanted: DataNeed, bytes: u64) -> Result<(), RigError> {
        let target = self.targets[index].target.clone();
        let generations = wanted
            .key
            .verify_block
            .map(|block| Arc::new(Generations::new(self.seed ^ index as u64, bytes, block)));
        let files = match target.kind {
            TargetKind::Directory => match self.make_files(&target, &wanted, bytes) {
                Ok(made) => Backing::Made(Arc::new(made)),
                Err(source) => {
                    let errno = storage_errno(&target.name, source)?;
                    let why = io::Error::from_raw_os_error(errno);
                    self.targets[index].lost =
                        Some(Lost::Data(format!("cannot create the test files: {why}")));
                    return Ok(());
                }
            },
            _ => Backing::Target,
        };
        let read_only = matches!(files, Backing::Target) && !wanted.modified;
        let key = wanted.key;
        self.targets[index].sets.push(DataSet {
            wanted,
            files,
            bytes,
            generations,
            has_holes: Arc::default(),
        });
        if read_only {
            return Ok(());
        }
        let began = Instant::now();
        let filled = self.fill(index, key)?;
        if filled.is_ok() {
            let bytes = self.targets[index].set(key).map_or(0, |s| s.bytes);
            let (at_ns, elapsed_ns) = (self.recorder.at_ns(), began.elapsed().as_nanos() as u64);
            self.emit(Event::LaidOut(LaidOut { at_ns, target: target.name, bytes, elapsed_ns }));
        }
        self.take_note(index, filled);
        Ok(())
    }

    fn make_files(&self, target: &Target, wanted: &DataNeed, bytes: u64) -> io::Result<TestFiles> {
        let run = &self.recorder.run().started.id;
        let made = TestFiles::create(&target.path, run, wanted.key.files.count)
            .map_err(TestFileError::into_source)?;
        reserve(&made, bytes / wanted.count)?;
        Ok(made)
    }

    /// Writes a data set from start to end and syncs it. A set of open size keeps what was written within the plan's
    /// time limit.
    fn fill(&mut self, index: usize, key: DataKey) -> Laid<()> {
        let Some(set) = self.targets[index].set(key) else { return Ok(Ok(())) };
        let (wanted, bytes) = (set.wanted.clone(), set.bytes);
        let limit_ns = wanted.is_open_ended().then_some(self.plan.layout_limit_ns);
        let mut done = match self.write_layout(index, key, bytes, limit_ns)? {
            Ok(done) => done,
            Err(stopped) => return Ok(Err(stopped)),
        };
        let smallest = wanted.smallest(bytes);
        if done < smallest {
            // Too little to measure on, however slow the storage is.
            done = match self.write_layout(index, key, smallest, None)? {
                Ok(done) => done,
                Err(stopped) => return Ok(Err(stopped)),
            };
        }
        if done < bytes
            && let Some(set) = self.targets[index].sets.iter_mut().find(|s| s.wanted.key == key)
        {
            set.shrink(wanted.fitted(done));
        }
        self.sync_layout(index, key)
    }

    fn sync_layout(&mut self, index: usize, key: DataKey) -> Laid<()> {
        let state = &self.targets[index];
        let files = state.set(key).map_or(Ok(Vec::new()), |set| set.descriptors(state));
        let synced = files.map(|files| with_timeout(&self.interrupt, move || make_durable(&files)));
        let name = state.target.name.clone();
        Ok(match synced {
            Ok(Some(Ok(()))) => Ok(()),
            Ok(None) => Err(Stopped::Hung("the storage does not finish a sync".into())),
            Ok(Some(Err(source))) | Err(source) => Err(failure(&name, source)?),
        })
    }

    /// Writes a data set of a target in one pass, from its start. Returns the bytes written.
    fn write_layout(&mut self, index: usize, key: DataKey, bytes: u64, limit_ns: Option<u64>) -> Laid<u64> {
        let state = &self.targets[index];
        let target = state.target.clone();
        let Some(data_set) = state.set(key) else { return Ok(Ok(0)) };
        let block = data_set.wanted.layout_block(data_set.file_bytes());
        let direct = target.direct && block.is_multiple_of(target.block_bytes);
        let workload = layout_workload(&key, block, direct);
        let files = match data_set.open(state, &workload, direct) {
            Ok(files) => files,
            Err(source) => return Ok(Err(failure(&target.name, source)?)),
        };
        let task = Task {
            repeat: 0,
            stop: Stop { time_ns: limit_ns, bytes: Some(bytes), ..Stop::default() },
            workload,
            engine: self.best_engine,
            ramp_ns: 0,
            interval_ns: 200_000_000,
            max_errors: 1,
            seed: self.seed,
            target: IoTarget::Files(files),
            start: 0.0,
            compare_stamps: false,
            sim: None,
            concurrent: Vec::new(),
        };
        let (progress, mut done) = (&mut self.progress, 0);
        let outcome = engine::run(task, &self.interrupt, &mut |interval| {
            done += interval.operations.get(&Operation::Write).map_or(0, |s| s.bytes);
            progress.laying_out(&target.name, done, bytes);
        });
        let broke = |source| RigError::Engine { step: "layout".into(), target: target.name.clone(), source };
        let outcome = outcome.map_err(broke)?;
        Ok(match outcome.outcome {
            RepeatOutcome::Failed(failure) if outcome.hung => Err(Stopped::Hung(failure.to_string())),
            RepeatOutcome::Failed(failure) => Err(Stopped::ByFailure(failure.to_string())),
            _ if outcome.hung => Err(Stopped::Hung("the storage no longer responds".into())),
            RepeatOutcome::Interrupted => Err(Stopped::ByUser),
            RepeatOutcome::Completed => Ok(done),
        })
    }

    /// The targets whose data could be prepared.
    fn active(&self) -> impl Iterator<Item = &TargetState> {
        self.targets.iter().filter(|state| state.lost.is_none())
    }

    /// The keys of the data sets whose size the plan leaves open, in its order.
    fn open_keys(&self) -> Vec<DataKey> {
        let mut keys: Vec<DataKey> = Vec::new();
        for key in self.plan.steps.iter().flat_map(Step::parts).filter_map(DataKey::of) {
            if key.files.size_bytes.is_none() && !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// The size of each set of open size where it is smallest, in the plan's order.
    pub(crate) fn open_sizes(&self) -> Vec<OpenSize> {
        let smallest = |key: DataKey| {
            let sets = self.active().filter_map(|p| p.set(key)).filter(|s| !s.stays_whole());
            OpenSize {
                kept: sets.map(|s| s.bytes).min(),
                fresh: self.active().filter_map(|p| p.fresh_bytes(key)).min(),
            }
        };
        self.open_keys().into_iter().map(smallest).collect()
    }

    /// Gives sets of open size these sizes on every target, where they are larger.
    pub(crate) fn fit(&mut self, sizes: &[OpenSize]) {
        for (key, OpenSize { kept, fresh }) in self.open_keys().into_iter().zip(sizes) {
            for state in self.targets.iter_mut().filter(|state| state.lost.is_none()) {
                for (_, bytes) in state.fresh.iter_mut().filter(|(wanted, _)| wanted.key == key) {
                    *bytes = fresh.map_or(*bytes, |smallest| smallest.min(*bytes));
                }
                for set in state.sets.iter_mut().filter(|s| s.wanted.key == key && !s.stays_whole()) {
                    if let Some(smallest) = kept.filter(|smallest| *smallest < set.bytes) {
                        set.shrink(smallest);
                    }
                }
            }
        }
    }
}

/// The smallest size of a data set whose size the plan leaves open, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenSize {
    /// Of those that were laid out; `None` if there are none.
    pub kept: Option<u64>,
    /// Of those that are created anew for each repeat.
    pub fresh: Option<u64>,
}

impl OpenSize {
    /// The smaller one of each.
    pub fn smaller(self, other: Self) -> Self {
        let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        Self { kept: least(self.kept, other.kept), fresh: least(self.fresh, other.fresh) }
    }
}

/// Sorts an error of data preparation: the storage's ends the target, the rig's the run.
fn failure(target: &str, source: io::Error) -> Result<Stopped, RigError> {
    let errno = storage_errno(target, source)?;
    Ok(Stopped::ByFailure(io::Error::from_raw_os_error(errno).to_string()))
}

/// The workload that writes a set from start to end, with its content.
fn layout_workload(key: &DataKey, block: u32, direct: bool) -> Workload {
    Workload {
        mix: Mix::Transfer { read_percent: 0 },
        pattern: Pattern::Sequential,
        block: BlockSizes::uniform(block),
        iodepth: depth_for(block),
        files: key.files,
        direct,
        sync: SyncRule { every: 0, data_only: false, at_end: true },
        data: key.data,
        verify: key.verify_block.is_some(),
        ..Workload::random_reads()
    }
}
