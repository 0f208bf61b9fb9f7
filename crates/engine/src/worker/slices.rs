//! A worker whose task takes turns with others: it works in slices.
//!
//! The measured part of a slice begins when the queue is full, after as many completions as it has slots, and ends with the first
//! completion after its time. So the queue is as full in it as without turns, and an operation in which the storage stalls counts
//! with all of its time. What completes while the queue fills and empties is counted nowhere, and the worker's time and its
//! processor time stand still.

use std::collections::BTreeMap;
use std::io;

use model::Operation;

use super::{STOP_POLL_NS, SyncState, Worker};
use crate::clock::{Clock, thread_cpu_ns};
use crate::engines::Engine;
use crate::recorder::{Grid, IntervalSink, Timeline, WorkerInterval};
use crate::turns::WorkerTurns;

/// A slice measures at least so many times as long as its queue took to fill: where the storage is slow for a while, as large a
/// share of the time is measured as where it is fast.
const MEASURED: u64 = 10;

/// The slices of one worker.
pub(super) struct Slices {
    turns: WorkerTurns,
    /// Takes what does not count.
    aside: Timeline,
    /// Nanoseconds in which the worker's clock stood still.
    pub paused_ns: u64,
    /// Processor time meanwhile, `(user, system)`.
    pub paused_cpu: (u64, u64),
}

impl Slices {
    pub fn new(turns: WorkerTurns, aside: Box<WorkerInterval>) -> Self {
        let grid = Grid { ramp_ns: 0, time_ns: None, interval_ns: u64::MAX / 4 };
        Self { turns, aside: Timeline::new(aside, 0, grid), paused_ns: 0, paused_cpu: (0, 0) }
    }

    /// Bytes that were moved while the queue filled and emptied.
    pub fn uncounted_bytes(&self) -> BTreeMap<Operation, u64> {
        self.aside.current.finish().into_iter().map(|(operation, stats)| (operation, stats.bytes)).collect()
    }

    /// The clock goes on after it has stopped at this time and processor time; returns how long it stood still.
    fn resume(&mut self, (stopped_ns, cpu): (u64, (u64, u64)), now: u64) -> u64 {
        let (user, system) = thread_cpu_ns();
        self.paused_cpu.0 += user - cpu.0;
        self.paused_cpu.1 += system - cpu.1;
        let paused_ns = now.saturating_sub(stopped_ns);
        self.paused_ns += paused_ns;
        paused_ns
    }
}

impl<E: Engine> Worker<'_, E> {
    /// [`Self::issue`] in slices.
    pub(super) fn issue_in_slices(
        &mut self,
        slices: &mut Slices,
        begin: u64,
        timeline: &mut Timeline,
        sink: &mut impl IntervalSink,
    ) -> io::Result<u64> {
        let mut end = self.deadline_ns;
        let mut now = begin;
        // The time and the processor time at which the worker's clock stopped.
        let mut stopped = (begin, thread_cpu_ns());
        while slices.turns.begin(|| self.signals.stops()) {
            self.deadline_ns = u64::MAX;
            let filling = self.clock.now();
            now = self.fill_queue(&mut slices.aside)?;
            let slice_ns = slices.turns.slice_ns().max((now - filling).saturating_mul(MEASURED));
            let paused_ns = slices.resume(stopped, now);
            timeline.pause(paused_ns, now);
            end = end.saturating_add(paused_ns);
            loop {
                self.deadline_ns = end.min(now.saturating_add(slice_ns));
                now = self.issue(now, timeline, sink)?;
                if self.is_over(now, end) || !slices.turns.are_of_one() {
                    break;
                }
            }
            if self.is_over(now, end) {
                break;
            }
            now = self.end_slice(now, timeline, sink)?;
            stopped = (now, thread_cpu_ns());
            self.drain(now, &mut slices.aside, sink)?;
            slices.turns.pass(self.moved());
        }
        self.deadline_ns = end;
        Ok(now)
    }

    /// Share of its bytes that the worker has moved, if their number is limited.
    fn moved(&self) -> f64 {
        self.spec.limits.bytes.map_or(0.0, |bytes| 1.0 - self.bytes_left as f64 / bytes.max(1) as f64)
    }

    /// True if no slice is left.
    fn is_over(&self, now: u64, end: u64) -> bool {
        now >= end || !self.limits_left() || self.signals.stops()
    }

    /// Works until as many operations have completed as the queue has slots, and returns the time.
    fn fill_queue(&mut self, aside: &mut Timeline) -> io::Result<u64> {
        let mut left = self.spec.workload.iodepth as usize;
        let mut now = self.clock.now();
        while (left > 0 && self.limits_left() || self.sync != SyncState::Idle) && !self.signals.stops() {
            self.fill(now);
            self.submit(aside)?;
            now = self.wait(now, aside)?;
            left = left.saturating_sub(self.completed.len());
            if self.completed.is_empty() && self.gives_up(now, aside) {
                break;
            }
            self.complete(now, aside);
        }
        Ok(now)
    }

    /// Works until a completion, after which no sync is due, ends the slice, and returns the time.
    fn end_slice(
        &mut self,
        mut now: u64,
        timeline: &mut Timeline,
        sink: &mut impl IntervalSink,
    ) -> io::Result<u64> {
        while (self.alive_ns != now || self.sync != SyncState::Idle) && !self.signals.stops() {
            if self.sync != SyncState::Idle && self.in_flight == 0 && self.batch.is_empty() {
                self.push_syncs();
            }
            self.submit(timeline)?;
            if self.in_flight == 0 && self.completed.is_empty() {
                break;
            }
            if self.completed.is_empty() {
                self.engine.reap(1, STOP_POLL_NS, &mut self.completed)?;
            }
            now = self.clock.now();
            timeline.roll(now, self.in_flight, sink);
            if self.completed.is_empty() && self.gives_up(now, timeline) {
                break;
            }
            self.complete(now, timeline);
        }
        Ok(now)
    }
}
