//! `kill -9` at random moments of every command: a small sample of `lodestone-attempts kills`.

use std::path::Path;

use crate::common::*;

/// Earlier tests killed `run` only, but every other command also writes: to the store, to output files or to the
/// targets. Each command runs whole before it is killed and several after it, so this takes some seconds.
#[test]
fn a_killed_command_leaves_intact_files_and_clean_targets() {
    let bench = Bench::new();
    let root = bench.path("attempts");
    std::fs::create_dir(&root).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_lodestone"));
    let outcome = attempts::kills::kills(program, &root, 21, 12).unwrap();
    assert_eq!(outcome.failed, 0, "{outcome}");
    assert_eq!(outcome.attempts, 21);
    let ended = outcome.counts.get("ended before the kill").copied().unwrap_or_default();
    assert!(ended < 21, "no command was killed before it ended: {outcome}");
}
