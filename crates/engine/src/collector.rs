//! Merges the intervals and reports of a repeat's workers.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use model::{
    CpuTime, EngineKind, FailureKind, IntegrityCheck, Interval, OffsetLog, Operation, RepeatFailure,
    RepeatOutcome,
};

use crate::clock::{monotonic_ns, process_cpu_ns};
use crate::interval_pool::Message;
use crate::recorder::WorkerInterval;
use crate::stamps::StampComparison;
use crate::steady::Steadiness;
use crate::task::{EngineError, Outcome, Task};
use crate::turns::TaskTurns;
use crate::worker::{Signals, WorkerReport};

/// Nanoseconds of silence beyond its deadline after which a worker is abandoned: it hangs in the kernel. A sync
/// of a gigabyte to a slow card takes minutes and also reports nothing.
const HANG_TIMEOUT_NS: u64 = 1_200_000_000_000;
/// The same after the user has asked to stop.
const HANG_TIMEOUT_WHEN_INTERRUPTED_NS: u64 = 6_000_000_000;
/// Limit for workers that are still being set up to end after the user has asked to stop.
const SETUP_TIMEOUT: Duration = Duration::from_secs(3);
/// How long the collector waits for a message before it checks for an interruption or a hang.
const POLL_PERIOD: Duration = Duration::from_millis(100);
/// A missing part of an interval is not waited for longer than this number of intervals of another worker.
const MAX_LAG_INTERVALS: u64 = 4;

/// Merges what the workers deliver.
pub(crate) struct Collector {
    repeat: u32,
    engine: EngineKind,
    jobs: u32,
    iodepth: u32,
    ramp_ns: u64,
    /// How far a worker may lag behind another before its part is no longer waited for.
    max_lag_ns: u64,
    deadline_ns: Option<u64>,
    steady: Option<Steadiness>,
    /// The common start of all workers.
    start_ns: u64,
    first_operation: Operation,
    signals: Arc<Signals>,
    pub free: Vec<SyncSender<Box<WorkerInterval>>>,
    /// Intervals that may lack a worker's part, by start.
    open: BTreeMap<u64, Interval>,
    /// The time up to which each worker has delivered; `u64::MAX` when it is done.
    delivered: Vec<u64>,
    reports: Vec<WorkerReport>,
    /// All successful operations and bytes, including the ramp.
    good: (u64, u64),
    /// Why workers were abandoned, if any were.
    given_up: Option<RepeatFailure>,
}

impl Collector {
    pub fn new(task: &Task, signals: Arc<Signals>, time_passes: bool) -> Self {
        let workload = &task.workload;
        Self {
            repeat: task.repeat,
            engine: task.engine,
            jobs: task.jobs(),
            iodepth: workload.iodepth,
            steady: workload.modifiers.steady.map(|rule| Steadiness::new(rule, task.ramp_ns)),
            ramp_ns: task.ramp_ns,
            start_ns: 0,
            // In virtual time a worker that lags is only slower to compute.
            max_lag_ns: if time_passes { MAX_LAG_INTERVALS * task.interval_ns } else { u64::MAX },
            deadline_ns: task.deadline_ns(),
            first_operation: workload.operations().first().copied().unwrap_or(Operation::Read),
            signals,
            free: Vec::new(),
            open: BTreeMap::new(),
            delivered: vec![0; task.jobs() as usize],
            reports: Vec::new(),
            good: (0, 0),
            given_up: None,
        }
    }

    pub fn start_error(&self, source: io::Error) -> EngineError {
        EngineError::Start { engine: self.engine, jobs: self.jobs, iodepth: self.iodepth, source }
    }

