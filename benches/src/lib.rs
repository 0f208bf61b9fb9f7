//! Lodestone beside its peers. Every figure here is a ratio of programs that ran in turn on the same machine
//! in the same minutes; none is a test.

pub mod contenders;
pub mod drive;
pub mod features;
pub mod footprint;
pub mod instructions;
pub mod measured;
pub mod peers;
pub mod table;
pub mod telemetry;
pub mod truth;
