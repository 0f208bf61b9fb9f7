//! Run logs that were changed after they were written: other figures must come with a message.

use std::path::Path;

use analyse::{Analysis, Estimator, analyse};
use model::{Run, Units};
use record::{OnDamage, parse_log, parse_log_with};
use report::{AnalysedRun, RunView, TextStyle};

use crate::outcome::{Outcome, Verdict};
use crate::trial::{File, trials};

/// Logs of real runs with checksums: one that Lodestone measured, and one imported.
const LOGS: [&str; 3] = [
    include_str!("../../fixtures/runs/format-2.jsonl"),
    include_str!("../../fixtures/runs/format-3.jsonl"),
    include_str!("../../fixtures/runs/format-3-imported.jsonl"),
];

/// Mutates logs with checksums at random and reads them. Beyond what holds of every log, each attempt must end with the
/// figures of the original, with a damage report or with a refusal.
///
/// # Panics
/// A fixture cannot be read.
pub fn logs(count: u64, seed: u64) -> Outcome {
    let whole = LOGS
        .map(|log| figures(&parse_log(log.as_bytes(), Path::new("log")).expect("a fixture is whole").run));
    let files: Vec<File> =
        LOGS.iter().enumerate().map(|(n, log)| (format!("log {n}"), log.as_bytes().to_vec())).collect();
    trials(&files, count, seed, |log, bytes| {
        let _ = parse_log_with(bytes, Path::new("log"), OnDamage::Accept);
        match parse_log(bytes, Path::new("log")) {
            Err(_) => Ok("refused"),
            // A run without its last event is shown as killed.
            Ok(log) if !log.damage.is_empty() || log.cut_off || log.run.finished.is_none() => Ok("reported"),
            Ok(read) if figures(&read.run) == whole[log] => Ok("same figures"),
            Ok(_) => Err("other figures without a message".to_owned()),
        }
    })
}

fn analysed(run: &Run) -> Analysis {
    analyse(run, &run.started.baseline, Estimator::default(), Units::Decimal)
}

fn view(run: &Run) -> RunView {
    let baseline = run.started.baseline.clone();
    RunView { units: Units::Decimal, baseline, time_zone: jiff::tz::TimeZone::UTC, details: true }
}

/// The JSON export of a run.
fn figures(run: &Run) -> String {
    report::json::pretty(&report::json::run_export(&AnalysedRun::new(run, &analysed(run), &view(run))))
}

/// The oracle of all logs: whatever is damaged, the rest is folded, analysed and written in every form.
pub(crate) fn read(bytes: &[u8]) -> Verdict {
    // By default the reader stops at the first damaged line and would not reach the rest.
    let is_whole = parse_log(bytes, Path::new("log")).is_ok_and(|log| log.damage.is_empty());
    let Ok(log) = parse_log_with(bytes, Path::new("log"), OnDamage::Accept) else { return Ok("refused") };
    let run = log.run;
    for repeat in &run.repeats {
        for stats in repeat.whole().values() {
            if stats.lat.percentile_ns(99.0) > stats.lat.max_ns() {
                return Err("a percentile exceeds the maximum".to_owned());
            }
        }
        let _ = repeat.queue_depth();
    }
    run.started.targets.iter().for_each(|target| drop(target.stack_line()));
    let analysis = analysed(&run);
    let view = view(&run);
    let document = report::run_document(&run, &analysis, &view);
    drop(report::text(&document, TextStyle { width: 80, color: true }));
    drop(report::markdown(&document));
    drop(report::csv(&run, &analysis.measurements));
    drop(report::offsets_csv(&run));
    drop(report::run_page(&AnalysedRun::new(&run, &analysis, &view)));
    drop(report::json::pretty(&report::json::run_export(&AnalysedRun::new(&run, &analysis, &view))));
    Ok(if is_whole { "whole" } else { "accepted with damage" })
}
