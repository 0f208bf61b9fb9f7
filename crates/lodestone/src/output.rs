//! Output: the only module that prints. It escapes everything except [`TerminalText`], so that names in messages
//! cannot send control sequences to the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use clap::error::ErrorKind as UsageError;
use report::{TerminalText, TextStyle, escape_bytes};

use crate::cli::When;
use crate::failure::{Failure, USAGE};

/// Columns if neither `COLUMNS` nor the terminal gives a width.
const DEFAULT_WIDTH: usize = 120;
const NARROWEST: usize = 40;

/// Writes text for people to standard output. It is escaped even if that is a pipe, which may lead to a terminal. A
/// closed pipe (`lodestone show | head`) is not a failure.
///
/// # Errors
/// The kernel's error, such as a full disk behind a redirection.
pub fn print(text: impl Into<TerminalText>) -> Result<(), Failure> {
    write(text.into().as_bytes())
}

/// Writes output for programs to standard output: unchanged to a file or pipe, escaped to a terminal.
///
/// # Errors
/// The kernel's error.
pub fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    if is_terminal() { write(escape_bytes(bytes).as_bytes()) } else { write(bytes) }
}

fn write(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("cannot write the result: {error}")).because(&error))
        }
        _ => Ok(()),
    }
}

/// Writes a line to standard error; errors are ignored.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", TerminalText::from(line));
}

/// Reports an error in the arguments, or shows the requested help, and returns the exit code. An error repeats the
/// arguments, so it is shown without colours: colour codes in the arguments would look like Lodestone's own.
pub fn usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        UsageError::DisplayHelp
        | UsageError::DisplayVersion
        | UsageError::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
        }
        _ => say(error.render().to_string().trim_end()),
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE))
}

/// Reports a failure, with its causes if `verbose`, and returns its exit code.
pub fn fail(failure: &Failure, verbose: bool) -> ExitCode {
    say(&format!("lodestone: {}", failure.message.trim_end()));
    for cause in failure.causes.iter().filter(|_| verbose) {
        say(&format!("  caused by: {}", cause.trim_end()));
    }
    ExitCode::from(failure.code)
}

/// True if standard output is a terminal.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Width and colours of text for standard output.
pub fn style(color: When) -> TextStyle {
    let terminal = io::stdout().is_terminal();
    TextStyle { width: width(), color: wants_color(color, terminal) }
}

/// Columns of the terminal; `COLUMNS` overrides.
fn width() -> usize {
    let configured = std::env::var("COLUMNS").ok().and_then(|c| c.parse::<usize>().ok());
    let detected = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    configured.or_else(detected).unwrap_or(DEFAULT_WIDTH).max(NARROWEST)
}

/// True if colours are wanted on an output that is, or is not, a terminal (no-color.org).
pub fn wants_color(color: When, terminal: bool) -> bool {
    match color {
        When::Always => true,
        When::Never => false,
        When::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}
