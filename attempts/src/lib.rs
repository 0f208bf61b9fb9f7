//! Attempts to make Lodestone lose, leave behind or misreport something. Each kind of attempt is a module with a
//! function that makes a given number of attempts from a seed and returns their outcome.

pub mod indexes;
pub mod kills;
pub mod logs;
pub mod manifests;
pub mod mutation;
pub mod outcome;
pub mod readers;
pub mod stacks;
pub mod umounts;

mod imports;
mod jobs;
mod sizes;
mod suites;
mod trial;
