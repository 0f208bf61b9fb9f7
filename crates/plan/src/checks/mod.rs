//! What the classic tools and Lodestone both measure: for each workload the tool's command line, the native step that
//! does the same, and the pairs of figures to compare.
//!
//! # Invariants
//! * Pure data: nothing here knows whether a tool is installed.
//! * A tool uses Lodestone's own test file wherever it can, because the location on the disk matters; else a private
//!   directory, which is removed afterwards.
//! * Both write the same class of data, both bypass or both use the page cache, and both end at the same limit.

mod table;

use model::{CheckedFigure, CheckedWork, Metric, Operation};

use crate::options::option;
use crate::parse::{Setting, StepSpec, Suite};
use crate::problem::SourceLocation;
use crate::suites::builtin;
pub use table::{CHECKS, TOOLS};

/// The suite of a run that compares tools with Lodestone.
pub const CROSSCHECK_SUITE: &str = "crosscheck";

/// How long the repeats go on at most, unless all is decided sooner.
pub const DEFAULT_BUDGET_NS: u64 = 30 * 60 * 1_000_000_000;
/// Size of the test data of each check.
pub const DEFAULT_SIZE: &str = "512MiB";
/// Runtime of one repeat, for checks that end by time.
pub const DEFAULT_RUNTIME: &str = "3s";
/// Figures that differ by less than this, in parts per million, agree.
pub const AGREEMENT_MARGIN_PPM: u32 = 50_000;

/// A classic tool.
#[derive(Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name in `--with`.
    pub word: &'static str,
    /// The program.
    pub program: &'static str,
    /// How to get it, as a clause.
    pub install: &'static str,
}

/// The files or device that a tool uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorksOn {
    /// Lodestone's own file of test data: `{file}`.
    DataFile,
    /// Lodestone's own files in `{dir}`, under names of this prefix and their number.
    DataFiles(&'static str),
    /// Files that it creates in `{dir}`.
    OwnFiles,
    /// The block device that holds the target: `{device}`. It is only read.
    Device,
}

/// One run of a tool, with its native counterpart.
#[derive(Debug)]
pub struct Check {
    /// Short name, unique.
    pub id: &'static str,
    /// The [`Tool::word`].
    pub tool: &'static str,
    /// The files or device that it uses.
    pub works_on: WorksOn,
    /// Its arguments; see [`Values`] for the names in braces.
    pub args: &'static [&'static str],
    /// Further arguments, by the parts that are wanted.
    pub by_parts: &'static [ByParts],
    /// Seconds that it takes in addition to the workload.
    pub extra_seconds: u64,
    /// The workloads in its output.
    pub parts: &'static [Part],
}

/// Arguments that depend on which workloads of a tool are wanted.
#[derive(Debug)]
pub struct ByParts {
    /// Ids of the parts that it is about.
    pub parts: &'static [&'static str],
    /// Arguments if any of them is wanted.
    pub with: &'static [&'static str],
    /// Arguments if none is.
    pub without: &'static [&'static str],
}

/// One workload that a tool reports.
#[derive(Debug)]
pub struct Part {
    /// Id of the step, unique over all checks.
    pub id: &'static str,
    /// What it does, in words.
    pub title: &'static str,
    /// Start of the imported report's title, after the tool's name and a colon; empty where there is only one.
    pub report: &'static str,
    /// Its native suite and step; without one, `settings` define it.
    pub native: Option<(&'static str, &'static str)>,
    /// The step's settings, over those of its suite; see [`Values`] for the names in braces.
    pub settings: &'static [(&'static str, &'static str)],
    /// Every operation has to reach the device, so that both must agree.
    pub defined_cost: bool,
    /// The figures that both report.
    pub figures: &'static [Pair],
}

/// A figure of the tool and Lodestone's counterpart.
#[derive(Debug)]
pub struct Pair {
    /// The tool's figure, as imported.
    pub of_tool: (Operation, Metric),
    /// Lodestone's figure.
    pub of_lodestone: (Operation, Metric),
    /// The known difference in the tool's method, as a sentence without its full stop; empty if none.
    pub known: &'static str,
}

/// Values of the names in braces, in arguments and settings: `{size}` bytes, `{mib}` MiB, `{blocks}` of 4 KiB,
/// `{runtime}` seconds; in arguments also `{file}`, `{dir}`, `{device}`. `{as_root}` is the flag that bonnie++
/// requires from root.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// Bytes of the test data.
    pub size: u64,
    /// Seconds per repeat, where time ends it.
    pub runtime: u64,
    /// The file of test data.
    pub file: String,
    /// The private directory.
    pub dir: String,
    /// The block device.
    pub device: String,
    /// The user is root.
    pub is_root: bool,
    /// Ids of the wanted parts; empty for all.
    pub only: Vec<&'static str>,
}

