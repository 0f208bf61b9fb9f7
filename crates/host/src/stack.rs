//! What a path's bytes pass through on their way to the metal, from sysfs alone.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::{Layer, LayerKind};

use crate::mounts::{Mount, device_number, mount_of, mounts};
use crate::{Roots, read_line};

/// Deeper than any real stack; a loop device on a file on itself must not recurse for ever.
const DEEPEST: u32 = 16;

/// The stack under a directory or file, which must be absolute and free of links.
pub(crate) fn stack_of_path(roots: &Roots, path: &Path) -> Vec<Layer> {
    let mut layers = Vec::new();
    Walk { roots, mounts: mounts(roots) }.path(path, 0, &mut layers);
    layers
}

/// The stack of a block device, itself included.
pub(crate) fn stack_of_device(roots: &Roots, device: (u32, u32)) -> Vec<Layer> {
    let mut layers = Vec::new();
    Walk { roots, mounts: mounts(roots) }.device(device, 0, &mut layers);
    layers
}

struct Walk<'a> {
    roots: &'a Roots,
    mounts: Vec<Mount>,
}

impl Walk<'_> {
    fn path(&self, path: &Path, level: u32, layers: &mut Vec<Layer>) {
        let Some(mount) = mount_of(&self.mounts, path) else { return };
        if level > DEEPEST {
            return;
        }
        let network =
            matches!(mount.kind.as_str(), "nfs" | "nfs4" | "cifs" | "smb3" | "9p" | "ceph" | "virtiofs")
                || mount.kind.starts_with("fuse.ssh");
        let mut facts = BTreeMap::from([
            ("mount point".to_owned(), mount.point.display().to_string()),
            ("options".to_owned(), mount.options.join(",")),
        ]);
        if !mount.source.is_empty() && mount.source != "none" {
            facts.insert("source".to_owned(), mount.source.clone());
        }
        layers.push(Layer {
            kind: if network { LayerKind::Network } else { LayerKind::Filesystem },
            name: mount.kind.clone(),
            level,
            device: None,
            facts,
        });
        if mount.kind == "overlay" {
            let upper = mount.options.iter().find_map(|o| o.strip_prefix("upperdir="));
            if let Some(upper) = upper.and_then(|u| fs::canonicalize(u).ok()) {
                self.path(&upper, level + 1, layers);
            }
            return;
        }
        for device in self.devices_of(mount) {
            self.device(device, level + 1, layers);
        }
    }

    /// The block devices that a filesystem lies on.
    fn devices_of(&self, mount: &Mount) -> Vec<(u32, u32)> {
        if mount.device.0 != 0 {
            return vec![mount.device];
        }
        if mount.kind == "btrfs" {
            let members = self.btrfs_members(mount);
            if !members.is_empty() {
                return members;
            }
        }
        self.device_named(&mount.source).into_iter().collect()
    }

    /// All devices of the btrfs that has the mount's source among them. Its files carry a device number
    /// that belongs to no block device.
    fn btrfs_members(&self, mount: &Mount) -> Vec<(u32, u32)> {
        let source = fs::canonicalize(&mount.source).unwrap_or_else(|_| PathBuf::from(&mount.source));
        let Some(name) = source.file_name() else { return Vec::new() };
        for set in entries(&self.roots.sys.join("fs/btrfs")) {
            let devices = set.join("devices");
            if devices.join(name).exists() {
                return entries(&devices)
                    .iter()
                    .filter_map(|d| device_number(&read_line(d.join("dev"))?))
                    .collect();
            }
        }
        Vec::new()
    }

    fn device_named(&self, path: &str) -> Option<(u32, u32)> {
        let name = fs::canonicalize(path).ok()?;
        let name = name.strip_prefix("/dev").ok()?.to_str()?.replace('/', "!");
        device_number(&read_line(self.roots.sys.join("class/block").join(name).join("dev"))?)
    }

    fn device(&self, device: (u32, u32), level: u32, layers: &mut Vec<Layer>) {
        if level > DEEPEST {
            return;
        }
        let link = self.roots.sys.join(format!("dev/block/{}:{}", device.0, device.1));
        let Ok(directory) = fs::canonicalize(&link) else { return };
        let Some(name) = directory.file_name().map(|n| n.to_string_lossy().replace('!', "/")) else { return };
        let partition = directory.join("partition").exists();
        let kind = kind_of(&directory, partition);
        let facts = if partition { partition_facts(&directory) } else { facts_of(&directory, kind) };
        layers.push(Layer { kind, name, level, device: Some(device), facts });
        if partition {
            let whole = directory.parent().and_then(|p| device_number(&read_line(p.join("dev"))?));
            whole.into_iter().for_each(|d| self.device(d, level + 1, layers));
            return;
        }
        if let Some(file) = read_line(directory.join("loop/backing_file")) {
            self.path(Path::new(file.trim_end_matches(" (deleted)")), level + 1, layers);
        }
        for slave in entries(&directory.join("slaves")) {
            if let Some(number) = read_line(slave.join("dev")).and_then(|d| device_number(&d)) {
                self.device(number, level + 1, layers);
            }
        }
    }
}

