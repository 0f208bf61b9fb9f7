//! `lodestone suites`: the suites and their options.

use std::process::ExitCode;

use plan::{BUILTIN_SUITES, OPTIONS, Suite, builtin};

use crate::cli::{SuitesArgs, SuitesCommand};
use crate::failure::Failure;
use crate::output;

/// Lists the suites, shows one, or shows the options that a suite may set.
///
/// # Errors
/// An unknown suite.
pub fn suites(args: &SuitesArgs) -> Result<ExitCode, Failure> {
    let text = match &args.command {
        None | Some(SuitesCommand::List) => listed(),
        Some(SuitesCommand::Show { name }) => find(name)?.toml.to_owned(),
        Some(SuitesCommand::Options) => options(),
    };
    output::print(text)?;
    Ok(ExitCode::SUCCESS)
}

fn listed() -> String {
    let width = BUILTIN_SUITES.iter().map(|s| s.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for suite in BUILTIN_SUITES {
        let (parsed, _) = Suite::parse(suite.name, suite.toml);
        text.push_str(&format!("{:width$}  {}\n", suite.name, parsed.description));
    }
    text.push_str("\n`lodestone suites show NAME` prints one, as a starting point for your own;\n");
    text.push_str("`lodestone suites options` explains every option that a suite may set.\n");
    text
}

fn options() -> String {
    let mut text = String::new();
    for option in OPTIONS {
        text.push_str(&format!(
            "{} = {}\n    {}.\n    Allowed: {}.\n    On the command line: --{}\n\n",
            option.key,
            option.default,
            option.help,
            option.allowed,
            option.flag()
        ));
    }
    text
}

/// A built-in suite.
pub(crate) fn find(name: &str) -> Result<&'static plan::BuiltinSuite, Failure> {
    builtin(name).ok_or_else(|| {
        let names: Vec<&str> = BUILTIN_SUITES.iter().map(|s| s.name).collect();
        Failure::usage(format!("there is no suite `{name}`; the suites are {}", names.join(", ")))
    })
}
