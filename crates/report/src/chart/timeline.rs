//! The whole run on one time axis: what was measured, telemetry, and findings.

use model::{Metric, Operation, OperationStats, Phase, Repeat, Run};

use super::frame::{Area, Axis, axes, fit, key};
use super::machine::{BINS, Trace, kinds, traces};
use super::scale::{Scale, range};
use super::slices::{Slice, slices};
use super::svg::{Anchor, Mark, Svg};
use super::{ChartKind, Sketch};
use crate::figures::{Units, display_iops, display_ns, display_percent, display_rate};
use crate::view::AnalysedRun;
use crate::view::RunView;
use crate::words::short;

pub(super) const KIND: ChartKind = ChartKind {
    name: "timeline",
    shows: "bandwidth, operations and latency over the time of the run, with phases and findings",
    draw,
};
pub(super) const MACHINE: ChartKind = ChartKind {
    name: "machine",
    shows: "what the machine did over the time of the run: processors, load, pressure, disks, temperature, clock",
    draw: draw_machine,
};

/// Bins over the time of a run on a narrow chart.
const NARROW_BINS: usize = 120;
const HEIGHT: f64 = 84.0;
const MACHINE_HEIGHT: f64 = 54.0;
const LEFT: f64 = 70.0;
const CAPTION: &str = "The run from start to end. The strip at the top shows which target was measured when (point at a block to \
    see its step). Dark shading is a ramp, which does not count; pale dashed blocks are the layout of test data. \
    Triangles mark findings. If there are many repeats, lines run from the lowest to the highest value of each \
    interval. The faint line above the median latency is the 99th percentile.";
const MACHINE_CAPTION: &str = "The same time axis as the timeline of the run, with the same strip of repeats and the same marks of findings. If \
    a figure dips where one of these rows peaks, that is the likely cause. Lines of one row are told apart by pointing at them.";

/// A repeat or layout in the run, in seconds.
#[derive(Clone)]
struct Span {
    target: usize,
    from: f64,
    counted_from: f64,
    to: f64,
    words: String,
}

/// A mark of a finding, in seconds of the run.
#[derive(Clone)]
struct Flag {
    at: f64,
    words: String,
}

/// An interval of a repeat: seconds of the run and values.
#[derive(Clone, Copy)]
struct Moment {
    at: f64,
    values: [Option<f64>; 4],
}

/// The intervals of one repeat.
#[derive(Clone)]
struct Row {
    target: usize,
    name: String,
    moments: Vec<Moment>,
}

#[derive(Clone)]
struct Timeline {
    names: Vec<String>,
    seconds: f64,
    layouts: Vec<Span>,
    spans: Vec<Span>,
    flags: Vec<Flag>,
    rows: Vec<Row>,
    traces: Vec<Trace>,
}

impl Timeline {
    /// There are more repeats than distinguishable points in time.
    fn has_many(&self) -> bool {
        self.rows.len() > BINS
    }
}

/// The rows: indices into [`Moment::values`], and the metric.
const PANELS: [(&str, &[usize], Metric); 3] = [
    ("bandwidth", &[0], Metric::Bandwidth),
    ("operations per second", &[1], Metric::Iops),
    ("latency: median, p99", &[2, 3], Metric::LatP50),
];

fn draw(p: &AnalysedRun<'_>) -> Vec<Sketch> {
    let timeline = timeline(p);
    if timeline.rows.iter().all(|row| row.moments.is_empty()) {
        return Vec::new();
    }
    let view = p.view.clone();
    vec![Sketch::new("Timeline of the run", CAPTION, move |svg| {
        let heights = vec![HEIGHT; PANELS.len()];
        paint(svg, &timeline, &heights, |svg, i, x, area, is_last| {
            let (words, values, metric) = PANELS[i];
            svg.text(0.0, area.y - 8.0, Anchor::Start, "title", words);
            paint_row(svg, &timeline, values, metric, &view, x, area, is_last);
        });
    })]
}

