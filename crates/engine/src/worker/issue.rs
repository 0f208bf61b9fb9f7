//! From a drawn operation to a submitted one: fills a batch, submits it, waits.

use std::io;
use std::ops::Range;

use model::CacheState;

use super::{DEVICE_BOUND, DRAWS, POLL_NS, STOP_POLL_NS, SyncState, Worker};
use crate::cache::evict_range;
use crate::clock::Clock;
use crate::engines::{Engine, Request, Verb};
use crate::pace::Arrivals;
use crate::recorder::{IntervalSink, Timeline};

impl<E: Engine> Worker<'_, E> {
    /// Starts and completes operations until a stop condition is met. Returns the time.
    pub(super) fn issue(
        &mut self,
        start: u64,
        timeline: &mut Timeline,
        sink: &mut impl IntervalSink,
    ) -> io::Result<u64> {
        // A thread may wake late for the common start. What it starts then starts then; only arrivals of an open
        // loop have been waiting since.
        let mut now = start.max(self.clock.now());
        let in_order = self.only_transfers && self.is_unhindered;
        if E::SYNCHRONOUS && in_order && matches!(self.arrivals, Arrivals::Closed) {
            return Ok(if self.is_plain {
                self.one_by_one::<true>(now, timeline, sink)
            } else {
                self.one_by_one::<false>(now, timeline, sink)
            });
        }
        // Drawn operations already count against the limits and are executed. So is a sync that has become due,
        // even if the write before it was the last.
        while now < self.deadline_ns
            && (self.limits_left() || !self.batch.is_empty() || self.sync != SyncState::Idle)
            && !self.signals.stops()
        {
            self.fill(now);
            self.submit(timeline)?;
            now = self.wait(now, timeline)?;
            timeline.roll(now, self.in_flight, sink);
            if self.completed.is_empty() && self.gives_up(now, timeline) {
                break;
            }
            self.complete(now, timeline);
        }
        Ok(now)
    }

    /// Lets operations in flight complete, up to a limit.
    pub(super) fn drain(
        &mut self,
        stopped: u64,
        timeline: &mut Timeline,
        sink: &mut impl IntervalSink,
    ) -> io::Result<u64> {
        self.withdraw();
        let mut now = stopped;
        while self.in_flight > 0 && !self.gives_up(now, timeline) {
            self.engine.reap(1, STOP_POLL_NS, &mut self.completed)?;
            now = self.clock.now();
            timeline.roll(now, self.in_flight, sink);
            self.complete(now, timeline);
        }
        self.slots
            .busy()
            .into_iter()
            .filter(|slot| self.slots.get(*slot).verb == Verb::Write)
            .for_each(|slot| self.unknown(slot));
        Ok(now)
    }

    /// Discards the operations that were drawn but not accepted by the engine.
    pub(super) fn withdraw(&mut self) {
        let open_loop = matches!(self.arrivals, Arrivals::Open(_));
        for request in self.batch.drain(..) {
            let is_sync = matches!(request.verb, Verb::Fsync | Verb::Fdatasync);
            self.dropped_arrivals += u64::from(open_loop && !is_sync);
            self.slots.release(request.slot);
            if let (Verb::Write, Some(generations)) = (request.verb, &self.spec.generations) {
                let slot = self.slots.get(request.slot);
                generations.cancel_write(slot.offset, slot.generation);
            }
        }
    }

    #[inline]
    pub(super) fn limits_left(&self) -> bool {
        self.operations_left > 0 && self.bytes_left > 0
    }

    /// Adds operations to the batch as far as there are free slots, arrivals and limits. Always inlined, as what it draws and the wait
    /// after it are: calls would cost each operation more instructions (`lodestone-benches instructions`).
    #[inline(always)]
    pub(super) fn fill(&mut self, now: u64) {
        if self.sync != SyncState::Idle {
            if self.in_flight == 0 && self.batch.is_empty() {
                self.push_syncs();
            }
            return;
        }
        if self.is_plain && self.is_unhindered && matches!(self.arrivals, Arrivals::Closed) {
            while self.slots.any_free() && self.limits_left() {
                self.draw::<true>(0);
            }
            return;
        }
        while self.slots.any_free() && self.limits_left() {
            if !self.is_unhindered && !self.may_start(now) {
                return;
            }
            let intended = match &mut self.arrivals {
                Arrivals::Closed => 0,
                Arrivals::Open(open) => {
                    let due = open.due_ns();
                    if due > now || due >= self.deadline_ns {
                        return;
                    }
                    due
                }
            };
            if !self.draw::<false>(intended) {
                return;
            }
            if let Arrivals::Open(open) = &mut self.arrivals {
                open.advance(&mut self.rng);
            }
            if self.sync == SyncState::Draining {
                return;
            }
        }
    }

    /// Draws the next operation into the batch. False if, on a verified set, it finds only blocks that are still
    /// being written. `PLAIN` omits what a plain and unhindered worker does not need.
    #[inline(always)]
    fn draw<const PLAIN: bool>(&mut self, intended: u64) -> bool {
        let direction = self.draws.next(&mut self.rng);
        let (verb, len) = (direction.verb, direction.len);
        let mut offset = direction.next_offset(&mut self.rng);
        if !PLAIN && let Some(generations) = &self.spec.generations {
            let mut tries = 1;
            while generations.is_in_flight(offset) {
                if tries == DRAWS {
                    return false;
                }
                tries += 1;
                offset = direction.next_offset(&mut self.rng);
            }
        }
        let slot = self.slots.take(verb, offset, len, intended);
        let (file, file_offset) = self.target(offset);
        let buffer = self.buffer(verb, slot, offset, len);
        self.batch.push(Request { slot, verb, file, offset: file_offset, len, buffer });
        self.operations_left -= 1;
        self.bytes_left = self.bytes_left.saturating_sub(u64::from(len));
        if !PLAIN && !self.is_unhindered {
            self.pauses.started();
            if verb == Verb::Read && self.spec.workload.cache == CacheState::ColdEach {
                // Failing advice only leads to a cached read, which the device's counters show.
                drop(evict_range(&self.spec.files[file as usize], file_offset, u64::from(len)));
            }
        }
        if verb == Verb::Write {
            self.dirty[file as usize] = true;
        }
        let every = self.spec.workload.sync.every;
        if !PLAIN && every > 0 {
            self.note_due_sync(verb, every);
        }
        true
    }

    /// File, and offset in it, of a byte of the data set.
    #[inline]
    pub(super) fn target(&self, offset: u64) -> (u32, u64) {
        if self.spec.files.len() == 1 {
            return (0, offset);
        }
        ((offset / self.spec.file_bytes) as u32, offset % self.spec.file_bytes)
    }

    #[inline(always)]
    pub(super) fn buffer(&mut self, verb: Verb, slot: u32, offset: u64, len: u32) -> *mut u8 {
        let index = slot as usize;
        match verb {
            Verb::Read => {
                if let Some(generations) = &self.spec.generations {
                    self.slots.get_mut(slot).generation = generations.expected(offset);
                }
                self.buffers.read(index)
            }
            Verb::Write => {
                let turn = &mut self.slots.get_mut(slot).turn;
                *turn = turn.wrapping_add(1);
                let buffer = self.content.next(&self.buffers, index, *turn as usize, len as usize);
                if let Some(generations) = &self.spec.generations {
                    let generation = generations.start_write(offset);
                    self.slots.get_mut(slot).generation = generation;
                    // SAFETY: the buffer holds a block and is not in flight; verified data are never the shared
                    // duplicate block (the planner rejects the combination).
                    let block = unsafe { std::slice::from_raw_parts_mut(buffer, len as usize) };
                    generations.seal(block, offset, generation);
                }
                buffer
            }
            _ => std::ptr::null_mut(),
        }
    }

    /// Submits the batch to the engine: as a whole or, if the storage is the limit, one by one. Storage that
    /// receives each request at once has more to do at a time than if it receives all when the last is ready.
    #[inline]
    pub(super) fn submit(&mut self, timeline: &mut Timeline) -> io::Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let mut before = self.clock.now();
        let mut done = 0;
        // Stamp what has completed meanwhile before anything else is done.
        while done < self.batch.len() && self.completed.is_empty() {
            let end = if self.device_bound > 0 { done + 1 } else { self.batch.len() };
            let (taken, after) = self.hand_over(done..end, before, timeline)?;
            done += taken;
            before = after;
            if done < end {
                break;
            }
            if !E::SYNCHRONOUS && self.device_bound > 0 {
                self.engine.reap(0, 0, &mut self.completed)?;
            }
        }
        if done == self.batch.len() {
            self.batch.clear();
        } else {
            self.batch.drain(..done);
        }
        Ok(())
    }

    /// Submits a part of the batch to the engine and stamps what it accepted. Returns their number, and the time.
    #[inline]
    fn hand_over(
        &mut self,
        part: Range<usize>,
        before: u64,
        timeline: &mut Timeline,
    ) -> io::Result<(usize, u64)> {
        if self.stamps.is_some() {
            self.batch[part.clone()]
                .iter()
                .for_each(|r| self.slots.get_mut(r.slot).handed = self.clock.now());
        }
        let (earlier, offered) = (self.in_flight, part.len() as u64);
        timeline.integrate(before, earlier);
        // Counted before the call: however it ends, the kernel may have them.
        self.in_flight += offered;
        let part = &self.batch[part];
        let taken = self.engine.submit(part, &mut self.completed)?;
        let after = if E::SYNCHRONOUS {
            before
        } else {
            let after = self.clock.now();
            // Inside the call the kernel processes one operation of the batch, in addition to what it already
            // had.
            timeline.integrate(after, earlier + 1);
            after
        };
        if earlier == 0 {
            self.alive_ns = before;
        }
        let closed = matches!(self.arrivals, Arrivals::Closed);
        for request in &part[..taken] {
            let is_sync = matches!(request.verb, Verb::Fsync | Verb::Fdatasync);
            self.slots.submitted(request.slot, before, after, closed || is_sync);
        }
        self.in_flight = earlier + taken as u64;
        Ok((taken, after))
    }

    /// Waits for a completion, the next arrival or the end of the interval, whichever comes first, and returns
    /// the time.
    #[inline(always)]
    pub(super) fn wait(&mut self, now: u64, timeline: &Timeline) -> io::Result<u64> {
        if E::SYNCHRONOUS && self.in_flight > 0 {
            self.engine.reap(1, 0, &mut self.completed)?;
            return Ok(self.clock.now());
        }
        self.device_bound = self.device_bound.saturating_sub(1);
        if !self.completed.is_empty() {
            return Ok(self.clock.now());
        }
        let border = timeline.boundary_ns.min(self.deadline_ns).min(now + STOP_POLL_NS);
        let due = match &self.arrivals {
            Arrivals::Open(open) if self.slots.any_free() && self.sync == SyncState::Idle => open.due_ns(),
            _ => u64::MAX,
        };
        // An operation that is already due waits for a completion: its block is being written.
        let due = if due > now { due } else { u64::MAX };
        if self.in_flight == 0 && self.pauses.until_ns > now {
            self.clock.sleep_until(border.min(self.pauses.until_ns));
        } else if self.in_flight == 0 {
            // In a closed loop, and with a batch that the engine did not accept, there is nothing to wait for.
            if due != u64::MAX && self.batch.is_empty() {
                self.clock.sleep_until(border.min(due));
            }
        } else if due.saturating_sub(now) <= POLL_NS {
            self.engine.reap(0, 0, &mut self.completed)?;
            if self.completed.is_empty() && !E::Clock::PASSES {
                self.engine.reap(1, due.saturating_sub(now), &mut self.completed)?;
            }
        } else {
            self.engine.reap(0, 0, &mut self.completed)?;
            if self.completed.is_empty() {
                self.device_bound = DEVICE_BOUND;
                let until = if due == u64::MAX { border } else { border.min(due - POLL_NS) };
                self.engine.reap(1, until.saturating_sub(now), &mut self.completed)?;
            }
        }
        Ok(self.clock.now())
    }
}
