//! A few attempts of each kind.

mod logs;
mod manifests;
mod readers;
