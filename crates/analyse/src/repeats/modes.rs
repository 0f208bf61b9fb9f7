//! Two modes: the repeats fall into two groups.
//!
//! The statistic is the share of the variance that remains within the groups when the sorted values are split in two
//! where that share is smallest, w = within ÷ total: two-means in one dimension. For normally distributed values the
//! direction of the vector of deviations is uniform on a sphere of n − 1 dimensions, and w is the squared sine of the
//! angle between it and the direction of the split. So for one given division of the repeats into two groups
//! P(w < x) = I(x; (n − 2) / 2, 1 / 2), the incomplete beta function. There are 2^(n−1) − 1 − n divisions that leave at
//! least two repeats on either side; the sum over all of them bounds the chance that any is that good, and the bound is
//! tight where it is small. The probability needs no table and holds at every n: five repeats are enough for two modes
//! that are many spreads apart, and four only for the clearest.
//!
//! Hartigan's dip and the largest gap detect less with few repeats: `lodestone-benches repeats` compares them.

use model::PortableMath;
use statrs::function::beta::beta_reg;

use super::{RELEVANT, RESOLUTION, logarithms};

/// At least this share of the distance between the modes is empty. Evenly spaced values, as a steady drift gives, can also
/// be split in two; from thirty repeats on this distinguishes them from modes.
const EMPTY: f64 = 1.0 / 3.0;

/// Two groups of repeats, by their index in the order of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Modes {
    /// The repeats of the lower mode, at least two, in order.
    pub low: Vec<usize>,
    /// The repeats of the higher mode, at least two, in order.
    pub high: Vec<usize>,
    /// Mean of the lower mode, in the values' unit.
    pub low_mean: f64,
    /// Mean of the higher mode, in the values' unit.
    pub high_mean: f64,
    /// Largest probability that repeats of one mode look like this.
    pub p: f64,
}

impl Modes {
    /// The first repeat after the change, if all repeats of one mode came before all of the other.
    pub fn changed_at(&self) -> Option<usize> {
        let (first, second) = if self.low.first() < self.high.first() {
            (&self.low, &self.high)
        } else {
            (&self.high, &self.low)
        };
        (first.last() < second.first()).then(|| second[0])
    }
}

/// The best division of the values, however likely by chance. `None` for fewer than four values; a division that is too
/// small to matter has the probability 1.
pub(super) fn candidate(values: &[f64]) -> Option<Modes> {
    let logs = logarithms(values);
    let n = logs.len();
    if n < 4 {
        return None;
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| logs[*a].total_cmp(&logs[*b]));
    let sorted: Vec<f64> = order.iter().map(|i| logs[*i]).collect();
    let (cut, within, between) = best_cut(&sorted);
    let within = within.max((n - 2) as f64 * RESOLUTION.powi(2));
    let distance = mean(&sorted[cut..]) - mean(&sorted[..cut]);
    let gap = sorted[cut] - sorted[cut - 1];
    let is_apart = distance >= RELEVANT.portable_ln_1p() && gap >= EMPTY * distance;
    let p = if !is_apart { 1.0 } else { chance(within / (within + between), n) };
    let group = |indices: &[usize]| {
        let mut group = indices.to_vec();
        group.sort_unstable();
        let of: Vec<f64> = group.iter().map(|i| values[*i]).collect();
        (group, mean(&of))
    };
    let ((low, low_mean), (high, high_mean)) = (group(&order[..cut]), group(&order[cut..]));
    Some(Modes { low, high, low_mean, high_mean, p })
}

/// The size of the lower group of the sorted values, and the sums of squares within and between the groups.
fn best_cut(sorted: &[f64]) -> (usize, f64, f64) {
    let n = sorted.len();
    let middle = mean(sorted);
    let total: f64 = sorted.iter().map(|v| (v - middle).powi(2)).sum();
    let mut best = (2, 0.0);
    let mut below: f64 = sorted[0] - middle;
    for cut in 2..=n - 2 {
        below += sorted[cut - 1] - middle;
        // The deviations above the cut sum to minus those below it.
        let between = below.powi(2) * n as f64 / (cut * (n - cut)) as f64;
        if between > best.1 {
            best = (cut, between);
        }
    }
    (best.0, (total - best.1).max(0.0), best.1)
}

/// Upper bound of the chance that n normal values have at most the share `w` within the best two groups.
fn chance(w: f64, n: usize) -> f64 {
    let divisions = 2f64.portable_powf(n as f64 - 1.0) - 1.0 - n as f64;
    // `min` discards the NaN of an infinite number of divisions times a chance of zero.
    (divisions * beta_reg((n as f64 - 2.0) / 2.0, 0.5, w.clamp(0.0, 1.0))).min(1.0)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The modes of one measurement on its own.
    fn modes(values: &[f64]) -> Option<Modes> {
        super::super::diagnose(values).modes
    }

    #[test]
    fn two_modes_are_found_with_their_means() {
        let found = modes(&[16_000.0, 25_100.0, 16_100.0, 25_000.0, 24_900.0]).unwrap();
        assert_eq!((found.low.as_slice(), found.high.as_slice()), (&[0, 2][..], &[1, 3, 4][..]));
        assert_eq!((found.low_mean, found.high_mean), (16_050.0, 25_000.0));
        assert_eq!(found.changed_at(), None);
        // Without any spread within the modes.
        assert!(modes(&[16e3, 16e3, 25e3, 25e3, 25e3]).unwrap().p < 1e-5);
    }

    #[test]
    fn a_single_change_of_mode_is_located() {
        assert_eq!(modes(&[25.0, 25.1, 24.9, 16.0, 16.1]).unwrap().changed_at(), Some(3));
        assert_eq!(modes(&[16.0, 16.1, 25.0, 25.1, 24.9]).unwrap().changed_at(), Some(2));
    }

    #[test]
    fn one_odd_repeat_or_a_drift_is_no_mode() {
        assert_eq!(modes(&[100.0, 100.5, 99.5, 100.2, 50.0]), None);
        assert_eq!(modes(&[100.0, 110.0, 120.0, 130.0, 140.0, 150.0]), None);
        assert_eq!(modes(&[16.0, 25.0, 25.0]), None, "three repeats cannot be two and two");
        assert_eq!(modes(&[5.0; 10]), None);
    }

    #[test]
    fn close_modes_are_not_reported() {
        assert_eq!(modes(&[100.0, 100.0, 102.9, 102.9, 102.9, 102.9]), None);
        assert!(modes(&[100.0, 100.0, 103.1, 103.1, 103.1, 103.1]).is_some());
    }

    #[test]
    fn thousands_of_repeats_are_handled() {
        let two = |i: usize| if i.is_multiple_of(3) { 16.0 } else { 25.0 } + (i % 7) as f64 * 0.1;
        let found = modes(&(0..3000).map(two).collect::<Vec<_>>());
        assert!(found.is_none_or(|m| m.low.len() == 1000));
        let found = modes(&(0..900).map(two).collect::<Vec<_>>()).unwrap();
        assert_eq!(found.low.len(), 300);
    }
}
