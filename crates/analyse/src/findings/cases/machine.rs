//! Links, layers, sweeps, syncs, and the kind of storage.

use model::*;

use super::*;

const LARGE: u64 = 1_000_000_000;

pub(super) fn cases() -> Vec<Case> {
    [layers_and_syncs(), sweeps_and_kinds()].concat()
}

fn layers_and_syncs() -> Vec<Case> {
    let synced = || Workload { sync: SyncRule { every: 1, data_only: true, at_end: false }, ..writes() };
    vec![
        ("link-bound", true, workload(), |r| at_link(r, "usb", "480000000", 40_000_000)),
        ("link-bound", false, workload(), |r| at_link(r, "usb", "480000000", 30_000_000)),
        // A rate above what the link can carry came from a cache.
        ("link-bound", false, workload(), |r| at_link(r, "usb", "480000000", 80_000_000)),
        ("link-bound", true, writes(), |r| at_link(r, "ata", "3000000000", 270_000_000)),
        ("link-bound", false, workload(), |r| at_link(r, "virtio", "480000000", 40_000_000)),
        ("link-below-capability", true, workload(), |r| {
            disk(r, "nvme0n1", &[(fact::LINK_SPEED, "8000000000"), ("highest link speed", "32000000000")]);
        }),
        ("link-below-capability", false, workload(), |r| {
            disk(r, "nvme0n1", &[(fact::LINK_SPEED, "32000000000"), ("highest link speed", "32000000000")]);
        }),
        ("link-below-capability", false, workload(), |r| {
            disk(r, "nvme0n1", &[(fact::LINK_SPEED, "8000000000")])
        }),
        ("link-below-capability", false, workload(), |r| {
            // The port supports more; the disk's highest speed is not known.
            let (now, port) = ((fact::LINK_SPEED, "3000000000"), ("highest link speed", "6000000000"));
            disk(r, "sda", &[(fact::LINK, "ata"), now, port]);
        }),
        ("mass-storage", true, deep(), |r| usb(r, "usb-storage", "5000000000")),
        ("mass-storage", false, deep(), |r| usb(r, "uas", "5000000000")),
        ("mass-storage", false, deep(), |r| usb(r, "usb-storage", "480000000")),
        ("mass-storage", false, workload(), |r| usb(r, "usb-storage", "5000000000")),
        // 50 MHz on four wires, as a Raspberry Pi 3 has: 25 MB/s.
        ("card-above-slot", true, workload(), |r| card(r, "C10 U3 V30", "200000000")),
        ("card-above-slot", false, workload(), |r| card(r, "C10 U1 V10", "200000000")),
        ("card-above-slot", false, workload(), |r| card(r, "C10 U3 V30", "832000000")),
        ("card-above-slot", false, workload(), |r| card(r, "", "200000000")),
        ("card-below-class", true, large_writes(), |r| written_at(r, "C10 U3 V30", "832000000", 20e6)),
        ("card-below-class", false, large_writes(), |r| written_at(r, "C10 U3 V30", "832000000", 40e6)),
        ("card-below-class", false, large_writes(), |r| written_at(r, "C10 U1", "832000000", 20e6)),
        // The slot cannot.
        ("card-below-class", false, large_writes(), |r| written_at(r, "C10 U3 V30", "200000000", 20e6)),
        // 1000 operations in a second: more than A1 promises of writes, less of reads.
        ("card-below-class", true, workload(), |r| card(r, "C10 U1 A1", "832000000")),
        ("card-below-class", false, writes(), |r| card(r, "C10 U1 A1", "832000000")),
        ("card-below-class", true, writes(), |r| card(r, "C10 U1 A2", "832000000")),
        ("card-below-class", false, writes(), |r| card(r, "C10 U1", "832000000")),
        ("card-below-class", false, workload(), |r| {
            card(r, "C10 U1 A1", "832000000");
            r.started.targets[0].stack.extend(stack(&["dm-0"]));
        }),
        ("layer-cost", true, workload(), |r| concurrent(r, &["ext4", "dm-0", "sda"], 0.6)),
        ("layer-cost", false, workload(), |r| concurrent(r, &["ext4", "dm-0", "sda"], 1.01)),
        ("layer-cost", false, workload(), |r| {
            concurrent(r, &["ext4", "dm-0", "sda"], 0.6);
            r.repeats[3..].iter_mut().for_each(|r| r.finished.as_mut().unwrap().devices[0].read_bytes = 0);
        }),
        ("layer-cost", false, workload(), |r| concurrent(r, &["xfs", "dm-0", "sda"], 0.6)),
        ("layer-cost", false, workload(), |r| concurrent(r, &["ext4", "dm-0", "sdb"], 0.6)),
        ("layer-cost", true, workload(), |r| concurrent(r, &["btrfs", "sda"], 0.6)),
        ("in-a-file", true, workload(), |r| on(r, &["xfs", "loop0", "ext4", "sda"])),
        ("in-a-file", false, workload(), |r| on(r, &["xfs", "sda"])),
        // A loop device over a disk.
        ("in-a-file", false, workload(), |r| on(r, &["xfs", "loop0", "sda"])),
        ("served-here", true, workload(), |r| {
            disk(r, "sda", &[(fact::SERVER, "127.0.0.1"), (fact::SERVER_HERE, "yes")]);
        }),
        ("served-here", false, workload(), |r| disk(r, "sda", &[(fact::SERVER, "192.0.2.1")])),
        ("sync-cost", true, synced(), |r| syncs(r, 500_000)),
        ("sync-cost", false, synced(), |r| syncs(r, 50_000)),
        ("sync-too-cheap", true, synced(), |r| {
            syncs(r, 5_000);
            disk(r, "sda", &[(fact::LINK, "ata"), (fact::WRITE_CACHE, "write back")]);
        }),
        ("sync-too-cheap", false, synced(), |r| {
            syncs(r, 5_000);
            disk(r, "sda", &[(fact::LINK, "ata"), (fact::WRITE_CACHE, "write through")]);
        }),
        ("sync-too-cheap", false, synced(), |r| {
            syncs(r, 300_000);
            disk(r, "sda", &[(fact::LINK, "virtio")]);
        }),
        ("sync-too-cheap", false, synced(), |r| {
            syncs(r, 5_000);
            disk(r, "zram0", &[(fact::LINK, "zram"), (fact::WRITE_CACHE, "write back")]);
        }),
    ]
}

