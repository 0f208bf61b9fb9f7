//! What would perish with a device or a file: what the kernel has made of it, and what is in use.
//!
//! Everything is told by what it is and not by its path, where the kernel says enough for that
//! ([`Object`]): the names that the kernel keeps may be outdated, those of another mount namespace, or
//! one of several.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::mounts::{device_number, mounts, unescape};
use crate::object::Object;
use crate::stack::entries;
use crate::{Roots, programs, read_line};

/// losetup asks the kernel about each loop device.
const PATIENCE: Duration = Duration::from_secs(5);

/// Something that would perish.
#[derive(Debug)]
pub(crate) struct Occupant {
    /// How the user names it.
    pub name: String,
    /// The kernel is using it now.
    pub in_use: bool,
    /// Its number, if it is a block device.
    pub device: Option<(u32, u32)>,
}

impl Occupant {
    pub fn new(name: impl Into<String>, in_use: bool) -> Self {
        Self { name: name.into(), in_use, device: None }
    }
}

/// Partitions, holders, loop devices, mounts and swap on a device or file and on everything above it.
pub(crate) fn occupants(roots: &Roots, object: Object) -> Vec<Occupant> {
    let mut above = Vec::new();
    collect_above(roots, &loops(roots), object, &mut above);
    let mut found: Vec<Occupant> = above
        .iter()
        .map(|a| Occupant { name: format!("/dev/{}", a.name), in_use: !a.is_partition, device: a.number })
        .collect();
    let own = match object {
        Object::Device(number) => {
            let name = name_of(roots, number).unwrap_or_else(|| format!("{}:{}", number.0, number.1));
            Some(Above { name, number: Some(number), is_partition: false })
        }
        Object::Inode(..) => None,
    };
    above.extend(own);
    for mount in mounts(roots) {
        let holds = |a: &Above| a.number == Some(mount.device) || a.is_called(&mount.source);
        if above.iter().any(holds) || btrfs_holds(roots, &mount.source, &above) {
            found.push(Occupant::new(mount.point.display().to_string(), true));
        }
    }
    let is_swap =
        |path: &PathBuf| Object::at(path) == Some(object) || above.iter().any(|a| a.is_called(path));
    if swaps(roots).iter().any(is_swap) {
        found.push(Occupant::new("swap", true));
    }
    found
}

/// A block device that lies on what is asked about.
struct Above {
    /// As in sysfs and below `/dev`.
    name: String,
    number: Option<(u32, u32)>,
    is_partition: bool,
}

impl Above {
    /// True if `path` is a node of the device.
    fn is_called(&self, path: impl AsRef<Path>) -> bool {
        let (path, node) = (path.as_ref(), PathBuf::from(format!("/dev/{}", self.name)));
        let by_number = || self.number.is_some_and(|n| Object::at(path) == Some(Object::Device(n)));
        path == node || fs::canonicalize(path).is_ok_and(|p| p == node) || by_number()
    }
}

/// Everything that lies on an object, at any height, each once.
fn collect_above(roots: &Roots, loops: &[Loop], object: Object, above: &mut Vec<Above>) {
    let mut found: Vec<(PathBuf, bool)> = Vec::new();
    if let Object::Device(number) = object
        && let Some(directory) = directory_of(roots, number)
    {
        let partitions = entries(&directory).into_iter().filter(|e| e.join("partition").exists());
        found.extend(partitions.map(|p| (p, true)));
        found.extend(entries(&directory.join("holders")).into_iter().map(|h| (h, false)));
    }
    found.extend(loops.iter().filter(|l| l.backing == Some(object)).map(|l| (l.directory.clone(), false)));
    for (path, is_partition) in found {
        let name = path.file_name().unwrap_or_default().to_string_lossy().replace('!', "/");
        if above.iter().any(|known| known.name == name) {
            continue;
        }
        let number = read_line(path.join("dev")).and_then(|d| device_number(&d));
        above.push(Above { name, number, is_partition });
        if let Some(number) = number {
            collect_above(roots, loops, Object::Device(number), above);
        }
    }
}

