//! All tables as one document: the source of docs/benchmarks.md.

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
    /// The command for this part alone, after the name of this program.
    command: &'static str,
    about: &'static str,
    table: fn(&Setting) -> io::Result<String>,
}

/// In the order of the document.
const SECTIONS: &[Section] = &[
    Section {
        title: "Rates and processor time",
        command: "peers --fio-source FIO --elbencho ELBENCHO --place DIR",
        about: "Random reads of 4 KiB by one job. User time is the difference between a run of five seconds and one \
                of two, divided by the difference of their operations: start and end cancel out. The kernel \
                separates user and kernel time at its clock ticks, which is coarse where a program mostly waits, \
                as on the disk.",
        table: peers,
    },
    Section {
        title: "Instructions",
        command: "instructions --fio FIO/fio",
        about: "Instructions per operation in user mode, by callgrind; the machine's speed and its neighbours do \
                not matter. `benches/instructions.json` holds Lodestone's, and `.ci/run` fails if one grows by more \
                than 3 %.",
        table: |setting| {
            let (fio, rounds) = (Some(setting.programs.fio().into()), setting.turns.rounds);
            instructions(&InstructionsArgs { check: false, keep: false, fio, rounds })
        },
    },
    Section {
        title: "What each feature costs",
        command: "features --fio-source FIO --place DIR",
        about: "On a cached file, where nothing hides it. Below, the gain from a second thread where no storage can \
                be the limit: for no-op requests, which each of Lodestone's jobs and each thread of fio's \
                `t/io_uring` sends through its own ring, and for an arithmetic loop that shares nothing, which \
                shows the machine's own gain.",
        table: features,
    },
    Section {
        title: "Stamps",
        command: "stamps --place DIR",
        about: "The same operations stamped both ways: as the program does it, and each by its own clock reading \
                before submission and when its completion is handled. How much longer the second is:",
        table: |setting| stamps(&setting.turns),
    },
    Section {
        title: "Memory and start",
        command: "footprint --fio-source FIO --place DIR",
        about: "The suite `quick` (1 MiB blocks at depth 8 among others), a typical fio job and one with the same \
                buffers; the start lasts until the first read of a file whose server records its arrival.",
        table: footprint,
    },
    Section {
        title: "Truth",
        command: "truth --fio-source FIO --place DIR",
        about: "A file whose every read takes a chosen time, from a server in user space that records the true time of \
                each. What a program reports above that is the way to the server and back, which depends on the \
                processors that both happen to use, and the program itself; the differences have ranges. ioping \
                reports no percentiles. sysbench's mean is the sum of its latencies divided by their number, because \
                it prints the mean only to 10 µs; its percentiles are from its histogram, whose buckets are 1.8 % \
                wide. Under the stall it draws its arrivals at random and counts from them, the others have a \
                fixed pace, and ioping pauses that long between its reads.",
        table: truth,
    },
    Section {
        title: "Telemetry",
        command: "telemetry --place DIR",
        about: "The probes alone on their own thread, by its CPU clock; then runs with telemetry at its default rate \
                and without, in turn.",
        table: |setting| telemetry(&setting.into()),
    },
];

/// Writes the document, each part as soon as it is measured. A failed part has its error instead of a table.
///
/// # Errors
/// It cannot be written, the directory does not exist, or, at the end, parts have failed.
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
         medians, with ranges in brackets. Read the ratios: the absolute figures vary with the neighbours. No figure here is \
         a test with a limit, except the instruction counts. All tables at once:"
    );
    let command = commanded("all --fio-source FIO --elbencho ELBENCHO --place DIR");
    format!(
        "# Comparison with peers\n\nWhat Lodestone costs and reports, compared with fio, its `t/io_uring`, sysbench, elbencho \
         and ioping. {turns}\n\n{BUILD}{command}\n{machine}"
    )
}

const BUILD: &str = "```sh\ncargo build --release -p lodestone -p lodestone-benches\n";

/// A shell command, and the end of its code block.
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
    fn a_part_has_a_title_a_command_text_and_table_or_error() {
        let part = Section { title: "T", command: "x --y", about: "About.", table: |_| Ok(String::new()) };
        let head = "\n## T\n\n```sh\ntarget/release/lodestone-benches x --y\n```\n\nAbout.\n\n";
        assert_eq!(part.shown(Ok("| a |\n\n".to_owned())), format!("{head}| a |\n"));
        let why = io::Error::other("no FUSE");
        assert_eq!(part.shown(Err(why)), format!("{head}Not measured: no FUSE\n"));
    }

    #[test]
    fn the_document_has_every_part_with_its_command() {
        let document = include_str!("../../docs/benchmarks.md");
        for Section { title, command, .. } in SECTIONS {
            assert!(document.contains(&format!("\n## {title}\n")), "{title}");
            assert!(document.contains(&commanded(command)), "{title}: {command}");
        }
    }
}
