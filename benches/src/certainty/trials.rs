//! Simulated runs, judged by the program's own rules.

use std::thread;

use analyse::{Aims, Pairing, Series, compare, settled};
use model::{Comparison, Exposure, Metric, Operation, Verdict};

use super::noise::{Storage, World};

/// The default margin and precision of a run.
pub const AIMS: Aims = Aims { precision: 0.02, margin: 0.03 };

/// Seconds of a simulated repeat: so many that "same" is decided by the spread and not by what cannot have been seen.
const REPEAT_SECONDS: f64 = 10.0;

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

pub(super) fn empty(target: usize) -> Series {
    Series {
        run: 0,
        target: target.to_string(),
        step: "step".into(),
        operation: Operation::Read,
        metric: Metric::Bandwidth,
        is_headline: true,
        values: Vec::new(),
        exposures: Vec::new(),
    }
}

/// One run: rounds in random order, until every target is settled.
pub fn trial(world: World, speeds: &[f64], ending: Ending, seed: u64) -> Trial {
    let mut storage = Storage::new(world, speeds, seed);
    let mut series: Vec<Series> = (0..speeds.len()).map(empty).collect();
    let mut wanted: Vec<usize> = (0..speeds.len()).collect();
    let (most, pairing) = match ending {
        Ending::Fixed(most) => (most, Pairing::ByRound),
        Ending::Auto(most) => (most, Pairing::ByRoundInterim),
    };
    for round in 0..most {
        storage.shuffle(&mut wanted);
        for target in &wanted {
            let value = storage.measure(*target);
            series[*target].values.push((round, value));
            let work = value * REPEAT_SECONDS;
            let exposure = Exposure { round, seconds: REPEAT_SECONDS, work, lost: 0.0, stalls: 0 };
            series[*target].exposures.push(exposure);
        }
        if matches!(ending, Ending::Auto(_)) {
            let done = settled(&series, "0", AIMS);
            wanted.retain(|target| !done.contains(&("step".to_owned(), target.to_string())));
        }
        if wanted.is_empty() {
            break;
        }
    }
    let comparisons = compare(&series, "0", pairing, AIMS.margin);
    let rounds = series.iter().map(|s| s.values.len()).collect();
    Trial { comparisons, rounds, series }
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
