//! What every output is made from: a run with its analysis, and the reader's choices.

use analyse::{Analysis, Cost, Series, Summary};
use jiff::tz::TimeZone;
use model::{Comparison, Measurement, Metric, Run, Units};

use crate::figures::display_metric;
use crate::pivot::{Pivot, pivot};

/// The reader's choices.
#[derive(Clone, Debug)]
pub struct RunView {
    /// Unit prefixes of bytes.
    pub units: Units,
    /// The target that the others are compared with.
    pub baseline: String,
    /// The reader's time zone.
    pub time_zone: TimeZone,
    /// Show the tables of every step, the circumstances and all findings, not only the answer.
    pub details: bool,
}

impl RunView {
    /// A value of a metric with its unit.
    pub(crate) fn display(&self, metric: Metric, value: f64) -> String {
        display_metric(metric, value, self.units)
    }
}

/// A run with its analysis and the reader's choices.
#[derive(Clone, Debug)]
pub struct AnalysedRun<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its analysis.
    pub analysis: &'a Analysis,
    /// The reader's choices.
    pub view: &'a RunView,
    /// Its figures by label, computed once for the answer, the tables and the charts.
    pub(crate) pivot: Option<Pivot<'a>>,
}

impl<'a> AnalysedRun<'a> {
    /// A run with its analysis, pivoted over the labels of its targets where they have some.
    pub fn new(run: &'a Run, analysis: &'a Analysis, view: &'a RunView) -> Self {
        Self { run, analysis, view, pivot: pivot(run, analysis) }
    }

    /// The pivot, if labels of more than one kind compete.
    pub(crate) fn labels(&self) -> Option<&Pivot<'a>> {
        self.pivot.as_ref().filter(|pivot| pivot.has_labels())
    }
}

/// The figures of several runs, compared. Targets are named `run:target`.
#[derive(Clone, Debug, Default)]
pub struct ComparedRuns {
    /// The figures.
    pub measurements: Vec<Measurement>,
    /// Their values.
    pub series: Vec<Series>,
    /// Each target against the baseline.
    pub comparisons: Vec<Comparison>,
    /// Each target over all steps.
    pub summaries: Vec<Summary>,
    /// What parts of the storage cost, where targets differ in one.
    pub costs: Vec<Cost>,
    /// Ratios this close to 1 are the same, as a share.
    pub margin: f64,
}

/// A time in the reader's time zone, to the minute, such as `2026-05-04 09:30`.
pub fn when(unix_ns: i64, time_zone: &TimeZone) -> String {
    let at = jiff::Timestamp::from_nanosecond(i128::from(unix_ns)).unwrap_or_default();
    at.to_zoned(time_zone.clone()).strftime("%Y-%m-%d %H:%M").to_string()
}
