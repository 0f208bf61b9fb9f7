//! How long a run takes until it knows a difference on storage whose noise was recorded from a real disk.

use model::Plan;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::simulated::{Ended, run};
use super::spectrum::{Noise, Spectrum};
use super::times::{Storage, cells, head, plans};
use super::trials::trials;
use crate::table::markdown;

/// What `lodestone-benches noise` printed of a disk.
const RECORDED: &str = include_str!("recorded.tsv");

/// One row for each recorded noise, whose it is, and true difference.
pub fn recorded_table(n: u64) -> String {
    let mut rows = Vec::new();
    for spectrum in Spectrum::read(RECORDED) {
        for (is_own, whose) in [(false, "the machine"), (true, "each target")] {
            for ratio in [1.0, 1.05, 1.1] {
                let difference = format!("{:.0} %", (ratio - 1.0) * 100.0);
                let mut row = vec![spectrum.name.clone(), whose.to_owned(), difference];
                for plan in &plans() {
                    let all = trials(n, |seed| ended(plan, &spectrum, is_own, ratio, seed));
                    row.extend(cells(&all, ratio));
                }
                rows.push(row);
            }
        }
    }
    markdown(&head(&["noise of", "is of", "difference"]), &rows)
}

/// A run on two targets whose noise is each one's own, or of the machine and so alike for both.
fn ended(plan: &Plan, spectrum: &Spectrum, is_own: bool, ratio: f64, seed: u64) -> Ended {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut noises = [0; 2].map(|_| Noise::begin(spectrum, &mut rng));
    let mut storage = Storage::new(ratio, |target: usize, from: f64, to: f64| {
        noises[if is_own { target } else { 0 }].mean(from, to, &mut rng)
    });
    run(plan, 2, seed, |order| storage.repeat(order))
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
            let all = trials(40, |seed| ended(&plans()[0], &spectrum, false, 1.0, seed));
            let wrong = share(all.iter().flat_map(|ended| &ended.comparisons), claims);
            assert!(wrong <= 0.1, "{}: {wrong} of equal targets are called different", spectrum.name);
        }
    }
}
