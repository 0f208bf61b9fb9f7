//! The flags of `site`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::ReachArgs;

/// Arguments of `site`.
#[derive(Debug, Args)]
pub struct SiteArgs {
    /// Directory for the pages: a new or an empty one, or that of an earlier `site`, which is brought up to date
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,

    /// Store with runs: a directory, or HOST: for the store of another machine (HOST:PATH if it is elsewhere there), whose new runs
    /// are copied to this one first. May be given several times [default: the store]
    #[arg(long, value_name = "STORE")]
    pub from: Vec<OsString>,

    /// How the other machines are reached.
    #[command(flatten)]
    pub reach: ReachArgs,

    /// Title of the first page
    #[arg(long, value_name = "TEXT", default_value = "Storage benchmarks")]
    pub title: String,

    /// Make every page again, also those that are up to date
    #[arg(long)]
    pub again: bool,
}
