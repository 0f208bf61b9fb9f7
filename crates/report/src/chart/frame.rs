//! Panels side by side, their axes, and the key to the targets' colours.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::scale::Scale;
use super::svg::{Anchor, Mark, Svg};
use crate::words::short;

/// Pixels between panels.
const GAP: f64 = 28.0;
/// Average width of a character of a label, in pixels.
pub(crate) const COLUMN: f64 = 6.7;
/// Width of a title's characters ÷ a label's.
const BOLD: f64 = 1.22;

/// Width of a text in the label's size, in pixels, rather too large than too small: that of DejaVu Sans, which is wider
/// than most fonts.
pub(crate) fn label_width(text: &str) -> f64 {
    let width = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 4.2,
        'f' | 't' | 'r' | '-' | '(' | ')' | '[' | ']' | '/' | ' ' | '·' => 5.2,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 12.0,
        'A'..='Z' | '0'..='9' => 8.6,
        _ => (7.8 * c.width().unwrap_or(0) as f64).min(12.4),
    };
    text.chars().map(width).sum()
}

/// A label cut to a width in pixels, with an ellipsis where it was cut.
pub(crate) fn fit(text: &str, pixels: f64) -> String {
    let most = 200.min(text.width().max(1));
    let cut = (1..=most).rev().map(|columns| short(text, columns));
    cut.into_iter().find(|cut| label_width(cut) <= pixels).unwrap_or_else(|| short(text, 1))
}

/// A rectangle of the chart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Area {
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }

    /// The area without its margins.
    pub fn inner(&self, left: f64, top: f64, right: f64, bottom: f64) -> Self {
        Self {
            x: self.x + left,
            y: self.y + top,
            width: (self.width - left - right).max(1.0),
            height: (self.height - top - bottom).max(1.0),
        }
    }
}

/// An axis: its scale, the format of its values, its label.
pub(crate) struct Axis<'a> {
    pub scale: Scale,
    pub ticks: Vec<f64>,
    pub words: &'a str,
    pub show: &'a dyn Fn(f64) -> String,
}

/// Draws the key and panels of the given heights below it, two side by side where there is room, and sets the
/// chart's height.
pub(crate) fn panels(
    svg: &mut Svg,
    targets: &[String],
    heights: &[f64],
    mut draw: impl FnMut(&mut Svg, usize, Area),
) {
    let top = key(svg, targets);
    let columns = if svg.is_wide() && heights.len() > 1 { 2 } else { 1 };
    let width = (svg.width - GAP * (columns - 1) as f64) / columns as f64;
    let mut y = top;
    for (row, heights) in heights.chunks(columns).enumerate() {
        let tallest = heights.iter().copied().fold(0.0, f64::max);
        for (column, height) in heights.iter().enumerate() {
            let x = column as f64 * (width + GAP);
            draw(svg, row * columns + column, Area { x, y, width, height: *height });
        }
        y += tallest + GAP / 2.0;
    }
    svg.height = y;
}

/// The key: a coloured sign and a name for each target; none for a single target. Returns the y coordinate below it.
pub(crate) fn key(svg: &mut Svg, targets: &[String]) -> f64 {
    if targets.len() < 2 {
        return 4.0;
    }
    let (mut x, mut y) = (0.0, 14.0);
    for (i, name) in targets.iter().enumerate() {
        let label = short(name, 30);
        let needed = 21.0 + label.width() as f64 * (COLUMN + 0.6) + 18.0;
        if x > 0.0 && x + needed > svg.width {
            x = 0.0;
            y += 20.0;
        }
        svg.line((x, y - 4.0), (x + 16.0, y - 4.0), &Mark::of("curve sign", i));
        svg.dot((x + 8.0, y - 4.0), 4.5, &Mark::of("dot sign", i).tip(short(name, 200)));
        svg.text(x + 21.0, y, Anchor::Start, "label", &label);
        x += needed;
    }
    y + 14.0
}

/// A panel's title, cut to its width.
pub(crate) fn title(svg: &mut Svg, area: &Area, title: &str, words: &str) {
    svg.text(area.x, area.y + 12.0, Anchor::Start, "title", &fit(title, area.width / BOLD));
    if !words.is_empty() {
        svg.text(area.x, area.y + 27.0, Anchor::Start, "words", &fit(words, area.width));
    }
}

/// The frame of a plot: lines and figures at the ticks of both axes. The label of the x axis is below it; that of
/// the y axis is in the panel's title.
pub(crate) fn axes(svg: &mut Svg, plot: &Area, x: &Axis<'_>, y: &Axis<'_>) {
    for tick in &y.ticks {
        let at = y.scale.at(*tick);
        svg.line((plot.x, at), (plot.right(), at), &Mark::new("grid"));
        svg.text(plot.x - 5.0, at + 4.0, Anchor::End, "tick", &(y.show)(*tick));
    }
    x_axis(svg, plot, x);
}

/// The lower edge of a plot with the ticks of its axis.
pub(crate) fn x_axis(svg: &mut Svg, plot: &Area, x: &Axis<'_>) {
    let bottom = plot.bottom();
    svg.line((plot.x, bottom), (plot.right(), bottom), &Mark::new("edge"));
    // A tick whose figure would overlap the previous one has no figure.
    let mut free = f64::NEG_INFINITY;
    for tick in &x.ticks {
        let (at, label) = (x.scale.at(*tick), (x.show)(*tick));
        let half = label.width() as f64 * COLUMN / 2.0;
        svg.line((at, bottom), (at, bottom + 4.0), &Mark::new("edge"));
        if at - half >= free {
            svg.text(at, bottom + 17.0, Anchor::Middle, "tick", &label);
            free = at + half + 4.0;
        }
    }
    if !x.words.is_empty() {
        svg.text(plot.x + plot.width / 2.0, bottom + 32.0, Anchor::Middle, "words", x.words);
    }
}
