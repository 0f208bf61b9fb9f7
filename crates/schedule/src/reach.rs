//! Where the time goes: to comparisons that can still be decided, and if there is none to the least precise ones.

use std::collections::BTreeSet;

use analyse::out_of_reach;
use model::units::ShortDuration;

/// Steps that are left out take part in every so many rounds: a forecast may be wrong.
const EVERY: u32 = 2;

/// Steps, by their index, whose time is better spent on others.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    /// Those for whose comparisons the time is not enough.
    beyond: BTreeSet<usize>,
    /// Those whose ratios are precise.
    precise: BTreeSet<usize>,
    has_spoken: bool,
}

/// What the comparisons of a step need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    pub step: usize,
    /// Nanoseconds until they are decided; `None` for more than can be said.
    pub ns: Option<u64>,
    /// Their ratios are known to the margin.
    pub is_precise: bool,
}

/// A duration in whole seconds, or in minutes or hours from two on: a forecast is no finer.
fn roughly(ns: u64) -> ShortDuration {
    const SECOND: u64 = 1_000_000_000;
    let units = [3600 * SECOND, 60 * SECOND];
    let unit = units.into_iter().find(|unit| ns > 2 * unit).unwrap_or(SECOND);
    ShortDuration(ns.div_ceil(unit).saturating_mul(unit))
}

impl Reach {
    /// Finds the steps that the time left is not enough for: they keep half of their share of the time, and the others get
    /// the rest. If it is enough for none, the precise ones do so. Returns what there is to say at the first time, with the
    /// ids of the steps and the margin in percent.
    pub fn reconsider(&mut self, needs: &[Need], left_ns: u64, ids: &[&str], margin: f64) -> Option<String> {
        let times: Vec<(usize, Option<u64>)> = needs.iter().map(|need| (need.step, need.ns)).collect();
        self.beyond = out_of_reach(&times, left_ns).into_iter().collect();
        self.precise = needs.iter().filter(|need| need.is_precise).map(|need| need.step).collect();
        if needs.is_empty() || std::mem::replace(&mut self.has_spoken, true) {
            return None;
        }
        let (beyond, within): (Vec<&Need>, Vec<&Need>) =
            needs.iter().partition(|need| self.beyond.contains(&need.step));
        let needed = |need: &&Need| {
            let time = need.ns.map_or_else(|| "hours".to_owned(), |ns| roughly(ns).to_string());
            format!("{} ({time})", ids[need.step])
        };
        let beyond = beyond.iter().map(needed).collect::<Vec<String>>().join(", ");
        let left = roughly(left_ns);
        let message = if within.is_empty() {
            format!(
                "no undecided step can be decided in the {left} that are left; those whose ratio is not yet known to {margin} % \
                 get twice as much time as the others; time needed: {beyond}"
            )
        } else {
            let (some, all) = (within.len(), needs.len());
            let time = roughly(within.iter().filter_map(|need| need.ns).sum());
            let beyond = match beyond.is_empty() {
                true => beyond,
                false => format!("; out of reach, with half of their share of the time: {beyond}"),
            };
            format!(
                "about {time} of the {left} that are left will decide {some} of {all} undecided steps{beyond}"
            )
        };
        Some(format!("verdicts at a margin of {margin} %: {message}"))
    }

    /// The repeats of a round: in every other one without the steps that are out of reach or, if none is within, without the
    /// precise ones, unless no other is left.
    pub fn within(&self, round: u32, pairs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
        let without = |left_out: &BTreeSet<usize>| -> Vec<(usize, usize)> {
            pairs.iter().filter(|(step, _)| !left_out.contains(step)).copied().collect()
        };
        let others = [&self.beyond, &self.precise].map(without).into_iter().find(|others| !others.is_empty());
        others.filter(|_| !round.is_multiple_of(EVERY)).unwrap_or(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_forecast_is_told_once_when_there_is_one() {
        let mut reach = Reach::default();
        let need = Need { step: 0, ns: Some(3_000_000_000), is_precise: false };
        assert_eq!(reach.reconsider(&[], 9, &["a"], 3.0), None);
        let told = reach.reconsider(&[need], 60_000_000_000, &["a"], 3.0).unwrap();
        assert_eq!(
            told,
            "verdicts at a margin of 3 %: about 3 s of the 60 s that are left will decide 1 of 1 undecided steps"
        );
        assert_eq!(reach.reconsider(&[need], 50_000_000_000, &["a"], 3.0), None);
    }

    #[test]
    fn a_forecast_is_told_in_whole_seconds_minutes_or_hours() {
        let told = |seconds: f64| roughly((seconds * 1e9) as u64).to_string();
        assert_eq!([0.2, 1.0, 89.5, 120.0].map(told), ["1 s", "1 s", "90 s", "2 min"]);
        assert_eq!([121.0, 180.0, 3541.0, 1e5].map(told), ["3 min", "3 min", "60 min", "28 h"]);
    }
}
