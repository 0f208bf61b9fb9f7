//! The structure test, as a test.

mod book;
mod tidy;
