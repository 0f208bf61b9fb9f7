//! Labels: those that the user gives all files, and those from the parts of a path.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use record::import::{NAME_LABEL, REPEAT_LABEL, log_name};

use super::repeats;
use crate::failure::Failure;

/// Filesystem names that identify a part of a file's name as a filesystem; longer ones first.
const FILESYSTEMS: [&str; 20] = [
    "bcachefs", "reiserfs", "exfat", "btrfs", "ext2", "ext3", "ext4", "f2fs", "fat12", "fat16", "fat32",
    "hfsplus", "jfs", "nilfs2", "ntfs", "tmpfs", "vfat", "xfs", "zfs", "luks",
];

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

/// A part of a path, and what it was taken for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Part {
    /// What it was taken for, in words.
    pub meaning: String,
    /// Its label, if it has one.
    pub key: Option<String>,
    /// The label's value.
    pub text: String,
}

impl Part {
    fn label(key: &str, text: &str) -> Self {
        Self { meaning: key.to_owned(), key: Some(key.to_owned()), text: text.to_owned() }
    }

    fn repeat(kind: &str, text: &str) -> Self {
        Self { meaning: format!("{REPEAT_LABEL} ({kind})"), ..Self::label(REPEAT_LABEL, text) }
    }

    fn without(meaning: &str, text: &str) -> Self {
        Self { meaning: meaning.to_owned(), key: None, text: text.to_owned() }
    }
}

/// The parts of a file's path: its directories, then its name.
pub(super) fn parts(relative: &Path, levels: &[Option<String>]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut level = 0;
    let directories = relative.parent().into_iter().flat_map(Path::components);
    for text in directories.filter_map(|part| part.as_os_str().to_str()) {
        // The output itself contains the block size, so such a directory is not a level.
        if is_block_size(text) {
            parts.push(Part::without("block size, as the output says", text));
            continue;
        }
        // What the user says comes before what it looks like.
        parts.push(match (levels.get(level), repeats::kind(text)) {
            (Some(Some(name)), _) => Part::label(name, text),
            (Some(None), _) => Part::without("no label (-)", text),
            (None, Some(kind)) => {
                parts.push(Part::repeat(kind, text));
                continue;
            }
            (None, None) if FILESYSTEMS.iter().any(|fs| fs.eq_ignore_ascii_case(text)) => {
                parts.push(Part::label("filesystem", text));
                continue;
            }
            (None, None) if level == 0 => Part::label("device", text),
            (None, None) => Part::label(&format!("level{}", level + 1), text),
        });
        level += 1;
    }
    parts.extend(of_name(relative.file_name().and_then(|name| name.to_str()).unwrap_or("")));
    parts
}

/// The labels of a file: those of the parts of its path, and given ones. Several parts of one label are one value.
pub(super) fn of(parts: &[Part], given: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut labels: BTreeMap<String, String> = BTreeMap::new();
    for part in parts {
        let Some(key) = &part.key else { continue };
        match labels.get_mut(key) {
            Some(value) if key == REPEAT_LABEL => *value = format!("{value} {}", part.text),
            _ => drop(labels.insert(key.clone(), part.text.clone())),
        }
    }
    labels.extend(given.clone());
    labels
}

/// The parts of a file's name: its repeats, and the filesystem in it, else the rest without its extension.
fn of_name(name: &str) -> Vec<Part> {
    let name = log_name(name).map_or(name, |(stem, ..)| stem);
    // An extension is short and starts with a letter; the `03` of a version such as `v1.03` is not an extension.
    let mut stem = name;
    while let Some((before, end)) = stem.rsplit_once('.').filter(|(before, _)| !before.is_empty())
        && end.len() <= 8
        && end.starts_with(|c: char| c.is_ascii_alphabetic())
    {
        stem = before;
    }
    let (bare, found) = repeats::split(stem);
    let mut parts: Vec<Part> =
        found.iter().map(|text| Part::repeat(repeats::kind(text).unwrap_or("number"), text)).collect();
    let is_filesystem = |part: &&str| {
        let small = part.to_ascii_lowercase();
        FILESYSTEMS.iter().any(|fs| small.starts_with(fs))
    };
    match bare.split(['-', '_', ' ']).find(is_filesystem) {
        Some(filesystem) => parts.push(Part::label("filesystem", filesystem)),
        None if !bare.is_empty() => parts.push(Part::label(NAME_LABEL, &bare)),
        None => {}
    }
    parts
}

