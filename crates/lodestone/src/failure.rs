//! What a command ends with when it cannot do its work.

use std::fmt::Display;

/// Exit code of a run in which something failed.
pub const FAILED: u8 = 3;
/// Exit code of wrong usage.
pub const USAGE: u8 = 2;
/// Exit code of a run that the user stopped, as shells have it for SIGINT.
pub const INTERRUPTED: u8 = 130;

/// A failure with the exit code that tells its kind.
#[derive(Debug)]
pub struct Failure {
    /// [`USAGE`] or [`FAILED`].
    pub code: u8,
    /// What was tried, what is wrong, what to do.
    pub message: String,
}

impl Failure {
    /// The command line, a suite or a name is wrong.
    pub fn usage(error: impl Display) -> Self {
        Self { code: USAGE, message: error.to_string() }
    }

    /// The work itself failed.
    pub fn failed(error: impl Display) -> Self {
        Self { code: FAILED, message: error.to_string() }
    }
}
