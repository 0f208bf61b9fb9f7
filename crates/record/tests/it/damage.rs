//! Logs that were changed after they were written.

use std::path::Path;

use record::{Damage, DamageKind, Log, LogError, OnDamage, parse_log, parse_log_with};

/// The lines of a log.
fn fixture() -> Vec<String> {
    let text = include_str!("../../../../fixtures/runs/format-3.jsonl");
    text.lines().map(str::to_owned).collect()
}

fn read(lines: &[String], on_damage: OnDamage) -> Result<Log, LogError> {
    parse_log_with(format!("{}\n", lines.join("\n")).as_bytes(), Path::new("log"), on_damage)
}

/// Reads the log up to the damage and checks that the run has a note about it.
#[track_caller]
fn damaged(lines: &[String]) -> (Log, Damage) {
    let log = read(lines, OnDamage::Stop).unwrap();
    let damage = log.damage.first().expect("the damage is found").clone();
    let note = log.run.notes.last().unwrap();
    assert_eq!((note.topic.as_str(), note.severity), ("log-damaged", model::Severity::Error));
    assert!(note.message.contains(&damage.to_string()), "{}", note.message);
    (log, damage)
}

#[test]
fn a_log_of_format_2_is_read_and_says_the_same() {
    let formats = [
        (include_str!("../../../../fixtures/runs/format-2.jsonl"), 2),
        (include_str!("../../../../fixtures/runs/format-3.jsonl"), 3),
    ];
    let [old, mut new] = formats.map(|(text, format)| {
        let mut log = parse_log(text.as_bytes(), Path::new("log")).unwrap();
        assert_eq!((log.damage, log.cut_off), (Vec::new(), false));
        assert_eq!(std::mem::replace(&mut log.run.started.format, 0), format);
        log.run
    });
    assert!(new.repeats.iter().any(model::Repeat::is_complete));
    // There were none when the older one was written.
    assert!(!std::mem::take(&mut new.readings).is_empty());
    assert_eq!(old, new);
}

/// An altered digit in a log changed a figure without a message, and so did swapped, repeated and removed lines: 20 of
/// 1,000 random changes.
#[test]
fn an_altered_digit_is_damage() {
    let whole = fixture();
    let at = whole.iter().position(|line| line.contains("\"event\":\"interval\"")).unwrap();
    let mut lines = whole.clone();
    lines[at] = lines[at].replace("\"count\":", "\"count\":1");
    let (log, damage) = damaged(&lines);
    assert_eq!(damage, Damage { line: at + 1, kind: DamageKind::Changed });
    assert!(log.run.finished.is_none(), "nothing after the damage is used");
    let accepted = read(&lines, OnDamage::Accept).unwrap();
    assert!(accepted.run.finished.is_some() && accepted.damage == [damage]);
    assert_ne!(accepted.run.repeats, read(&whole, OnDamage::Stop).unwrap().run.repeats);
}

#[test]
fn swapped_repeated_and_removed_lines_are_damage() {
    let whole = fixture();
    let mut lines = whole.clone();
    lines.swap(2, 4);
    assert_eq!(damaged(&lines).1, Damage { line: 3, kind: DamageKind::Missing { first: 3, last: 4 } });

    let mut lines = whole.clone();
    lines.insert(4, whole[1].clone());
    assert_eq!(damaged(&lines).1, Damage { line: 5, kind: DamageKind::Doubled { of: 2 } });
    let accepted = read(&lines, OnDamage::Accept).unwrap();
    assert_eq!(accepted.run.repeats, read(&whole, OnDamage::Stop).unwrap().run.repeats, "it counts once");
    assert_eq!(accepted.damage.len(), 1, "the lines after the copy are in order");

    // A copy that was altered does not count either.
    let at = whole.iter().position(|line| line.contains("\"event\":\"interval\"")).unwrap();
    let mut lines = whole.clone();
    lines.insert(at + 2, whole[at].replace("\"count\":", "\"count\":1"));
    assert_eq!(damaged(&lines).1, Damage { line: at + 3, kind: DamageKind::Doubled { of: at as u64 + 1 } });
    let accepted = read(&lines, OnDamage::Accept).unwrap();
    assert_eq!(accepted.run.repeats, read(&whole, OnDamage::Stop).unwrap().run.repeats);

    let mut lines = whole.clone();
    lines.remove(2);
    assert_eq!(damaged(&lines).1, Damage { line: 3, kind: DamageKind::Missing { first: 3, last: 3 } });
}

#[test]
fn a_changed_first_line_is_an_error_without_consent() {
    let mut lines = fixture();
    lines[0] = lines[0].replace("\"started_unix_ns\":1", "\"started_unix_ns\":2");
    let error = read(&lines, OnDamage::Stop).unwrap_err();
    assert!(matches!(&error, LogError::Damaged { damage: Damage { line: 1, .. }, .. }), "{error}");
    assert!(error.to_string().contains("--accept-damage"), "{error}");
    assert!(read(&lines, OnDamage::Accept).unwrap().run.finished.is_some());
}

#[test]
fn a_log_without_its_last_line_is_of_a_killed_run() {
    let mut lines = fixture();
    lines.truncate(lines.len() - 1);
    let log = read(&lines, OnDamage::Stop).unwrap();
    assert!(log.run.finished.is_none() && log.damage.is_empty() && !log.cut_off);
}
