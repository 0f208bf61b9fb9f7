//! `lodestone run`: resolves the arguments, measures, shows the result.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ::report::{AnalysedRun, RunView};
use analyse::analyse;
use engine::{ENGINES, NOOP};
use host::leftovers::{self, Found};
use host::{Hold, Roots, consent, identify, presence};
use model::units::{ExactSize, ShortDuration, parse_duration_ns};
use model::{
    Capabilities, EngineKind, Host, Plan, Rounds, RunStarted, Severity, Step, Target, TargetKind, path_text,
};
use plan::{
    BuiltinSuite, CUSTOM_SUITE, Environment, Problem, Resolved, RunOverrides, Setting, SourceLocation, Suite,
    resolve,
};
use record::input;

use super::report::after_run;
use super::results::shown;
use super::verdict::concluded;
use super::via::Via;
use super::{estimator, fio, parts_per_million, problems, store, suites, units, unsafe_directories, view};
use crate::cli::{Cli, RunArgs};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::session::{
    Order, PendingReports, Recorder, RoundHistory, Session, TargetState, Watching, fallback_directories,
};
use crate::{interrupt, output};

/// The suite of a run that names none.
const DEFAULT_SUITE: &str = "quick";
/// The values that `--budget` takes.
const BUDGETS: &str = "a duration such as 90s, 10m or 2h";
/// How often telemetry is read.
const TELEMETRY_PERIOD: Duration = Duration::from_secs(1);
/// The shortest telemetry period: in less, the kernel's counters of CPU time hardly change.
const SHORTEST_PERIOD: Duration = Duration::from_millis(100);

