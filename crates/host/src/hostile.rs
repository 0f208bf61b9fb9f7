//! Tests in which another user replaces parts of a private directory, at each step of its life.

use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, RenameFlags, renameat_with};

use crate::confined::hooks::{with_hook, without_openat2};
use crate::leftovers::tests::{abandoned, dead, find};
use crate::leftovers::{Leftover, remove};
use crate::private_directory::{PRIVATE_PREFIX, PrivateDirectory};
use crate::testing::{Mounted, skipped};

/// A user ID that no system uses.
const ANOTHER: u32 = 54_321;

/// A directory of files that must stay unchanged; one has the name of a manifest.
fn victim(parent: &Path) -> PathBuf {
    let victim = parent.join("victim");
    fs::create_dir_all(victim.join("below")).unwrap();
    for name in ["manifest.json", "data0", "job.fio", "below/deep"] {
        fs::write(victim.join(name), name).unwrap();
    }
    victim
}

#[track_caller]
fn assert_whole(victim: &Path, when: &str) {
    for name in ["manifest.json", "data0", "job.fio", "below/deep"] {
        let content = fs::read_to_string(victim.join(name));
        assert_eq!(content.ok().as_deref(), Some(name), "{name} of the victim, exchanged {when}");
    }
    assert_eq!(fs::read_dir(victim).unwrap().count(), 4, "exchanged {when}");
}

fn private_in(parent: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(parent).unwrap().flatten();
    entries
        .map(|e| e.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PRIVATE_PREFIX)))
}

/// How the owner of the parent directory replaces the private directory with the victim.
type Exchange = fn(&Path, &Path);

fn by_link(private: &Path, victim: &Path) {
    fs::rename(private, private.with_file_name("moved")).unwrap();
    symlink(victim, private).unwrap();
}

fn by_rename(private: &Path, victim: &Path) {
    renameat_with(CWD, private, CWD, victim, RenameFlags::EXCHANGE).unwrap();
}

/// Repeats `work` on a new parent directory with a victim in it. Each time the exchange comes one step later, until no
/// step is left.
#[track_caller]
fn exchanged_at_each_step(exchange: Exchange, prepare: fn(&Path), work: fn(&Path)) {
    for at in 0.. {
        let root = tempfile::tempdir().unwrap();
        let parent = root.path().to_owned();
        let victim = victim(&parent);
        prepare(&parent);
        let step = Rc::new(Cell::new((0, "after all steps")));
        let (counted, place, other) = (Rc::clone(&step), parent.clone(), victim.clone());
        let hook = move |name: &'static str| {
            let (number, _) = counted.get();
            if number == at
                && let Some(private) = private_in(&place)
            {
                exchange(&private, &other);
                counted.set((number + 1, name));
            } else {
                counted.set((number + 1, counted.get().1));
            }
        };
        with_hook(hook, || work(&parent));
        let (steps, when) = step.get();
        // After an exchange by rename, the victim has the name of the private directory.
        let now =
            if victim.exists() && victim.join("data0").exists() { Some(victim) } else { private_in(&parent) };
        assert_whole(&now.expect("the victim is there"), &format!("at step {at}: {when}"));
        if at >= steps {
            assert!(at > 3, "there are steps: {steps}");
            return;
        }
    }
}

fn use_and_drop(parent: &Path) {
    let Ok(private) = PrivateDirectory::create(parent, "t") else { return };
    let _ = private.subdirectory("below");
    let _ = private.write("job.fio", b"[job]");
    let _ = private.file("data0");
    let _ = private.link("link", Path::new("/etc/passwd"));
}

fn clean(parent: &Path) {
    find(parent).leftovers.into_iter().for_each(|leftover| drop(remove(leftover)));
}

/// The only leftover in a directory. A program that another test is just starting may briefly hold a copy of the lock
/// of an earlier attempt.
#[track_caller]
fn leftover(parent: &Path) -> Leftover {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(leftover) = find(parent).leftovers.pop() {
            return leftover;
        }
        assert!(Instant::now() < deadline, "nothing is left over");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// As root, `run` used to empty VICTIM when the owner of the target directory replaced the private directory with a
/// symbolic link to VICTIM: every step used the directory's path.
#[test]
fn replacement_of_a_private_directory_is_never_emptied() {
    for exchange in [by_link as Exchange, by_rename] {
        exchanged_at_each_step(exchange, |_| (), use_and_drop);
        without_openat2(|| exchanged_at_each_step(exchange, |_| (), use_and_drop));
    }
}

/// `clean` used to remove files through the descriptor but the manifest by path, which deleted a victim's
/// `manifest.json` in 24 of 25 tries.
#[test]
fn replacement_of_a_leftover_keeps_its_manifest() {
    let prepare = |parent: &Path| drop(abandoned(parent, &dead()));
    for exchange in [by_link as Exchange, by_rename] {
        exchanged_at_each_step(exchange, prepare, clean);
        without_openat2(|| exchanged_at_each_step(exchange, prepare, clean));
    }
}

/// The same with a thread that exchanges the two all the time, without choosing the moment.
#[test]
fn a_victim_survives_continuous_exchanges() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let root = tempfile::tempdir().unwrap();
    let parent = root.path().to_owned();
    let victim = victim(&parent);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let Some(private) = private_in(&parent) else { continue };
                let exchange = || renameat_with(CWD, &private, CWD, &victim, RenameFlags::EXCHANGE);
                // Exchange them back, so that the victim is there the next time.
                if exchange().is_ok() && !victim.join("job.fio").exists() {
                    let _ = exchange();
                }
            }
        });
        (0..50).for_each(|_| use_and_drop(&parent));
        over.store(true, Ordering::Relaxed);
    });
    // A directory whose removal was disturbed remains, so there may be several.
    let mut places = fs::read_dir(&parent).unwrap().map(|entry| entry.unwrap().path());
    let now = places.find(|path| path.join("below/deep").exists());
    assert_whole(&now.expect("the victim is there"), "without pause");
}

