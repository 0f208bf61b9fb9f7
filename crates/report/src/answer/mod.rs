//! The answer of a run: a few sentences, and the table of the figures that they are about.

mod alone;
pub(crate) mod clients;
pub(crate) mod costs;
pub(crate) mod decided;
pub(crate) mod groups;
pub(crate) mod headroom;
mod labels;
pub(crate) mod requirements;
pub(crate) mod table;

use analyse::{labels_of, link_name};
use model::{Comparison, Finding, Note, Run, Step, Target};

use crate::chart::position::position_sentences;
use crate::document::stalls::stall_sentences;
use crate::pivot::confounded;
use crate::view::AnalysedRun;
use crate::words::{listed, short};
use alone::alone;
use clients::client_sentences;
use costs::Costs;
pub(crate) use decided::in_time;
use decided::pairs;
use groups::group_sentences;
use headroom::headroom_sentences;
use labels::by_labels;
use requirements::requirement_sentences;

/// Names longer than this many columns make a sentence unreadable.
pub(crate) const LONGEST_NAME: usize = 60;
/// More targets than this, besides the baseline, are ranked instead of compared one by one.
const TOLD: usize = 3;

/// The answer of a run, in sentences.
pub(crate) fn answers(analysed: &AnalysedRun<'_>) -> Vec<String> {
    let mut sentences = of_figures(analysed);
    sentences.extend(given_up(analysed));
    sentences
}

/// What the figures say.
fn of_figures(analysed: &AnalysedRun<'_>) -> Vec<String> {
    let mut required = requirement_sentences(analysed);
    required.extend(headroom_sentences(analysed));
    if !required.is_empty() {
        return required;
    }
    let mut sentences = scores(analysed);
    sentences.extend(position_sentences(analysed));
    let of_clients = client_sentences(analysed);
    if !of_clients.is_empty() {
        sentences.extend(of_clients);
        return sentences;
    }
    let of_groups = group_sentences(analysed);
    if !of_groups.is_empty() {
        sentences.extend(of_groups);
        sentences.extend(changed_together(analysed));
        return sentences;
    }
    match analysed.labels() {
        Some(pivot) => {
            sentences.extend(Costs::of(analysed).sentences());
            sentences.extend(by_labels(pivot, analysed));
        }
        None => {
            sentences.extend(by_targets(analysed));
            sentences.extend(Costs::of(analysed).sentences());
        }
    }
    if sentences.is_empty() {
        sentences.extend(analysed.run.started.targets.iter().flat_map(|t| alone(analysed, t)));
    }
    sentences.extend(changed_together(analysed));
    if sentences.is_empty() {
        sentences.push("No step has a figure: no repeat was completed.".to_owned());
    }
    sentences.extend(slow_link(analysed));
    sentences
}

/// The targets that were not measured to the end.
fn given_up(analysed: &AnalysedRun<'_>) -> Vec<String> {
    let AnalysedRun { run, analysis, .. } = analysed;
    let names = run.started.targets.iter().map(|target| &target.name);
    let has_figures = |name: &&String| analysis.measurements.iter().any(|m| m.target == **name);
    let (some, none): (Vec<&String>, Vec<&String>) =
        names.filter(|name| is_given_up(run, name)).partition(has_figures);
    let sentence = |names: &[&String], what: [&str; 2]| {
        let mut told: Vec<String> = names.iter().take(TOLD).map(|name| short(name, LONGEST_NAME)).collect();
        match names.len() {
            0 => return None,
            n if n > TOLD => told.push(format!("{} more targets", n - TOLD)),
            _ => {}
        }
        Some(format!("{} {}.", listed(&told), what[usize::from(names.len() > 1)]))
    };
    let of_some = [
        "was given up during the run: its figures cover only the rounds before that",
        "were given up during the run: their figures cover only the rounds before that",
    ];
    let of_none = ["was given up before completing a repeat", "were given up before completing a repeat"];
    [sentence(&some, of_some), sentence(&none, of_none)].into_iter().flatten().collect()
}

fn is_given_up(run: &Run, target: &str) -> bool {
    let mut given_up = run.notes.iter().filter(|note| note.topic == Note::TARGET_GIVEN_UP);
    given_up.any(|note| note.target.as_deref() == Some(target))
}

