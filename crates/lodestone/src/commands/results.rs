//! `list`, `show`, `compare`, `reindex`: stored results.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use analyse::{
    Analysis, Estimator, Pairing, Series, TargetByHour, analyse, compare as compare_series, measurements,
    runs_by_hour, summarise, telemetry,
};
use jiff::tz::TimeZone;
use model::{Note, Run, Severity, Step};
use record::{DAMAGE_TOPIC, Listing, Log, RunSummary, Store};
use report::{AllPairs, ComparedRuns, Document, Layout, RunView, ScoreLayout, Table, TerminalText, json};

use super::{estimator, store, units, view};
use crate::cli::{Cli, CompareArgs, LayoutArgs, LayoutWord, ListArgs, ShowArgs};
use crate::failure::Failure;
use crate::output;

/// Lists the stored runs, the oldest first.
///
/// # Errors
/// The store cannot be read.
pub fn list(cli: &Cli, args: &ListArgs) -> Result<ExitCode, Failure> {
    let Listing { runs, warnings } = store(cli)?.list().map_err(Failure::failed)?;
    for warning in &warnings {
        output::say(&format!("lodestone: {warning}"));
    }
    if args.json {
        output::print(json::pretty(&runs.iter().map(summary_json).collect::<Vec<_>>()))?;
    } else if runs.is_empty() {
        output::print("no runs are stored yet; `lodestone run` makes one\n")?;
    } else {
        output::print(listed(cli, &runs))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn listed(cli: &Cli, runs: &[RunSummary]) -> TerminalText {
    use report::{Align, Cell, Column, Table};
    let time_zone = view(cli, "").time_zone;
    // Logs with the same id differ only in their file.
    let mut ids = std::collections::BTreeSet::new();
    let has_doubles = !runs.iter().all(|run| ids.insert(&run.id));
    let rows = runs.iter().map(|run| {
        let mut row = vec![
            Cell::text(&run.id),
            Cell::text(report::when(run.started_unix_ns, &time_zone)),
            Cell::text(&run.host),
            Cell::text(&run.suite),
            Cell::text(run.state.name()),
            Cell::text(run.repeats.to_string()),
            Cell::text(run.targets.join(", ")),
        ];
        row.extend(has_doubles.then(|| Cell::text(&run.file)));
        row
    });
    let mut columns = vec![
        Column::new("run", Align::Left),
        Column::new("started", Align::Left),
        Column::new("host", Align::Left),
        Column::new("suite", Align::Left),
        Column::new("state", Align::Left),
        Column::new("repeats", Align::Right),
        Column::new("targets", Align::Left),
    ];
    columns.extend(has_doubles.then(|| Column::new("log", Align::Left)));
    let table = Table { title: format!("{} run(s)", runs.len()), columns, stub: 1, rows: rows.collect() };
    report::table_text(&table, output::style(cli.color))
}

fn summary_json(run: &RunSummary) -> serde_json::Value {
    serde_json::json!({
        "id": run.id,
        "started_unix_ns": run.started_unix_ns,
        "host": run.host,
        "suite": run.suite,
        "plan": run.plan,
        "state": run.state.name(),
        "repeats": run.repeats,
        "targets": run.targets,
        "log": run.file,
    })
}

/// Shows a run as `run` showed it at its end.
///
/// # Errors
/// There is no such run or target, or it cannot be read.
pub fn show(cli: &Cli, args: &ShowArgs) -> Result<ExitCode, Failure> {
    let run = find(&store(cli)?, &args.run)?;
    if args.telemetry {
        let document =
            report::telemetry_document(&run, &telemetry(&run), &host::probes::labels(), &view(cli, ""));
        output::print(report::text(&document, output::style(cli.color)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let baseline = baseline(&run, args.baseline.as_deref())?;
    let analysis = analyse(&run, &baseline, estimator(args.summary), units(cli));
    if args.pairs {
        let series = Series::of_run(&run, &analysis.measurements);
        let plan = &run.started.plan;
        print_pairs(cli, &all_pairs(vec![&run], &series, Pairing::within(plan), plan.margin())?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(table) = laid_out(cli, &run, &analysis, &args.layout)? {
        output::print(report::table_text(&table, output::style(cli.color)))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::print(shown(cli, &run, &analysis, &baseline, args.details))?;
    Ok(ExitCode::SUCCESS)
}

/// Every pair of targets.
///
/// # Errors
/// There are too few targets, or too many.
fn all_pairs<'a>(
    runs: Vec<&'a Run>,
    series: &'a [Series],
    pairing: Pairing,
    margin: f64,
) -> Result<AllPairs<'a>, Failure> {
    /// A table with more columns is no answer to anybody.
    const MOST: usize = 40;
    let targets: std::collections::BTreeSet<&str> = series.iter().map(|s| s.target.as_str()).collect();
    match targets.len() {
        0 | 1 => Err(Failure::usage(
            "--pairs compares targets with each other, and there are not two with figures",
        )),
        n if n > MOST => Err(Failure::usage(format!(
            "--pairs shows at most {MOST} targets, and there are {n}; compare fewer, or omit --pairs to compare them with \
             a baseline"
        ))),
        _ => Ok(AllPairs::new(runs, series, pairing, margin)),
    }
}

fn print_pairs(cli: &Cli, pairs: &AllPairs<'_>) -> Result<(), Failure> {
    output::print(report::text(&report::pairs_document(pairs), output::style(cli.color)))
}

/// The one table of a layout other than `steps`, if one was requested.
///
/// # Errors
/// There is no such label, or no such figure.
pub(super) fn laid_out(
    cli: &Cli,
    run: &Run,
    analysis: &Analysis,
    args: &LayoutArgs,
) -> Result<Option<Table>, Failure> {
    let units = view(cli, "").units;
    let table = match args.layout {
        LayoutWord::Steps => return Ok(None),
        LayoutWord::Matrix => report::matrix_table(run, &analysis.measurements, &matrix_layout(args), units),
        LayoutWord::Scores => report::score_table(run, analysis, &score_layout(args)?, units),
    };
    table.map(Some).map_err(Failure::usage)
}

pub(super) fn matrix_layout(args: &LayoutArgs) -> Layout {
    let labels = |wanted: &[String], usual: &str| {
        if wanted.is_empty() { vec![usual.to_owned()] } else { wanted.to_vec() }
    };
    let (rows, columns) = (labels(&args.rows, "step"), labels(&args.columns, "target"));
    Layout { rows, columns, cell: args.cell.clone() }
}

pub(super) fn score_layout(args: &LayoutArgs) -> Result<ScoreLayout, Failure> {
    if !args.columns.is_empty() {
        return Err(Failure::usage("the columns of --layout scores are the figures; omit --columns"));
    }
    let rows = if args.rows.is_empty() { vec!["target".to_owned()] } else { args.rows.clone() };
    Ok(ScoreLayout { rows, cell: args.cell.clone() })
}

/// A run as text for the terminal: the answer, or with `details` everything.
pub(crate) fn shown(
    cli: &Cli,
    run: &Run,
    analysis: &Analysis,
    baseline: &str,
    details: bool,
) -> TerminalText {
    let view = RunView { details, ..view(cli, baseline) };
    let document = report::run_document(run, analysis, &view);
    report::text(&document, output::style(cli.color))
}

/// The named baseline, or the run's own.
pub(crate) fn baseline(run: &Run, wanted: Option<&str>) -> Result<String, Failure> {
    let names: Vec<&str> = run.started.targets.iter().map(|t| t.name.as_str()).collect();
    match wanted {
        None => Ok(run.started.baseline.clone()),
        Some(name) if names.contains(&name) => Ok(name.to_owned()),
        Some(name) => Err(Failure::usage(format!(
            "there is no target `{name}` for --baseline; the targets are {}",
            names.join(", ")
        ))),
    }
}

/// Reads a run and prints the defects of its log. Notes in the run repeat this for pages and exports.
pub(super) fn find(store: &Store, name: &OsStr) -> Result<Run, Failure> {
    let Log { mut run, cut_off, is_protected, .. } = store.find(name).map_err(Failure::usage)?;
    let id = run.started.id.clone();
    for note in run.notes.iter().filter(|note| note.topic == DAMAGE_TOPIC) {
        output::say(&format!("lodestone: run {id}: {}", note.message));
    }
    let mut remark = |severity, topic: &str, message: String| {
        output::say(&format!("lodestone: run {id}: {message}"));
        run.notes.push(Note { at_ns: 0, severity, topic: topic.to_owned(), target: None, message });
    };
    if cut_off {
        let message = "the log ends in an incomplete line, which is ignored";
        remark(Severity::Warning, "log-cut-off", message.to_owned());
    }
    if !is_protected {
        let message =
            "the log is not protected: its format has no checksums, so changes to it cannot be detected";
        remark(Severity::Info, "log-not-protected", message.to_owned());
    }
    Ok(run)
}

/// The named runs, which must be different ones.
pub(super) fn find_all(store: &Store, names: &[OsString]) -> Result<Vec<Run>, Failure> {
    let mut runs: Vec<Run> = Vec::new();
    for name in names {
        let run = find(store, name)?;
        if runs.iter().any(|r| r.started.id == run.started.id) {
            return Err(Failure::usage(format!(
                "run {} is named twice, possibly through two of its logs; name different runs",
                run.started.id
            )));
        }
        runs.push(run);
    }
    Ok(runs)
}

/// Compares runs with each other. Their targets are called `run:target`.
///
/// # Errors
/// There is no such run, or nothing that the runs have in common.
pub fn compare(cli: &Cli, args: &CompareArgs) -> Result<ExitCode, Failure> {
    let runs = find_all(&store(cli)?, &args.runs)?;
    let hours = by_hour(&runs, &view(cli, "").time_zone, args.by_hour)?;
    if args.by_hour && !args.json {
        let title = format!("{} runs by hour of the day", runs.len());
        let document = Document::new(title, report::by_hour_sections(&hours));
        output::print(report::text(&document, output::style(cli.color)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let series = common_series(&runs, &in_common(&runs));
    let baseline = comparison_baseline(&runs, &series, args.baseline.as_deref())?;
    let mut compared = compared(&runs, series, &baseline, args.margin.as_deref())?;
    let all: Vec<&Run> = runs.iter().collect();
    if args.pairs {
        let pairs = all_pairs(all.clone(), &compared.series, Pairing::None, compared.margin)?;
        if !args.json {
            print_pairs(cli, &pairs)?;
            return Ok(ExitCode::SUCCESS);
        }
        compared.comparisons = pairs.comparisons;
    }
    let text = if args.json {
        let export = json::comparison_export(&all, &compared.comparisons, &compared.summaries, &hours);
        json::pretty(&export).into()
    } else {
        let view = RunView { details: args.details, ..view(cli, &baseline) };
        let mut document = report::comparison_document(&all, &compared, &view);
        document.sections.extend(report::by_hour_sections(&hours));
        report::text(&document, output::style(cli.color))
    };
    output::print(text)?;
    Ok(ExitCode::SUCCESS)
}

/// Each target by hour of the day, over three or more runs of one plan. Unless this is `wanted`, only targets with
/// several hours.
fn by_hour(runs: &[Run], time_zone: &TimeZone, wanted: bool) -> Result<Vec<TargetByHour>, Failure> {
    let mut at = Vec::new();
    for run in runs {
        let (hour, day) = report::hour_and_day(run.started.started_unix_ns, time_zone);
        at.push((run, hour, day));
    }
    let mut found = runs_by_hour(&at);
    if !wanted {
        found.retain(|t| t.steps.iter().any(|(_, step)| step.hours.len() > 1));
    } else if found.is_empty() {
        return Err(Failure::usage(
            "cannot compare hours: no three of these runs measured a target of the same name by the same plan on the \
             same machine; repeat one plan, with --size given, at different hours",
        ));
    }
    Ok(found)
}

/// The figures of all runs in these steps.
pub(super) fn common_series(runs: &[Run], common: &[&str]) -> Vec<Series> {
    runs.iter().flat_map(named_series).filter(|s| common.contains(&s.step.as_str())).collect()
}

/// The runs' figures against the baseline's. Without a margin, that of the first run counts.
///
/// # Errors
/// The margin is no share.
pub(super) fn compared(
    runs: &[Run],
    series: Vec<Series>,
    baseline: &str,
    margin: Option<&str>,
) -> Result<ComparedRuns, Failure> {
    let plan = &runs[0].started.plan;
    let margin = match margin {
        None => plan.margin(),
        Some(text) => plan::parts_per_million(text).map(|ppm| f64::from(ppm) / 1e6).ok_or_else(|| {
            Failure::usage(format!("--margin {text} is not a valid share: use 0.01% to 100%, such as 2%"))
        })?,
    };
    let comparisons = compare_series(&series, baseline, Pairing::None, margin);
    let summaries = summarise(plan, &comparisons);
    Ok(ComparedRuns { series, comparisons, summaries, margin })
}

fn named_series(run: &Run) -> Vec<Series> {
    let name = |target: &str| format!("{}:{target}", run.started.id);
    let series = Series::of_run(run, &measurements(run, Estimator::Mean));
    series.into_iter().map(|s| Series { target: name(&s.target), ..s }).collect()
}

/// Ids of the steps that are the same in every run, and ids of the other steps of the first run.
pub(super) fn same_steps<'a>(runs: &'a [Run]) -> (Vec<&'a str>, Vec<&'a str>) {
    let same = |a: &Step, b: &Step| {
        a.id == b.id
            && a.workload == b.workload
            && a.prepare == b.prepare
            && a.stop == b.stop
            && a.ramp_ns == b.ramp_ns
    };
    let everywhere =
        |step: &&Step| runs.iter().all(|run| run.started.plan.steps.iter().any(|s| same(s, step)));
    let (common, other): (Vec<&Step>, Vec<&Step>) = runs[0].started.plan.steps.iter().partition(everywhere);
    let ids = |steps: &[&'a Step]| steps.iter().map(|s| s.id.as_str()).collect();
    (ids(&common), ids(&other))
}

/// Ids of the steps that are the same in every run. Prints which steps are left out.
pub(super) fn in_common(runs: &[Run]) -> Vec<&str> {
    let (common, other) = same_steps(runs);
    if !other.is_empty() {
        output::say(&format!(
            "lodestone: these steps are left out, because they differ between the runs: {}",
            other.join(", ")
        ));
    }
    common
}

pub(super) fn comparison_baseline(
    runs: &[Run],
    series: &[Series],
    wanted: Option<&str>,
) -> Result<String, Failure> {
    let mut names: Vec<&str> = series.iter().map(|s| s.target.as_str()).collect();
    names.dedup();
    if names.is_empty() {
        return Err(Failure::usage("these runs have no step in common, so there is nothing to compare"));
    }
    let first = &runs[0].started;
    let wanted = wanted.map_or_else(|| format!("{}:{}", first.id, first.baseline), str::to_owned);
    // A prefix of the run's id is enough, as everywhere.
    let matches = |name: &&&str| {
        **name == wanted
            || matches!((name.split_once(':'), wanted.split_once(':')), (Some((run, target)), Some((start, of))) if target == of && run.starts_with(start))
    };
    names.iter().find(matches).map(|name| (*name).to_owned()).ok_or_else(|| {
        let mut unique = names.clone();
        unique.sort_unstable();
        unique.dedup();
        Failure::usage(format!("there is no baseline `{wanted}`; the targets are {}", unique.join(", ")))
    })
}

/// Rebuilds the index.
///
/// # Errors
/// The store cannot be used.
pub fn reindex(cli: &Cli) -> Result<ExitCode, Failure> {
    let store = store(cli)?;
    let Listing { runs, warnings } = store.reindex().map_err(Failure::failed)?;
    for warning in &warnings {
        output::say(&format!("lodestone: {warning}"));
    }
    output::print(format!("{} run(s) indexed from {}\n", runs.len(), store.logs().display()))?;
    Ok(ExitCode::SUCCESS)
}
