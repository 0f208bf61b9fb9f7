//! Which suite a run measures: built in, from a file, or from a fio job file.

use std::ffi::OsString;
use std::fmt::Display;
use std::path::Path;

use model::{Host, Target};
use plan::fio::FioJobs;
use plan::{BuiltinSuite, CUSTOM_SUITE, DEFAULT_SUITE, DEFAULT_TARGET, Problem, Suite};
use record::input;

use super::{fio, suites};
use crate::cli::RunArgs;
use crate::failure::Failure;

/// What a run measures: a built-in suite, a suite file, or a fio job file.
pub(super) struct SuiteSource {
    /// Its path or name, for messages.
    pub origin: String,
    /// Its text, which locations of problems refer to.
    pub text: String,
    form: Form,
}

/// The format of a suite.
enum Form {
    /// A suite of this name.
    Toml(String),
    Fio(FioJobs),
}

impl SuiteSource {
    /// The suite that the arguments name or imply. A fio job file is parsed.
    ///
    /// # Errors
    /// There is no such suite, or the file cannot be read.
    pub(super) fn find(args: &RunArgs, host: &Host) -> Result<Self, Failure> {
        let builtin = |suite: &BuiltinSuite| Self {
            origin: suite.name.to_owned(),
            text: suite.toml.to_owned(),
            form: Form::Toml(suite.name.to_owned()),
        };
        if let Some(path) = &args.fio {
            let text = fio::text(path)?;
            let form = Form::Fio(FioJobs::parse(&stem(path), &text, &fio::surroundings(host)));
            return Ok(Self { origin: path.display().to_string(), text, form });
        }
        let describes_itself = args.options.0.iter().any(|(key, _)| *key == "rw");
        let Some(name) = &args.suite else {
            return Ok(if describes_itself {
                builtin(&CUSTOM_SUITE)
            } else {
                builtin(suites::find(DEFAULT_SUITE)?)
            });
        };
        let text = name.to_string_lossy();
        if !text.contains('/') && !text.ends_with(".toml") && text != input::STANDARD_INPUT {
            let name = text.as_ref();
            let own = format!(". Name your own file by its path, as in ./{name}.toml");
            let found = suites::find(name).map_err(|e| Failure { message: e.message + &own, ..e })?;
            return Ok(builtin(found));
        }
        let cannot = |what: &dyn Display| {
            Failure::usage(format!(
                "cannot read the suite {text}: {what}; `lodestone suites` lists the built-in ones"
            ))
        };
        let (bytes, _) = input::read(name.as_ref()).map_err(|e| cannot(&e).because(&e))?;
        let toml = String::from_utf8(bytes).map_err(|e| cannot(&"it is not UTF-8 text").because(&e))?;
        let form = Form::Toml(stem(name.as_ref()));
        Ok(Self { origin: text.into_owned(), text: toml, form })
    }

    /// The targets of a run that names none: those of the fio job file, else the current directory.
    ///
    /// # Errors
    /// The jobs name several targets.
    pub(super) fn targets(&self) -> Result<Vec<OsString>, Failure> {
        match &self.form {
            Form::Toml(_) => Ok(vec![DEFAULT_TARGET.into()]),
            Form::Fio(jobs) => Ok(vec![fio::target(jobs)?.into()]),
        }
    }

    /// The suite that the text describes, and its problems.
    ///
    /// # Errors
    /// The targets of a fio job file are of different kinds.
    pub(super) fn suite(&self, targets: &[Target]) -> Result<(Suite, Vec<Problem>), Failure> {
        match &self.form {
            Form::Toml(name) => Ok(Suite::parse(name, &self.text)),
            Form::Fio(jobs) => Ok(jobs.suite(fio::target_bytes(targets)?)),
        }
    }

    /// Options of a fio job file that have no effect here, each with the reason.
    pub(super) fn ignored(&self) -> &[(String, &'static str)] {
        match &self.form {
            Form::Toml(_) => &[],
            Form::Fio(jobs) => jobs.ignored(),
        }
    }
}

/// The name of a suite that is read from this file.
fn stem(path: &Path) -> String {
    match path.file_stem().unwrap_or_default().to_string_lossy().into_owned() {
        stem if stem == input::STANDARD_INPUT => "standard-input".to_owned(),
        stem => stem,
    }
}
