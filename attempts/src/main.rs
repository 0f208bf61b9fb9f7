//! `lodestone-attempts`: makes many attempts of one kind and prints their outcome.

#![allow(clippy::print_stdout, reason = "a program that prints counts")]

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use attempts::outcome::Outcome;
use attempts::readers::{Reader, reader};
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
    /// Mutates the files of a reader's corpus and reads them
    Read {
        /// Reader: log, import, importers, suite, job or size
        #[arg(value_parser = reader)]
        reader: &'static Reader,
        #[command(flatten)]
        extent: Extent,
    },
    /// Writes the corpus of a reader into a directory, for the fuzzer
    Corpus {
        /// Reader: log, import, importers, suite, job or size
        #[arg(value_parser = reader)]
        reader: &'static Reader,
        /// Existing directory
        directory: PathBuf,
    },
    /// Mutates run logs with checksums and reads them; other figures without a message are failures
    Logs(Extent),
    /// Changes bytes in the index of a store
    Indexes(Extent),
    /// Kills all commands of the program at random moments
    Kills {
        /// Program to kill
        #[arg(long, value_name = "FILE", default_value = "target/debug/lodestone")]
        program: PathBuf,
        /// Directory for temporary files, on the storage to measure
        #[arg(long, value_name = "DIR", default_value = ".")]
        directory: PathBuf,
        #[command(flatten)]
        extent: Extent,
    },
    /// Makes storage stacks and ends the run at random moments
    Stacks {
        /// Program to run
        #[arg(long, value_name = "FILE", default_value = "target/debug/lodestone")]
        program: PathBuf,
        /// Directory for the images
        #[arg(long, value_name = "DIR", default_value = ".")]
        directory: PathBuf,
        #[command(flatten)]
        extent: Extent,
    },
    /// Unmounts a target as soon as the program has ended
    Umounts {
        /// Program to run
        #[arg(long, value_name = "FILE", default_value = "target/debug/lodestone")]
        program: PathBuf,
        #[command(flatten)]
        extent: Extent,
    },
}

/// Most bytes of an input of the fuzzer.
const FUZZED_BYTES: usize = 1 << 16;

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
        Kind::Read { reader, extent: Extent { count, seed } } => reader.trials(count, seed),
        Kind::Corpus { reader, directory } => {
            reader.write_corpus(&directory, FUZZED_BYTES)?;
            Outcome::default()
        }
        Kind::Logs(Extent { count, seed }) => attempts::logs::logs(count, seed),
        Kind::Indexes(Extent { count, seed }) => {
            attempts::indexes::indexes(tempfile::tempdir()?.path(), count, seed)?
        }
        Kind::Kills { program, directory, extent } => {
            let root = tempfile::Builder::new().prefix("attempts-").tempdir_in(directory.canonicalize()?)?;
            attempts::kills::kills(&program.canonicalize()?, root.path(), extent.count, extent.seed)?
        }
        Kind::Stacks { program, directory, extent } => {
            let root = tempfile::Builder::new().prefix("attempts-").tempdir_in(directory.canonicalize()?)?;
            attempts::stacks::stacks(&program.canonicalize()?, root.path(), extent.count, extent.seed)
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
