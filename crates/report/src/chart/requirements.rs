//! Whether the storage is good enough: how far each required figure is from its limit, a panel for each profile.

use analyse::Judgement;
use model::{Bound, Estimate};

use super::frame::{Area, Axis, fit, label_width, panels, title, x_axis};
use super::scale::Scale;
use super::svg::{Anchor, Mark, Svg};
use super::{ChartKind, Sketch, paged, part};
use crate::answer::requirements::{by_profile, figure_of, figure_with_interval, limit_of};
use crate::figures::display_ratio;
use crate::view::AnalysedRun;
use crate::words::short;

pub(super) const KIND: ChartKind = ChartKind {
    name: "requirements",
    shows: "whether the storage is good enough: how far each required figure is from its limit",
    draw,
};

/// Pixels of a row, and of the name above it on a narrow chart.
const ROW: f64 = 34.0;
const NAME: f64 = 16.0;
/// Pixels of a panel above its plot and below it.
const AROUND: (f64, f64) = (22.0, 40.0);
/// The axis shows at least this many times the limit on both sides of it.
const LEAST: f64 = 2.0;
const CAPTION: &str = "The line is the limit; to the right of it, a figure is so many times better than required, to the left worse. The dot \
    is the figure, and the thin line its 95 % interval: the requirement is decided where that does not cross the limit.";

/// One requirement on one target.
#[derive(Clone)]
struct Row {
    name: String,
    target: usize,
    headroom: Option<Estimate>,
    verdict: String,
    figures: String,
}

/// One profile.
#[derive(Clone)]
struct Panel {
    name: String,
    rows: Vec<Row>,
}

fn draw(p: &AnalysedRun<'_>) -> Vec<Sketch> {
    let mut all: Vec<Panel> = Vec::new();
    for profile in by_profile(p) {
        let rows = profile.judgements.iter().map(|judgement| row(p, judgement));
        match all.iter_mut().find(|panel| panel.name == profile.name) {
            Some(panel) => panel.rows.extend(rows),
            None => all.push(Panel { name: profile.name.to_owned(), rows: rows.collect() }),
        }
    }
    let rows = || all.iter().flat_map(|panel| &panel.rows).filter_map(|row| row.headroom);
    let ends =
        rows().flat_map(|h| [Some(h.value), h.interval.map(|i| i.0), h.interval.map(|i| i.1)]).flatten();
    let ends: Vec<f64> = ends.filter(|v| v.is_finite() && *v > 0.0).collect();
    let least = ends.iter().copied().fold(1.0 / LEAST, f64::min) / 1.1;
    let most = ends.iter().copied().fold(LEAST, f64::max) * 1.1;
    let pages = paged(&all);
    let of = pages.len();
    let sketch = |(i, page): (usize, Vec<Panel>)| {
        Sketch::new(part("Good enough?", i, of), CAPTION, move |svg| {
            let height = |panel: &Panel| AROUND.0 + panel.rows.len() as f64 * row_height(svg) + AROUND.1;
            let heights: Vec<f64> = page.iter().map(height).collect();
            panels(svg, &[], &heights, |svg, i, area| draw_panel(svg, &page[i], (least, most), area));
        })
    };
    pages.into_iter().enumerate().map(sketch).collect()
}

fn row(p: &AnalysedRun<'_>, judgement: &Judgement) -> Row {
    let targets = &p.run.started.targets;
    let requirement = &judgement.requirement;
    let on = if targets.len() > 1 { format!(" · {}", short(&judgement.target, 40)) } else { String::new() };
    let better = |figure: f64| match requirement.bound {
        Bound::AtMost => requirement.limit / figure,
        Bound::AtLeast => figure / requirement.limit,
    };
    let ends = |(low, high): (f64, f64)| {
        let (a, b) = (better(low), better(high));
        (a.min(b), a.max(b))
    };
    let headroom = judgement.figure.filter(|figure| figure.value > 0.0).map(|figure| Estimate {
        value: better(figure.value),
        interval: figure.interval.map(ends).filter(|(low, high)| *low > 0.0 && high.is_finite()),
    });
    let limit = limit_of(requirement, p.view);
    let figures = match judgement.figure {
        Some(figure) => format!("{}, {limit}", figure_with_interval(requirement, figure, p.view)),
        None => format!("not measured, {limit}"),
    };
    Row {
        name: format!("{}{on}", figure_of(requirement)),
        target: targets.iter().position(|t| t.name == judgement.target).unwrap_or(0),
        headroom,
        verdict: judgement.standing.name().to_owned(),
        figures,
    }
}

fn row_height(svg: &Svg) -> f64 {
    if svg.is_wide() { ROW } else { ROW + NAME }
}

fn draw_panel(svg: &mut Svg, panel: &Panel, ends: (f64, f64), area: Area) {
    title(svg, &area, &panel.name, "");
    let wide = svg.is_wide();
    let names = panel.rows.iter().map(|row| label_width(&row.name)).fold(0.0, f64::max);
    let words = panel.rows.iter().flat_map(|row| [&row.verdict, &row.figures]).map(|w| label_width(w));
    let most = if wide { 240.0 } else { 150.0 };
    let right = (words.fold(0.0, f64::max) + 12.0).min(most);
    let left = if wide { (names + 12.0).clamp(44.0, (area.width - right - 110.0).max(44.0)) } else { 12.0 };
    let plot = area.inner(left, AROUND.0, right, AROUND.1);
    let x = Scale::log(ends, (plot.x, plot.right()));
    let show = |v: f64| format!("{} ×", display_ratio(v).trim_end_matches(".00"));
    let words = "times as good as required";
    let axis = Axis { scale: x, ticks: x.ticks(if wide { 5 } else { 3 }), words, show: &show };
    x_axis(svg, &plot, &axis);
    svg.line((x.at(1.0), plot.y), (x.at(1.0), plot.bottom()), &Mark::new("limit"));
    for (i, row) in panel.rows.iter().enumerate() {
        let y = plot.y + (i + 1) as f64 * row_height(svg) - ROW / 2.0;
        if wide {
            svg.text(plot.x - 8.0, y + 4.0, Anchor::End, "label", &fit(&row.name, left - 8.0));
        } else {
            svg.text(area.x, y - 9.0, Anchor::Start, "label", &fit(&row.name, area.width));
        }
        if let Some(headroom) = row.headroom {
            svg.line((x.at(1.0), y), (x.at(headroom.value), y), &Mark::of("spread", row.target));
            if let Some((low, high)) = headroom.interval {
                svg.line((x.at(low), y), (x.at(high), y), &Mark::of("whisker", row.target));
            }
            let tip = format!("{}, {}: {}, {}", short(&panel.name, 60), row.name, row.verdict, row.figures);
            svg.dot((x.at(headroom.value), y), 5.0, &Mark::of("dot", row.target).tip(tip));
        }
        let at = plot.right() + 10.0;
        svg.text(at, y - 2.0, Anchor::Start, "figure", &fit(&row.verdict, right - 10.0));
        svg.text(at, y + 12.0, Anchor::Start, "words", &fit(&row.figures, right - 10.0));
    }
}
