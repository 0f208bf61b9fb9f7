//! Run logs that were changed after they were written: other figures must come with a message.

use std::path::Path;

use analyse::{Estimator, analyse};
use model::Run;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use record::{OnDamage, parse_log, parse_log_with};

use crate::mutation::mutate;
use crate::outcome::Outcome;

/// Logs of real runs: one that Lodestone measured, and one imported.
const LOGS: [&str; 2] = [
    include_str!("../../fixtures/runs/format-2.jsonl"),
    include_str!("../../fixtures/runs/format-2-imported.jsonl"),
];
/// Most mutations of one log.
const MOST_CHANGES: u32 = 3;

/// Mutates logs at random and reads them. Each attempt must end with the figures of the original log, with a damage
/// report or with a refusal, and reading beyond the damage must not panic.
///
/// # Panics
/// A fixture cannot be read.
pub fn logs(count: u64, seed: u64) -> Outcome {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let whole = LOGS
        .map(|log| figures(&parse_log(log.as_bytes(), Path::new("log")).expect("a fixture is whole").run));
    let mut outcome = Outcome::default();
    for attempt in 0..count {
        let log = rng.random_range(0..LOGS.len());
        let mut bytes = LOGS[log].as_bytes().to_vec();
        let changes: Vec<&str> =
            (0..rng.random_range(1..=MOST_CHANGES)).map(|_| mutate(&mut bytes, &mut rng)).collect();
        let _ = parse_log_with(bytes.as_slice(), Path::new("log"), OnDamage::Accept);
        match parse_log(bytes.as_slice(), Path::new("log")) {
            Err(_) => outcome.count("refused"),
            // A run without its last event is shown as killed.
            Ok(log) if !log.damage.is_empty() || log.cut_off || log.run.finished.is_none() => {
                outcome.count("reported");
            }
            Ok(read) if figures(&read.run) == whole[log] => outcome.count("same figures"),
            Ok(_) => outcome.fail(format!(
                "seed {seed}, attempt {attempt}: {} in log {log}: other figures without a message",
                changes.join(", ")
            )),
        }
    }
    outcome
}

/// The JSON export of a run.
fn figures(run: &Run) -> String {
    let analysis = analyse(run, &run.started.baseline, Estimator::Mean, model::Units::Decimal);
    report::json::pretty(&report::json::run_export(run, &analysis))
}
