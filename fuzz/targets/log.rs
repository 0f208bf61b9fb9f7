//! The log reader: no bytes may make it panic, and what it reads must survive being folded and asked.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(log) = record::parse_log(bytes, Path::new("fuzz")) {
        for repeat in &log.run.repeats {
            for stats in repeat.whole().values() {
                let lat = &stats.lat;
                let p99 = lat.percentile_ns(99.0);
                assert!(p99 <= lat.max_ns(), "a percentile exceeds the maximum");
            }
            let _ = repeat.queue_depth();
        }
    }
});
