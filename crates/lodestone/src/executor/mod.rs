//! The executor of this machine: lays out test data, makes the repeats that a scheduler orders, with its engines or another
//! program, and records everything as it happens.

mod data_sets;
mod foreign;
mod in_turns;
mod layout;
mod readiness;
mod release;
mod repeat;
mod sharing;
mod silence;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use host::presence::Presence;
use host::probes::Telemetry;
use host::{Hold, Roots};
use model::{EngineKind, Event, Mix, Note, Plan, Preparation, RepeatOutcome, Severity, Step, Target, Units};
use report::display_bytes;
use schedule::{Executor, Lane, Lost, Measured, Order, Outcome, Said};

use crate::progress::Progress;
use crate::recorder::Recorder;
use data_sets::DataSet;
pub(crate) use foreign::{Driver, PendingReports, Tools};
pub(crate) use layout::{OpenSize, shortage};
use plan::{DataKey, DataNeed};
use repeat::Ended;
pub(crate) use repeat::engine_of;

/// What carries the orders of a scheduler out on this machine; its lanes are the targets.
pub(crate) struct Local<'a> {
    pub roots: Roots,
    pub plan: &'a Plan,
    /// The engine that `auto` stands for.
    pub best_engine: EngineKind,
    pub seed: u64,
    pub interrupt: Arc<AtomicBool>,
    pub presence: Option<Presence>,
    pub progress: Progress,
    pub recorder: Recorder,
    /// Those of a target that was made several times follow each other.
    pub targets: Vec<TargetState>,
    /// Directories for the files given to other programs, in order of preference.
    pub scratch: Vec<PathBuf>,
    /// How often telemetry is read, if it is.
    pub telemetry_period: Option<Duration>,
    /// The longest wait for quiet devices before the first round.
    pub settle: Duration,
    /// Empty until telemetry begins.
    pub watching: Watching,
    /// Reports of programs on steps whose turn comes next.
    pub pending_reports: PendingReports,
    /// Says when repeats begin, if several machines begin together.
    pub barrier: Option<Box<engine::Barrier<'a>>>,
}

/// Telemetry under way, if it is read.
#[derive(Default)]
pub(crate) struct Watching(Option<Telemetry>);

/// A target with the executor's state of it.
pub(crate) struct TargetState {
    pub target: Target,
    /// The user's file or device itself; `None` for a directory.
    hold: Option<Hold>,
    sets: Vec<DataSet>,
    /// Sizes of sets that are created anew for each repeat.
    fresh: Vec<(DataNeed, u64)>,
    /// The kernel still has requests of this run in flight on it.
    hangs: bool,
    /// What runs its repeats.
    pub driver: Driver,
    /// The steps that run here, if not all do.
    pub only: Option<BTreeSet<String>>,
    /// Index of the target whose test data it uses instead of its own.
    pub borrows: Option<usize>,
    /// Why its test data could not be prepared.
    pub lost: Option<Lost>,
}

/// Why a step does not run on a target.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Obstacle {
    /// It was not meant for this target.
    Elsewhere,
    /// It cannot: the reason, in words.
    Impossible(String),
}

impl TargetState {
    /// A target, with the open file or device if it is one.
    pub fn new(target: Target, hold: Option<Hold>) -> Self {
        Self {
            target,
            hold,
            sets: Vec::new(),
            fresh: Vec::new(),
            hangs: false,
            driver: Driver::Own,
            only: None,
            borrows: None,
            lost: None,
        }
    }

    /// For each step of a plan why it does not run here; `None` if it does.
    pub fn obstacles(&self, plan: &Plan) -> Vec<Option<Obstacle>> {
        let found = plan::obstacles(plan, &self.target);
        let is_meant = |step: &Step| self.only.as_ref().is_none_or(|only| only.contains(&step.id));
        let obstacle = |(step, why): (&Step, Option<String>)| {
            if is_meant(step) { why.map(Obstacle::Impossible) } else { Some(Obstacle::Elsewhere) }
        };
        plan.steps.iter().zip(found).map(obstacle).collect()
    }

    /// The laid-out set with a key.
    fn set(&self, key: DataKey) -> Option<&DataSet> {
        self.sets.iter().find(|set| set.wanted.key == key)
    }

    /// Bytes of the sets with a key that are created anew for each repeat.
    fn fresh_bytes(&self, key: DataKey) -> Option<u64> {
        self.fresh.iter().find(|(wanted, _)| wanted.key == key).map(|(_, bytes)| *bytes)
    }

    /// Leaves the test data to the kernel, which still has requests on them in flight and may never complete them:
    /// closing or removing the files would wait for that.
    fn abandon(&mut self) {
        self.hangs = true;
        std::mem::forget(std::mem::take(&mut self.sets));
    }

