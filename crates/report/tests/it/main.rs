//! Documents, pages and exports of whole runs.

mod anonymous;
mod crosscheck;
mod forms;
mod imported;
mod pictures;
mod targets;
