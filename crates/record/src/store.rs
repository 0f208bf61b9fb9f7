//! A directory of runs: their logs and the index over them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use model::{Event, Run, RunOutcome, RunStarted};

use crate::index::Index;
use crate::log::{Log, LogError, LogWriter, read_log, read_start};

const SUFFIX: &str = ".jsonl";

/// A store of runs.
#[derive(Clone, Debug)]
pub struct Store {
    directory: PathBuf,
}

/// How a run stands, as far as its log tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// It is under way: its log is locked.
    Running,
    /// Everything planned was done.
    Completed,
    /// The user stopped it.
    Interrupted,
    /// Some storage failed.
    Failed,
    /// Its log has no end.
    Killed,
}

impl RunState {
    const ALL: [Self; 5] = [Self::Running, Self::Completed, Self::Interrupted, Self::Failed, Self::Killed];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Killed => "killed",
        }
    }

    pub(crate) fn from_name(name: &str) -> Self {
        Self::ALL.into_iter().find(|s| s.name() == name).unwrap_or(Self::Killed)
    }

    fn of(run: &Run, locked: bool) -> Self {
        match run.finished.as_ref().map(|f| f.outcome) {
            None if locked => Self::Running,
            None => Self::Killed,
            Some(RunOutcome::Completed) => Self::Completed,
            Some(RunOutcome::Interrupted) => Self::Interrupted,
            Some(RunOutcome::Failed) => Self::Failed,
        }
    }
}

/// What the index knows of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// The run's id.
    pub id: String,
    /// Name of its log within the store.
    pub file: String,
    /// Bytes of the log.
    pub file_bytes: u64,
    /// Start in nanoseconds since 1970.
    pub started_unix_ns: i64,
    /// Name of the machine.
    pub host: String,
    /// Name of the suite.
    pub suite: String,
    /// Id of the plan.
    pub plan: String,
    /// Names of the targets.
    pub targets: Vec<String>,
    /// Repeats that were begun.
    pub repeats: u32,
    /// How it stands.
    pub state: RunState,
}

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Its directory cannot be made or written to.
    #[error("cannot keep runs in {path}: {source}; choose another place with --store DIR")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The index cannot be used.
    #[error("cannot use the index {path}: {source}; delete that file, it is made anew from the logs")]
    Index {
        /// The database.
        path: PathBuf,
        /// SQLite's answer.
        source: rusqlite::Error,
    },
}

