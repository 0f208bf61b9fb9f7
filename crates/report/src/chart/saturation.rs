//! Bandwidth of a long write against the bytes written: caches that fill up, and the start of the steady state.

use analyse::steady_state;
use model::{Metric, Operation, Phase};

use super::frame::{Area, Axis, axes, panels, title};
use super::scale::{Scale, range};
use super::slices::{Slice, slices};
use super::svg::{Mark, Svg};
use super::{ChartKind, Sketch, paged, part};
use crate::figures::display_bytes;
use crate::view::AnalysedRun;
use crate::view::RunView;
use crate::words::short;

pub(super) const KIND: ChartKind = ChartKind {
    name: "saturation",
    shows: "bandwidth of a long write against the bytes written, and the start of its steady state",
    draw,
};

const HEIGHT: f64 = 240.0;
/// Smallest number of intervals: a shorter write fills no cache.
const FEWEST: usize = 30;
/// Points of a curve; the test for a steady state takes them as its rounds.
const POINTS: usize = 60;
/// Points in the window of SNIA's rule.
const WINDOW: usize = 5;
const CAPTION: &str = "The first long write of each target, by the bytes written. A step down is a cache that is full; the level \
    after it is the sustained bandwidth. The ring marks the start of the steady state by SNIA's rule (five \
    neighbouring intervals within 20 % and with a slope of at most 10 %). A curve without a ring does not reach \
    it.";

/// Bytes written so far and bytes per second, in the order of time.
type Points = Vec<(f64, f64)>;

/// A target's curve.
#[derive(Clone)]
struct Curve {
    target: usize,
    name: String,
    points: Points,
    /// The end of the first steady window.
    steady: Option<usize>,
}

#[derive(Clone)]
struct Panel {
    title: String,
    curves: Vec<Curve>,
}

fn draw(p: &AnalysedRun<'_>) -> Vec<Sketch> {
    let mut all = Vec::new();
    for step in p.run.started.plan.steps.iter().filter(|s| s.workload.writes_data()) {
        let curve = |(target, name): (usize, &String)| {
            let repeat = p.run.completed(&step.id, name).next()?;
            let (points, steady) = curve(slices(repeat, Operation::Write))?;
            Some(Curve { target, name: name.clone(), points, steady })
        };
        let curves: Vec<Curve> = p.target_names().iter().enumerate().filter_map(curve).collect();
        if !curves.is_empty() {
            all.push(Panel { title: step.title.clone(), curves });
        }
    }
    let pages = if all.is_empty() { Vec::new() } else { paged(&all) };
    let (of, names) = (pages.len(), p.target_names());
    let sketch = |(i, page): (usize, Vec<Panel>)| {
        let (names, view) = (names.clone(), p.view.clone());
        Sketch::new(part("Sustained writes", i, of), CAPTION, move |svg| {
            panels(svg, &names, &vec![HEIGHT; page.len()], |svg, i, area| {
                draw_panel(svg, &page[i], &view, area);
            });
        })
    };
    pages.into_iter().enumerate().map(sketch).collect()
}

/// Points of a write, with the one at which it is steady; `None` if the write is too short.
fn curve(slices: Vec<Slice>) -> Option<(Points, Option<usize>)> {
    // The bytes written during the ramp count too, because they fill a cache.
    let (mut written, mut measured) = (0.0, Vec::new());
    for slice in slices {
        let before = written;
        written += slice.stats.bytes as f64;
        if slice.phase == Phase::Measure {
            measured.push((before, written, slice.len_ns as f64 / 1e9));
        }
    }
    if measured.len() < FEWEST {
        return None;
    }
    let together = measured.len().div_ceil(POINTS);
    let point = |group: &[(f64, f64, f64)]| {
        let seconds: f64 = group.iter().map(|part| part.2).sum();
        let (from, to) = (group[0].0, group[group.len() - 1].1);
        ((from + to) / 2.0, if seconds > 0.0 { (to - from) / seconds } else { 0.0 })
    };
    let points: Points = measured.chunks(together).map(point).collect();
    let rates: Vec<f64> = points.iter().map(|(_, rate)| *rate).collect();
    Some((points, steady_from(&rates)))
}

