//! The tables: how often the verdicts are wrong, how often and how soon a difference is found, whether the intervals
//! contain the truth, and how common practice compares.

use analyse::{Estimator, Pairing, Series, compare};
use model::Verdict;

use super::changes::{changes_table, delays_table};
use super::groups::groups_table;
use super::headroom::headroom_table;
use super::makings::makings_table;
use super::noise::{Noise, World};
use super::odd::odd_table;
use super::recorded::{recorded_table, slices_table, turns_table};
use super::required::required_table;
use super::simulated::AIMS;
use super::stalling::stalls_table;
use super::steps::steps_table;
use super::times::times_table;
use super::trials::{Ending, Trial, claims, covers, in_a_row, share, trial, trials};
use crate::table::markdown;

/// Rounds that the budget of a simulated run allows.
const MOST_ROUNDS: u32 = 40;
const SPREADS: [f64; 3] = [0.01, 0.05, 0.20];
const NOISES: [Noise; 7] = [
    Noise::LogNormal,
    Noise::HeavyTailed,
    Noise::TwoMode,
    Noise::Stalls,
    Noise::Machine(0.5),
    Noise::Machine(0.9),
    Noise::Own(0.3),
];
/// A true difference of 5 %.
const FASTER: f64 = 1.05;
/// The drift: 30 % slower by the end.
const DRIFT: f64 = -0.357;

/// The names of all tables.
pub(super) const TABLES: [&str; 19] = [
    "equal-targets",
    "true-difference",
    "coverage",
    "averages",
    "drift",
    "interim",
    "times",
    "recorded",
    "slices",
    "turns",
    "steps",
    "makings",
    "groups",
    "odd",
    "required",
    "headroom",
    "changes",
    "delays",
    "stalls",
];

/// One of [`TABLES`].
pub(super) fn table(name: &str, n: u64) -> String {
    match name {
        "equal-targets" => equal_targets(n),
        "true-difference" => true_difference(n),
        "coverage" => coverage(n),
        "averages" => against_averages(n),
        "drift" => drift(n),
        "interim" => interim(n),
        "times" => times_table(n),
        "recorded" => recorded_table(n),
        "slices" => slices_table(n),
        "turns" => turns_table(n),
        "steps" => steps_table(n, noises_for(n)),
        "makings" => makings_table(n),
        "groups" => groups_table(n),
        "odd" => odd_table(n * 5),
        "required" => required_table(n, noises_for(n), &SPREADS),
        "changes" => changes_table(n * 5),
        "delays" => delays_table(n),
        // A search takes as long as a dozen verdicts.
        "headroom" => headroom_table(if n < 10 { 1 } else { n.div_ceil(3) }, noises_for(n), &SPREADS[1..]),
        // It takes as long as all others together; a few runs show as well as more whether the code has changed.
        _ => stalls_table(if n < 10 { 1 } else { n }),
    }
}

/// The noises of tables whose figures take long: from a few runs, two show as well as all whether the code has changed.
fn noises_for(n: u64) -> &'static [Noise] {
    if n < 10 { &[Noise::Stalls, Noise::Machine(0.5)] } else { &NOISES }
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

/// Auto rounds in a world with or without drift.
fn auto(noise: Noise, spread: f64, drift: f64, speeds: &[f64], n: u64) -> Vec<Trial> {
    let horizon = f64::from(MOST_ROUNDS) * speeds.len() as f64;
    let world = World { noise, spread, drift, horizon };
    trials(n, |seed| trial(world, speeds, Ending::Auto(MOST_ROUNDS), seed))
}

fn for_all(mut row: impl FnMut(Noise, f64) -> Vec<String>) -> Vec<Vec<String>> {
    NOISES
        .iter()
        .flat_map(|noise| SPREADS.map(|spread| (*noise, spread)))
        .map(|(noise, spread)| {
            let head = [noise.name(), format!("{:.0} %", spread * 100.0)];
            head.into_iter().chain(row(noise, spread)).collect()
        })
        .collect()
}

fn equal_targets(n: u64) -> String {
    let rows = for_all(|noise, spread| {
        let mut cells = Vec::new();
        for drift in [0.0, DRIFT] {
            for targets in [2, 3, 6] {
                let all = auto(noise, spread, drift, &vec![1.0; targets], n);
                cells.push(percent(share(all.iter().flat_map(|t| &t.comparisons), claims)));
            }
        }
        cells
    });
    markdown(&["noise", "spread", "2 targets", "3", "6", "2, drift", "3, drift", "6, drift"], &rows)
}

fn median_rounds(trials: &[Trial]) -> usize {
    let mut rounds: Vec<usize> = trials.iter().map(|t| t.rounds[1]).collect();
    rounds.sort_unstable();
    rounds[rounds.len() / 2]
}

fn mean_rounds(trials: &[Trial]) -> f64 {
    trials.iter().map(|t| t.rounds[1] as f64).sum::<f64>() / trials.len() as f64
}

