//! Differences by time of day: runs of one plan at several hours.
//!
//! Each day has its own circumstances, so hours are compared within days where the runs allow it: the values of a day are
//! assigned to its hours at random many times (a permutation test with days as blocks; see Edgington, "Randomization
//! Tests", 1980), and the differences between the hours are compared with those of the random assignments. Runs of one
//! hour of one day count as one value, because they share the circumstances of that hour. Where most days have only one
//! hour, the values are permuted over all days, and the result states that days are not separated. Holm's correction is
//! over the steps of the plan.
//!
//! The caller passes the reader's local hour: nothing here reads a clock.

use std::collections::BTreeSet;

use model::{Better, Estimate, PortableMath, Run};
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::compare::headline;
use crate::history::{History, PastFigure};
use crate::measure::measurements;
use crate::stats::{mean_and_deviation, t_quantile};

/// Accepted chance, over all steps, that equal hours are reported to differ.
const ALPHA: f64 = 0.05;
/// Number of random assignments of values to hours, in addition to the true one.
const SHUFFLES: usize = 9_999;
/// Runs of which the hours are looked at.
const FEWEST_RUNS: usize = 3;
/// Seed of the shuffling: the same runs give the same answer.
const SEED: u64 = 1;

/// One run: the local hour at which it began (0 to 23), the number of its local day, and its speed (above 0;
/// higher is faster).
pub type RunAt = (u8, i64, f64);

/// The verdict on the hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoursVerdict {
    /// The hours differ.
    Differ,
    /// No difference between the hours was found.
    NotShown,
    /// Too few runs to show any difference; with `missing` more, spread evenly over these hours, they could.
    TooFew {
        /// Number of missing runs.
        missing: usize,
    },
    /// All runs were made in the same hour of the day.
    OneHour,
}

/// One hour of the day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HourFigure {
    /// The hour, 0 to 23.
    pub hour: u8,
    /// Runs that began in it.
    pub runs: usize,
    /// Speed ÷ speed at the other hours, with a simultaneous 95 % interval over all hours.
    pub speed: Estimate,
}

impl HourFigure {
    /// True if its whole interval is slower than the other hours.
    pub fn is_slower(&self) -> bool {
        self.speed.interval.is_some_and(|(_, high)| high < 1.0)
    }
}

/// The hours of one step on one target.
#[derive(Clone, Debug, PartialEq)]
pub struct ByHour {
    /// The hours with runs, in order.
    pub hours: Vec<HourFigure>,
    /// Compared within days; otherwise the figures include differences between days.
    pub within_days: bool,
    /// Probability that equal hours look like this, before any correction.
    pub p: f64,
    /// The verdict, at 5 % over the steps judged together.
    pub verdict: HoursVerdict,
}

/// The hours of one step.
pub fn by_hour(runs: &[RunAt]) -> ByHour {
    by_hour_of_steps(&[runs.to_vec()]).remove(0)
}

/// The hours of several steps of the same runs, judged together by Holm's procedure.
fn by_hour_of_steps(steps: &[Vec<RunAt>]) -> Vec<ByHour> {
    let designs: Vec<Design> = steps.iter().map(|runs| Design::new(runs)).collect();
    let mut found: Vec<ByHour> = designs.iter().map(Design::unjudged).collect();
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by(|a, b| found[*a].p.total_cmp(&found[*b].p));
    let mut rejecting = true;
    for (i, step) in order.into_iter().enumerate() {
        rejecting = rejecting && found[step].p <= ALPHA / (steps.len() - i) as f64;
        let strictest = ALPHA / steps.len() as f64;
        found[step].verdict = match designs[step].missing(strictest) {
            _ if found[step].hours.len() < 2 => HoursVerdict::OneHour,
            _ if rejecting => HoursVerdict::Differ,
            0 => HoursVerdict::NotShown,
            missing => HoursVerdict::TooFew { missing },
        };
    }
    found
}

