//! Documents, pages and exports of whole runs.

mod anonymous;
mod answers;
mod crosscheck;
mod forms;
mod imported;
mod pairs;
mod pictures;
mod targets;
