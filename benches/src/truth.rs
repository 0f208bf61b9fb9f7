//! What programs report against what really happened: a file whose every read takes a chosen time, by a
//! server in user space that keeps the times that it really took.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, INodeNo,
    LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEntry, ReplyOpen, Request,
};
use serde_json::Value;

use crate::contenders::Programs;
use crate::measured;
use crate::table::markdown;

const FILE_BYTES: u64 = 64 << 20;
const SECONDS: u32 = 2;

/// What is compared.
#[derive(Clone, Debug, clap::Args)]
pub struct TruthArgs {
    #[command(flatten)]
    programs: Programs,
}

/// How long reads take.
#[derive(Clone, Copy, Debug)]
enum Delay {
    Fixed(Duration),
    /// Nine of ten take the first, one of ten the second.
    TwoModes(Duration, Duration),
    /// All take the first, but that which begins so long after the first read takes the last.
    Stall(Duration, Duration, Duration),
}

/// What the server knows.
#[derive(Debug)]
struct State {
    delay: Delay,
    reads: u64,
    began: Option<Instant>,
    stalled: bool,
    /// Nanoseconds that each read took.
    took_ns: Vec<u64>,
}

impl State {
    fn new(delay: Delay) -> Self {
        Self { delay, reads: 0, began: None, stalled: false, took_ns: Vec::new() }
    }

    fn next(&mut self) -> Duration {
        self.reads += 1;
        let began = *self.began.get_or_insert_with(Instant::now);
        match self.delay {
            Delay::Fixed(delay) => delay,
            Delay::TwoModes(_, slow) if self.reads.is_multiple_of(10) => slow,
            Delay::TwoModes(fast, _) => fast,
            Delay::Stall(_, after, stall) if !self.stalled && began.elapsed() >= after => {
                self.stalled = true;
                stall
            }
            Delay::Stall(base, ..) => base,
        }
    }
}

/// A filesystem with one file.
struct SlowFile(Arc<Mutex<State>>);

fn attributes(ino: u64) -> FileAttr {
    FileAttr {
        ino: INodeNo(ino),
        size: if ino == 2 { FILE_BYTES } else { 0 },
        blocks: FILE_BYTES / 512,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: if ino == 2 { FileType::RegularFile } else { FileType::Directory },
        perm: 0o755,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        flags: 0,
        blksize: 4096,
    }
}

const KEPT: Duration = Duration::from_secs(3600);

impl Filesystem for SlowFile {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == "data" {
            reply.entry(&KEPT, &attributes(2), fuser::Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&KEPT, &attributes(u64::from(ino)));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // No page cache: every read comes here.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let began = Instant::now();
        let Ok(mut state) = self.0.lock() else { return reply.error(Errno::EIO) };
        let delay = state.next();
        if delay > Duration::from_millis(5) {
            std::thread::sleep(delay);
        }
        while began.elapsed() < delay {
            std::hint::spin_loop();
        }
        state.took_ns.push(began.elapsed().as_nanos() as u64);
        drop(state);
        reply.data(&vec![0; size as usize]);
    }
}

/// The mounted file, and the way to its server.
struct Target {
    state: Arc<Mutex<State>>,
    file: PathBuf,
    /// Unmounts when dropped, which has to be before the directory is removed.
    _session: BackgroundSession,
    scratch: tempfile::TempDir,
}

impl Target {
    fn mount() -> io::Result<Self> {
        let scratch = tempfile::tempdir()?;
        let point = scratch.path().join("mount");
        std::fs::create_dir(&point)?;
        let state = Arc::new(Mutex::new(State::new(Delay::Fixed(Duration::ZERO))));
        let mut config = Config::default();
        config.mount_options.push(MountOption::RO);
        config.mount_options.push(MountOption::FSName("lodestone-truth".to_owned()));
        let session = fuser::spawn_mount(SlowFile(Arc::clone(&state)), &point, &config)?;
        Ok(Self { state, file: point.join("data"), _session: session, scratch })
    }

    /// Runs a program against a delay: what it printed, and what the reads really took, sorted.
    fn run(&self, delay: Delay, (program, line): &(String, String)) -> io::Result<(String, Vec<u64>)> {
        let poisoned = |_| io::Error::other("the server has panicked");
        *self.state.lock().map_err(poisoned)? = State::new(delay);
        let line: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let cost = measured::run(program, &line)?;
        let mut took = std::mem::take(&mut self.state.lock().map_err(poisoned)?.took_ns);
        took.sort_unstable();
        Ok((cost.stdout, took))
    }
}

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

    /// Raw statistics, of which the sixth is the mean in nanoseconds; it tells no percentiles.
    fn of_ioping(stdout: &str) -> Option<Self> {
        let mean: f64 = stdout.split_whitespace().nth(5)?.parse().ok()?;
        Some(Self { mean: mean / 1e3, p50: f64::NAN, p99: f64::NAN })
    }

    fn cells(self) -> [String; 3] {
        [self.mean, self.p50, self.p99]
            .map(|us| if us.is_nan() { "–".to_owned() } else { format!("{us:.1}") })
    }

    fn minus(self, other: Self) -> Self {
        Self { mean: self.mean - other.mean, p50: self.p50 - other.p50, p99: self.p99 - other.p99 }
    }
}

type Reader = fn(&str) -> Option<Figures>;

