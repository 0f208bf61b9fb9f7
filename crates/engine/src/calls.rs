//! Data moved by plain sequential calls: blocks in pieces, through a stdio-like stream or directly to the kernel;
//! blocks that are read, modified and written back; and passes that repeat until a minimum time has passed. Older
//! benchmarks work this way. The loop is separate, so that it adds no cost to the driver's.
//!
//! A block is one operation, however many calls move it. This loop does not verify, pace or keep operations in
//! flight; the planner rejects workloads that need it.

mod stream;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;

use model::{FailureKind, Mix, Operation, Workload};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::buffers::Buffers;
use crate::content::Content;
use crate::engines::Verb;
use crate::plain_loop::{Progress, Times, failure_kind};
use crate::recorder::{IntervalSink, Latencies, Timeline, WorkerInterval};
use crate::worker::draws::Draws;
use crate::worker::{Region, Signals, Stock, WorkerReport, WorkerSpec};
use stream::{ReadStream, WriteStream};

/// A worker that is ready to start: memory touched, content generated.
pub(crate) struct CallWorker<'a> {
    spec: WorkerSpec,
    signals: &'a Signals,
    region: Region,
    draws: Draws,
    buffers: Buffers,
    content: Content,
    rng: Xoshiro256PlusPlus,
    way: Way,
    /// Percentage of the blocks read that are written back.
    update_percent: u8,
    turn: usize,
    dirty: Vec<bool>,
    writes_since_sync: u32,
    /// Start times and bytes of writes that no sync covers yet.
    unsynced: Vec<(u64, u64)>,
    progress: Progress<'a>,
}

/// How a block reaches the kernel and returns.
enum Way {
    /// In one system call.
    Whole,
    /// In calls of the given number of bytes.
    Pieces(usize),
    /// In calls of the given number of bytes to a stream.
    Streamed(usize, Box<ReadStream>, Box<WriteStream>),
}

impl Way {
    fn of(workload: &Workload) -> Self {
        match workload.modifiers.calls {
            None => Self::Whole,
            Some(calls) if calls.buffer_bytes == 0 => Self::Pieces(calls.bytes as usize),
            Some(calls) => {
                let capacity = calls.buffer_bytes as usize;
                let (read, write) = (workload.reads_data(), workload.writes_data());
                let reads = ReadStream::new(if read { capacity } else { 0 });
                let writes = WriteStream::new(if write { capacity } else { 0 });
                Self::Streamed(calls.bytes as usize, Box::new(reads), Box::new(writes))
            }
        }
    }
}

impl<'a> CallWorker<'a> {
    /// Prepares a worker: everything that takes time or memory happens here.
    ///
    /// # Errors
    /// The kernel's refusal of memory.
    pub fn new(spec: WorkerSpec, signals: &'a Signals) -> io::Result<Self> {
        let workload = &spec.workload;
        let update_percent = match workload.mix {
            Mix::Update { write_percent } => write_percent,
            _ => 0,
        };
        // A block is written back from the buffer that it was read into.
        let writes = workload.writes_data() && !matches!(workload.mix, Mix::Update { .. });
        let Stock { buffers, content, mut rng } = Stock::of(&spec, 1, writes)?;
        let region = Region::of(&spec);
        Ok(Self {
            draws: Draws::new(workload, region, &mut rng),
            way: Way::of(workload),
            update_percent,
            turn: 0,
            dirty: vec![false; spec.files.len()],
            writes_since_sync: 0,
            unsynced: Vec::with_capacity(workload.sync.every as usize),
            progress: Progress::new(spec.limits, spec.max_errors, signals),
            region,
            buffers,
            content,
            rng,
            signals,
            spec,
        })
    }

    /// The recorders that this worker needs.
    pub fn recorders(workload: &Workload) -> Vec<(Operation, Latencies)> {
        workload.operations().into_iter().map(|operation| (operation, Latencies::ONLY_LAT)).collect()
    }

    /// Runs until a limit, a failure or the user ends it. `shared_start_ns` is the common start of all workers,
    /// in the machine's monotonic time.
    pub fn run(
        mut self,
        shared_start_ns: u64,
        first: Box<WorkerInterval>,
        sink: &mut impl IntervalSink,
    ) -> WorkerReport {
        let grid = self.spec.limits.grid(self.spec.ramp_ns, self.spec.interval_ns);
        let mut times = Times::start(shared_start_ns, first, grid, sink);
        let deadline = times.deadline(self.spec.limits);
        let mut now = times.now();
        loop {
            now = self.pass(now, deadline, &mut times);
            let since_start = times.timeline.since_origin(now);
            let lasted = |least_ns| since_start >= least_ns || now >= deadline;
            let again = self.spec.workload.modifiers.again.filter(|again| !lasted(again.least_ns));
            let Some(again) = again.filter(|_| self.progress.failure.is_none() && !self.signals.stops())
            else {
                break;
            };
            if let Err(error) = times.aside(|| self.begin_again(again.empties)) {
                self.progress.end(failure_kind(&error), Operation::Write, None, since_start);
                break;
            }
        }
        let ends_all = self.spec.workload.modifiers.ends_all;
        if ends_all && self.progress.failure.is_none() && !self.signals.ended() {
            self.signals.over.store(true, Ordering::Relaxed);
        }
        times.report(now, self.progress.failure.take())
    }