/// What the parts of the paths were taken for, a line for each meaning.
pub(super) fn meanings(parts: &BTreeSet<Part>) -> String {
    const MOST: usize = 12;
    let mut by_meaning: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for part in parts {
        by_meaning.entry(&part.meaning).or_default().push(&part.text);
    }
    let width = by_meaning.keys().map(|meaning| meaning.chars().count()).max().unwrap_or(0);
    let line = |(meaning, texts): (&&str, &Vec<&str>)| {
        let more =
            if texts.len() > MOST { format!(", and {} more", texts.len() - MOST) } else { String::new() };
        format!("  {meaning:width$}  {}{more}\n", texts[..texts.len().min(MOST)].join(", "))
    };
    let lines: String = by_meaning.iter().map(line).collect();
    if lines.is_empty() {
        lines
    } else {
        format!("parts of the paths and what they were taken for (--path-labels changes this):\n{lines}")
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
    use crate::commands::given_labels;

    fn labels(path: &str, levels_text: Option<&str>) -> String {
        let found = of(&parts(Path::new(path), &levels(levels_text).unwrap()), &BTreeMap::new());
        found.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn parts_of_a_path_are_labels() {
        let path = "5_TB/Laptop/4M/ext4Only-hdd_laptop_4M.report";
        assert_eq!(labels(path, Some("device/machine")), "device=5_TB filesystem=ext4Only machine=Laptop");
        assert_eq!(labels(path, Some("-/machine")), "filesystem=ext4Only machine=Laptop");
        assert_eq!(labels(path, None), "device=5_TB filesystem=ext4Only level2=Laptop");
        assert_eq!(
            labels("SDCard/output_benchmark_3.txt", None),
            "device=SDCard name=output_benchmark repeat=3"
        );
        assert_eq!(labels("3.txt", None), "repeat=3");
        // A directory named after a filesystem is not a device.
        assert_eq!(labels("FAT32/SSD/r1.txt", None), "device=SSD filesystem=FAT32 repeat=r1");
        assert_eq!(labels("FAT32/r1.txt", Some("card")), "card=FAT32 repeat=r1");
        assert_eq!(labels("raid5.txt", None), "name=raid5");
        assert_eq!(labels("ssd-run5.txt", None), "name=ssd repeat=run5");
        // The end of a log's name says what its values are.
        assert_eq!(labels("SSD/xfs_bw.1.log", None), "device=SSD filesystem=xfs");
        assert_eq!(labels("night_r2_clat.3.log", None), "name=night repeat=r2");
    }

    /// Three directories r1, r2, r3 were three devices.
    #[test]
    fn repeats_are_no_level_unless_they_are_named() {
        assert_eq!(labels("r1/SSD/2024-05-01/09h/fat32.txt", None), {
            "device=SSD filesystem=fat32 repeat=r1 2024-05-01 09h"
        });
        assert_eq!(labels("SSD/night/x.txt", Some("device/repeat")), "device=SSD name=x repeat=night");
        assert_eq!(labels("r1/x.txt", Some("device")), "device=r1 name=x");
        assert_eq!(labels("r1/SSD/x.txt", Some("repeat/device")), "device=SSD name=x repeat=r1");
    }

    #[test]
    fn labels_without_a_value_are_refused() {
        assert!(given_labels(&["host=".into()]).is_err() && given_labels(&["host".into()]).is_err());
        assert!(levels(Some("a//b")).is_err());
        assert_eq!(given_labels(&["host=pi=4".into()]).unwrap()["host"], "pi=4");
    }
}
