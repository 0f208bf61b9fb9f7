//! The command line of requirements.

use std::ffi::OsString;

use clap::{Args, Subcommand};

/// What the storage must reach.
#[derive(Debug, Args)]
pub struct RequireArgs {
    /// Say whether the storage is good enough: profiles, or TOML files with [[require]], separated by commas. The exit code is 1 if
    /// one is missed; `lodestone profiles` lists them
    #[arg(long, value_name = "PROFILE|FILE,…", value_delimiter = ',', conflicts_with = "fio")]
    pub require: Vec<String>,

    /// Measure what an earlier run measured, and say whether it is slower by more than the margin (--margin). RUN is an id, `last`, or
    /// the path of a log. Without TARGET, the same targets
    #[arg(long, value_name = "RUN", conflicts_with = "fio")]
    pub against: Option<OsString>,

    /// Also end with 1 if what is required is undecided
    #[arg(long, hide_short_help = true)]
    pub strict: bool,
}

/// Arguments of `profiles`.
#[derive(Debug, Args)]
pub struct ProfilesArgs {
    /// What to show [default: a list of the profiles]
    #[command(subcommand)]
    pub command: Option<ProfilesCommand>,
}

/// What to show about profiles.
#[derive(Debug, Subcommand)]
pub enum ProfilesCommand {
    /// List the profiles with what they require
    List,
    /// Print the text of a profile, with the sources of its limits, as a starting point for your own
    Show {
        /// Name of the profile
        name: String,
    },
}
