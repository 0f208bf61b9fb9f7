//! Scratch directory for what a run passes to other programs: job files, and names for unnamed test files. It must be
//! in a directory that only this user can write to, never in a target's directory: a file that another user put there
//! would be executed or overwritten.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::confined::{DIRECTORY, Identity};
use crate::private_directory::{PrivateDirectory, TestFileError, failed};
use crate::writers::writers_of;

/// The user's runtime directory, which only the user can write to; `None` without one.
pub fn runtime_directory() -> Option<PathBuf> {
    std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Parent directories that [`create`] tries, the best first: the user's runtime directory, the store, and the directory
/// for temporary files. Any of them may hold leftovers of killed runs.
pub fn parents(store: &Path) -> Vec<PathBuf> {
    runtime_directory().into_iter().chain([store.to_owned(), std::env::temp_dir()]).collect()
}

/// Creates a private directory in the first of `parents` in which no other user can replace it.
///
/// # Errors
/// [`TestFileError`] of the last one.
pub fn create(parents: &[PathBuf], run: &str) -> Result<PrivateDirectory, TestFileError> {
    let mut why = io::Error::from(io::ErrorKind::NotFound);
    for parent in parents {
        match trusted(parent).and_then(|parent| PrivateDirectory::create_in(parent, run)) {
            Ok(made) => return Ok(made),
            Err(error) => why = error,
        }
    }
    Err(failed("cannot create a scratch directory: no candidate directory is writable only by this user")(
        why,
    ))
}

/// Opens a directory in which no other user may rename this user's files.
fn trusted(path: &Path) -> io::Result<OwnedFd> {
    let directory = openat(CWD, path, DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    match writers_of(&Identity::of(&directory)?) {
        None => Ok(directory),
        Some(who) => {
            Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{}: {who}", path.display())))
        }
    }
}
