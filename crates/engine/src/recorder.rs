//! A worker's counters: dense, thread-local, without allocation during the run.

use std::collections::BTreeMap;

use model::{LatencyRecorder, LatencyTotal, Operation, OperationStats, Phase};

/// Number of recorders of a worker, one for each operation.
const COUNT: usize = Operation::ALL.len();

/// The latency components that can be measured for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Latencies {
    /// Time in the submitting call, and the rest: asynchronous engines.
    pub slat: bool,
    /// Time from the end of the submission, if it differs from `lat`.
    pub clat: bool,
}

impl Latencies {
    /// None: `lat` is all that can be measured.
    pub const ONLY_LAT: Self = Self { slat: false, clat: false };
}

/// Counts and latencies of one operation.
pub(crate) struct OperationRecorder {
    pub count: u64,
    pub bytes: u64,
    pub short: u64,
    pub active_ns: u64,
    pub errors: BTreeMap<i32, u64>,
    pub slat: Option<LatencyTotal>,
    pub clat: Option<LatencyTotal>,
    pub lat: LatencyRecorder,
}

impl OperationRecorder {
    pub fn new(latencies: Latencies) -> Self {
        Self {
            count: 0,
            bytes: 0,
            short: 0,
            active_ns: 0,
            errors: BTreeMap::new(),
            slat: latencies.slat.then(LatencyTotal::default),
            clat: latencies.clat.then(LatencyTotal::default),
            lat: LatencyRecorder::new(),
        }
    }

    fn clear(&mut self) {
        (self.count, self.bytes, self.short, self.active_ns) = (0, 0, 0, 0);
        self.errors.clear();
        for total in [&mut self.slat, &mut self.clat].into_iter().flatten() {
            *total = LatencyTotal::default();
        }
        self.lat.clear();
    }

    fn is_empty(&self) -> bool {
        self.count == 0 && self.errors.is_empty() && self.active_ns == 0
    }

    fn finish(&self) -> OperationStats {
        OperationStats {
            count: self.count,
            bytes: self.bytes,
            short: self.short,
            errors: self.errors.clone(),
            active_ns: self.active_ns,
            slat: self.slat,
            clat: self.clat,
            lat: self.lat.finish(),
        }
    }
}

/// One worker's part of one interval.
pub(crate) struct WorkerInterval {
    pub phase: Phase,
    /// Nanoseconds from the start of the repeat.
    pub start_ns: u64,
    pub len_ns: u64,
    pub in_flight_ns: u64,
    operations: [Option<Box<OperationRecorder>>; COUNT],
}

impl WorkerInterval {
    /// An empty interval with recorders for the given operations.
    pub fn new(operations: &[(Operation, Latencies)]) -> Self {
        let mut recorders = [const { None }; COUNT];
        for (operation, latencies) in operations {
            recorders[*operation as usize] = Some(Box::new(OperationRecorder::new(*latencies)));
        }
        Self { phase: Phase::Measure, start_ns: 0, len_ns: 0, in_flight_ns: 0, operations: recorders }
    }

    /// The recorder of an operation that was declared at creation.
    #[inline]
    pub fn of(&mut self, operation: Operation) -> &mut OperationRecorder {
        self.operations[operation as usize].as_mut().expect("the workload declared this operation")
    }

    /// Resets all counters.
    pub fn clear(&mut self) {
        self.in_flight_ns = 0;
        self.operations.iter_mut().flatten().for_each(|r| r.clear());
    }

    /// An empty interval with the same recorders.
    fn like(&self) -> Self {
        let recorders: Vec<(Operation, Latencies)> = Operation::ALL
            .into_iter()
            .filter_map(|operation| {
                let recorder = self.operations[operation as usize].as_ref()?;
                Some((operation, Latencies { slat: recorder.slat.is_some(), clat: recorder.clat.is_some() }))
            })
            .collect();
        Self::new(&recorders)
    }

    /// The counts by operation; those without any are omitted.
    pub fn finish(&self) -> BTreeMap<Operation, OperationStats> {
        Operation::ALL
            .into_iter()
            .filter_map(|operation| Some((operation, self.operations[operation as usize].as_ref()?)))
            .filter(|(_, recorder)| !recorder.is_empty())
            .map(|(operation, recorder)| (operation, recorder.finish()))
            .collect()
    }
}

