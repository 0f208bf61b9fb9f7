//! The command line of storage stacks.

use clap::{Args, Subcommand, ValueEnum};

use super::{ReachArgs, STACKS};

/// How stacks are made.
#[derive(Clone, Copy, Debug, Args)]
pub struct Making {
    /// Make each stack also without its layers, and without each of them, to measure what they cost
    #[arg(long, hide_short_help = true, requires = "stack", help_heading = STACKS)]
    pub with_layers: bool,

    /// Make each stack so many times, each time elsewhere, and measure these in turn: verdicts then allow for the luck of one making
    /// [default: 4 on disks that may rotate, whose regions are not equally fast, else 1]
    #[arg(long, hide_short_help = true, value_name = "N", requires = "stack", help_heading = STACKS)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=16))]
    pub makings: Option<u32>,

    /// Measure what the regions of a disk are worth: one stack, made 8 times from its beginning to its end, or as --makings says
    #[arg(long, hide_short_help = true, requires = "stack", conflicts_with = "with_layers", help_heading = STACKS)]
    pub by_region: bool,

    /// What is done with each device or image first [default: discard where all disks can, else none]
    #[arg(long, hide_short_help = true, value_enum, value_name = "HOW", requires = "stack", help_heading = STACKS)]
    pub precondition: Option<PreconditionWord>,
}

/// What is done with a device before stacks are made on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PreconditionWord {
    /// Nothing.
    None,
    /// What it had is discarded: flash is as if new.
    Discard,
    /// It is written with random data.
    WriteOnce,
    /// It is written twice, so that flash has used up its spare blocks.
    WriteTwice,
}

/// Arguments of `stack`.
#[derive(Debug, Args)]
pub struct StackArgs {
    /// What to do.
    #[command(subcommand)]
    pub what: StackCommand,
}

/// What `stack` does.
#[derive(Debug, Subcommand)]
pub enum StackCommand {
    /// Show the commands that `run` with the same --on and --stack carries out, and those that undo them
    Plan {
        /// Where the stacks are made: image:SIZE, image:DIRECTORY:SIZE, or block devices by commas; with HOST: before it, on
        /// another machine
        #[arg(long, value_name = "[HOST:]GROUND")]
        on: String,
        /// The stacks, by commas
        #[arg(long, value_name = "STACK,STACK…")]
        stack: String,
        /// How they are made.
        #[command(flatten)]
        making: Making,
        /// How the other machine is reached.
        #[command(flatten)]
        reach: ReachArgs,
    },
    /// List the stacks of this machine: those of runs in progress, and those that killed runs left
    List,
    /// Remove stacks that killed runs left
    Destroy {
        /// Ids of stacks, as `stack list` shows them
        #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
        ids: Vec<String>,
        /// All that no run in progress uses
        #[arg(long)]
        all: bool,
    },
    /// List what stacks can be made of, and what is missing here
    Kinds,
}
