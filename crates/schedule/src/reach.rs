//! Where the time goes: to comparisons that can still be decided.

use std::collections::BTreeSet;

use analyse::out_of_reach;
use model::units::ShortDuration;

/// Rounds before the first forecast; then after twice as many, and so on.
const FIRST_FORECAST: u32 = 8;
/// Steps that are out of reach take part in every so many rounds: a forecast may be wrong.
const EVERY: u32 = 2;

/// Steps, by their index, for whose comparisons the time is not enough.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    beyond: BTreeSet<usize>,
    has_spoken: bool,
}

/// A step with the nanoseconds that its comparisons need; `None` for more than can be said.
pub(crate) type Need = (usize, Option<u64>);

/// A duration in whole seconds, or in minutes or hours from two on: a forecast is no finer.
fn roughly(ns: u64) -> ShortDuration {
    const SECOND: u64 = 1_000_000_000;
    let units = [3600 * SECOND, 60 * SECOND];
    let unit = units.into_iter().find(|unit| ns > 2 * unit).unwrap_or(SECOND);
    ShortDuration(ns.div_ceil(unit).saturating_mul(unit))
}

/// True if a forecast is made after `done` rounds.
pub(crate) fn is_due(done: u32) -> bool {
    done >= FIRST_FORECAST && done.is_multiple_of(FIRST_FORECAST) && (done / FIRST_FORECAST).is_power_of_two()
}

impl Reach {
    /// Finds the steps that the time left is not enough for: they keep half of their share of the time, and the others get
    /// the rest. Returns what there is to say at the first time, with the ids of the steps and the margin in percent.
    pub fn reconsider(&mut self, needs: &[Need], left_ns: u64, ids: &[&str], margin: f64) -> Option<String> {
        self.beyond = out_of_reach(needs, left_ns).into_iter().collect();
        if std::mem::replace(&mut self.has_spoken, true) || needs.is_empty() {
            return None;
        }
        let (beyond, within): (Vec<&Need>, Vec<&Need>) =
            needs.iter().partition(|(step, _)| self.beyond.contains(step));
        let time: u64 = within.iter().filter_map(|(_, need)| *need).sum();
        let mut message = match within.len() {
            0 => format!(
                "verdicts at a margin of {margin} %: no undecided step can be decided in the {} that are left",
                roughly(left_ns)
            ),
            some => format!(
                "verdicts at a margin of {margin} %: {some} of {} undecided steps need about {} of the {} that are left",
                needs.len(),
                roughly(time),
                roughly(left_ns)
            ),
        };
        let others: Vec<String> = beyond
            .iter()
            .map(|(step, need)| match need {
                Some(ns) => format!("{} ({})", ids[*step], roughly(*ns)),
                None => format!("{} (hours)", ids[*step]),
            })
            .collect();
        if !others.is_empty() {
            message.push_str(&format!(
                "; out of reach, with half of their share of the time: {}",
                others.join(", ")
            ));
        }
        Some(message)
    }

    /// Leaves out steps that are out of reach, in every other round, unless no other is left.
    pub fn within(&self, round: u32, pairs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
        let is_within = |pair: &&(usize, usize)| !self.beyond.contains(&pair.0);
        if round.is_multiple_of(EVERY) || pairs.iter().filter(is_within).count() == 0 {
            return pairs;
        }
        pairs.iter().filter(is_within).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forecast_is_told_in_whole_seconds_minutes_or_hours() {
        let told = |seconds: f64| roughly((seconds * 1e9) as u64).to_string();
        assert_eq!([0.2, 1.0, 89.5, 120.0].map(told), ["1 s", "1 s", "90 s", "2 min"]);
        assert_eq!([121.0, 180.0, 3541.0, 1e5].map(told), ["3 min", "3 min", "60 min", "28 h"]);
    }
}
