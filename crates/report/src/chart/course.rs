//! A figure from run to run, with its changes.

use analyse::History;
use jiff::tz::TimeZone;
use model::{Metric, PortableMath};

use super::frame::{Area, Axis, axes};
use super::scale::{Scale, range};
use super::svg::{Mark, Svg};
use super::{Chart, Sketch, drawn};
use crate::figures::display_metric;
use crate::history::PastRun;
use crate::view::{RunView, when};

const HEIGHT: f64 = 210.0;
/// Runs that are drawn one by one; of more, each dot is the middle of several.
const MOST_DOTS: usize = 400;
const SECONDS_A_DAY: f64 = 86_400.0;
/// A history of more days than this has dates below it, of fewer the time of the day.
const LONG_DAYS: f64 = 3.0;
const CAPTION: &str = "Each dot is a run with its 95 % interval, the dashed line the mean between changes, a vertical line the first run after a \
    change, dotted where it is only suspected. The scale does not begin at zero, and \
    cuts intervals that are much wider than what the runs differ by.";

/// A dot: seconds since the first run, value, interval, tooltip.
struct Dot {
    at: f64,
    value: f64,
    interval: Option<(f64, f64)>,
    tip: String,
}

struct Drawing {
    metric: Metric,
    view: RunView,
    start_ns: i64,
    dots: Vec<Dot>,
    /// From when to when, and the mean.
    levels: Vec<(f64, f64, f64)>,
    /// When, and whether it is confirmed.
    changes: Vec<(f64, bool)>,
}

/// The chart of a figure from run to run.
pub(crate) fn course(history: &History, runs: &[PastRun], title: &str, view: &RunView) -> Vec<Chart> {
    let Some(drawing) = drawing(history, runs, view) else { return Vec::new() };
    let sketch = Sketch::new(title, CAPTION, move |svg| draw(svg, &drawing));
    drawn("course", vec![sketch], super::WIDE)
}

fn drawing(history: &History, runs: &[PastRun], view: &RunView) -> Option<Drawing> {
    let metric = history.key.metric;
    let start_ns = runs[history.figures.first()?.run].started_unix_ns;
    let seconds = |run: usize| runs[run].started_unix_ns.saturating_sub(start_ns) as f64 / 1e9;
    let show = |value: f64| display_metric(metric, value, view.units);
    let of = |several: &[analyse::PastFigure]| {
        let mut sorted: Vec<&analyse::PastFigure> = several.iter().collect();
        sorted.sort_by(|a, b| a.figure.value.total_cmp(&b.figure.value));
        let middle = sorted[sorted.len() / 2];
        let value = middle.figure.value;
        let moment = when(runs[middle.run].started_unix_ns, &view.time_zone);
        let (interval, tip) = match several {
            [only] => {
                (only.figure.interval, format!("{moment}, run {}: {}", runs[middle.run].id, show(value)))
            }
            _ => {
                let ends = (sorted[0].figure.value, sorted[sorted.len() - 1].figure.value);
                let tip = format!(
                    "about {moment}: {} in the middle of {} runs, {} to {}",
                    show(value),
                    several.len(),
                    show(ends.0),
                    show(ends.1)
                );
                (Some(ends), tip)
            }
        };
        Dot { at: seconds(middle.run), value, interval, tip }
    };
    let each = history.figures.len().div_ceil(MOST_DOTS).max(1);
    let confirmed =
        history.course.changes.iter().filter(|change| change.is_confirmed).map(|change| change.at);
    let edges: Vec<usize> =
        std::iter::once(0).chain(confirmed).chain(std::iter::once(history.figures.len())).collect();
    let level = |edge: &[usize]| {
        let own = &history.figures[edge[0]..edge[1]];
        let log = own.iter().map(|f| f.figure.value.portable_ln()).sum::<f64>() / own.len().max(1) as f64;
        (seconds(own[0].run), seconds(own[own.len() - 1].run), log.portable_exp())
    };
    let is_flat = history.course.drift.is_none();
    let levels = edges.windows(2).filter(|edge| is_flat && edge[0] < edge[1]).map(level).collect();
    let changes = &history.course.changes;
    Some(Drawing {
        metric,
        view: view.clone(),
        start_ns,
        dots: history.figures.chunks(each).map(of).collect(),
        levels,
        changes: changes.iter().map(|c| (seconds(history.figures[c.at].run), c.is_confirmed)).collect(),
    })
}

/// A moment below the chart, short.
fn tick(seconds: f64, start_ns: i64, is_long: bool, time_zone: &TimeZone) -> String {
    let moment = when(start_ns.saturating_add((seconds * 1e9) as i64), time_zone);
    let (day, time) = moment.split_once(' ').unwrap_or((&moment, ""));
    if is_long { day.to_owned() } else { time.to_owned() }
}

fn draw(svg: &mut Svg, drawing: &Drawing) {
    let whole = Area { x: 0.0, y: 0.0, width: svg.width, height: HEIGHT };
    svg.height = HEIGHT;
    let plot = whole.inner(76.0, 12.0, 38.0, 40.0);
    let (low, high) = range(drawing.dots.iter().map(|dot| dot.value)).unwrap_or((1.0, 2.0));
    // An interval that is wide beside what the figures differ by is cut.
    let most = (high - low).max(high * 0.05) / 2.0;
    let cut = |end: f64| end.clamp(low - most, high + most);
    let ends = drawing.dots.iter().filter_map(|dot| dot.interval).flat_map(|(a, b)| [cut(a), cut(b)]);
    let (low, high) = range(ends.chain([low, high])).unwrap_or((low, high));
    let room = ((high - low) * 0.06).max(high * 0.005);
    let y = Scale::linear(((low - room).max(0.0), high + room), (plot.bottom(), plot.y));
    let last = drawing.dots.iter().map(|dot| dot.at).fold(0.0, f64::max).max(60.0);
    let x = Scale::linear((-0.02 * last, 1.02 * last), (plot.x, plot.right()));
    let is_long = last > LONG_DAYS * SECONDS_A_DAY;
    let wanted = if svg.is_wide() { 7 } else { 3 };
    let ticks = (0..wanted).map(|i| last * f64::from(i) / f64::from(wanted - 1)).collect();
    let number = |seconds: f64| tick(seconds, drawing.start_ns, is_long, &drawing.view.time_zone);
    let show = |value: f64| display_metric(drawing.metric, value, drawing.view.units);
    let words = if is_long { "" } else { "time of the day" };
    let across = Axis { scale: x, ticks, words, show: &number };
    axes(svg, &plot, &across, &Axis { scale: y, ticks: y.ticks(4), words: "", show: &show });
    for (at, is_confirmed) in &drawing.changes {
        let mark = Mark::new(if *is_confirmed { "turn" } else { "flag-line" });
        svg.line((x.at(*at), plot.y), (x.at(*at), plot.bottom()), &mark);
    }
    for dot in &drawing.dots {
        let at = x.at(dot.at);
        if let Some((low, high)) = dot.interval {
            svg.line((at, y.at(cut(low))), (at, y.at(cut(high))), &Mark::coloured("spread", 0));
        }
        svg.dot((at, y.at(dot.value)), 3.5, &Mark::coloured("dot", 0).tip(dot.tip.clone()));
    }
    for (from, to, level) in &drawing.levels {
        svg.line((x.at(*from), y.at(*level)), (x.at(*to), y.at(*level)), &Mark::new("mode"));
    }
}
