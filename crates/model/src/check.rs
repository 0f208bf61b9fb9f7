//! What another program and Lodestone both measure, so that their figures can be compared.

use crate::{Metric, Operation};

/// Name of the target in a run under which the other programs' figures stand.
pub const TOOLS_TARGET: &str = "tools";
/// Name of the target in such a run under which Lodestone's own figures stand.
pub const OWN_TARGET: &str = "lodestone";

/// Work that another program and Lodestone both do, as a step of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedWork {
    /// The other program.
    pub tool: String,
    /// The step's id.
    pub step: String,
    /// What is done, in words.
    pub title: String,
    /// The other program's command line, with names in braces for what differs from run to run.
    pub command: String,
    /// Every operation has to reach the device, so that both must come to the same; else memory has a part in it.
    pub defined_cost: bool,
    /// The figures that both give.
    pub figures: Vec<CheckedFigure>,
}

/// One figure that both give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedFigure {
    /// The operation, as Lodestone counts it.
    pub operation: Operation,
    /// The metric.
    pub metric: Metric,
    /// What in the other program's method is known to make a difference, as a sentence without its full stop.
    pub known: Option<String>,
}
