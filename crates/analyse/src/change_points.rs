//! Change points of a history: where the figure of run after run becomes another one and stays so.
//!
//! Existence: the largest likelihood ratio of two means to one, over all splits of many intervals of the series, short and long,
//! placed by rule (seeded intervals: Kovács, Bühlmann, Li and Munk, Biometrika 110, 2023), against the largest ones of the same
//! values in random order: a permutation test, so that heavy tails, outliers and two modes cost no false alarms. What a single
//! run is far from its neighbours by is cut, so that one run is no change. Runs that resemble the one before them are worth
//! less: the root of the logarithm of the ratio is divided by that of (1 + ρ) ÷ (1 − ρ). What is found splits the series, and
//! each part is searched in turn (binary segmentation); every change must then hold between its neighbours, and steps must
//! describe the series better than a line does.
//!
//! Runs whose own error is large weigh less. A change counts from four runs on both sides; before that it is suspected, if the last runs are
//! far from all others.

use model::{Estimate, PortableMath};
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::stats::{RobustMean, mean_and_deviation, median, normal_above, t_quantile};

/// Runs on each side of a change; twice as many make a history.
pub const RUNS_OF_A_CHANGE: usize = 4;
/// Accepted chance of a change in a history without any.
const ALPHA: f64 = 0.04;
/// Random orders that a history is compared with.
const SHUFFLES: usize = 499;
/// Seed of the shuffling: the same runs give the same answer.
const SEED: u64 = 1;
/// Chance at which a change must hold between its neighbours.
const ALPHA_BETWEEN: f64 = 0.01;
/// Standard deviations from which the last runs are suspected.
const SUSPECT: f64 = 4.0;
/// Three quarters of normal deviations are below this.
const UPPER_QUARTER: f64 = 1.1503;
/// The standard deviation of a normal distribution ÷ its median absolute deviation.
const NORMAL_MAD: f64 = 1.4826;

/// A run's figure: its logarithm, and the standard error of that, 0 if it is not known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Logarithm of the figure.
    pub log: f64,
    /// Its standard error.
    pub error: f64,
}

/// A change.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangePoint {
    /// The first run after it, by number from 0.
    pub at: usize,
    /// The first and the last number that the data allow for it.
    pub range: (usize, usize),
    /// Figure after ÷ figure before, with its 95 % interval.
    pub ratio: Estimate,
    /// There are enough runs after it; else it is suspected.
    pub is_confirmed: bool,
}

/// What a history does.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// Probability that a history without a change has one as clear as this.
    pub p: f64,
    /// The changes, in order.
    pub changes: Vec<ChangePoint>,
    /// Last ÷ first by the line through all runs, with its 95 % interval, where a line describes them and does not lie flat.
    pub drift: Option<Estimate>,
    /// How much each run resembles the one before it, 0 to 0.9.
    pub resemblance: f64,
    /// Standard deviation of the logarithms between changes, from the middle half of the runs.
    pub scatter: f64,
}

/// The worth of a difference in that of independent runs.
fn worth(resemblance: f64) -> f64 {
    ((1.0 - resemblance) / (1.0 + resemblance)).sqrt()
}

impl Course {
    /// The smallest change, as a share, that would nearly always have been found if it had lasted for so many runs.
    pub fn smallest_change(&self, runs: usize, lasting: usize) -> f64 {
        /// Deviations that a change is found at, and what is added for nine of ten cases.
        const FOUND: f64 = 3.3 + 1.3;
        let before = runs.saturating_sub(lasting).max(1) as f64;
        let error = self.scatter * (1.0 / lasting as f64 + 1.0 / before).sqrt() / worth(self.resemblance);
        (FOUND * error).portable_exp_m1()
    }
}

