//! Charts of a run. Each kind is a function in its own file and an entry in [`CHARTS`]; the gallery, the page and the
//! tests iterate over them.
//!
//! # Invariants
//! * A chart appears if its data exist, and shows nothing that was not measured.
//! * A target has the same colour in every chart (Okabe and Ito, "Color Universal Design", 2008); from the ninth
//!   target on, lines are dashed differently.
//! * Each chart is drawn twice, wide and narrow, so that text keeps its size on both screens and phones.

mod bars;
mod cdf;
mod clients;
mod costs;
mod course;
mod frame;
mod headroom;
mod heat;
mod history;
mod labels;
mod machine;
mod matrix;
#[cfg(feature = "png")]
mod png;
pub(crate) mod position;
mod profile;
mod repeats;
mod requirements;
mod saturation;
mod scale;
mod slices;
mod style;
mod svg;
mod sweeps;
mod timeline;

pub(crate) use course::course;
pub use history::history;
#[cfg(feature = "png")]
pub use png::{Png, PngError};
pub use style::Theme;
pub(crate) use style::style;

use analyse::{headline, headline_operations};
use model::{Measurement, MeasurementKey, Metric, Operation, Step};

use crate::view::AnalysedRun;
use svg::Svg;
pub use svg::SvgText;

/// Width of a wide chart in pixels.
const WIDE: f64 = 940.0;
/// Margin around a chart that is its own file, in pixels.
pub const MARGIN: u16 = 12;
/// Width of a narrow chart in pixels.
const NARROW: f64 = 360.0;
/// Panels in one chart: more would not fit on a printed page.
const PANELS: usize = 6;

/// One chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// Its kind, as in [`CHARTS`].
    pub kind: &'static str,
    /// Its kind, with a number where there are several: its name on a page and in a file.
    pub name: String,
    /// Its title.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// SVG, 940 pixels wide unless another width was requested, coloured by the page's style.
    pub wide: SvgText,
    /// SVG, 360 pixels wide.
    pub narrow: SvgText,
}

/// One kind of chart.
#[derive(Clone, Copy, Debug)]
pub struct ChartKind {
    /// Its name.
    pub name: &'static str,
    /// What it shows, in one line.
    pub shows: &'static str,
    draw: fn(&AnalysedRun<'_>) -> Vec<Sketch>,
}

/// All kinds, in the order of the page.
pub static CHARTS: &[ChartKind] = &[
    requirements::KIND,
    headroom::KIND,
    labels::KIND,
    costs::KIND,
    clients::KIND,
    bars::KIND,
    matrix::TARGETS,
    profile::KIND,
    repeats::KIND,
    timeline::KIND,
    timeline::MACHINE,
    cdf::KIND,
    heat::KIND,
    position::KIND,
    saturation::KIND,
    sweeps::DEPTH,
    sweeps::BLOCK_SIZE,
    sweeps::LOAD,
    matrix::MIXED,
];

/// A chart that can be drawn at any width.
pub(crate) struct Sketch {
    title: String,
    caption: String,
    draw: Box<dyn Fn(&mut Svg)>,
}

impl Sketch {
    pub fn new(
        title: impl Into<String>,
        caption: impl Into<String>,
        draw: impl Fn(&mut Svg) + 'static,
    ) -> Self {
        Self { title: title.into(), caption: caption.into(), draw: Box::new(draw) }
    }
}

/// All charts of a run.
pub fn charts(analysed: &AnalysedRun<'_>) -> Vec<Chart> {
    charts_at(analysed, WIDE)
}

/// All charts of a run, the wide ones `width` pixels wide. Below 760 pixels the panels are stacked.
pub fn charts_at(analysed: &AnalysedRun<'_>, width: f64) -> Vec<Chart> {
    CHARTS.iter().flat_map(|kind| drawn(kind.name, (kind.draw)(analysed), width)).collect()
}

/// The charts of what was required of the storage, and of how much it carries.
pub(crate) fn requirement_charts(analysed: &AnalysedRun<'_>) -> Vec<Chart> {
    let of = |kind: &ChartKind| drawn(kind.name, (kind.draw)(analysed), WIDE);
    [requirements::KIND, headroom::KIND].iter().flat_map(of).collect()
}

/// Sketches of one kind, drawn at `width` and at the narrow width.
fn drawn(kind: &'static str, sketches: Vec<Sketch>, width: f64) -> Vec<Chart> {
    let several = sketches.len() > 1;
    let chart = |(i, sketch): (usize, Sketch)| {
        let name = if several { format!("{kind}-{}", i + 1) } else { kind.to_owned() };
        let draw = |width: f64, class: &str| {
            let mut svg = Svg::new(width);
            (sketch.draw)(&mut svg);
            svg.finish(class, &sketch.title)
        };
        let (wide, narrow) = (draw(width, "wide"), draw(NARROW, "narrow"));
        let Sketch { title, caption, .. } = sketch;
        Chart { kind, name, title, caption, wide, narrow }
    };
    sketches.into_iter().enumerate().map(chart).collect()
}

impl Chart {
    /// The chart as its own file, with its colours inside; light or dark follows the reader's setting.
    pub fn standalone(&self) -> String {
        self.with_style(&style())
    }

