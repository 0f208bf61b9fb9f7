//! Instructions per operation in user mode, counted by callgrind: a figure that does not depend on the neighbours or
//! the machine's speed.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::setting::{ROUNDS, turns};
use crate::table::{Values, markdown};

/// Operations of the shorter of the two runs; the longer does twice as many, and their difference is the operations
/// alone.
const OPERATIONS: u64 = 100_000;
/// Largest relative difference from the stored count; code elsewhere moves it by less.
const TOLERANCE: f64 = 0.03;

/// What is counted.
#[derive(Clone, Debug, clap::Args)]
pub struct InstructionsArgs {
    /// Fail if a count is more than 3 % above the stored one
    #[arg(long)]
    pub check: bool,
    /// Store the counts for later comparison
    #[arg(long, conflicts_with = "check")]
    pub keep: bool,
    /// fio, to be counted as well
    #[arg(long, value_name = "PATH")]
    pub fio: Option<PathBuf>,
    /// Rounds; all are counted in each
    #[arg(long, default_value_t = ROUNDS)]
    pub rounds: u32,
}

/// The stored counts, with the compiler that they belong to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    rustc: String,
    architecture: String,
    per_operation: BTreeMap<String, f64>,
}

/// A name, an engine, a depth.
const CASES: [(&str, &str, u32); 4] = [
    ("psync", "psync", 1),
    ("io_uring, depth 1", "io_uring", 1),
    ("io_uring, depth 32", "io_uring", 32),
    ("libaio, depth 32", "libaio", 32),
];

/// Counts, and compares with the stored counts.
///
/// # Errors
/// valgrind cannot be run, or with `--check` a count has grown.
pub fn instructions(args: &InstructionsArgs) -> io::Result<String> {
    let scratch = tempfile::tempdir()?;
    let file = scratch.path().join("data");
    std::fs::write(&file, vec![7; 1 << 20])?;
    let kept_at = Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.json");
    let kept: Option<Kept> = std::fs::read(&kept_at).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let (rustc, architecture) = (rustc()?, std::env::consts::ARCH.to_owned());
    let mut now = Kept { rustc, architecture, per_operation: BTreeMap::new() };
    let comparable = kept.filter(|kept| kept.rustc == now.rustc && kept.architecture == now.architecture);
    let (lodestone, fio) = count(args, scratch.path(), &file)?;
    let (mut rows, mut grown) = (Vec::new(), Vec::new());
    for (((name, ..), lodestone), fio) in CASES.iter().zip(&lodestone).zip(&fio) {
        let median = lodestone.median();
        let before = comparable.as_ref().and_then(|kept| kept.per_operation.get(*name).copied());
        if let Some(before) = before.filter(|before| median > before * (1.0 + TOLERANCE)) {
            grown.push(format!(
                "{name}: {median:.1} instructions per operation, above the stored {before:.1}"
            ));
        }
        let whole = |count: f64| format!("{count:.0}");
        let before = before.map_or_else(|| "–".to_owned(), whole);
        rows.push(vec![(*name).to_owned(), lodestone.shown(whole), before, fio.shown(whole)]);
        now.per_operation.insert((*name).to_owned(), (median * 10.0).round() / 10.0);
    }
    if args.keep {
        std::fs::write(&kept_at, format!("{}\n", serde_json::to_string_pretty(&now)?))?;
    }
    let mut text = markdown(&["", "lodestone", "stored", "fio"], &rows);
    if args.check && comparable.is_none() {
        text.push_str(&format!(
            "SKIPPED: the stored counts are not of {} on {}\n",
            now.rustc, now.architecture
        ));
    }
    if args.check && !grown.is_empty() {
        return Err(io::Error::other(grown.join("\n")));
    }
    Ok(text)
}

/// Counts of Lodestone and of fio by case; fio's are empty unless requested.
fn count(args: &InstructionsArgs, scratch: &Path, file: &Path) -> io::Result<(Vec<Values>, Vec<Values>)> {
    let mut lodestone = vec![Values::default(); CASES.len()];
    let mut of_fio = lodestone.clone();
    for turn in turns(args.rounds, CASES.len()) {
        let (_, engine, iodepth) = CASES[turn];
        lodestone[turn].push(per_operation(scratch, |n| drive(file, engine, iodepth, n))?);
        if let Some(fio) = &args.fio {
            of_fio[turn].push(per_operation(scratch, |n| Ok(fio_line(fio, file, engine, iodepth, n)))?);
        }
    }
    Ok((lodestone, of_fio))
}

fn rustc() -> io::Result<String> {
    let output = Command::new("rustc").arg("--version").output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A command line for a number of operations.
type Line = (PathBuf, Vec<String>);

fn drive(file: &Path, engine: &str, iodepth: u32, operations: u64) -> io::Result<Line> {
    let line = format!("drive {} --engine {engine} --iodepth {iodepth} --ops {operations}", file.display());
    Ok((std::env::current_exe()?, line.split_whitespace().map(str::to_owned).collect()))
}

fn fio_line(fio: &Path, file: &Path, engine: &str, iodepth: u32, operations: u64) -> Line {
    // As a thread: callgrind counts one process.
    let line = format!(
        "--name=count --thread --filename={} --size=1m --rw=randread --bs=4k --ioengine={engine} \
         --iodepth={iodepth} --number_ios={operations} --io_size={} --invalidate=0",
        file.display(),
        operations * 4096
    );
    (fio.to_owned(), line.split_whitespace().map(str::to_owned).collect())
}

fn per_operation(scratch: &Path, line: impl Fn(u64) -> io::Result<Line>) -> io::Result<f64> {
    let count = |n: u64| counted(scratch, &line(n)?);
    let (less, more) = (count(OPERATIONS)?, count(2 * OPERATIONS)?);
    Ok((more as f64 - less as f64) / OPERATIONS as f64)
}

fn counted(scratch: &Path, (program, args): &Line) -> io::Result<u64> {
    let output = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", scratch.join("callgrind").display()))
        .arg(program)
        .args(args)
        .current_dir(scratch)
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    collected(&said).filter(|_| output.status.success()).ok_or_else(|| io::Error::other(said.into_owned()))
}

/// From the line `==123== Collected : 456`.
fn collected(said: &str) -> Option<u64> {
    said.lines().rev().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_parsed() {
        assert_eq!(collected("==1== Events    : Ir\n==1== Collected : 4567\n"), Some(4567));
        assert_eq!(collected("valgrind: no"), None);
    }
}
