//! What the classic tools and Lodestone both measure: for each piece of work the tool's command line and the step that does the
//! same natively, and which figure of the one stands beside which of the other.
//!
//! # Invariants
//! * Pure data: nothing here knows whether a tool is installed.
//! * A tool works on the very file that Lodestone works on wherever it can be told to, because the place on the disk matters;
//!   else in a private directory, of which nothing is left.
//! * Both write the same class of data, past the page cache or into it alike, and end by the same limit.

mod table;

use model::{CheckedFigure, CheckedWork, Metric, Operation};

use crate::options::option;
use crate::parse::{Setting, StepSpec, Suite};
use crate::problem::SourceLocation;
use crate::suites::builtin;
pub use table::{CHECKS, TOOLS};

/// The suite of a run in which tools and Lodestone stand beside each other.
pub const CROSSCHECK_SUITE: &str = "crosscheck";

/// A classic tool.
#[derive(Debug, PartialEq, Eq)]
pub struct Tool {
    /// What it is called in `--with`.
    pub word: &'static str,
    /// The program.
    pub program: &'static str,
    /// How to get it, as a half sentence.
    pub install: &'static str,
}

/// What a tool works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorksOn {
    /// Lodestone's own file of test data: `{file}`.
    DataFile,
    /// Lodestone's own files under names that begin like this and end in their number, in `{dir}`.
    DataFiles(&'static str),
    /// Files that it makes in `{dir}`.
    OwnFiles,
    /// The block device that holds the target: `{device}`. It is only read.
    Device,
}

/// One call of a tool, with what stands beside it.
#[derive(Debug)]
pub struct Check {
    /// Short name, unique.
    pub id: &'static str,
    /// The [`Tool::word`].
    pub tool: &'static str,
    /// What it works on.
    pub works_on: WorksOn,
    /// Its arguments; see [`Values`] for the names in braces.
    pub args: &'static [&'static str],
    /// Seconds that it takes besides the work itself.
    pub extra_seconds: u64,
    /// The pieces of work in its output.
    pub parts: &'static [Part],
}

/// One piece of work that a tool reports on.
#[derive(Debug)]
pub struct Part {
    /// Id of the step, unique over all checks.
    pub id: &'static str,
    /// What is done, in words.
    pub title: &'static str,
    /// How the title of the imported report begins, behind the tool's name and a colon; empty where there is only one.
    pub report: &'static str,
    /// Suite and step that it is natively; without one, `settings` say it all.
    pub native: Option<(&'static str, &'static str)>,
    /// What the step sets, over that of its suite; see [`Values`] for the names in braces.
    pub settings: &'static [(&'static str, &'static str)],
    /// Every operation has to reach the device, so that both must come to the same.
    pub defined_cost: bool,
    /// The figures that both give.
    pub figures: &'static [Pair],
}

/// A figure of the tool and Lodestone's beside it.
#[derive(Debug)]
pub struct Pair {
    /// As it is imported.
    pub theirs: (Operation, Metric),
    /// As Lodestone counts it.
    pub ours: (Operation, Metric),
    /// What in the tool's method is known to make a difference, as a sentence without its full stop; empty if nothing.
    pub known: &'static str,
}

/// What the names in braces stand for, in arguments and settings: `{size}` bytes, `{mib}` MiB, `{blocks}` of 4 KiB, `{runtime}`
/// seconds; in arguments also `{file}`, `{dir}`, `{device}`. `{as_root}` is what bonnie++ wants to hear from root.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// Bytes of the test data.
    pub size: u64,
    /// Seconds that a repeat takes, where time ends it.
    pub runtime: u64,
    /// The file of test data.
    pub file: String,
    /// The private directory.
    pub dir: String,
    /// The block device.
    pub device: String,
    /// The user is root.
    pub is_root: bool,
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
    /// If the table names one that there is not; a test keeps it from that.
    pub fn tool(&self) -> &'static Tool {
        TOOLS.iter().find(|tool| tool.word == self.tool).expect("every check is of a known tool")
    }

    /// Its arguments with everything filled in.
    pub fn arguments(&self, values: &Values) -> Vec<String> {
        let as_root = |word: &&&str| **word == "{as_root}";
        let mut words = Vec::new();
        for word in self.args {
            match as_root(&word) {
                true if values.is_root => words.extend(["-u".to_owned(), "root".to_owned()]),
                true => {}
                false => words.push(values.fill(word)),
            }
        }
        words
    }

    /// The command line with its names in braces, as people read it.
    pub fn command(&self) -> String {
        let words = self.args.iter().filter(|word| **word != "{as_root}");
        let words: Vec<&str> = std::iter::once(self.tool().program).chain(words.copied()).collect();
        words.join(" ")
    }

    /// What the check is made of, for those who compare and show.
    pub fn works(&self) -> Vec<CheckedWork> {
        let figure = |pair: &Pair| CheckedFigure {
            operation: pair.ours.0,
            metric: pair.ours.1,
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

/// The suite that does natively what the checks' tools do.
///
/// # Errors
/// The suite or the step that a part names, if it does not come with this version.
pub fn suite(checks: &[&Check], values: &Values) -> Result<Suite, String> {
    let mut steps = Vec::new();
    for check in checks {
        for part in check.parts {
            steps.push(part.spec(check.tool().word, values)?);
        }
    }
    Ok(Suite {
        name: CROSSCHECK_SUITE.to_owned(),
        description: "what the classic tools measure, beside them".to_owned(),
        budget_ns: None,
        rounds: Some(5),
        in_order: false,
        until_steady: None,
        until_written: None,
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
            concurrent: Vec::new(),
            location: SourceLocation::Nowhere,
        })
    }
}

/// All that a step of a suite sets, the suite's defaults included.
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
