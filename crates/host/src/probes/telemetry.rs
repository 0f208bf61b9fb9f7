//! The thread that reads telemetry while somebody measures.
//!
//! It has its own clock and no part in the measurement; who measures collects its readings whenever something is recorded.
//! Where a repeat begins or ends, a poll is requested and awaited, so that readings cover repeats exactly and the poll itself
//! falls outside of them.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use model::{Layer, Reading};

use super::{Occasion, Watch};
use crate::Roots;

/// Polls whose readings may wait to be collected: an hour at the default period. Nobody collects them during a sync, which
/// may take minutes.
const MOST_WAITING: usize = 4096;
/// Longest wait for a poll at the start or end of a repeat: a sensor may hang with its disk.
const SAMPLE_TIMEOUT: Duration = Duration::from_millis(250);
/// Longest wait for the thread's end.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// The measuring side's handle on the thread. Dropped without [`Telemetry::end`], it ends the thread too.
#[derive(Debug)]
pub struct Telemetry {
    asks: Sender<SyncSender<()>>,
    readings: Receiver<Vec<Reading>>,
    /// The reply to an overdue poll. No further poll is requested until it arrives.
    overdue: Option<Receiver<()>>,
}

impl Telemetry {
    /// Starts to poll the machine and the devices of these stacks every `period`; times count from `origin`. The thread begins
    /// with `apart`: a file for each process may be open in it, and none of them must take a descriptor away from who measures.
    ///
    /// # Errors
    /// The kernel's error, if the thread cannot be started.
    pub fn begin(
        roots: Roots,
        layers: Vec<Layer>,
        period: Duration,
        origin: Instant,
        apart: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let (asks, asked) = channel();
        let (sender, readings) = sync_channel(MOST_WAITING);
        let (is_apart, awaited) = sync_channel(1);
        let watching = move || {
            apart();
            let _ = is_apart.send(());
            let watch = Watch::begin(&roots, &layers);
            Watcher { watch, origin, sender, unsent: Vec::new() }.run(&asked, period);
        };
        thread::Builder::new().name("telemetry".into()).spawn(watching)?;
        // A test file that is opened earlier would stay open there, and occupy its space, until the run ends.
        let _ = awaited.recv();
        Ok(Self { asks, readings, overdue: None })
    }

    /// Polls now, because a repeat begins or has ended.
    pub fn sample(&mut self) {
        if let Some(overdue) = &self.overdue
            && overdue.try_recv().is_err()
        {
            return;
        }
        self.overdue = None;
        let (done, is_done) = sync_channel(1);
        if self.asks.send(done).is_ok() && is_done.recv_timeout(SAMPLE_TIMEOUT).is_err() {
            self.overdue = Some(is_done);
        }
    }

    /// The readings since the last call.
    pub fn take(&self) -> Vec<Reading> {
        self.readings.try_iter().flatten().collect()
    }

    /// Ends the thread and returns the last readings. A thread that hangs is abandoned.
    pub fn end(self) -> Vec<Reading> {
        let Self { asks, readings, .. } = self;
        drop(asks);
        let (began, mut last) = (Instant::now(), Vec::new());
        while let Ok(batch) = readings.recv_timeout(END_TIMEOUT.saturating_sub(began.elapsed())) {
            last.extend(batch);
        }
        last
    }
}

/// The thread's end.
struct Watcher {
    watch: Watch,
    origin: Instant,
    sender: SyncSender<Vec<Reading>>,
    /// What there was no room for.
    unsent: Vec<Reading>,
}

