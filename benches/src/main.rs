//! `lodestone-benches`: the tables of docs/benchmarks.md.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program of tables")]
#![allow(clippy::disallowed_methods, reason = "simulations, not figures of a log")]

use std::io;
use std::process::ExitCode;

use benches::all::all;
use benches::bias::{BiasArgs, bias};
use benches::certainty::command::{CertaintyArgs, certainty};
use benches::certainty::equal::{EqualArgs, equal};
use benches::certainty::repeats::{RepeatsArgs, repeats};
use benches::claims::{FindingsArgs, findings};
use benches::clients::clients;
use benches::differ::{DifferArgs, differ};
use benches::drive::{DriveArgs, drive};
use benches::features::features;
use benches::footprint::footprint;
use benches::instructions::{InstructionsArgs, instructions};
use benches::kinds::{KindsArgs, kinds};
use benches::log::{LogArgs, log};
use benches::machines::{MachinesArgs, machines};
use benches::measured;
use benches::noise::{NoiseArgs, noise};
use benches::peers::peers;
use benches::push::{PushArgs, push};
use benches::setting::{Setting, Turns};
use benches::site::{SiteArgs, site};
use benches::stalls::{StallsArgs, stalls};
use benches::stamps::stamps;
use benches::telemetry::{TelemetryArgs, telemetry};
use benches::truth::truth;
use benches::turns::turns;
use clap::{Parser, Subcommand};

/// Compares Lodestone with its peers
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Everything below except `drive`, as one Markdown document with a description of the machine
    All(Setting),
    /// Rates and CPU time, compared with fio, sysbench, elbencho and ioping
    Peers(Setting),
    /// Instructions per operation, counted by callgrind
    Instructions(InstructionsArgs),
    /// What each feature costs, and what a second job adds
    Features(Setting),
    /// Difference between time stamps of batches and of single operations
    Stamps(Turns),
    /// Memory, and the time to the first I/O
    Footprint(Setting),
    /// Reported latencies against the true times of a slow file
    Truth(Setting),
    /// Cost of telemetry, and whether it changes the figures
    Telemetry(TelemetryArgs),
    /// The engine alone on a file, for profilers: rate and CPU time
    Drive(DriveArgs),
    /// How often verdicts are wrong and intervals contain the truth, by simulation
    Certainty(CertaintyArgs),
    /// The noise of a disk over time scales, which `certainty` simulates
    Noise(NoiseArgs),
    /// A difference of known size on a real disk: time until it is found
    Differ(DifferArgs),
    /// Verdicts on equal targets on real storage
    Equal(EqualArgs),
    /// Verdicts on files that stall rarely
    Stalls(StallsArgs),
    /// Short repeats against long ones on real storage
    Bias(BiasArgs),
    /// What a short repeat costs beyond its measurement, by parts
    Turns(Setting),
    /// Size of a log by event
    Log(LogArgs),
    /// What an agent costs: a file through one and without, and a run with many
    Machines(MachinesArgs),
    /// Clients that work together, beside fio's clients and servers
    Clients(Setting),
    /// A site of many runs: how long its pages take, and how large they are
    Site(SiteArgs),
    /// Many runs in PostgreSQL: pushes a second, and how long questions about all of them take, there and in a store
    Push(PushArgs),
    /// False alarms and power of the repeat diagnostics, by simulation
    Repeats(RepeatsArgs),
    /// What findings claim of noisy runs whose truth is known, by simulation
    Findings(FindingsArgs),
    /// What is said of made storage whose kind is known
    Kinds(KindsArgs),
    /// Runs a program and prints its cost
    #[command(hide = true)]
    Child {
        program: String,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

fn main() -> ExitCode {
    if host::trusts_the_counter(&host::Roots::default()) {
        engine::read_the_counter();
    }
    let result = match Cli::parse().command {
        Command::All(setting) => all(&setting, &mut io::stdout()).map(|()| String::new()),
        Command::Peers(setting) => peers(&setting),
        Command::Instructions(args) => instructions(&args),
        Command::Features(setting) => features(&setting),
        Command::Stamps(turns) => stamps(&turns),
        Command::Footprint(setting) => footprint(&setting),
        Command::Truth(setting) => truth(&setting),
        Command::Telemetry(args) => telemetry(&args),
        Command::Drive(args) => drive(&args).map(|driven| driven.to_string()),
        Command::Certainty(args) => certainty(&args),
        Command::Noise(args) => noise(&args),
        Command::Differ(args) => differ(&args),
        Command::Equal(args) => equal(&args),
        Command::Stalls(args) => stalls(&args),
        Command::Bias(args) => bias(&args),
        Command::Turns(setting) => turns(&setting),
        Command::Log(args) => log(&args),
        Command::Machines(args) => machines(&args),
        Command::Clients(setting) => clients(&setting),
        Command::Site(args) => site(&args),
        Command::Push(args) => push(&args),
        Command::Repeats(args) => Ok(repeats(&args)),
        Command::Findings(args) => Ok(findings(&args)),
        Command::Kinds(args) => Ok(kinds(&args)),
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
