//! Decides which steps need another round on which targets, and forecasts how many.

use std::collections::BTreeSet;

use model::{Comparison, Estimate, Verdict};

use crate::compare::{Series, compare_meanwhile};
use crate::ratio::ALPHA;
use crate::sequential::is_analysed;
use crate::stalls::needed_seconds;
use crate::stats::Estimator;

/// Rounds before a narrow interval may end a step: fewer rounds estimate the spread too badly, and stopping where it
/// seems small gives intervals that are too narrow (Chow and Robbins, Ann. Math. Statist. 36, 1965, on how much).
const FEWEST_FOR_PRECISION: usize = 10;

/// The aims of a run with rounds `auto`, apart from verdicts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aims {
    /// Half-width of an interval, as a share of the figure, from which the figure is precise enough.
    pub precision: f64,
    /// Targets whose ratio is from 1/(1 + margin) to 1 + margin are the same.
    pub margin: f64,
}

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

/// What a run has found so far, as far as further rounds depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// The pairs of step and target that need no further round. With several targets: those whose comparisons with the
    /// baseline are all decided or precise enough, and the baseline where all other targets are. With one target: those whose
    /// figures are precise enough.
    pub settled: BTreeSet<(String, String)>,
    /// Of all comparisons with the baseline that are undecided. Empty for one target.
    pub forecasts: Vec<Forecast>,
}

/// What `series`, which has all headline series so far, decides after whole rounds. Nothing where none of them has an interim
/// analysis now.
pub fn decide(series: &[Series], baseline: &str, aims: Aims) -> Decided {
    let headlines: Vec<Series> = series.iter().filter(|s| s.is_headline).cloned().collect();
    if !headlines.iter().any(|s| is_analysed(s.values.len())) {
        return Decided::default();
    }
    let comparisons = compare_meanwhile(&headlines, baseline, aims.margin);
    let settled = settled(&headlines, &comparisons, baseline, aims);
    Decided { settled, forecasts: forecasts(comparisons, aims) }
}

fn settled(
    headlines: &[Series],
    comparisons: &[Comparison],
    baseline: &str,
    aims: Aims,
) -> BTreeSet<(String, String)> {
    let pairs: BTreeSet<(&str, &str)> =
        headlines.iter().map(|s| (s.step.as_str(), s.target.as_str())).collect();
    let mut settled = BTreeSet::new();
    for (step, target) in pairs.iter().filter(|(_, target)| *target != baseline) {
        let own = comparisons.iter().filter(|c| c.step == *step && c.target == *target);
        let own: Vec<&Comparison> = own.collect();
        let done = if own.is_empty() {
            is_precise(headlines, step, target, aims)
        } else {
            own.iter().all(|c| is_settled(c, headlines, aims))
        };
        if done {
            settled.insert(((*step).to_owned(), (*target).to_owned()));
        }
    }
    for (step, target) in pairs.iter().filter(|(_, target)| *target == baseline) {
        let mut others = pairs.iter().filter(|(s, t)| s == step && *t != baseline).peekable();
        let done = match others.peek() {
            None => is_precise(headlines, step, target, aims),
            Some(_) => others.all(|(s, t)| settled.contains(&((*s).to_owned(), (*t).to_owned()))),
        };
        if done {
            settled.insert(((*step).to_owned(), (*target).to_owned()));
        }
    }
    settled
}

