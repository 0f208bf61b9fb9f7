//! Failing storage, and data that differ from what was written.

use std::collections::BTreeMap;

use model::{Evidence, FailureKind, Finding, Note, RepeatFailure, RepeatOutcome, Severity};

use super::context::Pair;
use super::{Rule, RuleContext, evidence, total};

/// The error of a filesystem that is full.
const ENOSPC: i32 = 28;
/// What to do about it.
const MAKE_ROOM: &str = "free some space, or use a smaller --size: copy-on-write filesystems such as btrfs need more space than the test data";

pub(super) fn data_corrupted(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let bad = || {
            let checks = pair.repeats.iter().filter_map(|r| Some((r, r.finished.integrity.as_ref()?)));
            checks.filter(|(_, check)| check.mismatched > 0)
        };
        let first = bad().flat_map(|(_, check)| &check.first).next()?;
        let mismatched = total(bad().map(|(_, check)| check.mismatched));
        let checked = total(bad().map(|(_, check)| check.checked));
        let message = format!(
            "{mismatched} of {checked} checked blocks differ from what was written; the first at byte {} of the test data: {}",
            first.offset, first.what
        );
        let figures = vec![
            evidence("mismatched blocks", mismatched as f64, "1").in_rounds(bad().map(|(r, _)| r.round())),
            evidence("checked blocks", checked as f64, "1"),
        ];
        let found = rule.finding(Severity::Error, pair.subject(), message, figures);
        Some(found.changing(mismatched as f64 / checked.max(1) as f64))
    };
    context.finished().filter_map(finding).collect()
}

pub(super) fn storage_failed(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let failures: Vec<_> = pair
            .repeats
            .iter()
            .filter_map(|r| match &r.finished.outcome {
                // A note reports a program or a machine that failed instead of the storage.
                RepeatOutcome::Failed(RepeatFailure {
                    kind: FailureKind::Program(_) | FailureKind::Machine(_),
                    ..
                }) => None,
                RepeatOutcome::Failed(failure) => Some((r, failure)),
                _ => None,
            })
            .collect();
        let (at, first) = failures.first()?;
        let others = match failures.len() {
            1 => String::new(),
            n => format!("; {} more repeats of this step failed", n - 1),
        };
        let is_full = matches!(first.kind, FailureKind::Errno(ENOSPC) | FailureKind::Unopened(ENOSPC));
        let data = if is_full { None } else { Some(what_became_of_the_data(pair)) };
        let is_given_up = context.run.notes.iter().any(|note| {
            note.topic == Note::TARGET_GIVEN_UP && note.target.as_deref() == Some(pair.target.name.as_str())
        });
        let went_on = is_given_up.then(|| "the run went on without this target".to_owned());
        let message = [Some(format!("{first}{others}")), data, went_on];
        let message = message.into_iter().flatten().collect::<Vec<_>>().join("; ");
        let failed_ns = at.began_ns().saturating_add(first.after_ns);
        let figures = vec![
            evidence("good operations before the failure", first.good_operations as f64, "1")
                .in_rounds([at.round()])
                .between(failed_ns, failed_ns),
            evidence("failed repeats", failures.len() as f64, "1")
                .in_rounds(failures.iter().map(|(r, _)| r.round())),
        ];
        let found = rule.finding(Severity::Error, pair.subject(), message, figures);
        let found = found.changing(failures.len() as f64 / pair.repeats.len() as f64);
        Some(if is_full { found.advising(MAKE_ROOM) } else { found })
    };
    context.finished().filter_map(finding).collect()
}

/// The fate of the data, which only verification knows.
fn what_became_of_the_data(pair: &Pair<'_>) -> String {
    let checks = || pair.repeats.iter().filter_map(|r| r.finished.integrity.as_ref());
    let checked = total(checks().map(|check| check.checked));
    let lost = total(checks().map(|check| check.mismatched));
    match (checked, lost) {
        (0, _) => "whether data were lost is not known (--verify true checks it)".to_owned(),
        (checked, 0) => format!("all {checked} checked blocks match what was written"),
        (checked, lost) => {
            format!("data were lost: {lost} of {checked} checked blocks differ from what was written")
        }
    }
}

/// The failed operations of a pair with one errno.
#[derive(Default)]
struct Trouble {
    count: u64,
    rounds: Vec<u32>,
    /// Span of the run in which they occurred, in nanoseconds.
    from_ns: u64,
    to_ns: u64,
}

pub(super) fn operation_errors(rule: &Rule, context: &RuleContext<'_>) -> Vec<Finding> {
    let finding = |pair: &Pair<'_>| {
        let troubles = troubles(pair);
        let errors = total(troubles.values().map(|t| t.count));
        if errors == 0 {
            return None;
        }
        let good = total(pair.repeats.iter().flat_map(|r| r.counts.whole().values()).map(|s| s.count));
        let all = good.saturating_add(errors);
        let kinds: Vec<String> = troubles
            .iter()
            .map(|(errno, t)| format!("{} × {}", t.count, std::io::Error::from_raw_os_error(*errno)))
            .collect();
        let message = format!(
            "{} among {} operations, and the repeats continued; {}",
            super::words::list(&kinds),
            all,
            what_became_of_the_data(pair)
        );
        let figure = |(errno, t): (&i32, &Trouble)| -> Evidence {
            evidence(format!("operations that ended with errno {errno}"), t.count as f64, "1")
                .in_rounds(t.rounds.iter().copied())
                .between(t.from_ns, t.to_ns)
        };
        let figures = troubles.iter().map(figure).collect();
        let found = rule.finding(Severity::Error, pair.subject(), message, figures);
        Some(found.changing(errors as f64 / all as f64))
    };
    context.completed().filter_map(finding).collect()
}

fn troubles(pair: &Pair<'_>) -> BTreeMap<i32, Trouble> {
    let mut troubles: BTreeMap<i32, Trouble> = BTreeMap::new();
    for ended in &pair.repeats {
        for interval in &ended.repeat.intervals {
            for (errno, count) in interval.operations.values().flat_map(|stats| &stats.errors) {
                let from_ns = ended.began_ns().saturating_add(interval.start_ns);
                let trouble =
                    troubles.entry(*errno).or_insert_with(|| Trouble { from_ns, ..Trouble::default() });
                trouble.count = trouble.count.saturating_add(*count);
                trouble.to_ns = from_ns.saturating_add(interval.len_ns);
                if trouble.rounds.last() != Some(&ended.round()) {
                    trouble.rounds.push(ended.round());
                }
            }
        }
    }
    troubles
}
