//! Conditions that keep a worker from starting its next operation although a slot is free: pauses, a used-up
//! share of the operations, a queue depth that keeps to a latency target, and a start delay.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::{LatencyTarget, Think};

use super::Worker;
use crate::clock::Clock;
use crate::engines::Engine;
use crate::recorder::{IntervalSink, Timeline};

/// How long a worker that is ahead of its share waits before it checks again.
const AHEAD_NS: u64 = 100_000;

/// How concurrent workloads share the operations.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    /// Operations of all sharing workers, without weights.
    all: AtomicU64,
    /// Sum of the weights of the sharing workers that have not ended.
    weights: AtomicU64,
}

impl Flow {
    pub fn new(weights: u64) -> Self {
        Self { all: AtomicU64::new(0), weights: AtomicU64::new(weights) }
    }
}

/// The pauses of one worker.
pub(super) struct Pauses {
    think: Option<Think>,
    since: u32,
    /// When the current pause ends.
    pub until_ns: u64,
    flow: Option<(Arc<Flow>, u64)>,
    own: u64,
}

impl Pauses {
    pub fn new(think: Option<Think>, flow: Option<Arc<Flow>>) -> Self {
        let flow = flow.map(|flow| (flow, 0));
        Self { think, since: 0, until_ns: 0, flow, own: 0 }
    }

    /// Sets the worker's weight among the sharing workers.
    pub fn weigh(&mut self, weight: u32) {
        if let Some((_, own)) = &mut self.flow {
            *own = u64::from(weight);
        }
    }

    pub fn are_none(&self) -> bool {
        self.think.is_none() && self.flow.is_none()
    }

    /// Counts an operation that has been drawn.
    #[inline]
    pub fn started(&mut self) {
        self.since += u32::from(self.think.is_some());
        if let Some((flow, _)) = &self.flow {
            self.own += 1;
            flow.all.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The worker has ended: the others need not wait for it.
    pub fn end(&mut self) {
        if let Some((flow, weight)) = self.flow.take() {
            flow.weights.fetch_sub(weight, Ordering::Relaxed);
        }
    }

    /// True if the worker has done more than its share: own ÷ all is above weight ÷ weights.
    fn is_ahead(&self) -> bool {
        self.flow.as_ref().is_some_and(|(flow, weight)| {
            let (all, weights) = (flow.all.load(Ordering::Relaxed), flow.weights.load(Ordering::Relaxed));
            self.own * weights > (all + weights) * weight
        })
    }
}

impl<E: Engine> Worker<'_, E> {
    /// True if only free slots and limits keep the next operation from starting.
    #[inline]
    pub(super) fn may_start(&mut self, now: u64) -> bool {
        let in_flight = self.in_flight + self.batch.len() as u64;
        if self.depth.as_ref().is_some_and(|depth| in_flight >= depth.allowed) {
            return false;
        }
        if let Some(think) = self.pauses.think
            && self.pauses.since >= think.every
        {
            if in_flight > 0 {
                return false;
            }
            self.pauses.since = 0;
            self.pauses.until_ns = now + think.ns;
        }
        if self.pauses.until_ns <= now && self.pauses.is_ahead() {
            self.pauses.until_ns = now + AHEAD_NS;
        }
        self.pauses.until_ns <= now
    }

    /// Waits for the end of the start delay, which may be long after the common start.
    pub(super) fn await_begin(
        &mut self,
        begin_ns: u64,
        timeline: &mut Timeline,
        sink: &mut impl IntervalSink,
    ) {
        if self.spec.workload.modifiers.start_delay_ns == 0 {
            return;
        }
        loop {
            let now = self.clock.now();
            timeline.roll(now, 0, sink);
            timeline.integrate(now, 0);
            if now >= begin_ns || self.signals.stops() {
                return;
            }
            self.clock.sleep_until(begin_ns.min(timeline.boundary_ns).min(now + super::STOP_POLL_NS));
        }
    }

    /// Records completions that have just arrived.
    #[cold]
    pub(super) fn adjust_depth(&mut self, now: u64) {
        let Some(depth) = &mut self.depth else { return };
        for completion in &self.completed {
            let slot = self.slots.get(completion.slot);
            depth.record(slot.submitted, now - slot.intended);
        }
        depth.adjust(now);
    }
}

/// Finds the largest queue depth at which a share of the operations meets a latency target: it doubles the depth
/// while that is so, then bisects between the largest good and the smallest bad one.
pub(super) struct DepthControl {
    target: LatencyTarget,
    /// Operations that may be in flight now.
    pub allowed: u64,
    most: u64,
    /// The largest depth known to meet the target, and the smallest known to miss it.
    good: u64,
    bad: u64,
    /// When the test of this depth began.
    since_ns: u64,
    window_end_ns: u64,
    all: u64,
    late: u64,
}

impl DepthControl {
    pub fn new(target: LatencyTarget, most: usize) -> Self {
        let most = most as u64;
        Self {
            target,
            allowed: 1,
            most,
            good: 0,
            bad: most + 1,
            since_ns: 0,
            window_end_ns: 0,
            all: 0,
            late: 0,
        }
    }

