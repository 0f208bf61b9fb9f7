//! Unmounting a target as soon as the program has ended: ext4, xfs and btrfs on loop devices, each engine, and Ctrl-C.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::outcome::Outcome;

const FILESYSTEMS: [&str; 3] = ["ext4", "xfs", "btrfs"];
const ENGINES: [&str; 4] = ["io_uring", "libaio", "psync", "mmap"];
const IMAGE_BYTES: u64 = 400 << 20;
/// How long to retry the unmount of a busy filesystem, so that the next attempt can mount it.
const CLEAN_UP: Duration = Duration::from_secs(30);
/// The program's exit code after an interrupt by the user.
const INTERRUPTED: i32 = 130;
/// The signal that Ctrl-C sends.
const SIGINT: i32 = 2;
/// The latest moment of Ctrl-C, in milliseconds after the start.
const LATEST_INTERRUPT_MS: u64 = 1500;

/// Runs `program` `count` times on freshly mounted filesystems and unmounts each after the program ends; the first
/// unmount must succeed. Ctrl-C ends a quarter of the runs at a random time. Needs root and the filesystems' tools; a
/// filesystem that cannot be set up counts as `not possible here`.
pub fn umounts(program: &Path, count: u64, seed: u64) -> Outcome {
    let mut outcome = Outcome::default();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let scratch = std::env::temp_dir().join(format!("lodestone-umounts-{}", std::process::id()));
    let filesystems: Vec<(&str, Option<Filesystem>)> =
        FILESYSTEMS.iter().map(|kind| (*kind, Filesystem::new(&scratch, kind))).collect();
    for attempt in 0..count {
        let (kind, filesystem) = &filesystems[rng.random_range(0..filesystems.len())];
        let engine = ENGINES[rng.random_range(0..ENGINES.len())];
        let interrupt_ms = rng.random_bool(0.25).then(|| rng.random_range(0..LATEST_INTERRUPT_MS));
        let Some(filesystem) = filesystem.as_ref().filter(|filesystem| filesystem.mount()) else {
            outcome.count("not possible here");
            continue;
        };
        let what = || {
            let how = interrupt_ms.map_or(String::new(), |ms| format!(", Ctrl-C after {ms} ms"));
            format!("attempt {attempt} of seed {seed}, {kind}, {engine}{how}")
        };
        let ended = filesystem.measure(program, engine, interrupt_ms);
        match command("umount", &[filesystem.point.as_os_str()]) {
            Ok(_) => match ended {
                Ok(()) if interrupt_ms.is_some() => outcome.count("unmounted after Ctrl-C"),
                Ok(()) => outcome.count("unmounted at once"),
                Err(why) => outcome.fail(format!("{}: {why}", what())),
            },
            Err(why) => {
                outcome.fail(format!("{}: {why}", what()));
                filesystem.unmount();
            }
        }
    }
    drop(filesystems);
    let _ = std::fs::remove_dir_all(&scratch);
    outcome
}

/// A filesystem on a loop device that is detached on drop.
struct Filesystem {
    device: String,
    point: PathBuf,
    store: PathBuf,
}

impl Filesystem {
    fn new(scratch: &Path, kind: &str) -> Option<Self> {
        let directory = scratch.join(kind);
        let (image, point) = (directory.join("image"), directory.join("mounted"));
        std::fs::create_dir_all(&point).ok()?;
        std::fs::File::create(&image).ok()?.set_len(IMAGE_BYTES).ok()?;
        let device = command("losetup", &["--find".as_ref(), "--show".as_ref(), image.as_os_str()]).ok()?;
        let made = Self { device: device.trim().to_owned(), point, store: directory.join("store") };
        let force = if kind == "ext4" { "-F" } else { "-f" };
        command(&format!("mkfs.{kind}"), &["-q".as_ref(), force.as_ref(), made.device.as_ref()]).ok()?;
        Some(made)
    }

    fn mount(&self) -> bool {
        command("mount", &[self.device.as_ref(), self.point.as_os_str()]).is_ok()
    }

    /// Runs the program; an unexpected end is an error.
    fn measure(&self, program: &Path, engine: &str, interrupt_ms: Option<u64>) -> Result<(), String> {
        let end = if interrupt_ms.is_some() { ["--runtime", "60s"] } else { ["--ops", "256"] };
        let options = ["--rw", "randrw", "--size", "8MiB", "--iodepth", "32", "--jobs", "2", "--rounds", "1"];
        let mut child = Command::new(program)
            .arg("run")
            .arg(&self.point)
            .arg("--store")
            .arg(&self.store)
            .args(["--quiet", "--no-report", "--telemetry", "off", "--settle", "0s", "--engine", engine])
            .args(end)
            .args(options)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        if let Some(ms) = interrupt_ms {
            thread::sleep(Duration::from_millis(ms));
            let pid = child.id().to_string();
            command("kill", &["-INT".as_ref(), pid.as_ref()])?;
        }
        let status = child.wait().map_err(|error| error.to_string())?;
        match (status.code(), status.signal(), interrupt_ms) {
            (Some(0), _, None) | (Some(INTERRUPTED), _, Some(_)) => Ok(()),
            // The interrupt came before the program watched for it.
            (_, Some(SIGINT), Some(_)) => Ok(()),
            _ => Err(format!("the program ended with {status}")),
        }
    }

    fn unmount(&self) {
        let until = Instant::now() + CLEAN_UP;
        while command("umount", &[self.point.as_os_str()]).is_err() && Instant::now() < until {
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Filesystem {
    fn drop(&mut self) {
        let _ = command("losetup", &["--detach".as_ref(), self.device.as_ref()]);
    }
}

/// Runs a system tool and returns its output or its error message.
fn command(program: &str, args: &[&std::ffi::OsStr]) -> Result<String, String> {
    let Output { status, stdout, stderr } =
        Command::new(program).args(args).output().map_err(|error| format!("{program}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if status.success() { Ok(text(&stdout)) } else { Err(format!("{program}: {}", text(&stderr))) }
}
