//! What a run would do.

use model::units::{ExactSize, ShortDuration};
use model::{Plan, Reference, Rounds, Step, Target};
use plan::{AUTO_SIZE_BYTES, Resolved, Setting, SourceLocation};

use super::engines::Engines;
use crate::executor::shortage;

/// The text of a dry run.
pub(super) fn dry_run(resolved: &Resolved, targets: &[Target], engines: &Engines) -> String {
    let plan = &resolved.plan;
    let mut text = format!("suite {} (plan {}), nothing has been done\n", plan.suite, plan.id);
    for target in targets {
        let (name, path) = (&target.name, target.path.display());
        let layers = target.stack_line();
        let layers = if layers.is_empty() { String::new() } else { format!(" ({layers})") };
        text.push_str(&format!("target {name}: {path}{layers}\n"));
        if let Some(shortage) = Some(target).filter(|t| t.is_on(0)).and_then(|t| shortage(plan, t)) {
            text.push_str(&format!("{shortage}\n"));
        }
    }
    text.push_str(&format!("{}\n", engines.sentence()));
    resolved.warnings.iter().for_each(|w| text.push_str(&format!("warning: {}\n", w.message)));
    let obstacles: Vec<Vec<Option<String>>> = targets.iter().map(|t| plan::obstacles(plan, t)).collect();
    let possible = obstacles.iter().flat_map(|whys| plan.steps.iter().zip(whys));
    let seconds: f64 = possible.filter(|(_, why)| why.is_none()).map(|(step, _)| step.seconds()).sum();
    text.push_str(&match plan.rounds {
        Rounds::Fixed(rounds) => {
            let budget = plan.budget_ns.map(|ns| format!(", at most {}", ShortDuration(ns)));
            let budget = budget.unwrap_or_default();
            let rounds = if rounds == 1 { "one round".to_owned() } else { format!("{rounds} rounds") };
            let about =
                if seconds < 0.95 { "less than a second".to_owned() } else { format!("about {seconds:.0} s") };
            format!("{rounds} of {about}, plus the layout of the test files{budget}\n")
        }
        Rounds::Auto { budget_ns, .. } if plan.makings > 1 => format!(
            "rounds of {seconds:.0} s at most, on one making after the other, for {} including the layout of the test files\n",
            ShortDuration(budget_ns)
        ),
        Rounds::Auto { budget_ns, precision_ppm } => format!(
            "rounds of {seconds:.0} s at most, each step until {} is within ± {} %, at most {} including the layout of the test files\n",
            match (plan.requirements.is_empty(), targets.len()) {
                (false, _) => "what is required of it is decided, and if nothing is, its figure",
                (true, 2..) => "its comparisons are decided or their ratio",
                (true, _) => "its figure",
            },
            f64::from(precision_ppm) / 1e4,
            ShortDuration(budget_ns)
        ),
    });
    text.push_str(&over_budget(plan, targets, 2.0 * seconds));
    for ladder in &plan.ladders {
        let loads: Vec<String> = ladder.rungs.iter().map(|rung| rung.load.to_string()).collect();
        text.push_str(&format!("seeks how many {} are carried: {}\n", ladder.unit, loads.join(", ")));
    }
    // Of a ladder, what is required of the lowest load stands for all.
    let stands = |r: &&model::Requirement| plan.ladder_of(&r.step).is_none_or(|l| l.rungs[0].step == r.step);
    for r in plan.requirements.iter().filter(stands) {
        let limit = match (&r.relative_to, r.metric.unit()) {
            (Some(Reference::Target(name)), _) => format!("{:.4} of that on {name}", r.limit),
            (Some(Reference::Run(earlier)), _) => format!("{:.4} of that in run {}", r.limit, earlier.run),
            (None, "ns") => ShortDuration(r.limit as u64).to_string(),
            (None, unit) => format!("{} {unit}", r.limit),
        };
        let what = format!("{} of {}: {} {limit}", r.metric, r.operation, r.bound.words());
        text.push_str(&format!("{} requires of {} {what}\n    source: {}\n", r.profile, r.step, r.source));
    }
    for (i, (step, settings)) in plan.steps.iter().zip(&resolved.settings).enumerate() {
        text.push_str(&dry_step(plan, step, settings, targets));
        for (target, why) in
            targets.iter().zip(&obstacles).filter_map(|(t, whys)| Some((t, whys[i].as_ref()?)))
        {
            text.push_str(&format!("    left out on {}: {why}\n", target.name));
        }
    }
    // Options that no step sets are listed once.
    let untouched = plan::OPTIONS.iter().filter(|option| {
        let is_default = |s: &Setting| s.key == option.key && s.location == SourceLocation::Nowhere;
        resolved.settings.iter().all(|step| step.iter().any(is_default))
    });
    let untouched: Vec<String> = untouched.map(|o| format!("{} = {}", o.key, o.default)).collect();
    text.push_str(&format!("\nby default: {}\n", untouched.join(", ")));
    text
}

/// That two rounds, which take so many seconds, take longer than the budget; nothing where the run chooses the lengths.
fn over_budget(plan: &Plan, targets: &[Target], seconds: f64) -> String {
    match plan.rounds {
        Rounds::Auto { budget_ns, .. }
            if seconds * 1e9 > budget_ns as f64 && !targets.iter().all(|t| t.direct) =>
        {
            format!("but two rounds are always run, which takes about {seconds:.0} s\n")
        }
        _ => String::new(),
    }
}

fn dry_step(plan: &Plan, step: &Step, settings: &[Setting], targets: &[Target]) -> String {
    let mut text = format!("\n{}  {}\n", step.id, step.title);
    let set = settings.iter().filter_map(|s| match &s.location {
        SourceLocation::Suite(_) => Some(format!("{} = {}", s.key, s.text)),
        SourceLocation::Flag(flag) => Some(format!("{} = {} (by --{flag})", s.key, s.text)),
        SourceLocation::Nowhere => None,
    });
    text.push_str(&format!("    {}\n", set.collect::<Vec<_>>().join(", ")));
    if let (Rounds::Auto { .. }, Some(least), Some(most)) = (plan.rounds, step.shortest_ns, step.stop.time_ns)
        && targets.iter().all(|target| target.direct)
    {
        text.push_str(&format!(
            "    repeats of {} to {}: at least 50 operations and ten syncs, the first one long; then what decides soonest\n",
            ShortDuration(least),
            ShortDuration(most)
        ));
    }
    for other in &step.concurrent {
        text.push_str(&format!("    concurrent: {}  {}\n", other.id, other.title));
    }
    if !step.workload.is_metadata() {
        let size = step.workload.files.size_bytes.map_or_else(
            || {
                let time = ShortDuration(plan.layout_limit_ns);
                format!("up to {}, as much as can be written in {time}", ExactSize(AUTO_SIZE_BYTES))
            },
            |bytes| ExactSize(bytes).to_string(),
        );
        text.push_str(&format!("    test data: {size}, {}\n", step.workload.data));
    }
    text
}
