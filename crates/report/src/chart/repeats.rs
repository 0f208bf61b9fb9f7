//! Every repeat as a dot with its spread, in the order of the run.

use model::{Metric, Phase};

use super::frame::{Area, Axis, axes, panels, title};
use super::scale::{Scale, range};
use super::slices::slices;
use super::svg::{Mark, Svg};
use super::{ChartKind, Sketch, metric_words, paged, part};
use crate::view::AnalysedRun;
use crate::view::RunView;
use crate::words::short;

pub(super) const KIND: ChartKind = ChartKind {
    name: "repeats",
    shows: "every repeat in the order of the run, with the spread within each",
    draw,
};

const HEIGHT: f64 = 220.0;
/// With more dots in a panel than this, each is only a dot.
const MANY: usize = 150;
const CAPTION: &str = "Each dot is one repeat, in the order of the run. If the repeats are few, a line through each dot runs from \
    the 10th to the 90th percentile of its intervals. The band is the 95 % interval of the target's figure; where \
    the repeats have two modes, dashed lines are these two instead. If the dots drift or jump, one figure does not \
    describe the target. The axis may not start at \
    zero.";

/// One repeat.
#[derive(Clone)]
struct Dot {
    target: usize,
    name: String,
    round: u32,
    value: f64,
    /// The 10th and 90th percentile of its slices.
    spread: Option<(f64, f64)>,
}

#[derive(Clone)]
struct Panel {
    title: String,
    metric: Metric,
    dots: Vec<Dot>,
    /// Target, and the ends of its confidence interval.
    bands: Vec<(usize, f64, f64)>,
    /// Target, and the two values that its repeats have, instead of a band.
    modes: Vec<(usize, String, [f64; 2])>,
}

fn draw(p: &AnalysedRun<'_>) -> Vec<Sketch> {
    let all = panels_of(p);
    let pages = if all.is_empty() { Vec::new() } else { paged(&all) };
    let (of, names) = (pages.len(), p.target_names());
    let sketch = |(i, page): (usize, Vec<Panel>)| {
        let (names, view) = (names.clone(), p.view.clone());
        Sketch::new(part("Every repeat", i, of), CAPTION, move |svg| {
            panels(svg, &names, &vec![HEIGHT; page.len()], |svg, i, area| {
                draw_panel(svg, &page[i], &view, area);
            });
        })
    };
    pages.into_iter().enumerate().map(sketch).collect()
}

fn panels_of(p: &AnalysedRun<'_>) -> Vec<Panel> {
    let mut found = Vec::new();
    for headline in p.headlines() {
        let mut dots = Vec::new();
        for repeat in p.run.repeats.iter().filter(|r| r.started.step == headline.step.id && r.is_complete()) {
            let of = headline.targets.iter().find(|(_, name, _)| *name == repeat.started.target);
            let Some((target, name, m)) = of else { continue };
            let round = repeat.started.round;
            let Some((_, value)) = m.values.iter().find(|(r, _)| *r == round) else { continue };
            let measured =
                slices(repeat, headline.operation).into_iter().filter(|s| s.phase == Phase::Measure);
            let mut values: Vec<f64> = measured.filter_map(|s| s.value(headline.metric)).collect();
            values.sort_by(f64::total_cmp);
            let tenth = values.len() / 10;
            let spread = (values.len() > 1).then(|| (values[tenth], values[values.len() - 1 - tenth]));
            dots.push(Dot { target: *target, name: name.clone(), round, value: *value, spread });
        }
        let modes: Vec<(usize, String, [f64; 2])> = headline
            .targets
            .iter()
            .filter_map(|(target, name, _)| Some((*target, name.clone(), p.modes(&headline, name)?)))
            .collect();
        let band = |(target, _, m): &(usize, String, model::Measurement)| {
            let is_one = modes.iter().all(|(other, ..)| other != target);
            m.estimate.interval.filter(|_| is_one).map(|(low, high)| (*target, low, high))
        };
        let bands = headline.targets.iter().filter_map(band).collect();
        // A single dot is the same as its bar, and few dots show no order.
        if dots.len() >= 2 * headline.targets.len() {
            found.push(Panel { title: headline.title, metric: headline.metric, dots, bands, modes });
        }
    }
    found
}

