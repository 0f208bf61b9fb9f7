//! The structure test: rules of the tree that the compiler does not check.

use std::fs;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

/// The crates of the workspace that a crate may use. Siblings share only `model`.
const LAYERS: [(&str, &[&str]); 9] = [
    ("model", &[]),
    ("plan", &["model"]),
    ("engine", &["model"]),
    ("host", &["model"]),
    ("record", &["model"]),
    ("analyse", &["model"]),
    ("report", &["model", "analyse"]),
    ("lodestone", &["model", "plan", "engine", "host", "record", "analyse", "report"]),
    ("xtask", &["analyse", "lodestone", "model", "plan", "record", "report"]),
];

/// Crates that open no file, start no process and read no clock.
const PURE: [&str; 4] = ["model", "plan", "analyse", "report"];
const IMPURE_WORDS: [&str; 8] = [
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "Instant::now",
    "SystemTime::now",
    "Timestamp::now",
    "Zoned::now",
];

const LONGEST_FUNCTION: usize = 80;
const LONGEST_FILE: usize = 900;

/// All violations, one line each.
pub fn complaints(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    layering(root, &mut found);
    for path in files(root, &["rs"]) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let name = relative(root, &path);
        source(&name, &text, &mut found);
    }
    for path in files(root, &["md"]) {
        links(root, &path, &mut found);
    }
    for path in files(root, &["rs", "md", "toml", "sh", "py", "yml", "json", "jsonl", ""]) {
        machine_paths(root, &path, &mut found);
    }
    dependencies(root, &mut found);
    generated(root, &mut found);
    found
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

/// All files below the root with one of these extensions, without build output and git's own.
fn files(root: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let kind = entry.file_type();
            if kind.as_ref().is_ok_and(fs::FileType::is_dir) {
                if !matches!(name.as_str(), "target" | ".git" | "node_modules" | "corpus" | "artifacts") {
                    open.push(path);
                }
            } else if kind.is_ok_and(|k| k.is_file()) && name != ".git" {
                let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
                if extensions.contains(&extension.as_str()) {
                    found.push(path);
                }
            }
        }
    }
    found.sort();
    found
}

/// The names under `[section]` of a manifest.
fn names(manifest: &str, section: &str) -> Vec<String> {
    let Ok(table) = DeTable::parse(manifest) else { return Vec::new() };
    let mut value: Option<&DeValue<'_>> = None;
    for (i, part) in section.split('.').enumerate() {
        let within = if i == 0 { Some(table.get_ref()) } else { value.and_then(DeValue::as_table) };
        value = within.and_then(|t| t.get(part)).map(toml::Spanned::get_ref);
    }
    let keys = value.and_then(DeValue::as_table).into_iter().flat_map(|t| t.keys());
    keys.map(|k| k.get_ref().to_string()).collect()
}

fn layering(root: &Path, found: &mut Vec<String>) {
    for (krate, allowed) in LAYERS {
        let directory = if krate == "xtask" { root.join(krate) } else { root.join("crates").join(krate) };
        let manifest = fs::read_to_string(directory.join("Cargo.toml")).unwrap_or_default();
        if manifest.is_empty() {
            found.push(format!("{krate}: the layers name this crate, but it does not exist"));
        }
        for used in names(&manifest, "dependencies") {
            if LAYERS.iter().any(|(name, _)| *name == used) && !allowed.contains(&used.as_str()) {
                found.push(format!("{krate} uses {used}: siblings may share only model"));
            }
        }
    }
    for entry in fs::read_dir(root.join("crates")).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !LAYERS.iter().any(|(krate, _)| *krate == name) {
            found.push(format!("crates/{name}: the layers do not list this crate"));
        }
    }
}

/// The part of a file before its test module.
fn without_tests(text: &str) -> &str {
    text.find("\n#[cfg(test)]").map_or(text, |at| &text[..at])
}

