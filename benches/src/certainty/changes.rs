//! Change points of histories with a known truth: false alarms, how soon a change is found, and how rivals do.

use analyse::{Course, Point, course};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::noise::{Deviations, Noise};
use super::trials::{share, trials};
use crate::table::markdown;

/// The spread of runs.
const SPREAD: f64 = 0.03;
/// Runs before a change.
const BEFORE: usize = 40;
/// Runs after it, at most.
const AFTER: usize = 30;

/// How runs scatter.
#[derive(Clone, Copy)]
enum Scatter {
    Of(Noise),
    /// One run in twenty is 30 % slower.
    Spikes,
    /// All runs together rise by this much.
    Drift(f64),
}

impl Scatter {
    fn name(self) -> String {
        match self {
            Self::Of(Noise::LogNormal) => "independent".to_owned(),
            Self::Of(noise) => noise.name().replace(", of each target", ""),
            Self::Spikes => "outliers: one run in twenty 30 % slower".to_owned(),
            Self::Drift(rise) => format!("independent, around a rise by {:.0} %", rise * 100.0),
        }
    }

    /// Logarithms of the figures of `n` runs.
    fn draw(self, n: usize, rng: &mut Xoshiro256PlusPlus) -> Vec<f64> {
        let noise = if let Self::Of(noise) = self { noise } else { Noise::LogNormal };
        let mut deviations = Deviations::new(noise);
        let mut one = |i: usize| {
            let usual = SPREAD * deviations.next(rng);
            match self {
                Self::Of(_) => usual,
                Self::Spikes if rng.random_bool(0.05) => usual + 0.7f64.ln(),
                Self::Spikes => usual,
                Self::Drift(rise) => usual + rise * i as f64 / n as f64,
            }
        };
        (0..n).map(&mut one).collect()
    }
}

const SCATTERS: [Scatter; 8] = [
    Scatter::Of(Noise::LogNormal),
    Scatter::Of(Noise::HeavyTailed),
    Scatter::Spikes,
    Scatter::Of(Noise::TwoMode),
    Scatter::Of(Noise::Own(0.3)),
    Scatter::Of(Noise::Own(0.5)),
    Scatter::Of(Noise::Own(0.8)),
    Scatter::Drift(0.2),
];

/// How changes are found: places, oldest first.
type Method = fn(&[f64]) -> Vec<usize>;

fn ours_with(logs: &[f64]) -> Course {
    let point = |log: &f64| Point { log: *log, error: 0.0 };
    course(&logs.iter().map(point).collect::<Vec<_>>())
}

fn ours(logs: &[f64]) -> Vec<usize> {
    ours_with(logs).changes.into_iter().filter(|change| change.is_confirmed).map(|change| change.at).collect()
}

