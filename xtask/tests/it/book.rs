//! The book and the documents at the root have no dead link, and the test finds one in a copy that has.

use std::fs;
use std::path::{Path, PathBuf};

/// The documents at the root that newcomers read first.
const AT_THE_ROOT: [&str; 7] = [
    "README.md",
    "ARCHITECTURE.md",
    "METHODOLOGY.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "BIAS.md",
];

#[test]
fn no_document_has_a_dead_link() {
    let root = xtask::root();
    let documents = xtask::tidy::documents(&root);
    for name in AT_THE_ROOT.into_iter().chain(["docs/SUMMARY.md", "docs/tour/disks.md"]) {
        assert!(documents.contains(&root.join(name)), "{name} is not checked");
    }
    assert_eq!(complaints(&root), [""; 0]);
}

#[test]
fn broken_documents_are_found() {
    let cases = [
        ("README.md", "\n[no file](docs/absent.md)\n", "the link to docs/absent.md is dead"),
        (
            "README.md",
            "\n[no heading](docs/method/repeat.md#absent)\n",
            "the link to docs/method/repeat.md#absent is dead: docs/method/repeat.md has no such heading",
        ),
        ("docs/tour/disks.md", "\n[own heading](#absent)\n", "the link to #absent is dead"),
        ("docs/tour/disks.md", "\n![picture](../pictures/absent.svg)\n", "../pictures/absent.svg is dead"),
        ("docs/tour/disks.md", "\n[far](../../README.md)\n", "the link to README.md leads out of the book"),
        ("docs/reference.md", "\n[gallery](gallery.html#absent)\n", "docs/gallery.html has no such heading"),
        // Included in docs/architecture.md, so the link is dead there.
        ("ARCHITECTURE.md", "\n[page](docs/README.md)\n", "the link to docs/README.md is dead"),
        ("docs/tour/new.md", "# New\n", "docs/tour/new.md: is not in docs/SUMMARY.md"),
        (
            "docs/tour/hours.md",
            concat!("\n<!-- out", "put: lodestone list -->\n"),
            "output of a real run is missing",
        ),
    ];
    let copy = tempfile::tempdir().unwrap();
    copy_tree(&xtask::root(), copy.path());
    assert_eq!(complaints(copy.path()), [""; 0], "the unchanged copy");
    for (name, added, expected) in cases {
        let path = copy.path().join(name);
        let before = fs::read(&path).ok();
        fs::write(&path, [before.as_deref().unwrap_or_default(), added.as_bytes()].concat()).unwrap();
        let found = complaints(copy.path());
        assert!(found.iter().any(|line| line.contains(expected)), "{name}{added}{found:#?}");
        match before {
            Some(text) => fs::write(&path, text).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
    }
}

fn complaints(root: &Path) -> Vec<String> {
    xtask::book::complaints(root, &xtask::tidy::documents(root))
}

/// Copies the documents; of the other files, which are only linked to, the names and HTML.
fn copy_tree(from: &Path, to: &Path) {
    for path in xtask::tidy::all_files(from) {
        let copied: PathBuf = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(copied.parent().unwrap()).unwrap();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("md" | "html") => fs::copy(&path, &copied).map(drop).unwrap(),
            _ => fs::write(&copied, "").unwrap(),
        }
    }
}
