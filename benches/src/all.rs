//! All tables, one after the other, as one document: what docs/benchmarks.md is made from.

use std::io;

use crate::features::features;
use crate::footprint::footprint;
use crate::instructions::{InstructionsArgs, instructions};
use crate::machine::described;
use crate::peers::peers;
use crate::setting::Setting;
use crate::stamps::stamps;
use crate::telemetry::telemetry;
use crate::truth::truth;

/// A part of the document.
struct Section {
    title: &'static str,
    /// How it is had alone, after the name of this program.
    command: &'static str,
    about: &'static str,
    table: fn(&Setting) -> io::Result<String>,
}

/// In the order of the document.
const SECTIONS: &[Section] = &[
    Section {
        title: "Rates and processor time",
        command: "peers --fio-source FIO --elbencho ELBENCHO --place DIR",
        about: "Random reads of 4 KiB by one job. User time is what a run of five seconds has more of it than one \
                of two, divided by the operations that it has more: starting and ending cancel. The kernel tells \
                user from kernel time at ticks of its clock, which is coarse where a program mostly waits, as on \
                the disk.",
        table: peers,
    },
    Section {
        title: "Instructions",
        command: "instructions --fio FIO/fio",
        about: "Instructions per operation in user mode, by callgrind; the machine's speed and its neighbours do \
                not matter. `benches/instructions.json` keeps ours, and `.ci/run` fails if one grows by more than \
                3 %.",
        table: |setting| {
            let (fio, rounds) = (Some(setting.programs.fio().into()), setting.turns.rounds);
            instructions(&InstructionsArgs { check: false, keep: false, fio, rounds })
        },
    },
    Section {
        title: "What each feature costs",
        command: "features --fio-source FIO --place DIR",
        about: "On a cached file, where nothing hides it. Below, what a second thread adds where no storage can be \
                the limit: to requests that do nothing, sent through a ring of its own by each of Lodestone's jobs \
                or by each of fio's `t/io_uring`, and to a loop of arithmetic that shares nothing, which is what \
                the machine itself gives.",
        table: features,
    },
    Section {
        title: "Stamps",
        command: "stamps --place DIR",
        about: "The same operations stamped both ways: as the program does it, and each by a clock read of its own \
                before it is handed over and when its completion is handled. What the second has more:",
        table: |setting| stamps(&setting.turns),
    },
    Section {
        title: "Memory and start",
        command: "footprint --fio-source FIO --place DIR",
        about: "The suite `quick` (1 MiB blocks at depth 8 among others) beside a fio job as people write it and one with \
                the same buffers; the start is up to the first read of a file whose server sees it come.",
        table: footprint,
    },
    Section {
        title: "Truth",
        command: "truth --fio-source FIO --place DIR",
        about: "A file whose every read takes a chosen time, by a server in user space that keeps the time that each \
                really took. What a program reports more than that is the way to the server and back, which depends \
                on the processors that both happen to be on, and itself; ranges stand with the differences. ioping \
                tells no percentiles. sysbench's mean is the sum of its latencies by their number, because it \
                prints the mean to 10 µs only; its percentiles are from its histogram, whose buckets are 1.8 % \
                wide. Under the stall it draws its arrivals at random and counts from them, the others are offered \
                a fixed pace, and ioping pauses as long between its reads.",
        table: truth,
    },
    Section {
        title: "Telemetry",
        command: "telemetry --place DIR",
        about: "The probes alone on a thread of their own, by its clock of processor time; then runs with telemetry \
                at its default rate and without, in turn.",
        table: |setting| telemetry(&setting.into()),
    },
];

/// Writes the document, each part as soon as it is measured. A part that fails says so in its place.
///
/// # Errors
/// It cannot be written, the place is not there, or at the end: parts have failed.
pub fn all(setting: &Setting, out: &mut impl io::Write) -> io::Result<()> {
    let machine = described(&setting.programs, &setting.turns)?;
    write!(out, "{}", opening(&machine, setting.turns.rounds))?;
    let mut failed = Vec::new();
    for section in SECTIONS {
        let table = (section.table)(setting);
        failed.extend(table.is_err().then_some(section.title));
        write!(out, "{}", section.shown(table))?;
        out.flush()?;
    }
    if failed.is_empty() { Ok(()) } else { Err(io::Error::other(format!("failed: {}", failed.join(", ")))) }
}

fn opening(machine: &str, rounds: u32) -> String {
    let turns = format!(
        "All programs of a table took turns on the same machine within the same minutes (rounds: {rounds}); \
         medians, with ranges in brackets. Read the ratios: the absolute figures move with the neighbours. No figure here is \
         a test with a limit, except the instruction counts. All tables at once:"
    );
    let command = commanded("all --fio-source FIO --elbencho ELBENCHO --place DIR");
    format!(
        "# Beside its peers\n\nWhat Lodestone costs and reports beside fio, its `t/io_uring`, sysbench, elbencho and \
         ioping. {turns}\n\n{BUILD}{command}\n{machine}"
    )
}

const BUILD: &str = "```sh\ncargo build --release -p lodestone -p lodestone-benches\n";

/// A line for the shell, and the end of its block.
fn commanded(command: &str) -> String {
    format!("target/release/lodestone-benches {command}\n```\n")
}

impl Section {
    fn shown(&self, table: io::Result<String>) -> String {
        let Self { title, command, about, .. } = self;
        let table = table.unwrap_or_else(|error| format!("Not measured: {error}\n"));
        format!("\n## {title}\n\n```sh\n{}\n{about}\n\n{}\n", commanded(command), table.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_title_command_words_and_table_or_why_not() {
        let part = Section { title: "T", command: "x --y", about: "About.", table: |_| Ok(String::new()) };
        let head = "\n## T\n\n```sh\ntarget/release/lodestone-benches x --y\n```\n\nAbout.\n\n";
        assert_eq!(part.shown(Ok("| a |\n\n".to_owned())), format!("{head}| a |\n"));
        let why = io::Error::other("no FUSE");
        assert_eq!(part.shown(Err(why)), format!("{head}Not measured: no FUSE\n"));
    }

    #[test]
    fn the_kept_document_has_every_part_with_its_command() {
        let kept = include_str!("../../docs/benchmarks.md");
        for Section { title, command, .. } in SECTIONS {
            assert!(kept.contains(&format!("\n## {title}\n")), "{title}");
            assert!(kept.contains(&commanded(command)), "{title}: {command}");
        }
    }
}
