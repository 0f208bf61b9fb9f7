//! Pages in a real browser: Chromium without a window. Without it these tests say so aloud and are counted.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use report::chart::CHARTS;
use serde_json::Value;

/// One browser at a time: several would only wait for each other.
static TURN: Mutex<()> = Mutex::new(());

/// The pixels of a screen and of a telephone.
pub(crate) const SCREEN: u32 = 1280;
pub(crate) const TELEPHONE: u32 = 360;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Theme {
    Light,
    Dark,
}

/// The browser, if there is one.
fn browser() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .iter()
        .flat_map(|name| std::env::split_paths(&paths).map(move |path| path.join(name)))
        .find(|path| path.is_file());
    if found.is_none() {
        testing::skipped("no chromium here to look at pages with");
    }
    found
}

/// Runs the browser over a file and gives what it printed and what it complained of.
fn run(browser: &Path, directory: &Path, arguments: &[&str], file: &Path) -> (String, String) {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let profile = tempfile::tempdir_in(directory).unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--v=0", "--hide-scrollbars"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(arguments)
        .arg(format!("file://{}", file.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    (String::from_utf8_lossy(&output.stdout).into_owned(), told)
}

/// Opens a page in a frame of a width, has it looked at, and gives what was found. Nothing may stand in the console.
pub(crate) fn look(page: &str, width: u32, theme: Theme) -> Option<Value> {
    let browser = browser()?;
    let directory = tempfile::tempdir().unwrap();
    let quoted = page.replace('&', "&amp;").replace('"', "&quot;");
    let harness = format!(
        "<!doctype html><meta charset=\"utf-8\"><link rel=\"icon\" href=\"data:,\"><pre id=\"found\"></pre>\
         <iframe id=\"page\" style=\"width:{width}px;height:900px;border:0\" srcdoc=\"{quoted}\"></iframe>\
         <script>{}</script>",
        include_str!("check.js")
    );
    let file = directory.path().join("harness.html");
    std::fs::write(&file, harness).unwrap();
    let scheme = if theme == Theme::Dark { "0" } else { "1" };
    let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
    let arguments = ["--window-size=1400,1000", "--virtual-time-budget=600000", "--dump-dom", &scheme];
    let looked = || {
        let (dom, told) = run(&browser, directory.path(), &arguments, &file);
        let said: Vec<&str> = told.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert!(said.is_empty(), "the console says: {}", said.join("\n"));
        let (_, rest) = dom.split_once("<pre id=\"found\">").expect("the harness is there");
        let json = rest.split_once("</pre>").unwrap().0;
        json.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    };
    // On a machine that is busy with other things the browser's time may be over before it has looked at anything.
    const TRIES: usize = 10;
    let json = std::iter::repeat_with(looked).take(TRIES).find(|json| !json.is_empty()).unwrap_or_default();
    let found: Value = serde_json::from_str(&json).unwrap_or_else(|e| panic!("{e}: {json}"));
    assert_eq!(found["complaints"], serde_json::json!([]), "at {width} pixels");
    Some(found)
}

/// What is tried of views or pages: all in the full check, the last one in the gate, because each takes a second or two.
pub(crate) fn tried<T>(all: &[T]) -> &[T] {
    if testing::is_full_check() { all } else { &all[all.len() - 1..] }
}

/// What must be true of every page at every width.
fn is_whole(found: &Value, width: u32, theme: Theme) {
    assert_eq!(found["width"], width);
    assert!(found["scrollWidth"].as_u64() <= found["width"].as_u64(), "scrolls sideways at {width}: {found}");
    assert_eq!(found["dark"], theme == Theme::Dark);
    assert_eq!(found["images"], 0, "something could be fetched");
    let brightness = found["page"][0].as_f64().unwrap();
    assert_eq!(brightness < 60.0, theme == Theme::Dark, "the page's own colour follows");
    let figures = found["figures"].as_array().unwrap();
    assert!(!figures.is_empty());
    for figure in figures {
        let share = |what: &str| figure[what].as_f64().unwrap();
        assert!(share("drawn") > 0.01 && share("coloured") > 0.0005, "blank: {figure}");
        assert!(share("marks") > 0.0, "no data: {figure}");
    }
    let unit =
        |said: &str| ["B/s", "/s", " s", "ms", "µs", " ns", "%", "°C", "Hz"].iter().any(|u| said.contains(u));
    for tip in found["tips"].as_array().unwrap() {
        let said = tip["said"].as_str().unwrap();
        assert!(said.contains(|c: char| c.is_ascii_digit()) && unit(said), "no value with a unit: {said}");
    }
}

#[test]
fn the_gallery_shows_every_chart_kind_wide_narrow_day_and_night() {
    let page = browser::gallery();
    for kind in CHARTS {
        assert!(page.contains(&format!("data-kind=\"{}\"", kind.name)), "the gallery has no {}", kind.name);
    }
    let views =
        [(SCREEN, Theme::Dark), (TELEPHONE, Theme::Light), (TELEPHONE, Theme::Dark), (SCREEN, Theme::Light)];
    for &(width, theme) in tried(&views) {
        let Some(found) = look(&page, width, theme) else { return };
        is_whole(&found, width, theme);
        assert_eq!(found["figures"].as_array().unwrap().len(), CHARTS.len() + 1, "and the history");
    }
}

#[test]
fn the_gallery_in_the_documentation_has_every_kind_of_picture() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let page = std::fs::read_to_string(docs.join("gallery.html")).unwrap();
    for kind in CHARTS.iter().map(|kind| kind.name).chain(["history"]) {
        let again = "cargo run -p lodestone-browser --example pages docs";
        assert!(page.contains(&format!("data-kind=\"{kind}\"")), "no {kind}: {again}");
        assert!(docs.join(format!("pictures/{kind}.svg")).is_file(), "no picture of {kind}: {again}");
    }
}

#[test]
fn a_report_has_its_data_inside_and_its_targets_can_be_hidden() {
    let run = browser::made::quick();
    let page = browser::page(&run);
    for &(width, theme) in tried(&[(SCREEN, Theme::Light), (768, Theme::Dark), (TELEPHONE, Theme::Light)]) {
        let Some(found) = look(&page, width, theme) else { return };
        is_whole(&found, width, theme);
        assert_eq!(found["toggles"], run.started.targets.len());
        let downloads = found["downloads"].as_array().unwrap();
        assert_eq!(downloads[0]["head"], "lodestone.run.v1");
        assert_eq!(downloads[1]["head"], "run,host,target,step,operation,metric,unit,round,value");
        assert!(downloads[1]["lines"].as_u64().unwrap() > 500, "{downloads:?}");
    }
}

#[test]
fn the_page_of_a_position_graph_carries_its_places() {
    let run = browser::made::positions();
    let page = browser::page(&run);
    let csv = report::offsets_csv(&run);
    for &(width, theme) in tried(&[(SCREEN, Theme::Dark), (TELEPHONE, Theme::Light)]) {
        let Some(found) = look(&page, width, theme) else { return };
        is_whole(&found, width, theme);
        let places = &found["downloads"][2];
        assert_eq!(places["head"], report::OFFSETS_COLUMNS);
        assert_eq!(
            places["lines"].as_u64().unwrap() as usize,
            csv.split('\n').count(),
            "the script's and our own"
        );
        let said = found["tips"].as_array().unwrap().iter().find(|tip| tip["kind"] == "position").unwrap();
        assert!(said["said"].as_str().unwrap().contains(" at "), "{said}");
    }
}

#[test]
fn a_page_of_an_imported_run_is_whole_too() {
    let run = browser::made::filesystems();
    let page = browser::page(&run);
    assert!(page.contains("data-kind=\"labels\"") && page.contains("How it was imported"));
    for &(width, theme) in tried(&[(SCREEN, Theme::Dark), (TELEPHONE, Theme::Light)]) {
        let Some(found) = look(&page, width, theme) else { return };
        is_whole(&found, width, theme);
        // The targets of the costs; the other charts have no marks of single targets.
        assert_eq!(found["toggles"], 4);
    }
}

#[test]
fn targets_beyond_the_palette_differ_and_all_colours_contrast() {
    let run = browser::made::many();
    let page = browser::page(&run);
    assert!(page.contains("c1 d1\" data-t=\"9\""), "the tenth has the second colour and another line");
    for &(width, theme) in tried(&[(SCREEN, Theme::Light), (TELEPHONE, Theme::Dark)]) {
        let Some(found) = look(&page, width, theme) else { return };
        is_whole(&found, width, theme);
        assert_eq!(found["toggles"], 12);
    }
}

#[test]
fn hostile_names_do_no_harm_in_a_browser() {
    for run in [browser::made::hostile(), browser::made::hostile_labels()] {
        let page = browser::page(&run);
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "the names are there");
        assert!(!page.contains("<script>alert") && !page.contains("<img") && !page.contains("<svg onload"));
        assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}') && !page.contains('\u{0}'));
        for &(width, theme) in tried(&[(SCREEN, Theme::Light), (TELEPHONE, Theme::Light)]) {
            let Some(found) = look(&page, width, theme) else { return };
            is_whole(&found, width, theme);
            assert_eq!(found["scripts"], 2, "the page's own script and its data");
        }
    }
}

