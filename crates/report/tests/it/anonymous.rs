//! An anonymous run contains no names. Each text of a complete log is replaced by a unique marker, and all output from
//! the anonymous run is searched for the markers; this file lists the texts that may be kept.

use std::collections::BTreeMap;

use analyse::{Analysis, Estimator, analyse, telemetry};
use jiff::tz::TimeZone;
use model::{Event, Run};
use report::chart::charts_at;
use report::{AnalysedRun, Anonymiser, PseudonymKey, RunView, TextStyle, Units};
use serde_json::{Value, json};

/// Texts that an anonymous run keeps: the event, then the path to the text, without list indices.
const KEPT: [&str; 31] = [
    "run_started.id",
    "run_started.version",
    "run_started.host.kernel",
    "run_started.host.architecture",
    "run_started.host.cpu",
    "run_started.host.board",
    "run_started.host.os",
    "run_started.host.facts.governor",
    "run_started.plan.id",
    "run_started.plan.suite",
    "run_started.plan.until_steady",
    "run_started.plan.steps.id",
    "run_started.plan.steps.title",
    "run_started.targets.stack.facts.link",
    "run_started.targets.stack.facts.logical block",
    "run_started.targets.stack.facts.physical block",
    "run_started.targets.stack.facts.rotational (hint)",
    "run_started.targets.stack.facts.scheduler",
    "run_started.targets.stack.facts.size",
    "run_started.targets.stack.facts.write cache",
    "run_started.targets.stack.facts.model",
    "repeat_started.step",
    "reading.probe",
    "reading.unit",
    "note.topic",
    "imported.tool",
    "imported.version",
    "imported.unsaid",
    "imported.facts.ioengine",
    "imported.figures.recomputed.from",
    "imported.remarks.topic",
];

/// The events of the fixture, extended by everything else that a log can contain.
fn log() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/runs/events.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let started = &mut lines[0];
    started["sources"] = json!([{ "file": "results/fio.json", "digest": "ab12", "bytes": 7 }]);
    started["host"]["board"] = "A board".into();
    started["host"]["facts"] = json!({ "governor": "performance", "owner": "somebody" });
    started["plan"]["until_steady"] = "read".into();
    let names = [
        "model",
        "serial",
        "backing file",
        "server",
        "target name",
        "mapping",
        "volume group",
        "logical volume",
        "pool",
        "pool layout",
        "mount point",
        "source",
        "options",
        "wwn",
        "uuid",
        "date",
    ];
    for name in names {
        started["targets"][0]["stack"][1]["facts"][name] = format!("/srv/{name}/a,b=c").into();
    }
    for (probe, key) in
        [("other_processes", "bash.read"), ("network", "/mnt/nfs.read"), ("devices", "vda.busy")]
    {
        lines.push(json!({ "event": "reading", "at_ns": 1, "probe": probe, "key": key, "value": 1.0, "unit": "B/s" }));
    }
    lines.push(json!({
        "event": "note", "at_ns": 2, "severity": "warning", "topic": "x", "target": "one", "message": "m",
    }));
    lines.push(json!({
        "event": "imported", "repeat": 1, "tool": "fio", "version": "3", "file": "results/fio.json", "line": 1,
        "labels": { "device": "ssd", "bs": "4M", "filesystem": "xfs", "mine": "yes" },
        "facts": { "ioengine": "libaio", "job": "bobs" }, "unsaid": ["direct"],
        "figures": [{
            "operation": "read", "metric": "bandwidth", "value": 1.0,
            "printed": { "text": "1B/s", "value": 1.0, "error": 0.1, "line": 2 },
            "recomputed": { "value": 1.0, "error": 0.1, "from": "bytes / seconds" },
        }],
        "remarks": [{ "topic": "odd", "message": "it is", "line": 3 }],
    }));
    let finished = |line: &&mut Value| line["event"] == "repeat_finished";
    let line = lines.iter_mut().filter(finished).nth(2).unwrap();
    line["outcome"] = json!({ "failed": {
        "kind": { "program": "it said" }, "operation": "read", "after_ns": 1, "good_operations": 1, "good_bytes": 1,
    } });
    let check = json!({ "checked": 1, "mismatched": 1, "first": [{ "offset": 0, "what": "other data" }] });
    line["integrity"] = check;
    lines
}

/// Replaces every free text by a unique marker and records its path. A name that occurs at several paths keeps one
/// marker.
struct Marker {
    places: BTreeMap<String, String>,
    names: BTreeMap<String, String>,
}

impl Marker {
    fn mark(&mut self, event: &mut Value) {
        let kind = event["event"].as_str().unwrap().to_owned();
        let mut found = Vec::new();
        leaves(event, "", &kind, &mut found);
        for (pointer, place) in found {
            let before = event.pointer(&pointer).unwrap().clone();
            let text = before.as_str().unwrap();
            let name = match place.as_str() {
                place
                    if place.ends_with("targets.name")
                        || place.ends_with("target")
                        || place.ends_with("baseline") =>
                {
                    format!("target {text}")
                }
                "run_started.plan.steps.id" | "repeat_started.step" | "run_started.plan.until_steady" => {
                    format!("step {text}")
                }
                "run_started.sources.file" | "imported.file" => format!("file {text}"),
                place => format!("{place} {}", self.names.len()),
            };
            let number = self.names.len();
            let marker = self.names.entry(name).or_insert_with(|| format!("zq{number:04}secret")).clone();
            *event.pointer_mut(&pointer).unwrap() = marker.clone().into();
            if serde_json::from_value::<Event>(event.clone()).is_err() {
                // A value of an enumeration, which contains no name.
                *event.pointer_mut(&pointer).unwrap() = before;
            } else {
                self.places.entry(marker).or_insert(place);
            }
        }
    }
}

