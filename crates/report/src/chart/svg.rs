//! The few marks that pictures are made of, as SVG. Colours are classes: the page, or the style that a picture on its
//! own carries, says what they are in light and dark. Every text is escaped here.

use std::fmt::Write;

use unicode_width::UnicodeWidthChar;

use crate::terminal::escape_line;

/// Escapes text for elements and attributes: it contains no markup and no bidirectional controls.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in escape_line(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(c),
        }
    }
    safe
}

/// A text cut to so many columns, with a sign that it was.
pub(crate) fn short(text: &str, columns: usize) -> String {
    let mut used = 0;
    let mut kept = String::new();
    let clean = escape_line(text);
    for c in clean.chars() {
        let width = c.width().unwrap_or(0);
        // Marks without width are kept only as many as writing needs: a hundred of them would tower.
        if used + width > columns || kept.len() > 8 * columns {
            kept.truncate(kept.trim_end_matches(|last: char| last.width().unwrap_or(0) == 0).len());
            kept.push('…');
            return kept;
        }
        used += width;
        kept.push(c);
    }
    kept
}

/// A place, to a tenth of a pixel.
pub(crate) fn place(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    if rounded == rounded.trunc() { format!("{rounded:.0}") } else { format!("{rounded:.1}") }
}

/// On which side of its place a text stands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// What a mark belongs to and says when pointed at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mark {
    class: String,
    target: Option<usize>,
    tip: Option<String>,
    points: Option<String>,
}

impl Mark {
    /// A mark that only has a look.
    pub fn new(class: &str) -> Self {
        Self { class: class.to_owned(), ..Self::default() }
    }

    /// A mark of the target with this number: it has its colour and vanishes with it.
    pub fn of(class: &str, target: usize) -> Self {
        let class = format!("{class} c{} d{}", target % 8, target / 8 % 4);
        Self { class, target: Some(target), ..Self::default() }
    }

    /// The same mark with what it says when pointed at.
    pub fn tip(self, tip: impl Into<String>) -> Self {
        Self { tip: Some(tip.into()), ..self }
    }

    /// A line that says something at each of its points: place and words.
    pub fn points(self, points: &[(f64, f64, String)]) -> Self {
        let points: Vec<_> = points.iter().map(|(x, y, tip)| (rounded(*x), rounded(*y), tip)).collect();
        let json = serde_json::to_string(&points).unwrap_or_default();
        Self { points: Some(json), ..self }
    }

    fn attributes(&self) -> String {
        let mut text = format!(" class=\"{}\"", self.class);
        let mut put = |name: &str, value: &str| {
            let _ = write!(text, " {name}=\"{}\"", escaped(value));
        };
        if let Some(target) = self.target {
            put("data-t", &target.to_string());
        }
        if let Some(tip) = &self.tip {
            put("data-tip", tip);
        }
        if let Some(points) = &self.points {
            put("data-pts", points);
        }
        text
    }
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// A picture being drawn.
pub(crate) struct Svg {
    /// Pixels from left to right.
    pub width: f64,
    /// Pixels from top to bottom; whoever draws says so at the end.
    pub height: f64,
    body: String,
}

impl Svg {
    pub fn new(width: f64) -> Self {
        Self { width, height: 0.0, body: String::new() }
    }

    /// Room for many small things side by side: a screen, not a telephone.
    pub fn is_wide(&self) -> bool {
        self.width >= 760.0
    }

    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (x, y, text) = (place(x), place(y), escaped(text));
        let _ = writeln!(self.body, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{text}</text>");
    }

    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), mark: &Mark) {
        let (x1, y1, x2, y2) = (place(x1), place(y1), place(x2), place(y2));
        let attributes = mark.attributes();
        let _ = writeln!(self.body, "<path{attributes} d=\"M{x1} {y1}L{x2} {y2}\"/>");
    }

    pub fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), mark: &Mark) {
        let (x, y, width, height) = (place(x), place(y), place(width.max(0.0)), place(height.max(0.0)));
        let attributes = mark.attributes();
        let _ = writeln!(
            self.body,
            "<rect{attributes} x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        );
    }

    pub fn dot(&mut self, (x, y): (f64, f64), radius: f64, mark: &Mark) {
        let attributes = mark.attributes();
        let (x, y, radius) = (place(x), place(y), place(radius));
        let _ = writeln!(self.body, "<circle{attributes} cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>");
    }

    /// Many dots of one look, as a single mark: each is a line of hardly any length, drawn by its round ends.
    pub fn dots(&mut self, places: &[(f64, f64)], mark: &Mark) {
        let mut d = String::new();
        for (x, y) in places {
            let _ = write!(d, "M{} {}h.1", place(*x), place(*y));
        }
        if !d.is_empty() {
            let _ = writeln!(self.body, "<path{} d=\"{d}\"/>", mark.attributes());
        }
    }

    /// A line through places; it breaks where there is none.
    pub fn path(&mut self, places: &[Option<(f64, f64)>], mark: &Mark) {
        let mut d = String::new();
        let mut down = false;
        for at in places {
            let Some((x, y)) = at else {
                down = false;
                continue;
            };
            let _ = write!(d, "{}{} {}", if down { "L" } else { "M" }, place(*x), place(*y));
            down = true;
        }
        if !d.is_empty() {
            let _ = writeln!(self.body, "<path{} d=\"{d}\"/>", mark.attributes());
        }
    }

    /// Many rectangles of one look, each a corner and a size.
    pub fn cells(&mut self, cells: &[(f64, f64, f64, f64)], mark: &Mark) {
        let mut d = String::new();
        for (x, y, width, height) in cells {
            let (x, y, width, height) = (place(*x), place(*y), place(*width), place(*height));
            let _ = write!(d, "M{x} {y}h{width}v{height}h-{width}z");
        }
        if !d.is_empty() {
            let _ = writeln!(self.body, "<path{} d=\"{d}\"/>", mark.attributes());
        }
    }

    /// The whole picture. `title` names it for those who do not see it.
    pub fn finish(self, class: &str, title: &str) -> String {
        let (width, height) = (place(self.width), place(self.height));
        format!(
            "<svg class=\"chart {class}\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
            escaped(title),
            self.body
        )
    }
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
        assert_eq!(picture.matches("&lt;script&gt;&quot;x&quot;&amp;&#39;y&#39;").count(), 3);
        assert!(picture.contains("class=\"dot c1 d1\" data-t=\"9\""), "{picture}");
    }

    #[test]
    fn long_names_are_cut_by_columns() {
        assert_eq!(short("sd-card", 8), "sd-card");
        assert_eq!(short("磁盘磁盘磁盘", 5), "磁盘…");
        assert_eq!(short(&"x".repeat(1000), 10).chars().count(), 11);
        assert!(short(&"e\u{301}".repeat(1000), 10).chars().count() < 60);
        assert!(short(&format!("a{}", "\u{301}".repeat(1000)), 10).chars().count() < 60);
    }
}