#[test]
fn the_page_of_an_hour_is_no_heavier_than_one_of_minutes() {
    let hour = browser::page(&browser::made::hour());
    let quick = browser::page(&browser::made::quick());
    assert!(hour.len() < quick.len(), "{} against {} bytes", hour.len(), quick.len());
    let Some(found) = look(&hour, SCREEN, Theme::Light) else { return };
    is_whole(&found, SCREEN, Theme::Light);
}

/// The bytes of the pictures of a kind on a page.
fn weight(page: &str, kind: &str) -> usize {
    let figures = page.split("<figure ").skip(1).filter(|f| f.starts_with(&format!("data-kind=\"{kind}\"")));
    figures.filter_map(|f| f.find("</figure>")).sum()
}

/// A page of an hour of rounds had 13 MB and 45,000 marks, and took two seconds to open: each repeat was a mark of its own.
#[test]
fn ten_times_the_repeats_make_no_four_times_heavier_pictures() {
    let (run, quick) = (browser::made::rounds(), browser::page(&browser::made::quick()));
    let page = browser::page(&run);
    assert!(run.repeats.len() > 1000);
    for kind in ["timeline", "repeats"] {
        let (many, few) = (weight(&page, kind), weight(&quick, kind));
        assert!(0 < many && many < 4 * few, "{kind}: {many} against {few} bytes");
    }
    for &(width, theme) in tried(&[(SCREEN, Theme::Light), (TELEPHONE, Theme::Dark)]) {
        let Some(found) = look(&page, width, theme) else { return };
        is_whole(&found, width, theme);
    }
}

