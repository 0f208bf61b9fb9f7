//! The marks of charts as SVG. Colours are classes: the page, or the style inside a standalone
//! chart, defines them for both themes. Every text is escaped here.

use std::borrow::Cow;
use std::fmt::{self, Display, Write};
use std::ops::Deref;

use maud::{Escaper, Render};

use crate::terminal::escape_line;

/// A coordinate, to a tenth of a pixel.
pub(crate) fn place(value: f64) -> String {
    /// Larger coordinates are none of a chart.
    const MOST: f64 = 1e12;
    let tenths = (value * 10.0).round().clamp(-MOST, MOST) as i64;
    let sign = if tenths < 0 { "-" } else { "" };
    match (tenths.abs() / 10, tenths.abs() % 10) {
        (whole, 0) => format!("{sign}{whole}"),
        (whole, tenth) => format!("{sign}{whole}.{tenth}"),
    }
}

/// Alignment of a text to its coordinate.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The class, target and tooltip of a mark.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mark {
    class: String,
    target: Option<usize>,
    tip: Option<String>,
    points: Option<String>,
}

impl Mark {
    /// A mark with only a class.
    pub fn new(class: &str) -> Self {
        Self { class: class.to_owned(), ..Self::default() }
    }

    /// A mark of the target with this number: it has its colour and is hidden with it.
    pub fn of(class: &str, target: usize) -> Self {
        let class = format!("{class} c{} d{}", target % 8, target / 8 % 4);
        Self { class, target: Some(target), ..Self::default() }
    }

    /// A mark with the colour that a target with this number would have, but of none.
    pub fn coloured(class: &str, number: usize) -> Self {
        Self { target: None, ..Self::of(class, number) }
    }

    /// The same mark with a tooltip.
    pub fn tip(self, tip: impl Into<String>) -> Self {
        Self { tip: Some(tip.into()), ..self }
    }

    /// A line with a tooltip at each of its points: coordinates and text. Where the line is flat, points that others are near are left out.
    pub fn points(self, points: &[(f64, f64, String)]) -> Self {
        /// Pixels; the page shows the nearest point within 40.
        const NEAR: f64 = 16.0;
        let points: Vec<_> = points.iter().map(|(x, y, tip)| (rounded(*x), rounded(*y), tip)).collect();
        let mut last = f64::NEG_INFINITY;
        let is_kept = |i: usize| {
            let (x, y, _) = points[i];
            let is_flat = i > 0 && points[i - 1].1 == y && points.get(i + 1).is_some_and(|next| next.1 == y);
            let is_kept = !is_flat || x - last >= NEAR;
            last = if is_kept { x } else { last };
            is_kept
        };
        let kept: Vec<bool> = (0..points.len()).map(is_kept).collect();
        let points: Vec<_> =
            points.iter().zip(kept).filter(|(_, kept)| *kept).map(|(point, _)| point).collect();
        let json = serde_json::to_string(&points).unwrap_or_default();
        Self { points: Some(json), ..self }
    }

    fn attributes(&self) -> Vec<(&'static str, Cow<'_, str>)> {
        let mut found = vec![("class", Cow::from(self.class.as_str()))];
        found.extend(self.target.map(|target| ("data-t", target.to_string().into())));
        found.extend(self.tip.as_deref().map(|tip| ("data-tip", tip.into())));
        found.extend(self.points.as_deref().map(|points| ("data-pts", points.into())));
        found
    }
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// A chart being drawn.
pub(crate) struct Svg {
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels, set at the end of drawing.
    pub height: f64,
    body: String,
}

impl Svg {
    pub fn new(width: f64) -> Self {
        Self { width, height: 0.0, body: String::new() }
    }

