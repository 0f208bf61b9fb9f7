//! Exit codes, and what a command ends with when it cannot do its work.

use std::fmt::Display;

/// Exit code of an import that left something out.
pub const LEFT_OUT: u8 = 1;
/// Exit code of wrong usage.
pub const USAGE: u8 = 2;
/// Exit code of a run in which something failed.
pub const FAILED: u8 = 3;
/// Exit code of a run that the user stopped, as shells have it for SIGINT.
pub const INTERRUPTED: u8 = 130;

/// Every exit code with its meaning: the one table from which help, manual page and reference are made.
pub const EXIT_CODES: &[(u8, &str)] = &[
    (0, "done; notes and warnings among the findings do not change that"),
    (LEFT_OUT, "`import` has kept a part of what was named and left out the rest"),
    (
        USAGE,
        "wrong usage: an argument, a suite or a job file is wrong, or a name stands for nothing; nothing was measured",
    ),
    (
        FAILED,
        "something failed: a repeat or a target, a target on which nothing could be measured, an error among the findings of `run` \
         (such as corrupted data), nothing that `crosscheck` could compare or `import` could read, a leftover that `clean` \
         could not remove, a store or output that could not be read or written",
    ),
    (INTERRUPTED, "stopped by the user (Ctrl-C, SIGTERM, SIGHUP)"),
];

/// The table of exit codes as lines for the end of a help text.
pub fn exit_codes_help() -> String {
    let lines = EXIT_CODES.iter().map(|(code, meaning)| format!("  {code:<4} {meaning}"));
    format!("Exit codes:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

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
