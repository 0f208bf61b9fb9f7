//! The places of single operations, for spreadsheets.

use model::Run;

use crate::csv::row;

/// The columns of [`places_csv`].
pub const PLACES_COLUMNS: &str = "run,host,target,step,operation,round,offset,bytes,ns";

/// True if some repeat has places.
pub fn has_places(run: &Run) -> bool {
    run.repeats.iter().filter_map(|r| r.finished.as_ref()).any(|f| !f.places.is_empty())
}

/// One row per kept place, with a heading line: where an operation began and what it moved, in bytes, and nanoseconds.
pub fn places_csv(run: &Run) -> String {
    let mut out = format!("{PLACES_COLUMNS}\r\n");
    for repeat in &run.repeats {
        let (started, places) = (&repeat.started, repeat.finished.iter().flat_map(|f| &f.places));
        for (operation, places) in places {
            let names = [&run.started.id, &run.started.host.name, &started.target, &started.step];
            for place in &places.kept {
                let numbers =
                    [u64::from(started.round), place.offset, place.bytes, place.ns].map(|n| n.to_string());
                let mut fields: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
                fields.push(operation.name());
                fields.extend(numbers.iter().map(String::as_str));
                out.push_str(&row(&fields));
            }
        }
    }
    out
}
