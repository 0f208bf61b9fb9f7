//! Work on names: many small files are created, looked up, opened and removed, in passes.
//!
//! Each pass does one operation to all of a job's files, in order; the passes follow each other until
//! the time is up. The rate of an operation is its count over the time spent in its own passes.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};

use model::{FailureKind, MetadataOperation, MetadataWork, Mix, Operation, SyncRule, Workload};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustix::fs::{AtFlags, Mode, OFlags};

use crate::clock::{Clock, MonotonicClock, thread_cpu_ns};
use crate::recorder::{IntervalSink, Kind, Latencies, Timeline, WorkerInterval};
use crate::worker::{Limits, Signals, WorkerFailure, WorkerReport};

/// What one metadata worker needs to know.
pub(crate) struct MetadataSpec {
    pub index: u32,
    pub workload: std::sync::Arc<Workload>,
    pub limits: Limits,
    pub ramp_ns: u64,
    pub interval_ns: u64,
    pub max_errors: u64,
    pub seed: u64,
    /// An empty directory of the run's own.
    pub directory: OwnedFd,
}

/// A worker with its directories made.
pub(crate) struct MetadataWorker<'a> {
    spec: &'a MetadataSpec,
    signals: &'a Signals,
    work: &'a MetadataWork,
    root: String,
    directories: Vec<OwnedFd>,
    names: Vec<String>,
    exists: Vec<bool>,
    content: Vec<u8>,
    scratch: Vec<u8>,
    creates_since_sync: u32,
    operations_left: u64,
    bytes_left: u64,
    failure: Option<WorkerFailure>,
}