fn in_ordinary_pages(w: &mut Workload) {
    w.modifiers.buffers = BufferPages::Normal;
}

fn sweeps_and_kinds() -> Vec<Case> {
    vec![
        ("queue-depth-knee", true, workload(), |r| {
            for (depth, factor) in [(4, 3.5), (16, 6.0), (64, 6.1)] {
                add_step(r, &format!("d{depth}"), |w| w.iodepth = depth, factor);
            }
        }),
        ("queue-depth-knee", false, workload(), |r| {
            add_step(r, "d32", |w| w.iodepth = 32, 8.0);
        }),
        ("queue-depth-knee", false, workload(), |r| {
            add_step(r, "d4", |w| w.iodepth = 4, 4.0);
            add_step(r, "seq-d16", |w| (w.iodepth, w.pattern) = (16, Pattern::Sequential), 8.0);
        }),
        ("block-size", true, workload(), |r| {
            add_step(r, "1m", |w| w.block = BlockSizes::uniform(1 << 20), 20.0)
        }),
        ("block-size", false, workload(), |r| {
            add_step(r, "1m", |w| w.block = BlockSizes::uniform(1 << 20), 1.5)
        }),
        ("block-size", false, workload(), |r| {
            add_step(r, "64k", |w| w.block = BlockSizes::uniform(1 << 16), 9.0)
        }),
        ("ordinary-pages", true, workload(), |r| add_step(r, "normal", in_ordinary_pages, 0.7)),
        ("ordinary-pages", false, workload(), |r| add_step(r, "normal", in_ordinary_pages, 0.95)),
        ("ordinary-pages", false, workload(), |r| {
            add_step(r, "deeper", |w| (w.iodepth, w.modifiers.buffers) = (8, BufferPages::Normal), 0.7);
        }),
        ("behaves-like", true, workload(), |r| behaving(r, 9_000_000, 150_000_000, 2.0)),
        ("behaves-like", false, workload(), |r| {
            behaving(r, 9_000_000, 150_000_000, 2.0);
            each_finished(r, |f| f.devices[0].read_bytes /= 2);
        }),
        ("behaves-like", false, Workload { iodepth: 32, ..workload() }, |r| {
            behaving(r, 9_000_000, 150_000_000, 2.0);
        }),
        ("behaves-like", false, workload(), NOTHING),
    ]
}

/// Adds a step with a changed workload, at `factor` times the rate of the first step.
fn add_step(run: &mut Run, id: &str, change: impl Fn(&mut Workload), factor: f64) {
    let mut step = run.started.plan.steps[0].clone();
    step.id = id.into();
    change(&mut step.workload);
    run.started.plan.steps.push(step);
    let mut repeats: Vec<Repeat> = run.repeats.iter().filter(|r| r.started.step == "step").cloned().collect();
    repeats.iter_mut().for_each(|repeat| repeat.started.step = id.into());
    scale(&mut repeats, factor);
    run.repeats.extend(repeats);
}

