//! The kernel's request queue of a block device (Documentation/ABI/stable/sysfs-block of the kernel).

use std::path::Path;

use model::fact;

use super::{Facts, number};
use crate::counters::SECTOR;
use crate::read_line;

/// Size, limits and settings of a whole device.
pub(super) fn facts(directory: &Path) -> Facts {
    let mut facts = Facts::default();
    let queue = directory.join("queue");
    facts.number(fact::SIZE, bytes(directory));
    facts.number(fact::LOGICAL_BLOCK, number(queue.join("logical_block_size")));
    facts.number(fact::PHYSICAL_BLOCK, number(queue.join("physical_block_size")));
    facts.number(fact::OPTIMAL_IO, number(queue.join("optimal_io_size")).filter(|size| *size > 0));
    facts.file(fact::WRITE_CACHE, queue.join("write_cache"));
    facts.put(fact::SCHEDULER, read_line(queue.join("scheduler")).map(chosen));
    facts.number(fact::REQUESTS, number(queue.join("nr_requests")));
    facts.number(fact::LARGEST_REQUEST, number(queue.join("max_sectors_kb")).map(kib));
    facts.number(fact::READ_AHEAD, number(queue.join("read_ahead_kb")).map(kib));
    facts.number(fact::WRITEBACK_THROTTLING, number(queue.join("wbt_lat_usec")));
    facts.number(fact::DISCARD, discard_granularity(&queue));
    facts.file(fact::ROTATIONAL_HINT, queue.join("rotational"));
    facts.put(fact::ZONED, read_line(queue.join("zoned")).filter(|zoned| zoned != "none"));
    facts.number(fact::READ_ONLY, number(directory.join("ro")).filter(|is| *is == 1));
    facts
}

/// Capacity; the kernel's sectors have 512 bytes, whatever the device's have.
pub(super) fn bytes(directory: &Path) -> Option<u64> {
    number(directory.join("size"))?.checked_mul(SECTOR)
}

fn kib(value: u64) -> u64 {
    value.saturating_mul(1024)
}

/// A granularity without a maximum discard size has no meaning: nothing can be discarded.
fn discard_granularity(queue: &Path) -> Option<u64> {
    let most = number(queue.join("discard_max_bytes"))?;
    if most == 0 { Some(0) } else { number(queue.join("discard_granularity")) }
}

/// The option in brackets, as in `none [mq-deadline] bfq`, else the only one.
pub(super) fn chosen(text: String) -> String {
    let marked = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    marked.map_or_else(|| text.clone(), |(chosen, _)| chosen.to_owned())
}
