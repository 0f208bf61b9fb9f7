//! The engine alone, without plan, record and report: what profilers and instruction counts look at.

use std::fmt;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::{OpenFiles, Place, StampComparison, Task, open_flags};
use model::{EngineKind, Histogram, Regions, RepeatOutcome, Stop, Workload};

/// `O_NOATIME`, as the program itself opens files. From asm-generic/fcntl.h.
const NOATIME: i32 = 0o1_000_000;

/// Random reads of 4 KiB, or a variation of them.
#[derive(Clone, Debug, clap::Args)]
pub struct DriveArgs {
    /// The file, which is complete
    pub file: PathBuf,
    /// io_uring, libaio, psync, mmap or noop
    #[arg(long, default_value = "psync", value_parser = engine_kind)]
    pub engine: EngineKind,
    /// Operations that each job keeps in flight
    #[arg(long, default_value_t = 1)]
    pub iodepth: u32,
    /// Workers at the same time
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
    /// Stamp each operation besides the batches, and tell how that differs
    #[arg(long)]
    pub compare_stamps: bool,
}

fn engine_kind(text: &str) -> Result<EngineKind, String> {
    const ALL: [EngineKind; 5] =
        [EngineKind::IoUring, EngineKind::Libaio, EngineKind::Psync, EngineKind::Mmap, EngineKind::Noop];
    ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| "no such engine".to_owned())
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Driven {
    /// Operations per second.
    pub rate: f64,
    /// Nanoseconds of user time per operation.
    pub user_ns: f64,
    /// Nanoseconds of kernel time per operation.
    pub system_ns: f64,
    /// The same operations stamped both ways, if that was asked for.
    pub stamps: Option<StampComparison>,
}

impl fmt::Display for Driven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rate, user_ns, system_ns, stamps } = self;
        write!(f, "{:.3} M/s, user {user_ns:.1} ns, system {system_ns:.1} ns per operation", rate / 1e6)?;
        let Some(StampComparison { batch, each }) = stamps else { return Ok(()) };
        let figures = |h: &Histogram| [h.mean_ns(), percentile(h, 50.0), percentile(h, 99.0)];
        for ((name, batch), each) in ["mean", "p50", "p99"].iter().zip(figures(batch)).zip(figures(each)) {
            let (batch, each) = (batch.unwrap_or(f64::NAN), each.unwrap_or(f64::NAN));
            let more = (each / batch - 1.0) * 100.0;
            write!(f, "\n{name}: {batch:.0} ns by batches, {each:.0} ns each by itself ({more:+.2} %)")?;
        }
        Ok(())
    }
}

fn percentile(histogram: &Histogram, percent: f64) -> Option<f64> {
    histogram.percentile_ns(percent).map(|ns| ns as f64)
}

/// Drives the engine over the file.
///
/// # Errors
/// The file cannot be opened, the engine breaks, or the repeat does not end well.
pub fn drive(args: &DriveArgs) -> io::Result<Driven> {
    let workload = workload(args);
    let open = || {
        OpenOptions::new()
            .read(true)
            .custom_flags(open_flags(&workload, args.direct) | NOATIME)
            .open(&args.file)
    };
    let per_job = (0..args.jobs).map(|_| Ok(vec![open()?])).collect::<io::Result<Vec<_>>>()?;
    let file_bytes = per_job[0][0].metadata()?.len();
    let task = Task {
        repeat: 0,
        workload,
        engine: args.engine,
        stop: Stop { operations: Some(args.ops), ..Stop::default() },
        ramp_ns: 0,
        interval_ns: args.interval * 1_000_000,
        max_errors: 1,
        seed: 1,
        place: Place::Files(OpenFiles { per_job, file_bytes, writable: false, generations: None }),
        compare_stamps: args.compare_stamps,
        sim: None,
    };
    let outcome =
        engine::run(task, &Arc::new(AtomicBool::new(false)), &mut |_| {}).map_err(io::Error::other)?;
    if outcome.outcome != RepeatOutcome::Completed {
        return Err(io::Error::other(format!("the repeat ended as {:?}", outcome.outcome)));
    }
    let each = |ns: u64| ns as f64 / args.ops as f64;
    Ok(Driven {
        rate: args.ops as f64 / (outcome.window_ns as f64 / 1e9),
        user_ns: each(outcome.workers.user_ns),
        system_ns: each(outcome.workers.system_ns),
        stamps: outcome.stamps,
    })
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
