//! Showing what is wrong with a suite or with flags, all of it at once.

use miette::{GraphicalReportHandler, LabeledSpan, MietteDiagnostic, NamedSource, Report};
use plan::{Level, Place, Problem};

/// The problems as text, those of the suite with the lines where they stand.
pub(crate) fn shown(problems: &[Problem], suite: &str, text: &str) -> String {
    let handler =
        GraphicalReportHandler::new_themed(miette::GraphicalTheme::unicode_nocolor()).with_width(100);
    let mut out = String::new();
    for problem in problems {
        let level = match problem.level {
            Level::Warning => miette::Severity::Warning,
            Level::Error => miette::Severity::Error,
        };
        let mut diagnostic = MietteDiagnostic::new(heading(problem, suite, text)).with_severity(level);
        if let Some(help) = &problem.help {
            diagnostic = diagnostic.with_help(help);
        }
        let mut report = match &problem.place {
            Place::Suite(range) => {
                let end = range.end.min(text.len());
                let start = range.start.min(end);
                // A label over many lines says no more than one at its first.
                let first_line = text.get(start..end).map_or(0, |t| t.lines().next().unwrap_or("").len());
                diagnostic = diagnostic.and_label(LabeledSpan::at(start..start + first_line, "here"));
                Report::new(diagnostic).with_source_code(NamedSource::new(suite, text.to_owned()))
            }
            _ => Report::new(diagnostic),
        };
        let report: &mut Report = &mut report;
        if handler.render_report(&mut out, report.as_ref()).is_err() {
            out.push_str(&problem.message);
        }
    }
    out
}

fn heading(problem: &Problem, suite: &str, text: &str) -> String {
    match (&problem.place, problem.line_and_column(text)) {
        (_, Some((line, column))) => format!("{suite}:{line}:{column}: {}", problem.message),
        (Place::Flag(flag), _) => format!("--{flag}: {}", problem.message),
        _ => problem.message.clone(),
    }
}
