//! Writes a file that the user names; nothing else in the program does.
//!
//! # Invariants
//! * An existing file stays intact until all of the new content is on stable storage; the replacement is then atomic.
//! * Symbolic links are never followed, and only regular files and symbolic links are ever replaced.
//! * A run log is never replaced.
//! * No temporary file remains, whatever fails: where the filesystem supports it, the new file has no name until it is
//!   complete. Elsewhere, signals are held back until the temporary name is gone. The next write to the directory
//!   removes a temporary file that `kill -9` leaves during the replacement.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use record::unfinished::{Unfinished, sweep};
use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, Stat, Uid, fchmod, fchown, fsync, linkat, openat, statat,
};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::failure::{Failure, INTERRUPTED};

/// The file name that means standard output.
pub const STANDARD_OUTPUT: &str = "-";
/// Identifies a report of this program by its first bytes.
const PAGE_MARK: &[u8] = b"<meta name=\"generator\" content=\"Lodestone\">";
/// Identifies a run log by its first line.
const LOG_MARK: &[u8] = b"\"run_started\"";
/// Both marks are within this many bytes of the start.
const HEAD: u64 = 4096;
/// Bytes written between two checks for signals.
const PIECE: usize = 1 << 20;

/// What may be overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// Nothing.
    Nothing,
    /// A report that this program wrote.
    OwnPages,
    /// Any regular file except a run log; a symbolic link is replaced, not followed.
    Any,
}

/// Writes the complete file, or changes nothing.
///
/// # Errors
/// Wrong usage if the existing file must not be overwritten; a failure if the write fails.
pub fn write(path: &Path, content: &[u8], overwrite: Overwrite) -> Result<(), Failure> {
    let shown = path.display();
    let refused = |what: &str| Failure::usage(format!("cannot write {shown}: {what}"));
    let failed = |what: &str, errno: Errno| {
        let error = io::Error::from(errno);
        Failure::failed(format!("cannot write {shown}: {what}{error}; nothing was changed")).because(&error)
    };
    let name = match path.components().next_back() {
        Some(Component::Normal(name)) if !ends_with_slash(path) => name,
        _ => return Err(refused("the path names a directory; name a file in it")),
    };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
    let directory = openat(CWD, parent, flags, Mode::empty())
        .map_err(|e| failed(&format!("cannot open the directory {}: ", parent.display()), e))?;
    let old = occupant(&directory, name, overwrite).map_err(|e| match e {
        Occupied::Refused(why) => refused(why),
        Occupied::Unknown(errno) => failed("cannot examine the existing file: ", errno),
    })?;
    match replace(&directory, name, content, old) {
        Ok(()) => Ok(()),
        Err(Errno::INTR) => {
            let failure = Failure::failed(format!("cannot write {shown}: interrupted; nothing was changed"));
            Err(Failure { code: INTERRUPTED, ..failure })
        }
        Err(Errno::EXIST) => {
            Err(refused("another process has just created the file; pass --force to overwrite it"))
        }
        Err(errno) => Err(failed("", errno)),
    }
}

fn ends_with_slash(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Why the existing file cannot be replaced.
enum Occupied {
    Refused(&'static str),
    Unknown(Errno),
}

/// The existing file, if it may be replaced; `None` if there is none.
fn occupant(directory: &OwnedFd, name: &OsStr, overwrite: Overwrite) -> Result<Option<Stat>, Occupied> {
    let old = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(old) => old,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(Occupied::Unknown(errno)),
    };
    let forced = overwrite == Overwrite::Any;
    let refused = |why| Err(Occupied::Refused(why));
    match FileType::from_raw_mode(old.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink if forced => return Ok(Some(old)),
        FileType::Symlink => {
            return refused(
                "it is a symbolic link and is not followed; name the file it points to or pass --force to replace it",
            );
        }
        FileType::Directory => return refused("it is a directory; name a file in it"),
        FileType::Fifo => return refused("it is a pipe; use `-o -` to write to standard output"),
        FileType::BlockDevice => {
            return refused("it is a block device, which is never overwritten; name a regular file");
        }
        _ => return refused("it is not a regular file; use `-o -` to write to standard output"),
    }
    // A file that cannot be read is overwritten only with the user's permission.
    let head = head(directory, name).unwrap_or_default();
    let has = |mark: &[u8]| head.windows(mark.len()).any(|part| part == mark);
    if has(LOG_MARK) {
        return refused("it is a run log, which is never overwritten; name another file");
    }
    let permitted = forced || (overwrite == Overwrite::OwnPages && has(PAGE_MARK));
    if permitted { Ok(Some(old)) } else { refused("the file exists; pass --force to overwrite it") }
}

/// The first bytes of a file, of a compressed one those of its content.
fn head(directory: &OwnedFd, name: &OsStr) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(openat(directory, name, flags, Mode::empty())?);
    let mut head = Vec::new();
    if file.metadata()?.is_file() {
        // What precedes damage is enough.
        let _ = record::decompressed(file)?.take(HEAD).read_to_end(&mut head);
    }
    Ok(head)
}

