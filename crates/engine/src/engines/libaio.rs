//! Linux native asynchronous I/O by raw system calls: `io_setup`, `io_submit`, `io_getevents`.
//!
//! Asynchronous only for direct I/O: a buffered operation completes inside `io_submit`, which the observed queue
//! depth then shows. Completions are taken from the ring that the kernel maps into the process, without a system
//! call while there are any (the layout is fs/aio.c's `struct aio_ring`, checked by its magic number).

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU32, Ordering};

use model::{Capabilities, EngineKind};

use super::{Completion, Engine, Request, Setup, Verb, blocking, raw_fds};
use crate::clock::{MonotonicClock, timespec};

pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    kind: EngineKind::Libaio,
    synchronous: false,
    buffered_only: false,
    trim: true,
    max_iodepth: 32_768,
    summary: "Linux native asynchronous I/O (io_submit); asynchronous for direct I/O only",
};

const IOCB_CMD_PREAD: u16 = 0;
const IOCB_CMD_PWRITE: u16 = 1;
const AIO_RING_MAGIC: u32 = 0xa10a_10a1;

/// `struct iocb` of linux/aio_abi.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Iocb {
    data: u64,
    key_and_flags: [u32; 2],
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    result_fd: u32,
}

/// `struct io_event` of linux/aio_abi.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct IoEvent {
    data: u64,
    object: u64,
    result: i64,
    result2: i64,
}

/// The head of the completion ring, followed by `entries` times [`IoEvent`].
#[repr(C)]
struct Ring {
    id: u32,
    entries: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compat_features: u32,
    incompat_features: u32,
    header_bytes: u32,
}

/// A kernel context, destroyed with the value.
struct Context(usize);

impl Context {
    fn new(entries: u32) -> io::Result<Self> {
        let mut id: usize = 0;
        // SAFETY: `id` is valid for writing an aio_context_t.
        match unsafe { libc::syscall(libc::SYS_io_setup, entries, &mut id) } {
            0 => Ok(Self(id)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The ring, if its layout is the one that this code knows.
    fn ring(&self) -> Option<&Ring> {
        // SAFETY: an aio_context_t is the address at which the kernel mapped the ring, for the lifetime of the
        // context.
        let ring = unsafe { &*(self.0 as *const Ring) };
        let known = ring.magic == AIO_RING_MAGIC
            && ring.incompat_features == 0
            && ring.header_bytes as usize == size_of::<Ring>();
        known.then_some(ring)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: this value owns the context, which is not used after this.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.0) };
    }
}

pub(crate) fn probe() -> io::Result<()> {
    // No context is created: destroying it would wait for the kernel, tens of milliseconds. A kernel that has the
    // call rejects a queue of length zero as invalid.
    let mut id: usize = 0;
    // SAFETY: `id` is valid for writing an aio_context_t.
    unsafe { libc::syscall(libc::SYS_io_setup, 0, &mut id) };
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
        error => Err(error),
    }
}

pub(crate) struct Libaio {
    context: Context,
    ring_is_known: bool,
    fds: Vec<RawFd>,
    /// One control block per slot; the kernel copies it at submission.
    iocbs: Vec<Iocb>,
    pointers: Vec<*mut Iocb>,
    events: Vec<IoEvent>,
}

impl Libaio {
    /// Takes the completions in the mapped ring, without entering the kernel.
    fn take_from_ring(&self, out: &mut Vec<Completion>) {
        let Some(ring) = self.ring_is_known.then(|| self.context.ring()).flatten() else { return };
        let tail = ring.tail.load(Ordering::Acquire);
        let mut head = ring.head.load(Ordering::Relaxed);
        let first = std::ptr::from_ref(ring).wrapping_add(1).cast::<IoEvent>();
        while head != tail {
            // SAFETY: head is below `entries`, and the kernel has finished writing the events up to tail.
            let event = unsafe { first.add(head as usize).read_volatile() };
            out.push(Completion { slot: event.data as u32, result: event.result });
            head = if head + 1 >= ring.entries { 0 } else { head + 1 };
        }
        ring.head.store(head, Ordering::Release);
    }

    fn wait(&mut self, min: usize, timeout_ns: u64, out: &mut Vec<Completion>) -> io::Result<()> {
        let mut timeout = timespec(timeout_ns);
        // SAFETY: `events` has room for the maximum number of events that the call may return.
        let n = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context.0,
                min as libc::c_long,
                self.events.len() as libc::c_long,
                self.events.as_mut_ptr(),
                &mut timeout,
            )
        };
        if n < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        }
        let events = &self.events[..n as usize];
        out.extend(events.iter().map(|e| Completion { slot: e.data as u32, result: e.result }));
        Ok(())
    }
}

impl Engine for Libaio {
    type Clock = MonotonicClock;

    const SYNCHRONOUS: bool = false;

    fn open(setup: &Setup<'_>) -> io::Result<(Self, MonotonicClock)> {
        let context = Context::new(setup.iodepth)?;
        let depth = setup.iodepth as usize;
        let engine = Self {
            ring_is_known: context.ring().is_some(),
            context,
            fds: raw_fds(setup.files),
            iocbs: vec![Iocb::default(); depth],
            pointers: Vec::with_capacity(depth),
            events: vec![IoEvent::default(); depth],
        };
        Ok((engine, MonotonicClock::default()))
    }

    fn submit(&mut self, batch: &[Request], out: &mut Vec<Completion>) -> io::Result<usize> {
        self.pointers.clear();
        for request in batch {
            let opcode = match request.verb {
                Verb::Read => IOCB_CMD_PREAD,
                Verb::Write => IOCB_CMD_PWRITE,
                _ => break,
            };
            let iocb = &mut self.iocbs[request.slot as usize];
            *iocb = Iocb {
                data: u64::from(request.slot),
                opcode,
                fd: self.fds[request.file as usize] as u32,
                buffer: request.buffer as u64,
                bytes: u64::from(request.len),
                offset: request.offset as i64,
                ..Iocb::default()
            };
            self.pointers.push(iocb);
        }
        if self.pointers.is_empty() {
            let Some(request) = batch.first() else { return Ok(0) };
            let result = blocking(request, self.fds[request.file as usize]);
            out.push(Completion { slot: request.slot, result });
            return Ok(1);
        }
        let count = self.pointers.len() as libc::c_long;
        // SAFETY: the pointers refer to control blocks that live as long as the engine, whose buffers the driver
        // keeps valid until the completion.
        let n = unsafe { libc::syscall(libc::SYS_io_submit, self.context.0, count, self.pointers.as_ptr()) };
        if n >= 0 {
            return Ok(n as usize);
        }
        match io::Error::last_os_error() {
            error if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => Ok(0),
            // The kernel rejected the first control block: that operation has failed with this errno.
            error => {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                out.push(Completion { slot: batch[0].slot, result: -i64::from(errno) });
                Ok(1)
            }
        }
    }

    fn reap(&mut self, min: usize, timeout_ns: u64, out: &mut Vec<Completion>) -> io::Result<()> {
        self.take_from_ring(out);
        if out.len() >= min {
            return Ok(());
        }
        self.wait(min - out.len(), timeout_ns, out)
    }
}
