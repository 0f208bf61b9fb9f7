//! The index over the logs: a file with one line for each run, which duplicates what a listing shows of its log.
//!
//! It is read and written as a whole. A changed index is a new file that replaces the old one: no reader sees a partial
//! index, and concurrent runs need no lock. Each line carries a checksum; the log of a line that does not match is read
//! again.

use std::fmt::Write as _;

use twox_hash::XxHash3_64;

use crate::summary::RunSummary;

/// The first line without its version. An index of another version has the same, and no line that counts.
const TITLE: &str = "lodestone index ";
/// Version of the lines.
const VERSION: u32 = 3;

/// What [`read`] finds.
pub(crate) enum Content {
    /// The lines of an index that are whole.
    Rows(Vec<RunSummary>),
    /// Not an index of Lodestone.
    Foreign,
}

/// Reads the bytes of an index. It is Lodestone's if its first line or any other says so: a flipped byte does not make it
/// foreign.
pub(crate) fn read(bytes: &[u8]) -> Content {
    let rows: Vec<RunSummary> = bytes.split(|byte| *byte == b'\n').filter_map(row).collect();
    let start = &bytes[..bytes.len().min(TITLE.len())];
    match TITLE.as_bytes().starts_with(start) || !rows.is_empty() {
        true => Content::Rows(rows),
        false => Content::Foreign,
    }
}

/// One run: the checksum of the JSON in 16 hexadecimal digits, a space, the JSON.
fn row(line: &[u8]) -> Option<RunSummary> {
    let (checksum, json) = line.split_at_checked(16)?;
    let json = json.strip_prefix(b" ")?;
    let checksum = u64::from_str_radix(std::str::from_utf8(checksum).ok()?, 16).ok()?;
    (checksum == checksum_of(json)).then(|| serde_json::from_slice(json).ok())?
}

/// An index of these runs.
pub(crate) fn write(runs: &[RunSummary]) -> serde_json::Result<Vec<u8>> {
    let mut text = format!("{TITLE}{VERSION}\n");
    for run in runs {
        let json = serde_json::to_string(run)?;
        let _ = writeln!(text, "{:016x} {json}", checksum_of(json.as_bytes()));
    }
    Ok(text.into_bytes())
}

/// The version is part of it, so that no line of another version counts.
fn checksum_of(json: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(u64::from(VERSION), json)
}
