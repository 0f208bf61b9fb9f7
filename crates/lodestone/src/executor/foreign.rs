//! Repeats run by another program, on the same data and between the same counter readings: fio instead of Lodestone's
//! engines ([`Driver::Fio`]), or the classic tools alongside them ([`Driver::Tools`]). Their output is imported.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::{Outcome, Task};
use host::programs::{End, Ran};
use host::testfiles::PrivateDirectory;
use model::{
    EngineChoice, Event, FailureKind, Figure, Imported, Interval, Metric, Note, Operation, OperationStats,
    Phase, Preparation, RepeatFailure, RepeatOutcome, Severity, Step, TargetKind,
};
use plan::checks::{Check, Pair, Part, Values, WorksOn};
use plan::fio::JobTarget;
use record::import::{Problem, ProblemKind, Report};

use super::data_sets::DataSet;
use super::{Local, TargetState};

/// Time that a program may take beyond its configured time: slow storage takes long for layout and syncs.
const TOOL_TIMEOUT: Duration = Duration::from_secs(600);
/// The lowest rate to expect of storage, in bytes per second.
const SLOWEST: u64 = 1 << 20;
/// The name of fio's job file.
const JOB_FILE: &str = "job.fio";
/// Most characters quoted from the output of a failed program.
const LONGEST_REASON: usize = 300;

/// What runs the repeats of a target.
pub(crate) enum Driver {
    /// Lodestone's own engines.
    Own,
    /// This fio.
    Fio(PathBuf),
    /// The tools of checks, each for its own steps.
    Tools(Tools),
}

/// The tools of checks.
pub(crate) struct Tools {
    /// The checks, each with the path of its program.
    pub calls: Vec<(&'static Check, PathBuf)>,
    /// Values for their arguments.
    pub values: Values,
}

impl Tools {
    fn call(&self, step: &str) -> Option<(&'static Check, &'static Part, &Path)> {
        self.calls.iter().find_map(|(check, program)| {
            let part = check.wanted(&self.values).find(|part| part.id == step)?;
            Some((*check, part, program.as_path()))
        })
    }
}

impl Driver {
    /// True if the program creates the files of this step itself.
    pub fn makes_its_files(&self, step: &str) -> bool {
        let works_on = match self {
            Self::Tools(tools) => tools.call(step).map(|(check, ..)| check.works_on),
            Self::Own | Self::Fio(_) => None,
        };
        works_on == Some(WorksOn::OwnFiles)
    }

    /// True if the device counters around a repeat of this step cover only its work.
    pub fn counts_belong_to(&self, step: &str) -> bool {
        match self {
            Self::Tools(tools) => tools.call(step).is_some_and(|(check, ..)| check.parts.len() == 1),
            Self::Own | Self::Fio(_) => true,
        }
    }
}

/// Reports of programs on steps whose turn comes next.
#[derive(Default)]
pub(crate) struct PendingReports(BTreeMap<String, StepReport>);

/// A program's report on one step.
struct StepReport {
    report: Report,
    command: String,
    elapsed: Duration,
}

/// Why a program's work is not a completed repeat.
type Refused = RepeatOutcome;

/// What another program is to work on. It is started by file descriptor in a private directory of the run, and is given no
/// path that another user could redirect.
pub(super) struct ForeignWork<'a> {
    pub step: &'a Step,
    pub state: &'a TargetState,
    pub set: Option<&'a DataSet>,
    /// On the target, for files that the program creates; `None` if it creates none.
    pub on_target: Option<&'a PrivateDirectory>,
    /// A directory that only this user can write to, for files that the program reads.
    pub scratch: &'a PrivateDirectory,
}

impl ForeignWork<'_> {
    /// The program's working directory.
    fn start(&self) -> &PrivateDirectory {
        self.on_target.unwrap_or(self.scratch)
    }
}

