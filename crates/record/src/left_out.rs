//! Runs that were due and not made: a file in the store with one line for each, so that a gap in a history has its reason.

use serde::{Deserialize, Serialize};

use crate::directory::StoreError;
use crate::index;
use crate::store::Store;

/// Version of the lines.
const VERSION: u32 = 1;

/// A run that was due and not made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// When it was due, in nanoseconds since 1970.
    pub at_unix_ns: i64,
    /// Names of the targets.
    pub targets: Vec<String>,
    /// Why, as sentences.
    pub reasons: Vec<String>,
}

impl Store {
    /// Records that a run was left out.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be written.
    pub fn record_left_out(&self, left_out: &LeftOut) -> Result<(), StoreError> {
        let refused = |source| StoreError::Directory { path: self.directory().to_owned(), source };
        let line = index::line(left_out, VERSION).map_err(|error| refused(error.into()))?;
        self.writable()?.add_left_out(line.as_bytes()).map_err(refused)
    }

    /// The runs that were left out, in the order in which they were recorded; lines that are not whole do not count.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let bytes = self.existing().and_then(|directory| directory.left_out().ok()).unwrap_or_default();
        index::rows(&bytes, VERSION)
    }
}
