//! The cost of telemetry: the CPU time of the probes alone, and the figures of runs with and without.

use std::io;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use host::Roots;
use host::probes::{Occasion, PROBES, Watch};
use nix::sys::resource::{UsageWho, getrusage};

use crate::setting::Setting;
use crate::table::{Values, markdown, rate};

/// What is measured and how often.
#[derive(Clone, Debug, clap::Args)]
pub struct TelemetryArgs {
    /// What is measured, where and how often.
    #[command(flatten)]
    pub setting: Setting,
    /// Measured time of each run, in seconds
    #[arg(long, default_value_t = 5)]
    pub seconds: u32,
    /// Measured time of the probes alone, in seconds
    #[arg(long, default_value_t = 30)]
    pub alone: u32,
    /// Options of the workload
    #[arg(last = true, default_values = WORKLOAD)]
    pub options: Vec<String>,
}

/// The default options of the workload.
const WORKLOAD: [&str; 6] = ["--rw", "randread", "--iodepth", "32", "--size", "1G"];

impl From<&Setting> for TelemetryArgs {
    fn from(setting: &Setting) -> Self {
        let options = WORKLOAD.map(str::to_owned).to_vec();
        Self { setting: setting.clone(), seconds: 5, alone: 30, options }
    }
}

/// The default period.
const PERIOD: Duration = Duration::from_secs(1);

/// The probes alone, then runs with and without telemetry in turn.
///
/// # Errors
/// A program cannot be run, or prints unexpected output.
pub fn telemetry(args: &TelemetryArgs) -> io::Result<String> {
    let alone = alone(args)?;
    Ok(format!("{alone}\n\n{}", with_and_without(args)?))
}

/// Runs the whole set of probes as a run does, once a second, on its own thread, and measures that thread's CPU time,
/// system calls included.
fn alone(args: &TelemetryArgs) -> io::Result<String> {
    let target = host::target::inspect(&Roots::default(), &args.setting.turns.place);
    let layers = target.map_err(io::Error::other)?.stack;
    let seconds = args.alone;
    let watching = move || -> io::Result<(f64, f64, f64, usize, usize, usize)> {
        let mut watch = Watch::begin(&Roots::default(), &layers);
        let (began, mut readings, mut bytes) = (Instant::now(), Vec::new(), 0);
        let now = || began.elapsed().as_nanos() as u64;
        watch.sample(Occasion::Boundary, &now, &mut readings);
        let first = thread_cpu_seconds()?;
        let (mut count, mut most) = (0, 0f64);
        let from = thread_cpu_seconds()?;
        for second in 1..=seconds {
            thread::sleep((PERIOD * second).saturating_sub(began.elapsed()));
            readings.clear();
            let before = thread_cpu_seconds()?;
            watch.sample(Occasion::Tick, &now, &mut readings);
            most = most.max(thread_cpu_seconds()? - before);
            count += readings.len();
            bytes += readings.iter().map(line_length).sum::<usize>();
        }
        Ok((thread_cpu_seconds()? - from, first, most, count, bytes, watch.names().count()))
    };
    let watched = thread::spawn(watching).join().map_err(|_| io::Error::other("the probes panicked"))?;
    let (spent, first, most, count, bytes, active) = watched?;
    Ok(format!(
        "{active} of {} probes at 1 Hz for {seconds} s: {:.3} % of one core (the longest sample {:.2} ms, the first one before that {:.1} ms); {:.1} readings, {:.1} kB of log per second",
        PROBES.len(),
        spent / f64::from(seconds) * 100.0,
        most * 1e3,
        first * 1e3,
        count as f64 / f64::from(seconds),
        bytes as f64 / 1e3 / f64::from(seconds),
    ))
}

/// Bytes of a reading in the log, its line end included.
fn line_length(reading: &model::Reading) -> usize {
    serde_json::to_string(&model::Event::Reading(reading.clone())).map_or(0, |line| line.len() + 1)
}

/// CPU time of the calling thread, in user mode and in the kernel.
fn thread_cpu_seconds() -> io::Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD)?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// IOPS of runs with telemetry and without, in turn; the order alternates from pair to pair.
fn with_and_without(args: &TelemetryArgs) -> io::Result<String> {
    let scratch = tempfile::tempdir_in(&args.setting.turns.place)?;
    let (mut with, mut without, mut ratios) = (Values::default(), Values::default(), Values::default());
    let mut logarithms = Vec::new();
    for round in 0..args.setting.turns.rounds {
        let order = if round % 2 == 0 { ["1s", "off"] } else { ["off", "1s"] };
        let first = iops(args, scratch.path(), order[0])?;
        let second = iops(args, scratch.path(), order[1])?;
        let (on, off) = if round % 2 == 0 { (first, second) } else { (second, first) };
        with.push(on);
        without.push(off);
        ratios.push(on / off);
        logarithms.push((on / off).ln());
    }
    let row = |name: &str, values: &Values| vec![name.to_owned(), values.shown(rate)];
    let rows = [
        row("telemetry at 1 Hz", &with),
        row("no telemetry", &without),
        vec!["with ÷ without, pair by pair".to_owned(), ratios.shown(|r| format!("{r:.3}"))],
        vec!["their geometric mean, 95 % interval".to_owned(), mean_ratio(&logarithms)],
    ];
    Ok(markdown(&["", "IOPS"], &rows))
}

/// The mean ratio with Student's interval, from logarithms.
fn mean_ratio(logarithms: &[f64]) -> String {
    let Some(mean) = analyse::mean_with_t_interval(logarithms) else { return "–".to_owned() };
    let shown = |logarithm: f64| format!("{:.3}", logarithm.exp());
    let interval = mean.interval.map(|(low, high)| format!(" [{}–{}]", shown(low), shown(high)));
    shown(mean.value) + &interval.unwrap_or_default()
}

fn iops(args: &TelemetryArgs, place: &std::path::Path, telemetry: &str) -> io::Result<f64> {
    let output = Command::new(args.setting.programs.lodestone())
        .arg("run")
        .arg(place)
        .arg("--store")
        .arg(place.join("store"))
        .args(["--json", "--quiet", "--rounds", "1", "--telemetry", telemetry])
        .args(["--runtime", &format!("{}s", args.seconds)])
        .args(&args.options)
        .stderr(Stdio::inherit())
        .output()?;
    let json: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let of_iops = |m: &&serde_json::Value| m["metric"] == "iops";
    let measurements = json["measurements"].as_array().into_iter().flatten();
    let sum: f64 = measurements.filter(of_iops).filter_map(|m| m["estimate"].as_f64()).sum();
    if sum > 0.0 { Ok(sum) } else { Err(io::Error::other("the run measured nothing")) }
}
