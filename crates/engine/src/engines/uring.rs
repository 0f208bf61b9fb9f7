//! Linux io_uring: registered files and buffers, batched submission, completions taken from the shared ring
//! without a system call while there are any.

use std::io;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use io_uring::types::{Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use model::{Capabilities, EngineKind};

use super::{Completion, Engine, Request, Setup, Verb, blocking, raw_fds};
use crate::clock::MonotonicClock;
use crate::locked_memory::locked_memory_limit;
use crate::release::CountedRing;

pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    kind: EngineKind::IoUring,
    synchronous: false,
    buffered_only: false,
    trim: true,
    max_iodepth: 32_768,
    summary: "Linux io_uring with registered files and buffers",
};

/// How long to wait for memory for a ring; less than a repeat that is interrupted waits for its workers. An idle kernel
/// releases the rings of the repeat before within milliseconds.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Sets up a ring with the flags that help a single thread which reaps its own completions, or without those that
/// the kernel does not support. With cooperative task running, the kernel finishes completions only when the
/// thread enters it, and sets a flag when some are pending. A short lack of memory does not cost flags, or repeats
/// would differ.
fn ring(entries: u32) -> io::Result<IoUring> {
    let with = |single_issuer: bool, coop: bool| {
        let mut builder = IoUring::builder();
        builder.dontfork();
        if coop {
            builder.setup_submit_all().setup_coop_taskrun().setup_taskrun_flag();
        }
        if single_issuer {
            builder.setup_single_issuer();
        }
        builder.build(entries)
    };
    let attempt = || {
        [(false, true), (false, false)].into_iter().fold(with(true, true), |made, (single_issuer, coop)| {
            made.or_else(
                |error| if is_out_of_memory(&error) { Err(error) } else { with(single_issuer, coop) },
            )
        })
    };
    retried_for_memory(TIMEOUT, attempt).map_err(|error| match is_out_of_memory(&error) {
        true => io::Error::new(io::ErrorKind::OutOfMemory, no_memory(&error, locked_memory_limit())),
        false => error,
    })
}

/// Attempts something again, for up to `timeout`, while it fails for lack of memory: the kernel charges rings to the user's
/// limit, and releases them some time after they are closed.
fn retried_for_memory<T>(timeout: Duration, mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
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

fn is_out_of_memory(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOMEM)
}

/// What to do where the kernel has no memory for a ring.
fn no_memory(error: &io::Error, limit: Option<u64>) -> String {
    let limit = match limit {
        Some(bytes) => format!(
            "rings count towards the {} KiB that this user may lock (`ulimit -l`); raise that limit, ",
            bytes >> 10
        ),
        None => String::new(),
    };
    format!("{error}; {limit}use fewer jobs or a smaller --iodepth, or select --engine libaio")
}

