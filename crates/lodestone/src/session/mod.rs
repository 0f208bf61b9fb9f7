//! Measuring: lays out test data, then runs round after round of repeats, and records everything as it happens.

mod budget;
mod data_sets;
mod disturbed;
mod foreign;
mod layout;
mod lengths;
mod readiness;
mod recorder;
mod release;
mod repeat;
mod rounds;
mod sharing;
mod silence;
mod sizes;
mod telemetry;
mod timeout;
mod turns;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use host::presence::Presence;
use host::{Hold, Roots};
use model::{
    EngineKind, Event, FailureKind, Mix, Note, Plan, Preparation, RepeatOutcome, Rounds, RunFinished,
    RunOutcome, Severity, Step, Target,
};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::progress::Progress;
pub(crate) use budget::Reach;
use data_sets::DataSet;
pub(crate) use foreign::{Driver, PendingReports, Tools};
pub(crate) use lengths::Lengths;
use plan::DataKey;
pub(crate) use recorder::{Recorder, fallback_directories};
pub(crate) use repeat::engine_of;
pub(crate) use rounds::RoundHistory;
use sizes::Wanted;
use telemetry::Telemetry;
pub(crate) use turns::Turns;

/// Failed repeats after which a target is given up.
const MAX_FAILURES: u32 = 3;

/// What a session needs.
pub(crate) struct Session<'a> {
    pub roots: Roots,
    pub plan: &'a Plan,
    /// The engine that `auto` stands for.
    pub best_engine: EngineKind,
    pub seed: u64,
    pub interrupt: Arc<AtomicBool>,
    pub presence: Option<Presence>,
    pub progress: Progress,
    pub recorder: Recorder,
    pub targets: Vec<TargetState>,
    /// Directories for the files given to other programs, in order of preference.
    pub scratch: Vec<PathBuf>,
    /// How often telemetry is read, if it is.
    pub telemetry_period: Option<Duration>,
    /// The longest wait for quiet devices before the first round.
    pub settle: Duration,
    /// Empty until the session begins.
    pub watching: Watching,
    /// Empty until the session begins.
    pub history: RoundHistory,
    /// Empty until the session begins.
    pub lengths: Lengths,
    /// The order of the targets in the rounds to come.
    pub turns: Turns,
    /// Steps for whose comparisons the time is not enough.
    pub reach: Reach,
    /// Rounds of a step in which the machine was disturbed.
    pub disturbed_groups: u32,
    /// Those of them that were measured again.
    pub repeated_groups: u32,
    /// The order of the repeats in a round.
    pub order: Order,
    /// Steps that are no longer repeated, because their program failed.
    pub given_up: BTreeSet<String>,
    /// Reports of programs on steps whose turn comes next.
    pub pending_reports: PendingReports,
}

/// The order of the repeats in a round.
pub(crate) enum Order {
    /// As the plan has them.
    Plan,
    /// The steps in random order in each round; within a step one target directly after the other, in an order by which
    /// each target follows each other one equally often.
    Balanced,
    /// Groups of steps in random order; within a group, one target after the other in random order, so that compared
    /// repeats are close together in time. The steps of a group, by their index, keep their order.
    SideBySide(Vec<Vec<usize>>),
}

/// Telemetry under way, if it is read.
#[derive(Default)]
pub(crate) struct Watching(Option<Telemetry>);

/// A target with the session's state of it.
pub(crate) struct TargetState {
    pub target: Target,
    /// The user's file or device itself; `None` for a directory.
    hold: Option<Hold>,
    sets: Vec<DataSet>,
    /// Sizes of sets that are created anew for each repeat.
    fresh: Vec<(Wanted, u64)>,
    failures: u32,
    /// It was given up.
    given_up: bool,
    /// The kernel still has requests of this run in flight on it.
    hangs: bool,
    /// What runs its repeats.
    pub driver: Driver,
    /// The steps that run here, if not all do.
    pub only: Option<BTreeSet<String>>,
    /// Index of the target whose test data it uses instead of its own.
    pub borrows: Option<usize>,
}

