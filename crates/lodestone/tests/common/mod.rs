//! What the tests of the program share: a store and a directory of their own, and the program itself.

#![allow(dead_code)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A place to measure and a store, both gone with the value.
pub struct Bench {
    root: TempDir,
}

impl Bench {
    /// On the disk that holds the build, so that direct I/O is real.
    pub fn new() -> Self {
        let bench = Self { root: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() };
        std::fs::create_dir(bench.disk()).unwrap();
        bench
    }

    /// The directory to measure.
    pub fn disk(&self) -> PathBuf {
        self.root.path().join("disk")
    }

    /// Another place in the same scratch directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn store(&self) -> PathBuf {
        self.root.path().join("store")
    }

    /// The program with this store, without the user's settings.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
        command.args(args).arg("--store").arg(self.store()).current_dir(self.root.path());
        for name in ["XDG_DATA_HOME", "NO_COLOR", "COLUMNS"] {
            command.env_remove(name);
        }
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs the program, which must succeed, and returns its standard output.
    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {:?}\n{}", output.status, stderr(&output));
        stdout(&output)
    }

    /// Runs the program, which must fail with this exit code, and returns what it said.
    #[track_caller]
    pub fn fails(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}\n{}{}", stdout(&output), stderr(&output));
        stderr(&output)
    }

    /// A short run of one workload on the disk, as JSON.
    #[track_caller]
    pub fn json(&self, options: &[&str]) -> serde_json::Value {
        let disk = self.disk();
        let mut args = vec!["run", disk.to_str().unwrap(), "--json", "--quiet"];
        args.extend(options);
        serde_json::from_str(&self.ok(&args)).expect("the output is JSON and nothing else")
    }

    /// Names of everything that is visible in the measured directory.
    pub fn visible(&self) -> Vec<String> {
        visible(&self.disk())
    }
}

pub fn visible(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Says aloud, past the test harness, that something could not be tested here.
pub fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// Runs a tool of the system; `None`, said aloud, if it is missing or refuses.
pub fn tool(program: &str, args: &[&str]) -> Option<String> {
    match Command::new(program).args(args).output() {
        Ok(output) if output.status.success() => Some(stdout(&output).trim().to_owned()),
        Ok(output) => {
            skipped(&format!("{program} {args:?} failed: {}", stderr(&output).trim()));
            None
        }
        Err(error) => {
            skipped(&format!("{program} cannot be started: {error}"));
            None
        }
    }
}

/// True if this process may mount and set up devices.
pub fn is_root() -> bool {
    let root = tool("id", &["-u"]).is_some_and(|id| id == "0");
    if !root {
        skipped("needs root");
    }
    root
}

/// A loop device over an image file, taken away with the value.
pub struct LoopDevice {
    pub path: String,
}

impl LoopDevice {
    pub fn new(image: &Path, bytes: u64) -> Option<Self> {
        if !is_root() {
            return None;
        }
        std::fs::File::create(image).unwrap().set_len(bytes).unwrap();
        let path = tool("losetup", &["--find", "--show", image.to_str().unwrap()])?;
        Some(Self { path })
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.path]).status();
    }
}

/// A mounted filesystem, unmounted with the value.
pub struct Mount {
    pub point: PathBuf,
}

impl Mount {
    pub fn new(args: &[&str], point: &Path) -> Option<Self> {
        std::fs::create_dir_all(point).unwrap();
        let mut all = args.to_vec();
        all.push(point.to_str().unwrap());
        tool("mount", &all)?;
        Some(Self { point: point.to_owned() })
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // The kernel may still be closing the files of a process that has just ended.
        for _ in 0..50 {
            let unmounted =
                Command::new("umount").arg(&self.point).stderr(std::process::Stdio::null()).status();
            if unmounted.is_ok_and(|status| status.success()) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
}