fn lodestone(programs: &Programs, target: &Target, options: &str) -> (String, String) {
    let (file, store) = (target.file.display(), target.scratch.path().join("store"));
    let line = format!(
        "run {file} --store {} --rw randread --bs 4k --direct false --cache warm --rounds 1 --json --quiet {options}",
        store.display()
    );
    (programs.lodestone(), line)
}

fn fio(programs: &Programs, file: &Path, options: &str) -> (String, String) {
    let line = format!(
        "--name=a --filename={} --rw=randread --bs=4k --time_based --invalidate=0 --lat_percentiles=1 \
         --output-format=json {options}",
        file.display()
    );
    (programs.fio(), line)
}

/// Sets figures against the truth: fixed delays, two modes, and a stall in an open loop.
///
/// # Errors
/// There is no FUSE here, or a program cannot be run.
pub fn truth(args: &TruthArgs) -> io::Result<String> {
    let target = Target::mount()?;
    let programs = &args.programs;
    let mut contenders: Vec<(String, (String, String), Reader)> = Vec::new();
    for engine in ["psync", "io_uring", "libaio"] {
        let options = format!("--engine {engine} --runtime {SECONDS}s");
        contenders.push((
            format!("lodestone, {engine}"),
            lodestone(programs, &target, &options),
            Figures::of_lodestone,
        ));
        let options = format!("--ioengine={engine} --runtime={SECONDS}");
        contenders.push((format!("fio, {engine}"), fio(programs, &target.file, &options), Figures::of_fio));
    }
    let ioping = programs.ioping.to_string_lossy().into_owned();
    let line = format!("-C -B -q -i 0 -s 4k -S {FILE_BYTES} -w {SECONDS} {}", target.file.display());
    contenders.push(("ioping".to_owned(), (ioping, line), Figures::of_ioping));
    let (us, ms) = (Duration::from_micros, Duration::from_millis);
    let mut text = String::new();
    for (title, delay) in [
        ("No delay", Delay::Fixed(Duration::ZERO)),
        ("1 ms", Delay::Fixed(ms(1))),
        ("Nine of ten 100 µs, one of ten 2 ms", Delay::TwoModes(us(100), ms(2))),
    ] {
        let mut rows = Vec::new();
        for (name, command, read) in &contenders {
            let (stdout, took) = target.run(delay, command)?;
            let told =
                read(&stdout).ok_or_else(|| io::Error::other(format!("{name}: no figures in {stdout}")))?;
            let mut row = vec![name.clone()];
            row.extend(told.cells());
            row.extend(told.minus(Figures::of_sorted(&took)).cells());
            rows.push(row);
        }
        let head = ["µs", "mean", "p50", "p99", "mean − truth", "p50 − truth", "p99 − truth"];
        text.push_str(&format!("### {title}\n\n{}\n", markdown(&head, &rows)));
    }
    text.push_str(&stall(programs, &target)?);
    Ok(text)
}

const OFFERED: f64 = 500.0;
const OPEN_SECONDS: u64 = 10;

/// One second's stall in ten seconds of an open loop at a tenth of the capacity.
fn stall(programs: &Programs, target: &Target) -> io::Result<String> {
    let (base, at, stall) = (Duration::from_micros(200), Duration::from_secs(5), Duration::from_secs(1));
    let delay = Delay::Stall(base, at, stall);
    let open = format!("--rate-iops {OFFERED} --runtime {OPEN_SECONDS}s --interval 1s");
    let mut contenders: Vec<(String, (String, String), Reader)> = Vec::new();
    for (engine, depth) in [("psync", 1), ("io_uring", 1024), ("libaio", 1024)] {
        let options = format!("--engine {engine} --iodepth {depth} {open}");
        contenders.push((
            format!("lodestone, {engine}"),
            lodestone(programs, target, &options),
            Figures::of_lodestone,
        ));
    }
    let options = format!("--ioengine=psync --rate_iops={OFFERED} --runtime={OPEN_SECONDS}");
    contenders.push(("fio, psync".to_owned(), fio(programs, &target.file, &options), Figures::of_fio));
    let expected = expected(base, at, stall);
    let mut rows = vec![[vec!["arithmetic".to_owned()], expected.cells().to_vec()].concat()];
    for (name, command, read) in contenders {
        let (stdout, _) = target.run(delay, &command)?;
        let told =
            read(&stdout).ok_or_else(|| io::Error::other(format!("{name}: no figures in {stdout}")))?;
        rows.push([vec![name], told.cells().to_vec()].concat());
    }
    let table = markdown(&["µs", "mean", "p50", "p99"], &rows);
    Ok(format!("### A stall of 1 s in 10 s, {OFFERED} reads a second offered, 200 µs each\n\n{table}\n"))
}

/// Latencies from the intended starts, of a server that does one at a time.
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
        // 500 reads wait half a second on average and as many again while the backlog is worked off.
        assert!((90_000.0..110_000.0).contains(&figures.mean), "{figures:?}");
        assert_eq!(figures.p50, 1000.0);
        assert!(figures.p99 > 800_000.0);
    }

    #[test]
    fn figures_are_read() {
        let report = r#"{"jobs":[{"read":{"lat_ns":{"mean":5000,"percentile":{"50.000000":4000,"99.000000":9000}}}}]}"#;
        assert_eq!(Figures::of_fio(report), Some(Figures { mean: 5.0, p50: 4.0, p99: 9.0 }));
        assert_eq!(Figures::of_ioping("9 1000 9 4 1 2000 3 4 9 1000").unwrap().mean, 2.0);
        assert_eq!(Figures::of_sorted(&[1000, 2000, 3000, 10_000]).p50, 2.0);
    }
}
