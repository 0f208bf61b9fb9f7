//! A run's own directory on a target or elsewhere, held open from its creation to its removal.
//!
//! # Invariants
//! * Both the directory and its parent are held open. Everything in it is created, opened, listed and removed relative
//!   to its descriptor, so a user who can rename it cannot redirect these operations. It can be removed even after a
//!   lazy unmount of its filesystem.
//! * Between its creation and its opening, another user may replace it: the opened directory is used only if it belongs
//!   to this user, denies access to others, is on the same mount as its parent and is empty.
//! * Its name is removed only if that name still refers to the directory that is held.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::confined::{DIRECTORY, Identity, entries, hooks, new_file, open_below, remove_below};
use crate::manifest::{Lock, MANIFEST, Manifest, lock_directory};
use crate::shared_filesystems::is_without_owners;

/// Why test files could not be created.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
pub struct TestFileError {
    what: &'static str,
    source: io::Error,
}

impl TestFileError {
    /// The kernel's answer.
    pub fn into_source(self) -> io::Error {
        self.source
    }
}

pub(crate) fn failed(what: &'static str) -> impl Fn(io::Error) -> TestFileError {
    move |source| TestFileError { what, source }
}

/// Prefix of the name of a private directory; the run's id follows.
pub(crate) const PRIVATE_PREFIX: &str = ".lodestone-";
/// Maximum number of attempts to find a free name.
const MOST_NAMES: u32 = 1000;

/// A run's own directory, with a manifest that names its owner and stays locked while the directory is in use. It is
/// removed with all its content when dropped; if the process is killed, the next run or `lodestone clean` removes it.
#[derive(Debug)]
pub struct PrivateDirectory {
    held: Arc<Held>,
}

/// A private directory with everything that its removal needs.
#[derive(Debug)]
pub(crate) struct Held {
    parent: OwnedFd,
    name: CString,
    pub directory: OwnedFd,
    /// Open and locked while the directory is in use; the lock shows other processes that it is.
    manifest: Mutex<Option<File>>,
}

impl PrivateDirectory {
    /// Creates the directory for the run with id `run` below `parent`.
    ///
    /// # Errors
    /// [`TestFileError`]: the kernel's error, or another user has replaced the directory.
    pub fn create(parent: &Path, run: &str) -> Result<Self, TestFileError> {
        let refused = failed("cannot create a private directory");
        let parent = rustix::fs::openat(CWD, parent, DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        Self::create_in(parent.map_err(|error| refused(error.into()))?, run).map_err(refused)
    }

    /// Creates the directory below an open one.
    pub(crate) fn create_in(parent: OwnedFd, run: &str) -> io::Result<Self> {
        // Lock the list first: if the process ended now, a directory that is not in the list would remain.
        let mut living = living();
        let (name, directory) = make(&parent, run)?;
        let held = Arc::new(Held { parent, name, directory, manifest: Mutex::new(None) });
        living.push(Arc::clone(&held));
        drop(living);
        hooks::step("the directory is held");
        let private = Self { held };
        let manifest = Manifest::of_this_process(run).write(&private.held.directory)?;
        *private.held.manifest() = Some(manifest);
        hooks::step("the manifest is written");
        Ok(private)
    }

    /// Another descriptor of the directory.
    ///
    /// # Errors
    /// The kernel's, if this process has too many open descriptors.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        self.held.directory.try_clone()
    }

    /// A path by which other programs of this user reach the directory, even after it was moved. It is valid for the
    /// lifetime of this value.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.held.directory.as_raw_fd()).into()
    }

    /// Creates and opens a subdirectory; for the small files of one job.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn subdirectory(&self, name: &str) -> io::Result<OwnedFd> {
        match rustix::fs::mkdirat(&self.held.directory, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        open_below(&self.held.directory, &c_name(name)?, flags, Mode::empty())
    }

    /// Creates a file in it, open for reading and writing.
    ///
    /// # Errors
    /// The kernel's; `AlreadyExists` if the name exists.
    pub fn file(&self, name: &str) -> io::Result<File> {
        new_file(&self.held.directory, &c_name(name)?)
    }

    /// Removes the name of a file in it.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn unlink(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.held.directory, name, AtFlags::empty())?)
    }

    /// Creates a file with this content.
    ///
    /// # Errors
    /// The kernel's; `AlreadyExists` if the name exists.
    pub fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.file(name)?.write_all(content)
    }

    /// Creates a symbolic link to `to`, unless the same link exists already.
    ///
    /// # Errors
    /// The kernel's; `AlreadyExists` if the name exists and is not the same link.
    pub fn link(&self, name: &str, to: &Path) -> io::Result<()> {
        match rustix::fs::symlinkat(to, &self.held.directory, name) {
            Err(Errno::EXIST) => {
                let found = rustix::fs::readlinkat(&self.held.directory, name, Vec::new());
                let is_same = found.is_ok_and(|found| found.as_bytes() == to.as_os_str().as_bytes());
                if is_same { Ok(()) } else { Err(Errno::EXIST.into()) }
            }
            made => Ok(made?),
        }
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        // If the removal fails, for example because the device has gone, the manifest makes the directory found again.
        let _ = self.held.remove();
        living().retain(|other| !Arc::ptr_eq(other, &self.held));
    }
}

