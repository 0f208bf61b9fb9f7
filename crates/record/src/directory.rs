//! The directory of a store: held open, so that everything in it is reached from there and nothing through a link.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde_json::{Value, json};

use crate::store::StoreError;
use crate::unfinished::{self, Unfinished, sweep};

/// Names within a store.
pub(crate) const RUNS: &str = "runs";
pub(crate) const REPORTS: &str = "reports";
pub(crate) const INDEX: &str = "index.db";
const MARKER: &str = "store.json";
/// How the names begin of what stood in the place of the index and was none.
const ASIDE: &str = "index.db.foreign-";
/// What else may stand in a store: SQLite's files of an old index, and what a filesystem has at its top.
const TOLERATED: [&str; 4] = ["index.db-wal", "index.db-shm", "index.db-journal", "lost+found"];

/// Version of the store: what its files are called and where they are.
const FORMAT: u64 = 1;
/// A marker longer than this is not one.
const LONGEST_MARKER: u64 = 4096;

/// A directory that is a store, or is empty and may become one.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    held: OwnedFd,
}

impl Directory {
    /// Opens a store; `None` if there is no such directory. Nothing is made.
    ///
    /// # Errors
    /// It cannot be opened, holds something else, or is of a later version.
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

    /// Makes the directory if there is none.
    ///
    /// # Errors
    /// As of [`Directory::open`], or it cannot be made.
    pub fn make(path: &Path) -> Result<Self, StoreError> {
        let refused = |source: io::Error| StoreError::Directory { path: path.to_owned(), source };
        std::fs::create_dir_all(path).map_err(refused)?;
        Self::open(path)?.ok_or_else(|| refused(io::ErrorKind::NotFound.into()))
    }

    /// Gives it the marker and the directory of logs, if it has none.
    ///
    /// # Errors
    /// The kernel's.
    pub fn complete(&self) -> io::Result<()> {
        let names = self.names()?;
        let has = |wanted: &str| names.iter().any(|name| name == wanted);
        if !has(MARKER) {
            let marker = format!("{}\n", json!({ "program": "lodestone", "store_format": FORMAT }));
            let written = self.write_marker(marker.as_bytes());
            // A full disk does not make less of a store that is known by its runs.
            written.or_else(|error| if has(RUNS) { Ok(()) } else { Err(error) })?;
        }
        make_directory(&self.held, RUNS)
    }

    /// Writes the marker so that a power cut does not leave an empty one, with which this would not be a store.
    fn write_marker(&self, marker: &[u8]) -> io::Result<()> {
        let (unfinished, mut file) = Unfinished::create(&self.held)?;
        file.write_all(marker)?;
        // A filesystem that cannot sync has taken it all the same.
        let _ = file.sync_all();
        unfinished.replace(MARKER)
    }