/// The logarithm of the speed in one hour of one day.
#[derive(Clone, Copy, Debug)]
struct Cell {
    hour: usize,
    day: i64,
    runs: usize,
    log: f64,
}

/// The values, grouped by what may be exchanged.
struct Design {
    /// The hours with runs.
    hours: Vec<u8>,
    /// How many runs began in each.
    runs: Vec<usize>,
    /// Sorted by day.
    cells: Vec<Cell>,
    within_days: bool,
}

impl Design {
    fn new(runs: &[RunAt]) -> Self {
        let mut hours: Vec<u8> = runs.iter().map(|(hour, ..)| *hour).collect();
        hours.sort_unstable();
        hours.dedup();
        let mut cells: Vec<Cell> = Vec::new();
        for (hour, day, speed) in runs.iter().filter(|(.., speed)| speed.is_finite() && *speed > 0.0) {
            let hour = hours.binary_search(hour).unwrap_or_default();
            match cells.iter_mut().find(|c| c.hour == hour && c.day == *day) {
                Some(cell) => {
                    cell.runs += 1;
                    cell.log += (speed.portable_ln() - cell.log) / cell.runs as f64;
                }
                None => cells.push(Cell { hour, day: *day, runs: 1, log: speed.portable_ln() }),
            }
        }
        cells.sort_by_key(|c| (c.day, c.hour));
        let runs_at = |hour| cells.iter().filter(|c| c.hour == hour).map(|c| c.runs).sum();
        let runs = (0..hours.len()).map(runs_at).collect();
        let shared: usize = cells.chunk_by(|a, b| a.day == b.day).map(<[_]>::len).filter(|n| *n > 1).sum();
        let within_days = shared * 2 > cells.len();
        if within_days {
            // A day with one hour has no information about hours.
            cells = cells
                .chunk_by(|a, b| a.day == b.day)
                .filter(|day| day.len() > 1)
                .flatten()
                .copied()
                .collect();
        }
        Self { hours, runs, cells, within_days }
    }

    /// Cells that may be exchanged for each other.
    fn blocks(&self) -> Vec<&[Cell]> {
        match self.within_days {
            true => self.cells.chunk_by(|a, b| a.day == b.day).collect(),
            false => vec![&self.cells],
        }
    }

    fn unjudged(&self) -> ByHour {
        let hours = (0..self.hours.len()).map(|hour| self.figure(hour)).collect();
        ByHour { hours, within_days: self.within_days, p: self.p(), verdict: HoursVerdict::NotShown }
    }

    /// Share of the assignments of values to hours, the true one included, in which the hours differ at least as much,
    /// measured by the sum over the hours of (sum of their deviations)² ÷ number.
    fn p(&self) -> f64 {
        if self.hours.len() < 2 || self.cells.len() < 3 {
            return 1.0;
        }
        let mut values: Vec<Vec<f64>> = self.blocks().iter().map(|block| deviations(block)).collect();
        let hour_of: Vec<usize> = self.blocks().concat().iter().map(|cell| cell.hour).collect();
        let mut counts = vec![0.0; self.hours.len()];
        hour_of.iter().for_each(|hour| counts[*hour] += 1.0);
        let difference = |values: &[Vec<f64>]| -> f64 {
            let mut sums = vec![0.0; counts.len()];
            hour_of.iter().zip(values.iter().flatten()).for_each(|(hour, v)| sums[*hour] += v);
            sums.iter()
                .zip(&counts)
                .filter(|(_, n)| **n > 0.0)
                .map(|(sum, n): (&f64, &f64)| sum * sum / n)
                .sum()
        };
        // Rounding must not make an equal sum in another order count as smaller.
        let observed = difference(&values) * (1.0 - 1e-9);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(SEED);
        let as_large = (0..SHUFFLES)
            .filter(|_| {
                values.iter_mut().for_each(|block| block.shuffle(&mut rng));
                difference(&values) >= observed
            })
            .count();
        (as_large + 1) as f64 / (SHUFFLES + 1) as f64
    }

