//! Documents, pages and exports of whole runs.

mod anonymous;
mod answers;
mod crosscheck;
mod forms;
mod history;
mod imported;
mod pairs;
mod pictures;
mod requirements;
mod targets;

/// A real run, of which the fixture has the events.
fn fixture() -> model::Run {
    let events = include_str!("../../../../fixtures/runs/events.jsonl").lines();
    model::Run::from_events(events.map(|event| serde_json::from_str(event).unwrap())).unwrap()
}
