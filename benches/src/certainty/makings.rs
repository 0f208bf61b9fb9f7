//! Targets that are made several times, such as filesystems on a disk: each making lies elsewhere, and is faster or slower for it.

use model::{Exposure, Plan};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use schedule::Order;

use super::simulated::{Ended, Simulated, plan, run};
use super::times::cells;
use super::trials::trials;
use crate::table::markdown;

/// Operations per second of the first target.
const RATE: f64 = 10_000.0;
/// Relative standard deviation of a repeat.
const WITHIN: f64 = 0.03;
/// Nanoseconds of a run, of a repeat, and of what surrounds it.
const BUDGET_NS: u64 = 100_000_000_000;
const REPEAT_NS: u64 = 1_000_000_000;
const AROUND_NS: u64 = 20_000_000;

/// A run on two targets, each of which was made so often; `apart` is the relative standard deviation of makings.
fn ended(plan: &Plan, apart: f64, ratio: f64, seed: u64) -> Ended {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut draw = move || -> f64 { StandardNormal.sample(&mut rng) };
    let makings: Vec<[f64; 2]> = (0..plan.makings).map(|_| [0; 2].map(|_| apart * draw())).collect();
    run(plan, 2, seed, |order: &Order| {
        let making = makings[order.round as usize % makings.len()][order.lane];
        let truth = if order.lane == 0 { RATE } else { RATE * ratio };
        let rate = truth * (making + WITHIN * draw()).exp();
        let exposure =
            Exposure { round: order.round, at: 0.0, seconds: 1.0, work: rate, lost: 0.0, stalls: 0 };
        Simulated { exposure, rates: vec![rate], took_ns: REPEAT_NS + AROUND_NS }
    })
}

/// One row for each spread of makings and their number.
pub fn makings_table(n: u64) -> String {
    let mut rows = Vec::new();
    for apart in [0.0, 0.03, 0.10] {
        for makings in [1, 3, 4, 6, 8] {
            let plan = Plan { makings, ..plan(REPEAT_NS, None, BUDGET_NS) };
            let mut row = vec![format!("{:.0} %", apart * 100.0), makings.to_string()];
            for ratio in [1.0, 1.1] {
                row.extend(cells(&trials(n, |seed| ended(&plan, apart, ratio, seed)), ratio));
            }
            rows.push(row);
        }
    }
    let of = |what: &str| ["right", "wrong", "half width", "s"].map(|column| format!("{what}: {column}"));
    let head: Vec<String> = [of("equal"), of("10 %")].concat();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    markdown(&[&["spread of makings", "makings"], &head[..]].concat(), &rows)
}
