//! The rows of a run for a database: the figures, sentences and verdicts of `export --format json`.

use ::report::json::{
    self, ComparisonFacts, FindingFacts, MeasurementFacts, RequirementFacts, RunExport, TargetFacts,
    run_export,
};
use ::report::{AnalysedRun, RunView, figure_title, requirement_words};
use analyse::{Analysis, Estimator, analyse};
use database::{
    ChangeRow, Checksum, ComparisonRow, FindingRow, MeasurementRow, RunRow, TargetRow, VerdictRow,
};
use model::{Better, LayerKind, Metric, Run};
use record::RunState;

use super::changes::Change;
use super::{units, view};
use crate::cli::Cli;

/// What is known of a run beside its content.
pub(super) struct Origin {
    /// Checksum of its log.
    pub checksum: Checksum,
    /// How it ended.
    pub state: RunState,
    /// Names are pseudonyms.
    pub is_anonymous: bool,
    /// The log as it is stored.
    pub log: Vec<u8>,
}

/// All rows of a run.
pub(super) fn run_row(cli: &Cli, run: &Run, origin: Origin) -> RunRow {
    let started = &run.started;
    let units = units(cli, Some(run));
    let analysis = analyse(run, &started.baseline, Estimator::Mean, units);
    let time_zone = jiff::tz::TimeZone::UTC;
    let view = RunView { details: true, time_zone, ..view(cli, Some(run), &started.baseline) };
    let analysed = AnalysedRun::new(run, &analysis, &view);
    let export = run_export(&analysed);
    let Origin { checksum, state, is_anonymous, log } = origin;
    RunRow {
        checksum,
        id: started.id.clone(),
        host: started.machine_names(),
        suite: started.plan.suite.clone(),
        plan: started.plan.id.clone(),
        started_unix_us: started.started_unix_ns.div_euclid(1000),
        seconds: export.run.seconds,
        state: state.name().to_owned(),
        version: started.version.clone(),
        is_imported: run.is_imported(),
        is_anonymous,
        answer: export.answer.clone(),
        log,
        targets: export.targets.iter().map(target_row).collect(),
        measurements: measurement_rows(run, &export),
        comparisons: comparison_rows(&export),
        findings: finding_rows(&export),
        verdicts: verdict_rows(&analysed, &analysis, &export),
    }
}

fn target_row(target: &TargetFacts) -> TargetRow {
    let is_filesystem = |kind| matches!(kind, LayerKind::Filesystem | LayerKind::Network);
    let filesystem = target.stack.iter().find(|layer| is_filesystem(layer.kind));
    let mut models: Vec<&str> =
        target.stack.iter().filter_map(|l| l.facts.get(model::fact::MODEL)).map(|m| m.trim()).collect();
    models.dedup();
    TargetRow {
        host: target.host.clone(),
        name: target.name.clone(),
        kind: json::word(&target.kind),
        path: target.path.clone(),
        bytes: target.size,
        filesystem: filesystem.map(|layer| layer.name.clone()),
        device: (!models.is_empty()).then(|| models.join(", ")),
        labels: serde_json::to_string(&target.labels).unwrap_or_else(|_| "{}".to_owned()),
        stack: serde_json::to_string(&target.stack).unwrap_or_else(|_| "[]".to_owned()),
    }
}

fn measurement_rows(run: &Run, export: &RunExport) -> Vec<MeasurementRow> {
    let started = &run.started;
    let row = |m: &MeasurementFacts| {
        let title = started.plan.step(&m.step).map(|step| figure_title(step, m.operation));
        MeasurementRow {
            host: started.machine_of(&m.target).to_owned(),
            target: m.target.clone(),
            step: m.step.clone(),
            title: title.unwrap_or_default(),
            operation: m.operation.name().to_owned(),
            metric: m.metric.name().to_owned(),
            unit: m.unit.clone(),
            value: m.estimate,
            low: m.low,
            high: m.high,
            repeats: u32::try_from(m.values.len()).unwrap_or(u32::MAX),
            is_headline: m.is_headline,
            better: better(m.metric).to_owned(),
        }
    };
    export.measurements.iter().map(row).collect()
}

fn better(metric: Metric) -> &'static str {
    match metric.better() {
        Better::Higher => "higher",
        Better::Lower => "lower",
        Better::Neither => "neither",
    }
}

fn comparison_rows(export: &RunExport) -> Vec<ComparisonRow> {
    let row = |c: &ComparisonFacts| ComparisonRow {
        step: c.step.clone(),
        operation: c.operation.name().to_owned(),
        metric: c.metric.name().to_owned(),
        target: c.target.clone(),
        baseline: c.baseline.clone(),
        ratio: c.ratio,
        low: c.low,
        high: c.high,
        verdict: c.verdict.name().to_owned(),
    };
    export.comparisons.iter().map(row).collect()
}

fn finding_rows(export: &RunExport) -> Vec<FindingRow> {
    let row = |f: &FindingFacts| FindingRow {
        severity: json::word(&f.severity),
        rule: f.rule.clone(),
        target: f.subject.target.clone(),
        step: f.subject.step.clone(),
        message: f.message.clone(),
        advice: f.advice.clone(),
    };
    export.findings.iter().map(row).collect()
}

fn verdict_rows(analysed: &AnalysedRun<'_>, analysis: &Analysis, export: &RunExport) -> Vec<VerdictRow> {
    let row = |(facts, judgement): (&RequirementFacts, &analyse::Judgement)| VerdictRow {
        profile: facts.profile.clone(),
        target: facts.target.clone(),
        step: facts.step.clone(),
        operation: facts.operation.name().to_owned(),
        metric: facts.metric.name().to_owned(),
        unit: facts.unit.clone(),
        bound: json::word(&facts.bound),
        limit: facts.limit,
        value: facts.estimate,
        low: facts.low,
        high: facts.high,
        verdict: facts.verdict.clone(),
        message: requirement_words(analysed, judgement),
    };
    export.requirements.iter().zip(&analysis.judgements).map(row).collect()
}

/// The row of a change.
pub(super) fn change_row(change: &Change) -> ChangeRow {
    let Change { key, title, run, point } = change;
    ChangeRow {
        host: key.host.clone(),
        target: key.target.clone(),
        step: key.step.clone(),
        workload: format!("{:016x}", key.workload),
        title: title.clone(),
        operation: key.operation.name().to_owned(),
        metric: key.metric.name().to_owned(),
        run: run.id.clone(),
        started_unix_us: run.started_unix_ns.div_euclid(1000),
        ratio: point.ratio.value,
        low: point.ratio.interval.map(|(low, _)| low),
        high: point.ratio.interval.map(|(_, high)| high),
        is_confirmed: point.is_confirmed,
    }
}
