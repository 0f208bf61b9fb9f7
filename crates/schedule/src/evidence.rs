//! What has been measured so far, as far as further rounds depend on it.

use std::collections::{BTreeMap, BTreeSet};

use analyse::Series;

use crate::Measured;

/// What has been measured so far.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    /// The headline figures, one value per good repeat.
    pub series: Vec<Series>,
    /// Complete repeats that count, by step and target.
    pub complete: BTreeMap<(String, String), u32>,
    /// Bytes written so far, and the largest size of the test data, by target.
    pub written: BTreeMap<String, (u64, u64)>,
    /// Nanoseconds that the last repeat of a step on a lane took, including what surrounds it.
    pub took_ns: BTreeMap<(usize, usize), u64>,
}

impl Evidence {
    /// Records a repeat of a round.
    pub fn record(&mut self, (step, target): (&str, &str), round: u32, measured: &Measured) {
        let (bytes, size) = self.written.entry(target.to_owned()).or_default();
        *bytes = bytes.saturating_add(measured.written_bytes);
        *size = measured.size_bytes.max(*size);
        if measured.is_complete {
            *self.complete.entry((step.to_owned(), target.to_owned())).or_default() += 1;
        }
        for (operation, metric, value, exposure) in &measured.figures {
            let same = |s: &&mut Series| {
                s.step == step && s.target == target && s.operation == *operation && s.metric == *metric
            };
            match self.series.iter_mut().find(same) {
                Some(series) => {
                    series.values.push((round, *value));
                    series.exposures.extend(*exposure);
                }
                None => self.series.push(Series {
                    run: 0,
                    target: target.to_owned(),
                    step: step.to_owned(),
                    operation: *operation,
                    metric: *metric,
                    is_headline: true,
                    values: vec![(round, *value)],
                    exposures: Vec::from_iter(*exposure),
                }),
            }
        }
    }

    /// Forgets what a step measured in these rounds.
    pub fn forget(&mut self, step: &str, rounds: &BTreeSet<u32>) {
        for series in self.series.iter_mut().filter(|series| series.step == step) {
            series.values.retain(|(round, _)| !rounds.contains(round));
            series.exposures.retain(|exposure| !rounds.contains(&exposure.round));
        }
    }

    /// Steps and targets whose first `enough` repeats ended and gave no figure, such as phases that bonnie++ calls too
    /// short.
    pub fn without_figures(&self, enough: u32) -> BTreeSet<(String, String)> {
        let has_figure = |step: &str, target: &str| {
            self.series.iter().any(|series| series.step == step && series.target == target)
        };
        let silent = self
            .complete
            .iter()
            .filter(|((step, target), repeats)| **repeats >= enough && !has_figure(step, target));
        silent.map(|(of, _)| of.clone()).collect()
    }
}
