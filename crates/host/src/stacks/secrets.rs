//! What only this process knows.

use std::path::Path;

/// What the programs of steps need to know, and nobody else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Secrets<'a> {
    /// The file that has the key of encrypted layers.
    pub key: &'a Path,
    /// What the two ends of a network layer trust each other by.
    pub secret: &'a str,
}

impl Secrets<'_> {
    /// For what needs none, such as undoing.
    pub fn none() -> Secrets<'static> {
        Secrets { key: Path::new(""), secret: "" }
    }
}
