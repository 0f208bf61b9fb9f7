//! Reported latencies against the truth: reads of a file whose server records their true times.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::contenders::Programs;
use crate::setting::{Setting, turns};
use crate::slow_file::{Delay, FILE_BYTES, SlowFile};
use crate::table::{Values, markdown};

const SECONDS: u32 = 2;

/// Mean, median and 99th percentile in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figures {
    mean: f64,
    p50: f64,
    p99: f64,
}

impl Figures {
    fn of_sorted(ns: &[u64]) -> Self {
        let at =
            |share: f64| ns.get(((ns.len() as f64 * share).ceil() as usize).max(1) - 1).copied().unwrap_or(0);
        let mean = ns.iter().sum::<u64>() as f64 / ns.len().max(1) as f64;
        Self { mean: mean / 1e3, p50: at(0.5) as f64 / 1e3, p99: at(0.99) as f64 / 1e3 }
    }

    fn of_lodestone(stdout: &str) -> Option<Self> {
        let run: Value = serde_json::from_str(stdout).ok()?;
        let metric = |name: &str| {
            let m = run["measurements"].as_array()?.iter().find(|m| m["metric"] == name)?;
            Some(m["estimate"].as_f64()? / 1e3)
        };
        Some(Self { mean: metric("lat_mean")?, p50: metric("lat_p50")?, p99: metric("lat_p99")? })
    }

    fn of_fio(stdout: &str) -> Option<Self> {
        let report: Value = serde_json::from_str(stdout.get(stdout.find('{')?..)?).ok()?;
        let lat = &report["jobs"][0]["read"]["lat_ns"];
        let percentile = |name: &str| Some(lat["percentile"][name].as_f64()? / 1e3);
        Some(Self {
            mean: lat["mean"].as_f64()? / 1e3,
            p50: percentile("50.000000")?,
            p99: percentile("99.000000")?,
        })
    }

    /// Raw statistics: the sixth is the mean in nanoseconds; ioping reports no percentiles.
    fn of_ioping(stdout: &str) -> Option<Self> {
        let mean: f64 = stdout.split_whitespace().nth(5)?.parse().ok()?;
        Some(Self { mean: mean / 1e3, p50: f64::NAN, p99: f64::NAN })
    }

    /// The mean from the sum of all latencies, in milliseconds with two decimals, and the number of events, because
    /// the mean itself has no more decimals; the percentiles from the histogram, with three decimals, by sysbench's
    /// own rule: the first bucket at which the cumulative count reaches that share.
    fn of_sysbench(stdout: &str) -> Option<Self> {
        let number = |name: &str| -> Option<f64> {
            stdout.lines().find_map(|line| line.trim().strip_prefix(name)?.trim().parse().ok())
        };
        let bucket = |line: &str| -> Option<(f64, f64)> {
            let (ms, rest) = line.split_once('|')?;
            Some((ms.trim().parse().ok()?, rest.split_whitespace().last()?.parse().ok()?))
        };
        let buckets: Vec<(f64, f64)> = stdout.lines().filter_map(bucket).collect();
        let all: f64 = buckets.iter().map(|(_, count)| count).sum();
        let at = |share: f64| {
            let mut counted = 0.0;
            let reached = |(_, count): &&(f64, f64)| {
                counted += count;
                counted >= (all * share).round()
            };
            Some(buckets.iter().find(reached)?.0 * 1e3)
        };
        let mean = number("sum:")? * 1e3 / number("total number of events:")?;
        Some(Self { mean, p50: at(0.5)?, p99: at(0.99)? })
    }

    fn values(self) -> [f64; 3] {
        [self.mean, self.p50, self.p99]
    }

    fn minus(self, other: Self) -> Self {
        Self { mean: self.mean - other.mean, p50: self.p50 - other.p50, p99: self.p99 - other.p99 }
    }
}

/// A program with its configuration and its results.
struct Contender {
    name: String,
    command: (String, String),
    read: fn(&str) -> Option<Figures>,
    /// Mean, median and 99th percentile, as reported and as the difference from the truth.
    reported: [Values; 3],
    above: [Values; 3],
    /// Why it could not be measured.
    trouble: Option<String>,
}

impl Contender {
    fn new(name: String, command: (String, String), read: fn(&str) -> Option<Figures>) -> Self {
        let none = || [Values::default(), Values::default(), Values::default()];
        Self { name, command, read, reported: none(), above: none(), trouble: None }
    }

    fn one_turn(&mut self, target: &SlowFile, delay: Delay) -> io::Result<()> {
        let (stdout, took) = target.run(delay, &self.command)?;
        let reported = (self.read)(&stdout)
            .ok_or_else(|| io::Error::other(format!("its output has no latencies: {stdout}")))?;
        let above = reported.minus(Figures::of_sorted(&took));
        for (several, figures) in [(&mut self.reported, reported), (&mut self.above, above)] {
            let known = several.iter_mut().zip(figures.values()).filter(|(_, us)| !us.is_nan());
            known.for_each(|(values, us)| values.push(us));
        }
        Ok(())
    }

