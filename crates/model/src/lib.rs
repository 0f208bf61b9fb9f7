//! The nouns that all of Lodestone speaks.
//!
//! Every other crate knows this one and, the binary aside, none of the others: the planner, the
//! I/O engine, the host probes, the recorder and the analysis are strangers to each other and meet
//! in these types. There is no I/O here, no clock and no process.
//!
//! # Invariants
//! * Bytes and nanoseconds are integers. Floating point begins where a rate, a mean or a ratio is
//!   computed.
//! * A [`Run`] is nothing but a fold over [`Event`]s: whatever is derived can be derived again.
//! * Words: one I/O ends in a *completion*, completions in one window make an *interval*, one
//!   execution of a step on a target is a *repeat*, one telemetry value is a *reading*, a summary
//!   over repeats is a *measurement*.

mod check;
mod engine_kind;
mod event;
pub mod fact;
mod histogram;
mod host;
mod imported;
mod inventory;
mod measurement;
mod offset_log;
mod operation;
pub mod path_text;
mod plan;
mod portable;
mod requirement;
mod run;
mod series;
mod severity;
mod shell_word;
mod target;
pub mod units;
mod workload;

pub use check::{CheckedFigure, CheckedWork, OWN_TARGET, TOOLS_TARGET};
pub use engine_kind::{Capabilities, EngineChoice, EngineKind};
pub use event::{
    CacheUse, ClientPart, CpuTime, DeviceActivity, Disturbance, Event, FailureKind, IntegrityCheck, Interval,
    LOG_FORMAT, LaidOut, MachineCpu, Mismatch, Note, Phase, ProcessIo, Reading, RepeatFailure,
    RepeatFinished, RepeatOutcome, RepeatStarted, RunFinished, RunOutcome, RunStarted, SetAside,
    SetAsideReason,
};
pub use histogram::{BUCKETS, Histogram, HistogramError, LatencyRecorder, bucket_bounds, bucket_of};
pub use host::{Host, RemoteHost};
pub use imported::{Figure, Imported, Printed, Recomputed, Remark, Source};
pub use inventory::{Candidate, Inventory};
pub use measurement::{
    Better, Comparison, Estimate, Evidence, EvidenceScope, Exposure, Finding, Measurement, MeasurementKey,
    Metric, StallEffect, Subject, Unseen, Verdict,
};
pub use offset_log::{LoggedOffset, OffsetLog};
pub use operation::{LatencyTotal, Operation, OperationStats};
pub use path_text::{name_text, path_from_text, path_text};
pub use plan::{DEFAULT_MARGIN_PPM, Ladder, Plan, Preparation, Rounds, Rung, Step, Stop};
pub use portable::PortableMath;
pub use requirement::{Bound, EarlierFigure, ROUNDS_OF_A_PERCENTILE, Reference, Requirement};
pub use run::{Repeat, Run};
pub use series::{ProbeLabels, series_words};
pub use severity::Severity;
pub use shell_word::shell_word;
pub use target::{Layer, LayerKind, Target, TargetKind};
pub use units::Units;
pub use workload::{
    Again, BlockSizes, BlockSplit, BufferPages, CacheState, Calls, Data, DataClass, Distribution, FileSet,
    LatencyTarget, MetadataOperation, MetadataWork, Mix, Modifiers, NameOrder, Names, Naming, OpenSync, Pace,
    Pattern, ReadFirst, Regions, SizeShare, SteadyFigure, SteadyRule, SyncRule, Think, Workload, Zone,
};
