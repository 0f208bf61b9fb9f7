//! The long-run rate of storage that stalls: the rate between stalls, and the share of the time that stalls take.
//!
//! The long-run rate is all work ÷ all time. Where stalls are rare and long, few rounds have one, and an interval from the
//! spread of the rounds is too narrow as long as none was seen, and too wide afterwards. So the rate is taken apart:
//! rate = (rate between stalls) · (1 − share of the time lost). The first factor is that of rounds without a stall, where
//! the noise that targets share cancels in pairs. The second follows from the time lost for each second of work, a sum of
//! rare events of different size: a compound Poisson process in the time between stalls. Its limits are the gamma interval
//! of Fay and Feuer (Statist. Med. 16, 1997): for a sum y of events with the sum of squares v the lower limit is the quantile
//! of a gamma distribution with mean y and variance v, the upper limit that with mean y + w and variance v + w², where w is
//! the largest event. Without an event the upper limit is w·(−ln α): what was not seen is bounded by what was measured.
//!
//! A repeat counts with all its time, the ramp and the wait for its last operation included: it ends at an operation's
//! completion, so that by Wald's identity all time ÷ all work is the mean time of an operation however long repeats are.

use std::collections::BTreeMap;

use model::{Estimate, Exposure, Histogram, Metric, Operation, OperationStats, PortableMath, Repeat, Step};

use crate::stats::{
    RobustMean, by_making, mean_and_deviation, median, normal_quantile, sums_by_making, t_at, t_quantile,
};

/// The method of a long-run rate.
pub(crate) const METHOD_LONG_RUN: &str = "all work ÷ all time over repeats, stalls included, 95 % interval";
/// The method of the share of the time lost.
pub(crate) const METHOD_LOST: &str = "time lost in stalls ÷ all time, 95 % interval";
/// An operation stalls if it takes this many times the median of its repeat…
const TIMES_MEDIAN: f64 = 10.0;
/// … and this many nanoseconds: less is how storage is, and nobody's stall.
const SHORTEST_STALL_NS: f64 = 25e6;
/// A round is slow, without an operation that stalls, if it had less than this share of the usual rate…
const SLOW: f64 = 2.0 / 3.0;
/// … and is further below the usual than this many standard deviations, estimated from the median absolute deviation.
const DEVIATIONS: f64 = 5.0;
/// The standard deviation of a normal distribution ÷ its median absolute deviation.
const NORMAL_MAD: f64 = 1.4826;
/// Rounds from which slow ones can be told.
const FEWEST: usize = 5;
/// Where more rounds than this share are slow, slowness is no rare event but how the storage is.
const MOST_SLOW: f64 = 0.25;
/// Weight of a round in a ratio, in median lengths, at most: noise that lasts as long as a round does not
/// become smaller in a longer one.
pub(crate) const MOST_WEIGHT: f64 = 3.0;
/// Between its stalls a round is at most this many times as fast as the usual one: where others go on while one operation
/// stalls, not all of its share is lost.
const MOST_TIMES_USUAL: f64 = 2.0;
/// Length in seconds of the stalls that "same" allows for where none was seen: SD cards and cheap solid-state disks pause for
/// a tenth of a second to a second when they collect garbage.
pub(crate) const FLOOR_SECONDS: f64 = 0.5;

/// What a repeat was exposed to, for a rate of one of its operations; `None` for another metric, for operations that take
/// turns with others, for the figures of another program, and without time.
pub fn exposure(step: &Step, repeat: &Repeat, operation: Operation, metric: Metric) -> Option<Exposure> {
    exposure_of(&repeat.whole(), step, repeat, operation, metric)
}

/// [`exposure`], given what was completed in the whole repeat.
pub(crate) fn exposure_of(
    whole: &BTreeMap<Operation, OperationStats>,
    step: &Step,
    repeat: &Repeat,
    operation: Operation,
    metric: Metric,
) -> Option<Exposure> {
    let finished = repeat.finished.as_ref().filter(|_| repeat.imported.is_none())?;
    let stats = whole.get(&operation).filter(|stats| stats.active_ns == 0)?;
    let work = match metric {
        Metric::Bandwidth => stats.bytes as f64,
        Metric::Iops => stats.count as f64,
        _ => return None,
    };
    let seconds = finished.window_ns.checked_add(repeat.ramp_ns(step))? as f64 / 1e9;
    if work <= 0.0 || seconds <= 0.0 {
        return None;
    }
    // Of as many operations in flight as there were on average (Little's law), each one that stalls holds up its share.
    let in_flight = repeat.intervals.iter().fold(0_u64, |sum, i| sum.saturating_add(i.in_flight_ns));
    let depth = (in_flight as f64 / 1e9 / seconds).max(1.0);
    let (mut lost, mut stalls) = (0.0, 0.0);
    // A durable write is a write and its sync.
    for (_, stats) in whole.iter().filter(|(operation, _)| **operation != Operation::DurableWrite) {
        let Some(usual) = stats.lat.percentile_ns(50.0) else { continue };
        let (lost_ns, count) = stalled(&stats.lat, usual as f64);
        lost += lost_ns / 1e9 / depth;
        stalls += count;
    }
    let stalls = if stalls > 0.0 { (stalls / depth).round().max(1.0) as u32 } else { 0 };
    let lost = lost.min(seconds * (1.0 - f64::EPSILON));
    let Repeat { started, .. } = repeat;
    Some(Exposure { round: started.round, at: started.at_ns as f64 / 1e9, seconds, work, lost, stalls })
}

