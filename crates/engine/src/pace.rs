//! Intended start times of operations.

use model::{Pace, PortableMath};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The arrivals of one worker.
pub(crate) enum Arrivals {
    /// A new operation as soon as a slot is free.
    Closed,
    /// Operations arrive independently of completions.
    Open(OpenLoop),
}

/// Arrivals at a rate. Times are floating point nanoseconds from the start, so that fractions of a nanosecond in
/// the gaps do not add up to a wrong rate.
pub(crate) struct OpenLoop {
    start_ns: u64,
    mean_gap_ns: f64,
    next_ns: f64,
    poisson: bool,
}

impl Arrivals {
    /// Arrivals for worker `index` of `workers`, which share the rate, from `start_ns` on.
    pub fn new(pace: Pace, index: u32, workers: u32, start_ns: u64, rng: &mut Xoshiro256PlusPlus) -> Self {
        let (per_second, poisson) = match pace {
            Pace::Closed => return Self::Closed,
            Pace::Fixed { per_second } => (per_second, false),
            Pace::Poisson { per_second } => (per_second, true),
        };
        let mean_gap_ns = 1e9 * f64::from(workers) / per_second;
        // Workers at a fixed rate are staggered instead of starting operations together.
        let next_ns = if poisson {
            exponential(mean_gap_ns, rng)
        } else {
            mean_gap_ns * f64::from(index) / f64::from(workers)
        };
        Self::Open(OpenLoop { start_ns, mean_gap_ns, next_ns, poisson })
    }
}

impl OpenLoop {
    /// The intended start of the next operation.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        self.start_ns + self.next_ns as u64
    }

    /// Advances to the next arrival.
    #[inline]
    pub fn advance(&mut self, rng: &mut Xoshiro256PlusPlus) {
        self.next_ns += if self.poisson { exponential(self.mean_gap_ns, rng) } else { self.mean_gap_ns };
    }

    /// Number of arrivals from now to `until_ns`, which are consumed.
    pub fn drain_until(&mut self, until_ns: u64, rng: &mut Xoshiro256PlusPlus) -> u64 {
        let mut arrivals = 0;
        while self.due_ns() < until_ns {
            arrivals += 1;
            self.advance(rng);
        }
        arrivals
    }
}

/// An exponentially distributed gap, by inversion.
fn exponential(mean: f64, rng: &mut Xoshiro256PlusPlus) -> f64 {
    let u: f64 = rng.random();
    -mean * (1.0 - u).portable_ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    fn arrivals(pace: Pace, index: u32, workers: u32, n: usize) -> Vec<u64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
        let Arrivals::Open(mut open) = Arrivals::new(pace, index, workers, 1_000, &mut rng) else {
            panic!("an open loop was requested");
        };
        (0..n)
            .map(|_| {
                let due = open.due_ns();
                open.advance(&mut rng);
                due
            })
            .collect()
    }

    #[test]
    fn a_fixed_rate_is_evenly_spaced_and_workers_take_turns() {
        let pace = Pace::Fixed { per_second: 1000.0 };
        assert_eq!(arrivals(pace, 0, 1, 3), [1_000, 1_001_000, 2_001_000]);
        assert_eq!(arrivals(pace, 0, 2, 2), [1_000, 2_001_000]);
        assert_eq!(arrivals(pace, 1, 2, 2), [1_001_000, 3_001_000]);
    }

    #[test]
    fn fractions_of_a_nanosecond_do_not_add_up_to_a_wrong_rate() {
        let times = arrivals(Pace::Fixed { per_second: 3e8 }, 0, 1, 3_000_001);
        assert!((times[3_000_000] - times[0]).abs_diff(10_000_000) <= 1);
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_an_exponential() {
        let times = arrivals(Pace::Poisson { per_second: 1000.0 }, 0, 1, 100_001);
        let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "mean {mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "deviation {}", variance.sqrt());
    }

    #[test]
    fn unserved_arrivals_are_counted() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
        let pace = Pace::Fixed { per_second: 1000.0 };
        let Arrivals::Open(mut open) = Arrivals::new(pace, 0, 1, 0, &mut rng) else { panic!() };
        open.advance(&mut rng);
        assert_eq!(open.drain_until(10_000_000, &mut rng), 9);
        assert_eq!(open.drain_until(10_000_000, &mut rng), 0);
    }
}
