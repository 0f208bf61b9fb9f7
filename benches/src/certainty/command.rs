//! The command `certainty`: prints the tables, or writes them into the page of the book.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;

use super::page::{self, Amounts};
use super::tables::{TABLES, table};

/// How much is simulated.
#[derive(Clone, Debug, clap::Args)]
pub struct CertaintyArgs {
    /// Simulated runs per figure
    #[arg(long, default_value_t = 4000)]
    runs: u64,
    /// Simulated runs per figure of the table of stalls with --md; as --runs without
    #[arg(long, requires = "md", value_name = "RUNS")]
    stalls: Option<u64>,
    /// Simulated measurements per figure of the tables of `repeats`, which --md includes
    #[arg(long, default_value_t = 4000)]
    draws: usize,
    /// Only the tables of these names; those of `repeats` only with --md
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = PossibleValuesParser::new(page::names().collect::<Vec<_>>()))]
    table: Vec<String>,
    /// Write the tables of this command and of `repeats` between their marks in a page of the book, instead of printing
    /// them: without --table those that were made of other code, of other numbers, or by hand; all of them take an hour and a
    /// half of processor time with --runs 300 --stalls 2000
    #[arg(long, value_name = "PAGE", num_args = 0..=1, default_missing_value = page::PAGE)]
    md: Option<PathBuf>,
}

/// Prints all tables, or writes them into the page.
///
/// # Errors
/// The page cannot be read or written, or lacks the mark of a table.
pub fn certainty(args: &CertaintyArgs) -> io::Result<String> {
    let CertaintyArgs { runs, draws, .. } = *args;
    let Some(path) = &args.md else { return printed(runs, &args.table) };
    let before = fs::read_to_string(path)?;
    let amounts = Amounts { runs, stalls: args.stalls.unwrap_or(runs), draws };
    let after = page::filled(&before, &page::small(), amounts, &args.table).map_err(io::Error::other)?;
    fs::write(path, after)?;
    Ok(format!("{}: {runs} runs, {draws} draws", path.display()))
}

fn printed(n: u64, only: &[String]) -> io::Result<String> {
    if let Some(name) = only.iter().find(|name| !TABLES.contains(&name.as_str())) {
        return Err(io::Error::other(format!("`lodestone-benches repeats` prints the table {name}")));
    }
    let heading = |table: &str| match table {
        "equal-targets" => "Equal targets: false \"faster\" or \"slower\"",
        "true-difference" => "A true difference of 5 %",
        "coverage" => "Does the 95 % interval contain the truth?",
        "averages" => "Compared with the average of a fixed number of runs",
        "drift" => "Drift",
        "times" => "How long it takes",
        "recorded" => "With the noise of a real disk",
        "slices" => "Slices in turns",
        "turns" => "Repeats in turns",
        "makings" => "Made several times",
        "groups" => "Groups of machines",
        "odd" => "Odd machines among equals",
        "required" => "Requirements",
        "headroom" => "The highest load",
        "changes" => "Histories without a change",
        "delays" => "Histories with a change",
        "stalls" => "Rare stalls",
        _ => "Interim analysis after every round",
    };
    let mut text = format!(
        "{n} simulated runs per figure; shares in %, with a standard error of at most {:.1}.\n",
        error(n)
    );
    for name in TABLES.into_iter().filter(|name| only.is_empty() || only.iter().any(|only| only == name)) {
        text.push_str(&format!("\n### {}\n\n{}", heading(name), table(name, n)));
    }
    Ok(text)
}

/// The standard error in % of a share of 5 % over `n` runs.
fn error(n: u64) -> f64 {
    (0.05 * 0.95 / n as f64).sqrt() * 100.0
}
