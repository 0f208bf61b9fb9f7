//! What is asked of the storage, free of any engine and of any place.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Operation;

/// A stream of operations, fully described.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Which operations.
    pub mix: Mix,
    /// In which order over the data.
    pub pattern: Pattern,
    /// Bytes per operation.
    pub block: BlockSizes,
    /// Operations that each job keeps in flight.
    pub iodepth: u32,
    /// Workers that run at the same time.
    pub jobs: u32,
    /// The data set: how many files and how large.
    pub files: FileSet,
    /// When operations start.
    pub pace: Pace,
    /// Bypass the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Open flags that make every write durable.
    pub open_sync: OpenSync,
    /// Syncs that the workload issues itself.
    pub sync: SyncRule,
    /// What is written.
    pub data: Data,
    /// Stamp every written block and check what is read.
    pub verify: bool,
    /// How jobs share the data set.
    pub regions: Regions,
    /// State of the page cache at the start of a buffered repeat.
    pub cache: CacheState,
    /// Settings that most workloads leave at their defaults.
    #[serde(default, skip_serializing_if = "Modifiers::is_none")]
    pub modifiers: Modifiers,
}

impl Workload {
    /// Bytes that all jobs together move when each moves as many as its part of these data has.
    pub fn pass_bytes(&self, size_bytes: u64) -> u64 {
        let jobs = u64::from(self.jobs);
        match self.regions {
            Regions::Disjoint => size_bytes,
            Regions::Shared => size_bytes * jobs,
            Regions::Spaced { offset_bytes, increment_bytes, len_bytes } => (0..jobs)
                .map(|job| {
                    let rest = size_bytes.saturating_sub(offset_bytes + job * increment_bytes);
                    if len_bytes == 0 { rest } else { rest.min(len_bytes) }
                })
                .sum(),
        }
    }

    /// The plainest workload, to be varied: random reads of 4 KiB by one job, one at a time, each block once
    /// per pass, through the page cache as it is.
    pub fn random_reads() -> Self {
        Self {
            mix: Mix::Transfer { read_percent: 100 },
            pattern: Pattern::Random { distribution: Distribution::Uniform, repeats: false },
            block: BlockSizes::uniform(4096),
            iodepth: 1,
            jobs: 1,
            files: FileSet { count: 1, size_bytes: None, number: 0 },
            pace: Pace::Closed,
            direct: false,
            open_sync: OpenSync::None,
            sync: SyncRule { every: 0, data_only: false, at_end: false },
            data: Data { class: DataClass::Random, compress_percent: 0, dedupe_percent: 0 },
            verify: false,
            regions: Regions::Disjoint,
            cache: CacheState::Warm,
            modifiers: Modifiers::default(),
        }
    }

    /// The operations that this workload counts, in the order in which they are shown.
    pub fn operations(&self) -> Vec<Operation> {
        let mut operations = match &self.mix {
            Mix::Transfer { read_percent: 100 } => vec![Operation::Read],
            Mix::Transfer { read_percent: 0 } => vec![Operation::Write],
            Mix::Update { write_percent: 0 } => vec![Operation::Read],
            Mix::Transfer { .. } | Mix::Update { .. } => vec![Operation::Read, Operation::Write],
            Mix::Trim => vec![Operation::Trim],
            Mix::Allocate => vec![Operation::Allocate],
            Mix::Truncate => vec![Operation::Truncate],
            Mix::Metadata(work) => work.operations.iter().map(|o| o.operation()).collect(),
        };
        if self.writes_data() {
            if self.sync.every > 0 {
                operations.push(Operation::DurableWrite);
            }
            if self.sync.every > 0 || self.sync.at_end {
                operations.push(Operation::Sync);
            }
        }
        operations
    }

    /// Block sizes in bytes of the directions that the mix has; none for metadata operations.
    pub fn used_blocks(&self) -> Vec<u32> {
        let directions = [
            (self.reads_data(), self.block.read),
            (self.writes_data() || matches!(self.mix, Mix::Allocate | Mix::Truncate), self.block.write),
            (matches!(self.mix, Mix::Trim), self.block.trim),
        ];
        // If block sizes are drawn, only their grain defines where blocks begin.
        let grain = self.modifiers.split.as_ref().map(|split| (true, split.grain));
        grain.into_iter().chain(directions).filter(|(used, _)| *used).map(|(_, bytes)| bytes).collect()
    }

    /// The largest of [`Workload::used_blocks`], in bytes; 1 for metadata operations.
    pub fn largest_block(&self) -> u32 {
        self.used_blocks().into_iter().max().unwrap_or(1)
    }

    /// True if the workload reads data blocks.
    pub fn reads_data(&self) -> bool {
        matches!(self.mix, Mix::Transfer { read_percent: 1.. } | Mix::Update { .. })
    }

