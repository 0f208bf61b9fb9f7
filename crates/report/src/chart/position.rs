//! Rate and access time by offset on a device, as the benchmark of GNOME Disks draws them, for each target.

use model::{LoggedOffset, Operation, Pattern};
use unicode_width::UnicodeWidthStr;

use super::frame::{Area, Axis, COLUMN, axes, panels, title};
use super::scale::{Scale, range};
use super::svg::{Anchor, Mark, Svg};
use super::{ChartKind, Sketch, paged, part};
use crate::figures::{Units, digits, display_bytes, display_ns, display_rate, with_one_unit};
use crate::view::AnalysedRun;
use crate::words::short;

pub(super) const KIND: ChartKind =
    ChartKind { name: "position", shows: "transfer rate and access times by position on the device", draw };

const HEIGHT: f64 = 300.0;
/// Points of a line: more would be closer than pixels.
const BINS: usize = 200;
/// Dots in a panel of a wide and of a narrow chart.
const DOTS: (usize, usize) = (1000, 400);
/// If times differ from their median by more than this factor, the axis is logarithmic.
const FAR: f64 = 12.0;
/// Targets that the answer tells of.
const FEW: usize = 4;
const CAPTION: &str = "Lines are the rate at each offset (left axis): the median of the rounds, with a band from the slowest to the \
    fastest. Dots are single accesses at random offsets (right axis). A hard disk is fastest at its start and \
    drops to about half at its end, and its dots form a cloud some milliseconds high. Flash is level; a dip is \
    an area that is worn, full or never written. Each target has its own axes.";

/// One operation of a step on a target: its offsets, round by round.
#[derive(Clone)]
struct Series {
    operation: Operation,
    is_access: bool,
    offsets: Vec<LoggedOffset>,
    rounds: usize,
    left_out: u64,
}

/// The series of one target.
#[derive(Clone)]
struct Panel {
    target: usize,
    name: String,
    /// Length of the axis in bytes.
    size: f64,
    series: Vec<Series>,
}

fn draw(p: &AnalysedRun<'_>) -> Vec<Sketch> {
    let all = panels_of(p);
    let pages = if all.is_empty() { Vec::new() } else { paged(&all) };
    let (of, units) = (pages.len(), p.view.units);
    let sketch = |(i, page): (usize, Vec<Panel>)| {
        let caption = format!("{CAPTION}{}", told(&page, units));
        Sketch::new(part("Rate and access time by position", i, of), caption, move |svg| {
            panels(svg, &[], &vec![HEIGHT; page.len()], |svg, i, area| {
                draw_panel(svg, &page[i], units, area);
            });
        })
    };
    pages.into_iter().enumerate().map(sketch).collect()
}

/// A panel for each target; a second one if several steps would have the same kind of line or dots.
fn panels_of(p: &AnalysedRun<'_>) -> Vec<Panel> {
    let mut found = Vec::new();
    for (target, name) in p.target_names().into_iter().enumerate() {
        let mut own: Vec<Panel> = Vec::new();
        for step in &p.run.started.plan.steps {
            let is_access = matches!(step.workload.pattern, Pattern::Random { .. });
            for (series, size) in series_of(p, &step.id, &name, is_access) {
                let has = |panel: &&mut Panel| {
                    !panel.series.iter().any(|s| (s.operation, s.is_access) == (series.operation, is_access))
                };
                match own.iter_mut().find(has) {
                    Some(panel) => {
                        panel.size = panel.size.max(size);
                        panel.series.push(series);
                    }
                    None => own.push(Panel { target, name: name.clone(), size, series: vec![series] }),
                }
            }
        }
        // Lines precede dots, independent of the order of the steps.
        own.iter_mut().for_each(|panel| panel.series.sort_by_key(|s| (s.is_access, s.operation)));
        found.extend(own);
    }
    found
}

