//! Which crates of the workspace may use each other.

use std::fs;
use std::path::Path;

use super::manifest::names;

/// Which crates of the workspace a crate may use. Siblings are strangers that speak only `model`.
pub(super) const LAYERS: [(&str, &[&str]); 11] = [
    ("model", &[]),
    ("plan", &["model"]),
    ("engine", &["model"]),
    ("host", &["model"]),
    ("record", &["model"]),
    ("analyse", &["model"]),
    ("database", &[]),
    ("report", &["model", "analyse"]),
    ("schedule", &["model", "analyse"]),
    (
        "lodestone",
        &["model", "plan", "engine", "host", "record", "database", "analyse", "report", "schedule"],
    ),
    ("xtask", &["analyse", "database", "lodestone", "model", "plan", "record", "report"]),
];

pub(super) fn layering(root: &Path, found: &mut Vec<String>) {
    for (krate, allowed) in LAYERS {
        let directory = if krate == "xtask" { root.join(krate) } else { root.join("crates").join(krate) };
        let manifest = fs::read_to_string(directory.join("Cargo.toml")).unwrap_or_default();
        if manifest.is_empty() {
            found.push(format!("{krate}: there is no such crate, but the layers name it"));
        }
        for used in names(&manifest, "dependencies") {
            if LAYERS.iter().any(|(name, _)| *name == used) && !allowed.contains(&used.as_str()) {
                found.push(format!("{krate} uses {used}: siblings are strangers that speak only model"));
            }
        }
    }
    for entry in fs::read_dir(root.join("crates")).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !LAYERS.iter().any(|(krate, _)| *krate == name) {
            found.push(format!("crates/{name}: the layers do not know this crate"));
        }
    }
}
