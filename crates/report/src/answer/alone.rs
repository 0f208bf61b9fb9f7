//! The answer of a run with one target: what that storage does, in the figures that people compare.

use analyse::{headline, headline_operations};
use model::{BufferPages, MeasurementKey, Metric, Mix, Operation, Pace, Pattern, Step, Target};

use crate::answer::LONGEST_NAME;
use crate::figures::{display_block, display_iops, display_ns, display_rate};
use crate::view::AnalysedRun;
use crate::words::{latency_name, listed, short, step_words};

/// The sentences about a target; none without a figure.
pub(crate) fn alone(analysed: &AnalysedRun<'_>, target: &Target) -> Vec<String> {
    let of = OneTarget { analysed, target: &target.name };
    let name = match target.stack_line() {
        stack if stack.is_empty() => short(&target.name, LONGEST_NAME),
        stack => format!("{} ({})", short(&target.name, LONGEST_NAME), short(&stack, LONGEST_NAME)),
    };
    let mut sentences: Vec<String> =
        of.in_sequence().map(|does| format!("{name} {does}.")).into_iter().collect();
    if let Some(does) = of.at_random() {
        let subject = if sentences.is_empty() { &name } else { "it" };
        sentences.push(format!("At random {subject} {does}."));
    }
    sentences.extend(of.durably());
    if sentences.is_empty() {
        sentences.extend(of.first_figures().map(|figure| format!("{name}: {figure}.")));
    }
    sentences
}

struct OneTarget<'a> {
    analysed: &'a AnalysedRun<'a>,
    target: &'a str,
}

impl<'a> OneTarget<'a> {
    fn value(&self, step: &Step, operation: Operation, metric: Metric) -> Option<f64> {
        let key = MeasurementKey { target: self.target, step: &step.id, operation, metric };
        Some(self.analysed.analysis.measurement(key)?.estimate.value)
    }

    /// True unless an imported output leaves this field of the step open, so that its value is only assumed.
    fn is_said(&self, step: &Step, field: &str) -> bool {
        let mut imported =
            self.analysed.run.completed(&step.id, self.target).filter_map(|r| r.imported.as_ref());
        imported.all(|imported| !imported.unsaid.iter().any(|unsaid| unsaid == field))
    }

