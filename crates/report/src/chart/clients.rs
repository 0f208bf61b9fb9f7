//! Throughput over the number of clients that work together.

use analyse::{Curve, Knee};
use unicode_width::UnicodeWidthStr;

use super::frame::{Area, Axis, COLUMN, axes};
use super::scale::{Scale, range};
use super::svg::{Anchor, Mark, Svg};
use super::{ChartKind, Sketch};
use crate::figures::display_ratio;
use crate::view::{AnalysedRun, RunView};
use crate::words::{figure_name, short};

pub(super) const KIND: ChartKind =
    ChartKind { name: "clients", shows: "throughput against the number of clients that work together", draw };

const HEIGHT: f64 = 320.0;
const CAPTION: &str = "Each curve is a figure: what all clients did together, divided by what the fewest did. On the thin line each client \
    does as much as one did alone. Where a curve leaves it, clients share what the storage, its server or the network can do; a ring \
    is the fewest clients that have 90 % of the highest throughput. Both axes are logarithmic.";

/// A figure's name, its points with their tooltips, and its knee.
struct Line {
    name: String,
    points: Vec<(f64, f64, String)>,
    knee: Option<u32>,
}

fn draw(p: &AnalysedRun<'_>) -> Vec<Sketch> {
    let Some(clients) = &p.analysis.clients else { return Vec::new() };
    let lines: Vec<Line> = clients.curves.iter().filter_map(|curve| line(p, curve)).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    vec![Sketch::new("Scaling with clients", CAPTION, move |svg| {
        let top = key(svg, &lines);
        panel(svg, &lines, Area { x: 0.0, y: top, width: svg.width, height: HEIGHT });
        svg.height = top + HEIGHT;
    })]
}

fn line(p: &AnalysedRun<'_>, curve: &Curve) -> Option<Line> {
    let name = figure_name(p.run.started.plan.step(&curve.step)?, curve.operation);
    let (_, _, first) = curve.points.first()?;
    let view: &RunView = p.view;
    let point = |(count, target, value): &(u32, String, f64)| {
        let ratio = value / first;
        let shown = view.display(curve.metric, *value);
        let tip = format!("{}, {name}: {shown}, {}×", short(target, 60), display_ratio(ratio));
        (f64::from(*count), ratio, tip)
    };
    let knee = match curve.knee {
        Knee::At(count) => Some(count),
        Knee::Between(..) | Knee::Beyond(_) => None,
    };
    Some(Line { points: curve.points.iter().map(point).collect(), knee, name: name.clone() })
}

fn key(svg: &mut Svg, lines: &[Line]) -> f64 {
    let (mut x, mut y) = (0.0, 14.0);
    for (i, line) in lines.iter().enumerate() {
        let label = short(&line.name, 60);
        let needed = 21.0 + label.width() as f64 * (COLUMN + 0.6) + 18.0;
        if x > 0.0 && x + needed > svg.width {
            (x, y) = (0.0, y + 20.0);
        }
        svg.line((x, y - 4.0), (x + 16.0, y - 4.0), &Mark::coloured("curve sign", i));
        svg.dot((x + 8.0, y - 4.0), 4.5, &Mark::coloured("dot sign", i));
        svg.text(x + 21.0, y, Anchor::Start, "label", &label);
        x += needed;
    }
    y + 14.0
}

fn panel(svg: &mut Svg, lines: &[Line], area: Area) {
    let plot = area.inner(50.0, 14.0, 14.0, 40.0);
    let all = || lines.iter().flat_map(|line| &line.points);
    let (left, right) = range(all().map(|p| p.0)).unwrap_or((1.0, 2.0));
    let (low, high) = range(all().map(|p| p.1)).unwrap_or((1.0, 2.0));
    let x = Scale::log((left * 0.95, right * 1.05), (plot.x, plot.right()));
    let y = Scale::log((low.min(1.0) * 0.9, high.max(2.0) * 1.1), (plot.bottom(), plot.y));
    let mut ticks: Vec<f64> = all().map(|p| p.0).collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    let count = |value: f64| format!("{value:.0}");
    let times = |value: f64| format!("{}×", display_ratio(value).trim_end_matches(".00"));
    let across = Axis { scale: x, ticks, words: "clients", show: &count };
    axes(svg, &plot, &across, &Axis { scale: y, ticks: y.ticks(4), words: "", show: &times });
    let end = (right / left).min(high.max(2.0) * 1.1);
    svg.path(&[Some((x.at(left), y.at(1.0))), Some((x.at(left * end), y.at(end)))], &Mark::new("edge"));
    for (i, line) in lines.iter().enumerate() {
        let path: Vec<_> = line.points.iter().map(|(px, v, _)| Some((x.at(*px), y.at(*v)))).collect();
        svg.path(&path, &Mark::coloured("curve", i));
        for (px, v, tip) in &line.points {
            let at = (x.at(*px), y.at(*v));
            if line.knee.is_some_and(|knee| f64::from(knee) == *px) {
                svg.dot(at, 7.5, &Mark::coloured("ring", i));
            }
            svg.dot(at, 3.5, &Mark::coloured("dot", i).tip(tip.clone()));
        }
    }
}
