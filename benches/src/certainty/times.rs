//! How long a run takes until it knows a difference, with the lengths of repeats that it chooses and with fixed ones, on
//! storage whose noise is slower than a repeat.

use model::{Exposure, Plan, Verdict};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use schedule::Order;

use super::simulated::{Ended, Simulated, plan, run};
use super::trials::{share, trials};
use crate::table::markdown;

/// Operations per second of the first target.
const RATE: f64 = 10_000.0;
/// Relative standard deviation of a tenth of a second; of twice as long it is a √2 smaller.
const WITHIN: f64 = 0.10;
/// Seconds after which slow noise has forgotten 63 % of what it was.
const SLOW_SECONDS: f64 = 5.0;
/// Nanoseconds of a run, of what surrounds a repeat, and of fixed, longest and shortest repeats.
const BUDGET_NS: u64 = 100_000_000_000;
const AROUND_NS: u64 = 20_000_000;
const FIXED_NS: u64 = 1_000_000_000;
const LONGEST_NS: u64 = 5_000_000_000;
const SHORTEST_NS: u64 = 100_000_000;
/// Nanoseconds of a turn, at least: a recorded noise has no shorter time scale. Real ones can be shorter.
const SLICE_NS: u64 = 10_000_000;
/// Seconds in which a queue fills and runs empty around a turn.
const FILLING: f64 = 0.001;

/// Relative standard deviations of the slow noise.
#[derive(Clone, Copy, Debug)]
struct Slow {
    name: &'static str,
    /// Of the machine: alike for all targets.
    machine: f64,
    /// Of each target's own.
    own: f64,
}

const SLOW: [Slow; 3] = [
    Slow { name: "none", machine: 0.0, own: 0.0 },
    Slow { name: "10 %, of the machine", machine: 0.10, own: 0.0 },
    Slow { name: "10 %, of each target", machine: 0.0, own: 0.10 },
];

/// Noise that changes slowly: of an Ornstein-Uhlenbeck process.
#[derive(Clone, Copy, Debug)]
struct Drifting {
    value: f64,
    at: f64,
}

impl Drifting {
    fn begin(rng: &mut Xoshiro256PlusPlus) -> Self {
        Self { value: StandardNormal.sample(rng), at: 0.0 }
    }

    /// Its value at a later time in seconds, of standard deviation 1.
    fn at(&mut self, seconds: f64, rng: &mut Xoshiro256PlusPlus) -> f64 {
        let kept = (-(seconds - self.at) / SLOW_SECONDS).exp();
        let fresh: f64 = StandardNormal.sample(rng);
        self.value = kept * self.value + (1.0 - kept * kept).sqrt() * fresh;
        self.at = seconds;
        self.value
    }
}

/// Two targets on a virtual clock. `noise` is the mean of the noise of a target between two times in seconds.
pub(super) struct Storage<N> {
    pub speeds: [f64; 2],
    pub noise: N,
    pub seconds: f64,
}

impl<N: FnMut(usize, f64, f64) -> f64> Storage<N> {
    /// The second target is so many times as fast as the first.
    pub(super) fn new(ratio: f64, noise: N) -> Self {
        Self { speeds: [RATE, RATE * ratio], noise, seconds: 0.0 }
    }

    /// Carries an order out, interval by interval.
    pub(super) fn repeat(&mut self, order: &Order) -> Simulated {
        let length = order.timing.time_ns.unwrap_or(FIXED_NS) as f64 / 1e9;
        let intervals = (length / (order.timing.interval_ns as f64 / 1e9)).round().max(1.0);
        let interval = length / intervals;
        let mut rates = Vec::with_capacity(intervals as usize);
        for _ in 0..intervals as usize {
            let noise = (self.noise)(order.lane, self.seconds, self.seconds + interval);
            rates.push(self.speeds[order.lane] * noise.exp());
            self.seconds += interval;
        }
        self.seconds += AROUND_NS as f64 / 1e9;
        let work = rates.iter().sum::<f64>() * interval;
        let exposure = Exposure { round: order.round, at: 0.0, seconds: length, work, lost: 0.0, stalls: 0 };
        Simulated { exposure, rates, took_ns: (length * 1e9) as u64 + AROUND_NS }
    }

