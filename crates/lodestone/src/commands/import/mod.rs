//! `lodestone import`: finds the files, reads them, makes one run of them, and reports the result of each.

mod files;
mod labels;
mod repeats;

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use analyse::analyse;
use model::units::counted;
use model::{Event, Host, Plan, Rounds, RunFinished, RunOutcome, RunStarted, Source};
use record::Store;
use record::import::{Assembled, Gathered, Problem, ProblemKind, assemble, import_named};
use record::input::FileId;
use report::TerminalText;
use twox_hash::XxHash3_128;

use super::layouts::laid_out;
use super::results::shown;
use super::run::started_now;
use super::{estimator, given_labels, store, units};
use crate::cli::{Cli, ImportArgs};
use crate::failure::{Failure, LEFT_OUT};
use crate::output;
use files::Input;

/// The suite of runs that were imported.
const SUITE: &str = "imported";
/// Most results of one run: all of them are in memory at once.
const MOST_RESULTS: usize = 100_000;
/// Most lines printed about the problems of one file.
const MOST_PROBLEMS: usize = 100;

/// Imports the output of other tools.
///
/// # Errors
/// Wrong usage, or the run cannot be stored.
pub fn import(cli: &Cli, args: &ImportArgs) -> Result<ExitCode, Failure> {
    let given = given_labels(&args.labels)?;
    let levels = labels::levels(args.path_labels.as_deref())?;
    let store = store(cli)?;
    let inputs = files::find(&args.paths)?;
    if inputs.is_empty() {
        let named: Vec<String> = args.paths.iter().map(|p| format!("`{}`", p.display())).collect();
        return Err(Failure::failed(format!(
            "there are no files in {}; name files or directories with the output of a benchmark",
            named.join(", ")
        )));
    }
    let mut batch = ImportBatch::new(if args.again { Vec::new() } else { store.imported() });
    let mut taken_for = BTreeSet::new();
    for input in &inputs {
        let parts = labels::parts(&input.relative, &levels);
        if batch.take(input, labels::of(&parts, &given))? {
            taken_for.extend(parts);
        }
    }
    let mut text = TerminalText::from(batch.summary());
    let assembled = assemble(std::mem::take(&mut batch.gathered));
    if assembled.events.is_empty() {
        output::print(text)?;
        if batch.only_known() {
            return Ok(ExitCode::SUCCESS);
        }
        return Err(Failure::failed(format!(
            "nothing could be imported from {}",
            counted(inputs.len(), "file")
        )));
    }
    if args.dry_run {
        text.push(labels::meanings(&taken_for));
    }
    text.push(shape(&assembled));
    if !args.dry_run {
        let id = store_run(&store, &given, batch.sources.clone(), assembled)?;
        text.push(format!("saved as run {id}; all its tables: lodestone show {id} --details\n"));
        let run = store.find(&id).map_err(Failure::failed)?.run;
        let baseline = &run.started.baseline;
        let analysis = analyse(&run, baseline, estimator(args.summary), units(cli, Some(&run)));
        let mut answer = match laid_out(cli, &[(&run, &analysis)], &args.layout)? {
            Some(table) => report::table_text(&table, output::style(cli.color)),
            None => shown(cli, &run, &analysis, baseline, args.details),
        };
        answer.push("\n");
        answer.push(text);
        text = answer;
    }
    output::print(text)?;
    Ok(ExitCode::from(if batch.left_out > 0 { LEFT_OUT } else { 0 }))
}

/// The result of the files so far.
#[derive(Default)]
struct ImportBatch {
    gathered: Vec<Gathered>,
    sources: Vec<Source>,
    /// The sources of earlier runs, by digest.
    earlier: BTreeMap<String, Vec<(Source, String)>>,
    /// The files of this import, with the name of each.
    files: BTreeMap<FileId, String>,
    /// The contents of this import by digest, with the name of the first file of each.
    contents: BTreeMap<String, String>,
    lines: Vec<String>,
    results: usize,
    left_out: usize,
    repeated: usize,
    without_figures: usize,
}

impl ImportBatch {
    fn new(imported: Vec<(Source, String)>) -> Self {
        let mut batch = Self::default();
        for (source, run) in imported {
            batch.earlier.entry(source.digest.clone()).or_default().push((source, run));
        }
        batch
    }

