//! Published scores of a run, as they were imported or as a finding computes them.

use analyse::Analysis;
use model::{Metric, Run};

/// The finding that computes PiBenchmarks' score of a run's own figures.
const PI_SCORE: &str = "pi-score";

/// Each score's title, with the targets that have one in the order of the run.
pub(crate) fn scores(run: &Run, analysis: &Analysis) -> Vec<(String, Vec<(String, f64)>)> {
    let mut found = Vec::new();
    for step in &run.started.plan.steps {
        let of = |name: &str| {
            let is_it =
                |m: &&model::Measurement| m.target == name && m.step == step.id && m.metric == Metric::Score;
            analysis.measurements.iter().find(is_it).map(|m| m.estimate.value)
        };
        found.push((step.title.clone(), of_targets(run, &of)));
    }
    let of = |name: &str| {
        let is_it = |f: &&model::Finding| f.rule == PI_SCORE && f.subject.target.as_deref() == Some(name);
        analysis.findings.iter().find(is_it)?.evidence.first().map(|e| e.value)
    };
    found.push(("PiBenchmarks: score".to_owned(), of_targets(run, &of)));
    found.retain(|(_, scores)| !scores.is_empty());
    found
}

fn of_targets(run: &Run, of: &dyn Fn(&str) -> Option<f64>) -> Vec<(String, f64)> {
    let names = run.started.targets.iter().map(|t| t.name.as_str());
    names.filter_map(|name| Some((name.to_owned(), of(name)?))).collect()
}
