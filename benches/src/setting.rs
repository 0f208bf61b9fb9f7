//! Common settings of all tables: the programs, the directory and the number of rounds.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::contenders::Programs;

/// Size in bytes of the test file in the page cache.
pub const CACHED_BYTES: u64 = 1 << 20;
/// Size in bytes of the test file on the disk.
pub const DISK_BYTES: u64 = 1 << 30;

/// What is measured, where and how often.
#[derive(Clone, Debug, clap::Args)]
pub struct Setting {
    /// The programs.
    #[command(flatten)]
    pub programs: Programs,
    /// Where and how often.
    #[command(flatten)]
    pub turns: Turns,
}

/// Where it is measured and how often.
#[derive(Clone, Debug, clap::Args)]
pub struct Turns {
    /// Directory for the test files, on the disk to be measured
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub place: PathBuf,
    /// Rounds; each program takes a turn in every round
    #[arg(long, default_value_t = ROUNDS)]
    pub rounds: u32,
}

/// Default number of rounds: five show whether a median is more than luck.
pub const ROUNDS: u32 = 5;

/// The numbers of `cases` cases in the order of their turns: each once per round, and the first one advances by one
/// from round to round.
pub fn turns(rounds: u32, cases: usize) -> impl Iterator<Item = usize> {
    (0..rounds as usize).flat_map(move |round| (0..cases).map(move |turn| (turn + round) % cases))
}

/// Creates a file of random bytes, on the disk and, if it is small, in the page cache.
///
/// # Errors
/// It cannot be written.
pub fn make(path: &Path, bytes: u64) -> io::Result<()> {
    let mut random = vec![0; 1 << 20];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    let mut file = File::create(path)?;
    for n in 0..bytes >> 20 {
        random[..8].copy_from_slice(&n.to_le_bytes());
        file.write_all(&random)?;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_turn_in_each_round_and_begins_one() {
        assert_eq!(turns(3, 3).collect::<Vec<_>>(), [0, 1, 2, 1, 2, 0, 2, 0, 1]);
        assert_eq!(turns(2, 0).count(), 0);
    }
}
