//! The reliability of the answers, by simulation: the program's own statistics on storage with a known truth.

mod changes;
pub mod command;
pub mod equal;
mod groups;
mod headroom;
mod makings;
pub mod noise;
mod odd;
pub mod page;
mod recorded;
pub mod repeats;
mod required;
pub mod simulated;
pub mod spectrum;
pub mod stalling;
mod steps;
pub mod tables;
pub mod times;
pub mod trials;
