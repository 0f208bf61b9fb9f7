//! What a run says: measurements over repeats, comparisons of targets, findings.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Operation, Severity};

/// A quantity that every repeat gives one value of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Metric {
    /// Bytes per second: all bytes over all time.
    #[serde(rename = "bandwidth")]
    Bandwidth,
    /// Operations per second: all operations over all time.
    #[serde(rename = "iops")]
    Iops,
    /// Mean latency in nanoseconds.
    #[serde(rename = "lat_mean")]
    LatMean,
    /// Median latency in nanoseconds.
    #[serde(rename = "lat_p50")]
    LatP50,
    /// 95th percentile of the latency in nanoseconds.
    #[serde(rename = "lat_p95")]
    LatP95,
    /// 99th percentile of the latency in nanoseconds.
    #[serde(rename = "lat_p99")]
    LatP99,
    /// 99.9th percentile of the latency in nanoseconds.
    #[serde(rename = "lat_p99.9")]
    LatP999,
    /// Largest latency in nanoseconds.
    #[serde(rename = "lat_max")]
    LatMax,
    /// Smallest latency in nanoseconds.
    #[serde(rename = "lat_min")]
    LatMin,
    /// Standard deviation of the latency in nanoseconds.
    #[serde(rename = "lat_stddev")]
    LatStddev,
    /// Mean time inside the submitting call in nanoseconds.
    #[serde(rename = "slat_mean")]
    SlatMean,
    /// Mean time from the end of the submitting call to the completion in nanoseconds.
    #[serde(rename = "clat_mean")]
    ClatMean,
    /// Share of the wall time that the jobs spent in syncs, 0 to 1.
    #[serde(rename = "sync_share")]
    SyncShare,
    /// Share of all processors' time spent working, 0 to 1, whole machine.
    #[serde(rename = "cpu")]
    Cpu,
    /// CPU time of the jobs of the program that measures, in user and kernel mode, divided by their time: the share of one
    /// processor that each of them used, above 1 only where a job has threads.
    #[serde(rename = "cpu_job")]
    CpuJob,
    /// CPU time of Lodestone in user mode per operation in nanoseconds.
    #[serde(rename = "cpu_user_per_io")]
    CpuUserPerIo,
    /// Achieved queue depth, over all jobs.
    #[serde(rename = "queue_depth")]
    QueueDepth,
    /// Bytes at the uppermost block device divided by bytes that the workload moved.
    #[serde(rename = "device_ratio")]
    DeviceRatio,
    /// The points that a suite with a score gives.
    #[serde(rename = "score")]
    Score,
    /// Share of the time lost in stalled repeats, 0 to 1: those with less than half of the median rate, which lose the
    /// difference to it.
    #[serde(rename = "stalled_share")]
    StalledShare,
    /// Standard deviation of the rate between repeats ÷ its mean.
    #[serde(rename = "spread")]
    Spread,
    /// Blocks that were not what was written, where they are checked.
    #[serde(rename = "mismatches")]
    Mismatches,
}

/// Which way a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither; it is a circumstance and is not compared.
    Neither,
}

impl Metric {
    /// All metrics, in the order in which they are exported.
    pub const ALL: [Self; 22] = [
        Self::Bandwidth,
        Self::Iops,
        Self::LatMean,
        Self::LatP50,
        Self::LatP95,
        Self::LatP99,
        Self::LatP999,
        Self::LatMax,
        Self::LatMin,
        Self::LatStddev,
        Self::SlatMean,
        Self::ClatMean,
        Self::SyncShare,
        Self::Cpu,
        Self::CpuJob,
        Self::CpuUserPerIo,
        Self::QueueDepth,
        Self::DeviceRatio,
        Self::Score,
        Self::StalledShare,
        Self::Spread,
        Self::Mismatches,
    ];

