//! Attempts to make Lodestone lose, leave behind or misreport something. Each kind of attempt is a module with a
//! function that makes a given number of attempts from a seed and returns their outcome.

pub mod imports;
pub mod indexes;
pub mod jobs;
pub mod kills;
pub mod logs;
pub mod manifests;
pub mod mutation;
pub mod outcome;
pub mod suites;
pub mod umounts;

mod trial;
