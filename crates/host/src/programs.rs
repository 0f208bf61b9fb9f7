//! Starts other programs: by their full path, never through a shell, and with a timeout.
//!
//! Programs that report on hardware are queried (`ask`) by their path in the system. A measuring program that the
//! user names is found as the user's shell would find it ([`find_by_path`]) and runs in its own process group
//! ([`run`]), so that everything it starts ends with it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::Roots;

/// More than any of them prints.
const LONGEST: u64 = 4 << 20;
/// How often a program that has closed its output is checked until it has ended.
const CHECK_PERIOD: Duration = Duration::from_millis(5);

/// A program's output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ProgramOutput {
    /// Its standard output.
    pub text: String,
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
}

/// Path of a program; `None` if it is not installed.
pub(crate) fn find(roots: &Roots, program: &str) -> Option<PathBuf> {
    roots.programs.iter().map(|place| place.join(program)).find(|path| path.is_file())
}

/// Runs a program and returns its output. `None` if it is not installed, cannot be started, or has not ended
/// within `timeout`; then it is killed. A program that hangs in the kernel, because its disk does, is abandoned.
pub(crate) fn ask(roots: &Roots, program: &str, args: &[&str], timeout: Duration) -> Option<ProgramOutput> {
    let until = Instant::now() + timeout;
    let mut child = Command::new(find(roots, program)?)
        .args(args)
        // Its output is parsed, so it must not be in the user's language.
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let (sender, output) = channel();
    let out = child.stdout.take()?;
    thread::spawn(move || {
        let mut text = Vec::new();
        let _ = out.take(LONGEST).read_to_end(&mut text);
        let _ = sender.send(text);
    });
    let text = output.recv_timeout(until.saturating_duration_since(Instant::now()));
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                let text = String::from_utf8_lossy(&text.ok()?).into_owned();
                return Some(ProgramOutput { text, code: status.code() });
            }
            Ok(None) if text.is_ok() && Instant::now() < until => thread::sleep(CHECK_PERIOD),
            _ => {
                let _ = child.kill();
                // Reaped, unless it hangs: then waiting would hang too.
                thread::sleep(CHECK_PERIOD);
                let _ = child.try_wait();
                return None;
            }
        }
    }
}

/// More than any measuring program prints, in bytes; fio's histograms need some hundred thousand.
const LONGEST_REPORT: u64 = 64 << 20;
/// Time that a program has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(3);
/// Time that the kernel has to end a killed program, and a reader to deliver what it has read. Tests wait longer,
/// because they also run on busy machines.
const LAST_GRACE: Duration = if cfg!(test) { Duration::from_secs(60) } else { GRACE };
/// How long a step that makes something may go on after an interruption: one that is ended in the middle can leave locks behind.
const STEP_GRACE: Duration = if cfg!(test) { Duration::from_secs(60) } else { GRACE };

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this exit code.
    Exited(i32),
    /// By this signal from another sender.
    Signalled(i32),
    /// It was ended because of its timeout.
    TookTooLong,
    /// It was ended because the user asked to stop.
    Interrupted,
    /// It was killed and does not end: it hangs in the kernel.
    Hangs,
}

/// The result of a measuring program.
#[derive(Debug)]
pub struct Ran {
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
    /// How it ended.
    pub end: End,
    /// From its start to its end.
    pub elapsed: Duration,
}

