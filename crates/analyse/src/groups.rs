//! Groups of machines compared: the machines are the sample. How a group's machines differ is part of the interval, so that what
//! is said of the groups is said of further machines like these.

use std::collections::BTreeMap;

use model::{Comparison, Measurement, Metric, Operation, PortableMath, Run};

use crate::compare::{Series, compare, headline};
use crate::ratio::Pairing;

/// The label that groups machines.
pub const GROUP: &str = "group";
/// The machines of a group without which it is no sample.
const FEWEST: usize = 2;

/// Groups of machines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Groups {
    /// The groups with the number of their machines, that of the baseline first.
    pub groups: Vec<(String, usize)>,
    /// Every headline figure of every group, and the operations per second of those that are bandwidths.
    pub means: Vec<GroupMean>,
    /// Every group against the first, by the means of their machines (Welch's t on logarithms, unpaired). The verdicts are one
    /// family.
    pub comparisons: Vec<Comparison>,
}

/// A figure of a group: the geometric mean over its machines.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupMean {
    /// The group.
    pub group: String,
    /// Id of the step.
    pub step: String,
    /// Operation.
    pub operation: Operation,
    /// Metric.
    pub metric: Metric,
    /// In the metric's unit.
    pub value: f64,
}

/// Position of a step, operation, metric, and group.
type Figure<'a> = (usize, Operation, Metric, &'a str);
/// The logarithms of each machine's figures.
type ByMachine = BTreeMap<u32, Vec<f64>>;

