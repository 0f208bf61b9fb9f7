//! What stalls do to the comparisons, in words: the long-run ratio, the time lost, the ratio between stalls, and how far "same"
//! can be claimed.

use analyse::headline;
use model::units::ShortDuration;
use model::{Comparison, Estimate, StallEffect, Step, Verdict};

use crate::figures::{display_ratio, display_ratios};

/// Time lost below this share does not change an answer.
const LOST: f64 = 0.01;
/// Nor does it below this share, where there is none yet.
const LOST_UNDECIDED: f64 = 0.03;

/// One sentence for each comparison that is another one between stalls, and one for all that are the same so far.
/// Only of the comparisons that tables show.
pub(crate) fn stall_sentences(steps: &[&Step], comparisons: &[Comparison]) -> Vec<String> {
    let is_shown = |c: &&Comparison| {
        let step = steps.iter().find(|step| step.id == c.step);
        step.is_none_or(|step| headline(step, c.operation) == Some(c.metric))
    };
    let comparisons: Vec<&Comparison> = comparisons.iter().filter(is_shown).collect();
    let title = |c: &Comparison| {
        let step = steps.iter().find(|step| step.id == c.step);
        step.map_or(c.step.as_str(), |step| step.title.as_str()).to_owned()
    };
    let effects = comparisons.iter().filter_map(|c| Some((*c, c.stalls.as_ref()?)));
    let least = |c: &Comparison| if c.verdict == Verdict::Undecided { LOST_UNDECIDED } else { LOST };
    let told = effects
        .filter(|(c, s)| s.verdict != c.verdict && s.lost.value.max(s.baseline_lost.value) >= least(c));
    let mut sentences: Vec<String> =
        told.map(|(c, stalls)| format!("{}: {}", title(c), effect(c, stalls))).collect();
    sentences.extend(same_so_far(&comparisons));
    sentences
}

fn effect(c: &Comparison, stalls: &StallEffect) -> String {
    let verdict = match c.verdict {
        Verdict::Faster => format!("{} is faster than {} in the long run", c.target, c.baseline),
        Verdict::Slower => format!("{} is slower than {} in the long run", c.target, c.baseline),
        Verdict::Same => format!("{} and {} are the same in the long run", c.target, c.baseline),
        Verdict::Undecided if c.unseen.is_some() => {
            format!("{} and {} are the same so far", c.target, c.baseline)
        }
        Verdict::Undecided => {
            format!("{} against {} is undecided in the long run", c.target, c.baseline)
        }
    };
    let between = match stalls.verdict {
        Verdict::Faster => format!("{} is faster", c.target),
        Verdict::Slower => format!("{} is slower", c.target),
        Verdict::Same => "they are the same".to_owned(),
        Verdict::Undecided => "it is undecided".to_owned(),
    };
    format!(
        "{verdict} ({}). {} loses {} of its time in stalls, {} {}; between them {between} ({}).",
        ratio(&c.ratio),
        c.target,
        share(&stalls.lost),
        c.baseline,
        share(&stalls.baseline_lost),
        ratio(&stalls.between)
    )
}

fn ratio(ratio: &Estimate) -> String {
    let interval =
        ratio.interval.map_or_else(String::new, |limits| format!("; 95 %: {}", display_ratios(limits)));
    format!("ratio {}{interval}", display_ratio(ratio.value))
}

fn share(share: &Estimate) -> String {
    let percent = |share: f64| format!("{:.1}", share * 100.0);
    match share.interval {
        Some((low, high)) => {
            format!("{} % (95 %: {}–{} %)", percent(share.value), percent(low), percent(high))
        }
        None => "none that was seen".to_owned(),
    }
}

fn same_so_far(comparisons: &[&Comparison]) -> Option<String> {
    let open: Vec<_> = comparisons.iter().filter_map(|c| c.unseen).collect();
    let shortest = open.iter().map(|unseen| unseen.seconds).reduce(f64::min)?;
    let stall = open.iter().map(|unseen| unseen.stall_seconds).fold(0.0, f64::max);
    let more = open.iter().map(|unseen| unseen.more_seconds).fold(0.0, f64::max);
    let time = |seconds: f64| ShortDuration((seconds.ceil() * 1e9) as u64);
    let (what, each) = match open.len() {
        1 => ("One comparison is".to_owned(), "it"),
        n => (format!("{n} comparisons are"), "each of them"),
    };
    Some(format!(
        "{what} the same so far: within the margin after at least {} on each target, but rare stalls of {} could \
         have gone unseen and would matter. Another {} on each target would decide {each} (--budget).",
        time(shortest),
        ShortDuration((stall * 1e9) as u64),
        time(more)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Metric, Operation, Unseen};

    fn comparison() -> Comparison {
        let of = |value, low, high| Estimate { value, interval: Some((low, high)) };
        Comparison {
            step: "reads".into(),
            operation: Operation::Read,
            metric: Metric::Bandwidth,
            target: "card".into(),
            baseline: "disk".into(),
            ratio: of(0.8, 0.65, 0.9),
            verdict: Verdict::Slower,
            method: "",
            more_rounds: None,
            stalls: Some(StallEffect {
                between: of(1.0, 0.997, 1.003),
                verdict: Verdict::Same,
                lost: of(0.2, 0.11, 0.35),
                baseline_lost: Estimate { value: 0.0, interval: None },
            }),
            unseen: None,
            inflation: 1.0,
        }
    }

    #[test]
    fn the_long_run_comes_first_then_the_time_lost_then_what_is_between() {
        let told = stall_sentences(&[], &[comparison()]);
        assert_eq!(
            told,
            [
                "reads: card is slower than disk in the long run (ratio 0.80; 95 %: 0.65–0.90). card loses 20.0 % (95 %: \
              11.0–35.0 %) of its time in stalls, disk none that was seen; between them they are the same (ratio 1.00; \
              95 %: 1.00–1.00)."
            ]
        );
    }

    #[test]
    fn what_is_the_same_so_far_says_how_far_and_what_it_takes() {
        let unseen = Some(Unseen { seconds: 13.2, stall_seconds: 0.5, more_seconds: 38.1 });
        let one = Comparison { verdict: Verdict::Undecided, stalls: None, unseen, ..comparison() };
        let told = stall_sentences(&[], std::slice::from_ref(&one));
        assert_eq!(
            told,
            [
                "One comparison is the same so far: within the margin after at least 14 s on each target, but rare stalls of \
              500 ms could have gone unseen and would matter. Another 39 s on each target would decide it (--budget)."
            ]
        );
        let two = stall_sentences(&[], &[one.clone(), one]);
        assert!(
            two[0].starts_with("2 comparisons are the same so far") && two[0].contains("decide each of them"),
            "{two:?}"
        );
        let none = Comparison { stalls: None, ..comparison() };
        assert!(stall_sentences(&[], &[none]).is_empty());
    }
}
