//! Documents: generated pages, decision records, names that belong to one machine.

use std::fs;
use std::path::Path;

use benches::certainty::page;

use super::layers::LAYERS;
use super::manifest::names;
use super::{files, relative};

/// No path of one machine and no host of one registry belongs into the tree.
pub(super) fn foreign_names(root: &Path, path: &Path, found: &mut Vec<String>) {
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
            found.push(format!("{name}:{}: {word} is a place of one machine or registry", line + 1));
        }
    }
}

/// Every dependency is explained in a decision record.
pub(super) fn dependencies(root: &Path, found: &mut Vec<String>) {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
    let mut records = String::new();
    for record in files(&root.join("docs/adr"), &["md"]) {
        records.push_str(&fs::read_to_string(record).unwrap_or_default());
    }
    for name in names(&manifest, "workspace.dependencies") {
        let own = LAYERS.iter().any(|(krate, _)| *krate == name);
        if !own && !records.contains(&format!("`{name}`")) {
            found.push(format!("{name}: no decision record in docs/adr says why this dependency is here"));
        }
    }
}

/// Every file here is generated.
const MAN_PAGES: &str = "docs/man";

/// What is generated must be what the code generates now.
pub(super) fn generated(root: &Path, found: &mut Vec<String>) {
    let generated = crate::docs::generated();
    for (path, text) in &generated {
        if fs::read_to_string(root.join(path)).unwrap_or_default() != *text {
            found.push(format!("{path}: is not what `cargo xtask docs` makes of the code"));
        }
    }
    for entry in fs::read_dir(root.join(MAN_PAGES)).into_iter().flatten().flatten() {
        let path = format!("{MAN_PAGES}/{}", entry.file_name().display());
        if !generated.iter().any(|(known, _)| *known == path) {
            found.push(format!("{path}: is of a command that there is no more"));
        }
    }
    let certainty = fs::read_to_string(root.join(page::PAGE)).unwrap_or_default();
    found.extend(page::complaints(&certainty, crate::docs::certainty()));
    let methodology = fs::read_to_string(root.join("docs/method/findings.md")).unwrap_or_default();
    let rules = analyse::RULES.iter().map(|rule| rule.name);
    for name in rules.chain(record::import::REMARKS.iter().map(|kind| kind.topic)) {
        if !methodology.contains(&format!("`{name}`")) {
            found.push(format!("docs/method/findings.md: says nothing of `{name}`"));
        }
    }
}