    /// Opens the target itself, for files and devices.
    fn open(&self, flags: i32) -> std::io::Result<File> {
        let is_a_directory = || std::io::Error::from(std::io::ErrorKind::IsADirectory);
        self.hold.as_ref().ok_or_else(is_a_directory)?.open(flags)
    }
}

/// Why nothing can be measured at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RigError {
    /// The test data do not fit.
    #[error(
        "{target}: the test data need {}, and {} are free in {path} ({} of that must stay free); use a smaller --size",
        display_bytes(*needed, Units::Binary), display_bytes(*free, Units::Binary), display_bytes(*reserve, Units::Binary)
    )]
    NoSpace { target: String, path: PathBuf, needed: u64, free: u64, reserve: u64 },
    /// The data set is too small for the plan.
    #[error("{target}: {have} bytes are too few for the plan, which needs at least {needed}")]
    TooSmall { target: String, have: u64, needed: u64 },
    /// The rig broke.
    #[error("{step} on {target}: {source}")]
    Engine { step: String, target: String, source: engine::EngineError },
    /// Test files could not be created or opened for a reason that is not the storage's.
    #[error("{target}: cannot prepare test files: {source}")]
    Files { target: String, source: std::io::Error },
}

/// Queue depth for layout and read-back: enough to be fast, without much memory for large blocks.
fn depth_for(block_bytes: u32) -> u32 {
    const BUFFERS: u32 = 4 << 20;
    (BUFFERS / block_bytes).clamp(1, 64)
}

/// Sorts an error of creating or opening files on a target: an errno of the storage, or a lack of this process.
fn storage_errno(target: &str, source: std::io::Error) -> Result<i32, RigError> {
    use std::io::ErrorKind;
    // EMFILE and ENFILE: too many open files.
    const OWN: [i32; 2] = [24, 23];
    match source.raw_os_error() {
        Some(errno) if source.kind() != ErrorKind::OutOfMemory && !OWN.contains(&errno) => Ok(errno),
        _ => Err(RigError::Files { target: target.to_owned(), source }),
    }
}

impl Local<'_> {
    /// The targets as the scheduler sees them.
    pub fn lanes(&self) -> Vec<Lane> {
        let makings = self.plan.makings as usize;
        let lane = |state: &TargetState| Lane {
            target: state.target.name.clone(),
            runs: state.obstacles(self.plan).iter().map(Option::is_none).collect(),
            shares: state.borrows.map(|lender| lender / makings),
            may_shorten: matches!(state.driver, Driver::Own) && state.target.direct,
            takes_turns: self.plan.steps.iter().map(|step| in_turns::can_be(self, step, state)).collect(),
        };
        self.targets.iter().step_by(makings).map(lane).collect()
    }

    /// The index of the making of a target that an order is for.
    fn index(&self, order: &Order) -> usize {
        let makings = self.plan.makings;
        order.lane * makings as usize + (order.round % makings) as usize
    }

    /// Notes other runs that are in progress: they disturb each other.
    pub fn note_other_runs(&mut self) {
        if self.targets.is_empty() {
            return;
        }
        let mut others = host::presence::others(&self.roots, self.presence.as_ref());
        // Several processes may take part in one run.
        others.retain(|id| *id != self.recorder.run().started.id);
        if !others.is_empty() && !self.recorder.run().notes.iter().any(|n| n.topic == "not-alone") {
            let message = format!(
                "another run is in progress on this machine: {}; each disturbs the other's figures",
                others.join(", ")
            );
            self.note(Severity::Warning, "not-alone", None, message);
        }
    }

    pub fn note(&mut self, severity: Severity, topic: &str, target: Option<String>, message: String) {
        let at_ns = self.recorder.at_ns();
        self.emit(Event::Note(Note { at_ns, severity, topic: topic.to_owned(), target, message }));
    }

    pub fn begin_telemetry(&mut self) {
        // If all targets of the run are on other machines, nothing that happens here matters. The run of a machine that only serves
        // has none at all.
        let is_idle = self.targets.is_empty() && !self.recorder.run().started.targets.is_empty();
        let Some(period) = self.telemetry_period.filter(|_| !is_idle) else { return };
        let (roots, origin) = (self.roots.clone(), self.recorder.origin());
        let begun = Telemetry::begin(roots, self.layers(), period, origin, engine::own_descriptors);
        match begun {
            Ok(telemetry) => self.watching = Watching(Some(telemetry)),
            Err(error) => {
                let message = format!("telemetry cannot be read: {error}");
                self.note(Severity::Warning, "telemetry", None, message);
            }
        }
    }

    /// Polls telemetry where a repeat begins or ends, and waits for it.
    fn sample_telemetry(&mut self) {
        if let Some(telemetry) = &mut self.watching.0 {
            telemetry.sample();
        }
    }

    pub fn end_telemetry(&mut self) {
        if let Some(telemetry) = self.watching.0.take() {
            let last = telemetry.end();
            self.recorder.emit_all(last.into_iter().map(Event::Reading).collect());
        }
    }

    fn emit_readings(&mut self) {
        if let Some(telemetry) = &self.watching.0 {
            let readings = telemetry.take();
            if !readings.is_empty() {
                self.recorder.emit_all(readings.into_iter().map(Event::Reading).collect());
            }
        }
    }

    pub fn emit(&mut self, event: Event) {
        self.emit_readings();
        let step = match &event {
            Event::RepeatStarted(started) => self.plan.step(&started.step),
            _ => None,
        };
        self.progress.observe(&event, step);
        self.recorder.emit(event);
    }

    fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }
}