    /// An hour against the others.
    fn figure(&self, hour: usize) -> HourFigure {
        let log = if self.within_days { self.within_days_of(hour) } else { self.across_days_of(hour) };
        let speed = Estimate {
            value: log.0.portable_exp(),
            interval: log.1.map(|half| ((log.0 - half).portable_exp(), (log.0 + half).portable_exp())),
        };
        HourFigure { hour: self.hours[hour], runs: self.runs[hour], speed }
    }

    /// The quantile of Student's t for simultaneous intervals over all hours (Bonferroni).
    fn quantile(&self, freedom: f64) -> f64 {
        t_quantile(1.0 - ALPHA / 2.0 / self.hours.len() as f64, freedom)
    }

    /// Mean over the days of the hour less the mean of the day's other hours, and the half-width of its interval.
    fn within_days_of(&self, hour: usize) -> (f64, Option<f64>) {
        let differences: Vec<f64> = self
            .blocks()
            .iter()
            .filter_map(|day| {
                let own = day.iter().find(|c| c.hour == hour)?.log;
                let others: f64 = day.iter().filter(|c| c.hour != hour).map(|c| c.log).sum();
                Some(own - others / (day.len() - 1) as f64)
            })
            .collect();
        let n = differences.len() as f64;
        match mean_and_deviation(&differences) {
            Some((mean, deviation)) => (mean, Some(self.quantile(n - 1.0) * deviation / n.sqrt())),
            None => (differences.first().copied().unwrap_or(f64::NAN), None),
        }
    }

    /// Mean of the hour less the mean of all others, and the half-width of Welch's interval.
    fn across_days_of(&self, hour: usize) -> (f64, Option<f64>) {
        let (own, others): (Vec<Cell>, Vec<Cell>) = self.cells.iter().partition(|c| c.hour == hour);
        let logs = |cells: &[Cell]| cells.iter().map(|c| c.log).collect::<Vec<f64>>();
        let (own, others) = (logs(&own), logs(&others));
        let mean = |logs: &[f64]| logs.iter().sum::<f64>() / logs.len() as f64;
        let half = mean_and_deviation(&own).zip(mean_and_deviation(&others)).map(|((_, a), (_, b))| {
            let (n, m) = (own.len() as f64, others.len() as f64);
            let (va, vb) = (a * a / n, b * b / m);
            let shares = va * va / (n - 1.0) + vb * vb / (m - 1.0);
            let freedom = if shares > 0.0 { (va + vb).powi(2) / shares } else { n + m - 2.0 };
            self.quantile(freedom) * (va + vb).sqrt()
        });
        (mean(&own) - mean(&others), half)
    }

    /// Number of further runs before the clearest difference could be significant at `alpha`: whole days with all these
    /// hours, or further runs at each of them.
    fn missing(&self, alpha: f64) -> usize {
        let hours = self.hours.len().max(2);
        let more =
            (0..).find(|more| self.least_log_p(*more, hours) <= alpha.portable_ln()).unwrap_or_default();
        more * hours
    }

    /// Logarithm of the smallest possible p with `more` further days, or runs at each hour: one in the number of assignments
    /// of values to hours, times the permutations of the hours that give the same difference.
    fn least_log_p(&self, more: usize, hours: usize) -> f64 {
        if self.within_days {
            let largest = self.blocks().iter().map(|b| b.len()).max().unwrap_or(hours).max(hours);
            let now: f64 = self.blocks().iter().map(|day| log_factorial(day.len())).sum();
            return log_factorial(largest) - now - more as f64 * log_factorial(hours);
        }
        let mut sizes: Vec<usize> =
            (0..hours).map(|hour| self.cells.iter().filter(|c| c.hour == hour).count() + more).collect();
        sizes.sort_unstable();
        let alike: f64 = sizes.chunk_by(|a, b| a == b).map(|same| log_factorial(same.len())).sum();
        let ways = log_factorial(sizes.iter().sum()) - sizes.iter().map(|n| log_factorial(*n)).sum::<f64>();
        alike - ways
    }
}

