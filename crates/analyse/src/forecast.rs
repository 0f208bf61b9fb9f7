//! How many more rounds the comparisons of a run need.

use model::{Comparison, Verdict};

use crate::compare::{Series, compare_meanwhile};
use crate::stopping::Aims;

/// What is still to be done for one step on one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// Step's id.
    pub step: String,
    /// The target that is compared with the baseline.
    pub target: String,
    /// Further rounds that decide all its comparisons in nine of ten cases, if the ratios are as observed so far and the
    /// spread stays; `None` for more than are worth forecasting.
    pub rounds: Option<u32>,
    /// The intervals of all its ratios reach no further than the margin.
    pub is_precise: bool,
}

/// The forecasts of all comparisons with the baseline that are undecided after whole rounds. Empty for one target.
pub fn forecasts(series: &[Series], baseline: &str, aims: Aims) -> Vec<Forecast> {
    let headlines: Vec<Series> = series.iter().filter(|s| s.is_headline).cloned().collect();
    let mut found: Vec<Forecast> = Vec::new();
    for comparison in compare_meanwhile(&headlines, baseline, aims.margin) {
        if comparison.verdict != Verdict::Undecided {
            continue;
        }
        let rounds = comparison.more_rounds;
        let is_precise =
            comparison.ratio.relative_half_width().is_some_and(|half_width| half_width <= aims.margin);
        let same = |f: &&mut Forecast| f.step == comparison.step && f.target == comparison.target;
        match found.iter_mut().find(same) {
            Some(forecast) => {
                forecast.rounds = forecast.rounds.zip(rounds).map(|(a, b)| a.max(b));
                forecast.is_precise &= is_precise;
            }
            None => {
                let Comparison { step, target, .. } = comparison;
                found.push(Forecast { step, target, rounds, is_precise });
            }
        }
    }
    found
}

/// Which steps the time is enough for, cheapest first: `needs` has for each step the nanoseconds that it needs, `None` for
/// more than can be told. The others are out of reach.
pub fn out_of_reach<T: Copy>(needs: &[(T, Option<u64>)], left_ns: u64) -> Vec<T> {
    let mut sorted: Vec<&(T, Option<u64>)> = needs.iter().collect();
    sorted.sort_by_key(|(_, need)| need.unwrap_or(u64::MAX));
    let mut left = left_ns;
    let mut beyond = Vec::new();
    for (step, need) in sorted {
        match need.filter(|need| *need <= left) {
            Some(need) => left -= need,
            None => beyond.push(*step),
        }
    }
    beyond
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Metric, Operation};

    fn series(target: &str, step: &str, values: &[f64]) -> Series {
        Series {
            run: 0,
            target: target.into(),
            step: step.into(),
            operation: Operation::Read,
            metric: Metric::Bandwidth,
            is_headline: true,
            values: values.iter().enumerate().map(|(i, v)| (i as u32, *v)).collect(),
            exposures: Vec::new(),
            makings: 1,
        }
    }

    #[test]
    fn only_what_is_undecided_has_a_forecast() {
        let aims = Aims { precision: 0.02, margin: 0.03 };
        let all = [
            series("a", "clear", &[100.0, 101.0, 99.0, 100.5, 99.5, 100.0, 101.0]),
            series("b", "clear", &[200.0, 201.0, 199.0, 200.5, 199.5, 200.0, 201.0]),
            series("a", "close", &[100.0, 101.0, 99.0, 100.5, 99.5, 100.0, 101.0]),
            series("b", "close", &[112.0, 101.0, 117.0, 100.5, 119.5, 114.0, 101.0]),
        ];
        let found = forecasts(&all, "a", aims);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].step.as_str(), found[0].target.as_str()), ("close", "b"));
        assert!(found[0].rounds.is_some_and(|rounds| rounds > 0));
        assert!(!found[0].is_precise, "7 % apart, with a standard deviation of as much");
        let precise = forecasts(&all, "a", Aims { margin: 0.2, ..aims });
        assert!(precise[0].is_precise, "but known to 20 %");
        assert_eq!(forecasts(&all[..1], "a", aims), []);
    }

    #[test]
    fn the_cheapest_steps_get_the_time() {
        let needs = [("long", Some(70)), ("short", Some(20)), ("never", None), ("middle", Some(40))];
        assert_eq!(out_of_reach(&needs, 100), ["long", "never"]);
        assert_eq!(out_of_reach(&needs, 130), ["never"]);
        assert_eq!(out_of_reach(&needs, 10), ["short", "middle", "long", "never"]);
    }
}