/// Measures targets with a suite and shows the result.
///
/// # Errors
/// Wrong usage, or a failure that is not the storage's.
pub fn run(cli: &Cli, args: &RunArgs) -> Result<ExitCode, Failure> {
    let roots = Roots::default();
    let host = identify(&roots);
    let engines = Engines::probe();
    let mut suite = SuiteText::find(args)?;
    let named = named_targets(args, &suite, &host)?;
    let telemetry_period = telemetry_period(args.telemetry.as_deref())?;
    let mut targets = host::target::inspect_all(&roots, &named).map_err(Failure::usage)?;
    if args.via.is_some() {
        targets.iter().try_for_each(named_in_text)?;
    }
    if let Form::Fio(around) = &mut suite.form {
        *around = fio::surroundings(&host, &targets)?;
    }
    let resolved = resolve_plan(args, &suite, &host, &engines, named.len())?;
    let holds = holds(&roots, args, &mut targets)?;
    let unsafe_directories = unsafe_directories::check(&targets, args.allow_unsafe_directory)?;
    let baseline = baseline(args, &targets)?;
    if args.dry_run {
        output::print(dry_run(&resolved, &targets, &engines))?;
        if let Some(via) = args.via {
            let via = Via::new(via, &roots, &resolved.plan, &targets, engines.working[0].kind)?;
            output::print(via.dry_run(&resolved.plan))?;
        }
        output::print(fio::ignored_line(&suite.ignored()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let store = store(cli)?;
    let interrupt =
        interrupt::watch().map_err(|e| Failure::failed(format!("cannot watch for Ctrl-C: {e}")))?;
    let cleaned = clean_leftovers(&targets, &store);
    let via = args.via.map(|via| Via::new(via, &roots, &resolved.plan, &targets, engines.working[0].kind));
    let via = via.transpose()?;
    let started = started(args.seed, host, targets.clone(), baseline.clone(), resolved.plan.clone());
    let presence = presence::announce(&started.id).ok();
    let states = targets.into_iter().zip(holds).map(|(target, hold)| {
        let mut state = TargetState::new(target, hold);
        if let Some(via) = &via {
            via.drive(&mut state, &resolved.plan);
        }
        state
    });
    let mut session = Session {
        presence,
        targets: states.collect(),
        telemetry_period,
        ..new_session(
            roots,
            &resolved.plan,
            &engines,
            started,
            &store,
            interrupt,
            Progress::new(args.quiet, args.json, view(cli, "").units),
        )?
    };
    session.note(Severity::Info, "engine", None, engines.sentence());
    unsafe_directories::note(&mut session, unsafe_directories);
    for message in cleaned {
        session.note(Severity::Info, "leftovers", None, message);
    }
    for message in via.iter().flat_map(Via::notes) {
        session.note(Severity::Warning, "step-left-out", None, message);
    }
    for (key, why) in &suite.ignored() {
        session.note(Severity::Info, "fio-option", None, format!("{key} has no effect: {why}"));
    }
    for warning in &resolved.warnings {
        session.note(Severity::Warning, "plan", None, warning.message.clone());
    }
    let (recorder, broken) = session.run();
    let code = finish(cli, args, &store, &recorder, &baseline)?;
    broken.map_or(Ok(code), |error| Err(Failure::failed(error)))
}

/// A session without targets, with Lodestone's own engines and the plan's order.
pub(super) fn new_session<'a>(
    roots: Roots,
    plan: &'a Plan,
    engines: &Engines,
    started: RunStarted,
    store: &record::Store,
    interrupt: Arc<AtomicBool>,
    progress: Progress,
) -> Result<Session<'a>, Failure> {
    let seed = started.seed;
    Ok(Session {
        roots,
        plan,
        best_engine: engines.working[0].kind,
        seed,
        interrupt,
        presence: None,
        progress,
        recorder: begun(store, started)?,
        targets: Vec::new(),
        scratch: host::scratch::parents(store.directory()),
        telemetry_period: Some(TELEMETRY_PERIOD),
        watching: Watching::default(),
        history: RoundHistory::default(),
        order: if plan.in_order { Order::Plan } else { Order::Random },
        given_up: BTreeSet::new(),
        pending_reports: PendingReports::default(),
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

/// How often telemetry is read; `None` for never.
fn telemetry_period(text: Option<&str>) -> Result<Option<Duration>, Failure> {
    let Some(text) = text else { return Ok(Some(TELEMETRY_PERIOD)) };
    if text == "off" {
        return Ok(None);
    }
    let period = parse_duration_ns(text).ok().map(Duration::from_nanos);
    let allowed = SHORTEST_PERIOD..=Duration::from_secs(3600);
    period.filter(|period| allowed.contains(period)).map(Some).ok_or_else(|| {
        Failure::usage(format!(
            "--telemetry {text} is not valid: use a time from 100ms to 1h, such as 1s, or off"
        ))
    })
}

fn finish(
    cli: &Cli,
    args: &RunArgs,
    store: &record::Store,
    recorder: &Recorder,
    baseline: &str,
) -> Result<ExitCode, Failure> {
    let run = recorder.run();
    let analysis = analyse(run, baseline, estimator(args.summary), units(cli));
    if args.json {
        output::print(report::json::pretty(&report::json::run_export(run, &analysis)))?;
    } else {
        output::print(shown(cli, run, &analysis, baseline, args.all_findings))?;
        if recorder.log_location().trouble().is_none() {
            output::print(format!(
                "\nsaved as run {}; `lodestone show {}` shows it again\n",
                run.started.id, run.started.id
            ))?;
        }
    }
    if !args.no_report {
        let view = RunView { all_findings: true, ..view(cli, baseline) };
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
    Ok(ExitCode::from(concluded(run, &analysis)))
}

/// The engines that work here and why others do not.
pub(super) struct Engines {
    working: Vec<Capabilities>,
    refused: Vec<(Capabilities, std::io::Error)>,
}

impl Engines {
    pub(super) fn probe() -> Self {
        let (mut working, mut refused) = (Vec::new(), Vec::new());
        for entry in ENGINES {
            match entry.probe() {
                Ok(()) => working.push(entry.capabilities),
                Err(error) => refused.push((entry.capabilities, error)),
            }
        }
        Self { working, refused }
    }

    /// What the engines that work can do, the best first, and the one that touches no storage.
    pub(super) fn capabilities(&self) -> Vec<Capabilities> {
        let noop = self.working.iter().any(|e| e.kind == EngineKind::IoUring).then_some(NOOP);
        self.working.iter().copied().chain(noop).collect()
    }

    /// Which engine `auto` selects, and why.
    fn sentence(&self) -> String {
        let mut sentence = format!("auto selects {}, the best engine that works here", self.working[0].kind);
        for (engine, error) in &self.refused {
            sentence.push_str(&format!("; {} does not work: {error}", engine.kind));
        }
        sentence
    }
}

/// A suite before it is parsed.
struct SuiteText {
    name: String,
    /// Its path or name, for messages.
    origin: String,
    toml: String,
    form: Form,
}

/// The format of a suite.
enum Form {
    Toml,
    Fio(plan::fio::Surroundings),
}

impl SuiteText {
    /// The suite that the arguments name, or the one that they imply.
    fn find(args: &RunArgs) -> Result<Self, Failure> {
        let builtin = |suite: &BuiltinSuite| Self {
            name: suite.name.to_owned(),
            origin: suite.name.to_owned(),
            toml: suite.toml.to_owned(),
            form: Form::Toml,
        };
        if let Some(path) = &args.fio {
            let name = stem(path);
            let form = Form::Fio(plan::fio::Surroundings::default());
            return Ok(Self { name, origin: path.display().to_string(), toml: fio::text(path)?, form });
        }
        let describes_itself = args.options.0.iter().any(|(key, _)| *key == "rw");
        let Some(name) = &args.suite else {
            return Ok(if describes_itself {
                builtin(&CUSTOM_SUITE)
            } else {
                builtin(suites::find(DEFAULT_SUITE)?)
            });
        };
        let text = name.to_string_lossy();
        if !text.contains('/') && !text.ends_with(".toml") && text != input::STANDARD_INPUT {
            let name = text.as_ref();
            let own = format!(". Name your own file by its path, as in ./{name}.toml");
            let found = suites::find(name).map_err(|e| Failure { message: e.message + &own, ..e })?;
            return Ok(builtin(found));
        }
        let cannot = |what: String| {
            Failure::usage(format!(
                "cannot read the suite {text}: {what}; `lodestone suites` lists the built-in ones"
            ))
        };
        let (bytes, _) = input::read(name.as_ref()).map_err(|e| cannot(e.to_string()))?;
        let toml = String::from_utf8(bytes).map_err(|_| cannot("it is not UTF-8 text".to_owned()))?;
        Ok(Self { name: stem(name.as_ref()), origin: text.into_owned(), toml, form: Form::Toml })
    }

    /// The suite that the text describes, and what is wrong with it.
    fn read(&self) -> (Suite, Vec<Problem>) {
        match &self.form {
            Form::Toml => Suite::parse(&self.name, &self.toml),
            Form::Fio(around) => {
                let jobs = plan::fio::read(&self.name, &self.toml, around);
                (jobs.suite, jobs.problems)
            }
        }
    }

    /// Options of a fio job file that have no effect here.
    fn ignored(&self) -> Vec<(String, &'static str)> {
        match &self.form {
            Form::Toml => Vec::new(),
            Form::Fio(around) => plan::fio::read(&self.name, &self.toml, around).ignored,
        }
    }
}

/// The name of a suite that is read from this file.
fn stem(path: &Path) -> String {
    match path.file_stem().unwrap_or_default().to_string_lossy().into_owned() {
        stem if stem == input::STANDARD_INPUT => "standard-input".to_owned(),
        stem => stem,
    }
}

/// The targets that the user names, else those of the fio job file, else the current directory.
fn named_targets(args: &RunArgs, suite: &SuiteText, host: &Host) -> Result<Vec<OsString>, Failure> {
    if !args.targets.is_empty() {
        return Ok(args.targets.clone());
    }
    match suite.form {
        Form::Toml => Ok(vec![".".into()]),
        Form::Fio(_) => {
            let named = fio::targets(&suite.name, &suite.toml, &fio::surroundings(host, &[])?)?;
            Ok(named.into_iter().map(OsString::from).collect())
        }
    }
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

fn resolve_plan(
    args: &RunArgs,
    text: &SuiteText,
    host: &Host,
    engines: &Engines,
    targets: usize,
) -> Result<Resolved, Failure> {
    let (suite, mut found) = text.read();
    let (mut noticed, rest) = found.into_iter().partition(|p: &Problem| p.level == plan::Level::Warning);
    found = rest;
    let mut overrides = RunOverrides::default();
    for (key, value) in &args.options.0 {
        let known = overrides.set(key, value);
        debug_assert!(known.is_some(), "flags are made from the options");
    }
    let flag = |flag: &str, message: String, help: &str| Problem {
        level: plan::Level::Error,
        location: SourceLocation::Flag(flag.to_owned()),
        message,
        help: Some(help.to_owned()),
    };
    match args.rounds.as_deref() {
        None => {}
        Some("auto") => overrides.rounds_auto = true,
        Some(text) => match text.parse().ok().filter(|n| *n > 0) {
            Some(rounds) => overrides.rounds = Some(rounds),
            None => found.push(flag(
                "rounds",
                format!("`{text}` is not a number of rounds"),
                "a whole number from 1, or auto",
            )),
        },
    }
    if let Some(text) = &args.scale {
        overrides.scale = factor(text);
        if overrides.scale.is_none() {
            let allowed = "a number from 0.0001 to 10000, such as 0.05";
            found.push(flag("scale", format!("`{text}` is not a factor"), allowed));
        }
    }
    if let Some(text) = &args.budget {
        match parse_duration_ns(text) {
            Ok(0) => {
                found.push(flag("budget", "a budget of 0 leaves no time to measure".to_owned(), BUDGETS))
            }
            Ok(ns) => overrides.budget_ns = Some(ns),
            Err(error) => found.push(flag("budget", error.to_string(), BUDGETS)),
        }
    }
    for (name, text, parsed) in [
        ("precision", &args.precision, &mut overrides.precision_ppm),
        ("margin", &args.margin, &mut overrides.margin_ppm),
    ] {
        let Some(text) = text else { continue };
        *parsed = parts_per_million(text);
        if parsed.is_none() {
            found.push(flag(
                name,
                format!("`{text}` is not a valid share"),
                "a percentage from 0.01% to 100%, such as 2%",
            ));
        }
    }
    let environment = Environment {
        memory_bytes: host.memory_bytes,
        engines: engines.capabilities(),
        targets: targets as u32,
    };
    match resolve(&suite, &overrides, &environment) {
        Ok(mut resolved) if found.is_empty() => {
            noticed.append(&mut resolved.warnings);
            Ok(Resolved { warnings: noticed, ..resolved })
        }
        result => {
            found.extend(result.err().unwrap_or_default());
            Problem::in_reading_order(&mut found);
            let listed = problems::shown(&found, &text.origin, &text.toml);
            Err(Failure::usage(format!("cannot run this:\n{listed}")))
        }
    }
}

/// A factor for the times of all steps.
fn factor(text: &str) -> Option<f64> {
    text.parse().ok().filter(|factor| (1e-4..=1e4).contains(factor))
}

/// Opens every file and device, with permission to overwrite those that are named with
/// `--overwrite`.
fn holds(roots: &Roots, args: &RunArgs, targets: &mut [Target]) -> Result<Vec<Option<Hold>>, Failure> {
    let named = consent::named(&args.overwrite);
    let mut holds = Vec::new();
    for target in targets.iter_mut() {
        holds.push(match target.kind {
            TargetKind::Directory => None,
            TargetKind::File | TargetKind::BlockDevice => Some(hold(roots, &named, target)?),
        });
    }
    let is_directory = |target: &&Target| target.kind == TargetKind::Directory;
    let own = targets.iter().find(|t| !t.writable && !is_directory(t) && named.contains(&t.name));
    if let Some(Target { name, path, .. }) = own {
        return Err(Failure::usage(format!(
            "--overwrite {name}: `{name}` is the name of a target; give its path instead: --overwrite {}",
            consent::typed([path.to_string_lossy().as_ref()])
        )));
    }
    if !named.is_empty() && !targets.iter().any(|t| t.writable && !is_directory(&t)) {
        return Err(Failure::usage(format!(
            "--overwrite {} does not name a file or block device among the targets; test files in a directory need no \
             permission",
            consent::typed(named.iter().map(String::as_str))
        )));
    }
    Ok(holds)
}

fn hold(roots: &Roots, named: &[String], target: &mut Target) -> Result<Hold, Failure> {
    let permitted = match named {
        [] => None,
        named => match consent::ask(roots, &target.path, named) {
            Ok(consent) => Some(consent),
            // Another target may be the one that was named.
            Err(consent::Refusal::NotNamed(_)) => None,
            Err(refusal) => return Err(Failure::usage(format!("{}: {refusal}", target.name))),
        },
    };
    target.writable = permitted.is_some();
    let hold = match permitted {
        Some(consent) => consent.into(),
        None => Hold::read_only(&target.path).map_err(|e| {
            let (path, hint) = (target.path.display(), host::target::hint(target.kind, &e));
            Failure::usage(format!("{}: cannot read {path}: {e}{hint}", target.name))
        })?,
    };
    hold.is_still(target).map_err(|e| Failure::usage(format!("{}: {e}", target.name)))?;
    Ok(hold)
}

fn baseline(args: &RunArgs, targets: &[Target]) -> Result<String, Failure> {
    let names: Vec<&str> = targets.iter().map(|t| t.name.as_str()).collect();
    match &args.baseline {
        None => Ok(names[0].to_owned()),
        Some(name) if names.contains(&name.as_str()) => Ok(name.clone()),
        Some(name) => Err(Failure::usage(format!(
            "there is no target `{name}` for --baseline; the targets are {}",
            names.join(", ")
        ))),
    }
}

/// Removes leftovers of killed runs from the target directories and from the scratch directories of other programs.
/// Returns a line for each.
pub(super) fn clean_leftovers(targets: &[Target], store: &record::Store) -> Vec<String> {
    let mut messages = Vec::new();
    let directories = targets.iter().filter(|t| t.kind == TargetKind::Directory).map(|t| t.path.clone());
    let scratch = host::scratch::parents(store.directory());
    for directory in directories.chain(scratch).collect::<BTreeSet<_>>() {
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
        command: std::env::args_os().map(path_text).collect(),
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

/// The text of a dry run.
fn dry_run(resolved: &Resolved, targets: &[Target], engines: &Engines) -> String {
    let plan = &resolved.plan;
    let mut text = format!("suite {} (plan {}), nothing has been done\n", plan.suite, plan.id);
    for target in targets {
        let (name, path) = (&target.name, target.path.display());
        text.push_str(&format!("target {name}: {path} ({})\n", target.stack_line()));
    }
    text.push_str(&format!("{}\n", engines.sentence()));
    let obstacles: Vec<Vec<Option<String>>> = targets.iter().map(|t| plan::obstacles(plan, t)).collect();
    let possible = obstacles.iter().flat_map(|whys| plan.steps.iter().zip(whys));
    let seconds: f64 =
        possible.filter(|(_, why)| why.is_none()).map(|(step, _)| plan::step_seconds(step)).sum();
    text.push_str(&match plan.rounds {
        Rounds::Fixed(rounds) => {
            let budget = plan.budget_ns.map(|ns| format!(", at most {}", ShortDuration(ns)));
            let budget = budget.unwrap_or_default();
            format!("{rounds} rounds of about {seconds:.0} s, plus the layout of the test files{budget}\n")
        }
        Rounds::Auto { budget_ns, precision_ppm } => format!(
            "rounds of about {seconds:.0} s, each step until {} is within ± {} %, at most {} including the layout of the test files\n",
            if targets.len() > 1 { "its comparisons are decided or their ratio" } else { "its figure" },
            f64::from(precision_ppm) / 1e4,
            ShortDuration(budget_ns)
        ),
    });
    for (i, (step, settings)) in plan.steps.iter().zip(&resolved.settings).enumerate() {
        text.push_str(&dry_step(plan, step, settings));
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

fn dry_step(plan: &Plan, step: &Step, settings: &[Setting]) -> String {
    let mut text = format!("\n{}  {}\n", step.id, step.title);
    let set = settings.iter().filter_map(|s| match &s.location {
        SourceLocation::Suite(_) => Some(format!("{} = {}", s.key, s.text)),
        SourceLocation::Flag(flag) => Some(format!("{} = {} (by --{flag})", s.key, s.text)),
        SourceLocation::Nowhere => None,
    });
    text.push_str(&format!("    {}\n", set.collect::<Vec<_>>().join(", ")));
    for other in &step.concurrent {
        text.push_str(&format!("    concurrent: {}  {}\n", other.id, other.title));
    }
    if !step.workload.is_metadata() {
        let size = step.workload.files.size_bytes.map_or_else(
            || format!("up to 1 GiB, as much as can be written in {}", ShortDuration(plan.layout_limit_ns)),
            |bytes| ExactSize(bytes).to_string(),
        );
        text.push_str(&format!("    test data: {size}, {}\n", step.workload.data));
    }
    text
}