/// Why a step does not run on a target.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Obstacle {
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
            failures: 0,
            given_up: false,
            hangs: false,
            driver: Driver::Own,
            only: None,
            borrows: None,
        }
    }

    /// For each step of a plan why it does not run here; `None` if it does.
    fn obstacles(&self, plan: &Plan) -> Vec<Option<Obstacle>> {
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

/// Why a session cannot measure at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    /// The test data do not fit.
    #[error(
        "{target}: the test data need {needed} bytes, and {free} bytes are free in {path} ({reserve} of them must stay free); use a smaller --size"
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
fn storage_errno(target: &str, source: std::io::Error) -> Result<i32, SessionError> {
    use std::io::ErrorKind;
    // EMFILE and ENFILE: too many open files.
    const OWN: [i32; 2] = [24, 23];
    match source.raw_os_error() {
        Some(errno) if source.kind() != ErrorKind::OutOfMemory && !OWN.contains(&errno) => Ok(errno),
        _ => Err(SessionError::Files { target: target.to_owned(), source }),
    }
}

impl Session<'_> {
    /// Lays out, measures, and records the end. The record has the measurements even if the rig broke; failing storage
    /// appears only in the record.
    pub fn run(mut self) -> (Recorder, Option<SessionError>) {
        let clock_ahead_ns = host::readiness::wall_clock_ahead_ns();
        self.begin_telemetry();
        let broken = self.measure().err();
        self.release();
        self.end_telemetry();
        self.warn_of_hung_targets();
        self.note_clock_step(clock_ahead_ns);
        let outcome = match &broken {
            Some(_) => RunOutcome::Failed,
            None if self.interrupted() => RunOutcome::Interrupted,
            None if self.targets.iter().any(|p| p.failures > 0) => RunOutcome::Failed,
            None => RunOutcome::Completed,
        };
        if let Some(error) = &broken {
            self.note(Severity::Error, "run-broke", None, error.to_string());
        }
        let at_ns = self.recorder.at_ns();
        self.emit(Event::RunFinished(RunFinished { at_ns, outcome }));
        self.progress.finish();
        self.recorder.finish(&fallback_directories());
        (self.recorder, broken)
    }

    fn measure(&mut self) -> Result<(), SessionError> {
        self.note_other_runs();
        self.note_obstacles();
        self.share_data();
        self.expect(0, &self.pairs(0));
        self.lay_out_all()?;
        self.await_readiness(self.expected());
        self.begin_lengths();
        let mut order = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        for round in 0.. {
            self.reconsider_reach(round);
            let all = self.pairs(round);
            let pairs = self.within_reach(round, all.clone());
            if self.interrupted() || pairs.is_empty() || self.is_enough(round, &pairs) {
                break;
            }
            self.begin_round(&pairs);
            self.expect(round, &all);
            let ordered = self.ordered(pairs.clone(), &mut order);
            let mut again = Vec::new();
            for group in ordered.chunk_by(|a, b| a.0 == b.0) {
                let first = self.one_group(round, group)?;
                if self.repeats_disturbed(round, group, first) {
                    again.push(group);
                }
            }
            // By the end of the round the disturbance may be over.
            for group in again {
                self.one_group(round, group)?;
            }
            self.end_round(&pairs);
            self.note_other_runs();
            self.note_layer_states();
        }
        self.note_disturbed();
        Ok(())
    }

    /// The repeats of one step in a round, one target after the other. Returns the number of the first of them.
    fn one_group(&mut self, round: u32, group: &[(usize, usize)]) -> Result<u32, SessionError> {
        let first = self.recorder.run().begun();
        for (step, index) in group {
            let is_left =
                !self.targets[*index].given_up && !self.given_up.contains(&self.plan.steps[*step].id);
            if !self.interrupted() && is_left {
                let began = self.recorder.at_ns();
                self.one_repeat(round, *step, *index)?;
                let took_ns = self.recorder.at_ns() - began;
                self.history.took((*step, *index), took_ns);
                self.learn_length(*step, *index, took_ns);
            }
        }
        Ok(first)
    }

    /// The planned duration of the rounds.
    fn expected(&self) -> Duration {
        match self.plan.rounds {
            Rounds::Fixed(rounds) => {
                let later = self.round_ns(&self.pairs(1)).saturating_mul(u64::from(rounds.saturating_sub(1)));
                let planned = self.round_ns(&self.pairs(0)).saturating_add(later);
                Duration::from_nanos(self.plan.budget_ns.map_or(planned, |budget_ns| planned.min(budget_ns)))
            }
            Rounds::Auto { budget_ns, .. } => Duration::from_nanos(budget_ns),
        }
    }

    fn one_repeat(&mut self, round: u32, step: usize, index: usize) -> Result<(), SessionError> {
        if !self.answers(&self.plan.steps[step], index) {
            self.give_up_silent(index);
            return Ok(());
        }
        // A step that creates its files anew does not use the laid-out data.
        let kept = |step: &Step| DataKey::of(step).filter(|_| step.prepare == Preparation::Written);
        let parts: Vec<Step> = self.plan.steps[step].parts().cloned().collect();
        for key in parts.iter().filter_map(kept) {
            self.restore(index, key)?;
        }
        if self.targets[index].given_up || self.interrupted() {
            return Ok(());
        }
        let ended = repeat::run(self, round, step, index)?;
        let run = self.recorder.run();
        if let Some(last) = run.repeats.last().filter(|repeat| repeat.is_complete()) {
            self.history.record(&self.plan.steps[step], last);
        }
        let state = &mut self.targets[index];
        for part in parts.iter().filter(|part| matches!(part.workload.mix, Mix::Trim | Mix::Allocate)) {
            let key = kept(part);
            for set in state.sets.iter().filter(|set| Some(set.wanted.key) == key) {
                set.has_holes.store(true, Ordering::Relaxed);
            }
        }
        if ended.hung {
            state.abandon();
        }
        let RepeatOutcome::Failed(failure) = ended.outcome else {
            if ended.hung {
                self.give_up_silent(index);
            }
            return Ok(());
        };
        state.failures += 1;
        if let FailureKind::Program(what) = &failure.kind {
            // It would fail again, and not because of the storage.
            self.give_up_steps(step, &what.clone());
        } else if failure.is_final() || state.failures >= MAX_FAILURES {
            let why = if failure.is_final() { "the target cannot continue" } else { "it failed too often" };
            self.give_up(index, &format!("{failure}; {why}"));
        }
        Ok(())
    }

    /// Gives up a target.
    fn give_up(&mut self, index: usize, why: &str) {
        let state = &mut self.targets[index];
        state.given_up = true;
        state.failures = state.failures.max(1);
        let name = state.target.name.clone();
        let message = format!("{why}; the run goes on without it");
        self.note(Severity::Error, "target-given-up", Some(name), message);
    }

    /// Gives up a step, and the steps that the same program runs with it.
    fn give_up_steps(&mut self, step: usize, why: &str) {
        let together = match &self.order {
            Order::SideBySide(groups) => groups.iter().find(|group| group.contains(&step)).cloned(),
            Order::Plan | Order::Balanced => None,
        };
        let together = together.unwrap_or_else(|| vec![step]);
        let ids: Vec<String> = together.iter().map(|step| self.plan.steps[*step].id.clone()).collect();
        let message = format!("{why}; the run goes on without {}", ids.join(", "));
        self.given_up.extend(ids);
        self.note(Severity::Error, "program-failed", None, message);
    }

    /// Notes which steps cannot run on which targets.
    fn note_obstacles(&mut self) {
        let mut found: Vec<(String, String, Vec<String>)> = Vec::new();
        for state in &self.targets {
            for (step, why) in self.plan.steps.iter().zip(state.obstacles(self.plan)) {
                let Some(Obstacle::Impossible(why)) = why else { continue };
                let name = &state.target.name;
                match found.iter_mut().find(|(target, reason, _)| target == name && *reason == why) {
                    Some((.., steps)) => steps.push(step.id.clone()),
                    None => found.push((name.clone(), why, vec![step.id.clone()])),
                }
            }
        }
        for (target, why, steps) in found {
            let message = format!("left out: {}: {why}", steps.join(", "));
            self.note(Severity::Warning, "step-left-out", Some(target), message);
        }
    }

    /// Notes other runs that are in progress: they disturb each other.
    fn note_other_runs(&mut self) {
        let others = host::presence::others(&self.roots, self.presence.as_ref());
        if !others.is_empty() && !self.recorder.run().notes.iter().any(|n| n.topic == "not-alone") {
            let message = format!(
                "another run is in progress on this machine: {}; each disturbs the other's figures",
                others.join(", ")
            );
            self.note(Severity::Warning, "not-alone", None, message);
        }
    }

    pub(crate) fn note(&mut self, severity: Severity, topic: &str, target: Option<String>, message: String) {
        let at_ns = self.recorder.at_ns();
        self.emit(Event::Note(Note { at_ns, severity, topic: topic.to_owned(), target, message }));
    }

    fn begin_telemetry(&mut self) {
        let Some(period) = self.telemetry_period else { return };
        let begun = Telemetry::begin(self.roots.clone(), self.layers(), period, self.recorder.origin());
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

    fn end_telemetry(&mut self) {
        if let Some(telemetry) = self.watching.0.take() {
            let last = telemetry.end();
            self.recorder.emit_all(last.into_iter().map(Event::Reading).collect());
        }
    }

    fn emit(&mut self, event: Event) {
        if let Some(telemetry) = &self.watching.0 {
            let readings = telemetry.take();
            if !readings.is_empty() {
                self.recorder.emit_all(readings.into_iter().map(Event::Reading).collect());
            }
        }
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
