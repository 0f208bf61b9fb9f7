//! The flags of `watch`.

use clap::{Args, Subcommand};

use super::RunArgs;

const WATCHING: &str = "Watching";

/// Arguments of `watch`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct WatchArgs {
    /// What else it does.
    #[command(subcommand)]
    pub command: Option<WatchCommand>,

    /// What is watched, and how.
    #[command(flatten)]
    pub watched: WatchedArgs,
}

/// Watching by the system instead of in the foreground.
#[derive(Debug, Subcommand)]
pub enum WatchCommand {
    /// Have systemd watch: for the user, or for the system if root installs it. Without systemd, print a line for cron
    Install(Box<InstallArgs>),
    /// List what systemd watches
    List,
    /// Have systemd watch it no longer
    Remove {
        /// Its name
        name: String,
    },
}

/// Arguments of `watch install`.
#[derive(Debug, Args)]
pub struct InstallArgs {
    /// Name of the units: lodestone-watch-NAME
    #[arg(long, value_name = "NAME", default_value = "default", help_heading = WATCHING)]
    pub name: String,

    /// What is watched, and how.
    #[command(flatten)]
    pub watched: WatchedArgs,
}

/// What is watched, and how: flags of its own, and those of `run`.
#[derive(Debug, Args)]
pub struct WatchedArgs {
    /// Measure once in each of these intervals, such as 1h or 30m
    #[arg(long, value_name = "TIME", required_unless_present = "at", conflicts_with = "at", help_heading = WATCHING)]
    pub every: Option<String>,

    /// Measure at these times of the day, such as 08:00,20:00
    #[arg(long, value_name = "HH:MM", value_delimiter = ',', help_heading = WATCHING)]
    pub at: Vec<String>,

    /// Each machine begins by a part of this time later, always the same one of its own, so that many do not begin at once
    /// [default: a tenth of the interval, 5m with --at]
    #[arg(long, value_name = "TIME", help_heading = WATCHING)]
    pub spread: Option<String>,

    /// End after this many runs; those that are left out count
    #[arg(long, value_name = "N", help_heading = WATCHING, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: Option<u32>,

    /// Make the first run at once: what a timer starts
    #[arg(long, hide = true)]
    pub now: bool,

    /// End with exit code 1 as soon as something has changed
    #[arg(long, help_heading = WATCHING)]
    pub until_change: bool,

    /// Run this command by the shell when something has changed; LODESTONE_CHANGE has the sentence, LODESTONE_RUN the run
    #[arg(long, value_name = "COMMAND", help_heading = WATCHING)]
    pub on_change: Option<String>,

    /// Leave a run out if more than this would be written within a day, by this and earlier runs on the same targets
    #[arg(long, value_name = "SIZE", default_value = "10G", help_heading = WATCHING)]
    pub write_limit: String,

    /// Leave a run out while a processor or the board is warmer than this
    #[arg(long, value_name = "CELSIUS", help_heading = WATCHING)]
    pub max_temperature: Option<f64>,

    /// Measure also while the machine is busy
    #[arg(long, help_heading = WATCHING)]
    pub even_if_busy: bool,

    /// What each run does.
    #[command(flatten)]
    pub run: RunArgs,
}

/// The flags above that have a value, and those that have none.
pub const WATCH_FLAGS: ([&str; 7], [&str; 3]) = (
    ["--every", "--at", "--spread", "--runs", "--on-change", "--write-limit", "--max-temperature"],
    ["--until-change", "--even-if-busy", "--now"],
);
