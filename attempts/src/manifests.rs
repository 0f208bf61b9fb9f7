//! Randomly mutated manifests of private directories: whatever their content, only leftovers may be removed, and
//! nothing may panic.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use host::leftovers::{self, Found};
use host::testfiles::PrivateDirectory;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::mutation::mutate;
use crate::outcome::Outcome;

/// Most mutations of one manifest.
const MOST_CHANGES: u32 = 4;

/// Makes `count` attempts. Each mutates the manifest of a leftover next to other files, searches for leftovers and
/// removes those found.
///
/// # Panics
/// The temporary directory is not writable.
pub fn manifests(count: u64, seed: u64) -> Outcome {
    let mut outcome = Outcome::default();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let manifest = manifest_of_a_dead_run().expect("a manifest can be made in the temporary directory");
    for attempt in 0..count {
        let mut bytes = manifest.clone();
        let changes = rng.random_range(1..=MOST_CHANGES);
        let ways: Vec<&str> = (0..changes).map(|_| mutate(&mut bytes, &mut rng)).collect();
        let what = || format!("seed {seed}, attempt {attempt}: {}", ways.join(", "));
        match catch_unwind(AssertUnwindSafe(|| one(&bytes))) {
            Ok(Ok(how)) => outcome.count(how),
            Ok(Err(error)) => outcome.fail(format!("{}: {error}", what())),
            Err(_) => outcome.fail(format!("{}: a panic", what())),
        }
    }
    outcome
}

/// Makes one attempt with this manifest and returns its outcome.
fn one(manifest: &[u8]) -> io::Result<&'static str> {
    let root = tempfile::tempdir()?;
    let (parent, victim) = (root.path().join("parent"), root.path().join("victim"));
    for directory in [&parent, &victim, &parent.join("mine")] {
        fs::create_dir(directory)?;
    }
    let others = [victim.join("manifest.json"), parent.join("mine/data"), parent.join(".lodestone-mine")];
    for file in &others {
        fs::write(file, "kept")?;
    }
    let left = parent.join(".lodestone-left");
    fs::DirBuilder::new().mode(0o700).create(&left)?;
    fs::write(left.join("manifest.json"), manifest)?;
    std::os::unix::fs::symlink(&victim, left.join("link"))?;
    let mut how = "not a leftover";
    for found in leftovers::find(&parent) {
        how = match found {
            Found::Elsewhere(_) => "of another host",
            Found::LeftOver(leftover) => {
                leftovers::remove(leftover)?;
                "removed"
            }
        };
    }
    if left.exists() == (how == "removed") {
        return Err(io::Error::other(
            "a directory was removed that was not found as a leftover, or a leftover was not removed",
        ));
    }
    match others.iter().find(|file| fs::read(file).ok().as_deref() != Some(b"kept")) {
        Some(lost) => Err(io::Error::other(format!("{} was lost", lost.display()))),
        None => Ok(how),
    }
}

/// The manifest of a run of this host whose process has ended.
fn manifest_of_a_dead_run() -> io::Result<Vec<u8>> {
    let parent = tempfile::tempdir()?;
    let private = PrivateDirectory::create(parent.path(), "attempt")
        .map_err(host::testfiles::TestFileError::into_source)?;
    let path: &Path = &private.path().join("manifest.json");
    let mut manifest: serde_json::Value = serde_json::from_reader(File::open(path)?)?;
    manifest["process_start"] = 1.into();
    Ok(manifest.to_string().into_bytes())
}
