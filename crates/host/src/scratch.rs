//! Where a run keeps what it gives to other programs: job files, and names for test files that have none. That must lie where
//! only this user can write, never in a target's directory: what another user could put in its place would be executed or
//! overwritten.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::confined::{DIRECTORY, Identity};
use crate::private_directory::PrivateDirectory;
use crate::testfiles::{TestFileError, failed};
use crate::writers::writers_of;

/// The user's runtime directory, which only the user can write to, where there is one.
pub fn runtime_directory() -> Option<PathBuf> {
    std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Directories in which [`create`] tries to make one, the best first: the user's runtime directory, the store, and where
/// temporary files are. Killed runs may have left theirs in any of them.
pub fn parents(store: &Path) -> Vec<PathBuf> {
    runtime_directory().into_iter().chain([store.to_owned(), std::env::temp_dir()]).collect()
}

/// Makes a private directory in the first of `parents` in which nobody else can exchange it.
///
/// # Errors
/// [`TestFileError`] of the last of them.
pub fn create(parents: &[PathBuf], run: &str) -> Result<PrivateDirectory, TestFileError> {
    let mut why = io::Error::from(io::ErrorKind::NotFound);
    for parent in parents {
        match trusted(parent).and_then(|parent| PrivateDirectory::create_in(parent, run)) {
            Ok(made) => return Ok(made),
            Err(error) => why = error,
        }
    }
    Err(
        failed("found no directory that only this user can write to, for the files that other programs read")(
            why,
        ),
    )
}

/// Opens a directory in which no other user may rename what is this user's.
fn trusted(path: &Path) -> io::Result<OwnedFd> {
    let directory = openat(CWD, path, DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    match writers_of(&Identity::of(&directory)?) {
        None => Ok(directory),
        Some(who) => {
            Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{}: {who}", path.display())))
        }
    }
}
