//! May this be overwritten? The one place that can say yes.
//!
//! A block device or a file of the user's is overwritten only if it is named twice, once as the target
//! and once with `--overwrite`, and if everything that would perish with it is named too: partitions,
//! holders (LVM, LUKS, RAID above it), mounts, swap, and the signature of what lies on it.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::mounts::{device_number, mounts};
use crate::signatures::signatures;
use crate::stack::{device_of_node, entries};
use crate::{Roots, read_line};

/// The user's permission to overwrite one file or device. Only [`ask`] makes it.
#[derive(Debug)]
pub struct Consent {
    path: PathBuf,
    /// Something on the device is in use, and the user said to go ahead all the same.
    shared: bool,
}

/// Why there is no permission.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Refusal {
    /// The target is not named with `--overwrite`.
    #[error("{0} was not named with --overwrite")]
    NotNamed(PathBuf),
    /// It holds things that were not named.
    #[error(
        "{path} is not empty, it carries {}. To destroy all of that, name it too: --overwrite {path},{}",
        .occupants.join(", "),
        .missing.join(",")
    )]
    Occupied {
        /// The target.
        path: String,
        /// Everything on it.
        occupants: Vec<String>,
        /// What the user did not name.
        missing: Vec<String>,
    },
    /// It cannot be looked at.
    #[error("cannot look at {path} to see what it holds: {error}")]
    Unreadable {
        /// The target.
        path: PathBuf,
        /// The kernel's answer.
        error: String,
    },
}

/// Asks for permission to overwrite `target`, a path free of links. `named` is what the user gave with
/// `--overwrite`: paths or names, in any order.
///
/// # Errors
/// [`Refusal`], with what would have to be named.
pub fn ask(roots: &Roots, target: &Path, named: &[String]) -> Result<Consent, Refusal> {
    let paths: Vec<PathBuf> = named.iter().filter_map(|n| fs::canonicalize(n).ok()).collect();
    if !paths.iter().any(|p| p == target) {
        return Err(Refusal::NotNamed(target.to_owned()));
    }
    let unreadable =
        |error: std::io::Error| Refusal::Unreadable { path: target.to_owned(), error: error.to_string() };
    let metadata = fs::metadata(target).map_err(unreadable)?;
    let mut occupants = Vec::new();
    if metadata.file_type().is_block_device() {
        let device = device_of_node(target).unwrap_or_default();
        occupants = device_occupants(roots, device);
        let file = File::open(target).map_err(unreadable)?;
        let size = rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0)).map_err(|e| unreadable(e.into()))?;
        let marks = signatures(&file, size).map_err(unreadable)?;
        occupants.extend(marks.into_iter().map(|name| Occupant { name: name.to_owned(), in_use: false }));
    } else {
        occupants.extend(file_users(roots, target));
    }
    let missing: Vec<String> = occupants
        .iter()
        .filter(|o| !named.contains(&o.name) && !paths.iter().any(|p| p == Path::new(&o.name)))
        .map(|o| o.name.clone())
        .collect();
    if missing.is_empty() {
        return Ok(Consent { path: target.to_owned(), shared: occupants.iter().any(|o| o.in_use) });
    }
    let occupants = occupants.into_iter().map(|o| o.name).collect();
    Err(Refusal::Occupied { path: target.display().to_string(), occupants, missing })
}

/// Something on a device that would perish.
struct Occupant {
    name: String,
    /// The kernel is using it now.
    in_use: bool,
}

/// Partitions, holders, mounts and swap on a device and everything above it.
fn device_occupants(roots: &Roots, device: (u32, u32)) -> Vec<Occupant> {
    let mut above = Vec::new();
    collect_above(roots, device, &mut above);
    let mut occupants = Vec::new();
    for (name, is_partition) in &above {
        occupants.push(Occupant { name: format!("/dev/{name}"), in_use: !is_partition });
    }
    let mut names: Vec<String> = above.into_iter().map(|(name, _)| name).collect();
    let numbers = |name: &String| {
        device_number(&read_line(roots.sys.join("class/block").join(name.replace('/', "!")).join("dev"))?)
    };
    let mut devices: Vec<(u32, u32)> = names.iter().filter_map(numbers).collect();
    devices.push(device);
    names.extend(name_of(roots, device));
    for mount in mounts(roots) {
        let by_source = names.iter().any(|n| is_node(&mount.source, n));
        if devices.contains(&mount.device) || by_source || btrfs_holds(roots, &mount.source, &names) {
            occupants.push(Occupant { name: mount.point.display().to_string(), in_use: true });
        }
    }
    let swaps = fs::read_to_string(roots.proc.join("swaps")).unwrap_or_default();
    let swap =
        |line: &str| line.split_whitespace().next().is_some_and(|s| names.iter().any(|n| is_node(s, n)));
    if swaps.lines().skip(1).any(swap) {
        occupants.push(Occupant { name: "swap".to_owned(), in_use: true });
    }
    occupants
}