/// Creates a directory with a free name, and opens and locks it. The lock shows that it is in use before there is a
/// manifest.
fn make(parent: &OwnedFd, run: &str) -> io::Result<(CString, OwnedFd)> {
    let mut attempt = 0;
    loop {
        let name = c_name(&format!("{PRIVATE_PREFIX}{run}-{}-{attempt}", std::process::id()))?;
        attempt += 1;
        match rustix::fs::mkdirat(parent, &name, Mode::RWXU) {
            Ok(()) => {}
            Err(Errno::EXIST) if attempt < MOST_NAMES => continue,
            Err(error) => return Err(error.into()),
        }
        hooks::step("the directory is made");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let directory = match open_below(parent, &name, flags, Mode::empty()) {
            // A concurrent clean has removed it as unfinished.
            Err(error) if error.kind() == io::ErrorKind::NotFound && attempt < MOST_NAMES => continue,
            opened => opened.map_err(why_not_opened)?,
        };
        check_created(parent, &directory)?;
        let is_lost =
            lock_directory(&directory) == Lock::HeldByAnother || Identity::of(&directory)?.links == 0;
        if !is_lost {
            return Ok((name, directory));
        }
        if attempt >= MOST_NAMES {
            return Err(Errno::EXIST.into());
        }
    }
}

fn replaced() -> io::Error {
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        "another user has replaced the directory that Lodestone just created; use a directory writable only by you",
    )
}

/// Why the directory that was just created could not be opened.
fn why_not_opened(error: io::Error) -> io::Error {
    match Errno::from_io_error(&error) {
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => replaced(),
        _ => error,
    }
}

/// # Errors
/// It is not the directory that was just created, or other users have access to it.
fn check_created(parent: &OwnedFd, directory: &OwnedFd) -> io::Result<()> {
    let (own, above) = (Identity::of(directory)?, Identity::of(parent)?);
    let is_closed = own.owner == rustix::process::geteuid().as_raw() && own.permissions & 0o077 == 0;
    let mut entries = entries(directory)?;
    let is_dots = |name: &CStr| matches!(name.to_bytes(), b"." | b"..");
    let is_empty = loop {
        match entries.read() {
            None => break true,
            Some(entry) if is_dots(entry.as_ref().map_err(|e| *e)?.file_name()) => {}
            Some(_) => break false,
        }
    };
    let is_ours = is_closed || is_without_owners(directory);
    if is_ours && is_empty && own.shares_mount_with(&above) { Ok(()) } else { Err(replaced()) }
}

pub(crate) fn c_name(name: &str) -> io::Result<CString> {
    CString::new(name).map_err(io::Error::from)
}

impl Held {
    /// A leftover directory, with its manifest open and locked; or without a manifest, but locked itself.
    pub fn leftover(parent: OwnedFd, name: CString, directory: OwnedFd, manifest: Option<File>) -> Self {
        Self { parent, name, directory, manifest: Mutex::new(manifest) }
    }

    fn manifest(&self) -> MutexGuard<'_, Option<File>> {
        self.manifest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the directory with everything in it. It stays locked until only the empty directory remains. The
    /// manifest goes last, so that an interrupted removal is found again. It is closed before the directory is removed:
    /// NFS keeps a removed file under another name while it is open.
    ///
    /// # Errors
    /// The kernel's; `NotFound` if its manifest or its name now refers to something else, which stays unchanged.
    pub fn remove(&self) -> io::Result<()> {
        self.remove_counting(&mut 0)
    }

