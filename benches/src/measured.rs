//! Runs a program and measures its cost by the kernel's own accounting.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::{Deserialize, Serialize};

/// The cost of a finished program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cost {
    /// Its standard output.
    pub stdout: String,
    /// Time from its start to its end.
    pub wall: Duration,
    /// Nanoseconds of CPU time in user mode, its own children included.
    pub user_ns: u64,
    /// Nanoseconds of CPU time in the kernel.
    pub system_ns: u64,
    /// Largest resident memory in bytes.
    pub peak_bytes: u64,
}

/// Runs a program to its end. The kernel adds up the CPU time of ended children and reports only the largest of
/// their memories, so each program runs as the only child of a separate process: this program, called again.
///
/// # Errors
/// It cannot be started or fails.
pub fn run(program: &str, args: &[String]) -> io::Result<Cost> {
    let output = Command::new(std::env::current_exe()?)
        .args(["child", "--", program])
        .args(args)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("{program} {}: {}", args.join(" "), message.trim())));
    }
    serde_json::from_slice(&output.stdout).map_err(io::Error::other)
}

/// The child side of [`run`]: runs the program and returns its cost as JSON.
///
/// # Errors
/// As for [`run`].
pub fn child(program: &str, args: &[String]) -> io::Result<String> {
    let began = Instant::now();
    let output = Command::new(program).args(args).stdin(Stdio::null()).stderr(Stdio::piped()).output()?;
    let wall = began.elapsed();
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("it ended with {}: {}", output.status, message.trim())));
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let cost = Cost {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        wall,
        user_ns: usage.user_time().num_microseconds() as u64 * 1000,
        system_ns: usage.system_time().num_microseconds() as u64 * 1000,
        // In kibibytes, see getrusage(2).
        peak_bytes: usage.max_rss() as u64 * 1024,
    };
    Ok(serde_json::to_string(&cost)?)
}
