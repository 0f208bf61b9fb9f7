//! Percentiles of all rounds together.
//!
//! A mean of the percentiles of single repeats depends on how long these are: a stall falls into few short repeats, and
//! the others have none. So the histograms of all rounds are merged. The uncertainty is that of rounds, not of operations,
//! which depend on each other: a jackknife over rounds gives the error of the share of operations that lie above the
//! percentile, a smooth function of the data, and the merged distribution turns it into an interval of the percentile
//! (Woodruff, "Confidence Intervals for Medians and Other Position Measures", J. Am. Stat. Assoc. 47, 1952; for
//! clusters: Francisco and Fuller, Ann. Statist. 19, 1991). Of a target that was made several times the clusters are its makings.

use model::{Estimate, Histogram, Metric, PortableMath};

use crate::stats::{sums_by_making, t_quantile};

/// The method of a percentile.
pub(crate) const METHOD_PERCENTILE: &str =
    "percentile of all operations of all rounds, 95 % interval by a jackknife over rounds (Woodruff)";
/// Half the width of the widest bucket of a histogram, as a share: the percentile itself is no finer.
const RESOLUTION: f64 = 1.0 / 256.0;

/// Operations above a percentile, below which it has no interval.
const FEWEST_ABOVE: f64 = 10.0;

/// A percentile of all rounds together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MergedPercentile {
    /// In nanoseconds, with its 95 % interval where there is enough beyond it for one.
    pub estimate: Estimate,
    /// For each round a value whose logarithms have the percentile's as their mean and its error as the error of that
    /// mean: what paired comparisons need. Empty for one round, or where all rounds have the same share above it.
    pub by_round: Vec<(u32, f64)>,
}

/// Degrees of freedom of a variance whose terms are these squared: few, where few rounds have all the stalls. With the
/// kurtosis κ, 2n/(κ − 1): twice the squared mean of the variance's estimate ÷ its variance (Satterthwaite, Biometrics
/// Bulletin 2, 1946).
pub(crate) fn freedom(terms: &[f64]) -> f64 {
    let n = terms.len() as f64;
    let power = |exponent: i32| terms.iter().map(|term| term.powi(exponent)).sum::<f64>();
    let kurtosis = n * power(4) / power(2).powi(2);
    let freedom = if kurtosis > 1.0 { 2.0 * (n - 1.0) / (kurtosis - 1.0) } else { n - 1.0 };
    freedom.min(n - 1.0).max(1.0)
}

/// For a metric that is a percentile what takes the place of the values of single rounds in a comparison; `None` for another
/// metric, for one round, and where all rounds have the same share above it.
pub fn percentile_by_round(metric: Metric, rounds: &[(u32, Histogram)]) -> Option<Vec<(u32, f64)>> {
    let borrowed: Vec<(u32, &Histogram)> =
        rounds.iter().map(|(round, histogram)| (*round, histogram)).collect();
    let by_round = merged_percentile(&borrowed, metric.percent()?, 1)?.by_round;
    (!by_round.is_empty()).then_some(by_round)
}