fn leaves(value: &Value, pointer: &str, place: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(_) => found.push((pointer.to_owned(), place.to_owned())),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, v)| leaves(v, &format!("{pointer}/{i}"), place, found));
        }
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(name, _)| *name != "event") {
                let escaped = name.replace('~', "~0").replace('/', "~1");
                leaves(value, &format!("{pointer}/{escaped}"), &format!("{place}.{name}"), found);
            }
        }
        _ => {}
    }
}

fn view(run: &Run) -> RunView {
    let baseline = run.started.baseline.clone();
    RunView { units: Units::Decimal, baseline, time_zone: TimeZone::UTC, details: true }
}

/// All output formats of a run, by name.
fn forms(run: &Run) -> Vec<(String, String)> {
    let view = view(run);
    let analysis: Analysis = analyse(run, &view.baseline, Estimator::Mean, Units::Decimal);
    let (figures, read) = (&analysis.measurements, telemetry(run));
    let document = report::run_document(run, &analysis, &view);
    let mut forms = vec![
        ("the run itself", format!("{run:?}")),
        ("json", report::json::pretty(&report::json::run_export(&AnalysedRun::new(run, &analysis, &view)))),
        ("csv", report::csv(run, figures)),
        ("markdown", report::markdown(&document)),
        ("text", report::text(&document, TextStyle { width: 200, color: false }).to_string()),
        ("influx", report::influx(run, &analysis)),
        ("prometheus", report::prometheus(run, &analysis)),
        ("telemetry json", report::json::pretty(&report::telemetry_export(run, &read))),
        ("telemetry csv", report::telemetry_csv(run, &read)),
        (
            "telemetry markdown",
            report::markdown(&report::telemetry_document(run, &read, &host::probes::labels(), &view)),
        ),
        ("page", report::run_page(&AnalysedRun::new(run, &analysis, &view))),
    ];
    let charts = charts_at(&AnalysedRun::new(run, &analysis, &view), 900.0);
    let charts: Vec<(String, String)> = charts.iter().map(|c| (c.name.clone(), c.standalone())).collect();
    assert!(!charts.is_empty());
    forms.retain(|(name, form)| !form.is_empty() || panic!("{name} is empty"));
    forms.into_iter().map(|(name, form)| (name.to_owned(), form)).chain(charts).collect()
}

fn events(lines: &[Value]) -> Vec<Event> {
    lines.iter().map(|line| serde_json::from_value(line.clone()).unwrap()).collect()
}

/// Every export contained the host name, paths, the command line and the end of serial numbers.
#[test]
fn anonymous_output_contains_only_listed_texts() {
    let mut lines = log();
    let mut marker = Marker { places: BTreeMap::new(), names: BTreeMap::new() };
    lines.iter_mut().for_each(|line| marker.mark(line));
    assert!(marker.places.len() > 80, "{} places", marker.places.len());
    // Names that are replaced elsewhere must also be replaced in kept texts.
    let quoted: Vec<String> = ["host.name", "targets.path", "targets.name", "stack.facts.serial"]
        .iter()
        .map(|end| marker.places.iter().find(|(_, place)| place.ends_with(end)).unwrap().0.clone())
        .collect();
    lines[0]["plan"]["steps"][0]["title"] = quoted.join(" on ").into();
    let run = Run::from_events(events(&lines)).unwrap();
    let mut anonymiser = Anonymiser::new(PseudonymKey::new([7; PseudonymKey::BYTES]));
    let anonymous = anonymiser.run(&run);
    let account = anonymiser.account();
    for kind in ["host", "target", "path", "serial", "server", "volume", "command line", "message", "fact"] {
        assert!(account.contains(&format!(" {kind}")), "{kind}: {account}");
    }
    let kept = |place: &String| KEPT.contains(&place.as_str());
    let found: Vec<String> = forms(&anonymous)
        .iter()
        .flat_map(|(form, text)| {
            let secrets =
                marker.places.iter().filter(|(secret, place)| !kept(place) && text.contains(*secret));
            secrets.map(|(_, place)| format!("{place} in {form}")).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(found, Vec::<String>::new());
    // Cross-check of the test: the original run contains the markers.
    let (_, whole) = &forms(&run)[0];
    assert_eq!(
        marker.places.keys().filter(|secret| !whole.contains(*secret)).count(),
        1,
        "the replaced title"
    );
}

#[test]
fn anonymous_runs_keep_figures_and_have_stable_names() {
    let run = Run::from_events(events(&log())).unwrap();
    let anonymous = |key: u8| Anonymiser::new(PseudonymKey::new([key; PseudonymKey::BYTES])).run(&run);
    let (first, again, other) = (anonymous(1), anonymous(1), anonymous(2));
    assert_eq!(first, again);
    assert_ne!(first.started.host.name, other.started.host.name);
    assert_eq!(first.started.targets[0].name.len(), "target-7f3a2c".len());
    assert_eq!(first.started.baseline, first.started.targets[0].name);
    assert_eq!(first.started.targets[0].stack[1].name, "vda", "kernel names stay");
    let values = |run: &Run| -> Vec<Vec<(u32, f64)>> {
        let analysis = analyse(run, &run.started.baseline, Estimator::Mean, Units::Decimal);
        analysis.measurements.into_iter().map(|m| m.values).collect()
    };
    assert_eq!(values(&run), values(&first));
}
