//! Exit codes, and the error that a command returns when it fails.

use std::fmt::Display;

/// Exit code of an import that left something out.
pub const LEFT_OUT: u8 = 1;
/// Exit code of a usage error.
pub const USAGE: u8 = 2;
/// Exit code of a run in which something failed.
pub const FAILED: u8 = 3;
/// Exit code of a run that the user stopped, as shells have it for SIGINT.
pub const INTERRUPTED: u8 = 130;

/// Every exit code with its meaning: the source of the help, the manual pages and the reference.
pub const EXIT_CODES: &[(u8, &str)] = &[
    (0, "success; notes and warnings among the findings do not change this"),
    (LEFT_OUT, "`import` imported part of its input and left out the rest"),
    (
        USAGE,
        "usage error: an invalid argument, suite or job file, or a name that does not exist; nothing was measured",
    ),
    (
        FAILED,
        "failure: a repeat or target failed, nothing was measured on a target, the findings of `run` or `crosscheck` \
         contain an error (such as corrupted data), `crosscheck` could not compare anything, `import` found no results, `clean` could \
         not remove a leftover, or a store or output could not be read or written",
    ),
    (
        INTERRUPTED,
        "`run` or `crosscheck` was stopped (Ctrl-C, SIGTERM, SIGHUP); another command ends by the signal itself",
    ),
];

/// The table of exit codes as lines for the end of a help text.
pub fn exit_codes_help() -> String {
    let lines = EXIT_CODES.iter().map(|(code, meaning)| format!("  {code:<4} {meaning}"));
    format!("Exit codes:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

/// A failure and its exit code.
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
