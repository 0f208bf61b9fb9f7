//! The noise of a real disk over time scales, for the simulations of `certainty`.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use engine::open_flags;
use model::units::{parse_duration_ns, parse_size};
use model::{BlockSizes, EngineKind, Interval, Mix, Pattern, Stop, Workload};

use crate::certainty::spectrum::{SHORTEST, Spectrum};
use crate::drive::{Driving, NOATIME, on_files};
use crate::setting::make;

/// Where, and for how long.
#[derive(Clone, Debug, clap::Args)]
pub struct NoiseArgs {
    /// A directory on the disk
    place: PathBuf,
    /// Time of each of the three workloads
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_duration_ns)]
    time: u64,
    /// Size of the test file
    #[arg(long, value_name = "SIZE", default_value = "1g", value_parser = parse_size)]
    size: u64,
}

/// Measures three workloads in intervals of 10 ms, one after the other, and prints the Allan deviations of their rates, a
/// line each, as `certainty` reads them.
///
/// # Errors
/// The file cannot be made, or the engine fails.
pub fn noise(args: &NoiseArgs) -> io::Result<String> {
    let scratch = tempfile::tempdir_in(&args.place)?;
    let file = scratch.path().join("file");
    make(&file, args.size)?;
    let reads = Workload { direct: true, ..Workload::random_reads() };
    let sequential = Workload {
        pattern: Pattern::Sequential,
        block: BlockSizes::uniform(1 << 20),
        iodepth: 8,
        ..reads.clone()
    };
    let writes = Workload { mix: Mix::Transfer { read_percent: 0 }, iodepth: 32, ..reads.clone() };
    let workloads = [
        ("random reads of 4 KiB, depth 1", reads),
        ("sequential reads of 1 MiB, depth 8", sequential),
        ("random writes of 4 KiB, depth 32", writes),
    ];
    let seconds = args.time / 1_000_000_000;
    let mut text = format!(
        "# Allan deviations of the rates of a disk, as shares of the mean, over {SHORTEST} s and each time twice as long; \
         {seconds} s of each.\n# Made by `lodestone-benches noise`.\n"
    );
    for (name, workload) in workloads {
        text.push_str(&Spectrum::of(name, &record(&file, workload, args.time)?).line());
        text.push('\n');
    }
    Ok(text)
}

/// The operations in each whole interval.
fn record(file: &Path, workload: Workload, time_ns: u64) -> io::Result<Vec<f64>> {
    let interval_ns = (SHORTEST * 1e9) as u64;
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(open_flags(&workload, true) | NOATIME)
        .open(file)?;
    let stop = Stop { time_ns: Some(time_ns), ..Stop::default() };
    let mut work = Vec::new();
    let mut count = |interval: Interval| {
        if interval.len_ns == interval_ns {
            work.push(interval.operations.values().map(|o| o.count as f64).sum());
        }
    };
    let compare_stamps = false;
    on_files(
        vec![vec![opened]],
        Driving { workload, engine: EngineKind::IoUring, stop, interval_ns, compare_stamps },
        &mut count,
    )?;
    Ok(work)
}
