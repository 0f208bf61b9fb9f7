//! Lodestone compared with its peers. Every figure here is a ratio of programs that ran in turn on the same
//! machine in the same minutes; none is a test.
#![allow(clippy::disallowed_methods, reason = "simulations, not figures of a log")]

pub mod all;
pub mod bias;
pub mod certainty;
pub mod claims;
pub mod clients;
pub mod contenders;
pub mod differ;
pub mod drive;
pub mod features;
pub mod footprint;
pub mod instructions;
pub mod kinds;
pub mod log;
pub mod machine;
pub mod machines;
pub mod made_runs;
pub mod measured;
pub mod noise;
pub mod peers;
pub mod push;
pub mod scaling;
pub mod setting;
pub mod site;
mod slow_file;
pub mod stalls;
pub mod stamp_figures;
pub mod stamps;
pub mod table;
pub mod telemetry;
pub mod truth;
pub mod turns;
