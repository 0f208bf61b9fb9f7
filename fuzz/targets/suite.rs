//! The suite parser: no text may make it panic, and every problem must have a location within the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plan::{Environment, RunOverrides, SourceLocation, Suite, resolve};

fuzz_target!(|text: &str| {
    let (suite, mut problems) = Suite::parse("fuzz", text);
    let environment = Environment { memory_bytes: 8 << 30, engines: Vec::new(), targets: 1 };
    problems
        .extend(resolve(&suite, &RunOverrides::default(), &environment).map_or_else(|p| p, |r| r.warnings));
    for problem in problems {
        if let SourceLocation::Suite(range) = &problem.location {
            assert!(range.start <= range.end && range.end <= text.len(), "{problem:?}");
        }
        let _ = problem.line_and_column(text);
    }
});
