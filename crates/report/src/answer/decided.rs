//! Sentences made of decided comparisons: in how many figures a target is faster, slower or the same, by how much, and what
//! would decide the rest.

use analyse::headline;
use model::{Better, Comparison, Metric, Step, Verdict};

use crate::answer::LONGEST_NAME;
use crate::figures::{display_margin, display_ratio, display_ratios};
use crate::words::{figure_words, listed, short};

/// Sides with at most this many figures name them.
const NAMED: usize = 2;

/// One target against another: the comparisons of headline figures, scores left out, because they are made of others.
pub(crate) struct Pair<'a> {
    target: &'a str,
    baseline: &'a str,
    /// Each figure in words, with its comparison.
    figures: Vec<(String, &'a Comparison)>,
}

/// Every target with its figures, in the order of the comparisons; figures in the order of the steps.
pub(crate) fn pairs<'a>(steps: &[&Step], comparisons: &'a [Comparison]) -> Vec<Pair<'a>> {
    let mut pairs: Vec<Pair<'a>> = Vec::new();
    for step in steps {
        // The longest of all latencies is chance, and a score is told by itself.
        let is_told = |c: &&Comparison| !matches!(c.metric, Metric::Score | Metric::LatMax);
        let of_step = comparisons.iter().filter(|c| c.step == step.id).filter(is_told);
        for c in of_step.filter(|c| headline(step, c.operation) == Some(c.metric)) {
            let figure = (figure_words(step, c.operation), c);
            match pairs.iter_mut().find(|pair| pair.target == c.target) {
                Some(pair) => pair.figures.push(figure),
                None => {
                    pairs.push(Pair { target: &c.target, baseline: &c.baseline, figures: vec![figure] });
                }
            }
        }
    }
    pairs
}

/// The figures of one verdict.
type Side<'p> = Vec<&'p (String, &'p Comparison)>;

impl Pair<'_> {
    /// The sentence. `wait` gives the seconds after which an undecided comparison would be decided. The faster target
    /// comes first if `turns`.
    pub(crate) fn sentence(
        &self,
        margin: f64,
        turns: bool,
        wait: impl Fn(&Comparison) -> Option<f64>,
    ) -> String {
        let of = |verdict| self.figures.iter().filter(|(_, c)| is(c, verdict)).collect::<Side<'_>>();
        let [faster, slower, same, open] =
            [Verdict::Faster, Verdict::Slower, Verdict::Same, Verdict::Undecided].map(of);
        let once: Side<'_> = self.figures.iter().filter(|(_, c)| c.ratio.interval.is_none()).collect();
        let (all, is_turned) = (self.figures.len(), turns && slower.len() == self.figures.len());
        let [target, baseline] = match is_turned {
            true => [self.baseline, self.target],
            false => [self.target, self.baseline],
        }
        .map(|name| short(name, LONGEST_NAME));
        let amount = |side: &Side<'_>| Amount::of(side, is_turned);
        if once.len() == all {
            let side = amount(&once);
            return format!(
                "{target} is {side} {baseline} in {}; each was measured only once, so this may be chance.",
                all_of(&once)
            );
        }
        if all == 1 {
            return self.single([target, baseline], &amount, is_turned, more(&open, wait));
        }
        match [faster.len(), slower.len(), same.len(), open.len()] {
            [n, ..] | [_, n, ..] if n == all => {
                let side = if faster.is_empty() { &slower } else { &faster };
                format!("{target} is {} {baseline} in {}.", amount(side), all_of(side))
            }
            [.., n, _] if n == all => format!(
                "{target} and {baseline} are the same in {} (within {}).",
                all_of(&same),
                display_margin(margin)
            ),
            [.., n] if n == all => format!(
                "{target} and {baseline} cannot be told apart yet in {}{}.",
                if all == 2 { "either of 2 figures".to_owned() } else { format!("any of {all} figures") },
                in_brackets(more(&open, wait))
            ),
            [.., 0, 0] => format!(
                "{target} is {} {baseline} {} and {} {}.",
                amount(&faster),
                at(&faster, all),
                amount(&slower).alone(),
                at(&slower, all)
            ),
            [.., 0, _] => {
                let differ = [&faster, &slower].into_iter().filter(|side| !side.is_empty()).enumerate();
                let differ = differ.map(|(i, side)| match i {
                    0 => format!("{} {baseline} {}", amount(side), at(side, all)),
                    _ => format!("{} {}", amount(side).alone(), at(side, all)),
                });
                let rest =
                    if open.len() == 1 { "one figure is" } else { &format!("{} figures are", open.len()) };
                format!(
                    "{target} is {}; {rest} undecided{}.",
                    differ.collect::<Vec<_>>().join(" and "),
                    in_brackets(more(&open, wait))
                )
            }
            _ => {
                let open = match open.len() {
                    0 => String::new(),
                    n => format!(" and undecided in {n}{}", in_brackets(more(&open, wait))),
                };
                let differ = [&faster, &slower].into_iter().filter(|side| !side.is_empty());
                let differ = differ.map(|side| format!("{} {}", amount(side).alone(), at(side, all)));
                let differ = listed(&differ.collect::<Vec<_>>());
                let differ = if differ.is_empty() { differ } else { format!("; {target} is {differ}") };
                format!(
                    "{target} and {baseline} are the same in {} of {all} figures{open}{differ}.",
                    same.len()
                )
            }
        }
    }

    /// The sentence of a pair that has one figure.
    fn single(
        &self,
        [target, baseline]: [String; 2],
        amount: &dyn Fn(&Side<'_>) -> Amount,
        is_turned: bool,
        more: Option<String>,
    ) -> String {
        let (figure, c) = &self.figures[0];
        let what = match c.verdict {
            Verdict::Faster | Verdict::Slower => {
                format!("{target} is {} {baseline}", amount(&vec![&self.figures[0]]))
            }
            Verdict::Same => format!("{target} and {baseline} are the same"),
            Verdict::Undecided => format!("{target} and {baseline} cannot be told apart yet"),
        };
        let is_inverse = is_turned != (c.metric.better() == Better::Lower);
        let speed = |ratio: f64| if is_inverse { 1.0 / ratio } else { ratio };
        let limits = c.ratio.interval.map(
            |(low, high)| {
                if is_inverse { (speed(high), speed(low)) } else { (low, high) }
            },
        );
        let limits = limits.map(display_ratios);
        let in_brackets = match (c.verdict, limits) {
            (Verdict::Faster | Verdict::Slower, Some(limits)) => format!("95 %: {limits}×"),
            (_, Some(limits)) => format!("{} ×; 95 %: {limits}", display_ratio(speed(c.ratio.value))),
            (_, None) => format!("{} ×", display_ratio(speed(c.ratio.value))),
        };
        let more = more.map_or_else(String::new, |more| format!("; {more}"));
        format!("{what} at {figure} ({in_brackets}{more}).")
    }
}

fn is(c: &Comparison, verdict: Verdict) -> bool {
    c.verdict == verdict
}

/// How many times as fast the target is: of latencies the inverse ratio.
pub(crate) fn speed(c: &Comparison) -> f64 {
    if c.metric.better() == Better::Lower { 1.0 / c.ratio.value } else { c.ratio.value }
}

/// By how much a target is faster or slower, from the least to the most.
struct Amount {
    /// Such as `3 to 17 % faster` or `2.1 times as fast`.
    words: String,
    /// The word before what it is compared with.
    than: &'static str,
}

impl Amount {
    fn of(side: &Side<'_>, is_turned: bool) -> Self {
        let speeds = || side.iter().map(|(_, c)| if is_turned { 1.0 / speed(c) } else { speed(c) });
        let (least, most) = (speeds().fold(f64::INFINITY, f64::min), speeds().fold(0.0, f64::max));
        let range = |low: String, high: String, unit: &str| {
            if low == high { format!("{high}{unit}") } else { format!("{low} to {high}{unit}") }
        };
        let (words, than) = if most >= 2.0 || (least < 1.0 && most >= 1.0) {
            (range(times(least), times(most), " times as fast"), "as")
        } else if most >= 1.0 {
            (range(percent(least - 1.0), percent(most - 1.0), " % faster"), "than")
        } else {
            (range(percent(1.0 - most), percent(1.0 - least), " % slower"), "than")
        };
        Self { words, than }
    }

    /// Without what it is compared with.
    fn alone(self) -> String {
        self.words
    }
}

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.words, self.than)
    }
}

