//! `lodestone run`: resolves the arguments, measures, shows the result.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use ::report::{AnalysedRun, RunView};
use analyse::analyse;
use host::leftovers::{self, Found};
use host::stacks::{Named, Request};
use host::{Hold, Roots, consent, identify, presence};
use model::units::ExactSize;
use model::{EngineKind, Host, Plan, Reference, RunStarted, Severity, Step, Target, TargetKind, path_text};
use plan::{
    DataNeed, Environment, Level, Problem, Resolved, RunOverrides, again, data_needs, resolve, sizes_within,
};

use schedule::Scheduler;

use super::against::Earlier;
use super::dry_run::dry_run;
use super::engines::Engines;
use super::machines::{Machines, overwritten_here};
use super::report::after_run;
use super::results::{baseline_of, shown};
use super::stack::Made;
use super::suite_source::{SuiteSource, Work};
use super::verdict::concluded;
use super::via::Via;
use super::{estimator, fio, given_labels, problems, store, units, unsafe_directories, view};
use crate::cli::{Cli, RunArgs};
use crate::executor::{Local, PendingReports, TargetState, Watching, engine_of};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::recorder::{Recorder, fallback_directories};
use crate::session::Session;
use crate::{interrupt, output};

/// Measures targets with a suite and shows the result.
///
/// # Errors
/// Wrong usage, or a failure that is not the storage's.
pub fn run(cli: &Cli, args: &RunArgs) -> Result<ExitCode, Failure> {
    super::push::check(&args.push)?;
    let (on, stacks) = match (&args.on, &args.stack) {
        (Some(on), Some(stacks)) => (on, stacks),
        (None, None) => return measure(cli, args, None),
        // The parser misses it beside a TARGET, with which --on conflicts.
        _ => {
            return Err(Failure::usage(
                "--stack needs --on GROUND, where the stacks are made, such as --on image:4G, and no TARGET",
            ));
        }
    };
    let interrupt = watch()?;
    let reach = &args.machines.reach;
    let (mut request, server) = super::stack::request(on, stacks, args.making, reach, &interrupt)?;
    // What cannot be measured is not made.
    let planned = Planned::on(&request, cli, args)?;
    request.makings = super::stack::measured_makings(args.making, request.makings, &planned.resolved.plan)?;
    if args.dry_run {
        output::print(super::stack::script(&request))?;
        output::print("\n")?;
        return planned.show(&request, args);
    }
    let named = Named::new(new_id()).map_err(Failure::failed)?;
    let made = super::stack::make(cli, &request, server, &named, &args.overwrite, &interrupt)?;
    let measured = measure(cli, args, Some((&made, interrupt)));
    match (measured, made.end(cli, args.leave)) {
        (Ok(code), Ok(())) => Ok(code),
        (Err(failure), Ok(())) | (Ok(_), Err(failure)) => Err(failure),
        (Err(failure), Err(left)) => {
            output::say(&format!("lodestone: {}", left.message));
            Err(failure)
        }
    }
}

fn watch() -> Result<Arc<AtomicBool>, Failure> {
    interrupt::watch().map_err(|e| Failure::failed(format!("cannot watch for Ctrl-C: {e}")).because(&e))
}

