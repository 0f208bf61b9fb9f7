//! What this process may lock in memory. The kernel counts it per user, over all of the user's processes.

use model::Workload;
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};

use crate::buffers::BufferPlan;

/// The kernel's maximum for one registered buffer, in bytes.
const MAX_REGISTERED_BYTES: u64 = 1 << 30;

/// Bytes that this user may lock (`ulimit -l`); `None` if there is no limit, or none for this process.
pub fn locked_memory_limit() -> Option<u64> {
    let is_exempt = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    if is_exempt { None } else { getrlimit(Resource::Memlock).current }
}

/// Whether io_uring registers the buffers of a workload: those of all jobs together must fit in a quarter of what the user
/// may lock. It depends only on the workload and the limit, so all repeats of a step are alike.
pub fn registers_buffers(workload: &Workload) -> bool {
    let bytes = BufferPlan::of(workload, workload.iodepth as usize, workload.writes_data()).bytes() as u64;
    fits(bytes, workload.jobs, locked_memory_limit())
}

/// Whether buffers of `bytes` for each of the jobs may be registered under a limit in bytes. Three quarters of it are left
/// for rings, also of earlier repeats, which the kernel releases late, and for other programs of the same user.
fn fits(bytes: u64, jobs: u32, limit: Option<u64>) -> bool {
    bytes <= MAX_REGISTERED_BYTES && limit.is_none_or(|limit| bytes * u64::from(jobs) <= limit / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_fit_a_quarter_of_the_limit() {
        assert!(fits(1 << 20, 2, Some(8 << 20)));
        assert!(!fits(1 << 20, 3, Some(8 << 20)));
        assert!(!fits(1, 1, Some(0)));
        assert!(fits(1 << 30, 64, None), "without a limit, only the kernel's maximum applies");
        assert!(!fits((1 << 30) + 1, 1, None));
    }
}
