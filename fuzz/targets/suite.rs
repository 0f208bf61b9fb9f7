//! The suite reader: no text may make it panic, and every problem must have its place within the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plan::{Facts, Place, Suite, Wishes, resolve};

fuzz_target!(|text: &str| {
    let (suite, mut problems) = Suite::parse("fuzz", text);
    let facts = Facts { memory_bytes: 8 << 30, engines: Vec::new(), targets: 1 };
    problems.extend(resolve(&suite, &Wishes::default(), &facts).map_or_else(|p| p, |r| r.warnings));
    for problem in problems {
        if let Place::Suite(range) = &problem.place {
            assert!(range.start <= range.end && range.end <= text.len(), "{problem:?}");
        }
        let _ = problem.line_and_column(text);
    }
});