/// The pages of a PDF as text, if there is a program that reads it.
fn pages_of(pdf: &Path) -> Option<Vec<String>> {
    let output = match Command::new("pdftotext").arg("-layout").arg(pdf).arg("-").output() {
        Ok(output) => output,
        Err(error) => {
            testing::skipped(&format!("no pdftotext to look at what was printed: {error}"));
            return None;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).split('\u{c}').map(str::to_owned).collect())
}

#[test]
fn printed_pictures_stand_whole_on_a_page() {
    let Some(browser) = browser() else { return };
    let imported = browser::made::filesystems();
    let pages = [browser::page_with_pictures(&imported), (browser::gallery(), browser::gallery_pictures())];
    for (page, charts) in tried(&pages) {
        let directory = tempfile::tempdir().unwrap();
        let (file, pdf) = (directory.path().join("page.html"), directory.path().join("page.pdf"));
        std::fs::write(&file, page).unwrap();
        let to = format!("--print-to-pdf={}", pdf.display());
        // Printed at night, paper stays white.
        let arguments = ["--blink-settings=preferredColorScheme=0", "--no-pdf-header-footer", &to];
        run(&browser, directory.path(), &arguments, &file);
        let Some(pages) = pages_of(&pdf) else { return };
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let pages: Vec<String> = pages.iter().map(|page| words(page)).collect();
        for chart in charts {
            let last: Vec<&str> = chart.caption.split_whitespace().rev().take(2).collect();
            let last = format!("{} {}", last[1], last[0]);
            let title = words(&chart.title);
            let whole =
                pages.iter().any(|page| page.find(&title).is_some_and(|at| page[at..].contains(&last)));
            assert!(whole, "{}: title and end of the caption are on different pages", chart.name);
        }
    }
}