/// Means on both sides of a split and the squares around them.
fn squares(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// Binary segmentation by the largest t, kept at p ≤ 0.001 as apache-otava keeps its change points.
fn by_t(logs: &[f64]) -> Vec<usize> {
    /// The quantile of Student's t at 0.0005 for so many degrees of freedom, or more.
    const CRITICAL: [(usize, f64); 6] =
        [(3, 12.92), (6, 5.96), (10, 4.59), (20, 3.85), (40, 3.55), (80, 3.42)];
    fn search(logs: &[f64], start: usize, found: &mut Vec<usize>) {
        let n = logs.len();
        if n < 5 {
            return;
        }
        let whole = squares(logs);
        let rest = |at: usize| squares(&logs[..at]) + squares(&logs[at..]);
        let of = |at: usize| (rest(at), at);
        let Some((rest, at)) = (2..=n - 2).map(of).min_by(|a, b| a.0.total_cmp(&b.0)) else { return };
        let free = n - 2;
        let t = ((whole - rest) / (rest / free as f64)).sqrt();
        let critical = CRITICAL.iter().rev().find(|(least, _)| free >= *least).map_or(f64::INFINITY, |c| c.1);
        if t > critical {
            found.push(start + at);
            search(&logs[..at], start, found);
            search(&logs[at..], start + at, found);
        }
    }
    let mut found = Vec::new();
    search(logs, 0, &mut found);
    found.sort_unstable();
    found
}

/// The best partition at a penalty of 2 ln n for each change (Killick, Fearnhead and Eckley 2012, "PELT", without its shortcut), with
/// the variance from first differences.
fn by_penalty(logs: &[f64]) -> Vec<usize> {
    let n = logs.len();
    let steps: f64 = logs.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    let variance = (steps / (n - 1) as f64 / 2.0).max(1e-12);
    let penalty = 2.0 * (n as f64).ln() * variance;
    let mut best = vec![(-penalty, 0)];
    for end in 1..=n {
        let of = |start: usize| (best[start].0 + squares(&logs[start..end]) + penalty, start);
        best.push((0..end).map(of).min_by(|a, b| a.0.total_cmp(&b.0)).expect("there is a start"));
    }
    let (mut at, mut found) = (n, Vec::new());
    while best[at].1 > 0 {
        at = best[at].1;
        found.push(at);
    }
    found.reverse();
    found
}

const METHODS: [Method; 3] = [ours, by_t, by_penalty];

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

/// False alarms of each method.
pub fn changes_table(n: u64) -> String {
    let row = |scatter: Scatter| {
        let mut cells = vec![scatter.name()];
        for (runs, methods) in [(60, &METHODS[..]), (20, &METHODS[..1]), (200, &METHODS[..1])] {
            for method in methods {
                let all = trials(n, |seed| {
                    !method(&scatter.draw(runs, &mut Xoshiro256PlusPlus::seed_from_u64(seed))).is_empty()
                });
                cells.push(percent(share(&all, |found| *found)));
            }
        }
        let suspected = trials(n, |seed| {
            let logs = scatter.draw(60, &mut Xoshiro256PlusPlus::seed_from_u64(seed));
            ours_with(&logs).changes.iter().any(|change| !change.is_confirmed)
        });
        cells.push(percent(share(&suspected, |found| *found)));
        cells
    };
    let rows: Vec<Vec<String>> = SCATTERS.into_iter().map(row).collect();
    let head = [
        "noise",
        "60 runs",
        "60 runs, t tests",
        "60 runs, penalty",
        "20 runs",
        "200 runs",
        "60 runs, suspected",
    ];
    markdown(&head, &rows)
}

/// Runs after a step until it is found, and is not found elsewhere; one more than there are where it is not.
fn delay(method: Method, logs: &[f64]) -> usize {
    let is_found = |after: &usize| method(&logs[..BEFORE + after]).iter().any(|at| at.abs_diff(BEFORE) <= 3);
    (1..=AFTER).find(is_found).unwrap_or(AFTER + 1)
}

/// How soon a fall is found.
pub fn delays_table(n: u64) -> String {
    let row = |scatter: Scatter, fall: f64| {
        let mut cells = vec![scatter.name(), format!("{:.0} %", fall * 100.0)];
        for method in METHODS {
            let mut all = trials(n, |seed| {
                let mut logs = scatter.draw(BEFORE + AFTER, &mut Xoshiro256PlusPlus::seed_from_u64(seed));
                logs[BEFORE..].iter_mut().for_each(|log| *log += (1.0 - fall).ln());
                delay(method, &logs)
            });
            all.sort_unstable();
            let shown = |place: usize| {
                let runs = all[place.min(all.len() - 1)];
                if runs > AFTER { "–".to_owned() } else { runs.to_string() }
            };
            cells.push(format!("{} / {}", shown(all.len() / 2), shown(all.len() * 9 / 10)));
        }
        let whole = trials(n, |seed| {
            let mut logs = scatter.draw(BEFORE + AFTER, &mut Xoshiro256PlusPlus::seed_from_u64(seed));
            logs[BEFORE..].iter_mut().for_each(|log| *log += (1.0 - fall).ln());
            ours_with(&logs)
        });
        let is_right = |c: &Course| matches!(&c.changes[..], [one] if one.at.abs_diff(BEFORE) <= 3);
        let covers = |c: &Course| {
            c.changes[0].ratio.interval.is_some_and(|(low, high)| low <= 1.0 - fall && 1.0 - fall <= high)
        };
        let right: Vec<&Course> = whole.iter().filter(|c| is_right(c)).collect();
        cells.push(percent(right.len() as f64 / whole.len() as f64));
        let covered = right.iter().filter(|c| covers(c)).count() as f64 / right.len().max(1) as f64;
        cells.push(percent(covered));
        cells
    };
    let falls = [0.03, 0.05, 0.10, 0.20];
    let rows: Vec<Vec<String>> =
        SCATTERS[..6].iter().flat_map(|scatter| falls.map(|fall| row(*scatter, fall))).collect();
    let head = ["noise", "fall", "ours", "t tests", "penalty", "one change, at its run", "covered"];
    markdown(&head, &rows)
}
