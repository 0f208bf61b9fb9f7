//! Diagnostics of the repeats of one measurement, before their mean is trusted.
//!
//! Three diagnostics of the values in the order in which they were measured, on their logarithms, because storage
//! differs by factors: two modes, outliers, and a trend over the run. Each gives the probability that independent,
//! normally distributed repeats look like that by chance. A run has tens of measurements, so a fixed level for each would
//! find something in every second clean run: the probabilities of one diagnostic over all headline measurements are one
//! family for Benjamini and Hochberg's procedure ("Controlling the False Discovery Rate", J. R. Statist. Soc. B 57, 1995)
//! at a third of 5 %. At most one clean run in twenty then reports anything; where many measurements are odd in the same
//! way, as those of a device that heats up, each needs less evidence than under Holm's.
//!
//! Differences below [`RELEVANT`] are never reported, however certain they are.

use model::PortableMath;

mod modes;
mod outliers;
mod trend;

pub use modes::Modes;
pub use trend::Trend;

use outliers::{distances, outlier_p};

/// The chance that any diagnostic of a clean run reports something.
pub const CHANCE: f64 = 0.05;
/// The share of it that each of the three diagnostics has.
const LEVEL: f64 = CHANCE / 3.0;
/// Repeats that differ by less, as a share, are the same for all practical purposes.
pub(crate) const RELEVANT: f64 = 0.03;
/// Tolerance for exact probabilities that equal the level, such as 2/120.
const ROUNDING: f64 = 1e-12;
/// Logarithms this close to each other count as equal: a repeat of a thousand operations has no finer resolution, and
/// repeats that agree to the last digit do not prove infinite precision.
const RESOLUTION: f64 = 0.001;

/// The diagnostics of the repeats of one measurement. Repeats are identified by their index, from 0, in the given order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RepeatDiagnostics {
    /// The repeats fall into two groups with nothing between them: a mean of all describes neither.
    pub modes: Option<Modes>,
    /// Repeats far from all others. Empty where there are two modes.
    pub outliers: Vec<usize>,
    /// The repeats rise or fall over the run. Absent where there are two modes, which are more specific.
    pub trend: Option<Trend>,
}

/// Diagnoses one measurement on its own: `values` in the order of the run, all above 0. Fewer than four values never show
/// anything, nor do values without a logarithm.
pub fn diagnose(values: &[f64]) -> RepeatDiagnostics {
    diagnose_all(&[values]).pop().unwrap_or_default()
}

/// Diagnoses all measurements of a run together: one [`RepeatDiagnostics`] for each, in the same order. The module's doc
/// says how the error rate is kept over all of them.
pub fn diagnose_all(family: &[&[f64]]) -> Vec<RepeatDiagnostics> {
    let logs: Vec<Vec<f64>> = family.iter().map(|values| logarithms(values)).collect();
    let modes = surviving(family.iter().map(|values| modes::candidate(values)).collect(), |m| m.p);
    let has_modes = |i: usize| modes[i].is_some();
    let others: Vec<&[f64]> =
        logs.iter().enumerate().map(|(i, l)| if has_modes(i) { &[][..] } else { l.as_slice() }).collect();
    let outliers = outliers(&others);
    let trends = surviving(others.iter().map(|l| trend::candidate(l)).collect(), |t| t.p);
    modes
        .into_iter()
        .zip(outliers)
        .zip(trends)
        .map(|((modes, outliers), trend)| RepeatDiagnostics { modes, outliers, trend })
        .collect()
}

/// The outliers of each measurement.
fn outliers(logs: &[&[f64]]) -> Vec<Vec<usize>> {
    let per_repeat: Vec<Vec<f64>> = logs
        .iter()
        .map(|logs| distances(logs).into_iter().map(|d| outlier_p(d, logs.len())).collect())
        .collect();
    let least = |ps: &Vec<f64>| ps.iter().copied().reduce(f64::min);
    let threshold = threshold(&per_repeat.iter().filter_map(least).collect::<Vec<_>>(), LEVEL);
    let out = |ps: &Vec<f64>| (0..ps.len()).filter(|i| ps[*i] <= threshold).collect();
    per_repeat.iter().map(out).collect()
}

/// Keeps what survives Benjamini and Hochberg's procedure at [`LEVEL`].
fn surviving<T>(found: Vec<Option<T>>, p: impl Fn(&T) -> f64) -> Vec<Option<T>> {
    let threshold = threshold(&found.iter().flatten().map(&p).collect::<Vec<_>>(), LEVEL);
    found.into_iter().map(|found| found.filter(|f| p(f) <= threshold)).collect()
}

/// The largest probability that Benjamini and Hochberg's procedure rejects at `level`: the largest p(k) with
/// p(k) ≤ level · k / m; below 0 if it rejects none.
pub(crate) fn threshold(ps: &[f64], level: f64) -> f64 {
    let mut sorted = ps.to_vec();
    sorted.sort_by(f64::total_cmp);
    let m = sorted.len() as f64;
    let rejected =
        sorted.iter().enumerate().rev().find(|(i, p)| **p <= level * (i + 1) as f64 / m + ROUNDING);
    rejected.map_or(-1.0, |(_, p)| *p)
}

/// The logarithms, or nothing if one value has none.
fn logarithms(values: &[f64]) -> Vec<f64> {
    let logs: Option<Vec<f64>> =
        values.iter().map(|v| (v.is_finite() && *v > 0.0).then(|| v.portable_ln())).collect();
    logs.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, Normal};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    /// A thousand clean runs of twenty measurements at 5 % spread: a fixed level of 5 % for each would report something in
    /// almost all. docs/method/certainty.md has the rates under other distributions.
    #[test]
    fn at_most_one_clean_run_in_twenty_reports_anything() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let noise = Normal::new(0.0f64, 0.05).unwrap();
        for n in [3, 5, 10] {
            let mut draw =
                || -> Vec<f64> { (0..n).map(|_| 100.0 * noise.sample(&mut rng).portable_exp()).collect() };
            let reporting = (0..1000)
                .filter(|_| {
                    let run: Vec<Vec<f64>> = (0..20).map(|_| draw()).collect();
                    let family: Vec<&[f64]> = run.iter().map(Vec::as_slice).collect();
                    diagnose_all(&family).iter().any(|diagnose| *diagnose != RepeatDiagnostics::default())
                })
                .count();
            assert!(reporting <= 65, "{reporting} of 1000 runs at {n} repeats");
            assert!(
                n == 3 && reporting == 0 || n > 3 && reporting >= 10,
                "{reporting} at {n}: need not be this strict"
            );
        }
    }

    #[test]
    fn the_threshold_follows_benjamini_and_hochberg() {
        let steps = [0.01, 0.02, 0.05, 0.2];
        assert!((threshold(&steps, 0.05) - 0.02).abs() < 1e-12);
        assert!(threshold(&[0.02, 0.3, 0.5, 0.9], 0.05) < 0.0);
        assert!(threshold(&[], 0.05) < 0.0);
        assert!(threshold(&[0.05 / 3.0 + 1e-17], LEVEL) > 0.0);
    }

    #[test]
    fn values_without_a_logarithm_show_nothing() {
        assert_eq!(diagnose(&[0.0, 0.0, 5.0, 5.0, 5.0]), RepeatDiagnostics::default());
        assert_eq!(diagnose(&[f64::NAN, 1.0, 5.0, 5.0, 5.0]), RepeatDiagnostics::default());
        assert_eq!(diagnose(&[]), RepeatDiagnostics::default());
        assert_eq!(diagnose_all(&[]), []);
    }
}