/// The operations of a step on a target that have an offset log, and the extent of the data.
fn series_of(p: &AnalysedRun<'_>, step: &str, target: &str, is_access: bool) -> Vec<(Series, f64)> {
    let mut found: Vec<(Series, f64)> = Vec::new();
    for repeat in p.run.completed(step, target) {
        let size = repeat.started.size_bytes as f64;
        for (operation, offsets) in repeat.finished.iter().flat_map(|f| &f.offset_log) {
            let usable = offsets.kept.iter().filter(|place| place.ns > 0 && (is_access || place.bytes > 0));
            let end = |place: &LoggedOffset| place.offset.saturating_add(place.bytes) as f64;
            let reach = offsets.kept.iter().map(end).fold(size, f64::max);
            let at = found.iter().position(|(s, _)| s.operation == *operation).unwrap_or_else(|| {
                let operation = *operation;
                let series = Series { operation, is_access, offsets: Vec::new(), rounds: 0, left_out: 0 };
                found.push((series, 0.0));
                found.len() - 1
            });
            let (series, size) = &mut found[at];
            series.offsets.extend(usable);
            series.rounds += 1;
            series.left_out = series.left_out.saturating_add(offsets.left_out);
            *size = size.max(reach);
        }
    }
    found.retain(|(series, _)| !series.offsets.is_empty());
    found
}

impl Series {
    fn values(&self) -> impl Iterator<Item = f64> {
        self.offsets.iter().map(|place| self.value(place))
    }

    /// Bytes per second of a line, nanoseconds of a dot.
    fn value(&self, place: &LoggedOffset) -> f64 {
        if self.is_access { place.ns as f64 } else { place.rate().unwrap_or(0.0) }
    }

    /// The arithmetic mean of rates or times, as GNOME Disks computes it.
    fn mean(&self) -> f64 {
        self.values().sum::<f64>() / self.offsets.len().max(1) as f64
    }

    fn shown(&self, value: f64, units: Units) -> String {
        if self.is_access { display_ns(value) } else { display_rate(value, units) }
    }

    fn words(&self) -> String {
        let name = self.operation.name().replace('_', " ");
        match (self.is_access, self.operation) {
            (true, Operation::Read) => "access".to_owned(),
            (true, _) => format!("access to {name}"),
            (false, _) => name,
        }
    }

    /// The style class of its line or dots.
    fn class(&self) -> &'static str {
        match (self.is_access, self.operation) {
            (false, Operation::Read) => "curve",
            (false, _) => "curve second",
            (true, Operation::Read) => "places",
            (true, _) => "places second",
        }
    }
}

/// Each target's mean rate with the slowest and the fastest, and its access time in milliseconds, as GNOME Disks tells them.
pub(crate) fn position_sentences(p: &AnalysedRun<'_>) -> Vec<String> {
    let units = p.view.units;
    let of = |panel: Panel| {
        let part = |s: &Series| {
            let (low, high) = range(s.values()).unwrap_or_default();
            let mean = s.mean();
            match (s.is_access, s.operation) {
                (true, Operation::Read) => format!("average access time {} ms", digits(mean / 1e6)),
                (true, o) => format!(
                    "average time of an access to {} {} ms",
                    o.name().replace('_', " "),
                    digits(mean / 1e6)
                ),
                (false, o) => {
                    let [mean, low, high] = [mean, low, high].map(|rate| display_rate(rate, units));
                    let ends = with_one_unit(&low, "to", &high);
                    format!(
                        "{}s {mean} on average ({ends}, depending on position)",
                        o.name().replace('_', " ")
                    )
                }
            }
        };
        let parts: Vec<String> = panel.series.iter().map(part).collect();
        let colon = if panel.series.first().is_some_and(|s| s.is_access) { ":" } else { "" };
        format!("{}{colon} {}.", short(&panel.name, 60), parts.join("; "))
    };
    panels_of(p).into_iter().take(FEW).map(of).collect()
}

