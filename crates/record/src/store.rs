//! A directory of runs: their logs and the index over them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use model::{Event, RunStarted, Source};

use crate::below;
use crate::compressed::compress;
use crate::directory::{self, COMPRESSED, Directory, SUFFIX, StoreError};
use crate::index::{self, Content};
use crate::log::{Log, LogError, LogWriter, OnDamage, parse_log_with, read_named_log, read_start};
use crate::parallel::in_parallel;
use crate::summary::{RunState, RunSummary};
use crate::unfinished::Unfinished;

/// A store of runs.
#[derive(Clone, Debug)]
pub struct Store {
    path: PathBuf,
    /// Empty until the directory exists.
    held: Arc<OnceLock<Directory>>,
    on_damage: OnDamage,
}

/// The runs of a store.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The runs, the oldest first.
    pub runs: Vec<RunSummary>,
    /// Problems with the store, as sentences: unreadable logs, an index that could not be used or written.
    pub warnings: Vec<String>,
}

/// Why a run was not found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The named log file does not exist.
    #[error("there is no log file `{0}`; give the path of a log, or a run id from `lodestone list`")]
    NoFile(PathBuf),
    /// No run has that name.
    #[error("there is no run `{name}` in {store}; `lodestone list` shows all runs")]
    None {
        /// The requested name.
        name: String,
        /// The store.
        store: PathBuf,
    },
    /// Several runs match.
    #[error("`{name}` matches several runs: {}; give more of the id", .ids.join(", "))]
    Ambiguous {
        /// The requested name.
        name: String,
        /// The matching runs.
        ids: Vec<String>,
    },
    /// Several logs belong to one run.
    #[error("{} logs belong to run `{id}`; give the path of one of them: {}", .logs.len(), shown(.logs))]
    SeveralLogs {
        /// The run.
        id: String,
        /// The logs.
        logs: Vec<PathBuf>,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
}

