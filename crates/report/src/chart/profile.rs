//! The profile card: the best sequential and random, read and write bandwidth of a target.

use model::{Metric, Mix, Pace, Pattern};

use super::frame::Area;
use super::frame::{Axis, COLUMN, key, x_axis};
use super::scale::{Scale, range};
use super::svg::{Anchor, Mark, Svg};
use super::{ChartKind, Headline, Sketch};
use crate::view::AnalysedRun;
use crate::view::RunView;
use crate::words::short;

pub(super) const KIND: ChartKind = ChartKind {
    name: "profile",
    shows: "the best of sequential and random, reading and writing, on one logarithmic axis",
    draw,
};

const CAPTION: &str = "The best bandwidth of each target in sequential and random reads and writes, each from the step of this run \
    with the highest. The axis is logarithmic, because a disk that reads sequentially at hundreds of megabytes \
    per second may write randomly at one.";
const ROW: f64 = 20.0;

/// One discipline: its name, and each target's number, name and bandwidth.
#[derive(Clone)]
struct Discipline {
    words: &'static str,
    step: String,
    bars: Vec<(usize, String, f64)>,
}

fn draw(p: &AnalysedRun<'_>) -> Vec<Sketch> {
    let all = p.headlines();
    let kinds = [
        ("sequential read", false, 100),
        ("sequential write", false, 0),
        ("random read", true, 100),
        ("random write", true, 0),
    ];
    let found: Vec<Discipline> =
        kinds.into_iter().filter_map(|(words, random, percent)| best(&all, words, random, percent)).collect();
    // With two disciplines or fewer, the bars show the same.
    if found.len() < 3 {
        return Vec::new();
    }
    let (names, view) = (p.target_names(), p.view.clone());
    vec![Sketch::new("Profile", CAPTION, move |svg| paint(svg, &found, &names, &view))]
}

/// The step of a discipline with the highest bandwidth of any target.
fn best(all: &[Headline], words: &'static str, random: bool, percent: u8) -> Option<Discipline> {
    let fits = |h: &&Headline| {
        let w = &h.step.workload;
        w.mix == Mix::Transfer { read_percent: percent }
            && w.pace == Pace::Closed
            && matches!(w.pattern, Pattern::Random { .. }) == random
            && !matches!(w.pattern, Pattern::Spaced { .. })
            && h.metric == Metric::Bandwidth
            && w.sync.every == 0
    };
    let most = |h: &&Headline| h.targets.iter().map(|(.., m)| m.estimate.value).fold(0.0, f64::max);
    let step = all.iter().filter(fits).max_by(|a, b| most(a).total_cmp(&most(b)))?;
    let bars = step.targets.iter().map(|(i, name, m)| (*i, name.clone(), m.estimate.value)).collect();
    Some(Discipline { words, step: step.step.title.clone(), bars })
}

fn paint(svg: &mut Svg, all: &[Discipline], names: &[String], view: &RunView) {
    let top = key(svg, names);
    let rows: usize = all.iter().map(|d| d.bars.len()).sum();
    let left = if svg.is_wide() { 250.0 } else { 8.0 };
    let above = if svg.is_wide() { 12.0 } else { 34.0 };
    let height = rows as f64 * ROW + all.len() as f64 * above;
    let plot = Area { x: left, y: top, width: svg.width - left - 84.0, height };
    let values = all.iter().flat_map(|d| d.bars.iter().map(|b| b.2)).filter(|v| *v > 0.0);
    let Some((low, high)) = range(values) else { return };
    // The axis starts well below the smallest bar, so that the bar has a length.
    let x = Scale::log((low / 3.0, high), (plot.x, plot.right()));
    let show = |v: f64| view.display(Metric::Bandwidth, v).replace(".00", "").replace(".0 ", " ");
    let ticks = x.ticks(if svg.is_wide() { 7 } else { 4 });
    for tick in &ticks {
        svg.line((x.at(*tick), plot.y), (x.at(*tick), plot.bottom()), &Mark::new("grid"));
    }
    let words = "bandwidth, logarithmic";
    x_axis(svg, &plot, &Axis { scale: x, ticks, words, show: &show });
    let mut y = plot.y;
    for discipline in all {
        if svg.is_wide() {
            let columns = (left / COLUMN) as usize;
            svg.text(0.0, y + above + 14.0, Anchor::Start, "title", discipline.words);
            svg.text(0.0, y + above + 29.0, Anchor::Start, "words", &short(&discipline.step, columns));
        } else {
            svg.text(left, y + 14.0, Anchor::Start, "title", discipline.words);
            svg.text(left, y + 28.0, Anchor::Start, "words", &short(&discipline.step, 50));
        }
        y += above;
        for (target, name, value) in &discipline.bars {
            let tip = format!("{}, {}: {}", short(name, 60), discipline.words, show(*value));
            let width = (x.at(*value) - plot.x).max(1.0);
            svg.rect((plot.x, y + 2.0), (width, ROW - 5.0), &Mark::of("bar", *target).tip(tip));
            svg.text(
                plot.x + width + 6.0,
                y + 14.0,
                Anchor::Start,
                "figure",
                &view.display(Metric::Bandwidth, *value),
            );
            y += ROW;
        }
    }
    svg.height = plot.bottom() + 42.0;
}
