//! Clients that work together, beside fio's clients and servers: what both report of all clients, and how far apart these begin.

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
use crate::table::{Values, markdown};

/// The loopback addresses of fio's servers: it tells its clients apart by address.
const SERVERS: [&str; 2] = ["127.0.0.1", "127.0.0.2"];
/// fio's mode, its block size and its depth.
const WORKS: [(&str, &str, &str); 4] =
    [("randread", "4k", "1"), ("randread", "4k", "32"), ("read", "1m", "8"), ("randwrite", "4k", "32")];
const SECONDS: &str = "3";
const SIZE: &str = "256M";
/// The file of each client.
const DATA: &str = "data";
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
        let (mut ratios, mut skews) = (Vec::new(), [Values::default(), Values::default()]);
        let mut rates = [Values::default(), Values::default()];
        let (mut last, mut bounds) = ([0.0; 2], Values::default());
        for (turn, program) in turns(setting.turns.rounds, 2).enumerate() {
            let (rate, skew) = if program == 0 {
                let (rate, skew, bound) = pair.by_agents(work)?;
                bounds.push(bound);
                (rate, skew)
            } else {
                pair.by_fio(&servers, work)?
            };
            rates[program].push(rate);
            skews[program].push(skew);
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
        let ms = |values: &Values| format!("{:.2}", values.median() * 1e3);
        let bound = ms(&bounds);
        rows.push(vec![
            format!("{} {}, depth {}", work.0, work.1, work.2),
            mb(&rates[0]),
            mb(&rates[1]),
            ratio,
            format!("{} ± {bound}", ms(&skews[0])),
            ms(&skews[1]),
        ]);
    }
    let head = [
        "two clients",
        "Lodestone, MB/s",
        "fio, MB/s",
        "Lodestone ÷ fio (95 %)",
        "start skew of Lodestone's, ms",
        "of fio's, ms",
    ];
    Ok(markdown(&head, &rows))
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

    /// Bytes per second of all clients by fio, and the seconds between the starts of the first and the last: its log has times in
    /// milliseconds, and its first entry comes 100 ms after the start.
    fn by_fio(&self, servers: &Servers, (mode, block, depth): (&str, &str, &str)) -> io::Result<(f64, f64)> {
        let mut command = Command::new(self.setting.programs.fio());
        command.arg("--output-format=json").current_dir(self.directory);
        for (number, address) in SERVERS.iter().enumerate() {
            let job = self.directory.join(format!("{number}.fio"));
            let directory = self.of_client(number).display().to_string();
            let text = format!(
                "[client]\ndirectory={directory}\nfilename={DATA}\nunique_filename=0\nrw={mode}\nbs={block}\niodepth={depth}\nioengine=libaio\ndirect=1\n\
                 size={SIZE}\nrefill_buffers=1\ntime_based=1\nruntime={SECONDS}\nwrite_lat_log=start\nlog_unix_epoch=1\nlog_avg_msec=100\n"
            );
            fs::write(&job, text)?;
            command.arg(format!("--client=ip:{address},{}", servers.port)).arg(job);
        }
        let stdout = succeeded(command.output()?)?;
        let json = stdout.find('{').map(|at| &stdout[at..]).unwrap_or_default();
        let report: Value = serde_json::from_str(json)?;
        let all = report["client_stats"].as_array().into_iter().flatten();
        let all = all.filter(|stats| stats["jobname"] == "All clients");
        let direction = if mode.ends_with("write") { "write" } else { "read" };
        let rate = all.filter_map(|stats| stats[direction]["bw_bytes"].as_f64()).next();
        let mut starts = Vec::new();
        for address in SERVERS {
            let log = fs::read_to_string(self.directory.join(format!("start_lat.1.log.{address}")))?;
            let first = log.split(',').next().and_then(|time| time.trim().parse::<f64>().ok());
            starts.push(first.ok_or_else(|| io::Error::other("fio's log has no time"))?);
        }
        let rate =
            rate.ok_or_else(|| io::Error::other(format!("fio names no rate of all clients: {stdout}")))?;
        Ok((rate, (starts[0] - starts[1]).abs() / 1e3))
    }

    /// The same by Lodestone's agents, and the bound of the seconds.
    fn by_agents(&self, (mode, block, depth): (&str, &str, &str)) -> io::Result<(f64, f64, f64)> {
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
        let starts = &run["clients"]["starts"][0];
        match (rate, starts["skew_seconds"].as_f64(), starts["within_seconds"].as_f64()) {
            (Some(rate), Some(skew), Some(bound)) => Ok((rate, skew, bound)),
            _ => Err(io::Error::other(format!("the run has no figures of its clients: {run}"))),
        }
    }
}

fn succeeded(output: Output) -> io::Result<String> {
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}
