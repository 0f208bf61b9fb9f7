//! What is wrong in a suite or on a command line, where, and how to fix it.

use std::ops::Range;

/// How severe a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// It runs, but perhaps not as intended.
    Warning,
    /// It cannot run.
    Error,
}

/// Where a mistake is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SourceLocation {
    /// Bytes of the suite's text.
    Suite(Range<usize>),
    /// A flag of the command line, without its dashes.
    Flag(String),
    /// Nowhere in particular.
    Nowhere,
}

impl SourceLocation {
    /// The same location in a text that has other suites of this length in bytes before it.
    pub(crate) fn moved_by(self, bytes: usize) -> Self {
        match self {
            Self::Suite(range) => Self::Suite(range.start + bytes..range.end + bytes),
            other => other,
        }
    }
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Problem {
    /// How severe.
    pub level: Level,
    /// Where it is.
    pub location: SourceLocation,
    /// What is wrong.
    pub message: String,
    /// Allowed values, or what to write instead.
    pub help: Option<String>,
}

impl Problem {
    pub(crate) fn error(location: SourceLocation, message: impl Into<String>) -> Self {
        Self { level: Level::Error, location, message: message.into(), help: None }
    }

    pub(crate) fn warning(location: SourceLocation, message: impl Into<String>) -> Self {
        Self { level: Level::Warning, location, message: message.into(), help: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sorts problems in reading order: flags, then the suite from its start, then the rest.
    pub fn in_reading_order(problems: &mut [Self]) {
        problems.sort_by_key(|p| match &p.location {
            SourceLocation::Flag(_) => (0, 0),
            SourceLocation::Suite(range) => (1, range.start),
            SourceLocation::Nowhere => (2, 0),
        });
    }

    /// Line and column of the mistake, both from 1, if it is in the suite's `text`. The column
    /// counts characters.
    pub fn line_and_column(&self, text: &str) -> Option<(usize, usize)> {
        let SourceLocation::Suite(range) = &self.location else { return None };
        let start = range.start.min(text.len());
        let before = text.get(..start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Some((before.matches('\n').count() + 1, before[line_start..].chars().count() + 1))
    }
}

/// The one of `words` that `typed` was probably meant to be.
pub(crate) fn nearest<'a>(typed: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    words
        .into_iter()
        .map(|word| (strsim::normalized_damerau_levenshtein(&typed, word), word))
        .filter(|(likeness, _)| *likeness >= 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, word)| word)
}

/// `a`, `b` or `c`.
pub(crate) fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words.into_iter().collect();
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_word_is_suggested() {
        assert_eq!(nearest("iodpeth", ["iodepth", "jobs", "direct"]), Some("iodepth"));
        assert_eq!(nearest("RandRead", ["read", "randread"]), Some("randread"));
        assert_eq!(nearest("banana", ["iodepth", "jobs", "direct"]), None);
    }

    #[test]
    fn lines_and_columns_count_from_one() {
        let text = "a = 1\nµ = 2\n";
        let at = |range| Problem::error(SourceLocation::Suite(range), "").line_and_column(text);
        assert_eq!(at(0..1), Some((1, 1)));
        assert_eq!(at(9..10), Some((2, 3)));
        assert_eq!(at(500..501), Some((3, 1)));
    }
}