fn source(name: &str, text: &str, found: &mut Vec<String>) {
    if text.contains(concat!("#[", "ignore")) {
        found.push(format!("{name}: an ignored test is a silent skip"));
    }
    for mark in
        [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("todo", "!("), concat!("unimplemented", "!(")]
    {
        if text.contains(mark) {
            found.push(format!("{name}: {mark} is unfinished work"));
        }
    }
    if !name.contains("/src/") {
        return;
    }
    let code = without_tests(text);
    let krate = name.trim_start_matches("crates/").split('/').next().unwrap_or_default();
    let has = |words: &str| code.lines().any(|l| !l.trim_start().starts_with("//") && l.contains(words));
    if krate != "engine"
        && [concat!("unsafe", " {"), concat!("unsafe", " fn"), concat!("unsafe", " impl")]
            .iter()
            .any(|w| has(w))
    {
        found.push(format!("{name}: unsafe is allowed only in the engine"));
    }
    let may_start = matches!(name, "crates/host/src/programs.rs" | "crates/host/src/testing.rs")
        || matches!(krate, "attempts" | "benches" | "xtask");
    if !may_start && (has("Command::new(") || has("process::Command")) {
        found.push(format!("{name}: only host's programs.rs may start other programs"));
    }
    if !matches!(krate, "attempts" | "benches" | "lodestone" | "xtask")
        && (has("println!") || has("eprintln!") || has("print!("))
    {
        found.push(format!("{name}: only the binary may print"));
    }
    if PURE.contains(&krate) {
        for word in IMPURE_WORDS.iter().filter(|word| has(word)) {
            found.push(format!("{name}: {word} in a crate that opens no file and reads no clock"));
        }
    }
    let lines = code.lines().count();
    if lines > LONGEST_FILE {
        found.push(format!("{name}: {lines} lines without its tests; the limit is {LONGEST_FILE}"));
    }
    if !text.trim_start().starts_with("//!") {
        found.push(format!("{name}: no module documentation at the top"));
    }
    functions(name, code, found);
}

/// Checks the length of functions by their indentation, which rustfmt guarantees.
fn functions(name: &str, code: &str, found: &mut Vec<String>) {
    let lines: Vec<&str> = code.lines().collect();
    for (i, line) in lines.iter().enumerate() {
        let body = line.trim_start();
        let indent = line.len() - body.len();
        let mut words = body.split_whitespace().filter(|w| {
            !w.starts_with("pub")
                && !matches!(*w, "const" | "unsafe" | "extern" | "\"C\"" | "async" | "in" | "super)")
        });
        if words.next() != Some("fn") {
            continue;
        }
        let end = format!("{}}}", " ".repeat(indent));
        let Some(length) = lines[i..].iter().position(|l| *l == end) else { continue };
        if length + 1 > LONGEST_FUNCTION {
            let called =
                words.next().unwrap_or_default().split(['(', '<']).next().unwrap_or_default().to_owned();
            found.push(format!(
                "{name}:{}: `{called}` has {} lines; the limit is {LONGEST_FUNCTION}",
                i + 1,
                length + 1
            ));
        }
    }
}

/// Relative links in Markdown must exist.
fn links(root: &Path, path: &Path, found: &mut Vec<String>) {
    let text = fs::read_to_string(path).unwrap_or_default();
    let directory = path.parent().unwrap_or(root);
    for (i, line) in text.lines().enumerate() {
        for part in line.split("](").skip(1) {
            let target = part.split(')').next().unwrap_or_default().split('#').next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            if !directory.join(target).exists() {
                found.push(format!("{}:{}: the link to {target} is dead", relative(root, path), i + 1));
            }
        }
    }
}

/// No path of one machine and no host of one registry belongs in the tree.
fn machine_paths(root: &Path, path: &Path, found: &mut Vec<String>) {
    let name = relative(root, path);
    if name == "Cargo.lock" || name.ends_with("/Cargo.lock") {
        return;
    }
    let Ok(text) = fs::read_to_string(path) else { return };
    for word in [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/."),
        concat!("index.", "crates"),
        concat!("pypi", ".org"),
        concat!("registry.", "npmjs"),
    ] {
        if let Some(line) = text.lines().position(|l| l.contains(word)) {
            found.push(format!("{name}:{}: {word} belongs to one machine or registry", line + 1));
        }
    }
}

/// A decision record must explain every dependency.
fn dependencies(root: &Path, found: &mut Vec<String>) {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
    let mut records = String::new();
    for record in files(&root.join("docs/adr"), &["md"]) {
        records.push_str(&fs::read_to_string(record).unwrap_or_default());
    }
    for name in names(&manifest, "workspace.dependencies") {
        let own = LAYERS.iter().any(|(krate, _)| *krate == name);
        if !own && !records.contains(&format!("`{name}`")) {
            found.push(format!("{name}: no decision record in docs/adr explains this dependency"));
        }
    }
}

