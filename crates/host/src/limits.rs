//! Limits that the system sets for this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit on open files to the hard limit: every job has its own descriptor for every file. If
/// that fails, the limit stays unchanged.
pub fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// Bytes of a memory page.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// True if this process runs as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
