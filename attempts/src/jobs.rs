//! Mutated fio job files: the jobs are read, or every problem has a location within the text.

use plan::fio::{FioJobs, Surroundings, included};

use crate::outcome::Verdict;
use crate::suites::resolved;

/// The oracle of job files.
pub(crate) fn read(bytes: &[u8]) -> Verdict {
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok("not text") };
    for line in text.lines() {
        let _ = included(line);
    }
    let around =
        Surroundings { memory_bytes: 8 << 30, page_bytes: 4096, processors: 2, ..Surroundings::default() };
    let (suite, problems) = FioJobs::parse("changed", text, &around).suite(None);
    resolved(&suite, problems, text)
}
