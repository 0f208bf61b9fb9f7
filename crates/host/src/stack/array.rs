//! Arrays of md (Documentation/admin-guide/md.rst of the kernel).

use std::path::Path;

use model::fact;

use super::{Facts, entries, number};
use crate::read_line;

pub(super) fn facts(directory: &Path, facts: &mut Facts) {
    let md = directory.join("md");
    facts.file(fact::LEVEL, md.join("level"));
    // An array without stripes reports 0.
    facts.number(fact::CHUNK, number(md.join("chunk_size")).filter(|chunk| *chunk > 0));
    facts.number(fact::MEMBERS, number(md.join("raid_disks")));
    facts.number(fact::DEGRADED, number(md.join("degraded")).filter(|missing| *missing > 0));
    facts.file(fact::SYNC_ACTION, md.join("sync_action"));
    facts.file(fact::STATE, md.join("array_state"));
    facts.put(fact::BITMAP, read_line(md.join("bitmap/location")).filter(|place| place != "none"));
    facts.file("layout", md.join("layout"));
    facts.put(fact::FAILED_MEMBERS, in_state(&md, "faulty"));
    facts.put(fact::SPARES, in_state(&md, "spare"));
}

/// Members whose state contains this word, separated by commas.
fn in_state(md: &Path, word: &str) -> Option<String> {
    let mut found = Vec::new();
    for member in entries(md) {
        let name = member.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(device) = name.strip_prefix("dev-") else { continue };
        let state = read_line(member.join("state")).unwrap_or_default();
        if state.split(',').any(|part| part.trim() == word) {
            found.push(device.to_owned());
        }
    }
    (!found.is_empty()).then(|| found.join(", "))
}
