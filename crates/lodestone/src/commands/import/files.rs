//! The files to import: named files, and the files in named directories.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use record::input::{self, FileId, MOST_BYTES, STANDARD_INPUT};

use crate::failure::Failure;

/// Most directory entries of one import; a series of measurements has fewer.
const MOST_ENTRIES: usize = 100_000;
/// Most levels of nested directories that are searched.
const MOST_LEVELS: usize = 64;
/// Extensions of files with a tool's standard error, often saved next to its standard output.
const COMPANIONS: [&str; 2] = ["stderr", "err"];

/// One file.
pub(super) struct Input {
    pub path: PathBuf,
    /// Its path below the named directory, or below the common parent of all named paths.
    pub relative: PathBuf,
    /// The file with the standard error of the same command.
    companion: Option<PathBuf>,
}

/// The content of a file, followed by that of its companion.
pub(super) struct Content {
    pub bytes: Vec<u8>,
    /// Device and inode; `None` for standard input.
    pub id: Option<FileId>,
    /// Lines of the file itself, if a companion follows.
    own_lines: Option<u32>,
}

impl Input {
    /// Reads the file.
    pub fn read(&self) -> Result<Content, String> {
        let cannot = |e: input::InputError| e.to_string();
        let (mut bytes, id) = input::read(&self.path).map_err(cannot)?;
        let Some(companion) = &self.companion else { return Ok(Content { bytes, id, own_lines: None }) };
        if !bytes.is_empty() && bytes.last() != Some(&b'\n') {
            bytes.push(b'\n');
        }
        let lines = bytes.iter().filter(|b| **b == b'\n').count();
        let (more, _) = input::read(companion).map_err(|e| format!("{}: {e}", companion.display()))?;
        bytes.extend(more);
        if bytes.len() as u64 > MOST_BYTES {
            return Err(format!(
                "the file and {} are longer than {MOST_BYTES} bytes in total",
                companion.display()
            ));
        }
        Ok(Content { bytes, id, own_lines: Some(u32::try_from(lines).unwrap_or(u32::MAX)) })
    }

    /// The absolute path without symbolic links, which identifies the file in later imports; `None` for standard input.
    pub fn absolute(&self) -> Option<String> {
        let named = (self.path != Path::new(STANDARD_INPUT)).then_some(&self.path)?;
        Some(model::path_text(fs::canonicalize(named).ok()?))
    }
}

impl Content {
    /// File and line.
    pub fn location(&self, input: &Input, line: u32) -> String {
        match (self.own_lines, &input.companion) {
            (Some(own), Some(companion)) if line > own => format!("{}:{}", companion.display(), line - own),
            _ => format!("{}:{line}", input.path.display()),
        }
    }
}

/// All files under the named paths, in natural order.
///
/// # Errors
/// A path does not exist, or a directory cannot be read or has too many entries.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let root = common_root(paths);
    let mut found = Found::default();
    for path in paths {
        if path == Path::new(STANDARD_INPUT) {
            found.files.push(path.clone());
        } else {
            found.collect(path, 0)?;
        }
    }
    let mut files = found.files;
    files.sort_by_cached_key(|path| natural(path));
    files.dedup();
    let all: BTreeSet<&PathBuf> = files.iter().collect();
    let companions: BTreeSet<PathBuf> =
        files.iter().filter(|path| host_of(path).is_some_and(|h| all.contains(&h))).cloned().collect();
    let relative = |path: &Path| match path.to_str() {
        // Standard input has no name to derive labels from.
        Some(STANDARD_INPUT) => PathBuf::new(),
        _ => path.strip_prefix(&root).unwrap_or(path).to_owned(),
    };
    let input = |path: PathBuf| Input {
        relative: relative(&path),
        companion: COMPANIONS.iter().map(|end| with_end(&path, end)).find(|p| companions.contains(p)),
        path,
    };
    Ok(files.into_iter().filter(|path| !companions.contains(path)).map(input).collect())
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

/// The directory from which levels are counted.
fn common_root(paths: &[PathBuf]) -> PathBuf {
    if let [only] = paths {
        let is_file = !only.is_dir();
        return if is_file { only.parent().map(Path::to_owned).unwrap_or_default() } else { only.clone() };
    }
    let paths: Vec<&PathBuf> = paths.iter().filter(|path| *path != Path::new(STANDARD_INPUT)).collect();
    let parent = |path: &&PathBuf| path.parent().map(Path::to_owned).unwrap_or_default();
    let mut root = paths.first().map(parent).unwrap_or_default();
    for path in paths {
        while !path.starts_with(&root) && root.pop() {}
    }
    root
}

/// The files found so far.
#[derive(Default)]
struct Found {
    files: Vec<PathBuf>,
    entries: usize,
}

impl Found {
    /// Adds a file, or all files in and below a directory. Other entries, such as pipes, are added too; reading them
    /// reports what they are.
    fn collect(&mut self, path: &Path, level: usize) -> Result<(), Failure> {
        let failed =
            |e: std::io::Error| Failure::usage(format!("cannot read {}: {e}", path.display())).because(&e);
        let too_much = |what: String| {
            Failure::usage(format!("cannot import {}: {what}; import it in parts", path.display()))
        };
        if !fs::metadata(path).map_err(failed)?.is_dir() {
            self.files.push(path.to_owned());
            return Ok(());
        }
        if level > MOST_LEVELS {
            return Err(too_much(format!("directories are nested more than {MOST_LEVELS} levels deep")));
        }
        for entry in fs::read_dir(path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                return Err(too_much(format!("there are more than {MOST_ENTRIES} files and directories")));
            }
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            let kind = entry.file_type().map_err(failed)?;
            // A symbolic link to a directory could form a loop, and a dangling one has no content.
            let is_skipped =
                kind.is_symlink() && fs::metadata(entry.path()).map_or(true, |target| target.is_dir());
            if !is_hidden && !is_skipped {
                self.collect(&entry.path(), level + 1)?;
            }
        }
        Ok(())
    }
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
    fn files_are_found_in_natural_order_with_their_companions() {
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
        assert!(content.location(&inputs[1], 2).ends_with("run_2.txt:2"));
        assert!(content.location(&inputs[1], 3).ends_with("run_2.txt.stderr:1"));
        assert!(inputs[0].companion.is_none());
    }

    /// The search for companions compared all pairs of files, and the depth of directories was unlimited.
    #[test]
    fn deep_and_circular_directories_terminate() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("f"), "x").unwrap();
        std::os::unix::fs::symlink(".", at("circle")).unwrap();
        std::os::unix::fs::symlink("nowhere", at("broken")).unwrap();
        std::os::unix::fs::symlink("f", at("link")).unwrap();
        let inputs = find(&[directory.path().to_owned()]).unwrap();
        let names: Vec<String> = inputs.iter().map(|i| i.relative.display().to_string()).collect();
        assert_eq!(names, ["f", "link"]);
        let deep: PathBuf = std::iter::repeat_n("d", MOST_LEVELS + 1).collect();
        fs::create_dir_all(directory.path().join(deep)).unwrap();
        let refused = find(&[directory.path().to_owned()]).err().unwrap().message;
        assert!(refused.contains("nested more than 64 levels deep"), "{refused}");
    }

    #[test]
    fn levels_count_from_the_common_parent_of_all_paths() {
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
