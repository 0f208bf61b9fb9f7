//! Activity of each block device of the stacks (Documentation/block/stat.rst).

use model::{Layer, series_words};

use super::change_filter::{ChangeFilter, Counter, Sample, SeriesId};
use super::{KernelFile, Pace, Probe, Reader};
use crate::counters::SECTOR;

pub(super) const PROBE: Probe = Probe {
    name: "devices",
    what: "bytes, operations, merges, utilisation, queue and waiting times of each device of the stacks",
    label: |key| Some(series_words(key)),
    pace: Pace::EveryTick,
    begin: |scene, filter| {
        let mut found: Vec<Device> = Vec::new();
        for layer in scene.layers {
            let Some((major, minor)) = layer.device else { continue };
            let path = scene.roots.sys.join(format!("dev/block/{major}:{minor}/stat"));
            if found.iter().all(|device| device.number != (major, minor))
                && let Some(stat) = KernelFile::readable(path)
            {
                found.push(Device::new(layer, (major, minor), stat, filter));
            }
        }
        (!found.is_empty()).then(|| Box::new(Devices(found)) as Box<dyn Reader>)
    },
};

/// Reported rates: key, unit, fields of the statistics, and what one count stands for.
const COUNTED: [(&str, &str, &[usize], f64); 8] = [
    ("read", "B/s", &[2], SECTOR as f64),
    ("write", "B/s", &[6], SECTOR as f64),
    ("discard", "B/s", &[13], SECTOR as f64),
    ("reads", "1/s", &[0], 1.0),
    ("writes", "1/s", &[4], 1.0),
    ("flushes", "1/s", &[15], 1.0),
    ("merges", "1/s", &[1, 5], 1.0),
    ("busy", "1", &[9], 1e-3),
];
/// Key, and the fields of the milliseconds waited and of the completed operations.
const WAITS: [(&str, usize, usize); 2] = [("read_wait", 3, 0), ("write_wait", 7, 4)];
/// Milliseconds summed over operations in flight.
const IN_FLIGHT: usize = 10;
/// Number of fields of the newest kernels; older ones have 11 or 15.
const FIELDS: usize = 17;

struct Devices(Vec<Device>);

struct Device {
    number: (u32, u32),
    stat: KernelFile,
    counters: [Counter; COUNTED.len()],
    queue: Counter,
    waits: [SeriesId; WAITS.len()],
    before: Option<(u64, [u64; FIELDS])>,
}

impl Device {
    fn new(layer: &Layer, number: (u32, u32), stat: KernelFile, filter: &mut ChangeFilter) -> Self {
        let mut series = |key: &str, unit| filter.series(format!("{}.{key}", layer.name), unit);
        Self {
            number,
            stat,
            counters: COUNTED.map(|(key, unit, ..)| Counter::new(series(key, unit))),
            queue: Counter::new(series("queue", "1")),
            waits: WAITS.map(|(key, ..)| series(key, "ns")),
            before: None,
        }
    }
}

impl Reader for Devices {
    fn read(&mut self, sample: &mut Sample<'_>) {
        for device in &mut self.0 {
            let Some(fields) = device.stat.text().and_then(parse) else { continue };
            for (counter, (_, _, of, each)) in device.counters.iter_mut().zip(COUNTED) {
                counter.put(sample, of.iter().map(|field| fields[*field]).sum(), each);
            }
            device.queue.put(sample, fields[IN_FLIGHT], 1e-3);
            if let Some((since_ns, before)) = device.before.replace((sample.at_ns, fields)) {
                for (series, (_, waited, operations)) in device.waits.into_iter().zip(WAITS) {
                    let grown = |field: usize| fields[field].saturating_sub(before[field]) as f64;
                    // Zero if nothing completed.
                    let wait_ms = grown(waited) / grown(operations).max(1.0);
                    sample.put_since(series, Some(since_ns), wait_ms * 1e6);
                }
            }
        }
    }
}

fn parse(text: &str) -> Option<[u64; FIELDS]> {
    let mut fields = [0; FIELDS];
    let mut found = 0;
    for (field, word) in fields.iter_mut().zip(text.split_ascii_whitespace()) {
        *field = word.parse().ok()?;
        found += 1;
    }
    (found >= 11).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::super::tests::Driven;
    use super::*;
    use crate::testing::{Tree, disk};

    #[test]
    fn rates_queue_and_waits_follow_the_kernels_counters() {
        let tree = Tree::new();
        let stat = |text: &str| tree.file("sys/dev/block/8:0/stat", text);
        stat("0 0 0 0 0 0 0 0 0 0 0");
        // The same disk under two targets is one device.
        let mut probe = Driven::begin(&PROBE, &tree, &[disk("sda", (8, 0)), disk("sda", (8, 0))]).unwrap();
        assert!(probe.at(0).is_empty());
        stat("1000 10 80000 2000 500 40 4000 250 3 900 64000 0 0 800 0 20 5");
        assert_eq!(
            probe.at(2),
            [
                "sda.read 20480000 B/s",
                "sda.write 1024000 B/s",
                "sda.discard 204800 B/s",
                "sda.reads 500 1/s",
                "sda.writes 250 1/s",
                "sda.flushes 10 1/s",
                "sda.merges 25 1/s",
                "sda.busy 0.45 1",
                "sda.queue 32 1",
                "sda.read_wait 2000000 ns",
                "sda.write_wait 500000 ns"
            ]
        );
    }

    #[test]
    fn a_removed_device_makes_no_readings() {
        let tree = Tree::new();
        assert!(Driven::begin(&PROBE, &tree, &[disk("sda", (8, 0))]).is_none());
        tree.file("sys/dev/block/8:0/stat", "0 0 0 0 0 0 0 0 0 0 0");
        let mut probe = Driven::begin(&PROBE, &tree, &[disk("sda", (8, 0))]).unwrap();
        probe.at(0);
        tree.file("sys/dev/block/8:0/stat", "");
        assert!(probe.at(1).is_empty());
    }
}
