//! A difference of known size on a real disk: how long until it is found, and whether the verdict is ever wrong.
//!
//! Two files of a server in user space pass every read on to one file on the disk, and the second one's take longer by a
//! share of what the disk took. So both have the noise of the disk, and the file below cannot make a difference.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Instant;

use crate::setting::{Setting, make};
use crate::slow_file::{Delay, FILE_BYTES, SlowFile};
use crate::stalls::{compared, verdict};
use crate::table::markdown;

/// The reads of the server are direct, too.
const DIRECT: i32 = nix::libc::O_DIRECT;
/// The share by which rates may differ and be the same.
const MARGIN: f64 = 0.03;

/// What is measured and how often.
#[derive(Clone, Debug, clap::Args)]
pub struct DifferArgs {
    /// What is measured and where; --rounds is the number of runs of each row
    #[command(flatten)]
    setting: Setting,
    /// Budget of each run
    #[arg(long, value_name = "TIME", default_value = "100s")]
    budget: String,
    /// Rounds of one second of the run that shows what the true ratio is
    #[arg(long, value_name = "N", default_value_t = 60)]
    truth: u32,
}

/// A comparison of the two files.
struct Found {
    verdict: String,
    ratio: f64,
    interval: Option<(f64, f64)>,
    seconds: f64,
}

/// Compares the files for several differences. "Wrong" is a difference where there is none, the wrong side, or "same" where
/// the interval of the true ratio lies beyond the margin.
///
/// # Errors
/// FUSE is not available, a run fails, or prints unexpected output.
pub fn differ(args: &DifferArgs) -> io::Result<String> {
    let scratch = tempfile::tempdir_in(&args.setting.turns.place)?;
    let below = scratch.path().join("below");
    make(&below, FILE_BYTES)?;
    let file = || {
        let disk = OpenOptions::new().read(true).custom_flags(DIRECT).open(&below)?;
        SlowFile::over(scratch.path(), Some(disk))
    };
    let files = [file()?, file()?];
    let mut rows = Vec::new();
    for more in [0.0, 0.1, 0.2] {
        for (file, more) in files.iter().zip([0.0, more]) {
            file.begin(Delay::Disk(more))?;
        }
        let rounds = args.truth.to_string();
        let truth = one(args, &files, &["--rounds", &rounds, "--runtime", "1s"])?;
        let runs: Vec<Found> = (0..args.setting.turns.rounds)
            .map(|_| one(args, &files, &["--budget", &args.budget]))
            .collect::<io::Result<_>>()?;
        rows.push(row(more, &truth, &runs));
    }
    let head = [
        "reads take longer by",
        "true ratio (95 %)",
        "faster",
        "slower",
        "same",
        "same so far",
        "undecided",
        "wrong",
        "s, median",
    ];
    Ok(markdown(&head, &rows))
}

fn row(more: f64, truth: &Found, runs: &[Found]) -> Vec<String> {
    let count = |word: &str| runs.iter().filter(|run| run.verdict == word).count();
    let is_beyond = truth.interval.is_some_and(|(_, high)| high < 1.0 - MARGIN);
    let is_wrong = |run: &&Found| match run.verdict.as_str() {
        "faster" => true,
        "slower" => more == 0.0,
        "same" => is_beyond,
        _ => false,
    };
    let mut seconds: Vec<f64> = runs.iter().map(|run| run.seconds).collect();
    seconds.sort_by(f64::total_cmp);
    let interval = truth.interval.map_or_else(|| "–".to_owned(), |(low, high)| format!("{low:.3}–{high:.3}"));
    let mut row = vec![format!("{:.0} %", 100.0 * more), format!("{:.3} ({interval})", truth.ratio)];
    row.extend(["faster", "slower", "same", "same so far", "undecided"].map(|word| count(word).to_string()));
    row.push(runs.iter().filter(is_wrong).count().to_string());
    row.push(seconds.get(seconds.len() / 2).map_or_else(|| "–".to_owned(), |s| format!("{s:.0}")));
    row
}

/// One run on the two files.
fn one(args: &DifferArgs, files: &[SlowFile; 2], more: &[&str]) -> io::Result<Found> {
    let began = Instant::now();
    let found = compared(&args.setting.programs.lodestone(), files, more)?;
    let seconds = began.elapsed().as_secs_f64();
    let number = |key: &str| found[key].as_f64();
    Ok(Found {
        verdict: verdict(&found),
        ratio: number("ratio").unwrap_or(f64::NAN),
        interval: number("low").zip(number("high")),
        seconds,
    })
}