fn log_factorial(n: usize) -> f64 {
    (2..=n).map(|i| (i as f64).portable_ln()).sum()
}

/// The logarithms less their mean.
fn deviations(block: &[Cell]) -> Vec<f64> {
    let mean = block.iter().map(|c| c.log).sum::<f64>() / block.len() as f64;
    block.iter().map(|c| c.log - mean).collect()
}

/// The hours of all steps of one target in several runs of one plan on one machine.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetByHour {
    /// The target's name.
    pub target: String,
    /// The plan's id.
    pub plan: String,
    /// Runs that measured it.
    pub runs: usize,
    /// Each step with its hours.
    pub steps: Vec<(String, ByHour)>,
}

/// Groups runs by machine, plan and target, and analyses the hours of each group of three runs or more. Each run comes with
/// the local hour at which it began and the number of its local day. A step's speed in a run is the geometric mean of its
/// headline values (inverted for latencies) over its operations and repeats; steps that are not in all runs of the group
/// are left out.
pub fn runs_by_hour(runs: &[(&Run, u8, i64)]) -> Vec<TargetByHour> {
    let key = |run: &Run, target: &str| {
        (run.started.host.id.clone(), run.started.plan.id.clone(), target.to_owned())
    };
    let mut groups: Vec<((String, String, String), Vec<usize>)> = Vec::new();
    for (i, (run, ..)) in runs.iter().enumerate() {
        for target in &run.started.targets {
            let key = key(run, &target.name);
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, members)) => members.push(i),
                None => groups.push((key, vec![i])),
            }
        }
    }
    let group = |((_, plan, target), members): ((String, String, String), Vec<usize>)| {
        let members: Vec<_> = members.into_iter().map(|i| runs[i]).collect();
        let speeds: Vec<Vec<(String, f64)>> = members.iter().map(|(run, ..)| speeds(run, &target)).collect();
        let mut steps: Vec<(String, Vec<RunAt>)> = Vec::new();
        for (step, _) in speeds.first()? {
            let of = |speeds: &Vec<(String, f64)>| speeds.iter().find(|(s, _)| s == step).map(|(_, v)| *v);
            let Some(values) = speeds.iter().map(of).collect::<Option<Vec<f64>>>() else { continue };
            let at = members.iter().zip(values).map(|((_, hour, day), v)| (*hour, *day, v)).collect();
            steps.push((step.clone(), at));
        }
        let judged = by_hour_of_steps(&steps.iter().map(|(_, runs)| runs.clone()).collect::<Vec<_>>());
        let steps: Vec<_> = steps.into_iter().map(|(step, _)| step).zip(judged).collect();
        (!steps.is_empty()).then_some(TargetByHour { target, plan, runs: members.len(), steps })
    };
    groups.into_iter().filter(|(_, members)| members.len() >= FEWEST_RUNS).filter_map(group).collect()
}

/// The hours of the day of figures that are followed from run to run, for each target of each machine with three runs or more. `at`
/// has the local hour at which a run began and the number of its local day.
pub fn histories_by_hour(histories: &[History], at: impl Fn(usize) -> (u8, i64)) -> Vec<TargetByHour> {
    let hosts: BTreeSet<&str> = histories.iter().map(|history| history.key.host.as_str()).collect();
    let place = |history: &History| (history.key.host.clone(), history.key.target.clone());
    let places: BTreeSet<(String, String)> = histories.iter().map(place).collect();
    let of_place = |of: (String, String)| {
        let own: Vec<&History> =
            histories.iter().filter(|h| place(h) == of && h.figures.len() >= FEWEST_RUNS).collect();
        let runs_at = |history: &&History| -> Vec<RunAt> {
            let is_inverse = history.key.metric.better() == Better::Lower;
            let speed = |value: f64| if is_inverse { 1.0 / value } else { value };
            let run = |past: &PastFigure| {
                let (hour, day) = at(past.run);
                (hour, day, speed(past.figure.value))
            };
            history.figures.iter().map(run).collect()
        };
        let steps: Vec<Vec<RunAt>> = own.iter().map(runs_at).collect();
        let runs = steps.iter().map(Vec::len).max()?;
        let names = own.iter().map(|history| history.key.step.clone());
        let steps = names.zip(by_hour_of_steps(&steps)).collect();
        let (host, target) = of;
        let target = if hosts.len() > 1 { format!("{target} of {host}") } else { target };
        Some(TargetByHour { target, plan: String::new(), runs, steps })
    };
    places.into_iter().filter_map(of_place).collect()
}

