//! Groups of machines: the machines are the sample.

use analyse::{Pairing, Series, compare};
use model::{Metric, Operation, Verdict};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::table::markdown;

/// Figures of a run: the verdicts on all of them are one family.
const FIGURES: usize = 8;
/// Relative standard deviation of a machine's figure, as far as it is measured.
const WITHIN: f64 = 0.01;
/// The margin of "same".
const MARGIN: f64 = 0.03;

/// What is said of two groups of so many machines each, in one run.
struct Said {
    any_wrong: bool,
    right: usize,
    covered: usize,
    half_widths: f64,
}

/// `apart` is the relative standard deviation of machines, `ratio` the true one of the groups.
fn said(machines: u32, apart: f64, ratio: f64, seed: u64) -> Said {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut draw = || -> f64 { StandardNormal.sample(&mut rng) };
    let mut series = Vec::new();
    for figure in 0..FIGURES {
        for (group, truth) in [("a", 1.0), ("b", ratio)] {
            let rate = |draw: &mut dyn FnMut() -> f64| truth * (apart * draw() + WITHIN * draw()).exp();
            series.push(Series {
                run: 0,
                target: group.to_owned(),
                step: figure.to_string(),
                operation: Operation::Read,
                metric: Metric::Bandwidth,
                is_headline: true,
                values: (0..machines).map(|machine| (machine, rate(&mut draw))).collect(),
                exposures: Vec::new(),
                makings: machines,
            });
        }
    }
    let found = compare(&series, "a", Pairing::None, MARGIN);
    let is_wrong = |verdict: Verdict| match verdict {
        Verdict::Faster => ratio <= 1.0,
        Verdict::Slower => ratio >= 1.0,
        Verdict::Same => ratio.ln().abs() > (1.0 + MARGIN).ln(),
        Verdict::Undecided => false,
    };
    let intervals = || found.iter().filter_map(|c| c.ratio.interval);
    Said {
        any_wrong: found.iter().any(|c| is_wrong(c.verdict)),
        right: found.iter().filter(|c| c.verdict != Verdict::Undecided && !is_wrong(c.verdict)).count(),
        covered: intervals().filter(|(low, high)| (*low..=*high).contains(&ratio)).count(),
        half_widths: intervals().map(|(low, high)| (high / low).sqrt() - 1.0).sum(),
    }
}

/// One row for each spread of machines and their number.
pub fn groups_table(n: u64) -> String {
    let mut rows = Vec::new();
    for apart in [0.03, 0.10, 0.30] {
        for machines in [2, 3, 5, 10] {
            let mut row = vec![format!("{:.0} %", apart * 100.0), machines.to_string()];
            for ratio in [1.0, 1.4] {
                let all: Vec<Said> = (0..n).map(|seed| said(machines, apart, ratio, seed)).collect();
                let figures = (n as usize * FIGURES) as f64;
                let percent = |share: f64| format!("{:.1}", 100.0 * share);
                row.push(percent(all.iter().filter(|said| said.any_wrong).count() as f64 / n as f64));
                row.push(percent(all.iter().map(|said| said.right).sum::<usize>() as f64 / figures));
                row.push(percent(all.iter().map(|said| said.covered).sum::<usize>() as f64 / figures));
                row.push(percent(all.iter().map(|said| said.half_widths).sum::<f64>() / figures));
            }
            rows.push(row);
        }
    }
    let of = |what: &str| {
        ["any wrong", "right", "covered", "half width"].map(|column| format!("{what}: {column}"))
    };
    let head: Vec<String> = [of("equal"), of("40 %")].concat();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    markdown(&[&["spread of machines", "machines in each group"], &head[..]].concat(), &rows)
}