    /// The metric's name in exports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bandwidth => "bandwidth",
            Self::Iops => "iops",
            Self::LatMean => "lat_mean",
            Self::LatP50 => "lat_p50",
            Self::LatP95 => "lat_p95",
            Self::LatP99 => "lat_p99",
            Self::LatP999 => "lat_p99.9",
            Self::LatMax => "lat_max",
            Self::LatMin => "lat_min",
            Self::LatStddev => "lat_stddev",
            Self::SlatMean => "slat_mean",
            Self::ClatMean => "clat_mean",
            Self::SyncShare => "sync_share",
            Self::Cpu => "cpu",
            Self::CpuJob => "cpu_job",
            Self::CpuUserPerIo => "cpu_user_per_io",
            Self::QueueDepth => "queue_depth",
            Self::DeviceRatio => "device_ratio",
            Self::Score => "score",
            Self::StalledShare => "stalled_share",
            Self::Spread => "spread",
            Self::Mismatches => "mismatches",
        }
    }

    /// The unit of its values.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Bandwidth => "B/s",
            Self::Iops => "1/s",
            Self::SlatMean | Self::ClatMean | Self::CpuUserPerIo => "ns",
            _ if self.is_latency() => "ns",
            _ => "1",
        }
    }

    /// Which way it is better.
    pub fn better(self) -> Better {
        match self {
            Self::Bandwidth | Self::Iops | Self::Score => Better::Higher,
            _ if self.is_latency() => Better::Lower,
            _ => Better::Neither,
        }
    }

    /// The percentile of the latency that it is, in %; `None` for another metric.
    pub fn percent(self) -> Option<f64> {
        match self {
            Self::LatP50 => Some(50.0),
            Self::LatP95 => Some(95.0),
            Self::LatP99 => Some(99.0),
            Self::LatP999 => Some(99.9),
            _ => None,
        }
    }

    /// Whether it is a figure of the time that whole operations take.
    fn is_latency(self) -> bool {
        matches!(
            self,
            Self::LatMean
                | Self::LatP50
                | Self::LatP95
                | Self::LatP99
                | Self::LatP999
                | Self::LatMax
                | Self::LatMin
                | Self::LatStddev
        )
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A value with the interval that the method gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Lower and upper end of its 95 % interval; `None` where too few repeats allow none.
    pub interval: Option<(f64, f64)>,
}

impl Estimate {
    /// Half the interval's width as a share of the estimate; `None` without interval or at 0.
    pub fn relative_half_width(&self) -> Option<f64> {
        let (low, high) = self.interval?;
        (self.value != 0.0).then(|| (high - low) / 2.0 / self.value.abs())
    }
}

/// One metric of one operation in one step on one target, over its repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Target's name.
    pub target: String,
    /// Step's id.
    pub step: String,
    /// Operation.
    pub operation: Operation,
    /// Metric.
    pub metric: Metric,
    /// One value per repeat with its round, in the order of the rounds, in the metric's unit.
    pub values: Vec<(u32, f64)>,
    /// For a percentile of all rounds together, by round: values with its logarithm as the mean of theirs, and its error as
    /// the error of that mean. Empty for other metrics, whose `values` are that.
    pub paired: Vec<(u32, f64)>,
    /// For a rate what each repeat was exposed to, in the order of the rounds; else empty.
    pub exposures: Vec<Exposure>,
    /// The estimate over them.
    pub estimate: Estimate,
    /// The rule that made the estimate, in words.
    pub method: &'static str,
}

/// The whole of one repeat, the ramp and the wait for the last operation included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exposure {
    /// Round.
    pub round: u32,
    /// When it began, in seconds of the run.
    pub at: f64,
    /// Wall time in seconds.
    pub seconds: f64,
    /// What was done in it, in the unit of the rate times seconds.
    pub work: f64,
    /// Seconds of it that were lost in operations that stalled.
    pub lost: f64,
    /// Number of these stalls: operations that stall together are one.
    pub stalls: u32,
}

/// Which measurement: a metric of an operation of a step on a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasurementKey<'a> {
    /// Target's name.
    pub target: &'a str,
    /// Step's id.
    pub step: &'a str,
    /// Operation.
    pub operation: Operation,
    /// Metric.
    pub metric: Metric,
}

impl MeasurementKey<'_> {
    /// The position of the measurement with this key.
    pub fn position_in(self, measurements: &[Measurement]) -> Option<usize> {
        measurements.iter().position(|m| {
            m.target == self.target
                && m.step == self.step
                && (m.operation, m.metric) == (self.operation, self.metric)
        })
    }

    /// The measurement with this key.
    pub fn find_in(self, measurements: &[Measurement]) -> Option<&Measurement> {
        Some(&measurements[self.position_in(measurements)?])
    }
}

/// What a comparison with the baseline comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better than the baseline.
    Faster,
    /// Worse than the baseline.
    Slower,
    /// The difference is smaller than the margin.
    Same,
    /// The data do not say.
    Undecided,
}

