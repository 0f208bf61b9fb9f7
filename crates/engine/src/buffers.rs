//! The memory that operations read into and write from: one mapping per worker, allocated and touched before the
//! measured window and never grown within it.

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

use model::{BufferPages, Workload};

use crate::cache::page_bytes;

/// Minimum amount of write data that a worker cycles through. Successive writes therefore differ over a longer
/// distance than the window of compressing filesystems and devices (128 KiB to 1 MiB).
const POOL_BYTES: usize = 1 << 20;

/// Alignment of every buffer: the strictest that direct I/O requires.
const PAGE: usize = 4096;
/// Smaller mappings get no huge pages: one is 2 MiB on most machines.
const HUGE_PAGE: usize = 2 << 20;

/// A worker's buffers: per slot one to read into and several to write from, plus one block of duplicate content
/// if the workload has any. All are in one mapping, which an engine can register as a whole.
pub(crate) struct Buffers {
    base: NonNull<u8>,
    layout: Layout,
    memory: Arc<Memory>,
}

/// A mapping, as long as any buffers are in it.
#[derive(Debug)]
pub(crate) struct Memory {
    base: NonNull<u8>,
    plan: BufferPlan,
}

// SAFETY: it has an address and accesses nothing there.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// Where the parts of the mapping begin, in bytes from its start.
#[derive(Clone, Copy, Debug)]
struct Layout {
    len: usize,
    read_stride: usize,
    write_start: usize,
    write_stride: usize,
    variants: usize,
    duplicate_start: usize,
}

/// The required size of the buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BufferPlan {
    /// Operations in flight.
    pub slots: usize,
    /// Largest read in bytes; 0 if nothing is read.
    pub read_bytes: usize,
    /// Largest write in bytes; 0 if nothing is written.
    pub write_bytes: usize,
    /// A block of duplicate content is also needed.
    pub duplicate: bool,
    /// The pages wanted.
    pub pages: BufferPages,
}

impl BufferPlan {
    /// For `slots` operations of a workload in flight, with write content if `writes`.
    pub fn of(workload: &Workload, slots: usize, writes: bool) -> Self {
        let bytes = |wanted: bool, size: u32| if wanted { size as usize } else { 0 };
        Self {
            slots,
            read_bytes: bytes(workload.reads_data(), workload.block.read),
            write_bytes: bytes(writes, workload.block.write),
            duplicate: workload.data.dedupe_percent > 0,
            pages: workload.modifiers.buffers,
        }
    }

    /// Bytes of the whole mapping.
    pub fn bytes(self) -> usize {
        self.layout().len
    }

    fn layout(self) -> Layout {
        let stride = |bytes: usize| bytes.next_multiple_of(PAGE);
        let (read_stride, write_stride) = (stride(self.read_bytes), stride(self.write_bytes));
        let variants = match write_stride * self.slots {
            0 => 0,
            one_each => POOL_BYTES.div_ceil(one_each),
        };
        let write_start = read_stride * self.slots;
        let duplicate_start = write_start + write_stride * self.slots * variants;
        let duplicate_stride = if self.duplicate { write_stride } else { 0 };
        let len = (duplicate_start + duplicate_stride).max(PAGE);
        Layout { len, read_stride, write_start, write_stride, variants, duplicate_start }
    }
}

/// Fresh zeroed memory.
fn mapped(len: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: a fresh anonymous mapping; no existing memory is affected.
    let base = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(NonNull::new(base.cast()).expect("a mapping is not at address zero"))
}

/// Zeroed memory aligned to a huge page, and in huge pages if the kernel has free ones. A large block that is
/// scattered over physical memory reaches the device in many segments, or even as several requests: page
/// placement would then affect the result.
fn mapped_huge(len: usize) -> io::Result<NonNull<u8>> {
    // The kernel's pages may be larger than `PAGE`.
    let len = len.next_multiple_of(page_bytes() as usize);
    let start = mapped(len + HUGE_PAGE)?.as_ptr();
    let before = start.align_offset(HUGE_PAGE);
    // SAFETY: the ranges before and after the wanted part belong to the new mapping, and nothing refers to them;
    // the part between them stays mapped. Both ends are whole pages. Failing advice has no effect.
    unsafe {
        let base = start.add(before);
        if before > 0 {
            libc::munmap(start.cast(), before);
        }
        libc::munmap(base.add(len).cast(), HUGE_PAGE - before);
        libc::madvise(base.cast(), len, libc::MADV_HUGEPAGE);
        Ok(NonNull::new_unchecked(base))
    }
}

/// Zeroed memory in ordinary pages, also where the kernel gives huge ones without being asked.
fn mapped_normal(len: usize) -> io::Result<NonNull<u8>> {
    let base = mapped(len)?;
    // SAFETY: the range is the new mapping. The advice fails only on kernels without huge pages.
    unsafe { libc::madvise(base.as_ptr().cast(), len, libc::MADV_NOHUGEPAGE) };
    Ok(base)
}

impl Buffers {
    /// Maps the memory. It is zeroed and not touched yet.
    ///
    /// # Errors
    /// The kernel's, if there is not enough memory.
    pub fn new(plan: BufferPlan) -> io::Result<Self> {
        let layout = plan.layout();
        let len = layout.len;
        let base = match plan.pages {
            BufferPages::Huge if len >= HUGE_PAGE => mapped_huge(len)?,
            BufferPages::Huge => mapped(len)?,
            BufferPages::Normal => mapped_normal(len)?,
        };
        Ok(Self { base, layout, memory: Arc::new(Memory { base, plan }) })
    }