/// Measures the targets that the arguments name, or stacks that were made.
fn measure(cli: &Cli, args: &RunArgs, made: Option<(&Made, Arc<AtomicBool>)>) -> Result<ExitCode, Failure> {
    let roots = Roots::default();
    let host = identify(&roots);
    let engines = Engines::probe();
    let earlier = Earlier::find(cli, args)?;
    let source = SuiteSource::find(args, &host, earlier.as_ref())?;
    let interrupt = made.as_ref().map_or_else(watch, |(_, interrupt)| Ok(Arc::clone(interrupt)))?;
    let (mut targets, machines) = match &made {
        Some((made, _)) => made.reach(&roots)?,
        None => {
            let named = named_targets(args, &source, earlier.as_ref())?;
            Machines::reach(&roots, &host, &named, args, &interrupt)?
        }
    };
    label(&mut targets, &args.labels)?;
    if args.via.is_some() {
        targets.iter().try_for_each(named_in_text)?;
    }
    let size = made.as_ref().and_then(|(made, _)| super::stack::size_of_data(made.here.bytes()));
    let makings = made.as_ref().map_or(1, |(made, _)| made.here.makings());
    // A target is once in the plan and in the log, however often it was made.
    let once =
        |targets: &[Target]| -> Vec<Target> { targets.iter().step_by(makings as usize).cloned().collect() };
    let around = machines.environment(&host, &engines, &once(&targets));
    let mut resolved = resolve_plan(args, size, &source, around, &once(&targets))?;
    resolved.plan.makings = makings;
    require(args, earlier.as_ref(), &mut resolved.plan, &once(&targets))?;
    let mut own: Vec<Target> = targets.iter().filter(|target| target.host == 0).cloned().collect();
    let holds = holds(&roots, None, &overwritten(args, made.is_some() || args.machines.together), &mut own)?;
    let unsafe_directories = unsafe_directories::check(&own, args.allow_unsafe_directory)?;
    let baseline = baseline(args, &targets)?;
    if args.dry_run {
        return show_dry_run(args, &roots, &resolved, &with_own(targets, own), &engines, &source);
    }
    host::measure_ciphers(&roots, &mut own, || announce_ciphers(cli));
    let targets = with_own(targets, own.clone());
    let store = store(cli)?;
    let stacks = made.as_ref().map(|(stacks, _)| *stacks);
    let cleaned = clean_leftovers(&own, &store);
    let via = args.via.map(|via| Via::new(via, &roots, &resolved.plan, &own, engines.best()));
    let via = via.transpose()?;
    let started = RunStarted {
        hosts: machines.hosts(),
        ..started(args.seed, host, once(&targets), baseline.clone(), resolved.plan.clone())
    };
    let presence = presence::announce(&started.id).ok();
    let states = own.into_iter().zip(holds).map(|(target, hold)| {
        let mut state = TargetState::new(target, hold);
        if let Some(via) = &via {
            via.drive(&mut state, &resolved.plan);
        }
        state
    });
    let mut executor = Local {
        presence,
        targets: states.collect(),
        telemetry_period: resolved.telemetry_period,
        settle: resolved.settle,
        ..new_executor(
            roots,
            &resolved.plan,
            &engines,
            started,
            &store,
            interrupt,
            Progress::new(cli.quiet, args.json, units(cli, None)),
        )?
    };
    note_engines(&mut executor, &resolved.plan, &engines, via.as_ref());
    if let Some(stacks) = stacks {
        super::stack::note(&mut executor, stacks);
    }
    unsafe_directories::note(&mut executor, unsafe_directories);
    note_preparations(&mut executor, cleaned, &source, &resolved.warnings);
    let scheduler = Scheduler::new(resolved.plan.clone(), baseline.clone(), executor.seed);
    let (recorder, broken) = Session { scheduler, executor: machines.into_fleet(executor, &targets) }.run();
    let code = finish(cli, args, &store, &recorder, &baseline)?;
    broken.map_or(Ok(code), |error| Err(Failure::failed(error)))
}

fn announce_ciphers(cli: &Cli) {
    if !cli.quiet {
        output::say("benchmarking the ciphers in memory; this takes a few seconds");
    }
}

/// The targets with those of this machine as they are now.
fn with_own(targets: Vec<Target>, own: Vec<Target>) -> Vec<Target> {
    let mut own = own.into_iter();
    let current = |target: Target| if target.host == 0 { own.next() } else { Some(target) };
    targets.into_iter().filter_map(current).collect()
}

/// What is measured on stacks that are not made yet.
struct Planned {
    engines: Engines,
    source: SuiteSource,
    targets: Vec<Target>,
    resolved: Resolved,
}

