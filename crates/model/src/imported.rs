//! What another program measured: its figures as they stand in its output, and what they are in true units.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Metric, Operation, Severity};

/// A file that a run was imported from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The file as the user named it, in the form of [`crate::path_text()`].
    pub file: String,
    /// Its absolute path with symbolic links resolved; `None` for standard input, and in logs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Digest of its content; the digest and the path identify a file that was imported before.
    pub digest: String,
    /// Its length in bytes.
    pub bytes: u64,
}

impl Source {
    /// True if both are the same file with the same content. Without an absolute path, the name of the file decides.
    pub fn is_same_file(&self, other: &Self) -> bool {
        let is_same_path = match (&self.path, &other.path) {
            (Some(own), Some(other)) => own == other,
            _ => self.file == other.file,
        };
        is_same_path && self.digest == other.digest
    }
}

/// One result of another program; it stands for one repeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Imported {
    /// Number of the repeat.
    pub repeat: u32,
    /// The program.
    pub tool: String,
    /// Its version, if its output says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The file, one of the run's sources.
    pub file: String,
    /// Line, from 1, at which the result begins.
    pub line: u32,
    /// What tells this result's target from others: parts of the path, and what the user said.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// What the output says of the circumstances, in its own words.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
    /// What the output does not say: names of fields of the step and the repeat whose values are only assumed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsaid: Vec<String>,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// What is odd about the output itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
}

/// One figure of another program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The operation.
    pub operation: Operation,
    /// The metric.
    pub metric: Metric,
    /// The value that counts, in the metric's unit: of the printed and the recomputed one the more precise.
    pub value: f64,
    /// As it stands in the output, if it stands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<Printed>,
    /// From the output's own raw numbers, where they stand in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recomputed: Option<Recomputed>,
}

/// A figure as another program printed it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Printed {
    /// Its text with its unit as printed.
    pub text: String,
    /// What that is in the metric's true unit.
    pub value: f64,
    /// How far rounding may have moved it, in the metric's unit.
    pub error: f64,
    /// The line, from 1.
    pub line: u32,
}

/// A figure computed from others of the same output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recomputed {
    /// The value in the metric's unit.
    pub value: f64,
    /// How far the rounding of what it is made from may have moved it, in the metric's unit.
    pub error: f64,
    /// How it is made, such as `bytes / seconds`.
    pub from: String,
}

/// Something odd about an output that its importer saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remark {
    /// Its kind, as a short stable name, under which the finding is told.
    pub topic: String,
    /// How much it matters.
    #[serde(default)]
    pub severity: Severity,
    /// By what share it changes the answer, as in [`crate::Finding::effect`].
    #[serde(default)]
    pub effect: f64,
    /// A sentence without its full stop.
    pub message: String,
    /// What to do about it; empty if nothing can be done.
    #[serde(default)]
    pub advice: String,
    /// The line, from 1; 0 if it is about the whole.
    pub line: u32,
}

impl Figure {
    /// How far the printed figure lies outside what rounding allows, as a share of the recomputed one; `None` if it
    /// does not, or one of them is missing.
    pub fn contradiction(&self) -> Option<f64> {
        let (printed, recomputed) = (self.printed.as_ref()?, self.recomputed.as_ref()?);
        let distance = (printed.value - recomputed.value).abs();
        // A millionth is left to the arithmetic of the program that printed.
        let allowed = printed.error + recomputed.error + recomputed.value.abs() * 1e-6;
        let share = if recomputed.value == 0.0 { 1.0 } else { distance / recomputed.value.abs() };
        (distance > allowed).then_some(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(printed: (f64, f64), recomputed: (f64, f64)) -> Figure {
        Figure {
            operation: Operation::Read,
            metric: Metric::Bandwidth,
            value: recomputed.0,
            printed: Some(Printed { text: String::new(), value: printed.0, error: printed.1, line: 1 }),
            recomputed: Some(Recomputed { value: recomputed.0, error: recomputed.1, from: String::new() }),
        }
    }

    #[test]
    fn a_contradiction_is_what_rounding_cannot_explain() {
        assert_eq!(figure((100.0, 0.5), (100.4, 0.0)).contradiction(), None);
        assert_eq!(figure((100.0, 0.5), (101.0, 0.6)).contradiction(), None);
        let share = figure((100.0, 0.5), (125.0, 0.5)).contradiction().unwrap();
        assert!((share - 0.2).abs() < 1e-12);
    }
}