/// The end of the first window after which all windows are steady: the bandwidth of a cache may be steady at first,
/// but it does not last.
fn steady_from(rates: &[f64]) -> Option<usize> {
    let is_steady = |start: &usize| steady_state(&rates[*start..start + WINDOW]).steady_at_end;
    let starts = (0..=rates.len().checked_sub(WINDOW)?).rev();
    starts.take_while(is_steady).last().map(|start| start + WINDOW - 1)
}

fn draw_panel(svg: &mut Svg, panel: &Panel, view: &RunView, area: Area) {
    title(svg, &area, &panel.title, "bandwidth");
    let plot = area.inner(70.0, 40.0, 24.0, 40.0);
    let all = || panel.curves.iter().flat_map(|c| &c.points);
    let (_, most) = range(all().map(|p| p.0)).unwrap_or((0.0, 1.0));
    let (low, high) = range(all().map(|p| p.1).filter(|v| *v > 0.0)).unwrap_or((1.0, 2.0));
    let (least, _) =
        range(panel.curves.iter().filter_map(|c| c.points.first()).map(|p| p.0)).unwrap_or((1.0, 2.0));
    let x = Scale::log((least.max(most / 1e4), most * 1.05), (plot.x, plot.right()));
    let places = (plot.bottom(), plot.y);
    let log = high > 20.0 * low;
    let y = if log {
        Scale::log((low * 0.8, high * 1.25), places)
    } else {
        Scale::linear((0.0, high * 1.1), places)
    };
    let rate = |v: f64| view.display(Metric::Bandwidth, v).replace(".00", "").replace(".0 ", " ");
    let size = |v: f64| display_bytes(v as u64, view.units).replace(".00", "").replace(".0 ", " ");
    let across = Axis { scale: x, ticks: x.ticks(5), words: "bytes written, logarithmic", show: &size };
    axes(svg, &plot, &across, &Axis { scale: y, ticks: y.ticks(4), words: "", show: &rate });
    for curve in &panel.curves {
        let at = |(bytes, rate): &(f64, f64)| (x.at(*bytes), y.at(*rate));
        let name = short(&curve.name, 60);
        let said = |point: &(f64, f64)| {
            let (px, py) = at(point);
            (px, py, format!("{name} after {}: {}", size(point.0), view.display(Metric::Bandwidth, point.1)))
        };
        let points: Vec<_> = curve.points.iter().map(said).collect();
        let line: Vec<_> = curve.points.iter().map(|point| Some(at(point))).collect();
        svg.path(&line, &Mark::of("curve", curve.target).points(&points));
        if let Some(point) = curve.steady.and_then(|i| curve.points.get(i)) {
            let tip = format!(
                "{name}: steady after {}, at {}",
                size(point.0),
                view.display(Metric::Bandwidth, point.1)
            );
            svg.dot(at(point), 6.0, &Mark::of("ring", curve.target).tip(tip));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::OperationStats;

    fn written(rates: impl Iterator<Item = u64>) -> Vec<Slice> {
        let slice = |(i, bytes): (usize, u64)| Slice {
            start_ns: i as u64 * 1_000_000_000,
            len_ns: 1_000_000_000,
            phase: if i < 2 { Phase::Ramp } else { Phase::Measure },
            stats: OperationStats { count: 1, bytes, ..OperationStats::default() },
        };
        rates.enumerate().map(slice).collect()
    }

    #[test]
    fn the_ring_is_where_five_neighbours_are_alike_and_stay_so() {
        assert_eq!(curve(written((0..20).map(|_| 100))), None, "too short");
        let (points, steady) =
            curve(written((0..42).map(|i| if i < 22 { 1000 - 40 * i } else { 100 }))).unwrap();
        assert_eq!(points.len(), 40);
        assert_eq!(points[0], (1960.0 + 460.0, 920.0), "what the ramp wrote counts as written");
        assert!(steady.is_some_and(|at| (20..=24).contains(&at)), "{steady:?}");
        let (_, step) = curve(written((0..42).map(|i| if i < 22 { 1000 } else { 100 }))).unwrap();
        assert_eq!(step, Some(24), "what the cache gave was steady, but did not last");
        let (_, never) = curve(written((0..42).map(|i| if i % 2 == 0 { 100 } else { 900 }))).unwrap();
        assert_eq!(never, None);
    }
}
