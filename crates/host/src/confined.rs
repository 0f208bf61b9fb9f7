//! Files below a held directory: opened, counted and removed relative to its descriptor, never by a path.
//!
//! # Invariants
//! * A name is a single component. No symbolic link is followed, and no mount is entered: openat2(2) refuses both; where it is
//!   missing, `O_NOFOLLOW` and a comparison of device and mount do.
//! * Work on a tree has three descriptors open at most, however deep the tree is: it goes down by a name and up by `..`, and
//!   both ways it compares what it has come to with what it knows.
//! * Only directories of the user who owns the topmost one are entered. Whoever owns a directory may remove every name in it
//!   himself, so that removing on behalf of another user destroys nothing that this user could not.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, StatxFlags, fstat, openat, openat2, statx,
};
use rustix::io::Errno;

/// Most passes over a tree that another process keeps filling.
const MOST_PASSES: u32 = 1000;
/// Most directory names that are kept for one level; the next pass takes the others.
const MOST_NAMES: usize = 100_000;
/// Most entries that are visited to count bytes.
const MOST_COUNTED: u64 = 1_000_000;

/// Opens a directory only to work relative to it.
pub(crate) const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

/// The file or directory behind a descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    device: (u32, u32),
    inode: u64,
    /// Number of the mount; `None` before Linux 5.8.
    mount: Option<u64>,
    pub owner: u32,
    pub group: u32,
    /// Permission bits, with set-id and sticky.
    pub permissions: u32,
    pub kind: FileType,
    /// Names that it has.
    pub names: u64,
}

impl Identity {
    /// # Errors
    /// The kernel's.
    pub fn of(file: impl AsFd) -> io::Result<Self> {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
        let found = match statx(&file, c"", AtFlags::EMPTY_PATH, wanted) {
            Ok(found) => found,
            // An old kernel, or a sandbox that does not know the call.
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
            names: u64::from(found.stx_nlink),
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
            names: found.st_nlink as u64,
        })
    }

    /// The entry with this name; a symbolic link itself, not its target.
    ///
    /// # Errors
    /// The kernel's.
    pub fn below(directory: impl AsFd, name: &CStr) -> io::Result<Self> {
        Self::of(open_below(directory, name, OFlags::PATH, Mode::empty())?)
    }

    /// True if both are the same file or directory.
    pub fn is(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// True if both lie on one filesystem under one mount, as far as that can be known.
    pub fn lies_with(&self, other: &Self) -> bool {
        let mounts = self.mount.zip(other.mount);
        self.device == other.device && mounts.is_none_or(|(own, other)| own == other)
    }
}

/// Opens an entry of a directory. The descriptor is closed when another program is started.
///
/// # Errors
/// The kernel's: `ELOOP` or `ENOTDIR` for a symbolic link, `EXDEV` for a mount; `InvalidInput` for what is not a single
/// component.
pub(crate) fn open_below(
    directory: impl AsFd,
    name: &CStr,
    flags: OFlags,
    mode: Mode,
) -> io::Result<OwnedFd> {
    if matches!(name.to_bytes(), b"" | b"." | b"..") || name.to_bytes().contains(&b'/') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not a file name"));
    }
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let opened = if hooks::has_openat2() {
        openat2(&directory, name, flags, mode, resolve)
    } else {
        Err(Errno::NOSYS)
    };
    match opened {
        // A kernel before 5.6, or a sandbox that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => open_without_openat2(directory, name, flags, mode),
        opened => Ok(opened?),
    }
}

fn open_without_openat2(directory: impl AsFd, name: &CStr, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    let file = openat(&directory, name, flags, mode)?;
    let (file_is, directory_is) = (Identity::of(&file)?, Identity::of(&directory)?);
    // Some filesystems give files another device number than directories.
    let is_one = match file_is.kind {
        FileType::Directory => file_is.lies_with(&directory_is),
        _ => file_is.mount == directory_is.mount,
    };
    if is_one { Ok(file) } else { Err(Errno::XDEV.into()) }
}

/// The entries of a directory, also of one that was opened only to work relative to it.
///
/// # Errors
/// The kernel's.
pub(crate) fn entries(directory: impl AsFd) -> io::Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(Dir::new(openat(directory, c".", flags, Mode::empty())?)?)
}

