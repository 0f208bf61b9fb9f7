//! The directory of a store. It stays open, and every file in it is opened relative to that descriptor, never through a
//! symbolic link.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{self, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde_json::{Value, json};

use crate::below::{append_to, make_directory, names_in, open_directory, open_regular, remove};
use crate::unfinished::{self, Unfinished, sweep};

/// File names in a store.
pub(crate) const RUNS: &str = "runs";
pub(crate) const REPORTS: &str = "reports";
pub(crate) const INDEX: &str = "index";
/// The figures of the runs, for their history.
pub(crate) const FIGURES: &str = "figures";
/// The runs that were due and left out.
pub(crate) const LEFT_OUT: &str = "left-out";
/// The runs that a database has not acknowledged yet.
pub(crate) const PUSH_QUEUE: &str = "push-queue";
const MARKER: &str = "store.json";
/// The root of a filesystem has this directory.
const LOST_AND_FOUND: &str = "lost+found";
/// Start of the names of the index that earlier versions wrote, and of files that they renamed. A directory with logs
/// may contain them.
const EARLIER_INDEX: &str = "index.db";

/// Suffix of a log's name …
pub(crate) const SUFFIX: &str = ".jsonl";
/// … and what follows when it is compressed.
pub(crate) const COMPRESSED: &str = ".gz";

/// Version of the store's layout: names and locations of its files.
const FORMAT: u64 = 1;
/// The largest size of a valid marker, in bytes.
const LONGEST_MARKER: u64 = 4096;

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Its directory cannot be created or written to.
    #[error("cannot store runs in {path}: {source}; choose another store with --store DIR")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The directory has other content.
    #[error(
        "{path} is not a store: it contains `{holds}`, which is not from Lodestone; nothing was written \
         there; pass --store DIR with an empty or new directory"
    )]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// A name in it that no store contains.
        holds: String,
    },
    /// A later version created it.
    #[error(
        "cannot use the store {path}: its format is {format}, and this version of Lodestone supports only \
         format 1; use a newer version"
    )]
    TooNew {
        /// The directory.
        path: PathBuf,
        /// Its format.
        format: u64,
    },
    /// The index cannot be written.
    #[error(
        "cannot write the index {path}: {source}; the logs are intact, and every command works without the index"
    )]
    Index {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
}

/// A directory that is a store, or is empty and may become one.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    held: OwnedFd,
}

