//! How noise is spread over time scales, and noise that is spread like it.
//!
//! The Allan deviation of a time scale is the root of half the mean square difference of successive means over that time.
//! Source: Allan, Statistics of atomic frequency standards, Proc. IEEE 54 (1966). Unlike a standard deviation it is finite
//! for noise that wanders, and it shows at which scale a rate scatters.

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The shortest time scale in seconds; each further one is twice as long.
pub const SHORTEST: f64 = 0.01;
/// A scale with fewer differences than this says nothing.
const FEWEST: usize = 8;
/// Number of noises that are faster than the shortest time scale.
const FASTER: usize = 2;

/// Allan deviations of a rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// Of what.
    pub name: String,
    /// As shares of the mean rate, one for each time scale, the shortest first.
    pub deviations: Vec<f64>,
}

impl Spectrum {
    /// Of the amounts of work in successive intervals of [`SHORTEST`] seconds.
    pub fn of(name: &str, work: &[f64]) -> Self {
        let mean = work.iter().sum::<f64>() / work.len().max(1) as f64;
        let mut means = work.to_vec();
        let mut deviations = Vec::new();
        while means.len() > FEWEST {
            let squares: f64 = means.windows(2).map(|w| (w[1] - w[0]).powi(2)).sum();
            deviations.push((squares / (2 * (means.len() - 1)) as f64).sqrt() / mean);
            means = means.chunks_exact(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
        }
        Self { name: name.to_owned(), deviations }
    }

    /// Those of a text that [`Self::line`] made, a line each; lines that begin with `#` are remarks.
    pub fn read(text: &str) -> Vec<Self> {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let spectrum = |line: &str| {
            let mut fields = line.split('\t');
            let name = fields.next()?.to_owned();
            Some(Self { name, deviations: fields.map(|field| field.parse().ok()).collect::<Option<_>>()? })
        };
        lines.filter_map(spectrum).collect()
    }

    /// Its name and its deviations, with tabs between them.
    pub fn line(&self) -> String {
        let deviations = self.deviations.iter().map(|deviation| format!("\t{deviation:.5}"));
        std::iter::once(self.name.clone()).chain(deviations).collect()
    }

    /// Variances of independent noises whose sum has these deviations; each keeps a value for one of the time scales, or,
    /// the first two, for a quarter and half of the shortest: least squares of the relative errors, without negative variances, by coordinate descent.
    fn parts(&self) -> Vec<f64> {
        const SWEEPS: usize = 2000;
        let aims: Vec<f64> = self.deviations.iter().map(|deviation| deviation.powi(2).max(1e-12)).collect();
        let n = aims.len() + FASTER;
        let share =
            |scale: usize, part: usize| allan(2f64.powi((scale + FASTER) as i32 - part as i32)) / aims[scale];
        let mut parts = vec![0.0; n];
        let mut errors = vec![1.0; aims.len()];
        for part in (0..SWEEPS).flat_map(|_| 0..n) {
            let gain: f64 = (0..aims.len()).map(|scale| share(scale, part) * errors[scale]).sum();
            let norm: f64 = (0..aims.len()).map(|scale| share(scale, part).powi(2)).sum();
            let more = (gain / norm).max(-parts[part]);
            parts[part] += more;
            (0..aims.len()).for_each(|scale| errors[scale] -= more * share(scale, part));
        }
        parts
    }
}

/// The Allan variance of noise of variance 1 that takes a new value at regular times, over so many of these times.
fn allan(windows: f64) -> f64 {
    let of_mean = |r: f64| if r <= 1.0 { 1.0 - r / 3.0 } else { 1.0 / r - 1.0 / (3.0 * r * r) };
    2.0 * (of_mean(windows) - of_mean(2.0 * windows))
}

/// Noise with the deviations of a spectrum, on a time axis of its own.
#[derive(Clone, Debug)]
pub struct Noise(Vec<Part>);

/// Noise that keeps its value for a time.
#[derive(Clone, Debug)]
struct Part {
    seconds: f64,
    deviation: f64,
    /// When it takes a new value, as a share of the time.
    phase: f64,
    /// The number of the last value, and the value.
    last: (i64, f64),
}

impl Noise {
    /// It begins anywhere.
    pub fn begin(spectrum: &Spectrum, rng: &mut Xoshiro256PlusPlus) -> Self {
        let part = |(scale, variance): (usize, f64)| Part {
            seconds: SHORTEST * 2f64.powi(scale as i32 - FASTER as i32),
            deviation: variance.sqrt(),
            phase: rng.random(),
            last: (-1, 0.0),
        };
        Self(
            spectrum
                .parts()
                .into_iter()
                .enumerate()
                .filter(|(_, variance)| *variance > 0.0)
                .map(part)
                .collect(),
        )
    }