/// Removes everything in a directory but the name `keep`, as far as it can be removed, and adds to `removed` for each name.
///
/// # Errors
/// The first thing that could not be removed: a mount, a directory of another user, what the kernel refuses.
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
    Err(io::Error::new(io::ErrorKind::DirectoryNotEmpty, "another process keeps creating files in it"))
}

/// What one pass over a tree has come to.
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
    io::Error::new(io::ErrorKind::CrossesDevices, "another filesystem is mounted in it; unmount it first")
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

/// Removes all names of a directory that are not those of directories with content, which it remembers.
fn remove_files(cursor: &mut Cursor, keep: Option<&CStr>, pass: &mut Pass) {
    let listed = cursor.each(|here, name, kind, deeper| {
        if Some(name) == keep {
            return true;
        }
        hooks::step("an entry");
        if kind != FileType::Directory {
            match rustix::fs::unlinkat(here, name, AtFlags::empty()) {
                // It has become a directory, or its filesystem does not say what is one.
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

/// Bytes of the files below a directory, of a million at the most; what cannot be entered counts nothing.
pub(crate) fn bytes_below(directory: &OwnedFd) -> u64 {
    let (mut bytes, mut looked_at) = (0, 0);
    let mut count = |cursor: &mut Cursor| {
        let _ = cursor.each(|here, name, _, deeper| {
            looked_at += 1;
            match rustix::fs::statat(here, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Directory => {
                    deeper.push(name.to_owned());
                }
                Ok(found) => bytes += u64::try_from(found.st_size).unwrap_or(0),
                Err(_) => {}
            }
            deeper.len() < MOST_NAMES && looked_at < MOST_COUNTED
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

/// The position of a walk: a directory, and the way back to the topmost one.
struct Cursor {
    here: OwnedFd,
    levels: Vec<Level>,
}

/// A directory that has been entered and not yet left.
struct Level {
    identity: Identity,
    /// In the directory above.
    name: CString,
    /// Directories in it that are still to be entered.
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

    /// Goes down.
    fn enter(&mut self, name: CString) -> io::Result<()> {
        hooks::step("a directory is entered");
        let below = match open_below(&self.here, &name, DIRECTORY, Mode::empty()) {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::XDEV) => return Err(crossing()),
            below => below?,
        };
        let (identity, top) = (Identity::of(&below)?, &self.levels[0].identity);
        if !identity.lies_with(top) {
            return Err(crossing());
        }
        if identity.owner != top.owner {
            let why = "it contains a directory of another user, which is not removed";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        self.here = below;
        self.levels.push(Level { identity, name, deeper: Vec::new() });
        Ok(())
    }

    /// Goes up, and says by which name it came down; `None` at the top, where it stays.
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
        if !known.is_some_and(|known| known.is(&found) && known.lies_with(&found)) {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "another process is moving a directory in it",
            ));
        }
        self.here = above;
        Ok(left)
    }

    /// Hands out the entries of this directory, each with its kind as far as the filesystem says it, until `take` has enough.
    /// `take` puts into its last argument which directories are to be entered.
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

/// The points between which another process may change the tree. Outside this crate's tests they do nothing.
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
            // Taken out meanwhile, so that what the hook does itself does not call it.
            let hook = HOOK.with(|hook| hook.borrow_mut().take());
            if let Some(mut hook) = hook {
                hook(name);
                HOOK.with(|place| {
                    place.borrow_mut().get_or_insert(hook);
                });
            }
        }

        pub(crate) fn has_openat2() -> bool {
            !WITHOUT_OPENAT2.get()
        }

        /// Does `work`, during which `hook` is called at each step of this thread.
        pub(crate) fn with_hook<T>(hook: impl FnMut(&'static str) + 'static, work: impl FnOnce() -> T) -> T {
            HOOK.with(|place| place.replace(Some(Box::new(hook))));
            let result = work();
            HOOK.with(|place| place.replace(None));
            result
        }

        /// Does `work` in this thread as on a kernel before 5.6.
        pub(crate) fn without_openat2<T>(work: impl FnOnce() -> T) -> T {
            WITHOUT_OPENAT2.set(true);
            let result = work();
            WITHOUT_OPENAT2.set(false);
            result
        }
    }
}
