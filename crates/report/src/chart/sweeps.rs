//! Steps that differ only in queue depth, or only in block size.

use model::{Better, BlockSizes, MeasurementKey, Metric, Operation, Pace, Step, Workload, units::ExactSize};

use super::frame::{Area, Axis, axes, panels, title};
use super::scale::{Scale, range};
use super::svg::{Mark, Svg};
use super::{ChartKind, Sketch};
use crate::figures::display_iops;
use crate::view::AnalysedRun;
use crate::view::RunView;
use crate::words::short;

pub(super) const DEPTH: ChartKind =
    ChartKind { name: "depth", shows: "operations per second and latency against queue depth", draw: depth };
pub(super) const BLOCK_SIZE: ChartKind = ChartKind {
    name: "block-size",
    shows: "bandwidth and operations per second against block size",
    draw: block_size,
};

pub(super) const LOAD: ChartKind =
    ChartKind { name: "load", shows: "achieved load and latency against offered load", draw: load };

const HEIGHT: f64 = 240.0;
/// Smallest number of points of a curve.
const FEWEST: usize = 3;
const DEPTH_CAPTION: &str = "Each point is a step with its 95 % interval. Where operations per second stop rising, the storage is \
    saturated: beyond that queue depth, requests only wait, and each doubling doubles the latency. The depth \
    axis is logarithmic, as are the others where stated.";
const BLOCK_CAPTION: &str = "Each point is a step with its 95 % interval. Bandwidth rises with the block size until the storage or its \
    link is saturated; operations per second then fall. The block size at the bend is large enough. All axes are \
    logarithmic.";

const LOAD_CAPTION: &str = "Each point is a step in which operations started at a given rate, whether or not earlier ones had completed. \
    While the storage keeps up, the points lie on the thin line. Where they fall below it, the storage is \
    saturated, and the latency, measured from the scheduled start of an operation, rises steeply. All axes are \
    logarithmic.";

/// The varied value, the figure, and its interval.
type Point = (f64, f64, Option<(f64, f64)>);

/// One curve: target, name, and its points.

#[derive(Clone)]
struct Curve {
    target: usize,
    name: String,
    points: Vec<Point>,
}

#[derive(Clone)]
struct Panel {
    title: String,
    metric: Metric,
    /// The y axis is logarithmic, too.
    log: bool,
    curves: Vec<Curve>,
}

/// The properties of one kind of sweep.
#[derive(Clone, Copy)]
struct Sweep {
    x: fn(&Workload) -> u64,
    without: fn(&Workload) -> Workload,
    panels: &'static [(Metric, &'static str, bool)],
    show: fn(f64) -> String,
    words: &'static str,
    /// Draw the line on which both axes are equal.
    diagonal: bool,
}

fn depth(p: &AnalysedRun<'_>) -> Vec<Sketch> {
    let sweep = Sweep {
        x: |w| u64::from(w.iodepth),
        without: |w| Workload { iodepth: 0, ..w.clone() },
        panels: &[
            (Metric::Iops, "operations per second", false),
            (Metric::LatP50, "median latency", true),
            (Metric::LatP99, "p99 latency", true),
        ],
        show: |x| format!("{x:.0}"),
        words: "requested queue depth",
        diagonal: false,
    };
    sketches(p, sweep, "Queue depth", DEPTH_CAPTION)
}

fn block_size(p: &AnalysedRun<'_>) -> Vec<Sketch> {
    let sweep = Sweep {
        x: |w| u64::from(w.largest_block()),
        without: |w| Workload { block: BlockSizes::uniform(0), ..w.clone() },
        panels: &[(Metric::Bandwidth, "bandwidth", true), (Metric::Iops, "operations per second", true)],
        show: |x| ExactSize(x.round() as u64).to_string(),
        words: "block size",
        diagonal: false,
    };
    sketches(p, sweep, "Block size", BLOCK_CAPTION)
}

/// Offered operations per second; 0 for a closed loop.
fn offered(w: &Workload) -> u64 {
    match w.pace {
        Pace::Closed => 0,
        Pace::Fixed { per_second } | Pace::Poisson { per_second } => per_second.round() as u64,
    }
}

fn load(p: &AnalysedRun<'_>) -> Vec<Sketch> {
    let sweep = Sweep {
        x: offered,
        without: |w| Workload {
            pace: match w.pace {
                Pace::Poisson { .. } => Pace::Poisson { per_second: 0.0 },
                Pace::Fixed { .. } => Pace::Fixed { per_second: 0.0 },
                Pace::Closed => Pace::Closed,
            },
            ..w.clone()
        },
        panels: &[
            (Metric::Iops, "operations per second achieved", true),
            (Metric::LatP50, "median latency", true),
            (Metric::LatP99, "p99 latency", true),
        ],
        show: |x| display_iops(x).replace(".00", "").replace(".0", ""),
        words: "operations per second offered",
        diagonal: true,
    };
    sketches(p, sweep, "Offered load", LOAD_CAPTION)
}

fn sketches(p: &AnalysedRun<'_>, sweep: Sweep, name: &str, caption: &'static str) -> Vec<Sketch> {
    let mut found = Vec::new();
    for steps in groups(p, sweep) {
        let what = common_words(&steps);
        let all: Vec<Panel> = sweep
            .panels
            .iter()
            .map(|(metric, words, log)| Panel {
                title: (*words).to_owned(),
                metric: *metric,
                log: *log,
                curves: curves(p, sweep, &steps, *metric),
            })
            .filter(|panel| !panel.curves.is_empty())
            .collect();
        if all.is_empty() {
            continue;
        }
        let (names, view) = (p.target_names(), p.view.clone());
        found.push(Sketch::new(format!("{name}: {what}"), caption, move |svg| {
            panels(svg, &names, &vec![HEIGHT; all.len()], |svg, i, area| {
                draw_panel(svg, &all[i], sweep, &view, area);
            });
        }));
    }
    found
}

