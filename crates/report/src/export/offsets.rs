//! The offset logs as CSV.

use model::Run;

use crate::export::csv::row;

/// The columns of [`offsets_csv`].
pub const OFFSETS_COLUMNS: &str = "run,host,target,step,operation,round,offset,bytes,ns";

/// True if a repeat has an offset log.
pub fn has_offsets(run: &Run) -> bool {
    run.repeats.iter().filter_map(|r| r.finished.as_ref()).any(|f| !f.offset_log.is_empty())
}

/// One row per logged operation, with a heading line: its offset and length in bytes, and its time in nanoseconds.
pub fn offsets_csv(run: &Run) -> String {
    let mut out = format!("{OFFSETS_COLUMNS}\r\n");
    for repeat in &run.repeats {
        let (started, offset_log) = (&repeat.started, repeat.finished.iter().flat_map(|f| &f.offset_log));
        for (operation, offset_log) in offset_log {
            let names =
                [&run.started.id, run.started.machine_of(&started.target), &started.target, &started.step];
            for logged in &offset_log.kept {
                let numbers =
                    [u64::from(started.round), logged.offset, logged.bytes, logged.ns].map(|n| n.to_string());
                let mut fields: Vec<&str> = names.to_vec();
                fields.push(operation.name());
                fields.extend(numbers.iter().map(String::as_str));
                out.push_str(&row(&fields));
            }
        }
    }
    out
}
