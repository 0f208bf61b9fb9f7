//! What the tests of this crate share: tools of the system. What cannot be had here is said aloud.

use std::io::Write;
use std::process::Command;

/// Says aloud, past the test harness, that something could not be tested here.
pub fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// Runs a tool and returns what it wrote; `None`, said aloud, if it is missing or refuses.
pub fn tool(program: &str, args: &[&str]) -> Option<String> {
    match Command::new(program).args(args).output() {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        Ok(output) => {
            skipped(&format!("{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr).trim()));
            None
        }
        Err(error) => {
            skipped(&format!("{program} cannot be started: {error}"));
            None
        }
    }
}