/// With `job.fio` as a symbolic link, any file of root could be overwritten.
#[test]
fn no_file_is_written_through_a_symbolic_link() {
    let (parent, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let victim = victim(other.path());
    let private = PrivateDirectory::create(parent.path(), "t").unwrap();
    symlink(victim.join("job.fio"), private.path().join("job.fio")).unwrap();
    let error = private.write("job.fio", b"[job]\nexec_prerun=id").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    symlink(victim.join("below"), private.path().join("below")).unwrap();
    assert!(private.subdirectory("below").is_err());
    drop(private);
    assert_whole(&victim, "for a link");
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
}

#[test]
fn scratch_needs_a_parent_that_others_cannot_write_to() {
    use std::os::unix::fs::PermissionsExt;
    let root = tempfile::tempdir().unwrap();
    let (open, own) = (root.path().join("open"), root.path().join("own"));
    for (path, mode) in [(&open, 0o777), (&own, 0o755)] {
        fs::create_dir(path).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let missing = root.path().join("missing");
    let made = crate::scratch::create(&[missing, open.clone(), own.clone()], "t").unwrap();
    assert_eq!((private_in(&open), private_in(&own).is_some()), (None, true));
    drop(made);
    let refused = crate::scratch::create(std::slice::from_ref(&open), "t").unwrap_err().to_string();
    assert!(refused.contains("world-writable"), "{refused}");
}

/// `clean` used to descend into a mount inside a leftover and empty it.
#[test]
fn a_mount_in_a_leftover_is_kept_and_the_rest_is_removed() {
    for is_bind in [false, true] {
        let (parent, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let victim = victim(other.path());
        let path = abandoned(parent.path(), &dead());
        let point = path.join("job0/point");
        fs::create_dir(&point).unwrap();
        let from = victim.to_str().unwrap();
        let args: &[&str] = if is_bind { &["--bind", from] } else { &["-t", "tmpfs", "tmpfs"] };
        let Some(mounted) = Mounted::on(&point, args) else { return };
        fs::write(point.join("more"), "more").unwrap();
        for is_old in [false, true] {
            let attempt = || remove(leftover(parent.path()));
            let error = if is_old { without_openat2(attempt) } else { attempt() }.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::CrossesDevices, "{error}");
            assert_eq!(fs::read_to_string(point.join("more")).unwrap(), "more");
            assert!(!path.join("data0").exists() && !path.join("job0/small").exists());
        }
        fs::remove_file(point.join("more")).unwrap();
        assert_whole(&victim, "for a mount");
        drop(mounted);
        remove(leftover(parent.path())).unwrap();
        assert!(!path.exists(), "the kept manifest makes it found again");
    }
}

/// A sparse manifest of 3 GiB used to be read in full.
#[test]
fn an_invalid_manifest_is_not_read() {
    let parent = tempfile::tempdir().unwrap();
    let path = abandoned(parent.path(), &dead());
    let manifest = path.join("manifest.json");
    let text = fs::read(&manifest).unwrap();
    File::options().write(true).open(&manifest).unwrap().set_len(3 << 30).unwrap();
    assert!(find(parent.path()).leftovers.is_empty());
    // The padded text is still valid JSON.
    let padded = |length: usize| [text.clone(), vec![b' '; length - text.len()]].concat();
    fs::write(&manifest, padded((64 << 10) + 1)).unwrap();
    assert!(find(parent.path()).leftovers.is_empty(), "longer than the documented limit");
    fs::write(&manifest, padded(64 << 10)).unwrap();
    assert_eq!(find(parent.path()).leftovers.len(), 1);
    let elsewhere = parent.path().join("text");
    fs::rename(&manifest, &elsewhere).unwrap();
    symlink(&elsewhere, &manifest).unwrap();
    assert!(find(parent.path()).leftovers.is_empty(), "a link");
    fs::remove_file(&manifest).unwrap();
    rustix::fs::mknodat(CWD, &manifest, rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
    assert!(find(parent.path()).leftovers.is_empty(), "a pipe");
}

#[test]
fn root_cleans_only_directories_of_the_leftovers_owner() {
    let parent = tempfile::tempdir().unwrap();
    let path = abandoned(parent.path(), &dead());
    for name in ["", "manifest.json", "data0", "job0", "job0/small"] {
        if chown(path.join(name), Some(ANOTHER), Some(ANOTHER)).is_err() {
            return skipped("needs root");
        }
    }
    let victim = victim(&path);
    let error = remove(find(parent.path()).leftovers.pop().unwrap()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
    assert_whole(&victim, "for a directory of root's");
    assert!(!path.join("data0").exists() && !path.join("job0").exists());
    chown(path.join("manifest.json"), Some(0), Some(0)).unwrap();
    assert!(find(parent.path()).leftovers.is_empty(), "the manifest of one user in a directory of another");
}

/// The private directory used to remain on a lazily unmounted target.
#[test]
fn private_directory_is_removed_after_a_lazy_unmount() {
    let place = tempfile::tempdir().unwrap();
    let Some(memory) = Mounted::on(place.path(), &["-t", "tmpfs", "tmpfs"]) else { return };
    let private = PrivateDirectory::create(&memory.point, "t").unwrap();
    private.write("data0", b"x").unwrap();
    let root = File::open(&memory.point).unwrap();
    let inside = PathBuf::from(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&root)));
    memory.unmount_lazily().unwrap();
    assert_eq!(fs::read_dir(&inside).unwrap().count(), 1);
    drop(private);
    assert_eq!(fs::read_dir(&inside).unwrap().count(), 0);
}
