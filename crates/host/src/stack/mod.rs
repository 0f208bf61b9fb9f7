//! The storage stack below a path: from sysfs, and from system programs for what the kernel reports only to them.
//!
//! One module per kind of layer, and below `disk` one per way of attaching a disk. Each reads a directory of
//! sysfs into facts and does not depend on the others.

mod array;
mod crypt;
mod disk;
mod filesystem;
mod looped;
mod mapped;
mod partition;
mod queue;
#[cfg(test)]
mod tests;
mod zpool;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::{Layer, LayerKind, fact};

pub use crypt::measure_ciphers;

use crate::mounts::{Mount, device_number, mount_of, mounts};
use crate::routes::is_own;
use crate::{Roots, read_line};

pub(crate) use disk::is_asked_for_health;

/// Deeper than any real stack; a loop device on a file on itself must not recurse for ever.
const DEEPEST: u32 = 16;

/// The stack below a directory or file, which must be absolute and free of links.
pub(crate) fn stack_of_path(roots: &Roots, path: &Path) -> Vec<Layer> {
    let mut layers = Vec::new();
    Walk::new(roots).path(path, 0, &mut layers);
    layers
}

/// The stack of a mounted filesystem, which another mount at the same path may hide.
pub(crate) fn stack_of_mount(roots: &Roots, mount: &Mount) -> Vec<Layer> {
    let mut layers = Vec::new();
    Walk::new(roots).mount(mount, 0, &mut layers);
    layers
}

/// The stack of a block device, including itself.
pub(crate) fn stack_of_device(roots: &Roots, device: (u32, u32)) -> Vec<Layer> {
    let mut layers = Vec::new();
    Walk::new(roots).device(device, 0, &mut layers);
    layers
}

struct Walk<'a> {
    roots: &'a Roots,
    mounts: Vec<Mount>,
}

impl<'a> Walk<'a> {
    fn new(roots: &'a Roots) -> Self {
        Self { roots, mounts: mounts(roots) }
    }

    fn path(&self, path: &Path, level: u32, layers: &mut Vec<Layer>) {
        if let Some(mount) = mount_of(&self.mounts, path) {
            self.mount(mount, level, layers);
        }
    }

    fn mount(&self, mount: &Mount, level: u32, layers: &mut Vec<Layer>) {
        if level > DEEPEST {
            return;
        }
        let beneath = filesystem::beneath(self.roots, mount);
        layers.push(Layer {
            kind: filesystem::kind(mount),
            name: mount.kind.clone(),
            level,
            device: None,
            facts: filesystem::facts(self.roots, mount, &beneath).0,
        });
        // In a container, the path of an overlay's files may appear to be within the overlay.
        let below = beneath.path.as_deref().and_then(|path| mount_of(&self.mounts, path));
        if let Some(below) = below.filter(|below| *below != mount) {
            self.mount(below, level + 1, layers);
        }
        beneath.devices.into_iter().for_each(|device| self.device(device, level + 1, layers));
    }

    fn device(&self, device: (u32, u32), level: u32, layers: &mut Vec<Layer>) {
        if level > DEEPEST {
            return;
        }
        let Some(directory) = sysfs_directory(self.roots, device) else { return };
        let Some(name) = directory.file_name().map(|n| n.to_string_lossy().replace('!', "/")) else { return };
        let (kind, facts) = about(self.roots, &directory);
        layers.push(Layer { kind, name, level, device: Some(device), facts: facts.0 });
        if kind == LayerKind::Partition {
            let whole = directory.parent().and_then(|p| device_number(&read_line(p.join("dev"))?));
            whole.into_iter().for_each(|d| self.device(d, level + 1, layers));
            return;
        }
        if let Some(file) = looped::file(&directory) {
            self.path(&file, level + 1, layers);
        }
        for slave in entries(&directory.join("slaves")) {
            if let Some(number) = read_line(slave.join("dev")).and_then(|d| device_number(&d)) {
                self.device(number, level + 1, layers);
            }
        }
    }
}

