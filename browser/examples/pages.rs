//! Writes the gallery, and each of its pictures by itself, into a directory: `docs` is what the documentation has.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let directory = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| ".".into()));
    let pictures = directory.join("pictures");
    std::fs::create_dir_all(&pictures)?;
    for chart in browser::gallery_pictures() {
        std::fs::write(pictures.join(format!("{}.svg", chart.kind)), chart.standalone())?;
    }
    std::fs::write(directory.join("gallery.html"), browser::gallery())
}
