//! Whether short repeats measure the same as long ones.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Command;

use analyse::mean_with_t_interval;
use serde_json::Value;

use crate::setting::Setting;
use crate::table::markdown;

/// What is measured.
#[derive(Clone, Debug, clap::Args)]
pub struct BiasArgs {
    /// What is measured and where; a round is a run with short and one with long repeats.
    #[command(flatten)]
    setting: Setting,
    /// The suite
    #[arg(long, default_value = "quick")]
    suite: String,
    /// Length of the short repeats
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    short: String,
    /// Length of the long repeats
    #[arg(long, value_name = "TIME", default_value = "1s")]
    long: String,
    /// Budget of each run
    #[arg(long, value_name = "TIME", default_value = "60s")]
    budget: String,
    /// Size of the test data
    #[arg(long, default_value = "1GiB")]
    size: String,
}

/// Step, operation and metric.
type Figure = (String, String, String);

/// Runs a suite with short and with long repeats in turn, and prints short ÷ long for each rate and each p99.
///
/// # Errors
/// A run fails, or prints unexpected output.
pub fn bias(args: &BiasArgs) -> io::Result<String> {
    let scratch = tempfile::tempdir_in(&args.setting.turns.place)?;
    let mut logs: BTreeMap<Figure, Vec<f64>> = BTreeMap::new();
    for round in 0..args.setting.turns.rounds {
        let mut lengths = [&args.short, &args.long];
        // Either is first equally often.
        if round % 2 == 1 {
            lengths.reverse();
        }
        let first = figures(args, scratch.path(), lengths[0])?;
        let second = figures(args, scratch.path(), lengths[1])?;
        let (short, long) = if round % 2 == 1 { (second, first) } else { (first, second) };
        for (figure, value) in short {
            if let Some(other) = long.get(&figure).filter(|other| **other > 0.0 && value > 0.0) {
                logs.entry(figure).or_default().push((value / other).ln());
            }
        }
    }
    Ok(table(&logs))
}

/// One row per step and operation: the ratio of the rates and that of the p99.
fn table(logs: &BTreeMap<Figure, Vec<f64>>) -> String {
    let cell = |step: &str, operation: &str, metric: &str| {
        let logs = logs.get(&(step.to_owned(), operation.to_owned(), metric.to_owned()));
        let estimate = logs.and_then(|logs| mean_with_t_interval(logs));
        estimate.map_or_else(
            || "–".to_owned(),
            |e| match e.interval {
                Some((low, high)) => format!("{:.2} [{:.2}–{:.2}]", e.value.exp(), low.exp(), high.exp()),
                None => format!("{:.2}", e.value.exp()),
            },
        )
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (step, operation, _) in logs.keys().filter(|(.., metric)| metric == "iops") {
        let (rate, tail) = (cell(step, operation, "iops"), cell(step, operation, "lat_p99"));
        rows.push(vec![step.clone(), operation.clone(), rate, tail]);
    }
    markdown(&["step", "operation", "rate, short ÷ long", "p99, short ÷ long"], &rows)
}

/// The rates and p99 of one run.
fn figures(args: &BiasArgs, place: &Path, length: &str) -> io::Result<BTreeMap<Figure, f64>> {
    let output = Command::new(args.setting.programs.lodestone())
        .arg("run")
        .arg(place)
        .arg("--store")
        .arg(place.join("store"))
        .args(["--suite", &args.suite, "--runtime", &format!("={length}"), "--size", &args.size])
        .args(["--rounds", "auto", "--precision", "0.01%", "--budget", &args.budget])
        .args(["--json", "--quiet", "--no-report"])
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let run: Value = serde_json::from_slice(&output.stdout)?;
    let mut found = BTreeMap::new();
    for measurement in run["measurements"].as_array().into_iter().flatten() {
        let text = |key: &str| measurement[key].as_str().unwrap_or_default().to_owned();
        if matches!(text("metric").as_str(), "iops" | "lat_p99")
            && let Some(value) = measurement["estimate"].as_f64()
        {
            found.insert((text("step"), text("operation"), text("metric")), value);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_geometric_mean_of_the_ratios() {
        let figure = |metric: &str| ("s".to_owned(), "read".to_owned(), metric.to_owned());
        let logs = BTreeMap::from([
            (figure("iops"), vec![0.5f64.ln(), 2f64.ln()]),
            (figure("lat_p99"), vec![1.5f64.ln()]),
        ]);
        let text = table(&logs);
        assert!(text.contains("| s | read | 1.00 ["), "{text}");
        assert!(text.ends_with("| 1.50 |\n"), "{text}");
    }
}