    /// True if the workload writes data blocks.
    pub fn writes_data(&self) -> bool {
        matches!(self.mix, Mix::Transfer { read_percent: 0..100 } | Mix::Update { write_percent: 1.. })
    }

    /// True if the workload changes what is stored.
    pub fn modifies(&self) -> bool {
        self.writes_data() || matches!(self.mix, Mix::Trim | Mix::Allocate | Mix::Truncate | Mix::Metadata(_))
    }

    /// True if what the workload writes is what stood there: the data are not ours and need not be.
    pub fn writes_back(&self) -> bool {
        self.modifiers.read_first == Some(ReadFirst::Block)
    }

    /// True if the data are moved by plain calls, one after the other, whichever engine was asked for: in pieces
    /// of a block, read to be written back, or in passes that are done again.
    pub fn is_by_calls(&self) -> bool {
        let modifiers = &self.modifiers;
        let in_calls = modifiers.calls.is_some() || modifiers.again.is_some();
        !self.is_metadata() && (in_calls || matches!(self.mix, Mix::Update { .. }))
    }

    /// True if the workload works on names rather than on a data set.
    pub fn is_metadata(&self) -> bool {
        matches!(self.mix, Mix::Metadata(_))
    }
}

/// Which operations a workload is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mix {
    /// Reads and writes; each operation is a read with this probability.
    Transfer {
        /// 0 is only writes, 100 only reads.
        read_percent: u8,
    },
    /// Reads; after each, with this probability, a byte of the block is altered and the block written back.
    Update {
        /// 100 rewrites every block that is read.
        write_percent: u8,
    },
    /// Discards (block device) or punched holes (file).
    Trim,
    /// Space of a file reserved (`fallocate`), in blocks of the size of writes.
    Allocate,
    /// A file's length set (`ftruncate`) to where blocks of the size of writes begin.
    Truncate,
    /// Work on many small files.
    Metadata(MetadataWork),
}

/// Work on many small files: rounds of the operations in the given order, each over all files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetadataWork {
    /// What is done to all files, in this order, again and again.
    pub operations: Vec<MetadataOperation>,
    /// Files per job.
    pub files: u32,
    /// Directories per job over which the files are spread.
    pub directories: u32,
    /// Bytes written into each file when it is created.
    pub file_bytes: u64,
    /// What the names stand for.
    #[serde(default)]
    pub names: Names,
    /// What the names look like.
    #[serde(default, skip_serializing_if = "Naming::is_numbered")]
    pub naming: Naming,
    /// In which order all passes but the creating one go over them.
    #[serde(default, skip_serializing_if = "NameOrder::is_created")]
    pub order: NameOrder,
}

/// What the names of a metadata workload look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Naming {
    /// A letter and the number.
    #[default]
    Numbered,
    /// Ten hexadecimal digits of the number, then up to twelve random letters and digits: in the order of the names.
    Sequential,
    /// Up to twelve random letters and digits, then ten hexadecimal digits of the number: in no order.
    Random,
}

impl Naming {
    fn is_numbered(&self) -> bool {
        *self == Self::Numbered
    }
}

/// The order in which names are worked on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameOrder {
    /// As they were created.
    #[default]
    Created,
    /// As the directory lists them, which is read meanwhile.
    Listed,
    /// At random, another one for each pass.
    Shuffled,
}

impl NameOrder {
    fn is_created(&self) -> bool {
        *self == Self::Created
    }
}

/// What the names of a metadata workload stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Names {
    /// Files.
    #[default]
    Files,
    /// Directories, which are empty and are not opened.
    Directories,
}

/// One pass over all files of a metadata workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetadataOperation {
    /// Create, write the content, close; with a sync rule, sync the file before the close.
    Create,
    /// Open by name, read the content, close.
    Open,
    /// Look up the attributes by name.
    Stat,
    /// Remove.
    Unlink,
}

impl MetadataOperation {
    /// All passes, in their natural order.
    pub const ALL: [Self; 4] = [Self::Create, Self::Stat, Self::Open, Self::Unlink];

    /// The operation under which the pass is counted.
    pub fn operation(self) -> Operation {
        match self {
            Self::Create => Operation::Create,
            Self::Open => Operation::Open,
            Self::Stat => Operation::Stat,
            Self::Unlink => Operation::Unlink,
        }
    }
}

/// The order of blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// From the start of the job's region to its end, and again.
    Sequential,
    /// A run of blocks in order, then a leap, and so on; past either end it goes on from the other.
    Strided {
        /// Bytes that are worked on in a row.
        run_bytes: u64,
        /// Bytes left out after each run; if negative, bytes gone back.
        skip_bytes: i64,
    },
    /// So many blocks, evenly spaced from the start of the job's region to its end, and again.
    Spaced {
        /// How many.
        count: u32,
    },
    /// At random.
    Random {
        /// Which blocks are preferred.
        distribution: Distribution,
        /// False: every block once per pass, in random order. True: drawn with replacement.
        repeats: bool,
    },
}

