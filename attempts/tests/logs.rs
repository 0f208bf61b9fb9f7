//! A bounded number of attempts on logs and indexes; more of them by hand with `lodestone-attempts`.

/// 20 of 1,000 changed logs gave other figures without a word: an altered number, swapped or doubled lines.
#[test]
fn no_changed_log_gives_other_figures_without_a_word() {
    let outcome = attempts::logs::logs(1_000, 20_261_122);
    assert_eq!((outcome.attempts, outcome.failed), (1_000, 0), "{outcome}");
    // Few changes change nothing, such as a digit that is put in its own place.
    let count = |how| outcome.counts.get(how).copied().unwrap_or_default();
    assert!(count("refused") > 0 && count("reported") > count("refused"), "{outcome}");
    assert!(count("refused") + count("reported") > 900, "{outcome}");
}

/// 4 of 100 indexes with flipped bytes stopped `list`, and `reindex` failed too.
#[test]
fn no_flipped_byte_in_the_index_stops_the_listing_of_runs() {
    let directory = tempfile::tempdir().unwrap();
    let outcome = attempts::indexes::indexes(directory.path(), 100, 20_261_122).unwrap();
    assert_eq!((outcome.attempts, outcome.failed), (100, 0), "{outcome}");
    assert!(outcome.counts.get("made anew").is_some_and(|count| *count > 50), "{outcome}");
}
