//! Where a workload runs: a directory, a file or a block device, and what lies beneath it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What kind of thing a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// A directory: private test files are made in it and vanish with the run.
    Directory,
    /// An existing file, read freely and written only with consent.
    File,
    /// A block device, read freely and written only with consent.
    BlockDevice,
}

/// A place to measure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Short name, unique within a run.
    pub name: String,
    /// Absolute path with links resolved.
    #[serde(with = "crate::path_text::as_text")]
    pub path: PathBuf,
    /// Directory, file or block device.
    pub kind: TargetKind,
    /// Bytes: the filesystem's size for a directory, else the size of the file or device.
    pub size_bytes: u64,
    /// Bytes that an ordinary user may still write; equals `size_bytes` for files and devices.
    pub free_bytes: u64,
    /// Smallest unit in bytes of direct I/O, in offset and length.
    pub block_bytes: u32,
    /// Direct I/O can be had here.
    pub direct: bool,
    /// The user consented to overwriting; always true for a directory, whose test files are ours.
    pub writable: bool,
    /// What the bytes pass through, from the top down.
    pub stack: Vec<Layer>,
    /// What the user said of it, such as its encryption.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The numbers of the machines that work on it together, if it is not one alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<u32>,
    /// The number of the machine that has its storage and serves it over a network, if that one is watched too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<u32>,
    /// Number of its machine, as in [`crate::RunStarted::machine`].
    #[serde(default, skip_serializing_if = "crate::host::is_first")]
    pub host: u32,
}

/// The kind of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LayerKind {
    /// A filesystem.
    Filesystem,
    /// Encryption (dm-crypt, LUKS).
    Crypt,
    /// Software RAID (md, dm-raid).
    Raid,
    /// A logical volume or another device-mapper target.
    Lvm,
    /// A partition.
    Partition,
    /// A loop device.
    Loop,
    /// A disk: what the kernel has no further block device beneath.
    Disk,
    /// A network mount or a network block device.
    Network,
}

/// One layer of a target's stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// What the layer is.
    pub kind: LayerKind,
    /// Its name: the device (`md0`, `sda1`) or, for a filesystem, its type (`ext4`).
    pub name: String,
    /// How deep below the target; members of one array share a level. The top is 0.
    pub level: u32,
    /// Major and minor number, for layers that are block devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<(u32, u32)>,
    /// What the kernel says of it, by name: model, scheduler, mount options, …
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
}

impl Layer {
    /// True for a filesystem that is nothing but memory.
    pub fn is_memory(&self) -> bool {
        const IN_MEMORY: [&str; 5] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "rootfs"];
        self.kind == LayerKind::Filesystem && IN_MEMORY.contains(&self.name.as_str())
    }
}

impl Target {
    /// True if a machine with this number works on it.
    pub fn is_on(&self, machine: u32) -> bool {
        self.host == machine || self.clients.contains(&machine)
    }

    /// True if its figures depend on the machine with this number: one that works on it, or that serves it.
    pub fn depends_on(&self, machine: u32) -> bool {
        self.is_on(machine) || self.server == Some(machine)
    }

    /// The stack in one line, such as `ext4 on loop0 on ext4 on vda`.
    pub fn stack_line(&self) -> String {
        let mut levels: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
        for layer in &self.stack {
            levels.entry(layer.level).or_default().push(&layer.name);
        }
        let levels: Vec<String> = levels.values().map(|names| names.join("+")).collect();
        levels.join(" on ")
    }
}