    /// Waits until all workers are set up; false if the user stopped the repeat first.
    pub fn await_ready(&mut self, messages: &Receiver<(usize, Message)>) -> Result<bool, EngineError> {
        let mut ready = 0;
        while ready < self.jobs && !self.signals.interrupted() {
            match messages.recv_timeout(POLL_PERIOD) {
                Ok((_, Message::Ready(Ok(())))) => ready += 1,
                Ok((_, Message::Ready(Err(source)) | Message::Done(Err(source)))) => {
                    return Err(self.start_error(source));
                }
                Ok((worker, Message::Interval(spare))) => self.recycle(worker, spare),
                Err(RecvTimeoutError::Timeout) => {}
                Ok((_, Message::Done(Ok(_)))) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.start_error(io::Error::other("a worker ended before it started")));
                }
            }
        }
        Ok(!self.signals.interrupted())
    }

    fn recycle(&self, worker: usize, mut interval: Box<WorkerInterval>) {
        interval.clear();
        // A worker that has ended needs no more intervals.
        let _ = self.free[worker].try_send(interval);
    }

    /// Receives messages until every worker is done or abandoned.
    pub fn collect(
        &mut self,
        messages: &Receiver<(usize, Message)>,
        start_ns: u64,
        turns: Option<&TaskTurns>,
        on_interval: &mut dyn FnMut(Interval),
    ) -> Result<(), EngineError> {
        self.start_ns = start_ns;
        let mut last_heard_ns = monotonic_ns();
        let mut broken = None;
        while self.reports.len() < self.jobs as usize {
            match messages.recv_timeout(POLL_PERIOD) {
                Ok((worker, message)) => {
                    last_heard_ns = monotonic_ns();
                    match message {
                        Message::Interval(interval) => self.add(worker, interval),
                        Message::Done(Ok(report)) => self.done(worker, report),
                        Message::Done(Err(source)) => {
                            self.signals.abort.store(true, Ordering::Relaxed);
                            broken.get_or_insert(EngineError::Broke { engine: self.engine, source });
                            self.done(worker, WorkerReport::default());
                        }
                        Message::Ready(_) => {}
                    }
                    self.emit(false, on_interval);
                }
                Err(RecvTimeoutError::Timeout) if turns.is_some_and(TaskTurns::are_of_another) => {
                    last_heard_ns = monotonic_ns();
                }
                Err(RecvTimeoutError::Timeout) if self.give_up(start_ns, last_heard_ns) => break,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let source = io::Error::other("a worker ended without a report");
                    broken.get_or_insert(EngineError::Broke { engine: self.engine, source });
                    break;
                }
            }
        }
        self.emit(true, on_interval);
        broken.map_or(Ok(()), Err)
    }

    /// True if the remaining workers have been silent until the timeout: they must hang in the kernel. They are
    /// abandoned: a thread in an uninterruptible sleep cannot be ended.
    fn give_up(&mut self, start_ns: u64, last_heard_ns: u64) -> bool {
        let now = monotonic_ns();
        let interrupted = self.signals.interrupted();
        let timeout = if interrupted { HANG_TIMEOUT_WHEN_INTERRUPTED_NS } else { HANG_TIMEOUT_NS };
        let due = self.deadline_ns.map_or(0, |ns| if interrupted { 0 } else { start_ns + ns });
        if now.saturating_sub(last_heard_ns.max(due)) < timeout {
            return false;
        }
        self.signals.abort.store(true, Ordering::Relaxed);
        self.given_up = Some(RepeatFailure {
            kind: FailureKind::Hung(now - last_heard_ns),
            operation: self.first_operation,
            offset: None,
            after_ns: last_heard_ns.saturating_sub(start_ns),
            good_operations: self.good.0,
            good_bytes: self.good.1,
        });
        true
    }

    fn add(&mut self, worker: usize, part: Box<WorkerInterval>) {
        let operations = part.finish();
        for (operation, stats) in &operations {
            if *operation != Operation::DurableWrite {
                self.good.0 += stats.count;
                self.good.1 += stats.bytes;
            }
        }
        let whole = self.open.entry(part.start_ns).or_insert_with(|| Interval {
            repeat: self.repeat,
            phase: part.phase,
            start_ns: part.start_ns,
            len_ns: 0,
            operations: BTreeMap::new(),
            in_flight_ns: 0,
        });
        whole.len_ns = whole.len_ns.max(part.len_ns);
        whole.in_flight_ns += part.in_flight_ns;
        for (operation, stats) in operations {
            whole.operations.entry(operation).or_default().merge(&stats);
        }
        self.delivered[worker] = self.delivered[worker].max(part.start_ns + part.len_ns);
        self.recycle(worker, part);
    }

    fn done(&mut self, worker: usize, report: WorkerReport) {
        self.delivered[worker] = u64::MAX;
        self.reports.push(report);
    }

    /// Delivers the complete intervals, and those that a worker has owed for too long: its part arrives later as
    /// a second record with the same start.
    fn emit(&mut self, all: bool, on_interval: &mut dyn FnMut(Interval)) {
        let slowest = self.delivered.iter().copied().min().unwrap_or(u64::MAX);
        let newest = self.open.last_key_value().map_or(0, |(start, _)| *start);
        let stale = newest.saturating_sub(self.max_lag_ns);
        while let Some(entry) = self.open.first_entry() {
            let end = entry.get().start_ns + entry.get().len_ns;
            if !(all || end <= slowest || end < stale) {
                break;
            }
            let interval = entry.remove();
            if let Some(steady) = &mut self.steady
                && steady.is_reached(&interval)
            {
                self.signals.over.store(true, Ordering::Relaxed);
            }
            on_interval(interval);
        }
    }

    pub fn finish(self, process_before: (u64, u64)) -> Outcome {
        let (user, system) = process_cpu_ns();
        let whole_ns = self.reports.iter().map(|r| r.end_ns).max().unwrap_or(0);
        let share = |r: &WorkerReport| (r.user_ns + r.system_ns) as f64 / r.end_ns as f64;
        let mut stamps: Option<StampComparison> = None;
        for part in self.reports.iter().filter_map(|r| r.stamps.as_deref()) {
            match &mut stamps {
                Some(stamps) => stamps.merge(part),
                None => stamps = Some(part.clone()),
            }
        }
        let mut integrity: Option<IntegrityCheck> = None;
        for report in &self.reports {
            if let Some(check) = &report.integrity {
                integrity.get_or_insert_default().merge(check.clone());
            }
        }
        let mut offset_log: BTreeMap<Operation, OffsetLog> = BTreeMap::new();
        for (operation, part) in self.reports.iter().flat_map(|r| &r.offset_log) {
            offset_log.entry(*operation).or_default().merge(part.clone());
        }
        let mut uncounted_bytes: BTreeMap<Operation, u64> = BTreeMap::new();
        for (operation, bytes) in self.reports.iter().flat_map(|r| &r.uncounted_bytes) {
            *uncounted_bytes.entry(*operation).or_default() += bytes;
        }
        Outcome {
            uncounted_bytes,
            offset_log,
            window_ns: whole_ns.saturating_sub(self.ramp_ns),
            whole_ns,
            span_ns: self
                .signals
                .is_awaited
                .then(|| (self.signals.began_ns.load(Ordering::Relaxed), self.start_ns + whole_ns)),
            unserved: self.reports.iter().map(|r| r.unserved).sum(),
            workers: CpuTime {
                user_ns: self.reports.iter().map(|r| r.user_ns).sum(),
                system_ns: self.reports.iter().map(|r| r.system_ns).sum(),
            },
            busiest_worker: self
                .reports
                .iter()
                .filter(|r| r.end_ns > 0)
                .map(share)
                .fold(0.0, f64::max)
                .min(1.0),
            process: CpuTime { user_ns: user - process_before.0, system_ns: system - process_before.1 },
            hung: self.given_up.is_some() || self.reports.iter().any(|r| r.hung),
            integrity,
            stamps,
            outcome: self.outcome(),
        }
    }

    /// The earliest failure of any worker, else the hang, else the interruption, else completion.
    fn outcome(&self) -> RepeatOutcome {
        let first = self.reports.iter().filter_map(|r| r.failure.as_ref()).min_by_key(|f| f.at_ns);
        if let Some(failure) = first {
            return RepeatOutcome::Failed(RepeatFailure {
                kind: failure.kind.clone(),
                operation: failure.operation,
                offset: failure.offset,
                after_ns: failure.at_ns,
                good_operations: self.good.0,
                good_bytes: self.good.1,
            });
        }
        if self.signals.interrupted() {
            return RepeatOutcome::Interrupted;
        }
        self.given_up.clone().map_or(RepeatOutcome::Completed, RepeatOutcome::Failed)
    }
}

