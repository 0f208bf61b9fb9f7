//! Clients that work together, beside fio's clients and servers: what both report of all clients, and how far apart these really begin.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use analyse::mean_with_t_interval;
use serde_json::Value;

use crate::setting::{Setting, turns};
use crate::slow_file::{Delay, SlowFile};
use crate::table::{Values, markdown};
use crate::turns::events;

/// The loopback addresses of fio's servers: it tells its clients apart by address.
const SERVERS: [&str; 2] = ["127.0.0.1", "127.0.0.2"];
/// fio's mode, its block size and its depth.
const WORKS: [(&str, &str, &str); 4] =
    [("randread", "4k", "1"), ("randread", "4k", "32"), ("read", "1m", "8"), ("randwrite", "4k", "32")];
const SECONDS: &str = "3";
const SIZE: &str = "256M";
/// The file of each client.
const DATA: &str = "data";
/// Starts whose truth is known.
const STARTS: usize = 100;
const STARTS_OF_FIO: usize = 20;
/// Repeats are farther apart; each reads once, and fio five times in a second.
const APART: Duration = Duration::from_millis(60);
/// What a read may take from its worker to the server of the file.
const ARRIVAL: Duration = Duration::from_micros(200);
/// How long a server may take to listen.
const LISTENING: Duration = Duration::from_secs(10);

/// Runs two clients on this machine, each in a directory of its own, by Lodestone's agents and by fio's servers in turn.
///
/// # Errors
/// A program fails, or prints unexpected output.
pub fn clients(setting: &Setting) -> io::Result<String> {
    let scratch = tempfile::tempdir_in(&setting.turns.place)?;
    let pair = TwoClients { setting, directory: scratch.path() };
    for number in 0..SERVERS.len() {
        fs::create_dir(pair.of_client(number))?;
    }
    let servers = pair.servers()?;
    let mut rows = Vec::new();
    for work in WORKS {
        // fio lays its files out in the run that needs them, and its clients begin when they have.
        pair.by_fio(&servers, work)?;
        let mut ratios = Vec::new();
        let mut rates = [Values::default(), Values::default()];
        let mut last = [0.0; 2];
        for (turn, program) in turns(setting.turns.rounds, 2).enumerate() {
            let rate = if program == 0 { pair.by_agents(work)? } else { pair.by_fio(&servers, work)? };
            rates[program].push(rate);
            last[program] = rate;
            if turn % 2 == 1 {
                ratios.push((last[0] / last[1]).ln());
            }
        }
        let limits = |(low, high): (f64, f64)| format!(" ({:.3}–{:.3})", low.exp(), high.exp());
        let ratio = mean_with_t_interval(&ratios).map_or_else(String::new, |mean| {
            format!("{:.3}{}", mean.value.exp(), mean.interval.map_or_else(String::new, limits))
        });
        let mb = |values: &Values| values.shown(|rate| format!("{:.0}", rate / 1e6));
        rows.push(vec![
            format!("{} {}, depth {}", work.0, work.1, work.2),
            mb(&rates[0]),
            mb(&rates[1]),
            ratio,
        ]);
    }
    let head = ["two clients", "Lodestone, MB/s", "fio, MB/s", "Lodestone ÷ fio (95 %)"];
    Ok(format!("{}\n{}", markdown(&head, &rows), starts(&pair, &servers)?))
}

