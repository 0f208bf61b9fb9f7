//! A step whose options are being set.

use model::{
    BufferPages, CacheState, DataClass, Distribution, EngineChoice, LatencyTarget, MetadataOperation,
    NameOrder, Names, Naming, OpenSync, Preparation, ReadFirst, Regions, SteadyRule, Think,
};

use crate::values::Splits;

/// The value of `rw`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rw {
    #[default]
    Read,
    Write,
    Mixed,
    RandRead,
    RandWrite,
    RandMixed,
    Trim,
    RandTrim,
    Allocate,
    RandAllocate,
    Truncate,
    RandTruncate,
    Update,
    RandUpdate,
    Metadata,
}

impl Rw {
    pub const WORDS: &[(&str, Self)] = &[
        ("read", Self::Read),
        ("write", Self::Write),
        ("rw", Self::Mixed),
        ("randread", Self::RandRead),
        ("randwrite", Self::RandWrite),
        ("randrw", Self::RandMixed),
        ("trim", Self::Trim),
        ("randtrim", Self::RandTrim),
        ("allocate", Self::Allocate),
        ("randallocate", Self::RandAllocate),
        ("truncate", Self::Truncate),
        ("randtruncate", Self::RandTruncate),
        ("update", Self::Update),
        ("randupdate", Self::RandUpdate),
        ("metadata", Self::Metadata),
    ];

    pub fn is_random(self) -> bool {
        matches!(
            self,
            Self::RandRead
                | Self::RandWrite
                | Self::RandMixed
                | Self::RandTrim
                | Self::RandAllocate
                | Self::RandTruncate
                | Self::RandUpdate
        )
    }
}

/// The value of `rate_process`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RateProcess {
    #[default]
    Fixed,
    Poisson,
}

/// All options of a step, in the types in which users write them. Every field is set from
/// [`crate::OPTIONS`], the default first: the values of `Draft::default()` are placeholders.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub rw: Rw,
    pub rwmixread: u8,
    pub bs: [u32; 3],
    pub size: Option<u64>,
    pub files: u32,
    pub iodepth: u32,
    pub jobs: u32,
    pub engine: EngineChoice,
    pub direct: Option<bool>,
    pub distribution: Distribution,
    pub norandommap: bool,
    pub regions: Regions,
    pub rate_iops: Option<f64>,
    pub rate_bytes: Option<f64>,
    pub rate_process: RateProcess,
    pub open_sync: OpenSync,
    pub fsync: u32,
    pub fdatasync: u32,
    pub end_fsync: Option<bool>,
    pub data: DataClass,
    pub compress: u8,
    pub dedupe: u8,
    pub verify: bool,
    pub prepare: Preparation,
    pub once: bool,
    pub cache: CacheState,
    pub runtime_ns: Option<u64>,
    /// The runtime is the length of every repeat, not its upper bound.
    pub runtime_is_exact: bool,
    pub io_size: Option<u64>,
    pub operations: Option<u64>,
    pub ramp_ns: u64,
    pub interval_ns: u64,
    pub max_errors: u64,
    pub metadata_ops: Vec<MetadataOperation>,
    pub metadata_files: u32,
    pub metadata_dirs: u32,
    pub file_size: u64,
    pub names: Names,
    pub stride: Option<(u64, i64)>,
    pub even_mix: bool,
    pub bs_split: Option<Splits>,
    pub bs_align: Option<u64>,
    pub file_set: u32,
    pub start_delay_ns: u64,
    pub think: Option<Think>,
    pub flow: u32,
    pub ends_all: bool,
    pub steady: Option<SteadyRule>,
    pub latency_target: Option<LatencyTarget>,
    pub sync_all_files: bool,
    pub loops: Option<u32>,
    pub spaced: Option<u32>,
    pub read_first: Option<ReadFirst>,
    pub log_offset: bool,
    pub buffers: BufferPages,
    pub update_percent: u8,
    pub call_bytes: Option<u64>,
    pub stream_bytes: Option<u64>,
    pub min_runtime_ns: Option<u64>,
    pub naming: Naming,
    pub name_order: NameOrder,
}
