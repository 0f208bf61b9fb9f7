//! `lodestone-benches`: the tables of docs/benchmarks.md.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program of tables")]

use std::process::ExitCode;

use benches::drive::{DriveArgs, drive};
use benches::features::{FeaturesArgs, features};
use benches::footprint::{FootprintArgs, footprint};
use benches::instructions::{InstructionsArgs, instructions};
use benches::measured;
use benches::peers::{PeersArgs, peers};
use benches::telemetry::{TelemetryArgs, telemetry};
use benches::truth::{TruthArgs, truth};
use clap::{Parser, Subcommand};

/// Measures Lodestone beside its peers
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Rates and processor time beside fio, sysbench, elbencho and ioping
    Peers(PeersArgs),
    /// What each feature costs, and what a second job adds
    Features(FeaturesArgs),
    /// Memory, and the time to the first I/O
    Footprint(FootprintArgs),
    /// Reported latencies against what a slow file really took
    Truth(TruthArgs),
    /// Instructions per operation, counted by callgrind
    Instructions(InstructionsArgs),
    /// What telemetry costs, and whether it changes the figures
    Telemetry(TelemetryArgs),
    /// The engine alone on a file, for profilers: rate and processor time
    Drive(DriveArgs),
    /// Runs a program and prints what it cost
    #[command(hide = true)]
    Child {
        program: String,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Peers(args) => peers(&args),
        Command::Features(args) => features(&args),
        Command::Footprint(args) => footprint(&args),
        Command::Truth(args) => truth(&args),
        Command::Instructions(args) => instructions(&args),
        Command::Telemetry(args) => telemetry(&args),
        Command::Drive(args) => drive(&args).map(|driven| driven.to_string()),
        Command::Child { program, args } => measured::child(&program, &args),
    };
    match result {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
