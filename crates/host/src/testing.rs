//! Shared by the tests of this crate: what the tests of all crates share, claims of devices, and machines made of files.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

pub use ::testing::*;

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
