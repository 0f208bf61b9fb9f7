//! Finding and removing what a killed run had to leave behind.
//!
//! # Invariants
//! * A run keeps the manifest of its private directory open and locked (flock(2)) for as long as it uses
//!   the directory. The lock ends with the process, however that ends, and it is seen where the process
//!   is not: from other containers, and on NFS from other machines.
//! * A directory is left over only if its lock can be had, it is of this host, and its process is not
//!   seen. Where a filesystem has no locks, the process alone decides.
//! * What another host has made is never removed from here: it is only told.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::identity::id_and_name;
use crate::object::Object;
use crate::read_line;
use crate::testfiles::PRIVATE_PREFIX;

const FILE: &str = "manifest.json";

/// Whose a private directory is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    run: String,
    /// Identifier of the machine, as in a run's record.
    host: String,
    /// What people call it.
    host_name: String,
    /// The kernel's id of this boot.
    boot: String,
    /// In which a process id means anything: containers have their own.
    pid_namespace: String,
    pid: u32,
    /// Start of the process in clock ticks since boot, so that a reused pid is not mistaken for it.
    process_start: u64,
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
            boot: read_line("/proc/sys/kernel/random/boot_id").unwrap_or_default(),
            pid_namespace: namespace.display().to_string(),
            pid,
            process_start: process_start(pid).unwrap_or(0),
        }
    }

    /// Writes the manifest of a new private directory. The file that is returned holds the lock, where
    /// the filesystem has any. It is taken before anything is written, so that a manifest that can be
    /// read was locked from the first.
    pub fn write(&self, directory: &Path) -> io::Result<File> {
        let path = directory.join(FILE);
        let mut file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        lock(&file)?;
        file.write_all(serde_json::to_string(self)?.as_bytes())?;
        Ok(file)
    }

    /// True if a process with this id and start is seen from here.
    fn process_lives(&self) -> bool {
        process_start(self.pid) == Some(self.process_start)
    }
}

/// Field 22 of `/proc/PID/stat` (proc(5)), counted after the command's closing bracket.
fn process_start(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// What came of asking for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lock {
    Taken,
    HeldByAnother,
    /// The filesystem has no locks.
    None,
}

fn lock(file: &File) -> io::Result<Lock> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Lock::Taken),
        Err(Errno::WOULDBLOCK) => Ok(Lock::HeldByAnother),
        Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(Lock::None),
        Err(error) => Err(error.into()),
    }
}

/// What is to be thought of a private directory.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    InUse,
    LeftOver,
    /// It cannot be told from here.
    Elsewhere,
}

/// `here` is this process's own manifest, `process_lives` says whether `manifest`'s process is seen.
fn judge(manifest: &Manifest, here: &Manifest, lock: Lock, process_lives: bool) -> Verdict {
    let same_boot = manifest.boot == here.boot;
    let same_namespace = manifest.pid_namespace == here.pid_namespace;
    match lock {
        Lock::HeldByAnother => Verdict::InUse,
        _ if manifest.host != here.host => Verdict::Elsewhere,
        _ if same_boot && same_namespace && process_lives => Verdict::InUse,
        Lock::None if same_boot && !same_namespace => Verdict::Elsewhere,
        Lock::Taken | Lock::None => Verdict::LeftOver,
    }
}

/// What [`find`] found.
#[derive(Debug, Default)]
pub struct Found {
    /// What may be removed.
    pub leftovers: Vec<Leftover>,
    /// What only its own host can remove.
    pub elsewhere: Vec<Elsewhere>,
}

/// A private directory whose run is no more. It is locked while this value lives, so that of two who
/// clean at once only one finds it.
#[derive(Debug)]
pub struct Leftover {
    /// Where it is.
    pub path: PathBuf,
    /// The run's id.
    pub run: String,
    /// Bytes of the files in it.
    pub bytes: u64,
    directory: File,
    manifest: File,
}

/// A private directory of a run on another host or in another container, of which it cannot be told from
/// here whether it has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// Where it is.
    pub path: PathBuf,
    /// The run's id.
    pub run: String,
    /// Name of the host.
    pub host: String,
}

impl std::fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (path, run, host) = (self.path.display(), &self.run, &self.host);
        write!(
            f,
            "{path}, left by run {run} of host {host}; if that run has ended, remove it there, or by hand"
        )
    }
}

/// The private directories directly below `directory` that are not in use. A directory that only looks
/// like one, without a manifest of ours, is not touched.
pub fn find(directory: &Path) -> Found {
    let mut found = Found::default();
    let Ok(entries) = fs::read_dir(directory) else { return found };
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with(PRIVATE_PREFIX))
        .map(|e| e.path())
        .collect();
    paths.sort();
    let here = Manifest::of_this_process("");
    for path in paths {
        let Ok((manifest, lock, leftover)) = look(path) else { continue };
        match judge(&manifest, &here, lock, manifest.process_lives()) {
            Verdict::InUse => {}
            Verdict::LeftOver => found.leftovers.push(leftover),
            Verdict::Elsewhere => found.elsewhere.push(Elsewhere {
                path: leftover.path,
                run: manifest.run,
                host: manifest.host_name,
            }),
        }
    }
    found
}

