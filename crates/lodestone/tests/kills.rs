//! `kill -9` at random moments of every command, a few of the many that `lodestone-attempts kills` makes.

mod common;

use std::path::Path;

use common::*;

/// Kills had been tried on `run` alone: every other command writes too, into the store, to files for people, or onto
/// the targets.
#[test]
fn a_kill_of_any_command_leaves_readable_logs_whole_files_and_clean_targets() {
    let bench = Bench::new();
    let root = bench.path("attempts");
    std::fs::create_dir(&root).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_lodestone"));
    let outcome = attempts::kills::kills(program, &root, 28, 12).unwrap();
    assert_eq!(outcome.failed, 0, "{outcome}");
    assert_eq!(outcome.attempts, 28);
    let ended = outcome.counts.get("ended before").copied().unwrap_or_default();
    assert!(ended < 28, "none was killed before it ended: {outcome}");
}
