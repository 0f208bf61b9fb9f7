//! The highest load that storage carries: a search among the steps of a ladder, each of which is decided like any requirement.
//!
//! A search by halves, with one round of each load that it looks at, finds where the figures cross their limits; then the loads on both sides of
//! that place are decided. Each verdict has as small a part of the accepted error as if a search by halves had needed all of its loads
//! decided, so that at most one search in twenty goes wrong anywhere. A rung is measured for [`MOST_ROUNDS`] rounds at most, with an interim
//! analysis after each and a test at their end; what that does not decide is left, and the search goes on on both sides of it: what is
//! carried has been met, what is too much has been missed, and nothing between is claimed.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use model::{Ladder, Plan, Run};

use crate::requirements::{Judgement, Sample, Standing, judge};

/// Rounds of a rung, at most.
const MOST_ROUNDS: u32 = 60;

/// What a search has found on one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Headroom {
    /// What the load is counted in.
    pub unit: String,
    /// The target's name.
    pub target: String,
    /// The highest load that it carries, of those that were tried.
    pub carried: Option<f64>,
    /// The lowest load that is too much for it, of those that were tried.
    pub too_much: Option<f64>,
    /// The highest load of the ladder.
    pub highest: f64,
    /// The loads that were tried, from the lowest to the highest, each with the verdicts on it.
    pub tried: Vec<(f64, Vec<Judgement>)>,
}

/// What is known of a rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Nothing,
    Met,
    Missed,
    /// It could not be decided.
    Left,
}

/// The highest rung that is met, and the lowest above it that is missed.
fn place(rungs: &[Known]) -> (Option<usize>, Option<usize>) {
    let missed = rungs.iter().position(|known| *known == Known::Missed);
    let met = rungs[..missed.unwrap_or(rungs.len())].iter().rposition(|known| *known == Known::Met);
    (met, missed)
}

/// What is known of a rung, and whether its figures are within their limits so far.
type Status = (Known, Option<bool>);

/// Where a search by halves has come to.
enum Search {
    /// This rung is to be measured.
    Measure(usize),
    /// The last rung that is good and the first one that is not, which are neighbours.
    Edge(Option<usize>, usize),
}

/// Searches between a good rung and one that is not good, by halves of what is not known.
fn search(good: Option<usize>, bad: usize, is_good: impl Fn(usize) -> Option<bool>) -> Search {
    let from = good.map_or(0, |good| good + 1);
    let bad = (from..bad).find(|rung| is_good(*rung) == Some(false)).unwrap_or(bad);
    let good = (from..bad).rev().find(|rung| is_good(*rung) == Some(true)).or(good);
    let from = good.map_or(0, |good| good + 1);
    if from < bad { Search::Measure(from + (bad - from) / 2) } else { Search::Edge(good, bad) }
}

/// The rung to measure next; `None` if the search has ended.
fn next(rungs: &[Status]) -> Option<usize> {
    let known: Vec<Known> = rungs.iter().map(|(known, _)| *known).collect();
    let (met, missed) = place(&known);
    let end = missed.unwrap_or(rungs.len());
    let is_good = |if_left: bool| {
        move |rung: usize| match rungs[rung] {
            (Known::Met, _) => Some(true),
            (Known::Missed, _) => Some(false),
            (Known::Left, _) => Some(if_left),
            (Known::Nothing, looks_good) => looks_good,
        }
    };
    let bad = match search(met, end, is_good(false)) {
        Search::Measure(rung) => return Some(rung),
        Search::Edge(Some(good), _) if known[good] == Known::Nothing => return Some(good),
        Search::Edge(_, bad) => bad,
    };
    let is_open = |rung: usize| rung < rungs.len() && known[rung] == Known::Nothing;
    if bad == end || is_open(bad) {
        return is_open(bad).then_some(bad);
    }
    // It was left.
    match search(Some(bad), end, is_good(true)) {
        Search::Measure(rung) => Some(rung),
        Search::Edge(_, bad) => is_open(bad).then_some(bad),
    }
}

/// The judgements of a step on a target.
fn of_rung<'a>(
    judgements: &'a [Judgement],
    step: &'a str,
    target: &'a str,
) -> impl Iterator<Item = &'a Judgement> + Clone {
    judgements.iter().filter(move |j| j.requirement.step == step && j.target == target)
}

fn known(judgements: &[Judgement], step: &str, target: &str) -> Known {
    let own = of_rung(judgements, step, target).filter(|j| j.rounds > 0);
    let rounds = own.clone().map(|judgement| judgement.rounds).max().unwrap_or(0);
    match Standing::of_all(own.map(|judgement| judgement.standing)) {
        _ if rounds == 0 => Known::Nothing,
        Standing::Met => Known::Met,
        Standing::Missed => Known::Missed,
        Standing::Undecided if rounds >= MOST_ROUNDS => Known::Left,
        Standing::Undecided => Known::Nothing,
    }
}

/// Whether the figures of a step are within their limits so far, if there are any.
fn looks_good(judgements: &[Judgement], step: &str, target: &str) -> Option<bool> {
    let headrooms: Vec<f64> = of_rung(judgements, step, target).filter_map(|j| j.headroom).collect();
    (!headrooms.is_empty()).then(|| headrooms.iter().all(|headroom| *headroom >= 1.0))
}

