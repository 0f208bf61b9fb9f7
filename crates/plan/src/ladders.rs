//! `seek` of a step: of the loads that its sweep offers the run seeks the highest that the storage carries.

use model::{Bound, Ladder, Metric, Pace, Plan, Requirement, Rounds, Rung, Step};

use crate::parse::{Setting, StepSpec};
use crate::problem::{Problem, SourceLocation};
use crate::values::{bytes_per_second, real};

/// The options that offer a load.
const LOADS: [&str; 2] = ["rate_iops", "rate"];
/// The share of an offered load that storage which carries it works off.
const CARRIED: f64 = 0.95;

/// Takes a step into the ladder of its specification, if that seeks one.
///
/// # Errors
/// The specification does not sweep a rate, or the rates do not rise.
pub(crate) fn add_rung(
    ladders: &mut Vec<Ladder>,
    spec: &StepSpec,
    settings: &[Setting],
    step: &Step,
) -> Result<(), Problem> {
    let Some((unit, each)) = &spec.seek else { return Ok(()) };
    let wrong = |what: String| Problem::error(spec.location.clone(), what);
    let key = match spec.sweep.as_slice() {
        [dimension] => dimension.first().map(|setting| setting.key).filter(|key| LOADS.contains(key)),
        _ => None,
    };
    let key = key.ok_or_else(|| {
        wrong(format!("step `{}` seeks the highest load but sweeps no rate", spec.id))
            .help("write sweep.rate_iops = [100, 200, 400] or sweep.rate = [\"10MB/s\", \"20MB/s\"], and nothing else in the sweep")
    })?;
    let number = |text: &str| match key {
        "rate" => bytes_per_second(text),
        _ => real(text, 0.0, 1e12),
    };
    let setting = settings.iter().find(|setting| setting.key == key);
    let load = setting.map_or(Ok(0.0), |setting| number(&setting.text)).map_err(&wrong)?;
    let each = number(each).map_err(|error| wrong(format!("seek_each: {error}")))?;
    let rung = Rung { step: step.id.clone(), load: load / each };
    match ladders.iter_mut().find(|ladder| ladder.unit == *unit) {
        None => ladders.push(Ladder { unit: unit.clone(), rungs: vec![rung] }),
        Some(ladder) if ladder.rungs.iter().all(|lower| lower.load < rung.load) => ladder.rungs.push(rung),
        Some(_) => {
            let what = format!("the loads of `{unit}` do not rise with `{}`", step.id);
            return Err(
                wrong(what).help("list the rates from the lowest to the highest, and give each step that seeks a unit of its own")
            );
        }
    }
    Ok(())
}

/// Requires of every rung that the load is worked off, and checks that something else is required, too.
///
/// # Errors
/// Nothing is required of a rung, or the number of rounds is fixed.
pub(crate) fn require_loads(plan: &mut Plan) -> Result<(), Vec<Problem>> {
    let problem = |what: String| Err(vec![Problem::error(SourceLocation::Nowhere, what)]);
    if !plan.ladders.is_empty() && matches!(plan.rounds, Rounds::Fixed(_)) {
        return problem(
            "a run that seeks the highest load chooses the number of rounds itself: leave out --rounds"
                .to_owned(),
        );
    }
    let mut loads = Vec::new();
    for rung in plan.ladders.iter().flat_map(|ladder| &ladder.rungs) {
        let own = plan.requirements.iter().find(|r| r.step == rung.step);
        let per_second = plan.step(&rung.step).and_then(|step| match step.workload.pace {
            Pace::Fixed { per_second } | Pace::Poisson { per_second } => Some(per_second),
            Pace::Closed => None,
        });
        let (Some(own), Some(per_second)) = (own, per_second) else {
            return problem(format!(
                "nothing is required of step `{}`, so no load would be too high",
                rung.step
            ));
        };
        loads.push(Requirement {
            metric: Metric::Iops,
            bound: Bound::AtLeast,
            limit: per_second * CARRIED,
            source: format!("the offered load, of which at least {:.0} % must be completed", CARRIED * 100.0),
            ..own.clone()
        });
    }
    plan.requirements.extend(loads);
    Ok(())
}
