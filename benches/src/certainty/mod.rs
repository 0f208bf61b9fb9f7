//! How sure the answers are, by simulation: the program's own statistics on storage whose truth is known.

pub mod equal;
pub mod noise;
pub mod repeats;
pub mod tables;
pub mod trials;