fn verdict_share(trials: &[Trial], verdict: Verdict) -> f64 {
    share(trials.iter().flat_map(|t| &t.comparisons), |c| c.verdict == verdict)
}

fn true_difference(n: u64) -> String {
    let mut rows = Vec::new();
    for noise in NOISES {
        for spread in [0.01, 0.03, 0.05, 0.20] {
            let mut row = vec![noise.name(), format!("{:.0} %", spread * 100.0)];
            for drift in [0.0, DRIFT] {
                let all = auto(noise, spread, drift, &[1.0, FASTER], n);
                row.extend(
                    [Verdict::Faster, Verdict::Slower, Verdict::Same]
                        .map(|v| percent(verdict_share(&all, v))),
                );
                row.push(median_rounds(&all).to_string());
            }
            rows.push(row);
        }
    }
    let head = ["noise", "spread", "\"faster\" (right)", "\"slower\"", "\"same\"", "rounds, median"];
    let drifting = ["drift: \"faster\"", "\"slower\"", "\"same\"", "rounds, median"];
    markdown(&[&head[..], &drifting].concat(), &rows)
}

fn coverage(n: u64) -> String {
    let rows = for_all(|noise, spread| {
        let mut cells: Vec<String> = [(1.0, 0.0), (1.02, 0.0), (FASTER, 0.0), (1.0, DRIFT), (FASTER, DRIFT)]
            .into_iter()
            .map(|(truth, drift)| {
                let all = auto(noise, spread, drift, &[1.0, truth], n);
                percent(share(all.iter().flat_map(|t| &t.comparisons), |c| covers(c, truth)))
            })
            .collect();
        let alone = auto(noise, spread, 0.0, &[1.0], n);
        let rules = [Estimator::Mean, Estimator::Median, Estimator::Trimmed];
        cells.extend(rules.map(|rule| percent(figure_coverage(rule, noise, spread, &alone))));
        cells
    });
    markdown(
        &[
            "noise",
            "spread",
            "ratio 1",
            "1.02",
            "1.05",
            "1, drift",
            "1.05, drift",
            "mean",
            "median",
            "trimmed mean",
        ],
        &rows,
    )
}

/// How often a figure's interval contains its true value: the estimator's value over very many repeats.
fn figure_coverage(rule: Estimator, noise: Noise, spread: f64, alone: &[Trial]) -> f64 {
    /// Few for a table of few runs, whose shares are rough anyway.
    const MANY: usize = 200_001;
    let many = MANY.min(alone.len() * 1000 + 1);
    let world = World { noise, spread, drift: 0.0, horizon: 1.0 };
    let mut storage = super::noise::Storage::new(world, &[1.0], u64::MAX);
    let mut values: Vec<f64> = (0..many).map(|_| storage.measure(0)).collect();
    values.sort_by(f64::total_cmp);
    let truth = match rule {
        Estimator::Median => values[many / 2],
        _ => values.iter().sum::<f64>() / many as f64,
    };
    share(alone, |t| {
        let values: Vec<f64> = t.series[0].values.iter().map(|(_, v)| *v).collect();
        rule.estimate(&values)
            .and_then(|e| e.interval)
            .is_some_and(|(low, high)| low <= truth && truth <= high)
    })
}

/// Common practice: average a number of runs of each; the average that is larger by more than the margin is faster.
fn averages_claim(trial: &Trial) -> bool {
    let mean = |i: usize| {
        let values = &trial.series[i].values;
        values.iter().map(|(_, v)| v).sum::<f64>() / values.len() as f64
    };
    (mean(1) / mean(0)).ln().abs() > (1.0 + AIMS.margin).ln()
}

fn fixed(spread: f64, truth: f64, rounds: u32, n: u64) -> Vec<Trial> {
    let world = World { noise: Noise::LogNormal, spread, drift: 0.0, horizon: 1.0 };
    trials(n, |seed| trial(world, &[1.0, truth], Ending::Fixed(rounds), seed))
}

/// Share of wrong answers of averaging: a difference claimed of equal targets, or 5 % missed; the larger of the two.
fn averaging_error(spread: f64, rounds: u32, n: u64) -> f64 {
    let claimed = share(&fixed(spread, 1.0, rounds, n), averages_claim);
    let missed = 1.0 - share(&fixed(spread, FASTER, rounds, n), averages_claim);
    claimed.max(missed)
}

/// True ratios of targets in a typical run: none, small, clear, beyond doubt.
const USUAL: [f64; 4] = [1.0, FASTER, 1.2, 2.0];

