//! Detects whether the kernel has released a file.
//!
//! A file can stay open after its process has closed it: a kernel thread tears an io_uring down, and another releases
//! what a request held. Until then, the filesystem cannot be unmounted. A lease shows this: the kernel grants a write
//! lease only if the file has no other open file description.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// From linux/fcntl.h; sets the signal that notifies the holder of a lease when another process opens the file.
const F_SETSIG: libc::c_int = 10;
/// Number of open rings with registered files.
static RINGS: AtomicUsize = AtomicUsize::new(0);
/// Time between two checks.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Counts a ring with registered files while it is open.
#[cfg(target_pointer_width = "64")]
pub(crate) struct CountedRing;

#[cfg(target_pointer_width = "64")]
impl CountedRing {
    pub fn new() -> Self {
        RINGS.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

#[cfg(target_pointer_width = "64")]
impl Drop for CountedRing {
    fn drop(&mut self) {
        RINGS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits until no ring of this process holds files, at most for `limit`; for a process that ends without joining its
/// workers. False if a ring still holds files.
pub fn await_rings(limit: Duration) -> bool {
    let until = Instant::now() + limit;
    while RINGS.load(Ordering::Relaxed) > 0 {
        if Instant::now() >= until {
            return false;
        }
        thread::sleep(POLL_INTERVAL);
    }
    true
}

/// True if the file has another open file description, in any process or in the kernel; duplicated and inherited
/// descriptors share one. `None` if that cannot be determined: the file is not a regular file, it belongs to another
/// user, or its filesystem does not support leases. NFS and SMB grant a lease only if the server has delegated the
/// file, and otherwise report the file as open elsewhere: there, true has no meaning.
pub fn is_open_elsewhere(file: &File) -> Option<bool> {
    let fd = file.as_raw_fd();
    // The default signal, SIGIO, terminates the process; SIGURG is ignored by default.
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

/// Waits until none of the files is open elsewhere, at most for `limit`. False if one still is; a file for which this
/// cannot be determined counts as released.
pub fn await_release(files: &[File], limit: Duration) -> bool {
    let until = Instant::now() + limit;
    for file in files {
        while is_open_elsewhere(file) == Some(true) {
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(POLL_INTERVAL);
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
    fn only_another_open_file_description_counts() {
        let (named, file) = opened();
        assert_eq!(is_open_elsewhere(&file), Some(true));
        assert!(!await_release(std::slice::from_ref(&file), Duration::ZERO));
        let path = named.into_temp_path();
        let copy = file.try_clone().unwrap();
        // Workers of other tests hold copies of the descriptors that were open at their start.
        assert!(await_release(std::slice::from_ref(&copy), Duration::from_secs(60)));
        drop(path);
        assert_eq!(is_open_elsewhere(&File::open("/dev/null").unwrap()), None);
    }
}