/// The changes of a history, oldest run first; none in one of fewer than eight runs.
pub fn course(points: &[Point]) -> Course {
    let logs: Vec<f64> = points.iter().map(|point| point.log).collect();
    let resemblance = resemblance(&logs);
    let search = Search { weights: weights(points), worth: worth(resemblance), logs };
    let mut cuts = Vec::new();
    let p = search.split(0, search.logs.len(), &mut cuts);
    cuts.sort_unstable();
    search.prune(&mut cuts);
    let line = search.line();
    let is_line = !cuts.is_empty() && search.is_better_as_line(&cuts, line);
    let drift = if is_line { search.drift(line) } else { None };
    if drift.is_some() {
        cuts.clear();
    }
    let mut changes: Vec<ChangePoint> = (0..cuts.len()).map(|i| search.change(&cuts, i)).collect();
    let scatter = search.scatter(&cuts);
    changes.extend(search.suspected(cuts.last().copied().unwrap_or(0), scatter));
    Course { p, changes, drift, resemblance, scatter }
}

/// The autocorrelation at lag 1, 0 to 0.9: the mean of two estimates, each of which is right without a change. That from the clipped first
/// differences (their correlation at lag 1 is −(1 − ρ) ÷ 2) is hardly moved by any number of steps, but is uncertain; that around the
/// means on both sides of the best split is moved by all steps but one.
fn resemblance(logs: &[f64]) -> f64 {
    let n = logs.len() as f64;
    if logs.len() < 2 * RUNS_OF_A_CHANGE {
        return 0.0;
    }
    let (scores, noise) = scores(logs);
    let (_, at) = Sums::of(&scores, &vec![1.0; logs.len()], noise).best(0, logs.len(), RUNS_OF_A_CHANGE);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (before, after) = (mean(&scores[..at]), mean(&scores[at..]));
    let rest: Vec<f64> =
        scores.iter().enumerate().map(|(i, score)| score - if i < at { before } else { after }).collect();
    let squares: f64 = rest.iter().map(|r| r * r).sum();
    let products: f64 = rest.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let raw = if squares > 0.0 { products / squares } else { 0.0 };
    // Two means and a place were fitted.
    let around = raw + (3.0 + 4.0 * raw.max(0.0)) / n;
    (f64::midpoint(around, of_differences(logs))).clamp(0.0, 0.9)
}

/// The autocorrelation at lag 1 that the clipped first differences tell.
fn of_differences(logs: &[f64]) -> f64 {
    let mut differences: Vec<f64> = logs.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mut sorted = differences.clone();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let (low, high) = (sorted[n / 10], sorted[n - 1 - n / 10]);
    for difference in &mut differences {
        *difference = difference.clamp(low, high);
    }
    let mean = differences.iter().sum::<f64>() / n as f64;
    let squares: f64 = differences.iter().map(|d| (d - mean).powi(2)).sum();
    let products: f64 = differences.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if squares <= 0.0 { 0.0 } else { (1.0 + 2.0 * products / squares).clamp(-0.9, 0.9) }
}

/// Weights of the runs: 1 where a run's own error is nothing beside what runs differ by from one to the next.
fn weights(points: &[Point]) -> Vec<f64> {
    let steps: Vec<f64> = points.windows(2).map(|pair| (pair[1].log - pair[0].log).abs()).collect();
    let between = NORMAL_MAD * median(&steps).unwrap_or(0.0) / std::f64::consts::SQRT_2;
    let errors: Vec<f64> = points.iter().map(|point| point.error).collect();
    let usual = median(&errors).unwrap_or(0.0);
    // What runs differ by beside their usual error.
    let rest = (between * between - usual * usual).max(usual * usual / 4.0);
    let weight = |point: &Point| {
        if rest > 0.0 { (rest + usual * usual) / (rest + point.error * point.error) } else { 1.0 }
    };
    points.iter().map(|point| weight(point).min(1.0)).collect()
}

/// The median of the distances from 0.
fn middle_distance(rest: &[f64]) -> f64 {
    median(&rest.iter().map(|r| r.abs()).collect::<Vec<_>>()).unwrap_or(0.0)
}

struct Search {
    logs: Vec<f64>,
    weights: Vec<f64>,
    /// The worth of a difference in that of independent runs.
    worth: f64,
}

/// Runs that the noise from one run to the next counts as, beside the scatter of a part.
const PRIOR: f64 = 4.0;

/// What is far from the values around it counts as this many standard deviations.
const CLIP: f64 = 3.0;

