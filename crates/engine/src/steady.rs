//! Decides when a repeat may end because its figure is steady.

use std::collections::VecDeque;

use model::{Interval, SteadyFigure, SteadyRule};

/// Nanoseconds between two checks, and covered by one value.
const STEP_NS: u64 = 1_000_000_000;

/// Values of the figure, one for each second, and the rule that judges them.
#[derive(Debug)]
pub(crate) struct Steadiness {
    rule: SteadyRule,
    begin_ns: u64,
    values: VecDeque<f64>,
    /// Sums for the current second: operations, bytes, nanoseconds of latency, and its length.
    operations: u64,
    bytes: u64,
    lat_ns: f64,
    len_ns: u64,
}

impl Steadiness {
    /// Applies `rule` to what follows a ramp of `ramp_ns` nanoseconds.
    pub fn new(rule: SteadyRule, ramp_ns: u64) -> Self {
        let begin_ns = rule.ramp_ns + ramp_ns;
        Self { rule, begin_ns, values: VecDeque::new(), operations: 0, bytes: 0, lat_ns: 0.0, len_ns: 0 }
    }

    /// Takes an interval into account; true if the figure is steady now.
    pub fn is_reached(&mut self, interval: &Interval) -> bool {
        if interval.start_ns < self.begin_ns {
            return false;
        }
        for (operation, stats) in &interval.operations {
            if operation.moves_data() && *operation != model::Operation::DurableWrite {
                self.operations += stats.count;
                self.bytes += stats.bytes;
                self.lat_ns += stats.lat.mean_ns().unwrap_or(0.0) * stats.lat.count() as f64;
            }
        }
        self.len_ns += interval.len_ns;
        if self.len_ns < STEP_NS {
            return false;
        }
        let value = match self.rule.figure {
            SteadyFigure::Iops => self.operations as f64 * 1e9 / self.len_ns as f64,
            SteadyFigure::Bandwidth => self.bytes as f64 * 1e9 / self.len_ns as f64,
            SteadyFigure::Latency => self.lat_ns / self.operations.max(1) as f64,
        };
        (self.operations, self.bytes, self.lat_ns, self.len_ns) = (0, 0, 0.0, 0);
        self.values.push_back(value);
        let wanted = (self.rule.window_ns / STEP_NS).max(2) as usize;
        while self.values.len() > wanted {
            self.values.pop_front();
        }
        self.values.len() == wanted && self.deviation_percent() <= self.rule.limit_percent
    }

    /// The slope per second, or the largest distance from the mean, in percent of the mean.
    fn deviation_percent(&self) -> f64 {
        let n = self.values.len() as f64;
        let mean = self.values.iter().sum::<f64>() / n;
        if mean <= 0.0 {
            return f64::INFINITY;
        }
        let deviation = if self.rule.slope {
            let middle = (n - 1.0) / 2.0;
            let at = |i: usize| i as f64 - middle;
            let along: f64 = self.values.iter().enumerate().map(|(i, v)| at(i) * (v - mean)).sum();
            let across: f64 = (0..self.values.len()).map(|i| at(i).powi(2)).sum();
            (along / across).abs()
        } else {
            self.values.iter().map(|v| (v - mean).abs()).fold(0.0, f64::max)
        };
        100.0 * deviation / mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Operation, OperationStats, Phase};
    use std::collections::BTreeMap;

    /// The second in which these operations per second, one value per second, are found steady.
    fn steady_after(slope: bool, limit_percent: f64, values: &[u64]) -> Option<usize> {
        let rule = SteadyRule {
            figure: SteadyFigure::Iops,
            slope,
            limit_percent,
            window_ns: 5 * STEP_NS,
            ramp_ns: 2 * STEP_NS,
        };
        let mut steady = Steadiness::new(rule, 0);
        values.iter().enumerate().position(|(second, count)| {
            let stats = OperationStats { count: count / 2, bytes: count * 2048, ..OperationStats::default() };
            (0..2).any(|half| {
                steady.is_reached(&Interval {
                    repeat: 0,
                    phase: Phase::Measure,
                    start_ns: second as u64 * STEP_NS + half * STEP_NS / 2,
                    len_ns: STEP_NS / 2,
                    operations: BTreeMap::from([(Operation::Read, stats.clone())]),
                    in_flight_ns: 0,
                })
            })
        })
    }

    #[test]
    fn a_figure_is_steady_when_its_last_seconds_meet_the_rule() {
        let settles = [900, 900, 500, 400, 300, 200, 200, 202, 198, 200, 200, 200];
        assert_eq!(steady_after(false, 5.0, &settles), Some(9));
        assert_eq!(steady_after(true, 1.0, &settles), Some(9));
        assert_eq!(steady_after(false, 0.1, &settles), None);
        let falls: Vec<u64> = (0..30).map(|s| 4000 - 100 * s).collect();
        assert_eq!(steady_after(true, 1.0, &falls), None);
        assert_eq!(steady_after(false, 10.0, &[200; 6]), None, "two seconds of ramp and four are too few");
        assert_eq!(steady_after(false, 10.0, &[0; 30]), None, "nothing at all is not steady");
    }
}
