//! The answer of a run in a sentence or two, and the command that repeats it.

use analyse::{Summary, headline};
use model::{Metric, Mix, Pace, Pattern, Run, Step};

use crate::chart::svg::short;
use crate::figures::{display_iops, display_ns, display_rate, display_ratio};
use crate::page::Looked;

/// Names longer than this many columns make a sentence unreadable.
const LONGEST_NAME: usize = 60;

/// What a run says, the answer first.
pub(crate) fn answers(looked: Looked<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut summaries: Vec<&Summary> = looked.analysis.summaries.iter().collect();
    summaries.sort_by(|a, b| b.speed.value.total_cmp(&a.speed.value));
    sentences.extend(summaries.iter().map(|s| compared(s)));
    if sentences.is_empty() {
        sentences.extend(looked.run.started.targets.iter().filter_map(|t| alone(looked, &t.name)));
    }
    if sentences.is_empty() {
        sentences.push("No step gave a figure: no repeat ended as planned.".to_owned());
    }
    let fastest = summaries.first().map(|s| if s.speed.value >= 1.0 { &s.target } else { &s.baseline });
    let fastest = fastest.or(looked.run.started.targets.first().map(|t| &t.name));
    let limit = looked.analysis.findings.iter().find(|f| {
        matches!(f.rule.as_str(), "link-bound" | "link-below-capability")
            && f.subject.target.as_ref() == fastest
    });
    sentences
        .extend(limit.zip(fastest).map(|(f, name)| format!("{}: {}.", short(name, LONGEST_NAME), f.message)));
    sentences
}

/// A target against the baseline, the faster one first.
fn compared(s: &Summary) -> String {
    let (target, baseline) = (short(&s.target, LONGEST_NAME), short(&s.baseline, LONGEST_NAME));
    let steps = if s.steps == 1 { "in one step".to_owned() } else { format!("over {} steps", s.steps) };
    let words = |value: f64, interval: Option<(f64, f64)>| {
        let interval = interval.map_or_else(String::new, |(low, high)| {
            format!(" ({}–{})", display_ratio(low), display_ratio(high))
        });
        format!("{} ×{interval}", display_ratio(value))
    };
    let turned = s.speed.interval.map(|(low, high)| (1.0 / high, 1.0 / low));
    match s.speed.interval {
        Some((low, high)) if low <= 1.0 && high >= 1.0 => {
            format!(
                "No difference between {target} and {baseline} is shown: {} as fast {steps}.",
                words(s.speed.value, s.speed.interval)
            )
        }
        _ if s.speed.value >= 1.0 => {
            format!("{target} is {} as fast as {baseline} {steps}.", words(s.speed.value, s.speed.interval))
        }
        _ => format!("{baseline} is {} as fast as {target} {steps}.", words(1.0 / s.speed.value, turned)),
    }
}

/// The best figures of a target by itself.
fn alone(looked: Looked<'_>, target: &str) -> Option<String> {
    let parts: Vec<String> = [
        ("reads in order", false, 100),
        ("writes in order", false, 0),
        ("reads at random", true, 100),
        ("writes at random", true, 0),
    ]
    .into_iter()
    .filter_map(|(words, random, percent)| {
        let steps = looked.run.started.plan.steps.iter();
        let figures = steps.filter(|s| is_plain(s, random, percent)).filter_map(|s| {
            let operation = *s.workload.operations().first()?;
            let value = |metric| {
                let is_it = |m: &&model::Measurement| {
                    m.target == target && m.step == s.id && m.operation == operation && m.metric == metric
                };
                looked.analysis.measurements.iter().find(is_it).map(|m| m.estimate.value)
            };
            Some((value(Metric::Bandwidth)?, value(Metric::Iops)?))
        });
        let (rate, iops) = figures.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let figure = if random {
            format!("{} times a second", display_iops(iops))
        } else {
            format!("at {}", display_rate(rate, looked.view.units))
        };
        Some(format!("{words} {figure}"))
    })
    .collect();
    let name = short(target, LONGEST_NAME);
    if !parts.is_empty() {
        return Some(format!("{name} {}.", parts.join(", ")));
    }
    let first = looked.run.started.plan.steps.iter().find_map(|step| first_figure(looked, step, target))?;
    Some(format!("{name}: {first}."))
}

fn first_figure(looked: Looked<'_>, step: &Step, target: &str) -> Option<String> {
    let operation = step.workload.operations().into_iter().find(|o| headline(step, *o).is_some())?;
    let metric = headline(step, operation)?;
    let m = looked.analysis.measurements.iter().find(|m| {
        m.target == target && m.step == step.id && m.operation == operation && m.metric == metric
    })?;
    let value = match metric {
        Metric::Bandwidth => display_rate(m.estimate.value, looked.view.units),
        Metric::Iops => format!("{} times a second", display_iops(m.estimate.value)),
        _ => format!("{} at the 99th percentile", display_ns(m.estimate.value)),
    };
    Some(format!("{}, {value}", step.title))
}

fn is_plain(step: &Step, random: bool, percent: u8) -> bool {
    let w = &step.workload;
    w.mix == Mix::Transfer { read_percent: percent }
        && w.pace == Pace::Closed
        && matches!(w.pattern, Pattern::Random { .. }) == random
        && !matches!(w.pattern, Pattern::Spaced { .. })
        && w.sync.every == 0
}

/// The command line that does the same again, for a shell: as it was given, with the seed that it drew.
pub(crate) fn command(run: &Run) -> String {
    let mut words: Vec<String> = run.started.command.iter().map(|word| quoted(word)).collect();
    let has_seed = run.started.command.iter().any(|w| w == "--seed" || w.starts_with("--seed="));
    if let Some(program) = words.first_mut() {
        *program = "lodestone".to_owned();
    }
    if !has_seed {
        words.push(format!("--seed {}", run.started.seed));
    }
    words.join(" ")
}

/// A word as a POSIX shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,%+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Estimate;

    fn summary(value: f64, interval: Option<(f64, f64)>) -> String {
        let speed = Estimate { value, interval };
        compared(&Summary { target: "ssd".into(), baseline: "card".into(), speed, steps: 2 })
    }

    #[test]
    fn the_faster_one_stands_first_and_doubt_is_told() {
        assert_eq!(summary(7.9, Some((7.6, 8.2))), "ssd is 7.90 × (7.60–8.20) as fast as card over 2 steps.");
        assert_eq!(summary(0.5, Some((0.4, 0.8))), "card is 2.00 × (1.25–2.50) as fast as ssd over 2 steps.");
        assert!(summary(1.01, Some((0.9, 1.1))).starts_with("No difference between ssd and card is shown"));
        assert_eq!(summary(2.0, None), "ssd is 2.00 × as fast as card over 2 steps.");
    }

    #[test]
    fn words_come_back_from_a_shell_as_they_were() {
        assert_eq!(quoted("--rw=randread"), "--rw=randread");
        assert_eq!(quoted("it's here"), "'it'\\''s here'");
        assert_eq!(quoted(""), "''");
    }
}