/// Opens a private directory and its manifest, and tries to lock it. It becomes a leftover only if it is
/// judged to be one.
fn look(path: PathBuf) -> io::Result<(Manifest, Lock, Leftover)> {
    // Links are not followed, and a pipe in the manifest's place is not waited for.
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = openat(rustix::fs::CWD, &path, flags | OFlags::DIRECTORY, Mode::empty())?;
    // NFS gives an exclusive lock only on what is open for writing.
    let file = openat(&directory, FILE, flags | OFlags::RDWR | OFlags::NONBLOCK, Mode::empty())?;
    let mut file = File::from(file);
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let manifest: Manifest = serde_json::from_str(&text)?;
    let lock = lock(&file)?;
    // Somebody else may have removed it between the opening and the lock.
    if Object::at(path.join(FILE)) != Some(Object::of(&file.metadata()?)) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let leftover = Leftover {
        run: manifest.run.clone(),
        bytes: bytes_below(&path),
        path,
        directory: directory.into(),
        manifest: file,
    };
    Ok((manifest, lock, leftover))
}

fn bytes_below(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let size = |e: fs::DirEntry| match e.metadata() {
        Ok(m) if m.is_dir() => bytes_below(&e.path()),
        Ok(m) => m.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

/// Removes a leftover with everything in it. It stays locked until nothing but its empty directory
/// remains.
///
/// # Errors
/// The kernel's; `NotFound` if its path now stands for something else, which is left alone.
pub fn remove(leftover: Leftover) -> io::Result<()> {
    let Leftover { path, directory, manifest, .. } = leftover;
    if Object::of(&fs::symlink_metadata(&path)?) != Object::of(&directory.metadata()?) {
        return Err(io::Error::new(io::ErrorKind::NotFound, "something else has taken its place"));
    }
    // Through the open directory, so that what takes its place from now on is not emptied either.
    let inside = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    empty(&inside)?;
    finish(&path, &mut Some(manifest))
}

/// Removes everything in a private directory but its manifest, by which the rest is found again if this
/// does not come to its end.
pub(crate) fn empty(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name() == FILE {
            continue;
        }
        let removed = match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path()),
            false => fs::remove_file(entry.path()),
        };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Removes the manifest of an empty private directory and the directory itself. The manifest is closed in
/// between: NFS keeps a removed file under another name for as long as it is open.
pub(crate) fn finish(directory: &Path, manifest: &mut Option<File>) -> io::Result<()> {
    match fs::remove_file(directory.join(FILE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => *manifest = None,
    }
    fs::remove_dir(directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    use crate::testfiles::PrivateDirectory;
    use crate::testing::skipped;

    /// What a killed run has left: nobody holds its lock.
    fn abandoned(parent: &Path, manifest: &Manifest) -> PathBuf {
        let path = parent.join(format!("{PRIVATE_PREFIX}{}", manifest.run));
        fs::create_dir(&path).unwrap();
        unlock(&manifest.write(&path).unwrap());
        fs::write(path.join("data0"), [0; 100]).unwrap();
        fs::create_dir(path.join("job0")).unwrap();
        fs::write(path.join("job0/small"), [0; 10]).unwrap();
        path
    }

    /// Closing would do, were it not for the programs that other tests start at this moment, which have
    /// a copy of every descriptor until they run.
    fn unlock(file: &File) {
        flock(file, FlockOperation::Unlock).unwrap();
    }

    fn dead() -> Manifest {
        Manifest { process_start: 1, ..Manifest::of_this_process("abc") }
    }

    #[test]
    fn the_directory_of_a_living_run_is_no_leftover_that_of_a_dead_one_is() {
        let parent = tempfile::tempdir().unwrap();
        let private = PrivateDirectory::create(parent.path(), "abc").unwrap();
        fs::write(private.path().join("data0"), [0; 100]).unwrap();
        assert!(find(parent.path()).leftovers.is_empty());
        drop(private);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);

        abandoned(parent.path(), &dead());
        let mut found = find(parent.path());
        let leftover = found.leftovers.pop().unwrap();
        assert!(found.leftovers.is_empty() && found.elsewhere.is_empty());
        assert_eq!(leftover.run, "abc");
        assert!(leftover.bytes >= 110);
        remove(leftover).unwrap();
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_another_boot_of_this_host_left_is_a_leftover_once_its_lock_is_free() {
        let parent = tempfile::tempdir().unwrap();
        let manifest = Manifest { boot: "another".into(), ..Manifest::of_this_process("abc") };
        let path = abandoned(parent.path(), &manifest);
        let holder = File::open(path.join(FILE)).unwrap();
        assert_eq!(lock(&holder).unwrap(), Lock::Taken);
        assert!(find(parent.path()).leftovers.is_empty());
        unlock(&holder);
        assert_eq!(find(parent.path()).leftovers.len(), 1);
    }

    /// A run in a container was taken for dead by a run outside, whose /proc shows another process or
    /// none under its number, and lost its files while it measured.
    #[test]
    fn what_a_process_that_is_not_seen_from_here_holds_is_no_leftover() {
        let parent = tempfile::tempdir().unwrap();
        let manifest = Manifest { pid_namespace: "pid:[1]".into(), pid: 1, ..dead() };
        let path = abandoned(parent.path(), &manifest);
        let mut flock = Command::new("flock");
        flock.arg("--no-fork").arg(path.join(FILE)).arg("cat");
        let child = flock.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = child else { return skipped("flock cannot be started") };
        // Once cat answers, the lock is held.
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let found = find(parent.path());
        assert!(found.leftovers.is_empty() && found.elsewhere.is_empty());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(find(parent.path()).leftovers.len(), 1, "a killed process holds no lock");
    }

    #[test]
    fn what_another_host_left_is_told_and_not_removed() {
        let parent = tempfile::tempdir().unwrap();
        let other = Manifest { host: "0123456789ab".into(), host_name: "pluto".into(), ..dead() };
        let path = abandoned(parent.path(), &other);
        let found = find(parent.path());
        assert!(found.leftovers.is_empty());
        let told = found.elsewhere[0].to_string();
        assert!(told.contains("left by run abc of host pluto") && told.contains("by hand"), "{told}");
        assert!(told.starts_with(path.to_str().unwrap()), "{told}");
        assert!(path.join("data0").exists());
    }

    #[test]
    fn without_locks_only_what_this_host_can_know_decides() {
        let here = Manifest::of_this_process("abc");
        let boot = Manifest { boot: "another".into(), ..here.clone() };
        let container = Manifest { pid_namespace: "another".into(), ..here.clone() };
        let host = Manifest { host: "another".into(), ..here.clone() };
        for (manifest, lock, lives, verdict) in [
            (&here, Lock::None, true, Verdict::InUse),
            (&here, Lock::None, false, Verdict::LeftOver),
            (&boot, Lock::None, true, Verdict::LeftOver),
            (&container, Lock::None, false, Verdict::Elsewhere),
            (&host, Lock::None, false, Verdict::Elsewhere),
            (&here, Lock::Taken, true, Verdict::InUse),
            (&here, Lock::Taken, false, Verdict::LeftOver),
            (&boot, Lock::Taken, true, Verdict::LeftOver),
            (&container, Lock::Taken, true, Verdict::LeftOver),
            (&host, Lock::Taken, false, Verdict::Elsewhere),
            (&boot, Lock::HeldByAnother, false, Verdict::InUse),
            (&host, Lock::HeldByAnother, false, Verdict::InUse),
        ] {
            assert_eq!(judge(manifest, &here, lock, lives), verdict, "{manifest:?} {lock:?}");
        }
    }

    #[test]
    fn of_two_who_clean_at_once_only_one_finds_it() {
        let parent = tempfile::tempdir().unwrap();
        abandoned(parent.path(), &dead());
        let mut first = find(parent.path()).leftovers;
        assert_eq!((first.len(), find(parent.path()).leftovers.len()), (1, 0));
        remove(first.pop().unwrap()).unwrap();
        assert!(find(parent.path()).leftovers.is_empty());
    }

    #[test]
    fn what_has_taken_the_place_of_a_leftover_is_not_removed() {
        let parent = tempfile::tempdir().unwrap();
        let path = abandoned(parent.path(), &dead());
        let leftover = find(parent.path()).leftovers.pop().unwrap();
        fs::rename(&path, parent.path().join("elsewhere")).unwrap();
        abandoned(parent.path(), &dead());
        assert_eq!(remove(leftover).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(path.join("data0").exists() && path.join(FILE).exists());
    }

    #[test]
    fn directories_without_a_manifest_are_not_ours() {
        let parent = tempfile::tempdir().unwrap();
        fs::create_dir_all(parent.path().join(".lodestone-begun")).unwrap();
        fs::write(parent.path().join(".lodestone-begun").join(FILE), "").unwrap();
        fs::create_dir(parent.path().join(".lodestone-mine")).unwrap();
        fs::write(parent.path().join(".lodestone-file"), "x").unwrap();
        let outside = tempfile::tempdir().unwrap();
        let theirs = abandoned(outside.path(), &dead());
        std::os::unix::fs::symlink(theirs, parent.path().join(".lodestone-link")).unwrap();
        let found = find(parent.path());
        assert!(found.leftovers.is_empty() && found.elsewhere.is_empty());
    }
}
