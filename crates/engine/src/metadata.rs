//! Metadata operations: many small files are created, looked up, opened and removed, in passes.
//!
//! Each pass applies one operation to all of a job's files; passes follow each other until the time is up, or
//! until whole rounds of them have lasted long enough. The rate of an operation is its count divided by the time
//! spent in its own passes, including a sync at the end of a pass. The clock is paused while files are created or
//! removed only to prepare the next pass.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};

use model::{MetadataOperation, MetadataWork, Mix, NameOrder, Names, Naming, Operation, SyncRule, Workload};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

use crate::clock::monotonic_ns;
use crate::plain_loop::{Progress, Times, failure_kind};
use crate::recorder::{IntervalSink, Latencies, Timeline, WorkerInterval};
use crate::worker::{Limits, Signals, WorkerReport};

/// Flags to open directories: symbolic links are not followed.
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The parameters of one metadata worker.
pub(crate) struct MetadataSpec {
    pub index: u32,
    pub workload: std::sync::Arc<Workload>,
    pub limits: Limits,
    pub ramp_ns: u64,
    pub interval_ns: u64,
    pub max_errors: u64,
    pub seed: u64,
    /// An empty directory that belongs to the run.
    pub directory: OwnedFd,
}

/// A worker with its directories created.
pub(crate) struct MetadataWorker<'a> {
    spec: &'a MetadataSpec,
    signals: &'a Signals,
    work: &'a MetadataWork,
    root: String,
    directories: Vec<OwnedFd>,
    names: Vec<String>,
    exists: Vec<bool>,
    /// The files in the order of a pass; only if each pass draws a new order.
    shuffled: Vec<u32>,
    rng: Xoshiro256PlusPlus,
    content: Vec<u8>,
    scratch: Vec<u8>,
    creates_since_sync: u32,
    progress: Progress<'a>,
}

impl<'a> MetadataWorker<'a> {
    /// Creates the worker's directories, and the files if its passes do not begin by creating them. A storage
    /// error in this step is reported by [`MetadataWorker::run`], as a failure of the first pass.
    ///
    /// # Errors
    /// Only for a workload without metadata operations.
    pub fn new(spec: &'a MetadataSpec, signals: &'a Signals) -> io::Result<Self> {
        let Mix::Metadata(work) = &spec.workload.mix else {
            return Err(io::Error::other("a metadata worker was given a data workload"));
        };
        let mut content = vec![0; work.file_bytes as usize];
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(spec.seed ^ u64::from(spec.index));
        rng.fill_bytes(&mut content);
        let is_shuffled = work.order == NameOrder::Shuffled;
        let mut worker = Self {
            root: format!("job{}", spec.index),
            directories: Vec::new(),
            names: (0..work.files).map(|number| named(work.naming, number, &mut rng)).collect(),
            exists: vec![false; work.files as usize],
            shuffled: if is_shuffled { (0..work.files).collect() } else { Vec::new() },
            rng,
            scratch: vec![0; content.len() + 1],
            content,
            creates_since_sync: 0,
            progress: Progress::new(spec.limits, spec.max_errors, signals),
            work,
            spec,
            signals,
        };
        let first = work.operations.first().copied().unwrap_or(MetadataOperation::Create);
        if let Err(error) = worker.prepare(first) {
            worker.progress.end(failure_kind(&error), first.operation(), None, 0);
        }
        Ok(worker)
    }

    /// Creates what the first pass needs.
    fn prepare(&mut self, first: MetadataOperation) -> io::Result<()> {
        let make = |parent: &OwnedFd, name: &str| -> io::Result<OwnedFd> {
            rustix::fs::mkdirat(parent, name, Mode::RWXU)?;
            Ok(rustix::fs::openat(parent, name, DIRECTORY, Mode::empty())?)
        };
        let parent = make(&self.spec.directory, &self.root)?;
        for i in 0..self.work.directories.max(1) {
            self.directories.push(make(&parent, &format!("d{i}"))?);
        }
        self.make_ready(first)
    }