    fn with_style(&self, style: &str) -> String {
        let at = self.wide.find(">\n").map_or(0, |at| at + 1);
        let (head, body) = self.wide.split_at(at);
        let backdrop = format!(
            "<rect class=\"backdrop\" x=\"-{MARGIN}\" y=\"-{MARGIN}\" width=\"100%\" height=\"100%\"/>"
        );
        format!("{}<style>{style}</style>{backdrop}{}", with_margin(head), without_points(body))
    }
}

/// The opening tag of a chart, with a margin.
fn with_margin(head: &str) -> String {
    let size =
        head.split_once("viewBox=\"0 0 ").and_then(|(_, rest)| rest.split_once('"')).map_or("", |s| s.0);
    let Some((Ok(width), Ok(height))) =
        size.split_once(' ').map(|(w, h)| (w.parse::<f64>(), h.parse::<f64>()))
    else {
        return head.to_owned();
    };
    let dimensions = |corner: &str, width: f64, height: f64| {
        let (width, height) = (svg::place(width), svg::place(height));
        format!("viewBox=\"{corner} {width} {height}\" width=\"{width}\" height=\"{height}\"")
    };
    let room = 2.0 * f64::from(MARGIN);
    let whole = dimensions(&format!("-{MARGIN} -{MARGIN}"), width + room, height + room);
    head.replace(&dimensions("0 0", width, height), &whole)
}

/// A chart without the attributes that only the page's script reads.
fn without_points(body: &str) -> String {
    let mut kept = String::with_capacity(body.len());
    let mut rest = body;
    while let Some((before, after)) = rest.split_once(" data-pts=\"") {
        kept.push_str(before);
        rest = after.split_once('"').map_or("", |(_, behind)| behind);
    }
    kept + rest
}

/// An operation of a step with its headline metric and the measurement of each target.
#[derive(Clone)]
pub(crate) struct Headline {
    pub step: Step,
    pub operation: Operation,
    pub metric: Metric,
    /// Its title.
    pub title: String,
    /// Number of the target in the run, its name, and its measurement.
    pub targets: Vec<(usize, String, Measurement)>,
}

impl AnalysedRun<'_> {
    /// All headlines in the order of the plan, of targets that have figures.
    pub(crate) fn headlines(&self) -> Vec<Headline> {
        let mut found = Vec::new();
        for step in &self.run.started.plan.steps {
            let operations = headline_operations(step);
            for operation in &operations {
                let Some(metric) = headline(step, *operation) else { continue };
                let targets = self.run.started.targets.iter().enumerate().filter_map(|(i, target)| {
                    let key = MeasurementKey {
                        target: &target.name,
                        step: &step.id,
                        operation: *operation,
                        metric,
                    };
                    let m = self.analysis.measurement(key)?;
                    m.estimate.value.is_finite().then(|| (i, target.name.clone(), m.clone()))
                });
                let targets: Vec<_> = targets.collect();
                let title = match operations.len() {
                    1 => step.title.clone(),
                    _ => format!("{}: {}", step.title, operation.name().replace('_', " ")),
                };
                if !targets.is_empty() {
                    found.push(Headline {
                        step: step.clone(),
                        operation: *operation,
                        metric,
                        title,
                        targets,
                    });
                }
            }
        }
        found
    }

    /// The two values that a headline's repeats have, where they have two: then their mean describes neither.
    pub(crate) fn modes(&self, headline: &Headline, target: &str) -> Option<[f64; 2]> {
        let Headline { step, operation, metric, .. } = headline;
        let key = MeasurementKey { target, step: &step.id, operation: *operation, metric: *metric };
        let modes = self.analysis.diagnostics_of(key)?.modes.as_ref()?;
        Some([modes.low_mean, modes.high_mean])
    }

    /// The names of all targets, by number.
    pub(crate) fn target_names(&self) -> Vec<String> {
        self.run.started.targets.iter().map(|t| t.name.clone()).collect()
    }
}

/// The name of a metric on an axis.
pub(crate) fn metric_words(metric: Metric) -> &'static str {
    match metric {
        Metric::Bandwidth => "bandwidth",
        Metric::Iops => "operations per second",
        Metric::LatP50 => "median latency",
        Metric::LatP99 => "p99 latency, lower is better",
        Metric::Score => "score",
        _ => "latency",
    }
}

/// The panels in groups that fit on a printed page.
pub(crate) fn paged<T: Clone>(panels: &[T]) -> Vec<Vec<T>> {
    let pages = panels.len().div_ceil(PANELS).max(1);
    panels.chunks(panels.len().div_ceil(pages).max(1)).map(<[T]>::to_vec).collect()
}

/// A title with the number of its part, if there are several.
pub(crate) fn part(title: &str, number: usize, of: usize) -> String {
    if of > 1 { format!("{title} ({} of {of})", number + 1) } else { title.to_owned() }
}
