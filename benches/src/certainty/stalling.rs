//! Storage that stalls rarely, simulated operation by operation through rounds of the lengths that a run has.

use analyse::{Loss, Series};
use model::{Comparison, Exposure, Verdict};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use schedule::Order;

use super::noise::{Deviations, Noise};
use super::simulated::{AIMS, Simulated, plan, run};
use super::trials::{share, trials};
use crate::table::markdown;

/// Seconds of an operation between stalls.
const OPERATION: f64 = 0.001;
/// Nanoseconds of all rounds on both targets.
const BUDGET_NS: u64 = 60_000_000_000;
/// Nanoseconds that surround a repeat.
const AROUND_NS: u64 = 5_000_000;
/// Nanoseconds of long repeats, and of the shortest.
const LONG_NS: u64 = 1_000_000_000;
const SHORT_NS: u64 = 100_000_000;

/// When a target pauses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pauses {
    /// Never.
    None,
    /// One operation in the first takes the second in seconds longer, at random.
    Rare(f64, f64),
    /// After the first in seconds of work it does nothing for the second.
    Periodic(f64, f64),
}

impl Pauses {
    /// Seconds of an operation in the long run.
    fn operation(self) -> f64 {
        match self {
            Self::None => OPERATION,
            Self::Rare(every, seconds) => OPERATION + seconds / every,
            Self::Periodic(work, pause) => OPERATION * (1.0 + pause / work),
        }
    }

    /// Share of the time.
    fn share(self) -> f64 {
        1.0 - OPERATION / self.operation()
    }

    fn name(self) -> String {
        let time = |s: f64| if s < 1.0 { format!("{:.0} ms", s * 1e3) } else { format!("{s:.0} s") };
        match self {
            Self::None => "none".into(),
            Self::Rare(every, seconds) => format!("{} in {every:.0}", time(seconds)),
            Self::Periodic(work, pause) => format!("{} after each {}", time(pause), time(work)),
        }
    }
}

/// One target.
struct Target {
    pauses: Pauses,
    rng: Xoshiro256PlusPlus,
    deviations: Deviations,
    /// Seconds of work until the next pause.
    until: f64,
}

impl Target {
    fn new(pauses: Pauses, noise: Noise, seed: u64) -> Self {
        let mut target = Self {
            pauses,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            deviations: Deviations::new(noise),
            until: f64::INFINITY,
        };
        target.until = match pauses {
            // It may be anywhere in its period.
            Pauses::Periodic(work, _) => target.rng.random_range(0.0..work),
            _ => target.next_pause(),
        };
        target
    }

    /// Operations, or seconds of work where pauses are periodic, until the next pause.
    fn next_pause(&mut self) -> f64 {
        match self.pauses {
            Pauses::None => f64::INFINITY,
            Pauses::Rare(every, _) => (-every * (1.0 - self.rng.random_range(0.0..1.0f64)).ln()).ceil(),
            Pauses::Periodic(work, _) => work,
        }
    }

    /// Carries an order out. The operation that runs at its end counts with all its time.
    fn repeat(&mut self, order: &Order, noise: Noise, spread: f64) -> Simulated {
        let length = order.timing.time_ns.unwrap_or(LONG_NS) as f64 / 1e9;
        let interval = order.timing.interval_ns as f64 / 1e9;
        let deviation = self.deviations.next(&mut self.rng).clamp(-15.0, 15.0);
        let each = OPERATION / noise.factor(spread, deviation);
        let (mut operations, mut seconds, mut lost, mut stalls) = (0.0, 0.0, 0.0, 0);
        let mut counts = vec![0.0; (length / interval).round().max(1.0) as usize];
        while seconds < length {
            let left = ((length - seconds) / each).ceil();
            let (until, pause) = match self.pauses {
                Pauses::None => (f64::INFINITY, 0.0),
                Pauses::Rare(_, pause) => (self.until, pause),
                Pauses::Periodic(_, pause) => ((self.until / each).ceil(), pause),
            };
            let done = left.min(until);
            for (i, count) in counts.iter_mut().enumerate() {
                let (begin, end) = (i as f64 * interval, (i + 1) as f64 * interval);
                *count += (end.min(seconds + done * each) - begin.max(seconds)).max(0.0) / each;
            }
            operations += done;
            seconds += done * each;
            self.until -= if matches!(self.pauses, Pauses::Periodic(..)) { done * each } else { done };
            if done == until {
                seconds += pause;
                lost += pause;
                stalls += 1;
                self.until = self.next_pause();
            }
        }
        let exposure = Exposure { round: order.round, at: 0.0, seconds, work: operations, lost, stalls };
        let rates = counts.into_iter().map(|count| count / interval).collect();
        Simulated { exposure, rates, took_ns: (seconds * 1e9) as u64 + AROUND_NS }
    }
}

/// The result of one simulated run.
pub struct Stalling {
    comparison: Comparison,
    /// Seconds until the end.
    seconds: f64,
    /// The verdict of an average of as much time: more than 3 % apart is a difference.
    averaged: Verdict,
    /// The time lost on the second target.
    loss: Loss,
}

