//! Temporary files that replace a file when they are complete.
//!
//! # Invariants
//! * No reader sees a partial file: it gets its final name when it is complete.
//! * The file is locked while it is being written. An unlocked one is a leftover of a killed program, and [`sweep`]
//!   removes it, whatever machine or namespace that program ran in. On a filesystem without locks such leftovers stay.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{self, AtFlags, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::below::{create_new, names_in, open_regular, random, remove};

/// Prefix of a temporary file's name.
pub(crate) const PREFIX: &str = ".lodestone-";
/// Number of digits after the prefix.
const DIGITS: usize = 16;

/// A temporary file's name. Dropping the value removes the file unless it has its final name.
#[derive(Debug)]
pub struct Unfinished<'a> {
    directory: &'a OwnedFd,
    name: String,
}

impl<'a> Unfinished<'a> {
    /// Creates an empty file for reading and appending. It stays locked while it is open.
    ///
    /// # Errors
    /// An I/O error.
    pub fn create(directory: &'a OwnedFd) -> io::Result<(Self, File)> {
        loop {
            let mut made = None;
            let unfinished = Self::named(directory, |name| {
                made = Some(create_new(directory, name)?);
                Ok(())
            })?;
            let Some(file) = made else { continue };
            // A concurrent sweep may have removed the file before the lock.
            if lock(&file) && fs::fstat(&file)?.st_nlink > 0 {
                return Ok((unfinished, file));
            }
        }
    }

    /// Locks an unnamed file and gives it a temporary name.
    ///
    /// # Errors
    /// An error of `link`.
    pub fn link(
        directory: &'a OwnedFd,
        file: &OwnedFd,
        link: impl FnMut(&str) -> io::Result<()>,
    ) -> io::Result<Self> {
        lock(file);
        Self::named(directory, link)
    }

    /// Tries random names until `make` succeeds with one.
    fn named(directory: &'a OwnedFd, mut make: impl FnMut(&str) -> io::Result<()>) -> io::Result<Self> {
        loop {
            let name = format!("{PREFIX}{:0DIGITS$x}", random());
            match make(&name) {
                Ok(()) => return Ok(Self { directory, name }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Gives the file its final name and replaces an existing file.
    ///
    /// # Errors
    /// An I/O error.
    pub fn replace(self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(fs::renameat(self.directory, &self.name, self.directory, name.as_ref())?)
    }

    /// Gives the file its final name.
    ///
    /// # Errors
    /// `EEXIST` if the name exists, or another I/O error.
    pub fn take(self, name: impl AsRef<OsStr>) -> io::Result<()> {
        let (directory, name) = (self.directory, name.as_ref());
        match fs::renameat_with(directory, &self.name, directory, name, RenameFlags::NOREPLACE) {
            // NFS does not support this flag; a hard link fails in the same way if the name exists.
            Err(Errno::INVAL | Errno::NOSYS) => {
                Ok(fs::linkat(directory, &self.name, directory, name, AtFlags::empty())?)
            }
            result => Ok(result?),
        }
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let _ = remove(self.directory, &self.name);
    }
}

/// False if another open file holds the lock.
fn lock(file: impl AsFd) -> bool {
    fs::flock(file, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK)
}

/// Removes this user's leftovers of killed programs from the directory.
pub fn sweep(directory: &OwnedFd) {
    // The descriptor may be `O_PATH`, which cannot list entries.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(directory) = fs::openat(directory, ".", flags, Mode::empty()) else { return };
    for name in names_in(&directory).unwrap_or_default() {
        let digits = name.strip_prefix(PREFIX).unwrap_or_default();
        if digits.len() == DIGITS
            && digits.bytes().all(|b| b.is_ascii_hexdigit())
            && let Ok(file) = open_regular(&directory, &name)
            && fs::fstat(&file).is_ok_and(|stat| stat.st_uid == geteuid().as_raw())
            && fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
        {
            let _ = remove(&directory, &name);
        }
    }
}