    /// The same; adds 1 to `removed` for each name that it removes.
    fn remove_counting(&self, removed: &mut u64) -> io::Result<()> {
        let mut manifest = self.manifest();
        hooks::step("removal begins");
        if self.is_gone() {
            return Ok(());
        }
        remove_below(&self.directory, MANIFEST, removed)?;
        hooks::step("the directory is empty");
        match Identity::below(&self.directory, MANIFEST) {
            Ok(found) => {
                let locked = manifest.as_ref().map(Identity::of).transpose()?;
                if locked.is_some_and(|locked| !locked.is(&found)) {
                    let why = "its manifest was replaced by another file; remove the directory by hand";
                    return Err(io::Error::new(io::ErrorKind::NotFound, why));
                }
                hooks::step("the manifest is compared");
                rustix::fs::unlinkat(&self.directory, MANIFEST, AtFlags::empty())?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        *manifest = None;
        hooks::step("the manifest is removed");
        self.remove_name()
    }

    /// True if it has no name left.
    fn is_gone(&self) -> bool {
        Identity::of(&self.directory).is_ok_and(|own| own.links == 0)
    }

    /// Removes the name of the empty directory, even if it was renamed.
    fn remove_name(&self) -> io::Result<()> {
        let own = Identity::of(&self.directory)?;
        if own.links == 0 {
            return Ok(());
        }
        let is_this = |name: &CStr| Identity::below(&self.parent, name).is_ok_and(|at| at.is(&own));
        let name = if is_this(&self.name) {
            Some(self.name.clone())
        } else {
            // Search only the parent: only root can move it elsewhere, because that takes write permission to it.
            let mut entries = entries(&self.parent)?;
            let names = std::iter::from_fn(|| entries.read()).flatten();
            let mut directories = names.filter(|e| {
                matches!(e.file_type(), FileType::Directory | FileType::Unknown)
                    && !matches!(e.file_name().to_bytes(), b"." | b"..")
            });
            directories.find(|e| is_this(e.file_name())).map(|e| e.file_name().to_owned())
        };
        let why = "it was moved elsewhere; it is now empty, and you can remove it there";
        let name = name.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, why))?;
        hooks::step("the name is found");
        Ok(rustix::fs::unlinkat(&self.parent, &name, AtFlags::REMOVEDIR)?)
    }
}

/// The private directories that this process has created and not yet removed.
fn living() -> MutexGuard<'static, Vec<Arc<Held>>> {
    static LIVING: Mutex<Vec<Arc<Held>>> = Mutex::new(Vec::new());
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all private directories of this process when it must end without unwinding. Workers may still create files
/// in them or have files open, so the removal is retried until all directories are gone, or until no name was removed
/// for `timeout`. What then remains, for example because of a mount or a filesystem that has become read-only, is left
/// to `clean`.
pub fn remove_private_directories(timeout: Duration) {
    remove_all(&mut living(), timeout);
}

fn remove_all(living: &mut Vec<Arc<Held>>, timeout: Duration) {
    let mut last_progress = Instant::now();
    loop {
        let mut removed = 0;
        living.retain(|own| match own.remove_counting(&mut removed) {
            Ok(()) => false,
            Err(error) => error.kind() != io::ErrorKind::NotFound && !own.is_gone(),
        });
        if removed > 0 {
            last_progress = Instant::now();
        }
        if living.is_empty() || last_progress.elapsed() >= timeout {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown};

    /// A second Ctrl-C used to hang if something in a private directory could not be removed.
    #[test]
    fn a_failed_removal_does_not_stop_the_rest() {
        let parent = tempfile::tempdir().unwrap();
        let [resists, gone] = ["a", "b"].map(|run| PrivateDirectory::create(parent.path(), run).unwrap());
        for private in [&resists, &gone] {
            private.subdirectory("below").unwrap();
            private.write("data0", b"x").unwrap();
            fs::write(private.path().join("below/kept"), "x").unwrap();
        }
        let below = resists.path().join("below");
        // Root does not enter a directory of another user; any other user has no write permission to this one.
        let is_root = chown(&below, Some(54_321), None).is_ok();
        if !is_root && crate::is_root() {
            return crate::testing::skipped("root without other users");
        }
        fs::set_permissions(&below, fs::Permissions::from_mode(0o500)).unwrap();
        let mut living = [&resists, &gone].map(|private| Arc::clone(&private.held)).to_vec();
        remove_all(&mut living, Duration::ZERO);
        assert_eq!(living.len(), 1);
        assert!(Arc::ptr_eq(&living[0], &resists.held) && gone.held.is_gone());
        assert!(below.join("kept").exists() && !resists.path().join("data0").exists());
        if is_root {
            chown(&below, Some(0), None).unwrap();
        }
        fs::set_permissions(&below, fs::Permissions::from_mode(0o700)).unwrap();
        remove_all(&mut living, Duration::ZERO);
        assert!(living.is_empty());
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