    /// Creates what a pass of this operation needs, outside the measured time.
    fn make_ready(&mut self, operation: MetadataOperation) -> io::Result<()> {
        self.shuffled.shuffle(&mut self.rng);
        let has_changed = self.provide(operation != MetadataOperation::Create, Signals::ended)?;
        // The sync at the end of a pass must not include what was created only to prepare it.
        if has_changed && self.spec.workload.sync.at_end {
            rustix::fs::syncfs(&self.spec.directory)?;
        }
        Ok(())
    }

    /// The recorders that a metadata worker needs.
    pub fn recorders(workload: &Workload) -> Vec<(Operation, Latencies)> {
        let mut operations = workload.operations();
        if workload.sync.every > 0 || workload.sync.at_end {
            operations.push(Operation::Sync);
        }
        operations.into_iter().map(|operation| (operation, Latencies::ONLY_LAT)).collect()
    }

    /// Runs passes until a limit, a failure or the user ends them, then removes all files.
    pub fn run(
        mut self,
        shared_start_ns: u64,
        first: Box<WorkerInterval>,
        sink: &mut impl IntervalSink,
    ) -> WorkerReport {
        let grid = self.spec.limits.grid(self.spec.ramp_ns, self.spec.interval_ns);
        let mut times = Times::start(shared_start_ns, first, grid, sink);
        let deadline = times.deadline(self.spec.limits);
        let mut now = shared_start_ns;
        while self.goes_on(now, shared_start_ns, deadline) {
            for operation in &self.work.operations {
                if self.ended(now, deadline) {
                    break;
                }
                if let Err(error) = times.aside(|| self.make_ready(*operation)) {
                    now = times.now();
                    let at_ns = times.timeline.since_origin(now);
                    self.progress.end(failure_kind(&error), operation.operation(), None, at_ns);
                    break;
                }
                now = self.pass(*operation, deadline, &mut times);
            }
        }
        let report = times.report(now, self.progress.failure.take());
        self.remove_all();
        report
    }

    /// True if another round of passes is due.
    fn goes_on(&self, now: u64, origin: u64, deadline: u64) -> bool {
        if self.work.operations.is_empty() || self.ended(now, deadline) {
            return false;
        }
        // One round is always run.
        let lasted = |least_ns| now > origin && now - origin >= least_ns;
        self.spec.workload.modifiers.again.is_none_or(|again| !lasted(again.least_ns))
    }

    fn ended(&self, now: u64, deadline: u64) -> bool {
        now >= deadline
            || self.progress.failure.is_some()
            || self.progress.is_used_up()
            || self.signals.stops()
    }

    /// Applies one operation to every file, and syncs what it changed.
    fn pass(
        &mut self,
        operation: MetadataOperation,
        deadline: u64,
        times: &mut Times<'_, impl IntervalSink>,
    ) -> u64 {
        let creates = operation == MetadataOperation::Create;
        let order = if creates { NameOrder::Created } else { self.work.order };
        let mut before = times.now();
        let mut one = |worker: &mut Self, file: usize| {
            if worker.ended(before, deadline) {
                return false;
            }
            let done = worker.operate(operation, file);
            let now = times.now();
            times.advance(now);
            worker.record(operation.operation(), done, now - before, now, &mut times.timeline);
            before = now;
            true
        };
        let listed = match order {
            NameOrder::Created => {
                let _ = (0..self.names.len()).all(|file| one(self, file));
                Ok(())
            }
            NameOrder::Shuffled => {
                let _ = (0..self.shuffled.len()).all(|at| one(self, self.shuffled[at] as usize));
                Ok(())
            }
            NameOrder::Listed => self.as_listed(&mut one),
        };
        if let Err(error) = listed {
            let now = times.now();
            let at_ns = times.timeline.since_origin(now);
            self.progress.end(failure_kind(&error), operation.operation(), None, at_ns);
        }
        let changes = creates || operation == MetadataOperation::Unlink;
        if changes && self.spec.workload.sync.at_end && self.progress.failure.is_none() {
            before = self.sync_all(operation.operation(), before, times);
        }
        before
    }

