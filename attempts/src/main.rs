//! `lodestone-attempts`: makes many attempts of one kind and prints what they came to.

#![allow(clippy::print_stdout, reason = "a program that prints counts")]

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use attempts::outcome::Outcome;
use clap::{Args, Parser, Subcommand};

/// Tries to make Lodestone lose, leave or misreport something, and counts
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Subcommand)]
enum Kind {
    /// Changes manifests of private directories, and cleans
    Manifests(Extent),
    /// Changes outputs of other programs, and imports them
    Imports(Extent),
    /// Changes suites, and resolves them
    Suites(Extent),
    /// Changes fio job files, and reads them
    Jobs(Extent),
    /// Changes run logs; other figures without a word must be 0
    Logs(Extent),
    /// Flips bytes in the index of a store
    Indexes(Extent),
    /// Kills the program at random moments of all its commands
    Kills {
        /// The program
        #[arg(long, value_name = "FILE", default_value = "target/release/lodestone")]
        program: PathBuf,
        /// Where the attempts may make a directory, on the storage that is to be measured meanwhile
        #[arg(long, value_name = "DIR", default_value = ".")]
        directory: PathBuf,
        #[command(flatten)]
        extent: Extent,
    },
    /// Unmounts a target as soon as the program has ended
    Umounts {
        /// The program
        #[arg(long, value_name = "FILE", default_value = "target/release/lodestone")]
        program: PathBuf,
        #[command(flatten)]
        extent: Extent,
    },
}

/// How many attempts, and which.
#[derive(Args)]
struct Extent {
    /// Attempts
    #[arg(long, default_value_t = 1000)]
    count: u64,
    /// Seed of everything random
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
    // What panics is caught and told with what was tried.
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = match attempt(Cli::parse().kind) {
        Ok(outcome) => outcome,
        Err(error) => {
            println!("the attempts cannot be made: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("{outcome}");
    if outcome.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
