//! Running a program and counting what it costs, by the kernel's own accounts.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::{Deserialize, Serialize};

/// What a finished program has cost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cost {
    /// Its standard output.
    pub stdout: String,
    /// Time from its start to its end.
    pub wall: Duration,
    /// Nanoseconds of processor time in user mode, its own children included.
    pub user_ns: u64,
    /// Nanoseconds of processor time in the kernel.
    pub system_ns: u64,
    /// Largest resident memory in bytes.
    pub peak_bytes: u64,
}

/// Runs a program to its end. The accounts of ended children add up and only the largest of all memories
/// is kept, so each program runs as the one child of a process of its own: this program, called again.
///
/// # Errors
/// It cannot be started or says that it failed.
pub fn run(program: &str, args: &[String]) -> io::Result<Cost> {
    let output = Command::new(std::env::current_exe()?)
        .args(["child", "--", program])
        .args(args)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("{program} {}: {}", args.join(" "), said.trim())));
    }
    serde_json::from_slice(&output.stdout).map_err(io::Error::other)
}

/// The other end of [`run`]: runs the program and returns what it cost, as JSON.
///
/// # Errors
/// As for [`run`].
pub fn child(program: &str, args: &[String]) -> io::Result<String> {
    let began = Instant::now();
    let output = Command::new(program).args(args).stdin(Stdio::null()).stderr(Stdio::piped()).output()?;
    let wall = began.elapsed();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("it ended with {}: {}", output.status, said.trim())));
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
