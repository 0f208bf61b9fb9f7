//! Latencies over the measured time: where operations cluster, and when slow ones occur.

use model::{Histogram, Phase};

use super::frame::{Area, Axis, axes, panels, title};
use super::scale::{Scale, range};
use super::slices::slices;
use super::svg::{Mark, Svg};
use super::{ChartKind, Sketch};
use crate::figures::display_ns;
use crate::view::AnalysedRun;
use crate::words::short;

pub(super) const KIND: ChartKind =
    ChartKind { name: "latency-over-time", shows: "latencies over the measured time as a heat map", draw };

const HEIGHT: f64 = 220.0;
/// Columns of time and rows of latency.
const COLUMNS: usize = 80;
const ROWS: usize = 30;
/// Smallest number of intervals.
const FEWEST: usize = 12;
/// Largest number of panels; nobody would read more.
const MOST: usize = 6;
/// Shares of a column's operations above which a cell is one shade darker.
const SHADES: [f64; 6] = [0.0, 0.001, 0.01, 0.05, 0.15, 0.4];
const CAPTION: &str = "Each column is an interval of the measured time, with all repeats in sequence; the stronger a cell's colour, \
    the more operations of that interval had this latency. The line is the median, the dots are the 99th \
    percentile. An even band is good. A rising band suggests a cache that fills or a drive that heats up; \
    scattered cells far above the band are stalls. The chart shows the steps and targets whose 99th percentile \
    is furthest from their median.";

/// An interval: its latencies and its length in nanoseconds.
#[derive(Clone)]
struct Column {
    from: f64,
    to: f64,
    lat: Histogram,
}

#[derive(Clone)]
struct Panel {
    title: String,
    target: usize,
    name: String,
    columns: Vec<Column>,
    /// Seconds at which a repeat starts.
    breaks: Vec<f64>,
    /// 99th percentile ÷ median, over all.
    tail: f64,
}

fn draw(p: &AnalysedRun<'_>) -> Vec<Sketch> {
    let mut found: Vec<Panel> = Vec::new();
    for headline in p.headlines() {
        for (target, name, _) in &headline.targets {
            found.extend(panel(p, &headline, *target, name));
        }
    }
    found.sort_by(|a, b| b.tail.total_cmp(&a.tail));
    found.truncate(MOST);
    if found.is_empty() {
        return Vec::new();
    }
    let names = p.target_names();
    vec![Sketch::new("Latency over time", CAPTION, move |svg| {
        panels(svg, &names, &vec![HEIGHT; found.len()], |svg, i, area| draw_panel(svg, &found[i], area));
    })]
}

fn panel(p: &AnalysedRun<'_>, headline: &super::Headline, target: usize, name: &str) -> Option<Panel> {
    let (mut columns, mut breaks, mut now) = (Vec::new(), Vec::new(), 0.0);
    for repeat in p.run.completed(&headline.step.id, name) {
        breaks.push(now);
        for slice in slices(repeat, headline.operation) {
            if slice.phase == Phase::Measure {
                let to = now + slice.len_ns as f64 / 1e9;
                columns.push(Column { from: now, to, lat: slice.stats.lat });
                now = to;
            }
        }
    }
    let mut all = Histogram::default();
    columns.iter().for_each(|column| all.merge(&column.lat));
    let tail = all.percentile_ns(99.0)? as f64 / all.percentile_ns(50.0)?.max(1) as f64;
    let columns = merged(columns);
    (columns.len() >= FEWEST).then(|| Panel {
        title: format!("{}: {}", short(name, 24), headline.title),
        target,
        name: name.to_owned(),
        columns,
        breaks: breaks.split_off(1),
        tail,
    })
}

/// Merges neighbours until there are no more columns than are drawn.
fn merged(columns: Vec<Column>) -> Vec<Column> {
    let together = columns.len().div_ceil(COLUMNS).max(1);
    let merge = |group: &[Column]| {
        let mut lat = Histogram::default();
        group.iter().for_each(|column| lat.merge(&column.lat));
        Column { from: group[0].from, to: group[group.len() - 1].to, lat }
    };
    columns.chunks(together).map(merge).filter(|column| !column.lat.is_empty()).collect()
}

fn draw_panel(svg: &mut Svg, panel: &Panel, area: Area) {
    title(svg, &area, &panel.title, "latency, logarithmic");
    let plot = area.inner(58.0, 40.0, 14.0, 40.0);
    let ends = panel.columns.iter().flat_map(|c| [c.lat.min_ns(), c.lat.max_ns()]).flatten();
    let (low, high) = range(ends.map(|ns| ns.max(1) as f64)).unwrap_or((1.0, 2.0));
    let seconds = panel.columns.last().map_or(1.0, |c| c.to);
    let x = Scale::linear((0.0, seconds), (plot.x, plot.right()));
    let y = Scale::log((low, high * 1.02), (plot.bottom(), plot.y));
    for (shade, cells) in cells(panel, &x, &y, &plot).iter().enumerate() {
        svg.cells(cells, &Mark::of(&format!("heat h{shade}"), panel.target));
    }
    let time = |ns: f64| display_ns(ns).replace(".00", "").replace(".0 ", " ");
    let number = |value: f64| format!("{value}");
    let across = Axis { scale: x, ticks: x.ticks(5), words: "seconds of measured time", show: &number };
    axes(svg, &plot, &across, &Axis { scale: y, ticks: y.ticks(5), words: "", show: &time });
    for at in &panel.breaks {
        svg.line((x.at(*at), plot.y), (x.at(*at), plot.bottom()), &Mark::new("break"));
    }
    let (mut line, mut points) = (Vec::new(), Vec::new());
    for column in &panel.columns {
        let middle = x.at((column.from + column.to) / 2.0);
        let of = |percent: f64| column.lat.percentile_ns(percent).unwrap_or(1) as f64;
        let (median, p99) = (of(50.0), of(99.0));
        line.push(Some((middle, y.at(median))));
        svg.dot((middle, y.at(p99)), 1.5, &Mark::of("tail", panel.target));
        let words = format!(
            "{} at {:.1} s: median {}, p99 {}",
            short(&panel.name, 40),
            column.from,
            display_ns(median),
            display_ns(p99)
        );
        points.push((middle, y.at(median), words));
    }
    svg.path(&line, &Mark::of("median", panel.target).points(&points));
}

/// The cells of each shade.
fn cells(panel: &Panel, x: &Scale, y: &Scale, plot: &Area) -> [Vec<(f64, f64, f64, f64)>; SHADES.len()] {
    let mut shades: [Vec<(f64, f64, f64, f64)>; SHADES.len()] = Default::default();
    let height = plot.height / ROWS as f64;
    for column in &panel.columns {
        let mut counts = [0u64; ROWS];
        for (from, to, count) in column.lat.buckets() {
            let middle = (from as f64 + to as f64) / 2.0;
            let row = ((plot.bottom() - y.at(middle)) / height) as usize;
            counts[row.min(ROWS - 1)] += count;
        }
        let all = column.lat.count().max(1) as f64;
        let (left, right) = (x.at(column.from), x.at(column.to));
        for (row, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            let shade = SHADES.iter().rposition(|least| count as f64 / all >= *least).unwrap_or(0);
            let top = plot.bottom() - (row + 1) as f64 * height;
            shades[shade].push((left, top, right - left, height));
        }
    }
    shades
}