/// Values with a mean of 0 and a variance of 1, of which none is further than [`CLIP`] from the median of those around it: what a single run
/// is far off by is cut, what four runs agree on is not. And the variance from one to the next in that measure.
fn scores(values: &[f64]) -> (Vec<f64>, f64) {
    let n = values.len();
    let mut steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    steps.sort_by(f64::total_cmp);
    // Of runs in two modes nearly half of the steps are small: the quarter of the largest begins above those.
    let large = steps.get(steps.len() * 3 / 4).copied().unwrap_or(0.0);
    let scale = (large / UPPER_QUARTER / std::f64::consts::SQRT_2).max(1e-9);
    let near = |i: usize| {
        let start = i.saturating_sub(RUNS_OF_A_CHANGE - 1).min(n.saturating_sub(2 * RUNS_OF_A_CHANGE - 1));
        median(&values[start..(start + 2 * RUNS_OF_A_CHANGE - 1).min(n)]).unwrap_or(0.0)
    };
    let clip = |(i, value): (usize, &f64)| {
        let near = near(i);
        (value - near).clamp(-CLIP * scale, CLIP * scale) + near
    };
    let clipped: Vec<f64> = values.iter().enumerate().map(clip).collect();
    let Some((mean, deviation)) = mean_and_deviation(&clipped).filter(|(_, deviation)| *deviation > 1e-12)
    else {
        return (vec![0.0; n], 0.0);
    };
    (clipped.iter().map(|value| (value - mean) / deviation).collect(), (scale / deviation).powi(2))
}

/// The intervals of `n` values that are searched: from the whole to the shortest, each layer shorter by √2, half of each over the next.
fn intervals(n: usize) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    let mut length = n as f64;
    while length >= (2 * RUNS_OF_A_CHANGE) as f64 {
        let size = length.round() as usize;
        let count = if size >= n { 1 } else { 2 * (n as f64 / length).ceil() as usize - 1 };
        for i in 0..count {
            let start = if count == 1 { 0.0 } else { (n - size) as f64 * i as f64 / (count - 1) as f64 }
                .round() as usize;
            all.push((start, start + size));
        }
        length /= std::f64::consts::SQRT_2;
    }
    all.dedup();
    all
}

/// Sums up to each place: of weights, their squares, weighted scores and weighted squares of scores.
struct Sums {
    upto: Vec<[f64; 4]>,
    /// The variance of scores from one to the next.
    noise: f64,
}

impl Sums {
    fn of(scores: &[f64], weights: &[f64], noise: f64) -> Self {
        let mut all = [0.0; 4];
        let mut upto = vec![all];
        for (score, weight) in scores.iter().zip(weights) {
            for (sum, one) in
                all.iter_mut().zip([*weight, weight * weight, weight * score, weight * score * score])
            {
                *sum += one;
            }
            upto.push(all);
        }
        Self { upto, noise }
    }

    fn part(&self, start: usize, end: usize) -> [f64; 4] {
        std::array::from_fn(|i| self.upto[end][i] - self.upto[start][i])
    }

    /// The root of the logarithm of the likelihood ratio of two means to one, of normal values whose variance is not known but for
    /// what the noise says, as standard deviations. Of two means that are all the difference there is, it is very large, and
    /// the difference of means ÷ its error is not.
    fn deviations(&self, start: usize, at: usize, end: usize) -> f64 {
        let ([w, _, s, _], [v, _, t, _]) = (self.part(start, at), self.part(at, end));
        let [weight, squares, sum, whole] = self.part(start, end);
        let runs = weight * weight / squares;
        let between = w * v / weight * (t / v - s / w).powi(2) * runs / weight;
        let all = (whole - sum * sum / weight).max(0.0) * runs / weight + PRIOR * self.noise;
        let rest = (1.0 - between / all.max(f64::MIN_POSITIVE)).max(1e-12);
        (-(runs + PRIOR) * rest.portable_ln()).max(0.0).sqrt()
    }

    /// The split of an interval with the largest difference, of those that leave so many values on both sides.
    fn best(&self, start: usize, end: usize, fewest: usize) -> (f64, usize) {
        let splits = start + fewest..=end - fewest;
        let of = |at: usize| (self.deviations(start, at, end), at);
        splits.map(of).fold((0.0, start), |best, one| if one.0 > best.0 { one } else { best })
    }