fn scale(repeats: &mut [Repeat], factor: f64) {
    for repeat in repeats {
        for stats in repeat.intervals.iter_mut().flat_map(|i| i.operations.values_mut()) {
            stats.bytes = (stats.bytes as f64 * factor) as u64;
            stats.count = (stats.count as f64 * factor) as u64;
        }
        for device in &mut repeat.finished.as_mut().unwrap().devices {
            device.read_bytes = (device.read_bytes as f64 * factor) as u64;
            device.written_bytes = (device.written_bytes as f64 * factor) as u64;
        }
    }
}

/// Gives each one-second repeat this many bytes, over a link.
/// A disk behind a USB adapter with this driver and link speed.
fn usb(run: &mut Run, driver: &str, speed: &str) {
    disk(run, "sda", &[(fact::LINK, "usb"), (fact::DRIVER, driver), (fact::LINK_SPEED, speed)]);
}

fn deep() -> Workload {
    Workload { iodepth: 32, ..workload() }
}

/// An SD card that claims these classes, on a bus of this many bits per second.
fn card(run: &mut Run, classes: &str, bus: &str) {
    let facts = [(fact::LINK, "mmc"), (fact::SPEED_CLASSES, classes), (fact::LINK_SPEED, bus)];
    disk(run, "mmcblk0", &facts);
}

fn large_writes() -> Workload {
    Workload { pattern: Pattern::Sequential, block: BlockSizes::uniform(1 << 20), ..writes() }
}

/// A card that writes at this rate in bytes per second; the run's ordinary rate is 4.096 MB/s.
fn written_at(run: &mut Run, classes: &str, bus: &str, rate: f64) {
    card(run, classes, bus);
    scale(&mut run.repeats, rate / 4_096_000.0);
}

fn at_link(run: &mut Run, link: &str, speed: &str, bytes: u64) {
    disk(run, "sda", &[(fact::LINK, link), (fact::LINK_SPEED, speed)]);
    let factor = bytes as f64 / 4_096_000.0;
    scale(&mut run.repeats, factor);
}

/// A stack of these names; names that start with `dm` are encryption.
fn stack(names: &[&str]) -> Vec<Layer> {
    let layer = |(level, name): (usize, &&str)| Layer {
        kind: match *name {
            name if name.starts_with("loop") => LayerKind::Loop,
            name if name.starts_with("dm") => LayerKind::Crypt,
            name if name.starts_with("sd") => LayerKind::Disk,
            _ => LayerKind::Filesystem,
        },
        name: (*name).to_owned(),
        level: level as u32,
        device: None,
        facts: Default::default(),
    };
    names.iter().enumerate().map(layer).collect()
}

/// Adds a second target on this stack, at `factor` times the rate of the first, which is ext4 on sda.
fn concurrent(run: &mut Run, names: &[&str], factor: f64) {
    run.started.targets[0].stack = stack(&["ext4", "sda"]);
    let mut other = run.started.targets[0].clone();
    (other.name, other.stack) = ("other".into(), stack(names));
    run.started.targets.push(other);
    let mut repeats = run.repeats.clone();
    repeats.iter_mut().for_each(|repeat| repeat.started.target = "other".into());
    scale(&mut repeats, factor);
    run.repeats.extend(repeats);
}

fn on(run: &mut Run, names: &[&str]) {
    run.started.targets[0].stack = stack(names);
}

/// Adds a sync of `ns` nanoseconds after each of a repeat's thousand writes.
fn syncs(run: &mut Run, ns: u64) {
    for interval in run.repeats.iter_mut().flat_map(|r| &mut r.intervals) {
        let mut lat = LatencyRecorder::new();
        lat.record_many(ns, 1000);
        let sync = OperationStats { count: 1000, lat: lat.finish(), ..OperationStats::default() };
        let durable = OperationStats { bytes: 4_096_000, ..sync.clone() };
        interval.operations.insert(Operation::Sync, sync);
        interval.operations.insert(Operation::DurableWrite, durable);
    }
}

/// Random reads of `ns` nanoseconds, sequential ones of `sequential` bytes per second, and the gain of a queue of 32.
fn behaving(run: &mut Run, ns: u64, sequential: u64, gain: f64) {
    let mut lat = LatencyRecorder::new();
    lat.record_many(ns, 1000);
    each_stats(run, |s| s.lat = lat.finish());
    scale(&mut run.repeats, LARGE as f64 / ns as f64 / 1000.0);
    add_step(run, "deep", |w| w.iodepth = 32, gain);
    let factor = sequential as f64 / (4096.0 * LARGE as f64 / ns as f64);
    let large = |w: &mut Workload| (w.pattern, w.block) = (Pattern::Sequential, BlockSizes::uniform(1 << 20));
    add_step(run, "seq", large, factor);
}

