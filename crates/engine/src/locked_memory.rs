//! What this process may lock in memory. The kernel counts it per user, over all of the user's processes.

use std::io;
use std::time::{Duration, Instant};

use model::Workload;
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};

use crate::buffers::BufferPlan;

/// The kernel's maximum for one registered buffer, in bytes.
const MAX_REGISTERED_BYTES: u64 = 1 << 30;

/// The buffers of a repeat may take this part of the limit. The rest is left for the rings, for those of the repeats
/// before, which the kernel releases late, and for other programs of the same user.
const SHARE: u64 = 4;

/// Bytes that this user may lock (`ulimit -l`); `None` if there is no limit, or none for this process.
pub fn locked_memory_limit() -> Option<u64> {
    let is_exempt = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    if is_exempt { None } else { getrlimit(Resource::Memlock).current }
}

/// Whether io_uring registers the buffers of a workload: those of all jobs together must fit a quarter of what the user
/// may lock. It depends only on the workload and the limit, so all repeats of a step are alike.
pub fn registers_buffers(workload: &Workload) -> bool {
    let bytes = BufferPlan::of(workload, workload.iodepth as usize, workload.writes_data()).bytes() as u64;
    fits(bytes, workload.jobs, locked_memory_limit())
}

/// Whether buffers of `bytes` for each of the jobs can be registered under a limit in bytes.
fn fits(bytes: u64, jobs: u32, limit: Option<u64>) -> bool {
    bytes <= MAX_REGISTERED_BYTES && limit.is_none_or(|limit| bytes * u64::from(jobs) <= limit / SHARE)
}

/// Attempts something again, for up to `timeout`, while it fails for lack of memory: the kernel charges rings to the user's
/// limit, and releases them some time after they are closed.
pub(crate) fn retried_for_memory<T>(
    timeout: Duration,
    mut attempt: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    let until = Instant::now() + timeout;
    loop {
        match attempt() {
            Err(error) if is_out_of_memory(&error) && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}

pub(crate) fn is_out_of_memory(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOMEM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_fit_a_quarter_of_the_limit() {
        assert!(fits(1 << 20, 2, Some(8 << 20)));
        assert!(!fits(1 << 20, 3, Some(8 << 20)));
        assert!(!fits(1, 1, Some(0)));
        assert!(fits(1 << 30, 64, None), "without a limit, only the kernel's maximum counts");
        assert!(!fits((1 << 30) + 1, 1, None));
    }

    /// A ring that a repeat could not have, because those of the repeat before still counted, failed the run.
    #[test]
    fn only_a_lack_of_memory_is_tried_again() {
        let fail = |errno: i32, times: u32, timeout: Duration| {
            let mut tried = 0;
            let result = retried_for_memory(timeout, || {
                tried += 1;
                if tried > times { Ok(()) } else { Err(io::Error::from_raw_os_error(errno)) }
            });
            (result.is_ok(), tried)
        };
        assert_eq!(fail(libc::ENOMEM, 3, Duration::from_secs(3600)), (true, 4));
        assert_eq!(fail(libc::ENOMEM, 1, Duration::ZERO), (false, 1));
        assert_eq!(fail(libc::EPERM, 1, Duration::from_secs(3600)), (false, 1));
    }
}