/// Waits for all workers to end, up to a limit. False if some did not.
pub(crate) fn all_end(messages: &Receiver<(usize, Message)>) -> bool {
    let until = Instant::now() + SETUP_TIMEOUT;
    loop {
        match messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(_) => {}
            Err(error) => return error == RecvTimeoutError::Disconnected,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;
    use std::thread;

    use model::{Stop, Workload};

    use super::*;
    use crate::task::IoTarget;

    fn task() -> Task {
        let workload = Workload::random_reads();
        Task {
            repeat: 0,
            workload,
            engine: EngineKind::Psync,
            stop: Stop::default(),
            ramp_ns: 0,
            interval_ns: 100_000_000,
            max_errors: 1,
            seed: 1,
            target: IoTarget::Directories(Vec::new()),
            start: 0.0,
            compare_stamps: false,
            sim: None,
            concurrent: Vec::new(),
        }
    }

    #[test]
    fn a_worker_that_ends_without_a_report_is_an_error() {
        let mut collector = Collector::new(&task(), Arc::default(), true);
        let (sender, messages) = sync_channel::<(usize, Message)>(1);
        drop(sender);
        let error = collector.collect(&messages, monotonic_ns(), None, &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("ended without a report"), "{error}");
    }

    #[test]
    fn a_worker_that_hangs_in_set_up_does_not_block_an_interrupt() {
        let signals = Arc::new(Signals::default());
        let mut collector = Collector::new(&task(), Arc::clone(&signals), true);
        let (_hangs, messages) = sync_channel::<(usize, Message)>(1);
        let stop = Arc::clone(&signals.interrupt);
        let user = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            stop.store(true, Ordering::Relaxed);
        });
        // It would wait for ever.
        assert!(!collector.await_ready(&messages).unwrap());
        assert!(!all_end(&messages), "it is abandoned");
        user.join().unwrap();
    }
}