impl<'a> MetadataWorker<'a> {
    /// Makes the worker's directories, and the files if its passes do not begin by creating them.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn new(spec: &'a MetadataSpec, signals: &'a Signals) -> io::Result<Self> {
        let Mix::Metadata(work) = &spec.workload.mix else {
            return Err(io::Error::other("a metadata worker was given a data workload"));
        };
        let root = format!("job{}", spec.index);
        let make = |parent: &OwnedFd, name: &str| -> io::Result<OwnedFd> {
            rustix::fs::mkdirat(parent, name, Mode::RWXU)?;
            Ok(rustix::fs::openat(parent, name, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
        };
        let parent = make(&spec.directory, &root)?;
        let directories = (0..work.directories.max(1))
            .map(|i| make(&parent, &format!("d{i}")))
            .collect::<io::Result<Vec<_>>>()?;
        let mut content = vec![0; work.file_bytes as usize];
        Xoshiro256PlusPlus::seed_from_u64(spec.seed ^ u64::from(spec.index)).fill_bytes(&mut content);
        let mut worker = Self {
            root,
            directories,
            names: (0..work.files).map(|i| format!("f{i}")).collect(),
            exists: vec![false; work.files as usize],
            scratch: vec![0; content.len() + 1],
            content,
            creates_since_sync: 0,
            operations_left: spec.limits.operations.unwrap_or(u64::MAX),
            bytes_left: spec.limits.bytes.unwrap_or(u64::MAX),
            failure: None,
            work,
            spec,
            signals,
        };
        if work.operations.first() != Some(&MetadataOperation::Create) {
            worker.provide(true)?;
        }
        Ok(worker)
    }

    /// The recorders that a metadata worker needs.
    pub fn recorders(workload: &Workload) -> Vec<(Kind, Latencies)> {
        let mut operations = workload.operations();
        if workload.sync.every > 0 {
            operations.push(Operation::Sync);
        }
        let plain = Latencies { slat: false, clat: false };
        operations.into_iter().map(|o| (Kind::of(o), plain)).collect()
    }

    /// Makes passes until a limit, a failure or the user ends the work, then removes all files.
    ///
    /// # Errors
    /// Only if the cleaning up fails; failing operations are in the report.
    pub fn run(
        mut self,
        shared_start_ns: u64,
        first: Box<WorkerInterval>,
        sink: &mut impl IntervalSink,
    ) -> io::Result<WorkerReport> {
        let clock = MonotonicClock;
        let origin = clock.start(shared_start_ns);
        let mut timeline = Timeline::new(first, origin, self.spec.ramp_ns, self.spec.interval_ns);
        let deadline = self.spec.limits.time_ns.map_or(u64::MAX, |ns| origin + ns);
        let cpu = thread_cpu_ns();
        let mut now = origin;
        let work = self.work;
        for operation in work.operations.iter().cycle() {
            if self.ended(now, deadline) {
                break;
            }
            self.provide(*operation != MetadataOperation::Create)?;
            now = self.pass(*operation, deadline, &mut timeline, sink);
        }
        timeline.integrate(now, 1);
        timeline.finish(now, sink);
        let (user, system) = thread_cpu_ns();
        let report = WorkerReport {
            end_ns: now - origin,
            user_ns: user - cpu.0,
            system_ns: system - cpu.1,
            failure: self.failure.take(),
            ..WorkerReport::default()
        };
        self.remove_all();
        Ok(report)
    }

    fn ended(&self, now: u64, deadline: u64) -> bool {
        now >= deadline || self.operations_left == 0 || self.bytes_left == 0 || self.signals.ended()
    }

    /// One operation on every file.
    fn pass(
        &mut self,
        operation: MetadataOperation,
        deadline: u64,
        timeline: &mut Timeline,
        sink: &mut impl IntervalSink,
    ) -> u64 {
        let clock = MonotonicClock;
        let kind = Kind::of(operation.operation());
        let mut before = clock.now();
        for file in 0..self.names.len() {
            if self.ended(before, deadline) {
                break;
            }
            let (result, sync_ns) = self.operate(operation, file, &clock);
            let now = clock.now();
            timeline.roll(now, 1, sink);
            timeline.integrate(now, 1);
            let lat_ns = (now - before).saturating_sub(sync_ns.unwrap_or(0));
            let recorder = timeline.current.of(kind);
            recorder.active_ns += now - before;
            match result {
                Ok(bytes) => {
                    recorder.count += 1;
                    recorder.bytes += bytes;
                    recorder.lat.record(lat_ns);
                    self.operations_left -= 1;
                    self.bytes_left = self.bytes_left.saturating_sub(bytes);
                }
                Err(error) => self.fail(operation, &error, now, timeline),
            }
            if let Some(ns) = sync_ns {
                let recorder = timeline.current.of(Kind::Sync);
                recorder.count += 1;
                recorder.lat.record(ns);
            }
            before = now;
        }
        before
    }

    /// One operation on one file: bytes moved, and the time that a sync within it took.
    fn operate(
        &mut self,
        operation: MetadataOperation,
        file: usize,
        clock: &MonotonicClock,
    ) -> (io::Result<u64>, Option<u64>) {
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
                let (result, sync_ns) = create(directory, name, &self.content, due.then_some(rule), clock);
                // Even a failed creation may have left the name behind.
                self.exists[file] = true;
                (result.map(|()| self.content.len() as u64), sync_ns)
            }
            MetadataOperation::Open => (read_whole(directory, name, &mut self.scratch), None),
            MetadataOperation::Stat => {
                let attributes = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
                (attributes.map(|_| 0).map_err(io::Error::from), None)
            }
            MetadataOperation::Unlink => {
                let result = rustix::fs::unlinkat(directory, name, AtFlags::empty());
                self.exists[file] = result.is_err();
                (result.map(|()| 0).map_err(io::Error::from), None)
            }
        }
    }

    /// Makes all files exist, or none, outside the measured passes.
    fn provide(&mut self, wanted: bool) -> io::Result<()> {
        for file in 0..self.names.len() {
            if self.exists[file] == wanted {
                continue;
            }
            let directory = &self.directories[file % self.directories.len()];
            if wanted {
                self.exists[file] = true;
                create(directory, &self.names[file], &self.content, None, &MonotonicClock).0?;
            } else {
                rustix::fs::unlinkat(directory, self.names[file].as_str(), AtFlags::empty())?;
                self.exists[file] = false;
            }
        }
        Ok(())
    }

    /// Removes everything that the worker made. What resists is left to the run's own cleaning up,
    /// which removes the whole private directory and reports what it cannot.
    fn remove_all(&mut self) {
        let _ = self.provide(false);
        if let Ok(root) =
            rustix::fs::openat(&self.spec.directory, self.root.as_str(), OFlags::DIRECTORY, Mode::empty())
        {
            for i in 0..self.directories.len() {
                let _ = rustix::fs::unlinkat(&root, format!("d{i}"), AtFlags::REMOVEDIR);
            }
        }
        let _ = rustix::fs::unlinkat(&self.spec.directory, self.root.as_str(), AtFlags::REMOVEDIR);
    }

    #[cold]
    fn fail(&mut self, operation: MetadataOperation, error: &io::Error, now: u64, timeline: &mut Timeline) {
        use std::sync::atomic::Ordering;
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        let operation = operation.operation();
        *timeline.current.of(Kind::of(operation)).errors.entry(errno).or_default() += 1;
        let errors = self.signals.errors.fetch_add(1, Ordering::Relaxed) + 1;
        if errors >= self.spec.max_errors {
            let at_ns = timeline.since_origin(now);
            let kind = FailureKind::Errno(errno);
            self.failure.get_or_insert(WorkerFailure { kind, operation, offset: None, at_ns });
            self.signals.abort.store(true, Ordering::Relaxed);
        }
    }
}

/// Creates a file with content; with a rule, syncs it before the close and says how long that took.
fn create(
    directory: &OwnedFd,
    name: &str,
    content: &[u8],
    sync: Option<SyncRule>,
    clock: &MonotonicClock,
) -> (io::Result<()>, Option<u64>) {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let write = || -> io::Result<File> {
        let mut file = File::from(rustix::fs::openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(content)?;
        Ok(file)
    };
    match (write(), sync) {
        (Ok(file), Some(rule)) => {
            let start = clock.now();
            let result = if rule.data_only { file.sync_data() } else { file.sync_all() };
            (result, Some(clock.now() - start))
        }
        (result, _) => (result.map(drop), None),
    }
}

fn read_whole(directory: &OwnedFd, name: &str, scratch: &mut [u8]) -> io::Result<u64> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(directory.as_fd(), name, flags, Mode::empty())?;
    let mut file = File::from(fd);
    let mut bytes = 0;
    // The scratch buffer is one byte larger than the content, so that one read sees the end.
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
