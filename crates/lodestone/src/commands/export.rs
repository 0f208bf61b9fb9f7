//! `export`: a run in another format.

use std::path::Path;
use std::process::ExitCode;

use analyse::{Analysis, analyse, telemetry};
use model::Run;
use report::chart::{Chart, MARGIN, charts_at};
use report::{AnalysedRun, Document, RunView, Section, json};

use super::layouts::{laid_out, matrix_layout, score_layout};
use super::results::{baseline, find};
use super::{anonymous, estimator, store, units, view};
use crate::cli::{Cli, ExportArgs, Format, LayoutWord};
use crate::destination::{self, Overwrite, STANDARD_OUTPUT};
use crate::failure::Failure;
use crate::output;

/// Default width of a chart in pixels.
const WIDTH: u16 = 964;
/// Default pixels of a PNG file per pixel of the chart.
#[cfg(feature = "png")]
const SCALE: f64 = 2.0;

/// Writes a run in another format.
///
/// # Errors
/// There is no such run or target, or the output cannot be written.
pub fn export(cli: &Cli, args: &ExportArgs) -> Result<ExitCode, Failure> {
    check(args)?;
    let store = store(cli)?;
    let run = find(&store, &args.run)?;
    let chosen = baseline(&run, args.baseline.as_deref())?;
    let (run, chosen) = match args.anonymous {
        true => anonymous::run(&store, &run, &chosen)?,
        false => (run, chosen),
    };
    let bytes = if args.telemetry {
        telemetry_text(&exported_view(cli, &run, "", args.anonymous), &run, args.format)?.into_bytes()
    } else if args.offsets {
        offsets_text(&run, args.format)?.into_bytes()
    } else {
        let analysis = analyse(&run, &chosen, estimator(args.summary), units(cli, Some(&run)));
        let view = exported_view(cli, &run, &chosen, args.anonymous);
        match args.format {
            Format::Svg => chart(&run, &analysis, &view, args)?.standalone().into_bytes(),
            Format::Png => pixels(&chart(&run, &analysis, &view, args)?, args)?,
            _ => text(cli, &run, &analysis, &view, args)?.into_bytes(),
        }
    };
    let file = args.output.as_deref().filter(|path| *path != Path::new(STANDARD_OUTPUT));
    match file {
        None if args.format == Format::Png && output::is_terminal() => {
            return Err(Failure::usage("a terminal cannot show PNG; name a file: -o FILE.png"));
        }
        None => output::print_bytes(&bytes)?,
        Some(path) => {
            let overwrite = if args.force { Overwrite::Any } else { Overwrite::Nothing };
            destination::write(path, &bytes, overwrite)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The view with all findings. Times in an anonymous export are UTC, because local time would reveal the location.
fn exported_view(cli: &Cli, run: &Run, baseline: &str, is_anonymous: bool) -> RunView {
    let view = RunView { details: true, ..view(cli, Some(run), baseline) };
    if is_anonymous { RunView { time_zone: jiff::tz::TimeZone::UTC, ..view } } else { view }
}

/// Refuses options that would have no effect.
fn check(args: &ExportArgs) -> Result<(), Failure> {
    let is_chart = matches!(args.format, Format::Svg | Format::Png);
    let idle = if args.chart.is_some() && !is_chart {
        Some("--chart is for --format svg and png")
    } else if args.width.is_some() && !is_chart {
        Some("--width is for --format svg and png")
    } else if args.scale.is_some() && args.format != Format::Png {
        Some("--scale is for --format png; an SVG can be shown at any size")
    } else if args.dark && args.format != Format::Png {
        Some("--dark is for --format png; an SVG follows the viewer's colour scheme")
    } else {
        None
    };
    idle.map_or(Ok(()), |message| Err(Failure::usage(message)))
}

/// The run as text for people or programs.
fn text(
    cli: &Cli,
    run: &Run,
    analysis: &Analysis,
    view: &RunView,
    args: &ExportArgs,
) -> Result<String, Failure> {
    let measurements = &analysis.measurements;
    let runs = [(run, analysis)];
    if let Some(table) = laid_out(cli, &runs, &args.layout)? {
        return match (args.format, args.layout.layout) {
            (Format::Csv, LayoutWord::Scores) => {
                report::score_csv(&runs, &score_layout(&runs, &args.layout)?)
            }
            (Format::Csv, _) => report::matrix_csv(&runs, &matrix_layout(&runs, &args.layout)),
            (Format::Md, _) => {
                let title = format!("Run {}", run.started.id);
                Ok(report::markdown(&Document::new(title, vec![Section::Table(table)])))
            }
            _ => {
                let words =
                    "--layout is for --format md and csv, and for show; JSON always contains everything";
                return Err(Failure::usage(words));
            }
        }
        .map_err(Failure::usage);
    }
    Ok(match args.format {
        Format::Csv => report::csv(run, measurements),
        Format::Influx => report::influx(run, analysis),
        Format::Prometheus => report::prometheus(run, analysis),
        Format::Junit => report::junit(&AnalysedRun::new(run, analysis, view)).ok_or_else(|| {
            let id = &run.started.id;
            Failure::usage(format!("run {id} requires nothing of its storage: only `run --require` has verdicts for --format junit"))
        })?,
        Format::Md => report::markdown(&report::run_document(run, analysis, view)),
        Format::Json | Format::Svg | Format::Png => {
            json::pretty(&json::run_export(&AnalysedRun::new(run, analysis, view)))
        }
    })
}

/// The named chart, or the first.
fn chart(run: &Run, analysis: &Analysis, view: &RunView, args: &ExportArgs) -> Result<Chart, Failure> {
    if args.layout.layout != LayoutWord::Steps {
        return Err(Failure::usage("--layout is for tables; --chart selects a chart"));
    }
    let width = args.width.unwrap_or(WIDTH) - 2 * MARGIN;
    let mut charts = charts_at(&AnalysedRun::new(run, analysis, view), f64::from(width));
    let wanted = args.chart.as_deref();
    let found = charts.iter().position(|chart| wanted.is_none_or(|name| chart.name == name));
    let Some(at) = found else {
        let names: Vec<&str> = charts.iter().map(|chart| chart.name.as_str()).collect();
        return Err(match wanted.filter(|_| !names.is_empty()) {
            None => Failure::usage("this run has no figures, so it has no charts"),
            Some(name) => {
                Failure::usage(format!("there is no chart `{name}`; the charts are {}", names.join(", ")))
            }
        });
    };
    Ok(charts.swap_remove(at))
}

#[cfg(not(feature = "png"))]
fn pixels(_: &Chart, _: &ExportArgs) -> Result<Vec<u8>, Failure> {
    Err(Failure::usage(
        "this lodestone was built without PNG output; use --format svg, or build it with the feature `png`",
    ))
}

/// The chart as PNG. Prints on standard error which characters it could not draw.
#[cfg(feature = "png")]
fn pixels(chart: &Chart, args: &ExportArgs) -> Result<Vec<u8>, Failure> {
    let theme = if args.dark { report::chart::Theme::Dark } else { report::chart::Theme::Light };
    let png = chart.png(args.scale.unwrap_or(SCALE), theme).map_err(Failure::usage)?;
    if !png.missing.is_empty() {
        let missing: Vec<&str> = png.missing.iter().map(String::as_str).collect();
        output::say(&format!(
            "lodestone: the chart font has no {}, which are drawn as boxes; --format svg uses the viewer's fonts",
            missing.join(" ")
        ));
    }
    Ok(png.bytes)
}

fn offsets_text(run: &Run, format: Format) -> Result<String, Failure> {
    if format != Format::Csv {
        return Err(Failure::usage(
            "--offsets needs --format csv; the JSON export always contains the offsets, and the chart `position` shows them",
        ));
    }
    if !report::has_offsets(run) {
        return Err(Failure::usage(
            "this run has no offset log: the suite `disks` and steps with log_offset = true write one",
        ));
    }
    Ok(report::offsets_csv(run))
}

fn telemetry_text(view: &RunView, run: &Run, format: Format) -> Result<String, Failure> {
    let telemetry = telemetry(run);
    Ok(match format {
        Format::Influx | Format::Prometheus | Format::Junit => {
            return Err(Failure::usage(
                "--telemetry needs --format json, csv or md; influx and prometheus are for the figures, junit for requirements",
            ));
        }
        Format::Svg | Format::Png => {
            return Err(Failure::usage(
                "--telemetry cannot be exported as a chart; the chart `machine` shows it: --format svg --chart machine",
            ));
        }
        Format::Json => json::pretty(&report::telemetry_export(run, &telemetry)),
        Format::Csv => report::telemetry_csv(run, &telemetry),
        Format::Md => {
            report::markdown(&report::telemetry_document(run, &telemetry, &host::probes::labels(), view))
        }
    })
}