/// By how many nanoseconds operations that stalled took longer than usual, all together, and how many did.
fn stalled(latencies: &Histogram, usual_ns: f64) -> (f64, f64) {
    let limit = SHORTEST_STALL_NS.max(TIMES_MEDIAN * usual_ns);
    let longest = latencies.max_ns().unwrap_or(0) as f64;
    let long = latencies.buckets().filter(|(low, ..)| *low as f64 >= limit);
    long.fold((0.0, 0.0), |(lost, all), (low, high, count)| {
        let middle = f64::midpoint(low as f64, high as f64).min(longest);
        (lost + (middle - usual_ns) * count as f64, all + count as f64)
    })
}

/// The stalls of one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stalls {
    /// Round.
    pub round: u32,
    /// Seconds that they took.
    pub lost: f64,
    /// How many they were.
    pub count: u32,
}

/// The time that rare stalls took of all time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loss {
    /// Seconds measured.
    pub seconds: f64,
    /// Those of each round that had any.
    pub stalls: Vec<Stalls>,
    /// Of a target that was made several times the seconds that they took in each making.
    pub by_making: Vec<f64>,
}

impl Loss {
    /// From the rate of each round and what its repeat was exposed to, both in the order of the rounds, of a target that was
    /// made so often.
    pub fn of(rates: &[(u32, f64)], exposures: &[Exposure], makings: u32) -> Self {
        LongRun::of(rates, exposures, makings).loss
    }

    /// The share of the time that was lost, 0 to 1.
    pub fn share(&self) -> f64 {
        // The sum of nothing would be −0.
        self.stalls.iter().fold(0.0, |sum, stalls| sum + stalls.lost) / self.seconds.max(f64::MIN_POSITIVE)
    }

    /// How many stalls there were.
    pub fn count(&self) -> u32 {
        self.stalls.iter().map(|stalls| stalls.count).sum()
    }

    /// Seconds that the longest stall took, on average over those of its round; 0 without one.
    pub fn longest(&self) -> f64 {
        self.stalls.iter().map(|stalls| stalls.lost / f64::from(stalls.count)).fold(0.0, f64::max)
    }

    /// The limits of the share at `z` standard normal deviations, if no stall is longer than `longest` seconds. What is
    /// limited is the time lost for each second of work, because storage that stalls does not begin another stall: the longer
    /// it is up, the more stalls. Of several makings the share varies at least as much as they differ in it.
    pub(crate) fn limits(&self, z: f64, longest: f64) -> (f64, f64) {
        let lost = self.share() * self.seconds;
        let worked = (self.seconds - lost).max(f64::MIN_POSITIVE);
        let squares = self.stalls.iter().map(|s| (s.lost / worked).powi(2) / f64::from(s.count)).sum::<f64>();
        let (sum, heaviest) = (lost / worked, longest.max(self.longest()) / worked);
        let share = |lost: f64| (lost / (1.0 + lost)).min(1.0 - f64::EPSILON);
        let limits = |squares: f64, z: f64| {
            let low = gamma_quantile(sum, squares, -z).min(sum);
            let high = gamma_quantile(sum + heaviest, squares + heaviest * heaviest, z).max(sum);
            (share(low), share(high))
        };
        let of_stalls = limits(squares, z);
        match mean_and_deviation(&self.by_making) {
            Some((_, deviation)) if deviation > 0.0 => {
                let makings = self.by_making.len() as f64;
                let of_makings = limits(makings * (deviation / worked).powi(2), t_at(z, makings - 1.0));
                (of_stalls.0.min(of_makings.0), of_stalls.1.max(of_makings.1))
            }
            _ => of_stalls,
        }
    }