pub(crate) fn probe() -> io::Result<()> {
    let ring = ring(1)?;
    if !ring.params().is_feature_ext_arg() || !ring.params().is_feature_nodrop() {
        let why = "this kernel's io_uring cannot wait with a timeout (Linux 5.11 can)";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    Ok(())
}

pub(crate) struct Uring {
    ring: IoUring,
    fds: Vec<RawFd>,
    fixed_files: bool,
    fixed_buffers: bool,
    /// Entries in the submission ring that the kernel has not consumed yet.
    untaken: usize,
    _counted: CountedRing,
}

/// The entry for a read or a write.
#[inline]
fn entry(request: &Request, fd: RawFd, fixed_files: bool, fixed_buffers: bool) -> squeue::Entry {
    let (buffer, len, offset) = (request.buffer, request.len, request.offset);
    let file = Fixed(request.file);
    let entry = match (request.verb, fixed_files, fixed_buffers) {
        (Verb::Read, true, true) => opcode::ReadFixed::new(file, buffer, len, 0).offset(offset).build(),
        (Verb::Read, true, false) => opcode::Read::new(file, buffer, len).offset(offset).build(),
        (Verb::Read, false, true) => opcode::ReadFixed::new(Fd(fd), buffer, len, 0).offset(offset).build(),
        (Verb::Read, false, false) => opcode::Read::new(Fd(fd), buffer, len).offset(offset).build(),
        (_, true, true) => opcode::WriteFixed::new(file, buffer, len, 0).offset(offset).build(),
        (_, true, false) => opcode::Write::new(file, buffer, len).offset(offset).build(),
        (_, false, true) => opcode::WriteFixed::new(Fd(fd), buffer, len, 0).offset(offset).build(),
        (_, false, false) => opcode::Write::new(Fd(fd), buffer, len).offset(offset).build(),
    };
    entry.user_data(u64::from(request.slot))
}

impl Uring {
    /// Adds reads and writes to the ring, up to the first request that is neither. Returns how many.
    fn push(&mut self, batch: &[Request]) -> usize {
        let (fixed_files, fixed_buffers) = (self.fixed_files, self.fixed_buffers);
        let mut submission = self.ring.submission();
        let mut pushed = 0;
        for request in batch {
            if !matches!(request.verb, Verb::Read | Verb::Write) {
                break;
            }
            let entry = entry(request, self.fds[request.file as usize], fixed_files, fixed_buffers);
            // SAFETY: the buffer stays valid until the completion is reaped, and the file open for the
            // engine's whole life.
            if unsafe { submission.push(&entry) }.is_err() {
                break;
            }
            pushed += 1;
        }
        pushed
    }

    /// Submits entries to the kernel. What it cannot accept now stays in the ring for the next call.
    fn flush(&mut self) -> io::Result<()> {
        while self.untaken > 0 {
            match self.ring.submit() {
                Ok(0) => break,
                Ok(n) => self.untaken -= n,
                Err(error) if is_passing(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn take(&mut self, out: &mut Vec<Completion>) {
        let completions = self.ring.completion();
        out.extend(
            completions.map(|c| Completion { slot: c.user_data() as u32, result: i64::from(c.result()) }),
        );
    }
}

/// The kernel tears a ring down some time after its last descriptor is closed, in a kernel thread that may outlive this
/// process, and holds registered files until then: an immediate umount(8) would fail with "target is busy".
/// Unregistering releases the files before the call returns.
impl Drop for Uring {
    fn drop(&mut self) {
        let submitter = self.ring.submitter();
        if self.fixed_files {
            let _ = submitter.unregister_files();
        }
        if self.fixed_buffers {
            let _ = submitter.unregister_buffers();
        }
    }
}

/// Errors after which the same call may succeed: a temporary lack of resources, or a signal.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY | libc::EINTR))
}

impl Engine for Uring {
    type Clock = MonotonicClock;

    const SYNCHRONOUS: bool = false;

    fn open(setup: &Setup<'_>) -> io::Result<(Self, MonotonicClock)> {
        let ring = ring(setup.iodepth)?;
        let fds = raw_fds(setup.files);
        let (base, len) = setup.buffers.whole();
        let iovec = libc::iovec { iov_base: base.cast(), iov_len: len };
        // Neither registration is required: a limit on locked memory or on files only costs time.
        let fixed_files = ring.submitter().register_files(&fds).is_ok();
        // SAFETY: the buffers live until after the engine (the driver drops the engine first).
        let fixed_buffers =
            setup.register_buffers && unsafe { ring.submitter().register_buffers(&[iovec]) }.is_ok();
        Ok((
            Self { ring, fds, fixed_files, fixed_buffers, untaken: 0, _counted: CountedRing::new() },
            MonotonicClock::default(),
        ))
    }

    fn submit(&mut self, batch: &[Request], out: &mut Vec<Completion>) -> io::Result<usize> {
        let mut taken = self.push(batch);
        self.untaken += taken;
        if let (0, Some(request)) = (taken, batch.first())
            && !matches!(request.verb, Verb::Read | Verb::Write)
        {
            // Executed here, and alone, so that the driver's stamps around the call apply only to it.
            let result = blocking(request, self.fds[request.file as usize]);
            out.push(Completion { slot: request.slot, result });
            taken = 1;
        }
        self.flush()?;
        Ok(taken)
    }

    fn reap(&mut self, min: usize, timeout_ns: u64, out: &mut Vec<Completion>) -> io::Result<()> {
        self.take(out);
        if self.untaken > 0 {
            self.flush()?;
            self.take(out);
        }
        if out.is_empty() && min == 0 && self.ring.submission().taskrun() {
            // A thread that only polls would never see what the kernel finishes on entry.
            match self.ring.submit() {
                Ok(n) => self.untaken = self.untaken.saturating_sub(n),
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
            self.take(out);
        }
        if out.len() >= min {
            return Ok(());
        }
        let timeout =
            Timespec::new().sec(timeout_ns / 1_000_000_000).nsec((timeout_ns % 1_000_000_000) as u32);
        let args = SubmitArgs::new().timespec(&timeout);
        match self.ring.submitter().submit_with_args(min - out.len(), &args) {
            Ok(n) => self.untaken = self.untaken.saturating_sub(n),
            Err(error) if error.raw_os_error() == Some(libc::ETIME) || is_passing(&error) => {}
            Err(error) => return Err(error),
        }
        self.take(out);
        Ok(())
    }
}

/// No-op requests through the same ring: what remains is the cost of the generator itself.
pub(crate) struct Noop {
    uring: Uring,
    /// Bytes of the request in each slot, which a transfer would return.
    lens: Vec<u32>,
}

impl Engine for Noop {
    type Clock = MonotonicClock;

    const SYNCHRONOUS: bool = false;

    fn open(setup: &Setup<'_>) -> io::Result<(Self, MonotonicClock)> {
        let (uring, clock) = Uring::open(setup)?;
        Ok((Self { uring, lens: vec![0; setup.iodepth as usize] }, clock))
    }

    fn submit(&mut self, batch: &[Request], _out: &mut Vec<Completion>) -> io::Result<usize> {
        let mut submission = self.uring.ring.submission();
        let mut taken = 0;
        for request in batch {
            self.lens[request.slot as usize] = request.len;
            let entry = opcode::Nop::new().build().user_data(u64::from(request.slot));
            // SAFETY: A no-op request has neither a buffer nor a file.
            if unsafe { submission.push(&entry) }.is_err() {
                break;
            }
            taken += 1;
        }
        drop(submission);
        self.uring.untaken += taken;
        self.uring.flush()?;
        Ok(taken)
    }

    fn reap(&mut self, min: usize, timeout_ns: u64, out: &mut Vec<Completion>) -> io::Result<()> {
        self.uring.reap(min, timeout_ns, out)?;
        for completion in out {
            completion.result = i64::from(self.lens[completion.slot as usize]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffers::{BufferPlan, Buffers};
    use crate::clock::monotonic_ns;
    use crate::release::await_release;
    use model::BufferPages;
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
    use std::sync::mpsc::sync_channel;
    use std::thread;
    use std::time::Duration;

    const READS: usize = 101;

    fn request(slot: u32, verb: Verb, buffer: *mut u8) -> Request {
        Request { slot, verb, file: 0, offset: u64::from(slot) * 4096, len: 4096, buffer }
    }

    /// An engine over one file, unless io_uring does not work on this machine.
    fn opened(file: &File) -> Option<(Uring, Buffers)> {
        if let Err(error) = probe() {
            let _ = writeln!(io::stderr(), "SKIPPED: io_uring does not work here: {error}");
            return None;
        }
        let buffers = Buffers::new(BufferPlan {
            slots: 4,
            read_bytes: 4096,
            write_bytes: 0,
            duplicate: false,
            pages: BufferPages::Huge,
        })
        .unwrap();
        let setup = Setup {
            files: std::slice::from_ref(file),
            file_bytes: 4 * 4096,
            iodepth: 4,
            buffers: &buffers,
            register_buffers: true,
            writable: true,
            random: true,
            sim: None,
        };
        Some((Uring::open(&setup).unwrap().0, buffers))
    }

    /// Binds the calling thread to the first or the last of its allowed CPUs; false if these are the same.
    fn bind(to_last: bool) -> bool {
        // SAFETY: a set of CPUs is plain bits; the calls read and write one of the size given.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(0, size_of_val(&set), &mut set);
            let own: Vec<usize> =
                (0..libc::CPU_SETSIZE as usize).filter(|cpu| libc::CPU_ISSET(*cpu, &set)).collect();
            libc::CPU_ZERO(&mut set);
            libc::CPU_SET(if to_last { own[own.len() - 1] } else { own[0] }, &mut set);
            own.len() > 1 && libc::sched_setaffinity(0, size_of_val(&set), &set) == 0
        }
    }

    /// Number of times the calling thread had to yield its CPU to another one.
    fn preemptions() -> i64 {
        // SAFETY: the call fills the structure, which is plain numbers.
        unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
            usage.ru_nivcsw
        }
    }

    /// Nanoseconds from a write into a pipe, by another thread, until the calling thread, which only polls and is
    /// bound to a CPU by it, sees the pipe's read complete: for the rounds in which it was not preempted. `None`,
    /// with a report, where that cannot be tested.
    fn times_to_see() -> Option<Vec<u64>> {
        let (reader, mut writer) = io::pipe().unwrap();
        let file = File::from(OwnedFd::from(reader));
        let (mut engine, buffers) = opened(&file)?;
        let (ask, asked) = sync_channel::<()>(1);
        let written = thread::spawn(move || -> Vec<u64> {
            bind(true);
            // At a different time between two timer interrupts in each round.
            let write = |(round, ())| {
                thread::sleep(Duration::from_micros(300 + 37 * round));
                let before = monotonic_ns();
                writer.write_all(&[1; 100]).unwrap();
                before
            };
            (0u64..).zip(asked).map(write).collect()
        });
        if !bind(false) {
            let _ = writeln!(io::stderr(), "SKIPPED: a thread that only polls needs a CPU of its own");
            return None;
        }
        let mut seen = Vec::new();
        let mut out = Vec::new();
        for _ in 0..READS {
            engine.submit(&[request(0, Verb::Read, buffers.read(0))], &mut out).unwrap();
            let before = preemptions();
            ask.send(()).unwrap();
            while out.is_empty() {
                engine.reap(0, 0, &mut out).unwrap();
            }
            let now = monotonic_ns();
            seen.push((preemptions() == before).then_some(now));
            assert_eq!(out.pop().unwrap().result, 100);
        }
        drop(ask);
        let rounds = seen.into_iter().zip(written.join().unwrap());
        Some(rounds.filter_map(|(seen, written)| Some(seen? - written)).collect())
    }

    /// A completion that arrived while the thread only polled used to be detected at its next timer interrupt,
    /// milliseconds later. Other work on the machine can delay any of the attempts, but not all: a quarter of the
    /// rounds in one of ten attempts must be quick.
    #[test]
    fn polling_without_waiting_sees_a_completion_at_once() {
        let mut tried = Vec::new();
        for _ in 0..10 {
            // In a separate thread, because it is bound to a CPU.
            let Some(mut delays) = thread::spawn(times_to_see).join().unwrap() else { return };
            delays.sort_unstable();
            if delays.len() < READS / 5 {
                continue;
            }
            let quarter = delays[delays.len() / 4];
            if quarter < 300_000 {
                return;
            }
            tried.push(quarter);
        }
        if tried.is_empty() {
            let _ = writeln!(
                io::stderr(),
                "SKIPPED: a thread that only polls was preempted in nearly all rounds"
            );
        }
        assert!(tried.is_empty(), "nanoseconds until a quarter was detected: {tried:?}");
    }

    /// `lodestone run /mnt/x && umount /mnt/x` failed with "target is busy" in 9 of 36 tries: the kernel tears a ring
    /// down some time after its last descriptor is closed, and the ring held the registered files until then. In this
    /// test, a copy of the descriptor keeps the ring alive; the files must be released nevertheless.
    #[test]
    fn a_dropped_engine_releases_its_registered_files() {
        let named = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (own, registered) = (named.reopen().unwrap(), named.reopen().unwrap());
        drop(named);
        registered.set_len(4 * 4096).unwrap();
        let Some((engine, buffers)) = opened(&registered) else { return };
        // SAFETY: the ring's descriptor is open.
        let ring = unsafe { BorrowedFd::borrow_raw(engine.ring.as_raw_fd()) }.try_clone_to_owned().unwrap();
        drop(engine);
        drop((buffers, registered));
        // Workers of other tests hold copies of the descriptors that were open at their start until they end.
        assert!(await_release(std::slice::from_ref(&own), Duration::from_secs(60)));
        drop(ring);
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

    #[test]
    fn a_blocking_request_is_executed_alone() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4 * 4096).unwrap();
        let Some((mut engine, buffers)) = opened(&file) else { return };
        let trims: Vec<Request> =
            (0..4).map(|slot| request(slot, Verb::Trim, std::ptr::null_mut())).collect();
        let mut out = Vec::new();
        assert_eq!(engine.submit(&trims, &mut out).unwrap(), 1);
        let read = request(0, Verb::Read, buffers.read(0));
        assert_eq!(engine.submit(&[read, trims[1], trims[2]], &mut out).unwrap(), 1);
        while out.len() < 2 {
            engine.reap(1, 1_000_000_000, &mut out).unwrap();
        }
    }
}