/// Runs a step with the target's program and records its report.
pub(super) fn work(local: &mut Local<'_>, work: &ForeignWork<'_>, task: &Task) -> Outcome {
    let reported = match &work.state.driver {
        Driver::Own => Err(failed(work.step, "no other program was named")),
        Driver::Fio(program) => by_fio(local, work, task, program),
        Driver::Tools(tools) => by_tool(local, work, tools),
    };
    match reported {
        Ok(report) => take(local, work.step, &work.state.driver, task.repeat, report),
        Err(outcome) => Outcome::without_work(outcome, 0),
    }
}

/// A repeat that failed because of the program. The reason is a sentence without its full stop.
fn failed(step: &Step, why: impl Into<String>) -> Refused {
    RepeatOutcome::Failed(RepeatFailure {
        kind: FailureKind::Program(why.into()),
        operation: step.operations().first().copied().unwrap_or(Operation::Read),
        offset: None,
        after_ns: 0,
        good_operations: 0,
        good_bytes: 0,
    })
}

/// Runs a step with the tool of its check, unless the tool has already reported on it.
fn by_tool(local: &mut Local<'_>, work: &ForeignWork<'_>, tools: &Tools) -> Result<StepReport, Refused> {
    let ForeignWork { step, state, set, .. } = *work;
    let Some((check, _, program)) = tools.call(&step.id) else {
        return Err(failed(step, "no tool was named for it"));
    };
    let is_first = check.wanted(&tools.values).next().is_some_and(|part| part.id == step.id);
    if is_first {
        check.wanted(&tools.values).for_each(|part| drop(local.pending_reports.0.remove(part.id)));
        let paths = set.map_or_else(Vec::new, |set| set.paths(state));
        if let WorksOn::DataFiles(name) = check.works_on {
            let links = paths.iter().enumerate().map(|(i, path)| (format!("{name}{i}"), path.clone()));
            link(work.start(), links).map_err(|why| failed(step, why))?;
        }
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let values = Values {
            size: set.map_or(tools.values.size, |set| set.bytes),
            file: paths.first().map_or_else(String::new, |path| text(path)),
            // The directory in which the program is started, even if its path has since been redirected.
            dir: ".".to_owned(),
            ..tools.values.clone()
        };
        let args = check.arguments(&values);
        let timeout =
            TOOL_TIMEOUT + Duration::from_secs(values.size / SLOWEST + values.runtime + check.extra_seconds);
        let (ran, command) = call(local, work, program, &args, timeout)?;
        let tool = check.tool().program;
        let mut reports = read(local, work, tool, &ran, &command)?;
        let counted_nothing = reports.is_empty();
        for part in check.wanted(&tools.values) {
            let is_it = |report: &Report| {
                let words = report.title.split_once(": ").map_or("", |(_, words)| words);
                words.starts_with(part.report)
            };
            let report = match reports.iter().position(is_it) {
                Some(at) => reports.swap_remove(at),
                None if counted_nothing => Report::without_figures(tool),
                None => continue,
            };
            local.pending_reports.0.insert(
                part.id.to_owned(),
                StepReport { report, command: command.clone(), elapsed: ran.elapsed },
            );
        }
    }
    let none = || {
        let program = check.tool().program;
        failed(step, format!("{program} did not report on `{}`", step.id))
    };
    local.pending_reports.0.remove(&step.id).ok_or_else(none)
}

