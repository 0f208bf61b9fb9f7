//! The mount table, from `/proc/self/mountinfo` (proc(5)).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::Roots;

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Device number of its files; the major is 0 for filesystems without a block device of their own.
    pub device: (u32, u32),
    pub point: PathBuf,
    /// The mounted part of the filesystem; `/` for the whole.
    pub root: PathBuf,
    pub kind: String,
    pub source: String,
    /// Options of the mount and of the filesystem, in the kernel's order, each once.
    pub options: Vec<String>,
}

/// All mounts, in the order in which they were made. Unparsable lines are omitted.
pub(crate) fn mounts(roots: &Roots) -> Vec<Mount> {
    mounts_of(roots, "self")
}

/// Mounts that only processes in other mount namespaces see, each once, with the first such process. Mounts in
/// namespaces without a process, or only with processes that /proc hides, are not found.
pub(crate) fn mounts_elsewhere(roots: &Roots, own: &[Mount]) -> Vec<(u32, Mount)> {
    let namespace = |process: &str| std::fs::read_link(roots.proc.join(process).join("ns/mnt")).ok();
    let mut processes: Vec<u32> = std::fs::read_dir(&roots.proc)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    processes.sort_unstable();
    let mut seen: Vec<PathBuf> = namespace("self").into_iter().collect();
    let mut found: Vec<(u32, Mount)> = Vec::new();
    for process in processes {
        // A process may hide its namespace from this user and still show its mounts.
        if let Some(other) = namespace(&process.to_string()) {
            if seen.contains(&other) {
                continue;
            }
            seen.push(other);
        }
        for mount in mounts_of(roots, &process.to_string()) {
            let is = |known: &Mount| (known.device, &known.point) == (mount.device, &mount.point);
            if !own.iter().any(is) && !found.iter().any(|(_, known)| is(known)) {
                found.push((process, mount));
            }
        }
    }
    found
}

fn mounts_of(roots: &Roots, process: &str) -> Vec<Mount> {
    let text = std::fs::read(roots.proc.join(process).join("mountinfo")).unwrap_or_default();
    text.split(|b| *b == b'\n').filter_map(parse).collect()
}

/// The mount that holds `path`, which must be absolute and free of links.
pub(crate) fn mount_of<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    // Of several mounts on one point the last is on top.
    mounts
        .iter()
        .enumerate()
        .filter(|(_, mount)| path.starts_with(&mount.point))
        .max_by_key(|(i, mount)| (mount.point.components().count(), *i))
        .map(|(_, mount)| mount)
}

fn parse(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|b| *b == b' ');
    let device = std::str::from_utf8(fields.nth(2)?).ok()?;
    let root = PathBuf::from(OsString::from_vec(unescape(fields.next()?)));
    let point = PathBuf::from(OsString::from_vec(unescape(fields.next()?)));
    let mut options = words(fields.next()?);
    // Optional fields end with a lone dash.
    fields.find(|f| *f == b"-")?;
    let kind = String::from_utf8_lossy(&unescape(fields.next()?)).into_owned();
    let source = String::from_utf8_lossy(&unescape(fields.next()?)).into_owned();
    for option in words(fields.next().unwrap_or_default()) {
        if !options.contains(&option) {
            options.push(option);
        }
    }
    Some(Mount { device: device_number(device)?, point, root, kind, source, options })
}

fn words(field: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(&unescape(field)).into_owned();
    text.split(',').filter(|w| !w.is_empty()).map(str::to_owned).collect()
}

/// `major:minor`.
pub(crate) fn device_number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The kernel writes space, tab, newline and backslash as a backslash and three octal digits.
pub(crate) fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        let octal = |d: &u8| (b'0'..=b'7').contains(d);
        match tail {
            [a, b, c, after @ ..] if *first == b'\\' && [a, b, c].into_iter().all(octal) => {
                plain.push(((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'));
                rest = after;
            }
            _ => {
                plain.push(*first);
                rest = tail;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_optional_fields_and_escapes_is_read() {
        let line = br"36 35 98:0 /mnt1 /mnt/my\040disk rw,noatime master:1 shared:2 - ext3 /dev/sd\134a rw,errors=continue";
        let mount = parse(line).unwrap();
        assert_eq!(mount.device, (98, 0));
        assert_eq!(mount.point, Path::new("/mnt/my disk"));
        assert_eq!((mount.kind.as_str(), mount.source.as_str()), ("ext3", r"/dev/sd\a"));
        assert_eq!(mount.options, ["rw", "noatime", "errors=continue"]);
    }

    #[test]
    fn invalid_lines_are_omitted() {
        for line in [&b""[..], b"36 35", b"36 35 x / /mnt rw - ext4 /dev/sda rw", b"36 35 8:1 / /mnt rw"] {
            assert_eq!(parse(line), None);
        }
    }

    #[test]
    fn the_deepest_and_topmost_mount_holds_a_path() {
        let mount = |point: &str, kind: &str| Mount {
            device: (0, 0),
            point: point.into(),
            root: "/".into(),
            kind: kind.into(),
            source: String::new(),
            options: Vec::new(),
        };
        let mounts =
            [mount("/", "ext4"), mount("/mnt", "xfs"), mount("/mnt", "btrfs"), mount("/mnt2", "vfat")];
        let kind = |path: &str| mount_of(&mounts, Path::new(path)).unwrap().kind.as_str();
        assert_eq!(kind("/mnt/deep/er"), "btrfs");
        assert_eq!(kind("/mnt2"), "vfat");
        assert_eq!(kind("/mnt20"), "ext4");
    }
}
