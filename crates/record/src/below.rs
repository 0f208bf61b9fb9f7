//! Files below a directory that is held open, opened relative to its descriptor and never through a symbolic link.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// Names of a directory's entries; invalid UTF-8 becomes replacement characters.
pub(crate) fn names_in(directory: &OwnedFd) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    Ok(names)
}

/// Opens a directory below another one, but not through a symbolic link.
pub(crate) fn open_directory(parent: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match fs::openat(parent, name, flags, Mode::empty()) {
        Err(Errno::NOTDIR | Errno::LOOP) => Err(io::Error::other(format!(
            "`{name}` in the store is a file or a symbolic link, not a directory"
        ))),
        other => Ok(other?),
    }
}

/// Creates a directory unless it exists.
pub(crate) fn make_directory(parent: &OwnedFd, name: &str) -> io::Result<()> {
    match fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
        Err(Errno::EXIST) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Opens a regular file for reading. Refuses a symbolic link, and does not block on a pipe.
pub(crate) fn open_regular(directory: &OwnedFd, name: &str) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = fs::openat(directory, name, flags, Mode::empty()).map_err(|error| match error {
        Errno::LOOP => io::Error::other("the file is a symbolic link; Lodestone follows no links in a store"),
        other => other.into(),
    })?;
    if FileType::from_raw_mode(fs::fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("the file is not a regular file"));
    }
    Ok(file.into())
}

/// Creates a file for reading and appending; fails if it exists.
pub(crate) fn create_new(directory: &OwnedFd, name: &str) -> io::Result<File> {
    let flags =
        OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(fs::openat(directory, name, flags, Mode::from_raw_mode(0o666))?.into())
}

/// Opens a regular file for appending, and creates it if there is none. Refuses a symbolic link.
pub(crate) fn append_to(directory: &OwnedFd, name: &str) -> io::Result<File> {
    let flags = OFlags::WRONLY
        | OFlags::APPEND
        | OFlags::CREATE
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::NOCTTY
        | OFlags::CLOEXEC;
    let file = fs::openat(directory, name, flags, Mode::from_raw_mode(0o666))?;
    if FileType::from_raw_mode(fs::fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("the file is not a regular file"));
    }
    Ok(file.into())
}

/// Removes the name of a file.
pub(crate) fn remove(directory: &OwnedFd, name: &str) -> io::Result<()> {
    Ok(fs::unlinkat(directory, name, AtFlags::empty())?)
}

/// A number that differs from call to call, from the standard library's hash seeds.
pub(crate) fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}
