//! Finds and removes what a killed run left behind.
//!
//! # Invariants
//! * A run keeps the manifest of its private directory open and locked (flock(2)) for as long as it uses the
//!   directory. The lock ends with the process, however that ends, and is visible where the process is not: from
//!   other containers and, on NFS, from other machines.
//! * The directory itself is locked from its creation to its removal, so it counts as in use even before it has a
//!   manifest. A directory without a complete manifest is a leftover only if that lock is free, it belongs to
//!   this user, its name has Lodestone's form, and it holds nothing else. Network filesystems keep directory
//!   locks local to one machine: there, Lodestone only reports such a directory.
//! * Any other directory is a leftover only if the lock of its manifest is free, it comes from this host, and its
//!   process no longer runs. On a filesystem without locks, the process alone decides.
//! * What another host has created is only reported, never removed from here.
//! * A directory and its manifest must belong to the same user: this user or, for root, any user. A directory without a
//!   manifest must belong to this user. On behalf of another user, root removes only names in directories of that user,
//!   which that user could remove too.
//! * Everything is opened and removed relative to descriptors that stay open from the search to the removal
//!   (`crate::confined`); no path is resolved twice.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::confined::{DIRECTORY, Identity, bytes_below, entries, hooks, open_below};
use crate::manifest::{Lock, MANIFEST, Manifest, is_unwritten, lock, lock_directory, read_manifest};
use crate::private_directory::{Held, PRIVATE_PREFIX};
use crate::shared_filesystems::{is_on_shared_filesystem, is_without_owners};

/// The state of a private directory.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    InUse,
    LeftOver,
    /// Only its own host can decide.
    Elsewhere,
}

/// `here` is this process's own manifest; `process_lives` states whether `manifest`'s process is visible.
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

/// What [`find`] finds.
#[derive(Debug)]
pub enum Found {
    /// It may be removed.
    LeftOver(Leftover),
    /// Only its own host can remove it.
    Elsewhere(Elsewhere),
}

/// A private directory whose run has ended. It is locked for the lifetime of this value, so that of two
/// concurrent cleanups only one finds it.
#[derive(Debug)]
pub struct Leftover {
    /// Its path.
    pub path: PathBuf,
    /// The run's id.
    pub run: String,
    held: Held,
}

impl Leftover {
    /// Total size in bytes of at most a million files in it.
    pub fn bytes(&self) -> u64 {
        bytes_below(&self.held.directory)
    }
}

/// A private directory of a run on another host or in another container; whether that run has ended cannot be
/// determined from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// Its path.
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
            "{path}, left by run {run} of host {host}; if that run has ended, remove it on that host, or by hand"
        )
    }
}

