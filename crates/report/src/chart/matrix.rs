//! Many targets and many steps: a table coloured by each figure's share of the best of its row; and
//! read share against block size.

use model::{Better, MeasurementKey, Metric, Mix, Step, Workload, units::ExactSize};

use super::frame::{Area, COLUMN, fit, label_width, panels, title};
use super::svg::{Anchor, Mark, Svg};
use super::{ChartKind, Sketch, paged, part};
use crate::figures::display_ratio;
use crate::view::AnalysedRun;
use crate::words::short;

pub(super) const TARGETS: ChartKind = ChartKind {
    name: "matrix",
    shows: "targets against steps, coloured by the share of the best",
    draw: targets,
};
pub(super) const MIXED: ChartKind = ChartKind {
    name: "mix",
    shows: "read share against block size, coloured by the share of the best",
    draw: mixed,
};

/// For fewer targets or steps, bars are easier to read.
const FEWEST: usize = 3;
const CELL: f64 = 30.0;
/// Columns of one chart; more columns are drawn in a further chart.
pub(super) const COLUMNS: usize = 8;
/// Rows of one picture.
pub(super) const ROWS: usize = 18;
/// A share above this is the best itself.
const BEST: f64 = 0.9999;
/// Shares of the best above which a cell is one shade darker.
const SHADES: [f64; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 0.95];
const TARGETS_CAPTION: &str = "One row per step, one column per target. The best of a row is bold; the strongest colours are within 5 % of \
    it, the faintest have less than a fifth of it. A target whose column is strong throughout is good at \
    everything. For latencies, the best is the smallest.";
const MIXED_CAPTION: &str = "Each cell is a step: its row is the share of reads, its column the block size. A strong colour is near the \
    best of the panel, which is bold. If writes are slow, the colours fade from top to bottom.";

/// One cell: its text, and its share of the best.
#[derive(Clone, Default)]
pub(super) struct Cell {
    pub text: String,
    pub share: f64,
    pub tip: String,
}

/// A coloured table.
#[derive(Clone)]
pub(super) struct Grid {
    pub title: String,
    pub words: &'static str,
    pub columns: Vec<String>,
    pub rows: Vec<(String, Vec<Option<Cell>>)>,
}

fn targets(p: &AnalysedRun<'_>) -> Vec<Sketch> {
    let (names, all) = (p.target_names(), p.headlines());
    let is_shown = p.labels().is_some();
    if names.len() < FEWEST || all.len() < FEWEST || is_shown {
        return Vec::new();
    }
    let mut grids = Vec::new();
    for rows in all.chunks(all.len().div_ceil(all.len().div_ceil(ROWS))) {
        for (from, columns) in names.chunks(COLUMNS).enumerate().map(|(i, c)| (i * COLUMNS, c)) {
            let cells = |h: &super::Headline| {
                let share = share_of_best(h.metric, h.targets.iter().map(|(.., m)| m.estimate.value));
                let cell = |i: usize| {
                    let (_, name, m) = h.targets.iter().find(|(target, ..)| *target == from + i)?;
                    let (text, share) = (p.view.display(h.metric, m.estimate.value), share(m.estimate.value));
                    let tip = format!(
                        "{}, {}: {text}, {} × the best",
                        short(name, 60),
                        h.title,
                        display_ratio(share)
                    );
                    Some(Cell { text, share, tip })
                };
                (h.title.clone(), (0..columns.len()).map(cell).collect())
            };
            let columns = columns.to_vec();
            grids.push(Grid {
                title: String::new(),
                words: "",
                columns,
                rows: rows.iter().map(cells).collect(),
            });
        }
    }
    let of = grids.len();
    let sketch = |(i, grid): (usize, Grid)| {
        Sketch::new(part("All targets in all steps", i, of), TARGETS_CAPTION, move |svg| {
            panels(svg, &[], &[height(&grid, svg.is_wide())], |svg, _, area| draw_grid(svg, &grid, area));
        })
    };
    grids.into_iter().enumerate().map(sketch).collect()
}