/// Path of a program that the user's shell would find, or that is in one of the system's usual directories, which
/// `PATH` often lacks; `None` if it is not installed.
pub fn find_by_path(roots: &Roots, program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own: Vec<PathBuf> = std::env::split_paths(&path).filter(|place| place.is_absolute()).collect();
    own.iter().chain(&roots.programs).map(|place| place.join(program)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Runs a program in `directory` until it ends, `timeout` has passed, or the user asks to stop. In the last two
/// cases it is asked to end, and then killed with everything that it has started.
///
/// # Errors
/// The kernel's error, if it cannot be started.
pub fn run(
    program: &Path,
    args: &[impl AsRef<OsStr>],
    directory: &Path,
    timeout: Duration,
    interrupt: &AtomicBool,
) -> io::Result<Ran> {
    let mut command = Command::new(program);
    command.args(args).current_dir(directory).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    run_command(command, timeout, interrupt, true)
}

/// [`run`] of a program that ends what it does also if this process is killed meanwhile: what it prints goes to memory and not
/// into a pipe without a reader. A file as its standard input stays locked until it has ended. Its standard output is dropped, and
/// what it starts and leaves, such as a filesystem in user space, goes on.
pub(crate) fn run_to_its_end(
    program: &Path,
    args: &[impl AsRef<OsStr>],
    timeout: Duration,
    interrupt: &AtomicBool,
    stdin: Stdio,
) -> io::Result<Ran> {
    let mut printed = in_memory()?;
    let mut command = Command::new(program);
    command.args(args).current_dir("/").stdin(stdin).stdout(Stdio::null()).stderr(printed.try_clone()?);
    let ran = run_command(command, timeout, interrupt, false)?;
    let mut stderr = Vec::new();
    printed.seek(SeekFrom::Start(0))?;
    printed.read_to_end(&mut stderr)?;
    Ok(Ran { stderr, ..ran })
}

/// A file that is nowhere but in memory.
pub(crate) fn in_memory() -> io::Result<File> {
    Ok(memfd_create("lodestone", MemfdFlags::CLOEXEC)?.into())
}

/// Runs a command; `is_all` if what it leaves running is ended.
fn run_command(
    mut command: Command,
    timeout: Duration,
    interrupt: &AtomicBool,
    is_all: bool,
) -> io::Result<Ran> {
    let began = Instant::now();
    // Its output is parsed, so it must not be in the user's language.
    let mut child = command.env("LC_ALL", "C").process_group(0).spawn()?;
    // It holds streams that the program has.
    drop(command);
    let group = Pid::from_child(&child);
    living().push(group);
    let (stdout, stderr) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let end = await_end(&mut child, group, began + timeout, interrupt, is_all);
    living().retain(|other| *other != group);
    let elapsed = began.elapsed();
    let output = |from: &Receiver<Vec<u8>>| from.recv_timeout(LAST_GRACE).unwrap_or_default();
    Ok(Ran { stdout: output(&stdout), stderr: output(&stderr), end, elapsed })
}

/// Reads all of a pipe in its own thread and keeps the beginning, so that the program never waits for its reader.
fn collect(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut kept = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(LONGEST_REPORT).read_to_end(&mut kept);
            let _ = io::copy(&mut pipe, &mut io::sink());
        }
        let _ = sender.send(kept);
    });
    receiver
}

fn await_end(child: &mut Child, group: Pid, until: Instant, interrupt: &AtomicBool, is_all: bool) -> End {
    let mut interrupted = None;
    let grace = if is_all { Duration::ZERO } else { STEP_GRACE };
    let why = loop {
        if interrupt.load(Ordering::Relaxed) {
            interrupted.get_or_insert_with(Instant::now);
        }
        match child.try_wait() {
            Ok(Some(status)) => {
                if is_all {
                    // Anything it left running would disturb what follows.
                    let _ = kill_process_group(group, Signal::KILL);
                }
                return ended(status);
            }
            _ if interrupted.is_some_and(|since| since.elapsed() >= grace) => break End::Interrupted,
            _ if Instant::now() >= until => break End::TookTooLong,
            _ => thread::sleep(CHECK_PERIOD),
        }
    };
    for (signal, grace) in [(Signal::TERM, GRACE), (Signal::KILL, LAST_GRACE)] {
        let _ = kill_process_group(group, signal);
        let asked = Instant::now();
        while asked.elapsed() < grace {
            if matches!(child.try_wait(), Ok(Some(_))) {
                let _ = kill_process_group(group, Signal::KILL);
                return why;
            }
            thread::sleep(CHECK_PERIOD);
        }
    }
    End::Hangs
}

fn ended(status: std::process::ExitStatus) -> End {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited(code),
        (None, signal) => End::Signalled(signal.unwrap_or(0)),
    }
}

/// A program that runs meanwhile, such as the connection to another machine. It ends with this value.
#[derive(Debug)]
pub struct Companion {
    child: Child,
    group: Pid,
    complaints: Arc<Mutex<Vec<u8>>>,
    /// Ends when all complaints are read.
    reading: Receiver<()>,
}

/// Of what a companion writes to standard error, the last bytes that are kept.
const KEPT_COMPLAINTS: usize = 4 << 10;

/// Starts a program whose standard input and output this process has. It is not in the process group of the terminal, so that
/// Ctrl-C does not end it.
///
/// # Errors
/// It is not installed, or the kernel's error.
pub fn accompany(roots: &Roots, words: &[String]) -> io::Result<(Companion, ChildStdin, ChildStdout)> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, "it is not installed");
    let (program, args) = words.split_first().ok_or_else(missing)?;
    let path = find_by_path(roots, program).ok_or_else(missing)?;
    let mut command = Command::new(path);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.process_group(0).spawn()?;
    let group = Pid::from_child(&child);
    let pipes = child.stdin.take().zip(child.stdout.take()).zip(child.stderr.take());
    let complaints = Arc::new(Mutex::new(Vec::new()));
    let (until_read, reading) = channel();
    let companion = Companion { child, group, complaints: Arc::clone(&complaints), reading };
    living().push(group);
    let ((stdin, stdout), mut stderr) = pipes.ok_or_else(missing)?;
    thread::spawn(move || {
        let mut part = [0; 1024];
        while let Ok(read @ 1..) = stderr.read(&mut part) {
            let mut kept = complaints.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend(&part[..read]);
            let excess = kept.len().saturating_sub(KEPT_COMPLAINTS);
            kept.drain(..excess);
        }
        drop(until_read);
    });
    Ok((companion, stdin, stdout))
}

