//! `lodestone crosscheck`: the classic tools and Lodestone in turn on the same storage; whether their figures agree.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::ExitCode;

use analyse::{Estimator, agreements, analyse};
use host::{Hold, Roots, identify, presence};
use model::units::counted;
use model::units::{parse_duration_ns, parse_size};
use model::{
    CheckedWork, LayerKind, OWN_TARGET, Plan, Rounds, Run, Severity, Step, TOOLS_TARGET, Target, TargetKind,
};
use plan::checks::{
    AGREEMENT_MARGIN_PPM, CHECKS, CROSSCHECK_SUITE, Check, TOOLS, Tool, Values, WorksOn, suite,
};
use plan::{Environment, RunOverrides, resolve};
use report::{TerminalText, crosscheck_document, crosscheck_export, json, markdown, text};
use schedule::Scheduler;

use super::engines::Engines;
use super::problems;
use super::results::find;
use super::run::{clean_leftovers, named_in_text, new_executor, started};
use super::unsafe_directories::{self, Noticed};
use super::verdict::concluded;
use super::{store, units, view};
use crate::cli::{Cli, CrosscheckArgs, CrosscheckForm};
use crate::executor::{Driver, Local, TargetState, Tools};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::session::Session;
use crate::{interrupt, output};

/// The smallest size of the test data: work in whole mebibytes needs as much.
const LEAST_BYTES: u64 = 16 << 20;

/// Measures with tools and with Lodestone, and shows both; or shows a stored crosscheck.
///
/// # Errors
/// Wrong usage, nothing that could be compared, or a failure that is not the storage's.
pub fn crosscheck(cli: &Cli, args: &CrosscheckArgs) -> Result<ExitCode, Failure> {
    if let Some(name) = &args.show {
        let run = find(&store(cli)?, name)?;
        if run.started.plan.suite != CROSSCHECK_SUITE {
            return Err(Failure::usage(format!("run {} is not a crosscheck", run.started.id)));
        }
        output::print(shown(cli, args, &run))?;
        return Ok(ExitCode::SUCCESS);
    }
    let asked = Asked::of(args)?;
    let roots = Roots::default();
    let target = one_target(&roots, args.target.as_deref().unwrap_or(".".as_ref()))?;
    let noticed = unsafe_directories::check(std::slice::from_ref(&target), args.allow_unsafe_directory)?;
    let device = device_below(&roots, &target);
    let mut chosen = chosen(&roots, &asked, &target, device.as_ref().map_err(Clone::clone));
    if chosen.calls.is_empty() {
        return Err(Failure::failed(format!(
            "there is nothing to compare:\n  {}",
            chosen.left_out.join("\n  ")
        )));
    }
    let code = measure(cli, args, &asked, &mut chosen, (target, noticed), device.ok())?;
    Ok(code)
}

/// The user's choices.
struct Asked {
    tools: Vec<&'static Tool>,
    /// Ids of parts of checks; all if there are none.
    only: Vec<&'static str>,
    rounds: Option<u32>,
    budget_ns: Option<u64>,
    size: u64,
    runtime_s: u64,
}

