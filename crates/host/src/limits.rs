//! What the system allows this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the number of files that the process may have open to what it may raise it to: every job has
/// descriptors of its own for every file. Where that is not possible the limit stays as it is.
pub fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// Bytes of a memory page.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// True if this process has the rights of root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
