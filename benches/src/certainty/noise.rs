//! Storage that is never the same twice: values as a run would measure them, with a known truth.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, StandardNormal, StudentT};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// How the logarithms of the values scatter. Each is scaled to the same standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Normally.
    LogNormal,
    /// As Student's t with three degrees of freedom: now and then far off.
    HeavyTailed,
    /// Around one of two modes, the upper one in two of five cases, with a tenth of the spread around each.
    TwoMode,
    /// Normally, each repeat resembling the one before it on the machine's time axis, whatever its target, by this
    /// correlation.
    Machine(f64),
    /// Normally, each repeat resembling the one before it of the same target, by this correlation.
    Own(f64),
}

impl Noise {
    /// What it is called in tables.
    pub fn name(self) -> String {
        match self {
            Self::LogNormal => "log-normal".into(),
            Self::HeavyTailed => "heavy-tailed (t, 3 degrees)".into(),
            Self::TwoMode => "two modes".into(),
            Self::Machine(rho) => format!("autocorrelated, of the machine, ρ = {rho}"),
            Self::Own(rho) => format!("autocorrelated, of each target, ρ = {rho}"),
        }
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// How values scatter.
    pub noise: Noise,
    /// Standard deviation of their logarithms.
    pub spread: f64,
    /// Change of everything from the first to the `horizon`-th repeat, as a logarithm; then it stays.
    pub drift: f64,
    /// See `drift`.
    pub horizon: f64,
}

/// Targets being measured.
pub struct Storage {
    world: World,
    rng: Xoshiro256PlusPlus,
    /// True speeds.
    speeds: Vec<f64>,
    /// The last deviation, of each target and, at the end, of the machine.
    last: Vec<Option<f64>>,
    repeats: f64,
}

impl Storage {
    /// Targets of these true speeds.
    pub fn new(world: World, speeds: &[f64], seed: u64) -> Self {
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self { world, rng, speeds: speeds.to_vec(), last: vec![None; speeds.len() + 1], repeats: 0.0 }
    }

    /// Puts the targets of a round into random order.
    pub fn shuffle(&mut self, targets: &mut [usize]) {
        targets.shuffle(&mut self.rng);
    }

    /// One repeat on a target.
    pub fn measure(&mut self, target: usize) -> f64 {
        let drift = self.world.drift * (self.repeats / self.world.horizon).min(1.0);
        self.repeats += 1.0;
        self.speeds[target] * (self.world.spread * self.deviation(target) + drift).exp()
    }

    /// A deviation with standard deviation 1.
    fn deviation(&mut self, target: usize) -> f64 {
        let normal: f64 = StandardNormal.sample(&mut self.rng);
        match self.world.noise {
            Noise::LogNormal => normal,
            Noise::HeavyTailed => {
                let t = StudentT::new(3.0).expect("three degrees of freedom");
                t.sample(&mut self.rng) / 3f64.sqrt()
            }
            Noise::TwoMode => {
                const UPPER: f64 = 0.4;
                let apart = (0.99 / (UPPER * (1.0 - UPPER))).sqrt();
                let upper = f64::from(u8::from(self.rng.random_bool(UPPER)));
                (upper - UPPER) * apart + 0.1 * normal
            }
            Noise::Machine(rho) => self.resembling(self.speeds.len(), rho, normal),
            Noise::Own(rho) => self.resembling(target, rho, normal),
        }
    }

    fn resembling(&mut self, whom: usize, rho: f64, fresh: f64) -> f64 {
        let value = self.last[whom].map_or(fresh, |last| rho * last + (1.0 - rho * rho).sqrt() * fresh);
        self.last[whom] = Some(value);
        value
    }
}
