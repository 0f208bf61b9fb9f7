//! Writes what the top of a page looks like in a browser as a small PNG: `photograph PAGE.html PICTURE.png [WIDTH [HEIGHT]]`.
//! The picture ends between two parts of the page, is reduced to 256 colours, and is refused above 400 kB.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Pixels of the page as it is drawn.
const WIDTH: u32 = 1000;
const HEIGHT: u32 = 3600;
/// So many empty rows part what belongs together.
const GAP: usize = 20;
/// Colours less apart than this, as the square of their distance, are next to each other.
const NEXT: u32 = 100;
/// Larger files do not belong into a repository.
const MOST_BYTES: u64 = 400_000;

/// Pixels as red, green, blue, opacity.
struct Image {
    width: usize,
    rows: Vec<u8>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [page, picture, size @ ..] = arguments.as_slice() else {
        return Err("usage: photograph PAGE.html PICTURE.png [WIDTH [HEIGHT]]".into());
    };
    let pixels = |at: usize, usual: u32| size.get(at).map_or(Ok(usual), |text| text.parse());
    let taken = photograph(Path::new(page), pixels(0, WIDTH)?, pixels(1, HEIGHT)?)?;
    let image = ended(read(&taken)?);
    fs::write(picture, small(&image)?)?;
    let bytes = fs::metadata(picture)?.len();
    if bytes > MOST_BYTES {
        return Err(
            format!("{picture} has {bytes} bytes, more than {MOST_BYTES}: take a smaller height").into()
        );
    }
    Ok(())
}

/// What the browser shows of a page, as PNG.
fn photograph(page: &Path, width: u32, height: u32) -> Result<Vec<u8>, Box<dyn Error>> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let named = |name: &&str| -> Option<PathBuf> {
        std::env::split_paths(&paths).map(|path| path.join(name)).find(|path| path.is_file())
    };
    let browser = BROWSERS.iter().find_map(named).ok_or("no chromium here to open the page with")?;
    let directory = tempfile::tempdir()?;
    let taken = directory.path().join("taken.png");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--hide-scrollbars", "--blink-settings=preferredColorScheme=1"])
        .arg(format!("--user-data-dir={}", directory.path().join("profile").display()))
        .arg(format!("--window-size={width},{height}"))
        .arg(format!("--screenshot={}", taken.display()))
        .arg(format!("file://{}", page.canonicalize()?.display()))
        .stdin(Stdio::null())
        .output()?;
    fs::read(&taken).map_err(|e| format!("{e}: {}", String::from_utf8_lossy(&output.stderr)).into())
}

fn read(bytes: &[u8]) -> Result<Image, Box<dyn Error>> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::ALPHA | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info()?;
    let mut rows = vec![0; reader.output_buffer_size().ok_or("a picture without an end")?];
    let info = reader.next_frame(&mut rows)?;
    rows.truncate(info.buffer_size());
    Ok(Image { width: info.width as usize, rows })
}

/// The image up to the last gap in it: what was cut in the middle is left out, and so is empty space.
fn ended(mut image: Image) -> Image {
    let line = image.width * 4;
    let empty = |row: &[u8]| row.chunks_exact(4).all(|pixel| pixel == &row[..4]);
    let is_empty: Vec<bool> = image.rows.chunks_exact(line).map(empty).collect();
    let gap = is_empty.windows(GAP).rposition(|rows| rows.iter().all(|e| *e));
    let end =
        gap.map_or(is_empty.len(), |at| is_empty[..at].iter().rposition(|e| !e).map_or(at, |last| last + 1));
    image.rows.truncate((end + GAP).min(is_empty.len()) * line);
    image
}

/// The image in 256 colours, as PNG.
fn small(image: &Image) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut counts: HashMap<[u8; 3], usize> = HashMap::new();
    let colour = |pixel: &[u8]| [pixel[0], pixel[1], pixel[2]];
    image.rows.chunks_exact(4).for_each(|pixel| *counts.entry(colour(pixel)).or_default() += 1);
    let far = |a: &[u8; 3], b: &[u8; 3]| (0..3).map(|i| u32::from(a[i].abs_diff(b[i])).pow(2)).sum::<u32>();
    let mut colours: Vec<[u8; 3]> = counts.keys().copied().collect();
    colours.sort_by_key(|colour| (std::cmp::Reverse(counts[colour]), *colour));
    // The most frequent are kept as they are, unless one next to them is: else the edges of letters, in all their greys,
    // would leave no room for the colour of a target.
    let mut palette: Vec<[u8; 3]> = Vec::new();
    for colour in &colours {
        if palette.len() < 256 && palette.iter().all(|kept| far(kept, colour) >= NEXT) {
            palette.push(*colour);
        }
    }
    let nearest =
        |wanted: &[u8; 3]| (0..palette.len()).min_by_key(|i| far(&palette[*i], wanted)).unwrap_or(0) as u8;
    let known: HashMap<[u8; 3], u8> = counts.keys().map(|colour| (*colour, nearest(colour))).collect();
    let indices: Vec<u8> = image.rows.chunks_exact(4).map(|pixel| known[&colour(pixel)]).collect();
    let mut bytes = Vec::new();
    let height = indices.len() / image.width;
    let mut encoder = png::Encoder::new(&mut bytes, u32::try_from(image.width)?, u32::try_from(height)?);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(palette.concat());
    encoder.set_compression(png::Compression::High);
    // Neighbouring indices mean nothing to each other.
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&indices)?;
    writer.finish()?;
    Ok(bytes)
}