    /// Buffers in the memory of others, which its users have in turns: what one has written there is gone in its next turn.
    pub fn within(memory: Arc<Memory>) -> Self {
        Self { base: memory.base, layout: memory.plan.layout(), memory }
    }

    /// The memory that they are in.
    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset < self.layout.len);
        // SAFETY: the offset lies within the mapping.
        unsafe { self.base.as_ptr().add(offset) }
    }

    /// The buffer that slot `slot` reads into.
    pub fn read(&self, slot: usize) -> *mut u8 {
        self.at(slot * self.layout.read_stride)
    }

    /// The buffer that slot `slot` writes from on its `turn`-th use; the variants rotate.
    pub fn write(&self, slot: usize, turn: usize) -> *mut u8 {
        self.at(self.layout.write_start
            + (slot * self.layout.variants + turn % self.layout.variants) * self.layout.write_stride)
    }

    /// The block of duplicate content, if the plan has one.
    pub fn duplicate(&self) -> *mut u8 {
        self.at(self.layout.duplicate_start)
    }

    /// All memory that is written from: the slots' buffers, and the duplicate block, which may be empty.
    pub fn write_pool(&mut self) -> (&mut [u8], &mut [u8]) {
        let len = self.layout.len - self.layout.write_start;
        // SAFETY: the range is within the mapping and initialised (zero), and `&mut self` excludes other users: memory is
        // shared once it is filled; no operation is in flight while the worker prepares its buffers.
        let pool =
            unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().add(self.layout.write_start), len) };
        pool.split_at_mut(self.layout.duplicate_start - self.layout.write_start)
    }

    /// Touches every page, so that no page fault occurs in the measured window.
    pub fn touch(&mut self) {
        for offset in (0..self.layout.len).step_by(PAGE) {
            // SAFETY: within the mapping; volatile so that the write is not optimised away.
            unsafe { self.at(offset).write_volatile(self.at(offset).read_volatile()) };
        }
    }

    /// Address and length of the whole mapping, for registering it with the kernel.
    #[cfg(target_pointer_width = "64")]
    pub fn whole(&self) -> (*mut u8, usize) {
        (self.base.as_ptr(), self.layout.len)
    }
}

impl Memory {
    /// What it was mapped for.
    pub fn plan(&self) -> BufferPlan {
        self.plan
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and no buffers are in it any more. Pages that the kernel still uses for I/O in
        // flight are pinned by it and outlive the mapping.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.plan.bytes()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn buffers_are_aligned_and_do_not_overlap() {
        for plan in [
            BufferPlan {
                slots: 4,
                read_bytes: 4096,
                write_bytes: 65536,
                duplicate: true,
                pages: BufferPages::Huge,
            },
            BufferPlan {
                slots: 1,
                read_bytes: 0,
                write_bytes: 512,
                duplicate: false,
                pages: BufferPages::Huge,
            },
            BufferPlan {
                slots: 3,
                read_bytes: 1 << 20,
                write_bytes: 2 << 20,
                duplicate: true,
                pages: BufferPages::Huge,
            },
        ] {
            let mut buffers = Buffers::new(plan).unwrap();
            buffers.touch();
            let mut starts = BTreeSet::new();
            for slot in 0..plan.slots {
                if plan.read_bytes > 0 {
                    starts.insert((buffers.read(slot) as usize, plan.read_bytes));
                }
                for turn in 0..buffers.layout.variants {
                    starts.insert((buffers.write(slot, turn) as usize, plan.write_bytes));
                }
            }
            if plan.duplicate {
                starts.insert((buffers.duplicate() as usize, plan.write_bytes));
            }
            let (base, len) = buffers.whole();
            let mut end = base as usize;
            for (start, bytes) in starts {
                assert!(start.is_multiple_of(PAGE) && start >= end, "{plan:?}");
                end = start + bytes;
            }
            assert!(end <= base as usize + len);
        }
    }

    /// What the kernel says about the mapping that begins at `base`: `hg` for advised huge pages, `nh` for none.
    fn flags(base: *mut u8) -> String {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let begins = format!("{:x}-", base as usize);
        let own = maps.lines().skip_while(|line| !line.starts_with(&begins));
        own.filter_map(|line| line.strip_prefix("VmFlags:")).next().unwrap().to_owned()
    }

    #[test]
    fn the_kernel_is_told_which_pages_are_wanted() {
        for (pages, flag) in [(BufferPages::Huge, " hg"), (BufferPages::Normal, " nh")] {
            let plan = BufferPlan { slots: 6, read_bytes: 1 << 20, write_bytes: 0, duplicate: false, pages };
            let buffers = Buffers::new(plan).unwrap();
            let told = flags(buffers.whole().0);
            assert!(told.contains(flag), "{pages:?}: {told}");
        }
    }

    #[test]
    fn large_buffers_are_huge_page_aligned_and_usable() {
        for slots in [2, 5] {
            let plan = BufferPlan {
                slots,
                read_bytes: 1 << 20,
                write_bytes: 0,
                duplicate: false,
                pages: BufferPages::Huge,
            };
            let mut buffers = Buffers::new(plan).unwrap();
            buffers.touch();
            let (base, len) = buffers.whole();
            assert!(len == slots << 20 && (base as usize).is_multiple_of(HUGE_PAGE));
        }
    }

    #[test]
    fn a_single_small_slot_cycles_through_a_pool() {
        let buffers = Buffers::new(BufferPlan {
            slots: 1,
            read_bytes: 0,
            write_bytes: 4096,
            duplicate: false,
            pages: BufferPages::Huge,
        })
        .unwrap();
        assert_eq!(buffers.layout.variants, POOL_BYTES / 4096);
        assert_eq!(buffers.write(0, 0), buffers.write(0, buffers.layout.variants));
    }
}