/// True if `path`, links followed, is the node of the device called `name`.
fn is_node(path: &str, name: &str) -> bool {
    let node = PathBuf::from(format!("/dev/{name}"));
    Path::new(path) == node || fs::canonicalize(path).is_ok_and(|p| p == node)
}

/// True if the mounted btrfs with this source has one of the devices among its members.
fn btrfs_holds(roots: &Roots, source: &str, names: &[String]) -> bool {
    let Some(source) = source.strip_prefix("/dev/") else { return false };
    entries(&roots.sys.join("fs/btrfs")).iter().any(|set| {
        let devices = set.join("devices");
        devices.join(source).exists() && names.iter().any(|n| devices.join(n.replace('/', "!")).exists())
    })
}

fn directory_of(roots: &Roots, device: (u32, u32)) -> Option<PathBuf> {
    fs::canonicalize(roots.sys.join(format!("dev/block/{}:{}", device.0, device.1))).ok()
}

fn name_of(roots: &Roots, device: (u32, u32)) -> Option<String> {
    Some(directory_of(roots, device)?.file_name()?.to_string_lossy().replace('!', "/"))
}

/// Names of all partitions and holders above a device, each once, and whether it is a partition.
fn collect_above(roots: &Roots, device: (u32, u32), above: &mut Vec<(String, bool)>) {
    let Some(directory) = directory_of(roots, device) else { return };
    let partitions = entries(&directory).into_iter().filter(|e| e.join("partition").exists());
    let found: Vec<(PathBuf, bool)> = partitions
        .map(|p| (p, true))
        .chain(entries(&directory.join("holders")).into_iter().map(|h| (h, false)))
        .collect();
    for (path, is_partition) in found {
        let name = path.file_name().unwrap_or_default().to_string_lossy().replace('!', "/");
        if above.iter().any(|(known, _)| *known == name) {
            continue;
        }
        above.push((name, is_partition));
        if let Some(number) = read_line(path.join("dev")).and_then(|d| device_number(&d)) {
            collect_above(roots, number, above);
        }
    }
}

/// Loop devices on a file, and swap in it.
fn file_users(roots: &Roots, file: &Path) -> Vec<Occupant> {
    let mut users = Vec::new();
    for device in entries(&roots.sys.join("class/block")) {
        let backing = read_line(device.join("loop/backing_file"));
        if backing.is_some_and(|b| Path::new(&b) == file) {
            let name = device.file_name().unwrap_or_default().to_string_lossy();
            users.push(Occupant { name: format!("/dev/{name}"), in_use: true });
        }
    }
    let swaps = fs::read_to_string(roots.proc.join("swaps")).unwrap_or_default();
    if swaps.lines().skip(1).any(|l| l.split_whitespace().next().is_some_and(|s| Path::new(s) == file)) {
        users.push(Occupant { name: "swap".to_owned(), in_use: true });
    }
    users
}

/// Opens an existing file or device: for reading, or with permission for writing too.
///
/// # Errors
/// The kernel's; among them `EBUSY` if somebody has taken the device since permission was given.
///
/// # Panics
/// If the permission is for another path.
pub fn open(path: &Path, consent: Option<&Consent>, flags: i32) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags);
    if let Some(consent) = consent {
        assert_eq!(consent.path, path, "the permission is for another path");
        options.write(true);
    }
    options.open(path)
}