    /// Its row against the truth: name, reported figures, and their difference from the truth.
    fn row_against_truth(&self) -> Vec<String> {
        let reported = self.reported.iter().map(|values| microseconds(values.median()));
        self.row(reported.chain(self.above.iter().map(|values| values.shown(microseconds))))
    }

    /// Its row where the truth is computed: name and reported figures.
    fn row_alone(&self) -> Vec<String> {
        self.row(self.reported.iter().map(|values| values.shown(microseconds)))
    }

    fn row(&self, cells: impl Iterator<Item = String>) -> Vec<String> {
        if let Some(trouble) = &self.trouble {
            let why = trouble.lines().next().unwrap_or_default();
            return vec![self.name.clone(), format!("not measured: {why}")];
        }
        [self.name.clone()].into_iter().chain(cells).collect()
    }
}

fn microseconds(us: f64) -> String {
    if us.is_nan() { "–".to_owned() } else { format!("{us:.1}") }
}

fn lodestone(programs: &Programs, target: &SlowFile, engine: &str, options: &str) -> Contender {
    let (file, store) = (target.file.display(), target.scratch.path().join("store"));
    let line = format!(
        "run {file} --store {} --rw randread --bs 4k --direct false --cache warm --rounds 1 --json --quiet \
         --engine {engine} {options}",
        store.display()
    );
    Contender::new(format!("lodestone, {engine}"), (programs.lodestone(), line), Figures::of_lodestone)
}

fn fio(programs: &Programs, target: &SlowFile, engine: &str, options: &str) -> Contender {
    let line = format!(
        "--name=a --filename={} --rw=randread --bs=4k --time_based --invalidate=0 --lat_percentiles=1 \
         --output-format=json --ioengine={engine} {options}",
        target.file.display()
    );
    Contender::new(format!("fio, {engine}"), (programs.fio(), line), Figures::of_fio)
}

fn sysbench(programs: &Programs, target: &SlowFile, options: &str) -> Contender {
    let directory = target.file.parent().unwrap_or(Path::new("."));
    let line = format!(
        "--chdir={} {} fileio --file-total-size={FILE_BYTES} --file-num=1 --file-test-mode=rndrd \
         --file-block-size=4096 --file-io-mode=sync --threads=1 --histogram=on {options} run",
        directory.display(),
        programs.sysbench.display()
    );
    Contender::new("sysbench".to_owned(), ("env".to_owned(), line), Figures::of_sysbench)
}

fn ioping(programs: &Programs, target: &SlowFile, options: &str) -> Contender {
    let program = programs.ioping.display().to_string();
    let line = format!("-C -B -q -s 4k -S {FILE_BYTES} {options} {}", target.file.display());
    Contender::new("ioping".to_owned(), (program, line), Figures::of_ioping)
}

const ENGINES: [&str; 3] = ["psync", "io_uring", "libaio"];

/// All programs, one read after the other.
fn closed_loops(programs: &Programs, target: &SlowFile) -> Vec<Contender> {
    let mut all: Vec<Contender> = Vec::new();
    for engine in ENGINES {
        all.push(lodestone(programs, target, engine, &format!("--runtime {SECONDS}s")));
        all.push(fio(programs, target, engine, &format!("--runtime={SECONDS}")));
    }
    all.push(sysbench(programs, target, &format!("--time={SECONDS}")));
    all.push(ioping(programs, target, &format!("-i 0 -w {SECONDS}")));
    all
}

/// All programs, with reads offered at a rate, and room for a backlog where a program supports one.
fn open_loops(programs: &Programs, target: &SlowFile) -> Vec<Contender> {
    let mut all: Vec<Contender> = Vec::new();
    for (engine, depth) in ENGINES.into_iter().zip([1, 1024, 1024]) {
        let options =
            format!("--iodepth {depth} --rate-iops {OFFERED} --runtime {OPEN_SECONDS}s --interval 1s");
        all.push(lodestone(programs, target, engine, &options));
        let options = format!("--iodepth={depth} --rate_iops={OFFERED} --runtime={OPEN_SECONDS}");
        all.push(fio(programs, target, engine, &options));
    }
    all.push(sysbench(programs, target, &format!("--rate={OFFERED} --time={OPEN_SECONDS}")));
    let between_us = 1e6 / OFFERED;
    all.push(ioping(programs, target, &format!("-i {between_us}us -w {OPEN_SECONDS}")));
    all
}