impl Directory {
    /// Opens a store; `None` if the directory does not exist. Creates nothing.
    ///
    /// # Errors
    /// The directory cannot be opened, is not a store, or has a later format.
    pub fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        let refused = |source: io::Error| StoreError::Directory { path: path.to_owned(), source };
        let held = match fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
            Ok(held) => held,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(refused(error.into())),
        };
        let directory = Self { path: path.to_owned(), held };
        directory.recognise()?;
        Ok(Some(directory))
    }

    /// Opens a store and creates its directory if it does not exist.
    ///
    /// # Errors
    /// Those of [`Directory::open`], or the directory cannot be created.
    pub fn make(path: &Path) -> Result<Self, StoreError> {
        let refused = |source: io::Error| StoreError::Directory { path: path.to_owned(), source };
        std::fs::create_dir_all(path).map_err(refused)?;
        Self::open(path)?.ok_or_else(|| refused(io::ErrorKind::NotFound.into()))
    }

    /// Creates the marker and the directory of logs where they are missing.
    ///
    /// # Errors
    /// An I/O error.
    pub fn complete(&self) -> io::Result<()> {
        let names = self.names()?;
        let has = |wanted: &str| names.iter().any(|name| name == wanted);
        if !has(MARKER) {
            let marker = format!("{}\n", json!({ "program": "lodestone", "store_format": FORMAT }));
            let written = self.write_marker(marker.as_bytes());
            // A directory with runs is a store even if a full disk refuses the marker.
            written.or_else(|error| if has(RUNS) { Ok(()) } else { Err(error) })?;
        }
        make_directory(&self.held, RUNS)
    }

    /// Writes the marker atomically. An empty marker after a power cut would make the store unrecognisable.
    fn write_marker(&self, marker: &[u8]) -> io::Result<()> {
        let (unfinished, mut file) = Unfinished::create(&self.held)?;
        file.write_all(marker)?;
        // A filesystem without sync has still accepted the write.
        let _ = file.sync_all();
        unfinished.replace(MARKER)
    }

    /// Refuses a directory that is neither empty nor a store.
    fn recognise(&self) -> Result<(), StoreError> {
        let refused = |source: io::Error| StoreError::Directory { path: self.path.clone(), source };
        let names = self.names().map_err(refused)?;
        if names.iter().any(|name| name == MARKER) {
            let format = self.marked_format().map_err(refused)?;
            return match format {
                Some(FORMAT) => Ok(()),
                Some(format) => Err(StoreError::TooNew { path: self.path.clone(), format }),
                None => Err(self.foreign(MARKER)),
            };
        }
        let known = |name: &String| {
            [RUNS, REPORTS, INDEX, FIGURES, LEFT_OUT, PUSH_QUEUE].contains(&name.as_str())
                || name == LOST_AND_FOUND
                || name.starts_with(unfinished::PREFIX)
                || name.starts_with(EARLIER_INDEX)
        };
        if let Some(other) = names.iter().find(|name| !known(name)) {
            return Err(self.foreign(other));
        }
        // A store from before the marker existed: all of its logs and its index are Lodestone's.
        let has = |wanted: &str| names.iter().any(|name| name == wanted);
        let mut has_logs = false;
        if has(RUNS) {
            let logs = self.runs().and_then(|runs| names_in(&runs)).map_err(refused)?;
            if let Some(other) =
                logs.iter().find(|name| !is_own_log_name(name) && !name.starts_with(unfinished::PREFIX))
            {
                return Err(self.foreign(&format!("{RUNS}/{other}")));
            }
            has_logs = !logs.is_empty();
        }
        // A directory with logs is a store whatever its index is; a foreign index stays as it is.
        let of_runs = |name: &&String| {
            [INDEX, FIGURES, LEFT_OUT, PUSH_QUEUE].contains(&name.as_str())
                || *name == REPORTS && !has(RUNS)
                || name.starts_with(EARLIER_INDEX)
        };
        match names.iter().find(of_runs) {
            Some(other) if !has_logs => Err(self.foreign(other)),
            _ => Ok(()),
        }
    }

    fn foreign(&self, holds: &str) -> StoreError {
        StoreError::Foreign { path: self.path.clone(), holds: holds.to_owned() }
    }

    /// The format in the marker; `None` if the marker is not Lodestone's.
    fn marked_format(&self) -> io::Result<Option<u64>> {
        let Ok(marker) = open_regular(&self.held, MARKER) else { return Ok(None) };
        let mut text = Vec::new();
        marker.take(LONGEST_MARKER).read_to_end(&mut text)?;
        let Ok(value) = serde_json::from_slice::<Value>(&text) else { return Ok(None) };
        let is_own = value.get("program").and_then(Value::as_str) == Some("lodestone");
        Ok(value.get("store_format").and_then(Value::as_u64).filter(|_| is_own))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        names_in(&self.held)
    }

    /// The bytes of a file of exactly `N` bytes that only the store's owner may read. If it does not exist, it is
    /// created with `content`. Two programs that create it concurrently both get the content of the first.
    ///
    /// # Errors
    /// The file is not a regular file of that length, or an I/O error.
    pub fn secret<const N: usize>(
        &self,
        name: &str,
        content: impl FnOnce() -> io::Result<[u8; N]>,
    ) -> io::Result<[u8; N]> {
        match self.read_secret(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
        let (unfinished, mut file) = Unfinished::create(&self.held)?;
        fs::fchmod(&file, Mode::RUSR | Mode::WUSR)?;
        file.write_all(&content()?)?;
        file.sync_all()?;
        match unfinished.take(name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => self.read_secret(name),
        }
    }

    fn read_secret<const N: usize>(&self, name: &str) -> io::Result<[u8; N]> {
        let mut file = open_regular(&self.held, name)?;
        if file.metadata()?.len() != N as u64 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the file is not {N} bytes long"),
            ));
        }
        let mut bytes = [0; N];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// The directory of logs.
    pub fn runs(&self) -> io::Result<OwnedFd> {
        open_directory(&self.held, RUNS)
    }

    /// The directory of reports, created if it does not exist.
    pub fn reports(&self) -> io::Result<OwnedFd> {
        make_directory(&self.held, REPORTS)?;
        open_directory(&self.held, REPORTS)
    }

    /// The bytes of the index file; none if it does not exist.
    ///
    /// # Errors
    /// The file is not a regular file or is too long, or an I/O error.
    pub fn index(&self) -> io::Result<Vec<u8>> {
        self.small_file(INDEX)
    }

    /// The bytes of a file that has a line for each run; empty if it does not exist.
    fn small_file(&self, name: &str) -> io::Result<Vec<u8>> {
        const LONGEST: u64 = 1 << 30;
        let file = match open_regular(&self.held, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut bytes = Vec::new();
        if file.take(LONGEST).read_to_end(&mut bytes)? as u64 == LONGEST {
            return Err(io::Error::other(format!("the file is too large to be the {name} of a store")));
        }
        Ok(bytes)
    }

    /// The figures of the runs; empty if there is no such file.
    pub fn figures(&self) -> io::Result<Vec<u8>> {
        self.small_file(FIGURES)
    }

    /// Replaces the figures of the runs.
    pub fn replace_figures(&self, bytes: &[u8]) -> io::Result<()> {
        write_whole(&self.held, FIGURES, bytes)
    }

    /// Adds lines to the figures of the runs, behind one that was cut off.
    pub fn add_figures(&self, lines: &[u8], is_cut_off: bool) -> io::Result<()> {
        let end: &[u8] = if is_cut_off { b"\n" } else { b"" };
        append_to(&self.held, FIGURES)?.write_all(&[end, lines].concat())
    }

    /// The runs that were left out; empty if there is no such file.
    pub fn left_out(&self) -> io::Result<Vec<u8>> {
        self.small_file(LEFT_OUT)
    }

    /// Adds a line to the runs that were left out.
    pub fn add_left_out(&self, line: &[u8]) -> io::Result<()> {
        // A line that was cut off must not take this one with it.
        let is_cut_off = self.left_out()?.last().is_some_and(|last| *last != b'\n');
        let end: &[u8] = if is_cut_off { b"\n" } else { b"" };
        append_to(&self.held, LEFT_OUT)?.write_all(&[end, line].concat())
    }

    /// Waits for the lock of the store's small files, which is held until the descriptor is closed. A filesystem without locks has none.
    pub fn lock(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let own = fs::openat(&self.held, ".", flags, Mode::empty())?;
        let _ = rustix::io::retry_on_intr(|| fs::flock(&own, FlockOperation::LockExclusive));
        Ok(own)
    }

    /// The queue of runs for databases; empty if there is none.
    pub fn push_queue(&self) -> io::Result<Vec<u8>> {
        self.small_file(PUSH_QUEUE)
    }

    /// Adds a line to the queue; it is on stable storage then.
    pub fn add_to_push_queue(&self, line: &[u8]) -> io::Result<()> {
        let is_cut_off = self.push_queue()?.last().is_some_and(|last| *last != b'\n');
        let end: &[u8] = if is_cut_off { b"\n" } else { b"" };
        let mut file = append_to(&self.held, PUSH_QUEUE)?;
        file.write_all(&[end, line].concat())?;
        file.sync_all()?;
        // Some filesystems sync no directory.
        let _ = fs::fsync(&self.held);
        Ok(())
    }

    /// Replaces the queue, or removes the file of an empty one.
    pub fn replace_push_queue(&self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return match remove(&self.held, PUSH_QUEUE) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let (unfinished, mut file) = Unfinished::create(&self.held)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        unfinished.replace(PUSH_QUEUE)
    }

    /// Replaces the index and removes the temporary files of killed programs.
    pub fn replace_index(&self, bytes: &[u8]) -> io::Result<()> {
        write_whole(&self.held, INDEX, bytes)?;
        sweep(&self.held);
        for name in [RUNS, REPORTS] {
            if let Ok(directory) = open_directory(&self.held, name) {
                sweep(&directory);
            }
        }
        Ok(())
    }
}

/// True for the name of a log, compressed or not.
pub(crate) fn names_log(name: &str) -> bool {
    name.strip_suffix(COMPRESSED).unwrap_or(name).ends_with(SUFFIX)
}

/// True for a name such as `20261121T093015Z-k7m2x9qa.jsonl`, as Lodestone gives it.
fn is_own_log_name(name: &str) -> bool {
    let Some((at, rest)) = name.split_once('-') else { return false };
    let digits = at.bytes().filter(u8::is_ascii_digit).count();
    at.len() == 16 && digits == 14 && at.ends_with('Z') && names_log(rest)
}

/// Writes a new file and renames it to `name`, over an old file. No reader sees a partial file, and the target of a
/// symbolic link with that name stays unchanged.
pub(crate) fn write_whole(directory: &OwnedFd, name: &str, bytes: &[u8]) -> io::Result<()> {
    let (unfinished, mut file) = Unfinished::create(directory)?;
    file.write_all(bytes)?;
    unfinished.replace(name)
}