    /// Refuses what is neither a store nor empty.
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
            [RUNS, REPORTS, INDEX].contains(&name.as_str())
                || TOLERATED.contains(&name.as_str())
                || name.starts_with(unfinished::PREFIX)
                || name.starts_with(ASIDE)
        };
        if let Some(other) = names.iter().find(|name| !known(name)) {
            return Err(self.foreign(other));
        }
        // A store that was made before there were markers: all of its logs are Lodestone's, and so is its index.
        let has = |wanted: &str| names.iter().any(|name| name == wanted);
        let mut has_logs = false;
        if has(RUNS) {
            let logs = self.runs().and_then(|runs| names_in(&runs)).map_err(refused)?;
            if let Some(other) = logs.iter().find(|name| !is_log_name(name)) {
                return Err(self.foreign(&format!("{RUNS}/{other}")));
            }
            has_logs = !logs.is_empty();
        }
        let is_own_index = || {
            let bytes = self.index().ok().flatten();
            bytes.is_some_and(|bytes| {
                bytes.is_empty() || !matches!(crate::index::read(bytes), crate::index::Content::Foreign)
            })
        };
        // With logs it is a store whatever its index is: one that is not Lodestone's is left alone there.
        if has(INDEX) && !has_logs && !(has(RUNS) && is_own_index()) {
            return Err(self.foreign(INDEX));
        }
        if has(REPORTS) && !has(RUNS) {
            return Err(self.foreign(REPORTS));
        }
        Ok(())
    }

    fn foreign(&self, holds: &str) -> StoreError {
        StoreError::Foreign { path: self.path.clone(), holds: holds.to_owned() }
    }

    /// The version that the marker names; `None` if it is not one of Lodestone's.
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

    /// The bytes of a file of exactly `N` bytes that only the store's owner may read; it is made with `content` if there is none.
    /// Of two programs that make it at once both get the first one's.
    ///
    /// # Errors
    /// It is not a regular file of that length, or the kernel's.
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
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it is not {N} bytes long")));
        }
        let mut bytes = [0; N];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// The directory of logs.
    pub fn runs(&self) -> io::Result<OwnedFd> {
        open_directory(&self.held, RUNS)
    }

    /// The directory of pages, which is made if need be.
    pub fn reports(&self) -> io::Result<OwnedFd> {
        make_directory(&self.held, REPORTS)?;
        open_directory(&self.held, REPORTS)
    }

    /// The bytes of the file that is called as the index is; `None` if there is none.
    ///
    /// # Errors
    /// It is not a regular file, is too long, or the kernel's.
    pub fn index(&self) -> io::Result<Option<Vec<u8>>> {
        const LONGEST: u64 = 256 << 20;
        let file = match open_regular(&self.held, INDEX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let mut bytes = Vec::new();
        if file.take(LONGEST).read_to_end(&mut bytes)? as u64 == LONGEST {
            return Err(io::Error::other("it is too long to be an index"));
        }
        Ok(Some(bytes))
    }

    /// Puts a new index in the place of the old, and removes what programs that were killed had begun to write.
    pub fn replace_index(&self, bytes: &[u8]) -> io::Result<()> {
        write_whole(&self.held, INDEX, bytes)?;
        // They belonged to an index of version 1, and SQLite would take them for the new one's.
        for name in ["index.db-wal", "index.db-shm"] {
            let _ = fs::unlinkat(&self.held, name, AtFlags::empty());
        }
        sweep(&self.held);
        if let Ok(reports) = open_directory(&self.held, REPORTS) {
            sweep(&reports);
        }
        Ok(())
    }

    /// Gives what is called as the index is another name, and returns it.
    pub fn move_index_aside(&self) -> io::Result<String> {
        for n in 1..1000 {
            let name = format!("{ASIDE}{n}");
            match fs::renameat_with(&self.held, INDEX, &self.held, &name, fs::RenameFlags::NOREPLACE) {
                Ok(()) => return Ok(name),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::EXIST.into())
    }
}

/// True of `20261121T093015Z-k7m2x9qa.jsonl`.
fn is_log_name(name: &str) -> bool {
    let Some((at, rest)) = name.split_once('-') else { return false };
    let digits = at.bytes().filter(u8::is_ascii_digit).count();
    at.len() == 16 && digits == 14 && at.ends_with('Z') && rest.ends_with(crate::store::SUFFIX)
}

/// Names of what a directory holds; what is not UTF-8 is shown with replacement characters.
pub(crate) fn names_in(directory: &OwnedFd) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    Ok(names)
}

fn open_directory(parent: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match fs::openat(parent, name, flags, Mode::empty()) {
        Err(Errno::NOTDIR | Errno::LOOP) => {
            Err(io::Error::other(format!("`{name}` in it is not a directory but a file or a link")))
        }
        other => Ok(other?),
    }
}

fn make_directory(parent: &OwnedFd, name: &str) -> io::Result<()> {
    match fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
        Err(Errno::EXIST) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Opens a regular file for reading, which is not a link and whose opening does not wait for anybody.
pub(crate) fn open_regular(directory: &OwnedFd, name: &str) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = fs::openat(directory, name, flags, Mode::empty()).map_err(|error| match error {
        Errno::LOOP => io::Error::other("it is a link, and nothing in a store is opened through a link"),
        other => other.into(),
    })?;
    if FileType::from_raw_mode(fs::fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file.into())
}

/// Makes a file for reading and appending, which must not be there yet.
pub(crate) fn create_new(directory: &OwnedFd, name: &str) -> io::Result<File> {
    let flags =
        OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(fs::openat(directory, name, flags, Mode::from_raw_mode(0o666))?.into())
}

pub(crate) fn remove(directory: &OwnedFd, name: &str) -> io::Result<()> {
    Ok(fs::unlinkat(directory, name, AtFlags::empty())?)
}

/// Writes a new file and gives it the name of the old one, if there is one: nobody sees half of it, and what a link with that
/// name points to stays as it is.
pub(crate) fn write_whole(directory: &OwnedFd, name: &str, bytes: &[u8]) -> io::Result<()> {
    let (unfinished, mut file) = Unfinished::create(directory)?;
    file.write_all(bytes)?;
    unfinished.replace(name)
}

/// Something that differs from call to call, from the standard library's own source.
pub(crate) fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}
