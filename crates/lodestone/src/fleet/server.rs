//! The machine that serves the storage of a run: nothing is measured there, but it is watched.

use std::cell::RefCell;
use std::rc::Rc;

use model::{RemoteHost, Severity};

use super::protocol::{Begin, Reply, Request};
use super::remote::{FOREIGN, Remote};
use crate::executor::Local;

/// A machine that serves, if there is one; whoever has made what it serves has the connection too.
#[derive(Default)]
pub(crate) struct Watched {
    remote: Option<Rc<RefCell<Remote>>>,
}

impl Watched {
    /// The machine at the other end.
    pub fn new(remote: Rc<RefCell<Remote>>) -> Self {
        Self { remote: Some(remote) }
    }

    /// What it is, for the log.
    pub fn machine(&self) -> Option<RemoteHost> {
        self.remote.as_ref().map(|remote| remote.borrow().machine())
    }

    /// Begins to watch it, if the run has telemetry.
    pub fn begin(&mut self, local: &mut Local<'_>) {
        let Some(period) = local.telemetry_period else {
            self.remote = None;
            return;
        };
        self.send(&Request::Begin(Box::new(Begin {
            run: local.recorder.run().started.id.clone(),
            names: Vec::new(),
            plan: local.plan.clone(),
            seed: local.seed,
            telemetry_ns: Some(period.as_nanos() as u64),
            settle_ns: 0,
            is_together: false,
        })));
        self.hear(local);
    }

    /// Has it say what it has read so far.
    pub fn round_ended(&self) {
        self.send(&Request::RoundEnded);
    }

    /// Records what it has said meanwhile.
    pub fn drain(&mut self, local: &mut Local<'_>) {
        let Some(remote) = self.remote.clone() else { return };
        let mut remote = remote.borrow_mut();
        remote.drain(local.recorder.origin(), &mut |event| local.emit(event));
        if let Some(why) = remote.gone() {
            self.lose(&remote, why, local);
        }
    }

    /// Ends the watching, but not the connection.
    pub fn end(&mut self, local: &mut Local<'_>) {
        self.send(&Request::End);
        self.hear(local);
        self.remote = None;
    }

    fn send(&self, request: &Request) {
        if let Some(remote) = &self.remote {
            remote.borrow().send(request);
        }
    }

    /// Awaits its reply; what it says before is recorded. An interruption is no reason to stop it: it has no load.
    fn hear(&mut self, local: &mut Local<'_>) {
        let Some(remote) = self.remote.clone() else { return };
        let mut remote = remote.borrow_mut();
        let origin = local.recorder.origin();
        match remote.reply(origin, &mut |event| local.emit(event), &|| false) {
            Ok(Reply::Begun { .. } | Reply::Over { .. }) => {}
            Ok(_) => self.lose(&remote, FOREIGN, local),
            Err(why) => self.lose(&remote, &why, local),
        }
    }

    fn lose(&mut self, remote: &Remote, why: &str, local: &mut Local<'_>) {
        let message = format!("{}, which serves the storage, is no longer watched: {why}", remote.name);
        local.note(Severity::Warning, "server-not-watched", None, message);
        self.remote = None;
    }
}
