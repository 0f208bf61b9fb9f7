//! When the parts of a repeat end.

use model::Step;
use serde::{Deserialize, Serialize};

/// Passes that take longer than this many times their expected time are cut off.
const MOST_TIME: u64 = 3;

/// When the parts of a repeat end, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Measured time; `None` if it does not end the repeat. With passes about what they take.
    pub time_ns: Option<u64>,
    /// Whole passes over the data after which it ends, if these end it.
    #[serde(default)]
    pub passes: Option<u32>,
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
        let (time_ns, passes) = (stop.time_ns, stop.passes);
        Self { time_ns, passes, ramp_ns: *ramp_ns, interval_ns: *interval_ns, is_chosen: false }
    }

    /// The step as it runs with this timing.
    pub fn apply(self, step: &mut Step) {
        let Self { time_ns, passes, ramp_ns, interval_ns, is_chosen } = self;
        // Passes may take longer than expected.
        let at_most = if is_chosen && passes.is_some() { MOST_TIME } else { 1 };
        step.stop.time_ns = time_ns.map(|ns| ns.saturating_mul(at_most));
        (step.stop.passes, step.ramp_ns, step.interval_ns) = (passes, ramp_ns, interval_ns);
    }

    pub(crate) fn total_ns(self) -> u64 {
        self.time_ns.unwrap_or(0) + self.ramp_ns
    }
}