    /// Its mean between two times in seconds, which must not go back.
    pub fn mean(&mut self, from: f64, to: f64, rng: &mut Xoshiro256PlusPlus) -> f64 {
        self.0.iter_mut().map(|part| part.mean(from, to, rng)).sum()
    }
}

impl Part {
    fn mean(&mut self, from: f64, to: f64, rng: &mut Xoshiro256PlusPlus) -> f64 {
        let (from, to) = (from / self.seconds + self.phase, to / self.seconds + self.phase);
        let mut sum = 0.0;
        for number in from.floor() as i64..=to.floor() as i64 {
            if number != self.last.0 {
                self.last = (number, {
                    let fresh: f64 = StandardNormal.sample(rng);
                    self.deviation * fresh
                });
            }
            let within = (to.min(number as f64 + 1.0) - from.max(number as f64)).max(0.0);
            sum += within * self.last.1;
        }
        sum / (to - from)
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    fn normal(n: usize) -> Vec<f64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        (0..n).map(|_| StandardNormal.sample(&mut rng)).collect()
    }

    #[test]
    fn white_noise_falls_by_the_root_of_two_from_scale_to_scale() {
        let work: Vec<f64> = normal(1 << 16).into_iter().map(|x| 100.0 + x).collect();
        let spectrum = Spectrum::of("white", &work);
        assert_eq!(spectrum.deviations.len(), 13);
        for (scale, deviation) in spectrum.deviations[..8].iter().enumerate() {
            let expected = 0.01 / 2f64.powf(scale as f64 / 2.0);
            assert!((deviation / expected - 1.0).abs() < 0.1, "{scale}: {deviation} {expected}");
        }
        // Of a rate that rises evenly it grows with the time.
        let ramp: Vec<f64> = (0..1 << 10).map(|i| 1000.0 + f64::from(i)).collect();
        let rising = Spectrum::of("ramp", &ramp).deviations;
        assert!((rising[3] / rising[2] - 2.0).abs() < 1e-9, "{rising:?}");
    }

    #[test]
    fn made_noise_has_the_deviations_that_it_is_made_from() {
        // White, then a plateau, then slow noise on top.
        let deviations = vec![0.20, 0.145, 0.105, 0.08, 0.062, 0.055, 0.052, 0.052, 0.055, 0.060];
        let spectrum = Spectrum { name: "x".into(), deviations };
        // Of one beginning they depend on its phases: their squares are averaged over many.
        const BEGINNINGS: u64 = 40;
        let mut squares = vec![0.0; spectrum.deviations.len()];
        for seed in 0..BEGINNINGS {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut noise = Noise::begin(&spectrum, &mut rng);
            let work: Vec<f64> = (0..1 << 15)
                .map(|i| 1.0 + noise.mean(f64::from(i) * SHORTEST, f64::from(i + 1) * SHORTEST, &mut rng))
                .collect();
            let made = Spectrum::of("x", &work).deviations;
            squares.iter_mut().zip(made).for_each(|(sum, made)| *sum += made * made / BEGINNINGS as f64);
        }
        for (scale, (made, given)) in squares.iter().zip(&spectrum.deviations).enumerate() {
            let made = made.sqrt();
            assert!((made / given - 1.0).abs() < 0.1, "scale {scale}: {made} {given}");
        }
        // The mean over a long time is that of its parts.
        let mut again = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut noise = Noise::begin(&spectrum, &mut again);
        let whole = noise.mean(0.0, 10.24, &mut again);
        assert!(whole.abs() < 0.3, "{whole}");
    }

    #[test]
    fn spectra_survive_their_text() {
        let spectrum = Spectrum { name: "random reads".into(), deviations: vec![0.125, 0.03] };
        let text = format!("# a remark\n{}\n", spectrum.line());
        assert_eq!(Spectrum::read(&text), [spectrum]);
        assert_eq!(Spectrum::read("random reads\tmany\n"), []);
    }
}