    /// Prepares another pass, from the beginning and with the limits of the first.
    fn begin_again(&mut self, empties: bool) -> io::Result<()> {
        if empties {
            for file in self.spec.files.iter() {
                file.set_len(0)?;
                file.sync_all()?;
            }
        }
        self.draws = Draws::new(&self.spec.workload, self.region, &mut self.rng);
        self.way = Way::of(&self.spec.workload);
        self.progress.restart();
        Ok(())
    }

    /// Processes blocks until a limit is reached, then syncs what was written. Returns the time.
    fn pass(&mut self, mut now: u64, deadline: u64, times: &mut Times<'_, impl IntervalSink>) -> u64 {
        let every = self.spec.workload.sync.every;
        while now < deadline && !self.progress.is_used_up() && !self.signals.stops() {
            now = self.block(times);
            if every > 0 && self.writes_since_sync >= every {
                now = self.sync(times);
            }
        }
        let ended_well = self.progress.failure.is_none() && !self.signals.ended();
        if ended_well && self.spec.workload.writes_data() {
            now = self.flush(times);
            if self.spec.workload.sync.at_end {
                now = self.sync(times);
            }
        }
        now
    }

    /// Processes one block, and writes it back if the draw says so. Returns the time.
    fn block(&mut self, times: &mut Times<'_, impl IntervalSink>) -> u64 {
        let direction = self.draws.next(&mut self.rng);
        let (verb, len) = (direction.verb, direction.len);
        let offset = direction.next_offset(&mut self.rng);
        self.progress.operations_left -= 1;
        self.progress.bytes_left = self.progress.bytes_left.saturating_sub(u64::from(len));
        if verb == Verb::Write {
            self.turn = self.turn.wrapping_add(1);
            let buffer = self.content.next(&self.buffers, 0, self.turn, len as usize);
            return self.timed(Verb::Write, offset, buffer, len, times).1;
        }
        let buffer = self.buffers.read(0);
        let (is_whole, mut now) = self.timed(Verb::Read, offset, buffer, len, times);
        let update = self.update_percent;
        if is_whole && update > 0 && (update == 100 || self.rng.random_range(0..100) < update) {
            // SAFETY: the worker's own buffer, at least a block long, which nothing else accesses.
            let block = unsafe { std::slice::from_raw_parts_mut(buffer, len as usize) };
            alter(block, offset);
            now = self.timed(Verb::Write, offset, buffer, len, times).1;
        }
        now
    }

    /// Moves, stamps and counts one block. Returns whether all of it was moved, and the time.
    fn timed(
        &mut self,
        verb: Verb,
        offset: u64,
        buffer: *mut u8,
        len: u32,
        times: &mut Times<'_, impl IntervalSink>,
    ) -> (bool, u64) {
        let number = (offset / self.spec.file_bytes) as usize;
        let (files, at) = (&self.spec.files, offset % self.spec.file_bytes);
        // SAFETY: the worker's own buffer, at least a block long, which nothing else accesses.
        let block = unsafe { std::slice::from_raw_parts_mut(buffer, len as usize) };
        let before = times.now();
        let result = match verb {
            Verb::Write => write(&mut self.way, files, number, at, block),
            _ => read(&mut self.way, files, number, at, block),
        };
        let now = times.now();
        times.timeline.integrate(before, 0);
        times.advance(now);
        let moved = self.count(verb.into(), offset, result, len, now - before, now, &mut times.timeline);
        if verb == Verb::Write {
            self.dirty[number] = true;
            if moved > 0 && self.spec.workload.sync.every > 0 {
                self.writes_since_sync += 1;
                self.unsynced.push((before, moved));
            }
        }
        (moved == u64::from(len), now)
    }