impl Consent {
    /// Keeps everybody else from mounting or claiming the device while the returned file is open.
    /// `None` if the user named occupants that are in use, or for a file.
    ///
    /// # Errors
    /// `EBUSY` if somebody has claimed the device since permission was given.
    pub fn claim(&self) -> std::io::Result<Option<File>> {
        let is_device = fs::metadata(&self.path)?.file_type().is_block_device();
        if self.shared || !is_device {
            return Ok(None);
        }
        let exclusive = rustix::fs::OFlags::EXCL.bits() as i32;
        OpenOptions::new().read(true).write(true).custom_flags(exclusive).open(&self.path).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with one partition that holds LUKS, which is mounted; made as a tree.
    fn made() -> (tempfile::TempDir, Roots) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let file = |path: &str, content: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        file("sys/devices/sda/dev", "8:0");
        file("sys/devices/sda/sda1/dev", "8:1");
        file("sys/devices/sda/sda1/partition", "1");
        file("sys/devices/dm-0/dev", "253:0");
        file("sys/devices/sdb/dev", "8:16");
        for path in ["sys/dev/block", "sys/devices/sda/sda1/holders", "sys/class/block"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(root.join(to), root.join(at)).unwrap();
        link("sys/devices/sda", "sys/dev/block/8:0");
        link("sys/devices/sda/sda1", "sys/dev/block/8:1");
        link("sys/devices/dm-0", "sys/dev/block/253:0");
        link("sys/devices/sdb", "sys/dev/block/8:16");
        link("sys/devices/dm-0", "sys/devices/sda/sda1/holders/dm-0");
        for name in ["sda", "dm-0", "sdb"] {
            link(&format!("sys/devices/{name}"), &format!("sys/class/block/{name}"));
        }
        file("proc/self/mountinfo", "30 1 253:0 / /secret rw - ext4 /dev/mapper/secret rw\n");
        file("proc/swaps", "Filename Type Size Used Priority\n/dev/sdb partition 100 0 -2\n");
        let roots = Roots { proc: root.join("proc"), sys: root.join("sys") };
        (directory, roots)
    }

    #[test]
    fn partitions_holders_and_mounts_above_a_disk_are_all_found() {
        let (_directory, roots) = made();
        let names: Vec<String> = device_occupants(&roots, (8, 0)).into_iter().map(|o| o.name).collect();
        assert_eq!(names, ["/dev/sda1", "/dev/dm-0", "/secret"]);
    }

    #[test]
    fn swap_is_found() {
        let (_directory, roots) = made();
        let occupants = device_occupants(&roots, (8, 16));
        assert_eq!(occupants.iter().map(|o| o.name.as_str()).collect::<Vec<_>>(), ["swap"]);
        assert!(occupants[0].in_use);
    }

    #[test]
    fn a_file_is_overwritten_only_when_named_also_through_a_link() {
        let roots = Roots::default();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("data");
        let other = directory.path().join("other");
        let link = directory.path().join("link");
        fs::write(&path, "mine").unwrap();
        fs::write(&other, "also mine").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let named =
            |paths: &[&Path]| -> Vec<String> { paths.iter().map(|p| p.display().to_string()).collect() };
        assert_eq!(ask(&roots, &path, &[]).unwrap_err(), Refusal::NotNamed(path.clone()));
        assert_eq!(ask(&roots, &path, &named(&[&other])).unwrap_err(), Refusal::NotNamed(path.clone()));
        assert!(ask(&roots, &path, &named(&[&other, &link])).is_ok());
    }

    #[test]
    fn without_permission_a_file_opens_for_reading_only() {
        use std::os::unix::fs::FileExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("data");
        fs::write(&path, "mine").unwrap();
        assert!(open(&path, None, 0).unwrap().write_all_at(b"x", 0).is_err());
        let consent = ask(&Roots::default(), &path, &[path.display().to_string()]).unwrap();
        assert!(open(&path, Some(&consent), 0).unwrap().write_all_at(b"x", 0).is_ok());
    }

    #[test]
    fn a_refusal_says_what_to_write() {
        let refusal = Refusal::Occupied {
            path: "/dev/sda".into(),
            occupants: vec!["/dev/sda1".into(), "ext2/3/4".into()],
            missing: vec!["/dev/sda1".into(), "ext2/3/4".into()],
        };
        let message = refusal.to_string();
        assert!(message.contains("carries /dev/sda1, ext2/3/4"), "{message}");
        assert!(message.contains("--overwrite /dev/sda,/dev/sda1,ext2/3/4"), "{message}");
    }
}
