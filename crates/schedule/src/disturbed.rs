//! Rounds that are measured again because the machine was disturbed.

use model::Disturbance;

use crate::Measured;

/// Of so many rounds of a step one may be measured again: a machine that is always disturbed is what it is.
const ONE_IN: u32 = 4;
/// Rounds of steps that may be measured again however few there were.
const ALWAYS: u32 = 2;

/// Rounds of a step in which the machine was disturbed.
#[derive(Debug, Default)]
pub(crate) struct Disturbed {
    found: u32,
    repeated: u32,
}

/// What disturbed a round of a step most, with the share; `None` if nothing did or a repeat of it did not complete.
pub(crate) fn worst(repeats: &[(u32, Measured)]) -> Option<(Disturbance, f64)> {
    let worst = repeats.iter().filter_map(|(_, m)| m.disturbed).max_by(|a, b| a.1.total_cmp(&b.1))?;
    repeats.iter().all(|(_, measured)| measured.is_complete).then_some(worst)
}

impl Disturbed {
    /// Counts a disturbed round of `len` repeats, after `begun` repeats of the run; true if it is measured again.
    pub fn repeats(&mut self, len: usize, begun: u32, there_is_time: bool) -> bool {
        self.found += 1;
        let rounds = begun / len.max(1) as u32;
        let repeats = there_is_time && self.repeated < ALWAYS + rounds / ONE_IN;
        self.repeated += u32::from(repeats);
        repeats
    }

    /// What there is to say at the end of disturbed rounds that were left as they are.
    pub fn left(&self) -> Option<String> {
        let left = self.found - self.repeated;
        (left > 0).then(|| {
            format!(
                "{left} more rounds of steps were disturbed by stolen processor time or other programs and count as they are: \
                 too many to measure them all again"
            )
        })
    }
}
