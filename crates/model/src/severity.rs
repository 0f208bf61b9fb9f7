//! How much a message matters.

use serde::{Deserialize, Serialize};

/// How much a note or a finding matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    #[default]
    Info,
    /// The figure may not mean what it seems to mean.
    Warning,
    /// Something failed.
    Error,
}

impl Severity {
    /// The word that stands in front of a message.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}
