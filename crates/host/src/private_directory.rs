//! A run's own directory on a target or elsewhere, held by its descriptor from its making to its removal.
//!
//! # Invariants
//! * Both the directory and its parent are held. Everything in it is made, opened, listed and removed relative to its
//!   descriptor, so that whoever may rename it cannot lead that elsewhere; and it can be removed even where its filesystem was
//!   unmounted lazily in the meantime.
//! * Between making and opening it, another may have put something in its place: what was opened is used only if it belongs to
//!   this user, is closed to others, lies with its parent and is empty.
//! * Its name is removed only if it stands for the directory that is held.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::confined::{DIRECTORY, Identity, entries, hooks, open_below, remove_below};
use crate::leftovers::{Lock, MANIFEST, Manifest, lock_directory};
use crate::testfiles::{TestFileError, failed};

/// Private directories are called this and the run's id.
pub(crate) const PRIVATE_PREFIX: &str = ".lodestone-";
/// Tries to find a name that is free.
const MOST_NAMES: u32 = 1000;

/// A directory of a run's own, with a manifest that says whose it is and stays locked while it is in use. Removed with all its
/// content when dropped; if the process is killed, the next run or `lodestone clean` removes it.
#[derive(Debug)]
pub struct PrivateDirectory {
    held: Arc<Held>,
}

/// A private directory with all that removing it takes.
#[derive(Debug)]
pub(crate) struct Held {
    parent: OwnedFd,
    name: CString,
    pub directory: OwnedFd,
    /// Open and locked for as long as the directory is in use, by which others tell that it is.
    manifest: Mutex<Option<File>>,
}

impl PrivateDirectory {
    /// Makes the directory for the run with id `run` below `parent`.
    ///
    /// # Errors
    /// [`TestFileError`]: the kernel's refusal, or another user has replaced the directory.
    pub fn create(parent: &Path, run: &str) -> Result<Self, TestFileError> {
        let refused = failed("the private directory was refused");
        let parent = rustix::fs::openat(CWD, parent, DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        Self::create_in(parent.map_err(|error| refused(error.into()))?, run).map_err(refused)
    }

    /// Makes the directory below one that is open already.
    pub(crate) fn create_in(parent: OwnedFd, run: &str) -> io::Result<Self> {
        // What is not in the list yet would not be removed if the process had to end now.
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
    /// The kernel's, if this process has too many.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        self.held.directory.try_clone()
    }

    /// A path that leads other programs of this user into the directory, wherever it has been moved, for as long as this value
    /// lives.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.held.directory.as_raw_fd()).into()
    }

    /// A directory within, opened; for one job's small files.
    ///
    /// # Errors
    /// The kernel's.
    pub fn subdirectory(&self, name: &str) -> io::Result<OwnedFd> {
        match rustix::fs::mkdirat(&self.held.directory, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        open_below(&self.held.directory, &c_name(name)?, flags, Mode::empty())
    }

    /// A new file within, open for reading and writing.
    ///
    /// # Errors
    /// The kernel's, `AlreadyExists` if there is something of that name.
    pub fn file(&self, name: &str) -> io::Result<File> {
        new_file(&self.held.directory, &c_name(name)?)
    }

    /// Takes the name of a file within away.
    ///
    /// # Errors
    /// The kernel's.
    pub fn unlink(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.held.directory, name, AtFlags::empty())?)
    }

    /// Makes a new file with this content.
    ///
    /// # Errors
    /// The kernel's, `AlreadyExists` if there is something of that name.
    pub fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.file(name)?.write_all(content)
    }

    /// Makes a symbolic link to `to`, unless there is that very one.
    ///
    /// # Errors
    /// The kernel's, `AlreadyExists` if there is something else of that name.
    pub fn link(&self, name: &str, to: &Path) -> io::Result<()> {
        match rustix::fs::symlinkat(to, &self.held.directory, name) {
            Err(Errno::EXIST) => {
                let there = rustix::fs::readlinkat(&self.held.directory, name, Vec::new());
                let is_it = there.is_ok_and(|there| there.as_bytes() == to.as_os_str().as_bytes());
                if is_it { Ok(()) } else { Err(Errno::EXIST.into()) }
            }
            made => Ok(made?),
        }
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        // What resists, such as a device that has gone, is found again through the manifest.
        let _ = self.held.remove();
        living().retain(|other| !Arc::ptr_eq(other, &self.held));
    }
}

/// Makes a directory under a name that is free, and opens and locks it. The lock says that it is in use before there is a
/// manifest to say so.
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
            // A `clean` took it for an abandoned one.
            Err(error) if error.kind() == io::ErrorKind::NotFound && attempt < MOST_NAMES => continue,
            opened => opened.map_err(not_as_made)?,
        };
        is_as_made(parent, &directory)?;
        let is_taken =
            lock_directory(&directory) == Lock::HeldByAnother || Identity::of(&directory)?.names == 0;
        if !is_taken {
            return Ok((name, directory));
        }
        if attempt >= MOST_NAMES {
            return Err(Errno::EXIST.into());
        }
    }
}

fn exchanged() -> io::Error {
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        "another user has replaced the directory that was just created; choose a directory that only you can write to",
    )
}

/// Why the directory that was just made could not be opened.
fn not_as_made(error: io::Error) -> io::Error {
    match Errno::from_io_error(&error) {
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => exchanged(),
        _ => error,
    }
}

/// # Errors
/// It is not the directory that was just made, or others may get into it.
fn is_as_made(parent: &OwnedFd, directory: &OwnedFd) -> io::Result<()> {
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
    if is_ours && is_empty && own.lies_with(&above) { Ok(()) } else { Err(exchanged()) }
}

