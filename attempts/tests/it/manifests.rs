//! Mutated manifests of private directories.

/// A bounded number of the attempts of `lodestone-attempts manifests`.
#[test]
fn mutated_manifests_remove_only_leftovers() {
    let outcome = attempts::manifests::manifests(300, 20_261_122);
    assert_eq!(outcome.failed, 0, "{outcome}");
    for how in ["removed", "of another host", "not a leftover"] {
        assert!(outcome.counts.contains_key(how), "no attempt ended with {how}: {outcome}");
    }
}