/// A value's share of the best, from 0 to 1.
fn share_of_best(metric: Metric, values: impl Iterator<Item = f64>) -> impl Fn(f64) -> f64 {
    let lower = metric.better() == Better::Lower;
    let values = values.filter(|v| *v > 0.0);
    let best = if lower { values.fold(f64::INFINITY, f64::min) } else { values.fold(0.0, f64::max) };
    move |value| {
        let share = if lower { best / value } else { value / best };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// Columns side by side on a narrow chart.
const NARROW_COLUMNS: usize = 4;

/// The grid in parts as wide as the chart.
fn parts(grid: &Grid, wide: bool) -> Vec<Grid> {
    let most = if wide { COLUMNS.max(grid.columns.len()) } else { NARROW_COLUMNS };
    let count = grid.columns.len().div_ceil(most).max(1);
    let each = grid.columns.len().div_ceil(count).max(1);
    let part = |from: usize| {
        let to = (from + each).min(grid.columns.len());
        let rows = grid.rows.iter().map(|(name, cells)| (name.clone(), cells[from..to].to_vec()));
        Grid { columns: grid.columns[from..to].to_vec(), rows: rows.collect(), ..grid.clone() }
    };
    (0..count).map(|i| part(i * each)).collect()
}

/// On a narrow chart, long row names are above their cells.
fn is_beside(grid: &Grid, wide: bool) -> bool {
    wide || grid.rows.iter().all(|(name, _)| name.chars().count() < 8)
}

pub(super) fn height(grid: &Grid, wide: bool) -> f64 {
    let row = if is_beside(grid, wide) { CELL } else { CELL + 20.0 };
    let top = if grid.title.is_empty() { 26.0 } else { 60.0 };
    let part = top + grid.rows.len() as f64 * row + 6.0;
    part * parts(grid, wide).len() as f64
}

pub(super) fn draw_grid(svg: &mut Svg, grid: &Grid, area: Area) {
    let parts = parts(grid, svg.is_wide());
    let height = area.height / parts.len() as f64;
    for (i, part) in parts.iter().enumerate() {
        draw_part(svg, part, Area { y: area.y + i as f64 * height, height, ..area });
    }
}

fn draw_part(svg: &mut Svg, grid: &Grid, area: Area) {
    let wide = svg.is_wide();
    let mut top = area.y;
    if !grid.title.is_empty() {
        title(svg, &area, &grid.title, grid.words);
        top += 34.0;
    }
    let longest = grid.rows.iter().map(|(name, _)| label_width(name)).fold(0.0, f64::max);
    let concurrent = is_beside(grid, wide);
    let left = if concurrent { (longest + 14.0).min(area.width * 0.34) } else { 0.0 };
    let width = ((area.width - left) / grid.columns.len().max(1) as f64).min(150.0);
    let fits = (width / COLUMN) as usize;
    for (i, name) in grid.columns.iter().enumerate() {
        let middle = area.x + left + (i as f64 + 0.5) * width;
        svg.text(middle, top + 14.0, Anchor::Middle, "label", &fit(name, width - 4.0));
    }
    let mut y = top + 22.0;
    for (name, cells) in &grid.rows {
        if concurrent {
            svg.text(area.x + left - 8.0, y + 19.0, Anchor::End, "label", &fit(name, left - 8.0));
        } else {
            svg.text(area.x, y + 13.0, Anchor::Start, "label", &fit(name, area.width));
            y += 20.0;
        }
        for (i, cell) in cells.iter().enumerate() {
            let Some(cell) = cell else { continue };
            let x = area.x + left + i as f64 * width;
            let shade = SHADES.iter().rposition(|least| cell.share >= *least).unwrap_or(0);
            let mark = Mark::new(&format!("cell h{shade}")).tip(cell.tip.clone());
            svg.rect((x + 1.0, y + 1.0), (width - 2.0, CELL - 2.0), &mark);
            let text = if fits < 10 { cell.text.replace("/s", "") } else { cell.text.clone() };
            let class = if cell.share > BEST { "cell-text best" } else { "cell-text" };
            svg.text(x + width / 2.0, y + 19.0, Anchor::Middle, class, &short(&text, fits.max(4)));
        }
        y += CELL;
    }
}

fn mixed(p: &AnalysedRun<'_>) -> Vec<Sketch> {
    let mut grids = Vec::new();
    for steps in groups(p) {
        for name in p.target_names() {
            for (metric, words) in [
                (Metric::Bandwidth, "bandwidth, reads and writes together"),
                (Metric::LatP99, "p99 latency, the slower of reads and writes"),
            ] {
                grids.extend(mixed_grid(p, &steps, &name, metric, words));
            }
        }
    }
    let pages = if grids.is_empty() { Vec::new() } else { paged(&grids) };
    let of = pages.len();
    let sketch = |(i, page): (usize, Vec<Grid>)| {
        Sketch::new(part("Reads and writes mixed", i, of), MIXED_CAPTION, move |svg| {
            let heights: Vec<f64> = page.iter().map(|grid| height(grid, svg.is_wide())).collect();
            panels(svg, &[], &heights, |svg, i, area| draw_grid(svg, &page[i], area));
        })
    };
    pages.into_iter().enumerate().map(sketch).collect()
}

fn read_share(w: &Workload) -> Option<u8> {
    match w.mix {
        Mix::Transfer { read_percent } => Some(read_percent),
        _ => None,
    }
}

/// Steps that differ only in read share and block size, where both have several values.
fn groups<'a>(p: &AnalysedRun<'a>) -> Vec<Vec<&'a Step>> {
    let without = |w: &Workload| Workload {
        mix: Mix::Transfer { read_percent: 0 },
        block: model::BlockSizes::uniform(0),
        ..w.clone()
    };
    let mut groups: Vec<Vec<&Step>> = Vec::new();
    for step in p.run.started.plan.steps.iter().filter(|s| read_share(&s.workload).is_some()) {
        let alike = |g: &&mut Vec<&Step>| {
            g[0].prepare == step.prepare && without(&g[0].workload) == without(&step.workload)
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(step),
            None => groups.push(vec![step]),
        }
    }
    groups.retain(|g| shares(g).len() >= FEWEST && blocks(g).len() >= 2);
    groups
}

