//! Every check on a small tree in which it must complain, and on this tree, in which none may. In one program, because
//! the tables of certainty are computed once.

use std::fs;
use std::path::Path;

use super::complaints;

/// What the structure test says of a tree with these files, besides what it says of one with none.
fn said_of(files: &[(&str, String)]) -> Vec<String> {
    let tree = tempfile::tempdir().unwrap();
    write(
        tree.path(),
        "xtask/words.toml",
        "[identifiers]\nGlance = \"Pivot\"\n[types]\nBook = \"ChangeFilter\"\n[phrases]\n\"made tree\" = \"fixture\"\n",
    );
    let before = complaints(tree.path());
    for (name, text) in files {
        write(tree.path(), name, text);
    }
    complaints(tree.path()).into_iter().filter(|line| !before.contains(line)).collect()
}

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn the_tree_passes_every_check() {
    let found = complaints(&crate::root());
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[track_caller]
fn complains(krate: &str, code: &str, expected: &str) {
    let lib = format!("//! A crate.\n{code}");
    let said = said_of(&[(&format!("crates/{krate}/src/lib.rs"), lib)]);
    assert!(said.iter().any(|line| line.contains(expected)), "{krate}: {code}\n{said:#?}");
}

#[track_caller]
fn is_silent(krate: &str, code: &str) {
    let said = said_of(&[(&format!("crates/{krate}/src/lib.rs"), format!("//! A crate.\n{code}"))]);
    let about = format!("crates/{krate}/src");
    assert!(!said.iter().any(|line| line.contains(&about)), "{krate}: {code}\n{said:#?}");
}

#[test]
fn authority_of_a_crate() {
    complains("plan", "fn f() { std::fs::read(x); }", "opens no file");
    complains("plan", "use std::{fs, io};", "opens no file");
    complains("plan", "fn f() { unsafe { x() } }", "unsafe code");
    complains("host", "unsafe fn f() {}", "unsafe code");
    complains("engine", "fn f() { println!(\"x\"); }", "only the binary prints");
    complains("record", "fn f() { Command::new(\"x\"); }", "started only in host's");
    complains("host", "use std::process::Command;", "started only in host's");
    complains("plan", "fn f() { engine::run(); }", "plan uses engine");
    complains("plan", "use engine::run;", "plan uses engine");
    is_silent("host", "fn f() { std::fs::read(x); }");
    is_silent("lodestone", "fn f() { println!(\"x\"); }");
    is_silent("plan", "use model::Workload;");
    is_silent("report", "fn f(print: u32) -> u32 { print }");
}

/// A file used to be unchecked after the first item for tests.
#[test]
fn code_below_test_modules_is_checked() {
    complains("plan", "#[cfg(test)]\nmod tests;\nfn f() { std::fs::read(x); }", "opens no file");
    complains("plan", "#[cfg(test)]\nmod tests { fn g() {} }\nuse engine::run;", "plan uses engine");
    complains("plan", "#[cfg(test)]\nmod tests {}\n// Glance.\n", "instead of \"Glance\": Pivot");
    is_silent("plan", "#[cfg(test)]\nmod tests { fn f() { std::fs::read(x); } }");
}

#[test]
fn size_and_documentation() {
    let long = format!("fn long() {{\n{}}}\n", "    work();\n".repeat(80));
    complains("model", &long, "`long` has 82 lines");
    complains("model", &"const _: () = ();\n".repeat(901), "902 lines without tests");
    complains("model", &format!("#[cfg(test)]\nmod tests;\n{long}"), "`long` has");
    is_silent("model", &format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "const _: () = ();\n".repeat(901)));
    let said = said_of(&[("crates/model/src/lib.rs", "fn f() {}\n".to_owned())]);
    assert!(said.iter().any(|line| line.contains("no module documentation")), "{said:#?}");
}

#[test]
fn dead_and_broken_files() {
    let said = said_of(&[
        ("crates/model/src/lib.rs", "//! A crate.\nmod used;\nmod wrong;\n".to_owned()),
        ("crates/model/src/used.rs", "//! Used.\n".to_owned()),
        ("crates/model/src/wrong.rs", "//! Wrong.\nfn {\n".to_owned()),
        ("crates/model/src/unused.rs", "//! Unused.\n".to_owned()),
    ]);
    let about = |file: &str| said.iter().filter(|line| line.contains(file)).collect::<Vec<_>>();
    assert_eq!(about("used.rs"), ["crates/model/src/unused.rs: no module declares this file"]);
    assert_eq!(about("wrong.rs").len(), 1, "{said:#?}");
}

#[track_caller]
fn circles(files: &[(&str, &str)]) -> usize {
    let files: Vec<(String, String)> = files
        .iter()
        .map(|(name, text)| (format!("crates/model/src/{name}"), format!("//! A module.\n{text}\n")))
        .collect();
    let files: Vec<(&str, String)> = files.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    said_of(&files).iter().filter(|line| line.contains("use each other")).count()
}

