//! The engines on real files and on the simulator.

mod calls;
mod common;
mod concurrent;
mod conformance;
mod offsets;
mod sim;
mod turns;
