//! The gain from a second job where no storage can be the limit, compared with the machine's own gain from a second
//! thread: two processors may be two threads of one core, or be lent to neighbours.

use std::hint::black_box;
use std::io;
use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use host::Roots;
use model::{EngineKind, MachineCpu, Stop};

use crate::contenders::rate_of_t_io_uring;
use crate::drive::{DriveArgs, drive_until};
use crate::measured;
use crate::setting::{Setting, make, turns};
use crate::table::{Values, markdown, rate, ratio};

/// Measured time of each. All stop by time: if the work were divided beforehand, the slower of two threads would
/// determine the rate, and the idle end of the faster one would count against both.
const SECONDS: u32 = 2;

/// What runs in one thread and in two.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runner {
    Lodestone,
    TIoUring,
    Arithmetic,
}

impl Runner {
    fn name(self) -> &'static str {
        match self {
            Self::Lodestone => "lodestone, no-op requests",
            Self::TIoUring => "t/io_uring, no-op requests",
            Self::Arithmetic => "an arithmetic loop",
        }
    }

    /// Its operations per second in `threads` threads.
    fn rate(self, setting: &Setting, file: &Path, threads: u32) -> io::Result<f64> {
        match self {
            Self::Lodestone => noop(file, threads),
            Self::TIoUring => t_io_uring(setting, file, threads),
            Self::Arithmetic => Ok(arithmetic(threads, Duration::from_secs(SECONDS.into()))),
        }
    }
}

/// Each runner in one thread and in two, and the CPU time that the hypervisor took meanwhile.
///
/// # Errors
/// The engine or `t/io_uring` fails.
pub fn scaling(setting: &Setting) -> io::Result<String> {
    let scratch = tempfile::tempdir_in(&setting.turns.place)?;
    let file = scratch.path().join("noop");
    make(&file, 1 << 20)?;
    let source = setting.programs.fio_source.is_some();
    let runners: Vec<Runner> = [Runner::Lodestone, Runner::TIoUring, Runner::Arithmetic]
        .into_iter()
        .filter(|runner| source || *runner != Runner::TIoUring)
        .collect();
    // One thread, two threads, and their ratio in the same round.
    let mut rates = vec![[Values::default(), Values::default(), Values::default()]; runners.len()];
    let roots = Roots::default();
    let before = host::machine_cpu(&roots);
    for turn in turns(setting.turns.rounds, runners.len()) {
        let one = runners[turn].rate(setting, &file, 1)?;
        let two = runners[turn].rate(setting, &file, 2)?;
        rates[turn].iter_mut().zip([one, two, two / one]).for_each(|(values, value)| values.push(value));
    }
    let taken = before.zip(host::machine_cpu(&roots)).map(|(before, after)| stolen(&before, &after));
    let row = |(runner, [one, two, times]): (&Runner, &[Values; 3])| {
        vec![runner.name().to_owned(), one.shown(rate), two.shown(rate), times.shown(ratio)]
    };
    let rows: Vec<Vec<String>> = runners.iter().zip(&rates).map(row).collect();
    let mut text = markdown(&["two threads against one", "one", "two", "times as many"], &rows);
    if !source {
        text.push_str("\nt/io_uring was not measured: it comes with `--fio-source`.\n");
    }
    if let Some(taken) = taken {
        text.push_str(&format!(
            "\nMeanwhile the hypervisor took {:.1} % of the processors' time.\n",
            taken * 100.0
        ));
    }
    Ok(text)
}

/// Steal time as a share of all processors' time between two readings, from 0 to 1.
fn stolen(before: &MachineCpu, after: &MachineCpu) -> f64 {
    let all = |cpu: &MachineCpu| {
        cpu.user_ns + cpu.system_ns + cpu.irq_ns + cpu.steal_ns + cpu.iowait_ns + cpu.idle_ns
    };
    let since = |before: u64, after: u64| after.saturating_sub(before) as f64;
    since(before.steal_ns, after.steal_ns) / since(all(before), all(after)).max(1.0)
}

fn noop(file: &Path, jobs: u32) -> io::Result<f64> {
    let args = DriveArgs { jobs, ..DriveArgs::reads(file.to_owned(), EngineKind::Noop, 32) };
    let stop = Stop { time_ns: Some(u64::from(SECONDS) * 1_000_000_000), ..Stop::default() };
    Ok(drive_until(&args, stop)?.rate)
}

/// No-op requests through a ring, in batches of all 32, as in Lodestone.
fn t_io_uring(setting: &Setting, file: &Path, threads: u32) -> io::Result<f64> {
    let Some(source) = &setting.programs.fio_source else { return Ok(f64::NAN) };
    let program = source.join("t/io_uring").display().to_string();
    // It prints a line after each second but the last.
    let seconds = SECONDS + 1;
    let line = format!("-N1 -d32 -s32 -c32 -p0 -B0 -F0 -O0 -n{threads} -r{seconds} {}", file.display());
    let line: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let stdout = measured::run(&program, &line)?.stdout;
    rate_of_t_io_uring(&stdout)
        .ok_or_else(|| io::Error::other(format!("{program}: its output names no rate:\n{stdout}")))
}

/// Steps per second of a loop that stays in registers and shares nothing. Eight independent chains keep a
/// core's multipliers busy: a single chain mostly waits for itself, and two threads of one core would both have room.
fn arithmetic(threads: u32, time: Duration) -> f64 {
    const STEPS: u64 = 100_000;
    let start = Barrier::new(threads as usize);
    let work = || {
        let mut chains: [u64; 8] = black_box([1, 2, 3, 4, 5, 6, 7, 8]);
        start.wait();
        let (began, mut steps) = (Instant::now(), 0);
        loop {
            for _ in 0..STEPS {
                // Knuth's MMIX constants, The Art of Computer Programming 2, 3.3.4.
                chains.iter_mut().for_each(|x| {
                    *x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                });
            }
            chains = black_box(chains);
            steps += STEPS;
            if began.elapsed() >= time {
                break;
            }
        }
        steps as f64 / began.elapsed().as_secs_f64()
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or(f64::NAN)).sum()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_time_is_a_share_of_all_time() {
        let before = MachineCpu { steal_ns: 100, idle_ns: 1000, ..MachineCpu::default() };
        let after =
            MachineCpu { steal_ns: 150, idle_ns: 1050, user_ns: 80, irq_ns: 20, ..MachineCpu::default() };
        assert_eq!(stolen(&before, &after), 0.25);
        assert_eq!(stolen(&before, &before), 0.0);
    }

    #[test]
    fn the_arithmetic_loop_counts_the_steps_of_all_threads() {
        for threads in [1, 2] {
            assert!(arithmetic(threads, Duration::from_millis(1)) > 0.0);
        }
    }
}
