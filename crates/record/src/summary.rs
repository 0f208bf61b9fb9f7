//! A run as the index holds it.

use model::RunOutcome;
use serde::{Deserialize, Serialize};

use crate::log::Log;

/// The state of a run according to its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It is in progress: its log is locked.
    Running,
    /// Everything planned was done.
    Completed,
    /// The user stopped it.
    Interrupted,
    /// Some storage failed.
    Failed,
    /// Its log has no end.
    Killed,
    /// Its log is damaged.
    Damaged,
}

impl RunState {
    /// The state's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Killed => "killed",
            Self::Damaged => "damaged",
        }
    }

    pub(crate) fn of(log: &Log, locked: bool) -> Self {
        match log.run.finished.as_ref().map(|f| f.outcome) {
            None if locked => Self::Running,
            _ if !log.damage.is_empty() => Self::Damaged,
            None => Self::Killed,
            Some(RunOutcome::Completed) => Self::Completed,
            Some(RunOutcome::Interrupted) => Self::Interrupted,
            Some(RunOutcome::Failed) => Self::Failed,
        }
    }
}

/// A run as the index holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    /// The run's id.
    pub id: String,
    /// Name of its log within the store.
    pub file: String,
    /// Length of the log in bytes.
    pub file_bytes: u64,
    /// Last modification of the log, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Start in nanoseconds since 1970.
    pub started_unix_ns: i64,
    /// Names of the machines, by commas.
    pub host: String,
    /// Name of the suite.
    pub suite: String,
    /// Id of the plan.
    pub plan: String,
    /// Names of the targets.
    pub targets: Vec<String>,
    /// Repeats that were begun.
    pub repeats: u32,
    /// Its state.
    pub state: RunState,
}

impl RunSummary {
    /// True if a machine with this name was measured.
    pub fn is_of(&self, host: &str) -> bool {
        self.host.split(", ").any(|name| name == host)
    }
}
