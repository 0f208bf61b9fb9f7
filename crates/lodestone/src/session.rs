//! A run: what begins and ends it, around a scheduler and the executor that carries its orders out.

use analyse::{Estimator, Series, measurements};
use model::{Event, Run, RunFinished, RunOutcome, Severity};
use schedule::{Lost, Scheduler, drive, hear};

use crate::executor::{Local, Obstacle, RigError};
use crate::recorder::{Recorder, fallback_directories};

/// A run before its first operation.
pub(crate) struct Session<'a> {
    /// Decides what is measured next.
    pub scheduler: Scheduler,
    /// Measures it.
    pub executor: Local<'a>,
}

impl Session<'_> {
    /// Lays out, measures, and records the end. The record has the measurements even if the rig broke; failing storage
    /// appears only in the record.
    pub fn run(mut self) -> (Recorder, Option<RigError>) {
        let clock_ahead_ns = host::readiness::wall_clock_ahead_ns();
        self.executor.begin_telemetry();
        let broken = self.measure().err();
        for lane in self.executor.release() {
            self.scheduler.lose(lane, &Lost::Silent);
        }
        let Self { mut scheduler, mut executor } = self;
        hear(&mut scheduler, &mut executor);
        executor.end_telemetry();
        executor.warn_of_hung_targets();
        executor.note_clock_step(clock_ahead_ns);
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
        self.executor.note_other_runs();
        self.note_obstacles();
        let Self { scheduler, executor } = self;
        executor.share_data();
        scheduler.at(executor.lanes());
        scheduler.expect_start(executor.recorder.at_ns());
        hear(scheduler, executor);
        executor.lay_out_all()?;
        for (lane, state) in executor.targets.iter().enumerate() {
            if let Some(lost) = &state.lost {
                scheduler.lose(lane, lost);
            }
        }
        hear(scheduler, executor);
        executor.await_readiness(scheduler.planned());
        drive(scheduler, executor)
    }

    /// Notes which steps cannot run on which targets.
    fn note_obstacles(&mut self) {
        let mut found: Vec<(String, String, Vec<String>)> = Vec::new();
        for state in &self.executor.targets {
            for (step, why) in self.executor.plan.steps.iter().zip(state.obstacles(self.executor.plan)) {
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
            self.executor.note(Severity::Warning, "step-left-out", Some(target), message);
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
