//! Which file or device something is, however it is called.

use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// What two names of one thing have in common. A path says nothing of that: links, bind mounts and
/// several nodes of one device give a thing many, and a rename gives one name to another thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    /// A block device, by its major and minor number.
    Device((u32, u32)),
    /// Anything else, by the number of its filesystem and its number within.
    Inode((u32, u32), u64),
}

impl Object {
    pub fn of(metadata: &Metadata) -> Self {
        let number = |device| (rustix::fs::major(device), rustix::fs::minor(device));
        if metadata.file_type().is_block_device() {
            return Self::Device(number(metadata.rdev()));
        }
        Self::Inode(number(metadata.dev()), metadata.ino())
    }

    /// What stands at a path, links followed; `None` if nothing that can be looked at.
    pub fn at(path: impl AsRef<Path>) -> Option<Self> {
        fs::metadata(path).ok().map(|metadata| Self::of(&metadata))
    }
}
