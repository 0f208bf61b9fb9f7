//! `lodestone suites` and `lodestone profiles`: the suites, those with requirements, and their options.

use std::process::ExitCode;

use plan::{BUILTIN_SUITES, OPTIONS, Suite, builtin};

use crate::cli::{ProfilesArgs, ProfilesCommand, SuitesArgs, SuitesCommand};
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

/// Lists the suites that require something, or shows one.
///
/// # Errors
/// An unknown profile.
pub fn profiles(args: &ProfilesArgs) -> Result<ExitCode, Failure> {
    let text = match &args.command {
        None | Some(ProfilesCommand::List) => listed_profiles(),
        Some(ProfilesCommand::Show { name }) => find_profile(name)?.toml.to_owned(),
    };
    output::print(text)?;
    Ok(ExitCode::SUCCESS)
}

/// The built-in suites: those that are profiles, or the others.
fn parsed(are_profiles: bool) -> Vec<Suite> {
    let all = BUILTIN_SUITES.iter().map(|suite| Suite::parse(suite.name, suite.toml).0);
    all.filter(|suite| suite.is_profile() == are_profiles).collect()
}

fn listed_profiles() -> String {
    let mut text = String::new();
    for profile in parsed(true) {
        text.push_str(&format!("{}\n    {}\n", profile.name, profile.description));
        for r in &profile.requirements {
            let (step, operation) = (&r.step, &r.operation);
            text.push_str(&format!("    {step}: {operation} {} {} {}\n", r.metric, r.bound.sign(), r.limit));
        }
    }
    text.push_str("\n`lodestone run DIRECTORY --require NAME` says whether storage is good enough;\n");
    text.push_str(
        "`lodestone profiles show NAME` prints one with the sources of its limits; one of your own can say\n",
    );
    text.push_str("`extends = \"NAME\"` and change a limit.\n");
    text
}

pub(crate) fn find_profile(name: &str) -> Result<&'static plan::BuiltinSuite, Failure> {
    let profiles = parsed(true);
    let names = || profiles.iter().map(|profile| profile.name.as_str()).collect::<Vec<_>>().join(", ");
    let known = builtin(name).filter(|suite| profiles.iter().any(|profile| profile.name == suite.name));
    known.ok_or_else(|| Failure::usage(format!("there is no profile `{name}`; the profiles are {}", names())))
}

fn listed() -> String {
    let suites = parsed(false);
    let width = suites.iter().map(|s| s.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for suite in suites {
        text.push_str(&format!("{:width$}  {}\n", suite.name, suite.description));
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
        let names: Vec<String> = parsed(false).into_iter().map(|suite| suite.name).collect();
        let names = names.join(", ");
        Failure::usage(format!(
            "there is no suite `{name}`; the suites are {names}, and `lodestone profiles` lists more"
        ))
    })
}
