//! The types of the export format, which its JSON Schema is made from.

use model::{Bound, LayerKind, Metric, Operation, RunOutcome, Severity, TargetKind, Unseen, Verdict};
use serde::Serialize;

/// Name and version of the format.
pub const SCHEMA: &str = "lodestone.run.v1";

/// A run with everything that can be said about it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "A run of Lodestone"))]
pub struct RunExport {
    /// Name and version of this format: `lodestone.run.v1`.
    pub schema: &'static str,
    /// The answer, in sentences.
    pub answer: Vec<String>,
    /// The run.
    pub run: RunFacts,
    /// What was measured.
    pub targets: Vec<TargetFacts>,
    /// What was done.
    pub steps: Vec<StepFacts>,
    /// Every repeat, as it began and ended.
    pub repeats: Vec<RepeatFacts>,
    /// Every metric of every operation of every step on every target.
    pub measurements: Vec<MeasurementFacts>,
    /// What was required of the storage, on every target; empty where nothing was.
    pub requirements: Vec<RequirementFacts>,
    /// How much the targets carry, where that was sought.
    pub headrooms: Vec<HeadroomFacts>,
    /// Every target against the baseline.
    pub comparisons: Vec<ComparisonFacts>,
    /// One figure per target over all steps.
    pub summaries: Vec<SummaryFacts>,
    /// What encryption, another filesystem or a further layer changes, where targets differ in one.
    pub costs: Vec<CostFacts>,
    /// Machines that work together on one storage, where the run has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<ClientsFacts>,
    /// Groups of machines, where there are several with several machines each.
    pub groups: Option<GroupsFacts>,
    /// What the figures mean.
    pub findings: Vec<FindingFacts>,
    /// What the program noticed while it ran.
    pub notes: Vec<NoteFacts>,
}

/// The run.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunFacts {
    /// Its id.
    pub id: String,
    /// When it started (RFC 3339, UTC).
    pub started: String,
    /// The machine.
    pub host: HostFacts,
    /// The other machines that it measured on, or the one that served the storage.
    pub hosts: Vec<RemoteHostFacts>,
    /// Version of Lodestone.
    pub version: String,
    /// Name of the suite.
    pub suite: String,
    /// Id of the plan: runs with the same id did the same work.
    pub plan: String,
    /// Seed of everything random.
    pub seed: u64,
    /// The command line.
    pub command: Vec<String>,
    /// How it ended; `null` if the run was killed.
    pub outcome: Option<RunOutcome>,
    /// How long it took, in seconds; `null` if the run was killed.
    pub seconds: Option<f64>,
}

/// The machine.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostFacts {
    /// Digest of the machine's id.
    pub id: String,
    /// Host name.
    pub name: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor architecture.
    pub architecture: String,
    /// Processor model.
    pub cpu: String,
    /// Logical processors.
    pub cpus: u32,
    /// Bytes of memory.
    pub memory: u64,
    /// Board or product name.
    pub board: Option<String>,
    /// Operating system.
    pub os: Option<String>,
    /// What else bears on figures: clocks, governor, virtualisation, limits.
    pub facts: std::collections::BTreeMap<String, String>,
}

/// A target.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetFacts {
    /// Its name in this run.
    pub name: String,
    /// Its path.
    pub path: String,
    /// What it is.
    pub kind: TargetKind,
    /// Bytes of the filesystem, file or device.
    pub size: u64,
    /// Bytes of the test data laid out on it; `null` if there were none.
    pub laid_out: Option<u64>,
    /// Seconds that laying out and syncing took.
    pub layout_seconds: Option<f64>,
    /// Its layers, from the top down.
    pub stack: Vec<LayerFacts>,
    /// What the user said of it with `--label`.
    pub labels: std::collections::BTreeMap<String, String>,
    /// What its machine is called: that of the run, or one of its `hosts`.
    pub host: String,
    /// What the machine is called that serves its storage over a network, if that one was watched too.
    pub server: Option<String>,
}

