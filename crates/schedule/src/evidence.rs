//! What has been measured so far, as far as further rounds depend on it.

use std::collections::{BTreeMap, BTreeSet};

use analyse::{Sample, Series, is_required, percentile_by_round};
use model::{Histogram, Plan};

use crate::{Measured, WatchedFigure};

/// A figure, one value per good repeat, with its latencies by round if it is a percentile.
type Figure = (Series, Vec<(u32, Histogram)>);

/// What has been measured so far.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    /// How often each target was made.
    makings: u32,
    /// The figures that verdicts are about, one value per good repeat, with the latencies of those that are percentiles.
    figures: Vec<Figure>,
    /// Complete repeats that count, by step and target.
    pub complete: BTreeMap<(String, String), u32>,
    /// Bytes written so far, and the largest size of the test data, by target.
    pub written: BTreeMap<String, (u64, u64)>,
    /// Nanoseconds that the last repeat of a step on a lane took, including what surrounds it.
    pub took_ns: BTreeMap<(usize, usize), u64>,
}

impl Evidence {
    /// Nothing yet, on targets that were made so often.
    pub fn of_makings(makings: u32) -> Self {
        Self { makings, ..Self::default() }
    }

    /// Records a repeat of a round.
    pub fn record(&mut self, (step, target): (&str, &str), round: u32, measured: &Measured) {
        let (bytes, size) = self.written.entry(target.to_owned()).or_default();
        *bytes = bytes.saturating_add(measured.written_bytes);
        *size = measured.size_bytes.max(*size);
        if measured.is_complete {
            *self.complete.entry((step.to_owned(), target.to_owned())).or_default() += 1;
        }
        for WatchedFigure { operation, metric, value, exposure, latencies, is_headline } in &measured.figures
        {
            let same = |(s, _): &Figure| {
                s.step == step && s.target == target && s.operation == *operation && s.metric == *metric
            };
            let at = self.figures.iter().position(same).unwrap_or_else(|| {
                let (values, exposures) = (Vec::new(), Vec::new());
                let (target, step) = (target.to_owned(), step.to_owned());
                let (operation, metric, is_headline) = (*operation, *metric, *is_headline);
                let makings = self.makings;
                let series = Series {
                    run: 0,
                    target,
                    step,
                    operation,
                    metric,
                    is_headline,
                    values,
                    exposures,
                    makings,
                };
                self.figures.push((series, Vec::new()));
                self.figures.len() - 1
            });
            let (series, all) = &mut self.figures[at];
            series.values.push((round, *value));
            series.exposures.extend(*exposure);
            all.extend(latencies.clone().map(|latencies| (round, latencies)));
        }
    }

    /// The figures as a result compares them: of a percentile what all rounds together say.
    pub fn series(&self) -> Vec<Series> {
        let whole = |(series, latencies): &Figure| {
            let values =
                percentile_by_round(series.metric, latencies).unwrap_or_else(|| series.values.clone());
            Series { values, ..series.clone() }
        };
        self.figures.iter().map(whole).collect()
    }

    /// The figures that a plan requires something of, with their numbers of operations, where latencies tell them.
    pub fn samples(&self, plan: &Plan) -> Vec<Sample> {
        let is_required = |s: &Series| is_required(plan, &s.step, s.operation, s.metric, s.is_headline);
        let own = self.series().into_iter().zip(&self.figures).filter(|(series, _)| is_required(series));
        let sample = |(series, (own, latencies)): (Series, &Figure)| Sample {
            series,
            each: own.values.iter().map(|(_, value)| *value).collect(),
            operations: latencies.iter().map(|(_, latencies)| latencies.count()).sum(),
        };
        own.map(sample).collect()
    }

    /// The headline figures of a step, each as it was in its round.
    pub fn of_step<'a>(&'a self, step: &'a str) -> impl Iterator<Item = &'a Series> {
        let own = self.figures.iter().map(|(series, _)| series);
        own.filter(move |series| series.step == step && series.is_headline)
    }

    /// Forgets what a step measured in these rounds.
    pub fn forget(&mut self, step: &str, rounds: &BTreeSet<u32>) {
        for (series, latencies) in self.figures.iter_mut().filter(|(series, _)| series.step == step) {
            latencies.retain(|(round, _)| !rounds.contains(round));
            series.values.retain(|(round, _)| !rounds.contains(round));
            series.exposures.retain(|exposure| !rounds.contains(&exposure.round));
        }
    }

    /// Steps and targets whose first `enough` repeats ended and gave no figure, such as phases that bonnie++ calls too
    /// short.
    pub fn without_figures(&self, enough: u32) -> BTreeSet<(String, String)> {
        let has_figure = |step: &str, target: &str| self.of_step(step).any(|series| series.target == target);
        let silent = self
            .complete
            .iter()
            .filter(|((step, target), repeats)| **repeats >= enough && !has_figure(step, target));
        silent.map(|(of, _)| of.clone()).collect()
    }
}
