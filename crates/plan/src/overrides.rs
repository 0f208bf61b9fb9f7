//! What the user overrides in a run of a suite.

use std::time::Duration;

use crate::options::option;
use crate::parse::Setting;
use crate::problem::SourceLocation;

/// What the user overrides or adds in a run of a suite.
#[derive(Clone, Debug, Default)]
pub struct RunOverrides {
    /// Options that override the suite's.
    pub settings: Vec<Setting>,
    /// A fixed number of rounds.
    pub rounds: Option<u32>,
    /// As many rounds as the budget allows, also where the suite fixes them.
    pub rounds_auto: bool,
    /// Nanoseconds for the whole run.
    pub budget_ns: Option<u64>,
    /// Factor for the times of all steps that are not overridden; their ramps too.
    pub scale: Option<f64>,
    /// Half the width of an interval that is precise enough, in parts per million of the figure.
    pub precision_ppm: Option<u32>,
    /// Largest difference between equivalent targets, in parts per million.
    pub margin_ppm: Option<u32>,
    /// How often telemetry is read.
    pub telemetry: Option<Telemetry>,
    /// The longest wait for quiet devices before the first round.
    pub settle: Option<Duration>,
}

/// How often telemetry is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telemetry {
    /// Never.
    Off,
    /// Once in this time.
    Every(Duration),
}

impl Telemetry {
    /// The time between two readings; `None` for never.
    pub fn period(self) -> Option<Duration> {
        match self {
            Self::Off => None,
            Self::Every(period) => Some(period),
        }
    }
}

impl RunOverrides {
    /// Adds an override from a command-line flag. `None` if there is no such option.
    pub fn set(&mut self, key: &str, text: &str) -> Option<()> {
        let option = option(key)?;
        let location = SourceLocation::Flag(option.flag());
        self.settings.push(Setting { key: option.key, text: text.to_owned(), location });
        Some(())
    }
}