/// Another machine that was measured.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RemoteHostFacts {
    /// As the user named it.
    pub name: String,
    /// The machine.
    pub machine: HostFacts,
    /// Seconds that its clock was ahead of that of the run's machine, at the start.
    pub clock_ahead_seconds: f64,
    /// How far from the truth that can be, in seconds.
    pub clock_within_seconds: f64,
}

/// One layer of a stack.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LayerFacts {
    /// What it is.
    pub kind: LayerKind,
    /// Device or filesystem type.
    pub name: String,
    /// How deep below the target; members of one array share a level.
    pub level: u32,
    /// What the kernel says of it.
    pub facts: std::collections::BTreeMap<String, String>,
}

/// A step.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepFacts {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The workload, in full; its fields are those of the run log.
    pub workload: serde_json::Value,
}

/// A repeat.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RepeatFacts {
    /// The step's id.
    pub step: String,
    /// The target's name.
    pub target: String,
    /// Round, from 0.
    pub round: u32,
    /// The engine.
    pub engine: String,
    /// Whether the page cache was bypassed.
    pub direct: bool,
    /// Bytes of the data set.
    pub size: u64,
    /// Seed of offsets and content.
    pub seed: u64,
    /// `completed`, `interrupted`, `failed`, or `killed` if it has no end.
    pub outcome: String,
    /// What failed, when, and after how much good work.
    pub failure: Option<String>,
    /// Where the figures come from, if another program measured.
    pub imported: Option<ImportedFacts>,
    /// Where its operations were, one by one, if the workload keeps that or the imported output says it.
    pub offset_log: Vec<OffsetLogFacts>,
}

/// The places of one kind of operation in a repeat.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OffsetLogFacts {
    /// The operation.
    pub operation: Operation,
    /// How many good operations more there were, of which no place was kept.
    pub left_out: u64,
    /// The first ones, in the order in which they ended, job after job. Each is the byte of the test data, or of the
    /// device, at which it began, the bytes that it moved, and the nanoseconds that it took.
    pub kept: Vec<[u64; 3]>,
}

/// A result of another program.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportedFacts {
    /// The program.
    pub tool: String,
    /// Its version, if its output says it.
    pub version: Option<String>,
    /// The file.
    pub file: String,
    /// The line at which the result begins.
    pub line: u32,
    /// What tells its target from others.
    pub labels: std::collections::BTreeMap<String, String>,
    /// What the output says of the circumstances.
    pub facts: std::collections::BTreeMap<String, String>,
    /// Fields of the step and the repeat that the output does not say: their values are only assumed.
    pub unsaid: Vec<String>,
    /// Its figures.
    pub figures: Vec<FigureFacts>,
}

/// A figure of another program.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureFacts {
    /// The operation.
    pub operation: Operation,
    /// The metric.
    pub metric: Metric,
    /// The unit of the values.
    pub unit: String,
    /// The value that counts.
    pub value: f64,
    /// The text as it stands in the output; `null` if it does not.
    pub printed: Option<String>,
    /// What that is in the true unit.
    pub printed_value: Option<f64>,
    /// The line at which it stands.
    pub line: Option<u32>,
    /// The value that the output's own raw numbers make; `null` where it has none.
    pub recomputed: Option<f64>,
    /// How it is made.
    pub recomputed_from: Option<String>,
}

/// A measurement.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasurementFacts {
    /// The target's name.
    pub target: String,
    /// The step's id.
    pub step: String,
    /// The operation.
    pub operation: Operation,
    /// The metric.
    pub metric: Metric,
    /// The unit: `B/s`, `1/s`, `ns`, or `1` for shares and ratios.
    pub unit: String,
    /// The rule that made the estimate.
    pub method: String,
    /// It is the figure by which the operation is judged in this step.
    pub is_headline: bool,
    /// One value per good repeat, in order.
    pub values: Vec<f64>,
    /// The rounds of these values.
    pub rounds: Vec<u32>,
    /// The means of both modes, the lower first, if the repeats have two: then no one figure stands for them.
    pub modes: Option<[f64; 2]>,
    /// The estimate.
    pub estimate: f64,
    /// Lower end of the 95 % interval; `null` where there is none.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval; `null` where there is none.
    pub high: Option<f64>,
}

