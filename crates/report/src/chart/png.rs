//! A chart as PNG, for places that do not show SVG. The program contains the font (DejaVu Sans), so it looks the same
//! everywhere, including on boards without fonts.

use std::collections::BTreeSet;
use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, fontdb};

use super::Chart;
use super::style::{Theme, fixed_style};

/// More pixels than this are refused: four bytes are needed for each.
const MOST_PIXELS: f64 = 64e6;
const FONT: &str = "DejaVu Sans";

/// A chart as PNG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Png {
    /// The file.
    pub bytes: Vec<u8>,
    /// Pixels from left to right and from top to bottom.
    pub size: (u32, u32),
    /// Characters of names that are missing from the font: each is drawn as a box.
    pub missing: BTreeSet<String>,
}

/// Why there is no such chart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PngError {
    /// The file would need more memory than is sensible.
    #[error("{0} × {1} pixels are too many for one chart (at most 64 million); use a smaller width or scale")]
    TooLarge(u64, u64),
    /// The chart cannot be rendered, which is a defect of this program.
    #[error("the chart cannot be rendered: {0}")]
    Failed(String),
}

impl Chart {
    /// The wide chart as PNG in the colours of one theme, with `scale` pixels per unit of the drawing.
    ///
    /// # Errors
    /// [`PngError`].
    pub fn png(&self, scale: f64, theme: Theme) -> Result<Png, PngError> {
        let failed = |e: &dyn std::fmt::Display| PngError::Failed(e.to_string());
        if !(scale.is_finite() && scale > 0.0) {
            return Err(failed(&format!("{scale} is not a valid scale")));
        }
        let options =
            usvg::Options { font_family: FONT.to_owned(), fontdb: fonts(), ..usvg::Options::default() };
        let svg = self.with_style(&fixed_style(theme));
        let tree = usvg::Tree::from_str(&svg, &options).map_err(|e| failed(&e))?;
        let pixels = |length: f32| (f64::from(length) * scale).round().max(1.0);
        let (width, height) = (pixels(tree.size().width()), pixels(tree.size().height()));
        if width * height > MOST_PIXELS {
            return Err(PngError::TooLarge(width as u64, height as u64));
        }
        let size = (width as u32, height as u32);
        let mut pixmap = Pixmap::new(size.0, size.1).ok_or_else(|| failed(&"it has no size"))?;
        let transform = Transform::from_scale(scale as f32, scale as f32);
        resvg::render(&tree, transform, &mut pixmap.as_mut());
        let mut missing = BTreeSet::new();
        find_missing(tree.root(), &mut missing);
        Ok(Png { bytes: pixmap.encode_png().map_err(|e| failed(&e))?, size, missing })
    }
}

/// The compiled-in fonts: regular for labels, bold for titles and figures.
fn fonts() -> Arc<fontdb::Database> {
    let mut fonts = fontdb::Database::new();
    for data in [dejavu::sans::regular(), dejavu::sans::bold()] {
        fonts.load_font_source(fontdb::Source::Binary(Arc::new(data)));
    }
    fonts.set_sans_serif_family(FONT);
    Arc::new(fonts)
}

