//! The readers of files that somebody else may have written, each with its corpus and its oracle: what must hold of its
//! result, whatever it reads. The tests, the attempts and the fuzz targets use the same ones.

use std::path::Path;

use crate::outcome::{Outcome, Verdict};
use crate::trial::{File, files, repository, trials};
use crate::{imports, jobs, logs, sizes, suites};

/// A reader of files.
#[derive(Debug)]
pub struct Reader {
    /// Its name in commands.
    pub name: &'static str,
    /// Directories of the repository with whole files, and how the names of these files end.
    corpus: &'static [(&'static str, &'static str)],
    /// Reads bytes. It must not panic.
    pub read: fn(&[u8]) -> Verdict,
}

/// All readers.
pub static READERS: &[Reader] = &[
    Reader { name: "log", corpus: &[("fixtures/runs", ".jsonl"), ("fuzz/seeds/log", "")], read: logs::read },
    Reader { name: "import", corpus: &[("fixtures/imports", "")], read: imports::read },
    Reader { name: "importers", corpus: &[("fixtures/imports", "")], read: imports::read_by_each },
    Reader { name: "suite", corpus: &[("suites", ".toml")], read: suites::read },
    Reader { name: "job", corpus: &[("fixtures/fio", ".fio")], read: jobs::read },
    Reader { name: "size", corpus: &[("fuzz/seeds/size", "")], read: sizes::read },
];

/// The reader of this name.
///
/// # Errors
/// There is none; the message names those that there are.
pub fn reader(name: &str) -> Result<&'static Reader, String> {
    let names = || READERS.iter().map(|reader| reader.name).collect::<Vec<_>>().join(", ");
    let found = READERS.iter().find(|reader| reader.name == name);
    found.ok_or_else(|| format!("there is no reader `{name}`; the readers are {}", names()))
}

impl Reader {
    /// The files of its corpus, sorted by directory and name.
    pub fn corpus(&self) -> Vec<File> {
        self.corpus.iter().flat_map(|(directory, end)| files(&repository(directory), end)).collect()
    }

    /// Reads `count` mutated files of the corpus.
    pub fn trials(&self, count: u64, seed: u64) -> Outcome {
        trials(&self.corpus(), count, seed, |_, bytes| (self.read)(bytes))
    }

    /// Writes the corpus into an existing directory, one file each, without those of more than `most` bytes.
    ///
    /// # Errors
    /// The directory cannot be written to.
    pub fn write_corpus(&self, directory: &Path, most: usize) -> std::io::Result<()> {
        let small = self.corpus().into_iter().filter(|(_, bytes)| bytes.len() <= most);
        small.enumerate().try_for_each(|(n, (_, bytes))| std::fs::write(directory.join(n.to_string()), bytes))
    }
}