/// The percentile `percent`, above 0 and below 100, of the operations of all rounds, of a target that was made so often. `None`
/// without operations.
pub(crate) fn merged_percentile(
    rounds: &[(u32, &Histogram)],
    percent: f64,
    makings: u32,
) -> Option<MergedPercentile> {
    let mut all = Histogram::default();
    rounds.iter().for_each(|(_, histogram)| all.merge(histogram));
    let value = all.percentile_ns(percent)?;
    let (n, count) = (rounds.len() as f64, all.count() as f64);
    let above = |histogram: &Histogram| {
        let higher = histogram.buckets().filter(|(low, ..)| *low > value);
        higher.map(|(.., count)| count).sum::<u64>() as f64
    };
    let share = above(&all) / count;
    let excess = rounds.iter().map(|(round, h)| (*round, above(h) - share * h.count() as f64));
    let excess: Vec<(u32, f64)> = excess.collect();
    let sample = sums_by_making(&excess, makings);
    let size = sample.len() as f64;
    let error = (size / (size - 1.0) * sample.iter().map(|e| e * e).sum::<f64>()).sqrt() / count;
    let t = t_quantile(0.975, freedom(&sample));
    let estimate = |interval| Estimate { value: value as f64, interval };
    if sample.len() < 2 || error == 0.0 {
        return Some(MergedPercentile { estimate: estimate(None), by_round: Vec::new() });
    }
    let at = |beyond: f64| {
        let percent = (percent - 100.0 * beyond).clamp(0.0, 100.0);
        all.percentile_ns(percent).map(|ns| ns.max(1) as f64)
    };
    let ln = (value.max(1) as f64).portable_ln();
    let low = at(t * error)?.portable_ln().min(ln - RESOLUTION);
    // Otherwise the largest latency that was seen would have to bound those that were not.
    let is_bounded = above(&all) >= FEWEST_ABOVE && percent + 100.0 * t * error < 100.0;
    let high = match is_bounded {
        true => at(-t * error)?.portable_ln().max(ln + RESOLUTION),
        // A tail is longer than what leads to it.
        false => ln + 2.0 * (ln - low),
    };
    let estimate = estimate(is_bounded.then(|| (low.portable_exp(), high.portable_exp())));
    // How far the logarithm moves with the share of operations above.
    let slope = (high - low) / (2.0 * t * error);
    let moved = |excess: &f64| (ln + n * slope * excess / count).portable_exp();
    let by_round = excess.iter().map(|(round, excess)| (*round, moved(excess))).collect();
    Some(MergedPercentile { estimate, by_round })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::mean_and_deviation;
    use model::LatencyRecorder;
    use rand::RngExt;
    use rand_distr::{Distribution, LogNormal};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    /// Rounds of `operations` latencies; one round in ten has a stall, which delays a tenth of its operations.
    fn stalling(rng: &mut Xoshiro256PlusPlus, rounds: u32, operations: u32) -> Vec<(u32, Histogram)> {
        let usual = LogNormal::new(11.0, 0.3).unwrap();
        let one = |round| {
            let mut recorder = LatencyRecorder::new();
            let stalls = rng.random_bool(0.1);
            // What a round does to all of its operations.
            let speed: f64 = 1.0 + 0.05 * rng.random::<f64>();
            for _ in 0..operations {
                let slow = if stalls && rng.random_bool(0.1) { 20.0 } else { 1.0 };
                recorder.record((usual.sample(rng) * slow * speed) as u64);
            }
            (round, recorder.finish())
        };
        (0..rounds).map(one).collect()
    }

    fn merged(rounds: &[(u32, Histogram)], percent: f64) -> MergedPercentile {
        let borrowed: Vec<(u32, &Histogram)> = rounds.iter().map(|(round, h)| (*round, h)).collect();
        merged_percentile(&borrowed, percent, 1).unwrap()
    }

    #[test]
    fn it_does_not_depend_on_how_the_operations_are_cut_into_rounds() {
        let rounds = stalling(&mut Xoshiro256PlusPlus::seed_from_u64(1), 60, 200);
        let joined: Vec<(u32, Histogram)> = rounds
            .chunks(10)
            .zip(0..)
            .map(|(chunk, round)| {
                let mut all = Histogram::default();
                chunk.iter().for_each(|(_, h)| all.merge(h));
                (round, all)
            })
            .collect();
        for percent in [50.0, 99.0, 99.9] {
            assert_eq!(merged(&rounds, percent).estimate.value, merged(&joined, percent).estimate.value);
        }
    }

    #[test]
    fn the_values_by_round_have_the_percentile_as_their_mean_and_its_error() {
        let rounds = stalling(&mut Xoshiro256PlusPlus::seed_from_u64(2), 40, 500);
        let found = merged(&rounds, 95.0);
        let logs: Vec<f64> = found.by_round.iter().map(|(_, v)| v.portable_ln()).collect();
        let (mean, deviation) = mean_and_deviation(&logs).unwrap();
        assert!((mean - found.estimate.value.portable_ln()).abs() < 1e-9);
        let (low, high) = found.estimate.interval.unwrap();
        let t = (high / low).portable_ln() / 2.0 / (deviation / 40f64.sqrt());
        assert!((t_quantile(0.975, 39.0)..t_quantile(0.975, 1.0)).contains(&t), "{t}");
    }

    /// docs/method/certainty.md has more; the truth is the percentile of very many rounds.
    #[test]
    fn its_interval_contains_the_truth_nearly_as_often_as_it_promises() {
        const RUNS: u32 = 300;
        const PERCENTS: [f64; 3] = [50.0, 90.0, 95.0];
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let truth: Vec<f64> = {
            let many = stalling(&mut rng, 4000, 200);
            PERCENTS.map(|percent| merged(&many, percent).estimate.value).to_vec()
        };
        let mut held = [0; 3];
        for _ in 0..RUNS {
            let rounds = stalling(&mut rng, 40, 200);
            for (i, percent) in PERCENTS.into_iter().enumerate() {
                let (low, high) = merged(&rounds, percent).estimate.interval.unwrap();
                held[i] += u32::from(low <= truth[i] && truth[i] <= high);
            }
        }
        for (held, percent) in held.iter().zip(PERCENTS) {
            let share = f64::from(*held) / f64::from(RUNS);
            assert!((0.88..=0.995).contains(&share), "p{percent}: {share}");
        }
    }

    #[test]
    fn of_several_makings_the_interval_allows_for_their_luck() {
        const RUNS: u32 = 200;
        const MAKINGS: u32 = 6;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(6);
        let usual = LogNormal::new(11.0, 0.3).unwrap();
        // Makings differ by a tenth, rounds by the chance of their operations.
        let mut run = |makings: u32, rounds: u32| -> Vec<(u32, Histogram)> {
            let luck = LogNormal::new(0.0, 0.1).unwrap();
            let speeds: Vec<f64> = (0..makings).map(|_| luck.sample(&mut rng)).collect();
            let one = |round: u32| {
                let mut recorder = LatencyRecorder::new();
                let speed = speeds[(round % makings) as usize];
                (0..100).for_each(|_| recorder.record((usual.sample(&mut rng) * speed) as u64));
                (round, recorder.finish())
            };
            (0..rounds).map(one).collect()
        };
        let truth = merged(&run(4000, 4000), 50.0).estimate.value;
        let mut held = [0; 2];
        for _ in 0..RUNS {
            let rounds = run(MAKINGS, 60);
            let borrowed: Vec<(u32, &Histogram)> = rounds.iter().map(|(round, h)| (*round, h)).collect();
            for (held, makings) in held.iter_mut().zip([1, MAKINGS]) {
                let found = merged_percentile(&borrowed, 50.0, makings).unwrap().estimate;
                let (low, high) = found.interval.unwrap();
                *held += u32::from(low <= truth && truth <= high);
            }
        }
        let [as_one, as_several] = held.map(|held| f64::from(held) / f64::from(RUNS));
        assert!((0.9..=0.99).contains(&as_several) && as_one < 0.7, "{as_one} {as_several}");
        // Without their number one making says nothing of others.
        let rounds = run(1, 10);
        let borrowed: Vec<(u32, &Histogram)> = rounds.iter().map(|(round, h)| (round * 3, h)).collect();
        assert_eq!(merged_percentile(&borrowed, 50.0, 3).unwrap().estimate.interval, None);
    }

    #[test]
    fn what_lies_beyond_all_that_was_seen_has_no_interval() {
        let rounds = stalling(&mut Xoshiro256PlusPlus::seed_from_u64(5), 4, 40);
        assert!(merged(&rounds, 50.0).estimate.interval.is_some());
        let tail = merged(&rounds, 99.0);
        assert_eq!(tail.estimate.interval, None);
        // A comparison still has the percentile as its mean, and an error that is not small.
        let logs: Vec<f64> = tail.by_round.iter().map(|(_, v)| v.portable_ln()).collect();
        let (mean, deviation) = mean_and_deviation(&logs).unwrap();
        assert!((mean - tail.estimate.value.portable_ln()).abs() < 1e-9 && deviation > 0.02, "{deviation}");
    }

    #[test]
    fn without_operations_there_is_none_and_with_one_round_no_interval() {
        assert_eq!(merged_percentile(&[], 99.0, 1), None);
        let rounds = stalling(&mut Xoshiro256PlusPlus::seed_from_u64(4), 1, 100);
        assert_eq!(merged(&rounds, 99.0).estimate.interval, None);
    }
}