/// How far apart the clients begin, by files whose server notes when each read arrives.
fn starts(pair: &TwoClients<'_>, servers: &Servers) -> io::Result<String> {
    let files = [SlowFile::mount(pair.directory)?, SlowFile::mount(pair.directory)?];
    let store = pair.directory.join("starts");
    let ms = |seconds: f64| format!("{:.3}", seconds * 1e3);
    let row = |program: &str, truth: &Values, bound: String| {
        vec![program.to_owned(), truth.len().to_string(), ms(truth.median()), ms(truth.largest()), bound]
    };
    for file in &files {
        file.begin(Delay::Fixed(Duration::ZERO))?;
    }
    let output = Command::new(pair.setting.programs.lodestone())
        .arg("run")
        .args(files.iter().map(|file| &file.file))
        .args(["--together", "--rw", "randread", "--bs", "4k", "--engine", "psync", "--rate-iops", "5"])
        .args(["--runtime", "100ms", "--ramp", "0s", "--settle", "0s", "--rounds", &STARTS.to_string()])
        .args(["--telemetry", "off", "--quiet", "--json", "--no-report", "--store"])
        .arg(&store)
        .output()?;
    succeeded(output)?;
    let firsts = [first_reads(&files[0], STARTS)?, first_reads(&files[1], STARTS)?];
    let (mut truth, mut within) = (Values::default(), 0);
    let mut bounds = Values::default();
    for ((a, b), (said, bound)) in firsts[0].iter().zip(&firsts[1]).zip(said_starts(&store)?) {
        let apart = seconds_from(*a, *b);
        truth.push(apart.abs());
        bounds.push(bound);
        within += usize::from((said - apart).abs() <= bound + ARRIVAL.as_secs_f64());
    }
    let told = format!("± {}: holds in {within} of {}", ms(bounds.median()), truth.len());
    let mut rows = vec![row("Lodestone", &truth, told)];
    let mut truth = Values::default();
    for _ in 0..STARTS_OF_FIO {
        for file in &files {
            file.begin(Delay::Fixed(Duration::ZERO))?;
        }
        pair.fio(servers, |number| {
            let file = files[number].file.display();
            format!("filename={file}\nrw=randread\nbs=4k\nioengine=psync\ndirect=1\nsize=64M\nrate_iops=5\nruntime=1\n")
        })?;
        let firsts = [first_reads(&files[0], 1)?, first_reads(&files[1], 1)?];
        truth.push(seconds_from(firsts[0][0], firsts[1][0]).abs());
    }
    rows.push(row("fio", &truth, "not said".to_owned()));
    let head = [
        "two clients",
        "starts",
        "apart, ms (median)",
        "apart, ms (most)",
        "bound that is told, ms (median)",
    ];
    Ok(markdown(&head, &rows))
}

/// Seconds from one moment to another, which may be before it.
fn seconds_from(a: Instant, b: Instant) -> f64 {
    b.saturating_duration_since(a).as_secs_f64() - a.saturating_duration_since(b).as_secs_f64()
}

/// When each of this number of repeats, the last ones, first read a file.
fn first_reads(file: &SlowFile, repeats: usize) -> io::Result<Vec<Instant>> {
    let all = file.arrivals()?;
    let is_first = |i: &usize| *i == 0 || all[*i] - all[*i - 1] > APART;
    let firsts: Vec<Instant> = (0..all.len()).filter(is_first).map(|i| all[i]).collect();
    let before = firsts.len().checked_sub(repeats);
    let before = before.ok_or_else(|| io::Error::other(format!("only {} repeats read", firsts.len())))?;
    Ok(firsts[before..].to_vec())
}

/// What the log of the only run says of each repeat: seconds from the start of the first client to that of the second, and the bound.
fn said_starts(store: &Path) -> io::Result<Vec<(f64, f64)>> {
    let mut starts = Vec::new();
    for event in events(store)?.iter().filter(|event| event["event"] == "repeat_finished") {
        let of = |client: usize, key: &str| event["clients"][client][key].as_f64().unwrap_or(f64::NAN) / 1e9;
        starts.push((of(1, "began_ns") - of(0, "began_ns"), of(0, "within_ns") + of(1, "within_ns")));
    }
    Ok(starts)
}

/// fio's servers, which end with it.
struct Servers {
    children: Vec<Child>,
    port: u16,
}

impl Drop for Servers {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

struct TwoClients<'a> {
    setting: &'a Setting,
    directory: &'a Path,
}