fn one(rule: &str, workload: Workload, change: fn(&mut Run)) -> Finding {
    let mut run = run(workload);
    change(&mut run);
    found_in(&run).into_iter().find(|f| f.rule == rule).unwrap()
}

#[test]
fn the_kind_of_storage_is_compared_with_the_kernels_report() {
    let behind = |link: &'static str, rotation: &'static str, ns, sequential, gain| {
        let mut run = run(workload());
        behaving(&mut run, ns, sequential, gain);
        disk(&mut run, "vda", &[(fact::LINK, link), (fact::ROTATION_RATE, rotation)]);
        found_in(&run).into_iter().find(|f| f.rule == "behaves-like")
    };
    let volume = behind("virtio", "", 9_000_000, 150_000_000, 2.0).unwrap();
    assert_eq!(volume.severity, Severity::Warning);
    assert!(volume.message.starts_with("surely behaves like a spinning disk (99 %): "), "{}", volume.message);
    assert!(volume.message.contains("; but the kernel reports: vda (virtio)") && volume.advice.is_some());
    let mut disturbed = run(workload());
    behaving(&mut disturbed, 9_000_000, 150_000_000, 2.0);
    disk(&mut disturbed, "vda", &[(fact::LINK, "virtio")]);
    each_finished(&mut disturbed, |f| f.devices[0].written_bytes = 900_000_000);
    assert!(
        found_in(&disturbed).iter().all(|f| f.rule != "behaves-like"),
        "latencies under other I/O are no trait of the storage"
    );
    let mut wide = run(workload());
    behaving(&mut wide, 9_000_000, 150_000_000, 2.0);
    let odd = wide.repeats.iter_mut().filter(|r| r.started.round % 2 == 0);
    odd.filter_map(|r| r.finished.as_mut()).for_each(|f| f.window_ns *= 3);
    assert!(
        found_in(&wide).iter().all(|f| f.rule != "behaves-like"),
        "a figure that is not known is no trait"
    );
    let disk = behind("ata", "7200", 9_000_000, 150_000_000, 2.0).unwrap();
    assert_eq!((disk.severity, disk.advice), (Severity::Info, None));
    assert!(
        disk.message.contains("; and the kernel reports: a 7200 rpm disk, vda (ata)"),
        "{}",
        disk.message
    );
    let memory = behind("ata", "none", 3_000, 9_000_000_000, 1.2).unwrap();
    assert_eq!(memory.severity, Severity::Warning);
    assert!(memory.message.contains("like memory, or a disk in the cache of its host"), "{}", memory.message);
    assert_eq!(
        behind("mmc", "none", 660_000, 90_000_000, 1.0),
        None,
        "a card or a stick: a guess is not told"
    );
}

#[test]
fn layers_depths_and_blocks_are_reported_with_figures() {
    let layer = one("layer-cost", workload(), |r| concurrent(r, &["ext4", "dm-0", "sda"], 0.6));
    assert_eq!(
        layer.message,
        "encryption (dm-crypt) (other against disk): read bandwidth in step -40 % (-40 to -40)"
    );
    let knee = one("queue-depth-knee", workload(), |r| {
        for (depth, factor) in [(4, 3.5), (16, 6.0), (64, 6.1)] {
            add_step(r, &format!("d{depth}"), |w| w.iodepth = depth, factor);
        }
    });
    assert_eq!(
        knee.message,
        "random reads: depth 16 reaches 98 % of the best rate and 6.0 times that of depth 1; beyond it the median latency only \
         rises, from 1.0 ms to 1.0 ms at depth 64"
    );
    let block = one("block-size", workload(), |r| {
        add_step(r, "1m", |w| w.block = BlockSizes::uniform(1 << 20), 20.0)
    });
    assert_eq!(
        block.message,
        "random reads of 4 KiB reach 4.1 MB/s (5.0 % of the 81.9 MB/s with 1 MiB); larger blocks were not measured"
    );
    let usb = one("link-bound", workload(), |r| at_link(r, "usb", "480000000", 40_000_000));
    assert_eq!(
        usb.message,
        "the highest rate, 40.0 MB/s, is 98 % of what USB 2 can carry (about 41.0 MB/s): in step the link, not what is \
         behind it, is the limit"
    );
}