/// True if the mounted btrfs with this source has one of the devices among its members.
fn btrfs_holds(roots: &Roots, source: &str, devices: &[Above]) -> bool {
    let source = fs::canonicalize(source).unwrap_or_else(|_| PathBuf::from(source));
    let Ok(source) = source.strip_prefix("/dev/") else { return false };
    let entry = |name: &str| name.replace('/', "!");
    entries(&roots.sys.join("fs/btrfs")).iter().any(|set| {
        let members = set.join("devices");
        members.join(entry(&source.to_string_lossy())).exists()
            && devices.iter().any(|d| members.join(entry(&d.name)).exists())
    })
}

fn directory_of(roots: &Roots, device: (u32, u32)) -> Option<PathBuf> {
    fs::canonicalize(roots.sys.join(format!("dev/block/{}:{}", device.0, device.1))).ok()
}

fn name_of(roots: &Roots, device: (u32, u32)) -> Option<String> {
    Some(directory_of(roots, device)?.file_name()?.to_string_lossy().replace('!', "/"))
}

/// The files and devices that the kernel swaps to, as it calls them.
fn swaps(roots: &Roots) -> Vec<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let text = fs::read(roots.proc.join("swaps")).unwrap_or_default();
    let path = |line: &[u8]| {
        let field = line.split(u8::is_ascii_whitespace).next().filter(|f| !f.is_empty())?;
        Some(PathBuf::from(std::ffi::OsString::from_vec(unescape(field))))
    };
    text.split(|b| *b == b'\n').skip(1).filter_map(path).collect()
}

/// A loop device in use.
struct Loop {
    /// Its directory in sysfs.
    directory: PathBuf,
    /// What it lies on; `None` if that cannot be found out.
    backing: Option<Object>,
}

fn loops(roots: &Roots) -> Vec<Loop> {
    let bound: Vec<(PathBuf, String)> = entries(&roots.sys.join("class/block"))
        .into_iter()
        .filter_map(|directory| Some((directory.clone(), read_line(directory.join("loop/backing_file"))?)))
        .collect();
    let told = if bound.is_empty() { Vec::new() } else { told_by_losetup(roots) };
    let backing = |directory: &Path, path: &str| {
        let known = told.iter().find(|(name, _)| directory.file_name().is_some_and(|n| n == name.as_str()));
        match (known, Object::at(path)) {
            // The node's own number is of no use: there may be another node.
            (_, Some(device @ Object::Device(_))) => Some(device),
            (Some((_, object)), _) => Some(*object),
            (None, by_path) => by_path,
        }
    };
    bound
        .into_iter()
        .map(|(directory, path)| Loop { backing: backing(&directory, &path), directory })
        .collect()
}

/// Names of loop devices with the files that they lie on, as the kernel itself identifies them
/// (`LOOP_GET_STATUS64`, loop(4)). Only a call that the language cannot check asks the kernel for that, so
/// util-linux's losetup is asked. Empty without it; devices that this user may not open are left out.
fn told_by_losetup(roots: &Roots) -> Vec<(String, Object)> {
    const COLUMNS: [&str; 4] = ["--list", "--noheadings", "--output", "NAME,BACK-INO,BACK-MAJ:MIN"];
    let said = programs::ask(roots, "losetup", &COLUMNS, PATIENCE);
    said.iter().flat_map(|said| said.text.lines()).filter_map(losetup_line).collect()
}