fn draw_machine(p: &AnalysedRun<'_>) -> Vec<Sketch> {
    let timeline = timeline(p);
    let kinds = kinds(&timeline.traces);
    if kinds.is_empty() {
        return Vec::new();
    }
    vec![Sketch::new("The machine during the run", MACHINE_CAPTION, move |svg| {
        let heights = vec![MACHINE_HEIGHT; kinds.len()];
        paint(svg, &timeline, &heights, |svg, i, x, area, is_last| {
            svg.text(0.0, area.y - 8.0, Anchor::Start, "title", &fit(&kinds[i], svg.width / 1.22));
            let of: Vec<&Trace> = timeline.traces.iter().filter(|trace| trace.kind == kinds[i]).collect();
            paint_traces(svg, &of, x, area, is_last);
        });
    })]
}

/// Duration of a run in seconds.
pub(super) fn length(run: &Run) -> f64 {
    let ends = run.repeats.iter().filter_map(|r| r.finished.as_ref()).map(|f| f.at_ns);
    let slices = run.repeats.iter().flat_map(|r| {
        r.intervals.iter().map(|i| r.started.at_ns.saturating_add(i.start_ns).saturating_add(i.len_ns))
    });
    let end = run.finished.as_ref().map(|f| f.at_ns);
    ends.chain(slices).chain(end).max().unwrap_or(0).max(1) as f64 / 1e9
}

fn timeline(p: &AnalysedRun<'_>) -> Timeline {
    let run = p.run;
    let (names, seconds) = (p.target_names(), length(run));
    let number = |name: &str| names.iter().position(|n| n == name);
    let mut spans = Vec::new();
    let mut rows = Vec::new();
    for repeat in &run.repeats {
        let Some(target) = number(&repeat.started.target) else { continue };
        spans.extend(span(run, repeat, target));
        let moments = moments(run, repeat, seconds / BINS as f64);
        rows.push(Row { target, name: repeat.started.target.clone(), moments });
    }
    let layouts = run.layouts.iter().filter_map(|l| {
        let (from, to) = (l.at_ns.saturating_sub(l.elapsed_ns) as f64 / 1e9, l.at_ns as f64 / 1e9);
        let took = display_ns(l.elapsed_ns as f64);
        let words = format!("test data written on {} in {took}", short(&l.target, 60));
        Some(Span { target: number(&l.target)?, from, counted_from: from, to, words })
    });
    Timeline {
        layouts: layouts.collect(),
        flags: flags(p),
        traces: traces(run, &names, seconds),
        names,
        seconds,
        spans,
        rows,
    }
}

fn span(run: &Run, repeat: &Repeat, target: usize) -> Option<Span> {
    let step = run.started.plan.step(&repeat.started.step)?;
    let from = repeat.started.at_ns as f64 / 1e9;
    let finished = repeat.finished.as_ref()?;
    let counted_from = from + repeat.ramp_ns(step) as f64 / 1e9;
    let to = (counted_from + finished.window_ns as f64 / 1e9).min(finished.at_ns as f64 / 1e9);
    let (round, title, name) = (repeat.started.round + 1, &step.title, short(&repeat.started.target, 60));
    let words = format!("{name}, round {round}: {title}, measured for {:.1} s", (to - counted_from).max(0.0));
    Some(Span { target, from, counted_from: counted_from.min(to), to, words })
}

/// The intervals of a repeat; those closer together than `apart` seconds are merged.
fn moments(run: &Run, repeat: &Repeat, apart: f64) -> Vec<Moment> {
    let Some(step) = run.started.plan.step(&repeat.started.step) else { return Vec::new() };
    // A durable write is derived from a write and its sync.
    let own = |o: &Operation| !matches!(o, Operation::DurableWrite | Operation::Sync);
    let operations: Vec<Operation> = step.workload.operations().into_iter().filter(own).collect();
    let mut parts: Vec<Slice> = operations.iter().flat_map(|o| slices(repeat, *o)).collect();
    parts.sort_by_key(|slice| slice.start_ns);
    let start = repeat.started.at_ns as f64 / 1e9;
    let mut moments = Vec::new();
    let mut open: Vec<Slice> = Vec::new();
    for slice in parts {
        let ends_before = open.first().is_some_and(|first| {
            first.phase != slice.phase || (slice.start_ns - first.start_ns) as f64 / 1e9 >= apart.max(1e-9)
        });
        if ends_before {
            moments.extend(moment(start, &open));
            open.clear();
        }
        open.push(slice);
    }
    moments.extend(moment(start, &open));
    moments
}

