//! Indexes with changed bytes: runs can always be listed, and the listing rebuilds the index.

use std::fs;
use std::io;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use record::{RunSummary, Store, parse_log};

use crate::outcome::Outcome;

const LOG: &str = include_str!("../../fixtures/runs/format-3.jsonl");
/// Number of runs in the store.
const RUNS: u64 = 20;
/// Most bytes of the index that one attempt changes.
const MOST_BYTES: u32 = 8;

/// Creates a store in the existing, empty `directory`. Each attempt changes bytes of its index and lists the
/// runs twice: the first listing rebuilds the index.
///
/// # Errors
/// The directory cannot be written to.
///
/// # Panics
/// The fixture cannot be read.
pub fn indexes(directory: &Path, count: u64, seed: u64) -> io::Result<Outcome> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let store = filled(directory)?;
    let runs = store.runs().map_err(io::Error::other)?;
    let index = directory.join("index");
    let whole = fs::read(&index)?;
    let mut outcome = Outcome::default();
    for attempt in 0..count {
        let mut bytes = whole.clone();
        // Half of the attempts change the header, on which the rest of the file depends.
        let range = if rng.random() { 0..100 } else { 0..bytes.len() };
        for _ in 0..rng.random_range(1..=MOST_BYTES) {
            let at = rng.random_range(range.clone());
            bytes[at] ^= rng.random_range(1..=u8::MAX);
        }
        fs::write(&index, &bytes)?;
        match list_and_rebuild(&store, &runs) {
            Ok(how) => outcome.count(how),
            Err(why) => outcome.fail(format!("seed {seed}, attempt {attempt}: {why}")),
        }
    }
    Ok(outcome)
}

fn filled(directory: &Path) -> io::Result<Store> {
    let store = Store::open(directory).map_err(io::Error::other)?;
    let run = parse_log(LOG.as_bytes(), Path::new("log")).expect("the fixture is whole").run;
    for n in 0..RUNS {
        let mut started = run.started.clone();
        started.id = format!("run{n:05}");
        let mut log = store.begin(started).map_err(io::Error::other)?;
        log.append_all(&run.finished.map(model::Event::RunFinished).into_iter().collect::<Vec<_>>())?;
    }
    Ok(store)
}

/// Lists the runs twice. Returns what happened to the index, or what is wrong.
fn list_and_rebuild(store: &Store, runs: &[RunSummary]) -> Result<&'static str, String> {
    for _ in 0..2 {
        let listing = store.list().map_err(|error| format!("list: {error}"))?;
        if listing.runs != runs {
            return Err("`list` does not show the runs that the store holds".to_owned());
        }
        if !listing.warnings.is_empty() {
            return Err(format!("`list` warns of its own index: {:?}", listing.warnings));
        }
    }
    Ok("rebuilt")
}
