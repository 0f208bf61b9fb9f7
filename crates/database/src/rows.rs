//! The rows of a run: plain values in the units that the columns name.

use crate::checksum::Checksum;

/// A run with all that belongs to it.
#[derive(Clone, Debug)]
pub struct RunRow {
    /// Checksum of its log.
    pub checksum: Checksum,
    /// Its id.
    pub id: String,
    /// Names of its machines, by commas.
    pub host: String,
    /// Name of its suite.
    pub suite: String,
    /// Id of its plan.
    pub plan: String,
    /// Start in microseconds since 1970.
    pub started_unix_us: i64,
    /// Its length; `None` if it was killed.
    pub seconds: Option<f64>,
    /// How it ended.
    pub state: String,
    /// Version of the program that measured.
    pub version: String,
    /// Another program measured.
    pub is_imported: bool,
    /// Names are pseudonyms.
    pub is_anonymous: bool,
    /// The answer, as sentences.
    pub answer: Vec<String>,
    /// The log as it is stored.
    pub log: Vec<u8>,
    /// What was measured.
    pub targets: Vec<TargetRow>,
    /// Its figures.
    pub measurements: Vec<MeasurementRow>,
    /// Targets against the baseline.
    pub comparisons: Vec<ComparisonRow>,
    /// What the figures mean.
    pub findings: Vec<FindingRow>,
    /// What was required.
    pub verdicts: Vec<VerdictRow>,
}

/// A target.
#[derive(Clone, Debug)]
pub struct TargetRow {
    /// Name of its machine.
    pub host: String,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: String,
    /// Its path.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Type of its filesystem.
    pub filesystem: Option<String>,
    /// Models of its disks, by commas.
    pub device: Option<String>,
    /// Its labels, as a JSON object.
    pub labels: String,
    /// Its layers, as a JSON array.
    pub stack: String,
}

/// A figure.
#[derive(Clone, Debug)]
pub struct MeasurementRow {
    /// Name of the machine.
    pub host: String,
    /// Name of the target.
    pub target: String,
    /// Id of the step.
    pub step: String,
    /// What it is of.
    pub title: String,
    /// The operation.
    pub operation: String,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The estimate.
    pub value: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Number of repeats.
    pub repeats: u32,
    /// The operation is judged by it.
    pub is_headline: bool,
    /// `higher`, `lower` or `neither`.
    pub better: String,
}

/// A target against the baseline.
#[derive(Clone, Debug)]
pub struct ComparisonRow {
    /// Id of the step.
    pub step: String,
    /// The operation.
    pub operation: String,
    /// The metric.
    pub metric: String,
    /// The target.
    pub target: String,
    /// The baseline.
    pub baseline: String,
    /// Target ÷ baseline.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// The verdict.
    pub verdict: String,
}

/// A finding.
#[derive(Clone, Debug)]
pub struct FindingRow {
    /// Its severity.
    pub severity: String,
    /// The rule.
    pub rule: String,
    /// The target that it is about.
    pub target: Option<String>,
    /// The step that it is about.
    pub step: Option<String>,
    /// The finding.
    pub message: String,
    /// What to do.
    pub advice: Option<String>,
}

/// A requirement and its verdict.
#[derive(Clone, Debug)]
pub struct VerdictRow {
    /// The profile.
    pub profile: String,
    /// The target.
    pub target: String,
    /// Id of the step.
    pub step: String,
    /// The operation.
    pub operation: String,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// `at_most` or `at_least`.
    pub bound: String,
    /// The limit.
    pub limit: f64,
    /// The figure.
    pub value: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// The verdict.
    pub verdict: String,
    /// The verdict in words.
    pub message: String,
}

/// A change from run to run.
#[derive(Clone, Debug)]
pub struct ChangeRow {
    /// Name of the machine.
    pub host: String,
    /// The target.
    pub target: String,
    /// Id of the step.
    pub step: String,
    /// Digest of what the step does.
    pub workload: String,
    /// What the figure is of.
    pub title: String,
    /// The operation.
    pub operation: String,
    /// The metric.
    pub metric: String,
    /// Id of the first run after it.
    pub run: String,
    /// Start of that run in microseconds since 1970.
    pub started_unix_us: i64,
    /// After ÷ before.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// False while it is only suspected.
    pub is_confirmed: bool,
}
