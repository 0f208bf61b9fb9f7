//! The memory that operations read into and write from: one mapping per worker, set up and touched
//! before the measured window, never grown in it.

use std::io;
use std::ptr::NonNull;

use crate::cache::page_bytes;

/// Smallest amount of write data that a worker cycles through. Successive writes therefore differ in
/// content over a longer distance than compressing filesystems and devices look at (128 KiB to 1 MiB).
const POOL_BYTES: usize = 1 << 20;

/// Alignment of every buffer: the strictest that direct I/O asks for.
const PAGE: usize = 4096;
/// Smaller memory gets no huge pages: one is 2 MiB on most machines.
const HUGE_PAGE: usize = 2 << 20;

/// A worker's buffers: for each slot one to read into and several to write from, plus one block for
/// duplicate content where there is any. All lie in one mapping, which an engine can register as a whole.
pub(crate) struct Buffers {
    base: NonNull<u8>,
    len: usize,
    read_stride: usize,
    write_start: usize,
    write_stride: usize,
    variants: usize,
    duplicate_start: usize,
}

/// How large the buffers must be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferPlan {
    /// Operations in flight.
    pub slots: usize,
    /// Largest read in bytes; 0 if nothing is read.
    pub read_bytes: usize,
    /// Largest write in bytes; 0 if nothing is written.
    pub write_bytes: usize,
    /// A block of duplicate content is needed too.
    pub duplicate: bool,
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

/// The same at a multiple of a huge page, and in huge pages where the kernel has some left. A large block that lies
/// scattered over memory reaches the device in many segments, or even as several requests: then luck with pages would
/// decide about the figure.
fn mapped_huge(len: usize) -> io::Result<NonNull<u8>> {
    // The kernel's pages may be larger than ours.
    let len = len.next_multiple_of(page_bytes() as usize);
    let start = mapped(len + HUGE_PAGE)?.as_ptr();
    let before = start.align_offset(HUGE_PAGE);
    // SAFETY: what lies before and behind the wanted part belongs to the new mapping, and nobody knows of it; the part in
    // the middle stays. Both ends are whole pages. Advice that fails has no consequence.
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

impl Buffers {
    /// Maps the memory. It is zeroed and not yet touched.
    ///
    /// # Errors
    /// The kernel's, if there is not enough memory.
    pub fn new(plan: BufferPlan) -> io::Result<Self> {
        let stride = |bytes: usize| bytes.next_multiple_of(PAGE);
        let (read_stride, write_stride) = (stride(plan.read_bytes), stride(plan.write_bytes));
        let variants = match write_stride * plan.slots {
            0 => 0,
            one_each => POOL_BYTES.div_ceil(one_each),
        };
        let write_start = read_stride * plan.slots;
        let duplicate_start = write_start + write_stride * plan.slots * variants;
        let duplicate_stride = if plan.duplicate { write_stride } else { 0 };
        let len = (duplicate_start + duplicate_stride).max(PAGE);
        let base = if len < HUGE_PAGE { mapped(len)? } else { mapped_huge(len)? };
        Ok(Self { base, len, read_stride, write_start, write_stride, variants, duplicate_start })
    }

    fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset < self.len);
        // SAFETY: the offset lies within the mapping.
        unsafe { self.base.as_ptr().add(offset) }
    }

    /// Where slot `slot` reads into.
    pub fn read(&self, slot: usize) -> *mut u8 {
        self.at(slot * self.read_stride)
    }

    /// Where slot `slot` writes from on its `turn`-th use; the variants come round in turn.
    pub fn write(&self, slot: usize, turn: usize) -> *mut u8 {
        self.at(self.write_start + (slot * self.variants + turn % self.variants) * self.write_stride)
    }

    /// The block of duplicate content, if the plan has one.
    pub fn duplicate(&self) -> *mut u8 {
        self.at(self.duplicate_start)
    }

    /// All memory that is written from: the slots', and the duplicate block, which may be empty.
    pub fn write_pool(&mut self) -> (&mut [u8], &mut [u8]) {
        let len = self.len - self.write_start;
        // SAFETY: the range lies within the mapping, is initialised (zero), and `&mut self` keeps
        // others away; no operation is in flight while the worker prepares its buffers.
        let pool = unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().add(self.write_start), len) };
        pool.split_at_mut(self.duplicate_start - self.write_start)
    }

    /// Touches every page, so that no page fault falls into the measured window.
    pub fn touch(&mut self) {
        for offset in (0..self.len).step_by(PAGE) {
            // SAFETY: within the mapping; volatile so that the write is not optimised away.
            unsafe { self.at(offset).write_volatile(self.at(offset).read_volatile()) };
        }
    }

    /// Address and length of the whole mapping, for registering it with the kernel.
    pub fn whole(&self) -> (*mut u8, usize) {
        (self.base.as_ptr(), self.len)
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours. Pages that the kernel still uses for I/O in flight are pinned
        // by it and outlive the mapping.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn buffers_are_aligned_and_do_not_overlap() {
        for plan in [
            BufferPlan { slots: 4, read_bytes: 4096, write_bytes: 65536, duplicate: true },
            BufferPlan { slots: 1, read_bytes: 0, write_bytes: 512, duplicate: false },
            BufferPlan { slots: 3, read_bytes: 1 << 20, write_bytes: 2 << 20, duplicate: true },
        ] {
            let mut buffers = Buffers::new(plan).unwrap();
            buffers.touch();
            let mut starts = BTreeSet::new();
            for slot in 0..plan.slots {
                if plan.read_bytes > 0 {
                    starts.insert((buffers.read(slot) as usize, plan.read_bytes));
                }
                for turn in 0..buffers.variants {
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

    #[test]
    fn large_buffers_begin_at_a_huge_page_and_all_of_them_can_be_used() {
        for slots in [2, 5] {
            let plan = BufferPlan { slots, read_bytes: 1 << 20, write_bytes: 0, duplicate: false };
            let mut buffers = Buffers::new(plan).unwrap();
            buffers.touch();
            let (base, len) = buffers.whole();
            assert!(len == slots << 20 && (base as usize).is_multiple_of(HUGE_PAGE));
        }
    }

    #[test]
    fn a_single_small_slot_still_cycles_through_a_pool() {
        let buffers =
            Buffers::new(BufferPlan { slots: 1, read_bytes: 0, write_bytes: 4096, duplicate: false })
                .unwrap();
        assert_eq!(buffers.variants, POOL_BYTES / 4096);
        assert_eq!(buffers.write(0, 0), buffers.write(0, buffers.variants));
    }
}