fn forecasts(comparisons: Vec<Comparison>, aims: Aims) -> Vec<Forecast> {
    let mut found: Vec<Forecast> = Vec::new();
    for comparison in comparisons {
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

fn is_settled(comparison: &Comparison, headlines: &[Series], aims: Aims) -> bool {
    let rounds = headlines
        .iter()
        .filter(|s| s.step == comparison.step && s.operation == comparison.operation)
        .filter(|s| s.target == comparison.target)
        .map(|s| s.values.len())
        .min()
        .unwrap_or(0);
    is_analysed(rounds)
        && (comparison.verdict != Verdict::Undecided
            || (rounds >= FEWEST_FOR_PRECISION
                && has_exposure(comparison, headlines, aims)
                && is_narrow(&comparison.ratio, aims)
                && claims_nothing(&comparison.ratio)))
}

/// True if both targets were measured long enough: stalls that were not seen cannot matter.
fn has_exposure(comparison: &Comparison, headlines: &[Series], aims: Aims) -> bool {
    let longest = headlines.iter().map(Series::longest_stall).fold(0.0, f64::max);
    let own = headlines.iter().filter(|s| {
        s.step == comparison.step
            && s.operation == comparison.operation
            && [&comparison.target, &comparison.baseline].contains(&&s.target)
            && !s.exposures.is_empty()
    });
    own.map(|s| s.exposures.iter().map(|e| e.seconds).sum::<f64>())
        .all(|seconds| seconds >= needed_seconds(longest, aims.margin, ALPHA))
}

/// True if the interval contains 1. One that does not may do so by luck, and ending there would keep that luck.
fn claims_nothing(ratio: &Estimate) -> bool {
    ratio.interval.is_some_and(|(low, high)| low <= 1.0 && 1.0 <= high)
}

/// True if every headline figure of the step on the target is precise enough.
fn is_precise(headlines: &[Series], step: &str, target: &str, aims: Aims) -> bool {
    headlines.iter().filter(|s| s.step == step && s.target == target).all(|s| {
        let values: Vec<f64> = s.values.iter().map(|(_, v)| *v).collect();
        values.len() >= FEWEST_FOR_PRECISION
            && Estimator::Mean.estimate(&values).is_some_and(|e| is_narrow(&e, aims))
    })
}

fn is_narrow(estimate: &Estimate, aims: Aims) -> bool {
    estimate.relative_half_width().is_some_and(|share| share <= aims.precision)
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

    const AIMS: Aims = Aims { precision: 0.02, margin: 0.03 };

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

    /// `n` values around `middle`, up to `share` above and below it, in an order without a trend.
    fn around(middle: f64, share: f64, n: usize) -> Vec<f64> {
        const SIGNS: [f64; 7] = [1.0, -1.0, -0.4, 0.9, 0.2, -0.8, 0.1];
        (0..n).map(|i| middle * (1.0 + share * SIGNS[i % 7])).collect()
    }

    fn names(settled: &BTreeSet<(String, String)>) -> Vec<String> {
        settled.iter().map(|(step, target)| format!("{step}/{target}")).collect()
    }

    #[test]
    fn a_decided_step_needs_no_round_for_an_undecided_one() {
        let all = [
            series("a", "clear", &around(100.0, 0.02, 8)),
            series("b", "clear", &around(300.0, 0.01, 8)),
            series("a", "noisy", &around(100.0, 0.3, 8)),
            series("b", "noisy", &[90.0, 120.0, 110.0, 70.0, 140.0, 100.0, 95.0, 118.0]),
        ];
        assert_eq!(names(&decide(&all, "a", AIMS).settled), ["clear/a", "clear/b"]);
    }

    #[test]
    fn the_baseline_continues_while_any_target_needs_it() {
        let all = [
            series("a", "s", &around(100.0, 0.02, 8)),
            series("b", "s", &around(300.0, 0.01, 8)),
            series("c", "s", &[90.0, 140.0, 60.0, 70.0, 140.0, 100.0, 95.0, 118.0]),
        ];
        assert_eq!(names(&decide(&all, "a", AIMS).settled), ["s/b"]);
    }

    #[test]
    fn nothing_is_settled_before_the_first_interim_analysis() {
        let all =
            [series("a", "s", &[100.0, 101.0, 99.0, 100.0]), series("b", "s", &[900.0, 905.0, 899.0, 901.0])];
        assert_eq!(decide(&all, "a", AIMS), Decided::default());
    }

    #[test]
    fn equal_rates_are_settled_only_when_rare_stalls_would_have_been_seen() {
        let of = |target: &str, seconds: f64| {
            let mut series = series(target, "s", &around(100.0, 0.005, 20));
            let exposure = |(round, rate): &(u32, f64)| model::Exposure {
                round: *round,
                at: f64::from(*round) * seconds,
                seconds,
                work: rate * seconds,
                lost: 0.0,
                stalls: 0,
            };
            series.exposures = series.values.iter().map(exposure).collect();
            series
        };
        assert!(decide(&[of("a", 0.1), of("b", 0.1)], "a", AIMS).settled.is_empty(), "2 s of each");
        assert_eq!(decide(&[of("a", 3.0), of("b", 3.0)], "a", AIMS).settled.len(), 2, "60 s of each");
    }

    #[test]
    fn a_single_target_is_settled_when_precise() {
        let of = |share: f64, n: usize| {
            decide(&[series("a", "s", &around(100.0, share, n))], "a", AIMS).settled.len()
        };
        assert_eq!(of(0.02, 12), 1);
        assert_eq!(of(0.3, 12), 0, "too wide");
        assert_eq!(of(0.02, 9), 0, "too few to know");
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
        let found = decide(&all, "a", aims).forecasts;
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].step.as_str(), found[0].target.as_str()), ("close", "b"));
        assert!(found[0].rounds.is_some_and(|rounds| rounds > 0));
        assert!(!found[0].is_precise, "7 % apart, with a standard deviation of as much");
        let precise = decide(&all, "a", Aims { margin: 0.2, ..aims }).forecasts;
        assert!(precise[0].is_precise, "but known to 20 %");
        assert_eq!(decide(&all[..1], "a", aims).forecasts, []);
    }

    #[test]
    fn the_cheapest_steps_get_the_time() {
        let needs = [("long", Some(70)), ("short", Some(20)), ("never", None), ("middle", Some(40))];
        assert_eq!(out_of_reach(&needs, 100), ["long", "never"]);
        assert_eq!(out_of_reach(&needs, 130), ["never"]);
        assert_eq!(out_of_reach(&needs, 10), ["short", "middle", "long", "never"]);
    }
}
