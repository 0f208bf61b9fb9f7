//! Machines that work together on one storage: what each contributes, how evenly, how exactly they began at the same time, and how
//! the storage scales with their number.

use std::collections::BTreeMap;

use model::{Comparison, Measurement, MeasurementKey, Metric, Operation, OperationStats, Run, Step, Target};

use crate::compare::{Series, compare_all, headline, headline_operations};
use crate::ratio::Pairing;

/// The share of the highest throughput from which on more clients are said to gain little.
pub const ENOUGH: f64 = 0.9;

/// What a run of clients that work together shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clients {
    /// Every figure of every target, in the order of the plan.
    pub shares: Vec<Shares>,
    /// How far apart the clients of each target begin and end.
    pub starts: Vec<Starts>,
    /// Every figure that is a rate over the numbers of clients, where there are several.
    pub curves: Vec<Curve>,
}

/// What the clients of a target contribute to a figure, over all repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// Id of the step.
    pub step: String,
    /// Operation.
    pub operation: Operation,
    /// Target's name.
    pub target: String,
    /// The clients.
    pub clients: Vec<ClientShare>,
    /// Jain's index of their rates (Jain, Chiu, Hawe, "A Quantitative Measure of Fairness and Discrimination for Resource Allocation in
    /// Shared Computer Systems", DEC-TR-301, 1984): 1 if all do the same, 1/n if one of n does everything.
    pub fairness: f64,
}

/// What one client contributes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientShare {
    /// Number of its machine.
    pub host: u32,
    /// Operations per second.
    pub iops: f64,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Its share of the operations, 0 to 1.
    pub share: f64,
    /// 99th percentile of the latency of its operations in nanoseconds.
    pub p99_ns: Option<u64>,
}

/// How far apart the clients of a target are, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Starts {
    /// Target's name.
    pub target: String,
    /// Number of repeats.
    pub repeats: usize,
    /// From the first to the last that begins: the median over the repeats.
    pub skew_ns: u64,
    /// And the most.
    pub most_skew_ns: u64,
    /// How far these may be wrong at most: the sum of the bounds of two clients.
    pub within_ns: u64,
    /// From the first to the last that ends: the median over the repeats.
    pub ends_ns: u64,
}

/// A figure over the numbers of clients.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Id of the step.
    pub step: String,
    /// Operation.
    pub operation: Operation,
    /// Metric.
    pub metric: Metric,
    /// Numbers of clients in ascending order, with the name of the target and the figure.
    pub points: Vec<(u32, String, f64)>,
    /// Where it stops to grow.
    pub knee: Knee,
    /// What the most clients have of the highest throughput, 0 to 1, if that is less than [`ENOUGH`] by its 95 % interval.
    pub falls_to: Option<f64>,
}

/// The fewest clients that have [`ENOUGH`] of the highest throughput, by the 95 % intervals of the ratios, each for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knee {
    /// This number of clients.
    At(u32),
    /// From this number to that: the intervals do not tell.
    Between(u32, u32),
    /// No fewer than the most that were tried.
    Beyond(u32),
}

/// What the clients of a run show, if it has some. `series` are those of the run.
pub(crate) fn clients(run: &Run, measurements: &[Measurement], series: &[Series]) -> Option<Clients> {
    let mut targets: Vec<&Target> = run.started.targets.iter().filter(|t| !t.clients.is_empty()).collect();
    if targets.is_empty() {
        return None;
    }
    let starts = targets.iter().filter_map(|target| starts(run, target)).collect();
    let (mut all, mut curves) = (Vec::new(), Vec::new());
    targets.sort_by_key(|target| target.clients.len());
    let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    let plan = &run.started.plan;
    let pairs = compare_all(series, &names, Pairing::within(plan), plan.margin());
    for step in &plan.steps {
        for operation in headline_operations(step) {
            all.extend(targets.iter().filter_map(|target| shares(run, step, operation, target)));
            if let Some(metric) = headline(step, operation)
                && matches!(metric, Metric::Bandwidth | Metric::Iops)
            {
                curves.extend(curve((step, operation, metric), &targets, measurements, &pairs));
            }
        }
    }
    Some(Clients { shares: all, starts, curves })
}

