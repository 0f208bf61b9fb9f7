//! The compared programs, and the command lines that make them do the same work.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// Paths of the programs. One that is not given is omitted, with a note.
#[derive(Clone, Debug, clap::Args)]
pub struct Programs {
    /// Lodestone itself; by default the one next to this program
    #[arg(long, value_name = "PATH")]
    pub lodestone: Option<PathBuf>,
    /// fio, such as Debian's
    #[arg(long, value_name = "PATH", default_value = "fio")]
    pub fio: PathBuf,
    /// Built sources of fio; uses their `fio` instead and adds their `t/io_uring`
    #[arg(long, value_name = "DIR")]
    pub fio_source: Option<PathBuf>,
    /// elbencho
    #[arg(long, value_name = "PATH", default_value = "elbencho")]
    pub elbencho: PathBuf,
    /// sysbench
    #[arg(long, value_name = "PATH", default_value = "sysbench")]
    pub sysbench: PathBuf,
    /// ioping
    #[arg(long, value_name = "PATH", default_value = "ioping")]
    pub ioping: PathBuf,
}

impl Programs {
    /// Lodestone's path.
    pub fn lodestone(&self) -> String {
        let concurrent = || std::env::current_exe().ok().map(|exe| exe.with_file_name("lodestone"));
        text(&self.lodestone.clone().or_else(concurrent).unwrap_or_else(|| "lodestone".into()))
    }

    /// fio's path.
    pub fn fio(&self) -> String {
        text(&self.fio_source.as_ref().map_or_else(|| self.fio.clone(), |source| source.join("fio")))
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The work of all programs: random reads of 4 KiB from one file by one job.
#[derive(Clone, Debug)]
pub struct Work {
    /// The file, complete.
    pub file: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// Bypassing the page cache.
    pub direct: bool,
    /// A scratch directory for stores and for the files of programs that need their own names.
    pub scratch: PathBuf,
}

/// One program with one configuration.
pub struct Contender {
    /// Its name in tables.
    pub name: &'static str,
    /// The contenders that it is compared with.
    pub group: Group,
    command: Box<dyn Fn(u32) -> (String, Vec<String>)>,
    rate: fn(&str) -> Option<f64>,
}

/// Contenders that do the same in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// One system call at a time.
    Psync,
    /// io_uring, 32 in flight.
    Uring,
    /// libaio, 32 in flight.
    Libaio,
}

impl Group {
    /// All groups, in the order of the table.
    pub const ALL: [Self; 3] = [Self::Psync, Self::Uring, Self::Libaio];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Psync => "psync",
            Self::Uring => "io_uring, depth 32",
            Self::Libaio => "libaio, depth 32",
        }
    }

    fn engine(self) -> (&'static str, u32) {
        match self {
            Self::Psync => ("psync", 1),
            Self::Uring => ("io_uring", 32),
            Self::Libaio => ("libaio", 32),
        }
    }
}

impl Contender {
    /// Program and arguments for a run of `seconds`.
    pub fn command(&self, seconds: u32) -> (String, Vec<String>) {
        (self.command)(seconds)
    }

    /// Operations per second, from its output.
    pub fn rate(&self, stdout: &str) -> Option<f64> {
        (self.rate)(stdout)
    }
}

/// All programs that can do the work, Lodestone first in each group.
pub fn contenders(programs: &Programs, work: &Work) -> Vec<Contender> {
    let mut all = Vec::new();
    for group in Group::ALL {
        all.push(lodestone(programs, work, group));
        all.push(fio(programs, work, group, "fio", &[]));
        match group {
            Group::Psync => {
                all.push(sysbench(programs, work));
                all.push(elbencho(programs, work));
                all.push(ioping(programs, work));
            }
            Group::Uring => {
                all.push(fio(programs, work, group, "fio, tuned", TUNED));
                all.extend(programs.fio_source.as_ref().map(|source| t_io_uring(source, work)));
            }
            Group::Libaio => {}
        }
    }
    all
}

