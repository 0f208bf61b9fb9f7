//! Which suite a run measures: built in, from a file, or from a fio job file.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::path::Path;

use model::{Host, Plan, Target};
use plan::fio::FioJobs;
use plan::{BuiltinSuite, CUSTOM_SUITE, DEFAULT_SUITE, DEFAULT_TARGET, Problem, Suite};
use record::input;

use super::against::Earlier;
use super::{fio, suites};
use crate::cli::RunArgs;
use crate::failure::Failure;

/// What a run measures: suites, built in or from files, or a fio job file.
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
    /// Several suites, each with its name and text.
    Several(Vec<(String, String)>),
    Fio(FioJobs),
    /// What an earlier run measured.
    Again(Box<Plan>),
}

/// What is to be measured.
pub(super) enum Work<'a> {
    Suite(Suite),
    /// The steps of an earlier plan.
    Again(&'a Plan),
}

impl SuiteSource {
    fn builtin(suite: &BuiltinSuite) -> Self {
        let name = suite.name.to_owned();
        Self { origin: name.clone(), text: suite.toml.to_owned(), form: Form::Toml(name) }
    }

    /// The suite that the arguments name or imply. A fio job file is parsed.
    ///
    /// # Errors
    /// There is no such suite, or the file cannot be read.
    pub(super) fn find(args: &RunArgs, host: &Host, earlier: Option<&Earlier>) -> Result<Self, Failure> {
        if let Some(path) = &args.fio {
            let text = fio::text(path)?;
            let form = Form::Fio(FioJobs::parse(&stem(path), &text, &fio::surroundings(host)));
            return Ok(Self { origin: path.display().to_string(), text, form });
        }
        if !args.require.require.is_empty() {
            return Self::required(args);
        }
        let describes_itself = args.options.0.iter().any(|(key, _)| *key == "rw");
        let Some(name) = &args.suite else {
            if let Some(earlier) = earlier.filter(|_| !describes_itself) {
                let started = &earlier.run.started;
                let form = Form::Again(Box::new(started.plan.clone()));
                return Ok(Self { origin: format!("run {}", started.id), text: String::new(), form });
            }
            return Ok(if describes_itself {
                Self::builtin(&CUSTOM_SUITE)
            } else {
                Self::builtin(suites::find(DEFAULT_SUITE)?)
            });
        };
        let text = name.to_string_lossy();
        let is_several = text.contains(',') && !Path::new(name).exists();
        if is_several {
            return Self::several(&text);
        }
        Self::named(name)
    }

    /// The profiles that are required, after the suite, if one is named, too.
    fn required(args: &RunArgs) -> Result<Self, Failure> {
        for name in &args.require.require {
            let name = name.trim();
            if !is_file(name) {
                suites::find_profile(name).map_err(own_file(name))?;
            }
            let source = Self::named(OsStr::new(name))?;
            let Form::Toml(own) = &source.form else { unreachable!("a suite is TOML") };
            let (suite, problems) = Suite::parse(own, &source.text);
            if problems.is_empty() && !suite.is_profile() {
                let why = match suite.requirements.is_empty() {
                    true => "it requires nothing, because it has no [[require]]",
                    false => "it seeks the highest load; name it with --suite",
                };
                let message = format!("--require {name}: {why}");
                return Err(Failure::usage(format!("{message}; `lodestone profiles` lists the profiles")));
            }
        }
        let suite = args.suite.as_ref().map(|suite| suite.to_string_lossy().into_owned());
        let all: Vec<String> = suite.into_iter().chain(args.require.require.iter().cloned()).collect();
        match all.as_slice() {
            [only] => Self::named(OsStr::new(only.trim())),
            several => Self::several(&several.join(",")),
        }
    }

    /// Several suites, their names or files separated by commas.
    fn several(text: &str) -> Result<Self, Failure> {
        let names: Vec<&str> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let mut suites = Vec::new();
        for (at, name) in names.iter().enumerate() {
            if names[..at].contains(name) {
                return Err(Failure::usage(format!("--suite {text}: `{name}` is named twice")));
            }
            let source = Self::named(OsStr::new(name))?;
            let Form::Toml(own) = source.form else { unreachable!("a suite is TOML") };
            suites.push((own, source.text));
        }
        match suites.is_empty() {
            true => Err(Failure::usage(format!("--suite {text}: there is no name in it"))),
            false => {
                let text = suites.iter().map(|(_, text)| text.as_str()).collect();
                Ok(Self { origin: names.join("+"), text, form: Form::Several(suites) })
            }
        }
    }

    /// One suite, by its name or its file.
    fn named(name: &OsStr) -> Result<Self, Failure> {
        let text = name.to_string_lossy();
        if !is_file(&text) {
            return Ok(Self::builtin(suites::find(&text).map_err(own_file(&text))?));
        }
        let cannot = |what: &dyn Display| {
            Failure::usage(format!(
                "cannot read the suite {text}: {what}; `lodestone suites` lists the built-in ones"
            ))
        };
        let (bytes, _) = input::read(Path::new(name)).map_err(|e| cannot(&e).because(&e))?;
        let toml = String::from_utf8(bytes).map_err(|e| cannot(&"it is not UTF-8 text").because(&e))?;
        let form = Form::Toml(stem(Path::new(name)));
        Ok(Self { origin: text.into_owned(), text: toml, form })
    }

    /// The targets of a run that names none: those of the fio job file, else the current directory.
    ///
    /// # Errors
    /// The jobs name several targets.
    pub(super) fn targets(&self) -> Result<Vec<OsString>, Failure> {
        match &self.form {
            Form::Toml(_) | Form::Several(_) | Form::Again(_) => Ok(vec![DEFAULT_TARGET.into()]),
            Form::Fio(jobs) => Ok(vec![fio::target(jobs)?.into()]),
        }
    }

    /// What is to be measured: the suite that the text describes, with its problems, or an earlier plan.
    ///
    /// # Errors
    /// The targets of a fio job file are of different kinds.
    pub(super) fn work(&self, targets: &[Target]) -> Result<(Work<'_>, Vec<Problem>), Failure> {
        let (suite, problems) = match &self.form {
            Form::Toml(name) => Suite::parse(name, &self.text),
            Form::Several(suites) => Suite::joined(suites),
            Form::Fio(jobs) => jobs.suite(fio::target_bytes(targets)?),
            Form::Again(plan) => return Ok((Work::Again(plan), Vec::new())),
        };
        Ok((Work::Suite(suite), problems))
    }

    /// Options of a fio job file that have no effect here, each with the reason.
    pub(super) fn ignored(&self) -> &[(String, &'static str)] {
        match &self.form {
            Form::Toml(_) | Form::Several(_) | Form::Again(_) => &[],
            Form::Fio(jobs) => jobs.ignored(),
        }
    }
}

/// True if this names a file rather than a built-in suite.
fn is_file(text: &str) -> bool {
    text.contains('/') || text.ends_with(".toml") || text == input::STANDARD_INPUT
}

/// What to do if there is no such built-in suite.
fn own_file(name: &str) -> impl Fn(Failure) -> Failure {
    let own = format!(". Name your own file by its path, as in ./{name}.toml");
    move |e| Failure { message: format!("{}{own}", e.message), ..e }
}

/// The name of a suite that is read from this file.
fn stem(path: &Path) -> String {
    match path.file_stem().unwrap_or_default().to_string_lossy().into_owned() {
        stem if stem == input::STANDARD_INPUT => "standard-input".to_owned(),
        stem => stem,
    }
}
