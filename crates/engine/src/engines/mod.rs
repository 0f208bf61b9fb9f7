//! The engines: each submits requests to the kernel in its own way and has no clock.
//!
//! An engine has two hooks, `submit` and `reap`; opening sets up, dropping tears down. A synchronous engine has a third,
//! `transfer`, and a separate loop for workloads of plain transfers. Every engine does syncs and trims in the calling
//! thread: before a sync the driver has drained the queue, so a helper would only add a hand-over. `sim` has a virtual
//! clock and a given latency distribution, on which driver, pacing, percentiles and failure handling are tested exactly.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

use model::{Capabilities, EngineKind, Operation};

use crate::buffers::Buffers;
use crate::clock::Clock;

pub(crate) mod libaio;
pub(crate) mod mmap;
pub(crate) mod psync;
pub(crate) mod sim;
#[cfg(target_pointer_width = "64")]
pub(crate) mod uring;

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Read,
    Write,
    Fsync,
    Fdatasync,
    Trim,
    Allocate,
    Truncate,
}

impl From<Verb> for Operation {
    fn from(verb: Verb) -> Self {
        match verb {
            Verb::Read => Self::Read,
            Verb::Write => Self::Write,
            Verb::Fsync | Verb::Fdatasync => Self::Sync,
            Verb::Trim => Self::Trim,
            Verb::Allocate => Self::Allocate,
            Verb::Truncate => Self::Truncate,
        }
    }
}

/// One operation to be started. The buffer stays valid and untouched until its completion is reaped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub slot: u32,
    pub verb: Verb,
    /// Index into [`Setup::files`].
    pub file: u32,
    /// Byte offset in the file.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
    pub buffer: *mut u8,
}

/// One completed operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    pub slot: u32,
    /// Bytes moved, or a negative errno.
    pub result: i64,
}

/// What an engine is opened with.
#[cfg_attr(not(target_pointer_width = "64"), allow(dead_code))]
pub(crate) struct Setup<'a> {
    pub files: &'a [File],
    /// Bytes of each file that may be accessed.
    pub file_bytes: u64,
    pub iodepth: u32,
    pub buffers: &'a Buffers,
    /// Whether to register the buffers with the kernel, where the engine can.
    pub register_buffers: bool,
    pub writable: bool,
    pub random: bool,
    pub sim: Option<&'a sim::SimModel>,
}

/// A method of I/O. Opening does all set-up; dropping tears down.
pub(crate) trait Engine: Sized {
    /// The clock in whose time the engine works.
    type Clock: Clock;

    /// True if every operation has completed when `submit` returns.
    const SYNCHRONOUS: bool;

