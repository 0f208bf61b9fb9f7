//! The index over the logs: a SQLite database that repeats what they say, for finding them quickly.

use std::path::Path;

use rusqlite::{Connection, params};

use crate::store::{RunState, RunSummary};

/// Version of the tables; an index of another version is thrown away and made anew.
const VERSION: i64 = 1;

const TABLES: &str = "
    CREATE TABLE runs (
        id TEXT PRIMARY KEY,
        file TEXT NOT NULL UNIQUE,
        file_bytes INTEGER NOT NULL,
        started_unix_ns INTEGER NOT NULL,
        host TEXT NOT NULL,
        suite TEXT NOT NULL,
        plan TEXT NOT NULL,
        targets TEXT NOT NULL,
        repeats INTEGER NOT NULL,
        state TEXT NOT NULL
    );
    CREATE INDEX runs_by_start ON runs (started_unix_ns);
";

/// The database.
pub(crate) struct Index(Connection);

impl Index {
    /// Opens the index, or makes a new one where there is none that this version can use.
    pub fn open(path: &Path) -> rusqlite::Result<Self> {
        Self::try_open(path).or_else(|_| {
            for suffix in ["", "-wal", "-shm"] {
                let mut name = path.as_os_str().to_owned();
                name.push(suffix);
                let _ = std::fs::remove_file(name);
            }
            Self::try_open(path)
        })
    }

    fn try_open(path: &Path) -> rusqlite::Result<Self> {
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(std::time::Duration::from_secs(10))?;
        // Another run may write at the same time; readers then do not wait.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version != VERSION {
            transaction.execute_batch("DROP TABLE IF EXISTS runs;")?;
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        transaction.commit()?;
        Ok(Self(connection))
    }

    /// Every indexed log: name of its file, its size when it was indexed, and its state then.
    pub fn files(&self) -> rusqlite::Result<Vec<(String, u64, RunState)>> {
        let mut statement = self.0.prepare("SELECT file, file_bytes, state FROM runs")?;
        let rows = statement.query_map([], |row| {
            let state: String = row.get(2)?;
            Ok((row.get(0)?, row.get::<_, i64>(1)? as u64, RunState::from_name(&state)))
        })?;
        rows.collect()
    }

    pub fn put(&self, run: &RunSummary) -> rusqlite::Result<()> {
        let targets = serde_json::to_string(&run.targets).unwrap_or_default();
        self.0.execute(
            "INSERT OR REPLACE INTO runs
             (id, file, file_bytes, started_unix_ns, host, suite, plan, targets, repeats, state)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                run.id,
                run.file,
                run.file_bytes as i64,
                run.started_unix_ns,
                run.host,
                run.suite,
                run.plan,
                targets,
                i64::from(run.repeats),
                run.state.name()
            ],
        )?;
        Ok(())
    }

    pub fn remove_file(&self, file: &str) -> rusqlite::Result<()> {
        self.0.execute("DELETE FROM runs WHERE file = ?1", params![file]).map(drop)
    }

    pub fn clear(&self) -> rusqlite::Result<()> {
        self.0.execute("DELETE FROM runs", []).map(drop)
    }

    /// All runs, the oldest first.
    pub fn runs(&self) -> rusqlite::Result<Vec<RunSummary>> {
        let mut statement = self.0.prepare(
            "SELECT id, file, file_bytes, started_unix_ns, host, suite, plan, targets, repeats, state
             FROM runs ORDER BY started_unix_ns, id",
        )?;
        let rows = statement.query_map([], |row| {
            let (targets, state): (String, String) = (row.get(7)?, row.get(9)?);
            Ok(RunSummary {
                id: row.get(0)?,
                file: row.get(1)?,
                file_bytes: row.get::<_, i64>(2)? as u64,
                started_unix_ns: row.get(3)?,
                host: row.get(4)?,
                suite: row.get(5)?,
                plan: row.get(6)?,
                targets: serde_json::from_str(&targets).unwrap_or_default(),
                repeats: row.get::<_, i64>(8)? as u32,
                state: RunState::from_name(&state),
            })
        })?;
        rows.collect()
    }
}