impl Planned {
    fn on(request: &Request, cli: &Cli, args: &RunArgs) -> Result<Self, Failure> {
        let (host, engines) = (identify(&Roots::default()), Engines::probe());
        let earlier = Earlier::find(cli, args)?;
        let source = SuiteSource::find(args, &host, earlier.as_ref())?;
        let mut targets = super::stack::planned_targets(request);
        label(&mut targets, &args.labels)?;
        baseline(args, &targets)?;
        let size = super::stack::size_of_data(request.bytes());
        let around = Machines::default().environment(&host, &engines, &targets);
        let mut resolved = resolve_plan(args, size, &source, around, &targets)?;
        require(args, earlier.as_ref(), &mut resolved.plan, &targets)?;
        let sets = data_needs(&resolved.plan, &targets[0], &vec![true; resolved.plan.steps.len()]);
        if sizes_within(&sets, request.bytes()).is_none() {
            let needed = sets.iter().map(DataNeed::usual).sum::<u64>();
            return Err(Failure::usage(format!(
                "the test data need {}, but each stack holds only {}; use a smaller --size",
                ExactSize(needed),
                ExactSize(request.bytes())
            )));
        }
        Ok(Self { engines, source, targets, resolved })
    }

    /// Shows it.
    fn show(mut self, request: &Request, args: &RunArgs) -> Result<ExitCode, Failure> {
        self.resolved.plan.makings = request.makings;
        let Self { engines, source, targets, resolved } = &self;
        show_dry_run(args, &Roots::default(), resolved, targets, engines, source)
    }
}

/// Shows what would be measured.
fn show_dry_run(
    args: &RunArgs,
    roots: &Roots,
    resolved: &Resolved,
    targets: &[Target],
    engines: &Engines,
    source: &SuiteSource,
) -> Result<ExitCode, Failure> {
    output::print(dry_run(resolved, targets, engines))?;
    if let Some(via) = args.via {
        let via = Via::new(via, roots, &resolved.plan, targets, engines.best())?;
        output::print(via.dry_run(&resolved.plan))?;
    }
    output::print(fio::ignored_line(source.ignored()))?;
    Ok(ExitCode::SUCCESS)
}

/// Notes what was removed of killed runs, what has no effect and what is doubtful.
fn note_preparations(
    executor: &mut Local<'_>,
    cleaned: Vec<String>,
    source: &SuiteSource,
    warnings: &[Problem],
) {
    for message in cleaned {
        executor.note(Severity::Info, "leftovers", None, message);
    }
    for (key, why) in source.ignored() {
        executor.note(Severity::Info, "fio-option", None, format!("{key} has no effect: {why}"));
    }
    for warning in warnings {
        executor.note(Severity::Warning, "plan", None, warning.message.clone());
    }
}

/// Notes what drives the storage.
fn note_engines(executor: &mut Local<'_>, plan: &Plan, engines: &Engines, via: Option<&Via>) {
    if executor.targets.is_empty() {
        return;
    }
    executor.note(Severity::Info, "engine", None, engines.sentence());
    if let (None, Some(message)) = (via, unregistered(plan, engines.best())) {
        executor.note(Severity::Info, "locked-memory", None, message);
    }
    for message in via.into_iter().flat_map(Via::notes) {
        executor.note(Severity::Warning, "step-left-out", None, message);
    }
}

/// The steps whose buffers io_uring does not register, because too little memory may be locked; `None` if there are none.
fn unregistered(plan: &Plan, best: EngineKind) -> Option<String> {
    let limit = engine::locked_memory_limit()?;
    let is_unregistered = |work: &Step| {
        engine_of(work, best) == EngineKind::IoUring && !engine::registers_buffers(&work.workload)
    };
    let has_unregistered = |step: &&Step| std::iter::once(*step).chain(&step.concurrent).any(is_unregistered);
    let steps: Vec<&str> = plan.steps.iter().filter(has_unregistered).map(|step| step.id.as_str()).collect();
    (!steps.is_empty()).then(|| {
        format!(
            "io_uring does not register the buffers of {}: they would take more than a quarter of the {} KiB that this \
             user may lock (`ulimit -l`); each transfer costs slightly more CPU time",
            steps.join(", "),
            limit >> 10
        )
    })
}