/// Runs a step with fio.
fn by_fio(
    local: &mut Local<'_>,
    work: &ForeignWork<'_>,
    task: &Task,
    program: &Path,
) -> Result<StepReport, Refused> {
    let ForeignWork { step, state, set, .. } = *work;
    let concurrent = step.concurrent.iter().zip(&task.concurrent);
    let whole = Step {
        concurrent: concurrent.map(|(other, task)| as_done(other, task)).collect(),
        ..as_done(step, task)
    };
    let data = |part: &Step, is_first: bool| {
        let found = match (part.prepare, is_first) {
            (Preparation::Written, _) => state.set(plan::DataKey::of(part)?),
            (_, true) => set,
            (_, false) => None,
        };
        found.map(|set| (set.bytes, set.paths(state)))
    };
    let data: Vec<(u64, Vec<PathBuf>)> =
        whole.parts().enumerate().map(|(i, part)| data(part, i == 0).unwrap_or_default()).collect();
    if whole.parts().zip(&data).skip(1).any(|(part, (bytes, _))| *bytes == 0 && !part.workload.is_metadata())
    {
        return Err(failed(step, "--via fio does not support new files for concurrent steps"));
    }
    let directories: Vec<JobTarget> = data
        .iter()
        .map(|(bytes, paths)| match state.target.kind {
            TargetKind::Directory => JobTarget::Directory { bytes: *bytes },
            _ => JobTarget::Target {
                bytes: *bytes,
                path: paths.first().map_or_else(String::new, |path| path.to_string_lossy().into_owned()),
            },
        })
        .collect();
    let written = plan::fio::write(&whole, &directories).map_err(|why| failed(step, why.join("; ")))?;
    for ((_, paths), links) in data.iter().zip(&written.links) {
        let links = links.iter().filter_map(|(name, i)| Some((name.clone(), paths.get(*i)?.clone())));
        link(work.start(), links).map_err(|why| failed(step, why))?;
    }
    (work.scratch.write(JOB_FILE, written.text.as_bytes()))
        .map_err(|e| failed(step, format!("cannot write fio's job file: {e}")))?;
    let job = work.scratch.path().join(JOB_FILE);
    let args = ["--output-format=json+".to_owned(), job.to_string_lossy().into_owned()];
    let seconds = step.seconds() as u64 + task.stop.bytes.unwrap_or(0) / SLOWEST;
    let timeout = TOOL_TIMEOUT + Duration::from_secs(seconds);
    let (ran, _) = call(local, work, program, &args, timeout)?;
    let command = format!("fio, job: {}", written.text.trim().replace('\n', " "));
    let mut reports = read(local, work, "fio", &ran, "fio")?;
    match reports.len() {
        1 => Ok(StepReport { report: reports.remove(0), command, elapsed: ran.elapsed }),
        n => Err(failed(step, format!("fio reported {n} job groups instead of one"))),
    }
}

/// A step as Lodestone would run it: with the engine that `auto` stands for, and through the page cache where direct
/// I/O is refused.
fn as_done(step: &Step, task: &Task) -> Step {
    Step {
        workload: task.workload.clone(),
        stop: task.stop,
        engine: EngineChoice::Only(task.engine),
        ..step.clone()
    }
}

/// Links files into a directory.
fn link(directory: &PrivateDirectory, links: impl Iterator<Item = (String, PathBuf)>) -> Result<(), String> {
    for (name, path) in links {
        let made = directory.link(&name, &path);
        made.map_err(|e| format!("cannot link the test file as {name}: {e}"))?;
    }
    Ok(())
}

/// Runs a program, which must succeed; also returns its command line as typed in a shell.
fn call(
    local: &Local<'_>,
    work: &ForeignWork<'_>,
    program: &Path,
    args: &[String],
    timeout: Duration,
) -> Result<(Ran, String), Refused> {
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let command = format!("{name} {}", args.join(" "));
    let ran = host::programs::run(program, args, &work.start().path(), timeout, &local.interrupt)
        .map_err(|e| failed(work.step, format!("cannot start {}: {e}", program.display())))?;
    let why = match ran.end {
        End::Exited(0) => return Ok((ran, command)),
        End::Interrupted => return Err(RepeatOutcome::Interrupted),
        End::Exited(code) => format!("{name} failed with exit code {code}: {}", reason(&ran)),
        End::Signalled(signal) => format!("{name} was killed by signal {signal}: {}", reason(&ran)),
        End::TookTooLong => format!("{name} did not end within {} s and was killed", timeout.as_secs()),
        End::Hangs => format!("{name} hangs in the kernel and does not end when killed"),
    };
    Err(failed(work.step, why))
}

/// The last line that a failed program printed.
fn reason(ran: &Ran) -> String {
    let last = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
        Some(line.chars().take(LONGEST_REASON).collect::<String>())
    };
    last(&ran.stderr).or_else(|| last(&ran.stdout)).unwrap_or_else(|| "it printed nothing".to_owned())
}