/// fio's fastest options: no latencies, batches, everything registered.
const TUNED: &[&str] = &[
    "--gtod_reduce=1",
    "--norandommap",
    "--fixedbufs",
    "--registerfiles",
    "--iodepth_batch_submit=16",
    "--iodepth_batch_complete_min=1",
    "--iodepth_batch_complete_max=32",
];

fn words(line: &[String], more: &[&str]) -> Vec<String> {
    line.iter().cloned().chain(more.iter().map(|word| (*word).to_owned())).collect()
}

fn lodestone(programs: &Programs, work: &Work, group: Group) -> Contender {
    let (program, work) = (programs.lodestone(), work.clone());
    let (engine, depth) = group.engine();
    let command = move |seconds: u32| {
        let line = format!(
            "run {} --store {} --rw randread --bs 4k --engine {engine} --iodepth {depth} --direct {} --cache warm \
             --runtime {seconds}s --rounds 1 --json --quiet",
            text(&work.file),
            text(&work.scratch.join("store")),
            work.direct
        );
        (program.clone(), line.split_whitespace().map(str::to_owned).collect())
    };
    Contender { name: "lodestone", group, command: Box::new(command), rate: rate_of_lodestone }
}

fn rate_of_lodestone(stdout: &str) -> Option<f64> {
    let run: Value = serde_json::from_str(stdout).ok()?;
    run["measurements"].as_array()?.iter().find(|m| m["metric"] == "iops")?["estimate"].as_f64()
}

fn fio(
    programs: &Programs,
    work: &Work,
    group: Group,
    name: &'static str,
    more: &'static [&'static str],
) -> Contender {
    let (program, work) = (programs.fio(), work.clone());
    let (engine, depth) = group.engine();
    let command = move |seconds: u32| {
        let line = [
            "--name=bench".to_owned(),
            format!("--filename={}", text(&work.file)),
            format!("--size={}", work.bytes),
            format!("--ioengine={engine}"),
            format!("--iodepth={depth}"),
            format!("--direct={}", u8::from(work.direct)),
            format!("--runtime={seconds}"),
        ];
        // Otherwise it would evict the file first and read from the disk, and it would read the same blocks in
        // every run, which caches below the disk then hold.
        let fixed = [
            "--rw=randread",
            "--bs=4k",
            "--time_based",
            "--invalidate=0",
            "--randrepeat=0",
            "--output-format=json",
        ];
        (program.clone(), words(&words(&line, &fixed), more))
    };
    Contender { name, group, command: Box::new(command), rate: rate_of_fio }
}

fn rate_of_fio(stdout: &str) -> Option<f64> {
    let report: Value = serde_json::from_str(stdout.get(stdout.find('{')?..)?).ok()?;
    report["jobs"][0]["read"]["iops"].as_f64()
}

fn t_io_uring(source: &Path, work: &Work) -> Contender {
    let (program, work) = (text(&source.join("t/io_uring")), work.clone());
    let command = move |seconds: u32| {
        let direct = u8::from(work.direct);
        let line =
            format!("-d32 -s16 -c16 -b4096 -p0 -B1 -F1 -n1 -O{direct} -R1 -r{seconds} {}", text(&work.file));
        (program.clone(), line.split_whitespace().map(str::to_owned).collect())
    };
    Contender {
        name: "t/io_uring",
        group: Group::Uring,
        command: Box::new(command),
        rate: rate_of_t_io_uring,
    }
}

