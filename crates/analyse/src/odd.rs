//! Odd machines among equals: of the machines that have the same figure, those whose value lies outside what the others scatter.
//!
//! Generalised extreme studentised deviates (Rosner, "Percentage Points for a Generalized ESD Many-Outlier Procedure", Technometrics
//! 25, 1983) on logarithms, with Bonferroni's correction over the figures: in at most one of twenty families of equal machines one
//! is called odd. Of fewer than fifteen machines only the most extreme is judged (Grubbs, "Sample Criteria for Testing Outlying
//! Observations", Ann. Math. Statist. 21, 1950), because Rosner's critical values are exact only from there on.

use std::collections::BTreeMap;

use model::{Estimate, PortableMath};

use crate::history::History;
use crate::stats::{mean_and_deviation, t_above, t_quantile};

/// Accepted chance, over all figures, that one of equal machines is called odd.
const ALPHA: f64 = 0.05;
/// Machines from which an odd one is sought: of fewer, nobody knows which.
pub const MACHINES_TO_COMPARE: usize = 5;
/// Machines from which several odd ones are sought.
const FEWEST_FOR_SEVERAL: usize = 15;
/// The largest part of the machines that can be odd: one in so many.
const ODD_OF: usize = 5;
/// What differs by less is not worth a look, as a share: the margin within which targets are the same by default.
const LEAST: f64 = 0.03;

/// A machine that does not fit to the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Odd {
    /// Its place among the values.
    pub place: usize,
    /// Its value ÷ the geometric mean of those that are not odd, with the 95 % interval of that mean.
    pub ratio: Estimate,
    /// How many values were compared.
    pub among: usize,
}

/// The odd ones among values above zero of equal machines, the most extreme first; `families` is how many such groups are judged
/// together.
pub fn odd_ones(values: &[f64], families: usize) -> Vec<Odd> {
    let n = values.len();
    if n < MACHINES_TO_COMPARE || values.iter().any(|value| !(*value > 0.0 && value.is_finite())) {
        return Vec::new();
    }
    let logs: Vec<f64> = values.iter().map(|value| value.portable_ln()).collect();
    let most = if n < FEWEST_FOR_SEVERAL { 1 } else { n / ODD_OF };
    let mut left: Vec<usize> = (0..n).collect();
    let (mut order, mut odd) = (Vec::new(), 0);
    while order.len() < most {
        let own: Vec<f64> = left.iter().map(|i| logs[*i]).collect();
        let Some((mean, deviation)) = mean_and_deviation(&own) else { break };
        let far = |i: &usize| (logs[*i] - mean).abs();
        let Some(at) = (0..left.len()).max_by(|a, b| far(&left[*a]).total_cmp(&far(&left[*b]))) else {
            break;
        };
        let m = left.len() as f64;
        // The rounding error of equal values is no spread.
        if deviation <= 1e-12 {
            break;
        }
        let studentised = far(&left[at]) / deviation;
        order.push(left.remove(at));
        if p_of_extreme(studentised, m) <= ALPHA / families.max(1) as f64 {
            odd = order.len();
        }
    }
    order.truncate(odd);
    let rest: Vec<f64> = (0..n).filter(|i| !order.contains(i)).map(|i| logs[i]).collect();
    let Some((mean, deviation)) = mean_and_deviation(&rest) else { return Vec::new() };
    let half = t_quantile(0.975, rest.len() as f64 - 1.0) * deviation / (rest.len() as f64).sqrt();
    let of = |place: usize| {
        let log = logs[place] - mean;
        let interval = Some(((log - half).portable_exp(), (log + half).portable_exp()));
        Odd { place, ratio: Estimate { value: log.portable_exp(), interval }, among: n }
    };
    order.into_iter().map(of).filter(|odd| (odd.ratio.value - 1.0).abs() >= LEAST).collect()
}

/// The probability, at most, that the largest studentised deviation of `m` normal values is this large.
fn p_of_extreme(studentised: f64, m: f64) -> f64 {
    let square = studentised * studentised;
    let rest = (m - 1.0).powi(2) - m * square;
    // All of the spread is from this one.
    if rest <= 0.0 {
        return 0.0;
    }
    let t = (m * (m - 2.0) * square / rest).sqrt();
    (2.0 * m * t_above(t, m - 2.0)).min(1.0)
}

