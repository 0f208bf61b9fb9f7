//! The index over the logs: a SQLite database that duplicates their summaries, for fast lookup.
//!
//! It is read and written as a whole. A changed index is a new file that replaces the old one: no reader sees a partial
//! index, concurrent runs need no lock, and SQLite opens no file itself. Each row carries a checksum; if one does not
//! match, the index is rebuilt from the logs.

use std::io::Cursor;

use rusqlite::{Connection, MAIN_DB, params};
use twox_hash::XxHash3_64;

use crate::summary::{RunState, RunSummary};

/// The `PRAGMA application_id` of an index: `Lode` in ASCII.
const APPLICATION_ID: i32 = 0x4c6f_6465;
/// Version of the tables; an index of another version is rebuilt.
const VERSION: i64 = 2;

/// The first bytes of every SQLite database, and the offset of its application id.
/// <https://www.sqlite.org/fileformat2.html>
const MAGIC: &[u8] = b"SQLite format 3\0";
const APPLICATION_ID_AT: usize = 68;

const TABLES: &str = "CREATE TABLE runs (
        file TEXT PRIMARY KEY,
        file_bytes INTEGER NOT NULL,
        modified_ns INTEGER NOT NULL,
        id TEXT NOT NULL,
        started_unix_ns INTEGER NOT NULL,
        host TEXT NOT NULL,
        suite TEXT NOT NULL,
        plan TEXT NOT NULL,
        targets TEXT NOT NULL,
        repeats INTEGER NOT NULL,
        state TEXT NOT NULL,
        checksum INTEGER NOT NULL
    )";
/// The start of the table definition of version 1, which had no application id.
const TABLE_OF_VERSION_1: &str = "CREATE TABLE runs (
        id TEXT PRIMARY KEY,
        file TEXT NOT NULL UNIQUE,
        file_bytes INTEGER NOT NULL,";

/// The content of the file `index.db`.
pub(crate) enum Content {
    /// The rows of an index.
    Rows(Vec<RunSummary>),
    /// An index of Lodestone that is damaged or of another version.
    Unusable,
    /// Something else.
    Foreign,
}

/// Reads the bytes of an index.
pub(crate) fn read(mut bytes: Vec<u8>) -> Content {
    if !is_index(&bytes) {
        return Content::Foreign;
    }
    // Version 1 used WAL mode, which a database in memory cannot use. Clearing the mode lets SQLite read the version.
    if let Some(modes) = bytes.get_mut(18..20) {
        modes.fill(1);
    }
    rows(&bytes).map_or(Content::Unusable, Content::Rows)
}

/// True for an index that Lodestone wrote, even a damaged one: two of three marks suffice, so one flipped byte does not
/// make it foreign.
fn is_index(bytes: &[u8]) -> bool {
    let id = bytes.get(APPLICATION_ID_AT..APPLICATION_ID_AT + 4);
    let contains = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    let marks = [
        bytes.starts_with(MAGIC),
        id == Some(&APPLICATION_ID.to_be_bytes()),
        contains(TABLES) || contains(TABLE_OF_VERSION_1),
    ];
    marks.into_iter().filter(|mark| *mark).count() >= 2
}

/// The rows; `None` if the database is damaged or of another version.
fn rows(bytes: &[u8]) -> Option<Vec<RunSummary>> {
    let mut connection = Connection::open_in_memory().ok()?;
    connection.deserialize_read_exact(MAIN_DB, Cursor::new(bytes), bytes.len(), true).ok()?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).ok()?;
    let check: String = connection.pragma_query_value(None, "quick_check", |row| row.get(0)).ok()?;
    if version != VERSION || check != "ok" {
        return None;
    }
    let mut statement = connection
        .prepare(
            "SELECT file, file_bytes, modified_ns, id, started_unix_ns, host, suite, plan, targets, repeats, state, checksum
             FROM runs ORDER BY started_unix_ns, id, file",
        )
        .ok()?;
    let rows = statement.query_map([], |row| {
        let (targets, state): (String, String) = (row.get(8)?, row.get(10)?);
        let run = RunSummary {
            file: row.get(0)?,
            file_bytes: row.get::<_, i64>(1)? as u64,
            modified_ns: row.get(2)?,
            id: row.get(3)?,
            started_unix_ns: row.get(4)?,
            host: row.get(5)?,
            suite: row.get(6)?,
            plan: row.get(7)?,
            targets: serde_json::from_str(&targets).unwrap_or_default(),
            repeats: row.get::<_, i64>(9)? as u32,
            state: RunState::from_name(&state).unwrap_or(RunState::Killed),
        };
        Ok((row.get::<_, i64>(11)? == checksum(&run)).then_some(run))
    });
    rows.ok()?.collect::<rusqlite::Result<Option<Vec<_>>>>().ok()?
}

/// Serialises an index with these rows.
pub(crate) fn write(runs: &[RunSummary]) -> rusqlite::Result<Vec<u8>> {
    let mut connection = Connection::open_in_memory()?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", VERSION)?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(TABLES)?;
    {
        let mut statement = transaction
            .prepare("INSERT INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)")?;
        for run in runs {
            statement.execute(params![
                run.file,
                run.file_bytes as i64,
                run.modified_ns,
                run.id,
                run.started_unix_ns,
                run.host,
                run.suite,
                run.plan,
                serde_json::to_string(&run.targets).unwrap_or_default(),
                i64::from(run.repeats),
                run.state.name(),
                checksum(run),
            ])?;
        }
    }
    transaction.commit()?;
    Ok(connection.serialize(MAIN_DB)?.to_vec())
}

fn checksum(run: &RunSummary) -> i64 {
    XxHash3_64::oneshot(format!("{run:?}").as_bytes()) as i64
}
