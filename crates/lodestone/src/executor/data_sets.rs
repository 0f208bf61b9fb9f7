//! The data sets of the steps, and opening them for a repeat.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::{Generations, OpenFiles, open_flags};
use host::testfiles::{TestFileError, TestFiles, allocate, settle};
use model::{Preparation, Step, Workload};
use plan::DataKey;

use super::{Local, TargetState};
use plan::DataNeed;

/// A data set on a target. Copies share its files, which are removed with the last copy.
#[derive(Clone)]
pub(super) struct DataSet {
    pub wanted: DataNeed,
    pub files: Backing,
    pub bytes: u64,
    pub generations: Option<Arc<Generations>>,
    /// A part of it was trimmed since it was laid out; copies share this too.
    pub has_holes: Arc<AtomicBool>,
}

/// What holds a data set.
#[derive(Clone)]
pub(super) enum Backing {
    /// Lodestone's own test files.
    Made(Arc<TestFiles>),
    /// The target itself is the data.
    Target,
}

impl DataSet {
    /// Bytes of each of its files.
    pub fn file_bytes(&self) -> u64 {
        self.bytes / self.wanted.count
    }

    /// True if it is the whole of the user's file or device, whatever the size of other targets.
    pub fn stays_whole(&self) -> bool {
        self.wanted.whole && !self.wanted.modified && matches!(self.files, Backing::Target)
    }

    /// Opens the set for every job of a workload, with direct I/O or without.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn open(&self, state: &TargetState, workload: &Workload, direct: bool) -> io::Result<OpenFiles> {
        let flags = open_flags(workload, direct);
        let writable = state.target.writable && workload.modifies();
        let job = |_| match &self.files {
            Backing::Made(files) => files.open(writable, flags),
            Backing::Target => state.open(flags).map(|file| vec![file]),
        };
        let per_job = (0..workload.jobs).map(job).collect::<io::Result<Vec<Vec<File>>>>()?;
        Ok(OpenFiles {
            per_job,
            file_bytes: self.file_bytes(),
            writable,
            generations: if workload.verify { self.generations.clone() } else { None },
        })
    }

    /// Descriptors of the set's own files, or of the target.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn descriptors(&self, state: &TargetState) -> io::Result<Vec<File>> {
        match &self.files {
            Backing::Made(files) => files.files().iter().map(File::try_clone).collect(),
            Backing::Target => Ok(vec![state.open(0)?]),
        }
    }

    /// Paths by which other programs of the same user can open the set's files while this process has them open; the
    /// target's own path if the target is the data.
    pub fn paths(&self, state: &TargetState) -> Vec<PathBuf> {
        match &self.files {
            Backing::Made(files) => files.paths(),
            Backing::Target => vec![state.target.path.clone()],
        }
    }

    /// Makes the set smaller.
    pub fn shrink(&mut self, bytes: u64) {
        self.bytes = bytes;
        if let Backing::Made(files) = &self.files {
            // A file that is larger than its used part does no harm.
            files.files().iter().for_each(|f| drop(f.set_len(self.file_bytes())));
        }
    }
}

/// Syncs the files and, unless they are block devices, their filesystem.
///
/// # Errors
/// The kernel's error, such as `EIO` if earlier writes failed.
pub(super) fn make_durable(files: &[File]) -> io::Result<()> {
    for file in files {
        file.sync_all()?;
    }
    match files.first() {
        // For a device node, the filesystem would be the one that holds the node.
        Some(file) if !file.metadata()?.file_type().is_block_device() => settle(file),
        _ => Ok(()),
    }
}

/// Preallocates the space where the filesystem supports it, so that the files are contiguous and a full disk shows
/// now.
pub(super) fn reserve(files: &TestFiles, each: u64) -> io::Result<()> {
    let reserve = |file: &File| match allocate(file, each) {
        Err(error) if error.kind() == io::ErrorKind::StorageFull => Err(error),
        _ => file.set_len(each),
    };
    files.files().iter().try_for_each(reserve)
}

/// The set of one repeat.
pub(super) enum SetRef<'a> {
    /// Laid out before.
    Existing(&'a DataSet),
    /// Made for this repeat.
    Fresh(Box<DataSet>),
    /// None: the step consists of metadata operations.
    None,
}

impl SetRef<'_> {
    pub fn get(&self) -> Option<&DataSet> {
        match self {
            Self::Existing(set) => Some(set),
            Self::Fresh(set) => Some(set),
            Self::None => None,
        }
    }
}

impl Local<'_> {
    /// The laid-out set for a step on a target, or a new, empty one.
    ///
    /// # Errors
    /// The kernel's error.
    pub(super) fn set_for<'s>(&self, state: &'s TargetState, step: &Step) -> io::Result<SetRef<'s>> {
        let Some(key) = DataKey::of(step) else { return Ok(SetRef::None) };
        let missing = || io::Error::other("its test data were not laid out");
        if step.prepare == Preparation::Written {
            return state.set(key).map(SetRef::Existing).ok_or_else(missing);
        }
        let (wanted, bytes) = state.fresh.iter().find(|(w, _)| w.key == key).ok_or_else(missing)?;
        let run = &self.recorder.run().started.id;
        let made = TestFiles::create(&state.target.path, run, key.files.count)
            .map_err(TestFileError::into_source)?;
        if step.prepare == Preparation::Reserved {
            reserve(&made, *bytes / wanted.count)?;
        }
        Ok(SetRef::Fresh(Box::new(DataSet {
            wanted: wanted.clone(),
            files: Backing::Made(Arc::new(made)),
            bytes: *bytes,
            generations: None,
            has_holes: Arc::default(),
        })))
    }
}