/// A machine that is odd in a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OddMachine {
    /// Number of the history.
    pub history: usize,
    /// How much its figure as it is now differs from that of the others.
    pub odd: Odd,
}

/// The machines that are odd in figures which several have, in three runs or more each: the same step on targets of the same
/// name. The most extreme first.
pub fn odd_machines(histories: &[History]) -> Vec<OddMachine> {
    let mut groups: BTreeMap<_, Vec<(usize, f64)>> = BTreeMap::new();
    for (number, history) in histories.iter().enumerate() {
        let key = &history.key;
        let shared = (&key.target, &key.step, key.workload, key.operation, key.metric);
        if let Some(value) = history.typical() {
            groups.entry(shared).or_default().push((number, value));
        }
    }
    groups.retain(|_, members| members.len() >= MACHINES_TO_COMPARE);
    let families = groups.len();
    let mut found: Vec<OddMachine> = groups
        .into_values()
        .flat_map(|members| {
            let values: Vec<f64> = members.iter().map(|(_, value)| *value).collect();
            let odd = odd_ones(&values, families);
            odd.into_iter().map(move |odd| OddMachine { history: members[odd.place].0, odd })
        })
        .collect();
    let far = |one: &OddMachine| one.odd.ratio.value.portable_ln().abs();
    found.sort_by(|a, b| far(b).total_cmp(&far(a)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosner's example of 54 values: three are outliers (NIST/SEMATECH e-Handbook, 1.3.5.17.3). They are logarithms here.
    #[test]
    fn rosners_example() {
        let data = [
            -0.25, 0.68, 0.94, 1.15, 1.20, 1.26, 1.26, 1.34, 1.38, 1.43, 1.49, 1.49, 1.55, 1.56, 1.58, 1.65,
            1.69, 1.70, 1.76, 1.77, 1.81, 1.91, 1.94, 1.96, 1.99, 2.06, 2.09, 2.10, 2.14, 2.15, 2.23, 2.24,
            2.26, 2.35, 2.37, 2.40, 2.47, 2.54, 2.62, 2.64, 2.90, 2.92, 2.92, 2.93, 3.21, 3.26, 3.30, 3.59,
            3.68, 4.30, 4.64, 5.34, 5.42, 6.01,
        ];
        let values: Vec<f64> = data.iter().map(|log: &f64| log.portable_exp()).collect();
        let places: Vec<usize> = odd_ones(&values, 1).iter().map(|odd| odd.place).collect();
        assert_eq!(places, [53, 52, 51]);
        // The first statistic of the example, 3.119 against a critical value of 3.159 at 5 %.
        assert!((p_of_extreme(3.159, 54.0) - 0.05).abs() < 1e-3, "{}", p_of_extreme(3.159, 54.0));
        assert!(odd_ones(&values, 1000).is_empty(), "of a thousand figures");
    }

    #[test]
    fn one_of_few_is_odd_and_by_how_much() {
        let values = [100.0, 101.0, 99.0, 100.5, 70.0];
        let found = odd_ones(&values, 1);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].place, found[0].among), (4, 5));
        assert!((found[0].ratio.value - 0.699).abs() < 0.001, "{found:?}");
        let (low, high) = found[0].ratio.interval.unwrap();
        assert!(low < 0.699 && high > 0.699 && high < 0.71, "{found:?}");
        assert_eq!(odd_ones(&values[..4], 1), [], "of four, nobody knows");
    }

    #[test]
    fn what_hardly_differs_and_what_is_no_figure_is_not_odd() {
        assert_eq!(odd_ones(&[100.0, 100.01, 99.99, 100.0, 100.01, 102.0], 1), []);
        assert_eq!(odd_ones(&[100.0; 8], 1), []);
        assert_eq!(odd_ones(&[100.0, 101.0, 99.0, 100.5, 0.0], 1), []);
        assert_eq!(odd_ones(&[100.0, 101.0, 99.0, 100.5, f64::NAN], 1), []);
    }

    #[test]
    fn equal_machines_but_for_one() {
        let mut values = vec![100.0; 7];
        values.push(60.0);
        // Nothing scatters but the odd one itself.
        assert_eq!(odd_ones(&values, 1).len(), 1);
    }
}
