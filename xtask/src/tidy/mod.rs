//! The structure test: what must stay true of the repository and the compiler does not see.

mod code;
mod documents;
mod layers;
mod manifest;
#[cfg(test)]
mod tests;
mod tree;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

/// Everything that is wrong, one line each.
pub fn complaints(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    layers::layering(root, &mut found);
    for path in files(root, &["rs"]) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        unfinished(&relative(root, &path), &text, &mut found);
    }
    for krate in crates(root) {
        code::check(root, &krate, &mut found);
    }
    found.extend(crate::book::complaints(root, &documents(root)));
    for path in files(root, &["rs", "md", "toml", "sh", "py", "yml", "json", "jsonl", ""]) {
        documents::foreign_names(root, &path, &mut found);
    }
    words::check(root, &mut found);
    documents::dependencies(root, &mut found);
    documents::generated(root, &mut found);
    found
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

/// The directories of all crates: of the layers, and of what is made with them.
fn crates(root: &Path) -> Vec<PathBuf> {
    let layers = fs::read_dir(root.join("crates")).into_iter().flatten().flatten().map(|entry| entry.path());
    let others = ["attempts", "benches", "browser", "testing", "xtask"].map(|name| root.join(name));
    let mut found: Vec<PathBuf> = layers.chain(others).filter(|path| path.join("src").is_dir()).collect();
    found.sort();
    found
}

/// The Markdown files of the tree.
pub fn documents(root: &Path) -> Vec<PathBuf> {
    files(root, &["md"])
}

/// All files below a directory with one of these extensions.
fn files(directory: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let has_extension = |path: &PathBuf| {
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        extensions.contains(&extension.as_ref()) && path.file_name().is_some_and(|name| name != ".git")
    };
    all_files(directory).into_iter().filter(has_extension).collect()
}

/// All files below a directory, without build output and git's own.
pub fn all_files(directory: &Path) -> Vec<PathBuf> {
    const LEFT_OUT: [&str; 5] = ["target", ".git", "node_modules", "corpus", "artifacts"];
    let is_wanted = |entry: &walkdir::DirEntry| {
        !(entry.file_type().is_dir() && LEFT_OUT.iter().any(|name| entry.file_name() == *name))
    };
    let entries = walkdir::WalkDir::new(directory).sort_by_file_name().into_iter().filter_entry(is_wanted);
    entries.flatten().filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
}

/// Marks of unfinished work, and tests that never run.
fn unfinished(name: &str, text: &str, found: &mut Vec<String>) {
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
}
