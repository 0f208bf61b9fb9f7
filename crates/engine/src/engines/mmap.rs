//! Memory-mapped files: a read copies from the mapping, a write copies into it, a sync is `msync`.
//!
//! When the storage below a mapping fails, the kernel cannot return an error and sends SIGBUS. The handler here
//! maps a page of zeros at the failing address, so that the copy can continue, and sets a mark that turns the
//! operation into an `EIO`. From then on the mapping contains a page that is memory and not file: it is dead, and
//! every later operation on it is an `EIO` too.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Once;
use std::sync::atomic::{Ordering, compiler_fence};

use model::{Capabilities, EngineKind};

use super::{Completion, Engine, Request, Setup, Verb, uninterrupted};
use crate::clock::MonotonicClock;

pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    kind: EngineKind::Mmap,
    synchronous: true,
    buffered_only: true,
    trim: false,
    max_iodepth: 1,
    summary: "memory-mapped files, through the page cache",
};

pub(crate) fn probe() -> io::Result<()> {
    Ok(())
}

thread_local! {
    /// The mapping that the calling thread is copying from or to, as (first address, end).
    static GUARDED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// A guarded access has failed.
    static FAULTED: Cell<bool> = const { Cell::new(false) };
}

fn page_bytes() -> usize {
    // SAFETY: a query without side effects.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// Replaces the failing page by zeros if the fault is in the guarded mapping; otherwise restores the default
/// action. Calls only async-signal-safe functions.
extern "C" fn on_sigbus(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo; for SIGBUS it holds the address.
    let address = unsafe { (*info).si_addr() } as usize;
    let (start, end) = GUARDED.get();
    if !(start..end).contains(&address) {
        // SAFETY: resetting to the default; the faulting instruction runs again and ends the process.
        unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
        return;
    }
    let page = page_bytes();
    // SAFETY: replaces one page inside the engine's own mapping, which stays mapped.
    unsafe {
        libc::mmap(
            (address & !(page - 1)) as *mut libc::c_void,
            page,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            -1,
            0,
        );
    }
    FAULTED.set(true);
}

fn install_handler() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: an all-zero sigaction is valid; the handler is async-signal-safe.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_sigbus as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
            libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
        }
    });
}

/// One mapped file, unmapped with the value.
struct Mapping {
    base: *mut u8,
    len: usize,
    /// The actual size of the file in bytes; pages beyond it can be mapped but not accessed.
    present: u64,
    /// A page of it was replaced by zeros.
    dead: bool,
}

impl Mapping {
    fn new(file: &File, len: usize, writable: bool, random: bool) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let present = if metadata.is_file() { metadata.len() } else { len as u64 };
        let fd = file.as_raw_fd();
        let protection = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: a new mapping; no existing memory is affected.
        let base = unsafe { libc::mmap64(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, fd, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let advice = if random { libc::MADV_RANDOM } else { libc::MADV_SEQUENTIAL };
        // SAFETY: advice on the mapping just made; failing advice has no effect.
        unsafe { libc::madvise(base, len, advice) };
        Ok(Self { base: base.cast(), len, present: present.min(len as u64), dead: false })
    }

    /// Copies `len` bytes from or to the mapping, which may fail under the copy.
    fn copy(&mut self, from: *const u8, to: *mut u8, len: usize) -> i64 {
        GUARDED.set((self.base as usize, self.base as usize + self.len));
        FAULTED.set(false);
        // The handler runs in this thread: for the compiler, the guard must be set before the copy, and the check
        // must come after it.
        compiler_fence(Ordering::SeqCst);
        // SAFETY: both ranges are `len` bytes long, one in the mapping and one in the driver's buffers, so they
        // do not overlap; the handler resolves a fault in the mapping.
        unsafe { std::ptr::copy_nonoverlapping(from, to, len) };
        compiler_fence(Ordering::SeqCst);
        GUARDED.set((0, 0));
        self.dead = FAULTED.get();
        if self.dead { -i64::from(libc::EIO) } else { len as i64 }
    }

    fn sync(&self) -> i64 {
        // SAFETY: the whole mapping, which this value owns.
        uninterrupted(|| unsafe { libc::msync(self.base.cast(), self.len, libc::MS_SYNC) as isize })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and nothing refers to it any more.
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}

pub(crate) struct Mmap {
    mappings: Vec<Mapping>,
    writable: bool,
}

impl Engine for Mmap {
    type Clock = MonotonicClock;

    const SYNCHRONOUS: bool = true;

    fn open(setup: &Setup<'_>) -> io::Result<(Self, MonotonicClock)> {
        install_handler();
        let len =
            usize::try_from(setup.file_bytes).map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))?;
        let map = |file| Mapping::new(file, len, setup.writable, setup.random);
        let mappings = setup.files.iter().map(map).collect::<io::Result<_>>()?;
        let engine = Self { mappings, writable: setup.writable };
        Ok((engine, MonotonicClock::default()))
    }

