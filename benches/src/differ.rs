//! A difference of known size on a real disk: how long until it is found, and whether the verdict is ever wrong.
//!
//! Two files of a server in user space pass every read on to one file on the disk, and the second one's take longer by a
//! share of what the disk took, or only so many are done in a second. So both have the noise of the disk, and the file below cannot make a difference.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Instant;

use crate::setting::{Setting, make};
use crate::slow_file::{Delay, FILE_BYTES, SlowFile};
use crate::stalls::{comparison, measured, verdict};
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

/// What becomes of the reads of the second file, and how the load comes.
#[derive(Clone, Copy, Debug)]
enum Case {
    /// They take longer by this share; as fast as it goes.
    Longer(f64),
    /// So large a share of the rate of the first at most; as fast as it goes.
    Capped(f64),
    /// They take longer by this share; an open loop offers [`LOAD`] of what the slower one does.
    Offered(f64),
}

/// Share of the slower file's rate that is offered.
const LOAD: f64 = 0.95;

const CASES: [Case; 6] = [
    Case::Longer(0.0),
    Case::Longer(0.1),
    Case::Longer(0.2),
    Case::Capped(0.9),
    Case::Offered(0.0),
    Case::Offered(0.1),
];

impl Case {
    fn name(self) -> String {
        match self {
            Self::Longer(more) => format!("reads take {:.0} % longer", 100.0 * more),
            Self::Capped(share) => format!("at most {:.0} % of the rate", 100.0 * share),
            Self::Offered(more) => {
                format!(
                    "reads take {:.0} % longer, open loop at {:.0} % of the rate",
                    100.0 * more,
                    100.0 * LOAD
                )
            }
        }
    }

    fn is_equal(self) -> bool {
        matches!(self, Self::Longer(more) | Self::Offered(more) if more == 0.0)
    }

    /// The delays of both files, whose first does this many reads a second.
    fn delays(self, rate: f64) -> [Delay; 2] {
        let second = match self {
            Self::Longer(more) | Self::Offered(more) => Delay::Disk(more),
            Self::Capped(share) => Delay::Capped(share * rate),
        };
        [Delay::Disk(0.0), second]
    }

    /// The figure that is compared, and what the load is.
    fn load(self, rate: f64) -> (&'static str, Vec<String>) {
        match self {
            Self::Longer(_) | Self::Capped(_) => ("bandwidth", Vec::new()),
            Self::Offered(more) => {
                let offered = LOAD * rate / (1.0 + more);
                ("lat_p50", vec!["--rate-iops".to_owned(), format!("{offered:.0}")])
            }
        }
    }
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
    for case in CASES {
        let rate = rate(args, &files)?;
        for (file, delay) in files.iter().zip(case.delays(rate)) {
            file.begin(delay)?;
        }
        let (metric, load) = case.load(rate);
        let one = |more: &[&str]| one(args, &files, metric, &load, more);
        let truth = one(&["--rounds", &args.truth.to_string(), "--runtime", "1s"])?;
        let runs: Vec<Found> = (0..args.setting.turns.rounds)
            .map(|_| one(&["--budget", &args.budget]))
            .collect::<io::Result<_>>()?;
        rows.push(row(case, metric, &truth, &runs));
    }
    let head = [
        "the second file",
        "figure",
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

fn row(case: Case, metric: &str, truth: &Found, runs: &[Found]) -> Vec<String> {
    let count = |word: &str| runs.iter().filter(|run| run.verdict == word).count();
    let is_beyond = truth.interval.is_some_and(|(low, high)| high < 1.0 - MARGIN || low > 1.0 + MARGIN);
    let is_wrong = |run: &&Found| match run.verdict.as_str() {
        "faster" => true,
        "slower" => case.is_equal(),
        "same" => is_beyond,
        _ => false,
    };
    let mut seconds: Vec<f64> = runs.iter().map(|run| run.seconds).collect();
    seconds.sort_by(f64::total_cmp);
    let interval = truth.interval.map_or_else(|| "–".to_owned(), |(low, high)| format!("{low:.3}–{high:.3}"));
    let mut row = vec![case.name(), metric.to_owned(), format!("{:.3} ({interval})", truth.ratio)];
    row.extend(["faster", "slower", "same", "same so far", "undecided"].map(|word| count(word).to_string()));
    row.push(runs.iter().filter(is_wrong).count().to_string());
    row.push(seconds.get(seconds.len() / 2).map_or_else(|| "–".to_owned(), |s| format!("{s:.0}")));
    row
}

/// Reads a second of the first file, as fast as it goes.
fn rate(args: &DifferArgs, files: &[SlowFile; 2]) -> io::Result<f64> {
    files.iter().try_for_each(|file| file.begin(Delay::Disk(0.0)))?;
    let run = measured(&args.setting.programs.lodestone(), files, &["--rounds", "10", "--runtime", "500ms"])?;
    let mut all = run["measurements"].as_array().into_iter().flatten();
    let found = all.find_map(|m| m["estimate"].as_f64().filter(|_| m["metric"] == "iops"));
    found.ok_or_else(|| io::Error::other("the run has no rate of reads"))
}

/// One run on the two files.
fn one(
    args: &DifferArgs,
    files: &[SlowFile; 2],
    metric: &str,
    load: &[String],
    more: &[&str],
) -> io::Result<Found> {
    let began = Instant::now();
    let words: Vec<&str> = load.iter().map(String::as_str).chain(more.iter().copied()).collect();
    let run = measured(&args.setting.programs.lodestone(), files, &words)?;
    let found = comparison(&run, metric)?;
    let seconds = began.elapsed().as_secs_f64();
    let number = |key: &str| found[key].as_f64();
    Ok(Found {
        verdict: verdict(found),
        ratio: number("ratio").unwrap_or(f64::NAN),
        interval: number("low").zip(number("high")),
        seconds,
    })
}
