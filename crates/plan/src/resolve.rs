//! Suite < overrides < defaults, resolved to a plan; all mistakes at once.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use model::{
    Again, BlockSizes, BlockSplit, Calls, Capabilities, Data, EngineChoice, EngineKind, FileSet, Ladder,
    MetadataWork, Mix, Modifiers, Pace, Pattern, Plan, Preparation, Rounds, SizeShare, Step, Stop, SyncRule,
    Workload,
};
use twox_hash::XxHash3_128;

use crate::check::{self, Contradiction, contradictions};
use crate::draft::{Draft, RateProcess, Rw};
use crate::ladders;
use crate::options::{OPTIONS, option};
use crate::overrides::RunOverrides;
use crate::parse::{Setting, StepSpec, Suite};
use crate::problem::{Level, Problem, SourceLocation, listed, nearest};
use crate::requirements;
use crate::run_options::{
    DEFAULT_BUDGET_NS, DEFAULT_MARGIN_PPM, DEFAULT_PRECISION_PPM, DEFAULT_SETTLE, DEFAULT_TELEMETRY,
};
use crate::title::title;
use crate::values::names_step;

/// Share of a target's budget that laying out its test files may take.
const LAYOUT_SHARE: f64 = 0.15;
/// Most combinations of one step's sweep.
const MAX_STEPS: usize = 2_000;
/// Most steps of a whole suite, including concurrent steps.
const MAX_SUITE_STEPS: usize = 10_000;

fn too_many_steps() -> Problem {
    let message = format!("the suite has more than {MAX_SUITE_STEPS} steps, the limit for one run");
    Problem::error(SourceLocation::Nowhere, message).help("split it into several suites")
}

/// What the plan has to fit.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Memory of the machine in bytes; 0 if unknown.
    pub memory_bytes: u64,
    /// The engines that work here, the best first.
    pub engines: Vec<Capabilities>,
    /// How many targets there are.
    pub targets: u32,
}

/// A plan with its warnings and settings.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The plan.
    pub plan: Plan,
    /// What may not be as intended.
    pub warnings: Vec<Problem>,
    /// For each step, in order, every option with its value and the location of that; a default has
    /// none.
    pub settings: Vec<Vec<Setting>>,
    /// How often telemetry is read; `None` for never.
    pub telemetry_period: Option<Duration>,
    /// The longest wait for quiet devices before the first round.
    pub settle: Duration,
}

/// Resolves a suite and its overrides to a plan.
///
/// # Errors
/// All problems, warnings included, if at least one is an error.
pub fn resolve(
    suite: &Suite,
    overrides: &RunOverrides,
    environment: &Environment,
) -> Result<Resolved, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut steps: Vec<Step> = Vec::new();
    let mut settings = Vec::new();
    let mut misfits = Misfits::default();
    // Index of the steps by id: a suite may have thousands.
    let mut by_id: HashMap<String, usize> = HashMap::new();
    let mut count = 0;
    let mut ids: Vec<String> = Vec::new();
    let mut ladders: Vec<Ladder> = Vec::new();
    for spec in &suite.steps {
        let spec = &swept(spec, overrides);
        for layers in expand(suite, spec, overrides, &mut problems) {
            let id = fill_in(&appended(spec), spec, &layers, &mut Vec::new());
            let is_wanted = id.as_ref().is_none_or(|id| overrides.wants(id));
            ids.extend(id);
            if !is_wanted {
                continue;
            }
            let mut others = Vec::new();
            for other in &spec.concurrent {
                for layers in expand(suite, other, overrides, &mut problems) {
                    others.extend(step(other, &layers, Vec::new(), environment, &mut problems, &mut misfits));
                }
            }
            let Some(step) = step(spec, &layers, others, environment, &mut problems, &mut misfits) else {
                continue;
            };
            match by_id.get(&step.id).map(|index| &steps[*index]) {
                None => {
                    count += step.parts().count();
                    if count > MAX_SUITE_STEPS {
                        return Err(vec![too_many_steps()]);
                    }
                    by_id.insert(step.id.clone(), steps.len());
                    problems.extend(ladders::add_rung(&mut ladders, spec, &layers, &step).err());
                    steps.push(step);
                    settings.push(layers);
                }
                Some(twin) if *twin == step => {
                    let message = format!("several steps are identical to `{}`; it runs once", step.id);
                    problems.push(Problem::warning(spec.location.clone(), message));
                }
                Some(_) => {
                    let problem = Problem::error(
                        spec.location.clone(),
                        format!("two different steps have the id `{}`", step.id),
                    );
                    problems.push(problem.help("name what distinguishes them, as in id = \"read-{bs}\""));
                }
            }
        }
    }
    problems.extend(misfits.found.into_iter().map(Misfit::into_problem));
    let mut seen = HashSet::new();
    let mut unique = problems;
    unique.retain(|problem| seen.insert(problem.clone()));
    Problem::in_reading_order(&mut unique);
    if unique.iter().any(|p| p.level == Level::Error) {
        return Err(unique);
    }
    check_names(overrides, &ids)?;
    check_steps(suite, &steps, &ids)?;
    let requirements = requirements::resolve(&suite.requirements, &steps, &ids)?;
    if let Some(factor) = overrides.scale {
        steps.iter_mut().for_each(|step| scale(step, factor));
    }
    let telemetry_period = overrides.telemetry.unwrap_or(DEFAULT_TELEMETRY).period();
    let settle = overrides.settle.unwrap_or(DEFAULT_SETTLE);
    let mut plan = Plan { requirements, ladders, ..plan(suite, overrides, environment, steps) };
    ladders::require_loads(&mut plan)?;
    unique.extend(requirements::too_long(&plan, environment.targets));
    unique.extend(without_effect(&plan, overrides));
    Ok(Resolved { plan, warnings: unique, settings, telemetry_period, settle })
}

