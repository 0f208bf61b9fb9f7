//! Noisy storage: values as a run would measure them, with a known truth.

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal, StudentT};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// How values scatter. Except for stalls, each is scaled to the same standard deviation, and all but the first two are distributions of
/// the values' logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Normal in the values themselves.
    Normal,
    /// Uniform in the values themselves, between two bounds.
    Uniform,
    /// Normal.
    LogNormal,
    /// Student's t with three degrees of freedom: occasionally far off.
    HeavyTailed,
    /// Around one of two modes, the upper one in two of five cases, with a tenth of the spread around each.
    TwoMode,
    /// Log-normal, and one repeat in ten is three times slower besides: the spread is that of the others.
    Stalls,
    /// Normal, each repeat correlated by this much with the one before it on the machine's time axis, whatever its
    /// target.
    Machine(f64),
    /// Normal, each repeat correlated by this much with the one before it on the same target.
    Own(f64),
}

impl Noise {
    /// Its name in tables.
    pub fn name(self) -> String {
        match self {
            Self::Normal => "normal".into(),
            Self::Uniform => "uniform".into(),
            Self::LogNormal => "log-normal".into(),
            Self::HeavyTailed => "heavy-tailed (t, 3 degrees)".into(),
            Self::TwoMode => "two modes".into(),
            Self::Stalls => "stalls (one repeat in ten)".into(),
            Self::Machine(rho) => format!("autocorrelated, of the machine, ρ = {rho}"),
            Self::Own(rho) => format!("autocorrelated, of each target, ρ = {rho}"),
        }
    }

    /// Factor on a value of 1 that is `deviation` standard deviations off at this relative spread.
    pub fn factor(self, spread: f64, deviation: f64) -> f64 {
        match self {
            Self::Stalls if deviation < STALLED / 2.0 => (spread * (deviation - STALLED)).exp() / 3.0,
            // A rate is never below 0; at 20 % spread a normal one would be, once in millions.
            Self::Normal | Self::Uniform => (1.0 + spread * deviation).max(1e-4),
            _ => (spread * deviation).exp(),
        }
    }
}

/// Added to the deviation of a stalled repeat, to tell it from the others.
const STALLED: f64 = -1000.0;

/// Deviations one after the other, of standard deviation 1.
#[derive(Clone, Copy, Debug)]
pub struct Deviations {
    noise: Noise,
    /// The last one, where the next is correlated with it.
    last: Option<f64>,
}

impl Deviations {
    /// None drawn yet.
    pub fn new(noise: Noise) -> Self {
        Self { noise, last: None }
    }

    /// The next one.
    pub fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> f64 {
        match self.noise {
            Noise::Normal | Noise::LogNormal => StandardNormal.sample(rng),
            Noise::Uniform => rng.random_range(-1.0..1.0) * 3f64.sqrt(),
            Noise::Stalls => {
                let usual: f64 = StandardNormal.sample(rng);
                if rng.random_bool(0.1) { usual + STALLED } else { usual }
            }
            Noise::HeavyTailed => {
                let t = StudentT::new(3.0).expect("three degrees of freedom");
                t.sample(rng) / 3f64.sqrt()
            }
            Noise::TwoMode => {
                const UPPER: f64 = 0.4;
                let apart = (0.99 / (UPPER * (1.0 - UPPER))).sqrt();
                let upper = f64::from(u8::from(rng.random_bool(UPPER)));
                let around: f64 = StandardNormal.sample(rng);
                (upper - UPPER) * apart + 0.1 * around
            }
            Noise::Machine(rho) | Noise::Own(rho) => {
                let fresh: f64 = StandardNormal.sample(rng);
                let value = self.last.map_or(fresh, |last| rho * last + (1.0 - rho * rho).sqrt() * fresh);
                self.last = Some(value);
                value
            }
        }
    }
}

/// The simulated storage.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// How values scatter.
    pub noise: Noise,
    /// Relative standard deviation.
    pub spread: f64,
    /// Change of all values from the first to the `horizon`-th repeat, as a logarithm; constant after that.
    pub drift: f64,
    /// See `drift`.
    pub horizon: f64,
}

/// Simulated targets.
pub struct Storage {
    world: World,
    rng: Xoshiro256PlusPlus,
    /// True speeds.
    speeds: Vec<f64>,
    /// One per target and, last, that of the machine.
    deviations: Vec<Deviations>,
    repeats: f64,
}

impl Storage {
    /// Targets of these true speeds.
    pub fn new(world: World, speeds: &[f64], seed: u64) -> Self {
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let deviations = vec![Deviations::new(world.noise); speeds.len() + 1];
        Self { world, rng, speeds: speeds.to_vec(), deviations, repeats: 0.0 }
    }

    /// One repeat on a target.
    pub fn measure(&mut self, target: usize) -> f64 {
        let World { noise, spread, drift, horizon } = self.world;
        let drift = drift * (self.repeats / horizon).min(1.0);
        self.repeats += 1.0;
        let whose = if matches!(noise, Noise::Machine(_)) { self.speeds.len() } else { target };
        let deviation = self.deviations[whose].next(&mut self.rng);
        self.speeds[target] * noise.factor(spread, deviation) * drift.exp()
    }
}