/// The highest load that a target carries.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeadroomFacts {
    /// What the load is counted in.
    pub unit: String,
    /// The target's name.
    pub target: String,
    /// The highest load that it carries with what is required; `null` if it carries none of those that were tried.
    pub carried: Option<f64>,
    /// The lowest load that is too much for it; `null` if none was.
    pub too_much: Option<f64>,
    /// The highest load that could have been tried.
    pub highest: f64,
    /// The loads that were tried, from the lowest to the highest.
    pub tried: Vec<TriedFacts>,
}

/// A load that was tried.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TriedFacts {
    /// The load.
    pub load: f64,
    /// `met`, `missed` or `undecided`.
    pub verdict: String,
    /// What was required of it.
    pub requirements: Vec<RequirementFacts>,
}

/// A requirement on a target, with its verdict.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequirementFacts {
    /// The suite that requires it.
    pub profile: String,
    /// The target's name.
    pub target: String,
    /// The step's id.
    pub step: String,
    /// The operation.
    pub operation: Operation,
    /// The metric.
    pub metric: Metric,
    /// The unit of the metric.
    pub unit: String,
    /// On which side of the limit the figure has to be.
    pub bound: Bound,
    /// The limit.
    pub limit: f64,
    /// What limit and figure are shares of, if they are: a target's name, or `RUN:TARGET`.
    pub relative_to: Option<String>,
    /// Where the limit is published.
    pub source: String,
    /// The figure; `null` where it was not measured.
    pub estimate: Option<f64>,
    /// Lower end of the figure's 95 % interval.
    pub low: Option<f64>,
    /// Upper end of the figure's 95 % interval.
    pub high: Option<f64>,
    /// `met`, `missed` or `undecided`.
    pub verdict: String,
    /// How many times as good as the limit the figure is: above 1 on the right side of it.
    pub headroom: Option<f64>,
    /// Rounds that it rests on.
    pub rounds: u32,
    /// Operations that it rests on.
    pub operations: u64,
    /// Rounds that would have to be added for a verdict, where that can be told.
    pub more_rounds: Option<u32>,
}

/// A comparison.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparisonFacts {
    /// The step's id.
    pub step: String,
    /// The operation.
    pub operation: Operation,
    /// The metric.
    pub metric: Metric,
    /// The target compared.
    pub target: String,
    /// The target compared with.
    pub baseline: String,
    /// Target ÷ baseline.
    pub ratio: f64,
    /// Lower end of the ratio's 95 % interval.
    pub low: Option<f64>,
    /// Upper end of the ratio's 95 % interval.
    pub high: Option<f64>,
    /// What it comes to.
    pub verdict: Verdict,
    /// Rounds that would have to be added for a decision, where that can be told.
    pub more_rounds: Option<u32>,
    /// For rates, what stalls do to it, if one was seen on either target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalls: Option<StallFacts>,
    /// For rates that are the same so far: what keeps them undecided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unseen: Option<Unseen>,
    /// The rule that made it.
    pub method: String,
}

