//! One job of a fio job file, its values read.

use std::ops::Range;

use super::error;
use super::lines::{Line, Section};
use super::values::{KbBase, Size, boolean, time};
use crate::problem::Problem;

/// Most clones of a job.
const MOST_JOBS: u64 = 1024;

/// A job with the lines that apply to it: those of the global sections first, and the last of each key.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub name: String,
    pub span: Range<usize>,
    pub numjobs: u64,
    pub base: KbBase,
    lines: Vec<Line>,
}

impl Job {
    /// The job of a section; `None` if even its number of clones cannot be read.
    pub fn new(section: &Section, lines: &[Line], problems: &mut Vec<Problem>) -> Option<Self> {
        let mut effective: Vec<Line> = Vec::new();
        for line in lines {
            let key = super::fio_option(&line.key).map_or(line.key.as_str(), |option| option.name);
            effective.retain(|other| other.key != key);
            effective.push(Line { key: key.to_owned(), ..line.clone() });
        }
        let mut job = Self {
            name: section.name.clone(),
            span: section.span.clone(),
            numjobs: 1,
            base: KbBase::Binary,
            lines: effective,
        };
        if let Some(line) = job.line("kb_base") {
            match line.value.as_str() {
                "1024" => {}
                "1000" => job.base = KbBase::Decimal,
                _ => problems.push(error(&line.span, "kb_base must be 1024 or 1000")),
            }
        }
        if let Some(line) = job.line("name") {
            job.name = line.value.clone();
        }
        job.numjobs = job.number("numjobs", problems).unwrap_or(1);
        if job.numjobs == 0 || job.numjobs > MOST_JOBS {
            let span = job.line("numjobs").map_or(job.span.clone(), |line| line.span.clone());
            problems.push(error(&span, format!("numjobs must be from 1 to {MOST_JOBS}")));
            return None;
        }
        Some(job)
    }

    /// The line with this key, by the option's own name.
    pub fn line(&self, key: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.key == key)
    }

    /// The value of an option, if it is set.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.line(key).map(|line| line.value.as_str())
    }

    /// True if `key` is set after `other`, or `other` is not set.
    pub fn is_later(&self, key: &str, other: &str) -> bool {
        let at = |key: &str| self.lines.iter().position(|line| line.key == key);
        at(key).is_some_and(|line| at(other).is_none_or(|other_line| line > other_line))
    }

    /// Parses a value that is set; one that cannot be parsed is a problem.
    pub fn read<T>(
        &self,
        key: &str,
        problems: &mut Vec<Problem>,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let line = self.line(key)?;
        match read(&line.value) {
            Ok(value) => Some(value),
            Err(message) => {
                problems.push(error(&line.span, format!("{key}: {message}")));
                None
            }
        }
    }

    pub fn number(&self, key: &str, problems: &mut Vec<Problem>) -> Option<u64> {
        self.read(key, problems, |text| self.base.number(text))
    }

    pub fn size(&self, key: &str, problems: &mut Vec<Problem>) -> Option<Size> {
        self.read(key, problems, |text| self.base.size(text))
    }

    /// A time in nanoseconds; 0 is `None`.
    pub fn time(&self, key: &str, unit_ns: f64, problems: &mut Vec<Problem>) -> Option<u64> {
        self.read(key, problems, |text| time(text, unit_ns)).filter(|ns| *ns > 0)
    }

    /// A switch; `None` if it is not set.
    pub fn switch(&self, key: &str, problems: &mut Vec<Problem>) -> Option<bool> {
        self.read(key, problems, boolean)
    }

    fn is_on(&self, key: &str) -> bool {
        self.value(key).is_some_and(|text| boolean(text) == Ok(true))
    }

    /// True if the job waits for those before it.
    pub fn begins_step(&self) -> bool {
        self.is_on("stonewall") || self.line("wait_for").is_some()
    }

    /// True if the end of the job ends the run.
    pub fn ends_run(&self) -> bool {
        self.is_on("exitall") && self.value("exit_what") == Some("all")
    }

    /// The first word of `rw`: read, randwrite and so on.
    pub fn direction(&self) -> &str {
        let value = self.value("rw").unwrap_or("read");
        value.split_once(':').map_or(value, |(direction, _)| direction)
    }

    /// True if the job needs existing data.
    pub fn needs_data(&self) -> bool {
        !matches!(self.direction(), "write" | "randwrite")
    }

    pub fn engine(&self) -> &str {
        self.value("ioengine").map_or("psync", |text| text.split_once(',').map_or(text, |(name, _)| name))
    }

    /// Files or directories and the operation, if the engine does metadata operations.
    pub fn names(&self) -> Option<(&'static str, &'static str)> {
        Some(match self.engine() {
            "filecreate" => ("files", "create"),
            "filestat" => ("files", "stat"),
            "filedelete" => ("files", "unlink"),
            "dircreate" => ("directories", "create"),
            "dirstat" => ("directories", "stat"),
            "dirdelete" => ("directories", "unlink"),
            _ => return None,
        })
    }

    /// The files that the job names, none if it has files of its own.
    pub fn files(&self) -> Vec<String> {
        let Some(names) = self.value("filename") else { return Vec::new() };
        // A colon separates names unless a backslash precedes it.
        names.replace("\\:", "\0").split(':').map(|name| name.replace('\0', ":")).collect()
    }

    /// The job's device, or the directory of its files.
    pub fn location(&self) -> String {
        let files = self.files();
        let directory = self.value("directory").and_then(|text| text.split(':').next()).unwrap_or(".");
        match files.first() {
            Some(device) if device.starts_with("/dev/") => device.clone(),
            Some(file) if file.starts_with('/') => file
                .rsplit_once('/')
                .map_or("/", |(parent, _)| if parent.is_empty() { "/" } else { parent })
                .to_owned(),
            _ => directory.to_owned(),
        }
    }

    /// True if both do the same on files of their own, so that they become one job with more clones.
    pub fn is_alike(&self, other: &Self) -> bool {
        const OWN: [&str; 4] = ["name", "description", "numjobs", "new_group"];
        let work = |job: &Self| -> Vec<(String, String)> {
            let lines = job.lines.iter().filter(|line| !OWN.contains(&line.key.as_str()));
            let mut work: Vec<_> = lines.map(|line| (line.key.clone(), line.value.clone())).collect();
            work.sort_unstable();
            work
        };
        let own_files = self.line("filename").is_none() && other.line("filename").is_none();
        own_files && self.numjobs + other.numjobs <= MOST_JOBS && work(self) == work(other)
    }
}
