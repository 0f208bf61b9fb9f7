//! Verdicts about storage that stalls rarely, by the real program on files of known delay.

use std::io;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::setting::Setting;
use crate::slow_file::{Delay, SlowFile};
use crate::table::markdown;

/// What is measured and how often.
#[derive(Clone, Debug, clap::Args)]
pub struct StallsArgs {
    /// What is measured and where; --rounds is the number of runs of each row
    #[command(flatten)]
    setting: Setting,
    /// Budget of each run
    #[arg(long, value_name = "TIME", default_value = "60s")]
    budget: String,
    /// Runs at the same time: each takes a small part of a core
    #[arg(long, value_name = "N", default_value_t = 1)]
    at_once: usize,
}

/// The share by which rates may differ and be the same.
const MARGIN: f64 = 0.03;

/// Compares a file with one that stalls, and with itself, and counts verdicts that are wrong about the long-run rates: a
/// difference where there is none, the wrong side, or "same" beyond the margin.
///
/// # Errors
/// FUSE is not available, a run fails, or prints unexpected output.
pub fn stalls(args: &StallsArgs) -> io::Result<String> {
    let ms = Duration::from_millis;
    let cases = [(ms(1), 2000.0, ms(500)), (ms(1), 500.0, ms(60)), (ms(2), 1000.0, ms(2000))];
    let mut pairs = Vec::new();
    for (usual, every, stall) in cases {
        let (steady, rare) = (Delay::Fixed(usual), Delay::Rare(usual, every, stall));
        let long_run = usual.as_secs_f64() / (usual.as_secs_f64() + (stall - usual).as_secs_f64() / every);
        let stalls = format!("{} ms, one in {every} takes {} ms", usual.as_millis(), stall.as_millis());
        pairs.push(([steady, rare], long_run, [format!("{} ms", usual.as_millis()), stalls.clone()]));
        pairs.push(([rare, rare], 1.0, [stalls.clone(), stalls]));
    }
    let verdicts = verdicts(args, &pairs.iter().map(|(delays, ..)| *delays).collect::<Vec<_>>())?;
    let mut rows = Vec::new();
    for ((_, truth, names), words) in pairs.iter().zip(verdicts) {
        let count = |word: &str| words.iter().filter(|w| *w == word).count();
        let found = ["faster", "slower", "same", "same so far", "undecided"];
        let is_wrong = |word: &&str| match *word {
            "faster" => *truth <= 1.0,
            "slower" => *truth >= 1.0,
            "same" => truth.ln().abs() > (1.0 + MARGIN).ln(),
            _ => false,
        };
        let wrong: usize = found.iter().filter(|word| is_wrong(word)).map(|word| count(word)).sum();
        let mut row = names.to_vec();
        row.extend([format!("{truth:.2}"), wrong.to_string()]);
        row.extend(found.map(|word| count(word).to_string()));
        rows.push(row);
    }
    let head = ["A", "B", "B ÷ A", "wrong", "faster", "slower", "same", "same so far", "undecided"];
    Ok(markdown(&head, &rows))
}

/// The verdicts of all runs of each pair of delays, `at_once` runs at a time.
fn verdicts(args: &StallsArgs, pairs: &[[Delay; 2]]) -> io::Result<Vec<Vec<String>>> {
    let runs = args.setting.turns.rounds as usize * pairs.len();
    let next = AtomicUsize::new(0);
    let work = || {
        let mine = std::iter::from_fn(|| {
            Some(next.fetch_add(1, Ordering::Relaxed)).filter(|run| *run < runs).map(|run| run % pairs.len())
        });
        mine.map(|pair| Ok((pair, one(args, pairs[pair])?))).collect::<io::Result<Vec<_>>>()
    };
    let done = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..args.at_once.max(1)).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("a worker ends"))
            .collect::<io::Result<Vec<_>>>()
    })?;
    let mut verdicts = vec![Vec::new(); pairs.len()];
    done.into_iter().flatten().for_each(|(pair, verdict)| verdicts[pair].push(verdict));
    Ok(verdicts)
}

/// The verdict of one run on two files with these delays.
fn one(args: &StallsArgs, delays: [Delay; 2]) -> io::Result<String> {
    let place = &args.setting.turns.place;
    let files = [SlowFile::mount(place)?, SlowFile::mount(place)?];
    for (file, delay) in files.iter().zip(delays) {
        file.begin(delay)?;
    }
    let budget = ["--budget", args.budget.as_str()];
    let run = measured(&args.setting.programs.lodestone(), &files, &budget)?;
    comparison(&run, "bandwidth").map(verdict)
}

/// A run of random reads of 4 KiB of two files with these further arguments.
pub(crate) fn measured(lodestone: &str, files: &[SlowFile; 2], more: &[&str]) -> io::Result<Value> {
    let output = Command::new(lodestone)
        .arg("run")
        .args([&files[0].file, &files[1].file])
        .arg("--store")
        .arg(files[0].scratch.path().join("store"))
        .args(["--rw", "randread", "--bs", "4k", "--iodepth", "1", "--json", "--quiet", "--no-report"])
        .args(more)
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Its comparison of a figure.
pub(crate) fn comparison<'a>(run: &'a Value, metric: &str) -> io::Result<&'a Value> {
    let mut all = run["comparisons"].as_array().into_iter().flatten();
    let found = all.find(|comparison| comparison["metric"] == metric);
    found.ok_or_else(|| io::Error::other(format!("the run has no comparison of {metric}")))
}

/// Its verdict, of which "the same so far" is one.
pub(crate) fn verdict(found: &Value) -> String {
    match (&found["verdict"], &found["unseen"]) {
        (Value::String(verdict), Value::Null) => verdict.clone(),
        _ => "same so far".to_owned(),
    }
}