/// Mean of the lines that it prints every second, such as `IOPS=3.39M, BW=13.2GiB/s, IOS/call=32/32`.
pub fn rate_of_t_io_uring(stdout: &str) -> Option<f64> {
    let rate = |line: &str| {
        let value = line.strip_prefix("IOPS=")?.split(',').next()?;
        let (digits, factor) = match value.strip_suffix('M') {
            Some(digits) => (digits, 1e6),
            None => value.strip_suffix('K').map_or((value, 1.0), |digits| (digits, 1e3)),
        };
        Some(digits.parse::<f64>().ok()? * factor)
    };
    let rates: Vec<f64> = stdout.lines().filter_map(rate).collect();
    (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
}

fn sysbench(programs: &Programs, work: &Work) -> Contender {
    let (program, work) = (text(&programs.sysbench), work.clone());
    let command = move |seconds: u32| {
        // It opens its file in the current directory under a fixed name.
        let flags = if work.direct { "direct" } else { "" };
        let script = format!(
            "cd {} && ln -f {} test_file.0 && exec {program} fileio --file-total-size={} --file-num=1 \
             --file-test-mode=rndrd --file-block-size=4096 --file-extra-flags={flags} --threads=1 --time={seconds} run",
            text(&work.scratch),
            text(&work.file),
            work.bytes
        );
        ("sh".to_owned(), vec!["-c".to_owned(), script])
    };
    Contender { name: "sysbench", group: Group::Psync, command: Box::new(command), rate: rate_of_sysbench }
}

fn rate_of_sysbench(stdout: &str) -> Option<f64> {
    stdout.lines().find_map(|line| line.trim().strip_prefix("reads/s:")?.trim().parse().ok())
}

fn elbencho(programs: &Programs, work: &Work) -> Contender {
    let (program, work) = (text(&programs.elbencho), work.clone());
    let command = move |seconds: u32| {
        let mut line = format!(
            "-r --rand --randamount 1p -b 4k -s {} -t 1 --timelimit {seconds} --nolive --csvfile /dev/stdout {}",
            work.bytes,
            text(&work.file)
        );
        if work.direct {
            line.push_str(" --direct");
        }
        (program.clone(), line.split_whitespace().map(str::to_owned).collect())
    };
    Contender { name: "elbencho", group: Group::Psync, command: Box::new(command), rate: rate_of_elbencho }
}

/// The column `IOPS [last]` of its CSV table.
fn rate_of_elbencho(stdout: &str) -> Option<f64> {
    let header = stdout.lines().position(|line| line.contains("IOPS [last]"))?;
    let mut rows = stdout.lines().skip(header);
    let names: Vec<&str> = rows.next()?.split(',').collect();
    let column = names.iter().position(|name| name.contains("IOPS [last]"))?;
    // The human-readable table comes in between.
    rows.map(|row| row.split(',').collect::<Vec<_>>())
        .find(|row| row.len() >= names.len())
        .and_then(|row| row[column].trim_matches('"').parse().ok())
}

fn ioping(programs: &Programs, work: &Work) -> Contender {
    let (program, work) = (text(&programs.ioping), work.clone());
    let command = move |seconds: u32| {
        let how = if work.direct { "-D" } else { "-C" };
        let line = format!("{how} -B -q -i 0 -s 4k -S {} -w {seconds} {}", work.bytes, text(&work.file));
        (program.clone(), line.split_whitespace().map(str::to_owned).collect())
    };
    Contender { name: "ioping", group: Group::Psync, command: Box::new(command), rate: rate_of_ioping }
}

/// Raw statistics: the third number is requests per second.
fn rate_of_ioping(stdout: &str) -> Option<f64> {
    stdout.split_whitespace().nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_every_program_is_parsed() {
        assert_eq!(rate_of_t_io_uring("x\nIOPS=3.50M, BW=1\nIOPS=2500K, BW=1\n"), Some(3e6));
        assert_eq!(rate_of_sysbench("File operations:\n    reads/s:      1640000.50\n"), Some(1_640_000.5));
        assert_eq!(rate_of_ioping("99 1000 98765 404 1 2 3 4 100 1000\n"), Some(98_765.0));
        assert_eq!(rate_of_fio("fio: a note\n{\"jobs\":[{\"read\":{\"iops\":12.5}}]}"), Some(12.5));
        assert_eq!(rate_of_elbencho("a,\"IOPS [first]\",\"IOPS [last]\"\nREAD  IOPS\nx,1,2\n"), Some(2.0));
        let run = r#"{"measurements":[{"metric":"bandwidth","estimate":1},{"metric":"iops","estimate":7}]}"#;
        assert_eq!(rate_of_lodestone(run), Some(7.0));
        assert_eq!(rate_of_lodestone("not JSON"), None);
    }
}
