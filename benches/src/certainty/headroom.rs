//! The highest load: how often a search claims what is not true, and how near to the edge it comes.

use std::convert::Infallible;

use analyse::{Headroom, judge};
use model::{Bound, Ladder, Metric, Operation, Plan, PortableMath, Requirement, Rung, Step};
use schedule::{Executor, Lane, Measured, Order, Outcome, Said, Scheduler, WatchedFigure, drive};

use super::noise::{Noise, World};
use super::required::{Latencies, REPEAT_NS, truth_of_p99};
use super::simulated::plan;
use super::trials::{share, trials};
use crate::table::markdown;

/// Loads of the ladder, and how many times as slow as under the one before the storage is under each.
const LOADS: usize = 16;
const SLOWER: f64 = 1.15;
/// The loads that are carried; the limit lies at random places between the last of them and the next.
const CARRIED: usize = 8;

/// Storage that is slower under each further load.
struct Loaded {
    latencies: Latencies,
    now_ns: u64,
    repeats: u32,
}

impl Executor for Loaded {
    type Error = Infallible;

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn measure(&mut self, orders: &[Order]) -> Result<Vec<Outcome>, Infallible> {
        Ok(orders.iter().map(|order| self.repeat(order)).collect())
    }

    fn hear(&mut self, _: Said) {}
}

impl Loaded {
    fn repeat(&mut self, order: &Order) -> Outcome {
        let latencies = self.latencies.repeat(SLOWER.portable_powf(order.step as f64));
        self.now_ns += REPEAT_NS;
        self.repeats += 1;
        let figure = WatchedFigure {
            operation: Operation::Read,
            metric: Metric::LatP99,
            value: latencies.percentile_ns(99.0).unwrap_or(0) as f64,
            exposure: None,
            latencies: Some(latencies),
            is_headline: true,
        };
        let measured = Measured { is_complete: true, figures: vec![figure], ..Measured::default() };
        Outcome { took_ns: REPEAT_NS, measured: Some(measured), ..Outcome::default() }
    }
}

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
    let mut scheduler = Scheduler::new(plan.clone(), "0".into(), !seed);
    scheduler.at(vec![Lane {
        target: "0".into(),
        runs: vec![true; LOADS],
        shares: None,
        may_shorten: true,
        takes_turns: Vec::new(),
    }]);
    let mut run = Loaded { latencies: Latencies::new(world, seed), now_ns: 0, repeats: 0 };
    let Ok(()) = drive(&mut scheduler, &mut run);
    let judgements = judge(&plan, &scheduler.samples(), false);
    (Headroom::of(&plan.ladders[0], "0", &judgements), run.repeats)
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