    /// The same of several intervals: of the short ones, of which there are more, what exceeds the difference that is to be expected of the
    /// largest of them (Dümbgen and Spokoiny, Ann. Statist. 29, 2001). Differences are `worth` so much.
    fn best_of(&self, intervals: &[(usize, usize)], worth: f64) -> (f64, usize) {
        let n = self.upto.len() as f64 - 1.0;
        let of = |(start, end): &(usize, usize)| {
            let (found, at) = self.best(*start, *end, RUNS_OF_A_CHANGE);
            (found * worth - (2.0 * (n / (end - start) as f64).portable_ln()).sqrt(), at)
        };
        intervals
            .iter()
            .map(of)
            .fold((f64::NEG_INFINITY, 0), |best, one| if one.0 > best.0 { one } else { best })
    }
}

/// The chance of a largest difference above all that chance made, by a Gumbel distribution with their mean and deviation, which falls
/// more slowly than that of the largest of normal differences (Winkler et al., NeuroImage 141, 2016, for tails of permutations).
fn tail(by_chance: &[f64], found: f64) -> f64 {
    /// Euler's constant.
    const GAMMA: f64 = 0.577_215_664_901_532_9;
    let Some((mean, deviation)) = mean_and_deviation(by_chance).filter(|(_, deviation)| *deviation > 0.0)
    else {
        return 1.0;
    };
    let width = deviation * 6f64.sqrt() / std::f64::consts::PI;
    let above = (-(found - (mean - GAMMA * width)) / width).portable_exp();
    (-(-above).portable_exp_m1()).min(1.0 / (by_chance.len() + 1) as f64)
}

impl Search {
    /// Searches a part, and what lies on both sides of a change in it; returns the chance of what was found.
    fn split(&self, start: usize, end: usize, cuts: &mut Vec<usize>) -> f64 {
        if end - start < 2 * RUNS_OF_A_CHANGE {
            return 1.0;
        }
        let weights = &self.weights[start..end];
        let (mut scores, noise) = scores(&self.logs[start..end]);
        let intervals = intervals(end - start);
        let (found, at) = Sums::of(&scores, weights, noise).best_of(&intervals, self.worth);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(SEED);
        let most = (ALPHA * (SHUFFLES + 1) as f64) as usize - 1;
        let (mut larger, mut by_chance) = (0, Vec::new());
        for _ in 0..SHUFFLES {
            scores.shuffle(&mut rng);
            by_chance.push(Sums::of(&scores, weights, noise).best_of(&intervals, 1.0).0);
            larger += usize::from(by_chance.last().is_some_and(|best| *best >= found));
            if larger > most {
                return (larger + 1) as f64 / (by_chance.len() + 1) as f64;
            }
        }
        let p =
            if larger > 0 { (larger + 1) as f64 / (SHUFFLES + 1) as f64 } else { tail(&by_chance, found) };
        let at = start + at;
        cuts.push(at);
        self.split(start, at, cuts);
        self.split(at, end, cuts);
        p
    }

    fn sums(&self, start: usize, end: usize) -> Sums {
        let (scores, noise) = scores(&self.logs[start..end]);
        Sums::of(&scores, &self.weights[start..end], noise)
    }

    /// The ends of the parts beside a cut.
    fn around(&self, cuts: &[usize], i: usize) -> (usize, usize) {
        let start = i.checked_sub(1).map_or(0, |before| cuts[before]);
        (start, cuts.get(i + 1).copied().unwrap_or(self.logs.len()))
    }