impl Asked {
    fn of(args: &CrosscheckArgs) -> Result<Self, Failure> {
        let known: Vec<&str> = TOOLS.iter().map(|tool| tool.word).collect();
        let mut tools = Vec::new();
        for word in &args.with {
            let found = TOOLS.iter().find(|tool| tool.word == word || tool.program == word);
            tools.push(found.ok_or_else(|| {
                Failure::usage(format!(
                    "--with: there is no tool `{word}`; the tools are {}",
                    known.join(", ")
                ))
            })?);
        }
        if tools.is_empty() {
            tools = TOOLS.iter().collect();
        }
        let wrong =
            |flag: &str, text: &str, allowed: &str| Failure::usage(format!("--{flag} {text}: {allowed}"));
        let mut only = Vec::new();
        for id in &args.only {
            let check = CHECKS.iter().find(|check| check.id == id || check.parts.iter().any(|p| p.id == id));
            let Some(check) = check else {
                let ids: Vec<&str> = CHECKS.iter().map(|check| check.id).collect();
                return Err(wrong(
                    "only",
                    id,
                    &format!("there is no such check; the checks are {}", ids.join(", ")),
                ));
            };
            if !tools.iter().any(|tool| tool.word == check.tool) {
                let clash = format!("it is a check of {}, which --with leaves out", check.tool);
                return Err(wrong("only", id, &clash));
            }
            let parts = check.parts.iter().filter(|part| check.id == id || part.id == id);
            only.extend(parts.map(|part| part.id));
        }
        let size = parse_size(&args.size).ok().filter(|bytes| *bytes >= LEAST_BYTES);
        let size = size.ok_or_else(|| wrong("size", &args.size, "use a size from 16MiB, such as 1GiB"))?;
        let runtime = parse_duration_ns(&args.runtime).ok();
        let whole = runtime.filter(|ns| *ns > 0 && ns.is_multiple_of(1_000_000_000));
        let allowed = "use whole seconds, such as 3s: not all tools support fractions";
        let runtime_s = whole.ok_or_else(|| wrong("runtime", &args.runtime, allowed))? / 1_000_000_000;
        // Files of one size each, all of them of whole blocks.
        let size = size / LEAST_BYTES * LEAST_BYTES;
        let budget = |text: &String| {
            let ns = parse_duration_ns(text).ok().filter(|ns| *ns > 0);
            ns.ok_or_else(|| wrong("budget", text, "use a time, such as 10m or 1h"))
        };
        let budget_ns = args.budget.as_ref().map(budget).transpose()?;
        Ok(Self { tools, only, rounds: args.rounds, budget_ns, size, runtime_s })
    }

    fn values(&self) -> Values {
        let only = self.only.clone();
        Values {
            size: self.size,
            runtime: self.runtime_s,
            is_root: host::is_root(),
            only,
            ..Values::default()
        }
    }

    fn wants(&self, check: &Check) -> bool {
        let of_tool = self.tools.iter().any(|tool| tool.word == check.tool);
        of_tool && check.wanted(&self.values()).next().is_some()
    }
}

fn one_target(roots: &Roots, path: &OsStr) -> Result<Target, Failure> {
    let mut targets = host::target::inspect_all(roots, &[path]).map_err(Failure::usage)?;
    let mut target = targets.remove(0);
    named_in_text(&target)?;
    if target.kind != TargetKind::Directory {
        // The user's files and devices are only read.
        target.writable = false;
    }
    Ok(target)
}

/// The block device that holds the target, if it can be read; or why not.
fn device_below(roots: &Roots, target: &Target) -> Result<Target, String> {
    if target.kind == TargetKind::BlockDevice {
        return Ok(target.clone());
    }
    let is_device = |kind: LayerKind| !matches!(kind, LayerKind::Filesystem | LayerKind::Network);
    let layer = target.stack.iter().find(|layer| is_device(layer.kind));
    let name = layer.map(|layer| layer.name.trim_start_matches("/dev/").to_owned());
    let name = name.ok_or_else(|| format!("cannot find a block device below {}", target.path.display()))?;
    let path = format!("/dev/{name}");
    let device = host::target::inspect(roots, &path).map_err(|e| e.to_string())?;
    Ok(Target { writable: false, ..device })
}

