//! Simulated runs, judged by the program's own rules.

use std::thread;

use analyse::{Pairing, Series, compare};
use model::{Comparison, Exposure, Plan, Rounds, Verdict};
use schedule::Order;

use super::noise::{Storage, World};
use super::simulated::{AIMS, Ended, Simulated, empty, plan, run};

/// Nanoseconds of a simulated repeat: so many that "same" is decided by the spread and not by what cannot have been seen.
const REPEAT_NS: u64 = 10_000_000_000;

/// The result of one simulated run.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Every target against the first.
    pub comparisons: Vec<Comparison>,
    /// Number of rounds of each target, including the first.
    pub rounds: Vec<usize>,
    /// The values, for other judgements.
    pub series: Vec<Series>,
}

/// When rounds end.
#[derive(Clone, Copy, Debug)]
pub enum Ending {
    /// After this many.
    Fixed(u32),
    /// When everything is decided or precise enough, after this many at most.
    Auto(u32),
}

/// One run on targets of these speeds, until every one is settled.
pub fn trial(world: World, speeds: &[f64], ending: Ending, seed: u64) -> Trial {
    let mut storage = Storage::new(world, speeds, seed);
    let (Ending::Fixed(rounds) | Ending::Auto(rounds)) = ending;
    // A run may exceed its budget by a twentieth.
    let budget_ns = REPEAT_NS * u64::from(rounds) * speeds.len() as u64 * 20 / 21;
    let auto = plan(REPEAT_NS, None, budget_ns);
    let plan = match ending {
        Ending::Fixed(rounds) => Plan { rounds: Rounds::Fixed(rounds), ..auto },
        Ending::Auto(_) => auto,
    };
    let ended = run(&plan, speeds.len(), seed, |order: &Order| {
        let seconds = REPEAT_NS as f64 / 1e9;
        let work = storage.measure(order.lane) * seconds;
        let exposure = Exposure { round: order.round, at: 0.0, seconds, work, lost: 0.0, stalls: 0 };
        Simulated { exposure, rates: Vec::new(), took_ns: REPEAT_NS }
    });
    let Ended { comparisons, series, .. } = ended;
    Trial { comparisons, rounds: series.iter().map(|s| s.values.len()).collect(), series }
}

/// The comparisons of `rounds` repeats of each target, one target after the other.
pub fn in_a_row(world: World, targets: usize, rounds: u32, seed: u64) -> Vec<Comparison> {
    let mut storage = Storage::new(world, &vec![1.0; targets], seed);
    let mut measured = |target: usize| Series {
        values: (0..rounds).map(|round| (round, storage.measure(target))).collect(),
        ..empty(target)
    };
    let series: Vec<Series> = (0..targets).map(&mut measured).collect();
    compare(&series, "0", Pairing::None, AIMS.margin)
}

/// `count` trials, each with its own seed, distributed over the processors.
pub fn trials<T: Send>(count: u64, one: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let workers = thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let one = &one;
    thread::scope(|scope| {
        let shares: Vec<_> = (0..workers)
            .map(|worker| {
                scope.spawn(move || (0..count).filter(|i| i % workers == worker).map(one).collect::<Vec<T>>())
            })
            .collect();
        shares.into_iter().flat_map(|share| share.join().expect("a simulation does not panic")).collect()
    })
}

/// True if it claims a difference.
pub fn claims(comparison: &Comparison) -> bool {
    matches!(comparison.verdict, Verdict::Faster | Verdict::Slower)
}

/// True if the interval contains the true ratio.
pub fn covers(comparison: &Comparison, truth: f64) -> bool {
    comparison.ratio.interval.is_some_and(|(low, high)| low <= truth && truth <= high)
}

/// Share of the items for which `is` holds, from 0 to 1.
pub fn share<'a, T: 'a>(items: impl IntoIterator<Item = &'a T>, is: impl Fn(&T) -> bool) -> f64 {
    let (mut yes, mut all) = (0u32, 0u32);
    for item in items {
        all += 1;
        yes += u32::from(is(item));
    }
    f64::from(yes) / f64::from(all.max(1))
}