impl Executor for Local<'_> {
    type Error = RigError;

    fn now_ns(&self) -> u64 {
        self.recorder.at_ns()
    }

    fn is_stopped(&self) -> bool {
        self.interrupted()
    }

    fn measure(&mut self, orders: &[Order]) -> Result<Vec<Outcome>, RigError> {
        let mut are_ready = orders.len() > 1;
        for order in orders {
            are_ready = are_ready && self.make_ready(order)?.is_none();
        }
        if are_ready && let Some(ended) = in_turns::run(self, orders)? {
            return Ok(orders.iter().zip(ended).map(|(order, ended)| self.outcome(order, ended)).collect());
        }
        orders.iter().map(|order| self.repeat(order)).collect()
    }

    fn round_ended(&mut self) {
        self.note_other_runs();
        self.note_layer_states();
        self.emit_readings();
    }

    fn hear(&mut self, said: Said) {
        match said {
            Said::Event(event) => self.emit(event),
            Said::Expected { end_ns, rounds } => self.progress.expect(end_ns, Some(rounds)),
            Said::Forecast(message) => self.progress.say(&message),
        }
    }
}

impl Local<'_> {
    /// Makes one repeat, which takes no turns with others.
    ///
    /// # Errors
    /// The run cannot go on at all.
    pub fn repeat(&mut self, order: &Order) -> Result<Outcome, RigError> {
        if let Some(obstacle) = self.make_ready(order)? {
            return Ok(obstacle);
        }
        let ended = repeat::run(self, order)?;
        Ok(self.outcome(order, ended))
    }

    /// Makes the target of an order ready for its repeat; or what there is to say instead of a repeat.
    fn make_ready(&mut self, order: &Order) -> Result<Option<Outcome>, RigError> {
        let (step, index) = (&self.plan.steps[order.step], self.index(order));
        if !self.answers(step, index) {
            self.targets[index].abandon();
            return Ok(Some(Outcome { lost: Some(Lost::Silent), ..Outcome::default() }));
        }
        let parts: Vec<Step> = step.parts().cloned().collect();
        for key in parts.iter().filter_map(kept) {
            self.restore(index, key)?;
        }
        let lost = self.targets[index].lost.clone();
        let is_over = lost.is_some() || self.interrupted();
        Ok(is_over.then(|| Outcome { lost, ..Outcome::default() }))
    }

    /// What is recorded of the repeat that was ordered.
    pub fn measured(&self, order: &Order) -> Option<Measured> {
        let repeat = self.recorder.run().repeat(order.repeat)?;
        Some(Measured::of(self.plan, &self.plan.steps[order.step], repeat))
    }

    /// What the scheduler is told of a repeat.
    fn outcome(&mut self, order: &Order, ended: Ended) -> Outcome {
        let (step, index) = (&self.plan.steps[order.step], self.index(order));
        let measured = self.measured(order);
        let state = &mut self.targets[index];
        for part in step.parts().filter(|part| matches!(part.workload.mix, Mix::Trim | Mix::Allocate)) {
            let key = kept(part);
            for set in state.sets.iter().filter(|set| Some(set.wanted.key) == key) {
                set.has_holes.store(true, Ordering::Relaxed);
            }
        }
        if ended.hung {
            state.abandon();
        }
        let failure = match ended.outcome {
            RepeatOutcome::Failed(failure) => Some(failure),
            RepeatOutcome::Completed | RepeatOutcome::Interrupted => None,
        };
        Outcome { took_ns: 0, measured, failure, lost: ended.hung.then_some(Lost::Silent) }
    }
}

/// The laid-out data that a step uses; one that creates its files anew does not use them.
fn kept(step: &Step) -> Option<DataKey> {
    DataKey::of(step).filter(|_| step.prepare == Preparation::Written)
}