impl TwoClients<'_> {
    fn of_client(&self, number: usize) -> std::path::PathBuf {
        self.directory.join(format!("client{number}"))
    }

    fn servers(&self) -> io::Result<Servers> {
        let port = TcpListener::bind((SERVERS[0], 0))?.local_addr()?.port();
        let mut servers = Servers { children: Vec::new(), port };
        for address in SERVERS {
            let mut command = Command::new(self.setting.programs.fio());
            command.arg(format!("--server=ip:{address},{port}"));
            servers.children.push(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
            let address: SocketAddr =
                format!("{address}:{port}").parse().map_err(|_| io::ErrorKind::InvalidInput)?;
            let began = Instant::now();
            while let Err(error) = TcpStream::connect(address) {
                if began.elapsed() > LISTENING {
                    return Err(error);
                }
                thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(servers)
    }

    /// Runs fio's clients with these options for each. Returns what it prints.
    fn fio(&self, servers: &Servers, options: impl Fn(usize) -> String) -> io::Result<String> {
        let mut command = Command::new(self.setting.programs.fio());
        command.arg("--output-format=json").current_dir(self.directory);
        for (number, address) in SERVERS.iter().enumerate() {
            let job = self.directory.join(format!("{number}.fio"));
            let own = options(number);
            fs::write(&job, format!("[client]\nunique_filename=0\ntime_based=1\n{own}"))?;
            command.arg(format!("--client=ip:{address},{}", servers.port)).arg(job);
        }
        succeeded(command.output()?)
    }

    /// Bytes per second of all clients by fio.
    fn by_fio(&self, servers: &Servers, (mode, block, depth): (&str, &str, &str)) -> io::Result<f64> {
        let stdout = self.fio(servers, |number| {
            let directory = self.of_client(number).display().to_string();
            format!(
                "directory={directory}\nfilename={DATA}\nrw={mode}\nbs={block}\niodepth={depth}\nioengine=libaio\ndirect=1\n\
                 size={SIZE}\nrefill_buffers=1\nruntime={SECONDS}\n"
            )
        })?;
        let json = stdout.find('{').map(|at| &stdout[at..]).unwrap_or_default();
        let report: Value = serde_json::from_str(json)?;
        let all = report["client_stats"].as_array().into_iter().flatten();
        let all = all.filter(|stats| stats["jobname"] == "All clients");
        let direction = if mode.ends_with("write") { "write" } else { "read" };
        let rate = all.filter_map(|stats| stats[direction]["bw_bytes"].as_f64()).next();
        rate.ok_or_else(|| io::Error::other(format!("fio names no rate of all clients: {stdout}")))
    }

    /// The same by Lodestone's agents.
    fn by_agents(&self, (mode, block, depth): (&str, &str, &str)) -> io::Result<f64> {
        // fio's own files: the same data at the same place.
        let targets = [0, 1].map(|number| self.of_client(number).join(DATA));
        let runtime = format!("{SECONDS}s");
        let output = Command::new(self.setting.programs.lodestone())
            .arg("run")
            .args(&targets)
            .args(targets.iter().flat_map(|target| [OsStr::new("--overwrite"), target.as_os_str()]))
            .args([
                "--buffers",
                "normal",
                "--together",
                "--rw",
                mode,
                "--bs",
                block,
                "--iodepth",
                depth,
                "--engine",
                "libaio",
            ])
            .args(["--rounds", "1", "--runtime", &runtime, "--ramp", "0s", "--settle", "0s"])
            .args(["--telemetry", "off", "--quiet", "--json", "--no-report", "--store"])
            .arg(self.directory.join("store"))
            .output()?;
        let run: Value = serde_json::from_str(&succeeded(output)?)?;
        let measured = run["measurements"].as_array().into_iter().flatten();
        let rate =
            measured.filter(|m| m["metric"] == "bandwidth").filter_map(|m| m["estimate"].as_f64()).next();
        rate.ok_or_else(|| io::Error::other(format!("the run has no rate of its clients: {run}")))
    }
}

fn succeeded(output: Output) -> io::Result<String> {
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}