/// Why a run was not found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// A file is named, and there is none.
    #[error("there is no log file `{0}`; name one, or a run as `lodestone list` shows it")]
    NoFile(PathBuf),
    /// There is none of that name.
    #[error("there is no run `{name}` in {store}; `lodestone list` shows what there is")]
    None {
        /// What was asked for.
        name: String,
        /// Where.
        store: PathBuf,
    },
    /// There are several.
    #[error("`{name}` is the start of several runs: {}; write more of the id", .ids.join(", "))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// The runs that it could be.
        ids: Vec<String>,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl Store {
    /// A store in this directory, which is made if need be.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        let store = Self { directory: directory.to_owned() };
        let logs = store.logs();
        fs::create_dir_all(&logs).map_err(|source| StoreError::Directory { path: logs, source })?;
        Ok(store)
    }

    /// Where the logs are.
    pub fn logs(&self) -> PathBuf {
        self.directory.join("runs")
    }

    /// Where the pages of runs are.
    pub fn reports(&self) -> PathBuf {
        self.directory.join("reports")
    }

    fn index_path(&self) -> PathBuf {
        self.directory.join("index.db")
    }

    fn index(&self) -> Result<Index, StoreError> {
        Index::open(&self.index_path()).map_err(|e| self.index_error(e))
    }

    fn index_error(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Index { path: self.index_path(), source }
    }

    /// Begins the log of a run with its first event.
    ///
    /// # Errors
    /// [`StoreError`] if the log cannot be written.
    pub fn begin(&self, started: RunStarted) -> Result<LogWriter, StoreError> {
        let path = self.logs().join(file_name(&started));
        let refused = |source| StoreError::Directory { path: self.logs(), source };
        let mut writer = LogWriter::create(&path).map_err(refused)?;
        writer.append(&Event::RunStarted(Box::new(started))).map_err(refused)?;
        Ok(writer)
    }

    /// All runs, the oldest first. Brings the index up to date with the logs.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        let index = self.index()?;
        self.update(&index).and_then(|()| index.runs()).map_err(|e| self.index_error(e))
    }

    /// Makes the index anew from the logs and returns how many runs it has.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn reindex(&self) -> Result<usize, StoreError> {
        self.index()?.clear().map_err(|e| self.index_error(e))?;
        self.runs().map(|runs| runs.len())
    }

    /// Digests of all files that kept runs were imported from, with the ids of these runs.
    pub fn imported(&self) -> BTreeMap<String, String> {
        let mut known = BTreeMap::new();
        for (file, _) in self.log_files() {
            let Ok(started) = read_start(&self.logs().join(file)) else { continue };
            for source in started.sources {
                known.insert(source.digest, started.id.clone());
            }
        }
        known
    }

    fn update(&self, index: &Index) -> rusqlite::Result<()> {
        let known = index.files()?;
        let present = self.log_files();
        for (file, ..) in known.iter().filter(|(file, ..)| !present.iter().any(|(name, _)| name == file)) {
            index.remove_file(file)?;
        }
        for (file, bytes) in present {
            let unchanged = known
                .iter()
                .any(|(name, size, state)| *name == file && *size == bytes && *state != RunState::Running);
            if !unchanged && let Some(summary) = self.summary(&file) {
                index.put(&summary)?;
            }
        }
        Ok(())
    }

    /// Names and sizes of all logs.
    fn log_files(&self) -> Vec<(String, u64)> {
        let Ok(entries) = fs::read_dir(self.logs()) else { return Vec::new() };
        entries
            .flatten()
            .filter_map(|e| Some((e.file_name().into_string().ok()?, e.metadata().ok()?.len())))
            .filter(|(name, _)| name.ends_with(SUFFIX))
            .collect()
    }

    fn summary(&self, file: &str) -> Option<RunSummary> {
        let path = self.logs().join(file);
        let file_bytes = fs::metadata(&path).ok()?.len();
        let run = read_log(&path).ok()?.run;
        Some(RunSummary {
            file: file.to_owned(),
            file_bytes,
            started_unix_ns: run.started.started_unix_ns,
            host: run.started.host.name.clone(),
            suite: run.started.plan.suite.clone(),
            plan: run.started.plan.id.clone(),
            targets: run.started.targets.iter().map(|t| t.name.clone()).collect(),
            repeats: run.repeats.len() as u32,
            state: RunState::of(&run, is_locked(&path)),
            id: run.started.id,
        })
    }

    /// Finds and reads a run: by its id, a unique start of it, `last`, `last~1` for the one before, or
    /// the path of a log.
    ///
    /// # Errors
    /// [`FindError`].
    pub fn find(&self, name: &str) -> Result<Log, FindError> {
        let path = Path::new(name);
        if name.contains(['/', '.']) {
            let found = path.is_file().then_some(path).ok_or_else(|| FindError::NoFile(path.to_owned()))?;
            return Ok(read_log(found)?);
        }
        let runs = self.runs()?;
        let none = || FindError::None { name: name.to_owned(), store: self.directory.clone() };
        let found = if let Some(back) = name.strip_prefix("last") {
            let back: usize = match back.strip_prefix('~') {
                Some(number) => number.parse().map_err(|_| none())?,
                None if back.is_empty() => 0,
                None => return Err(none()),
            };
            runs.iter().rev().nth(back).ok_or_else(none)?
        } else {
            let mut starting = runs.iter().filter(|r| !name.is_empty() && r.id.starts_with(name));
            let first = starting.next().ok_or_else(none)?;
            let others: Vec<String> = starting.map(|r| r.id.clone()).collect();
            if !others.is_empty() && first.id != name {
                let ids = [vec![first.id.clone()], others].concat();
                return Err(FindError::Ambiguous { name: name.to_owned(), ids });
            }
            first
        };
        Ok(read_log(&self.logs().join(&found.file))?)
    }
}

/// `20261121T093015Z-k7m2x9qa.jsonl`: sorts by time, found by id.
fn file_name(started: &RunStarted) -> String {
    let at = jiff::Timestamp::from_nanosecond(i128::from(started.started_unix_ns)).unwrap_or_default();
    format!("{}-{}{SUFFIX}", at.strftime("%Y%m%dT%H%M%SZ"), started.id)
}

/// True if the writer of this log is at work.
fn is_locked(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock))
}