/// The caption of these panels: means, and what is omitted.
fn told(page: &[Panel], units: Units) -> String {
    let average = |panel: &Panel| {
        let parts: Vec<String> =
            panel.series.iter().map(|s| format!("{} {}", s.words(), s.shown(s.mean(), units))).collect();
        format!("{}: {}", short(&panel.name, 60), parts.join(", "))
    };
    let averages: Vec<String> = page.iter().map(average).collect();
    let mut text = format!(
        " Means of all rates and times, computed as GNOME Disks does (the tables have bytes ÷ time): {}.",
        averages.join("; ")
    );
    let series = || page.iter().flat_map(|panel| &panel.series);
    if series().any(|s| s.is_access && s.offsets.len() > DOTS.0) {
        text.push_str(" Of many accesses, an even selection is drawn.");
    }
    let left_out: u64 = series().fold(0, |sum, s| sum.saturating_add(s.left_out));
    if left_out > 0 {
        text.push_str(&format!(
            " The log keeps the first operations of each repeat; {left_out} later ones are missing."
        ));
    }
    text
}

fn draw_panel(svg: &mut Svg, panel: &Panel, units: Units, area: Area) {
    title(svg, &area, &panel.name, "");
    let below = legend(svg, panel, units, &area);
    let has = |is_access: bool| panel.series.iter().any(|s| s.is_access == is_access);
    let left = if has(false) { 66.0 } else { 12.0 };
    let right = if has(true) { 58.0 } else { 16.0 };
    let plot = area.inner(left, below, right, 40.0);
    let unit = power(panel.size, units);
    let x = Scale::linear((0.0, panel.size / unit), (plot.x, plot.right()));
    let name = display_bytes(unit as u64, units).split(' ').nth(1).unwrap_or_default().to_owned();
    let place = |v: f64| round(&format!("{v:.2} {name}"));
    let ticks = x.ticks(if area.width > 600.0 { 9 } else { 5 });
    let across = Axis { scale: x, ticks, words: "position", show: &place };
    let rate = |v: f64| round(&display_rate(v, units));
    let rates = rates(panel, &plot);
    let ticks = if has(false) { rates.ticks(5) } else { Vec::new() };
    axes(svg, &plot, &across, &Axis { scale: rates, ticks, words: "", show: &rate });
    if has(true) {
        let times = times(panel, (plot.bottom(), plot.y));
        for tick in times.ticks(5) {
            let at = times.at(tick);
            svg.line((plot.right(), at), (plot.right() + 4.0, at), &Mark::new("edge"));
            svg.text(plot.right() + 7.0, at + 4.0, Anchor::Start, "tick", &round(&display_ns(tick)));
            if !has(false) {
                svg.line((plot.x, at), (plot.right(), at), &Mark::new("grid"));
            }
        }
        let dots = |s: &&Series| s.is_access;
        panel.series.iter().filter(dots).for_each(|s| draw_dots(svg, panel, s, &x, &times, (unit, units)));
    }
    let lines = panel.series.iter().filter(|s| !s.is_access);
    lines.for_each(|s| draw_line(svg, panel, s, &x, &rates, (unit, units)));
}

/// The key of lines (first row) and dots (second row) with their means. Returns the distance from the panel's top to its
/// plot.
fn legend(svg: &mut Svg, panel: &Panel, units: Units, area: &Area) -> f64 {
    let (mut x, mut y) = (area.x, area.y + 30.0);
    for (i, series) in panel.series.iter().enumerate() {
        let axis = match series.is_access {
            true if panel.is_far() => ", right axis, logarithmic",
            true => ", right axis",
            false => "",
        };
        let label = format!("{}, mean {}{axis}", series.words(), series.shown(series.mean(), units));
        let needed = 26.0 + label.width() as f64 * (COLUMN - 0.4) + 14.0;
        let are_first_dots = series.is_access && i > 0 && !panel.series[i - 1].is_access;
        if x > area.x && (are_first_dots || x + needed > area.right()) {
            (x, y) = (area.x, y + 17.0);
        }
        let mark = Mark::of(&format!("{} sign", series.class()), panel.target);
        if series.is_access {
            let dots = [(1.0, -3.0), (7.0, -6.0), (13.0, -2.0), (18.0, -5.0)];
            svg.dots(&dots.map(|(dx, dy)| (x + dx, y + dy)), &mark);
        } else {
            svg.line((x, y - 4.0), (x + 20.0, y - 4.0), &mark);
        }
        svg.text(x + 26.0, y, Anchor::Start, "words", &label);
        x += needed;
    }
    // Panels side by side start at the same height.
    (y + 16.0 - area.y).max(63.0)
}