/// Which blocks a random workload prefers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// All alike.
    #[default]
    Uniform,
    /// Zipf's law: the k-th most popular block is drawn in proportion to k^-theta.
    Zipf {
        /// The exponent, above 0.
        theta: f64,
    },
    /// Self-similar ("80/20") law: a share of `1 − h` of the accesses goes to a share `h` of the blocks.
    Pareto {
        /// The share of hot blocks, above 0 and below 0.5.
        h: f64,
    },
    /// A bell around the middle of the region.
    Normal {
        /// Standard deviation in percent of the region.
        deviation_percent: f64,
    },
    /// Zones of the region with their shares of the accesses.
    Zoned(Vec<Zone>),
    /// The given blocks in turn, as numbers from the start of the region.
    Sequence {
        /// The numbers.
        blocks: Vec<u64>,
        /// True: each turn is moved on by the length of the list. False: the same blocks again.
        moves_on: bool,
    },
}

/// One zone of a zoned distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Zone {
    /// Share of the accesses in percent.
    pub access_percent: f64,
    /// Share of the region in percent.
    pub size_percent: f64,
}

/// Bytes per operation, by direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockSizes {
    /// Bytes of one read.
    pub read: u32,
    /// Bytes of one write.
    pub write: u32,
    /// Bytes of one trim.
    pub trim: u32,
}

impl BlockSizes {
    /// The same size in every direction.
    pub fn uniform(bytes: u32) -> Self {
        Self { read: bytes, write: bytes, trim: bytes }
    }
}

/// The data set that a workload runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSet {
    /// Files, of equal size.
    pub count: u32,
    /// Bytes of all files together. `None`: as much as the layout's share of the time allows, or
    /// all of a block device that is only read.
    pub size_bytes: Option<u64>,
    /// Sets of different numbers are different files, even if they are alike otherwise.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub number: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// When operations start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// Each as soon as a place in the queue is free.
    Closed,
    /// At fixed intervals, whether or not earlier ones have ended; per second over all jobs.
    Fixed {
        /// Operations per second.
        per_second: f64,
    },
    /// As a Poisson process; per second over all jobs.
    Poisson {
        /// Mean operations per second.
        per_second: f64,
    },
}

/// Open flags that make every write durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenSync {
    /// None.
    #[default]
    None,
    /// `O_SYNC`: data and all metadata.
    Sync,
    /// `O_DSYNC`: data and what is needed to find it.
    Dsync,
}

/// Syncs that a workload issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncRule {
    /// After every so many writes of a job; 0 is never. Operations in flight end first.
    pub every: u32,
    /// `fdatasync` instead of `fsync`.
    pub data_only: bool,
    /// Once more after the last operation, inside the measured time.
    pub at_end: bool,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Data {
    /// The kind of content.
    pub class: DataClass,
    /// Share of each block, in percent, that is zeros; only for random data.
    pub compress_percent: u8,
    /// Share of the blocks, in percent, that repeat one and the same content; only for random data.
    pub dedupe_percent: u8,
}

/// The kind of content that is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataClass {
    /// Incompressible, and no 512 bytes like any others.
    #[default]
    Random,
    /// All zeros.
    Zero,
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.class, self.compress_percent, self.dedupe_percent) {
            (DataClass::Zero, ..) => f.write_str("zeros"),
            (DataClass::Random, 0, 0) => f.write_str("random, incompressible"),
            (DataClass::Random, c, 0) => write!(f, "random, {c} % compressible"),
            (DataClass::Random, 0, d) => write!(f, "random, {d} % duplicate blocks"),
            (DataClass::Random, c, d) => write!(f, "random, {c} % compressible, {d} % duplicate blocks"),
        }
    }
}

/// How several jobs share the data set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Regions {
    /// Each job has a part of its own.
    #[default]
    Disjoint,
    /// Every job works on all of it.
    Shared,
    /// Job n works on what lies from `offset_bytes + n * increment_bytes` on, to the end or for `len_bytes`.
    Spaced {
        /// Where the first job's part begins.
        offset_bytes: u64,
        /// How much farther the next job's begins.
        increment_bytes: u64,
        /// Length of each part; 0 for all up to the end.
        len_bytes: u64,
    },
}

/// State of the page cache at the start of a repeat that does not bypass it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheState {
    /// Evicted, and checked to be.
    #[default]
    Cold,
    /// The same, and what an operation is about to read is evicted once more before it, outside of its latency.
    ColdEach,
    /// Left as it is.
    Warm,
    /// All data are read before, so that as much of them is in it as it holds; for work that also writes, they are
    /// written again in its blocks, and synced.
    Loaded,
}

