//! The bytes that each block device maps to. A partition is a window onto a disk, a loop device is a window onto a file
//! or another device, and a disk with two paths is one disk. Two devices whose extents overlap write to the same bytes.
//!
//! A device of the device mapper or md counts as separate bytes here: sysfs names the devices below it, but not the
//! offsets on them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::mounts::device_number;
use crate::object::Object;
use crate::stack::entries;
use crate::{Roots, programs, read_line};

/// Timeout of losetup, which queries the kernel for each loop device.
const LOSETUP_TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 5 });
/// Deeper than any real stack; a loop device on itself must not recurse forever.
const DEEPEST: usize = 16;
/// Unit of sizes and start offsets in sysfs, independent of the device's block size.
const SECTOR_BYTES: u64 = 512;

/// A range of bytes of a file or of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub object: Object,
    start: u64,
    end: u64,
}

impl Extent {
    fn whole(object: Object) -> Self {
        Self { object, start: 0, end: u64::MAX }
    }

    pub fn overlaps(&self, other: &Self) -> bool {
        self.object == other.object && self.start < other.end && other.start < self.end
    }
}

/// A block device.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    /// Its directory in sysfs.
    pub directory: PathBuf,
    /// Its name in sysfs and below `/dev`.
    pub name: String,
    pub number: (u32, u32),
    /// The disk of a partition.
    pub parent: Option<(u32, u32)>,
    /// The devices below it that lead to its bytes, from the top down.
    pub below: Vec<(u32, u32)>,
    /// The bytes that it maps to.
    pub extent: Extent,
    window: Option<Window>,
    size_bytes: u64,
    /// Globally unique identifier of the disk.
    identity: Option<String>,
}

/// What a device maps a part of, and from which byte offset.
#[derive(Clone, Copy, Debug)]
struct Window {
    onto: Object,
    start: u64,
}

/// All block devices of the machine.
pub(crate) struct Devices(Vec<Device>);

impl Devices {
    pub fn read(roots: &Roots) -> Self {
        let loops = loops(roots);
        let places = entries(&roots.sys.join("dev/block"));
        let mut devices: Vec<Device> =
            places.iter().filter_map(|place| Device::read(&fs::canonicalize(place).ok()?, &loops)).collect();
        for i in 0..devices.len() {
            let mut below = Vec::new();
            let extent = reach(&devices, &devices[i], &mut below);
            devices[i].extent = extent;
            devices[i].below = below;
        }
        Self(devices)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Device> {
        self.0.iter()
    }

    pub fn find(&self, number: (u32, u32)) -> Option<&Device> {
        self.0.iter().find(|device| device.number == number)
    }

    /// The bytes of a file or device.
    pub fn extent(&self, object: Object) -> Extent {
        let device = match object {
            Object::Device(number) => self.find(number),
            Object::Inode(..) => None,
        };
        device.map_or(Extent::whole(object), |device| device.extent.clone())
    }

    /// Devices that the kernel has built on a device, such as RAID arrays and device-mapper devices.
    pub fn holders(&self, device: &Device) -> Vec<Device> {
        let holder = |path: PathBuf| {
            let directory = fs::canonicalize(path).ok()?;
            let known = self.0.iter().find(|d| d.directory == directory);
            known.cloned().or_else(|| Device::read(&directory, &[]))
        };
        entries(&device.directory.join("holders")).into_iter().filter_map(holder).collect()
    }
}

impl Device {
    fn read(directory: &Path, loops: &[(PathBuf, Object)]) -> Option<Self> {
        let number = device_number(&read_line(directory.join("dev"))?)?;
        let bytes = |file: &str| read_line(directory.join(file))?.parse::<u64>().ok();
        let is_partition = directory.join("partition").exists();
        let parent =
            if is_partition { device_number(&read_line(directory.parent()?.join("dev"))?) } else { None };
        let looped = || {
            let onto = loops.iter().find(|(known, _)| known == directory)?.1;
            Some(Window { onto, start: bytes("loop/offset").unwrap_or(0) })
        };
        let start = bytes("start").unwrap_or(0).saturating_mul(SECTOR_BYTES);
        let window = parent.map(|disk| Window { onto: Object::Device(disk), start }).or_else(looped);
        Some(Self {
            directory: directory.to_owned(),
            name: directory.file_name()?.to_string_lossy().replace('!', "/"),
            number,
            parent,
            below: Vec::new(),
            extent: Extent::whole(Object::Device(number)),
            window,
            size_bytes: bytes("size").map_or(u64::MAX, |sectors| sectors.saturating_mul(SECTOR_BYTES)),
            identity: identity(directory),
        })
    }

