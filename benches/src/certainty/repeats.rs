//! How often the repeat diagnostics report an effect where there is none, and where there is one.
//!
//! Each figure is a share of simulated measurements or runs. The seed is fixed, so that the tables of
//! docs/method/certainty.md can be reproduced.

use analyse::{
    HoursVerdict, RepeatDiagnostics, Work, by_hour, common_cliff, diagnose, diagnose_all, steady_state,
    transient,
};
use clap::Args;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::noise::{Deviations, Noise};
use crate::table::markdown;

/// Arguments of `repeats`.
#[derive(Args)]
pub struct RepeatsArgs {
    /// Simulated measurements behind each figure
    #[arg(long, default_value_t = 4_000)]
    draws: usize,
    /// Print the limits of the outlier test (crates/analyse/src/repeats/outliers.rs) instead; takes minutes
    #[arg(long)]
    limits: bool,
}

/// The tables, in Markdown.
pub fn repeats(args: &RepeatsArgs) -> String {
    if args.limits {
        return outlier_limits(args.draws.max(1_000_000));
    }
    let draws = args.draws;
    let caption = |table: &str| match table {
        "false-alarms" => format!(
            "One measurement without any effect: % of {draws} in which two modes / outliers / a trend are found \
             (in brackets: not steady by SNIA's rule)"
        ),
        "clean-runs" => format!(
            "A run of ten steps on two targets without any effect: % of {} in which anything is found",
            draws / 5
        ),
        "power" => format!(
            "Power: % of {} in which an effect is found, on its own / as the only one of twenty measurements / as one of \
             ten with it of twenty",
            draws / 2
        ),
        "mode-tests" => format!(
            "Comparison of tests for two modes, all at {:.2} % on normal repeats: % of {} found, 16k and 25k \
             at 2 % spread / at 5 % / 40 % apart at 5 %",
            MODES_LEVEL * 100.0,
            draws / 2
        ),
        "transients" => format!(
            "A start-up transient in repeats with 10 % spread between intervals, 5 % between repeats: % of {draws} found (in \
             brackets: with the right length), by the number of repeats"
        ),
        "cliffs" => format!(
            "Cliffs reported at 5 % where there is none, intervals of half a second, % of {}, of one repeat / of three",
            draws / 4
        ),
        "falls" => format!("A fall by half after 7.5 of 20 s, in one repeat: % of {} reported", draws / 4),
        _ => format!(
            "Runs of one step by hour of the day, days spread by 10 %, runs within a day by 3 %: % of {} in which the \
             hours are reported to differ",
            draws / 10
        ),
    };
    let mut text = fixed_limit(draws);
    for name in TABLES {
        text.push_str(&format!("\n{}\n\n{}", caption(name), table(name, draws, &SPREADS)));
    }
    text
}

/// The names of all tables.
pub(super) const TABLES: [&str; 8] =
    ["false-alarms", "clean-runs", "power", "mode-tests", "transients", "hours", "cliffs", "falls"];

/// One of [`TABLES`]; diagnostics without an effect at these spreads.
pub(super) fn table(name: &str, draws: usize, spreads: &[f64]) -> String {
    match name {
        "false-alarms" => false_alarms(draws, spreads),
        "clean-runs" => clean_runs(draws / 5, spreads),
        "power" => power(draws / 2),
        "mode-tests" => rivals(draws / 2),
        "transients" => transients(draws),
        "hours" => hours(draws / 10),
        "cliffs" => cliffs(draws / 4),
        _ => falls(draws / 4),
    }
}

const SEED: u64 = 20_26;
const COUNTS: [usize; 4] = [3, 5, 10, 30];
const SPREADS: [f64; 3] = [0.01, 0.05, 0.20];
/// Level of the tests for two modes that are compared.
const MODES_LEVEL: f64 = analyse::CHANCE / 3.0;
/// Headline measurements of a run: ten steps on two targets.
const FAMILY: usize = 20;

const NOISES: [Noise; 5] =
    [Noise::Normal, Noise::LogNormal, Noise::Uniform, Noise::HeavyTailed, Noise::Own(0.5)];

/// `n` repeats around 100 with this relative spread.
fn draw(noise: Noise, n: usize, spread: f64, rng: &mut Xoshiro256PlusPlus) -> Vec<f64> {
    let mut deviations = Deviations::new(noise);
    (0..n).map(|_| 100.0 * noise.factor(spread, deviations.next(rng))).collect()
}

fn generator(stream: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(SEED + stream)
}