/// The groups of steps that differ only in the swept option, each in ascending order.
fn groups<'a>(p: &AnalysedRun<'a>, sweep: Sweep) -> Vec<Vec<&'a Step>> {
    let mut groups: Vec<Vec<&Step>> = Vec::new();
    for step in p.run.started.plan.steps.iter().filter(|s| !s.workload.is_metadata()) {
        let alike = |first: &Step| {
            first.prepare == step.prepare
                && (sweep.without)(&first.workload) == (sweep.without)(&step.workload)
        };
        match groups.iter_mut().find(|g| alike(g[0])) {
            Some(group) => group.push(step),
            None => groups.push(vec![step]),
        }
    }
    for group in &mut groups {
        group.sort_by_key(|step| (sweep.x)(&step.workload));
        group.dedup_by_key(|step| (sweep.x)(&step.workload));
    }
    groups.retain(|group| group.len() >= FEWEST && (sweep.x)(&group[0].workload) > 0);
    groups
}

/// The parts that are common to the titles of all steps.
fn common_words(steps: &[&Step]) -> String {
    let Some((first, others)) = steps.split_first() else { return String::new() };
    let is_common = |part: &&str| others.iter().all(|s| s.title.split(", ").any(|other| other == *part));
    let parts: Vec<&str> = first.title.split(", ").filter(is_common).collect();
    if parts.is_empty() { first.title.clone() } else { parts.join(", ") }
}

fn curves(p: &AnalysedRun<'_>, sweep: Sweep, steps: &[&Step], metric: Metric) -> Vec<Curve> {
    let names = p.target_names();
    let curve = |(target, name): (usize, &String)| {
        let point = |step: &&Step| {
            let own = |o: &Operation| matches!(o, Operation::Read | Operation::Write | Operation::Trim);
            let operations = step.workload.operations().into_iter().filter(own);
            let all: Vec<_> = operations
                .filter_map(|o| {
                    let key = MeasurementKey { target: name, step: &step.id, operation: o, metric };
                    p.analysis.measurement(key)
                })
                .collect();
            let values = all.iter().map(|m| m.estimate.value).filter(|v| v.is_finite());
            // Bandwidths of reads and writes are summed; of their latencies, the larger counts.
            let value =
                if metric.better() == Better::Higher { values.sum() } else { values.fold(0.0, f64::max) };
            let interval = if let [m] = all.as_slice() { m.estimate.interval } else { None };
            (value > 0.0).then(|| ((sweep.x)(&step.workload) as f64, value, interval))
        };
        let points: Vec<_> = steps.iter().filter_map(point).collect();
        (points.len() >= FEWEST).then(|| Curve { target, name: name.clone(), points })
    };
    names.iter().enumerate().filter_map(curve).collect()
}

fn draw_panel(svg: &mut Svg, panel: &Panel, sweep: Sweep, view: &RunView, area: Area) {
    let plot = area.inner(70.0, 40.0, 14.0, 40.0);
    let all = || panel.curves.iter().flat_map(|c| &c.points);
    let (left, right) = range(all().map(|p| p.0)).unwrap_or((1.0, 2.0));
    let (low, high) = range(all().map(|p| p.1)).unwrap_or((1.0, 2.0));
    let places = (plot.bottom(), plot.y);
    // Very different targets are only visible together on a logarithmic axis.
    let log = panel.log || high > 50.0 * low;
    title(svg, &area, &panel.title, if log { "logarithmic" } else { "" });
    let y = if log {
        Scale::log((low * 0.8, high * 1.25), places)
    } else {
        Scale::linear((0.0, high * 1.1), places)
    };
    let x = Scale::log((left * 0.9, right * 1.1), (plot.x, plot.right()));
    let show = |value: f64| view.display(panel.metric, value).replace(".00", "").replace(".0 ", " ");
    // Ticks are at the measured values; of many, only every second or fourth.
    let mut ticks: Vec<f64> = all().map(|p| p.0).collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    let every = ticks.len().div_ceil(if svg.is_wide() { 9 } else { 5 });
    let ticks = ticks.into_iter().step_by(every.max(1)).collect();
    let across = Axis { scale: x, ticks, words: sweep.words, show: &sweep.show };
    axes(svg, &plot, &across, &Axis { scale: y, ticks: y.ticks(4), words: "", show: &show });
    if sweep.diagonal && panel.metric == Metric::Iops {
        let equal: Vec<_> = [left.max(low), right.min(high)].map(|v| Some((x.at(v), y.at(v)))).to_vec();
        svg.path(&equal, &Mark::new("edge"));
    }
    for curve in &panel.curves {
        let at = |(px, v, _): &Point| (x.at(*px), y.at(*v));
        let line: Vec<_> = curve.points.iter().map(|point| Some(at(point))).collect();
        svg.path(&line, &Mark::of("curve", curve.target));
        for point in &curve.points {
            let (px, py) = at(point);
            let mut tip = format!(
                "{}, {} {}: {}",
                short(&curve.name, 60),
                sweep.words,
                (sweep.show)(point.0),
                view.display(panel.metric, point.1)
            );
            if let Some((low, high)) = point.2 {
                svg.line((px, y.at(low)), (px, y.at(high)), &Mark::of("spread", curve.target));
                tip.push_str(&format!(
                    ", 95 % interval {} to {}",
                    view.display(panel.metric, low),
                    view.display(panel.metric, high)
                ));
            }
            svg.dot((px, py), 3.5, &Mark::of("dot", curve.target).tip(tip));
        }
    }
}