/// How many times, with the digits that say something.
pub(crate) fn times(speed: f64) -> String {
    match speed {
        ..1.095 => display_ratio(speed),
        ..9.95 => format!("{speed:.1}"),
        _ => format!("{speed:.0}"),
    }
}

/// A share in percent, without its unit: whole numbers, unless the first digit would get lost.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent < 0.95 || (99.5..100.0).contains(&percent) {
        format!("{percent:.1}")
    } else {
        format!("{percent:.0}")
    }
}

/// All figures of a pair.
fn all_of(side: &Side<'_>) -> String {
    match side.as_slice() {
        [(only, _)] => only.clone(),
        [_, _] => "both figures".to_owned(),
        many => format!("all {} figures", many.len()),
    }
}

/// Where: by name, or only their number.
fn at(side: &Side<'_>, all: usize) -> String {
    if side.len() > NAMED {
        return format!("in {} of {all} figures", side.len());
    }
    format!("at {}", listed(&side.iter().map(|(figure, _)| figure.clone()).collect::<Vec<_>>()))
}

fn in_brackets(words: Option<String>) -> String {
    words.map_or_else(String::new, |words| format!(" ({words})"))
}

/// How long it would take to decide; nothing unless it is known of all.
fn more(open: &Side<'_>, wait: impl Fn(&Comparison) -> Option<f64>) -> Option<String> {
    in_time(open.iter().map(|(_, c)| wait(c)).sum())
}

/// The seconds that would decide, in words.
pub(crate) fn in_time(seconds: Option<f64>) -> Option<String> {
    let about = |n: f64, unit: &str| {
        let plural = if n == 1.0 { "" } else { "s" };
        format!("about {n} more {unit}{plural} would decide")
    };
    match seconds? {
        s if s <= 0.0 => None,
        s if s < 95.0 => Some(about((s / 10.0).ceil() * 10.0, "second")),
        s if s < 95.0 * 60.0 => Some(about((s / 60.0).ceil(), "minute")),
        s if s < 48.0 * 3600.0 => Some(about((s / 3600.0).ceil(), "hour")),
        _ => Some("to decide would take days".to_owned()),
    }
}