/// Permission bits of a new file, before the umask.
const NEW: Mode = Mode::from_raw_mode(0o666);

/// Writes the content to a new file and links it under the name, replacing `old` if there is one.
fn replace(directory: &OwnedFd, name: &OsStr, content: &[u8], old: Option<Stat>) -> Result<(), Errno> {
    sweep(directory);
    match openat(directory, ".", OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, NEW) {
        Ok(file) => match by_nameless_file(&file, directory, name, content, old) {
            // No /proc, or the filesystem cannot link an unnamed file.
            Err(Errno::NOENT | Errno::OPNOTSUPP | Errno::INVAL | Errno::PERM | Errno::XDEV) => {
                by_named_file(directory, name, content, old)
            }
            result => result,
        },
        Err(_) => by_named_file(directory, name, content, old),
    }
}

/// As [`replace`]; the new file is linked once it is complete.
fn by_nameless_file(
    file: &OwnedFd,
    directory: &OwnedFd,
    name: &OsStr,
    content: &[u8],
    old: Option<Stat>,
) -> Result<(), Errno> {
    fill(file, content, old, None)?;
    let _signals = Signals::hold();
    let by_descriptor = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = |to: &OsStr| linkat(CWD, &by_descriptor, directory, to, AtFlags::SYMLINK_FOLLOW);
    if old.is_none() {
        return link(name);
    }
    let unfinished = Unfinished::link(directory, file, |to| Ok(link(OsStr::new(to))?));
    unfinished.and_then(|unfinished| unfinished.replace(name)).map_err(errno)
}

/// As [`replace`], for filesystems on which a file always has a name.
fn by_named_file(directory: &OwnedFd, name: &OsStr, content: &[u8], old: Option<Stat>) -> Result<(), Errno> {
    let signals = Signals::hold();
    let (unfinished, file) = Unfinished::create(directory).map_err(errno)?;
    let file = OwnedFd::from(file);
    fill(&file, content, old, Some(&signals))?;
    if old.is_some() { unfinished.replace(name) } else { unfinished.take(name) }.map_err(errno)
}

/// Writes the content with the owner and permission bits of the replaced file, and syncs it.
fn fill(file: &OwnedFd, content: &[u8], old: Option<Stat>, signals: Option<&Signals>) -> Result<(), Errno> {
    let mut out = File::from(file.try_clone().map_err(|_| Errno::MFILE)?);
    for piece in content.chunks(PIECE) {
        signals.map_or(Ok(()), Signals::check)?;
        out.write_all(piece).map_err(errno)?;
    }
    if let Some(old) = old.filter(|old| FileType::from_raw_mode(old.st_mode) == FileType::RegularFile) {
        // Only root may restore the former owner; other users keep the file as their own.
        let _ = fchown(file, Some(Uid::from_raw(old.st_uid)), Some(Gid::from_raw(old.st_gid)));
        fchmod(file, Mode::from_raw_mode(old.st_mode & 0o777))?;
    }
    fsync(file)?;
    signals.map_or(Ok(()), Signals::check)
}

fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

/// While this value exists, a termination signal is recorded and does not end the program.
struct Signals {
    received: Arc<AtomicBool>,
    registered: Vec<signal_hook::SigId>,
}