    /// Visits the files in directory order, until `one` reports that it is done.
    fn as_listed(&mut self, one: &mut impl FnMut(&mut Self, usize) -> bool) -> io::Result<()> {
        for directory in 0..self.directories.len() {
            let mut entries = Dir::read_from(&self.directories[directory])?;
            while let Some(entry) = entries.read() {
                let entry = entry?;
                let file = number_of(self.work.naming, entry.file_name().to_bytes());
                if let Some(file) = file.filter(|file| *file < self.names.len())
                    && !one(self, file)
                {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Syncs the filesystem, as a part of a pass that counts as a separate operation.
    fn sync_all(&mut self, pass: Operation, before: u64, times: &mut Times<'_, impl IntervalSink>) -> u64 {
        let result = rustix::fs::syncfs(&self.spec.directory).map_err(io::Error::from);
        let now = times.now();
        times.advance(now);
        times.timeline.current.of(pass).active_ns += now - before;
        self.count(Operation::Sync, result.map(|()| 0), now - before, now, &mut times.timeline);
        now
    }

    /// Counts one operation with its duration, and the sync within it separately.
    fn record(
        &mut self,
        operation: Operation,
        done: Operated,
        took_ns: u64,
        now: u64,
        timeline: &mut Timeline,
    ) {
        let (result, sync) = done;
        timeline.current.of(operation).active_ns += took_ns;
        let sync_ns = sync.as_ref().map_or(0, |sync| sync.took_ns);
        self.count(operation, result, took_ns.saturating_sub(sync_ns), now, timeline);
        if let Some(sync) = sync {
            self.count(Operation::Sync, sync.result.map(|()| 0), sync.took_ns, now, timeline);
        }
    }

    /// Counts an operation that ended with the given bytes or an error.
    fn count(
        &mut self,
        operation: Operation,
        result: io::Result<u64>,
        lat_ns: u64,
        now: u64,
        timeline: &mut Timeline,
    ) {
        match result {
            Ok(bytes) => {
                let recorder = timeline.current.of(operation);
                recorder.count += 1;
                recorder.bytes += bytes;
                recorder.lat.record(lat_ns);
                if operation != Operation::Sync {
                    self.progress.operations_left -= 1;
                    self.progress.bytes_left = self.progress.bytes_left.saturating_sub(bytes);
                }
            }
            Err(error) => self.progress.fail(operation, None, &error, now, timeline),
        }
    }

    /// Applies one operation to one file; returns the bytes moved and the sync within it.
    fn operate(&mut self, operation: MetadataOperation, file: usize) -> Operated {
        let directory = &self.directories[file % self.directories.len()];
        let name = self.names[file].as_str();
        match operation {
            MetadataOperation::Create => {
                let rule = self.spec.workload.sync;
                self.creates_since_sync += 1;
                let due = rule.every > 0 && self.creates_since_sync >= rule.every;
                if due {
                    self.creates_since_sync = 0;
                }
                let (result, sync) = match self.work.names {
                    Names::Files => create(directory, name, &self.content, due.then_some(rule)),
                    Names::Directories => (make_directory(directory, name), None),
                };
                // Even a failed creation may have left the name behind.
                self.exists[file] = true;
                (result.map(|()| self.content.len() as u64), sync)
            }
            MetadataOperation::Open => (read_whole(directory, name, &mut self.scratch), None),
            MetadataOperation::Stat => {
                let attributes = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
                (attributes.map(|_| 0).map_err(io::Error::from), None)
            }
            MetadataOperation::Unlink => {
                let result = rustix::fs::unlinkat(directory, name, self.removal());
                self.exists[file] = result.is_err();
                (result.map(|()| 0).map_err(io::Error::from), None)
            }
        }
    }

    /// The flags that remove a name.
    fn removal(&self) -> AtFlags {
        match self.work.names {
            Names::Files => AtFlags::empty(),
            Names::Directories => AtFlags::REMOVEDIR,
        }
    }

    /// Creates all files, or removes all, outside the measured passes. With millions of files that takes a while:
    /// it stops as soon as `ended` returns true. True if anything had to be changed.
    fn provide(&mut self, wanted: bool, ended: fn(&Signals) -> bool) -> io::Result<bool> {
        let mut has_changed = false;
        for file in 0..self.names.len() {
            if self.exists[file] == wanted {
                continue;
            }
            if ended(self.signals) {
                break;
            }
            has_changed = true;
            let directory = &self.directories[file % self.directories.len()];
            if wanted {
                self.exists[file] = true;
                match self.work.names {
                    Names::Files => {
                        create(directory, &self.names[file], &self.content, None).0?;
                    }
                    Names::Directories => make_directory(directory, &self.names[file])?,
                }
            } else {
                match rustix::fs::unlinkat(directory, self.names[file].as_str(), self.removal()) {
                    // A failed creation may or may not have left a name behind.
                    Ok(()) | Err(Errno::NOENT) => self.exists[file] = false,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(has_changed)
    }

    /// Removes everything that the worker created. Whatever cannot be removed is left to the run's own cleanup,
    /// which removes the whole private directory and reports what it cannot remove; so is everything that the
    /// user does not want to wait for.
    fn remove_all(&mut self) {
        let _ = self.provide(false, Signals::interrupted);
        if let Ok(root) =
            rustix::fs::openat(&self.spec.directory, self.root.as_str(), DIRECTORY, Mode::empty())
        {
            for i in 0..self.directories.len() {
                let _ = rustix::fs::unlinkat(&root, format!("d{i}"), AtFlags::REMOVEDIR);
            }
        }
        let _ = rustix::fs::unlinkat(&self.spec.directory, self.root.as_str(), AtFlags::REMOVEDIR);
    }
}

/// The name of a file.
fn named(naming: Naming, number: u32, rng: &mut Xoshiro256PlusPlus) -> String {
    const LETTERS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const MOST_LETTERS: usize = 12;
    let mut letters = || -> String {
        let count = rng.random_range(0..=MOST_LETTERS);
        (0..count).map(|_| char::from(LETTERS[rng.random_range(0..LETTERS.len())])).collect()
    };
    match naming {
        Naming::Numbered => format!("f{number}"),
        Naming::Sequential => format!("{number:0DIGITS$x}{}", letters()),
        Naming::Random => format!("{}{number:0DIGITS$x}", letters()),
    }
}

/// Hexadecimal digits of the number in a name.
const DIGITS: usize = 10;

/// The number of the file with this name, if Lodestone created it.
fn number_of(naming: Naming, name: &[u8]) -> Option<usize> {
    let name = std::str::from_utf8(name).ok()?;
    match naming {
        Naming::Numbered => name.strip_prefix('f')?.parse().ok(),
        Naming::Sequential => usize::from_str_radix(name.get(..DIGITS)?, 16).ok(),
        Naming::Random => usize::from_str_radix(name.get(name.len().checked_sub(DIGITS)?..)?, 16).ok(),
    }
}

fn make_directory(directory: &OwnedFd, name: &str) -> io::Result<()> {
    Ok(rustix::fs::mkdirat(directory, name, Mode::RWXU)?)
}

/// The result of an operation: the bytes moved, and the sync within it.
type Operated = (io::Result<u64>, Option<Sync>);

/// A sync within a creation.
struct Sync {
    took_ns: u64,
    result: io::Result<()>,
}

/// Creates a file with content; with a rule, syncs it before the close. The creation counts as successful even if
/// its sync fails.
fn create(
    directory: &OwnedFd,
    name: &str,
    content: &[u8],
    sync: Option<SyncRule>,
) -> (io::Result<()>, Option<Sync>) {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let write = || -> io::Result<File> {
        let mut file = File::from(rustix::fs::openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(content)?;
        Ok(file)
    };
    match (write(), sync) {
        (Ok(file), Some(rule)) => {
            let start = monotonic_ns();
            let result = if rule.data_only { file.sync_data() } else { file.sync_all() };
            (Ok(()), Some(Sync { took_ns: monotonic_ns() - start, result }))
        }
        (result, _) => (result.map(drop), None),
    }
}

fn read_whole(directory: &OwnedFd, name: &str, scratch: &mut [u8]) -> io::Result<u64> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(directory.as_fd(), name, flags, Mode::empty())?;
    let mut file = File::from(fd);
    let mut bytes = 0;
    // The scratch buffer is one byte larger than the content, so that one read detects the end.
    while scratch.len() > 1 {
        match file.read(scratch)? {
            0 => break,
            n => bytes += n as u64,
        }
        if (bytes as usize) < scratch.len() {
            break;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{FailureKind, SyncRule};

    /// A pass of stats over ten files, each creation synced.
    fn spec(directory: &std::path::Path) -> MetadataSpec {
        let work = MetadataWork {
            operations: vec![MetadataOperation::Stat],
            files: 10,
            directories: 1,
            file_bytes: 100,
            names: Names::Files,
            naming: Default::default(),
            order: Default::default(),
        };
        let workload = Workload {
            mix: Mix::Metadata(work),
            sync: SyncRule { every: 1, data_only: false, at_end: false },
            ..Workload::random_reads()
        };
        MetadataSpec {
            index: 0,
            workload: std::sync::Arc::new(workload),
            limits: Limits { time_ns: None, operations: Some(10), bytes: None },
            ramp_ns: 0,
            interval_ns: 100_000_000,
            max_errors: 1,
            seed: 1,
            directory: File::open(directory).unwrap().into(),
        }
    }

    /// Collects the intervals delivered to it.
    struct Collected(Vec<WorkerInterval>);

    impl IntervalSink for Collected {
        fn exchange(&mut self, _: &mut Box<WorkerInterval>) -> bool {
            false
        }

        fn deliver(&mut self, full: Box<WorkerInterval>) {
            self.0.push(*full);
        }
    }

    fn first(spec: &MetadataSpec) -> Box<WorkerInterval> {
        Box::new(WorkerInterval::new(&MetadataWorker::recorders(&spec.workload)))
    }

    #[test]
    fn the_number_of_a_file_is_read_from_its_name() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        for naming in [Naming::Numbered, Naming::Sequential, Naming::Random] {
            let names: Vec<String> = (0..1000).map(|number| named(naming, number, &mut rng)).collect();
            for (number, name) in names.iter().enumerate() {
                assert_eq!(number_of(naming, name.as_bytes()), Some(number), "{name}");
            }
            let is_in_order = names.is_sorted();
            assert_eq!(is_in_order, naming == Naming::Sequential, "{naming:?}");
            for other in ["", ".", "..", "manifest.json", "f", "\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}"] {
                assert_eq!(number_of(naming, other.as_bytes()), None, "{other}");
            }
        }
    }

    #[test]
    fn a_failed_preparation_of_a_pass_is_a_storage_failure() {
        let directory = tempfile::tempdir().unwrap();
        let (spec, signals) = (spec(directory.path()), Signals::default());
        let mut worker = MetadataWorker::new(&spec, &signals).unwrap();
        std::fs::remove_dir_all(directory.path().join("job0")).unwrap();
        worker.exists.fill(false);
        let failure = worker.run(0, first(&spec), &mut Collected(vec![])).failure.unwrap();
        assert_eq!(failure.kind, FailureKind::Errno(libc::ENOENT));
        assert_eq!(failure.operation, Operation::Stat);
        assert!(signals.ended(), "the other workers end too");
    }

    /// The time of a failed sync used to count as that of a successful one, and its errno as one of the
    /// creations.
    #[test]
    fn a_failed_sync_of_a_created_file_counts_as_a_sync_error() {
        let directory = tempfile::tempdir().unwrap();
        let (mut spec, signals) = (spec(directory.path()), Signals::default());
        if let Mix::Metadata(work) = &mut std::sync::Arc::make_mut(&mut spec.workload).mix {
            work.operations = vec![MetadataOperation::Create];
        }
        let mut worker = MetadataWorker::new(&spec, &signals).unwrap();
        let mut timeline = Timeline::new(first(&spec), 0, spec.limits.grid(0, 100_000_000));
        let failed = Err(io::Error::from_raw_os_error(libc::EIO));
        let sync = Sync { took_ns: 5_000, result: failed };
        worker.record(Operation::Create, (Ok(100), Some(sync)), 7_000, 10_000, &mut timeline);
        let mut collected = Collected(vec![]);
        timeline.finish(10_000, &mut collected);
        let operations = collected.0[0].finish();
        let (creates, syncs) = (&operations[&Operation::Create], &operations[&Operation::Sync]);
        assert_eq!((creates.count, creates.lat.max_ns(), creates.error_count()), (1, Some(2_000), 0));
        assert_eq!((syncs.count, syncs.lat.count(), syncs.errors.get(&libc::EIO)), (0, 0, Some(&1)));
        let failure = worker.progress.failure.take().unwrap();
        assert_eq!((failure.operation, failure.kind), (Operation::Sync, FailureKind::Errno(libc::EIO)));
    }
}
