//! Failing storage.

use model::*;

use super::*;

pub(super) fn cases() -> Vec<Case> {
    vec![
        ("data-corrupted", true, workload(), |r| {
            each_finished(r, |f| {
                let first = vec![Mismatch { offset: 4096, what: "wrong checksum".into() }];
                f.integrity = Some(IntegrityCheck { checked: 10, mismatched: 1, first });
            });
        }),
        ("data-corrupted", false, workload(), |r| {
            each_finished(r, |f| {
                f.integrity = Some(IntegrityCheck { checked: 10, ..IntegrityCheck::default() })
            });
        }),
        ("storage-failed", true, workload(), |r| {
            each_finished(r, |f| {
                f.outcome = RepeatOutcome::Failed(RepeatFailure {
                    kind: FailureKind::Errno(5),
                    operation: Operation::Read,
                    offset: Some(0),
                    after_ns: 1,
                    good_operations: 1,
                    good_bytes: 1,
                });
            });
        }),
        ("storage-failed", false, workload(), |r| {
            each_finished(r, |f| f.outcome = RepeatOutcome::Interrupted)
        }),
        ("operation-errors", true, workload(), |r| each_stats(r, |s| s.errors = [(5, 2)].into())),
        ("operation-errors", true, workload(), |r| {
            r.repeats[1].intervals[0].operations.values_mut().for_each(|s| s.errors = [(61, 1)].into());
        }),
        ("operation-errors", false, workload(), NOTHING),
        ("operation-errors", false, workload(), |r| {
            // Errors that ended a repeat are reported with its failure.
            each_stats(r, |s| s.errors = [(5, 1)].into());
            each_finished(r, |f| f.outcome = RepeatOutcome::Interrupted);
        }),
    ]
}

#[test]
fn a_full_filesystem_is_told_as_such_and_once() {
    let mut run = run(workload());
    each_finished(&mut run, |f| {
        f.outcome = RepeatOutcome::Failed(RepeatFailure {
            kind: FailureKind::Errno(28),
            operation: Operation::Write,
            offset: Some(0),
            after_ns: 1,
            good_operations: 1,
            good_bytes: 1,
        });
    });
    run.record(Event::Note(Note {
        at_ns: 2,
        severity: Severity::Error,
        topic: Note::TARGET_GIVEN_UP.into(),
        target: Some("disk".into()),
        message: "it failed".into(),
    }));
    let found = found_in(&run);
    let full = found.iter().find(|finding| finding.rule == "storage-failed").unwrap();
    assert!(full.message.ends_with("; the run went on without this target"), "{}", full.message);
    assert!(!full.message.contains("--verify"), "{}", full.message);
    assert!(full.advice.as_ref().unwrap().contains("smaller --size"), "{full:?}");
}
