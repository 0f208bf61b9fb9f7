//! Kernel counters: per block device, per processor, per process.

use std::collections::BTreeMap;
use std::fs;

use model::{DeviceActivity, Layer, MachineCpu, ProcessIo};

use crate::Roots;

/// The kernel's sector size, whatever the device's is.
pub(crate) const SECTOR: u64 = 512;

/// All counters read around a repeat, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    devices: Vec<DeviceActivity>,
    cpu: Option<MachineCpu>,
    process: Option<ProcessIo>,
}

/// Reads all counters for the devices of a stack, from the top down. A device that has vanished is omitted.
pub fn snapshot(roots: &Roots, stack: &[Layer]) -> Counters {
    let mut devices: Vec<DeviceActivity> = Vec::new();
    for layer in stack {
        let Some((major, minor)) = layer.device else { continue };
        let path = roots.sys.join(format!("dev/block/{major}:{minor}/stat"));
        if devices.iter().any(|d| d.name == layer.name) {
            continue;
        }
        if let Some(activity) = fs::read_to_string(path).ok().and_then(|t| parse_stat(&t, layer)) {
            devices.push(activity);
        }
    }
    Counters { devices, cpu: machine_cpu(roots), process: process_io(roots) }
}

/// The differences between two snapshots: devices, processors, process.
pub fn difference(
    before: &Counters,
    after: &Counters,
) -> (Vec<DeviceActivity>, Option<MachineCpu>, Option<ProcessIo>) {
    let earlier: BTreeMap<&str, &DeviceActivity> =
        before.devices.iter().map(|d| (d.name.as_str(), d)).collect();
    let devices =
        after.devices.iter().filter_map(|d| Some(device_difference(earlier.get(d.name.as_str())?, d)));
    let cpu = before.cpu.zip(after.cpu).map(|(b, a)| MachineCpu {
        user_ns: a.user_ns.saturating_sub(b.user_ns),
        system_ns: a.system_ns.saturating_sub(b.system_ns),
        irq_ns: a.irq_ns.saturating_sub(b.irq_ns),
        steal_ns: a.steal_ns.saturating_sub(b.steal_ns),
        iowait_ns: a.iowait_ns.saturating_sub(b.iowait_ns),
        idle_ns: a.idle_ns.saturating_sub(b.idle_ns),
    });
    let process = before.process.zip(after.process).map(|(b, a)| ProcessIo {
        read_bytes: a.read_bytes.saturating_sub(b.read_bytes),
        write_bytes: a.write_bytes.saturating_sub(b.write_bytes),
    });
    (devices.collect(), cpu, process)
}

fn device_difference(before: &DeviceActivity, after: &DeviceActivity) -> DeviceActivity {
    DeviceActivity {
        name: after.name.clone(),
        level: after.level,
        read_bytes: after.read_bytes.saturating_sub(before.read_bytes),
        written_bytes: after.written_bytes.saturating_sub(before.written_bytes),
        discarded_bytes: after.discarded_bytes.saturating_sub(before.discarded_bytes),
        reads: after.reads.saturating_sub(before.reads),
        writes: after.writes.saturating_sub(before.writes),
        flushes: after.flushes.saturating_sub(before.flushes),
        busy_ns: after.busy_ns.saturating_sub(before.busy_ns),
        queue_ns: after.queue_ns.saturating_sub(before.queue_ns),
    }
}

/// Documentation/block/stat.rst: 11 fields, 15 with discards (Linux 4.18), 17 with flushes (5.5).
fn parse_stat(text: &str, layer: &Layer) -> Option<DeviceActivity> {
    let fields: Vec<u64> = text.split_whitespace().map_while(|f| f.parse().ok()).collect();
    let field = |i: usize| fields.get(i).copied().unwrap_or(0);
    (fields.len() >= 11).then(|| DeviceActivity {
        name: layer.name.clone(),
        level: layer.level,
        reads: field(0),
        read_bytes: field(2) * SECTOR,
        writes: field(4),
        written_bytes: field(6) * SECTOR,
        busy_ns: field(9) * 1_000_000,
        queue_ns: field(10) * 1_000_000,
        discarded_bytes: field(13) * SECTOR,
        flushes: field(15),
    })
}

/// CPU time of all processors since boot, from the first line of `/proc/stat`.
pub fn machine_cpu(roots: &Roots) -> Option<MachineCpu> {
    let text = fs::read_to_string(roots.proc.join("stat")).ok()?;
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
    let fields: Vec<u64> = line.split_whitespace().map_while(|f| f.parse::<u64>().ok()).collect();
    let ns = |i: usize| fields.get(i).copied().unwrap_or(0) * tick_ns;
    // user nice system idle iowait irq softirq steal; guest time is already in user.
    (fields.len() >= 4).then(|| MachineCpu {
        user_ns: ns(0) + ns(1),
        system_ns: ns(2),
        idle_ns: ns(3),
        iowait_ns: ns(4),
        irq_ns: ns(5) + ns(6),
        steal_ns: ns(7),
    })
}

/// The kernel's I/O counters of this process, from `/proc/self/io`.
pub fn process_io(roots: &Roots) -> Option<ProcessIo> {
    let text = fs::read_to_string(roots.proc.join("self/io")).ok()?;
    let value =
        |name: &str| text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(": ")?.parse().ok());
    Some(ProcessIo { read_bytes: value("read_bytes")?, write_bytes: value("write_bytes")? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::LayerKind;

    fn layer() -> Layer {
        Layer {
            kind: LayerKind::Disk,
            name: "sda".into(),
            level: 1,
            device: Some((8, 0)),
            facts: BTreeMap::new(),
        }
    }

    #[test]
    fn the_statistics_of_old_and_new_kernels_are_read() {
        let new = "100 5 2000 40 300 7 4000 90 0 120 130 3 0 512 1 9 8\n";
        let activity = parse_stat(new, &layer()).unwrap();
        assert_eq!((activity.reads, activity.read_bytes), (100, 2000 * 512));
        assert_eq!((activity.writes, activity.written_bytes), (300, 4000 * 512));
        assert_eq!((activity.busy_ns, activity.queue_ns), (120_000_000, 130_000_000));
        assert_eq!((activity.discarded_bytes, activity.flushes), (512 * 512, 9));
        let old = parse_stat("100 5 2000 40 300 7 4000 90 0 120 130", &layer()).unwrap();
        assert_eq!((old.discarded_bytes, old.flushes), (0, 0));
        assert_eq!(parse_stat("1 2 3", &layer()), None);
    }

    #[test]
    fn a_difference_is_per_device_and_ignores_those_that_vanished() {
        let at = |read_bytes: u64, name: &str| DeviceActivity {
            name: name.into(),
            ..parse_stat(&format!("1 0 {} 0 0 0 0 0 0 0 0", read_bytes / 512), &layer()).unwrap()
        };
        let before = Counters { devices: vec![at(512, "sda"), at(512, "sdb")], ..Counters::default() };
        let after = Counters { devices: vec![at(4608, "sda")], ..Counters::default() };
        let (devices, cpu, process) = difference(&before, &after);
        assert_eq!((devices.len(), devices[0].read_bytes), (1, 4096));
        assert!(cpu.is_none() && process.is_none());
    }

    #[test]
    fn the_counters_of_this_machine_can_be_read() {
        let roots = Roots::default();
        assert!(machine_cpu(&roots).unwrap().idle_ns > 0);
        assert!(process_io(&roots).is_some());
    }
}