/// Generated files must match the code.
fn generated(root: &Path, found: &mut Vec<String>) {
    for (path, text) in crate::docs::generated() {
        if fs::read_to_string(root.join(&path)).unwrap_or_default() != text {
            found.push(format!("{path}: differs from the output of `cargo xtask docs`; run it"));
        }
    }
    let methodology = fs::read_to_string(root.join("METHODOLOGY.md")).unwrap_or_default();
    for rule in analyse::RULES {
        if !methodology.contains(&format!("`{}`", rule.name)) {
            found.push(format!("METHODOLOGY.md: does not describe the rule `{}`", rule.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each check runs on a source that violates it.
    #[test]
    fn every_check_can_fail() {
        let mut found = Vec::new();
        let long = format!("fn long() {{\n{}}}\n", "    work();\n".repeat(LONGEST_FUNCTION));
        let cases = [
            ("crates/plan/src/a.rs", "//! A.\nfn f() { std::fs::read(x); }\n".to_owned(), "opens no file"),
            (
                "crates/plan/src/b.rs",
                "//! B.\nfn f() { unsafe { x() } }\n".to_owned(),
                "unsafe is allowed only",
            ),
            (
                "crates/engine/src/c.rs",
                "//! C.\nfn f() { println!(\"x\"); }\n".to_owned(),
                "only the binary may print",
            ),
            (
                "crates/record/src/d.rs",
                "//! D.\nfn f() { Command::new(\"x\"); }\n".to_owned(),
                "only host's programs.rs",
            ),
            (
                "crates/host/src/i.rs",
                "//! I.\nfn f() { Command::new(path); }\n".to_owned(),
                "only host's programs.rs",
            ),
            ("crates/model/src/e.rs", "fn f() {}\n".to_owned(), "no module documentation"),
            ("crates/model/src/f.rs", format!("//! F.\n{long}"), "`long` has"),
            (
                "crates/model/src/g.rs",
                format!("//! G.\n{}", "x\n".repeat(LONGEST_FILE)),
                "lines without its tests",
            ),
            ("crates/model/tests/h.rs", concat!("#[", "ignore]\nfn f() {}\n").to_owned(), "silent skip"),
        ];
        for (name, text, expected) in cases {
            found.clear();
            source(name, &text, &mut found);
            assert!(found.iter().any(|f| f.contains(expected)), "{name}: {found:?}");
        }
    }

    /// The checks beyond a single source, on a tree that violates all of them.
    #[test]
    fn every_check_of_a_tree_can_fail() {
        let tree = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("Cargo.toml", "[workspace.dependencies]\nmodel = \"1\"\nnobody-knows-why = \"1\"\n"),
            ("crates/plan/Cargo.toml", "[dependencies]\nengine.workspace = true\nmodel.workspace = true\n"),
            ("crates/stranger/Cargo.toml", ""),
            ("README.md", "See [that](docs/nothing.md) and [this](#here).\n"),
            ("docs/adr/0001-x.md", concat!("In /wo", "rk/here.\n")),
            ("METHODOLOGY.md", "Of `stall` only.\n"),
        ] {
            let path = tree.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found = complaints(tree.path());
        let lines_with = |words: &str| found.iter().filter(|line| line.contains(words)).count();
        assert_eq!(lines_with("plan uses engine"), 1, "{found:#?}");
        assert_eq!(
            lines_with("plan uses model") + lines_with("plan: the layers name this crate"),
            0,
            "{found:#?}"
        );
        assert_eq!(lines_with("crates/stranger: the layers do not list this crate"), 1, "{found:#?}");
        assert_eq!(
            lines_with("README.md:1: the link to docs/nothing.md is dead") + lines_with("is dead"),
            2,
            "{found:#?}"
        );
        assert_eq!(lines_with("docs/adr/0001-x.md:1:"), 1, "{found:#?}");
        assert_eq!(
            lines_with("nobody-knows-why: no decision record") + lines_with("no decision record"),
            2,
            "{found:#?}"
        );
        assert_eq!(lines_with("docs/reference/options.md: differs from"), 1, "{found:#?}");
        assert_eq!(lines_with("does not describe the rule `two-modes`"), 1, "{found:#?}");
        assert_eq!(lines_with("does not describe the rule `stall`"), 0, "{found:#?}");
    }

    #[test]
    fn test_modules_are_exempt() {
        let mut found = Vec::new();
        source(
            "crates/plan/src/a.rs",
            "//! A.\n\n#[cfg(test)]\nmod tests { fn f() { std::fs::read(x); } }\n",
            &mut found,
        );
        assert_eq!(found, Vec::<String>::new());
    }
}