/// An executor without targets, with Lodestone's own engines.
pub(super) fn new_executor<'a>(
    roots: Roots,
    plan: &'a Plan,
    engines: &Engines,
    started: RunStarted,
    store: &record::Store,
    interrupt: Arc<AtomicBool>,
    progress: Progress,
) -> Result<Local<'a>, Failure> {
    let seed = started.seed;
    Ok(Local {
        roots,
        plan,
        best_engine: engines.best(),
        seed,
        interrupt,
        presence: None,
        progress,
        recorder: begun(store, started)?,
        targets: Vec::new(),
        scratch: host::scratch::parents(store.directory()),
        telemetry_period: plan::DEFAULT_TELEMETRY.period(),
        settle: plan::DEFAULT_SETTLE,
        watching: Watching::default(),
        pending_reports: PendingReports::default(),
        barrier: None,
    })
}

/// Begins the record of a run and reserves space for its log. Problems with the store are printed before the run
/// starts.
fn begun(store: &record::Store, started: RunStarted) -> Result<Recorder, Failure> {
    let recorder = Recorder::begin(store, started, &fallback_directories()).map_err(Failure::failed)?;
    for note in &recorder.run().notes {
        output::say(&format!("lodestone: {}", note.message));
    }
    Ok(recorder)
}

fn finish(
    cli: &Cli,
    args: &RunArgs,
    store: &record::Store,
    recorder: &Recorder,
    baseline: &str,
) -> Result<ExitCode, Failure> {
    let run = recorder.run();
    let analysis = analyse(run, baseline, estimator(args.summary), units(cli, Some(run)));
    if args.json {
        let view = view(cli, Some(run), baseline);
        let export = report::json::run_export(&AnalysedRun::new(run, &analysis, &view));
        output::print(report::json::pretty(&export))?;
    } else {
        output::print(shown(cli, run, &analysis, baseline, args.details))?;
        if recorder.log_location().trouble().is_none() {
            output::print(format!(
                "\nsaved as run {0}; all its tables: lodestone show {0} --details\n",
                run.started.id
            ))?;
        }
    }
    if !args.no_report {
        let view = RunView { details: true, ..view(cli, Some(run), baseline) };
        // The run is complete without its page, which `report` can write at any time.
        let message = match after_run(store, &AnalysedRun::new(run, &analysis, &view)) {
            Ok(path) => format!("HTML report: {}", path.display()),
            Err(failure) => format!("no HTML report: {}", failure.message),
        };
        if args.json { output::say(&message) } else { output::print(format!("{message}\n"))? }
    }
    // The index follows the logs by itself; updating it now only makes the next listing faster.
    let _ = store.runs();
    if let Some(trouble) = recorder.log_location().trouble() {
        return Err(Failure::failed(trouble));
    }
    if let Some(message) = super::push::after_run(cli, &args.push, store, &run.started.id) {
        if args.json { output::say(&message) } else { output::print(format!("{message}\n"))? }
    }
    Ok(ExitCode::from(concluded(run, &analysis, args.require.strict)))
}

/// Refuses a target whose path cannot be written to another program's job file or read from its output.
pub(super) fn named_in_text(target: &Target) -> Result<(), Failure> {
    match target.path.to_str() {
        Some(_) => Ok(()),
        None => Err(Failure::usage(format!(
            "cannot pass target {} to another program: its path is not UTF-8; measure it with Lodestone's own engines, \
             or bind-mount it at a UTF-8 path",
            target.name
        ))),
    }
}

/// Resolves the suite and the flags to a plan, with this size of the test data unless a flag has one. Every mistake is
/// reported at once.
fn resolve_plan(
    args: &RunArgs,
    size: Option<u64>,
    source: &SuiteSource,
    environment: Environment,
    targets: &[Target],
) -> Result<Resolved, Failure> {
    let (work, found) = source.work(targets)?;
    let (mut warnings, mut errors): (Vec<Problem>, Vec<Problem>) =
        found.into_iter().partition(|p| p.level == Level::Warning);
    let mut overrides =
        RunOverrides { only: args.only.clone(), skip: args.skip.clone(), ..RunOverrides::default() };
    let has_size = args.options.0.iter().any(|(key, _)| *key == "size");
    if let Some(size) = size.filter(|_| !has_size) {
        overrides.set("size", &size.to_string());
    }
    for (key, value) in &args.options.0 {
        let known = overrides.set(key, value);
        debug_assert!(known.is_some(), "flags are made from the options");
    }
    errors.extend(
        args.run_options.0.iter().filter_map(|(option, text)| option.set(&mut overrides, text).err()),
    );
    let resolved = match &work {
        Work::Suite(suite) => resolve(suite, &overrides, &environment),
        Work::Again(plan) => again(plan, &overrides, &environment),
    };
    match resolved {
        Ok(mut resolved) if errors.is_empty() => {
            warnings.append(&mut resolved.warnings);
            Ok(Resolved { warnings, ..resolved })
        }
        result => {
            errors.extend(result.err().unwrap_or_default());
            Problem::in_reading_order(&mut errors);
            let listed = problems::shown(&errors, &source.origin, &source.text);
            Err(Failure::usage(format!("cannot run this:\n{listed}")))
        }
    }
}