fn moment(start: f64, slices: &[Slice]) -> Option<Moment> {
    let first = slices.first()?;
    let end = slices.iter().map(|s| s.start_ns.saturating_add(s.len_ns)).max()?;
    let ns = end.saturating_sub(first.start_ns);
    let mut stats = OperationStats::default();
    slices.iter().for_each(|slice| stats.merge(&slice.stats));
    // Alternating operations: their rate is over the whole time here, because all of them are shown together.
    stats.active_ns = 0;
    let whole = Slice { start_ns: first.start_ns, len_ns: ns, phase: Phase::Measure, stats };
    let metrics = [Metric::Bandwidth, Metric::Iops, Metric::LatP50, Metric::LatP99];
    let values = metrics.map(|metric| whole.value(metric).filter(|v| *v > 0.0));
    Some(Moment { at: start + (first.start_ns as f64 + ns as f64 / 2.0) / 1e9, values })
}

/// Times of the findings: the seconds or rounds that their evidence names.
fn flags(p: &AnalysedRun<'_>) -> Vec<Flag> {
    /// A finding in more places than this is not marked.
    const MOST: usize = 3;
    let mut flags = Vec::new();
    for finding in &p.analysis.findings {
        let words = format!("{}: {}", finding.rule, finding.message);
        let scopes = finding.evidence.iter().filter_map(|e| e.scope.as_ref());
        let mut at: Vec<f64> = Vec::new();
        for scope in scopes {
            if let Some((from, to)) = scope.seconds {
                at.push((from + to) / 2.0);
                continue;
            }
            let step = scope.step.as_ref().or(finding.subject.step.as_ref());
            let is_it = |r: &&Repeat| {
                Some(&r.started.step) == step
                    && Some(&r.started.target) == finding.subject.target.as_ref()
                    && scope.rounds.contains(&(r.started.round + 1))
            };
            at.extend(p.run.repeats.iter().filter(is_it).map(|r| r.started.at_ns as f64 / 1e9));
        }
        at.sort_by(f64::total_cmp);
        at.dedup();
        if at.len() <= MOST {
            flags.extend(at.into_iter().map(|at| Flag { at, words: words.clone() }));
        }
    }
    flags
}

/// The strip of repeats, and below it rows of these heights, each drawn by `draw` with its number.
fn paint(svg: &mut Svg, t: &Timeline, heights: &[f64], draw: impl Fn(&mut Svg, usize, &Scale, &Area, bool)) {
    const BETWEEN: f64 = 28.0;
    let top = key(svg, &t.names) + 6.0;
    let x = Scale::linear((0.0, t.seconds), (LEFT, svg.width - 12.0));
    let strip = Area { x: LEFT, y: top, width: svg.width - 12.0 - LEFT, height: 12.0 };
    let mut y = strip.bottom() + 22.0;
    let bottom = y + heights.iter().map(|height| height + BETWEEN).sum::<f64>();
    paint_phases(svg, t, &x, &strip, bottom - BETWEEN);
    for (i, height) in heights.iter().enumerate() {
        let area = Area { x: LEFT, y: y + 18.0, width: strip.width, height: height - 8.0 };
        draw(svg, i, &x, &area, i + 1 == heights.len());
        y += height + BETWEEN;
    }
    svg.height = y + 16.0;
}

