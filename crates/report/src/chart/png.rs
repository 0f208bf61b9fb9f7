//! A picture in pixels, for where SVG is not shown. Its font is inside the program (DejaVu Sans), so that it looks the same
//! everywhere, on boards without any font too.

use std::collections::BTreeSet;
use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, fontdb};

use super::Chart;
use super::style::{Light, fixed_style};

/// More pixels than this are refused: four bytes are needed for each.
const MOST_PIXELS: f64 = 64e6;
const FONT: &str = "DejaVu Sans";

/// A picture in pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Png {
    /// The file.
    pub bytes: Vec<u8>,
    /// Pixels from left to right and from top to bottom.
    pub size: (u32, u32),
    /// Characters of names that the font does not have: each is drawn as a box.
    pub missing: BTreeSet<String>,
}

/// Why there is no such picture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PngError {
    /// The file would need more memory than is sensible.
    #[error(
        "{0} × {1} pixels are too many for one picture (at most 64 million); use a smaller width or scale"
    )]
    TooLarge(u64, u64),
    /// The picture cannot be rendered, which is a mistake of this program.
    #[error("the picture cannot be rendered: {0}")]
    Failed(String),
}

impl Chart {
    /// The picture for a screen as PNG in the colours of one light, with `scale` pixels for each of the drawing.
    ///
    /// # Errors
    /// [`PngError`].
    pub fn png(&self, scale: f64, light: Light) -> Result<Png, PngError> {
        let failed = |e: &dyn std::fmt::Display| PngError::Failed(e.to_string());
        if !(scale.is_finite() && scale > 0.0) {
            return Err(failed(&format!("{scale} is no scale")));
        }
        let options =
            usvg::Options { font_family: FONT.to_owned(), fontdb: fonts(), ..usvg::Options::default() };
        let svg = self.with_style(&fixed_style(light));
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

/// The fonts that are compiled in: what a label needs, and the bold one of titles and figures.
fn fonts() -> Arc<fontdb::Database> {
    let mut fonts = fontdb::Database::new();
    for data in [dejavu::sans::regular(), dejavu::sans::bold()] {
        fonts.load_font_source(fontdb::Source::Binary(Arc::new(data)));
    }
    fonts.set_sans_serif_family(FONT);
    Arc::new(fonts)
}

/// Gathers the texts that are shown as the box that stands for what a font does not have, the glyph of number 0.
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
