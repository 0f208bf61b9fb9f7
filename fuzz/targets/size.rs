//! The size and duration parsers: no text may make them panic, and a parsed size must survive printing and
//! parsing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::units::{ExactSize, parse_duration_ns, parse_size};

fuzz_target!(|text: &str| {
    if let Ok(bytes) = parse_size(text) {
        assert_eq!(parse_size(&ExactSize(bytes).to_string()), Ok(bytes));
    }
    let _ = parse_duration_ns(text);
});