/// That a precision was asked for, and the number of rounds is fixed.
fn without_effect(plan: &Plan, overrides: &RunOverrides) -> Option<Problem> {
    overrides.precision_ppm.filter(|_| matches!(plan.rounds, Rounds::Fixed(_))).map(|_| {
        let message = "--precision has no effect with a fixed number of rounds; use --rounds auto";
        Problem::warning(SourceLocation::Flag("precision".to_owned()), message)
    })
}

fn plan(suite: &Suite, overrides: &RunOverrides, environment: &Environment, steps: Vec<Step>) -> Plan {
    let targets = u64::from(environment.targets.max(1));
    let per_target = suite.budget_ns.unwrap_or(DEFAULT_BUDGET_NS);
    let budget_ns = overrides.budget_ns.unwrap_or(per_target.saturating_mul(targets));
    let by_budget = overrides.rounds_auto || overrides.budget_ns.is_some();
    let rounds = match (overrides.rounds, suite.rounds) {
        (Some(rounds), _) => Rounds::Fixed(rounds),
        (None, Some(rounds)) if !by_budget => Rounds::Fixed(rounds),
        _ => Rounds::Auto {
            budget_ns,
            precision_ppm: overrides.precision_ppm.unwrap_or(DEFAULT_PRECISION_PPM),
        },
    };
    let text = serde_json::to_string(&steps).expect("steps have no maps with keys that are not text");
    Plan {
        id: format!("{:032x}", XxHash3_128::oneshot(text.as_bytes()))[..12].to_owned(),
        suite: suite.name.clone(),
        steps,
        requirements: Vec::new(),
        ladders: Vec::new(),
        rounds,
        in_order: suite.in_order,
        until_steady: suite.until_steady.clone().filter(|id| !overrides.rounds_auto && overrides.wants(id)),
        until_written: suite.until_written.filter(|_| !overrides.rounds_auto),
        makings: 1,
        margin_ppm: overrides.margin_ppm.unwrap_or(DEFAULT_MARGIN_PPM),
        layout_limit_ns: (budget_ns as f64 / targets as f64 * LAYOUT_SHARE) as u64,
        budget_ns: overrides.budget_ns.filter(|_| matches!(rounds, Rounds::Fixed(_))),
    }
}

/// The step with the sweeps that the user asks for in the place of its own; its id and title tell their values.
fn swept<'a>(spec: &'a StepSpec, overrides: &RunOverrides) -> Cow<'a, StepSpec> {
    if overrides.sweeps.is_empty() {
        return Cow::Borrowed(spec);
    }
    let mut spec = spec.clone();
    let keys: Vec<&str> = overrides.sweeps.iter().filter_map(|values| Some(values.first()?.key)).collect();
    spec.sweep.retain(|dimension| !dimension.iter().any(|setting| keys.contains(&setting.key)));
    spec.sweep.extend(overrides.sweeps.iter().cloned());
    for key in keys {
        let named = format!("{{{key}}}");
        if spec.id.contains('{') && !spec.id.contains(&named) {
            spec.id.push_str(&format!("-{named}"));
        }
        if let Some(title) = spec.title.as_mut().filter(|title| !title.contains(&named)) {
            title.push_str(&format!(", {key} {named}"));
        }
    }
    Cow::Owned(spec)
}