/// A ratio of long-run rates, taken apart.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StallFacts {
    /// Target ÷ baseline between stalls.
    pub between: f64,
    /// Lower end of its 95 % interval.
    pub between_low: Option<f64>,
    /// Upper end of its 95 % interval.
    pub between_high: Option<f64>,
    /// What it comes to.
    pub between_verdict: Verdict,
    /// Share of the time that the target lost in stalls, 0 to 1.
    pub lost: f64,
    /// Lower end of its 95 % interval.
    pub lost_low: Option<f64>,
    /// Upper end of its 95 % interval; none without a stall.
    pub lost_high: Option<f64>,
    /// Share of the time that the baseline lost in stalls, 0 to 1.
    pub baseline_lost: f64,
    /// Lower end of its 95 % interval.
    pub baseline_lost_low: Option<f64>,
    /// Upper end of its 95 % interval; none without a stall.
    pub baseline_lost_high: Option<f64>,
}

/// One figure for a target over all steps.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SummaryFacts {
    /// The target.
    pub target: String,
    /// The target compared with.
    pub baseline: String,
    /// How many times as fast, as the geometric mean over the steps.
    pub speed: f64,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end of its 95 % interval.
    pub high: Option<f64>,
    /// Steps that are in it.
    pub steps: usize,
}

/// Groups of machines, whose machines are the sample.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupsFacts {
    /// The number of machines of each.
    pub machines: std::collections::BTreeMap<String, usize>,
    /// Every group against the one named as the baseline, by the means of their machines. The verdicts are one family.
    pub comparisons: Vec<ComparisonFacts>,
}

/// Machines that work together on one storage.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientsFacts {
    /// What each contributed to each figure of each target, over all repeats.
    pub shares: Vec<SharesFacts>,
    /// How far apart those of each target began and ended.
    pub starts: Vec<StartsFacts>,
    /// Each throughput over the numbers of clients, where there are several.
    pub curves: Vec<CurveFacts>,
}

/// What the clients of a target contributed to a figure.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharesFacts {
    /// Step's id.
    pub step: String,
    /// Operation.
    pub operation: Operation,
    /// Target.
    pub target: String,
    /// The clients.
    pub clients: Vec<ClientShareFacts>,
    /// Jain's index of their rates: 1 if all did the same, 1/n if one of n did everything.
    pub fairness: f64,
}

/// What one client contributed.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientShareFacts {
    /// Its machine, one of the run's `hosts`.
    pub host: String,
    /// Operations per second.
    pub iops: f64,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Its share of the operations, 0 to 1.
    pub share: f64,
    /// 99th percentile of its latency in nanoseconds.
    pub p99: Option<u64>,
}

/// How far apart the clients of a target were, in seconds.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StartsFacts {
    /// Target.
    pub target: String,
    /// Number of repeats.
    pub repeats: usize,
    /// From the first to the last that began, the median over the repeats.
    pub skew_seconds: f64,
    /// And the most.
    pub most_skew_seconds: f64,
    /// How far from the truth these can be.
    pub within_seconds: f64,
    /// From the first to the last that ended, the median over the repeats.
    pub ends_seconds: f64,
}

/// A throughput over the numbers of clients.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CurveFacts {
    /// Step's id.
    pub step: String,
    /// Operation.
    pub operation: Operation,
    /// `bandwidth` in bytes per second or `iops`.
    pub metric: Metric,
    /// Numbers of clients in ascending order, with the throughput.
    pub points: Vec<(u32, f64)>,
    /// The fewest clients with 90 % of the highest throughput: between these, by 95 % intervals; `null` if that are all that were tried.
    pub knee: Option<(u32, u32)>,
}

/// What a part of the storage changes.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CostFacts {
    /// The part, such as `LUKS` or `btrfs instead of ext4`.
    pub of: String,
    /// The target with it.
    pub target: String,
    /// The target without it.
    pub plain: String,
    /// Labels that both have in common.
    pub on: std::collections::BTreeMap<String, String>,
    /// The target against the plain one. The verdicts of all costs are one family.
    pub comparisons: Vec<ComparisonFacts>,
}