/// Bytes per unit of the axis, chosen for the end of the axis.
fn power(size: f64, units: Units) -> f64 {
    let base = units.base();
    (0..5).map(|k| base.powi(k)).find(|unit| size / unit < base).unwrap_or(1e15)
}

/// A round value of an axis without trailing zeros; zero has no unit.
fn round(text: &str) -> String {
    match text.split_once(' ') {
        Some((number, _)) if number.trim_matches(['0', '.']).is_empty() => "0".to_owned(),
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text.to_owned(),
    }
}

fn rates(panel: &Panel, plot: &Area) -> Scale {
    let rates = panel.series.iter().filter(|s| !s.is_access).flat_map(Series::values);
    let most = range(rates).map_or(1.0, |(_, high)| high);
    Scale::linear((0.0, most * 1.08), (plot.bottom(), plot.y))
}

impl Panel {
    fn times(&self) -> Vec<f64> {
        let mut times: Vec<f64> =
            self.series.iter().filter(|s| s.is_access).flat_map(Series::values).collect();
        times.sort_by(f64::total_cmp);
        times
    }

    /// True if single accesses took so long that all others would be at the bottom of a linear axis.
    fn is_far(&self) -> bool {
        let times = self.times();
        let median = times.get(times.len() / 2).copied().unwrap_or(0.0);
        times.last().is_some_and(|most| *most > FAR * median)
    }
}

fn times(panel: &Panel, offsets: (f64, f64)) -> Scale {
    let (low, high) = range(panel.times()).unwrap_or((0.0, 1.0));
    if panel.is_far() {
        Scale::log((low * 0.5, high * 1.3), offsets)
    } else {
        Scale::linear((0.0, high * 1.08), offsets)
    }
}

fn draw_dots(
    svg: &mut Svg,
    panel: &Panel,
    series: &Series,
    x: &Scale,
    y: &Scale,
    (unit, units): (f64, Units),
) {
    let most = if svg.is_wide() { DOTS.0 } else { DOTS.1 };
    let name = short(&panel.name, 60);
    let of = series.offsets.len();
    let chosen = (0..of.min(most)).map(|i| &series.offsets[i * of / of.min(most)]);
    let said = |place: &LoggedOffset| {
        let at = (x.at(place.offset as f64 / unit), y.at(place.ns as f64));
        let (offset, time) = (display_bytes(place.offset, units), display_ns(place.ns as f64));
        (at.0, at.1, format!("{name}, {} at {offset}: {time}", series.words()))
    };
    let points: Vec<_> = chosen.map(said).collect();
    let offsets: Vec<_> = points.iter().map(|(px, py, _)| (*px, *py)).collect();
    svg.dots(&offsets, &Mark::of(series.class(), panel.target).points(&points));
}

/// A point of a line: the middle of its range in bytes, the slowest and fastest rate there, and the median.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    at: f64,
    low: f64,
    middle: f64,
    high: f64,
}