    /// Counts an operation, unless it was started at another depth: its latency does not apply to this one.
    fn record(&mut self, submitted_ns: u64, lat_ns: u64) {
        if submitted_ns < self.since_ns {
            return;
        }
        self.all += 1;
        self.late += u64::from(lat_ns > self.target.ns);
    }

    /// Changes the depth at the end of a window.
    fn adjust(&mut self, now: u64) {
        if self.window_end_ns == 0 {
            self.window_end_ns = now + self.target.window_ns;
        }
        if now < self.window_end_ns || self.all == 0 {
            return;
        }
        let is_good = (self.all - self.late) as f64 >= self.all as f64 * self.target.percent / 100.0;
        if is_good {
            self.good = self.good.max(self.allowed);
        } else {
            self.bad = self.bad.min(self.allowed);
            self.good = self.good.min(self.bad.saturating_sub(1));
        }
        self.allowed = if self.bad > self.most {
            (self.allowed * 2).min(self.most)
        } else {
            (self.good + (self.bad - self.good) / 2).clamp(1, self.most)
        };
        (self.all, self.late) = (0, 0);
        (self.since_ns, self.window_end_ns) = (now, now + self.target.window_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The final depth on storage that needs 1 ms per operation and serves one at a time.
    fn settles_at(target_ms: u64, most: usize) -> u64 {
        let target = LatencyTarget { ns: target_ms * 1_000_000, percent: 99.0, window_ns: 1_000 };
        let mut depth = DepthControl::new(target, most);
        for window in 0..40 {
            let now = 1 + window * 200_000_000;
            depth.adjust(now);
            let lat = depth.allowed * 1_000_000;
            (0..100).for_each(|_| depth.record(now, lat));
            depth.adjust(now + lat);
        }
        depth.allowed
    }

    #[test]
    fn the_depth_becomes_the_largest_that_meets_the_target() {
        assert_eq!(settles_at(11, 128), 11);
        assert_eq!(settles_at(1, 128), 1);
        assert_eq!(settles_at(1000, 32), 32, "never more than the queue has");
        assert_eq!(settles_at(0, 32), 1, "even if no depth meets it");
    }

    #[test]
    fn a_worker_ahead_of_its_share_waits() {
        let flow = Arc::new(Flow::new(9));
        let mut one = Pauses::new(None, Some(Arc::clone(&flow)));
        let mut eight = Pauses::new(None, Some(Arc::clone(&flow)));
        one.weigh(1);
        eight.weigh(8);
        let (mut first, mut second) = (0, 0);
        for _ in 0..9000 {
            if !one.is_ahead() {
                one.started();
                first += 1;
            }
            if !eight.is_ahead() {
                eight.started();
                second += 1;
            }
        }
        let share = f64::from(first) / f64::from(first + second);
        assert!((share - 1.0 / 9.0).abs() < 0.01, "{share}");
        assert!(second > 1000, "no worker waits for ever: {second}");
    }
}
