//! The processor's counter as monotonic time (x86: time stamp counter; Arm, 64 bits: virtual counter): half the cost of a
//! call to the C library, which matters when an operation takes less than a microsecond.

use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use super::monotonic_ns;

/// The counter and the monotonic time, read together.
#[derive(Clone, Copy, Debug)]
struct Reading {
    ticks: u64,
    ns: u64,
}

/// The first reading, the reference for later ones; the older it is, the more accurate is the rate.
static FIRST: OnceLock<Reading> = OnceLock::new();

/// Lets workers read the time from the processor's counter, but only if the kernel itself uses it as its clock
/// source and has therefore verified it. Call this early: the rate is measured from here to the start of each
/// worker.
pub fn read_the_counter() {
    if let Some(ticks) = ticks() {
        FIRST.get_or_init(|| read(ticks));
    }
}

/// If the counter is to be used, waits until its rate can be determined: some milliseconds after the start of the
/// process, and once only.
pub(crate) fn settle() {
    if let Some(first) = FIRST.get() {
        thread::sleep(Duration::from_nanos((first.ns + BASELINE_NS).saturating_sub(monotonic_ns())));
    }
}

/// A counter with a known rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counter {
    from: Reading,
    /// Nanoseconds per tick, times 2³².
    tick: u64,
}

/// The minimum baseline of the rate: both readings may be off by some tens of nanoseconds, which is ten
/// millionths of it.
const BASELINE_NS: u64 = 5_000_000;

impl Counter {
    /// `None` if the counter is not to be used, or not yet.
    pub fn set() -> Option<Self> {
        Self::between(FIRST.get()?, read(ticks()?))
    }

    fn between(first: &Reading, last: Reading) -> Option<Self> {
        let ns = last.ns.checked_sub(first.ns).filter(|ns| *ns >= BASELINE_NS)?;
        let ticks = last.ticks.checked_sub(first.ticks).filter(|ticks| *ticks > 0)?;
        let tick = (u128::from(ns) << 32) / u128::from(ticks);
        Some(Self { from: last, tick: u64::try_from(tick).ok()? })
    }

    /// Nanoseconds between two values of the counter.
    pub fn tick_ns(&self) -> f64 {
        self.tick as f64 / f64::from(2_u32).powi(32)
    }

    /// Nanoseconds of monotonic time; `None` if the counter was reset, as some are while a machine is suspended.
    #[inline]
    pub fn now(&self) -> Option<u64> {
        self.at(ticks()?)
    }

    #[inline]
    fn at(&self, ticks: u64) -> Option<u64> {
        let passed = u128::from(ticks.checked_sub(self.from.ticks)?) * u128::from(self.tick);
        Some(self.from.ns + (passed >> 32) as u64)
    }
}

/// The counter; `None` on processors whose counter is not read here.
#[inline]
fn ticks() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has it, and where a process may not read it, the C library's clock fails as well.
    return Some(unsafe { std::arch::x86_64::_rdtsc() });
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: Linux lets every process read this register (Arm ARM, D11.2: CNTVCT_EL0), which changes nothing.
        unsafe {
            std::arch::asm!(
                "mrs {}, cntvct_el0",
                out(reg) ticks,
                options(nomem, nostack, preserves_flags)
            );
        }
        return Some(ticks);
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    None
}

/// Takes several readings and returns the one that took the least time.
fn read(mut before: u64) -> Reading {
    const TRIES: u32 = 16;
    let mut best = (u64::MAX, Reading { ticks: before, ns: monotonic_ns() });
    for _ in 0..TRIES {
        let ns = monotonic_ns();
        let after = ticks().unwrap_or(before);
        let width = after.saturating_sub(before);
        if width < best.0 {
            best = (width, Reading { ticks: before + width / 2, ns });
        }
        before = ticks().unwrap_or(after);
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const FIRST_READING: Reading = Reading { ticks: 1_000, ns: 500 };

    /// A counter with 3 ticks per nanosecond, set 10 ms after the first reading.
    fn three_ticks_per_nanosecond() -> Counter {
        Counter::between(&FIRST_READING, Reading { ticks: 30_001_000, ns: 10_000_500 }).unwrap()
    }

    #[test]
    fn ticks_convert_at_the_rate_between_the_readings() {
        let counter = three_ticks_per_nanosecond();
        assert_eq!(counter.at(30_001_000), Some(10_000_500));
        // An hour later: the rounding of the rate is less than a thousandth of a second.
        let hour = counter.at(30_001_000 + 3 * 3_600_000_000_000).unwrap() - 10_000_500;
        assert!(hour.abs_diff(3_600_000_000_000) < 1_000_000, "{hour}");
    }

    #[test]
    fn a_tick_is_told_in_nanoseconds() {
        assert!((three_ticks_per_nanosecond().tick_ns() - 1.0 / 3.0).abs() < 1e-6);
        // 54 MHz, as a Raspberry Pi 4 has.
        let pi = Counter::between(&Reading { ticks: 0, ns: 0 }, Reading { ticks: 540_000, ns: 10_000_000 });
        assert!((pi.unwrap().tick_ns() - 18.518_518).abs() < 1e-3);
    }

    #[test]
    fn a_reset_counter_returns_no_time() {
        assert_eq!(three_ticks_per_nanosecond().at(30_000_999), None);
    }

    #[test]
    fn a_rate_from_a_short_baseline_or_stopped_counter_is_rejected() {
        let soon = Reading { ticks: 3_001_000, ns: 1_000_500 };
        assert!(Counter::between(&FIRST_READING, soon).is_none());
        let standing = Reading { ticks: 1_000, ns: 10_000_500 };
        assert!(Counter::between(&FIRST_READING, standing).is_none());
    }

    #[test]
    fn the_counter_agrees_with_the_machines_clock() {
        let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        let trusted =
            std::fs::read(source).is_ok_and(|name| name == b"tsc\n" || name == b"arch_sys_counter\n");
        let Some(now) = ticks().filter(|_| trusted) else {
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED: the kernel does not use this processor's counter as its clock source"
            );
            return;
        };
        let mut first = read(now);
        let mut tries = Vec::new();
        for _ in 0..20 {
            thread::sleep(Duration::from_millis(50));
            let counter = Counter::between(&first, read(ticks().unwrap())).unwrap();
            thread::sleep(Duration::from_millis(50));
            let (before, counted, after) = (monotonic_ns(), counter.now().unwrap(), monotonic_ns());
            // A thousandth of the elapsed time: the rate is far more accurate unless a preemption fell between
            // the two halves of a reading.
            let tolerance = (after - first.ns) / 1000;
            if before - tolerance <= counted && counted <= after + tolerance {
                return;
            }
            tries.push((before, counted, after));
            first = read(ticks().unwrap());
        }
        panic!("the machine's clock before, the counter, the clock after: {tries:?}");
    }
}
