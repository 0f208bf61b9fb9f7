//! What is behind a volume, with the evidence.

use analyse::{Backing, Clue};
use serde::Serialize;

use crate::document::{Document, Section};

/// What is behind a volume, for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The path that was asked about.
    pub path: String,
    /// What it is, in words that continue the path.
    pub answer: String,
    /// The disk or the mount says so itself; else it does not show, or is only inferred.
    pub certain: bool,
    /// The evidence.
    pub clues: Vec<ExplanationClue>,
    /// What more would tell.
    pub missing: Vec<String>,
}

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplanationClue {
    /// Where it is from.
    pub from: String,
    /// What was seen there.
    pub seen: String,
    /// What that says.
    pub says: String,
}

impl Explanation {
    /// Of one path.
    pub fn new(path: String, backing: Backing) -> Self {
        let clue = |Clue { from, seen, says }| ExplanationClue { from, seen, says };
        let Backing { answer, is_certain, clues, missing } = backing;
        Self { path, answer, certain: is_certain, clues: clues.into_iter().map(clue).collect(), missing }
    }
}

/// A sentence for each path, then the evidence.
pub fn explanation_document(all: &[Explanation]) -> Document {
    let how = |e: &Explanation| if e.certain { "" } else { " (not certain)" };
    let answer = all.iter().map(|e| format!("{} {}{}.", e.path, e.answer, how(e))).collect();
    let mut sections = Vec::new();
    for explanation in all {
        let heading = |what: &str| match all {
            [_] => what.to_owned(),
            _ => format!("{what}: {}", explanation.path),
        };
        if !explanation.clues.is_empty() {
            sections.push(Section::Heading(heading("evidence")));
            let fact = |c: &ExplanationClue| (c.from.clone(), format!("{} – {}", c.seen, c.says));
            sections.push(Section::Facts(explanation.clues.iter().map(fact).collect()));
        }
        if !explanation.missing.is_empty() {
            sections.push(Section::Heading(heading("what more would tell")));
            sections.extend(explanation.missing.iter().cloned().map(Section::Text));
        }
    }
    Document { title: "what is behind it".to_owned(), answer, sections }
}
