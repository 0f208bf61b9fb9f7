//! From runs and analyses to the types of the export format.

use analyse::{
    ClientShare, Clients, Cost, Curve, Difference, Headroom, HourFigure, HoursVerdict, Judgement, Knee,
    RepeatDiagnostics, Shares, Standing, Starts, Summary, TargetByHour, differences, headline,
};
use model::{
    Comparison, Estimate, Evidence, Figure, Finding, Host, Imported, Layer, LoggedOffset, Measurement,
    OffsetLog, Operation, Reference, RemoteHost, RepeatOutcome, Run, StallEffect, Target, path_text,
};
use serde::Serialize;

use super::schema::*;
use crate::answer::answers;
use crate::view::{AnalysedRun, ComparedRuns};

/// Everything about a run.
pub fn run_export(analysed: &AnalysedRun<'_>) -> RunExport {
    let AnalysedRun { run, analysis, .. } = *analysed;
    let started = &run.started;
    RunExport {
        schema: SCHEMA,
        answer: answers(analysed),
        run: run_facts(run),
        targets: started.targets.iter().map(|t| target_facts(run, t)).collect(),
        steps: started
            .plan
            .steps
            .iter()
            .map(|s| StepFacts {
                id: s.id.clone(),
                title: s.title.clone(),
                workload: serde_json::to_value(&s.workload).unwrap_or_default(),
            })
            .collect(),
        repeats: run.repeats.iter().map(repeat_facts).collect(),
        measurements: analysis
            .measurements
            .iter()
            .zip(&analysis.diagnostics)
            .map(|(m, diagnostics)| MeasurementFacts {
                is_headline: started.plan.step(&m.step).and_then(|s| headline(s, m.operation))
                    == Some(m.metric),
                ..measurement_facts(m, diagnostics.as_ref())
            })
            .collect(),
        requirements: analysis.judgements.iter().map(requirement_facts).collect(),
        headrooms: analysis.headrooms.iter().map(headroom_facts).collect(),
        comparisons: analysis.comparisons.iter().map(comparison_facts).collect(),
        summaries: analysis.summaries.iter().map(summary_facts).collect(),
        costs: analysis.costs.iter().map(cost_facts).collect(),
        clients: analysis.clients.as_ref().map(|clients| clients_facts(run, clients)),
        groups: analysis.groups.as_ref().map(|groups| GroupsFacts {
            machines: groups.groups.iter().cloned().collect(),
            comparisons: groups.comparisons.iter().map(comparison_facts).collect(),
        }),
        findings: analysis.findings.iter().map(finding_facts).collect(),
        notes: run
            .notes
            .iter()
            .map(|n| NoteFacts {
                seconds: n.at_ns as f64 / 1e9,
                severity: n.severity,
                topic: n.topic.clone(),
                target: n.target.clone(),
                message: n.message.clone(),
            })
            .collect(),
    }
}

fn clients_facts(run: &Run, clients: &Clients) -> ClientsFacts {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let client = |client: &ClientShare| ClientShareFacts {
        host: run.started.machine_name(client.host).to_owned(),
        iops: client.iops,
        bandwidth: client.bandwidth,
        share: client.share,
        p99: client.p99_ns,
    };
    let shares = |shares: &Shares| SharesFacts {
        step: shares.step.clone(),
        operation: shares.operation,
        target: shares.target.clone(),
        clients: shares.clients.iter().map(client).collect(),
        fairness: shares.fairness,
    };
    let starts = |starts: &Starts| StartsFacts {
        target: starts.target.clone(),
        repeats: starts.repeats,
        skew_seconds: seconds(starts.skew_ns),
        most_skew_seconds: seconds(starts.most_skew_ns),
        within_seconds: seconds(starts.within_ns),
        ends_seconds: seconds(starts.ends_ns),
    };
    let curve = |curve: &Curve| CurveFacts {
        step: curve.step.clone(),
        operation: curve.operation,
        metric: curve.metric,
        points: curve.points.iter().map(|(count, _, value)| (*count, *value)).collect(),
        knee: match curve.knee {
            Knee::At(count) => Some((count, count)),
            Knee::Between(from, to) => Some((from, to)),
            Knee::Beyond(_) => None,
        },
    };
    ClientsFacts {
        shares: clients.shares.iter().map(shares).collect(),
        starts: clients.starts.iter().map(starts).collect(),
        curves: clients.curves.iter().map(curve).collect(),
    }
}

