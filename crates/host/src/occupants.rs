//! What would be destroyed with a device or a file: devices built on it, and what is in use.
//!
//! Everything is identified by its object and not by its path, where the kernel reports enough for that
//! ([`Object`]): the paths in /proc and /sys may be outdated, from another mount namespace, or one of several.
//!
//! Some users of a device do not appear in /proc or /sys: an external journal, a target exported over the network, a
//! mount in a namespace that no process shows. They still claim the device. Every device without a known user is
//! therefore claimed, and held, before anything is written ([`Idle`]).

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use rustix::fs::OFlags;

use crate::Roots;
use crate::extents::{Device, Devices, Extent};
use crate::mounts::{Mount, mounts, mounts_elsewhere, unescape};
use crate::object::Object;
use crate::stack::entries;

/// Something that would be destroyed.
#[derive(Debug)]
pub(crate) struct Occupant {
    /// How the user names it.
    pub name: String,
    /// A remark for the user.
    pub remark: Option<&'static str>,
    /// Its number, if it is a block device.
    pub device: Option<(u32, u32)>,
}

impl Occupant {
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), remark: None, device: None }
    }
}

impl fmt::Display for Occupant {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.remark {
            Some(remark) => write!(f, "{} ({remark})", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A block device over the same bytes without a known user.
#[derive(Debug)]
pub(crate) struct Idle {
    /// As below `/dev`.
    pub name: String,
    pub number: (u32, u32),
    node: Option<PathBuf>,
    is_journal: bool,
}

impl Idle {
    /// Keeps other processes from mounting or claiming the device while the returned file is open.
    ///
    /// # Errors
    /// `EBUSY` if another process or the kernel has claimed it; `NotFound` if it has no device node in `/dev`.
    pub fn claim(&self) -> io::Result<File> {
        let node = self.node.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let file = OpenOptions::new().read(true).custom_flags(OFlags::EXCL.bits() as i32).open(node)?;
        match Object::of(&file.metadata()?) {
            Object::Device(number) if number == self.number => Ok(file),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// The likely reason why it cannot be claimed, and what to do.
    pub fn why(&self, error: &io::Error) -> String {
        match error.kind() {
            io::ErrorKind::ResourceBusy if self.is_journal => {
                "it is the external journal of a mounted filesystem; unmount that filesystem first".to_owned()
            }
            io::ErrorKind::ResourceBusy => "something that Lodestone cannot see has claimed it, such as a mount in \
                 another mount namespace, the external log or journal of a mounted filesystem, a ZFS pool, a disk \
                 exported over the network, another target or another run of Lodestone; stop that use first"
                .to_owned(),
            io::ErrorKind::NotFound => {
                "it has no device node in /dev, so its use cannot be checked; create the node first".to_owned()
            }
            _ => format!("its use cannot be checked: {error}"),
        }
    }
}

/// Everything over the bytes of a file or device.
#[derive(Debug, Default)]
pub(crate) struct Over {
    /// What the user must name: partitions, holders, loop devices, mounts and swap.
    pub occupants: Vec<Occupant>,
    /// The devices to claim, including the target itself.
    pub idle: Vec<Idle>,
}

/// Partitions, holders, loop devices, mounts and swap on a device or file, on everything stacked on it, and on every
/// other device over the same bytes.
pub(crate) fn over(roots: &Roots, object: Object) -> Over {
    let own = mounts(roots);
    let elsewhere = mounts_elsewhere(roots, &own).into_iter().map(|(process, mount)| (Some(process), mount));
    let snapshot = Snapshot {
        devices: Devices::read(roots),
        mounts: own.iter().cloned().map(|mount| (None, mount)).chain(elsewhere).collect(),
        swaps: swaps(roots),
        roots,
    };
    snapshot.over(object)
}

/// Devices, mounts and swap of the machine at one moment.
struct Snapshot<'a> {
    roots: &'a Roots,
    devices: Devices,
    /// Each with a process in whose mount namespace it is, unless that is the namespace of this process.
    mounts: Vec<(Option<u32>, Mount)>,
    swaps: Vec<PathBuf>,
}

impl Snapshot<'_> {
    fn over(&self, object: Object) -> Over {
        let found = self.same_bytes(object);
        let (own, below) = match object {
            Object::Device(number) => {
                (Some(number), self.devices.find(number).map(|d| d.below.clone()).unwrap_or_default())
            }
            Object::Inode(..) => (None, Vec::new()),
        };
        let carries = |d: &&Device| own == Some(d.number) || below.contains(&d.number);
        let mut occupants: Vec<Occupant> = Vec::new();
        let mut add = |occupant: Occupant| {
            if !occupants.iter().any(|known| known.name == occupant.name) {
                occupants.push(occupant);
            }
        };
        for device in found.iter().filter(|d| !carries(d)) {
            add(Occupant { device: Some(device.number), ..Occupant::new(format!("/dev/{}", device.name)) });
        }
        for (process, mount) in &self.mounts {
            if found.iter().any(|device| self.holds(mount, device)) {
                add(mount_point(*process, mount));
            }
        }
        let root = self.devices.extent(object).object;
        let is_object = |path: &&PathBuf| Object::at(path).is_some_and(|at| at == object || at == root);
        if self.swaps.iter().any(|path| is_object(&path) || found.iter().any(|d| d.is_called(path))) {
            add(Occupant { remark: Some("in use"), ..Occupant::new("swap") });
        }
        let own: Vec<(u32, u32)> = own.into_iter().chain(below).collect();
        let idle = self.idle(&found, &own);
        Over { occupants, idle }
    }

    /// Every device over bytes of the object, and every device built on those, at any level.
    fn same_bytes(&self, object: Object) -> Vec<Device> {
        let over = |extent: &Extent| -> Vec<Device> {
            let mut over: Vec<Device> =
                self.devices.iter().filter(|d| d.extent.overlaps(extent)).cloned().collect();
            // From the bottom up, whatever their device numbers.
            over.sort_by_key(|device| device.below.len());
            over
        };
        let mut found: Vec<Device> = Vec::new();
        let mut next: VecDeque<Device> = over(&self.devices.extent(object)).into();
        while let Some(device) = next.pop_front() {
            if found.iter().any(|known| known.number == device.number) {
                continue;
            }
            for holder in self.devices.holders(&device) {
                let above = over(&holder.extent);
                // An array that is not running has no bytes yet.
                next.push_back(holder);
                next.extend(above);
            }
            found.push(device);
        }
        found
    }

    /// The devices without a known user. `own` is the target and the devices below it.
    fn idle(&self, found: &[Device], own: &[(u32, u32)]) -> Vec<Idle> {
        let is_partition_of = |p: &Device, disk: &Device| p.parent == Some(disk.number);
        let is_used = |d: &Device| {
            self.is_used(d) || self.devices.iter().any(|p| is_partition_of(p, d) && self.is_used(p))
        };
        // A claim on a partition excludes claims on the whole disk, and the reverse.
        let own: Vec<&Device> = own.iter().filter_map(|number| self.devices.find(*number)).collect();
        let yields = |d: &Device| own.iter().any(|p| is_partition_of(p, d));
        let free: Vec<&Device> = found.iter().filter(|d| !is_used(d) && !yields(d)).collect();
        let is_claimed_with_disk = |d: &Device| free.iter().any(|disk| is_partition_of(d, disk));
        let idle = |device: &&Device| Idle {
            name: device.name.clone(),
            number: device.number,
            node: device.node(self.roots),
            is_journal: is_journal(self.roots, device),
        };
        free.iter().filter(|d| !is_claimed_with_disk(d)).map(idle).collect()
    }

    /// True if the kernel reports a user of the device.
    fn is_used(&self, device: &Device) -> bool {
        !entries(&device.directory.join("holders")).is_empty()
            || self.mounts.iter().any(|(_, mount)| self.holds(mount, device))
            || self.swaps.iter().any(|path| device.is_called(path))
    }

    fn holds(&self, mount: &Mount, device: &Device) -> bool {
        // External log and real-time device of xfs.
        let external = mount
            .options
            .iter()
            .filter_map(|o| o.strip_prefix("logdev=").or_else(|| o.strip_prefix("rtdev=")));
        mount.device == device.number
            || [mount.source.as_str()]
                .into_iter()
                .chain(external)
                .any(|p| p.starts_with('/') && device.is_called(p))
            || btrfs_holds(self.roots, &mount.source, device)
    }
}

fn mount_point(process: Option<u32>, mount: &Mount) -> Occupant {
    let point = mount.point.display();
    match process {
        None => Occupant::new(point.to_string()),
        Some(process) => Occupant {
            remark: Some("mounted in another mount namespace"),
            ..Occupant::new(format!("/proc/{process}/root{point}"))
        },
    }
}

/// True if the device is a member of the mounted btrfs with this source.
fn btrfs_holds(roots: &Roots, source: &str, device: &Device) -> bool {
    let source = fs::canonicalize(source).unwrap_or_else(|_| PathBuf::from(source));
    let Ok(source) = source.strip_prefix("/dev/") else { return false };
    let entry = |name: &str| name.replace('/', "!");
    entries(&roots.sys.join("fs/btrfs")).iter().any(|set| {
        let members = set.join("devices");
        members.join(entry(&source.to_string_lossy())).exists() && members.join(entry(&device.name)).exists()
    })
}

/// True if the device is the external journal of a mounted filesystem. An internal journal is listed with its inode
/// after the name of the device (jbd2_stats_proc_init in the kernel's fs/jbd2/journal.c).
fn is_journal(roots: &Roots, device: &Device) -> bool {
    roots.proc.join("fs/jbd2").join(device.name.replace('/', "!")).exists()
}

/// The files and devices that the kernel swaps to, as it calls them.
fn swaps(roots: &Roots) -> Vec<PathBuf> {
    let text = fs::read(roots.proc.join("swaps")).unwrap_or_default();
    let path = |line: &[u8]| {
        let field = line.split(u8::is_ascii_whitespace).next().filter(|f| !f.is_empty())?;
        Some(PathBuf::from(OsString::from_vec(unescape(field))))
    };
    text.split(|b| *b == b'\n').skip(1).filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    use crate::testing::{LoopDevice, Mounted, skipped};

    /// A disk with one partition that holds LUKS, which is mounted.
    fn disk_fixture() -> (tempfile::TempDir, Roots) {
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

    fn names(found: &Over) -> Vec<&str> {
        found.occupants.iter().map(|o| o.name.as_str()).collect()
    }

    #[test]
    fn partitions_holders_and_mounts_above_a_disk_are_all_found() {
        let (_directory, roots) = disk_fixture();
        let found = over(&roots, Object::Device((8, 0)));
        assert_eq!(names(&found), ["/dev/sda1", "/dev/dm-0", "/secret"]);
        assert_eq!(found.occupants[0].device, Some((8, 1)));
    }

    #[test]
    fn swap_is_found() {
        let (_directory, roots) = disk_fixture();
        let found = over(&roots, Object::Device((8, 16)));
        assert_eq!(names(&found), ["swap"]);
        assert!(found.occupants[0].remark.is_some());
    }

    /// The kernel reports one path for a swap file and for a loop device's file; these paths were compared as text.
    #[test]
    fn swap_and_loop_files_are_found_by_any_of_their_names() {
        let (directory, roots) = disk_fixture();
        let file = directory.path().join("a file");
        let link = directory.path().join("link");
        fs::write(&file, "swap").unwrap();
        fs::hard_link(&file, &link).unwrap();
        let escaped = file.display().to_string().replace(' ', "\\040");
        fs::write(roots.proc.join("swaps"), format!("Filename\n{escaped} file 100 0 -2\n")).unwrap();
        let looped = roots.sys.join("dev/block/7:4095");
        fs::create_dir_all(looped.join("loop")).unwrap();
        fs::write(looped.join("dev"), "7:4095").unwrap();
        fs::write(looped.join("loop/backing_file"), format!("{}\n", file.display())).unwrap();
        let found = over(&roots, Object::at(&link).unwrap());
        assert_eq!(names(&found), ["/dev/7:4095", "swap"]);
        assert!(over(&roots, Object::at(directory.path()).unwrap()).occupants.is_empty());
    }

    #[test]
    fn a_loop_device_is_found_by_any_path_and_after_unlinking() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("image"), vec![0; 1 << 20]).unwrap();
        fs::write(path("bound"), "").unwrap();
        fs::write(path("other"), "").unwrap();
        fs::hard_link(path("image"), path("link")).unwrap();
        let Some(device) = LoopDevice::over(&path("image")) else { return };
        let found = |name: &str| {
            let found = over(&Roots::default(), Object::at(path(name)).unwrap());
            found.occupants.into_iter().map(|o| o.name).collect::<Vec<_>>()
        };
        assert_eq!(found("link"), [device.path.as_str()]);
        match Mounted::on(&path("bound"), &["--bind", path("image").to_str().unwrap()]) {
            Some(_bound) => assert_eq!(found("bound"), [device.path.as_str()]),
            None => skipped("bind mounts"),
        }
        fs::remove_file(path("image")).unwrap();
        assert_eq!(found("link"), [device.path.as_str()], "sysfs now reports the file as deleted");
        assert!(found("other").is_empty());
    }

    #[test]
    fn a_loop_device_on_a_device_and_its_mount_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let (image, point) = (directory.path().join("image"), directory.path().join("point"));
        File::create(&image).unwrap().set_len(16 << 20).unwrap();
        fs::create_dir(&point).unwrap();
        if crate::testing::tool("mkfs.ext4", &["-q", "-F", image.to_str().unwrap()]).is_none() {
            return;
        }
        let Some(below) = LoopDevice::over(&image) else { return };
        let Some(above) = LoopDevice::over(Path::new(&below.path)) else { return };
        let Some(mounted) = Mounted::on(&point, &[&above.path]) else { return };
        let expected = [above.path.as_str(), mounted.point.to_str().unwrap()];
        assert_eq!(names(&over(&Roots::default(), Object::at(&below.path).unwrap())), expected);
        let of_image = over(&Roots::default(), Object::at(&image).unwrap());
        assert_eq!(names(&of_image), [&[below.path.as_str()], &expected[..]].concat());
    }
}
