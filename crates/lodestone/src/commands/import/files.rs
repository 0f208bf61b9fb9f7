//! The files to import: what is named, and what lies in named directories.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A longer file is not the output of a benchmark.
const LONGEST: u64 = 64 << 20;
/// What tools write to the standard error output is often kept beside the rest under such a name.
const COMPANIONS: [&str; 2] = ["stderr", "err"];

/// One file.
pub(super) struct Input {
    pub path: PathBuf,
    /// Where it stands below what was named, or below what all that was named have in common.
    pub relative: PathBuf,
    /// The file with what the same command wrote to its standard error output.
    companion: Option<PathBuf>,
}

/// What a file holds, its companion's content behind it.
pub(super) struct Content {
    pub bytes: Vec<u8>,
    /// Lines of the file itself, where a companion follows.
    own_lines: Option<u32>,
}

impl Input {
    /// Reads the file.
    pub fn read(&self) -> Result<Content, String> {
        let mut bytes = read(&self.path)?;
        let Some(companion) = &self.companion else { return Ok(Content { bytes, own_lines: None }) };
        if !bytes.is_empty() && bytes.last() != Some(&b'\n') {
            bytes.push(b'\n');
        }
        let lines = bytes.iter().filter(|b| **b == b'\n').count();
        bytes.extend(read(companion)?);
        Ok(Content { bytes, own_lines: Some(u32::try_from(lines).unwrap_or(u32::MAX)) })
    }
}

impl Content {
    /// File and line.
    pub fn place(&self, input: &Input, line: u32) -> String {
        match (self.own_lines, &input.companion) {
            (Some(own), Some(companion)) if line > own => format!("{}:{}", companion.display(), line - own),
            _ => format!("{}:{line}", input.path.display()),
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let length = fs::metadata(path).map_err(|e| format!("cannot be read: {e}"))?.len();
    if length > LONGEST {
        return Err(format!("{length} bytes are too many for the output of a benchmark (at most {LONGEST})"));
    }
    fs::read(path).map_err(|e| format!("cannot be read: {e}"))
}

/// All files under the named paths, in the order in which people count.
///
/// # Errors
/// A path does not exist, or a directory cannot be read.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let root = common_root(paths);
    let mut found = Vec::new();
    for path in paths {
        collect(path, &mut found)?;
    }
    found.sort_by_cached_key(|path| natural(path));
    found.dedup();
    let companions: Vec<PathBuf> =
        found.iter().filter(|path| host_of(path).is_some_and(|h| found.contains(&h))).cloned().collect();
    let input = |path: PathBuf| Input {
        relative: path.strip_prefix(&root).unwrap_or(&path).to_owned(),
        companion: COMPANIONS.iter().map(|end| with_end(&path, end)).find(|p| companions.contains(p)),
        path,
    };
    Ok(found.into_iter().filter(|path| !companions.contains(path)).map(input).collect())
}

/// The file that this one may be the companion of.
fn host_of(path: &Path) -> Option<PathBuf> {
    COMPANIONS.contains(&path.extension()?.to_str()?).then(|| path.with_extension(""))
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(".");
    name.push(end);
    name.into()
}

/// What the levels of directories are counted from.
fn common_root(paths: &[PathBuf]) -> PathBuf {
    if let [only] = paths {
        let is_file = !only.is_dir();
        return if is_file { only.parent().map(Path::to_owned).unwrap_or_default() } else { only.clone() };
    }
    let parent = |path: &PathBuf| path.parent().map(Path::to_owned).unwrap_or_default();
    let mut root = paths.first().map(parent).unwrap_or_default();
    for path in paths {
        while !path.starts_with(&root) && root.pop() {}
    }
    root
}

fn collect(path: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let failed = |e| Failure::usage(format!("cannot read {}: {e}", path.display()));
    if !fs::metadata(path).map_err(failed)?.is_dir() {
        found.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        let kind = entry.file_type().map_err(failed)?;
        // A link to a directory could lead round in a circle.
        if is_hidden || (kind.is_symlink() && entry.path().is_dir()) {
            continue;
        }
        if kind.is_dir() || entry.path().is_file() {
            collect(&entry.path(), found)?;
        }
    }
    Ok(())
}

/// A key that puts `run_2` before `run_10`.
fn natural(path: &Path) -> Vec<(String, u64)> {
    let text = path.to_string_lossy();
    let mut key = Vec::new();
    let mut rest = text.as_ref();
    while !rest.is_empty() {
        let word = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let digits = rest[word..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - word);
        let number = rest[word..word + digits].parse().unwrap_or(u64::MAX);
        key.push((rest[..word].to_owned(), number));
        rest = &rest[word + digits..];
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_in_the_order_of_their_numbers_and_companions_with_them() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("ssd")).unwrap();
        for name in ["ssd/run_10.txt", "ssd/run_2.txt", "ssd/run_2.txt.stderr", "ssd/other.stderr", ".hidden"]
        {
            fs::write(at(name), "x\ny").unwrap();
        }
        let inputs = find(&[directory.path().to_owned()]).unwrap();
        let names: Vec<String> = inputs.iter().map(|i| i.relative.display().to_string()).collect();
        assert_eq!(names, ["ssd/other.stderr", "ssd/run_2.txt", "ssd/run_10.txt"]);
        let content = inputs[1].read().unwrap();
        assert_eq!(content.bytes, b"x\ny\nx\ny");
        assert!(content.place(&inputs[1], 2).ends_with("run_2.txt:2"));
        assert!(content.place(&inputs[1], 3).ends_with("run_2.txt.stderr:1"));
        assert!(inputs[0].companion.is_none());
    }

    #[test]
    fn levels_count_from_what_all_paths_have_in_common() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["ssd", "hdd"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("f"), "").unwrap();
        }
        let inputs = find(&[at("ssd"), at("hdd")]).unwrap();
        let names: Vec<String> = inputs.iter().map(|i| i.relative.display().to_string()).collect();
        assert_eq!(names, ["hdd/f", "ssd/f"]);
    }
}
