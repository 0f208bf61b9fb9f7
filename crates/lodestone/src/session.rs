//! A run: what begins and ends it, around a scheduler and the executor that carries its orders out.

use model::{Event, RunFinished, RunOutcome, Severity};
use schedule::{Lost, Scheduler, drive, hear};

use crate::executor::{Local, RigError};
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
        executor.note_other_runs();
        executor.note_obstacles();
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
}
