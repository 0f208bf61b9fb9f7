//! fio job files, turned into a suite that does the same with Lodestone's own engines.
//!
//! # Invariants
//! * [`FIO_OPTIONS`] lists every option of fio. Each is honoured, or changes nothing that is measured and is reported,
//!   or refuses the job with the reason. An option that is not in the list is refused with the nearest name.
//! * Where fio's default differs from Lodestone's, fio's is set: buffered I/O, no sync, reads in order, one pass.
//! * A `stonewall` begins a new step; jobs between two of them run concurrently in one step.
//! * Test files are private to the run: whatever `filename` names, no file of the user is written. A device is written
//!   with the usual consent.

mod job;
mod lines;
mod settings;
mod table;
mod values;
mod write;

use std::ops::Range;

use crate::parse::{StepSpec, Suite};
use crate::problem::{Problem, SourceLocation, nearest};
use job::Job;
use lines::{Line, Section};
use table::fio_option;
pub use table::{FIO_OPTIONS, FioOption, Treatment};
pub use write::{JobTarget, JobText, write};

/// What a job file may refer to on the machine.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The environment, for `${NAME}`.
    pub environment: Vec<(String, String)>,
    /// Bytes of a memory page, for `$pagesize`.
    pub page_bytes: u64,
    /// Bytes of memory, for `$mb_memory`.
    pub memory_bytes: u64,
    /// Processors, for `$ncpus`.
    pub processors: u32,
}

