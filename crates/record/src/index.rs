//! The index over the logs: a file with one line for each run, which duplicates what a listing shows of its log.
//!
//! It is read and written as a whole. A changed index is a new file that replaces the old one: no reader sees a partial
//! index, and concurrent runs need no lock. Each line carries a checksum; the log of a line that does not match is read
//! again.

use serde::Serialize;
use serde::de::DeserializeOwned;
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
    let rows: Vec<RunSummary> = rows(bytes, VERSION);
    let start = &bytes[..bytes.len().min(TITLE.len())];
    match TITLE.as_bytes().starts_with(start) || !rows.is_empty() {
        true => Content::Rows(rows),
        false => Content::Foreign,
    }
}

/// The lines of a file that are whole and of this version.
pub(crate) fn rows<T: DeserializeOwned>(bytes: &[u8], version: u32) -> Vec<T> {
    bytes.split(|byte| *byte == b'\n').filter_map(|line| row(line, version)).collect()
}

/// One line: the checksum of the JSON in 16 hexadecimal digits, a space, the JSON.
fn row<T: DeserializeOwned>(line: &[u8], version: u32) -> Option<T> {
    let (checksum, json) = line.split_at_checked(16)?;
    let json = json.strip_prefix(b" ")?;
    let checksum = u64::from_str_radix(std::str::from_utf8(checksum).ok()?, 16).ok()?;
    (checksum == checksum_of(json, version)).then(|| serde_json::from_slice(json).ok())?
}

/// An index of these runs.
pub(crate) fn write(runs: &[RunSummary]) -> serde_json::Result<Vec<u8>> {
    lines(TITLE, VERSION, runs)
}

/// A file with a title, its version, and a line for each row.
pub(crate) fn lines<T: Serialize>(title: &str, version: u32, rows: &[T]) -> serde_json::Result<Vec<u8>> {
    let mut text = format!("{title}{version}\n");
    for row in rows {
        text.push_str(&line(row, version)?);
    }
    Ok(text.into_bytes())
}

/// The line of a row.
pub(crate) fn line<T: Serialize>(row: &T, version: u32) -> serde_json::Result<String> {
    let json = serde_json::to_string(row)?;
    Ok(format!("{:016x} {json}\n", checksum_of(json.as_bytes(), version)))
}

/// The version is part of it, so that no line of another version counts.
fn checksum_of(json: &[u8], version: u32) -> u64 {
    XxHash3_64::oneshot_with_seed(u64::from(version), json)
}
