//! New files beside those that they are to replace.
//!
//! # Invariants
//! * Nobody sees half of a file: it gets its name when it is whole.
//! * While it is written it is locked. By that it differs from what a killed program left, which [`sweep`] removes,
//!   whatever machine or namespace the program was in. Where there are no locks such files stay.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{self, AtFlags, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::directory::{create_new, names_in, open_regular, random, remove};

/// How the names of such files begin.
pub(crate) const PREFIX: &str = ".lodestone-";
/// Digits behind it.
const DIGITS: usize = 16;

/// The name of such a file, which is removed with the value unless the file has got its own name.
#[derive(Debug)]
pub struct Unfinished<'a> {
    directory: &'a OwnedFd,
    name: String,
}

impl<'a> Unfinished<'a> {
    /// Makes an empty file, for reading and appending. It stays locked as long as it is open.
    ///
    /// # Errors
    /// The kernel's.
    pub fn create(directory: &'a OwnedFd) -> io::Result<(Self, File)> {
        loop {
            let mut made = None;
            let unfinished = Self::named(directory, |name| {
                made = Some(create_new(directory, name)?);
                Ok(())
            })?;
            let Some(file) = made else { continue };
            // Somebody who sweeps may have come first.
            if lock(&file) && fs::fstat(&file)?.st_nlink > 0 {
                return Ok((unfinished, file));
            }
        }
    }

    /// Locks a file that has no name, and gives it one.
    ///
    /// # Errors
    /// Those of `link`.
    pub fn link(
        directory: &'a OwnedFd,
        file: &OwnedFd,
        link: impl FnMut(&str) -> io::Result<()>,
    ) -> io::Result<Self> {
        lock(file);
        Self::named(directory, link)
    }

    /// Takes the first free name that `make` can have.
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

    /// Gives the file this name; what has it loses it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn replace(self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(fs::renameat(self.directory, &self.name, self.directory, name.as_ref())?)
    }

    /// Gives the file this name.
    ///
    /// # Errors
    /// `EXIST` if something has it, or the kernel's.
    pub fn take(self, name: impl AsRef<OsStr>) -> io::Result<()> {
        let (directory, name) = (self.directory, name.as_ref());
        match fs::renameat_with(directory, &self.name, directory, name, RenameFlags::NOREPLACE) {
            // NFS cannot rename so; a second name fails just as well where there is one already.
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

/// False if somebody else has the lock.
fn lock(file: impl AsFd) -> bool {
    fs::flock(file, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK)
}

/// Removes this user's files that were being written in the directory when their program was killed.
pub fn sweep(directory: &OwnedFd) {
    // It may be open only as a place to start from.
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