    /// Steps with a figure that only read, or only write, as fast as the storage can, with buffers in huge pages, and of which that is
    /// known. Where some bypass the page cache, only these.
    fn plain(&self, is_random: bool, operation: Operation) -> Vec<&'a Step> {
        let percent = if operation == Operation::Read { 100 } else { 0 };
        let told: &[&str] =
            if is_random { &["rw", "direction", "block", "iodepth"] } else { &["rw", "direction"] };
        let is_it = |step: &&Step| {
            let w = &step.workload;
            w.mix == Mix::Transfer { read_percent: percent }
                && w.pace == Pace::Closed
                && matches!(w.pattern, Pattern::Random { .. }) == is_random
                && !matches!(w.pattern, Pattern::Spaced { .. } | Pattern::Strided { .. })
                && w.sync.every == 0
                && w.modifiers.buffers == BufferPages::Huge
                && matches!(headline(step, operation), Some(Metric::Bandwidth | Metric::Iops))
                && self.value(step, operation, Metric::Bandwidth).is_some()
                && told.iter().all(|field| self.is_said(step, field))
        };
        let steps: Vec<&Step> = self.analysed.run.started.plan.steps.iter().filter(is_it).collect();
        let direct: Vec<&Step> = steps.iter().copied().filter(|step| step.workload.direct).collect();
        if direct.is_empty() { steps } else { direct }
    }

    /// The highest sequential rates, such as `reads 3.3 GB/s (1.9 GB/s in ordinary pages) and writes 6.6 GB/s in sequence`.
    fn in_sequence(&self) -> Option<String> {
        let rate = |operation, verb| {
            let steps = self.plain(false, operation);
            let rates = steps.iter().filter_map(|step| self.value(step, operation, Metric::Bandwidth));
            let shown = |rate| display_rate(rate, self.analysed.view.units);
            let best = shown(rates.reduce(f64::max)?);
            let pages =
                self.in_ordinary_pages(operation).map(|rate| format!(" ({} in ordinary pages)", shown(rate)));
            Some(format!("{verb} {best}{}", pages.unwrap_or_default()))
        };
        let both: Vec<String> = [rate(Operation::Read, "reads"), rate(Operation::Write, "writes")]
            .into_iter()
            .flatten()
            .collect();
        (!both.is_empty()).then(|| format!("{} in sequence{}", listed(&both), self.through(false)))
    }

    /// `, through the page cache` where the plain steps went that way, as planned or because direct I/O is not possible here.
    fn through(&self, is_random: bool) -> &'static str {
        let run = self.analysed.run;
        let is_cached = |step: &&Step| {
            let mut own = run.completed(&step.id, self.target).filter(|r| r.imported.is_none());
            own.any(|r| !r.started.direct) || !step.workload.direct && self.is_said(step, "direct")
        };
        let steps = [Operation::Read, Operation::Write].map(|operation| self.plain(is_random, operation));
        if steps.iter().flatten().any(is_cached) { ", through the page cache" } else { "" }
    }

    /// The rate with buffers in the pages that most applications have, where a finding says that it is another one.
    fn in_ordinary_pages(&self, operation: Operation) -> Option<f64> {
        let found = self.analysed.analysis.findings.iter().filter(|f| f.rule == "ordinary-pages");
        let steps = found
            .filter(|f| f.subject.target.as_deref() == Some(self.target))
            .filter_map(|f| f.subject.step.as_ref());
        let of = |id: &String| self.analysed.run.started.plan.steps.iter().find(|step| step.id == *id);
        let rates = steps.filter_map(of).filter_map(|step| self.value(step, operation, Metric::Bandwidth));
        rates.reduce(f64::max)
    }

    /// Operations of the smallest block, at the least and at the most at a time: `does 19.7k reads and 18.4k writes of 4 KiB
    /// a second one at a time, 91k and 95k 32 at a time`.
    fn at_random(&self) -> Option<String> {
        let steps =
            [Operation::Read, Operation::Write].map(|operation| (operation, self.plain(true, operation)));
        let block = steps.iter().flat_map(|(_, steps)| steps).map(|s| s.workload.largest_block()).min()?;
        let at_a_time = |step: &Step| u64::from(step.workload.iodepth) * u64::from(step.workload.jobs);
        let of_block = || steps.iter().flat_map(|(_, s)| s).filter(|s| s.workload.largest_block() == block);
        let depths = [of_block().map(|s| at_a_time(s)).min()?, of_block().map(|s| at_a_time(s)).max()?];
        let figures = |depth: u64| {
            steps.clone().into_iter().filter_map(move |(operation, steps)| {
                let is_it = |s: &&&Step| s.workload.largest_block() == block && at_a_time(s) == depth;
                let iops = self.value(steps.iter().find(is_it)?, operation, Metric::Iops)?;
                Some((operation, display_iops(iops)))
            })
        };
        let named = |(operation, iops): (Operation, String)| format!("{iops} {}s", operation.name());
        let least: Vec<(Operation, String)> = figures(depths[0]).collect();
        let words: Vec<String> = least.iter().cloned().map(named).collect();
        let mut does =
            format!("does {} of {} a second {}", listed(&words), display_block(block), count(depths[0]));
        if depths[0] < depths[1] {
            let most: Vec<(Operation, String)> = figures(depths[1]).collect();
            let is_alike = least.iter().map(|(o, _)| o).eq(most.iter().map(|(o, _)| o));
            let words: Vec<String> = match is_alike {
                true => most.into_iter().map(|(_, iops)| iops).collect(),
                false => most.into_iter().map(named).collect(),
            };
            does.push_str(&format!(", {} with {} at a time", listed(&words), depths[1]));
        }
        // Not twice.
        if self.through(false).is_empty() {
            does.push_str(self.through(true));
        }
        Some(does)
    }

    /// How long a write takes that is on the storage afterwards.
    fn durably(&self) -> Option<String> {
        self.analysed.run.started.plan.steps.iter().find_map(|step| {
            let value = |metric| self.value(step, Operation::DurableWrite, metric);
            let (median, p99) = (value(Metric::LatP50)?, value(Metric::LatP99)?);
            Some(format!(
                "A durable write of {} takes {}, and at most {} in 99 of 100.",
                display_block(step.workload.largest_block()),
                display_ns(median),
                display_ns(p99)
            ))
        })
    }

    /// The figures of the first step that has some.
    fn first_figures(&self) -> Option<String> {
        self.analysed.run.started.plan.steps.iter().find_map(|step| {
            let operations = headline_operations(step);
            let figure = |operation: &Operation| {
                let metric = headline(step, *operation)?;
                let value = self.analysed.view.display(metric, self.value(step, *operation, metric)?);
                let value = latency_name(metric).map_or(value.clone(), |name| format!("{name} {value}"));
                let of = if operations.len() > 1 {
                    operation.name().replace('_', " ") + " "
                } else {
                    String::new()
                };
                Some(format!("{of}{value}"))
            };
            let figures: Vec<String> = operations.iter().filter_map(figure).collect();
            (!figures.is_empty())
                .then(|| format!("{}: {}", step_words(step).replacen(": ", ", ", 1), figures.join(", ")))
        })
    }
}

fn count(at_a_time: u64) -> String {
    if at_a_time == 1 { "one at a time".to_owned() } else { format!("with {at_a_time} at a time") }
}
