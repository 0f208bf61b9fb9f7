//! `pread` and `pwrite`: one operation at a time, in the calling thread.

use std::io;
use std::os::fd::RawFd;

use model::{Capabilities, EngineKind};

use super::{Completion, Engine, Request, Setup, Verb, blocking, raw_fds, uninterrupted};
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
    done: Vec<Completion>,
}

impl Engine for Psync {
    type Clock = MonotonicClock;

    const SYNCHRONOUS: bool = true;

    fn open(setup: &Setup<'_>) -> io::Result<(Self, MonotonicClock)> {
        Ok((Self { fds: raw_fds(setup.files), done: Vec::with_capacity(1) }, MonotonicClock))
    }

    #[inline]
    fn submit(&mut self, batch: &[Request]) -> io::Result<usize> {
        let Some(request) = batch.first() else { return Ok(0) };
        let fd = self.fds[request.file as usize];
        let (buffer, len, offset) = (request.buffer.cast(), request.len as usize, request.offset as i64);
        let result = match request.verb {
            // SAFETY: the buffer has room for `len` bytes and is not in use by another operation.
            Verb::Read => uninterrupted(|| unsafe { libc::pread64(fd, buffer, len, offset) }),
            // SAFETY: the buffer holds `len` initialised bytes.
            Verb::Write => uninterrupted(|| unsafe { libc::pwrite64(fd, buffer, len, offset) }),
            _ => blocking(request, fd),
        };
        self.done.push(Completion { slot: request.slot, result });
        Ok(1)
    }

    #[inline]
    fn reap(&mut self, _min: usize, _timeout_ns: u64, out: &mut Vec<Completion>) -> io::Result<()> {
        out.append(&mut self.done);
        Ok(())
    }
}
