//! Memory, and the time from the start of a program to its first read of a file whose server records its arrival.

use std::io;

use crate::measured;
use crate::setting::{Setting, turns};
use crate::slow_file::SlowFile;
use crate::table::{Values, markdown};

/// A name, a program, its arguments for the memory, and those for the start.
type Case = (&'static str, String, Vec<String>, Vec<String>);

/// Peak memory of a default run, of a typical fio job, and of one with the buffers of the default run; and the time
/// from the start to the first read.
///
/// # Errors
/// A program cannot be run, or FUSE is not available.
pub fn footprint(setting: &Setting) -> io::Result<String> {
    let slow = SlowFile::mount(&setting.turns.place)?;
    let (file, place) = (slow.file.display(), slow.scratch.path().display());
    let split = |line: String| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
    let fio = |work: &str| {
        split(format!(
            "--name=a --directory={place} --size=256m --ioengine=io_uring --direct=1 --runtime=2 --time_based {work}"
        ))
    };
    let first_read =
        split(format!("--name=a --filename={file} --rw=randread --ioengine=io_uring --bs=4k --io_size=4k"));
    let programs: [Case; 3] = [
        (
            "lodestone, suite quick",
            setting.programs.lodestone(),
            split(format!(
                "run {place} --store {place}/store --size 256M --runtime 200ms --rounds 2 --quiet"
            )),
            split(format!(
                "run {file} --store {place}/store --rw randread --runtime 100ms --rounds 1 --quiet"
            )),
        ),
        (
            "fio, 4 KiB at depth 32",
            setting.programs.fio(),
            fio("--rw=randrw --bs=4k --iodepth=32"),
            first_read.clone(),
        ),
        ("fio, 1 MiB at depth 8", setting.programs.fio(), fio("--rw=rw --bs=1m --iodepth=8"), first_read),
    ];
    let mut results = vec![(Values::default(), Values::default()); programs.len()];
    for turn in turns(setting.turns.rounds, programs.len()) {
        let ((_, program, whole, quick), (memory, start)) = (&programs[turn], &mut results[turn]);
        memory.push(measured::run(program, whole)?.peak_bytes as f64 / 1e6);
        start.push(slow.time_to_first_read(program, quick)?.as_secs_f64() * 1e3);
    }
    let row = |((name, ..), (memory, start)): (&Case, &(Values, Values))| {
        let (memory, start) =
            (memory.shown(|mb| format!("{mb:.1} MB")), start.shown(|ms| format!("{ms:.0} ms")));
        vec![(*name).to_owned(), memory, start]
    };
    let rows: Vec<Vec<String>> = programs.iter().zip(&results).map(row).collect();
    Ok(markdown(&["", "peak memory", "start to first read"], &rows))
}
