//! Output generated from the code: completions, the manual page, schemas.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::cli::{Cli, SchemaOf};
use crate::failure::Failure;
use crate::output;

/// A shell's completions.
///
/// # Errors
/// The output cannot be written.
pub fn completions(shell: clap_complete::Shell) -> Result<ExitCode, Failure> {
    print(&completions_text(shell))
}

/// The manual page.
///
/// # Errors
/// The output cannot be written.
pub fn man() -> Result<ExitCode, Failure> {
    let text = man_pages().into_iter().map(|(_, text)| text).collect::<String>();
    print(&text)
}

/// A JSON Schema.
///
/// # Errors
/// The program has none.
#[cfg(not(feature = "schema"))]
pub fn schema(_: SchemaOf) -> Result<ExitCode, Failure> {
    Err(Failure::usage(
        "this build has no JSON Schemas: find them in docs/schema of the source, or build with the feature `schema`",
    ))
}

/// A JSON Schema.
///
/// # Errors
/// The output cannot be written.
#[cfg(feature = "schema")]
pub fn schema(of: SchemaOf) -> Result<ExitCode, Failure> {
    print(&match of {
        SchemaOf::Run => report::schemas::run(),
        SchemaOf::Comparison => report::schemas::comparison(),
        SchemaOf::Telemetry => report::schemas::telemetry(),
        SchemaOf::History => report::schemas::history(),
        SchemaOf::Targets => report::schemas::targets(),
        SchemaOf::Crosscheck => report::schemas::crosscheck(),
    })
}

fn print(text: &str) -> Result<ExitCode, Failure> {
    output::print_bytes(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// A shell's completions as text.
pub fn completions_text(shell: clap_complete::Shell) -> String {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "lodestone", &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The manual pages: file name and text, one for the program and one for each of its commands.
pub fn man_pages() -> Vec<(String, String)> {
    let mut command = Cli::command();
    command.build();
    let mut pages = vec![page(&command, "lodestone")];
    for sub in command.get_subcommands().filter(|s| !s.is_hide_set() && s.get_name() != "help") {
        pages.push(page(sub, &format!("lodestone-{}", sub.get_name())));
    }
    pages
}

fn page(command: &clap::Command, name: &str) -> (String, String) {
    let mut bytes = Vec::new();
    // clap wants a name that lives as long as the program; there are a dozen of them.
    let command = command.clone().name(name.to_owned()).display_name(name.to_owned());
    let rendered = clap_mangen::Man::new(command).date("").render(&mut bytes);
    debug_assert!(rendered.is_ok(), "writing to memory cannot fail");
    (format!("{name}.1"), String::from_utf8_lossy(&bytes).into_owned())
}
