//! Unmounting a target as soon as the program has ended: ext4, xfs and btrfs on loop devices, each engine, and Ctrl-C.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use testing::{LoopDevice, Mounted, signal, tool};

use crate::outcome::Outcome;

const FILESYSTEMS: [&str; 3] = ["ext4", "xfs", "btrfs"];
const ENGINES: [&str; 4] = ["io_uring", "libaio", "psync", "mmap"];
const IMAGE_BYTES: u64 = 400 << 20;
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
    for number in 0..count {
        let (kind, filesystem) = &filesystems[rng.random_range(0..filesystems.len())];
        let engine = ENGINES[rng.random_range(0..ENGINES.len())];
        let interrupt_ms = rng.random_bool(0.25).then(|| rng.random_range(0..LATEST_INTERRUPT_MS));
        let mounted = filesystem.as_ref().and_then(|filesystem| Some((filesystem, filesystem.mount()?)));
        let Some((filesystem, mounted)) = mounted else {
            outcome.count("not possible here");
            continue;
        };
        let what = || {
            let how = interrupt_ms.map_or(String::new(), |ms| format!(", Ctrl-C after {ms} ms"));
            format!("attempt {number} of seed {seed}, {kind}, {engine}{how}")
        };
        let ended = filesystem.measure(program, engine, interrupt_ms);
        // A busy filesystem is unmounted a little later, so that the next attempt can mount it.
        match mounted.unmount().and(ended) {
            Ok(()) if interrupt_ms.is_some() => outcome.count("unmounted after Ctrl-C"),
            Ok(()) => outcome.count("unmounted at once"),
            Err(why) => outcome.fail(format!("{}: {why}", what())),
        }
    }
    drop(filesystems);
    let _ = std::fs::remove_dir_all(&scratch);
    outcome
}

/// A filesystem on a loop device that is detached on drop.
struct Filesystem {
    device: LoopDevice,
    point: PathBuf,
    store: PathBuf,
}

impl Filesystem {
    fn new(scratch: &Path, kind: &str) -> Option<Self> {
        let directory = scratch.join(kind);
        std::fs::create_dir_all(&directory).ok()?;
        let device = LoopDevice::new(&directory.join("image"), IMAGE_BYTES)?;
        let force = if kind == "ext4" { "-F" } else { "-f" };
        tool(&format!("mkfs.{kind}"), &["-q", force, &device.path])?;
        Some(Self { device, point: directory.join("mounted"), store: directory.join("store") })
    }

    fn mount(&self) -> Option<Mounted> {
        Mounted::on(&self.point, &[&self.device.path])
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
            signal(child.id(), "INT")?;
        }
        let status = child.wait().map_err(|error| error.to_string())?;
        match (status.code(), status.signal(), interrupt_ms) {
            (Some(0), _, None) | (Some(INTERRUPTED), _, Some(_)) => Ok(()),
            // The interrupt came before the program watched for it.
            (_, Some(SIGINT), Some(_)) => Ok(()),
            _ => Err(format!("the program ended with {status}")),
        }
    }
}
