//! Shared by the tests of this crate: tools of the system, and devices and mounts that vanish with a value. What
//! is unavailable here is reported.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

/// Reports, past the test harness, that something could not be tested here.
pub fn skipped(why: &str) {
    let _ = writeln!(io::stderr(), "SKIPPED: {why}");
}

/// Runs a tool and returns its output; `None`, with a report, if it is missing or fails.
pub fn tool(program: &str, args: &[&str]) -> Option<String> {
    match Command::new(program).args(args).output() {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        Ok(output) => {
            skipped(&format!("{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr).trim()));
            None
        }
        Err(error) => {
            skipped(&format!("{program} cannot be started: {error}"));
            None
        }
    }
}

/// A loop device over an image file.
pub struct LoopDevice {
    pub path: String,
}

impl LoopDevice {
    pub fn over(image: &Path) -> Option<Self> {
        Some(Self { path: tool("losetup", &["--find", "--show", image.to_str()?])? })
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = tool("losetup", &["--detach", &self.path]);
    }
}

/// Read-locked while something is mounted, write-locked to make a mount namespace: that copies all current
/// mounts, and those of another test would survive in it. A test has one [`Mounted`] at a time, and none while it
/// makes a namespace.
static MOUNTS: RwLock<()> = RwLock::new(());

/// A mounted filesystem.
pub struct Mounted {
    pub point: PathBuf,
    is_there: bool,
    _no_copies: RwLockReadGuard<'static, ()>,
}

impl Mounted {
    /// Mounts with these arguments on an existing directory or file.
    pub fn on(point: &Path, args: &[&str]) -> Option<Self> {
        let no_copies = MOUNTS.read().unwrap_or_else(PoisonError::into_inner);
        tool("mount", &[args, &[point.to_str()?]].concat())?;
        Some(Self { point: point.to_owned(), is_there: true, _no_copies: no_copies })
    }

    /// Detaches it from the tree of mounts, even if something still has a file open there.
    pub fn unmount_lazily(mut self) -> Option<()> {
        tool("umount", &["-l", self.point.to_str()?])?;
        self.is_there = false;
        Some(())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if !self.is_there {
            return;
        }
        // A program that another test is just starting may hold what this test had open there.
        let unmount = |options: &[&str]| {
            let ended = Command::new("umount").args(options).arg(&self.point).output();
            ended.is_ok_and(|output| output.status.success())
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline {
            if unmount(&[]) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        unmount(&["-l"]);
    }
}

/// A shell in its own mount namespace, which runs until its standard input ends.
pub struct Namespace(Child);

impl Namespace {
    /// Starts the shell and waits until it has run the script.
    pub fn with(script: &str) -> Option<Self> {
        let _no_mounts = MOUNTS.write().unwrap_or_else(PoisonError::into_inner);
        let script = format!("{script} && echo ready && read -r end");
        let shell = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut namespace = Self(shell.ok()?);
        let mut line = String::new();
        BufReader::new(namespace.0.stdout.take()?).read_line(&mut line).ok()?;
        if line.trim() == "ready" {
            return Some(namespace);
        }
        skipped("mounting in another mount namespace");
        None
    }

    /// The process ID of its shell.
    pub fn process(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Opens a device with an exclusive claim.
///
/// # Errors
/// `EBUSY` if something else has claimed it.
pub fn exclusively(device: &str) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(OFlags::EXCL.bits() as i32).open(device)
}

/// Waits until a device can be claimed: a program that another test is just starting may briefly hold a copy of a
/// claim.
#[track_caller]
pub fn assert_can_be_claimed(device: &str) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while let Err(error) = exclusively(device) {
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        assert!(Instant::now() < deadline, "{device} is still claimed");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Another machine, as a fixture of files.
pub struct Tree {
    directory: tempfile::TempDir,
}

impl Tree {
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    /// A path below the tree's root.
    pub fn path(&self, path: &str) -> PathBuf {
        // Links resolved, as for the code under test.
        self.directory.path().canonicalize().unwrap().join(path)
    }

    pub fn file(&self, path: &str, content: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// A symbolic link at `at` to another path of the tree.
    pub fn link(&self, at: &str, to: &str) {
        let (at, to) = (self.path(at), self.path(to));
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::create_dir_all(&to).unwrap();
        std::os::unix::fs::symlink(to, at).unwrap();
    }

    /// A program that prints this and exits with this code.
    pub fn program(&self, name: &str, says: &str, code: i32) {
        let text = format!("said/{name}");
        self.file(&text, says);
        self.script(name, &format!("cat '{}'\nexit {code}\n", self.path(&text).display()));
    }

    /// A shell script.
    pub fn script(&self, name: &str, body: &str) {
        use std::os::unix::fs::PermissionsExt;
        let (made, place) = (self.path(&format!("made/{name}")), self.path(&format!("bin/{name}")));
        self.file(&format!("made/{name}"), &format!("#!/bin/sh\n{body}"));
        std::fs::set_permissions(&made, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        // Copied by another process: a child that another test starts at this moment would hold a file that this
        // process had open for writing, and then it could not be started.
        assert!(Command::new("cp").arg(&made).arg(&place).status().unwrap().success());
    }

    /// A block device at `place` below `sys/devices`, with its files.
    pub fn device(&self, place: &str, number: &str, files: &[(&str, &str)]) {
        let base = format!("sys/devices/{place}");
        self.file(&format!("{base}/dev"), number);
        files.iter().for_each(|(name, content)| self.file(&format!("{base}/{name}"), content));
        let name = place.rsplit('/').next().unwrap();
        self.link(&format!("sys/dev/block/{number}"), &base);
        self.link(&format!("sys/class/block/{name}"), &base);
    }

    /// A device below another: `of` is on `on`, both paths below `sys/devices`.
    pub fn slave(&self, of: &str, on: &str) {
        let name = |place: &str| place.rsplit('/').next().unwrap().to_owned();
        self.link(&format!("sys/devices/{of}/slaves/{}", name(on)), &format!("sys/devices/{on}"));
        self.link(&format!("sys/devices/{on}/holders/{}", name(of)), &format!("sys/devices/{of}"));
    }

    /// The driver of the device at `place` below `sys/devices`.
    pub fn driver(&self, place: &str, name: &str) {
        self.link(&format!("sys/devices/{place}/driver"), &format!("sys/bus/drivers/{name}"));
    }

    pub fn roots(&self) -> crate::Roots {
        crate::Roots {
            proc: self.path("proc"),
            sys: self.path("sys"),
            dev: self.path("dev"),
            programs: vec![self.path("bin")],
        }
    }
}

/// A layer that is a disk.
pub fn disk(name: &str, number: (u32, u32)) -> model::Layer {
    model::Layer {
        kind: model::LayerKind::Disk,
        name: name.into(),
        level: 1,
        device: Some(number),
        facts: std::collections::BTreeMap::new(),
    }
}
