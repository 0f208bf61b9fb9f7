//! The identity of a file or device, independent of its name.

use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// What all names of one object have in common. A path does not identify an object: links, bind mounts and
/// several nodes of one device give it many names, and a rename gives one name to another object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    /// A block device, by its major and minor number.
    Device((u32, u32)),
    /// Any other file, by its filesystem's device number and its inode number.
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

    /// The object at a path, links followed; `None` if it cannot be examined.
    pub fn at(path: impl AsRef<Path>) -> Option<Self> {
        fs::metadata(path).ok().map(|metadata| Self::of(&metadata))
    }
}