/// Compares figures with the truth: fixed delays, two modes, and a stall in an open loop.
///
/// # Errors
/// FUSE is not available, or nothing can be created in the directory.
pub fn truth(setting: &Setting) -> io::Result<String> {
    let target = SlowFile::mount(&setting.turns.place)?;
    let (programs, rounds) = (&setting.programs, setting.turns.rounds);
    let (us, ms) = (Duration::from_micros, Duration::from_millis);
    let mut text = String::new();
    for (title, delay) in [
        ("No delay", Delay::Fixed(Duration::ZERO)),
        ("1 ms", Delay::Fixed(ms(1))),
        ("Nine of ten 100 µs, one of ten 2 ms", Delay::TwoModes(us(100), ms(2))),
    ] {
        let contenders = measure(closed_loops(programs, &target), &target, delay, rounds);
        let rows: Vec<Vec<String>> = contenders.iter().map(Contender::row_against_truth).collect();
        let head = ["µs", "mean", "p50", "p99", "mean − truth", "p50 − truth", "p99 − truth"];
        text.push_str(&format!("### {title}\n\n{}\n", markdown(&head, &rows)));
    }
    // A stall of one second in an open loop at a tenth of the capacity.
    let (base, at, stall) = (us(200), Duration::from_secs(5), Duration::from_secs(1));
    let contenders = measure(open_loops(programs, &target), &target, Delay::Stall(base, at, stall), rounds);
    let arithmetic = expected(base, at, stall).values().map(microseconds);
    let mut rows = vec![["arithmetic".to_owned()].into_iter().chain(arithmetic).collect()];
    rows.extend(contenders.iter().map(Contender::row_alone));
    let table = markdown(&["µs", "mean", "p50", "p99"], &rows);
    let title =
        format!("A stall of 1 s in {OPEN_SECONDS} s, {OFFERED} reads per second offered, 200 µs each");
    Ok(format!("{text}### {title}\n\n{table}"))
}

fn measure(mut contenders: Vec<Contender>, target: &SlowFile, delay: Delay, rounds: u32) -> Vec<Contender> {
    for turn in turns(rounds, contenders.len()) {
        let contender = &mut contenders[turn];
        if contender.trouble.is_none() {
            contender.trouble = contender.one_turn(target, delay).err().map(|error| error.to_string());
        }
    }
    contenders
}

const OFFERED: f64 = 500.0;
const OPEN_SECONDS: u64 = 10;

/// Latencies from the intended start times, for a server of one request at a time.
fn expected(base: Duration, at: Duration, stall: Duration) -> Figures {
    let [base, at, stall] = [base, at, stall].map(|d| d.as_nanos() as u64);
    let between = (1e9 / OFFERED) as u64;
    let (mut free, mut stalled, mut ns) = (0u64, false, Vec::new());
    for arrival in (0..OPEN_SECONDS * 1_000_000_000).step_by(between as usize) {
        let start = free.max(arrival);
        let stalls = !stalled && start >= at;
        stalled |= stalls;
        free = start + if stalls { stall } else { base };
        ns.push(free - arrival);
    }
    ns.sort_unstable();
    Figures::of_sorted(&ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arithmetic_of_a_stall() {
        let figures = expected(Duration::from_millis(1), Duration::from_secs(5), Duration::from_secs(1));
        // 500 reads wait half a second on average, and as many again while the backlog drains.
        assert!((90_000.0..110_000.0).contains(&figures.mean), "{figures:?}");
        assert_eq!(figures.p50, 1000.0);
        assert!(figures.p99 > 800_000.0);
    }

    #[test]
    fn figures_are_parsed() {
        let report = r#"{"jobs":[{"read":{"lat_ns":{"mean":5000,"percentile":{"50.000000":4000,"99.000000":9000}}}}]}"#;
        assert_eq!(Figures::of_fio(report), Some(Figures { mean: 5.0, p50: 4.0, p99: 9.0 }));
        assert_eq!(Figures::of_ioping("9 1000 9 4 1 2000 3 4 9 1000").unwrap().mean, 2.0);
        // Half of five is two and a half, which sysbench rounds to three.
        let report = "Latency histogram (values are in milliseconds)\n       value  ---- distribution ---- count\n\
            \x20      0.064 |*****  2\n       1.021 |*****  1\n      10.000 |**     2\n\
            General statistics:\n    total number of events:   5\n\
            Latency (ms):\n         avg:   4.23\n         sum:   21.15\n";
        let parsed = Figures::of_sysbench(report).unwrap().values().map(f64::round);
        assert_eq!(parsed, [4230.0, 1021.0, 10_000.0]);
        assert_eq!(Figures::of_sysbench("FATAL: Cannot open file"), None);
        assert_eq!(Figures::of_sorted(&[1000, 2000, 3000, 10_000]).p50, 2.0);
    }
}
