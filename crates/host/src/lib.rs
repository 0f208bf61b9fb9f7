//! Lodestone's view of the machine: the layers of the storage, the kernel's counters, the location of test files,
//! and permission to overwrite.
//!
//! # Invariants
//! * Only this crate reads /proc and /sys and starts other programs. Both roots are replaceable ([`Roots`]), so
//!   that tests cover other machines by fixtures.
//! * Nothing needs udev, and nothing needs root unless documented.
//! * A block device or an existing file is opened once and held ([`Hold`]), and opened for writing only by a hold
//!   made from a [`Consent`], which only [`consent::ask`] creates.
//! * What is created is unlinked while open if the filesystem allows it; what needs a name is in a private
//!   directory with a manifest, by which [`leftovers`] finds it again.

#[cfg(test)]
mod boards;
mod confined;
mod counters;
mod extents;
#[cfg(test)]
mod hostile;
mod identity;
mod inventory;
mod limits;
mod machine;
mod manifest;
mod mounts;
mod naming;
mod object;
mod occupants;
mod private_directory;
mod routes;
mod shared_filesystems;
mod signatures;
mod smart;
mod stack;
#[cfg(test)]
mod testing;

pub mod consent;
pub mod hanging;
pub mod inheritance;
pub mod leftovers;
pub mod presence;
pub mod probes;
pub mod programs;
pub mod readiness;
pub mod scratch;
pub mod stacks;
pub mod target;
pub mod testfiles;
pub mod writers;

use std::path::PathBuf;

pub use consent::{Consent, Hold};
pub use counters::{Counters, Shares, machine_cpu, process_io, snapshot};
pub use identity::identify;
pub use inventory::{inventory, inventory_of};
pub use limits::{is_root, page_bytes, raise_limits};
pub use machine::{boot_id, clock_source, trusts_the_counter};
pub use stack::measure_ciphers;
pub use target::TargetError;

/// Where the kernel's trees are mounted.
#[derive(Clone, Debug)]
pub struct Roots {
    /// Usually `/proc`.
    pub proc: PathBuf,
    /// Usually `/sys`.
    pub sys: PathBuf,
    /// Usually `/dev`: the device nodes that can be opened.
    pub dev: PathBuf,
    /// Directories to search for other programs. Not `PATH`: a program that runs as root must not be found
    /// through a variable that anybody may set, and the system's directories are often missing from it.
    pub programs: Vec<PathBuf>,
}

impl Default for Roots {
    fn default() -> Self {
        let programs = [
            "/usr/local/sbin",
            "/usr/local/bin",
            "/usr/sbin",
            "/usr/bin",
            "/sbin",
            "/bin",
            "/run/current-system/sw/bin",
        ];
        Self {
            proc: "/proc".into(),
            sys: "/sys".into(),
            dev: "/dev".into(),
            programs: programs.into_iter().map(PathBuf::from).collect(),
        }
    }
}

/// A small kernel file as text without its line end; `None` if it is missing or empty.
fn read_line(path: impl AsRef<std::path::Path>) -> Option<String> {
    // Names in it, such as the path of a loop device's image, need not be UTF-8.
    let bytes = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!line.is_empty()).then(|| line.to_owned())
}