impl Values {
    fn fill(&self, text: &str) -> String {
        let numbers = [
            ("{size}", self.size),
            ("{mib}", self.size >> 20),
            ("{blocks}", self.size / 4096),
            ("{runtime}", self.runtime),
        ];
        let texts = [("{file}", &self.file), ("{dir}", &self.dir), ("{device}", &self.device)];
        let text = numbers.iter().fold(text.to_owned(), |text, (name, n)| text.replace(name, &n.to_string()));
        texts.iter().fold(text, |text, (name, value)| text.replace(name, value))
    }
}

impl Check {
    /// The tool.
    ///
    /// # Panics
    /// If the table names an unknown tool; a test rules that out.
    pub fn tool(&self) -> &'static Tool {
        TOOLS.iter().find(|tool| tool.word == self.tool).expect("every check names a known tool")
    }

    /// The parts that are wanted.
    pub fn wanted<'v>(&self, values: &'v Values) -> impl Iterator<Item = &'static Part> + use<'v> {
        self.parts.iter().filter(|part| values.only.is_empty() || values.only.contains(&part.id))
    }

    /// Its arguments with names in braces, for the wanted parts.
    fn words(&self, values: &Values) -> impl Iterator<Item = &'static str> {
        let is_wanted = |by: &&ByParts| self.wanted(values).any(|part| by.parts.contains(&part.id));
        let of = |by: &ByParts| if is_wanted(&by) { by.with } else { by.without };
        let more: Vec<&'static str> = self.by_parts.iter().flat_map(of).copied().collect();
        self.args.iter().copied().chain(more)
    }

    /// Its arguments with all values filled in.
    pub fn arguments(&self, values: &Values) -> Vec<String> {
        let mut words = Vec::new();
        for word in self.words(values) {
            match word == "{as_root}" {
                true if values.is_root => words.extend(["-u".to_owned(), "root".to_owned()]),
                true => {}
                false => words.push(values.fill(word)),
            }
        }
        words
    }

    /// The command line with its names in braces, for reports.
    pub fn command(&self) -> String {
        let all = Values::default();
        let words = self.words(&all).filter(|word| *word != "{as_root}");
        let words: Vec<&str> = std::iter::once(self.tool().program).chain(words).collect();
        words.join(" ")
    }

    /// The check's workloads and figures, for comparison and display.
    pub fn works(&self) -> Vec<CheckedWork> {
        let figure = |pair: &Pair| CheckedFigure {
            operation: pair.of_lodestone.0,
            metric: pair.of_lodestone.1,
            known: (!pair.known.is_empty()).then(|| pair.known.to_owned()),
        };
        let work = |part: &Part| CheckedWork {
            tool: self.tool().word.to_owned(),
            step: part.id.to_owned(),
            title: part.title.to_owned(),
            command: self.command(),
            defined_cost: part.defined_cost,
            figures: part.figures.iter().map(figure).collect(),
        };
        self.parts.iter().map(work).collect()
    }
}

/// The suite of native steps that match the checks' tools.
///
/// # Errors
/// The suite or the step that a part names, if this version does not have it.
pub fn suite(checks: &[&Check], values: &Values) -> Result<Suite, String> {
    let mut steps = Vec::new();
    for check in checks {
        for part in check.wanted(values) {
            steps.push(part.spec(check.tool().word, values)?);
        }
    }
    Ok(Suite {
        name: CROSSCHECK_SUITE.to_owned(),
        description: "what the classic tools measure, next to them".to_owned(),
        budget_ns: Some(DEFAULT_BUDGET_NS),
        rounds: None,
        in_order: false,
        until_steady: None,
        until_written: None,
        requirements: Vec::new(),
        defaults: Vec::new(),
        steps,
    })
}

impl Part {
    /// The native step.
    fn spec(&self, tool: &str, values: &Values) -> Result<StepSpec, String> {
        let mut settings = match self.native {
            None => Vec::new(),
            Some((suite, step)) => suite_settings(suite, step)?,
        };
        for (key, text) in self.settings {
            let key = option(key).ok_or_else(|| format!("there is no option `{key}`"))?.key;
            settings.retain(|setting: &Setting| setting.key != key);
            settings.push(Setting { key, text: values.fill(text), location: SourceLocation::Nowhere });
        }
        Ok(StepSpec {
            id: self.id.to_owned(),
            title: Some(format!("{tool}: {}", self.title)),
            label: None,
            settings,
            sweep: Vec::new(),
            seek: None,
            concurrent: Vec::new(),
            location: SourceLocation::Nowhere,
        })
    }
}

/// All settings of a suite's step, the suite's defaults included.
fn suite_settings(suite: &str, step: &str) -> Result<Vec<Setting>, String> {
    let missing = || format!("there is no step `{step}` in a suite `{suite}` here");
    let text = builtin(suite).ok_or_else(missing)?.toml;
    let (parsed, _) = Suite::parse(suite, text);
    let spec = parsed.steps.iter().find(|spec| spec.id == step).ok_or_else(missing)?;
    let all = parsed.defaults.iter().filter(|d| !spec.settings.iter().any(|s| s.key == d.key));
    Ok(all
        .chain(&spec.settings)
        .map(|setting| Setting { location: SourceLocation::Nowhere, ..setting.clone() })
        .collect())
}
