//! All storage of a machine: every mounted filesystem and every disk, and what lies beneath.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use model::{Candidate, Inventory, Layer, LayerKind, TargetKind, fact};

use crate::mounts::{Mount, device_number, mounts};
use crate::smart::{Unknown, add_once};
use crate::stack::{device_of_node, entries, place_of, stack_of_device, stack_of_mount, stack_of_path};
use crate::target::TargetError;
use crate::{Roots, identify, read_line};

/// A server that is gone would keep whoever asks for its free space waiting for ever.
const PATIENCE: Duration = Duration::from_secs(2);

/// Filesystems that hold nothing of anybody's.
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
/// Images that are only ever read, such as those of snaps.
const IMAGES: [&str; 4] = ["squashfs", "erofs", "iso9660", "cramfs"];
/// Places where programs mount for themselves.
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

/// Everything that could be measured here; with `all`, also what hardly anybody would.
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
/// [`TargetError::NotFound`] or [`TargetError::WrongKind`] for the first that is none of these.
pub fn inventory_of(roots: &Roots, paths: &[PathBuf]) -> Result<Inventory, TargetError> {
    let candidates = paths.iter().map(|path| named(roots, path)).collect::<Result<Vec<_>, _>>()?;
    Ok(finish(roots, candidates, 0))
}

/// Asks for health once for each disk, however many stacks it is in, and says what could not be seen.
fn finish(roots: &Roots, mut candidates: Vec<Candidate>, left_out: usize) -> Inventory {
    let unknown = add_once(roots, candidates.iter_mut().flat_map(|candidate| &mut candidate.stack));
    let unseen = unseen(&candidates, &unknown);
    Inventory { host: identify(roots), candidates, left_out, unseen }
}

fn named(roots: &Roots, path: &Path) -> Result<Candidate, TargetError> {
    let not_found = |source| TargetError::NotFound { path: path.display().to_string(), source };
    let canonical = fs::canonicalize(path).map_err(not_found)?;
    let metadata = fs::metadata(&canonical).map_err(not_found)?;
    let kind = match metadata.file_type() {
        kind if kind.is_dir() => TargetKind::Directory,
        kind if kind.is_file() => TargetKind::File,
        kind if kind.is_block_device() => TargetKind::BlockDevice,
        _ => return Err(TargetError::WrongKind(canonical)),
    };
    let stack = match kind {
        TargetKind::BlockDevice => {
            device_of_node(&canonical).map(|d| stack_of_device(roots, d)).unwrap_or_default()
        }
        _ => stack_of_path(roots, &canonical),
    };
    let (size_bytes, free_bytes) = match kind {
        TargetKind::Directory => space(&canonical).map_or((None, None), |s| (Some(s.size), Some(s.free))),
        TargetKind::File => (Some(metadata.len()), None),
        TargetKind::BlockDevice => (stack.first().and_then(size_fact), None),
    };
    Ok(Candidate { path: canonical, also: Vec::new(), kind, size_bytes, free_bytes, remark: None, stack })
}

fn size_fact(layer: &Layer) -> Option<u64> {
    layer.facts.get(fact::SIZE)?.parse().ok()
}