/// The private directories directly below `directory` that are not in use. A directory that only resembles one is not
/// touched. Each is opened only when the iterator reaches it, so that only the items that the caller keeps hold
/// descriptors.
pub fn find(directory: &Path) -> impl Iterator<Item = Found> {
    let parent = openat(CWD, directory, DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok();
    let names = parent.as_ref().and_then(|parent| names(parent).ok()).unwrap_or_default();
    let here = Manifest::of_this_process("");
    names.into_iter().filter_map(move |name| {
        let path = directory.join(OsStr::from_bytes(name.to_bytes()));
        examine(parent.as_ref()?, name, path, &here).ok().flatten()
    })
}

/// Entries whose names match those of private directories, sorted.
fn names(parent: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in entries(parent)? {
        let entry = entry?;
        if entry.file_name().to_bytes().starts_with(PRIVATE_PREFIX.as_bytes()) {
            names.push(entry.file_name().to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Opens a private directory and its manifest, tries to lock it, and judges it; `None` if it is in use or is not a
/// private directory.
fn examine(parent: &OwnedFd, name: CString, path: PathBuf, here: &Manifest) -> io::Result<Option<Found>> {
    let directory = open_below(parent, &name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
    hooks::step("the directory is opened");
    let (file, manifest) = match read_manifest(&directory) {
        Ok(read) => read,
        Err(error) if is_unwritten(&error) => return unfinished(parent, name, directory, path),
        Err(error) => return Err(error),
    };
    let lock = lock(&file)?;
    // Another process may have removed it between the open and the lock.
    if !Identity::below(&directory, MANIFEST)?.is(&Identity::of(&file)?) {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(match judge(&manifest, here, lock, manifest.process_lives()) {
        Verdict::InUse => None,
        Verdict::LeftOver => Some(Found::LeftOver(Leftover {
            path,
            run: manifest.run,
            held: Held::leftover(parent.try_clone()?, name, directory, Some(file)),
        })),
        Verdict::Elsewhere => {
            Some(Found::Elsewhere(Elsewhere { path, run: manifest.run, host: manifest.host_name }))
        }
    })
}

/// A private directory whose process was killed before the manifest was complete: its name has the form that Lodestone
/// gives, it holds at most part of a manifest, it belongs to this user, and its lock is free. If another machine may
/// hold a lock that is not visible here, the directory is only reported.
fn unfinished(
    parent: &OwnedFd,
    name: CString,
    directory: OwnedFd,
    path: PathBuf,
) -> io::Result<Option<Found>> {
    let Some(run) = name.to_str().ok().and_then(run_of).map(str::to_owned) else { return Ok(None) };
    let found = Identity::of(&directory)?;
    let is_own = found.owner == rustix::process::geteuid().as_raw() && found.permissions & 0o077 == 0;
    if !is_own && !is_without_owners(&directory) {
        return Ok(None);
    }
    let lock = lock_directory(&directory);
    // Check the content only under the lock: until then, its process may have written the manifest.
    let is_unwritten = read_manifest(&directory).is_err_and(|error| is_unwritten(&error));
    if lock == Lock::HeldByAnother || !is_unwritten || !holds_at_most_a_manifest(&directory)? {
        return Ok(None);
    }
    if lock == Lock::None || is_on_shared_filesystem(&directory) {
        return Ok(Some(Found::Elsewhere(Elsewhere { path, run, host: "unknown".to_owned() })));
    }
    let held = Held::leftover(parent.try_clone()?, name, directory, None);
    Ok(Some(Found::LeftOver(Leftover { path, run, held })))
}

/// The RUN part of `.lodestone-RUN-PID-NUMBER`.
fn run_of(name: &str) -> Option<&str> {
    let mut parts = name.strip_prefix(PRIVATE_PREFIX)?.split('-');
    let (run, pid, number) = (parts.next()?, parts.next()?, parts.next()?);
    let is_run = !run.is_empty() && run.bytes().all(|b| b.is_ascii_alphanumeric());
    let are_numbers = [pid, number].iter().all(|part| part.parse::<u32>().is_ok());
    (is_run && are_numbers && parts.next().is_none()).then_some(run)
}

fn holds_at_most_a_manifest(directory: &OwnedFd) -> io::Result<bool> {
    for entry in entries(directory)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") && entry.file_name() != MANIFEST {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes a leftover with everything in it, even if it was renamed within its parent directory. It stays locked until
/// only the empty directory remains.
///
/// # Errors
/// The kernel's; `CrossesDevices` for a mount in it and `PermissionDenied` for a directory of another user, both of
/// which stay unchanged; `NotFound` if its manifest was replaced or its directory was moved elsewhere.
pub fn remove(leftover: Leftover) -> io::Result<()> {
    leftover.held.remove()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::io::{Read, Write};
    use std::os::unix::fs::DirBuilderExt;
    use std::process::{Command, Stdio};

    use rustix::fs::{FlockOperation, flock};

    use crate::manifest::LONGEST_MANIFEST;
    use crate::private_directory::PrivateDirectory;
    use crate::testing::skipped;

    const FILE: &str = "manifest.json";

    /// Everything that [`super::find`] finds, held at once.
    #[derive(Debug, Default)]
    pub(crate) struct All {
        pub leftovers: Vec<Leftover>,
        pub elsewhere: Vec<Elsewhere>,
    }

    pub(crate) fn find(directory: &Path) -> All {
        let mut all = All::default();
        for found in super::find(directory) {
            match found {
                Found::LeftOver(leftover) => all.leftovers.push(leftover),
                Found::Elsewhere(elsewhere) => all.elsewhere.push(elsewhere),
            }
        }
        all
    }

    /// A leftover of a killed run: nothing holds its lock.
    pub(crate) fn abandoned(parent: &Path, manifest: &Manifest) -> PathBuf {
        let path = parent.join(format!("{PRIVATE_PREFIX}{}", manifest.run));
        fs::create_dir(&path).unwrap();
        unlock(&manifest.write(&File::open(&path).unwrap().into()).unwrap());
        fs::write(path.join("data0"), [0; 100]).unwrap();
        fs::create_dir(path.join("job0")).unwrap();
        fs::write(path.join("job0/small"), [0; 10]).unwrap();
        path
    }

    /// Closing would suffice, except that a program that another test is just starting holds a copy of every
    /// descriptor until it runs.
    fn unlock(file: &File) {
        flock(file, FlockOperation::Unlock).unwrap();
    }

    pub(crate) fn dead() -> Manifest {
        Manifest { process_start: 1, ..Manifest::of_this_process("abc") }
    }

    #[test]
    fn only_the_directory_of_an_ended_run_is_a_leftover() {
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
        assert!(leftover.bytes() >= 110);
        remove(leftover).unwrap();
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_unlocked_directory_of_an_earlier_boot_is_a_leftover() {
        let parent = tempfile::tempdir().unwrap();
        let manifest = Manifest { boot: "another".into(), ..Manifest::of_this_process("abc") };
        let path = abandoned(parent.path(), &manifest);
        let holder = File::open(path.join(FILE)).unwrap();
        assert_eq!(lock(&holder).unwrap(), Lock::Taken);
        assert!(find(parent.path()).leftovers.is_empty());
        unlock(&holder);
        assert_eq!(find(parent.path()).leftovers.len(), 1);
    }

    /// A run in a container was taken for dead by a run outside, whose /proc shows another process or none for
    /// its process ID, and lost its files while it measured.
    #[test]
    fn a_directory_locked_by_an_invisible_process_is_in_use() {
        let parent = tempfile::tempdir().unwrap();
        let manifest = Manifest { pid_namespace: "pid:[1]".into(), pid: 1, ..dead() };
        let path = abandoned(parent.path(), &manifest);
        let mut flock = Command::new("flock");
        flock.arg("--no-fork").arg(path.join(FILE)).arg("cat");
        let child = flock.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = child else { return skipped("flock cannot be started") };
        // Once cat responds, the lock is held.
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let found = find(parent.path());
        assert!(found.leftovers.is_empty() && found.elsewhere.is_empty());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(find(parent.path()).leftovers.len(), 1, "a killed process holds no lock");
    }

    #[test]
    fn a_directory_of_another_host_is_reported_and_not_removed() {
        let parent = tempfile::tempdir().unwrap();
        let other = Manifest { host: "0123456789ab".into(), host_name: "pluto".into(), ..dead() };
        let path = abandoned(parent.path(), &other);
        let found = find(parent.path());
        assert!(found.leftovers.is_empty());
        let text = found.elsewhere[0].to_string();
        assert!(text.contains("left by run abc of host pluto") && text.contains("by hand"), "{text}");
        assert!(text.starts_with(path.to_str().unwrap()), "{text}");
        assert!(path.join("data0").exists());
    }

    #[test]
    fn without_locks_the_local_process_decides() {
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
    fn of_two_concurrent_cleanups_only_one_finds_a_leftover() {
        let parent = tempfile::tempdir().unwrap();
        abandoned(parent.path(), &dead());
        let mut first = find(parent.path()).leftovers;
        assert_eq!((first.len(), find(parent.path()).leftovers.len()), (1, 0));
        remove(first.pop().unwrap()).unwrap();
        assert!(find(parent.path()).leftovers.is_empty());
    }

    #[test]
    fn a_replacement_of_a_leftover_is_not_removed() {
        let parent = tempfile::tempdir().unwrap();
        let path = abandoned(parent.path(), &dead());
        let leftover = find(parent.path()).leftovers.pop().unwrap();
        fs::rename(&path, parent.path().join("elsewhere")).unwrap();
        abandoned(parent.path(), &dead());
        remove(leftover).unwrap();
        assert!(path.join("data0").exists() && path.join(FILE).exists());
        assert!(!parent.path().join("elsewhere").exists(), "the leftover is removed under its new name");
    }

    #[test]
    fn a_leftover_moved_elsewhere_is_emptied_and_reported() {
        let (parent, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = abandoned(parent.path(), &dead());
        let leftover = find(parent.path()).leftovers.pop().unwrap();
        let moved = other.path().join("moved");
        fs::rename(&path, &moved).unwrap();
        let error = remove(leftover).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("moved elsewhere"), "{error}");
        assert_eq!(fs::read_dir(moved).unwrap().count(), 0);
    }

    /// A run that was killed after it created its directory and before it wrote the manifest used to leave an empty
    /// directory forever.
    #[test]
    fn an_unfinished_directory_is_a_leftover_once_unlocked() {
        let parent = tempfile::tempdir().unwrap();
        for (name, manifest) in [("abc-1-0", None), ("abc-1-1", Some("")), ("abc-1-2", Some("{\"run\": \"a"))]
        {
            let path = parent.path().join(format!("{PRIVATE_PREFIX}{name}"));
            fs::DirBuilder::new().mode(0o700).create(&path).unwrap();
            if let Some(text) = manifest {
                fs::write(path.join(FILE), text).unwrap();
            }
            let directory = OwnedFd::from(File::open(&path).unwrap());
            assert_eq!(lock_directory(&directory), Lock::Taken);
            assert!(find(parent.path()).leftovers.is_empty(), "{name} is in use");
            flock(&directory, FlockOperation::Unlock).unwrap();
            let leftover = find(parent.path()).leftovers.pop().expect(name);
            remove(leftover).unwrap();
            assert!(!path.exists(), "{name}");
        }
        let other = parent.path().join(format!("{PRIVATE_PREFIX}abc-1-3"));
        fs::DirBuilder::new().mode(0o700).create(&other).unwrap();
        fs::write(other.join("mine"), "mine").unwrap();
        assert!(find(parent.path()).leftovers.is_empty(), "it holds more than a manifest");
        let unread = parent.path().join(format!("{PRIVATE_PREFIX}abc-1-4"));
        fs::DirBuilder::new().mode(0o700).create(&unread).unwrap();
        File::create(unread.join(FILE)).unwrap().set_len(LONGEST_MANIFEST + 1).unwrap();
        assert!(
            find(parent.path()).leftovers.is_empty(),
            "an unreadable manifest does not count as unfinished"
        );
    }

    /// All leftovers of a directory used to be opened at once; those beyond the limit of open files were silently
    /// missed.
    #[test]
    fn leftovers_are_opened_one_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        for run in ["abc", "abd"] {
            abandoned(parent.path(), &Manifest { run: run.to_owned(), ..dead() });
        }
        let mut found = super::find(parent.path());
        let first = found.next();
        assert!(matches!(&first, Some(Found::LeftOver(leftover)) if leftover.run == "abc"), "{first:?}");
        let second = super::find(parent.path()).next();
        assert!(matches!(&second, Some(Found::LeftOver(leftover)) if leftover.run == "abd"), "{second:?}");
    }

    #[test]
    fn directories_without_a_manifest_are_ignored() {
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
