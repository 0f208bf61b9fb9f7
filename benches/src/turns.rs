//! What a short repeat costs beyond its measurement, by parts.

use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::setting::Setting;
use crate::table::{Values, markdown};

/// Measured time of each repeat in nanoseconds.
const LENGTH_NS: u64 = 100_000_000;

/// Runs the suite `quick` on two directories with repeats of 100 ms without a ramp, and prints the parts of a turn, from the
/// end of one measurement to the start of the next.
///
/// # Errors
/// The run fails, or its log is not as expected.
pub fn turns(setting: &Setting) -> io::Result<String> {
    let scratch = tempfile::tempdir_in(&setting.turns.place)?;
    let directories = ["a", "b"].map(|name| scratch.path().join(name));
    for directory in &directories {
        std::fs::create_dir(directory)?;
    }
    let store = scratch.path().join("store");
    let output = Command::new(setting.programs.lodestone())
        .arg("run")
        .args(&directories)
        .arg("--store")
        .arg(&store)
        .args(["--quiet", "--no-report", "--ramp", "0s", "--size", "256MiB"])
        .args(["--runtime", &format!("={LENGTH_NS}ns")])
        .args(["--rounds", &(setting.turns.rounds * 4).to_string()])
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let parts = parts(&events(&store)?);
    let row = |(step, parts): (&String, &Parts)| {
        let ms = |values: &Values| values.shown(|ns| format!("{:.2}", ns / 1e6));
        let whole = parts.whole.median() / 1e6;
        vec![step.clone(), ms(&parts.before), ms(&parts.after), ms(&parts.between), format!("{whole:.2}")]
    };
    let rows: Vec<Vec<String>> = parts.iter().map(row).collect();
    Ok(markdown(
        &["step", "open and set up, ms", "sync after it, ms", "between repeats, ms", "turn, ms"],
        &rows,
    ))
}

/// The parts of the turns of a step, in nanoseconds.
#[derive(Debug, Default)]
struct Parts {
    /// From the start of a repeat to its first operation, with the counters read at both ends and the release of the files.
    before: Values,
    /// Syncing after it.
    after: Values,
    /// From the end of the repeat before it.
    between: Values,
    whole: Values,
}

/// The events of the only run of a store.
pub(crate) fn events(store: &Path) -> io::Result<Vec<Value>> {
    let log = std::fs::read_dir(store.join("runs"))?.next().ok_or(io::ErrorKind::NotFound)??.path();
    let text = record::decompressed(std::fs::File::open(log)?)?;
    text.lines().map(|line| Ok(serde_json::from_str(&line?)?)).collect()
}

fn parts(events: &[Value]) -> BTreeMap<String, Parts> {
    let mut found: BTreeMap<String, Parts> = BTreeMap::new();
    let ns = |event: &Value, key: &str| event[key].as_u64().unwrap_or(0) as f64;
    let (mut started, mut last_end): (Option<&Value>, Option<f64>) = (None, None);
    for event in events {
        match event["event"].as_str() {
            Some("repeat_started") => started = Some(event),
            Some("repeat_finished") => {
                let (Some(start), end) = (started.take(), ns(event, "at_ns")) else { continue };
                let (began, settled) = (ns(start, "at_ns"), ns(event, "settled_ns"));
                let before = end - began - ns(event, "window_ns") - settled;
                if let (Some(last), Some(step)) = (last_end, start["step"].as_str()) {
                    let parts = found.entry(step.to_owned()).or_default();
                    parts.before.push(before);
                    parts.after.push(settled);
                    parts.between.push(began - last);
                    parts.whole.push(before + settled + began - last);
                }
                last_end = Some(end);
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_turn_is_everything_but_the_measurement() {
        let start = |at: u64| json!({"event": "repeat_started", "at_ns": at, "step": "s"});
        let end =
            |at: u64| json!({"event": "repeat_finished", "at_ns": at, "window_ns": 100, "settled_ns": 7});
        let found = parts(&[start(0), end(120), start(125), end(245), json!({"event": "run_finished"})]);
        let parts = &found["s"];
        assert_eq!((parts.before.median(), parts.after.median(), parts.between.median()), (13.0, 7.0, 5.0));
        assert_eq!(parts.whole.median(), 25.0);
    }
}