    /// Moves each cut to where it fits best between its neighbours, and removes those that do not hold, the weakest first.
    fn prune(&self, cuts: &mut Vec<usize>) {
        while !cuts.is_empty() {
            let mut chances = Vec::new();
            for i in 0..cuts.len() {
                let (start, end) = self.around(cuts, i);
                let sums = self.sums(start, end);
                let (found, at) = sums.best(0, end - start, RUNS_OF_A_CHANGE);
                cuts[i] = start + at;
                // What is larger yet with fewer runs on one side is no change, but an outlier, or not one yet.
                let is_outlier = sums.best(0, end - start, 1).0 > found;
                chances.push((if is_outlier { 1.0 } else { 2.0 * normal_above(found * self.worth) }, i));
            }
            match chances.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)) {
                Some((chance, i)) if chance > ALPHA_BETWEEN => drop(cuts.remove(i)),
                _ => return,
            }
        }
    }

    fn change(&self, cuts: &[usize], i: usize) -> ChangePoint {
        let (at, (start, end)) = (cuts[i], self.around(cuts, i));
        let sums = self.sums(start, end);
        let of = |at: usize| (sums.deviations(0, at - start, end - start) * self.worth).powi(2);
        // Where a split is as good but for a difference that is seen by chance.
        let is_as_good = |split: &usize| of(*split) >= of(at) - 3.84;
        let splits = start + RUNS_OF_A_CHANGE..=end - RUNS_OF_A_CHANGE;
        let first = splits.clone().find(is_as_good).unwrap_or(at);
        let last = splits.rev().find(is_as_good).unwrap_or(at);
        let ratio = self.ratio((start, at), (at, end));
        ChangePoint { at, range: (first, last), ratio, is_confirmed: true }
    }

    /// Figure after ÷ figure before: the means without what is far from the others, by Welch.
    fn ratio(&self, before: (usize, usize), after: (usize, usize)) -> Estimate {
        let [before, after] = [before, after].map(|(start, end)| {
            let values = &self.logs[start..end];
            let robust = RobustMean::of(values).map(|mean| (mean.mean, mean.error / self.worth, mean.kept));
            robust.unwrap_or((values.iter().sum::<f64>() / values.len() as f64, f64::INFINITY, 2.0))
        });
        let (distance, error) = (after.0 - before.0, before.1.hypot(after.1));
        let part = |(_, error, kept): (f64, f64, f64)| error.powi(4) / (kept - 1.0);
        let free = error.powi(4) / (part(before) + part(after)).max(f64::MIN_POSITIVE);
        let half = t_quantile(0.975, free.max(1.0)) * error;
        let interval =
            half.is_finite().then(|| ((distance - half).portable_exp(), (distance + half).portable_exp()));
        Estimate { value: distance.portable_exp(), interval }
    }

    /// A change among the last runs, of which there are too few yet.
    fn suspected(&self, start: usize, scatter: f64) -> Option<ChangePoint> {
        let end = self.logs.len();
        let of = |last: usize| {
            let at = end - last;
            let (before, after) = (&self.logs[start..at], &self.logs[at..]);
            let middle = median(before)?;
            let distances: Vec<f64> = before.iter().map(|log| log - middle).collect();
            // Of few runs the scatter of all tells more.
            let scatter = (NORMAL_MAD * middle_distance(&distances)).max(scatter).max(1e-6);
            let limit = SUSPECT * scatter / self.worth;
            let is_far = after.iter().all(|log| (log - middle).abs() * (last as f64).sqrt() > limit);
            let is_beyond = |sign: f64| {
                let most = before.iter().map(|log| sign * log).fold(f64::NEG_INFINITY, f64::max);
                after.iter().all(|log| sign * log > most)
            };
            (is_far && (is_beyond(1.0) || is_beyond(-1.0))).then(|| ChangePoint {
                at,
                range: (at, at),
                ratio: Estimate { interval: None, ..self.ratio((start, at), (at, end)) },
                is_confirmed: false,
            })
        };
        (2..RUNS_OF_A_CHANGE).rev().filter(|last| end - start >= 2 * RUNS_OF_A_CHANGE + last).find_map(of)
    }

    /// Middle and slope of the line through all runs: the median of the slopes (Theil 1950, Sen 1968).
    fn line(&self) -> (f64, f64) {
        let n = self.logs.len();
        // Of long histories pairs that are half of it apart: as good (Oldham's), and no more than there are runs.
        let apart = |gap: usize| (0..n - gap).map(move |i| (self.logs[i + gap] - self.logs[i]) / gap as f64);
        let slopes: Vec<f64> = match n {
            0..=2 => return (self.logs.first().copied().unwrap_or(0.0), 0.0),
            3..=200 => (1..n).flat_map(apart).collect(),
            _ => apart(n / 2).collect(),
        };
        let slope = median(&slopes).unwrap_or(0.0);
        let rest: Vec<f64> = self.logs.iter().enumerate().map(|(i, log)| log - slope * i as f64).collect();
        (median(&rest).unwrap_or(0.0), slope)
    }

    /// What is left of each run when the middle of its part is taken away.
    fn beside_steps(&self, cuts: &[usize]) -> Vec<f64> {
        let mut start = 0;
        let mut rest = Vec::new();
        for end in cuts.iter().copied().chain([self.logs.len()]) {
            let middle = median(&self.logs[start..end]).unwrap_or(0.0);
            rest.extend(self.logs[start..end].iter().map(|log| log - middle));
            start = end;
        }
        rest
    }

    fn scatter(&self, cuts: &[usize]) -> f64 {
        NORMAL_MAD * middle_distance(&self.beside_steps(cuts))
    }

    /// True if a line describes the runs better than steps do, by Schwarz's criterion (1978) with what is far off clipped.
    fn is_better_as_line(&self, cuts: &[usize], (middle, slope): (f64, f64)) -> bool {
        let n = self.logs.len();
        let of_line: Vec<f64> = (0..n).map(|i| self.logs[i] - middle - slope * i as f64).collect();
        let of_steps = self.beside_steps(cuts);
        let clip = 3.0 * NORMAL_MAD * middle_distance(&of_steps).min(middle_distance(&of_line)).max(1e-9);
        let squares =
            |rest: &[f64]| rest.iter().map(|r| r.clamp(-clip, clip).powi(2)).sum::<f64>().max(1e-18);
        // Of runs that resemble each other there are as many as they are worth.
        let worth = n as f64 * self.worth * self.worth;
        let criterion = |squares: f64, parameters: f64| {
            worth * (squares / n as f64).portable_ln() + parameters * (n as f64).portable_ln()
        };
        criterion(squares(&of_line), 2.0) < criterion(squares(&of_steps), 2.0 * cuts.len() as f64 + 1.0)
    }

    /// What the line rises by from the first run to the last; `None` if it may lie flat.
    fn drift(&self, (_, slope): (f64, f64)) -> Option<Estimate> {
        let n = self.logs.len() as f64;
        let rest: Vec<f64> = self.logs.iter().enumerate().map(|(i, log)| log - slope * i as f64).collect();
        let middle = median(&rest)?;
        let distances: Vec<f64> = rest.iter().map(|r| r - middle).collect();
        let scatter = NORMAL_MAD * middle_distance(&distances);
        // The variance of the slope of least squares, by the efficiency of Sen's at normal noise.
        let error = scatter * (12.0 / (n * (n * n - 1.0))).sqrt() / self.worth / 0.95f64.sqrt();
        let half = t_quantile(0.975, (n - 2.0).max(1.0)) * error;
        let over = |slope: f64| (slope * (n - 1.0)).portable_exp();
        (slope.abs() > half).then(|| Estimate {
            value: over(slope),
            interval: Some((over(slope - half), over(slope + half))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, StandardNormal};

    /// Runs around these levels, each so many, that scatter by 3 %.
    fn runs(levels: &[(usize, f64)], seed: u64) -> Vec<Point> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let level = |(n, level): &(usize, f64)| {
            let mut one = || {
                let noise: f64 = StandardNormal.sample(&mut rng);
                Point { log: level.portable_ln() + 0.03 * noise, error: 0.01 }
            };
            (0..*n).map(|_| one()).collect::<Vec<_>>()
        };
        levels.iter().map(level).collect::<Vec<_>>().concat()
    }

    fn places(course: &Course) -> Vec<usize> {
        course.changes.iter().filter(|change| change.is_confirmed).map(|change| change.at).collect()
    }

    #[test]
    fn a_change_is_found_at_its_run_with_its_size() {
        let found = course(&runs(&[(40, 100.0), (10, 92.0)], 1));
        let [change] = &found.changes[..] else { panic!("{found:?}") };
        assert!(change.at.abs_diff(40) <= 1 && change.is_confirmed, "{change:?}");
        assert!(change.range.0 <= 40 && 40 <= change.range.1, "{change:?}");
        let (low, high) = change.ratio.interval.unwrap();
        assert!(low < 0.92 && 0.92 < high && high < 0.97, "{change:?}");
        assert!(found.p < 0.002 && found.drift.is_none() && found.resemblance < 0.3, "{found:?}");
        assert!((0.02..0.04).contains(&found.scatter), "{found:?}");
        assert!((0.04..0.12).contains(&found.smallest_change(50, 4)), "{}", found.smallest_change(50, 4));
    }

    #[test]
    fn several_changes_are_found_also_those_that_cancel_out() {
        let found = course(&runs(&[(30, 100.0), (12, 80.0), (30, 100.0), (20, 115.0)], 2));
        let at = places(&found);
        assert_eq!(at.len(), 3, "{found:?}");
        assert!(at.iter().zip([30, 42, 72]).all(|(at, true_one)| at.abs_diff(true_one) <= 1), "{at:?}");
    }

    #[test]
    fn outliers_equal_runs_and_short_histories_have_no_change() {
        let mut points = runs(&[(40, 100.0)], 3);
        points[7].log -= 1.0;
        points[30].log -= 1.0;
        points[31].log -= 1.0;
        assert_eq!(course(&points).changes, []);
        let same = vec![Point { log: 1.0, error: 0.0 }; 30];
        assert_eq!(course(&same).changes, []);
        for n in 0..8 {
            assert_eq!(course(&points[..n]).changes, [], "{n} runs");
        }
        let clear = course(&[runs(&[(4, 100.0)], 4), runs(&[(4, 50.0)], 5)].concat());
        assert_eq!(places(&clear), [4], "eight are enough for a clear one: {clear:?}");
    }

    #[test]
    fn the_last_two_or_three_runs_are_suspected_and_a_single_one_is_not() {
        let of = |last: usize| course(&runs(&[(30, 100.0), (last, 70.0)], 6)).changes;
        assert_eq!(of(1), []);
        for last in [2, 3] {
            let found = of(last);
            assert!(matches!(&found[..], [one] if one.at == 30 && !one.is_confirmed), "{last}: {found:?}");
        }
        assert!(of(4)[0].is_confirmed);
    }

    #[test]
    fn a_steady_rise_is_a_drift_and_no_change() {
        let mut points = runs(&[(60, 100.0)], 7);
        points.iter_mut().enumerate().for_each(|(i, point)| point.log += 0.2 * i as f64 / 59.0);
        let found = course(&points);
        assert_eq!(found.changes, []);
        let (low, high) = found.drift.unwrap().interval.unwrap();
        assert!(low < 0.2f64.portable_exp() && 0.2f64.portable_exp() < high && low > 1.1, "{found:?}");
    }

    /// A loop device that was throttled to a fifth after 16 runs: what is measured then hardly scatters, so that the differences from run to
    /// run are those of a few runs.
    #[test]
    fn a_fall_to_a_fifth_is_found_whatever_the_runs_before_seem_to_resemble() {
        let rates = [
            199.6, 161.2, 149.0, 115.2, 175.2, 156.8, 155.6, 182.6, 234.7, 183.2, 206.6, 190.5, 172.3, 173.6,
            182.3, 131.2, 37.0, 37.1, 37.0, 36.4, 37.1, 36.2, 36.6, 36.3, 36.5, 36.1, 48.2, 36.5, 36.5, 45.5,
        ];
        let points: Vec<Point> =
            rates.iter().map(|rate| Point { log: rate.portable_ln(), error: 0.05 }).collect();
        for runs in 22..=rates.len() {
            let found = course(&points[..runs]);
            assert_eq!(places(&found), [16], "{runs} runs: {found:?}");
        }
    }

    #[test]
    fn runs_that_are_not_sure_of_their_figure_weigh_less() {
        let points = runs(&[(20, 100.0)], 8);
        let mut unsure = points.clone();
        unsure[3].error = 0.3;
        let (before, after) = (weights(&points), weights(&unsure));
        assert!(after[3] < before[3] / 10.0 && after[4] > 0.9, "{after:?}");
    }
}