impl Companion {
    /// The end of what it has written to standard error; if it has ended, all of that which can be read within `limit`.
    pub fn complaints(&self, limit: Duration) -> String {
        let _ = self.reading.recv_timeout(limit);
        let kept = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).trim().to_owned()
    }

    /// How it ended, if it does within `limit`.
    pub fn await_end(&mut self, limit: Duration) -> Option<End> {
        let asked = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(ended(status)),
                _ if asked.elapsed() >= limit => return None,
                _ => thread::sleep(CHECK_PERIOD),
            }
        }
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = kill_process_group(self.group, Signal::KILL);
            self.await_end(LAST_GRACE);
        }
        living().retain(|other| *other != self.group);
    }
}

/// Process groups of the measuring programs.
fn living() -> MutexGuard<'static, Vec<Pid>> {
    static LIVING: Mutex<Vec<Pid>> = Mutex::new(Vec::new());
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills all measuring programs, for when this process must end without waiting.
pub fn kill_all() {
    for group in living().iter() {
        let _ = kill_process_group(*group, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Tree;

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn a_program_is_started_by_its_path_without_a_shell() {
        let tree = Tree::new();
        tree.program("teller", "it's $HOME; `id`\n", 4);
        let output = ask(&tree.roots(), "teller", &["a; b"], LONG).unwrap();
        assert_eq!(output, ProgramOutput { text: "it's $HOME; `id`\n".into(), code: Some(4) });
        assert_eq!(ask(&tree.roots(), "sh", &[], LONG), None, "PATH is not searched");
    }

    /// A shell script in its own directory, and that directory.
    fn script(text: &str) -> (Tree, PathBuf, PathBuf) {
        let tree = Tree::new();
        tree.script("tool", &format!("{text}\n"));
        let (directory, path) = (tree.path("bin"), tree.path("bin/tool"));
        (tree, directory, path)
    }

    #[test]
    fn a_result_has_output_directory_and_exit_status() {
        let (_tree, directory, path) = script("pwd; echo \"$1\" >&2; exit 3");
        let ran = run(&path, &["a; b"], &directory, LONG, &AtomicBool::new(false)).unwrap();
        assert_eq!(String::from_utf8_lossy(&ran.stdout).trim(), directory.to_str().unwrap());
        assert_eq!(ran.stderr, b"a; b\n");
        assert_eq!(ran.end, End::Exited(3));
    }

    #[test]
    fn output_beyond_the_limit_does_not_block_the_program() {
        let (_tree, directory, path) = script("head -c 70000000 /dev/zero");
        let none: [&str; 0] = [];
        let ran = run(&path, &none, &directory, LONG, &AtomicBool::new(false)).unwrap();
        assert_eq!((ran.stdout.len() as u64, ran.end), (LONGEST_REPORT, End::Exited(0)));
    }

    #[test]
    fn what_was_interrupted_ends_at_once_or_what_it_does() {
        let (_tree, directory, path) = script("sleep $2; echo done >\"$1\"");
        let place = directory.join("made");
        let args = |seconds| [place.to_str().unwrap(), seconds];
        let interrupt = AtomicBool::new(true);
        let ran = run(&path, &args("600"), &directory, LONG, &interrupt).unwrap();
        assert_eq!((ran.end, place.exists()), (End::Interrupted, false));
        let ran = run_to_its_end(&path, &args("0.2"), LONG, &interrupt, Stdio::null()).unwrap();
        assert_eq!((ran.end, place.exists()), (End::Exited(0), true));
    }

    #[test]
    fn what_a_program_leaves_running_goes_on_only_if_it_was_run_to_its_end() {
        let (_tree, directory, path) = script("sleep 600 >&- 2>&- & echo $! >\"$1\"; echo said >&2");
        let place = directory.join("left");
        let args = [place.to_str().unwrap()];
        let left = || {
            let stat = format!("/proc/{}/stat", std::fs::read_to_string(&place).unwrap().trim());
            Process::parse(&std::fs::read_to_string(stat).unwrap_or_default()).map(|(process, _)| process)
        };
        let never = AtomicBool::new(false);
        let ran = run_to_its_end(&path, &args, LONG, &never, Stdio::null()).unwrap();
        assert_eq!((ran.stderr.as_slice(), ran.end), (&b"said\n"[..], End::Exited(0)));
        let process = left().filter(|process| process.is_alive()).expect("it still runs");
        let _ = rustix::process::kill_process(Pid::from_raw(process.number as i32).unwrap(), Signal::KILL);
        process.until_dead();
        run(&path, &args, &directory, LONG, &never).unwrap();
        left().into_iter().for_each(Process::until_dead);
    }

    /// A process by its ID and start time, which distinguishes it from a later one with the same ID.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Process {
        number: u32,
        start: u64,
    }

    impl Process {
        /// From its `/proc/PID/stat` (proc(5)), with its state.
        fn parse(stat: &str) -> Option<(Self, String)> {
            let number = stat.split_once(' ')?.0.parse().ok()?;
            let mut words = stat.rsplit_once(')')?.1.split_whitespace();
            let state = words.next()?.to_owned();
            Some((Self { number, start: words.nth(18)?.parse().ok()? }, state))
        }

        /// Whether it exists and is not merely waiting to be reaped by the process that inherited it.
        fn is_alive(self) -> bool {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.number)).unwrap_or_default();
            Self::parse(&stat).is_some_and(|(found, state)| found == self && state != "Z")
        }

        /// A dying process closes its pipe early, so it may still be ending.
        #[track_caller]
        fn until_dead(self) {
            let deadline = Instant::now() + Duration::from_secs(60);
            while self.is_alive() {
                assert!(Instant::now() < deadline, "{self:?} is still alive");
                thread::sleep(CHECK_PERIOD);
            }
        }
    }

    /// The process that a script has reported. A script that was ended before it did so is retried with twice the
    /// time.
    #[track_caller]
    fn reported_in_time(attempt: impl FnMut(Duration) -> String) -> Process {
        let timeouts = (0..8).map(|doublings| Duration::from_millis(500 << doublings));
        let process = timeouts.map(attempt).find_map(|stat| Process::parse(&stat));
        process.expect("the script has reported a process").0
    }

    /// Ignores the request to end. Reports a process that it has started, and then that it is ready.
    const STUBBORN: &str = "trap '' TERM\nsleep 1000 >/dev/null 2>&1 &\nread -r stat </proc/$!/stat\necho \"$stat\"\n\
                            : >ready\nwhile :; do sleep 1; done";

    /// fio works in several processes; killing only the first would leave the others writing.
    #[test]
    fn a_timeout_kills_the_program_and_all_its_children() {
        let (_tree, directory, path) = script(STUBBORN);
        let none: [&str; 0] = [];
        let child = reported_in_time(|timeout| {
            let ran = run(&path, &none, &directory, timeout, &AtomicBool::new(false)).unwrap();
            assert_eq!(ran.end, End::TookTooLong);
            String::from_utf8_lossy(&ran.stdout).into_owned()
        });
        child.until_dead();
    }

    #[test]
    fn an_interrupt_kills_the_program_and_all_its_children() {
        let (_tree, directory, path) = script(STUBBORN);
        let (ready, interrupt) = (directory.join("ready"), AtomicBool::new(false));
        let none: [&str; 0] = [];
        let ran = thread::scope(|scope| {
            scope.spawn(|| {
                let deadline = Instant::now() + LONG / 2;
                while !ready.exists() && Instant::now() < deadline {
                    thread::sleep(CHECK_PERIOD);
                }
                interrupt.store(true, Ordering::Relaxed);
            });
            run(&path, &none, &directory, LONG, &interrupt).unwrap()
        });
        assert_eq!(ran.end, End::Interrupted);
        let (child, _) = Process::parse(&String::from_utf8_lossy(&ran.stdout)).unwrap();
        child.until_dead();
    }

    #[test]
    fn files_that_a_shell_would_not_start_are_not_found() {
        assert!(find_by_path(&Roots::default(), "sh").is_some());
        assert_eq!(find_by_path(&Roots::default(), "no-such-program-anywhere"), None);
        let (_tree, directory, path) = script("");
        let roots = Roots { programs: vec![directory], ..Roots::default() };
        assert_eq!(find_by_path(&roots, "tool"), Some(path.clone()));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(find_by_path(&roots, "tool"), None);
    }

    #[test]
    fn a_program_that_does_not_end_is_abandoned() {
        let tree = Tree::new();
        let stat_file = tree.path("stat");
        // By the shell alone: a program that it starts would not be killed with it.
        let report = format!("read -r stat </proc/$$/stat\necho \"$stat\" >'{}'\n", stat_file.display());
        tree.script("sleeper", &format!("{report}exec sleep 1000\n"));
        let sleeper = reported_in_time(|timeout| {
            assert_eq!(ask(&tree.roots(), "sleeper", &[], timeout), None);
            std::fs::read_to_string(&stat_file).unwrap_or_default()
        });
        sleeper.until_dead();
    }
}
