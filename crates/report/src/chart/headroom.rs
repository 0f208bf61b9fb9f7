//! How much the storage carries: for each load the highest that is carried, and the lowest that is too much.

use analyse::Headroom;
use model::Estimate;

use super::frame::{Area, key};
use super::requirements::{BELOW, ROWS, Row, Ruler, draw_rows, row_height};
use super::{ChartKind, Sketch, part};
use crate::answer::headroom::{figure_at, load_words};
use crate::view::AnalysedRun;

pub(super) const KIND: ChartKind = ChartKind {
    name: "headroom",
    shows: "how much the storage carries: the highest load with the required latency, and the lowest that is too much",
    draw,
};

const CAPTION: &str = "The bar ends at the highest load that the storage carries with the required latency; the thin line goes on to the \
    lowest that was too much. Both were measured until that was decided; what lies between was not, or could not be decided. Beside it is the latency under the highest load that is carried.";

fn draw(p: &AnalysedRun<'_>) -> Vec<Sketch> {
    let rows: Vec<Row> = p.analysis.headrooms.iter().map(|headroom| row(p, headroom)).collect();
    let loads = || {
        let of = |h: &Headroom| h.carried.into_iter().chain(h.too_much).collect::<Vec<_>>();
        p.analysis.headrooms.iter().flat_map(of)
    };
    let least = loads().fold(1.0, f64::min) / 1.5;
    let most = loads().fold(10.0, f64::max) * 1.3;
    let targets: Vec<String> = p.run.started.targets.iter().map(|target| target.name.clone()).collect();
    let of = rows.len().div_ceil(ROWS);
    let sketch = |(i, rows): (usize, &[Row])| {
        let (rows, targets) = (rows.to_vec(), targets.clone());
        Sketch::new(part("How much the storage carries", i, of), CAPTION, move |svg| {
            let top = key(svg, &targets);
            let height = rows.len() as f64 * row_height(svg) + BELOW;
            let area = Area { x: 0.0, y: top, width: svg.width, height };
            let ruler = Ruler {
                ends: (least, most),
                origin: None,
                words: "how many",
                class: "load",
                show: &load_words,
            };
            draw_rows(svg, &rows, &ruler, area);
            svg.height = top + height;
        })
    };
    rows.chunks(ROWS).enumerate().map(sketch).collect()
}

fn row(p: &AnalysedRun<'_>, headroom: &Headroom) -> Row {
    let Headroom { carried, too_much, .. } = headroom;
    let verdict = match (carried, too_much) {
        (Some(most), _) => load_words(*most),
        (None, Some(more)) => format!("below {}", load_words(*more)),
        (None, None) => "undecided".to_owned(),
    };
    let bar = carried.map(|most| Estimate { value: most, interval: too_much.map(|more| (most, more)) });
    Row {
        name: headroom.unit.clone(),
        target: p.run.started.targets.iter().position(|t| t.name == headroom.target).unwrap_or(0),
        bar,
        verdict,
        figure: figure_at(p, headroom, *carried),
    }
}
