//! How sure the answers are, by simulation.

pub mod repeats;