fn against_averages(n: u64) -> String {
    let mut rows = Vec::new();
    for spread in [0.01, 0.03, 0.05] {
        let runs: Vec<Vec<Trial>> =
            USUAL.iter().map(|truth| auto(Noise::LogNormal, spread, 0.0, &[1.0, *truth], n)).collect();
        let rounds = runs.iter().map(|r| mean_rounds(r)).sum::<f64>() / USUAL.len() as f64;
        let wrong = share(runs[0].iter().flat_map(|t| &t.comparisons), claims)
            .max(1.0 - verdict_share(&runs[1], Verdict::Faster));
        let as_good = (1..=200).find(|k| averaging_error(spread, *k, n.min(1000)) <= wrong.max(0.05));
        rows.push(vec![
            format!("{:.0} %", spread * 100.0),
            format!("{rounds:.1}"),
            percent(wrong),
            percent(averaging_error(spread, 5, n)),
            percent(averaging_error(spread, rounds.round() as u32, n)),
            as_good.map_or_else(|| "more than 200".to_owned(), |k| k.to_string()),
            as_good.map_or_else(
                || "–".to_owned(),
                |k| format!("{:.0} %", (1.0 - rounds / f64::from(k)) * 100.0),
            ),
        ]);
    }
    markdown(
        &[
            "spread",
            "auto: rounds, mean",
            "auto: wrong",
            "5 runs averaged: wrong",
            "as many runs as auto, averaged: wrong",
            "runs to average for the same error (or 5 %)",
            "time that auto saves",
        ],
        &rows,
    )
}

/// Ten runs of each of two equal targets under drift: one target after the other, and in rounds.
fn drift(n: u64) -> String {
    const ROUNDS: u32 = 10;
    let rows = SPREADS.map(|spread| {
        let noise = Noise::LogNormal;
        let world = World { noise, spread, drift: DRIFT, horizon: f64::from(2 * ROUNDS) };
        let in_a_row = trials(n, |seed| in_a_row(world, 2, ROUNDS, seed));
        let in_rounds = trials(n, |seed| trial(world, &[1.0, 1.0], Ending::Fixed(ROUNDS), seed).comparisons);
        vec![
            format!("{:.0} %", spread * 100.0),
            percent(share(in_a_row.iter().flatten(), claims)),
            percent(share(in_rounds.iter().flatten(), claims)),
        ]
    });
    markdown(&["spread", "one after the other (t test)", "in rounds"], &rows)
}

/// Equal targets judged after every round from the fifth on, by a plain paired t test and by the program.
fn interim(n: u64) -> String {
    let rows = SPREADS.map(|spread| {
        let world = World { noise: Noise::LogNormal, spread, drift: 0.0, horizon: 1.0 };
        let peeked = trials(n, |seed| peeks(&trial(world, &[1.0, 1.0], Ending::Fixed(MOST_ROUNDS), seed)));
        let sequential = auto(Noise::LogNormal, spread, 0.0, &[1.0, 1.0], n);
        vec![
            format!("{:.0} %", spread * 100.0),
            percent(share(&peeked, |claimed| *claimed)),
            percent(share(sequential.iter().flat_map(|t| &t.comparisons), claims)),
        ]
    });
    markdown(&["spread", "t test after every round", "auto"], &rows)
}

/// True if a t test claims a difference after any round from the fifth on.
fn peeks(trial: &Trial) -> bool {
    let until = |rounds: usize| -> Vec<Series> {
        let cut = |s: &Series| Series { values: s.values[..rounds].to_vec(), ..s.clone() };
        trial.series.iter().map(cut).collect()
    };
    let rounds = 5..=trial.series[0].values.len();
    rounds.map(until).any(|s| compare(&s, "0", Pairing::ByRound, AIMS.margin).iter().any(claims))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The promises of docs/method/certainty.md, on few runs with fixed seeds; the command prints the whole table.
    #[test]
    fn error_rates_and_coverage_are_as_documented() {
        const RUNS: u64 = 400;
        for noise in &NOISES[..6] {
            let equal = auto(*noise, 0.05, DRIFT, &[1.0, 1.0], RUNS);
            let wrong = share(equal.iter().flat_map(|t| &t.comparisons), claims);
            assert!(wrong <= 0.08, "{}: {wrong} of equal targets are reported as different", noise.name());
            let held = share(equal.iter().flat_map(|t| &t.comparisons), |c| covers(c, 1.0));
            assert!((0.91..=0.99).contains(&held), "{}: intervals contain {held}", noise.name());
            if *noise == Noise::Stalls {
                // How many stalls are still to come keeps a difference of 5 % open.
                continue;
            }
            let apart = auto(*noise, 0.03, 0.0, &[1.0, FASTER], RUNS);
            let found = verdict_share(&apart, Verdict::Faster);
            assert!(found >= 0.9, "{}: 5 % are found in {found}", noise.name());
            assert!(verdict_share(&apart, Verdict::Same) <= 0.05);
        }
    }

    #[test]
    fn a_clear_difference_takes_fewer_rounds() {
        let of = |truth: f64| mean_rounds(&auto(Noise::LogNormal, 0.05, 0.0, &[1.0, truth], 100));
        assert!(of(2.0) < 10.0 && of(2.0) < of(1.05) / 2.0);
    }
}