/// The serialised form of an enum without content, which is a word.
pub fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// The run itself.
pub fn run_facts(run: &Run) -> RunFacts {
    let started = &run.started;
    let at = jiff::Timestamp::from_nanosecond(i128::from(started.started_unix_ns)).unwrap_or_default();
    RunFacts {
        id: started.id.clone(),
        started: at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        host: host_facts(&started.host),
        hosts: started.hosts.iter().map(remote_facts).collect(),
        version: started.version.clone(),
        suite: started.plan.suite.clone(),
        plan: started.plan.id.clone(),
        seed: started.seed,
        command: started.command.clone(),
        outcome: run.finished.as_ref().map(|f| f.outcome),
        seconds: run.finished.as_ref().map(|f| f.at_ns as f64 / 1e9),
    }
}

fn remote_facts(remote: &RemoteHost) -> RemoteHostFacts {
    RemoteHostFacts {
        name: remote.name.clone(),
        machine: host_facts(&remote.machine),
        clock_ahead_seconds: remote.ahead_ns as f64 / 1e9,
        clock_within_seconds: remote.within_ns as f64 / 1e9,
    }
}

/// The machine.
pub(crate) fn host_facts(host: &Host) -> HostFacts {
    HostFacts {
        id: host.id.clone(),
        name: host.name.clone(),
        kernel: host.kernel.clone(),
        architecture: host.architecture.clone(),
        cpu: host.cpu.clone(),
        cpus: host.cpus,
        memory: host.memory_bytes,
        board: host.board.clone(),
        os: host.os.clone(),
        facts: host.facts.clone(),
    }
}

/// A layer.
pub(crate) fn layer_facts(layer: &Layer) -> LayerFacts {
    LayerFacts { kind: layer.kind, name: layer.name.clone(), level: layer.level, facts: layer.facts.clone() }
}

fn target_facts(run: &Run, target: &Target) -> TargetFacts {
    let layouts = run.layouts.iter().filter(|l| l.target == target.name);
    let (bytes, ns) = layouts.fold((0, 0), |(bytes, ns), l| (bytes + l.bytes, ns + l.elapsed_ns));
    TargetFacts {
        name: target.name.clone(),
        path: path_text(&target.path),
        kind: target.kind,
        size: target.size_bytes,
        laid_out: (bytes > 0).then_some(bytes),
        layout_seconds: (bytes > 0).then_some(ns as f64 / 1e9),
        stack: target.stack.iter().map(layer_facts).collect(),
        labels: target.labels.clone(),
        host: run.started.machine_name(target.host).to_owned(),
        server: target.server.map(|server| run.started.machine_name(server).to_owned()),
    }
}

fn repeat_facts(repeat: &model::Repeat) -> RepeatFacts {
    let s = &repeat.started;
    let (outcome, failure) = match repeat.finished.as_ref().map(|f| &f.outcome) {
        None => ("killed", None),
        Some(RepeatOutcome::Completed) => ("completed", None),
        Some(RepeatOutcome::Interrupted) => ("interrupted", None),
        Some(RepeatOutcome::Failed(failure)) => ("failed", Some(failure.to_string())),
    };
    RepeatFacts {
        step: s.step.clone(),
        target: s.target.clone(),
        round: s.round,
        engine: s.engine.name().to_owned(),
        direct: s.direct,
        size: s.size_bytes,
        seed: s.seed,
        outcome: outcome.to_owned(),
        failure,
        imported: repeat.imported.as_deref().map(imported_facts),
        offset_log: repeat.finished.iter().flat_map(|f| &f.offset_log).map(offset_log_facts).collect(),
    }
}

fn offset_log_facts((operation, offset_log): (&Operation, &OffsetLog)) -> OffsetLogFacts {
    let entry = |p: &LoggedOffset| [p.offset, p.bytes, p.ns];
    OffsetLogFacts {
        operation: *operation,
        left_out: offset_log.left_out,
        kept: offset_log.kept.iter().map(entry).collect(),
    }
}

