//! Kernel counters: per block device, per processor, per process.

use std::fs;

use model::{DeviceActivity, Layer, MachineCpu, ProcessIo};

use crate::Roots;

/// The kernel's sector size, whatever the device's is.
pub(crate) const SECTOR: u64 = 512;

/// The kernel's counters at one moment, or what they counted in some time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// Of block devices.
    pub devices: Vec<DeviceActivity>,
    /// Of all processors.
    pub cpu: Option<MachineCpu>,
    /// Of this process.
    pub process: Option<ProcessIo>,
}

/// The part of what was counted that belongs to something, as shares from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// Of reading.
    pub read: f64,
    /// Of writing.
    pub write: f64,
    /// Of both together.
    pub all: f64,
}

impl Counters {
    /// What was counted since an earlier moment. A device that was not there then is omitted.
    pub fn since(&self, earlier: &Self) -> Self {
        let at = |own: &DeviceActivity| earlier.devices.iter().find(|device| device.name == own.name);
        let mut counted = self.clone();
        counted.devices.retain_mut(|own| {
            let earlier = at(own);
            earlier.inspect(|earlier| own.combine(earlier, u64::saturating_sub)).is_some()
        });
        counted.cpu = self.cpu.zip(earlier.cpu).map(|(mut own, earlier)| {
            own.combine(&earlier, u64::saturating_sub);
            own
        });
        counted.process = self.process.zip(earlier.process).map(|(own, earlier)| ProcessIo {
            read_bytes: own.read_bytes.saturating_sub(earlier.read_bytes),
            write_bytes: own.write_bytes.saturating_sub(earlier.write_bytes),
        });
        counted
    }

    /// Adds what was counted in another time.
    pub fn add(&mut self, other: &Self) {
        for device in &other.devices {
            match self.devices.iter_mut().find(|own| own.name == device.name) {
                Some(own) => own.combine(device, u64::saturating_add),
                None => self.devices.push(device.clone()),
            }
        }
        if let Some(cpu) = &other.cpu {
            self.cpu.get_or_insert_default().combine(cpu, u64::saturating_add);
        }
        if let Some(io) = &other.process {
            let own = self.process.get_or_insert_default();
            own.read_bytes = own.read_bytes.saturating_add(io.read_bytes);
            own.write_bytes = own.write_bytes.saturating_add(io.write_bytes);
        }
    }

    /// Keeps a part of what was counted.
    pub fn scale(&mut self, Shares { read, write, all }: Shares) {
        let scaled = |count: u64, share: f64| (count as f64 * share).round() as u64;
        for device in &mut self.devices {
            let own = device.clone();
            device.combine(&own, |count, _| scaled(count, all));
            (device.read_bytes, device.reads) = (scaled(own.read_bytes, read), scaled(own.reads, read));
            (device.written_bytes, device.writes) =
                (scaled(own.written_bytes, write), scaled(own.writes, write));
            device.flushes = scaled(own.flushes, write);
        }
        if let Some(cpu) = &mut self.cpu {
            cpu.combine(&MachineCpu::default(), |ns, _| scaled(ns, all));
        }
        if let Some(io) = &mut self.process {
            (io.read_bytes, io.write_bytes) = (scaled(io.read_bytes, read), scaled(io.write_bytes, write));
        }
    }
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
    use std::collections::BTreeMap;

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
        let counted = after.since(&before);
        assert_eq!((counted.devices.len(), counted.devices[0].read_bytes), (1, 4096));
        assert!(counted.cpu.is_none() && counted.process.is_none());
    }

    /// Counters in which no two counts are equal.
    fn counted(factor: u64) -> Counters {
        let device = DeviceActivity {
            name: "sda".into(),
            level: 1,
            read_bytes: 1000 * factor,
            written_bytes: 2000 * factor,
            discarded_bytes: 3000 * factor,
            reads: 4000 * factor,
            writes: 5000 * factor,
            flushes: 6000 * factor,
            busy_ns: 7000 * factor,
            queue_ns: 8000 * factor,
        };
        let cpu = MachineCpu {
            user_ns: 100 * factor,
            system_ns: 200 * factor,
            irq_ns: 300 * factor,
            steal_ns: 400 * factor,
            iowait_ns: 500 * factor,
            idle_ns: 600 * factor,
        };
        let process = ProcessIo { read_bytes: 10 * factor, write_bytes: 20 * factor };
        Counters { devices: vec![device], cpu: Some(cpu), process: Some(process) }
    }

    #[test]
    fn what_was_counted_in_two_times_is_added_count_by_count() {
        let mut sum = Counters::default();
        sum.add(&counted(1));
        sum.add(&counted(2));
        assert_eq!(sum, counted(3));
        assert_eq!(sum.since(&counted(1)), counted(2));
        let other = DeviceActivity { name: "sdb".into(), ..counted(5).devices.remove(0) };
        sum.add(&Counters { devices: vec![other.clone()], ..Counters::default() });
        assert_eq!(sum.devices, [counted(3).devices.remove(0), other]);
    }

    #[test]
    fn of_reading_and_writing_each_keeps_its_own_part() {
        let mut part = counted(1);
        part.scale(Shares { read: 0.5, write: 0.1, all: 0.25 });
        let device = &part.devices[0];
        assert_eq!((device.read_bytes, device.reads), (500, 2000));
        assert_eq!((device.written_bytes, device.writes, device.flushes), (200, 500, 600));
        assert_eq!((device.discarded_bytes, device.busy_ns, device.queue_ns), (750, 1750, 2000));
        let cpu = part.cpu.unwrap();
        assert_eq!((cpu.user_ns, cpu.system_ns, cpu.irq_ns), (25, 50, 75));
        assert_eq!((cpu.steal_ns, cpu.iowait_ns, cpu.idle_ns), (100, 125, 150));
        assert_eq!(part.process, Some(ProcessIo { read_bytes: 5, write_bytes: 2 }));
    }

    #[test]
    fn the_counters_of_this_machine_can_be_read() {
        let roots = Roots::default();
        assert!(machine_cpu(&roots).unwrap().idle_ns > 0);
        assert!(process_io(&roots).is_some());
    }
}
