//! Sizes and durations: a size that was read is printed so that it is read back.

use model::units::{ExactSize, parse_duration_ns, parse_size};

use crate::outcome::Verdict;

/// The oracle of sizes and durations.
pub(crate) fn read(bytes: &[u8]) -> Verdict {
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok("not text") };
    let duration = parse_duration_ns(text);
    let Ok(bytes) = parse_size(text) else {
        return Ok(if duration.is_ok() { "a duration" } else { "refused" });
    };
    let shown = ExactSize(bytes).to_string();
    match parse_size(&shown) {
        Ok(again) if again == bytes => Ok("a size"),
        other => Err(format!("{bytes} bytes are printed as {shown}, which is read as {other:?}")),
    }
}
