//! Files below a directory that is held open: opened, counted and removed relative to its descriptor, never by path.
//!
//! # Invariants
//! * A name is a single path component. No symbolic link is followed and no mount point is crossed: openat2(2) refuses
//!   both. Without openat2(2), `O_NOFOLLOW` and a comparison of device and mount have the same effect.
//! * Walking a tree keeps at most three descriptors open, however deep the tree is. The walk descends by name and
//!   ascends by `..`, and checks the identity of each directory that it reaches.
//! * Only directories that belong to the owner of the topmost one are entered. The owner of a directory may remove
//!   every name in it, so removal on behalf of another user destroys nothing that this user could not remove.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, StatxFlags, fstat, openat, openat2, statx,
};
use rustix::io::Errno;

/// Maximum number of passes over a tree that another process keeps filling.
const MOST_PASSES: u32 = 1000;
/// Maximum number of directory names remembered per level; the next pass handles the rest.
const MOST_NAMES: usize = 100_000;
/// Maximum number of entries examined to count bytes.
const MOST_COUNTED: u64 = 1_000_000;

/// Opens a directory only as the base of relative operations.
pub(crate) const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

/// Identity and attributes of the file behind a descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    device: (u32, u32),
    inode: u64,
    /// Mount ID; `None` before Linux 5.8.
    mount: Option<u64>,
    pub owner: u32,
    pub group: u32,
    /// Permission bits, including set-user-ID, set-group-ID and sticky.
    pub permissions: u32,
    pub kind: FileType,
    /// Number of hard links.
    pub links: u64,
}

impl Identity {
    /// # Errors
    /// The kernel's error.
    pub fn of(file: impl AsFd) -> io::Result<Self> {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
        let found = match statx(&file, c"", AtFlags::EMPTY_PATH, wanted) {
            Ok(found) => found,
            // An old kernel, or a sandbox that blocks the call.
            Err(Errno::NOSYS | Errno::PERM) => return Self::without_statx(file),
            Err(error) => return Err(error.into()),
        };
        let mode = u32::from(found.stx_mode);
        let has_mount = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID);
        Ok(Self {
            device: (found.stx_dev_major, found.stx_dev_minor),
            inode: found.stx_ino,
            mount: has_mount.then_some(found.stx_mnt_id),
            owner: found.stx_uid,
            group: found.stx_gid,
            permissions: mode & 0o7777,
            kind: FileType::from_raw_mode(mode),
            links: u64::from(found.stx_nlink),
        })
    }

    fn without_statx(file: impl AsFd) -> io::Result<Self> {
        let found = fstat(file)?;
        Ok(Self {
            device: (rustix::fs::major(found.st_dev), rustix::fs::minor(found.st_dev)),
            inode: found.st_ino,
            mount: None,
            owner: found.st_uid,
            group: found.st_gid,
            permissions: found.st_mode & 0o7777,
            kind: FileType::from_raw_mode(found.st_mode),
            links: found.st_nlink as u64,
        })
    }

    /// Identity of the entry with this name; a symbolic link is not followed.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn below(directory: impl AsFd, name: &CStr) -> io::Result<Self> {
        Self::of(open_below(directory, name, OFlags::PATH, Mode::empty())?)
    }

    /// True if both are the same file or directory.
    pub fn is(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// True if both are on the same filesystem and mount, as far as the kernel reports it.
    pub fn shares_mount_with(&self, other: &Self) -> bool {
        let mounts = self.mount.zip(other.mount);
        self.device == other.device && mounts.is_none_or(|(own, other)| own == other)
    }
}

/// Opens the entry with this name in a directory. The descriptor is closed on exec.
///
/// # Errors
/// The kernel's: `ELOOP` or `ENOTDIR` for a symbolic link, `EXDEV` for a mount point; `InvalidInput` if the name is not
/// a single path component.
pub(crate) fn open_below(
    directory: impl AsFd,
    name: &CStr,
    flags: OFlags,
    mode: Mode,
) -> io::Result<OwnedFd> {
    if matches!(name.to_bytes(), b"" | b"." | b"..") || name.to_bytes().contains(&b'/') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the name is not a single path component"));
    }
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let opened = if hooks::has_openat2() {
        openat2(&directory, name, flags, mode, resolve)
    } else {
        Err(Errno::NOSYS)
    };
    match opened {
        // A kernel before 5.6, or a sandbox that blocks the call.
        Err(Errno::NOSYS | Errno::PERM) => open_without_openat2(directory, name, flags, mode),
        opened => Ok(opened?),
    }
}

/// Creates a file; fails if the name exists.
pub(crate) fn new_file(directory: &OwnedFd, name: &CStr) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
    open_below(directory, name, flags, Mode::RUSR | Mode::WUSR).map(File::from)
}