    /// The share with its 95 % interval. Without a stall there is no interval: its upper end depends on what one would be.
    pub fn estimate(&self) -> Estimate {
        let limits = || self.limits(normal_quantile(0.975), 0.0);
        Estimate { value: self.share(), interval: (!self.stalls.is_empty()).then(limits) }
    }
}

/// Seconds that have to be measured on a target before stalls of `longest` seconds, or of [`FLOOR_SECONDS`] if that is longer,
/// that were not seen can take no more of the time than `margin` (a share of the rate) allows, with a chance of error of `alpha`: the
/// chance of seeing none in n times their mean distance is exp(−n).
pub(crate) fn needed_seconds(longest: f64, margin: f64, alpha: f64) -> f64 {
    longest.max(FLOOR_SECONDS) * -alpha.portable_ln() / (margin / (1.0 + margin))
}

/// The quantile at `z` standard normal deviations of a gamma distribution with this mean and variance, by Wilson and
/// Hilferty (Proc. Natl. Acad. Sci. 17, 1931). Below the mean it is too low for few events, which is the safe side.
fn gamma_quantile(mean: f64, variance: f64, z: f64) -> f64 {
    if variance <= 0.0 {
        return mean;
    }
    let ninth = variance / (mean * mean) / 9.0;
    mean * (1.0 - ninth + z * ninth.sqrt()).max(0.0).powi(3)
}

/// A round without its stalls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Undisturbed {
    /// Round.
    pub round: u32,
    /// When its repeat began and ended, in seconds of the run.
    pub at: f64,
    pub end: f64,
    /// Rate between stalls.
    pub rate: f64,
    /// Its time in median lengths.
    pub weight: f64,
}

/// The rounds of one target, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LongRun {
    /// The rounds that were not slow: all but the time of their stalls.
    pub body: Vec<Undisturbed>,
    /// What the others lost.
    pub loss: Loss,
}

impl LongRun {
    /// From the rate of each round and what its repeat was exposed to, both in the order of the rounds, of a target that was
    /// made so often; rounds that lack either are left out. In a round with a stall the rate between stalls is that of the rest
    /// of its time, ramp included.
    pub fn of(values: &[(u32, f64)], exposures: &[Exposure], makings: u32) -> Self {
        let undisturbed = exposures.iter().filter(|e| e.lost <= 0.0).map(|e| e.work / e.seconds);
        let fastest = MOST_TIMES_USUAL * median(&undisturbed.collect::<Vec<_>>()).unwrap_or(f64::INFINITY);
        let of = |(round, rate): &(u32, f64)| {
            let mut e = exposures[exposures.binary_search_by_key(round, |e| e.round).ok()?];
            e.lost = e.lost.min((e.seconds - e.work / fastest).max(0.0));
            let seconds = e.seconds - e.lost;
            Some((e, if e.lost > 0.0 { e.work / seconds } else { *rate }, seconds))
        };
        let rounds: Vec<(Exposure, f64, f64)> = values.iter().filter_map(of).collect();
        let limit = slow_limit(&rounds.iter().map(|(_, rate, _)| *rate).collect::<Vec<_>>()).unwrap_or(0.0);
        let (mut work, mut time) = (0.0, 0.0);
        for (e, _, seconds) in rounds.iter().filter(|(_, rate, _)| *rate >= limit) {
            (work, time) = (work + e.work, time + seconds);
        }
        let usual = work / time;
        let typical = median(&rounds.iter().map(|(.., seconds)| *seconds).collect::<Vec<_>>()).unwrap_or(1.0);
        let (mut body, mut stalls, mut of_each) = (Vec::new(), Vec::new(), Vec::new());
        for (e, rate, seconds) in &rounds {
            let mut lost = e.lost;
            if *rate < limit {
                lost = (e.seconds - e.work / usual).max(0.0);
            } else {
                let (at, end, weight) = (e.at, e.at + e.seconds, seconds / typical);
                body.push(Undisturbed { round: e.round, at, end, rate: *rate, weight });
            }
            of_each.push((e.round, lost.max(0.0)));
            if lost > 0.0 {
                stalls.push(Stalls { round: e.round, lost, count: e.stalls.max(1) });
            }
        }
        let seconds = rounds.iter().map(|(e, ..)| e.seconds).sum();
        let by_making = if makings > 1 { sums_by_making(&of_each, makings) } else { Vec::new() };
        Self { body, loss: Loss { seconds, stalls, by_making } }
    }