/// Receives a worker's finished intervals.
pub(crate) trait IntervalSink {
    /// Takes the full interval and replaces it with an empty one; false, without a change, if none is free: then
    /// the worker extends that interval.
    fn exchange(&mut self, current: &mut Box<WorkerInterval>) -> bool;
    /// Takes the last full interval, even if it has to wait.
    fn deliver(&mut self, full: Box<WorkerInterval>);
}

/// Times of a repeat, in nanoseconds from its start.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    pub ramp_ns: u64,
    /// The planned end, if the time is limited.
    pub time_ns: Option<u64>,
    pub interval_ns: u64,
}

/// Divides a worker's time into intervals: the ramp on its own grid, then the measured time on another that
/// begins where the ramp ends.
pub(crate) struct Timeline {
    /// Start of the repeat by the worker's clock.
    origin_ns: u64,
    ramp_end_ns: u64,
    /// The planned end of the repeat; `u64::MAX` if its time is not limited.
    end_ns: u64,
    interval_ns: u64,
    /// End of the current interval by the worker's clock.
    pub boundary_ns: u64,
    /// Time up to which the time in flight has been integrated.
    integrated_ns: u64,
    /// The current interval.
    pub current: Box<WorkerInterval>,
}

impl Timeline {
    pub fn new(current: Box<WorkerInterval>, origin_ns: u64, grid: Grid) -> Self {
        let mut timeline = Self {
            origin_ns,
            ramp_end_ns: origin_ns + grid.ramp_ns,
            end_ns: grid.time_ns.map_or(u64::MAX, |ns| origin_ns + ns),
            interval_ns: grid.interval_ns,
            boundary_ns: 0,
            integrated_ns: origin_ns,
            current,
        };
        timeline.begin(origin_ns);
        timeline
    }

    fn begin(&mut self, start_ns: u64) {
        let end = start_ns + self.interval_ns;
        let in_ramp = start_ns < self.ramp_end_ns;
        let is_only = start_ns == self.ramp_end_ns && end >= self.end_ns;
        self.boundary_ns = match in_ramp {
            true => end.min(self.ramp_end_ns),
            // The measured time of a short repeat is one interval, with what completes soon after its end.
            false if is_only => self.end_ns + self.interval_ns,
            false => end,
        };
        self.current.phase = if in_ramp { Phase::Ramp } else { Phase::Measure };
        self.current.start_ns = start_ns - self.origin_ns;
    }

    /// Nanoseconds from the start of the repeat to `now`.
    pub fn since_origin(&self, now: u64) -> u64 {
        now - self.origin_ns
    }

    /// The clock stood still for so many nanoseconds, until `now`.
    pub fn pause(&mut self, ns: u64, now: u64) {
        for time in [&mut self.origin_ns, &mut self.ramp_end_ns, &mut self.end_ns, &mut self.boundary_ns] {
            *time = time.saturating_add(ns);
        }
        self.integrated_ns = now;
    }

    /// Integrates `level` operations in flight up to `now`.
    #[inline]
    pub fn integrate(&mut self, now: u64, level: u64) {
        self.current.in_flight_ns += level * now.saturating_sub(self.integrated_ns);
        self.integrated_ns = self.integrated_ns.max(now);
    }

    /// Ends intervals until the current one contains `now`. An interval without activity is delivered as well: it
    /// shows a stall.
    pub fn roll(&mut self, now: u64, level: u64, sink: &mut impl IntervalSink) {
        while now >= self.boundary_ns {
            let boundary = self.boundary_ns;
            self.integrate(boundary, level);
            self.current.len_ns = boundary - self.origin_ns - self.current.start_ns;
            if sink.exchange(&mut self.current) {
                self.begin(boundary);
            } else if self.current.phase == Phase::Measure {
                self.boundary_ns = boundary + self.interval_ns;
            } else {
                // No interval may cross the end of the ramp.
                let empty = Box::new(self.current.like());
                sink.deliver(std::mem::replace(&mut self.current, empty));
                self.begin(boundary);
            }
        }
    }

    /// Delivers the current interval, which ends at `now`.
    pub fn finish(mut self, now: u64, sink: &mut impl IntervalSink) {
        self.current.len_ns = (now - self.origin_ns).saturating_sub(self.current.start_ns);
        sink.deliver(self.current);
    }
}