fn open_without_openat2(directory: impl AsFd, name: &CStr, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    let file = openat(&directory, name, flags, mode)?;
    let (file_is, directory_is) = (Identity::of(&file)?, Identity::of(&directory)?);
    // Some filesystems give files a device number that differs from that of their directories.
    let is_one = match file_is.kind {
        FileType::Directory => file_is.shares_mount_with(&directory_is),
        _ => file_is.mount == directory_is.mount,
    };
    if is_one { Ok(file) } else { Err(Errno::XDEV.into()) }
}

/// The entries of a directory, even if it was opened with `O_PATH`.
///
/// # Errors
/// The kernel's error.
pub(crate) fn entries(directory: impl AsFd) -> io::Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(Dir::new(openat(directory, c".", flags, Mode::empty())?)?)
}

/// Removes everything that can be removed from a directory except the name `keep`, and adds 1 to `removed` for each
/// name.
///
/// # Errors
/// The error of the first entry that could not be removed: a mount point, a directory of another user, or the kernel's.
pub(crate) fn remove_below(directory: &OwnedFd, keep: &CStr, removed: &mut u64) -> io::Result<()> {
    for _ in 0..MOST_PASSES {
        let mut pass = Pass::default();
        let walked = remove_once(directory, keep, &mut pass);
        *removed += pass.removed;
        walked?;
        match pass {
            Pass { removed: 0, refused: None } => return Ok(()),
            Pass { removed: 0, refused: Some(error) } => return Err(error),
            _ => {}
        }
    }
    Err(io::Error::new(
        io::ErrorKind::DirectoryNotEmpty,
        "another process keeps creating files in it; stop that process first",
    ))
}

/// The result of one pass over a tree.
#[derive(Default)]
struct Pass {
    removed: u64,
    refused: Option<io::Error>,
}

impl Pass {
    fn refused(&mut self, error: io::Error) {
        if error.kind() != io::ErrorKind::NotFound {
            self.refused.get_or_insert(error);
        }
    }

    fn count(&mut self, removed: Result<(), Errno>) {
        match removed {
            Ok(()) => self.removed += 1,
            Err(Errno::BUSY) => self.refused(crossing()),
            Err(error) => self.refused(error.into()),
        }
    }
}

fn crossing() -> io::Error {
    io::Error::new(
        io::ErrorKind::CrossesDevices,
        "another filesystem is mounted in it; unmount that one first",
    )
}

fn remove_once(directory: &OwnedFd, keep: &CStr, pass: &mut Pass) -> io::Result<()> {
    let mut cursor = Cursor::at(directory)?;
    remove_files(&mut cursor, Some(keep), pass);
    loop {
        if let Some(name) = cursor.next_name() {
            match cursor.enter(name) {
                Ok(()) => remove_files(&mut cursor, None, pass),
                Err(error) => pass.refused(error),
            }
            continue;
        }
        let Some(emptied) = cursor.leave()? else { return Ok(()) };
        pass.count(rustix::fs::unlinkat(&cursor.here, &emptied, AtFlags::REMOVEDIR));
    }
}

/// Removes all names of a directory except those of non-empty directories, which it remembers.
fn remove_files(cursor: &mut Cursor, keep: Option<&CStr>, pass: &mut Pass) {
    let listed = cursor.each(|here, name, kind, deeper| {
        if Some(name) == keep {
            return true;
        }
        hooks::step("an entry");
        if kind != FileType::Directory {
            match rustix::fs::unlinkat(here, name, AtFlags::empty()) {
                // It has become a directory, or the filesystem does not report file types.
                Err(Errno::ISDIR | Errno::PERM) => {}
                removed => {
                    pass.count(removed);
                    return true;
                }
            }
        }
        match rustix::fs::unlinkat(here, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => deeper.push(name.to_owned()),
            removed => pass.count(removed),
        }
        deeper.len() < MOST_NAMES
    });
    listed.unwrap_or_else(|error| pass.refused(error));
}

/// Total size in bytes of at most a million files below a directory; a directory that cannot be entered counts as 0.
pub(crate) fn bytes_below(directory: &OwnedFd) -> u64 {
    let (mut bytes, mut examined) = (0, 0);
    let mut count = |cursor: &mut Cursor| {
        let _ = cursor.each(|here, name, _, deeper| {
            examined += 1;
            match rustix::fs::statat(here, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Directory => {
                    deeper.push(name.to_owned());
                }
                Ok(found) => bytes += u64::try_from(found.st_size).unwrap_or(0),
                Err(_) => {}
            }
            deeper.len() < MOST_NAMES && examined < MOST_COUNTED
        });
    };
    let Ok(mut cursor) = Cursor::at(directory) else { return 0 };
    count(&mut cursor);
    loop {
        if let Some(name) = cursor.next_name() {
            if cursor.enter(name).is_ok() {
                count(&mut cursor);
            }
        } else if !matches!(cursor.leave(), Ok(Some(_))) {
            return bytes;
        }
    }
}

