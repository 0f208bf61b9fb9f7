//! The intervals that circulate between a worker and the collector, and the messages that carry them.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError};
use std::{io, mem, thread};

use crate::recorder::{IntervalSink, WorkerInterval};
use crate::worker::WorkerReport;

/// Number of intervals per worker that circulate between it and the collector.
pub(crate) const SPARE_INTERVALS: usize = 3;

/// A worker's messages to the collector.
pub(crate) enum Message {
    /// Set-up is complete, or has failed.
    Ready(io::Result<()>),
    /// A finished interval.
    Interval(Box<WorkerInterval>),
    /// The end.
    Done(io::Result<WorkerReport>),
}

/// A worker's end of the pool of intervals.
pub(crate) struct IntervalPool {
    pub worker: usize,
    pub to_collector: SyncSender<(usize, Message)>,
    pub free: Receiver<Box<WorkerInterval>>,
    /// An empty interval that could not be exchanged.
    pub spare: Option<Box<WorkerInterval>>,
    /// Waits for a free interval instead of continuing without one: virtual time does not advance meanwhile.
    pub blocking: bool,
}

impl IntervalSink for IntervalPool {
    fn exchange(&mut self, current: &mut Box<WorkerInterval>) -> bool {
        let receive = || if self.blocking { self.free.recv().ok() } else { self.free.try_recv().ok() };
        let Some(empty) = self.spare.take().or_else(receive) else { return false };
        let full = mem::replace(current, empty);
        match self.to_collector.try_send((self.worker, Message::Interval(full))) {
            // The channel has room for all circulating intervals; even if it were full, counts must not be
            // dropped.
            Err(TrySendError::Full((_, Message::Interval(full)))) => {
                self.spare = Some(mem::replace(current, full));
                false
            }
            // Disconnected: the receiver is gone.
            _ => true,
        }
    }

    fn deliver(&mut self, full: Box<WorkerInterval>) {
        let _ = self.to_collector.send((self.worker, Message::Interval(full)));
    }
}

/// Sends a worker's report; if the worker panics before it has one, sends that error instead.
pub(crate) struct ReportGuard {
    worker: usize,
    sender: SyncSender<(usize, Message)>,
    has_reported: bool,
}

impl ReportGuard {
    pub fn new(pool: &IntervalPool) -> Self {
        Self { worker: pool.worker, sender: pool.to_collector.clone(), has_reported: false }
    }

    pub fn report(mut self, report: io::Result<WorkerReport>) {
        self.has_reported = true;
        let _ = self.sender.send((self.worker, Message::Done(report)));
    }
}

impl Drop for ReportGuard {
    fn drop(&mut self) {
        if !self.has_reported && thread::panicking() {
            let error = io::Error::other(format!("job {} panicked", self.worker));
            let _ = self.sender.send((self.worker, Message::Done(Err(error))));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use model::Operation;

    use super::*;
    use crate::recorder::Latencies;

    fn interval(reads: u64) -> Box<WorkerInterval> {
        let mut interval = WorkerInterval::new(&[(Operation::Read, Latencies::ONLY_LAT)]);
        interval.of(Operation::Read).count = reads;
        Box::new(interval)
    }

    #[test]
    fn a_full_channel_makes_an_interval_longer_instead_of_losing_it() {
        let (to_collector, messages) = sync_channel(1);
        let (give, free) = sync_channel(1);
        give.send(interval(0)).unwrap();
        to_collector.send((0, Message::Ready(Ok(())))).unwrap();
        let mut sink = IntervalPool { worker: 0, to_collector, free, spare: None, blocking: false };
        let mut current = interval(42);
        assert!(!sink.exchange(&mut current), "the channel is full");
        assert_eq!(current.of(Operation::Read).count, 42);
        messages.recv().unwrap();
        assert!(sink.exchange(&mut current), "the empty interval was kept for the next time");
        assert_eq!(current.of(Operation::Read).count, 0);
        let Ok((0, Message::Interval(mut full))) = messages.recv() else { panic!("an interval was sent") };
        assert_eq!(full.of(Operation::Read).count, 42);
    }
}