fn paint_phases(svg: &mut Svg, t: &Timeline, x: &Scale, strip: &Area, bottom: f64) {
    let column = |from: f64, to: f64| (x.at(from), (x.at(to) - x.at(from)).max(0.4));
    let (mut layouts, mut ramps, mut measured) = (Vec::new(), Vec::new(), Vec::new());
    let top = strip.bottom() + 14.0;
    for span in &t.spans {
        let (from, width) = column(span.from, span.counted_from);
        ramps.push((from, top, width, bottom - top));
        let (from, width) = column(span.counted_from, span.to);
        measured.push((from, top, width, bottom - top));
    }
    for layout in &t.layouts {
        let (from, width) = column(layout.from, layout.to);
        layouts.push((from, top, width, bottom - top));
        let hatched = Mark::of("layout", layout.target).tip(layout.words.clone());
        svg.rect((from, strip.y), (width, strip.height), &hatched);
    }
    svg.cells(&layouts, &Mark::new("phase-layout"));
    // Phases narrower than a pixel are not shaded.
    if t.has_many() {
        paint_many_spans(svg, t, x, strip);
    } else {
        svg.cells(&measured, &Mark::new("phase-measure"));
        svg.cells(&ramps, &Mark::new("phase-ramp"));
    }
    for span in t.spans.iter().filter(|_| !t.has_many()) {
        let (from, width) = column(span.from, span.to);
        svg.rect(
            (from, strip.y),
            (width, strip.height),
            &Mark::of("block", span.target).tip(span.words.clone()),
        );
    }
    for flag in &t.flags {
        let at = x.at(flag.at);
        svg.line((at, top), (at, bottom), &Mark::new("flag-line"));
        let y = strip.bottom() + 3.0;
        let triangle = [(at - 5.0, y), (at + 5.0, y), (at, y + 9.0), (at - 5.0, y)];
        svg.path(&triangle.map(Some), &Mark::new("flag").tip(short(&flag.words, 300)));
    }
}

/// The measured times of many repeats: one mark for each target.
fn paint_many_spans(svg: &mut Svg, t: &Timeline, x: &Scale, strip: &Area) {
    for target in 0..t.names.len() {
        let own = t.spans.iter().filter(|span| span.target == target);
        let cell = |span: &Span| {
            (x.at(span.from), strip.y, (x.at(span.to) - x.at(span.from)).max(0.4), strip.height)
        };
        let cells: Vec<_> = own.map(cell).collect();
        svg.cells(&cells, &Mark::of("block", target));
    }
}

/// The time axis, with figures only below the last row.
fn time_axis<'a>(x: &Scale, wide: bool, show: &'a dyn Fn(f64) -> String, last: bool) -> Axis<'a> {
    let words = if last { "seconds from the start of the run" } else { "" };
    Axis { scale: *x, ticks: if last { x.ticks(if wide { 10 } else { 4 }) } else { Vec::new() }, words, show }
}

#[allow(clippy::too_many_arguments)]
fn paint_row(
    svg: &mut Svg,
    t: &Timeline,
    values: &[usize],
    metric: Metric,
    view: &RunView,
    x: &Scale,
    area: &Area,
    last: bool,
) {
    let all = t.rows.iter().flat_map(|r| &r.moments).flat_map(|m| values.iter().filter_map(|v| m.values[*v]));
    let Some((low, high)) = range(all) else { return };
    let y = Scale::log((low * 0.85, high * 1.2), (area.bottom(), area.y));
    let show = |value: f64| view.display(metric, value).replace(".00", "").replace(".0 ", " ");
    let seconds = |value: f64| format!("{value}");
    let across = time_axis(x, svg.is_wide(), &seconds, last);
    axes(svg, area, &across, &Axis { scale: y, ticks: y.ticks(3), words: "", show: &show });
    if t.has_many() {
        return paint_many(svg, t, values, (x, &y), &|v| view.display(metric, v));
    }
    for row in &t.rows {
        for (nth, value) in values.iter().enumerate() {
            let class = if nth == 0 { "curve fine" } else { "curve faint" };
            let what = if values.len() == 1 { "" } else { ["median ", "p99 "][nth.min(1)] };
            let place = |m: &Moment| m.values[*value].map(|v| (x.at(m.at), y.at(v)));
            let line: Vec<_> = row.moments.iter().map(place).collect();
            let said = row.moments.iter().filter_map(|m| {
                let ((px, py), v) = (place(m)?, m.values[*value]?);
                Some((
                    px,
                    py,
                    format!("{} at {:.1} s: {what}{}", short(&row.name, 40), m.at, view.display(metric, v)),
                ))
            });
            let points: Vec<_> = said.collect();
            svg.path(&line, &Mark::of(class, row.target).points(&points));
            if let [(px, py, _)] = points.as_slice() {
                svg.dot((*px, *py), 1.5, &Mark::of("point", row.target));
            }
        }
    }
}

