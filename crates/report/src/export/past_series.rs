//! Figures from run to run, and their changes, for InfluxDB and Prometheus.

use analyse::{ChangePoint, FigureKey, History};
use model::Metric;

use super::series::{End, Origin, family, fields, gauges, quoted, tags, which};
use crate::history::Followed;

/// What a figure is of. The digest of the workload tells steps apart that have the same id and do something else.
fn origin(key: &FigureKey) -> Origin {
    vec![
        ("host", key.host.clone()),
        ("target", key.target.clone()),
        ("step", key.step.clone()),
        ("operation", key.operation.name().to_owned()),
        ("workload", format!("{:016x}", key.workload)),
    ]
}

fn state(change: &ChangePoint) -> &'static str {
    if change.is_confirmed { "confirmed" } else { "suspected" }
}

/// For each figure a line with its value as it is now, at the beginning of the last run, and a line for each of its changes, at the beginning
/// of the first run after it.
pub fn history_influx(followed: &Followed<'_>) -> String {
    let mut out = String::new();
    for history in followed.histories {
        let Some(last) = history.figures.last() else { continue };
        let metric = history.key.metric;
        let kind = [("metric", metric.name().to_owned()), ("unit", metric.unit().to_owned())];
        let tags = tags(&[origin(&history.key), kind.to_vec()].concat());
        let (runs, now) = (history.figures.len(), history.now());
        let at_ns = followed.runs[last.run].started_unix_ns;
        out.push_str(&format!("lodestone_now{tags} value={now},runs={runs}i {at_ns}\n"));
        for change in &history.course.changes {
            let run = &followed.runs[history.figures[change.at].run];
            let (state, id, at_ns) = (state(change), quoted(&run.id), run.started_unix_ns);
            let interval = change.ratio.interval;
            let fields = fields(&[
                ("ratio", Some(change.ratio.value)),
                ("low", interval.map(|i| i.0)),
                ("high", interval.map(|i| i.1)),
            ]);
            out.push_str(&format!("lodestone_change{tags} state=\"{state}\",run={id}{fields} {at_ns}\n"));
        }
    }
    out
}

/// For each figure its value as it is now, in base units, and for each of its changes the ratio, the ends of its interval, and the time, as gauges
/// without times of their own.
pub fn history_prometheus(followed: &Followed<'_>) -> String {
    let mut out = String::new();
    for metric in Metric::ALL {
        let (name, scale, _) = family(metric);
        let name = name.replacen("lodestone_", "lodestone_now_", 1);
        let of = followed.histories.iter().filter(|history| history.key.metric == metric);
        let lines = of.map(|history| (origin(&history.key), Some(history.now() * scale)));
        gauges(&mut out, &name, &format!("{} as it is now", metric.name()), lines);
    }
    let changes: Vec<(Origin, &ChangePoint, f64)> =
        followed.histories.iter().flat_map(|history| of_changes(followed, history)).collect();
    let ends: [End<ChangePoint>; 3] = [
        ("", |change| Some(change.ratio.value)),
        ("_low", |change| change.ratio.interval.map(|i| i.0)),
        ("_high", |change| change.ratio.interval.map(|i| i.1)),
    ];
    for (end, value) in ends {
        let lines = changes.iter().map(|(origin, change, _)| (origin.clone(), value(change)));
        let help = format!("Figure after a change divided by the figure before it{}", which(end));
        gauges(&mut out, &format!("lodestone_change_ratio{end}"), &help, lines);
    }
    let times = changes.iter().map(|(origin, _, seconds)| (origin.clone(), Some(*seconds)));
    let help = "When the first run after a change began, in seconds since 1970";
    gauges(&mut out, "lodestone_change_timestamp_seconds", help, times);
    out
}

/// The changes of a figure, with what they are of and when they came, in seconds since 1970.
fn of_changes<'a>(followed: &Followed<'_>, history: &'a History) -> Vec<(Origin, &'a ChangePoint, f64)> {
    let of = |change: &'a ChangePoint| {
        let run = &followed.runs[history.figures[change.at].run];
        let mut origin = origin(&history.key);
        origin.extend([
            ("metric", history.key.metric.name().to_owned()),
            ("run", run.id.clone()),
            ("state", state(change).to_owned()),
        ]);
        (origin, change, run.started_unix_ns as f64 / 1e9)
    };
    history.course.changes.iter().map(of).collect()
}
