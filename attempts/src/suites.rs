//! Mutated suites: a suite is resolved, or every problem has a location within the text.

use engine::ENGINES;
use plan::{Environment, Level, Problem, RunOverrides, SourceLocation, Suite, resolve};

use crate::outcome::Verdict;

/// The oracle of suites.
pub(crate) fn read(bytes: &[u8]) -> Verdict {
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok("not text") };
    let (suite, problems) = Suite::parse("changed", text);
    resolved(&suite, problems, text)
}

/// Resolves a suite that was read with these problems, for a machine with all engines.
pub(crate) fn resolved(suite: &Suite, mut problems: Vec<Problem>, text: &str) -> Verdict {
    let engines = ENGINES.iter().map(|engine| engine.capabilities).collect();
    let environment = Environment { memory_bytes: 8 << 30, engines, targets: 1 };
    problems
        .extend(resolve(suite, &RunOverrides::default(), &environment).map_or_else(|p| p, |r| r.warnings));
    placed(&problems, text)?;
    Ok(if problems.iter().any(|p| p.level == Level::Error) { "refused" } else { "resolved" })
}

/// Checks that every problem is located within its text.
fn placed(problems: &[Problem], text: &str) -> Result<(), String> {
    for problem in problems {
        if let SourceLocation::Suite(range) = &problem.location
            && text.get(range.clone()).is_none()
        {
            return Err(format!("a problem at {range:?}, outside the text: {}", problem.message));
        }
        let _ = problem.line_and_column(text);
    }
    Ok(())
}