impl Watcher {
    /// Polls at whole periods after the first poll, until the other end is dropped.
    fn run(mut self, asked: &Receiver<SyncSender<()>>, period: Duration) {
        let began = Instant::now();
        self.sample(Occasion::Boundary);
        let mut next = began + period;
        loop {
            match asked.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(done) => {
                    self.sample(Occasion::Boundary);
                    let _ = done.send(());
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.sample(Occasion::Tick);
                    // Times that have passed, as after a suspend, are skipped.
                    let periods = began.elapsed().as_nanos() / period.as_nanos().max(1);
                    next = began + period * u32::try_from(periods + 1).unwrap_or(u32::MAX);
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        // The last repeat may have ended while a probe rested.
        self.sample(Occasion::End);
        self.watch.finish(&mut self.unsent);
        self.send();
    }

    fn sample(&mut self, occasion: Occasion) {
        // Unsent readings go first; a skipped poll only makes the next one cover more time.
        if self.send() {
            let origin = self.origin;
            self.watch.sample(occasion, &|| origin.elapsed().as_nanos() as u64, &mut self.unsent);
            self.send();
        }
    }

    /// Sends the unsent readings; false if there is no room.
    fn send(&mut self) -> bool {
        if self.unsent.is_empty() {
            return true;
        }
        match self.sender.try_send(std::mem::take(&mut self.unsent)) {
            Ok(()) => true,
            Err(TrySendError::Full(batch) | TrySendError::Disconnected(batch)) => {
                self.unsent = batch;
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reading that is not there by then will never arrive, however slow the machine is.
    const TIMEOUT: Duration = Duration::from_secs(120);

    fn begin(period: Duration) -> Telemetry {
        Telemetry::begin(Roots::default(), Vec::new(), period, Instant::now(), || ()).unwrap()
    }

    /// Takes readings, calling `between` each time, until there is one of the probe.
    fn until(probe: &str, telemetry: &mut Telemetry, between: impl Fn(&mut Telemetry)) -> Vec<Reading> {
        let (began, mut readings) = (Instant::now(), Vec::new());
        loop {
            readings.extend(telemetry.take());
            if readings.iter().any(|reading: &Reading| reading.probe == probe) {
                return readings;
            }
            assert!(began.elapsed() < TIMEOUT, "nothing of {probe}: {readings:?}");
            between(telemetry);
        }
    }

    #[test]
    fn the_thread_polls_by_itself_and_ends_with_its_other_end() {
        let mut telemetry = begin(Duration::from_millis(100));
        let mut readings = until("cpu", &mut telemetry, |_| thread::sleep(Duration::from_millis(5)));
        readings.extend(telemetry.end());
        let of = |probe: &str, key: &str| -> Vec<u64> {
            let of_series = readings.iter().filter(|r| r.probe == probe && r.key == key);
            of_series.map(|r| r.at_ns).collect()
        };
        let times = of("cpu", "0.user");
        assert!(times.len() >= 2 && times.is_sorted(), "{times:?}");
    }

    #[test]
    fn a_requested_poll_is_over_when_the_call_returns() {
        let mut telemetry = begin(Duration::from_secs(3600));
        let (began, mut readings) = (Instant::now(), Vec::new());
        loop {
            telemetry.sample();
            readings.extend(telemetry.take());
            if telemetry.overdue.is_none() {
                break;
            }
            // On a busy machine the timeout may come first, but not each time.
            assert!(began.elapsed() < TIMEOUT, "every poll is overdue: {readings:?}");
            thread::sleep(Duration::from_millis(5));
        }
        assert!(readings.iter().any(|r| r.probe == "memory"), "{readings:?}");
        // The processor is polled again on request, once enough time has passed.
        until("cpu", &mut telemetry, |telemetry| {
            thread::sleep(Duration::from_millis(120));
            telemetry.sample();
        });
    }

    #[test]
    fn a_hung_thread_is_awaited_once() {
        let (asks, asked) = channel();
        let (_sender, readings) = sync_channel(1);
        let mut telemetry = Telemetry { asks, readings, overdue: None };
        telemetry.sample();
        telemetry.sample();
        let asked_so_far: Vec<SyncSender<()>> = asked.try_iter().collect();
        assert_eq!(asked_so_far.len(), 1);
        asked_so_far[0].send(()).unwrap();
        telemetry.sample();
        assert_eq!(asked.try_iter().count(), 1, "it has replied, so it is polled again");
        assert!(telemetry.end().is_empty());
    }

    #[test]
    fn readings_wait_until_there_is_room() {
        let (sender, receiver) = sync_channel(1);
        let watch = Watch::begin(&Roots::default(), &[]);
        let mut watcher = Watcher { watch, origin: Instant::now(), sender, unsent: Vec::new() };
        watcher.sample(Occasion::Boundary);
        thread::sleep(Duration::from_millis(120));
        watcher.sample(Occasion::Boundary);
        assert!(!watcher.unsent.is_empty());
        let kept = watcher.unsent.clone();
        watcher.sample(Occasion::Boundary);
        assert_eq!(watcher.unsent, kept, "there is no poll while readings are unsent");
        assert!(receiver.recv().is_ok() && watcher.send());
        assert_eq!(receiver.recv().unwrap(), kept);
    }
}
