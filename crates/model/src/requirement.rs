//! What storage must reach to be good enough for a purpose.

use serde::{Deserialize, Serialize};

use crate::{Exposure, Metric, Operation};

/// A limit for one figure of one step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Requirement {
    /// The suite that requires it.
    pub profile: String,
    /// Id of the step.
    pub step: String,
    /// The operation that the figure is of.
    pub operation: Operation,
    /// The figure.
    pub metric: Metric,
    /// On which side of the limit it must be.
    pub bound: Bound,
    /// The limit, in the unit of the metric, or as a share of the figure that it is relative to.
    pub limit: f64,
    /// What the limit is a share of, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_to: Option<Reference>,
    /// Where the limit is published.
    pub source: String,
}

impl Requirement {
    /// True if it is about a target: not if that is the one that others are measured by, nor if it is about a single other one.
    pub fn is_of(&self, target: &str) -> bool {
        match &self.relative_to {
            None => true,
            Some(Reference::Target(name)) => name != target,
            Some(Reference::Run(earlier)) => earlier.target == target,
        }
    }
}

/// What a limit is a share of: the same figure elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reference {
    /// On another target of the run.
    Target(String),
    /// In an earlier run.
    Run(Box<EarlierFigure>),
}

/// A figure of an earlier run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EarlierFigure {
    /// The id of that run.
    pub run: String,
    /// When it began, in nanoseconds since 1970.
    pub started_unix_ns: i64,
    /// Its target.
    pub of: String,
    /// The target of this run that is measured by it.
    pub target: String,
    /// Round and value.
    pub values: Vec<(u32, f64)>,
    /// For a rate what each repeat was exposed to; else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exposures: Vec<Exposure>,
    /// How often its target was made.
    pub makings: u32,
}

/// Rounds that a percentile within its limit rests on, at least: so many that what slows one round in ten has been seen with 95 %
/// confidence, because 0.9²⁹ < 0.05.
pub const ROUNDS_OF_A_PERCENTILE: u32 = 29;

/// On which side of a limit a figure must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// It must not exceed the limit.
    AtMost,
    /// It must reach the limit.
    AtLeast,
}

impl Bound {
    /// The side as a sign.
    pub fn sign(self) -> &'static str {
        match self {
            Self::AtMost => "≤",
            Self::AtLeast => "≥",
        }
    }

    /// The side in words, such as `at most`.
    pub fn words(self) -> &'static str {
        match self {
            Self::AtMost => "at most",
            Self::AtLeast => "at least",
        }
    }
}
