//! The answer of a run in a sentence or two.

use analyse::{Summary, headline};
use model::{Finding, MeasurementKey, Metric, Mix, Pace, Pattern, Step};

use crate::document::stalls::stall_sentences;
use crate::figures::{display_iops, display_ns, display_rate, display_ratio};
use crate::pivot::{Pivot, Row};
use crate::view::AnalysedRun;
use crate::words::{listed, short};

/// Names longer than this many columns make a sentence unreadable.
const LONGEST_NAME: usize = 60;
/// More targets than this, besides the baseline, are ranked instead of compared one by one.
const TOLD: usize = 3;

/// The answer of a run, in sentences.
pub(crate) fn answers(analysed: &AnalysedRun<'_>) -> Vec<String> {
    let mut sentences = scores(analysed);
    match analysed.labels() {
        Some(pivot) => sentences.extend(by_labels(pivot, analysed)),
        None => sentences.extend(by_targets(analysed)),
    }
    if sentences.is_empty() {
        sentences.extend(analysed.run.started.targets.iter().filter_map(|t| alone(analysed, &t.name)));
    }
    if sentences.is_empty() {
        sentences.push("No step has a figure: no repeat was completed.".to_owned());
    }
    sentences.extend(slow_link(analysed));
    sentences
}

/// The published scores, where the run has some: the highest first.
fn scores(analysed: &AnalysedRun<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    for (title, mut scores) in crate::scores::scores(analysed.run, analysed.analysis) {
        scores.sort_by(|a, b| b.1.total_cmp(&a.1));
        let one = |(name, value): &(String, f64)| format!("{} {value:.0}", short(name, LONGEST_NAME));
        let first: Vec<String> = scores.iter().take(2 * TOLD).map(one).collect();
        let more = scores.len().saturating_sub(first.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let title = title.replace(": score", " score");
        sentences.push(format!("{title}: {}{more}.", first.join(", ")));
    }
    sentences
}

/// Every target against the baseline; many targets are ranked.
fn by_targets(analysed: &AnalysedRun<'_>) -> Vec<String> {
    let mut summaries: Vec<&Summary> = analysed.analysis.summaries.iter().collect();
    summaries.sort_by(|a, b| b.speed.value.total_cmp(&a.speed.value));
    let mut sentences: Vec<String> = if summaries.len() > TOLD {
        ranked(&summaries)
    } else {
        summaries.iter().map(|s| compared(s)).collect()
    };
    if let (Some(first), Some(limit)) = (sentences.first_mut(), limit(analysed)) {
        first.truncate(first.trim_end_matches('.').len());
        first.push_str(&limit);
    }
    let steps: Vec<&Step> = analysed.run.started.plan.steps.iter().collect();
    let told = stall_sentences(&steps, &analysed.analysis.comparisons);
    sentences.extend(told.into_iter().filter(|_| summaries.len() <= TOLD).take(TOLD));
    sentences
}

/// The fastest target of a run with several, else the only one.
fn fastest<'a>(analysed: &AnalysedRun<'a>) -> Option<&'a str> {
    let best = analysed.analysis.summaries.iter().max_by(|a, b| a.speed.value.total_cmp(&b.speed.value));
    match best {
        Some(best) if best.speed.value >= 1.0 => Some(&best.target),
        Some(best) => Some(&best.baseline),
        None => analysed.run.started.targets.first().map(|t| t.name.as_str()),
    }
}

fn about<'a>(analysed: &AnalysedRun<'a>, rule: &str) -> Option<&'a Finding> {
    let name = fastest(analysed)?;
    analysed.analysis.findings.iter().find(|f| f.rule == rule && f.subject.target.as_deref() == Some(name))
}

/// What limits the fastest target, as the end of a sentence about it.
fn limit(analysed: &AnalysedRun<'_>) -> Option<String> {
    let finding = about(analysed, "link-bound")?;
    let (carried, rates) = finding.evidence.split_first()?;
    let link = carried.what.strip_prefix("what ")?.strip_suffix(" can carry")?;
    let all = analysed.run.started.plan.steps.len();
    Some(match rates.len() {
        n if n == all => format!(", limited by {link}."),
        n => format!(", in {n} of them limited by {link}."),
    })
}

/// The finding that the fastest target's link is below its capability.
fn slow_link(analysed: &AnalysedRun<'_>) -> Option<String> {
    let finding = about(analysed, "link-below-capability")?;
    Some(format!("{}: {}.", short(fastest(analysed)?, LONGEST_NAME), finding.message))
}

