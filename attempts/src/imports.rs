//! Mutated outputs of other programs: an import gives plausible figures or a message.

use model::{Event, Figure};
use record::import::{
    Gathered, IMPORTERS, LARGEST_SIZE, LONGEST_NS, Parsed, ProblemKind, Text, assemble, ceiling, import_named,
};

use crate::outcome::Verdict;

/// The oracle of each importer alone, which must survive what it does not recognise.
pub(crate) fn read_by_each(bytes: &[u8]) -> Verdict {
    let text = Text::new(bytes);
    let mut how = "recognised by none";
    for importer in IMPORTERS {
        if (importer.recognises)(&text) {
            how = "recognised";
        }
        let reports = (importer.parse)(&text).reports.len();
        // A report takes at least some bytes of its own.
        if reports > bytes.len() + 1 {
            return Err(format!("{}: {reports} reports of {} bytes", importer.tool, bytes.len()));
        }
    }
    Ok(how)
}

/// The oracle of an import.
pub(crate) fn read(bytes: &[u8]) -> Verdict {
    // The name counts only for a log of fio.
    let parsed = import_named("changed_lat.1.log", bytes);
    let Parsed { reports, problems } = parsed;
    if reports.is_empty() && problems.is_empty() {
        return Err("nothing was imported, and no problem was reported".to_owned());
    }
    if reports.len() + problems.len() > 2 * bytes.len() + 2 {
        return Err(format!("{} results from {} bytes", reports.len(), bytes.len()));
    }
    if reports.is_empty() {
        let is_unknown = problems.iter().all(|p| p.kind == ProblemKind::Unrecognised);
        return Ok(if is_unknown { "not recognised" } else { "refused" });
    }
    let gathered = Gathered { file: "changed".into(), labels: Default::default(), reports };
    for event in assemble(vec![gathered]).events {
        match event {
            Event::Imported(imported) => imported.figures.iter().try_for_each(possible)?,
            Event::RepeatStarted(started) if started.size_bytes > LARGEST_SIZE => {
                return Err(format!("a size of {} bytes", started.size_bytes));
            }
            Event::RepeatFinished(finished) if finished.window_ns > LONGEST_NS => {
                return Err(format!("a measured time of {} ns", finished.window_ns));
            }
            _ => {}
        }
    }
    Ok(if problems.is_empty() { "imported" } else { "imported in part" })
}

/// Checks that a figure's values are between 0 and its metric's ceiling.
fn possible(figure: &Figure) -> Result<(), String> {
    let _ = figure.contradiction();
    let printed = figure.printed.as_ref().map(|p| p.value);
    let recomputed = figure.recomputed.as_ref().map(|r| r.value);
    let range = 0.0..=ceiling(figure.metric).most;
    match [Some(figure.value), printed, recomputed].into_iter().flatten().find(|v| !range.contains(v)) {
        Some(value) => Err(format!("{} of {value}", figure.metric)),
        None => Ok(()),
    }
}
