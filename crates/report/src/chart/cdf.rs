//! The share of operations completed within a time, up to the highest percentile that the data support.

use model::{Histogram, Operation, PortableMath};

use super::frame::{Area, Axis, axes, panels, title};
use super::scale::{Scale, range};
use super::svg::{Mark, Svg};
use super::{ChartKind, Sketch, paged, part};
use crate::figures::display_ns;
use crate::view::AnalysedRun;
use crate::words::short;

pub(super) const KIND: ChartKind = ChartKind {
    name: "latency",
    shows: "the distribution of latencies to the 99.99th percentile, all targets",
    draw,
};

const HEIGHT: f64 = 250.0;
const CAPTION: &str = "The distribution of latencies: a curve further to the left is faster, a steeper one is more even. Each grid \
    line is ten times rarer than the one below, so the slowest operations, which users notice, fill the upper \
    half. A curve ends where fewer than ten operations were slower.";

/// Percentiles of the points of a curve.
const PERCENTS: [f64; 30] = [
    0.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 75.0, 80.0, 85.0, 90.0, 92.0, 94.0, 95.0, 96.0, 97.0,
    98.0, 99.0, 99.3, 99.5, 99.7, 99.8, 99.9, 99.93, 99.95, 99.97, 99.98, 99.99,
];
const TICKS: [f64; 6] = [0.0, 50.0, 90.0, 99.0, 99.9, 99.99];
/// A percentile needs at least this many slower operations.
const ENOUGH: f64 = 10.0;

/// A target's curve: percent and nanoseconds.
#[derive(Clone)]
struct Curve {
    target: usize,
    name: String,
    count: u64,
    points: Vec<(f64, f64)>,
}

#[derive(Clone)]
struct Panel {
    title: String,
    curves: Vec<Curve>,
}

fn draw(p: &AnalysedRun<'_>) -> Vec<Sketch> {
    let all = panels_of(p);
    let pages = if all.is_empty() { Vec::new() } else { paged(&all) };
    let (of, names) = (pages.len(), p.target_names());
    let sketch = |(i, page): (usize, Vec<Panel>)| {
        let names = names.clone();
        Sketch::new(part("Latency distribution", i, of), CAPTION, move |svg| {
            panels(svg, &names, &vec![HEIGHT; page.len()], |svg, i, area| draw_panel(svg, &page[i], area));
        })
    };
    pages.into_iter().enumerate().map(sketch).collect()
}

fn panels_of(p: &AnalysedRun<'_>) -> Vec<Panel> {
    let mut found = Vec::new();
    for step in &p.run.started.plan.steps {
        let operations = step.workload.operations();
        for operation in &operations {
            let curves = p.run.started.targets.iter().enumerate().filter_map(|(i, target)| {
                let histogram = latencies(p, &step.id, &target.name, *operation);
                curve(&histogram).map(|points| Curve {
                    target: i,
                    name: target.name.clone(),
                    count: histogram.count(),
                    points,
                })
            });
            let curves: Vec<Curve> = curves.collect();
            let title = match operations.len() {
                1 => step.title.clone(),
                _ => format!("{}: {}", step.title, operation.name().replace('_', " ")),
            };
            if !curves.is_empty() {
                found.push(Panel { title, curves });
            }
        }
    }
    found
}

/// Latencies of an operation in the measured windows of all good repeats.
fn latencies(p: &AnalysedRun<'_>, step: &str, target: &str, operation: Operation) -> Histogram {
    let mut all = Histogram::default();
    for repeat in p.run.completed(step, target) {
        if let Some(stats) = repeat.measured().get(&operation) {
            all.merge(&stats.lat);
        }
    }
    all
}

/// The points that the number of operations allows; `None` if there is no median.
fn curve(histogram: &Histogram) -> Option<Vec<(f64, f64)>> {
    let count = histogram.count() as f64;
    let told = |percent: &&f64| count * (1.0 - **percent / 100.0) >= ENOUGH - 1e-9;
    let point = |percent: &f64| Some((*percent, histogram.percentile_ns(*percent)?.max(1) as f64));
    let points: Vec<(f64, f64)> = PERCENTS.iter().filter(told).filter_map(point).collect();
    (points.last()?.0 >= 50.0).then_some(points)
}

/// How many nines a percentile has: 90 % one, 99 % two.
fn nines(percent: f64) -> f64 {
    -(1.0 - percent / 100.0).max(1e-6).portable_log10()
}

fn draw_panel(svg: &mut Svg, panel: &Panel, area: Area) {
    title(svg, &area, &panel.title, "share of operations completed within a time");
    let plot = area.inner(58.0, 40.0, 24.0, 40.0);
    let all = || panel.curves.iter().flat_map(|c| &c.points);
    let (low, high) = range(all().map(|p| p.1)).unwrap_or((1.0, 2.0));
    let top = range(all().map(|p| nines(p.0))).map_or(4.0, |(_, high)| high);
    let x = Scale::log((low * 0.9, (high * 1.1).max(low * 1.5)), (plot.x, plot.right()));
    let y = Scale::linear((0.0, top * 1.03), (plot.bottom(), plot.y));
    let percents = TICKS.iter().map(|p| nines(*p)).filter(|n| *n <= top + 0.01).collect();
    let percent = |n: f64| {
        let found = TICKS.iter().find(|p| (nines(**p) - n).abs() < 1e-6);
        found.map_or_else(String::new, |p| format!("{p} %"))
    };
    let time = |ns: f64| display_ns(ns).replace(".00", "").replace(".0 ", " ");
    let wanted = if svg.is_wide() { 6 } else { 4 };
    axes(
        svg,
        &plot,
        &Axis { scale: x, ticks: x.ticks(wanted), words: "latency", show: &time },
        &Axis { scale: y, ticks: percents, words: "", show: &percent },
    );
    for curve in &panel.curves {
        let at = |(percent, ns): &(f64, f64)| (x.at(*ns), y.at(nines(*percent)));
        let name = short(&curve.name, 60);
        let said = |point: &(f64, f64)| {
            let (px, py) = at(point);
            let (percent, time) = (point.0, display_ns(point.1));
            (px, py, format!("{name}: {percent} % of {} operations within {time}", curve.count))
        };
        let points: Vec<_> = curve.points.iter().map(said).collect();
        let line: Vec<_> = curve.points.iter().map(|point| Some(at(point))).collect();
        svg.path(&line, &Mark::of("curve", curve.target).points(&points));
        if let Some((px, py)) = line.last().copied().flatten() {
            svg.dot((px, py), 3.0, &Mark::of("dot", curve.target));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::LatencyRecorder;

    #[test]
    fn a_curve_ends_where_the_data_end() {
        let of = |count: u64| {
            let mut recorder = LatencyRecorder::new();
            (1..=count).for_each(|i| recorder.record(i * 1000));
            curve(&recorder.finish()).map(|points| points.last().unwrap().0)
        };
        assert_eq!((of(0), of(15)), (None, None));
        assert_eq!((of(20), of(100), of(1000), of(10_000)), (Some(50.0), Some(90.0), Some(99.0), Some(99.9)));
        assert_eq!(of(100_000), Some(99.99));
    }
}
