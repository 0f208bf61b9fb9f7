//! What storage must reach to be good enough for a purpose.

use serde::{Deserialize, Serialize};

use crate::{Metric, Operation};

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
    /// The limit, in the unit of the metric.
    pub limit: f64,
    /// Where the limit is published.
    pub source: String,
}

/// Rounds that a percentile within its limit rests on, at least: so many that what slows one round in ten has been seen with 95 %
/// confidence, because 0.9²⁹ < 0.05.
pub const ROUNDS_OF_A_PERCENTILE: u32 = 29;

/// On which side of a limit a figure must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
