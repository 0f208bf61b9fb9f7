//! All storage of a machine: every mounted filesystem and every disk, with the layers below.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use model::{Candidate, Inventory, Layer, LayerKind, TargetKind, fact};

use crate::hanging::within;
use crate::mounts::{Mount, device_number, mounts};
use crate::smart::{Unknown, add_once};
use crate::stack::{entries, stack_of_device, stack_of_mount, sysfs_directory};
use crate::target::{Found, TargetError};
use crate::{Roots, identify, read_line};

/// A server that does not respond would block a query for its free space for ever.
const TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 2 });

/// Filesystems that hold no user data.
const PSEUDO: [&str; 30] = [
    "autofs",
    "bdev",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "fuse.gvfsd-fuse",
    "fuse.lxcfs",
    "fuse.portal",
    "fusectl",
    "hugetlbfs",
    "mqueue",
    "nfsd",
    "nsfs",
    "pipefs",
    "proc",
    "pstore",
    "ramfs",
    "rootfs",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "sockfs",
    "sysfs",
    "tracefs",
];
/// Read-only images, such as those of snaps.
const IMAGES: [&str; 4] = ["squashfs", "erofs", "iso9660", "cramfs"];
/// Directories in which programs mount filesystems for their own use.
const INTERNAL: [&str; 9] = [
    "/run",
    "/sys",
    "/proc",
    "/snap",
    "/var/snap",
    "/var/lib/docker",
    "/var/lib/containers",
    "/var/lib/containerd",
    "/var/lib/kubelet",
];

/// Everything that could be measured here; with `all`, also what is rarely of interest.
pub fn inventory(roots: &Roots, all: bool) -> Inventory {
    let (mut candidates, mut left_out) = mounted(roots, all);
    let used: BTreeSet<(u32, u32)> =
        candidates.iter().flat_map(|c| &c.stack).filter_map(|l| l.device).collect();
    let (devices, more) = unmounted(roots, all, &used);
    left_out += more;
    candidates.extend(devices);
    finish(roots, candidates, left_out)
}

/// Only these paths: directories, files or block devices.
///
/// # Errors
/// [`TargetError::NotFound`] or [`TargetError::WrongKind`] for the first path that is none of these.
pub fn inventory_of(roots: &Roots, paths: &[PathBuf]) -> Result<Inventory, TargetError> {
    let candidates = paths.iter().map(|path| named(roots, path)).collect::<Result<Vec<_>, _>>()?;
    Ok(finish(roots, candidates, 0))
}

/// Queries the health of each disk once, however many stacks it is in, and lists what could not be determined.
fn finish(roots: &Roots, mut candidates: Vec<Candidate>, left_out: usize) -> Inventory {
    let unknown = add_once(roots, candidates.iter_mut().flat_map(|candidate| &mut candidate.stack));
    let mut unseen = unseen(&candidates, &unknown);
    if entries(&roots.sys.join("class/block")).is_empty() {
        unseen.push("No block devices are visible: /sys is missing, as in some containers.".to_owned());
    }
    Inventory { host: identify(roots), candidates, left_out, unseen }
}

fn named(roots: &Roots, path: &Path) -> Result<Candidate, TargetError> {
    let Found { path, metadata, kind, stack } = Found::at(roots, path)?;
    let (size_bytes, free_bytes) = match kind {
        TargetKind::Directory => space(&path).map_or((None, None), |s| (Some(s.size), Some(s.free))),
        TargetKind::File => (Some(metadata.len()), None),
        TargetKind::BlockDevice => (stack.first().and_then(size_fact), None),
    };
    Ok(Candidate { path, also: Vec::new(), kind, size_bytes, free_bytes, remark: None, stack })
}

fn size_fact(layer: &Layer) -> Option<u64> {
    layer.facts.get(fact::SIZE)?.parse().ok()
}