    /// The long-run rate with its 95 % interval: the distances of the rate between stalls and of the time that they leave
    /// to their limits add up by their squares (Zou and Donner, Statist. Med. 27, 2008). `None` without rounds.
    pub fn estimate(&self, makings: u32) -> Option<Estimate> {
        let rates: Vec<(f64, f64)> = self.body.iter().map(|round| (round.rate, round.weight)).collect();
        let rounds = self.body.iter().map(|round| round.round);
        let Estimate { value: lost, interval } = self.loss.estimate();
        let value = (!rates.is_empty()).then(|| weighted_mean(&rates) * (1.0 - lost))?;
        let logs: Vec<(u32, f64)> = rounds.zip(pseudo_logs(&rates)).collect();
        let Some(RobustMean { error, kept, .. }) = RobustMean::plain(&by_making(&logs, makings)) else {
            return Some(Estimate { value, interval: None });
        };
        let half = t_quantile(0.975, kept - 1.0) * error;
        let kept = |share: f64| (1.0 - share).max(f64::EPSILON).portable_ln();
        let (low, high) = interval.unwrap_or((lost, lost));
        let (down, up) = (half.hypot(kept(lost) - kept(high)), half.hypot(kept(low) - kept(lost)));
        Some(Estimate { value, interval: Some((value * (-down).portable_exp(), value * up.portable_exp())) })
    }
}

/// Σ weight · value ÷ Σ weight, of value and weight.
fn weighted_mean(values: &[(f64, f64)]) -> f64 {
    let weights: f64 = values.iter().map(|(_, weight)| weight).sum();
    values.iter().map(|(value, weight)| value * weight).sum::<f64>() / weights
}

/// For each round, of rate and weight, a value whose mean is the logarithm of the weighted mean of the rates and whose spread is
/// its error: that of a ratio of totals, to first order (Cochran, "Sampling Techniques", 1977, section 6.4).
pub(crate) fn pseudo_logs(rates: &[(f64, f64)]) -> Vec<f64> {
    let mean = weighted_mean(rates);
    let weight = rates.iter().map(|(_, weight)| weight).sum::<f64>() / rates.len() as f64;
    rates.iter().map(|(rate, own)| mean.portable_ln() + own / weight * (rate / mean - 1.0)).collect()
}

