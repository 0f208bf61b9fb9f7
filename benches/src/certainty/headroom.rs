//! The highest load: how often a search claims what is not true, and how near to the edge it comes.

use analyse::{Headroom, judge};
use model::{Bound, Ladder, Metric, Operation, Plan, PortableMath, Requirement, Rung, Step};

use super::noise::{Noise, World};
use super::required::{Latencies, REPEAT_NS, p99, run_to_the_end, truth_of_p99};
use super::simulated::plan;
use super::trials::{share, trials};
use crate::table::markdown;

/// Loads of the ladder, and how many times as slow as under the one before the storage is under each.
const LOADS: usize = 16;
const SLOWER: f64 = 1.15;
/// The loads that are carried; the limit lies at random places between the last of them and the next.
const CARRIED: usize = 8;

fn ladder(limit: f64) -> Plan {
    let plain = plan(REPEAT_NS, None, u64::MAX / 2);
    let name = |load: usize| format!("load-{load}");
    let step = |load: usize| Step { id: name(load), ..plain.steps[0].clone() };
    let requirement = |load: usize| Requirement {
        profile: "profile".to_owned(),
        step: name(load),
        operation: Operation::Read,
        metric: Metric::LatP99,
        bound: Bound::AtMost,
        limit,
        relative_to: None,
        source: String::new(),
    };
    let rungs = (0..LOADS).map(|load| Rung { step: name(load), load: load as f64 }).collect();
    Plan {
        steps: (0..LOADS).map(step).collect(),
        requirements: (0..LOADS).map(requirement).collect(),
        ladders: vec![Ladder { unit: "loads".to_owned(), rungs }],
        ..plain
    }
}

/// A search, and the repeats that it took.
fn search(world: World, truth: f64, seed: u64) -> (Headroom, u32) {
    let between = ((seed % 10) as f64 + 0.5) / 10.0;
    let plan = ladder(truth * SLOWER.portable_powf((CARRIED - 1) as f64 + between));
    let (mut latencies, mut repeats) = (Latencies::new(world, seed), 0);
    let scheduler = run_to_the_end(&plan, seed, |order, _| {
        repeats += 1;
        // Slower under each further load.
        p99(latencies.repeat(SLOWER.portable_powf(order.step as f64)))
    });
    let judgements = judge(&plan, &scheduler.samples(), false);
    (Headroom::of(&plan.ladders[0], "0", &judgements), repeats)
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

/// One row for each noise and spread.
pub fn headroom_table(n: u64, noises: &[Noise], spreads: &[f64]) -> String {
    let row = |(noise, spread): (Noise, f64)| {
        let world = World { noise, spread, drift: 0.0, horizon: 1.0 };
        let truth = truth_of_p99(world);
        let all = trials(n, |seed| search(world, truth, seed));
        let is_wrong = |(found, _): &(Headroom, u32)| {
            let most = found.carried.is_some_and(|load| load >= CARRIED as f64);
            most || found.too_much.is_some_and(|load| load < CARRIED as f64)
        };
        let gap = |(found, _): &(Headroom, u32)| match (found.carried, found.too_much) {
            (Some(most), Some(more)) => (more - most) as usize,
            _ => LOADS,
        };
        let within = |most: usize| percent(share(&all, |run| gap(run) <= most));
        let mut repeats: Vec<u32> = all.iter().map(|(_, repeats)| *repeats).collect();
        repeats.sort_unstable();
        let median = repeats[repeats.len() / 2].to_string();
        let head = [noise.name(), format!("{:.0} %", spread * 100.0)];
        head.into_iter()
            .chain([percent(share(&all, is_wrong)), within(1), within(2), within(4), median])
            .collect()
    };
    let all = noises.iter().flat_map(|noise| spreads.iter().map(|spread| (*noise, *spread)));
    let rows: Vec<Vec<String>> = all.map(row).collect();
    markdown(&["noise", "spread", "wrong", "gap of 1", "at most 2", "at most 4", "repeats"], &rows)
}