fn shown(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

impl Store {
    /// The store in this directory. The directory is created on the first write.
    ///
    /// # Errors
    /// [`StoreError`], for example if the directory has other content.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let held = Directory::open(path)?.map_or_else(OnceLock::new, OnceLock::from);
        Ok(Self { path: path.to_owned(), held: Arc::new(held), on_damage: OnDamage::Stop })
    }

    /// The same store with a different treatment of damaged logs.
    pub fn with_damage(self, on_damage: OnDamage) -> Self {
        Self { on_damage, ..self }
    }

    /// The store's path, whether or not the directory exists yet.
    pub fn directory(&self) -> &Path {
        &self.path
    }

    /// The directory of the logs.
    pub fn logs(&self) -> PathBuf {
        self.path.join(directory::RUNS)
    }

    /// The directory, if it exists by now: another process may have made it since the store was opened.
    pub(crate) fn existing(&self) -> Option<&Directory> {
        if self.held.get().is_none()
            && let Ok(Some(opened)) = Directory::open(&self.path)
        {
            self.held.get_or_init(|| opened);
        }
        self.held.get()
    }

    /// The directory, created if it does not exist.
    pub(crate) fn writable(&self) -> Result<&Directory, StoreError> {
        let directory = match self.held.get() {
            Some(directory) => directory,
            None => {
                let made = Directory::make(&self.path)?;
                self.held.get_or_init(|| made)
            }
        };
        let refused = |source| StoreError::Directory { path: self.path.clone(), source };
        directory.complete().map_err(refused)?;
        Ok(directory)
    }

    /// Begins the log of a run with its first event.
    ///
    /// # Errors
    /// [`StoreError`] if the log cannot be written.
    pub fn begin(&self, started: RunStarted) -> Result<LogWriter, StoreError> {
        let refused = |source| StoreError::Directory { path: self.logs(), source };
        let runs = self.writable()?.runs().map_err(refused)?;
        let name = log_name(&started);
        let file = below::create_new(&runs, &name).map_err(refused)?;
        let mut writer = LogWriter::new(file, &self.logs().join(&name));
        let begun = writer.append(&Event::RunStarted(Box::new(started)));
        begun.map(|()| writer).map_err(|error| {
            let _ = below::remove(&runs, &name);
            refused(error)
        })
    }

    /// Removes the log that this writer began, because it is stored elsewhere or not at all.
    ///
    /// # Errors
    /// An I/O error.
    pub fn discard(&self, writer: LogWriter) -> io::Result<()> {
        let name = writer.path().file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match self.existing() {
            Some(directory) => below::remove(&directory.runs()?, name),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Replaces the log of a run that has ended by a compressed one.
    ///
    /// # Errors
    /// An I/O error; the log is unchanged.
    pub fn compress(&self, log: &mut LogWriter) -> io::Result<()> {
        let runs = self.existing().ok_or(io::ErrorKind::NotFound)?.runs()?;
        let name = log.path().file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let (unfinished, file) = Unfinished::create(&runs)?;
        compress(&file, |file| log.copy_to(file))?;
        unfinished.take(format!("{name}{COMPRESSED}"))?;
        // The new name must be on stable storage before the old one is gone. Some filesystems sync no directory.
        let _ = rustix::fs::fsync(&runs);
        below::remove(&runs, &name)
    }

    /// Writes a report under this name, replaces an older one and returns its path.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn write_report(&self, name: &str, page: &[u8]) -> Result<PathBuf, StoreError> {
        let path = self.path.join(directory::REPORTS).join(name);
        let refused = |source| StoreError::Directory { path: path.clone(), source };
        let reports = self.writable()?.reports().map_err(refused)?;
        directory::write_whole(&reports, name, page).map_err(refused)?;
        Ok(path)
    }

    /// All runs, the oldest first. Brings the index up to date with the logs, if it is writable.
    ///
    /// # Errors
    /// [`StoreError`] if the logs cannot be listed.
    pub fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        self.list().map(|listing| listing.runs)
    }

    /// All runs, the oldest first, and the problems of the store. Brings the index up to date with the logs; a file in
    /// its place that is not an index stays unchanged.
    ///
    /// # Errors
    /// [`StoreError`] if the logs cannot be listed.
    pub fn list(&self) -> Result<Listing, StoreError> {
        let Some(directory) = self.existing() else { return Ok(Listing::default()) };
        let mut warnings = Vec::new();
        let known = match directory.index().map(|bytes| index::read(&bytes)) {
            Ok(Content::Rows(rows)) => Some(rows),
            Ok(Content::Foreign) => {
                warnings.push(format!(
                    "{} is not an index of Lodestone, so the logs were read instead and the file is \
                     unchanged; move it elsewhere, and the next listing writes an index",
                    self.index_path().display()
                ));
                None
            }
            Err(error) => {
                warnings.push(format!(
                    "cannot read the index {}: {error}; the logs were read instead",
                    self.index_path().display()
                ));
                None
            }
        };
        let runs = self.up_to_date(directory, known.as_deref().unwrap_or_default(), &mut warnings)?;
        if known.is_some_and(|known| known != runs)
            && let Err(error) = self.write_index(directory, &runs)
        {
            warnings.push(error.to_string());
        }
        Ok(Listing { runs, warnings })
    }

    fn index_path(&self) -> PathBuf {
        self.path.join(directory::INDEX)
    }

    fn write_index(&self, directory: &Directory, runs: &[RunSummary]) -> Result<(), StoreError> {
        let written =
            index::write(runs).map_err(io::Error::from).and_then(|bytes| directory.replace_index(&bytes));
        written.map_err(|source| StoreError::Index { path: self.index_path(), source })
    }

    /// The source files of all imported runs in the store, with the ids of these runs.
    pub fn imported(&self) -> Vec<(Source, String)> {
        let mut known = Vec::new();
        let Some(runs) = self.existing().and_then(|directory| directory.runs().ok()) else { return known };
        for name in log_names(&runs).unwrap_or_default() {
            let Ok(file) = below::open_regular(&runs, &name) else { continue };
            let Ok(started) = read_start(file, &self.logs().join(name)) else { continue };
            for source in started.sources {
                known.push((source, started.id.clone()));
            }
        }
        known
    }

    /// Summaries of all logs: from the index for unchanged logs, otherwise from the logs themselves.
    fn up_to_date(
        &self,
        directory: &Directory,
        known: &[RunSummary],
        warnings: &mut Vec<String>,
    ) -> Result<Vec<RunSummary>, StoreError> {
        let refused = |source| StoreError::Directory { path: self.logs(), source };
        let logs = match directory.runs() {
            Ok(logs) => logs,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(refused(error)),
        };
        let known: BTreeMap<&str, &RunSummary> = known.iter().map(|run| (run.file.as_str(), run)).collect();
        let names = log_names(&logs).map_err(refused)?;
        let summaries =
            in_parallel(&names, |name| self.summary(&logs, name, known.get(name.as_str()).copied()));
        let mut runs = Vec::new();
        for summary in summaries {
            match summary {
                Ok(run) => runs.extend(run),
                Err(error) => warnings.push(format!("a log is skipped: {error}")),
            }
        }
        runs.sort_by(|a, b| (a.started_unix_ns, &a.id, &a.file).cmp(&(b.started_unix_ns, &b.id, &b.file)));
        Ok(runs)
    }

    /// The summary of one log; `None` for an empty log, whose run was killed before its first line.
    fn summary(
        &self,
        logs: &OwnedFd,
        name: &str,
        known: Option<&RunSummary>,
    ) -> Result<Option<RunSummary>, LogError> {
        let path = self.logs().join(name);
        let unreadable = |source| LogError::Unreadable { path: path.clone(), source };
        let file = below::open_regular(logs, name).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        let (file_bytes, modified_ns) = (
            metadata.len(),
            metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec()),
        );
        if file_bytes == 0 {
            return Ok(None);
        }
        let is_unchanged = |run: &&RunSummary| {
            (run.file_bytes, run.modified_ns) == (file_bytes, modified_ns) && run.state != RunState::Running
        };
        if let Some(run) = known.filter(is_unchanged) {
            return Ok(Some(run.clone()));
        }
        let is_locked = is_locked(&file);
        let log = parse_log_with(file, &path, OnDamage::Stop)?;
        let state = RunState::of(&log, is_locked);
        let run = log.run;
        Ok(Some(RunSummary {
            file: name.to_owned(),
            file_bytes,
            modified_ns,
            started_unix_ns: run.started.started_unix_ns,
            host: run.started.machine_names(),
            suite: run.started.plan.suite.clone(),
            plan: run.started.plan.id.clone(),
            targets: run.started.targets.iter().map(|t| t.name.clone()).collect(),
            repeats: run.repeats.len() as u32,
            state,
            id: run.started.id,
        }))
    }

    /// Finds and reads a run: by its id, a unique prefix of it, `last`, `last~1` for the one before, or
    /// the path of a log.
    ///
    /// # Errors
    /// [`FindError`].
    pub fn find(&self, name: impl AsRef<OsStr>) -> Result<Log, FindError> {
        let path = Path::new(name.as_ref());
        // Ids are UTF-8: any other name is a path.
        let Some(name) = name.as_ref().to_str().filter(|name| !name.contains(['/', '.'])) else {
            if !path.exists() {
                return Err(FindError::NoFile(path.to_owned()));
            }
            return Ok(read_named_log(path, self.on_damage)?);
        };
        let runs = self.runs()?;
        Ok(self.read(self.identify(&runs, name)?)?)
    }

    /// Reads the log of a run.
    ///
    /// # Errors
    /// [`LogError`].
    pub fn read(&self, run: &RunSummary) -> Result<Log, LogError> {
        let path = self.logs().join(&run.file);
        let unreadable = |source| LogError::Unreadable { path: path.clone(), source };
        let directory = self.existing().ok_or_else(|| unreadable(io::ErrorKind::NotFound.into()))?;
        let file =
            directory.runs().and_then(|logs| below::open_regular(&logs, &run.file)).map_err(unreadable)?;
        parse_log_with(file, &path, self.on_damage)
    }

    /// The log of a run and the pages that are only of it, as paths.
    ///
    /// # Errors
    /// [`StoreError`] if the pages cannot be listed.
    pub fn files_of(&self, run: &RunSummary) -> Result<Vec<PathBuf>, StoreError> {
        let pages = self.pages_of(run)?.into_iter().map(|name| self.path.join(directory::REPORTS).join(name));
        Ok(std::iter::once(self.logs().join(&run.file)).chain(pages).collect())
    }

    /// Removes the log of a run and the pages that are only of it, and returns their paths.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn remove(&self, run: &RunSummary) -> Result<Vec<PathBuf>, StoreError> {
        let files = self.files_of(run)?;
        let directory = self.writable()?;
        let refused = |path: PathBuf| move |source| StoreError::Directory { path, source };
        let reports = self.path.join(directory::REPORTS);
        for name in self.pages_of(run)? {
            let removed = directory.reports().and_then(|pages| below::remove(&pages, &name));
            removed.map_err(refused(reports.join(&name)))?;
        }
        let removed = directory.runs().and_then(|runs| {
            if let Some(uncompressed) = run.file.strip_suffix(COMPRESSED) {
                // It remains only where a program was killed while it replaced the log.
                let _ = below::remove(&runs, uncompressed);
            }
            below::remove(&runs, &run.file)
        });
        removed.map_err(refused(self.logs().join(&run.file)))?;
        Ok(files)
    }

    /// The names of the pages that are only of this run.
    fn pages_of(&self, run: &RunSummary) -> Result<Vec<String>, StoreError> {
        let Some(directory) = self.existing() else { return Ok(Vec::new()) };
        let refused = |source| StoreError::Directory { path: self.path.join(directory::REPORTS), source };
        let names = match directory.reports() {
            Ok(pages) => below::names_in(&pages).map_err(refused)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(refused(error)),
        };
        let own = [format!("{}.html", run.id), format!("{}-anonymous.html", run.id)];
        Ok(names.into_iter().filter(|name| own.contains(name)).collect())
    }

    /// The run that a name identifies: its id, a unique prefix of it, `last`, or `last~1` for the one before.
    ///
    /// # Errors
    /// [`FindError`].
    pub fn identify<'a>(&self, runs: &'a [RunSummary], name: &str) -> Result<&'a RunSummary, FindError> {
        let none = || FindError::None { name: name.to_owned(), store: self.path.clone() };
        if let Some(back) = name.strip_prefix("last") {
            let back: usize = match back.strip_prefix('~') {
                Some(number) => number.parse().map_err(|_| none())?,
                None if back.is_empty() => 0,
                None => return Err(none()),
            };
            return runs.iter().rev().nth(back).ok_or_else(none);
        }
        let starting = || runs.iter().filter(|run| !name.is_empty() && run.id.starts_with(name));
        let mut ids: Vec<&str> = starting().map(|run| run.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        let id = match ids.as_slice() {
            [] => return Err(none()),
            [id] => *id,
            several => *several.iter().find(|id| **id == name).ok_or_else(|| {
                let ids = several.iter().map(|id| (*id).to_owned()).collect();
                FindError::Ambiguous { name: name.to_owned(), ids }
            })?,
        };
        let logs: Vec<&RunSummary> = runs.iter().filter(|run| run.id == id).collect();
        match logs.as_slice() {
            [run] => Ok(run),
            several => {
                let logs = several.iter().map(|run| self.logs().join(&run.file)).collect();
                Err(FindError::SeveralLogs { id: id.to_owned(), logs })
            }
        }
    }
}

/// Sorted names of the logs in a directory.
fn log_names(logs: &OwnedFd) -> io::Result<Vec<String>> {
    let mut names = below::names_in(logs)?;
    names.retain(|name| directory::names_log(name));
    names.sort_unstable();
    // A program that is killed when it has compressed a log leaves both, the compressed one behind the other.
    let is_same = |compressed: &str, log: &str| compressed.strip_suffix(COMPRESSED) == Some(log);
    names.dedup_by(|next, name| {
        is_same(next, name) && {
            name.push_str(COMPRESSED);
            true
        }
    });
    Ok(names)
}

/// `20261121T093015Z-k7m2x9qa.jsonl`: sorts by time, found by id.
pub(crate) fn log_name(started: &RunStarted) -> String {
    let at = jiff::Timestamp::from_nanosecond(i128::from(started.started_unix_ns)).unwrap_or_default();
    format!("{}-{}{SUFFIX}", at.strftime("%Y%m%dT%H%M%SZ"), started.id)
}

/// True if a writer holds the lock of this log.
fn is_locked(log: &File) -> bool {
    let is_locked = matches!(log.try_lock_shared(), Err(TryLockError::WouldBlock));
    let _ = log.unlock();
    is_locked
}