fn imported_facts(imported: &Imported) -> ImportedFacts {
    let figure = |f: &Figure| FigureFacts {
        operation: f.operation,
        metric: f.metric,
        unit: f.metric.unit().to_owned(),
        value: f.value,
        printed: f.printed.as_ref().map(|p| p.text.clone()),
        printed_value: f.printed.as_ref().map(|p| p.value),
        line: f.printed.as_ref().map(|p| p.line),
        recomputed: f.recomputed.as_ref().map(|r| r.value),
        recomputed_from: f.recomputed.as_ref().map(|r| r.from.clone()),
    };
    ImportedFacts {
        tool: imported.tool.clone(),
        version: imported.version.clone(),
        file: imported.file.clone(),
        line: imported.line,
        labels: imported.labels.clone(),
        facts: imported.facts.clone(),
        unsaid: imported.unsaid.clone(),
        figures: imported.figures.iter().map(figure).collect(),
    }
}

fn measurement_facts(m: &Measurement, diagnostics: Option<&RepeatDiagnostics>) -> MeasurementFacts {
    MeasurementFacts {
        target: m.target.clone(),
        step: m.step.clone(),
        operation: m.operation,
        metric: m.metric,
        unit: m.metric.unit().to_owned(),
        method: m.method.to_owned(),
        is_headline: false,
        values: m.values.iter().map(|(_, v)| *v).collect(),
        rounds: m.values.iter().map(|(r, _)| *r).collect(),
        modes: diagnostics.and_then(|l| l.modes.as_ref()).map(|modes| [modes.low_mean, modes.high_mean]),
        estimate: m.estimate.value,
        low: m.estimate.interval.map(|i| i.0),
        high: m.estimate.interval.map(|i| i.1),
    }
}

fn cost_facts(cost: &Cost) -> CostFacts {
    CostFacts {
        of: cost.of.clone(),
        target: cost.target.clone(),
        plain: cost.plain.clone(),
        on: cost.on.clone(),
        comparisons: cost.comparisons.iter().map(comparison_facts).collect(),
    }
}

fn headroom_facts(headroom: &Headroom) -> HeadroomFacts {
    let tried = |(load, judgements): &(f64, Vec<Judgement>)| TriedFacts {
        load: *load,
        verdict: Standing::of_all(judgements.iter().map(|j| j.standing)).name().to_owned(),
        requirements: judgements.iter().map(requirement_facts).collect(),
    };
    HeadroomFacts {
        unit: headroom.unit.clone(),
        target: headroom.target.clone(),
        carried: headroom.carried,
        too_much: headroom.too_much,
        highest: headroom.highest,
        tried: headroom.tried.iter().map(tried).collect(),
    }
}

pub(crate) fn requirement_facts(judgement: &Judgement) -> RequirementFacts {
    let r = &judgement.requirement;
    let interval = judgement.figure.and_then(|figure| figure.interval);
    RequirementFacts {
        profile: r.profile.clone(),
        target: judgement.target.clone(),
        step: r.step.clone(),
        operation: r.operation,
        metric: r.metric,
        unit: r.metric.unit().to_owned(),
        bound: r.bound,
        limit: r.limit,
        relative_to: r.relative_to.as_ref().map(|reference| match reference {
            Reference::Target(name) => name.clone(),
            Reference::Run(earlier) => format!("{}:{}", earlier.run, earlier.of),
        }),
        source: r.source.clone(),
        estimate: judgement.figure.map(|figure| figure.value),
        low: interval.map(|(low, _)| low),
        high: interval.map(|(_, high)| high),
        verdict: judgement.standing.name().to_owned(),
        headroom: judgement.headroom,
        rounds: judgement.rounds,
        operations: judgement.operations,
        more_rounds: judgement.more_rounds,
    }
}

fn comparison_facts(c: &Comparison) -> ComparisonFacts {
    ComparisonFacts {
        step: c.step.clone(),
        operation: c.operation,
        metric: c.metric,
        target: c.target.clone(),
        baseline: c.baseline.clone(),
        ratio: c.ratio.value,
        low: c.ratio.interval.map(|i| i.0),
        high: c.ratio.interval.map(|i| i.1),
        verdict: c.verdict,
        more_rounds: c.more_rounds,
        stalls: c.stalls.as_ref().map(stall_facts),
        unseen: c.unseen,
        method: c.method.to_owned(),
    }
}