/// What targets may be overwritten; of stacks nothing: what they are made on was allowed before.
fn overwritten(args: &RunArgs, is_made: bool) -> Vec<String> {
    if is_made { Vec::new() } else { consent::named(&overwritten_here(args)) }
}

/// Opens every file and device, with permission to overwrite those that are named with `--overwrite`; `machine` is what
/// a path there begins with, if this is not the user's machine.
pub(super) fn holds(
    roots: &Roots,
    machine: Option<&str>,
    named: &[String],
    targets: &mut [Target],
) -> Result<Vec<Option<Hold>>, Failure> {
    let mut holds = Vec::new();
    for target in targets.iter_mut() {
        holds.push(match target.kind {
            TargetKind::Directory => None,
            TargetKind::File | TargetKind::BlockDevice => Some(hold(roots, machine, named, target)?),
        });
    }
    let is_directory = |target: &&Target| target.kind == TargetKind::Directory;
    let own = targets.iter().find(|t| !t.writable && !is_directory(t) && named.contains(&t.name));
    if let Some(Target { name, path, .. }) = own {
        return Err(Failure::usage(format!(
            "--overwrite {name}: `{name}` is the name of a target; give its path instead: --overwrite {}",
            consent::typed_on(machine, [path.to_string_lossy().as_ref()])
        )));
    }
    if !named.is_empty() && !targets.iter().any(|t| t.writable && !is_directory(&t)) {
        return Err(Failure::usage(format!(
            "--overwrite {} does not name a file or block device among the targets; test files in a directory need no \
             permission",
            consent::typed_on(machine, named.iter().map(String::as_str))
        )));
    }
    Ok(holds)
}

fn hold(
    roots: &Roots,
    machine: Option<&str>,
    named: &[String],
    target: &mut Target,
) -> Result<Hold, Failure> {
    let permitted = match named {
        [] => None,
        named => match consent::ask(roots, &target.path, named) {
            Ok(consent) => Some(consent),
            // Another target may be the one that was named.
            Err(consent::Refusal::NotNamed(_)) => None,
            Err(refusal) => {
                let refusal = refusal.on(machine);
                return Err(Failure::usage(format!("{}: {refusal}", target.name)).because(&refusal));
            }
        },
    };
    target.writable = permitted.is_some();
    let hold = match permitted {
        Some(consent) => consent.into(),
        None => Hold::read_only(&target.path).map_err(|e| {
            let (path, hint) = (target.path.display(), host::target::hint(target.kind, &e));
            Failure::usage(format!("{}: cannot read {path}: {e}{hint}", target.name)).because(&e)
        })?,
    };
    hold.is_still(target).map_err(|e| Failure::usage(format!("{}: {e}", target.name)).because(&e))?;
    Ok(hold)
}

/// Gives the targets their labels: `KEY=VALUE` to all, `TARGET:KEY=VALUE` to one.
///
/// # Errors
/// A label has another form.
fn label(targets: &mut [Target], texts: &[String]) -> Result<(), Failure> {
    for text in texts {
        // The name of a target on another machine has a colon itself.
        let named = targets.iter().find_map(|target| {
            let pair = text.strip_prefix(&target.name)?.strip_prefix(':')?;
            Some((target.name.clone(), pair))
        });
        let pair = named.as_ref().map_or(text.as_str(), |(_, pair)| pair);
        let labels = given_labels(&[pair.to_owned()])?;
        let is_meant = |target: &&mut Target| named.as_ref().is_none_or(|(name, _)| target.name == *name);
        targets.iter_mut().filter(is_meant).for_each(|target| target.labels.extend(labels.clone()));
    }
    Ok(())
}

