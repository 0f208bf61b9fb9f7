//! Memory, and the time from the start of a program to its first I/O.

use std::io;
use std::process::Command;

use crate::measured;
use crate::setting::{Setting, turns};
use crate::table::{Values, markdown};

/// A name, a program, its arguments for the memory, and those for the start.
type Case = (&'static str, String, Vec<String>, Vec<String>);

/// Peak memory of a default run and of fio's, and the time to the first `io_uring_enter` by strace.
///
/// # Errors
/// A program cannot be run.
pub fn footprint(setting: &Setting) -> io::Result<String> {
    let scratch = tempfile::tempdir_in(&setting.turns.place)?;
    let file = scratch.path().join("data");
    std::fs::write(&file, vec![7; 64 << 20])?;
    let (file, place) = (file.display(), scratch.path().display());
    let split = |line: String| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
    let programs: [Case; 2] = [
        (
            "lodestone",
            setting.programs.lodestone(),
            split(format!(
                "run {place} --store {place}/store --size 256M --runtime 200ms --rounds 2 --quiet"
            )),
            split(format!(
                "run {file} --store {place}/store --rw randread --runtime 100ms --rounds 1 --quiet"
            )),
        ),
        (
            "fio",
            setting.programs.fio(),
            split(format!(
                "--name=a --directory={place} --size=256m --rw=randrw --ioengine=io_uring --iodepth=32 --direct=1 --bs=4k --runtime=2 --time_based"
            )),
            split(format!(
                "--name=a --filename={file} --rw=randread --ioengine=io_uring --direct=1 --bs=4k --runtime=1 --time_based"
            )),
        ),
    ];
    let mut seen = vec![(Values::default(), Values::default()); programs.len()];
    for turn in turns(setting.turns.rounds, programs.len()) {
        let ((_, program, whole, quick), (memory, start)) = (&programs[turn], &mut seen[turn]);
        memory.push(measured::run(program, whole)?.peak_bytes as f64 / 1e6);
        start.push(first_io_ms(program, quick)?);
    }
    let row = |((name, ..), (memory, start)): (&Case, &(Values, Values))| {
        let (memory, start) =
            (memory.shown(|mb| format!("{mb:.1} MB")), start.shown(|ms| format!("{ms:.0} ms")));
        vec![(*name).to_owned(), memory, start]
    };
    let rows: Vec<Vec<String>> = programs.iter().zip(&seen).map(row).collect();
    Ok(markdown(&["", "peak memory", "start to first I/O"], &rows))
}

/// Milliseconds from the start of a program to its first submission to a ring. strace stops it only at the
/// system calls that it looks for.
fn first_io_ms(program: &str, args: &[String]) -> io::Result<f64> {
    let trace = tempfile::NamedTempFile::new()?;
    let status = Command::new("strace")
        .args(["--follow-forks", "--seccomp-bpf", "-ttt", "-e", "trace=execve,io_uring_enter", "-o"])
        .arg(trace.path())
        .arg(program)
        .args(args)
        .stdout(std::process::Stdio::null())
        .status()?;
    let text = std::fs::read_to_string(trace.path())?;
    let times = first_io(&text).filter(|_| status.success());
    times.ok_or_else(|| io::Error::other(format!("strace {program}: no submission was seen")))
}

/// Milliseconds between the first line and the first submission in strace's output of lines such as
/// `123 1700000000.123456 io_uring_enter(5, 1, …`.
fn first_io(trace: &str) -> Option<f64> {
    let at = |line: &str| line.split_whitespace().nth(1)?.parse::<f64>().ok();
    let begin = trace.lines().find_map(at)?;
    let first = trace.lines().find(|line| line.contains("io_uring_enter("))?;
    Some((at(first)? - begin) * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_submission_is_found() {
        let trace = "7 100.000 execve(\"x\") = 0\n8 100.010 io_uring_enter(3, 1, 0, 0) = 1\n";
        assert!((first_io(trace).unwrap() - 10.0).abs() < 1e-6);
        assert_eq!(first_io("7 100.000 execve(\"x\") = 0\n"), None);
    }
}
