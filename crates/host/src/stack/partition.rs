//! Partitions: their position and alignment.

use std::path::Path;

use model::fact;

use super::{Facts, number, queue};
use crate::counters::SECTOR;
use crate::read_line;

/// Partitioning programs have aligned to this since 2009, and no device reports larger erase blocks.
const BEST: u64 = 1 << 20;

pub(super) fn facts(directory: &Path) -> Facts {
    let mut facts = Facts::default();
    facts.file(fact::PARTITION, directory.join("partition"));
    facts.number(fact::SIZE, queue::bytes(directory));
    facts.number(fact::READ_ONLY, number(directory.join("ro")).filter(|is| *is == 1));
    let start = number(directory.join("start")).and_then(|sectors| sectors.checked_mul(SECTOR));
    facts.number(fact::START, start);
    facts.number(fact::ALIGNMENT, start.map(alignment));
    let physical = directory.parent().and_then(|whole| number(whole.join("queue/physical_block_size")));
    facts.number(fact::PHYSICAL_BLOCK, physical);
    let uevent = read_line(directory.join("uevent")).unwrap_or_default();
    facts.put("label", uevent.lines().find_map(|line| line.strip_prefix("PARTNAME=")).map(str::to_owned));
    facts
}

/// The largest power of two that divides the first byte, at most [`BEST`].
fn alignment(start: u64) -> u64 {
    if start == 0 { BEST } else { (1 << start.trailing_zeros()).min(BEST) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignment_is_the_largest_power_of_two_in_the_first_byte() {
        for (start, expected) in
            [(1 << 20, 1 << 20), (63 * 512, 512), (40 << 20, 1 << 20), (3 * 4096, 4096), (0, 1 << 20)]
        {
            assert_eq!(alignment(start), expected, "{start}");
        }
    }
}
