//! Shared by attempts on file readers: mutates files and calls a reader that may panic.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::mutation::mutate;
use crate::outcome::{Outcome, Verdict};

/// Most mutations of one file.
const MOST_CHANGES: u32 = 3;

/// A directory of the repository.
pub fn repository(directory: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(directory)
}

/// The name and the content of a file.
pub type File = (String, Vec<u8>);

/// All files below a directory whose names end with `end`, sorted by name.
pub fn files(directory: &Path, end: &str) -> Vec<File> {
    let mut open = vec![directory.to_owned()];
    let mut found = Vec::new();
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.to_string_lossy().ends_with(end)
                && let Ok(content) = fs::read(&path)
            {
                found.push((path.display().to_string(), content));
            }
        }
    }
    found.sort();
    found
}

/// Passes `count` mutated files to `read`, with the index of the file, which returns a permitted outcome or what is wrong.
/// A panic counts as a failure.
pub fn trials(files: &[File], count: u64, seed: u64, read: impl Fn(usize, &[u8]) -> Verdict) -> Outcome {
    let mut outcome = Outcome::default();
    if files.is_empty() {
        outcome.fail("there are no files to mutate".to_owned());
        return outcome;
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    for attempt in 0..count {
        let index = rng.random_range(0..files.len());
        let (name, original) = &files[index];
        let mut bytes = original.clone();
        let changes: Vec<&str> =
            (0..rng.random_range(1..=MOST_CHANGES)).map(|_| mutate(&mut bytes, &mut rng)).collect();
        let wrong = match catch_unwind(AssertUnwindSafe(|| read(index, &bytes))) {
            Ok(Ok(how)) => {
                outcome.count(how);
                continue;
            }
            Ok(Err(wrong)) => wrong,
            Err(panic) => format!("panic: {}", words(panic.as_ref())),
        };
        outcome
            .fail(format!("attempt {attempt} of seed {seed}, {name} with {}: {wrong}", changes.join(", ")));
    }
    outcome
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