/// A job file whose lines are parsed. Its sizes may depend on the target, which it may name itself.
#[derive(Clone, Debug)]
pub struct FioJobs {
    name: String,
    jobs: Vec<Job>,
    problems: Vec<Problem>,
    ignored: Vec<(String, &'static str)>,
}

/// The file that a line of a job file includes, if any.
pub fn included(line: &str) -> Option<&str> {
    let file = line.trim().strip_prefix("include")?;
    file.starts_with(char::is_whitespace).then(|| file.trim())
}

impl FioJobs {
    /// Parses a job file. The jobs hold what could be parsed; [`FioJobs::suite`] returns every mistake.
    pub fn parse(name: &str, text: &str, around: &Surroundings) -> Self {
        let (sections, wrong) = lines::sections(text, around);
        let mut problems: Vec<Problem> = wrong.into_iter().map(|(span, what)| error(&span, what)).collect();
        let mut ignored: Vec<(String, &'static str)> = Vec::new();
        for line in sections.iter().flat_map(|section| &section.lines) {
            match fio_option(&line.key).map(|option| option.treatment) {
                None => problems.push(unknown(line)),
                Some(Treatment::Refused(why)) if !is_off(line) => {
                    problems.push(error(&line.span, format!("{}: {why}", line.key)));
                }
                Some(Treatment::Ignored(why)) if !ignored.iter().any(|(key, _)| *key == line.key) => {
                    ignored.push((line.key.clone(), why));
                }
                _ => {}
            }
        }
        let jobs = jobs(&sections, &mut problems);
        if jobs.is_empty() && problems.is_empty() {
            let problem = Problem::error(SourceLocation::Nowhere, "the file has no job");
            problems.push(problem.help("a job begins with a section such as [job1] and has at least size"));
        }
        Self { name: name.to_owned(), jobs, problems, ignored }
    }

    /// Options that change nothing that is measured, and why; each once.
    pub fn ignored(&self) -> &[(String, &'static str)] {
        &self.ignored
    }

    /// Directories and devices that the jobs name, each once.
    pub fn targets(&self) -> Vec<String> {
        let mut targets = Vec::new();
        for job in &self.jobs {
            let location = job.location();
            if !targets.contains(&location) {
                targets.push(location);
            }
        }
        targets
    }

    /// The jobs as a suite with one round, in the order of the file; and what is wrong with the file, or differs slightly
    /// from fio, with locations in the file. `target_bytes` is the size of the file or block device that is the target,
    /// `None` for a directory.
    pub fn suite(&self, target_bytes: Option<u64>) -> (Suite, Vec<Problem>) {
        let mut problems = self.problems.clone();
        let suite = Suite {
            name: self.name.clone(),
            description: format!("the fio job file {}", self.name),
            budget_ns: None,
            rounds: Some(1),
            in_order: true,
            until_steady: None,
            until_written: None,
            requirements: Vec::new(),
            defaults: Vec::new(),
            steps: steps(self.jobs.clone(), target_bytes, &mut problems),
        };
        (suite, problems)
    }
}

fn error(span: &Range<usize>, message: impl Into<String>) -> Problem {
    Problem::error(SourceLocation::Suite(span.clone()), message)
}

fn warning(span: &Range<usize>, message: impl Into<String>) -> Problem {
    Problem::warning(SourceLocation::Suite(span.clone()), message)
}

/// A refused option that is switched off has no effect.
fn is_off(line: &Line) -> bool {
    matches!(line.value.as_str(), "0" | "none" | "false")
}

fn unknown(line: &Line) -> Problem {
    let problem = error(&line.span, format!("fio has no option `{}`", line.key));
    match nearest(&line.key, FIO_OPTIONS.iter().map(|option| option.name)) {
        Some(word) => problem.help(format!("did you mean `{word}`?")),
        None => problem,
    }
}

/// The jobs of a file, each with what the global sections before it set.
fn jobs(sections: &[Section], problems: &mut Vec<Problem>) -> Vec<Job> {
    let mut globals: Vec<Line> = Vec::new();
    let mut jobs = Vec::new();
    for section in sections {
        if section.name == "global" {
            globals.extend(section.lines.iter().cloned());
            continue;
        }
        let lines: Vec<Line> = globals.iter().chain(&section.lines).cloned().collect();
        jobs.extend(Job::new(section, &lines, problems));
    }
    jobs
}

/// Concurrent jobs are a step; identical ones with files of their own become one with more jobs.
fn steps(jobs: Vec<Job>, target_bytes: Option<u64>, problems: &mut Vec<Problem>) -> Vec<StepSpec> {
    let mut groups: Vec<Vec<Job>> = Vec::new();
    let mut ended = false;
    for job in jobs {
        let begins = job.begins_step() || groups.is_empty();
        if begins && ended {
            let message = format!("{} never runs: exit_what=all ends the run before it", job.name);
            problems.push(warning(&job.span, message));
            continue;
        }
        if begins {
            groups.push(Vec::new());
        }
        ended |= job.ends_run();
        let Some(group) = groups.last_mut() else { continue };
        match group.iter_mut().find(|other| other.is_alike(&job)) {
            Some(other) => other.numjobs += job.numjobs,
            None => group.push(job),
        }
    }
    let mut sets = settings::Sets::default();
    let mut names: Vec<String> = Vec::new();
    let mut steps = Vec::new();
    for group in &groups {
        let specs: Vec<StepSpec> = group
            .iter()
            .map(|job| StepSpec {
                id: id(&job.name, &mut names),
                title: None,
                label: Some(job.name.replace(['{', '}'], "")),
                settings: settings::settings(job, group, &mut sets, target_bytes, problems),
                sweep: Vec::new(),
                seek: None,
                concurrent: Vec::new(),
                location: SourceLocation::Suite(job.span.clone()),
            })
            .collect();
        sets.end_step();
        let mut specs = specs.into_iter();
        if let Some(first) = specs.next() {
            steps.push(StepSpec { concurrent: specs.collect(), ..first });
        }
    }
    steps
}

/// A step's id from a job's name, different from those before.
fn id(name: &str, taken: &mut Vec<String>) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_alphanumeric() || "._-".contains(c) { c } else { '-' }).collect();
    let mut id = plain.clone();
    let mut number = 2;
    while taken.contains(&id) {
        id = format!("{plain}-{number}");
        number += 1;
    }
    taken.push(id.clone());
    id
}