/// Many targets by rank, the fastest first; those whose interval overlaps that of the fastest are named.
fn ranked(summaries: &[&Summary]) -> Vec<String> {
    let (first, last) = (summaries[0], summaries[summaries.len() - 1]);
    let baseline = short(&first.baseline, LONGEST_NAME);
    let name =
        |s: &Summary| format!("{} ({} ×)", short(&s.target, LONGEST_NAME / 2), display_ratio(s.speed.value));
    let of = summaries.len() + 1;
    let (best, behind) = if first.speed.value >= 1.0 {
        let target = short(&first.target, LONGEST_NAME);
        let sentence = format!(
            "{target} is the fastest of {of} targets: {} as fast as {baseline} {}.",
            times(first.speed.value, first.speed.interval),
            over(first.steps)
        );
        (sentence, &summaries[1..])
    } else {
        let sentence =
            format!("{baseline}, the baseline, is the fastest of {of} targets {}.", over(first.steps));
        (sentence, summaries)
    };
    let next: Vec<String> = behind.iter().take(TOLD).map(|s| name(s)).collect();
    let more = behind.len() - next.len();
    let mut then = format!("Next are {}", next.join(", "));
    if more > 1 {
        then.push_str(&format!(" and {more} more, the last of them {}", name(last)));
    } else if more == 1 {
        then.push_str(&format!(" and {}", name(last)));
    }
    then.push('.');
    let mut sentences = vec![best, then];
    // The baseline is 1 by itself, without an interval.
    let reach = if first.speed.value >= 1.0 { first.speed.interval.map(|(low, _)| low) } else { Some(1.0) };
    let is_near = |s: &&&Summary| reach.zip(s.speed.interval).is_some_and(|(low, (_, high))| high >= low);
    let near: Vec<String> =
        behind.iter().filter(is_near).map(|s| short(&s.target, LONGEST_NAME / 2)).collect();
    match near.len() {
        0 => {}
        n if n <= TOLD => {
            sentences.push(format!("Its lead over {} is undecided: their intervals overlap.", listed(&near)))
        }
        n => sentences.push(format!("Its lead over the next {n} is undecided: their intervals overlap.")),
    }
    sentences
}

/// A ratio with its interval.
fn times(value: f64, interval: Option<(f64, f64)>) -> String {
    let interval = interval
        .map_or_else(String::new, |(low, high)| format!(" ({}–{})", display_ratio(low), display_ratio(high)));
    format!("{} ×{interval}", display_ratio(value))
}

fn over(steps: usize) -> String {
    if steps == 1 { "in one step".to_owned() } else { format!("over {steps} steps") }
}

/// A target against the baseline, the faster one first.
fn compared(s: &Summary) -> String {
    let (target, baseline) = (short(&s.target, LONGEST_NAME), short(&s.baseline, LONGEST_NAME));
    let steps = over(s.steps);
    match s.speed.interval {
        Some((low, high)) if low <= 1.0 && high >= 1.0 => {
            let ratio = times(s.speed.value, s.speed.interval);
            format!("No difference between {target} and {baseline} was found: {ratio} as fast {steps}.")
        }
        interval if s.speed.value >= 1.0 => {
            format!("{target} is {} as fast as {baseline} {steps}.", times(s.speed.value, interval))
        }
        interval => {
            let turned = interval.map(|(low, high)| (1.0 / high, 1.0 / low));
            format!("{baseline} is {} as fast as {target} {steps}.", times(1.0 / s.speed.value, turned))
        }
    }
}

