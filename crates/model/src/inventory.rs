//! What storage a machine has: every place that could become a target.

use std::path::PathBuf;

use crate::{Host, Layer, TargetKind};

/// A place that could be measured, as far as looking from outside tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What `lodestone run` would be given: a mount point, a directory, a file or a device.
    pub path: PathBuf,
    /// Other places where the same filesystem is mounted.
    pub also: Vec<PathBuf>,
    /// What stands at the path.
    pub kind: TargetKind,
    /// Bytes of the filesystem or device; `None` if it does not tell, such as a server that is gone.
    pub size_bytes: Option<u64>,
    /// Bytes of a filesystem that an ordinary user may still write.
    pub free_bytes: Option<u64>,
    /// Why it can only be measured in part or not at all, in a few words.
    pub remark: Option<String>,
    /// What its bytes pass through, from the top down.
    pub stack: Vec<Layer>,
}

/// All storage of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inventory {
    /// The machine.
    pub host: Host,
    /// Mounted filesystems by mount point, then devices that carry nothing mounted.
    pub candidates: Vec<Candidate>,
    /// How many places were left out because hardly anybody would measure them.
    pub left_out: usize,
    /// What could not be seen and what it takes to see it, a sentence each.
    pub unseen: Vec<String>,
}
