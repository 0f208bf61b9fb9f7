//! Makes calls that may hang in the kernel without hanging the run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Timeout of a sync: a gigabyte to a slow card takes minutes.
const SYNC_TIMEOUT: Duration = Duration::from_secs(1200);
/// Timeout of a sync after the user has asked to stop.
const INTERRUPTED_SYNC_TIMEOUT: Duration = Duration::from_secs(6);
/// How long a target may take to respond or to release its files: as long as the engine allows for an operation.
pub const RESPONSE_TIMEOUT: Duration = Duration::from_secs(300);
/// How often an interruption is checked for.
const POLL_PERIOD: Duration = Duration::from_millis(100);

/// Runs a function on its own thread and returns its result; `None` if it does not return in time. The thread is then
/// abandoned: uninterruptible sleep in the kernel cannot be ended.
pub fn with_timeout<T: Send + 'static>(
    interrupt: &AtomicBool,
    what: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    within(SYNC_TIMEOUT, interrupt, what)
}

/// Like [`with_timeout`], with the given time limit.
pub fn within<T: Send + 'static>(
    timeout: Duration,
    interrupt: &AtomicBool,
    what: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = channel();
    thread::spawn(move || sender.send(what()));
    await_result(&receiver, interrupt, timeout, INTERRUPTED_SYNC_TIMEOUT)
}

fn await_result<T>(
    receiver: &Receiver<T>,
    interrupt: &AtomicBool,
    timeout: Duration,
    when_interrupted: Duration,
) -> Option<T> {
    let (began, mut interrupted) = (Instant::now(), None);
    loop {
        match receiver.recv_timeout(POLL_PERIOD) {
            Ok(result) => return Some(result),
            // The thread has panicked; its work was not done.
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if interrupt.load(Ordering::Relaxed) {
            interrupted.get_or_insert_with(Instant::now);
        }
        let hangs = |since: &Instant| since.elapsed() > when_interrupted;
        if began.elapsed() > timeout || interrupted.as_ref().is_some_and(hangs) {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);
    const SHORT: Duration = Duration::from_millis(1);

    #[test]
    fn a_result_in_time_is_returned() {
        assert_eq!(with_timeout(&AtomicBool::new(true), || 7), Some(7));
    }

    #[test]
    fn a_hung_call_is_abandoned_sooner_after_an_interruption() {
        let (_sender, receiver) = channel::<()>();
        let (going_on, stopping) = (AtomicBool::new(false), AtomicBool::new(true));
        assert_eq!(await_result(&receiver, &going_on, SHORT, LONG), None);
        assert_eq!(await_result(&receiver, &stopping, LONG, SHORT), None);
    }
}