/// Each step of a run with the speed of one target in it.
fn speeds(run: &Run, target: &str) -> Vec<(String, f64)> {
    let measurements = measurements(run, crate::Estimator::Mean);
    let speed = |step: &model::Step| {
        let logs: Vec<f64> = measurements
            .iter()
            .filter(|m| {
                m.target == target && m.step == step.id && headline(step, m.operation) == Some(m.metric)
            })
            .map(|m| {
                let sign = if m.metric.better() == Better::Lower { -1.0 } else { 1.0 };
                sign * m.values.iter().map(|(_, v)| v.portable_ln()).sum::<f64>() / m.values.len() as f64
            })
            .collect();
        (!logs.is_empty())
            .then(|| (step.id.clone(), (logs.iter().sum::<f64>() / logs.len() as f64).portable_exp()))
    };
    run.started.plan.steps.iter().filter_map(speed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, Normal};

    /// Runs at these hours of `days` days; the level of a day varies by 20 %, a run by 2 %.
    fn runs(days: i64, hours: &[u8], speed: fn(u8) -> f64, seed: u64) -> Vec<RunAt> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut draw = |spread: f64| -> f64 { Normal::new(0.0, spread).unwrap().sample(&mut rng) };
        let mut found = Vec::new();
        for day in 0..days {
            let level = draw(0.2);
            for hour in hours {
                found.push((*hour, day, 100.0 * speed(*hour) * (level + draw(0.02)).portable_exp()));
            }
        }
        found
    }

    #[test]
    fn the_hours_of_histories_are_those_of_their_runs() {
        use crate::history::{FigureKey, histories};
        let made = runs(10, &[8, 20], evening, 5);
        let key = |step: &str, metric| FigureKey {
            host: "pi".to_owned(),
            target: "disk".to_owned(),
            step: step.to_owned(),
            workload: 1,
            operation: model::Operation::Read,
            metric,
        };
        let past = |of: fn(f64) -> f64| -> Vec<PastFigure> {
            let figure = |(run, (_, _, value)): (usize, &RunAt)| PastFigure {
                run,
                figure: Estimate { value: of(*value), interval: None },
            };
            made.iter().enumerate().map(figure).collect()
        };
        let followed = histories(vec![
            (key("reads", model::Metric::Bandwidth), past(|value| value)),
            (key("paced", model::Metric::LatP99), past(|value| 1.0 / value)),
        ]);
        let found = histories_by_hour(&followed, |run| (made[run].0, made[run].1));
        let [disk] = &found[..] else { panic!("{found:?}") };
        assert_eq!((disk.target.as_str(), disk.runs, disk.steps.len()), ("disk", 20, 2));
        for (step, hours) in &disk.steps {
            assert_eq!(hours.verdict, HoursVerdict::Differ, "{step}");
            assert!(
                hours.hours.iter().all(|hour| hour.is_slower() == (hour.hour == 20)),
                "{step}: {hours:?}"
            );
        }
    }

    fn evening(hour: u8) -> f64 {
        if hour == 20 { 0.8 } else { 1.0 }
    }

    #[test]
    fn a_slow_hour_is_found_despite_different_days() {
        let found = by_hour(&runs(6, &[8, 14, 20], evening, 1));
        assert_eq!(found.verdict, HoursVerdict::Differ, "{found:?}");
        assert!(found.within_days && found.p < 0.01);
        let slower: Vec<u8> = found.hours.iter().filter(|h| h.is_slower()).map(|h| h.hour).collect();
        assert_eq!(slower, [20]);
        let (low, high) = found.hours[2].speed.interval.unwrap();
        assert!(low < 0.8 && 0.8 < high && high < 0.9 && found.hours[2].runs == 6, "{found:?}");
    }

    #[test]
    fn equal_hours_rarely_differ() {
        for hours in [&[8, 20][..], &[3, 9, 15, 21]] {
            let wrong = |seed: &u64| by_hour(&runs(7, hours, |_| 1.0, *seed)).verdict == HoursVerdict::Differ;
            let wrong = (0..100).filter(wrong).count();
            assert!(wrong <= 10, "{wrong} of 100 at {hours:?}");
        }
    }

    #[test]
    fn too_few_runs_report_the_missing_number() {
        // Two hours on each of five days: 2 of 2^5 assignments are as clear as the clearest, and 1/16 is above 5 %.
        let five = by_hour(&runs(5, &[8, 20], evening, 2));
        assert_eq!(five.verdict, HoursVerdict::TooFew { missing: 2 });
        assert_eq!(by_hour(&runs(6, &[8, 20], evening, 2)).verdict, HoursVerdict::Differ);
        let apart: Vec<_> = runs(6, &[8, 20], evening, 2)
            .into_iter()
            .enumerate()
            .map(|(i, r)| (r.0, i as i64, r.2))
            .collect();
        let found = by_hour(&apart);
        assert!(!found.within_days && !matches!(found.verdict, HoursVerdict::TooFew { .. }), "{found:?}");
        let three = by_hour(&apart[..3]);
        assert!(matches!(three.verdict, HoursVerdict::TooFew { missing: 4..=8 }), "{three:?}");
    }

    #[test]
    fn runs_of_one_hour_of_one_day_are_one_value() {
        let mut all = runs(1, &[8, 20], evening, 3);
        let again = all.clone();
        (0..10).for_each(|_| all.extend(again.iter().copied()));
        let found = by_hour(&all);
        assert!(matches!(found.verdict, HoursVerdict::TooFew { missing: 10 }), "{found:?}");
        assert_eq!(found.hours[0].runs, 11);
    }

    #[test]
    fn one_hour_is_no_comparison() {
        assert_eq!(by_hour(&runs(9, &[8], |_| 1.0, 4)).verdict, HoursVerdict::OneHour);
        assert_eq!(by_hour(&[]).verdict, HoursVerdict::OneHour);
    }

    #[test]
    fn steps_are_judged_together() {
        // Six days at two hours: 1/32 is enough for one step and not for twenty.
        let steps: Vec<_> = (0..20).map(|seed| runs(6, &[8, 20], |_| 1.0, seed)).collect();
        let found = by_hour_of_steps(&steps);
        assert!(found.iter().all(|f| matches!(f.verdict, HoursVerdict::TooFew { missing: 8 })), "{found:?}");
    }

    #[test]
    fn runs_are_grouped_by_machine_plan_and_target() {
        let base = crate::measure::tests::run(crate::measure::tests::workload());
        let mut elsewhere = base.clone();
        elsewhere.started.host.id = "other".into();
        let found = runs_by_hour(&[(&base, 8, 0), (&base, 9, 0), (&base, 9, 1), (&elsewhere, 9, 1)]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].target.as_str(), found[0].runs, found[0].steps.len()), ("disk", 3, 1));
        assert_eq!(found[0].steps[0].1.hours.iter().map(|h| h.runs).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(runs_by_hour(&[(&base, 8, 0), (&base, 9, 0)]), []);
    }
}
