//! The machine that serves the storage of a run: nothing is measured there, but it is watched.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::{RemoteHost, Severity};

use super::protocol::{Begin, Reply, Request};
use super::remote::{FOREIGN, Remote};
use crate::executor::Local;

/// Topic of the notes about it.
const UNWATCHED: &str = "server-not-watched";

/// A machine that serves, if there is one that can be watched.
#[derive(Default)]
pub(crate) struct Watched {
    remote: Option<Remote>,
    /// Why it is not watched from the start.
    obstacle: Option<String>,
}

impl From<Result<Remote, String>> for Watched {
    fn from(reached: Result<Remote, String>) -> Self {
        match reached {
            Ok(remote) => Self { remote: Some(remote), obstacle: None },
            Err(why) => Self { remote: None, obstacle: Some(why) },
        }
    }
}

impl Watched {
    /// What it is, for the log.
    pub fn machine(&self) -> Option<RemoteHost> {
        self.remote.as_ref().map(Remote::machine)
    }

    /// Begins to watch it.
    pub fn begin(&mut self, local: &mut Local<'_>) {
        if let Some(why) = self.obstacle.take() {
            let message = format!("the machine that serves the storage is not watched: {why}");
            local.note(Severity::Warning, UNWATCHED, None, message);
        }
        if let Some(remote) = &self.remote {
            remote.send(&Request::Begin(Box::new(Begin {
                run: local.recorder.run().started.id.clone(),
                names: Vec::new(),
                plan: local.plan.clone(),
                seed: local.seed,
                telemetry_ns: local.telemetry_period.map(|period| period.as_nanos() as u64),
                settle_ns: 0,
                is_together: false,
            })));
            self.hear(local);
        }
    }

    /// Has it say what it has read so far.
    pub fn round_ended(&self) {
        if let Some(remote) = &self.remote {
            remote.send(&Request::RoundEnded);
        }
    }

    /// Records what it has said meanwhile.
    pub fn drain(&mut self, local: &mut Local<'_>) {
        if let Some(remote) = &mut self.remote {
            remote.drain(local.recorder.origin(), &mut |event| local.emit(event));
            if let Some(why) = remote.gone().map(str::to_owned) {
                self.lose(&why, local);
            }
        }
    }

    /// Ends the watching.
    pub fn end(&mut self, local: &mut Local<'_>) {
        if let Some(remote) = &self.remote {
            remote.send(&Request::End);
            self.hear(local);
        }
        self.remote = None;
    }

    /// Awaits its reply; what it says before is recorded.
    fn hear(&mut self, local: &mut Local<'_>) {
        let Some(remote) = &mut self.remote else { return };
        let (origin, interrupt) = (local.recorder.origin(), Arc::clone(&local.interrupt));
        let is_stopped = || interrupt.load(Ordering::Relaxed);
        match remote.reply(origin, &mut |event| local.emit(event), &is_stopped) {
            Ok(Reply::Begun { .. } | Reply::Over { .. }) => {}
            Ok(_) => self.lose(FOREIGN, local),
            Err(why) => self.lose(&why, local),
        }
    }

    fn lose(&mut self, why: &str, local: &mut Local<'_>) {
        if let Some(remote) = self.remote.take() {
            let message = format!("{}, which serves the storage, is watched no more: {why}", remote.name);
            local.note(Severity::Warning, UNWATCHED, None, message);
        }
    }
}