    /// True if `path` is a node of the device.
    pub fn is_called(&self, path: impl AsRef<Path>) -> bool {
        let (path, node) = (path.as_ref(), PathBuf::from(format!("/dev/{}", self.name)));
        let by_number = || Object::at(path) == Some(Object::Device(self.number));
        path == node || fs::canonicalize(path).is_ok_and(|p| p == node) || by_number()
    }

    /// A device node that opens it.
    pub fn node(&self, roots: &Roots) -> Option<PathBuf> {
        let mapped =
            read_line(self.directory.join("dm/name")).map(|name| roots.dev.join("mapper").join(name));
        let by_number = roots.dev.join(format!("block/{}:{}", self.number.0, self.number.1));
        let mut nodes = [roots.dev.join(&self.name), by_number].into_iter().chain(mapped);
        nodes.find(|node| Object::at(node) == Some(Object::Device(self.number)))
    }
}

/// The bytes that a device maps to; adds the devices below it to `below`.
fn reach(devices: &[Device], device: &Device, below: &mut Vec<(u32, u32)>) -> Extent {
    let size = device.size_bytes;
    let lower = match device.window {
        None => {
            let object = Object::Device(first_path(devices, device));
            return Extent { object, start: 0, end: size };
        }
        Some(Window { onto: Object::Device(number), .. }) if below.len() < DEEPEST => {
            below.push(number);
            let known = devices.iter().find(|d| d.number == number);
            known.map_or_else(|| Extent::whole(Object::Device(number)), |d| reach(devices, d, below))
        }
        Some(Window { onto, .. }) => Extent::whole(onto),
    };
    let start = lower.start.saturating_add(device.window.map_or(0, |window| window.start));
    Extent { object: lower.object, start, end: start.saturating_add(size).min(lower.end) }
}

/// One device number for a disk with several paths.
fn first_path(devices: &[Device], device: &Device) -> (u32, u32) {
    let is_same = |d: &&Device| {
        d.window.is_none() && d.identity == device.identity && d.size_bytes == device.size_bytes
    };
    match device.identity {
        Some(_) => devices.iter().filter(is_same).map(|d| d.number).min().unwrap_or(device.number),
        None => device.number,
    }
}

/// The disk's identifier, if it is globally unique. An identifier made of a vendor name and a serial number is often
/// the same for two disks behind USB bridges.
fn identity(directory: &Path) -> Option<String> {
    let known = ["device/wwid", "wwid"].iter().find_map(|file| read_line(directory.join(file)))?;
    ["naa.", "eui.", "uuid."].iter().any(|kind| known.starts_with(kind)).then_some(known)
}

/// The loop devices in use, by their directory in sysfs, with the backing file or device of each if it is known.
fn loops(roots: &Roots) -> Vec<(PathBuf, Object)> {
    let bound: Vec<(PathBuf, String)> = entries(&roots.sys.join("dev/block"))
        .into_iter()
        .filter_map(|place| fs::canonicalize(place).ok())
        .filter_map(|directory| Some((directory.clone(), read_line(directory.join("loop/backing_file"))?)))
        .collect();
    let reported = if bound.is_empty() { Vec::new() } else { losetup_report(roots) };
    let backing = |directory: &Path, path: &str| {
        let known =
            reported.iter().find(|(name, _)| directory.file_name().is_some_and(|n| n == name.as_str()));
        match (known, Object::at(path)) {
            // The node's inode is useless here: the device may have another node.
            (_, Some(device @ Object::Device(_))) => Some(device),
            (Some((_, object)), _) => Some(*object),
            (None, by_path) => by_path,
        }
    };
    bound
        .into_iter()
        .filter_map(|(directory, path)| Some((directory.clone(), backing(&directory, &path)?)))
        .collect()
}

/// Names of loop devices with their backing files, as the kernel identifies them (`LOOP_GET_STATUS64`, loop(4)). The
/// ioctl needs unsafe code, so losetup from util-linux makes it. Empty without losetup; devices that this user may not
/// open are left out.
fn losetup_report(roots: &Roots) -> Vec<(String, Object)> {
    const COLUMNS: [&str; 4] = ["--list", "--noheadings", "--output", "NAME,BACK-INO,BACK-MAJ:MIN"];
    let answer = programs::ask(roots, "losetup", &COLUMNS, LOSETUP_TIMEOUT);
    answer.iter().flat_map(|answer| answer.text.lines()).filter_map(losetup_line).collect()
}

/// Parses `/dev/loop0  1234  8:1`; `None` for a line without all three columns.
fn losetup_line(line: &str) -> Option<(String, Object)> {
    let mut words = line.split_whitespace();
    let name = words.next()?.strip_prefix("/dev/")?.replace('/', "!");
    let inode = words.next()?.parse().ok()?;
    Some((name, Object::Inode(device_number(words.next()?)?, inode)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Tree;

    fn overlap(tree: &Tree, a: (u32, u32), b: (u32, u32)) -> bool {
        let devices = Devices::read(&tree.roots());
        devices.find(a).unwrap().extent.overlaps(&devices.find(b).unwrap().extent)
    }

    #[test]
    fn loop_devices_overlap_only_where_they_share_bytes() {
        let tree = Tree::new();
        tree.file("image", "");
        let image = tree.path("image").display().to_string();
        for (name, number, offset, size) in [
            ("loop4001", "7:4001", "0", "2048"),
            ("loop4002", "7:4002", "1048576", "2048"),
            ("loop4003", "7:4003", "1048064", "2"),
        ] {
            let files = [("loop/backing_file", image.as_str()), ("loop/offset", offset), ("size", size)];
            tree.device(&format!("virtual/block/{name}"), number, &files);
        }
        assert!(!overlap(&tree, (7, 4001), (7, 4002)));
        assert!(overlap(&tree, (7, 4001), (7, 4003)));
        assert!(overlap(&tree, (7, 4002), (7, 4003)));
    }

    #[test]
    fn two_paths_to_a_disk_are_one_disk() {
        let tree = Tree::new();
        for (disk, minor) in [("sda", 0), ("sdb", 16), ("sdc", 32)] {
            let identity = if disk == "sdc" { "naa.6002" } else { "naa.6001" };
            let number = |more: u32| format!("8:{}", minor + more);
            tree.device(disk, &number(0), &[("size", "4096"), ("device/wwid", identity)]);
            for (n, start) in [("1", "0"), ("2", "2048")] {
                let files = [("partition", n), ("start", start), ("size", "2048")];
                tree.device(&format!("{disk}/{disk}{n}"), &number(n.parse().unwrap()), &files);
            }
        }
        assert!(overlap(&tree, (8, 0), (8, 16)) && overlap(&tree, (8, 1), (8, 17)));
        assert!(overlap(&tree, (8, 0), (8, 18)), "a disk overlaps its partition on another path");
        assert!(!overlap(&tree, (8, 1), (8, 2)) && !overlap(&tree, (8, 1), (8, 18)));
        assert!(!overlap(&tree, (8, 0), (8, 32)), "another disk");
    }

    #[test]
    fn an_ambiguous_identity_does_not_merge_disks() {
        let tree = Tree::new();
        for (disk, number) in [("sda", "8:0"), ("sdb", "8:16")] {
            tree.device(disk, number, &[("size", "4096"), ("device/wwid", "t10.USB     0123456789")]);
        }
        assert!(!overlap(&tree, (8, 0), (8, 16)));
    }

    #[test]
    fn incomplete_losetup_lines_are_ignored() {
        let parsed = losetup_line("/dev/loop3 9978032      254:0  ").unwrap();
        assert_eq!(parsed, ("loop3".to_owned(), Object::Inode((254, 0), 9_978_032)));
        for line in ["", "/dev/loop3", "/dev/loop3 254:0", "losetup: unknown column 1 2:3"] {
            assert_eq!(losetup_line(line), None, "{line}");
        }
    }
}