    /// Counts an operation that moved the given bytes or failed. Returns the bytes.
    #[expect(clippy::too_many_arguments, reason = "everything about one operation")]
    fn count(
        &mut self,
        operation: Operation,
        offset: u64,
        result: io::Result<usize>,
        wanted: u32,
        lat_ns: u64,
        now: u64,
        timeline: &mut Timeline,
    ) -> u64 {
        match result {
            Ok(0) if wanted > 0 => {
                let nothing = match operation {
                    Operation::Read => FailureKind::NoData,
                    _ => FailureKind::NothingWritten,
                };
                self.progress.end(nothing, operation, Some(offset), timeline.since_origin(now));
                0
            }
            Ok(bytes) => {
                let recorder = timeline.current.of(operation);
                recorder.count += 1;
                recorder.bytes += bytes as u64;
                recorder.short += u64::from((bytes as u64) < u64::from(wanted));
                recorder.lat.record(lat_ns);
                bytes as u64
            }
            Err(error) => {
                self.progress.fail(operation, Some(offset), &error, now, timeline);
                0
            }
        }
    }

    /// Writes what a stream still holds to the kernel, as closing it does. Returns the time.
    fn flush(&mut self, times: &mut Times<'_, impl IntervalSink>) -> u64 {
        let result = match &mut self.way {
            Way::Streamed(_, _, stream) => stream.flush(&self.spec.files),
            _ => Ok(()),
        };
        let now = times.now();
        times.roll(now);
        if let Err(error) = result {
            self.progress.fail(Operation::Write, None, &error, now, &mut times.timeline);
        }
        now
    }

    /// Syncs every file that was written to since the last sync. Returns the time.
    fn sync(&mut self, times: &mut Times<'_, impl IntervalSink>) -> u64 {
        let mut now = times.now();
        let mut is_durable = true;
        for number in 0..self.dirty.len() {
            if !std::mem::take(&mut self.dirty[number]) {
                continue;
            }
            let file = &self.spec.files[number];
            let data_only = self.spec.workload.sync.data_only;
            let before = now;
            let result = if data_only { file.sync_data() } else { file.sync_all() };
            now = times.now();
            times.advance(now);
            is_durable &= result.is_ok();
            match result {
                Ok(()) => {
                    let recorder = times.timeline.current.of(Operation::Sync);
                    recorder.count += 1;
                    recorder.lat.record(now - before);
                }
                Err(error) => self.progress.fail(Operation::Sync, None, &error, now, &mut times.timeline),
            }
        }
        self.writes_since_sync = 0;
        // What a failed sync should have covered did not become durable.
        for (start, bytes) in self.unsynced.drain(..).filter(|_| is_durable) {
            let recorder = times.timeline.current.of(Operation::DurableWrite);
            recorder.count += 1;
            recorder.bytes += bytes;
            recorder.lat.record(now - start);
        }
        now
    }
}

/// Changes one byte of the block that begins at `offset`: a different one in each block.
fn alter(block: &mut [u8], offset: u64) {
    let len = block.len();
    let byte = &mut block[(offset / len as u64) as usize % len];
    *byte = byte.wrapping_add(1);
}

/// Reads a block of the file with the given number; returns fewer bytes only at its end.
fn read(way: &mut Way, files: &[File], number: usize, at: u64, block: &mut [u8]) -> io::Result<usize> {
    let file = &files[number];
    match way {
        Way::Whole => file.read_at(block, at),
        Way::Pieces(bytes) => {
            let mut done = 0;
            for piece in block.chunks_mut(*bytes) {
                let (wanted, n) = (piece.len(), rustix::io::pread(file, piece, at + done as u64)?);
                done += n;
                if n < wanted {
                    break;
                }
            }
            Ok(done)
        }
        Way::Streamed(bytes, stream, _) => stream.read(files, number, at, block, *bytes),
    }
}

/// Writes a block of the file with the given number.
fn write(way: &mut Way, files: &[File], number: usize, at: u64, block: &[u8]) -> io::Result<usize> {
    let file = &files[number];
    match way {
        Way::Whole => file.write_at(block, at),
        Way::Pieces(bytes) => {
            let mut done = 0;
            for piece in block.chunks(*bytes) {
                let n = rustix::io::pwrite(file, piece, at + done as u64)?;
                done += n;
                if n < piece.len() {
                    break;
                }
            }
            Ok(done)
        }
        Way::Streamed(bytes, _, stream) => stream.write(files, number, at, block, *bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn altering_changes_one_byte_at_a_varying_position() {
        for (offset, changed) in [(0, 0), (16, 1), (15 * 16, 15), (16 * 16, 0)] {
            let mut block = [255u8; 16];
            alter(&mut block, offset);
            let differ: Vec<usize> = (0..16).filter(|at| block[*at] != 255).collect();
            assert_eq!((differ, block[changed]), (vec![changed], 0), "{offset}");
        }
    }
}
