//! A fallback location for a log that cannot be written to its store.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use model::{Event, RunStarted};
use rustix::fs::{self, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::below::{create_new, random, remove};
use crate::log::LogWriter;
use crate::store::log_name;

/// Creates a file of this name in a new private directory, in the first of these locations that is safe and in which
/// `fill` succeeds. Returns the path and what `fill` returned.
///
/// # Errors
/// The error of the last location, or that there is none.
fn in_first<T>(
    locations: &[PathBuf],
    name: &str,
    mut fill: impl FnMut(File, &Path) -> io::Result<T>,
) -> io::Result<(PathBuf, T)> {
    let mut last = io::Error::other("there is no fallback location");
    for location in locations {
        match in_location(location, name, &mut fill) {
            Ok(made) => return Ok(made),
            Err(error) => last = io::Error::new(error.kind(), format!("{}: {error}", location.display())),
        }
    }
    Err(last)
}

fn in_location<T>(
    location: &Path,
    name: &str,
    fill: &mut impl FnMut(File, &Path) -> io::Result<T>,
) -> io::Result<(PathBuf, T)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = fs::open(location, flags, Mode::empty())?;
    if !is_safe(&fs::fstat(&parent)?) {
        return Err(io::Error::other("other users can replace files in this directory"));
    }
    let own = format!("lodestone-{:016x}", random());
    fs::mkdirat(&parent, &own, Mode::RWXU)?;
    let mut filled = || -> io::Result<(PathBuf, T)> {
        let directory = fs::openat(&parent, &own, flags | OFlags::NOFOLLOW, Mode::empty())?;
        let made = fs::fstat(&directory)?;
        if made.st_uid != geteuid().as_raw() || made.st_mode & 0o077 != 0 {
            return Err(io::Error::other("another user can access the new directory"));
        }
        let path = location.join(&own).join(name);
        let file = create_new(&directory, name)?;
        let filled = fill(file, &path);
        if filled.is_err() {
            let _ = remove(&directory, name);
        }
        Ok((path, filled?))
    };
    let filled = filled();
    if filled.is_err() {
        let _ = fs::unlinkat(&parent, &own, fs::AtFlags::REMOVEDIR);
    }
    filled
}

/// True for a directory in which no other user can rename this user's files: this user or root owns it, and it is not
/// writable by others or has the sticky bit.
fn is_safe(directory: &Stat) -> bool {
    let is_own = directory.st_uid == geteuid().as_raw() || directory.st_uid == 0;
    let mode = directory.st_mode;
    let others_write = mode & 0o022 != 0;
    FileType::from_raw_mode(mode) == FileType::Directory && is_own && (!others_write || mode & 0o1000 != 0)
}

/// Begins the log of a run in the first of these locations that has space for it.
///
/// # Errors
/// The error of the last location, if none of them can take the log.
pub fn begin_elsewhere(locations: &[PathBuf], started: &RunStarted, bytes: u64) -> io::Result<LogWriter> {
    let (_, writer) = in_first(locations, &log_name(started), |file, path| {
        let mut writer = LogWriter::new(file, path);
        writer.reserve(bytes)?;
        writer.append(&Event::RunStarted(Box::new(started.clone())))?;
        Ok(writer)
    })?;
    Ok(writer)
}

impl LogWriter {
    /// Writes the whole log, including the events that could not be written to the store, to the first of these
    /// locations that can take it, and returns its path.
    ///
    /// # Errors
    /// The error of the last location, if none of them can take the log.
    pub fn save_elsewhere(&mut self, locations: &[PathBuf]) -> io::Result<PathBuf> {
        let name = self.path().file_name().and_then(|name| name.to_str()).ok_or(Errno::INVAL)?.to_owned();
        let (path, ()) = in_first(locations, &name, |mut file, _| {
            self.copy_to(&mut file)?;
            file.sync_all()
        })?;
        Ok(path)
    }
}
