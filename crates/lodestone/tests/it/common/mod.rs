//! Shared by the tests of the program: a separate store and directory for each test, and the program itself.

mod schema;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

pub use schema::conforms;
use tempfile::TempDir;
pub use testing::*;

/// What has not happened by then never will, however slow the machine is.
pub const TIMEOUT: Duration = Duration::from_secs(1800);
/// Period of checks for it.
const POLL_PERIOD: Duration = Duration::from_millis(10);

/// A directory to measure and a store, both removed with the value.
pub struct Bench {
    root: TempDir,
    /// Where the directory to measure is, if not in `root`.
    memory: Option<TempDir>,
}

impl Bench {
    /// On the disk that holds the build, so that direct I/O is real.
    pub fn new() -> Self {
        Self::measuring(None)
    }

    /// The directory to measure is in memory if there is room, else on the disk: a sync in memory does not wait for
    /// other writes.
    pub fn in_memory() -> Self {
        Self::measuring(memory())
    }

    fn measuring(memory: Option<TempDir>) -> Self {
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let bench = Self { root, memory };
        std::fs::create_dir(bench.disk()).unwrap();
        std::fs::create_dir(bench.scratch()).unwrap();
        bench
    }

    /// The directory to measure.
    pub fn disk(&self) -> PathBuf {
        self.memory.as_ref().unwrap_or(&self.root).path().join("disk")
    }

    /// The program's directory for temporary files, shared with no other session.
    fn scratch(&self) -> PathBuf {
        self.root.path().join("tmp")
    }

    /// Another path in the same scratch directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn store(&self) -> PathBuf {
        self.root.path().join("store")
    }

    /// The program with this store, without the user's settings. A run does not wait for a quiet disk: other tests use it
    /// too.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lodestone"));
        let settle: &[&str] = if args.first() == Some(&"run") { &["--settle", "0s"] } else { &[] };
        command.args(args).args(settle).arg("--store").arg(self.store()).current_dir(self.root.path());
        for name in ["XDG_DATA_HOME", "NO_COLOR", "COLUMNS"] {
            command.env_remove(name);
        }
        command.env("XDG_RUNTIME_DIR", self.scratch()).env("TMPDIR", self.scratch());
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs the program, which must succeed, and returns its standard output.
    #[track_caller]
    /// Runs the program from a shell with a limit of `ulimit`.
    pub fn limited(&self, limit: &str, args: &[&str]) -> Output {
        let plain = self.command(args);
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("ulimit {limit} && exec \"$0\" \"$@\"")).arg(plain.get_program());
        shell.args(plain.get_args()).current_dir(plain.get_current_dir().unwrap());
        shell.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?)))).output().unwrap()
    }

    pub fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {:?}\n{}", output.status, stderr(&output));
        stdout(&output)
    }

    /// Runs the program, which must fail with this exit code, and returns its standard error.
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

    /// Replaces a tool by a script, which is found before the real tool with the returned `PATH`.
    pub fn instead(&self, tool: &str, script: &str) -> String {
        let directory = self.path("programs");
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join(tool);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        format!("{}:{}", directory.display(), std::env::var("PATH").unwrap_or_default())
    }
}

/// A directory in memory, if there is room for the data of a test.
fn memory() -> Option<TempDir> {
    const ROOM: u64 = 512 << 20;
    let shm = Path::new("/dev/shm");
    let space = rustix::fs::statvfs(shm).ok()?;
    let has_room = space.f_bavail * space.f_frsize >= ROOM;
    has_room.then(|| tempfile::tempdir_in(shm).ok()).flatten()
}

/// Waits until a killed process no longer exists, or is a zombie.
#[track_caller]
pub fn until_dead(pid: u32) {
    let began = Instant::now();
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") {
            return;
        }
        assert!(began.elapsed() < TIMEOUT, "it still runs: {stat}");
        std::thread::sleep(POLL_PERIOD);
    }
}

/// The running program. It is killed with the value.
pub struct Running {
    child: Child,
    /// Files with its output, so that it never waits for a reader.
    written: TempDir,
}

impl Running {
    pub fn start(command: &mut Command) -> Self {
        let written = tempfile::tempdir().unwrap();
        let stdout = std::fs::File::create(written.path().join("stdout")).unwrap();
        Self::with_stdout(command, stdout.into(), written)
    }

    /// As [`Running::start`], with standard output elsewhere.
    pub fn writing_to(command: &mut Command, stdout: impl Into<Stdio>) -> Self {
        Self::with_stdout(command, stdout.into(), tempfile::tempdir().unwrap())
    }

    fn with_stdout(command: &mut Command, stdout: Stdio, written: TempDir) -> Self {
        let stderr = std::fs::File::create(written.path().join("stderr")).unwrap();
        Self { child: command.stdout(stdout).stderr(stderr).spawn().unwrap(), written }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Presses Ctrl-C, which does nothing if the program has ended already.
    #[track_caller]
    pub fn press(&mut self) {
        if self.child.try_wait().unwrap().is_none() {
            signal(self.child.id(), "INT").unwrap();
        }
    }

    /// Sends it a signal, such as `STOP`.
    #[track_caller]
    pub fn signal(&mut self, name: &str) {
        // The id of a process that was waited for may belong to another one.
        let has_ended = self.child.try_wait().unwrap().is_some();
        assert!(!has_ended, "it ended before {name}\n{}", self.written("stderr"));
        signal(self.child.id(), name).unwrap();
    }

    /// Waits for an event, which must come before the program ends.
    #[track_caller]
    pub fn until(&mut self, what: &str, has_come: impl Fn() -> bool) {
        let began = Instant::now();
        loop {
            let has_ended = self.child.try_wait().unwrap().is_some();
            if has_come() {
                return;
            }
            assert!(!has_ended, "it ended before {what}\n{}", self.written("stderr"));
            assert!(began.elapsed() < TIMEOUT, "{what} has not come\n{}", self.written("stderr"));
            std::thread::sleep(POLL_PERIOD);
        }
    }

    /// Waits until it has printed this on standard error.
    #[track_caller]
    pub fn until_printed(&mut self, words: &str) {
        let stderr = self.written.path().join("stderr");
        let has_printed = || String::from_utf8_lossy(&std::fs::read(&stderr).unwrap()).contains(words);
        self.until(&format!("`{words}`"), has_printed);
    }

    /// Waits for its end.
    #[track_caller]
    pub fn output(mut self) -> Output {
        let began = Instant::now();
        let status: ExitStatus = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(began.elapsed() < TIMEOUT, "it does not end\n{}", self.written("stderr"));
            std::thread::sleep(POLL_PERIOD);
        };
        let [stdout, stderr] = ["stdout", "stderr"].map(|name| self.written(name).into_bytes());
        Output { status, stdout, stderr }
    }

    fn written(&self, name: &str) -> String {
        let bytes = std::fs::read(self.written.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The text of a log, compressed or not.
pub fn text_of(log: &Path) -> String {
    let log = record::decompressed(std::fs::File::open(log).unwrap()).unwrap();
    std::io::read_to_string(log).unwrap()
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

/// A copy of the program in `directory`, which every user may enter and start.
pub fn program_for_everyone(directory: &Path) -> PathBuf {
    let program = directory.join("lodestone");
    std::fs::copy(env!("CARGO_BIN_EXE_lodestone"), &program).unwrap();
    for path in [directory, &program] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    program
}
