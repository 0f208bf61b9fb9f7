//! When the parts of a repeat end.

use model::Step;
use serde::{Deserialize, Serialize};

/// When the parts of a repeat end, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Measured time; `None` if it does not end the repeat.
    pub time_ns: Option<u64>,
    /// The ramp before it.
    pub ramp_ns: u64,
    /// Each interval of the repeat.
    pub interval_ns: u64,
    /// The run has chosen these.
    pub is_chosen: bool,
}

impl Timing {
    /// As the plan has it.
    pub(crate) fn planned(step: &Step) -> Self {
        let Step { stop, ramp_ns, interval_ns, .. } = step;
        Self { time_ns: stop.time_ns, ramp_ns: *ramp_ns, interval_ns: *interval_ns, is_chosen: false }
    }

    /// The step as it runs with this timing.
    pub fn apply(self, step: &mut Step) {
        let Self { time_ns, ramp_ns, interval_ns, .. } = self;
        (step.stop.time_ns, step.ramp_ns, step.interval_ns) = (time_ns, ramp_ns, interval_ns);
    }

    pub(crate) fn total_ns(self) -> u64 {
        self.time_ns.unwrap_or(0) + self.ramp_ns
    }
}