/// The entries of a directory as paths, sorted; empty if it cannot be read.
pub(crate) fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(read) = fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = read.flatten().map(|e| e.path()).collect();
    paths.sort();
    paths
}

fn kind_of(directory: &Path, partition: bool) -> LayerKind {
    if partition {
        return LayerKind::Partition;
    }
    if directory.join("loop").exists() {
        return LayerKind::Loop;
    }
    if directory.join("md").exists() {
        return LayerKind::Raid;
    }
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with("nbd") || name.starts_with("rbd") || name.starts_with("drbd") {
        return LayerKind::Network;
    }
    match read_line(directory.join("dm/uuid")) {
        Some(uuid) if uuid.starts_with("CRYPT-") => LayerKind::Crypt,
        Some(uuid) if uuid.starts_with("DMRAID-") => LayerKind::Raid,
        _ if directory.join("dm").exists() => LayerKind::Lvm,
        _ => LayerKind::Disk,
    }
}

fn partition_facts(directory: &Path) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    put(&mut facts, "partition", read_line(directory.join("partition")));
    put(&mut facts, "size", bytes(directory));
    let start = read_line(directory.join("start")).and_then(|s| s.parse::<u64>().ok());
    put(&mut facts, "start byte", start.map(|s| (s * 512).to_string()));
    facts
}

/// What sysfs says of a whole device.
fn facts_of(directory: &Path, kind: LayerKind) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let read = |name: &str| read_line(directory.join(name));
    put(&mut facts, "size", bytes(directory));
    put(&mut facts, "logical block", read("queue/logical_block_size"));
    put(&mut facts, "physical block", read("queue/physical_block_size"));
    put(&mut facts, "write cache", read("queue/write_cache"));
    let scheduler = read("queue/scheduler");
    let active =
        scheduler.as_deref().and_then(|s| s.split_once('[')?.1.split_once(']').map(|(a, _)| a.to_owned()));
    put(&mut facts, "scheduler", active.or(scheduler));
    match kind {
        LayerKind::Disk => {
            for (fact, file) in [
                ("vendor", "device/vendor"),
                ("model", "device/model"),
                ("name", "device/name"),
                ("type", "device/type"),
            ] {
                // SCSI's type is a number that says nothing to people, virtio's vendor likewise.
                put(
                    &mut facts,
                    fact,
                    read(file).filter(|v| !v.starts_with("0x") && v.parse::<u32>().is_err()),
                );
            }
            put(&mut facts, "rotational (hint)", read("queue/rotational"));
            put(&mut facts, "link", transport(directory));
        }
        LayerKind::Loop => {
            put(&mut facts, "backing file", read("loop/backing_file"));
            put(&mut facts, "direct I/O to the file", read("loop/dio"));
        }
        LayerKind::Raid => {
            put(&mut facts, "level", read("md/level"));
            put(&mut facts, "chunk", read("md/chunk_size"));
        }
        LayerKind::Crypt | LayerKind::Lvm => put(&mut facts, "mapping", read("dm/name")),
        _ => {}
    }
    facts
}

