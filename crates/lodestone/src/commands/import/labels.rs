//! Labels: those that the user gives all files, and those from the parts of a path.

use std::collections::BTreeMap;
use std::path::Path;

use record::import::NAME_LABEL;

use crate::failure::Failure;

/// Filesystem names that identify a part of a file's name as a filesystem; longer ones first.
const FILESYSTEMS: [&str; 17] = [
    "bcachefs", "reiserfs", "exfat", "btrfs", "ext2", "ext3", "ext4", "f2fs", "hfsplus", "jfs", "nilfs2",
    "ntfs", "tmpfs", "vfat", "xfs", "zfs", "luks",
];

/// Labels of the form `KEY=VALUE`.
///
/// # Errors
/// One has another form.
pub(super) fn given(texts: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let pair = |text: &String| {
        let (key, value) =
            text.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty())?;
        Some((key.to_owned(), value.to_owned()))
    };
    texts
        .iter()
        .map(|text| {
            pair(text).ok_or_else(|| {
                Failure::usage(format!("--label {text}: write KEY=VALUE, such as --label device=ssd"))
            })
        })
        .collect()
}

/// Names of the directory levels; `None` for levels without a label.
///
/// # Errors
/// A name is empty.
pub(super) fn levels(text: Option<&str>) -> Result<Vec<Option<String>>, Failure> {
    let Some(text) = text else { return Ok(Vec::new()) };
    let level = |name: &str| match name {
        "" => Err(Failure::usage(format!(
            "--path-labels {text}: a name is empty; write - for a level without one"
        ))),
        "-" => Ok(None),
        name => Ok(Some(name.to_owned())),
    };
    text.split('/').map(level).collect()
}

/// The labels of a file: from its directories, from its name, and given ones.
pub(super) fn of(
    relative: &Path,
    levels: &[Option<String>],
    given: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    let mut level = 0;
    let directories = relative.parent().into_iter().flat_map(Path::components);
    for part in directories.filter_map(|part| part.as_os_str().to_str()) {
        // The output itself contains the block size, so such a directory is not a level.
        if is_block_size(part) {
            continue;
        }
        let name = match levels.get(level) {
            Some(name) => name.clone(),
            None if level == 0 => Some("device".to_owned()),
            None => Some(format!("level{}", level + 1)),
        };
        labels.extend(name.map(|name| (name, part.to_owned())));
        level += 1;
    }
    let stem = relative.file_name().and_then(|name| name.to_str()).unwrap_or("");
    let (key, value) = of_name(stem);
    labels.extend(value.map(|value| (key.to_owned(), value)));
    labels.extend(given.clone());
    labels
}

/// The filesystem in a file's name, else the name without its extension and repeat number.
fn of_name(name: &str) -> (&'static str, Option<String>) {
    // An extension is short and starts with a letter; the `03` of a version such as `v1.03` is not an extension.
    let mut stem = name;
    while let Some((before, end)) = stem.rsplit_once('.').filter(|(before, _)| !before.is_empty())
        && end.len() <= 8
        && end.starts_with(|c: char| c.is_ascii_alphabetic())
    {
        stem = before;
    }
    let is_filesystem = |part: &&str| {
        let small = part.to_ascii_lowercase();
        FILESYSTEMS.iter().any(|fs| small.starts_with(fs))
    };
    if let Some(filesystem) = stem.split(['-', '_', ' ']).find(is_filesystem) {
        return ("filesystem", Some(filesystem.to_owned()));
    }
    let bare = without_repeat(stem);
    (NAME_LABEL, (!bare.is_empty()).then(|| bare.to_owned()))
}

/// A name without its repeat number: a number that is set apart (`disk_2`), or follows a word for repeats (`run2`). In
/// `raid5` the number is a part of the name.
fn without_repeat(stem: &str) -> &str {
    const WORDS: [&str; 10] =
        ["run", "test", "round", "rep", "repeat", "result", "bench", "output", "out", "try"];
    let bare = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    let apart = bare.trim_end_matches(['-', '_', ' ']);
    let last = bare.rsplit(['-', '_', ' ']).next().unwrap_or(bare).to_ascii_lowercase();
    if bare.len() == stem.len() {
        stem
    } else if apart.len() < bare.len() || bare.is_empty() || WORDS.contains(&last.as_str()) {
        apart
    } else {
        stem
    }
}

fn is_block_size(text: &str) -> bool {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text[digits.len()..].to_ascii_lowercase();
    !digits.is_empty()
        && digits.bytes().all(|b| b.is_ascii_digit())
        && matches!(unit.as_str(), "k" | "m" | "kb" | "mb" | "kib" | "mib")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(path: &str, levels_text: Option<&str>) -> String {
        let found = of(Path::new(path), &levels(levels_text).unwrap(), &BTreeMap::new());
        found.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn parts_of_a_path_are_labels() {
        let path = "5_TB/Laptop/4M/ext4Only-hdd_laptop_4M.report";
        assert_eq!(labels(path, Some("device/machine")), "device=5_TB filesystem=ext4Only machine=Laptop");
        assert_eq!(labels(path, Some("-/machine")), "filesystem=ext4Only machine=Laptop");
        assert_eq!(labels(path, None), "device=5_TB filesystem=ext4Only level2=Laptop");
        assert_eq!(labels("SDCard/output_benchmark_3.txt", None), "device=SDCard name=output_benchmark");
        assert_eq!(labels("3.txt", None), "");
        assert_eq!(labels("raid5.txt", None), "name=raid5");
        assert_eq!(labels("ssd-run5.txt", None), "name=ssd-run");
    }

    #[test]
    fn labels_without_a_value_are_refused() {
        assert!(given(&["host=".into()]).is_err() && given(&["host".into()]).is_err());
        assert!(levels(Some("a//b")).is_err());
        assert_eq!(given(&["host=pi=4".into()]).unwrap()["host"], "pi=4");
    }
}
