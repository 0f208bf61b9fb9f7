//! What became of the same figure from run to run.

use model::{Estimate, Metric, Operation, PortableMath};

use crate::change_points::{Course, Point, RUNS_OF_A_CHANGE, course};
use crate::ratio::holm;

/// Which figure it is: what has the same one can be followed from run to run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FigureKey {
    /// Name of the machine.
    pub host: String,
    /// Name of the target.
    pub target: String,
    /// Id of the step.
    pub step: String,
    /// Digest of what the step does: a figure of another workload is another figure.
    pub workload: u64,
    /// Operation.
    pub operation: Operation,
    /// Metric.
    pub metric: Metric,
}

/// The figure of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct PastFigure {
    /// Number of the run among those of the history, oldest first.
    pub run: usize,
    /// The figure.
    pub figure: Estimate,
}

/// A figure from run to run.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// Which figure.
    pub key: FigureKey,
    /// Its values, oldest first.
    pub figures: Vec<PastFigure>,
    /// What they do. A change that could be chance, given how many figures are followed, is no more than suspected.
    pub course: Course,
}

impl History {
    /// The figure as it is now: the mean, as a logarithm, of the runs since the last confirmed change, or of the last four where it drifts.
    pub fn now(&self) -> f64 {
        let own = self.current();
        (own.iter().map(|f| f.figure.value.portable_ln()).sum::<f64>() / own.len() as f64).portable_exp()
    }

    /// The runs since the last confirmed change, or the last four where it drifts.
    fn current(&self) -> &[PastFigure] {
        let last = self.figures.len().saturating_sub(RUNS_OF_A_CHANGE);
        let changed = self.course.changes.iter().rev().find(|c| c.is_confirmed).map_or(0, |c| c.at);
        &self.figures[if self.course.drift.is_some() { last } else { changed }..]
    }

    /// The median of the runs that [`Self::now`] is of, which one outlier among them does not move; `None` if they are fewer than three.
    pub fn typical(&self) -> Option<f64> {
        let mut own: Vec<f64> = self.current().iter().map(|f| f.figure.value).collect();
        own.sort_by(f64::total_cmp);
        let middle = own.len() / 2;
        (own.len() > 2)
            .then(|| if own.len() % 2 == 1 { own[middle] } else { (own[middle - 1] * own[middle]).sqrt() })
    }
}

/// The histories of figures above zero, in their order; those of fewer than two runs are left out. All are one family: in at most
/// one of twenty families without any change one is confirmed (Holm).
pub fn histories(figures: Vec<(FigureKey, Vec<PastFigure>)>) -> Vec<History> {
    let point = |f: &PastFigure| {
        let log = f.figure.value.portable_ln();
        // A quarter of a 95 % interval is about its standard error.
        let error = f
            .figure
            .interval
            .filter(|(low, _)| *low > 0.0)
            .map(|(low, high)| (high / low).portable_ln() / 4.0);
        Point { log, error: error.unwrap_or(0.0) }
    };
    let mut all: Vec<History> = figures
        .into_iter()
        .map(|(key, mut figures)| {
            figures.retain(|f| f.figure.value > 0.0 && f.figure.value.is_finite());
            figures.sort_by_key(|f| f.run);
            let course = course(&figures.iter().map(point).collect::<Vec<_>>());
            History { key, figures, course }
        })
        .filter(|history| history.figures.len() > 1)
        .collect();
    let rejected = holm(&all.iter().map(|history| history.course.p).collect::<Vec<_>>());
    for (history, is_rejected) in all.iter_mut().zip(rejected) {
        for change in history.course.changes.iter_mut().filter(|_| !is_rejected) {
            change.is_confirmed = false;
        }
    }
    all
}

/// What changed at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// Name of the machine.
    pub host: String,
    /// Number of the first run after it.
    pub run: usize,
    /// Number of the last run before it, of those that have such a figure.
    pub before: usize,
    /// Numbers of the histories, and of their changes.
    pub changes: Vec<(usize, usize)>,
}

