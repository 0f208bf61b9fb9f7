//! Manifests that are not what a run has written.

/// A bounded number of the attempts of `lodestone-attempts manifests`.
#[test]
fn changed_manifests_remove_nothing_that_is_no_leftover() {
    let outcome = attempts::manifests::manifests(300, 20_261_122);
    assert_eq!(outcome.failed, 0, "{outcome}");
    for how in ["removed", "of another host", "not taken for a leftover"] {
        assert!(outcome.counts.contains_key(how), "the attempts reach all ends: {outcome}");
    }
}
