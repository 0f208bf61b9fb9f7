//! The definition of a repeat, and its outcome.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use model::{CpuTime, EngineKind, IntegrityCheck, OffsetLog, Operation, RepeatOutcome, Stop, Workload};

use crate::sim::SimModel;
use crate::stamps::StampComparison;
use crate::verify::Generations;

/// One repeat, ready to run.
pub struct Task {
    /// Number of the repeat, for its intervals.
    pub repeat: u32,
    /// The workload.
    pub workload: Workload,
    /// The engine.
    pub engine: EngineKind,
    /// When to stop.
    pub stop: Stop,
    /// Nanoseconds of ramp, which do not count.
    pub ramp_ns: u64,
    /// Nanoseconds per interval.
    pub interval_ns: u64,
    /// Number of errors after which the repeat is abandoned.
    pub max_errors: u64,
    /// Seed of offsets and content.
    pub seed: u64,
    /// Where sequential work begins within the region of each job, as a share of it from 0 to below 1.
    pub start: f64,
    /// The target.
    pub target: IoTarget,
    /// Also stamp each operation individually, which costs time, and report the difference.
    pub compare_stamps: bool,
    /// The simulated device, for [`EngineKind::Sim`].
    pub sim: Option<SimModel>,
    /// Tasks that run concurrently; of each only workload, engine, stop, errors, seed and target count.
    pub concurrent: Vec<Task>,
}

/// The target of a repeat.
pub enum IoTarget {
    /// Open files or a device.
    Files(OpenFiles),
    /// For each job an empty directory that belongs to the run.
    Directories(Vec<OwnedFd>),
}

/// The open files of a data set.
pub struct OpenFiles {
    /// The files of the set per job, opened for that job alone.
    pub per_job: Vec<Vec<File>>,
    /// Bytes of each file.
    pub file_bytes: u64,
    /// Whether the files are open for writing.
    pub writable: bool,
    /// The expected content of a verified set.
    pub generations: Option<Arc<Generations>>,
}

/// Says when the workers of a repeat begin, once all are ready: a moment of `CLOCK_MONOTONIC` in nanoseconds; `None` if they are
/// not to begin.
pub type Barrier<'a> = dyn Fn() -> Option<u64> + 'a;

/// The result of a repeat; its intervals were delivered during the run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub outcome: RepeatOutcome,
    /// Nanoseconds from the end of the ramp to the end of the last operation.
    pub window_ns: u64,
    /// Nanoseconds from the start to the end, ramp included.
    pub whole_ns: u64,
    /// When the last worker really began and the last operation ended, on `CLOCK_MONOTONIC` in nanoseconds, if a [`Barrier`] said
    /// when they should begin.
    pub span_ns: Option<(u64, u64)>,
    /// Operations of an open loop that were due and never started.
    pub unserved: u64,
    /// Bytes that tasks which take turns moved beside the measured time: while their queues filled and emptied.
    pub uncounted_bytes: BTreeMap<Operation, u64>,
    /// CPU time of the workers.
    pub workers: CpuTime,
    /// Largest share of the repeat, 0 to 1, that one worker spent on a CPU.
    pub busiest_worker: f64,
    /// CPU time of the process.
    pub process: CpuTime,
    /// Operations or whole workers were abandoned in the kernel and may still change the files: the caller must
    /// not wait for these files, check them or create them again.
    pub hung: bool,
    /// The result of verification, for a verified set.
    pub integrity: Option<IntegrityCheck>,
    /// The same operations stamped both ways, if requested.
    pub stamps: Option<StampComparison>,
    /// The offsets of the operations, for workloads that log them.
    pub offset_log: BTreeMap<Operation, OffsetLog>,
}

impl Outcome {
    /// The outcome of a repeat in which no worker did anything: it was stopped before it started, or another program did
    /// its work within `window_ns` nanoseconds.
    pub fn without_work(outcome: RepeatOutcome, window_ns: u64) -> Self {
        Self {
            outcome,
            window_ns,
            whole_ns: window_ns,
            span_ns: None,
            unserved: 0,
            uncounted_bytes: BTreeMap::new(),
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

/// The reason why a repeat could not run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The engine or its memory is unavailable.
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
    /// The engine failed while it ran.
    #[error("{engine} failed while running: {source}")]
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

impl Task {
    /// Number of workers, including those of concurrent tasks.
    pub(crate) fn jobs(&self) -> u32 {
        self.concurrent.iter().fold(self.workload.jobs, |sum, task| sum + task.workload.jobs)
    }

    /// Nanoseconds from the common start to the end of the last worker, if all have a time limit.
    pub(crate) fn deadline_ns(&self) -> Option<u64> {
        let own = self.stop.time_ns.map(|ns| ns + self.ramp_ns + self.workload.modifiers.start_delay_ns);
        let all = std::iter::once(own).chain(self.concurrent.iter().map(Task::deadline_ns));
        all.collect::<Option<Vec<u64>>>()?.into_iter().max()
    }
}
