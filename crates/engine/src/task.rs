//! What a repeat is asked to do, and what it came to.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use model::{CpuTime, EngineKind, IntegrityCheck, OffsetLog, Operation, RepeatOutcome, Stop, Workload};

use crate::sim::SimModel;
use crate::stamps::StampComparison;
use crate::verify::Generations;

/// One repeat, ready to be done.
pub struct Task {
    /// Number of the repeat, for its intervals.
    pub repeat: u32,
    /// What to do.
    pub workload: Workload,
    /// With which engine.
    pub engine: EngineKind,
    /// When to stop.
    pub stop: Stop,
    /// Nanoseconds that do not count.
    pub ramp_ns: u64,
    /// Nanoseconds per interval.
    pub interval_ns: u64,
    /// Errors after which the repeat is given up.
    pub max_errors: u64,
    /// Seed of offsets and content.
    pub seed: u64,
    /// On what.
    pub target: IoTarget,
    /// Stamp each operation besides, which costs time, and tell how that differs.
    pub compare_stamps: bool,
    /// The simulated device, for [`EngineKind::Sim`].
    pub sim: Option<SimModel>,
    /// What runs at the same time; of each only workload, engine, stop, errors, seed and place count.
    pub concurrent: Vec<Task>,
}

/// What a repeat works on.
pub enum IoTarget {
    /// Open files or a device.
    Files(OpenFiles),
    /// For each job an empty directory of the run's own.
    Directories(Vec<OwnedFd>),
}

/// The open files of a data set.
pub struct OpenFiles {
    /// For each job the files of the set, opened for that job alone.
    pub per_job: Vec<Vec<File>>,
    /// Bytes of each file.
    pub file_bytes: u64,
    /// Whether the files are open for writing.
    pub writable: bool,
    /// What a verified set holds.
    pub generations: Option<Arc<Generations>>,
}

/// What a repeat came to; its intervals have been delivered meanwhile.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub outcome: RepeatOutcome,
    /// Nanoseconds from the end of the ramp to the end of the last operation.
    pub window_ns: u64,
    /// Nanoseconds from the start to the end, ramp included.
    pub whole_ns: u64,
    /// Operations of an open loop that were due and never started.
    pub unserved: u64,
    /// CPU time of the workers.
    pub workers: CpuTime,
    /// Largest share of the repeat, 0 to 1, that one worker spent on a CPU.
    pub busiest_worker: f64,
    /// CPU time of the process.
    pub process: CpuTime,
    /// Operations or whole workers were left behind in the kernel and may still change the files: the
    /// caller must not wait for these, check them or make them again.
    pub hung: bool,
    /// What checking found, for a verified set.
    pub integrity: Option<IntegrityCheck>,
    /// The same operations stamped both ways, if that was asked for.
    pub stamps: Option<StampComparison>,
    /// Where the operations were, for workloads that keep that.
    pub offset_log: BTreeMap<Operation, OffsetLog>,
}

impl Outcome {
    /// The user has stopped the repeat before it began.
    pub(crate) fn interrupted() -> Self {
        Self {
            outcome: RepeatOutcome::Interrupted,
            window_ns: 0,
            whole_ns: 0,
            unserved: 0,
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

/// What kept a repeat from being done at all.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The engine or its memory could not be had.
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
    /// The engine broke while it ran.
    #[error("{engine} broke while running: {source}")]
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
    /// Workers, those beside included.
    pub(crate) fn jobs(&self) -> u32 {
        self.concurrent.iter().fold(self.workload.jobs, |sum, task| sum + task.workload.jobs)
    }

    /// Nanoseconds from the common start to the end of the last worker, if all end by the time.
    pub(crate) fn deadline_ns(&self) -> Option<u64> {
        let own = self.stop.time_ns.map(|ns| ns + self.ramp_ns + self.workload.modifiers.start_delay_ns);
        let all = std::iter::once(own).chain(self.concurrent.iter().map(Task::deadline_ns));
        all.collect::<Option<Vec<u64>>>()?.into_iter().max()
    }
}
