//! The engine alone, without plan, record and report, for profilers and instruction counts.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::{IoTarget, OpenFiles, Outcome, StampComparison, Task, open_flags};
use model::{EngineKind, Interval, Mix, Regions, RepeatOutcome, Stop, Workload};

use crate::stamp_figures::{figures_ns, more_percent};

/// `O_NOATIME`, which the program itself uses for its files. From asm-generic/fcntl.h.
pub(crate) const NOATIME: i32 = 0o1_000_000;

/// Random reads of 4 KiB, or a variation of them.
#[derive(Clone, Debug, clap::Args)]
pub struct DriveArgs {
    /// The complete test file
    pub file: PathBuf,
    /// io_uring, libaio, psync, mmap or noop
    #[arg(long, default_value = "psync", value_parser = engine_kind)]
    pub engine: EngineKind,
    /// Operations that each job keeps in flight
    #[arg(long, default_value_t = 1)]
    pub iodepth: u32,
    /// Concurrent workers
    #[arg(long, default_value_t = 1)]
    pub jobs: u32,
    /// Operations, all jobs together
    #[arg(long, default_value_t = 1_000_000)]
    pub ops: u64,
    /// Bypass the page cache
    #[arg(long)]
    pub direct: bool,
    /// Milliseconds per record of the time series
    #[arg(long, default_value_t = 500)]
    pub interval: u64,
    /// Stamp each operation in addition to the batches, and print the difference
    #[arg(long)]
    pub compare_stamps: bool,
}

impl DriveArgs {
    /// A million buffered random reads by one job.
    pub fn reads(file: PathBuf, engine: EngineKind, iodepth: u32) -> Self {
        Self {
            file,
            engine,
            iodepth,
            jobs: 1,
            ops: 1_000_000,
            direct: false,
            interval: 500,
            compare_stamps: false,
        }
    }
}

fn engine_kind(text: &str) -> Result<EngineKind, String> {
    const ALL: [EngineKind; 5] =
        [EngineKind::IoUring, EngineKind::Libaio, EngineKind::Psync, EngineKind::Mmap, EngineKind::Noop];
    ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| "not an engine".to_owned())
}

/// The result of driving the engine.
#[derive(Clone, Debug)]
pub struct Driven {
    /// Operations per second.
    pub rate: f64,
    /// Nanoseconds of user time per operation.
    pub user_ns: f64,
    /// Nanoseconds of kernel time per operation.
    pub system_ns: f64,
    /// The same operations stamped both ways, if requested.
    pub stamps: Option<StampComparison>,
}

impl fmt::Display for Driven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rate, user_ns, system_ns, stamps } = self;
        write!(f, "{:.3} M/s, user {user_ns:.1} ns, system {system_ns:.1} ns per operation", rate / 1e6)?;
        let Some(stamps) = stamps else { return Ok(()) };
        let StampComparison { batch, each } = stamps;
        let (batch, each, more) = (figures_ns(batch), figures_ns(each), more_percent(stamps));
        for (i, name) in ["mean", "p50", "p99"].iter().enumerate() {
            let (batch, each, more) = (batch[i], each[i], more[i]);
            write!(f, "\n{name}: {batch:.0} ns by batches, {each:.0} ns by single stamps ({more:+.2} %)")?;
        }
        Ok(())
    }
}

/// Drives the engine over the file.
///
/// # Errors
/// The file cannot be opened, the engine fails, or the repeat does not complete.
pub fn drive(args: &DriveArgs) -> io::Result<Driven> {
    drive_until(args, Stop { operations: Some(args.ops), ..Stop::default() })
}

/// Like [`drive`], with another end: a number of operations is divided among the jobs beforehand, so the
/// slowest determines the total time; a duration is the same for all.
///
/// # Errors
/// As for [`drive`].
pub fn drive_until(args: &DriveArgs, stop: Stop) -> io::Result<Driven> {
    let workload = workload(args);
    let open = || {
        OpenOptions::new()
            .read(true)
            .custom_flags(open_flags(&workload, args.direct) | NOATIME)
            .open(&args.file)
    };
    let per_job = (0..args.jobs).map(|_| Ok(vec![open()?])).collect::<io::Result<Vec<_>>>()?;
    let mut ops = 0;
    let mut count = |interval: Interval| ops += interval.operations.values().map(|o| o.count).sum::<u64>();
    let driving = Driving {
        workload,
        engine: args.engine,
        stop,
        interval_ns: args.interval * 1_000_000,
        compare_stamps: args.compare_stamps,
    };
    let outcome = on_files(per_job, driving, &mut count)?;
    let each = |ns: u64| ns as f64 / ops as f64;
    Ok(Driven {
        rate: ops as f64 / (outcome.window_ns as f64 / 1e9),
        user_ns: each(outcome.workers.user_ns),
        system_ns: each(outcome.workers.system_ns),
        stamps: outcome.stamps,
    })
}

/// What the engine does, without a ramp.
pub(crate) struct Driving {
    pub workload: Workload,
    pub engine: EngineKind,
    pub stop: Stop,
    pub interval_ns: u64,
    pub compare_stamps: bool,
}

/// Drives the engine over opened files, of each job its own. They may be written where the workload writes.
pub(crate) fn on_files(
    per_job: Vec<Vec<File>>,
    driving: Driving,
    on_interval: &mut dyn FnMut(Interval),
) -> io::Result<Outcome> {
    let Driving { workload, engine, stop, interval_ns, compare_stamps } = driving;
    let file_bytes = per_job[0][0].metadata()?.len();
    let writable = workload.mix != Mix::Transfer { read_percent: 100 };
    let task = Task {
        start: 0.0,
        repeat: 0,
        workload,
        engine,
        stop,
        ramp_ns: 0,
        interval_ns,
        max_errors: 1,
        seed: 1,
        target: IoTarget::Files(OpenFiles { per_job, file_bytes, writable, generations: None }),
        compare_stamps,
        sim: None,
        concurrent: Vec::new(),
    };
    let outcome =
        engine::run(task, &Arc::new(AtomicBool::new(false)), on_interval).map_err(io::Error::other)?;
    match outcome.outcome {
        RepeatOutcome::Completed => Ok(outcome),
        other => Err(io::Error::other(format!("the repeat ended as {other:?}"))),
    }
}

fn workload(args: &DriveArgs) -> Workload {
    Workload {
        iodepth: args.iodepth,
        jobs: args.jobs,
        direct: args.direct,
        regions: Regions::Shared,
        ..Workload::random_reads()
    }
}
