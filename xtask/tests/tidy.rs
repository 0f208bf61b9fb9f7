//! The structure test, as a test.

#[test]
fn the_tree_is_as_it_should_be() {
    let complaints = xtask::tidy::complaints(&xtask::root());
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