fn draw_panel(svg: &mut Svg, panel: &Panel, view: &RunView, area: Area) {
    title(svg, &area, &panel.title, metric_words(panel.metric));
    let plot = area.inner(70.0, 40.0, 10.0, 40.0);
    let has_many = panel.dots.len() > MANY;
    let spread = |d: &Dot| d.spread.filter(|_| !has_many);
    let values =
        panel.dots.iter().flat_map(|d| [Some(d.value), spread(d).map(|s| s.0), spread(d).map(|s| s.1)]);
    let (low, high) = range(values.flatten()).unwrap_or((0.0, 1.0));
    let room = (high - low).max(high.abs() * 0.01) * 0.08;
    let ends = ((low - room).max(0.0), high + room);
    let places = (plot.bottom(), plot.y);
    // Very different targets are only visible together on a logarithmic axis.
    let y = if low > 0.0 && high > 20.0 * low {
        Scale::log((low * 0.9, high * 1.1), places)
    } else {
        Scale::linear(ends, places)
    };
    let x = Scale::linear((0.3, panel.dots.len() as f64 + 0.7), (plot.x, plot.right()));
    let show = |value: f64| view.display(panel.metric, value);
    let number = |value: f64| format!("{value:.0}");
    let whole = |ticks: Vec<f64>| ticks.into_iter().filter(|t| t.fract() == 0.0 && *t >= 1.0).collect();
    let across =
        Axis { scale: x, ticks: whole(x.ticks(6)), words: "repeat, in the order of the run", show: &number };
    axes(svg, &plot, &across, &Axis { scale: y, ticks: y.ticks(4), words: "", show: &show });
    for (target, low, high) in &panel.bands {
        let (top, bottom) = (y.at(*high), y.at(*low));
        svg.rect((plot.x, top), (plot.width, (bottom - top).max(1.5)), &Mark::of("band", *target));
    }
    for (target, name, modes) in &panel.modes {
        for (which, value) in ["lower", "higher"].into_iter().zip(modes) {
            let tip = format!("{}, {which} mode: {}", short(name, 60), show(*value));
            svg.line(
                (plot.x, y.at(*value)),
                (plot.right(), y.at(*value)),
                &Mark::of("level", *target).tip(tip),
            );
        }
    }
    let placed: Vec<(&Dot, (f64, f64))> = panel
        .dots
        .iter()
        .enumerate()
        .map(|(i, dot)| (dot, (x.at((i + 1) as f64), y.at(dot.value))))
        .collect();
    let said = |dot: &Dot| format!("{}, round {}: {}", short(&dot.name, 60), dot.round + 1, show(dot.value));
    if has_many {
        draw_many(svg, &placed, &said);
        return;
    }
    for (dot, (x, at)) in placed {
        let mut tip = said(dot);
        if let Some((low, high)) = dot.spread {
            svg.line((x, y.at(low)), (x, y.at(high)), &Mark::of("spread", dot.target));
            tip.push_str(&format!(", intervals from {} to {}", show(low), show(high)));
        }
        svg.dot((x, at), 4.0, &Mark::of("dot", dot.target).tip(tip));
    }
}

/// Many repeats: dots without their spreads, which would overlap.
fn draw_many(svg: &mut Svg, placed: &[(&Dot, (f64, f64))], said: &dyn Fn(&Dot) -> String) {
    let mut targets: Vec<usize> = placed.iter().map(|(dot, _)| dot.target).collect();
    targets.sort_unstable();
    targets.dedup();
    for target in targets {
        let own = || placed.iter().filter(|(dot, _)| dot.target == target);
        let places: Vec<(f64, f64)> = own().map(|(_, place)| *place).collect();
        let points: Vec<(f64, f64, String)> = own().map(|(dot, (x, y))| (*x, *y, said(dot))).collect();
        svg.dots(&places, &Mark::of("dots", target).points(&points));
    }
}
