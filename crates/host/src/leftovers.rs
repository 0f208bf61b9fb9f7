//! Finding and removing what a killed run had to leave behind.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::read_line;
use crate::testfiles::PRIVATE_PREFIX;

const FILE: &str = "manifest.json";

/// Whose a private directory is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    run: String,
    pid: u32,
    /// Start of the process in clock ticks since boot, so that a reused pid is not mistaken for it.
    process_start: u64,
    /// The kernel's id of this boot.
    boot: String,
}

impl Manifest {
    pub fn of_this_process(run: &str) -> Self {
        let pid = std::process::id();
        Self { run: run.to_owned(), pid, process_start: process_start(pid).unwrap_or(0), boot: boot_id() }
    }

    pub fn write(&self, directory: &Path) -> io::Result<()> {
        fs::write(directory.join(FILE), serde_json::to_string(self)?)
    }

    fn read(directory: &Path) -> Option<Self> {
        serde_json::from_str(&fs::read_to_string(directory.join(FILE)).ok()?).ok()
    }

    fn is_alive(&self) -> bool {
        self.boot == boot_id() && process_start(self.pid) == Some(self.process_start)
    }
}

fn boot_id() -> String {
    read_line("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// Field 22 of `/proc/PID/stat` (proc(5)), counted after the command's closing bracket.
fn process_start(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// A private directory whose run is no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Where it is.
    pub path: PathBuf,
    /// The run's id.
    pub run: String,
    /// Bytes of the files in it.
    pub bytes: u64,
}

/// The private directories directly below `directory` whose process has ended. A directory that only
/// looks like one, without a manifest of ours, is not touched.
pub fn find(directory: &Path) -> Vec<Leftover> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut found: Vec<Leftover> = entries
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with(PRIVATE_PREFIX))
        .filter(|e| e.file_type().is_ok_and(|t| t.is_dir()))
        .filter_map(|e| {
            let manifest = Manifest::read(&e.path()).filter(|m| !m.is_alive())?;
            Some(Leftover { bytes: bytes_below(&e.path()), path: e.path(), run: manifest.run })
        })
        .collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
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

/// Removes a leftover with everything in it.
///
/// # Errors
/// The kernel's.
pub fn remove(leftover: &Leftover) -> io::Result<()> {
    fs::remove_dir_all(&leftover.path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testfiles::PrivateDirectory;

    #[test]
    fn the_directory_of_a_living_run_is_no_leftover_that_of_a_dead_one_is() {
        let parent = tempfile::tempdir().unwrap();
        let private = PrivateDirectory::create(parent.path(), "abc").unwrap();
        fs::write(private.path().join("data0"), [0; 100]).unwrap();
        assert_eq!(find(parent.path()), []);

        let dead = Manifest { process_start: 1, ..Manifest::of_this_process("abc") };
        dead.write(private.path()).unwrap();
        let found = find(parent.path());
        assert_eq!((found.len(), found[0].run.as_str()), (1, "abc"));
        assert!(found[0].bytes >= 100);
        remove(&found[0]).unwrap();
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_another_boot_left_is_a_leftover() {
        let parent = tempfile::tempdir().unwrap();
        let private = PrivateDirectory::create(parent.path(), "abc").unwrap();
        Manifest { boot: "another".into(), ..Manifest::of_this_process("abc") }
            .write(private.path())
            .unwrap();
        assert_eq!(find(parent.path()).len(), 1);
    }

    #[test]
    fn directories_without_a_manifest_are_not_ours() {
        let parent = tempfile::tempdir().unwrap();
        fs::create_dir(parent.path().join(".lodestone-mine")).unwrap();
        fs::write(parent.path().join(".lodestone-file"), "x").unwrap();
        assert_eq!(find(parent.path()), []);
    }
}
