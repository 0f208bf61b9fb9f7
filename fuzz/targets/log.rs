//! The log reader: no input may make it panic, and folding, analysing and writing its result in every form
//! must not panic either.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use report::{AnalysedRun, RunView, TextStyle, Units};

fuzz_target!(|bytes: &[u8]| {
    // By default the reader stops at the first damaged line and would not reach the rest.
    drop(record::parse_log(bytes, Path::new("fuzz")));
    let Ok(log) = record::parse_log_with(bytes, Path::new("fuzz"), record::OnDamage::Accept) else { return };
    let run = log.run;
    for repeat in &run.repeats {
        for stats in repeat.whole().values() {
            let lat = &stats.lat;
            assert!(lat.percentile_ns(99.0) <= lat.max_ns(), "a percentile exceeds the maximum");
        }
        let _ = repeat.queue_depth();
    }
    run.started.targets.iter().for_each(|target| drop(target.stack_line()));
    let baseline = run.started.baseline.clone();
    let analysis = analyse::analyse(&run, &baseline, analyse::Estimator::default(), model::Units::Decimal);
    let view =
        RunView { units: Units::Decimal, baseline, time_zone: jiff::tz::TimeZone::UTC, all_findings: true };
    let document = report::run_document(&run, &analysis, &view);
    drop(report::text(&document, TextStyle { width: 80, color: true }));
    drop(report::markdown(&document));
    drop(report::csv(&run, &analysis.measurements));
    drop(report::offsets_csv(&run));
    drop(report::run_page(&AnalysedRun::new(&run, &analysis, &view)));
    drop(report::json::pretty(&report::json::run_export(&run, &analysis)));
});