    /// True for a wide chart, which has room for panels side by side.
    pub fn is_wide(&self) -> bool {
        self.width >= 760.0
    }

    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, text: &str) {
        let mut attributes = vec![("class", class.into()), ("x", place(x).into()), ("y", place(y).into())];
        match anchor {
            Anchor::Start => {}
            Anchor::Middle => attributes.push(("text-anchor", "middle".into())),
            Anchor::End => attributes.push(("text-anchor", "end".into())),
        }
        push_start(&mut self.body, "text", &attributes);
        self.body.push('>');
        push_escaped(&mut self.body, text);
        self.body.push_str("</text>\n");
    }

    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), mark: &Mark) {
        let d = format!("M{} {}L{} {}", place(x1), place(y1), place(x2), place(y2));
        self.mark("path", mark, [("d", d)]);
    }

    pub fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), mark: &Mark) {
        let (width, height) = (place(width.max(0.0)), place(height.max(0.0)));
        let size = [("x", place(x)), ("y", place(y)), ("width", width), ("height", height)];
        self.mark("rect", mark, size);
    }

    pub fn dot(&mut self, (x, y): (f64, f64), radius: f64, mark: &Mark) {
        self.mark("circle", mark, [("cx", place(x)), ("cy", place(y)), ("r", place(radius))]);
    }

    fn mark<const N: usize>(&mut self, name: &'static str, mark: &Mark, more: [(&'static str, String); N]) {
        let mut attributes = mark.attributes();
        attributes.extend(more.map(|(name, value)| (name, value.into())));
        push_start(&mut self.body, name, &attributes);
        self.body.push_str("/>\n");
    }

    /// Many dots of one class as a single mark: each is a very short line, drawn by its round ends.
    pub fn dots(&mut self, places: &[(f64, f64)], mark: &Mark) {
        let mut d = String::new();
        for (x, y) in places {
            let _ = write!(d, "M{} {}h.1", place(*x), place(*y));
        }
        if !d.is_empty() {
            self.mark("path", mark, [("d", d)]);
        }
    }

    /// A line through points, interrupted at `None`; of a flat part only its ends are written.
    pub fn path(&mut self, places: &[Option<(f64, f64)>], mark: &Mark) {
        let mut d = String::new();
        let mut down = false;
        for (i, at) in places.iter().enumerate() {
            let Some((x, y)) = at else {
                down = false;
                continue;
            };
            let is_same = |other: Option<&Option<(f64, f64)>>| {
                other.copied().flatten().is_some_and(|(_, other)| rounded(other) == rounded(*y))
            };
            if down && is_same(places.get(i - 1)) && is_same(places.get(i + 1)) {
                continue;
            }
            let _ = write!(d, "{}{} {}", if down { "L" } else { "M" }, place(*x), place(*y));
            down = true;
        }
        if !d.is_empty() {
            self.mark("path", mark, [("d", d)]);
        }
    }

    /// Many rectangles of one class, each with its corner and size.
    pub fn cells(&mut self, cells: &[(f64, f64, f64, f64)], mark: &Mark) {
        let mut d = String::new();
        for (x, y, width, height) in cells {
            let (x, y, width, height) = (place(*x), place(*y), place(*width), place(*height));
            let _ = write!(d, "M{x} {y}h{width}v{height}h-{width}z");
        }
        if !d.is_empty() {
            self.mark("path", mark, [("d", d)]);
        }
    }

    /// The whole chart. `title` names it for screen readers.
    pub fn finish(self, class: &str, title: &str) -> SvgText {
        let (width, height) = (place(self.width), place(self.height));
        let attributes = [
            ("class", format!("chart {class}").into()),
            ("xmlns", "http://www.w3.org/2000/svg".into()),
            ("viewBox", format!("0 0 {width} {height}").into()),
            ("width", width.into()),
            ("height", height.into()),
            ("role", "img".into()),
            ("aria-label", title.into()),
        ];
        let mut text = String::new();
        push_start(&mut text, "svg", &attributes);
        text.push_str(">\n");
        text.push_str(&self.body);
        text.push_str("</svg>\n");
        SvgText(text)
    }
}

/// An SVG element in which every text is escaped: only `Svg::finish` makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SvgText(String);

#[cfg(all(test, feature = "png"))]
impl SvgText {
    /// The same chart without its texts.
    pub fn without_text(&self) -> Self {
        let mut text = self.0.clone();
        while let Some(at) = text.find("<text") {
            let end = text[at..].find("</text>").unwrap() + "</text>".len();
            text.replace_range(at..at + end, "");
        }
        Self(text)
    }
}

impl Deref for SvgText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Display for SvgText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Render for SvgText {
    fn render_to(&self, buffer: &mut String) {
        buffer.push_str(&self.0);
    }
}

/// The start of a tag, without its end.
fn push_start(out: &mut String, name: &'static str, attributes: &[(&'static str, Cow<'_, str>)]) {
    out.push('<');
    out.push_str(name);
    for (name, value) in attributes {
        let _ = write!(out, " {name}=\"");
        push_escaped(out, value);
        out.push('"');
    }
}

/// Text in which nothing is markup and no character is invisible.
fn push_escaped(out: &mut String, text: &str) {
    let _ = Escaper::new(out).write_str(&escape_line(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text_in_elements_and_attributes() {
        let mut svg = Svg::new(100.0);
        let name = "<script>\"x\"&'y'\u{1b}\u{202e}";
        svg.text(1.0, 2.25, Anchor::End, "label", name);
        svg.dot((1.0, 1.0), 2.0, &Mark::of("dot", 9).tip(name));
        let picture = svg.finish("wide", name);
        assert!(!picture.contains("<script") && !picture.contains('\u{1b}') && !picture.contains('\u{202e}'));
        assert_eq!(picture.matches("&lt;script&gt;&quot;x&quot;&amp;'y'").count(), 3);
        assert!(picture.contains("class=\"dot c1 d1\" data-t=\"9\""), "{picture}");
    }
}