/// The steps and targets that are the turn of the ladders' searches while rounds continue.
pub fn rungs_in_turn(plan: &Plan, samples: &[Sample], targets: &[&str]) -> BTreeSet<(String, String)> {
    if plan.ladders.is_empty() {
        return BTreeSet::new();
    }
    let meanwhile = judge(plan, samples, true);
    // Only what is left open is judged as at the end.
    let at_end = OnceCell::new();
    let of_rung = |step: &str, target: &str| match known(&meanwhile, step, target) {
        Known::Left => known(at_end.get_or_init(|| judge(plan, samples, false)), step, target),
        other => other,
    };
    let turn = |ladder: &Ladder, target: &str| {
        let status = |step: &str| (of_rung(step, target), looks_good(&meanwhile, step, target));
        let all: Vec<Status> = ladder.rungs.iter().map(|rung| status(&rung.step)).collect();
        next(&all).map(|rung| (ladder.rungs[rung].step.clone(), target.to_owned()))
    };
    let of_target = |target: &&str| {
        let target = *target;
        plan.ladders.iter().filter_map(|ladder| turn(ladder, target)).collect::<Vec<_>>()
    };
    targets.iter().flat_map(of_target).collect()
}

impl Headroom {
    /// What the search on a ladder has found on a target, from the verdicts at its end.
    pub fn of(ladder: &Ladder, target: &str, judgements: &[Judgement]) -> Self {
        let all: Vec<Known> = ladder.rungs.iter().map(|rung| known(judgements, &rung.step, target)).collect();
        let (met, missed) = place(&all);
        let load = |rung: usize| ladder.rungs[rung].load;
        let tried = ladder.rungs.iter().filter_map(|rung| {
            let own: Vec<Judgement> = of_rung(judgements, &rung.step, target).cloned().collect();
            own.iter().any(|judgement| judgement.rounds > 0).then_some((rung.load, own))
        });
        Self {
            unit: ladder.unit.clone(),
            target: target.to_owned(),
            carried: met.map(load),
            too_much: missed.map(load),
            highest: ladder.rungs.last().map_or(0.0, |rung| rung.load),
            tried: tried.collect(),
        }
    }
}

/// What the searches of a run have found, by target within a ladder.
pub(crate) fn headrooms(run: &Run, judgements: &[Judgement]) -> Vec<Headroom> {
    let targets = &run.started.targets;
    let of = |ladder| targets.iter().map(move |target| Headroom::of(ladder, &target.name, judgements));
    run.started.plan.ladders.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches among `n` rungs of which the first `met` are within their limits; those in `left` cannot be decided. A rung is decided after
    /// three rounds. What was measured, and what was found.
    fn found(
        n: usize,
        met: usize,
        left: std::ops::Range<usize>,
    ) -> (Vec<usize>, (Option<usize>, Option<usize>)) {
        let mut rungs: Vec<Status> = vec![(Known::Nothing, None); n];
        let mut measured = Vec::new();
        while let Some(rung) = next(&rungs) {
            measured.push(rung);
            assert!(measured.len() <= 3 * n, "{n} {met}: {measured:?}");
            let is_over = measured.iter().filter(|other| **other == rung).count() == 3;
            let known = match rung {
                _ if !is_over => Known::Nothing,
                _ if left.contains(&rung) => Known::Left,
                _ if rung < met => Known::Met,
                _ => Known::Missed,
            };
            rungs[rung] = (known, Some(rung < met));
        }
        (measured, place(&rungs.iter().map(|(known, _)| *known).collect::<Vec<_>>()))
    }

    #[test]
    fn a_search_looks_at_few_rungs_and_decides_two() {
        for n in 1..40 {
            let rungs = (0..n).map(|i| model::Rung { step: i.to_string(), load: i as f64 }).collect();
            let most = Ladder { unit: "x".into(), rungs }.most_probes() as usize;
            for met in 0..=n {
                let (measured, place) = found(n, met, 0..0);
                assert_eq!(place, (met.checked_sub(1), (met < n).then_some(met)), "{n} {met}");
                assert!(measured.len() <= most + 4, "{n} {met}: {measured:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_decided_lies_between_what_is_met_and_what_is_missed() {
        for met in 0..=16_usize {
            for (below, above) in [(0, 1), (1, 1), (2, 3)] {
                let left = met.saturating_sub(below)..(met + above).min(16);
                let (_, place) = found(16, met, left.clone());
                let missed = (left.end < 16).then_some(left.end);
                assert_eq!(place, (left.start.checked_sub(1), missed), "{met} {left:?}");
            }
        }
    }

    #[test]
    fn a_rung_below_one_that_is_missed_counts() {
        use Known::{Met, Missed, Nothing};
        let rungs = [Met, Missed, Met, Nothing];
        assert_eq!(place(&rungs), (Some(0), Some(1)));
        assert_eq!(next(&rungs.map(|known| (known, None))), None);
    }
}
