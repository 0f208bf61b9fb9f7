//! Whether the storage is good enough: how far each required figure is from its limit, a row for each.

use analyse::Judgement;
use model::{Bound, Estimate};

use super::frame::{Area, Axis, fit, key, label_width, x_axis};
use super::scale::Scale;
use super::svg::{Anchor, Mark, Svg};
use super::{ChartKind, Sketch, part};
use crate::answer::requirements::{by_profile, figure_of, figure_with_interval, limit_of};
use crate::figures::display_ratio;
use crate::view::AnalysedRun;

pub(super) const KIND: ChartKind = ChartKind {
    name: "requirements",
    shows: "whether the storage is good enough: how far each required figure is from its limit",
    draw,
};

/// Pixels of a row, and of the name above it on a narrow chart.
const ROW: f64 = 34.0;
const NAME: f64 = 16.0;
/// Pixels below the rows.
pub(super) const BELOW: f64 = 40.0;
/// The axis shows at least this many times the limit on both sides of it.
const LEAST: f64 = 2.0;
const CAPTION: &str = "The line is the limit; to the right of it, a figure is so many times better than required, to the left worse. The dot \
    is the figure, and the thin line its 95 % interval: the requirement is decided where that does not cross the limit.";

/// Rows in one chart.
pub(super) const ROWS: usize = 24;

/// A bar with its interval and its words, such as one requirement on one target.
#[derive(Clone)]
pub(super) struct Row {
    pub name: String,
    pub target: usize,
    pub bar: Option<Estimate>,
    pub verdict: String,
    pub figure: String,
}

/// What bars are drawn along: a logarithmic scale, and the value that they begin at, if that is not the end of it.
pub(super) struct Ruler<'a> {
    pub ends: (f64, f64),
    pub origin: Option<f64>,
    pub words: &'a str,
    /// The class of the bars.
    pub class: &'static str,
    pub show: &'a dyn Fn(f64) -> String,
}

fn draw(p: &AnalysedRun<'_>) -> Vec<Sketch> {
    let profiles = by_profile(p);
    let has_several = profiles.iter().any(|profile| profile.name != profiles[0].name);
    let named = |name: &str| if has_several { format!("{name} · ") } else { String::new() };
    let judgements = &p.analysis.judgements;
    let rows: Vec<Row> = judgements.iter().map(|j| row(p, j, &named(&j.requirement.profile))).collect();
    let of_row =
        |h: Estimate| [h.value, h.interval.map_or(h.value, |i| i.0), h.interval.map_or(h.value, |i| i.1)];
    let ends: Vec<f64> = rows.iter().filter_map(|row| row.bar).flat_map(of_row).collect();
    let least = ends.iter().copied().fold(1.0 / LEAST, f64::min) / 1.1;
    let most = ends.iter().copied().fold(LEAST, f64::max) * 1.1;
    let targets: Vec<String> = p.run.started.targets.iter().map(|target| target.name.clone()).collect();
    let of = rows.len().div_ceil(ROWS);
    let sketch = |(i, rows): (usize, &[Row])| {
        let (rows, targets) = (rows.to_vec(), targets.clone());
        Sketch::new(part("Required figures and their limits", i, of), CAPTION, move |svg| {
            let top = key(svg, &targets);
            let height = rows.len() as f64 * row_height(svg) + BELOW;
            let area = Area { x: 0.0, y: top, width: svg.width, height };
            let words = "times as good as required";
            let ruler =
                Ruler { ends: (least, most), origin: Some(1.0), words, class: "spread", show: &times };
            draw_rows(svg, &rows, &ruler, area);
            svg.height = top + height;
        })
    };
    rows.chunks(ROWS).enumerate().map(sketch).collect()
}

fn row(p: &AnalysedRun<'_>, judgement: &Judgement, profile: &str) -> Row {
    let requirement = &judgement.requirement;
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
    let figure = judgement.figure.map(|figure| figure_with_interval(requirement, figure, p.view));
    let limit = limit_of(requirement, p.view);
    Row {
        name: format!("{profile}{}: {} {limit}", requirement.step, figure_of(requirement)),
        target: p.run.started.targets.iter().position(|t| t.name == judgement.target).unwrap_or(0),
        bar: headroom,
        verdict: judgement.standing.name().to_owned(),
        figure: figure.unwrap_or_else(|| "not measured".to_owned()),
    }
}

pub(super) fn row_height(svg: &Svg) -> f64 {
    if svg.is_wide() { ROW } else { ROW + NAME }
}

/// A factor, such as `10 ×`.
fn times(factor: f64) -> String {
    let shown = display_ratio(factor);
    let short = if shown.contains('.') { shown.trim_end_matches('0').trim_end_matches('.') } else { &shown };
    format!("{short} ×")
}

/// Draws rows of bars.
pub(super) fn draw_rows(svg: &mut Svg, rows: &[Row], ruler: &Ruler<'_>, area: Area) {
    let wide = svg.is_wide();
    let names = rows.iter().map(|row| label_width(&row.name)).fold(0.0, f64::max);
    let width = |row: &Row| {
        let figure = if wide { label_width(&row.figure) } else { 0.0 };
        figure.max(label_width(&row.verdict))
    };
    let words = rows.iter().map(width);
    let right = words.fold(0.0, f64::max) + 14.0;
    let left = if wide { (names + 12.0).clamp(44.0, (area.width - right - 220.0).max(44.0)) } else { 12.0 };
    let plot = area.inner(left, 0.0, right, BELOW);
    let x = Scale::log(ruler.ends, (plot.x, plot.right()));
    let ticks = x.ticks(if wide { 5 } else { 3 });
    x_axis(svg, &plot, &Axis { scale: x, ticks, words: ruler.words, show: ruler.show });
    let begin = ruler.origin.map_or(plot.x, |origin| x.at(origin));
    svg.line((begin, plot.y), (begin, plot.bottom()), &Mark::new("limit"));
    for (i, row) in rows.iter().enumerate() {
        let y = plot.y + (i + 1) as f64 * row_height(svg) - ROW / 2.0;
        // The rows of a requirement have its name once.
        let is_new = i == 0 || rows[i - 1].name != row.name;
        if is_new && wide {
            svg.text(plot.x - 8.0, y + 4.0, Anchor::End, "label", &fit(&row.name, left - 8.0));
        } else if is_new {
            svg.text(area.x, y - 13.0, Anchor::Start, "label", &fit(&row.name, area.width));
        }
        if let Some(bar) = row.bar {
            svg.line((begin, y), (x.at(bar.value), y), &Mark::of(ruler.class, row.target));
            if let Some((low, high)) = bar.interval {
                svg.line((x.at(low), y), (x.at(high), y), &Mark::of("whisker", row.target));
            }
            let tip = format!("{}: {}, {}", row.name, row.figure, row.verdict);
            svg.dot((x.at(bar.value), y), 5.0, &Mark::of("dot", row.target).tip(tip));
        }
        let at = plot.right() + 10.0;
        if wide {
            svg.text(at, y - 2.0, Anchor::Start, "figure", &row.verdict);
            svg.text(at, y + 12.0, Anchor::Start, "words", &row.figure);
        } else {
            svg.text(at, y + 4.0, Anchor::Start, "figure", &row.verdict);
        }
    }
}
