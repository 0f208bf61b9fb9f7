//! A run: what begins and ends it, around a scheduler and the executor that carries its orders out.

use analyse::{Estimator, Series, measurements};
use model::{Event, Run, RunFinished, RunOutcome, Severity};
use schedule::{Lane, Lost, Scheduler, drive, hear};

use crate::executor::{Local, Obstacle, RigError};
use crate::fleet::Fleet;
use crate::recorder::{Recorder, fallback_directories};

/// A run before its first operation.
pub(crate) struct Session<'a> {
    /// Decides what is measured next.
    pub scheduler: Scheduler,
    /// Measures it.
    pub executor: Fleet<'a>,
}

impl Session<'_> {
    /// Lays out, measures, and records the end. The record has the measurements even if the rig broke; failing storage
    /// appears only in the record.
    pub fn run(mut self) -> (Recorder, Option<RigError>) {
        let clock_ahead_ns = host::readiness::wall_clock_ahead_ns();
        let broken = self.measure().err();
        for lane in self.executor.release() {
            self.scheduler.lose(lane, &Lost::Silent);
        }
        let Self { mut scheduler, mut executor } = self;
        hear(&mut scheduler, &mut executor);
        executor.end(clock_ahead_ns);
        let mut executor = executor.local;
        debug_assert!(
            same_headlines(&scheduler, executor.recorder.run()),
            "the result must be made of what ended the rounds"
        );
        let outcome = match &broken {
            Some(_) => RunOutcome::Failed,
            None => scheduler.outcome(),
        };
        if let Some(error) = &broken {
            executor.note(Severity::Error, "run-broke", None, error.to_string());
        }
        let at_ns = executor.recorder.at_ns();
        executor.emit(Event::RunFinished(RunFinished { at_ns, outcome }));
        executor.progress.finish();
        executor.recorder.finish(&fallback_directories());
        (executor.recorder, broken)
    }

    fn measure(&mut self) -> Result<(), RigError> {
        let Self { scheduler, executor } = self;
        scheduler.at(executor.begin());
        scheduler.expect_start(executor.local.recorder.at_ns());
        hear(scheduler, executor);
        for (lane, lost) in executor.lay_out()? {
            scheduler.lose(lane, &lost);
        }
        hear(scheduler, executor);
        executor.await_readiness(scheduler.planned());
        drive(scheduler, executor)
    }
}

/// What an executor does before its first repeat, and after its last, on the machine that it is on.
impl Local<'_> {
    /// Begins to watch the machine, and notes what is in the way. Returns the lanes.
    pub(crate) fn begin(&mut self) -> Vec<Lane> {
        self.begin_telemetry();
        self.note_other_runs();
        self.note_obstacles();
        self.share_data();
        self.lanes()
    }

    /// Lays out all test data. Returns the lanes that are lost.
    pub(crate) fn lay_out(&mut self) -> Result<Vec<(usize, Lost)>, RigError> {
        self.lay_out_all()?;
        let lost = |(lane, state): (usize, &crate::executor::TargetState)| Some((lane, state.lost.clone()?));
        Ok(self.targets.iter().enumerate().filter_map(lost).collect())
    }

    /// Ends the watching, and notes what is left.
    pub(crate) fn end(&mut self, clock_ahead_ns: i64) {
        self.end_telemetry();
        self.warn_of_hung_targets();
        self.note_clock_step(clock_ahead_ns);
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
}

/// True if the scheduler's figures are those of the result, where all rounds of the run count.
fn same_headlines(scheduler: &Scheduler, run: &Run) -> bool {
    let mut of_result = Series::of_run(run, &measurements(run, Estimator::Mean));
    of_result.retain(|series| series.is_headline);
    let mut of_rounds = scheduler.headlines();
    of_rounds.retain(|series| !series.values.is_empty());
    for all in [&mut of_result, &mut of_rounds] {
        all.sort_by(|a, b| (&a.step, &a.target, a.operation).cmp(&(&b.step, &b.target, b.operation)));
    }
    run.started.plan.until_steady.is_some() || of_result == of_rounds
}