/// Which of the columns wins where, and by how much overall.
fn by_labels(pivot: &Pivot<'_>, analysed: &AnalysedRun<'_>) -> Vec<String> {
    let contested: Vec<(&Row<'_>, Vec<usize>)> = pivot
        .rows
        .iter()
        .map(|row| (row, row.leaders(pivot.margin)))
        .filter(|(_, l)| !l.is_empty())
        .collect();
    let wins = |column: usize| contested.iter().filter(|(_, leaders)| leaders.contains(&column)).count();
    let columns = 0..pivot.columns.len();
    let against = |column: usize, other: usize| over_all(&contested, column, other);
    let strength = |column: usize| columns.clone().filter_map(|other| against(column, other)).sum::<f64>();
    let Some(best) =
        columns.clone().max_by(|a, b| wins(*a).cmp(&wins(*b)).then(strength(*a).total_cmp(&strength(*b))))
    else {
        return Vec::new();
    };
    if contested.is_empty() {
        return Vec::new();
    }
    let name = |column: usize| short(&pivot.columns[column], LONGEST_NAME / 2);
    let (won, all) = (wins(best), contested.len());
    let share = if won == all { format!("all {all}") } else { format!("{won} of {all}") };
    let mut sentences = vec![format!(
        "Of {} {}s, {} is the fastest, or within {} of it, in {share} combinations of {}.",
        pivot.columns.len(),
        pivot.across,
        name(best),
        pivot.margin_words(),
        listed(&pivot.down)
    )];
    let lost: Vec<&(&Row<'_>, Vec<usize>)> = contested.iter().filter(|(_, l)| !l.contains(&best)).collect();
    if lost.len() <= TOLD {
        sentences.extend(lost.iter().map(|(row, leaders)| exception(pivot, analysed, row, leaders, best)));
    } else {
        let others = columns
            .clone()
            .filter(|c| *c != best)
            .map(|c| (c, lost.iter().filter(|(_, l)| l.contains(&c)).count()));
        let others: Vec<String> =
            others.filter(|(_, n)| *n > 0).map(|(c, n)| format!("{} in {n}", name(c))).collect();
        sentences.push(format!("In the others, the fastest is {}.", listed(&others)));
    }
    let mut behind: Vec<(usize, f64)> =
        columns.filter(|c| *c != best).filter_map(|c| Some((c, against(best, c)?))).collect();
    behind.sort_by(|a, b| a.1.total_cmp(&b.1));
    let ratio = |(i, (column, ratio)): (usize, &(usize, f64))| {
        let than = if i == 0 { "as fast as" } else { "as" };
        format!("{} × {than} {}", display_ratio(*ratio), name(*column))
    };
    let words: Vec<String> = behind.iter().take(2 * TOLD).enumerate().map(ratio).collect();
    if !words.is_empty() {
        sentences.push(format!("Overall it is {} (geometric means).", listed(&words)));
    }
    sentences.extend(few_repeats(pivot));
    sentences
}

/// The speed of one column relative to another: the geometric mean over the rows that have both.
fn over_all(contested: &[(&Row<'_>, Vec<usize>)], column: usize, other: usize) -> Option<f64> {
    let both = contested.iter().filter_map(|(row, _)| {
        let shares = row.shares();
        Some((shares[column]?, shares[other]?)).filter(|(a, b)| *a > 0.0 && *b > 0.0)
    });
    let logs: Vec<f64> = both.map(|(a, b)| (a / b).ln()).collect();
    (column != other && !logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// A row in which another column wins.
fn exception(
    pivot: &Pivot<'_>,
    analysed: &AnalysedRun<'_>,
    row: &Row<'_>,
    leaders: &[usize],
    best: usize,
) -> String {
    let value =
        |column: usize| row.cells[column].map(|(_, m)| analysed.view.display(row.metric, m.estimate.value));
    let winners: Vec<String> = leaders.iter().map(|c| short(&pivot.columns[*c], LONGEST_NAME / 2)).collect();
    let against = value(best).map_or_else(String::new, |v| format!(" against {v}"));
    let first = leaders.first().and_then(|c| value(*c)).unwrap_or_default();
    format!("For {} it is {}: {first}{against}.", row_words(pivot, row), listed(&winners))
}

/// A row as part of a sentence, such as `reads of 4 MiB on SSD_USB`.
fn row_words(pivot: &Pivot<'_>, row: &Row<'_>) -> String {
    let is_plain = pivot.down.last().is_some_and(|d| d == "operation");
    let (labels, what) = match row.names.as_slice() {
        [labels @ .., size, operation] if is_plain => (labels, format!("{operation}s of {size}")),
        [labels @ .., title] => (labels, title.clone()),
        [] => return String::new(),
    };
    let labels: Vec<String> = labels.iter().map(|l| short(l, LONGEST_NAME / 2)).collect();
    if labels.is_empty() { what } else { format!("{what} on {}", labels.join(", ")) }
}

/// The caveat that most figures have only one repeat.
fn few_repeats(pivot: &Pivot<'_>) -> Option<String> {
    let figures = pivot.rows.iter().flat_map(|row| row.cells.iter().flatten());
    let all = figures.clone().count();
    let single = figures.filter(|(_, m)| m.estimate.interval.is_none()).count();
    (2 * single > all).then(|| {
        format!("{single} of the {all} figures were measured only once, so small differences may be chance.")
    })
}

/// The best figures of a single target.
fn alone(analysed: &AnalysedRun<'_>, target: &str) -> Option<String> {
    let parts: Vec<String> = [
        ("sequential reads", false, 100),
        ("sequential writes", false, 0),
        ("random reads", true, 100),
        ("random writes", true, 0),
    ]
    .into_iter()
    .filter_map(|(words, random, percent)| {
        let steps = analysed.run.started.plan.steps.iter();
        let figures = steps.filter(|s| is_plain(s, random, percent)).filter_map(|s| {
            let operation = *s.workload.operations().first()?;
            let value = |metric| {
                let key = MeasurementKey { target, step: &s.id, operation, metric };
                analysed.analysis.measurement(key).map(|m| m.estimate.value)
            };
            Some((value(Metric::Bandwidth)?, value(Metric::Iops)?))
        });
        let (rate, iops) = figures.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let figure = if random {
            format!("{} IOPS", display_iops(iops))
        } else {
            display_rate(rate, analysed.view.units)
        };
        Some(format!("{words} {figure}"))
    })
    .collect();
    let name = short(target, LONGEST_NAME);
    if !parts.is_empty() {
        return Some(format!("{name}: {}.", parts.join(", ")));
    }
    let first =
        analysed.run.started.plan.steps.iter().find_map(|step| first_figure(analysed, step, target))?;
    Some(format!("{name}: {first}."))
}

fn first_figure(analysed: &AnalysedRun<'_>, step: &Step, target: &str) -> Option<String> {
    let operation = step.workload.operations().into_iter().find(|o| headline(step, *o).is_some())?;
    let metric = headline(step, operation)?;
    let m = analysed.analysis.measurement(MeasurementKey { target, step: &step.id, operation, metric })?;
    let value = match metric {
        Metric::Bandwidth => display_rate(m.estimate.value, analysed.view.units),
        Metric::Iops => format!("{}/s", display_iops(m.estimate.value)),
        _ => format!("p99 {}", display_ns(m.estimate.value)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::Estimate;

    fn summary(value: f64, interval: Option<(f64, f64)>) -> String {
        let speed = Estimate { value, interval };
        compared(&Summary { target: "ssd".into(), baseline: "card".into(), speed, steps: 2 })
    }

    #[test]
    fn the_faster_target_is_first_and_doubt_is_stated() {
        assert_eq!(summary(7.9, Some((7.6, 8.2))), "ssd is 7.90 × (7.60–8.20) as fast as card over 2 steps.");
        assert_eq!(summary(0.5, Some((0.4, 0.8))), "card is 2.00 × (1.25–2.50) as fast as ssd over 2 steps.");
        assert!(summary(1.01, Some((0.9, 1.1))).starts_with("No difference between ssd and card was found"));
        assert_eq!(summary(2.0, None), "ssd is 2.00 × as fast as card over 2 steps.");
    }

    /// Targets `t1`, `t2`, … of these speeds against `card`, each interval so far up and down.
    fn ranks(speeds: &[f64], spread: f64) -> Vec<String> {
        let one = |(i, value): (usize, &f64)| Summary {
            target: format!("t{}", i + 1),
            baseline: "card".into(),
            speed: Estimate { value: *value, interval: Some((value / spread, value * spread)) },
            steps: 8,
        };
        let summaries: Vec<Summary> = speeds.iter().enumerate().map(one).collect();
        ranked(&summaries.iter().collect::<Vec<_>>())
    }

    #[test]
    fn twelve_targets_are_ranked_in_two_sentences() {
        let speeds = [7.9, 5.0, 4.0, 3.0, 2.5, 2.0, 1.5, 1.2, 1.1, 0.9, 0.31];
        assert_eq!(
            ranks(&speeds, 1.05),
            [
                "t1 is the fastest of 12 targets: 7.90 × (7.52–8.29) as fast as card over 8 steps.",
                "Next are t2 (5.00 ×), t3 (4.00 ×), t4 (3.00 ×) and 7 more, the last of them t11 (0.31 ×).",
            ]
        );
        assert!(ranks(&speeds[..5], 1.05)[1].ends_with("t4 (3.00 ×) and t5 (2.50 ×)."));
    }

    #[test]
    fn overlapping_leaders_are_undecided_and_a_baseline_may_lead() {
        let near = ranks(&[2.0, 1.98, 1.5, 1.0, 0.5], 1.05);
        assert_eq!(near[2], "Its lead over t2 is undecided: their intervals overlap.");
        let level = ranks(&[2.0, 1.99, 1.98, 1.97, 1.96, 1.0], 1.05);
        assert_eq!(level[2], "Its lead over the next 4 is undecided: their intervals overlap.");
        let slow = ranks(&[0.9, 0.8, 0.7, 0.6], 1.05);
        assert_eq!(slow[0], "card, the baseline, is the fastest of 5 targets over 8 steps.");
        assert_eq!(slow[1], "Next are t1 (0.90 ×), t2 (0.80 ×), t3 (0.70 ×) and t4 (0.60 ×).");
    }
}
