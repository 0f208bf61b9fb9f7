//! How long a run takes until it knows a difference on storage whose noise was recorded from a real disk, and what turns of the
//! targets are worth there.

use model::Plan;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::simulated::{Ended, run, run_in_turns};
use super::spectrum::{Noise, Spectrum};
use super::times::{Storage, cells, head, plans};
use super::trials::trials;
use crate::table::markdown;

/// What `lodestone-benches noise` printed of a disk.
const RECORDED: &str = include_str!("recorded.tsv");
/// Lengths of slices; no shorter noise was recorded.
const SLICES_MS: [f64; 5] = [10.0, 20.0, 50.0, 100.0, 500.0];
/// Measured seconds of each target in them.
const SLICED_SECONDS: f64 = 9.0;

/// One row for each recorded noise, whose it is, and true difference.
pub fn recorded_table(n: u64) -> String {
    let ways = plans().map(|plan| (plan, false));
    markdown(&head(&["noise of", "is of", "difference"]), &rows(&ways, n))
}

/// The same where repeats have the lengths that are chosen, and follow each other or take turns.
pub fn turns_table(n: u64) -> String {
    let [plan, _] = plans();
    let of = |how: &str| ["right", "wrong", "half width", "s"].map(|column| format!("{how}: {column}"));
    let columns = [of("in a row"), of("in turns")].concat();
    let first = ["noise of", "is of", "difference"];
    let head: Vec<&str> = first.into_iter().chain(columns.iter().map(String::as_str)).collect();
    markdown(&head, &rows(&[(plan.clone(), false), (plan, true)], n))
}

fn rows(ways: &[(Plan, bool)], n: u64) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for spectrum in Spectrum::read(RECORDED) {
        for (is_own, whose) in [(false, "the machine"), (true, "each target")] {
            for ratio in [1.0, 1.05, 1.1] {
                let difference = format!("{:.0} %", (ratio - 1.0) * 100.0);
                let mut row = vec![spectrum.name.clone(), whose.to_owned(), difference];
                for (plan, in_turns) in ways {
                    let one = |seed| ended((plan, *in_turns), (&spectrum, is_own), ratio, seed);
                    row.extend(cells(&trials(n, one), ratio));
                }
                rows.push(row);
            }
        }
    }
    rows
}

/// A run on two targets, which may take turns, and whose noise is each one's own, or of the machine and so alike for both.
fn ended(
    (plan, in_turns): (&Plan, bool),
    (spectrum, is_own): (&Spectrum, bool),
    ratio: f64,
    seed: u64,
) -> Ended {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut noises = [0; 2].map(|_| Noise::begin(spectrum, &mut rng));
    let mut storage = Storage::new(ratio, |target: usize, from: f64, to: f64| {
        noises[if is_own { target } else { 0 }].mean(from, to, &mut rng)
    });
    match in_turns {
        false => run(plan, 2, seed, |order| storage.repeat(order)),
        true => run_in_turns(plan, 2, seed, |orders| storage.repeat_in_turns(orders)),
    }
}

/// By how much two equal targets may seem to differ if they take turns of these lengths, for each recorded noise of the machine.
pub fn slices_table(n: u64) -> String {
    let row = |spectrum: &Spectrum| {
        let widest = |slice_ms: f64| {
            let spread = trials(n, |seed| seeming(spectrum, slice_ms / 1e3, seed).powi(2));
            format!("{:.1}", 196.0 * (spread.iter().sum::<f64>() / n as f64).sqrt())
        };
        [vec![spectrum.name.clone()], SLICES_MS.map(widest).to_vec()].concat()
    };
    let lengths = SLICES_MS.map(|ms| format!("{ms} ms"));
    let head: Vec<&str> = ["noise of"].into_iter().chain(lengths.iter().map(String::as_str)).collect();
    markdown(&head, &Spectrum::read(RECORDED).iter().map(row).collect::<Vec<_>>())
}

/// Logarithm of the ratio of two equal targets after slices of this length in turns.
fn seeming(spectrum: &Spectrum, slice: f64, seed: u64) -> f64 {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut noise = Noise::begin(spectrum, &mut rng);
    let (mut work, mut now) = ([0.0; 2], 0.0);
    for _ in 0..(SLICED_SECONDS / slice).round() as usize {
        for work in &mut work {
            *work += noise.mean(now, now + slice, &mut rng).exp();
            now += slice;
        }
    }
    (work[1] / work[0]).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certainty::trials::{claims, share};

    #[test]
    fn recorded_noise_of_the_machine_does_not_make_equal_targets_different() {
        let spectra = Spectrum::read(RECORDED);
        assert_eq!(spectra.len(), 3);
        for spectrum in spectra {
            assert!(spectrum.deviations.len() > 10, "it lasts until seconds: {spectrum:?}");
            for in_turns in [false, true] {
                let one = |seed| ended((&plans()[0], in_turns), (&spectrum, false), 1.0, seed);
                let wrong = share(trials(40, one).iter().flat_map(|ended| &ended.comparisons), claims);
                assert!(wrong <= 0.1, "{}: {wrong} of equal targets are called different", spectrum.name);
            }
        }
    }
}