impl Signals {
    fn hold() -> Self {
        let received = Arc::new(AtomicBool::new(false));
        let register = |signal| signal_hook::flag::register(signal, Arc::clone(&received)).ok();
        let registered = [SIGINT, SIGTERM, SIGHUP].into_iter().filter_map(register).collect();
        Self { received, registered }
    }

    /// # Errors
    /// `INTR` if a signal arrived.
    fn check(&self) -> Result<(), Errno> {
        if self.received.load(Ordering::Relaxed) { Err(Errno::INTR) } else { Ok(()) }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            signal_hook::low_level::unregister(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::*;

    type Way = fn(&OwnedFd, &OsStr, &[u8], Option<Stat>) -> Result<(), Errno>;
    const WAYS: [Way; 2] = [replace, by_named_file];

    fn opened(directory: &Path) -> OwnedFd {
        openat(CWD, directory, OFlags::DIRECTORY | OFlags::PATH, Mode::empty()).unwrap()
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// A test that raises a signal interrupts whatever writes in this process.
    static ALONE: Mutex<()> = Mutex::new(());

    fn alone() -> MutexGuard<'static, ()> {
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another process may create a file of that name between the check and the write.
    #[test]
    fn a_concurrently_created_file_is_kept() {
        let _alone = alone();
        for way in WAYS {
            let scratch = tempfile::tempdir().unwrap();
            fs::write(scratch.path().join("x"), "another's").unwrap();
            let directory = opened(scratch.path());
            assert_eq!(way(&directory, OsStr::new("x"), b"new", None), Err(Errno::EXIST));
            assert_eq!(fs::read_to_string(scratch.path().join("x")).unwrap(), "another's");
            assert_eq!(names(scratch.path()), ["x"]);
        }
    }

    #[test]
    fn replacing_keeps_permissions_and_leaves_no_temporary_file() {
        let _alone = alone();
        use std::os::unix::fs::PermissionsExt;
        for way in WAYS {
            let scratch = tempfile::tempdir().unwrap();
            let path = scratch.path().join("x");
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
            let directory = opened(scratch.path());
            let old = statat(&directory, "x", AtFlags::SYMLINK_NOFOLLOW).unwrap();
            way(&directory, OsStr::new("x"), b"new", Some(old)).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "new");
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
            way(&directory, OsStr::new("fresh"), b"new", None).unwrap();
            assert_eq!(names(scratch.path()), ["fresh", "x"]);
        }
    }

    /// `kill -9` between linking and replacing left a temporary file next to the report for ever.
    #[test]
    fn the_next_write_removes_temporary_files_of_killed_processes() {
        let _alone = alone();
        let scratch = tempfile::tempdir().unwrap();
        let directory = opened(scratch.path());
        let (_written_now, file) = Unfinished::create(&directory).unwrap();
        let mut stays = [names(scratch.path()), vec![".lodestone-x".to_owned()]].concat();
        stays.sort();
        for name in [".lodestone-0123456789abcdef", ".lodestone-x", ".lodestone-fedcba9876543210"] {
            fs::write(scratch.path().join(name), "half").unwrap();
        }
        replace(&directory, OsStr::new("x"), b"new", None).unwrap();
        let mut left = names(scratch.path());
        left.retain(|name| name != "x");
        assert_eq!(left, stays);
        file.unlock().unwrap();
        replace(&directory, OsStr::new("y"), b"new", None).unwrap();
        assert_eq!(names(scratch.path()), [".lodestone-x", "x", "y"]);
    }

    /// Ctrl-C while a named temporary file is written.
    #[test]
    fn a_signal_leaves_no_temporary_file() {
        let _alone = alone();
        let scratch = tempfile::tempdir().unwrap();
        let directory = opened(scratch.path());
        let signals = Signals::hold();
        let (unfinished, _file) = Unfinished::create(&directory).unwrap();
        assert_eq!(names(scratch.path()).len(), 1);
        signal_hook::low_level::raise(SIGTERM).unwrap();
        assert_eq!(signals.check(), Err(Errno::INTR));
        drop(unfinished);
        assert!(names(scratch.path()).is_empty());
    }
}
