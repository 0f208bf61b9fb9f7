//! Suites, job files and checks, from text to plan.

mod checks;
mod common;
mod fio;
mod requirements;
mod suites;
