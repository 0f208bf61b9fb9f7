//! Parts of sentences: names cut to a width, enumerations, the command line of a run.

use analyse::{headline, headline_operations};
use model::{Metric, Operation, Run, Step, shell_word};
use unicode_width::UnicodeWidthChar;

use crate::terminal::escape_line;

/// A text cut to at most `columns` terminal columns, with an ellipsis where it was cut.
pub(crate) fn short(text: &str, columns: usize) -> String {
    let mut used = 0;
    let mut kept = String::new();
    let clean = escape_line(text);
    for c in clean.chars() {
        let width = c.width().unwrap_or(0);
        // Combining marks have no width; the limit on bytes keeps a name from stacking a hundred of them.
        if used + width > columns || kept.len() > 8 * columns {
            kept.truncate(kept.trim_end_matches(|last: char| last.width().unwrap_or(0) == 0).len());
            kept.push('…');
            return kept;
        }
        used += width;
        kept.push(c);
    }
    kept
}

/// An enumeration: commas, and `and` before the last.
pub(crate) fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The name of a step's figure in a table: its title, the operation where the step has several, and which latency it is.
pub(crate) fn figure_name(step: &Step, operation: Operation) -> String {
    let name = match headline_operations(step).len() {
        0 | 1 => step.title.clone(),
        _ => format!("{}: {}", step.title, operation.name().replace('_', " ")),
    };
    let latency = headline(step, operation).and_then(latency_name);
    latency.map_or(name.clone(), |latency| format!("{name}, {latency}"))
}

/// Which latency a metric is; `None` if it is none, or a part of one.
pub(crate) fn latency_name(metric: Metric) -> Option<&'static str> {
    match metric {
        Metric::LatMean => Some("mean latency"),
        Metric::LatP50 => Some("median"),
        Metric::LatP95 => Some("p95"),
        Metric::LatP99 => Some("p99"),
        Metric::LatMax => Some("longest latency"),
        _ => None,
    }
}

/// The same within a sentence, such as `random write (4 KiB, depth 32)`.
pub fn figure_words(step: &Step, operation: Operation) -> String {
    match headline_operations(step).len() {
        0 | 1 => step_words(step),
        _ => format!("{} of {}", operation.name().replace('_', " "), step_words(step)),
    }
}

/// The title of a step within a sentence.
pub(crate) fn step_words(step: &Step) -> String {
    let (subject, details) = match step.title.split_once(", ") {
        Some((subject, details)) => (subject, format!(" ({details})")),
        None => (step.title.as_str(), String::new()),
    };
    // A name such as `PiBenchmarks` keeps its capital.
    let word = subject.split(' ').next().unwrap_or_default();
    let is_plain = word.chars().skip(1).all(char::is_lowercase) && word.chars().nth(1).is_some();
    let mut subject = subject.to_owned();
    subject.get_mut(..1).filter(|_| is_plain).into_iter().for_each(str::make_ascii_lowercase);
    format!("{subject}{details}")
}

/// The command line that repeats the run, for a shell: as it was given, with the seed that was drawn.
pub(crate) fn command(run: &Run) -> String {
    let mut words: Vec<String> = run.started.command.iter().map(|word| shell_word(word)).collect();
    let has_seed = run.started.command.iter().any(|w| w == "--seed" || w.starts_with("--seed="));
    if let Some(program) = words.first_mut() {
        *program = "lodestone".to_owned();
    }
    // An imported run has no seed.
    if !has_seed && !run.is_imported() {
        words.push(format!("--seed {}", run.started.seed));
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_by_columns() {
        assert_eq!(short("sd-card", 8), "sd-card");
        assert_eq!(short("磁盘磁盘磁盘", 5), "磁盘…");
        assert_eq!(short(&"x".repeat(1000), 10).chars().count(), 11);
        assert!(short(&"e\u{301}".repeat(1000), 10).chars().count() < 60);
        assert!(short(&format!("a{}", "\u{301}".repeat(1000)), 10).chars().count() < 60);
    }
}