/// The sysfs directory of a block device.
pub(crate) fn sysfs_directory(roots: &Roots, device: (u32, u32)) -> Option<PathBuf> {
    fs::canonicalize(roots.sys.join(format!("dev/block/{}:{}", device.0, device.1))).ok()
}

/// The kind of a block device, and its known facts.
fn about(roots: &Roots, directory: &Path) -> (LayerKind, Facts) {
    if directory.join("partition").exists() {
        return (LayerKind::Partition, partition::facts(directory));
    }
    let mut facts = queue::facts(directory);
    // A loop device without a file has no such directory.
    let kind = if directory.join("loop").exists() || looped::is_loop_name(directory) {
        looped::facts(directory, &mut facts);
        LayerKind::Loop
    } else if directory.join("md").exists() {
        array::facts(directory, &mut facts);
        LayerKind::Raid
    } else if directory.join("dm").exists() {
        mapped::facts(roots, directory, &mut facts)
    } else if directory.join("bcache/cache_mode").exists() && !entries(&directory.join("slaves")).is_empty() {
        mapped::bcache(directory, &mut facts);
        LayerKind::Lvm
    } else {
        disk::facts(roots, directory, &mut facts)
    };
    (kind, facts)
}

/// Facts about a layer, as they are collected.
#[derive(Debug, Default)]
struct Facts(BTreeMap<String, String>);

impl Facts {
    /// Adds a fact if there is a value.
    fn put(&mut self, name: &str, value: impl Into<Option<String>>) {
        if let Some(value) = value.into() {
            self.0.insert(name.to_owned(), value);
        }
    }

    /// Adds a number if there is one.
    /// The server that is behind it, and whether that is this machine.
    fn server(&mut self, roots: &Roots, server: Option<String>) {
        let is_here = server.as_deref().is_some_and(|server| is_own(roots, server));
        self.put(fact::SERVER_HERE, is_here.then(|| "yes".to_owned()));
        self.put(fact::SERVER, server);
    }

    fn number(&mut self, name: &str, value: impl Into<Option<u64>>) {
        self.put(name, value.into().map(|value| value.to_string()));
    }

    /// Adds the content of a file below a directory, if it is not empty.
    fn file(&mut self, name: &str, file: impl AsRef<Path>) {
        self.put(name, read_line(file));
    }
}

/// A file with a whole number, decimal or hexadecimal after `0x`.
fn number(path: impl AsRef<Path>) -> Option<u64> {
    let text = read_line(path)?;
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The last component of a link's target.
fn link_name(link: impl AsRef<Path>) -> Option<String> {
    Some(fs::canonicalize(link).ok()?.file_name()?.to_string_lossy().into_owned())
}

/// The entries of a directory as paths, sorted; empty if it cannot be read.
pub(crate) fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(read) = fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = read.flatten().map(|e| e.path()).collect();
    paths.sort();
    paths
}

/// Number of the device of a special file.
pub(crate) fn device_of_node(path: &Path) -> Option<(u32, u32)> {
    let rdev = fs::metadata(path).ok()?.rdev();
    Some((rustix::fs::major(rdev), rustix::fs::minor(rdev)))
}

/// Number of the block device with this node path or name. If there is no node, as in a container, the kernel's
/// name or the device mapper's is used.
fn device_named(roots: &Roots, path: &str) -> Option<(u32, u32)> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
    let name = real.strip_prefix("/dev").unwrap_or(&real).to_str()?;
    let known = roots.sys.join("class/block");
    if let Some(mapping) = name.strip_prefix("mapper/") {
        let is_it = |place: &PathBuf| read_line(place.join("dm/name")).is_some_and(|name| name == mapping);
        let place = entries(&known).into_iter().find(is_it)?;
        return device_number(&read_line(place.join("dev"))?);
    }
    device_number(&read_line(known.join(name.replace('/', "!")).join("dev"))?)
}
