//! Importers for outputs of other programs. They parse labels, units and structure, never the columns of one version.
//!
//! Importers are pure functions over text. Each finds its reports anywhere in it, so a file may hold notes and several
//! formats. To add an importer, add a file here and an entry in [`IMPORTERS`]; the tests and the fuzz target loop over
//! that table. What is odd about an output is a remark: its kinds, in one table, say how much each matters and what to
//! do about it.

mod assemble;
mod bonnie;
mod ceilings;
mod columns;
mod dd;
mod finish;
mod fio;
mod gnome_disks;
mod hdparm;
mod ioping;
mod iozone;
mod pibenchmarks;
mod remarks;
mod report;
mod sysbench;
mod text;

pub use assemble::{Assembled, Gathered, assemble};
pub use ceilings::{Ceiling, GROSS, LARGEST_SIZE, LONGEST_NS, ceiling};
pub use fio::log_name;
pub use remarks::{REMARKS, RemarkKind};
pub use report::{NAME_LABEL, Parsed, Problem, ProblemKind, REPEAT_LABEL, Report};
pub use text::Text;

/// The importer of one tool's output.
pub struct Importer {
    /// The tool.
    pub tool: &'static str,
    /// True if the text has output of this tool.
    pub recognises: fn(&Text<'_>) -> bool,
    /// Returns all of its reports in the text, and the problems of others.
    pub parse: fn(&Text<'_>) -> Parsed,
    /// It also reads the output of other tools, so their importers skip the text.
    pub takes_all: bool,
}

/// All importers. One that takes all comes before those whose outputs it contains.
pub static IMPORTERS: &[Importer] = &[
    Importer {
        tool: "PiBenchmarks",
        recognises: pibenchmarks::recognises,
        parse: pibenchmarks::parse,
        takes_all: true,
    },
    Importer { tool: "sysbench", recognises: sysbench::recognises, parse: sysbench::parse, takes_all: false },
    Importer { tool: "fio", recognises: fio::recognises, parse: fio::parse, takes_all: false },
    Importer { tool: "dd", recognises: dd::recognises, parse: dd::parse, takes_all: false },
    Importer { tool: "hdparm", recognises: hdparm::recognises, parse: hdparm::parse, takes_all: false },
    Importer { tool: "iozone", recognises: iozone::recognises, parse: iozone::parse, takes_all: false },
    Importer { tool: "bonnie++", recognises: bonnie::recognises, parse: bonnie::parse, takes_all: false },
    Importer { tool: "ioping", recognises: ioping::recognises, parse: ioping::parse, takes_all: false },
    Importer {
        tool: "GNOME Disks",
        recognises: gnome_disks::recognises,
        parse: gnome_disks::parse,
        takes_all: true,
    },
];

/// The tools whose outputs can be imported, those that contain outputs of others last.
pub fn tools() -> Vec<&'static str> {
    let named = |takes_all| IMPORTERS.iter().filter(move |i| i.takes_all == takes_all).map(|i| i.tool);
    named(false).chain(named(true)).collect()
}

/// Imports everything that any importer finds in a file's content, in the order of its lines.
pub fn import(content: &[u8]) -> Parsed {
    import_named("", content)
}

/// The same of a file with this name, which says what the values of fio's logs are.
pub fn import_named(name: &str, content: &[u8]) -> Parsed {
    let text = Text::new(content);
    if let Some(mut log) = fio::log(&text, name) {
        log.finish();
        return log;
    }
    let mut parsed = Parsed::default();
    let mut recognised = false;
    for importer in IMPORTERS {
        if (importer.recognises)(&text) {
            recognised = true;
            parsed.merge((importer.parse)(&text));
            if importer.takes_all {
                break;
            }
        }
    }
    if text.lines.iter().all(|line| line.text.trim().is_empty()) {
        parsed.problems.push(Problem::new(1, ProblemKind::Unrecognised, "the file is empty"));
    } else if !recognised {
        let first = text.lines.iter().find(|line| !line.text.trim().is_empty());
        let (line, text) = first.map_or((1, ""), |line| (line.number, line.text.trim()));
        let start: String = text.chars().take(60).collect();
        let tools: Vec<&str> = IMPORTERS.iter().map(|i| i.tool).collect();
        let message = format!("not the output of {}: it begins with `{start}`", tools.join(", "));
        parsed.problems.push(Problem::new(line, ProblemKind::Unrecognised, message));
    }
    parsed.finish();
    if parsed.reports.is_empty() && parsed.problems.is_empty() {
        let message = "it has output of a known tool, but no complete result";
        parsed.problems.push(Problem::new(text.last_number(), ProblemKind::CutOff, message));
    }
    parsed
}