/// The mounted filesystems, each once, by their mount points; and the number omitted.
fn mounted(roots: &Roots, all: bool) -> (Vec<Candidate>, usize) {
    let table = mounts(roots);
    let mut filesystems: BTreeMap<((u32, u32), &str), Vec<&Mount>> = BTreeMap::new();
    for (i, mount) in table.iter().enumerate() {
        // A mount that a later one hides is no longer reachable.
        let hidden = table[i + 1..].iter().any(|later| mount.point == later.point);
        if !PSEUDO.contains(&mount.kind.as_str()) && !hidden {
            filesystems.entry((mount.device, &mount.kind)).or_default().push(mount);
        }
    }
    let (mut found, mut left_out) = (Vec::new(), 0);
    for points in filesystems.into_values() {
        let worth: Vec<&Mount> = points.iter().copied().filter(|mount| all || is_worth(mount)).collect();
        if worth.is_empty() {
            left_out += 1;
            continue;
        }
        match filesystem(roots, worth) {
            Some(candidate) => found.push(candidate),
            None => left_out += 1,
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    (found, left_out)
}

fn is_worth(mount: &Mount) -> bool {
    let internal = INTERNAL.iter().any(|place| mount.point.starts_with(place));
    let read_only = mount.options.iter().any(|option| option == "ro");
    let in_memory = mount.kind == "tmpfs";
    let image = IMAGES.contains(&mount.kind.as_str());
    !(image || internal || in_memory && read_only)
}

/// A filesystem by its best mount point: one of the whole filesystem before one of a part, then the shortest.
/// `None` if it is mounted only on single files, as containers do.
fn filesystem(roots: &Roots, mut points: Vec<&Mount>) -> Option<Candidate> {
    points.sort_by_key(|mount| {
        let whole = mount.root == Path::new("/");
        (!whole, mount.point.components().count(), mount.point.clone())
    });
    let space_or_reason = space(&points[0].point);
    let best = match &space_or_reason {
        Ok(space) if !space.is_directory => *points.iter().find(|m| m.point.is_dir())?,
        _ => points[0],
    };
    let mut also: Vec<PathBuf> =
        points.iter().map(|m| m.point.clone()).filter(|p| *p != best.point).collect();
    also.dedup();
    let read_only = best.options.iter().any(|option| option == "ro");
    let remark = match &space_or_reason {
        Err(why) => Some(*why),
        Ok(_) if read_only => Some("mounted read-only"),
        Ok(_) => None,
    };
    Some(Candidate {
        path: best.point.clone(),
        also,
        kind: TargetKind::Directory,
        size_bytes: space_or_reason.as_ref().map(|space| space.size).ok(),
        free_bytes: space_or_reason.as_ref().map(|space| space.free).ok(),
        remark: remark.map(str::to_owned),
        stack: stack_of_mount(roots, best),
    })
}

#[derive(Debug)]
struct Space {
    size: u64,
    free: u64,
    is_directory: bool,
}

/// Space of a filesystem, or a short reason why it is unknown. A thread that waits for a dead server is
/// abandoned.
fn space(point: &Path) -> Result<Space, &'static str> {
    let point = point.to_owned();
    let ask = move || {
        rustix::fs::statvfs(&point).map(|space| Space {
            size: space.f_blocks * space.f_frsize,
            free: space.f_bavail * space.f_frsize,
            is_directory: point.is_dir(),
        })
    };
    match within(TIMEOUT, &AtomicBool::new(false), ask) {
        Some(Ok(space)) => Ok(space),
        Some(Err(_)) => Err("not accessible"),
        None => Err("does not respond"),
    }
}

/// Devices that hold no mounted filesystem and are not part of another device; and the number omitted.
fn unmounted(roots: &Roots, all: bool, used: &BTreeSet<(u32, u32)>) -> (Vec<Candidate>, usize) {
    let swaps = String::from_utf8_lossy(&fs::read(roots.proc.join("swaps")).unwrap_or_default()).into_owned();
    let (mut found, mut left_out) = (Vec::new(), 0);
    for place in entries(&roots.sys.join("class/block")) {
        let Some(number) = read_line(place.join("dev")).and_then(|text| device_number(&text)) else {
            continue;
        };
        let Some(directory) = sysfs_directory(roots, number) else { continue };
        // The individual paths of NVMe disks are hidden; they have no node.
        let hidden = read_line(directory.join("hidden")).is_some_and(|is| is == "1");
        if used.contains(&number)
            || hidden
            || directory.join("partition").exists()
            || carries_a_device(&directory)
        {
            continue;
        }
        let mut stack = stack_of_device(roots, number);
        let Some(top) = stack.first_mut() else { continue };
        if !all && is_uninteresting(top) {
            left_out += 1;
            continue;
        }
        let parts = partitions(&directory);
        if !parts.is_empty() {
            top.facts.insert(fact::PARTITIONS.to_owned(), parts.join(", "));
        }
        let in_use = |name: &str| {
            swaps.lines().any(|line| line.split_whitespace().next() == Some(&format!("/dev/{name}")))
        };
        let swap = in_use(&top.name) || parts.iter().any(|part| in_use(part));
        let names = || parts.iter().map(String::as_str).chain([top.name.as_str()]);
        let remark = match names().any(|name| is_mounted_elsewhere(roots, name)) {
            true => "mounted, but not visible from this mount namespace",
            false => remark(&roots.dev.join(&top.name), swap),
        };
        found.push(Candidate {
            path: Path::new("/dev").join(&top.name),
            also: Vec::new(),
            kind: TargetKind::BlockDevice,
            size_bytes: size_fact(top),
            free_bytes: None,
            remark: Some(remark.to_owned()),
            stack,
        });
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    (found, left_out)
}

/// True if a filesystem on this device is mounted for other processes: in a container's host, or in another
/// container. Some filesystems list all their mounted instances in sysfs.
fn is_mounted_elsewhere(roots: &Roots, name: &str) -> bool {
    let known = roots.sys.join("fs");
    let alone = ["ext4", "xfs", "f2fs"].iter().any(|kind| known.join(kind).join(name).exists());
    alone || entries(&known.join("btrfs")).iter().any(|set| set.join("devices").join(name).exists())
}

/// What prevents measuring a device without a mounted filesystem.
fn remark(node: &Path, swap: bool) -> &'static str {
    match rustix::fs::access(node, rustix::fs::Access::READ_OK) {
        _ if swap => "used for swap",
        Ok(()) => "not mounted",
        Err(rustix::io::Errno::ACCESS) => "not mounted; only root can read it",
        // A container sees all devices in sysfs but has nodes for few of them.
        Err(_) => "cannot be opened here",
    }
}

fn partitions(directory: &Path) -> Vec<String> {
    let within = entries(directory).into_iter().filter(|place| place.join("partition").exists());
    within.filter_map(|place| Some(place.file_name()?.to_str()?.to_owned())).collect()
}

/// True if another device is built on it or on one of its partitions: that device is then listed, with this one
/// below it.
fn carries_a_device(directory: &Path) -> bool {
    let held = |place: &Path| !entries(&place.join("holders")).is_empty();
    held(directory) || partitions(directory).iter().any(|part| held(&directory.join(part)))
}

/// Devices without a size, drives without a medium, unused RAM disks, and the small boot partitions of eMMC.
fn is_uninteresting(layer: &Layer) -> bool {
    let name = layer.name.as_str();
    let starts = |of: &[&str]| of.iter().any(|start| name.starts_with(start));
    let boot =
        name.starts_with("mmcblk") && (name.contains("boot") || name.contains("rpmb") || name.contains("gp"));
    size_fact(layer).unwrap_or(0) == 0 || starts(&["ram", "sr", "fd", "mtdblock"]) || boot
}

/// What could not be determined, and what would be needed.
fn unseen(candidates: &[Candidate], unknown: &[(String, Unknown)]) -> Vec<String> {
    let mut sentences = Vec::new();
    let layers = || candidates.iter().flat_map(|candidate| &candidate.stack);
    let names = |is: &dyn Fn(&Layer) -> bool| -> Vec<String> {
        let found: BTreeSet<String> = layers().filter(|l| is(l)).map(|l| l.name.clone()).collect();
        found.into_iter().collect()
    };
    let root = rustix::process::geteuid().is_root();
    let mut ask_for = |what: &str, of: Vec<String>, tools: &str| {
        if of.is_empty() {
            return;
        }
        let of = of.join(", ");
        sentences.push(match root {
            false => format!("As root with {tools}, Lodestone could also report {what} of {of}."),
            true => format!("With {tools}, Lodestone could also report {what} of {of}."),
        });
    };
    let lacks = |layer: &Layer, name: &str| !layer.facts.contains_key(name);
    ask_for(
        "the cipher and sector size",
        names(&|l| l.kind == LayerKind::Crypt && lacks(l, fact::CIPHER)),
        "dmsetup or cryptsetup",
    );
    let mapped = |l: &Layer| l.kind == LayerKind::Lvm && lacks(l, fact::TABLE);
    ask_for("the mapping", names(&mapped), "dmsetup");
    let card =
        |l: &Layer| l.facts.get(fact::LINK).is_some_and(|link| link == "mmc") && lacks(l, fact::BUS_MODE);
    ask_for("the bus mode and clock", names(&card), "debugfs mounted at /sys/kernel/debug");
    let pool = |l: &Layer| l.name == "zfs" && lacks(l, fact::POOL_LAYOUT);
    let pools: BTreeSet<String> =
        layers().filter(|l| pool(l)).filter_map(|l| l.facts.get(fact::POOL).cloned()).collect();
    if !pools.is_empty() {
        let pools: Vec<String> = pools.into_iter().collect();
        sentences.push(format!(
            "With zpool installed, Lodestone could also report the members of {}.",
            pools.join(", ")
        ));
    }
    for (why, say) in [
        (
            Unknown::NotInstalled,
            "As root with smartctl (smartmontools), Lodestone could also report health and temperature of",
        ),
        (
            Unknown::NotPermitted,
            "As root, Lodestone could also report, from smartctl, health and temperature of",
        ),
        (Unknown::Bridge, "smartctl does not support the USB bridge of"),
        (Unknown::Silent, "smartctl reported no health status of"),
    ] {
        let disks: BTreeSet<&str> =
            unknown.iter().filter(|(_, w)| *w == why).map(|(disk, _)| disk.as_str()).collect();
        if !disks.is_empty() {
            sentences.push(format!("{say} {}.", disks.into_iter().collect::<Vec<_>>().join(", ")));
        }
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Tree;

    /// Paths with their remarks.
    fn shown(tree: &Tree, all: bool) -> Vec<String> {
        let found = inventory(&tree.roots(), all);
        let base = tree.path("").display().to_string();
        let words = |c: &Candidate| {
            let path = c.path.display().to_string();
            let path = path.strip_prefix(&base).map_or(path.clone(), |rest| format!("~/{rest}"));
            [vec![path], c.remark.iter().cloned().collect()].concat().join(": ")
        };
        found.candidates.iter().map(words).collect()
    }

    fn tree() -> Tree {
        let tree = Tree::new();
        let at = |place: &str| {
            fs::create_dir_all(tree.path(place)).unwrap();
            tree.path(place).display().to_string()
        };
        let file = tree.path("file").display().to_string();
        fs::write(&file, "").unwrap();
        let lines = [
            format!("1 0 8:1 / {} rw,relatime - ext4 /dev/sda1 rw", at("a")),
            format!("2 0 8:1 /deep/within {} rw,relatime - ext4 /dev/sda1 rw", at("b")),
            format!("3 0 8:2 /file {file} rw - ext4 /dev/sda2 rw"),
            format!("4 0 0:5 / {} rw - proc proc rw", at("proc")),
            format!("5 0 0:6 / {} ro - tmpfs tmpfs ro", at("ro")),
            format!("6 0 0:7 / {} rw - tmpfs tmpfs rw", at("tmp")),
            "7 0 0:8 / /run/somebody rw - tmpfs tmpfs rw".to_owned(),
            format!("8 0 7:0 / {} ro - squashfs /dev/loop0 ro", at("image")),
            "9 0 0:9 / /no/such/place rw - nfs4 nas:/x rw".to_owned(),
            format!("10 0 0:10 / {} rw - xfs /dev/other rw", at("under")),
            format!("11 0 0:11 / {} rw - tmpfs over rw", at("under")),
        ];
        tree.file("proc/self/mountinfo", &(lines.join("\n") + "\n"));
        tree
    }

    #[test]
    fn filesystems_are_listed_once_at_their_best_mount_point() {
        let tree = tree();
        let expected = ["/no/such/place: not accessible", "~/a", "~/tmp", "~/under"];
        assert_eq!(shown(&tree, false), expected);
        let found = inventory(&tree.roots(), false);
        let whole = found.candidates.iter().find(|c| c.path == tree.path("a")).unwrap();
        assert_eq!(whole.also, [tree.path("b")]);
        assert!(whole.free_bytes.unwrap() <= whole.size_bytes.unwrap());
        // Omitted: the single file, the empty read-only memory, what programs mounted, the image.
        assert_eq!(found.left_out, 4);
        assert!(found.unseen.iter().any(|sentence| sentence.contains("/sys is missing")));
        let all = shown(&tree, true);
        assert!(
            all.contains(&"~/image: mounted read-only".to_owned())
                && all.contains(&"~/ro: mounted read-only".to_owned())
        );
        assert!(!all.iter().any(|path| path.contains("proc")), "pseudo filesystems are never listed");
    }

    #[test]
    fn unmounted_disks_are_listed_unless_another_device_uses_them() {
        let tree = tree();
        let disk = |name: &str, number: &str, files: &[(&str, &str)]| {
            let place = format!("pci0/{name}");
            tree.device(&place, number, &[&[("size", "4096\n")], files].concat());
            tree.file(&format!("dev/{name}"), "");
            place
        };
        let sda = disk("sda", "8:0", &[]);
        tree.device(&format!("{sda}/sda1"), "8:1", &[("partition", "1\n")]);
        let sdb = disk("sdb", "8:16", &[]);
        tree.device(&format!("{sdb}/sdb1"), "8:17", &[("partition", "1\n")]);
        tree.device(&format!("{sdb}/sdb2"), "8:18", &[("partition", "2\n")]);
        let sdc = disk("sdc", "8:32", &[]);
        tree.device(
            "virtual/block/dm-0",
            "253:0",
            &[("size", "4000\n"), ("dm/name", "x"), ("dm/uuid", "CRYPT-LUKS2-1-x")],
        );
        tree.slave("virtual/block/dm-0", &sdc);
        tree.file("dev/dm-0", "");
        tree.device("pci0/sdq", "65:0", &[("size", "4096\n")]);
        disk("loop7", "7:7", &[("size", "0\n")]);
        disk("ram0", "1:0", &[]);
        disk("mmcblk0boot0", "179:8", &[]);
        disk("nvme0c0n1", "259:5", &[("hidden", "1\n")]);
        tree.file("proc/swaps", "Filename Type Size Used Priority\n/dev/sdb2 partition 1 0 -2\n");
        let devices =
            |all| shown(&tree, all).into_iter().filter(|p| p.starts_with("/dev")).collect::<Vec<_>>();
        assert_eq!(
            devices(false),
            ["/dev/dm-0: not mounted", "/dev/sdb: used for swap", "/dev/sdq: cannot be opened here"]
        );
        assert_eq!(
            devices(true),
            [
                "/dev/dm-0: not mounted",
                "/dev/loop7: not mounted",
                "/dev/mmcblk0boot0: not mounted",
                "/dev/ram0: not mounted",
                "/dev/sdb: used for swap",
                "/dev/sdq: cannot be opened here"
            ]
        );
        tree.file("sys/fs/ext4/sdz1/options", "");
        disk("sdz", "65:16", &[]);
        tree.device("pci0/sdz/sdz1", "65:17", &[("partition", "1\n")]);
        let elsewhere = "/dev/sdz: mounted, but not visible from this mount namespace".to_owned();
        assert_eq!(devices(false).last(), Some(&elsewhere));
        let found = inventory(&tree.roots(), false);
        let sdb = found.candidates.iter().find(|c| c.path == Path::new("/dev/sdb")).unwrap();
        assert_eq!(sdb.stack[0].facts["partitions"], "sdb1, sdb2");
        let is_listed = found.unseen.iter().any(|s| s.contains("cipher and sector size of dm-0"));
        assert!(is_listed, "{:?}", found.unseen);
    }

    #[test]
    fn the_health_of_each_disk_is_queried_once() {
        let tree = tree();
        tree.device("pci0/ata1/sda", "8:0", &[("size", "4096\n")]);
        tree.device("pci0/ata1/sda/sda1", "8:1", &[("partition", "1\n")]);
        let log = tree.path("asked");
        tree.script(
            "smartctl",
            &format!("echo \"$@\" >> '{}'\necho '{{\"smart_status\":{{\"passed\":true}},\"temperature\":{{\"current\":35}}}}'\n", log.display()),
        );
        let found = inventory(&tree.roots(), true);
        let disk = found.candidates.iter().flat_map(|c| &c.stack).find(|layer| layer.name == "sda").unwrap();
        assert_eq!(
            (disk.facts[fact::HEALTH].as_str(), disk.facts[fact::TEMPERATURE].as_str()),
            ("passed", "35")
        );
        assert_eq!(fs::read_to_string(&log).unwrap(), "--json -n standby -a /dev/sda\n");
        assert!(found.unseen.is_empty(), "{:?}", found.unseen);
    }
}
