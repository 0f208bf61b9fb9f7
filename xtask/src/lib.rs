//! Maintenance tasks of the repository.

pub mod book;
pub mod docs;
pub mod imports;
pub mod tidy;

use std::path::PathBuf;

/// The root of the repository.
pub fn root() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    own.parent().map(PathBuf::from).unwrap_or(own)
}