/// A run on two targets with these pauses.
pub fn stalling(pauses: [Pauses; 2], noise: Noise, spread: f64, seed: u64) -> Option<Stalling> {
    let mut targets = [0, 1].map(|i| Target::new(pauses[i], noise, seed * 2 + i as u64));
    let plan = plan(LONG_NS, Some(SHORT_NS), BUDGET_NS);
    let mut ended = run(&plan, 2, seed, |order| targets[order.lane].repeat(order, noise, spread));
    let series = &ended.series;
    let total = |s: &Series| {
        s.exposures.iter().map(|e| e.work).sum::<f64>() / s.exposures.iter().map(|e| e.seconds).sum::<f64>()
    };
    let apart = total(&series[1]) / total(&series[0]);
    let averaged = match apart {
        r if r > 1.0 + AIMS.margin => Verdict::Faster,
        r if r < 1.0 / (1.0 + AIMS.margin) => Verdict::Slower,
        _ => Verdict::Same,
    };
    let loss = Loss::of(&series[1].values, &series[1].exposures, series[1].makings);
    let comparison = ended.comparisons.pop()?;
    Some(Stalling { comparison, seconds: ended.seconds, averaged, loss })
}

/// True if a verdict is wrong about the long-run rates: "same" beyond the margin, or a difference that there is not.
fn is_wrong(verdict: Verdict, truth: f64) -> bool {
    match verdict {
        Verdict::Same => truth.ln().abs() > (1.0 + AIMS.margin).ln() + 1e-9,
        Verdict::Faster => truth <= 1.0,
        Verdict::Slower => truth >= 1.0,
        Verdict::Undecided => false,
    }
}

const NOISES: [(Noise, &str); 3] =
    [(Noise::LogNormal, "log-normal"), (Noise::HeavyTailed, "heavy-tailed"), (Noise::TwoMode, "two modes")];
const SPREADS: [f64; 3] = [0.01, 0.05, 0.20];
/// The noise and its spread of the columns that are not of all.
const USUAL: (Noise, f64) = (Noise::LogNormal, 0.05);

/// The pauses of the two targets.
fn cases() -> Vec<[Pauses; 2]> {
    let mut all = vec![[Pauses::None; 2]];
    for seconds in [0.06, 0.5, 2.0] {
        for every in [500.0, 2000.0, 10_000.0] {
            let rare = Pauses::Rare(every, seconds);
            all.extend([[rare; 2], [Pauses::None, rare], [rare, Pauses::Rare(every / 2.0, seconds)]]);
        }
    }
    let bursts = Pauses::Periodic(2.0, 0.3);
    all.extend([[bursts; 2], [Pauses::None, bursts]]);
    all
}

/// One row for each pair of targets: wrong verdicts under each noise and spread, and the rest under the usual ones.
pub fn stalls_table(n: u64) -> String {
    let mut rows = Vec::new();
    for pauses in cases() {
        let truth = pauses[0].operation() / pauses[1].operation();
        let mut row = vec![pauses[0].name(), pauses[1].name(), format!("{truth:.2}")];
        let mut usual = Vec::new();
        for (noise, _) in NOISES {
            let mut wrong = Vec::new();
            for spread in SPREADS {
                let all = trials(n, |seed| stalling(pauses, noise, spread, seed));
                let all: Vec<Stalling> = all.into_iter().flatten().collect();
                wrong.push(percent(share(&all, |r| is_wrong(r.comparison.verdict, truth))));
                if (noise, spread) == USUAL {
                    usual = all;
                }
            }
            row.push(wrong.join(" / "));
        }
        row.extend(of_usual(&usual, pauses[1], truth));
        rows.push(row);
    }
    let mut head = vec!["A", "B", "B ÷ A"];
    head.extend(NOISES.map(|(_, name)| name));
    head.extend([
        "averages",
        "faster",
        "slower",
        "same",
        "same so far",
        "s",
        "share covered",
        "ratio covered",
    ]);
    markdown(&head, &rows)
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

/// What else is known of runs whose second target has these pauses.
fn of_usual(all: &[Stalling], pauses: Pauses, truth: f64) -> Vec<String> {
    let mut row = vec![percent(share(all, |r| is_wrong(r.averaged, truth)))];
    let verdicts = [Verdict::Faster, Verdict::Slower, Verdict::Same];
    row.extend(verdicts.map(|verdict| percent(share(all, |r| r.comparison.verdict == verdict))));
    row.push(percent(share(all, |r| r.comparison.unseen.is_some())));
    let mut seconds: Vec<f64> = all.iter().map(|r| r.seconds).collect();
    seconds.sort_by(f64::total_cmp);
    row.push(seconds.get(seconds.len() / 2).map_or_else(String::new, |s| format!("{s:.0}")));
    let contains = |interval: Option<(f64, f64)>, truth| {
        interval.is_some_and(|(low, high)| low <= truth && truth <= high)
    };
    let seen: Vec<&Stalling> = all.iter().filter(|r| r.loss.count() > 0).collect();
    let lost = share(seen.iter().copied(), |r| contains(r.loss.estimate().interval, pauses.share()));
    row.push(if seen.is_empty() { "–".into() } else { percent(lost) });
    row.push(percent(share(all, |r| contains(r.comparison.ratio.interval, truth))));
    row
}
