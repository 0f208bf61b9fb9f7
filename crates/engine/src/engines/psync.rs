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
        Ok((Self { fds: raw_fds(setup.files) }, MonotonicClock::default()))
    }

    fn submit(&mut self, batch: &[Request], out: &mut Vec<Completion>) -> io::Result<usize> {
        let Some(request) = batch.first() else { return Ok(0) };
        let result = match request.verb {
            Verb::Read | Verb::Write => self.transfer(request),
            _ => blocking(request, self.fds[request.file as usize]),
        };
        out.push(Completion { slot: request.slot, result });
        Ok(1)
    }

    #[inline]
    fn transfer(&mut self, request: &Request) -> i64 {
        // SAFETY: the file is open for the engine's whole life.
        let file = unsafe { BorrowedFd::borrow_raw(self.fds[request.file as usize]) };
        // SAFETY: the buffer has `len` bytes, which no other operation uses now.
        let memory = unsafe { std::slice::from_raw_parts_mut(request.buffer, request.len as usize) };
        loop {
            // The plain system calls: the C library's wrappers are cancellation points, which cost them two
            // atomic operations.
            let result = if request.verb == Verb::Read {
                rustix::io::pread(file, &mut *memory, request.offset)
            } else {
                rustix::io::pwrite(file, memory, request.offset)
            };
            match result {
                Ok(bytes) => return bytes as i64,
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return -i64::from(errno.raw_os_error()),
            }
        }
    }

    #[inline]
    fn reap(&mut self, _min: usize, _timeout_ns: u64, _out: &mut Vec<Completion>) -> io::Result<()> {
        Ok(())
    }
}
