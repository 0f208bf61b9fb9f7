//! The result of an importer: reports with their figures, and problems.

use std::collections::BTreeMap;

use model::{
    BlockSizes, Data, DataClass, EngineKind, Figure, Metric, Mix, OffsetLog, Operation, OperationStats,
    Pattern, Printed, Recomputed, Remark, SyncRule, Workload,
};

use super::remarks::RemarkKind;
use super::text::Num;

/// The label with the name of the file: it distinguishes targets only where no other label does.
pub const NAME_LABEL: &str = "name";

/// The label with the repeat, the date and the time of day: it never distinguishes targets.
pub const REPEAT_LABEL: &str = "repeat";

/// The fact that says how often the state of one run was printed.
const STATES: &str = "states printed";

/// One result of a tool: one repeat of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The tool.
    pub tool: &'static str,
    /// Its version, if the output states it.
    pub version: Option<String>,
    /// Line at which the result begins, from 1.
    pub line: u32,
    /// Line at which it ends.
    pub last_line: u32,
    /// The workload as text, beginning with the tool.
    pub title: String,
    /// The workload. The fields that the output does not state are in `unsaid`.
    pub workload: Workload,
    /// The I/O engine.
    pub engine: EngineKind,
    /// Bytes of the data set; 0 if unknown.
    pub size_bytes: u64,
    /// Measured time in nanoseconds; 0 if unknown.
    pub window_ns: u64,
    /// The operations with figures, in the order in which they are shown, each with the metric by which it is judged.
    pub headlines: Vec<(Operation, Metric)>,
    /// Labels from the output itself, such as a job's name.
    pub labels: BTreeMap<String, String>,
    /// Circumstances that the output states.
    pub facts: BTreeMap<String, String>,
    /// Names of fields that it does not state.
    pub unsaid: Vec<String>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// Oddities of the output.
    pub remarks: Vec<Remark>,
    /// Counts and histograms, where the output has complete histograms.
    pub stats: BTreeMap<Operation, OperationStats>,
    /// The offset of each operation, where the output has it.
    pub offset_log: BTreeMap<Operation, OffsetLog>,
    /// What was done from time to time, where the output says it, in the order of time.
    pub intervals: Vec<ReportInterval>,
}

/// What a tool did in a part of its time.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportInterval {
    /// Nanoseconds from the start of the measured time.
    pub start_ns: u64,
    /// Nanoseconds covered.
    pub len_ns: u64,
    /// Completions and bytes of each operation.
    pub done: BTreeMap<Operation, (u64, u64)>,
}

/// Everything found in a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// Complete reports, in the order of the text.
    pub reports: Vec<Report>,
    /// What could not be imported.
    pub problems: Vec<Problem>,
}

/// Why something was not imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: u32,
    /// Its kind.
    pub kind: ProblemKind,
    /// What is wrong, as a sentence without its full stop.
    pub message: String,
}

/// Kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// No importer recognises it.
    Unrecognised,
    /// A report is incomplete.
    CutOff,
    /// The tool failed.
    Failed,
    /// Two of its statements cannot both be true.
    Contradictory,
    /// A figure exceeds what any storage reaches, is negative or is not a number.
    Impossible,
    /// A complete output without figures, for example of a preparation: nothing is missing.
    NoFigures,
}

impl ProblemKind {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unrecognised => "not recognised",
            Self::CutOff => "cut off",
            Self::Failed => "a failed run",
            Self::Contradictory => "contradictory",
            Self::Impossible => "impossible",
            Self::NoFigures => "no figures",
        }
    }
}

impl Problem {
    pub(crate) fn new(line: u32, kind: ProblemKind, message: impl Into<String>) -> Self {
        Self { line: line.max(1), kind, message: message.into() }
    }
}

impl Parsed {
    pub(crate) fn problem(&mut self, line: u32, kind: ProblemKind, message: impl Into<String>) {
        self.problems.push(Problem::new(line, kind, message));
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.reports.extend(other.reports);
        self.problems.extend(other.problems);
    }
}

impl Report {
    /// A report of a tool that ran and counted nothing.
    pub fn without_figures(tool: &'static str) -> Self {
        Self::new(tool, 1, tool, Workload::random_reads())
    }

    /// A report with a workload and no figures.
    pub(crate) fn new(tool: &'static str, line: u32, title: impl Into<String>, workload: Workload) -> Self {
        Self {
            tool,
            version: None,
            line,
            last_line: line,
            title: title.into(),
            workload,
            engine: EngineKind::Psync,
            size_bytes: 0,
            window_ns: 0,
            headlines: Vec::new(),
            labels: BTreeMap::new(),
            facts: BTreeMap::new(),
            unsaid: Vec::new(),
            figures: Vec::new(),
            remarks: Vec::new(),
            stats: BTreeMap::new(),
            offset_log: BTreeMap::new(),
            intervals: Vec::new(),
        }
    }

