//! Equal targets on real storage: two directories of one filesystem, compared repeatedly.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::{PortableMath, RepeatStarted};
use serde_json::Value;

use crate::setting::Setting;
use crate::table::markdown;

/// What is measured and how often.
#[derive(Clone, Debug, clap::Args)]
pub struct EqualArgs {
    /// What is measured and where.
    #[command(flatten)]
    setting: Setting,
    /// Suite of each run, by name or file; by default four steps of half a second
    #[arg(long, value_name = "NAME|FILE")]
    suite: Option<PathBuf>,
    /// Comparisons to make, at least; each run makes one of each headline figure
    #[arg(long, default_value_t = 40)]
    pairs: usize,
    /// Budget of each run
    #[arg(long, value_name = "TIME", default_value = "45s")]
    budget: String,
}

/// Half the width of an interval, as a share of the ratio, that is called narrow.
const NARROW: f64 = 0.03;

/// Four steps of half a second.
const SUITE: &str = r#"
description = "Four steps for comparing equal targets"
[defaults]
runtime = "500ms"
ramp = "100ms"
size = "256M"
[[step]]
id = "seq-read"
rw = "read"
bs = "1M"
iodepth = 8
[[step]]
id = "rand-read"
rw = "randread"
bs = "4k"
[[step]]
id = "rand-read-deep"
rw = "randread"
bs = "4k"
iodepth = 32
[[step]]
id = "rand-write-deep"
rw = "randwrite"
bs = "4k"
iodepth = 32
"#;

/// Runs with rounds `auto` on two subdirectories until there are enough comparisons, and counts
/// their verdicts. Each claim of a difference is wrong.
///
/// # Errors
/// A run fails, or prints unexpected output.
pub fn equal(args: &EqualArgs) -> io::Result<String> {
    let scratch = tempfile::tempdir_in(&args.setting.turns.place)?;
    let suite = match &args.suite {
        Some(suite) => suite.clone(),
        None => {
            let own = scratch.path().join("equal.toml");
            std::fs::write(&own, SUITE)?;
            own
        }
    };
    for name in ["a", "b"] {
        std::fs::create_dir(scratch.path().join(name))?;
    }
    let mut rows = Vec::new();
    let (mut judged, mut wrong, mut narrow) = (0, 0, 0);
    while judged < args.pairs {
        for comparison in comparisons(args, scratch.path(), &suite)? {
            let text = |key: &str| comparison[key].as_str().unwrap_or_default().to_owned();
            let number = |key: &str| comparison[key].as_f64().map_or("–".into(), |v| format!("{v:.3}"));
            judged += 1;
            wrong += usize::from(matches!(text("verdict").as_str(), "faster" | "slower"));
            let interval = format!("{}–{}", number("low"), number("high"));
            let ends = comparison["low"].as_f64().zip(comparison["high"].as_f64());
            let half = ends.map(|(low, high)| (high / low).portable_ln() / 2.0);
            narrow += usize::from(half.is_some_and(|half| half <= NARROW));
            let half = half.map_or("–".into(), |half| format!("{:.1} %", 100.0 * half));
            rows.push(vec![
                text("step"),
                text("operation"),
                number("ratio"),
                interval,
                half,
                text("verdict"),
            ]);
        }
    }
    let table = markdown(&["step", "operation", "ratio", "95 %", "half width", "verdict"], &rows);
    let scatter = scatter(&scratch.path().join("store"))?;
    Ok(format!(
        "{judged} comparisons of equal targets, {wrong} of them claimed a difference; half widths of at most {:.0} % in \
         {narrow}\n\n{table}\nBy how much one round is off: the root mean square of the logarithm of its ratio, in %.\n\n{scatter}",
        100.0 * NARROW
    ))
}

/// By how much the ratio of one round is off, in turns and without, over all runs of a store.
fn scatter(store: &Path) -> io::Result<String> {
    let mut logarithms: BTreeMap<(String, bool), Vec<f64>> = BTreeMap::new();
    for log in std::fs::read_dir(store.join("runs"))? {
        let run = record::read_log(&log?.path()).map_err(io::Error::other)?.run;
        let mut rounds: BTreeMap<(&str, u32, bool), BTreeMap<&str, f64>> = BTreeMap::new();
        for repeat in run.all_repeats() {
            let Some(finished) = repeat.finished.as_ref().filter(|_| repeat.is_complete()) else { continue };
            let bytes: u64 = repeat.measured().values().map(|stats| stats.bytes).sum();
            let RepeatStarted { step, round, turns, target, .. } = &repeat.started;
            let rate = bytes as f64 / finished.window_ns as f64;
            rounds.entry((step, *round, *turns > 0)).or_default().insert(target, rate);
        }
        for ((step, _, in_turns), rates) in rounds {
            if let [one, other] = rates.into_values().collect::<Vec<_>>()[..] {
                logarithms.entry((step.to_owned(), in_turns)).or_default().push((other / one).portable_ln());
            }
        }
    }
    let row = |((step, in_turns), logarithms): (&(String, bool), &Vec<f64>)| {
        let square = logarithms.iter().map(|ln| ln * ln).sum::<f64>() / logarithms.len() as f64;
        let how = if *in_turns { "in turns" } else { "without" };
        vec![
            step.clone(),
            how.to_owned(),
            logarithms.len().to_string(),
            format!("{:.1}", 100.0 * square.sqrt()),
        ]
    };
    let rows: Vec<Vec<String>> = logarithms.iter().map(row).collect();
    Ok(markdown(&["step", "its targets", "rounds", "off by"], &rows))
}

/// The headline comparisons of one run.
fn comparisons(args: &EqualArgs, place: &Path, suite: &Path) -> io::Result<Vec<Value>> {
    let output = Command::new(args.setting.programs.lodestone())
        .arg("run")
        .arg(place.join("a"))
        .arg(place.join("b"))
        .arg("--suite")
        .arg(suite)
        .arg("--store")
        .arg(place.join("store"))
        .args(["--json", "--quiet", "--rounds", "auto", "--budget", &args.budget])
        .output()?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(io::Error::other(format!("lodestone failed: {message}")));
    }
    let run: Value = serde_json::from_slice(&output.stdout)?;
    let all = |key: &str| run[key].as_array().cloned().unwrap_or_default();
    let figure = |of: &Value| ["step", "operation", "metric"].map(|key| of[key].to_string());
    let headlines = all("measurements").into_iter().filter(|m| m["is_headline"] == true);
    let headlines: BTreeSet<[String; 3]> = headlines.map(|m| figure(&m)).collect();
    let found: Vec<Value> =
        all("comparisons").into_iter().filter(|c| headlines.contains(&figure(c))).collect();
    if found.is_empty() {
        Err(io::Error::other("the run has no comparison of headline figures"))
    } else {
        Ok(found)
    }
}
