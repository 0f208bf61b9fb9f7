//! The parameters of a worker, the shared signals of a repeat's workers, and a worker's report.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use model::{FailureKind, IntegrityCheck, OffsetLog, Operation, Regions, Workload};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::pauses::Flow;
use crate::buffers::{BufferPlan, Buffers};
use crate::content::Content;
use crate::recorder::Grid;
use crate::sim::SimModel;
use crate::stamps::StampComparison;
use crate::turns::WorkerTurns;
use crate::verify::Generations;

/// State that all workers of a repeat read and set.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// The user wants to stop.
    pub interrupt: Arc<AtomicBool>,
    /// A worker has encountered a failure that ends the repeat.
    pub abort: AtomicBool,
    /// The repeat ends early and successfully.
    pub over: AtomicBool,
    /// Failed operations so far.
    pub errors: AtomicU64,
    /// When all begin was said from outside, so that it is noted when they really do.
    pub is_awaited: bool,
    /// When the last worker began.
    pub began_ns: AtomicU64,
}

impl Signals {
    #[inline]
    pub fn ended(&self) -> bool {
        self.abort.load(Ordering::Relaxed) || self.interrupted()
    }

    /// True if no further operation may start.
    #[inline]
    pub fn stops(&self) -> bool {
        self.ended() || self.over.load(Ordering::Relaxed)
    }

    pub fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }
}

/// When one worker stops; each has its own share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// From the start of the repeat, the ramp included.
    pub time_ns: Option<u64>,
    pub operations: Option<u64>,
    pub bytes: Option<u64>,
}

impl Limits {
    pub fn grid(self, ramp_ns: u64, interval_ns: u64) -> Grid {
        Grid { ramp_ns, time_ns: self.time_ns, interval_ns }
    }
}

/// All parameters of one worker.
pub(crate) struct WorkerSpec {
    pub index: u32,
    pub workers: u32,
    pub workload: Arc<Workload>,
    pub limits: Limits,
    pub ramp_ns: u64,
    pub interval_ns: u64,
    pub max_errors: u64,
    pub seed: u64,
    /// Where sequential work begins, as a share of the region.
    pub start: f64,
    pub compare_stamps: bool,
    pub files: Arc<Vec<File>>,
    /// Bytes of each file that are used: a multiple of the largest block.
    pub file_bytes: u64,
    pub writable: bool,
    pub generations: Option<Arc<Generations>>,
    pub sim: Option<SimModel>,
    /// How the workloads of a step share its operations, if they do.
    pub flow: Option<Arc<Flow>>,
    /// Only if its task takes turns with others.
    pub turns: Option<WorkerTurns>,
}

/// The first failure of a worker.
#[derive(Clone, Debug)]
pub(crate) struct WorkerFailure {
    pub kind: FailureKind,
    pub operation: Operation,
    pub offset: Option<u64>,
    /// From the start of the repeat.
    pub at_ns: u64,
}

/// A worker's final report.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkerReport {
    /// From the start of the repeat to the end of the last operation, a final sync included.
    pub end_ns: u64,
    pub user_ns: u64,
    pub system_ns: u64,
    pub unserved: u64,
    /// Operations were abandoned in the kernel.
    pub hung: bool,
    pub failure: Option<WorkerFailure>,
    pub integrity: Option<IntegrityCheck>,
    pub stamps: Option<Box<StampComparison>>,
    /// Bytes that were moved beside the measured time.
    pub uncounted_bytes: BTreeMap<Operation, u64>,
    /// The offsets of its operations, if they are logged.
    pub offset_log: BTreeMap<Operation, OffsetLog>,
}

/// The bytes of the data set that a worker uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub start: u64,
    pub len: u64,
}

impl Region {
    /// The region of worker `index`, aligned to the largest block so that no two overlap.
    pub fn of(spec: &WorkerSpec) -> Self {
        let unit = u64::from(spec.workload.largest_block());
        let blocks = spec.file_bytes / unit * spec.files.len() as u64;
        let cut = |i: u32| blocks * u64::from(i) / u64::from(spec.workers) * unit;
        match spec.workload.regions {
            Regions::Shared => Self { start: 0, len: blocks * unit },
            Regions::Disjoint => {
                let start = cut(spec.index);
                Self { start, len: cut(spec.index + 1) - start }
            }
            Regions::Spaced { offset_bytes, increment_bytes, len_bytes } => {
                let all = spec.file_bytes * spec.files.len() as u64;
                let start = offset_bytes + u64::from(spec.index) * increment_bytes;
                let rest = all.saturating_sub(start);
                Self { start, len: if len_bytes == 0 { rest } else { rest.min(len_bytes) } }
            }
        }
    }
}

/// Resources of a worker, allocated before it starts.
pub(crate) struct Stock {
    /// Filled and touched.
    pub buffers: Buffers,
    pub content: Content,
    pub rng: Xoshiro256PlusPlus,
}

impl Stock {
    /// Buffers for `slots` operations in flight, with write content if `writes`.
    ///
    /// # Errors
    /// The kernel's error for memory.
    pub fn of(spec: &WorkerSpec, slots: usize, writes: bool) -> io::Result<Self> {
        let workload = &spec.workload;
        let plan = BufferPlan::of(workload, slots, writes);
        let write_bytes = plan.write_bytes;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(spec.seed ^ (u64::from(spec.index) << 32));
        let mut content = Content::new(workload.data, write_bytes, rng.random());
        let mut filled = || {
            let mut buffers = Buffers::new(plan)?;
            content.fill(&mut buffers, write_bytes);
            buffers.touch();
            Ok(buffers)
        };
        let buffers = match &spec.turns {
            Some(turns) => turns.buffers(plan, filled)?,
            None => filled()?,
        };
        Ok(Self { buffers, content, rng })
    }
}