impl Verdict {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Undecided => "undecided",
        }
    }
}

/// One target against the baseline in one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Step's id.
    pub step: String,
    /// Operation.
    pub operation: Operation,
    /// Metric.
    pub metric: Metric,
    /// The target compared.
    pub target: String,
    /// The target compared with.
    pub baseline: String,
    /// Target ÷ baseline, with its interval.
    pub ratio: Estimate,
    /// What it comes to.
    pub verdict: Verdict,
    /// The rule that made it, in words.
    pub method: &'static str,
    /// Rounds that would have to be added for a decision, for an undecided comparison where the
    /// spread seen so far lets it be told.
    pub more_rounds: Option<u32>,
    /// For a rate what stalls do to it, if one was seen on either target.
    pub stalls: Option<StallEffect>,
    /// For a rate that looks the same, what keeps it undecided: rare stalls would not have been seen.
    pub unseen: Option<Unseen>,
    /// The factor by which the variance of the ratio exceeds that of independent rounds (of many rounds, of blocks of them);
    /// 1 where they do not resemble each other.
    pub inflation: f64,
}

/// A ratio of long-run rates, taken apart into the rates between stalls and the time lost in stalls.
#[derive(Clone, Debug, PartialEq)]
pub struct StallEffect {
    /// Target ÷ baseline between stalls, with its interval.
    pub between: Estimate,
    /// What that comes to.
    pub verdict: Verdict,
    /// Share of the time lost in stalls on the target, 0 to 1, with its interval.
    pub lost: Estimate,
    /// The same on the baseline.
    pub baseline_lost: Estimate,
}

/// How far "same" can be claimed where no stall was seen, or fewer than would be worth it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unseen {
    /// Seconds measured on the target of which less was.
    pub seconds: f64,
    /// Seconds of the stalls that are allowed for.
    pub stall_seconds: f64,
    /// Seconds on each target after which such stalls would have been seen if they mattered.
    pub more_seconds: f64,
}

/// Whom or what a finding is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Subject {
    /// Target's name, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Step's id, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

/// Where in a run a figure stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EvidenceScope {
    /// Step's id, where it is not the finding's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Rounds of the repeats that it is from, counted from 1 as people do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<u32>,
    /// From when to when, in seconds from the start of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<(f64, f64)>,
}

/// A figure that carries a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What the figure is.
    pub what: String,
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// Where it stands, if not in all repeats of what the finding is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<EvidenceScope>,
}

impl Evidence {
    /// The same figure, with the step that it is from.
    pub fn in_step(mut self, step: &str) -> Self {
        self.scope.get_or_insert_default().step = Some(step.to_owned());
        self
    }

    /// The same figure, with the rounds that it is from, which are counted from 0 here.
    pub fn in_rounds(mut self, rounds: impl IntoIterator<Item = u32>) -> Self {
        self.scope.get_or_insert_default().rounds = rounds.into_iter().map(|round| round + 1).collect();
        self
    }

    /// The same figure, with when it was so, in nanoseconds from the start of the run.
    pub fn between(mut self, from_ns: u64, to_ns: u64) -> Self {
        self.scope.get_or_insert_default().seconds = Some((from_ns as f64 / 1e9, to_ns as f64 / 1e9));
        self
    }
}

/// Something that the figures mean, with the figures that say so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule that speaks, as a short stable name.
    pub rule: String,
    /// How much it matters.
    pub severity: Severity,
    /// Whom it is about.
    pub subject: Subject,
    /// A sentence.
    pub message: String,
    /// What to do about it, where something can be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// By what share it changes the answer: 0.5 stands for half of a figure or of the time. 0 where that cannot be told.
    #[serde(default)]
    pub effect: f64,
    /// The figures.
    pub evidence: Vec<Evidence>,
}

impl Finding {
    /// The same finding with another advice.
    pub fn advising(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// The same finding with how much it changes the answer, as in [`Finding::effect`]; what is not a number counts as 0.
    pub fn changing(mut self, effect: f64) -> Self {
        self.effect = if effect.is_finite() { effect.abs() } else { 0.0 };
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_stored_under_its_name() {
        for metric in Metric::ALL {
            assert_eq!(serde_json::to_string(&metric).unwrap(), format!("\"{}\"", metric.name()));
        }
    }
}
