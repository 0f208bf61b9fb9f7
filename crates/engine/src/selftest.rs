//! The limits of this machine for the generator: the cost of reading the clock, the rate at which operations that
//! need no storage can be driven, and the lateness of timers. No measurement can be better than these.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use model::{EngineKind, RepeatOutcome, Stop, Workload};

use crate::clock::{Clock, MonotonicClock, meet_due_times, settle};
use crate::run::run;
use crate::task::{EngineError, IoTarget, OpenFiles, Task};

/// The highest rate that one job can drive on this machine, whatever the storage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor {
    /// Operations per second.
    pub rate: f64,
    /// Nanoseconds of CPU time per operation in user mode: the generator itself.
    pub user_ns: f64,
    /// Nanoseconds of CPU time per operation in the kernel.
    pub system_ns: f64,
}

/// Nanoseconds per reading of the clock, the lowest of several means: as workers read it, and through the C
/// library.
pub fn clock_cost_ns() -> (f64, f64) {
    settle();
    (read_cost_ns(&MonotonicClock::set()), read_cost_ns(&MonotonicClock::default()))
}

/// Nanoseconds between two values of the processor's counter: no time is known better. `None` if workers read the time
/// through the C library.
pub fn clock_tick_ns() -> Option<f64> {
    settle();
    MonotonicClock::set().tick_ns()
}

fn read_cost_ns(clock: &MonotonicClock) -> f64 {
    const READS: u64 = 10_000;
    let mean = |_| {
        let began = clock.now();
        for _ in 0..READS {
            std::hint::black_box(clock.now());
        }
        (clock.now() - began) as f64 / READS as f64
    };
    (0..20).map(mean).fold(f64::INFINITY, f64::min)
}

/// Lateness in nanoseconds of a worker that waits for a due time `period_ns` ahead; sorted, one value for each of
/// `times` waits.
///
/// # Panics
/// If no further thread can be created.
pub fn timer_lateness_ns(times: usize, period_ns: u64) -> Vec<u64> {
    thread::spawn(move || wait_often(times, period_ns)).join().expect("waiting does not panic")
}

fn wait_often(times: usize, period_ns: u64) -> Vec<u64> {
    meet_due_times();
    let clock = MonotonicClock::set();
    let wait = |_| {
        let due = clock.now() + period_ns;
        while clock.now() < due {
            clock.sleep_until(due);
        }
        clock.now() - due
    };
    let mut late: Vec<u64> = (0..times).map(wait).collect();
    late.sort_unstable();
    late
}

/// Drives random reads of 4 KiB from a file that should be in memory, for `time_ns`.
///
/// # Errors
/// The engine does not work here, or the file cannot be read.
pub fn floor(
    engine: EngineKind,
    iodepth: u32,
    file: File,
    file_bytes: u64,
    time_ns: u64,
) -> Result<Floor, EngineError> {
    let task = Task {
        repeat: 0,
        workload: Workload { iodepth, ..Workload::random_reads() },
        engine,
        stop: Stop { time_ns: Some(time_ns), ..Stop::default() },
        ramp_ns: 0,
        interval_ns: 500_000_000,
        max_errors: 1,
        seed: 1,
        target: IoTarget::Files(OpenFiles {
            per_job: vec![vec![file]],
            file_bytes,
            writable: false,
            generations: None,
        }),
        start: 0.0,
        compare_stamps: false,
        sim: None,
        concurrent: Vec::new(),
    };
    let mut operations = 0;
    let outcome = run(task, &Arc::new(AtomicBool::new(false)), &mut |interval| {
        operations += interval.operations.values().map(|stats| stats.count).sum::<u64>();
    })?;
    if let RepeatOutcome::Failed(failure) = outcome.outcome {
        let source = std::io::Error::other(failure.to_string());
        return Err(EngineError::Broke { engine, source });
    }
    let each = |ns: u64| ns as f64 / operations.max(1) as f64;
    Ok(Floor {
        rate: operations as f64 / (outcome.window_ns as f64 / 1e9),
        user_ns: each(outcome.workers.user_ns),
        system_ns: each(outcome.workers.system_ns),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_that_works_here_has_a_floor() {
        for (engine, iodepth) in [(EngineKind::Psync, 1), (EngineKind::Mmap, 1), (EngineKind::Libaio, 8)] {
            let file = tempfile::tempfile().unwrap();
            file.set_len(1 << 20).unwrap();
            // The rate depends on the machine's other load, and a thread that wakes late may have done nothing.
            let floor = (0..50)
                .map(|_| floor(engine, iodepth, file.try_clone().unwrap(), 1 << 20, 200_000_000).unwrap())
                .find(|floor| floor.rate > 0.0 && floor.user_ns + floor.system_ns > 0.0)
                .unwrap();
            // A thread's CPU time cannot exceed the elapsed time.
            assert!((floor.user_ns + floor.system_ns) * floor.rate < 1.5e9, "{engine}: {floor:?}");
        }
    }

    #[test]
    fn reading_the_clock_takes_time_and_no_timer_is_early() {
        let (workers, library) = clock_cost_ns();
        assert!((1.0..1e6).contains(&workers) && (1.0..1e6).contains(&library));
        let late = timer_lateness_ns(5, 200_000);
        assert!(late.is_sorted() && late.len() == 5);
    }
}
