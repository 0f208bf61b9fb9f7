//! Exit codes, and the error that a command returns when it fails.

use std::error::Error;
use std::iter::successors;

/// Exit code of an import, a push, a pull or a site that left something out.
pub const LEFT_OUT: u8 = 1;
/// Exit code of a run whose storage misses a requirement, and of a watch that saw a change.
pub const MISSED: u8 = 1;
/// Exit code of a usage error.
pub const USAGE: u8 = 2;
/// Exit code of a run in which something failed.
pub const FAILED: u8 = 3;
/// Exit code of a run that the user stopped, as shells have it for SIGINT.
pub const INTERRUPTED: u8 = 130;

/// Every exit code with its meaning: the source of the help, the manual pages and the reference.
pub const EXIT_CODES: &[(u8, &str)] = &[
    (0, "success; notes and warnings among the findings do not change this"),
    (
        MISSED,
        "`run --require` found a requirement missed, or with `--strict` undecided; `watch` saw a change; `import` imported part of its input and left out \
         the rest; `push` or `pull` left out a run whose log is damaged or differs; `site` could not reach a machine",
    ),
    (
        USAGE,
        "usage error: an invalid argument, suite or job file, or a name that does not exist; nothing was measured",
    ),
    (
        FAILED,
        "failure: a repeat or target failed, nothing was measured on a target, a run of `watch` failed, the findings of `run` or `crosscheck` \
         contain an error (such as corrupted data), `crosscheck` could not compare anything, `import` found no results, `clean` could \
         not remove a leftover, or a store or output could not be read or written, or `push` or `pull` could not use the database",
    ),
    (
        INTERRUPTED,
        "`run`, `watch` or `crosscheck` was stopped (Ctrl-C, SIGTERM, SIGHUP); another command ends by the signal itself",
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
    /// The errors that led to it, the nearest first, for `--verbose`.
    pub causes: Vec<String>,
}

impl Failure {
    /// The command line, a suite or a name is wrong. `error` is a message, or an error, whose sources are kept.
    pub fn usage(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::of(USAGE, &*error.into())
    }

    /// The work itself failed. `error` is a message, or an error, whose sources are kept.
    pub fn failed(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::of(FAILED, &*error.into())
    }

    fn of(code: u8, error: &(dyn Error + 'static)) -> Self {
        Self { code, message: error.to_string(), causes: chain(error.source()) }
    }

    /// The same failure of a message, with the error that led to it.
    pub fn because(self, error: &(dyn Error + 'static)) -> Self {
        Self { causes: chain(Some(error)), ..self }
    }
}

/// The texts of an error and of its sources. A text that only repeats the one before is left out.
fn chain(error: Option<&(dyn Error + 'static)>) -> Vec<String> {
    let mut texts: Vec<String> =
        successors(error, |&error| error.source()).map(ToString::to_string).collect();
    texts.dedup();
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read the index: {source}")]
    struct Outer {
        source: std::io::Error,
    }

    #[derive(Debug, thiserror::Error)]
    #[error(transparent)]
    struct Wrapper(#[from] Outer);

    fn outer() -> Outer {
        Outer { source: std::io::Error::from_raw_os_error(5) }
    }

    #[test]
    fn an_error_keeps_its_sources_and_a_message_has_none() {
        let failure = Failure::failed(outer());
        assert_eq!(failure.message, "cannot read the index: Input/output error (os error 5)");
        assert_eq!(failure.causes, ["Input/output error (os error 5)"]);
        assert_eq!(Failure::usage("no such suite").causes, [""; 0]);
    }

    #[test]
    fn a_cause_is_the_whole_chain_without_repetitions() {
        let failure = Failure::failed("cannot list the runs").because(&Wrapper(outer()));
        let causes =
            ["cannot read the index: Input/output error (os error 5)", "Input/output error (os error 5)"];
        assert_eq!(failure.causes, causes);
    }
}