/// The targets that are named, else those of the earlier run or of the suite.
fn named_targets(
    args: &RunArgs,
    source: &SuiteSource,
    earlier: Option<&Earlier>,
) -> Result<Vec<OsString>, Failure> {
    match earlier {
        _ if !args.targets.is_empty() || !args.machines.limit.is_empty() => Ok(args.targets.clone()),
        Some(earlier) => earlier.targets(),
        None => source.targets(),
    }
}

/// Adds what an earlier run requires. Refuses a limit that is a share of a target's figure if there is no such target, and
/// `--strict` if nothing is required.
fn require(
    args: &RunArgs,
    earlier: Option<&Earlier>,
    plan: &mut Plan,
    targets: &[Target],
) -> Result<(), Failure> {
    for requirement in &plan.requirements {
        let Some(Reference::Target(name)) = &requirement.relative_to else { continue };
        if !targets.iter().any(|target| target.name == *name) {
            return Err(Failure::usage(format!(
                "{} requires a share of the figures of the target `{name}`, which there is not; name one so: {name}=PATH",
                requirement.profile
            )));
        }
    }
    if let Some(earlier) = earlier {
        earlier.require(plan, targets)?;
    }
    if args.require.strict && plan.requirements.is_empty() {
        return Err(Failure::usage(
            "--strict needs something that is required: --require PROFILE, --against RUN, or a suite with [[require]]",
        ));
    }
    Ok(())
}

fn baseline(args: &RunArgs, targets: &[Target]) -> Result<String, Failure> {
    baseline_of(targets, &targets[0].name, args.baseline.as_deref())
}

/// Removes leftovers of killed runs from the target directories and from the scratch directories of other programs.
/// Returns a line for each.
pub(super) fn clean_leftovers(targets: &[Target], store: &record::Store) -> Vec<String> {
    clean_leftovers_in(targets, &host::scratch::parents(store.directory()))
}

/// [`clean_leftovers`] with these scratch directories.
pub(super) fn clean_leftovers_in(targets: &[Target], scratch: &[PathBuf]) -> Vec<String> {
    let mut messages = Vec::new();
    let directories = targets.iter().filter(|t| t.kind == TargetKind::Directory).map(|t| t.path.clone());
    for directory in directories.chain(scratch.iter().cloned()).collect::<BTreeSet<_>>() {
        for found in leftovers::find(&directory) {
            let leftover = match found {
                Found::LeftOver(leftover) => leftover,
                Found::Elsewhere(other) => {
                    messages.push(format!("not removed: {other}"));
                    continue;
                }
            };
            let what = format!("{} of the killed run {}", leftover.path.display(), leftover.run);
            messages.push(match leftovers::remove(leftover) {
                Ok(()) => format!("removed {what}"),
                Err(error) => format!("cannot remove {what}: {error}"),
            });
        }
    }
    messages
}

pub(super) fn started(
    seed: Option<u32>,
    host: Host,
    targets: Vec<Target>,
    baseline: String,
    plan: Plan,
) -> RunStarted {
    let seed = u64::from(seed.unwrap_or_else(|| random() as u32));
    RunStarted { host, baseline, seed, ..started_now(plan, targets) }
}

/// The start of a run of this process, now, on a machine that is not known.
pub(super) fn started_now(plan: Plan, targets: Vec<Target>) -> RunStarted {
    RunStarted {
        id: new_id(),
        started_unix_ns: now_unix_ns(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args_os().map(|word| database::without_password(&path_text(word))).collect(),
        ..RunStarted::of_plan(plan, targets)
    }
}

/// Nanoseconds since 1970.
fn now_unix_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i64
}

/// A number that differs between processes, from the standard library's random state.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Eight letters and digits that are not easily mistaken for each other.
fn new_id() -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let bits = random();
    (0..8).map(|i| char::from(ALPHABET[(bits >> (5 * i)) as usize % 32])).collect()
}