/// The rate below which a round is stalled; `None` if none is.
fn slow_limit(rates: &[f64]) -> Option<f64> {
    if rates.len() < FEWEST || rates.iter().any(|rate| *rate <= 0.0) {
        return None;
    }
    let usual = median(rates)?;
    let distances: Vec<f64> = rates.iter().map(|rate| (rate / usual).portable_ln().abs()).collect();
    let deviation = NORMAL_MAD * median(&distances)?;
    let limit = usual * SLOW.min((-DEVIATIONS * deviation).portable_exp());
    let below = rates.iter().filter(|rate| **rate < limit).count();
    (below > 0 && below as f64 <= MOST_SLOW * rates.len() as f64).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exposure(round: u32, seconds: f64, work: f64, lost: f64, stalls: u32) -> Exposure {
        Exposure { round, at: f64::from(round), seconds, work, lost, stalls }
    }

    /// Rounds of 0.1 s with 100 operations each, around which the rate scatters a little.
    fn steady(rounds: u32) -> (Vec<(u32, f64)>, Vec<Exposure>) {
        let work = |round: u32| 100.0 + f64::from(round * 7 % 5) - 2.0;
        (0..rounds).map(|r| ((r, work(r) / 0.1), exposure(r, 0.1, work(r), 0.0, 0))).unzip()
    }

    #[test]
    fn the_long_run_rate_is_all_work_over_all_time() {
        let (mut values, mut exposures) = steady(20);
        // An operation of 500 ms, and a round that is slow without one.
        exposures[4] = exposure(4, 0.55, 50.0, 0.5, 1);
        exposures[9] = exposure(9, 0.1, 20.0, 0.0, 0);
        values[4].1 = 50.0 / 0.55;
        values[9].1 = 20.0 / 0.1;
        let run = LongRun::of(&values, &exposures, 1);
        let seconds: f64 = exposures.iter().map(|e| e.seconds).sum();
        let work: f64 = exposures.iter().map(|e| e.work).sum();
        let estimate = run.estimate(1).unwrap();
        assert!((estimate.value / (work / seconds) - 1.0).abs() < 0.005, "{estimate:?} {}", work / seconds);
        assert_eq!((run.body.len(), run.loss.count()), (19, 2));
        assert!((run.loss.stalls[0].lost - 0.5).abs() < 1e-9);
        assert!((run.loss.stalls[1].lost - 0.08).abs() < 0.002, "{:?}", run.loss.stalls);
        let (low, high) = estimate.interval.unwrap();
        assert!(
            low < 0.8 * estimate.value && high > 1.1 * estimate.value,
            "two stalls must leave a wide interval: {estimate:?}"
        );
    }

    #[test]
    fn what_went_on_beside_a_stall_is_not_lost() {
        let (mut values, mut exposures) = steady(20);
        // One of two operations in flight took the whole round, and the other did as much as both.
        exposures[4] = exposure(4, 0.1, 100.0, 0.0999, 1);
        values[4].1 = 1000.0;
        let run = LongRun::of(&values, &exposures, 1);
        assert_eq!(run.loss.count(), 1);
        assert!((run.loss.stalls[0].lost - 0.05).abs() < 0.001, "{:?}", run.loss);
        let (work, seconds) = exposures.iter().fold((0.0, 0.0), |(w, s), e| (w + e.work, s + e.seconds));
        assert!((run.estimate(1).unwrap().value / (work / seconds) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_slow_in_most_rounds_is_no_stall() {
        let (mut values, mut exposures) = steady(20);
        for round in (0..20).step_by(3) {
            exposures[round].work = 20.0;
            values[round].1 = 200.0;
        }
        let run = LongRun::of(&values, &exposures, 1);
        assert_eq!((run.body.len(), run.loss.count()), (20, 0));
        assert_eq!(run.loss.estimate(), Estimate { value: 0.0, interval: None });
    }

    #[test]
    fn the_limits_are_those_of_a_poisson_count() {
        // Five equal stalls: the exact limits of a Poisson count of 5 are 1.62 and 11.67 (Garwood 1936).
        let stalls = (0..5).map(|round| Stalls { round, lost: 1.0, count: 1 }).collect();
        let per_second = |(low, high): (f64, f64)| [low, high].map(|share| share / (1.0 - share));
        let loss = Loss { seconds: 105.0, stalls, by_making: Vec::new() };
        let [low, high] = per_second(loss.limits(normal_quantile(0.975), 0.0)).map(|lost| lost * 100.0);
        assert!((low - 1.62).abs() < 0.1 && (high - 11.67).abs() < 0.1, "{low} {high}");
        // None in 100 s: 3.69 by the longest that is known from elsewhere.
        let none = Loss { seconds: 100.0, ..Loss::default() };
        let [low, high] = per_second(none.limits(normal_quantile(0.975), 2.0)).map(|lost| lost * 100.0);
        assert!(low == 0.0 && (high - 2.0 * 3.69).abs() < 0.1, "{low} {high}");
        assert_eq!(none.limits(1.96, 0.0), (0.0, 0.0));
        assert!(none.share().is_sign_positive());
    }

    #[test]
    fn same_at_three_per_cent_takes_fifty_one_seconds() {
        assert!((needed_seconds(0.0, 0.03, 0.05) - 51.4).abs() < 0.1);
        assert!((needed_seconds(2.0, 0.03, 0.05) - 205.7).abs() < 0.1);
        assert!((needed_seconds(0.1, 0.10, 0.05) - 16.5).abs() < 0.1);
    }

    #[test]
    fn an_operation_that_stalls_holds_up_its_share_of_those_in_flight() {
        let mut run = crate::measure::tests::run(crate::measure::tests::workload());
        let step = run.started.plan.steps[0].clone();
        let mut of = |depth: u64, latencies: &[(u64, u64)]| {
            let interval = &mut run.repeats[0].intervals[0];
            interval.in_flight_ns = depth * 1_000_000_000;
            let mut lat = model::LatencyRecorder::new();
            latencies.iter().for_each(|(ns, times)| lat.record_many(*ns, *times));
            interval.operations.get_mut(&Operation::Read).unwrap().lat = lat.finish();
            super::exposure(&step, &run.repeats[0], Operation::Read, Metric::Iops).unwrap()
        };
        let (ms, usual) = (1_000_000, (1_000_000, 900));
        let one = of(1, &[usual, (101 * ms, 1)]);
        assert!((one.lost - 0.1).abs() < 0.001 && one.stalls == 1, "{one:?}");
        // Eight that wait together are one stall; one of eight holds up an eighth.
        let all = of(8, &[usual, (101 * ms, 8)]);
        assert!((all.lost - 0.1).abs() < 0.001 && all.stalls == 1, "{all:?}");
        assert!((of(8, &[usual, (101 * ms, 1)]).lost - 0.0125).abs() < 0.001);
        assert_eq!(of(1, &[usual, (20 * ms, 9)]).stalls, 0, "less than 25 ms is no stall");
        assert_eq!(of(1, &[(10 * ms, 90), (80 * ms, 9)]).stalls, 0, "nor is less than ten times the median");
    }
}