/// The read shares of some steps, the largest first.
fn shares(steps: &[&Step]) -> Vec<u8> {
    let mut all: Vec<u8> = steps.iter().filter_map(|s| read_share(&s.workload)).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all.dedup();
    all
}

/// The block sizes of some steps in ascending order.
fn blocks(steps: &[&Step]) -> Vec<u32> {
    let mut all: Vec<u32> = steps.iter().map(|s| s.workload.largest_block()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn mixed_grid(
    p: &AnalysedRun<'_>,
    steps: &[&Step],
    target: &str,
    metric: Metric,
    words: &'static str,
) -> Option<Grid> {
    let value = |share: u8, block: u32| {
        let is_it =
            |s: &&&Step| read_share(&s.workload) == Some(share) && s.workload.largest_block() == block;
        let step = steps.iter().find(is_it)?;
        let operations = step.workload.operations();
        let values = operations.iter().filter(|o| o.moves_data()).filter_map(|o| {
            let key = MeasurementKey { target, step: &step.id, operation: *o, metric };
            p.analysis.measurement(key)
        });
        let values = values.map(|m| m.estimate.value).filter(|v| v.is_finite());
        let value = if metric == Metric::Bandwidth { values.sum() } else { values.fold(0.0, f64::max) };
        (value > 0.0).then_some(value)
    };
    let (shares, blocks) = (shares(steps), blocks(steps));
    let all: Vec<f64> = shares.iter().flat_map(|s| blocks.iter().filter_map(|b| value(*s, *b))).collect();
    if all.len() < 2 * FEWEST {
        return None;
    }
    let share_of_best = share_of_best(metric, all.into_iter());
    let cell = |share: u8, block: u32| {
        let value = value(share, block)?;
        let text = p.view.display(metric, value);
        let size = ExactSize(u64::from(block));
        let tip = format!("{}, {share} % reads of {size}: {text}", short(target, 60));
        Some(Cell { text, share: share_of_best(value), tip })
    };
    let row = |share: &u8| (format!("{share} %"), blocks.iter().map(|b| cell(*share, *b)).collect());
    let columns = blocks.iter().map(|b| ExactSize(u64::from(*b)).to_string()).collect();
    Some(Grid { title: short(target, 40), words, columns, rows: shares.iter().map(row).collect() })
}