    /// Reads one file and adds its results; false if it has none.
    ///
    /// # Errors
    /// There are too many results for one run.
    fn take(&mut self, input: &Input, labels: BTreeMap<String, String>) -> Result<bool, Failure> {
        let file = model::path_text(&input.path);
        let content = match input.read() {
            Ok(content) => content,
            Err(message) => {
                self.left_out += 1;
                self.lines.push(format!("{file}: left out: {message}"));
                return Ok(false);
            }
        };
        let digest = format!("{:032x}", XxHash3_128::oneshot(&content.bytes));
        let source =
            Source { file: file.clone(), path: input.absolute(), digest, bytes: content.bytes.len() as u64 };
        if let Some(reason) = self.known(&source, content.id) {
            self.repeated += 1;
            self.lines.push(format!("{file}: left out: {reason}"));
            return Ok(false);
        }
        let name = input.path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let parsed = import_named(&name, &content.bytes);
        let limit = self.lines.len() + MOST_PROBLEMS;
        for problem in &parsed.problems {
            self.add_problem(&content.location(input, problem.line), problem);
        }
        let more = self.lines.len().saturating_sub(limit);
        self.lines.truncate(limit);
        if more > 0 {
            self.lines.push(format!("{file}: {}", counted(more, "more problem")));
        }
        if parsed.reports.is_empty() {
            return Ok(false);
        }
        self.results += parsed.reports.len();
        if self.results > MOST_RESULTS {
            return Err(Failure::usage(format!(
                "cannot import {file}: the run would exceed {MOST_RESULTS} results; import the files in parts"
            )));
        }
        let mut tools: BTreeMap<String, usize> = BTreeMap::new();
        for report in &parsed.reports {
            let version = report.version.as_ref().map_or_else(String::new, |v| format!(" {v}"));
            *tools.entry(format!("{}{version}", report.tool)).or_default() += 1;
        }
        let tools: Vec<String> =
            tools.iter().map(|(tool, n)| format!("{tool}, {}", counted(*n, "result"))).collect();
        let first = self.contents.entry(source.digest.clone()).or_insert_with(|| file.clone());
        let equal = match first.as_str() {
            first if first == file => String::new(),
            first => format!(" (same content as {first}; both count)"),
        };
        self.lines.push(format!("{file}: {}{equal}", tools.join("; ")));
        self.sources.push(source);
        self.gathered.push(Gathered { file, labels, reports: parsed.reports });
        Ok(true)
    }

    /// Returns where a file was read before: in this import if device and inode match, in an earlier import if path and
    /// content match. Other files with the same content are repeats, because coarse figures are often equal. Standard
    /// input is always imported.
    fn known(&mut self, source: &Source, id: Option<FileId>) -> Option<String> {
        let id = id?;
        if let Some(other) = self.files.get(&id) {
            return Some(format!("it is the same file as {other}"));
        }
        self.files.insert(id, source.file.clone());
        let earlier = self.earlier.get(&source.digest)?;
        let (_, run) = earlier.iter().find(|(earlier, _)| earlier.is_same_file(source))?;
        Some(format!("run {run} already contains it; pass --again to import it again"))
    }

    fn add_problem(&mut self, location: &str, problem: &Problem) {
        if problem.kind == ProblemKind::NoFigures {
            self.without_figures += 1;
            self.lines.push(format!("{location}: no figures: {}", problem.message));
        } else {
            self.left_out += 1;
            self.lines.push(format!("{location}: left out, {}: {}", problem.kind.name(), problem.message));
        }
    }

    /// True if nothing is wrong: each file is already in a run, or has no figures.
    fn only_known(&self) -> bool {
        self.left_out == 0 && self.repeated + self.without_figures > 0
    }

    fn summary(&self) -> String {
        let mut text = self.lines.join("\n");
        if !text.is_empty() {
            text.push('\n');
        }
        let results: usize = self.gathered.iter().map(|g| g.reports.len()).sum();
        text.push_str(&format!("{} of {}", counted(results, "result"), counted(self.gathered.len(), "file")));
        let others = [
            (self.left_out, "left out"),
            (self.repeated, "already known"),
            (self.without_figures, "without figures"),
        ];
        for (count, words) in others.iter().filter(|(count, _)| *count > 0) {
            text.push_str(&format!(", {count} {words}"));
        }
        text.push('\n');
        text
    }
}

/// The numbers of targets, steps and repeats, in a sentence.
fn shape(assembled: &Assembled) -> String {
    let names: Vec<&str> = assembled.targets.iter().map(|t| t.name.as_str()).collect();
    let shown = if names.len() > 12 { format!("{}, …", names[..12].join(", ")) } else { names.join(", ") };
    format!(
        "{} ({shown}), {}, up to {} of each\n",
        counted(names.len(), "target"),
        counted(assembled.steps.len(), "step"),
        counted(assembled.rounds as usize, "repeat")
    )
}

/// Writes the run's log and returns the run's id.
fn store_run(
    store: &Store,
    given: &BTreeMap<String, String>,
    sources: Vec<Source>,
    assembled: Assembled,
) -> Result<String, Failure> {
    let Assembled { targets, steps, events, rounds } = assembled;
    let plan = serde_json::to_vec(&steps).map_err(Failure::failed)?;
    let plan = Plan {
        id: format!("{:016x}", XxHash3_128::oneshot(&plan) as u64),
        in_order: true,
        ..Plan::of_steps(SUITE, steps, Rounds::Fixed(rounds))
    };
    let host = Host { name: given.get("host").cloned().unwrap_or_default(), ..Host::default() };
    let started = RunStarted { host, sources, ..started_now(plan, targets) };
    let id = started.id.clone();
    let mut log = store.begin(started).map_err(Failure::failed)?;
    let end = Event::RunFinished(RunFinished { at_ns: 0, outcome: RunOutcome::Completed });
    let written = log.append_all(&[events, vec![end]].concat()).and_then(|()| log.sync());
    if let Err(error) = written {
        let path = log.path().to_owned();
        // The files can be imported again; a partial run would suggest that they already are.
        let _ = store.discard(log);
        return Err(Failure::failed(format!(
            "cannot write the run log {}: {error}; nothing was imported; free some space, or choose another store with \
             --store DIR",
            path.display()
        ))
        .because(&error));
    }
    // A log that cannot be compressed stays as it is.
    let _ = store.compress(&mut log);
    Ok(id)
}
