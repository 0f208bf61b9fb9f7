//! Limits that the system sets for this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limits on open files and on locked memory to the hard ones: every job has its own descriptor for
/// every file, and io_uring locks memory. A limit that cannot be raised stays unchanged.
pub fn raise_limits() {
    for resource in [Resource::Nofile, Resource::Memlock] {
        let limit = getrlimit(resource);
        let _ = setrlimit(resource, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
}

/// Bytes of a memory page.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// True if this process runs as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
