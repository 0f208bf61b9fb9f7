//! The plan of a run, measured again.

use model::{EngineChoice, Plan, Rounds, Step};

use crate::check;
use crate::overrides::RunOverrides;
use crate::problem::{Level, Problem, SourceLocation};
use crate::resolve::{Environment, Resolved, check_names};
use crate::run_options::{DEFAULT_PRECISION_PPM, DEFAULT_SETTLE, DEFAULT_TELEMETRY};

/// The steps of an earlier plan, without its requirements. The user chooses among them, and how often they are repeated.
///
/// # Errors
/// All problems, if at least one is an error: an option would change the steps, a step was measured by another program or cannot be
/// measured here, or none is left.
pub fn again(
    earlier: &Plan,
    overrides: &RunOverrides,
    environment: &Environment,
) -> Result<Resolved, Vec<Problem>> {
    let error = |location, message: String| Problem::error(location, message);
    let ids: Vec<String> = earlier.steps.iter().map(|step| step.id.clone()).collect();
    check_names(overrides, &ids)?;
    let sweeps = overrides.sweeps.iter().flatten();
    let changed = overrides.settings.iter().chain(sweeps).map(|setting| {
        let message = format!("{} would change the steps of the earlier run", setting.key);
        error(setting.location.clone(), message).help("leave it out, or name a suite with the same steps")
    });
    let mut problems: Vec<Problem> = changed.collect();
    problems.extend(overrides.scale.map(|_| {
        error(
            SourceLocation::Flag("scale".to_owned()),
            "it would change the steps of the earlier run".to_owned(),
        )
    }));
    let steps: Vec<Step> = earlier.steps.iter().filter(|step| overrides.wants(&step.id)).cloned().collect();
    if steps.is_empty() {
        problems.push(error(
            SourceLocation::Nowhere,
            "there is nothing to do: --only and --skip leave no step".to_owned(),
        ));
    }
    problems.extend(steps.iter().flat_map(|step| misfits(step, environment)));
    if problems.iter().any(|problem| problem.level == Level::Error) {
        return Err(problems);
    }
    let auto = |budget_ns: u64| {
        let precision_ppm = overrides.precision_ppm.unwrap_or(match earlier.rounds {
            Rounds::Auto { precision_ppm, .. } if precision_ppm > 0 => precision_ppm,
            _ => DEFAULT_PRECISION_PPM,
        });
        Rounds::Auto { budget_ns, precision_ppm }
    };
    let rounds = match (overrides.rounds, overrides.budget_ns, earlier.rounds) {
        (Some(rounds), ..) => Rounds::Fixed(rounds),
        (None, Some(budget_ns), _) => auto(budget_ns),
        (None, None, Rounds::Auto { budget_ns, .. }) => auto(budget_ns),
        (None, None, Rounds::Fixed(_)) if overrides.rounds_auto => {
            auto(earlier.budget_ns.unwrap_or_else(|| {
                crate::run_options::DEFAULT_BUDGET_NS.saturating_mul(u64::from(environment.targets.max(1)))
            }))
        }
        (None, None, fixed) => fixed,
    };
    let plan = Plan {
        rounds,
        requirements: Vec::new(),
        ladders: Vec::new(),
        makings: 1,
        margin_ppm: overrides.margin_ppm.unwrap_or(earlier.margin_ppm),
        budget_ns: overrides.budget_ns.filter(|_| matches!(rounds, Rounds::Fixed(_))),
        steps,
        ..earlier.clone()
    };
    let settings = plan.steps.iter().map(|_| Vec::new()).collect();
    Ok(Resolved {
        plan,
        warnings: problems,
        settings,
        telemetry_period: overrides.telemetry.unwrap_or(DEFAULT_TELEMETRY).period(),
        settle: overrides.settle.unwrap_or(DEFAULT_SETTLE),
    })
}

/// Why a step cannot be measured here, or what is doubtful about it.
fn misfits(step: &Step, environment: &Environment) -> Vec<Problem> {
    if !step.foreign.is_empty() {
        let message = format!("step `{}` was measured by another program", step.id);
        return vec![Problem::error(SourceLocation::Nowhere, message).help("leave it out with --skip")];
    }
    let engine = match step.engine {
        EngineChoice::Auto => environment.engines.first(),
        EngineChoice::Only(kind) => environment.engines.iter().find(|engine| engine.kind == kind),
    };
    let found = check::misfits(step, engine, environment.memory_bytes);
    let problem = |what: check::Contradiction| {
        let make = if what.fatal { Problem::error } else { Problem::warning };
        make(SourceLocation::Nowhere, format!("step `{}`: {}", step.id, what.message)).help(what.help)
    };
    found.into_iter().map(problem).collect()
}