    /// Prepares the engine for `setup.iodepth` operations in flight.
    ///
    /// # Errors
    /// The kernel's error.
    fn open(setup: &Setup<'_>) -> io::Result<(Self, Self::Clock)>;

    /// Starts the requests, in order, and returns how many were accepted; the rest is offered again. Operations
    /// that have completed when the call returns are appended to `out`.
    ///
    /// # Errors
    /// Only errors of the engine itself; a failed operation is a completion.
    fn submit(&mut self, batch: &[Request], out: &mut Vec<Completion>) -> io::Result<usize>;

    /// Does one read or write and returns its result in the form of a completion. Only for a synchronous engine.
    fn transfer(&mut self, request: &Request) -> i64 {
        unreachable!("only a synchronous engine transfers at once, not for {request:?}")
    }

    /// Appends completions to `out`: all available ones without waiting if there are at least `min`; otherwise
    /// waits for `min`, but no longer than `timeout_ns`.
    ///
    /// # Errors
    /// Only errors of the engine itself.
    fn reap(&mut self, min: usize, timeout_ns: u64, out: &mut Vec<Completion>) -> io::Result<()>;
}

/// An engine in the list of all: its capabilities, and whether it works here.
pub struct EngineEntry {
    /// Its capabilities.
    pub capabilities: Capabilities,
    probe: fn() -> io::Result<()>,
}

impl EngineEntry {
    /// Tests whether the engine works on this machine.
    ///
    /// # Errors
    /// The reason, such as `ENOSYS` from an old kernel or `EPERM` in a container.
    pub fn probe(&self) -> io::Result<()> {
        (self.probe)()
    }
}

/// All engines that drive real storage, the best first. `auto` selects the first that works.
pub static ENGINES: &[EngineEntry] = &[
    #[cfg(target_pointer_width = "64")]
    EngineEntry { capabilities: uring::CAPABILITIES, probe: uring::probe },
    EngineEntry { capabilities: libaio::CAPABILITIES, probe: libaio::probe },
    EngineEntry { capabilities: psync::CAPABILITIES, probe: psync::probe },
    EngineEntry { capabilities: mmap::CAPABILITIES, probe: mmap::probe },
];

/// The engine that touches no storage; it works where io_uring does.
pub static NOOP: Capabilities = Capabilities {
    kind: EngineKind::Noop,
    synchronous: false,
    buffered_only: false,
    trim: false,
    max_iodepth: 32_768,
    summary: "io_uring no-op requests: the cost of the generator itself",
};

fn raw_fds(files: &[File]) -> Vec<RawFd> {
    files.iter().map(AsRawFd::as_raw_fd).collect()
}

/// Bytes on success, negative errno on failure, in the form of a completion.
fn outcome(result: isize) -> i64 {
    if result < 0 { -i64::from(last_errno()) } else { result as i64 }
}

fn last_errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// Repeats a call after a signal interrupts it.
fn uninterrupted(mut call: impl FnMut() -> isize) -> i64 {
    loop {
        let result = outcome(call());
        if result != -i64::from(libc::EINTR) {
            return result;
        }
    }
}

/// Executes what every engine does in the calling thread: syncs, trims and changes of a file's allocation. Before
/// a sync the driver has let everything in flight complete, so a helper thread would only add the cost of the
/// hand-over.
fn blocking(request: &Request, fd: RawFd) -> i64 {
    let len = request.len;
    match request.verb {
        // SAFETY: the descriptor is open for the engine's whole life.
        Verb::Fsync => uninterrupted(|| unsafe { libc::fsync(fd) } as isize),
        // SAFETY: as above.
        Verb::Fdatasync => uninterrupted(|| unsafe { libc::fdatasync(fd) } as isize),
        Verb::Trim => {
            let result = uninterrupted(|| trim(fd, request.offset, u64::from(len)));
            if result < 0 { result } else { i64::from(len) }
        }
        Verb::Allocate => {
            // SAFETY: plain integers.
            let allocate = || unsafe { libc::fallocate64(fd, 0, request.offset as i64, i64::from(len)) };
            let result = uninterrupted(|| allocate() as isize);
            if result < 0 { result } else { i64::from(len) }
        }
        Verb::Truncate => {
            // SAFETY: plain integers.
            let result = uninterrupted(|| unsafe { libc::ftruncate64(fd, request.offset as i64) } as isize);
            if result < 0 { result } else { i64::from(len) }
        }
        Verb::Read | Verb::Write => unreachable!("the engine itself does reads and writes"),
    }
}

/// `BLKDISCARD`: discards a range of a block device. From linux/fs.h, `_IO(0x12, 119)`.
const BLKDISCARD: libc::Ioctl = 0x1277;

fn trim(fd: RawFd, offset: u64, len: u64) -> isize {
    let range = [offset, len];
    // SAFETY: the ioctl reads two u64 from the pointer.
    let discarded = unsafe { libc::ioctl(fd, BLKDISCARD, &range) };
    if discarded == 0 || last_errno() != libc::ENOTTY {
        return discarded as isize;
    }
    // Not a block device: punch a hole, which the filesystem may pass on as a discard.
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: plain integers.
    unsafe { libc::fallocate64(fd, mode, offset as i64, len as i64) as isize }
}
