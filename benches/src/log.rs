//! The size of a run's log, by event.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead};
use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use crate::table::markdown;

/// The arguments of `log`.
#[derive(Args)]
pub struct LogArgs {
    /// The log of a run, compressed or not
    file: PathBuf,
}

/// Lines and bytes of each event, and the length of the file.
///
/// # Errors
/// The log cannot be read, or a line is no JSON.
pub fn log(args: &LogArgs) -> io::Result<String> {
    let file = File::open(&args.file)?;
    let stored = file.metadata()?.len();
    let mut by_event: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for line in record::decompressed(file)?.lines() {
        let line = line?;
        let event: Value = serde_json::from_str(&line)?;
        let (lines, bytes) = by_event.entry(event["event"].as_str().unwrap_or("?").to_owned()).or_default();
        *lines += 1;
        *bytes += line.len() as u64 + 1;
    }
    let row =
        |name: &str, lines: u64, bytes: u64| vec![name.to_owned(), lines.to_string(), bytes.to_string()];
    let mut events: Vec<_> = by_event.iter().collect();
    events.sort_by_key(|(_, (_, bytes))| std::cmp::Reverse(*bytes));
    let mut rows: Vec<_> = events.iter().map(|(name, (lines, bytes))| row(name, *lines, *bytes)).collect();
    let (lines, bytes) = by_event.values().fold((0, 0), |(l, b), (lines, bytes)| (l + lines, b + bytes));
    rows.push(row("all", lines, bytes));
    rows.push(vec!["the file".to_owned(), String::new(), stored.to_string()]);
    Ok(markdown(&["event", "lines", "bytes"], &rows))
}
