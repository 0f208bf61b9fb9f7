//! A site of many runs: how long its pages take, and how large they are.

use std::fs;
use std::io;
use std::path::Path;

use crate::made_runs::{Costs, MadeRuns, MadeRunsArgs};
use crate::measured;
use crate::setting::Setting;

/// What is made.
#[derive(Clone, Debug, clap::Args)]
pub struct SiteArgs {
    /// The program, and a directory on the disk for the runs and the pages
    #[command(flatten)]
    setting: Setting,
    /// The runs
    #[command(flatten)]
    runs: MadeRunsArgs,
}

/// Makes a site of many runs, brings it up to date without and with another run, and follows the histories.
///
/// # Errors
/// A run fails, or the program.
pub fn site(args: &SiteArgs) -> io::Result<String> {
    let scratch = tempfile::Builder::new().prefix("site-").tempdir_in(&args.setting.turns.place)?;
    let pages = scratch.path().join("pages");
    let mut made = MadeRuns::new(&args.runs, &args.setting.programs.lodestone(), scratch.path())?;
    made.add(args.runs.runs - 1)?;
    let program = args.setting.programs.lodestone();
    let [store_words, pages_words] = [made.store(), &pages].map(|path| path.display().to_string());
    let lodestone = |what: &[&str]| -> io::Result<measured::Cost> {
        let words: Vec<String> =
            [what, &["--store", &store_words]].concat().into_iter().map(str::to_owned).collect();
        measured::run(&program, &words)
    };
    let mut costs = Costs::default();
    costs.add("history, the first time", &lodestone(&["history"])?);
    costs.add("history, again", &lodestone(&["history"])?);
    costs.add("site, the first time", &lodestone(&["site", &pages_words])?);
    costs.add("site, nothing new", &lodestone(&["site", &pages_words])?);
    made.add(1)?;
    costs.add("site, one run more", &lodestone(&["site", &pages_words])?);
    let (count, bytes, largest) = sizes(&pages)?;
    Ok(format!(
        "{}\n\n{costs}\n{count} files, {} MiB; the largest {} KiB.\n",
        made.words(),
        bytes >> 20,
        largest >> 10,
    ))
}

/// Files below a directory, their bytes together, and those of the largest.
fn sizes(root: &Path) -> io::Result<(usize, u64, u64)> {
    let (mut count, mut bytes, mut largest) = (0, 0, 0);
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let length = entry.metadata()?.len();
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            } else {
                (count, bytes, largest) = (count + 1, bytes + length, largest.max(length));
            }
        }
    }
    Ok((count, bytes, largest))
}