/// The rates of a series along the axis; offsets that are close together are merged.
fn points(series: &Series, size: f64) -> Vec<Point> {
    let per_round = series.offsets.len().div_ceil(series.rounds.max(1));
    let bins = per_round.clamp(1, BINS);
    let mut found: Vec<Vec<(f64, f64)>> = vec![Vec::new(); bins];
    for place in &series.offsets {
        let at = place.offset as f64 + place.bytes as f64 / 2.0;
        let bin = (at / size.max(1.0) * bins as f64) as usize;
        found[bin.min(bins - 1)].push((at, series.value(place)));
    }
    let point = |mut bin: Vec<(f64, f64)>| {
        bin.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (low, high) = (bin.first()?.1, bin.last()?.1);
        let middle = (bin[(bin.len() - 1) / 2].1 + bin[bin.len() / 2].1) / 2.0;
        let at = bin.iter().map(|(at, _)| at).sum::<f64>() / bin.len() as f64;
        Some(Point { at, low, middle, high })
    };
    found.into_iter().filter_map(point).collect()
}

fn draw_line(
    svg: &mut Svg,
    panel: &Panel,
    series: &Series,
    x: &Scale,
    y: &Scale,
    (unit, units): (f64, Units),
) {
    let points = points(series, panel.size);
    let name = short(&panel.name, 60);
    let edge = |value: fn(&Point) -> f64| points.iter().map(move |p| (x.at(p.at / unit), y.at(value(p))));
    if series.rounds > 1 {
        let around: Vec<_> =
            edge(|p| p.high).chain(edge(|p| p.low).collect::<Vec<_>>().into_iter().rev()).map(Some).collect();
        svg.path(&around, &Mark::of("band", panel.target));
    }
    let said = |p: &Point| {
        let shown = |v| display_rate(v, units);
        let mut tip = format!(
            "{name}, {} at {}: {}",
            series.words(),
            display_bytes(p.at as u64, units),
            shown(p.middle)
        );
        let (low, high) = (shown(p.low), shown(p.high));
        if low != high {
            tip.push_str(&format!(" ({low} to {high})"));
        }
        (x.at(p.at / unit), y.at(p.middle), tip)
    };
    let tips: Vec<_> = points.iter().map(said).collect();
    let line: Vec<_> = edge(|p| p.middle).map(Some).collect();
    svg.path(&line, &Mark::of("halo", panel.target));
    svg.path(&line, &Mark::of(series.class(), panel.target).points(&tips));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(offsets: Vec<LoggedOffset>, rounds: usize) -> Series {
        Series { operation: Operation::Read, is_access: false, offsets, rounds, left_out: 0 }
    }

    fn place(offset: u64, ns: u64) -> LoggedOffset {
        LoggedOffset { offset, bytes: 1000, ns }
    }

    #[test]
    fn each_offset_has_median_and_range_of_its_rounds() {
        let rounds = [1000, 500, 250].map(|ns| [place(0, ns), place(5000, ns * 2)]);
        let points = points(&series(rounds.concat(), 3), 10_000.0);
        let expected = |at, middle| Point { at, low: middle / 2.0, middle, high: middle * 2.0 };
        assert_eq!(points, [expected(500.0, 2e9), expected(5500.0, 1e9)]);
    }

    #[test]
    fn offsets_are_thinned_and_the_mean_is_of_all() {
        let all: Vec<LoggedOffset> = (0..4000).map(|i| place(i * 1000, 1000 + i % 2 * 1000)).collect();
        let series = series(all, 1);
        let points = points(&series, 4e6);
        assert_eq!(points.len(), BINS);
        assert!(points.iter().all(|p| (p.low, p.middle, p.high) == (5e8, 7.5e8, 1e9)));
        assert!(points.is_sorted_by(|a, b| a.at < b.at));
        assert_eq!(series.mean(), 7.5e8);
    }

    #[test]
    fn an_axis_is_in_the_unit_of_its_end() {
        assert_eq!(power(4e12, Units::Decimal), 1e12);
        assert_eq!(power(8.0 * 1024.0 * 1024.0, Units::Binary), 1024.0 * 1024.0);
        assert_eq!((power(0.0, Units::Decimal), power(1e30, Units::Decimal)), (1.0, 1e15));
        assert_eq!(
            (round("1.50 TB"), round("200 GB"), round("5.00 ms"), round("0.00 B")),
            ("1.5 TB".into(), "200 GB".into(), "5 ms".into(), "0".into())
        );
    }
}
