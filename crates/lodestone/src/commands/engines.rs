//! Which engines work on this machine.

use std::io::Error;

use engine::{ENGINES, NOOP};
use model::{Capabilities, EngineKind};

/// The engines that work here and why others do not.
pub(super) struct Engines {
    working: Vec<Capabilities>,
    refused: Vec<(Capabilities, Error)>,
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

    /// The engine that `auto` selects.
    pub(super) fn best(&self) -> EngineKind {
        self.working[0].kind
    }

    /// Which engine `auto` selects, and why.
    pub(super) fn sentence(&self) -> String {
        let mut sentence = format!("auto selects {}, the best engine that works here", self.best());
        for (engine, error) in &self.refused {
            sentence.push_str(&format!("; {} does not work: {error}", engine.kind));
        }
        sentence
    }
}
