//! The structure test, as a test.

#[test]
fn the_tree_passes_every_check() {
    let complaints = xtask::tidy::complaints(&xtask::root());
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