/// The groups of a run's machines, where two or more have several machines each.
pub fn groups(run: &Run, measurements: &[Measurement], baseline: &str) -> Option<Groups> {
    let mut machines: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for target in &run.started.targets {
        let Some(group) = target.labels.get(GROUP) else { continue };
        let of_group = machines.entry(group).or_default();
        if !of_group.contains(&target.host) {
            of_group.push(target.host);
        }
    }
    machines.retain(|_, of_group| of_group.len() >= FEWEST);
    if machines.len() < 2 {
        return None;
    }
    let target = |name: &str| run.started.targets.iter().find(|target| target.name == name);
    let group_of = |name: &str| target(name).and_then(|target| target.labels.get(GROUP));
    let first = group_of(baseline).filter(|group| machines.contains_key(group.as_str()));
    let first = first.map_or(*machines.keys().next()?, String::as_str);
    let mut figures: BTreeMap<Figure<'_>, ByMachine> = BTreeMap::new();
    for m in measurements.iter().filter(|m| m.estimate.value > 0.0) {
        let Some(step) = run.started.plan.steps.iter().position(|step| step.id == m.step) else { continue };
        let of_step = headline(&run.started.plan.steps[step], m.operation);
        let is_headline =
            of_step == Some(m.metric) || of_step == Some(Metric::Bandwidth) && m.metric == Metric::Iops;
        let (Some(target), Some(group)) = (target(&m.target), group_of(&m.target)) else { continue };
        if is_headline && machines.contains_key(group.as_str()) {
            let of = figures.entry((step, m.operation, m.metric, group)).or_default();
            of.entry(target.host).or_default().push(m.estimate.value.portable_ln());
        }
    }
    let (mut series, mut means) = (Vec::new(), Vec::new());
    for ((step, operation, metric, group), of_machines) in figures {
        let is_compared = headline(&run.started.plan.steps[step], operation) == Some(metric);
        let step = run.started.plan.steps[step].id.clone();
        let mean = |logs: &Vec<f64>| logs.iter().sum::<f64>() / logs.len() as f64;
        let logs: Vec<f64> = of_machines.values().map(mean).collect();
        means.push(GroupMean {
            group: group.to_owned(),
            step: step.clone(),
            operation,
            metric,
            value: mean(&logs).portable_exp(),
        });
        if is_compared {
            series.push(Series {
                run: 0,
                target: group.to_owned(),
                step,
                operation,
                metric,
                is_headline: true,
                makings: logs.len() as u32,
                values: (0..).zip(logs).map(|(machine, log)| (machine, log.portable_exp())).collect(),
                exposures: Vec::new(),
            });
        }
    }
    let mut groups: Vec<(String, usize)> =
        machines.iter().map(|(group, of_group)| ((*group).to_owned(), of_group.len())).collect();
    groups.sort_by_key(|(group, _)| group != first);
    let comparisons = compare(&series, first, Pairing::None, run.started.plan.margin());
    Some(Groups { groups, means, comparisons })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::{run, workload};
    use crate::{Estimator, measurements};
    use model::Verdict;

    /// A run on as many machines as there are values, the first half of them in the group `a`.
    fn on_machines(rates: &[f64]) -> Run {
        let mut made = run(workload());
        let (target, repeats) = (made.started.targets.remove(0), std::mem::take(&mut made.repeats));
        for (host, rate) in (0..).zip(rates) {
            let mut target = model::Target { name: format!("m{host}"), host, ..target.clone() };
            let group = if (host as usize) < rates.len() / 2 { "a" } else { "b" };
            target.labels.insert(GROUP.to_owned(), group.to_owned());
            for repeat in &repeats {
                let mut repeat = repeat.clone();
                repeat.started.target.clone_from(&target.name);
                let finished = repeat.finished.as_mut().unwrap();
                finished.window_ns = (finished.window_ns as f64 / rate) as u64;
                made.repeats.push(repeat);
            }
            made.started.targets.push(target);
        }
        made
    }

    fn of(rates: &[f64]) -> Option<Groups> {
        let run = on_machines(rates);
        groups(&run, &measurements(&run, Estimator::Mean), "m0")
    }

    #[test]
    fn machines_are_the_sample() {
        // The logarithms of the groups' means differ by 0.35; within a group they scatter by 0.05.
        let far = of(&[1.0, 1.1, 1.05, 1.4, 1.5, 1.55]).unwrap();
        assert_eq!(far.groups, [("a".to_owned(), 3), ("b".to_owned(), 3)]);
        let [c] = &far.comparisons[..] else { panic!("{far:?}") };
        assert_eq!((c.target.as_str(), c.verdict, c.more_rounds), ("b", Verdict::Faster, None));
        let (low, high) = c.ratio.interval.unwrap();
        assert!(low > 1.25 && high < 1.6 && (c.ratio.value - 1.411).abs() < 0.01, "{c:?}");
        // Each machine is measured as exactly, but they differ as much as the groups do.
        let near = of(&[1.0, 1.4, 1.05, 1.1, 1.5, 1.2]).unwrap();
        assert_eq!(near.comparisons[0].verdict, Verdict::Undecided, "{near:?}");
        let mean = |group: &str| near.means.iter().find(|m| m.group == group).unwrap().value;
        let ratio = mean("b") / mean("a");
        assert!((ratio - near.comparisons[0].ratio.value).abs() < 1e-9);
    }

    /// A slow rise over the machines was taken for rounds that resemble each other, and the interval was many times as wide.
    #[test]
    fn the_order_of_machines_says_nothing() {
        let interval = |rates: &[f64]| of(rates).unwrap().comparisons[0].ratio.interval.unwrap();
        let risen = interval(&[1.0, 1.02, 1.04, 1.06, 1.08, 1.10, 1.4, 1.42, 1.44, 1.46, 1.48, 1.50]);
        let mixed = interval(&[1.06, 1.0, 1.10, 1.04, 1.02, 1.08, 1.46, 1.4, 1.50, 1.44, 1.42, 1.48]);
        assert!((risen.0 / mixed.0 - 1.0).abs() < 1e-9 && (risen.1 / mixed.1 - 1.0).abs() < 1e-9);
        assert!(risen.1 / risen.0 < 1.15, "{risen:?}");
    }

    #[test]
    fn one_machine_is_no_sample() {
        assert_eq!(of(&[1.0, 1.4]), None);
        let mut lonely = on_machines(&[1.0, 1.1, 1.4, 1.5]);
        lonely.started.targets.iter_mut().for_each(|target| drop(target.labels.remove(GROUP)));
        assert_eq!(groups(&lonely, &measurements(&lonely, Estimator::Mean), "m0"), None);
    }
}