fn shares(run: &Run, step: &Step, operation: Operation, target: &Target) -> Option<Shares> {
    let mut totals: BTreeMap<u32, OperationStats> = BTreeMap::new();
    let mut seconds = 0.0;
    for finished in run.completed(&step.id, &target.name).filter_map(|repeat| repeat.finished.as_ref()) {
        seconds += finished.window_ns as f64 / 1e9;
        for client in &finished.clients {
            let total = totals.entry(client.host).or_default();
            client.operations.get(&operation).into_iter().for_each(|stats| total.merge(stats));
        }
    }
    let count: f64 = totals.values().map(|stats| stats.count as f64).sum();
    if count <= 0.0 || seconds <= 0.0 {
        return None;
    }
    let client = |(host, stats): (&u32, &OperationStats)| {
        // Operations that take turns with others in a pass have a time of their own.
        let seconds = match stats.active_ns {
            0 => seconds,
            active_ns => active_ns as f64 / 1e9 / f64::from(step.workload.jobs),
        };
        ClientShare {
            host: *host,
            iops: stats.count as f64 / seconds,
            bandwidth: stats.bytes as f64 / seconds,
            share: stats.count as f64 / count,
            p99_ns: stats.lat.percentile_ns(99.0),
        }
    };
    let clients: Vec<ClientShare> = totals.iter().map(client).collect();
    let squares: f64 = clients.iter().map(|client| client.share.powi(2)).sum();
    let fairness = 1.0 / (clients.len() as f64 * squares);
    Some(Shares { step: step.id.clone(), operation, target: target.name.clone(), clients, fairness })
}

fn starts(run: &Run, target: &Target) -> Option<Starts> {
    let (mut skews, mut ends, mut within_ns) = (Vec::new(), Vec::new(), 0);
    let of_target = run.repeats.iter().filter(|repeat| repeat.started.target == target.name);
    for finished in of_target.filter_map(|repeat| repeat.finished.as_ref()) {
        let spread = |of: fn(&model::ClientPart) -> u64| {
            let times = || finished.clients.iter().map(of);
            Some(times().max()?.saturating_sub(times().min()?))
        };
        let (Some(skew), Some(end)) = (spread(|c| c.began_ns), spread(|c| c.ended_ns)) else { continue };
        skews.push(skew);
        ends.push(end);
        let mut bounds: Vec<u64> = finished.clients.iter().map(|client| client.within_ns).collect();
        bounds.sort_unstable();
        within_ns =
            within_ns.max(bounds.iter().rev().take(2).fold(0, |sum: u64, bound| sum.saturating_add(*bound)));
    }
    let median = |values: &mut Vec<u64>| {
        values.sort_unstable();
        values.get(values.len() / 2).copied()
    };
    let (skew_ns, ends_ns) = (median(&mut skews)?, median(&mut ends)?);
    (target.clients.len() > 1).then(|| Starts {
        target: target.name.clone(),
        repeats: skews.len(),
        skew_ns,
        most_skew_ns: skews.last().copied().unwrap_or(0),
        within_ns,
        ends_ns,
    })
}

