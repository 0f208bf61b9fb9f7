//! Every target's figure in every step as a bar with its interval, and how it compares.

use model::{Comparison, Measurement};

use unicode_width::UnicodeWidthStr;

use super::frame::{Area, Axis, COLUMN, fit, label_width, panels, title, x_axis};
use super::scale::Scale;
use super::svg::{Anchor, Mark, Svg};
use super::{ChartKind, Headline, Sketch, metric_words, paged, part};
use crate::figures::{display_ratio, display_ratios, with_one_unit};
use crate::view::AnalysedRun;
use crate::view::RunView;
use crate::words::short;

pub(super) const KIND: ChartKind = ChartKind {
    name: "bars",
    shows: "each target's figure in each step with its interval, and the ratio to the baseline",
    draw,
};

const ROW: f64 = 34.0;
const CAPTION: &str = "Each bar starts at zero; the thin line at its end is the 95 % interval; where the repeats \
    have two modes, dashed marks are these two instead. Next to it are the figure and, below \
    it, the ratio to the baseline with its interval and the verdict. Each panel has its own scale.";

/// A panel with the labels of its bars.
#[derive(Clone)]
struct Panel {
    headline: Headline,
    figures: Vec<String>,
    ratios: Vec<String>,
    /// The two values of a target's repeats, where they have two.
    modes: Vec<Option<[f64; 2]>>,
}

fn draw(p: &AnalysedRun<'_>) -> Vec<Sketch> {
    let all: Vec<Panel> = p.headlines().into_iter().map(|headline| panel(p, headline)).collect();
    let pages = if all.is_empty() { Vec::new() } else { paged(&all) };
    let (of, names) = (pages.len(), p.target_names());
    let several = names.len() > 1;
    let what = if several { "The targets compared" } else { "The figures" };
    let sketch = |(i, page): (usize, Vec<Panel>)| {
        let (names, view) = (names.clone(), p.view.clone());
        Sketch::new(part(what, i, of), CAPTION, move |svg| {
            let height = |panel: &Panel| 34.0 + panel.headline.targets.len() as f64 * ROW + 26.0;
            let heights: Vec<f64> = page.iter().map(height).collect();
            panels(svg, &names, &heights, |svg, i, area| draw_panel(svg, &page[i], &view, area));
        })
    };
    pages.into_iter().enumerate().map(sketch).collect()
}

fn panel(p: &AnalysedRun<'_>, headline: Headline) -> Panel {
    let figure = |value: f64| p.view.display(headline.metric, value);
    let modes: Vec<Option<[f64; 2]>> =
        headline.targets.iter().map(|(_, name, _)| p.modes(&headline, name)).collect();
    let both = |[low, high]: &[f64; 2]| with_one_unit(&figure(*low), "or", &figure(*high));
    let shown = |((.., m), modes): (&(usize, String, Measurement), &Option<[f64; 2]>)| {
        modes.as_ref().map_or_else(|| figure(m.estimate.value), both)
    };
    let figures = headline.targets.iter().zip(&modes).map(shown).collect();
    let ratio = |target: &str| {
        let found = p.analysis.comparisons.iter().find(|c| {
            c.target == target
                && c.step == headline.step.id
                && c.operation == headline.operation
                && c.metric == headline.metric
        });
        match found {
            Some(comparison) => ratio_words(comparison),
            None if target == p.view.baseline && headline.targets.len() > 1 => "baseline".to_owned(),
            None => String::new(),
        }
    };
    let ratios = headline.targets.iter().map(|(_, name, _)| ratio(name)).collect();
    Panel { figures, ratios, modes, headline }
}

/// Such as `1.34 × (1.30–1.38) faster`.
fn ratio_words(c: &Comparison) -> String {
    let interval = c.ratio.interval.map_or_else(String::new, |i| format!(" ({})", display_ratios(i)));
    let verdict = c.verdict.name();
    format!("{} ×{interval} {verdict}", display_ratio(c.ratio.value))
}

fn draw_panel(svg: &mut Svg, panel: &Panel, view: &RunView, area: Area) {
    let headline = &panel.headline;
    title(svg, &area, &headline.title, metric_words(headline.metric));
    // Names and labels get the width that they need while the bars keep their minimum.
    let (least, most) = if svg.is_wide() { (64.0, 0.42 * area.width) } else { (44.0, 0.3 * area.width) };
    let names = headline.targets.iter().map(|(_, name, _)| label_width(name)).fold(0.0, f64::max);
    let words = panel.ratios.iter().map(|words| words.width()).max().unwrap_or(0).max(12);
    let right = (words as f64 * COLUMN + 22.0).min(200.0);
    let left = (names + 8.0).clamp(least, most.min(area.width - right - 90.0).max(least));
    let plot = area.inner(left, 34.0, right, 26.0);
    let ends = headline
        .targets
        .iter()
        .map(|(.., m)| m.estimate.interval.map_or(m.estimate.value, |i| i.1.max(m.estimate.value)));
    let modes = panel.modes.iter().flatten().flatten().copied();
    let highest = ends.chain(modes).filter(|v| v.is_finite()).fold(0.0, f64::max);
    // An interval is cut at twice the largest bar, so that one wide interval does not flatten all bars.
    let largest = headline.targets.iter().map(|(.., m)| m.estimate.value).fold(0.0, f64::max);
    let scale = Scale::linear((0.0, highest.min(2.0 * largest)), (plot.x, plot.right()));
    let show = |value: f64| view.display(headline.metric, value);
    let mark = |value: f64| {
        if value == 0.0 { "0".to_owned() } else { show(value).replace(".00", "").replace(".0 ", " ") }
    };
    let axis = Axis { scale, ticks: scale.ticks(3), words: "", show: &mark };
    x_axis(svg, &plot, &axis);
    for (i, (target, name, m)) in headline.targets.iter().enumerate() {
        let y = plot.y + i as f64 * ROW;
        let interval = m.estimate.interval.map_or_else(
            || "too few repeats for an interval".to_owned(),
            |(low, high)| format!("95 % interval {} to {}", show(low), show(high)),
        );
        let tip = format!(
            "{}: {} ({interval}; {} repeats). {}",
            short(name, 60),
            panel.figures[i],
            m.values.len(),
            panel.ratios[i]
        );
        svg.text(plot.x - 6.0, y + 17.0, Anchor::End, "label", &fit(name, left - 6.0));
        let end = scale.at(m.estimate.value);
        let mark = Mark::of("bar", *target).tip(tip);
        svg.rect((plot.x, y + 4.0), ((end - plot.x).max(1.0), 18.0), &mark);
        if let Some(modes) = panel.modes[i] {
            // One figure with an interval describes none of the two.
            for mode in modes {
                svg.line((scale.at(mode), y + 2.0), (scale.at(mode), y + 24.0), &Mark::of("mode", *target));
            }
        } else if let Some((low, high)) = m.estimate.interval {
            whisker(svg, (scale.at(low.max(0.0)), scale.at(high)), y + 13.0, *target);
        }
        let x = plot.right() + 10.0;
        svg.text(x, y + 12.0, Anchor::Start, "figure", &panel.figures[i]);
        svg.text(x, y + 26.0, Anchor::Start, "words", &panel.ratios[i]);
    }
}

fn whisker(svg: &mut Svg, (low, high): (f64, f64), y: f64, target: usize) {
    let mark = Mark::of("whisker", target);
    svg.line((low, y), (high, y), &mark);
    svg.line((low, y - 4.0), (low, y + 4.0), &mark);
    svg.line((high, y - 4.0), (high, y + 4.0), &mark);
}
