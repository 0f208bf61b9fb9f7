//! The manifest of a private directory: it names the run that owns the directory, and its lock shows that the run lives.

use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{FileType, FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::confined::{Identity, hooks, new_file, open_below};
use crate::identity::id_and_name;
use crate::shared_filesystems::is_without_owners;

/// Name of the manifest in its private directory.
pub(crate) const MANIFEST: &CStr = c"manifest.json";
/// Maximum length in bytes of a manifest that is read; a typical one has a few hundred.
pub(crate) const LONGEST_MANIFEST: u64 = 64 << 10;

/// The owner of a private directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub run: String,
    /// Identifier of the machine, as in a run's record.
    pub host: String,
    /// Its host name.
    pub host_name: String,
    /// The kernel's id of this boot.
    pub boot: String,
    /// The PID namespace, in which the process ID is valid: containers have their own.
    pub pid_namespace: String,
    pub pid: u32,
    /// Start of the process in clock ticks since boot, so that a reused process ID is not mistaken for it.
    pub process_start: u64,
}

impl Manifest {
    pub fn of_this_process(run: &str) -> Self {
        let pid = std::process::id();
        let (host, host_name) = id_and_name();
        let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        Self {
            run: run.to_owned(),
            host,
            host_name,
            boot: crate::boot_id(),
            pid_namespace: namespace.display().to_string(),
            pid,
            process_start: process_start(pid).unwrap_or(0),
        }
    }

    /// Writes the manifest of a new private directory. The returned file holds the lock if the filesystem
    /// supports locks. It is taken before anything is written, so a readable manifest was locked from the start.
    pub fn write(&self, directory: &OwnedFd) -> io::Result<File> {
        let mut file = new_file(directory, MANIFEST)?;
        lock(&file)?;
        file.write_all(serde_json::to_string(self)?.as_bytes())?;
        Ok(file)
    }

    /// True if a process with this ID and start time is visible from here.
    pub fn process_lives(&self) -> bool {
        process_start(self.pid) == Some(self.process_start)
    }
}

/// Field 22 of `/proc/PID/stat` (proc(5)), counted after the command's closing bracket.
fn process_start(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// The result of a lock request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lock {
    Taken,
    HeldByAnother,
    /// The filesystem does not support locks.
    None,
}

/// Locks a manifest; the lock ends with the last copy of its descriptor.
pub(crate) fn lock(file: &File) -> io::Result<Lock> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Lock::Taken),
        Err(Errno::WOULDBLOCK) => Ok(Lock::HeldByAnother),
        Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(Lock::None),
        Err(error) => Err(error.into()),
    }
}

/// Locks a private directory itself; the lock ends with the last copy of its descriptor.
pub(crate) fn lock_directory(directory: &OwnedFd) -> Lock {
    match flock(directory, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Lock::Taken,
        Err(Errno::WOULDBLOCK) => Lock::HeldByAnother,
        Err(_) => Lock::None,
    }
}

/// Opens and reads the manifest of a private directory.
pub(crate) fn read_manifest(directory: &OwnedFd) -> io::Result<(File, Manifest)> {
    let file = open_manifest(directory)?;
    hooks::step("the manifest is opened");
    let mut text = Vec::new();
    (&file).take(LONGEST_MANIFEST + 1).read_to_end(&mut text)?;
    if text.len() as u64 > LONGEST_MANIFEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the manifest is too long"));
    }
    let manifest = serde_json::from_slice(&text)?;
    Ok((file, manifest))
}

/// True if [`read_manifest`] found no manifest or an incomplete one. Any other error leaves open who uses the
/// directory.
pub(crate) fn is_unwritten(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, NotFound, UnexpectedEof};
    matches!(error.kind(), NotFound | InvalidData | UnexpectedEof)
}

/// Opens the manifest of a private directory of this user or, for root, of any one user.
fn open_manifest(directory: &OwnedFd) -> io::Result<File> {
    let user = rustix::process::geteuid();
    let owner = Identity::of(directory)?.owner;
    let is_ours = user.is_root() || owner == user.as_raw() || is_without_owners(directory);
    let is_manifest = |found: Identity| found.kind == FileType::RegularFile && found.owner == owner;
    // Check it before the open: opening a device or a pipe may have side effects.
    if !is_ours || !is_manifest(Identity::below(directory, MANIFEST)?) {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the manifest belongs to another user, or is not a regular file",
        ));
    }
    // NFS grants an exclusive lock only on a file that is open for writing.
    let file = open_below(directory, MANIFEST, OFlags::RDWR | OFlags::NONBLOCK, Mode::empty())?;
    if !is_manifest(Identity::of(&file)?) {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the manifest belongs to another user, or is not a regular file",
        ));
    }
    Ok(file.into())
}