/// Position in a tree: a directory, and the way back to the topmost one.
struct Cursor {
    here: OwnedFd,
    levels: Vec<Level>,
}

/// A directory that the walk has entered and not yet left.
struct Level {
    identity: Identity,
    /// Its name in the parent directory.
    name: CString,
    /// Its subdirectories that are not entered yet.
    deeper: Vec<CString>,
}

impl Cursor {
    fn at(directory: &OwnedFd) -> io::Result<Self> {
        let top = Level { identity: Identity::of(directory)?, name: CString::default(), deeper: Vec::new() };
        Ok(Self { here: directory.try_clone()?, levels: vec![top] })
    }

    /// The next directory to enter from here.
    fn next_name(&mut self) -> Option<CString> {
        self.levels.last_mut()?.deeper.pop()
    }

    /// Descends into a subdirectory.
    fn enter(&mut self, name: CString) -> io::Result<()> {
        hooks::step("a directory is entered");
        let below = match open_below(&self.here, &name, DIRECTORY, Mode::empty()) {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::XDEV) => return Err(crossing()),
            below => below?,
        };
        let (identity, top) = (Identity::of(&below)?, &self.levels[0].identity);
        if !identity.shares_mount_with(top) {
            return Err(crossing());
        }
        if identity.owner != top.owner {
            let why = "it contains a directory of another user; remove that directory first";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        self.here = below;
        self.levels.push(Level { identity, name, deeper: Vec::new() });
        Ok(())
    }

    /// Ascends, and returns the name of the directory it left; `None` at the top, where it stays.
    fn leave(&mut self) -> io::Result<Option<CString>> {
        if self.levels.len() == 1 {
            return Ok(None);
        }
        hooks::step("a directory is left");
        let flags = DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let above = openat(&self.here, c"..", flags, Mode::empty())?;
        let left = self.levels.pop().map(|level| level.name);
        let known = self.levels.last().map(|level| level.identity);
        let found = Identity::of(&above)?;
        if !known.is_some_and(|known| known.is(&found) && known.shares_mount_with(&found)) {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "a directory in it was moved during the removal; try again",
            ));
        }
        self.here = above;
        Ok(left)
    }

    /// Passes the entries of this directory to `take` until it returns false, each with its file type as far as the
    /// filesystem reports it. `take` adds to its last argument the directories to enter.
    fn each(
        &mut self,
        mut take: impl FnMut(BorrowedFd<'_>, &CStr, FileType, &mut Vec<CString>) -> bool,
    ) -> io::Result<()> {
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        let mut entries = entries(&self.here)?;
        while let Some(entry) = entries.read() {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            if !take(self.here.as_fd(), name, entry.file_type(), &mut level.deeper) {
                break;
            }
        }
        Ok(())
    }
}

/// The points at which a test can change the tree like another process. They do nothing outside this crate's tests.
pub(crate) mod hooks {
    #[cfg(not(test))]
    pub(crate) fn step(_: &'static str) {}

    #[cfg(not(test))]
    pub(crate) fn has_openat2() -> bool {
        true
    }

    #[cfg(test)]
    pub(crate) use for_tests::*;

    #[cfg(test)]
    mod for_tests {
        use std::cell::{Cell, RefCell};

        type Hook = Box<dyn FnMut(&'static str)>;

        thread_local! {
            static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
            static WITHOUT_OPENAT2: Cell<bool> = const { Cell::new(false) };
        }

        pub(crate) fn step(name: &'static str) {
            // Taken out during the call, so that the hook does not call itself.
            let hook = HOOK.with(|hook| hook.borrow_mut().take());
            if let Some(mut hook) = hook {
                hook(name);
                HOOK.with(|slot| {
                    slot.borrow_mut().get_or_insert(hook);
                });
            }
        }

        pub(crate) fn has_openat2() -> bool {
            !WITHOUT_OPENAT2.get()
        }

        /// Runs `work`, and calls `hook` at each step of this thread.
        pub(crate) fn with_hook<T>(hook: impl FnMut(&'static str) + 'static, work: impl FnOnce() -> T) -> T {
            HOOK.with(|slot| slot.replace(Some(Box::new(hook))));
            let result = work();
            HOOK.with(|slot| slot.replace(None));
            result
        }

        /// Runs `work` in this thread as on a kernel before 5.6, without openat2(2).
        pub(crate) fn without_openat2<T>(work: impl FnOnce() -> T) -> T {
            WITHOUT_OPENAT2.set(true);
            let result = work();
            WITHOUT_OPENAT2.set(false);
            result
        }
    }
}
