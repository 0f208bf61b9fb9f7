//! Rates and CPU time of all contenders, interleaved.

use std::fs;
use std::io;

use crate::contenders::{Contender, Group, Work, contenders};
use crate::measured;
use crate::setting::{CACHED_BYTES, DISK_BYTES, Setting, make, turns};
use crate::table::{Values, markdown, rate, ratio};

/// The shorter of the two runs of a turn: the cost of start and end is in both and cancels out.
const SHORT_SECONDS: u32 = 2;
const LONG_SECONDS: u32 = 5;

/// The results of one contender.
struct Row {
    contender: Contender,
    rate: Values,
    user_ns: Values,
    /// Why it could not be measured.
    trouble: Option<String>,
}

/// Compares all programs on a small file in the page cache and on the disk.
///
/// # Errors
/// The test files cannot be created.
pub fn peers(setting: &Setting) -> io::Result<String> {
    let scratch = tempfile::tempdir_in(&setting.turns.place)?;
    let mut text = String::new();
    for (title, name, bytes, direct) in [
        ("1 MiB file in the page cache", "cached", CACHED_BYTES, false),
        ("1 GiB file on the disk, direct", "disk", DISK_BYTES, true),
    ] {
        let file = scratch.path().join(name);
        make(&file, bytes)?;
        let work = Work { file, bytes, direct, scratch: scratch.path().to_owned() };
        let rows = measure(contenders(&setting.programs, &work), &work, setting.turns.rounds);
        text.push_str(&format!("### {title}\n\n{}\n", shown(&rows)));
    }
    Ok(text)
}

fn measure(contenders: Vec<Contender>, work: &Work, rounds: u32) -> Vec<Row> {
    let new =
        |contender| Row { contender, rate: Values::default(), user_ns: Values::default(), trouble: None };
    let mut rows: Vec<Row> = contenders.into_iter().map(new).collect();
    for turn in turns(rounds, rows.len()) {
        let row = &mut rows[turn];
        if row.trouble.is_some() {
            continue;
        }
        if !work.direct {
            // The program before may have evicted it.
            let _ = fs::read(&work.file);
        }
        match one_turn(&row.contender) {
            Ok((rate, user_ns)) => {
                row.rate.push(rate);
                row.user_ns.push(user_ns);
            }
            Err(error) => row.trouble = Some(error.to_string()),
        }
    }
    rows
}

/// Rate, and nanoseconds of user time per operation: the difference between a long and a short run.
fn one_turn(contender: &Contender) -> io::Result<(f64, f64)> {
    let run = |seconds: u32| {
        let (program, args) = contender.command(seconds);
        let cost = measured::run(&program, &args)?;
        let rate = contender.rate(&cost.stdout).ok_or_else(|| {
            io::Error::other(format!("{program}: its output names no rate:\n{}", cost.stdout))
        })?;
        Ok::<_, io::Error>((rate, cost.user_ns as f64))
    };
    let (short, long) = (run(SHORT_SECONDS)?, run(LONG_SECONDS)?);
    let operations = long.0 * f64::from(LONG_SECONDS) - short.0 * f64::from(SHORT_SECONDS);
    Ok((long.0, (long.1 - short.1) / operations))
}

fn shown(rows: &[Row]) -> String {
    let mut cells = Vec::new();
    for group in Group::ALL {
        let of_group: Vec<&Row> = rows.iter().filter(|row| row.contender.group == group).collect();
        let lodestone = of_group[0];
        for row in of_group {
            if let Some(trouble) = &row.trouble {
                let why = trouble.lines().next().unwrap_or_default();
                let name = row.contender.name.to_owned();
                cells.push(vec![group.name().to_owned(), name, format!("not measured: {why}")]);
                continue;
            }
            cells.push(vec![
                group.name().to_owned(),
                row.contender.name.to_owned(),
                row.rate.shown(rate),
                ratio(lodestone.rate.median() / row.rate.median()),
                row.user_ns.shown(|ns| format!("{ns:.0} ns")),
                ratio(row.user_ns.median() / lodestone.user_ns.median()),
            ]);
        }
    }
    let head = ["", "program", "IOPS", "Lodestone ÷ program", "user time per I/O", "program ÷ Lodestone"];
    markdown(&head, &cells)
}
