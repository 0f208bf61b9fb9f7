//! A bounded number of attempts on logs and indexes; `lodestone-attempts` makes more.

/// 20 of 1,000 mutated logs gave other figures without a message: an altered number, swapped or repeated lines.
#[test]
fn mutated_logs_give_the_same_figures_or_a_message() {
    let outcome = attempts::logs::logs(1_000, 20_261_122);
    assert_eq!((outcome.attempts, outcome.failed), (1_000, 0), "{outcome}");
    // Only few mutations change nothing, such as a digit replaced by itself.
    let count = |how| outcome.counts.get(how).copied().unwrap_or_default();
    assert!(count("refused") > 0 && count("reported") > count("refused"), "{outcome}");
    assert!(count("refused") + count("reported") > 900, "{outcome}");
}

/// With 4 of 100 indexes with changed bytes, `list` and `reindex` failed.
#[test]
fn runs_are_listed_despite_changed_bytes_in_the_index() {
    let directory = tempfile::tempdir().unwrap();
    let outcome = attempts::indexes::indexes(directory.path(), 100, 20_261_122).unwrap();
    assert_eq!((outcome.attempts, outcome.failed), (100, 0), "{outcome}");
    assert!(outcome.counts.get("rebuilt").is_some_and(|count| *count > 50), "{outcome}");
}