    /// Carries out an order, or several of one length in turns, slice by slice.
    pub(super) fn repeat_in_turns(&mut self, orders: &[Order]) -> Vec<Simulated> {
        let [first, _, ..] = orders else { return orders.iter().map(|order| self.repeat(order)).collect() };
        let began = self.seconds;
        let length = first.timing.time_ns.unwrap_or(FIXED_NS) as f64 / 1e9;
        let interval_ns = first.timing.interval_ns;
        let slices = (interval_ns / SLICE_NS).max(1);
        let slice = interval_ns as f64 / 1e9 / slices as f64;
        let intervals = (length / (interval_ns as f64 / 1e9)).round().max(1.0) as usize;
        let mut rates = vec![vec![0.0; intervals]; orders.len()];
        for (interval, _) in
            (0..intervals).flat_map(|interval| (0..slices).map(move |slice| (interval, slice)))
        {
            for (order, rates) in orders.iter().zip(&mut rates) {
                let noise = (self.noise)(order.lane, self.seconds, self.seconds + slice);
                rates[interval] += self.speeds[order.lane] * noise.exp() / slices as f64;
                self.seconds += slice + FILLING;
            }
        }
        self.seconds += AROUND_NS as f64 / 1e9;
        let took_ns = ((self.seconds - began) * 1e9) as u64 / orders.len() as u64;
        let measured = intervals as f64 * slices as f64 * slice;
        let simulated = |(order, rates): (&Order, Vec<f64>)| {
            let work = rates.iter().sum::<f64>() * measured / intervals as f64;
            let (round, seconds) = (order.round, measured);
            Simulated {
                exposure: Exposure { round, at: 0.0, seconds, work, lost: 0.0, stalls: 0 },
                rates,
                took_ns,
            }
        };
        orders.iter().zip(rates).map(simulated).collect()
    }
}

/// The plans of a run whose repeats have chosen lengths, and of one of repeats of 1 s.
pub(super) fn plans() -> [Plan; 2] {
    [plan(LONGEST_NS, Some(SHORTEST_NS), BUDGET_NS), plan(FIXED_NS, None, BUDGET_NS)]
}

/// The columns of [`cells`] for both plans, behind these.
pub(super) fn head<'a>(first: &[&'a str]) -> Vec<&'a str> {
    let both = [
        "chosen: right",
        "chosen: wrong",
        "chosen: half width",
        "chosen: s",
        "1 s: right",
        "1 s: wrong",
        "1 s: half width",
        "1 s: s",
    ];
    [first, &both].concat()
}

/// One row for each slow noise and true difference.
pub fn times_table(n: u64) -> String {
    let mut rows = Vec::new();
    for slow in SLOW {
        for ratio in [1.0, 1.05, 1.1, 1.2] {
            let mut row = vec![slow.name.to_owned(), format!("{:.0} %", (ratio - 1.0) * 100.0)];
            for plan in &plans() {
                row.extend(cells(&trials(n, |seed| ended(plan, slow, ratio, seed)), ratio));
            }
            rows.push(row);
        }
    }
    markdown(&head(&["slow noise", "difference"]), &rows)
}

fn ended(plan: &Plan, slow: Slow, ratio: f64, seed: u64) -> Ended {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut machine = Drifting::begin(&mut rng);
    let mut own = [0; 2].map(|_| Drifting::begin(&mut rng));
    let mut storage = Storage::new(ratio, |target: usize, from: f64, to: f64| {
        let (middle, spread) = ((from + to) / 2.0, WITHIN * (0.1 / (to - from)).sqrt());
        let machine = slow.machine * machine.at(middle, &mut rng);
        let own = slow.own * own[target].at(middle, &mut rng);
        let within: f64 = StandardNormal.sample(&mut rng);
        machine + own + spread * within
    });
    run(plan, 2, seed, |order| storage.repeat(order))
}

/// Shares of right and wrong verdicts, the median half width of the interval, and the median length of the run.
pub(super) fn cells(all: &[Ended], ratio: f64) -> [String; 4] {
    let verdict = |ended: &Ended| ended.comparisons[0].verdict;
    // "The same so far": a stall could not have been seen yet.
    let is_right = |ended: &Ended| match verdict(ended) {
        Verdict::Faster => ratio > 1.0,
        Verdict::Same => ratio <= 1.03,
        _ => ratio <= 1.03 && ended.comparisons[0].unseen.is_some(),
    };
    let is_wrong = |ended: &Ended| match verdict(ended) {
        Verdict::Slower => true,
        Verdict::Faster => ratio <= 1.0,
        Verdict::Same => ratio > 1.03,
        Verdict::Undecided => false,
    };
    let median = |of: &dyn Fn(&Ended) -> Option<f64>| {
        let mut values: Vec<f64> = all.iter().filter_map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let width = median(&|ended| ended.comparisons[0].ratio.relative_half_width());
    [
        format!("{:.1}", 100.0 * share(all, is_right)),
        format!("{:.1}", 100.0 * share(all, is_wrong)),
        format!("{:.1}", 100.0 * width),
        format!("{:.0}", median(&|ended| Some(ended.seconds))),
    ]
}
