//! `compare`: several runs against each other, and what they have in common.

use std::process::ExitCode;

use analyse::{
    Estimator, Pairing, Series, TargetByHour, TargetParts, compare as compare_series, costs, measurements,
    runs_by_hour, summarise,
};
use jiff::tz::TimeZone;
use model::{Measurement, Run, Step};
use report::{ComparedRuns, RunView, json};

use super::layouts::{by_steps, in_one_table};
use super::pairs::{all_pairs, print_pairs};
use super::results::find_all;
use super::{store, view};
use crate::cli::{Cli, CompareArgs};
use crate::failure::Failure;
use crate::output;

/// Compares runs with each other. Their targets are called `run:target`.
///
/// # Errors
/// There is no such run, or nothing that the runs have in common.
pub fn compare(cli: &Cli, args: &CompareArgs) -> Result<ExitCode, Failure> {
    let runs = find_all(&store(cli)?, &args.runs)?;
    if !by_steps(&args.layout)? {
        return in_one_table(cli, &runs, &args.layout, Estimator::Mean);
    }
    let hours = by_hour(&runs, &view(cli, None, "").time_zone, args.by_hour)?;
    if args.by_hour && !args.json {
        let document = report::cycle_document(report::Cycle::Day, runs.len(), &hours);
        output::print(report::text(&document, output::style(cli.color)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let runs = without_odd(runs);
    let measurements = common_measurements(&runs, &in_common(&runs));
    let baseline = comparison_baseline(&runs, &measurements, args.baseline.as_deref())?;
    let mut compared = compared(&runs, measurements, &baseline, args.margin.as_deref())?;
    let all: Vec<&Run> = runs.iter().collect();
    if args.pairs {
        let pairs =
            all_pairs(all.clone(), &compared.series, Pairing::across(&all[0].started.plan), compared.margin)?;
        if !args.json {
            print_pairs(cli, &pairs)?;
            return Ok(ExitCode::SUCCESS);
        }
        compared.comparisons = pairs.comparisons;
    }
    let text = if args.json {
        let export = json::comparison_export(&all, &compared, &hours);
        json::pretty(&export).into()
    } else {
        let view = RunView { details: args.details, ..view(cli, runs.first(), &baseline) };
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

/// The figures of all runs in these steps. Targets are named `run:target`.
pub(super) fn common_measurements(runs: &[Run], common: &[&str]) -> Vec<Measurement> {
    let of = |run: &Run| {
        let name = |target: &str| format!("{}:{target}", run.started.id);
        let all = measurements(run, Estimator::Mean).into_iter();
        let own = all.filter(|m| common.contains(&m.step.as_str()));
        own.map(|m| Measurement { target: name(&m.target), ..m }).collect::<Vec<_>>()
    };
    runs.iter().flat_map(of).collect()
}

/// The runs' figures against the baseline's. Without a margin, that of the first run counts.
///
/// # Errors
/// The margin is no share.
pub(super) fn compared(
    runs: &[Run],
    measurements: Vec<Measurement>,
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
    // These steps are the same in every run.
    let mut series = Series::of_run(&runs[0], &measurements);
    for (number, run) in (0..).zip(runs) {
        let is_of =
            |target: &str| target.strip_prefix(&run.started.id).is_some_and(|rest| rest.starts_with(':'));
        series.iter_mut().filter(|series| is_of(&series.target)).for_each(|series| series.run = number);
    }
    let comparisons = compare_series(&series, baseline, Pairing::across(plan), margin);
    let summaries = summarise(plan, &comparisons);
    let parts =
        |run: &Run| TargetParts::of_run(run).into_iter().map(TargetParts::with_run).collect::<Vec<_>>();
    let parts: Vec<TargetParts> = runs.iter().flat_map(parts).collect();
    let costs = costs(&parts, &series, Pairing::across(plan), margin);
    Ok(ComparedRuns { measurements, series, comparisons, summaries, costs, margin })
}

/// Ids of the steps that are the same in every run, and ids of the other steps of the first run.
pub(super) fn same_steps<'a>(runs: &'a [Run]) -> (Vec<&'a str>, Vec<&'a str>) {
    let everywhere =
        |step: &&Step| runs.iter().all(|run| run.started.plan.steps.iter().any(|s| is_same(s, step)));
    let (common, other): (Vec<&Step>, Vec<&Step>) = runs[0].started.plan.steps.iter().partition(everywhere);
    let ids = |steps: &[&'a Step]| steps.iter().map(|s| s.id.as_str()).collect();
    (ids(&common), ids(&other))
}

/// The runs that have a step in common, as many as possible. Prints which are left out. If there are not two, all.
pub(super) fn without_odd(runs: Vec<Run>) -> Vec<Run> {
    let has_figures = |run: &Run| run.repeats.iter().any(model::Repeat::is_complete);
    let from = |start: usize| {
        let mut kept: Vec<usize> = vec![start];
        let mut common: Vec<&Step> = runs[start].started.plan.steps.iter().collect();
        for (i, run) in runs.iter().enumerate().filter(|(i, run)| *i != start && has_figures(run)) {
            let mut still = common.clone();
            still.retain(|step| run.started.plan.steps.iter().any(|other| is_same(step, other)));
            if !still.is_empty() {
                common = still;
                kept.push(i);
            }
        }
        kept
    };
    let starts = (0..runs.len()).filter(|start| has_figures(&runs[*start]));
    let mut most: Vec<usize> = Vec::new();
    for start in starts {
        let kept = from(start);
        if kept.len() > most.len() {
            most = kept;
        }
        if most.len() == runs.len() {
            break;
        }
    }
    if most.len() < 2 || most.len() == runs.len() {
        return runs;
    }
    let mut place = 0..;
    let (kept, odd): (Vec<Run>, Vec<Run>) =
        runs.into_iter().partition(|_| place.next().is_some_and(|i| most.contains(&i)));
    for run in &odd {
        let why = if has_figures(run) { "has no step in common with the others" } else { "has no figures" };
        output::say(&format!("lodestone: run {} is left out, because it {why}", run.started.id));
    }
    kept
}

pub(super) fn is_same(a: &Step, b: &Step) -> bool {
    a.id == b.id
        && a.workload == b.workload
        && a.prepare == b.prepare
        && a.stop == b.stop
        && a.ramp_ns == b.ramp_ns
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
    measurements: &[Measurement],
    wanted: Option<&str>,
) -> Result<String, Failure> {
    let mut names: Vec<&str> = measurements.iter().map(|m| m.target.as_str()).collect();
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
