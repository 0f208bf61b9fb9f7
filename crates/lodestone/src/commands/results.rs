//! `list`, `show`: stored results.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use analyse::{Analysis, Pairing, Series, analyse, telemetry};
use model::units::counted;
use model::{Note, Run, Severity, Target};
use record::{DAMAGE_TOPIC, Listing, Log, RunSummary, Store};
use report::{AnalysedRun, RunView, TerminalText, json};

use super::layouts::{in_one_table, laid_out};
use super::pairs::{all_pairs, print_pairs};
use super::{estimator, store, units, view};
use crate::cli::{Cli, LayoutWord, ListArgs, ShowArgs};
use crate::failure::Failure;
use crate::output;

/// Lists the stored runs, the oldest first.
///
/// # Errors
/// The store cannot be read.
pub fn list(cli: &Cli, args: &ListArgs) -> Result<ExitCode, Failure> {
    let since = args.since.as_deref().map(since_unix_ns).transpose()?;
    let Listing { mut runs, warnings } = store(cli)?.list().map_err(Failure::failed)?;
    for warning in &warnings {
        output::say(&format!("lodestone: {warning}"));
    }
    let all = runs.len();
    runs.retain(|run| {
        args.host.as_ref().is_none_or(|host| run.is_of(host))
            && args.suite.as_ref().is_none_or(|suite| run.suite == *suite)
            && since.is_none_or(|since| run.started_unix_ns >= since)
    });
    let from = runs.len().saturating_sub(args.limit.unwrap_or(usize::MAX));
    let runs = &runs[from..];
    if args.json {
        output::print(json::pretty(&runs.iter().map(summary_json).collect::<Vec<_>>()))?;
    } else if all == 0 {
        output::print("no runs are stored yet; `lodestone run` makes one\n")?;
    } else if runs.is_empty() {
        output::print(format!("none of the {all} stored runs matches\n"))?;
    } else {
        output::print(listed(cli, runs))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The beginning of a day in this time zone, or a time before now, in nanoseconds since 1970.
///
/// # Errors
/// It is neither.
pub(super) fn since_unix_ns(text: &str) -> Result<i64, Failure> {
    let day = || {
        let day: jiff::civil::Date = text.parse().ok()?;
        Some(day.to_zoned(jiff::tz::TimeZone::system()).ok()?.timestamp())
    };
    let ago = || {
        let span: jiff::Span = text.parse().ok()?;
        Some(jiff::Zoned::now().checked_sub(span).ok()?.timestamp())
    };
    let at = day().or_else(ago).and_then(|at| i64::try_from(at.as_nanosecond()).ok());
    at.ok_or_else(|| {
        Failure::usage(format!(
            "--since {text} is neither a date such as 2026-11-24 nor a time such as 7d or 12h"
        ))
    })
}

fn listed(cli: &Cli, runs: &[RunSummary]) -> TerminalText {
    use report::{Align, Cell, Column, Table};
    let time_zone = view(cli, None, "").time_zone;
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
    let table = Table { title: counted(runs.len(), "run"), columns, stub: 1, rows: rows.collect() };
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

/// Shows a run as `run` showed it at its end, or several in one table.
///
/// # Errors
/// There is no such run or target, or it cannot be read.
pub fn show(cli: &Cli, args: &ShowArgs) -> Result<ExitCode, Failure> {
    let runs = find_all(&store(cli)?, &args.runs)?;
    let [run] = runs.as_slice() else {
        if args.layout.layout == LayoutWord::Steps || args.baseline.is_some() {
            return Err(Failure::usage(
                "several runs are shown in one table by --layout matrix or --layout scores, without a baseline; to compare \
                 them, use `lodestone compare`",
            ));
        }
        return in_one_table(cli, &runs, &args.layout, estimator(args.summary));
    };
    if args.telemetry {
        let document = report::telemetry_document(
            run,
            &telemetry(run),
            &host::probes::labels(),
            &view(cli, Some(run), ""),
        );
        output::print(report::text(&document, output::style(cli.color)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let baseline = baseline(run, args.baseline.as_deref())?;
    let analysis = analyse(run, &baseline, estimator(args.summary), units(cli, Some(run)));
    if args.pairs {
        let series = Series::of_run(run, &analysis.measurements);
        let plan = &run.started.plan;
        print_pairs(cli, &all_pairs(vec![run], &series, Pairing::within(plan), plan.margin())?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.json {
        let view = view(cli, Some(run), &baseline);
        output::print(json::pretty(&json::run_export(&AnalysedRun::new(run, &analysis, &view))))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(table) = laid_out(cli, &[(run, &analysis)], &args.layout)? {
        output::print(report::table_text(&table, output::style(cli.color)))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::print(shown(cli, run, &analysis, &baseline, args.details))?;
    Ok(ExitCode::SUCCESS)
}

/// A run as text for the terminal: the answer, or with `details` everything.
pub(crate) fn shown(
    cli: &Cli,
    run: &Run,
    analysis: &Analysis,
    baseline: &str,
    details: bool,
) -> TerminalText {
    let view = RunView { details, ..view(cli, Some(run), baseline) };
    let document = report::run_document(run, analysis, &view);
    report::text(&document, output::style(cli.color))
}

/// The named baseline, or the run's own.
pub(crate) fn baseline(run: &Run, wanted: Option<&str>) -> Result<String, Failure> {
    baseline_of(&run.started.targets, &run.started.baseline, wanted)
}

/// The named baseline of these targets, or else this one.
pub(super) fn baseline_of(targets: &[Target], own: &str, wanted: Option<&str>) -> Result<String, Failure> {
    let names: Vec<&str> = targets.iter().map(|t| t.name.as_str()).collect();
    match wanted {
        None => Ok(own.to_owned()),
        Some(name) if names.contains(&name) => Ok(name.to_owned()),
        Some(name) => Err(Failure::usage(format!(
            "there is no target `{name}` for --baseline; the targets are {}",
            names.join(", ")
        ))),
    }
}

/// Reads a run and prints the defects of its log. Notes in the run repeat this for pages and exports.
pub(super) fn find(store: &Store, name: &OsStr) -> Result<Run, Failure> {
    let Log { mut run, cut_off, .. } = store.find(name).map_err(Failure::usage)?;
    let id = run.started.id.clone();
    for note in run.notes.iter().filter(|note| note.topic == DAMAGE_TOPIC) {
        output::say(&format!("lodestone: run {id}: {}", note.message));
    }
    if cut_off {
        let message = "the log ends in an incomplete line, which is ignored".to_owned();
        output::say(&format!("lodestone: run {id}: {message}"));
        let (severity, topic) = (Severity::Warning, "log-cut-off".to_owned());
        run.notes.push(Note { at_ns: 0, severity, topic, target: None, message });
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