/// Filesystems of which another machine, or another program, decides what a file's owner is and who holds a lock.
const OF_SEVERAL_MACHINES: [u32; 6] = [
    0x6573_5546, // fuse
    0x6969,      // nfs
    0xff53_4d42, // cifs
    0xfe53_4d42, // smb2
    0x0102_1997, // 9p
    0x786f_4256, // vboxsf
];

/// Filesystems that do not keep what a file's owner and permissions are.
const WITHOUT_OWNERS: [u32; 5] = [
    0x4d44,      // msdos, vfat
    0x2011_bab0, // exfat
    0x5346_544e, // ntfs
    0x7366_746e, // ntfs3
    0x4244,      // hfs
];

fn is_kind(directory: impl AsFd, kinds: &[u32]) -> bool {
    let kind = rustix::fs::fstatfs(directory).map(|space| space.f_type as u32);
    kind.is_ok_and(|kind| kinds.contains(&kind))
}

/// True where the owner of a file is whoever mounted the filesystem, or a stand-in for root. On these, who may exchange a
/// directory may also remove what is in it.
pub(crate) fn is_without_owners(directory: impl AsFd) -> bool {
    is_kind(&directory, &WITHOUT_OWNERS) || is_of_several_machines(directory)
}

/// True where several machines may see a directory, and none the locks that another holds on it: these filesystems pass on only
/// the locks of files.
pub(crate) fn is_of_several_machines(directory: impl AsFd) -> bool {
    is_kind(directory, &OF_SEVERAL_MACHINES)
}

pub(crate) fn c_name(name: &str) -> io::Result<CString> {
    CString::new(name).map_err(io::Error::from)
}

/// A file that was not there before.
pub(crate) fn new_file(directory: &OwnedFd, name: &CStr) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
    open_below(directory, name, flags, Mode::RUSR | Mode::WUSR).map(File::from)
}

impl Held {
    /// A directory that was left over, with its manifest open and locked, or without one but locked itself.
    pub fn leftover(parent: OwnedFd, name: CString, directory: OwnedFd, manifest: Option<File>) -> Self {
        Self { parent, name, directory, manifest: Mutex::new(manifest) }
    }

    fn manifest(&self) -> MutexGuard<'_, Option<File>> {
        self.manifest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the directory with everything in it. It stays locked until nothing but its empty self remains. The manifest
    /// goes last, by which the rest is found again if this does not come to its end, and is closed before the directory goes:
    /// NFS keeps a removed file under another name for as long as it is open.
    ///
    /// # Errors
    /// The kernel's; `NotFound` if its manifest or its name now stands for something else, which is left alone.
    pub fn remove(&self) -> io::Result<()> {
        self.remove_counting(&mut 0)
    }

    /// The same, which adds to `removed` for each name that is removed.
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

    /// True if it no longer has a name.
    fn is_gone(&self) -> bool {
        Identity::of(&self.directory).is_ok_and(|own| own.names == 0)
    }

    /// Removes the name of the empty directory, even if it has been renamed.
    fn remove_name(&self) -> io::Result<()> {
        let own = Identity::of(&self.directory)?;
        if own.names == 0 {
            return Ok(());
        }
        let stands_for_it = |name: &CStr| Identity::below(&self.parent, name).is_ok_and(|at| at.is(&own));
        let name = if stands_for_it(&self.name) {
            Some(self.name.clone())
        } else {
            // Only root could have moved it to another directory: that takes permission to write to it.
            let mut entries = entries(&self.parent)?;
            let names = std::iter::from_fn(|| entries.read()).flatten();
            let mut directories = names.filter(|e| {
                matches!(e.file_type(), FileType::Directory | FileType::Unknown)
                    && !matches!(e.file_name().to_bytes(), b"." | b"..")
            });
            directories.find(|e| stands_for_it(e.file_name())).map(|e| e.file_name().to_owned())
        };
        let why = "another process moved it; it is now empty, and remains under its new name";
        let name = name.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, why))?;
        hooks::step("the name is found");
        Ok(rustix::fs::unlinkat(&self.parent, &name, AtFlags::REMOVEDIR)?)
    }
}

/// The private directories that this process has made and not yet removed.
fn living() -> MutexGuard<'static, Vec<Arc<Held>>> {
    static LIVING: Mutex<Vec<Arc<Held>>> = Mutex::new(Vec::new());
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all private directories of this process, for when it must end without unwinding. Workers may still be
/// making files in them or have some open, so each is tried until it is gone, or until nothing could be removed for as long as
/// workers are given to end (`patience`): what then resists, such as a mount or a filesystem that has become read-only, is left
/// to `clean`.
pub fn remove_private_directories(patience: Duration) {
    remove_all(&mut living(), patience);
}

fn remove_all(living: &mut Vec<Arc<Held>>, patience: Duration) {
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
        if living.is_empty() || last_progress.elapsed() >= patience {
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

    /// A second Ctrl-C hung where something in a private directory could not be removed.
    #[test]
    fn removal_gives_up_on_one_directory_and_finishes_the_others() {
        let parent = tempfile::tempdir().unwrap();
        let [resists, gone] = ["a", "b"].map(|run| PrivateDirectory::create(parent.path(), run).unwrap());
        for private in [&resists, &gone] {
            private.subdirectory("below").unwrap();
            private.write("data0", b"x").unwrap();
            fs::write(private.path().join("below/kept"), "x").unwrap();
        }
        let below = resists.path().join("below");
        // Root leaves a directory of another user alone; anybody else may not write to this one.
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