/// For each target and bin, a line from the lowest to the highest value.
fn paint_many(
    svg: &mut Svg,
    t: &Timeline,
    values: &[usize],
    (x, y): (&Scale, &Scale),
    show: &dyn Fn(f64) -> String,
) {
    let bins = if svg.is_wide() { BINS } else { NARROW_BINS };
    let bin = t.seconds / bins as f64;
    for (target, name) in t.names.iter().enumerate() {
        let mut ends: Vec<Option<(f64, f64)>> = vec![None; bins];
        let own = t.rows.iter().filter(|row| row.target == target);
        for moment in own.flat_map(|row| &row.moments) {
            let found = values.iter().filter_map(|value| moment.values[*value]);
            let at = ((moment.at / bin) as usize).min(bins - 1);
            for value in found {
                let (low, high) = ends[at].unwrap_or((value, value));
                ends[at] = Some((low.min(value), high.max(value)));
            }
        }
        let (mut line, mut points) = (Vec::new(), Vec::new());
        for (i, ends) in ends.iter().enumerate() {
            let Some((low, high)) = ends else { continue };
            let at = (i as f64 + 0.5) * bin;
            let (top, bottom) = (y.at(*high), y.at(*low));
            line.extend([Some((x.at(at), top)), Some((x.at(at), bottom)), None]);
            let words = format!("{} at {at:.0} s: {} to {}", short(name, 40), show(*low), show(*high));
            points.push((x.at(at), (top + bottom) / 2.0, words));
        }
        svg.path(&line, &Mark::of("curve faint", target).points(&points));
    }
}

fn paint_traces(svg: &mut Svg, traces: &[&Trace], x: &Scale, area: &Area, last: bool) {
    let Some(first) = traces.first() else { return };
    let (low, high) =
        range(traces.iter().flat_map(|t| t.values.iter().flatten().copied())).unwrap_or((0.0, 1.0));
    // Shares have an axis from 0 to 1, other figures up to their largest; temperatures and clocks need no zero.
    let ends = match first.unit {
        "share" => (0.0, 1.0),
        "°C" | "Hz" => {
            (low - (high - low).max(low.abs() * 0.02) * 0.1, high + (high - low).max(high.abs() * 0.02) * 0.1)
        }
        _ => (0.0, high * 1.05),
    };
    let y = Scale::linear(ends, (area.bottom(), area.y));
    let show = |value: f64| words(first.unit, value);
    let seconds = |value: f64| format!("{value}");
    let across = time_axis(x, svg.is_wide(), &seconds, last);
    axes(svg, area, &across, &Axis { scale: y, ticks: y.ticks(3), words: "", show: &show });
    for trace in traces {
        let mut line = Vec::new();
        let mut points = Vec::new();
        for (i, value) in trace.values.iter().enumerate() {
            let at = (i as f64 + 0.5) * trace.bin;
            let place = value.map(|v| (x.at(at), y.at(v)));
            line.push(place);
            if let (Some((px, py)), Some(v)) = (place, value) {
                points.push((
                    px,
                    py,
                    format!("{} at {at:.1} s: {}", short(&trace.name, 40), words(trace.unit, *v)),
                ));
            }
        }
        let class = if trace.is_dashed { "curve fine second" } else { "curve fine" };
        let mark =
            trace.target.map_or_else(|| Mark::new(&format!("{class} neutral")), |t| Mark::of(class, t));
        svg.path(&line, &mark.points(&points));
    }
}

fn words(unit: &str, value: f64) -> String {
    match unit {
        "share" => display_percent(value),
        "°C" => format!("{value:.0} °C"),
        "Hz" => crate::figures::display_hz(value),
        "B/s" => display_rate(value, Units::Decimal).replace(".00", ""),
        "1/s" => display_iops(value).replace(".00", "").replace(".0k", "k"),
        _ => crate::figures::digits(value).replace(".00", ""),
    }
}