/// The confirmed changes, those together that the data allow to be of the same moment; the latest moment first.
pub fn moments(histories: &[History]) -> Vec<Moment> {
    /// A change with the runs that the data allow for it.
    struct Known {
        of: (usize, usize),
        range: (usize, usize),
        run: usize,
        before: usize,
    }
    let mut all: Vec<Known> = Vec::new();
    for (i, history) in histories.iter().enumerate() {
        let run = |at: usize| history.figures[at].run;
        for (c, change) in history.course.changes.iter().enumerate().filter(|(_, change)| change.is_confirmed)
        {
            let range = (run(change.range.0), run(change.range.1));
            all.push(Known { of: (i, c), range, run: run(change.at), before: run(change.at - 1) });
        }
    }
    let host = |known: &Known| histories[known.of.0].key.host.as_str();
    all.sort_by_key(|known| (host(known), known.run));
    let mut groups: Vec<Vec<Known>> = Vec::new();
    for known in all {
        let is_the_same = |group: &&mut Vec<Known>| {
            host(&group[0]) == host(&known)
                && group.iter().all(|other| other.range.0 <= known.run && known.range.0 <= other.run)
                && group.iter().all(|other| other.run <= known.range.1 && known.run <= other.range.1)
        };
        match groups.last_mut().filter(is_the_same) {
            Some(group) => group.push(known),
            None => groups.push(vec![known]),
        }
    }
    let moment = |group: Vec<Known>| {
        // The run that most of them name, of several the first.
        let named = |run: usize| group.iter().filter(|known| known.run == run).count();
        let most = group.iter().min_by_key(|known| (std::cmp::Reverse(named(known.run)), known.run));
        let (run, before) = most.map_or((0, 0), |known| (known.run, known.before));
        let host = host(&group[0]).to_owned();
        Moment { host, run, before, changes: group.iter().map(|known| known.of).collect() }
    };
    let mut moments: Vec<Moment> = groups.into_iter().map(moment).collect();
    moments.sort_by_key(|moment| std::cmp::Reverse(moment.run));
    moments
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, StandardNormal};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    fn key(host: &str, step: &str) -> FigureKey {
        let (host, target, step) = (host.to_owned(), "disk".to_owned(), step.to_owned());
        FigureKey { host, target, step, workload: 1, operation: Operation::Read, metric: Metric::Bandwidth }
    }

    /// A figure that becomes this many times as large with run `at`, of runs that scatter by 3 %.
    fn figure(key: FigureKey, at: usize, ratio: f64, seed: u64) -> (FigureKey, Vec<PastFigure>) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut one = |run: usize| {
            let noise: f64 = StandardNormal.sample(&mut rng);
            let value = 1e6 * if run < at { 1.0 } else { ratio } * (0.03 * noise).portable_exp();
            PastFigure { run, figure: Estimate { value, interval: Some((value * 0.99, value * 1.01)) } }
        };
        (key, (0..40).map(&mut one).collect())
    }

    #[test]
    fn changes_of_the_same_time_on_the_same_machine_are_one_moment() {
        let all = histories(vec![
            figure(key("a", "reads"), 20, 0.8, 1),
            figure(key("a", "writes"), 20, 0.85, 2),
            figure(key("a", "still"), 40, 1.0, 3),
            figure(key("b", "reads"), 30, 0.8, 4),
        ]);
        let found = moments(&all);
        let [late, early] = &found[..] else { panic!("{found:?}") };
        assert_eq!((late.host.as_str(), early.host.as_str()), ("b", "a"));
        assert_eq!((early.run, early.before), (20, 19));
        assert_eq!(early.changes, [(0, 0), (1, 0)]);
        assert!((all[0].now() / 0.8e6 - 1.0).abs() < 0.03, "{}", all[0].now());
        assert!((all[2].now() / 1e6 - 1.0).abs() < 0.03);
    }

    #[test]
    fn among_many_figures_a_change_that_may_be_chance_is_only_suspected() {
        let one = || figure(key("a", "one"), 30, 0.935, 9);
        let alone = histories(vec![one()]).remove(0);
        assert!(alone.course.changes.iter().any(|change| change.is_confirmed), "{:?}", alone.course);
        let others = (0..40).map(|seed| figure(key("a", &format!("{seed}")), 40, 1.0, 100 + seed));
        let all = histories(std::iter::once(one()).chain(others).collect());
        assert!(all[0].course.changes.iter().any(|change| !change.is_confirmed), "{:?}", all[0].course);
        assert_eq!(moments(&all), []);
    }

    #[test]
    fn what_is_no_figure_and_what_is_there_once_has_no_history() {
        let mut single = figure(key("a", "once"), 0, 1.0, 6);
        single.1.truncate(1);
        let mut zeros = figure(key("a", "zeros"), 0, 1.0, 7);
        zeros.1.iter_mut().for_each(|f| f.figure.value = 0.0);
        assert_eq!(histories(vec![single, zeros]), []);
    }
}
