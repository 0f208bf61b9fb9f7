//! What a part of the storage costs: the speed without it and with it, a panel for each place.

use model::{Comparison, Estimate, MeasurementKey};

use super::frame::{Area, Axis, fit, label_width, panels, title, x_axis};
use super::scale::Scale;
use super::svg::{Anchor, Mark, Svg};
use super::{ChartKind, Sketch, paged, part};
use crate::answer::costs::Costs;
use crate::answer::decided::speed;
use crate::answer::table::mark_with_interval;
use crate::figures::{display_percent, with_one_unit};
use crate::view::AnalysedRun;
use crate::words::short;

pub(super) const KIND: ChartKind = ChartKind {
    name: "costs",
    shows: "what encryption, another filesystem or a further layer changes: the speed without it and with it",
    draw,
};

/// Pixels of a row, and of the name above it on a narrow chart.
const ROW: f64 = 34.0;
const NAME: f64 = 16.0;
/// Pixels of a panel above its plot and below it.
const AROUND: (f64, f64) = (22.0, 40.0);
/// From this ratio on, the axis is logarithmic.
const FAR: f64 = 4.0;
const CAPTION: &str = "The ring is the speed without the part, which is 100 %; the dot is the speed with it, and the thin line its 95 % \
    interval. Next to it is the change of the figure, with the figure itself without and with the part. Of \
    latencies the speed is the inverse.";

/// One figure: its name, the speed with the part, and its words.
#[derive(Clone)]
struct Row {
    name: String,
    speed: Estimate,
    change: String,
    values: String,
}

/// One place.
#[derive(Clone)]
struct Panel {
    name: String,
    target: usize,
    rows: Vec<Row>,
}

fn draw(p: &AnalysedRun<'_>) -> Vec<Sketch> {
    let mut sketches = Vec::new();
    let of_run = Costs::of(p);
    for costs in of_run.parts() {
        let panel = |cost: &&analyse::Cost| Panel {
            name: costs.place(cost),
            target: p.run.started.targets.iter().position(|t| t.name == cost.target).unwrap_or(0),
            rows: of_run.figures(cost).into_iter().map(|(_, name, c)| row(p, name, c)).collect(),
        };
        let all: Vec<Panel> = costs.costs.iter().map(panel).collect();
        let ends = Ends::of(&all);
        let pages = paged(&all);
        let of = pages.len();
        for (i, page) in pages.into_iter().enumerate() {
            sketches.push(Sketch::new(part(&costs.title(), i, of), CAPTION, move |svg| {
                let row = row_height(svg);
                let height = |panel: &Panel| AROUND.0 + panel.rows.len() as f64 * row + AROUND.1;
                let heights: Vec<f64> = page.iter().map(height).collect();
                panels(svg, &[], &heights, |svg, i, area| draw_panel(svg, &page[i], &ends, area));
            }));
        }
    }
    sketches
}

fn row(p: &AnalysedRun<'_>, name: String, c: &Comparison) -> Row {
    let is_inverse = speed(c) != c.ratio.value;
    let limits = |(low, high): (f64, f64)| if is_inverse { (1.0 / high, 1.0 / low) } else { (low, high) };
    let value = |target: &str| {
        let key = MeasurementKey { target, step: &c.step, operation: c.operation, metric: c.metric };
        p.analysis.measurement(key).map(|m| p.view.display(c.metric, m.estimate.value))
    };
    let values = match (value(&c.baseline), value(&c.target)) {
        (Some(before), Some(after)) => with_one_unit(&before, "→", &after),
        _ => String::new(),
    };
    Row {
        name,
        speed: Estimate { value: speed(c), interval: c.ratio.interval.map(limits) },
        change: mark_with_interval(c).text,
        values,
    }
}

/// The speeds between which all panels of a part are drawn, so that they can be compared.
#[derive(Clone, Copy)]
struct Ends {
    least: f64,
    most: f64,
    /// The highest limit of an interval, cut where it would flatten the picture.
    highest: f64,
}

impl Ends {
    fn of(panels: &[Panel]) -> Self {
        let rows = || panels.iter().flat_map(|panel| &panel.rows);
        let speeds = || rows().map(|row| row.speed.value).filter(|v| v.is_finite() && *v > 0.0);
        let most = speeds().fold(1.0, f64::max);
        let limits = rows().filter_map(|row| row.speed.interval).map(|(_, high)| high);
        let highest = limits.filter(|v| v.is_finite()).fold(most, f64::max).min(1.5 * most);
        Self { least: speeds().fold(1.0, f64::min), most, highest }
    }

    fn scale(&self, places: (f64, f64)) -> Scale {
        if self.most > FAR {
            Scale::log((self.least / 1.3, 1.3 * self.most), places)
        } else {
            Scale::linear((0.0, 1.05 * self.highest), places)
        }
    }
}

fn row_height(svg: &Svg) -> f64 {
    if svg.is_wide() { ROW } else { ROW + NAME }
}

fn draw_panel(svg: &mut Svg, panel: &Panel, ends: &Ends, area: Area) {
    title(svg, &area, &panel.name, "");
    let wide = svg.is_wide();
    let names = panel.rows.iter().map(|row| label_width(&row.name)).fold(0.0, f64::max);
    let words = panel.rows.iter().flat_map(|row| [&row.change, &row.values]).map(|w| label_width(w));
    let right = (words.fold(0.0, f64::max) + 12.0).min(190.0);
    let left = if wide { (names + 12.0).clamp(44.0, (area.width - right - 110.0).max(44.0)) } else { 12.0 };
    let plot = area.inner(left, AROUND.0, right, AROUND.1);
    let x = ends.scale((plot.x, plot.right()));
    let show = |v: f64| display_percent(v).replace(".0 ", " ");
    let words = "speed, without the part 100 %";
    let axis = Axis { scale: x, ticks: x.ticks(if wide { 5 } else { 3 }), words, show: &show };
    x_axis(svg, &plot, &axis);
    svg.line((x.at(1.0), plot.y), (x.at(1.0), plot.bottom()), &Mark::new("grid"));
    for (i, row) in panel.rows.iter().enumerate() {
        let bottom = plot.y + (i + 1) as f64 * row_height(svg);
        let y = bottom - ROW / 2.0;
        let (before, after) = (x.at(1.0), x.at(row.speed.value));
        if wide {
            svg.text(plot.x - 8.0, y + 4.0, Anchor::End, "label", &fit(&row.name, left - 8.0));
        } else {
            svg.text(area.x, y - 9.0, Anchor::Start, "label", &fit(&row.name, area.width));
        }
        svg.line((before, y), (after, y), &Mark::of("spread", panel.target));
        if let Some((low, high)) = row.speed.interval {
            svg.line((x.at(low), y), (x.at(high), y), &Mark::of("whisker", panel.target));
        }
        svg.dot((before, y), 4.5, &Mark::new("ring neutral"));
        let tip = format!("{}, {}: {}, {}", short(&panel.name, 60), row.name, row.values, row.change);
        svg.dot((after, y), 5.0, &Mark::of("dot", panel.target).tip(tip));
        let at = plot.right() + 10.0;
        svg.text(at, y - 2.0, Anchor::Start, "figure", &fit(&row.change, right - 10.0));
        svg.text(at, y + 12.0, Anchor::Start, "words", &fit(&row.values, right - 10.0));
    }
}
