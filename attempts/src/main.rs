//! `lodestone-attempts`: makes many attempts of one kind and prints their outcome.

#![allow(clippy::print_stdout, reason = "a program that prints counts")]

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use attempts::outcome::Outcome;
use clap::{Args, Parser, Subcommand};

/// Tries to make Lodestone lose, leave behind or misreport something, and counts the outcomes
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Subcommand)]
enum Kind {
    /// Mutates manifests of private directories and cleans up
    Manifests(Extent),
    /// Mutates outputs of other programs and imports them
    Imports(Extent),
    /// Mutates suites and resolves them
    Suites(Extent),
    /// Mutates fio job files and reads them
    Jobs(Extent),
    /// Mutates run logs and reads them; other figures without a message are failures
    Logs(Extent),
    /// Changes bytes in the index of a store
    Indexes(Extent),
    /// Kills all commands of the program at random moments
    Kills {
        /// Program to kill
        #[arg(long, value_name = "FILE", default_value = "target/release/lodestone")]
        program: PathBuf,
        /// Directory for temporary files, on the storage to measure
        #[arg(long, value_name = "DIR", default_value = ".")]
        directory: PathBuf,
        #[command(flatten)]
        extent: Extent,
    },
    /// Unmounts a target as soon as the program has ended
    Umounts {
        /// Program to run
        #[arg(long, value_name = "FILE", default_value = "target/release/lodestone")]
        program: PathBuf,
        #[command(flatten)]
        extent: Extent,
    },
}

/// Number and seed of the attempts.
#[derive(Args)]
struct Extent {
    /// Number of attempts
    #[arg(long, default_value_t = 1000)]
    count: u64,
    /// Seed of the random number generator
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn attempt(kind: Kind) -> io::Result<Outcome> {
    Ok(match kind {
        Kind::Manifests(Extent { count, seed }) => attempts::manifests::manifests(count, seed),
        Kind::Imports(Extent { count, seed }) => attempts::imports::imports(count, seed),
        Kind::Suites(Extent { count, seed }) => attempts::suites::suites(count, seed),
        Kind::Jobs(Extent { count, seed }) => attempts::jobs::jobs(count, seed),
        Kind::Logs(Extent { count, seed }) => attempts::logs::logs(count, seed),
        Kind::Indexes(Extent { count, seed }) => {
            attempts::indexes::indexes(tempfile::tempdir()?.path(), count, seed)?
        }
        Kind::Kills { program, directory, extent } => {
            let root = tempfile::Builder::new().prefix("attempts-").tempdir_in(directory.canonicalize()?)?;
            attempts::kills::kills(&program.canonicalize()?, root.path(), extent.count, extent.seed)?
        }
        Kind::Umounts { program, extent } => {
            attempts::umounts::umounts(&program.canonicalize()?, extent.count, extent.seed)
        }
    })
}

fn main() -> ExitCode {
    // Panics are caught and reported with the attempt.
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = match attempt(Cli::parse().kind) {
        Ok(outcome) => outcome,
        Err(error) => {
            println!("cannot make the attempts: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("{outcome}");
    if outcome.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
