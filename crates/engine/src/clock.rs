//! Time is read only here: engines have no clock, and the driver owns the clock that it is given.

mod counter;

use std::cell::Cell;
use std::rc::Rc;

use counter::Counter;
pub use counter::read_the_counter;
pub(crate) use counter::settle;

/// A clock in nanoseconds from an arbitrary start that never goes backwards.
pub trait Clock {
    /// The current time.
    fn now(&self) -> u64;
    /// Returns when the time is `until_ns` or later, or earlier if a signal arrives.
    fn sleep_until(&self, until_ns: u64);
    /// Waits for the common start of all workers, given in the machine's monotonic time, and returns it in this
    /// clock's time.
    fn start(&mut self, shared_ns: u64) -> u64;
    /// True if time advances on its own, so that a thread can wait for it by polling.
    const PASSES: bool;
}

/// `CLOCK_MONOTONIC`, the same for all threads of the machine. If [`read_the_counter`] was called, it is read
/// from the processor's counter from the start on.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicClock {
    counter: Option<Counter>,
}

impl MonotonicClock {
    /// A clock that is accurate now; the longer the process has run, the longer it stays accurate.
    pub fn set() -> Self {
        Self { counter: Counter::set() }
    }

    /// Nanoseconds between two values of the processor's counter, if that is read.
    pub(crate) fn tick_ns(&self) -> Option<f64> {
        self.counter.map(|counter| counter.tick_ns())
    }
}

/// The last stretch before a due time is spun instead of slept: a wake-up takes about that long.
const SPIN_NS: u64 = 60_000;

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> u64 {
        self.counter.and_then(|counter| counter.now()).unwrap_or_else(monotonic_ns)
    }

    fn sleep_until(&self, until_ns: u64) {
        let now = self.now();
        if until_ns > now + SPIN_NS {
            let until = timespec(monotonic_ns() + (until_ns - SPIN_NS - now));
            // SAFETY: both pointers are valid or null for the call. An early return by a signal is intended: the caller
            // checks its stop flag and calls again.
            unsafe {
                libc::clock_nanosleep(
                    libc::CLOCK_MONOTONIC,
                    libc::TIMER_ABSTIME,
                    &until,
                    std::ptr::null_mut(),
                );
            }
        }
        let mut now = self.now();
        while now < until_ns && until_ns - now <= SPIN_NS {
            std::hint::spin_loop();
            now = self.now();
        }
    }

    fn start(&mut self, shared_ns: u64) -> u64 {
        *self = Self::set();
        while self.now() < shared_ns {
            self.sleep_until(shared_ns);
        }
        shared_ns
    }

    const PASSES: bool = true;
}

/// Sets the calling thread's timer slack to a microsecond instead of the default 50.
pub(crate) fn meet_due_times() {
    // SAFETY: sets a property of this thread only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

/// `CLOCK_MONOTONIC` in nanoseconds.
#[inline]
pub fn monotonic_ns() -> u64 {
    read_clock(libc::CLOCK_MONOTONIC)
}

/// CPU time of the calling thread in nanoseconds, `(user, system)`.
pub(crate) fn thread_cpu_ns() -> (u64, u64) {
    rusage_ns(libc::RUSAGE_THREAD)
}

/// CPU time of the whole process in nanoseconds, `(user, system)`, including threads that the kernel runs on its
/// behalf (io_uring's workers).
pub fn process_cpu_ns() -> (u64, u64) {
    rusage_ns(libc::RUSAGE_SELF)
}

fn rusage_ns(who: libc::c_int) -> (u64, u64) {
    // SAFETY: an all-zero rusage is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for writing; the call cannot fail with these constants.
    unsafe { libc::getrusage(who, &mut usage) };
    let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    (ns(usage.ru_utime), ns(usage.ru_stime))
}

#[inline]
fn read_clock(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing; the clock exists on every Linux.
    unsafe { libc::clock_gettime(id, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

pub(crate) fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ }
}

/// A worker's clock that can be paused: preparation of the next measurement counts neither as time nor as CPU
/// time.
#[derive(Debug)]
pub(crate) struct StopClock {
    clock: MonotonicClock,
    stopped_ns: u64,
    /// CPU time before the start and while the clock was paused, `(user, system)`.
    uncounted: (u64, u64),
}

impl StopClock {
    /// Waits for the common start of all workers, and starts.
    pub fn start(shared_ns: u64) -> Self {
        let mut clock = MonotonicClock::default();
        clock.start(shared_ns);
        Self { clock, stopped_ns: 0, uncounted: thread_cpu_ns() }
    }

    /// The current time in nanoseconds: the machine's monotonic time minus the time the clock was paused.
    #[inline]
    pub fn now(&self) -> u64 {
        self.clock.now() - self.stopped_ns
    }

    /// Runs `work` while the clock is paused.
    pub fn aside<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (began, (user, system)) = (self.clock.now(), thread_cpu_ns());
        let done = work();
        let after = thread_cpu_ns();
        self.uncounted.0 += after.0 - user;
        self.uncounted.1 += after.1 - system;
        self.stopped_ns += self.clock.now() - began;
        done
    }

    /// CPU time of the calling thread since the start in nanoseconds, `(user, system)`.
    pub fn cpu_ns(&self) -> (u64, u64) {
        let (user, system) = thread_cpu_ns();
        (user - self.uncounted.0, system - self.uncounted.1)
    }
}

/// A clock that advances only when it is moved: the time of the simulator.
#[derive(Clone, Debug, Default)]
pub struct VirtualClock(Rc<Cell<u64>>);

impl VirtualClock {
    /// Moves the clock forward to `ns`; a time in the past has no effect.
    pub fn advance_to(&self, ns: u64) {
        self.0.set(self.0.get().max(ns));
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> u64 {
        self.0.get()
    }

    fn sleep_until(&self, until_ns: u64) {
        self.advance_to(until_ns);
    }

    fn start(&mut self, _shared_ns: u64) -> u64 {
        self.now()
    }

    const PASSES: bool = false;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_sleeps_at_least_until_the_given_time() {
        let clock = MonotonicClock::set();
        for wait_ns in [0, 1_000, 200_000, 2_000_000] {
            let until = clock.now() + wait_ns;
            clock.sleep_until(until);
            assert!(clock.now() >= until);
        }
    }

    #[test]
    fn a_paused_clock_counts_neither_time_nor_cpu_time() {
        const PAUSED_NS: u64 = 50_000_000;
        let began = monotonic_ns();
        let mut clock = StopClock::start(began);
        let before = clock.now();
        let busy = clock.aside(|| {
            let (aside, cpu) = (monotonic_ns(), thread_cpu_ns());
            while thread_cpu_ns().0 + thread_cpu_ns().1 < cpu.0 + cpu.1 + PAUSED_NS {}
            monotonic_ns() - aside
        });
        assert!(clock.now() >= before, "it never goes backwards");
        // CPU time advances in ticks, and the clocks may differ by a thousandth of the time.
        assert!(clock.now() + busy - busy / 1000 <= monotonic_ns());
        let (user, system) = clock.cpu_ns();
        assert!(user + system + PAUSED_NS <= thread_cpu_ns().0 + thread_cpu_ns().1);
        while clock.now() < before + 1_000_000 {}
        assert!(clock.now() > before, "it continues");
    }

    #[test]
    fn a_virtual_clock_is_shared_and_never_goes_backwards() {
        let clock = VirtualClock::default();
        let other = clock.clone();
        clock.sleep_until(500);
        other.advance_to(200);
        assert_eq!((clock.now(), other.now()), (500, 500));
    }
}
