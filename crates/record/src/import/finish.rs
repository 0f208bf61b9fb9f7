//! The last pass over what the importers found in a text: order, impossible figures, and headlines that stay.

use model::{Metric, Operation};

use super::ceilings;
use super::report::{Parsed, ProblemKind, Report, clipped};

impl Parsed {
    /// Sorts everything into the order of the text and removes impossible figures.
    pub(super) fn finish(&mut self) {
        self.reports.sort_by_key(|report| report.line);
        for report in &mut self.reports {
            let refused = ceilings::refuse(report);
            if !refused.is_empty() {
                report.replace_headlines();
            }
            self.problems.extend(refused);
            report.title = clipped(std::mem::take(&mut report.title));
            report.version = report.version.take().map(clipped);
            let has = |operation: &Operation, metric: &Metric| {
                report.figures.iter().any(|f| (f.operation, f.metric) == (*operation, *metric))
            };
            let headlines = report.headlines.iter().filter(|(o, m)| has(o, m)).copied().collect();
            report.headlines = headlines;
        }
        let (good, bare): (Vec<Report>, Vec<Report>) =
            std::mem::take(&mut self.reports).into_iter().partition(|r| !r.headlines.is_empty());
        self.reports = good;
        for report in bare {
            let message = format!("a report of {} without a usable figure", report.tool);
            self.problem(report.line, ProblemKind::CutOff, message);
        }
        self.problems.sort_by_key(|problem| problem.line);
    }
}

impl Report {
    /// Replaces an operation's headline by another of its figures if the headline was removed.
    fn replace_headlines(&mut self) {
        const OTHERS: [Metric; 3] = [Metric::Bandwidth, Metric::Iops, Metric::LatMean];
        for (operation, metric) in &mut self.headlines {
            let has = |wanted: &Metric| {
                self.figures.iter().any(|f| (f.operation, f.metric) == (*operation, *wanted))
            };
            if !has(metric)
                && let Some(other) = OTHERS.iter().find(|other| has(other))
            {
                *metric = *other;
            }
        }
    }
}