/// A finding.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingFacts {
    /// The rule that speaks.
    pub rule: String,
    /// How much it matters.
    pub severity: Severity,
    /// Whom it is about.
    pub subject: SubjectFacts,
    /// Its message.
    pub message: String,
    /// What to do about it; `null` where nothing can be done.
    pub advice: Option<String>,
    /// By what share it changes the answer; 0 where that cannot be told.
    pub effect: f64,
    /// The figures that carry it.
    pub evidence: Vec<EvidenceFacts>,
}

/// Whom a finding is about.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubjectFacts {
    /// The target's name; `null` if it is about all.
    pub target: Option<String>,
    /// The step's id; `null` if it is about all.
    pub step: Option<String>,
}

/// A figure that carries a finding.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EvidenceFacts {
    /// What it is.
    pub what: String,
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// The step that it is from; `null` if it is the finding's own.
    pub step: Option<String>,
    /// The rounds that it is from, counted from 1; empty if it is from all.
    pub rounds: Vec<u32>,
    /// From when it was so, in seconds from the start of the run; `null` if from all of it.
    pub from_seconds: Option<f64>,
    /// Until when.
    pub to_seconds: Option<f64>,
}

/// Something that the program noticed.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoteFacts {
    /// Seconds from the start of the run.
    pub seconds: f64,
    /// How much it matters.
    pub severity: Severity,
    /// What it is about.
    pub topic: String,
    /// The target concerned.
    pub target: Option<String>,
    /// Its message.
    pub message: String,
}

/// Several runs compared.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "Runs of Lodestone compared"))]
pub struct ComparisonExport {
    /// Name and version of this format: `lodestone.comparison.v1`.
    pub schema: &'static str,
    /// The runs.
    pub runs: Vec<RunFacts>,
    /// Every target of every run, named `run:target`, against the baseline; with `--pairs` against each target before it.
    pub comparisons: Vec<ComparisonFacts>,
    /// One figure per target over all steps that the runs have in common.
    pub summaries: Vec<SummaryFacts>,
    /// What encryption, another filesystem, a further layer or another machine changes, where targets differ in one.
    pub costs: Vec<CostFacts>,
    /// The hours of the day, for each target of three runs or more of one plan on one machine, step by step.
    pub by_hour: Vec<ByHourFacts>,
    /// What differs between the circumstances of the first run and those of each other one.
    pub circumstances: Vec<CircumstanceFacts>,
}

/// One thing that was different in a run.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CircumstanceFacts {
    /// The run that is set against the first.
    pub run: String,
    /// The target's name in it; `null` if it is about the machine.
    pub target: Option<String>,
    /// The layer of the target's stack, or the sensor.
    pub layer: Option<String>,
    /// What it is: the name of a fact, or `kernel`, `memory`, `stack`, `temperature` and the like.
    pub what: String,
    /// What it was in the first run, in the fact's own unit.
    pub before: String,
    /// What it was in this one.
    pub after: String,
}

/// The hours of the day in one step on one target.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ByHourFacts {
    /// The target's name.
    pub target: String,
    /// Digest of the plan that the runs share.
    pub plan: String,
    /// The step's id.
    pub step: String,
    /// Runs looked at.
    pub runs: usize,
    /// Whether hours are compared within days; otherwise differences between days are in it.
    pub within_days: bool,
    /// Probability that equal hours look like this, uncorrected.
    pub p: f64,
    /// `differ`, `not_shown`, `too_few` or `one_hour`; at 5 % over the steps.
    pub verdict: String,
    /// Runs missing before a difference could be shown, where there are too few.
    pub missing_runs: Option<usize>,
    /// The hours with runs.
    pub hours: Vec<HourFacts>,
}

/// One hour of the day.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HourFacts {
    /// The local hour, 0 to 23.
    pub hour: u8,
    /// Runs that began in it.
    pub runs: usize,
    /// How many times as fast as at the other hours.
    pub speed: Option<f64>,
    /// Lower end of its interval, 95 % for all hours together.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// Name and version of the format of comparisons.
pub const COMPARISON_SCHEMA: &str = "lodestone.comparison.v1";