fn curve(
    (step, operation, metric): (&Step, Operation, Metric),
    targets: &[&Target],
    measurements: &[Measurement],
    pairs: &[Comparison],
) -> Option<Curve> {
    let point = |target: &&Target| {
        let key = MeasurementKey { target: &target.name, step: &step.id, operation, metric };
        let value = key.find_in(measurements)?.estimate.value;
        (value > 0.0).then(|| (target.clients.len() as u32, target.name.clone(), value))
    };
    let points: Vec<(u32, String, f64)> = targets.iter().filter_map(point).collect();
    let best = points.iter().max_by(|a, b| a.2.total_cmp(&b.2)).filter(|_| points.len() > 1)?;
    let ratio = |of: &str, to: &str| {
        let mut of_figure = pairs
            .iter()
            .filter(|c| (c.step.as_str(), c.operation, c.metric) == (&step.id, operation, metric));
        of_figure.find(|c| (c.target.as_str(), c.baseline.as_str()) == (of, to)).map(|c| c.ratio)
    };
    // How many times as much one has as another, with the limits of that.
    let limits = |of: &str, to: &str| match ratio(of, to) {
        Some(known) => known.interval,
        None => ratio(to, of)?.interval.map(|(low, high)| (1.0 / high, 1.0 / low)),
    };
    let others = |name: &str| points.iter().filter(move |(_, other, _)| *other != name).collect::<Vec<_>>();
    let is_short = |name: &str| {
        let others = others(name);
        others.iter().any(|(_, other, _)| limits(other, name).is_some_and(|(low, _)| low > 1.0 / ENOUGH))
    };
    let has_enough = |name: &str| {
        let others = others(name);
        others.iter().all(|(_, other, _)| limits(other, name).is_some_and(|(_, high)| high <= 1.0 / ENOUGH))
    };
    let (most, _, last) = points.last()?;
    let from = points.iter().find(|(_, name, _)| !is_short(name)).map_or(*most, |(count, ..)| *count);
    let to = points.iter().find(|(_, name, _)| has_enough(name)).map_or(*most, |(count, ..)| *count);
    let knee = match (from, to) {
        (from, to) if from < to => Knee::Between(from, to),
        (_, at) if at == *most => Knee::Beyond(at),
        (_, at) => Knee::At(at),
    };
    let falls_to = is_short(&points.last()?.1).then(|| last / best.2);
    Some(Curve { step: step.id.clone(), operation, metric, points, knee, falls_to })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::{run, workload};
    use crate::{Estimator, measurements};
    use model::ClientPart;

    /// A run in which as many clients as this are this many times as fast as one, the first of them doing this share of the work.
    fn made(speeds: &[(u32, f64)], first: f64) -> Run {
        let mut made = run(workload());
        let (target, repeats) = (made.started.targets.remove(0), std::mem::take(&mut made.repeats));
        for (clients, speed) in speeds {
            let target = Target {
                name: format!("{clients} clients"),
                clients: (1..=*clients).collect(),
                ..target.clone()
            };
            for (number, repeat) in (0..).zip(&repeats) {
                let mut repeat = repeat.clone();
                repeat.started.target.clone_from(&target.name);
                let all = repeat.measured();
                let finished = repeat.finished.as_mut().unwrap();
                finished.window_ns = (finished.window_ns as f64 / speed) as u64;
                let rest = (1.0 - first) / f64::from(clients - 1).max(1.0);
                finished.clients = (1..=*clients)
                    .map(|host| ClientPart {
                        host,
                        began_ns: 1000 * u64::from(host) * (number + 1),
                        ended_ns: 5_000_000,
                        within_ns: 10 * u64::from(host),
                        operations: all
                            .iter()
                            .map(|(o, stats)| (*o, stats.share(if host == 1 { first } else { rest })))
                            .collect(),
                    })
                    .collect();
                made.repeats.push(repeat);
            }
            made.started.targets.push(target);
        }
        made
    }

    fn of(run: &Run) -> Clients {
        let measurements = measurements(run, Estimator::Mean);
        clients(run, &measurements, &Series::of_run(run, &measurements)).unwrap()
    }

    #[test]
    fn the_knee_is_where_nine_tenths_of_the_most_are_reached() {
        let knee = |speeds: &[(u32, f64)]| of(&made(speeds, 0.5)).curves[0].knee;
        assert_eq!(knee(&[(2, 1.0), (4, 1.9), (8, 2.0)]), Knee::At(4));
        assert_eq!(knee(&[(2, 1.0), (4, 1.9), (8, 3.0)]), Knee::Beyond(8));
        assert_eq!(knee(&[(2, 1.0), (4, 1.05), (8, 0.8)]), Knee::At(2));
        assert_eq!(knee(&[(2, 1.0), (4, 2.0), (8, 1.0)]), Knee::At(4));
        let falls_to = |speeds: &[(u32, f64)]| of(&made(speeds, 0.5)).curves[0].falls_to;
        assert!((falls_to(&[(2, 1.0), (4, 2.0), (8, 1.0)]).unwrap() - 0.5).abs() < 0.01);
        assert_eq!(falls_to(&[(2, 1.0), (4, 2.0), (8, 1.9)]), None);
        // Around the limit the noise of the repeats does not tell.
        let mut noisy = made(&[(2, 1.0), (4, 1.1)], 0.5);
        for (number, repeat) in
            noisy.repeats.iter_mut().filter(|r| r.started.target == "4 clients").enumerate()
        {
            let finished = repeat.finished.as_mut().unwrap();
            finished.window_ns = (finished.window_ns as f64 * (0.95 + 0.05 * number as f64)) as u64;
        }
        assert_eq!(of(&noisy).curves[0].knee, Knee::Between(2, 4));
        assert!(of(&made(&[(2, 1.0)], 0.5)).curves.is_empty());
    }

    #[test]
    fn shares_and_fairness_are_of_what_each_did() {
        let found = of(&made(&[(4, 1.0)], 0.7));
        let shares = &found.shares[0];
        let of_each: Vec<f64> = shares.clients.iter().map(|c| (c.share * 100.0).round()).collect();
        assert_eq!(of_each, [70.0, 10.0, 10.0, 10.0]);
        // (0.7 + 3 · 0.1)² / (4 · (0.49 + 3 · 0.01)).
        assert!((shares.fairness - 1.0 / (4.0 * 0.52)).abs() < 0.001, "{}", shares.fairness);
        let even = of(&made(&[(4, 1.0)], 0.25));
        assert!(even.shares[0].fairness > 0.9999);
        let sum: f64 = shares.clients.iter().map(|c| c.iops).sum();
        let run = made(&[(4, 1.0)], 0.7);
        let all = measurements(&run, Estimator::Mean);
        let iops = all.iter().find(|m| m.metric == Metric::Iops).unwrap();
        assert!((sum / iops.estimate.value - 1.0).abs() < 0.01);
    }

    #[test]
    fn starts_are_told_with_their_bound() {
        let run = made(&[(3, 1.0)], 0.4);
        let [starts] = &of(&run).starts[..] else { panic!("one target") };
        let repeats = run.repeats.len() as u64;
        assert_eq!(starts.most_skew_ns, 2000 * repeats);
        assert_eq!(starts.skew_ns, 2000 * (repeats / 2 + 1));
        assert_eq!((starts.within_ns, starts.ends_ns), (30 + 20, 0));
    }

    #[test]
    fn clients_of_one_machine_are_one_machine() {
        let mut run = made(&[(1, 1.0), (4, 1.0)], 0.4);
        let host = |id: &str| model::RemoteHost {
            name: format!("client on {id}"),
            machine: model::Host { id: id.to_owned(), ..model::Host::default() },
            ..model::RemoteHost::default()
        };
        run.started.hosts = ["a", "b", "a", "c"].map(host).to_vec();
        run.started.targets.iter_mut().for_each(|target| target.host = 1);
        assert_eq!(run.started.machines(), [1, 2, 4]);
        assert_eq!(run.started.machine_names(), "client on a, client on b, client on c");
        let on = |machine: u32| run.started.targets.iter().filter(|t| t.is_on(machine)).count();
        assert_eq!([on(1), on(2), on(5)], [2, 1, 0]);
    }
}