    /// This report as a later state of the one that `earlier` tells of, both counted from the start: what was done in
    /// between becomes an interval.
    pub(crate) fn continuing(mut self, earlier: Self) -> Self {
        let before = earlier.done();
        let mut intervals = earlier.intervals;
        if intervals.is_empty() && earlier.window_ns > 0 {
            intervals.push(ReportInterval { start_ns: 0, len_ns: earlier.window_ns, done: before.clone() });
        }
        let len_ns = self.window_ns.saturating_sub(earlier.window_ns);
        let since = |(operation, (count, bytes)): (Operation, (u64, u64))| {
            let (old_count, old_bytes) = before.get(&operation).copied().unwrap_or_default();
            (operation, (count.saturating_sub(old_count), bytes.saturating_sub(old_bytes)))
        };
        // The last state is often printed twice: at its interval's end, and at the end.
        if len_ns > 0 {
            let done = self.done().into_iter().map(since).collect();
            intervals.push(ReportInterval { start_ns: earlier.window_ns, len_ns, done });
        }
        let states: u32 = earlier.facts.get(STATES).and_then(|n| n.parse().ok()).unwrap_or(1);
        self.fact(STATES, (states + 1).to_string());
        self.intervals = intervals;
        self
    }

    /// Completions and bytes of each operation in the measured time, by its rates.
    fn done(&self) -> BTreeMap<Operation, (u64, u64)> {
        let seconds = self.window_ns as f64 / 1e9;
        let mut done: BTreeMap<Operation, (u64, u64)> = BTreeMap::new();
        for figure in &self.figures {
            let amount = (figure.value * seconds).max(0.0).round() as u64;
            match figure.metric {
                Metric::Iops => done.entry(figure.operation).or_default().0 = amount,
                Metric::Bandwidth => done.entry(figure.operation).or_default().1 = amount,
                _ => {}
            }
        }
        done
    }

    /// Sets the measured time, in seconds.
    pub(crate) fn lasted(&mut self, seconds: f64) {
        let ns = seconds * 1e9;
        // The cast saturates; a time beyond the limit is refused later.
        self.window_ns = if ns > 0.0 { ns as u64 } else { 0 };
    }

    /// Adds a figure, of which at least one form must be given. `printed` is its text, its value in the metric's unit,
    /// and its line.
    pub(crate) fn figure(
        &mut self,
        (operation, metric): (Operation, Metric),
        printed: Option<(String, Num, u32)>,
        recomputed: Option<(Num, &str)>,
    ) {
        let value = match (&printed, recomputed) {
            (Some((_, printed, _)), Some((raw, _))) if raw.error > printed.error => printed.value,
            (_, Some((raw, _))) => raw.value,
            (Some((_, printed, _)), None) => printed.value,
            (None, None) => return,
        };
        self.figures.push(Figure {
            operation,
            metric,
            value,
            printed: printed.map(|(text, num, line)| Printed {
                text: clipped(text),
                value: num.value,
                error: num.error,
                line,
            }),
            recomputed: recomputed.map(|(num, from)| Recomputed {
                value: num.value,
                error: num.error,
                from: from.to_owned(),
            }),
        });
    }

    pub(crate) fn remark(&mut self, kind: &RemarkKind, line: u32, message: impl Into<String>) {
        self.remarks.push(Remark {
            topic: kind.topic.to_owned(),
            severity: kind.severity,
            effect: kind.effect,
            message: clipped(message.into()),
            advice: kind.advice.to_owned(),
            line,
        });
    }

    pub(crate) fn fact(&mut self, name: &str, value: impl Into<String>) {
        self.facts.insert(clipped(name.to_owned()), clipped(value.into()));
    }

    pub(crate) fn unsaid(&mut self, names: &[&str]) {
        self.unsaid.extend(names.iter().map(|name| (*name).to_owned()));
    }
}

/// Shortens text that every report of a file repeats, to bound memory.
pub(super) fn clipped(mut text: String) -> String {
    const LONGEST: usize = 300;
    if let Some((at, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(at);
        text.push('…');
    }
    text
}

/// Reads and writes of one block size through the page cache, one at a time.
pub(crate) fn transfers(read_percent: u8, pattern: Pattern, block: u32) -> Workload {
    Workload {
        mix: Mix::Transfer { read_percent },
        pattern,
        block: BlockSizes::uniform(block.max(1)),
        ..Workload::random_reads()
    }
}

/// Data that is all zeros.
pub(crate) const ZEROS: Data = Data { class: DataClass::Zero, compress_percent: 0, dedupe_percent: 0 };

/// One sync after each write.
pub(crate) const EACH_WRITE: SyncRule = SyncRule { every: 1, data_only: false, at_end: false };

/// Random offsets, drawn with replacement if `repeats` is true.
pub(crate) fn random(repeats: bool) -> Pattern {
    Pattern::Random { distribution: model::Distribution::Uniform, repeats }
}