/// Some step must be left, and what the suite names must be one.
fn check_steps(suite: &Suite, steps: &[Step], ids: &[String]) -> Result<(), Vec<Problem>> {
    let problem = |message: String| Err(vec![Problem::error(SourceLocation::Nowhere, message)]);
    match &suite.until_steady {
        Some(id) if !ids.contains(id) => problem(format!("until_steady: there is no step `{id}`")),
        _ if ids.is_empty() => problem("there is nothing to do: the suite has no step".to_owned()),
        _ if steps.is_empty() => {
            problem("there is nothing to do: --only and --skip leave no step".to_owned())
        }
        _ => Ok(()),
    }
}

/// Names given with `--only` and `--skip` must stand for steps.
pub(crate) fn check_names(overrides: &RunOverrides, ids: &[String]) -> Result<(), Vec<Problem>> {
    let problem = |flag: &str, name: &String| {
        let message = format!("there is no step `{name}`");
        let known = ids.iter().map(String::as_str).collect::<Vec<_>>();
        let help = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`? The steps are {}", listed(known)),
            None => format!("the steps are {}", listed(known)),
        };
        Problem::error(SourceLocation::Flag(flag.to_owned()), message).help(help)
    };
    let is_unknown = |name: &&String| !ids.iter().any(|id| names_step(name, id));
    let only = overrides.only.iter().filter(is_unknown).map(|name| problem("only", name));
    let all: Vec<Problem> =
        only.chain(overrides.skip.iter().filter(is_unknown).map(|name| problem("skip", name))).collect();
    if all.is_empty() { Ok(()) } else { Err(all) }
}

/// Every combination of a step's sweep, as complete lists of settings: defaults first, then the
/// suite's, the step's, the sweep's and the user's. An option that the user overrides is not swept.
fn expand(
    suite: &Suite,
    spec: &StepSpec,
    overrides: &RunOverrides,
    problems: &mut Vec<Problem>,
) -> Vec<Vec<Setting>> {
    let overridden = |key: &str| overrides.settings.iter().any(|s| s.key == key);
    let mut combinations: Vec<Vec<Setting>> = vec![Vec::new()];
    for dimension in &spec.sweep {
        if dimension.first().is_none_or(|s| overridden(s.key)) {
            continue;
        }
        if combinations.len() * dimension.len() > MAX_STEPS {
            let message = format!("the sweep gives more than {MAX_STEPS} steps");
            problems.push(
                Problem::error(spec.location.clone(), message).help("sweep less, or use several suites"),
            );
            return Vec::new();
        }
        combinations = combinations
            .iter()
            .flat_map(|have| dimension.iter().map(move |s| [&have[..], std::slice::from_ref(s)].concat()))
            .collect();
    }
    let merged = |sweep: Vec<Setting>| {
        let mut merged: Vec<Setting> = OPTIONS
            .iter()
            .map(|o| Setting { key: o.key, text: o.default.to_owned(), location: SourceLocation::Nowhere })
            .collect();
        for setting in suite.defaults.iter().chain(&spec.settings).chain(&sweep).chain(&overrides.settings) {
            if let Some(slot) = merged.iter_mut().find(|s| s.key == setting.key) {
                *slot = setting.clone();
            }
        }
        merged
    };
    combinations.into_iter().map(merged).collect()
}

/// A contradiction with all the steps that share it.
struct Misfit {
    steps: Vec<String>,
    location: SourceLocation,
    what: Contradiction,
}

impl Misfit {
    /// A contradiction in step `id`, blamed on a flag if one has to do with it, else on the suite's setting
    /// that has, else on the step.
    fn new(id: &str, spec: &StepSpec, settings: &[Setting], what: Contradiction) -> Self {
        let involved = what.keys.iter().filter_map(|key| settings.iter().find(|s| s.key == *key));
        let locations: Vec<&SourceLocation> =
            involved.map(|s| &s.location).filter(|p| **p != SourceLocation::Nowhere).collect();
        let flag = locations.iter().find(|location| matches!(location, SourceLocation::Flag(_)));
        let location = flag.or(locations.first()).map_or(&spec.location, |location| *location).clone();
        Self { steps: vec![id.to_owned()], location, what }
    }

    fn into_problem(self) -> Problem {
        /// More steps than this are counted, not named.
        const NAMED: usize = 3;
        let named: Vec<String> = self.steps.iter().take(NAMED).map(|id| format!("`{id}`")).collect();
        let who = match self.steps.len() {
            1 => format!("step {}", named[0]),
            n if n <= NAMED => format!("steps {}", named.join(", ")),
            n => format!("steps {} and {} more", named.join(", "), n - NAMED),
        };
        let make = if self.what.fatal { Problem::error } else { Problem::warning };
        make(self.location, format!("{who}: {}", self.what.message)).help(self.what.help)
    }
}

fn step(
    spec: &StepSpec,
    settings: &[Setting],
    others: Vec<Step>,
    environment: &Environment,
    problems: &mut Vec<Problem>,
    misfits: &mut Misfits,
) -> Option<Step> {
    let mut draft = Draft::default();
    for setting in settings {
        let option = option(setting.key).expect("settings are made from options");
        if let Err(message) = (option.set)(&mut draft, &setting.text) {
            // The default replaces it, so that the rest of the step is checked too.
            let _ = (option.set)(&mut draft, option.default);
            let problem = Problem::error(setting.location.clone(), format!("{}: {message}", setting.key));
            let lists_allowed = message.contains("is not one of");
            problems.push(if lists_allowed {
                problem
            } else {
                problem.help(format!("allowed: {}", option.allowed))
            });
        }
    }
    let id = fill_in(&appended(spec), spec, settings, problems)?;
    let own_title = match &spec.title {
        Some(title) => Some(fill_in(title, spec, settings, problems)?),
        None => None,
    };
    let mut found = contradictions(&draft);
    let mut step = finish(draft, id.clone());
    step.concurrent = others;
    if !step.concurrent.is_empty() {
        step.shortest_ns = None;
    }
    step.title = own_title.unwrap_or_else(|| match &spec.label {
        Some(label) => format!("{label}: {}", title(&step)),
        None => title(&step),
    });
    let engine = match step.engine {
        EngineChoice::Auto => environment.engines.first(),
        EngineChoice::Only(kind) => environment.engines.iter().find(|e| e.kind == kind),
    };
    found.extend(check::misfits(&step, engine, environment.memory_bytes));
    found.extend(check::concurrent_misfits(&step));
    found.into_iter().for_each(|what| misfits.add(Misfit::new(&id, spec, settings, what)));
    Some(step)
}

/// Settings that do not fit together, indexed so that the same problem in several steps is reported once.
#[derive(Default)]
struct Misfits {
    found: Vec<Misfit>,
    index: HashMap<(SourceLocation, String, String), usize>,
}

impl Misfits {
    /// Adds a misfit, or its steps to the same misfit found before.
    fn add(&mut self, misfit: Misfit) {
        let key = (misfit.location.clone(), misfit.what.message.to_string(), misfit.what.help.to_string());
        match self.index.get(&key) {
            Some(index) => self.found[*index].steps.extend(misfit.steps),
            None => {
                self.index.insert(key, self.found.len());
                self.found.push(misfit);
            }
        }
    }
}

/// Shortest measured time after scaling, in nanoseconds.
const SHORTEST_SCALED_NS: u64 = 100_000_000;

/// Multiplies the times of a step by `factor`.
fn scale(step: &mut Step, factor: f64) {
    let scaled = |ns: u64| (ns as f64 * factor) as u64;
    step.stop.time_ns = step.stop.time_ns.map(|ns| scaled(ns).max(SHORTEST_SCALED_NS.min(ns)));
    step.shortest_ns = step.shortest_ns.filter(|shortest| step.stop.time_ns.is_some_and(|ns| ns > *shortest));
    step.ramp_ns = scaled(step.ramp_ns);
    step.concurrent.iter_mut().for_each(|other| scale(other, factor));
}

/// The step's id as written; if it names no option, with the swept ones appended.
fn appended(spec: &StepSpec) -> String {
    let mut id = spec.id.clone();
    if !id.contains('{') {
        for swept in spec.sweep.iter().filter_map(|dimension| dimension.first()) {
            id.push_str(&format!("-{{{}}}", swept.key));
        }
    }
    id
}

/// A text with the options in braces replaced by their values.
fn fill_in(text: &str, spec: &StepSpec, settings: &[Setting], problems: &mut Vec<Problem>) -> Option<String> {
    let value = |key: &str| settings.iter().find(|s| s.key == key).map(|s| s.text.replace(['/', ' '], ""));
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let found = after.split_once('}').and_then(|(key, tail)| Some((value(key)?, tail)));
        let Some((value, tail)) = found else {
            let problem =
                Problem::error(spec.location.clone(), format!("`{text}` names no option in its braces"));
            problems.push(problem.help("name an option, as in \"read-{bs}\""));
            return None;
        };
        filled.push_str(&value);
        rest = tail;
    }
    filled.push_str(rest);
    Some(filled)
}

/// The drawn block sizes of the directions in use.
fn split(draft: &Draft) -> Option<BlockSplit> {
    let [read, write, trim] = draft.bs_split.as_ref()?;
    let (reads, writes, trims) = match draft.rw {
        Rw::Read | Rw::RandRead | Rw::Update | Rw::RandUpdate => (true, false, false),
        Rw::Write | Rw::RandWrite | Rw::Allocate | Rw::RandAllocate | Rw::Truncate | Rw::RandTruncate => {
            (false, true, false)
        }
        Rw::Mixed | Rw::RandMixed => (true, true, false),
        Rw::Trim | Rw::RandTrim => (false, false, true),
        Rw::Metadata => return None,
    };
    let used = |wanted: bool, shares: &[SizeShare]| if wanted { shares.to_vec() } else { Vec::new() };
    let (read, write, trim) = (used(reads, read), used(writes, write), used(trims, trim));
    let smallest = read.iter().chain(&write).chain(&trim).map(|s| s.bytes).min()?;
    let grain = draft.bs_align.map_or(smallest, |bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
    Some(BlockSplit { read, write, trim, grain })
}

/// Mean bytes per operation of a direction.
fn mean_size(shares: Option<&Vec<SizeShare>>, bytes: u32) -> f64 {
    match shares {
        Some(shares) if !shares.is_empty() => {
            shares.iter().map(|s| f64::from(s.bytes) * s.percent / 100.0).sum()
        }
        _ => f64::from(bytes),
    }
}

/// The operations of a draft.
fn mix(draft: &Draft) -> Mix {
    match draft.rw {
        Rw::Read | Rw::RandRead => Mix::Transfer { read_percent: 100 },
        Rw::Write | Rw::RandWrite => Mix::Transfer { read_percent: 0 },
        Rw::Mixed | Rw::RandMixed => Mix::Transfer { read_percent: draft.rwmixread },
        Rw::Update | Rw::RandUpdate => Mix::Update { write_percent: draft.update_percent },
        Rw::Trim | Rw::RandTrim => Mix::Trim,
        Rw::Allocate | Rw::RandAllocate => Mix::Allocate,
        Rw::Truncate | Rw::RandTruncate => Mix::Truncate,
        Rw::Metadata => Mix::Metadata(MetadataWork {
            operations: draft.metadata_ops.clone(),
            files: draft.metadata_files,
            directories: draft.metadata_dirs,
            file_bytes: draft.file_size,
            names: draft.names,
            naming: draft.naming,
            order: draft.name_order,
        }),
    }
}

/// When operations start. A rate in bytes becomes a rate of operations by the mean block size.
fn pace(draft: &Draft, [read, write, trim]: [u32; 3], split: Option<&BlockSplit>) -> Pace {
    let reads = match draft.rw {
        Rw::Read | Rw::RandRead => 1.0,
        Rw::Mixed | Rw::RandMixed => f64::from(draft.rwmixread) / 100.0,
        _ => 0.0,
    };
    let mean_block = match draft.rw {
        Rw::Trim | Rw::RandTrim => mean_size(split.map(|s| &s.trim), trim),
        _ => {
            let read = mean_size(split.map(|s| &s.read), read);
            let write = mean_size(split.map(|s| &s.write), write);
            reads * read + (1.0 - reads) * write
        }
    };
    let per_second = draft.rate_iops.or(draft.rate_bytes.map(|rate| rate / mean_block));
    match (per_second, draft.rate_process) {
        (None, _) => Pace::Closed,
        (Some(per_second), RateProcess::Fixed) => Pace::Fixed { per_second },
        (Some(per_second), RateProcess::Poisson) => Pace::Poisson { per_second },
    }
}

/// How a block is split into calls.
fn calls(draft: &Draft) -> Option<Calls> {
    let buffer_bytes = draft.stream_bytes.unwrap_or(0) as u32;
    draft.call_bytes.map(|bytes| Calls { bytes: bytes as u32, buffer_bytes })
}

/// How long the work is repeated.
fn again(draft: &Draft) -> Option<Again> {
    let empties = draft.prepare == Preparation::Fresh && draft.rw != Rw::Metadata;
    draft.min_runtime_ns.map(|least_ns| Again { least_ns, empties })
}

/// The rarer options.
fn modifiers(draft: &Draft, split: Option<BlockSplit>) -> Modifiers {
    Modifiers {
        split,
        think: draft.think,
        start_delay_ns: draft.start_delay_ns,
        flow: draft.flow,
        even_mix: draft.even_mix,
        sync_all_files: draft.sync_all_files,
        ends_all: draft.ends_all,
        once: draft.once,
        steady: draft.steady,
        latency_target: draft.latency_target,
        read_first: draft.read_first,
        log_offset: draft.log_offset,
        buffers: draft.buffers,
        calls: calls(draft),
        again: again(draft),
    }
}

/// Nanoseconds of the shortest repeat that a run chooses: in less, the scheduler's ticks and the first operations weigh too
/// much.
const SHORTEST_NS: u64 = 100_000_000;

/// True if a repeat measures the same however long it is, as far as can be told before: only time ends it, its data are
/// there before and after it, and it bypasses the page cache, where a longer repeat would find more of its data.
fn may_be_shortened(step: &Step) -> bool {
    let (workload, stop) = (&step.workload, &step.stop);
    let ends_by_time = Stop { time_ns: None, ..*stop } == Stop::default();
    let Modifiers { split, buffers, .. } = workload.modifiers.clone();
    let plain = Modifiers { split, buffers, ..Modifiers::default() };
    stop.time_ns.is_some_and(|ns| ns > SHORTEST_NS)
        && ends_by_time
        && step.prepare == Preparation::Written
        && matches!(workload.mix, Mix::Transfer { .. })
        && workload.direct
        && workload.pace == Pace::Closed
        && !workload.verify
        && workload.modifiers == plain
}

/// Builds a step from a draft.
fn finish(draft: Draft, id: String) -> Step {
    let is_exact = draft.runtime_is_exact;
    let direct = draft.direct.unwrap_or(draft.engine != EngineChoice::Only(EngineKind::Mmap));
    let split = split(&draft);
    let mix = mix(&draft);
    let pattern = if draft.rw.is_random() {
        Pattern::Random { distribution: draft.distribution.clone(), repeats: draft.norandommap }
    } else if let Some((run_bytes, skip_bytes)) = draft.stride {
        Pattern::Strided { run_bytes, skip_bytes }
    } else if let Some(count) = draft.spaced {
        Pattern::Spaced { count }
    } else {
        Pattern::Sequential
    };
    let largest = |shares: &[SizeShare], bs: u32| shares.iter().map(|s| s.bytes).max().unwrap_or(bs);
    let [read, write, trim] = match &split {
        None => draft.bs,
        Some(split) => [
            largest(&split.read, draft.bs[0]),
            largest(&split.write, draft.bs[1]),
            largest(&split.trim, draft.bs[2]),
        ],
    };
    let pace = pace(&draft, [read, write, trim], split.as_ref());
    let workload = Workload {
        mix,
        pattern,
        block: BlockSizes { read, write, trim },
        iodepth: draft.iodepth,
        jobs: draft.jobs,
        files: FileSet { count: draft.files, size_bytes: draft.size, number: draft.file_set },
        pace,
        direct,
        open_sync: draft.open_sync,
        sync: SyncRule {
            every: draft.fsync.max(draft.fdatasync),
            data_only: draft.fdatasync > 0,
            at_end: draft.end_fsync.unwrap_or(!direct && draft.rw != Rw::Metadata),
        },
        data: Data { class: draft.data, compress_percent: draft.compress, dedupe_percent: draft.dedupe },
        verify: draft.verify,
        regions: draft.regions,
        cache: draft.cache,
        modifiers: modifiers(&draft, split),
    };
    let mut step = Step {
        id,
        title: String::new(),
        prepare: draft.prepare,
        workload,
        engine: draft.engine,
        stop: Stop {
            time_ns: draft.runtime_ns,
            bytes: draft.io_size,
            operations: draft.operations,
            passes: draft.loops,
        },
        shortest_ns: None,
        ramp_ns: draft.ramp_ns,
        interval_ns: draft.interval_ns,
        max_errors: draft.max_errors,
        foreign: Vec::new(),
        concurrent: Vec::new(),
    };
    if step.uses_data_up() {
        // A ramp would use up the data to be measured.
        step.ramp_ns = 0;
    }
    step.shortest_ns = (!is_exact && may_be_shortened(&step)).then_some(SHORTEST_NS);
    step
}