/// `/dev/loop0  1234  8:1`; a line that lacks a column says nothing.
fn losetup_line(line: &str) -> Option<(String, Object)> {
    let mut words = line.split_whitespace();
    let name = words.next()?.strip_prefix("/dev/")?.replace('/', "!");
    let inode = words.next()?.parse().ok()?;
    Some((name, Object::Inode(device_number(words.next()?)?, inode)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{LoopDevice, Mounted, skipped};

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
        let roots = Roots {
            proc: root.join("proc"),
            sys: root.join("sys"),
            dev: "/dev".into(),
            programs: Vec::new(),
        };
        (directory, roots)
    }

    fn names(found: &[Occupant]) -> Vec<&str> {
        found.iter().map(|o| o.name.as_str()).collect()
    }

    #[test]
    fn partitions_holders_and_mounts_above_a_disk_are_all_found() {
        let (_directory, roots) = made();
        let found = occupants(&roots, Object::Device((8, 0)));
        assert_eq!(names(&found), ["/dev/sda1", "/dev/dm-0", "/secret"]);
        assert_eq!(found[0].device, Some((8, 1)));
    }

    #[test]
    fn swap_is_found() {
        let (_directory, roots) = made();
        let found = occupants(&roots, Object::Device((8, 16)));
        assert_eq!(names(&found), ["swap"]);
        assert!(found[0].in_use);
    }

    /// The kernel knows a swap file and a loop's file by one path; they were compared by that.
    #[test]
    fn swap_and_loop_files_are_found_by_any_of_their_names() {
        let (directory, roots) = made();
        let file = directory.path().join("a file");
        let link = directory.path().join("link");
        fs::write(&file, "swap").unwrap();
        fs::hard_link(&file, &link).unwrap();
        let escaped = file.display().to_string().replace(' ', "\\040");
        fs::write(roots.proc.join("swaps"), format!("Filename\n{escaped} file 100 0 -2\n")).unwrap();
        let looped = roots.sys.join("class/block/loop4095/loop");
        fs::create_dir_all(&looped).unwrap();
        fs::write(looped.join("backing_file"), format!("{}\n", file.display())).unwrap();
        let found = occupants(&roots, Object::at(&link).unwrap());
        assert_eq!(names(&found), ["/dev/loop4095", "swap"]);
        assert!(occupants(&roots, Object::at(directory.path()).unwrap()).is_empty());
    }

    #[test]
    fn a_loop_device_is_found_through_links_bind_mounts_and_after_its_name_has_gone() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("image"), vec![0; 1 << 20]).unwrap();
        fs::write(path("bound"), "").unwrap();
        fs::write(path("other"), "").unwrap();
        fs::hard_link(path("image"), path("link")).unwrap();
        let Some(device) = LoopDevice::over(&path("image")) else { return };
        let found = |name: &str| {
            let found = occupants(&Roots::default(), Object::at(path(name)).unwrap());
            found.into_iter().map(|o| o.name).collect::<Vec<_>>()
        };
        assert_eq!(found("link"), [device.path.as_str()]);
        match Mounted::on(&path("bound"), &["--bind", path("image").to_str().unwrap()]) {
            Some(_bound) => assert_eq!(found("bound"), [device.path.as_str()]),
            None => skipped("bind mounts"),
        }
        fs::remove_file(path("image")).unwrap();
        assert_eq!(found("link"), [device.path.as_str()], "sysfs calls the file deleted now");
        assert!(found("other").is_empty());
    }

    #[test]
    fn a_loop_device_on_a_device_and_what_is_mounted_from_it_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let (image, point) = (directory.path().join("image"), directory.path().join("point"));
        fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
        fs::create_dir(&point).unwrap();
        if crate::testing::tool("mkfs.ext4", &["-q", "-F", image.to_str().unwrap()]).is_none() {
            return;
        }
        let Some(below) = LoopDevice::over(&image) else { return };
        let Some(above) = LoopDevice::over(Path::new(&below.path)) else { return };
        let Some(mounted) = Mounted::on(&point, &[&above.path]) else { return };
        let expected = [above.path.as_str(), mounted.point.to_str().unwrap()];
        assert_eq!(names(&occupants(&Roots::default(), Object::at(&below.path).unwrap())), expected);
        let of_image = occupants(&Roots::default(), Object::at(&image).unwrap());
        assert_eq!(names(&of_image), [&[below.path.as_str()], &expected[..]].concat());
    }

    #[test]
    fn lines_of_losetup_that_lack_a_column_say_nothing() {
        let told = losetup_line("/dev/loop3 9978032      254:0  ").unwrap();
        assert_eq!(told, ("loop3".to_owned(), Object::Inode((254, 0), 9_978_032)));
        for line in ["", "/dev/loop3", "/dev/loop3 254:0", "losetup: unknown column 1 2:3"] {
            assert_eq!(losetup_line(line), None, "{line}");
        }
    }
}