/// Collects the texts drawn as glyph 0, the box for characters that are missing from the font.
fn find_missing(group: &usvg::Group, missing: &mut BTreeSet<String>) {
    for node in group.children() {
        match node {
            usvg::Node::Group(group) => find_missing(group, missing),
            usvg::Node::Text(text) => {
                let glyphs = text.layouted().iter().flat_map(|span| &span.positioned_glyphs);
                missing.extend(glyphs.filter(|g| g.id.0 == 0).map(|g| g.text.clone()));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use analyse::{Estimator, analyse};
    use jiff::tz::TimeZone;
    use model::{Run, Units};

    use super::*;
    use crate::chart::{WIDE, charts_at};
    use crate::view::{AnalysedRun, RunView};

    fn fixture() -> Run {
        let events = include_str!("../../../../fixtures/runs/events.jsonl").lines();
        Run::from_events(events.map(|event| serde_json::from_str(event).unwrap())).unwrap()
    }

    fn charts_of(run: &Run, width: f64) -> Vec<Chart> {
        let (units, baseline) = (Units::Decimal, "one".to_owned());
        let view = RunView { units, baseline, time_zone: TimeZone::UTC, details: true };
        let analysis = analyse(run, "one", Estimator::Mean, units);
        charts_at(&AnalysedRun::new(run, &analysis, &view), width)
    }

    fn rendered(chart: &Chart, scale: f64, theme: Theme) -> Pixmap {
        let png = chart.png(scale, theme).unwrap();
        assert!(png.missing.is_empty(), "{:?}", png.missing);
        let pixmap = Pixmap::decode_png(&png.bytes).unwrap();
        assert_eq!((pixmap.width(), pixmap.height()), png.size);
        pixmap
    }

    /// How many pixels differ between two pictures of one size.
    fn differing(a: &Pixmap, b: &Pixmap) -> usize {
        assert_eq!((a.width(), a.height()), (b.width(), b.height()));
        a.pixels().iter().zip(b.pixels()).filter(|(a, b)| a != b).count()
    }

    #[test]
    fn a_png_has_text_and_colours_in_both_themes() {
        for chart in charts_of(&fixture(), WIDE) {
            let day = rendered(&chart, 1.0, Theme::Light);
            let night = rendered(&chart, 1.0, Theme::Dark);
            assert_eq!(day.width(), 964);
            let corner = |p: &Pixmap| p.pixel(0, 0).map(|c| (c.red(), c.green(), c.blue())).unwrap();
            assert_eq!((corner(&day), corner(&night)), ((255, 255, 255), (13, 17, 23)));
            // Without its words a picture is another one: they are drawn, in letters and not in boxes.
            let mute = Chart { wide: chart.wide.without_text(), ..chart.clone() };
            let all = day.pixels().len();
            let words = differing(&day, &rendered(&mute, 1.0, Theme::Light));
            assert!(words > all / 200, "{}: {words} of {all} pixels are text", chart.name);
            let coloured = day.pixels().iter().filter(|c| c.red().abs_diff(c.blue()) > 60).count();
            assert!(coloured > all / 2000, "{}: {coloured} of {all} pixels have a colour", chart.name);
        }
    }

    #[test]
    fn a_png_has_the_size_asked_for_up_to_a_limit() {
        let chart = &charts_of(&fixture(), WIDE)[0];
        let (once, twice) = (rendered(chart, 1.0, Theme::Light), rendered(chart, 2.0, Theme::Light));
        assert_eq!((twice.width(), twice.height()), (2 * once.width(), 2 * once.height()));
        assert!(matches!(chart.png(1000.0, Theme::Light), Err(PngError::TooLarge(..))));
        assert!(chart.png(f64::NAN, Theme::Light).is_err());
    }

    #[test]
    fn characters_missing_from_the_font_are_reported() {
        let mut run = fixture();
        for target in run.started.targets.iter_mut().filter(|t| t.name == "two") {
            target.name = "磁盘".into();
        }
        run.repeats
            .iter_mut()
            .filter(|r| r.started.target == "two")
            .for_each(|r| r.started.target = "磁盘".into());
        let png = charts_of(&run, WIDE)[0].png(1.0, Theme::Light).unwrap();
        assert_eq!(png.missing.iter().map(String::as_str).collect::<Vec<_>>(), ["盘", "磁"]);
    }

    #[test]
    fn charts_of_any_width_stay_within_their_edges() {
        let run = fixture();
        for width in [296.0, 759.0, 760.0, 2376.0] {
            for chart in charts_of(&run, width) {
                assert!(chart.wide.contains(&format!("viewBox=\"0 0 {width} ")), "{}", chart.name);
                let drawn = rendered(&chart, 1.0, Theme::Light);
                // Nothing but the background stands in the outermost pixels.
                let edge = |x: u32| (0..drawn.height()).all(|y| drawn.pixel(x, y) == drawn.pixel(0, 0));
                assert!(edge(0) && edge(drawn.width() - 1), "{} is cut off at {width}", chart.name);
            }
        }
    }
}
