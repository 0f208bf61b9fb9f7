//! Loop devices, mounts and mount namespaces.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{WholeMachine, attempt, is_root, skipped, tool, whole_machine};

/// How long a filesystem may be held by a program that another test is just starting.
const BUSY_LIMIT: Duration = Duration::from_secs(60);

/// A loop device over an image file, detached with the value.
#[derive(Debug)]
pub struct LoopDevice {
    /// The device, such as `/dev/loop0`.
    pub path: String,
    _machine: WholeMachine,
}

impl LoopDevice {
    /// Makes an image of this size with a device over it. `None`, with a report, if that is not possible here.
    pub fn new(image: &Path, bytes: u64) -> Option<Self> {
        if !is_root() {
            return None;
        }
        File::create(image).and_then(|file| file.set_len(bytes)).ok()?;
        Self::over(image)
    }

    /// Sets up a device over an existing image. `None`, with a report, if that is not possible here.
    pub fn over(image: &Path) -> Option<Self> {
        Self::with(image, &[])
    }

    /// As [`LoopDevice::over`], with options of `losetup`.
    pub fn with(image: &Path, options: &[&str]) -> Option<Self> {
        let machine = whole_machine();
        let path = tool("losetup", &[&["--find", "--show"], options, &[image.to_str()?]].concat())?;
        Some(Self { path, _machine: machine })
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = tool("losetup", &["--detach", &self.path]);
    }
}

/// A mounted filesystem, unmounted with the value.
#[derive(Debug)]
pub struct Mounted {
    /// Where it is mounted.
    pub point: PathBuf,
    is_there: bool,
    _machine: WholeMachine,
}

impl Mounted {
    /// Mounts with these arguments on a directory, which is made, or on an existing file. `None`, with a report, if that
    /// is not possible here.
    pub fn on(point: &Path, args: &[&str]) -> Option<Self> {
        let machine = whole_machine();
        if !point.exists() {
            std::fs::create_dir_all(point).ok()?;
        }
        tool("mount", &[args, &[point.to_str()?]].concat())?;
        Some(Self { point: point.to_owned(), is_there: true, _machine: machine })
    }

    /// Unmounts it in one attempt.
    ///
    /// # Errors
    /// What `umount` prints; then dropping the value tries again.
    pub fn unmount(mut self) -> Result<(), String> {
        self.detach(&[])
    }

    /// Detaches it from the tree of mounts, even if something still has a file open there.
    pub fn unmount_lazily(mut self) -> Option<()> {
        self.detach(&["-l"]).map_err(|why| skipped(&why)).ok()
    }

    fn detach(&mut self, options: &[&str]) -> Result<(), String> {
        let point = self.point.to_str().ok_or("a mount point that is not UTF-8")?;
        attempt("umount", &[options, &[point]].concat())?;
        self.is_there = false;
        Ok(())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let deadline = Instant::now() + BUSY_LIMIT;
        while self.is_there && self.detach(&[]).is_err() {
            if Instant::now() > deadline {
                let _ = self.detach(&["-l"]);
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// A shell in its own mount namespace, which runs until its standard input ends. It has copies of all mounts of the
/// moment when it was made: a test has none of its own then.
#[derive(Debug)]
pub struct Namespace(Child);

impl Namespace {
    /// Starts the shell and waits until it has run the script. `None`, with a report, if that is not possible here.
    pub fn with(script: &str) -> Option<Self> {
        let _no_mounts_of_others = whole_machine();
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
