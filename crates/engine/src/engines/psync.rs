//! `pread` and `pwrite`: one operation at a time, in the calling thread.

use std::io;
use std::os::fd::{BorrowedFd, RawFd};

use model::{Capabilities, EngineKind};

use super::{Completion, Engine, Request, Setup, Verb, blocking, raw_fds};
use crate::clock::MonotonicClock;

pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    kind: EngineKind::Psync,
    synchronous: true,
    buffered_only: false,
    trim: true,
    max_iodepth: 1,
    summary: "pread and pwrite, one operation at a time",
};

pub(crate) fn probe() -> io::Result<()> {
    Ok(())
}

pub(crate) struct Psync {
    fds: Vec<RawFd>,
}

impl Engine for Psync {
    type Clock = MonotonicClock;

    const SYNCHRONOUS: bool = true;

    fn open(setup: &Setup<'_>) -> io::Result<(Self, MonotonicClock)> {
        Ok((Self { fds: raw_fds(setup.files) }, MonotonicClock))
    }

    #[inline]
    fn submit(&mut self, batch: &[Request], out: &mut Vec<Completion>) -> io::Result<usize> {
        let Some(request) = batch.first() else { return Ok(0) };
        let fd = self.fds[request.file as usize];
        let result = match request.verb {
            Verb::Read => {
                transferred(request, |file, memory| rustix::io::pread(file, memory, request.offset), fd)
            }
            Verb::Write => {
                transferred(request, |file, memory| rustix::io::pwrite(file, memory, request.offset), fd)
            }
            _ => blocking(request, fd),
        };
        out.push(Completion { slot: request.slot, result });
        Ok(1)
    }

    #[inline]
    fn reap(&mut self, _min: usize, _timeout_ns: u64, _out: &mut Vec<Completion>) -> io::Result<()> {
        Ok(())
    }
}

/// Does a transfer by the plain system call: the C library's wrappers are points at which a thread can be
/// cancelled, which costs them two atomic operations.
#[inline]
fn transferred(
    request: &Request,
    mut call: impl FnMut(BorrowedFd<'_>, &mut [u8]) -> rustix::io::Result<usize>,
    fd: RawFd,
) -> i64 {
    // SAFETY: the file is open for the engine's whole life.
    let file = unsafe { BorrowedFd::borrow_raw(fd) };
    // SAFETY: the buffer has `len` bytes, which no other operation uses now.
    let memory = unsafe { std::slice::from_raw_parts_mut(request.buffer, request.len as usize) };
    loop {
        match call(file, memory) {
            Ok(bytes) => return bytes as i64,
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return -i64::from(errno.raw_os_error()),
        }
    }
}