fn put(facts: &mut BTreeMap<String, String>, name: &str, value: Option<String>) {
    if let Some(value) = value {
        facts.insert(name.to_owned(), value);
    }
}

fn bytes(directory: &Path) -> Option<String> {
    let sectors: u64 = read_line(directory.join("size"))?.parse().ok()?;
    Some((sectors * 512).to_string())
}

/// How a disk is attached, as far as its place in the device tree tells.
fn transport(directory: &Path) -> Option<String> {
    let path = directory.to_string_lossy();
    let has = |part: &str| path.split('/').any(|p| p.starts_with(part));
    let name = [
        ("nvme", has("nvme")),
        ("mmc", has("mmc")),
        ("usb", has("usb")),
        ("iscsi", has("session")),
        ("ata", has("ata")),
        ("virtio", has("virtio")),
        ("zram", has("zram")),
        ("scsi", has("host") || has("target")),
    ];
    name.iter().find(|(_, found)| *found).map(|(name, _)| (*name).to_owned())
}

/// Number of the device behind a special file.
pub(crate) fn device_of_node(path: &Path) -> Option<(u32, u32)> {
    let rdev = fs::metadata(path).ok()?.rdev();
    Some((rustix::fs::major(rdev), rustix::fs::minor(rdev)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A machine that is not at hand, as files.
    struct Made {
        directory: tempfile::TempDir,
    }

    impl Made {
        fn new(mountinfo: &str) -> Self {
            let made = Self { directory: tempfile::tempdir().unwrap() };
            made.file("proc/self/mountinfo", mountinfo);
            made
        }

        fn file(&self, path: &str, content: &str) {
            let path = self.directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }

        /// A block device at `place` below `sys/devices`.
        fn device(&self, place: &str, number: &str, files: &[(&str, &str)]) {
            let base = format!("sys/devices/{place}");
            self.file(&format!("{base}/dev"), number);
            files.iter().for_each(|(name, content)| self.file(&format!("{base}/{name}"), content));
            let link = self.directory.path().join("sys/dev/block").join(number);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(self.directory.path().join(base), link).unwrap();
        }

        fn slave(&self, of: &str, place: &str) {
            let link = self.directory.path().join("sys/devices").join(of).join("slaves");
            fs::create_dir_all(&link).unwrap();
            let target = self.directory.path().join("sys/devices").join(place);
            symlink(&target, link.join(target.file_name().unwrap())).unwrap();
        }

        fn roots(&self) -> Roots {
            Roots { proc: self.directory.path().join("proc"), sys: self.directory.path().join("sys") }
        }
    }

    fn line(layers: &[Layer]) -> String {
        let show = |l: &Layer| format!("{}{} {:?}", "  ".repeat(l.level as usize), l.name, l.kind);
        layers.iter().map(show).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn ext4_on_lvm_on_luks_on_raid_on_partitions_is_seen_down_to_the_disks() {
        let made = Made::new("30 1 253:1 / /data rw,noatime - ext4 /dev/mapper/vg-data rw,data=ordered\n");
        made.device(
            "virtual/block/dm-1",
            "253:1",
            &[("dm/uuid", "LVM-abc"), ("dm/name", "vg-data"), ("size", "100")],
        );
        made.device("virtual/block/dm-0", "253:0", &[("dm/uuid", "CRYPT-LUKS2-def"), ("dm/name", "secret")]);
        made.device("virtual/block/md0", "9:0", &[("md/level", "raid1"), ("md/chunk_size", "0")]);
        for (disk, number) in [("sda", 0), ("sdb", 16)] {
            let place = format!("pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/{disk}");
            let files = [
                ("device/model", "WDC WD10\n"),
                ("queue/scheduler", "none [mq-deadline] kyber\n"),
                ("queue/rotational", "1\n"),
            ];
            made.device(&place, &format!("8:{number}"), &files);
            let part = format!("{place}/{disk}1");
            made.device(
                &part,
                &format!("8:{}", number + 1),
                &[("partition", "1"), ("start", "2048"), ("size", "4096")],
            );
            made.slave("virtual/block/md0", &part);
        }
        made.slave("virtual/block/dm-1", "virtual/block/dm-0");
        made.slave("virtual/block/dm-0", "virtual/block/md0");

        let layers = stack_of_path(&made.roots(), Path::new("/data/files"));
        let expected = "ext4 Filesystem\n  dm-1 Lvm\n    dm-0 Crypt\n      md0 Raid\n        sda1 Partition\n          sda Disk\n        sdb1 Partition\n          sdb Disk";
        assert_eq!(line(&layers), expected);
        let disk = layers.iter().find(|l| l.name == "sda").unwrap();
        assert_eq!(disk.facts["model"], "WDC WD10");
        assert_eq!(disk.facts["scheduler"], "mq-deadline");
        assert_eq!(disk.facts["link"], "ata");
        assert_eq!(layers[4].facts["start byte"], "1048576");
        assert_eq!(layers[0].facts["options"], "rw,noatime,data=ordered");
    }

    #[test]
    fn a_btrfs_names_all_its_members() {
        let made = Made::new("30 1 0:55 / /pool rw - btrfs /dev/sdb rw,space_cache=v2\n");
        for (disk, number) in [("sdb", "8:16"), ("sdc", "8:32")] {
            let place = format!("pci0000:00/usb1/1-1/host2/block/{disk}");
            made.device(&place, number, &[]);
            made.file(&format!("sys/fs/btrfs/1234/devices/{disk}/dev"), number);
        }
        let layers = stack_of_path(&made.roots(), Path::new("/pool"));
        assert_eq!(line(&layers), "btrfs Filesystem\n  sdb Disk\n  sdc Disk");
        assert_eq!(layers[1].facts["link"], "usb");
    }

    #[test]
    fn a_loop_device_leads_on_to_the_file_behind_it() {
        let made =
            Made::new("20 1 254:0 / / rw - ext4 /dev/vda rw\n30 1 7:0 / /mnt/loop rw - xfs /dev/loop0 rw\n");
        made.device("pci0000:00/virtio0/block/vda", "254:0", &[("device/vendor", "0x1af4\n")]);
        made.device(
            "virtual/block/loop0",
            "7:0",
            &[("loop/backing_file", "/images/disk.img\n"), ("loop/dio", "0\n")],
        );
        let layers = stack_of_path(&made.roots(), Path::new("/mnt/loop/x"));
        assert_eq!(line(&layers), "xfs Filesystem\n  loop0 Loop\n    ext4 Filesystem\n      vda Disk");
        assert!(!layers[3].facts.contains_key("vendor"), "a PCI number is no vendor name");
    }

    #[test]
    fn a_loop_on_itself_ends() {
        let made = Made::new("30 1 7:0 / / rw - ext4 /dev/loop0 rw\n");
        made.device("virtual/block/loop0", "7:0", &[("loop/backing_file", "/disk.img")]);
        assert!(stack_of_path(&made.roots(), Path::new("/")).len() < 50);
    }

    #[test]
    fn network_and_memory_filesystems_have_no_device() {
        let made = Made::new(
            "30 1 0:40 / /net rw - nfs4 server:/export rw,vers=4.2\n31 1 0:41 / /run rw - tmpfs tmpfs rw\n",
        );
        let layers = stack_of_path(&made.roots(), Path::new("/net"));
        assert_eq!((layers.len(), layers[0].kind), (1, LayerKind::Network));
        assert_eq!(layers[0].facts["source"], "server:/export");
        assert_eq!(line(&stack_of_path(&made.roots(), Path::new("/run"))), "tmpfs Filesystem");
    }
}
