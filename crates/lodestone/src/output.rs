//! Writing to the terminal: the one place where anything is printed.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use report::TextStyle;

use crate::cli::When;
use crate::failure::Failure;

/// Columns where nobody says how wide the output is.
const DEFAULT_WIDTH: usize = 120;
const NARROWEST: usize = 40;

/// Writes a text to the standard output. A reader that has gone away (`lodestone show | head`) is no
/// failure.
///
/// # Errors
/// The kernel's, such as a full disk behind a redirection.
pub fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// Writes what need not be text to the standard output.
///
/// # Errors
/// The kernel's.
pub fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("cannot write the result: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a line to the standard error output; nobody listening is no failure.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Reports a failure and gives the exit code.
pub fn fail(failure: &Failure) -> ExitCode {
    say(&format!("lodestone: {}", failure.message.trim_end()));
    ExitCode::from(failure.code)
}

/// True if somebody reads the standard output on a terminal.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// How text for the standard output is to be written.
pub fn style(color: When) -> TextStyle {
    let terminal = io::stdout().is_terminal();
    TextStyle { width: width(), color: wants_color(color, terminal) }
}

/// Columns of the terminal; `COLUMNS` overrides.
fn width() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|c| c.parse::<usize>().ok());
    let seen = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    told.or_else(seen).unwrap_or(DEFAULT_WIDTH).max(NARROWEST)
}

/// True if colours are wanted on an output that is, or is not, a terminal (no-color.org).
pub fn wants_color(color: When, terminal: bool) -> bool {
    match color {
        When::Always => true,
        When::Never => false,
        When::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}