    fn submit(&mut self, batch: &[Request], out: &mut Vec<Completion>) -> io::Result<usize> {
        let Some(request) = batch.first() else { return Ok(0) };
        let result = match request.verb {
            Verb::Read | Verb::Write => self.transfer(request),
            _ if self.mappings[request.file as usize].dead => -i64::from(libc::EIO),
            Verb::Fsync | Verb::Fdatasync => self.mappings[request.file as usize].sync(),
            Verb::Trim | Verb::Allocate | Verb::Truncate => -i64::from(libc::EOPNOTSUPP),
        };
        out.push(Completion { slot: request.slot, result });
        Ok(1)
    }

    fn transfer(&mut self, request: &Request) -> i64 {
        let mapping = &mut self.mappings[request.file as usize];
        // Like read(2) at the end of a file: a transfer stops there.
        let len = mapping.present.saturating_sub(request.offset).min(u64::from(request.len)) as usize;
        let target = mapping.base.wrapping_add(request.offset as usize);
        match request.verb {
            _ if mapping.dead => -i64::from(libc::EIO),
            Verb::Read => mapping.copy(target, request.buffer, len),
            _ if !self.writable => -i64::from(libc::EBADF),
            _ => mapping.copy(request.buffer, target, len),
        }
    }

    fn reap(&mut self, _min: usize, _timeout_ns: u64, _out: &mut Vec<Completion>) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffers::{BufferPlan, Buffers};
    use model::BufferPages;

    const BLOCK: u32 = 4096;

    fn file() -> File {
        let file = tempfile::tempfile().unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &[7; 4 * BLOCK as usize], 0).unwrap();
        file
    }

    /// The page that the handler mapped used to be read and written afterwards as if the file were intact.
    #[test]
    fn after_a_fault_every_operation_on_that_file_fails() {
        let files = [file(), file()];
        let plan = BufferPlan {
            slots: 1,
            read_bytes: BLOCK as usize,
            write_bytes: BLOCK as usize,
            duplicate: false,
            pages: BufferPages::Huge,
        };
        let buffers = Buffers::new(plan).unwrap();
        let setup = Setup {
            files: &files,
            file_bytes: u64::from(4 * BLOCK),
            iodepth: 1,
            buffers: &buffers,
            register_buffers: true,
            writable: true,
            random: true,
            sim: None,
        };
        let (mut engine, _) = Mmap::open(&setup).unwrap();
        let mut operate = |verb, file, block: u32| {
            let buffer = buffers.read(0);
            let offset = u64::from(block * BLOCK);
            let len = if verb == Verb::Fsync { 0 } else { BLOCK };
            let mut out = Vec::new();
            engine.submit(&[Request { slot: 0, verb, file, offset, len, buffer }], &mut out).unwrap();
            out[0].result
        };
        assert_eq!(operate(Verb::Read, 0, 2), i64::from(BLOCK));
        files[0].set_len(0).unwrap();
        let eio = -i64::from(libc::EIO);
        assert_eq!(operate(Verb::Read, 0, 2), eio);
        for verb in [Verb::Read, Verb::Write, Verb::Fsync] {
            assert_eq!(operate(verb, 0, 2), eio, "{verb:?}");
        }
        assert_eq!(operate(Verb::Read, 1, 2), i64::from(BLOCK));
        assert_eq!(operate(Verb::Fsync, 1, 0), 0);
    }
}
