//! Shows all problems of a suite or of flags at once.

use miette::{GraphicalReportHandler, LabeledSpan, MietteDiagnostic, NamedSource, Report};
use plan::{Level, Problem, SourceLocation};
use report::{escape_line, escape_text};

/// Most problems shown; the rest are counted, because showing each one scans the whole text.
const SHOWN: usize = 50;

/// The problems as text, those of the suite with their source lines. Control and invisible characters are escaped
/// before layout, so that the marks line up with the text.
pub(crate) fn shown(problems: &[Problem], suite: &str, text: &str) -> String {
    let suite = &*escape_line(suite);
    let source = escape_text(text);
    let handler =
        GraphicalReportHandler::new_themed(miette::GraphicalTheme::unicode_nocolor()).with_width(100);
    let mut out = String::new();
    for problem in problems.iter().take(SHOWN) {
        let level = match problem.level {
            Level::Warning => miette::Severity::Warning,
            Level::Error => miette::Severity::Error,
        };
        let heading = heading(problem, suite, text);
        let mut diagnostic = MietteDiagnostic::new(escape_text(&heading)).with_severity(level);
        if let Some(help) = &problem.help {
            diagnostic = diagnostic.with_help(escape_text(help));
        }
        let mut report = match &problem.location {
            SourceLocation::Suite(range) => {
                let end = range.end.min(text.len());
                let start = range.start.min(end);
                // A label on the first line is as clear as one on all lines.
                let first_line = text.get(start..end).and_then(|t| t.lines().next()).unwrap_or("");
                let start = text.get(..start).map_or(0, |before| escape_text(before).len());
                let label = LabeledSpan::at(start..start + escape_text(first_line).len(), "here");
                diagnostic = diagnostic.and_label(label);
                Report::new(diagnostic).with_source_code(NamedSource::new(suite, source.to_string()))
            }
            _ => Report::new(diagnostic),
        };
        let report: &mut Report = &mut report;
        if handler.render_report(&mut out, report.as_ref()).is_err() {
            out.push_str(&escape_text(&problem.message));
        }
    }
    if problems.len() > SHOWN {
        out.push_str(&format!("and {} more problems\n", problems.len() - SHOWN));
    }
    out
}

fn heading(problem: &Problem, suite: &str, text: &str) -> String {
    match (&problem.location, problem.line_and_column(text)) {
        (_, Some((line, column))) => format!("{suite}:{line}:{column}: {}", problem.message),
        (SourceLocation::Flag(flag), _) => format!("--{flag}: {}", problem.message),
        _ => problem.message.clone(),
    }
}