fn stall_facts(stalls: &StallEffect) -> StallFacts {
    let StallEffect { between, verdict, lost, baseline_lost } = stalls;
    let low = |estimate: &Estimate| estimate.interval.map(|(low, _)| low);
    let high = |estimate: &Estimate| estimate.interval.map(|(_, high)| high);
    StallFacts {
        between: between.value,
        between_low: low(between),
        between_high: high(between),
        between_verdict: *verdict,
        lost: lost.value,
        lost_low: low(lost),
        lost_high: high(lost),
        baseline_lost: baseline_lost.value,
        baseline_lost_low: low(baseline_lost),
        baseline_lost_high: high(baseline_lost),
    }
}

fn summary_facts(s: &Summary) -> SummaryFacts {
    SummaryFacts {
        target: s.target.clone(),
        baseline: s.baseline.clone(),
        speed: s.speed.value,
        low: s.speed.interval.map(|i| i.0),
        high: s.speed.interval.map(|i| i.1),
        steps: s.steps,
    }
}

fn finding_facts(f: &Finding) -> FindingFacts {
    FindingFacts {
        rule: f.rule.clone(),
        severity: f.severity,
        subject: SubjectFacts { target: f.subject.target.clone(), step: f.subject.step.clone() },
        message: f.message.clone(),
        advice: f.advice.clone(),
        effect: f.effect,
        evidence: f.evidence.iter().map(evidence_facts).collect(),
    }
}

fn evidence_facts(e: &Evidence) -> EvidenceFacts {
    let scope = e.scope.clone().unwrap_or_default();
    EvidenceFacts {
        what: e.what.clone(),
        value: e.value,
        unit: e.unit.clone(),
        step: scope.step,
        rounds: scope.rounds,
        from_seconds: scope.seconds.map(|(from, _)| from),
        to_seconds: scope.seconds.map(|(_, to)| to),
    }
}

/// Several runs compared.
pub fn comparison_export(
    runs: &[&Run],
    compared: &ComparedRuns,
    by_hour: &[TargetByHour],
) -> ComparisonExport {
    let ComparedRuns { comparisons, summaries, costs, .. } = compared;
    ComparisonExport {
        schema: COMPARISON_SCHEMA,
        runs: runs.iter().map(|run| run_facts(run)).collect(),
        comparisons: comparisons.iter().map(comparison_facts).collect(),
        summaries: summaries.iter().map(summary_facts).collect(),
        costs: costs.iter().map(cost_facts).collect(),
        by_hour: by_hour.iter().flat_map(by_hour_facts).collect(),
        circumstances: circumstances(runs),
    }
}

fn circumstances(runs: &[&Run]) -> Vec<CircumstanceFacts> {
    let Some((first, others)) = runs.split_first() else { return Vec::new() };
    let facts = |run: &Run, d: Difference| CircumstanceFacts {
        run: run.started.id.clone(),
        target: d.target,
        layer: d.layer,
        what: d.what,
        before: d.before,
        after: d.after,
    };
    let of_run = |run: &&Run| differences(first, run).into_iter().map(|d| facts(run, d)).collect::<Vec<_>>();
    others.iter().flat_map(of_run).collect()
}

fn by_hour_facts(target: &TargetByHour) -> impl Iterator<Item = ByHourFacts> {
    target.steps.iter().map(|(step, found)| {
        let (verdict, missing_runs) = match found.verdict {
            HoursVerdict::Differ => ("differ", None),
            HoursVerdict::NotShown => ("not_shown", None),
            HoursVerdict::TooFew { missing } => ("too_few", Some(missing)),
            HoursVerdict::OneHour => ("one_hour", None),
        };
        let hour = |h: &HourFigure| HourFacts {
            hour: h.hour,
            runs: h.runs,
            speed: Some(h.speed.value).filter(|speed| speed.is_finite()),
            low: h.speed.interval.map(|i| i.0),
            high: h.speed.interval.map(|i| i.1),
        };
        ByHourFacts {
            target: target.target.clone(),
            plan: target.plan.clone(),
            step: step.clone(),
            runs: target.runs,
            within_days: found.within_days,
            p: found.p,
            verdict: verdict.to_owned(),
            missing_runs,
            hours: found.hours.iter().map(hour).collect(),
        }
    })
}
