//! What the loops of plain calls share, [`crate::calls`] and [`crate::metadata`]: one operation at a time, by a clock
//! that stops while the next pass is prepared.

use std::io;
use std::sync::atomic::Ordering;

use model::{FailureKind, Operation};

use crate::clock::StopClock;
use crate::recorder::{Grid, IntervalSink, Timeline, WorkerInterval};
use crate::worker::{Limits, Signals, WorkerFailure, WorkerReport};

/// A worker's clock and its intervals.
pub(crate) struct Times<'s, S: IntervalSink> {
    clock: StopClock,
    sink: &'s mut S,
    origin_ns: u64,
    pub timeline: Timeline,
}

impl<'s, S: IntervalSink> Times<'s, S> {
    /// Begins at the common start of all workers, in the machine's monotonic time.
    pub fn start(shared_start_ns: u64, first: Box<WorkerInterval>, grid: Grid, sink: &'s mut S) -> Self {
        let clock = StopClock::start(shared_start_ns);
        let timeline = Timeline::new(first, shared_start_ns, grid);
        Self { clock, sink, origin_ns: shared_start_ns, timeline }
    }

    /// The time by this clock, in nanoseconds.
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// The time at which a limit from the start of the repeat is reached.
    pub fn deadline(&self, limits: Limits) -> u64 {
        limits.time_ns.map_or(u64::MAX, |ns| self.origin_ns + ns)
    }

    /// Does something while the clock stops.
    pub fn aside<T>(&mut self, work: impl FnOnce() -> T) -> T {
        self.clock.aside(work)
    }

    /// Ends the intervals before `now`.
    pub fn roll(&mut self, now: u64) {
        self.timeline.roll(now, 1, self.sink);
    }

    /// Ends the intervals before `now`, up to which one operation was in flight.
    pub fn advance(&mut self, now: u64) {
        self.roll(now);
        self.timeline.integrate(now, 1);
    }

    /// The report of a worker that ended at `now`; delivers its last interval.
    pub fn report(mut self, now: u64, failure: Option<WorkerFailure>) -> WorkerReport {
        self.timeline.integrate(now, 1);
        self.timeline.finish(now, self.sink);
        let (user_ns, system_ns) = self.clock.cpu_ns();
        WorkerReport { end_ns: now - self.origin_ns, user_ns, system_ns, failure, ..WorkerReport::default() }
    }
}

/// What is left of a worker's limits, and its first failure.
pub(crate) struct Progress<'a> {
    signals: &'a Signals,
    limits: Limits,
    max_errors: u64,
    pub operations_left: u64,
    pub bytes_left: u64,
    pub failure: Option<WorkerFailure>,
}

impl<'a> Progress<'a> {
    pub fn new(limits: Limits, max_errors: u64, signals: &'a Signals) -> Self {
        let mut progress =
            Self { signals, limits, max_errors, operations_left: 0, bytes_left: 0, failure: None };
        progress.restart();
        progress
    }

    /// Gives another pass the limits of the first.
    pub fn restart(&mut self) {
        self.operations_left = self.limits.operations.unwrap_or(u64::MAX);
        self.bytes_left = self.limits.bytes.unwrap_or(u64::MAX);
    }

    /// True if the limits leave nothing to do.
    pub fn is_used_up(&self) -> bool {
        self.operations_left == 0 || self.bytes_left == 0
    }

    /// Counts a failed operation, which may be one too many.
    #[cold]
    pub fn fail(
        &mut self,
        operation: Operation,
        offset: Option<u64>,
        error: &io::Error,
        now: u64,
        timeline: &mut Timeline,
    ) {
        *timeline.current.of(operation).errors.entry(errno(error)).or_default() += 1;
        let errors = self.signals.errors.fetch_add(1, Ordering::Relaxed) + 1;
        if errors >= self.max_errors {
            self.end(failure_kind(error), operation, offset, timeline.since_origin(now));
        }
    }

    /// A failure of the storage ends the repeat for all workers.
    #[cold]
    pub fn end(&mut self, kind: FailureKind, operation: Operation, offset: Option<u64>, at_ns: u64) {
        self.failure.get_or_insert(WorkerFailure { kind, operation, offset, at_ns });
        self.signals.abort.store(true, Ordering::Relaxed);
    }
}

/// The failure that an error of the kernel stands for.
pub(crate) fn failure_kind(error: &io::Error) -> FailureKind {
    FailureKind::Errno(errno(error))
}

fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}