/// The reports in a program's output, of that program alone. None, which is noted, if it counted nothing, as it may again
/// count something in the next round.
fn read(
    local: &mut Local<'_>,
    work: &ForeignWork<'_>,
    tool: &str,
    ran: &Ran,
    command: &str,
) -> Result<Vec<Report>, Refused> {
    let output = if ran.stdout.iter().all(u8::is_ascii_whitespace) { &ran.stderr } else { &ran.stdout };
    let text = [format!("$ {command}\n").as_bytes(), output].concat();
    let parsed = record::import::import(&text);
    let reports: Vec<Report> = parsed.reports.into_iter().filter(|report| report.tool == tool).collect();
    if !reports.is_empty() {
        return Ok(reports);
    }
    match parsed.problems.first() {
        Some(Problem { kind: ProblemKind::NoFigures, message, .. }) => {
            let message = format!("a repeat of `{}` has no figures: {message}", work.step.id);
            local.note(Severity::Warning, Note::NO_FIGURES, Some(work.state.target.name.clone()), message);
            Ok(reports)
        }
        problem => {
            let why = problem.map_or("it has no results", |problem| &problem.message);
            Err(failed(work.step, format!("cannot read the output of {tool}: {why}")))
        }
    }
}

/// Records a program's report on a step.
fn take(local: &mut Local<'_>, step: &Step, driver: &Driver, repeat: u32, reported: StepReport) -> Outcome {
    let StepReport { report, command, elapsed } = reported;
    let window_ns = if report.window_ns > 0 { report.window_ns } else { elapsed.as_nanos() as u64 };
    let pairs = match driver {
        Driver::Tools(tools) => tools.call(&step.id).map(|(_, part, _)| part.figures),
        Driver::Own | Driver::Fio(_) => None,
    };
    let (figures, operations) = match pairs {
        Some(pairs) => corresponding(pairs, report.figures, report.stats),
        None => (with_durable_writes(step, report.figures), report.stats),
    };
    if !operations.is_empty() {
        local.emit(Event::Interval(Interval {
            repeat,
            phase: Phase::Measure,
            start_ns: 0,
            len_ns: window_ns,
            operations,
            in_flight_ns: 0,
        }));
    }
    let mut facts = report.facts;
    facts.insert("command".to_owned(), command);
    local.emit(Event::Imported(Box::new(Imported {
        repeat,
        tool: report.tool.to_owned(),
        version: report.version,
        file: format!("the output of {}", report.tool),
        line: report.line,
        labels: BTreeMap::new(),
        facts,
        // The configuration is known.
        unsaid: Vec::new(),
        figures,
        remarks: report.remarks,
    })));
    Outcome::without_work(RepeatOutcome::Completed, window_ns)
}

/// With a sync after every few writes, all writes become durable within the window: durable writes, which fio does not
/// report, have the rates of its writes. Their latency is unknown.
fn with_durable_writes(step: &Step, mut figures: Vec<Figure>) -> Vec<Figure> {
    if step.workload.sync.every > 0 {
        let rates = figures.iter().filter(|figure| {
            figure.operation == Operation::Write && matches!(figure.metric, Metric::Bandwidth | Metric::Iops)
        });
        let durable = rates.map(|figure| Figure { operation: Operation::DurableWrite, ..figure.clone() });
        let durable: Vec<Figure> = durable.collect();
        figures.extend(durable);
    }
    figures
}

/// The figures that correspond to one of Lodestone's, under its name; the others are dropped.
fn corresponding(
    pairs: &[Pair],
    figures: Vec<Figure>,
    stats: BTreeMap<Operation, OperationStats>,
) -> (Vec<Figure>, BTreeMap<Operation, OperationStats>) {
    let renamed = |figure: Figure| {
        let pair = pairs.iter().find(|pair| pair.of_tool == (figure.operation, figure.metric))?;
        let (operation, metric) = pair.of_lodestone;
        Some(Figure { operation, metric, ..figure })
    };
    let corresponds = |operation: &Operation| {
        pairs.iter().any(|p| p.of_tool.0 == *operation && p.of_lodestone.0 == *operation)
    };
    let stats = stats.into_iter().filter(|(operation, _)| corresponds(operation)).collect();
    (figures.into_iter().filter_map(renamed).collect(), stats)
}
