//! The flags of `site`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `site`.
#[derive(Debug, Args)]
pub struct SiteArgs {
    /// Directory for the pages: a new or an empty one, or that of an earlier `site`, which is brought up to date
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,

    /// Store with runs, such as /srv/pi1/lodestone; may be given several times [default: the store]
    #[arg(long, value_name = "STORE")]
    pub from: Vec<PathBuf>,

    /// Title of the first page
    #[arg(long, value_name = "TEXT", default_value = "Storage benchmarks")]
    pub title: String,

    /// Make every page again, also those that are up to date
    #[arg(long)]
    pub again: bool,
}
