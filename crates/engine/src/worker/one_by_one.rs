//! The driver's loop for an engine that executes one operation at a time and a closed-loop workload of transfers
//! only: the same figures as the general loop, without its bookkeeping for operations in flight.

use model::LoggedOffset;

use super::Worker;
use crate::clock::Clock;
use crate::engines::{Completion, Engine, Request, Verb};
use crate::recorder::{IntervalSink, Timeline};

/// For an operation longer than this, the driver's time between two operations is less than 1 %: the stamp that
/// ends one may begin the next.
const SLOW_NS: u64 = 10_000;

impl<E: Engine> Worker<'_, E> {
    /// Transfers until a stop condition is met. Returns the time. `PLAIN` is the value of `is_plain`: compiled
    /// twice, so that plain workloads do not check it for each operation, and apart from the general loop, which would take
    /// registers from it.
    #[inline(never)]
    pub(super) fn one_by_one<const PLAIN: bool>(
        &mut self,
        start: u64,
        timeline: &mut Timeline,
        sink: &mut impl IntervalSink,
    ) -> u64 {
        let mut now = start;
        // Preparing or verifying a block takes time that must not count as the storage's.
        let costs_time = self.spec.workload.writes_data() || !PLAIN;
        let mut is_fast = true;
        while now < self.deadline_ns && self.limits_left() && !self.signals.stops() {
            let (request, offset) = self.draw_one();
            if !PLAIN && !self.read_first(&request, offset, timeline) {
                now = self.clock.now();
                break;
            }
            let has_own_stamp = is_fast || costs_time;
            let before = if has_own_stamp { self.clock.now() } else { now };
            timeline.integrate(before, 0);
            let drawn = if self.stamps.is_some() && !has_own_stamp { self.clock.now() } else { before };
            let result = self.engine.transfer(&request);
            now = self.clock.now();
            is_fast = now - before < SLOW_NS;
            if let Some(stamps) = &mut self.stamps {
                stamps.record(now - before, now - drawn);
            }
            if now >= timeline.boundary_ns {
                timeline.roll(now, 1, sink);
            }
            timeline.integrate(now, 1);
            if result == i64::from(request.len) {
                let recorder = timeline.current.of(request.verb.into());
                recorder.count += 1;
                recorder.bytes += u64::from(request.len);
                recorder.lat.record(now - before);
                if !PLAIN {
                    recorder.active_ns += if self.reads_first { now - before } else { 0 };
                    self.take_in(&request, offset, now - before, timeline);
                }
            } else {
                self.odd_one(&request, offset, before, result, now, timeline);
            }
        }
        now
    }

    /// The next transfer, and its offset in the data set.
    #[inline(always)]
    fn draw_one(&mut self) -> (Request, u64) {
        let direction = self.draws.next(&mut self.rng);
        let (verb, len) = (direction.verb, direction.len);
        let offset = direction.next_offset(&mut self.rng);
        let (file, file_offset) = self.target(offset);
        let buffer = self.buffer(verb, 0, offset, len);
        self.operations_left -= 1;
        self.bytes_left = self.bytes_left.saturating_sub(u64::from(len));
        if verb == Verb::Write {
            self.dirty[file as usize] = true;
        }
        (Request { slot: 0, verb, file, offset: file_offset, len, buffer }, offset)
    }

    /// Records a complete transfer whose offset is logged or whose data are verified.
    fn take_in(&mut self, request: &Request, offset: u64, ns: u64, timeline: &Timeline) {
        if let Some(offsets) = &mut self.offset_log {
            let logged = LoggedOffset { offset, bytes: u64::from(request.len), ns };
            offsets.keep(request.verb, timeline.current.phase, logged);
        }
        let slot = self.slots.get_mut(request.slot);
        (slot.offset, slot.len) = (offset, request.len);
        match request.verb {
            Verb::Read => self.check(request.slot, u64::from(request.len)),
            _ => self.written(request.slot, u64::from(request.len), 0),
        }
    }

    /// Passes a failed or short transfer to the general path.
    #[cold]
    fn odd_one(
        &mut self,
        request: &Request,
        offset: u64,
        before: u64,
        result: i64,
        now: u64,
        timeline: &mut Timeline,
    ) {
        let slot = self.slots.take(request.verb, offset, request.len, before);
        self.slots.submitted(slot, before, before, true);
        self.in_flight = 1;
        self.complete_one(&Completion { slot, result }, now, timeline);
    }
}