/// The checks that can run, and those left out with the reason.
struct Chosen {
    calls: Vec<(&'static Check, PathBuf)>,
    left_out: Vec<String>,
}

fn chosen(roots: &Roots, asked: &Asked, target: &Target, device: Result<&Target, String>) -> Chosen {
    let mut chosen = Chosen { calls: Vec::new(), left_out: Vec::new() };
    for tool in &asked.tools {
        let checks: Vec<&'static Check> =
            CHECKS.iter().filter(|c| c.tool == tool.word && asked.wants(c)).collect();
        let Some(program) = host::programs::find_by_path(roots, tool.program).filter(|_| !checks.is_empty())
        else {
            if !checks.is_empty() {
                chosen
                    .left_out
                    .push(format!("{}: {} is not installed; {}", tool.word, tool.program, tool.install));
            }
            continue;
        };
        for check in checks {
            match obstacle(check, asked, target, &device) {
                None => chosen.calls.push((check, program.clone())),
                Some(why) => chosen.left_out.push(format!("{}: {why}", check.id)),
            }
        }
    }
    chosen
}

/// Why a check cannot run here; `None` if it can.
fn obstacle(
    check: &Check,
    asked: &Asked,
    target: &Target,
    device: &Result<&Target, String>,
) -> Option<String> {
    if let Err(why) = suite(&[check], &asked.values()) {
        return Some(why);
    }
    let is_directory = target.kind == TargetKind::Directory;
    match check.works_on {
        WorksOn::Device => device.as_ref().err().cloned(),
        WorksOn::DataFile if is_directory => None,
        WorksOn::DataFile => {
            let steps = steps(&[check], asked).ok()?;
            let writes = steps.iter().any(|step| step.workload.modifies());
            writes.then(|| {
                "it writes, and existing files and devices are only read; name a directory".to_owned()
            })
        }
        WorksOn::DataFiles(_) | WorksOn::OwnFiles => {
            (!is_directory).then(|| "it creates its own files, which needs a directory".to_owned())
        }
    }
}

/// The native steps of checks.
fn steps(checks: &[&Check], asked: &Asked) -> Result<Vec<Step>, Failure> {
    resolved(checks, asked).map(|plan| plan.steps)
}

fn resolved(checks: &[&Check], asked: &Asked) -> Result<Plan, Failure> {
    let suite = suite(checks, &asked.values()).map_err(Failure::failed)?;
    let overrides = RunOverrides {
        rounds: asked.rounds,
        budget_ns: asked.budget_ns,
        margin_ppm: Some(AGREEMENT_MARGIN_PPM),
        ..RunOverrides::default()
    };
    let engines = Engines::probe();
    let environment = Environment { memory_bytes: 0, engines: engines.capabilities(), targets: 1 };
    let resolved = resolve(&suite, &overrides, &environment)
        .map_err(|problems| Failure::failed(problems::shown(&problems, CROSSCHECK_SUITE, "")))?;
    Ok(resolved.plan)
}

/// Measures everything and shows it.
fn measure(
    cli: &Cli,
    args: &CrosscheckArgs,
    asked: &Asked,
    chosen: &mut Chosen,
    (target, noticed): (Target, Vec<Noticed>),
    device: Option<Target>,
) -> Result<ExitCode, Failure> {
    let roots = Roots::default();
    let checks: Vec<&Check> = chosen.calls.iter().map(|(check, _)| *check).collect();
    let plan = resolved(&checks, asked)?;
    let store = store(cli)?;
    let interrupt = interrupt::watch()
        .map_err(|e| Failure::failed(format!("cannot watch for Ctrl-C: {e}")).because(&e))?;
    let cleaned = clean_leftovers(std::slice::from_ref(&target), &store);
    let named = |name: &str, target: &Target| Target { name: name.to_owned(), ..target.clone() };
    let targets = vec![named(TOOLS_TARGET, &target), named(OWN_TARGET, &target)];
    let started = started(args.seed, identify(&roots), targets, TOOLS_TARGET.to_owned(), plan.clone());
    let presence = presence::announce(&started.id).ok();
    let targets = lent_targets(asked, chosen, &target, device.as_ref())?;
    let engines = Engines::probe();
    let plain = args.format == CrosscheckForm::Json;
    let mut executor = Local {
        presence,
        targets,
        ..new_executor(
            roots,
            &plan,
            &engines,
            started,
            &store,
            interrupt,
            Progress::new(cli.quiet, plain, units(cli, None)),
        )?
    };
    unsafe_directories::note(&mut executor, noticed);
    for message in cleaned {
        executor.note(Severity::Info, "leftovers", None, message);
    }
    for message in &chosen.left_out {
        executor.note(Severity::Warning, "tool-missing", None, message.clone());
    }
    if !cli.quiet {
        output::say(&format!("lodestone: {}", how_long(&plan, &checks, &asked.values())));
    }
    let mut scheduler = Scheduler::new(plan.clone(), TOOLS_TARGET.to_owned(), executor.seed);
    scheduler.side_by_side(groups(&checks, &plan));
    let (recorder, broken) = Session { scheduler, executor: executor.into() }.run();
    let run = recorder.run();
    output::print(shown(cli, args, run))?;
    if recorder.log_location().trouble().is_none() {
        output::say(&format!(
            "saved as run {0}; `lodestone crosscheck --show {0}` shows it again",
            run.started.id
        ));
    }
    // The index follows the logs by itself; updating it now only makes the next listing faster.
    let _ = store.runs();
    if let Some(error) = broken {
        return Err(Failure::failed(error));
    }
    if let Some(trouble) = recorder.log_location().trouble() {
        return Err(Failure::failed(trouble));
    }
    let analysis = analyse(run, TOOLS_TARGET, Estimator::Median, model::Units::Decimal);
    Ok(ExitCode::from(concluded(run, &analysis, false)))
}

/// How long the crosscheck takes, before it begins.
fn how_long(plan: &Plan, checks: &[&Check], values: &Values) -> String {
    let own: f64 = plan.steps.iter().map(Step::seconds).sum();
    let share = |check: &Check| check.wanted(values).count() as f64 / check.parts.len() as f64;
    let more: f64 = checks.iter().map(|check| check.extra_seconds as f64 * share(check)).sum();
    let round = 2.0 * own + more;
    let shown = |seconds: f64| match seconds {
        s if s < 100.0 => format!("{s:.0} s"),
        s => format!("{:.0} min", s / 60.0),
    };
    let checks = checks.len();
    match plan.rounds {
        Rounds::Fixed(rounds) => format!(
            "{} in {} of about {}, {} together",
            counted(checks, "check"),
            counted(rounds as usize, "round"),
            shown(round),
            shown(round * f64::from(rounds))
        ),
        Rounds::Auto { budget_ns, .. } => format!(
            "{} in rounds of about {}, until their rates are decided, at most {} (--budget)",
            counted(checks, "check"),
            shown(round),
            shown(budget_ns as f64 / 1e9)
        ),
    }
}

/// Steps of one call of a tool belong together.
fn groups(checks: &[&Check], plan: &Plan) -> Vec<Vec<usize>> {
    let number = |id: &str| plan.steps.iter().position(|step| step.id == id);
    checks.iter().map(|check| check.parts.iter().filter_map(|part| number(part.id)).collect()).collect()
}

/// The targets of the executor: Lodestone's and the tools' on the target, and both on its device.
fn lent_targets(
    asked: &Asked,
    chosen: &Chosen,
    target: &Target,
    device: Option<&Target>,
) -> Result<Vec<TargetState>, Failure> {
    let on_device = |check: &Check| check.works_on == WorksOn::Device;
    let mut targets = Vec::new();
    for (of_device, target) in [(false, Some(target)), (true, device)] {
        let calls: Vec<(&'static Check, PathBuf)> =
            chosen.calls.iter().filter(|(check, _)| on_device(check) == of_device).cloned().collect();
        let (Some(target), false) = (target, calls.is_empty()) else { continue };
        let values = asked.values();
        let steps = calls.iter().flat_map(|(check, _)| check.wanted(&values)).map(|part| part.id.to_owned());
        let steps: BTreeSet<String> = steps.collect();
        let lender = targets.len();
        for (name, lends) in [(OWN_TARGET, true), (TOOLS_TARGET, false)] {
            let target = Target { name: name.to_owned(), ..target.clone() };
            let mut state = TargetState::new(target.clone(), hold(&target)?);
            state.only = Some(steps.clone());
            if !lends {
                let device = target.path.to_string_lossy().into_owned();
                state.driver = Driver::Tools(Tools {
                    calls: calls.clone(),
                    values: Values { device, ..asked.values() },
                });
                state.borrows = Some(lender);
            }
            targets.push(state);
        }
    }
    Ok(targets)
}

/// Holds the user's file or device, for reading; `None` for a directory.
fn hold(target: &Target) -> Result<Option<Hold>, Failure> {
    if target.kind == TargetKind::Directory {
        return Ok(None);
    }
    let path = target.path.display();
    let hold = Hold::read_only(&target.path)
        .map_err(|e| Failure::usage(format!("{path}: cannot read it: {e}")).because(&e))?;
    hold.is_still(target).map_err(|e| Failure::usage(format!("{path}: {e}")).because(&e))?;
    Ok(Some(hold))
}

/// The figures side by side in the requested format.
fn shown(cli: &Cli, args: &CrosscheckArgs, run: &Run) -> TerminalText {
    // Medians, because a burst of other load in one of a few rounds is not a property of either program.
    let analysis = analyse(run, TOOLS_TARGET, Estimator::Median, units(cli, Some(run)));
    let works: Vec<CheckedWork> = CHECKS.iter().flat_map(Check::works).collect();
    let pairs = agreements(&works, &analysis, run.started.plan.margin());
    let document = || crosscheck_document(run, &analysis, &pairs, &view(cli, Some(run), TOOLS_TARGET));
    match args.format {
        CrosscheckForm::Text => text(&document(), output::style(cli.color)),
        CrosscheckForm::Md => markdown(&document()).into(),
        CrosscheckForm::Json => json::pretty(&crosscheck_export(run, &pairs)).into(),
    }
}
