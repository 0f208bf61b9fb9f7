//! `lodestone selftest --install` and `lodestone --version --verbose`: what this program is, and what this machine lacks for
//! which of its uses.

use std::process::ExitCode;

use engine::ENGINES;
use host::{Roots, stacks};
use model::EngineKind;
use plan::checks::TOOLS;
use report::{Align, Cell, Column, Table, TerminalText, table_text};
use rustix::io::Errno;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output;

/// Something that does not work here.
struct Missing {
    /// What for, as a noun.
    purpose: String,
    /// What is missing, and what to do about it.
    what: String,
}

/// The version with what it is built from, for which machines, and what is in it.
pub fn version() -> String {
    let words = |words: Vec<String>| if words.is_empty() { "none".to_owned() } else { words.join(", ") };
    let engines = words(ENGINES.iter().map(|entry| entry.capabilities.kind.to_string()).collect());
    let features = [
        ("png", cfg!(feature = "png")),
        ("postgres", cfg!(feature = "postgres")),
        ("schema", cfg!(feature = "schema")),
    ];
    let features = words(
        features.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| (*name).to_owned()).collect(),
    );
    // `scripts/dist` sets it; a program that is built otherwise may contain changes that are in no commit.
    let commit = option_env!("LODESTONE_COMMIT").unwrap_or("not recorded");
    let library = if cfg!(target_env = "musl") { "musl, static" } else { "the system's C library" };
    format!(
        "lodestone {}\ncommit    {commit}\ntarget    {}, Linux, {library}\nfeatures  {features}\nengines   {engines}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::ARCH,
    )
}

/// Prints what is missing for what, with one line each to fix it.
///
/// # Errors
/// The result cannot be written.
pub fn lacks(cli: &Cli) -> Result<ExitCode, Failure> {
    let roots = Roots::default();
    let mut missing = engines();
    missing.extend(rights());
    missing.extend(programs(&roots));
    missing.extend(stack_kinds(&roots));
    let mut text = TerminalText::from(version());
    text.push("\n");
    if missing.is_empty() {
        text.push("Nothing is missing: every command and every kind of stack works here.\n");
    } else {
        let columns = ["what for", "what is missing"].map(|name| Column::new(name, Align::Left)).to_vec();
        let row = |m: Missing| vec![Cell::text(m.purpose), Cell::text(m.what)];
        let title = "What is missing here; everything else works".to_owned();
        let rows = missing.into_iter().map(row).collect();
        text.push(table_text(&Table { title, columns, stub: 1, rows }, output::style(cli.color)));
    }
    output::print(text)?;
    Ok(ExitCode::SUCCESS)
}

fn engines() -> Vec<Missing> {
    let fix = |kind, error: &std::io::Error| match (kind, Errno::from_io_error(error)) {
        (EngineKind::IoUring, Some(Errno::PERM | Errno::ACCESS)) => {
            ": sysctl kernel.io_uring_disabled=0, or allow it in the container"
        }
        (EngineKind::IoUring, Some(Errno::NOSYS)) => ": it needs a kernel from 5.6 on with CONFIG_IO_URING",
        (EngineKind::Libaio, Some(Errno::AGAIN)) => ": sysctl fs.aio-max-nr=1048576",
        (EngineKind::Libaio, Some(Errno::NOSYS)) => ": it needs a kernel with CONFIG_AIO",
        _ => "",
    };
    let missing = |kind: EngineKind, what: String| Missing { purpose: format!("the engine {kind}"), what };
    let is_built = ENGINES.iter().any(|entry| entry.capabilities.kind == EngineKind::IoUring);
    let without = (!is_built).then(|| {
        missing(EngineKind::IoUring, "not available in 32-bit builds; libaio is used instead".to_owned())
    });
    let refused = ENGINES.iter().filter_map(|entry| {
        let (kind, error) = (entry.capabilities.kind, entry.probe().err()?);
        Some(missing(kind, format!("{error}{}", fix(kind, &error))))
    });
    without.into_iter().chain(refused).collect()
}

fn rights() -> Option<Missing> {
    (!host::is_root()).then(|| Missing {
        purpose: "block devices, health of disks, the bus of an SD card, --stack".to_owned(),
        what: "needs root: sudo lodestone …".to_owned(),
    })
}

fn programs(roots: &Roots) -> Vec<Missing> {
    let others = [
        ("smartctl", "health and wear of disks", "smartmontools"),
        ("ssh", "other machines (run HOST:PATH)", "openssh-client"),
    ];
    let lacking = |program: &str| host::programs::find_by_path(roots, program).is_none();
    let others = others.into_iter().filter(|(program, ..)| lacking(program));
    let others = others.map(|(program, purpose, package)| Missing {
        purpose: purpose.to_owned(),
        what: stacks::Lack::Program(program, package).to_string(),
    });
    let tools = TOOLS.iter().filter(|tool| lacking(tool.program)).map(|tool| Missing {
        purpose: format!("crosscheck --with {}", tool.word),
        what: format!("{} is not installed: {}", tool.program, tool.install),
    });
    others.chain(tools).collect()
}

/// One line for each thing that is lacking, however many kinds lack it.
fn stack_kinds(roots: &Roots) -> Vec<Missing> {
    let mut lacks: Vec<(stacks::Lack, Vec<&str>)> = Vec::new();
    for kind in stacks::kinds() {
        let Some(lack) = kind.lacks(roots) else { continue };
        match lacks.iter_mut().find(|(known, _)| *known == lack) {
            Some((_, kinds)) => kinds.push(kind.name),
            None => lacks.push((lack, vec![kind.name])),
        }
    }
    let missing = |(lack, kinds): (stacks::Lack, Vec<&str>)| Missing {
        purpose: format!("--stack {}", kinds.join(", ")),
        what: lack.to_string(),
    };
    lacks.into_iter().map(missing).collect()
}
