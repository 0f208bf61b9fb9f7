//! Whether the kernel has let go of a file.
//!
//! What a process opened can stay open after the process itself has closed it: an io_uring is taken down by a kernel
//! thread, and what a request held is put back by another. Until then the filesystem cannot be unmounted. The kernel tells
//! by a lease: it grants one for writing only to the single open of a file.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// From linux/fcntl.h; the signal that tells a holder of a lease that somebody else opens the file.
const F_SETSIG: libc::c_int = 10;
/// Rings with registered files that are open.
static RINGS: AtomicUsize = AtomicUsize::new(0);
/// How long to wait between two looks.
const LOOK: Duration = Duration::from_millis(1);

/// Counts a ring with registered files for as long as it lives.
pub(crate) struct CountedRing;

impl CountedRing {
    pub fn new() -> Self {
        RINGS.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for CountedRing {
    fn drop(&mut self) {
        RINGS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits until no ring of this process holds files, but no longer than `limit`; for a process that ends without its workers
/// having been joined. False if one still does.
pub fn await_rings(limit: Duration) -> bool {
    let until = Instant::now() + limit;
    while RINGS.load(Ordering::Relaxed) > 0 {
        if Instant::now() >= until {
            return false;
        }
        thread::sleep(LOOK);
    }
    true
}

/// True if the file is open by another open file description than this one, in whatever process or in the kernel;
/// descriptors that were duplicated or inherited belong to the same one. `None` where that cannot be seen: the file is
/// not a regular one or another user's, or its filesystem has no leases. NFS and SMB grant one only if their server has
/// delegated the file, and otherwise answer as if it were open elsewhere: there, true says nothing.
pub fn is_open_elsewhere(file: &File) -> Option<bool> {
    let fd = file.as_raw_fd();
    // The signal by default ends the process; this one is ignored by default.
    // SAFETY: plain integers.
    if unsafe { libc::fcntl(fd, F_SETSIG, libc::SIGURG) } != 0 {
        return None;
    }
    // SAFETY: plain integers.
    let granted = unsafe { libc::fcntl(fd, libc::F_SETLEASE, libc::F_WRLCK) } == 0;
    if granted {
        // SAFETY: plain integers.
        unsafe { libc::fcntl(fd, libc::F_SETLEASE, libc::F_UNLCK) };
        return Some(false);
    }
    (std::io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN)).then_some(true)
}

/// Waits until none of the files is open elsewhere, but no longer than `limit`. False if one still is then; a file of which
/// that cannot be seen counts as released.
pub fn await_release(files: &[File], limit: Duration) -> bool {
    let until = Instant::now() + limit;
    for file in files {
        while is_open_elsewhere(file) == Some(true) {
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(LOOK);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened() -> (tempfile::NamedTempFile, File) {
        let named = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let file = named.reopen().unwrap();
        (named, file)
    }

    #[test]
    fn only_another_open_counts_not_another_descriptor() {
        let (named, file) = opened();
        assert_eq!(is_open_elsewhere(&file), Some(true));
        assert!(!await_release(std::slice::from_ref(&file), Duration::ZERO));
        let path = named.into_temp_path();
        let copy = file.try_clone().unwrap();
        // Workers of other tests have copies of what was open when they began.
        assert!(await_release(std::slice::from_ref(&copy), Duration::from_secs(60)));
        drop(path);
        assert_eq!(is_open_elsewhere(&File::open("/dev/null").unwrap()), None);
    }
}
