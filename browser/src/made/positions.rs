//! A run of the suite `disks-write` with the places of its operations: a disk that spins, a memory card with a worn
//! region, and a drive of flash.

use std::collections::BTreeMap;

use model::{
    BlockSizes, Interval, LatencyRecorder, LayerKind, LoggedOffset, Mix, Modifiers, OffsetLog, Operation,
    OperationStats, Pattern, Phase, ReadFirst, Run, RunFinished, RunOutcome, Step, Workload,
};
use rand::RngExt;

use super::{LAWS, Law, Maker, SECOND, step, target, transfer};

/// Transfers and accesses of a repeat, as GNOME Disks has them.
const TRANSFERS: u64 = 100;
const ACCESSES: u64 = 1000;
const BLOCK: u64 = 10 << 20;

/// A disk whose rate depends on the place: its size in bytes, and functions of the place from 0 to 1.
struct Disk {
    name: &'static str,
    size: u64,
    read: fn(f64) -> f64,
    write: fn(f64) -> f64,
    /// Nanoseconds of an access, from the distance of the last one and a chance from 0 to 1.
    access: fn(f64, f64) -> f64,
}

const DISKS: [Disk; 3] = [
    Disk {
        name: "hdd",
        size: 2_000_398_934_016,
        // Outer tracks are longer: the rate falls to a half, in the steps of zones.
        read: |at| 196e6 * (1.0 - 0.52 * (at * 24.0).floor() / 24.0),
        write: |at| 188e6 * (1.0 - 0.52 * (at * 24.0).floor() / 24.0),
        // The way of the arm, and a turn at 7200 per minute on average half.
        access: |way, turn| 1.2e6 + 11.5e6 * way.sqrt() + 8.3e6 * turn,
    },
    Disk {
        name: "sd-card",
        size: 63_864_569_856,
        read: |at| if (0.58..0.66).contains(&at) { 21e6 } else { 89e6 },
        write: |at| if (0.58..0.66).contains(&at) { 9e6 } else { 31e6 },
        access: |_, chance| 430e3 + 160e3 * chance + if chance > 0.985 { 6e6 * chance } else { 0.0 },
    },
    Disk {
        name: "usb-ssd",
        size: 512_110_190_592,
        read: |_| 431e6,
        write: |_| 402e6,
        access: |_, chance| 96e3 + 30e3 * chance + if chance > 0.99 { 700e3 } else { 0.0 },
    },
];

/// The run.
pub fn positions() -> Run {
    let steps = vec![transfers("transfer-read", 100), accesses(), transfers("transfer-write", 0)];
    let mut maker = Maker::new("disks-write", steps, 3, 1);
    let mut started = maker.started();
    started.targets = DISKS.iter().map(disk_target).collect();
    started.baseline = DISKS[0].name.into();
    let mut run = Run::new(started);
    for round in 0..maker.rounds {
        for step in maker.steps.clone() {
            for disk in &DISKS {
                let places = places(&mut maker, &step, disk);
                add(&mut maker, &mut run, (&step, disk), round, places);
            }
        }
    }
    run.finished = Some(RunFinished { at_ns: maker.now, outcome: RunOutcome::Completed });
    run
}

fn disk_target(disk: &Disk) -> model::Target {
    let mut target = target(Law { name: disk.name, disk: disk.name, ..LAWS[0] });
    target.size_bytes = disk.size;
    target.stack.retain(|layer| layer.kind == LayerKind::Disk);
    target
}

fn transfers(id: &str, read_percent: u8) -> Step {
    let title = match read_percent {
        100 => "Transfer rate: 100 spaced reads of 10 MiB",
        _ => "Write rate: 100 spaced blocks of 10 MiB rewritten",
    };
    let first = if read_percent == 100 { ReadFirst::Page } else { ReadFirst::Block };
    let modifiers = Modifiers { read_first: Some(first), log_offset: true, ..Modifiers::default() };
    let workload = Workload {
        mix: Mix::Transfer { read_percent },
        pattern: Pattern::Spaced { count: TRANSFERS as u32 },
        block: BlockSizes::uniform(BLOCK as u32),
        modifiers,
        ..transfer(100, false, 4096, 1)
    };
    step(id, title, workload)
}

fn accesses() -> Step {
    let modifiers = Modifiers { log_offset: true, ..Modifiers::default() };
    let title = "Access time: 1000 random reads of 4 KiB";
    step("access", title, Workload { modifiers, ..transfer(100, true, 4096, 1) })
}

/// What the disk does at each place of a repeat.
fn places(maker: &mut Maker, step: &Step, disk: &Disk) -> OffsetLog {
    let mut places = OffsetLog::default();
    let mut last = 0.5;
    let is_access = matches!(step.workload.pattern, Pattern::Random { .. });
    for i in 0..if is_access { ACCESSES } else { TRANSFERS } {
        let luck = 1.0 + 0.012 * maker.bell();
        let (offset, bytes, ns) = if is_access {
            let (at, chance): (f64, f64) = (maker.chance.random(), maker.chance.random());
            let ns = (disk.access)((at - last).abs(), chance);
            last = at;
            ((at * disk.size as f64) as u64 / 4096 * 4096, 4096, ns)
        } else {
            let at = i as f64 / TRANSFERS as f64;
            let rate = if step.workload.writes_data() { (disk.write)(at) } else { (disk.read)(at) };
            ((at * (disk.size - BLOCK) as f64) as u64 / 4096 * 4096, BLOCK, BLOCK as f64 / rate * 1e9)
        };
        places.record(LoggedOffset { offset, bytes, ns: (ns * luck) as u64 }, OffsetLog::MOST);
    }
    places
}

/// Adds a repeat in which nothing was done but these operations, one after the other.
fn add(maker: &mut Maker, run: &mut Run, (step, disk): (&Step, &Disk), round: u32, places: OffsetLog) {
    let law = Law { name: disk.name, ..LAWS[0] };
    let mut repeat = maker.repeat(run, step, law, round);
    let mut recorder = LatencyRecorder::new();
    places.kept.iter().for_each(|place| recorder.record(place.ns));
    let window_ns: u64 = places.kept.iter().map(|place| place.ns).sum();
    let operation = if step.workload.writes_data() { Operation::Write } else { Operation::Read };
    let stats = OperationStats {
        count: places.kept.len() as u64,
        bytes: places.kept.iter().map(|place| place.bytes).sum(),
        lat: recorder.finish(),
        ..OperationStats::default()
    };
    repeat.intervals = vec![Interval {
        repeat: repeat.started.repeat,
        phase: Phase::Measure,
        start_ns: 0,
        len_ns: window_ns,
        operations: BTreeMap::from([(operation, stats)]),
        in_flight_ns: window_ns,
    }];
    repeat.started.size_bytes = disk.size;
    maker.now = repeat.started.at_ns + window_ns + SECOND;
    if let Some(finished) = &mut repeat.finished {
        (finished.window_ns, finished.counted_ns, finished.at_ns) = (window_ns, window_ns, maker.now);
        finished.offset_log = BTreeMap::from([(operation, places)]);
    }
    run.repeats.push(repeat);
}
