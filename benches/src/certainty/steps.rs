//! Runs of several steps of different noise, whose time goes where it can decide something or else is needed most.

use model::{Exposure, Plan, Step};
use schedule::Order;

use super::noise::{Noise, Storage, World};
use super::simulated::{Ended, Simulated, plan, run};
use super::times::cells;
use super::trials::{covers, share, trials};
use crate::table::markdown;

/// Nanoseconds of a repeat, and how often the budget allows all of them.
const REPEAT_NS: u64 = 1_000_000_000;
const ROUNDS: u64 = 12;
/// Relative standard deviations of the steps.
const SPREADS: [f64; 5] = [0.005, 0.01, 0.03, 0.07, 0.15];
const TARGETS: usize = 2;
/// The true ratios.
const RATIOS: [f64; 2] = [1.0, 1.1];

/// Each step of a run, in the order of [`SPREADS`], as if it were a run of its own that took the step's time.
fn ended(noise: Noise, ratio: f64, seed: u64) -> Vec<Ended> {
    let of_one = plan(REPEAT_NS, None, REPEAT_NS * ROUNDS * (SPREADS.len() * TARGETS) as u64);
    let step = |i: usize| Step { id: i.to_string(), ..of_one.steps[0].clone() };
    let plan = Plan { steps: (0..SPREADS.len()).map(step).collect(), ..of_one };
    let storage = |(i, spread): (u64, &f64)| {
        let world = World { noise, spread: *spread, drift: 0.0, horizon: 1.0 };
        Storage::new(world, &[1.0, ratio], seed ^ i << 32)
    };
    let mut storages: Vec<Storage> = (0..).zip(&SPREADS).map(storage).collect();
    let seconds = REPEAT_NS as f64 / 1e9;
    let ended = run(&plan, TARGETS, seed, |order: &Order| {
        let work = storages[order.step].measure(order.lane) * seconds;
        let exposure = Exposure { round: order.round, at: 0.0, seconds, work, lost: 0.0, stalls: 0 };
        Simulated { exposure, rates: Vec::new(), took_ns: REPEAT_NS }
    });
    let of_step = |(i, comparison)| {
        let series = ended.series[i * TARGETS..][..TARGETS].to_vec();
        let repeats: usize = series.iter().map(|series| series.values.len()).sum();
        Ended { comparisons: vec![comparison], series, seconds: repeats as f64 * seconds }
    };
    ended.comparisons.into_iter().enumerate().map(of_step).collect()
}

/// One row for each noise and step.
pub fn steps_table(n: u64, noises: &[Noise]) -> String {
    let mut rows = Vec::new();
    for noise in noises {
        let runs = RATIOS.map(|ratio| trials(n, |seed| ended(*noise, ratio, seed)));
        for (i, spread) in SPREADS.iter().enumerate() {
            let mut row = vec![noise.name(), format!("{:.1} %", spread * 100.0)];
            for (ratio, runs) in RATIOS.into_iter().zip(&runs) {
                let of_step: Vec<Ended> = runs.iter().map(|steps| steps[i].clone()).collect();
                row.extend(cells(&of_step, ratio));
                let covered = share(&of_step, |ended| covers(&ended.comparisons[0], ratio));
                row.push(format!("{:.1}", 100.0 * covered));
            }
            rows.push(row);
        }
    }
    let columns = ["right", "wrong", "half width", "s", "covered"];
    let of = |what: &str| columns.map(|column| format!("{what}: {column}"));
    let head: Vec<String> = [of("equal"), of("10 %")].concat();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    markdown(&[&["noise", "spread of the step"], &head[..]].concat(), &rows)
}
