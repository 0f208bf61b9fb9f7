//! The importers: no input may make one panic, hang or use excessive memory, and every figure is a finite number.
//!
//! `LODESTONE_IMPORTER` names the tool of one importer; without it all of them check every input, as in
//! `lodestone import`.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use record::import::{Gathered, IMPORTERS, Importer, Parsed, Text, assemble, import};

static CHOSEN: LazyLock<Option<&Importer>> = LazyLock::new(|| {
    let name = std::env::var("LODESTONE_IMPORTER").ok()?;
    Some(IMPORTERS.iter().find(|i| i.tool == name).unwrap_or_else(|| panic!("no importer of {name}")))
});

fuzz_target!(|bytes: &[u8]| {
    let parsed: Parsed = match *CHOSEN {
        None => import(bytes),
        Some(importer) => {
            let text = Text::new(bytes);
            let _ = (importer.recognises)(&text);
            // An importer must survive input that it does not recognise.
            (importer.parse)(&text)
        }
    };
    // A report takes at least some bytes of its own, so the input bounds the number of reports.
    assert!(
        parsed.reports.len() <= bytes.len() + 1,
        "{} reports of {} bytes",
        parsed.reports.len(),
        bytes.len()
    );
    if CHOSEN.is_none() {
        for figure in parsed.reports.iter().flat_map(|r| &r.figures) {
            assert!(figure.value.is_finite());
            let _ = figure.contradiction();
        }
        drop(assemble(vec![Gathered {
            file: String::new(),
            labels: Default::default(),
            reports: parsed.reports,
        }]));
    }
});