fn percent(count: usize, of: usize) -> String {
    let share = 100.0 * count as f64 / of as f64;
    if share >= 10.0 { format!("{share:.0}") } else { format!("{share:.1}") }
}

/// Number of diagnostics that report modes, outliers, trends.
#[derive(Default)]
struct Reported([usize; 3]);

impl Reported {
    fn record(&mut self, diagnose: &RepeatDiagnostics) {
        let found = [diagnose.modes.is_some(), !diagnose.outliers.is_empty(), diagnose.trend.is_some()];
        self.0.iter_mut().zip(found).for_each(|(count, found)| *count += usize::from(found));
    }

    fn shown(&self, of: usize) -> String {
        self.0.map(|count| percent(count, of)).join(" / ")
    }
}

fn head(first: &[&'static str]) -> Vec<&'static str> {
    first.iter().copied().chain(["n = 3", "5", "10", "30"]).collect()
}

fn false_alarms(draws: usize, spreads: &[f64]) -> String {
    let mut rows = Vec::new();
    for noise in NOISES {
        for &spread in spreads {
            let mut row = vec![noise.name(), format!("{:.0} %", spread * 100.0)];
            for n in COUNTS {
                let mut rng = generator(n as u64);
                let mut reported = Reported::default();
                let mut unsteady = 0;
                for _ in 0..draws {
                    let values = draw(noise, n, spread, &mut rng);
                    reported.record(&diagnose(&values));
                    unsteady += usize::from(n >= 5 && !steady_state(&values).steady_at_end);
                }
                row.push(format!("{} ({})", reported.shown(draws), percent(unsteady, draws)));
            }
            rows.push(row);
        }
    }
    markdown(&head(&["noise", "spread"]), &rows)
}

fn clean_runs(runs: usize, spreads: &[f64]) -> String {
    let mut rows = Vec::new();
    for noise in NOISES {
        for &spread in spreads {
            let mut row = vec![noise.name(), format!("{:.0} %", spread * 100.0)];
            for n in COUNTS {
                let mut rng = generator(n as u64);
                let mut any = 0;
                for _ in 0..runs {
                    let values: Vec<Vec<f64>> =
                        (0..FAMILY).map(|_| draw(noise, n, spread, &mut rng)).collect();
                    let family: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
                    any +=
                        usize::from(diagnose_all(&family).iter().any(|l| *l != RepeatDiagnostics::default()));
                }
                row.push(percent(any, runs));
            }
            rows.push(row);
        }
    }
    markdown(&head(&["noise", "spread"]), &rows)
}

/// An effect in normal repeats.
struct Effect {
    name: &'static str,
    spread: f64,
    /// The factor on the repeat at this index of n.
    factor: fn(usize, usize) -> f64,
    is_found: fn(&RepeatDiagnostics) -> bool,
}

fn two_in_five_low(i: usize, _: usize) -> f64 {
    if i % 5 < 2 { 0.64 } else { 1.0 }
}

fn rising(i: usize, n: usize) -> f64 {
    1.0 + 0.2 * i as f64 / (n - 1) as f64
}

const EFFECTS: [Effect; 7] = [
    Effect {
        name: "two modes 16k and 25k, 2 in 5 low, spread 1 %",
        spread: 0.01,
        factor: two_in_five_low,
        is_found: |l| l.modes.is_some(),
    },
    Effect {
        name: "the same, spread 2 %",
        spread: 0.02,
        factor: two_in_five_low,
        is_found: |l| l.modes.is_some(),
    },
    Effect {
        name: "the same, spread 5 %",
        spread: 0.05,
        factor: two_in_five_low,
        is_found: |l| l.modes.is_some(),
    },
    Effect {
        name: "two modes 40 % apart, every second low, spread 5 %",
        spread: 0.05,
        factor: |i, _| if i.is_multiple_of(2) { 1.0 } else { 1.4 },
        is_found: |l| l.modes.is_some(),
    },
    Effect {
        name: "one repeat 10 spreads low, spread 5 %",
        spread: 0.05,
        factor: |i, n| if i == n / 2 { 0.5 } else { 1.0 },
        is_found: |l| !l.outliers.is_empty(),
    },
    Effect {
        name: "rise by 20 % over the run, spread 5 %",
        spread: 0.05,
        factor: rising,
        is_found: |l| l.trend.is_some(),
    },
    Effect { name: "the same, spread 1 %", spread: 0.01, factor: rising, is_found: |l| l.trend.is_some() },
];

impl Effect {
    fn values(&self, n: usize, rng: &mut Xoshiro256PlusPlus) -> Vec<f64> {
        let noise = draw(Noise::LogNormal, n, self.spread, rng);
        noise.into_iter().enumerate().map(|(i, v)| v * (self.factor)(i, n)).collect()
    }
}

/// Power for an effect alone, in one of twenty measurements, and in half of twenty.
fn power(draws: usize) -> String {
    let mut rows = Vec::new();
    for effect in &EFFECTS {
        let mut row = vec![effect.name.to_owned()];
        for n in COUNTS {
            let mut rng = generator(n as u64);
            let found = [1, FAMILY, FAMILY].iter().zip([1, 1, FAMILY / 2]).map(|(of, affected)| {
                let hits: usize = (0..draws)
                    .map(|_| {
                        let values: Vec<Vec<f64>> = (0..*of)
                            .map(|i| match i < affected {
                                true => effect.values(n, &mut rng),
                                false => draw(Noise::LogNormal, n, effect.spread, &mut rng),
                            })
                            .collect();
                        let family: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
                        usize::from((effect.is_found)(&diagnose_all(&family)[0]))
                    })
                    .sum();
                percent(hits, draws)
            });
            row.push(found.collect::<Vec<_>>().join(" / "));
        }
        rows.push(row);
    }
    markdown(&head(&["effect"]), &rows)
}

/// Two other tests for two modes at the same level, with limits from the same number of normal draws.
fn rivals(draws: usize) -> String {
    type Statistic = fn(&[f64]) -> f64;
    let statistics: [(&str, Statistic); 2] = [("largest gap ÷ range", largest_gap), ("Hartigan's dip", dip)];
    let mut rows = Vec::new();
    let mut used = vec!["within ÷ total variance (used)".to_owned()];
    for n in COUNTS {
        let hits = |index: usize| {
            let mut rng = generator(n as u64);
            (0..draws).filter(|_| diagnose(&EFFECTS[index].values(n, &mut rng)).modes.is_some()).count()
        };
        used.push([1, 2, 3].map(|i| percent(hits(i), draws)).join(" / "));
    }
    rows.push(used);
    for (name, statistic) in statistics {
        let mut row = vec![name.to_owned()];
        for n in COUNTS {
            let of = |values: Vec<f64>| {
                let mut logs: Vec<f64> = values.into_iter().map(f64::ln).collect();
                logs.sort_by(f64::total_cmp);
                statistic(&logs)
            };
            let mut rng = generator(1000 + n as u64);
            let mut null: Vec<f64> =
                (0..draws).map(|_| of(draw(Noise::LogNormal, n, 0.05, &mut rng))).collect();
            null.sort_by(f64::total_cmp);
            let limit = null[((1.0 - MODES_LEVEL) * draws as f64) as usize];
            let mut hits =
                |index: usize| (0..draws).filter(|_| of(EFFECTS[index].values(n, &mut rng)) > limit).count();
            row.push([1, 2, 3].map(|i| percent(hits(i), draws)).join(" / "));
        }
        rows.push(row);
    }
    markdown(&head(&["test"]), &rows)
}

/// The largest gap in sorted values with two values on either side, as a share of the range.
fn largest_gap(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    let gaps = (2..n.saturating_sub(1)).map(|i| sorted[i] - sorted[i - 1]);
    gaps.fold(0.0, f64::max) / (sorted[n - 1] - sorted[0])
}

/// The dip of sorted values: the least distance of their distribution function from a unimodal one, which
/// is convex up to its mode and concave from there on (Hartigan and Hartigan, "The Dip Test of
/// Unimodality", Ann. Statist. 13, 1985). Left and right of a mode the distances do not depend on each other.
fn dip(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    let left = side_errors(sorted);
    let mirrored: Vec<f64> = sorted.iter().rev().map(|v| -v).collect();
    let right = side_errors(&mirrored);
    // The mode between the values i and i + 1: the values up to i left of it, the others right.
    (0..n).map(|i| left[i].max(right[n - 1 - i])).fold(f64::INFINITY, f64::min) / 2.0
}

/// For each prefix of the values, twice the distance of its steps from the nearest convex function.
fn side_errors(sorted: &[f64]) -> Vec<f64> {
    let n = sorted.len() as f64;
    let mut errors = Vec::with_capacity(sorted.len());
    for last in 0..sorted.len() {
        let mut worst = 1.0 / n;
        // A convex function at most d from the steps is at most d above a step's lower corner and so below
        // the chord of two such corners, lifted by d; between, it is at least the upper corner less d.
        for i in 0..last {
            for j in i + 1..=last {
                let slope = (j - i) as f64 / n / (sorted[j] - sorted[i]).max(f64::MIN_POSITIVE);
                for k in i + 1..j {
                    let chord = i as f64 / n + slope * (sorted[k] - sorted[i]);
                    worst = f64::max(worst, (k + 1) as f64 / n - chord);
                }
            }
        }
        errors.push(worst);
    }
    errors
}

/// Repeats of twenty intervals whose rates spread by 10 % from one to the next and by 5 % from repeat to
/// repeat; in the first `start` intervals they are `factor` times as high.
fn series(
    repeats: usize,
    intervals: usize,
    noise: Noise,
    start: usize,
    factor: f64,
    rng: &mut Xoshiro256PlusPlus,
) -> Vec<Vec<Work>> {
    let level = draw(Noise::LogNormal, repeats, 0.05, rng);
    let row = |level: f64, rng: &mut Xoshiro256PlusPlus| {
        let amounts = draw(noise, intervals, 0.1, rng).into_iter().enumerate();
        amounts
            .map(|(i, v)| Work {
                seconds: 0.5,
                amount: v * level / 100.0 * if i < start { factor } else { 1.0 },
            })
            .collect()
    };
    level.into_iter().map(|level| row(level, rng)).collect()
}

fn transients(draws: usize) -> String {
    let mut rows = Vec::new();
    let cases: [(&str, usize, Noise, usize, f64); 7] = [
        ("nothing, white", 20, Noise::LogNormal, 0, 1.0),
        ("nothing, AR(1), ρ = 0.5", 20, Noise::Own(0.5), 0, 1.0),
        ("nothing, t with 3 degrees", 20, Noise::HeavyTailed, 0, 1.0),
        ("nothing, white, 5 intervals", 5, Noise::LogNormal, 0, 1.0),
        ("first 2 of 20 30 % slower, AR(1)", 20, Noise::Own(0.5), 2, 0.7),
        ("first 4 of 20 50 % faster, AR(1)", 20, Noise::Own(0.5), 4, 1.5),
        ("first of 5 30 % slower, white", 5, Noise::LogNormal, 1, 0.7),
    ];
    for (name, intervals, noise, start, factor) in cases {
        let mut row = vec![name.to_owned()];
        for n in COUNTS {
            let mut rng = generator(n as u64);
            let least = |p: f64| analyse::TRANSIENT_CHANCE >= p;
            let found: Vec<usize> = (0..draws)
                .filter_map(|_| transient(&series(n, intervals, noise, start, factor, &mut rng)))
                .filter(|t| least(t.p))
                .map(|t| t.intervals)
                .collect();
            let right = found.iter().filter(|length| **length == start).count();
            row.push(if start == 0 {
                percent(found.len(), draws)
            } else {
                format!("{} ({})", percent(found.len(), draws), percent(right, draws))
            });
        }
        rows.push(row);
    }
    markdown(&head(&["effect"]), &rows)
}

/// How often a cliff is found in intervals of half a second with these rates.
fn cliffs_found(noise: Noise, spread: f64, rates: &[f64], repeats: usize, most: f64, draws: usize) -> String {
    let mut rng = generator((rates.len() * repeats) as u64);
    let mut has_one = || {
        let repeats: Vec<Vec<Work>> = (0..repeats)
            .map(|_| {
                let drawn = draw(noise, rates.len(), spread, &mut rng);
                drawn.iter().zip(rates).map(|(v, rate)| Work { seconds: 0.5, amount: v * rate }).collect()
            })
            .collect();
        common_cliff(&repeats).is_some_and(|(cliff, _)| cliff.p <= most)
    };
    percent((0..draws).filter(|_| has_one()).count(), draws)
}

/// How often a cliff is reported where there is none.
fn cliffs(draws: usize) -> String {
    const COUNTS: [usize; 3] = [12, 20, 60];
    let cases: [(&str, Noise, f64); 4] = [
        ("log-normal, 30 %", Noise::LogNormal, 0.3),
        ("t with 3 degrees, 30 %", Noise::HeavyTailed, 0.3),
        ("AR(1), ρ = 0.5, 30 %", Noise::Own(0.5), 0.3),
        ("AR(1), ρ = 0.8, 50 %", Noise::Own(0.8), 0.5),
    ];
    let row = |(name, noise, spread): (&str, Noise, f64)| {
        let of = |n: usize| {
            [1, 3].map(|repeats| cliffs_found(noise, spread, &vec![1.0; n], repeats, 0.05, draws)).join(" / ")
        };
        [vec![name.to_owned()], COUNTS.map(of).to_vec()].concat()
    };
    markdown(&["noise", "12 intervals", "20", "60"], &cases.map(row))
}

/// How often a cliff is reported where the rate falls by half.
fn falls(draws: usize) -> String {
    /// Intervals before and after the fall.
    const FALL: (usize, usize) = (15, 25);
    let rates = [vec![1.0; FALL.0], vec![0.5; FALL.1]].concat();
    let found = |most: f64| cliffs_found(Noise::Own(0.3), 0.1, &rates, 1, most, draws);
    let row = ["AR(1), ρ = 0.3, 10 %".to_owned(), found(0.05), found(0.01)];
    markdown(&["noise", "reported at 5 %", "at 1 %"], &[row.to_vec()])
}

/// Runs at hours of the day: how often hours are reported to differ.
fn hours(draws: usize) -> String {
    /// The effect, the hours of each day in turn, the speed in the evening.
    type Case = (&'static str, &'static [&'static [u8]], f64);
    let cases: [Case; 6] = [
        ("equal hours, 8 and 20 h each day", &[&[8, 20]], 1.0),
        ("equal hours, 3, 9, 15 and 21 h each day", &[&[3, 9, 15, 21]], 1.0),
        ("equal hours, one each day: 8, 20, 8, …", &[&[8], &[20]], 1.0),
        ("20 h 10 % slower, 8 and 20 h each day", &[&[8, 20]], 0.9),
        ("21 h 10 % slower, 3, 9, 15 and 21 h each day", &[&[3, 9, 15, 21]], 0.9),
        ("20 h 10 % slower, one each day", &[&[8], &[20]], 0.9),
    ];
    const DAYS: [usize; 4] = [3, 5, 8, 20];
    let mut rows = Vec::new();
    for (name, pattern, evening) in cases {
        let mut row = vec![name.to_owned()];
        for days in DAYS {
            let mut rng = generator(days as u64);
            let mut differs = || {
                let levels = draw(Noise::LogNormal, days, 0.10, &mut rng);
                let mut runs = Vec::new();
                for (day, level) in levels.into_iter().enumerate() {
                    for hour in pattern[day % pattern.len()] {
                        let speed = if *hour >= 20 { evening } else { 1.0 };
                        let noise = draw(Noise::LogNormal, 1, 0.03, &mut rng)[0] / 100.0;
                        runs.push((*hour, day as i64, level * speed * noise));
                    }
                }
                by_hour(&runs).verdict == HoursVerdict::Differ
            };
            row.push(percent((0..draws).filter(|_| differs()).count(), draws));
        }
        rows.push(row);
    }
    markdown(&["effect", "3 days", "5", "8", "20"], &rows)
}

/// The limits of the modified z-score, in the format of the table in the code.
fn outlier_limits(draws: usize) -> String {
    let mut out = String::new();
    for n in (5..=30).chain([40, 60, 100]) {
        let mut rng = generator(n as u64);
        let mut farthest: Vec<f64> = (0..draws).map(|_| farthest(n, &mut rng)).collect();
        farthest.sort_by(f64::total_cmp);
        let at = |level: f64| farthest[((1.0 - level) * draws as f64) as usize];
        let [a, b, c, d] = [0.05, 0.01, 0.001, 0.0001].map(at);
        out.push_str(&format!("    ({n}, [{a:.2}, {b:.2}, {c:.2}, {d:.2}]),\n"));
    }
    out
}

/// The largest modified z-score of `n` normal values.
fn farthest(n: usize, rng: &mut Xoshiro256PlusPlus) -> f64 {
    let mut values = draw(Noise::Normal, n, 1.0 / 100.0, rng);
    let centre = median(&mut values);
    values.iter_mut().for_each(|v| *v = (*v - centre).abs());
    let deviation = median(&mut values);
    0.6745 * values[n - 1] / deviation
}

/// How often a limit of 3.5, whatever the number of values, finds an outlier in normal values.
fn fixed_limit(draws: usize) -> String {
    let rate = |n: usize| {
        let mut rng = generator(n as u64);
        let over = (0..draws).filter(|_| farthest(n, &mut rng) > 3.5).count();
        format!("{} % at n = {n}", percent(over, draws))
    };
    format!(
        "A fixed limit of 3.5 for the modified z-score would find an outlier in normal repeats in {}.\n",
        COUNTS.map(rate).join(", ")
    )
}

/// Sorts the values and returns their median.
fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len();
    f64::midpoint(values[(n - 1) / 2], values[n / 2])
}
