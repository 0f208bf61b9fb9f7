//! For the tests of all crates: tools of the system, devices and mounts that vanish with a value, and the two ways of
//! keeping other tests out: a lock on the machine, and a process of one's own. What is unavailable here is reported.

mod machine;
mod postgresql;
mod storage;

use std::io::{self, Write};
use std::process::Command;

pub use machine::{WholeMachine, whole_machine};
pub use postgresql::{PostgreSql, WITH_PASSWORD};
pub use storage::{LoopDevice, Mounted, Namespace};

/// Reports, past the test harness, that something could not be tested here.
pub fn skipped(why: &str) {
    let _ = writeln!(io::stderr(), "SKIPPED: {why}");
}

/// Runs a tool of the system and returns its trimmed output; `None`, with a report, if it is missing or fails.
pub fn tool(program: &str, args: &[&str]) -> Option<String> {
    match attempt(program, args) {
        Ok(output) => Some(output),
        Err(why) => {
            skipped(&why);
            None
        }
    }
}

/// Runs a tool of the system and returns its trimmed output.
///
/// # Errors
/// A sentence with the command, and why it could not be started or what it printed when it failed.
pub fn attempt(program: &str, args: &[&str]) -> Result<String, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match Command::new(program).args(args).output() {
        Ok(output) if output.status.success() => Ok(text(&output.stdout)),
        Ok(output) => Err(format!("{program} {args:?} failed: {}", text(&output.stderr))),
        Err(error) => Err(format!("{program} cannot be started: {error}")),
    }
}

/// Sends a process a signal, such as `INT`, by the shell's own `kill`: not every machine has a program of that name.
///
/// # Errors
/// A sentence with the command, and why it failed.
pub fn signal(pid: u32, name: &str) -> Result<(), String> {
    attempt("sh", &["-c", &format!("kill -s {name} {pid}")]).map(drop)
}

/// True if this process may mount and set up devices; else it is reported.
pub fn is_root() -> bool {
    let root = tool("id", &["-u"]).is_some_and(|id| id == "0");
    if !root {
        skipped("needs root");
    }
    root
}

/// True in the full check (`LODESTONE_FULL` is set), where a test may try everything that it could; in the gate it tries
/// a part.
pub fn is_full_check() -> bool {
    std::env::var_os("LODESTONE_FULL").is_some()
}

/// For a test of what the whole process shares, such as its limits and counters: starts a process that runs only this
/// test, named by its path in the test program. False in the caller, after that process has succeeded; true in it.
///
/// # Panics
/// The test fails in its process, or there is no such test.
#[track_caller]
pub fn alone(test: &str) -> bool {
    const MARK: &str = "LODESTONE_TEST_ALONE";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let program = std::env::current_exe().expect("a test program has a path");
    let output = Command::new(program).args(["--exact", test, "--nocapture"]).env(MARK, "1").output();
    let output = output.expect("a test program can be started again");
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let is_one = stdout.contains("test result: ok. 1 passed");
    assert!(output.status.success() && is_one, "{test} in a process of its own:\n{stdout}{stderr}");
    stderr.lines().filter_map(|line| line.split_once("SKIPPED: ")).for_each(|(_, why)| skipped(why));
    false
}