#[test]
fn files_that_use_each_other() {
    let lib = ("lib.rs", "mod a;\nmod b;\npub use a::A;");
    assert_eq!(
        circles(&[
            lib,
            ("a.rs", "use crate::b::B;\npub struct A;"),
            ("b.rs", "use crate::a::A;\npub struct B;")
        ]),
        1
    );
    assert_eq!(
        circles(&[
            lib,
            ("a.rs", "use super::b::B;\npub struct A;"),
            ("b.rs", "fn f() { crate::A }\npub struct B;")
        ]),
        1
    );
    assert_eq!(circles(&[lib, ("a.rs", "use crate::b::B;\npub struct A;"), ("b.rs", "pub struct B;")]), 0);
    let tests = "pub struct B;\n#[cfg(test)]\nmod tests { use crate::a::A; }";
    assert_eq!(circles(&[lib, ("a.rs", "use crate::b::B;\npub struct A;"), ("b.rs", tests)]), 0);
    // What a module declares may be of its own making.
    let parent = ("lib.rs", "mod a;\npub struct Own;\nfn f() { a::g() }");
    assert_eq!(circles(&[parent, ("a.rs", "use super::Own;\npub fn g() {}")]), 0);
}

#[test]
fn words_of_the_field() {
    let said = said_of(&[
        ("docs/page.md", "A Made Tree.\n".to_owned()),
        ("crates/model/src/lib.rs", "//! A crate.\nstruct Glances;\nstruct Glance;\n".to_owned()),
    ]);
    assert!(said.iter().any(|line| line == "docs/page.md:1: instead of \"made tree\": fixture"), "{said:#?}");
    assert_eq!(said.iter().filter(|line| line.contains("Glance")).count(), 1, "{said:#?}");
    let code = "#[cfg(test)]\nmod tests;\n/// Book a slot.\nfn f() { g(Book) }\n#[serde(alias = \"Glance\")]\nstruct S;";
    let said = said_of(&[("crates/model/src/lib.rs", format!("//! A crate.\n{code}\n"))]);
    let words: Vec<&String> = said.iter().filter(|line| line.contains("instead of")).collect();
    assert_eq!(words, ["crates/model/src/lib.rs:5: instead of \"Book\": ChangeFilter"]);
}

#[test]
fn unfinished_work() {
    for mark in [concat!("// TO", "DO"), concat!("#[", "ignore]\nfn f() {}")] {
        let said = said_of(&[("crates/model/tests/h.rs", mark.to_owned())]);
        assert_eq!(said.len(), 1, "{said:#?}");
    }
}

#[test]
fn layers_documents_and_dependencies() {
    let found = said_of(&[
        ("Cargo.toml", "[workspace.dependencies]\nmodel = \"1\"\nnobody-knows-why = \"1\"\n".to_owned()),
        (
            "crates/plan/Cargo.toml",
            "[dependencies]\nengine.workspace = true\nmodel.workspace = true\n".to_owned(),
        ),
        ("crates/stranger/Cargo.toml", String::new()),
        ("README.md", "See [that](docs/nothing.md) and [this](#here).\n".to_owned()),
        ("docs/adr/0001-x.md", concat!("In /wo", "rk/here.\n").to_owned()),
    ]);
    let says = |words: &str| found.iter().filter(|line| line.contains(words)).count();
    assert_eq!(says("plan uses engine"), 1, "{found:#?}");
    assert_eq!(says("plan uses model") + says("plan: there is no such crate"), 0, "{found:#?}");
    assert_eq!(says("crates/stranger: the layers do not know this crate"), 1, "{found:#?}");
    assert_eq!(says("README.md:1: the link to docs/nothing.md is dead"), 1, "{found:#?}");
    assert_eq!(says("README.md:1: the link to #here is dead"), 1, "{found:#?}");
    assert_eq!(says("is dead"), 2, "{found:#?}");
    assert_eq!(says("docs/adr/0001-x.md:1:"), 1, "{found:#?}");
    assert_eq!(says("nobody-knows-why: no decision record"), 1, "{found:#?}");
    assert_eq!(says("no decision record"), 1, "{found:#?}");
}

#[test]
fn generated_pages_must_be_current() {
    let tree = tempfile::tempdir().unwrap();
    write(tree.path(), "docs/method/findings.md", "Of `stall` only.\n");
    let found = complaints(tree.path());
    let says = |words: &str| found.iter().filter(|line| line.contains(words)).count();
    assert_eq!(says("docs/reference/options.md: is not what"), 1, "{found:#?}");
    assert_eq!(says("says nothing of `two-modes`"), 1, "{found:#?}");
    assert_eq!(says("says nothing of `stall`"), 0, "{found:#?}");
    assert_eq!(says("says nothing of `worker-died`"), 1, "{found:#?}");
    assert_eq!(says("docs/data/certainty-small.md: is not what"), 1, "{found:#?}");
    assert_eq!(
        says("docs/method/certainty.md: there is no line"),
        benches::certainty::page::names().count(),
        "{found:#?}"
    );
}