/// What only few workloads ask for; by default nothing of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Modifiers {
    /// Block sizes are drawn, instead of being one for each direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<BlockSplit>,
    /// The worker stops between operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<Think>,
    /// Nanoseconds after the common start at which the jobs begin.
    #[serde(skip_serializing_if = "is_zero_u64")]
    pub start_delay_ns: u64,
    /// This workload's share of the operations of a step with concurrent workloads; 0 if each runs as fast as it
    /// can.
    #[serde(skip_serializing_if = "is_zero")]
    pub flow: u32,
    /// Reads and writes alternate in the given share, instead of being drawn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub even_mix: bool,
    /// A periodic sync covers every file of the set, written or not, and counts operations of any kind
    /// (sysbench's rule) instead of writes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sync_all_files: bool,
    /// When this workload's jobs have ended, the others of the step are ended too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ends_all: bool,
    /// Runs in the first round only, before all other steps: it prepares the storage for them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// The repeat ends when the figure is steady.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyRule>,
    /// The queue depth is adjusted to keep a latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_target: Option<LatencyTarget>,
    /// A block is transferred by several smaller calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<Calls>,
    /// The whole repeat is done again until it has lasted long enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<Again>,
    /// What is read at its offset before each operation, outside its latency and rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_first: Option<ReadFirst>,
    /// Each repeat logs offset, size and latency of each operation, up to [`crate::OffsetLog::MOST`].
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub log_offset: bool,
    /// The pages of the buffers.
    #[serde(skip_serializing_if = "BufferPages::is_default")]
    pub buffers: BufferPages,
}

/// The pages of the memory that operations read into and write from. A large block in pages of 4 KiB that are scattered over
/// the memory reaches a device in many segments or several requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BufferPages {
    /// Huge pages for 2 MiB and more, where the kernel has them (`MADV_HUGEPAGE`).
    #[default]
    Huge,
    /// The ordinary pages that most applications have (`MADV_NOHUGEPAGE`).
    Normal,
}

impl BufferPages {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What is read at the offset of an operation before it begins. That time is part of the window, but of neither the
/// operation's latency nor its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadFirst {
    /// A page, so that a disk's seek is not part of the operation's latency.
    Page,
    /// The whole block, which the write then writes back: nothing that is stored changes.
    Block,
}

impl Modifiers {
    /// True if no modifier is set.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

fn is_zero_u64(number: &u64) -> bool {
    *number == 0
}

/// Block sizes with their shares of the operations. The largest of a direction is its `block` in the workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockSplit {
    /// Of reads; empty if there are none.
    pub read: Vec<SizeShare>,
    /// Of writes; empty if there are none.
    pub write: Vec<SizeShare>,
    /// Of trims; empty if there are none.
    pub trim: Vec<SizeShare>,
    /// Random operations begin at multiples of this number of bytes.
    pub grain: u32,
}

/// A block size with its share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeShare {
    /// Bytes per operation.
    pub bytes: u32,
    /// Share of the operations in percent.
    pub percent: f64,
}

/// How a block is moved in pieces. It stays one operation: its latency is that of all its calls together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// Bytes of one call.
    pub bytes: u32,
    /// Bytes of the buffer between the calls and the kernel, as streams of the C library have one; 0 if each call is
    /// the kernel's own.
    pub buffer_bytes: u32,
}

/// Passes that are done again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Again {
    /// Nanoseconds that all passes together last at least. A pass ends where without this the repeat would, with its
    /// sync. What is made ready between two passes does not count.
    pub least_ns: u64,
    /// The files are emptied before each further pass, so that its writes allocate again.
    pub empties: bool,
}

/// Pauses of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Think {
    /// Length of a pause in nanoseconds. Operations in flight end first.
    pub ns: u64,
    /// Operations of a job between two pauses.
    pub every: u32,
}

/// When a figure counts as steady, so that a repeat may end before its time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyRule {
    /// The figure that is looked at.
    pub figure: SteadyFigure,
    /// True: the slope of a line through it, per second, in percent of its mean. False: the largest deviation from its
    /// mean, in percent of the mean.
    pub slope: bool,
    /// What that must not exceed, in percent.
    pub limit_percent: f64,
    /// Nanoseconds that are looked at: the last so many.
    pub window_ns: u64,
    /// Nanoseconds at the start that are not looked at.
    pub ramp_ns: u64,
}

/// A figure that may become steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyFigure {
    /// Operations per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean latency.
    Latency,
}

/// A latency that is to be kept by adjusting how many operations are in flight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyTarget {
    /// Nanoseconds that an operation may take.
    pub ns: u64,
    /// Share of the operations, in percent, that must keep to it.
    pub percent: f64,
    /// Nanoseconds over which that is looked at before the depth is changed.
    pub window_ns: u64,
}