/// The mounted filesystems, each once, by their mount points; and how many were left out.
fn mounted(roots: &Roots, all: bool) -> (Vec<Candidate>, usize) {
    let table = mounts(roots);
    let mut filesystems: BTreeMap<((u32, u32), &str), Vec<&Mount>> = BTreeMap::new();
    for (i, mount) in table.iter().enumerate() {
        // What is mounted over later is not to be reached any more.
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
    !IMAGES.contains(&mount.kind.as_str()) && !(in_memory && read_only) && !internal
}

/// A filesystem by its best mount point: the whole of it rather than a part, then the shortest. `None` if it is
/// mounted on single files only, as containers do.
fn filesystem(roots: &Roots, mut points: Vec<&Mount>) -> Option<Candidate> {
    points.sort_by_key(|mount| {
        let whole = mount.root == Path::new("/");
        (!whole, mount.point.components().count(), mount.point.clone())
    });
    let looked = space(&points[0].point);
    let best = match &looked {
        Some(space) if !space.is_directory => *points.iter().find(|m| m.point.is_dir())?,
        _ => points[0],
    };
    let mut also: Vec<PathBuf> =
        points.iter().map(|m| m.point.clone()).filter(|p| *p != best.point).collect();
    also.dedup();
    let read_only = best.options.iter().any(|option| option == "ro");
    let remark = match &looked {
        None => Some("does not answer"),
        Some(_) if read_only => Some("mounted read-only"),
        Some(_) => None,
    };
    Some(Candidate {
        path: best.point.clone(),
        also,
        kind: TargetKind::Directory,
        size_bytes: looked.as_ref().map(|space| space.size),
        free_bytes: looked.as_ref().map(|space| space.free),
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

/// What a filesystem says of its space; `None` if it does not answer in time. The thread that asks stays behind then.
fn space(point: &Path) -> Option<Space> {
    let (sender, answer) = channel();
    let point = point.to_owned();
    thread::spawn(move || {
        let space = rustix::fs::statvfs(&point).ok().map(|space| Space {
            size: space.f_blocks * space.f_frsize,
            free: space.f_bavail * space.f_frsize,
            is_directory: point.is_dir(),
        });
        let _ = sender.send(space);
    });
    answer.recv_timeout(PATIENCE).ok().flatten()
}

/// Devices that no mounted filesystem lies on and nothing else was made of; and how many were left out.
fn unmounted(roots: &Roots, all: bool, used: &BTreeSet<(u32, u32)>) -> (Vec<Candidate>, usize) {
    let swaps = fs::read_to_string(roots.proc.join("swaps")).unwrap_or_default();
    let (mut found, mut left_out) = (Vec::new(), 0);
    for place in entries(&roots.sys.join("class/block")) {
        let Some(number) = read_line(place.join("dev")).and_then(|text| device_number(&text)) else {
            continue;
        };
        let Some(directory) = place_of(roots, number) else { continue };
        // Hidden are the single paths of NVMe disks, which have no node.
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
            top.facts.insert("partitions".to_owned(), parts.join(", "));
        }
        let in_use = |name: &str| {
            swaps.lines().any(|line| line.split_whitespace().next() == Some(&format!("/dev/{name}")))
        };
        let swap = in_use(&top.name) || parts.iter().any(|part| in_use(part));
        found.push(Candidate {
            path: Path::new("/dev").join(&top.name),
            also: Vec::new(),
            kind: TargetKind::BlockDevice,
            size_bytes: size_fact(top),
            free_bytes: None,
            remark: Some(if swap { "used for swap" } else { "not mounted" }.to_owned()),
            stack,
        });
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    (found, left_out)
}

fn partitions(directory: &Path) -> Vec<String> {
    let within = entries(directory).into_iter().filter(|place| place.join("partition").exists());
    within.filter_map(|place| Some(place.file_name()?.to_str()?.to_owned())).collect()
}

/// True if another device was made of it or of a partition of it: then that one is shown with this beneath it.
fn carries_a_device(directory: &Path) -> bool {
    let held = |place: &Path| !entries(&place.join("holders")).is_empty();
    held(directory) || partitions(directory).iter().any(|part| held(&directory.join(part)))
}

/// Devices without a size, drives for media, memory that nobody set up as a disk, and the small areas of eMMC from
/// which a board starts.
fn is_uninteresting(layer: &Layer) -> bool {
    let name = layer.name.as_str();
    let starts = |of: &[&str]| of.iter().any(|start| name.starts_with(start));
    let boot =
        name.starts_with("mmcblk") && (name.contains("boot") || name.contains("rpmb") || name.contains("gp"));
    size_fact(layer).unwrap_or(0) == 0 || starts(&["ram", "sr", "fd", "mtdblock"]) || boot
}

/// What was not to be seen, and what it takes.
fn unseen(candidates: &[Candidate], unknown: &[(String, Unknown)]) -> Vec<String> {
    let mut told = Vec::new();
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
        told.push(match root {
            false => format!("Root, with {tools}, would be told {what} of {of}."),
            true => format!("With {tools} installed, it would also tell {what} of {of}."),
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
        told.push(format!("With zpool installed, it would also tell the members of {}.", pools.join(", ")));
    }
    for (why, say) in [
        (
            Unknown::NotInstalled,
            "With smartctl installed (smartmontools) and as root, it would also tell health and temperature of",
        ),
        (Unknown::NotPermitted, "Root would be told health and temperature by smartctl of"),
        (Unknown::UnknownBridge, "smartctl does not know how to ask through the USB bridge of"),
        (Unknown::Silent, "smartctl learnt nothing of the health of"),
    ] {
        let disks: BTreeSet<&str> =
            unknown.iter().filter(|(_, w)| *w == why).map(|(disk, _)| disk.as_str()).collect();
        if !disks.is_empty() {
            told.push(format!("{say} {}.", disks.into_iter().collect::<Vec<_>>().join(", ")));
        }
    }
    told
}
