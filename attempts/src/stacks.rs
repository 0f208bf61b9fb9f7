//! Storage stacks that `run` makes: ended by itself, by a step that fails, by Ctrl-C and by kills at random moments. Afterwards
//! nothing of them may be left.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use testing::{attempt, signal};

use crate::outcome::{Outcome, Verdict};

/// Stacks that can be made, and one whose mount fails.
const STACKS: [&str; 7] =
    ["ext4", "ext4(noatime)", "xfs", "btrfs", "btrfs(compress=zstd:1)", "btrfs-raid1", FAILING];
const FAILING: &str = "ext4(no_such_option=1)";
/// The size of an image: xfs needs 300 MiB.
const SIZE: &str = "304MiB";
/// The latest moment of a signal, in milliseconds after the start.
const LATEST_MS: u64 = 2000;

/// How a run ends.
#[derive(Clone, Copy, Debug)]
enum End {
    ByItself,
    Interrupt(u64),
    Kill(u64),
}

/// Runs `program` on `count` random lists of stacks in images below `root`, which must be empty. Needs root and the tools of
/// ext4, xfs and btrfs.
pub fn stacks(program: &Path, root: &Path, count: u64, seed: u64) -> Outcome {
    let mut outcome = Outcome::default();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    for number in 0..count {
        let n = rng.random_range(1..4);
        let stacks: Vec<&str> = STACKS.sample(&mut rng, n).copied().collect();
        let moment = rng.random_range(0..LATEST_MS);
        let end = *[End::ByItself, End::Interrupt(moment), End::Kill(moment), End::Kill(moment)]
            .choose(&mut rng)
            .expect("there are several");
        let bench = Bench { program, root: root.join(number.to_string()) };
        match bench.attempt(&stacks.join(","), end) {
            Ok(how) => outcome.count(how),
            Err(why) => {
                outcome
                    .fail(format!("attempt {number} of seed {seed}, {}, {end:?}: {why}", stacks.join(",")));
            }
        }
    }
    outcome
}

struct Bench<'a> {
    program: &'a Path,
    root: PathBuf,
}

impl Bench<'_> {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command.args(args).current_dir(&self.root).env("STATE_DIRECTORY", self.root.join("state"));
        command
    }

    fn output(&self, args: &[&str]) -> Result<Output, String> {
        self.command(args).output().map_err(|error| error.to_string())
    }

    fn attempt(&self, stacks: &str, end: End) -> Verdict {
        let images = self.root.join("images");
        std::fs::create_dir_all(&images).map_err(|error| error.to_string())?;
        let how = self.run(stacks, end)?;
        if matches!(end, End::Kill(_)) {
            let destroyed = self.output(&["stack", "destroy", "--all"])?;
            if !destroyed.status.success() {
                return Err(format!("destroy failed: {}", String::from_utf8_lossy(&destroyed.stderr)));
            }
        }
        let left = self.left(&images)?;
        if !left.is_empty() {
            return Err(format!("left: {}", left.join(", ")));
        }
        std::fs::remove_dir_all(&self.root).map_err(|error| error.to_string())?;
        Ok(how)
    }

    /// Makes and measures stacks; an unexpected end is an error.
    fn run(&self, stacks: &str, end: End) -> Verdict {
        let on = format!("image:{}:{SIZE}", self.root.join("images").display());
        let rounds = if matches!(end, End::ByItself) { "1" } else { "100000" };
        let mut child = self
            .command(&["run", "--on", &on, "--stack", stacks, "--store", "store", "--settle", "0s"])
            .args(["--quiet", "--no-report", "--telemetry", "off", "--rounds", rounds])
            .args(["--rw", "randrw", "--size", "8MiB", "--ops", "256", "--runtime", "none"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let send = |moment: u64, name: &str| {
            thread::sleep(Duration::from_millis(moment));
            // It may have ended already: a stack fails.
            let _ = signal(child.id(), name);
        };
        match end {
            End::ByItself => {}
            End::Interrupt(moment) => send(moment, "INT"),
            End::Kill(moment) => send(moment, "KILL"),
        }
        let status = child.wait().map_err(|error| error.to_string())?;
        let fails = stacks.split(',').any(|stack| stack == FAILING);
        match (status.code(), status.signal()) {
            (Some(0), _) if !fails => Ok("measured"),
            (Some(3), _) if fails => Ok("a step failed"),
            // SIGINT ends it before it watches for it.
            (Some(130), _) | (_, Some(2)) if matches!(end, End::Interrupt(_)) => Ok("interrupted"),
            (_, Some(9)) if matches!(end, End::Kill(_)) => Ok("killed and destroyed"),
            _ => Err(format!("the program ended with {status}")),
        }
    }

    /// What is on the machine of this attempt: images, journals, mounts, loop devices.
    fn left(&self, images: &Path) -> Result<Vec<String>, String> {
        let root = self.root.display().to_string();
        let mut left = Vec::new();
        for directory in [images, &self.root.join("state/stacks")] {
            let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
            left.extend(entries.map(|entry| entry.path().display().to_string()));
        }
        let mounts = std::fs::read_to_string("/proc/self/mounts").map_err(|error| error.to_string())?;
        let loops = attempt("losetup", &["--list", "--noheadings", "--output", "BACK-FILE"])?;
        left.extend(
            mounts.lines().chain(loops.lines()).filter(|line| line.contains(&root)).map(str::to_owned),
        );
        Ok(left)
    }
}
