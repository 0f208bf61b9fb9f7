//! The input for reading a fio job file: its text, its environment, its targets.

use std::path::Path;

use model::{Host, Target, TargetKind};
use plan::DEFAULT_TARGET;
use plan::fio::{FioJobs, Surroundings, included};
use record::input::{self, MOST_BYTES};

use crate::failure::Failure;

/// Files that may include each other in a row.
const MOST_INCLUDES: u32 = 16;
/// Most included files in total: files that include others twice would otherwise double at each level.
const MOST_FILES: u32 = 1000;

/// A job file's text, with its includes inserted.
///
/// # Errors
/// A file cannot be read, files include each other in a loop, or the text is too long.
pub(super) fn text(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    with_includes(path, 0, &mut 0, &mut text)?;
    Ok(text)
}

/// Appends a file and its includes; `files` counts the files in the text so far.
fn with_includes(path: &Path, depth: u32, files: &mut u32, text: &mut String) -> Result<(), Failure> {
    let cannot =
        |what: String| Failure::usage(format!("cannot read the fio job file {}: {what}", path.display()));
    if depth > MOST_INCLUDES {
        return Err(cannot(format!("more than {MOST_INCLUDES} files include each other")));
    }
    *files += 1;
    if *files > MOST_FILES {
        return Err(cannot(format!("more than {MOST_FILES} files are included in total")));
    }
    let (bytes, _) = input::read(path).map_err(|e| cannot(e.to_string()).because(&e))?;
    let own = String::from_utf8(bytes).map_err(|e| cannot("it is not UTF-8 text".into()).because(&e))?;
    for line in own.split_inclusive('\n') {
        match included(line) {
            Some(other) => {
                // With an explicit directory, a file named `-` does not mean standard input.
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                let concurrent = parent.unwrap_or(Path::new(".")).join(other);
                with_includes(&concurrent, depth + 1, files, text)?;
                text.push('\n');
            }
            None => text.push_str(line),
        }
        if text.len() as u64 > MOST_BYTES {
            return Err(cannot(format!("the file and its includes are longer than {MOST_BYTES} bytes")));
        }
    }
    Ok(())
}

/// What a job file may refer to on this machine.
pub(super) fn surroundings(host: &Host) -> Surroundings {
    Surroundings {
        environment: std::env::vars_os()
            .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
            .collect(),
        page_bytes: host::page_bytes(),
        memory_bytes: host.memory_bytes,
        processors: host.cpus,
    }
}

/// Bytes of the smallest file or device among the targets; `None` for directories.
///
/// # Errors
/// The targets are of different kinds.
pub(super) fn target_bytes(targets: &[Target]) -> Result<Option<u64>, Failure> {
    let fixed = |target: &&Target| target.kind != TargetKind::Directory;
    let sizes = targets.iter().filter(fixed).map(|target| target.size_bytes);
    match sizes.clone().count() {
        0 => Ok(None),
        n if n == targets.len() => Ok(sizes.min()),
        _ => Err(Failure::usage("--fio: the targets must be all directories, or all files and devices")),
    }
}

/// The target of a run without TARGET: the one that the jobs name, else the current directory.
///
/// # Errors
/// The jobs name several targets.
pub(super) fn target(jobs: &FioJobs) -> Result<String, Failure> {
    match &jobs.targets()[..] {
        [] => Ok(DEFAULT_TARGET.to_owned()),
        [only] => Ok(only.clone()),
        several => Err(Failure::usage(format!(
            "the jobs name several targets ({}); pass one TARGET, which replaces all of them",
            several.join(", ")
        ))),
    }
}

/// The options that have no effect, for a dry run.
pub(super) fn ignored_line(ignored: &[(String, &'static str)]) -> String {
    if ignored.is_empty() {
        return String::new();
    }
    let each: Vec<String> = ignored.iter().map(|(key, why)| format!("{key} ({why})")).collect();
    format!("\njob file options without effect: {}\n", each.join("; "))
}
