//! Odd machines among equals: false alarms, and how often a slow one is found.

use analyse::odd_ones;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::noise::{Deviations, Noise};
use super::trials::{share, trials};
use crate::table::markdown;

/// Relative standard deviation of equal machines.
const APART: f64 = 0.03;
/// Figures of a machine: all are one family.
const FIGURES: usize = 8;

/// Machines in each figure whose value is this much lower on the first `slow` of them; the machines that are called odd.
fn found(noise: Noise, machines: usize, slow: usize, by: f64, seed: u64) -> Vec<Vec<usize>> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut deviations = Deviations::new(noise);
    let mut figure = |_| -> Vec<usize> {
        let mut value = |machine| {
            let truth = if machine < slow { 1.0 - by } else { 1.0 };
            truth * (APART * deviations.next(&mut rng)).exp()
        };
        let values: Vec<f64> = (0..machines).map(&mut value).collect();
        odd_ones(&values, FIGURES).iter().map(|odd| odd.place).collect()
    };
    (0..FIGURES).map(&mut figure).collect()
}

/// One row for each number of machines and distribution.
pub fn odd_table(n: u64) -> String {
    let mut rows = Vec::new();
    for noise in [Noise::LogNormal, Noise::HeavyTailed, Noise::TwoMode] {
        for machines in [5, 10, 20, 40] {
            let mut row = vec![noise.name().to_owned(), machines.to_string()];
            let percent = |share: f64| format!("{:.1}", 100.0 * share);
            let equal = trials(n, |seed| found(noise, machines, 0, 0.0, seed));
            row.push(percent(share(&equal, |figures| figures.iter().any(|odd| !odd.is_empty()))));
            for (slow, by) in [(1, 0.10), (1, 0.20), (1, 0.30), (2, 0.20)] {
                let all = trials(n, |seed| found(noise, machines, slow, by, seed));
                let right = |odd: &Vec<usize>| odd.iter().filter(|place| **place < slow).count();
                let hits: usize = all.iter().flatten().map(right).sum();
                row.push(percent(hits as f64 / (all.len() * FIGURES * slow) as f64));
            }
            rows.push(row);
        }
    }
    let head = [
        "how machines scatter",
        "machines",
        "equal: any odd",
        "10 % slower: found",
        "20 %",
        "30 %",
        "two 20 %: each",
    ];
    markdown(&head, &rows)
}