/// What cannot be told apart, because the targets differ in it together.
fn changed_together(analysed: &AnalysedRun<'_>) -> Vec<String> {
    let AnalysedRun { run, analysis, .. } = analysed;
    let has_figures = |t: &&Target| analysis.measurements.iter().any(|m| m.target == t.name);
    let labels: Vec<_> =
        run.started.targets.iter().filter(has_figures).map(|target| labels_of(run, target)).collect();
    let sentence = |group: Vec<String>| {
        format!(
            "{} always vary together here, so their effects cannot be separated.",
            capital(&listed(&group))
        )
    };
    confounded(&labels).into_iter().map(sentence).collect()
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
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

/// Every target against the baseline, and what stalls do to that; of many targets, which is fastest where.
fn by_targets(analysed: &AnalysedRun<'_>) -> Vec<String> {
    let AnalysedRun { run, analysis, pivot, .. } = analysed;
    let steps: Vec<&Step> = run.started.plan.steps.iter().collect();
    let mut sentences = match pivot {
        Some(pivot) if run.started.targets.len() > TOLD + 1 => by_labels(pivot, analysed),
        _ => compared(&steps, &analysis.comparisons, run.started.plan.margin(), |c| wait(run, c)),
    };
    sentences.extend(limit(analysed));
    sentences
}

/// Seconds that the further rounds of a comparison take, by those that it has; `None` if one of the targets has no further ones.
fn wait(run: &Run, c: &Comparison) -> Option<f64> {
    if [&c.target, &c.baseline].into_iter().any(|target| is_given_up(run, target)) {
        return None;
    }
    Some(time_of_rounds(run, &c.step, c.more_rounds?, &[&c.target, &c.baseline]))
}

/// Seconds that rounds of a step take on these targets, by those that it has.
pub(crate) fn time_of_rounds(run: &Run, step: &str, rounds: u32, targets: &[&str]) -> f64 {
    let of = |target: &str| {
        let repeats = run.repeats.iter().filter(|r| r.started.step == step && r.started.target == target);
        let times: Vec<u64> = repeats
            .filter_map(|r| Some(r.finished.as_ref()?.at_ns.saturating_sub(r.started.at_ns)))
            .collect();
        times.iter().sum::<u64>() as f64 / 1e9 / times.len().max(1) as f64
    };
    f64::from(rounds) * targets.iter().map(|target| of(target)).sum::<f64>()
}

/// Every target against the baseline in sentences, then what stalls do to that.
pub(crate) fn compared(
    steps: &[&Step],
    comparisons: &[Comparison],
    margin: f64,
    wait: impl Fn(&Comparison) -> Option<f64>,
) -> Vec<String> {
    let pairs = pairs(steps, comparisons);
    let turns = pairs.len() == 1;
    let told = pairs.iter().take(2 * TOLD);
    let mut sentences: Vec<String> = told.map(|pair| pair.sentence(margin, turns, &wait)).collect();
    if pairs.len() > sentences.len() {
        sentences.push(format!("The table shows {} more targets.", pairs.len() - sentences.len()));
    }
    sentences.extend(stall_sentences(steps, comparisons).into_iter().take(TOLD));
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

/// What limits the fastest target.
fn limit(analysed: &AnalysedRun<'_>) -> Option<String> {
    let finding = about(analysed, "link-bound")?;
    let name = fastest(analysed)?;
    let link = link_name(analysed.run.started.targets.iter().find(|t| t.name == name)?)?;
    let all = analysed.run.started.plan.steps.len();
    let limited = finding
        .evidence
        .iter()
        .filter(|e| e.scope.as_ref().is_some_and(|scope| scope.step.is_some()))
        .count();
    let steps = if limited == all { "every step".to_owned() } else { format!("{limited} of {all} steps") };
    Some(format!("{} is limited by {link} in {steps}.", short(name, LONGEST_NAME)))
}

/// The finding that the fastest target's link is below its capability.
fn slow_link(analysed: &AnalysedRun<'_>) -> Option<String> {
    let finding = about(analysed, "link-below-capability")?;
    Some(format!("{}: {}.", short(fastest(analysed)?, LONGEST_NAME), finding.message))
}
